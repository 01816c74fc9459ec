use tenure_core::{
    Assurance, Input, Instant, Lease, Output, Promise, Reply, RequestKind, Token, Wait,
};

use super::judge::Judge;

/// Whatever has happened, once every request is answered the machine closes, and can be used again.
pub(super) fn closes_and_grants_again(lease: Lease, judge: Judge, now: Instant) {
    let years = 3 * u64::try_from(tenure_core::LeaseConfig::MAX_TERM.as_micros()).unwrap_or(0);
    if now.as_micros() > u64::MAX - years {
        return;
    }
    let mut calm = Calm { lease, judge, now };
    calm.tell(Input::Cancel);
    calm.until("it never closes", closed);
    calm.tell(Input::Acquire { entropy: [5; 16], wait: Wait::Forever });
    calm.until("it never grants", |judge| judge.order().holds());
    calm.tell(Input::Release);
    calm.until("it never closes again", closed);
}

/// Closed, and nothing is owed from before either.
fn closed(judge: &Judge) -> bool {
    judge.order().is_closed() && judge.alarm().is_none()
}

struct Calm {
    lease: Lease,
    judge: Judge,
    now: Instant,
}

impl Calm {
    fn tell(&mut self, input: Input) {
        self.judge.handle(&mut self.lease, self.now, input);
    }

    fn until(&mut self, otherwise: &str, over: impl Fn(&Judge) -> bool) {
        for _ in 0..200 {
            let output = self.lease.poll();
            self.judge.said(&self.lease, &output);
            match output {
                Output::Request { op, kind, .. } => {
                    if let Some(reply) = self.answer(kind) {
                        self.tell(Input::Reply { op, reply, as_of: None });
                    }
                }
                Output::Event { .. } => {}
                Output::Wait(_) if over(&self.judge) => return,
                Output::Wait(alarm) => {
                    self.now = alarm.expect(otherwise);
                    self.tell(Input::Tick);
                }
            }
        }
        panic!("{otherwise}");
    }

    /// A store with nobody else in it.
    fn answer(&self, kind: RequestKind) -> Option<Reply> {
        let nonce = kind.nonce();
        let promise = match self.lease.config().assurance() {
            Assurance::Session => Promise::Session,
            _ => Promise::Term(self.lease.config().term()),
        };
        let next = self.lease.highest_token().and_then(|token| Token::new(token.get() + 1));
        let token = next.unwrap_or(Token::MIN);
        match kind {
            RequestKind::Acquire { .. } | RequestKind::Enqueue { .. } => {
                Some(Reply::Granted { nonce, token, promise })
            }
            RequestKind::Renew { term, .. } => Some(Reply::Renewed { term }),
            RequestKind::Claim { .. } => Some(Reply::Gone),
            RequestKind::Watch { .. } => Some(Reply::Watching),
            RequestKind::Release { .. } | RequestKind::Disconnect { .. } => Some(Reply::Released),
            _ => None,
        }
    }
}
