//! `review doctor`: each fault of a model, and of the surroundings, is found, told with what to do, and ends with its code.

use std::path::Path;

use serde_json::Value;

use crate::support::github::Fake;
use crate::support::model::{KEY, Options, Server, Session, Wire};
use crate::support::session::{file, shop};
use crate::support::{Program, Ran, TestRepo, git_command};

/// The questions that the model is asked.
const QUESTIONS: [&str; 3] = ["streaming", "forced_call", "two_tools"];

/// A program in a folder that is led to a scripted model.
fn led(folder: &Path, server: &Server, wire: Wire) -> Program {
    let variables = server.environment(wire);
    Program::in_folder(folder).with_all(variables)
}

fn serve(session: Session, wire: Wire) -> Server {
    let record = Some(Path::new(env!("CARGO_TARGET_TMPDIR")).join("requests"));
    Server::start(session, Options { wire: Some(wire), record, ..Options::default() })
}

fn unkept(name: &str, steps: &str) -> Server {
    Server::start(Session::parse(name, steps), Options { wire: Some(Wire::Chat), ..Options::default() })
}

/// What it tells of one check.
fn check<'v>(told: &'v Value, name: &str) -> &'v Value {
    let checks = told["checks"].as_array().expect("checks");
    let found = checks.iter().rfind(|check| check["check"] == name);
    found.unwrap_or_else(|| panic!("no check {name}: {told:#}"))
}

fn state<'v>(told: &'v Value, name: &str) -> &'v str {
    check(told, name)["state"].as_str().expect("a state")
}

fn words(told: &Value, name: &str) -> String {
    let check = check(told, name);
    format!("{} → {}", check["found"].as_str().unwrap_or(""), check["advice"].as_str().unwrap_or(""))
}

/// Runs it; whatever it tells holds no key.
#[track_caller]
fn told(program: &Program, line: &str, code: i32) -> Value {
    let ran = program.words(&format!("doctor --format json {line}"));
    no_key(&ran);
    let told = ran.ended(code).json();
    assert_eq!((told["schema"].as_str(), told["exit_code"].as_i64()), (Some("review-doctor/1"), Some(i64::from(code))));
    told
}

fn no_key(ran: &Ran) {
    assert!(
        !ran.text().contains(KEY) && !ran.stderr.contains(KEY),
        "the key is shown:\n{}\n{}",
        ran.text(),
        ran.stderr
    );
}

#[test]
fn a_model_that_works_is_found_to_work_on_every_wire_and_sees_no_code() {
    let repo = shop();
    for wire in Wire::ALL {
        let server = serve(Session::load(&file("doctor")), wire);
        let program = led(repo.root(), &server, wire);
        let told = told(&program, &format!("--target main --model {}/scripted", wire.provider()), 0);
        assert_eq!(told["outcome"], "fine", "{told:#}");
        for name in QUESTIONS {
            assert_eq!(state(&told, name), "fine", "{wire:?}: {told:#}");
            assert!(check(&told, name)["took_ms"].is_u64() && check(&told, name)["usage"]["cost_usd"].is_null());
        }
        assert!(words(&told, "two_tools").contains("two tools in one turn"), "{told:#}");
        assert_eq!(told["usage"]["output_tokens"], 195, "{wire:?}");
        let sent = server.raw().iter().map(|raw| String::from_utf8_lossy(&raw.body).into_owned()).collect::<String>();
        for ours in ["percent", "stock", "cart", "guard", "Ada", "main"] {
            assert!(!sent.contains(ours), "{wire:?} was told {ours}: {sent}");
        }
        server.finish();
    }
}

#[test]
fn people_read_what_was_found_and_which_key_it_was() {
    let repo = shop();
    let server = serve(Session { name: "doctor_page".to_owned(), ..Session::load(&file("doctor")) }, Wire::Messages);
    let program = led(repo.root(), &server, Wire::Messages);
    let ran = program.words("doctor --target main --model anthropic/scripted --colour never");
    no_key(&ran);
    let ran = ran.ended(0);
    for line in [
        "Who reviews: anthropic/scripted",
        "it is from ANTHROPIC_API_KEY",
        "feature would be compared with main",
        "cost unknown",
    ] {
        assert!(ran.text().contains(line), "{line}: {}", ran.text());
    }
    assert!(!ran.text().contains('\u{1b}') && ran.stderr.contains("no code is sent"), "{}", ran.stderr);
    server.finish();
}

/// What a model does wrong, and how that is told.
struct Case {
    name: &'static str,
    steps: &'static str,
    code: i32,
    check: &'static str,
    state: &'static str,
    words: &'static [&'static str],
}

const COUNTS: &str = r#"{"when": {"user_contains": ["Count"]}, "say": {"text": "55 56 57 58 59 60"}}"#;

