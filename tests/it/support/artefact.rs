//! A pull request of a fork, what an untrusted job left of its review, and a trusted job that is to post it. Main type: [`Fork`].

use std::path::{Path, PathBuf};
use std::time::Duration;

use review_runner::app::{
    self, AppError, ArtefactError, Cancel, ExpectedArtefact, ForgeEnvironment, Overrides, PostOptions, PostOutcome,
    ProcessEnv, ProviderEnvironment,
};
use review_runner::domain::event::{Event, EventSink};
use review_runner::sys::process::Environment;
use serde_json::{Value, json};

use super::github::Fake;
use super::posting::{Desk, bad, good};
use super::{Program, Ran};

struct Quiet;

impl EventSink for Quiet {
    fn emit(&self, _: Event) {}
}

/// A pull request of `mallory/demo` into `octo/demo`, and the artefact of its review.
pub struct Fork {
    pub desk: Desk,
    /// The folder of the artefact.
    pub folder: PathBuf,
    /// The head when it was made.
    pub head: String,
    runtime: tokio::runtime::Runtime,
}

impl Fork {
    /// One that changes these files; reviewed with the built-in rules.
    pub fn with(files: &[(&str, String)]) -> Self {
        Self::on(Fake::start(), files)
    }

    /// The same on a fake of one's own.
    pub fn on(fake: Fake, files: &[(&str, String)]) -> Self {
        let desk = Desk::of_fork(fake, "mallory", "mallory/demo", files);
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let folder = desk.work.beside("artefact");
        std::fs::create_dir(&folder).unwrap();
        let mut fork = Self { desk, folder, head: String::new(), runtime };
        fork.review();
        fork
    }

    /// One with two findings in one file and none in another.
    pub fn usual() -> Self {
        Self::with(&[("a.py", format!("{}{}", bad("one"), bad("two"))), ("b.py", good("three"))])
    }

    /// Reviews the head as the untrusted job does, and leaves the artefact.
    pub fn review(&mut self) {
        self.desk.pull.state().head.clone_into(&mut self.head);
        let file = self.file();
        let output = format!("json={}", file.display());
        let words = ["--pr", "octo/demo#7", "--no-model", "--quiet", "--output", &output];
        self.desk.program.run(words).ended(0);
    }

    /// The file that is read.
    pub fn file(&self) -> PathBuf {
        self.folder.join("review.json")
    }

    /// What the artefact says.
    pub fn document(&self) -> Value {
        serde_json::from_slice(&std::fs::read(self.file()).unwrap()).unwrap()
    }

    /// Says something else.
    pub fn tamper(&self, change: impl FnOnce(&mut Value)) {
        let mut document = self.document();
        change(&mut document);
        std::fs::write(self.file(), format!("{document:#}\n")).unwrap();
    }

    /// What the event says of the run that made it.
    pub fn expected(&self) -> ExpectedArtefact {
        ExpectedArtefact {
            repository: "octo/demo".parse().unwrap(),
            head: review_runner::domain::id::CommitId(self.head.parse().unwrap()),
            head_repository: Some("mallory/demo".parse().unwrap()),
            pull: None,
        }
    }

    /// Posts it as the trusted job does, from inside the program.
    pub fn post(&self) -> Result<PostOutcome, AppError> {
        self.post_as(self.expected(), &PostOptions::default(), &Overrides::default())
    }

    /// The same with something else expected or asked for.
    pub fn post_as(
        &self,
        expected: ExpectedArtefact,
        options: &PostOptions,
        flags: &Overrides,
    ) -> Result<PostOutcome, AppError> {
        let work = &self.desk.work;
        let variables = self.desk.fake.env();
        let forge = ForgeEnvironment::of(|name| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.clone())
        });
        let programs = Environment::of_this_process().with("HOME", work.beside("home"));
        let around = ProcessEnv {
            user_settings: None,
            environment: Vec::new(),
            providers: ProviderEnvironment::default(),
            forge: forge.with_git(programs, work.beside("mirrors")),
            state: work.beside("state"),
            store: review_runner::app::Store::at(&work.beside("state")),
            parser: None,
        };
        let cancel = Cancel::after(Duration::from_mins(1));
        self.runtime.block_on(app::post_artefact(&self.folder, expected, options, flags, &around, &Quiet, &cancel))
    }

    /// Why it is refused; nothing may have been sent.
    #[track_caller]
    pub fn refused(&self) -> ArtefactError {
        let posted = self.post();
        let refused = posted.as_ref().err().and_then(AppError::of_use_case::<ArtefactError>).cloned();
        let error = refused.unwrap_or_else(|| panic!("it was to be refused: {posted:?}"));
        let pull = self.desk.pull.state();
        assert_eq!((pull.reviews.len(), pull.threads.len(), pull.comments.len()), (0, 0, 0), "{error}");
        assert!(error.to_string().starts_with("nothing was posted: "), "{error}");
        error
    }

    /// Posts it with the command line, on what the trusted job knows.
    pub fn program(&self, more: &str) -> Ran {
        let folder = self.folder.display().to_string();
        let words = ["post", "--from", &folder, "--pr", "octo/demo#7", "--head", &self.head, "--quiet"];
        self.desk.program.run(words.into_iter().chain(more.split_whitespace()))
    }

    /// Our texts on the pull request whose mark begins so: summaries.
    pub fn summaries(&self, mark: &str) -> Vec<String> {
        let all = self.desk.pull.comments().into_iter().map(|said| said.body);
        all.filter(|body| body.contains(&format!("<!-- review:{mark} "))).collect()
    }
}

/// A program that knows of nothing but the fake.
pub fn stranger(fake: &Fake, folder: &Path) -> Program {
    Program::in_folder(folder).with_all(fake.env())
}

/// A finding of the artefact, to be changed.
pub fn finding(document: &mut Value, at: usize) -> &mut Value {
    &mut document["findings"][at]
}

/// Removes the counts that go with the findings, as they are now.
pub fn recount(document: &mut Value) {
    let findings = document["findings"].as_array().cloned().unwrap_or_default();
    let open: Vec<&Value> =
        findings.iter().filter(|one| !matches!(one["status"].as_str(), Some("fixed" | "dismissed"))).collect();
    let counted = |of: &dyn Fn(&Value) -> String| {
        let mut counts: std::collections::BTreeMap<String, u64> = std::collections::BTreeMap::new();
        for one in &open {
            *counts.entry(of(one)).or_default() += 1;
        }
        json!(counts)
    };
    let by_severity = counted(&|one| one["severity"].as_str().unwrap_or_default().to_owned());
    let by_file = counted(&|one| one["anchors"][0]["path"].as_str().unwrap_or_default().to_owned());
    let summary = &mut document["summary"];
    summary["total"] = findings.len().into();
    summary["resolved"] = (findings.len() - open.len()).into();
    summary["unresolved"] = open.len().into();
    summary["bySeverity"] = by_severity;
    summary["byFile"] = by_file;
}
