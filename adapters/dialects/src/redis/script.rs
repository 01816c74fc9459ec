/// A script that the server runs as one step.
///
/// Whatever a script refuses, it has changed nothing that a lock or a fence rests on: the write that
/// counts is its last one. So an error reply from it never leaves a half-made lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Script {
    /// Its text, for `EVAL` and `SCRIPT LOAD`.
    pub source: &'static str,
    /// The SHA-1 of its text, in hexadecimal, for `EVALSHA`.
    pub sha1: &'static str,
}

impl Script {
    /// Take a lock.
    pub const ACQUIRE: Self = Self {
        source: include_str!("acquire.lua"),
        sha1: "76dc45196cc8562ec5afe7829bcf3d4e393ff569",
    };

    /// Keep it.
    pub const RENEW: Self = Self {
        source: include_str!("renew.lua"),
        sha1: "a114440d7d5338574a2585f8bbf9d381723028dc",
    };

    /// Free it.
    pub const RELEASE: Self = Self {
        source: include_str!("release.lua"),
        sha1: "868ce3be7c3836a0d4cfe1d686ea864eb353cd50",
    };

    /// Look at it.
    pub const INSPECT: Self = Self {
        source: include_str!("inspect.lua"),
        sha1: "3a5fdcfa6627209f9e1d6511274e5bc1f2e1f5dd",
    };

    /// Raise a fence.
    pub const INSTALL: Self = Self {
        source: include_str!("install.lua"),
        sha1: "74bffffddf7a7a2fbbc8282109baafc91afbce80",
    };

    /// Write under a fence.
    pub const WRITE: Self = Self {
        source: include_str!("write.lua"),
        sha1: "888a0655253aa7ace22a27abce8221cf2e7d4f8a",
    };

    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::ACQUIRE, Self::RENEW, Self::RELEASE, Self::INSPECT, Self::INSTALL, Self::WRITE];
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString as _;

    use super::Script;

    #[test]
    fn every_hash_is_that_of_its_text() {
        for Script { source, sha1 } in Script::ALL {
            assert_eq!(sha1, sha1_smol::Sha1::from(source).digest().to_string(), "of {source}");
        }
    }
}
