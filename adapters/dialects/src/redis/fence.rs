//! The check for data that live in Redis: no older holder's write after a newer holder was installed.
//!
//! A fence is a key of the user's choice that keeps the highest token seen, without a time to live.
//! In a cluster it must hash to the slot of the data: `{orders}:fence` beside `{orders}:total`. A new
//! holder [`install`]s its token before it first reads, and [`write`](write())s under it. In the user's own
//! script, [`Script::WRITE`] shows the few lines to put before the writes.

use tenure_core::{Fence, StaleToken, Token};

use super::conversation::{Answer, Ask, Call, Conversation, Step, fields, number};
use super::{Script, Word};

/// Starts to raise `fence` to `token`, so that no lower one is admitted from now on. Whoever may do
/// this can lock everybody else out.
#[must_use]
pub fn install(fence: &[u8], token: Token) -> (Conversation<'_, Offer>, Step<'_, Verdict>) {
    let call = Call::new(Script::INSTALL, [Word::given(fence)], [Word::number(token.get())]);
    Conversation::run(call, Offer { token, accepted: b"installed" })
}

/// Starts to `SET key value` under `token`, in one step with the check. It drops a time to live that
/// `key` had, as `SET` does.
#[must_use]
pub fn write<'a>(
    fence: &'a [u8],
    token: Token,
    key: &'a [u8],
    value: &'a [u8],
) -> (Conversation<'a, Offer>, Step<'a, Verdict>) {
    let call = Call::new(
        Script::WRITE,
        [Word::given(fence), Word::given(key)],
        [Word::number(token.get()), Word::given(value)],
    );
    Conversation::run(call, Offer { token, accepted: b"written" })
}

/// What a fence says.
pub type Verdict = Result<(), StaleToken>;

/// A token offered to a fence.
#[derive(Clone, Copy, Debug)]
pub struct Offer {
    token: Token,
    accepted: &'static [u8],
}

impl Ask for Offer {
    type Reply = Verdict;

    fn read(&self, answer: Answer<'_>) -> Option<Verdict> {
        let Answer::Text(text) = answer else { return None };
        if text == self.accepted {
            return Some(Ok(()));
        }
        let [Some(b"stale"), Some(highest), None] = fields(text) else { return None };
        let highest = number(highest).and_then(Token::new)?;
        match Fence::restored(highest).install(self.token) {
            Err(stale) => Some(Err(stale)),
            Ok(()) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redis::Trouble;

    #[test]
    fn a_verdict_is_read() {
        let token = |number| Token::new(number).unwrap();
        let verdict = |text: &str| {
            let (mut conversation, step) = install(b"fence", token(33));
            assert!(matches!(step, Step::Send(command) if command.args().len() == 5));
            match conversation.next(Answer::Text(text.as_bytes())) {
                Step::Done(verdict) => verdict,
                Step::Send(_) => panic!("not done"),
            }
        };
        assert_eq!(verdict("installed"), Ok(Ok(())));
        let stale = verdict("stale 34").unwrap().unwrap_err();
        assert_eq!((stale.offered, stale.highest), (token(33), token(34)));
        for text in ["written", "stale", "stale 33", "stale x", "stale 34 1", ""] {
            assert_eq!(verdict(text), Err(Trouble::Garbled), "{text}");
        }
    }
}
