//! Combined results of the parts of a change. Main type: [`Together`].
//!
//! Merging findings, outcomes and summaries belongs in `merge`.

use super::loops::Reviewed;
use super::merge::{self, Ended as End};
use crate::review::budget::Budget;
use crate::review::desk::{Desk, Returned};
use crate::review::draft::Ending;
use crate::review::journal::Journal;
use crate::review::tally::Tally;
use crate::sys::cancel::Stopped;

/// Result of one part.
pub(super) struct Done {
    pub(super) end: End,
    pub(super) desk: Desk,
    pub(super) files: Vec<usize>,
    pub(super) tally: Tally,
}

/// Results of all parts.
pub(super) struct Together {
    pub(super) desk: Desk,
    tally: Tally,
    pub(super) ends: Vec<End>,
    pub(super) farewells: Vec<Option<String>>,
    /// Outcome of the cross-part pass, if an interrupt ended it.
    interrupted: Option<Ending>,
    /// Its summary.
    across: Option<String>,
}

impl Together {
    pub(super) fn of(mut desk: Desk, done: Vec<Done>) -> Self {
        let (of, mut tally) = (done.len(), Tally::default());
        let (mut ends, mut farewells, mut returned) = (Vec::new(), Vec::new(), Vec::new());
        for Done { end, desk, files, tally: own } in done {
            merge::add(&mut tally, own, &end);
            farewells.push(desk.farewell().map(str::to_owned));
            returned.push(Returned { desk, files, broken_off: merge::broken_off(&end, of) });
            ends.push(end);
        }
        desk.join(returned);
        desk.note(format!("the change was too large for one conversation: it was reviewed in {of} parts"));
        Self { desk, tally, ends, farewells, interrupted: None, across: None }
    }

    /// Adds the result of the cross-part pass, or the reason why it was skipped.
    pub(super) fn take(&mut self, looked: Result<(Ending, Tally, Desk), String>) {
        const SKIPPED: &str = "nobody looked at how the parts go together";
        let (ending, tally, desk) = match looked {
            Ok(looked) => looked,
            Err(why) => return self.desk.note(format!("{SKIPPED}: {}", why.trim_end_matches('.'))),
        };
        // Its limits are its own share, not the run's.
        merge::add(&mut self.tally, Tally { limits: Vec::new(), ..tally }, &End::nothing());
        self.across = desk.farewell().filter(|_| ending == Ending::Done).map(str::to_owned);
        self.desk.join(vec![Returned { desk, files: Vec::new(), broken_off: None }]);
        if let Some(why) = ending.reason() {
            let why = why.trim_end_matches('.');
            self.desk.note(format!("the look at how the parts go together did not come to its end: {why}"));
        }
        self.interrupted = Some(ending).filter(|ending| *ending == Ending::Stopped(Stopped::Interrupted));
    }

    /// Returns all of it. `budget` is what was spent, and what is left.
    pub(super) fn reviewed(self, budget: Budget, mut journal: Journal) -> Reviewed {
        let Self { mut desk, tally, ends, farewells, interrupted, across } = self;
        desk.sum_up(merge::summary(&ends, &farewells, across.as_deref()));
        let ending = interrupted.unwrap_or_else(|| merge::ending(&ends));
        if let Some(fault) = journal.fault() {
            desk.note(fault);
        }
        Reviewed { desk, ending, tally, budget, journal }
    }
}
