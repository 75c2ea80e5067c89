//! Events of a run, for programs: NDJSON, one object a line (`docs/events.md`). Main types: [`EventStream`], [`FanOut`].
//!
//! A separate thread writes the events from a bounded queue: a slow reader misses some, which the next line reports, and never delays the
//! review. The last line, with the review or the error, is always written, and so is the receipt of a posting before it.

use std::io::{self, Write};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde::Serialize;
use serde_json::json;

use super::{delivery, json};
use crate::domain::event::{Event, EventSink};
use crate::domain::forge::Delivery;
use crate::domain::review::Review;
use crate::domain::text::strip_line;
use crate::sys::clock;

/// Lines waiting for the thread; more are dropped.
const QUEUE: usize = 1024;
/// Minimum interval between progress counts.
const PACE: Duration = Duration::from_millis(200);
/// Maximum silence, so that a reader does not take the run for dead.
const HEARTBEAT: Duration = Duration::from_secs(10);

/// Writes events as lines.
pub struct EventStream {
    state: Mutex<EventStreamState>,
}

struct EventStreamState {
    /// The queue and the thread; `None` after the end.
    running: Option<WriterThread>,
    /// The number of events that were dropped since the last queued line.
    dropped: u64,
    /// The time of the last progress count.
    told: Option<Instant>,
}

struct WriterThread {
    lines: SyncSender<EventLine>,
    thread: JoinHandle<io::Result<()>>,
}

/// A queued line.
struct EventLine {
    /// A JSON object without its closing brace.
    open: String,
    /// The time of the event.
    at: String,
    /// The number of events that are missing before it.
    dropped: u64,
}

/// The end of a run.
pub enum StreamEnd<'r> {
    /// With a review.
    Review {
        /// The review.
        review: &'r Review,
        /// The receipt of posting, if it was posted.
        delivery: Option<&'r Delivery>,
    },
    /// The error, without a review.
    Error(&'r str),
}

impl EventStream {
    /// Starts writing to `out`.
    pub fn start(out: impl Write + Send + 'static) -> io::Result<Self> {
        Self::with(out, QUEUE, HEARTBEAT)
    }

    fn with(out: impl Write + Send + 'static, length: usize, beat: Duration) -> io::Result<Self> {
        let (lines, receiver) = sync_channel(length);
        let thread = thread::Builder::new().name("events".to_owned()).spawn(move || write(&receiver, out, beat))?;
        let running = Some(WriterThread { lines, thread });
        Ok(Self { state: Mutex::new(EventStreamState { running, dropped: 0, told: None }) })
    }

    /// Writes the receipt and the last line after everything in the queue, however long the reader takes, and stops; later events are
    /// ignored.
    ///
    /// A reader that went away is not an error.
    pub fn finish(&self, end: &StreamEnd<'_>, exit_code: u8) -> io::Result<()> {
        let (running, dropped) = {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            (state.running.take(), state.dropped)
        };
        let Some(WriterThread { lines, thread }) = running else { return Ok(()) };
        let mut dropped = dropped;
        for open in posted(end).into_iter().chain([last(end, exit_code)]) {
            // The thread ends early only if it failed, and then it reports that itself.
            let _ = lines.send(EventLine { open, at: clock::now(), dropped: std::mem::take(&mut dropped) });
        }
        drop(lines);
        thread.join().unwrap_or_else(|_| Err(io::Error::other("writing the events failed unexpectedly")))
    }
}

impl EventSink for EventStream {
    fn emit(&self, event: Event) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let EventStreamState { running: Some(writer), dropped, told } = &mut *state else { return };
        if is_measure(&event) {
            if told.is_some_and(|told| told.elapsed() < PACE) {
                return;
            }
            *told = Some(Instant::now());
        }
        let line = EventLine { open: open(&plain(event)), at: clock::now(), dropped: *dropped };
        match writer.lines.try_send(line) {
            Ok(()) => *dropped = 0,
            Err(_) => *dropped += 1,
        }
    }
}

/// Serializes an object without its closing brace.
fn open(object: &impl Serialize) -> String {
    let mut text = serde_json::to_string(object).unwrap_or_default();
    text.pop();
    text
}

