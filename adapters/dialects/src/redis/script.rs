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

    /// Take a lock on one node of a quorum.
    pub const LOCK: Self = Self {
        source: include_str!("quorum/lock.lua"),
        sha1: "7d6112157db6d2ca3d95479de113feb72868f171",
    };

    /// Raise a token counter there.
    pub const RAISE: Self = Self {
        source: include_str!("quorum/raise.lua"),
        sha1: "2a1aa20ca9e29c553a8527b09918f49e1de66b70",
    };

    /// Ask which node of a quorum a server is.
    pub const CENSUS: Self = Self {
        source: include_str!("quorum/census.lua"),
        sha1: "de1901b03dcd359d88de82a6c5228c741177a9d9",
    };

    /// Mark it as one of a quorum that is being formed.
    pub const FORM: Self = Self {
        source: include_str!("quorum/form.lua"),
        sha1: "dd4ff2c42dcafbdfc67dfc95d5f9bf60c703b91a",
    };

    /// Let it vote.
    pub const SEAT: Self = Self {
        source: include_str!("quorum/seat.lua"),
        sha1: "31495ae1269b6254801c78c95f0c33ce48591d24",
    };

    /// Let it vote no more.
    pub const UNSEAT: Self = Self {
        source: include_str!("quorum/unseat.lua"),
        sha1: "0b8e5fd9698483f3eef5efe620becef0d623a1de",
    };

    /// All of them.
    pub const ALL: [Self; 12] = [
        Self::ACQUIRE,
        Self::RENEW,
        Self::RELEASE,
        Self::INSPECT,
        Self::INSTALL,
        Self::WRITE,
        Self::LOCK,
        Self::RAISE,
        Self::CENSUS,
        Self::FORM,
        Self::SEAT,
        Self::UNSEAT,
    ];
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
