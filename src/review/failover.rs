//! Failover between the models of a run, in the order of the user's list. Main types: [`FailoverCandidate`], [`Failover`] of a run, [`ActiveModel`] of a conversation.
//!
//! When a model fails for good, the next one takes over for the rest of the run, in all its conversations. This is recorded, so that a resumed run
//! continues with the last model, and a replay has the same outcome. Data that a conversation must lose is removed in `llm`; the limits of the run do
//! not change, but the window is that of the current model.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::budget::BudgetLimits;
use super::by_model::ModelRun;
use super::journal::{Journal, JournalRecord};
use super::replay::JournalReplay;
use super::verify::VerificationSettings;
use crate::domain::event::Event;
use crate::domain::review::ModelTurns;
use crate::domain::text::strip_line;
use crate::llm::{Capabilities, Provider};

/// Index of a model that only verifies and has no fallback.
const LOOKER: u32 = u32::MAX;

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
struct FailoverState {
    /// Current model, by its index in the list, from 0.
    at: u32,
    /// Models that failed for good in this session.
    failed: BTreeSet<u32>,
    /// Windows that were smaller than assumed: tokens of a request and its response together.
    windows: BTreeMap<u32, u64>,
    /// Records of both, of this session and earlier ones.
    handed: Vec<JournalRecord>,
    /// Number of turns of this session, by model.
    answered: BTreeMap<u32, u32>,
}

impl Failover {
    fn state(&self) -> MutexGuard<'_, FailoverState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Restores the state of earlier sessions.
    pub(super) fn restore(&self, past: &JournalReplay) {
        let mut state = self.state();
        past.recorded_handovers().iter().for_each(|record| state.take(record.clone()));
    }
}

