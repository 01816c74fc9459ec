use std::collections::HashSet;

use futures_util::future::join_all;
use tenure_core::Nonce;
use tenure_dialects::redis::quorum::{self, Member, Standing, quorum_of};
use tenure_store::{ConnectError, StoreError};

use super::{majority, node::Node};
use crate::link::PATIENCE;

/// How often the servers are looked at: after each of two steps, and once more for a client that was
/// faster.
const LOOKS: usize = 4;

/// A quorum, and which node each server is, if it votes.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Formed {
    pub(super) quorum: Nonce,
    pub(super) seated: Vec<Option<Nonce>>,
}

/// Finds the quorum that the servers are, or makes them one. Only those are asked that were `answering`
/// a moment ago.
pub(super) async fn gather(nodes: &[Node], answering: &[bool]) -> Result<Formed, ConnectError> {
    let census = async |(node, answering): (&Node, &bool)| {
        if *answering { node.census(PATIENCE).await } else { Err(node.silent(PATIENCE)) }
    };
    for _ in 0..LOOKS {
        let censuses = join_all(nodes.iter().zip(answering).map(census)).await;
        let mut silent = None;
        let standings: Vec<_> = censuses
            .into_iter()
            .map(|census| census.map_err(|error| silent = Some(error)).ok())
            .map(|census| census.map(|census| census.standing))
            .collect();
        match next_step(&standings, silent)? {
            Next::Use(formed) => return Ok(formed),
            Next::Mark => {
                for (node, standing) in nodes.iter().zip(standings) {
                    if standing == Some(Standing::Vacant) {
                        node.change(quorum::form(fresh()?)).await?;
                    }
                }
            }
            Next::Seat(quorum) => {
                let size = u8::try_from(nodes.len()).unwrap_or(u8::MAX);
                for (node, standing) in nodes.iter().zip(standings) {
                    if let Some(Standing::Forming(id)) = standing {
                        node.change(quorum::seat(Member::new(id, quorum, size), None)).await?;
                    }
                }
            }
        }
    }
    Err(ConnectError::Unsafe(
        "others are changing this quorum at the same time: connect again when they have ended"
            .into(),
    ))
}

/// An id that nothing else has.
pub(super) fn fresh() -> Result<Nonce, ConnectError> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| {
        let text = format!("this host gives no random numbers: {error}");
        ConnectError::Unreachable(StoreError::not_sent(text))
    })?;
    Ok(Nonce::from_bytes(bytes))
}

#[derive(Debug, PartialEq, Eq)]
enum Next {
    /// A majority votes.
    Use(Formed),
    /// Mark the vacant ones.
    Mark,
    /// Let the marked ones vote in this quorum.
    Seat(Nonce),
}

/// What is to be done with servers of these standings; `None`: no answer, the last of them `silent`.
fn next_step(
    standings: &[Option<Standing>],
    silent: Option<StoreError>,
) -> Result<Next, ConnectError> {
    let size = standings.len();
    let ids: Vec<_> = standings.iter().flatten().filter_map(id).collect();
    let distinct: HashSet<_> = ids.iter().collect();
    if distinct.len() < ids.len() {
        let text = "two of the addresses lead to the same server: name each server once";
        return Err(ConnectError::Invalid(text.into()));
    }
    let members: Vec<_> = standings.iter().flatten().filter_map(member).collect();
    let Some(&first) = members.first() else {
        return match silent {
            Some(error) => Err(ConnectError::Unreachable(error)),
            None if ids.len() < size => Ok(Next::Mark),
            None => Ok(Next::Seat(quorum_of(ids))),
        };
    };

    let voters = |quorum| members.iter().filter(|member| member.quorum == quorum).count();
    // If two have as many, neither is a majority.
    let quorum = members.iter().map(|member| member.quorum).max_by_key(|&quorum| voters(quorum));
    let quorum = quorum.unwrap_or(first.quorum);
    if let Some(other) =
        members.iter().find(|member| member.quorum == quorum && usize::from(member.nodes) != size)
    {
        return Err(ConnectError::Invalid(format!(
            "these servers are of a quorum of {}, and {size} were named: name all of them",
            other.nodes
        )));
    }
    let half_formed = members.len() < size && ids.len() == size;
    if half_formed && quorum_of(ids.iter().copied()) == quorum {
        return Ok(Next::Seat(quorum));
    }
    let voters = voters(quorum);
    if voters >= majority(size) {
        let seated = standings
            .iter()
            .map(|standing| {
                let member = standing.as_ref().and_then(member)?;
                (member.quorum == quorum).then_some(member.node)
            })
            .collect();
        return Ok(Next::Use(Formed { quorum, seated }));
    }
    Err(silent.map_or_else(
        || {
            ConnectError::Unsafe(format!(
                "only {voters} of the {size} servers know that they are of this quorum: the others have \
                 lost their data, and with them the highest token may be lost; when no lock is held, \
                 delete the key {} on all of them to begin anew, with tokens from 1",
                quorum::NODE
            ))
        },
        ConnectError::Unreachable,
    ))
}

