//! The names that a change removes. Main type: [`RemovedNames`].
//!
//! What still tells of them belongs in `mentioned`.

use std::collections::{BTreeMap, HashSet};

use aho_corasick::AhoCorasick;

use super::super::target::is_test_path;
use super::changed::DefinitionChanges;
use super::context::ImpactContext;
use crate::domain::path::RepoPath;
use crate::domain::place::{DiffSide, LineRange};
use crate::domain::text::LazyPattern;
use crate::sys::cancel::CancelReason;

/// Maximum number of removed names: a change that removes more is about removing them.
const MOST: usize = 60;

static SETTING: LazyPattern = LazyPattern::new(
    r#"(?:getenv\(|Getenv\(|LookupEnv\(|environ\.get\(|environ\[|env::var(?:_os)?\(|process\.env\.|process\.env\[|import\.meta\.env\.)["'`]?([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)"#,
);
static FLAG: LazyPattern = LazyPattern::new(
    r#"(?:add_argument\(|add_option\(|\.option\(|addOption\(|@Option|@click\.option\(|\.addFlag\()[^#]*?["'`, ](--[a-z][a-z0-9]+(?:-[a-z0-9]+)+)"#,
);

/// The distinctive names of definitions, settings and options that the change removes and does not write again, with their places.
#[derive(Debug, Default)]
pub(super) struct RemovedNames(BTreeMap<String, (usize, LineRange)>);

impl RemovedNames {
    pub(super) fn of(ground: &ImpactContext<'_>, changed: &DefinitionChanges) -> Result<Self, CancelReason> {
        removed(ground, changed).map(Self)
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Checks whether they are more than are searched.
    pub(super) fn are_too_many(&self) -> bool {
        self.0.len() > MOST
    }

    /// Iterates over the names, each with the index of its file and its lines at the base.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, (usize, LineRange))> {
        self.0.iter().map(|(name, place)| (name.as_str(), *place))
    }
}

fn removed(
    ground: &ImpactContext<'_>,
    changed: &DefinitionChanges,
) -> Result<BTreeMap<String, (usize, LineRange)>, CancelReason> {
    let mut found: BTreeMap<String, (usize, LineRange)> = BTreeMap::new();
    for gone in &changed.gone {
        if is_distinctive(&gone.home.name) {
            found.entry(gone.home.name.clone()).or_insert((gone.home.file, gone.home.lines));
        }
    }
    for (at, file) in ground.sides.files() {
        let path = file.path_at(DiffSide::Old);
        if file.without_text().is_some() || file.language.is_none() || file.deletions == 0 || is_excluded(path) {
            continue;
        }
        let Some(removed) = ground.sides.changed_lines(at, DiffSide::Old)? else { continue };
        for (number, line) in removed.lines(file, DiffSide::Old) {
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
    for (at, file) in ground.sides.change.files.iter().enumerate().filter(|(_, file)| file.additions > 0) {
        if added.len() == names.len() {
            break;
        }
        if let Some(lines) = ground.sides.changed_lines(at, DiffSide::New)? {
            for (_, line) in lines.lines(file, DiffSide::New) {
                added.extend(automaton.find_overlapping_iter(line).map(|hit| hit.pattern().as_usize()));
            }
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
pub(super) fn is_excluded(path: &RepoPath) -> bool {
    let text = path.display_name().to_ascii_lowercase();
    is_test_path(path) || text.split('/').any(|part| matches!(part, "vendor" | "node_modules" | "third_party" | "dist"))
}

#[cfg(test)]
mod tests {
    use super::*;

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
