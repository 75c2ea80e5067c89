//! `review://presented/{id}`: documents that assistants presented, as Markdown, and their references as JSON.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{LOCAL, ListedResource, ReadFault, ResourceFamily, ResourceText, UriTemplate};
use crate::app::{self, ChangeNotice, PresentFault, ReferenceStyle, Service};
use crate::domain::place::LineRange;
use crate::domain::presented::{CheckedRef, DocumentId, Presented, RefForm};

const ROOT: &str = "review://presented/";
const REFERENCES: &str = "/references";
const MARKDOWN: &str = "text/markdown";
const JSON: &str = "application/json";
/// Upper bound on listed documents; the others can be requested by their ids.
const LISTED: usize = 100;

pub(super) const FAMILY: ResourceFamily = ResourceFamily {
    templates: &[
        UriTemplate {
            uri: "review://presented/{id}",
            name: "Presented review",
            description: "What present_review shows: Markdown, with links to the files that were found",
            mime: MARKDOWN,
        },
        UriTemplate {
            uri: "review://presented/{id}/references",
            name: "References of a presented review",
            description: "The file references in it, and what became of each",
            mime: JSON,
        },
    ],
    list,
    read,
    complete,
    changed,
    ..LOCAL
};

/// Returns the URI of a document.
pub(in crate::mcp) fn uri(id: DocumentId) -> String {
    format!("{ROOT}{id}")
}

fn list(service: &Service) -> Result<Vec<ListedResource>, ReadFault> {
    let records = service.documents().map_err(|fault| fault_of(&fault))?;
    let listed = records.into_iter().take(LISTED).map(|record| {
        let title = if record.title.is_empty() { "Presented review".to_owned() } else { record.title };
        let broken = if record.broken == 0 { String::new() } else { format!(", {} of them broken", record.broken) };
        ListedResource {
            uri: uri(record.id),
            name: title,
            description: format!(
                "Presented for {}; {} file references{broken}",
                record.base.display(),
                record.references
            ),
            mime: MARKDOWN,
            changed: Some(record.changed_at),
        }
    });
    Ok(listed.collect())
}

fn read(service: &Service, uri: &str) -> Option<Result<ResourceText, ReadFault>> {
    let rest = uri.strip_prefix(ROOT)?;
    let (id, references) = rest.strip_suffix(REFERENCES).map_or((rest, false), |id| (id, true));
    let id: DocumentId = match id.parse() {
        Ok(id) => id,
        Err(fault) => return Some(Err(ReadFault::NotFound(format!("{uri:?}: {fault}")))),
    };
    let presented = match service.document(id) {
        Ok(presented) => presented,
        Err(fault) => return Some(Err(fault_of(&fault))),
    };
    Some(Ok(if references {
        ResourceText { mime: JSON, text: format!("{:#}", references_of(&presented)) }
    } else {
        ResourceText { mime: MARKDOWN, text: app::render_document(&presented, &ReferenceStyle::Fragment) }
    }))
}

fn fault_of(fault: &PresentFault) -> ReadFault {
    match fault {
        PresentFault::Unknown(_) | PresentFault::Elsewhere(_) => ReadFault::NotFound(fault.to_string()),
        _ => ReadFault::Failed(fault.to_string()),
    }
}

fn references_of(presented: &Presented) -> Value {
    let references: Vec<Value> = presented.references.iter().map(reference).collect();
    json!({
        "reviewId": presented.id.to_string(),
        "base": presented.base.display().to_string(),
        "total": presented.references.len(),
        "broken": presented.broken_references().count(),
        "references": references,
    })
}

fn reference(reference: &CheckedRef) -> Value {
    let form = match reference.form {
        RefForm::Link => "link",
        RefForm::Rustdoc => "rustdoc",
        RefForm::Plain => "plain",
        RefForm::Dialectic => "dialectic",
    };
    let lines = |lines: Option<LineRange>| lines.map(|lines| json!({ "start": lines.start(), "end": lines.end() }));
    match &reference.found {
        Ok(place) => json!({
            "form": form, "text": reference.text, "path": place.path.display_name(), "lines": lines(place.lines), "preview": place.preview,
        }),
        Err(broken) => json!({
            "form": form, "text": reference.text, "path": reference.to.path, "lines": lines(reference.to.lines),
            "why": broken.why, "near": broken.near,
        }),
    }
}

fn complete(service: &Service, template: &str, variable: &str, typed: &str) -> Vec<String> {
    if variable != "id" || !template.starts_with(ROOT) {
        return Vec::new();
    }
    let ids = service.documents().unwrap_or_default().into_iter().map(|record| record.id.to_string());
    ids.filter(|id| id.starts_with(&typed.to_ascii_lowercase())).collect()
}

fn changed(_: &Service, changed: &ChangeNotice, _: &BTreeSet<String>) -> Vec<String> {
    match changed {
        ChangeNotice::Document(id) => vec![uri(*id), format!("{}{REFERENCES}", uri(*id))],
        ChangeNotice::Review(_) | ChangeNotice::Pull(_) | ChangeNotice::Pulls(_) | ChangeNotice::List => Vec::new(),
    }
}

#[cfg(test)]
mod tests;
