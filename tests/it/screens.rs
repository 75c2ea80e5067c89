//! The screens that people see, in ten situations: plain and in colors, at 80 and 140 columns, and in a file.
//!
//! Reviews are made by the program and rendered at each width; what is no review is shown in a terminal of each width. Escape sequences are shown
//! as `␛`; the colors are those of the terminal's own palette, so there is one set for light and dark ones: `.ci/screens.py` renders both.

use std::fmt::Write as _;
use std::sync::Arc;

use review_runner::domain::review::Review;
use review_runner::present::{LinkStyle, PageKind, RenderOptions, json, presenter};

use crate::support::model::Wire;
use crate::support::posting::{Desk, bad};
use crate::support::session::{Talk, shop};
use crate::support::sitting::{hanging_at, killed, session, steps};
use crate::support::{Program, Ran, TestRepo};

const DEFECT: &str = "def add(item, items=[]):\n    items.append(item)\n    return items\n";
const QUERY: &str = "import sqlite3\n\n\ndef orders(db: sqlite3.Connection, user):\n    return db.execute(f\"SELECT id, total, placed_at FROM orders WHERE state = 'open' AND owner = '{user}' ORDER BY placed_at\")\n";

fn branch(files: &[(&str, &str)]) -> (TestRepo, Program) {
    let repo = TestRepo::new();
    repo.write("README.md", "A shop.\n").commit("begin");
    repo.branch("feature");
    for (path, text) in files {
        repo.write(path, text);
    }
    repo.commit("add a cart");
    let program = Program::in_folder(repo.root());
    (repo, program)
}

/// The review that a line of words makes, without what differs from run to run.
fn made(program: &Program, words: &str) -> Review {
    fixed(&program.words(&format!("{words} --format json")))
}

/// The review that a run gave out, without what differs from run to run.
fn fixed(ran: &Ran) -> Review {
    let mut review = json::parse(&ran.stdout).unwrap_or_else(|fault| panic!("{fault}: {}", ran.stderr));
    review.id = "a0000000-0000-4000-8000-000000000001".parse().expect("an id");
    review.provenance.took_ms = 800;
    let change = Arc::make_mut(&mut review.change);
    (change.repository, change.head) = ("shop".to_owned(), None);
    if let Some(previous) = &mut review.coverage.previous {
        previous.run = "1f2e3d4c-0000-4000-8000-000000000001".parse().expect("an id");
    }
    for note in &mut review.coverage.notes {
        if review_runner::domain::prior::is_reference(note) {
            "Compared with the review 1f2e3d4c-0000-4000-8000-000000000001 of 2026-01-01.".clone_into(note);
        }
    }
    review
}

fn render(review: &Review, options: &RenderOptions) -> String {
    let terminal = presenter("terminal").expect("the format for people");
    String::from_utf8((terminal.render)(review, options)).expect("UTF-8")
}

/// All screens of a review, one below the other.
fn screens(review: &Review) -> String {
    let mut out = String::new();
    for (width, colour) in [(80, false), (80, true), (140, false), (140, true)] {
        let links = if colour { LinkStyle::Osc8 { root: "/home/ada/shop".into() } } else { LinkStyle::None };
        let kind = PageKind::Screen;
        let page = render(review, &RenderOptions { width, colour, links, kind, ..RenderOptions::default() });
        let look = if colour { "colors" } else { "plain" };
        let _ = write!(out, "=== {width} columns, {look} ===\n{}", page.replace('\u{1b}', "␛"));
    }
    let _ = write!(out, "=== file ===\n{}", render(review, &RenderOptions::default()));
    out
}

/// The pages that a terminal of each width shows, and both streams where there is none.
fn pages(program: &Program, line: &str) -> String {
    let mut out = String::new();
    #[cfg(target_os = "linux")]
    for (width, colour) in [(80, false), (80, true), (140, false), (140, true)] {
        let look = if colour { "colors" } else { "plain" };
        let page = program.terminal(width, colour, line).replace('\u{1b}', "␛");
        let _ = write!(out, "=== {width} columns, {look} ===\n{page}");
    }
    let ran = program.words(line);
    let _ = write!(out, "=== file, exit code {} ===\n{}=== stderr ===\n{}", ran.code, ran.text(), ran.stderr);
    out
}

#[test]
fn clean() {
    let (_repo, program) = branch(&[("cart.py", "def add(item, items):\n    return [*items, item]\n")]);
    let review = made(&program, "--target main");
    assert_eq!(render(&review, &RenderOptions::default()).lines().count(), 1);
    insta::assert_snapshot!(screens(&review));
}

#[test]
fn one_finding() {
    let (_repo, program) = branch(&[("src/orders.py", QUERY)]);
    insta::assert_snapshot!(screens(&made(&program, "--target main")));
}

