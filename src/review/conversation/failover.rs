//! Model of a conversation, and the switch to another one. Main type: [`ActiveModel`].
//!
//! Data that a conversation must lose is removed in `llm`; the limits of the run do not change, but the window is that of the current model. The
//! failover of the run is in `run`.

use crate::domain::event::Event;
use crate::domain::text::strip_line;
use crate::llm::Provider;
use crate::review::budget::BudgetLimits;
use crate::review::journal::{JournalRecord, Transcript};
use crate::review::run::{ModelRun, VERIFIER, VerificationSettings};

/// Active model of a conversation.
#[derive(Clone, Copy)]
pub(in crate::review) struct ActiveModel<'a> {
    run: &'a ModelRun,
    /// Settings of a separate verification model, for a verification.
    own: Option<&'a VerificationSettings>,
    at: u32,
}

impl<'a> ActiveModel<'a> {
    /// Creates the active model of a conversation of the review.
    pub(in crate::review) fn of(run: &'a ModelRun) -> Self {
        Self { run, own: None, at: 0 }
    }

    /// Creates the active model of a verification.
    pub(in crate::review) fn for_verification(run: &'a ModelRun, look: &'a VerificationSettings) -> Self {
        Self { run, own: (!run.shares_looks()).then_some(look), at: 0 }
    }

    pub(in crate::review) fn run(&self) -> &'a ModelRun {
        self.run
    }

    /// Returns the model of this conversation, by its index in the list.
    pub(in crate::review) fn index(&self) -> u32 {
        self.at
    }

    /// Returns the current model of the run.
    pub(in crate::review) fn current_index(&self) -> u32 {
        if self.own.is_some() { 0 } else { self.run.relay.state().at }
    }

    /// Switches to a model. Returns `true` if it is another one.
    pub(in crate::review) fn switch_to(&mut self, at: u32) -> bool {
        std::mem::replace(&mut self.at, at) != at
    }

    /// Returns the model.
    pub(in crate::review) fn provider(&self) -> &'a dyn Provider {
        self.own.map_or_else(|| self.run.runner(self.at).0, |look| look.provider.as_ref())
    }

    pub(in crate::review) fn name(&self) -> String {
        self.provider().capabilities().name()
    }

    fn known(&self, at: u32) -> u32 {
        if self.own.is_some() { VERIFIER } else { at }
    }

    /// Returns these limits with its window and response limit.
    pub(in crate::review) fn limits(&self, limits: BudgetLimits) -> BudgetLimits {
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
    pub(in crate::review) fn mark_answering(&self) {
        *self.run.relay.state().answered.entry(self.known(self.at)).or_default() += 1;
    }

    /// Records that the server reports a smaller window than assumed.
    pub(in crate::review) fn narrow_window(&self, tokens: u64, said: &str, transcript: &mut Transcript) {
        let record = JournalRecord::Window { of: self.known(self.at), tokens, said: strip_line(said) };
        transcript.journal.record(None, record.clone());
        transcript.journal.sync();
        self.run.relay.state().take(record);
        let text = format!("{} takes less than was reckoned with: {said}", self.name());
        self.run.events.emit(Event::Notice { text: strip_line(&text) });
    }

    /// Switches to the next model after this one failed for good. Returns whether there is one; `fits` checks whether it can take the conversation.
    /// If none can, returns those that were passed over and why.
    pub(in crate::review) fn fail_over(
        &self,
        why: &str,
        limits: BudgetLimits,
        fits: impl Fn(&BudgetLimits) -> bool,
        transcript: &mut Transcript,
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
                self.hand(other, strip_line(why), passed, transcript);
            }
            return Ok(());
        }
        let name = |at: u32| self.run.runner(at).0.capabilities().name();
        Err(passed.into_iter().map(|(at, why)| format!("{} was passed over: {why}", name(at))).collect())
    }

    fn hand(&self, to: u32, why: String, passed: Vec<(u32, String)>, transcript: &mut Transcript) {
        let name = |at: u32| self.run.runner(at).0.capabilities().name();
        let over: Vec<String> =
            passed.iter().map(|(at, why)| format!(" ({} is passed over: {why})", name(*at))).collect();
        let over = over.concat();
        let text = format!(
            "{} failed for good: {why}; {} takes over and receives code of this change from now on{over}",
            name(self.at),
            name(to)
        );
        let record = JournalRecord::Takeover { from: self.at, to, why, passed };
        transcript.journal.record(None, record.clone());
        transcript.journal.sync();
        self.run.relay.state().take(record);
        self.run.events.emit(Event::Warning { text: strip_line(&text) });
    }
}
