//! Who made a review and what it took. Main types: [`Made`], [`Asked`].

use sha2::{Digest as _, Sha256};

use crate::domain::guideline::GivenGuideline;
use crate::domain::id::hex;
use crate::domain::review::{Answered, Engine, Provenance, Usage};
use crate::domain::run::RunId;
use crate::domain::second_look::SecondLook;

/// Who made a review and when, for its provenance.
#[derive(Debug, Clone)]
pub struct Made {
    /// The run.
    pub run: RunId,
    /// Which engine.
    pub engine: Engine,
    /// The hash of the rule packs.
    pub rules: Option<String>,
    /// What the model took; `None` where none was asked.
    pub model: Option<Asked>,
    /// RFC 3339, UTC.
    pub started_at: String,
    /// Wall time so far, in milliseconds.
    pub took_ms: u64,
}

/// What a model did for a review, and what it took.
#[derive(Debug, Clone, Default)]
pub struct Asked {
    /// Who serves it (`anthropic`).
    pub provider: String,
    /// Its name.
    pub model: String,
    /// The hash of the prompts.
    pub prompts: Option<String>,
    /// The hash of the instructions of the user.
    pub instructions: Option<String>,
    /// The guidelines of the project.
    pub guidelines: Vec<GivenGuideline>,
    /// How many turns it had, and those who took over from it.
    pub turns: u32,
    /// Who answered how many of them, where another one took over.
    pub answered: Vec<Answered>,
    /// Tokens and money.
    pub usage: Usage,
    /// The second look; its turns and tokens are part of those above.
    pub second_look: Option<SecondLook>,
    /// How many calls of tools it made.
    pub tool_calls: u32,
    /// How many of them failed.
    pub tool_errors: u32,
    /// Limits that were hit, each a sentence.
    pub limits_hit: Vec<String>,
}

impl Asked {
    /// What its findings say of their origin.
    pub(in crate::review) fn name(&self) -> String {
        format!("{}/{}", self.provider, self.model)
    }
}

/// By what a later review knows whether a model was told the same.
pub fn instructions_hash(text: &str) -> String {
    hex(&Sha256::digest(text.as_bytes()))
}

/// What a review says about who made it.
pub(super) fn provenance(made: Made) -> Provenance {
    let Made { engine, rules, model, started_at, took_ms, .. } = made;
    let asked = model.is_some();
    let Asked { provider, model, prompts, instructions, guidelines, turns, answered, usage, second_look, .. } =
        model.unwrap_or_default();
    let (provider, model) = asked.then_some((provider, model)).unzip();
    Provenance {
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
