use std::{collections::VecDeque, fmt};

use tenure_core::{Input, Output, Reply, RequestKind, Token};

use crate::clock::Micros;

/// What happened last: enough to read a failure by.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Trace {
    entries: VecDeque<Entry>,
    keep: usize,
}

/// One thing that happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) at: Micros,
    pub(crate) what: What,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// A machine was given an input, at this reading of its clock.
    In(usize, Micros, Input),
    Out(usize, Output),
    Executed(usize, RequestKind),
    Answered(usize, Reply),
    Granted(Token),
    Lapsed,
    Write {
        client: usize,
        token: Token,
        accepted: bool,
    },
    Install {
        client: usize,
        token: Token,
        accepted: bool,
    },
    Fault(&'static str, Option<usize>, Micros),
}

impl Trace {
    pub(crate) fn of_last(keep: usize) -> Self {
        Self { entries: VecDeque::new(), keep }
    }

    pub(crate) fn last(&self, number: usize) -> Self {
        let skipped = self.entries.len().saturating_sub(number);
        Self { entries: self.entries.iter().skip(skipped).copied().collect(), keep: number }
    }

    pub(crate) fn note(&mut self, at: Micros, what: What) {
        if self.entries.len() == self.keep {
            self.entries.pop_front();
        }
        self.entries.push_back(Entry { at, what });
    }
}

impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.entries.iter().try_for_each(|entry| writeln!(f, "{entry}"))
    }
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:>12.6} ", self.at as f64 / 1e6)?;
        match self.what {
            What::In(client, reading, input) => {
                write!(f, "client {client} <- @{reading} {input:?}")
            }
            What::Out(client, output) => write!(f, "client {client} -> {output:?}"),
            What::Executed(client, kind) => write!(f, "store     {client}: {kind:?}"),
            What::Answered(client, reply) => write!(f, "store  -> {client}: {reply:?}"),
            What::Granted(token) => write!(f, "store     grants token {token}"),
            What::Lapsed => write!(f, "store     a term ran out"),
            What::Write { client, token, accepted } => {
                write!(f, "resource  {client} writes under {token}: {}", verdict(accepted))
            }
            What::Install { client, token, accepted } => {
                write!(f, "resource  {client} installs {token}: {}", verdict(accepted))
            }
            What::Fault(name, Some(client), by) => {
                write!(f, "fault     {name} client {client}, {by} us")
            }
            What::Fault(name, None, by) => write!(f, "fault     {name}, {by} us"),
        }
    }
}

fn verdict(accepted: bool) -> &'static str {
    if accepted { "accepted" } else { "refused" }
}
