use core::time::Duration;

use tenure_core::{Promise, Reply, RequestKind, Token};

use super::resp::Value;
use super::{CHANNEL, Command, ErrorReply, Layout, RESERVED, Script, Trouble, Word};

/// Starts to ask for what a machine requests of `lock`.
///
/// `Watch` subscribes to [`CHANNEL`]: it goes to a connection that may be pushed to, and need not be
/// asked again on that connection. `Unwatch` is `Done` at once, since other locks may still need the
/// subscription.
#[must_use]
pub fn start(
    layout: Layout,
    lock: &[u8],
    request: RequestKind,
) -> (Conversation<'_, RequestKind>, Step<'_, Reply>) {
    let plan = plan(layout, lock, request);
    let step = match &plan {
        Ok(Plan::Run(call)) => Step::Send(call.run()),
        Ok(Plan::Subscribe) => {
            Step::Send(Command::new([Word::from("SUBSCRIBE"), Word::from(CHANNEL)]))
        }
        Ok(Plan::Nothing) => Step::Done(Ok(Reply::Released)),
        Err(trouble) => Step::Done(Err(*trouble)),
    };
    let call = match plan {
        Ok(Plan::Run(call)) => Some(call),
        Ok(Plan::Subscribe | Plan::Nothing) | Err(_) => None,
    };
    (Conversation { call, ask: request }, step)
}

/// Starts to look at `lock` without taking part.
#[must_use]
pub fn inspect(lock: &[u8]) -> (Conversation<'_, Look>, Step<'_, Sight>) {
    Conversation::run(Call::new(Script::INSPECT, [Word::given(lock)], []), Look)
}

/// What to do next.
#[derive(Debug)]
#[expect(clippy::exhaustive_enums, reason = "a driver must know every step")]
#[expect(clippy::large_enum_variant, reason = "there is no allocator to box a command with")]
pub enum Step<'a, R> {
    /// Send this, and give the answer to [`Conversation::next`].
    Send(Command<'a>),
    /// It is over. A [`Trouble`] says whether the server may have executed the request.
    Done(Result<R, Trouble>),
}

/// One request under way: a script by its hash and, if the server does not have it, by its text.
#[derive(Clone, Debug)]
pub struct Conversation<'a, A> {
    /// What to run if the server does not have the script.
    call: Option<Call<'a>>,
    ask: A,
}

impl<'a, A: Ask> Conversation<'a, A> {
    /// Takes the server's answer to the last command.
    #[must_use]
    pub fn next(&mut self, answer: Answer<'_>) -> Step<'a, A::Reply> {
        let Answer::Error(line) = answer else {
            return Step::Done(self.ask.read(answer).ok_or(Trouble::Garbled));
        };
        let error = ErrorReply::read(line);
        match self.call.take() {
            Some(call) if error.is_no_script() => Step::Send(call.load_and_run()),
            Some(_) | None => Step::Done(Err(Trouble::Answered(error))),
        }
    }

    pub(super) fn run(call: Call<'a>, ask: A) -> (Self, Step<'a, A::Reply>) {
        let step = Step::Send(call.run());
        (Self { call: Some(call), ask }, step)
    }

    pub(super) const fn refused(trouble: Trouble, ask: A) -> (Self, Step<'a, A::Reply>) {
        (Self { call: None, ask }, Step::Done(Err(trouble)))
    }
}

/// What the server said, as a conversation takes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Answer<'v> {
    /// A string.
    Text(&'v [u8]),
    /// An error, without the `-`.
    Error(&'v [u8]),
    /// The subscription stands.
    Subscribed,
    /// What is none of these.
    Other,
}

impl<'v> From<Value<'v>> for Answer<'v> {
    fn from(value: Value<'v>) -> Self {
        match value {
            Value::Text(text) => Self::Text(text),
            Value::Error(line) => Self::Error(line),
            Value::Push(items) | Value::Array(items)
                if items.iter().next() == Some(Value::Text(b"subscribe")) =>
            {
                Self::Subscribed
            }
            Value::Push(_)
            | Value::Array(_)
            | Value::Map(_)
            | Value::Integer(_)
            | Value::Number(_)
            | Value::Boolean(_)
            | Value::Null => Self::Other,
        }
    }
}

/// What can be asked, and how its answer reads.
pub trait Ask {
    /// The answer, read.
    type Reply;

    /// Reads an answer that is no error; `None` if no script of ours returns it.
    fn read(&self, answer: Answer<'_>) -> Option<Self::Reply>;
}

impl Ask for RequestKind {
    type Reply = Reply;

