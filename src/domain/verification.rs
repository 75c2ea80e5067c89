//! The totals of the verification pass: outcomes and usage. Main type: [`VerificationTotals`].

use super::run::Usage;

/// The second look in numbers. Its turns and tokens are part of the whole's.
#[derive(Debug, Clone, PartialEq)]
pub struct VerificationTotals {
    /// The verifying model (`anthropic/…`).
    pub by: String,
    /// Findings that it could not refute.
    pub confirmed: u32,
    /// Findings of which it could not say.
    pub uncertain: u32,
    /// Findings that it refuted: they are withheld.
    pub refuted: u32,
    /// Findings that it was to look at, and came to no verdict on.
    pub unchecked: u32,
    /// Its turns.
    pub turns: u32,
    /// Its tokens and money.
    pub usage: Usage,
}

impl VerificationTotals {
    /// Returns the number of findings it was to look at.
    pub fn findings(&self) -> u32 {
        self.confirmed + self.uncertain + self.refuted + self.unchecked
    }
}
