//! Progress on a terminal: one live line that is redrawn in place. Main type: [`BarProgress`].

use std::io::Write;
use std::time::Instant;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::turns::TurnProgress;
use super::{ProgressSurface, describe_stage};
use crate::domain::event::Event;
use crate::domain::text::strip_line;

/// Columns of the live line, not counting the spinner and its space; on a narrower terminal it is cut at the edge.
const WIDTH: usize = 77;

/// The style of the line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum BarStyle {
    /// A message and the time.
    Plain,
    /// A progress count.
    Counting,
    /// The activity of a model, which includes the time.
    Turns,
}

/// Redraws a line.
pub(super) struct BarProgress<W> {
    stderr: W,
    line: ProgressBar,
    look: Option<BarStyle>,
    turns: TurnProgress,
    started: Instant,
}

impl<W: Write> BarProgress<W> {
    pub(super) fn new(stderr: W) -> Self {
        let line = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        let mut it = Self { stderr, line, look: None, turns: TurnProgress::default(), started: Instant::now() };
        it.look(BarStyle::Plain);
        it
    }

    fn look(&mut self, look: BarStyle) {
        if self.look == Some(look) {
            return;
        }
        self.look = Some(look);
        // No colors: the caller knows whether they are wanted, and the bar reads well without.
        let template = match look {
            BarStyle::Plain => "{spinner} {msg} {elapsed}",
            BarStyle::Counting => "{spinner} {msg} {wide_bar} {pos}/{len} {elapsed}",
            BarStyle::Turns => "{spinner} {wide_msg}",
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            self.line.set_style(style.progress_chars("━╸ "));
        }
    }

    fn show_turns(&mut self) {
        self.look(BarStyle::Turns);
        self.line.set_message(self.turns.line(self.started.elapsed(), WIDTH));
    }

    fn print_above(&mut self, text: &str) {
        let text = strip_line(text);
        let stderr = &mut self.stderr;
        self.line.suspend(|| {
            let _ = writeln!(stderr, "review: {text}");
        });
    }
}

impl<W: Write> ProgressSurface for BarProgress<W> {
    fn show_event(&mut self, event: Event) -> bool {
        self.turns.update(&event);
        match event {
            Event::Stage { stage } => {
                self.look(BarStyle::Plain);
                self.line.set_message(describe_stage(stage));
            }
            Event::Progress { stage, done, total } => {
                self.line.set_message(describe_stage(stage));
                self.line.set_length(total);
                self.line.set_position(done);
                self.look(BarStyle::Counting);
            }
            Event::Notice { text } | Event::Warning { text } => self.print_above(&text),
            // A turn that begins replaces the line; the other events change its text, which the next redraw shows.
            Event::Turn { .. } => self.show_turns(),
            Event::Answering { .. }
            | Event::Call { .. }
            | Event::Spent { .. }
            | Event::Retry { .. }
            | Event::Paced { .. }
            | Event::Finding { .. }
            | Event::Withheld { .. }
            | Event::SecondLook { .. }
            | Event::Unit { .. } => {}
        }
        // The bar moves at its own interval, whatever arrives.
        false
    }

    fn show_heartbeat(&mut self) {
        if self.look == Some(BarStyle::Turns) {
            self.show_turns();
        }
        self.line.tick();
    }

    fn end(&mut self) {
        self.line.finish_and_clear();
    }
}
