use tenure_core::RequestKind;

/// What is asked, without for whom and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// [`RequestKind::Acquire`].
    Acquire,
    /// [`RequestKind::Enqueue`].
    Enqueue,
    /// [`RequestKind::Claim`].
    Claim,
    /// [`RequestKind::Renew`].
    Renew,
    /// [`RequestKind::Release`].
    Release,
    /// [`RequestKind::Disconnect`].
    Disconnect,
    /// [`RequestKind::Watch`].
    Watch,
    /// [`RequestKind::Unwatch`].
    Unwatch,
    /// One that this version does not know.
    Other,
}

impl From<RequestKind> for Kind {
    fn from(request: RequestKind) -> Self {
        match request {
            RequestKind::Acquire { .. } => Self::Acquire,
            RequestKind::Enqueue { .. } => Self::Enqueue,
            RequestKind::Claim { .. } => Self::Claim,
            RequestKind::Renew { .. } => Self::Renew,
            RequestKind::Release { .. } => Self::Release,
            RequestKind::Disconnect { .. } => Self::Disconnect,
            RequestKind::Watch { .. } => Self::Watch,
            RequestKind::Unwatch { .. } => Self::Unwatch,
            _ => Self::Other,
        }
    }
}