#[test]
fn twenty_findings() {
    let files: Vec<(String, String)> = (0..20)
        .map(|n| match n % 4 {
            0 => (format!("src/carts/cart_{n}.py"), DEFECT.replace("add", &format!("add_{n}"))),
            1 => (format!("src/orders/order_{n}.py"), QUERY.replace("orders", &format!("orders_{n}"))),
            2 => (format!("src/steps/step_{n}.py"), format!("def step_{n}(x):\n    breakpoint()\n    return x\n")),
            _ => (format!("src/checks/check_{n}.py"), format!("def check_{n}(x):\n    return x is \"open\"\n")),
        })
        .collect();
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let (_repo, program) = branch(&files);
    let review = made(&program, "--target main");
    assert!(review.findings.len() >= 15, "{} findings", review.findings.len());
    let page = render(&review, &RenderOptions::default());
    assert!(page.lines().count() <= 120, "{page}");
    insta::assert_snapshot!(screens(&review));
}

#[test]
fn incomplete() {
    let review = json::parse(include_bytes!("../../fixtures/documents/incomplete.json")).expect("a document");
    insta::assert_snapshot!(screens(&review));
}

#[test]
fn wrong_key() {
    let (_repo, program) = branch(&[("cart.py", DEFECT)]);
    insta::assert_snapshot!(pages(&program, "--target main --model anthropic/x"));
    let review = json::parse(include_bytes!("../../fixtures/documents/failed.json")).expect("a document");
    insta::assert_snapshot!("wrong_key_refused_by_the_server", screens(&review));
}

#[test]
fn no_repository() {
    let folder = tempfile::tempdir().expect("a folder");
    insta::assert_snapshot!(pages(&Program::in_folder(folder.path()), ""));
}

#[test]
fn dirty_tree() {
    let (repo, program) = branch(&[("cart.py", "def add(item, items):\n    return [*items, item]\n")]);
    repo.write("cart.py", DEFECT).write("notes.txt", "later\n");
    insta::assert_snapshot!(screens(&made(&program, "--target main")));
}

#[test]
fn pull_request() {
    let desk = Desk::new(&[("a.py", bad("one"))]);
    insta::assert_snapshot!(screens(&made(&desk.program, "--pr octo/demo#7 --no-model")));
}

#[test]
fn a_review_again() {
    let (repo, program) = branch(&[("cart.py", DEFECT), ("b.py", &DEFECT.replace("add", "put"))]);
    program.words("--target main").ended(0);
    repo.write("b.py", "x = 1\n").commit("fix one");
    insta::assert_snapshot!(screens(&made(&program, "--target main")));
}

#[test]
fn resume() {
    let repo = shop();
    let broken_off = session("screen_of_a_resumed_run", &hanging_at(steps("six_turns"), 3));
    let talk = Talk::in_passing(&repo, broken_off, Wire::Messages);
    killed(&talk, "", 4);
    let ran = talk.program.words("--resume last --format json").ended(0);
    let mut review = fixed(&ran);
    // They follow the prompts.
    let usage = &mut review.provenance.usage;
    (usage.input_tokens, usage.cache_read_tokens) = (Some(18_000), Some(15_000));
    let said = ran.stderr.replace(ran.json()["id"].as_str().expect("an id"), &review.id.to_string());
    insta::assert_snapshot!(format!("{}=== stderr ===\n{said}", screens(&review)));
    talk.server.finish();
}

#[test]
fn preview() {
    let (_repo, program) = branch(&[("cart.py", DEFECT)]);
    insta::assert_snapshot!(pages(&program, "--target main --preview --no-model"));
    let program = program.with("OPENAI_API_KEY", "none").with("OPENAI_BASE_URL", "http://127.0.0.1:9/v1");
    // Its amounts follow the prompts, which are measured elsewhere.
    let page = pages(&program, "--target main --preview --model openai-chat/gpt-5");
    let body = page.lines().map(|line| {
        if line.starts_with("===") { line.to_owned() } else { line.replace(|c: char| c.is_ascii_digit(), "0") }
    });
    insta::assert_snapshot!("preview_with_a_model", body.collect::<Vec<_>>().join("\n"));
}

#[test]
fn standard_error_holds_only_what_changes_the_result() {
    let (_repo, program) = branch(&[("cart.py", DEFECT)]);
    let quiet = program.words("--target main").stderr;
    assert!(quiet.starts_with("Rules only. ") && quiet.lines().count() == 1, "{quiet}");
    let verbose = program.words("--target main -v").stderr;
    assert!(verbose.contains("collecting the change") && verbose.contains("writing the outputs"), "{verbose}");
}
