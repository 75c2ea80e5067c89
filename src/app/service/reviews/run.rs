//! One review that is running or just ended. Main types: [`ServiceRun`], [`ReviewSnapshot`].

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use tokio::sync::{Notify, watch};

use super::super::fault::for_client;
use crate::app::context::error::AppError;
use crate::app::prepare::uncommitted_count;
use crate::app::review::deliver::DeliveredReview;
use crate::domain::event::{Event, EventSink, ReviewStage};
use crate::domain::finding::Severity;
use crate::domain::id::CommitId;
use crate::domain::review::{Review, ReviewOutcome};
use crate::domain::run::RunId;
use crate::domain::text::strip_line;
use crate::present::live::LiveReview;
use crate::present::progress::{TurnProgress, describe_stage};
use crate::sys::cancel::Cancel;
use crate::sys::clock;

/// Columns of a progress line.
const WIDTH: usize = 120;
/// Limit on the stored notices of a run.
const REMARKS: usize = 20;

/// The state of a review at one moment.
#[derive(Debug, Clone)]
pub struct ReviewSnapshot {
    /// The run.
    pub id: RunId,
    /// The time of its start: RFC 3339, UTC.
    pub started_at: String,
    /// The repository's folder.
    pub folder: PathBuf,
    /// `true` if it was requested without a model.
    pub rules_only: bool,
    /// Its state.
    pub state: ReviewState,
    /// A note on what is not included though a reader may expect it: uncommitted files.
    pub note: Option<String>,
}

/// The state of a review.
#[derive(Debug, Clone)]
pub enum ReviewState {
    /// It is running.
    Running(Box<RunningReview>),
    /// It ended with a review.
    Ended(FinishedRun),
    /// It ended before anything was reviewed.
    Failed {
        /// The error, and what to do.
        message: String,
        /// The exit code of the command: 2 usage or settings, 3 nothing could be reviewed, 130 interrupted.
        exit_code: u8,
    },
}

impl ReviewState {
    /// `true` if the review has ended.
    pub fn is_over(&self) -> bool {
        !matches!(self, Self::Running(_))
    }
}

/// The progress of a running review.
#[derive(Debug, Clone)]
pub struct RunningReview {
    /// The current stage.
    pub stage: Option<ReviewStage>,
    /// The completed and total units of the stage.
    pub progress: Option<(u64, u64)>,
    /// The findings so far.
    pub findings: BTreeMap<Severity, u32>,
    /// The current turn of the model, and the limit.
    pub turn: Option<(u32, u32)>,
    /// The tokens sent so far, if known.
    pub input_tokens: Option<u64>,
    /// Warnings for the person who pays for it: where code is sent, and that it is not encrypted; one line each.
    pub warnings: Vec<String>,
    /// The review so far, for people to read.
    pub live: LiveReview,
    turns: TurnProgress,
    began: Instant,
}

/// An ended review.
#[derive(Debug, Clone)]
pub struct FinishedRun {
    /// Its outcome.
    pub outcome: ReviewOutcome,
    /// `true` if it was interrupted.
    pub interrupted: bool,
    /// The warnings, as in [`RunningReview`].
    pub warnings: Vec<String>,
    /// The reason why it could not be saved.
    pub not_kept: Option<String>,
    /// The review, if it could not be saved: there is no other copy.
    pub(super) unkept: Option<Arc<Review>>,
}

/// Base, merge base and head.
pub(super) type RangeCommits = (Option<CommitId>, Option<CommitId>, CommitId);

/// The request, compared to join a running review.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ReviewQuestion {
    pub(super) folder: PathBuf,
    /// `None` if the scope is not made of commits, or may resolve differently next time.
    pub(super) commits: Option<RangeCommits>,
    pub(super) rules_only: bool,
}

