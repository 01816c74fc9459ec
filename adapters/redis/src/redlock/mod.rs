mod forming;
mod node;

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures_util::future::join_all;
use tenure_core::{Assurance, NodeReply, NodeRequest, Nonce, Token, Waiting};
use tenure_dialects::redis::{
    Sight, Trouble,
    quorum::{self, Census, Member, Standing},
};
use tenure_store::{
    Asking, Call, ConnectError, Executing, Failover, Fairness, Fencing, Finding, Guarantees,
    Inspecting, Inspection, LockName, NodeCall, Nodes, Profile, Store, StoreError, Tenancy,
};
use tokio::time::sleep;

use self::{
    forming::{Formed, fresh, gather},
    node::Node,
};
use crate::{address::Address, link::PATIENCE};

/// Locks that up to nine independent Redis servers keep by majority (RedLock), with fencing tokens.
/// Cheap to clone; all clones share one connection to each server.
///
/// A lock outlives the loss of any minority of the servers. Each must be a primary on its own, neither
/// a replica nor part of a cluster. The `stores` page of the project says what can go wrong, and how a
/// server that lost its data comes back ([`readmit`](Self::readmit)).
#[derive(Clone)]
pub struct Redlock(Arc<Shared>);

struct Shared {
    nodes: Vec<Node>,
    /// Which node each of them is; `None` until it was asked, and after it refused to be that one.
    ids: Mutex<Vec<Option<Nonce>>>,
    quorum: Nonce,
    guarantees: Guarantees,
}

impl Redlock {
    /// Connects to the servers, in any order, and checks what each is set up for; addresses as in
    /// [`RedisStore::connect`](crate::RedisStore::connect). Every client must name the same servers.
    ///
    /// Servers that have never been a quorum become one: for that, all must answer. Later a majority is
    /// enough; the others join when they answer.
    ///
    /// # Errors
    ///
    /// [`ConnectError::Invalid`] for addresses that make no sense, for no or more than 9, for one server
    /// named twice, and for servers of a quorum of another size; [`ConnectError::Unreachable`] if no
    /// majority answers within 5 s; [`ConnectError::Unsafe`] if a server may evict its counters, is a
    /// replica or in a cluster, or if a majority has lost its data.
    pub async fn connect(
        urls: impl IntoIterator<Item = impl AsRef<str>>,
    ) -> Result<Self, ConnectError> {
        let nodes: Result<Vec<_>, _> =
            urls.into_iter().map(|url| Ok(Node::new(Address::parse(url.as_ref())?))).collect();
        let nodes = nodes?;
        if !(1..=9).contains(&nodes.len()) {
            let text = format!("a quorum has 1 to 9 servers, not {}", nodes.len());
            return Err(ConnectError::Invalid(text));
        }
        let (guarantees, answering) = check(&nodes).await?;
        let Formed { quorum, seated } = gather(&nodes, &answering).await?;
        Ok(Self(Arc::new(Shared { nodes, ids: Mutex::new(seated), quorum, guarantees })))
    }

