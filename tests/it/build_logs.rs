//! The logs of build services: whatever a repository holds, nothing that this program writes is obeyed there but its own commands.

use serde_json::{Value, json};

use review_runner::present::{PRESENTERS, Syntax};

use crate::support::{Program, Ran, TestRepo};

/// The services whose logs obey something, as their jobs see themselves.
const SERVICES: [(&str, &str); 3] =
    [("GITHUB_ACTIONS", "true"), ("TF_BUILD", "True"), ("TEAMCITY_VERSION", "2026.1 (build 1)")];

/// What an author may want the log to obey, each on a line of its own.
const ORDERS: &str = "::add-mask::secret\n  ::stop-commands::token\n\u{a0}::error file=a.py,line=1::fooled\n:\u{200d}:notice::unseen\n\
                      text ##[error]old\n##vso[task.setvariable variable=a]b\nx ##vso[task.complete result=Succeeded;]done\n##[group]fold\n\
                      ##teamcity[buildStatus status='SUCCESS' text='fooled']\nreturned\r::warning::after a return\n";

/// The first thing in a text that the log of a service would obey.
fn obeyed(service: &str, text: &str) -> Option<String> {
    let unseen = |c: &char| {
        matches!(c, '\u{200b}'..='\u{200f}' | '\u{feff}' | '\u{ad}') || (c.is_control() && !c.is_whitespace())
    };
    text.split(['\n', '\r']).find_map(|line| {
        let line: String = line.trim_start().chars().filter(|c| !unseen(c)).collect();
        let found = match service {
            "GITHUB_ACTIONS" => line.starts_with("::") || line.contains("##["),
            "TF_BUILD" => line.contains("##vso") || line.contains("##["),
            _ => line.contains("##teamcity["),
        };
        found.then_some(line)
    })
}

#[track_caller]
fn is_quiet(service: &str, what: &str, ran: &Ran) {
    for (stream, text) in [("stdout", ran.text()), ("stderr", ran.stderr.as_str())] {
        assert_eq!(obeyed(service, text), None, "{service}: {what}: {stream}:\n{text}");
    }
}

/// A repository whose names, lines and messages are orders.
fn hostile() -> TestRepo {
    let repo = TestRepo::new();
    repo.write("README", "read me\n").commit("begin");
    repo.branch("feature/##vso");
    let code =
        format!("def add(item, items=[]):\n    \"\"\"\n{ORDERS}    \"\"\"\n    items.append(item)\n    return items\n");
    repo.write("a.py", &code).write("notes.md", ORDERS).write("docs/##vso[task.complete]x.py", &code);
    if cfg!(unix) {
        repo.write("::add-mask::x.py", &code).write("##[error]x.py", &code);
        repo.write("##teamcity[x].py", &code).write("line\n::error::of a name.py", &code);
    }
    repo.commit(&format!("::error::a subject\n\n{ORDERS}"));
    repo
}

/// What the same words print on a desk and in the log of each service.
fn everywhere(repo: &TestRepo, run: impl Fn(&Program) -> Ran, check: impl Fn(&str, &Ran, &Ran)) {
    let desk = run(&Program::in_folder(repo.root()));
    for (name, value) in SERVICES {
        check(name, &desk, &run(&Program::in_folder(repo.root()).with(name, value)));
    }
}

#[test]
fn a_review_of_a_hostile_repository_orders_nothing_in_any_format() {
    let repo = hostile();
    for presenter in PRESENTERS {
        let line = format!("--target main --no-model --colour always --format {}", presenter.name);
        everywhere(
            &repo,
            |program| program.words(&line).ended(0),
            |service, _, ran| match presenter.syntax {
                Syntax::Commands if service == "GITHUB_ACTIONS" => only_ours(ran),
                _ => is_quiet(service, &line, ran),
            },
        );
    }
}

