//! What an earlier sitting of a run wrote down, for taking it up again and for replaying it. Main type: [`Past`].
//!
//! The engine runs as it always does; wherever it would ask a model, read a tree or look at the clock, it asks the past first. So a run that was
//! broken off goes on where it stopped, and one that ended is told again without anybody being asked.

use super::journal::JournalEntry;

/// What happens where the past has no answer any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Then {
    /// The run goes on: the model is asked.
    #[default]
    GoOn,
    /// Nobody is asked: the run is only told again.
    Stop,
}

/// What an earlier sitting wrote down.
#[derive(Debug, Default)]
pub struct Past {
    /// The journal, in order; empty for a new run.
    pub entries: Vec<JournalEntry>,
    /// What happens at its end.
    pub then: Then,
}
