//! Secrets where a text enters in an unusual spelling or a place that is no file: each is masked everywhere, and told.
//!
//! Which spellings there are is held by a property test beside the code (`domain/text/mask/surroundings.rs`); here they go through the program.

use serde_json::{Value, json};

use crate::model_trust::traces;
use crate::support::mcp::{Client, Era};
use crate::support::model::{Session, Wire};
use crate::support::session::{Talk, shop};
use crate::support::{Program, TestRepo};

/// A token that nobody owns; `at` tells one from another. Put together here so that no scanner stumbles over this file.
fn token(at: usize) -> String {
    let letters = "aB3dE5fG7hJ9kL2mN4pQ6rS8tU1vW3xY5zAbC4dE6";
    format!("ghp_{}", letters.chars().cycle().skip(at * 5 + 1).take(36).collect::<String>())
}

/// A change whose branch, author, committer, paths and message each hold a token of their own; the last one is of the path.
fn named() -> (TestRepo, Vec<String>) {
    let tokens: Vec<String> = (0..5).map(token).collect();
    let repo = TestRepo::new();
    repo.write("README.md", "Begin.\n").commit("Begin");
    repo.branch(&format!("feat-{}", tokens[0]));
    repo.write(format!("d-{}/a.py", tokens[4]), "eval(input())\n");
    repo.git(["config", "user.name", &format!("n {}", tokens[1])]);
    repo.git(["config", "user.email", &format!("{}@h.example", tokens[2])]);
    repo.git(["remote", "add", &tokens[1], &format!("https://x:{}@h.example/o/{}.git", tokens[2], tokens[3])]);
    repo.git(["add", "-A"]);
    let author = format!("--author=a {} <x@{}.example>", tokens[1], tokens[2]);
    repo.git(["commit", "-q", "-m", &format!("message {}", tokens[3]), &author]);
    (repo, tokens)
}

#[track_caller]
fn none_of(what: &str, tokens: &[String], text: &str) {
    for (at, token) in tokens.iter().enumerate() {
        assert!(!text.contains(token), "{what}: token {at} is told");
        assert!(!text.contains(&token[8..]), "{what}: a part of token {at} is told");
    }
}

fn kept(program: &Program) -> String {
    let mut all = String::new();
    let mut folders = vec![program.home("state")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten() {
            let path = entry.unwrap().path();
            all.push_str(&path.to_string_lossy());
            if path.is_dir() {
                folders.push(path);
            } else {
                all.push_str(&String::from_utf8_lossy(&std::fs::read(path).unwrap()));
            }
        }
    }
    all
}

#[test]
fn a_token_behind_an_escape_is_masked_and_told() {
    // One for each line: the same secret is reported once.
    let tokens: Vec<String> = (0..10).map(token).collect();
    let lines = [
        format!("plain = '{}'", tokens[0]),
        format!("a = 'Authorization:\\t{}'", tokens[1]),
        format!("b = 'line\\n{}\\n'", tokens[2]),
        format!("u = 'https://h.example/?q=token%3D{}%26b'", tokens[3]),
        format!("v = 'Bearer%20{}'", tokens[4]),
        format!("x = '\\x20{}'", tokens[5]),
        format!("j = '{{\"t\": \"\\u0020{}\"}}'", tokens[6]),
        format!("o = '\\040{}'", tokens[7]),
        format!("c = 'TOKEN_{}'", tokens[8]),
        format!("d = 'token{}_old'", tokens[9]),
    ];
    let repo = TestRepo::new();
    repo.write("README.md", "Begin.\n").commit("Begin");
    repo.branch("topic").write("x.py", lines.join("\n") + "\n").commit("Add");
    let program = Program::in_folder(repo.root());
    let (_, read) = program.tool("read_file_part", &json!({ "file_path": "x.py" }), "");
    assert_eq!(read.to_string().matches("[masked:github-token]").count(), lines.len(), "{read}");
    let (_, review) = program.review("--target main --no-model");
    let told = review["findings"].as_array().unwrap().iter();
    let told = told.filter(|finding| finding["origin"]["name"] == "general/secret-added").count();
    assert_eq!(told, lines.len(), "{review}");
    none_of("the program", &tokens, &format!("{read}{review}{}", kept(&program)));
}

