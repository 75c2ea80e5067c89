//! `review tool`: what a model would see, called by hand on real repositories.

use serde_json::{Value, json};

use crate::support::{Program, TestRepo};

/// Made up, and shaped like the real thing; put together here so that no scanner takes this file for a leak.
fn secret() -> String {
    ["AKIA", "Q7XW", "3LMN", "5P2R", "T6YZ"].concat()
}

fn numbered(name: &str, lines: usize) -> String {
    (1..=lines).map(|n| format!("{name} line {n}\n")).collect::<Vec<_>>().concat()
}

fn project() -> (TestRepo, Program) {
    let repo = TestRepo::new();
    repo.write("src/a.rs", "fn main() {}\n").write("docs/guide.md", "main thing\n").commit("begin");
    repo.git(["tag", "v1"]);
    repo.branch("feature").write("src/a.rs", "fn main() {\n    run();\n}\n").write("src/b.rs", "pub fn run() {}\n");
    repo.commit("change");
    let program = Program::in_folder(repo.root());
    (repo, program)
}

fn ok((code, answer): (i32, Value)) -> Value {
    assert_eq!(code, 0, "{answer:#}");
    assert!(answer.get("error").is_none(), "{answer:#}");
    answer
}

#[track_caller]
fn fault((code, answer): (i32, Value), kind: &str) {
    assert_eq!(code, 2, "{answer:#}");
    assert_eq!(answer["error"]["kind"], kind, "{answer:#}");
    assert!(answer["error"]["message"].as_str().is_some_and(|text| !text.is_empty()));
}

#[test]
fn each_tool_answers_about_the_head() {
    let (_repo, program) = project();
    let read =
        ok(program.tool("read_file_part", &json!({ "file_path": "src/a.rs", "start_line": 2, "end_line": 2 }), ""));
    assert_eq!(read["content"], "     2\t    run();\n");
    assert_eq!(read["total_lines"], 3);
    let found = ok(program.tool("search_in_files", &json!({ "pattern": "fn \\w+", "file_pattern": "*.rs" }), ""));
    let places: Vec<String> = found["matches"]
        .as_array()
        .expect("matches")
        .iter()
        .map(|found| format!("{}:{}", found["file_path"].as_str().unwrap(), found["line_number"]))
        .collect();
    assert_eq!(places, ["src/a.rs:1", "src/b.rs:1"]);
    let listed = ok(program.tool("list_files", &json!({}), ""));
    assert!(listed.to_string().contains("docs/guide.md"), "{listed:#}");
    let diff = ok(program.tool("read_diff", &json!({ "file_path": "src/a.rs" }), "--target main"));
    assert_eq!(diff["content"], "@@ -1 +1,3 @@\n-fn main() {}\n+fn main() {\n+    run();\n+}\n");
}

#[test]
fn another_revision_is_asked_for_by_name() {
    let (repo, program) = project();
    let read =
        |line: &str| ok(program.tool("read_file_part", &json!({ "file_path": "src/a.rs" }), line))["content"].clone();
    assert_eq!(read("--at v1"), "     1\tfn main() {}\n");
    assert_eq!(read("--at HEAD~1"), "     1\tfn main() {}\n");
    assert_eq!(read("--at HEAD"), read(""));
    fault(program.tool("read_file_part", &json!({ "file_path": "src/b.rs" }), "--at v1"), "file_not_found");
    let old = ok(program.tool("read_file_part", &json!({ "file_path": "src/a.rs", "side": "old" }), "--target main"));
    assert_eq!(old["content"], "     1\tfn main() {}\n");
    // The disk is not HEAD.
    repo.write("src/a.rs", "fn other() {}\n");
    assert_ne!(read(""), "     1\tfn other() {}\n");
    assert_eq!(read("--uncommitted"), "     1\tfn other() {}\n");
    assert_ne!(read("--staged"), "     1\tfn other() {}\n");
    program.words("tool list_files {} --at nowhere").ended(2);
}

