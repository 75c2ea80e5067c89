//! Evaluates all single-file rules in one pass while the syntax trees are in memory. Main type: [`PerFileResults`]; main function: [`evaluate_file`].
//!
//! A tree takes forty times the memory of its text, and going through memory dominates the cost of a large change. So whatever does not
//! depend on other files is computed when the file is first parsed. This is only a cache: a missing result is computed on demand.

use std::sync::OnceLock;
use std::time::Duration;

use super::base_matches::{self, BaseMatches};
use super::checks::CheckNotes;
use super::impact::{self, FileOutlines};
use super::input::RulesInput;
use super::introduced::HeadMatch;
use super::removed::{self, FileRemovals};
use super::target::{RuleMatch, read_text};
use crate::domain::change::FileChange;
use crate::domain::place::DiffSide;
use crate::syntax::{Grammar, ParseFailure, ParseLimits, enclosing_symbol, error_count};
use crate::sys::cancel::CancelReason;

/// Maximum size of a text whose proofs are computed ahead, in bytes.
const LARGEST: usize = 512 << 10;
/// Maximum number of matches of one file proved ahead.
const MOST: usize = 100;
/// Time limit for parsing such a text.
const PATIENCE: Duration = Duration::from_secs(2);

/// Single-file results for the files of a change.
#[derive(Default)]
pub(super) struct PerFileResults {
    files: Vec<FileResults>,
    /// The notes of the checks.
    pub(super) checks: CheckNotes,
}

/// The results of one file.
#[derive(Default)]
pub(super) struct FileResults {
    /// Base matches of the rules that match at the head.
    pub(super) stood: OnceLock<BaseMatches>,
    /// Candidates of the rules about removed code.
    pub(super) left: OnceLock<FileRemovals>,
    /// Definitions on both sides.
    pub(super) outlines: OnceLock<FileOutlines>,
}

impl PerFileResults {
    /// Creates an empty store for `files` files.
    pub(super) fn new(files: usize) -> Self {
        let of_each = std::iter::repeat_with(FileResults::default).take(files).collect();
        Self { files: of_each, checks: CheckNotes::default() }
    }

    /// Returns the results of a file by its index in the change.
    pub(super) fn results_of(&self, at: usize) -> Option<&FileResults> {
        self.files.get(at)
    }
}

/// Evaluates one file; `hits` are the matches at its head.
pub(super) fn evaluate_file(
    input: &RulesInput<'_>,
    alone: &PerFileResults,
    at: usize,
    hits: &[HeadMatch],
) -> Result<(), CancelReason> {
    let (Some(answers), Some(file)) = (alone.results_of(at), input.change.files.get(at)) else { return Ok(()) };
    if let Some(stood) = base_matches::find_base_matches(input, file, hits)? {
        answers.stood.get_or_init(|| stood);
    }
    let left = removed::find_file_removals(input, at)?;
    let left = answers.left.get_or_init(|| left);
    if let Some(outlines) = impact::read_outlines(&input.sides(), &|rule| input.packs.is_off(rule), at)? {
        answers.outlines.get_or_init(|| outlines);
    }
    let told = hits.iter().filter(|hit| hit.touched.is_some()).map(|hit| &hit.hit);
    precompute_proofs(input, file, DiffSide::New, told)?;
    precompute_proofs(input, file, DiffSide::Old, left.hits())?;
    // Its texts are in memory now.
    for (side, is_changed) in [(DiffSide::Old, file.deletions > 0), (DiffSide::New, file.additions > 0)] {
        if is_changed && file.language.is_some() {
            input.sides().changed_lines(at, side)?;
        }
    }
    Ok(())
}

/// Computes what is needed to prove matches that may be reported: enclosing symbols, and whether the text parses in its language.
fn precompute_proofs<'h>(
    input: &RulesInput<'_>,
    file: &FileChange,
    side: DiffSide,
    hits: impl Iterator<Item = &'h RuleMatch>,
) -> Result<(), CancelReason> {
    let mut hits = hits.peekable();
    let (Some(language), Some(_)) = (file.language, hits.peek()) else { return Ok(()) };
    let tree = if side == DiffSide::Old { input.old } else { input.new };
    let text = read_text(tree, file.path_at(side))?.filter(|text| text.text().len() <= LARGEST);
    let Some(text) = text else { return Ok(()) };
    let Some(grammar) = Grammar::of_text(language, text.text()) else { return Ok(()) };
    // A text that failed to parse once is not tried again for each match.
    match input.trees.parse(grammar, text.text(), &ParseLimits::new(input.cancel, PATIENCE)) {
        Err(ParseFailure::Stopped(stopped)) => return Err(stopped),
        Err(_) => return Ok(()),
        Ok(_) => {}
    }
    for hit in hits.take(MOST) {
        input.cancel.check()?;
        let _ = enclosing_symbol(language, text.text(), hit.at.start(), input.trees);
        if hit.replacement.is_some() {
            let _ = error_count(language, text.text(), input.trees);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::changed_lines::ChangedLines;
    use super::super::packs::Packs;
    use super::super::synthetic_change::SyntheticChange;
    use super::*;
    use crate::domain::event::NullEventSink;
    use crate::syntax::TreeCache;
    use crate::sys::cancel::Cancel;

    const OLD: &str = "def f(a):\n    if a is None:\n        return 0\n    return a.b\n";

    fn asked(cancel: &Cancel) -> (PerFileResults, Result<(), CancelReason>) {
        let (change, old, new) =
            SyntheticChange::default().was("a.py", OLD).now("a.py", "def f(a):\n    return a.b\n").build();
        let (packs, trees) = (Packs::built_in().unwrap(), TreeCache::default());
        let input = RulesInput {
            change: &change,
            only: None,
            new: &new,
            old: &old,
            packs: &packs,
            lines: &ChangedLines::default(),
            trees: &trees,
            cancel,
            events: &NullEventSink,
        };
        let alone = PerFileResults::new(1);
        let asked = evaluate_file(&input, &alone, 0, &[]);
        // The next caller gets the stored result.
        alone.checks.note("not looked at".to_owned());
        (alone, asked)
    }

    #[test]
    fn what_is_answered_is_kept_and_so_is_what_was_not_looked_at() {
        let (alone, asked) = asked(&Cancel::never());
        assert_eq!(asked, Ok(()));
        assert!(alone.results_of(0).unwrap().left.get().is_some());
        assert_eq!(alone.checks.notes().into_iter().collect::<Vec<_>>(), ["not looked at"]);
    }

    #[test]
    fn what_was_stopped_is_no_answer() {
        let cancel = Cancel::never();
        cancel.interrupt();
        let (alone, asked) = asked(&cancel);
        assert_eq!(asked, Err(CancelReason::Interrupted));
        assert!(alone.results_of(0).unwrap().left.get().is_none());
    }
}
