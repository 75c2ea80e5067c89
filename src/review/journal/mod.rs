//! Journal of a run: requests, responses and decisions, one JSON object per line. Main types: [`JournalEntry`], [`JournalSink`].
//!
//! It holds the requests in the types of [`llm`](crate::llm) (after masking; credentials are in headers and not part of it), so that [`RebuiltConversation`]
//! reproduces every request. Each entry is keyed by (unit, turn, call). The destination is up to the sink.

mod record;
mod replay;
pub(super) mod shorten;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Deserialize;
use sha2::{Digest as _, Sha256};

use crate::domain::id::hex;
use crate::llm::{Message, TurnRequest};
use crate::store::{RunJournal, StoreError};
use crate::sys::{blocking, clock};

pub use replay::{
    Difference, Differences, DivergedInput, JournalReplay, JournalReplayError, JournalSummary, ReplayDivergence,
};

use record::VERSION;
pub use record::{
    ConversationId, FinalTurn, JournalEntry, JournalRecord, NameFate, RecordedAllowance, RecordedRead, RecordedRules,
    RuleScope, SharedName,
};
pub(super) use replay::{AbandonedUsage, NextReplayStep, RecordedEnd, RecordedTrees, ReplayOutcome, Transcript};
use shorten::RemovedResults;

/// The name of the journal in a run's folder.
pub const NAME: &str = "journal.jsonl";

/// Destination of entries, one line each.
pub trait JournalSink: Send + Sync {
    /// Appends a line, its end included.
    fn append(&mut self, line: &[u8]) -> Result<(), StoreError>;
    /// Syncs appended entries to storage.
    fn sync(&mut self) -> Result<(), StoreError>;
    /// Begins to; returns when they would survive the end of this process.
    fn begin_sync(&mut self) -> Result<(), StoreError> {
        self.sync()
    }
}

impl JournalSink for RunJournal {
    fn append(&mut self, line: &[u8]) -> Result<(), StoreError> {
        Self::append(self, line)
    }

    fn sync(&mut self) -> Result<(), StoreError> {
        Self::sync(self)
    }

    fn begin_sync(&mut self) -> Result<(), StoreError> {
        Self::begin_sync(self)
    }
}

/// Writes the entries of one conversation to a sink until the sink fails; a run continues without a journal, and reports that.
#[derive(Clone)]
pub(super) struct Journal {
    kept: Arc<Mutex<SharedSink>>,
    unit: ConversationId,
    turn: u32,
}

/// The sink that all conversations of a run share.
struct SharedSink {
    sink: Option<Box<dyn JournalSink>>,
    fault: Option<String>,
}

impl Journal {
    /// Creates a journal over a sink, or without one.
    pub(super) fn new(sink: Option<Box<dyn JournalSink>>) -> Self {
        Self { kept: Arc::new(Mutex::new(SharedSink { sink, fault: None })), unit: ConversationId::WHOLE, turn: 0 }
    }

    /// Creates a journal of another conversation with the same sink.
    pub(super) fn of(&self, unit: ConversationId) -> Self {
        Self { kept: Arc::clone(&self.kept), unit, turn: 0 }
    }

    fn lock_sink(&self) -> MutexGuard<'_, SharedSink> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the turn that the following entries belong to.
    pub(super) fn turn(&mut self, turn: u32) {
        self.turn = turn;
    }

    /// Writes what happened.
    pub(super) fn record(&mut self, call: Option<u32>, record: JournalRecord) {
        let mut kept = self.lock_sink();
        let Some(sink) = &mut kept.sink else { return };
        let entry =
            JournalEntry { v: VERSION, at: clock::now(), unit: self.unit.clone(), turn: self.turn, call, record };
        // Strings, numbers and maps with string keys: every entry can be serialized.
        let Ok(mut line) = serde_json::to_vec(&entry) else { return };
        line.push(b'\n');
        let written = sink.append(&line);
        kept.unless_failed(written);
    }

    /// Begins to sync the sink before a request, which is sent meanwhile: a turn takes far longer than the disk.
    pub(super) fn begin_sync(&mut self) {
        let mut kept = self.lock_sink();
        let Some(sink) = &mut kept.sink else { return };
        let begun = sink.begin_sync();
        kept.unless_failed(begun);
    }

