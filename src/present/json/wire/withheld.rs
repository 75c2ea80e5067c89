//! Wire type of a withheld claim. Main type: [`WithheldClaimJson`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A claim that was withheld.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Withheld")]
pub(in crate::present::json) struct WithheldClaimJson {
    /// The title of the claim.
    pub(in crate::present::json) title: String,
    /// The reason why it was withheld.
    pub(in crate::present::json) reason: String,
}
