//! Waiting: polled, hinted, in a queue, in the store. S27, L3, L6.
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
    Assurance, Basis, DenyReason, Event, Failure, Input, Instant, Promise, Reply, RequestKind,
    Wait, Waiting,
};

#[test]
fn a_try_is_one_answer() {
    let mut machine = Machine::new(config());
    let asked = machine.acquire(0, Wait::Once).request();
    let said = machine.reply(5, asked.op, busy());
    said.events(&[Event::Denied { reason: DenyReason::Busy }, Event::Closed]);
    assert!(said.requests.is_empty());
}

#[test]
fn a_limit_that_has_passed_is_a_try() {
    let mut machine = Machine::new(config());
    let asked = machine.acquire(10, Wait::Until(ms(10))).request();
    machine.reply(15, asked.op, granted(asked.nonce(), 1, TERM));
    assert!(machine.held(15));
}

#[test]
fn polls_between_the_floor_and_the_ceiling() {
    let mut machine = Machine::new(config().poll_pause(span(20), span(1_000)));
    let mut asked = machine.acquire(0, Wait::Forever).request();
    let (mut now, mut pauses) = (0, Vec::new());
    for _ in 0..300 {
        machine.reply(now, asked.op, busy());
        let (at, said) = machine.run();
        pauses.push(at - now);
        (now, asked) = (at, said.request());
    }
    assert!(pauses.iter().all(|pause| (20..=1_001).contains(pause)), "{pauses:?}");
    assert!(pauses[0] <= 61 && pauses.iter().any(|&pause| pause > 500), "{pauses:?}");
    pauses.dedup();
    assert!(pauses.len() > 250, "not spread: {pauses:?}");
}

#[test]
fn two_waiters_do_not_poll_in_step() {
    let polls = |entropy| {
        let mut machine = Machine::new(config());
        let mut asked = machine.acquire_with(0, Wait::Forever, entropy).request();
        let mut now = 0;
        core::iter::from_fn(move || {
            machine.reply(now, asked.op, busy());
            let (at, said) = machine.run();
            (now, asked) = (at, said.request());
            Some(at)
        })
        .take(10)
        .collect::<Vec<_>>()
    };
    assert_ne!(polls(1), polls(2));
    assert_eq!(polls(1), polls(1));
}

#[test]
fn does_not_wait_longer_than_the_holder_has_left() {
    let mut machine = Machine::new(config().poll_pause(span(500), span(60_000)));
    let mut asked = machine.acquire(0, Wait::Forever).request();
    let mut now = 0;
    for _ in 0..50 {
        let reply = Reply::Busy { retry_after: Some(span(700)), holder: None };
        machine.reply(now, asked.op, reply);
        let (at, said) = machine.run();
        assert!(at - now <= 1_201, "{}", at - now);
        (now, asked) = (at, said.request());
    }
}

#[test]
fn the_wait_ends_at_its_limit_and_says_what_it_met() {
    let mut machine = Machine::new(config());
    let asked = machine.acquire(0, Wait::Until(ms(10))).request();
    machine.reply(5, asked.op, busy()).nothing();
    let (at, said) = machine.run();
    assert_eq!(at, 10);
    said.events(&[Event::Denied { reason: DenyReason::Busy }, Event::Closed]);

    // Busy, as long as the question under way at the limit is not overdue by itself.
    let mut machine = Machine::new(config().poll_pause(span(20), span(20)));
    let asked = machine.acquire(0, Wait::Until(ms(40))).request();
    machine.reply(5, asked.op, busy()).nothing();
    let asked = machine.run().1.request();
    assert_eq!(asked.respond_by, ms(40));
    let said = machine.tick(40);
    said.events(&[Event::Denied { reason: DenyReason::Busy }]);
    assert_eq!(said.only_request().kind, RequestKind::Release { nonce: asked.nonce() });

    let mut machine = Machine::new(config());
    let asked = machine.acquire(0, Wait::Until(ms(10))).request();
    machine.fail(5, asked.op, Failure::NotSent).nothing();
    let (_, said) = machine.run();
    said.events(&[Event::Denied { reason: DenyReason::Failed(Failure::NotSent) }, Event::Closed]);
}

