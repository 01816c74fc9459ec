use std::time::Duration;

use tenure_core::{
    Assurance, Drift, Event, Failure, Input, Instant, Lease, LeaseConfig, LeaseConfigBuilder,
    Output, Promise, Reply, RequestKind, Token, Wait, Waiting,
};

use crate::source::{Deductions, Source};

/// Any values: what is accepted keeps D1 and D7.
pub(crate) fn target(bytes: &[u8]) {
    let mut source = Source::new(bytes);
    let mut deductions = Deductions {
        ppm: 1_000,
        quantum: Duration::from_millis(1),
        margin: Duration::from_millis(1),
    };
    let mut builder = LeaseConfig::builder();
    if source.one_in(2) {
        builder = builder.term(source.span());
    }
    if source.one_in(2) {
        builder = builder.grace(source.span());
    }
    if source.one_in(2) {
        deductions.ppm = source.any::<u32>() >> source.below(32);
        builder = builder.drift(Drift::from_ppm(deductions.ppm));
    }
    if source.one_in(2) {
        deductions.quantum = source.span();
        builder = builder.quantum(deductions.quantum);
    }
    if source.one_in(2) {
        deductions.margin = source.span();
        builder = builder.margin(deductions.margin);
    }
    if source.one_in(2) {
        builder = builder.attempt_timeout(source.span());
    }
    if source.one_in(2) {
        builder = builder.poll_pause(source.span(), source.span());
    }
    let waiting = [Waiting::Poll, Waiting::PollAndWatch, Waiting::Queue, Waiting::Block];
    builder = builder.waiting(source.pick(&waiting));
    builder = builder.assurance(source.pick(&[Assurance::Term, Assurance::Session]));
    match builder.build() {
        Ok(config) => {
            is_sound(&config);
            keeps_d1(&config, deductions, source.span());
            survives_one_lost_renewal(&config);
        }
        Err(error) => assert!(error.to_string().len() > 20, "{error}"),
    }
}

/// What is true of every configuration that was accepted, wherever it came from.
pub(crate) fn is_sound(config: &LeaseConfig) {
    let term = config.term();
    assert!((LeaseConfig::MIN_TERM..=LeaseConfig::MAX_TERM).contains(&term), "{config:?}");
    assert!(!config.attempt_timeout().is_zero(), "no time to answer: {config:?}");
    let (floor, ceiling) = config.poll_pause();
    assert!(floor >= Duration::from_millis(1) && floor <= ceiling, "{config:?}");
    let available = config.usable(term);
    assert!(available < term || available == term && config.drift().ppm() == 0, "{config:?}");
    let needed = term / 3 + config.attempt_timeout() * 2 + config.grace();
    // A third of a term of whole microseconds need not be whole.
    assert!(needed <= available + Duration::from_micros(1), "D7: {config:?}");
    let worst = config.worst_case();
    assert!(worst.warning <= worst.loss && worst.loss <= worst.takeover, "{worst:?}");
    assert!(!worst.to_string().is_empty());
    assert_eq!(LeaseConfigBuilder::from(*config).build(), Ok(*config), "it cannot be built again");
}

fn keeps_d1(config: &LeaseConfig, deductions: Deductions, other: Duration) {
    for term in [config.term(), other, Duration::ZERO, Duration::MAX] {
        let usable = config.usable(term);
        assert!(usable.as_nanos() <= deductions.usable(term), "D1: {usable:?} of {term:?}");
        assert!(usable <= config.usable(Duration::MAX), "a longer term gives less: {term:?}");
    }
}

/// D7 in practice: the first renewal is lost, the second is answered at the last moment.
fn survives_one_lost_renewal(config: &LeaseConfig) {
    let mut lease = Lease::new(*config, 1);
    lease.handle(Instant::ZERO, Input::Acquire { entropy: [1; 16], wait: Wait::Once });
    let term = config.term();
    let session = config.assurance() == Assurance::Session;
    let promise = if session { Promise::Session } else { Promise::Term(term) };
    let (mut now, mut renewals) = (Instant::ZERO, 0);
    for _ in 0..100 {
        match lease.poll() {
            Output::Request { op, kind: RequestKind::Renew { .. }, respond_by } => {
                renewals += 1;
                if renewals == 2 {
                    now = Instant::from_micros(respond_by.as_micros() - 1);
                    let reply = Reply::Renewed { term };
                    lease.handle(now, Input::Reply { op, reply, as_of: None });
                    assert!(lease.held(now).is_some(), "D7: {config:?}");
                    return;
                }
                if session {
                    // There, silence is a loss.
                    now = Instant::from_micros(respond_by.as_micros() - 1);
                    lease.handle(now, Input::Failed { op, failure: Failure::NotSent });
                }
            }
            Output::Request { op, kind, .. } => {
                let reply = Reply::Granted { nonce: kind.nonce(), token: Token::MIN, promise };
                lease.handle(now, Input::Reply { op, reply, as_of: None });
            }
            Output::Event { event, .. } => {
                let ends = matches!(event, Event::Stopping { .. } | Event::Lost { .. });
                assert!(!ends, "D7: {event:?} after one lost renewal of {config:?}");
            }
            Output::Wait(alarm) => {
                now = alarm.expect("a renewal to come");
                lease.handle(now, Input::Tick);
            }
        }
    }
    panic!("no second renewal: {config:?}");
}
