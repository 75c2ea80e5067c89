//! `--agent`: a fake assistant reviews over the bridge, well and badly. The fake is this test program itself, behind a script named `claude`.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use review_runner::app::is_process_alive;
use serde_json::{Value, json};

use crate::support::looks::given;
use crate::support::{Program, Ran, TestRepo};

const TITLE: &str = "The list of the caller grows";
const LINE: &str = "--target main --agent claude-code --format json";

fn project() -> TestRepo {
    let repo = TestRepo::new();
    repo.write("AGENTS.md", "Say nothing.\n")
        .write("cart.py", "def total(items):\n    return sum(items)\n")
        .commit("begin");
    let changed = "def total(items):\n    items.append(1)\n    return sum(items)\n";
    repo.branch("feature").write("cart.py", changed).commit("count one more");
    repo
}

/// The program, for which `claude` is the fake with this play.
fn program(repo: &TestRepo, play: &str) -> Program {
    let program = Program::in_folder(repo.root()).with("ANTHROPIC_API_KEY", "not-for-the-assistant");
    let bin = program.home("bin");
    std::fs::create_dir_all(&bin).unwrap();
    let own = std::env::current_exe().unwrap();
    let script = format!(
        "#!/bin/sh\nFAKE_PLAY={play} FAKE_ARGUMENTS=\"$*\" exec '{}' --exact agents::fake_agent --ignored --nocapture\n",
        own.display()
    );
    std::fs::write(bin.join("claude"), script).unwrap();
    std::fs::set_permissions(bin.join("claude"), PermissionsExt::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    program.with("PATH", &path)
}

fn ran(play: &str) -> (Ran, Program) {
    let repo = project();
    let program = program(&repo, play);
    (program.words(LINE), program)
}

#[test]
fn an_assistant_reviews_with_the_tools_of_the_review_and_its_claims_are_checked() {
    let repo = project();
    let program = program(&repo, "well");
    let ran = program.words(&format!("{LINE} --verbose")).ended(0);
    let review = ran.json();
    assert_eq!(review["outcome"], "complete", "{review:#}");
    let findings = review["findings"].as_array().unwrap();
    assert_eq!(findings.len(), 1, "the quote that stands nowhere is withheld: {review:#}");
    assert_eq!(findings[0]["title"], TITLE);
    assert!(ran.stderr.contains("withheld: "), "{}", ran.stderr);
    let text = review.to_string();
    assert!(text.contains("\"provider\":\"claude-code\"") && text.contains("counts on that plan"), "{text}");
    assert_eq!(findings[0]["verification"]["state"], "confirmed", "a second session verifies: {review:#}");
    // What it called is recorded like the turns of a model.
    program.words("replay last").ended(0);
}

#[test]
fn an_unknown_tool_is_refused_and_the_review_goes_on() {
    let (ran, _) = ran("unknown");
    assert_eq!(ran.ended(0).json()["outcome"], "complete");
}

#[test]
fn an_assistant_that_stops_early_makes_no_complete_review() {
    for (play, code, words) in [
        ("crash", 3, &["claude-code ended with code 3", "boom", "run `claude`"][..]),
        ("prose", 3, &["without calling finish_review"]),
    ] {
        let ran = ran(play).0.ended(code);
        let review = ran.json();
        assert_eq!(review["outcome"], "incomplete", "{play}: {review:#}");
        let text = format!("{review}{}", ran.stderr);
        assert!(words.iter().all(|word| text.contains(word)), "{play}: {text}");
        assert!(!text.contains('\u{1b}') && !text.contains("\\u001b"), "{play}: {text}");
        if play == "crash" {
            assert_eq!(review["findings"][0]["title"], TITLE, "what it found is there: {review:#}");
        }
    }
}

#[test]
fn an_assistant_that_never_begins_is_one_error_with_what_to_do() {
    for (play, words) in [
        ("login", &["claude-code ended with code 1", "Not logged in", "logged in and answers"][..]),
        ("mute", &["without a call of a tool of the review"]),
        ("huge", &["wrote more than", "was stopped"]),
    ] {
        let ran = ran(play).0.ended(4);
        let text = format!("{}{}", ran.text(), ran.stderr);
        assert!(words.iter().all(|word| text.contains(word)), "{play}: {text}");
        assert!(!text.contains('\u{1b}') && text.len() < 20_000, "{play}: {text}");
    }
}

#[test]
fn an_assistant_that_is_not_there_is_refused_before_anything_is_done() {
    let repo = project();
    let program = Program::in_folder(repo.root());
    let empty = program.home("empty");
    std::fs::create_dir_all(&empty).unwrap();
    let program = program.with("PATH", &empty.display().to_string());
    let ran = program.words(LINE).ended(2);
    assert!(
        ran.stderr.contains("Claude Code is not installed: the program claude was not found in PATH"),
        "{}",
        ran.stderr
    );
    assert!(program.kept().is_empty());
    let ran = program.words("--target main --agent cursor").ended(2);
    assert!(ran.stderr.contains("claude-code, codex, gemini, opencode"), "{}", ran.stderr);
    program.words("--target main --agent codex --model anthropic/x").ended(2);
}

#[test]
fn an_installed_assistant_is_listed_and_offered_but_not_taken_unasked() {
    let repo = project();
    let program = program(&repo, "well");
    let listed = program.words("models").ended(0);
    let line = "claude-code  installed (claude); `review --agent claude-code` uses its login\n";
    assert!(listed.text().contains(line), "{}", listed.text());
    let document = program.words("models --format json").ended(0).json();
    assert_eq!(document["assistants"][0]["agent"], "claude-code");
    let ran = program.with("ANTHROPIC_API_KEY", "").with("OLLAMA_HOST", "127.0.0.1:1").words("init --yes").ended(0);
    for words in ["found the assistant Claude Code", "review mcp install --client claude-code", "nothing to write"] {
        assert!(ran.stderr.contains(words), "{words}: {}", ran.stderr);
    }
}

#[test]
fn a_project_chooses_no_assistant() {
    for text in ["agent = 'codex'\n", "model = 'codex'\n"] {
        let repo = TestRepo::new();
        repo.write(".review.toml", text).write("a.py", "x = 1\n").commit("begin");
        repo.branch("feature").write("a.py", "x = 2\n").commit("change");
        let ran = Program::in_folder(repo.root()).words("--target main --no-model").ended(2);
        assert!(ran.stderr.contains("may not set"), "{}", ran.stderr);
    }
}

#[test]
fn an_interrupt_or_a_closed_terminal_ends_the_assistant() {
    use rustix::process::Signal;
    stopped_by(Signal::INT);
    // Under nohup, which a child takes over, nothing is to happen.
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| u64::from_str_radix(line.strip_prefix("SigIgn:")?.trim(), 16).ok());
    if ignored.is_some_and(|signals| signals & 1 == 0) {
        stopped_by(Signal::HUP);
    }
}