#[test]
fn a_grant_at_the_limit_is_released() {
    let mut machine = Machine::new(config());
    let asked = machine.acquire(0, Wait::Until(ms(10))).request();
    assert_eq!(asked.respond_by, ms(10));
    let said = machine.reply(10, asked.op, granted(asked.nonce(), 1, TERM));
    said.events(&[Event::Denied { reason: DenyReason::Failed(Failure::Unknown) }]);
    assert_eq!(said.only_request().kind, RequestKind::Release { nonce: asked.nonce() });
}

#[test]
fn a_wrong_password_is_denied_at_once() {
    let mut machine = Machine::new(config());
    let asked = machine.acquire(0, Wait::Forever).request();
    let said = machine.fail(5, asked.op, refused(true));
    said.events(&[Event::Denied { reason: DenyReason::Failed(refused(true)) }, Event::Closed]);
}

#[test]
fn the_store_s_retry_after_is_kept() {
    let mut machine = Machine::new(config());
    let asked = machine.acquire(0, Wait::Forever).request();
    let failure = Failure::Refused { permanent: false, retry_after: Some(span(3_000)) };
    machine.fail(0, asked.op, failure).nothing();
    assert_eq!(machine.run().0, 3_000);
}

#[test]
fn a_hint_polls_at_once_and_never_grants() {
    let mut machine = Machine::new(config());
    let asked = machine.acquire(0, Wait::Forever).request();
    machine.at(1, Input::Hint).nothing();
    // It came while a request was under way: asked once more, and only once.
    let again = machine.reply(2, asked.op, busy()).request();
    machine.reply(3, again.op, busy()).nothing();
    let asked = machine.at(4, Input::Hint).request();
    assert!(!machine.held(4));
    machine.reply(5, asked.op, granted(asked.nonce(), 1, TERM));
    machine.at(6, Input::Hint).nothing();
}

fn watched() -> tenure_core::LeaseConfigBuilder {
    config().waiting(Waiting::PollAndWatch)
}

#[test]
fn watches_once_while_it_polls_and_asks_again_when_the_watch_stands() {
    let mut machine = Machine::new(watched());
    let asked = machine.acquire(0, Wait::Forever).request();
    let watch = machine.reply(1, asked.op, busy()).request();
    assert!(matches!(watch.kind, RequestKind::Watch { .. }));
    let asked = machine.reply(2, watch.op, Reply::Watching).request();
    assert!(matches!(asked.kind, RequestKind::Acquire { .. }));
    machine.reply(3, asked.op, busy()).nothing();
    let asked = machine.at(4, Input::Hint).request();
    let said = machine.reply(5, asked.op, granted(asked.nonce(), 1, TERM));
    assert!(matches!(said.events[..], [Event::Acquired { .. }]));
    assert_eq!(said.only_request().kind, RequestKind::Unwatch { nonce: watch.nonce() });
}

#[test]
fn a_watch_that_failed_is_asked_for_again_and_polling_goes_on() {
    let mut machine = Machine::new(watched());
    let asked = machine.acquire(0, Wait::Forever).request();
    let watch = machine.reply(1, asked.op, busy()).request();
    machine.fail(2, watch.op, Failure::Unknown).nothing();
    let (at, said) = machine.run();
    let watch = machine.reply(at, said.request().op, busy()).request();
    assert!(matches!(watch.kind, RequestKind::Watch { .. }));
}

#[test]
fn a_cancelled_wait_ends_its_watch_before_it_closes() {
    let mut machine = Machine::new(watched());
    let asked = machine.acquire(0, Wait::Forever).request();
    let watch = machine.reply(1, asked.op, busy()).request();
    machine.reply(2, watch.op, Reply::Watching);
    machine.push(3, Input::Cancel);
    let said = machine.drain();
    assert_eq!(said.events.first(), Some(&Event::Denied { reason: DenyReason::Cancelled }));
    assert!(said.requests.iter().any(|asked| matches!(asked.kind, RequestKind::Unwatch { .. })));
}

#[test]
fn a_flood_of_hints_makes_one_request_at_a_time() {
    let mut machine = Machine::new(watched());
    let asked = machine.acquire(0, Wait::Forever).request();
    for _ in 0..100 {
        machine.at(1, Input::Hint).nothing();
    }
    machine.reply(2, asked.op, busy());
    for _ in 0..100 {
        let said = machine.at(3, Input::Hint);
        assert!(said.requests.len() <= 1);
    }
}

