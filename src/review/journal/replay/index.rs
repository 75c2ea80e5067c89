//! A journal sorted by conversation, turn and call. Main type: [`JournalIndex`].

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::error::JournalReplayError;
use super::recorded_end::RecordedEnd;
use super::summary::place;
use crate::domain::change::Omission;
use crate::domain::money::Money;
use crate::domain::path::RepoPath;
use crate::domain::place::DiffSide;
use crate::llm::{ToolCallFormat, ToolResult, TurnResponse, TurnUsage};
use crate::review::budget::{Amount, UnbilledAttempts};
use crate::review::journal::record::{
    ConversationId, FinalTurn, JournalEntry, JournalRecord, RecordedAllowance, RecordedRead, RecordedRules, RuleScope,
    RunStage, SharedName,
};
use crate::review::journal::shorten::RemovedResults;
use crate::tools::ShownLines;

/// A turn.
#[derive(Debug, Clone)]
pub(in crate::review) struct RecordedTurn {
    pub(in crate::review) number: u32,
    pub(in crate::review) landing: Option<FinalTurn>,
    pub(in crate::review) max_output: u32,
    pub(in crate::review) removed: RemovedResults,
    /// Message that told the model which results will be removed next.
    pub(in crate::review) announced: Option<String>,
    /// Requested model.
    pub(in crate::review) to: u32,
    /// `true` if another model was asked before and failed.
    pub(in crate::review) handed: bool,
    pub(in crate::review) digest: String,
    /// Format of calls and their results.
    pub(in crate::review) speech: ToolCallFormat,
    /// `true` if a session that continued after an end began with it.
    pub(in crate::review) again: bool,
    pub(in crate::review) answer: Option<(TurnResponse, u64)>,
    /// By the number of the call.
    pub(in crate::review) results: BTreeMap<u32, (ToolResult, Vec<ShownLines>)>,
    /// Attempts that may have had a cost that was not reported.
    lost: UnbilledAttempts,
    /// Maximum cost of the attempts made now, if money is limited.
    most: Money,
    /// `true` if an attempt is pending, according to the journal.
    pending: bool,
}

impl RecordedTurn {
    /// Returns the attempts that may have had an unreported cost, including a pending one at the end.
    pub(in crate::review) fn unbilled_attempts(&self) -> UnbilledAttempts {
        let mut lost = self.lost;
        lost += UnbilledAttempts::of(u32::from(self.pending), self.most);
        lost
    }
}

/// Consumption of conversations that were restarted.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::review) struct AbandonedUsage {
    pub(in crate::review) turns: u32,
    /// `None` without a turn.
    pub(in crate::review) usage: Option<TurnUsage>,
    /// Known part of the consumption, though it may not be known of every turn.
    pub(in crate::review) known: Amount,
    pub(in crate::review) broken_off: UnbilledAttempts,
    pub(in crate::review) calls: u32,
    pub(in crate::review) errors: u32,
}

/// Division of the change.
#[derive(Debug, Clone)]
pub(in crate::review) struct RecordedPlan {
    /// The files of each part.
    pub(in crate::review) units: Vec<Vec<RepoPath>>,
    /// Size limit of a first message, in tokens.
    pub(in crate::review) room: u64,
    /// Maximum number of turns that the first messages state; 0 if they state none.
    pub(in crate::review) turns: u32,
    /// Window that they state, in tokens.
    pub(in crate::review) window: u64,
}

/// A conversation.
#[derive(Debug, Clone, Default)]
pub(super) struct RecordedConversation {
    pub(super) turns: Vec<Arc<RecordedTurn>>,
    pub(super) end: Option<RecordedEnd>,
    pub(super) abandoned: AbandonedUsage,
    /// Index of its first entry in the journal.
    pub(super) begun: usize,
    /// `true` if a session ended since its last entry.
    resumed: bool,
}

/// Contents of a journal, by conversation.
#[derive(Debug, Default)]
pub(super) struct JournalIndex {
    pub(super) conversations: HashMap<ConversationId, RecordedConversation>,
    pub(super) rules: BTreeMap<Option<RuleScope>, RecordedRules>,
    pub(super) plan: Option<RecordedPlan>,
    pub(super) reads: HashMap<(DiffSide, RepoPath), RecordedRead>,
    pub(super) omissions: Vec<Omission>,
    /// With the index of each in the journal.
    pub(super) shares: Vec<(usize, RecordedAllowance)>,
    /// Index of the last response of each stage.
    pub(super) last_answers: HashMap<RunStage, usize>,
    /// Failovers, and windows that were smaller than assumed.
    pub(super) handed: Vec<JournalRecord>,
    /// Number of responses, by whether it was a verification and by model.
    pub(super) answered: BTreeMap<(bool, u32), u32>,
    /// The names that the parts share.
    pub(super) names: Option<Vec<SharedName>>,
    /// Number of sessions that were interrupted without an end.
    broke_off: u32,
    /// Reasons for the ends of the others, once each.
    undone: Vec<String>,
    /// `true` if this session reached its end, of whatever kind: conversations may end before a session is interrupted.
    ended: bool,
}

