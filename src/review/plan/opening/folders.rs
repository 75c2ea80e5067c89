//! Files that are counted, not named: a few lines for any number of them. Main function: [`count_by_folder`].

use std::collections::BTreeMap;

use crate::domain::change::FileChange;
use crate::domain::path;
use crate::domain::text::reveal;
use crate::review::tokens::{Weight, weight};

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

/// Counts files by folder; by the first component if that takes more than `room`; the rest becomes one line.
pub(super) fn count_by_folder<'f>(files: impl Iterator<Item = &'f FileChange> + Clone, room: Weight) -> String {
    let deep = by(files.clone(), |folder| folder);
    let all: Vec<(&[u8], FolderCount)> = deep.into_iter().collect();
    if let Some(text) = lines(&all).filter(|text| weight(text) <= room) {
        return text;
    }
    let first = |folder: &'f [u8]| folder.split(|byte| *byte == b'/').next().unwrap_or_default();
    let mut largest: Vec<(&[u8], FolderCount)> = by(files, first).into_iter().collect();
    largest.sort_by_key(|(folder, count)| (std::cmp::Reverse(count.files), *folder));
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

fn by<'f>(
    files: impl Iterator<Item = &'f FileChange>,
    key: impl Fn(&'f [u8]) -> &'f [u8],
) -> BTreeMap<&'f [u8], FolderCount> {
    let mut counts: BTreeMap<&[u8], FolderCount> = BTreeMap::new();
    for file in files {
        let one = FolderCount { files: 1, additions: file.additions.into(), deletions: file.deletions.into() };
        counts.entry(key(file.path.folder())).or_default().add(one);
    }
    counts
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
