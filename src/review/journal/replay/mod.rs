//! Recording of earlier sessions of a run, for resuming and replaying it. Main type: [`JournalReplay`].
//!
//! The engine runs as it always does; before it asks a model, reads a tree or the clock, it consults the recording. So an interrupted run resumes
//! where it stopped, and a finished one is replayed without any request. The replay must match: each request is verified by its digest, each result
//! of the engine's own tools by its text, and a difference ends the run with [`ReplayDivergence`]. Storing a journal belongs in `store`, deciding whether a
//! run may be resumed in `app`.

mod comparison;
mod error;
mod index;
mod output;
mod recorded_end;
mod summary;
mod transcript;
mod trees;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use crate::review::journal::Journal;
use crate::review::journal::record::{
    ConversationId, JournalEntry, JournalRecord, RecordedAllowance, RecordedRules, RuleScope, RunStage, SharedName,
};

pub use comparison::{Difference, Differences};
pub use error::{DivergedInput, JournalReplayError, ReplayDivergence};
pub(in crate::review) use index::{AbandonedUsage, RecordedPlan};
pub(in crate::review) use recorded_end::RecordedEnd;
pub use summary::JournalSummary;
pub(in crate::review) use transcript::{NextReplayStep, ReplayOutcome, Transcript};
pub(in crate::review) use trees::RecordedTrees;

use index::JournalIndex;
use output::ReplayOutput;

/// Behavior at the end of the recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum AfterReplay {
    /// Resume: the model is asked.
    #[default]
    GoOn,
    /// Replay: no model is asked.
    Stop,
    /// Replay that compares each request with the recorded one.
    Compare,
}

/// Recording of earlier sessions; empty for a new run.
#[derive(Debug, Default)]
pub struct JournalReplay {
    account: Option<JournalSummary>,
    index: JournalIndex,
    written: Arc<ReplayOutput>,
    rules_anew: bool,
}

impl JournalReplay {
    /// Reads a recording to resume a run. Its end is ignored unless the model ended it; refused if nothing is left to do.
    ///
    /// The run must be given the change, the prompts, the rules, the models and the notes that it had; its limits may be others.
    pub fn resume(entries: &[JournalEntry]) -> Result<Self, JournalReplayError> {
        let mut past = Self::of(entries, AfterReplay::GoOn)?;
        if past.account.as_ref().is_some_and(|account| !account.is_open()) {
            return Err(JournalReplayError::Finished);
        }
        past.index.resume();
        Ok(past)
    }

    /// Reads a recording to replay a run. No model is asked, no tree is read, and nothing is written: the review ends as the journal does.
    pub fn replay(entries: &[JournalEntry]) -> Result<Self, JournalReplayError> {
        Self::of(entries, AfterReplay::Stop)
    }

    /// Reads a recording to find requests that differ with other prompts or rules. Responses are matched by conversation and turn, whatever the
    /// request; the resulting review is meaningless.
    pub fn compare(entries: &[JournalEntry]) -> Result<(Self, Differences), JournalReplayError> {
        let mut past = Self::of(entries, AfterReplay::Compare)?;
        let differences = Differences::default();
        past.written = Arc::new(ReplayOutput::to_compare(entries.to_vec(), differences.clone()));
        Ok((past, differences))
    }

    /// Makes the rules run again, which needs the trees.
    #[must_use]
    pub fn rerunning_rules(mut self) -> Self {
        self.rules_anew = true;
        self
    }

    /// Returns the journal's summary of the run; `None` for a new run.
    pub fn account(&self) -> Option<&JournalSummary> {
        self.account.as_ref()
    }

    fn of(entries: &[JournalEntry], then: AfterReplay) -> Result<Self, JournalReplayError> {
        let account = Some(JournalSummary::of(entries)?);
        let written = Arc::new(ReplayOutput::new(then));
        Ok(Self { account, index: JournalIndex::of(entries)?, written, rules_anew: false })
    }

    /// Checks whether the run is only replayed, and nothing new is written.
    pub(in crate::review) fn is_replay(&self) -> bool {
        self.written.then != AfterReplay::GoOn
    }

    /// Checks whether this is a further session of a run.
    pub(in crate::review) fn is_resumed(&self) -> bool {
        self.account.is_some() && !self.is_replay()
    }

