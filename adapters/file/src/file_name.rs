use sha2::{Digest, Sha256};
use tenure_store::LockName;

/// The names of one lock's files.
///
/// A short name in small letters is its own file name. Any other is a readable part, a `~`, and the
/// SHA-256 of the whole name: `~` is in no short name, so the two kinds never meet, and nothing
/// depends on case, so a file system that ignores it keeps them apart too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FileName {
    stem: String,
}

impl FileName {
    pub(crate) fn of(name: &LockName) -> Self {
        let bytes = name.as_bytes();
        if bytes.len() <= LONGEST_READABLE
            && bytes.first().is_some_and(u8::is_ascii_alphanumeric)
            && bytes.iter().all(|byte| is_plain(*byte))
        {
            return Self { stem: bytes.iter().copied().map(char::from).collect() };
        }
        let mut stem: String = bytes
            .iter()
            .take(LONGEST_READABLE)
            .map(|byte| if byte.is_ascii_alphanumeric() { *byte } else { b'_' })
            .map(|byte| char::from(byte.to_ascii_lowercase()))
            .collect();
        stem.push('~');
        for byte in Sha256::digest(bytes) {
            stem.push_str(&format!("{byte:02x}"));
        }
        Self { stem }
    }

    /// What is locked.
    pub(crate) fn lock(&self) -> String {
        format!("{}.lock", self.stem)
    }

    /// The token counter.
    pub(crate) fn counter(&self) -> String {
        format!("{}.token", self.stem)
    }

    /// The counter's next value, before it replaces the counter.
    pub(crate) fn next_counter(&self) -> String {
        format!("{}.token.new", self.stem)
    }
}

/// With the hash and the longest suffix far below the 255 bytes that a file name may have.
const LONGEST_READABLE: usize = 64;

const fn is_plain(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'.' | b'_' | b'-')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn file_name(name: &[u8]) -> FileName {
        FileName::of(&LockName::new(name).unwrap())
    }

    #[test]
    fn short_names_stay_readable() {
        assert_eq!(file_name(b"nightly-2.x_y").lock(), "nightly-2.x_y.lock");
        assert_eq!(file_name(b"nightly").counter(), "nightly.token");
        assert!(file_name(b"Nightly Build").lock().starts_with("nightly_build~"));
    }

    #[test]
    fn names_that_differ_in_case_have_files_that_differ_in_more() {
        for [small, large] in [["a", "A"], ["nightly", "Nightly"], ["x y", "X Y"]] {
            let [small, large] = [small, large].map(|name| file_name(name.as_bytes()).lock());
            assert!(!small.eq_ignore_ascii_case(&large), "{small} {large}");
        }
    }

    #[test]
    fn long_names_have_file_names_that_fit() {
        for len in [LONGEST_READABLE, LONGEST_READABLE + 1, 255, 100_000] {
            let file = file_name(&vec![b'a'; len]).next_counter();
            assert!(file.len() <= 255, "{len}: {file}");
        }
    }

    #[test]
    fn no_name_leads_out_of_the_folder_or_hides() {
        for name in
            [&b".."[..], b".", b"/etc/passwd", b"../x", b"a/../b", b".hidden", b"-rf", b"\0"]
        {
            let stem = file_name(name).stem;
            assert!(stem.contains('~') && !stem.starts_with('.') && !stem.contains('/'), "{stem}");
        }
    }

    /// Names that are likely to meet: few letters, both cases, and what the mapping itself writes.
    fn similar_name() -> impl Strategy<Value = Vec<u8>> {
        let piece = prop_oneof![
            Just(b"a".to_vec()),
            Just(b"A".to_vec()),
            Just(b"_".to_vec()),
            Just(b"/".to_vec()),
            Just(b".".to_vec()),
            Just(b"~".to_vec()),
            Just(b".lock".to_vec()),
            Just(b".token".to_vec()),
            Just(b".new".to_vec()),
            Just(vec![b'a'; LONGEST_READABLE]),
            any::<u8>().prop_map(|byte| vec![byte]),
        ];
        prop::collection::vec(piece, 1..5).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn different_names_have_different_files(a in similar_name(), b in similar_name()) {
            prop_assume!(a != b);
            let files = |name: &[u8]| {
                let name = file_name(name);
                [name.lock(), name.counter(), name.next_counter()].map(|file| file.to_lowercase())
            };
            let of_b = files(&b);
            prop_assert!(files(&a).iter().all(|file| !of_b.contains(file)));
        }

        /// A lock must not be able to take the hashed name of another.
        #[test]
        fn a_file_name_taken_as_a_name_is_another_lock(name in similar_name()) {
            let stem = file_name(&name).stem;
            if stem.as_bytes() != name {
                prop_assert_ne!(file_name(stem.as_bytes()).stem, stem);
            }
        }

        #[test]
        fn every_name_is_a_safe_file_name(name in prop::collection::vec(any::<u8>(), 1..2_000)) {
            let file = file_name(&name).next_counter();
            prop_assert!(file.len() <= 255);
            prop_assert!(file.bytes().all(|byte| is_plain(byte) || byte == b'~'), "{}", file);
            prop_assert!(!file.starts_with('.') );
        }
    }
}
