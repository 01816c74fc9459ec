//! RESP, the protocol of Redis: commands as arrays of byte strings, answers of RESP2 and RESP3.
//!
//! See <https://redis.io/docs/latest/develop/reference/protocol-spec/>. Of RESP3, values of unknown
//! length (`$?`) are not read; no server sends them unless asked to.

use core::{error, fmt, str};

/// Values inside of one another: an answer nested deeper is [`Malformed`].
pub const MAX_DEPTH: usize = 8;

/// The longest string, and the most values in one, that are read: Redis's own `proto-max-bulk-len`.
/// A receiver's buffer will set a lower bound.
const MAX_LENGTH: i64 = 512 * 1024 * 1024;

/// Writes a command at the beginning of `buffer` and returns what was written.
///
/// # Errors
///
/// [`BufferTooSmall`], which says how much is needed. What the buffer then holds is of no use.
pub fn encode<'w, 'b>(
    args: impl ExactSizeIterator<Item = &'w [u8]> + Clone,
    buffer: &'b mut [u8],
) -> Result<&'b [u8], BufferTooSmall> {
    let needed = encoded_len(args.clone());
    let Some(target) = buffer.get_mut(..needed) else { return Err(BufferTooSmall { needed }) };
    let mut writer = Writer { rest: &mut *target };
    writer.header(b'*', args.len());
    for arg in args {
        writer.header(b'$', arg.len());
        writer.put(arg);
        writer.put(b"\r\n");
    }
    Ok(target)
}

/// How many bytes [`encode`] writes.
pub fn encoded_len<'w>(args: impl ExactSizeIterator<Item = &'w [u8]>) -> usize {
    args.len().checked_ilog10().map_or(0, |tens| tens as usize).saturating_add(4).saturating_add(
        args.map(|arg| {
            let digits = arg.len().checked_ilog10().map_or(0, |tens| tens as usize);
            arg.len().saturating_add(digits).saturating_add(6)
        })
        .fold(0, usize::saturating_add),
    )
}

/// Reads the first value of `bytes`: the value, and how many bytes it took; `None` if more bytes are
/// needed. Call it again from the beginning of the value when more have come.
///
/// # Errors
///
/// [`Malformed`]: this is no RESP. The connection is of no use any more.
pub fn decode(bytes: &[u8]) -> Result<Option<(Value<'_>, usize)>, Malformed> {
    let mut reader = Reader { rest: bytes };
    match reader.value(MAX_DEPTH) {
        Ok(value) => Ok(Some((value, bytes.len().saturating_sub(reader.rest.len())))),
        Err(Stop::Incomplete) => Ok(None),
        Err(Stop::Malformed) => Err(Malformed),
    }
}

/// One value, borrowed from the bytes received.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Value<'v> {
    /// A simple string, a bulk string, or a verbatim string with its three letters and colon.
    Text(&'v [u8]),
    /// An error, without the leading `-`.
    Error(&'v [u8]),
    /// A number.
    Integer(i64),
    /// Nothing (all three kinds of it).
    Null,
    /// A boolean.
    Boolean(bool),
    /// A floating or a big number, as it was spelt.
    Number(&'v [u8]),
    /// An array, or a set.
    Array(Items<'v>),
    /// A map: keys and values by turns.
    Map(Items<'v>),
    /// What the server sends unasked.
    Push(Items<'v>),
}

impl<'v> Value<'v> {
    /// The bytes of a text.
    #[must_use]
    pub const fn as_text(&self) -> Option<&'v [u8]> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }
}

/// The values inside of an array, a map or a push.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Items<'v> {
    /// Read once already, so well-formed.
    bytes: &'v [u8],
    count: usize,
}

impl<'v> Items<'v> {
    /// How many there are; a map's keys and values count one each.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.count
    }

    /// Whether there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// One after the other.
    pub fn iter(&self) -> impl Iterator<Item = Value<'v>> + use<'v> {
        let mut reader = Reader { rest: self.bytes };
        (0..self.count).map_while(move |_| reader.value(MAX_DEPTH).ok())
    }
}

/// The buffer cannot hold the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BufferTooSmall {
    /// How many bytes the command takes.
    pub needed: usize,
}

impl fmt::Display for BufferTooSmall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the command takes {} bytes: give it a larger buffer", self.needed)
    }
}

impl error::Error for BufferTooSmall {}

/// Bytes that are no RESP, or nested deeper than [`MAX_DEPTH`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Malformed;

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "what was received is no RESP: close the connection, and see what listens there",
        )
    }
}

impl error::Error for Malformed {}

/// Writes into a buffer that is known to be large enough.
struct Writer<'b> {
    rest: &'b mut [u8],
}

