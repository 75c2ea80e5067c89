//! Provenance of a review. Main types: [`ProvenanceInput`], [`ModelContribution`].

use sha2::{Digest as _, Sha256};

use crate::domain::guideline::ProvidedGuideline;
use crate::domain::id::hex;
use crate::domain::review::{ModelTurns, ReviewProvenance};
use crate::domain::run::{Engine, RunId, Usage};
use crate::domain::verification::VerificationTotals;

/// Origin and time of a review, for its provenance.
#[derive(Debug, Clone)]
pub struct ProvenanceInput {
    /// The run.
    pub run: RunId,
    /// Engine.
    pub engine: Engine,
    /// The hash of the rule packs.
    pub rules: Option<String>,
    /// Model and its consumption; `None` without a model.
    pub model: Option<ModelContribution>,
    /// RFC 3339, UTC.
    pub started_at: String,
    /// Wall time so far, in milliseconds.
    pub took_ms: u64,
}

/// Model of a review, and its consumption.
#[derive(Debug, Clone, Default)]
pub struct ModelContribution {
    /// Provider (`anthropic`).
    pub provider: String,
    /// Its name.
    pub model: String,
    /// The hash of the prompts.
    pub prompts: Option<String>,
    /// The hash of the instructions of the user.
    pub instructions: Option<String>,
    /// The guidelines of the project.
    pub guidelines: Vec<ProvidedGuideline>,
    /// Number of turns, including those of fallback models.
    pub turns: u32,
    /// Number of turns by model, if another one took over.
    pub answered: Vec<ModelTurns>,
    /// Tokens and money.
    pub usage: Usage,
    /// Verification; its turns and tokens are included above.
    pub second_look: Option<VerificationTotals>,
    /// Number of tool calls.
    pub tool_calls: u32,
    /// Number of failed ones.
    pub tool_errors: u32,
    /// Limits that were hit, each a sentence.
    pub limits_hit: Vec<String>,
}

impl ModelContribution {
    /// Returns the name for the origin of its findings.
    pub(in crate::review) fn name(&self) -> String {
        format!("{}/{}", self.provider, self.model)
    }
}

/// Returns the hash with which a later review recognizes the same instructions.
pub fn instructions_hash(text: &str) -> String {
    hex(&Sha256::digest(text.as_bytes()))
}

/// Returns the provenance of a review.
pub(super) fn provenance(made: ProvenanceInput) -> ReviewProvenance {
    let ProvenanceInput { engine, rules, model, started_at, took_ms, .. } = made;
    let asked = model.is_some();
    let ModelContribution {
        provider,
        model,
        prompts,
        instructions,
        guidelines,
        turns,
        answered,
        usage,
        second_look,
        ..
    } = model.unwrap_or_default();
    let (provider, model) = asked.then_some((provider, model)).unzip();
    ReviewProvenance {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        engine,
        provider,
        model,
        prompts,
        rules,
        instructions,
        guidelines,
        started_at,
        took_ms,
        turns,
        answered,
        usage,
        second_look,
    }
}
