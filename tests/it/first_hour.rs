//! The first hour of a user: the setup, errors of a model's provider, and what can be done with a finding.

use std::path::Path;

use crate::support::model::{KEY, NO_SERVER, Options, Server, Session, Wire};
use crate::support::session::{Talk, shop};
use crate::support::{Program, Ran, TestRepo};

/// A branch with one finding of the rules.
fn branch() -> TestRepo {
    let repo = TestRepo::new();
    repo.write("README", "read me\n").commit("begin");
    repo.branch("feature").write("a.py", "def add(item, items=[]):\n    return items\n").commit("add a file");
    repo
}

/// A server that answers by these steps, one a line.
fn scripted(name: &str, steps: &str, wire: Wire) -> Server {
    Server::start(Session::parse(name, steps), Options { wire: Some(wire), ..Options::default() })
}

/// A program that is led to a server.
fn led(folder: &Path, server: &Server, wire: Wire) -> Program {
    let variables = server.environment(wire);
    Program::in_folder(folder).with_all(variables)
}

/// The last line, which must be the only error.
#[track_caller]
fn last_error(ran: &Ran) -> String {
    let errors: Vec<&str> = ran.stderr.lines().filter(|line| line.starts_with("error:")).collect();
    let last = ran.stderr.lines().last().unwrap_or_default();
    assert_eq!(errors, [last], "{}", ran.stderr);
    assert!(!ran.stderr.contains(KEY), "{}", ran.stderr);
    last.to_owned()
}

#[test]
fn a_failed_provider_is_one_last_line_with_the_source_of_the_key_and_no_report() {
    let repo = branch();
    let status = |code: u16, message: &str| {
        format!(
            "{{\"reuse\": true, \"say\": {{\"fault\": {{\"status\": {{\"code\": {code}, \"message\": \"{message}\"}}}}}}}}"
        )
    };
    for (code, message, words) in [
        (401, "incorrect key", &["answered 401: incorrect key", "is the key right"][..]),
        (403, "not for you", &["answered 403: not for you"]),
        (402, "no credit", &["answered 402: no credit", "credit left"]),
        (429, "you exceeded your quota, look at billing", &["answered 429", "quota"]),
    ] {
        let server = scripted("first_hour_status", &status(code, message), Wire::Chat);
        let program = led(repo.root(), &server, Wire::Chat);
        let ran = program.words("--target main --model openai-chat/scripted").ended(4);
        assert_eq!(ran.text(), "", "{code}: nothing looks like a review");
        let said = last_error(&ran);
        assert!(words.iter().all(|word| said.contains(word)), "{said}");
        assert!(said.contains("the key is from OPENAI_API_KEY") && said.contains("nothing was reviewed"), "{said}");
        assert!(!ran.stderr.contains("--resume"), "there is nothing to resume: {}", ran.stderr);
        // What the rules found is there on request.
        assert!(program.words("show").ended(0).text().contains("Failed"), "{code}");
        let server = scripted("first_hour_document", &status(code, message), Wire::Chat);
        let program = led(repo.root(), &server, Wire::Chat);
        let (_, document) = program.review("--target main --model openai-chat/scripted");
        assert_eq!(document["outcome"], "failed", "programs get the document");
    }
}

#[test]
fn an_unreachable_server_is_named_with_its_address() {
    let address = NO_SERVER;
    let repo = branch();
    let program = Program::in_folder(repo.root())
        .with("OPENAI_BASE_URL", &format!("http://{address}/v1"))
        .with("OPENAI_API_KEY", "any");
    let ran = program.words("--target main --model openai-chat/scripted").ended(4);
    let said = last_error(&ran);
    assert!(
        ran.text().is_empty() && said.contains("could not be reached") && said.contains("OPENAI_API_KEY"),
        "{said}"
    );
    assert!(said.contains(address), "{said}");
    let set = Program::in_folder(repo.root()).with_settings(&format!(
        "model = \"openai-chat/x\"\n[openai-chat]\nbase_url = \"http://{address}/v1\"\napi_key = \"{KEY}\"\n"
    ));
    let said = last_error(&set.words("--target main").ended(4));
    assert!(said.contains("config.toml:4"), "the line of the settings: {said}");
}

