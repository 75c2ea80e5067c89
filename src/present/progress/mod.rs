//! The progress display of a run: a live line on a terminal (`bar`), plain lines elsewhere (`lines`); that of a batch is in `batch`. Main
//! type: [`ProgressDisplay`].
//!
//! Writes to the stderr that it is given. A separate thread shows the events from a bounded queue, so that a slow terminal drops events and
//! never delays the review. Events are interpreted elsewhere.

mod bar;
mod batch;
mod lines;
mod turns;

use std::io::Write;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

pub use self::turns::TurnProgress;

use self::bar::BarProgress;
use self::batch::{BatchBars, BatchLines, BatchWarnings};
use self::lines::{LineProgress, NoticeProgress, WarningProgress};
use crate::domain::batch::{BatchEvent, BatchEventSink};
use crate::domain::event::{Event, EventSink, ReviewStage};

/// The form of the progress display.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProgressMode {
    /// A line that is redrawn in place.
    Bar,
    /// A line for each stage, turn and finding, and one at intervals, so that the run does not look dead.
    Lines,
    /// Only what a person should know: notices, warnings and retries; and a line at long intervals.
    Notices,
    /// Only [`Event::Warning`]s.
    Quiet,
}

impl ProgressMode {
    /// Returns the mode for a stderr that is a terminal or not.
    pub fn choose(quiet: bool, terminal: bool) -> Self {
        match (quiet, terminal) {
            (true, _) => Self::Quiet,
            (false, true) => Self::Bar,
            (false, false) => Self::Lines,
        }
    }
}

/// Events waiting for the thread; more are dropped.
const QUEUE: usize = 1024;
/// Maximum silence of [`ProgressMode::Lines`].
const HEARTBEAT: Duration = Duration::from_secs(10);
/// Maximum silence of [`ProgressMode::Notices`].
const LONG_HEARTBEAT: Duration = Duration::from_mins(1);
/// Interval between redraws of a bar.
const TICK: Duration = Duration::from_millis(120);

/// Shows events on stderr: those of a run, or of a batch. Dropping it, or [`finish`](Self::finish), clears the bar.
#[derive(Debug)]
pub struct ProgressDisplay<E = Event> {
    running: Mutex<Option<(SyncSender<E>, JoinHandle<()>)>>,
}

impl ProgressDisplay {
    /// Starts the display on `stderr`; a bar draws itself on the terminal, and only other messages go there.
    pub fn start(mode: ProgressMode, stderr: impl Write + Send + 'static) -> Self {
        match mode {
            ProgressMode::Quiet => Self::on(WarningProgress(stderr), HEARTBEAT),
            ProgressMode::Lines => Self::on(LineProgress::new(stderr), HEARTBEAT),
            ProgressMode::Notices => Self::on(NoticeProgress(LineProgress::new(stderr)), LONG_HEARTBEAT),
            ProgressMode::Bar => Self::on(BarProgress::new(stderr), TICK),
        }
    }
}

impl ProgressDisplay<BatchEvent> {
    /// Starts the display of a batch likewise.
    pub fn start_batch(mode: ProgressMode, stderr: impl Write + Send + 'static) -> Self {
        match mode {
            ProgressMode::Quiet => Self::on(BatchWarnings(stderr), HEARTBEAT),
            ProgressMode::Lines | ProgressMode::Notices => Self::on(BatchLines::new(stderr), HEARTBEAT),
            ProgressMode::Bar => Self::on(BatchBars::new(stderr), TICK),
        }
    }
}

impl<E: Send + 'static> ProgressDisplay<E> {
    fn on(surface: impl ProgressSurface<E> + Send + 'static, beat: Duration) -> Self {
        let (sender, receiver) = sync_channel(QUEUE);
        // Without a thread to show it there is no progress, and the review goes ahead.
        let thread = thread::Builder::new().name("progress".to_owned()).spawn(move || show(&receiver, surface, beat));
        Self { running: Mutex::new(thread.ok().map(|thread| (sender, thread))) }
    }
}

impl<E> ProgressDisplay<E> {
    fn send(&self, event: E) {
        if let Ok(running) = self.running.lock()
            && let Some((sender, _)) = &*running
        {
            let _ = sender.try_send(event);
        }
    }

    /// Shows the queued events, clears the bar and stops; later events are ignored.
    pub fn finish(&self) {
        let running = self.running.lock().ok().and_then(|mut running| running.take());
        if let Some((sender, thread)) = running {
            drop(sender);
            let _ = thread.join();
        }
    }
}

