//! Outcome of a review: the coverage, the findings with their history and verdicts, and the one place that makes them a review.
//! Main types: [`ReviewDraft`], [`CoverageTracker`], [`EngineOutcome`].

mod coverage;
mod draft;
mod engine_outcome;
mod title_similarity;
mod verdict;

pub use coverage::{OmittedDiff, ShownDiff};
pub use draft::{FindingThresholds, ModelContribution, ProvenanceInput, ReviewDraft, instructions_hash};
pub use engine_outcome::EngineOutcome;

pub(super) use coverage::CoverageTracker;
pub(super) use draft::{SupersededRuleFinding, into_finding, unreviewed_files};
pub(super) use title_similarity::{are_related, are_similar, normalize_title};
pub(super) use verdict::{VerdictConfidence, VerdictCorrections, VerdictWord, VerificationVerdict};
