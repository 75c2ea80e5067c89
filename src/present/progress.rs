//! What a person sees while a run goes on: a bar on a terminal, plain lines elsewhere. Main type: [`Progress`].
//!
//! Writes to stderr only. Events are handed to a thread of its own through a bounded queue, so that a slow terminal drops
//! events and never holds the review. What an event means is not decided here.

use std::io::{self, Write};
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::domain::event::{Event, EventSink, Stage};
use crate::domain::text::strip_line;

/// How progress is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// A bar that is redrawn in place.
    Bar,
    /// A line for each stage, and one now and then so that nobody takes the run for dead.
    Lines,
    /// Not at all, notices neither.
    Quiet,
}

impl Mode {
    /// The mode for a stderr that is a terminal or not.
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
/// The longest silence of [`Mode::Lines`].
const HEARTBEAT: Duration = Duration::from_secs(10);
/// How often a bar moves.
const TICK: Duration = Duration::from_millis(120);

/// Shows events on stderr. Dropping it, or [`finish`](Self::finish), clears the bar.
#[derive(Debug)]
pub struct Progress {
    running: Mutex<Option<(SyncSender<Event>, JoinHandle<()>)>>,
}

impl Progress {
    /// Starts showing.
    pub fn start(mode: Mode) -> Self {
        match mode {
            Mode::Quiet => Self { running: Mutex::new(None) },
            Mode::Lines => Self::on(Lines::new(io::stderr()), HEARTBEAT),
            Mode::Bar => Self::on(Bar::new(), TICK),
        }
    }

    fn on(surface: impl Surface + Send + 'static, beat: Duration) -> Self {
        let (sender, receiver) = sync_channel(QUEUE);
        // Without a thread to show it there is no progress, and the review goes on.
        let thread = thread::Builder::new().name("progress".to_owned()).spawn(move || show(&receiver, surface, beat));
        Self { running: Mutex::new(thread.ok().map(|thread| (sender, thread))) }
    }

