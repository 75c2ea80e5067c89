//! Removed names that documents and comments still tell people to use. Main function: [`find`].
//!
//! A name is removed if no line of code at the head has it; remaining uses in code belong in `gone`.

use std::collections::{BTreeSet, HashMap};

use aho_corasick::AhoCorasick;

use super::super::checks::CheckInfo;
use super::super::target::is_prose;
use super::claims::{AffectedPlace, RemoteEffect};
use super::context::ImpactContext;
use super::lines::has_word;
use super::removed_names::{RemovedNames, is_excluded};
use super::search::{ChangedNames, NamedLine};
use crate::domain::finding::{Category, Severity};
use crate::domain::path::RepoPath;
use crate::domain::place::{DiffSide, LineRange};
use crate::domain::text::LazyPattern;
use crate::sys::cancel::CancelReason;

pub(super) const INFO: CheckInfo = CheckInfo {
    name: "impact/removed-but-mentioned",
    title: "Removed name is still documented elsewhere",
    message: "Whoever follows that text looks for something that is not there any more. Correct it in the same change.",
    severity: Severity::Low,
    category: Category::Documentation,
    cwe: None,
};

/// Maximum number of texts with a name; a more frequent one is a common word.
const MOST_TEXTS: usize = 6;

// Texts about history or plans.
static PAST_FILE: LazyPattern = LazyPattern::new(
    r"(?i)change|history|news|release|migrat|upgrad|deprecat|archive|legacy|whatsnew|what-s-new|(?:^|[/_.-])(?:adr|rfc|plan|spec|proposal|design|decision|roadmap|todo|blog|post|report|audit|notes|task|memor|draft|versioned|version)|\d{4}-\d{2}",
);
static PAST_LINE: LazyPattern = LazyPattern::new(
    r"(?i)\b(?:removed?|deprecated|no longer|was|were|previously|renamed|legacy|formerly|former|replaced?s?|older|old|used to|gone|dropped|originally|obsolete|history|historical(?:ly)?|ported|changed from|changed to|upstream|inspired|copied|taken from)\b|\d+\.\d+\.\d+",
);

/// Finds the texts that still mention a removed name.
pub(super) fn find(ground: &ImpactContext<'_>, names: &ChangedNames<'_>) -> Result<Vec<RemoteEffect>, CancelReason> {
    let removed = names.removed()?;
    if removed.are_too_many() {
        ground.note(format!(
            "whether texts still tell of {} removed names was not asked: there are too many",
            removed.len()
        ));
        return Ok(Vec::new());
    }
    if removed.len() == 0 {
        return Ok(Vec::new());
    }
    let mut mentions = mentions(removed, names.hits()?.lines_with_removed());
    let mut effects = Vec::new();
    for (name, (file, lines)) in removed.iter() {
        let Some(elsewhere) = mentions.remove(name).filter(|found| !found.is_empty()) else { continue };
        let more =
            if elsewhere.len() > 1 { format!(" and {} more places", elsewhere.len() - 1) } else { String::new() };
        effects.push(RemoteEffect {
            file,
            side: DiffSide::Old,
            lines: Some(lines),
            title: Some(format!("`{name}` is removed here and still described elsewhere")),
            detail: format!("No code has `{name}` any more, but {}{more} still tells of it.", elsewhere[0].path),
            severity: None,
            elsewhere,
        });
    }
    Ok(effects)
}

