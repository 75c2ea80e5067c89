//! Answers that are sent oddly, and answers that are spoilt on their way.

use serde_json::{Value, json};

use super::script::{Cut, Flood, Odd};
use super::state::{Ending, Reply};
use super::wires::Wire;

/// Sends a whole answer in that way.
pub fn oddly(odd: &Odd, wire: Wire, events: Vec<Vec<u8>>, whole: &Value, reply: &mut Reply) {
    let events = match odd {
        Odd::Trickle => {
            reply.pause_ms = 1;
            reply.pieces = events.concat().chunks(3).map(<[u8]>::to_vec).collect();
            return;
        }
        Odd::Http10 => {
            let head = format!("HTTP/1.0 200 OK\r\ncontent-type: {}\r\n\r\n", wire.stream_type());
            reply.raw = Some([head.into_bytes(), events.concat()].concat());
            events
        }
        Odd::Hints => {
            let head = format!(
                "HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\nHTTP/1.1 200 OK\r\ncontent-type: {}\r\nconnection: close\r\n\r\n",
                wire.stream_type()
            );
            reply.raw = Some([head.into_bytes(), events.concat()].concat());
            events
        }
        Odd::Comments => between(wire, events, ": still here\n\n", "\n"),
        Odd::Unknown => between(
            wire,
            events,
            "event: brand_new\ndata: {\"type\": \"brand_new\", \"of\": [1]}\n\n",
            "{\"brand_new\": [1]}\n",
        ),
        Odd::Empties => between(wire, events, "data:\n\nevent: ping\n\n\n\n", "  \n\n"),
        Odd::Returns => {
            let text = String::from_utf8_lossy(&events.concat()).replace("\r\n", "\n").replace('\n', "\r\n");
            vec![text.into_bytes()]
        }
        Odd::Mark => [vec!["\u{feff}".as_bytes().to_vec()], events].concat(),
        Odd::NoDone => events.into_iter().filter(|event| !event.starts_with(b"data: [DONE]")).collect(),
        Odd::Whole => {
            reply.headers = vec![("content-type".to_owned(), "application/json".to_owned())];
            vec![whole.to_string().into_bytes()]
        }
        Odd::Twice => [events.clone(), events].concat(),
        Odd::DoubleEnd => {
            let last = events.last().cloned().unwrap_or_default();
            [events, vec![last]].concat()
        }
        Odd::Type(kind) => {
            reply.headers = vec![("content-type".to_owned(), kind.clone())];
            events
        }
        Odd::KeptOpen => {
            reply.ending = Ending::Stalled;
            events
        }
    };
    reply.pieces = super::pieces::pieces(events, Cut::Odd);
}

fn between(wire: Wire, events: Vec<Vec<u8>>, sse: &str, line: &str) -> Vec<Vec<u8>> {
    let more = if wire == Wire::Ollama { line } else { sse };
    events.into_iter().flat_map(|event| [more.as_bytes().to_vec(), event]).collect()
}

/// The same event with values of other types.
pub fn retyped(event: &[u8]) -> Vec<u8> {
    let lines = String::from_utf8_lossy(event).into_owned();
    let lines = lines.split_inclusive('\n').map(|line| {
        let at = line.find('{').unwrap_or(line.len());
        let (before, document) = line.split_at(at);
        match serde_json::from_str::<Value>(document) {
            Ok(value) => format!("{before}{}\n", other(&value)),
            Err(_) => line.to_owned(),
        }
    });
    lines.collect::<String>().into_bytes()
}

fn other(value: &Value) -> Value {
    match value {
        Value::Null => json!([]),
        Value::Bool(flag) => json!(flag.to_string()),
        Value::Number(number) => json!([number]),
        Value::String(text) => json!({ "text": text }),
        Value::Array(values) => values.iter().enumerate().map(|(n, value)| (n.to_string(), other(value))).collect(),
        Value::Object(fields) => fields.iter().map(|(name, value)| (name.clone(), other(value))).collect(),
    }
}

/// What an answer goes on with: more than any client should keep.
pub fn flood(wire: Wire, flood: Flood) -> Vec<Vec<u8>> {
    let blank = |size: usize| vec![b' '; size];
    match (flood, wire) {
        (Flood::Nothing, Wire::Ollama) => vec![[blank(65_535), b"\n".to_vec()].concat(); 300],
        (Flood::Nothing, _) => vec![[b":".to_vec(), blank(65_534), b"\n".to_vec()].concat(); 300],
        (Flood::Event, Wire::Ollama) => [vec![b"{\"a\":\"".to_vec()], vec![blank(65_536); 80]].concat(),
        (Flood::Event, _) => [vec![b"data: {\"a\":\"".to_vec()], vec![blank(65_536); 80]].concat(),
    }
}

/// The bytes as `gzip` writes them (RFC 1952) without compressing them (RFC 1951 §3.2.4).
pub fn zipped(bytes: &[u8]) -> Vec<u8> {
    let mut all = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
    let mut blocks = bytes.chunks(0xffff).peekable();
    while let Some(block) = blocks.next() {
        let size = u16::try_from(block.len()).unwrap_or(u16::MAX);
        all.push(u8::from(blocks.peek().is_none()));
        all.extend(size.to_le_bytes());
        all.extend((!size).to_le_bytes());
        all.extend(block);
    }
    let crc = bytes.iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg()))
    });
    all.extend((!crc).to_le_bytes());
    all.extend(u32::try_from(bytes.len()).unwrap_or(0).to_le_bytes());
    all
}
