use std::time::Duration;

use tenure::{Instant, Token};
use tenure_core::{Nonce, Promise, Reply, RequestKind};

/// The least lock store: one lock, one clock, no network between.
#[derive(Debug)]
pub(super) struct Store {
    lease: Option<Lease>,
    last_token: Token,
}

#[derive(Clone, Copy, Debug)]
struct Lease {
    nonce: Nonce,
    token: Token,
    until: Instant,
}

impl Store {
    /// Has handed out 32 tokens before.
    pub(super) fn new() -> Self {
        Self { lease: None, last_token: Token::new(32).unwrap_or(Token::MIN) }
    }

    pub(super) fn answer(&mut self, now: Instant, request: RequestKind) -> Reply {
        self.lease = self.lease.filter(|lease| now < lease.until);
        match (request, self.lease) {
            (RequestKind::Acquire { nonce, term, .. }, None) => {
                let token = Token::new(self.last_token.get() + 1).unwrap_or(Token::MAX);
                self.last_token = token;
                self.lease = Some(Lease { nonce, token, until: after(now, term) });
                Reply::Granted { nonce, token, promise: Promise::Term(term) }
            }
            (RequestKind::Acquire { .. }, Some(lease)) => Reply::Busy {
                retry_after: Some(lease.until.saturating_since(now)),
                holder: Some(lease.token),
            },
            (RequestKind::Renew { nonce, term }, Some(lease)) if lease.nonce == nonce => {
                self.lease = Some(Lease { until: after(now, term), ..lease });
                Reply::Renewed { term }
            }
            (RequestKind::Release { nonce }, Some(lease)) if lease.nonce == nonce => {
                self.lease = None;
                Reply::Released
            }
            _ => Reply::Gone,
        }
    }
}

fn after(now: Instant, span: Duration) -> Instant {
    now.checked_add(span).unwrap_or(Instant::NEVER)
}
