//! Assistants of others: the messages that they sent, as `.ci/assistants.py` recorded them, and the size of what they are answered.

use serde_json::{Value, json};

use crate::support::mcp::{Client, Era, text};
use crate::support::{Program, TestRepo};

/// The characters of an answer that every client lets through, and those for a client that lets more through.
const MOST: usize = 24_000;
const MOST_FOR_CLAUDE: usize = 48_000;

/// A file of 64 KB, as the recording's.
fn big() -> String {
    let line = |n: usize| {
        let flag = if n.is_multiple_of(2) { "True" } else { "False" };
        let tail = "x".repeat(n % 60);
        format!("value_{n:04} = compute({n}, 'a \"text\" of some length', flag={flag})  # {tail}\n")
    };
    (0..640).map(line).collect()
}

/// The recording's project.
fn project() -> TestRepo {
    let repo = TestRepo::new();
    repo.write("src/big.py", big()).write("src/cart.py", "def total(items):\n    return sum(items)\n").commit("begin");
    let changed = "def total(items=[]):\n    items.append(1)\n    return sum(items)\n";
    repo.branch("feature").write("src/cart.py", changed).commit("count one more");
    repo
}

/// The characters of an answer as clients pass it on: its text, or its fields.
fn size(result: &Value) -> usize {
    let fields = result.get("structuredContent").map_or(0, |fields| fields.to_string().chars().count());
    fields.max(result["content"][0]["text"].as_str().unwrap_or_default().chars().count())
}

/// The lines of a page, from its text and from its fields.
fn lines_of(result: &Value) -> Vec<String> {
    let fields = result["structuredContent"]["content"].as_str().unwrap();
    let fields: Vec<String> = fields.lines().map(|line| line.split_once('\t').unwrap().1.to_owned()).collect();
    let numbered = |line: &str| {
        line.split_once(": ").filter(|(number, _)| number.parse::<u32>().is_ok()).map(|(_, line)| line.to_owned())
    };
    let shown: Vec<String> = text(result).lines().filter_map(numbered).collect();
    assert_eq!(shown, fields, "the text has other lines than the fields");
    fields
}

/// Reads a file page by page, as `next` says; every page keeps to the limit.
fn read_whole(mut call: impl FnMut(Value) -> Value, most: usize) -> Vec<String> {
    let (mut lines, mut next) = (Vec::new(), json!({ "file_path": "src/big.py" }));
    loop {
        let page = call(next);
        assert!(size(&page) <= most, "{} characters", size(&page));
        lines.extend(lines_of(&page));
        let Some(following) = page["structuredContent"].get("next") else { return lines };
        assert!(text(&page).contains(&format!("Next: read_file_part {}", following["input"])), "{page}");
        next = following["input"].clone();
    }
}

#[test]
fn what_assistants_sent_is_answered_within_what_they_let_through() {
    let repo = project();
    for (name, most) in [("claude-code", MOST_FOR_CLAUDE), ("codex", MOST), ("gemini-cli", MOST), ("opencode", MOST)] {
        let file = format!("{}/fixtures/mcp/assistants/{name}.jsonl", env!("CARGO_MANIFEST_DIR"));
        let recorded = std::fs::read_to_string(&file).unwrap();
        let program = Program::in_folder(repo.root());
        let mut client = Client::stdio(&program, "--no-model", Era::Stateless);
        let (mut review, mut document, mut called) = (String::new(), String::new(), Vec::new());
        for line in recorded.lines() {
            let line = line.replace("REVIEW_ID", &review).replace("DOCUMENT_ID", &document);
            let message: Value = serde_json::from_str(&line).unwrap();
            let tool = message["params"]["name"].as_str().unwrap_or_default();
            // The pages that follow are those that `next` names now.
            if tool == "read_file_part" && message["params"]["arguments"].get("start_line").is_some() {
                continue;
            }
            client.raw().send(line.as_bytes());
            let (Some(id), Some(method)) = (message["id"].as_u64(), message["method"].as_str()) else { continue };
            let answer = client.answer(id);
            let result = &answer["result"];
            assert!(answer.get("error").is_none() && result["isError"] != true, "{name}: {line}\n{answer}");
            called.push(if method == "tools/call" { tool.to_owned() } else { method.to_owned() });
            if method == "tools/call" {
                assert!(size(result) <= most, "{name}: {tool} has {} characters", size(result));
                let id = |field: &str| result["structuredContent"][field].as_str().unwrap().to_owned();
                match tool {
                    "review" => review = id("id"),
                    "present_review" => document = id("reviewId"),
                    "read_file_part" => {
                        let meta = message["params"].get("_meta").cloned();
                        let mut number = 100_000;
                        let lines = read_whole(
                            |input| {
                                number += 1;
                                let mut params = json!({ "name": tool, "arguments": input });
                                meta.clone().into_iter().for_each(|meta| params["_meta"] = meta);
                                let call =
                                    json!({ "jsonrpc": "2.0", "id": number, "method": method, "params": params });
                                client.raw().send(call.to_string().as_bytes());
                                client.answer(number)["result"].take()
                            },
                            most,
                        );
                        assert_eq!(lines, big().lines().collect::<Vec<_>>(), "{name}");
                    }
                    _ => {}
                }
            }
        }
        for expected in ["tools/list", "review", "findings", "present_review", "read_file_part"] {
            assert!(called.iter().any(|one| one == expected), "{name} did not call {expected}: {called:?}");
        }
        client.close();
    }
}