fn queued() -> tenure_core::LeaseConfigBuilder {
    config().waiting(Waiting::Queue)
}

/// In the queue since 0, watching; returns the enqueue request.
fn in_queue(machine: &mut Machine) -> Request {
    let enqueue = machine.acquire(0, Wait::Forever).request();
    assert!(matches!(enqueue.kind, RequestKind::Enqueue { .. }));
    let reply = Reply::Enqueued { nonce: enqueue.nonce(), term: span(TERM) };
    let claim = machine.reply(10, enqueue.op, reply).request();
    assert!(matches!(claim.kind, RequestKind::Claim { .. }));
    let watch = machine.reply(20, claim.op, Reply::NotYet).request();
    assert!(matches!(watch.kind, RequestKind::Watch { .. }));
    let claim = machine.reply(30, watch.op, Reply::Watching).request();
    machine.reply(40, claim.op, Reply::NotYet).nothing();
    enqueue
}

fn claimed(nonce: tenure_core::Nonce) -> Reply {
    Reply::Granted { nonce, token: token(1), promise: Promise::Place }
}

#[test]
fn an_empty_queue_grants_in_one_exchange() {
    let mut machine = Machine::new(queued());
    let enqueue = machine.acquire(0, Wait::Forever).request();
    let said = machine.reply(10, enqueue.op, granted(enqueue.nonce(), 1, TERM));
    said.events(&[Event::Acquired { token: token(1), basis: Basis::Term { until: ms(TERM) } }]);
}

#[test]
fn a_hint_leads_to_one_claim_and_another_watch() {
    let mut machine = Machine::new(queued());
    in_queue(&mut machine);
    let claim = machine.at(50, Input::Hint).request();
    assert!(matches!(claim.kind, RequestKind::Claim { .. }));
    machine.at(51, Input::Hint).nothing();
    let said = machine.reply(52, claim.op, Reply::NotYet);
    let kinds: Vec<_> = said.requests.iter().map(|asked| asked.kind).collect();
    assert!(kinds.iter().any(|kind| matches!(kind, RequestKind::Watch { .. })), "{kinds:?}");
}

#[test]
fn a_claim_establishes_no_term() {
    let mut machine = Machine::new(queued());
    let enqueue = in_queue(&mut machine);
    let claim = machine.at(3_000, Input::Hint).only_request();
    let said = machine.reply(3_010, claim.op, claimed(enqueue.nonce()));
    // Counted from the enqueue, which was the last thing that the store acknowledged.
    let until = ms(TERM);
    assert!(
        said.events.contains(&Event::Acquired { token: token(1), basis: Basis::Term { until } })
    );
    assert!(!machine.held(TERM));
}

#[test]
fn a_claim_counts_from_the_last_acknowledged_renewal_of_the_place() {
    let mut machine = Machine::new(queued());
    let enqueue = in_queue(&mut machine);
    let mut renewal = None;
    while renewal.is_none() {
        let (at, said) = machine.run();
        for asked in said.requests {
            if let RequestKind::Renew { .. } = asked.kind {
                renewal = Some((at, asked));
            } else {
                assert!(matches!(asked.kind, RequestKind::Claim { .. }), "{asked:?}");
                machine.reply(at, asked.op, Reply::NotYet);
            }
        }
    }
    let (at, renewal) = renewal.unwrap();
    assert_eq!(at, 4_000);
    machine.reply(4_000, renewal.op, Reply::Renewed { term: span(TERM) });
    let claim = machine.at(4_000, Input::Hint).only_request();
    machine.reply(4_010, claim.op, claimed(enqueue.nonce()));
    assert!(machine.held(15_999) && !machine.held(16_000));
}

#[test]
fn a_renewal_of_the_place_that_is_under_way_serves_the_lease() {
    let mut machine = Machine::new(queued());
    let enqueue = in_queue(&mut machine);
    // Let the fallback's claims go unanswered until the place's renewal is due.
    let renewal = loop {
        let (at, said) = machine.run();
        for asked in &said.requests {
            if let RequestKind::Claim { .. } = asked.kind {
                machine.reply(at, asked.op, Reply::NotYet);
            }
        }
        let is_renewal = |asked: &&Request| matches!(asked.kind, RequestKind::Renew { .. });
        if let Some(renewal) = said.requests.iter().find(is_renewal) {
            break *renewal;
        }
    };
    let claim = machine.at(4_010, Input::Hint).only_request();
    let said = machine.reply(4_020, claim.op, claimed(enqueue.nonce()));
    assert!(!said.requests.iter().any(|asked| matches!(asked.kind, RequestKind::Renew { .. })));
    machine.reply(4_030, renewal.op, Reply::Renewed { term: span(TERM) });
    assert!(machine.held(15_999) && !machine.held(16_000));
}

