//! Finds guideline files by name and place. Main type: [`GuidelineCandidate`]; main functions: [`find_candidates`], [`by_name`].
//!
//! The names and places are those that the tools document; `docs/guidelines.md` has the table with its sources.

use std::collections::BTreeSet;

use super::super::target_tree::{EntryKind, TargetTree, join};
use crate::app::context::error::AppError;
use crate::domain::guideline::GuidelineKind;
use crate::domain::path::RepoPath;
use crate::sys::cancel::Cancel;

/// Names of files that apply to everything below their folder.
const BELOW: [(&str, GuidelineKind); 4] = [
    ("AGENTS.md", GuidelineKind::Agents),
    ("CLAUDE.md", GuidelineKind::Claude),
    ("GEMINI.md", GuidelineKind::Gemini),
    ("REVIEW.md", GuidelineKind::Review),
];
/// The folder of Cursor's files, in any folder.
const CURSOR: &str = ".cursor";
const BUGBOT: &str = "BUGBOT.md";
const RULES: &str = "rules";
const RULE: &[u8] = b".mdc";
/// Copilot's files, at the root only.
const COPILOT: &str = ".github/copilot-instructions.md";
const INSTRUCTIONS: &str = ".github/instructions";
const INSTRUCTION: &[u8] = b".instructions.md";

/// Limit on the folders of changed files that are searched.
const MOST_FOLDERS: usize = 5_000;
/// Limit on the files read from folders of one kind (`.cursor/rules`).
const MOST_FILES: usize = 300;
/// Limit on the depth of folders within such a folder.
const MOST_DEPTH: usize = 6;
/// Limit on the names examined in such folders in total: a few git objects can represent any number of folders.
const MOST_NAMES: usize = 50_000;

/// The way in which a file declares its scope.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GuidelineForm {
    /// By its location.
    Place,
    /// By its front matter, in Cursor's format.
    Rule,
    /// By its front matter, in Copilot's format.
    Instruction,
}

/// A file that is a guideline by its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct GuidelineCandidate {
    pub(super) path: Vec<u8>,
    pub(super) kind: GuidelineKind,
    /// The folder below which it applies.
    pub(super) folder: Vec<u8>,
    pub(super) form: GuidelineForm,
}

/// The found files, and the skipped ones.
#[derive(Debug, Default)]
pub(super) struct GuidelineCandidates {
    pub(super) all: Vec<GuidelineCandidate>,
    pub(super) notes: Vec<String>,
    /// The number of names examined in rule folders.
    names: usize,
}

/// Collects the folders of files and their parents: the root first, then by depth.
fn folders<'p>(files: impl Iterator<Item = &'p RepoPath>) -> Vec<&'p [u8]> {
    let mut all: BTreeSet<(usize, &[u8])> = BTreeSet::from([(0, &b""[..])]);
    for file in files {
        let mut folder = file.folder();
        while !folder.is_empty() {
            let depth = memchr::memchr_iter(b'/', folder).count() + 1;
            if !all.insert((depth, folder)) {
                break;
            }
            folder = folder.iter().rposition(|byte| *byte == b'/').map_or(&[], |slash| &folder[..slash]);
        }
    }
    all.into_iter().map(|(_, folder)| folder).collect()
}

/// Finds the files that may apply to `files`: the broadest first, the nearest last.
pub(super) fn find_candidates<'p>(
    ground: &TargetTree<'_>,
    files: impl Iterator<Item = &'p RepoPath>,
    kinds: &[GuidelineKind],
    cancel: &Cancel,
) -> Result<GuidelineCandidates, AppError> {
    let mut found = GuidelineCandidates::default();
    if kinds.is_empty() {
        return Ok(found);
    }
    let folders = folders(files);
    if folders.len() > MOST_FOLDERS {
        let more = folders.len() - MOST_FOLDERS;
        found
            .notes
            .push(format!("{more} folders of the change, the deepest ones, were not looked into for guidelines"));
    }
    let has = |kind: GuidelineKind| kinds.contains(&kind);
    for folder in folders.into_iter().take(MOST_FOLDERS) {
        cancel.check()?;
        let names: Vec<&str> = BELOW.iter().map(|(name, _)| *name).chain([CURSOR]).collect();
        let there = ground.kinds(folder, &names)?;
        for ((name, kind), there) in BELOW.iter().zip(&there) {
            if has(*kind) && matches!(there, Some(EntryKind::File | EntryKind::Link)) {
                found.all.push(GuidelineCandidate::placed(folder, name, *kind));
            }
        }
        if folder.is_empty() && has(GuidelineKind::Copilot) {
            copilot(ground, &mut found, cancel)?;
        }
        if there.last().is_some_and(Option::is_some) {
            cursor(ground, folder, kinds, &mut found, cancel)?;
        }
    }
    Ok(found)
}

