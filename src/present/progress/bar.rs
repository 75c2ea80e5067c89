//! Progress on a terminal: one live line that is redrawn in place. Main type: [`Bar`].

use std::io::Write;
use std::time::Instant;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::turns::Turns;
use super::{Surface, doing};
use crate::domain::event::Event;
use crate::domain::text::strip_line;

/// Columns of the live line, not counting the spinner and its space; on a narrower terminal it is cut at the edge.
const WIDTH: usize = 77;

/// The style of the line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Look {
    /// A message and the time.
    Plain,
    /// A progress count.
    Counting,
    /// The activity of a model, which includes the time.
    Turns,
}

/// Redraws a line.
pub(super) struct Bar<W> {
    stderr: W,
    line: ProgressBar,
    look: Option<Look>,
    turns: Turns,
    started: Instant,
}

impl<W: Write> Bar<W> {
    pub(super) fn new(stderr: W) -> Self {
        let line = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        let mut it = Self { stderr, line, look: None, turns: Turns::default(), started: Instant::now() };
        it.look(Look::Plain);
        it
    }

    fn look(&mut self, look: Look) {
        if self.look == Some(look) {
            return;
        }
        self.look = Some(look);
        // No colors: the caller knows whether they are wanted, and the bar reads well without.
        let template = match look {
            Look::Plain => "{spinner} {msg} {elapsed}",
            Look::Counting => "{spinner} {msg} {wide_bar} {pos}/{len} {elapsed}",
            Look::Turns => "{spinner} {wide_msg}",
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            self.line.set_style(style.progress_chars("━╸ "));
        }
    }

    fn show_turns(&mut self) {
        self.look(Look::Turns);
        self.line.set_message(self.turns.line(self.started.elapsed(), WIDTH));
    }

    fn say(&mut self, text: &str) {
        let text = strip_line(text);
        let stderr = &mut self.stderr;
        self.line.suspend(|| {
            let _ = writeln!(stderr, "review: {text}");
        });
    }
}

impl<W: Write> Surface for Bar<W> {
    fn take(&mut self, event: Event) -> bool {
        self.turns.take(&event);
        match event {
            Event::Stage { stage } => {
                self.look(Look::Plain);
                self.line.set_message(doing(stage));
            }
            Event::Progress { stage, done, total } => {
                self.line.set_message(doing(stage));
                self.line.set_length(total);
                self.line.set_position(done);
                self.look(Look::Counting);
            }
            Event::Notice { text } | Event::Warning { text } => self.say(&text),
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

    fn beat(&mut self) {
        if self.look == Some(Look::Turns) {
            self.show_turns();
        }
        self.line.tick();
    }

    fn end(&mut self) {
        self.line.finish_and_clear();
    }
}
