//! Settings of the verification of findings. Main type: [`VerificationSettings`].

use std::sync::Arc;

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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VerificationScope {
    /// The critical and the high ones.
    Worst,
    /// All.
    All,
}

impl VerificationScope {
    /// Checks whether a finding is selected.
    pub(in crate::review) fn selects(self, finding: &Finding) -> bool {
        let bad = match self {
            Self::Worst => finding.severity <= Severity::High,
            Self::All => true,
        };
        bad && finding.origin.kind == OriginKind::Model
    }
}
