//! Messages over byte streams: a header with the length, then JSON. Main functions: [`read_messages`], [`Outbox::send`].
//!
//! The reader of the library trusts the length that a client states, and ends at the first message that is not JSON; this one is bounded,
//! and goes on behind such a message.

use std::io::{self, BufRead, Read as _, Write};
use std::sync::mpsc::{self, Receiver, SyncSender};

use lsp_server::{ErrorCode, Message, RequestId};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::domain::text::{BuildLogs, Syntax};

/// Upper bound on the bytes of a message.
const MAX_MESSAGE: u64 = 64 << 20;
/// Upper bounds on the bytes of a header line, and on their number.
const MAX_HEADER: u64 = 4 << 10;
const MAX_HEADERS: usize = 32;
/// Upper bound on the messages that wait for a client to read them. One that lets more come up reads none.
const WAITING: usize = 16 << 10;

/// A message of the client, or the error with which to answer one that is none.
#[derive(Debug)]
pub(super) enum Received {
    Message(Message),
    Fault(MessageFault),
}

/// The reason why bytes are no message.
#[derive(Debug)]
pub(super) struct MessageFault {
    pub(super) id: Option<RequestId>,
    pub(super) code: ErrorCode,
    pub(super) text: String,
}

impl MessageFault {
    fn new(code: ErrorCode, text: impl Into<String>) -> Self {
        Self { id: None, code, text: text.into() }
    }
}

enum Frame {
    Body(Vec<u8>),
    TooLong,
    /// The next message cannot be found.
    Broken(&'static str),
    End,
}

/// Forwards messages until the stream ends, or `forward` returns `false`.
pub(super) fn read_messages(mut from: impl BufRead, mut forward: impl FnMut(Received) -> bool) {
    loop {
        let received = match read_frame(&mut from) {
            Frame::End => return,
            Frame::Broken(why) => {
                forward(Received::Fault(MessageFault::new(ErrorCode::ParseError, why)));
                return;
            }
            Frame::TooLong => {
                let text = format!("the message is longer than {} MiB", MAX_MESSAGE >> 20);
                Received::Fault(MessageFault::new(ErrorCode::InvalidRequest, text))
            }
            Frame::Body(bytes) => match parse(&bytes) {
                Some(received) => received,
                None => continue,
            },
        };
        if !forward(received) {
            return;
        }
    }
}

fn read_frame(from: &mut impl BufRead) -> Frame {
    let mut length = None;
    for _ in 0..MAX_HEADERS {
        let mut line = Vec::new();
        match from.by_ref().take(MAX_HEADER).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return Frame::End,
            Ok(_) => {}
        }
        if !line.ends_with(b"\n") {
            return Frame::Broken("a header line does not end");
        }
        let line = line.trim_ascii();
        if line.is_empty() {
            return length.map_or(Frame::Broken("a message has no Content-Length"), |length| read_body(from, length));
        }
        let Some(colon) = line.iter().position(|byte| *byte == b':') else {
            return Frame::Broken("a header line has no colon");
        };
        if line[..colon].eq_ignore_ascii_case(b"content-length") {
            let number =
                std::str::from_utf8(line[colon + 1..].trim_ascii()).ok().and_then(|text| text.parse::<u64>().ok());
            let Some(number) = number else { return Frame::Broken("the Content-Length is no number") };
            length = Some(number);
        }
    }
    Frame::Broken("a message has too many headers")
}

fn read_body(from: &mut impl BufRead, length: u64) -> Frame {
    let mut body = from.by_ref().take(length);
    if length > MAX_MESSAGE {
        return match io::copy(&mut body, &mut io::sink()) {
            Ok(skipped) if skipped == length => Frame::TooLong,
            Ok(_) | Err(_) => Frame::End,
        };
    }
    // It grows with what arrives, not with what is announced.
    let mut bytes = Vec::new();
    match body.read_to_end(&mut bytes) {
        Ok(read) if read as u64 == length => Frame::Body(bytes),
        Ok(_) | Err(_) => Frame::End,
    }
}

/// Parses a message; `None` for a response that belongs to no request.
fn parse(bytes: &[u8]) -> Option<Received> {
    let value: Value = match serde_json::from_slice(bytes) {
        Ok(value) => value,
        Err(error) => {
            let text = format!("the message is not JSON: {error}");
            return Some(Received::Fault(MessageFault::new(ErrorCode::ParseError, text)));
        }
    };
    let given = value.get("id").filter(|id| !id.is_null()).cloned();
    let id = given.clone().and_then(|id| serde_json::from_value::<RequestId>(id).ok());
    let is_call = value.get("method").is_some_and(Value::is_string);
    if !is_call && (value.get("result").is_some() || value.get("error").is_some()) {
        return id.and_then(|_| serde_json::from_value(value).ok()).map(Received::Message);
    }
    let fault = |id| {
        let text = "the message is no request, no notification and no response of JSON-RPC";
        Received::Fault(MessageFault { id, code: ErrorCode::InvalidRequest, text: text.to_owned() })
    };
    if !is_call || given.is_some() != id.is_some() {
        return Some(fault(id));
    }
    Some(serde_json::from_value(value).map_or_else(|_| fault(id), Received::Message))
}

/// The way to the client: what is sent is written by a thread of its own, in order. Sending never waits.
pub(super) struct Outbox {
    sender: SyncSender<Vec<u8>>,
    logs: BuildLogs,
    gone: CancellationToken,
}

