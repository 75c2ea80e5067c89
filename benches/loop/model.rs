//! The model that answers at once: a server that speaks chat completions, streamed or not. Main types: [`Model`], [`Script`].

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse as _, Response};
use axum::routing::post;
use serde_json::{Value, json};

use crate::tally::Tally;

/// What the model does before it ends without a finding.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Script {
    /// It reads the diffs that it was not shown, ten a turn.
    Cover,
    /// It makes sixty calls, three a turn.
    Look,
}

/// Turns with calls in the script `look`.
const TURNS: usize = 20;
/// Calls in each.
const CALLS: usize = 3;
/// Turns after which the script `cover` gives up on what it still was not shown.
const MOST_TURNS: usize = 30;

impl Script {
    pub(crate) fn named(word: &str) -> Option<Self> {
        [Self::Cover, Self::Look].into_iter().find(|script| script.name() == word)
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Cover => "cover",
            Self::Look => "look",
        }
    }
}

/// The server. It lives as long as this.
pub(crate) struct Model {
    pub address: SocketAddr,
    shared: Arc<Mutex<Shared>>,
    _runtime: tokio::runtime::Runtime,
}

struct Shared {
    script: Script,
    changed: Vec<(String, usize, usize)>,
    /// Turns of three calls that the peer's model has taken, and may take in each conversation.
    looked: usize,
    each: usize,
    tally: Tally,
}

/// What the model says: calls, or a text.
enum Answer {
    Calls(Vec<(&'static str, Value)>),
    Text(String),
}

impl Model {
    pub(crate) fn start() -> Result<Self, String> {
        let fault = |error: std::io::Error| error.to_string();
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().map_err(fault)?;
        let shared = Arc::new(Mutex::new(Shared::new(Script::Cover, &[])));
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).map_err(fault)?;
        let address = listener.local_addr().map_err(fault)?;
        let routes = axum::Router::new()
            .route("/v1/chat/completions", post(complete))
            .layer(DefaultBodyLimit::disable())
            .with_state(Arc::clone(&shared));
        runtime.spawn(async move { axum::serve(listener, routes).await });
        Ok(Self { address, shared, _runtime: runtime })
    }

    /// The base address, as the official library of this wire takes it.
    pub(crate) fn base(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Begins to count anew.
    pub(crate) fn begin(&self, script: Script, changed: &[(String, usize, usize)]) {
        *lock(&self.shared) = Shared::new(script, changed);
    }

    /// What arrived since.
    pub(crate) fn end(&self) -> Tally {
        std::mem::take(&mut lock(&self.shared).tally)
    }
}

fn lock(shared: &Mutex<Shared>) -> std::sync::MutexGuard<'_, Shared> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn complete(State(shared): State<Arc<Mutex<Shared>>>, body: Bytes) -> Response {
    let Ok(asked) = serde_json::from_slice::<Value>(&body) else {
        return (axum::http::StatusCode::BAD_REQUEST, "no JSON").into_response();
    };
    let mut shared = lock(&shared);
    shared.tally.count(&body, &asked);
    let answer = shared.answer(&asked);
    let number = shared.tally.requests;
    drop(shared);
    let (message, reason) = answer.message(number);
    let tokens = body.len() / 4;
    let usage = json!({ "prompt_tokens": tokens, "completion_tokens": 20, "total_tokens": tokens + 20 });
    let head = json!({ "id": format!("chatcmpl-{number}"), "created": 1, "model": "instant" });
    if asked["stream"] == Value::Bool(true) {
        return ([(CONTENT_TYPE, "text/event-stream")], stream(&head, message, reason, &usage)).into_response();
    }
    let choice = json!({ "index": 0, "message": message, "finish_reason": reason });
    let whole = with(&head, &json!({ "object": "chat.completion", "choices": [choice], "usage": usage }));
    ([(CONTENT_TYPE, "application/json")], whole.to_string()).into_response()
}

fn stream(head: &Value, mut message: Value, reason: &str, usage: &Value) -> String {
    let calls = message.get_mut("tool_calls").and_then(Value::as_array_mut);
    for (n, call) in calls.into_iter().flatten().enumerate() {
        call["index"] = n.into();
    }
    let piece = |choices: Value, usage: &Value| {
        let piece = json!({ "object": "chat.completion.chunk", "choices": choices, "usage": usage });
        format!("data: {}\n\n", with(head, &piece))
    };
    let said = piece(json!([{ "index": 0, "delta": message, "finish_reason": null }]), &Value::Null);
    let ended = piece(json!([{ "index": 0, "delta": {}, "finish_reason": reason }]), &Value::Null);
    format!("{said}{ended}{}data: [DONE]\n\n", piece(json!([]), usage))
}

fn with(head: &Value, rest: &Value) -> Value {
    let fields = [head, rest].into_iter().filter_map(Value::as_object).flatten();
    Value::Object(fields.map(|(key, value)| (key.clone(), value.clone())).collect())
}

impl Answer {
    fn message(&self, number: usize) -> (Value, &'static str) {
        match self {
            Self::Text(text) => (json!({ "role": "assistant", "content": text }), "stop"),
            Self::Calls(calls) => {
                let calls = calls.iter().enumerate().map(|(n, (name, input))| {
                    let function = json!({ "name": name, "arguments": input.to_string() });
                    json!({ "id": format!("call_{number}_{n}"), "type": "function", "function": function })
                });
                (json!({ "role": "assistant", "content": null, "tool_calls": calls.collect::<Vec<_>>() }), "tool_calls")
            }
        }
    }
}

impl Shared {
    fn new(script: Script, changed: &[(String, usize, usize)]) -> Self {
        Self { script, changed: changed.to_vec(), looked: 0, each: 1, tally: Tally::default() }
    }

