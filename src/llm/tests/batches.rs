//! Turns by message batch.

use std::collections::HashMap;
use std::net::Shutdown;
use std::path::Path;
use std::sync::{Mutex, MutexGuard};

use futures_util::future::join_all;
use serde_json::{Value, json};

use super::super::MessageBatches;
use super::*;
use crate::domain::batch::BatchSavings;

/// A request of a batch: its id and its body.
type Item = (String, Value);
/// Writes the results of a batch.
type Results = dyn Fn(&[Item]) -> String + Send + Sync;

/// A provider with a batch API.
struct BatchServer {
    address: String,
    state: Arc<Mutex<BatchServerState>>,
}

struct BatchServerState {
    /// The requests of each batch.
    batches: Vec<Vec<Item>>,
    files: HashMap<String, Vec<Item>>,
    canceled: Vec<String>,
    heads: Vec<String>,
    is_held: bool,
    has_batches: bool,
    results: Box<Results>,
}

impl BatchServer {
    fn new(results: impl Fn(&[Item]) -> String + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let state = Arc::new(Mutex::new(BatchServerState {
            batches: Vec::new(),
            files: HashMap::new(),
            canceled: Vec::new(),
            heads: Vec::new(),
            is_held: false,
            has_batches: true,
            results: Box::new(results),
        }));
        let shared = Arc::clone(&state);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let state = Arc::clone(&shared);
                std::thread::spawn(move || answer(stream.unwrap(), &state));
            }
        });
        Self { address, state }
    }

    fn state(&self) -> MutexGuard<'_, BatchServerState> {
        self.state.lock().unwrap()
    }

    fn provider(&self, name: &str, model: &str, batches: &MessageBatches) -> Box<dyn Provider> {
        let access = ProviderAccess {
            key: Some(Secret::new(KEY)),
            base_url: Some(self.address.clone()),
            batches: Some(batches.clone()),
            ..ProviderAccess::default()
        };
        connect(&row(name), model, &access).unwrap()
    }
}

fn answer(mut stream: TcpStream, state: &Mutex<BatchServerState>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut head = String::new();
    while reader.read_line(&mut head).unwrap_or_default() > 2 {}
    let length = head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length: ").map(str::to_owned));
    let mut body = vec![0; length.map_or(0, |length| length.trim().parse().unwrap())];
    reader.read_exact(&mut body).unwrap();
    let (status, reply) = state.lock().unwrap().reply(&head, &body);
    let kind = if reply.starts_with("data:") { "text/event-stream" } else { "application/json" };
    let _ = write!(
        stream,
        "HTTP/1.1 {status} Reason\r\nconnection: close\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n\r\n{reply}",
        reply.len()
    );
    let _ = stream.shutdown(Shutdown::Write);
}

