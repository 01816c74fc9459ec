use crate::{
    search::{World, fingerprint},
    story::Story,
    tokens_told::TokensTold,
    violation::Violation,
};
use tenure_core::Token;

/// The scheme that the quorum does *not* use, to show why: each node adds one to its counter when it
/// gives the lock, and the token is the highest that a majority answered. No machine that ships is in
/// this world.
#[derive(Clone, Debug, Hash)]
pub(crate) struct Naive {
    clients: [Client; 2],
    nodes: [Node; 3],
    tokens: TokensTold,
}

#[derive(Clone, Debug, Default, Hash)]
struct Client {
    asked: bool,
    /// The highest before it asked.
    floor: Option<Token>,
    /// What is under way between it and each node.
    packets: [Option<Packet>; 3],
    answers: [Option<u64>; 3],
}

#[derive(Clone, Copy, Debug, Hash)]
enum Packet {
    Ask,
    Answer(u64),
}

#[derive(Clone, Copy, Debug, Hash)]
struct Node {
    owner: Option<usize>,
    counter: u64,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Action {
    Acquire { client: usize },
    Deliver { client: usize, node: usize },
    Vanish { node: usize },
}

impl Naive {
    /// A partial attempt has left the first node's counter ahead.
    pub(crate) fn first() -> Vec<Self> {
        let nodes = [1, 0, 0].map(|counter| Node { owner: None, counter });
        vec![Self { clients: Default::default(), nodes, tokens: TokensTold::default() }]
    }
}

impl World for Naive {
    type Action = Action;

    fn actions(&self, into: &mut Vec<Action>) {
        for (number, client) in self.clients.iter().enumerate() {
            if !client.asked {
                into.push(Action::Acquire { client: number });
            }
            let under_way = |&node: &usize| client.packets[node].is_some();
            let deliver = |node| Action::Deliver { client: number, node };
            into.extend((0..3).filter(under_way).map(deliver));
        }
        let held = |&node: &usize| self.nodes[node].owner.is_some();
        into.extend((0..3).filter(held).map(|node| Action::Vanish { node }));
    }

    fn take(&mut self, action: Action, story: &mut Story) -> Result<(), Violation> {
        match action {
            Action::Acquire { client } => {
                let floor = self.tokens.highest();
                let packets = [Some(Packet::Ask); 3];
                self.clients[client] = Client { asked: true, floor, packets, answers: [None; 3] };
            }
            Action::Deliver { client: number, node } => {
                let client = &mut self.clients[number];
                match client.packets[node].take() {
                    Some(Packet::Ask) if self.nodes[node].owner.is_none() => {
                        let node_now = &mut self.nodes[node];
                        node_now.owner = Some(number);
                        node_now.counter += 1;
                        client.packets[node] = Some(Packet::Answer(node_now.counter));
                        story.tell(|| {
                            format!("     node {node}: its counter is {}", node_now.counter)
                        });
                    }
                    Some(Packet::Answer(counter)) => {
                        client.answers[node] = Some(counter);
                        if client.answers.iter().flatten().count() == 2 {
                            let token = client.answers.iter().flatten().max();
                            let token = Token::new(*token.unwrap_or(&0)).unwrap_or(Token::MIN);
                            story.tell(|| format!("     client {number}: its token is {token}"));
                            self.tokens.told(token, client.floor)?;
                        }
                    }
                    Some(Packet::Ask) | None => {}
                }
            }
            Action::Vanish { node } => self.nodes[node].owner = None,
        }
        Ok(())
    }

    fn fingerprint(&self) -> u64 {
        fingerprint(self)
    }

    fn at_rest(&self) -> bool {
        true
    }
}
