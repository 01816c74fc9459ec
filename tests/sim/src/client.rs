use crate::{
    app::App,
    clock::{Clock, Micros},
    ledger::Ledger,
    machine::{Machine, machine},
    scenario::{ClientPlan, Kind},
};

/// The most stores, or nodes of a quorum, that a world has.
pub(crate) const MOST_SITES: usize = 5;

/// One process: a machine, its driver's state, its application, its clock.
#[derive(Debug)]
pub(crate) struct Client {
    pub(crate) plan: ClientPlan,
    pub(crate) clock: Clock,
    pub(crate) machine: Box<dyn Machine>,
    pub(crate) ledger: Ledger,
    pub(crate) app: App,
    /// The machine's number; another one after each crash.
    pub(crate) life: u32,
    pub(crate) down: bool,
    /// The process is stopped until then, while its clock goes on.
    pub(crate) paused_until: Micros,
    /// It held the lease when it was stopped.
    pub(crate) paused_holding: bool,
    /// The driver feeds the machine but does not drain it until then.
    pub(crate) undrained_until: Micros,
    /// What the machine last waited for, by its own clock.
    pub(crate) alarm: Option<Micros>,
    /// Timers of an older number mean nothing any more.
    pub(crate) timer: u64,
    /// It held the lease after its last input; without another one it can only lose it.
    pub(crate) holds: bool,
    /// Messages to each store are dropped until then, and from each.
    pub(crate) cut_to: [Micros; MOST_SITES],
    pub(crate) cut_from: [Micros; MOST_SITES],
    /// Stores refuse everything from it until then, and say that they will for ever.
    pub(crate) locked_out_until: Micros,
}

impl Client {
    pub(crate) fn new(plan: ClientPlan, life: u32, kind: Kind) -> Self {
        Self {
            clock: Clock::new(plan.clock.reading, plan.clock.rates[0]),
            machine: machine(kind, plan.config, life),
            ledger: Ledger::new(life, &plan, kind),
            app: App::default(),
            life,
            down: false,
            paused_until: 0,
            paused_holding: false,
            undrained_until: 0,
            alarm: None,
            timer: 0,
            holds: false,
            cut_to: [0; MOST_SITES],
            cut_from: [0; MOST_SITES],
            locked_out_until: 0,
            plan,
        }
    }

    /// A new process on the same host: no memory, the same clock.
    pub(crate) fn restart(&mut self, life: u32, kind: Kind) {
        self.machine = machine(kind, self.plan.config, life);
        self.ledger = Ledger::new(life, &self.plan, kind);
        self.app = self.app.restarted();
        self.life = life;
        self.down = false;
        self.paused_holding = false;
        self.undrained_until = 0;
        self.alarm = None;
        self.timer += 1;
        self.holds = false;
    }
}