impl BatchServerState {
    fn reply(&mut self, head: &str, body: &[u8]) -> (u16, String) {
        self.heads.push(head.to_lowercase());
        let mut words = head.split_whitespace();
        let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default().to_owned());
        let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
        let text = String::from_utf8_lossy(body);
        let items = |lines: &mut dyn Iterator<Item = Value>, body: &str| -> Vec<Item> {
            lines.map(|item| (item["custom_id"].as_str().unwrap().to_owned(), item[body].clone())).collect()
        };
        let at = |id: &str| id.rsplit('-').next().unwrap().parse::<usize>().unwrap();
        match (method, parts.as_slice()) {
            ("POST", ["v1", "messages"]) => (200, messages_stream()),
            _ if !self.has_batches => (404, json!({ "error": { "message": "no such page" } }).to_string()),
            ("POST", ["v1", "messages", "batches"]) => {
                let document: Value = serde_json::from_str(&text).unwrap();
                let found = items(&mut document["requests"].as_array().unwrap().iter().cloned(), "params");
                self.begin(found)
            }
            ("POST", ["files"]) => {
                assert!(text.contains("name=\"purpose\"\r\n\r\nbatch\r\n"), "{text}");
                let mut lines = text.lines().filter_map(|line| serde_json::from_str(line).ok());
                let id = format!("file-{}", self.files.len());
                let found = items(&mut lines, "body");
                self.files.insert(id.clone(), found);
                (200, json!({ "id": id, "object": "file", "purpose": "batch" }).to_string())
            }
            ("POST", ["batches"]) => {
                let document: Value = serde_json::from_str(&text).unwrap();
                assert_eq!(document["completion_window"], "24h");
                let found = self.files.remove(document["input_file_id"].as_str().unwrap()).unwrap();
                self.begin(found)
            }
            ("POST", [.., id, "cancel"]) => {
                self.canceled.push((*id).to_owned());
                (200, json!({ "id": id }).to_string())
            }
            ("GET", ["v1", "messages", "batches", id, "results"]) => (200, (self.results)(&self.batches[at(id)])),
            ("GET", ["v1", "messages", "batches", id]) => {
                let status = if self.is_held { "in_progress" } else { "ended" };
                let url = "http://127.0.0.1:1/elsewhere";
                (200, json!({ "id": id, "processing_status": status, "results_url": url }).to_string())
            }
            ("GET", ["batches", id]) => {
                let status = if self.is_held { "finalizing" } else { "completed" };
                let (out, errors) = (format!("out-{}", at(id)), format!("errors-{}", at(id)));
                (200, json!({ "id": id, "status": status, "output_file_id": out, "error_file_id": errors }).to_string())
            }
            ("GET", ["files", file, "content"]) => {
                let lines = (self.results)(&self.batches[at(file)]);
                let is_error = |line: &&str| line.contains("\"error\":{") || line.contains("\"status_code\":4");
                let wanted = lines.lines().filter(|line| is_error(line) == file.starts_with("errors"));
                (200, wanted.flat_map(|line| [line, "\n"]).collect())
            }
            other => panic!("{other:?}"),
        }
    }

    fn begin(&mut self, items: Vec<Item>) -> (u16, String) {
        if items.len() > 1 && items.iter().any(|(_, body)| body.to_string().contains("unbearable")) {
            return (400, json!({ "error": { "message": "requests: one is unbearable" } }).to_string());
        }
        self.batches.push(items);
        (200, json!({ "id": format!("batch-{}", self.batches.len() - 1) }).to_string())
    }
}

/// A message in the answer of a provider that has no batches.
fn messages_stream() -> String {
    let frames = [
        json!({ "type": "message_start", "message": { "usage": { "input_tokens": 1000, "output_tokens": 1 } } }),
        json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "text", "text": "streamed" } }),
        json!({ "type": "content_block_stop", "index": 0 }),
        json!({ "type": "message_delta", "delta": { "stop_reason": "end_turn" }, "usage": { "output_tokens": 100 } }),
        json!({ "type": "message_stop" }),
    ];
    frames.iter().flat_map(|frame| ["data: ".to_owned(), frame.to_string(), "\n\n".to_owned()]).collect()
}

fn message(text: &str) -> Value {
    json!({ "type": "message", "role": "assistant", "stop_reason": "end_turn", "content": [{ "type": "text", "text": text }],
        "usage": { "input_tokens": 1000, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 100 } })
}

/// The words that a request asks for.
fn wanted(body: &Value) -> String {
    let text = body.to_string();
    ["one", "two", "three"].into_iter().filter(|word| text.contains(&format!("say {word}"))).collect()
}

fn line(id: &str, result: Value) -> String {
    json!({ "custom_id": id, "result": result }).to_string() + "\n"
}

fn succeeded((id, body): &Item) -> String {
    line(id, json!({ "type": "succeeded", "message": message(&wanted(body)) }))
}

fn asking(word: &str) -> TurnRequest {
    let message = Message::User { text: format!("say {word}"), mark: true };
    TurnRequest { messages: vec![message], ..question() }
}

/// Collects warnings.
#[derive(Default)]
struct Warnings(Mutex<Vec<String>>);

impl StreamObserver for Warnings {
    fn grew(&self, _: u64) {}

    fn warns(&self, text: &str) {
        self.0.lock().unwrap().push(text.to_owned());
    }
}

fn batches(folder: &Path) -> MessageBatches {
    MessageBatches::new(folder.join("batches"), Some(Duration::from_millis(20)))
}

fn block_on<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
}

/// The texts of the answers to requests that are sent together.
async fn ask_all(provider: &dyn Provider, words: &[&str]) -> Vec<Result<String, TurnFault>> {
    let requests: Vec<TurnRequest> = words.iter().map(|word| asking(word)).collect();
    let turns = join_all(requests.iter().map(|request| provider.turn(request, QUIET, &()))).await;
    turns.into_iter().map(|turn| turn.map(|response| response.text())).collect()
}

