//! Failover between the models of a run, in the order of the user's list. Main types: [`FailoverCandidate`], [`Failover`] of a run.
//!
//! When a model fails for good, the next one takes over for the rest of the run, in all its conversations. This is recorded, so that a resumed run
//! continues with the last model, and a replay has the same outcome. Switching a conversation belongs in `conversation`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::ModelRun;
use crate::domain::review::ModelTurns;
use crate::llm::{Capabilities, Provider};
use crate::review::budget::BudgetLimits;
use crate::review::journal::{JournalRecord, JournalReplay};

/// Index of a model that only verifies and has no fallback.
pub(in crate::review) const VERIFIER: u32 = u32::MAX;

/// A model that may take over.
#[derive(Clone)]
pub struct FailoverCandidate {
    /// The model.
    pub provider: Arc<dyn Provider>,
    /// Its window and response limit. Turns, tokens and time are those of the run.
    pub limits: BudgetLimits,
}

/// Failover state of a run, shared by all conversations.
#[derive(Debug, Default)]
pub struct Failover(Mutex<FailoverState>);

#[derive(Debug, Default)]
pub(in crate::review) struct FailoverState {
    /// Current model, by its index in the list, from 0.
    pub(in crate::review) at: u32,
    /// Models that failed for good in this session.
    pub(in crate::review) failed: BTreeSet<u32>,
    /// Windows that were smaller than assumed: tokens of a request and its response together.
    pub(in crate::review) windows: BTreeMap<u32, u64>,
    /// Records of both, of this session and earlier ones.
    handed: Vec<JournalRecord>,
    /// Number of turns of this session, by model.
    pub(in crate::review) answered: BTreeMap<u32, u32>,
}

impl Failover {
    pub(in crate::review) fn state(&self) -> MutexGuard<'_, FailoverState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Restores the state of earlier sessions.
    pub(in crate::review) fn restore(&self, past: &JournalReplay) {
        let mut state = self.state();
        past.recorded_handovers().iter().for_each(|record| state.take(record.clone()));
    }
}

impl FailoverState {
    pub(in crate::review) fn take(&mut self, record: JournalRecord) {
        match &record {
            JournalRecord::Takeover { to, .. } => self.at = *to,
            JournalRecord::Window { of, tokens, .. } => {
                self.windows.insert(*of, *tokens);
            }
            _ => return,
        }
        self.handed.push(record);
    }
}

impl ModelRun {
    /// Returns a model of the list.
    pub(in crate::review) fn runner(&self, at: u32) -> (&dyn Provider, BudgetLimits) {
        let next = usize::try_from(at).ok().and_then(|at| self.next.get(at.checked_sub(1)?));
        next.map_or((self.provider.as_ref(), self.limits), |runner| (runner.provider.as_ref(), runner.limits))
    }

    /// Checks whether the reviewing models also verify.
    pub(in crate::review) fn shares_looks(&self) -> bool {
        let name = |model: &dyn Provider| model.capabilities().name();
        self.second_look.as_ref().is_some_and(|look| name(look.provider.as_ref()) == name(self.provider.as_ref()))
    }

    /// Returns the receipt notes about failovers.
    pub(in crate::review) fn handovers(&self) -> Vec<String> {
        let name = |at: u32| match (&self.second_look, at) {
            (Some(look), VERIFIER) => look.provider.capabilities().name(),
            _ => self.runner(at).0.capabilities().name(),
        };
        let said = |record: &JournalRecord| match record {
            JournalRecord::Takeover { from, to, why, passed } => {
                let passed = passed.iter().map(|(at, why)| format!(" {} was passed over: {why}.", name(*at)));
                let passed: String = passed.collect();
                let why = why.trim_end_matches('.');
                Some(format!("{} took over from {}, which failed for good: {why}.{passed}", name(*to), name(*from)))
            }
            JournalRecord::Window { of, tokens, said } => Some(format!(
                "{} takes less than was reckoned with, so conversations were kept to about {tokens} tokens from then on (set \
                 context_window for its provider): {}.",
                name(*of),
                said.trim_end_matches('.')
            )),
            _ => None,
        };
        self.relay.state().handed.iter().filter_map(said).collect()
    }

    /// Returns the number of turns by model, if there was a failover; empty otherwise.
    pub(in crate::review) fn record_answerer(&self) -> Vec<ModelTurns> {
        let state = self.relay.state();
        if !state.handed.iter().any(|record| matches!(record, JournalRecord::Takeover { .. })) {
            return Vec::new();
        }
        let mut turns = self.past.recorded_answerer(self.shares_looks());
        for (at, count) in &state.answered {
            *turns.entry(*at).or_default() += count;
        }
        let answered = turns.into_iter().filter(|(at, _)| *at != VERIFIER).map(|(at, turns)| {
            let Capabilities { provider, model, .. } = self.runner(at).0.capabilities();
            ModelTurns { provider: provider.to_string(), model: model.clone(), turns }
        });
        answered.collect()
    }
}
