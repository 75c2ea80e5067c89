//! A finding in a list: what an assistant needs to decide which one to read. Main functions: [`render`], [`schema`].

use serde_json::{Map, Value, json};

use crate::domain::finding::Finding;
use crate::domain::place::DiffSide;
use crate::domain::text::strip_line;

/// Renders a finding.
pub(super) fn render(finding: &Finding) -> Value {
    let mut line = Map::new();
    let mut set = |name: &str, value: Value| line.insert(name.to_owned(), value);
    set("id", strip_line(&finding.id.0).into());
    set("severity", finding.severity.word().into());
    set("prominence", finding.prominence.word().into());
    set("category", finding.category.word().into());
    set("title", strip_line(&finding.title).into());
    let anchor = finding.anchors.first();
    set("path", anchor.map(|anchor| anchor.path.to_string()).unwrap_or_default().into());
    if let Some(lines) = anchor.and_then(|anchor| anchor.lines) {
        let (start, end) = (lines.start(), lines.end());
        set("lines", if start == end { start.to_string() } else { format!("{start}-{end}") }.into());
    }
    if anchor.is_some_and(|anchor| anchor.side == DiffSide::Old) {
        set("side", "old".into());
    }
    set("status", finding.status.word().into());
    if let Some(mark) = finding.mark() {
        set("verification", mark.into());
    }
    Value::Object(line)
}

/// Returns the JSON Schema of [`render`].
pub(super) fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "id": { "type": "string" },
            "severity": { "type": "string" },
            "prominence": { "type": "string", "description": "main, or also for a minor one." },
            "category": { "type": "string" },
            "title": { "type": "string" },
            "path": { "type": "string" },
            "lines": { "type": "string", "description": "12 or 12-14, at the head; without it, the whole file." },
            "side": { "type": "string", "description": "old: the lines are those before the change." },
            "status": { "type": "string", "description": "fixed and dismissed ones ask for nothing any more." },
            "verification": { "type": "string", "description": "Where one was asked for: verified, uncertain or not verified." }
        },
        "required": ["id", "severity", "category", "title", "path", "status"]
    })
}
