use std::time::Duration;

use arbitrary::{Arbitrary, Unstructured};
use tenure_core::{Assurance, Drift, Failure, Instant, LeaseConfig, Token, Wait, Waiting};

/// Bytes, read as whatever is wanted next. Once they are used up, everything is zero.
pub(crate) struct Source<'a>(Unstructured<'a>);

impl<'a> Source<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self(Unstructured::new(bytes))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn any<T: Arbitrary<'a> + Default>(&mut self) -> T {
        self.0.arbitrary().unwrap_or_default()
    }

    /// A number below `bound`, which is not 0.
    pub(crate) fn below(&mut self, bound: u8) -> u8 {
        self.any::<u8>() % bound
    }

    pub(crate) fn one_in(&mut self, chances: u8) -> bool {
        self.below(chances) == chances - 1
    }

    /// One of `items`, which are not empty.
    pub(crate) fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        let at = usize::from(self.any::<u8>()) % items.len();
        items[at]
    }

    /// Up to 255 bytes.
    pub(crate) fn text(&mut self) -> &'a [u8] {
        let length = usize::from(self.any::<u8>()).min(self.0.len());
        self.0.bytes(length).unwrap_or_default()
    }

    pub(crate) fn rest(self) -> &'a [u8] {
        self.0.take_rest()
    }

    pub(crate) fn nonce_bytes(&mut self) -> [u8; 16] {
        let mut bytes = [7; 16];
        bytes[..2].copy_from_slice(&self.any::<[u8; 2]>());
        bytes
    }

    /// Entropy that no other call is given (S12): `number` is another one each time.
    pub(crate) fn fresh_entropy(&mut self, number: u64) -> [u8; 16] {
        let mut bytes = self.nonce_bytes();
        bytes[8..].copy_from_slice(&number.to_le_bytes());
        bytes
    }

    pub(crate) fn token(&mut self) -> Token {
        let number = match self.below(4) {
            0 => u64::from(self.any::<u8>()),
            1 => u64::from(self.any::<u16>()),
            2 => self.any::<u64>(),
            _ => Token::MAX.get() - u64::from(self.any::<u8>()),
        };
        Token::new(number).unwrap_or(Token::MIN)
    }

    /// Mostly of the size of a term, sometimes absurd.
    pub(crate) fn span(&mut self) -> Duration {
        match self.below(8) {
            0 => Duration::MAX,
            1 => Duration::from_nanos(self.any()),
            2 => Duration::from_micros(self.any()),
            3 => Duration::from_micros(self.any::<u16>().into()),
            _ => Duration::from_millis(self.any::<u16>().into()),
        }
    }

    pub(crate) fn maybe_span(&mut self) -> Option<Duration> {
        self.one_in(2).then(|| self.span())
    }

    pub(crate) fn wait(&mut self, now: Instant) -> Wait {
        match self.below(4) {
            0 => Wait::Once,
            1 => Wait::Until(later(now, u64::from(self.any::<u32>()))),
            _ => Wait::Forever,
        }
    }

    pub(crate) fn failure(&mut self) -> Failure {
        match self.below(8) {
            0 | 1 => Failure::NotSent,
            2..5 => Failure::Unknown,
            5 => Failure::Refused { permanent: true, retry_after: None },
            _ => Failure::Refused { permanent: false, retry_after: self.maybe_span() },
        }
    }

    /// The instant of the first input: mostly the clock's origin.
    pub(crate) fn origin(&mut self) -> Instant {
        let micros = if self.below(16) == 0 { self.any() } else { 0 };
        later(Instant::ZERO, micros)
    }

    /// The instant of the next input: mostly a little later, often at the alarm, sometimes earlier.
    pub(crate) fn instant(&mut self, now: Instant, alarm: Option<Instant>) -> Instant {
        let micros = now.as_micros();
        match self.any::<u8>() {
            0 => Instant::from_micros(micros.saturating_sub(u64::from(self.any::<u32>()))),
            1 => later(now, self.any::<u64>() >> 20),
            2 => later(now, u64::from(self.any::<u32>())),
            3 => alarm.map_or(now, |alarm| Instant::from_micros(alarm.as_micros() - 1)),
            4..=40 => alarm.unwrap_or(now),
            41..=140 => now,
            // Up to some seconds, mostly less than a second.
            long => later(now, u64::from(long - 140).pow(2) * u64::from(self.any::<u8>())),
        }
    }

    /// A configuration that is accepted, and what it takes off every term.
    pub(crate) fn config(&mut self) -> (LeaseConfig, Deductions) {
        let (waiting, assurance) = self.pick(&[
            (Waiting::Poll, Assurance::Term),
            (Waiting::PollAndWatch, Assurance::Term),
            (Waiting::Queue, Assurance::Term),
            (Waiting::Poll, Assurance::Session),
            (Waiting::Queue, Assurance::Session),
            (Waiting::Block, Assurance::Session),
        ]);
        let term = Duration::from_millis(2_000 + u64::from(self.any::<u16>()));
        let store = LeaseConfig::builder().waiting(waiting).assurance(assurance).term(term);
        let deductions = Deductions {
            ppm: u32::from(self.any::<u8>()) * 200,
            quantum: Duration::from_micros(self.any::<u16>().into()),
            margin: Duration::from_micros(self.any::<u16>().into()),
        };
        let chosen = store
            .drift(Drift::from_ppm(deductions.ppm))
            .quantum(deductions.quantum)
            .margin(deductions.margin)
            .attempt_timeout(term / (3 + u32::from(self.below(30))))
            .grace(term / (2 + u32::from(self.below(60))))
            .build();
        match chosen {
            Ok(config) => (config, deductions),
            Err(_) => (store.build().expect("defaults of a term of 2 s"), Deductions::DEFAULT),
        }
    }
}

/// What a configuration takes off a term, reckoned apart from it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deductions {
    pub(crate) ppm: u32,
    pub(crate) quantum: Duration,
    pub(crate) margin: Duration,
}

impl Deductions {
    const DEFAULT: Self =
        Self { ppm: 1_000, quantum: Duration::from_millis(1), margin: Duration::from_millis(1) };

    /// D1, in nanoseconds and without a limit, so that it is never less than what is really left.
    pub(crate) fn usable(&self, term: Duration) -> u128 {
        let term = term.min(LeaseConfig::MAX_TERM).as_nanos();
        let drift = (term * u128::from(self.ppm)).div_ceil(1_000_000);
        let off = drift + self.quantum.as_nanos() + self.margin.as_nanos();
        term.saturating_sub(off)
    }
}

/// Where a deadline may not fit any more, and then ends at once (S24).
pub(crate) fn at_the_end_of_time(now: Instant) -> bool {
    now.checked_add(2 * LeaseConfig::MAX_TERM).is_none()
}

/// Up to the last instant that a clock may show: it never reaches `NEVER`.
fn later(now: Instant, micros: u64) -> Instant {
    Instant::from_micros(now.as_micros().saturating_add(micros).min(u64::MAX - 1))
}
