//! What one file says by itself, asked all at once while its trees are at hand. Main type: [`Alone`]; main function: [`ask`].
//!
//! A tree takes forty times the memory of its text, and going through memory is what a large change costs. So a file is not gone back to for each
//! question: whatever does not depend on other files is asked when the file is parsed for the first time. Nothing depends on that: whoever needs an
//! answer that is not there asks for it.

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

/// Larger texts are not asked for proofs beforehand, in bytes.
const LARGEST: usize = 512 << 10;
/// Nor are more matches of one file.
const MOST: usize = 100;
/// How long such a text may take to parse.
const PATIENCE: Duration = Duration::from_secs(2);

/// The answers of the files of a change.
#[derive(Default)]
pub(super) struct Alone {
    files: Vec<Answers>,
    /// All lines that come and go.
    pub(super) around: OnceLock<Around>,
    /// So many bytes were read for what files define.
    pub(super) read: AtomicUsize,
    /// What was not looked at, one sentence each.
    notes: Mutex<BTreeSet<String>>,
}

/// The answers of one file.
#[derive(Default)]
pub(super) struct Answers {
    /// What matched before the change of the rules that match now.
    pub(super) stood: OnceLock<Stood>,
    /// What the rules about what goes say.
    pub(super) left: OnceLock<Left>,
    /// What was taken away from its functions.
    pub(super) taken: OnceLock<Vec<Taken>>,
}

impl Alone {
    /// No answers yet, for so many files.
    pub(super) fn new(files: usize) -> Self {
        Self { files: std::iter::repeat_with(Answers::default).take(files).collect(), ..Self::default() }
    }

    /// The answers of a file, as counted in the change.
    pub(super) fn of(&self, at: usize) -> Option<&Answers> {
        self.files.get(at)
    }

    /// Says what was not looked at. It is kept as long as the answers are, which are silent about it.
    pub(super) fn note(&self, note: String) {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner).insert(note);
    }

    /// What was said so.
    pub(super) fn notes(&self) -> BTreeSet<String> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Asks a file, of which `hits` are the matches at its head.
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
    proofs(input, file, Side::New, told)?;
    proofs(input, file, Side::Old, left.hits().chain(taken.iter().map(|(_, hit)| hit)))
}

/// Asks what it takes to prove matches that may be told: the names around them, and whether the text is one of its language.
fn proofs<'h>(
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
    // What cannot be parsed once is not tried for each match.
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
        // Whoever asks next hears what was said before.
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
