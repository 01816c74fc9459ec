use std::time::Duration;

use crate::Gate;

/// How one request goes wrong.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Fault {
    /// `NotSent`. Not executed.
    NotSent,
    /// `Refused`. Not executed.
    Refuse {
        /// Asking again cannot help.
        permanent: bool,
        /// When it may help.
        retry_after: Option<Duration>,
    },
    /// `Unknown`, lost on the way there. Not executed.
    LoseRequest,
    /// `Unknown`, lost half way: of a grant, which takes two steps, only the first was executed, so that
    /// the lease is taken and has no token yet. Any other request was executed.
    StopHalfway,
    /// `Unknown`, lost on the way back. Executed.
    LoseAnswer,
    /// On the way there until the gate opens. Then it is executed, even if nobody waits for the answer any more.
    HoldRequest(Gate),
    /// Executed at once; the answer is on the way back until the gate opens.
    HoldAnswer(Gate),
}
