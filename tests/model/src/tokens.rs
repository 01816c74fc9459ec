use tenure_core::{Failure, NodeReply, NodeRequest, Quorum, Wait};

use crate::{
    client::{Client, Load, Packet, Told},
    config::config,
    machine::{Machine as _, News},
    search::{World, fingerprint},
    store::{Memory, Rule, Store},
    story::Story,
    tokens_told::TokensTold,
    violation::Violation,
};

/// Two attempts for one lock on three nodes, with no assumption about time at all: a node's key may
/// vanish whenever it likes, messages take any time or for ever, and each client's clock jumps to its
/// next alarm at will. What must hold nevertheless is that tokens rise (S13).
#[derive(Clone, Debug)]
pub(crate) struct Tokens {
    rules: &'static TokenRules,
    clients: [Client<Quorum<3>>; 2],
    nodes: [Store; 3],
    tokens: TokensTold,
    wakes: [u8; 2],
    doubles: u8,
    /// A node may still lose its data.
    amnesia: bool,
}

/// Any will do: the clocks jump.
const TERM: u32 = 5;

#[derive(Debug)]
pub(crate) struct TokenRules {
    pub(crate) rule: Rule,
    /// What the nodes' counters were left at, one choice after another.
    pub(crate) counters: &'static [[u64; 3]],
    /// What becomes of a node that loses its data; `Whole`: none does.
    pub(crate) amnesia: Memory,
    /// How often a client's time-outs may strike.
    pub(crate) wakes: u8,
    /// Two attempts can outbid each other until their time is up; they are followed to this counter.
    pub(crate) highest: u64,
    /// How many messages may arrive twice.
    pub(crate) doubles: u8,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Action {
    Acquire {
        client: usize,
    },
    Deliver {
        client: usize,
        packet: usize,
    },
    Double {
        client: usize,
        packet: usize,
    },
    /// The client's clock jumps to its next alarm.
    Wake {
        client: usize,
    },
    /// A node's key expires, or is released.
    Vanish {
        node: usize,
    },
    /// A node loses its data.
    Forget {
        node: usize,
    },
    /// A node comes back, after every lease that it may have granted is over.
    Return {
        node: usize,
    },
}

impl Tokens {
    pub(crate) fn first(rules: &'static TokenRules) -> Vec<Self> {
        let new = |counters: &[u64; 3]| Self {
            rules,
            clients: [0, 1].map(|number| Client::new(number, config(TERM))),
            nodes: counters.map(Store::counting),
            tokens: TokensTold::default(),
            wakes: [rules.wakes; 2],
            doubles: rules.doubles,
            amnesia: rules.amnesia != Memory::Whole,
        };
        rules.counters.iter().map(new).collect()
    }

    fn settle(&mut self, number: usize) {
        let client = &mut self.clients[number];
        let done = client.told != Told::Seeking;
        // A release does no more than a key that vanishes; and nobody waits for an answer.
        client.packets.retain(|packet| match &packet.load {
            Load::Ask(ask) => Quorum::<3>::released(ask).is_none(),
            Load::Answer(_) | Load::Refusal => !done,
        });
    }

    fn arrive(
        &mut self,
        number: usize,
        mut packet: Packet<NodeRequest, NodeReply>,
        story: &mut Story,
    ) -> Result<(), Violation> {
        let op = packet.op;
        match packet.load {
            Load::Ask(ask) => {
                let node = &mut self.nodes[packet.store];
                let answer = Quorum::<3>::serve(node, number, ask, self.rules.rule);
                story.tell(|| format!("     node {}: {ask:?} -> {answer:?}", packet.store));
                packet.load = answer.map_or(Load::Refusal, Load::Answer);
                self.clients[number].packets.push(packet);
            }
            Load::Answer(answer) => self.hear(number, News::Answer { op, answer }, story)?,
            Load::Refusal => {
                let failure = Failure::Refused { permanent: false, retry_after: None };
                self.hear(number, News::Failed { op, failure }, story)?;
            }
        }
        self.settle(number);
        Ok(())
    }

    fn hear(
        &mut self,
        number: usize,
        news: News<NodeReply>,
        story: &mut Story,
    ) -> Result<(), Violation> {
        self.clients[number].hear(news, &mut self.tokens, story)
    }
}

impl World for Tokens {
    type Action = Action;

    fn actions(&self, into: &mut Vec<Action>) {
        if self.nodes.iter().any(|node| node.counter() > self.rules.highest) {
            return;
        }
        for (number, client) in self.clients.iter().enumerate() {
            if client.told == Told::Closed && client.fresh() {
                into.push(Action::Acquire { client: number });
            }
            if client.told == Told::Seeking && client.alarm.is_some() && self.wakes[number] > 0 {
                into.push(Action::Wake { client: number });
            }
            for packet in 0..client.packets.len() {
                into.push(Action::Deliver { client: number, packet });
                if self.doubles > 0 {
                    into.push(Action::Double { client: number, packet });
                }
            }
        }
        let held = |node: &Store| node.record.is_some();
        for (number, node) in self.nodes.iter().enumerate() {
            if held(node) {
                into.push(Action::Vanish { node: number });
            }
            if self.amnesia {
                into.push(Action::Forget { node: number });
            }
            if node.memory == Memory::Away && !self.nodes.iter().any(held) {
                into.push(Action::Return { node: number });
            }
        }
    }

    fn take(&mut self, action: Action, story: &mut Story) -> Result<(), Violation> {
        match action {
            Action::Acquire { client } => {
                self.clients[client].acquire(Wait::Once, &mut self.tokens, story)?;
                self.settle(client);
            }
            Action::Deliver { client, packet } => {
                let packet = self.clients[client].packets.remove(packet);
                self.arrive(client, packet, story)?;
            }
            Action::Double { client, packet } => {
                self.doubles -= 1;
                let packet = self.clients[client].packets[packet];
                self.arrive(client, packet, story)?;
            }
            Action::Wake { client } => {
                self.wakes[client] -= 1;
                self.clients[client].sleep();
                self.hear(client, News::Tick, story)?;
                self.settle(client);
            }
            Action::Vanish { node } => self.nodes[node].record = None,
            Action::Forget { node } => {
                self.amnesia = false;
                self.nodes[node].forget(self.rules.amnesia);
            }
            Action::Return { node } => self.nodes[node].memory = Memory::Lost,
        }
        Ok(())
    }

    fn fingerprint(&self) -> u64 {
        let clients = self.clients.each_ref().map(|client| match client.told {
            Told::Seeking | Told::Closed => client.fingerprint(),
            // It has its token, or none: all that it can still do is let its requests arrive.
            Told::Held | Told::Stopping | Told::Ended => client.requests_fingerprint(),
        });
        let nodes = self.nodes.map(|node| (node.counter(), node.owner(), node.memory));
        fingerprint((clients, nodes, self.tokens, self.wakes, self.doubles, self.amnesia))
    }

    fn at_rest(&self) -> bool {
        // Silence may last for ever here: that runs end well is for the world with time.
        true
    }
}
