//! The outcome of a batch: many reviews made by one command. Main type: [`BatchIndex`].
//!
//! Making the reviews belongs in `app::batch`, rendering in `present::batch`.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use super::event::Event;
use super::finding::Severity;
use super::money::Money;
use super::review::StopReason;
use super::run::{Engine, RunId};
use super::text::count_noun;
use super::words::words;

/// The exit codes, worst first.
const WORST_FIRST: [u8; 6] = [130, 4, 2, 1, 3, 5];

/// The reviews of a batch, or of a shard of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BatchIndex {
    /// The version of the program.
    pub version: String,
    /// The time of its start: RFC 3339, UTC.
    pub started_at: String,
    /// Wall time in milliseconds.
    pub took_ms: u64,
    /// The part of a larger batch that this is.
    pub shard: Option<Shard>,
    /// `true` if it was interrupted.
    pub interrupted: bool,
    /// The savings by message batches, if turns went by them.
    pub savings: Option<BatchSavings>,
    /// A row for each review, also for one that could not be made.
    pub entries: Vec<BatchEntry>,
    /// The changes that needed no review, each with the reason.
    pub left_out: Vec<LeftOutChange>,
}

/// The turns that went by message batches of the provider, and what they cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BatchSavings {
    /// The number of turns.
    pub turns: u64,
    /// The number of message batches that were submitted.
    pub batches: u64,
    /// The known costs.
    pub cost: Money,
    /// The costs of the same turns at the normal price.
    pub normal_cost: Money,
    /// The number of turns whose cost is unknown.
    pub unknown_costs: u64,
}

impl BatchSavings {
    /// Adds those of another batch.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self {
            turns: self.turns.saturating_add(other.turns),
            batches: self.batches.saturating_add(other.batches),
            cost: self.cost.plus(other.cost),
            normal_cost: self.normal_cost.plus(other.normal_cost),
            unknown_costs: self.unknown_costs.saturating_add(other.unknown_costs),
        }
    }
}

impl fmt::Display for BatchSavings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let turns = usize::try_from(self.turns).unwrap_or(usize::MAX);
        let batches = usize::try_from(self.batches).unwrap_or(usize::MAX);
        let (turns, rounds) = (count_noun(turns, "turn"), count_noun(batches, "round"));
        write!(f, "{turns} in {rounds} of message batches cost {} instead of {}", self.cost, self.normal_cost)?;
        match self.unknown_costs {
            0 => Ok(()),
            unknown => write!(f, ", and the cost of {unknown} of them is unknown"),
        }
    }
}

/// One review of a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BatchEntry {
    /// The repository, as it was named or by its display name.
    pub repository: String,
    /// The branch, commit or pull request.
    pub name: String,
    /// The base of the comparison, if it is known.
    pub target: Option<String>,
    /// The outcome.
    pub outcome: BatchOutcome,
    /// The reason of any outcome but `complete`.
    pub reason: Option<String>,
    /// How the review came about.
    pub source: ReviewSource,
    /// The exit code that the review alone would have.
    pub exit_code: u8,
    /// The reason why the engine's work ended; not part of an index.
    pub ended: Option<StopReason>,
    /// The number of unresolved findings of each severity.
    pub findings: BTreeMap<Severity, u32>,
    /// The engine; `None` if there is no review.
    pub engine: Option<Engine>,
    /// The cost to the batch; `None` if unknown.
    pub cost: Option<Money>,
    /// The tokens that the batch sent and received for it, cached ones included; `None` if unknown.
    pub tokens: Option<SpentTokens>,
    /// The reviewed commit, in hexadecimal.
    pub head: Option<String>,
    /// The commit that it was compared with.
    pub base: Option<String>,
    /// The run.
    pub run: Option<RunId>,
    /// The name of its folder beside the index.
    pub folder: Option<String>,
    /// Wall time in milliseconds.
    pub took_ms: u64,
}

/// The tokens of one review.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SpentTokens {
    /// Those sent.
    pub input: u64,
    /// Those received.
    pub output: u64,
}

