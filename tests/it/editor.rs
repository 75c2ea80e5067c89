//! Editors of every generation: the client against scripted extensions, reviews that appear in them step by step, and the MCP server.

use std::path::Path;
use std::time::Duration;

use futures_util::future::join_all;
use review_runner::domain::editor::EditorGeneration;
use review_runner::editor::{EditorAddress, EditorClient, EditorError, EditorTimer, ReferenceForm};
use review_runner::sys::local_socket::SocketOwner;
use serde_json::{Value, json};

use crate::support::editor::{Extension, Generation, Habit};
use crate::support::mcp::{Client, Era, text};
use crate::support::model::Wire;
use crate::support::session::{Talk, shop};
use crate::support::{Program, TestRepo};

/// A timer for tests in which no wait ends but that for the peer to come back.
fn patient() -> EditorTimer {
    EditorTimer::new(|length| {
        Box::pin(async move {
            if length < Duration::from_secs(1) {
                tokio::task::yield_now().await;
            } else {
                std::future::pending::<()>().await;
            }
        })
    })
}

/// A timer whose waits are over soon: for peers that never answer.
fn hasty() -> EditorTimer {
    EditorTimer::new(|_| Box::pin(tokio::time::sleep(Duration::from_millis(20))))
}

fn client(path: &Path, timer: EditorTimer) -> EditorClient {
    let address = EditorAddress { path: path.to_owned(), owner: SocketOwner::User, shell: 42 };
    EditorClient::new(address, timer, 42)
}

fn extension(generation: Generation, habit: Habit) -> (tempfile::TempDir, Extension) {
    let folder = tempfile::tempdir().unwrap();
    let extension = Extension::start(folder.path(), generation, habit);
    (folder, extension)
}

fn by_form(form: ReferenceForm) -> String {
    format!("# Review\n{form:?}")
}

#[tokio::test]
async fn every_generation_shows_a_review_and_is_known_by_its_replies() {
    for (generation, found, form) in [
        (Generation::A, EditorGeneration::A, "Rustdoc"),
        (Generation::B, EditorGeneration::B, "Rustdoc"),
        (Generation::C, EditorGeneration::CorD, "Fragment"),
        (Generation::D, EditorGeneration::CorD, "Fragment"),
        (Generation::E, EditorGeneration::E, "Fragment"),
    ] {
        // Replies arrive in pieces of any size.
        for habit in [Habit::Plain, Habit::Pieces(1), Habit::Pieces(7)] {
            let (_folder, extension) = extension(generation, habit);
            let client = client(&extension.path, patient());
            for _ in 0..2 {
                client.present("/srv", by_form).await.unwrap_or_else(|error| panic!("{generation:?}: {error}"));
            }
            assert_eq!(client.generation(), found, "{generation:?} {habit:?}");
            assert_eq!(extension.shown().last().unwrap(), &format!("# Review\n{form}"), "{generation:?} {habit:?}");
            let last = extension.messages().pop().unwrap();
            assert_eq!((&last["payload"]["mode"], &last["payload"]["baseUri"]), (&json!("replace"), &json!("/srv")));
            client.log("shown").await.unwrap();
            client.close().await;
        }
    }
}

