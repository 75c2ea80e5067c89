//! What happens during a run, as one stream. Main types: [`Event`], [`EventSink`].
//!
//! Listeners (a progress line, NDJSON, an editor) belong above; an engine only emits.

use serde::Serialize;

/// The stages of a run, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Stage {
    /// Finding the commits and the files.
    Collect,
    /// Looking for defects.
    Review,
    /// Keeping the run and writing the outputs.
    Deliver,
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// A stage began.
    Stage {
        /// Which.
        stage: Stage,
    },
    /// Some of a stage's work is done.
    Progress {
        /// The stage.
        stage: Stage,
        /// How many units are done.
        done: u64,
        /// How many there are.
        total: u64,
    },
    /// Something the person should know; one line.
    Notice {
        /// The line.
        text: String,
    },
}

/// A listener. It must not block: a slow one drops events, it never holds the review.
pub trait EventSink: Send + Sync {
    /// Takes one event.
    fn emit(&self, event: Event);
}

/// Listens to nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl EventSink for Silent {
    fn emit(&self, _: Event) {}
}
