//! A client of the language server that speaks the protocol by hand: frames, answers to the server's requests, deadlines. Main type:
//! [`Editor`].
//!
//! Whoever waits here waits for [`PATIENCE`] at most: a server that hangs fails the test.

use std::collections::{HashMap, VecDeque};
use std::io::{BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::Program;

pub const PATIENCE: Duration = Duration::from_mins(2);

/// The capabilities of a client that does nearly everything but ask for diagnostics.
pub fn pushed() -> Value {
    json!({
        "general": { "positionEncodings": ["utf-16"] },
        "window": { "workDoneProgress": true, "showDocument": { "support": true } },
        "workspace": { "applyEdit": true, "workspaceFolders": true, "workspaceEdit": { "documentChanges": true } },
        "textDocument": {
            "hover": { "contentFormat": ["markdown"] },
            "codeAction": { "codeActionLiteralSupport": { "codeActionKind": { "valueSet": ["quickfix"] } } },
            "publishDiagnostics": { "relatedInformation": true },
        },
    })
}

/// One that asks for diagnostics too.
pub fn pulling() -> Value {
    let mut all = pushed();
    all["textDocument"]["diagnostic"] = json!({});
    all["workspace"]["diagnostics"] = json!({ "refreshSupport": true });
    all
}

/// The URI of a file or folder.
pub fn uri(path: &Path) -> String {
    format!("file://{}", path.display())
}

/// An editor with a server of its own, which is ended when dropped.
pub struct Editor {
    child: Child,
    input: Option<std::process::ChildStdin>,
    messages: Receiver<Value>,
    last_id: i64,
    /// The notifications and requests of the server that were not waited for yet.
    heard: VecDeque<Value>,
    /// The answers to requests of the server, by method; null to any other.
    pub answers: HashMap<&'static str, Value>,
    /// The newest published diagnostics, by URI.
    pub published: HashMap<String, Vec<Value>>,
}

impl Editor {
    /// Starts a server, and sends nothing.
    pub fn start(program: &Program, words: &str) -> Self {
        let words = ["lsp"].into_iter().chain(words.split_whitespace());
        let mut child = program.command(words).stdin(Stdio::piped()).spawn().expect("the server starts");
        let input = child.stdin.take();
        let mut stdout = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut stderr = child.stderr.take().expect("a pipe");
        let (sender, messages) = channel();
        std::thread::spawn(move || {
            while let Some(message) = read(&mut stdout) {
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
        std::thread::spawn(move || std::io::copy(&mut stderr, &mut std::io::sink()));
        let (heard, answers, published) = (VecDeque::new(), HashMap::new(), HashMap::new());
        Self { child, input, messages, last_id: 0, heard, answers, published }
    }

    /// Starts a server and opens folders.
    pub fn open(program: &Program, words: &str, folders: &[&Path], capabilities: &Value) -> Self {
        let mut editor = Self::start(program, words);
        let folders: Vec<Value> = folders.iter().map(|path| json!({ "uri": uri(path), "name": "x" })).collect();
        let params =
            json!({ "processId": null, "rootUri": null, "capabilities": capabilities, "workspaceFolders": folders });
        editor.request("initialize", params);
        editor.notify("initialized", json!({}));
        editor
    }

    /// Sends bytes as they are.
    pub fn send_bytes(&mut self, bytes: &[u8]) {
        let input = self.input.as_mut().expect("the input is open");
        // A server that is gone is noticed by whoever waits for its answer.
        let _ = input.write_all(bytes).and_then(|()| input.flush());
    }

    /// Sends a message.
    pub fn send(&mut self, message: &Value) {
        let body = message.to_string();
        self.send_bytes(format!("Content-Length: {}\r\n\r\n{body}", body.len()).as_bytes());
    }

    pub fn notify(&mut self, method: &str, params: Value) {
        let mut message = json!({ "jsonrpc": "2.0", "method": method });
        message["params"] = params;
        self.send(&message);
    }

    /// Sends a request and returns its result.
    #[track_caller]
    pub fn request(&mut self, method: &str, params: Value) -> Value {
        let answer = self.exchange(method, params);
        assert!(answer.get("error").is_none(), "{method}: {answer}");
        answer["result"].clone()
    }

    /// Sends a request and returns the code and the message of its error.
    #[track_caller]
    pub fn error(&mut self, method: &str, params: Value) -> (i64, String) {
        let answer = self.exchange(method, params);
        let text = answer["error"]["message"].as_str().unwrap_or_else(|| panic!("{method}: {answer}"));
        (answer["error"]["code"].as_i64().expect("a code"), text.to_owned())
    }

    fn exchange(&mut self, method: &str, params: Value) -> Value {
        let id = self.begin(method, params);
        self.answer_to(&id)
    }

    /// Sends a request, without waiting.
    pub fn begin(&mut self, method: &str, params: Value) -> Value {
        self.last_id += 1;
        let id = json!(self.last_id);
        let mut message = json!({ "jsonrpc": "2.0", "id": id, "method": method });
        message["params"] = params;
        self.send(&message);
        id
    }

    /// Waits for the response with an id.
    pub fn answer_to(&mut self, id: &Value) -> Value {
        loop {
            let message = self.next();
            if message.get("method").is_none() && message["id"] == *id {
                return message;
            }
            self.hear(message);
        }
    }

    /// The next message of any kind.
    pub fn next(&mut self) -> Value {
        self.messages.recv_timeout(PATIENCE).expect("the server says something")
    }

    fn hear(&mut self, message: Value) {
        let method = message["method"].as_str().unwrap_or_default().to_owned();
        if let Some(id) = message.get("id").filter(|_| !method.is_empty()) {
            let result = self.answers.get(method.as_str()).cloned().unwrap_or_default();
            self.send(&json!({ "jsonrpc": "2.0", "id": id, "result": result }));
        }
        if method == "textDocument/publishDiagnostics" {
            let of = message["params"]["uri"].as_str().expect("a URI").to_owned();
            self.published.insert(of, message["params"]["diagnostics"].as_array().expect("a list").clone());
        }
        self.heard.push_back(message);
    }

    /// Waits for a notification or request of the server that fits; those before it are taken too.
    pub fn wait(&mut self, method: &str, fits: impl Fn(&Value) -> bool) -> Value {
        let until = Instant::now() + PATIENCE;
        loop {
            while let Some(message) = self.heard.pop_front() {
                if message["method"] == method && fits(&message["params"]) {
                    return message["params"].clone();
                }
            }
            assert!(Instant::now() < until, "the server does not say {method}");
            let message = self.next();
            self.hear(message);
        }
    }

    /// Waits until the published diagnostics of a file fit.
    pub fn diagnostics(&mut self, path: &Path, fits: impl Fn(&[Value]) -> bool) -> Vec<Value> {
        let until = Instant::now() + PATIENCE;
        loop {
            if let Some(now) = self.published.get(&uri(path)).filter(|now| fits(now)) {
                return now.clone();
            }
            assert!(Instant::now() < until, "the diagnostics stay {:?}", self.published);
            let message = self.next();
            self.hear(message);
        }
    }

    pub fn open_document(&mut self, path: &Path, text: &str) {
        let document = json!({ "uri": uri(path), "languageId": "x", "version": 1, "text": text });
        self.notify("textDocument/didOpen", json!({ "textDocument": document }));
    }

    /// Inserts a text at a line and column, in the units of the session.
    pub fn insert(&mut self, path: &Path, version: i32, (line, character): (u32, u32), text: &str) {
        let at = json!({ "line": line, "character": character });
        let change = json!({ "range": { "start": at, "end": at }, "text": text });
        let document = json!({ "uri": uri(path), "version": version });
        self.notify("textDocument/didChange", json!({ "textDocument": document, "contentChanges": [change] }));
    }

    pub fn command(&mut self, name: &str, argument: Value) -> Value {
        self.request("workspace/executeCommand", json!({ "command": name, "arguments": Value::Array(vec![argument]) }))
    }

    /// Ends the session as the protocol demands; gives the exit code.
    pub fn close(mut self) -> Option<i32> {
        self.request("shutdown", Value::Null);
        self.notify("exit", Value::Null);
        self.wait_for_end()
    }

    /// Closes the input; gives the exit code.
    pub fn hang_up(mut self) -> Option<i32> {
        self.input = None;
        self.wait_for_end()
    }

    /// Waits until the server ends by itself.
    pub fn wait_for_end(&mut self) -> Option<i32> {
        let until = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait().expect("its state") {
                return status.code();
            }
            assert!(Instant::now() < until, "the server does not end");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Editor {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn read(from: &mut impl std::io::BufRead) -> Option<Value> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if from.read_line(&mut line).ok()? == 0 {
            return None;
        }
        if line == "\r\n" {
            break;
        }
        length = line.strip_prefix("Content-Length: ")?.trim_end().parse().ok()?;
    }
    let mut body = vec![0; length];
    from.read_exact(&mut body).ok()?;
    Some(serde_json::from_slice(&body).expect("what the server says is JSON"))
}
