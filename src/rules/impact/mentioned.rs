//! Removed names that documents and comments still tell people to use. Main function: [`find`].
//!
//! A name is removed if no line of code at the head has it; remaining uses in code belong in `gone`.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use aho_corasick::AhoCorasick;

use super::super::checks::CheckInfo;
use super::super::target::{ChangedLineIndex, is_prose, is_test_path};
use super::claims::{AffectedPlace, RemoteEffect};
use super::context::ImpactContext;
use super::lines::has_word;
use super::search::ChangedNames;
use crate::domain::finding::{Category, Severity};
use crate::domain::path::RepoPath;
use crate::domain::place::{DiffSide, LineRange};
use crate::domain::text::LazyPattern;
use crate::sys::cancel::CancelReason;
use crate::workspace::{LineRegex, Query, WorkspaceError};

pub(super) const INFO: CheckInfo = CheckInfo {
    name: "impact/removed-but-mentioned",
    title: "Removed name is still documented elsewhere",
    message: "Whoever follows that text looks for something that is not there any more. Correct it in the same change.",
    severity: Severity::Low,
    category: Category::Documentation,
    cwe: None,
};

/// Maximum number of removed names: a change that removes more is about removing them.
const MOST: usize = 60;
/// The search ends at this number of matching lines.
const MOST_LINES: usize = 4_000;
/// Maximum number of texts with a name; a more frequent one is a common word.
const MOST_TEXTS: usize = 6;

static SETTING: LazyPattern = LazyPattern::new(
    r#"(?:getenv\(|Getenv\(|LookupEnv\(|environ\.get\(|environ\[|env::var(?:_os)?\(|process\.env\.|process\.env\[|import\.meta\.env\.)["'`]?([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)"#,
);
static FLAG: LazyPattern = LazyPattern::new(
    r#"(?:add_argument\(|add_option\(|\.option\(|addOption\(|@Option|@click\.option\(|\.addFlag\()[^#]*?["'`, ](--[a-z][a-z0-9]+(?:-[a-z0-9]+)+)"#,
);
// Texts about history or plans.
static PAST_FILE: LazyPattern = LazyPattern::new(
    r"(?i)change|history|news|release|migrat|upgrad|deprecat|archive|legacy|whatsnew|what-s-new|(?:^|[/_.-])(?:adr|rfc|plan|spec|proposal|design|decision|roadmap|todo|blog|post|report|audit|notes|task|memor|draft|versioned|version)|\d{4}-\d{2}",
);
static PAST_LINE: LazyPattern = LazyPattern::new(
    r"(?i)\b(?:removed?|deprecated|no longer|was|were|previously|renamed|legacy|formerly|former|replaced?s?|older|old|used to|gone|dropped|originally|obsolete|history|historical(?:ly)?|ported|changed from|changed to|upstream|inspired|copied|taken from)\b|\d+\.\d+\.\d+",
);

