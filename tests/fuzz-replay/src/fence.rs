use std::collections::BTreeMap;

use tenure_core::{Fence, FenceMap, FenceMapError, Token, WriteRefused};

use crate::source::Source;

const PLACES: usize = 4;

/// `Fence` and `FenceMap` against the obvious.
pub(crate) fn target(bytes: &[u8]) {
    let mut source = Source::new(bytes);
    let mut fence = Fence::new();
    let mut one = Obvious::default();
    let mut map = FenceMap::<u8, PLACES>::new();
    let mut many: BTreeMap<u8, Obvious> = BTreeMap::new();
    while !source.is_empty() {
        let (token, key) = (token(&mut source), source.below(8));
        match source.below(8) {
            0 => assert_eq!(fence.install(token).is_ok(), one.raise(token)),
            1 => assert_eq!(fence.admit(token).is_ok(), one.raise(token)),
            2 => {
                let write = u64::from(source.any::<u8>());
                let admitted = fence.admit_in_order(token, write);
                assert_eq!(admitted.is_ok(), one.write(token, write), "{admitted:?}");
                if let Err(WriteRefused::OutOfOrder(order)) = admitted {
                    assert_eq!((order.offered, Some(order.last)), (write, one.write));
                }
            }
            3 => assert_eq!(map.remove(&key).is_some(), many.remove(&key).is_some()),
            kind => {
                let full = many.len() == PLACES && !many.contains_key(&key);
                let raised = !full && many.entry(key).or_default().raise(token);
                let said = match kind {
                    4 => map.restore(key, token),
                    5 => map.install(key, token),
                    _ => map.admit(key, token),
                };
                match said {
                    Ok(()) => assert!(raised || kind == 4 && !full),
                    Err(FenceMapError::Full) => assert!(full),
                    Err(FenceMapError::Stale(stale)) => {
                        assert!(!raised && !full && kind != 4 && stale.offered == token);
                        assert_eq!(Some(stale.highest), many[&key].highest);
                    }
                    Err(other) => panic!("unheard of: {other:?}"),
                }
            }
        }
        assert_eq!(fence.highest(), one.highest);
        assert_eq!(map.len(), many.len());
        assert!(many.iter().all(|(key, fence)| map.highest(key) == fence.highest));
    }
}

fn token(source: &mut Source<'_>) -> Token {
    if source.one_in(8) {
        source.token()
    } else {
        Token::new(1 + u64::from(source.below(8))).unwrap_or(Token::MIN)
    }
}

#[derive(Debug, Default)]
struct Obvious {
    highest: Option<Token>,
    write: Option<u64>,
}

impl Obvious {
    fn raise(&mut self, token: Token) -> bool {
        if Some(token) > self.highest {
            *self = Self { highest: Some(token), write: None };
        }
        Some(token) == self.highest
    }

    fn write(&mut self, token: Token, write: u64) -> bool {
        let admitted = self.raise(token) && Some(write) > self.write;
        if admitted {
            self.write = Some(write);
        }
        admitted
    }
}
