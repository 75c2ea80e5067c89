//! Builds the claim for a match, which `evidence` will check.

use super::checks::CHECKS;
use super::input::RulesInput;
use super::introduced::HeadMatch;
use super::target::RuleRef;
use crate::domain::claim::{Claim, ClaimedPlace};
use crate::domain::finding::{FindingOrigin, OriginKind};
use crate::domain::path::RepoPath;
use crate::domain::place::{DiffSide, LineRange};
use crate::domain::rule_info::RuleInfo;
use crate::domain::text::{FileText, is_distinctive};

/// Maximum number of quoted lines.
pub(super) const QUOTE_LINES: u32 = 8;

/// Why a match is reported, and where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MatchReason {
    /// Introduced by the change.
    Came,
    /// Removed by the change.
    Went,
    /// Caused by these changed lines, though the matched lines did not change.
    Made(DiffSide, LineRange),
    /// Pre-existing.
    Stood,
}

pub(super) fn rule_info(input: &RulesInput<'_>, rule: RuleRef) -> Option<RuleInfo> {
    match rule {
        RuleRef::Pack { pack, rule } => input.packs.pack(pack)?.rule(rule).map(|rule| rule.info.clone()),
        RuleRef::Check(check) => CHECKS.get(check).map(|check| check.info.to_rule_info()),
    }
}

/// Builds the claim for a match; `None` if its text cannot be read any more.
pub(super) fn build_claim(input: &RulesInput<'_>, found: HeadMatch, why: MatchReason) -> Option<Claim> {
    let file = input.change.files.get(found.file)?;
    let info = rule_info(input, found.rule).filter(|info| !input.packs.is_off(&info.name))?;
    let side = if why == MatchReason::Went { DiffSide::Old } else { DiffSide::New };
    let read = |side: DiffSide| {
        let text = if side == DiffSide::Old { input.old.read(file.path_at(side)) } else { input.new.read(&file.path) };
        text.ok()
    };
    let text = read(side)?;
    // The part that the rule names, if the change is in it.
    let all = match found.touched {
        Some((line, _)) if !found.hit.at.contains(line) => found.hit.lines,
        _ => found.hit.at,
    };
    // The quote must show a changed line.
    let start = match found.touched {
        Some((line, _)) if line >= all.start() + QUOTE_LINES => line,
        _ => all.start(),
    };
    let lines = quote_window(&text, all, start);
    let replacement = found.hit.replacement.filter(|_| lines == found.hit.lines && !text.is_masked(lines));
    let match_at = place(file.path_at(side), side, &text, lines);
    let (place, related) = match why {
        MatchReason::Came | MatchReason::Went | MatchReason::Stood => (match_at, Vec::new()),
        MatchReason::Made(changed_side, changed) => {
            let text = read(changed_side)?;
            let lines = quote_window(&text, changed, changed.start());
            let note = Some("These lines did not change.".to_owned());
            let related = vec![ClaimedPlace { note, ..match_at }];
            (place(file.path_at(changed_side), changed_side, &text, lines), related)
        }
    };
    let mut body = found.hit.detail.map(|detail| detail + " ").unwrap_or_default();
    body.push_str(&info.message);
    match why {
        MatchReason::Stood => body.push_str("\n\nIt stood before this change."),
        MatchReason::Made(..) => body
            .push_str("\n\nThe lines that it is about are unchanged; it is this change around them that makes it so."),
        MatchReason::Came | MatchReason::Went => {}
    }
    if let Some(cwe) = &info.cwe {
        body.push_str("\n\nSee ");
        body.push_str(cwe);
        body.push('.');
    }
    let confidence = input.packs.confidence(&info, found.hit.is_hint || has_reviewed_marker(&text, all));
    input.packs.apply_settings(Claim {
        title: found.hit.title.unwrap_or(info.title),
        body,
        severity: found.hit.severity.unwrap_or(info.severity),
        category: info.category,
        confidence,
        place,
        related,
        replacement,
        origin: FindingOrigin { kind: OriginKind::Rule, name: info.name },
    })
}

/// Markers by which people tell other tools that a place was reviewed.
const VOUCHED: &[&str] = &[
    "nosec",
    "nolint",
    "NOLINT",
    "NOSONAR",
    "noqa",
    "eslint-disable",
    "@SuppressWarnings",
    "nosemgrep",
    "codeql[",
    "pylint: disable",
];

/// Checks whether such a marker is on the lines of the place or on the line above.
fn has_reviewed_marker(text: &FileText, lines: LineRange) -> bool {
    let near = LineRange::new(lines.start().saturating_sub(1).max(1), lines.end()).unwrap_or(lines);
    text.lines(near).take(8).any(|(_, line)| VOUCHED.iter().any(|mark| line.contains(mark)))
}

/// Selects the quoted lines of `all`: from `start`, as many as a quote has, and more below or above if those are not distinctive.
fn quote_window(text: &FileText, all: LineRange, start: u32) -> LineRange {
    let lines = if all.count() <= QUOTE_LINES {
        all
    } else {
        LineRange::new(start, (start + QUOTE_LINES - 1).min(all.end())).unwrap_or(all)
    };
    let (mut first, mut last) = (lines.start(), lines.end());
    while last - first + 1 < QUOTE_LINES {
        let Ok(lines) = LineRange::new(first, last) else { break };
        if text.lines(lines).any(|(_, line)| is_distinctive(line)) {
            break;
        }
        if last < text.line_count() {
            last += 1;
        } else if first > 1 {
            first -= 1;
        } else {
            break;
        }
    }
    LineRange::new(first, last).unwrap_or(lines)
}

fn place(path: &RepoPath, side: DiffSide, text: &FileText, lines: LineRange) -> ClaimedPlace {
    let quote: Vec<&str> = text.lines(lines).map(|(_, line)| line).collect();
    ClaimedPlace { path: path.clone(), side, quote: Some(quote.join("\n")), lines: Some(lines), note: None }
}
