//! What a document says of the review before. Main type: [`Compared`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The review before this one, and what of it was settled without its code being changed.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(in crate::present::json) struct Compared {
    /// Its run: a UUID.
    #[schemars(extend("format" = "uuid"))]
    pub(in crate::present::json) run: String,
    /// The findings that are fixed though their lines stand as they were: they were refuted, or their rule no longer says so.
    #[serde(default)]
    pub(in crate::present::json) disproved: Vec<String>,
}
