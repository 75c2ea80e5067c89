//! Names like the one that was asked for.

use super::TreeEntry;
use crate::domain::path::RepoPath;

/// How many are told.
const MOST: usize = 5;

/// Up to five paths like `wanted`, the likeliest first.
pub fn near<'e>(wanted: &RepoPath, entries: impl IntoIterator<Item = &'e TreeEntry>) -> Vec<RepoPath> {
    let name = String::from_utf8_lossy(wanted.file_name()).to_lowercase();
    let whole = wanted.spelled();
    let mut found: Vec<(f64, &RepoPath)> = Vec::new();
    for entry in entries {
        let other = String::from_utf8_lossy(entry.path.file_name()).to_lowercase();
        let likeness = if other == name { 1.0 } else { strsim::jaro_winkler(&other, &name) };
        // Two letters in the wrong order make a short name very unlike by the other measure.
        if likeness < 0.8 && strsim::osa_distance(&other, &name) > 1 {
            continue;
        }
        found.push((likeness + strsim::jaro_winkler(&entry.path.spelled(), &whole), &entry.path));
        if found.len() > 1000 {
            keep_best(&mut found);
        }
    }
    keep_best(&mut found);
    found.into_iter().map(|(_, path)| path.clone()).collect()
}

fn keep_best(found: &mut Vec<(f64, &RepoPath)>) {
    found.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
    found.truncate(MOST);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::change::FileMode;

    #[test]
    fn the_same_name_elsewhere_comes_first_then_misspellings() {
        let entry = |path: &str| TreeEntry { path: RepoPath::parse(path).unwrap(), mode: FileMode::File, blob: None };
        let tree: Vec<_> = ["docs/other.md", "lib/parser.rs", "src/deep/parser.rs", "src/parsers.rs"].map(entry).into();
        let told = near(&RepoPath::parse("src/parser.rs").unwrap(), &tree);
        let told: Vec<_> = told.iter().map(|path| path.spelled().into_owned()).collect();
        assert_eq!(told.len(), 3);
        assert!(!told.contains(&"docs/other.md".to_owned()));
        let folder = [entry("src")];
        assert_eq!(near(&RepoPath::parse("scr").unwrap(), &folder).len(), 1);
        assert!(near(&RepoPath::parse("zzzz").unwrap(), &tree).is_empty());
    }
}
