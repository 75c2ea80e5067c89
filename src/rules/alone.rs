//! Evaluates all single-file rules in one pass while the syntax trees are in memory. Main type: [`Alone`]; main function: [`ask`].
//!
//! A tree takes forty times the memory of its text, and going through memory dominates the cost of a large change. So whatever does not
//! depend on other files is computed when the file is first parsed. This is only a cache: a missing result is computed on demand.

use std::collections::BTreeSet;
use std::sync::atomic::AtomicUsize;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use super::base::{self, Stood};
use super::checks::{Around, BothSides, Check as _, GUARDS, Taken, taken_from};
use super::impact;
use super::introduced::HeadHit;
use super::lost::{self, Left};
use super::run::RulesInput;
use super::subject::{Hit, readable};
use crate::domain::change::FileChange;
use crate::domain::place::Side;
use crate::syntax::{Grammar, Unparsed, Watch, enclosing_symbol, error_count};
use crate::sys::cancel::Stopped;

/// Maximum size of a text whose proofs are computed ahead, in bytes.
const LARGEST: usize = 512 << 10;
/// Maximum number of matches of one file proved ahead.
const MOST: usize = 100;
/// Time limit for parsing such a text.
const PATIENCE: Duration = Duration::from_secs(2);

/// Single-file results for the files of a change.
#[derive(Default)]
pub(super) struct Alone {
    files: Vec<Answers>,
    /// All added and removed lines.
    pub(super) around: OnceLock<Around>,
    /// Bytes read so far to find out what files define.
    pub(super) read: AtomicUsize,
    /// Notes on what was not examined, one sentence each.
    notes: Mutex<BTreeSet<String>>,
}

/// The results of one file.
#[derive(Default)]
pub(super) struct Answers {
    /// Base matches of the rules that match at the head.
    pub(super) stood: OnceLock<Stood>,
    /// Candidates of the rules about removed code.
    pub(super) left: OnceLock<Left>,
    /// Guards removed from its functions.
    pub(super) taken: OnceLock<Vec<Taken>>,
}

impl Alone {
    /// Creates an empty store for `files` files.
    pub(super) fn new(files: usize) -> Self {
        Self { files: std::iter::repeat_with(Answers::default).take(files).collect(), ..Self::default() }
    }

    /// Returns the results of a file by its index in the change.
    pub(super) fn of(&self, at: usize) -> Option<&Answers> {
        self.files.get(at)
    }

    /// Records what was not examined. Stored here because the cached results do not mention it.
    pub(super) fn note(&self, note: String) {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner).insert(note);
    }

    /// Returns the recorded notes.
    pub(super) fn notes(&self) -> BTreeSet<String> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Evaluates one file; `hits` are the matches at its head.
pub(super) fn ask(input: &RulesInput<'_>, alone: &Alone, at: usize, hits: &[HeadHit]) -> Result<(), Stopped> {
    let (Some(answers), Some(file)) = (alone.of(at), input.change.files.get(at)) else { return Ok(()) };
    if let Some(stood) = base::stood(input, file, hits)? {
        answers.stood.get_or_init(|| stood);
    }
    let left = lost::left(input, at)?;
    let left = answers.left.get_or_init(|| left);
    let is_asked = GUARDS.iter().any(|guard| !input.packs.is_off(guard.info().name));
    let taken = if is_asked { taken_from(&BothSides::of(input, alone), at)? } else { Vec::new() };
    impact::read_ahead(input, at, &alone.read)?;
    let told = hits.iter().filter(|hit| hit.touched.is_some()).map(|hit| &hit.hit);
    precompute_proofs(input, file, Side::New, told)?;
    precompute_proofs(input, file, Side::Old, left.hits().chain(taken.iter().map(|(_, hit)| hit)))
}

/// Computes what is needed to prove matches that may be reported: enclosing symbols, and whether the text parses in its language.
fn precompute_proofs<'h>(
    input: &RulesInput<'_>,
    file: &FileChange,
    side: Side,
    hits: impl Iterator<Item = &'h Hit>,
) -> Result<(), Stopped> {
    let mut hits = hits.peekable();
    let (Some(language), Some(_)) = (file.language, hits.peek()) else { return Ok(()) };
    let tree = if side == Side::Old { input.old } else { input.new };
    let text = readable(tree, file.path_at(side))?.filter(|text| text.text().len() <= LARGEST);
    let (Some(text), Some(grammar)) = (text, Grammar::of(language)) else { return Ok(()) };
    // A text that failed to parse once is not tried again for each match.
    match input.trees.parse(grammar, text.text(), &Watch::new(input.cancel, PATIENCE)) {
        Err(Unparsed::Stopped(stopped)) => return Err(stopped),
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
    use super::super::made_up::MadeUp;
    use super::super::packs::Packs;
    use super::*;
    use crate::domain::event::Silent;
    use crate::syntax::Trees;
    use crate::sys::cancel::Cancel;

    const OLD: &str = "def f(a):\n    if a is None:\n        return 0\n    return a.b\n";

    fn asked(cancel: &Cancel) -> (Alone, Result<(), Stopped>) {
        let (change, old, new) = MadeUp::default().was("a.py", OLD).now("a.py", "def f(a):\n    return a.b\n").change();
        let (packs, trees) = (Packs::built_in().unwrap(), Trees::default());
        let input =
            RulesInput { change: &change, new: &new, old: &old, packs: &packs, trees: &trees, cancel, events: &Silent };
        let alone = Alone::new(1);
        let asked = ask(&input, &alone, 0, &[]);
        // The next caller gets the stored result.
        BothSides::of(&input, &alone).note("not looked at".to_owned());
        (alone, asked)
    }

    #[test]
    fn what_is_answered_is_kept_and_so_is_what_was_not_looked_at() {
        let (alone, asked) = asked(&Cancel::never());
        assert_eq!(asked, Ok(()));
        assert_eq!(alone.of(0).unwrap().taken.get().map(Vec::len), Some(1));
        assert!(alone.of(0).unwrap().left.get().is_some());
        assert_eq!(alone.notes().into_iter().collect::<Vec<_>>(), ["not looked at"]);
    }

    #[test]
    fn what_was_stopped_is_no_answer() {
        let cancel = Cancel::never();
        cancel.interrupt();
        let (alone, asked) = asked(&cancel);
        assert_eq!(asked, Err(Stopped::Interrupted));
        assert!(alone.of(0).unwrap().taken.get().is_none() && alone.of(0).unwrap().left.get().is_none());
    }
}