impl JournalIndex {
    pub(super) fn of(entries: &[JournalEntry]) -> Result<Self, JournalReplayError> {
        let mut index = Self::default();
        for (at, entry) in entries.iter().enumerate() {
            index.take(at, entry)?;
        }
        Ok(index)
    }

    fn take(&mut self, at: usize, entry: &JournalEntry) -> Result<(), JournalReplayError> {
        match &entry.record {
            JournalRecord::Request { .. }
            | JournalRecord::Fault { .. }
            | JournalRecord::Answer { .. }
            | JournalRecord::Result { .. } => {
                if matches!(entry.record, JournalRecord::Answer { .. }) {
                    self.last_answers.insert(entry.unit.stage(), at);
                }
                let conversation = self.conversations.entry(entry.unit.clone()).or_default();
                conversation.take(at, entry)?;
                if let (JournalRecord::Answer { .. }, Some(turn)) = (&entry.record, conversation.turns.last()) {
                    *self.answered.entry((entry.unit.is_verification(), turn.to)).or_default() += 1;
                }
                return Ok(());
            }
            JournalRecord::End { ended, why } => {
                self.conversation(entry).close(at, RecordedEnd::Ended { ended: *ended, why: why.clone() });
            }
            JournalRecord::Verdict { state, why, broken_off, .. } => {
                let end = RecordedEnd::Verdict { state: state.clone(), why: why.clone(), broken_off: *broken_off };
                self.conversation(entry).close(at, end);
            }
            JournalRecord::Rules(rules) => drop(self.rules.insert(rules.scope, rules.clone())),
            JournalRecord::Takeover { .. } | JournalRecord::Window { .. } => self.handed.push(entry.record.clone()),
            JournalRecord::Names { names } => self.names = Some(names.clone()),
            JournalRecord::Plan { units, room, turns, window, .. } => {
                self.plan = Some(RecordedPlan { units: units.clone(), room: *room, turns: *turns, window: *window });
            }
            JournalRecord::Read { side, path, read } => {
                self.reads.insert((*side, path.clone()), read.clone());
            }
            JournalRecord::Omitted { omissions } => self.omissions.clone_from(omissions),
            JournalRecord::Share(share) => self.shares.push((at, share.clone())),
            JournalRecord::Resumed { .. } => self.resume(),
            JournalRecord::Done { .. } => self.ended = true,
            JournalRecord::Run { .. } => {}
        }
        Ok(())
    }

    /// Checks whether there was a response after a position in the journal that a stage is based on.
    pub(super) fn was_continued(&self, since: usize, stage: RunStage) -> bool {
        self.last_answers.iter().any(|(of, at)| *of < stage && *at > since)
    }

    fn conversation(&mut self, entry: &JournalEntry) -> &mut RecordedConversation {
        self.conversations.entry(entry.unit.clone()).or_default()
    }

    /// Undoes ends that can be undone: another session begins.
    pub(super) fn resume(&mut self) {
        self.broke_off += u32::from(!self.ended);
        self.ended = false;
        let mut units: Vec<_> = self.conversations.iter_mut().collect();
        units.sort_by_key(|(unit, _)| (*unit).clone());
        for (_, conversation) in units {
            conversation.resumed = true;
            let undone = match &conversation.end {
                Some(RecordedEnd::Ended { ended, why }) if ended.is_resumable() => why.clone(),
                Some(RecordedEnd::Verdict { broken_off: true, .. }) => None,
                Some(RecordedEnd::Ended { .. } | RecordedEnd::Verdict { .. }) | None => continue,
            };
            conversation.end = None;
            if let Some(why) = undone.filter(|why| !self.undone.contains(why)) {
                self.undone.push(why);
            }
        }
        // Results of stopped rules do not count.
        self.rules.retain(|_, rules| rules.stopped.is_none());
    }

    /// Returns the receipt notes about the sessions.
    pub(super) fn notes(&self) -> Vec<String> {
        let broke_off = match self.broke_off {
            0 => None,
            1 => Some("The run was interrupted and resumed.".to_owned()),
            times => Some(format!("The run was interrupted and resumed {times} times.")),
        };
        let undone = self.undone.iter().map(|why| format!("The run was resumed after it had ended early: {why}."));
        broke_off.into_iter().chain(undone).collect()
    }
}

