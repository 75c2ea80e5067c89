//! References of presented documents against real trees: a revision and the disk.

#![allow(clippy::expect_used, reason = "the steps of a test fail loudly")]

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use review_runner::document::{ReferenceStyle, references, rewrite};
use review_runner::domain::filter::PathFilter;
use review_runner::domain::place::{DiffSide, WorkspaceAt};
use review_runner::domain::presented::CheckedRef;
use review_runner::evidence::references::{ReferenceBase, check};
use review_runner::sys::cancel::Cancel;
use review_runner::sys::repo::{Repo, RepoPool};
use review_runner::workspace::{self, Workspace};

use crate::support::TestRepo;

fn project() -> TestRepo {
    let repo = TestRepo::new();
    repo.write("src/auth.ts", "import x\n\nexport function validateUser(name) {\n  return true\n}\n")
        .write("src/models/user.ts", "export class User {}\n")
        .write("docs/guide.md", "# Guide\n\n## Set up\n")
        .write("logo.png", b"\x89PNG\r\n\x1a\n\0\0\0")
        .write("key.txt", ["key = AKIA", "QWERTYUIOPASDFGH", "\n"].concat());
    std::os::unix::fs::symlink("/etc", repo.root().join("outside")).expect("a link");
    std::os::unix::fs::symlink("src", repo.root().join("inside")).expect("a link");
    repo.commit("project");
    repo
}

fn open(repo: &TestRepo, at: WorkspaceAt) -> Arc<dyn Workspace> {
    let pool = RepoPool::new(Repo::open(repo.root()).expect("a repository"));
    workspace::open(Some(&pool), at, DiffSide::New, &[], PathFilter::all()).expect("a tree")
}

fn head(repo: &TestRepo) -> WorkspaceAt {
    WorkspaceAt::Revision(Repo::open(repo.root()).expect("a repository").commit("HEAD").expect("a commit"))
}

fn checked(repo: &TestRepo, at: WorkspaceAt, folder: &str, markdown: &str) -> Vec<CheckedRef> {
    let base = ReferenceBase { folder: folder.as_bytes(), root: Some(repo.root()) };
    check(references(markdown), base, &*open(repo, at), &Cancel::never()).expect("an answer")
}

fn told(references: &[CheckedRef]) -> String {
    let mut out = String::new();
    for reference in references {
        let _ = match &reference.found {
            Ok(place) => {
                let lines = place.lines.map(|lines| format!(":{}-{}", lines.start(), lines.end())).unwrap_or_default();
                writeln!(out, "{}{lines} {}", place.path, place.preview.as_deref().unwrap_or("-"))
            }
            Err(broken) => writeln!(out, "{}: {} {:?}", reference.to.path, broken.why, broken.near),
        };
    }
    out
}

const DOCUMENT: &str = "\
[a](src/auth.ts) [b](src/auth.ts#L3-L5) [c](src/auth.ts?function validateUser) [`src/models/user.ts:1`][] src/auth.ts:4
[folder](src/models/) [image](logo.png) [lines of an image](logo.png#L1) [guide](docs/guide.md#set-up) [key](key.txt#L1)
[gone](src/usr.ts#L1) [far](src/auth.ts#L90) [none](src/auth.ts?nothing) [up](../../etc/passwd) [root](/etc/passwd#L1) [git](.git/config)
[link](outside/passwd) [link](outside/passwd#L1) [link](inside/auth.ts)
";

#[test]
fn a_revision_and_the_disk_give_the_same_answers() {
    let repo = project();
    let at_head = told(&checked(&repo, head(&repo), "", DOCUMENT));
    assert_eq!(told(&checked(&repo, WorkspaceAt::Worktree, "", DOCUMENT)), at_head);
    insta::assert_snapshot!(at_head);
}

#[test]
fn what_stands_is_written_for_a_forge_and_for_a_terminal_and_the_rest_is_text() {
    let repo = project();
    let markdown = "See [the check](auth.ts?function validateUser), [User](models/user.ts#L1), [out](outside/passwd) and [gone](gone.ts).\n";
    let references = checked(&repo, head(&repo), "src", markdown);
    let blob = "https://forge.example/o/r/blob/0a1b/".to_owned();
    assert_eq!(
        rewrite(markdown, &references, &ReferenceStyle::Forge { blob }),
        "See [the check](https://forge.example/o/r/blob/0a1b/src/auth.ts#L3), \
         [User](https://forge.example/o/r/blob/0a1b/src/models/user.ts#L1), out and gone.\n"
    );
    assert_eq!(
        rewrite(markdown, &references, &ReferenceStyle::Osc8 { root: Path::new("/w").to_owned() }),
        "See \x1b]8;;file:///w/src/auth.ts\x1b\\the check (src/auth.ts:3)\x1b]8;;\x1b\\, \
         \x1b]8;;file:///w/src/models/user.ts\x1b\\User (src/models/user.ts:1)\x1b]8;;\x1b\\, out and gone.\n"
    );
}

#[test]
fn a_project_with_many_files_is_searched_for_names_a_bounded_number_of_times() {
    let repo = TestRepo::new();
    for number in 0..300 {
        repo.write(format!("src/part{number}/module.rs"), "fn f() {}\n");
    }
    repo.commit("many");
    let mut markdown = String::new();
    for number in 0..400 {
        let _ = write!(markdown, "lib/part{number}/module.rs:1 ");
    }
    let references = checked(&repo, head(&repo), "", &markdown);
    assert_eq!(references.len(), 400);
    assert!(references.iter().all(|reference| reference.found.is_err()));
    assert_eq!(references[7].found.as_ref().unwrap_err().near[0], "src/part7/module.rs:1");
}
