//! A server that listens, and requests to it byte by byte. Main types: [`Http`], [`Answer`].

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::Child;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;

use super::PATIENCE;
use crate::support::Program;

/// A server over HTTP; it is ended when the last of the clones is dropped.
#[derive(Clone)]
pub struct Http {
    /// `127.0.0.1:PORT`.
    pub address: String,
    child: Arc<Running>,
}

struct Running(Mutex<Child>);

impl Drop for Running {
    fn drop(&mut self) {
        let child = self.0.get_mut().unwrap_or_else(PoisonError::into_inner);
        let _ = child.kill();
        let _ = child.wait();
    }
}

/// What a server answered.
#[derive(Debug)]
pub struct Answer {
    /// The status.
    pub status: u16,
    headers: Vec<(String, String)>,
    /// The body, whole.
    pub body: String,
}

impl Http {
    /// Starts `review mcp --http` at a free port, with these words.
    pub fn start(program: &Program, words: &str) -> Self {
        let words = ["mcp", "--http", "127.0.0.1:0"].into_iter().chain(words.split_whitespace());
        let mut child = program.command(words).spawn().expect("the server starts");
        let stderr = BufReader::new(child.stderr.take().expect("a pipe"));
        let child = Arc::new(Running(Mutex::new(child)));
        let (sender, said) = channel();
        // Read to its end, so that the server never waits for somebody to read what it says.
        std::thread::spawn(move || stderr.lines().map_while(Result::ok).for_each(|line| drop(sender.send(line))));
        let mut before = Vec::new();
        loop {
            let line =
                said.recv_timeout(PATIENCE).unwrap_or_else(|why| panic!("no address: {why}: {}", before.join("\n")));
            if let Some((_, url)) = line.split_once("serving MCP at http://") {
                let address = url.trim_end().strip_suffix("/mcp").expect("the path").to_owned();
                return Self { address, child };
            }
            before.push(line);
        }
    }

    /// Sends the signal with which a service is ended, and waits; gives the exit code.
    #[cfg(unix)]
    pub fn terminate(&self) -> Option<i32> {
        let mut child = self.child.0.lock().unwrap_or_else(PoisonError::into_inner);
        let id = rustix::process::Pid::from_child(&child);
        rustix::process::kill_process(id, rustix::process::Signal::TERM).expect("the signal is sent");
        let until = std::time::Instant::now() + PATIENCE;
        loop {
            if let Some(status) = child.try_wait().expect("its state") {
                return status.code();
            }
            assert!(std::time::Instant::now() < until, "the server does not end");
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    }

    /// Posts a message with the headers that every client sends, and these.
    pub fn post(&self, message: &Value, headers: &[(&str, String)]) -> Answer {
        let mut all = vec![("Content-Type", "application/json"), ("Accept", "application/json, text/event-stream")];
        all.extend(headers.iter().map(|(name, value)| (*name, value.as_str())));
        self.send("POST", message.to_string().as_bytes(), &all)
    }

    /// Sends a request with these headers; `Host` is its own unless it is given.
    pub fn send(&self, method: &str, body: &[u8], headers: &[(&str, &str)]) -> Answer {
        self.send_to("/mcp", method, body, headers)
    }

    /// Likewise, with another target.
    pub fn send_to(&self, target: &str, method: &str, body: &[u8], headers: &[(&str, &str)]) -> Answer {
        let mut stream = TcpStream::connect(&self.address).expect("a connection");
        stream.set_read_timeout(Some(PATIENCE)).expect("a deadline");
        stream.set_write_timeout(Some(PATIENCE)).expect("a deadline");
        let mut head = format!("{method} {target} HTTP/1.1\r\nConnection: close\r\nContent-Length: {}\r\n", body.len());
        if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
            head.push_str(&format!("Host: {}\r\n", self.address));
        }
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str("\r\n");
        stream.write_all(head.as_bytes()).expect("the head is sent");
        // A server that has seen enough may answer, and close, before it has read everything.
        let _ = stream.write_all(body);
        Answer::read(stream)
    }
}

impl Answer {
    fn read(mut stream: TcpStream) -> Self {
        let mut bytes = Vec::new();
        // What was read before a connection is reset is an answer all the same.
        if let Err(error) = stream.read_to_end(&mut bytes) {
            assert!(!bytes.is_empty(), "no answer: {error}");
        }
        let end = bytes.windows(4).position(|four| four == b"\r\n\r\n").expect("a head");
        let head = String::from_utf8(bytes[..end].to_vec()).expect("a head in ASCII");
        let mut lines = head.split("\r\n");
        let status = lines.next().and_then(|line| line.split(' ').nth(1)).and_then(|code| code.parse().ok());
        let headers: Vec<(String, String)> = lines
            .filter_map(|line| line.split_once(':'))
            .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
            .collect();
        let mut answer = Self { status: status.expect("a status"), headers, body: String::new() };
        let body = &bytes[end + 4..];
        let body = if answer.header("transfer-encoding") == Some("chunked") { joined(body) } else { body.to_vec() };
        answer.body = String::from_utf8(body).expect("a body in UTF-8");
        answer
    }

    /// A header, by its name in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(one, _)| one == name).map(|(_, value)| value.as_str())
    }

    /// The messages in it, from JSON or from a stream of events.
    pub fn messages(&self) -> Vec<Value> {
        let read = |text: &str| serde_json::from_str(text).unwrap_or_else(|why| panic!("{why}: {self:?}"));
        if self.header("content-type").is_some_and(|kind| kind.starts_with("text/event-stream")) {
            let events = self.body.lines().filter_map(|line| line.strip_prefix("data:"));
            return events.map(str::trim).filter(|data| !data.is_empty()).map(read).collect();
        }
        vec![read(&self.body)]
    }
}

/// A chunked body put together (RFC 9112, §7.1).
fn joined(mut body: &[u8]) -> Vec<u8> {
    let mut whole = Vec::new();
    while let Some(end) = body.windows(2).position(|two| two == b"\r\n") {
        let size = std::str::from_utf8(&body[..end]).ok().and_then(|size| usize::from_str_radix(size.trim(), 16).ok());
        let Some(size) = size.filter(|size| *size > 0) else { break };
        whole.extend_from_slice(&body[end + 2..end + 2 + size]);
        body = &body[end + 4 + size..];
    }
    whole
}
