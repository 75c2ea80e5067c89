//! Reviews that clients start: which change they mean, what is left out of it, and how a server is started that can make them.

use serde_json::{Value, json};

use crate::support::mcp::{Client, Era, text};
use crate::support::{Program, TestRepo};

const LATEST: Era = Era::Session("2025-11-25");

/// A branch with a default that is shared, and nothing uncommitted.
fn branch() -> TestRepo {
    let repo = TestRepo::new();
    repo.write(".gitignore", "*.log\n").write("README", "read me\n").commit("begin");
    repo.branch("feature").write("a.py", "def add(item, items=[]):\n    return items\n").commit("add a file");
    repo
}

fn served(repo: &TestRepo) -> (Program, Client) {
    let program = Program::in_folder(repo.root());
    let client = Client::stdio(&program, "--no-model", LATEST);
    (program, client)
}

fn reviewed(client: &mut Client, mut input: Value) -> Value {
    input["wait_seconds"] = 30.into();
    client.call("review", input)
}

/// The words of the prompt `review`.
fn prompted(client: &mut Client, arguments: &Value) -> String {
    let result = client.result("prompts/get", json!({ "name": "review_change", "arguments": arguments }));
    result["messages"][0]["content"]["text"].as_str().unwrap().to_owned()
}

#[test]
fn uncommitted_files_are_not_passed_over_in_silence() {
    let repo = branch();
    let (_program, mut client) = served(&repo);
    let clean = reviewed(&mut client, json!({}));
    assert_eq!(clean["structuredContent"].get("note"), None, "{clean}");
    assert!(!prompted(&mut client, &json!({})).contains("uncommitted file"));
    repo.write("a.py", "import os\n").write("new/b.py", "import os\n").write("trace.log", "ignored\n");
    let note = "2 uncommitted files are not part of this review; `at: \"uncommitted\"` reviews them.";
    let of_head = |at: &str| json!({ "at": at, "target": "main" });
    for input in [json!({}), json!({ "target": "main" }), of_head("HEAD"), of_head("feature")] {
        let dirty = reviewed(&mut client, input.clone());
        assert_eq!(dirty["structuredContent"]["note"], note, "{input}: {dirty}");
        assert!(text(&dirty).contains(note), "{input}: {dirty}");
        // Whoever looks at it again is told again.
        let again = client.tool("review", json!({ "id": dirty["structuredContent"]["id"] }));
        assert_eq!(again["note"], note);
    }
    let message = prompted(&mut client, &json!({}));
    assert!(message.contains(note) && message.contains("a.py"), "{message}");
    for input in [json!({ "at": "uncommitted" }), json!({ "at": "main..feature" })] {
        let other = reviewed(&mut client, input.clone());
        assert_eq!(other["structuredContent"].get("note"), None, "{input}: {other}");
    }
    assert!(!prompted(&mut client, &json!({ "target": "uncommitted" })).contains("not part of this review"));
    client.close();
}

#[test]
fn nothing_committed_is_no_pass_where_something_is_uncommitted() {
    let repo = branch();
    repo.write("b.py", "import os\n");
    let (_program, mut client) = served(&repo);
    let answer = reviewed(&mut client, json!({ "target": "feature" }));
    assert_eq!(answer["isError"], true, "{answer}");
    let note = answer["structuredContent"]["note"].as_str().unwrap();
    assert!(note.starts_with("There was nothing to review.") && note.contains("1 uncommitted file is not"), "{note}");
    let (_, told) =
        client.error("prompts/get", json!({ "name": "review_change", "arguments": { "target": "feature" } }));
    assert!(told.contains("or uncommitted (1 file), staged"), "{told}");
    let listed = client.tool("findings", json!({}));
    assert_eq!((&listed["outcome"], &listed["total"]), (&json!("complete"), &json!(0)));
    assert!(listed["note"].as_str().unwrap().starts_with("There was nothing to review."), "{listed}");
    client.close();
}

#[test]
fn a_target_that_says_both_ends_is_taken_for_what_is_reviewed() {
    let repo = branch();
    repo.write("b.py", "def sub(item, items=[]):\n    return items\n");
    let (_program, mut client) = served(&repo);
    for (target, path) in [("uncommitted", "b.py"), ("main..feature", "a.py"), ("main...", "a.py")] {
        let answer = reviewed(&mut client, json!({ "target": target }));
        assert!(answer["isError"] != true && text(&answer).contains(path), "{target}: {answer}");
    }
    let both = reviewed(&mut client, json!({ "target": "uncommitted", "at": "feature" }));
    assert!(both["isError"] == true && text(&both).contains("put uncommitted in at"), "{both}");
    client.close();
}