/// Every command of an output is one that this program is known to write.
#[track_caller]
fn only_ours(ran: &Ran) {
    for line in ran.text().split(['\n', '\r']).filter(|line| obeyed("GITHUB_ACTIONS", line).is_some()) {
        let ours = ["::error ", "::warning ", "::notice ", "::error::", "::warning::", "::notice::"];
        assert!(ours.iter().any(|begin| line.starts_with(begin)), "{line}");
        assert!(!line.contains("fooled") || line.starts_with("::error") || line.starts_with("::warning"), "{line}");
    }
    assert_eq!(obeyed("GITHUB_ACTIONS", &ran.stderr), None, "{}", ran.stderr);
}

/// A review whose every free text is orders, as a model might write it.
fn kept(program: &Program) -> String {
    program.words("--target main --no-model --quiet").ended(0);
    let file = program.kept().first().expect("a run").join("review.json");
    let mut review: Value = serde_json::from_slice(&std::fs::read(&file).expect("the review")).expect("JSON");
    review["summary"]["text"] = ORDERS.into();
    review["sections"] = json!([{ "title": "##[error]title ##vso[task.x]", "body": ORDERS }]);
    for finding in review["findings"].as_array_mut().expect("findings") {
        finding["title"] = "::error::a title ##[error] ##vso[task.complete] ##teamcity[x]".into();
        finding["body"] = format!("{ORDERS}\n\n```\n{ORDERS}```\n").into();
    }
    std::fs::write(&file, review.to_string()).expect("the review");
    review["id"].as_str().expect("an id").to_owned()
}

#[test]
fn a_kept_review_orders_nothing_and_its_values_stay() {
    let repo = hostile();
    let desk = Program::in_folder(repo.root());
    let id = kept(&desk);
    let mut orders = 0;
    for presenter in PRESENTERS {
        let words = ["show", &id, "--format", presenter.name];
        let plain = desk.run(words).ended(0);
        for (service, value) in SERVICES {
            let mut command = desk.command(words);
            let ran = Ran::wait(command.env(service, value).spawn().expect("the program starts")).ended(0);
            orders += usize::from(obeyed(service, plain.text()).is_some());
            match presenter.syntax {
                Syntax::Commands if service == "GITHUB_ACTIONS" => {
                    only_ours(&ran);
                    assert_eq!(ran.text(), plain.text(), "our own commands are not touched");
                }
                Syntax::Json if presenter.name == "json" => {
                    is_quiet(service, presenter.name, &ran);
                    assert_eq!(ran.json(), plain.json());
                }
                Syntax::Plain | Syntax::Json | Syntax::Xml | Syntax::Commands => {
                    is_quiet(service, presenter.name, &ran);
                }
            }
        }
    }
    assert!(orders > 3, "on a desk they stand there as they are: {orders}");
}

#[test]
fn events_order_nothing_and_are_the_same_json() {
    let repo = hostile();
    let desk = Program::in_folder(repo.root());
    kept(&desk);
    everywhere(
        &repo,
        |program| program.words("--target main --no-model --events").ended(0),
        |service, desk, ran| {
            is_quiet(service, "--events", ran);
            let last = |ran: &Ran| -> Value {
                let lines: Vec<Value> =
                    ran.text().lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
                lines.last().expect("a line")["review"]["findings"].clone()
            };
            assert_eq!(last(ran), last(desk));
            assert!(ran.text().contains("##\\u00") || service == "TEAMCITY_VERSION", "there was something to spell");
        },
    );
}