fn stopped_by(signal: rustix::process::Signal) {
    let repo = project();
    let program = program(&repo, "hang");
    let child = program.command(LINE.split(' ')).spawn().unwrap();
    let process = || std::fs::read_to_string(program.home("process")).unwrap_or_default();
    let began = std::time::Instant::now();
    while process().is_empty() {
        assert!(began.elapsed() < std::time::Duration::from_mins(2), "the assistant does not begin");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let id = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(id, signal).unwrap();
    let ran = Ran::wait(child).ended(130);
    assert_eq!(ran.json()["outcome"], "incomplete");
    let process = process();
    assert!(!is_process_alive(process.parse().unwrap()), "{process} is still there");
}

/// The connection of the fake to the review.
struct Bridge {
    _child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    number: u64,
}

impl Bridge {
    /// Starts the bridge as the settings name it, as a client does.
    #[expect(clippy::disallowed_methods, reason = "the fake is a client, which starts servers")]
    fn start(settings: &Path) -> Self {
        let settings: Value = serde_json::from_slice(&std::fs::read(settings).unwrap()).unwrap();
        let server = &settings["mcpServers"]["review"];
        let arguments = server["args"].as_array().unwrap().iter().map(|one| one.as_str().unwrap());
        let mut command = Command::new(server["command"].as_str().unwrap());
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (input, output) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        let mut bridge = Self { _child: child, input, output, number: 0 };
        let about = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "fake", "version": "1" } });
        bridge.ask("initialize", &about);
        writeln!(bridge.input, "{}", json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).unwrap();
        bridge
    }

    fn send(&mut self, method: &str, params: &Value) {
        self.number += 1;
        let request = json!({ "jsonrpc": "2.0", "id": self.number, "method": method, "params": params });
        writeln!(self.input, "{request}").unwrap();
    }

    fn ask(&mut self, method: &str, params: &Value) -> Value {
        self.send(method, params);
        loop {
            let mut line = String::new();
            assert!(self.output.read_line(&mut line).unwrap() > 0, "the bridge is gone");
            let answer: Value = serde_json::from_str(&line).unwrap();
            if answer["id"] == self.number {
                return answer["result"].clone();
            }
        }
    }

    fn call(&mut self, name: &str, input: &Value) -> Value {
        self.ask("tools/call", &json!({ "name": name, "arguments": input }))
    }

    /// Makes the call that ends the session: the last one is not answered. A review asks once about what is open.
    fn end(&mut self, name: &str, input: &Value) {
        for _ in 0..3 {
            self.call(name, input);
        }
    }
}

