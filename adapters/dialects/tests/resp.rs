//! RESP against whole, cut, damaged and random bytes.
#![allow(clippy::arithmetic_side_effects)]

use tenure_dialects::redis::resp::{BufferTooSmall, MAX_DEPTH, Value, decode, encode, encoded_len};

/// One of each kind of value.
const WHOLE: &[&[u8]] = &[
    b"+OK\r\n",
    b"-ERR no\r\n",
    b":-42\r\n",
    b"$5\r\nhe\r\no\r\n",
    b"$-1\r\n",
    b"*-1\r\n",
    b"*0\r\n",
    b"*2\r\n$1\r\na\r\n*1\r\n:7\r\n",
    b"_\r\n",
    b"#t\r\n",
    b",1.5\r\n",
    b"(3492890328409238509324850943850943825024385\r\n",
    b"!5\r\nERR x\r\n",
    b"=7\r\ntxt:abc\r\n",
    b"%1\r\n+k\r\n:1\r\n",
    b"~1\r\n:1\r\n",
    b">2\r\n+message\r\n+x\r\n",
    b"|1\r\n+ttl\r\n:3600\r\n+value\r\n",
];

#[test]
fn values_are_read() {
    let read = |bytes| decode(bytes).unwrap().unwrap().0;
    assert_eq!(read(b"+OK\r\n"), Value::Text(b"OK"));
    assert_eq!(read(b"-ERR no\r\n"), Value::Error(b"ERR no"));
    assert_eq!(read(b"!6\r\nERR\r\nx\r\n"), Value::Error(b"ERR\r\nx"));
    assert_eq!(read(b":-42\r\n"), Value::Integer(-42));
    assert_eq!(read(b"$5\r\nhe\r\no\r\n"), Value::Text(b"he\r\no"));
    assert_eq!(read(b"$-1\r\n"), Value::Null);
    assert_eq!(read(b"*-1\r\n"), Value::Null);
    assert_eq!(read(b"_\r\n"), Value::Null);
    assert_eq!(read(b"#f\r\n"), Value::Boolean(false));
    assert_eq!(read(b",inf\r\n"), Value::Number(b"inf"));
    assert_eq!(read(b"|1\r\n+ttl\r\n:3600\r\n+value\r\n"), Value::Text(b"value"));

    let Value::Array(items) = read(b"*2\r\n$1\r\na\r\n*1\r\n:7\r\n") else { panic!("no array") };
    let mut iter = items.iter();
    assert_eq!(iter.next(), Some(Value::Text(b"a")));
    assert!(
        matches!(iter.next(), Some(Value::Array(inner)) if inner.iter().eq([Value::Integer(7)]))
    );
    assert_eq!(iter.next(), None);
    let Value::Map(items) = read(b"%1\r\n+k\r\n:1\r\n") else { panic!("no map") };
    assert_eq!(items.len(), 2);
    assert!(items.iter().eq([Value::Text(b"k"), Value::Integer(1)]));
}

#[test]
fn a_cut_value_wants_more_and_the_next_one_is_left_alone() {
    for whole in WHOLE {
        for end in 0..whole.len() {
            let cut = &whole[..end];
            assert_eq!(decode(cut), Ok(None), "{}", cut.escape_ascii());
        }
        let followed = [whole, &b"+next\r\n"[..]].concat();
        let (_, used) = decode(&followed).unwrap().unwrap();
        assert_eq!(used, whole.len(), "{}", whole.escape_ascii());
    }
}

#[test]
fn what_is_no_resp_is_refused() {
    let nested = b"*1\r\n".repeat(MAX_DEPTH - 1);
    assert!(decode(&[&nested[..], b":1\r\n"].concat()).unwrap().is_some());
    let too_deep = b"*1\r\n".repeat(MAX_DEPTH);
    for bytes in [
        &b"HTTP/1.1 400 Bad Request\r\n"[..],
        b"$2\r\nabc\r\n",
        b"$-2\r\n",
        b"*-2\r\n",
        b"~-1\r\n",
        b"$99999999999999999999\r\n",
        b"%9223372036854775807\r\n",
        b":1.5\r\n",
        b":\r\n",
        b"+a\rb\r\n",
        b"#x\r\n",
        b"_x\r\n",
        b"$?\r\n",
        &[&too_deep[..], b":1\r\n"].concat(),
    ] {
        assert!(decode(bytes).is_err(), "{}", bytes.escape_ascii());
    }
}

#[test]
fn no_bytes_make_it_panic_or_read_past_the_end() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for round in 0..200_000 {
        let mut bytes = if round % 2 == 0 {
            let whole = WHOLE[random.below(WHOLE.len())];
            let mut damaged = [whole, WHOLE[random.below(WHOLE.len())]].concat();
            for _ in 0..=random.below(3) {
                let place = random.below(damaged.len());
                damaged[place] = random.byte();
            }
            damaged
        } else {
            (0..random.below(24)).map(|_| b"*$%>|~+-:_#,(!=0123459\r\n"[random.below(24)]).collect()
        };
        bytes.truncate(random.below(bytes.len() + 1));
        if let Ok(Some((value, used))) = decode(&bytes) {
            assert!(used <= bytes.len());
            walk(&value);
        }
    }
}

fn walk(value: &Value<'_>) {
    if let Value::Array(items) | Value::Map(items) | Value::Push(items) = value {
        assert_eq!(items.iter().inspect(walk).count(), items.len());
    }
}

#[test]
fn a_command_is_an_array_of_strings() {
    let args = [&b"SET"[..], b"", b"0123456789"];
    let wanted = b"*3\r\n$3\r\nSET\r\n$0\r\n\r\n$10\r\n0123456789\r\n";
    let mut buffer = [0; 64];
    assert_eq!(encode(args.into_iter(), &mut buffer).unwrap(), wanted);
    assert_eq!(encoded_len(args.into_iter()), wanted.len());
    for size in 0..wanted.len() {
        let BufferTooSmall { needed, .. } =
            encode(args.into_iter(), &mut buffer[..size]).unwrap_err();
        assert_eq!(needed, wanted.len());
    }
}

#[test]
fn a_long_command_reads_back() {
    for count in [1, 9, 10, 11, 99, 100, 101] {
        let args: Vec<_> = (0..count).map(|length| vec![b'x'; length]).collect();
        let mut buffer = vec![0; encoded_len(args.iter().map(Vec::as_slice))];
        let size = buffer.len();
        let bytes = encode(args.iter().map(Vec::as_slice), &mut buffer).unwrap();
        let (value, used) = decode(bytes).unwrap().unwrap();
        assert_eq!(used, size);
        let Value::Array(items) = value else { panic!("no array") };
        assert!(items.iter().eq(args.iter().map(|arg| Value::Text(arg))));
    }
}

/// Xorshift: the same bytes on every run.
struct Random(u64);

impl Random {
    fn byte(&mut self) -> u8 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.to_le_bytes()[3]
    }

    fn below(&mut self, limit: usize) -> usize {
        usize::from(self.byte()) % limit
    }
}
