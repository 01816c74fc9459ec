//! Unknown outcomes, late grants, releases, ends: S5–S10, S12, S14, S16, S29.
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
use tenure_core::{
    DenyReason, Event, Failure, Input, LossReason, Nonce, OpId, Reply, RequestKind, Wait,
};

#[test]
fn an_unknown_acquire_is_retried_under_its_nonce_for_half_the_term_then_released() {
    let mut machine = Machine::new(config());
    let first = machine.acquire(0, Wait::Forever).request();
    machine.fail(10, first.op, Failure::Unknown).nothing();
    let mut last_same = 0;
    let (at, release) = loop {
        let (at, said) = machine.run();
        let asked = said.request();
        assert_eq!(asked.nonce(), first.nonce());
        last_same = at.max(last_same);
        if let [release] = machine.fail(at, asked.op, Failure::Unknown).requests[..] {
            break (at, release);
        }
    };
    assert!((4_000..6_000).contains(&last_same), "{last_same}");
    assert_eq!(release.kind, RequestKind::Release { nonce: first.nonce() });
    let fresh = machine.run().1.request();
    assert!(matches!(fresh.kind, RequestKind::Acquire { .. }));
    assert_ne!(fresh.nonce(), first.nonce());
    assert!(at < 6_000);
}

#[test]
fn an_answer_that_stays_away_is_unknown_not_a_denial() {
    let mut machine = Machine::new(config());
    let first = machine.acquire(0, Wait::Once).request();
    let (at, said) = machine.run();
    assert!(ms(at) > first.respond_by);
    assert_eq!(said.request().nonce(), first.nonce());
}

#[test]
fn a_try_whose_outcome_stays_unknown_is_denied_and_released() {
    let mut machine = Machine::new(config());
    let first = machine.acquire(0, Wait::Once).request();
    let (at, said) = loop {
        let (at, said) = machine.run();
        if !said.events.is_empty() {
            break (at, said);
        }
    };
    said.events(&[Event::Denied { reason: DenyReason::Failed(Failure::Unknown) }]);
    assert!(at <= 8_500, "{at}");
    assert_eq!(said.only_request().kind, RequestKind::Release { nonce: first.nonce() });
}

#[test]
fn a_late_grant_is_released_and_never_held() {
    let mut machine = Machine::new(config());
    let asked = machine.acquire(0, Wait::Forever).request();
    let said = machine.at(100, Input::Cancel);
    said.events(&[Event::Denied { reason: DenyReason::Cancelled }]);
    let release = said.only_request();
    machine.reply(150, release.op, Reply::Gone).events(&[Event::Closed]);

    let said = machine.reply(9_000, asked.op, granted(asked.nonce(), 1, TERM));
    assert!(!machine.held(9_000));
    let release = said.request();
    assert_eq!(release.kind, RequestKind::Release { nonce: asked.nonce() });
    machine.reply(9_010, release.op, Reply::Released).nothing();
}

#[test]
fn a_late_place_is_released() {
    let mut machine = Machine::new(config());
    machine.hold(0, 1);
    let stranger = Nonce::from_bytes([8; 16]);
    let op = OpId { instance: 7, generation: 1, sequence: 99 };
    let reply = Reply::Enqueued { nonce: stranger, term: span(TERM) };
    let said = machine.reply(10, op, reply);
    assert_eq!(said.request().kind, RequestKind::Release { nonce: stranger });
}

#[test]
fn a_late_grant_of_the_nonce_that_is_held_is_ignored() {
    let mut machine = Machine::new(config());
    let first = machine.acquire(0, Wait::Forever).request();
    machine.fail(10, first.op, Failure::Unknown);
    let (at, said) = machine.run();
    let second = said.request();
    machine.reply(at, second.op, granted(first.nonce(), 1, TERM));
    machine.reply(at + 1, first.op, granted(first.nonce(), 1, TERM)).nothing();
    machine.reply(at + 2, second.op, granted(first.nonce(), 1, TERM)).nothing();
    assert!(machine.held(at + 2));
}

#[test]
fn a_late_grant_of_the_nonce_being_asked_for_is_ignored() {
    let mut machine = Machine::new(config());
    let first = machine.acquire(0, Wait::Forever).request();
    machine.fail(10, first.op, Failure::Unknown);
    machine.reply(11, first.op, granted(first.nonce(), 1, TERM)).nothing();
    assert!(!machine.held(11));
    let (_, said) = machine.run();
    assert_eq!(said.request().nonce(), first.nonce());
}