impl Writer<'_> {
    fn put(&mut self, bytes: &[u8]) {
        if let Some((head, rest)) =
            core::mem::take(&mut self.rest).split_at_mut_checked(bytes.len())
        {
            head.copy_from_slice(bytes);
            self.rest = rest;
        }
    }

    fn header(&mut self, kind: u8, number: usize) {
        self.put(&[kind]);
        let power = number.checked_ilog10().unwrap_or(0);
        for exponent in (0..=power).rev() {
            let digit = 10_usize.pow(exponent);
            let digit = number.checked_div(digit).unwrap_or(0) % 10;
            self.put(&[b'0' | u8::try_from(digit).unwrap_or(0)]);
        }
        self.put(b"\r\n");
    }
}

enum Stop {
    Incomplete,
    Malformed,
}

struct Reader<'v> {
    rest: &'v [u8],
}

impl<'v> Reader<'v> {
    fn value(&mut self, depth: usize) -> Result<Value<'v>, Stop> {
        let Some(depth) = depth.checked_sub(1) else { return Err(Stop::Malformed) };
        let (&kind, rest) = self.rest.split_first().ok_or(Stop::Incomplete)?;
        self.rest = rest;
        match kind {
            b'+' => Ok(Value::Text(self.line()?)),
            b'-' => Ok(Value::Error(self.line()?)),
            b':' => Ok(Value::Integer(integer(self.line()?)?)),
            b',' | b'(' => Ok(Value::Number(self.line()?)),
            b'$' | b'=' => Ok(self.bulk()?.map_or(Value::Null, Value::Text)),
            b'!' => self.bulk()?.map(Value::Error).ok_or(Stop::Malformed),
            b'*' => Ok(self.items(1, depth)?.map_or(Value::Null, Value::Array)),
            b'~' => self.items(1, depth)?.map(Value::Array).ok_or(Stop::Malformed),
            b'>' => self.items(1, depth)?.map(Value::Push).ok_or(Stop::Malformed),
            b'%' => self.items(2, depth)?.map(Value::Map).ok_or(Stop::Malformed),
            // An attribute says something about the value that follows it.
            b'|' => {
                self.items(2, depth)?.ok_or(Stop::Malformed)?;
                self.value(depth)
            }
            b'_' if self.line()?.is_empty() => Ok(Value::Null),
            b'#' => match self.line()? {
                b"t" => Ok(Value::Boolean(true)),
                b"f" => Ok(Value::Boolean(false)),
                _ => Err(Stop::Malformed),
            },
            _ => Err(Stop::Malformed),
        }
    }

    fn line(&mut self) -> Result<&'v [u8], Stop> {
        let end = self.rest.iter().position(|&byte| byte == b'\r').ok_or(Stop::Incomplete)?;
        let (line, rest) = self.rest.split_at_checked(end).ok_or(Stop::Incomplete)?;
        self.rest = rest;
        self.line_end()?;
        Ok(line)
    }

    fn line_end(&mut self) -> Result<(), Stop> {
        match self.rest {
            [b'\r', b'\n', rest @ ..] => {
                self.rest = rest;
                Ok(())
            }
            [] | [b'\r'] => Err(Stop::Incomplete),
            _ => Err(Stop::Malformed),
        }
    }

    /// A length, or `None` for RESP2's -1.
    fn length(&mut self) -> Result<Option<usize>, Stop> {
        match integer(self.line()?)? {
            -1 => Ok(None),
            length @ 0..=MAX_LENGTH => {
                usize::try_from(length).map(Some).map_err(|_| Stop::Malformed)
            }
            _ => Err(Stop::Malformed),
        }
    }

    fn bulk(&mut self) -> Result<Option<&'v [u8]>, Stop> {
        let Some(length) = self.length()? else { return Ok(None) };
        let (bytes, rest) = self.rest.split_at_checked(length).ok_or(Stop::Incomplete)?;
        self.rest = rest;
        self.line_end()?;
        Ok(Some(bytes))
    }

    fn items(&mut self, values_each: usize, depth: usize) -> Result<Option<Items<'v>>, Stop> {
        let Some(length) = self.length()? else { return Ok(None) };
        let count = length.checked_mul(values_each).ok_or(Stop::Malformed)?;
        let bytes = self.rest;
        for _ in 0..count {
            self.value(depth)?;
        }
        let used = bytes.len().saturating_sub(self.rest.len());
        Ok(Some(Items { bytes: bytes.get(..used).unwrap_or_default(), count }))
    }
}

fn integer(digits: &[u8]) -> Result<i64, Stop> {
    str::from_utf8(digits).ok().and_then(|digits| digits.parse().ok()).ok_or(Stop::Malformed)
}