/// Finds the texts that still mention a removed name.
pub(super) fn find(ground: &ImpactContext<'_>, names: &ChangedNames<'_>) -> Result<Vec<RemoteEffect>, CancelReason> {
    let removed = removed(ground, names)?;
    if removed.is_empty() {
        return Ok(Vec::new());
    }
    if removed.len() > MOST {
        ground.note(format!(
            "whether texts still tell of {} removed names was not asked: there are too many",
            removed.len()
        ));
        return Ok(Vec::new());
    }
    let mut mentions = mentions(ground, &removed)?;
    let mut effects = Vec::new();
    for (name, (file, lines)) in removed {
        let Some(elsewhere) = mentions.remove(&name).filter(|found| !found.is_empty()) else { continue };
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

/// Returns the names that the change removes and does not write again, with their places.
fn removed(
    ground: &ImpactContext<'_>,
    names: &ChangedNames<'_>,
) -> Result<BTreeMap<String, (usize, LineRange)>, CancelReason> {
    let mut found: BTreeMap<String, (usize, LineRange)> = BTreeMap::new();
    for gone in &names.changed()?.gone {
        if is_distinctive(&gone.home.name) {
            found.entry(gone.home.name.clone()).or_insert((gone.home.file, gone.home.lines));
        }
    }
    for (at, file) in ground.sides.files() {
        let path = file.path_at(DiffSide::Old);
        if file.without_text().is_some() || file.language.is_none() || file.deletions == 0 || is_excluded(path) {
            continue;
        }
        let Some(text) = ground.read(DiffSide::Old, path)? else { continue };
        let touched = ChangedLineIndex::of(file, DiffSide::Old);
        for (number, line) in text.all_lines().filter(|(number, _)| touched.covers(*number)) {
            for pattern in [&SETTING, &FLAG].into_iter().filter_map(LazyPattern::regex) {
                let names = pattern.captures_iter(line).filter_map(|groups| Some(groups.get(1)?.as_str().to_owned()));
                for name in names.filter(|name| name.len() >= 8) {
                    found.entry(name).or_insert((at, LineRange::line(number)));
                }
            }
        }
    }
    let added = added(ground, &found.keys().map(String::as_str).collect::<Vec<_>>())?;
    let mut at = 0..;
    found.retain(|_, _| at.next().is_some_and(|at| !added.contains(&at)));
    Ok(found)
}

/// Returns which of the names the change writes somewhere.
fn added(ground: &ImpactContext<'_>, names: &[&str]) -> Result<HashSet<usize>, CancelReason> {
    let mut added = HashSet::new();
    if names.is_empty() {
        return Ok(added);
    }
    // If that is unknown, all of them count as written: nothing is reported.
    let Ok(automaton) = AhoCorasick::new(names) else { return Ok((0..names.len()).collect()) };
    for file in ground.sides.change.files.iter().filter(|file| file.without_text().is_none() && file.additions > 0) {
        let Some(text) = ground.read(DiffSide::New, &file.path)?.filter(|_| added.len() < names.len()) else {
            continue;
        };
        let touched = ChangedLineIndex::of(file, DiffSide::New);
        for (_, line) in text.all_lines().filter(|(number, _)| touched.covers(*number)) {
            added.extend(automaton.find_overlapping_iter(line).map(|hit| hit.pattern().as_usize()));
        }
    }
    Ok(added)
}

/// Checks whether a name has enough words to be distinctive.
fn is_distinctive(name: &str) -> bool {
    let letters: Vec<char> = name.chars().collect();
    let humps = letters.windows(2).filter(|pair| pair[0].is_lowercase() && pair[1].is_uppercase()).count();
    let parts = name.split('_').filter(|part| !part.is_empty()).count();
    let words = (humps + 1).max(parts);
    letters.len() >= 10
        && name.is_ascii()
        && (words >= 3 || (words == 2 && letters.len() >= 14))
        && !name.starts_with("test")
}

/// Checks for tests, generated and vendored files.
fn is_excluded(path: &RepoPath) -> bool {
    let text = path.display_name().to_ascii_lowercase();
    is_test_path(path) || text.split('/').any(|part| matches!(part, "vendor" | "node_modules" | "third_party" | "dist"))
}

/// Returns the texts that still mention names which no code has.
fn mentions(
    ground: &ImpactContext<'_>,
    removed: &BTreeMap<String, (usize, LineRange)>,
) -> Result<HashMap<String, Vec<AffectedPlace>>, CancelReason> {
    let names: Vec<&str> = removed.keys().map(String::as_str).collect();
    let words: Vec<String> = names.iter().map(|name| regex::escape(name)).collect();
    let (Ok(pattern), Ok(automaton)) = (LineRegex::new(&words.join("|")), AhoCorasick::new(&names)) else {
        return Ok(HashMap::new());
    };
    let query = Query { pattern: &pattern, files: None, most: MOST_LINES, generated_last: false };
    let hits = match ground.sides.new.search(&query, ground.sides.cancel) {
        Ok(hits) => hits,
        Err(WorkspaceError::Stopped(stopped)) => return Err(stopped),
        Err(error) => {
            ground.note(format!("texts about removed names could not be looked for: {error}"));
            return Ok(HashMap::new());
        }
    };
    if !hits.exhausted {
        return Ok(HashMap::new());
    }
    let mut found: HashMap<String, Vec<AffectedPlace>> = HashMap::new();
    let mut alive: BTreeSet<&str> = BTreeSet::new();
    for file in &hits.files {
        ground.sides.cancel.check()?;
        let kind = MentionKind::of(&file.path);
        for (number, line) in file.lines.iter().filter_map(|number| Some((*number, file.text.line(*number)?))) {
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
                places.push(AffectedPlace { path: file.path.clone(), lines: LineRange::line(number), note });
            }
        }
    }
    found.retain(|name, places| !alive.contains(name.as_str()) && places.len() <= MOST_TEXTS);
    Ok(found)
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
    use super::*;

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

    #[test]
    fn a_name_of_few_words_means_many_things() {
        for (name, is) in [
            ("open_the_gate", true),
            ("getUserById", true),
            ("get_user", false),
            ("createServerNow", true),
            ("createServer", false),
            ("synchronizeAllOf", true),
        ] {
            assert_eq!(is_distinctive(name), is, "{name}");
        }
    }
}