fn ask_server(server: &BatchServer, name: &str, words: &[&str]) -> Vec<Result<String, TurnFault>> {
    let folder = tempfile::tempdir().unwrap();
    let batches = batches(folder.path());
    block_on(ask_all(server.provider(name, "a-model", &batches).as_ref(), words))
}

#[test]
fn turns_of_one_window_share_a_batch_at_half_the_price_and_results_come_in_any_order() {
    let server = BatchServer::new(|items| items.iter().rev().map(succeeded).collect());
    let folder = tempfile::tempdir().unwrap();
    let batches = batches(folder.path());
    let provider = server.provider("anthropic", "claude-sonnet-5-5", &batches);
    // Another review has a connection of its own and shares the round.
    let other = server.provider("anthropic", "claude-sonnet-5-5", &batches);
    let (requests, last) = ([asking("one"), asking("two")], asking("three"));
    let (turns, savings) = block_on(async {
        let mut turns: Vec<_> = requests.iter().map(|request| provider.turn(request, QUIET, &())).collect();
        turns.push(other.turn(&last, QUIET, &()));
        (join_all(turns).await, batches.finish().await)
    });
    let turns: Vec<TurnResponse> = turns.into_iter().map(Result::unwrap).collect();
    assert_eq!(turns.iter().map(TurnResponse::text).collect::<Vec<_>>(), ["one", "two", "three"]);
    // A thousand tokens at $2 a million and a hundred at $10, halved.
    assert!(turns.iter().all(|turn| turn.usage.cost == Some("0.0015".parse().unwrap())), "{turns:?}");
    let state = server.state();
    assert_eq!(state.batches.iter().map(Vec::len).collect::<Vec<_>>(), [3]);
    assert!(
        state.batches[0].iter().all(|(_, body)| body.get("stream").is_none() && body["model"] == "claude-sonnet-5-5")
    );
    assert!(
        state.heads.iter().all(|head| head.contains(KEY) && head.contains("anthropic-version")),
        "{:?}",
        state.heads
    );
    assert_eq!((savings.turns, savings.batches, savings.unknown_costs), (3, 1, 0));
    assert_eq!((savings.cost, savings.normal_cost), ("0.0045".parse().unwrap(), "0.009".parse().unwrap()));
    assert_eq!(savings.to_string(), "3 turns in 1 round of message batches cost $0.0045 instead of $0.009");
    assert_eq!(std::fs::read_dir(folder.path().join("batches")).unwrap().count(), 0, "nothing is left to be picked up");
}

type Spoil = Box<dyn Fn(&Item) -> String + Send + Sync>;

#[test]
fn one_bad_result_is_the_fault_of_its_turn_alone() {
    let twice = |item: &Item| succeeded(item) + &succeeded(item);
    let long = |(id, _): &Item| line(id, json!({ "type": "succeeded", "message": message(&"x".repeat(5 << 20)) }));
    let typed = |kind: &'static str| move |(id, _): &Item| line(id, json!({ "type": kind }));
    let failed = |kind: &'static str| {
        move |(id, _): &Item| {
            let error = json!({ "type": "error", "error": { "type": kind, "message": "not so" } });
            line(id, json!({ "type": "errored", "error": error }))
        }
    };
    let cases: Vec<(Spoil, &str, bool)> = vec![
        (Box::new(|_| String::new()), "has no result for it", true),
        (
            Box::new(|_| line("strange", json!({ "type": "succeeded", "message": message("no") }))),
            "has no result for it",
            true,
        ),
        (Box::new(twice), "two results for this request", false),
        (Box::new(long), "more than 4 MiB", false),
        (Box::new(|item| succeeded(item).split_at(30).0.to_owned() + "\n"), "no JSON", false),
        (Box::new(|_| "[[[[\n".to_owned()), "no JSON", false),
        (Box::new(|(id, _)| line(id, json!({ "type": "succeeded" }))), "ended before the answer did", true),
        (Box::new(typed("expired")), "answered 408", true),
        (Box::new(typed("canceled")), "answered 409", true),
        (Box::new(typed("blessed")), "\"blessed\"", false),
        (Box::new(failed("overloaded_error")), "answered 529: not so", true),
        (Box::new(failed("invalid_request_error")), "answered 400: not so", false),
        (Box::new(failed("strange_error")), "answered 500: not so", true),
    ];
    for (spoil, message, is_transient) in cases {
        let server = BatchServer::new(move |items| {
            let each = |item: &Item| if wanted(&item.1) == "two" { spoil(item) } else { succeeded(item) };
            items.iter().map(each).collect()
        });
        let answers = ask_server(&server, "anthropic", &["one", "two", "three"]);
        assert_eq!((answers[0].as_deref(), answers[2].as_deref()), (Ok("one"), Ok("three")), "{message}");
        let fault = answers[1].clone().unwrap_err();
        assert!(fault.to_string().contains(message), "{fault} has no {message:?}");
        assert_eq!(fault.is_transient(), is_transient, "{fault}");
    }
}

