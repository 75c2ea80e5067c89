//! What was not delivered, on the wire. Main type: [`Withheld`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A claim that was not delivered.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(in crate::present::json) struct Withheld {
    /// What it said.
    pub(in crate::present::json) title: String,
    /// Why it was not delivered.
    pub(in crate::present::json) reason: String,
}
