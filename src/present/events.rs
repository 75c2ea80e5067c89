//! What happens during a run, for programs: NDJSON, one object a line (`docs/events.md`). Main types: [`Events`], [`FanOut`].
//!
//! Events are handed to a thread of its own through a bounded queue: a slow reader misses some, which the next line says, and never
//! holds the review. The last line, with the review or the error, is always written.

use std::io::{self, Write};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde::Serialize;

use super::json;
use crate::domain::event::{Event, EventSink};
use crate::domain::review::Review;
use crate::domain::text::strip_line;
use crate::sys::clock;

/// Lines waiting for the thread; more are dropped.
const QUEUE: usize = 1024;
/// How often it is told at most how far something has come.
const PACE: Duration = Duration::from_millis(200);

/// Writes events as lines.
pub struct Events {
    state: Mutex<State>,
}

struct State {
    /// The queue and the thread; `None` after the end.
    running: Option<(SyncSender<Vec<u8>>, JoinHandle<io::Result<()>>)>,
    /// How many events there were, dropped ones included.
    seq: u64,
    /// How many were dropped since the last line.
    dropped: u64,
    /// When it was last told how far something has come.
    told: Option<Instant>,
}

/// How a run ended.
pub enum End<'r> {
    /// With a review.
    Review(&'r Review),
    /// Without one: why.
    Error(&'r str),
}

/// A line: the event's own fields, then these.
#[derive(Serialize)]
struct Line<'e> {
    #[serde(flatten)]
    event: &'e Event,
    seq: u64,
    at: String,
    #[serde(skip_serializing_if = "is_zero")]
    dropped: u64,
}

/// The last line. The review's document is added as it is.
#[derive(Serialize)]
struct LastLine<'e> {
    event: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'e str>,
    exit_code: u8,
    seq: u64,
    at: String,
    #[serde(skip_serializing_if = "is_zero")]
    dropped: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Events {
    /// Starts writing to `out`.
    pub fn start(out: impl Write + Send + 'static) -> io::Result<Self> {
        Self::with_queue(out, QUEUE)
    }

    fn with_queue(out: impl Write + Send + 'static, length: usize) -> io::Result<Self> {
        let (sender, receiver) = sync_channel(length);
        let thread = thread::Builder::new().name("events".to_owned()).spawn(move || write(&receiver, out))?;
        let running = Some((sender, thread));
        Ok(Self { state: Mutex::new(State { running, seq: 0, dropped: 0, told: None }) })
    }

    /// Writes the last line after all that is waiting, however long the reader takes, and stops; later events are ignored.
    ///
    /// A reader that went away is no error.
    pub fn finish(&self, end: &End<'_>, exit_code: u8) -> io::Result<()> {
        let (running, seq, dropped) = {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            (state.running.take(), state.seq + 1, state.dropped)
        };
        let Some((sender, thread)) = running else { return Ok(()) };
        // The thread is gone only where writing failed, and then it says so itself.
        let _ = sender.send(last(end, exit_code, seq, dropped));
        drop(sender);
        thread.join().unwrap_or_else(|_| Err(io::Error::other("writing the events failed unexpectedly")))
    }
}

impl EventSink for Events {
    fn emit(&self, event: Event) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let State { running: Some((sender, _)), seq, dropped, told } = &mut *state else { return };
        if is_measure(&event) {
            if told.is_some_and(|told| told.elapsed() < PACE) {
                return;
            }
            *told = Some(Instant::now());
        }
        *seq += 1;
        let line = Line { event: &plain(event), seq: *seq, at: clock::now(), dropped: *dropped };
        match sender.try_send(ended(serde_json::to_string(&line).unwrap_or_default())) {
            Ok(()) => *dropped = 0,
            Err(_) => *dropped += 1,
        }
    }
}

/// Whether the event only says how far something has come, so that the next one says all of it again.
fn is_measure(event: &Event) -> bool {
    match event {
        Event::Progress { done, total, .. } => done != total,
        Event::Answering { .. } => true,
        Event::Stage { .. }
        | Event::Turn { .. }
        | Event::Call { .. }
        | Event::Spent { .. }
        | Event::Retry { .. }
        | Event::Finding { .. }
        | Event::Withheld { .. }
        | Event::Notice { .. }
        | Event::Warning { .. } => false,
    }
}

/// With its prose stripped as the review's is, so that a title is the same in both.
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
        | Event::Progress { .. }
        | Event::Turn { .. }
        | Event::Answering { .. }
        | Event::Spent { .. }) => event,
    }
}

fn last(end: &End<'_>, exit_code: u8, seq: u64, dropped: u64) -> Vec<u8> {
    let stripped;
    let (event, message) = match end {
        End::Review(_) => ("review", None),
        End::Error(message) => {
            stripped = strip_line(message);
            ("error", Some(stripped.as_str()))
        }
    };
    let line = LastLine { event, message, exit_code, seq, at: clock::now(), dropped };
    let mut line = serde_json::to_string(&line).unwrap_or_default();
    if let End::Review(review) = end {
        // The document is large and its text is ready: it goes in before the brace.
        line.pop();
        line.push_str(",\"review\":");
        line.push_str(&json::on_one_line(review));
        line.push('}');
    }
    ended(line)
}

fn ended(mut line: String) -> Vec<u8> {
    line.push('\n');
    json::escape_invisible(line).into_bytes()
}

fn write(lines: &Receiver<Vec<u8>>, mut out: impl Write) -> io::Result<()> {
    let mut written = Ok(());
    // After a failure the lines are still taken: whoever sends the last one must not wait for ever.
    for line in lines {
        if written.is_ok() {
            written = out.write_all(&line).and_then(|()| out.flush());
        }
    }
    match written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}

/// Tells every listener.
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