#[test]
fn errors_and_usage_order_nothing() {
    let repo = TestRepo::new();
    repo.write(".review.toml", "\"::error::x ##[error]\" = 1\nexclude = 3\n").write("a.py", "x = 1\n").commit("begin");
    repo.branch("feature").write("a.py", "x = 2\n").commit("change");
    let asked: [&[&str]; 6] = [
        &["--target", "main"],
        &["--target", "nowhere\n::error::x"],
        &["--range", "a\n::error::x\r##[error]"],
        &["--no-such\n::error::x ##vso[task.x] ##teamcity[x]"],
        &["--format", "##[error]\n::error::x"],
        &["show", "##vso[task.x]\n::error::y"],
    ];
    for words in asked {
        everywhere(
            &repo,
            |program| program.run(words).ended(2),
            |service, desk, ran| {
                is_quiet(service, &format!("{words:?}"), ran);
                assert_eq!(ran.stderr.lines().count(), desk.stderr.lines().count(), "it says the same");
            },
        );
    }
}

#[test]
fn tools_and_presented_documents_order_nothing() {
    let repo = hostile();
    let read = ["tool", "read_file_part", r#"{"file_path": "notes.md"}"#];
    let missing = ["tool", "read_file_part", r###"{"file_path": "##[error]##vso[x]##teamcity[x]"}"###];
    for words in [read, missing] {
        everywhere(
            &repo,
            |program| program.run(words),
            |service, desk, ran| {
                is_quiet(service, &format!("{words:?}"), ran);
                assert_eq!(ran.json(), desk.json());
            },
        );
    }
    for format in ["terminal", "markdown", "plain", "rustdoc", "files"] {
        let line = format!("present notes.md --format {format}");
        everywhere(
            &repo,
            |program| program.words(&line).ended(0),
            |service, desk, ran| {
                is_quiet(service, &line, ran);
                assert!(
                    format == "terminal" || obeyed(service, desk.text()).is_some(),
                    "on a desk it stays as it was written"
                );
            },
        );
    }
}

#[test]
fn the_page_of_a_gitlab_log_is_not_folded() {
    let repo = TestRepo::new();
    repo.write("notes.md", "\x1b[0Ksection_start:1560896352:x[collapsed=true]\r\x1b[0Khidden\n").commit("begin");
    for format in ["terminal", "markdown", "plain"] {
        let program = Program::in_folder(repo.root()).with("GITLAB_CI", "true");
        let ran = program.words(&format!("present notes.md --format {format}")).ended(0);
        assert!(!ran.text().contains(['\x1b', '\r']), "{}", ran.text());
    }
}

#[test]
fn the_mcp_server_orders_nothing_and_is_understood() {
    let repo = hostile();
    let ask = |id: u32, method: &str, params: Value| {
        format!("{}\n", json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))
    };
    let hello =
        json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
    let input = [
        ask(1, "initialize", hello),
        format!("{}\n", json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })),
        ask(2, "tools/call", json!({ "name": "read_file_part", "arguments": { "file_path": "notes.md" } })),
        ask(
            3,
            "tools/call",
            json!({ "name": "read_file_part", "arguments": { "file_path": "##[error]##vso[x]##teamcity[x]" } }),
        ),
    ]
    .concat();
    let answers = |ran: &Ran| -> Vec<Value> {
        let mut lines: Vec<Value> = ran.text().lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        lines.retain(|line| line["id"] == 2 || line["id"] == 3);
        lines.sort_by_key(|line| line["id"].as_u64());
        lines
    };
    everywhere(
        &repo,
        |program| program.fed("mcp --no-model", input.as_bytes()).ended(0),
        |service, desk, ran| {
            is_quiet(service, "mcp", ran);
            assert_eq!(answers(ran).len(), 2);
            assert_eq!(answers(ran), answers(desk));
            assert!(
                obeyed(service, desk.text()).is_some() || service == "GITHUB_ACTIONS",
                "there was something to spell"
            );
        },
    );
}

#[test]
fn a_script_for_a_shell_is_the_same_everywhere() {
    let repo = TestRepo::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        everywhere(
            &repo,
            |program| program.words(&format!("completions {shell}")).ended(0),
            |_, desk, ran| {
                assert_eq!(ran.stdout, desk.stdout);
            },
        );
    }
}
