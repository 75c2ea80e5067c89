//! The model with a fixed time for a turn: a server that streams chat completions. Main type: [`Model`].

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse as _, Response};
use axum::routing::post;
use serde_json::{Value, json};
use tokio::time::Instant;

/// A message of the model in the body of a request; in the text of others, the quotes are escaped.
const SPOKEN: &[u8] = br#""role":"assistant""#;

/// The server. It lives as long as this.
pub(crate) struct Model {
    address: SocketAddr,
    script: Arc<Script>,
    _runtime: tokio::runtime::Runtime,
}

/// The script of every review.
struct Script {
    turns: usize,
    turn: Duration,
    /// The files that it reads from.
    files: Vec<String>,
    /// The number of requests.
    taken: AtomicUsize,
    /// The microseconds between requests and their responses, added up: a busy machine wakes a timer late.
    held: AtomicU64,
}

impl Model {
    pub(crate) fn start(turns: usize, turn: Duration, files: Vec<String>) -> Result<Self, String> {
        let fault = |error: std::io::Error| error.to_string();
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().map_err(fault)?;
        let script = Arc::new(Script { turns, turn, files, taken: AtomicUsize::new(0), held: AtomicU64::new(0) });
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).map_err(fault)?;
        let address = listener.local_addr().map_err(fault)?;
        let routes = axum::Router::new()
            .route("/v1/chat/completions", post(complete))
            .layer(DefaultBodyLimit::disable())
            .with_state(Arc::clone(&script));
        runtime.spawn(async move { axum::serve(listener, routes).await });
        Ok(Self { address, script, _runtime: runtime })
    }

    /// The base address, as the official library of this wire takes it.
    pub(crate) fn base(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Returns the number of turns since the last call, and the time that all of them took.
    pub(crate) fn take_turns(&self) -> (usize, Duration) {
        let held = Duration::from_micros(self.script.held.swap(0, Ordering::Relaxed));
        (self.script.taken.swap(0, Ordering::Relaxed), held)
    }
}

async fn complete(State(script): State<Arc<Script>>, body: Bytes) -> Response {
    let begun = Instant::now();
    let number = script.taken.fetch_add(1, Ordering::Relaxed);
    let spoken = memchr::memmem::find_iter(&body, SPOKEN).count();
    let (name, input) = if spoken + 1 < script.turns {
        let file = &script.files[number * 7919 % script.files.len()];
        ("read_file_part", json!({ "file_path": file, "start_line": 1, "end_line": 80 }))
    } else {
        ("finish_review", json!({ "summary": "It was read.", "no_findings_reason": "Nothing is wrong with it." }))
    };
    let function = json!({ "name": name, "arguments": input.to_string() });
    let call = json!({ "index": 0, "id": format!("call_{number}"), "type": "function", "function": function });
    let delta = json!({ "role": "assistant", "content": null, "tool_calls": [call] });
    let usage =
        json!({ "prompt_tokens": body.len() / 4, "completion_tokens": 20, "total_tokens": body.len() / 4 + 20 });
    let piece = |choices: Value, usage: &Value| {
        let head = json!({
            "id": "c", "created": 1, "model": "scripted", "object": "chat.completion.chunk", "choices": choices,
            "usage": usage,
        });
        format!("data: {head}\n\n")
    };
    let said = piece(json!([{ "index": 0, "delta": delta, "finish_reason": null }]), &Value::Null);
    let ended = piece(json!([{ "index": 0, "delta": {}, "finish_reason": "tool_calls" }]), &Value::Null);
    let answer = format!("{said}{ended}{}data: [DONE]\n\n", piece(json!([]), &usage));
    // A timer of the runtime wakes up to two milliseconds late, which is a twentieth of a turn; the system's does not.
    let rest = (begun + script.turn).saturating_duration_since(Instant::now());
    let _ = tokio::task::spawn_blocking(move || std::thread::sleep(rest)).await;
    script.held.fetch_add(u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX), Ordering::Relaxed);
    ([(CONTENT_TYPE, "text/event-stream")], answer).into_response()
}