#[test]
fn errors_are_answers_too() {
    let (repo, program) = project();
    repo.write("data.bin", b"\0\x01\x02\0").commit("add bytes");
    let read = |input: Value| program.tool("read_file_part", &input, "--target main");
    fault(read(json!({ "file_path": "src/c.rs" })), "file_not_found");
    fault(read(json!({ "file_path": "src/a.rs", "start_line": 99 })), "invalid_range");
    fault(read(json!({ "file_path": "../outside" })), "refused_path");
    fault(read(json!({ "file_path": "/etc/passwd" })), "refused_path");
    fault(read(json!({ "file_path": ".git/config" })), "refused_path");
    fault(read(json!({ "file_path": "data.bin" })), "not_text");
    fault(read(json!({})), "invalid_input");
    fault(read(json!({ "file_path": "src/a.rs", "colour": 1 })), "invalid_input");
    fault(program.tool("read_diff", &json!({ "file_path": "docs/guide.md" }), "--target main"), "file_not_found");
    fault(program.tool("read_diff", &json!({ "file_path": "src/a.rs", "start": 7 }), "--target main"), "invalid_range");
    fault(program.tool("read_file_part", &json!({ "file_path": "src/a.rs" }), "--exclude src/**"), "excluded");
    let near = read(json!({ "file_path": "src/aa.rs" })).1;
    assert!(near["error"]["near"].to_string().contains("src/a.rs"), "{near:#}");
}

#[test]
fn a_tool_needs_no_model() {
    let (repo, _) = project();
    let program = Program::in_folder(repo.root()).with_settings("model = 'acme/large'\n");
    ok(program.tool("list_files", &json!({}), "--target main"));
    program.words("--target main").ended(2);
    program.words("--target main --no-model").ended(0);
}

/// All parts of a diff, each by the call that the one before named; says how many there were.
fn whole_diff(program: &Program, path: &str, line: &str) -> (String, usize) {
    let mut input = json!({ "file_path": path });
    let (mut text, mut parts) = (String::new(), 0);
    loop {
        let answer = ok(program.tool("read_diff", &input, line));
        text.push_str(answer["content"].as_str().expect("content"));
        parts += 1;
        assert!(parts < 50, "it does not end");
        let Some(next) = answer.get("next") else { return (text, parts) };
        assert_eq!(next["tool"], "read_diff");
        assert!(answer["note"].as_str().is_some_and(|note| note.contains("more lines")), "{answer:#}");
        input = next["input"].clone();
    }
}

/// The added lines of a diff, in order.
fn added(diff: &str) -> String {
    diff.lines().filter_map(|line| line.strip_prefix('+')).map(|line| format!("{line}\n")).collect::<Vec<_>>().concat()
}

#[test]
fn a_long_diff_is_read_to_its_end_in_every_scope() {
    let (repo, program) = project();
    let long = numbered("long", 1_700);
    let file = repo.beside("change.patch");
    repo.write("long.txt", &long);
    repo.git(["add", "long.txt"]);
    let mut seen =
        vec![whole_diff(&program, "long.txt", "--staged"), whole_diff(&program, "long.txt", "--uncommitted")];
    repo.commit("add a long file");
    seen.push(whole_diff(&program, "long.txt", "--target main"));
    seen.push(whole_diff(&program, "long.txt", "--commit HEAD"));
    std::fs::write(&file, repo.git_bytes(["diff", "main...HEAD"])).expect("a patch");
    seen.push(whole_diff(&program, "long.txt", &format!("--diff {}", file.display())));
    for (text, parts) in &seen {
        assert!(*parts >= 4, "{parts} parts of 500 lines");
        assert!(added(text) == long, "a part is missing or told twice: {}", added(text).lines().count());
        assert!(*text == seen[0].0, "the scopes differ");
    }
}

#[test]
fn many_hunks_are_read_to_their_end() {
    let (repo, program) = project();
    let lines = |changed: bool| -> String {
        let mark = |n: usize| if changed && n.is_multiple_of(10) { " changed" } else { "" };
        (1..=3_000).map(|n| format!("line {n}{}\n", mark(n))).collect::<Vec<_>>().concat()
    };
    repo.git(["checkout", "-q", "main"]);
    repo.write("many.txt", lines(false)).commit("a file");
    repo.branch("edits").write("many.txt", lines(true)).commit("edits");
    let (text, parts) = whole_diff(&program, "many.txt", "--target main");
    assert!(parts > 1);
    let git = repo.git(["diff", "main...edits"]);
    let hunks: String = git.split_inclusive('\n').skip_while(|line| !line.starts_with("@@")).collect();
    let bare = |text: &str| -> Vec<String> {
        // What git writes after the second @@ is a guess at a function's name.
        text.lines()
            .map(|line| line.match_indices("@@").nth(1).map_or(line, |(at, _)| &line[..at + 2]).to_owned())
            .collect()
    };
    let (ours, gits) = (bare(&text), bare(&hunks));
    assert!(ours.iter().filter(|line| !line.starts_with("@@")).eq(gits.iter().filter(|line| !line.starts_with("@@"))));
}

