//! A step of a workflow: the program as a runner starts it, on a fixture event, against the fake GitHub. Main types: [`Step`], [`Stepped`].

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use serde_json::Value;

use super::github::{Fake, Pull, TOKEN};
use super::model::{KEY, Options, Server, Session, Wire};
use super::{Program, Ran, TestRepo};

/// A workflow's step that is about to run.
pub struct Step {
    pub work: TestRepo,
    pub fake: Fake,
    pub pull: Pull,
    pub server: Option<Server>,
    variables: BTreeMap<String, String>,
    program: Program,
    folder: tempfile::TempDir,
}

/// What came of a step.
pub struct Stepped {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
    pub outputs: BTreeMap<String, String>,
    pub summary: String,
}

impl Step {
    /// For a pull request that adds these files; nothing is checked out, and the built-in rules review.
    pub fn new(files: &[(&str, String)]) -> Self {
        let work = TestRepo::new();
        work.write("README", "read me\n").commit("begin");
        work.branch("feature");
        for (path, text) in files {
            work.write(path, text);
        }
        if files.is_empty() {
            work.git(["commit", "-q", "--allow-empty", "-m", "nothing"]);
        } else {
            work.commit("a change");
        }
        Self::of(work, "ada", None)
    }

    /// For the branch `feature` of a repository.
    pub fn of(work: TestRepo, author: &str, fork: Option<&str>) -> Self {
        let fake = Fake::start();
        let mut pull = fake.pull("octo", "demo", 7).author(author);
        if let Some(fork) = fork {
            pull = pull.fork(fork);
        }
        let pull = pull.open(&work, "main", "feature");
        Self::on(work, fake, pull)
    }

    /// For a pull request that is there already.
    pub fn on(work: TestRepo, fake: Fake, pull: Pull) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let workspace = folder.path().join("workspace");
        for name in ["workspace", "temp", "commands"] {
            std::fs::create_dir(folder.path().join(name)).expect("a folder");
        }
        let program = Program::in_folder(&workspace);
        let mut step = Self { work, fake, pull, server: None, variables: BTreeMap::new(), program, folder };
        for (name, value) in step.fake.env() {
            step.set(name, &value);
        }
        for (name, at) in [
            ("GITHUB_WORKSPACE", "workspace"),
            ("RUNNER_TEMP", "temp"),
            ("GITHUB_OUTPUT", "commands/output"),
            ("GITHUB_STEP_SUMMARY", "commands/summary"),
            ("XDG_CACHE_HOME", "cache"),
        ] {
            let path = step.path(at).display().to_string();
            step.set(name, &path);
        }
        for file in ["commands/output", "commands/summary"] {
            std::fs::write(step.path(file), "").expect("a file");
        }
        step.set("GITHUB_ACTIONS", "true");
        step.set("GITHUB_REPOSITORY", "octo/demo");
        step.with("model", "none").event("pull_request", "pull_request", |_| {})
    }

    /// With a model that follows a script, instead of the rules. A second look would be one more conversation.
    pub fn with_model(self, session: Session) -> Self {
        let wire = Wire::Messages;
        let server = Server::start(session, Options { wire: Some(wire), ..Options::default() });
        let address = server.address().to_owned();
        let step = self.with("model", "anthropic/scripted").with("key", KEY).with("base-url", &address);
        Self { server: Some(server), ..step.with("verify", "none") }
    }

    /// With an input; an empty one takes it away.
    pub fn with(mut self, input: &str, value: &str) -> Self {
        self.set(&format!("INPUT_{}", input.replace('-', "_").to_uppercase()), value);
        self
    }

    /// With a variable.
    pub fn with_variable(mut self, name: &str, value: &str) -> Self {
        self.set(name, value);
        self
    }

    fn set(&mut self, name: &str, value: &str) {
        self.variables.insert(name.to_owned(), value.to_owned());
    }

    /// For another event: a file of `fixtures/events`, with the commits of the pull request in it, and changed.
    pub fn event(mut self, name: &str, file: &str, change: impl FnOnce(&mut Value)) -> Self {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/events").join(format!("{file}.json"));
        let state = self.pull.state();
        let text = std::fs::read_to_string(path).expect("a fixture");
        let text = text.replace(&"a".repeat(40), &state.base).replace(&"b".repeat(40), &state.head);
        let mut payload = serde_json::from_str(&text).expect("JSON");
        change(&mut payload);
        let at = self.path("commands/event.json");
        std::fs::write(&at, payload.to_string()).expect("a file");
        self.set("GITHUB_EVENT_NAME", name);
        self.set("GITHUB_EVENT_PATH", &at.display().to_string());
        self
    }

    /// A path of the runner.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The variables that the runner sets.
    pub fn variables(&self) -> &BTreeMap<String, String> {
        &self.variables
    }

    /// The program, not started yet.
    pub fn command(&self) -> Command {
        let mut command = self.program.command(["action"]);
        command.envs(&self.variables);
        command
    }

    /// Runs it to its end.
    pub fn run(&self) -> Stepped {
        self.ended(self.command().spawn().expect("the program starts"))
    }

    /// Waits for its end, and holds what it gave out against what is always so.
    pub fn ended(&self, child: Child) -> Stepped {
        let ran = Ran::wait(child);
        self.stepped(ran.code, ran.text().to_owned(), ran.stderr)
    }

    /// What came of a run of which this is known.
    pub fn stepped(&self, code: i32, stdout: String, stderr: String) -> Stepped {
        let read = |name: &str| std::fs::read_to_string(self.path(name)).expect("a file");
        let (outputs, summary) = (outputs(&read("commands/output")), read("commands/summary"));
        let stepped = Stepped { code, stdout, stderr, outputs, summary };
        stepped.holds_no_secret();
        stepped
    }

    /// That the scripts of the fakes were followed.
    pub fn finish(self) {
        if let Some(server) = self.server {
            server.finish();
        }
        self.fake.finish();
    }
}

