use tenure_core::{Failure, Nonce, Promise, Reply, RequestKind};
use tenure_dialects::redis::{
    Answer, CHANNEL, Command, Conversation, Layout, RESERVED, Script, Sight, Step, Trouble, fence,
    inspect, resp, slot, start,
};

use crate::source::Source;

/// Hostile answers to every request.
pub(crate) fn target(bytes: &[u8]) {
    let mut source = Source::new(bytes);
    match source.below(8) {
        0 => looks(source),
        1 => fences(source),
        _ => asks(source),
    }
}

fn asks(mut source: Source<'_>) {
    let layout = source.pick(&[Layout::Standalone, Layout::Cluster]);
    let nonce = Nonce::from_bytes(source.nonce_bytes());
    let term = source.span();
    let kind = source.pick(&[
        RequestKind::Acquire { nonce, term, block: false },
        RequestKind::Acquire { nonce, term, block: true },
        RequestKind::Renew { nonce, term },
        RequestKind::Release { nonce },
        RequestKind::Watch { nonce },
        RequestKind::Unwatch { nonce },
        RequestKind::Enqueue { nonce, term },
        RequestKind::Claim { nonce },
        RequestKind::Disconnect { nonce },
    ]);
    let lock = source.text();
    let (mut conversation, step) = start(layout, lock, kind);
    match step {
        Step::Done(result) => nothing_is_sent(kind, lock, result),
        Step::Send(command) => {
            is_asked(layout, lock, kind, &command);
            let (answer, result) = talk(&mut conversation, &command, source.rest());
            match result {
                Ok(reply) => is_earned(kind, answer, reply),
                Err(trouble) => is_classed(answer, trouble),
            }
        }
    }
}

fn nothing_is_sent(kind: RequestKind, lock: &[u8], result: Result<Reply, Trouble>) {
    let never = Failure::Refused { permanent: true, retry_after: None };
    let reserved = lock.starts_with(RESERVED.as_bytes());
    match result {
        Ok(reply) => {
            assert!(reply == Reply::Released && matches!(kind, RequestKind::Unwatch { .. }))
        }
        Err(trouble) => {
            assert_eq!(trouble.failure(), never, "it was not sent");
            assert_eq!(trouble == Trouble::ReservedName, reserved);
        }
    }
}

/// The lock's name and the nonce are words of their own, whatever bytes they are made of.
fn is_asked(layout: Layout, lock: &[u8], kind: RequestKind, command: &Command<'_>) {
    assert!(!lock.starts_with(RESERVED.as_bytes()), "a reserved name was used");
    let args: Vec<&[u8]> = command.args().collect();
    if let RequestKind::Watch { .. } = kind {
        assert_eq!(args, [b"SUBSCRIBE", CHANNEL.as_bytes()]);
        return;
    }
    let nonce = kind.nonce().to_string();
    assert!(args[0] == b"EVALSHA" && args[3] == lock && args.contains(&nonce.as_bytes()));
    if let RequestKind::Acquire { term, .. } | RequestKind::Renew { term, .. } = kind {
        let millis: u128 =
            std::str::from_utf8(args[args.len() - 1]).expect("digits").parse().expect("a number");
        assert!(millis > 0 && millis <= term.as_millis(), "{millis} ms of {term:?}");
    }
    if let (RequestKind::Acquire { .. }, Layout::Cluster) = (kind, layout) {
        assert_eq!(slot(args[4]), slot(lock), "the counter is on another node");
    }
}

/// Hands over the answers until it is over. Returns the last one.
fn talk<'v, A: tenure_dialects::redis::Ask>(
    conversation: &mut Conversation<'_, A>,
    command: &Command<'_>,
    mut stream: &'v [u8],
) -> (Answer<'v>, Result<A::Reply, Trouble>) {
    let mut handed_over = false;
    let mut last = command.args().map(<[u8]>::to_vec).collect::<Vec<_>>();
    loop {
        let answer = next_answer(&mut stream);
        match conversation.next(answer) {
            Step::Done(result) => return (answer, result),
            Step::Send(command) => {
                let args: Vec<_> = command.args().map(<[u8]>::to_vec).collect();
                assert!(!handed_over, "a script is handed over once");
                assert!(matches!(answer, Answer::Error(line) if line.starts_with(b"NOSCRIPT")));
                let script = Script::ALL.iter().find(|script| script.sha1.as_bytes() == last[1]);
                assert_eq!(args[0], b"EVAL");
                assert_eq!(script.map(|script| script.source.as_bytes()), Some(&args[1][..]));
                assert_eq!(args[2..], last[2..], "it is asked something else");
                handed_over = true;
                last = args;
            }
        }
    }
}

