//! The review as GitHub-flavoured Markdown: a table of the main findings if they are many, then each of them, the others as one line each, then
//! the receipt.
//!
//! Every text that is not ours goes through `safe`, which leaves no HTML, no image, no link, no mention and no table cell of its own. Links
//! into a forge and the limits of its comments do not belong here.

pub(crate) mod escape;

use std::fmt::Write as _;

use super::patch::{self, DiffRow};
use super::{Presenter, RenderOptions, Syntax, digest};
use crate::domain::finding::{Finding, FindingStatus, OriginKind, Severity};
use crate::domain::path::RepoPath;
use crate::domain::review::{Review, ReviewOutcome};
use escape::{cell_code, code, fenced, inline, prose, table_cell};

/// The presenter of this file.
pub(super) const PRESENTER: Presenter = Presenter { name: "markdown", extension: "md", syntax: Syntax::Plain, render };

/// Number of code lines shown for one quote.
const CODE_LINES: usize = 60;

fn render(review: &Review, options: &RenderOptions) -> Vec<u8> {
    let mut out = String::new();
    head(&mut out, review);
    let numbered: Vec<(usize, &Finding)> = (1..).zip(review.main_findings()).collect();
    if numbered.len() > digest::MOST_WITHOUT_TABLE {
        table(&mut out, &numbered);
        out.push_str("## Details\n\n");
    } else if !numbered.is_empty() {
        out.push_str("## Findings\n\n");
    }
    for (number, finding) in &numbered {
        details(&mut out, *number, finding, options.why);
    }
    let also: Vec<String> = review.also_noticed().map(render_line).collect();
    if !also.is_empty() {
        let _ = write!(out, "## {}\n\n{}\n", digest::ALSO_NOTICED, also.concat());
    }
    render_resolved(&mut out, review);
    for section in &review.sections {
        let _ = write!(out, "## {}\n\n{}\n\n", inline(&section.title), prose(&section.body));
    }
    render_receipt(&mut out, review);
    out.truncate(out.trim_end().len());
    out.push('\n');
    out.into_bytes()
}

fn head(out: &mut String, review: &Review) {
    let _ = write!(out, "# Code review\n\n**{}**\n\n", digest::verdict(review));
    render_provenance(out, review);
    render_outcome(out, review, usize::MAX);
    if let Some(summary) = digest::summary(review) {
        let _ = write!(out, "## Summary\n\n{}\n\n", prose(summary));
    }
}

/// Renders the change and the reviewer.
pub(super) fn render_provenance(out: &mut String, review: &Review) {
    let change = &review.change;
    let size = digest::size(change).join(", ");
    let (repository, names) = (inline(&change.repository), code(&digest::change_names(change)));
    let _ = write!(out, "{repository}: {names} ({size}), {}.\n\n", inline(&digest::reviewer(review)));
    if let Some((name, title)) = digest::pull(change) {
        let _ = write!(out, "Pull request {}: {}\n\n", code(&name), inline(title));
    }
}

/// Renders that a review is not complete, with at most `most` of its reasons; nothing if it is complete.
pub(super) fn render_outcome(out: &mut String, review: &Review, most: usize) {
    match review.outcome {
        ReviewOutcome::Complete => {}
        ReviewOutcome::Incomplete => {
            let _ = writeln!(out, "> ⚠️ **Incomplete**: {}.", digest::incomplete_label(review));
        }
        ReviewOutcome::Failed => {
            let _ = writeln!(out, "> ⛔ **Failed**: {}.", digest::nothing(review).to_lowercase());
        }
    }
    if review.outcome != ReviewOutcome::Complete {
        for reason in review.reasons.iter().take(most) {
            let _ = writeln!(out, "> - {}", inline(reason));
        }
        if review.reasons.len() > most {
            let _ = writeln!(out, "> - and {} more reasons", review.reasons.len() - most);
        }
        out.push('\n');
    }
}

pub(super) fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Critical => "🔴 critical",
        Severity::High => "🟠 high",
        Severity::Medium => "🟡 medium",
        Severity::Low => "🟢 low",
        Severity::Nit => "⚪ nit",
    }
}

fn table(out: &mut String, findings: &[(usize, &Finding)]) {
    out.push_str(TABLE);
    for (number, finding) in findings {
        render_row(out, *number, finding);
    }
    out.push('\n');
}

/// The heading of the table of findings and of its columns.
pub(super) const TABLE: &str = "## Findings\n\n| # | Severity | Location | Title |\n| ---: | --- | --- | --- |\n";

/// Renders a row of the table.
pub(super) fn render_row(out: &mut String, number: usize, finding: &Finding) {
    let place = finding.anchors.first().map(digest::place).unwrap_or_default();
    let more = finding.anchors.len().saturating_sub(1);
    let _ = writeln!(
        out,
        "| {number} | {} | {}{} | {} |",
        severity(finding.severity),
        cell_code(&place),
        if more > 0 { format!(" (+{more})") } else { String::new() },
        table_cell(title(finding)),
    );
}

fn title(finding: &Finding) -> &str {
    if finding.title.trim().is_empty() { "(no title)" } else { &finding.title }
}

fn details(out: &mut String, number: usize, finding: &Finding, why: bool) {
    let _ = write!(out, "### {number}. {}\n\n", inline(title(finding)));
    render_body(out, finding, why);
}

/// Renders one finding by itself, with its title as the heading.
pub fn finding_markdown(finding: &Finding) -> String {
    let mut out = format!("### {}\n\n", inline(title(finding)));
    render_body(&mut out, finding, true);
    out
}