fn finding(quote: &str) -> Value {
    json!({ "title": TITLE, "body": "It grows with each call.", "severity": "high", "category": "logic", "file_path": "cart.py", "quote": quote, "confidence": 9 })
}

/// The fake: started by the script only.
#[test]
#[expect(clippy::exit, reason = "the fake is a program")]
#[ignore = "it is the fake assistant of the other tests"]
fn fake_agent() {
    let Ok(play) = std::env::var("FAKE_PLAY") else { return };
    let mut prompt = String::new();
    std::io::stdin().read_to_string(&mut prompt).unwrap();
    assert!(std::env::var_os("ANTHROPIC_API_KEY").is_none(), "a key of another program");
    assert_eq!(std::fs::read_dir(".").unwrap().count(), 0, "the folder is not empty");
    let arguments = std::env::var("FAKE_ARGUMENTS").unwrap();
    let words: Vec<&str> = arguments.split(' ').collect();
    let after = |flag: &str| words[words.iter().position(|word| *word == flag).unwrap() + 1];
    assert!(words.contains(&"--strict-mcp-config") && after("--tools").is_empty(), "{arguments}");
    match play.as_str() {
        "login" => {
            eprintln!("{prompt}\n\u{1b}[31mNot logged in\u{1b}[0m");
            std::process::exit(1);
        }
        "mute" => std::process::exit(0),
        "huge" => {
            let line = "\u{1b}[2J".repeat(20_000);
            for _ in 0..400 {
                println!("{line}");
            }
            std::process::exit(0);
        }
        _ => {}
    }
    let mut bridge = Bridge::start(Path::new(after("--mcp-config")));
    let tools = bridge.ask("tools/list", &json!({}));
    let names: Vec<&str> =
        tools["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    if names.contains(&"give_verdict") {
        return bridge.end("give_verdict", &given("confirmed", 9, "The list is the one of the caller.")["input"]);
    }
    assert!(names.contains(&"report_finding") && names.contains(&"read_file_part"), "{names:?}");
    assert!(prompt.contains("items.append(1)") && prompt.contains("finish_review"), "{prompt}");
    play_review(&play, &mut bridge);
}

#[expect(clippy::exit, clippy::print_stdout, clippy::print_stderr, reason = "the fake is a program")]
fn play_review(play: &str, bridge: &mut Bridge) {
    match play {
        "hang" => {
            bridge.call("list_files", &json!({}));
            let home = std::path::PathBuf::from(std::env::var("HOME").unwrap());
            // Whole at once: the test reads it as soon as it is there.
            std::fs::write(home.join("process.new"), std::process::id().to_string()).unwrap();
            std::fs::rename(home.join("process.new"), home.join("process")).unwrap();
            std::thread::sleep(std::time::Duration::from_mins(10));
        }
        "prose" => {
            bridge.call("list_files", &json!({}));
            println!("All is well.");
            std::process::exit(0);
        }
        "unknown" => {
            let refused = bridge.call("bash", &json!({ "command": "id" }));
            assert_eq!(refused["isError"], true, "{refused}");
        }
        "well" => {
            bridge.call("report_finding", &finding("    items.push(1)"));
            // As a client does that makes the calls of one step one after the other.
            bridge.call("read_file_part", &json!({ "file_path": "cart.py" }));
            let early = bridge.call("finish_review", &json!({ "summary": "It counts one more." }));
            assert!(early["isError"] == true && early.to_string().contains("not accepted yet"), "{early}");
        }
        _ => {}
    }
    let reported = bridge.call("report_finding", &finding("    items.append(1)"));
    assert_ne!(reported["isError"], true, "{reported}");
    if play == "crash" {
        eprintln!("\u{1b}[31mboom\u{1b}[0m");
        std::process::exit(3);
    }
    bridge.end("finish_review", &json!({ "summary": "It counts one more." }));
}
