//! Combined results of the parts of a change. Main type: [`CombinedParts`].
//!
//! Merging findings, outcomes and summaries belongs in `merge`.

use super::merge::{self, PartResult};
use crate::review::budget::ConversationBudget;
use crate::review::builder::{ReturnedBuilder, ReviewBuilder};
use crate::review::conversation::ConversationStats;
use crate::review::outcome::EngineOutcome;
use crate::sys::cancel::CancelReason;

/// Outcome of the review.
pub(in crate::review) struct ModelReviewOutcome {
    pub(in crate::review) builder: ReviewBuilder,
    pub(in crate::review) ending: EngineOutcome,
    pub(in crate::review) stats: ConversationStats,
    /// Budget with what was spent and what remains.
    pub(in crate::review) budget: ConversationBudget,
}

/// Result of one part.
pub(super) struct FinishedPart {
    pub(super) end: PartResult,
    pub(super) builder: ReviewBuilder,
    pub(super) files: Vec<usize>,
    pub(super) stats: ConversationStats,
}

/// Result of the cross-part pass.
pub(super) struct FinishedCrossPart {
    pub(super) ending: EngineOutcome,
    pub(super) stats: ConversationStats,
    pub(super) builder: ReviewBuilder,
}

/// Results of all parts.
pub(super) struct CombinedParts {
    pub(super) builder: ReviewBuilder,
    stats: ConversationStats,
    pub(super) ends: Vec<PartResult>,
    pub(super) farewells: Vec<Option<String>>,
    /// Outcome of the cross-part pass, if an interrupt ended it.
    interrupted: Option<EngineOutcome>,
    /// Its summary.
    across: Option<String>,
}

impl CombinedParts {
    pub(super) fn combine(mut builder: ReviewBuilder, done: Vec<FinishedPart>) -> Self {
        let (of, mut stats) = (done.len(), ConversationStats::default());
        let (mut ends, mut farewells, mut returned) = (Vec::new(), Vec::new(), Vec::new());
        for FinishedPart { end, builder, files, stats: own } in done {
            merge::add_stats(&mut stats, own, &end);
            farewells.push(builder.closing_words().map(str::to_owned));
            returned.push(ReturnedBuilder { builder, files, broken_off: merge::interruption_reason(&end, of) });
            ends.push(end);
        }
        builder.join(returned);
        builder.add_note(format!("the change was too large for one conversation: it was reviewed in {of} parts"));
        Self { builder, stats, ends, farewells, interrupted: None, across: None }
    }

    /// Adds the result of the cross-part pass, or the reason why it was skipped.
    pub(super) fn add_cross_part(&mut self, finished: Result<FinishedCrossPart, String>) {
        const SKIPPED: &str = "nobody looked at how the parts go together";
        let FinishedCrossPart { ending, stats, builder } = match finished {
            Ok(finished) => finished,
            Err(why) => return self.builder.add_note(format!("{SKIPPED}: {}", why.trim_end_matches('.'))),
        };
        // Its limits are its own share, not the run's.
        merge::add_stats(&mut self.stats, ConversationStats { limits: Vec::new(), ..stats }, &PartResult::unbounded());
        self.across = builder.closing_words().filter(|_| ending == EngineOutcome::Done).map(str::to_owned);
        self.builder.join(vec![ReturnedBuilder { builder, files: Vec::new(), broken_off: None }]);
        if let Some(why) = ending.reason() {
            let why = why.trim_end_matches('.');
            self.builder.add_note(format!("the look at how the parts go together did not come to its end: {why}"));
        }
        self.interrupted = Some(ending).filter(|ending| *ending == EngineOutcome::Stopped(CancelReason::Interrupted));
    }

    /// Returns all of it. `budget` is what was spent, and what is left; `fault` is the journal's.
    pub(super) fn reviewed(self, budget: ConversationBudget, fault: Option<String>) -> ModelReviewOutcome {
        let Self { mut builder, stats, ends, farewells, interrupted, across } = self;
        builder.set_summary(merge::summary(&ends, &farewells, across.as_deref()));
        let ending = interrupted.unwrap_or_else(|| merge::combined_outcome(&ends));
        if let Some(fault) = fault {
            builder.add_note(fault);
        }
        ModelReviewOutcome { builder, ending, stats, budget }
    }
}