    fn read(&self, answer: Answer<'_>) -> Option<Reply> {
        let text = match (self, answer) {
            (Self::Watch { .. }, Answer::Subscribed) => return Some(Reply::Watching),
            (_, Answer::Text(text)) => text,
            _ => return None,
        };
        match (self, fields(text)) {
            // Asked again, the server answers the same: the term is that of the first time (D2).
            (&Self::Acquire { nonce, term, .. }, [Some(b"granted"), Some(token), None]) => {
                let promise = Promise::Term(whole_millis(term));
                Some(Reply::Granted { nonce, token: number(token).and_then(Token::new)?, promise })
            }
            (Self::Acquire { .. }, [Some(b"busy"), Some(left), Some(holder)]) => {
                Some(Reply::Busy { retry_after: time_left(left)?, holder: token(holder)? })
            }
            (&Self::Renew { term, .. }, [Some(b"renewed"), None, None]) => {
                Some(Reply::Renewed { term: whole_millis(term) })
            }
            (Self::Release { .. }, [Some(b"released"), None, None]) => Some(Reply::Released),
            (Self::Renew { .. } | Self::Release { .. }, [Some(b"gone"), None, None]) => {
                Some(Reply::Gone)
            }
            _ => None,
        }
    }
}

/// A look at a lock.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Look;

/// What a look at a lock showed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Sight {
    /// Nobody has it.
    Free,
    /// Somebody has it.
    #[non_exhaustive]
    Held {
        /// The holder's token; `None` if the holder is not of Tenure.
        token: Option<Token>,
        /// What is left of its term; `None` if the key has no time to live.
        remaining: Option<Duration>,
    },
}

impl Ask for Look {
    type Reply = Sight;

    fn read(&self, answer: Answer<'_>) -> Option<Sight> {
        let Answer::Text(text) = answer else { return None };
        match fields(text) {
            [Some(b"free"), None, None] => Some(Sight::Free),
            [Some(b"held"), Some(left), Some(holder)] => {
                Some(Sight::Held { token: token(holder)?, remaining: time_left(left)? })
            }
            _ => None,
        }
    }
}

/// A script and what it works on.
#[derive(Clone, Debug)]
pub(super) struct Call<'a> {
    script: Script,
    keys: [Option<Word<'a>>; 2],
    args: [Option<Word<'a>>; 5],
}

impl<'a> Call<'a> {
    pub(super) fn new<const K: usize, const A: usize>(
        script: Script,
        keys: [Word<'a>; K],
        args: [Word<'a>; A],
    ) -> Self {
        const { assert!(K <= 2 && A <= 5, "no script takes more") };
        let mut call = Self { script, keys: [None; 2], args: [None; 5] };
        call.keys.iter_mut().zip(keys).for_each(|(place, key)| *place = Some(key));
        call.args.iter_mut().zip(args).for_each(|(place, arg)| *place = Some(arg));
        call
    }

    /// Runs a script that the server has; otherwise it answers `NOSCRIPT`.
    fn run(&self) -> Command<'a> {
        self.command("EVALSHA", self.script.sha1)
    }

    /// Hands the script over and runs it.
    fn load_and_run(&self) -> Command<'a> {
        self.command("EVAL", self.script.source)
    }

    fn command(&self, name: &'static str, script: &'static str) -> Command<'a> {
        let keys = if self.keys.iter().flatten().count() == 1 { "1" } else { "2" };
        let head = [name, script, keys].map(Word::from);
        Command::new(head.into_iter().chain(self.keys.into_iter().chain(self.args).flatten()))
    }
}

#[expect(clippy::large_enum_variant, reason = "there is no allocator to box a call with")]
enum Plan<'a> {
    Run(Call<'a>),
    Subscribe,
    Nothing,
}

fn plan(layout: Layout, lock: &[u8], request: RequestKind) -> Result<Plan<'_>, Trouble> {
    let key = lock_key(lock)?;
    Ok(match request {
        RequestKind::Acquire { nonce, term, .. } => Plan::Run(Call::new(
            Script::ACQUIRE,
            [key, layout.counter(lock)],
            [nonce.into(), time_to_live(term)?],
        )),
        RequestKind::Renew { nonce, term } => {
            Plan::Run(Call::new(Script::RENEW, [key], [nonce.into(), time_to_live(term)?]))
        }
        RequestKind::Release { nonce } => {
            Plan::Run(Call::new(Script::RELEASE, [key], [nonce.into(), Word::from(CHANNEL)]))
        }
        RequestKind::Watch { .. } => Plan::Subscribe,
        RequestKind::Unwatch { .. } => Plan::Nothing,
        RequestKind::Enqueue { .. }
        | RequestKind::Claim { .. }
        | RequestKind::Disconnect { .. }
        | _ => return Err(Trouble::Unsupported),
    })
}

pub(super) fn lock_key(lock: &[u8]) -> Result<Word<'_>, Trouble> {
    if lock.starts_with(RESERVED.as_bytes()) {
        return Err(Trouble::ReservedName);
    }
    Ok(Word::given(lock))
}

