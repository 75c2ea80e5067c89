//! `review build`, `review trust`, `--check` and the tool `build` of the MCP server: programs of the project run when somebody asked for
//! them, confined, and what they say comes out in a few lines.

#![cfg(unix)]

use std::io::Read as _;
use std::net::TcpListener;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::mcp::{Client, Era};
use crate::support::{Program, TestRepo};

/// The tools that the repository declares: each is a script for the shell.
const DECLARED: &str = r#"
[[tool]]
name = "lint"
description = "Lint"
command = ["sh", "lint.sh"]
parsers = ["generic"]
mutates = false

[[tool]]
name = "change"
command = ["sh", "change.sh"]
"#;

const LINT: &str =
    "echo begin\necho 'src/a.py:2:5: error: no \\033[31mgood'\necho 'src/a.py:3: warning: meh' >&2\nexit 1\n";

/// A repository that declares its tools.
fn repository() -> TestRepo {
    let repo = TestRepo::new();
    repo.write(".review/build.toml", DECLARED).write("lint.sh", LINT).write("change.sh", "echo changed > changed\n");
    repo.write("src/a.py", "a = 1\nb = 2\nc = 3\n").commit("begin");
    repo
}

/// The same, trusted, with one script.
fn trusted(script: &str) -> (TestRepo, Program) {
    let repo = repository();
    repo.write("lint.sh", script);
    let program = Program::in_folder(repo.root());
    program.words("trust").ended(0);
    (repo, program)
}

fn only_run(program: &Program) -> String {
    let mut runs = std::fs::read_dir(program.home("state/review/builds")).expect("the folder of runs");
    let run = runs.next().expect("a run").expect("an entry").file_name().into_string().expect("a name");
    assert!(runs.next().is_none(), "one run");
    run
}

#[test]
fn a_declared_tool_runs_once_it_is_trusted_and_says_what_and_where() {
    let repo = repository();
    let program = Program::in_folder(repo.root());
    let refused = program.words("build lint --json").ended(2).json();
    let message = refused["errors"][0]["message"].as_str().expect("a message").to_owned();
    assert!(message.contains("is not trusted") && message.contains("review trust"), "{message}");
    let told = program.words("trust").ended(0);
    assert!(told.stderr.contains("lint: sh lint.sh") && told.stderr.contains("trusts 2 tools"), "{}", told.stderr);
    let answer = program.words("build lint --json").ended(1).json();
    let run = only_run(&program);
    assert_eq!(
        answer,
        json!({
            "success": false,
            "errors": [{ "message": "no good", "file": "src/a.py", "line": 2, "column": 5 }],
            "warnings": [{ "message": "meh", "file": "src/a.py", "line": 3 }],
            "runId": run,
        })
    );
    let page = program.run(["build", "log", &run, "--start", "2", "--count", "1", "--json"]).ended(0).json();
    assert_eq!((&page["startLine"], &page["endLine"], &page["totalLines"]), (&json!(2), &json!(2), &json!(3)));
    let raw = program.run(["build", "raw", &run, "--offset", "0", "--length", "5", "--json"]).ended(0).json();
    let data = raw["data"].as_str().expect("text");
    assert_eq!((data.len(), &raw["length"], &raw["hasMore"]), (5, &json!(5), &json!(true)), "{raw}");
    let shown = program.words("build lint").ended(1);
    assert!(
        shown
            .text()
            .starts_with("src/a.py:2:5: error: no good\nsrc/a.py:3: warning: meh\nlint failed: 1 error, 1 warning\n")
    );
    repo.write(".review/build.toml", format!("{DECLARED}\n"));
    program.words("build lint").ended(2);
}

