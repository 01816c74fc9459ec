use tenure_core::{NodeReply, NodeRequest, Nonce};

use super::NODE;
use crate::redis::conversation::{
    Answer, Ask, Call, Conversation, Step, fields, lock_key, number, time_left, time_to_live,
    token, whole_millis,
};
use crate::redis::{CHANNEL, Script, Trouble, Word, slot};

/// Starts to ask `node` for what a quorum requests of `lock`.
///
/// Only `Lock` and `Raise` are votes, and refused by a server that is not `node`.
#[must_use]
pub fn start(
    node: Nonce,
    lock: &[u8],
    request: NodeRequest,
) -> (Conversation<'_, NodeRequest>, Step<'_, NodeReply>) {
    match call(node, lock, request) {
        Ok(call) => Conversation::run(call, request),
        Err(trouble) => Conversation::refused(trouble, request),
    }
}

fn call(node: Nonce, lock: &[u8], request: NodeRequest) -> Result<Call<'_>, Trouble> {
    let key = lock_key(lock)?;
    let counter = || Word::number(slot(lock).into());
    Ok(match request {
        NodeRequest::Lock { nonce, term, guess } => Call::new(
            Script::LOCK,
            [key, Word::from(NODE)],
            [node.into(), nonce.into(), time_to_live(term)?, counter(), Word::number(guess.get())],
        ),
        NodeRequest::Raise { nonce, token } => Call::new(
            Script::RAISE,
            [key, Word::from(NODE)],
            [node.into(), nonce.into(), counter(), Word::number(token.get())],
        ),
        NodeRequest::Renew { nonce, term } => {
            Call::new(Script::RENEW, [key], [nonce.into(), time_to_live(term)?])
        }
        NodeRequest::Release { nonce } => {
            Call::new(Script::RELEASE, [key], [nonce.into(), Word::from(CHANNEL)])
        }
        _ => return Err(Trouble::Unsupported),
    })
}

impl Ask for NodeRequest {
    type Reply = NodeReply;

