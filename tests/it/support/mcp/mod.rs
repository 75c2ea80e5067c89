//! A client of the MCP server that speaks raw JSON, in both eras and over both doors. Main types: [`Client`], [`Era`].
//!
//! It shares nothing with the library that the server is built on. Whoever waits here waits for [`PATIENCE`] at most: a server that hangs
//! fails its test.

mod http;
mod stdio;

use std::time::Duration;

use serde_json::{Value, json};

pub use http::{Answer, Http};
pub use stdio::Stdio;

use super::Program;

/// How long any answer may take.
pub const PATIENCE: Duration = Duration::from_mins(2);
/// The revisions that begin with `initialize`.
pub const WITH_HANDSHAKE: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];
/// The revision in which every request stands alone.
pub const STATELESS: &str = "2026-07-28";

/// How a client speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Era {
    /// It begins with `initialize`, asking for this revision.
    Session(&'static str),
    /// Every request says all that is needed.
    Stateless,
}

enum Door {
    Stdio(Stdio),
    Http { server: Http, session: Option<String> },
}

/// A client that is connected.
pub struct Client {
    door: Door,
    era: Era,
    asked: u64,
    /// What the server said beside its answers, in order.
    pub heard: Vec<Value>,
}

impl Client {
    /// Starts `review mcp` with these words and connects over its standard streams.
    pub fn stdio(program: &Program, words: &str, era: Era) -> Self {
        Self::connected(Door::Stdio(Stdio::start(program, words)), era)
    }

    /// Connects to a server that listens.
    pub fn http(server: &Http, era: Era) -> Self {
        Self::connected(Door::Http { server: server.clone(), session: None }, era)
    }

    fn connected(door: Door, era: Era) -> Self {
        let mut client = Self { door, era, asked: 0, heard: Vec::new() };
        if let Era::Session(version) = era {
            let agreed = client.initialize(version);
            assert_eq!(agreed["protocolVersion"], version, "{agreed}");
        }
        client
    }