    /// Lets a server vote again that lost its data, was replaced by another at the same address, or was
    /// restored from a backup. `url` is its address as it was given to [`connect`](Self::connect).
    ///
    /// It loses its vote first, if it has one; then all attempts must end that it may have had a part
    /// in: `longest_term` is the longest term that any client asks for. Then its counters start above
    /// those of a majority of the others. What stood at that address before must be gone for good.
    ///
    /// Dropped before its end, it leaves a server that does not vote; begin again.
    ///
    /// # Errors
    ///
    /// [`ConnectError::Invalid`] if no server was named so; [`ConnectError::Unreachable`] if it does not
    /// answer, or no majority among the others does; [`ConnectError::Unsafe`] if no majority among the
    /// others votes, or somebody else changed the server meanwhile.
    pub async fn readmit(&self, url: &str, longest_term: Duration) -> Result<(), ConnectError> {
        let address = Address::parse(url)?.to_string();
        let Shared { nodes, quorum, .. } = &*self.0;
        let Some(index) = nodes.iter().position(|node| node.address().to_string() == address)
        else {
            return Err(ConnectError::Invalid(format!("{address} is no server of this quorum")));
        };
        let Some(node) = nodes.get(index) else { return Ok(()) };
        self.highest_beside(node).await?;
        let change = |done: bool| {
            let text = format!("{address}: somebody else changed it meanwhile: begin again");
            if done { Ok(()) } else { Err(ConnectError::Unsafe(text)) }
        };

        self.0.forget(index);
        match node.census(PATIENCE).await.map_err(ConnectError::Unreachable)?.standing {
            Standing::Vacant => {}
            Standing::Forming(id) | Standing::Seated(Member { node: id, .. }) => {
                change(node.change(quorum::unseat(id)).await?)?;
            }
        }
        let id = fresh()?;
        change(node.change(quorum::form(id)).await?)?;
        // The tenth is for clocks that differ in rate.
        sleep(longest_term + longest_term / 10).await;

        let floor = self.highest_beside(node).await?.map(|highest| {
            // Equal would do too, since a node accepts only what is above; this is easier to see.
            Token::new(highest.get() + 1).unwrap_or(Token::MAX)
        });
        let size = self.count();
        change(node.change(quorum::seat(Member::new(id, *quorum, size), floor)).await?)
    }

    /// The highest counter of the other nodes that vote, which must be a majority of all.
    async fn highest_beside(&self, node: &Node) -> Result<Option<Token>, ConnectError> {
        let Shared { nodes, quorum, .. } = &*self.0;
        let others = nodes.iter().filter(|other| !std::ptr::eq(*other, node));
        let censuses = join_all(others.map(|other| other.census(PATIENCE))).await;
        let (mut voters, mut highest, mut silent) = (0, None, None);
        for census in censuses {
            match census {
                Ok(Census { standing: Standing::Seated(member), highest: theirs, .. })
                    if member.quorum == *quorum =>
                {
                    voters += 1;
                    highest = highest.max(theirs);
                }
                Ok(_) => {}
                Err(error) => silent = Some(error),
            }
        }
        if voters >= majority(nodes.len()) {
            return Ok(highest);
        }
        Err(silent.map_or_else(
            || {
                ConnectError::Unsafe(format!(
                    "only {voters} of the other servers vote, and it takes {} to know the highest \
                     token: readmit others first",
                    majority(nodes.len())
                ))
            },
            ConnectError::Unreachable,
        ))
    }
}

impl Shared {
    async fn ask(&self, call: NodeCall<'_>) -> Result<NodeReply, StoreError> {
        let NodeCall { node, lock, request, time_left } = call;
        let index = usize::from(node);
        let Some(node) = self.nodes.get(index) else {
            return Err(StoreError::refused(format!("there is no node {index}")));
        };
        let known = self.ids().get(index).copied().flatten();
        let votes = matches!(request, NodeRequest::Lock { .. } | NodeRequest::Raise { .. });
        let id = match known {
            Some(id) => id,
            None if votes => self.recognise(index, node, time_left).await?,
            // All else names a nonce, which no other server has.
            None => Nonce::from_bytes([0; 16]),
        };
        let answer = node.ask(id, lock.as_bytes(), request, time_left).await?;
        if let Err(Trouble::Answered(error)) = answer
            && error.code() == "TENURENODE"
        {
            self.forget(index);
        }
        answer.map_err(|trouble| node.trouble(trouble))
    }

    /// Finds out which node it is that was silent so far, or refused to be the one that it was.
    async fn recognise(
        &self,
        index: usize,
        node: &Node,
        time_left: Duration,
    ) -> Result<Nonce, StoreError> {
        let standing = node.census(time_left).await?.standing;
        let address = node.address();
        let refused = |why| Err(StoreError::refused_for_now(format!("{address} {why}")));
        let Standing::Seated(member) = standing else {
            return refused(
                "does not vote: it has lost its data, or is another server: readmit it",
            );
        };
        if member.quorum != self.quorum || usize::from(member.nodes) != self.nodes.len() {
            return refused("votes in another quorum: mend the address, or readmit it");
        }
        let mut ids = self.ids();
        if ids.iter().enumerate().any(|(other, id)| other != index && *id == Some(member.node)) {
            return refused("is another of the servers that were named: mend the address");
        }
        if let Some(id) = ids.get_mut(index) {
            *id = Some(member.node);
        }
        Ok(member.node)
    }