    fn read(&self, answer: Answer<'_>) -> Option<NodeReply> {
        let Answer::Text(text) = answer else { return None };
        match (self, fields(text)) {
            // Asked again, the server answers the same: the term is that of the first time (D2).
            (
                &Self::Lock { nonce, term, .. },
                [Some(word @ (b"accepted" | b"locked")), Some(counter), None],
            ) => Some(NodeReply::Locked {
                nonce,
                term: whole_millis(term),
                accepted: word == b"accepted",
                counter: token(counter)?,
            }),
            (Self::Lock { .. }, [Some(b"busy"), Some(left), Some(counter)]) => {
                Some(NodeReply::Busy { retry_after: time_left(left)?, counter: token(counter)? })
            }
            (Self::Raise { .. }, [Some(b"raised"), None, None]) => Some(NodeReply::Raised),
            (Self::Raise { .. }, [Some(b"higher"), Some(counter), None]) => {
                let counter = tenure_core::Token::new(number(counter)?)?;
                Some(NodeReply::Higher { counter })
            }
            (&Self::Renew { term, .. }, [Some(b"renewed"), None, None]) => {
                Some(NodeReply::Renewed { term: whole_millis(term) })
            }
            (Self::Release { .. }, [Some(b"released"), None, None]) => Some(NodeReply::Released),
            (
                Self::Raise { .. } | Self::Renew { .. } | Self::Release { .. },
                [Some(b"gone"), None, None],
            ) => Some(NodeReply::Gone),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::{string::String, vec::Vec};
    use core::time::Duration;

    use tenure_core::Token;

    use super::*;

    const NODE_ID: Nonce = Nonce::from_bytes([0x11; 16]);
    const NONCE: Nonce = Nonce::from_bytes([0xab; 16]);
    const TERM: Duration = Duration::from_micros(30_000_999);
    const LOCK: NodeRequest = NodeRequest::Lock { nonce: NONCE, term: TERM, guess: Token::MAX };
    const RAISE: NodeRequest = NodeRequest::Raise { nonce: NONCE, token: Token::MIN };
    const RENEW: NodeRequest = NodeRequest::Renew { nonce: NONCE, term: TERM };
    const RELEASE: NodeRequest = NodeRequest::Release { nonce: NONCE };

    fn sent<R>(step: Step<'_, R>) -> Vec<String> {
        let Step::Send(command) = step else { panic!("nothing to send") };
        command.args().map(|arg| String::from_utf8(arg.to_vec()).unwrap()).collect()
    }

    fn answered(request: NodeRequest, text: &str) -> Result<NodeReply, Trouble> {
        let (mut conversation, _) = start(NODE_ID, b"nightly", request);
        let Step::Done(result) = conversation.next(Answer::Text(text.as_bytes())) else {
            panic!("not done")
        };
        result
    }

    #[test]
    fn a_request_is_one_script() {
        let (node, nonce) =
            ("11111111111111111111111111111111", "abababababababababababababababab");
        let slot = alloc::format!("{}", slot(b"nightly"));
        let (slot, highest) = (slot.as_str(), "9223372036854775807");
        for (request, script, rest) in [
            (LOCK, Script::LOCK, &["2", "nightly", NODE, node, nonce, "30000", slot, highest][..]),
            (RAISE, Script::RAISE, &["2", "nightly", NODE, node, nonce, slot, "1"]),
            (RENEW, Script::RENEW, &["1", "nightly", nonce, "30000"]),
            (RELEASE, Script::RELEASE, &["1", "nightly", nonce, "__tenure:1:free"]),
        ] {
            let (mut conversation, step) = start(NODE_ID, b"nightly", request);
            let first = sent(step);
            assert_eq!(first[..2], ["EVALSHA", script.sha1]);
            assert_eq!(first[2..], *rest);
            let then = sent(conversation.next(Answer::Error(b"NOSCRIPT No matching script.")));
            assert_eq!((then[0].as_str(), &then[2..]), ("EVAL", &first[2..]));
        }
    }

    #[test]
    fn answers_are_read() {
        let term = Duration::from_millis(30_000);
        let locked = |accepted, counter| {
            let counter = Token::new(counter);
            Ok(NodeReply::Locked { nonce: NONCE, term, accepted, counter })
        };
        for (request, text, reply) in [
            (LOCK, "accepted 7", locked(true, 7)),
            (LOCK, "locked 9223372036854775807", locked(false, Token::MAX.get())),
            (LOCK, "busy -1 -", Ok(NodeReply::Busy { retry_after: None, counter: None })),
            (
                LOCK,
                "busy 12 3",
                Ok(NodeReply::Busy {
                    retry_after: Some(Duration::from_millis(12)),
                    counter: Token::new(3),
                }),
            ),
            (RAISE, "raised", Ok(NodeReply::Raised)),
            (RAISE, "higher 8", Ok(NodeReply::Higher { counter: Token::new(8).unwrap() })),
            (RAISE, "gone", Ok(NodeReply::Gone)),
            (RENEW, "renewed", Ok(NodeReply::Renewed { term })),
            (RENEW, "gone", Ok(NodeReply::Gone)),
            (RELEASE, "released", Ok(NodeReply::Released)),
            (RELEASE, "gone", Ok(NodeReply::Gone)),
        ] {
            assert_eq!(answered(request, text), reply, "{text}");
        }
    }

    #[test]
    fn what_no_script_returns_is_unknown() {
        for (request, text) in [
            (LOCK, "accepted"),
            (LOCK, "accepted x"),
            (LOCK, "accepted 7 8"),
            (LOCK, "granted 7"),
            (LOCK, "raised"),
            (LOCK, "gone"),
            (LOCK, "busy 1"),
            (RAISE, "higher"),
            (RAISE, "higher 0"),
            (RAISE, "higher 9223372036854775808"),
            (RAISE, "accepted 7"),
            (RENEW, "released"),
            (RELEASE, "renewed"),
        ] {
            assert_eq!(answered(request, text), Err(Trouble::Garbled), "{text}");
        }
    }

    #[test]
    fn what_cannot_be_asked_is_not_sent() {
        let refused = |lock, request| match start(NODE_ID, lock, request).1 {
            Step::Done(result) => result.unwrap_err(),
            Step::Send(_) => panic!("sent"),
        };
        let short =
            NodeRequest::Lock { nonce: NONCE, term: Duration::from_micros(1), guess: Token::MIN };
        assert_eq!(refused(b"nightly", short), Trouble::TermTooShort);
        assert_eq!(refused(NODE.as_bytes(), RELEASE), Trouble::ReservedName);
    }
}
