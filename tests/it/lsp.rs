//! `review lsp` as an editor sees it: findings on the text of now, what can be done about them, reviews that the editor starts, clients
//! that say nonsense or go away.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::support::lsp::{Editor, pulling, pushed, uri};
use crate::support::model::Wire;
use crate::support::session::{Talk, shop};
use crate::support::{Program, TestRepo};

/// A finding with a suggestion (line 2), one without (line 6), and text in which columns differ by encoding.
const CODE: &str = "\
def first(name):
    if name is '😀漢': return 1
    return 2

def third(done):
    assert (done, 'not done')
";

/// A branch that adds `a.py`, reviewed by the rules.
fn reviewed() -> (TestRepo, Program, PathBuf) {
    let repo = TestRepo::new();
    repo.write("README", "read me\n").commit("begin");
    repo.branch("feature").write("a.py", CODE).commit("change");
    let program = Program::in_folder(repo.root());
    program.words("--target main --no-model --hints").ended(0);
    let file = repo.root().join("a.py");
    (repo, program, file)
}

fn lines(diagnostics: &[Value]) -> Vec<u64> {
    diagnostics.iter().map(|one| one["range"]["start"]["line"].as_u64().unwrap()).collect()
}

fn editor(repo: &TestRepo, program: &Program) -> Editor {
    Editor::open(program, "--no-model", &[repo.root()], &pushed())
}

fn point(line: u32, character: u32) -> Value {
    json!({ "line": line, "character": character })
}

fn actions(editor: &mut Editor, file: &std::path::Path, line: u32) -> Vec<Value> {
    let range = json!({ "start": point(line, 4), "end": point(line, 4) });
    let context = json!({ "diagnostics": [] });
    let params = json!({ "textDocument": { "uri": uri(file) }, "range": range, "context": context });
    editor.request("textDocument/codeAction", params).as_array().unwrap().clone()
}

fn titled(actions: &[Value], begin: &str) -> Option<Value> {
    actions.iter().find(|one| one["title"].as_str().unwrap().starts_with(begin)).cloned()
}

#[test]
fn findings_of_files_that_are_not_open_are_published_with_their_facts() {
    let (repo, program, file) = reviewed();
    let mut editor = editor(&repo, &program);
    let shown = editor.diagnostics(&file, |now| now.len() == 2);
    assert_eq!(lines(&shown), [1, 5]);
    let first = &shown[0];
    assert_eq!((&first["source"], &first["code"]), (&json!("review"), &json!("python/is-with-literal")), "{first}");
    // Four blanks, then up to the end of the line: the emoji counts twice in UTF-16.
    assert_eq!(first["range"], json!({ "start": point(1, 4), "end": point(1, 30) }), "{first}");
    assert_eq!(editor.close(), Some(0));
}

#[test]
fn findings_follow_the_text_and_go_with_it() {
    let (repo, program, file) = reviewed();
    let mut editor = editor(&repo, &program);
    editor.open_document(&file, CODE);
    editor.diagnostics(&file, |now| lines(now) == [1, 5]);
    editor.insert(&file, 2, (0, 0), "# one\n# two\r\n");
    editor.diagnostics(&file, |now| lines(now) == [3, 7]);
    // Behind the emoji and the Chinese character, in units of UTF-16.
    editor.insert(&file, 3, (3, 18), "x");
    let left = editor.diagnostics(&file, |now| now.len() == 1);
    assert_eq!(lines(&left), [7], "the first one's line is another now");
    let close = json!({ "textDocument": { "uri": uri(&file) } });
    editor.notify("textDocument/didClose", close);
    editor.diagnostics(&file, |now| lines(now) == [1, 5]);
    std::fs::remove_file(&file).unwrap();
    editor.diagnostics(&file, <[Value]>::is_empty);
    assert_eq!(editor.close(), Some(0));
}

