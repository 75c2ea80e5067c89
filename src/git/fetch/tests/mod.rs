//! Fetches from repositories on the disk, and from servers that answer badly: what the tests share.

#![cfg(unix)]

mod branches;
mod places;
mod safety;

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::steps::{self, Transport};
use super::*;
use crate::domain::forge::{PullId, PullNumber, PullState, RepoName};
use crate::sys::process::{ProcessCall, Program};
use crate::sys::repo::{Repo, object_id, raw_id};

/// A server's repository and a place for clones.
struct FetchFixture {
    folder: tempfile::TempDir,
}

fn environment(home: &Path) -> Environment {
    let mut environment = Environment::of_this_process().with("HOME", home).without("XDG_CONFIG_HOME");
    for who in ["AUTHOR", "COMMITTER"] {
        environment =
            environment.with(&format!("GIT_{who}_NAME"), "Ada").with(&format!("GIT_{who}_EMAIL"), "a@b.invalid");
        environment = environment.with(&format!("GIT_{who}_DATE"), "2024-05-01T12:00:00+02:00");
    }
    environment.with("GIT_CONFIG_NOSYSTEM", "1")
}

impl FetchFixture {
    fn new() -> Self {
        let world = Self { folder: tempfile::tempdir().unwrap() };
        for folder in ["home", "server/o", "work"] {
            std::fs::create_dir_all(world.at(folder)).unwrap();
        }
        world.git("", &["init", "-q", "--bare", "-b", "main", "server/o/r.git"]);
        world.git("", &["init", "-q", "-b", "main", "work"]);
        world.git("work", &["remote", "add", "server", &world.address()]);
        world
    }

    fn at(&self, path: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(path)
    }

    fn address(&self) -> String {
        format!("file://{}", self.at("server/o/r.git").display())
    }

    /// Runs git by hand, below the folder of the world.
    fn git(&self, folder: &str, arguments: &[&str]) -> String {
        let git = Program::find("git", &Environment::of_this_process()).unwrap();
        let arguments = ["-c", "protocol.file.allow=always"].iter().chain(arguments).map(Into::into).collect();
        let (environment, directory) = (environment(&self.at("home")), self.at(folder));
        let call = ProcessCall { arguments, environment, directory, most: 1 << 20 };
        let ended = git.run(&call, &Cancel::never()).unwrap();
        assert!(ended.success, "{:?}: {}", call.arguments, String::from_utf8_lossy(&ended.errors));
        String::from_utf8(ended.output).unwrap().trim().to_owned()
    }

    fn commit(&self, subject: &str) -> CommitId {
        // By the library: some of these histories are long.
        let repo = git2::Repository::open(self.at("work")).unwrap();
        let who = git2::Signature::new("Ada", "a@b.invalid", &git2::Time::new(1_714_557_600, 120)).unwrap();
        let parent = repo.head().ok().map(|head| head.peel_to_commit().unwrap());
        let tree = repo.find_tree(repo.treebuilder(None).unwrap().write().unwrap()).unwrap();
        let parents: Vec<_> = parent.iter().collect();
        CommitId(object_id(repo.commit(Some("HEAD"), &who, &who, subject, &tree, &parents).unwrap()))
    }

    /// A branch `main` of so many commits, and a pull request of two that leaves it so many commits before its tip.
    fn pull(&self, length: usize, behind: usize) -> (PullRequest, CommitId) {
        for n in 0..length - behind {
            self.commit(&format!("main {n}"));
        }
        let met = self.git("work", &["rev-parse", "HEAD"]).parse().map(CommitId).unwrap();
        self.git("work", &["branch", "topic"]);
        for n in 0..behind {
            self.commit(&format!("later {n}"));
        }
        let base = self.git("work", &["rev-parse", "HEAD"]).parse().map(CommitId).unwrap();
        self.git("work", &["checkout", "-q", "topic"]);
        self.commit("topic 1");
        let head = self.commit("topic 2");
        self.git("work", &["push", "-q", "server", "main", "topic:refs/pull/7/head"]);
        self.git("work", &["checkout", "-q", "main"]);
        (pull(base, head), met)
    }

    fn job(&self, place: RepositoryPlace) -> FetchJob {
        FetchJob {
            place,
            mirrors: self.at("cache/mirrors"),
            server: format!("file://{}", self.at("server").display()),
            address: self.address(),
            authorization: None,
            environment: environment(&self.at("home")),
        }
    }

    fn here(&self, clone: &str) -> FetchJob {
        let folder = Repo::open(&self.at(clone)).unwrap().git_dir().to_owned();
        self.job(RepositoryPlace::Here { folder, ssh: None })
    }

    /// All of a git folder but its objects and where its history is cut.
    fn kept(&self, folder: &str) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut found = BTreeMap::new();
        let mut folders = vec![self.at(folder)];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(&folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    if path.file_name().is_none_or(|name| name != "objects") {
                        folders.push(path);
                    }
                } else if path.file_name().is_none_or(|name| name != "shallow") {
                    found.insert(path.clone(), std::fs::read(&path).unwrap());
                }
            }
        }
        found
    }

    /// A program that leaves a trace when somebody runs it.
    fn canary(&self) -> PathBuf {
        let path = self.at("canary");
        std::fs::write(&path, format!("#!/bin/sh\ntouch '{}'\n", self.at("sung").display())).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path
    }
}

fn pull(base: CommitId, head: CommitId) -> PullRequest {
    PullRequest {
        id: PullId { repo: RepoName::new("o", "r").unwrap(), number: PullNumber::new(7).unwrap() },
        node: "PR_7".to_owned(),
        url: "https://forge.invalid/o/r/pull/7".to_owned(),
        title: String::new(),
        body: String::new(),
        state: PullState::Open,
        is_draft: false,
        author: None,
        association: "NONE".to_owned(),
        head_ref: "topic".to_owned(),
        base_ref: "main".to_owned(),
        head,
        base,
        head_repo: None,
        mergeable: None,
        review_decision: None,
        created_at: String::new(),
        updated_at: String::new(),
        additions: 0,
        deletions: 0,
        changed_files: 0,
    }
}

fn run(job: &FetchJob, pull: &PullRequest) -> Result<FetchedCommits, FetchError> {
    steps::fetch(job, &WantedCommits::pull(pull), Transport::File, &Cancel::after(Duration::from_mins(1)))
}

fn merge_base(fetched: &FetchedCommits) -> CommitId {
    let repo = Repo::open(&fetched.directory).unwrap();
    CommitId(object_id(repo.raw().merge_base(raw_id(fetched.base.0), raw_id(fetched.head.0)).unwrap()))
}
