//! Reviews a case once. Main function: [`run`].

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use super::case::EvalCase;
use super::quotes::ReportedQuotes;
use super::recipe::PreparedCase;
use crate::app::context::environment::ProcessEnv;
use crate::app::context::error::AppError;
use crate::app::review::job::{ReviewJob, review};
use crate::config::Flags;
use crate::domain::eval::{CaseRun, CaseScore, EvalReviewer, RunEnd, ShownFinding, score};
use crate::domain::event::{Event, EventSink};
use crate::domain::finding::Finding;
use crate::domain::request::{Compare, Previous, ReviewRequest};
use crate::domain::review::{Review, ReviewOutcome};
use crate::domain::run::Usage;
use crate::store::Store;
use crate::sys::cancel::{Cancel, CancelReason};

/// Passes on the notices that must be shown even in quiet mode, each once: all cases are sent to the same provider.
pub(super) struct OnceSink {
    inner: Arc<dyn EventSink>,
    said: Mutex<Vec<String>>,
}

impl OnceSink {
    pub(super) fn new(inner: Arc<dyn EventSink>) -> Self {
        Self { inner, said: Mutex::default() }
    }
}

impl EventSink for OnceSink {
    fn emit(&self, event: Event) {
        let Event::Warning { text } = event else { return };
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        if !said.contains(&text) {
            said.push(text.clone());
            self.inner.emit(Event::Warning { text });
        }
    }
}

/// Reviews a case like any change, with its run stored in `state`, and compares the review with the expected result.
pub(super) async fn run(
    case: &EvalCase,
    prepared: &PreparedCase,
    flags: Flags,
    state: PathBuf,
    around: &ProcessEnv,
    events: Arc<dyn EventSink>,
    cancel: Cancel,
) -> CaseRun {
    let started = Instant::now();
    let request = ReviewRequest {
        directory: prepared.directory.clone(),
        scope: prepared.scope.clone(),
        settings_from_worktree: false,
    };
    let compare = Compare { with: Previous::None, full: true };
    let job = ReviewJob { compare, ..ReviewJob::new(request, flags) };
    let (run, store) = (job.run, Store::at(&state));
    let around = ProcessEnv { state, store: store.clone(), ..around.clone() };
    let ended = Box::pin(review(job, around, events, cancel)).await;
    let took_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
    match ended {
        Ok(delivered) => of_review(case, &delivered.review, &ReportedQuotes::read(&store, run), took_ms),
        Err(error) => CaseRun { took_ms, ..not_run(case, &error) },
    }
}

/// The result of a case without a review.
pub(super) fn not_run(case: &EvalCase, error: &AppError) -> CaseRun {
    let end = match error.stopped() {
        Some(CancelReason::Interrupted) => RunEnd::NotRun,
        _ => RunEnd::Failed { why: error.to_string(), by_provider: false },
    };
    let score = CaseScore::empty(&case.expected);
    CaseRun { end, score, shown: Vec::new(), who: None, usage: Usage::default(), turns: 0, hidden: 0, took_ms: 0 }
}

fn of_review(case: &EvalCase, review: &Review, quotes: &ReportedQuotes, took_ms: u64) -> CaseRun {
    let findings: Vec<&Finding> = review.unresolved().collect();
    let why = review.reasons.join(" ");
    let end = match review.outcome {
        ReviewOutcome::Complete => RunEnd::Complete,
        ReviewOutcome::Incomplete => RunEnd::Incomplete { why },
        ReviewOutcome::Failed => RunEnd::Failed { why, by_provider: review.ended.is_provider_fault() },
    };
    let (coverage, made) = (&review.coverage, &review.provenance);
    let floors = coverage.below_floor.values().chain(coverage.below_confidence.values()).sum::<u32>();
    let model = made.provider.iter().zip(&made.model).map(|(provider, model)| format!("{provider}/{model}")).next();
    CaseRun {
        end,
        score: score(&case.expected, &findings),
        shown: findings.iter().map(|finding| ShownFinding::new(finding, quotes.is_shown_by(finding))).collect(),
        who: Some(EvalReviewer {
            engine: made.engine,
            model,
            prompts: made.prompts.clone(),
            rules: made.rules.clone(),
        }),
        usage: made.usage,
        turns: made.turns,
        hidden: u32::try_from(coverage.withheld.len()).unwrap_or(u32::MAX).saturating_add(floors),
        took_ms,
    }
}
