//! Progress without a terminal on stderr: plain lines at limited intervals. Main type: [`LineProgress`].

use std::io::Write;
use std::time::Instant;

use super::turns::{TurnProgress, format_time};
use super::{ProgressSurface, describe_stage};
use crate::domain::event::{Event, ReviewStage, UnitState};
use crate::domain::text::{count_noun, strip_line};
use crate::present::columns::shorten_columns;

/// Columns of a progress line; lines with lasting information are never cut.
const WIDTH: usize = 120;

/// Writes progress as lines.
pub(super) struct LineProgress<W> {
    out: W,
    started: Instant,
    stage: Option<ReviewStage>,
    counts: Option<(u64, u64)>,
    turns: TurnProgress,
}

impl<W: Write> LineProgress<W> {
    pub(super) fn new(out: W) -> Self {
        Self { out, started: Instant::now(), stage: None, counts: None, turns: TurnProgress::default() }
    }

    /// Records an event for the next heartbeat.
    fn record(&mut self, event: &Event) {
        self.turns.update(event);
        match event {
            Event::Stage { stage } => (self.stage, self.counts) = (Some(*stage), None),
            Event::Progress { stage, done, total } => {
                (self.stage, self.counts) = (Some(*stage), Some((*done, *total)));
            }
            _ => {}
        }
    }

    fn line(&mut self, text: &str) {
        // A closed stderr cannot be reported.
        let _ = writeln!(self.out, "review: {text}");
    }
}

impl<W: Write> ProgressSurface for LineProgress<W> {
    fn show_event(&mut self, event: Event) -> bool {
        self.record(&event);
        match event {
            Event::Stage { stage } => {
                self.line(describe_stage(stage));
                true
            }
            Event::Notice { text } | Event::Warning { text } => {
                self.line(&strip_line(&text));
                true
            }
            Event::Turn { .. } => {
                let heading = self.turns.heading(self.started.elapsed());
                self.line(&heading);
                true
            }
            Event::Retry { turn, attempt, wait_ms, reason } => {
                let wait = format_time(std::time::Duration::from_millis(wait_ms));
                self.line(&format!("turn {turn}: attempt {attempt} in {wait}: {}", strip_line(&reason)));
                true
            }
            Event::Paced { turn, wait_ms } => {
                let wait = format_time(std::time::Duration::from_millis(wait_ms));
                self.line(&format!("turn {turn}: {wait} until the provider may be asked again"));
                true
            }
            Event::Finding { title, severity, path, line, .. } => {
                let place = line.map_or_else(|| path.clone(), |line| format!("{path}:{line}"));
                self.line(&strip_line(&format!("{}: {title} ({place})", severity.word())));
                true
            }
            Event::Withheld { title, reason } => {
                self.line(&strip_line(&format!("withheld: {title} ({reason})")));
                true
            }
            Event::SecondLook { done, of } => {
                self.line(&format!("second look: {done} of {of}"));
                true
            }
            Event::Unit { number, of, files, state } => {
                let files = count_noun(files as usize, "file");
                let became = match state {
                    UnitState::Begun => format!("reviewing part {number} of {of} ({files})"),
                    UnitState::Done => format!("part {number} of {of} is reviewed"),
                    UnitState::BrokenOff => format!("part {number} of {of} ({files}) broke off"),
                    UnitState::NotBegun => format!("part {number} of {of} ({files}) is not begun"),
                };
                self.line(&became);
                true
            }
            // Shown in the line of the next turn, or of the next heartbeat.
            Event::Progress { .. } | Event::Answering { .. } | Event::Call { .. } | Event::Spent { .. } => false,
        }
    }

    fn show_heartbeat(&mut self) {
        let Some(stage) = self.stage else { return };
        let elapsed = self.started.elapsed();
        if stage == ReviewStage::Review && self.turns.has_begun() {
            let line = self.turns.line(elapsed, WIDTH);
            return self.line(&line);
        }
        let seconds = elapsed.as_secs();
        let line = match self.counts {
            Some((done, total)) => format!("still {}: {done} of {total}, {seconds} s", describe_stage(stage)),
            None => format!("still {}, {seconds} s", describe_stage(stage)),
        };
        self.line(&shorten_columns(&line, WIDTH));
    }

    fn end(&mut self) {
        let _ = self.out.flush();
    }
}

/// Writes only warnings, which are shown even with `--quiet`.
pub(super) struct WarningProgress<W>(pub(super) W);

impl<W: Write> ProgressSurface for WarningProgress<W> {
    fn show_event(&mut self, event: Event) -> bool {
        if let Event::Warning { text } = event {
            let _ = writeln!(self.0, "review: {}", strip_line(&text));
        }
        false
    }

    fn show_heartbeat(&mut self) {}

    fn end(&mut self) {
        let _ = self.0.flush();
    }
}

/// Writes what a person should know, and now and then that the run is alive.
pub(super) struct NoticeProgress<W>(pub(super) LineProgress<W>);

impl<W: Write> ProgressSurface for NoticeProgress<W> {
    fn show_event(&mut self, event: Event) -> bool {
        let lines = &mut self.0;
        match event {
            Event::Notice { .. } | Event::Warning { .. } | Event::Retry { .. } => lines.show_event(event),
            _ => {
                lines.record(&event);
                false
            }
        }
    }

    fn show_heartbeat(&mut self) {
        self.0.show_heartbeat();
    }

    fn end(&mut self) {
        self.0.end();
    }
}
