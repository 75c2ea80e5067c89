//! The names that a change is about, and the files that have them, found in one pass. Main type: [`ChangedNames`].

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

use aho_corasick::{AhoCorasick, MatchKind};

use super::super::target::word_positions;
use super::changed::{DefinitionChanges, DefinitionSite, FileOutlines, Visibility};
use super::context::ImpactContext;
use super::family::LanguageFamily;
use super::removed_names::RemovedNames;
use crate::domain::filter::PathFilter;
use crate::domain::path::RepoPath;
use crate::domain::place::DiffSide;
use crate::domain::text::FileText;
use crate::sys::cancel::CancelReason;
use crate::workspace::{FileHits, LineRegex, Query, WorkspaceError};

/// Maximum number of searched names; the first ones represent a larger change.
const MOST_NAMES: usize = 400;
/// The search ends at this number of matching lines.
const MOST_LINES: usize = 50_000;
/// Maximum number of lines with a removed name: if there are more, none is used.
const MOST_REMOVED_LINES: usize = 4_000;
/// Maximum number of files with a name that is followed.
const MOST_FILES: usize = 400;
/// Maximum number of files of a package that is followed completely.
const MOST_BESIDE: usize = 300;
/// Maximum number of such names that are listed; more are counted.
const MOST_LISTED: usize = 5;

/// The definitions that the change changes, and where they may be named; each computed on first use.
pub(super) struct ChangedNames<'a> {
    ground: &'a ImpactContext<'a>,
    /// Outlines of the files of the change that were read before, by index.
    outlines: &'a [Option<&'a FileOutlines>],
    /// `true` if somebody asks for the names that the change removes.
    seeks_removed: bool,
    changed: OnceCell<DefinitionChanges>,
    removed: OnceCell<RemovedNames>,
    hits: OnceCell<NameHits>,
}

impl<'a> ChangedNames<'a> {
    pub(super) fn new(
        ground: &'a ImpactContext<'a>,
        outlines: &'a [Option<&'a FileOutlines>],
        seeks_removed: bool,
    ) -> Self {
        Self {
            ground,
            outlines,
            seeks_removed,
            changed: OnceCell::new(),
            removed: OnceCell::new(),
            hits: OnceCell::new(),
        }
    }

    /// Returns the changes to definitions.
    pub(super) fn changed(&self) -> Result<&DefinitionChanges, CancelReason> {
        if let Some(changed) = self.changed.get() {
            return Ok(changed);
        }
        let changed = DefinitionChanges::of(self.ground, self.outlines)?;
        Ok(self.changed.get_or_init(|| changed))
    }

    /// Returns the names that the change removes.
    pub(super) fn removed(&self) -> Result<&RemovedNames, CancelReason> {
        if let Some(removed) = self.removed.get() {
            return Ok(removed);
        }
        let removed =
            if self.seeks_removed { RemovedNames::of(self.ground, self.changed()?)? } else { RemovedNames::default() };
        Ok(self.removed.get_or_init(|| removed))
    }

    /// Returns the files at the head with the names that the change is about, and the lines with names that it removes.
    pub(super) fn hits(&self) -> Result<&NameHits, CancelReason> {
        if let Some(hits) = self.hits.get() {
            return Ok(hits);
        }
        let names: BTreeMap<LanguageFamily, BTreeSet<String>> = self.changed()?.names();
        let hits = search(self.ground, &names, self.removed()?)?;
        Ok(self.hits.get_or_init(|| hits))
    }

    /// Returns the files of [`Self::visible_files`] that may use a definition, or define it again. A member of a Rust type is used, and
    /// defined, only where the type is named: other files need not be parsed.
    pub(super) fn user_files(&self, home: &DefinitionSite) -> Result<Option<Vec<RepoPath>>, CancelReason> {
        let files = self.visible_files(home)?;
        let (Some(files), Some(owner), LanguageFamily::Rust) = (&files, &home.owner, home.family) else {
            return Ok(files);
        };
        let mut users = Vec::new();
        for path in files {
            let text = self.ground.read(DiffSide::New, path)?;
            let names_it = |text: &FileText| {
                let has = |word: &str| word_positions(text.text(), word).next().is_some();
                // A macro of that name makes every use of it uncertain.
                has(owner) || has("macro_rules")
            };
            if *path == home.path || text.is_none_or(|text| names_it(&text)) {
                users.push(path.clone());
            }
        }
        Ok(Some(users))
    }

    /// Returns the files of the head that may name a definition; `None` if not all of them are known.
    pub(super) fn visible_files(&self, home: &DefinitionSite) -> Result<Option<Vec<RepoPath>>, CancelReason> {
        match home.reach {
            Visibility::Tree => {
                Ok(self.hits()?.of(home.family, home.searched_name()).map(|files| files.iter().cloned().collect()))
            }
            Visibility::File => Ok(Some(vec![home.path.clone()])),
            Visibility::Folder => {
                let folder = [home.path.folder(), b"/"].concat();
                let start = if home.path.folder().is_empty() { &b""[..] } else { &folder };
                let files = self.ground.files()?;
                let from = files.partition_point(|entry| entry.path.as_bytes() < start);
                let inside = files[from..].iter().take_while(|entry| entry.path.as_bytes().starts_with(start));
                let beside = inside.filter(|entry| entry.path.folder() == home.path.folder());
                let same = beside.filter(|entry| LanguageFamily::of(&entry.path) == Some(home.family));
                let mut same: Vec<RepoPath> = same.take(MOST_BESIDE + 1).map(|entry| entry.path.clone()).collect();
                if same.len() > MOST_BESIDE {
                    same.truncate(MOST_BESIDE);
                    self.ground.note(format!(
                        "of the package of {} only {MOST_BESIDE} files were asked whether they use what the change changes",
                        home.path
                    ));
                }
                Ok(Some(same))
            }
        }
    }
}