#[test]
fn each_fault_of_a_server_is_told_with_what_to_do() {
    let repo = shop();
    for case in [
        Case {
            name: "no_key_known",
            steps: r#"{"say": {"fault": {"status": {"code": 401, "message": "invalid key"}}}}"#,
            code: 4,
            check: "streaming",
            state: "failed",
            words: &["401", "from OPENAI_API_KEY", "make a new one"],
        },
        Case {
            name: "no_such_model",
            steps: r#"{"say": {"fault": {"status": {"code": 404, "message": "no such model"}}}}"#,
            code: 4,
            check: "streaming",
            state: "failed",
            words: &["404", "which models that server has", "/v1"],
        },
        Case {
            name: "busy",
            steps: r#"{"say": {"fault": {"status": {"code": 429, "retry_after": "12", "message": "slow down"}}}}"#,
            code: 4,
            check: "streaming",
            state: "failed",
            words: &["429", "wait 12 s"],
        },
        Case {
            name: "broken",
            steps: r#"{"say": {"fault": {"status": {"code": 503}}}}"#,
            code: 4,
            check: "streaming",
            state: "failed",
            words: &["503", "later"],
        },
        Case {
            name: "no_streaming",
            steps: r#"{"say": {"fault": {"garbage": "{\"id\": \"1\", \"object\": \"chat.completion\", \"choices\": []}"}}}"#,
            code: 4,
            check: "streaming",
            state: "failed",
            words: &["no stream of events", "streams its answers"],
        },
        Case {
            name: "cut_off",
            steps: r#"{"say": {"text": "1 2 3 4 5 6 7 8 9", "fault": {"half": 150}}}"#,
            code: 4,
            check: "streaming",
            state: "failed",
            words: &["broke off", "proxy"],
        },
        Case {
            name: "refuses",
            steps: r#"{"times": 4, "say": {"text": "I cannot do that.", "stop": "refusal"}}"#,
            code: 4,
            check: "streaming",
            state: "warning",
            words: &["it refused"],
        },
    ] {
        expect(&repo, &case);
    }
}

#[track_caller]
fn expect(repo: &TestRepo, case: &Case) {
    let server = unkept(case.name, case.steps);
    let program = led(repo.root(), &server, Wire::Chat);
    let told = told(&program, "--target main --model openai-chat/scripted", case.code);
    assert_eq!(state(&told, case.check), case.state, "{}: {told:#}", case.name);
    let said = words(&told, case.check);
    assert!(case.words.iter().all(|word| said.contains(word)), "{}: {said}", case.name);
    // Where a model is not known there, the list of those that are is asked for, too.
    let wrong: Vec<String> = server.verdict().into_iter().filter(|fault| !fault.contains("/v1/models")).collect();
    assert!(wrong.is_empty(), "{}: {wrong:?}", case.name);
}

/// What a model says that calls tools in text.
const IN_TEXT: &str = r#"{"when": {"user_contains": ["Write the calls of two tools"], "tools_exclude": ["sum_of"], "system_contains": ["@@call", "colour_of"], "turn": 0}, "say": {"text": "@@call colour_of\n@@thing: box\n@@end\n\n@@call sum_of\n@@first: 20\n@@second: 22\n@@end"}}
{"when": {"user_contains": ["@@result", "violet-5138"], "turn": 1}, "say": {"text": "The box is violet-5138, and the sum is 42."}}"#;

/// A model with a weakness, asked everything: what is told.
#[track_caller]
fn weak(name: &str, steps: &str, code: i32) -> Value {
    let repo = shop();
    let server = unkept(name, &format!("{COUNTS}\n{steps}"));
    let told = told(&led(repo.root(), &server, Wire::Chat), "--target main --model openai-chat/scripted", code);
    server.finish();
    told
}

