//! Renewal, `AtRisk`, the kill-switch, loss: S5, S21, D7, L2.
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
    Assurance, Basis, Event, Failure, Input, LossReason, Promise, Reply, RequestKind, Wait,
};

#[test]
fn renews_at_a_third_of_the_granted_term() {
    let mut machine = Machine::new(config());
    machine.hold(0, 1);
    let (at, said) = machine.run();
    assert_eq!(at, 4_000);
    assert!(matches!(said.request().kind, RequestKind::Renew { .. }));
    let asked = said.request();
    machine.reply(4_200, asked.op, Reply::Renewed { term: span(6_000) });
    assert_eq!(machine.run().0, 6_000);
}

#[test]
fn a_failed_renewal_is_retried_with_back_off_and_recovers() {
    let mut machine = Machine::new(config());
    machine.hold(0, 1);
    let renewal = machine.tick(4_000).request();
    machine.fail(4_010, renewal.op, Failure::NotSent).events(&[Event::AtRisk]);
    let (first, said) = machine.run();
    assert!(first >= 4_010 + TERM / 128, "{first}");
    machine.fail(first, said.request().op, Failure::NotSent).nothing();
    let (second, said) = machine.run();
    assert!(second - first >= first - 4_010, "{first} {second}");
    let said = machine.reply(second, said.request().op, Reply::Renewed { term: span(TERM) });
    said.events(&[Event::Recovered { basis: Basis::Term { until: ms(second + TERM) } }]);
}

#[test]
fn three_seconds_without_a_connection_lose_nothing_of_a_twelve_second_term() {
    for outage_starts in (0..12_000).step_by(250) {
        let mut machine = Machine::new(tenure_core::LeaseConfig::builder().term(span(TERM)));
        machine.hold(0, 1);
        let mut now = 0;
        while now < outage_starts + 30_000 {
            let (at, said) = machine.run();
            now = at;
            assert!(!said.events.iter().any(|event| matches!(event, Event::Lost { .. })));
            for asked in said.requests {
                if (outage_starts..outage_starts + 3_000).contains(&now) {
                    machine.fail(now, asked.op, Failure::NotSent);
                } else {
                    machine.reply(now, asked.op, Reply::Renewed { term: span(TERM) });
                }
            }
        }
    }
}

#[test]
fn one_lost_answer_loses_no_lease_with_any_accepted_config() {
    for (term, grace) in [(4_000, 1_000), (12_000, 2_000), (30_000, 3_000), (350, 100)] {
        let mut machine = Machine::new(config().term(span(term)).grace(span(grace)));
        let asked = machine.acquire(0, Wait::Once).request();
        machine.reply(0, asked.op, granted(asked.nonce(), 1, term));
        let (_, said) = machine.run();
        said.request();
        loop {
            let (at, said) = machine.run();
            if let [retry] = said.requests[..] {
                let said = machine.reply(at, retry.op, Reply::Renewed { term: span(term) });
                assert!(matches!(said.events[..], [Event::Recovered { .. }]), "{said:?}");
                break;
            }
            said.events(&[Event::AtRisk]);
        }
    }
}

#[test]
fn stopping_is_final() {
    let mut machine = Machine::new(config());
    machine.hold(0, 1);
    let renewal = machine.tick(4_000).request();
    let said = machine.tick(10_000);
    assert_eq!(said.events.last(), Some(&Event::Stopping { until: ms(12_000) }), "{said:?}");
    assert!(said.requests.is_empty());
    machine.reply(10_001, renewal.op, Reply::Renewed { term: span(TERM) }).nothing();
    assert!(machine.held(11_999));
    let said = machine.tick(12_000);
    said.events(&[Event::Lost { reason: LossReason::Expired }]);
}

#[test]
fn lost_comes_once_and_releases() {
    let mut machine = Machine::new(config());
    let nonce = machine.hold(0, 1);
    let said = machine.tick(TERM);
    said.events(&[Event::Lost { reason: LossReason::Expired }]);
    let release = said.only_request();
    assert_eq!(release.kind, RequestKind::Release { nonce });
    machine.reply(TERM + 1, release.op, Reply::Gone).events(&[Event::Closed]);
    machine.tick(TERM * 9).nothing();
}