#[test]
fn errors_name_fields_and_no_flags_of_a_command_line() {
    let empty = TestRepo::new();
    let bare = TestRepo::new();
    bare.write("a", "a\n").commit("begin");
    bare.git(["config", "core.bare", "true"]);
    for (repo, input, said) in [
        (&empty, json!({}), "`at` can be staged or uncommitted"),
        (&bare, json!({ "at": "uncommitted" }), "name commits in `at`"),
        (&bare, json!({ "at": "nowhere" }), "unknown revision \"nowhere\""),
    ] {
        let (_program, mut client) = served(repo);
        let answer = reviewed(&mut client, input.clone());
        let told = text(&answer);
        assert!(answer["isError"] == true && told.contains(said) && !told.contains("--"), "{input}: {told}");
        client.close();
    }
    let (_program, mut client) = served(&empty);
    let (_, told) = client.error("prompts/get", json!({ "name": "review_change", "arguments": {} }));
    assert!(told.contains("`target` can be staged or uncommitted") && !told.contains("--"), "{told}");
    client.close();
}

#[test]
fn a_model_that_cannot_be_asked_is_told_before_anything_is_served() {
    let repo = branch();
    let program = Program::in_folder(repo.root());
    for (line, words) in [
        ("--model nonsense/x", "--model: there is no provider \"nonsense\""),
        ("--model anthropic/x", "anthropic/x needs a key"),
        ("--model anthropic/x --tools default,-review", "anthropic/x needs a key"),
    ] {
        let served = program.words(&format!("mcp {line}")).ended(2);
        assert!(served.text().is_empty() && served.stderr.contains(words), "{line}: {}", served.stderr);
        if !line.contains("--tools") {
            let reviewed = program.words(line).ended(2);
            assert_eq!(served.stderr, reviewed.stderr, "the same is said");
        }
    }
    let set = Program::in_folder(repo.root()).with("REVIEW_MODEL", "anthropic/x");
    // What only settings name is said, and the other tools are served.
    let said = set.fed("mcp", b"").ended(0).stderr;
    assert!(said.starts_with("review: the tool review will not work: anthropic/x needs a key"), "{said}");
    // Who asks no model needs no key.
    for line in ["mcp --no-model", "mcp --tools default,-review"] {
        assert_eq!(set.fed(line, b"").ended(0).stderr, "", "{line}");
    }
    assert_eq!(program.fed("mcp", b"").ended(0).stderr, "");
}

#[test]
fn a_server_without_tools_is_refused() {
    let repo = branch();
    let program = Program::in_folder(repo.root());
    for list in ["-all", "all,-all", "-default"] {
        let said = program.words(&format!("mcp --tools {list}")).ended(2).stderr;
        assert!(said.contains(&format!("--tools {list} leaves out every tool")), "{said}");
    }
    let said = program.words("mcp install --client cursor -- --tools=-all").ended(2).stderr;
    assert!(said.contains("leaves out every tool"), "{said}");
}

#[test]
fn whoever_names_no_client_is_told_which_there_are() {
    let repo = branch();
    let ran = Program::in_folder(repo.root()).words("mcp install").ended(2);
    assert_eq!(ran.text(), "");
    insta::assert_snapshot!("clients", ran.stderr);
}

#[test]
fn a_prompt_has_a_name_of_its_own_and_takes_what_people_type() {
    let repo = branch();
    let (_program, mut client) = served(&repo);
    let named: Vec<Value> = client.result("prompts/list", json!({}))["prompts"].as_array().unwrap().clone();
    assert_eq!(named.iter().map(|one| &one["name"]).collect::<Vec<_>>(), ["review_change", "explain_finding"]);
    // The older name, and arguments that there are not.
    for (name, arguments) in [("review", json!({})), ("review_change", json!({ "depth": 3, "more": ["x"] }))] {
        let result = client.result("prompts/get", json!({ "name": name, "arguments": arguments }));
        assert!(text_of(&result).contains("a.py"), "{name}: {result}");
    }
    let message = prompted(&mut client, &json!({ "target": "error handling", "focus": "and names" }));
    assert!(message.contains("\n\nerror handling and names\n"), "{message}");
    assert!(message.contains("\"error handling\" names no branch or commit here"), "{message}");
    assert!(message.contains("a.py"), "the change is reviewed all the same: {message}");
    for (target, said) in [("main..nowhere", "unknown revision \"nowhere\""), ("-x", "is not a revision")] {
        let (_, error) =
            client.error("prompts/get", json!({ "name": "review_change", "arguments": { "target": target } }));
        assert!(error.contains(said), "{target}: {error}");
    }
    client.close();
}