#[test]
fn whatever_is_read_keeps_to_what_clients_let_through_and_goes_on_from_there() {
    let repo = project();
    // Each of these grows on its way out: quotes in JSON, numbers before the lines of a diff, characters that are spelled out.
    let odd = |n: usize| format!("odd_{n} = '\u{7f}\u{202e}\u{1}\\\\\"'{}\n", "\u{200b}".repeat(9));
    let odd: String = (0..600).map(odd).collect();
    let short = "x\n".repeat(3_000);
    let one = format!("{}\n", "\u{7f}\u{202e}".repeat(40_000));
    repo.write("src/odd.py", &odd).write("src/short.py", &short).write("src/one.py", &one);
    repo.write("src/big.py", big().replace("value", "number"));
    for number in 0..300 {
        repo.write(format!("{}/{}/{number:03}.py", "folder".repeat(9), "inner".repeat(20)), "x = 1\n");
    }
    repo.commit("much of it");
    let program = Program::in_folder(repo.root());
    let mut client = Client::stdio(&program, "--no-model", Era::Session("2025-11-25"));
    assert_eq!(
        read_whole(|input| client.call("read_file_part", input), MOST),
        big().replace("value", "number").lines().collect::<Vec<_>>()
    );
    let mut pages = 0;
    for (tool, input) in [
        ("read_file_part", json!({ "file_path": "src/odd.py" })),
        ("read_file_part", json!({ "file_path": "src/short.py" })),
        ("read_file_part", json!({ "file_path": "src/one.py" })),
        ("read_diff", json!({ "file_path": "src/big.py", "at": "main...HEAD" })),
        ("read_diff", json!({ "file_path": "src/odd.py", "at": "main...HEAD" })),
        ("read_diff", json!({ "file_path": ".", "at": "main...HEAD" })),
        ("search_in_files", json!({ "pattern": "compute|odd_", "context_lines": 5, "max_results": 500 })),
        ("list_files", json!({})),
    ] {
        let (mut input, mut seen) = (input, Vec::new());
        loop {
            let page = client.call(tool, input);
            assert!(page["isError"] != true && size(&page) <= MOST, "{tool}: {} characters", size(&page));
            pages += 1;
            let Some(next) = page["structuredContent"].get("next").cloned() else { break };
            assert!(!seen.contains(&next), "{tool} goes round: {next}");
            input = next["input"].clone();
            seen.push(next);
        }
    }
    assert!(pages > 30, "{pages} pages");
    client.close();
}

#[test]
fn a_client_that_lets_more_or_less_through_gets_other_pages() {
    let repo = project();
    let program = Program::in_folder(repo.root());
    let pages = |name: &str, most: usize| {
        let mut client = Client::stdio(&program, "--no-model", Era::Stateless);
        let about = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": name, "version": "1" } });
        let mut number = 0;
        let mut ask = |method: &str, params: Value| {
            number += 1;
            let message = json!({ "jsonrpc": "2.0", "id": number, "method": method, "params": params });
            client.raw().send(message.to_string().as_bytes());
            client.answer(number)["result"].take()
        };
        ask("initialize", about);
        let mut count = 0;
        let call = |input| {
            count += 1;
            ask("tools/call", json!({ "name": "read_file_part", "arguments": input }))
        };
        assert_eq!(read_whole(call, most).len(), 640);
        client.close();
        count
    };
    let (larger, usual) = (pages("claude-code", MOST_FOR_CLAUDE), pages("another", MOST));
    // It passes on the text and the fields together.
    assert!(larger < usual && usual < pages("qwen-cli-mcp-client-review", MOST / 2));
}
