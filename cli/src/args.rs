use std::{ffi::OsString, os::fd::RawFd, path::PathBuf, time::Duration};

use clap::{Args, Parser, Subcommand, ValueHint};
use clap_complete::Shell;

use crate::{duration, exit, notes};

/// Run a command under a lock that ends on time, on one machine or on many.
///
/// A lock here is a lease: it is held for a term, and renewed while the command runs. When it cannot
/// be renewed, the command is stopped before the term ends, so that it never runs beside the next
/// holder's.
#[derive(Debug, Parser)]
#[command(name = "tenure", version, propagate_version = true, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a command while holding a lock
    #[command(after_long_help = notes::text(&notes::RUN))]
    Run(Run),
    /// Say who holds a lock
    ///
    /// Exits 0 if the lock is free and 75 if it is held. The answer is out of date when it arrives:
    /// use it to look, and `tenure run --no-wait` to decide.
    Status(Status),
    /// Say what a lock in a store is worth
    ///
    /// Prints the guarantees and findings of the store's self-check, the round-trip time, and how
    /// this machine's clock behaves. Exits 69 if the store cannot be reached.
    Doctor(Doctor),
    /// Show what a fencing token is for
    ///
    /// A holder that pauses for longer than its term, played with the real lock machines on a
    /// virtual clock: without a fence, with one, and with one that nobody raised in time.
    Demo,
    /// Print the man page of tenure, or of one of its commands
    Man {
        /// The command, such as `run`
        command: Option<String>,
    },
    /// Print a completion script
    Completions {
        /// The shell to print it for
        shell: Shell,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Run {
    #[command(flatten)]
    pub(crate) store: StoreArgs,

    /// The term: how soon after this machine's sudden death somebody else can have the lock
    #[arg(long, value_name = "DUR", default_value = "30s", value_parser = duration::parse,
          allow_hyphen_values = true)]
    pub(crate) ttl: Duration,

    /// Wait for the lock at most this long [default: for ever]
    #[arg(short = 'w', long, value_name = "DUR", value_parser = duration::parse,
          allow_hyphen_values = true, conflicts_with = "no_wait")]
    pub(crate) wait: Option<Duration>,

    /// Do not wait for the lock
    #[arg(short = 'n', long)]
    pub(crate) no_wait: bool,

    /// How long the command gets between TERM and the end of the lease [default: a tenth of the
    /// term, 100ms to 5s]
    #[arg(long, value_name = "DUR", value_parser = duration::parse, allow_hyphen_values = true)]
    pub(crate) grace: Option<Duration>,

    /// The exit code if somebody else has the lock
    #[arg(short = 'E', long, value_name = "CODE", default_value_t = exit::BUSY)]
    pub(crate) conflict_exit_code: u8,

    /// Tell what happens to the lease on standard error, as one JSON object a line
    #[arg(long)]
    pub(crate) json: bool,

    /// Say only what goes wrong
    #[arg(short, long)]
    pub(crate) quiet: bool,

    /// The lock's name
    #[arg(value_name = "NAME")]
    pub(crate) name: OsString,

    /// The command and its arguments
    #[arg(value_name = "CMD", last = true, required = true, value_hint = ValueHint::CommandWithArguments)]
    pub(crate) command: Vec<OsString>,
}

#[derive(Debug, Args)]
pub(crate) struct Status {
    #[command(flatten)]
    pub(crate) store: StoreArgs,

    /// Answer with a JSON object
    #[arg(long)]
    pub(crate) json: bool,

    /// The lock's name
    #[arg(value_name = "NAME")]
    pub(crate) name: OsString,
}

#[derive(Debug, Args)]
pub(crate) struct Doctor {
    /// Answer with a JSON object
    #[arg(long)]
    pub(crate) json: bool,

    /// The store: redis://[USER[:PASSWORD]@]HOST[:PORT][/DB], rediss://… or file:///FOLDER
    /// [default: TENURE_STORE, or this machine's file store]
    #[arg(value_name = "STORE", value_hint = ValueHint::Url)]
    pub(crate) store: Option<OsString>,
}

#[derive(Debug, Args)]
pub(crate) struct StoreArgs {
    /// The store: redis://[USER[:PASSWORD]@]HOST[:PORT][/DB], rediss://… or file:///FOLDER
    /// [default: TENURE_STORE, or this machine's file store]
    ///
    /// Every user of this machine can read a command line: put a URL with a password into TENURE_STORE.
    #[arg(long, value_name = "URL", value_hint = ValueHint::Url, conflicts_with = "store_file")]
    pub(crate) store: Option<OsString>,

    /// A file store in this folder
    #[arg(long, value_name = "PATH", value_hint = ValueHint::DirPath)]
    pub(crate) store_file: Option<PathBuf>,
}

/// The name by which `tenure run` starts its watchdog, which is no command for people.
pub(crate) const WATCHDOG: &str = "tenure-watchdog";

#[derive(Debug, Parser)]
#[command(name = WATCHDOG)]
pub(crate) struct Watchdog {
    /// The socket to the parent
    #[arg(long)]
    pub(crate) control: RawFd,

    /// A descriptor to keep open until the command is gone
    #[arg(long)]
    pub(crate) lock: Option<RawFd>,

    #[arg(last = true, required = true)]
    pub(crate) command: Vec<OsString>,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_sound() {
        super::Cli::command().debug_assert();
    }
}
