//! `review models` and a table of the user's own, through the program.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};

use super::support::model::{Options, Server, Session, Wire};
use super::support::session::{file, shop};
use super::support::{Program, TestRepo};

/// Answers each request with the next of these, and tells the heads.
fn serving(answers: Vec<(u16, String)>) -> (String, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = format!("http://{}", listener.local_addr().expect("an address"));
    let (tell, heard) = channel();
    std::thread::spawn(move || {
        for (status, body) in answers {
            let (mut stream, _) = listener.accept().expect("a client");
            stream.set_read_timeout(Some(Duration::from_mins(1))).expect("a timeout");
            let mut head = String::new();
            let mut lines = BufReader::new(stream.try_clone().expect("a stream"));
            while lines.read_line(&mut head).is_ok_and(|bytes| bytes > 2) {}
            let _ = tell.send(head);
            let length = body.len();
            let answer = format!("HTTP/1.1 {status} X\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}");
            let _ = stream.write_all(answer.as_bytes());
            let _ = stream.read(&mut [0; 1]);
        }
    });
    (address, heard)
}

fn provider<'v>(document: &'v Value, name: &str) -> &'v Value {
    let all = document["providers"].as_array().expect("providers");
    all.iter().find(|provider| provider["name"] == name).unwrap_or_else(|| panic!("no {name}"))
}

#[test]
fn every_provider_is_listed_with_what_stands_in_its_way_and_no_key_is_shown() {
    let repo = TestRepo::new();
    let program = Program::in_folder(repo.root())
        .with("GROQ_API_KEY", "canary-groq")
        .with("ANTHROPIC_API_KEY", "canary-anthropic")
        .with("ANTHROPIC_BASE_URL", "https://ada:canary-password@proxy.example/x");
    let ran = program.words("models --format json").ended(0);
    assert!(!ran.text().contains("canary") && !ran.stderr.contains("canary"), "{}", ran.text());
    let document = ran.json();
    assert_eq!(document["schema"], "models/1");
    let anthropic = provider(&document, "anthropic");
    assert_eq!(anthropic["address"], "https://proxy.example/x");
    assert_eq!((&anthropic["key"]["state"], &anthropic["lacks"]), (&json!("set"), &Value::Null));
    let mistral = provider(&document, "mistral");
    assert_eq!(mistral["key"], json!({ "state": "missing", "by": ["MISTRAL_API_KEY", "mistral.api_key"] }));
    assert!(provider(&document, "azure")["lacks"].as_str().expect("a reason").contains("AZURE_OPENAI_API_KEY"));
    assert_eq!(provider(&document, "vllm")["key"]["state"], "unset");
    let short = program.words("models").ended(0);
    assert!(short.text().starts_with("anthropic    ready (ANTHROPIC_API_KEY)\n"), "{}", short.text());
    assert!(short.text().contains("\nmistral      set MISTRAL_API_KEY\n"), "{}", short.text());
    assert!(short.text().contains("\nopenai-chat  set "), "a server on the network needs a key: {}", short.text());
    let page = program.words("models --all").ended(0);
    assert!(page.text().contains("key: GROQ_API_KEY is set (not shown)"), "{}", page.text());
    assert!(!page.text().contains("canary"), "{}", page.text());
    let none = program.words("models acme").ended(2);
    assert!(none.stderr.contains("there is no provider \"acme\""), "{}", none.stderr);
}

#[test]
fn those_that_can_be_asked_are_asked_and_only_they() {
    let repo = TestRepo::new();
    let list = json!({ "data": [{ "id": "gpt-6.1-sol" }, { "id": "zz-new" }] }).to_string();
    for (name, variables, answer, path, key) in [
        (
            "anthropic",
            ["ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"],
            &list,
            "GET /v1/models?limit=1000 ",
            "x-api-key: k1",
        ),
        ("openai", ["OPENAI_API_KEY", "OPENAI_BASE_URL"], &list, "GET /models ", "authorization: Bearer k1"),
        (
            "gemini",
            ["GEMINI_API_KEY", "GEMINI_BASE_URL"],
            &json!({ "models": [{ "name": "models/gemini-4-argon" }] }).to_string(),
            "GET /v1beta/models?pageSize=1000 ",
            "x-goog-api-key: k1",
        ),
        (
            "ollama",
            ["OLLAMA_API_KEY", "OLLAMA_HOST"],
            &json!({ "models": [{ "name": "qwen3-coder:30b" }] }).to_string(),
            "GET /api/tags ",
            "authorization: Bearer k1",
        ),
        ("azure", ["AZURE_OPENAI_API_KEY", "AZURE_OPENAI_ENDPOINT"], &list, "GET /openai/v1/models ", "api-key: k1"),
    ] {
        let (address, heard) = serving(vec![(200, answer.clone())]);
        let program = Program::in_folder(repo.root()).with(variables[0], "k1").with(variables[1], &address);
        let document = program.words(&format!("models {name} --check --format json")).ended(0).json();
        let head = heard.recv_timeout(Duration::from_mins(1)).expect("a request");
        assert!(head.starts_with(path), "{name}: {head}");
        assert!(head.to_ascii_lowercase().contains(&format!("\r\n{}\r\n", key.to_ascii_lowercase())), "{name}: {head}");
        let names = provider(&document, name)["there"]["models"].as_array().expect("models").len();
        assert!((1..=2).contains(&names), "{name}: {document}");
    }
    let program = Program::in_folder(repo.root());
    let document = program.words("models mistral --check --format json").ended(2).json();
    assert_eq!(provider(&document, "mistral")["there"], Value::Null);
}