const fn id(standing: &Standing) -> Option<Nonce> {
    match standing {
        Standing::Vacant => None,
        Standing::Forming(id) | Standing::Seated(Member { node: id, .. }) => Some(*id),
    }
}

const fn member(standing: &Standing) -> Option<Member> {
    match standing {
        Standing::Vacant | Standing::Forming(_) => None,
        Standing::Seated(member) => Some(*member),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: Nonce = Nonce::from_bytes([0xa0; 16]);
    const B: Nonce = Nonce::from_bytes([0x0b; 16]);
    const C: Nonce = Nonce::from_bytes([0xcc; 16]);
    const D: Nonce = Nonce::from_bytes([0x1d; 16]);

    const VACANT: Option<Standing> = Some(Standing::Vacant);

    fn forming(node: Nonce) -> Option<Standing> {
        Some(Standing::Forming(node))
    }

    fn seated(node: Nonce) -> Option<Standing> {
        Some(Standing::Seated(Member::new(node, quorum_of([A, B, C]), 3)))
    }

    fn next(standings: &[Option<Standing>]) -> Result<Next, ConnectError> {
        let silent = standings.contains(&None).then(|| StoreError::not_sent("silent"));
        next_step(standings, silent)
    }

    #[test]
    fn fresh_servers_are_all_marked_before_any_votes() {
        assert_eq!(next(&[VACANT; 3]).unwrap(), Next::Mark);
        assert_eq!(next(&[forming(A), VACANT, forming(C)]).unwrap(), Next::Mark);
        let quorum = quorum_of([A, B, C]);
        assert_eq!(next(&[forming(A), forming(B), forming(C)]).unwrap(), Next::Seat(quorum));
        let unreachable = next(&[forming(A), forming(B), None]);
        assert!(matches!(unreachable, Err(ConnectError::Unreachable(_))), "{unreachable:?}");
    }

    #[test]
    fn a_half_formed_quorum_is_completed_by_whom_it_was_begun_with() {
        let quorum = quorum_of([A, B, C]);
        assert_eq!(next(&[seated(A), forming(B), forming(C)]).unwrap(), Next::Seat(quorum));
        // D was marked after A had begun to vote: it may have been C, and forgotten.
        let Next::Use(formed) = next(&[seated(A), seated(B), forming(D)]).unwrap() else {
            panic!("seated without its memory");
        };
        assert_eq!(formed, Formed { quorum, seated: vec![Some(A), Some(B), None] });
    }

    #[test]
    fn a_majority_that_votes_is_enough_and_who_forgot_does_not() {
        let quorum = quorum_of([A, B, C]);
        for lost in [VACANT, None, forming(D)] {
            let formed = Formed { quorum, seated: vec![Some(A), None, Some(C)] };
            assert_eq!(next(&[seated(A), lost, seated(C)]).unwrap(), Next::Use(formed));
        }
        let other = Some(Standing::Seated(Member::new(D, D, 5)));
        assert!(matches!(next(&[seated(A), other, seated(C)]), Ok(Next::Use(_))));
    }

    #[test]
    fn without_a_majority_there_is_no_quorum() {
        let forgotten = next(&[seated(A), VACANT, VACANT]);
        assert!(matches!(forgotten, Err(ConnectError::Unsafe(_))), "{forgotten:?}");
        let silent = next(&[seated(A), VACANT, None]);
        assert!(matches!(silent, Err(ConnectError::Unreachable(_))), "{silent:?}");
    }

    #[test]
    fn a_server_named_twice_or_not_at_all_is_refused() {
        for standings in [
            &[seated(A), seated(A), seated(B)][..],
            &[forming(A), forming(A), VACANT],
            &[seated(A), seated(B)],
            &[seated(A), seated(B), seated(C), VACANT],
        ] {
            let refused = next(standings);
            assert!(matches!(refused, Err(ConnectError::Invalid(_))), "{refused:?}");
        }
    }
}
