//! What earlier sittings of a run wrote down, for taking it up again and for telling it again. Main type: [`Past`].
//!
//! The engine runs as it always does; wherever it would ask a model, read a tree or look at the clock, it asks the past first. So a run that was
//! broken off goes on where it stopped, and one that ended is told again without anybody being asked. What is told must be what is: each
//! request is proven by its digest, each answer of the engine's own tools by its text, and where one differs the run ends with
//! [`Diverged`]. Where a journal is kept belongs in `store`, whether a run may be taken up in `app`.

mod account;
mod compared;
mod end;
mod error;
mod index;
mod told;
mod trees;
mod written;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use super::journal::{JournalEntry, Record, SharedName, Stage, Unit};
use crate::domain::path::RepoPath;

pub use account::Account;
pub use compared::{Difference, Differences};
pub(super) use end::End;
pub use error::{Diverged, PastError, What};
pub(super) use index::{Abandoned, Rules, Shared};
pub(super) use told::{Asked, Coming, Told};
pub(super) use trees::Trees;

use index::Index;
use written::Written;

/// What happens where the past has no answer any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Then {
    /// The run goes on: the model is asked.
    #[default]
    GoOn,
    /// Nobody is asked: the run is only told again.
    Stop,
    /// Likewise, and what would be asked now is compared with what was.
    Compare,
}

/// What earlier sittings wrote down; nothing for a new run.
#[derive(Debug, Default)]
pub struct Past {
    account: Option<Account>,
    index: Index,
    written: Arc<Written>,
    rules_anew: bool,
}

impl Past {
    /// To go on with a run. Whatever ended it before, other than the model itself, is no end any more; refused where nothing is left to do.
    ///
    /// The run must be given the change, the prompts, the rules, the models and the notes that it had; its limits may be others.
    pub fn resume(entries: &[JournalEntry]) -> Result<Self, PastError> {
        let mut past = Self::of(entries, Then::GoOn)?;
        if past.account.as_ref().is_some_and(|account| !account.is_open()) {
            return Err(PastError::Finished);
        }
        past.index.resume();
        Ok(past)
    }

    /// To tell a run again. Nobody is asked, no tree is read, and nothing is written down: the review ends as the journal does.
    pub fn replay(entries: &[JournalEntry]) -> Result<Self, PastError> {
        Self::of(entries, Then::Stop)
    }

    /// To see which requests would not be what they were, with other prompts or rules. Answers are taken by conversation and turn, whatever is
    /// asked; the review that comes of it is of no use.
    pub fn compare(entries: &[JournalEntry]) -> Result<(Self, Differences), PastError> {
        let mut past = Self::of(entries, Then::Compare)?;
        let differences = Differences::default();
        past.written = Arc::new(Written::to_compare(entries.to_vec(), differences.clone()));
        Ok((past, differences))
    }

    /// The same with the rules run anew, which needs the trees.
    #[must_use]
    pub fn with_rules_anew(mut self) -> Self {
        self.rules_anew = true;
        self
    }

    /// What the journal says of the run; `None` for a new run.
    pub fn account(&self) -> Option<&Account> {
        self.account.as_ref()
    }

    fn of(entries: &[JournalEntry], then: Then) -> Result<Self, PastError> {
        let account = Some(Account::of(entries)?);
        let written = Arc::new(Written::new(then));
        Ok(Self { account, index: Index::of(entries)?, written, rules_anew: false })
    }

    /// Whether the run is only told, and nothing new is written down.
    pub(super) fn is_told(&self) -> bool {
        self.written.then != Then::GoOn
    }

    /// Whether this is a further sitting of a run.
    pub(super) fn is_resumed(&self) -> bool {
        self.account.is_some() && !self.is_told()
    }

    /// What the rules said, unless they are to be run.
    pub(super) fn rules(&self) -> Option<&Rules> {
        self.index.rules.as_ref().filter(|_| !self.rules_anew)
    }

    /// Whether the run is only told, and was broken off before its rules had spoken.
    pub(super) fn is_over(&self) -> bool {
        self.is_told() && !self.rules_anew && self.index.rules.is_none()
    }

    /// How the change was split, and what a first message may take, in tokens.
    pub(super) fn plan(&self) -> Option<(&[Vec<RepoPath>], u64)> {
        self.index.plan.as_ref().map(|(units, room)| (units.as_slice(), *room))
    }

    /// The names that the parts of the change share.
    pub(super) fn names(&self) -> Option<&[SharedName]> {
        self.index.names.as_deref()
    }

    /// Who took over from whom, and which windows turned out to be smaller.
    pub(super) fn handed(&self) -> &[Record] {
        &self.index.handed
    }

    /// Turns that were answered, by who was asked; those of second looks only where they are asked of the same ones.
    pub(super) fn answered(&self, with_looks: bool) -> BTreeMap<u32, u32> {
        let mut answered = BTreeMap::new();
        for ((is_look, to), turns) in &self.index.answered {
            if with_looks || !is_look {
                *answered.entry(*to).or_default() += turns;
            }
        }
        answered
    }

    /// What everything but the second looks took in the sittings before.
    pub(super) fn taken(&self) -> Abandoned {
        self.sum(|unit| !unit.is_look())
    }

    /// Fails where something was not what it was that could not be said at once.
    pub(super) fn check(&self) -> Result<(), Diverged> {
        self.written.check()
    }

    /// A conversation, as far as it is told.
    pub(super) fn told(&self, unit: &Unit) -> Told {
        let conversation = self.index.conversations.get(unit);
        let stale = conversation.is_some_and(|conversation| self.index.went_on(conversation.begun, unit.stage()));
        Told::new(unit.clone(), conversation, stale, Arc::clone(&self.written))
    }

    /// What the second look could spend, unless it is to be divided anew: because the review went on since, or nobody was asked.
    pub(super) fn share(&self) -> Option<&Shared> {
        let (at, share) = self.index.shares.last()?;
        let went_on = self.index.went_on(*at, Stage::Looks) || self.written.has_moved(Stage::Looks);
        let stands = !went_on && share.why_not.is_none();
        (self.is_told() || stands).then_some(share)
    }

    /// How large the first messages of second looks were ever allowed to be.
    pub(super) fn rooms(&self) -> BTreeSet<u64> {
        self.index.shares.iter().map(|(_, share)| share.room).collect()
    }

    /// What second looks took so far, other than these.
    pub(super) fn other_looks(&self, these: &[Unit]) -> Abandoned {
        self.sum(|unit| unit.is_look() && !these.contains(unit))
    }

    fn sum(&self, is_such: impl Fn(&Unit) -> bool) -> Abandoned {
        let mut taken = Abandoned::default();
        for (_, conversation) in self.index.conversations.iter().filter(|(unit, _)| is_such(unit)) {
            taken.plus(conversation.abandoned);
            conversation.turns.iter().for_each(|turn| taken.add(turn));
        }
        taken
    }

    /// What the receipt says of the sittings.
    pub(super) fn notes(&self) -> Vec<String> {
        self.index.notes()
    }

    /// Wall time of the sittings before this one.
    pub(super) fn took(&self) -> Duration {
        self.account.as_ref().map_or(Duration::ZERO, |account| account.took)
    }
}
