use core::fmt::{self, Write as _};

use tenure_core::Nonce;

/// The most words of a command: `EVALSHA`, its script, the number of keys, two keys, five
/// arguments.
const LONGEST: usize = 10;

/// One command to the server: an array of byte strings, the first of which is its name.
#[derive(Clone)]
pub struct Command<'a> {
    words: [Word<'a>; LONGEST],
    len: usize,
}

impl<'a> Command<'a> {
    /// Its arguments, the name first.
    pub fn args(&self) -> impl ExactSizeIterator<Item = &[u8]> + Clone {
        self.words.iter().take(self.len).map(Word::as_bytes)
    }

    /// `words` beyond [`LONGEST`] are dropped; no command here has so many.
    pub(super) fn new(words: impl IntoIterator<Item = Word<'a>>) -> Self {
        let mut command = Self { words: [Word::from(""); LONGEST], len: 0 };
        for (place, word) in command.words.iter_mut().zip(words) {
            *place = word;
            command.len = command.len.saturating_add(1);
        }
        command
    }
}

/// The name and the number of arguments: among these may be what the user writes.
impl fmt::Debug for Command<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.words.first().map(Word::as_bytes).unwrap_or_default();
        write!(f, "Command({}, {} words)", name.escape_ascii(), self.len)
    }
}

/// One argument of a command.
#[derive(Clone, Copy)]
pub struct Word<'a>(Kind<'a>);

#[derive(Clone, Copy)]
enum Kind<'a> {
    Given(&'a [u8]),
    Made(Made),
}

/// A nonce in hexadecimal is the longest that is made here.
#[derive(Clone, Copy)]
struct Made {
    bytes: [u8; 32],
    len: u8,
}

impl<'a> Word<'a> {
    /// Its bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        match &self.0 {
            Kind::Given(bytes) => bytes,
            Kind::Made(Made { bytes, len }) => bytes.get(..usize::from(*len)).unwrap_or_default(),
        }
    }

    /// A text of at most 32 bytes; what is longer is cut off.
    pub(super) fn text(text: fmt::Arguments<'_>) -> Self {
        let mut made = Made { bytes: [0; 32], len: 0 };
        let whole = made.write_fmt(text);
        debug_assert!(whole.is_ok(), "longer than 32 bytes: {text}");
        Self(Kind::Made(made))
    }

    pub(super) const fn given(bytes: &'a [u8]) -> Self {
        Self(Kind::Given(bytes))
    }

    pub(super) fn number(number: u64) -> Self {
        Self::text(format_args!("{number}"))
    }
}

impl fmt::Debug for Word<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Word(\"{}\")", self.as_bytes().escape_ascii())
    }
}

impl From<&'static str> for Word<'_> {
    fn from(text: &'static str) -> Self {
        Self::given(text.as_bytes())
    }
}

impl From<Nonce> for Word<'_> {
    /// As [`Nonce`] displays itself; by hand, since the formatter would take longer than all the rest.
    fn from(nonce: Nonce) -> Self {
        let mut bytes = [0; 32];
        for ([high, low], byte) in bytes.as_chunks_mut().0.iter_mut().zip(nonce.to_bytes()) {
            (*high, *low) = (hex_digit(byte >> 4), hex_digit(byte & 0xf));
        }
        Self(Kind::Made(Made { bytes, len: 32 }))
    }
}

const fn hex_digit(nibble: u8) -> u8 {
    let first = if nibble < 10 { b'0' } else { b'a'.wrapping_sub(10) };
    first.wrapping_add(nibble)
}

impl fmt::Write for Made {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for byte in text.bytes() {
            let place = self.bytes.get_mut(usize::from(self.len)).ok_or(fmt::Error)?;
            *place = byte;
            self.len = self.len.saturating_add(1);
        }
        Ok(())
    }
}