    /// Returns the recorded results of the rules, unless they must run again.
    pub(in crate::review) fn rules(&self, scope: Option<RuleScope>) -> Option<&RecordedRules> {
        self.index.rules.get(&scope).filter(|_| !self.rules_anew)
    }

    /// Checks whether the rules were run on all files at once.
    pub(in crate::review) fn has_whole_rules(&self) -> bool {
        self.index.rules.contains_key(&None)
    }

    /// Checks whether the run is only replayed, and was interrupted before its rules finished.
    pub(in crate::review) fn is_finished(&self, scope: Option<RuleScope>) -> bool {
        self.is_replay() && !self.rules_anew && !self.index.rules.contains_key(&scope)
    }

    /// Returns how the change was split, and the size limit of a first message, in tokens.
    pub(in crate::review) fn plan(&self) -> Option<&RecordedPlan> {
        self.index.plan.as_ref()
    }

    /// Returns the names that the parts of the change share.
    pub(in crate::review) fn names(&self) -> Option<&[SharedName]> {
        self.index.names.as_deref()
    }

    /// Returns the recorded failovers, and the windows that were smaller than assumed.
    pub(in crate::review) fn recorded_handovers(&self) -> &[JournalRecord] {
        &self.index.handed
    }

    /// Returns the number of turns by model; those of verification only if the same models verify.
    pub(in crate::review) fn recorded_answerer(&self, with_looks: bool) -> BTreeMap<u32, u32> {
        let mut answered = BTreeMap::new();
        for ((is_look, to), turns) in &self.index.answered {
            if with_looks || !is_look {
                *answered.entry(*to).or_default() += turns;
            }
        }
        answered
    }

    /// Returns the consumption of everything but verification in earlier sessions.
    pub(in crate::review) fn recorded_time(&self) -> AbandonedUsage {
        self.sum(|unit| !unit.is_verification())
    }

    /// Fails if a difference was found where it could not be returned at once.
    pub(in crate::review) fn check(&self) -> Result<(), ReplayDivergence> {
        self.written.check()
    }

    /// Opens the transcript of a conversation, which `journal` continues.
    pub(in crate::review) fn transcript(&self, journal: &Journal, unit: &ConversationId) -> Transcript {
        let conversation = self.index.conversations.get(unit);
        let stale = conversation.is_some_and(|conversation| self.index.was_continued(conversation.begun, unit.stage()));
        let journal = journal.of(unit.clone());
        Transcript::new(unit.clone(), conversation, stale, Arc::clone(&self.written), journal)
    }

    /// Returns the recorded verification allowance, unless it must be divided again: because the review continued since, or no model was asked.
    pub(in crate::review) fn recorded_share(&self) -> Option<&RecordedAllowance> {
        let (at, share) = self.index.shares.last()?;
        let went_on = self.index.was_continued(*at, RunStage::Looks) || self.written.has_moved(RunStage::Looks);
        let stands = !went_on && share.why_not.is_none();
        (self.is_replay() || stands).then_some(share)
    }

    /// Returns all recorded size limits for first messages of verification.
    pub(in crate::review) fn recorded_rooms(&self) -> BTreeSet<u64> {
        self.index.shares.iter().map(|(_, share)| share.room).collect()
    }

    /// Returns the consumption of verification so far, without these conversations.
    pub(in crate::review) fn other_verifications(&self, these: &[ConversationId]) -> AbandonedUsage {
        self.sum(|unit| unit.is_verification() && !these.contains(unit))
    }

    fn sum(&self, is_such: impl Fn(&ConversationId) -> bool) -> AbandonedUsage {
        let mut taken = AbandonedUsage::default();
        for (_, conversation) in self.index.conversations.iter().filter(|(unit, _)| is_such(unit)) {
            taken.plus(conversation.abandoned);
            conversation.turns.iter().for_each(|turn| taken.add(turn));
        }
        taken
    }

    /// Returns the receipt notes about the sessions.
    pub(in crate::review) fn notes(&self) -> Vec<String> {
        self.index.notes()
    }

    /// Returns the wall time of earlier sessions.
    pub(in crate::review) fn recorded_duration(&self) -> Duration {
        self.account.as_ref().map_or(Duration::ZERO, |account| account.took)
    }
}
