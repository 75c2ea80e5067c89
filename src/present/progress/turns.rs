//! The activity of a model's engine, in one line. Main type: [`TurnProgress`].

use std::fmt::Write as _;
use std::time::Duration;

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use crate::domain::event::{Event, UnitState};
use crate::domain::money::Money;
use crate::domain::run::percent;
use crate::domain::text::strip_line;
use crate::present::columns::shorten_columns;

/// Minimum columns for naming the file that is being read.
const LEAST: usize = 12;

/// The state of a model's turns, collected from events.
#[derive(Debug, Clone, Default)]
pub struct TurnProgress {
    /// The turn and the maximum number of turns.
    turn: Option<(u32, u32)>,
    doing: Activity,
    calls: u32,
    spent: Option<UsageSoFar>,
    findings: u32,
    /// The parts of a large change, if there are any.
    parts: Option<PartProgress>,
}

/// Progress through the parts.
#[derive(Debug, Clone, Copy, Default)]
struct PartProgress {
    over: u32,
    of: u32,
}

impl PartProgress {
    fn with(self, of: u32, state: UnitState) -> Self {
        let over = match state {
            UnitState::Begun => 0,
            UnitState::Done | UnitState::BrokenOff | UnitState::NotBegun => 1,
        };
        Self { over: self.over + over, of }
    }
}

/// The current activity: `reading src/a.rs`.
#[derive(Debug, Clone, Default)]
struct Activity {
    words: String,
    /// A path, whose end is more important than its beginning.
    path: Option<String>,
}

#[derive(Debug, Clone, Copy)]
struct UsageSoFar {
    input: Option<u64>,
    cached: Option<u64>,
    cost: Option<Money>,
}

impl TurnProgress {
    /// Updates the state from an event.
    pub fn update(&mut self, event: &Event) {
        match event {
            Event::Turn { turn, most } => {
                self.turn = Some((*turn, *most));
                self.doing = Activity::plain("waiting for the model".to_owned());
            }
            Event::Answering { bytes, .. } => self.doing = Activity::plain(format!("answering, {}", bytes_of(*bytes))),
            Event::Call { tool, about, .. } => {
                self.calls += 1;
                self.doing = Activity::call(tool, about);
            }
            Event::Spent { input_tokens, cache_read_tokens, cost, .. } => {
                self.spent = Some(UsageSoFar { input: *input_tokens, cached: *cache_read_tokens, cost: *cost });
            }
            Event::Retry { attempt, wait_ms, reason, .. } => {
                let wait = format_time(Duration::from_millis(*wait_ms));
                self.doing = Activity::plain(format!("attempt {attempt} in {wait}: {}", strip_line(reason)));
            }
            Event::Paced { wait_ms, .. } => {
                let wait = format_time(Duration::from_millis(*wait_ms));
                self.doing = Activity::plain(format!("{wait} until the provider may be asked again"));
            }
            Event::Finding { .. } => self.findings += 1,
            Event::SecondLook { done, of } => self.doing = Activity::plain(format!("second look: {done} of {of}")),
            Event::Unit { of, state, .. } => {
                self.parts = Some(self.parts.unwrap_or_default().with(*of, *state));
            }
            Event::Stage { .. }
            | Event::Progress { .. }
            | Event::Withheld { .. }
            | Event::Notice { .. }
            | Event::Warning { .. } => {}
        }
    }

    /// Checks whether a turn has begun.
    pub fn has_begun(&self) -> bool {
        self.turn.is_some()
    }

    /// Renders `turn 3/40`, after `2 of 5 parts · ` if the change has parts; the turn is that of one of them.
    fn head(&self, turn: u32, most: u32) -> String {
        match self.parts {
            Some(PartProgress { over, of }) => format!("{over} of {of} parts · turn {turn}/{most}"),
            None => format!("turn {turn}/{most}"),
        }
    }

    /// Renders `turn 3/40 · reading src/a.rs · 12.3k tokens in (80% cached) · $0.12 · 1 finding · 41 s`. It fits `width` columns.
    pub fn line(&self, elapsed: Duration, width: usize) -> String {
        let Some((turn, most)) = self.turn else { return String::new() };
        let head = self.head(turn, most);
        let mut tail = String::new();
        if let Some(spent) = self.spent {
            let _ = write!(tail, " · {}", tokens(spent));
        }
        if self.findings > 0 {
            let _ = write!(tail, " · {}", counted(self.findings, "finding"));
        }
        let _ = write!(tail, " · {}", format_time(whole_seconds(elapsed)));
        let room = width.saturating_sub(head.width() + tail.width() + 3);
        if room < LEAST || self.doing.words.is_empty() {
            return shorten_columns(&format!("{head}{tail}"), width);
        }
        format!("{head} · {}{tail}", self.doing.shorten_to(room))
    }

