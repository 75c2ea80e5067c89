//! Running the program itself, with nothing of this machine around it. Main types: [`Program`], [`Ran`].

use std::ffi::OsStr;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use super::memory::temporary_folder;

/// The program with a home folder of its own, removed when dropped.
pub struct Program {
    home: tempfile::TempDir,
    folder: PathBuf,
    environment: Vec<(String, String)>,
}

/// How it ended.
pub struct Ran {
    /// The exit code; -1 when a signal ended it.
    pub code: i32,
    /// What it gave out.
    pub stdout: Vec<u8>,
    /// What it said.
    pub stderr: String,
}

impl Program {
    /// To be run in `folder`.
    pub fn in_folder(folder: &Path) -> Self {
        let home = temporary_folder();
        Self { home, folder: folder.to_owned(), environment: Vec::new() }
    }

    /// With one more environment variable.
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    /// With more environment variables.
    pub fn with_all<'a>(self, variables: impl IntoIterator<Item = (&'a str, String)>) -> Self {
        variables.into_iter().fold(self, |program, (name, value)| program.with(name, &value))
    }

    /// With a settings file of the user.
    pub fn with_settings(self, text: &str) -> Self {
        let file = self.home.path().join("config/review/config.toml");
        std::fs::create_dir_all(file.parent().expect("a folder")).expect("a settings folder");
        std::fs::write(file, text).expect("a settings file");
        self
    }

    /// A path in the home folder.
    pub fn home(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    /// The folders of kept runs.
    pub fn kept(&self) -> Vec<PathBuf> {
        let Ok(entries) = std::fs::read_dir(self.home("state/review/runs")) else { return Vec::new() };
        entries.map(|entry| entry.expect("an entry").path()).collect()
    }

    /// A command that is not started yet.
    pub fn command<I: IntoIterator<Item = S>, S: AsRef<OsStr>>(&self, args: I) -> Command {
        self.started_by(Path::new(env!("CARGO_BIN_EXE_review")), args)
    }

    /// The page that a terminal of so many columns shows in the end: both streams, with the escape sequences. Without `colour`, `NO_COLOR` is set.
    #[cfg(target_os = "linux")]
    pub fn terminal(&self, columns: usize, colour: bool, line: &str) -> String {
        let program = env!("CARGO_BIN_EXE_review");
        let inside = format!("stty cols {columns} rows 200; exec '{program}' {line}");
        let mut command =
            self.started_by(&super::program_path("script"), ["--quiet", "--return", "--command", &inside, "/dev/null"]);
        command.env("TERM", "xterm-256color").env("NO_COLOR", if colour { "" } else { "1" });
        let ran = Ran::wait(command.spawn().expect("a terminal"));
        // What was drawn and wiped again is not there any more.
        let last = |line: &str| line.rsplit("\u{1b}[2K").next().unwrap_or_default().to_owned() + "\n";
        ran.text().replace("\r\n", "\n").lines().map(last).collect()
    }

    #[expect(clippy::disallowed_methods, reason = "this starts the program under test")]
    fn started_by<I: IntoIterator<Item = S>, S: AsRef<OsStr>>(&self, program: &Path, args: I) -> Command {
        let mut command = Command::new(program);
        command.args(args).current_dir(&self.folder).env_clear();
        for keep in ["PATH", "TMPDIR", "SYSTEMROOT"] {
            if let Some(value) = std::env::var_os(keep) {
                command.env(keep, value);
            }
        }
        command
            .env("HOME", self.home.path())
            .env("XDG_STATE_HOME", self.home("state"))
            .env("XDG_CONFIG_HOME", self.home("config"))
            .env("TEST_RETRY_WAIT_MS", "5")
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Runs it to its end.
    pub fn run<I: IntoIterator<Item = S>, S: AsRef<OsStr>>(&self, args: I) -> Ran {
        Ran::wait(self.command(args).spawn().expect("the program starts"))
    }

    /// Runs it with words separated by blanks.
    pub fn words(&self, line: &str) -> Ran {
        self.run(line.split_whitespace())
    }

    /// Runs it with something on standard input.
    pub fn fed(&self, line: &str, input: &[u8]) -> Ran {
        let mut child =
            self.command(line.split_whitespace()).stdin(Stdio::piped()).spawn().expect("the program starts");
        let mut pipe = child.stdin.take().expect("a pipe");
        let input = input.to_vec();
        // In a thread of its own, because a full pipe would hold both sides.
        let writer = std::thread::spawn(move || {
            let _ = pipe.write_all(&input);
        });
        let ran = Ran::wait(child);
        writer.join().expect("the input is written");
        ran
    }

    /// A review as JSON, whatever else the words ask for, and its exit code.
    pub fn review(&self, line: &str) -> (i32, Value) {
        let ran = self.words(&format!("{line} --format json"));
        (ran.code, ran.json())
    }

    /// The answer of a tool, and its exit code.
    pub fn tool(&self, name: &str, input: &Value, line: &str) -> (i32, Value) {
        let (name, input) = (name.to_owned(), input.to_string());
        let words = ["tool".to_owned(), name, input].into_iter().chain(line.split_whitespace().map(str::to_owned));
        let ran = self.run(words);
        (ran.code, ran.json())
    }
}

impl Ran {
    /// Waits for the end of a process.
    pub fn wait(child: Child) -> Self {
        let output = child.wait_with_output().expect("the program ends");
        let stderr = String::from_utf8(output.stderr).expect("what it says is UTF-8");
        Self { code: output.status.code().unwrap_or(-1), stdout: output.stdout, stderr }
    }

    /// What it gave out, as text.
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.stdout).expect("the data is UTF-8")
    }

    /// What it gave out, as JSON.
    pub fn json(&self) -> Value {
        let fault = |error| panic!("{error}\nexit {}\n{}\n{}", self.code, self.text(), self.stderr);
        serde_json::from_slice(&self.stdout).unwrap_or_else(fault)
    }

    /// Ended with this code; shows everything where not.
    #[track_caller]
    pub fn ended(self, code: i32) -> Self {
        assert_eq!(self.code, code, "stdout:\n{}\nstderr:\n{}", self.text(), self.stderr);
        self
    }
}