#[test]
fn a_place_is_kept_no_longer_than_one_answered_request_justifies() {
    let mut machine = Machine::new(queued());
    let enqueue = in_queue(&mut machine);
    let renew = |machine: &mut Machine, from: u64, term: u64, as_of: Option<u64>| {
        for now in from.. {
            let said = machine.tick(now);
            for asked in said.requests {
                if let RequestKind::Renew { .. } = asked.kind {
                    let (reply, as_of) = (Reply::Renewed { term: span(term) }, as_of.map(ms));
                    machine.at(now, Input::Reply { op: asked.op, reply, as_of });
                    return now;
                }
                machine.reply(now, asked.op, Reply::NotYet);
            }
        }
        unreachable!()
    };
    let first = renew(&mut machine, 3_999, 6_000, None);
    assert_eq!(first, 4_000);
    let second = renew(&mut machine, 5_999, 9_000, Some(500));
    // Sent at 4,000 for 6 s ends later than sent at 500 for 9 s.
    let claim = machine.at(second + 1, Input::Hint).only_request();
    machine.reply(second + 2, claim.op, claimed(enqueue.nonce()));
    assert!(machine.held(9_999) && !machine.held(10_000));
}

#[test]
fn polling_goes_on_if_no_hint_ever_comes() {
    let mut machine = Machine::new(queued());
    in_queue(&mut machine);
    let (at, said) = machine.run();
    assert!(at <= 1_100);
    assert!(matches!(said.request().kind, RequestKind::Claim { .. }));
}

#[test]
fn a_lost_place_is_released_and_taken_anew_under_a_fresh_nonce() {
    let mut machine = Machine::new(queued());
    let enqueue = in_queue(&mut machine);
    let claim = machine.at(50, Input::Hint).request();
    let said = machine.reply(60, claim.op, Reply::Gone);
    let kinds: Vec<_> = said.requests.iter().map(|asked| asked.kind).collect();
    assert!(kinds.contains(&RequestKind::Release { nonce: enqueue.nonce() }), "{kinds:?}");
    assert!(kinds.contains(&RequestKind::Unwatch { nonce: enqueue.nonce() }), "{kinds:?}");
    let (_, said) = machine.run();
    let again = said.requests.last().unwrap();
    assert!(matches!(again.kind, RequestKind::Enqueue { .. }));
    assert_ne!(again.nonce(), enqueue.nonce());
}

#[test]
fn a_place_that_cannot_be_renewed_is_given_up_at_its_end() {
    let mut machine = Machine::new(queued());
    let enqueue = in_queue(&mut machine);
    let at = loop {
        let (at, said) = machine.run();
        if said.requests.iter().any(|asked| matches!(asked.kind, RequestKind::Release { .. })) {
            break at;
        }
        for asked in said.requests {
            assert_eq!(asked.nonce(), enqueue.nonce());
            machine.fail(at, asked.op, Failure::NotSent);
        }
    };
    assert_eq!(at, TERM);
}

#[test]
fn a_try_in_a_queue_leaves_no_place() {
    let mut machine = Machine::new(queued());
    let enqueue = machine.acquire(0, Wait::Once).request();
    let reply = Reply::Enqueued { nonce: enqueue.nonce(), term: span(TERM) };
    let claim = machine.reply(10, enqueue.op, reply).request();
    let said = machine.reply(20, claim.op, Reply::NotYet);
    said.events(&[Event::Denied { reason: DenyReason::Busy }]);
    assert_eq!(said.only_request().kind, RequestKind::Release { nonce: enqueue.nonce() });
}

fn blocking() -> tenure_core::LeaseConfigBuilder {
    config().waiting(Waiting::Block).assurance(Assurance::Session)
}

