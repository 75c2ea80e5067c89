//! First request of a verification: the finding, the lines that it quotes, the diffs of their files. Main function: [`verification_request`].
//! Main type: [`VerificationQuestion`].
//!
//! It omits the reporter, the confidence and the reasoning: verification starts from the claim and the code.

use crate::domain::change::{ChangeSet, FileChange, number_lines};
use crate::domain::finding::{Anchor, Finding};
use crate::domain::guideline::Guidelines;
use crate::domain::place::{DiffSide, LineRange};
use crate::domain::text::first_characters;
use crate::llm::ToolCallFormat;
use crate::present::digest;
use crate::prompt::{PromptError, SystemVars, UntrustedText, VerificationVars};
use crate::review::budget::BudgetLimits;
use crate::review::conversation::{FirstRequest, ToolList};
use crate::review::run::ModelRun;

use super::citation::ShownCode;
use super::verdict;

/// Places of a finding that are shown.
const PLACES: usize = 8;
/// Lines of one that are shown, and characters of a line.
const LINES: u32 = 60;
const LINE: usize = 400;
/// The longest body, in bytes.
const BODY: usize = 16 << 10;
/// The longest suggestion, in bytes.
const SUGGESTION: usize = 8 << 10;
/// Divisor: the maximum share of the window for a request with the diff.
const DIFF_SHARE: u64 = 3;

/// The first request about a finding, and the code that it shows.
pub(super) struct VerificationQuestion {
    pub(super) first: FirstRequest,
    pub(super) shown: ShownCode,
}

/// Renders the request about a finding; with the diff of its first file alone, or with none, if they would take more than `room`.
pub(super) fn verification_request(
    run: &ModelRun,
    finding: &Finding,
    limits: &BudgetLimits,
    room: u64,
    speech: ToolCallFormat,
) -> Result<VerificationQuestion, PromptError> {
    let prompts = &run.prompts;
    let instructions = run.instructions.as_deref().unwrap_or_default().trim().to_owned();
    let system = prompts.verification(&SystemVars { instructions, builds: run.tools.runs_builds() })?;
    let tools = ToolList::with(&run.tools, [verdict::definition()]);
    let vars = VerificationVars {
        severity: finding.severity,
        category: finding.category,
        finding: words(finding, &run.guidelines),
        code: code(finding),
        diff: UntrustedText::default(),
    };
    let first = |files: &[&FileChange]| -> Result<VerificationQuestion, PromptError> {
        let diff = diff(files);
        let message = prompts.verification_finding(&VerificationVars { diff: diff.clone(), ..vars.clone() })?;
        let first = FirstRequest::new(prompts, &tools, speech, limits.max_output, system.clone(), message)?;
        let mut shown = ShownCode::default();
        add_places(&mut shown, finding);
        shown.add_claim(vars.finding.text());
        for text in [&vars.code, &diff] {
            shown.add_text(text.text());
        }
        for file in files {
            shown.add_diff(file);
        }
        Ok(VerificationQuestion { first, shown })
    };
    let files = files(finding, &run.change);
    let most = room.min(limits.window / DIFF_SHARE);
    for count in [files.len(), files.len().min(1)] {
        let question = first(&files[..count])?;
        if question.first.size <= most {
            return Ok(question);
        }
    }
    first(&[])
}

