//! What every machine of a run was told and said, as `postcard` stores it.

use serde::{Deserialize, Serialize};
use tenure_core::{
    Input, Instant, Lease, LeaseConfig, Output, Quorum, QuorumInput, QuorumOutput, Token,
};

use crate::{
    machine::{Machine, Said, Told},
    scenario::Kind,
};

/// The version of the format: the file's first byte.
const VERSION: u8 = 1;

/// One machine, from its creation to its crash.
#[derive(Debug, Serialize, Deserialize)]
struct Recording {
    config: LeaseConfig,
    instance: u32,
    /// What the host remembered from an earlier life.
    remembers: Option<Token>,
    steps: Steps,
}

/// An input with its instant, and what was polled after it: nothing at all where a driver was busy
/// elsewhere.
type Step<I, O> = (Instant, I, Vec<O>);

#[derive(Debug, Serialize, Deserialize)]
enum Steps {
    Lease(Vec<Step<Input, Output>>),
    Quorum3(Vec<Step<QuorumInput, QuorumOutput>>),
    Quorum4(Vec<Step<QuorumInput, QuorumOutput>>),
    Quorum5(Vec<Step<QuorumInput, QuorumOutput>>),
}

/// Writes down what happens to the machines of one world.
#[derive(Debug, Default)]
pub(crate) struct Recorder {
    machines: Vec<Recording>,
}

impl Recorder {
    pub(crate) fn begins(&mut self, kind: Kind, config: LeaseConfig, instance: u32) {
        let steps = match kind {
            Kind::Quorum3 => Steps::Quorum3(Vec::new()),
            Kind::Quorum4 => Steps::Quorum4(Vec::new()),
            Kind::Quorum5 => Steps::Quorum5(Vec::new()),
            Kind::Polled | Kind::Hinted | Kind::Queue | Kind::Session | Kind::Blocking => {
                Steps::Lease(Vec::new())
            }
        };
        self.machines.push(Recording { config, instance, remembers: None, steps });
    }

    pub(crate) fn remembers(&mut self, instance: u32, token: Token) {
        if let Some(machine) = self.machine(instance) {
            machine.remembers = Some(token);
        }
    }

    pub(crate) fn told(&mut self, instance: u32, now: Instant, told: Told) {
        let Some(machine) = self.machine(instance) else { return };
        match &mut machine.steps {
            Steps::Lease(steps) => {
                steps.extend(told.input().map(|input| (now, input, Vec::new())));
            }
            Steps::Quorum3(steps) | Steps::Quorum4(steps) | Steps::Quorum5(steps) => {
                steps.extend(told.quorum_input().map(|input| (now, input, Vec::new())));
            }
        }
    }

    pub(crate) fn said(&mut self, instance: u32, said: Said) {
        let Some(machine) = self.machine(instance) else { return };
        match &mut machine.steps {
            Steps::Lease(steps) => {
                if let Some((.., outputs)) = steps.last_mut() {
                    outputs.extend(said.output());
                }
            }
            Steps::Quorum3(steps) | Steps::Quorum4(steps) | Steps::Quorum5(steps) => {
                if let Some((.., outputs)) = steps.last_mut() {
                    outputs.extend(said.quorum_output());
                }
            }
        }
    }

    /// The whole, as bytes.
    pub(crate) fn bytes(&self) -> Result<Vec<u8>, postcard::Error> {
        postcard::to_stdvec(&(VERSION, &self.machines))
    }

    fn machine(&mut self, instance: u32) -> Option<&mut Recording> {
        self.machines.iter_mut().rev().find(|machine| machine.instance == instance)
    }
}

/// Gives what was recorded to new machines, and returns how many steps they took just as before.
///
/// # Errors
///
/// The file is no such trace, or a machine says something else now: which, and at which step.
pub fn replay_trace(bytes: &[u8]) -> Result<usize, String> {
    let (version, machines): (u8, Vec<Recording>) =
        postcard::from_bytes(bytes).map_err(|error| format!("not a trace: {error}"))?;
    if version != VERSION {
        return Err(format!("a trace of version {version}, where {VERSION} is known"));
    }
    machines.into_iter().map(|machine| machine.replay()).sum()
}

impl Recording {
    fn replay(self) -> Result<usize, String> {
        let Self { config, instance, remembers, steps } = self;
        let same = match steps {
            Steps::Lease(steps) => {
                let steps = steps.into_iter().map(|(now, input, outputs)| {
                    (now, input.into(), outputs.into_iter().map(Said::from).collect())
                });
                run(Lease::new(config, instance), remembers, steps)
            }
            Steps::Quorum3(steps) => {
                run(Quorum::<3>::new(config, instance), remembers, steps.into_iter().map(common))
            }
            Steps::Quorum4(steps) => {
                run(Quorum::<4>::new(config, instance), remembers, steps.into_iter().map(common))
            }
            Steps::Quorum5(steps) => {
                run(Quorum::<5>::new(config, instance), remembers, steps.into_iter().map(common))
            }
        };
        same.map_err(|step| format!("machine {instance} says something else at step {step}"))
    }
}

fn common((now, input, outputs): Step<QuorumInput, QuorumOutput>) -> (Instant, Told, Vec<Said>) {
    (now, input.into(), outputs.into_iter().map(Said::from).collect())
}

fn run(
    mut machine: impl Machine,
    remembers: Option<Token>,
    steps: impl Iterator<Item = (Instant, Told, Vec<Said>)>,
) -> Result<usize, usize> {
    if let Some(token) = remembers {
        machine.remember(token);
    }
    let mut taken = 0;
    for (now, told, recorded) in steps {
        machine.handle(now, told);
        if recorded.iter().any(|said| machine.poll() != *said) {
            return Err(taken);
        }
        taken += 1;
    }
    Ok(taken)
}