#[test]
fn gone_is_lost_at_once_and_owes_nothing() {
    let mut machine = Machine::new(config());
    machine.hold(0, 1);
    let renewal = machine.tick(4_000).request();
    let said = machine.reply(4_001, renewal.op, Reply::Gone);
    said.events(&[Event::Lost { reason: LossReason::Gone }, Event::Closed]);
    assert!(said.requests.is_empty() && !machine.held(4_001));
}

#[test]
fn loss_is_final_whatever_comes() {
    let mut machine = Machine::new(config());
    let nonce = machine.hold(0, 1);
    let renewal = machine.tick(4_000).request();
    machine.tick(TERM);
    for reply in [Reply::Renewed { term: span(TERM) }, granted(nonce, 1, TERM)] {
        machine.reply(TERM + 1, renewal.op, reply);
        assert!(!machine.held(TERM + 1));
    }
}

#[test]
fn lost_drops_an_acquired_that_nobody_polled() {
    let mut machine = Machine::new(config());
    let asked = machine.acquire(0, Wait::Once).request();
    let reply = granted(asked.nonce(), 1, TERM);
    machine.push(10, Input::Reply { op: asked.op, reply, as_of: None });
    machine.push(TERM, Input::Tick);
    machine.drain().events(&[Event::Lost { reason: LossReason::Expired }]);
}

#[test]
fn lost_comes_before_everything_that_is_queued() {
    let mut machine = Machine::new(config());
    machine.lease.remember(token(9));
    let asked = machine.acquire(0, Wait::Once).request();
    let reply = granted(asked.nonce(), 1, TERM);
    machine.push(10, Input::Reply { op: asked.op, reply, as_of: None });
    machine.push(20, Input::Acquire { entropy: [2; 16], wait: Wait::Once });
    machine.push(TERM, Input::Tick);
    let said = machine.drain();
    assert_eq!(said.events[0], Event::Lost { reason: LossReason::Expired }, "{said:?}");
    assert_eq!(said.events[1], Event::TokenWentBack { seen: token(9), got: token(1) });
    assert!(!said.events.iter().any(|event| matches!(event, Event::Acquired { .. })));
}

#[test]
fn a_permanent_refusal_leaves_the_lease_to_its_deadline() {
    let mut machine = Machine::new(config());
    machine.hold(0, 1);
    let renewal = machine.tick(4_000).request();
    machine.fail(4_001, renewal.op, refused(true)).events(&[Event::AtRisk]);
    let (at, said) = machine.run();
    assert_eq!(at, 10_000);
    said.events(&[Event::Stopping { until: ms(12_000) }]);
    assert!(said.requests.is_empty());
    assert!(machine.held(11_999));
}

#[test]
fn a_failed_renewal_never_releases() {
    let mut machine = Machine::new(config());
    machine.hold(0, 1);
    machine.tick(4_000);
    for now in (4_100..12_000).step_by(100) {
        for asked in machine.tick(now).requests {
            assert!(matches!(asked.kind, RequestKind::Renew { .. }), "{asked:?}");
            let said = machine.fail(now, asked.op, refused(false));
            assert!(said.requests.is_empty());
        }
    }
}

fn session() -> tenure_core::LeaseConfigBuilder {
    config().assurance(Assurance::Session)
}

fn hold_session(machine: &mut Machine) -> tenure_core::Nonce {
    let asked = machine.acquire(0, Wait::Once).request();
    let nonce = asked.nonce();
    let reply = Reply::Granted { nonce, token: token(1), promise: Promise::Session };
    let said = machine.reply(50, asked.op, reply);
    said.events(&[Event::Acquired { token: token(1), basis: Basis::Session { last_ok: ms(0) } }]);
    nonce
}

#[test]
fn a_session_has_no_term() {
    let mut machine = Machine::new(session());
    hold_session(&mut machine);
    let held = machine.lease.held(ms(10_000_000)).unwrap();
    assert_eq!(held.basis, Basis::Session { last_ok: ms(0) });
    let probe = machine.tick(10_000_000).request();
    assert!(matches!(probe.kind, RequestKind::Renew { .. }));
    machine.reply(10_000_001, probe.op, Reply::Renewed { term: Duration::MAX }).nothing();
    let held = machine.lease.held(ms(10_000_001)).unwrap();
    assert_eq!(held.basis, Basis::Session { last_ok: ms(10_000_000) });
}

