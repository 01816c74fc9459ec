use tenure_dialects::redis::{
    Answer, ErrorReply, Moved,
    resp::{Value, decode, encode, encoded_len},
    woken,
};

use crate::source::Source;

/// Any bytes, in any pieces.
pub(crate) fn target(bytes: &[u8]) {
    let Some((&cut, stream)) = bytes.split_first() else { return };
    arrives_in_pieces(stream, usize::from(cut));
    reads_on(stream);
    encodes(stream);
    let _ = Moved::read(stream);
    assert!(!ErrorReply::read(stream).to_string().is_empty());
}

/// What is whole is read the same whatever comes after it; what is cut wants more.
fn arrives_in_pieces(stream: &[u8], cut: usize) {
    let whole = decode(stream);
    let cuts = [cut % (stream.len() + 1), cut / 16, cut % 16, stream.len().saturating_sub(1)];
    for cut in cuts {
        let piece = decode(&stream[..cut.min(stream.len())]);
        match whole {
            Ok(Some((value, used))) if cut < used => {
                assert_eq!(piece, Ok(None), "a piece of {value:?}");
            }
            Ok(Some(_)) => assert_eq!(piece, whole),
            Ok(None) => assert_eq!(piece, Ok(None)),
            Err(_) => assert!(!matches!(piece, Ok(Some(_))), "{piece:?} became nothing"),
        }
    }
}

fn reads_on(mut stream: &[u8]) {
    while let Ok(Some((value, used))) = decode(stream) {
        assert!(used > 0 && used <= stream.len());
        walk(&value);
        let _ = (woken(&value), Answer::from(value));
        stream = &stream[used..];
    }
}

fn walk(value: &Value<'_>) {
    if let Value::Array(items) | Value::Map(items) | Value::Push(items) = value {
        assert_eq!(items.iter().inspect(walk).count(), items.len());
    }
}

/// A command of any words reads back as an array of them.
fn encodes(stream: &[u8]) {
    let mut source = Source::new(stream);
    let mut words = Vec::new();
    while !source.is_empty() && words.len() < 12 {
        words.push(source.text());
    }
    let args = || words.iter().copied();
    let mut buffer = vec![0xff; encoded_len(args()) + 1];
    let written = encode(args(), &mut buffer).expect("room enough");
    let written = written.to_vec();
    assert_eq!(written.len() + 1, buffer.len(), "the length was wrong");
    assert_eq!(buffer.last(), Some(&0xff), "written past the end");
    let (value, used) = decode(&written).expect("RESP").expect("whole");
    assert_eq!(used, written.len());
    let Value::Array(items) = value else { panic!("{value:?}") };
    assert!(items.iter().eq(args().map(Value::Text)));
    let short = &mut buffer[..written.len() - 1];
    assert_eq!(encode(args(), short).map_err(|error| error.needed), Err(written.len()));
}