impl<E> Drop for ProgressDisplay<E> {
    fn drop(&mut self) {
        self.finish();
    }
}

impl EventSink for ProgressDisplay {
    fn emit(&self, event: Event) {
        self.send(event);
    }
}

impl BatchEventSink for ProgressDisplay<BatchEvent> {
    fn emit_batch(&self, event: BatchEvent) {
        self.send(event);
    }
}

impl EventSink for ProgressDisplay<BatchEvent> {
    fn emit(&self, event: Event) {
        self.send(BatchEvent::Whole(event));
    }
}

/// An output for events.
trait ProgressSurface<E = Event> {
    /// Shows an event; returns whether a person saw something new.
    fn show_event(&mut self, event: E) -> bool;
    /// Shows that the run is alive.
    fn show_heartbeat(&mut self);
    /// Clears the screen of the display.
    fn end(&mut self);
}

fn show<E>(events: &Receiver<E>, mut surface: impl ProgressSurface<E>, beat: Duration) {
    let mut last = Instant::now();
    loop {
        match events.recv_timeout(beat.saturating_sub(last.elapsed())) {
            Ok(event) => {
                if surface.show_event(event) {
                    last = Instant::now();
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        if last.elapsed() >= beat {
            surface.show_heartbeat();
            last = Instant::now();
        }
    }
    surface.end();
}

/// Describes a stage.
pub fn describe_stage(stage: ReviewStage) -> &'static str {
    match stage {
        ReviewStage::Collect => "collecting the change",
        ReviewStage::Review => "reviewing",
        ReviewStage::Deliver => "writing the outputs",
        ReviewStage::Post => "at work on the pull request",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::finding::Severity;
    use std::io;
    use std::sync::Arc;
    use std::sync::mpsc::{Sender, channel};

    /// A writer that passes every line to the test.
    struct LineTap {
        lines: Sender<String>,
        line: Vec<u8>,
    }

    impl Write for LineTap {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            for byte in bytes {
                if *byte == b'\n' {
                    let line = String::from_utf8(std::mem::take(&mut self.line)).unwrap();
                    self.lines.send(line).map_err(io::Error::other)?;
                } else {
                    self.line.push(*byte);
                }
            }
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn tapped(beat: Duration) -> (ProgressDisplay, Receiver<String>) {
        let (lines, seen) = channel();
        (ProgressDisplay::on(LineProgress::new(LineTap { lines, line: Vec::new() }), beat), seen)
    }

    const NEVER: Duration = Duration::from_hours(1);

    #[test]
    fn stages_and_notices_are_lines_and_counts_are_not() {
        let (progress, seen) = tapped(NEVER);
        progress.emit(Event::Stage { stage: ReviewStage::Collect });
        progress.emit(Event::Stage { stage: ReviewStage::Review });
        progress.emit(Event::Progress { stage: ReviewStage::Review, done: 1, total: 9 });
        progress.emit(Event::Notice { text: "a\x07notice\nof two lines".to_owned() });
        progress.finish();
        progress.emit(Event::Stage { stage: ReviewStage::Deliver });
        let lines: Vec<String> = seen.iter().collect();
        assert_eq!(
            lines,
            ["review: collecting the change", "review: reviewing", "review: a<U+0007>notice of two lines"]
        );
    }

    #[test]
    fn turns_findings_and_retries_are_lines_and_calls_are_not() {
        let (progress, seen) = tapped(NEVER);
        for event in [
            Event::Stage { stage: ReviewStage::Review },
            Event::Turn { turn: 1, most: 40 },
            Event::Answering { turn: 1, bytes: 10 },
            Event::Retry { turn: 1, attempt: 2, wait_ms: 4_000, reason: "anthropic answered 529: busy\n".to_owned() },
            Event::Call { turn: 1, tool: "read_file_part".to_owned(), about: "src/a.rs".to_owned() },
            Event::Call { turn: 1, tool: "search_in_files".to_owned(), about: "fn main".to_owned() },
            Event::Spent { turn: 1, input_tokens: None, cache_read_tokens: None, output_tokens: None, cost: None },
            Event::Finding {
                id: "F1".to_owned(),
                title: "It\x1b[31m breaks".to_owned(),
                severity: Severity::High,
                path: "src/a.rs".to_owned(),
                line: Some(12),
            },
            Event::Withheld { title: "It may".to_owned(), reason: "the quote is nowhere".to_owned() },
            Event::Turn { turn: 2, most: 40 },
            Event::SecondLook { done: 1, of: 2 },
        ] {
            progress.emit(event);
        }
        progress.finish();
        let lines: Vec<String> = seen.iter().collect();
        let untimed = |line: &str| line.rsplit_once(" · ").map(|(line, _)| line.to_owned());
        assert_eq!(lines[0], "review: reviewing");
        assert_eq!(untimed(&lines[1]).as_deref(), Some("review: turn 1/40"));
        assert_eq!(lines[2], "review: turn 1: attempt 2 in 4 s: anthropic answered 529: busy ");
        assert_eq!(lines[3], "review: high: It breaks (src/a.rs:12)");
        assert_eq!(lines[4], "review: withheld: It may (the quote is nowhere)");
        assert_eq!(
            untimed(&lines[5]).as_deref(),
            Some("review: turn 2/40 · 2 calls · tokens unknown · cost unknown · 1 finding")
        );
        assert_eq!(lines[6], "review: second look: 1 of 2");
        assert_eq!(lines.len(), 7);
    }

    #[test]
    fn a_long_silence_of_a_model_is_broken_with_what_it_does() {
        let (progress, seen) = tapped(Duration::from_millis(1));
        progress.emit(Event::Stage { stage: ReviewStage::Review });
        progress.emit(Event::Turn { turn: 2, most: 40 });
        progress.emit(Event::Call { turn: 2, tool: "read_diff".to_owned(), about: "src/a.rs".to_owned() });
        assert!(seen.iter().any(|line| line.starts_with("review: turn 2/40 · reading the diff of src/a.rs · ")));
        progress.finish();
    }

    #[test]
    fn silence_is_kept_but_for_warnings() {
        let (lines, seen) = channel();
        let progress = ProgressDisplay::on(WarningProgress(LineTap { lines, line: Vec::new() }), NEVER);
        progress.emit(Event::Stage { stage: ReviewStage::Review });
        progress.emit(Event::Notice { text: "nothing of note".to_owned() });
        progress.emit(Event::Warning { text: "code goes to\nsomebody".to_owned() });
        progress.finish();
        assert_eq!(seen.iter().collect::<Vec<_>>(), ["review: code goes to somebody"]);
    }

    #[test]
    fn without_verbosity_only_what_a_person_should_know_is_shown() {
        let (lines, seen) = channel();
        let tap = LineTap { lines, line: Vec::new() };
        let progress = ProgressDisplay::on(NoticeProgress(LineProgress::new(tap)), NEVER);
        for event in [
            Event::Stage { stage: ReviewStage::Review },
            Event::Turn { turn: 1, most: 40 },
            Event::Notice { text: "using origin/main".to_owned() },
            Event::Retry { turn: 1, attempt: 2, wait_ms: 4_000, reason: "busy".to_owned() },
            Event::SecondLook { done: 1, of: 2 },
            Event::Warning { text: "code goes to x".to_owned() },
        ] {
            progress.emit(event);
        }
        progress.finish();
        let lines: Vec<String> = seen.iter().collect();
        assert_eq!(
            lines,
            ["review: using origin/main", "review: turn 1: attempt 2 in 4 s: busy", "review: code goes to x"]
        );
    }

    #[test]
    fn a_long_silence_is_broken() {
        let (progress, seen) = tapped(Duration::from_millis(1));
        progress.emit(Event::Progress { stage: ReviewStage::Review, done: 3, total: 9 });
        let line = seen.recv().unwrap();
        assert!(line.starts_with("review: still reviewing: 3 of 9, "), "{line}");
        progress.finish();
    }

    #[test]
    fn a_surface_that_hangs_never_holds_the_one_who_emits() {
        struct StuckSurface(Receiver<()>);
        impl ProgressSurface for StuckSurface {
            fn show_event(&mut self, _: Event) -> bool {
                let _ = self.0.recv();
                false
            }
            fn show_heartbeat(&mut self) {}
            fn end(&mut self) {}
        }
        let (release, gate) = channel();
        let progress = Arc::new(ProgressDisplay::on(StuckSurface(gate), NEVER));
        for done in 0..10 * QUEUE as u64 {
            progress.emit(Event::Progress { stage: ReviewStage::Review, done, total: 0 });
        }
        drop(release);
        progress.finish();
    }

    #[test]
    fn quiet_wins_over_a_terminal() {
        assert_eq!(ProgressMode::choose(true, true), ProgressMode::Quiet);
        assert_eq!(ProgressMode::choose(false, true), ProgressMode::Bar);
        assert_eq!(ProgressMode::choose(false, false), ProgressMode::Lines);
    }
}
