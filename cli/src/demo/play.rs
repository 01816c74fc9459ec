use std::{
    fmt::{self, Write},
    time::Duration,
};

use anstyle::{AnsiColor, Style};
use tenure::{ConfigError, Fence, Instant, Token};
use tenure_core::Event;

use super::{
    client::{Client, Who},
    store::Store,
};

pub(super) const TERM: Duration = Duration::from_secs(10);

const BAD: Style = AnsiColor::Red.on_default().bold();
const GOOD: Style = AnsiColor::Green.on_default().bold();
const HEAD: Style = Style::new().bold();
const PLAIN: Style = Style::new();

/// One scene: the time, the lock store, the account, and what was seen of them.
#[derive(Debug)]
pub(super) struct Play {
    now: Instant,
    store: Store,
    clients: [Client; 2],
    balance: i64,
    fence: Option<Fence>,
    text: String,
}

impl Play {
    pub(super) fn new(title: &str, fence: Option<Fence>) -> Result<Self, ConfigError> {
        Ok(Self {
            now: Instant::ZERO,
            store: Store::new(),
            clients: [Client::new(Who::A)?, Client::new(Who::B)?],
            balance: 100,
            fence,
            text: format!("{HEAD}{title}{HEAD:#}\n"),
        })
    }

    pub(super) fn acquire(&mut self, who: Who) {
        let now = self.now;
        let events = self.clients[who as usize].acquire(now, &mut self.store);
        if events.is_empty() {
            self.say(who, PLAIN, "wants the lock, and waits");
        }
        self.tell(who, &events);
    }

    pub(super) fn read(&mut self, who: Who) {
        let balance = self.balance;
        self.say(who, PLAIN, format_args!("reads the balance: {balance}"));
    }

    /// Raises the fence to the holder's token.
    pub(super) fn install(&mut self, who: Who) {
        let token = self.token(who);
        match self.fence.as_mut().map(|fence| fence.install(token)) {
            Some(Ok(())) => {
                self.say(who, PLAIN, format_args!("raises the account's fence to token {token}"));
            }
            Some(Err(stale)) => self.say(who, GOOD, format_args!("is refused: {stale}")),
            None => {}
        }
    }

    pub(super) fn write(&mut self, who: Who, balance: i64) {
        let token = self.token(who);
        match self.fence.as_mut().map(|fence| fence.admit(token)) {
            Some(Err(stale)) => {
                let text = format!("writes {balance} with token {token}: refused, {stale}");
                self.say(who, GOOD, text);
            }
            fenced => {
                let stale = !self.clients[who as usize].holds(self.now);
                let over = self.balance;
                self.balance = balance;
                let with = match fenced {
                    Some(_) => format!(" with token {token}"),
                    None => String::new(),
                };
                let style = if stale { BAD } else { PLAIN };
                self.say(who, style, format_args!("writes {balance}{with}, over {over}"));
            }
        }
    }

    /// Makes sure that it holds the lock, as careful code does, and is stopped right after.
    pub(super) fn check_then_pause(&mut self, who: Who) {
        let held = self.clients[who as usize].holds(self.now);
        let answer = if held { "yes" } else { "no" };
        self.say(who, PLAIN, format_args!("asks its lease whether it is held: {answer}"));
        self.say(who, PLAIN, "is paused: a debugger, a collector, a closed laptop …");
        self.clients[who as usize].paused = true;
    }

    /// Goes on where it was stopped: with a write. Only then its lease sees what time it is.
    pub(super) fn resume_writing(&mut self, who: Who, balance: i64) {
        self.say(who, PLAIN, "… goes on, and has noticed nothing");
        self.write(who, balance);
        self.clients[who as usize].paused = false;
        self.tick(who);
    }

    pub(super) fn pass(&mut self, span: Duration) {
        let end = self.now.checked_add(span).unwrap_or(Instant::NEVER);
        while let Some((alarm, who)) = self.next_alarm().filter(|(alarm, _)| *alarm <= end) {
            self.now = alarm;
            self.tick(who);
        }
        self.now = end;
    }

    pub(super) fn pass_until_held(&mut self, who: Who) {
        while !self.clients[who as usize].holds(self.now) {
            let Some((alarm, next)) = self.next_alarm() else { return };
            self.now = alarm;
            self.tick(next);
        }
    }

    /// The scene's text, with its moral.
    pub(super) fn ends(mut self, right: i64, moral: &str) -> Result<String, ConfigError> {
        let (balance, style) = (self.balance, if self.balance == right { GOOD } else { BAD });
        let _infallible =
            writeln!(self.text, "            {style}The balance is {balance}: {moral}.{style:#}");
        Ok(self.text)
    }

    fn next_alarm(&self) -> Option<(Instant, Who)> {
        let alarms = self.clients.iter().filter_map(|client| Some((client.alarm()?, client.who)));
        alarms.min_by_key(|(alarm, _)| *alarm)
    }

    fn tick(&mut self, who: Who) {
        let events = self.clients[who as usize].tick(self.now, &mut self.store);
        self.tell(who, &events);
    }

    fn tell(&mut self, who: Who, events: &[Event]) {
        for event in events {
            match event {
                Event::Acquired { token, .. } => {
                    let term = TERM.as_secs();
                    self.say(
                        who,
                        PLAIN,
                        format_args!("gets the lock for {term} s, with token {token}"),
                    );
                }
                Event::Lost { .. } => {
                    self.say(who, PLAIN, "is told by its lease that it was lost long ago");
                }
                Event::AtRisk | Event::Stopping { .. } | _ => {}
            }
        }
    }

    fn token(&self, who: Who) -> Token {
        self.clients[who as usize].token.unwrap_or(Token::MIN)
    }

    fn say(&mut self, who: Who, style: Style, text: impl fmt::Display) {
        let seconds = Duration::from_micros(self.now.as_micros()).as_secs_f64();
        let name = match who {
            Who::A => AnsiColor::Cyan.on_default().bold(),
            Who::B => AnsiColor::Yellow.on_default().bold(),
        };
        let _infallible =
            writeln!(self.text, "{seconds:8.3} s  {name}{who}{name:#} {style}{text}{style:#}");
    }
}
