//! Texts that take a grammar's scanner beyond its limits: each costs one file, never the run.

use std::io::Write as _;
use std::process::Stdio;

use serde_json::json;

use crate::support::mcp::{Client, Era};
use crate::support::model::Wire;
use crate::support::session::Talk;
use crate::support::sitting::session;
use crate::support::{Limits, Program, TestRepo};

/// The defect beside each hostile file: it must still be found.
const DEFECT: &str = "x = eval(input())\n";

/// Texts whose scanners keep a state that grows with the text, deeper than any parser has room for.
fn beyond_scanners() -> Vec<(&'static str, String)> {
    let deep = 2_000;
    let delimiter = "E".repeat(1_100);
    let document = |n: usize| format!("<<DELIMITER_OF_DOCUMENT_{n} ");
    let mapping = |n: usize| format!("{}a:\n", " ".repeat(n));
    let block = |n: usize| format!("{}if a:\n", " ".repeat(n));
    let documents: String = (0..200).map(document).collect();
    vec![
        ("sequences.yml", format!("{}a\n", "- ".repeat(deep))),
        ("keys.yml", format!("{}a\n", "? ".repeat(deep))),
        ("values.yml", format!("{}a\n", ": ".repeat(deep))),
        ("mixed.yaml", format!("{}a\n", "- ? : ".repeat(deep / 3))),
        ("mappings.yaml", (0..600).map(mapping).collect()),
        ("flows.yaml", format!("{}{}\n", "[".repeat(deep), "]".repeat(deep))),
        ("long.sh", format!("cat <<{delimiter}\na\n{delimiter}\n")),
        ("many.sh", format!("cat {documents}\n")),
        ("indented.py", (0..1_000).map(block).collect()),
        ("raw.cpp", format!("auto a = R\"{0}(a){0}\";\n", "d".repeat(1_100))),
        ("raw.rs", format!("const A: &str = r{0}\"a\"{0};\n", "#".repeat(1_100))),
    ]
}

fn change(files: &[(&str, String)]) -> TestRepo {
    let repo = TestRepo::new();
    repo.write("README.md", "Begin.\n").commit("Begin");
    repo.branch("feature").write("defect.py", DEFECT);
    for (path, text) in files {
        repo.write(path, text);
    }
    repo.commit("Add files");
    repo
}

#[test]
fn a_text_beyond_its_scanner_costs_one_file() {
    let files = beyond_scanners();
    let repo = change(&files);
    let program = Program::in_folder(repo.root());
    let words = ["--target", "main", "--no-model", "--timeout", "5m", "--format", "json"];
    let ran = program.confined(words, Limits::USUAL);
    assert!(matches!(ran.code, 1 | 3), "exit {}: {}", ran.code, ran.stderr);
    let review = ran.json();
    let covered = review["coverage"]["files"].as_array().expect("files");
    assert_eq!(covered.len(), files.len() + 1, "{review:#}");
    let found = review["findings"].to_string();
    assert!(found.contains("defect.py"), "the rules went on: {found}");
}

#[test]
fn a_server_survives_what_would_abort_it() {
    let repo = change(&beyond_scanners());
    let program = Program::in_folder(repo.root());
    let mut client = Client::stdio(&program, "--no-model", Era::Session("2025-11-25"));
    let told = client.tool("review", json!({ "at": "main...feature", "rules_only": true, "wait_seconds": 600 }));
    assert!(told["total"].as_u64() > Some(0), "{told}");
    client.result("ping", json!({}));
    client.close();
}

#[test]
fn what_a_model_suggests_cannot_abort_its_run() {
    let repo = TestRepo::new();
    repo.write("README.md", "Begin.\n").commit("Begin");
    repo.branch("feature").write("a.yml", "replicas_of_service: 1\n").write("a.sh", "echo the_whole_message\n");
    repo.commit("Add files");
    let suggested = |path: &str, quote: &str, text: &str| {
        let input = json!({
            "title": "Deeper", "body": "It should be deeper.", "severity": "high", "category": "logic", "file_path": path, "quote": quote,
            "suggestion": text,
        });
        json!({ "name": "report_finding", "input": input })
    };
    let calls = [
        suggested("a.yml", "replicas_of_service: 1", &format!("{}a", "- ".repeat(300))),
        suggested("a.sh", "echo the_whole_message", &format!("cat <<{}", "E".repeat(1_100))),
    ];
    let finish = json!({ "name": "finish_review", "input": { "summary": "Two remarks." } });
    let steps = [
        json!({ "when": { "turn": 0 }, "say": { "calls": calls } }),
        json!({ "when": { "turn": 1 }, "say": { "calls": [finish] } }),
    ];
    let talk = Talk::in_passing(&repo, session("suggests_deep_nesting", &steps), Wire::Messages);
    let told = talk.run("--timeout 5m");
    assert_eq!((told.code, told.titles()), (0, vec!["Deeper", "Deeper"]), "{}", told.all());
    let findings = told.review["findings"].as_array().expect("findings");
    assert!(findings.iter().all(|finding| finding["suggestion"].is_null()), "{}", told.all());
}

#[test]
fn a_helper_answers_frames_and_ends_with_its_input() {
    let repo = TestRepo::folder_only();
    let program = Program::in_folder(repo.root());
    let mut helper = program.command(["parse-helper"]).stdin(Stdio::piped()).spawn().expect("the program starts");
    let mut input = helper.stdin.take().expect("a pipe");
    let text = b"- a: [";
    for grammar in 0..3_u8 {
        input.write_all(&[&[grammar][..], &6_u32.to_le_bytes(), text].concat()).expect("it reads");
    }
    drop(input);
    let ended = helper.wait_with_output().expect("it ends");
    assert!(ended.status.success());
    assert_eq!(ended.stdout, b"...");
}

#[test]
fn a_pattern_beyond_its_scanner_is_refused_with_its_rule() {
    let repo = TestRepo::new();
    let rule = |pattern: &str| {
        format!("id: x\ntitle: X\nseverity: high\ncategory: logic\nmessage: It is x.\nrule:\n  {pattern}\n")
    };
    let deep = "- ".repeat(300);
    repo.write("README.md", "Begin.\n").commit("Begin");
    for pattern in
        [format!("pattern: '{deep}a'"), format!("any:\n    - pattern: {{ context: '{deep}a', selector: block_node }}")]
    {
        repo.write(".review/rules/yaml-x.yml", rule(&pattern)).commit("Add a rule");
        let program = Program::in_folder(repo.root());
        let ran = program.confined(["rules", "list"], Limits::USUAL);
        assert!(ran.stderr.contains("cannot be parsed"), "exit {}: {}", ran.code, ran.stderr);
        let mut client = Client::stdio(&program, "--no-model", Era::Session("2025-11-25"));
        client.result(
            "tools/call",
            json!({ "name": "review", "arguments": { "at": "HEAD~1...HEAD", "wait_seconds": 60 } }),
        );
        client.result("ping", json!({}));
        client.close();
    }
}
