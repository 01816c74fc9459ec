use std::time::Duration;

use tenure_core::{
    Instant, LeaseConfig, NodeReply, NodeRequest, OpId, Quorum, QuorumInput, QuorumOutput, Token,
    Wait,
};

use super::judge::{Judge, nonce_of};
use crate::source::Source;

const INSTANCE: u32 = 1;

/// More outputs than a machine can have between two waits.
const MANY: usize = 120;

/// One `handle` and the polls that followed it.
pub type Step = (Instant, QuorumInput, Vec<QuorumOutput>);

/// As [`lease::walk`](crate::lease::walk), of a quorum of `N`.
///
/// # Panics
///
/// When the machine breaks its contract.
pub fn walk<const N: usize>(bytes: &[u8], mut seen: impl FnMut(Step)) -> (LeaseConfig, u32) {
    let mut source = Source::new(bytes);
    let (config, deductions) = source.config();
    let mut now = source.origin();
    let mut quorum = Quorum::<N>::new(config, INSTANCE);
    let mut judge = Judge::<N>::new(deductions);
    let mut asked: Vec<(OpId, NodeRequest)> = Vec::new();
    let mut inputs = 0;
    while !source.is_empty() {
        now = source.instant(now, judge.alarm());
        inputs += 1;
        let input = input::<N>(&asked, inputs, &mut source, now);
        judge.handle(&mut quorum, now, input);
        let polls = if source.one_in(10) { usize::from(source.below(3)) } else { MANY };
        let mut outputs = Vec::new();
        while outputs.len() < polls {
            let output = quorum.poll();
            outputs.push(output);
            judge.said(&quorum, &output);
            match output {
                QuorumOutput::Request { op, kind, .. } => asked.push((op, kind)),
                QuorumOutput::Event { .. } => {}
                QuorumOutput::Wait(_) => break,
            }
            assert!(outputs.len() < MANY, "poll never waits");
        }
        seen((now, input, outputs));
    }
    closes_and_grants_again(quorum, judge, now);
    (config, INSTANCE)
}

fn input<const N: usize>(
    asked: &[(OpId, NodeRequest)],
    number: u64,
    source: &mut Source<'_>,
    now: Instant,
) -> QuorumInput {
    match source.below(32) {
        0..4 => {
            QuorumInput::Acquire { entropy: source.fresh_entropy(number), wait: source.wait(now) }
        }
        4 if source.one_in(4) => QuorumInput::Release,
        5 if source.one_in(4) => QuorumInput::Cancel,
        6 => QuorumInput::Hint,
        7..10 => QuorumInput::Failed {
            op: recent::<N>(asked, source).map_or(NOBODY, |(op, _)| op),
            failure: source.failure(),
        },
        10..28 => match recent::<N>(asked, source) {
            Some((op, kind)) => QuorumInput::Reply { op, reply: reply(kind, source) },
            None => QuorumInput::Reply { op: NOBODY, reply: NodeReply::Gone },
        },
        _ => QuorumInput::Tick,
    }
}

const NOBODY: OpId = OpId { instance: INSTANCE, generation: 1, sequence: 1 };

fn recent<const N: usize>(
    asked: &[(OpId, NodeRequest)],
    source: &mut Source<'_>,
) -> Option<(OpId, NodeRequest)> {
    let among = if source.one_in(10) { asked.len() } else { N + 1 };
    let recent = &asked[asked.len().saturating_sub(among)..];
    (!recent.is_empty()).then(|| source.pick(recent))
}

fn reply(kind: NodeRequest, source: &mut Source<'_>) -> NodeReply {
    let nonce = nonce_of(kind);
    let term = |source: &mut Source<'_>, asked: Duration| {
        if source.one_in(8) { source.span() } else { asked }
    };
    match (kind, source.below(16)) {
        (NodeRequest::Lock { term: asked, guess, .. }, 0..8) => NodeReply::Locked {
            nonce,
            term: term(source, asked),
            accepted: true,
            counter: Some(guess),
        },
        (NodeRequest::Lock { term: asked, .. }, 8..12) => NodeReply::Locked {
            nonce,
            term: term(source, asked),
            accepted: false,
            counter: Some(source.token()),
        },
        (NodeRequest::Lock { .. }, 12 | 13) => {
            NodeReply::Busy { retry_after: source.maybe_span(), counter: Some(source.token()) }
        }
        (NodeRequest::Raise { .. }, 0..10) => NodeReply::Raised,
        (NodeRequest::Raise { .. }, 10..13) => NodeReply::Higher { counter: source.token() },
        (NodeRequest::Renew { term: asked, .. }, 0..=12) => {
            NodeReply::Renewed { term: term(source, asked) }
        }
        (NodeRequest::Release { .. }, 0..=12) => NodeReply::Released,
        (_, 13) => NodeReply::Gone,
        _ => {
            let nonce = tenure_core::Nonce::from_bytes(source.nonce_bytes());
            let (term, counter) = (source.span(), Some(source.token()));
            source.pick(&[
                NodeReply::Locked { nonce, term, accepted: true, counter },
                NodeReply::Busy { retry_after: None, counter: None },
                NodeReply::Raised,
                NodeReply::Renewed { term },
                NodeReply::Gone,
                NodeReply::Released,
            ])
        }
    }
}

/// Once every node answers, the machine closes, and can be used again.
fn closes_and_grants_again<const N: usize>(
    mut quorum: Quorum<N>,
    mut judge: Judge<N>,
    mut now: Instant,
) {
    let years = 3 * u64::try_from(LeaseConfig::MAX_TERM.as_micros()).unwrap_or(0);
    // Where no token is left to grant, none is.
    let exhausted = judge.highest_counter() >= Token::MAX.get() - 8;
    if now.as_micros() > u64::MAX - years || exhausted {
        return;
    }
    let acquire = QuorumInput::Acquire { entropy: [5; 16], wait: Wait::Forever };
    for (input, to_hold) in
        [(QuorumInput::Cancel, false), (acquire, true), (QuorumInput::Release, false)]
    {
        let over = |judge: &Judge<N>| {
            let closed = judge.order().is_closed() && judge.alarm().is_none();
            if to_hold { judge.order().holds() } else { closed }
        };
        judge.handle(&mut quorum, now, input);
        for polled in 0.. {
            assert!(polled < 1_000, "{input:?} comes to nothing");
            let output = quorum.poll();
            judge.said(&quorum, &output);
            match output {
                QuorumOutput::Request { op, kind, .. } => {
                    let reply = answer(kind, judge.highest_counter());
                    judge.handle(&mut quorum, now, QuorumInput::Reply { op, reply });
                }
                QuorumOutput::Event { .. } => {}
                QuorumOutput::Wait(_) if over(&judge) => break,
                QuorumOutput::Wait(alarm) => {
                    now = alarm.expect("something to wait for");
                    judge.handle(&mut quorum, now, QuorumInput::Tick);
                }
            }
        }
    }
}

/// A node with nobody else at it, and that counter.
fn answer(kind: NodeRequest, counter: u64) -> NodeReply {
    match kind {
        NodeRequest::Lock { nonce, term, guess } => {
            let accepted = guess.get() > counter;
            let counter = Token::new(counter.max(guess.get()));
            NodeReply::Locked { nonce, term, accepted, counter }
        }
        NodeRequest::Renew { term, .. } => NodeReply::Renewed { term },
        NodeRequest::Raise { .. } => NodeReply::Raised,
        NodeRequest::Release { .. } => NodeReply::Released,
        other => panic!("unheard of: {other:?}"),
    }
}