/// Reads the file of outputs as a runner does: `name<<end`, lines, `end`.
pub fn outputs(text: &str) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if let Some((name, end)) = line.split_once("<<") {
            let value: Vec<&str> = lines.by_ref().take_while(|line| *line != end).collect();
            found.insert(name.to_owned(), value.join("\n"));
        } else {
            let (name, value) = line.split_once('=').unwrap_or_else(|| panic!("no output: {line:?}"));
            found.insert(name.to_owned(), value.to_owned());
        }
    }
    found
}

impl Stepped {
    /// An output; empty where there is none.
    pub fn output(&self, name: &str) -> &str {
        self.outputs.get(name).map_or("", String::as_str)
    }

    /// The lines that a runner obeys: of both streams, the new form and the old.
    pub fn commands(&self) -> Vec<&str> {
        let all = self.stdout.lines().chain(self.stderr.lines());
        all.filter(|line| line.trim_start().starts_with("::") || line.contains("##[") || line.contains("##vso["))
            .collect()
    }

    /// Commands of a kind.
    pub fn said(&self, kind: &str) -> Vec<&str> {
        let start = format!("::{kind}");
        self.commands().into_iter().filter(|line| line.starts_with(&start)).collect()
    }

    /// Neither the key nor the token is anywhere, but for the line that has the runner blot the key out.
    fn holds_no_secret(&self) {
        let masked = format!("::add-mask::{KEY}\n");
        let texts = [self.stdout.replacen(&masked, "", 1), self.stderr.clone(), self.summary.clone()];
        let outputs = self.outputs.values().cloned();
        for text in texts.into_iter().chain(outputs) {
            assert!(!text.contains(KEY) && !text.contains(TOKEN), "a secret is shown: {text}");
        }
    }

    /// Ended so; shows everything where not.
    #[track_caller]
    pub fn came_to(&self, outcome: &str, code: i32) -> &Self {
        assert_eq!((self.output("outcome"), self.code), (outcome, code), "{self}");
        self
    }
}

impl std::fmt::Display for Stepped {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { code, stdout, stderr, outputs, summary } = self;
        write!(f, "exit {code}\n{outputs:#?}\n-- stdout\n{stdout}\n-- stderr\n{stderr}\n-- summary\n{summary}")
    }
}
