//! The engine that needs no model: the rule packs' claims, checked like anybody's. Main function: [`review_with_rules`].

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::branch_history::BranchHistory;
use super::outcome::{EngineOutcome, FindingThresholds, ProvenanceInput, ReviewDraft, unreviewed_files};
use crate::domain::change::{ChangeSet, FileChange};
use crate::domain::event::EventSink;
use crate::domain::review::{CoverageState, FileCoverage, Review};
use crate::domain::run::Engine;
use crate::domain::run::RunId;
use crate::evidence::GrammarLanguages;
use crate::rules::{self, ChangedLines, Packs, RulesInput, ScannerReports};
use crate::sys::blocking::BlockingFailure;
use crate::sys::cancel::Cancel;
use crate::workspace::Workspace;

/// Time for proving the findings of a stopped run.
const MOMENT: Duration = Duration::from_millis(400);

/// Input of the rules engine.
pub struct RulesRun<'a> {
    /// The run that the review belongs to.
    pub run: RunId,
    /// Reviewed change.
    pub change: Arc<ChangeSet>,
    /// Its files after the change.
    pub new: Arc<dyn Workspace>,
    /// Its files before the change.
    pub old: Arc<dyn Workspace>,
    /// The rules.
    pub packs: &'a Packs,
    /// Reports of other scanners.
    pub reports: &'a ScannerReports,
    /// Findings below it are counted, not shown.
    pub floor: FindingThresholds,
    /// History of the branch.
    pub known: &'a BranchHistory,
    /// Receipt notes on how the change was collected.
    pub notes: Vec<String>,
    /// Start of the run: RFC 3339 in UTC, and on the clock that measures the duration.
    pub started: (String, Instant),
    /// Cancellation, checked in every loop.
    pub cancel: &'a Cancel,
    /// Receiver of progress events.
    pub events: &'a dyn EventSink,
}

/// Reviews a change with the rules alone. It never fails: files that were not reviewed are in the receipt and in the outcome.
pub fn review_with_rules(run: &RulesRun<'_>) -> Review {
    let (new, old) = (run.new.as_ref(), run.old.as_ref());
    let trees = Arc::new(run.packs.trees());
    let input = RulesInput {
        change: &run.change,
        only: None,
        new,
        old,
        packs: run.packs,
        lines: &ChangedLines::default(),
        trees: &trees,
        cancel: run.cancel,
        events: run.events,
    };
    let mut report = rules::run(&input);
    rules::add_reports(&input, run.reports, &mut report);
    if !run.packs.reports_hints() {
        report.withhold_hints();
    }

    let mut draft =
        ReviewDraft::new(Arc::clone(&run.change)).with_languages(GrammarLanguages::with(Arc::clone(&trees)));
    let mut stopped = report.stopped;
    // What a stopped run found is still proved, for a moment: it is delivered, marked incomplete.
    let cancel = if stopped.is_some() { Cancel::after(MOMENT) } else { run.cancel.clone() };
    for claim in &report.claims {
        let checked = cancel.check().and_then(|()| draft.report(claim, new, old));
        if let Err(why) = checked {
            stopped.get_or_insert(why);
            break;
        }
    }
    for claim in &report.standing {
        let checked = cancel.check().and_then(|()| draft.report_existing_issue(claim, new, old));
        if let Err(why) = checked {
            stopped.get_or_insert(why);
            break;
        }
    }
    draft.suppress(report.suppressed);
    if stopped.is_none() {
        draft.record_rules(run.packs, unreviewed_files(&report.files));
    }
    draft.cover_exclusively(report.files, report.line_by_line);
    draft.add_omissions([new.omissions(), old.omissions()].concat());
    run.notes.iter().for_each(|note| draft.add_note(note.clone()));
    report.notes.into_iter().for_each(|note| draft.add_note(note));

    let ending = stopped.map_or(EngineOutcome::Done, EngineOutcome::Stopped);
    draft.finish(&ending, run.floor, run.known, None, run.collect_review())
}

/// Returns the review of a run whose rules never returned: nothing counts as reviewed, and the receipt says why. It reads neither tree, which may be
/// what the rules wait for.
pub fn review_unfinished_rules(run: &RulesRun<'_>, lost: &BlockingFailure) -> Review {
    let mut draft = ReviewDraft::new(Arc::clone(&run.change));
    let unread = |file: &FileChange| FileCoverage {
        path: file.path.clone(),
        state: CoverageState::Skipped,
        reason: Some("the rules did not come back".to_owned()),
    };
    draft.cover_exclusively(run.change.files.iter().map(unread).collect(), BTreeSet::new());
    run.notes.iter().for_each(|note| draft.add_note(note.clone()));
    draft.finish(&EngineOutcome::abandoned(lost), run.floor, run.known, None, run.collect_review())
}

impl RulesRun<'_> {
    fn collect_review(&self) -> ProvenanceInput {
        ProvenanceInput {
            run: self.run,
            engine: Engine::Rules,
            rules: Some(self.packs.hash().to_owned()),
            model: None,
            started_at: self.started.0.clone(),
            took_ms: u64::try_from(self.started.1.elapsed().as_millis()).unwrap_or(u64::MAX),
        }
    }
}
