//! N stores as one: S25, D5, tokens in one or two rounds, what is not kept is released.
#![allow(
    missing_docs,
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may panic, and is its own documentation"
)]

mod common;

use common::{TERM, ms, refused, span, token};
use core::time::Duration;
use tenure_core::{
    DenyReason, Drift, Event, Failure, Instant, LeaseConfig, LossReason, NodeReply, NodeRequest,
    Nonce, OpId, Quorum, QuorumInput, QuorumOutput, Token, Wait,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Request {
    node: usize,
    op: OpId,
    kind: NodeRequest,
    respond_by: Instant,
}

#[derive(Debug, Default)]
struct Said {
    events: Vec<Event>,
    requests: Vec<Request>,
    wait: Option<Instant>,
}

impl Said {
    #[track_caller]
    fn nothing(&self) {
        assert!(self.events.is_empty() && self.requests.is_empty(), "{self:?}");
    }

    fn nodes(&self) -> Vec<usize> {
        self.requests.iter().map(|asked| asked.node).collect()
    }
}

struct Machine<const N: usize> {
    quorum: Quorum<N>,
    last: Instant,
}

impl<const N: usize> Machine<N> {
    fn new() -> Self {
        let config = LeaseConfig::builder()
            .term(span(TERM))
            .grace(span(2_000))
            .drift(Drift::from_ppm(0))
            .quantum(Duration::ZERO)
            .margin(Duration::ZERO);
        Self { quorum: Quorum::new(config.build().unwrap(), 7), last: Instant::ZERO }
    }

    fn at(&mut self, millis: u64, input: QuorumInput) -> Said {
        self.last = ms(millis);
        self.quorum.handle(self.last, input);
        self.drain()
    }

    fn drain(&mut self) -> Said {
        let mut said = Said::default();
        for _ in 0..200 {
            match self.quorum.poll() {
                QuorumOutput::Event { event, .. } => said.events.push(event),
                QuorumOutput::Request { node, op, kind, respond_by } => {
                    assert!(respond_by > self.last);
                    said.requests.push(Request { node: usize::from(node), op, kind, respond_by });
                }
                QuorumOutput::Wait(wait) => {
                    assert!(wait.is_none_or(|wait| wait > self.last), "{wait:?} {:?}", self.last);
                    said.wait = wait;
                    return said;
                }
            }
        }
        panic!("poll never waits");
    }

    fn reply(&mut self, millis: u64, op: OpId, reply: NodeReply) -> Said {
        self.at(millis, QuorumInput::Reply { op, reply })
    }

    fn fail(&mut self, millis: u64, op: OpId, failure: Failure) -> Said {
        self.at(millis, QuorumInput::Failed { op, failure })
    }

    fn acquire(&mut self, millis: u64, wait: Wait) -> Vec<Request> {
        let said = self.at(millis, QuorumInput::Acquire { entropy: [1; 16], wait });
        assert_eq!(said.nodes(), (0..N).collect::<Vec<_>>(), "all at once");
        said.requests
    }

    fn run(&mut self) -> (u64, Said) {
        for _ in 0..1_000 {
            let wait = self.drain().wait.expect("an alarm");
            let millis = wait.as_micros().div_ceil(1_000);
            let said = self.at(millis, QuorumInput::Tick);
            if !said.events.is_empty() || !said.requests.is_empty() {
                return (millis, said);
            }
        }
        panic!("nothing ever happens");
    }

    fn held(&self, millis: u64) -> bool {
        self.quorum.held(ms(millis)).is_some()
    }

    /// Held by the first majority of nodes; the others have not answered.
    fn hold(&mut self, millis: u64) -> Nonce {
        let asked = self.acquire(millis, Wait::Forever);
        let mut events = Vec::new();
        for asked in &asked[..=N / 2] {
            events.extend(self.reply(millis, asked.op, accepted(asked)).events);
        }
        assert!(matches!(events[..], [Event::Acquired { .. }]), "{events:?}");
        nonce_of(&asked[0])
    }
}

fn nonce_of(asked: &Request) -> Nonce {
    match asked.kind {
        NodeRequest::Lock { nonce, .. }
        | NodeRequest::Raise { nonce, .. }
        | NodeRequest::Renew { nonce, .. }
        | NodeRequest::Release { nonce } => nonce,
        other => panic!("{other:?}"),
    }
}

fn guess_of(asked: &Request) -> Token {
    let NodeRequest::Lock { guess, .. } = asked.kind else { panic!("{asked:?}") };
    guess
}

fn accepted(asked: &Request) -> NodeReply {
    let (nonce, guess) = (nonce_of(asked), guess_of(asked));
    NodeReply::Locked { nonce, term: span(TERM), accepted: true, counter: Some(guess) }
}

fn locked(asked: &Request, counter: u64) -> NodeReply {
    let counter = Some(token(counter));
    NodeReply::Locked { nonce: nonce_of(asked), term: span(TERM), accepted: false, counter }
}

fn busy(counter: u64) -> NodeReply {
    NodeReply::Busy { retry_after: None, counter: Some(token(counter)) }
}

#[test]
fn a_majority_that_accepts_the_guess_grants_in_one_round() {
    let mut machine = Machine::<5>::new();
    let asked = machine.acquire(0, Wait::Once);
    machine.reply(10, asked[0].op, accepted(&asked[0])).nothing();
    machine.reply(20, asked[3].op, accepted(&asked[3])).nothing();
    assert!(!machine.held(20));
    let said = machine.reply(30, asked[4].op, accepted(&asked[4]));
    assert!(matches!(said.events[..], [Event::Acquired { token, .. }] if token == Token::MIN));
    assert!(machine.held(TERM - 1) && !machine.held(TERM), "counted from the send");
    machine.reply(40, asked[1].op, accepted(&asked[1])).nothing();
    assert!(machine.held(40));
}

#[test]
fn the_term_is_the_least_granted() {
    let mut machine = Machine::<3>::new();
    let asked = machine.acquire(0, Wait::Once);
    machine.reply(10, asked[0].op, accepted(&asked[0]));
    let nonce = nonce_of(&asked[1]);
    let (term, counter) = (span(7_000), Some(Token::MIN));
    let said =
        machine.reply(10, asked[1].op, NodeReply::Locked { nonce, term, accepted: true, counter });
    assert_eq!(said.events.len(), 1);
    assert!(machine.held(6_999) && !machine.held(7_000));
}

#[test]
fn a_guess_that_is_too_low_costs_a_second_round() {
    let mut machine = Machine::<3>::new();
    let asked = machine.acquire(0, Wait::Once);
    machine.reply(10, asked[0].op, locked(&asked[0], 41)).nothing();
    machine.reply(10, asked[1].op, accepted(&asked[1])).nothing();
    let said = machine.reply(10, asked[2].op, locked(&asked[2], 7));
    assert!(said.events.is_empty());
    assert_eq!(said.nodes(), [0, 1, 2]);
    for raise in &said.requests {
        assert!(matches!(raise.kind, NodeRequest::Raise { token, .. } if token.get() == 42));
    }
    machine.reply(20, said.requests[0].op, NodeReply::Raised).nothing();
    let said = machine.reply(20, said.requests[1].op, NodeReply::Raised);
    assert!(matches!(said.events[..], [Event::Acquired { token, .. }] if token.get() == 42));
    assert!(machine.held(TERM - 1) && !machine.held(TERM), "counted from the first round");
}

#[test]
fn a_token_that_was_overtaken_is_raised_again() {
    let mut machine = Machine::<3>::new();
    let asked = machine.acquire(0, Wait::Once);
    machine.reply(10, asked[0].op, locked(&asked[0], 41));
    let said = machine.reply(10, asked[1].op, locked(&asked[1], 41));
    assert_eq!(said.nodes(), [0, 1], "the third cannot save the guess any more");
    machine.reply(20, said.requests[0].op, NodeReply::Raised).nothing();
    let higher = NodeReply::Higher { counter: token(50) };
    let said = machine.reply(20, said.requests[1].op, higher);
    assert_eq!(said.nodes(), [0, 1]);
    for raise in said.requests {
        assert!(matches!(raise.kind, NodeRequest::Raise { token, .. } if token.get() == 51));
    }
}

#[test]
fn the_next_guess_is_above_every_counter_that_was_told() {
    let mut machine = Machine::<3>::new();
    let asked = machine.acquire(0, Wait::Once);
    machine.reply(10, asked[0].op, busy(99));
    let said = machine.reply(10, asked[1].op, busy(3));
    machine.reply(15, said.requests[0].op, NodeReply::Gone);
    let asked = machine.acquire(20, Wait::Once);
    assert_eq!(guess_of(&asked[0]), token(100));
}

#[test]
fn a_tie_is_a_failure_and_gives_back_what_was_locked() {
    let mut machine = Machine::<4>::new();
    let asked = machine.acquire(0, Wait::Once);
    machine.reply(10, asked[0].op, accepted(&asked[0])).nothing();
    machine.reply(10, asked[1].op, accepted(&asked[1])).nothing();
    machine.reply(10, asked[2].op, busy(1)).nothing();
    let said = machine.reply(10, asked[3].op, busy(1));
    assert_eq!(said.events, [Event::Denied { reason: DenyReason::Busy }]);
    assert_eq!(said.nodes(), [0, 1]);
    for release in said.requests {
        assert_eq!(release.kind, NodeRequest::Release { nonce: nonce_of(&asked[0]) });
    }
}

#[test]
fn decided_as_soon_as_the_outcome_is_fixed_and_silent_nodes_are_released_too() {
    let mut machine = Machine::<5>::new();
    let asked = machine.acquire(0, Wait::Once);
    machine.reply(10, asked[0].op, accepted(&asked[0])).nothing();
    machine.reply(10, asked[1].op, busy(1)).nothing();
    machine.reply(10, asked[2].op, busy(1)).nothing();
    let said = machine.reply(10, asked[3].op, busy(1));
    assert_eq!(said.events, [Event::Denied { reason: DenyReason::Busy }]);
    assert_eq!(said.nodes(), [0, 4], "the fifth may have locked it");
}

#[test]
fn errors_are_no_votes() {
    let mut machine = Machine::<3>::new();
    let asked = machine.acquire(0, Wait::Once);
    machine.fail(10, asked[0].op, Failure::NotSent).nothing();
    machine.reply(10, asked[1].op, accepted(&asked[1])).nothing();
    let said = machine.reply(10, asked[2].op, accepted(&asked[2]));
    assert!(matches!(said.events[..], [Event::Acquired { .. }]));

    let mut machine = Machine::<3>::new();
    let asked = machine.acquire(0, Wait::Once);
    machine.fail(10, asked[0].op, refused(false)).nothing();
    machine.reply(10, asked[1].op, accepted(&asked[1])).nothing();
    let said = machine.fail(10, asked[2].op, refused(false));
    assert_eq!(said.events, [Event::Denied { reason: DenyReason::Failed(refused(false)) }]);
    assert!(said.nodes().contains(&1));
}

#[test]
fn a_silent_majority_leaves_the_outcome_unknown_and_is_asked_again_under_the_same_nonce() {
    let mut machine = Machine::<3>::new();
    let asked = machine.acquire(0, Wait::Forever);
    machine.reply(10, asked[0].op, accepted(&asked[0])).nothing();
    let (_, said) = machine.run();
    assert_eq!(said.nodes(), [0, 1, 2]);
    assert_eq!(nonce_of(&said.requests[0]), nonce_of(&asked[0]));
}

#[test]
fn a_duplicate_answer_counts_once() {
    let mut machine = Machine::<3>::new();
    let asked = machine.acquire(0, Wait::Once);
    for _ in 0..5 {
        machine.reply(10, asked[0].op, accepted(&asked[0])).nothing();
    }
    assert!(!machine.held(10));
}

#[test]
fn a_late_lock_is_released() {
    let mut machine = Machine::<3>::new();
    let asked = machine.acquire(0, Wait::Once);
    for asked in &asked[..2] {
        machine.reply(10, asked.op, busy(1));
    }
    let said = machine.drain();
    said.nothing();
    // The third was silent when the outcome was fixed, and is owed a release already.
    let said = machine.reply(20, asked[2].op, accepted(&asked[2]));
    assert!(!machine.held(20) && said.events.is_empty());
}

#[test]
fn a_majority_keeps_it_and_a_minority_does_not() {
    let mut machine = Machine::<3>::new();
    machine.hold(0);
    let (at, said) = machine.run();
    assert_eq!((at, said.nodes()), (4_000, vec![0, 1, 2]));
    machine.reply(4_010, said.requests[2].op, NodeReply::Gone).nothing();
    machine.reply(4_010, said.requests[0].op, NodeReply::Renewed { term: span(TERM) }).nothing();
    machine.reply(4_010, said.requests[1].op, NodeReply::Renewed { term: span(TERM) }).nothing();
    assert!(machine.held(15_999) && !machine.held(16_000));

    let (at, said) = machine.run();
    assert_eq!(at, 8_000);
    machine.reply(8_010, said.requests[0].op, NodeReply::Renewed { term: span(TERM) }).nothing();
    machine.fail(8_010, said.requests[1].op, Failure::NotSent).nothing();
    let said = machine.fail(8_010, said.requests[2].op, Failure::NotSent);
    assert_eq!(said.events, [Event::AtRisk]);
    assert!(machine.held(15_999) && !machine.held(16_000), "no partial validity");
}

#[test]
fn gone_from_so_many_that_no_majority_is_left_is_lost() {
    let mut machine = Machine::<5>::new();
    let nonce = machine.hold(0);
    let (_, said) = machine.run();
    let asked = said.requests;
    machine.reply(4_010, asked[0].op, NodeReply::Renewed { term: span(TERM) }).nothing();
    machine.reply(4_010, asked[1].op, NodeReply::Gone).nothing();
    machine.reply(4_010, asked[2].op, NodeReply::Gone).nothing();
    let said = machine.reply(4_010, asked[3].op, NodeReply::Gone);
    assert_eq!(said.events, [Event::Lost { reason: LossReason::Gone }]);
    // The fourth says that it has not got it; but it has not answered the lock either, which may
    // still be under way.
    assert_eq!(said.nodes(), [0, 3, 4]);
    for (index, release) in said.requests.iter().enumerate() {
        assert_eq!(release.kind, NodeRequest::Release { nonce });
        let said = machine.reply(4_020, release.op, NodeReply::Released);
        let closed = index == 2;
        assert_eq!(said.events == [Event::Closed], closed, "closed once nothing is owed");
    }
}

#[test]
fn released_when_a_majority_says_so_and_closed_when_all_do() {
    let mut machine = Machine::<3>::new();
    let nonce = machine.hold(0);
    let said = machine.at(100, QuorumInput::Release);
    assert_eq!(said.nodes(), [0, 1, 2]);
    let asked = said.requests;
    assert_eq!(asked[0].kind, NodeRequest::Release { nonce });
    machine.reply(110, asked[0].op, NodeReply::Released).nothing();
    let said = machine.reply(110, asked[1].op, NodeReply::Gone);
    assert_eq!(said.events, [Event::Released { confirmed: true }]);
    let said = machine.at(120, QuorumInput::Acquire { entropy: [2; 16], wait: Wait::Once });
    assert_eq!(said.events, [Event::Denied { reason: DenyReason::InUse }]);
    let said = machine.reply(130, asked[2].op, NodeReply::Released);
    assert_eq!(said.events, [Event::Closed]);
}

#[test]
fn a_dead_node_s_release_lapses() {
    let mut machine = Machine::<3>::new();
    machine.hold(0);
    let asked = machine.at(100, QuorumInput::Release).requests;
    machine.reply(110, asked[0].op, NodeReply::Released);
    machine.reply(110, asked[1].op, NodeReply::Released);
    machine.fail(110, asked[2].op, Failure::NotSent);
    loop {
        let (at, said) = machine.run();
        for retried in &said.requests {
            assert_eq!(retried.node, 2);
            machine.fail(at, retried.op, Failure::NotSent);
        }
        if said.events == [Event::Closed] {
            assert_eq!(at, 100 + TERM);
            break;
        }
    }
}

#[test]
fn a_clock_that_goes_back_ends_it() {
    let mut machine = Machine::<3>::new();
    let nonce = machine.hold(5_000);
    let said = machine.at(4_000, QuorumInput::Tick);
    assert_eq!(said.events, [Event::Lost { reason: LossReason::ClockWentBack }]);
    assert!(said.requests.iter().all(|asked| asked.kind == NodeRequest::Release { nonce }));
    assert_eq!(said.nodes(), [0, 1, 2]);
}

#[test]
fn a_cancelled_round_is_undone_everywhere() {
    let mut machine = Machine::<3>::new();
    let asked = machine.acquire(0, Wait::Forever);
    machine.reply(10, asked[0].op, accepted(&asked[0])).nothing();
    let said = machine.at(20, QuorumInput::Cancel);
    assert_eq!(said.events, [Event::Denied { reason: DenyReason::Cancelled }]);
    assert_eq!(said.nodes(), [0, 1, 2]);
    // A lock that is granted while its release is under way is released once more.
    machine.reply(30, asked[1].op, accepted(&asked[1])).nothing();
    let said = machine.reply(40, said.requests[1].op, NodeReply::Gone);
    assert_eq!(said.nodes(), [1]);
}

#[test]
fn an_attempt_that_was_given_back_is_not_asked_for_again() {
    let mut machine = Machine::<3>::new();
    let first = machine.acquire(0, Wait::Forever);
    machine.reply(10, first[0].op, accepted(&first[0])).nothing();
    let (at, said) = machine.run();
    let again = said.requests;
    assert_eq!(nonce_of(&again[0]), nonce_of(&first[0]), "unknown is resolved by its nonce");
    machine.reply(at, again[0].op, locked(&again[0], 1)).nothing();
    machine.fail(at, again[1].op, refused(false)).nothing();
    let said = machine.fail(at, again[2].op, refused(false));
    assert_eq!(said.nodes(), [0, 1, 2], "the first locks of 1 and 2 were never answered");
    for release in said.requests {
        assert_eq!(release.kind, NodeRequest::Release { nonce: nonce_of(&first[0]) });
        machine.reply(at, release.op, NodeReply::Released);
    }
    let (_, said) = machine.run();
    assert_ne!(nonce_of(&said.requests[0]), nonce_of(&first[0]));
}

#[test]
fn a_node_is_owed_a_release_if_any_lock_of_the_nonce_was_not_answered() {
    let mut machine = Machine::<3>::new();
    let first = machine.acquire(0, Wait::Forever);
    machine.fail(10, first[0].op, Failure::Unknown);
    machine.fail(10, first[1].op, Failure::Unknown);
    let (at, said) = machine.run();
    let again = said.requests;
    machine.reply(at, again[0].op, busy(1)).nothing();
    let said = machine.reply(at, again[1].op, busy(1));
    assert_eq!(said.nodes(), [0, 1, 2]);
}

#[test]
fn a_late_lock_is_released_on_its_node_alone() {
    let mut machine = Machine::<5>::new();
    let asked = machine.acquire(0, Wait::Once);
    for asked in &asked[..3] {
        machine.reply(10, asked.op, accepted(asked));
    }
    let releases = machine.at(20, QuorumInput::Release).requests;
    for release in &releases {
        machine.reply(30, release.op, NodeReply::Gone);
    }
    let said = machine.reply(40, asked[3].op, accepted(&asked[3]));
    assert_eq!(said.nodes(), [3]);
}

#[test]
fn a_renewal_that_failed_may_still_turn_out_to_be_lost() {
    let mut machine = Machine::<3>::new();
    machine.hold(0);
    let (_, said) = machine.run();
    machine.fail(4_010, said.requests[0].op, Failure::NotSent).nothing();
    machine.reply(4_010, said.requests[2].op, NodeReply::Gone).nothing();
    let said = machine.reply(4_010, said.requests[1].op, NodeReply::Gone);
    assert_eq!(said.events, [Event::Lost { reason: LossReason::Gone }]);
}

#[test]
fn a_cancelled_acquire_does_not_go_on_to_phase_two() {
    let mut machine = Machine::<3>::new();
    let asked = machine.acquire(0, Wait::Forever);
    machine.reply(10, asked[0].op, locked(&asked[0], 41)).nothing();
    machine.at(20, QuorumInput::Cancel);
    let said = machine.reply(30, asked[1].op, locked(&asked[1], 41));
    assert!(said.requests.iter().all(|asked| matches!(asked.kind, NodeRequest::Release { .. })));
}

#[test]
fn a_release_that_failed_is_sent_again_before_it_lapses() {
    let mut machine = Machine::<3>::new();
    machine.hold(0);
    let asked = machine.at(100, QuorumInput::Release).requests;
    machine.fail(110, asked[2].op, refused(false)).nothing();
    let (at, said) = machine.run();
    assert_eq!(said.nodes(), [2]);
    assert!(at < TERM / 2, "{at}");
}

#[test]
fn a_release_under_way_is_sent_again_after_the_clock_went_back() {
    let mut machine = Machine::<3>::new();
    machine.hold(100_000);
    assert_eq!(machine.at(100_100, QuorumInput::Release).nodes(), [0, 1, 2]);
    assert_eq!(machine.at(1_000, QuorumInput::Tick).nodes(), [0, 1, 2]);
}

#[test]
fn requests_name_the_instance_and_the_generation() {
    let mut machine = Machine::<1>::new();
    for generation in 1..3 {
        let asked = machine.acquire(0, Wait::Once);
        assert_eq!((asked[0].op.instance, asked[0].op.generation), (7, generation));
        machine.reply(0, asked[0].op, busy(1));
    }
}

#[test]
fn equal_futures_are_equal_states() {
    let states = |start: u64, earlier: u32| {
        let mut machine = Machine::<1>::new();
        for _ in 0..earlier {
            let asked = machine.acquire(start, Wait::Once);
            let nobody = NodeReply::Busy { retry_after: None, counter: None };
            machine.reply(start, asked[0].op, nobody);
        }
        let asked = machine.acquire(start, Wait::Once);
        let asking = machine.quorum.canonical(ms(start + 1));
        machine.reply(start + 2, asked[0].op, accepted(&asked[0]));
        let holding = machine.quorum.canonical(ms(start + 3));
        machine.at(start + 4, QuorumInput::Release);
        [asking, holding, machine.quorum.canonical(ms(start + 5))]
    };
    assert_eq!(states(1_000, 0), states(77_000, 2));
}

#[test]
fn one_node_is_a_quorum_of_one() {
    let mut machine = Machine::<1>::new();
    machine.hold(0);
    assert!(machine.held(TERM - 1));
}

#[test]
fn sizes_are_pinned() {
    assert!(size_of::<Quorum<5>>() <= 1_900, "{}", size_of::<Quorum<5>>());
    assert!(size_of::<QuorumOutput>() <= 72, "{}", size_of::<QuorumOutput>());
}
