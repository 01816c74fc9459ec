use super::Word;

/// What every key begins with that is not a lock.
pub const RESERVED: &str = "__tenure:";

/// The one counter of a standalone server.
const COUNTER: &str = "__tenure:1:token";

/// How many hash slots a cluster has.
pub const SLOTS: u16 = 16_384;

/// Where the token counters are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Layout {
    /// One counter for all locks.
    Standalone,
    /// One counter for all locks of a hash slot, in that slot, since a script may only touch keys
    /// that live together.
    Cluster,
}

impl Layout {
    /// The key of the counter that `lock` takes its tokens from.
    #[must_use]
    pub fn counter(self, lock: &[u8]) -> Word<'static> {
        match self {
            Self::Standalone => Word::from(COUNTER),
            Self::Cluster => {
                let [a, b, c, d] = tag(slot(lock)).map(char::from);
                Word::text(format_args!("{RESERVED}1:token:{{{a}{b}{c}{d}}}"))
            }
        }
    }
}

/// The hash slot of `key`: CRC16 modulo 16384 of what is between the first `{` and the first `}`
/// after it, or of the whole key if nothing is. See
/// <https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/#hash-tags>.
#[must_use]
pub const fn slot(key: &[u8]) -> u16 {
    crc16(hashed_part(key)) % SLOTS
}

/// A text of four letters, from `` `abcdefghijklmno ``, that hashes to `slot` (taken modulo 16384).
///
/// CRC16 is linear: flipping one bit of a text flips the same bits of its sum, whatever the rest of
/// the text is. So the tag is put together from one pattern for each bit of the slot.
#[must_use]
pub const fn tag(slot: u16) -> [u8; 4] {
    let mut wanted = (slot ^ crc16(&spell(0))) % SLOTS;
    let mut letters = 0;
    let mut flips = FLIPS.as_slice();
    while let [lower @ .., flip] = flips {
        // From the highest bit down: the flip clears its bit if that is set, and would set it if not.
        if wanted ^ flip.slot < wanted {
            wanted ^= flip.slot;
            letters ^= flip.letters;
        }
        flips = lower;
    }
    spell(letters)
}

/// What flipping some bits of the letters does to the slot.
#[derive(Clone, Copy)]
struct Flip {
    letters: u16,
    slot: u16,
}

/// For each bit of a slot the flip whose effect has it as the highest: Gauss's elimination.
#[expect(clippy::indexing_slicing, reason = "the compiler runs it")]
const FLIPS: [Flip; 14] = {
    let mut flips = [Flip { letters: 0, slot: 0 }; 14];
    let mut bit = 0;
    while bit < 16 {
        let letters = 1 << bit;
        let mut flip = Flip { letters, slot: (crc16(&spell(letters)) ^ crc16(&spell(0))) % SLOTS };
        while flip.slot != 0 {
            let highest = 15 - flip.slot.leading_zeros();
            let known = flips[highest as usize];
            if known.slot == 0 {
                flips[highest as usize] = flip;
                break;
            }
            flip = Flip { letters: flip.letters ^ known.letters, slot: flip.slot ^ known.slot };
        }
        bit += 1;
    }
    flips
};

/// Four bits a letter.
const fn spell(letters: u16) -> [u8; 4] {
    let [high, low] = letters.to_be_bytes();
    [b'`' | high >> 4, b'`' | high & 15, b'`' | low >> 4, b'`' | low & 15]
}

const fn hashed_part(key: &[u8]) -> &[u8] {
    let Some(open) = find(b'{', key) else { return key };
    let (_, after) = key.split_at(open);
    let [_, inside @ ..] = after else { return key };
    match find(b'}', inside) {
        None | Some(0) => key,
        Some(close) => inside.split_at(close).0,
    }
}

const fn find(wanted: u8, mut text: &[u8]) -> Option<usize> {
    let length = text.len();
    while let [first, rest @ ..] = text {
        if *first == wanted {
            return Some(length.saturating_sub(text.len()));
        }
        text = rest;
    }
    None
}

/// CRC-16/XMODEM.
const fn crc16(mut text: &[u8]) -> u16 {
    let mut crc = 0_u16;
    while let [byte, rest @ ..] = text {
        crc ^= (*byte as u16) << 8;
        let mut rounds = 0xff_u8;
        while rounds != 0 {
            crc = if crc & 0x8000 == 0 { crc << 1 } else { crc << 1 ^ 0x1021 };
            rounds >>= 1;
        }
        text = rest;
    }
    crc
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn slots_are_those_of_the_specification() {
        assert_eq!(crc16(b"123456789"), 0x31c3);
        assert_eq!(slot(b"foo"), 12182);
        assert_eq!(slot(b"{user1000}.following"), slot(b"user1000"));
        assert_eq!(slot(b"foo{}{bar}"), crc16(b"foo{}{bar}") % SLOTS);
        assert_eq!(slot(b"foo{{bar}}zap"), slot(b"{bar"));
        assert_eq!(slot(b"foo{bar}{zap}"), slot(b"bar"));
        assert_eq!(slot(b"}{open"), crc16(b"}{open") % SLOTS);
        assert_eq!(slot(b""), 0);
    }

    #[test]
    fn every_slot_has_a_tag_of_its_own() {
        let tags: HashSet<_> = (0..SLOTS)
            .map(|wanted| {
                let tag = tag(wanted);
                assert_eq!(slot(&tag), wanted);
                tag
            })
            .collect();
        assert_eq!(tags.len(), usize::from(SLOTS));
    }

    #[test]
    fn a_counter_lives_in_the_slot_of_its_lock() {
        for lock in
            [&b"nightly"[..], b"{a}b", b"{}", b"}{", b"a{b", b"{{x}}", b"\0\xff{\xfe}", b"a}b{c}"]
        {
            let counter = Layout::Cluster.counter(lock);
            assert_eq!(slot(counter.as_bytes()), slot(lock), "{}", lock.escape_ascii());
            assert!(counter.as_bytes().starts_with(RESERVED.as_bytes()));
        }
        assert_eq!(Layout::Standalone.counter(b"nightly").as_bytes(), b"__tenure:1:token");
    }
}
