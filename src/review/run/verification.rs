//! Settings of the verification of findings. Main type: [`VerificationSettings`].

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::domain::finding::{Finding, OriginKind, Severity};
use crate::llm::Provider;
use crate::review::budget::BudgetLimits;

/// Settings of the verification: the model, and the findings.
#[derive(Clone)]
pub struct VerificationSettings {
    /// Findings to verify.
    pub which: VerificationScope,
    /// The model.
    pub provider: Arc<dyn Provider>,
    /// Its window and response limit. Turns, tokens and time are those of the run, of which it gets the rest.
    pub limits: BudgetLimits,
}

/// Selection of the model findings to verify.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VerificationScope {
    /// The critical and the high ones, and while budget is left the medium ones without a suggestion, which nothing else has tried.
    Auto,
    /// The critical and the high ones only, as recorded by older runs.
    Worst,
    /// All.
    All,
}

impl VerificationScope {
    /// Checks whether a finding is selected, if there is budget for it.
    pub(in crate::review) fn selects(self, finding: &Finding) -> bool {
        let is_medium = finding.severity == Severity::Medium && finding.suggestion.is_none();
        let may_be = self == Self::Auto && is_medium && finding.origin.kind == OriginKind::Model;
        may_be || self.requires(finding)
    }

    /// Checks whether budget is reserved for a finding.
    pub(in crate::review) fn requires(self, finding: &Finding) -> bool {
        let bad = match self {
            Self::Auto | Self::Worst => finding.severity <= Severity::High,
            Self::All => true,
        };
        bad && finding.origin.kind == OriginKind::Model
    }
}
