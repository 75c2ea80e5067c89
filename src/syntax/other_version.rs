//! Incremental parsing: a text and another version of it, so that their common parts are parsed once. Main type: [`OtherVersion`].
//!
//! A parser that has the tree of the other version reuses what lies between the changes. That is only done if the text there is the same
//! to the byte; the places of changes come from the diff and are not compared here.

use std::ops::Range;

use tree_sitter::{InputEdit, Point, Tree};

use crate::domain::change::{ChangeRun, FileChange, HunkSpan};
use crate::domain::place::DiffSide;
use crate::domain::text::FileText;

/// Maximum number of changes; with more, reuse costs as much as parsing.
const MOST: usize = 400;

/// The other version of a text, and the edits that lead to this one.
#[derive(Debug)]
pub struct OtherVersion<'a> {
    pub(super) other: &'a str,
    /// From the first to the last, each in positions of the other version.
    edits: Vec<InputEdit>,
}

impl<'a> OtherVersion<'a> {
    /// Pairs `own`, which is the `side` of `file`, with the other side; `None` if they differ elsewhere than the diff says, or in many
    /// places.
    pub fn of(file: &FileChange, side: DiffSide, own: &FileText, other: &'a FileText) -> Option<Self> {
        let (mut at, mut other_at) = (0, 0);
        let mut edits = Vec::new();
        for run in file.runs() {
            let ChangeRun { old, new } = *run;
            let (mine, theirs) = if side == DiffSide::Old { (old, new) } else { (new, old) };
            let (fresh, gone) = (bytes(own, mine)?, bytes(other, theirs)?);
            if own.text().get(at..fresh.start)? != other.text().get(other_at..gone.start)? {
                return None;
            }
            (at, other_at) = (fresh.end, gone.end);
            // The text on both sides of a run is whole lines, so each run begins with one.
            let row = if theirs.count == 0 { theirs.start } else { theirs.start.saturating_sub(1) } as usize;
            edits.push(InputEdit {
                start_byte: gone.start,
                old_end_byte: gone.end,
                new_end_byte: gone.start + fresh.len(),
                start_position: Point { row, column: 0 },
                old_end_position: end(row, other.text().get(gone)?),
                new_end_position: end(row, own.text().get(fresh)?),
            });
        }
        let ends_alike = own.text().get(at..)? == other.text().get(other_at..)?;
        (ends_alike && edits.len() <= MOST).then(|| Self { other: other.text(), edits })
    }

    /// Returns the tree of the other version with the edits applied.
    pub(super) fn edited_tree(&self, tree: &Tree) -> Tree {
        let mut tree = tree.clone();
        // From the last to the first: positions before an edit stay valid.
        self.edits.iter().rev().for_each(|edit| tree.edit(edit));
        tree
    }
}

/// Returns the bytes of a span; for an empty one the place where its lines would be.
fn bytes(text: &FileText, span: HunkSpan) -> Option<Range<usize>> {
    match span.range() {
        Some(lines) => text.byte_range(lines),
        None if span.start == 0 => Some(0..0),
        None => {
            let before = HunkSpan { count: 1, ..span }.range()?;
            text.byte_range(before).map(|before| before.end..before.end)
        }
    }
}

/// Returns the ends of `lines`, which begin in ascending order.
fn end(row: usize, lines: &str) -> Point {
    let row = row + memchr::memchr_iter(b'\n', lines.as_bytes()).count();
    let column = memchr::memrchr(b'\n', lines.as_bytes()).map_or(lines.len(), |newline| lines.len() - newline - 1);
    Point { row, column }
}

#[cfg(test)]
pub(super) mod tests {
    use std::path::Path;
    use std::sync::LazyLock;
    use std::time::Duration;

    use proptest::prelude::*;

    use super::super::grammar::Grammar;
    use super::super::grammar::ParseLimits;
    use super::super::tree_cache::TreeCache;
    use super::*;
    use crate::domain::change::Hunk;
    use crate::domain::path::RepoPath;
    use crate::sys::cancel::Cancel;

    /// The texts of the rules' fixtures, by their grammars. Read once: each case of a property asks for them.
    pub(in crate::syntax) static SAMPLES: LazyLock<Vec<(Grammar, String)>> = LazyLock::new(samples);

