//! Expected and received values as Jest, Vitest and Bun print them. Main function: [`compared_values`].
//!
//! The blocks around them belong in the files of the tools.

use super::text::LinePattern;

static EXPECTED: LinePattern = LinePattern::new(r"^\s*(?<message>Expected[^:]*:\s*\S.*)$");
static RECEIVED: LinePattern = LinePattern::new(r"^\s*(?<message>Received[^:]*:\s*\S.*)$");
static REMOVED: LinePattern = LinePattern::new(r"^\s*- (?<message>.*)$");
static ADDED: LinePattern = LinePattern::new(r"^\s*\+ (?<message>.*)$");

/// Returns both values in one line, if the lines of a failure have them; of a diff the first line of each side.
pub(super) fn compared_values(lines: &[&str]) -> Option<String> {
    let first = |pattern: &LinePattern| {
        let found = lines.iter().filter_map(|line| pattern.find(line)?.text("message"));
        found
            .filter(|text| !text.starts_with("Expected  ") && !text.starts_with("Received  "))
            .take(2)
            .collect::<Vec<_>>()
    };
    if let (Some(expected), Some(received)) = (first(&EXPECTED).first(), first(&RECEIVED).first()) {
        return Some(format!("{expected}, {received}"));
    }
    let side = |pattern, header| {
        first(pattern)
            .into_iter()
            .find(|text| *text != header)
            .map(|text| format!("{header}: {}", text.trim_end_matches(',')))
    };
    let is_diff = lines.iter().any(|line| line.trim_start().starts_with("- Expected"));
    let sides = is_diff.then(|| [side(&REMOVED, "Expected"), side(&ADDED, "Received")]);
    let text = sides?.into_iter().flatten().collect::<Vec<_>>().join(", ");
    (!text.is_empty()).then_some(text)
}
