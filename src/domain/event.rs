//! The event stream of a run. Main types: [`Event`], [`EventSink`].
//!
//! Listeners (a progress line, NDJSON, an editor) belong above; an engine only emits.

use serde::Serialize;

use super::finding::Severity;
use super::money::{self, Money};

/// The stages of a run, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ReviewStage {
    /// Finding the commits and the files.
    Collect,
    /// Looking for defects.
    Review,
    /// Keeping the run and writing the outputs.
    Deliver,
    /// Posting the review on its pull request.
    Post,
}

/// The state of a part of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum UnitState {
    /// It is being reviewed.
    Begun,
    /// It was reviewed to its end.
    Done,
    /// Something ended it before.
    BrokenOff,
    /// There was no room for it, or nobody to ask.
    NotBegun,
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
#[allow(missing_docs, reason = "the names say what some fields are")]
pub enum Event {
    /// A stage began.
    Stage { stage: ReviewStage },
    /// Some of a stage's work is done.
    Progress {
        stage: ReviewStage,
        /// The number of finished units.
        done: u64,
        total: u64,
    },
    /// A part of a change that is too large for one conversation began to be reviewed, or will not be any more.
    Unit {
        /// Its number, from 1.
        number: u32,
        of: u32,
        /// The number of files in it.
        files: u32,
        /// Its result.
        state: UnitState,
    },
    /// A turn of the model began: it is being asked.
    Turn {
        /// Its number, from 1.
        turn: u32,
        /// The maximum number.
        most: u32,
    },
    /// The answer grows.
    Answering {
        turn: u32,
        /// Bytes of text, reasoning and arguments so far.
        bytes: u64,
    },
    /// The model calls a tool.
    Call {
        turn: u32,
        tool: String,
        /// Its subject: a path, a pattern, a title; one line.
        about: String,
    },
    /// A turn is over: what the run took so far. `None` is unknown.
    Spent {
        turn: u32,
        /// Tokens sent, cached ones included.
        input_tokens: Option<u64>,
        /// Of those, read from a cache.
        cache_read_tokens: Option<u64>,
        /// Tokens received.
        output_tokens: Option<u64>,
        /// The cost; in JSON in dollars.
        #[serde(rename = "cost_usd", serialize_with = "money::in_dollars::serialize")]
        cost: Option<Money>,
    },
    /// An attempt failed and is made again.
    Retry {
        turn: u32,
        /// The number of the next attempt, from 2.
        attempt: u32,
        /// The wait before it, in milliseconds.
        wait_ms: u64,
        /// Why, one line.
        reason: String,
    },
    /// A turn waits before it is asked, to stay within what the provider may be asked in a minute.
    Paced {
        turn: u32,
        /// The duration, in milliseconds.
        wait_ms: u64,
    },
    /// A claim stood and became a finding.
    Finding {
        /// The engine's id for it during this run.
        id: String,
        title: String,
        severity: Severity,
        path: String,
        /// Its first line, where it has one.
        line: Option<u32>,
    },
    /// A claim did not stand.
    Withheld {
        title: String,
        /// Why, one line.
        reason: String,
    },
    /// The second look at so many findings is over.
    SecondLook { done: u32, of: u32 },
    /// Something the person should know; one line.
    Notice { text: String },
    /// Something that is said even where the person wants silence: where code is sent, and that it is not encrypted; one line.
    Warning { text: String },
}

/// A listener. It must not block: a slow one drops events, it never holds the review.
pub trait EventSink: Send + Sync {
    /// Takes one event.
    fn emit(&self, event: Event);
}

/// Listens to nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct NullEventSink;

impl EventSink for NullEventSink {
    fn emit(&self, _: Event) {}
}
