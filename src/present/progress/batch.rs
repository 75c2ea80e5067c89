//! The progress of a batch: a live line for each running review and one for the whole on a terminal, plain lines elsewhere. Main types:
//! [`BatchBars`], [`BatchLines`].

use std::collections::BTreeMap;
use std::io::Write;
use std::time::Instant;

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::ProgressSurface;
use super::turns::{TurnProgress, format_time};
use crate::domain::batch::{BatchEntry, BatchEvent, ReviewSource};
use crate::domain::event::{Event, ReviewStage};
use crate::domain::money::Money;
use crate::domain::text::{count_noun, strip_line};
use crate::present::columns::shorten_columns;

/// Columns of a line.
const WIDTH: usize = 77;
/// Columns of a name in a live line.
const NAME: usize = 28;

/// The state of a batch, collected from events.
struct BatchProgress {
    total: usize,
    done: usize,
    findings: u32,
    spent: Money,
    /// The number of reviews that were not served from the store.
    made: u32,
    running: BTreeMap<usize, RunningItem>,
    started: Instant,
}

/// A running review.
struct RunningItem {
    name: String,
    turns: TurnProgress,
    stage: Option<ReviewStage>,
    spent: Money,
    started: Instant,
}

impl BatchProgress {
    fn new() -> Self {
        Self {
            total: 0,
            done: 0,
            findings: 0,
            spent: Money::NOTHING,
            made: 0,
            running: BTreeMap::new(),
            started: Instant::now(),
        }
    }

    fn update(&mut self, event: &BatchEvent) {
        match event {
            BatchEvent::Planned { total } => self.total = *total,
            BatchEvent::Begun { at, name } => {
                let (turns, started) = (TurnProgress::default(), Instant::now());
                let item = RunningItem { name: strip_line(name), turns, stage: None, spent: Money::NOTHING, started };
                self.running.insert(*at, item);
            }
            BatchEvent::Review { at, event } => {
                let Some(item) = self.running.get_mut(at) else { return };
                item.turns.update(event);
                match event {
                    Event::Stage { stage } => item.stage = Some(*stage),
                    Event::Spent { cost: Some(cost), .. } => item.spent = *cost,
                    _ => {}
                }
            }
            BatchEvent::Ended { at, entry } => {
                self.running.remove(at);
                self.done += 1;
                let Some(entry) = entry else { return };
                self.findings += entry.findings.values().sum::<u32>();
                self.spent = self.spent.plus(entry.cost.unwrap_or_default());
                self.made += u32::from(entry.source != ReviewSource::Unchanged);
            }
            BatchEvent::Whole(_) => {}
        }
    }

    /// Renders `12 of 40 · 3 running · 5 findings · $1.20 · about 4 min left`.
    fn line(&self) -> String {
        let mut line = format!("{} of {}", self.done, self.total);
        if !self.running.is_empty() {
            line.push_str(&format!(" · {} running", self.running.len()));
        }
        if self.findings > 0 {
            line.push_str(&format!(" · {}", count_noun(self.findings as usize, "finding")));
        }
        let spent = self.running.values().fold(self.spent, |sum, item| sum.plus(item.spent));
        if spent > Money::NOTHING {
            line.push_str(&format!(" · {spent}"));
        }
        // What is served takes no time, so it says nothing about the rest.
        let left = u32::try_from(self.total.saturating_sub(self.done)).unwrap_or(u32::MAX);
        if let (Some(one), true) = (self.started.elapsed().checked_div(self.made), left > 0) {
            let seconds = one.saturating_mul(left).as_secs();
            line.push_str(&format!(" · about {} left", format_time(std::time::Duration::from_secs(seconds))));
        }
        shorten_columns(&line, WIDTH)
    }
}