words! {
    /// The outcome of one review of a batch. Only `Complete` is good.
    pub enum BatchOutcome: as_str {
        /// Everything was reviewed.
        Complete = "complete",
        /// Something was not reviewed.
        Incomplete = "incomplete",
        /// Nothing was reviewed.
        Failed = "failed",
        /// There is nothing to review: the branch, the repository or the request cannot be used.
        Error = "error",
        /// It was not begun.
        NotBegun = "not_begun",
    }
}

words! {
    /// How a review of a batch came about.
    pub enum ReviewSource: as_str {
        /// It was made.
        Reviewed = "reviewed",
        /// An interrupted run was resumed.
        Resumed = "resumed",
        /// The saved review of the same change by the same reviewer was served.
        Unchanged = "unchanged",
    }
}

/// A change that needed no review.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOutChange {
    /// Its repository.
    pub repository: String,
    /// Its branch.
    pub name: String,
    /// The reason.
    pub reason: String,
}

/// The sums of a batch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BatchTotals {
    /// The number of reviews of each outcome.
    pub outcomes: BTreeMap<BatchOutcome, u64>,
    /// The number of reviews that were served from the store.
    pub unchanged: u64,
    /// The number of unresolved findings of each severity.
    pub findings: BTreeMap<Severity, u64>,
    /// The known costs.
    pub cost: Money,
    /// The number of reviews of a model whose cost is unknown.
    pub unknown_costs: u64,
}

impl BatchIndex {
    /// Sums up the reviews.
    pub fn totals(&self) -> BatchTotals {
        let mut totals = BatchTotals::default();
        for entry in &self.entries {
            *totals.outcomes.entry(entry.outcome).or_default() += 1;
            totals.unchanged += u64::from(entry.source == ReviewSource::Unchanged);
            for (severity, count) in &entry.findings {
                // A number of an index that was read may be anything.
                let sum = totals.findings.entry(*severity).or_default();
                *sum = sum.saturating_add(u64::from(*count));
            }
            match (entry.engine, entry.cost) {
                (_, Some(cost)) => totals.cost = totals.cost.plus(cost),
                (Some(Engine::Model), None) => totals.unknown_costs += 1,
                (Some(Engine::Rules) | None, None) => {}
            }
        }
        totals
    }

    /// The worst exit code of its reviews. A batch that found nothing at all to look at is incomplete; a shard may be empty.
    pub fn exit_code(&self) -> u8 {
        if self.interrupted {
            return 130;
        }
        let is_empty = self.entries.is_empty() && self.left_out.is_empty() && self.shard.is_none();
        let has = |code: &u8| self.entries.iter().any(|entry| entry.exit_code() == *code) || (is_empty && *code == 3);
        WORST_FIRST.into_iter().find(has).unwrap_or(0)
    }
}

impl BatchEntry {
    /// Creates the row of a review that was not made.
    pub fn without_review(repository: &str, name: &str, outcome: BatchOutcome, reason: String, exit_code: u8) -> Self {
        Self {
            repository: repository.to_owned(),
            name: name.to_owned(),
            target: None,
            outcome,
            reason: Some(reason),
            source: ReviewSource::Reviewed,
            exit_code,
            ended: None,
            findings: BTreeMap::new(),
            engine: None,
            cost: None,
            tokens: None,
            head: None,
            base: None,
            run: None,
            folder: None,
            took_ms: 0,
        }
    }

    /// The exit code; never 0 without a complete review, whatever an index says that was read from a file.
    pub fn exit_code(&self) -> u8 {
        match (self.exit_code, self.outcome) {
            (0, BatchOutcome::Complete) => 0,
            (code, _) if WORST_FIRST.contains(&code) => code,
            _ => 3,
        }
    }
}

/// One of several equal parts of a batch: `2/5` is the second of five.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Shard {
    /// Its number, from 1.
    pub number: u32,
    /// Their number.
    pub of: u32,
}

/// The most shards of a batch: as many as a matrix of GitHub may have jobs.
pub const MOST_SHARDS: u32 = 256;

