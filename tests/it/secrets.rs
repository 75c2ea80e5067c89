//! A secret of any kind reaches nobody: no model, no journal, no kept file, no output, no pull request, no assistant, no error.

use serde_json::json;

use crate::model_trust::traces;
use crate::support::mcp::{Client, Era};
use crate::support::model::Wire;
use crate::support::posting::Desk;
use crate::support::session::Talk;
use crate::support::{Program, TestRepo};

/// Letters and digits in no order; `at` tells one from another. Put together here so that no scanner stumbles over this file.
fn noise(at: usize, length: usize, alphabet: &str) -> String {
    let alphabet: Vec<char> = alphabet.chars().collect();
    let mut state = at.wrapping_mul(7_919).wrapping_add(11);
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        alphabet[(state >> 33) % alphabet.len()]
    };
    (0..length).map(|_| next()).collect()
}

const MIXED: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const UPPER: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
const HEX: &str = "0123456789abcdef";

/// Lines with a secret, and the secrets: what each provider's own looks like, and what is one only by its place.
fn canaries() -> Vec<(String, String)> {
    let plain = [
        ("AKIA", 16, UPPER),
        ("ghp_", 36, MIXED),
        ("glpat-", 20, MIXED),
        ("sk_live_", 24, MIXED),
        ("AIza", 35, MIXED),
        ("sk-proj-", 120, MIXED),
        ("sk-or-v1-", 64, HEX),
        ("gsk_", 52, MIXED),
        ("hf_", 34, MIXED),
        ("npm_", 36, MIXED),
        ("pypi-AgEI", 120, MIXED),
        ("dapi", 32, HEX),
        ("shpat_", 32, HEX),
        ("lin_api_", 40, MIXED),
        ("figd_", 40, MIXED),
        ("dp.st.prd.", 42, MIXED),
        ("hvs.", 92, MIXED),
        ("pul-", 40, HEX),
        ("glc_eyJ", 80, MIXED),
        ("GOCSPX-", 28, MIXED),
        ("ya29.", 120, MIXED),
        ("ATATT3xFfGF0", 160, MIXED),
        ("dckr_pat_", 27, MIXED),
        ("rubygems_", 48, HEX),
        ("pscale_tkn_", 43, MIXED),
        ("AGE-SECRET-KEY-1", 58, UPPER),
        ("dop_v1_", 64, HEX),
        ("fo1_", 43, MIXED),
    ];
    let mut all: Vec<(String, String)> = Vec::new();
    for (at, (prefix, length, alphabet)) in plain.into_iter().enumerate() {
        let secret = format!("{prefix}{}", noise(at, length, alphabet));
        all.push((format!("a{at} = \"{secret}\""), secret));
    }
    let placed: [(&str, usize, &str, &str); 6] = [
        ("DB = 'postgres://shop:", 14, MIXED, "@db.internal:5432/shop'"),
        ("db_password = '", 24, MIXED, "'"),
        ("AWS_SECRET_ACCESS_KEY = '", 40, MIXED, "'"),
        ("conn = 'AccountName=shop;AccountKey=", 86, MIXED, "==;'"),
        ("url = 'https://discord.com/api/webhooks/834926719405283716/", 64, MIXED, "'"),
        ("TWILIO_AUTH_TOKEN = '", 32, HEX, "'"),
    ];
    for (at, (before, length, alphabet, after)) in placed.into_iter().enumerate() {
        let secret = noise(100 + at, length, alphabet);
        all.push((format!("{before}{secret}{after}"), secret));
    }
    let body: Vec<String> = (0..3).map(|at| noise(200 + at, 64, MIXED)).collect();
    let block = format!("KEY = '''-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----'''", body.join("\n"));
    all.push((block, body.concat()));
    all
}

/// The canaries as a file.
fn settings() -> String {
    canaries().into_iter().map(|(line, _)| line + "\n").collect()
}

/// No part of a secret that is long enough to be known by stands in a text.
#[track_caller]
fn nothing_in(what: &str, text: &str) {
    for (line, secret) in canaries() {
        // The first characters may be the prefix that all keys of a provider have.
        let part = &secret[secret.len().saturating_sub(12)..];
        assert!(!text.contains(part), "{what}: the secret of {} is told", &line[..12]);
    }
}

