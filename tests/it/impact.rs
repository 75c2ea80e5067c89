//! What a change does to places that it does not touch, told by the program itself: with the other place as a second anchor.

use std::fs;

use serde_json::Value;

use crate::support::{Program, TestRepo};

const OLD: &str = "def send_mail(to):\n    return to\n\n\ndef other_mail(to):\n    return to\n";
const NEW: &str = "def other_mail(to):\n    return to\n";

/// A project in which a function goes that a file outside of the change imports.
fn project() -> TestRepo {
    let repo = TestRepo::new();
    let report = format!("{}from app.mail import send_mail\n\nsend_mail(1)\n", "# a long file\n".repeat(400));
    repo.write("app/mail.py", OLD).write("tools/report.py", report).write("README.md", "send_mail is gone\n");
    repo.commit("begin");
    repo.branch("feature").write("app/mail.py", NEW).commit("One way to send mail");
    repo
}

fn told(program: &Program) -> Vec<Value> {
    let ran = program.run(["--target", "main", "--no-model", "--format", "json"]);
    let review: Value = serde_json::from_slice(&ran.stdout).expect("JSON");
    let findings = review["findings"].as_array().expect("findings").clone();
    findings.into_iter().filter(|finding| finding["origin"]["name"] == "impact/removed-but-used").collect()
}

#[test]
fn a_use_outside_of_the_change_is_the_second_anchor() {
    let repo = project();
    let found = told(&Program::in_folder(repo.root()));
    assert_eq!(found.len(), 1, "{found:?}");
    let anchors = found[0]["anchors"].as_array().expect("anchors");
    let places: Vec<_> = anchors
        .iter()
        .map(|anchor| {
            (anchor["path"].as_str(), anchor["side"].as_str(), anchor["start_line"].as_u64(), anchor["quote"].as_str())
        })
        .collect();
    assert_eq!(
        places,
        [
            (Some("app/mail.py"), Some("old"), Some(1), Some("def send_mail(to):")),
            (Some("tools/report.py"), Some("new"), Some(401), Some("from app.mail import send_mail")),
        ]
    );
}

#[test]
fn a_patch_alone_says_nothing_of_other_files() {
    let repo = project();
    let patch = repo.git(["diff", "main...feature"]);
    let file = repo.beside("change.patch");
    fs::write(&file, patch).expect("a patch");
    let elsewhere = TestRepo::folder_only();
    let program = Program::in_folder(elsewhere.root());
    let ran = program.run(["--diff", file.to_str().expect("a path"), "--no-model", "--format", "json"]);
    assert!(!String::from_utf8_lossy(&ran.stdout).contains("impact/"), "{}", ran.stderr);
}
