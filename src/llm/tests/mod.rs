//! A provider against a scripted server: the requests sent, and the parsed responses.
#![expect(
    clippy::needless_pass_by_value,
    reason = "`json!` makes values, and the tests read better without borrowing each"
)]

mod batches;
mod chat;
mod cut;
mod faults;
mod gemini;
mod keep_alive;
mod limits;
mod messages;
mod odd;
mod ollama;
mod responses;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::{
    FinishReason, Message, MessagePart, ModelToolCall, Provider, ProviderAccess, ProviderRow, ProviderTable,
    StreamObserver, ToolChoice, ToolDefinition, ToolInput, ToolResult, TurnFault, TurnRequest, TurnResponse, TurnUsage,
    connect,
};
use crate::domain::secret::Secret;

const KEY: &str = "sk-test-0123456789";
const QUIET: Duration = Duration::from_secs(20);

/// An answer of the server.
pub(super) struct ServerReply {
    head: String,
    body: String,
    end: ServerEnding,
}

/// End of a response.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ServerEnding {
    /// The connection is closed, as if the body were whole.
    Close,
    /// The connection is closed within the body.
    Break,
    /// No more data arrives.
    Hang,
}

impl ServerReply {
    pub(super) fn status(status: u16, headers: &str, body: &str) -> Self {
        let head = format!("HTTP/1.1 {status} Some Reason\r\nconnection: close\r\n{headers}");
        Self { head, body: body.to_owned(), end: ServerEnding::Close }
    }

    /// Server-sent events, one for each value.
    pub(super) fn events(frames: &[Value]) -> Self {
        let named = |frame: &Value| match frame["type"].as_str() {
            Some(name) => format!("event: {name}\ndata: {frame}\n\n"),
            None => format!("data: {frame}\n\n"),
        };
        Self::status(200, "content-type: text/event-stream\r\n", &frames.iter().map(named).collect::<String>())
    }

    pub(super) fn lines(frames: &[Value]) -> Self {
        Self::status(
            200,
            "content-type: application/x-ndjson\r\n",
            &frames.iter().map(|frame| frame.to_string() + "\n").collect::<String>(),
        )
    }

    pub(super) fn and(mut self, more: &str) -> Self {
        self.body.push_str(more);
        self
    }

    pub(super) fn breaking(mut self) -> Self {
        self.end = ServerEnding::Break;
        self
    }

    pub(super) fn hanging(mut self) -> Self {
        self.end = ServerEnding::Hang;
        self
    }
}

/// Requests that the server received.
pub(super) struct SeenRequest {
    /// The first line and the headers.
    pub(super) head: String,
    pub(super) body: Value,
}

pub(super) struct ScriptedServer {
    pub(super) address: String,
    seen: Receiver<SeenRequest>,
}

impl ScriptedServer {
    /// Answers one request with each reply, in order.
    pub(super) fn new(replies: Vec<ServerReply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let (tell, seen) = channel();
        std::thread::spawn(move || {
            for reply in replies {
                let (stream, _) = listener.accept().unwrap();
                let tell = tell.clone();
                std::thread::spawn(move || serve(stream, &reply, &tell));
            }
        });
        Self { address, seen }
    }

    pub(super) fn seen(&self) -> SeenRequest {
        self.seen.recv_timeout(QUIET).expect("the server was asked")
    }

    /// Checks whether the server received no further request.
    pub(super) fn is_done(&self) -> bool {
        self.seen.try_recv().is_err()
    }
}

fn serve(mut stream: TcpStream, reply: &ServerReply, tell: &Sender<SeenRequest>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut head = String::new();
    while reader.read_line(&mut head).unwrap() > 2 {}
    let head = head.to_lowercase();
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "))
        .map_or(0, |length| length.trim().parse().unwrap());
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let _ = tell.send(SeenRequest { head, body: serde_json::from_slice(&body).unwrap_or_default() });
    // A body of unknown length ends with the connection; one that is cut short says so by its length.
    let length = if reply.end == ServerEnding::Break {
        format!("content-length: {}\r\n", reply.body.len() + 1000)
    } else {
        String::new()
    };
    let _ = write!(stream, "{}{length}\r\n", reply.head);
    // Two pieces, so that an event is split somewhere.
    let (first, second) = reply.body.split_at(reply.body.floor_char_boundary(reply.body.len() / 2));
    let _ = stream.write_all(first.as_bytes()).and_then(|()| stream.flush());
    let _ = stream.write_all(second.as_bytes()).and_then(|()| stream.flush());
    if reply.end == ServerEnding::Hang {
        // Until the client gives up.
        let _ = stream.read(&mut [0; 1]);
    }
}

