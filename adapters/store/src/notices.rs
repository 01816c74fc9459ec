use std::{fmt, sync::Arc};

use tenure_core::{Input, Nonce};

/// Where a store leaves what nobody asked for: a wake-up, or the end of a session. One for each
/// lock that a driver works on; cheap to clone, and safe to use after the driver is gone.
#[derive(Clone)]
pub struct Notices {
    deliver: Arc<dyn Fn(Input) + Send + Sync>,
}

impl Notices {
    /// Hands every notice to `deliver`, which must not block.
    pub fn new(deliver: impl Fn(Input) + Send + Sync + 'static) -> Self {
        Self { deliver: Arc::new(deliver) }
    }

    /// The lock may be free now.
    pub fn hint(&self) {
        (self.deliver)(Input::Hint);
    }

    /// The session that `nonce` lived in has ended.
    pub fn session_lost(&self, nonce: Nonce) {
        (self.deliver)(Input::SessionLost { nonce });
    }
}

impl fmt::Debug for Notices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Notices").finish_non_exhaustive()
    }
}
