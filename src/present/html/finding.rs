//! A finding as values for the template. Main function: [`values`].

use minijinja::{Value, context};

use super::code::{self, CodeLine};
use super::files::ReportedFiles;
use super::{markdown, safe};
use crate::domain::finding::{Anchor, DismissalNote, Finding, OriginKind};
use crate::domain::place::DiffSide;
use crate::present::{digest, patch, report};

/// Upper bound on the places that are shown with their lines.
const MOST_PLACES: usize = 12;

/// Returns the values of a finding under its number in this report.
pub(super) fn values(number: usize, finding: &Finding, files: &ReportedFiles<'_>) -> Value {
    let mut numbers: Vec<usize> = finding.anchors.iter().filter_map(|anchor| files.number(&anchor.path)).collect();
    numbers.sort_unstable();
    numbers.dedup();
    let numbers: Vec<String> = numbers.iter().map(usize::to_string).collect();
    let patched = patch::diff_rows(finding);
    let title =
        finding.suggestion.as_ref().filter(|_| patched.is_none()).map(|suggestion| {
            format!("Suggested for {} of {}", digest::describe_lines(suggestion.lines), suggestion.path)
        });
    let rows = patched.or_else(|| finding.suggestion.as_ref().map(patch::added_rows));
    let suggestion = rows.map(|rows| {
        let lines: Vec<CodeLine<'_>> = rows.into_iter().map(CodeLine::from).collect();
        let code = if lines.is_empty() {
            "<p>The lines are removed.</p>".to_owned()
        } else {
            code::render_lines(&lines, None)
        };
        context! { title => title.unwrap_or_else(|| "Suggested change".to_owned()), code => safe(code) }
    });
    context! {
        number => number,
        severity => finding.severity.word(),
        category => finding.category.word(),
        status => finding.status.word(),
        files => numbers.join(" "),
        title => report::title(finding),
        place => finding.anchors.first().map(digest::place).unwrap_or_default(),
        mark => finding.describe_mark(),
        facts => facts(finding),
        body => safe(markdown::render(&finding.body)),
        places => finding.anchors.iter().take(MOST_PLACES).map(|anchor| place(anchor, files)).collect::<Vec<_>>(),
        more_places => finding.anchors.len().saturating_sub(MOST_PLACES),
        suggestion => suggestion,
        rationale => digest::rationale(finding).map(|text| safe(markdown::render(&text))),
        dismissed => finding.dismissed.as_ref().map(DismissalNote::describe),
    }
}

fn place(anchor: &Anchor, files: &ReportedFiles<'_>) -> Value {
    let side = if anchor.side == DiffSide::Old { "before the change" } else { "" };
    let note = digest::place_note(anchor);
    let shown = match (anchor.lines, files.diff(&anchor.path).and_then(|diff| code::around(diff, anchor))) {
        (None, _) => String::new(),
        (Some(lines), Some(diff)) => code::render_lines(diff, Some((anchor.side, lines))),
        (Some(_), None) => {
            let lines: Vec<CodeLine<'_>> = patch::quoted_rows(anchor).into_iter().map(CodeLine::from).collect();
            code::render_lines(&lines, None)
        }
    };
    context! {
        name => digest::place(anchor),
        note => if note.is_empty() { side } else { note },
        file => files.changed_number(&anchor.path),
        code => safe(shown),
        masked => anchor.masked,
    }
}

/// Returns the facts that are neither the severity nor the place.
fn facts(finding: &Finding) -> Vec<String> {
    let name = &finding.origin.name;
    let origin = match finding.origin.kind {
        _ if name.is_empty() => None,
        OriginKind::Rule => Some(format!("rule {name}")),
        OriginKind::Build => Some(format!("reported by {name}")),
        OriginKind::Model => None,
    };
    let confidence = finding.confidence.map(|confidence| format!("confidence {}/10", confidence.value()));
    let guideline = finding.guideline.as_ref().map(|guideline| format!("see {}:{}", guideline.path, guideline.line));
    let id = Some(format!("id {}", finding.id));
    [origin, confidence, guideline, digest::carried(finding), id].into_iter().flatten().collect()
}