#[test]
fn columns_count_in_the_encoding_that_was_agreed_on() {
    let (repo, program, file) = reviewed();
    for (encoding, end, behind) in [("utf-8", 34, 23), ("utf-16", 30, 19), ("utf-32", 29, 18)] {
        let mut capabilities = pushed();
        capabilities["general"]["positionEncodings"] = json!([encoding]);
        let mut editor = Editor::open(&program, "", &[repo.root()], &capabilities);
        editor.open_document(&file, CODE);
        let shown = editor.diagnostics(&file, |now| now.len() == 2);
        assert_eq!(shown[0]["range"]["end"], point(1, end), "{encoding}");
        // Inserted right behind the Chinese character and taken out again.
        editor.insert(&file, 2, (1, behind), "y");
        editor.diagnostics(&file, |now| now.len() == 1);
        let gone = json!({ "range": { "start": point(1, behind), "end": point(1, behind + 1) }, "text": "" });
        let document = json!({ "uri": uri(&file), "version": 3 });
        editor.notify("textDocument/didChange", json!({ "textDocument": document, "contentChanges": [gone] }));
        editor.diagnostics(&file, |now| now.len() == 2);
        assert_eq!(editor.close(), Some(0));
    }
}

#[test]
fn a_client_that_asks_is_answered_and_nothing_is_published() {
    let (repo, program, file) = reviewed();
    let mut editor = Editor::open(&program, "", &[repo.root()], &pulling());
    editor.open_document(&file, &format!("\n{CODE}"));
    let ask = |before: Option<&Value>| {
        let mut params = json!({ "textDocument": { "uri": uri(&file) } });
        params["previousResultId"] = before.cloned().unwrap_or_default();
        params
    };
    let report = editor.request("textDocument/diagnostic", ask(None));
    assert_eq!((&report["kind"], lines(report["items"].as_array().unwrap())), (&json!("full"), vec![2, 6]));
    let again = editor.request("textDocument/diagnostic", ask(Some(&report["resultId"])));
    assert_eq!(again, json!({ "kind": "unchanged", "resultId": report["resultId"] }));
    let known = json!([{ "uri": uri(&file), "value": report["resultId"] }]);
    let all = editor.request("workspace/diagnostic", json!({ "previousResultIds": known }));
    assert_eq!((&all["items"][0]["kind"], &all["items"][0]["version"]), (&json!("unchanged"), &json!(1)), "{all}");
    // Another process reviews: the client is made to ask again.
    repo.write("b.py", "def add(item, items=[]):\n    return items\n").commit("another");
    program.words("--target main --no-model --hints").ended(0);
    let fresh = loop {
        editor.wait("workspace/diagnostic/refresh", |_| true);
        let all = editor.request("workspace/diagnostic", json!({ "previousResultIds": known }));
        let full = all["items"].as_array().unwrap().iter().find(|one| one["kind"] == "full");
        // The first one may be about what was there before.
        if let Some(full) = full {
            break full.clone();
        }
    };
    assert_eq!((&fresh["uri"], &fresh["version"]), (&json!(uri(&repo.root().join("b.py"))), &Value::Null), "{fresh}");
    assert!(editor.published.is_empty());
    let gone = json!([{ "uri": uri(&repo.root().join("c.py")), "value": "x" }]);
    let all = editor.request("workspace/diagnostic", json!({ "previousResultIds": gone }));
    let cleared: Vec<&Value> =
        all["items"].as_array().unwrap().iter().filter(|one| one["items"] == json!([])).collect();
    assert_eq!(cleared.len(), 1, "{all}");
    assert_eq!(editor.close(), Some(0));
}

