//! The client against a server that says what a test tells it: what goes out, and what the answer becomes.

mod logins;
mod reading;
mod sending;
mod writing;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

use super::{GitHub, GitHubOptions, Login};
use crate::domain::forge::PullId;
use crate::domain::secret::Secret;
use crate::sys::cancel::Cancel;
use crate::sys::http::ServerAddress;

const TOKEN: &str = "ghp_aVeryLongTokenThatNobodyMaySee0123456";

/// An answer of the server.
#[derive(Debug, Clone)]
struct MockReply {
    status: u16,
    headers: String,
    body: String,
    /// The connection ends instead, or within the body.
    breaks: bool,
    /// Nothing comes.
    hangs: bool,
}

impl MockReply {
    fn new(status: u16, body: &Value) -> Self {
        Self::text(status, &body.to_string())
    }

    fn text(status: u16, body: &str) -> Self {
        Self { status, headers: String::new(), body: body.to_owned(), breaks: false, hangs: false }
    }

    fn ok(body: &Value) -> Self {
        Self::new(200, body)
    }

    fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push_str(&format!("{name}: {value}\r\n"));
        self
    }

    fn breaking() -> Self {
        Self { breaks: true, ..Self::text(200, "{}") }
    }

    fn hanging() -> Self {
        Self { hangs: true, ..Self::text(200, "{}") }
    }
}

/// The requests that the server received.
#[derive(Debug, Clone)]
struct MockRequest {
    /// `GET /repos/…`.
    line: String,
    /// The headers, lower case names.
    headers: Vec<(String, String)>,
    body: Value,
}

impl MockRequest {
    fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The operation, for GraphQL.
    fn operation(&self) -> &str {
        self.body["operationName"].as_str().unwrap_or_default()
    }
}

struct MockServer {
    address: String,
    seen: Arc<Mutex<Vec<MockRequest>>>,
}

impl MockServer {
    /// Answers each request, told which one it is (from 0).
    fn new(answer: impl Fn(&MockRequest, usize) -> MockReply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let seen: Arc<Mutex<Vec<MockRequest>>> = Arc::default();
        let (answer, all) = (Arc::new(answer), Arc::clone(&seen));
        std::thread::spawn(move || {
            while let Ok((stream, _)) = listener.accept() {
                let (answer, all) = (Arc::clone(&answer), Arc::clone(&all));
                std::thread::spawn(move || serve(&stream, answer.as_ref(), &all));
            }
        });
        Self { address, seen }
    }

    /// Always the same answers, in order; the last one again and again.
    fn script(replies: Vec<MockReply>) -> Self {
        Self::new(move |_, nth| replies[nth.min(replies.len() - 1)].clone())
    }

    fn seen(&self) -> Vec<MockRequest> {
        self.seen.lock().unwrap().clone()
    }

    fn lines(&self) -> Vec<String> {
        self.seen().into_iter().map(|seen| seen.line).collect()
    }

    fn options(&self, login: Login) -> GitHubOptions {
        let api = ServerAddress::parse(&self.address).unwrap();
        GitHubOptions {
            graphql: api.join(&["graphql"]),
            server: api.clone(),
            api,
            login,
            cancel: Cancel::after(Duration::from_secs(30)),
            first_wait: Duration::from_millis(5),
        }
    }

    fn github(&self) -> GitHub {
        GitHub::new(self.options(Login::Token(Secret::new(TOKEN)))).unwrap().login_source("GITHUB_TOKEN")
    }
}

fn serve(
    stream: &TcpStream,
    answer: &(dyn Fn(&MockRequest, usize) -> MockReply + Send + Sync),
    all: &Mutex<Vec<MockRequest>>,
) {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).unwrap();
    let mut headers = Vec::new();
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).unwrap();
        let Some((name, value)) = header.trim_end().split_once(':') else { break };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let find = |name: &str| headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
    let mut body = Vec::new();
    if let Some(length) = find("content-length") {
        body = vec![0; length.parse().unwrap()];
        reader.read_exact(&mut body).unwrap();
    } else if find("transfer-encoding").is_some() {
        read_chunks(&mut reader, &mut body);
    }
    let line = line.trim_end().trim_end_matches(" HTTP/1.1").to_owned();
    let seen = MockRequest { line, headers, body: serde_json::from_slice(&body).unwrap_or_default() };
    let nth = {
        let mut all = all.lock().unwrap();
        all.push(seen.clone());
        all.len() - 1
    };
    let reply = answer(&seen, nth);
    if reply.hangs {
        std::thread::sleep(Duration::from_mins(1));
    }
    if reply.breaks {
        return;
    }
    let (status, headers, length) = (reply.status, &reply.headers, reply.body.len());
    let head = format!("HTTP/1.1 {status} Reason\r\nconnection: close\r\ncontent-length: {length}\r\n{headers}\r\n");
    let mut stream = stream;
    // A client that stopped listening is what some tests are about.
    let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(reply.body.as_bytes()));
}

fn read_chunks(reader: &mut impl std::io::BufRead, body: &mut Vec<u8>) {
    loop {
        let mut size = String::new();
        reader.read_line(&mut size).unwrap();
        let size = usize::from_str_radix(size.trim(), 16).unwrap();
        let mut chunk = vec![0; size + 2];
        reader.read_exact(&mut chunk).unwrap();
        if size == 0 {
            return;
        }
        body.extend_from_slice(&chunk[..size]);
    }
}

fn id() -> PullId {
    PullId { repo: "octo-org/hello.world".parse().unwrap(), number: "7".parse().unwrap() }
}

/// A list of the pull request, as one page.
fn page(list: &str, nodes: &Value, next: Option<&str>) -> Value {
    let info = json!({ "hasNextPage": next.is_some(), "endCursor": next });
    json!({ "data": { "repository": { "pullRequest": { list: { "nodes": nodes, "pageInfo": info } } } } })
}

/// A text as GraphQL gives it.
fn comment(number: u64) -> Value {
    json!({
        "id": format!("C_{number}"), "fullDatabaseId": number.to_string(), "body": format!("text {number}"),
        "author": { "__typename": "User", "login": "octocat" }, "authorAssociation": "MEMBER", "viewerDidAuthor": false,
        "createdAt": "2026-01-01T00:00:00Z", "updatedAt": "2026-01-02T00:00:00Z",
        "url": format!("https://github.com/octo-org/hello.world/pull/7#discussion_r{number}"), "isMinimized": false,
    })
}

/// A thread as GraphQL gives it.
fn thread(name: &str, comments: &Value, next: Option<&str>) -> Value {
    json!({
        "id": name, "isResolved": false, "resolvedBy": null, "isOutdated": false, "viewerCanResolve": true,
        "viewerCanUnresolve": false, "path": "src/a.rs", "line": 12, "startLine": 10, "originalLine": 11,
        "originalStartLine": 9, "diffSide": "RIGHT", "subjectType": "LINE",
        "comments": { "nodes": comments, "pageInfo": { "hasNextPage": next.is_some(), "endCursor": next } },
    })
}
