//! `review open --live`: a page on this machine that follows a review.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Stdio};

use serde_json::json;

use crate::support::model::Wire;
use crate::support::session::{Talk, shop};
use crate::support::sitting::{resumed, session, steps};
use crate::support::{Program, Ran, TestRepo};

struct Serving {
    child: Child,
    address: String,
    path: String,
}

impl Serving {
    fn start(program: &Program) -> Self {
        let mut command = program.command(["open", "--live", "--print"]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it starts");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut line).expect("an address");
        let (address, path) = line.trim().strip_prefix("http://").and_then(|rest| rest.split_once('/')).expect("a URL");
        Self { address: address.to_owned(), path: format!("/{path}"), child }
    }

    fn get(&self, path: &str, host: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).expect("it listens");
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").expect("it reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("text");
        answer
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn branch() -> (TestRepo, Program) {
    let repo = TestRepo::new();
    repo.write("a", "a\n").commit("begin");
    repo.branch("topic")
        .write("cart.py", "def add(item, items=[]):\n    items.append(item)\n    return items\n")
        .commit("add");
    let program = Program::in_folder(repo.root());
    (repo, program)
}

#[test]
fn a_review_is_served_to_the_one_who_has_its_address_only() {
    let (_repo, program) = branch();
    program.words("open --live --print").ended(2);
    program.words("--target main").ended(0);
    let serving = Serving::start(&program);
    let page = serving.get(&serving.path, &serving.address);
    assert!(page.starts_with("HTTP/1.1 200") && page.contains("Mutable default argument"), "{page}");
    let head = page.split("\r\n\r\n").next().unwrap().to_lowercase();
    assert!(head.contains("cache-control: no-store") && head.contains("x-frame-options: deny"), "{head}");
    assert!(!head.contains("refresh"), "it is done: {head}");
    let port = serving.address.rsplit(':').next().unwrap();
    assert!(serving.get(&serving.path, &format!("localhost:{port}")).starts_with("HTTP/1.1 200"));
    for host in ["evil.example", &format!("evil.example:{port}"), "127.0.0.1"] {
        assert!(serving.get(&serving.path, host).starts_with("HTTP/1.1 403"), "{host}");
    }
    for path in ["/", "/x/", "/00000000-0000-4000-8000-000000000000/"] {
        assert!(serving.get(path, &serving.address).starts_with("HTTP/1.1 404"), "{path}");
    }
}

#[test]
fn a_run_that_is_not_done_is_followed_until_it_is() {
    let repo = shop();
    let mut all = steps("found_then_hang");
    all.push(json!({ "when": { "turn": 1 }, "say": { "calls": [{ "name": "finish_review", "input": { "summary": "One finding.", "no_findings_reason": "All was read." } }] } }));
    let talk = Talk::scripted(&repo, session("open_live", &all), Wire::Messages);
    let mut child = talk.program.command(talk.words("").split_whitespace()).spawn().expect("the program starts");
    talk.server.wait_for(2);
    let serving = Serving::start(&talk.program);
    let running = serving.get(&serving.path, &serving.address);
    assert!(running.contains("The review is running") && running.contains("Reported so far"), "{running}");
    assert!(running.contains("refresh: 2") && running.contains("still to be proved"), "{running}");
    child.kill().expect("it is killed");
    Ran::wait(child);
    let interrupted = serving.get(&serving.path, &serving.address);
    assert!(interrupted.contains("was interrupted") && interrupted.contains("review --resume "), "{interrupted}");
    resumed(&talk, "", 0);
    let done = serving.get(&serving.path, &serving.address);
    assert!(done.starts_with("HTTP/1.1 200") && !done.contains("refresh: 2"), "{done}");
    assert!(!done.contains("Reported so far"), "{done}");
    talk.server.finish();
}