impl Shard {
    /// Checks whether a change belongs to this shard. That depends on the name alone, so every machine comes to the same answer.
    pub fn contains(self, name: &str) -> bool {
        // FNV-1a: no hash of a library promises the same number in its next version.
        let hash = name
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
        hash % u64::from(self.of.max(1)) == u64::from(self.number.saturating_sub(1))
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

/// Text that is not a shard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a shard: write K/N with K from 1 to N and N of at most {MOST_SHARDS}, as in 2/5")]
pub struct InvalidShard;

impl FromStr for Shard {
    type Err = InvalidShard;

    fn from_str(text: &str) -> Result<Self, InvalidShard> {
        let (number, of) = text.split_once('/').ok_or(InvalidShard)?;
        let (number, of) = (number.parse().map_err(|_| InvalidShard)?, of.parse().map_err(|_| InvalidShard)?);
        if (1..=of).contains(&number) && of <= MOST_SHARDS { Ok(Self { number, of }) } else { Err(InvalidShard) }
    }
}

/// Something that happened in a batch.
#[derive(Debug, Clone)]
pub enum BatchEvent {
    /// The changes were chosen.
    Planned {
        /// Their number.
        total: usize,
    },
    /// A review began.
    Begun {
        /// Its number, from 0.
        at: usize,
        /// The branch, commit or pull request.
        name: String,
    },
    /// Something happened in a review.
    Review {
        /// Its number.
        at: usize,
        /// The event.
        event: Event,
    },
    /// A review ended, or its change needed none.
    Ended {
        /// Its number.
        at: usize,
        /// The row of its review; `None` if it was left out.
        entry: Option<Box<BatchEntry>>,
    },
    /// Something about the whole batch.
    Whole(Event),
}

/// A listener of a batch. Like an [`EventSink`](super::event::EventSink), it must not block.
pub trait BatchEventSink: Send + Sync {
    /// Takes one event.
    fn emit_batch(&self, event: BatchEvent);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn index(codes: &[(BatchOutcome, u8)]) -> BatchIndex {
        let entry = |(outcome, code): &(BatchOutcome, u8)| {
            BatchEntry::without_review("demo", "a", *outcome, String::new(), *code)
        };
        BatchIndex {
            version: "0".to_owned(),
            started_at: String::new(),
            took_ms: 0,
            shard: None,
            interrupted: false,
            savings: None,
            entries: codes.iter().map(entry).collect(),
            left_out: Vec::new(),
        }
    }

    #[test]
    fn the_exit_code_is_the_worst_and_never_green_by_mistake() {
        use BatchOutcome::{Complete, Error, Failed, Incomplete, NotBegun};
        for (codes, code) in [
            (vec![(Complete, 0), (Complete, 0)], 0),
            (vec![(Complete, 0), (Incomplete, 3)], 3),
            (vec![(Incomplete, 3), (Complete, 1)], 1),
            (vec![(Complete, 1), (Error, 2)], 2),
            (vec![(Error, 2), (Failed, 4)], 4),
            (vec![(Failed, 4), (NotBegun, 130)], 130),
            (vec![(NotBegun, 0)], 3),
            (vec![(Complete, 77)], 3),
            (vec![], 3),
        ] {
            assert_eq!(index(&codes).exit_code(), code, "{codes:?}");
        }
        assert_eq!(BatchIndex { interrupted: true, ..index(&[(Complete, 0)]) }.exit_code(), 130);
        assert_eq!(BatchIndex { shard: "1/2".parse().ok(), ..index(&[]) }.exit_code(), 0, "a shard may have no branch");
    }

    #[test]
    fn each_name_is_in_one_shard_and_stays_there() {
        for of in [1, 2, 7] {
            for name in ["main", "feature/a", "feature/b", "日本", ""] {
                let shards = (1..=of).filter(|number| Shard { number: *number, of }.contains(name)).count();
                assert_eq!(shards, 1, "{name} of {of}");
            }
        }
        let of_four = |name: &str| (1..=4).find(|number| Shard { number: *number, of: 4 }.contains(name)).unwrap();
        assert_eq!(["main", "feature/a", "feature/b"].map(of_four), [1, 2, 1], "other machines have other versions");
    }

    #[test]
    fn shards_are_read() {
        assert_eq!("2/5".parse::<Shard>().unwrap().to_string(), "2/5");
        for bad in ["", "2", "0/5", "6/5", "a/b", "1/0", "1/257", "-1/3"] {
            assert!(bad.parse::<Shard>().is_err(), "{bad}");
        }
    }
}