    /// Shows what is waiting, clears the bar and stops; later events are ignored.
    pub fn finish(&self) {
        let running = self.running.lock().ok().and_then(|mut running| running.take());
        if let Some((sender, thread)) = running {
            drop(sender);
            let _ = thread.join();
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.finish();
    }
}

impl EventSink for Progress {
    fn emit(&self, event: Event) {
        if let Ok(running) = self.running.lock()
            && let Some((sender, _)) = &*running
        {
            let _ = sender.try_send(event);
        }
    }
}

/// Where events become visible.
trait Surface {
    /// Shows an event; whether a person saw something new.
    fn take(&mut self, event: Event) -> bool;
    /// Shows that the run is alive.
    fn beat(&mut self);
    /// Leaves the screen as it was found.
    fn end(&mut self);
}

fn show(events: &Receiver<Event>, mut surface: impl Surface, beat: Duration) {
    let mut last = Instant::now();
    loop {
        match events.recv_timeout(beat.saturating_sub(last.elapsed())) {
            Ok(event) => {
                if surface.take(event) {
                    last = Instant::now();
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        if last.elapsed() >= beat {
            surface.beat();
            last = Instant::now();
        }
    }
    surface.end();
}

fn doing(stage: Stage) -> &'static str {
    match stage {
        Stage::Collect => "collecting the change",
        Stage::Review => "reviewing",
        Stage::Deliver => "writing the outputs",
    }
}

struct Lines<W> {
    out: W,
    started: Instant,
    stage: Option<Stage>,
    counts: Option<(u64, u64)>,
}

impl<W: Write> Lines<W> {
    fn new(out: W) -> Self {
        Self { out, started: Instant::now(), stage: None, counts: None }
    }

    fn line(&mut self, text: &str) {
        // Nobody can be told that stderr is closed.
        let _ = writeln!(self.out, "review: {text}");
    }
}

impl<W: Write> Surface for Lines<W> {
    fn take(&mut self, event: Event) -> bool {
        match event {
            Event::Stage { stage } => {
                self.stage = Some(stage);
                self.counts = None;
                self.line(doing(stage));
                true
            }
            Event::Progress { stage, done, total } => {
                self.stage = Some(stage);
                self.counts = Some((done, total));
                false
            }
            Event::Notice { text } => {
                self.line(&strip_line(&text));
                true
            }
            Event::Turn { .. }
            | Event::Answering { .. }
            | Event::Call { .. }
            | Event::Spent { .. }
            | Event::Retry { .. }
            | Event::Finding { .. }
            | Event::Withheld { .. } => false,
        }
    }

    fn beat(&mut self) {
        let Some(stage) = self.stage else { return };
        let seconds = self.started.elapsed().as_secs();
        match self.counts {
            Some((done, total)) => self.line(&format!("still {}: {done} of {total}, {seconds} s", doing(stage))),
            None => self.line(&format!("still {}, {seconds} s", doing(stage))),
        }
    }

    fn end(&mut self) {
        let _ = self.out.flush();
    }
}

struct Bar {
    bar: ProgressBar,
    counting: bool,
}

impl Bar {
    fn new() -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        let mut it = Self { bar, counting: true };
        it.style(false);
        it
    }

    fn style(&mut self, counting: bool) {
        if self.counting == counting {
            return;
        }
        self.counting = counting;
        // No colours: whether they are wanted is known above, and the bar reads well without.
        let template =
            if counting { "{spinner} {msg} {wide_bar} {pos}/{len} {elapsed}" } else { "{spinner} {msg} {elapsed}" };
        if let Ok(style) = ProgressStyle::with_template(template) {
            self.bar.set_style(style.progress_chars("━╸ "));
        }
    }
}

impl Surface for Bar {
    fn take(&mut self, event: Event) -> bool {
        match event {
            Event::Stage { stage } => {
                self.style(false);
                self.bar.set_message(doing(stage));
            }
            Event::Progress { stage, done, total } => {
                self.bar.set_message(doing(stage));
                self.bar.set_length(total);
                self.bar.set_position(done);
                self.style(true);
            }
            Event::Notice { text } => {
                let text = strip_line(&text);
                self.bar.suspend(|| {
                    let _ = writeln!(io::stderr(), "review: {text}");
                });
            }
            Event::Turn { .. }
            | Event::Answering { .. }
            | Event::Call { .. }
            | Event::Spent { .. }
            | Event::Retry { .. }
            | Event::Finding { .. }
            | Event::Withheld { .. } => {}
        }
        // The bar moves on its own beat, whatever arrives.
        false
    }

    fn beat(&mut self) {
        self.bar.tick();
    }

    fn end(&mut self) {
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::mpsc::{Sender, channel};

    /// Gives every written line to the test.
    struct Tap {
        lines: Sender<String>,
        line: Vec<u8>,
    }

    impl Write for Tap {
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

    fn tapped(beat: Duration) -> (Progress, Receiver<String>) {
        let (lines, seen) = channel();
        (Progress::on(Lines::new(Tap { lines, line: Vec::new() }), beat), seen)
    }

    const NEVER: Duration = Duration::from_hours(1);

    #[test]
    fn stages_and_notices_are_lines_and_counts_are_not() {
        let (progress, seen) = tapped(NEVER);
        progress.emit(Event::Stage { stage: Stage::Collect });
        progress.emit(Event::Stage { stage: Stage::Review });
        progress.emit(Event::Progress { stage: Stage::Review, done: 1, total: 9 });
        progress.emit(Event::Notice { text: "a\x07notice\nof two lines".to_owned() });
        progress.finish();
        progress.emit(Event::Stage { stage: Stage::Deliver });
        let lines: Vec<String> = seen.iter().collect();
        assert_eq!(lines, ["review: collecting the change", "review: reviewing", "review: anotice of two lines"]);
    }

    #[test]
    fn a_long_silence_is_broken() {
        let (progress, seen) = tapped(Duration::from_millis(1));
        progress.emit(Event::Progress { stage: Stage::Review, done: 3, total: 9 });
        let line = seen.recv().unwrap();
        assert!(line.starts_with("review: still reviewing: 3 of 9, "), "{line}");
        progress.finish();
    }

    #[test]
    fn a_surface_that_hangs_never_holds_the_one_who_emits() {
        struct Stuck(Receiver<()>);
        impl Surface for Stuck {
            fn take(&mut self, _: Event) -> bool {
                let _ = self.0.recv();
                false
            }
            fn beat(&mut self) {}
            fn end(&mut self) {}
        }
        let (release, gate) = channel();
        let progress = Arc::new(Progress::on(Stuck(gate), NEVER));
        for done in 0..10 * QUEUE as u64 {
            progress.emit(Event::Progress { stage: Stage::Review, done, total: 0 });
        }
        drop(release);
        progress.finish();
    }

    #[test]
    fn quiet_wins_over_a_terminal() {
        assert_eq!(Mode::choose(true, true), Mode::Quiet);
        assert_eq!(Mode::choose(false, true), Mode::Bar);
        assert_eq!(Mode::choose(false, false), Mode::Lines);
    }
}
