use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use tenure_core::{
    Basis, DenyReason, Event, Held, Input, Instant, LossReason, Nonce, OpId, Token, Wait,
};
use tenure_store::{Notices, StoreError};
use tokio::time;

use crate::{
    AcquireError, Contended, Status, TokenWentBack,
    inbox::Inbox,
    lock::Setup,
    machine::{Answered, Asking, Machine, Request, Said},
    metrics,
    nap::nap,
    status::Voice,
};

/// One machine with its requests under way: one acquire, and all that comes of it.
///
/// Whoever calls it holds the lock that guards it, and it reads the clock itself, so no reading is
/// older than the one before it.
pub(crate) struct Engine {
    setup: Arc<Setup>,
    voice: Arc<Voice>,
    machine: Machine,
    exchanges: Vec<Exchange>,
    inbox: Arc<Inbox>,
    notices: Notices,
    sleep: Option<Pin<Box<time::Sleep>>>,
    /// When the sleep is to end, on the lock's clock.
    alarm: Option<Instant>,
    /// Counts who drives: of two drivers, only the latest does.
    shift: u64,
    outcome: Option<Result<Token, DenyReason>>,
    token: Option<Token>,
    released: Option<bool>,
    /// Neither held nor waited for any more.
    ended: bool,
    /// Nothing is owed to the store any more.
    closed: bool,
    contended: Option<Contended>,
    /// The attempt that it was last heard of for, where many nodes tell.
    contended_attempt: Option<Nonce>,
    last_error: Option<StoreError>,
}

/// A request under way.
struct Exchange {
    op: OpId,
    request: Request,
    respond_by: Instant,
    future: Asking,
}

impl Engine {
    /// An engine that acquires. Nothing is sent before it is polled.
    pub(crate) fn new(setup: Arc<Setup>, entropy: [u8; 16], wait: Wait) -> Self {
        let inbox = Arc::new(Inbox::default());
        let notices = Notices::new({
            let inbox = Arc::clone(&inbox);
            move |notice| inbox.deliver(notice)
        });
        let mut machine = Machine::new(&setup, next_instance());
        machine.handle(setup.now(), Input::Acquire { entropy, wait });
        Self {
            setup,
            voice: Arc::new(Voice::new()),
            machine,
            exchanges: Vec::new(),
            inbox,
            notices,
            sleep: None,
            alarm: None,
            shift: 0,
            outcome: None,
            token: None,
            released: None,
            ended: false,
            closed: false,
            contended: None,
            contended_attempt: None,
            last_error: None,
        }
    }

    /// Does all that can be done now until `ready` finds something, or else has `cx` woken when there
    /// is more. What was found first may leave requests behind that only the next poll sends.
    pub(crate) fn poll<T>(
        &mut self,
        cx: &mut Context<'_>,
        mut ready: impl FnMut(&mut Self) -> Option<T>,
    ) -> Poll<T> {
        self.inbox.listen(cx.waker());
        loop {
            let now = self.setup.now();
            self.notice_late_tick(now);
            let due = self.drain(now);
            if let Some(found) = ready(self) {
                return Poll::Ready(found);
            }
            if !self.receive(cx) && !self.sleep(now, due, cx) {
                return Poll::Pending;
            }
        }
    }

    /// Gives up what is held or waited for. Held no more from here on; the release goes out with the
    /// next poll.
    pub(crate) fn give_up(&mut self) {
        self.machine.handle(self.setup.now(), Input::Release);
        self.ended = true;
    }

    /// Wakes whoever drives.
    pub(crate) fn wake(&self) {
        self.inbox.wake();
    }

    pub(crate) fn held(&self) -> Option<Held> {
        self.machine.held(self.setup.now())
    }

    /// Why the lease is not held any more, where only the clock says so yet: the task that renews
    /// has not had its turn, or is gone with its runtime.
    pub(crate) fn loss(&self) -> Option<LossReason> {
        let now = self.setup.now();
        if self.machine.held(now).is_some() {
            return None;
        }
        match self.machine.foresee(now) {
            Said::Event(Event::Lost { reason }) => Some(reason),
            Said::Event(_) | Said::Request { .. } | Said::Wait(_) => Some(LossReason::Expired),
        }
    }

    /// What is left to the deadline, where there is one.
    pub(crate) fn remaining(&self) -> Option<Duration> {
        let now = self.setup.now();
        Some(self.deadline(now)?.saturating_since(now))
    }

    /// Whether the lease was granted, as soon as that is known; once.
    pub(crate) fn take_outcome(&mut self) -> Option<Result<Token, DenyReason>> {
        self.outcome.take()
    }

    /// Whether the store acknowledged the release, as soon as that is known.
    pub(crate) fn released(&self) -> Option<bool> {
        self.released.or_else(|| self.closed.then_some(false))
    }

    /// Nothing is owed to the store, and nothing is under way.
    pub(crate) fn finished(&self) -> bool {
        self.closed && self.exchanges.is_empty()
    }

