//! Exploring a world: all of it, or until the shortest way to a violation.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    fmt,
    hash::{BuildHasher as _, Hash},
    panic::{AssertUnwindSafe, catch_unwind},
};

use crate::{story::Story, violation::Violation};

/// A world that can be explored.
pub(crate) trait World: Clone {
    /// One thing that may happen next.
    type Action: Copy + fmt::Debug;

    /// What may happen next, always in the same order.
    fn actions(&self, into: &mut Vec<Self::Action>);

    /// Lets it happen, and checks what must hold after it.
    fn take(&mut self, action: Self::Action, story: &mut Story) -> Result<(), Violation>;

    /// Alike for worlds with equal futures. Worlds are told apart by it alone.
    fn fingerprint(&self) -> u64;

    /// Whether a run may end here.
    fn at_rest(&self) -> bool;
}

/// What a search came to.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Found {
    /// Different states seen.
    pub states: u64,
    /// The longest run that was followed, in steps.
    pub depth: usize,
    /// How it ended.
    pub ending: Ending,
}

/// How a search ended.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ending {
    /// Every state was seen, and every run comes to rest.
    Exhausted,
    /// There are more states than were asked for. All that were seen are well.
    Stopped,
    /// Something does not hold.
    Broken {
        /// What.
        violation: Violation,
        /// The steps that lead there, with all that the machines said.
        story: Story,
    },
}

/// Explores depth first, which keeps no more worlds in memory than one run has steps; of all others
/// only their fingerprint. A state met again on its own run, or one with no way on that is not at
/// rest, is a failure of liveness: so when all is well, every schedule ends, and ends well.
///
/// Each initial state has its share of `most`, and what those before it left over.
pub(crate) fn exhaust<W: World>(initial: Vec<W>, most: u64) -> Found {
    let mut search = Search { seen: HashSet::default(), depth: 0 };
    let mut ending = Ending::Exhausted;
    let share = most / initial.len().max(1) as u64;
    let mut limit = 0;
    for world in initial {
        limit += share;
        match search.from(world, limit) {
            Ending::Exhausted => {}
            Ending::Stopped => ending = Ending::Stopped,
            broken @ Ending::Broken { .. } => {
                ending = broken;
                break;
            }
        }
    }
    Found { states: search.seen.len() as u64, depth: search.depth, ending }
}

/// Explores breadth first until something does not hold, so that its story is as short as can be.
pub(crate) fn shortest<W: World>(initial: Vec<W>, most: u64) -> Found {
    let mut parents: HashMap<u64, Step, Fingerprints> = HashMap::default();
    let mut queue = VecDeque::new();
    let mut actions = Vec::new();
    for (number, world) in initial.iter().enumerate() {
        let fingerprint = world.fingerprint();
        parents.insert(fingerprint, Step { before: None, number });
        queue.push_back((Box::new(world.clone()), fingerprint, 0));
    }
    let mut deepest = 0;
    while let Some((world, before, depth)) = queue.pop_front() {
        deepest = deepest.max(depth);
        actions.clear();
        world.actions(&mut actions);
        for (number, &action) in actions.iter().enumerate() {
            let step_to = Step { before: Some(before), number };
            let mut next = W::clone(&world);
            let outcome = step(&mut next, action, &mut Story::silent());
            let states = parents.len() as u64;
            if let Err(violation) = outcome {
                let story = retell(&initial, &parents, step_to);
                let ending = Ending::Broken { violation, story };
                return Found { states, depth: depth + 1, ending };
            }
            if states >= most {
                return Found { states, depth, ending: Ending::Stopped };
            }
            let fingerprint = next.fingerprint();
            parents.entry(fingerprint).or_insert_with(|| {
                queue.push_back((Box::new(next), fingerprint, depth + 1));
                step_to
            });
        }
    }
    Found { states: parents.len() as u64, depth: deepest, ending: Ending::Exhausted }
}

/// The fingerprint of one part of a world. 64 bits: among 10^8 states, two that are different are
/// taken for the same with a probability of 3 in 10,000.
pub(crate) fn fingerprint(part: impl Hash) -> u64 {
    foldhash::quality::FixedState::with_seed(0).hash_one(part)
}

type Fingerprints = foldhash::fast::FixedState;

struct Search {
    seen: HashSet<u64, Fingerprints>,
    depth: usize,
}

