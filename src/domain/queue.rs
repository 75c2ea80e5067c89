//! Jobs of a queue: changes that some worker will review. Main types: [`JobRequest`], [`JobRecord`].
//!
//! Storing jobs belongs in `queue`, running them in `app::worker`.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize, Serializer};
use sha2::{Digest as _, Sha256};

use super::id::{CommitId, hash_part, hex};
use super::money::Money;
use super::request::ReviewScope;
use super::words::words;

/// The number of hexadecimal digits of a job's id.
const ID_DIGITS: usize = 16;

/// The id of a job: 16 hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct JobId(String);

/// A text that is not the id of a job.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not the id of a job: 16 hexadecimal digits are expected, as `review queue status` shows them")]
pub struct InvalidJobId(String);

impl FromStr for JobId {
    type Err = InvalidJobId;

    fn from_str(text: &str) -> Result<Self, InvalidJobId> {
        let is_id = text.len() == ID_DIGITS && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        if is_id { Ok(Self(text.to_owned())) } else { Err(InvalidJobId(text.to_owned())) }
    }
}

impl fmt::Display for JobId {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(&self.0)
    }
}

/// The change that a job reviews.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JobRequest {
    /// The repository: a path on the worker's machine, absolute or below its `--repos`. Empty for a pull request, which names its own.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub repository: String,
    /// The branch, commit or pull request, for people; one line.
    pub name: String,
    /// The change.
    pub scope: ReviewScope,
    /// The commits that it has, so that a worker knows whether its mirror has them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commits: Vec<String>,
    /// `true` to post the review to the pull request.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub post: bool,
}

impl JobRequest {
    /// Returns the key of the job: one review has one key, whoever requests it. `version` is what the names of the change stand for: the
    /// [commits](commits_version) or the [pull request](pull_version).
    pub fn key(&self, version: &str) -> String {
        let scope = match &self.scope {
            // A forge ignores the case of its names.
            ReviewScope::Pull(pull) => String::from(pull.clone()).to_ascii_lowercase(),
            scope => serde_json::to_string(scope).unwrap_or_default(),
        };
        let mut key = Sha256::new();
        for part in [&*self.repository, &scope, version, if self.post { "post" } else { "" }] {
            hash_part(&mut key, part);
        }
        hex(&key.finalize())
    }
}

/// Returns the version of a change of commits. It has the merge base and not the tip of the target, since a target that moves on changes nothing.
pub fn commits_version(merge_base: Option<CommitId>, head: Option<CommitId>) -> String {
    [merge_base, head].map(|commit| commit.map(|commit| commit.to_string()).unwrap_or_default()).join(" ")
}

/// Returns the version of a pull request: its base by name, whose tip moves on like that of any target, and its head.
pub fn pull_version(base: &str, head: &str) -> String {
    format!("{base} {}", head.to_ascii_lowercase())
}

/// The changes for which a schedule adds jobs, each time that it is due.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ScheduledSelection {
    /// The name of the schedule.
    pub schedule: String,
    /// The repository, as in [`JobRequest`].
    pub repository: String,
    /// Globs for the names of branches.
    pub branches: Vec<String>,
    /// `true` for all branches.
    pub all_branches: bool,
    /// The remote whose remote-tracking branches are meant.
    pub remote: Option<String>,
    /// `true` for the open pull requests instead of branches.
    pub open_pulls: bool,
    /// The base of the comparison.
    pub target: Option<String>,
    /// The priority of the jobs.
    pub priority: i64,
    /// `true` to post the reviews to the pull requests.
    pub post: bool,
}

/// The work of a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum JobWork {
    /// A change to review.
    Review(JobRequest),
    /// Jobs to add.
    Add(ScheduledSelection),
}

impl JobWork {
    /// Reads the work of a job.
    pub fn read(text: &str) -> Result<Self, serde_json::Error> {
        let value: serde_json::Value = serde_json::from_str(text)?;
        if value.get("schedule").is_some() {
            return Ok(Self::Add(serde_json::from_value(value)?));
        }
        Ok(Self::Review(serde_json::from_value(value)?))
    }

    /// The name of the job, for people.
    pub fn name(&self) -> String {
        match self {
            Self::Review(request) => request.name.clone(),
            Self::Add(selection) => format!("schedule {}", selection.schedule),
        }
    }

    /// The repository; empty for a pull request.
    pub fn repository(&self) -> &str {
        match self {
            Self::Review(request) => &request.repository,
            Self::Add(selection) => &selection.repository,
        }
    }
}

/// A schedule of a queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScheduleRecord {
    /// Its name.
    pub name: String,
    /// The changes, or why they cannot be read.
    pub selection: Result<ScheduledSelection, String>,
    /// The time from one due time to the next, in milliseconds.
    pub every_ms: i64,
    /// The next due time, in milliseconds since 1970.
    pub next_ms: i64,
}

/// A job to add.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewJob {
    /// The key: of two jobs with one key only the first is added.
    pub key: String,
    /// The work.
    pub work: JobWork,
    /// Jobs with a higher one are taken first.
    pub priority: i64,
}

words! {
    /// The state of a job, by the word used in the database and in JSON.
    pub enum JobState: as_str {
        /// A worker may take it.
        Waiting = "waiting",
        /// A worker has it.
        Running = "running",
        /// It was reviewed.
        Done = "done",
        /// It cannot be reviewed, for the reason beside it.
        Dead = "dead",
        /// It was canceled.
        Canceled = "canceled",
    }
}