    /// Puts a denial in words, with what the store said last.
    pub(crate) fn explain(&mut self, reason: DenyReason) -> AcquireError {
        match (reason, self.contended, self.last_error.take()) {
            (DenyReason::Busy, contended, _) => AcquireError::Busy(contended.unwrap_or_default()),
            (DenyReason::TooLate, ..) => AcquireError::TooLate,
            (DenyReason::SessionLost, ..) => AcquireError::SessionLost,
            (DenyReason::ClockWentBack, ..) => AcquireError::ClockWentBack,
            (DenyReason::Failed(_), _, Some(error)) => AcquireError::Failed(error),
            (DenyReason::Failed(failure), _, None) => {
                AcquireError::Failed(StoreError::new(failure, "it did not answer in time"))
            }
            (other, ..) => AcquireError::Failed(StoreError::not_sent(format!("denied: {other:?}"))),
        }
    }

    pub(crate) fn shared(&self) -> (Arc<Setup>, Arc<Voice>) {
        (Arc::clone(&self.setup), Arc::clone(&self.voice))
    }

    pub(crate) const fn shift(&self) -> u64 {
        self.shift
    }

    /// Begins the next driver's shift, and ends the one before.
    pub(crate) fn next_shift(&mut self) -> u64 {
        self.shift = self.shift.wrapping_add(1);
        self.shift
    }

    /// Has the next poll make a timer in the runtime that it is in.
    pub(crate) fn forget_timer(&mut self) {
        self.sleep = None;
        self.alarm = None;
    }
}

impl Engine {
    /// Takes everything out of the machine. Gives the instant at which it wants to be called again.
    fn drain(&mut self, now: Instant) -> Option<Instant> {
        self.machine.handle(now, Input::Tick);
        self.time_out(now);
        let due = loop {
            match self.machine.poll() {
                Said::Event(event) => self.tell(event),
                Said::Request { op, request, respond_by } => {
                    self.start(now, op, request, respond_by);
                }
                Said::Wait(due) => break due,
            }
        };
        if let Some(held) = self.machine.held(now) {
            self.voice.tell_basis(held.basis);
        }
        self.hang_up();
        due
    }

    /// Drops the requests that the machine has just taken for unanswered.
    fn time_out(&mut self, now: Instant) {
        let overdue = |exchange: &mut Exchange| exchange.respond_by <= now;
        let silent: Vec<Exchange> = self.exchanges.extract_if(.., overdue).collect();
        for exchange in silent {
            self.note_failure(&exchange.request, StoreError::unknown("it did not answer in time"));
        }
    }

    /// Drops the requests whose answers are of no use any more. A late renewal changes nothing, and
    /// may stand in the release's way. A late grant must be released, so its answer is waited for:
    /// without end (a request that blocks in the store) only as long as something is owed.
    fn hang_up(&mut self) {
        let (ended, closed) = (self.ended, self.closed);
        self.exchanges.retain(|Exchange { request, respond_by, .. }| {
            let endless = *respond_by == Instant::NEVER;
            !(request.grants_nothing() && ended || endless && closed)
        });
    }

    fn start(&mut self, now: Instant, op: OpId, request: Request, respond_by: Instant) {
        let time_left = (respond_by != Instant::NEVER).then(|| respond_by.saturating_since(now));
        let future = request.send(&self.setup, &self.notices, time_left);
        self.exchanges.push(Exchange { op, request, respond_by, future });
    }

    /// Hands the machine what has come in. Whether anything had.
    fn receive(&mut self, cx: &mut Context<'_>) -> bool {
        let mut received = false;
        while let Some(notice) = self.inbox.take() {
            self.machine.handle(self.setup.now(), notice);
            received = true;
        }
        for _ in 0..self.exchanges.len() {
            // Out of the list while it is polled: a future that panics is never polled again.
            let mut exchange = self.exchanges.remove(0);
            match exchange.future.as_mut().poll(cx) {
                Poll::Pending => self.exchanges.push(exchange),
                Poll::Ready(answer) => {
                    self.answer(exchange.op, &exchange.request, answer);
                    received = true;
                }
            }
        }
        received
    }

    fn answer(&mut self, op: OpId, request: &Request, answer: Result<Answered, StoreError>) {
        let now = self.setup.now();
        match answer {
            Ok(answered) => {
                self.note_contention(request, &answered);
                let before = self.deadline(now);
                self.machine.reply(now, op, answered);
                if let (Some(before), Some(after)) = (before, self.deadline(now))
                    && after > before
                {
                    metrics::renewed(before.saturating_since(now));
                }
            }
            Err(error) => {
                self.machine.handle(now, Input::Failed { op, failure: error.failure() });
                self.note_failure(request, error);
            }
        }
    }

    fn note_failure(&mut self, request: &Request, error: StoreError) {
        let (lock, request) = (&self.setup.name, request.verb());
        // Of a lease that is held, `AtRisk` tells; of one that is waited for, nothing would.
        if self.last_error.is_none() && self.token.is_none() && !self.ended {
            tracing::warn!(%lock, request, %error, "the store gives no answer");
        } else {
            tracing::debug!(%lock, request, %error, "request failed");
        }
        self.last_error = Some(error);
    }

