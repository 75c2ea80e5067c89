//! The totals of the verification pass: outcomes and usage. Main type: [`VerificationTotals`].

use serde::{Deserialize, Serialize};

use super::run::Usage;

/// The results and cost of verification.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[schemars(rename = "SecondLook")]
pub struct VerificationTotals {
    /// The verifying model, as `--verify-model` names it.
    pub by: String,
    /// Number of confirmed findings.
    pub confirmed: u32,
    /// Number of uncertain findings.
    pub uncertain: u32,
    /// Number of refuted findings: they are among the withheld ones.
    pub refuted: u32,
    /// Number of findings without a verdict.
    pub unchecked: u32,
    /// Its turns.
    pub turns: u32,
    /// Its tokens and cost.
    pub usage: Usage,
}

impl VerificationTotals {
    /// Returns the number of findings it was to look at.
    pub fn findings(&self) -> u32 {
        self.confirmed + self.uncertain + self.refuted + self.unchecked
    }
}
