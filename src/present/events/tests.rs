//! Tests of the event stream as a program reads it.

use std::sync::mpsc::{Sender, channel};

use super::*;
use crate::domain::event::{ReviewStage, UnitState};
use crate::domain::finding::Severity;
use serde_json::Value;

/// A writer that passes everything to the test, and may wait for it first.
struct StreamTap {
    written: Sender<Vec<u8>>,
    gate: Option<Receiver<()>>,
}

impl Write for StreamTap {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Some(gate) = &self.gate {
            let _ = gate.recv();
        }
        self.written.send(bytes.to_vec()).map_err(|_| io::ErrorKind::BrokenPipe)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn lines(seen: &Receiver<Vec<u8>>) -> Vec<Value> {
    let text = String::from_utf8(seen.iter().flatten().collect()).unwrap();
    assert!(text.ends_with('\n'));
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn review() -> Review {
    json::parse(include_bytes!("../../../fixtures/documents/hostile.json")).unwrap()
}

/// Returns one event of each kind, with its name; a new kind does not compile without a place here.
fn one_of_each() -> Vec<Event> {
    let text = || "text".to_owned();
    let all = vec![
        Event::Stage { stage: ReviewStage::Review },
        Event::Progress { stage: ReviewStage::Collect, done: 2, total: 9 },
        Event::Turn { turn: 1, most: 40 },
        Event::Answering { turn: 1, bytes: 512 },
        Event::Call { turn: 1, tool: "read_file_part".to_owned(), about: "src/a.rs".to_owned() },
        Event::Spent {
            turn: 1,
            input_tokens: Some(12_345),
            cache_read_tokens: None,
            output_tokens: Some(99),
            cost: "0.25".parse().ok(),
        },
        Event::Retry { turn: 1, attempt: 2, wait_ms: 4_000, reason: text() },
        Event::Paced { turn: 1, wait_ms: 4_000 },
        Event::Finding { id: text(), title: text(), severity: Severity::High, path: text(), line: Some(12) },
        Event::Withheld { title: text(), reason: text() },
        Event::SecondLook { done: 2, of: 5 },
        Event::Unit { number: 2, of: 5, files: 14, state: UnitState::NotBegun },
        Event::Notice { text: text() },
        Event::Warning { text: text() },
    ];
    let place = |event: &Event| match event {
        Event::Stage { .. } => 0,
        Event::Progress { .. } => 1,
        Event::Turn { .. } => 2,
        Event::Answering { .. } => 3,
        Event::Call { .. } => 4,
        Event::Spent { .. } => 5,
        Event::Retry { .. } => 6,
        Event::Paced { .. } => 7,
        Event::Finding { .. } => 8,
        Event::Withheld { .. } => 9,
        Event::SecondLook { .. } => 10,
        Event::Unit { .. } => 11,
        Event::Notice { .. } => 12,
        Event::Warning { .. } => 13,
    };
    assert!(all.iter().map(place).eq(0..14), "one of each, in order");
    all
}

#[test]
fn every_event_is_described_with_all_its_fields() {
    let page = include_str!("../../../docs/events.md");
    let row = |name: &str| {
        let found = page.lines().find(|line| line.starts_with(&format!("| `{name}` |")));
        found.unwrap_or_else(|| panic!("docs/events.md has no row for {name}")).to_owned()
    };
    for event in one_of_each() {
        let value = serde_json::to_value(&event).unwrap();
        let row = row(value["event"].as_str().unwrap());
        for field in value.as_object().unwrap().keys().filter(|field| *field != "event") {
            assert!(row.contains(&format!("`{field}`")), "{field} is missing in {row}");
        }
    }
    assert!(row("delivery").contains("`delivery`"));
    for (end, fields) in [("review", ["`exit_code`", "`review`"]), ("error", ["`exit_code`", "`message`"])] {
        assert!(fields.iter().all(|field| row(end).contains(field)), "{end}");
    }
    row("alive");
    for field in ["seq", "at", "dropped"] {
        assert!(page.contains(&format!("`{field}`")), "{field}");
    }
}

#[test]
fn a_stream_is_numbered_and_ends_with_the_review() {
    let (written, seen) = channel();
    let events = EventStream::start(StreamTap { written, gate: None }).unwrap();
    for event in one_of_each() {
        events.emit(event);
    }
    let review = review();
    events.finish(&StreamEnd::Review { review: &review, delivery: None }, 3).unwrap();
    events.emit(Event::Notice { text: "too late".to_owned() });
    drop(events);
    let lines = lines(&seen);
    let last = lines.last().unwrap();
    assert_eq!((last["event"].as_str(), last["exit_code"].as_u64()), (Some("review"), Some(3)));
    let rendered = (super::super::presenter("json").unwrap().render)(&review, &super::super::RenderOptions::default());
    assert_eq!(last["review"], serde_json::from_slice::<Value>(&rendered).unwrap());
    let numbers: Vec<u64> = lines.iter().map(|line| line["seq"].as_u64().unwrap()).collect();
    assert!(numbers.iter().copied().eq(1..=numbers.len() as u64), "{numbers:?}");
    assert!(lines.iter().all(|line| line["at"].as_str().is_some_and(|at| at.ends_with('Z'))));
    assert!(lines.iter().all(|line| line.get("dropped").is_none()));
}

#[test]
fn an_error_is_the_last_line_too() {
    let (written, seen) = channel();
    let events = EventStream::start(StreamTap { written, gate: None }).unwrap();
    events.finish(&StreamEnd::Error("no\x1b[31m model\nat all"), 2).unwrap();
    drop(events);
    let lines = lines(&seen);
    assert_eq!(lines.len(), 1);
    assert_eq!((&lines[0]["event"], &lines[0]["message"]), (&"error".into(), &"no model at all".into()));
    assert_eq!(lines[0]["exit_code"], 2);
}

#[test]
fn nothing_in_a_line_acts_on_a_terminal() {
    let (written, seen) = channel();
    let events = EventStream::start(StreamTap { written, gate: None }).unwrap();
    let path = "src/\u{202e}a\x1b]0;owned\x07.rs".to_owned();
    let title = "\x1b[2Jcleared\u{200b}".to_owned();
    events.emit(Event::Finding { id: "F1".to_owned(), title, severity: Severity::Low, path: path.clone(), line: None });
    events.finish(&StreamEnd::Review { review: &review(), delivery: None }, 0).unwrap();
    drop(events);
    let text = String::from_utf8(seen.iter().flatten().collect()).unwrap();
    assert!(!text.contains(|c: char| (c.is_control() && c != '\n') || crate::domain::text::is_invisible(c)), "{text}");
    let first: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    assert_eq!((first["path"].as_str(), first["title"].as_str()), (Some(path.as_str()), Some("cleared<U+200B>")));
}

#[test]
fn a_slow_reader_misses_events_and_is_told_how_many_and_never_the_last() {
    let (written, seen) = channel();
    let (open, gate) = channel();
    let events = EventStream::with(StreamTap { written, gate: Some(gate) }, 2, HEARTBEAT).unwrap();
    for number in 0..100 {
        events.emit(Event::Notice { text: number.to_string() });
    }
    drop(open);
    events.finish(&StreamEnd::Error("over"), 1).unwrap();
    drop(events);
    let lines = lines(&seen);
    assert!(lines.len() < 10, "{}", lines.len());
    assert_eq!(lines.last().unwrap()["event"], "error");
    let mut before = 0;
    for line in &lines {
        let missing = line["dropped"].as_u64().unwrap_or(0);
        let number = line["seq"].as_u64().unwrap();
        assert_eq!(number, before + missing + 1, "what is missing is counted");
        before = number;
    }
    assert_eq!(before, 101);
}

#[test]
fn a_long_silence_is_broken() {
    let (written, seen) = channel();
    let events = EventStream::with(StreamTap { written, gate: None }, QUEUE, Duration::from_millis(1)).unwrap();
    let first: Value = serde_json::from_slice(&seen.recv().unwrap()).unwrap();
    assert_eq!((&first["event"], &first["seq"]), (&"alive".into(), &1.into()));
    events.finish(&StreamEnd::Error("over"), 1).unwrap();
    drop(events);
    let lines = lines(&seen);
    assert_eq!(lines.last().unwrap()["seq"], lines.len() + 1, "what keeps alive is numbered too");
}

#[test]
fn how_far_something_has_come_is_told_now_and_then_and_at_its_end() {
    let (written, seen) = channel();
    let events = EventStream::start(StreamTap { written, gate: None }).unwrap();
    for done in 0..=10_000 {
        events.emit(Event::Progress { stage: ReviewStage::Review, done, total: 10_000 });
    }
    events.finish(&StreamEnd::Error("over"), 1).unwrap();
    drop(events);
    let lines = lines(&seen);
    assert!(lines.len() < 5_000, "{}", lines.len());
    assert_eq!(lines[lines.len() - 2]["done"], 10_000);
    assert!(lines.iter().all(|line| line.get("dropped").is_none()), "that is not a loss");
}

#[test]
fn a_reader_that_goes_away_is_no_error_and_a_full_disk_is() {
    struct FailingWriter(io::ErrorKind);
    impl Write for FailingWriter {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(self.0.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let ended = |kind| {
        let events = EventStream::with(FailingWriter(kind), 1, HEARTBEAT).unwrap();
        for event in one_of_each() {
            events.emit(event);
        }
        events.finish(&StreamEnd::Error("over"), 1)
    };
    assert!(ended(io::ErrorKind::BrokenPipe).is_ok());
    assert_eq!(ended(io::ErrorKind::StorageFull).unwrap_err().kind(), io::ErrorKind::StorageFull);
}

#[test]
fn every_listener_hears_everything() {
    struct CountingSink(Mutex<u32>);
    impl EventSink for CountingSink {
        fn emit(&self, _: Event) {
            *self.0.lock().unwrap() += 1;
        }
    }
    let both = [Arc::new(CountingSink(Mutex::new(0))), Arc::new(CountingSink(Mutex::new(0)))];
    let all = FanOut(both.iter().map(|sink| Arc::clone(sink) as Arc<dyn EventSink>).collect());
    for event in one_of_each() {
        all.emit(event);
    }
    assert!(both.iter().all(|sink| *sink.0.lock().unwrap() == 14));
}
