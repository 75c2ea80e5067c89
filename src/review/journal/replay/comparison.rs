//! Requests that would not be what they were. Main types: [`Difference`], [`Differences`].

use std::sync::{Arc, Mutex, PoisonError};

use crate::llm::TurnRequest;
use crate::review::journal::record::ConversationId;

/// A request that would not be what it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The conversation.
    pub unit: ConversationId,
    /// The turn, from 1.
    pub turn: u32,
    /// The request as it was sent.
    pub then: TurnRequest,
    /// Request as it would be sent now.
    pub now: TurnRequest,
}

/// Results of a comparison; filled while the engine runs.
#[derive(Debug, Clone, Default)]
pub struct Differences(Arc<Mutex<ComparisonState>>);

#[derive(Debug, Default)]
struct ComparisonState {
    requests: u32,
    differences: Vec<Difference>,
}

impl Differences {
    /// Returns the number of compared requests, and those that differ, by conversation and turn.
    pub fn into_differences(&self) -> (u32, Vec<Difference>) {
        let mut found = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut differences = std::mem::take(&mut found.differences);
        differences.sort_by(|a, b| (&a.unit, a.turn).cmp(&(&b.unit, b.turn)));
        (found.requests, differences)
    }

    pub(super) fn compared(&self, difference: Option<Difference>) {
        let mut found = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        found.requests += 1;
        found.differences.extend(difference);
    }
}