#[test]
fn calls_written_as_text_are_told_by_their_dialect_and_the_text_protocol_is_tried() {
    let call = r#"<tool_call>\n{\"name\": \"note_number\", \"arguments\": {\"number\": 7}}\n</tool_call>"#;
    let steps =
        format!(r#"{{"times": 3, "when": {{"user_lacks": ["Count"], "turn": 0}}, "say": {{"text": "{call}"}}}}"#);
    let told = weak("call_as_text", &steps, 4);
    assert_eq!((state(&told, "forced_call"), state(&told, "text_protocol")), ("warning", "failed"), "{told:#}");
    let said = words(&told, "forced_call");
    assert!(said.contains("as text (") && said.contains("template or parser"), "{said}");
}

#[test]
fn a_model_that_makes_no_calls_but_writes_them_works_in_text() {
    let native = r#"{"when": {"tools_include": ["note_number"]}, "say": {"text": "Noted."}}
{"when": {"tools_include": ["colour_of"]}, "say": {"text": "Blue, and 42."}}"#;
    let told = weak("no_call", &format!("{native}\n{IN_TEXT}"), 0);
    let states = ["forced_call", "two_tools", "text_protocol"].map(|name| state(&told, name));
    assert_eq!(states, ["warning", "warning", "fine"], "{told:#}");
    assert!(words(&told, "forced_call").contains("wrote: \"Noted.\" → say `tools = false`"), "{told:#}");
    assert!(words(&told, "text_protocol").contains("two tools in one turn"), "{told:#}");
}

#[test]
fn a_call_that_cannot_be_read_is_shown() {
    let malformed = r#"{"when": {"tools_include": ["note_number"]}, "say": {"calls": [{"name": "note_number", "malformed": "{\"number\": "}]}}
{"when": {"tools_include": ["colour_of"], "turn": 0}, "say": {"calls": [{"name": "colour_of", "input": {"thing": "box"}}, {"name": "sum_of", "input": {"first": 20, "second": 22}}]}}
{"when": {"turn": 1}, "say": {"text": "It is violet-5138, and 42."}}"#;
    let told = weak("malformed", malformed, 0);
    assert!(words(&told, "forced_call").contains("its call cannot be read: \"{\"number\":\""), "{told:#}");
    assert_eq!(state(&told, "two_tools"), "fine");
    assert!(!told["checks"].to_string().contains("text_protocol"), "one of two ways is enough: {told:#}");
}

#[test]
fn a_server_that_takes_no_tools_is_spoken_to_in_text() {
    let refusing = r#"{"when": {"tools_include": ["note_number"]}, "say": {"fault": {"status": {"code": 400, "message": "scripted does not support tools"}}}}
{"when": {"user_contains": ["note_number"], "tools_exclude": ["note_number"]}, "say": {"text": "@@call note_number\n@@number: 7\n@@end"}}"#;
    let told = weak("no_tools", &format!("{refusing}\n{IN_TEXT}"), 0);
    let states = ["forced_call", "two_tools", "text_protocol"].map(|name| state(&told, name));
    assert_eq!(states, ["warning", "skipped", "fine"], "{told:#}");
    assert!(
        words(&told, "forced_call").starts_with("the server takes no tools → nothing needs to be done"),
        "{told:#}"
    );
}

#[test]
fn a_silent_server_is_given_up_when_the_time_is_over() {
    let repo = shop();
    let run = |limit: &str| {
        let server = unkept("silent", r#"{"say": {"fault": "hang"}}"#);
        let words = format!("--model openai-chat/x --timeout {limit}");
        let told = told(&led(repo.root(), &server, Wire::Chat), &words, 4);
        (server, told)
    };
    let (mut server, mut told) = run("300ms");
    if server.raw().is_empty() {
        // A busy machine did not come to ask it.
        let _ = server.verdict();
        (server, told) = run("10s");
    }
    assert!(words(&told, "streaming").contains("--timeout"), "{told:#}");
    assert_eq!(state(&told, "two_tools"), "skipped");
    server.finish();
}

#[test]
fn a_server_that_is_not_there_is_told_with_its_address() {
    let repo = shop();
    let program = Program::in_folder(repo.root()).with("OLLAMA_HOST", "http://127.0.0.1:9");
    let told = told(&program, "--model ollama/qwen3", 4);
    assert!(
        words(&told, "streaming").contains("http://127.0.0.1:9")
            && words(&told, "streaming").contains("start that server")
    );
    assert_eq!(words(&told, "key"), "none is set; the server may need none → ");
}

#[test]
fn offline_nobody_is_asked() {
    let repo = shop();
    let server = serve(Session::load(&file("never_asked")), Wire::Gemini);
    let fake = Fake::unrecorded();
    let program = led(repo.root(), &server, Wire::Gemini);
    let program = program.with_all(fake.env());
    let told = told(&program, "--offline --model gemini", 0);
    for name in ["account", "streaming", "forced_call", "two_tools"] {
        assert_eq!(words(&told, name), "not asked: --offline → ", "{told:#}");
    }
    assert!(server.raw().is_empty());
}

#[test]
fn a_model_without_a_key_or_a_provider_is_misconfigured() {
    let repo = shop();
    let program = Program::in_folder(repo.root());
    assert!(words(&told(&program, "--model anthropic/x", 2), "choice").contains("needs a key"));
    assert!(words(&told(&program, "--model antropic/x", 2), "choice").contains("did you mean anthropic?"));
    let by_rules = told(&program, "", 0);
    assert!(words(&by_rules, "choice").contains("the built-in rules review → for a review by a model"), "{by_rules:#}");
    let odd = program.with("REVIEW_OPENAI_CHAT_BASE_URL", "http://models.example/v1");
    let told = told(&odd, "--offline --model openai-chat/x", 0);
    assert_eq!(state(&told, "address"), "warning");
    assert!(words(&told, "address").contains("without encryption"), "{told:#}");
}

#[test]
fn settings_that_mean_nothing_or_cannot_be_read_are_told() {
    let repo = shop();
    let program = Program::in_folder(repo.root()).with("REVIEW_MODLE", "x").with("REVIEW_FAIL_ON", "high");
    let told_of = told(&program, "--no-model", 0);
    assert_eq!(
        words(&told_of, "variables"),
        "REVIEW_MODLE means nothing and is ignored → did you mean REVIEW_MODEL? Else take it away"
    );
    let broken = Program::in_folder(repo.root()).with_settings("model = \n");
    let told_of = told(&broken, "", 2);
    assert!(words(&told_of, "user_file").contains("config.toml:1"), "{told_of:#}");
    assert_eq!(state(&told_of, "choice"), "skipped");
    let narrowed = Program::in_folder(repo.root()).with_settings("max_turns = 7\nfail_on = 'high'\n");
    assert!(words(&told(&narrowed, "", 0), "user_file").contains("config.toml: 2 settings of it hold"));
}

#[test]
fn what_the_project_may_not_set_is_told_from_the_targets_tip() {
    let repo = TestRepo::new();
    repo.write(".review.toml", "model = 'anthropic/x'\n").commit("begin");
    repo.branch("feature").write(".review.toml", "max_turns = 3\n").commit("less");
    let program = Program::in_folder(repo.root());
    let told_of = told(&program, "--target main", 2);
    let said = words(&told_of, "project");
    assert!(
        said.contains("is another than that of the target's tip") && said.contains("--settings worktree"),
        "{said}"
    );
    let checks = told_of["checks"].to_string();
    assert!(checks.contains("may not set \\\"model\\\""), "{checks}");
    let disk = told(&program, "--target main --settings worktree", 0);
    assert_eq!(check(&disk, "project")["found"], ".review.toml at the disk sets max_turns");
}

#[test]
fn a_folder_without_a_repository_and_a_clone_without_history_are_warnings() {
    let folder = tempfile::tempdir().unwrap();
    let told_of = told(&Program::in_folder(folder.path()), "--no-model", 0);
    assert!(words(&told_of, "repository").contains("in no git repository"), "{told_of:#}");

    let repo = shop();
    let from = format!("file://{}", repo.root().display());
    let clone = folder.path().join("clone");
    let output = git_command(folder.path()).args(["clone", "-q", "--depth=1", &from, "clone"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let told_of = told(&Program::in_folder(&clone), "--no-model", 0);
    assert!(words(&told_of, "history").contains("git fetch --unshallow"), "{told_of:#}");
    assert!(words(&told_of, "program").starts_with("git version "), "{told_of:#}");
}

#[test]
fn a_place_for_runs_that_cannot_be_written_is_told() {
    let repo = shop();
    let program = Program::in_folder(repo.root());
    std::fs::write(program.home("state"), "a file").unwrap();
    let told_of = told(&program, "--no-model", 0);
    assert_eq!(state(&told_of, "state"), "warning");
    assert!(words(&told_of, "state").contains("XDG_STATE_HOME"), "{told_of:#}");
    let fine = Program::in_folder(repo.root());
    assert_eq!(state(&told(&fine, "--no-model", 0), "state"), "fine");
    let left: Vec<_> = std::fs::read_dir(fine.home("state/review")).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn the_forge_says_whose_the_token_is() {
    let repo = shop();
    let fake = Fake::unrecorded();
    let with = |token: Option<&str>| {
        let program = Program::in_folder(repo.root());
        let mut program = program.with_all(fake.env());
        if let Some(token) = token {
            program = program.with("GITHUB_TOKEN", token);
        }
        program
    };
    let told_of = told(&with(None), "--no-model", 0);
    assert_eq!(state(&told_of, "account"), "fine", "{told_of:#}");
    assert!(words(&told_of, "token").contains("from GITHUB_TOKEN"), "{told_of:#}");
    let told_of = told(&with(Some("another")), "--no-model", 2);
    assert_eq!(state(&told_of, "account"), "failed", "{told_of:#}");
    fake.take_wrong();
}

#[test]
fn the_docs_say_of_every_provider_what_was_tried() {
    let page = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/providers.md")).unwrap();
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`'));
    let told: Vec<&str> = rows.map(|(name, _)| name).collect();
    let known = review_runner::app::providers();
    let known: Vec<&str> = known.iter().map(|provider| provider.name.as_str()).collect();
    assert_eq!(told, known);
}