/// `PEXPIRE` deletes a key whose time to live is not positive, so none is ever sent.
pub(super) fn time_to_live(term: Duration) -> Result<Word<'static>, Trouble> {
    match u64::try_from(term.as_millis()) {
        Ok(0) | Err(_) => Err(Trouble::TermTooShort),
        Ok(millis) => Ok(Word::number(millis)),
    }
}

/// What the server was asked for: never more than the term.
pub(super) fn whole_millis(term: Duration) -> Duration {
    Duration::from_millis(u64::try_from(term.as_millis()).unwrap_or(u64::MAX))
}

/// A script's answer: up to three words with one blank between them. What is left over makes the last
/// word unreadable.
pub(super) fn fields(text: &[u8]) -> [Option<&[u8]>; 3] {
    let mut words = text.splitn(3, |&byte| byte == b' ');
    [(); 3].map(|()| words.next())
}

/// A holder's token; `-` if it has none.
pub(super) fn token(word: &[u8]) -> Option<Option<Token>> {
    match word {
        b"-" => Some(None),
        // One that is out of range is not ours.
        digits => number(digits).map(Token::new),
    }
}

/// What `PTTL` said; -1 is a key without a time to live.
pub(super) fn time_left(word: &[u8]) -> Option<Option<Duration>> {
    match word {
        b"-1" => Some(None),
        digits => number(digits).map(|millis| Some(Duration::from_millis(millis))),
    }
}

