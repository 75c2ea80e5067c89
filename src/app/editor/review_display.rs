//! A review that appears in an editor while it is made. Main type: [`ReviewDisplay`].
//!
//! A thread shows the events from a bounded queue: an editor that is slow, hangs or dies never delays the review. Once it fails, only the
//! finished review is tried again.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::mpsc::{Receiver, Sender, channel};

use super::window::{EditorWindow, known_references};
use crate::domain::event::{Event, EventSink};
use crate::domain::path::RepoPath;
use crate::domain::review::Review;
use crate::domain::text::count_noun;
use crate::editor::EditorError;
use crate::present::live::LiveReview;
use crate::present::{RenderOptions, presenter};

/// Events waiting for the thread; more are dropped.
const QUEUE: usize = 256;
/// Waiting events beyond which steps are skipped.
const BACKLOG: usize = 16;

/// The limits of a display.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DisplayLimits {
    /// The time for the last steps after the end of the review.
    pub end: Duration,
}

/// The text that stays in the window.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FinalDocument {
    markdown: String,
    paths: BTreeSet<RepoPath>,
    /// The outcome, for the extension's log.
    outcome: String,
}

impl FinalDocument {
    /// Renders a finished review.
    pub fn of(review: &Review) -> Self {
        let bytes = presenter("markdown").map(|markdown| (markdown.render)(review, &RenderOptions::default()));
        let markdown = String::from_utf8(bytes.unwrap_or_default()).unwrap_or_default();
        let anchors = review.findings.iter().flat_map(|finding| &finding.anchors);
        let paths = anchors.map(|anchor| anchor.path.clone()).collect();
        let found = count_noun(review.unresolved().count(), "finding");
        Self { markdown, paths, outcome: format!("review finished: {}, {found}", review.outcome.as_str()) }
    }

    /// Describes a review that failed.
    pub fn failed(why: &str) -> Self {
        let markdown = LiveReview::render_failure(why);
        Self { markdown, paths: BTreeSet::new(), outcome: "review failed".to_owned() }
    }
}

/// Shows a review in a window as its events arrive.
pub struct ReviewDisplay {
    running: Mutex<Option<RunningDisplay>>,
    dropped: Arc<AtomicUsize>,
    end: Arc<Mutex<Option<FinalDocument>>>,
    limits: DisplayLimits,
}

struct RunningDisplay {
    events: Sender<Event>,
    /// The notes of the thread, when it has ended.
    notes: std::sync::mpsc::Receiver<Vec<String>>,
}

impl ReviewDisplay {
    /// Starts showing a review; `base` finds the folder that paths start from, in the thread of the display.
    pub fn start(window: EditorWindow, base: impl FnOnce() -> PathBuf + Send + 'static, limits: DisplayLimits) -> Self {
        let (events, receiver) = channel(QUEUE);
        let (ended, notes) = sync_channel(1);
        let end: Arc<Mutex<Option<FinalDocument>>> = Arc::default();
        let last = Arc::clone(&end);
        let work = move || {
            let thread = DisplayThread { window, base: base(), live: LiveReview::default(), missed: 0, failure: None };
            thread.run(receiver, &last, &ended);
        };
        // Without a thread nothing is shown, and the review goes ahead.
        let started = std::thread::Builder::new().name("editor".to_owned()).spawn(work).is_ok();
        let running = started.then_some(RunningDisplay { events, notes });
        Self { running: Mutex::new(running), dropped: Arc::default(), end, limits }
    }

    /// Shows the finished review, and stops. Returns notes about what was not shown; later events are ignored.
    pub fn finish(&self, document: FinalDocument) -> Vec<String> {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(RunningDisplay { events, notes }) = running else { return Vec::new() };
        *self.end.lock().unwrap_or_else(PoisonError::into_inner) = Some(document);
        drop(events);
        let mut notes = notes.recv_timeout(self.limits.end).unwrap_or_else(|_| {
            vec!["the editor does not answer, so the finished review may not be shown there".to_owned()]
        });
        match self.dropped.load(Ordering::Relaxed) {
            0 => {}
            dropped => notes.push(format!("the editor was too slow for {}", count_noun(dropped, "event"))),
        }
        notes
    }
}

