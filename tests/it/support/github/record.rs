//! Requests and answers, kept for `.ci/github_check.mjs`. Main type: [`Recorder`].

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde_json::{Value, json};

use super::{Asked, Reply};

/// Keeps requests in a folder of the test's.
pub struct Recorder {
    folder: Option<PathBuf>,
    number: usize,
}

/// How many fakes each test made: each has a folder of its own.
static MADE: Mutex<BTreeMap<String, usize>> = Mutex::new(BTreeMap::new());

impl Recorder {
    /// Keeps nothing.
    pub fn none() -> Self {
        Self { folder: None, number: 0 }
    }

    /// Keeps them under the name of the test that runs.
    pub fn of_this_test() -> Self {
        let thread = std::thread::current();
        let test = thread.name().unwrap_or("test").replace("::", "-");
        let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
        let before = made.entry(test.clone()).or_default();
        *before += 1;
        let name = if *before == 1 { test } else { format!("{test}-{before}") };
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("github").join(name);
        // What an earlier run left would be taken for this one's.
        let _ = std::fs::remove_dir_all(&folder);
        Self { folder: Some(folder), number: 0 }
    }

    /// The number of the next request.
    pub fn next(&mut self) -> usize {
        self.number += 1;
        self.number
    }

    /// Keeps one, with the names of its headers only: one of them holds the token.
    pub fn keep(&self, number: usize, asked: &Asked, reply: &Reply, scripted: bool) -> Result<(), String> {
        let Some(folder) = &self.folder else { return Ok(()) };
        let names: Vec<&str> = asked.headers.iter().map(|(name, _)| name.as_str()).collect();
        let read = |bytes: &[u8]| match serde_json::from_slice(bytes) {
            Ok(value) => value,
            Err(_) if bytes.is_empty() => Value::Null,
            Err(_) => Value::String(String::from_utf8_lossy(bytes).into_owned()),
        };
        let answer = if reply.body.len() > 4_000_000 { Value::Null } else { read(&reply.body) };
        let kept = json!({
            "method": asked.method, "path": asked.path, "query": asked.query, "prefix": asked.prefix, "headers": names,
            "body": read(&asked.body), "status": reply.status, "answer": answer, "scripted": scripted,
        });
        let file = folder.join(format!("{number:03}.json"));
        let written = std::fs::create_dir_all(folder).and_then(|()| std::fs::write(&file, format!("{kept}\n")));
        written.map_err(|error| format!("{}: {error}", file.display()))
    }
}
