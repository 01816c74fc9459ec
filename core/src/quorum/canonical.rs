use super::*;

impl<const N: usize> Quorum<N> {
    /// As [`Lease::canonical`].
    #[must_use]
    pub fn canonical(&self, now: Instant) -> Self {
        let mut relative = self.clone();
        relative.lease = self.lease.canonical(now);
        relative.now = crate::lease::relative(self.now, now);
        relative.sequence = 0;
        if let Some(round) = &mut relative.round {
            round.until = crate::lease::relative(round.until, now);
            round.parent = OpId { generation: 0, sequence: 0, ..round.parent };
        }
        if let Some(releasing) = &mut relative.releasing {
            releasing.parent = OpId { generation: 0, sequence: 0, ..releasing.parent };
        }
        // As `send` numbers them.
        let sequence = self.sequence.wrapping_mul(Self::NODES);
        for node in &mut relative.nodes {
            node.ask = node.ask.relative(sequence, now);
            node.release = node.release.relative(sequence, now);
            node.debts.shift(|at| crate::lease::relative(at, now));
        }
        relative
    }
}