#[test]
fn a_provider_that_fails_is_said_without_the_key_it_echoes() {
    let repo = TestRepo::new();
    for (status, body, said) in [
        (
            401,
            json!({ "error": { "message": "bad key canary" } }).to_string(),
            "openai answered 401: bad key (the key)",
        ),
        (200, "<html>".to_owned(), "the list of its models is no JSON"),
        (200, "{}".to_owned(), "the list of its models has another shape"),
    ] {
        let (address, _heard) = serving(vec![(status, body)]);
        let program =
            Program::in_folder(repo.root()).with("OPENAI_API_KEY", "canary").with("OPENAI_BASE_URL", &address);
        let ran = program.words("models openai --check").ended(4);
        // Long lines are broken.
        let text = ran.text().split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(said) && !text.contains("canary"), "{text}");
    }
}

#[test]
fn a_row_of_the_users_own_reviews_and_what_is_wrong_with_it_names_the_line() {
    let repo = TestRepo::new();
    let (address, heard) = serving(vec![(200, json!({ "data": [{ "id": "own-1" }] }).to_string())]);
    let program = Program::in_folder(repo.root()).with("ACME_TOKEN", "k9");
    let file = program.home("config/review/providers.toml");
    std::fs::create_dir_all(file.parent().expect("a folder")).expect("it is made");
    let row = format!(
        "[[provider]]\nname = \"acme\"\nbase_url = \"{address}/v1\"\nkey_variables = [\"ACME_TOKEN\"]\nkey_header = \"X-Acme\"\n\
         [[provider.model]]\nname = \"own-1\"\ncontext_window = 64000\nprices = {{ input = 0.5, output = 1, on = 2026-11-01 }}\n"
    );
    std::fs::write(&file, &row).expect("it is written");
    let ran = program.words("models acme --check").ended(0);
    assert!(ran.text().contains("own-1  64k") && ran.text().contains("0.5/1"), "{}", ran.text());
    let head = heard.recv_timeout(Duration::from_mins(1)).expect("a request");
    assert!(head.starts_with("GET /v1/models ") && head.contains("x-acme: k9"), "{head}");

    std::fs::write(&file, row.replace("context_window", "window")).expect("it is written");
    let ran = program.words("models").ended(2);
    assert!(ran.stderr.contains("providers.toml:8: unknown field `window`"), "{}", ran.stderr);
    let other = repo.root().join("mine.toml");
    std::fs::write(&other, "[[provider]]\nname = 'Acme'\n").expect("it is written");
    let ran = program.with("REVIEW_PROVIDERS", other.to_str().expect("UTF-8")).words("models").ended(2);
    assert!(ran.stderr.contains("mine.toml:2: \"Acme\" is no name of a provider"), "{}", ran.stderr);
}

#[test]
fn a_provider_of_the_users_own_takes_a_whole_review() {
    let repo = shop();
    let session = Session { name: "own_provider".to_owned(), ..Session::load(&file("well")) };
    let server = Server::start(session, Options { wire: Some(Wire::Chat), ..Options::default() });
    let set = server.environment(Wire::Chat);
    let value = |end: &str| &set.iter().find(|(name, _)| name.ends_with(end)).expect("a variable").1;
    let program = Program::in_folder(repo.root()).with("ACME_TOKEN", value("API_KEY"));
    let row = format!(
        "[[provider]]\nname = \"acme\"\nbase_url = \"{}\"\nkey_variables = [\"ACME_TOKEN\"]\n[[provider.model]]\nprefix = \"\"\n\
         context_window = 128000\nmax_output = 8000\n",
        value("BASE_URL")
    );
    let table = program.home("config/review/providers.toml");
    std::fs::create_dir_all(table.parent().expect("a folder")).expect("it is made");
    std::fs::write(&table, row).expect("it is written");
    let review = program.words("--target main --verify none --model acme/scripted --format json").ended(0).json();
    assert_eq!((&review["outcome"], &review["provenance"]["provider"]), (&json!("complete"), &json!("acme")));
    let replayed = program.words("replay last --format json").ended(0);
    assert!(replayed.stderr.contains("byte for byte"), "{}", replayed.stderr);
}

#[test]
fn a_project_names_no_file_of_providers() {
    let repo = TestRepo::new();
    repo.write(".review.toml", "providers = 'evil.toml'\n");
    repo.commit("settings");
    let ran = Program::in_folder(repo.root()).words("config --uncommitted --settings worktree").ended(2);
    assert!(ran.stderr.contains("a repository may not set \"providers\""), "{}", ran.stderr);
}

#[test]
fn the_page_about_providers_has_each_of_them_with_its_variables() {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/models.md")).expect("a page");
    let readme = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/README.md")).expect("a page");
    let table = review_runner::llm::ProviderTable::built_in().expect("a table");
    for row in table.rows() {
        let begin = format!("| `{}` | ", row.name);
        let line = page.lines().find(|line| line.starts_with(&begin)).unwrap_or_else(|| panic!("no row {}", row.name));
        for word in row.key_variables.iter().chain(&row.base_variables).chain([&row.base_url]) {
            assert!(line.contains(&format!("`{word}`")), "{}: {word}", row.name);
        }
        assert!(line.contains(row.wire.word()) && line.contains(&*row.title), "{line}");
        assert!(readme.contains(&format!("`{}`", row.name)), "{}", row.name);
    }
    let names = page.lines().filter(|line| line.starts_with("| `") && line.contains("://")).count()
        + page.lines().filter(|line| line.starts_with("| `") && line.contains("`{AZURE")).count();
    assert_eq!(names, table.rows().len(), "and no other");
}