/// Returns the texts that still mention names which no code has, given the lines with one; none if not all lines are known.
fn mentions(removed: &RemovedNames, lines: Option<&[NamedLine]>) -> HashMap<String, Vec<AffectedPlace>> {
    let names: Vec<&str> = removed.iter().map(|(name, _)| name).collect();
    let (Ok(automaton), Some(lines)) = (AhoCorasick::new(&names), lines) else { return HashMap::new() };
    let mut found: HashMap<String, Vec<AffectedPlace>> = HashMap::new();
    let mut alive: BTreeSet<&str> = BTreeSet::new();
    for NamedLine { path, number, text: line } in lines {
        let kind = MentionKind::of(path);
        for name in automaton.find_overlapping_iter(line).map(|hit| names[hit.pattern().as_usize()]) {
            let tells = kind == MentionKind::Prose || (kind == MentionKind::Code && is_comment(line));
            if kind == MentionKind::Past || (tells && is_history(line)) || (tells && !has_word(line, name)) {
                continue;
            }
            if !tells {
                alive.insert(name);
                continue;
            }
            let note = format!("This still tells of `{name}`.");
            let places = found.entry(name.to_owned()).or_default();
            places.push(AffectedPlace { path: path.clone(), lines: LineRange::line(*number), note });
        }
    }
    found.retain(|name, places| !alive.contains(name.as_str()) && places.len() <= MOST_TEXTS);
    found
}

/// The kind of a file's contents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MentionKind {
    Code,
    Prose,
    /// Prose about history or plans, and prose that is not kept up to date.
    Past,
}

impl MentionKind {
    fn of(path: &RepoPath) -> Self {
        let extension = path.extension().unwrap_or_default().to_ascii_lowercase();
        // Pages and notebooks contain code.
        if !is_prose(&extension) || matches!(extension.as_str(), "html" | "htm" | "ipynb" | "mdx") {
            return Self::Code;
        }
        let text = path.display_name();
        let is_past = PAST_FILE.regex().is_none_or(|pattern| pattern.is_match(&text));
        if is_past || is_excluded(path) { Self::Past } else { Self::Prose }
    }
}

/// Checks whether a line is only a comment.
fn is_comment(line: &str) -> bool {
    let line = line.trim_start();
    ["//", "/*", "* ", "# ", "<!--", ";; ", "-- "].iter().any(|mark| line.starts_with(mark))
}

fn is_history(line: &str) -> bool {
    PAST_LINE.regex().is_none_or(|pattern| pattern.is_match(line))
}

#[cfg(test)]
mod tests {
    use super::super::super::synthetic_change::SyntheticChange;

    const WAS: &str = "def open_the_gate(key):\n    return key\n\n\ndef main():\n    return 1\n";
    const NOW: &str = "def main():\n    return 1\n";

    fn told(others: &[(&str, &str)]) -> Vec<String> {
        let mut change = SyntheticChange::default().was("gate.py", WAS).now("gate.py", NOW);
        for (path, text) in others {
            change = change.was(path, text).now(path, text);
        }
        change.reported()
    }

    #[test]
    fn a_document_that_tells_of_what_is_gone_is_told() {
        assert_eq!(
            told(&[("docs/use.md", "Call `open_the_gate(key)` first.\n")]),
            ["impact/removed-but-mentioned gate.py:1"]
        );
        assert_eq!(
            told(&[("b.py", "# As open_the_gate does it.\nx = 1\n")]),
            ["impact/removed-but-mentioned gate.py:1"]
        );
    }

    #[test]
    fn texts_about_the_past_and_names_in_use_are_not() {
        for other in [
            ("CHANGELOG.md", "Adds `open_the_gate`.\n"),
            ("docs/plans/gate.md", "`open_the_gate` takes a key.\n"),
            ("docs/use.md", "`open_the_gate` was removed.\n"),
            ("docs/use.md", "reopen_the_gates\n"),
        ] {
            assert_eq!(told(&[other]), [""; 0], "{other:?}");
        }
        let used = ("b.sh", "python -c 'open_the_gate()'\n");
        assert_eq!(told(&[("docs/use.md", "Call `open_the_gate`.\n"), used]), [""; 0]);
    }

    #[test]
    fn a_setting_that_nobody_reads_any_more_is_told_where_a_text_has_it() {
        let change = SyntheticChange::default()
            .was("a.ts", "export const a = process.env.GATE_KEY_FILE;\n")
            .now("a.ts", "export const a = 1;\n")
            .was("README.md", "Set `GATE_KEY_FILE`.\n")
            .now("README.md", "Set `GATE_KEY_FILE`.\n");
        assert_eq!(change.reported(), ["impact/removed-but-mentioned a.ts:1"]);
    }
}
