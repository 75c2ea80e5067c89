//! The tools of the server: one file each, and the table [`tools`].

mod build;
mod finding_line;
mod findings;
mod get_selection;
mod present_review;
mod pulls;
mod read_only;
mod review;

use super::tool::McpTool;
use super::tool_selection::{ToolSelection, ToolSelectionFault, UnknownTool};
use pulls::GROUP as PULLS;

/// Returns all tools, in the order in which they are listed.
pub(super) fn tools() -> Vec<McpTool> {
    let mut tools = vec![present_review::TOOL];
    tools.extend(read_only::rows());
    tools.extend([review::tool(), findings::tool(), present_review::ALIAS, get_selection::TOOL, build::TOOL]);
    tools.extend(pulls::rows());
    tools
}

impl ToolSelection {
    /// Selects the named tools, in the order of the table. `default`, `all` and `pr` stand for several (none of them for `build`, which runs
    /// programs of the repository, and `get_selection`, which needs an editor), `-name` removes one of those before
    /// it; no name at all is `default`, and so is a list that only removes. `-pr` removes the resources `pr://` as well.
    pub fn new(words: &[String], allow_write: bool) -> Result<Self, ToolSelectionFault> {
        let all = tools();
        let (mut chosen, mut pulls): (Vec<&'static str>, _) = (Vec::new(), None);
        if words.iter().all(|word| word.starts_with('-')) {
            chosen.extend(all.iter().filter(|tool| tool.by_default).map(|tool| tool.name));
        }
        for word in words {
            let (leave_out, name) = word.strip_prefix('-').map_or((false, word.as_str()), |name| (true, name));
            let named: Vec<&'static str> = match name {
                "all" => {
                    let by_name = [build::TOOL.name, get_selection::TOOL.name];
                    all.iter().map(|tool| tool.name).filter(|name| !by_name.contains(name)).collect()
                }
                "default" => all.iter().filter(|tool| tool.by_default).map(|tool| tool.name).collect(),
                PULLS => {
                    pulls = Some(!leave_out);
                    all.iter().filter(|tool| tool.group == Some(PULLS)).map(|tool| tool.name).collect()
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
        let asked = all.iter().any(|tool| tool.group == Some(PULLS) && names.contains(&tool.name));
        Ok(Self { names, pulls: pulls.or(asked.then_some(true)), allow_write })
    }

    /// Also selects the tools that need an editor, unless `words` leave them out.
    #[must_use]
    pub fn with_editor(mut self, words: &[String]) -> Self {
        let name = get_selection::TOOL.name;
        if !self.names.contains(&name) && !words.iter().any(|word| word.strip_prefix('-') == Some(name)) {
            self.names.push(name);
        }
        self
    }

    /// Checks whether clients can start reviews.
    pub fn offers_reviews(&self) -> bool {
        self.names.contains(&review::NAME)
    }

    /// Finds the tool that a client calls: a listed one, or an alias of one.
    pub(super) fn find(&self, name: &str) -> Option<McpTool> {
        let tool = tools().into_iter().find(|tool| tool.name == name)?;
        let listed = |name: &str| self.names.contains(&name);
        (listed(tool.name) || tool.alias_of.is_some_and(listed)).then_some(tool)
    }

    /// Returns the listed tools.
    pub(super) fn tools(&self) -> Vec<McpTool> {
        tools().into_iter().filter(|tool| self.names.contains(&tool.name)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mcp::tool::ToolHints;

    /// Upper bound on the cost of each request to a client: names, descriptions and input schemas of the default tools, in tokens of
    /// `o200k_base`.
    const MOST: usize = 1500;
    /// The share of the reading tools in it; the others need the rest.
    const MOST_READING: usize = 760;

    fn cost(tool: &McpTool, offer: &ToolSelection) -> usize {
        let schema = (tool.input)(tool.name, offer).to_string();
        let count = |text: &str| tiktoken_rs::o200k_base_singleton().count_ordinary(text);
        count(tool.name) + count(&tool.description) + count(&schema)
    }

    #[test]
    fn the_default_tools_cost_little() {
        let offer = ToolSelection::new(&[], false).unwrap();
        let costs: Vec<_> = offer.tools().iter().map(|tool| (tool.name, cost(tool, &offer))).collect();
        let sum = |costs: &mut dyn Iterator<Item = &(&str, usize)>| costs.map(|(_, cost)| cost).sum::<usize>();
        assert!(sum(&mut costs.iter()) <= MOST, "{} tokens in all: {costs:?}", sum(&mut costs.iter()));
        let reads = |name: &str| crate::tools::TOOLS.iter().any(|tool| tool.name == name);
        let reading = sum(&mut costs.iter().filter(|(name, _)| reads(name)));
        assert!(reading <= MOST_READING, "{reading} tokens for reading: {costs:?}");
    }

    #[test]
    fn a_server_that_may_not_write_says_so_of_what_it_offers() {
        for allow_write in [false, true] {
            let offer = ToolSelection::new(&[], allow_write).unwrap();
            let keeps = |tool: &McpTool| (tool.hints)(&offer) == ToolHints::Keeps;
            let names: Vec<_> = offer.tools().iter().filter(|tool| keeps(tool)).map(|tool| tool.name).collect();
            assert_eq!(names.contains(&"findings"), allow_write, "{names:?}");
        }
    }

    #[test]
    fn every_schema_is_one_and_is_about_an_object() {
        let offer = ToolSelection::new(&["all".to_owned()], true).unwrap();
        for tool in offer.tools() {
            for schema in [(tool.input)(tool.name, &offer), (tool.output)(tool.name)] {
                jsonschema::draft202012::meta::validate(&schema)
                    .unwrap_or_else(|error| panic!("{}: {error}", tool.name));
                assert_eq!(schema["type"], "object", "{}: {schema}", tool.name);
            }
        }
    }
}
