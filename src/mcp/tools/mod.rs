//! The tools of the server: one file each, and the table [`tools`].

mod findings;
mod present_review;
mod review;

use super::tool::Tool;

/// Every tool there is, in the order in which they are listed.
pub(super) fn tools() -> Vec<Tool> {
    vec![present_review::TOOL, present_review::ALIAS, review::tool(), findings::tool()]
}
