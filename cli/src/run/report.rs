use std::{
    ffi::OsString,
    io::{Write, stderr},
    time::Duration,
};

use serde_json::{Value, json};
use tenure::{Inspection, LossReason, Token, TokenWentBack};

use crate::{duration::spoken, exit::Failure};

/// Tells on standard error what happens to the lease.
#[derive(Debug)]
pub(super) struct Report {
    pub(super) name: OsString,
    pub(super) json: bool,
    pub(super) quiet: bool,
}

impl Report {
    pub(super) fn waiting(&self, seen: &Inspection) {
        self.notice("waiting", holder_fields(seen), || self.waiting_line(seen));
    }

    pub(super) fn busy(&self, seen: &Inspection) {
        self.notice("busy", holder_fields(seen), || {
            // It may have become free since it was refused.
            let held = matches!(seen, Inspection::Held { .. });
            let holder = if held { held_by(seen) } else { "held by somebody else".to_owned() };
            format!("{:?} is {holder}", self.name)
        });
    }

    /// "waiting for NAME: held by …"
    pub(super) fn waiting_line(&self, seen: &Inspection) -> String {
        let name = &self.name;
        match seen {
            Inspection::Held { .. } => format!("waiting for {name:?}: {}", held_by(seen)),
            Inspection::Free | _ => format!("waiting for {name:?}"),
        }
    }

    pub(super) fn acquired(&self, token: Token, remaining: Option<Duration>) {
        let fields = json!({ "token": token.get(), "remaining_ms": remaining.map(millis) });
        self.event("acquired", fields);
    }

    pub(super) fn at_risk(&self, remaining: Option<Duration>) {
        self.notice("at_risk", json!({ "remaining_ms": remaining.map(millis) }), || {
            let left = remaining.map_or_else(String::new, |left| {
                format!("; the lease lasts another {}", spoken(left))
            });
            format!("a renewal failed, and is being tried again{left}")
        });
    }

    pub(super) fn recovered(&self, remaining: Option<Duration>) {
        self.notice("recovered", json!({ "remaining_ms": remaining.map(millis) }), || {
            "the lease is being renewed again".to_owned()
        });
    }

    pub(super) fn stopping(&self, remaining: Duration) {
        self.warning("stopping", json!({ "remaining_ms": millis(remaining) }), || {
            let name = &self.name;
            format!("the lease of {name:?} ends in {}: stopping the command", spoken(remaining))
        });
    }

    pub(super) fn lost(&self, reason: LossReason) {
        let fields = json!({ "reason": reason_word(reason) });
        self.warning("lost", fields, || {
            format!("the lease of {:?} was lost: {}", self.name, reason_text(reason))
        });
    }

    pub(super) fn released(&self, confirmed: bool) {
        self.event("released", json!({ "confirmed": confirmed }));
    }

    pub(super) fn token_went_back(&self, went_back: TokenWentBack) {
        let fields = json!({ "seen": went_back.seen.get(), "got": went_back.got.get() });
        self.warning("token_went_back", fields, || {
            format!("warning: {:?}: {went_back}", self.name)
        });
    }

    pub(super) fn leftovers(&self) {
        self.notice("still_running", json!({}), || {
            "the command has ended; something that it started still runs, and keeps the lock"
                .to_owned()
        });
    }

    /// The failure's exit code, if it could be told here.
    pub(super) fn failed(&self, failure: Failure) -> Result<u8, Failure> {
        if !self.json {
            return Err(failure);
        }
        self.event("failed", json!({ "text": failure.text }));
        Ok(failure.code)
    }

    /// What a person should know even under `--quiet`.
    fn warning(&self, event: &str, fields: Value, text: impl FnOnce() -> String) {
        if self.json { self.event(event, fields) } else { say(&text()) }
    }

    fn notice(&self, event: &str, fields: Value, text: impl FnOnce() -> String) {
        if self.json || !self.quiet {
            self.warning(event, fields, text);
        }
    }

    fn event(&self, event: &str, mut fields: Value) {
        if self.json {
            fields["event"] = event.into();
            fields["name"] = self.name.to_string_lossy().into();
            write_line(&fields.to_string());
        }
    }
}

/// What is known of a holder, as `status --json` tells it, too.
pub(crate) fn holder_fields(seen: &Inspection) -> Value {
    match seen {
        Inspection::Held { token, remaining, holder } => json!({
            "held": true,
            "token": token.map(Token::get),
            "holder": holder,
            "remaining_ms": remaining.map(millis),
        }),
        Inspection::Free | _ => json!({ "held": false }),
    }
}

/// "held by pid 123 on host (token 41) for at most 12 s more", or "free".
pub(crate) fn held_by(seen: &Inspection) -> String {
    let Inspection::Held { token, remaining, holder } = seen else { return "free".to_owned() };
    let mut text = match holder {
        // It comes from the store, and goes to a terminal.
        Some(holder) => format!("held by {}", holder.escape_debug()),
        None if token.is_none() => "held by a client that is not Tenure".to_owned(),
        None => "held".to_owned(),
    };
    if let Some(token) = token {
        text += &format!(" (token {token})");
    }
    if let Some(remaining) = remaining {
        text += &format!(" for at most {} more", spoken(*remaining));
    }
    text
}

/// A line on standard error. That may be gone, with the terminal that it was on.
pub(crate) fn say(text: &str) {
    write_line(&format!("tenure: {text}"));
}

fn write_line(text: &str) {
    let _nobody_listens = writeln!(stderr(), "{text}");
}

fn reason_word(reason: LossReason) -> &'static str {
    match reason {
        LossReason::Expired => "expired",
        LossReason::Gone => "gone",
        LossReason::SessionLost => "session_lost",
        LossReason::SessionUnknown => "session_unknown",
        LossReason::ClockWentBack => "clock_went_back",
        _ => "other",
    }
}

fn reason_text(reason: LossReason) -> &'static str {
    match reason {
        LossReason::Expired => "its term has passed without a renewal",
        LossReason::Gone => "the store does not know it any more",
        LossReason::SessionLost => "the session with the store has ended",
        LossReason::SessionUnknown => "the session with the store may have ended",
        LossReason::ClockWentBack => "this machine's clock went back",
        _ => "for a reason that this version has no words for",
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