impl RecordedConversation {
    fn take(&mut self, at: usize, entry: &JournalEntry) -> Result<(), JournalReplayError> {
        let damaged = |why| Err(JournalReplayError::Damaged { place: place(&entry.unit, entry.turn), why });
        if matches!(entry.record, JournalRecord::Request { .. }) {
            return self.record_request(at, entry);
        }
        let Some(turn) = self.turns.last_mut().filter(|turn| turn.number == entry.turn) else {
            return damaged("nothing was asked");
        };
        let turn = Arc::make_mut(turn);
        match &entry.record {
            JournalRecord::Fault { wait_ms, broken_off, .. } => {
                turn.lost += UnbilledAttempts::of(u32::from(*broken_off), turn.most);
                turn.pending &= wait_ms.is_some();
            }
            JournalRecord::Answer { .. } if turn.answer.is_some() => return damaged("there are two answers"),
            JournalRecord::Answer { response, took_ms } => {
                turn.answer = Some((response.clone(), *took_ms));
                turn.pending = false;
            }
            JournalRecord::Result { .. } if turn.answer.is_none() => {
                return damaged("a call of no answer has a result");
            }
            JournalRecord::Result { result, shown } => {
                let Some(call) = entry.call else { return damaged("a result has no number") };
                turn.results.insert(call, (result.clone(), shown.clone()));
            }
            _ => {}
        }
        Ok(())
    }

    /// Ends the conversation. Requests before another end are forgotten, but not their cost.
    fn close(&mut self, at: usize, end: RecordedEnd) {
        if self.end.is_some() {
            self.discard_turns();
        }
        if self.turns.is_empty() {
            self.begun = at;
        }
        self.end = Some(end);
    }

    fn record_request(&mut self, at: usize, entry: &JournalEntry) -> Result<(), JournalReplayError> {
        let damaged = |why| Err(JournalReplayError::Damaged { place: place(&entry.unit, entry.turn), why });
        let JournalRecord::Request {
            system,
            max_output,
            landing,
            compacted,
            removed,
            announced,
            to,
            digest,
            speech,
            most,
            ..
        } = &entry.record
        else {
            return Ok(());
        };
        let removed = RemovedResults { messages: *compacted, results: removed.iter().copied().collect() };
        if self.end.is_some() {
            // A conversation that is based on others restarts if they continued.
            if system.is_none() || entry.unit.stage() == RunStage::Parts {
                return damaged("it was asked after its end");
            }
            self.end = None;
        }
        if system.is_some() {
            self.discard_turns();
            self.begun = at;
        }
        let resumed = std::mem::take(&mut self.resumed);
        let next = match self.turns.last_mut() {
            Some(last) if last.number == entry.turn && last.answer.is_none() => {
                // After a refusal it may be sent in another way, or to another model.
                if last.digest != *digest && last.pending {
                    return damaged("the same turn was asked with two requests");
                }
                let last = Arc::make_mut(last);
                last.handed |= last.to != *to;
                (last.landing, last.max_output) = (landing.clone(), *max_output);
                (last.removed, last.to) = (removed, *to);
                last.announced = announced.clone().or(last.announced.take());
                last.digest.clone_from(digest);
                last.lost = last.unbilled_attempts();
                (last.pending, last.most) = (true, *most);
                return Ok(());
            }
            Some(last) if last.answer.is_none() => return damaged("the turn before it was not answered"),
            Some(last) => last.number + 1,
            None if system.is_none() => return damaged("its beginning is missing"),
            None => 1,
        };
        if next != entry.turn {
            return damaged("turns are missing before it");
        }
        self.turns.push(Arc::new(RecordedTurn {
            number: next,
            landing: landing.clone(),
            max_output: *max_output,
            removed,
            announced: announced.clone(),
            to: *to,
            handed: false,
            digest: digest.clone(),
            speech: *speech,
            again: resumed,
            answer: None,
            results: BTreeMap::new(),
            lost: UnbilledAttempts::default(),
            most: *most,
            pending: true,
        }));
        Ok(())
    }

    /// Discards the turns, but not their consumption.
    fn discard_turns(&mut self) {
        self.turns.drain(..).for_each(|turn| self.abandoned.add(&turn));
    }
}

impl AbandonedUsage {
    pub(super) fn plus(&mut self, other: Self) {
        self.turns += other.turns;
        self.usage = match (self.usage, other.usage) {
            (Some(one), Some(other)) => Some(one.plus(other)),
            (one, other) => one.or(other),
        };
        self.known = self.known.plus(other.known);
        self.broken_off += other.broken_off;
        self.calls += other.calls;
        self.errors += other.errors;
    }

    pub(super) fn add(&mut self, turn: &RecordedTurn) {
        let lost = turn.unbilled_attempts();
        self.broken_off += lost;
        // It counts against the cost limit like a reported cost.
        self.known.cost = self.known.cost.plus(lost.cost);
        let Some((response, _)) = &turn.answer else { return };
        let count = |count| u32::try_from(count).unwrap_or(u32::MAX);
        let errors = turn.results.values().filter(|(result, _)| result.is_error).count();
        let (calls, errors) = (count(turn.results.len()), count(errors));
        let TurnUsage { input, cost, .. } = response.usage;
        // An unreported cost is assumed at its maximum.
        let known = Amount { tokens: input.unwrap_or(0), cost: cost.unwrap_or(turn.most) };
        self.plus(Self {
            turns: 1,
            usage: Some(response.usage),
            known,
            broken_off: UnbilledAttempts::default(),
            calls,
            errors,
        });
    }
}
