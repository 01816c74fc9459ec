//! Acquires a lease and renews it as often as the argument says, in no time at all: for counting
//! the instructions of one renewal, as the difference of two runs (`cargo xtask bench`).

use core::error::Error;
use std::env;

use tenure_core::{
    Input, Instant, Lease, LeaseConfig, Output, Promise, Reply, RequestKind, Token, Wait,
};

fn main() -> Result<(), Box<dyn Error>> {
    let renewals: u64 = env::args().nth(1).ok_or("how many renewals?")?.parse()?;
    let mut lease = Lease::new(LeaseConfig::builder().build()?, 1);
    let mut now = Instant::ZERO;
    lease.handle(now, Input::Acquire { entropy: [7; 16], wait: Wait::Once });
    let mut renewed = 0_u64;
    while renewed < renewals {
        match lease.poll() {
            Output::Event { .. } => {}
            Output::Request { op, kind, .. } => {
                let reply = if let RequestKind::Acquire { nonce, term, .. } = kind {
                    Reply::Granted { nonce, token: Token::MIN, promise: Promise::Term(term) }
                } else if let RequestKind::Renew { term, .. } = kind {
                    renewed = renewed.saturating_add(1);
                    Reply::Renewed { term }
                } else {
                    return Err(format!("asked for {kind:?} after {renewed} renewals").into());
                };
                lease.handle(now, Input::Reply { op, reply, as_of: None });
            }
            Output::Wait(until) => {
                now = until.ok_or("the lease has ended")?;
                lease.handle(now, Input::Tick);
            }
        }
    }
    Ok(())
}
