//! The selection of tools that a server offers (`--tools`). Main type: [`ToolSelection`].
//!
//! What needs the table of tools stands beside it, in `tools`.

/// The selected tools, and their permissions.
#[derive(Clone)]
pub struct ToolSelection {
    pub(super) names: Vec<&'static str>,
    /// The choice for pull requests as a whole, if one was made.
    pub(super) pulls: Option<bool>,
    /// `true` if clients may change saved reviews.
    pub allow_write: bool,
}

/// A name that no tool has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "there is no tool {name:?} to offer; --tools takes default, all, pr and {known}, each with - before it to leave it out"
)]
pub struct UnknownTool {
    /// The name that was given.
    pub name: String,
    /// The valid names.
    pub known: String,
}

/// Reasons why there is nothing to offer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ToolSelectionFault {
    /// A name that no tool has.
    #[error(transparent)]
    Unknown(#[from] UnknownTool),
    /// Everything was left out.
    #[error("--tools {0} leaves out every tool: name those to keep, as in --tools default,-review")]
    Nothing(String),
}

impl ToolSelection {
    /// Checks whether clients may read pull requests: as `--tools` says. By default only the one client that starts the server itself may,
    /// because anything it could request with the server's token it could request without the server.
    pub fn serves_pulls(&self, to_whoever_connects: bool) -> bool {
        self.pulls.unwrap_or(!to_whoever_connects)
    }
}