#[test]
fn unknown_on_a_session_is_loss_and_disconnect() {
    let mut machine = Machine::new(session());
    let nonce = hold_session(&mut machine);
    let probe = machine.tick(4_000).request();
    assert!(machine.lease.held(probe.respond_by).is_none(), "asked from the clock, not a timer");
    let said = machine.fail(4_100, probe.op, Failure::Unknown);
    said.events(&[Event::Lost { reason: LossReason::SessionUnknown }]);
    let undo = said.only_request();
    assert_eq!(undo.kind, RequestKind::Disconnect { nonce });
    machine.reply(4_200, undo.op, Reply::Released).events(&[Event::Closed]);
}

#[test]
fn silence_on_a_session_is_loss_too() {
    let mut machine = Machine::new(session());
    hold_session(&mut machine);
    let probe = machine.tick(4_000).request();
    let (at, said) = machine.run();
    assert_eq!(ms(at), probe.respond_by);
    said.events(&[Event::Lost { reason: LossReason::SessionUnknown }]);
}

#[test]
fn a_session_is_at_risk_only_where_the_probe_was_not_executed() {
    for failure in [Failure::NotSent, refused(false)] {
        let mut machine = Machine::new(session());
        hold_session(&mut machine);
        let probe = machine.tick(4_000).request();
        machine.fail(4_001, probe.op, failure).events(&[Event::AtRisk]);
        let (at, said) = machine.run();
        let said = machine.reply(at, said.request().op, Reply::Renewed { term: span(TERM) });
        said.events(&[Event::Recovered { basis: Basis::Session { last_ok: ms(at) } }]);
    }
}

#[test]
fn a_session_that_stays_at_risk_ends() {
    let mut machine = Machine::new(session());
    hold_session(&mut machine);
    let probe = machine.tick(4_000).request();
    machine.fail(4_000, probe.op, refused(true));
    let (at, said) = machine.run();
    assert_eq!(at, 10_000);
    said.events(&[Event::Stopping { until: ms(12_000) }]);
    let (at, said) = machine.run();
    assert_eq!(at, 12_000);
    said.events(&[Event::Lost { reason: LossReason::Expired }]);
}

#[test]
fn a_probe_that_fails_long_after_the_last_one_is_still_retried() {
    let mut machine = Machine::new(session());
    hold_session(&mut machine);
    let probe = machine.tick(900_000).request();
    machine.fail(900_000, probe.op, Failure::NotSent).events(&[Event::AtRisk]);
    let (at, said) = machine.run();
    let said = machine.reply(at, said.request().op, Reply::Renewed { term: span(TERM) });
    assert!(matches!(said.events[..], [Event::Recovered { .. }]));
}

#[test]
fn a_probe_s_silence_counts_even_if_the_machine_was_asleep_over_the_end() {
    for asleep_until in [9_900, 10_000, 11_000, 600_000] {
        let mut machine = Machine::new(session());
        hold_session(&mut machine);
        let probe = machine.tick(4_000).request();
        machine.fail(4_000, probe.op, Failure::NotSent);
        let (mut at, mut said) = machine.run();
        while at < 8_000 {
            machine.fail(at, said.request().op, Failure::NotSent);
            (at, said) = machine.run();
        }
        let silent = said.request();
        assert!(silent.respond_by <= ms(10_000));
        let said = machine.tick(asleep_until.max(silent.respond_by.as_micros() / 1_000 + 1));
        said.events(&[Event::Lost { reason: LossReason::SessionUnknown }]);
        assert!(matches!(said.only_request().kind, RequestKind::Disconnect { .. }));
    }
}

#[test]
fn session_lost_ends_only_the_attempt_it_names() {
    let mut machine = Machine::new(session());
    let nonce = hold_session(&mut machine);
    let other = tenure_core::Nonce::from_bytes([9; 16]);
    machine.at(100, Input::SessionLost { nonce: other }).nothing();
    assert!(machine.held(100));
    let said = machine.at(200, Input::SessionLost { nonce });
    said.events(&[Event::Lost { reason: LossReason::SessionLost }, Event::Closed]);
    assert!(said.requests.is_empty());
}