/// The files of the head with each name, and the lines with removed names.
#[derive(Debug, Default)]
pub(super) struct NameHits {
    files: BTreeMap<(LanguageFamily, String), BTreeSet<RepoPath>>,
    /// `true` if every file was searched.
    whole: bool,
    /// `None` if not all of them are known, or none was asked for.
    removed: Option<Vec<NamedLine>>,
}

/// A line of the head with a name.
#[derive(Debug)]
pub(super) struct NamedLine {
    pub(super) path: RepoPath,
    pub(super) number: u32,
    pub(super) text: String,
}

impl NameHits {
    /// Returns the files that have a name, including its own; `None` if not all of them are known.
    pub(super) fn of(&self, family: LanguageFamily, name: &str) -> Option<&BTreeSet<RepoPath>> {
        let found = self.files.get(&(family, name.to_owned()))?;
        (self.whole && found.len() <= MOST_FILES).then_some(found)
    }

    /// Returns the lines with a removed name, in any file; `None` if not all of them are known.
    pub(super) fn lines_with_removed(&self) -> Option<&[NamedLine]> {
        self.removed.as_deref()
    }

    /// Adds a file that has some of the names.
    fn add_file(&mut self, file: &FileHits, all: &[&str], automaton: &AhoCorasick) {
        let Some(family) = LanguageFamily::of(&file.path) else { return };
        for line in file.lines.iter().filter_map(|number| file.text.line(*number)) {
            for word in automaton.find_overlapping_iter(line) {
                let name = all[word.pattern().as_usize()];
                if is_whole(line, word.start(), word.end())
                    && let Some(files) = self.files.get_mut(&(family, name.to_owned()))
                    && files.len() <= MOST_FILES
                {
                    files.insert(file.path.clone());
                }
            }
        }
    }