/// A run of this process.
pub(super) struct ServiceRun {
    pub(super) id: RunId,
    /// Its sequence number.
    pub(super) number: u64,
    pub(super) cancel: Cancel,
    /// Notified after every visible change.
    pub(super) news: Notify,
    question: ReviewQuestion,
    started_at: String,
    /// The number of uncommitted files, which are not reviewed.
    left_out: AtomicUsize,
    state: watch::Sender<ReviewState>,
}

impl ServiceRun {
    pub(super) fn new(number: u64, question: ReviewQuestion, cancel: Cancel) -> Self {
        Self {
            id: RunId::random(),
            number,
            cancel,
            news: Notify::new(),
            question,
            started_at: clock::now(),
            left_out: AtomicUsize::new(0),
            state: watch::Sender::new(ReviewState::Running(Box::new(RunningReview::new()))),
        }
    }

    pub(super) fn is_over(&self) -> bool {
        self.state.borrow().is_over()
    }

    /// Checks whether the request is the one of this run. A run that was stopped accepts no further client.
    pub(super) fn matches(&self, question: &ReviewQuestion) -> bool {
        question.commits.is_some() && self.question == *question && !self.cancel.is_stopped()
    }

    pub(super) fn watch(&self) -> watch::Receiver<ReviewState> {
        self.state.subscribe()
    }

    pub(super) fn snapshot(&self) -> ReviewSnapshot {
        ReviewSnapshot {
            id: self.id,
            started_at: self.started_at.clone(),
            folder: self.question.folder.clone(),
            rules_only: self.question.rules_only,
            state: self.state.borrow().clone(),
            note: uncommitted_count::format_note(self.left_out.load(Ordering::Relaxed)),
        }
    }

    /// Sets the number of uncommitted files.
    pub(super) fn note_uncommitted(&self, count: usize) {
        self.left_out.store(count, Ordering::Relaxed);
    }

    pub(super) fn end(&self, ended: Result<DeliveredReview, AppError>) {
        self.state.send_modify(|state| {
            let warnings = match state {
                ReviewState::Running(running) => std::mem::take(&mut running.warnings),
                ReviewState::Ended(_) | ReviewState::Failed { .. } => Vec::new(),
            };
            *state = match ended {
                Ok(delivered) => ReviewState::Ended(FinishedRun {
                    outcome: delivered.review.outcome,
                    interrupted: delivered.interrupted,
                    warnings,
                    unkept: delivered.not_kept.is_some().then(|| Arc::new(delivered.review)),
                    not_kept: delivered.not_kept,
                }),
                Err(error) => ReviewState::Failed { message: for_client(&error, "at").1, exit_code: error.exit_code() },
            };
        });
    }
}

impl EventSink for ServiceRun {
    fn emit(&self, event: Event) {
        // Readers lock the state only to copy it.
        self.state.send_modify(|state| {
            if let ReviewState::Running(running) = state {
                running.take(&event);
            }
        });
        if matches!(event, Event::Stage { .. } | Event::Turn { .. } | Event::Finding { .. } | Event::Warning { .. }) {
            self.news.notify_one();
        }
    }
}

impl RunningReview {
    fn new() -> Self {
        Self {
            stage: None,
            progress: None,
            findings: BTreeMap::new(),
            turn: None,
            input_tokens: None,
            warnings: Vec::new(),
            live: LiveReview::default(),
            turns: TurnProgress::default(),
            began: Instant::now(),
        }
    }

    fn take(&mut self, event: &Event) {
        self.turns.update(event);
        self.live.update(event);
        match event {
            Event::Stage { stage } => (self.stage, self.progress) = (Some(*stage), None),
            Event::Progress { stage, done, total } => {
                (self.stage, self.progress) = (Some(*stage), Some((*done, *total)));
            }
            Event::Turn { turn, most } => self.turn = Some((*turn, *most)),
            Event::Spent { input_tokens, .. } => self.input_tokens = *input_tokens,
            Event::Finding { severity, .. } => *self.findings.entry(*severity).or_default() += 1,
            Event::Warning { text } if self.warnings.len() < REMARKS => self.warnings.push(strip_line(text)),
            Event::Answering { .. }
            | Event::Call { .. }
            | Event::Retry { .. }
            | Event::Paced { .. }
            | Event::Withheld { .. }
            | Event::SecondLook { .. }
            | Event::Unit { .. }
            | Event::Notice { .. }
            | Event::Warning { .. } => {}
        }
    }

