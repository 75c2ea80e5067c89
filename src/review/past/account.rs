//! What a journal says of its run as a whole. Main type: [`Account`].

use std::time::Duration;

use super::error::PastError;
use crate::domain::review::Ended;
use crate::llm::TurnUsage;
use crate::review::budget::Limits;
use crate::review::journal::{JournalEntry, Record, Stage, Unit};
use crate::sys::clock;

/// No journal before this version has all that is needed.
const LEAST: u32 = 3;

/// What a journal says of its run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// The run, as it was written down at its beginning: always a [`Record::Run`].
    pub run: Record,
    /// When it began: RFC 3339, UTC.
    pub started_at: String,
    /// What its first sitting could spend.
    pub limits: Option<Limits>,
    /// How the engine ended last, and why; `None` where it was killed. What a later sitting undid is not told.
    pub ended: Option<(Ended, Option<String>)>,
    /// Wall time of all sittings together. From [`Record::Done`] where there is one, otherwise from the times of the entries.
    pub took: Duration,
    /// Whether the run was done to its end, whatever that was.
    pub done: bool,
    /// How often it was taken up again.
    pub resumed: u32,
    /// Turns that were answered, in all conversations.
    pub turns: u32,
    /// Their tokens; a figure is `None` where it is not known of every turn.
    pub usage: TurnUsage,
    /// Turns that were asked and not answered. What they cost is not known.
    pub unanswered: u32,
}

impl Account {
    /// What `entries` say.
    pub fn of(entries: &[JournalEntry]) -> Result<Self, PastError> {
        let first = entries.first().ok_or(PastError::Empty)?;
        let Record::Run { started_at, limits, .. } = &first.record else { return Err(PastError::Empty) };
        if first.v < LEAST {
            return Err(PastError::TooOld(first.v));
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
        let mut times = Times::from(if started_at.is_empty() { &first.at } else { started_at });
        for entry in entries {
            account.take(entry);
            times.take(entry);
        }
        account.took = times.all();
        Ok(account)
    }

    /// Whether another sitting has something to go on with: it was killed, or what ended it can be undone.
    pub fn is_open(&self) -> bool {
        !self.done || self.ended.as_ref().is_none_or(|(ended, _)| ended.can_be_undone())
    }

    fn take(&mut self, entry: &JournalEntry) {
        match &entry.record {
            Record::Request { .. } => self.unanswered += 1,
            // What was refused is not waited for any more: it is asked again, in another way or of another one.
            Record::Takeover { .. } | Record::Window { .. } => self.unanswered = self.unanswered.saturating_sub(1),
            Record::Answer { response, .. } => {
                self.unanswered = self.unanswered.saturating_sub(1);
                self.turns += 1;
                self.usage = self.usage.plus(response.usage);
            }
            // The worst of its conversations is what the run ended with. A look that was not taken, or broke off, takes nothing from it, but may
            // be taken after all.
            Record::End { ended, why } if entry.unit.stage() == Stage::Parts || ended.can_be_undone() => {
                if self.ended.as_ref().is_none_or(|(known, _)| weight(*known) < weight(*ended)) {
                    self.ended = Some((*ended, why.clone()));
                }
            }
            Record::Resumed { .. } => {
                self.resumed += 1;
                self.done = false;
                if self.ended.as_ref().is_some_and(|(ended, _)| ended.can_be_undone()) {
                    self.ended = None;
                }
            }
            Record::Done { .. } => self.done = true,
            Record::Run { .. }
            | Record::Rules { .. }
            | Record::Plan { .. }
            | Record::Names { .. }
            | Record::Read { .. }
            | Record::Omitted { .. }
            | Record::Fault { .. }
            | Record::Result { .. }
            | Record::Share { .. }
            | Record::Verdict { .. }
            | Record::End { .. } => {}
        }
    }
}

/// What ended a run can be undone, else it is not done, else it is.
fn weight(ended: Ended) -> u8 {
    match ended {
        Ended::Finished => 0,
        ended if ended.can_be_undone() => 2,
        _ => 1,
    }
}

/// The time of each sitting, from its first entry to its last.
struct Times<'a> {
    from: &'a str,
    to: &'a str,
    before: Duration,
    told: Option<Duration>,
}

impl<'a> Times<'a> {
    fn from(from: &'a str) -> Self {
        Self { from, to: from, before: Duration::ZERO, told: None }
    }

    fn take(&mut self, entry: &'a JournalEntry) {
        match entry.record {
            Record::Resumed { .. } => {
                self.before = self.all();
                self.told = None;
                self.from = &entry.at;
            }
            Record::Done { took_ms } => self.told = Some(Duration::from_millis(took_ms)),
            _ => {}
        }
        self.to = &entry.at;
    }

    fn all(&self) -> Duration {
        let sitting = || clock::between(self.from, self.to).unwrap_or_default();
        self.told.unwrap_or_else(|| self.before + sitting())
    }
}

/// How a place in a journal is named for people.
pub(super) fn place(unit: &Unit, turn: u32) -> String {
    format!("turn {turn} of {unit}")
}