    /// Renders the start of a turn, with the totals of the run so far: `turn 3/40 · 7 calls · 12.3k tokens in (80% cached) · $0.12 · 1
    /// finding · 41 s`.
    pub fn heading(&self, elapsed: Duration) -> String {
        let Some((turn, most)) = self.turn else { return String::new() };
        let mut line = self.head(turn, most);
        if self.calls > 0 {
            let _ = write!(line, " · {}", counted(self.calls, "call"));
        }
        if let Some(spent) = self.spent {
            let _ = write!(line, " · {}", tokens(spent));
        }
        if self.findings > 0 {
            let _ = write!(line, " · {}", counted(self.findings, "finding"));
        }
        let _ = write!(line, " · {}", format_time(whole_seconds(elapsed)));
        line
    }
}

impl Activity {
    fn plain(words: String) -> Self {
        Self { words, path: None }
    }

    /// Describes a tool call; the names are those of the tools.
    fn call(tool: &str, about: &str) -> Self {
        let about = strip_line(about);
        let verb = strip_line(verb(tool));
        if about.is_empty() {
            Self::plain(verb)
        } else if matches!(tool, "read_file_part" | "list_files" | "read_diff") {
            Self { words: verb, path: Some(about) }
        } else {
            Self::plain(format!("{verb} {about}"))
        }
    }

    /// Shortens the text to at most `width` columns.
    fn shorten_to(&self, width: usize) -> String {
        let Some(path) = &self.path else { return shorten_columns(&self.words, width) };
        let whole = format!("{} {path}", self.words);
        let room = width.saturating_sub(self.words.width() + 1);
        if whole.width() <= width || room < LEAST {
            return shorten_columns(&whole, width);
        }
        let mut columns = 1;
        let end = path.char_indices().rev().find(|(_, c)| {
            columns += c.width().unwrap_or(0);
            columns > room
        });
        format!("{} …{}", self.words, &path[end.map_or(0, |(at, c)| at + c.len_utf8())..])
    }
}

fn verb(tool: &str) -> &str {
    match tool {
        "read_file_part" => "reading",
        "search_in_files" => "searching",
        "list_files" => "listing",
        "read_diff" => "reading the diff of",
        "report_finding" => "reporting",
        "withdraw_finding" => "withdrawing",
        "refute_lead" => "refuting",
        "write_section" => "writing",
        "finish_review" => "finishing",
        other => other,
    }
}

/// Formats tokens; unknown is shown as unknown, not as zero.
fn tokens(spent: UsageSoFar) -> String {
    let sent = match spent.input {
        None => "tokens unknown".to_owned(),
        Some(input) => {
            let sent = format!("{} tokens in", format_number(input));
            match spent.cached.and_then(|cached| percent(cached, input)) {
                Some(cached) => format!("{sent} ({cached}% cached)"),
                None => sent,
            }
        }
    };
    match spent.cost {
        Some(cost) => format!("{sent} · {cost}"),
        None => format!("{sent} · cost unknown"),
    }
}

/// Formats a number: `950`, `12.3k`, `1.2M`.
fn format_number(number: u64) -> String {
    let (unit, letter) = match number {
        0..1_000 => return number.to_string(),
        1_000..1_000_000 => (1_000, 'k'),
        _ => (1_000_000, 'M'),
    };
    format!("{}.{}{letter}", number / unit, number % unit * 10 / unit)
}

fn bytes_of(bytes: u64) -> String {
    if bytes < 1_024 { format!("{bytes} B") } else { format!("{}.{} KiB", bytes / 1_024, bytes % 1_024 * 10 / 1_024) }
}

fn whole_seconds(time: Duration) -> Duration {
    Duration::from_secs(time.as_secs())
}

/// Formats a time: `0.5 s`, `41 s`, `3 min 12 s`.
pub(super) fn format_time(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0 if time.as_millis() >= 100 => format!("0.{} s", time.as_millis() / 100),
        0..120 => format!("{seconds} s"),
        _ => format!("{} min {} s", seconds / 60, seconds % 60),
    }
}

