//! Wire type of the previous review. Main type: [`PreviousReviewJson`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The previous review, and its findings that were settled without a change of their code.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Compared")]
pub(in crate::present::json) struct PreviousReviewJson {
    /// Its run: a UUID.
    #[schemars(extend("format" = "uuid"))]
    pub(in crate::present::json) run: String,
    /// Findings that are over though their lines did not change: they were refuted, or their rule no longer matches.
    #[serde(default)]
    pub(in crate::present::json) disproved: Vec<String>,
}