    fn initialize(&mut self, version: &str) -> Value {
        let about = json!({
            "protocolVersion": version, "capabilities": {}, "clientInfo": { "name": "test", "version": "1" },
        });
        let agreed = self.result("initialize", about);
        self.say(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        agreed
    }

    /// Sends a message that has no answer.
    pub fn say(&mut self, message: &Value) {
        match &mut self.door {
            Door::Stdio(stdio) => stdio.send(message.to_string().as_bytes()),
            Door::Http { server, session } => {
                let answer = server.post(message, &headers(self.era, message, session.as_deref()));
                assert_eq!(answer.status, 202, "{message}: {answer:?}");
            }
        }
    }

    /// The standard streams, for what no client should send.
    pub fn raw(&mut self) -> &mut Stdio {
        match &mut self.door {
            Door::Stdio(stdio) => stdio,
            Door::Http { .. } => panic!("this client has no standard streams"),
        }
    }

    /// Sends a request and does not wait; gives its id. For standard streams.
    pub fn begin(&mut self, method: &str, params: Value) -> u64 {
        let message = self.request(method, params);
        self.raw().send(message.to_string().as_bytes());
        self.asked
    }

    fn request(&mut self, method: &str, mut params: Value) -> Value {
        self.asked += 1;
        if params.is_null() {
            params = json!({});
        }
        if self.era == Era::Stateless {
            let meta = &mut params["_meta"];
            meta["io.modelcontextprotocol/protocolVersion"] = STATELESS.into();
            meta["io.modelcontextprotocol/clientInfo"] = json!({ "name": "test", "version": "1" });
            meta["io.modelcontextprotocol/clientCapabilities"] = json!({});
        }
        json!({ "jsonrpc": "2.0", "id": self.asked, "method": method, "params": params })
    }

    /// Sends a request; gives the whole answer.
    pub fn ask(&mut self, method: &str, params: Value) -> Value {
        let message = self.request(method, params);
        let id = self.asked;
        let messages = match &mut self.door {
            Door::Stdio(stdio) => {
                stdio.send(message.to_string().as_bytes());
                return self.answer(id);
            }
            Door::Http { server, session } => {
                let answer = server.post(&message, &headers(self.era, &message, session.as_deref()));
                if let Some(id) = answer.header("mcp-session-id") {
                    *session = Some(id.to_owned());
                }
                answer.messages()
            }
        };
        let (mut answers, others): (Vec<Value>, Vec<Value>) =
            messages.into_iter().partition(|message| message["id"] == id && message.get("method").is_none());
        self.heard.extend(others);
        assert_eq!(answers.len(), 1, "answers to {message}");
        answers.remove(0)
    }

    /// Waits for the answer to a request that was begun.
    pub fn answer(&mut self, id: u64) -> Value {
        loop {
            let message = self.raw().next().unwrap_or_else(|why| panic!("no answer to request {id}: {why}"));
            if message["id"] == id && message.get("method").is_none() {
                return message;
            }
            self.heard.push(message);
        }
    }

    /// Waits until something was heard that is not an answer.
    pub fn hears(&mut self, what: impl Fn(&Value) -> bool) -> Value {
        loop {
            if let Some(found) = self.heard.iter().find(|message| what(message)) {
                return found.clone();
            }
            let message = self.raw().next().unwrap_or_else(|why| panic!("{why}; heard {:#?}", self.heard));
            self.heard.push(message);
        }
    }

    /// The result of a request.
    #[track_caller]
    pub fn result(&mut self, method: &str, params: Value) -> Value {
        let mut answer = self.ask(method, params);
        assert!(answer.get("result").is_some(), "{method}: {answer}");
        answer["result"].take()
    }

    /// The code and the text of the error that a request gets.
    #[track_caller]
    pub fn error(&mut self, method: &str, params: Value) -> (i64, String) {
        let answer = self.ask(method, params);
        let error = &answer["error"];
        let text = error["message"].as_str().unwrap_or_else(|| panic!("{method}: {answer}"));
        (error["code"].as_i64().expect("a code"), text.to_owned())
    }

    /// What a tool answers, failures that a caller can act on included.
    #[track_caller]
    pub fn call(&mut self, tool: &str, input: Value) -> Value {
        let mut params = json!({ "name": tool });
        params["arguments"] = input;
        self.result("tools/call", params)
    }

    /// The fields of a tool's answer; it must not have failed.
    #[track_caller]
    pub fn tool(&mut self, tool: &str, input: Value) -> Value {
        let given = input.to_string();
        let mut result = self.call(tool, input);
        assert_ne!(result["isError"], true, "{tool} {given}: {result}");
        result["structuredContent"].take()
    }

    /// The text of a resource.
    #[track_caller]
    pub fn read(&mut self, uri: &str) -> String {
        let result = self.result("resources/read", json!({ "uri": uri }));
        result["contents"][0]["text"].as_str().unwrap_or_else(|| panic!("{uri}: {result}")).to_owned()
    }

    /// Says goodbye; a server on standard streams must end well.
    #[track_caller]
    pub fn close(self) {
        match self.door {
            Door::Stdio(stdio) => {
                let (code, said) = stdio.close();
                assert!(code == Some(0) && !said.contains("panicked"), "ended with {code:?}: {said}");
            }
            Door::Http { server, session: Some(session) } => {
                let answer = server.send("DELETE", b"", &[("Mcp-Session-Id", &session)]);
                assert!((200..300).contains(&answer.status), "{answer:?}");
            }
            Door::Http { .. } => {}
        }
    }
}

/// The text blocks of a tool's answer.
pub fn text(result: &Value) -> String {
    let blocks = result["content"].as_array().expect("content");
    blocks.iter().filter_map(|block| block["text"].as_str()).collect::<Vec<_>>().join("\n")
}

fn headers(era: Era, message: &Value, session: Option<&str>) -> Vec<(&'static str, String)> {
    let version = match era {
        Era::Session(version) => version,
        Era::Stateless => STATELESS,
    };
    let mut headers = Vec::new();
    if message["method"] != "initialize" {
        headers.push(("MCP-Protocol-Version", version.to_owned()));
    }
    if let Some(session) = session {
        headers.push(("Mcp-Session-Id", session.to_owned()));
    }
    if era == Era::Stateless {
        let method = message["method"].as_str().unwrap_or_default();
        headers.push(("Mcp-Method", method.to_owned()));
        let named = if method == "resources/read" { &message["params"]["uri"] } else { &message["params"]["name"] };
        headers.extend(named.as_str().map(|name| ("Mcp-Name", name.to_owned())));
    }
    headers
}