    /// Syncs the sink: at the end of a conversation.
    pub(super) fn sync(&mut self) {
        let mut kept = self.lock_sink();
        let Some(sink) = &mut kept.sink else { return };
        let synced = blocking::in_place(|| sink.sync());
        kept.unless_failed(synced);
    }

    /// Returns the write error; only once.
    pub(super) fn fault(&self) -> Option<String> {
        self.lock_sink().fault.take()
    }
}

impl SharedSink {
    fn unless_failed(&mut self, done: Result<(), StoreError>) {
        if let Err(fault) = done {
            self.fault = Some(format!("The journal of this run is not whole: {fault}."));
            self.sink = None;
        }
    }
}

/// Returns the hash that a [`JournalRecord::Request`] carries.
pub(super) fn digest(request: &TurnRequest) -> String {
    // Strings and maps with string keys always serialize.
    let text = serde_json::to_vec(request).unwrap_or_default();
    hex(&Sha256::digest(&text))
}

/// Reasons why a journal cannot be read.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum JournalError {
    /// A line in the middle is damaged. A last line that was cut off by a kill is no error.
    #[error("line {line} of the journal cannot be read: {source}")]
    Line {
        /// Line, from 1.
        line: usize,
        #[source]
        source: serde_json::Error,
    },
    /// It was written by a later version.
    #[error("the journal has version {0}, this program reads up to {VERSION}: use the program that wrote it")]
    Version(u32),
}

/// Reads a journal. A last line without its end is what a kill leaves: it is passed over.
pub fn read(bytes: &[u8]) -> Result<Vec<JournalEntry>, JournalError> {
    #[derive(Deserialize)]
    struct VersionedEntry {
        v: u32,
    }
    let whole = memchr::memrchr(b'\n', bytes).map_or(0, |at| at + 1);
    let lines = bytes[..whole].split(|byte| *byte == b'\n').enumerate().filter(|(_, line)| !line.is_empty());
    let mut entries = Vec::new();
    for (at, line) in lines {
        let fault = |source| JournalError::Line { line: at + 1, source };
        let VersionedEntry { v } = serde_json::from_slice(line).map_err(fault)?;
        if v > VERSION {
            return Err(JournalError::Version(v));
        }
        entries.push(serde_json::from_slice(line).map_err(fault)?);
    }
    Ok(entries)
}

/// A conversation that grows entry by entry.
#[derive(Debug, Clone)]
pub struct RebuiltConversation {
    /// Last request, complete, and its response. Results follow with the next request: after a kill they may be incomplete.
    pub request: TurnRequest,
    /// `true` if the hash of every request matched the rebuilt one.
    pub proven: bool,
}

impl RebuiltConversation {
    /// Rebuilds the conversation about the whole change; `None` if no request was sent.
    pub fn from_entries(entries: &[JournalEntry]) -> Option<Self> {
        Self::of_unit(entries, &ConversationId::WHOLE)
    }

    /// Rebuilds one conversation; if it was restarted, the last one of that name.
    pub fn of_unit(entries: &[JournalEntry], unit: &ConversationId) -> Option<Self> {
        Self::until(entries, unit, u32::MAX)
    }

    /// Returns the request of one turn.
    pub fn of_turn(entries: &[JournalEntry], unit: &ConversationId, turn: u32) -> Option<Self> {
        Self::until(entries, unit, turn)
    }

