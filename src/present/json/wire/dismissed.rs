//! Why a finding is dismissed, on the wire.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::domain::dismissal::DismissedBy;

/// Why a finding is dismissed.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(in crate::present::json) struct Dismissed {
    /// Why, one line.
    pub(in crate::present::json) reason: String,
    /// The last day on which that holds (`2027-01-31`, UTC); null for ever.
    pub(in crate::present::json) until: Option<String>,
    /// Who decided: the project, in its `.review/dismissed.toml`, or a reader of this review.
    pub(in crate::present::json) by: DismissedBy,
}