fn text_of(prompt: &Value) -> &str {
    prompt["messages"][0]["content"]["text"].as_str().unwrap()
}

#[test]
fn a_placeholder_gives_the_prompt_without_a_change() {
    let repo = branch();
    let (_program, mut client) = served(&repo);
    let message = prompted(&mut client, &json!({ "target": "$1", "focus": "$2" }));
    for part in ["$1...HEAD", "\n\n$2\n", "`read_diff`", "present_review", "review present --show last"] {
        assert!(message.contains(part), "{part}: {message}");
    }
    assert!(!message.contains("a.py"), "{message}");
    let plain = prompted(&mut client, &json!({ "target": "main" }));
    assert!(plain.contains("review present --show last"), "{plain}");
    client.close();
}

#[test]
fn the_file_that_sets_a_client_up_is_no_work_that_was_left_out() {
    let repo = branch();
    let program = Program::in_folder(repo.root());
    program.words("mcp install --client claude-code --write").ended(0);
    assert!(repo.root().join(".mcp.json").exists());
    let mut client = Client::stdio(&program, "--no-model", LATEST);
    let clean = reviewed(&mut client, json!({}));
    assert_eq!(clean["structuredContent"].get("note"), None, "{clean}");
    repo.write(".mcp.json", "{ \"mcpServers\": { \"other\": { \"command\": \"other\" } } }\n");
    let dirty = reviewed(&mut client, json!({}));
    assert!(text(&dirty).contains("1 uncommitted file is not part"), "{dirty}");
    client.close();
}

#[test]
fn whoever_sets_a_client_up_is_told_what_reaches_the_server() {
    let repo = branch();
    let program = Program::in_folder(repo.root());
    let keyed = Program::in_folder(repo.root()).with("OPENAI_API_KEY", "x");
    for (client, said) in [
        ("claude-code", "--allowedTools mcp__review"),
        ("codex", "[mcp_servers.review.tools.review] with approval_mode = \"approve\""),
        ("gemini-cli", "GEMINI_CLI_TRUST_WORKSPACE=true"),
        ("opencode", "opencode mcp list"),
        ("qwen-code", "allow the server"),
        ("cline", "-C"),
    ] {
        let ran = program.words(&format!("mcp install --client {client}")).ended(0);
        let all = format!("{}{}", ran.text(), ran.stderr);
        assert!(all.contains(said), "{client}: {all}");
        assert!(all.contains("no key reaches the server"), "{client}: {all}");
        let ran = keyed.words(&format!("mcp install --client {client}")).ended(0);
        assert!(ran.stderr.contains("OPENAI_API_KEY reaches the server"), "{client}: {}", ran.stderr);
        let ran = keyed.words(&format!("mcp install --client {client} -- --no-model")).ended(0);
        assert!(!ran.stderr.contains("reaches the server"), "{client}: {}", ran.stderr);
    }
    let codex = program.words("mcp install --client codex").ended(0);
    assert!(codex.text().contains("env_vars = [\"ANTHROPIC_API_KEY\""), "{}", codex.text());
    let gemini = program.words("mcp install --client gemini-cli").ended(0);
    assert!(gemini.text().contains("\"OPENAI_API_KEY\": \"$OPENAI_API_KEY\""), "{}", gemini.text());
    // A reference that a client passed on as it is, is no key.
    let unset = Program::in_folder(repo.root()).with("OPENAI_API_KEY", "$OPENAI_API_KEY");
    let mut client = Client::stdio(&unset, "", LATEST);
    let answer = reviewed(&mut client, json!({}));
    assert_eq!(answer["structuredContent"]["engine"], "rules", "{answer}");
    assert!(text(&answer).contains("No key of a model is in this server's environment"), "{answer}");
    client.close();
}
