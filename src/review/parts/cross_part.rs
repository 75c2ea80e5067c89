//! Cross-part pass, after each part was reviewed on its own. Main function: [`opening_message`].
//!
//! The model is shown the contents of each part and the summary of its reviewer, the names that one part removes or adds and another uses, and the
//! reported findings. It looks for defects that no part shows alone, with the reading tools and a bounded share of the budget; it need not cover
//! every hunk. A pass that is skipped or interrupted does not affect the review: the receipt says so.

use super::merge::PartResult;
use crate::domain::change::ChangeSet;
use crate::domain::finding::Finding;
use crate::domain::place::LineRange;
use crate::domain::text::count_noun;
use crate::prompt::{CrossPartVars, PromptError, SystemVars, UntrustedText};
use crate::review::budget::BudgetLimits;
use crate::review::journal::{NameFate, SharedName};
use crate::review::outcome::EngineOutcome;
use crate::review::plan::{Opening, listed_names};
use crate::review::run::ModelRun;
use crate::review::tokens::estimate_tokens;

/// Minimum number of reviewed parts: with fewer, nothing is between them.
pub(super) const LEAST_PARTS: usize = 2;
/// Maximum number of turns: with more it would repeat the review.
const MOST_TURNS: u32 = 12;
/// Divisor: its share of the run's tokens and money.
const TOKENS_SHARE: u64 = 6;
/// Maximum size of its first message in tokens, which is also limited to a share of the window, by divisor.
const MOST_MESSAGE: u64 = 24_000;
const WINDOW_SHARE: u64 = 4;
/// Maximum number of files named for a part.
const MOST_FILES: usize = 40;
/// Maximum number of users named for a name.
const MOST_USERS: usize = 6;
/// Maximum size of the text about one part, in bytes.
const MOST_SAID: usize = 2_000;
/// Maximum number of layouts: a message that is too large is laid out again with three quarters of the space.
const ATTEMPTS: usize = 6;

/// Results of the parts.
pub(super) struct CrossPartInput<'a> {
    pub(super) units: &'a [Vec<usize>],
    pub(super) ends: &'a [PartResult],
    pub(super) farewells: &'a [Option<String>],
    pub(super) findings: &'a [Finding],
}

/// Returns the limits of the pass.
pub(super) fn limits(limits: &BudgetLimits) -> BudgetLimits {
    let limits = limits.with_part_of_money(TOKENS_SHARE);
    BudgetLimits { turns: limits.turns.min(MOST_TURNS), input_tokens: limits.input_tokens / TOKENS_SHARE, ..limits }
}

/// Returns the size limit of its first message with the system text, in tokens.
pub(super) fn opening_room(limits: &BudgetLimits) -> u64 {
    MOST_MESSAGE.min(limits.window / WINDOW_SHARE)
}

/// Returns why the pass is skipped, as a clause; `None` if there is something to review.
pub(super) fn skip_reason(ends: &[PartResult]) -> Option<String> {
    let stopped = ends.iter().find_map(|end| match &end.ending {
        EngineOutcome::Stopped(stopped) => Some(*stopped),
        EngineOutcome::Done | EngineOutcome::Short { .. } => None,
    });
    if let Some(stopped) = stopped {
        return Some(format!("the review was stopped: {stopped}"));
    }
    let came_to_something = |end: &&PartResult| end.begun && !end.ending.stop_reason().is_provider_fault();
    let parts = ends.iter().filter(came_to_something).count();
    (parts < LEAST_PARTS).then(|| format!("only {} came to an end", count_noun(parts, "part")))
}

/// Returns the first message of the cross-part pass.
pub(super) fn opening_message(
    run: &ModelRun,
    parts: &CrossPartInput<'_>,
    names: &[SharedName],
) -> Result<Opening, PromptError> {
    let instructions = run.instructions.as_deref().unwrap_or_default().trim().to_owned();
    let system = run.prompts.system(&SystemVars { instructions, builds: run.tools.runs_builds() })?;
    let most = opening_room(&run.limits);
    let mut room = most.saturating_sub(estimate_tokens(&system));
    let mut needed = most + 1;
    for _ in 0..ATTEMPTS {
        let message = run.prompts.cross_part(&vars(&run.change, parts, names, room))?;
        needed = estimate_tokens(&system) + estimate_tokens(&message);
        if needed <= most {
            let (shown, left_out) = (Vec::new(), Vec::new());
            return Ok(Opening { system, message, shown, left_out, leads_left_out: Vec::new(), notes: Vec::new() });
        }
        room = room / 4 * 3;
    }
    Err(PromptError::NoRoom { needed, room: most })
}