/// Renders a finding as one line of a list: severity, mark, title, place and id.
pub(super) fn render_line(finding: &Finding) -> String {
    let mark = finding.describe_mark().map(|mark| format!(" ({})", inline(&mark))).unwrap_or_default();
    let place = finding.anchors.first().map(|anchor| format!("{}, ", code(&digest::place(anchor))));
    let status = if finding.status == FindingStatus::New { String::new() } else { format!("{}, ", finding.status) };
    let (place, id) = (place.unwrap_or_default(), code(&finding.id.0));
    format!("- **{}**{mark}: {} ({place}{status}id {id})\n", severity(finding.severity), inline(title(finding)))
}

/// Renders the details of a finding below its title; with the rationale of its verification if `why` is requested.
pub(super) fn render_body(out: &mut String, finding: &Finding, why: bool) {
    let _ = write!(out, "{}\n\n", facts(finding));
    if !finding.body.trim().is_empty() {
        let _ = write!(out, "{}\n\n", prose(&finding.body));
    }
    let patched = patch::diff_rows(finding);
    for (index, anchor) in finding.anchors.iter().enumerate() {
        let note = digest::place_note(anchor);
        let note = if note.is_empty() { String::new() } else { format!(" ({note})") };
        let also = if index == 0 { "" } else { "Also " };
        let _ = write!(out, "{also}{}{note}\n\n", code(&digest::place(anchor)));
        match &patched {
            Some(rows) if index == 0 => {
                let _ = write!(out, "Suggested change:\n\n{}\n\n", diff(rows));
            }
            _ if anchor.lines.is_some() && !anchor.quote.is_empty() => {
                let _ = write!(out, "{}\n\n", fenced(language(&anchor.path), &shortened(anchor.quote.split('\n'))));
            }
            _ => {}
        }
    }
    if let (Some(suggestion), None) = (&finding.suggestion, &patched) {
        let (lines, path) = (digest::describe_lines(suggestion.lines), code(&suggestion.path.display_name()));
        let _ = write!(out, "Suggested for {lines} of {path}:\n\n{}\n\n", diff(&patch::added_rows(suggestion)));
    }
    if let Some(rationale) = digest::rationale(finding).filter(|_| why) {
        let _ = write!(out, "{}\n\n", prose(&rationale));
    }
}

fn facts(finding: &Finding) -> String {
    let mut parts = vec![format!("**{}**", severity(finding.severity))];
    parts.extend(finding.describe_mark().map(|mark| inline(&mark)));
    parts.push(finding.category.word().replace('_', " "));
    match finding.origin.kind {
        _ if finding.origin.name.is_empty() => {}
        OriginKind::Rule => parts.push(format!("rule {}", code(&finding.origin.name))),
        OriginKind::Build => parts.push(format!("reported by {}", code(&finding.origin.name))),
        OriginKind::Model => {}
    }
    if let Some(confidence) = finding.confidence {
        parts.push(format!("confidence {}/10", confidence.value()));
    }
    if let Some(guideline) = &finding.guideline {
        parts.push(format!("see {}", code(&format!("{}:{}", guideline.path, guideline.line))));
    }
    if finding.status != FindingStatus::New {
        parts.push(finding.status.to_string());
    }
    parts.extend(digest::carried(finding));
    parts.push(format!("id {}", code(&finding.id.0)));
    parts.join(" · ")
}

fn diff(rows: &[DiffRow<'_>]) -> String {
    let lines: Vec<String> = rows.iter().map(|row| format!("{} {}", row.mark.sign(), row.text)).collect();
    fenced("diff", &shortened(lines.iter().map(String::as_str)))
}

fn shortened<'a>(lines: impl Iterator<Item = &'a str>) -> String {
    let lines: Vec<&str> = lines.collect();
    let mut text = lines.iter().take(CODE_LINES).copied().collect::<Vec<_>>().join("\n");
    if lines.len() > CODE_LINES {
        let _ = write!(text, "\n… {} more lines", lines.len() - CODE_LINES);
    }
    text
}

/// Returns the info string of a fence for highlighting: the extension, if it is a plain word.
fn language(path: &RepoPath) -> &str {
    path.extension()
        .filter(|extension| extension.len() <= 12 && extension.bytes().all(|byte| byte.is_ascii_alphanumeric()))
        .unwrap_or_default()
}

pub(super) fn render_resolved(out: &mut String, review: &Review) {
    let mut resolved = review.findings.iter().filter(|finding| finding.status.is_resolved()).peekable();
    if resolved.peek().is_none() {
        return;
    }
    out.push_str("## Resolved\n\n");
    for finding in resolved {
        let place = finding.anchors.first().map(digest::place).unwrap_or_default();
        let why = finding.dismissed.as_ref().map(|why| format!(": {}", inline(&why.describe()))).unwrap_or_default();
        let _ = writeln!(out, "- {}: {} ({}){why}", finding.status, inline(&finding.title), code(&place));
    }
    out.push('\n');
}

pub(super) fn render_receipt(out: &mut String, review: &Review) {
    out.push_str("## Coverage\n\n");
    for row in digest::receipt(review) {
        let _ = writeln!(out, "- **{}**: {}", row.label, row.render(inline, code));
    }
    out.push('\n');
    for sentence in digest::closing(review) {
        let _ = write!(out, "{}.\n\n", inline(&sentence));
    }
}