    /// Returns the conversation up to the request of a turn, or its last one.
    fn until(entries: &[JournalEntry], unit: &ConversationId, last: u32) -> Option<Self> {
        let mut rebuilt: Option<Self> = None;
        // A call that was stopped is made in a later session, after those behind it.
        let (mut results, mut asked) = (BTreeMap::new(), 0);
        let within = entries.iter().filter(|entry| entry.unit == *unit && entry.turn <= last);
        for JournalEntry { turn, call, record, .. } in within {
            match record {
                // A turn may be requested twice: in a later session, or because a model failed.
                JournalRecord::Request {
                    system,
                    tools,
                    grammar,
                    speech,
                    user,
                    max_output,
                    compacted,
                    removed,
                    to,
                    digest: expected,
                    ..
                } => {
                    if system.is_some() {
                        rebuilt = None;
                        results.clear();
                        asked = *to;
                    }
                    let it = rebuilt.get_or_insert_with(Self::empty);
                    it.request.system = system.clone().unwrap_or_else(|| std::mem::take(&mut it.request.system));
                    it.request.tools = tools.clone().unwrap_or_else(|| std::mem::take(&mut it.request.tools));
                    it.request.grammar = grammar.clone().unwrap_or_else(|| std::mem::take(&mut it.request.grammar));
                    it.request.speech = *speech;
                    it.request.max_output = *max_output;
                    if !results.is_empty() {
                        let results = std::mem::take(&mut results).into_values().collect();
                        it.request.push(Message::Results { results, mark: true });
                    }
                    for text in user {
                        let mark = it.request.messages.is_empty();
                        it.request.push(Message::User { text: text.clone(), mark });
                    }
                    if std::mem::replace(&mut asked, *to) != *to {
                        it.request.hand_over();
                    }
                    let results = removed.iter().copied().collect();
                    let removed = RemovedResults { messages: *compacted, results };
                    shorten::shorten(&mut it.request, &removed);
                    it.proven &= digest(&it.request) == *expected;
                }
                JournalRecord::Answer { response, .. } if *turn < last => {
                    if let Some(it) = &mut rebuilt {
                        it.request.push_answer(response);
                    }
                }
                JournalRecord::Result { result, .. } => {
                    results.insert(*call, result.clone());
                }
                JournalRecord::Run { .. }
                | JournalRecord::Rules(_)
                | JournalRecord::Plan { .. }
                | JournalRecord::Names { .. }
                | JournalRecord::Read { .. }
                | JournalRecord::Omitted { .. }
                | JournalRecord::Takeover { .. }
                | JournalRecord::Window { .. }
                | JournalRecord::Fault { .. }
                | JournalRecord::Answer { .. }
                | JournalRecord::Share(_)
                | JournalRecord::Verdict { .. }
                | JournalRecord::End { .. }
                | JournalRecord::Resumed { .. }
                | JournalRecord::Done { .. } => {}
            }
        }
        rebuilt
    }

    fn empty() -> Self {
        Self { request: TurnRequest::default(), proven: true }
    }
}

#[cfg(test)]
mod tests {
    use crate::domain::money::Money;
    use std::io;
    use std::path::PathBuf;
    use std::sync::{Arc, Mutex};

    use super::*;
    use crate::domain::review::StopReason;
    use crate::llm::{FinishReason, MessagePart, ModelToolCall, ToolInput, ToolResult, TurnResponse, TurnUsage};
    use crate::sys::files::FileError;

    #[derive(Clone, Default)]
    struct MemorySink(Arc<Mutex<Vec<u8>>>);

    impl JournalSink for MemorySink {
        fn append(&mut self, line: &[u8]) -> Result<(), StoreError> {
            self.0.lock().unwrap().extend_from_slice(line);
            Ok(())
        }

        fn sync(&mut self) -> Result<(), StoreError> {
            Ok(())
        }
    }

    struct FullSink;

    impl JournalSink for FullSink {
        fn append(&mut self, _: &[u8]) -> Result<(), StoreError> {
            let source = io::Error::other("no space left");
            Err(FileError { verb: "write", path: PathBuf::from("journal.jsonl"), source }.into())
        }

        fn sync(&mut self) -> Result<(), StoreError> {
            Ok(())
        }
    }

    fn ask(journal: &mut Journal, request: &TurnRequest, first: bool, user: &[&str]) {
        let record = JournalRecord::Request {
            system: first.then(|| request.system.clone()),
            tools: first.then(|| request.tools.clone()),
            grammar: None,
            speech: request.speech,
            user: user.iter().map(|text| (*text).to_owned()).collect(),
            max_output: request.max_output,
            landing: None,
            compacted: 0,
            removed: Vec::new(),
            announced: None,
            to: 0,
            most: Money::NOTHING,
            digest: digest(request),
        };
        journal.record(None, record);
    }