fn counted(number: u32, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(events: &[Event]) -> TurnProgress {
        let mut turns = TurnProgress::default();
        for event in events {
            turns.update(event);
        }
        turns
    }

    fn reading(about: &str) -> Vec<Event> {
        vec![
            Event::Turn { turn: 3, most: 40 },
            Event::Spent {
                turn: 3,
                input_tokens: Some(12_345),
                cache_read_tokens: Some(9_900),
                output_tokens: Some(100),
                cost: "0.0425".parse().ok(),
            },
            Event::Call { turn: 3, tool: "read_file_part".to_owned(), about: about.to_owned() },
        ]
    }

    const FORTY_ONE: Duration = Duration::from_secs(41);

    #[test]
    fn a_line_says_the_turn_what_is_done_and_what_it_took() {
        let turns = after(&reading("src/a.rs"));
        assert_eq!(
            turns.line(FORTY_ONE, 80),
            "turn 3/40 · reading src/a.rs · 12.3k tokens in (80% cached) · $0.0425 · 41 s"
        );
        assert_eq!(turns.heading(FORTY_ONE), "turn 3/40 · 1 call · 12.3k tokens in (80% cached) · $0.0425 · 41 s");
    }

    #[test]
    fn a_long_path_keeps_its_end() {
        let turns = after(&reading("src/some/very/long/path/that/goes/on/and/on/file.rs"));
        let line = turns.line(FORTY_ONE, 80);
        assert_eq!(line, "turn 3/40 · reading …/on/file.rs · 12.3k tokens in (80% cached) · $0.0425 · 41 s");
        assert_eq!(line.width(), 80);
        let mut events = reading("");
        events[2] = Event::Call { turn: 3, tool: "search_in_files".to_owned(), about: "fn main".repeat(20) };
        assert!(after(&events).line(FORTY_ONE, 80).contains("· searching fn main"));
    }

    #[test]
    fn what_is_unknown_is_not_nothing() {
        let mut events = reading("src/a.rs");
        events[1] =
            Event::Spent { turn: 3, input_tokens: None, cache_read_tokens: None, output_tokens: None, cost: None };
        assert!(after(&events).line(FORTY_ONE, 80).contains(" · tokens unknown · "));
        events[1] =
            Event::Spent { turn: 3, input_tokens: Some(950), cache_read_tokens: None, output_tokens: None, cost: None };
        assert!(after(&events).line(FORTY_ONE, 80).contains(" · 950 tokens in · "), "the cached part is unknown");
        events[1] = Event::Spent {
            turn: 3,
            input_tokens: Some(0),
            cache_read_tokens: Some(0),
            output_tokens: None,
            cost: None,
        };
        assert!(after(&events).line(FORTY_ONE, 80).contains(" · 0 tokens in · "));
    }

    #[test]
    fn a_line_never_has_more_columns_and_nothing_that_acts() {
        for about in ["a/".repeat(200), "深".repeat(100), "x\x1b]0;owned\x07y\u{202e}".to_owned(), String::new()] {
            let turns = after(&reading(&about));
            for width in [0, 1, 20, 40, 79, 80] {
                let line = turns.line(FORTY_ONE, width);
                assert!(line.width() <= width.max(1), "{width}: {line}");
                assert!(!line.contains(['\x1b', '\x07', '\u{202e}']), "{line}");
            }
            assert!(turns.line(FORTY_ONE, 80).ends_with(" · 41 s"), "the middle gives way");
        }
    }

    #[test]
    fn before_the_first_turn_there_is_no_line() {
        let turns = after(&[]);
        assert!(!turns.has_begun());
        assert_eq!(turns.line(FORTY_ONE, 80), "");
    }

    #[test]
    fn numbers_are_short() {
        let shown: Vec<String> = [0, 999, 1_000, 12_345, 999_999, 2_000_000].map(format_number).into();
        assert_eq!(shown, ["0", "999", "1.0k", "12.3k", "999.9k", "2.0M"]);
        let shown: Vec<String> = [250, 41_000, 192_000].map(|ms| format_time(Duration::from_millis(ms))).into();
        assert_eq!(shown, ["0.2 s", "41 s", "3 min 12 s"]);
    }
}
