//! D1–D4, S3, S4, S11, S21–S24: when a lease ends.
#![allow(
    missing_docs,
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may panic, and is its own documentation"
)]

mod common;

use common::*;
use core::time::Duration;
use tenure_core::{
    Basis, Drift, Event, Failure, Input, Instant, LossReason, Promise, Reply, RequestKind, Wait,
};

#[test]
fn counts_from_the_request_not_from_the_answer() {
    let mut machine = Machine::new(config());
    let asked = machine.acquire(1_000, Wait::Once).request();
    let said = machine.reply(2_500, asked.op, granted(asked.nonce(), 1, TERM));
    said.events(&[Event::Acquired { token: token(1), basis: Basis::Term { until: ms(13_000) } }]);
    assert!(machine.held(12_999) && !machine.held(13_000));
}

#[test]
fn takes_off_drift_quantum_and_margin() {
    let builder = config().drift(Drift::from_ppm(10_000)).quantum(span(3)).margin(span(4));
    let mut machine = Machine::new(builder);
    machine.hold(0, 1);
    // 12,000 − 120 − 3 − 4
    assert!(machine.held(11_872) && !machine.held(11_873));
}

#[test]
fn rests_on_the_term_granted_not_on_the_term_asked_for() {
    for (granted_term, end) in [(5_000, 5_000), (20_000, 20_000)] {
        let mut machine = Machine::new(config());
        let asked = machine.acquire(0, Wait::Once).request();
        machine.reply(10, asked.op, granted(asked.nonce(), 1, granted_term));
        assert!(machine.held(end - 1) && !machine.held(end), "{granted_term}");
    }
}

#[test]
fn a_retried_nonce_counts_from_its_first_send() {
    let mut machine = Machine::new(config());
    let first = machine.acquire(0, Wait::Forever).request();
    machine.fail(100, first.op, Failure::Unknown).nothing();
    let (retried_at, said) = machine.run();
    let second = said.request();
    assert_eq!(second.nonce(), first.nonce());
    assert_ne!(second.op, first.op);
    machine.reply(retried_at + 5, second.op, granted(first.nonce(), 1, TERM));
    assert!(machine.held(TERM - 1) && !machine.held(TERM));
}

#[test]
fn a_request_that_never_left_does_not_count_as_the_first() {
    let mut machine = Machine::new(config());
    let first = machine.acquire(0, Wait::Forever).request();
    machine.fail(100, first.op, Failure::NotSent).nothing();
    let (retried_at, said) = machine.run();
    let second = said.request();
    machine.reply(retried_at, second.op, granted(second.nonce(), 1, TERM));
    assert!(machine.held(retried_at + TERM - 1));
}

#[test]
fn as_of_only_moves_a_deadline_earlier() {
    for (as_of, end) in [(3_000, 15_000), (9_000, 16_000)] {
        let mut machine = Machine::new(config());
        machine.hold(0, 1);
        let renewal = machine.tick(4_000).request();
        machine.at(
            4_100,
            Input::Reply {
                op: renewal.op,
                reply: Reply::Renewed { term: span(TERM) },
                as_of: Some(ms(as_of)),
            },
        );
        assert!(machine.held(end - 1) && !machine.held(end), "{as_of}");
    }
}

#[test]
fn renewal_extends_from_its_own_send() {
    let mut machine = Machine::new(config());
    machine.hold(0, 1);
    let renewal = machine.tick(4_000).request();
    assert!(matches!(renewal.kind, RequestKind::Renew { term, .. } if term == span(TERM)));
    machine.reply(5_500, renewal.op, Reply::Renewed { term: span(TERM) }).nothing();
    assert!(machine.held(15_999) && !machine.held(16_000));
}

#[test]
fn a_shorter_granted_term_shortens_at_once() {
    let mut machine = Machine::new(config());
    machine.hold(0, 1);
    let renewal = machine.tick(4_000).request();
    machine.reply(4_000, renewal.op, Reply::Renewed { term: span(5_000) });
    assert!(machine.held(8_999) && !machine.held(9_000));
}

#[test]
fn asking_for_less_than_was_granted_shortens_at_the_send() {
    let mut machine = Machine::new(config());
    let asked = machine.acquire(0, Wait::Once).request();
    machine.reply(0, asked.op, granted(asked.nonce(), 1, 60_000));
    let renewal = machine.tick(20_000).request();
    assert!(machine.held(31_999) && !machine.held(32_000));
    machine.fail(20_001, renewal.op, Failure::Unknown);
    assert!(machine.held(31_999) && !machine.held(32_000));
}

