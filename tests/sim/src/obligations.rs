//! The scenarios that a run must come by. A simulation that never met one proves nothing about it.

use std::fmt;

use crate::coverage::{Coverage, Seen};

/// Every scenario that can be simulated: its number, and by what it is recognised.
const SCENARIOS: [(u8, &str, Seen); 47] = [
    (1, "a holder is stopped beyond its term, and wakes", Seen::WokeUpLost),
    (2, "a pause between the check and the write", Seen::WroteAfterLoss),
    (3, "a successor that has not written yet, and an older write", Seen::RefusedByInstallAlone),
    (4, "a grant's answer comes after the term", Seen::GrantedTooLate),
    (5, "an acquire is executed after it was given up", Seen::ExecutedAfterGivenUp),
    (6, "a release overtakes its acquire", Seen::ReleaseOvertookAcquire),
    (7, "an acquire's answer is lost, the same nonce asks again", Seen::LostReplyResolved),
    (8, "an acquire's answer is lost, a fresh nonce meets the old", Seen::BlockedByOwnNonce),
    (9, "a renewal's answer is lost", Seen::RenewalRetried),
    (10, "renewals' answers change places", Seen::RenewalOvertaken),
    (11, "renewals change places", Seen::RenewalsReordered),
    (12, "a grant's answer comes twice", Seen::DuplicateGrant),
    (13, "a request is executed twice", Seen::DuplicateExecuted),
    (14, "a renewal succeeds after the loss", Seen::RenewedAfterLoss),
    (15, "a release comes after the successor's grant", Seen::ReleasedAfterSuccessor),
    (16, "a release that nobody confirms", Seen::ReleasedUnconfirmed),
    (17, "a client's clock goes back", Seen::LostClockWentBack),
    (18, "a client is suspended beyond its deadline", Seen::SuspendedBeyondDeadline),
    (29, "a term too short to be of use", Seen::NothingLeftOfTerm),
    (30, "a lock of a majority while nodes are down", Seen::AcquiredWithNodesDown),
    (31, "a split vote", Seen::SplitVote),
    (32, "a node is slow beyond the validity", Seen::GrantedTooLate),
    (33, "a node that forgot is asked to vote", Seen::AmnesiacRefused),
    (34, "a node that forgot votes after the longest term", Seen::ForgotAfterTerm),
    (35, "a token is refused in the second phase", Seen::TokenOvertaken),
    (36, "a renewal reaches a minority", Seen::RenewedByMinority),
    (42, "an acquire is cancelled in flight", Seen::CancelledInFlight),
    (71, "requests pass, answers do not, until the loss", Seen::LostWhileOnlyAnswersFail),
    (72, "renewals fail and succeed in turn", Seen::Flapped),
    (73, "clocks at the very bound", Seen::DriftAtBound),
    (74, "a release wakes everybody", Seen::AllWoken),
    (75, "no wake-up ever comes", Seen::AcquiredWithoutHints),
    (76, "a wake-up that means nothing", Seen::HintedInVain),
    (77, "two machines on one host", Seen::SameHost),
    (78, "the last token is used up", Seen::TokensExhausted),
    (79, "the resource restarts", Seen::GateRestarted),
    (80, "a holder's writes change places", Seen::WriteOutOfOrder),
    (82, "a process dies between the grant and its news", Seen::CrashedBeforeTold),
    (83, "a store confirms what it has freed", Seen::FalseRenewal),
    (85, "a timer that is late", Seen::WokeLate),
    (86, "a permit is dropped", Seen::GaveBack),
    (87, "an answer of the wrong kind", Seen::Garbled),
    (88, "a longer term than was asked for", Seen::TermLonger),
    (88, "a shorter term than was asked for", Seen::TermShorter),
    (89, "a release during a renewal", Seen::ReleasedDuringRenewal),
    (90, "a configuration that leaves no room to renew", Seen::ConfigRefused),
    (33, "a node that forgot is seeded, and votes again", Seen::Seeded),
];

/// Those that cannot be met here, and why.
const APART: [(u8, &str); 5] = [
    (19, "a cloned machine shares its nonces: what T1 assumes of the host's entropy is gone"),
    (37, "no members of a quorum change while it is used"),
    (61, "an election, and ZooKeeper's ids: neither is there yet"),
    (69, "the counter is a file: the file store's own tests tear and fill it"),
    (81, "which lock a fence guards only its user knows"),
];

pub(crate) fn print(coverage: &Coverage, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    writeln!(f, "scenarios:")?;
    let mut scenarios = SCENARIOS;
    scenarios.sort_by_key(|(number, ..)| *number);
    for (number, what, seen) in scenarios {
        writeln!(f, "{number:>4} {what:<62} {:>10}", coverage.times(seen))?;
    }
    writeln!(f, "not to be met here:")?;
    APART.iter().try_for_each(|(number, why)| writeln!(f, "{number:>4} {why}"))
}