impl GuidelineCandidate {
    fn placed(folder: &[u8], name: &str, kind: GuidelineKind) -> Self {
        Self { path: join(folder, name.as_bytes()), kind, folder: folder.to_vec(), form: GuidelineForm::Place }
    }
}

fn copilot(ground: &TargetTree<'_>, found: &mut GuidelineCandidates, cancel: &Cancel) -> Result<(), AppError> {
    if matches!(ground.kind(COPILOT.as_bytes())?, Some(EntryKind::File | EntryKind::Link)) {
        found.all.push(GuidelineCandidate::placed(b"", COPILOT, GuidelineKind::Copilot));
    }
    let candidate = |path| GuidelineCandidate {
        path,
        kind: GuidelineKind::Copilot,
        folder: Vec::new(),
        form: GuidelineForm::Instruction,
    };
    scoped(ground, (INSTRUCTIONS.as_bytes(), INSTRUCTION), found, cancel, &candidate)
}

fn cursor(
    ground: &TargetTree<'_>,
    folder: &[u8],
    kinds: &[GuidelineKind],
    found: &mut GuidelineCandidates,
    cancel: &Cancel,
) -> Result<(), AppError> {
    let own = join(folder, CURSOR.as_bytes());
    if kinds.contains(&GuidelineKind::Cursor) {
        let rules = join(&own, RULES.as_bytes());
        let candidate = |path| GuidelineCandidate {
            path,
            kind: GuidelineKind::Cursor,
            folder: folder.to_vec(),
            form: GuidelineForm::Rule,
        };
        scoped(ground, (&rules, RULE), found, cancel, &candidate)?;
    }
    let bugbot = join(&own, BUGBOT.as_bytes());
    if kinds.contains(&GuidelineKind::Bugbot)
        && matches!(ground.kind(&bugbot)?, Some(EntryKind::File | EntryKind::Link))
    {
        let folder = folder.to_vec();
        found.all.push(GuidelineCandidate {
            path: bugbot,
            kind: GuidelineKind::Bugbot,
            folder,
            form: GuidelineForm::Place,
        });
    }
    Ok(())
}

/// Lists the files below a folder with this extension, in order.
fn scoped(
    ground: &TargetTree<'_>,
    (top, end): (&[u8], &[u8]),
    found: &mut GuidelineCandidates,
    cancel: &Cancel,
    candidate: &dyn Fn(Vec<u8>) -> GuidelineCandidate,
) -> Result<(), AppError> {
    let (mut left, mut todo) = (MOST_FILES, vec![(top.to_vec(), 0)]);
    while let Some((folder, depth)) = todo.pop() {
        cancel.check()?;
        if found.names > MOST_NAMES {
            let note = "there are so many folders of rules for assistants that not all were looked into".to_owned();
            if !found.notes.contains(&note) {
                found.notes.push(note);
            }
            return Ok(());
        }
        let mut within = Vec::new();
        let listed = ground.list(&folder)?;
        found.names = found.names.saturating_add(listed.len());
        for (name, kind) in listed {
            match kind {
                EntryKind::Folder if depth < MOST_DEPTH => within.push((join(&folder, &name), depth + 1)),
                EntryKind::File | EntryKind::Link if name.ends_with(end) => {
                    if left == 0 {
                        let top = crate::domain::path::display_path(top);
                        found.notes.push(format!("{top} has more than {MOST_FILES} files; the others were not read"));
                        return Ok(());
                    }
                    left -= 1;
                    found.all.push(candidate(join(&folder, &name)));
                }
                EntryKind::File | EntryKind::Link | EntryKind::Folder | EntryKind::Other => {}
            }
        }
        todo.extend(within.into_iter().rev());
    }
    Ok(())
}

