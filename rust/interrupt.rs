//! How a long call is asked to stop. The encoder asks every [`TEXT_BETWEEN_CHECKS`] bytes and every
//! [`MERGES_BETWEEN_CHECKS`] merges, each well under a second of work.

use crate::error::{Error, Result};

pub const TEXT_BETWEEN_CHECKS: usize = 1 << 16;
pub const MERGES_BETWEEN_CHECKS: usize = 1 << 14;

pub trait Interrupt: Sync {
    /// Whether the call should end now. Must be cheap: tens of nanoseconds.
    fn interrupted(&self) -> bool;

    fn check(&self) -> Result<()> {
        if self.interrupted() { Err(Error::Interrupted) } else { Ok(()) }
    }
}

/// For callers that never interrupt.
pub struct Never;

impl Interrupt for Never {
    fn interrupted(&self) -> bool {
        false
    }
}
