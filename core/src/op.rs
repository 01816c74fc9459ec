use core::fmt;

/// The name of one request, and of the answer to it. Never used twice by one machine.
///
/// An answer whose `OpId` is not that of an outstanding request changes nothing, except that a grant
/// in it is released (S6, S7).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[expect(clippy::exhaustive_structs, reason = "bindings build it from its three numbers")]
pub struct OpId {
    /// The machine: the number that the host gave to `new`. An answer for another instance is ignored.
    pub instance: u32,
    /// Counts the machine's generations, from 1.
    pub generation: u32,
    /// Counts the machine's requests over all generations, from 1.
    pub sequence: u32,
}

impl fmt::Display for OpId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.instance, self.generation, self.sequence)
    }
}