impl FailoverState {
    fn take(&mut self, record: JournalRecord) {
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
    fn runner(&self, at: u32) -> (&dyn Provider, BudgetLimits) {
        let next = usize::try_from(at).ok().and_then(|at| self.next.get(at.checked_sub(1)?));
        next.map_or((self.provider.as_ref(), self.limits), |runner| (runner.provider.as_ref(), runner.limits))
    }

    /// Checks whether the reviewing models also verify.
    fn shares_looks(&self) -> bool {
        let name = |model: &dyn Provider| name_of(model.capabilities());
        self.second_look.as_ref().is_some_and(|look| name(look.provider.as_ref()) == name(self.provider.as_ref()))
    }

    /// Returns the receipt notes about failovers.
    pub(super) fn handovers(&self) -> Vec<String> {
        let name = |at: u32| match (&self.second_look, at) {
            (Some(look), LOOKER) => name_of(look.provider.capabilities()),
            _ => name_of(self.runner(at).0.capabilities()),
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
    pub(super) fn record_answerer(&self) -> Vec<ModelTurns> {
        let state = self.relay.state();
        if !state.handed.iter().any(|record| matches!(record, JournalRecord::Takeover { .. })) {
            return Vec::new();
        }
        let mut turns = self.past.recorded_answerer(self.shares_looks());
        for (at, count) in &state.answered {
            *turns.entry(*at).or_default() += count;
        }
        let answered = turns.into_iter().filter(|(at, _)| *at != LOOKER).map(|(at, turns)| {
            let Capabilities { provider, model, .. } = self.runner(at).0.capabilities();
            ModelTurns { provider: provider.to_string(), model: model.clone(), turns }
        });
        answered.collect()
    }
}

/// Returns the name of a model as on the command line.
pub(super) fn name_of(model: &Capabilities) -> String {
    format!("{}/{}", model.provider, model.model)
}

/// Active model of a conversation.
#[derive(Clone, Copy)]
pub(super) struct ActiveModel<'a> {
    run: &'a ModelRun,
    /// Settings of a separate verification model, for a verification.
    own: Option<&'a VerificationSettings>,
    at: u32,
}

impl<'a> ActiveModel<'a> {
    /// Creates the active model of a conversation of the review.
    pub(super) fn of(run: &'a ModelRun) -> Self {
        Self { run, own: None, at: 0 }
    }

    /// Creates the active model of a verification.
    pub(super) fn for_verification(run: &'a ModelRun, look: &'a VerificationSettings) -> Self {
        Self { run, own: (!run.shares_looks()).then_some(look), at: 0 }
    }

    /// Returns the model of this conversation, by its index in the list.
    pub(super) fn go_to(&self) -> u32 {
        self.at
    }

    /// Returns the current model of the run.
    pub(super) fn follow_current(&self) -> u32 {
        if self.own.is_some() { 0 } else { self.run.relay.state().at }
    }

    /// Switches to a model. Returns `true` if it is another one.
    pub(super) fn follow_recorded(&mut self, at: u32) -> bool {
        std::mem::replace(&mut self.at, at) != at
    }

    /// Returns the model.
    pub(super) fn provider(&self) -> &'a dyn Provider {
        self.own.map_or_else(|| self.run.runner(self.at).0, |look| look.provider.as_ref())
    }

    /// Its name.
    pub(super) fn name(&self) -> String {
        name_of(self.provider().capabilities())
    }

    fn known(&self, at: u32) -> u32 {
        if self.own.is_some() { LOOKER } else { at }
    }

    /// Returns these limits with its window and response limit.
    pub(super) fn limits(&self, limits: BudgetLimits) -> BudgetLimits {
        self.limits_of(self.at, limits)
    }

    fn limits_of(&self, at: u32, limits: BudgetLimits) -> BudgetLimits {
        let theirs = self.own.map_or_else(|| self.run.runner(at).1, |look| look.limits);
        let limits = limits.with_prices_of(&theirs);
        match self.run.relay.state().windows.get(&self.known(at)) {
            Some(window) => limits.for_model(theirs.window.min(*window), theirs.max_output),
            None => BudgetLimits { window: theirs.window, max_output: theirs.max_output, ..limits },
        }
    }

    /// Counts a response.
    pub(super) fn mark_answering(&self) {
        *self.run.relay.state().answered.entry(self.known(self.at)).or_default() += 1;
    }

    /// Records that the server reports a smaller window than assumed.
    pub(super) fn narrow_window(&self, tokens: u64, said: &str, journal: &mut Journal) {
        let record = JournalRecord::Window { of: self.known(self.at), tokens, said: strip_line(said) };
        journal.record(None, record.clone());
        journal.sync();
        self.run.relay.state().take(record);
        let text = format!("{} takes less than was reckoned with: {said}", self.name());
        self.run.events.emit(Event::Notice { text: strip_line(&text) });
    }

    /// Switches to the next model after this one failed for good. Returns whether there is one; `fits` checks whether it can take the conversation.
    /// If none can, returns those that were passed over and why.
    pub(super) fn fail_over(
        &self,
        why: &str,
        limits: BudgetLimits,
        fits: impl Fn(&BudgetLimits) -> bool,
        journal: &mut Journal,
    ) -> Result<(), Vec<String>> {
        if self.own.is_some() {
            return Err(Vec::new());
        }
        let (at, failed) = {
            let mut state = self.run.relay.state();
            state.failed.insert(self.at);
            (state.at, state.failed.clone())
        };
        let count = u32::try_from(self.run.next.len()).unwrap_or(u32::MAX).saturating_add(1);
        let others = (at..count).chain(0..at).filter(|other| !failed.contains(other));
        let mut passed = Vec::new();
        for other in others {
            let theirs = self.limits_of(other, limits);
            if !fits(&theirs) {
                let why = format!("the conversation does not fit its window of {} tokens", theirs.window);
                passed.push((other, why));
                continue;
            }
            // Another conversation may have handed over already.
            if other != at || failed.contains(&at) {
                self.hand(other, strip_line(why), passed, journal);
            }
            return Ok(());
        }
        let name = |at: u32| name_of(self.run.runner(at).0.capabilities());
        Err(passed.into_iter().map(|(at, why)| format!("{} was passed over: {why}", name(at))).collect())
    }

    fn hand(&self, to: u32, why: String, passed: Vec<(u32, String)>, journal: &mut Journal) {
        let name = |at: u32| name_of(self.run.runner(at).0.capabilities());
        let over: Vec<String> =
            passed.iter().map(|(at, why)| format!(" ({} is passed over: {why})", name(*at))).collect();
        let over = over.concat();
        let text = format!(
            "{} failed for good: {why}; {} takes over and receives code of this change from now on{over}",
            name(self.at),
            name(to)
        );
        let record = JournalRecord::Takeover { from: self.at, to, why, passed };
        journal.record(None, record.clone());
        journal.sync();
        self.run.relay.state().take(record);
        self.run.events.emit(Event::Warning { text: strip_line(&text) });
    }
}