#[test]
fn a_suggestion_is_an_edit_of_the_text_of_now() {
    let (repo, program, file) = reviewed();
    let mut editor = editor(&repo, &program);
    let text = format!("# 漢\n{CODE}");
    editor.open_document(&file, &text);
    editor.diagnostics(&file, |now| lines(now) == [2, 6]);
    let offered = actions(&mut editor, &file, 2);
    let apply = titled(&offered, "Apply the suggestion").unwrap_or_else(|| panic!("{offered:?}"));
    let change = &apply["edit"]["documentChanges"][0];
    assert_eq!(change["textDocument"], json!({ "uri": uri(&file), "version": 1 }));
    let edit = &change["edits"][0];
    assert_eq!(edit["range"], json!({ "start": point(2, 0), "end": point(3, 0) }));
    assert_eq!(edit["newText"], "    if name == '😀漢': return 1\n");
    assert!(titled(&actions(&mut editor, &file, 6), "Apply").is_none(), "it has no suggestion");

    // By the command, the server makes the editor edit.
    editor.answers.insert("workspace/applyEdit", json!({ "applied": true }));
    let finding = apply["diagnostics"][0]["data"]["finding"].clone();
    assert_eq!(editor.command("review.apply", json!({ "finding": finding })), json!({ "applied": true }));
    let made = editor.wait("workspace/applyEdit", |_| true);
    assert_eq!(made["edit"]["documentChanges"][0]["edits"][0], *edit);
    editor.answers.insert("workspace/applyEdit", json!({ "applied": false, "failureReason": "it is read-only" }));
    let params = json!({ "command": "review.apply", "arguments": [{ "finding": finding }] });
    assert_eq!(editor.error("workspace/executeCommand", params.clone()), (-32803, "it is read-only".to_owned()));

    // The line is there twice: none of them is edited.
    editor.insert(&file, 2, (7, 0), "    if name is '😀漢': return 1\n");
    assert!(titled(&actions(&mut editor, &file, 2), "Apply").is_none());
    assert_eq!(editor.error("workspace/executeCommand", params).0, -32803);
    let only = json!({ "diagnostics": [], "only": ["refactor"] });
    let range = json!({ "start": point(0, 0), "end": point(9, 0) });
    let params = json!({ "textDocument": { "uri": uri(&file) }, "range": range, "context": only });
    assert_eq!(editor.request("textDocument/codeAction", params), json!([]));
    assert_eq!(editor.close(), Some(0));
}

#[test]
fn a_dismissed_finding_goes_and_the_project_keeps_the_reason() {
    let (repo, program, file) = reviewed();
    let mut editor = editor(&repo, &program);
    let shown = editor.diagnostics(&file, |now| now.len() == 2);
    let first = shown[0]["data"]["finding"].clone();
    let answer = editor.command("review.dismiss", json!({ "finding": first, "reason": "it is meant so" }));
    assert_eq!(answer["finding"], first);
    editor.diagnostics(&file, |now| lines(now) == [5]);
    let kept = || std::fs::read_to_string(repo.root().join(".review/dismissed.toml")).unwrap();
    assert!(kept().contains("it is meant so"));
    // Without a reason the user is asked for one.
    editor.answers.insert("window/showMessageRequest", json!({ "title": "False positive" }));
    let offered = actions(&mut editor, &file, 5);
    let dismiss = titled(&offered, "Dismiss").unwrap()["command"].clone();
    editor.command("review.dismiss", dismiss["arguments"][0].clone());
    editor.diagnostics(&file, <[Value]>::is_empty);
    assert!(kept().contains("False positive"));
    assert_eq!(editor.request("review/findings", json!({}))["findings"], json!([]));
    assert_eq!(editor.close(), Some(0));
}