#[tokio::test]
async fn a_review_of_300_kb_reaches_all_that_read_lines_and_is_reported_by_the_others() {
    let content = "x".repeat(300 << 10);
    for generation in Generation::ALL {
        let (_folder, extension) = extension(generation, Habit::Plain);
        let client = client(&extension.path, patient());
        let shown = client.present("/", |_| content.clone()).await;
        if matches!(generation, Generation::A | Generation::B) {
            let error = shown.unwrap_err();
            assert!(matches!(error, EditorError::Unparsed { bytes } if bytes > 300 << 10), "{error}");
            let text = error.to_string();
            assert!(
                text.starts_with("Failed to communicate with VSCode extension: ") && text.contains("64 KiB"),
                "{text}"
            );
        } else {
            assert_eq!(shown.unwrap().note, None);
            assert_eq!(extension.shown(), std::slice::from_ref(&content), "{generation:?}");
        }
        // Later replies to the pieces of the long one hit nothing.
        client.present("/", |_| "short".to_owned()).await.unwrap_or_else(|error| panic!("{generation:?}: {error}"));
        assert_eq!(extension.shown().last().unwrap(), "short");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_at_once_each_get_their_own_reply() {
    for (generation, habit) in [
        (Generation::A, Habit::Plain),
        (Generation::B, Habit::Pieces(3)),
        (Generation::C, Habit::Plain),
        (Generation::C, Habit::Glued(5)),
        (Generation::D, Habit::Pieces(2)),
        (Generation::E, Habit::Plain),
    ] {
        let (_folder, extension) = extension(generation, habit);
        let client = client(&extension.path, patient());
        client.present("/", |_| "first".to_owned()).await.unwrap();
        let requests = (0..20).map(|number| {
            let client = client.clone();
            tokio::spawn(async move { client.present("/", |_| format!("review {number}")).await })
        });
        for ended in join_all(requests).await {
            ended.unwrap().unwrap_or_else(|error| panic!("{generation:?} {habit:?}: {error}"));
        }
        let mut shown = extension.shown();
        shown.sort();
        shown.dedup();
        assert_eq!(shown.len(), 21, "{generation:?} {habit:?}: {shown:?}");
    }
}

#[tokio::test]
async fn an_extension_that_dies_or_hangs_fails_the_request_with_its_reason() {
    for generation in Generation::ALL {
        let (_folder, dead) = extension(generation, Habit::Dies);
        let error = client(&dead.path, patient()).present("/", by_form).await.unwrap_err();
        assert_eq!(
            error.to_string(),
            "Failed to communicate with VSCode extension: IPC connection closed; see whether the editor is still open, and try again"
        );
        let (_folder, reborn) = extension(generation, Habit::DiesOnce);
        let client_of_reborn = client(&reborn.path, patient());
        assert!(client_of_reborn.present("/", by_form).await.is_err());
        client_of_reborn.present("/", by_form).await.unwrap();
        let (_folder, silent) = extension(generation, Habit::Silent);
        let error = client(&silent.path, hasty()).present("/", by_form).await.unwrap_err();
        assert!(matches!(error, EditorError::Timeout { seconds: 5, .. }), "{error}");
        let (_folder, unwilling) = extension(generation, Habit::Refuses("no\u{1b}[2J panel"));
        let error = client(&unwilling.path, patient()).present("/", by_form).await.unwrap_err();
        let said = error.to_string();
        assert!(said.starts_with("Failed to display review: no") && !said.contains('\u{1b}'), "{said}");
    }
}

#[tokio::test]
async fn what_is_no_socket_of_the_user_is_refused_with_its_reason() {
    let folder = tempfile::tempdir().unwrap();
    let (stale, file, none) =
        (folder.path().join("stale.sock"), folder.path().join("file"), folder.path().join("none"));
    drop(std::os::unix::net::UnixListener::bind(&stale).unwrap());
    std::fs::write(&file, "").unwrap();
    for (path, reason) in [
        (&stale, "the program that made it is gone (connection refused)"),
        (&file, "it is not a socket"),
        (&none, "there is nothing at this path"),
    ] {
        let error = client(path, patient()).present("/", by_form).await.unwrap_err().to_string();
        let start = format!(
            "Failed to communicate with VSCode extension: Failed to connect to socket/pipe at {}: {reason}",
            path.display()
        );
        assert!(error.starts_with(&start), "{error}");
    }
}

#[tokio::test]
async fn the_selection_is_read_from_every_generation_that_has_it() {
    for generation in [Generation::B, Generation::C, Generation::D, Generation::E] {
        let (_folder, extension) = extension(generation, Habit::Plain);
        let selection = client(&extension.path, patient()).selection().await.unwrap();
        assert_eq!(selection.line_number, Some(3));
        assert!(!selection.selected_text.unwrap().contains('\u{1b}'));
    }
    let (_folder, first) = extension(Generation::A, Habit::Plain);
    let error = client(&first.path, patient()).selection().await.unwrap_err();
    assert!(error.to_string().contains("Unknown message type: get_selection"), "{error}");
}

/// The words that name an extension; the end of the review waits for it as long as it takes.
fn words(extension: &Extension) -> String {
    format!("--socket {} --present-wait 120000", extension.path.display())
}

#[test]
fn a_review_is_shown_step_by_step() {
    for (generation, name) in [(Generation::B, "rustdoc"), (Generation::C, "fragment")] {
        let repo = shop();
        let (_folder, extension) = extension(generation, Habit::Plain);
        let talk = Talk::named(&repo, "six_turns", &format!("six_turns_editor_{name}"), Wire::Messages);
        let told = talk.ends(&words(&extension), 0, "finished");
        assert_eq!(told.titles().len(), 2);
        let root = repo.root().canonicalize().unwrap();
        let steps: Vec<String> = extension
            .messages()
            .iter()
            .map(|message| {
                let payload = &message["payload"];
                let base = payload["baseUri"].as_str().map(|base| {
                    assert_eq!(Path::new(base), root);
                    format!("{}, baseUri: the repository\n\n", payload["mode"].as_str().unwrap())
                });
                let text = payload["content"].as_str().or(payload["message"].as_str()).unwrap();
                format!("=== {} {}{text}\n", message["type"].as_str().unwrap(), base.unwrap_or_default())
            })
            .collect();
        let mut settings = insta::Settings::clone_current();
        settings.add_filter(r"`[0-9a-f]{12,}`", "`ID`");
        settings.add_filter(r"[0-9.]+ (ms|s)\b", "TIME");
        settings.add_filter(r"127\.0\.0\.1:\d+", "ADDRESS");
        settings.bind(|| insta::assert_snapshot!(format!("a_review_is_shown_step_by_step_{name}"), steps.concat()));
    }
}

#[test]
fn an_editor_that_fails_changes_nothing_but_a_note() {
    let repo = TestRepo::new();
    repo.write("a.py", "x = 1\n").commit("Begin");
    repo.branch("feature").write("a.py", "def f(items=[]):\n    return items\n").commit("Change");
    let program = Program::in_folder(repo.root());
    let line = "--target main --no-model --format markdown --previous none";
    let without = program.words(&format!("{line} --present none"));
    let bare = |text: &str| text.lines().filter(|line| !line.contains(" run ") && !line.contains("Run")).count();
    for habit in [Habit::Dies, Habit::Refuses("no panel"), Habit::Silent] {
        let (_folder, extension) = extension(Generation::C, habit);
        // A silent one is not waited for.
        let wait = if habit == Habit::Silent { "1" } else { "120000" };
        let ran = program.words(&format!("{line} --socket {} --present-wait {wait}", extension.path.display()));
        assert_eq!((ran.code, bare(ran.text())), (without.code, bare(without.text())), "{habit:?}: {}", ran.stderr);
        let note = match habit {
            Habit::Silent => "review: the editor does not answer, so the finished review may not be shown there",
            Habit::Dies => {
                "review: the editor does not show the finished review: Failed to communicate with VSCode extension: "
            }
            _ => "review: the editor does not show the finished review: Failed to display review: no panel",
        };
        assert!(ran.stderr.contains(note), "{habit:?}: {}", ran.stderr);
    }
    let (_folder, extension) = extension(Generation::C, Habit::DiesOnce);
    let ran = program.words(&format!("{line} {}", words(&extension)));
    assert!(ran.stderr.contains("review: the editor missed "), "{}", ran.stderr);
    let last = extension.shown().pop().unwrap();
    assert!(last.starts_with("# Code review\n\n**1 finding"), "{last}");

    let named = program.words(&format!("{line} --present editor"));
    assert!(named.stderr.contains("review: no editor was found: "), "{}", named.stderr);
    let auto = program.words(line);
    assert!(!auto.stderr.contains("editor") && auto.code == without.code, "{}", auto.stderr);
}

#[test]
fn an_editor_is_probed_in_both_forms() {
    let repo = TestRepo::new();
    let program = Program::in_folder(repo.root());
    let none = program.words("editor probe").ended(2);
    assert!(none.text().starts_with("no editor was found: run this in a terminal of VS Code"), "{}", none.text());
    let (_folder, extension) = extension(Generation::C, Habit::Plain);
    let path = extension.path.display().to_string();
    let program = program.with("DIALECTIC_IPC_PATH", &path);
    let found = program.words("editor probe").ended(0);
    let expected = format!("DIALECTIC_IPC_PATH: {path}: a socket\neditor: {path} answers, generation C or D\n");
    assert!(found.text().starts_with(&expected), "{}", found.text());
    let json = program.words("editor probe --json --socket /nonexistent/x.sock").ended(2).json();
    assert_eq!(
        json["lookups"],
        json!([{ "source": "flag", "path": "/nonexistent/x.sock", "fault": "there is nothing at this path" }])
    );
    assert_eq!(json["editor"]["answers"], false, "{json}");
}

#[cfg(target_os = "linux")]
#[test]
fn sockets_named_after_parents_are_searched_only_on_request() {
    let repo = TestRepo::new();
    let program = Program::in_folder(repo.root());
    for (generation, source) in [(Generation::E, "bus"), (Generation::D, "process")] {
        let extension = Extension::start(Path::new("/tmp"), generation, Habit::Plain);
        assert_eq!(program.words("editor probe --json").ended(2).json()["lookups"], json!([]));
        let json = program.words("editor probe --json --discover").ended(0).json();
        let last = json["lookups"].as_array().unwrap().last().unwrap();
        assert_eq!(last["source"], source, "{json:#}");
        assert_eq!(json["editor"]["path"], extension.path.display().to_string());
    }
}

fn served(repo: &TestRepo, more: &str) -> (Program, Client) {
    let program = Program::in_folder(repo.root());
    let client = Client::stdio(&program, &format!("--no-model {more}"), Era::Session("2025-11-25"));
    (program, client)
}

fn names(client: &mut Client) -> Vec<String> {
    let tools = client.result("tools/list", json!({}))["tools"].take();
    tools.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_presented_review_reaches_the_window_with_its_parts_merged() {
    let repo = shop();
    for (generation, link) in [
        (Generation::A, "[`src/cart.py:3`][]"),
        (Generation::C, "[here](src/cart.py#L3)"),
        (Generation::E, "[here](src/cart.py#L3)"),
    ] {
        let (_folder, extension) = extension(generation, Habit::Plain);
        let (_program, mut client) = served(&repo, &format!("--socket {}", extension.path.display()));
        let present = |client: &mut Client, input: Value| client.call("present_review", input);
        let first = json!({ "content": "# Review\n\n## Plan\n\nold\n\n## Findings\n\n[here](src/cart.py#L3)" });
        let result = present(&mut client, first);
        assert!(text(&result).starts_with("Review successfully displayed in VSCode: read it at "), "{result}");
        assert_eq!(result["structuredContent"]["displayed"], true);
        let section = json!({ "content": "new", "mode": "update-section", "section": "plan" });
        assert_eq!(present(&mut client, section)["structuredContent"]["displayed"], true);
        let shown = extension.shown().pop().unwrap();
        assert!(shown.contains("## Plan\n\nnew\n\n## Findings") && shown.contains(link), "{generation:?}: {shown}");
        assert!(extension.messages().iter().all(|message| message["payload"]["mode"] != "update-section"));

        // A base that leaves the document's is refused, and nothing is sent.
        let below = repo.root().join("src");
        let other = present(&mut client, json!({ "content": "a", "baseUri": below, "reviewId": "new" }));
        let count = extension.shown().len();
        let id = &other["structuredContent"]["reviewId"];
        let above = json!({ "content": "b", "mode": "append", "baseUri": repo.root(), "reviewId": id });
        let result = present(&mut client, above);
        assert!(result["isError"] == true && text(&result).starts_with("Failed to display review: "), "{result}");
        assert_eq!(extension.shown().len(), count);
        client.close();
    }
}

#[test]
fn a_review_that_no_editor_shows_is_kept_and_said_to_be() {
    let repo = shop();
    let (_program, mut client) = served(&repo, "");
    let result = client.call("present_review", json!({ "content": "# A" }));
    assert!(text(&result).starts_with("Review kept, not displayed: read it at review://presented/"), "{result}");
    assert!(text(&result).ends_with("No editor is connected: `review editor probe` says why"), "{result}");
    client.close();

    let (_folder, dead) = extension(Generation::C, Habit::Dies);
    let (_program, mut client) = served(&repo, &format!("--socket {}", dead.path.display()));
    let result = client.call("present_review", json!({ "content": "# A" }));
    assert!(text(&result).contains(". Failed to communicate with VSCode extension: IPC connection closed"), "{result}");
    assert_eq!((&result["structuredContent"]["displayed"], result["isError"] == true), (&json!(false), false));
    let uri = result["structuredContent"]["uri"].as_str().unwrap();
    let read = client.result("resources/read", json!({ "uri": uri }));
    assert_eq!(read["contents"][0]["text"], "# A", "{read}");
    client.close();
}

#[test]
fn the_selection_is_a_tool_only_where_there_is_an_editor() {
    let repo = shop();
    let (_folder, extension) = extension(Generation::C, Habit::Plain);
    let socket = format!("--socket {}", extension.path.display());
    for (flags, listed) in [
        ("", false),
        ("--tools all", false),
        ("--tools default,get_selection", true),
        (socket.as_str(), true),
        (&format!("{socket} --tools default,-get_selection"), false),
    ] {
        let (_program, mut client) = served(&repo, flags);
        assert_eq!(names(&mut client).contains(&"get_selection".to_owned()), listed, "{flags}");
        client.close();
    }
    let (_program, mut client) = served(&repo, &socket);
    let tools = client.result("tools/list", json!({}))["tools"].take();
    let tool = tools.as_array().unwrap().iter().find(|tool| tool["name"] == "get_selection").unwrap();
    let fields = client.tool("get_selection", json!({}));
    assert!(jsonschema::draft202012::new(&tool["outputSchema"]).unwrap().is_valid(&fields), "{fields:#}");
    assert_eq!((&fields["startLine"], &fields["filePath"]), (&json!(3), &json!("/srv/a.rs")));
    assert!(!fields["selectedText"].as_str().unwrap().contains('\u{1b}'));
    client.close();
    let (_program, mut client) = served(&repo, "--tools default,get_selection");
    let result = client.call("get_selection", json!({}));
    assert!(result["isError"] == true && text(&result).starts_with("no editor was found: "), "{result}");
    client.close();
}

#[test]
fn whoever_comes_over_http_does_not_get_the_editor_of_the_environment() {
    let repo = shop();
    let (_folder, extension) = extension(Generation::C, Habit::Plain);
    let program = Program::in_folder(repo.root()).with("DIALECTIC_IPC_PATH", &extension.path.display().to_string());
    let server = crate::support::mcp::Http::start(&program, "--no-model");
    let mut client = Client::http(&server, Era::Stateless);
    assert!(!names(&mut client).contains(&"get_selection".to_owned()));
    let result = client.call("present_review", json!({ "content": "# A" }));
    assert_eq!(result["structuredContent"]["displayed"], false, "{result}");
    assert_eq!(extension.messages(), Vec::<Value>::new());
    let mut own = Client::stdio(&program, "--no-model", Era::Stateless);
    assert_eq!(own.call("present_review", json!({ "content": "# A" }))["structuredContent"]["displayed"], true);
    own.close();
}