/// Classifies a file by its path alone; `None` if it is no guideline.
pub(super) fn by_name(path: &[u8]) -> Option<GuidelineCandidate> {
    let (folder, name) = match path.iter().rposition(|byte| *byte == b'/') {
        Some(slash) => (&path[..slash], &path[slash + 1..]),
        None => (&b""[..], path),
    };
    if let Some((name, kind)) = BELOW.iter().find(|(known, _)| known.as_bytes() == name) {
        return Some(GuidelineCandidate::placed(folder, name, *kind));
    }
    if path == COPILOT.as_bytes() {
        return Some(GuidelineCandidate::placed(b"", COPILOT, GuidelineKind::Copilot));
    }
    let below = |top: &str| path.strip_prefix(top.as_bytes()).is_some_and(|rest| rest.first() == Some(&b'/'));
    if below(INSTRUCTIONS) && name.ends_with(INSTRUCTION) {
        let (path, folder, kind) = (path.to_vec(), Vec::new(), GuidelineKind::Copilot);
        return Some(GuidelineCandidate { path, kind, folder, form: GuidelineForm::Instruction });
    }
    let cursors = join(CURSOR.as_bytes(), RULES.as_bytes());
    let own = |tail: &[u8]| -> Option<Vec<u8>> {
        let at = memchr::memmem::rfind(path, tail)?;
        let rest = &path[at + tail.len()..];
        let starts = at == 0 || path[at - 1] == b'/';
        (starts && (rest.is_empty() || rest.first() == Some(&b'/'))).then(|| path[..at.saturating_sub(1)].to_vec())
    };
    if name.ends_with(RULE)
        && let Some(folder) = own(&cursors)
    {
        return Some(GuidelineCandidate {
            path: path.to_vec(),
            kind: GuidelineKind::Cursor,
            folder,
            form: GuidelineForm::Rule,
        });
    }
    let bugbot = own(&join(CURSOR.as_bytes(), BUGBOT.as_bytes()))?;
    Some(GuidelineCandidate {
        path: path.to_vec(),
        kind: GuidelineKind::Bugbot,
        folder: bugbot,
        form: GuidelineForm::Place,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_comes_first_and_the_deepest_last() {
        let files: Vec<RepoPath> = ["a/b/x", "a/c/y", "z"].iter().map(|path| RepoPath::parse(path).unwrap()).collect();
        let folders: Vec<_> = folders(files.iter()).into_iter().map(|path| String::from_utf8_lossy(path)).collect();
        assert_eq!(folders, ["", "a", "a/b", "a/c"]);
    }

    #[test]
    fn a_name_tells_what_a_file_is_and_from_where_it_reaches() {
        let told = |path: &str| {
            by_name(path.as_bytes()).map(|found| {
                format!("{} {} {:?}", found.kind.as_str(), String::from_utf8_lossy(&found.folder), found.form)
            })
        };
        for (path, expected) in [
            ("AGENTS.md", Some("agents  Place")),
            ("web/CLAUDE.md", Some("claude web Place")),
            ("agents.md", None),
            ("AGENTS.md/x", None),
            (".github/copilot-instructions.md", Some("copilot  Place")),
            ("web/.github/copilot-instructions.md", None),
            (".github/instructions/a/ts.instructions.md", Some("copilot  Instruction")),
            (".github/instructions/readme.md", None),
            (".cursor/rules/a.mdc", Some("cursor  Rule")),
            ("web/app/.cursor/rules/x/a.mdc", Some("cursor web/app Rule")),
            ("x.cursor/rules/a.mdc", None),
            (".cursor/rules.mdc", None),
            ("web/.cursor/BUGBOT.md", Some("bugbot web Place")),
            (".cursor/BUGBOT.md", Some("bugbot  Place")),
            ("BUGBOT.md", None),
        ] {
            assert_eq!(told(path).as_deref(), expected, "{path}");
        }
    }
}