#[test]
fn a_blocking_store_is_asked_once_for_as_long_as_the_caller_waits() {
    let mut machine = Machine::new(blocking());
    let asked = machine.acquire(0, Wait::Until(ms(900_000))).request();
    assert!(matches!(asked.kind, RequestKind::Acquire { block: true, .. }));
    assert_eq!(asked.respond_by, ms(900_000));
    let promise = Promise::Session;
    let reply = Reply::Granted { nonce: asked.nonce(), token: token(1), promise };
    let said = machine.reply(600_000, asked.op, reply);
    let basis = Basis::Session { last_ok: ms(0) };
    assert_eq!(said.events, [Event::Acquired { token: token(1), basis }]);
    assert!(matches!(said.only_request().kind, RequestKind::Renew { .. }), "probed at once");

    let mut machine = Machine::new(blocking());
    machine.acquire(0, Wait::Until(ms(900_000))).request();
    machine.tick(900_000).events(&[Event::Denied { reason: DenyReason::Busy }]);

    let mut machine = Machine::new(blocking());
    let asked = machine.acquire(0, Wait::Forever).request();
    assert_eq!(asked.respond_by, Instant::NEVER);
    let mut machine = Machine::new(blocking());
    let asked = machine.acquire(0, Wait::Once).request();
    assert!(matches!(asked.kind, RequestKind::Acquire { block: false, .. }));
}

#[test]
fn a_cancelled_blocking_acquire_disconnects() {
    let mut machine = Machine::new(blocking());
    let asked = machine.acquire(0, Wait::Forever).request();
    let said = machine.at(10, Input::Cancel);
    said.events(&[Event::Denied { reason: DenyReason::Cancelled }]);
    assert_eq!(said.only_request().kind, RequestKind::Disconnect { nonce: asked.nonce() });
}

#[test]
fn an_unknown_acquire_on_a_session_is_never_asked_about_again() {
    let mut machine = Machine::new(config().assurance(Assurance::Session));
    let asked = machine.acquire(0, Wait::Forever).request();
    let said = machine.fail(10, asked.op, Failure::Unknown);
    assert_eq!(said.request().kind, RequestKind::Disconnect { nonce: asked.nonce() });
    let (_, said) = machine.run();
    assert_ne!(said.request().nonce(), asked.nonce());
}

#[test]
fn blocking_for_a_term_is_refused() {
    let error = config().waiting(Waiting::Block).build().unwrap_err();
    assert_eq!(error, tenure_core::ConfigError::BlockingNeedsSession);
}

#[test]
fn the_end_of_its_session_starts_a_waiter_over_and_that_of_another_does_not() {
    let mut machine = Machine::new(blocking());
    let asked = machine.acquire(0, Wait::Forever).request();
    let stranger = tenure_core::Nonce::from_bytes([9; 16]);
    machine.at(10, Input::SessionLost { nonce: stranger }).nothing();
    let promise = Promise::Session;
    let reply = Reply::Granted { nonce: asked.nonce(), token: token(1), promise };
    machine.reply(20, asked.op, reply);
    assert!(machine.held(20));

    let mut machine = Machine::new(blocking());
    let asked = machine.acquire(0, Wait::Forever).request();
    machine.at(20, Input::SessionLost { nonce: asked.nonce() }).nothing();
    let (at, said) = machine.run();
    assert_ne!(said.request().nonce(), asked.nonce());
    assert!(at < 2_000, "{at}");
}

#[test]
fn a_renewal_that_may_have_shortened_the_place_shortens_it_answered_or_not() {
    let mut machine = Machine::new(queued().poll_pause(span(700), span(700)));
    let enqueue = machine.acquire(0, Wait::Forever).request();
    let nonce = enqueue.nonce();
    let claim = machine.reply(0, enqueue.op, Reply::Enqueued { nonce, term: span(30_000) });
    machine.reply(0, claim.request().op, Reply::NotYet);
    let mut renewed_at = None;
    loop {
        let (at, said) = machine.run();
        for asked in said.requests {
            if let RequestKind::Renew { .. } = asked.kind {
                renewed_at = renewed_at.or(Some(at));
                machine.fail(at, asked.op, Failure::Unknown);
            } else if let RequestKind::Claim { .. } = asked.kind {
                let Some(renewed_at) = renewed_at else {
                    machine.reply(at, asked.op, Reply::NotYet);
                    continue;
                };
                machine.reply(at, asked.op, claimed(nonce));
                assert!(machine.held(renewed_at + TERM - 1) && !machine.held(renewed_at + TERM));
                return;
            }
        }
    }
}