#[test]
fn what_changes_files_is_confirmed_and_runs_in_the_repository_only() {
    let (repo, program) = trusted("exit 0\n");
    let refused = program.words("build change --json").ended(2).json();
    assert_eq!(refused["errors"][0]["code"], "CONFIRMATION_REQUIRED");
    assert!(!repo.root().join("changed").exists());
    program.words("build change --confirm").ended(0);
    assert!(repo.root().join("changed").exists());
    let unknown = program.words("build nothing --json").ended(2);
    let expected =
        r#"{"success":false,"errors":[{"message":"Unknown tool: nothing","code":"UNKNOWN_TOOL"}],"runId":""}"#;
    assert_eq!(unknown.text().trim_end(), expected);
    let elsewhere = Program::in_folder(repo.root()).words("build lint --cwd gone --json");
    assert_eq!(elsewhere.code, 2, "{}", elsewhere.stderr);
    for (run, code) in [("x", 2), ("6f1c0000-0000-4000-8000-000000000000", 2)] {
        program.run(["build", "log", run]).ended(code);
    }
    program.words("build list").ended(0);
    assert!(program.words("build list --all").ended(0).text().contains("cargo.test"));
}

#[test]
fn a_hostile_tool_reads_no_secret_writes_nothing_outside_and_reaches_nobody() {
    let outside = tempfile::tempdir().expect("a folder");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.set_nonblocking(true).expect("a mode");
    let port = listener.local_addr().expect("an address").port();
    let mark = outside.path().join("mark");
    let script = format!(
        "env\nmkdir -p build\necho inside > build/inside\necho outside > {}\ncat \"$HOME/secret\"\nbash -c 'echo x > /dev/tcp/127.0.0.1/{port}'\nexit 0\n",
        mark.display()
    );
    let (repo, program) = trusted(&script);
    let program = program.with("API_TOKEN", "canary-of-the-environment");
    std::fs::create_dir_all(program.home("")).expect("a home");
    std::fs::write(program.home("secret"), "canary-of-the-home").expect("a file");
    let ran = program.words("build lint --json").ended(0);
    let log = program.run(["build", "log", &only_run(&program), "--count", "500"]).ended(0);
    assert!(!log.text().contains("canary-of-the-environment"), "{}", log.text());
    assert!(repo.root().join("build/inside").exists(), "{}", log.text());
    if cfg!(target_os = "linux") && !ran.stderr.contains("sandbox") {
        assert!(!mark.exists(), "{}", log.text());
        assert!(!log.text().contains("canary-of-the-home"), "{}", log.text());
        assert!(listener.accept().is_err(), "it connected");
    }
}

