//! Running the two programs against the model, and what each run cost. Main types: [`Ours`], [`Peer`], [`Run`].

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use serde_json::Value;
use wait4::Wait4 as _;

use crate::model::{Model, Script};
use crate::repository::Repository;

/// This program, with a home folder of its own.
pub(crate) struct Ours {
    program: PathBuf,
    home: PathBuf,
    base: String,
}

/// The nearest peer, likewise.
pub(crate) struct Peer {
    program: PathBuf,
    home: PathBuf,
}

/// What a run cost, and what it covered.
#[derive(Clone)]
pub(crate) struct Run {
    cpu: f64,
    wall: f64,
    peak: f64,
    requests: f64,
    /// In tokens.
    input: f64,
    /// In tokens.
    new: f64,
    /// Files of which every added line was in some request.
    files: usize,
    of_files: usize,
    lines: usize,
    of_lines: usize,
    calls: usize,
    /// In the program's own word.
    outcome: String,
}

impl Ours {
    pub(crate) fn prepare(program: &Path, home: &Path, model: &Model, window: u64) -> Result<Self, String> {
        let settings = home.join("config/review");
        std::fs::create_dir_all(&settings).map_err(|error| error.to_string())?;
        let text = format!("[openai-chat]\ncontext_window = {window}\n");
        std::fs::write(settings.join("config.toml"), text).map_err(|error| error.to_string())?;
        let program = program.canonicalize().map_err(|error| format!("{}: {error}", program.display()))?;
        Ok(Self { program, home: home.to_owned(), base: model.base() })
    }

    pub(crate) fn run(&self, model: &Model, repository: &Repository, script: Script) -> Result<Run, String> {
        let words = ["--range", "main..work", "--model", "openai-chat/instant", "--format", "json", "--quiet"];
        let limits = ["--max-turns", "60", "--max-tokens", "100000000", "--timeout", "10m"];
        let mut command = clean(&self.program, &self.home);
        command.args(words).args(limits).env("OPENAI_BASE_URL", &self.base).env("OPENAI_API_KEY", "none");
        command.env("XDG_CONFIG_HOME", self.home.join("config")).env("XDG_STATE_HOME", self.home.join("state"));
        measured(command, &self.home, &[0, 1, 3], model, repository, script, |said| {
            let reasons = said["reasons"].as_array().into_iter().flatten().filter_map(Value::as_str);
            let words: Vec<&str> = said["outcome"].as_str().into_iter().chain(reasons).collect();
            words.join(": ").into()
        })
    }
}

impl Peer {
    pub(crate) fn prepare(program: &Path, home: &Path, model: &Model) -> Result<Self, String> {
        std::fs::create_dir_all(home).map_err(|error| error.to_string())?;
        let program = program.canonicalize().map_err(|error| format!("{}: {error}", program.display()))?;
        let address = model.base();
        let settings = [
            ("provider", "local"),
            ("custom_providers.local.url", &address),
            ("custom_providers.local.protocol", "openai"),
            ("custom_providers.local.model", "instant"),
            ("custom_providers.local.api_key", "none"),
        ];
        for (key, value) in settings {
            let status = clean(&program, home).args(["config", "set", key, value]).stdout(Stdio::null()).status();
            let status = status.map_err(|error| error.to_string())?;
            if !status.success() {
                return Err(format!("the peer's config set {key} ended with {status}"));
            }
        }
        Ok(Self { program, home: home.to_owned() })
    }

    pub(crate) fn run(&self, model: &Model, repository: &Repository, script: Script) -> Result<Run, String> {
        let mut command = clean(&self.program, &self.home);
        command.args(["review", "--from", "main", "--to", "work", "--format", "json", "--audience", "agent"]);
        measured(command, &self.home, &[0], model, repository, script, |said| said["status"].clone())
    }
}

/// A command that sees nothing of this machine but its programs.
#[expect(clippy::disallowed_methods, reason = "a benchmark compares processes")]
fn clean(program: &Path, home: &Path) -> Command {
    let mut command = Command::new(program);
    command.env_clear().env("HOME", home).env("GIT_CONFIG_NOSYSTEM", "1").stdin(Stdio::null());
    if let Some(path) = std::env::var_os("PATH") {
        command.env("PATH", path);
    }
    command
}

