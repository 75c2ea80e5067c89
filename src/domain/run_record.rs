//! Runs as they stand in a list. Main types: [`RunRecord`], [`SavedRun`].

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer, Serialize};

use super::finding::Severity;
use super::forge::{PullId, PullSpecifier};
use super::money::Money;
use super::review::{Review, ReviewOutcome};
use super::run::{Engine, RunId};

/// The entry of a run in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunRecord {
    /// The run.
    pub id: RunId,
    /// RFC 3339, UTC.
    pub started_at: String,
    /// Wall time in milliseconds.
    pub took_ms: u64,
    /// The repository's display name.
    pub repository: String,
    /// Its folder, absolute and with no link in it: what is checked out, or the git folder of a bare one. `None` for a patch, and for
    /// runs that were kept before this was written down. Only the record has it: a review that is passed on says nothing of this machine.
    /// Not kept if it is not UTF-8.
    #[serde(default, skip_serializing_if = "is_not_text")]
    pub folder: Option<PathBuf>,
    /// The base of the comparison.
    pub target: String,
    /// The name of the head.
    pub head_name: String,
    /// The pull request that was reviewed, where it was one. `None` too for runs that were kept before this was written down.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "valid_pull")]
    pub pull: Option<PullId>,
    /// The outcome.
    pub outcome: ReviewOutcome,
    /// The engine.
    pub engine: Engine,
    /// The cost of a model; `None` if unknown, also in runs saved before this was recorded.
    #[serde(rename = "cost_nanos", default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Money>,
    /// The number of unresolved findings of each severity.
    pub findings: BTreeMap<Severity, u32>,
    /// `true` if the review was to be compared with none, so that no later one is compared with it; `false` in runs saved before this was
    /// recorded, whose reviews have it.
    #[serde(rename = "standalone", default, skip_serializing_if = "std::ops::Not::not")]
    pub is_standalone: bool,
    /// The hash of everything that the review depends on, where it is one of a batch: an equal one need not be made again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<String>,
}

#[expect(clippy::ref_option, reason = "as serde asks for it")]
fn is_not_text(folder: &Option<PathBuf>) -> bool {
    folder.as_deref().and_then(Path::to_str).is_none()
}

/// Reads the name of a pull request. An invalid one is ignored: the rest of the record is still valid.
fn valid_pull<'de, D: Deserializer<'de>>(name: D) -> Result<Option<PullId>, D::Error> {
    let name = Option::<String>::deserialize(name)?;
    Ok(name.and_then(|name| name.parse::<PullSpecifier>().ok()?.try_into().ok()))
}

impl RunRecord {
    /// The entry of the run that made a review; `folder` is its repository's folder, `identity` the hash of what it depends on.
    pub fn of(review: &Review, folder: Option<PathBuf>, identity: Option<String>) -> Self {
        let mut findings = BTreeMap::new();
        for finding in review.unresolved() {
            *findings.entry(finding.severity).or_default() += 1;
        }
        Self {
            id: review.id,
            started_at: review.provenance.started_at.clone(),
            took_ms: review.provenance.took_ms,
            repository: review.change.repository.clone(),
            folder,
            target: review.change.target.clone(),
            head_name: review.change.head_name.clone(),
            pull: review.change.pull.as_ref().map(|of| of.id.clone()),
            outcome: review.outcome,
            engine: review.provenance.engine,
            cost: review.provenance.usage.cost,
            findings,
            is_standalone: review.coverage.is_standalone,
            identity,
        }
    }
}

/// The facts about a run that are known when its engine starts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StartedRun {
    /// The run.
    pub id: RunId,
    /// RFC 3339, UTC.
    pub started_at: String,
    /// The repository's display name.
    pub repository: String,
    /// The base of the comparison.
    pub target: String,
    /// The name of the head.
    pub head_name: String,
    /// The pull request that is reviewed, where it is one.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "valid_pull")]
    pub pull: Option<PullId>,
    /// The engine.
    pub engine: Engine,
    /// The hash of everything that the review depends on, as in [`RunRecord`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<String>,
}

/// A saved run, as it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SavedRun {
    /// Its record could be read.
    Whole(RunRecord),
    /// It began, and there is no review yet.
    Unfinished {
        /// The run.
        run: StartedRun,
        /// `true` if a process is at it; else it was interrupted.
        is_running: bool,
    },
    /// There is a folder, but no record that can be read.
    Damaged {
        /// The run, by the name of its folder.
        id: RunId,
        /// When something was last written to it: RFC 3339, UTC.
        changed_at: String,
        /// The problem, a few words.
        reason: String,
    },
}

impl SavedRun {
    /// The display name of the repository, if the record can be read.
    pub fn repository(&self) -> Option<&str> {
        match self {
            Self::Whole(record) => Some(&record.repository),
            Self::Unfinished { run, .. } => Some(&run.repository),
            Self::Damaged { .. } => None,
        }
    }

    /// The run.
    pub fn id(&self) -> RunId {
        match self {
            Self::Whole(record) => record.id,
            Self::Unfinished { run, .. } => run.id,
            Self::Damaged { id, .. } => *id,
        }
    }

    /// When it started, or was last written to where that is not known: RFC 3339, UTC.
    pub fn last_activity(&self) -> &str {
        match self {
            Self::Whole(record) => &record.started_at,
            Self::Unfinished { run, .. } => &run.started_at,
            Self::Damaged { changed_at, .. } => changed_at,
        }
    }
}
