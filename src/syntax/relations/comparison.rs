//! Holds the reader of words against the parser, on the rules' fixtures and on the sources of this program.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use super::by_tree::relations_by_tree;
use super::{Relations, relations};
use crate::domain::language;
use crate::domain::path::RepoPath;

/// Both readings of each file, with its language.
fn samples() -> Vec<(&'static str, PathBuf, Relations, Relations)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut folders = vec![
        root.join("fixtures/rules"),
        root.join("src/review"),
        root.join("src/git"),
        root.join("editors/vscode/src"),
    ];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let name = path.to_str().unwrap().trim_start_matches('/').to_owned();
            let Some(language) = RepoPath::parse(&name).ok().and_then(|path| language::from_path(&path)) else {
                continue;
            };
            let Ok(text) = std::fs::read_to_string(&path) else { continue };
            if let (Some(own), Some(parsed)) = (relations(language, &text), relations_by_tree(language, &text)) {
                found.push((language, path, own, parsed));
            }
        }
    }
    found.sort_by(|a, b| a.1.cmp(&b.1));
    found
}

#[derive(Default)]
struct Recall {
    found: usize,
    wanted: usize,
    /// Names that only the reader of words has.
    more: usize,
}

impl Recall {
    fn add(&mut self, own: &[&String], parsed: &[&String]) {
        self.found += parsed.iter().filter(|name| own.contains(name)).count();
        self.wanted += parsed.len();
        self.more += own.iter().filter(|name| !parsed.contains(name)).count();
    }
}

#[test]
fn names_read_from_words_are_those_of_the_parser() {
    let samples = samples();
    let mut definers: HashMap<&str, usize> = HashMap::new();
    for name in samples.iter().flat_map(|(_, _, _, parsed)| &parsed.defines) {
        *definers.entry(name).or_default() += 1;
    }
    // What links files: names that few files define.
    let links = |name: &&String| name.len() >= 4 && definers.get(name.as_str()).is_some_and(|files| *files <= 2);
    let mut recalls: BTreeMap<(&str, &str), Recall> = BTreeMap::new();
    for (language, _, own, parsed) in &samples {
        let mut recall = |kind, own: Vec<&String>, parsed: Vec<&String>| {
            recalls.entry((language, kind)).or_default().add(&own, &parsed);
        };
        recall("imports", own.imports.iter().collect(), parsed.imports.iter().collect());
        recall("defines", own.defines.iter().collect(), parsed.defines.iter().collect());
        recall("uses", own.uses.iter().filter(links).collect(), parsed.uses.iter().filter(links).collect());
    }
    for ((language, kind), Recall { found, wanted, more }) in &recalls {
        let least = if *kind == "uses" { 40 } else { 80 };
        assert!(found * 100 >= wanted * least, "{language} {kind}: {found} of {wanted}, {more} more");
        let most = if *kind == "uses" { 100 } else { 5 };
        assert!(more * 100 <= wanted * most + 300, "{language} {kind}: {more} more than {wanted}");
    }
    assert!(recalls.len() >= 15, "all languages are compared");
}
