//! The list of guidelines, and those of one file: for people, and as JSON. Main functions: [`list`], [`page`].

use serde_json::{Value, json};

use crate::domain::guideline::{GuidelineOrigin, GuidelineSource};
use crate::domain::guideline_info::{ApplicableGuideline, GuidelinesReport, ListedGuideline};
use crate::domain::text::{count_noun, strip_line};

/// The version of the JSON.
const SCHEMA: &str = "review-guidelines/1";

/// Names the source of the guidelines, as the start of a sentence.
fn read_from(from: Option<&str>) -> String {
    from.map_or_else(|| "nowhere: there is no target to read them from".to_owned(), str::to_owned)
}

/// Renders the guidelines of one file.
pub fn page(told: &GuidelinesReport) -> String {
    let mut out = format!("{}\nguidelines read {}\n", told.file, read_from(told.from.as_deref()));
    if told.applies.is_empty() {
        out.push_str("\nnone applies\n");
    } else {
        out.push_str("\napply, the nearest to the file last:\n");
    }
    for ApplicableGuideline { guideline, .. } in &told.applies {
        let lines = if guideline.is_cut() {
            format!("lines {} to {} of {}", guideline.first, guideline.last_line(), guideline.lines)
        } else {
            count_noun(guideline.text.lines().count(), "line")
        };
        out.push_str(&format!("  {}  {lines}, {} bytes\n", guideline.path, guideline.text.len()));
        for reach in guideline.reach.iter().filter(|reach| reach.applies.has(&told.file)) {
            out.push_str(&format!("      {}\n", describe_reach(reach)));
        }
    }
    if !told.passed_over.is_empty() {
        out.push_str("\ndo not apply:\n");
    }
    for (path, why) in &told.passed_over {
        out.push_str(&format!("  {}: {}\n", strip_line(path), strip_line(why)));
    }
    if !told.notes.is_empty() {
        out.push_str("\na review says of them:\n");
    }
    for note in &told.notes {
        out.push_str(&format!("  {}\n", strip_line(note)));
    }
    out
}

fn describe_reach(reach: &GuidelineOrigin) -> String {
    let applies = format!("{}: applies to {}", reach.kind.as_str(), strip_line(&reach.applies.describe()));
    match &reach.via {
        None => applies,
        Some(GuidelineSource::Import { path, line }) => format!("{applies}; imported by {path}:{line}"),
        Some(GuidelineSource::Link(name)) => format!("{applies}; {name} is a link to it"),
    }
}

/// Renders the guidelines of one file as a document.
pub fn page_json(told: &GuidelinesReport) -> String {
    let reached = |reached: &ApplicableGuideline| {
        let ApplicableGuideline { guideline, kinds } = reached;
        let reach = guideline.reach.iter().map(|reach| {
            let via = match &reach.via {
                None => Value::Null,
                Some(GuidelineSource::Import { path, line }) => json!({ "import": { "path": path, "line": line } }),
                Some(GuidelineSource::Link(name)) => json!({ "link": name }),
            };
            let applies_to_file = reach.applies.has(&told.file);
            json!({ "kind": reach.kind, "applies_to": reach.applies.describe(), "applies": applies_to_file, "via": via })
        });
        json!({
            "path": guideline.path, "kinds": kinds, "first_line": guideline.first, "last_line": guideline.last_line(),
            "lines": guideline.lines, "bytes": guideline.text.len(), "cut": guideline.is_cut(), "why": reach.collect::<Vec<_>>(),
        })
    };
    let passed_over = told.passed_over.iter().map(|(path, why)| json!({ "path": path, "why": why }));
    let all = json!({
        "schema": SCHEMA, "file": told.file, "from": told.from, "apply": told.applies.iter().map(reached).collect::<Vec<_>>(),
        "do_not_apply": passed_over.collect::<Vec<_>>(), "notes": told.notes,
    });
    format!("{all:#}\n")
}

/// Renders all guidelines, one line for each; `from` is their source.
pub fn list(from: Option<&str>, all: &[ListedGuideline]) -> String {
    let mut out = format!("guidelines read {}\n", read_from(from));
    if all.is_empty() {
        out.push_str("there are none\n");
    }
    let width = all.iter().map(|one| one.path.to_string().chars().count()).max().unwrap_or(0).min(60);
    for ListedGuideline { path, kind, applies } in all {
        let applies = match applies {
            Ok(applies) => format!("applies to {}", strip_line(applies)),
            Err(why) => format!("not used: {}", strip_line(why)),
        };
        out.push_str(&format!("  {:width$}  {:7}  {applies}\n", path.to_string(), kind.as_str()));
    }
    out
}

/// Renders all guidelines as a document.
pub fn list_json(from: Option<&str>, all: &[ListedGuideline]) -> String {
    let one = |one: &ListedGuideline| {
        let (applies, why_not) = (one.applies.as_ref().ok(), one.applies.as_ref().err());
        json!({ "path": one.path, "kind": one.kind, "applies_to": applies, "not_used": why_not })
    };
    format!("{:#}\n", json!({ "schema": SCHEMA, "from": from, "guidelines": all.iter().map(one).collect::<Vec<_>>() }))
}
