use super::resp::Value;

/// Where a release is told. A client subscribes once, whatever number of locks it waits for; the
/// payload of a message is the lock's key.
pub const CHANNEL: &str = "__tenure:1:free";

/// The lock that `message` wakes the waiters of, if it is a message of [`CHANNEL`]: `["message",
/// channel, payload]`, pushed (RESP3) or as an array (RESP2). Anybody may publish there, so it is a
/// hint and no more.
#[must_use]
pub fn woken<'v>(message: &Value<'v>) -> Option<&'v [u8]> {
    let (Value::Push(items) | Value::Array(items)) = message else { return None };
    let mut items = items.iter();
    let (kind, channel, lock) = (items.next()?, items.next()?, items.next()?);
    let heard = kind.as_text()? == b"message" && channel.as_text()? == CHANNEL.as_bytes();
    if heard { lock.as_text() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redis::resp::decode;

    macro_rules! woken_by {
        ($bytes:expr) => {
            woken(&decode($bytes).unwrap().unwrap().0)
        };
    }

    #[test]
    fn only_a_message_of_the_channel_wakes() {
        let pushed = b">3\r\n$7\r\nmessage\r\n$15\r\n__tenure:1:free\r\n$2\r\na\xff\r\n";
        assert_eq!(woken_by!(pushed), Some(&b"a\xff"[..]));
        let mut array = *pushed;
        array[0] = b'*';
        assert_eq!(woken_by!(&array), Some(&b"a\xff"[..]));

        for other in [
            &b">3\r\n$7\r\nmessage\r\n$4\r\nelse\r\n$1\r\na\r\n"[..],
            b">3\r\n$9\r\nsubscribe\r\n$15\r\n__tenure:1:free\r\n:1\r\n",
            b">3\r\n$7\r\nmessage\r\n$15\r\n__tenure:1:free\r\n:1\r\n",
            b">1\r\n$7\r\nmessage\r\n",
            b"+message\r\n",
        ] {
            assert_eq!(woken_by!(other), None, "{}", other.escape_ascii());
        }
    }
}