/// What the stream holds next, as RESP or, where it is none, as the text of an answer.
fn next_answer<'v>(stream: &mut &'v [u8]) -> Answer<'v> {
    match resp::decode(stream) {
        Ok(Some((value, used))) => {
            *stream = &stream[used..];
            Answer::from(value)
        }
        Ok(None) | Err(_) => {
            let (line, rest) = match stream.iter().position(|&byte| byte == b'\n') {
                Some(end) => (&stream[..end], &stream[end + 1..]),
                None => (*stream, &stream[..0]),
            };
            *stream = rest;
            match line.split_first() {
                Some((b'!', line)) => Answer::Error(line),
                _ => Answer::Text(line),
            }
        }
    }
}

/// A reply that fits the request and says no more than the answer does.
fn is_earned(kind: RequestKind, answer: Answer<'_>, reply: Reply) {
    let text = match answer {
        Answer::Text(text) => String::from_utf8(text.to_vec()).expect("only digits and words"),
        Answer::Subscribed => {
            assert!(reply == Reply::Watching && matches!(kind, RequestKind::Watch { .. }));
            return;
        }
        other => panic!("{other:?} became {reply:?}"),
    };
    match (kind, reply) {
        (
            RequestKind::Acquire { nonce: asked, term, .. },
            Reply::Granted { nonce, token, promise: Promise::Term(granted) },
        ) => {
            assert_eq!(nonce, asked, "S6: a grant for somebody else");
            assert!(granted <= term, "D1: more than was asked for");
            assert!(
                text.trim_start_matches("granted ").trim_start_matches('0') == token.to_string()
            );
        }
        (RequestKind::Acquire { .. }, Reply::Busy { .. }) => assert!(text.starts_with("busy ")),
        (RequestKind::Renew { term, .. }, Reply::Renewed { term: granted }) => {
            assert!(text == "renewed" && granted <= term);
        }
        (RequestKind::Renew { .. } | RequestKind::Release { .. }, Reply::Gone) => {
            assert_eq!(text, "gone");
        }
        (RequestKind::Release { .. }, Reply::Released) => assert_eq!(text, "released"),
        _ => panic!("{text} became {reply:?} of {kind:?}"),
    }
}

/// S10: what is not known to have been refused may have been executed.
fn is_classed(answer: Answer<'_>, trouble: Trouble) {
    let failure = trouble.failure();
    let Answer::Error(line) = answer else {
        assert_eq!((trouble, failure), (Trouble::Garbled, Failure::Unknown));
        return;
    };
    let code = line.split(|&byte| byte == b' ').next().unwrap_or_default();
    match failure {
        Failure::Refused { .. } => {
            let known = REFUSALS.iter().any(|known| known.as_bytes() == code);
            assert!(known, "{} is taken for a refusal", line.escape_ascii());
        }
        Failure::Unknown => {}
        other => panic!("{other:?}, though it was sent"),
    }
}

/// Errors before which the server has executed nothing that counts.
const REFUSALS: [&str; 23] = [
    "NOSCRIPT",
    "READONLY",
    "MOVED",
    "ASK",
    "TRYAGAIN",
    "CLUSTERDOWN",
    "MASTERDOWN",
    "LOADING",
    "MISCONF",
    "NOREPLICAS",
    "OOM",
    "BUSY",
    "NOAUTH",
    "WRONGPASS",
    "NOPERM",
    "DENIED",
    "WRONGTYPE",
    "CROSSSLOT",
    "NOPROTO",
    "TENURECOUNTER",
    "TENUREFENCE",
    "TENURENODE",
    "ERR",
];

fn looks(mut source: Source<'_>) {
    let lock = source.text();
    let (mut conversation, Step::Send(command)) = inspect(lock) else { panic!("nothing to send") };
    match talk(&mut conversation, &command, source.rest()) {
        (Answer::Text(text), Ok(Sight::Free)) => assert_eq!(text, b"free"),
        (Answer::Text(text), Ok(_)) => assert!(text.starts_with(b"held ")),
        (answer, Ok(sight)) => panic!("{answer:?} became {sight:?}"),
        (answer, Err(trouble)) => is_classed(answer, trouble),
    }
}

fn fences(mut source: Source<'_>) {
    let token = source.token();
    let (key, value) = (source.text(), source.text());
    let (accepted, (mut conversation, step)) = if source.one_in(2) {
        ("installed", fence::install(key, token))
    } else {
        ("written", fence::write(key, token, key, value))
    };
    let Step::Send(command) = step else { panic!("nothing to send") };
    match talk(&mut conversation, &command, source.rest()) {
        (Answer::Text(text), Ok(Ok(()))) => assert_eq!(text, accepted.as_bytes()),
        (Answer::Text(text), Ok(Err(stale))) => {
            assert!(text.starts_with(b"stale ") && stale.highest > stale.offered);
            assert_eq!(stale.offered, token, "T2: of somebody else");
        }
        (answer, Ok(verdict)) => panic!("{answer:?} became {verdict:?}"),
        (answer, Err(trouble)) => is_classed(answer, trouble),
    }
}