#[test]
fn findings_are_explained_and_listed() {
    let (repo, program, file) = reviewed();
    let mut editor = editor(&repo, &program);
    let hover = |line| json!({ "textDocument": { "uri": uri(&file) }, "position": point(line, 6) });
    let shown = editor.request("textDocument/hover", hover(1));
    assert_eq!(shown["contents"]["kind"], "markdown");
    assert!(shown["contents"]["value"].as_str().unwrap().contains("python/is-with-literal"), "{shown}");
    assert_eq!(editor.request("textDocument/hover", hover(0)), Value::Null);
    let listed = editor.request("review/findings", json!({ "folder": uri(repo.root()) }));
    let row = &listed["findings"][0];
    assert!(listed["run"].is_string() && listed["findings"].as_array().unwrap().len() == 2, "{listed}");
    assert_eq!((&row["uri"], &row["rule"]), (&json!(uri(&file)), &json!("python/is-with-literal")), "{row}");
    assert_eq!((&row["origin"], &row["range"]["start"]), (&json!("rule"), &point(1, 4)), "{row}");
    let status = editor.wait("review/status", |_| true);
    assert_eq!((&status["state"], &status["run"]), (&json!("idle"), &listed["run"]), "{status}");
    assert_eq!(status["outcome"], "complete");
    let rule = editor.command("review.explainRule", json!({ "rule": "python/is-with-literal" }));
    assert!(rule["text"].as_str().unwrap().starts_with("python/is-with-literal\n"), "{rule}");
    let explain = titled(&actions(&mut editor, &file, 1), "Explain").unwrap();
    editor.command("review.explainRule", explain["command"]["arguments"][0].clone());
    assert_eq!(editor.wait("window/showMessage", |_| true)["message"], rule["text"]);
    assert_eq!(editor.close(), Some(0));
}

#[test]
fn the_thread_of_a_posted_finding_is_opened() {
    let (repo, program, file) = reviewed();
    let mut editor = editor(&repo, &program);
    let shown = editor.diagnostics(&file, |now| now.len() == 2);
    assert!(titled(&actions(&mut editor, &file, 1), "Open").is_none(), "it was not posted");
    let (one, other) = (&shown[0]["data"]["finding"], &shown[1]["data"]["finding"]);
    let refused = json!({ "command": "review.openThread", "arguments": [{ "finding": one }] });
    assert_eq!(editor.error("workspace/executeCommand", refused).0, -32803);
    let page = "https://github.com/o/r/pull/1#discussion_r2";
    let items = json!([{ "finding": one, "url": page }, { "finding": other, "url": "file:///etc/passwd" }]);
    let receipt = json!({ "schema": "delivery/1", "items": items, "review_url": "https://github.com/o/r/pull/1" });
    std::fs::write(program.kept()[0].join("delivery.json"), receipt.to_string()).unwrap();
    assert!(titled(&actions(&mut editor, &file, 1), "Open").is_some());
    for (finding, url) in [(one, page), (other, "https://github.com/o/r/pull/1")] {
        assert_eq!(editor.command("review.openThread", json!({ "finding": finding })), json!({ "url": url }));
        let opened = editor.wait("window/showDocument", |_| true);
        assert_eq!((&opened["uri"], &opened["external"]), (&json!(url), &json!(true)));
    }
    assert_eq!(editor.close(), Some(0));
}

