//! Tool catalogue of the text protocol. Main function: [`describe_tools`].

use super::kind::{FieldKind, ToolField, ToolFields};
use crate::llm::turn::ToolDefinition;

/// Describes all tools, in their order; the same for the same tools, byte for byte.
pub(super) fn describe_tools(tools: &[ToolDefinition]) -> String {
    let mut text = "# Tools\n".to_owned();
    for tool in tools {
        let about = tool.description.split_whitespace().collect::<Vec<_>>().join(" ");
        text.push_str(&format!("\n## {}\n{about}\nFields:\n", tool.name));
        let fields = ToolFields::of(&tool.schema);
        if fields.0.is_empty() {
            text.push_str("- none\n");
        }
        for field in &fields.0 {
            describe(&mut text, "", field);
        }
    }
    text
}

fn describe(text: &mut String, within: &str, field: &ToolField) {
    let ToolField { name, kind, required, about } = field;
    let holds = match kind {
        FieldKind::Text => "text".to_owned(),
        FieldKind::Word(words) => format!("one of: {}", words.join(", ")),
        FieldKind::Scalar(word) => (*word).to_owned(),
        FieldKind::Json => "JSON".to_owned(),
        FieldKind::Objects(_) => "a list".to_owned(),
    };
    let needed = if *required { ", required" } else { "" };
    let about = if about.is_empty() { String::new() } else { format!(": {about}") };
    text.push_str(&format!("- `{within}{name}` ({holds}{needed}){about}\n"));
    if let FieldKind::Objects(fields) = kind {
        for inner in &fields.0 {
            describe(text, &format!("{name}."), inner);
        }
    }
}
