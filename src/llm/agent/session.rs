//! One run of a program, which is one conversation. Main type: [`AgentSession`].

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{BufReader, split};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

use super::wire::{self, CallLine, OfferedTools, ResultLine};
use crate::domain::run::RunId;
use crate::llm::turn::{
    FinishReason, Message, MessagePart, ModelToolCall, ToolInput, ToolResult, TurnRequest, TurnResponse, TurnUsage,
};
use crate::sys::local_socket::{LocalListener, LocalStream};
use crate::sys::process::{BackgroundRun, ProcessError, ProcessOutput};
use crate::sys::temporary::TemporaryFolder;

/// Time for which more calls of the same step are awaited after the first one.
const SAME_STEP: Duration = Duration::from_millis(40);
/// Number of calls that wait for a turn; the program waits with more of them.
const AHEAD: usize = 32;
/// Number of bytes that are read of what a program says at its end, on each of its two streams.
const LAST_WORDS: usize = 160;
/// Calls that conclude a conversation.
const CONCLUDING: [&str; 2] = ["finish_review", "give_verdict"];
/// Calls whose results the model has to see before it concludes.
const READING: [&str; 5] = ["build", "list_files", "read_diff", "read_file_part", "search_in_files"];
/// Answer to a conclusion that may have been written before the results were seen.
const NOT_SEEN: &str =
    "not accepted yet: results came after what you may have seen; look at them, then make this call again, alone";

/// A call under way, and the connection that waits for its result.
struct PendingCall {
    line: CallLine,
    reply: mpsc::Sender<ResultLine>,
}

/// Reasons why a session has no further call.
#[derive(Debug)]
pub(super) enum SessionEnd {
    /// The program wrote a text instead.
    Said(String),
    /// The program could not be run, or failed.
    Failed(ProcessError),
    /// The program ended with this code, or without a single call; it said this.
    Ended(Option<i32>, String),
    /// Nothing came for too long.
    Silent,
}

/// A program that reviews, with its socket. The program ends with this value.
pub(super) struct AgentSession {
    /// Dropped first: the program still has its folder.
    program: BackgroundRun,
    calls: mpsc::Receiver<PendingCall>,
    ended: oneshot::Receiver<Result<ProcessOutput, ProcessError>>,
    /// The calls of the last turn, by their ids.
    pending: BTreeMap<String, PendingCall>,
    /// Name of the session in the ids of its calls.
    name: String,
    made: u64,
    /// `true` if the model may not have seen all results. A client may make the calls of one step one after the other, so a call proves
    /// nothing about the results before it, unlike the turn of a provider.
    has_unseen: bool,
    /// `true` if the program was given tools.
    offers_tools: bool,
    _connections: JoinSet<()>,
    _folder: TemporaryFolder,
}

impl AgentSession {
    /// Starts a program that reads the tools of `request` from a socket in a folder of its own; `start` runs it there.
    pub(super) fn start(
        folder: TemporaryFolder,
        socket: &Path,
        request: &TurnRequest,
        start: impl FnOnce(oneshot::Sender<Result<ProcessOutput, ProcessError>>) -> BackgroundRun,
    ) -> std::io::Result<Self> {
        let listener = LocalListener::bind(socket)?;
        let offered = Arc::new(OfferedTools { tools: request.tools.clone() });
        let (sender, calls) = mpsc::channel(AHEAD);
        let mut connections = JoinSet::new();
        connections.spawn(async move {
            let mut served = JoinSet::new();
            while let Ok(stream) = listener.accept().await {
                served.spawn(serve(stream, Arc::clone(&offered), sender.clone()));
            }
        });
        let (done, ended) = oneshot::channel();
        Ok(Self {
            program: start(done),
            calls,
            ended,
            pending: BTreeMap::new(),
            name: RunId::random().to_string(),
            made: 0,
            has_unseen: false,
            offers_tools: !request.tools.is_empty(),
            _connections: connections,
            _folder: folder,
        })
    }

    /// Checks whether a request answers the pending calls of this session.
    pub(super) fn is_awaited_by(&self, request: &TurnRequest) -> bool {
        last_results(request).iter().any(|result| self.pending.contains_key(&result.id))
    }

    /// Hands the results of a request to the program. Messages after them go with the last one.
    pub(super) async fn answer(&mut self, request: &TurnRequest) {
        let results = last_results(request);
        let more: Vec<&str> = match request.messages.last() {
            Some(Message::User { text, .. }) => vec![text],
            _ => Vec::new(),
        };
        let last = results.len().saturating_sub(1);
        let has = |names: &[&str]| self.pending.values().any(|call| names.contains(&call.line.tool.as_str()));
        // A conclusion beside reads is refused by the review itself, and the next one answers that.
        self.has_unseen = !has(&CONCLUDING) && (self.has_unseen || has(&READING));
        for (at, result) in results.iter().enumerate() {
            let Some(PendingCall { line, reply }) = self.pending.remove(&result.id) else { continue };
            let mut text = result.text.clone();
            for said in more.iter().filter(|_| at == last) {
                text.push_str("\n\n");
                text.push_str(said);
            }
            // A connection that is gone needs no result: the program ends, or tries again.
            let _ = reply.send(ResultLine { number: line.number, text, is_error: result.is_error }).await;
        }
        self.pending.clear();
    }