#[test]
fn a_time_limit_ends_all_processes_of_a_tool_and_leaves_a_log() {
    let (repo, program) =
        trusted("echo begin\n(trap '' TERM; setsid sleep 600 & echo $! > pid; wait) &\nwait\nsleep 600\n");
    let ran = program.words("build lint --json --timeout 2s").ended(3).json();
    let message = ran["errors"][0]["message"].as_str().expect("a message").to_owned();
    assert!(message.starts_with("Execution failed: "), "{message}");
    let log = program.run(["build", "log", &only_run(&program)]).ended(0);
    assert!(log.text().starts_with("begin\n"), "{}", log.text());
    let pid = std::fs::read_to_string(repo.root().join("pid")).expect("the pid of the child");
    let begun = Instant::now();
    let process = format!("/proc/{}", pid.trim());
    while std::path::Path::new(&process).exists() {
        assert!(begun.elapsed() < Duration::from_mins(1), "the child is still there");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_killed_caller_leaves_no_process_of_a_tool() {
    let (repo, program) = trusted("echo $$ > pid\nsleep 600\n");
    let mut child = program.command(["build", "lint"]).spawn().expect("it starts");
    let file = repo.root().join("pid");
    let begun = Instant::now();
    let pid = loop {
        let text = std::fs::read_to_string(&file).unwrap_or_default();
        if text.ends_with('\n') {
            break text.trim().to_owned();
        }
        assert!(begun.elapsed() < Duration::from_mins(1), "it never began");
        std::thread::sleep(Duration::from_millis(20));
    };
    child.kill().expect("it is killed");
    child.wait().expect("it ends");
    let mut rest = String::new();
    drop(child.stdout.take().map(|mut pipe| pipe.read_to_string(&mut rest)));
    let process = format!("/proc/{pid}");
    while std::path::Path::new(&process).exists() {
        assert!(begun.elapsed() < Duration::from_mins(2), "the tool is still there");
        std::thread::sleep(Duration::from_millis(20));
    }
    program.run(["build", "log", &only_run(&program)]).ended(0);
}

/// A linter of the project that reports two lines: one that the branch changed, and an old one.
const RUFF: &str = r#"#!/bin/sh
for file in "$@"; do :; done
cat <<END
[{"code": "F841", "message": "Local variable is never used", "filename": "$PWD/src/a.py", "location": {"row": 2, "column": 1}, "end_location": {"row": 2, "column": 2}},
 {"code": "E741", "message": "Ambiguous name", "filename": "$PWD/src/a.py", "location": {"row": 1, "column": 1}, "end_location": {"row": 1, "column": 2}}]
END
exit 1
"#;

#[test]
fn a_check_tells_what_a_linter_says_about_changed_lines_only() {
    let repo = repository();
    repo.write(".gitignore", ".venv\n").write("ruff.toml", "").commit("settings");
    repo.git(["checkout", "-q", "-b", "topic"]);
    repo.write("src/a.py", "a = 1\nb = 22\nc = 3\n").commit("change");
    repo.write(".venv/bin/ruff", RUFF);
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(repo.root().join(".venv/bin/ruff"), mode).expect("a mode");
    let program = Program::in_folder(repo.root());
    let without = program.review("--target main --no-model").1;
    assert_eq!(without["findings"], json!([]));
    for check in ["ruff", "auto"] {
        let (code, review) = program.review(&format!("--target main --no-model --check {check} --previous none"));
        let found: Vec<(&Value, &Value, &Value)> = review["findings"]
            .as_array()
            .expect("findings")
            .iter()
            .map(|finding| (&finding["origin"]["name"], &finding["anchors"][0]["start_line"], &finding["severity"]))
            .collect();
        assert_eq!(code, 0, "{review:#}");
        assert_eq!(found, [(&json!("ruff/F841"), &json!(2), &json!("medium"))], "{review:#}");
        let notes = review["coverage"]["notes"].to_string();
        assert!(notes.contains("ruff has 2 results: 1 told, 1 lie outside the change"), "{notes}");
    }
    std::fs::remove_dir_all(repo.root().join(".venv")).expect("it goes");
    let program = program.with("PATH", "/nowhere");
    let named = program.words("--target main --no-model --check ruff").ended(2);
    assert!(named.stderr.contains("--check ruff: ") && named.stderr.contains("not found"), "{}", named.stderr);
    let chosen = program.review("--target main --no-model --check auto").1;
    assert!(chosen["coverage"]["notes"].to_string().contains("ruff was not run: "), "{chosen:#}");
    let unknown = program.words("--target main --no-model --check nothing").ended(2);
    assert!(unknown.stderr.contains("there is no such check"), "{}", unknown.stderr);
}

/// Commits a linter of the project's own on the branch `topic`, which changes a line, and returns to `main`.
fn with_linter(repo: &TestRepo, script: &str) {
    repo.git(["checkout", "-q", "-b", "topic"]);
    repo.write("src/a.py", "a = 1\nb = 22\nc = 3\n").commit("change");
    repo.write(".venv/bin/ruff", script);
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(repo.root().join(".venv/bin/ruff"), mode).expect("a mode");
    repo.git(["add", "-f", ".venv/bin/ruff"]);
    repo.commit("the linter");
}

/// Checks whether a check ran on a copy: where the sandbox does not hold, it is refused with the reason.
fn runs_on_copies(program: &Program, words: &str) -> bool {
    let ran = program.words(words);
    let is_refused = ran.stderr.contains("the sandbox cannot be enforced here");
    assert!(!is_refused || ran.code == 2, "{}", ran.stderr);
    !is_refused
}

#[test]
fn links_of_a_commit_open_nothing_to_its_linter() {
    let outside = tempfile::tempdir().expect("a folder");
    std::fs::write(outside.path().join("secret"), "canary").expect("a file");
    let repo = repository();
    let script = format!("#!/bin/sh\ncat {}/secret && exit 0\necho '[]'\n", outside.path().display());
    with_linter(&repo, &script);
    for link in ["node_modules/.bin", "venv/bin", "vendor/bin"] {
        let path = repo.root().join(link);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::os::unix::fs::symlink(outside.path(), &path).expect("a link");
        repo.git(["add", "-f", link]);
    }
    repo.commit("links");
    repo.git(["checkout", "-q", "main"]);
    let program = Program::in_folder(repo.root());
    let ran = program.words("--target main --head topic --no-model --check ruff --format json");
    if !ran.stderr.contains("sandbox") {
        let log = program.run(["build", "log", &only_run(&program)]).ended(0);
        // It is closed, or not even to be seen.
        let is_refused = log.text().contains("ermission denied") || log.text().contains("No such file");
        assert!(is_refused && !log.text().contains("canary"), "{}", log.text());
    }
}

#[test]
fn a_check_that_failed_itself_is_never_a_clean_one() {
    for (script, told) in [
        ("#!/bin/sh\necho broken >&2\nexit 2\n", "it ended with exit code 2 and nothing that could be read"),
        ("#!/bin/sh\nkill -9 $$\n", "signal 9 ended it"),
    ] {
        let repo = repository();
        repo.write("ruff.toml", "").commit("settings");
        with_linter(&repo, script);
        let program = Program::in_folder(repo.root());
        let named = program.words("--target main --no-model --check ruff").ended(2);
        assert!(named.stderr.contains(told), "{}", named.stderr);
        let chosen = program.review("--target main --no-model --check auto").1;
        let notes = chosen["coverage"]["notes"].to_string();
        assert!(notes.contains("ruff was not run: ") && notes.contains(told), "{notes}");
    }
}

#[test]
fn what_is_not_committed_is_not_checked_in_place_of_the_commit() {
    let repo = repository();
    with_linter(&repo, RUFF);
    // In the checkout it would report nothing.
    repo.write(".venv/bin/ruff", "#!/bin/sh\necho '[]'\n");
    let program = Program::in_folder(repo.root());
    if !runs_on_copies(&program, "--target main --no-model --check ruff") {
        return;
    }
    let review = program.review("--target main --no-model --check ruff").1;
    assert_eq!(review["findings"][0]["origin"]["name"], "ruff/F841", "{review:#}");
    let other = program.words("--target main --no-model --check tsc --format json").ended(0).json();
    let notes = other["coverage"]["notes"].to_string();
    assert!(notes.contains("tsc was not run: no changed file is one that it looks at"), "{notes}");
}

#[test]
fn trust_is_in_one_repository_and_fixing_is_confirmed() {
    let (_one, program) = trusted("exit 0\n");
    let other = repository();
    let refused = program.words(&format!("build lint --cwd {} --json", other.root().display())).ended(2).json();
    assert!(refused["errors"][0]["message"].as_str().is_some_and(|text| text.contains("is not trusted")), "{refused}");
    let fix = program.words("build ruff --json -- --fix").ended(2).json();
    assert_eq!(fix["errors"][0]["code"], "CONFIRMATION_REQUIRED");
}

#[test]
fn a_check_of_a_commit_that_is_not_checked_out_runs_on_a_copy() {
    let repo = repository();
    // Here it is a file of the commit, so that the copy has it too.
    with_linter(&repo, RUFF);
    repo.git(["checkout", "-q", "main"]);
    let program = Program::in_folder(repo.root());
    if !runs_on_copies(&program, "--target main --head topic --no-model --check ruff") {
        return;
    }
    let review = program.review("--target main --head topic --no-model --check ruff").1;
    assert_eq!(review["findings"][0]["origin"]["name"], "ruff/F841", "{review:#}");
    assert!(!repo.root().join(".venv").exists(), "the checkout is untouched");
}

#[test]
fn the_tool_of_the_server_answers_in_the_documented_shapes() {
    let (repo, program) = trusted(LINT);
    let mut client = Client::stdio(&program, "--tools build --no-model", Era::Session("2025-11-25"));
    let listed = client.result("tools/list", json!({}));
    let names: Vec<&Value> = listed["tools"].as_array().expect("tools").iter().map(|tool| &tool["name"]).collect();
    assert_eq!(names, ["build"]);
    assert_eq!(listed["tools"][0]["inputSchema"]["required"], json!(["action"]));
    let schema = jsonschema::draft202012::new(&listed["tools"][0]["outputSchema"]).expect("a schema");
    assert!(!schema.is_valid(&json!({ "nothing": 1 })));
    let mut ask = |input: Value| {
        let answer = client.call("build", input.clone())["structuredContent"].clone();
        assert!(schema.is_valid(&answer), "{input}: {answer}");
        answer
    };
    let tools = ask(json!({ "action": "list" }));
    assert!(tools["tools"].as_array().expect("tools").iter().any(|tool| tool["name"] == "lint"), "{tools}");
    let answer = ask(json!({ "action": "exec", "tool": "lint" }));
    let run = answer["runId"].as_str().expect("a run").to_owned();
    assert_eq!(answer["errors"][0]["file"], "src/a.py");
    let hint = answer["hint"].as_str().expect("a hint");
    let begin = format!("To view full logs: {{ action: 'log', runId: '{run}' }}. Report issues: ");
    assert!(hint.starts_with(&begin), "{hint}");
    let page = ask(json!({ "action": "log", "runId": run, "startLine": 9 }));
    assert_eq!(page, json!({ "lines": [], "startLine": 9, "endLine": 8, "totalLines": 3, "hasMore": false }));
    let faults = [
        (json!({ "action": "exec" }), json!({ "error": "Missing required parameter 'tool' for exec action" })),
        (json!({ "action": "log" }), json!({ "error": "Missing required parameter 'runId' for log action" })),
        (json!({ "action": "log", "runId": "x" }), json!({ "error": "Invalid runId: x", "code": "INVALID_RUN_ID" })),
        (
            json!({ "action": "log", "runId": "6f1c0000-0000-4000-8000-000000000000" }),
            json!({ "error": "Run not found: 6f1c0000-0000-4000-8000-000000000000", "code": "RUN_NOT_FOUND" }),
        ),
        (
            json!({ "action": "log", "runId": run, "startLine": 0 }),
            json!({ "error": "startLine must be >= 1", "code": "INVALID_START_LINE" }),
        ),
    ];
    for (input, expected) in faults {
        assert_eq!(ask(input.clone()), expected, "{input}");
    }
    let unknown = ask(json!({ "action": "exec", "tool": "nothing" }));
    assert_eq!(unknown["errors"], json!([{ "message": "Unknown tool: nothing", "code": "UNKNOWN_TOOL" }]));
    assert!(unknown["hint"].as_str().is_some_and(|hint| hint.starts_with("Report issues: ")), "{unknown}");
    let elsewhere = ask(json!({ "action": "exec", "tool": "lint", "cwd": "/" }));
    assert_eq!(elsewhere["errors"][0]["code"], "INVALID_CWD");
    let refused = ask(json!({ "action": "exec", "tool": "change" }));
    assert_eq!(refused["errors"][0]["code"], "CONFIRMATION_REQUIRED");
    assert!(!repo.root().join("changed").exists());
    ask(json!({ "action": "exec", "tool": "change", "confirmed": true }));
    assert!(repo.root().join("changed").exists());
    client.close();
}