#[test]
fn openai_answers_in_two_files_with_either_api() {
    let result = |(id, body): &Item| {
        let text = wanted(body);
        let done = if body.get("input").is_some() {
            json!({ "object": "response", "status": "completed", "usage": { "input_tokens": 1000, "output_tokens": 100 },
                "output": [{ "type": "message", "content": [{ "type": "output_text", "text": text }] }] })
        } else {
            json!({ "object": "chat.completion", "usage": { "prompt_tokens": 1000, "completion_tokens": 100 },
                "choices": [{ "index": 0, "message": { "role": "assistant", "content": text }, "finish_reason": "stop" }] })
        };
        let document = match text.as_str() {
            "two" => {
                json!({ "custom_id": id, "response": null, "error": { "code": "batch_expired", "message": "late" } })
            }
            "three" => {
                let body = json!({ "error": { "message": "not so", "type": "invalid_request_error" } });
                json!({ "custom_id": id, "response": { "status_code": 400, "body": body }, "error": null })
            }
            _ => json!({ "custom_id": id, "response": { "status_code": 200, "body": done }, "error": null }),
        };
        document.to_string() + "\n"
    };
    for name in ["openai", "openai-chat"] {
        let server = BatchServer::new(move |items| items.iter().rev().map(result).collect());
        let answers = ask_server(&server, name, &["one", "two", "three"]);
        assert_eq!(answers[0].as_deref(), Ok("one"), "{name}");
        let faults: Vec<String> = answers[1..].iter().map(|answer| answer.clone().unwrap_err().to_string()).collect();
        assert!(faults[0].contains("answered 408") && faults[1].contains("answered 400: not so"), "{name}: {faults:?}");
        let state = server.state();
        assert!(
            state.batches[0]
                .iter()
                .all(|(_, body)| body.get("stream").is_none() && body.get("stream_options").is_none())
        );
    }
}