fn measured(
    mut command: Command,
    home: &Path,
    good: &[i32],
    model: &Model,
    repository: &Repository,
    script: Script,
    outcome: fn(&Value) -> Value,
) -> Result<Run, String> {
    let fault = |error: std::io::Error| error.to_string();
    let (out, err) = (home.join("out"), home.join("err"));
    command
        .current_dir(&repository.folder)
        .stdout(File::create(&out).map_err(fault)?)
        .stderr(File::create(&err).map_err(fault)?);
    model.begin(script, &repository.changed);
    let started = Instant::now();
    let used = command.spawn().map_err(fault)?.wait4().map_err(fault)?;
    let wall = started.elapsed().as_secs_f64();
    let tally = model.end();
    if !used.status.code().is_some_and(|code| good.contains(&code)) {
        let said = std::fs::read_to_string(&err).unwrap_or_default();
        return Err(format!("{} ended with {}: {}", command.get_program().display(), used.status, said.trim()));
    }
    let said: Value = serde_json::from_slice(&std::fs::read(&out).map_err(fault)?).unwrap_or(Value::Null);
    let whole = |(_, first, end): &&(String, usize, usize)| (*first..*end).all(|marker| tally.seen.contains(&marker));
    #[expect(clippy::cast_precision_loss, reason = "all of it is far below 2^52")]
    let float = |value: usize| value as f64;
    #[expect(clippy::cast_precision_loss, reason = "memory is far below 2^52 bytes")]
    let peak = used.rusage.maxrss as f64 / f64::from(1 << 20);
    Ok(Run {
        cpu: (used.rusage.utime + used.rusage.stime).as_secs_f64(),
        wall,
        peak,
        requests: float(tally.requests),
        input: float(tally.bytes) / 4.0,
        new: float(tally.new_bytes) / 4.0,
        files: repository.changed.iter().filter(whole).count(),
        of_files: repository.changed.len(),
        lines: tally.seen.len(),
        of_lines: repository.markers(),
        calls: tally.tool_calls,
        outcome: outcome(&said).as_str().unwrap_or("?").to_owned(),
    })
}

impl Run {
    /// The run whose CPU is in the middle.
    pub(crate) fn median(mut runs: Vec<Self>) -> Option<Self> {
        runs.sort_by(|a, b| a.cpu.total_cmp(&b.cpu));
        let middle = runs.len() / 2;
        runs.into_iter().nth(middle)
    }

    pub(crate) fn row(&self, name: &str) -> String {
        format!(
            "{name:<22} {:>8.3} {:>8.3} {:>8.0} {:>9.0} {:>8.1} {:>8.1} {:>11} {:>11} {:>9.1} {:>9.1}   {}, {} calls",
            self.cpu,
            self.wall,
            self.peak,
            self.requests,
            self.input / 1000.0,
            self.new / 1000.0,
            format!("{}/{}", self.files, self.of_files),
            format!("{}/{}", self.lines, self.of_lines),
            self.a_line(self.input),
            self.a_line(self.new),
            self.outcome,
            self.calls,
        )
    }

    /// Ours over theirs.
    pub(crate) fn ratios(&self, name: &str, other: &Self) -> String {
        format!(
            "{name:<22} {:>8.3} {:>8.3} {:>8.3} {:>9.3} {:>8.3} {:>8.3} {:>11} {:>11} {:>9.3} {:>9.3}",
            self.cpu / other.cpu,
            self.wall / other.wall,
            self.peak / other.peak,
            self.requests / other.requests,
            self.input / other.input,
            self.new / other.new,
            "",
            "",
            self.a_line(self.input) / other.a_line(other.input),
            self.a_line(self.new) / other.a_line(other.new),
        )
    }

    fn a_line(&self, tokens: f64) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "lines are far below 2^52")]
        let lines = self.lines.max(1) as f64;
        tokens / lines
    }
}
