//! The selection of tools that a server offers (`--tools`). Main type: [`ToolSelection`].

use super::tool::McpTool;
use super::tools;

/// The selected tools, and their permissions.
#[derive(Clone)]
pub struct ToolSelection {
    names: Vec<&'static str>,
    /// The choice for pull requests as a whole, if one was made.
    pulls: Option<bool>,
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
    /// Selects the named tools, in the order of the table. `default`, `all` and `pr` stand for several, `-name` removes one of those before
    /// it; no name at all is `default`, and so is a list that only removes. `-pr` removes the resources `pr://` as well.
    pub fn new(words: &[String], allow_write: bool) -> Result<Self, ToolSelectionFault> {
        let all = tools::tools();
        let (mut chosen, mut pulls): (Vec<&'static str>, _) = (Vec::new(), None);
        if words.iter().all(|word| word.starts_with('-')) {
            chosen.extend(all.iter().filter(|tool| tool.by_default).map(|tool| tool.name));
        }
        for word in words {
            let (leave_out, name) = word.strip_prefix('-').map_or((false, word.as_str()), |name| (true, name));
            let named: Vec<&'static str> = match name {
                "all" => all.iter().map(|tool| tool.name).collect(),
                "default" => all.iter().filter(|tool| tool.by_default).map(|tool| tool.name).collect(),
                tools::PULLS => {
                    pulls = Some(!leave_out);
                    all.iter().filter(|tool| tool.group == Some(tools::PULLS)).map(|tool| tool.name).collect()
                }
                name => {
                    let tool = all.iter().find(|tool| tool.name == name).ok_or_else(|| UnknownTool {
                        name: name.to_owned(),
                        known: all.iter().map(|tool| tool.name).collect::<Vec<_>>().join(", "),
                    })?;
                    vec![tool.name]
                }
            };
            if leave_out {
                chosen.retain(|name| !named.contains(name));
            } else {
                chosen.extend(named);
            }
        }
        let names: Vec<_> = all.iter().map(|tool| tool.name).filter(|name| chosen.contains(name)).collect();
        if names.is_empty() {
            return Err(ToolSelectionFault::Nothing(words.join(",")));
        }
        let asked = all.iter().any(|tool| tool.group == Some(tools::PULLS) && names.contains(&tool.name));
        Ok(Self { names, pulls: pulls.or(asked.then_some(true)), allow_write })
    }

    /// Checks whether clients can start reviews.
    pub fn offers_reviews(&self) -> bool {
        self.names.contains(&tools::REVIEW)
    }

    /// Checks whether clients may read pull requests: as `--tools` says. By default only the one client that starts the server itself may,
    /// because anything it could request with the server's token it could request without the server.
    pub fn serves_pulls(&self, to_whoever_connects: bool) -> bool {
        self.pulls.unwrap_or(!to_whoever_connects)
    }

    /// Finds the tool that a client calls: a listed one, or an alias of one.
    pub(super) fn find(&self, name: &str) -> Option<McpTool> {
        let tool = tools::tools().into_iter().find(|tool| tool.name == name)?;
        let listed = |name: &str| self.names.contains(&name);
        (listed(tool.name) || tool.alias_of.is_some_and(listed)).then_some(tool)
    }

    /// Returns the listed tools.
    pub(super) fn tools(&self) -> Vec<McpTool> {
        tools::tools().into_iter().filter(|tool| self.names.contains(&tool.name)).collect()
    }
}
