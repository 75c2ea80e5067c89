//! A pull request on a fake GitHub, and the program that reviews and posts on it. Main type: [`Desk`].

use std::path::PathBuf;

use serde_json::Value;

use super::github::{Fake, Pull};
use super::{Program, Ran, TestRepo};

/// A function with a finding of high severity: an assertion on a tuple.
pub fn bad(name: &str) -> String {
    format!("def {name}(done):\n    assert (done, '{name} is not done')\n\n\n")
}

/// A function with nothing to find.
pub fn good(name: &str) -> String {
    format!("def {name}(done):\n    return done\n\n\n")
}

/// So many files with so many findings each.
pub fn many(files: usize, each: usize, name: &str) -> Vec<(&'static str, String)> {
    let file = |at: usize| {
        let text = (0..each).map(|one| bad(&format!("{name}{at}_{one}"))).collect();
        let path: &'static str = Box::leak(format!("many/m{at}.py").into_boxed_str());
        (path, text)
    };
    (0..files).map(file).collect()
}

/// A repository with a pull request, and the program in it.
pub struct Desk {
    pub work: TestRepo,
    pub fake: Fake,
    pub pull: Pull,
    pub program: Program,
}

impl Desk {
    /// A pull request that adds these files to `main`.
    pub fn new(files: &[(&str, String)]) -> Self {
        Self::on(Fake::start(), "ada", files)
    }

    /// The same on a fake that is prepared already, by an author.
    pub fn on(fake: Fake, author: &str, files: &[(&str, String)]) -> Self {
        Self::of(fake, author, None, files)
    }

    /// The same from a fork.
    pub fn of_fork(fake: Fake, author: &str, fork: &str, files: &[(&str, String)]) -> Self {
        Self::of(fake, author, Some(fork), files)
    }

    fn of(fake: Fake, author: &str, fork: Option<&str>, files: &[(&str, String)]) -> Self {
        let work = TestRepo::new();
        work.write("README", "read me\n").commit("begin");
        work.branch("feature");
        for (path, text) in files {
            work.write(path, text);
        }
        work.commit("a change");
        let pull = fake.pull("octo", "demo", 7).author(author);
        let pull = match fork {
            Some(fork) => pull.fork(fork),
            None => pull,
        };
        let pull = pull.open(&work, "main", "feature");
        let mut program = Program::in_folder(work.root());
        for (name, value) in fake.env() {
            program = program.with(name, &value);
        }
        Self { work, fake, pull, program }
    }

    /// Commits files and pushes them.
    pub fn push(&self, files: &[(&str, String)]) -> String {
        for (path, text) in files {
            self.work.write(path, text);
        }
        self.work.commit("more");
        self.pull.push(&self.work, "feature")
    }

    /// Reviews the pull request without posting.
    pub fn review(&self) -> Ran {
        self.program.words("--pr octo/demo#7 --no-model --quiet").ended(0)
    }

    /// Reviews and posts.
    pub fn review_and_post(&self, more: &str) -> Ran {
        self.program.words(&format!("--pr octo/demo#7 --no-model --post {more}"))
    }

    /// Posts the newest review. It is named by its id: it is of a mirror, because the repository has no remote.
    pub fn post(&self, more: &str) -> Ran {
        let record = |folder: PathBuf| -> Value {
            serde_json::from_slice(&std::fs::read(folder.join("run.json")).expect("a record")).expect("JSON")
        };
        let started = |record: &Value| record["started_at"].to_string();
        let newest = self.program.kept().into_iter().map(record).max_by_key(started).expect("a review");
        self.program.words(&format!("post {} {more}", newest["id"].as_str().expect("an id")))
    }

    /// The newest receipt.
    pub fn receipt(&self) -> Value {
        let newest = self.program.kept().into_iter().map(|folder| folder.join("delivery.json"));
        let newest = newest.filter(|file| file.exists());
        let newest =
            newest.max_by_key(|file| std::fs::metadata(file).expect("it is there").modified().expect("a time"));
        serde_json::from_slice(&std::fs::read(newest.expect("a receipt")).expect("a receipt")).expect("JSON")
    }

    /// How often each act stands in the newest receipt.
    pub fn counts(&self) -> Value {
        self.receipt()["counts"].clone()
    }

    /// The one summary of ours.
    #[track_caller]
    pub fn summary(&self) -> String {
        let all: Vec<String> = self.pull.comments().into_iter().map(|said| said.body).collect();
        let mut ours: Vec<&String> = all.iter().filter(|body| body.contains("<!-- review:summary ")).collect();
        assert_eq!(ours.len(), 1, "{all:?}");
        ours.remove(0).clone()
    }

    /// Requests so far that change something: REST by method and path, GraphQL by its mutation where it is one of threads.
    pub fn writes(&self) -> usize {
        let of_rest =
            self.fake.asked().into_iter().filter(|(method, path)| method != "GET" && !path.contains("graphql")).count();
        let of_threads = self.pull.threads().iter().filter(|thread| thread.resolved).count();
        of_rest + of_threads
    }
}
