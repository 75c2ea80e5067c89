//! The values that a shell completes: names of this repository, and of what is saved. They never fail and never wait long.

use std::time::Duration;

use clap_complete::engine::CompletionCandidate;

use crate::app::{self, CandidateKind};

/// Time limit of a completion, which a person waits for.
const PATIENCE: Duration = Duration::from_secs(2);

fn candidates(kind: CandidateKind) -> Vec<CompletionCandidate> {
    let found = app::with_time_limit("completing", PATIENCE, move || Ok(app::candidates(kind)));
    let candidate =
        |(value, help): (String, Option<String>)| CompletionCandidate::new(value).help(help.map(Into::into));
    found.unwrap_or_default().into_iter().map(candidate).collect()
}

/// Lists branches and tags.
pub(super) fn references() -> Vec<CompletionCandidate> {
    candidates(CandidateKind::Reference)
}

/// Lists saved runs.
pub(super) fn runs() -> Vec<CompletionCandidate> {
    candidates(CandidateKind::Run)
}

/// Lists the findings of the newest review of the repository.
pub(super) fn findings() -> Vec<CompletionCandidate> {
    candidates(CandidateKind::Finding)
}

/// Lists the built-in rules.
pub(super) fn rules() -> Vec<CompletionCandidate> {
    candidates(CandidateKind::Rule)
}

/// Lists the known models.
pub(super) fn models() -> Vec<CompletionCandidate> {
    candidates(CandidateKind::Model)
}
