//! Inputs on which a library or the system never comes back: each run ends with its receipt and its exit code.

use std::io::Write as _;
use std::process::Stdio;

use serde_json::json;

use crate::support::git_command;
use crate::support::mcp::{Client, Era};
use crate::support::{Limits, Program, TestRepo, pipe};

const ENDS: Limits = Limits { seconds: 60, megabytes: 500 };

fn defect() -> TestRepo {
    let repo = TestRepo::new();
    repo.write("a.py", "x = 1\n").commit("Begin");
    repo.branch("feature").write("a.py", "x = eval(input())\n").commit("Evaluate");
    repo
}

/// Cuts the loose object that a revision names to half its size.
fn cut(repo: &TestRepo, revision: &str) {
    let id = repo.git(["rev-parse", revision]);
    let (folder, name) = id.trim().split_at(2);
    let path = repo.root().join(".git/objects").join(folder).join(name);
    let bytes = std::fs::read(&path).expect("a loose object");
    std::fs::remove_file(&path).expect("the whole one goes");
    std::fs::write(&path, &bytes[..bytes.len() / 2]).expect("half of it");
}

/// Two commits, each with the same parents, as many of them: finding where they met takes a time that grows with the square.
fn many_parents(repo: &TestRepo, parents: usize) {
    let mut commands = String::new();
    for n in 0..parents {
        commands.push_str(&format!(
            "commit refs/r/{n}\ncommitter a <a@example.invalid> {} +0000\ndata 1\nx\n",
            1_700_000_000 + n
        ));
    }
    let fed = |words: &[&str], input: &str| {
        let mut git = git_command(repo.root());
        let mut git = git.args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("git starts");
        git.stdin.take().expect("a pipe").write_all(input.as_bytes()).expect("git reads");
        String::from_utf8(git.wait_with_output().expect("git ends").stdout).expect("an id").trim().to_owned()
    };
    fed(&["fast-import", "--quiet"], &commands);
    let tree = repo.git(["rev-parse", "HEAD^{tree}"]);
    let listed = repo.git(["for-each-ref", "--format=parent %(objectname)", "refs/r"]);
    let parents = format!("{}\n", listed.trim_end());
    let who = "a <a@example.invalid> 1700000000 +0000";
    for branch in ["main", "feature"] {
        let text = format!("tree {tree}{parents}author {who}\ncommitter {who}\n\n{branch}\n");
        let commit = fed(&["hash-object", "-t", "commit", "-w", "--stdin"], &text);
        repo.git(["update-ref", &format!("refs/heads/{branch}"), &commit]);
    }
}

#[test]
fn an_object_that_was_cut_short_is_damaged_at_once() {
    for revision in ["feature", "feature^{tree}", "feature:a.py", "main", "main:a.py"] {
        let repo = defect();
        cut(&repo, revision);
        let program = Program::in_folder(repo.root());
        let ran = program.confined(["--target", "main", "--no-model", "--timeout", "5m"], ENDS);
        let told = format!("{}{}", ran.text(), ran.stderr).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            matches!(ran.code, 2 | 3) && told.contains("is damaged; run `git fsck`"),
            "{revision}: exit {}\n{told}",
            ran.code
        );
    }
}

#[test]
fn every_command_says_that_a_cut_commit_is_damaged() {
    let repo = defect();
    cut(&repo, "feature");
    let program = Program::in_folder(repo.root());
    for words in [&["config"][..], &["doctor", "--offline"], &["tool", "list_files", "{}"], &["guidelines", "list"]] {
        let ran = program.confined(words, ENDS);
        let told = format!("{}{}", ran.text(), ran.stderr).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(ran.code != 0 && told.contains("damaged; run `git fsck`"), "{words:?}: exit {}\n{told}", ran.code);
    }
}

#[cfg(unix)]
#[test]
fn a_pipe_that_nobody_writes_to_costs_the_time_limit_and_is_named() {
    let repo = defect();
    let fifo = repo.beside("fifo");
    pipe(&fifo);
    let fifo = fifo.to_str().expect("a path");
    let program = Program::in_folder(repo.root());
    std::thread::scope(|scope| {
        for option in ["--leads", "--previous", "--instructions", "--diff"] {
            let program = &program;
            scope.spawn(move || {
                let mut words = vec!["--no-model", "--timeout", "1s", option, fifo];
                words.extend(["--target", "main"].iter().filter(|_| option != "--diff"));
                let ran = program.confined(words, ENDS).ended(3);
                assert!(ran.stderr.contains("did not end: the time limit was reached"), "{option}: {}", ran.stderr);
            });
        }
    });
}

#[cfg(unix)]
#[test]
fn a_pipe_among_the_files_of_git_does_not_outlast_the_limit() {
    let repo = defect();
    pipe(&repo.root().join(".git/packed-refs"));
    let program = Program::in_folder(repo.root());
    let ran = program.confined(["--target", "main", "--no-model", "--timeout", "1s"], ENDS);
    assert!(matches!(ran.code, 2 | 3), "exit {}: {}", ran.code, ran.stderr);
}

#[test]
#[ignore = "takes long; .ci/run runs it"]
fn exhaustive_a_history_that_takes_forever_ends_with_the_limit() {
    let repo = TestRepo::new();
    repo.write("a.py", "x = 1\n").commit("Begin");
    repo.git(["checkout", "-q", "--detach"]);
    many_parents(&repo, 20_000);
    let program = Program::in_folder(repo.root());
    let ran =
        program.confined(["--target", "main", "--head", "feature", "--no-model", "--timeout", "1s"], ENDS).ended(3);
    assert!(ran.stderr.contains("collecting the change did not end: the time limit"), "{}", ran.stderr);
}

#[cfg(unix)]
#[test]
fn calls_of_a_server_that_are_stuck_do_not_use_its_workers_up() {
    let repo = defect();
    let packed = repo.root().join(".git/packed-refs");
    let program = Program::in_folder(repo.root());
    let mut client = Client::stdio(&program, "--no-model", Era::Session("2025-11-25"));
    pipe(&packed);
    let stuck = |client: &mut Client| {
        client.begin("tools/call", json!({ "name": "list_files", "arguments": { "at": "no-such-branch" } }))
    };
    // More than run at once.
    let stuck: Vec<u64> = (0..20).map(|_| stuck(&mut client)).collect();
    for id in stuck {
        client.say(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } }));
    }
    std::fs::remove_file(&packed).expect("the pipe goes");
    let files = client.tool("list_files", json!({ "at": "feature" }));
    assert!(files.to_string().contains("a.py"), "{files}");
    client.close();
}

#[test]
fn an_object_that_holds_something_else_than_its_name_says_is_damaged() {
    for revision in ["feature^{tree}", "feature:a.py"] {
        let repo = defect();
        let path = |revision: &str| {
            let id = repo.git(["rev-parse", revision]);
            let (folder, name) = id.trim().split_at(2);
            repo.root().join(".git/objects").join(folder).join(name)
        };
        let other = std::fs::read(path(&revision.replace("feature", "main"))).expect("a loose object");
        let place = path(revision);
        std::fs::remove_file(&place).expect("the true one goes");
        std::fs::write(&place, other).expect("another one of its kind");
        let program = Program::in_folder(repo.root());
        let ran = program.confined(["--target", "main", "--no-model"], ENDS);
        let told = format!("{}{}", ran.text(), ran.stderr).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(matches!(ran.code, 2 | 3) && told.contains("damaged"), "{revision}: exit {}\n{told}", ran.code);
    }
}