impl RunningItem {
    fn line(&self) -> String {
        let name = shorten_columns(&self.name, NAME);
        let room = WIDTH.saturating_sub(NAME + 3);
        let doing = match self.stage {
            Some(ReviewStage::Review) if self.turns.has_begun() => self.turns.line(self.started.elapsed(), room),
            Some(stage) => super::describe_stage(stage).to_owned(),
            None => "looking at the commits".to_owned(),
        };
        format!("{name} · {doing}")
    }
}

/// Describes an ended review in one line.
fn describe(entry: &BatchEntry) -> String {
    let outcome = entry.outcome.as_str().replace('_', " ");
    let source = match entry.source {
        ReviewSource::Reviewed => String::new(),
        source => format!(" ({})", source.as_str()),
    };
    let findings = match entry.findings.values().sum::<u32>() {
        0 => String::new(),
        count => format!(", {}", count_noun(count as usize, "finding")),
    };
    let reason = entry.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
    strip_line(&format!("{}: {outcome}{source}{findings}{reason}", entry.name))
}

/// Returns the text of an event that is shown by itself.
fn message(event: &BatchEvent) -> Option<String> {
    match event {
        BatchEvent::Whole(Event::Notice { text } | Event::Warning { text }) => Some(strip_line(text)),
        _ => None,
    }
}

/// Redraws a line for each running review.
pub(super) struct BatchBars<W> {
    stderr: W,
    lines: MultiProgress,
    total: ProgressBar,
    running: BTreeMap<usize, ProgressBar>,
    state: BatchProgress,
}

impl<W: Write> BatchBars<W> {
    pub(super) fn new(stderr: W) -> Self {
        let lines = MultiProgress::with_draw_target(ProgressDrawTarget::stderr());
        let total = lines.add(ProgressBar::new_spinner());
        style(&total);
        Self { stderr, lines, total, running: BTreeMap::new(), state: BatchProgress::new() }
    }

    fn print_above(&mut self, text: &str) {
        let stderr = &mut self.stderr;
        self.lines.suspend(|| {
            let _ = writeln!(stderr, "review: {text}");
        });
    }
}

/// Sets the style of a line: no colors, because only the caller knows whether they are wanted.
fn style(line: &ProgressBar) {
    if let Ok(style) = ProgressStyle::with_template("{spinner} {wide_msg}") {
        line.set_style(style);
    }
}

impl<W: Write> ProgressSurface<BatchEvent> for BatchBars<W> {
    fn show_event(&mut self, event: BatchEvent) -> bool {
        self.state.update(&event);
        match &event {
            BatchEvent::Begun { at, .. } => {
                let line = self.lines.insert_before(&self.total, ProgressBar::new_spinner());
                style(&line);
                self.running.insert(*at, line);
            }
            BatchEvent::Ended { at, entry } => {
                if let Some(line) = self.running.remove(at) {
                    line.finish_and_clear();
                    self.lines.remove(&line);
                }
                // Complete reviews are in the table that follows; the others are worth a look at once.
                if let Some(entry) = entry.as_ref().filter(|entry| entry.reason.is_some()) {
                    self.print_above(&describe(entry));
                }
            }
            event => {
                if let Some(text) = message(event) {
                    self.print_above(&text);
                }
            }
        }
        false
    }

    fn show_heartbeat(&mut self) {
        for (at, line) in &self.running {
            if let Some(item) = self.state.running.get(at) {
                line.set_message(item.line());
            }
            line.tick();
        }
        self.total.set_message(self.state.line());
        self.total.tick();
    }

    fn end(&mut self) {
        for line in self.running.values() {
            line.finish_and_clear();
        }
        self.total.finish_and_clear();
    }
}

/// Writes a line for each review that ends.
pub(super) struct BatchLines<W> {
    out: W,
    state: BatchProgress,
}

impl<W: Write> BatchLines<W> {
    pub(super) fn new(out: W) -> Self {
        Self { out, state: BatchProgress::new() }
    }
}