impl EventSink for ReviewDisplay {
    fn emit(&self, event: Event) {
        if !LiveReview::shows(&event) {
            return;
        }
        if let Ok(running) = self.running.lock()
            && let Some(running) = &*running
            && running.events.try_send(event).is_err()
        {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// The state of the thread.
struct DisplayThread {
    window: EditorWindow,
    base: PathBuf,
    live: LiveReview,
    /// The number of steps that were not shown.
    missed: usize,
    /// The first failure.
    failure: Option<EditorError>,
}

impl DisplayThread {
    fn run(
        mut self,
        mut events: Receiver<Event>,
        last: &Mutex<Option<FinalDocument>>,
        ended: &SyncSender<Vec<String>>,
    ) {
        let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else { return };
        let notes = runtime.block_on(async {
            self.step().await;
            while let Some(event) = events.recv().await {
                self.live.update(&event);
                if events.len() < BACKLOG {
                    self.step().await;
                }
            }
            let document = last.lock().unwrap_or_else(PoisonError::into_inner).take();
            let notes = self.end(document).await;
            self.window.close().await;
            notes
        });
        // An error means that the command no longer waits.
        let _ = ended.send(notes);
        runtime.shutdown_background();
    }

    /// Shows the review as it is now.
    async fn step(&mut self) {
        if self.failure.is_some() {
            self.missed += 1;
            return;
        }
        let (markdown, known) = (self.live.render(), self.live.paths());
        if let Err(error) = show(&self.window, &self.base, &markdown, &known).await {
            self.missed += 1;
            self.failure = Some(error);
        }
    }

    async fn end(&mut self, document: Option<FinalDocument>) -> Vec<String> {
        // A command that ended without a document was stopped: what the window shows is as far as it came.
        let document = document.unwrap_or_else(|| FinalDocument::failed("it was stopped"));
        let shown = show(&self.window, &self.base, &document.markdown, &document.paths).await;
        let mut notes = Vec::new();
        match &shown {
            Ok(shown) => {
                notes.extend(shown.note.clone());
                if let Some(failure) = &self.failure {
                    notes.push(format!("the editor missed {}: {failure}", count_noun(self.missed, "step")));
                }
                // The log is a courtesy: the oldest extensions have none.
                let _ = self.window.log(&document.outcome).await;
            }
            Err(error) => notes.push(format!("the editor does not show the finished review: {error}")),
        }
        notes
    }
}

async fn show(
    window: &EditorWindow,
    base: &Path,
    markdown: &str,
    known: &BTreeSet<RepoPath>,
) -> Result<crate::editor::DisplayedReview, EditorError> {
    let references = known_references(markdown, known);
    window.show(base, markdown, &references).await
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::event::ReviewStage;
    use crate::domain::finding::Severity;
    use crate::editor::{EditorTimer, SimulatedEditor, SimulatedOutcome};

    fn finding(number: usize) -> Event {
        let (id, title, path) = (number.to_string(), format!("Finding {number}"), "src/a.rs".to_owned());
        Event::Finding { id, title, severity: Severity::High, path, line: Some(3) }
    }

    fn display(outcome: SimulatedOutcome, end: Duration) -> (SimulatedEditor, ReviewDisplay) {
        let editor = SimulatedEditor::new(outcome);
        // No wait ends: what hangs, hangs for ever.
        let timer = EditorTimer::new(|_| Box::pin(std::future::pending()));
        let window = EditorWindow::new(editor.clone(), timer, 0);
        (editor, ReviewDisplay::start(window, || PathBuf::from("/srv"), DisplayLimits { end }))
    }

    #[test]
    fn an_editor_that_hangs_never_holds_the_one_who_emits() {
        let (_, display) = display(SimulatedOutcome::Silence, Duration::from_millis(1));
        (0..10 * QUEUE).for_each(|number| display.emit(finding(number)));
        assert_eq!(
            display.finish(FinalDocument::failed("x")),
            [
                "the editor does not answer, so the finished review may not be shown there".to_owned(),
                format!("the editor was too slow for {} events", 9 * QUEUE),
            ]
        );
        display.emit(Event::Stage { stage: ReviewStage::Review });
        assert_eq!(display.finish(FinalDocument::failed("x")), [""; 0]);
    }

    #[test]
    fn the_last_step_is_the_finished_review_with_its_links() {
        let (editor, display) = display(SimulatedOutcome::Success, Duration::from_mins(2));
        (0..3).for_each(|number| display.emit(finding(number)));
        display.emit(Event::Notice { text: "not shown".to_owned() });
        assert_eq!(display.finish(FinalDocument::failed("no *model*")), [""; 0]);
        let received = editor.received();
        let texts: Vec<&str> = received.iter().filter_map(|message| message["payload"]["content"].as_str()).collect();
        assert_eq!(texts.len(), 5, "{texts:#?}");
        assert!(
            texts[3].contains("### 3. Finding 2") && texts[3].contains("[`src/a.rs:3`](src/a.rs#L3)"),
            "{}",
            texts[3]
        );
        assert!(texts[4].starts_with("# Code review\n\n**Failed**: no"), "{}", texts[4]);
    }

    #[test]
    fn an_editor_that_refuses_is_tried_again_for_the_end_alone() {
        let (editor, display) = display(SimulatedOutcome::Failure("no panel".to_owned()), Duration::from_mins(2));
        (0..3).for_each(|number| display.emit(finding(number)));
        let notes = display.finish(FinalDocument::failed("x"));
        assert_eq!(notes, ["the editor does not show the finished review: Failed to display review: no panel"]);
        assert_eq!(editor.received().len(), 2);
    }
}
