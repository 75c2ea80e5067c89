//! Jobs of a queue: changes that some worker will review. Main types: [`JobRequest`], [`JobRecord`].
//!
//! Storing jobs belongs in `queue`, running them in `app::worker`.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::id::{CommitId, hex};
use super::request::ReviewScope;

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
            key.update((part.len() as u64).to_le_bytes());
            key.update(part);
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

/// A job to add.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewJob {
    /// The key: of two jobs with one key only the first is added.
    pub key: String,
    /// The change.
    pub request: JobRequest,
    /// Jobs with a higher one are taken first.
    pub priority: i64,
}

/// The state of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum JobState {
    /// A worker may take it.
    Waiting,
    /// A worker has it.
    Running,
    /// It was reviewed.
    Done,
    /// It cannot be reviewed, for the reason beside it.
    Dead,
    /// It was canceled.
    Canceled,
}

impl JobState {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Waiting, Self::Running, Self::Done, Self::Dead, Self::Canceled];

    /// The word used in the database and in JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Running => "running",
            Self::Done => "done",
            Self::Dead => "dead",
            Self::Canceled => "canceled",
        }
    }

    /// Reads the word of a state.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == word)
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
        let request = JobRequest { repository: "demo".to_owned(), name: "topic".to_owned(), scope, post: false };
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