    /// Waits for the next calls.
    pub(super) async fn next(&mut self, quiet: Duration) -> Result<TurnResponse, SessionEnd> {
        loop {
            let calls = self.next_calls(quiet).await?;
            let is_early = |call: &PendingCall| self.has_unseen && CONCLUDING.contains(&call.line.tool.as_str());
            let (early, calls): (Vec<_>, Vec<_>) = calls.into_iter().partition(is_early);
            for PendingCall { line, reply } in early {
                self.has_unseen = false;
                let _ = reply.send(ResultLine { number: line.number, text: NOT_SEEN.to_owned(), is_error: true }).await;
            }
            if !calls.is_empty() {
                return Ok(self.turn(calls));
            }
        }
    }

    async fn next_calls(&mut self, quiet: Duration) -> Result<Vec<PendingCall>, SessionEnd> {
        let first = tokio::select! {
            biased;
            Some(call) = self.calls.recv() => call,
            ended = &mut self.ended => return Err(self.end(ended)),
            () = tokio::time::sleep(quiet) => return Err(SessionEnd::Silent),
        };
        let mut calls = vec![first];
        // What a model asks for in one step arrives as several calls.
        while let Ok(Some(call)) = tokio::time::timeout(SAME_STEP, self.calls.recv()).await {
            calls.push(call);
            if calls.len() >= AHEAD {
                break;
            }
        }
        Ok(calls)
    }

    fn turn(&mut self, calls: Vec<PendingCall>) -> TurnResponse {
        let parts = calls.into_iter().map(|call| {
            self.made += 1;
            let id = format!("{}-{}", self.name, self.made);
            let (name, input) = (call.line.tool.clone(), ToolInput::Object(call.line.input.clone()));
            self.pending.insert(id.clone(), call);
            MessagePart::Call(ModelToolCall { id, name, input, signatures: Vec::new() })
        });
        let parts = parts.collect();
        TurnResponse { parts, stop: FinishReason::Calls, usage: TurnUsage::default() }.with_plain_names()
    }

    fn end(&self, ended: Result<Result<ProcessOutput, ProcessError>, oneshot::error::RecvError>) -> SessionEnd {
        match ended {
            Ok(Ok(output)) if output.success && (self.made > 0 || !self.offers_tools) => {
                SessionEnd::Said(text_of(&output.output))
            }
            Ok(Ok(output)) => {
                let end = |bytes: &[u8]| text_of(bytes.get(bytes.len().saturating_sub(LAST_WORDS)..).unwrap_or(bytes));
                let ends = [&output.errors, &output.output].map(|bytes| end(bytes));
                let said: Vec<&str> = ends.iter().map(|words| words.trim()).filter(|words| !words.is_empty()).collect();
                SessionEnd::Ended(output.code, said.join(" / "))
            }
            Ok(Err(error)) => SessionEnd::Failed(error),
            Err(_) => SessionEnd::Ended(None, String::new()),
        }
    }
}

impl std::fmt::Debug for AgentSession {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AgentSession").field("program", &self.program).field("made", &self.made).finish_non_exhaustive()
    }
}

/// Returns the results at the end of a request.
fn last_results(request: &TurnRequest) -> &[ToolResult] {
    let results = request.messages.iter().rev().find_map(|message| match message {
        Message::Results { results, .. } => Some(Some(results.as_slice())),
        Message::Assistant { .. } => Some(None),
        Message::User { .. } => None,
    });
    results.flatten().unwrap_or_default()
}

fn text_of(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Serves one connection of a bridge: its calls go to the session, and their results back.
async fn serve(stream: LocalStream, offered: Arc<OfferedTools>, calls: mpsc::Sender<PendingCall>) {
    let (reader, mut writer) = split(stream);
    if wire::write(&mut writer, &*offered).await.is_err() {
        return;
    }
    let (reply, mut results) = mpsc::channel::<ResultLine>(AHEAD);
    let receiving = async move {
        let mut reader = BufReader::new(reader);
        while let Some(line) = wire::read::<CallLine>(&mut reader).await {
            if calls.send(PendingCall { line, reply: reply.clone() }).await.is_err() {
                break;
            }
        }
    };
    let sending = async move {
        while let Some(result) = results.recv().await {
            if wire::write(&mut writer, &result).await.is_err() {
                break;
            }
        }
    };
    tokio::join!(receiving, sending);
}