    fn samples() -> Vec<(Grammar, String)> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/rules");
        let mut found = Vec::new();
        let mut folders = vec![root];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                let language = path.to_str().and_then(|text| {
                    crate::domain::language::from_path(&RepoPath::parse(text.trim_start_matches('/')).ok()?)
                });
                if path.is_dir() {
                    folders.push(path);
                } else if let Some(grammar) = language.and_then(Grammar::of) {
                    found.push((grammar, std::fs::read_to_string(path).unwrap()));
                }
            }
        }
        found.sort();
        found
    }

    /// An edit of each line: it stays, is removed, or another one is added before it.
    pub(in crate::syntax) fn edited(text: &str, steps: &[u8]) -> (String, FileChange) {
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let mut file = FileChange::modified(RepoPath::parse("a").unwrap());
        let (mut now, mut runs): (String, Vec<ChangeRun>) = (String::new(), Vec::new());
        let (mut old, mut new) = (0, 0);
        let mut open: Option<(u32, u32, u32, u32)> = None;
        let close = |open: &mut Option<(u32, u32, u32, u32)>, runs: &mut Vec<ChangeRun>| {
            if let Some((from, gone, to, came)) = open.take() {
                let span = |before: u32, count: u32| HunkSpan { start: before + u32::from(count > 0), count };
                runs.push(ChangeRun { old: span(from, gone), new: span(to, came) });
            }
        };
        for (line, step) in lines.iter().zip(steps.iter().cycle()) {
            let (goes, comes) = (matches!(step, 1 | 3), matches!(step, 2 | 3));
            if !goes && !comes {
                close(&mut open, &mut runs);
            }
            if goes || comes {
                let run = open.get_or_insert((old, 0, new, 0));
                if comes {
                    now.push_str(if *step == 2 { line } else { "\n" });
                    (run.3, new) = (run.3 + 1, new + 1);
                }
                run.1 += u32::from(goes);
            }
            old += 1;
            if !goes {
                if comes {
                    close(&mut open, &mut runs);
                }
                now.push_str(line);
                new += 1;
            }
        }
        close(&mut open, &mut runs);
        file.hunks = vec![Hunk { runs, ..Hunk::default() }];
        (now, file)
    }

    pub(in crate::syntax) type NodeSnapshot =
        (u16, Range<usize>, (usize, usize, usize, usize), bool, bool, Option<String>);

    /// Counts the nodes of a tree that are shared with another one.
    fn shared(tree: &super::super::tree::SyntaxTree, other: &super::super::tree::SyntaxTree) -> usize {
        let ids = |tree: &super::super::tree::SyntaxTree| -> std::collections::HashSet<usize> {
            tree.root.root().dfs().map(|node| node.get_inner_node().id()).collect()
        };
        ids(tree).intersection(&ids(other)).count()
    }

    /// Lists every node with its compared properties.
    pub(in crate::syntax) fn nodes(tree: &super::super::tree::SyntaxTree) -> Vec<NodeSnapshot> {
        let root = tree.root.root();
        let mut cursor = root.get_inner_node().walk();
        let mut all = Vec::new();
        loop {
            let (node, place) = (cursor.node(), cursor.node().start_position());
            let field = cursor.field_name().map(str::to_owned);
            let end = node.end_position();
            let place = (place.row, place.column, end.row, end.column);
            all.push((node.kind_id(), node.byte_range(), place, node.is_missing(), node.is_extra(), field));
            if cursor.goto_first_child() {
                continue;
            }
            while !cursor.goto_next_sibling() {
                if !cursor.goto_parent() {
                    return all;
                }
            }
        }
    }

    /// Asserts that both ways of parsing give the same tree; returns the share that was reused.
    fn agrees(grammar: Grammar, old: &str, new: &str, file: &FileChange) -> usize {
        let (old, new) = (FileText::new(old, "UTF-8"), FileText::new(new, "UTF-8"));
        let cancel = Cancel::never();
        let watch = ParseLimits::new(&cancel, Duration::from_mins(1));
        let beside = OtherVersion::of(file, DiffSide::Old, &old, &new).expect("they differ where the change says");
        let trees = TreeCache::default();
        let other = trees.parse(grammar, new.text(), &watch).unwrap();
        let taken = trees.parse_with_other(grammar, old.text(), Some(&beside), &watch).unwrap();
        let alone = TreeCache::default().parse(grammar, old.text(), &watch).unwrap();
        assert_eq!(nodes(&taken), nodes(&alone), "{grammar:?}\n{}\n---\n{}", old.text(), new.text());
        shared(&taken, &other)
    }

    #[test]
    fn what_differs_elsewhere_is_parsed_alone() {
        let text = |text: &str| FileText::new(text, "UTF-8");
        let (old, new) = (text("a();\nb();\nc();\n"), text("a();\nx();\nc();\n"));
        let mut file = FileChange::modified(RepoPath::parse("a.js").unwrap());
        let span = |start: u32| HunkSpan { start, count: 1 };
        file.hunks = vec![Hunk { runs: vec![ChangeRun { old: span(2), new: span(2) }], ..Hunk::default() }];
        assert!(OtherVersion::of(&file, DiffSide::Old, &old, &new).is_some());
        assert!(OtherVersion::of(&file, DiffSide::Old, &text("A();\nb();\nc();\n"), &new).is_none());
        assert!(OtherVersion::of(&file, DiffSide::Old, &text("a();\nb();\nC();\n"), &new).is_none());
        assert!(OtherVersion::of(&file, DiffSide::Old, &text("a();\n"), &new).is_none());
    }

    #[test]
    fn a_line_that_comes_or_goes_anywhere_gives_the_same_tree() {
        let mut taken_over = std::collections::BTreeMap::new();
        for (grammar, text) in SAMPLES.iter().step_by(7) {
            for at in 0..text.lines().count().min(12) {
                for step in 1..=3 {
                    let mut steps = vec![0; text.lines().count().max(1)];
                    steps[at] = step;
                    let (now, file) = edited(text, &steps);
                    *taken_over.entry(*grammar).or_insert(0) += agrees(*grammar, text, &now, &file);
                    // And in reverse, which restores whole functions.
                    let turned = file.runs().map(|run| ChangeRun { old: run.new, new: run.old }).collect();
                    let mut back = file.clone();
                    back.hunks = vec![Hunk { runs: turned, ..Hunk::default() }];
                    *taken_over.entry(*grammar).or_insert(0) += agrees(*grammar, &now, text, &back);
                }
            }
        }
        assert!(taken_over.len() > 8 && taken_over.values().all(|nodes| *nodes > 100), "{taken_over:?}");
    }

    proptest! {
        #[test]
        fn a_tree_does_not_depend_on_what_it_was_parsed_beside(
            which in 0usize..100_000, steps in prop::collection::vec(prop_oneof![6 => Just(0u8), 1 => 1u8..4], 1..60)
        ) {
            let (grammar, text) = &SAMPLES[which % SAMPLES.len()];
            let (now, file) = edited(text, &steps);
            agrees(*grammar, text, &now, &file);
        }
    }
}
