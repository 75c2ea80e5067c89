//! A client that asks one thing after the other, and what the server costs meanwhile. Main type: [`Client`].

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use wait4::Wait4 as _;

/// A server of its own, over its standard input and output.
pub(crate) struct Client {
    child: Child,
    asks: ChildStdin,
    answers: BufReader<ChildStdout>,
    last: u64,
}

/// What a server took in all.
pub(crate) struct Total {
    pub cpu: Duration,
    pub peak_mib: f64,
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

impl Client {
    /// Starts `review mcp` in a folder, and says hello.
    #[expect(clippy::disallowed_methods, reason = "a benchmark measures a process")]
    pub(crate) fn start(review: &Path, folder: &Path, home: &Path) -> Result<Self, String> {
        let mut child = Command::new(review)
            .args(["mcp", "--no-model"])
            .current_dir(folder)
            .env_clear()
            .env("HOME", home)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .map_err(|error| format!("{}: {error}", review.display()))?;
        let asks = child.stdin.take().ok_or("no standard input")?;
        let answers = BufReader::new(child.stdout.take().ok_or("no standard output")?);
        let mut client = Self { child, asks, answers, last: 0 };
        let hello = json!({
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "bench", "version": "1" }
        });
        client.ask("initialize", &hello)?;
        client.write(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))?;
        Ok(client)
    }

    fn write(&mut self, message: &Value) -> Result<(), String> {
        writeln!(self.asks, "{message}").and_then(|()| self.asks.flush()).map_err(text)
    }

    /// Asks, and waits for the answer.
    pub(crate) fn ask(&mut self, method: &str, params: &Value) -> Result<Value, String> {
        self.last += 1;
        self.write(&json!({ "jsonrpc": "2.0", "id": self.last, "method": method, "params": params }))?;
        loop {
            let mut line = String::new();
            if self.answers.read_line(&mut line).map_err(text)? == 0 {
                return Err("the server is gone".to_owned());
            }
            let message: Value = serde_json::from_str(&line).map_err(|error| format!("{error}: {line}"))?;
            if message["id"] != self.last {
                continue;
            }
            return match message.get("result") {
                Some(result) => Ok(result.clone()),
                None => Err(message.to_string()),
            };
        }
    }

    /// Calls a tool, which must not fail; says how long it took.
    pub(crate) fn call(&mut self, name: &str, input: &Value) -> Result<Duration, String> {
        let begun = Instant::now();
        let answer = self.ask("tools/call", &json!({ "name": name, "arguments": input }))?;
        let took = begun.elapsed();
        if answer["isError"] == true { Err(answer.to_string()) } else { Ok(took) }
    }

    /// The processor time that it took so far, user and system.
    pub(crate) fn cpu(&self) -> Result<Duration, String> {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id())).map_err(text)?;
        // Behind the name, which may have spaces in it: fields 14 and 15 of proc_pid_stat(5), in ticks of 10 ms.
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
        let ticks = |at: usize| fields.get(at).and_then(|field| field.parse::<u64>().ok()).unwrap_or(0);
        Ok(Duration::from_millis((ticks(11) + ticks(12)) * 10))
    }

    /// What it holds in memory, in MiB: all of it, and without the pages of files.
    pub(crate) fn memory(&self) -> Result<(f64, f64), String> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).map_err(text)?;
        let of = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok()).unwrap_or(0.0) / 1024.0
        };
        Ok((of("VmRSS:"), of("RssAnon:")))
    }

    /// Closes its input, and waits until it is gone.
    pub(crate) fn end(self) -> Result<Total, String> {
        let Self { child, asks, .. } = self;
        drop(asks);
        let used = child.wait4().map_err(text)?;
        if !used.status.success() {
            return Err(format!("the server ended with {}", used.status));
        }
        let (user, system) = (used.rusage.utime, used.rusage.stime);
        #[expect(clippy::cast_precision_loss, reason = "a size in MiB needs three digits")]
        Ok(Total { cpu: user + system, peak_mib: used.rusage.maxrss as f64 / f64::from(1 << 20) })
    }
}
