//! Each request of a machine, in one process.

mod support;

use std::{
    fs,
    future::Future as _,
    pin::pin,
    task::{Context, Waker},
};

use support::*;
use tenure_core::{Assurance, Failure, Reply, RequestKind, Token, Waiting};
use tenure_file::FileStore;
use tenure_store::{Call, Failover, Fairness, Inspection, Notices, Store as _, Tenancy};

#[test]
fn it_is_polled_and_bound_to_a_session() {
    let Fixture { store, folder: _folder } = Fixture::new();
    assert_eq!(store.profile().waiting, Waiting::Poll);
    assert_eq!(store.profile().assurance, Assurance::Session);
    let guarantees = store.guarantees();
    assert_eq!(guarantees.tenancy, Tenancy::Session);
    assert_eq!(guarantees.failover, Failover::Impossible);
    assert_eq!(guarantees.fairness, Fairness::None);
}

#[test]
fn holders_in_one_process_exclude_each_other() {
    let Fixture { store, folder } = Fixture::new();
    let other_store = FileStore::open(folder.path()).unwrap();
    let first = token(acquire(&store, "nightly", 1), 1);
    let busy = Reply::Busy { retry_after: None, holder: Token::new(first) };
    assert_reply(acquire(&store, "nightly", 2), busy);
    assert_reply(acquire(&other_store, "nightly", 3), busy);
    token(acquire(&store, "weekly", 4), 4);
    assert_reply(release(&store, "nightly", 1), Reply::Released);
    assert!(token(acquire(&other_store, "nightly", 3), 3) > first);
    assert_busy(acquire(&store, "nightly", 2));
}

#[test]
fn the_same_nonce_has_the_same_token() {
    let Fixture { store, folder: _folder } = Fixture::new();
    let first = token(acquire(&store, "nightly", 1), 1);
    assert_eq!(token(acquire(&store, "nightly", 1), 1), first);
    assert_reply(release(&store, "nightly", 1), Reply::Released);
    assert_reply(release(&store, "nightly", 1), Reply::Gone);
}

#[test]
fn a_release_touches_no_other_holder() {
    let Fixture { store, folder: _folder } = Fixture::new();
    token(acquire(&store, "nightly", 1), 1);
    assert_reply(release(&store, "nightly", 2), Reply::Gone);
    assert_reply(release(&store, "weekly", 1), Reply::Gone);
    assert_reply(renew(&store, "nightly", 2), Reply::Gone);
    assert_reply(renew(&store, "nightly", 1), Reply::Renewed { term: TERM });
    assert_busy(acquire(&store, "nightly", 3));
}

#[test]
fn a_lock_file_that_was_replaced_or_removed_is_gone() {
    for replaced in [true, false] {
        let fixture = Fixture::new();
        let store = &fixture.store;
        let first = token(acquire(store, "nightly", 1), 1);
        let file = fixture.path("nightly.lock");
        if replaced {
            let record = fs::read(&file).unwrap();
            fs::rename(&file, fixture.path("elsewhere")).unwrap();
            fs::write(&file, record).unwrap();
        } else {
            fs::remove_file(&file).unwrap();
            fs::write(&file, "").unwrap();
        }
        assert!(token(acquire(store, "nightly", 2), 2) > first, "the new file is not locked");
        assert_reply(renew(store, "nightly", 1), Reply::Gone);
        assert_reply(release(store, "nightly", 1), Reply::Gone);
        assert_reply(renew(store, "nightly", 2), Reply::Renewed { term: TERM });
    }
}

#[test]
fn a_folder_that_was_replaced_is_gone_with_its_locks() {
    let fixture = Fixture::new();
    let folder = fixture.path("locks");
    let store = FileStore::open(&folder).unwrap();
    token(acquire(&store, "nightly", 1), 1);
    fs::rename(&folder, fixture.path("elsewhere")).unwrap();
    assert_reply(renew(&store, "nightly", 1), Reply::Gone);
    let error = acquire(&store, "nightly", 2).unwrap_err();
    assert!(error.to_string().contains("open the store again"), "{error}");
}

#[test]
fn a_grant_whose_file_was_replaced_is_not_granted_again() {
    let fixture = Fixture::new();
    let store = &fixture.store;
    let first = token(acquire(store, "nightly", 1), 1);
    fs::remove_file(fixture.path("nightly.lock")).unwrap();
    assert!(token(acquire(store, "nightly", 1), 1) > first, "it is a new grant");
    assert_busy(acquire(store, "nightly", 2));
}

#[test]
fn disconnect_closes_and_release_also_unlocks_what_was_inherited() {
    let Fixture { store, folder: _folder } = Fixture::new();
    assert!(store.descriptor(&name("nightly")).is_none());

    token(acquire(&store, "nightly", 1), 1);
    let inherited = store.descriptor(&name("nightly")).unwrap();
    assert!(store.descriptor(&name("weekly")).is_none());
    assert_reply(disconnect(&store, "nightly", 1), Reply::Released);
    assert_busy(acquire(&store, "nightly", 2));
    drop(inherited);

    token(acquire(&store, "nightly", 2), 2);
    let _inherited = store.descriptor(&name("nightly")).unwrap();
    assert_reply(release(&store, "nightly", 2), Reply::Released);
    token(acquire(&store, "nightly", 3), 3);
}

