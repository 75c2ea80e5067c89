//! Names like the one that was asked for.

use std::ops::ControlFlow;

use super::{TreeEntry, Workspace, WorkspaceError};
use crate::domain::limits::LIMITS;
use crate::domain::path::RepoPath;
use crate::sys::cancel::Cancel;

/// The number of reported ones.
const MOST: usize = 5;

/// Up to five paths like `wanted`, the likeliest first.
pub fn nearest_paths<'e>(wanted: &RepoPath, entries: impl IntoIterator<Item = &'e TreeEntry>) -> Vec<RepoPath> {
    let mut nearest = NearestPaths::for_path(wanted);
    entries.into_iter().for_each(|entry| nearest.add(entry.path.as_bytes()));
    nearest.into_paths()
}

/// Finds the nearest paths among the files of a tree, of which no more are listed than [`InputLimits::compared_names`](crate::domain::limits::InputLimits).
pub fn nearest_paths_in(
    wanted: &RepoPath,
    tree: &dyn Workspace,
    cancel: &Cancel,
) -> Result<Vec<RepoPath>, WorkspaceError> {
    let (mut nearest, mut compared) = (NearestPaths::for_path(wanted), 0);
    tree.visit(cancel, &mut |path, _| {
        nearest.add(path);
        compared += 1;
        if compared < LIMITS.compared_names { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    Ok(nearest.into_paths())
}

/// The likeliest of the paths that were compared with one so far. Main functions: [`add`](Self::add), [`into_paths`](Self::into_paths).
pub struct NearestPaths {
    name: String,
    whole: String,
    found: Vec<(f64, RepoPath)>,
}

impl NearestPaths {
    /// Nothing yet, to be compared with `wanted`.
    pub fn for_path(wanted: &RepoPath) -> Self {
        let name = String::from_utf8_lossy(wanted.file_name()).to_lowercase();
        Self { name, whole: wanted.display_name().into_owned(), found: Vec::new() }
    }

    /// Compares one more.
    pub fn add(&mut self, path: &[u8]) {
        let name = &self.name;
        let last = path.rsplit(|byte| *byte == b'/').next().unwrap_or(path);
        let other = String::from_utf8_lossy(last).to_lowercase();
        let likeness = if other == *name { 1.0 } else { strsim::jaro_winkler(&other, name) };
        // Two letters in the wrong order make a short name very unlike by the other measure.
        if likeness < 0.8 && strsim::osa_distance(&other, name) > 1 {
            return;
        }
        let Ok(path) = RepoPath::from_bytes(path) else { return };
        self.found.push((likeness + strsim::jaro_winkler(&path.display_name(), &self.whole), path));
        if self.found.len() > 1000 {
            self.keep_best();
        }
    }

    fn keep_best(&mut self) {
        self.found.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
        self.found.truncate(MOST);
    }

    /// Up to five, the likeliest first.
    pub fn into_paths(mut self) -> Vec<RepoPath> {
        self.keep_best();
        self.found.into_iter().map(|(_, path)| path).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::change::FileMode;

    #[test]
    fn the_same_name_elsewhere_comes_first_then_misspellings() {
        let entry = |path: &str| TreeEntry { path: RepoPath::parse(path).unwrap(), mode: FileMode::File, blob: None };
        let tree: Vec<_> = ["docs/other.md", "lib/parser.rs", "src/deep/parser.rs", "src/parsers.rs"].map(entry).into();
        let told = nearest_paths(&RepoPath::parse("src/parser.rs").unwrap(), &tree);
        let told: Vec<_> = told.iter().map(|path| path.display_name().into_owned()).collect();
        assert_eq!(told.len(), 3);
        assert!(!told.contains(&"docs/other.md".to_owned()));
        let folder = [entry("src")];
        assert_eq!(nearest_paths(&RepoPath::parse("scr").unwrap(), &folder).len(), 1);
        assert!(nearest_paths(&RepoPath::parse("zzzz").unwrap(), &tree).is_empty());
    }
}
