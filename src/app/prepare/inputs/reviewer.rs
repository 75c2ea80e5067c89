//! The recorded reviewer of a run: model, context and limits. Main type: [`RecordedReviewer`].

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::super::instructions::Instructions;
use crate::domain::guideline::Guidelines;
use crate::llm::Capabilities;
use crate::prompt::{PromptError, Prompts};
use crate::review::{BudgetLimits, CostLimit, FailoverCandidate, VerificationScope, VerificationSettings};

/// A model and its context besides the change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::app) struct RecordedReviewer {
    pub(in crate::app) model: Capabilities,
    /// The limits at the start of the run, on which the layout of the change depends.
    pub(in crate::app) limits: RecordedLimits,
    /// The limits of the last session.
    pub(in crate::app) last_limits: RecordedLimits,
    /// The hash of the prompts.
    pub(in crate::app) prompts: String,
    /// All prompts: file names and texts.
    texts: Vec<(String, String)>,
    /// The random part of the delimiters in them; empty in runs of versions without it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(in crate::app) salt: String,
    /// The user's instructions and their source.
    pub(in crate::app) instructions: Option<(String, String)>,
    /// The project's guidelines.
    #[serde(default)]
    pub(in crate::app) guidelines: Guidelines,
    /// The verification model and scope.
    pub(in crate::app) second_look: Option<RecordedVerification>,
    /// The failover models in order; empty in runs of versions without failover.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(in crate::app) next: Vec<RecordedCandidate>,
}

/// A [`FailoverCandidate`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::app) struct RecordedCandidate {
    pub(in crate::app) model: Capabilities,
    pub(in crate::app) limits: RecordedLimits,
}

/// The context of a model besides the change.
#[derive(Debug, Clone, Copy)]
pub(in crate::app) struct ReviewerContext<'a> {
    pub(in crate::app) instructions: Option<&'a Instructions>,
    pub(in crate::app) guidelines: &'a Guidelines,
}

/// The recorded limits of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::app) struct RecordedLimits {
    turns: u32,
    input_tokens: u64,
    window: u64,
    max_output: u32,
    time_ms: u64,
    /// The cost limit, if set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cost: Option<CostLimit>,
}

/// The recorded settings of verification.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::app) struct RecordedVerification {
    pub(in crate::app) which: VerificationScope,
    /// The model that takes it.
    pub(in crate::app) model: Capabilities,
    pub(in crate::app) limits: RecordedLimits,
}

impl RecordedReviewer {
    pub(in crate::app) fn new(
        model: &Capabilities,
        limits: &BudgetLimits,
        prompts: &Prompts,
        ReviewerContext { instructions, guidelines }: ReviewerContext<'_>,
        second_look: Option<&VerificationSettings>,
        next: &[FailoverCandidate],
    ) -> Self {
        Self {
            model: model.clone(),
            limits: RecordedLimits::of(limits),
            last_limits: RecordedLimits::of(limits),
            prompts: prompts.hash().to_owned(),
            texts: prompts.texts().map(|(name, text)| (name.to_owned(), text)).collect(),
            salt: prompts.salt().to_owned(),
            instructions: instructions.map(|given| (given.text.clone(), given.from.clone())),
            guidelines: guidelines.clone(),
            second_look: second_look.map(|look| RecordedVerification {
                which: look.which,
                model: look.provider.capabilities().clone(),
                limits: RecordedLimits::of(&look.limits),
            }),
            next: next.iter().map(RecordedCandidate::of).collect(),
        }
    }

    /// The models as they are written on the command line.
    pub(in crate::app) fn names(&self) -> String {
        let next = self.next.iter().map(|next| next.model.name());
        std::iter::once(self.model.name()).chain(next).collect::<Vec<_>>().join(",")
    }

    /// The prompts of the run.
    pub(in crate::app) fn prompts(&self) -> Result<Prompts, PromptError> {
        Ok(Prompts::with_overrides(self.texts.clone())?.salted(&self.salt))
    }

    /// The instructions of the run.
    pub(in crate::app) fn instructions(&self) -> Option<Instructions> {
        self.instructions.clone().map(|(text, from)| Instructions { text, from })
    }
}

impl RecordedCandidate {
    fn of(runner: &FailoverCandidate) -> Self {
        Self { model: runner.provider.capabilities().clone(), limits: RecordedLimits::of(&runner.limits) }
    }
}

impl RecordedLimits {
    pub(in crate::app) fn of(limits: &BudgetLimits) -> Self {
        let BudgetLimits { turns, input_tokens, window, max_output, time, cost } = *limits;
        let time_ms = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        Self { turns, input_tokens, window, max_output, time_ms, cost }
    }

    /// Converts them for an engine.
    pub(in crate::app) fn limits(&self) -> BudgetLimits {
        let Self { turns, input_tokens, window, max_output, time_ms, cost } = *self;
        BudgetLimits { turns, input_tokens, window, max_output, time: Duration::from_millis(time_ms), cost }
    }
}