#[test]
fn a_review_reports_its_progress_and_its_findings() {
    let repo = TestRepo::new();
    repo.write("README", "read me\n").commit("begin");
    repo.branch("feature").write("a.py", CODE).commit("change");
    let program = Program::in_folder(repo.root());
    let mut editor = editor(&repo, &program);
    assert_eq!(editor.wait("review/status", |_| true)["run"], Value::Null);
    let run = editor.command("review.start", json!({ "kind": "branch", "target": "main" }))["run"].clone();
    let create = editor.wait("window/workDoneProgress/create", |_| true);
    assert_eq!(create["token"], run);
    let status = editor.wait("review/status", |status| status["state"] != "running");
    let counts = json!({ "critical": 0, "high": 1, "medium": 0, "low": 0, "nit": 0 });
    assert_eq!((&status["run"], &status["counts"]), (&run, &counts), "{status}");
    editor.diagnostics(&repo.root().join("a.py"), |now| now.len() == 1);
    // What is only on disk.
    repo.write("b.py", "def add(item, items=[]):\n    return items\n");
    editor.command("review.start", json!({ "kind": "uncommitted", "folder": uri(repo.root()) }));
    editor.diagnostics(&repo.root().join("b.py"), |now| now.len() == 1);
    editor.diagnostics(&repo.root().join("a.py"), <[Value]>::is_empty);
    repo.git(["add", "b.py"]);
    editor.command("review.start", json!({ "kind": "staged" }));
    editor.wait("review/status", |status| status["state"] == "running");
    editor.wait("review/status", |status| status["state"] == "idle");
    let folder = uri(repo.root());
    for (argument, code) in [
        (json!({ "kind": "sideways" }), -32602),
        (json!({ "kind": "staged", "target": "main" }), -32602),
        (json!({ "kind": "pullRequest" }), -32602),
        (json!({ "kind": "branch", "target": "nowhere" }), -32803),
        (json!({ "kind": "branch", "folder": format!("{folder}/..") }), -32803),
        (json!(null), -32602),
    ] {
        let params = json!({ "command": "review.start", "arguments": [argument] });
        assert_eq!(editor.error("workspace/executeCommand", params).0, code, "{argument}");
    }
    assert_eq!(editor.close(), Some(0));
}

/// An editor whose reviews are done by a model that never answers its second request; the review has one finding by then.
fn hanging(repo: &TestRepo, name: &str) -> (Talk, Editor, Value) {
    let talk = Talk::named(repo, "found_then_hang", name, Wire::Chat);
    let words = format!("--model {}/scripted", Wire::Chat.provider());
    let mut editor = Editor::open(&talk.program, &words, &[repo.root()], &pushed());
    let run = editor.command("review.start", json!({ "kind": "branch", "target": "main" }))["run"].clone();
    talk.server.wait_for(2);
    (talk, editor, run)
}

#[test]
fn a_review_is_cancelled_and_its_findings_so_far_are_shown() {
    let repo = shop();
    for (name, by_progress) in [("lsp_cancel_progress", true), ("lsp_cancel_command", false)] {
        let (_talk, mut editor, run) = hanging(&repo, name);
        let is_report = |params: &Value| params["value"]["kind"] == "report";
        let begin = editor.wait("$/progress", |_| true);
        assert_eq!((&begin["token"], &begin["value"]["kind"]), (&run, &json!("begin")), "{begin}");
        assert_eq!(begin["value"]["cancellable"], true);
        editor.wait("$/progress", is_report);
        if by_progress {
            editor.notify("window/workDoneProgress/cancel", json!({ "token": run }));
        } else {
            assert_eq!(editor.command("review.cancel", json!({}))["cancelled"], 1);
        }
        let end = editor.wait("$/progress", |params| params["value"]["kind"] == "end");
        assert_eq!(end["value"]["message"], "interrupted");
        let status = editor.wait("review/status", |status| status["state"] == "idle");
        assert_eq!((&status["run"], &status["outcome"]), (&run, &json!("incomplete")), "{status}");
        assert!(
            !editor.published.values().all(Vec::is_empty)
                || !editor.request("review/findings", json!({}))["findings"].as_array().unwrap().is_empty()
        );
        assert_eq!(editor.close(), Some(0));
    }
}

/// The review that the server kept when it ended.
fn kept(program: &Program) -> Value {
    let file = program.kept().first().map(|folder| folder.join("review.json")).expect("a run");
    serde_json::from_slice(&std::fs::read(file).expect("a kept review")).unwrap()
}

#[test]
fn a_client_that_goes_ends_the_server_and_its_reviews() {
    let repo = shop();
    let (talk, editor, _) = hanging(&repo, "lsp_client_goes");
    assert_eq!(editor.hang_up(), Some(1));
    assert_eq!(kept(&talk.program)["ended"], "interrupted");
}