#[test]
fn rules_alone_are_said_to_be_that_unless_they_were_chosen() {
    let repo = branch();
    let program = Program::in_folder(repo.root());
    let hint =
        "Rules only. For a full review: review init, or set ANTHROPIC_API_KEY (or OPENAI_API_KEY, GEMINI_API_KEY).";
    let said = |line: &str| program.words(line).ended(0).stderr;
    assert_eq!(said("--target main").lines().last(), Some(hint));
    for line in ["--no-model", "--format json", "--format markdown", "--quiet"] {
        assert!(!said(&format!("--target main {line}")).contains("Rules only"), "{line}");
    }
    let set = Program::in_folder(repo.root()).with("REVIEW_MODEL", "none");
    assert!(!set.words("--target main").ended(0).stderr.contains("Rules only"));
}

#[test]
fn findings_become_a_task_for_an_agent() {
    let repo = branch();
    let program = Program::in_folder(repo.root());
    let (_, review) = program.review("--target main");
    let id = review["findings"][0]["id"].as_str().expect("a finding");
    let task = program.words(&format!("prompt {}", &id[..6])).ended(0);
    for words in [
        "# Task: resolve a finding",
        &format!("=== {id}: "),
        "--- a.py:1",
        "1 | def add(item, items=[]):",
        "How to verify",
    ] {
        assert!(task.text().contains(words), "{words}: {}", task.text());
    }
    assert_eq!(program.words("prompt --all").ended(0).text(), task.text(), "it is the only one");
    let unknown = program.words("prompt abcdef").ended(2);
    assert!(unknown.stderr.contains("has no finding \"abcdef\"; it has"), "{}", unknown.stderr);
    program.words("prompt").ended(2);
}

const ASK: &str = r#"{"when": {"turn": 0, "system_contains": ["answer one question"], "user_contains": ["A discount is ten times too large", "why is it wrong?"], "tools_include": ["read_file_part", "search_in_files", "list_files"], "tools_exclude": ["report_finding", "finish_review"]}, "say": {"calls": [{"name": "read_file_part", "input": {"file_path": "src/cart.py"}}]}}
{"when": {"turn": 1, "last_results": [{"name": "read_file_part", "contains": ["rate = percent / 10"]}]}, "say": {"text": "5 percent become 0.5 at src/cart.py:14. \u001b[31mred"}}"#;

#[test]
fn a_question_is_answered_from_the_reviewed_commit_and_changes_nothing() {
    let repo = shop();
    for wire in [Wire::Chat, Wire::Messages] {
        let talk = Talk::named(&repo, "found", "first_hour_found", wire);
        let told = talk.run("");
        let id = told.review["findings"][0]["id"].as_str().expect("a finding").to_owned();
        let (_, program) = talk.apart();
        // The disk is not what is read.
        repo.write("src/cart.py", "nothing\n");
        let before = std::fs::read(program.kept()[0].join("review.json")).expect("the review");
        let server = scripted("first_hour_ask", ASK, wire);
        let program = program.with_all(server.environment(wire));
        let model = format!("{}/scripted", wire.provider());
        let ran = program.run(["ask", &id[..6], "why is it wrong?", "--model", &model]).ended(0);
        assert!(server.verdict().is_empty(), "{:?}", server.verdict());
        assert_eq!(ran.text(), "5 percent become 0.5 at src/cart.py:14. red\n");
        let last = ran.stderr.lines().last().unwrap_or_default();
        assert!(
            last.starts_with(&format!("review: answered by {model} in 2 turns, ")) && last.contains("tokens in"),
            "{last}"
        );
        assert_eq!(std::fs::read(program.kept()[0].join("review.json")).expect("the review"), before);
        assert_eq!(program.kept().len(), 1);
        repo.git(["checkout", "-q", "--", "src/cart.py"]);
    }
}

