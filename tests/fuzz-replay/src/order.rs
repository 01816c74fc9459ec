use tenure_core::{DenyReason, Event, Held, Instant, Token};

/// The order of events, generation by generation, and what it says of what is held.
#[derive(Debug, Default)]
pub(crate) struct Order {
    generation: u32,
    told: Told,
    token: Option<Token>,
}

/// What the application was told in this generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Told {
    acquired: bool,
    at_risk: bool,
    stopping: Option<Instant>,
    /// It was given back; `Released` follows when that is over.
    given_back: bool,
    ended: bool,
    closed: bool,
}

impl Default for Told {
    fn default() -> Self {
        Self {
            acquired: false,
            at_risk: false,
            stopping: None,
            given_back: false,
            ended: true,
            closed: true,
        }
    }
}

impl Order {
    /// `held`: at `now`, the instant of the last `handle`.
    pub(crate) fn hear(&mut self, generation: u32, event: Event, now: Instant, held: Option<Held>) {
        if event == (Event::Denied { reason: DenyReason::InUse }) {
            assert!(generation >= self.generation, "a generation that is long over was in use");
            return;
        }
        if generation != self.generation {
            assert!(self.told.closed, "a new generation before the last one closed");
            assert_eq!(generation, self.generation.wrapping_add(1), "a generation was left out");
            self.generation = generation;
            self.told = Told { ended: false, closed: false, ..Told::default() };
        }
        let told = self.told;
        assert!(!told.closed, "{event:?} after Closed");
        match event {
            Event::Acquired { token, .. } => {
                assert!(!told.acquired && !told.ended, "{event:?} after {told:?}");
                assert_eq!(held.map(|held| held.token), Some(token), "S14: another token is held");
                self.told.acquired = true;
                self.token = Some(token);
            }
            Event::AtRisk => {
                assert!(self.holds() && !told.at_risk, "{event:?} after {told:?}");
                assert!(told.stopping.is_none() && held.is_some(), "{event:?} after {told:?}");
                self.told.at_risk = true;
            }
            Event::Recovered { .. } => {
                assert!(self.holds() && told.at_risk, "{event:?} after {told:?}");
                assert!(told.stopping.is_none() && held.is_some(), "{event:?} after {told:?}");
                self.told.at_risk = false;
            }
            Event::Stopping { until } => {
                assert!(self.holds() && told.stopping.is_none(), "{event:?} after {told:?}");
                assert!(until > now && held.is_some(), "S21: {event:?} at {now:?}");
                self.told.stopping = Some(until);
            }
            Event::Lost { .. } | Event::Released { .. } => {
                assert!(!told.ended && held.is_none(), "S5: {event:?} after {told:?}");
                self.told.ended = true;
            }
            Event::Denied { .. } => {
                assert!(!told.acquired && !told.ended && held.is_none(), "{event:?} {told:?}");
                self.told.ended = true;
            }
            Event::TokenWentBack { seen, got } => assert!(got <= seen, "S13: {event:?}"),
            Event::Closed => {
                assert!(told.ended && held.is_none(), "{event:?} after {told:?}");
                self.told.closed = true;
            }
            other => panic!("unheard of: {other:?}"),
        }
    }

    /// The application gives back what it was told that it has.
    pub(crate) const fn give_back(&mut self) {
        self.told.given_back |= self.holds();
    }

    /// Everything was polled: what is held is what was told.
    pub(crate) fn settled(&self, held: Option<Held>) {
        assert_eq!(held.is_some(), self.holds(), "S21: {held:?} after {:?}", self.told);
        if let Some(held) = held {
            assert_eq!(Some(held.token), self.token, "S14: the token changed");
        }
    }

    /// At any instant, whatever was polled.
    pub(crate) fn claims(&self, held: Option<Held>) {
        let over = (self.told.ended || self.told.given_back) && !self.told.closed;
        assert!(held.is_none() || !over, "S5: {held:?} after {:?}", self.told);
    }

    pub(crate) const fn holds(&self) -> bool {
        self.told.acquired && !self.told.given_back && !self.told.ended
    }

    pub(crate) const fn stopping(&self) -> Option<Instant> {
        self.told.stopping
    }

    pub(crate) const fn is_over(&self) -> bool {
        self.told.ended
    }

    pub(crate) const fn is_closed(&self) -> bool {
        self.told.closed
    }
}