#[test]
fn a_server_whose_client_died_ends() {
    let repo = shop();
    let program = Program::in_folder(repo.root());
    let mut editor = Editor::start(&program, "");
    let mut child = program.command(["--version"]).spawn().unwrap();
    child.wait().unwrap();
    editor.request("initialize", json!({ "processId": child.id(), "rootUri": null, "capabilities": {} }));
    assert_eq!(editor.wait_for_end(), Some(1));
}

#[test]
fn folders_come_and_go() {
    let (repo, program, file) = reviewed();
    let other = TestRepo::new();
    other.write("README", "read me\n").commit("begin");
    other.branch("feature").write("sub/c.py", CODE).write("top.py", CODE).commit("change");
    program.words(&format!("-C {} --target main --no-model --hints", other.root().display())).ended(0);
    let mut editor = editor(&repo, &program);
    editor.diagnostics(&file, |now| now.len() == 2);
    // A folder within its repository: nothing above it is shown.
    let inner = other.root().join("sub");
    let folder = |path: &std::path::Path| json!({ "uri": uri(path), "name": "x" });
    let event = json!({ "event": { "added": [folder(&inner)], "removed": [] } });
    editor.notify("workspace/didChangeWorkspaceFolders", event);
    editor.diagnostics(&inner.join("c.py"), |now| lines(now) == [1, 5]);
    assert_eq!(editor.published.len(), 2, "{:?}", editor.published);
    let event = json!({ "event": { "added": [], "removed": [folder(repo.root())] } });
    editor.notify("workspace/didChangeWorkspaceFolders", event);
    editor.diagnostics(&file, <[Value]>::is_empty);
    let top = other.root().join("top.py");
    assert_eq!(actions(&mut editor, &top, 1), Vec::<Value>::new(), "it is outside of the folder");
    // What is not there, is no folder, or is nowhere.
    let odd = ["file:///nowhere/at/all", "https://host/x", "untitled:1"].map(|uri| json!({ "uri": uri, "name": "x" }));
    editor.notify("workspace/didChangeWorkspaceFolders", json!({ "event": { "added": odd, "removed": [] } }));
    editor.wait("window/logMessage", |_| true);
    editor.diagnostics(&inner.join("c.py"), |now| now.len() == 2);
    assert_eq!(editor.close(), Some(0));
}

#[test]
fn of_two_folders_around_a_file_the_inner_one_lists_it() {
    let (repo, program, file) = reviewed();
    let inner = repo.root().join("sub");
    repo.write("sub/c.py", CODE).commit("more");
    program.words("--target main --no-model --hints").ended(0);
    let mut editor = Editor::open(&program, "", &[repo.root(), &inner], &pulling());
    let all = editor.request("workspace/diagnostic", json!({ "previousResultIds": [] }));
    let mut listed: Vec<&str> = all["items"].as_array().unwrap().iter().filter_map(|one| one["uri"].as_str()).collect();
    listed.sort_unstable();
    assert_eq!(listed, [uri(&file), uri(&inner.join("c.py"))]);
    assert_eq!(editor.close(), Some(0));
}

