//! Removed files that are still referenced by their path. Main type: [`RemovedFileUsed`].

use std::collections::BTreeMap;

use super::super::checks::CheckInfo;
use super::super::target::{ChangedLineIndex, is_test_path};
use super::ImpactRule;
use super::claims::{AffectedPlace, RemoteEffect};
use super::context::ImpactContext;
use super::search::ChangedNames;
use crate::domain::change::{FileChange, FileStatus};
use crate::domain::finding::{Category, Severity};
use crate::domain::language;
use crate::domain::path::RepoPath;
use crate::domain::place::{DiffSide, LineRange};
use crate::sys::cancel::CancelReason;
use crate::workspace::{LineRegex, Query, WorkspaceError};

pub(super) struct RemovedFileUsed;

static INFO: CheckInfo = CheckInfo {
    name: "impact/removed-file-used",
    title: "Removed file is still referenced",
    message: "What names it there finds nothing any more. Correct the path in the same change.",
    severity: Severity::Medium,
    category: Category::SideEffects,
    cwe: None,
};

/// Maximum number of removed files that are searched for: a change that moves more is about moving them.
const MOST: usize = 200;
/// The search ends at this number of matching lines.
const MOST_LINES: usize = 20_000;
/// Folders of generated files.
const MADE: &[&str] = &["dist", "build", "out", "target", "gen", "generated", "node_modules", "vendor", "snapshots"];

impl ImpactRule for RemovedFileUsed {
    fn info(&self) -> &'static CheckInfo {
        &INFO
    }

    fn find(&self, ground: &ImpactContext<'_>, _: &ChangedNames<'_>) -> Result<Vec<RemoteEffect>, CancelReason> {
        let mut lost: BTreeMap<RepoPath, usize> = BTreeMap::new();
        for (at, file) in ground.sides.change.files.iter().enumerate() {
            let gone = matches!(file.status, FileStatus::Deleted | FileStatus::Renamed);
            let path = file.path_at(DiffSide::Old);
            if gone && is_distinctive_path(path) && !ground.exists(path.as_bytes())? {
                lost.insert(path.clone(), at);
            }
        }
        if lost.len() > MOST {
            ground.note(format!(
                "the paths of {} removed files were not looked for elsewhere: there are too many",
                lost.len()
            ));
            return Ok(Vec::new());
        }
        let mut behind = still(ground, &lost)?;
        let mut effects = Vec::new();
        for (path, at) in lost {
            let Some(elsewhere) = behind.remove(&path) else { continue };
            let file = &ground.sides.change.files[at];
            let verb = if file.status == FileStatus::Renamed { "moved" } else { "removed" };
            let more =
                if elsewhere.len() > 1 { format!(" and {} more places", elsewhere.len() - 1) } else { String::new() };
            effects.push(RemoteEffect {
                file: at,
                side: if file.status == FileStatus::Deleted { DiffSide::Old } else { DiffSide::New },
                lines: first_line(file),
                title: Some(format!("{path} is {verb} and its path is still used")),
                detail: format!("{}{more} still names {path}.", elsewhere[0].path),
                severity: None,
                elsewhere,
            });
        }
        Ok(effects)
    }
}

/// Returns a line of the change to point at; `None` for the file as a whole.
fn first_line(file: &FileChange) -> Option<LineRange> {
    let touched = ChangedLineIndex::of(file, DiffSide::Old);
    (file.status == FileStatus::Deleted).then(|| LineRange::line(1)).filter(|line| touched.first_in(*line).is_some())
}

/// Checks whether a path is distinctive, and not generated.
fn is_distinctive_path(path: &RepoPath) -> bool {
    let text = path.display_name();
    text.contains('/') && text.len() >= 10 && !text.split('/').any(|part| MADE.contains(&part))
}

