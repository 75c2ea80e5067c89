//! Wire type of a finding's dismissal.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::domain::finding::DismissedBy;

/// The dismissal of a finding.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Dismissed")]
pub(in crate::present::json) struct DismissalJson {
    /// The reason, in one line.
    pub(in crate::present::json) reason: String,
    /// The last day on which it applies (`2027-01-31`, UTC); null means forever.
    pub(in crate::present::json) until: Option<String>,
    /// The origin of the dismissal: the project, in its `.review/dismissed.toml`, or a reader of this review.
    pub(in crate::present::json) by: DismissedBy,
}
