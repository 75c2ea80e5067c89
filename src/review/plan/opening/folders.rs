//! Files that are counted, not named: a few lines for any number of them. Main type: [`FolderIndex`].

use crate::domain::change::ChangeSet;
use crate::domain::path;
use crate::domain::text::reveal;
use crate::review::tokens::{Weight, weight};

/// Folders of the changed files. They are sorted once: the messages about all parts of a change count the files of nearly all folders.
#[derive(Debug)]
pub(super) struct FolderIndex {
    folders: FolderNames,
    /// The first components of the folders, in the order of the folders.
    roots: FolderNames,
}

/// Distinct names, ascending, and for each of some things the place of its name.
#[derive(Debug)]
struct FolderNames {
    names: Vec<Vec<u8>>,
    places: Vec<usize>,
}

impl FolderNames {
    fn of<'n>(all: impl Iterator<Item = &'n [u8]> + Clone) -> Self {
        let mut names: Vec<Vec<u8>> = all.clone().map(<[u8]>::to_vec).collect();
        names.sort_unstable();
        names.dedup();
        let places = all.map(|name| names.partition_point(|known| known.as_slice() < name)).collect();
        Self { names, places }
    }
}

#[derive(Debug, Clone, Copy, Default)]
struct FolderCount {
    files: u64,
    additions: u64,
    deletions: u64,
}

impl FolderCount {
    fn add(&mut self, other: Self) {
        self.files += other.files;
        self.additions += other.additions;
        self.deletions += other.deletions;
    }

    fn line(self, place: &str) -> String {
        let Self { files, additions, deletions } = self;
        let files = if files == 1 { "1 more file".to_owned() } else { format!("{files} more files") };
        format!("{files} +{additions} -{deletions} {place}\n")
    }
}

impl FolderIndex {
    /// Creates the index of all files of a change.
    pub(super) fn of(change: &ChangeSet) -> Self {
        let folders = FolderNames::of(change.files.iter().map(|file| file.path.folder()));
        let first = |folder: &'_ Vec<u8>| folder.iter().position(|byte| *byte == b'/').unwrap_or(folder.len());
        let roots = FolderNames::of(folders.names.iter().map(|folder| &folder[..first(folder)]));
        Self { folders, roots }
    }

    /// Counts files by folder; by the first component if that takes more than `room`; the rest becomes one line.
    pub(super) fn count(&self, change: &ChangeSet, files: impl Iterator<Item = usize>, room: Weight) -> String {
        let mut deep = vec![FolderCount::default(); self.folders.names.len()];
        for at in files {
            let (Some(file), Some(folder)) = (change.files.get(at), self.folders.places.get(at)) else { continue };
            deep[*folder].add(FolderCount {
                files: 1,
                additions: file.additions.into(),
                deletions: file.deletions.into(),
            });
        }
        if let Some(text) = lines(&counted(&self.folders, &deep)).filter(|text| weight(text) <= room) {
            return text;
        }
        let mut by_root = vec![FolderCount::default(); self.roots.names.len()];
        for (count, root) in deep.iter().zip(&self.roots.places) {
            by_root[*root].add(*count);
        }
        let mut largest = counted(&self.roots, &by_root);
        largest.sort_by_key(|(_, count)| std::cmp::Reverse(count.files));
        let (mut text, mut elsewhere) = (String::new(), FolderCount::default());
        // Room for the last line, which has no name of a folder in it.
        let mut left = room.saturating_sub(weight(&" ".repeat(80)));
        for (folder, count) in largest {
            let line = count.line(&place(folder));
            match left.checked_sub(weight(&line)) {
                Some(rest) if elsewhere.files == 0 => {
                    left = rest;
                    text.push_str(&line);
                }
                _ => elsewhere.add(count),
            }
        }
        if elsewhere.files > 0 {
            text.push_str(&elsewhere.line("elsewhere"));
        }
        text
    }
}

/// Returns the names of which files were counted, ascending.
fn counted<'n>(index: &'n FolderNames, counts: &[FolderCount]) -> Vec<(&'n [u8], FolderCount)> {
    let all = index.names.iter().map(Vec::as_slice).zip(counts.iter().copied());
    all.filter(|(_, count)| count.files > 0).collect()
}

/// Maximum number of folders that are tried one by one.
const MOST_FOLDERS: usize = 200;

fn lines(counts: &[(&[u8], FolderCount)]) -> Option<String> {
    (counts.len() <= MOST_FOLDERS).then(|| counts.iter().map(|(folder, count)| count.line(&place(folder))).collect())
}

fn place(folder: &[u8]) -> String {
    if folder.is_empty() {
        return "in the root folder".to_owned();
    }
    format!("in {}/", reveal(&path::display_path(folder)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::change::FileChange;
    use crate::domain::path::RepoPath;

    #[test]
    fn files_are_counted_by_folder_or_where_there_is_no_room_by_its_first_component() {
        let paths = ["a/x/1", "a/y/2", "b/3", "4", "a/x/5", "b-c/6", "skipped/7"];
        let file = |path: &str| FileChange { additions: 2, ..FileChange::modified(RepoPath::parse(path).unwrap()) };
        let change = ChangeSet::of(paths.map(file).to_vec());
        let counted = |room: usize| {
            let room = weight(&" ".repeat(room));
            FolderIndex::of(&change).count(&change, 0..6, room)
        };
        insta::assert_snapshot!([1_000, 130, 0].map(counted).join("\n"), @"
        1 more file +2 -0 in the root folder
        2 more files +4 -0 in a/x/
        1 more file +2 -0 in a/y/
        1 more file +2 -0 in b/
        1 more file +2 -0 in b-c/

        3 more files +6 -0 in a/
        3 more files +6 -0 elsewhere

        6 more files +12 -0 elsewhere
        ");
    }
}