#[test]
fn a_batch_that_was_submitted_before_a_crash_is_not_paid_again() {
    let server = BatchServer::new(|items| items.iter().map(succeeded).collect());
    server.state().is_held = true;
    let folder = tempfile::tempdir().unwrap();
    let records = || std::fs::read_dir(folder.path().join("batches")).map_or(0, Iterator::count);
    block_on(async {
        let first = batches(folder.path());
        let provider = server.provider("anthropic", "a-model", &first);
        let crash = async {
            while records() == 0 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::select! {
            answers = ask_all(provider.as_ref(), &["one", "two"]) => panic!("{answers:?}"),
            () = crash => {}
        }
    });
    server.state().is_held = false;
    let answers = ask_server_in(&server, folder.path(), &["two", "three"]);
    assert_eq!(answers, [Ok("two".to_owned()), Ok("three".to_owned())]);
    // What is left of the first batch is there for whoever asks for it next.
    assert_eq!(ask_server_in(&server, folder.path(), &["one"]), [Ok("one".to_owned())]);
    let sizes: Vec<usize> = server.state().batches.iter().map(Vec::len).collect();
    assert_eq!(sizes, [2, 1], "each request was paid once");
}

fn ask_server_in(server: &BatchServer, folder: &Path, words: &[&str]) -> Vec<Result<String, TurnFault>> {
    let batches = batches(folder);
    block_on(ask_all(server.provider("anthropic", "a-model", &batches).as_ref(), words))
}

#[test]
fn a_batch_is_canceled_when_nobody_waits_for_it_and_not_before() {
    let server = BatchServer::new(|items| items.iter().map(succeeded).collect());
    server.state().is_held = true;
    let folder = tempfile::tempdir().unwrap();
    let batches = batches(folder.path());
    let provider = server.provider("anthropic", "a-model", &batches);
    let (one, two) = (asking("one"), asking("two"));
    // Until the batch was asked for so often.
    let polled = async |more: usize| {
        let polls = || server.state().heads.iter().filter(|head| head.starts_with("get")).count();
        let before = polls();
        while polls() < before + more {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    block_on(async {
        let first = provider.turn(&one, QUIET, &());
        let mut second = provider.turn(&two, QUIET, &());
        tokio::select! {
            _ = first => panic!("it is held"),
            _ = &mut second => panic!("it is held"),
            () = polled(1) => {}
        }
        // The first one is dropped.
        tokio::select! {
            _ = &mut second => panic!("it is held"),
            () = polled(2) => {}
        }
        assert!(server.state().canceled.is_empty());
        drop(second);
        batches.finish().await;
    });
    assert_eq!(server.state().canceled, ["batch-0"]);
    // The answers that it had are there for a review that is resumed.
    server.state().is_held = false;
    assert_eq!(ask_server_in(&server, folder.path(), &["two"]), [Ok("two".to_owned())]);
    assert_eq!(server.state().batches.len(), 1);
}

#[test]
fn a_provider_without_batches_is_asked_turn_by_turn_and_named() {
    let server = BatchServer::new(|_| String::new());
    server.state().has_batches = false;
    let folder = tempfile::tempdir().unwrap();
    let batches = batches(folder.path());
    let provider = server.provider("anthropic", "claude-sonnet-5-5", &batches);
    let watch = Warnings::default();
    let (one, two) = (asking("one"), asking("two"));
    block_on(async {
        for request in [&one, &two] {
            let response = provider.turn(request, QUIET, &watch).await.unwrap();
            assert_eq!((response.text().as_str(), response.usage.cost), ("streamed", Some("0.0035".parse().unwrap())));
        }
        assert_eq!(batches.finish().await, BatchSavings::default());
    });
    let warnings = watch.0.into_inner().unwrap();
    assert!(warnings.iter().all(|text| text.starts_with("anthropic has no message batches")), "{warnings:?}");
    let submits = server.state().heads.iter().filter(|head| head.contains("/batches")).count();
    assert_eq!(submits, 1, "it is asked for batches once");
}

#[test]
fn a_request_for_which_a_whole_batch_is_refused_is_found() {
    let server = BatchServer::new(|items| {
        let refusal = json!({ "type": "errored", "error": { "type": "invalid_request_error", "message": "no" } });
        let is_refused = |item: &Item| item.1.to_string().contains("unbearable");
        let each = |item: &Item| if is_refused(item) { line(&item.0, refusal.clone()) } else { succeeded(item) };
        items.iter().map(each).collect()
    });
    let answers = ask_server(&server, "anthropic", &["one", "unbearable", "two", "three"]);
    let texts: Vec<_> = answers.iter().map(|answer| answer.as_deref().unwrap_or("-")).collect();
    assert_eq!(texts, ["one", "-", "two", "three"]);
    assert_eq!(server.state().batches.iter().map(Vec::len).sum::<usize>(), 4);
}

#[test]
fn a_batch_api_that_says_nothing_sensible_ends_in_a_fault() {
    for (reply, message) in [
        (ServerReply::status(200, "", "{}"), "id is no id"),
        (ServerReply::status(200, "", "{\"id\":\"../../files\"}"), "id is no id"),
        (ServerReply::status(200, "", "<html>"), "is no JSON"),
        (ServerReply::status(200, "", &" ".repeat(2 << 20)), "more than 1 MiB"),
        (ServerReply::status(401, "", "{\"error\":{\"message\":\"who?\"}}"), "answered 401: who?"),
        (ServerReply::status(429, "", "{\"error\":{\"message\":\"slow\"}}"), "answered 429: slow"),
    ] {
        let server = ScriptedServer::new(vec![reply]);
        let folder = tempfile::tempdir().unwrap();
        let access = ProviderAccess {
            key: Some(Secret::new(KEY)),
            base_url: Some(server.address.clone()),
            batches: Some(batches(folder.path())),
            ..ProviderAccess::default()
        };
        let provider = connect(&row("anthropic"), "a-model", &access).unwrap();
        let fault = block_on(provider.turn(&question(), QUIET, &())).unwrap_err().to_string();
        assert!(fault.contains(message), "{fault} has no {message:?}");
    }
}