#[test]
fn what_is_left_out_can_be_neither_read_nor_found() {
    let (_repo, program) = project();
    for line in ["--exclude src/**", "--include docs/**", "--at HEAD --exclude src"] {
        fault(program.tool("read_file_part", &json!({ "file_path": "src/b.rs" }), line), "excluded");
        let found = ok(program.tool("search_in_files", &json!({ "pattern": "main" }), line));
        assert!(found.to_string().contains("docs/guide.md"), "{found:#}");
        assert!(!found.to_string().contains("src/"), "{found:#}");
        let listed = ok(program.tool("list_files", &json!({}), line));
        assert!(!listed.to_string().contains("src"), "{listed:#}");
    }
}

#[test]
fn a_secret_is_masked_wherever_it_comes_out() {
    let (repo, program) = project();
    let secret = secret();
    let lines = numbered("x", 60);
    repo.git(["checkout", "-q", "main"]);
    repo.write("conf.py", lines.replace("x line", "x_line = ")).commit("a file");
    repo.branch("leak");
    let with_key = lines.replace("x line", "x_line = ").replace("x_line =  40\n", &format!("key = \"{secret}\"\n"));
    assert!(with_key.contains(&secret));
    repo.write("conf.py", with_key).commit("oh no");
    let patch = repo.beside("change.patch");
    std::fs::write(&patch, repo.git_bytes(["diff", "main...HEAD"])).expect("a patch");
    let from_patch = format!("--diff {}", patch.display());

    for line in ["--target main", "--commit HEAD", "--at HEAD", from_patch.as_str()] {
        let read = ok(program.tool("read_file_part", &json!({ "file_path": "conf.py" }), line));
        let found = ok(program.tool("search_in_files", &json!({ "pattern": "key = " }), line));
        for answer in [&read, &found] {
            assert!(answer.to_string().contains("[masked:"), "{line}: {answer:#}");
            assert!(!answer.to_string().contains(&secret), "{line}: {answer:#}");
        }
        for pattern in [secret.clone(), format!("key.*{}", &secret[8..]), "AKIA[0-9A-Z]{16}".to_owned()] {
            let raw = ok(program.tool("search_in_files", &json!({ "pattern": pattern }), line));
            assert_eq!(raw["matches"], json!([]), "{line} {pattern}");
        }
        if line != "--at HEAD" {
            let diff = ok(program.tool("read_diff", &json!({ "file_path": "conf.py" }), line));
            assert!(diff.to_string().contains("[masked:") && !diff.to_string().contains(&secret), "{line}: {diff:#}");
        }
    }
    for line in ["--target main", "--commit HEAD", from_patch.as_str()] {
        for format in ["terminal", "markdown", "json"] {
            let ran = program.words(&format!("{line} --format {format}")).ended(0);
            assert!(ran.text().contains("[masked:"), "it is found: {}", ran.text());
            assert!(!ran.text().contains(&secret) && !ran.stderr.contains(&secret), "{line} {format}: {}", ran.text());
        }
    }
    for line in ["--target main", "--commit HEAD", from_patch.as_str()] {
        let (_, review) = program.review(line);
        let found = &review["findings"][0];
        assert_eq!(found["origin"]["name"], "general/secret-added", "{line}: {review:#}");
        let anchor = &found["anchors"][0];
        assert_eq!((&anchor["start_line"], &anchor["masked"]), (&json!(40), &json!(true)), "{line}: {review:#}");
    }
    for run in program.kept() {
        for file in std::fs::read_dir(run).expect("a run") {
            let text = std::fs::read_to_string(file.expect("a file").path()).expect("text");
            assert!(!text.contains(&secret), "{text}");
        }
    }
}

#[test]
fn what_is_not_committed_is_named_by_the_flag_that_shows_it() {
    let (repo, program) = project();
    repo.write("scratch.py", "x\n").write("docs/guide.md", "edited\n");
    let (code, told) = program.tool("read_file_part", &json!({ "file_path": "scratch.py" }), "");
    assert_eq!(code, 2);
    assert_eq!(told["error"]["message"], "scratch.py is not at HEAD; it is on the disk: --uncommitted");
    let (_, told) = program.tool("read_diff", &json!({ "file_path": "docs/guide.md" }), "--target main");
    assert!(told["error"]["message"].as_str().is_some_and(|told| told.ends_with(": --uncommitted")), "{told}");
    let input = json!({ "file_path": repo.root().canonicalize().expect("a folder").join("src/a.rs") });
    assert_eq!(ok(program.tool("read_file_part", &input, ""))["file_path"], "src/a.rs");
}