#[test]
fn a_grant_during_the_release_of_its_nonce_makes_a_second_release_follow() {
    let mut machine = Machine::new(config());
    let asked = machine.acquire(0, Wait::Forever).request();
    let release = machine.at(100, Input::Cancel).only_request();
    machine.reply(110, asked.op, granted(asked.nonce(), 1, TERM)).nothing();
    let second = machine.reply(120, release.op, Reply::Gone).request();
    assert_eq!(second.kind, RequestKind::Release { nonce: asked.nonce() });
    machine.reply(130, second.op, Reply::Released).events(&[Event::Closed]);
}

#[test]
fn a_grant_for_another_instance_is_none_of_ours() {
    let mut machine = Machine::new(config());
    let op = OpId { instance: 8, generation: 1, sequence: 1 };
    machine.reply(0, op, granted(Nonce::from_bytes([8; 16]), 1, TERM)).nothing();
}

#[test]
fn a_grant_that_comes_too_late_to_use_is_released() {
    let mut machine = Machine::new(config());
    let asked = machine.acquire(0, Wait::Once).request();
    let reply = granted(asked.nonce(), 1, 3_900);
    // 3.9 s less 2 s of grace: at 1.9 s nothing of it is left.
    let said = machine.reply(1_900, asked.op, reply);
    said.events(&[Event::Denied { reason: DenyReason::TooLate }]);
    assert_eq!(said.only_request().kind, RequestKind::Release { nonce: asked.nonce() });
}

#[test]
fn a_term_that_the_grace_uses_up_is_denied_even_to_one_who_waits() {
    let mut machine = Machine::new(config());
    let asked = machine.acquire(0, Wait::Forever).request();
    let said = machine.reply(0, asked.op, granted(asked.nonce(), 1, 2_000));
    said.events(&[Event::Denied { reason: DenyReason::TooLate }]);
}

#[test]
fn duplicates_and_strange_answers_change_nothing() {
    let mut machine = Machine::new(config());
    let nonce = machine.hold(0, 1);
    let renewal = machine.tick(4_000).request();
    machine.reply(4_001, renewal.op, Reply::Renewed { term: span(TERM) });
    for reply in [
        Reply::Gone,
        Reply::Released,
        busy(),
        Reply::NotYet,
        Reply::Watching,
        Reply::Renewed { term: span(1) },
        granted(nonce, 5, 60_000),
    ] {
        machine.reply(4_002, renewal.op, reply).nothing();
        let held = machine.lease.held(ms(4_002)).unwrap();
        assert_eq!(held.token, token(1));
        assert!(machine.held(15_999) && !machine.held(16_000));
    }
}

#[test]
fn a_mismatched_answer_to_a_renewal_is_unknown() {
    let mut machine = Machine::new(config());
    machine.hold(0, 1);
    let renewal = machine.tick(4_000).request();
    machine.reply(4_001, renewal.op, busy()).events(&[Event::AtRisk]);
    assert!(machine.held(11_999) && !machine.held(12_000));
}

#[test]
fn a_grant_to_another_nonce_under_our_op_is_released() {
    let mut machine = Machine::new(config());
    let asked = machine.acquire(0, Wait::Forever).request();
    let stranger = Nonce::from_bytes([8; 16]);
    let said = machine.reply(10, asked.op, granted(stranger, 1, TERM));
    assert!(!machine.held(10));
    assert_eq!(said.request().kind, RequestKind::Release { nonce: stranger });
}

#[test]
fn a_nonce_whose_request_was_refused_is_not_used_again() {
    for failure in [Failure::NotSent, refused(false)] {
        let mut machine = Machine::new(config());
        let first = machine.acquire(0, Wait::Forever).request();
        machine.fail(10, first.op, failure).nothing();
        let (at, said) = machine.run();
        let second = said.request();
        assert_ne!(second.nonce(), first.nonce());
        // The network had doubled the first request, and its copy was executed.
        let said = machine.reply(at, first.op, granted(first.nonce(), 1, TERM));
        assert_eq!(said.request().kind, RequestKind::Release { nonce: first.nonce() });
    }
}

#[test]
fn a_release_before_acquired_was_polled_tells_the_release_alone() {
    let mut machine = Machine::new(config());
    let asked = machine.acquire(0, Wait::Once).request();
    let reply = granted(asked.nonce(), 1, TERM);
    machine.push(10, Input::Reply { op: asked.op, reply, as_of: None });
    let release = machine.at(20, Input::Release).request();
    let said = machine.reply(30, release.op, Reply::Released);
    said.events(&[Event::Released { confirmed: true }, Event::Closed]);
}