/// A change that adds them to a file, and names one in its message.
fn repo() -> TestRepo {
    let repo = TestRepo::new();
    repo.write("src/settings.py", "NAME = 'shop'\n").commit("Begin");
    let token = canaries().remove(1).1;
    repo.branch("feature").write("src/settings.py", format!("NAME = 'shop'\nTOKEN = '{token}'\n{}", settings()));
    repo.commit(&format!("Use {token}"));
    repo
}

#[test]
fn the_rules_tell_every_kind_and_show_none() {
    let repo = repo();
    let program = Program::in_folder(repo.root());
    let (_, review) = program.review("--target main --no-model");
    let secrets = review["findings"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|finding| finding["origin"]["name"] == "general/secret-added");
    let lines: Vec<u64> = secrets.map(|finding| finding["anchors"][0]["start_line"].as_u64().unwrap()).collect();
    // One for each line, as far as one file may have of one rule.
    assert_eq!(lines.len(), 20, "{lines:?}");
    let notes = review["coverage"].to_string();
    assert!(notes.contains("more matches of general/secret-added"), "{notes}");
    for format in [
        "terminal",
        "markdown",
        "html",
        "json",
        "sarif",
        "rdjson",
        "rdjsonl",
        "gitlab",
        "junit",
        "annotations",
        "job-summary",
    ] {
        let ran = program.words(&format!("--target main --no-model --format {format}"));
        nothing_in(format, &format!("{}{}", ran.text(), ran.stderr));
    }
    let mut folders = vec![program.home("state")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                nothing_in("a kept file", &String::from_utf8_lossy(&std::fs::read(path).unwrap()));
            }
        }
    }
}

#[test]
fn a_model_run_tells_none() {
    let repo = repo();
    let talk = Talk::named(&repo, "secret", "secret_kinds", Wire::Messages);
    let ran = talk.program.words(&talk.words(""));
    let shown = format!("{}{}", ran.text(), ran.stderr);
    let told = traces(&talk, &shown);
    nothing_in("a model run", &told);
    assert!(
        told.contains("[masked:digitalocean-token]") && told.contains("[masked:private-key]"),
        "they were looked at"
    );
    talk.server.finish();
}

#[test]
fn tools_errors_and_assistants_tell_none() {
    let repo = repo();
    let program = Program::in_folder(repo.root());
    let read = json!({ "file_path": "src/settings.py" });
    let search = json!({ "pattern": "." });
    let mut told = String::new();
    for (tool, input) in [("read_file_part", &read), ("search_in_files", &search), ("read_diff", &read)] {
        told += &program.tool(tool, input, "--target main").1.to_string();
    }
    let mut client = Client::stdio(&program, "--tools all --no-model", Era::Session("2025-11-25"));
    for (tool, input) in [("read_file_part", read), ("search_in_files", search)] {
        told += &client.result("tools/call", json!({ "name": tool, "arguments": input })).to_string();
    }
    told += &client.tool("review", json!({ "target": "main", "wait_seconds": 60 })).to_string();
    client.close();
    // A report that is none is quoted in its error.
    let secret = canaries().remove(1).1;
    std::fs::write(repo.beside("odd.sarif"), format!("{{\"runs\": \"{secret}\"}}")).unwrap();
    let ran = program.words("--target main --no-model --leads ../odd.sarif").ended(2);
    assert!(ran.stderr.contains("odd.sarif cannot be read as SARIF"), "{}", ran.stderr);
    nothing_in("tools", &format!("{told}{}", ran.stderr));
    assert!(told.contains("[masked:"), "{told}");
}

#[test]
fn a_pull_request_is_told_none() {
    let desk = Desk::new(&[("settings.py", settings())]);
    desk.review_and_post("").ended(0);
    let threads: String = desk.pull.threads().iter().map(|thread| thread.comments[0].body.clone()).collect();
    let reviews: String = desk.pull.reviews().iter().map(|review| review.said.body.clone()).collect();
    assert!(threads.contains("Secret leaked into the code"), "{threads}");
    nothing_in("a pull request", &format!("{threads}{reviews}{}", desk.summary()));
    desk.fake.finish();
}