#[test]
fn nonsense_is_answered_by_the_codes_of_the_protocol() {
    let (repo, program, file) = reviewed();
    let mut editor = Editor::start(&program, "--stdio --clientProcessId=1");
    assert_eq!(editor.error("textDocument/hover", json!({})).0, -32002);
    editor.notify("textDocument/didOpen", json!({}));
    assert_eq!(editor.error("initialize", json!([])).0, -32602);
    let folders = json!([{ "uri": uri(repo.root()), "name": "x" }]);
    let params = json!({ "processId": null, "rootUri": null, "capabilities": {}, "workspaceFolders": folders });
    let begun = editor.request("initialize", params.clone());
    assert_eq!(begun["capabilities"]["positionEncoding"], "utf-16");
    assert_eq!(begun["capabilities"].get("diagnosticProvider"), None);
    assert_eq!(editor.error("initialize", params).0, -32600);
    editor.notify("initialized", json!({}));
    editor.diagnostics(&file, |now| now.len() == 2);
    for (method, params, code) in [
        ("textDocument/definition", json!({}), -32601),
        ("$/unknown", json!({}), -32601),
        ("textDocument/hover", json!({ "textDocument": 7 }), -32602),
        ("textDocument/codeAction", json!(null), -32602),
        ("textDocument/diagnostic", json!([1, 2]), -32602),
        ("workspace/executeCommand", json!({ "command": "rm" }), -32602),
        ("workspace/executeCommand", json!({ "command": "review.apply", "arguments": [{}] }), -32602),
        ("workspace/executeCommand", json!({ "command": "review.apply", "arguments": [{ "finding": "x" }] }), -32803),
        (
            "workspace/executeCommand",
            json!({ "command": "review.explainRule", "arguments": [{ "rule": "x" }] }),
            -32803,
        ),
        ("review/findings", json!({ "folder": "file:///etc" }), -32803),
    ] {
        assert_eq!(editor.error(method, params).0, code, "{method}");
    }
    for document in ["untitled:1", "https://host/a.py", "file:///etc/passwd", "file:///%2e%2e/x", "a.py", ""] {
        let at = json!({ "textDocument": { "uri": document }, "position": point(0, 0) });
        assert_eq!(editor.request("textDocument/hover", at), Value::Null, "{document}");
        let report = editor.request("textDocument/diagnostic", json!({ "textDocument": { "uri": document } }));
        assert_eq!(report["items"], json!([]), "{document}");
    }
    for bytes in [
        &b"Content-Length: 9\r\n\r\n{not json"[..],
        b"Content-Length: 2\r\n\r\n[]",
        b"Content-Length: 8\r\n\r\n{\"id\":5}",
    ] {
        editor.send_bytes(bytes);
        let id = if bytes.ends_with(b"5}") { json!(5) } else { Value::Null };
        let answer = editor.answer_to(&id);
        assert!(answer["error"]["code"].as_i64().is_some_and(|code| code == -32700 || code == -32600), "{answer}");
    }
    // Notifications that fit nothing are no reason to end, nor are huge documents and positions beyond all text.
    editor.notify(
        "textDocument/didChange",
        json!({ "textDocument": { "uri": uri(&file), "version": 9 }, "contentChanges": [{ "text": "x" }] }),
    );
    editor.notify("textDocument/didOpen", json!("x"));
    editor.notify("$/cancelRequest", json!({ "id": 1 }));
    editor.notify("window/workDoneProgress/cancel", json!({ "token": 4 }));
    editor.open_document(&file, &"x".repeat(33 << 20));
    editor.diagnostics(&file, <[Value]>::is_empty);
    editor.insert(&file, 2, (u32::MAX, u32::MAX), "y");
    let far = json!({ "textDocument": { "uri": uri(&file) }, "position": point(u32::MAX, u32::MAX) });
    assert_eq!(editor.request("textDocument/hover", far), Value::Null);
    assert_eq!(editor.request("shutdown", Value::Null), Value::Null);
    assert_eq!(editor.error("textDocument/hover", json!({})).0, -32600);
    editor.notify("exit", Value::Null);
    assert_eq!(editor.wait_for_end(), Some(0));
}

#[test]
fn a_stream_that_cannot_be_read_ends_the_server() {
    let (_repo, program, _) = reviewed();
    for bytes in [&b"no header at all\r\n\r\n"[..], b"Content-Length: 99999999999999999999999\r\n\r\n"] {
        let mut editor = Editor::start(&program, "");
        editor.send_bytes(bytes);
        assert_eq!(editor.next()["error"]["code"], -32700);
        assert_eq!(editor.wait_for_end(), Some(1));
    }
    let mut editor = Editor::start(&program, "");
    editor.notify("exit", Value::Null);
    assert_eq!(editor.wait_for_end(), Some(1), "no shutdown came before");
}