    /// Two turns with results and a remark of ours: the journal, and the last request that was sent.
    fn conversation() -> (Vec<u8>, TurnRequest) {
        let memory = MemorySink::default();
        let mut journal = Journal::new(Some(Box::new(memory.clone())));
        let opening = Message::User { text: "the change".to_owned(), mark: true };
        let mut request = TurnRequest {
            system: "be careful".to_owned(),
            max_output: 9,
            messages: vec![opening],
            ..TurnRequest::default()
        };
        for turn in 1..=3 {
            journal.turn(turn);
            let first = turn == 1;
            ask(&mut journal, &request, first, if first { &["the change"] } else { &["go on"] });
            let call = ModelToolCall {
                id: format!("c{turn}"),
                name: "list_files".to_owned(),
                input: ToolInput::Object(serde_json::Map::new()),
                signatures: vec!["s\u{1F600}".to_owned()],
            };
            let parts =
                vec![MessagePart::Opaque { value: serde_json::json!({ "Thinking": turn }) }, MessagePart::Call(call)];
            let response =
                TurnResponse { parts: parts.clone(), stop: FinishReason::Calls, usage: TurnUsage::default() };
            journal.record(None, JournalRecord::Answer { response, took_ms: 1 });
            request.push(Message::Assistant { parts });
            let result = ToolResult {
                id: format!("c{turn}"),
                name: "list_files".to_owned(),
                text: "a\nb".to_owned(),
                is_error: false,
            };
            journal.record(Some(0), JournalRecord::Result { result: result.clone(), shown: Vec::new() });
            if turn < 3 {
                request.push(Message::Results { results: vec![result], mark: true });
                request.push(Message::User { text: "go on".to_owned(), mark: false });
            }
        }
        let bytes = memory.0.lock().unwrap().clone();
        (bytes, request)
    }

    #[test]
    fn every_request_can_be_built_again_and_is_proven() {
        let (bytes, request) = conversation();
        let rebuilt = RebuiltConversation::from_entries(&read(&bytes).unwrap()).unwrap();
        assert!(rebuilt.proven);
        assert_eq!(rebuilt.request, request);
    }

    #[test]
    fn numbers_come_back_as_they_were() {
        // Numbers of all sizes, as models and providers may write them.
        let mut bits = 0x9e37_79b9_7f4a_7c15_u64;
        for _ in 0..2_000 {
            bits = bits.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            let number = f64::from_bits(bits);
            let value = serde_json::json!({ "number": number });
            let again: serde_json::Value = serde_json::from_str(&value.to_string()).unwrap();
            assert_eq!(again, value);
        }
    }

    #[test]
    fn a_request_that_was_tampered_with_is_not_proven() {
        let (bytes, _) = conversation();
        let text = String::from_utf8(bytes).unwrap().replacen("the change", "another one", 1);
        let rebuilt = RebuiltConversation::from_entries(&read(text.as_bytes()).unwrap()).unwrap();
        assert!(!rebuilt.proven);
    }

    #[test]
    fn a_journal_cut_anywhere_is_readable() {
        let (bytes, _) = conversation();
        let whole = read(&bytes).unwrap().len();
        for end in 0..bytes.len() {
            let entries = read(&bytes[..end]).unwrap();
            assert!(entries.len() <= whole);
            assert!(RebuiltConversation::from_entries(&entries).is_none_or(|rebuilt| rebuilt.proven), "cut at {end}");
        }
    }

    #[test]
    fn a_damaged_line_and_a_later_version_are_told() {
        assert!(matches!(read(b"{\"v\":1}\n{}\n"), Err(JournalError::Line { line: 1, .. })));
        assert!(matches!(read(b"{\"v\":6,\"new\":true}\n"), Err(JournalError::Version(6))));
        let first = br#"{"v":1,"at":"","unit":0,"turn":1,"record":{"kind":"end","ended":"finished"}}"#;
        assert_eq!(read(&[first, &b"\n"[..]].concat()).unwrap()[0].unit, ConversationId::WHOLE);
    }

    #[test]
    fn a_sink_that_fails_is_told_once_and_left_alone() {
        let mut journal = Journal::new(Some(Box::new(FullSink)));
        journal.record(None, JournalRecord::End { ended: StopReason::Finished, why: None });
        journal.record(None, JournalRecord::End { ended: StopReason::Finished, why: None });
        assert!(journal.fault().unwrap().contains("no space left"));
        assert_eq!(journal.fault(), None);
    }
}