impl Search {
    fn from<W: World>(&mut self, initial: W, limit: u64) -> Ending {
        let mut path = Path { frames: Vec::new(), fingerprints: HashSet::default() };
        let mut spare: Vec<Vec<W::Action>> = Vec::new();
        let mut arrived = Some(initial.clone());
        let violation = loop {
            if let Some(world) = arrived.take() {
                let fingerprint = world.fingerprint();
                if path.fingerprints.contains(&fingerprint) {
                    let why = "this state was met before on the same run".to_owned();
                    break Violation::new("L7", why);
                }
                if self.seen.insert(fingerprint) {
                    let states = self.seen.len() as u64;
                    if states.is_multiple_of(10_000_000) {
                        eprintln!("{states:>12} …");
                    }
                    if states >= limit {
                        return Ending::Stopped;
                    }
                    let mut actions = spare.pop().unwrap_or_default();
                    world.actions(&mut actions);
                    if actions.is_empty() && !world.at_rest() {
                        let why = "nothing can happen any more, and it is not over".to_owned();
                        break Violation::new("L1", why);
                    }
                    // A slice of a large world should not be one corner of it.
                    if !actions.is_empty() {
                        let first = fingerprint % actions.len() as u64;
                        actions.rotate_left(first as usize);
                    }
                    path.fingerprints.insert(fingerprint);
                    path.frames.push(Frame { world, actions, taken: 0, fingerprint });
                    self.depth = self.depth.max(path.frames.len());
                }
            }
            let Some(frame) = path.frames.last_mut() else { return Ending::Exhausted };
            let Some(&action) = frame.actions.get(frame.taken) else {
                path.fingerprints.remove(&frame.fingerprint);
                if let Some(mut frame) = path.frames.pop() {
                    frame.actions.clear();
                    spare.push(frame.actions);
                }
                continue;
            };
            frame.taken += 1;
            let mut next = frame.world.clone();
            if let Err(violation) = step(&mut next, action, &mut Story::silent()) {
                break violation;
            }
            arrived = Some(next);
        };
        Ending::Broken { violation, story: tell(initial, path.taken()) }
    }
}

/// The run that is being followed.
struct Path<W: World> {
    frames: Vec<Frame<W>>,
    fingerprints: HashSet<u64, Fingerprints>,
}

impl<W: World> Path<W> {
    fn taken(&self) -> impl Iterator<Item = W::Action> {
        self.frames.iter().filter_map(|frame| {
            let last = frame.taken.checked_sub(1)?;
            frame.actions.get(last).copied()
        })
    }
}

struct Frame<W: World> {
    world: W,
    actions: Vec<W::Action>,
    taken: usize,
    fingerprint: u64,
}

/// How a state was first reached: by that action of the state before, or as that initial one.
#[derive(Clone, Copy)]
struct Step {
    before: Option<u64>,
    number: usize,
}

/// A machine that panics is a finding like any other, and the way there must be told.
fn step<W: World>(world: &mut W, action: W::Action, story: &mut Story) -> Result<(), Violation> {
    catch_unwind(AssertUnwindSafe(|| world.take(action, story)))
        .unwrap_or_else(|_| Err(Violation::new("panic", "see the message above".into())))
}

fn tell<W: World>(mut world: W, actions: impl IntoIterator<Item = W::Action>) -> Story {
    let mut story = Story::told();
    for (number, action) in actions.into_iter().enumerate() {
        story.tell(|| format!("{:>3}. {action:?}", number + 1));
        if let Err(violation) = step(&mut world, action, &mut story) {
            story.tell(|| format!("     {violation}"));
        }
    }
    story
}

fn retell<W: World>(
    initial: &[W],
    parents: &HashMap<u64, Step, Fingerprints>,
    last: Step,
) -> Story {
    let mut steps = vec![last.number];
    let mut at = last;
    while let Some(before) = at.before.and_then(|before| parents.get(&before)) {
        steps.push(before.number);
        at = *before;
    }
    let Some(mut world) = steps.pop().and_then(|number| initial.get(number)).cloned() else {
        return Story::silent();
    };
    let first = world.clone();
    let mut taken = Vec::new();
    for number in steps.into_iter().rev() {
        let mut actions = Vec::new();
        world.actions(&mut actions);
        let Some(&action) = actions.get(number) else { break };
        taken.push(action);
        // The last step ends in the violation; the story tells it.
        let _ = step(&mut world, action, &mut Story::silent());
    }
    tell(first, taken)
}
