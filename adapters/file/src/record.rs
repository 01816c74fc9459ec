use std::fmt::{self, Write};

use tenure_core::Token;
use tenure_store::LockName;

/// What the lock file says about the last grant: for people, and to notice a counter that went back.
/// Whether the lock is held it cannot say; only the operating system can.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    /// The last grant's token.
    pub(crate) token: Token,
    /// Who has it; `None` once it was released.
    pub(crate) holder: Option<Holder>,
}

/// The process that asked for the lock. Others may have inherited it since.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Holder {
    pub(crate) pid: u32,
    pub(crate) host: String,
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "pid {} on {}", self.pid, self.host)
    }
}

impl Record {
    /// More than any record has.
    pub(crate) const MAX_LEN: usize = 4_096;

    const FIRST: &str = "tenure-lock 1\n";
    /// What comes after it is left over from a longer record.
    const LAST: &str = "end\n";

    pub(crate) fn encode(&self, lock: &LockName) -> String {
        let name: String = lock.to_string().chars().take(512).collect();
        let mut text = format!("{}name {name}\ntoken {}\n", Self::FIRST, self.token);
        if let Some(holder) = &self.holder {
            let host: String =
                holder.host.chars().filter(char::is_ascii_graphic).take(256).collect();
            let _ = write!(text, "pid {}\nhost {host}\n", holder.pid);
        }
        text.push_str(Self::LAST);
        text
    }

    /// `None` if these bytes are no whole record.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let bytes = bytes.strip_prefix(Self::FIRST.as_bytes())?;
        let end = format!("\n{}", Self::LAST);
        let len = bytes.windows(end.len()).position(|window| window == end.as_bytes())?;
        let text = std::str::from_utf8(bytes.get(..len)?).ok()?;
        let value =
            |key: &str| text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(' '));
        let token = Token::new(value("token")?.parse().ok()?)?;
        let holder = match (value("pid"), value("host")) {
            (Some(pid), Some(host)) if host.chars().all(|char| char.is_ascii_graphic()) => {
                Some(Holder { pid: pid.parse().ok()?, host: host.to_owned() })
            }
            (None, None) => None,
            _ => return None,
        };
        Some(Self { token, holder })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn record(token: u64, holder: Option<(u32, &str)>) -> Record {
        let holder = holder.map(|(pid, host)| Holder { pid, host: host.to_owned() });
        Record { token: Token::new(token).unwrap(), holder }
    }

    #[test]
    fn a_released_record_over_a_longer_one_reads_as_released() {
        let name = LockName::new("nightly").unwrap();
        let held = record(7, Some((123, "build-7"))).encode(&name);
        assert_eq!(
            held, "tenure-lock 1\nname nightly\ntoken 7\npid 123\nhost build-7\nend\n",
            "the format of version 1"
        );
        let released = record(7, None);
        let mut bytes = held.into_bytes();
        let shorter = released.encode(&name);
        bytes[..shorter.len()].copy_from_slice(shorter.as_bytes());
        assert_eq!(Record::decode(&bytes), Some(released));
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(
            name in prop::collection::vec(any::<u8>(), 1..3_000),
            token in 1..=Token::MAX.get(),
            holder in prop::option::of((any::<u32>(), "[!-~]{0,256}")),
        ) {
            let record = record(token, holder.as_ref().map(|(pid, host)| (*pid, host.as_str())));
            let text = record.encode(&LockName::new(name).unwrap());
            prop_assert!(text.len() <= Record::MAX_LEN);
            prop_assert_eq!(Record::decode(text.as_bytes()), Some(record));
        }

        #[test]
        fn a_cut_record_is_no_record(cut in 0_usize..64) {
            let text = record(17, Some((123, "build-7"))).encode(&LockName::new("nightly").unwrap());
            prop_assume!(cut < text.len());
            prop_assert_eq!(Record::decode(&text.as_bytes()[..cut]), None);
        }

        #[test]
        fn any_bytes_decode_or_not(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let mut text = Record::FIRST.as_bytes().to_vec();
            text.extend(bytes);
            let _ = Record::decode(&text);
        }
    }
}