    fn note_contention(&mut self, request: &Request, answered: &Answered) {
        let Some(contended) = answered.contended() else { return };
        let again = self.contended.replace(contended).is_some();
        if !again {
            metrics::contended();
        }
        // Many nodes may say so of one attempt.
        let attempt = request.attempt();
        if attempt.is_none() || self.contended_attempt != attempt {
            self.contended_attempt = attempt;
            self.setup.contended(contended);
        }
    }

    /// Sleeps until `due`, or part of the way. Whether it is time to look again already.
    fn sleep(&mut self, now: Instant, due: Option<Instant>, cx: &mut Context<'_>) -> bool {
        let Some(due) = due else {
            self.forget_timer();
            return false;
        };
        let remaining = self.deadline(now).map(|deadline| deadline.saturating_since(now));
        let nap = nap(due.saturating_since(now), remaining);
        let alarm = now.checked_add(nap);
        // A timer that ends too early does no harm, and to set it anew is dear.
        if self.alarm.is_none_or(|armed| Some(armed) > alarm) {
            self.alarm = alarm;
            if let Some(sleep) = &mut self.sleep {
                sleep.as_mut().reset(time::Instant::now() + nap);
            }
        }
        let sleep = self.sleep.get_or_insert_with(|| Box::pin(time::sleep(nap)));
        let over = sleep.as_mut().poll(cx).is_ready();
        if over {
            self.alarm = None;
        }
        over
    }

    fn notice_late_tick(&mut self, now: Instant) {
        const LATE: Duration = Duration::from_millis(100);
        if let Some(alarm) = self.alarm.take_if(|alarm| *alarm <= now)
            && now.saturating_since(alarm) > LATE
        {
            metrics::late_tick();
        }
    }

    /// The deadline of the lease that is held, where there is one.
    fn deadline(&self, now: Instant) -> Option<Instant> {
        if let Basis::Term { until } = self.machine.held(now)?.basis { Some(until) } else { None }
    }

    fn tell(&mut self, event: Event) {
        let lock = &self.setup.name;
        let token = self.token.map(Token::get);
        let error = self.last_error.as_ref().map(tracing::field::display);
        self.ended |= matches!(event, Event::Lost { .. } | Event::Denied { .. });
        match event {
            Event::Acquired { token, basis } => {
                tracing::debug!(%lock, %token, "lease acquired");
                metrics::acquired();
                self.setup.remember(token);
                self.last_error = None;
                self.token = Some(token);
                self.outcome = Some(Ok(token));
                self.voice.tell(Status::Held { basis });
            }
            Event::AtRisk => {
                tracing::warn!(%lock, token, error, "renewal failed, trying again");
                self.voice.tell(Status::AtRisk);
            }
            Event::Recovered { basis } => {
                tracing::info!(%lock, token, "lease renewed after a failure");
                metrics::near_miss();
                self.last_error = None;
                self.voice.tell(Status::Held { basis });
            }
            Event::Stopping { until } => {
                tracing::warn!(%lock, token, error, "lease cannot be renewed, stopping");
                self.voice.tell(Status::Stopping { until });
            }
            Event::Lost { reason } if self.token.is_none() => {
                // It was granted and lost between two polls: nobody has seen it.
                self.outcome = Some(Err(denial(reason)));
            }
            Event::Lost { reason } => {
                let cause = cause(reason);
                tracing::error!(%lock, token, cause, error, "lease lost");
                metrics::lost(cause);
                self.voice.tell(Status::Lost { reason });
            }
            Event::Released { confirmed } => {
                tracing::debug!(%lock, token, confirmed, "lease released");
                self.released = Some(confirmed);
                self.voice.tell(Status::Released);
            }
            Event::Denied { reason } => {
                tracing::debug!(%lock, ?reason, error, "lease denied");
                self.outcome = Some(Err(reason));
            }
            Event::TokenWentBack { seen, got } => {
                tracing::warn!(%lock, %seen, %got, "token went back: the store lost its memory");
                self.voice.tell_token_went_back(TokenWentBack { seen, got });
            }
            Event::Closed => self.closed = true,
            other => tracing::debug!(%lock, token, event = ?other, "event"),
        }
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        if !self.finished() {
            let (lock, token) = (&self.setup.name, self.token.map(Token::get));
            tracing::warn!(%lock, token, "no runtime to release the lease: it ends by its term");
        }
    }
}

/// A number that no other machine of this process has.
fn next_instance() -> u32 {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// A loss, to someone who was never told of the grant.
const fn denial(reason: LossReason) -> DenyReason {
    match reason {
        LossReason::SessionLost | LossReason::SessionUnknown => DenyReason::SessionLost,
        LossReason::ClockWentBack => DenyReason::ClockWentBack,
        LossReason::Expired | LossReason::Gone | _ => DenyReason::TooLate,
    }
}

const fn cause(reason: LossReason) -> &'static str {
    match reason {
        LossReason::Expired => "expired",
        LossReason::Gone => "gone",
        LossReason::SessionLost => "session_lost",
        LossReason::SessionUnknown => "session_unknown",
        LossReason::ClockWentBack => "clock_went_back",
        _ => "other",
    }
}