impl<W: Write> ProgressSurface<BatchEvent> for BatchLines<W> {
    fn show_event(&mut self, event: BatchEvent) -> bool {
        self.state.update(&event);
        let line = match &event {
            BatchEvent::Planned { total } => Some(format!("{} to look at", count_noun(*total, "change"))),
            BatchEvent::Ended { entry: Some(entry), .. } => {
                Some(format!("{} of {}: {}", self.state.done, self.state.total, describe(entry)))
            }
            event => message(event),
        };
        // A closed stderr cannot be reported.
        line.map(|line| writeln!(self.out, "review: {line}")).is_some()
    }

    fn show_heartbeat(&mut self) {
        if self.state.total > 0 {
            let _ = writeln!(self.out, "review: {}", self.state.line());
        }
    }

    fn end(&mut self) {
        let _ = self.out.flush();
    }
}

/// Writes only warnings, which are shown even with `--quiet`.
pub(super) struct BatchWarnings<W>(pub(super) W);

impl<W: Write> ProgressSurface<BatchEvent> for BatchWarnings<W> {
    fn show_event(&mut self, event: BatchEvent) -> bool {
        if let BatchEvent::Whole(Event::Warning { text }) = event {
            let _ = writeln!(self.0, "review: {}", strip_line(&text));
        }
        false
    }

    fn show_heartbeat(&mut self) {}

    fn end(&mut self) {
        let _ = self.0.flush();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::batch::BatchOutcome;

    #[test]
    fn the_line_of_a_batch_says_how_far_it_is_and_what_it_spent() {
        let mut state = BatchProgress::new();
        state.update(&BatchEvent::Planned { total: 3 });
        state.update(&BatchEvent::Begun { at: 0, name: "feature\x1b[31m".to_owned() });
        assert_eq!(state.line(), "0 of 3 · 1 running");
        let cost = Some("0.25".parse().unwrap());
        let spent = Event::Spent { turn: 1, input_tokens: None, cache_read_tokens: None, output_tokens: None, cost };
        state.update(&BatchEvent::Review { at: 0, event: spent });
        assert_eq!(state.line(), "0 of 3 · 1 running · $0.25");
        let entry = BatchEntry::without_review("demo", "a\x1b[31m", BatchOutcome::Error, "gone".to_owned(), 2);
        assert_eq!(describe(&entry), "a: error: gone");
        let served = BatchEntry { source: ReviewSource::Unchanged, cost: None, ..entry };
        state.update(&BatchEvent::Ended { at: 0, entry: Some(Box::new(served.clone())) });
        assert_eq!(state.line(), "1 of 3", "what is served says nothing about the time");
        let made = BatchEntry { source: ReviewSource::Reviewed, cost, ..served };
        state.update(&BatchEvent::Ended { at: 1, entry: Some(Box::new(made)) });
        assert!(state.line().starts_with("2 of 3 · $0.25 · about "), "{}", state.line());
    }

    #[test]
    fn without_a_terminal_each_end_is_a_line() {
        let mut out = Vec::new();
        let mut lines = BatchLines::new(&mut out);
        lines.show_event(BatchEvent::Planned { total: 2 });
        lines.show_event(BatchEvent::Begun { at: 0, name: "a".to_owned() });
        let entry = BatchEntry::without_review("demo", "a", BatchOutcome::NotBegun, "interrupted".to_owned(), 130);
        lines.show_event(BatchEvent::Ended { at: 0, entry: Some(Box::new(entry)) });
        lines.show_event(BatchEvent::Ended { at: 1, entry: None });
        lines.show_event(BatchEvent::Whole(Event::Notice { text: "stopping".to_owned() }));
        lines.show_heartbeat();
        let text = String::from_utf8(out).unwrap();
        let expected = "review: 2 changes to look at\nreview: 1 of 2: a: not begun: interrupted\nreview: stopping\nreview: 2 of 2\n";
        assert_eq!(text, expected);
    }
}
