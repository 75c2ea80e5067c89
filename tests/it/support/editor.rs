//! Scripted extensions that listen on a socket, one for each published generation. Main type: [`Extension`].
//!
//! They frame and answer as the published ones do: A and B take whatever arrives in one read for one message and answer without a line end,
//! C and D read lines, E is a participant of a bus that repeats every line to everyone, the sender included.

use std::io::{Read as _, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};

/// A published generation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Generation {
    A,
    B,
    C,
    D,
    E,
}

impl Generation {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::A, Self::B, Self::C, Self::D, Self::E];

    /// The name of its socket.
    pub fn file(self, process: u32) -> String {
        match self {
            Self::A => "dialectic.sock".to_owned(),
            Self::B | Self::C => "dialectic-0d8c8a1e.sock".to_owned(),
            Self::D => format!("dialectic-vscode-{process}.sock"),
            Self::E => format!("dialectic-daemon-{process}.sock"),
        }
    }

    fn reads_lines(self) -> bool {
        !matches!(self, Self::A | Self::B)
    }
}

/// How it behaves beside what its generation does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Habit {
    /// As published.
    Plain,
    /// It writes each reply in pieces of so many bytes.
    Pieces(usize),
    /// It holds its replies back until it has so many, and writes them at once.
    Glued(usize),
    /// It dies in the middle of its first reply, and is there again.
    DiesOnce,
    /// It dies in the middle of every reply.
    Dies,
    /// It never answers.
    Silent,
    /// It refuses reviews.
    Refuses(&'static str),
}

#[derive(Default)]
struct Seen {
    messages: Vec<Value>,
    /// The replies that are held back.
    held: Vec<u8>,
    count: usize,
    died: bool,
}

/// An extension that listens until it is dropped.
pub struct Extension {
    /// Its socket.
    pub path: PathBuf,
    seen: Arc<Mutex<Seen>>,
}

impl Drop for Extension {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

impl Extension {
    /// Starts one in a folder.
    pub fn start(folder: &Path, generation: Generation, habit: Habit) -> Self {
        let path = folder.join(generation.file(std::process::id()));
        let listener = UnixListener::bind(&path).expect("a socket");
        let seen: Arc<Mutex<Seen>> = Arc::default();
        let shared = Arc::clone(&seen);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let shared = Arc::clone(&shared);
                std::thread::spawn(move || serve(stream, generation, habit, &shared));
            }
        });
        Self { path, seen }
    }

    /// The messages that it understood so far.
    pub fn messages(&self) -> Vec<Value> {
        lock(&self.seen).messages.clone()
    }

    /// The reviews that it showed so far.
    pub fn shown(&self) -> Vec<String> {
        let messages = self.messages();
        let reviews = messages.iter().filter(|message| message["type"].as_str().is_some_and(is_review));
        reviews.map(|message| message["payload"]["content"].as_str().expect("a text").to_owned()).collect()
    }
}

fn is_review(kind: &str) -> bool {
    kind == "present_review" || kind == "present-review"
}

fn lock(seen: &Mutex<Seen>) -> MutexGuard<'_, Seen> {
    seen.lock().unwrap_or_else(PoisonError::into_inner)
}

fn serve(mut stream: UnixStream, generation: Generation, habit: Habit, seen: &Mutex<Seen>) {
    // As much as Node delivers at once.
    let mut buffer = vec![0; 64 << 10];
    let mut rest: Vec<u8> = Vec::new();
    while let Ok(count) = stream.read(&mut buffer)
        && count > 0
    {
        let mut pieces: Vec<Vec<u8>> = Vec::new();
        if generation.reads_lines() {
            rest.extend_from_slice(&buffer[..count]);
            while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
                pieces.push(rest.drain(..=end).collect());
            }
        } else {
            pieces.push(buffer[..count].to_vec());
        }
        for piece in pieces {
            if !take(&mut stream, &piece, generation, habit, seen) {
                return;
            }
        }
    }
}

/// Handles one message; `false` ends the connection.
fn take(stream: &mut UnixStream, piece: &[u8], generation: Generation, habit: Habit, seen: &Mutex<Seen>) -> bool {
    let end = if generation.reads_lines() { "\n" } else { "" };
    let message: Option<Value> = serde_json::from_slice(piece).ok();
    let Some(message) = message else {
        let reply = json!({ "id": "unknown", "success": false, "error": "Invalid JSON message" });
        return stream.write_all(format!("{reply}{end}").as_bytes()).is_ok();
    };
    if generation == Generation::E && stream.write_all(piece).is_err() {
        return false;
    }
    let kind = message["type"].as_str().unwrap_or_default().to_owned();
    let id = message["id"].clone();
    lock(seen).messages.push(message);
    let result = match (generation, kind.as_str()) {
        (_, kind) if is_review(kind) && (generation == Generation::A) == (kind == "present-review") => match habit {
            Habit::Refuses(error) => json!({ "success": false, "error": error }),
            _ => json!({ "success": true }),
        },
        (Generation::B | Generation::C | Generation::D, "log") => json!({ "success": true }),
        (Generation::B | Generation::C | Generation::D | Generation::E, "get_selection") => {
            let data = json!({
                "selectedText": "let x\u{1b}[31m = 1;", "filePath": "/srv/a.rs", "startLine": 3, "startColumn": 1, "endLine": 3,
                "endColumn": 11, "lineNumber": 3, "documentLanguage": "rust", "isUntitled": false,
                "message": "Selected 10 characters from line 3, columns 1-11",
            });
            json!({ "success": true, "data": data })
        }
        (Generation::E, _) => return true,
        (_, kind) => json!({ "success": false, "error": format!("Unknown message type: {kind}") }),
    };
    let mut reply = if generation == Generation::E {
        json!({ "type": "response", "payload": result, "id": id, "shellPid": 0 })
    } else {
        result
    };
    reply["id"] = id;
    answer(stream, format!("{reply}{end}").as_bytes(), habit, seen)
}

fn answer(stream: &mut UnixStream, reply: &[u8], habit: Habit, seen: &Mutex<Seen>) -> bool {
    match habit {
        Habit::Silent => true,
        Habit::Plain | Habit::Refuses(_) => stream.write_all(reply).is_ok(),
        Habit::Pieces(length) => reply.chunks(length).all(|piece| stream.write_all(piece).is_ok()),
        Habit::Glued(count) => {
            let mut seen = lock(seen);
            seen.held.extend_from_slice(reply);
            seen.count += 1;
            // The first one alone: nobody sends a second request to a stranger that has not answered.
            if seen.count == 1 || (seen.count - 1).is_multiple_of(count) {
                let held = std::mem::take(&mut seen.held);
                return stream.write_all(&held).is_ok();
            }
            true
        }
        Habit::Dies | Habit::DiesOnce => {
            let again = std::mem::replace(&mut lock(seen).died, true);
            if again && habit == Habit::DiesOnce {
                return stream.write_all(reply).is_ok();
            }
            let _ = stream.write_all(&reply[..reply.len() / 2]);
            false
        }
    }
}