fn still(
    ground: &ImpactContext<'_>,
    lost: &BTreeMap<RepoPath, usize>,
) -> Result<BTreeMap<RepoPath, Vec<AffectedPlace>>, CancelReason> {
    let mut found: BTreeMap<RepoPath, Vec<AffectedPlace>> = BTreeMap::new();
    if lost.is_empty() {
        return Ok(found);
    }
    let names: Vec<String> = lost.keys().map(|path| regex::escape(&path.display_name())).collect();
    let Ok(pattern) = LineRegex::new(&format!("(?:{})", names.join("|"))) else { return Ok(found) };
    let hits = match ground
        .sides
        .new
        .search(&Query { pattern: &pattern, files: None, most: MOST_LINES, generated_last: false }, ground.sides.cancel)
    {
        Ok(hits) => hits,
        Err(WorkspaceError::Stopped(stopped)) => return Err(stopped),
        Err(error) => {
            ground.note(format!("the paths of removed files could not be looked for: {error}"));
            return Ok(found);
        }
    };
    if !hits.exhausted {
        ground.note("the paths of removed files stand in too many places to be followed".to_owned());
    }
    for file in hits.files.iter().filter(|file| follows_references(&file.path)) {
        ground.sides.cancel.check()?;
        for (number, line) in file.lines.iter().filter_map(|number| Some((*number, file.text.line(*number)?))) {
            if is_remark(line) {
                continue;
            }
            for path in lost.keys().filter(|path| names_path(line, &path.display_name())) {
                let note = format!("This still names {path}.");
                let places = found.entry(path.clone()).or_default();
                places.push(AffectedPlace { path: file.path.clone(), lines: LineRange::line(number), note });
            }
        }
    }
    Ok(found)
}

/// Checks whether a build or a service uses the references in a file. Prose also describes the past: plans, decisions, history.
fn follows_references(path: &RepoPath) -> bool {
    let text = path.display_name().to_ascii_lowercase();
    let name = text.rsplit('/').next().unwrap_or_default();
    let tells_of_the_past = ["changelog", "changes", "history", "news", "release", "-lock.", ".lock", "migration"];
    if is_test_path(path) || tells_of_the_past.iter().any(|mark| text.contains(mark)) || name.ends_with("ignore") {
        return false;
    }
    matches!(
        language::from_path(path),
        Some(
            "shell"
                | "make"
                | "dockerfile"
                | "yaml"
                | "toml"
                | "json"
                | "cmake"
                | "groovy"
                | "starlark"
                | "batch"
                | "powershell"
                | "meson"
        )
    ) || name == "codeowners"
}

fn is_remark(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with('#') && !line.starts_with("#!")
        || ["//", "<!--", "`", "* "].iter().any(|mark| line.starts_with(mark))
}

/// Checks whether a line names a path from the root of the tree, and not the end of another path.
fn names_path(line: &str, path: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | '@' | '*' | '}' | ')' | '%');
    let mut from = 0;
    while let Some(at) = line.get(from..).and_then(|rest| rest.find(path)) {
        let (start, end) = (from + at, from + at + path.len());
        let before = line[..start].strip_suffix("./").unwrap_or(&line[..start]);
        let is_root = |rest: &&str| rest.is_empty() || rest.ends_with(['"', '\'', ' ', '(']);
        let before = before.strip_suffix('/').filter(is_root).unwrap_or(before);
        let after = line[end..].chars().next();
        let goes_on = after.is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '/'));
        let dotted = line[end..].strip_prefix('.').is_some_and(|rest| rest.starts_with(char::is_alphanumeric));
        if !before.chars().next_back().is_some_and(is_part) && !goes_on && !dotted {
            return true;
        }
        from = end;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_named_from_the_root_and_whole() {
        for line in [
            "run: ./scripts/a.sh --x",
            "run: bash scripts/a.sh",
            "\"scripts/a.sh\",",
            "[it](/scripts/a.sh).",
            "/scripts/a.sh @me",
        ] {
            assert!(names_path(line, "scripts/a.sh"), "{line}");
        }
        for line in [
            "run: other/scripts/a.sh",
            "scripts/a.sh.tmpl",
            "scripts/a.shell",
            "${X}/scripts/a.sh",
            "https://h/x/scripts/a.sh",
        ] {
            assert!(!names_path(line, "scripts/a.sh"), "{line}");
        }
    }
}