    fn note_common_names(&self, ground: &ImpactContext<'_>) {
        let common = self.files.iter().filter(|(_, files)| files.len() > MOST_FILES);
        let common: Vec<&str> = common.map(|((_, name), _)| name.as_str()).collect();
        if common.is_empty() {
            return;
        }
        let listed = common.iter().take(MOST_LISTED).map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        let more = common.len().saturating_sub(MOST_LISTED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        ground.note(format!(
            "names that stand in more than {MOST_FILES} files were not followed beyond the change: {listed}{more}"
        ));
    }
}

/// Searches the head for the names that the change is about and for those that it removes, in one pass.
fn search(
    ground: &ImpactContext<'_>,
    names: &BTreeMap<LanguageFamily, BTreeSet<String>>,
    removed: &RemovedNames,
) -> Result<NameHits, CancelReason> {
    let mut all: BTreeSet<&str> = names.values().flatten().map(String::as_str).collect();
    while all.len() > MOST_NAMES {
        all.pop_last();
        ground.note(format!("only {MOST_NAMES} of the names that the change is about were followed beyond its files"));
    }
    let mut hits = NameHits { whole: true, ..NameHits::default() };
    for (family, of_family) in names {
        for name in of_family.iter().filter(|name| all.contains(name.as_str())) {
            hits.files.insert((*family, name.clone()), BTreeSet::new());
        }
    }
    let all: Vec<&str> = all.into_iter().collect();
    let removed: Vec<&str> = removed.iter().map(|(name, _)| name).filter(|_| !removed.are_too_many()).collect();
    if all.is_empty() && removed.is_empty() {
        return Ok(hits);
    }
    let globs: Vec<String> = names.keys().flat_map(|family| family.globs()).map(|glob| (*glob).to_owned()).collect();
    let any_of = |words: &[&str]| words.iter().map(|word| regex::escape(word)).collect::<Vec<_>>().join("|");
    let patterns = (LineRegex::new(&format!(r"\b(?:{})\b", any_of(&all))), LineRegex::new(&any_of(&removed)));
    let automaton = AhoCorasick::builder().match_kind(MatchKind::Standard).build(&all);
    let ((Ok(of_names), Ok(of_removed)), Ok(filter), Ok(automaton)) =
        (patterns, PathFilter::new(&globs, &[]), automaton)
    else {
        return Ok(NameHits::default());
    };
    let most = |words: &[&str], most: usize| if words.is_empty() { 0 } else { most };
    let query = |pattern, files, most| Query { pattern, files, most, generated_last: false };
    let queries = [
        query(&of_names, Some(&filter), most(&all, MOST_LINES)),
        query(&of_removed, None, most(&removed, MOST_REMOVED_LINES)),
    ];
    let mut lines_with_removed = Vec::new();
    let mut each = |at: usize, file: FileHits| {
        if at == 0 {
            hits.add_file(&file, &all, &automaton);
        } else {
            let line = |number: &u32| {
                let text = file.text.line(*number)?.to_owned();
                Some(NamedLine { path: file.path.clone(), number: *number, text })
            };
            lines_with_removed.extend(file.lines.iter().filter_map(line));
        }
    };
    let totals = match ground.sides.new.search_each(&queries, ground.sides.cancel, &mut each) {
        Ok(totals) => totals,
        Err(WorkspaceError::Stopped(stopped)) => return Err(stopped),
        Err(error) => {
            ground.note(format!("the names that the change is about could not be searched: {error}"));
            return Ok(NameHits::default());
        }
    };
    let is_whole = |at: usize| totals.get(at).is_some_and(|total| total.exhausted);
    hits.whole = all.is_empty() || is_whole(0);
    if !hits.whole {
        ground.note("the names that the change is about stand in too many places to be followed".to_owned());
    }
    hits.removed = is_whole(1).then_some(lines_with_removed);
    hits.note_common_names(ground);
    Ok(hits)
}

fn is_whole(line: &str, start: usize, end: usize) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    !line[..start].chars().next_back().is_some_and(is_part) && !line[end..].chars().next().is_some_and(is_part)
}

#[cfg(test)]
mod tests {
    use super::super::super::synthetic_change::SyntheticChange;
    use super::MOST_FILES;

    #[test]
    fn a_name_that_stands_in_too_many_files_is_told() {
        let told = |users: usize| {
            let mut change = SyntheticChange::default()
                .was("lib.py", "def opens_it(path):\n    return path\n")
                .now("lib.py", "def opens_that(path):\n    return path\n");
            for at in 0..users {
                let (path, text) = (format!("user{at}.py"), "from other import opens_it\n\nopens_it(1)\n");
                change = change.was(&path, text).now(&path, text);
            }
            change.review().notes
        };
        assert_eq!(told(3), [""; 0]);
        assert_eq!(
            told(MOST_FILES + 1),
            ["names that stand in more than 400 files were not followed beyond the change: `opens_it`"]
        );
    }
}