    /// Formats the current activity in one line, which may contain text of the change's author.
    pub fn line(&self) -> String {
        if self.stage == Some(ReviewStage::Review) && self.turns.has_begun() {
            return self.turns.line(self.began.elapsed(), WIDTH);
        }
        let mut line = self.stage.map_or("starting", describe_stage).to_owned();
        if let Some((done, total)) = self.progress {
            line.push_str(&format!(": {done} of {total}"));
        }
        let found = self.total();
        if found > 0 {
            line.push_str(&format!(" · {found} finding{}", if found == 1 { "" } else { "s" }));
        }
        line.push_str(&format!(" · {} s", self.began.elapsed().as_secs()));
        line
    }

    /// The number of findings so far.
    pub fn total(&self) -> u32 {
        self.findings.values().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(events: &[Event]) -> RunningReview {
        let mut running = RunningReview::new();
        for event in events {
            running.take(event);
        }
        running
    }

    fn finding(severity: Severity) -> Event {
        Event::Finding { id: "F1".to_owned(), title: "t".to_owned(), severity, path: "a.py".to_owned(), line: Some(1) }
    }

    #[test]
    fn a_line_says_what_it_is_at() {
        let collect = Event::Stage { stage: ReviewStage::Collect };
        let progress = Event::Progress { stage: ReviewStage::Review, done: 3, total: 10 };
        let turn = Event::Turn { turn: 2, most: 40 };
        for (events, line) in [
            (vec![], "starting · 0 s"),
            (vec![collect.clone()], "collecting the change · 0 s"),
            (vec![progress.clone(), finding(Severity::High)], "reviewing: 3 of 10 · 1 finding · 0 s"),
            (vec![progress, turn, finding(Severity::Nit)], "turn 2/40 · waiting for the model · 1 finding · 0 s"),
        ] {
            assert_eq!(after(&events).line(), line);
        }
    }

    #[test]
    fn what_was_said_is_counted_and_bounded() {
        let warning = Event::Warning { text: "the code goes\nsomewhere\x1b[31m".to_owned() };
        let mut events = vec![warning; REMARKS + 5];
        events.extend([finding(Severity::High), finding(Severity::High), finding(Severity::Low)]);
        let running = after(&events);
        assert_eq!((running.warnings.len(), running.warnings[0].as_str()), (REMARKS, "the code goes somewhere"));
        assert_eq!((running.total(), running.findings.get(&Severity::High)), (3, Some(&2)));
    }

    #[test]
    fn only_the_same_commits_of_the_same_folder_are_the_same_question() {
        let commit = |digit: char| CommitId(digit.to_string().repeat(40).parse().unwrap());
        let question = |head, rules_only| ReviewQuestion {
            folder: PathBuf::from("/a"),
            commits: Some((Some(commit('1')), Some(commit('1')), commit(head))),
            rules_only,
        };
        let run = ServiceRun::new(1, question('2', false), Cancel::never());
        assert!(run.matches(&question('2', false)));
        assert!(!run.matches(&question('3', false)) && !run.matches(&question('2', true)));
        assert!(!run.matches(&ReviewQuestion { folder: PathBuf::from("/b"), ..question('2', false) }));
        let uncommitted = ReviewQuestion { commits: None, ..question('2', false) };
        assert!(!ServiceRun::new(2, uncommitted.clone(), Cancel::never()).matches(&uncommitted));
        run.cancel.interrupt();
        assert!(!run.matches(&question('2', false)), "one that was told to stop answers nobody new");
    }
}
