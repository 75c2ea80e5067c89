//! The tools of the server: one file each, and the table [`tools`].

mod findings;
mod present_review;
mod pulls;
mod read_only;
mod review;

use super::tool::McpTool;

pub(super) use pulls::GROUP as PULLS;
pub(super) use review::NAME as REVIEW;

/// Returns all tools, in the order in which they are listed.
pub(super) fn tools() -> Vec<McpTool> {
    let mut tools = vec![present_review::TOOL];
    tools.extend(read_only::rows());
    tools.extend([review::tool(), findings::tool(), present_review::ALIAS]);
    tools.extend(pulls::rows());
    tools
}

#[cfg(test)]
mod tests {
    use super::super::tool_selection::ToolSelection;
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