#[test]
fn every_attempt_has_a_nonce_of_its_own() {
    let mut machine = Machine::new(config());
    let mut seen = std::collections::HashSet::new();
    let mut asked = machine.acquire(0, Wait::Forever).request();
    let mut now = 0;
    for _ in 0..200 {
        assert!(seen.insert(asked.nonce()));
        machine.reply(now, asked.op, busy()).nothing();
        let (at, said) = machine.run();
        (now, asked) = (at, said.request());
    }
}

#[test]
fn release_goes_out_at_once_and_ends_validity() {
    let mut machine = Machine::new(config());
    let nonce = machine.hold(0, 1);
    let renewal = machine.tick(4_000).request();
    let said = machine.at(4_100, Input::Release);
    assert!(!machine.held(4_100));
    let release = said.request();
    assert_eq!(release.kind, RequestKind::Release { nonce });
    machine.reply(4_200, renewal.op, Reply::Renewed { term: span(TERM) }).nothing();
    let said = machine.reply(4_300, release.op, Reply::Released);
    said.events(&[Event::Released { confirmed: true }, Event::Closed]);
}

#[test]
fn already_gone_is_released() {
    let mut machine = Machine::new(config());
    machine.hold(0, 1);
    let release = machine.at(100, Input::Release).request();
    let said = machine.reply(200, release.op, Reply::Gone);
    said.events(&[Event::Released { confirmed: true }, Event::Closed]);
}

#[test]
fn a_release_is_retried_until_it_lapses_one_term_after_it_was_sent() {
    for failure in [Failure::Unknown, Failure::NotSent, refused(false), refused(true)] {
        let mut machine = Machine::new(config());
        let nonce = machine.hold(0, 1);
        let release = machine.at(100, Input::Release).request();
        machine.fail(110, release.op, failure).nothing();
        let (at, said) = loop {
            let (at, said) = machine.run();
            if !said.events.is_empty() {
                break (at, said);
            }
            let again = said.request();
            assert_eq!(again.kind, RequestKind::Release { nonce });
            machine.fail(at, again.op, failure).nothing();
        };
        said.events(&[Event::Released { confirmed: false }, Event::Closed]);
        assert_eq!(at, 100 + TERM);
    }
}

#[test]
fn a_session_never_lapses_and_is_closed_instead() {
    let release = |machine: &mut Machine| {
        let asked = machine.acquire(0, Wait::Once).request();
        let promise = tenure_core::Promise::Session;
        let reply = Reply::Granted { nonce: asked.nonce(), token: token(1), promise };
        machine.reply(0, asked.op, reply);
        machine.at(100, Input::Release).request()
    };
    let session = || Machine::new(config().assurance(tenure_core::Assurance::Session));

    for failure in [Failure::Unknown, refused(true)] {
        let mut machine = session();
        let released = release(&mut machine);
        let undo = machine.fail(110, released.op, failure).request();
        assert_eq!(undo.kind, RequestKind::Disconnect { nonce: released.nonce() });
        let said = machine.reply(120, undo.op, Reply::Released);
        said.events(&[Event::Released { confirmed: false }, Event::Closed]);
    }

    for failure in [Failure::NotSent, refused(false)] {
        let mut machine = session();
        let mut asked = release(&mut machine);
        let mut now = 110;
        while asked.kind == (RequestKind::Release { nonce: asked.nonce() }) {
            machine.fail(now, asked.op, failure).nothing();
            let (at, said) = machine.run();
            (now, asked) = (at, said.request());
        }
        assert_eq!(now, 100 + TERM);
        assert_eq!(asked.kind, RequestKind::Disconnect { nonce: asked.nonce() });
        machine.fail(now, asked.op, failure).nothing();
        let (at, said) = machine.run();
        let said = machine.reply(at, said.request().op, Reply::Released);
        said.events(&[Event::Released { confirmed: false }, Event::Closed]);
    }
}