    fn forget(&self, index: usize) {
        if let Some(id) = self.ids().get_mut(index) {
            *id = None;
        }
    }

    fn ids(&self) -> MutexGuard<'_, Vec<Option<Nonce>>> {
        self.ids.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn inspect(&self, lock: &LockName) -> Result<Inspection, StoreError> {
        let sights = join_all(self.nodes.iter().map(|node| node.inspect(lock.as_bytes()))).await;
        let (mut free, mut terms, mut silent) = (0, Vec::new(), None);
        for sight in sights {
            match sight {
                Ok(Sight::Held { remaining, .. }) => terms.push(remaining),
                Ok(_) => free += 1,
                Err(error) => silent = Some(error),
            }
        }
        let majority = majority(self.nodes.len());
        // `None` has no end, and so is the longest.
        terms.sort_by_key(|&remaining| std::cmp::Reverse(remaining.unwrap_or(Duration::MAX)));
        match (terms.get(majority - 1), silent) {
            (Some(&remaining), _) => Ok(Inspection::Held { token: None, remaining, holder: None }),
            (None, Some(error)) if self.nodes.len() - free >= majority => Err(error),
            (None, _) => Ok(Inspection::Free),
        }
    }
}

/// More than half.
const fn majority(nodes: usize) -> usize {
    nodes / 2 + 1
}

/// What a lease is worth on all of them: what it is worth on the least of them. And who answers.
async fn check(nodes: &[Node]) -> Result<(Guarantees, Vec<bool>), ConnectError> {
    let mut all = Guarantees::new(Fencing::Durable, Tenancy::Term, Failover::Keeps, Fairness::None);
    let checks = join_all(nodes.iter().map(Node::check)).await;
    let answering = checks.iter().map(Result::is_ok).collect();
    for (node, checked) in nodes.iter().zip(checks) {
        let address = node.address();
        let guarantees = match checked {
            Ok(guarantees) => guarantees,
            Err(ConnectError::Unreachable(error)) => {
                all.fencing = Fencing::LostWithData;
                all.failover = Failover::MayLose;
                let text = format!("{error}: could not be checked; connect again when it answers");
                all.findings.push(Finding::new(text));
                continue;
            }
            Err(ConnectError::Unsafe(text)) => {
                return Err(ConnectError::Unsafe(format!("{address}: {text}")));
            }
            Err(error) => return Err(error),
        };
        all.fencing = all.fencing.min(guarantees.fencing);
        all.failover = all.failover.min(guarantees.failover);
        let named = |finding: Finding| Finding::new(format!("{address}: {finding}"));
        all.findings.extend(guarantees.findings.into_iter().map(named));
    }
    Ok((all, answering))
}

impl Store for Redlock {
    fn profile(&self) -> Profile {
        Profile::new(Waiting::Poll, Assurance::Term, Duration::from_millis(1))
    }

    fn guarantees(&self) -> &Guarantees {
        &self.0.guarantees
    }

    fn execute<'a>(&'a self, _: Call<'a>) -> Executing<'a> {
        let text = "a quorum is asked node by node: drive it by a Quorum and its nodes";
        Box::pin(std::future::ready(Err(StoreError::refused(text))))
    }

    fn inspect<'a>(&'a self, lock: &'a LockName) -> Inspecting<'a> {
        Box::pin(self.0.inspect(lock))
    }

    fn nodes(&self) -> Option<&dyn Nodes> {
        Some(self)
    }
}

impl Nodes for Redlock {
    fn count(&self) -> u8 {
        u8::try_from(self.0.nodes.len()).unwrap_or(u8::MAX)
    }

    fn ask<'a>(&'a self, call: NodeCall<'a>) -> Asking<'a> {
        Box::pin(self.0.ask(call))
    }
}

impl fmt::Debug for Redlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Shared { nodes, ids: _, quorum, guarantees } = &*self.0;
        f.debug_struct("Redlock")
            .field("nodes", nodes)
            .field("quorum", quorum)
            .field("guarantees", guarantees)
            .finish()
    }
}