/// A job as a list shows it. Texts are those of branches and errors: they are escaped by whoever shows them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct JobRecord {
    /// Its id.
    pub id: JobId,
    /// The repository and the name of the change.
    pub name: String,
    /// Its state.
    pub state: JobState,
    /// How often a worker has taken it.
    pub attempts: i64,
    /// Jobs with a higher one are taken first.
    pub priority: i64,
    /// The time at which it was added, in milliseconds since 1970.
    pub added_ms: i64,
    /// The time of its last change, in milliseconds since 1970.
    pub changed_ms: i64,
    /// The worker that has it or had it last.
    pub worker: Option<String>,
    /// The reason of its state or of its last failure.
    pub reason: Option<String>,
    /// The outcome of its review, the run and the cost, as `review batch` has them in its index.
    pub result: Option<serde_json::Value>,
}

/// The numbers of a queue.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct QueueStatus {
    /// The number of jobs in each state.
    pub jobs: BTreeMap<JobState, u64>,
    /// The age of the oldest job that waits and may be taken, in milliseconds.
    pub oldest_waiting_ms: Option<i64>,
    /// `true` if workers take no more jobs.
    pub is_drained: bool,
    /// The budget that its workers share, if there is one.
    pub budget: Option<QueueBudget>,
}

/// A part of a budget: tokens sent, and money.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct BudgetPart {
    /// Tokens sent.
    pub tokens: u64,
    /// Money; in documents in dollars.
    #[serde(serialize_with = "in_dollars")]
    pub cost: Money,
}

/// The budget of a queue, and what its workers have spent or reserved of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct QueueBudget {
    /// The limit of tokens.
    pub max_tokens: Option<u64>,
    /// The limit of money; in documents in dollars.
    #[serde(with = "super::money::in_dollars")]
    pub max_cost: Option<Money>,
    /// `true` if it begins anew at midnight UTC.
    pub is_daily: bool,
    /// The sum of what was spent or is reserved, in this period.
    pub spent: BudgetPart,
}

impl QueueBudget {
    /// Divisor: no review is begun with less than this share of the budget. The rest is for those that run.
    const LEAST: u64 = 20;

    /// Returns what is left; the maximum of what is not limited.
    pub fn room(&self) -> BudgetPart {
        BudgetPart {
            tokens: self.max_tokens.map_or(u64::MAX, |most| most.saturating_sub(self.spent.tokens)),
            cost: self.max_cost.map_or(Money::from_nanos(u64::MAX), |most| most.saturating_sub(self.spent.cost)),
        }
    }

    /// Checks whether too little is left to begin a review.
    pub fn is_used_up(&self) -> bool {
        let room = self.room();
        self.max_tokens.is_some_and(|most| room.tokens <= most / Self::LEAST)
            || self.max_cost.is_some_and(|most| room.cost <= most.part(Self::LEAST))
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde asks for it")]
fn in_dollars<S: Serializer>(cost: &Money, out: S) -> Result<S::Ok, S::Error> {
    cost.usd().serialize(out)
}

/// Returns a time in milliseconds since 1970, as records have it.
pub fn millis_since_1970(time: std::time::SystemTime) -> i64 {
    let since = time.duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_hexadecimal_and_a_request_reads_back() {
        assert!("0123456789abcdef".parse::<JobId>().is_ok());
        for text in ["", "0123456789abcde", "0123456789ABCDEF", "0123456789abcdeg", "' or 1=1 --     "] {
            assert!(text.parse::<JobId>().is_err(), "{text:?}");
        }
        let scope = ReviewScope::Branch { target: Some("main".to_owned()), head: Some("topic".to_owned()) };
        let request = JobRequest {
            repository: "demo".to_owned(),
            name: "topic".to_owned(),
            scope,
            commits: Vec::new(),
            post: false,
        };
        let text = serde_json::to_string(&request).unwrap();
        assert_eq!(text, r#"{"repository":"demo","name":"topic","scope":{"branch":{"target":"main","head":"topic"}}}"#);
        assert_eq!(serde_json::from_str::<JobRequest>(&text).unwrap(), request);
        assert!(serde_json::from_str::<JobRequest>(&text.replace("\"name\"", "\"run\":\"rm\",\"name\"")).is_err());
    }

    #[test]
    fn one_review_has_one_key_whoever_requests_it() {
        let pull = |repository: &str, name: &str| JobRequest {
            repository: String::new(),
            name: name.to_owned(),
            scope: ReviewScope::Pull(repository.parse().unwrap()),
            commits: Vec::new(),
            post: true,
        };
        let (listed, delivered) = (pull("octo/demo#7", "#7 Add a"), pull("Octo/Demo#7", "Octo/Demo#7 Add a"));
        let key = listed.key(&pull_version("main", "ABC"));
        assert_eq!(delivered.key(&pull_version("main", "abc")), key);
        let silent = JobRequest { post: false, ..listed.clone() };
        for other in [
            listed.key(&pull_version("release", "abc")),
            listed.key(&pull_version("main", "abd")),
            pull("octo/demo#8", "#7 Add a").key(&pull_version("main", "abc")),
            pull("https://git.example/octo/demo/pull/7", "#7 Add a").key(&pull_version("main", "abc")),
            silent.key(&pull_version("main", "abc")),
        ] {
            assert_ne!(other, key);
        }
    }
}