#[test]
fn silence_never_extends() {
    let mut machine = Machine::new(config());
    machine.hold(0, 1);
    machine.tick(4_000).request();
    let mut lost = None;
    while lost.is_none() {
        let (at, said) = machine.run();
        lost = said.events.contains(&Event::Lost { reason: LossReason::Expired }).then_some(at);
    }
    assert_eq!(lost, Some(TERM));
}

#[test]
fn a_renewal_answered_at_the_deadline_finds_the_lease_lost() {
    let mut machine = Machine::new(config().grace(Duration::ZERO));
    machine.hold(0, 1);
    machine.tick(4_000);
    // The retries that are answered by nobody; the last one is in flight at the deadline.
    let mut last = None;
    loop {
        let said = machine.drain();
        let wait = said.wait.unwrap();
        if wait >= ms(TERM) {
            break;
        }
        let said = machine.at(wait.as_micros().div_ceil(1_000), Input::Tick);
        last = said.requests.last().copied().or(last);
    }
    let said = machine.reply(TERM, last.unwrap().op, Reply::Renewed { term: span(TERM) });
    said.events(&[Event::Lost { reason: LossReason::Expired }]);
    assert!(!machine.held(TERM));
}

#[test]
fn a_jump_forward_loses_before_anything_else() {
    let mut machine = Machine::new(config());
    machine.hold(0, 1);
    let renewal = machine.tick(4_000).request();
    assert!(!machine.held(600_000));
    let said = machine.reply(600_000, renewal.op, Reply::Renewed { term: span(TERM) });
    assert_eq!(said.events[0], Event::Lost { reason: LossReason::Expired });
}

#[test]
fn a_clock_that_goes_back_ends_the_lease() {
    let mut machine = Machine::new(config());
    let nonce = machine.hold(5_000, 1);
    assert!(!machine.held(4_999), "a reading before the last one proves nothing");
    let said = machine.tick(4_000);
    said.events(&[Event::Lost { reason: LossReason::ClockWentBack }]);
    assert_eq!(said.only_request().kind, RequestKind::Release { nonce });
}

#[test]
fn what_is_owed_is_reckoned_anew_after_the_clock_went_back() {
    let mut machine = Machine::new(config());
    let nonce = machine.hold(100_000, 1);
    machine.at(100_100, Input::Release).request();
    let again = machine.tick(1_000).request();
    assert_eq!(again.kind, RequestKind::Release { nonce });
    machine.fail(1_010, again.op, refused(true)).nothing();
    let (at, said) = machine.run();
    assert_eq!(at, 1_000 + TERM);
    said.events(&[Event::Released { confirmed: false }, Event::Closed]);
}

#[test]
fn a_clock_that_goes_back_makes_what_is_in_flight_unknown() {
    let mut machine = Machine::new(config());
    let asked = machine.acquire(5_000, Wait::Forever).request();
    let said = machine.tick(4_000);
    said.events(&[Event::Denied { reason: tenure_core::DenyReason::ClockWentBack }]);
    assert_eq!(said.only_request().kind, RequestKind::Release { nonce: asked.nonce() });
    let said = machine.reply(4_100, asked.op, granted(asked.nonce(), 1, TERM));
    assert!(said.events.is_empty() && !machine.held(4_100));
}

#[test]
fn arithmetic_saturates_towards_an_earlier_end() {
    let mut machine = Machine::new(config());
    let near_the_end = Instant::from_micros(u64::MAX - 1_000);
    machine.lease.handle(near_the_end, Input::Acquire { entropy: [1; 16], wait: Wait::Once });
    let asked = machine.drain_at_the_end();
    let reply = granted(asked.nonce(), 1, TERM);
    machine.lease.handle(near_the_end, Input::Reply { op: asked.op, reply, as_of: None });
    assert_eq!(machine.lease.held(near_the_end), None);

    for term in [Duration::ZERO, Duration::MAX] {
        let mut machine = Machine::new(config());
        let asked = machine.acquire(0, Wait::Once).request();
        let promise = Promise::Term(term);
        let reply = Reply::Granted { nonce: asked.nonce(), token: token(1), promise };
        machine.reply(0, asked.op, reply);
        assert_eq!(machine.held(0), term > Duration::ZERO);
        let longest = tenure_core::LeaseConfig::MAX_TERM;
        assert!(!machine.held(u64::try_from(longest.as_millis()).unwrap()));
    }
}

impl Machine {
    fn drain_at_the_end(&mut self) -> Request {
        let output = self.lease.poll();
        let tenure_core::Output::Request { op, kind, respond_by } = output else {
            panic!("{output:?}")
        };
        Request { op, kind, respond_by }
    }
}