#[test]
fn a_release_is_not_retried_before_the_store_says_and_a_disconnect_does_not_wait() {
    let later = |permanent| Failure::Refused { permanent, retry_after: Some(span(3_000)) };
    let mut machine = Machine::new(config());
    machine.hold(0, 1);
    let release = machine.at(100, Input::Release).request();
    machine.fail(110, release.op, later(false)).nothing();
    assert_eq!(machine.run().0, 3_110);

    for permanent in [false, true] {
        let mut machine = Machine::new(config().assurance(tenure_core::Assurance::Session));
        let asked = machine.acquire(0, Wait::Forever).request();
        let undo = machine.fail(10, asked.op, Failure::Unknown).request();
        assert!(matches!(undo.kind, RequestKind::Disconnect { .. }));
        machine.at(20, Input::Cancel);
        machine.fail(30, undo.op, later(permanent));
        let (at, said) = machine.run();
        assert_eq!(said.request().kind, undo.kind);
        assert!(at < 1_000, "{at}");
    }
}

#[test]
fn the_end_of_a_session_settles_what_it_owed() {
    let mut machine = Machine::new(config().assurance(tenure_core::Assurance::Session));
    let asked = machine.acquire(0, Wait::Once).request();
    let (nonce, promise) = (asked.nonce(), tenure_core::Promise::Session);
    machine.reply(0, asked.op, Reply::Granted { nonce, token: token(1), promise });
    machine.at(100, Input::Release).request();
    machine.at(110, Input::SessionLost { nonce: Nonce::from_bytes([9; 16]) }).nothing();
    let said = machine.at(120, Input::SessionLost { nonce });
    said.events(&[Event::Released { confirmed: false }, Event::Closed]);
}

#[test]
fn after_release_there_is_no_lost() {
    let mut machine = Machine::new(config());
    machine.hold(0, 1);
    machine.at(11_999, Input::Release).request();
    for now in (12_000..60_000).step_by(500) {
        let said = machine.tick(now);
        assert!(!said.events.iter().any(|event| matches!(event, Event::Lost { .. })));
    }
}

#[test]
fn release_preempts_a_hung_clean_up() {
    let mut machine = Machine::new(config());
    let stranger = Nonce::from_bytes([8; 16]);
    let nonce = machine.hold(0, 1);
    let op = OpId { instance: 7, generation: 1, sequence: 99 };
    let hung = machine.reply(10, op, granted(stranger, 9, TERM)).request();
    assert_eq!(hung.kind, RequestKind::Release { nonce: stranger });
    let release = machine.at(20, Input::Release).request();
    assert_eq!(release.kind, RequestKind::Release { nonce });
    let said = machine.reply(30, release.op, Reply::Released);
    said.events(&[Event::Released { confirmed: true }]);
    let again = said.only_request();
    assert_eq!(again.kind, RequestKind::Release { nonce: stranger });
    machine.reply(40, again.op, Reply::Released).events(&[Event::Closed]);
}

#[test]
fn debts_are_bounded_and_each_is_paid() {
    let mut machine = Machine::new(config());
    machine.hold(0, 1);
    for stranger in 0..50 {
        let op = OpId { instance: 7, generation: 1, sequence: 1_000 + u32::from(stranger) };
        machine.push(
            1,
            Input::Reply {
                op,
                reply: granted(Nonce::from_bytes([stranger; 16]), 1, TERM),
                as_of: None,
            },
        );
    }
    let mut said = machine.drain();
    for paid in 1..10 {
        let [release] = said.requests[..] else {
            assert_eq!(paid, 4, "three are kept");
            return;
        };
        assert!(matches!(release.kind, RequestKind::Release { .. }));
        said = machine.reply(2, release.op, Reply::Released);
    }
    panic!("never done");
}

#[test]
fn the_application_s_own_release_is_never_pushed_out() {
    let mut machine = Machine::new(config());
    machine.hold(0, 1);
    let release = machine.at(10, Input::Release).request();
    machine.fail(11, release.op, Failure::NotSent);
    for stranger in 0..50 {
        let op = OpId { instance: 7, generation: 1, sequence: 1_000 + u32::from(stranger) };
        let reply = granted(Nonce::from_bytes([stranger; 16]), 1, TERM);
        machine.push(12, Input::Reply { op, reply, as_of: None });
    }
    let mut events = machine.drain().events;
    for now in (100..60_000).step_by(100) {
        events.extend(machine.tick(now).events);
    }
    assert_eq!(events, [Event::Released { confirmed: false }, Event::Closed]);
}

#[test]
fn a_request_that_nobody_polled_is_withdrawn() {
    let mut machine = Machine::new(config());
    machine.push(0, Input::Acquire { entropy: [1; 16], wait: Wait::Forever });
    machine.push(5, Input::Cancel);
    let said = machine.drain();
    said.events(&[Event::Denied { reason: DenyReason::Cancelled }, Event::Closed]);
    assert!(said.requests.is_empty());
}