    fn answer(&mut self, asked: &Value) -> Answer {
        let messages = asked["messages"].as_array().map_or(&[][..], Vec::as_slice);
        let spoken = messages.iter().filter(|message| message["role"] == "assistant").count();
        let offers = |name: &str| {
            asked["tools"].as_array().is_some_and(|tools| tools.iter().any(|tool| tool["function"]["name"] == name))
        };
        let calls = if offers("finish_review") {
            let may_read = offers("read_diff");
            let calls = if may_read { self.our_calls(spoken) } else { Vec::new() };
            let end = json!({ "summary": "Bounds the steps.", "no_findings_reason": "The bounds are never read." });
            if calls.is_empty() { vec![("finish_review", end)] } else { calls }
        } else if offers("task_done") {
            let calls = self.peers_calls(spoken);
            if calls.is_empty() { vec![("task_done", json!({ "state": "DONE" }))] } else { calls }
        } else {
            let groups = grouped(messages.last().and_then(|message| message["content"].as_str()).unwrap_or(""));
            if !groups.is_empty() {
                self.each = TURNS.div_ceil(groups.len());
            }
            return Answer::Text(Value::Array(groups).to_string());
        };
        self.tally.tool_calls += calls.len();
        Answer::Calls(calls)
    }

    fn our_calls(&mut self, spoken: usize) -> Vec<(&'static str, Value)> {
        match self.script {
            Script::Cover if spoken < MOST_TURNS => {
                let tally = &mut self.tally;
                let unseen = self.changed.iter().enumerate().filter(|(n, (_, first, end))| {
                    !tally.asked_for.contains(n) && (*first..*end).any(|marker| !tally.seen.contains(&marker))
                });
                let unseen: Vec<usize> = unseen.map(|(n, _)| n).take(10).collect();
                tally.asked_for.extend(&unseen);
                unseen.into_iter().map(|n| ("read_diff", json!({ "file_path": self.changed[n].0 }))).collect()
            }
            Script::Look if spoken < TURNS => {
                let path = |call: usize| self.path(spoken * CALLS + call);
                vec![
                    ("read_file_part", json!({ "file_path": path(0), "start_line": 1, "end_line": 120 })),
                    ("read_diff", json!({ "file_path": path(1) })),
                    ("search_in_files", json!({ "pattern": format!("step_?{spoken}0"), "max_results": 20 })),
                ]
            }
            Script::Cover | Script::Look => Vec::new(),
        }
    }

    /// The same calls, in the words of the peer, spread over its conversations.
    fn peers_calls(&mut self, spoken: usize) -> Vec<(&'static str, Value)> {
        let turn = self.looked;
        if self.script == Script::Cover || spoken >= self.each || turn >= TURNS {
            return Vec::new();
        }
        self.looked += 1;
        let path = |call: usize| self.path(turn * CALLS + call);
        vec![
            ("file_read", json!({ "file_path": path(0), "start_line": 1, "end_line": 120 })),
            ("file_read_diff", json!({ "path_array": [path(1)] })),
            ("code_search", json!({ "search_text": format!("step_?{turn}0"), "use_perl_regexp": true })),
        ]
    }

    /// Some changed file, spread over all.
    fn path(&self, call: usize) -> &str {
        &self.changed[call * 7919 % self.changed.len()].0
    }
}

/// The answer to "group these files": lines like `[3] MODIFIED area/file.rs (+1/-2)` become groups of a folder, ten files at most.
fn grouped(text: &str) -> Vec<Value> {
    let mut groups: Vec<(String, Vec<usize>)> = Vec::new();
    for line in text.lines() {
        let Some((number, rest)) = line.strip_prefix('[').and_then(|line| line.split_once(']')) else { continue };
        let (Ok(number), Some(path)) = (number.parse::<usize>(), rest.split_whitespace().nth(1)) else { continue };
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        match groups.iter_mut().find(|(name, files)| name == folder && files.len() < 10) {
            Some((_, files)) => files.push(number),
            None => groups.push((folder.to_owned(), vec![number])),
        }
    }
    groups.into_iter().map(|(label, files)| json!({ "label": label, "files": files })).collect()
}