impl Outbox {
    /// Starts the writer. The receiver is disconnected when everything is written.
    pub(super) fn start(mut to: impl Write + Send + 'static, logs: BuildLogs) -> io::Result<(Self, Receiver<()>)> {
        let (sender, messages) = mpsc::sync_channel::<Vec<u8>>(WAITING);
        let (end, written) = mpsc::channel::<()>();
        let gone = CancellationToken::new();
        let failed = gone.clone();
        std::thread::Builder::new().name("lsp-writer".to_owned()).spawn(move || {
            let _end = end;
            for message in messages {
                if to.write_all(&message).and_then(|()| to.flush()).is_err() {
                    failed.cancel();
                    return;
                }
            }
        })?;
        Ok((Self { sender, logs, gone }, written))
    }

    /// Cancelled when the client reads no more.
    pub(super) fn gone(&self) -> CancellationToken {
        self.gone.clone()
    }

    /// Sends a message.
    pub(super) fn send(&self, message: &Message) {
        let mut value = serde_json::to_value(message).unwrap_or_default();
        value["jsonrpc"] = json!("2.0");
        self.send_value(&value);
    }

    /// Answers a message that could not be read.
    pub(super) fn send_fault(&self, fault: &MessageFault) {
        let error = json!({ "code": fault.code as i32, "message": fault.text });
        self.send_value(&json!({ "jsonrpc": "2.0", "id": fault.id, "error": error }));
    }

    fn send_value(&self, value: &Value) {
        let json = value.to_string();
        let body = self.logs.escape(json.as_bytes(), Syntax::Json);
        let mut frame = format!("Content-Length: {}\r\n\r\n", body.len()).into_bytes();
        frame.extend_from_slice(&body);
        if self.sender.try_send(frame).is_err() {
            self.gone.cancel();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn framed(body: &str) -> String {
        format!("Content-Length: {}\r\n\r\n{body}", body.len())
    }

    fn received(bytes: &[u8]) -> Vec<String> {
        let mut all = Vec::new();
        read_messages(bytes, |one| {
            all.push(match one {
                Received::Message(Message::Request(request)) => format!("request {} {}", request.id, request.method),
                Received::Message(Message::Notification(notice)) => format!("notification {}", notice.method),
                Received::Message(Message::Response(response)) => format!("response {}", response.id),
                Received::Fault(fault) => {
                    format!("fault {} {:?}", fault.code as i32, fault.id.map(|id| id.to_string()))
                }
            });
            true
        });
        all
    }

    #[test]
    fn messages_follow_each_other_and_a_bad_one_ends_nothing() {
        let bodies = [
            r#"{"jsonrpc":"2.0","id":1,"method":"a","params":null}"#,
            "{not json",
            r#"{"id":"x","method":"b"}"#,
            r#"{"id":1.5,"method":"b"}"#,
            r#"{"id":7}"#,
            "[]",
            r#"{"method":"c"}"#,
            r#"{"id":3,"result":null}"#,
            r#"{"id":null,"error":{"code":1,"message":"m"}}"#,
        ];
        let stream: String = bodies.iter().map(|body| framed(body)).collect();
        assert_eq!(
            received(stream.as_bytes()),
            [
                "request 1 a",
                "fault -32700 None",
                "request \"x\" b",
                "fault -32600 None",
                "fault -32600 Some(\"7\")",
                "fault -32600 None",
                "notification c",
                "response 3",
            ]
        );
    }

    #[test]
    fn a_length_is_not_believed() {
        assert_eq!(received(b"Content-Length: 18446744073709551615\r\n\r\n{}"), Vec::<String>::new());
        assert_eq!(received(b"Content-Length: 99999999999999999999\r\n\r\n{}"), ["fault -32700 None"]);
        for broken in ["Content-Length: x\r\n\r\n", "no colon\r\n\r\n", "A: b\r\n\r\n", &"x".repeat(5000)] {
            assert_eq!(received(broken.as_bytes()), ["fault -32700 None"], "{broken:.40}");
        }
        let long = format!("Content-Length: {}\r\n\r\n", MAX_MESSAGE + 1);
        let spaces = vec![b' '; usize::try_from(MAX_MESSAGE).unwrap() + 1];
        let stream = [long.as_bytes(), &spaces, framed(r#"{"method":"after"}"#).as_bytes()].concat();
        assert_eq!(received(&stream), ["fault -32600 None", "notification after"]);
    }

    #[test]
    fn headers_are_read_in_any_spelling() {
        let body = r#"{"method":"m"}"#;
        let stream = format!("Content-Type: x\r\ncontent-length:{}\r\n\r\n{body}", body.len());
        assert_eq!(received(stream.as_bytes()), ["notification m"]);
    }

    #[test]
    fn what_is_sent_is_framed_in_bytes() {
        let (outbox, _written) = Outbox::start(io::sink(), BuildLogs::default()).unwrap();
        assert!(!outbox.gone().is_cancelled());
        outbox.send_fault(&MessageFault::new(ErrorCode::ParseError, "漢"));
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_fail(bytes in any::<Vec<u8>>(), body in any::<Vec<u8>>()) {
            received(&bytes);
            let head = format!("Content-Length: {}\r\n\r\n", body.len());
            received(&[head.as_bytes(), &body].concat());
        }
    }
}