#[test]
fn sent_is_the_last_handle_before_the_poll() {
    let mut machine = Machine::new(config());
    machine.push(0, Input::Acquire { entropy: [1; 16], wait: Wait::Once });
    machine.push(700, Input::Tick);
    let asked = machine.drain().request();
    machine.reply(800, asked.op, granted(asked.nonce(), 1, TERM));
    assert!(machine.held(12_699) && !machine.held(12_700));
}

#[test]
fn a_live_machine_denies_a_second_acquire_and_goes_on() {
    let mut machine = Machine::new(config());
    machine.hold(0, 1);
    let said = machine.acquire(10, Wait::Forever);
    said.events(&[Event::Denied { reason: DenyReason::InUse }]);
    assert!(said.requests.is_empty() && machine.held(10));
}

#[test]
fn a_closed_machine_starts_a_new_generation() {
    let mut machine = Machine::new(config());
    machine.hold(0, 1);
    let release = machine.at(10, Input::Release).request();
    let said = machine.acquire(11, Wait::Forever);
    said.events(&[Event::Denied { reason: DenyReason::InUse }]);
    machine.reply(12, release.op, Reply::Released);
    let asked = machine.acquire_with(13, Wait::Forever, 2).request();
    assert_eq!(asked.op.generation, 2);
    machine.reply(14, asked.op, granted(asked.nonce(), 2, TERM));
    assert!(machine.held(14));
}

#[test]
fn closed_is_told_before_a_new_generation_starts() {
    let mut machine = Machine::new(config());
    machine.push(0, Input::Acquire { entropy: [1; 16], wait: Wait::Forever });
    machine.push(1, Input::Cancel);
    assert!(matches!(
        machine.lease.poll(),
        tenure_core::Output::Event { event: Event::Denied { .. }, generation: 1 }
    ));
    machine.push(2, Input::Acquire { entropy: [2; 16], wait: Wait::Forever });
    let said = machine.drain();
    said.events(&[Event::Closed, Event::Denied { reason: DenyReason::InUse }]);
}

#[test]
fn cancel_while_holding_releases_and_release_while_waiting_cancels() {
    let mut machine = Machine::new(config());
    let nonce = machine.hold(0, 1);
    let release = machine.at(10, Input::Cancel).request();
    assert_eq!(release.kind, RequestKind::Release { nonce });

    let mut machine = Machine::new(config());
    machine.acquire(0, Wait::Forever).request();
    machine.at(10, Input::Release).events(&[Event::Denied { reason: DenyReason::Cancelled }]);
}

#[test]
fn a_token_that_does_not_rise_is_reported_and_the_high_mark_stays() {
    let mut machine = Machine::new(config());
    machine.hold(0, 7);
    let release = machine.at(10, Input::Release).request();
    machine.reply(20, release.op, Reply::Released);
    for got in [7, 3] {
        let asked = machine.acquire_with(30, Wait::Once, 2).request();
        let said = machine.reply(40, asked.op, granted(asked.nonce(), got, TERM));
        let told = Event::TokenWentBack { seen: token(7), got: token(got) };
        assert_eq!(said.events[0], told);
        assert!(matches!(said.events[1], Event::Acquired { .. }));
        assert_eq!(machine.lease.highest_token(), Some(token(7)));
        let release = machine.at(50, Input::Release).request();
        machine.reply(60, release.op, Reply::Released);
    }
}

#[test]
fn a_waiter_knows_the_holder_s_token() {
    let mut machine = Machine::new(config());
    let asked = machine.acquire(0, Wait::Forever).request();
    let reply = Reply::Busy { retry_after: None, holder: Some(token(41)) };
    machine.reply(1, asked.op, reply);
    let (at, said) = machine.run();
    let asked = said.request();
    let said = machine.reply(at, asked.op, granted(asked.nonce(), 1, TERM));
    assert_eq!(said.events[0], Event::TokenWentBack { seen: token(41), got: token(1) });
}

#[test]
fn every_generation_has_one_end() {
    let mut machine = Machine::new(config());
    machine.hold(0, 1);
    let renewal = machine.tick(4_000).request();
    let said = machine.reply(4_001, renewal.op, Reply::Gone);
    said.events(&[Event::Lost { reason: LossReason::Gone }, Event::Closed]);
    machine.at(4_002, Input::Release).nothing();
    machine.at(4_003, Input::Cancel).nothing();
}
