//! The recorded reviewer of a run: model, context and limits. Main type: [`RecordedReviewer`].

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::super::instructions::Instructions;
use crate::domain::guideline::Guidelines;
use crate::llm::{Capabilities, Prices};
use crate::prompt::{PromptError, Prompts};
use crate::review::{BudgetLimits, CostLimit, FailoverCandidate, VerificationScope, VerificationSettings};

/// A model and its context besides the change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::app) struct RecordedReviewer {
    /// The model.
    pub(in crate::app) model: RecordedModel,
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
    /// The model.
    pub(in crate::app) model: RecordedModel,
    /// Its limits.
    pub(in crate::app) limits: RecordedLimits,
}

/// The context of a model besides the change.
#[derive(Debug, Clone, Copy)]
pub(in crate::app) struct ReviewerContext<'a> {
    pub(in crate::app) instructions: Option<&'a Instructions>,
    pub(in crate::app) guidelines: &'a Guidelines,
}

/// A model as its provider identifies it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::app) struct RecordedModel {
    provider: String,
    model: String,
    context_window: u64,
    max_output: u32,
    /// `true` if it was assumed to support tool calls, as in runs of versions that did not record it.
    #[serde(default = "calls_tools", skip_serializing_if = "is_so")]
    tools: bool,
    /// Its prices at the time, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    prices: Option<Prices>,
}

const fn calls_tools() -> bool {
    true
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde asks for it")]
const fn is_so(it: &bool) -> bool {
    *it
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
    which: RecordedVerifyScope,
    /// The model that takes it.
    pub(in crate::app) model: RecordedModel,
    limits: RecordedLimits,
}

/// The recorded choice of the findings to verify.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum RecordedVerifyScope {
    Worst,
    All,
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
            model: RecordedModel::of(model),
            limits: RecordedLimits::of(limits),
            last_limits: RecordedLimits::of(limits),
            prompts: prompts.hash().to_owned(),
            texts: prompts.texts().map(|(name, text)| (name.to_owned(), text)).collect(),
            salt: prompts.salt().to_owned(),
            instructions: instructions.map(|given| (given.text.clone(), given.from.clone())),
            guidelines: guidelines.clone(),
            second_look: second_look.map(|look| RecordedVerification {
                which: match look.which {
                    VerificationScope::Worst => RecordedVerifyScope::Worst,
                    VerificationScope::All => RecordedVerifyScope::All,
                },
                model: RecordedModel::of(look.provider.capabilities()),
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
        let model = RecordedModel::of(runner.provider.capabilities());
        Self { model, limits: RecordedLimits::of(&runner.limits) }
    }
}

impl RecordedModel {
    fn of(model: &Capabilities) -> Self {
        let Capabilities { provider, model, context_window, max_output, tools, prices } = model.clone();
        Self { provider: provider.to_string(), model, context_window, max_output, tools, prices }
    }

    /// Formats it as on the command line.
    pub(in crate::app) fn name(&self) -> String {
        format!("{}/{}", self.provider, self.model)
    }

    /// The context window in tokens, for a request and its response together.
    pub(in crate::app) fn context_window(&self) -> u64 {
        self.context_window
    }

    /// Converts it for an engine.
    pub(in crate::app) fn capabilities(&self) -> Capabilities {
        let Self { provider, model, context_window, max_output, tools, prices } = self.clone();
        Capabilities { provider: provider.into(), model, context_window, max_output, tools, prices }
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

impl RecordedVerification {
    /// Returns the scope of verification and its limits.
    pub(in crate::app) fn parts(&self) -> (VerificationScope, BudgetLimits) {
        let which = match self.which {
            RecordedVerifyScope::Worst => VerificationScope::Worst,
            RecordedVerifyScope::All => VerificationScope::All,
        };
        (which, self.limits.limits())
    }
}