#[test]
fn keys_of_putty_and_base64_of_a_token_are_masked() {
    let token = token(0);
    let encoded = base64(&format!("shop:{token}"));
    let half = "AAAAgQCqM3f8Rk1zXw2Lp9Jt7Yb4Vn6Hs5Dg0Fe8Ua1Ci3Ko2Pm4Qx6Zr7Ty9W=";
    let key = format!("PuTTY-User-Key-File-3: ssh-rsa\nPrivate-Lines: 1\n{half}\nPrivate-MAC: 00\n");
    let repo = TestRepo::new();
    repo.write("README.md", "Begin.\n").commit("Begin");
    repo.branch("topic")
        .write("deploy/shop.ppk", key)
        .write("deploy/shop.yaml", format!("data:\n  config: {encoded}\n"));
    repo.commit("Add");
    let program = Program::in_folder(repo.root());
    let (_, review) = program.review("--target main --no-model");
    let mut all = format!("{review}{}", kept(&program));
    for path in ["deploy/shop.ppk", "deploy/shop.yaml"] {
        all += &program.tool("read_file_part", &json!({ "file_path": path }), "").1.to_string();
    }
    assert!(!all.contains(half) && !all.contains(&encoded) && !all.contains(&encoded[12..40]), "{all}");
    assert!(all.contains("[masked:private-key]") && all.contains("[masked:github-token]"), "{all}");
}

fn base64(text: &str) -> String {
    const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let group = |group: &[u8]| {
        let all = group.iter().fold(0u32, |all, byte| all << 8 | u32::from(*byte)) << (8 * (3 - group.len()));
        (0..=group.len()).map(|at| char::from(LETTERS[(all >> (18 - 6 * at) & 63) as usize])).collect::<String>()
    };
    text.as_bytes().chunks(3).map(group).collect()
}

#[test]
fn a_secret_in_a_name_is_in_no_output_and_no_kept_file() {
    let (repo, tokens) = named();
    let program = Program::in_folder(repo.root());
    for format in ["terminal", "markdown", "json", "sarif", "rdjson", "gitlab", "junit", "annotations", "job-summary"] {
        let ran = program.words(&format!("--target main --no-model --format {format}"));
        none_of(format, &tokens, &format!("{}{}", ran.text(), ran.stderr));
    }
    let ran = program.words("--target main --no-model");
    assert!(ran.text().contains("d-[masked:github-token]/a.py"), "{}{}", ran.text(), ran.stderr);
    for words in
        ["list", "list --format json", "doctor --offline", "config", "--target main --no-model --preview", "show last"]
    {
        let ran = program.words(words);
        none_of(words, &tokens, &format!("{}{}", ran.text(), ran.stderr));
    }
    // It does not begin without a target either, and a name that is none is quoted.
    for words in [
        "--target nowhere --no-model".to_owned(),
        format!("--target {} --no-model", tokens[0]),
        format!("--range {}..HEAD --no-model", tokens[1]),
    ] {
        let ran = program.words(&words);
        assert_eq!(ran.code, 2, "{}", ran.stderr);
        none_of(&words, &tokens, &format!("{}{}", ran.text(), ran.stderr));
    }
    none_of("a kept file", &tokens, &kept(&program));
}

#[test]
fn a_masked_name_leads_to_what_it_stands_for() {
    let (repo, tokens) = named();
    let program = Program::in_folder(repo.root());
    let path = "d-[masked:github-token]/a.py";
    let mut all = String::new();
    for words in ["--target main", "--uncommitted", ""] {
        let (code, read) = program.tool("read_file_part", &json!({ "file_path": path }), words);
        assert_eq!(code, 0, "{words}: {read}");
        assert!(read.to_string().contains("eval(input())"), "{words}: {read}");
        let (_, listed) = program.tool("list_files", &json!({ "directory": "d-[masked:github-token]" }), words);
        assert!(listed.to_string().contains(path), "{words}: {listed}");
        let (_, found) = program.tool("search_in_files", &json!({ "pattern": "eval" }), words);
        assert!(found.to_string().contains(path), "{words}: {found}");
        all += &format!("{read}{listed}{found}");
    }
    let (code, diff) = program.tool("read_diff", &json!({ "file_path": path }), "--target main");
    assert_eq!(code, 0, "{diff}");
    // And the branch is reviewed by the name that `review list` shows.
    let mut command =
        program.command(["--target", "main", "--head", "feat-[masked:github-token]", "--no-model", "--format", "json"]);
    command.current_dir(repo.root());
    let ran = crate::support::Ran::wait(command.spawn().unwrap());
    assert!(ran.text().contains(path), "{}{}", ran.text(), ran.stderr);
    none_of("the tools", &tokens, &format!("{all}{diff}{}{}", ran.text(), ran.stderr));
}