/// Renders the text of the finding.
fn words(finding: &Finding, guidelines: &Guidelines) -> UntrustedText {
    let body = finding.body.trim_end();
    let (body, cut) = if body.len() > BODY {
        (&body[..body.floor_char_boundary(BODY)], "\n[cut: the rest is not shown]")
    } else {
        (body, "")
    };
    let mut text = format!("{}\n\n{body}{cut}\n", finding.title);
    if let Some(guideline) = &finding.guideline {
        text.push_str(&format!("\nIt rests on {}:{}", guideline.path, guideline.line));
        // The line is in the target's tree, which the tools of a verification do not read.
        match guidelines.line(&guideline.path, guideline.line) {
            Some(line) => text.push_str(&format!(", a guideline of the project: {}\n", line.trim())),
            None => text.push_str(".\n"),
        }
    }
    if let Some(suggestion) = &finding.suggestion {
        let lines = &suggestion.replacement;
        let (path, of) = (&suggestion.path, digest::describe_lines(suggestion.lines));
        text.push_str(&match lines.as_str() {
            "" => format!("\nIt suggests to delete {of} of {path}.\n"),
            _ => format!(
                "\nIt suggests this instead of {of} of {path}:\n\n{}\n",
                &lines[..lines.floor_char_boundary(SUGGESTION)]
            ),
        });
    }
    UntrustedText::new(text)
}

/// Returns the places that it quotes.
fn code(finding: &Finding) -> UntrustedText {
    let mut text = String::new();
    for anchor in finding.anchors.iter().take(PLACES) {
        let side = if anchor.side == DiffSide::Old { " (before the change: side \"old\")" } else { "" };
        text.push_str(&format!("=== {}{side}\n", anchor.path));
        quote(&mut text, anchor);
    }
    if finding.anchors.len() > PLACES {
        text.push_str(&format!("[{} more places]\n", finding.anchors.len() - PLACES));
    }
    UntrustedText::new(text)
}

fn quote(text: &mut String, anchor: &Anchor) {
    let Some(lines) = anchor.lines else { return text.push_str("the file as a whole\n") };
    for (number, line) in (lines.start()..).zip(anchor.quote.split('\n')).take(LINES as usize) {
        text.push_str(&format!("{number:6}\t{}\n", first_characters(line, LINE)));
    }
    if LineRange::count(lines) > LINES {
        text.push_str("[cut: read on with read_file_part]\n");
    }
}

/// Adds the lines of a finding that the request shows: those that it quotes, those that it suggests to replace, and its guideline.
fn add_places(shown: &mut ShownCode, finding: &Finding) {
    for Anchor { path, lines, .. } in finding.anchors.iter().take(PLACES) {
        let Some(lines) = lines else { continue };
        let last = lines.end().min(lines.start().saturating_add(LINES - 1));
        if let Ok(lines) = LineRange::new(lines.start(), last) {
            shown.add_lines(path, lines);
        }
    }
    if let Some(suggestion) = &finding.suggestion {
        shown.add_lines(&suggestion.path, suggestion.lines);
    }
    if let Some(guideline) = &finding.guideline {
        shown.add_lines(&guideline.path, LineRange::line(guideline.line));
    }
}

/// Returns the changed files of the places that are shown, as far as their diffs were collected.
fn files<'c>(finding: &Finding, change: &'c ChangeSet) -> Vec<&'c FileChange> {
    let mut files: Vec<&FileChange> = Vec::new();
    for Anchor { path, .. } in finding.anchors.iter().take(PLACES) {
        let file = change.files.iter().find(|file| file.path == *path || file.old_path.as_ref() == Some(path));
        let is_known = |file: &&FileChange| files.iter().any(|known| known.path == file.path);
        files.extend(file.filter(|file| !file.patch.text.is_empty() && !is_known(file)));
    }
    files
}

/// Renders diffs with line numbers, as the first message of a review does: a verdict must cite them.
fn diff(files: &[&FileChange]) -> UntrustedText {
    let one = |file: &&FileChange| {
        let cut = if file.patch.cut.is_some() { "[cut: read on with read_diff]\n" } else { "" };
        let end = if file.patch.text.ends_with('\n') { "" } else { "\n" };
        format!("=== {}\n{}{end}{cut}", file.path, number_lines(&file.patch.text, None))
    };
    let text: String = files.iter().map(one).collect();
    if text.is_empty() { UntrustedText::default() } else { UntrustedText::new(text) }
}
