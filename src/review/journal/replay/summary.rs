//! Summary of a run, read from its journal. Main type: [`JournalSummary`].

use std::time::Duration;

use super::error::JournalReplayError;
use crate::domain::review::StopReason;
use crate::llm::TurnUsage;
use crate::review::budget::BudgetLimits;
use crate::review::journal::record::{ConversationId, JournalEntry, JournalRecord, RunStage};
use crate::sys::clock;

/// No journal before this version has all that is needed.
const LEAST: u32 = 3;

/// Summary of a run in a journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JournalSummary {
    /// The run, as it was written down at its beginning: always a [`JournalRecord::Run`].
    pub run: JournalRecord,
    /// Start: RFC 3339, UTC.
    pub started_at: String,
    /// Limits of the first session.
    pub limits: Option<BudgetLimits>,
    /// Last end of the engine, and its reason; `None` if the process was killed. Ends that a later session undid are omitted.
    pub ended: Option<(StopReason, Option<String>)>,
    /// Wall time of all sessions. From [`JournalRecord::Done`] if present, otherwise from the times of the entries.
    pub took: Duration,
    /// `true` if the run reached its end, of whatever kind.
    pub done: bool,
    /// Number of times the run was resumed.
    pub resumed: u32,
    /// Turns with a response, in all conversations.
    pub turns: u32,
    /// Their tokens; a number is `None` if it is unknown for any turn.
    pub usage: TurnUsage,
    /// Requests without a response. Their cost is unknown.
    pub unanswered: u32,
}

impl JournalSummary {
    /// Summarizes `entries`.
    pub fn of(entries: &[JournalEntry]) -> Result<Self, JournalReplayError> {
        let first = entries.first().ok_or(JournalReplayError::Empty)?;
        let JournalRecord::Run { started_at, limits, .. } = &first.record else {
            return Err(JournalReplayError::Empty);
        };
        if first.v < LEAST {
            return Err(JournalReplayError::TooOld(first.v));
        }
        let mut account = Self {
            run: first.record.clone(),
            started_at: started_at.clone(),
            limits: limits.as_deref().copied(),
            ended: None,
            took: Duration::ZERO,
            done: false,
            resumed: 0,
            turns: 0,
            usage: TurnUsage::NOTHING,
            unanswered: 0,
        };
        let mut times = RunTimes::from(if started_at.is_empty() { &first.at } else { started_at });
        for entry in entries {
            account.take(entry);
            times.take(entry);
        }
        account.took = times.all();
        Ok(account)
    }

    /// Checks whether another session can continue the run: it was killed, or its end can be undone.
    pub fn is_open(&self) -> bool {
        !self.done || self.ended.as_ref().is_none_or(|(ended, _)| ended.is_resumable())
    }

    fn take(&mut self, entry: &JournalEntry) {
        match &entry.record {
            JournalRecord::Request { .. } => self.unanswered += 1,
            // A refused request is no longer pending: it is sent again, in another way or to another model.
            JournalRecord::Takeover { .. } | JournalRecord::Window { .. } => {
                self.unanswered = self.unanswered.saturating_sub(1);
            }
            JournalRecord::Answer { response, .. } => {
                self.unanswered = self.unanswered.saturating_sub(1);
                self.turns += 1;
                self.usage = self.usage.plus(response.usage);
            }
            // The run ended with the worst of its conversations. A verification that was skipped or interrupted does not count, but may be done
            // later.
            JournalRecord::End { ended, why } if entry.unit.stage() == RunStage::Parts || ended.is_resumable() => {
                if self.ended.as_ref().is_none_or(|(known, _)| weight(*known) < weight(*ended)) {
                    self.ended = Some((*ended, why.clone()));
                }
            }
            JournalRecord::Resumed { .. } => {
                self.resumed += 1;
                self.done = false;
                if self.ended.as_ref().is_some_and(|(ended, _)| ended.is_resumable()) {
                    self.ended = None;
                }
            }
            JournalRecord::Done { .. } => self.done = true,
            JournalRecord::Run { .. }
            | JournalRecord::Rules(_)
            | JournalRecord::Plan { .. }
            | JournalRecord::Names { .. }
            | JournalRecord::Read { .. }
            | JournalRecord::Omitted { .. }
            | JournalRecord::Fault { .. }
            | JournalRecord::Result { .. }
            | JournalRecord::Share(_)
            | JournalRecord::Verdict { .. }
            | JournalRecord::End { .. } => {}
        }
    }
}

/// Rank of an end: one that can be undone, then an incomplete one, then a complete one.
fn weight(ended: StopReason) -> u8 {
    match ended {
        StopReason::Finished => 0,
        ended if ended.is_resumable() => 2,
        _ => 1,
    }
}

/// Duration of each session, from its first entry to its last.
struct RunTimes<'a> {
    from: &'a str,
    to: &'a str,
    before: Duration,
    recorded: Option<Duration>,
}

impl<'a> RunTimes<'a> {
    fn from(from: &'a str) -> Self {
        Self { from, to: from, before: Duration::ZERO, recorded: None }
    }

    fn take(&mut self, entry: &'a JournalEntry) {
        match entry.record {
            JournalRecord::Resumed { .. } => {
                self.before = self.all();
                self.recorded = None;
                self.from = &entry.at;
            }
            JournalRecord::Done { took_ms } => self.recorded = Some(Duration::from_millis(took_ms)),
            _ => {}
        }
        self.to = &entry.at;
    }

    fn all(&self) -> Duration {
        let sitting = || clock::between(self.from, self.to).unwrap_or_default();
        self.recorded.unwrap_or_else(|| self.before + sitting())
    }
}

/// Names a place in a journal for people.
pub(super) fn place(unit: &ConversationId, turn: u32) -> String {
    format!("turn {turn} of {unit}")
}