#[test]
fn a_model_and_an_assistant_are_told_no_secret_of_a_name() {
    let (repo, tokens) = named();
    let read = json!({ "name": "read_file_part", "input": { "file_path": "d-[masked:github-token]/a.py" } });
    let finish =
        json!({ "name": "finish_review", "input": { "summary": "Read.", "no_findings_reason": "It was read." } });
    let turns = [
        json!({ "when": { "turn": 0 }, "say": { "calls": [read] } }),
        json!({ "when": { "turn": 1 }, "say": { "calls": [finish] } }),
        // The lead of the rules is left open.
        json!({ "when": { "turn": 2 }, "say": { "calls": [finish] } }),
    ];
    let lines: Vec<String> = turns.iter().map(Value::to_string).collect();
    let talk = Talk::in_passing(&repo, Session::parse("names", &lines.join("\n")), Wire::Messages);
    let ran = talk.program.words(&talk.words(""));
    let told = traces(&talk, &format!("{}{}", ran.text(), ran.stderr));
    none_of("a model run", &tokens, &told);
    assert!(told.contains("feat-[masked:github-token]") && told.contains("eval(input())"), "{told}");
    let replayed = talk.program.words("replay last");
    assert_eq!(replayed.code, 0, "{}{}", replayed.text(), replayed.stderr);
    talk.server.finish();
    let program = Program::in_folder(repo.root());
    let mut client = Client::stdio(&program, "--tools all --no-model", Era::Session("2025-11-25"));
    let mut told = client.tool("review", json!({ "target": "main", "wait_seconds": 60 })).to_string();
    told += &client.result("tools/call", json!({ "name": "list_files", "arguments": {} })).to_string();
    client.close();
    assert!(told.contains("d-[masked:github-token]/a.py"), "{told}");
    none_of("an assistant", &tokens, &told);
}

#[test]
fn of_two_paths_that_differ_in_a_secret_alone_one_is_unseen() {
    let repo = TestRepo::new();
    repo.write("README.md", "Begin.\n").commit("Begin");
    repo.branch("topic");
    for at in 0..2 {
        repo.write(format!("{}.py", token(at)), "x = 1\n");
    }
    repo.commit("Add");
    let program = Program::in_folder(repo.root());
    let (code, review) = program.review("--target main --no-model");
    assert_eq!(code, 3, "{review}");
    assert!(review.to_string().contains("in a secret alone"), "{review}");
}

#[test]
fn characters_that_nobody_sees_are_told_and_not_shown() {
    let hidden: String = "approve".bytes().map(|byte| char::from_u32(0x1d173 + u32::from(byte) % 8).unwrap()).collect();
    let unseen =
        [hidden.as_str(), "\u{1bca0}", "\u{13430}", "\u{fff0}", "\u{2800}", "\u{ffa0}", "\u{e0100}\u{e0101}\u{e0102}"];
    let repo = TestRepo::new();
    repo.write("README.md", "Begin.\n").commit("Begin");
    repo.branch("topic");
    for (at, text) in unseen.iter().enumerate() {
        repo.write(format!("f{at}.py"), format!("x = 1  # a{text}b\n"));
    }
    repo.commit("Add");
    let program = Program::in_folder(repo.root());
    let (_, review) = program.review("--target main --no-model");
    let shown = program.words("--target main --no-model --format terminal").text().to_owned();
    let told: Vec<&str> = review["findings"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|finding| finding["anchors"][0]["path"].as_str())
        .collect();
    for (at, text) in unseen.iter().enumerate() {
        let path = format!("f{at}.py");
        assert!(told.contains(&path.as_str()), "{path}: {review}");
        let first = text.chars().next().unwrap();
        assert!(!shown.contains(first), "{path}: {shown}");
    }
}

#[test]
fn hints_quote_the_names_in_them() {
    let repo = shop();
    repo.git(["remote", "add", "origin", "https://git.invalid/x.git"]);
    let program = Program::in_folder(repo.root());
    let said = |words: [&str; 3]| {
        let ran = crate::support::Ran::wait(program.command(words).spawn().unwrap());
        assert_eq!(ran.code, 2, "{}", ran.stderr);
        ran.stderr
    };
    let told = said(["--target", "$(id)", "--no-model"]);
    assert!(told.contains("`git fetch origin '$(id)'`"), "{told}");
    let told = said(["--target", "it's;id", "--no-model"]);
    assert!(told.contains(r"`git fetch origin 'it'\''s;id'`"), "{told}");
}

#[test]
fn the_mark_of_guidelines_is_another_in_each_run_and_the_same_when_it_is_replayed() {
    let repo = TestRepo::new();
    repo.write("AGENTS.md", "Use names that say something.\n").write("a.py", "x = 1\n").commit("Begin");
    repo.branch("feature").write("a.py", "x = 2\n").commit("Change");
    let finish =
        json!({ "name": "finish_review", "input": { "summary": "Read.", "no_findings_reason": "It was read." } });
    let turn = json!({ "when": { "turn": 0 }, "say": { "calls": [finish] } }).to_string();
    let mark = || {
        let talk = Talk::in_passing(&repo, Session::parse("marks", &turn), Wire::Messages);
        let told = talk.run("");
        assert_eq!((told.code, told.ended()), (0, "finished"), "{}", told.all());
        let message = talk.server.asked().remove(0).user_text();
        let replayed = talk.program.words("replay last");
        assert_eq!(replayed.code, 0, "{}{}", replayed.text(), replayed.stderr);
        talk.server.finish();
        let start = message.find(" guidelines>>\n").expect("guidelines");
        message[..start].rsplit(' ').next().expect("a mark").to_owned()
    };
    assert_ne!(mark(), mark());
}