#[test]
fn the_last_clone_takes_its_locks_along() {
    let Fixture { store, folder } = Fixture::new();
    let clone = store.clone();
    token(acquire(&store, "nightly", 1), 1);
    drop(store);
    assert_reply(renew(&clone, "nightly", 1), Reply::Renewed { term: TERM });
    drop(clone);
    token(acquire(&FileStore::open(folder.path()).unwrap(), "nightly", 2), 2);
}

/// The future is dropped as soon as the work was handed to another thread. Whether the release
/// overtakes it or not, in the end nothing is held.
#[test]
fn a_dropped_acquire_is_undone_by_its_nonce() {
    let Fixture { store, folder: _folder } = Fixture::new();
    let lock = name("nightly");
    let notices = Notices::new(|_| {});
    for number in 0..20 {
        let request = RequestKind::Acquire { nonce: nonce(number), term: TERM, block: false };
        let call = Call { lock: &lock, request, time_left: None, notices: &notices };
        {
            let mut acquiring = pin!(store.execute(call));
            let _ = acquiring.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        }
        assert_reply(release(&store, "nightly", number), Reply::Released);
        assert_eq!(inspect(&store, "nightly"), Inspection::Free);
    }
    token(acquire(&store, "nightly", 200), 200);
}

#[test]
fn a_dropped_acquire_is_found_by_its_nonce() {
    let Fixture { store, folder: _folder } = Fixture::new();
    let lock = name("nightly");
    let notices = Notices::new(|_| {});
    let request = RequestKind::Acquire { nonce: nonce(1), term: TERM, block: false };
    let call = Call { lock: &lock, request, time_left: None, notices: &notices };
    {
        let mut acquiring = pin!(store.execute(call));
        let _ = acquiring.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    }
    assert_eq!(token(acquire(&store, "nightly", 1), 1), 1, "the first token: it is the same grant");
}

#[test]
fn a_dropped_release_is_finished() {
    let Fixture { store, folder: _folder } = Fixture::new();
    let lock = name("nightly");
    let notices = Notices::new(|_| {});
    token(acquire(&store, "nightly", 1), 1);
    let request = RequestKind::Release { nonce: nonce(1) };
    let call = Call { lock: &lock, request, time_left: None, notices: &notices };
    {
        let mut releasing = pin!(store.execute(call));
        let _ = releasing.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    }
    while matches!(acquire(&store, "nightly", 2), Ok(Reply::Busy { .. })) {}
    assert_reply(renew(&store, "nightly", 2), Reply::Renewed { term: TERM });
}

#[test]
fn nothing_happens_before_the_first_poll() {
    let Fixture { store, folder: _folder } = Fixture::new();
    let lock = name("nightly");
    let notices = Notices::new(|_| {});
    let request = RequestKind::Acquire { nonce: nonce(1), term: TERM, block: false };
    drop(store.execute(Call { lock: &lock, request, time_left: None, notices: &notices }));
    assert_reply(release(&store, "nightly", 1), Reply::Gone);
}

#[test]
fn what_it_cannot_do_is_refused_for_good() {
    let Fixture { store, folder: _folder } = Fixture::new();
    let nonce = nonce(1);
    for request in [
        RequestKind::Enqueue { nonce, term: TERM },
        RequestKind::Claim { nonce },
        RequestKind::Watch { nonce },
        RequestKind::Unwatch { nonce },
    ] {
        let error = execute(&store, "nightly", request).unwrap_err();
        let refused = Failure::Refused { permanent: true, retry_after: None };
        assert_eq!(error.failure(), refused, "{error}");
    }
}

#[test]
fn a_look_tells_who_has_it() {
    let fixture = Fixture::new();
    let store = &fixture.store;
    assert_eq!(inspect(store, "nightly"), Inspection::Free);
    assert!(!fixture.path("nightly.lock").exists(), "a look leaves nothing behind");

    let granted = token(acquire(store, "nightly", 1), 1);
    let Inspection::Held { token, remaining: None, holder: Some(holder) } =
        inspect(store, "nightly")
    else {
        panic!("not held")
    };
    assert_eq!(token.map(Token::get), Some(granted));
    assert!(holder.starts_with(&format!("pid {} on ", std::process::id())), "{holder}");

    release(store, "nightly", 1).unwrap();
    assert_eq!(inspect(store, "nightly"), Inspection::Free);

    // A holder that dies does not say so; a lock file that makes no sense still can be held.
    support::token(acquire(store, "nightly", 2), 2);
    disconnect(store, "nightly", 2).unwrap();
    assert_eq!(inspect(store, "nightly"), Inspection::Free);
    support::token(acquire(store, "nightly", 3), 3);
    fs::write(fixture.path("nightly.lock"), "nonsense").unwrap();
    let held = Inspection::Held { token: None, remaining: None, holder: None };
    assert_eq!(inspect(store, "nightly"), held);
}