pub(super) fn number(digits: &[u8]) -> Option<u64> {
    match digits {
        [b'0'..=b'9', ..] => core::str::from_utf8(digits).ok()?.parse().ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use alloc::{string::String, vec::Vec};
    use core::time::Duration;

    use tenure_core::{Failure, Nonce};

    use super::*;

    const NONCE: Nonce = Nonce::from_bytes([0xab; 16]);
    const TERM: Duration = Duration::from_micros(30_000_999);
    const ACQUIRE: RequestKind = RequestKind::Acquire { nonce: NONCE, term: TERM, block: false };
    const RENEW: RequestKind = RequestKind::Renew { nonce: NONCE, term: TERM };
    const RELEASE: RequestKind = RequestKind::Release { nonce: NONCE };

    fn sent<R>(step: Step<'_, R>) -> Vec<String> {
        let Step::Send(command) = step else { panic!("nothing to send") };
        command.args().map(|arg| String::from_utf8(arg.to_vec()).unwrap()).collect()
    }

    fn done<R>(step: Step<'_, R>) -> Result<R, Trouble> {
        let Step::Done(result) = step else { panic!("not done") };
        result
    }

    fn answered(request: RequestKind, text: &str) -> Result<Reply, Trouble> {
        let (mut conversation, _) = start(Layout::Standalone, b"nightly", request);
        done(conversation.next(Answer::Text(text.as_bytes())))
    }

    #[test]
    fn a_request_is_one_script() {
        let nonce = "abababababababababababababababab";
        let lock = "nightly";
        for (request, script, rest) in [
            (ACQUIRE, Script::ACQUIRE, &["2", lock, "__tenure:1:token", nonce, "30000"][..]),
            (RENEW, Script::RENEW, &["1", lock, nonce, "30000"]),
            (RELEASE, Script::RELEASE, &["1", lock, nonce, "__tenure:1:free"]),
        ] {
            let (mut conversation, step) = start(Layout::Standalone, lock.as_bytes(), request);
            let sent_first = sent(step);
            assert_eq!(sent_first[..2], ["EVALSHA", script.sha1]);
            assert_eq!(sent_first[2..], *rest);
            let sent_then = sent(conversation.next(Answer::Error(b"NOSCRIPT No matching script.")));
            assert_eq!(sent_then[..2], ["EVAL", script.source]);
            assert_eq!(sent_then[2..], *rest);
            // A server that has just been handed the script and lacks it is given up.
            let end = done(conversation.next(Answer::Error(b"NOSCRIPT No matching script.")));
            let failure = Failure::Refused { permanent: false, retry_after: None };
            assert_eq!(end.unwrap_err().failure(), failure);
        }
    }

    #[test]
    fn in_a_cluster_the_counter_is_in_the_slot_of_the_lock() {
        let (_, step) = start(Layout::Cluster, b"a{b}c", ACQUIRE);
        let counter = &sent(step)[4];
        assert_eq!(crate::redis::slot(counter.as_bytes()), crate::redis::slot(b"b"));
    }

    #[test]
    fn answers_are_read() {
        let millis = Duration::from_millis;
        let token = |number| Token::new(number).unwrap();
        let promise = Promise::Term(millis(30_000));
        let busy = |retry_after, holder| Ok(Reply::Busy { retry_after, holder });
        for (request, text, reply) in [
            (ACQUIRE, "granted 7", Ok(Reply::Granted { nonce: NONCE, token: token(7), promise })),
            (
                ACQUIRE,
                "granted 9223372036854775807",
                Ok(Reply::Granted { nonce: NONCE, token: Token::MAX, promise }),
            ),
            (ACQUIRE, "busy 1500 6", busy(Some(millis(1500)), Some(token(6)))),
            (ACQUIRE, "busy 0 -", busy(Some(millis(0)), None)),
            (ACQUIRE, "busy -1 -", busy(None, None)),
            (ACQUIRE, "busy -1 9223372036854775808", busy(None, None)),
            (RENEW, "renewed", Ok(Reply::Renewed { term: millis(30_000) })),
            (RENEW, "gone", Ok(Reply::Gone)),
            (RELEASE, "released", Ok(Reply::Released)),
            (RELEASE, "gone", Ok(Reply::Gone)),
        ] {
            assert_eq!(answered(request, text), reply, "{text}");
        }
    }

    #[test]
    fn what_no_script_returns_is_unknown() {
        for (request, text) in [
            (ACQUIRE, ""),
            (ACQUIRE, "granted"),
            (ACQUIRE, "granted 0"),
            (ACQUIRE, "granted -1"),
            (ACQUIRE, "granted +7"),
            (ACQUIRE, "granted 7 "),
            (ACQUIRE, "granted 7 8"),
            (ACQUIRE, "granted  7"),
            (ACQUIRE, "granted 9223372036854775808"),
            (ACQUIRE, "granted 18446744073709551617"),
            (ACQUIRE, "busy 1 2 3"),
            (ACQUIRE, "busy 1"),
            (ACQUIRE, "busy x -"),
            (ACQUIRE, "gone"),
            (ACQUIRE, "renewed"),
            (RENEW, "released"),
            (RENEW, "granted 7"),
            (RELEASE, "renewed"),
            (RELEASE, "released 1"),
        ] {
            assert_eq!(answered(request, text), Err(Trouble::Garbled), "{text}");
        }
        assert_eq!(Trouble::Garbled.failure(), Failure::Unknown);
        let (mut conversation, _) = start(Layout::Standalone, b"nightly", ACQUIRE);
        assert_eq!(done(conversation.next(Answer::Other)), Err(Trouble::Garbled));
        assert_eq!(done(conversation.next(Answer::Subscribed)), Err(Trouble::Garbled));
    }

    #[test]
    fn what_cannot_be_asked_is_not_sent() {
        let refused = |lock, request| done(start(Layout::Standalone, lock, request).1);
        let zero = RequestKind::Renew { nonce: NONCE, term: Duration::from_micros(999) };
        assert_eq!(refused(b"nightly", zero), Err(Trouble::TermTooShort));
        assert_eq!(refused(b"__tenure:1:token", RELEASE), Err(Trouble::ReservedName));
        assert_eq!(refused(b"__tenure:", ACQUIRE), Err(Trouble::ReservedName));
        let claim = RequestKind::Claim { nonce: NONCE };
        assert_eq!(refused(b"nightly", claim), Err(Trouble::Unsupported));
    }

    #[test]
    fn a_watch_subscribes() {
        let watch = RequestKind::Watch { nonce: NONCE };
        let (mut conversation, step) = start(Layout::Standalone, b"nightly", watch);
        assert_eq!(sent(step), ["SUBSCRIBE", "__tenure:1:free"]);
        let received = b"*3\r\n$9\r\nsubscribe\r\n$15\r\n__tenure:1:free\r\n:1\r\n";
        let (value, _) = crate::redis::resp::decode(received).unwrap().unwrap();
        assert_eq!(done(conversation.next(Answer::from(value))), Ok(Reply::Watching));
        let unwatch = RequestKind::Unwatch { nonce: NONCE };
        assert!(done(start(Layout::Standalone, b"nightly", unwatch).1).is_ok());
    }

    #[test]
    fn a_look_is_read() {
        let seen = |text: &str| {
            let (mut conversation, step) = inspect(b"nightly");
            assert_eq!(sent(step), ["EVALSHA", Script::INSPECT.sha1, "1", "nightly"]);
            done(conversation.next(Answer::Text(text.as_bytes())))
        };
        let (token, remaining) = (Token::new(34), Some(Duration::from_millis(900)));
        assert_eq!(seen("free"), Ok(Sight::Free));
        assert_eq!(seen("held 900 34"), Ok(Sight::Held { token, remaining }));
        assert_eq!(seen("held -1 -"), Ok(Sight::Held { token: None, remaining: None }));
        assert_eq!(seen("held"), Err(Trouble::Garbled));
    }
}