#[derive(Default)]
pub(super) struct GrowthRecorder(AtomicU64);

impl StreamObserver for GrowthRecorder {
    fn grew(&self, bytes: u64) {
        self.0.store(bytes, Ordering::Relaxed);
    }
}

/// A row of the built-in table.
pub(super) fn row(name: &str) -> Arc<ProviderRow> {
    Arc::clone(ProviderTable::built_in().unwrap().find(name).unwrap())
}

pub(super) fn provider(name: &str, model: &str, address: &str) -> Box<dyn Provider> {
    let access =
        ProviderAccess { key: Some(Secret::new(KEY)), base_url: Some(address.to_owned()), ..ProviderAccess::default() };
    connect(&row(name), model, &access).unwrap()
}

pub(super) fn wait(
    provider: &dyn Provider,
    request: &TurnRequest,
    quiet: Duration,
) -> (Result<TurnResponse, TurnFault>, u64) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let grown = GrowthRecorder::default();
    let answer = runtime.block_on(provider.turn(request, quiet, &grown));
    (answer, grown.0.load(Ordering::Relaxed))
}

/// Asks once.
pub(super) fn ask(
    name: &str,
    reply: ServerReply,
    request: &TurnRequest,
) -> (Result<TurnResponse, TurnFault>, SeenRequest) {
    let server = ScriptedServer::new(vec![reply]);
    let (answer, _) = wait(provider(name, "a-model", &server.address).as_ref(), request, QUIET);
    (answer, server.seen())
}

/// A conversation of one message.
pub(super) fn question() -> TurnRequest {
    TurnRequest {
        system: "You review.".to_owned(),
        tools: vec![ToolDefinition {
            name: "read".to_owned(),
            description: "Reads a file.".to_owned(),
            schema: json!({ "$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Read", "type": "object",
                "additionalProperties": false, "properties": { "path": { "type": "string" } }, "required": ["path"] }),
        }],
        choice: ToolChoice::Auto,
        messages: vec![Message::User { text: "The change.".to_owned(), mark: true }],
        max_output: 1000,
        speech: crate::llm::ToolCallFormat::Native,
        grammar: String::new(),
    }
}

/// The next question: what the model said, and a result for each of its calls.
pub(super) fn follow_up(answer: &TurnResponse) -> TurnRequest {
    let mut request = question();
    let results = answer.calls().map(|call| ToolResult {
        id: call.id.clone(),
        name: call.name.clone(),
        text: format!("result of {}", call.id),
        is_error: false,
    });
    request.messages.push(Message::Assistant { parts: answer.parts.clone() });
    request.messages.push(Message::Results { results: results.collect(), mark: true });
    request
}

/// Returns the body of the second request, after a response and its results.
pub(super) fn sent_back(name: &str, model: &str, answer: &TurnResponse) -> Value {
    let server = ScriptedServer::new(vec![ServerReply::status(500, "", "")]);
    let _ = wait(provider(name, model, &server.address).as_ref(), &follow_up(answer), QUIET);
    server.seen().body
}

pub(super) fn text(text: &str) -> MessagePart {
    MessagePart::Text { text: text.to_owned() }
}

pub(super) fn call(id: &str, name: &str, input: &Value) -> MessagePart {
    let input: Map<String, Value> = input.as_object().unwrap().clone();
    MessagePart::Call(ModelToolCall {
        id: id.to_owned(),
        name: name.to_owned(),
        input: ToolInput::Object(input),
        signatures: Vec::new(),
    })
}

pub(super) fn usage(input: u64, output: u64, cache_read: Option<u64>, cache_write: Option<u64>) -> TurnUsage {
    TurnUsage { input: Some(input), output: Some(output), cache_read, cache_write, cost: None }
}

/// The answer that every wire format gives to the same tale: a text and two calls.
pub(super) fn tale(answer: &TurnResponse, first: &str, second: &str) {
    assert_eq!(
        answer.parts.iter().filter(|part| !matches!(part, MessagePart::Opaque { .. })).cloned().collect::<Vec<_>>(),
        [
            text("I will look – twice."),
            call(first, "read", &json!({ "path": "a" })),
            call(second, "read", &json!({ "path": "b" }))
        ]
    );
    assert_eq!(answer.stop, FinishReason::Calls);
}
