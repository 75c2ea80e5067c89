//! First request of a verification: the finding, the lines that it quotes, the diff of their file. Main function: [`verification_request`].
//!
//! It omits the reporter, the confidence and the reasoning: verification starts from the claim and the code.

use crate::domain::change::ChangeSet;
use crate::domain::finding::{Anchor, Finding};
use crate::domain::guideline::Guidelines;
use crate::domain::place::{DiffSide, LineRange};
use crate::llm::ToolCallFormat;
use crate::prompt::{PromptError, SystemVars, UntrustedText, VerificationVars};
use crate::review::budget::BudgetLimits;
use crate::review::conversation::{FirstRequest, ToolList};
use crate::review::run::ModelRun;

use super::verdict;

/// Places of a finding that are shown.
const PLACES: usize = 8;
/// Lines of one that are shown, and characters of a line.
const LINES: usize = 60;
const LINE: usize = 400;
/// The longest body, in bytes.
const BODY: usize = 16 << 10;
/// Divisor: the maximum share of the window for a request with the diff.
const DIFF_SHARE: u64 = 3;

/// Renders the request about a finding; without the diff if that would take more than `room`.
pub(super) fn verification_request(
    run: &ModelRun,
    finding: &Finding,
    limits: &BudgetLimits,
    room: u64,
    speech: ToolCallFormat,
) -> Result<FirstRequest, PromptError> {
    let prompts = &run.prompts;
    let instructions = run.instructions.as_deref().unwrap_or_default().trim().to_owned();
    let system = prompts.verification(&SystemVars { instructions })?;
    let tools = ToolList::with([verdict::definition()]);
    let vars = VerificationVars {
        severity: finding.severity,
        category: finding.category,
        finding: words(finding, &run.guidelines),
        code: code(finding),
        diff: diff(finding, &run.change),
    };
    let first = |vars: &VerificationVars| {
        let message = prompts.verification_finding(vars)?;
        FirstRequest::new(prompts, &tools, speech, limits.max_output, system.clone(), message)
    };
    let whole = first(&vars)?;
    if whole.size <= room.min(limits.window / DIFF_SHARE) {
        return Ok(whole);
    }
    first(&VerificationVars { diff: UntrustedText::default(), ..vars })
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
    for (number, line) in (lines.start()..).zip(anchor.quote.split('\n')).take(LINES) {
        let end = line.char_indices().nth(LINE).map_or(line.len(), |(at, _)| at);
        text.push_str(&format!("{number:6}\t{}\n", &line[..end]));
    }
    if LineRange::count(lines) as usize > LINES {
        text.push_str("[cut: read on with read_file_part]\n");
    }
}

/// Returns the diff of the file that the finding is about first, as far as it was collected.
fn diff(finding: &Finding, change: &ChangeSet) -> UntrustedText {
    let path = finding.anchors.first().map(|anchor| &anchor.path);
    let file =
        change.files.iter().find(|file| Some(&file.path) == path || path.is_some() && file.old_path.as_ref() == path);
    let Some(file) = file.filter(|file| !file.patch.text.is_empty()) else { return UntrustedText::default() };
    let cut = if file.patch.cut.is_some() { "[cut: read on with read_diff]\n" } else { "" };
    let end = if file.patch.text.ends_with('\n') { "" } else { "\n" };
    UntrustedText::new(format!("=== {}\n{}{end}{cut}", file.path, file.patch.text))
}
