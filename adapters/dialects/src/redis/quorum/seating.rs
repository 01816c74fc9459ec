use tenure_core::{Nonce, Token};

use super::NODE;
use crate::redis::conversation::{Answer, Ask, Call, Conversation, Step, number, token};
use crate::redis::{Script, Word};

/// Which node of which quorum a server is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Member {
    /// The node; new each time that a server becomes one, so that a server which lost its data and was
    /// seated again is not taken for the node that it was.
    pub node: Nonce,
    /// The quorum.
    pub quorum: Nonce,
    /// How many nodes the quorum has. Majorities of different numbers need not meet (S26).
    pub nodes: u8,
}

impl Member {
    /// The node `node` of the `nodes` of `quorum`.
    #[must_use]
    pub const fn new(node: Nonce, quorum: Nonce, nodes: u8) -> Self {
        Self { node, quorum, nodes }
    }
}

/// What a server is to a quorum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "whoever forms a quorum must know every standing")]
pub enum Standing {
    /// No node: it never was one, or has lost its data.
    Vacant,
    /// Marked as this node of a quorum that is being formed. It does not vote yet.
    Forming(Nonce),
    /// A node that votes.
    Seated(Member),
}

/// What a server says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Census {
    /// What it is to a quorum.
    pub standing: Standing,
    /// The highest of its counters.
    pub highest: Option<Token>,
}

/// The quorum that is formed by these nodes: the same, whoever forms it and in whatever order.
#[must_use]
pub fn quorum_of(nodes: impl IntoIterator<Item = Nonce>) -> Nonce {
    let bits = nodes.into_iter().fold(0, |bits, node| bits ^ u128::from_be_bytes(node.to_bytes()));
    Nonce::from_bytes(bits.to_be_bytes())
}

/// Starts to ask which node a server is.
#[must_use]
pub fn census() -> (Conversation<'static, Counting>, Step<'static, Census>) {
    Conversation::run(Call::new(Script::CENSUS, [Word::from(NODE)], []), Counting)
}

/// Starts to mark a server as `node` of a quorum that is being formed; `false`: it is one already.
#[must_use]
pub fn form(node: Nonce) -> (Conversation<'static, Change>, Step<'static, bool>) {
    Conversation::run(Call::new(Script::FORM, [Word::from(NODE)], [node.into()]), Change)
}

/// Starts to let a server vote that was marked as this node; `false`: it was not. None of its counters
/// is below `floor`.
#[must_use]
pub fn seat(
    member: Member,
    floor: Option<Token>,
) -> (Conversation<'static, Change>, Step<'static, bool>) {
    let Member { node, quorum, nodes } = member;
    let floor = floor.map_or_else(|| Word::from("-"), |floor| Word::number(floor.get()));
    let args = [node.into(), quorum.into(), Word::number(nodes.into()), floor];
    Conversation::run(Call::new(Script::SEAT, [Word::from(NODE)], args), Change)
}

/// Starts to take a server's vote, and its counters, away; `false`: it is not `node`.
#[must_use]
pub fn unseat(node: Nonce) -> (Conversation<'static, Change>, Step<'static, bool>) {
    Conversation::run(Call::new(Script::UNSEAT, [Word::from(NODE)], [node.into()]), Change)
}

/// The question which node a server is.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Counting;

impl Ask for Counting {
    type Reply = Census;

    fn read(&self, answer: Answer<'_>) -> Option<Census> {
        let Answer::Text(text) = answer else { return None };
        let mut words = text.split(|&byte| byte == b' ');
        match [(); 6].map(|()| words.next()) {
            [Some(b"vacant"), None, ..] => {
                Some(Census { standing: Standing::Vacant, highest: None })
            }
            [Some(b"forming"), Some(node), None, ..] => {
                Some(Census { standing: Standing::Forming(Nonce::from_hex(node)?), highest: None })
            }
            [Some(b"seated"), Some(node), Some(quorum), Some(nodes), Some(highest), None] => {
                let nodes =
                    u8::try_from(number(nodes)?).ok().filter(|nodes| (1..=9).contains(nodes));
                let member = Member::new(Nonce::from_hex(node)?, Nonce::from_hex(quorum)?, nodes?);
                Some(Census { standing: Standing::Seated(member), highest: token(highest)? })
            }
            _ => None,
        }
    }
}

/// A change of what a server is.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Change;

impl Ask for Change {
    type Reply = bool;

    fn read(&self, answer: Answer<'_>) -> Option<bool> {
        let Answer::Text(text) = answer else { return None };
        match text {
            b"done" => Some(true),
            b"other" => Some(false),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redis::Trouble;

    fn read(text: &[u8]) -> Result<Census, Trouble> {
        let (mut conversation, _) = census();
        let Step::Done(result) = conversation.next(Answer::Text(text)) else { panic!("not done") };
        result
    }

    #[test]
    fn a_census_is_read() {
        let (a, b) = (Nonce::from_bytes([0xaa; 16]), Nonce::from_bytes([0xbb; 16]));
        let of = |standing, highest| Ok(Census { standing, highest });
        assert_eq!(read(b"vacant"), of(Standing::Vacant, None));
        let forming = b"forming aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
        assert_eq!(read(forming), of(Standing::Forming(a), None));
        let seated = b"seated aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb 5 ";
        let member = Standing::Seated(Member::new(a, b, 5));
        assert_eq!(read(&[seated, &b"-"[..]].concat()), of(member, None));
        assert_eq!(read(&[seated, &b"34"[..]].concat()), of(member, Token::new(34)));
        for garbled in [
            &b""[..],
            b"vacant 1",
            b"forming",
            b"forming aa",
            b"seated",
            &[seated, &b"x"[..]].concat(),
            &[seated, &b"1 2"[..]].concat(),
            b"seated aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb 0 1",
            b"seated aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb 10 1",
            b"seated aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa - 5 1",
        ] {
            assert_eq!(read(garbled), Err(Trouble::Garbled), "{}", garbled.escape_ascii());
        }
    }

    #[test]
    fn a_quorum_is_the_same_in_whatever_order_its_nodes_are_named() {
        let nodes = [3, 7, 200].map(|byte| Nonce::from_bytes([byte; 16]));
        let [a, b, c] = nodes;
        assert_eq!(quorum_of(nodes), quorum_of([c, a, b]));
        assert_ne!(quorum_of(nodes), quorum_of([a, b]));
    }
}
