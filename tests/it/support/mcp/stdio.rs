//! A server's standard streams, with deadlines. Main type: [`Stdio`].

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, Stdio as Pipe};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::Instant;

use serde_json::Value;

use super::PATIENCE;
use crate::support::Program;

/// A server that was started for one client. It is ended when dropped.
pub struct Stdio {
    child: Child,
    /// Lines to be written; closed when this side is done.
    input: Option<Sender<Vec<u8>>>,
    lines: Receiver<String>,
    said: Option<JoinHandle<String>>,
}

impl Stdio {
    pub(super) fn start(program: &Program, words: &str) -> Self {
        let words = ["mcp"].into_iter().chain(words.split_whitespace());
        let mut child = program.command(words).stdin(Pipe::piped()).spawn().expect("the server starts");
        let mut stdin = child.stdin.take().expect("a pipe");
        let stdout = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut stderr = child.stderr.take().expect("a pipe");
        let (input, to_write) = channel::<Vec<u8>>();
        // Each in a thread of its own, because a full pipe would hold both sides.
        std::thread::spawn(move || to_write.iter().all(|line| stdin.write_all(&line).is_ok()));
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            let lines = stdout.lines().map(|line| line.expect("what the server says is UTF-8"));
            for line in lines {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        let said = std::thread::spawn(move || {
            let mut said = String::new();
            let _ = stderr.read_to_string(&mut said);
            said
        });
        Self { child, input: Some(input), lines, said: Some(said) }
    }

    /// Sends a line as it is.
    pub fn send(&mut self, line: &[u8]) {
        let input = self.input.as_ref().expect("the input is open");
        // A server that is gone is noticed by whoever waits for its answer.
        let _ = input.send([line, b"\n"].concat());
    }

    /// The next message.
    pub fn next(&mut self) -> Result<Value, String> {
        let line = self.lines.recv_timeout(PATIENCE).map_err(|why| why.to_string())?;
        serde_json::from_str(&line).map_err(|why| format!("{why}: {line:?}"))
    }

    /// Ends the input and waits for the server's own end; gives its exit code and what it said on standard error.
    pub fn close(mut self) -> (Option<i32>, String) {
        self.input = None;
        let until = Instant::now() + PATIENCE;
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("its state") {
                break status;
            }
            assert!(Instant::now() < until, "the server does not end with its input");
            std::thread::sleep(std::time::Duration::from_millis(5));
        };
        let said = self.said.take().map(|said| said.join().expect("what it said")).unwrap_or_default();
        (status.code(), said)
    }
}

impl Drop for Stdio {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