fn vars(change: &ChangeSet, parts: &CrossPartInput<'_>, names: &[SharedName], room: u64) -> CrossPartVars {
    // Half is for the parts, a third for the names, the rest for the findings and the text around.
    let each = room / 2 / u64::try_from(parts.units.len().max(1)).unwrap_or(u64::MAX);
    let told = parts.ends.iter().map(|end| {
        let unit = parts.units.get(end.at).map_or(&[][..], Vec::as_slice);
        let said = parts.farewells.get(end.at).and_then(Option::as_deref);
        truncate_lines(&part(change, unit, end, said), each)
    });
    let told: String = told.collect();
    let lines = names.iter().map(|shared| line(shared, change));
    let (names, names_left_out) = fitting(lines, room / 3);
    let (findings, findings_left_out) = fitting(parts.findings.iter().map(finding), room / 10);
    CrossPartVars {
        change: listed_names(change),
        parts: UntrustedText::new(told),
        parts_total: parts.units.len(),
        files_total: change.files.len(),
        names: UntrustedText::new(names),
        names_left_out,
        findings: UntrustedText::new(findings),
        findings_left_out,
    }
}

/// Returns the first lines that fit, and how many do not.
fn fitting(lines: impl Iterator<Item = String>, room: u64) -> (String, usize) {
    let (mut text, mut left, mut left_out) = (String::new(), room, 0);
    for line in lines {
        match left.checked_sub(estimate_tokens(&line)).filter(|_| left_out == 0) {
            Some(rest) => {
                left = rest;
                text.push_str(&line);
            }
            None => left_out += 1,
        }
    }
    (text, left_out)
}

/// Describes the contents of a part, and the summary of its reviewer.
fn part(change: &ChangeSet, unit: &[usize], end: &PartResult, said: Option<&str>) -> String {
    let how = match (&end.ending, end.begun) {
        (EngineOutcome::Done, _) => "",
        (_, true) => ", not reviewed to its end",
        (_, false) => ", not reviewed",
    };
    let mut text = format!("part {}: {}{how}\n", end.at + 1, count_noun(unit.len(), "file"));
    for file in unit.iter().filter_map(|at| change.files.get(*at)).take(MOST_FILES) {
        text.push_str(&format!("    +{} -{} {}\n", file.additions, file.deletions, file.path.display_name()));
    }
    if unit.len() > MOST_FILES {
        text.push_str(&format!("    and {} more\n", unit.len() - MOST_FILES));
    }
    if let Some(said) = said {
        let end = said.floor_char_boundary(MOST_SAID);
        text.push_str("  its reviewer said:\n");
        for line in said[..end].lines().filter(|line| !line.trim().is_empty()) {
            text.push_str(&format!("    {line}\n"));
        }
    }
    text
}

/// Returns as many whole lines as fit.
fn truncate_lines(text: &str, room: u64) -> String {
    let mut left = room;
    let mut cut = String::new();
    for line in text.split_inclusive('\n') {
        let Some(rest) = left.checked_sub(estimate_tokens(line)) else {
            cut.push_str("    […]\n");
            break;
        };
        left = rest;
        cut.push_str(line);
    }
    cut
}

fn finding(finding: &Finding) -> String {
    let place = finding.anchors.first().map_or_else(String::new, |anchor| {
        let line = anchor.lines.map(LineRange::start).map_or_else(String::new, |line| format!(":{line}"));
        format!("{}{line}: ", anchor.path)
    });
    format!("{} {} {place}{}\n", finding.severity, finding.category, finding.title)
}

/// Returns a line about a name.
fn line(shared: &SharedName, change: &ChangeSet) -> String {
    let fate = match shared.fate {
        NameFate::TakenAway => "takes away",
        NameFate::BroughtIn => "brings in",
        NameFate::Touched => "has, in a changed file,",
    };
    let place = |(part, at): &(usize, usize)| {
        let path = change.files.get(*at).map(|file| file.path.display_name()).unwrap_or_default();
        format!("part {} {path}", part + 1)
    };
    let users: Vec<String> = shared.users.iter().take(MOST_USERS).map(place).collect();
    let more = shared.users.len().saturating_sub(MOST_USERS);
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    format!("{} {fate} {}; used in {}{more}\n", place(&shared.from), shared.name, users.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_counted() {
        let lines = || ["one line\n", "another line\n", "x\n"].map(str::to_owned).into_iter();
        assert_eq!(fitting(lines(), 100), ("one line\nanother line\nx\n".to_owned(), 0));
        assert_eq!(fitting(lines(), 3), ("one line\n".to_owned(), 2));
        assert_eq!(truncate_lines("part 1: 2 files\n    a.rs\n    b.rs\n", 8), "part 1: 2 files\n    a.rs\n    […]\n");
    }
}
