//! Frames of a stream, and the response they form. Main types: [`FrameReader`], [`Decoder`].
//!
//! A frame is one document of the stream, as `events` cuts it. This module keeps the contract of a turn: the order of the parts, whether the end was
//! seen, whether a number was sent or assumed. Everything is bounded, because a server may send anything.

use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::Value;

use super::draft::ResponseDraft;
use super::provider::StreamObserver;

/// Maximum bytes of one response, including its frames. A hundred thousand tokens are a few mebibytes.
const ANSWER: usize = 16 * 1024 * 1024;

/// Maximum bytes of one frame. The largest legitimate frame repeats a whole response; parsed, odd JSON takes a hundred times its size.
pub(super) const FRAME: usize = 4 * 1024 * 1024;

/// Maximum number of pieces (texts, calls, opaque parts) of one response: more than any model sends, and few enough to search.
pub(super) const PIECES: usize = 2_000;

/// Reader of the frames of one wire format.
pub(super) trait Decoder: Send {
    /// Reads one frame.
    fn read(&mut self, frame: &Value) -> Result<(), ResponseFault>;

    /// Returns the response so far.
    fn draft(&mut self) -> &mut ResponseDraft;

    /// Puts what is still apart into the draft: the stream is over.
    fn close(&mut self) {}

    /// Returns the number of pieces so far.
    fn pieces(&mut self) -> usize {
        self.draft().blocks.len()
    }

    /// Handles the frame `[DONE]`.
    fn done(&mut self) {}

    /// Checks whether nothing more can follow, not even the usage.
    fn complete(&mut self) -> bool {
        self.draft().ended
    }
}

/// Errors of a response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ResponseFault {
    /// The server reported a failure in the middle of its response.
    Said {
        /// Equivalent status, if the server names it.
        status: Option<u16>,
        message: String,
    },
    /// The stream ended before the response did.
    Cut(String),
    /// It is not what the wire format promises.
    Unreadable(String),
}

/// Reads frames one after the other.
pub(super) struct FrameReader(Mutex<FrameState>);

struct FrameState {
    decoder: Box<dyn Decoder>,
    bytes: usize,
    frames: usize,
    told: u64,
    /// A frame that is no JSON: half a frame if it is the last one.
    half: bool,
    trouble: Option<ResponseFault>,
}

impl FrameReader {
    pub(super) fn new(decoder: Box<dyn Decoder>) -> Self {
        Self(Mutex::new(FrameState { decoder, bytes: 0, frames: 0, told: 0, half: false, trouble: None }))
    }

    fn lock(&self) -> MutexGuard<'_, FrameState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Feeds one frame.
    pub(super) fn feed(&self, data: &[u8]) {
        self.lock().take(data);
    }

    /// Counts bytes as they arrive, before they are parsed; `kept` of them wait for the end of their frame.
    pub(super) fn record_arrival(&self, bytes: usize, kept: usize) {
        let mut reading = self.lock();
        reading.bytes = reading.bytes.saturating_add(bytes);
        let (most, what) = if kept > FRAME { (FRAME, "event") } else { (ANSWER, "answer") };
        if (kept > FRAME || reading.bytes > ANSWER) && reading.trouble.is_none() {
            reading.trouble =
                Some(ResponseFault::Unreadable(format!("more than {} MiB in one {what}", most / 1024 / 1024)));
        }
    }

    /// Feeds a response that is one document.
    pub(super) fn feed_all(&self, body: &[u8]) {
        self.record_arrival(body.len(), body.len());
        self.feed(body);
    }

    /// Checks whether reading on is useless: the response is complete, or there is an error.
    pub(super) fn is_settled(&self) -> bool {
        let mut reading = self.lock();
        reading.trouble.is_some() || reading.decoder.complete()
    }

    /// Checks whether the server said that the response is complete.
    pub(super) fn is_ended(&self) -> bool {
        self.lock().decoder.draft().ended
    }

    /// Reports the bytes since the last call to the observer.
    pub(super) fn notify(&self, watch: &dyn StreamObserver) {
        let mut reading = self.lock();
        let grown = reading.decoder.draft().grown;
        if grown > reading.told {
            reading.told = grown;
            drop(reading);
            watch.grew(grown);
        }
    }

    /// Returns the response, once the stream is over.
    pub(super) fn finish(&self) -> Result<ResponseDraft, ResponseFault> {
        let mut reading = self.lock();
        if let Some(trouble) = reading.trouble.take() {
            return Err(trouble);
        }
        if !reading.decoder.draft().ended {
            let how = match reading.frames {
                0 => "it answered, but sent no stream of events",
                _ if reading.half => "the stream ended within an event",
                _ => "the stream ended before the answer did",
            };
            return Err(ResponseFault::Cut(how.to_owned()));
        }
        reading.decoder.close();
        Ok(std::mem::take(reading.decoder.draft()))
    }
}

impl FrameState {
    fn take(&mut self, data: &[u8]) {
        let data = data.trim_ascii();
        if self.trouble.is_some() || data.is_empty() {
            return;
        }
        self.frames += 1;
        if self.half {
            self.trouble = Some(ResponseFault::Unreadable("an event holds no JSON".to_owned()));
            return;
        }
        if data == b"[DONE]" {
            self.decoder.done();
            return;
        }
        match serde_json::from_slice(data) {
            Ok(frame) => self.trouble = self.decoder.read(&frame).err(),
            Err(_) => self.half = true,
        }
        if self.trouble.is_none() && self.decoder.pieces() > PIECES {
            self.trouble = Some(ResponseFault::Unreadable(format!("more than {PIECES} pieces in one answer")));
        }
    }
}