/// Checks whether the event is only a progress count, so that the next one supersedes it.
fn is_measure(event: &Event) -> bool {
    match event {
        Event::Progress { done, total, .. } => done != total,
        Event::Answering { .. } => true,
        Event::Stage { .. }
        | Event::Turn { .. }
        | Event::Call { .. }
        | Event::Spent { .. }
        | Event::Retry { .. }
        | Event::Paced { .. }
        | Event::Finding { .. }
        | Event::Withheld { .. }
        | Event::SecondLook { .. }
        | Event::Unit { .. }
        | Event::Notice { .. }
        | Event::Warning { .. } => false,
    }
}

/// Strips the event's prose as the review's is, so that a title is the same in both.
fn plain(event: Event) -> Event {
    match event {
        Event::Call { turn, tool, about } => Event::Call { turn, tool: strip_line(&tool), about: strip_line(&about) },
        Event::Retry { turn, attempt, wait_ms, reason } => {
            Event::Retry { turn, attempt, wait_ms, reason: strip_line(&reason) }
        }
        Event::Finding { id, title, severity, path, line } => {
            Event::Finding { id, title: strip_line(&title), severity, path, line }
        }
        Event::Withheld { title, reason } => Event::Withheld { title: strip_line(&title), reason: strip_line(&reason) },
        Event::Notice { text } => Event::Notice { text: strip_line(&text) },
        Event::Warning { text } => Event::Warning { text: strip_line(&text) },
        event @ (Event::Stage { .. }
        | Event::Paced { .. }
        | Event::Progress { .. }
        | Event::Turn { .. }
        | Event::Answering { .. }
        | Event::SecondLook { .. }
        | Event::Unit { .. }
        | Event::Spent { .. }) => event,
    }
}

/// Serializes the receipt of a posting.
fn posted(end: &StreamEnd<'_>) -> Option<String> {
    match end {
        StreamEnd::Review { delivery: Some(receipt), .. } => {
            Some(open(&json!({ "event": "delivery", "delivery": delivery::value(receipt) })))
        }
        StreamEnd::Review { delivery: None, .. } | StreamEnd::Error(_) => None,
    }
}

fn last(end: &StreamEnd<'_>, exit_code: u8) -> String {
    match end {
        // The document is large and already sanitized: it is inserted as text.
        StreamEnd::Review { review, .. } => {
            let document = json::render_on_one_line(review);
            format!("{},\"review\":{document}", open(&json!({ "event": "review", "exit_code": exit_code })))
        }
        StreamEnd::Error(message) => {
            open(&json!({ "event": "error", "exit_code": exit_code, "message": strip_line(message) }))
        }
    }
}

fn write(lines: &Receiver<EventLine>, mut out: impl Write, beat: Duration) -> io::Result<()> {
    let mut seq = 0;
    let mut written = Ok(());
    // After a failure lines are still received: the sender of the last one must not wait forever.
    loop {
        let line = match lines.recv_timeout(beat) {
            Ok(line) => line,
            Err(RecvTimeoutError::Timeout) => {
                EventLine { open: open(&json!({ "event": "alive" })), at: clock::now(), dropped: 0 }
            }
            Err(RecvTimeoutError::Disconnected) => break,
        };
        seq += line.dropped + 1;
        if written.is_ok() {
            written = out.write_all(&line.closed(seq)).and_then(|()| out.flush());
        }
    }
    match written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}

impl EventLine {
    fn closed(self, seq: u64) -> Vec<u8> {
        let Self { open, at, dropped } = self;
        let missing = if dropped == 0 { String::new() } else { format!(",\"dropped\":{dropped}") };
        json::escape_invisible(format!("{open},\"seq\":{seq},\"at\":\"{at}\"{missing}}}\n")).into_bytes()
    }
}

/// Forwards events to every listener.
pub struct FanOut(pub Vec<Arc<dyn EventSink>>);

impl EventSink for FanOut {
    fn emit(&self, event: Event) {
        for sink in &self.0 {
            sink.emit(event.clone());
        }
    }
}

#[cfg(test)]
mod tests;
