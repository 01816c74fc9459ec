use tenure_core::Lease;

use crate::{app::App, clock::Clock, clock::Micros, ledger::Ledger, scenario::ClientPlan};

/// One process: a machine, its driver's state, its application, its clock.
#[derive(Debug)]
pub(crate) struct Client {
    pub(crate) plan: ClientPlan,
    pub(crate) clock: Clock,
    pub(crate) lease: Lease,
    pub(crate) ledger: Ledger,
    pub(crate) app: App,
    /// The machine's number; another one after each crash.
    pub(crate) life: u32,
    pub(crate) down: bool,
    /// The process is stopped until then, while its clock goes on.
    pub(crate) paused_until: Micros,
    /// The driver feeds the machine but does not drain it until then.
    pub(crate) undrained_until: Micros,
    /// What the machine last waited for, by its own clock.
    pub(crate) alarm: Option<Micros>,
    /// Timers of an older number mean nothing any more.
    pub(crate) timer: u64,
    /// Messages to the store are dropped until then, and from the store.
    pub(crate) cut_to_store: Micros,
    pub(crate) cut_from_store: Micros,
    /// The store refuses everything from it until then, and says that it will for ever.
    pub(crate) locked_out_until: Micros,
}

impl Client {
    pub(crate) fn new(plan: ClientPlan, life: u32, session: bool) -> Self {
        Self {
            clock: Clock::new(plan.clock.reading, plan.clock.rates[0]),
            lease: Lease::new(plan.config, life),
            ledger: Ledger::new(life, &plan, session),
            app: App::default(),
            life,
            down: false,
            paused_until: 0,
            undrained_until: 0,
            alarm: None,
            timer: 0,
            cut_to_store: 0,
            cut_from_store: 0,
            locked_out_until: 0,
            plan,
        }
    }

    /// A new process on the same host: no memory, the same clock.
    pub(crate) fn restart(&mut self, life: u32, session: bool) {
        self.lease = Lease::new(self.plan.config, life);
        self.ledger = Ledger::new(life, &self.plan, session);
        self.app = self.app.restarted();
        self.life = life;
        self.down = false;
        self.undrained_until = 0;
        self.alarm = None;
        self.timer += 1;
    }
}