#[test]
fn a_whole_run_can_be_asked_about_and_limits_hold() {
    let repo = branch();
    let program = Program::in_folder(repo.root());
    program.words("--target main --no-model").ended(0);
    let answer = r#"{"when": {"user_contains": ["a.py:1", "what is open?"]}, "say": {"text": "One finding."}}"#;
    let server = scripted("first_hour_run", answer, Wire::Chat);
    let variables = server.environment(Wire::Chat);
    let program = program.with_all(variables);
    let words = ["ask", "last", "what is open?", "--model", "openai-chat/scripted"];
    assert_eq!(program.run(words).ended(0).text(), "One finding.\n");
    let ran = program.run(words.into_iter().chain(["--budget", "0.10"])).ended(2);
    assert!(ran.stderr.contains("cannot be held"), "the prices are not known: {}", ran.stderr);
    let ran = program.run(words.into_iter().chain(["--max-tokens", "10"])).ended(3);
    assert!(last_error(&ran).contains("--max-tokens"), "{}", ran.stderr);
    let server =
        scripted("first_hour_403", r#"{"say": {"fault": {"status": {"code": 403, "message": "no"}}}}"#, Wire::Chat);
    let variables = server.environment(Wire::Chat);
    let program = program.with_all(variables);
    let ran = program.run(words).ended(4);
    assert!(last_error(&ran).contains("the key is from OPENAI_API_KEY"), "{}", ran.stderr);
}

#[test]
fn a_question_without_a_model_or_a_subject_is_refused() {
    let repo = branch();
    let program = Program::in_folder(repo.root());
    program.words("--target main --no-model").ended(0);
    let said = last_error(&program.words("ask last why").ended(2));
    assert!(said.contains("a question needs a model") && said.contains("review init"), "{said}");
    let program = program.with("OPENAI_API_KEY", "any");
    let said = last_error(&program.words("ask abcdef why --model openai-chat/x").ended(2));
    assert!(said.contains("has no finding \"abcdef\""), "{said}");
}

#[test]
fn the_setup_asks_only_on_a_terminal() {
    let repo = branch();
    let said = last_error(&Program::in_folder(repo.root()).words("init").ended(2));
    assert!(said.contains("no terminal") && said.contains("--yes"), "{said}");
}

#[test]
fn the_setup_writes_settings_hook_and_workflow_once() {
    use std::os::unix::fs::PermissionsExt as _;

    let repo = branch();
    let count = r#"{"reuse": true, "say": {"text": "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60"}}"#;
    let server = scripted("first_hour_init", count, Wire::Messages);
    let program = led(repo.root(), &server, Wire::Messages);
    let made = program.words("init --yes --hook high --workflow").ended(0);
    let settings = std::fs::read_to_string(program.home("config/review/config.toml")).expect("the settings");
    assert_eq!(settings, "model = \"anthropic/claude-sonnet-5-5\"\n");
    assert_eq!(server.raw().len(), 1, "one small request");
    let hook = repo.root().join(".git/hooks/pre-push");
    assert_eq!(std::fs::metadata(&hook).expect("the hook").permissions().mode() & 0o777, 0o755);
    let workflow = std::fs::read_to_string(repo.root().join(".github/workflows/review.yml")).expect("the workflow");
    assert!(workflow.contains("model: anthropic\n          key: ${{ secrets.ANTHROPIC_API_KEY }}"), "{workflow}");
    for words in [
        "found anthropic/claude-sonnet-5-5 (key in ANTHROPIC_API_KEY)",
        "anthropic/claude-sonnet-5-5 responds",
        "files to write:",
        "config.toml: model =",
        "store the key as the secret ANTHROPIC_API_KEY",
    ] {
        assert!(made.stderr.contains(words), "{words}: {}", made.stderr);
    }
    assert!(made.text().is_empty() && !format!("{}{settings}{workflow}", made.stderr).contains(KEY));
    let again = program.words("init --yes --hook medium --workflow --no-test").ended(0);
    assert!(
        again.stderr.contains("nothing to write") && again.stderr.contains("pre-push is left as it is"),
        "{}",
        again.stderr
    );
    assert_eq!(std::fs::read_to_string(program.home("config/review/config.toml")).expect("the settings"), settings);
    let said = program.words("--target main --preview").ended(0);
    assert!(said.text().contains("anthropic/claude-sonnet-5-5"), "the settings hold: {}", said.text());
}

#[test]
fn a_model_that_fails_is_not_set_up() {
    let repo = branch();
    let refuse = r#"{"say": {"fault": {"status": {"code": 401, "message": "unknown key"}}}}"#;
    let server = scripted("first_hour_refused", refuse, Wire::Messages);
    let program = led(repo.root(), &server, Wire::Messages);
    let said = last_error(&program.words("init --yes").ended(4));
    for words in ["anthropic/claude-sonnet-5-5 cannot review", "401", "ANTHROPIC_API_KEY", "nothing was written"] {
        assert!(said.contains(words), "{words}: {said}");
    }
    assert!(!program.home("config/review/config.toml").exists());
    // No server of this machine counts.
    let program = Program::in_folder(repo.root()).with("OLLAMA_HOST", "127.0.0.1:1");
    let ran = program.words("init --yes").ended(0);
    assert!(ran.stderr.contains("no model was found") && ran.stderr.contains("nothing to write"), "{}", ran.stderr);
}
