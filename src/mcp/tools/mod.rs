//! The tools of the server: one file each, and the table [`tools`].

mod findings;
mod review;

use super::tool::Tool;

/// Every tool there is, in the order in which they are listed.
pub(super) fn tools() -> Vec<Tool> {
    vec![review::tool(), findings::tool()]
}
