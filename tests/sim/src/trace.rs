use std::{collections::VecDeque, fmt};

use tenure_core::Token;

use crate::{
    clock::Micros,
    machine::{Answer, Ask, Said, Told},
    resource::Verdict,
};

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
    In(usize, Micros, Told),
    Out(usize, Said),
    /// At a store: a request, and an answer.
    Executed(usize, usize, Ask),
    Answered(usize, usize, Answer),
    /// A store gave a client the lock, under a token; or a node, without one yet.
    Granted(Option<usize>, Token),
    Taken(Option<usize>, usize),
    Lapsed(usize),
    Freed(usize),
    Write {
        client: usize,
        token: Token,
        verdict: Verdict,
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

    pub(crate) fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter()
    }

    pub(crate) fn note(&mut self, at: Micros, what: What) {
        if self.keep == 0 {
            return;
        }
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
            What::In(client, reading, told) => write!(f, "client {client} <- @{reading} {told:?}"),
            What::Out(client, said) => write!(f, "client {client} -> {said:?}"),
            What::Executed(client, site, ask) => write!(f, "store {site}  {client}: {ask:?}"),
            What::Answered(client, site, answer) => {
                write!(f, "store {site} -> {client}: {answer:?}")
            }
            What::Granted(client, token) => {
                write!(f, "store    grants token {token} to {client:?}")
            }
            What::Taken(client, site) => write!(f, "store {site}  is taken by {client:?}"),
            What::Lapsed(site) => write!(f, "store {site}  lets a term run out"),
            What::Freed(site) => write!(f, "store {site}  is freed"),
            What::Write { client, token, verdict } => {
                write!(f, "resource  {client} writes under {token}: {verdict:?}")
            }
            What::Install { client, token, accepted } => {
                let verdict = if accepted { "accepted" } else { "refused" };
                write!(f, "resource  {client} installs {token}: {verdict}")
            }
            What::Fault(name, Some(which), by) => {
                write!(f, "fault     {name} {which}, {by} us")
            }
            What::Fault(name, None, by) => write!(f, "fault     {name}, {by} us"),
        }
    }
}
