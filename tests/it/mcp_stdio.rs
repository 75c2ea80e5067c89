//! `review mcp` over standard input and output: both eras, every tool and resource, broken messages, reviews that run.

use std::time::Instant;

use serde_json::{Value, json};

use crate::support::mcp::{Client, Era, PATIENCE, STATELESS, WITH_HANDSHAKE, text};
use crate::support::model::Wire;
use crate::support::session::{Talk, shop};
use crate::support::{Program, TestRepo};

/// Every tool, by its own name and its older one.
const EVERYTHING: &str = "--tools all --allow-write --no-model";
const ERAS: [Era; 2] = [Era::Session("2025-11-25"), Era::Stateless];

/// A definition of the specification's schema of a version.
fn definition(version: &str, name: &str) -> jsonschema::Validator {
    let file = format!("{}/fixtures/mcp/schema/{version}.json", env!("CARGO_MANIFEST_DIR"));
    let mut schema: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    let key = if schema.get("$defs").is_some() { "$defs" } else { "definitions" };
    schema["$ref"] = format!("#/{key}/{name}").into();
    jsonschema::validator_for(&schema).unwrap()
}

#[track_caller]
fn is_a(version: &str, name: &str, value: &Value) {
    let faults: Vec<String> = definition(version, name)
        .iter_errors(value)
        .map(|fault| format!("{}: {fault}", fault.instance_path()))
        .collect();
    assert!(faults.is_empty(), "{version} {name}: {faults:?}\n{value:#}");
}

fn started(repo: &TestRepo, words: &str, era: Era) -> (Program, Client) {
    let program = Program::in_folder(repo.root());
    let client = Client::stdio(&program, words, era);
    (program, client)
}

#[test]
fn every_version_of_the_protocol_is_spoken_by_its_own_schema() {
    let repo = shop();
    for version in WITH_HANDSHAKE.into_iter().chain([STATELESS]) {
        let era = if version == STATELESS { Era::Stateless } else { Era::Session(version) };
        let (_program, mut client) = started(&repo, EVERYTHING, era);
        let mut asked = vec![
            ("tools/list", json!({}), "ListToolsResult"),
            ("tools/call", json!({ "name": "list_files", "arguments": {} }), "CallToolResult"),
            ("tools/call", json!({ "name": "read_file_part", "arguments": { "file_path": "no" } }), "CallToolResult"),
            ("resources/list", json!({}), "ListResourcesResult"),
            ("resources/templates/list", json!({}), "ListResourceTemplatesResult"),
            ("resources/read", json!({ "uri": "review://status" }), "ReadResourceResult"),
            ("prompts/list", json!({}), "ListPromptsResult"),
            ("prompts/get", json!({ "name": "review_change", "arguments": { "target": "main" } }), "GetPromptResult"),
        ];
        let named = json!({ "ref": { "type": "ref/prompt", "name": "review" }, "argument": { "name": "target", "value": "m" } });
        asked.push(("completion/complete", named, "CompleteResult"));
        if era == Era::Stateless {
            asked.push(("server/discover", json!({}), "DiscoverResult"));
        } else {
            asked.push(("ping", json!({}), "EmptyResult"));
        }
        for (method, params, name) in asked {
            let mut result = client.result(method, params);
            // One entry is the shape of a URI, which no URI is: clients that were written for it look for just these letters.
            if let Some(listed) = result.get_mut("resources").and_then(Value::as_array_mut) {
                listed.retain(|one| one["uri"] != "pr://{owner}/{repo}/{pr}");
            }
            is_a(version, name, &result);
        }
        client.close();
    }
    let spoiled = json!({ "tools": [{ "name": "x" }] });
    assert!(!definition(STATELESS, "ListToolsResult").is_valid(&spoiled), "a tool needs a schema");
}

#[test]
fn an_unknown_version_is_answered_with_a_known_one() {
    let repo = shop();
    let program = Program::in_folder(repo.root());
    let mut client = Client::stdio(&program, "--no-model", Era::Stateless);
    let about = r#"{"jsonrpc":"2.0","id":7,"method":"initialize","params":{"protocolVersion":"1999-01-01","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}"#;
    client.raw().send(about.as_bytes());
    assert_eq!(client.answer(7)["result"]["protocolVersion"], "2025-11-25");
    client.close();
}

#[test]
fn findings_only_reads_where_nothing_may_be_dismissed() {
    let repo = shop();
    for (flags, only_reads) in [("--no-model", true), (EVERYTHING, false)] {
        let (_program, mut client) = started(&repo, flags, Era::Stateless);
        let tools = client.result("tools/list", json!({}))["tools"].take();
        let findings = tools.as_array().unwrap().iter().find(|tool| tool["name"] == "findings").unwrap();
        assert_eq!(findings["annotations"]["readOnlyHint"], only_reads, "{flags}: {findings}");
        client.close();
    }
}

#[test]
fn every_tool_answers_what_its_schema_promises() {
    let repo = shop();
    for era in ERAS {
        let (_program, mut client) = started(&repo, EVERYTHING, era);
        let tools = client.result("tools/list", json!({}))["tools"].take();
        for tool in tools.as_array().unwrap() {
            let name = tool["name"].as_str().unwrap();
            // Those need a forge: `mcp_pulls` has one.
            if name.starts_with("pr_") {
                continue;
            }
            let input = match name {
                "present_review" | "present-review" => json!({ "content": "# Fine\n" }),
                "read_file_part" | "read_diff" => json!({ "file_path": "src/cart.py" }),
                "search_in_files" => json!({ "pattern": "discount" }),
                "list_files" | "findings" => json!({}),
                "review" => json!({ "target": "main" }),
                other => panic!("{other} has no test"),
            };
            let fields = client.tool(name, input);
            let schema = jsonschema::draft202012::new(&tool["outputSchema"]).unwrap();
            assert!(schema.is_valid(&fields), "{name}: {fields:#}");
            assert!(!schema.is_valid(&json!({ "nothing": 1 })), "{name} promises nothing");
            assert!(tool["annotations"]["readOnlyHint"].is_boolean(), "{tool}");
            // `findings` needs a review.
            if name == "list_files" {
                client.tool("review", json!({ "target": "main" }));
            }
        }
        client.close();
    }
}

#[test]
fn what_a_caller_can_act_on_is_an_answer_and_what_is_not_there_is_an_error() {
    let repo = shop();
    for era in ERAS {
        let (_program, mut client) = started(&repo, "--no-model", era);
        for (tool, input, words) in [
            ("read_file_part", json!({ "file_path": "src/crat.py" }), "src/cart.py"),
            ("read_file_part", json!({ "file_path": 7 }), "file_path"),
            ("read_file_part", json!({ "file_path": "../../etc/passwd" }), "leaves the reviewed tree"),
            ("read_file_part", json!({ "file_path": "README.md", "at": "--output=x" }), "--output=x"),
            ("list_files", json!({ "repo": "/" }), "--root"),
            ("review", json!({ "target": "no-such-branch" }), "no-such-branch"),
            ("present_review", json!({}), "Content parameter is required"),
            (
                "present_review",
                json!({ "content": "x", "mode": "merge" }),
                "Mode must be 'replace', 'update-section', or 'append'",
            ),
        ] {
            let result = client.call(tool, input.clone());
            assert!(result["isError"] == true && text(&result).contains(words), "{tool} {input}: {result}");
        }
        let uri = "review://00000000-0000-4000-8000-000000000000";
        for (method, params, code) in [
            ("tools/call", json!({ "name": "no_such_tool" }), -32602),
            ("tools/call", json!({ "name": 5 }), -32602),
            ("prompts/get", json!({ "name": "no_such_prompt" }), -32602),
            ("prompts/get", json!({ "name": "explain_finding" }), -32602),
            ("resources/read", json!({ "uri": uri }), if era == Era::Stateless { -32602 } else { -32002 }),
            ("no/such/method", json!({}), -32601),
        ] {
            assert_eq!(client.error(method, params.clone()).0, code, "{era:?} {method} {params}");
        }
        client.close();
    }
}

#[test]
fn broken_messages_do_not_keep_the_next_one_from_its_answer() {
    let repo = shop();
    let huge = [&b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\""[..], &vec![b'x'; 9 << 20][..], b"\"}"].concat();
    let deep = [vec![b'['; 200_000], vec![b']'; 200_000]].concat();
    let broken: [&[u8]; 12] = [
        b"{",
        b"",
        b"\xff\xfe",
        b"17",
        b"[]",
        b"{}",
        br#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#,
        br#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#,
        br#"{"jsonrpc":"2.0","id":90,"result":{}}"#,
        br#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":7}"#,
        &deep,
        &huge,
    ];
    for era in ERAS {
        let (_program, mut client) = started(&repo, "--no-model", era);
        for line in broken {
            client.raw().send(line);
            client.result("tools/list", json!({}));
        }
        assert!(client.heard.len() >= 6, "{:?}", client.heard);
        assert!(client.heard.iter().all(|one| one.get("error").is_some()), "{:?}", client.heard);
        client.close();
    }
}

/// Every text in a JSON value, names of fields included.
fn texts<'v>(value: &'v Value, found: &mut Vec<&'v str>) {
    match value {
        Value::String(text) => found.push(text),
        Value::Array(parts) => parts.iter().for_each(|part| texts(part, found)),
        Value::Object(fields) => fields.iter().for_each(|(name, field)| {
            found.push(name);
            texts(field, found);
        }),
        _ => {}
    }
}

#[test]
fn controls_of_the_repository_reach_no_client() {
    let repo = shop();
    repo.write("odd.py", "x = 1 # \u{1b}[31mred\u{7} \u{202e}back\u{9b}1m\n").commit("odd \u{1b}[31m");
    let (_program, mut client) = started(&repo, EVERYTHING, ERAS[0]);
    let asked = [
        client.call("read_file_part", json!({ "file_path": "odd.py" })),
        client.call("search_in_files", json!({ "pattern": "x = 1" })),
        client.call("read_diff", json!({ "file_path": "odd.py" })),
        client.call("present_review", json!({ "content": "# \u{1b}[31mred\n" })),
        client.result("prompts/get", json!({ "name": "review_change", "arguments": { "target": "main" } })),
    ];
    for result in &asked {
        is_harmless(result);
    }
    client.close();
}

#[track_caller]
fn is_harmless(answer: &Value) {
    let mut found = Vec::new();
    texts(answer, &mut found);
    let bad = |c: char| (c.is_control() && !"\n\t".contains(c)) || ('\u{202a}'..='\u{202e}').contains(&c);
    assert!(!found.iter().any(|text| text.contains(bad)), "{answer}");
}

#[test]
fn controls_that_a_client_was_led_to_say_do_not_come_back() {
    let odd = "x\u{1b}[31m\u{202e}\u{9b}y\u{7}";
    let repo = shop();
    for era in ERAS {
        let (_program, mut client) = started(&repo, EVERYTHING, era);
        let reference = |fields: Value| json!({ "ref": fields, "argument": { "name": odd, "value": odd } });
        let mut asked = vec![
            (odd, json!({})),
            ("tools/call", json!({ "name": odd })),
            ("tools/call", json!({ "name": { odd: odd } })),
            ("prompts/get", json!({ "name": odd })),
            ("prompts/get", json!({ "name": "review_change", "arguments": { "target": odd } })),
            ("prompts/get", json!({ "name": "review_change", "arguments": { odd: [odd] } })),
            ("prompts/get", json!({ "name": "explain_finding", "arguments": { "finding": odd, "id": odd } })),
            ("resources/list", json!({ "cursor": odd })),
            ("completion/complete", reference(json!({ "type": "ref/prompt", "name": "review" }))),
            ("completion/complete", reference(json!({ "type": odd, "name": odd }))),
        ];
        let uris = ["", "review://", "review://presented/", "review://status?", "review://latest?x="];
        asked.extend(uris.map(|uri| ("resources/read", json!({ "uri": format!("{uri}{odd}") }))));
        if era != Era::Stateless {
            asked.push(("resources/subscribe", json!({ "uri": format!("review://{odd}") })));
            asked.push(("resources/subscribe", json!({ "uri": odd })));
        }
        for (method, params) in asked {
            is_harmless(&client.ask(method, params));
        }
        for (tool, input) in [
            ("read_file_part", json!({ "file_path": odd, "at": odd, "repo": odd })),
            ("read_file_part", json!({ odd: odd })),
            ("search_in_files", json!({ "pattern": odd, "file_pattern": odd })),
            ("list_files", json!({ "directory": odd, "pattern": odd })),
            ("read_diff", json!({ "file_path": odd, "repo": format!("file:///{odd}") })),
            ("review", json!({ "target": odd, "at": odd })),
            ("review", json!({ "id": odd, odd: 1 })),
            ("findings", json!({ "id": odd, "finding": odd, "severity": odd, "path": odd, "dismiss": odd })),
            ("present_review", json!({ "content": odd, "mode": "update-section", "section": odd, odd: odd })),
            ("present_review", json!({ "content": format!("[{odd}]({odd}.rs) {odd}.rs:1"), "reviewId": "new" })),
            ("present_review", json!({ "content": odd, "baseUri": odd })),
            ("present_review", json!({ "content": odd, "reviewId": odd })),
            ("present-review", json!({ "content": "x", "baseUri": format!("https://{odd}") })),
        ] {
            is_harmless(&client.call(tool, input));
        }
        is_harmless(&client.result("resources/list", json!({})));
        client.close();
    }
}

#[test]
fn a_review_is_told_of_and_read_as_resources() {
    let repo = shop();
    repo.write("src/late.py", "def add(item, items=[]):\n    return items\n").commit("Add a default");
    for era in ERAS {
        let (_program, mut client) = started(&repo, "--no-model", era);
        let params = json!({ "name": "review", "arguments": { "target": "main" }, "_meta": { "progressToken": "p" } });
        let result = client.result("tools/call", params);
        let review = &result["structuredContent"];
        assert_eq!(review["state"], "complete", "{result}");
        let told: Vec<f64> = client
            .heard
            .iter()
            .filter(|one| one["method"] == "notifications/progress" && one["params"]["progressToken"] == "p")
            .map(|one| one["params"]["progress"].as_f64().unwrap())
            .collect();
        assert!(!told.is_empty() && told.is_sorted_by(|one, next| one < next), "{told:?}");
        let uri = review["uri"].as_str().unwrap();
        let whole: Value = serde_json::from_str(&client.read(uri)).unwrap();
        assert_eq!((&whole["schema"], &whole["outcome"]), (&json!("review/1"), &json!("complete")));
        let finding = whole["findings"][0]["id"].as_str().unwrap();
        let one: Value = serde_json::from_str(&client.read(&format!("{uri}/findings/{finding}"))).unwrap();
        assert_eq!(one["id"], finding);
        assert!(client.read(&format!("{uri}/markdown")).contains(whole["findings"][0]["title"].as_str().unwrap()));
        assert_eq!(client.read("review://latest"), client.read(uri));
        let listed = client.result("resources/list", json!({}))["resources"].take();
        // One entry is the shape of a URI, because clients look for it there.
        for uri in
            listed.as_array().unwrap().iter().filter_map(|one| one["uri"].as_str().filter(|uri| !uri.contains('{')))
        {
            client.read(uri);
        }
        assert!(listed.to_string().contains(uri), "{listed}");
        let about = json!({ "ref": { "type": "ref/resource", "uri": "review://{id}" }, "argument": { "name": "id", "value": &uri[9..12] } });
        let values = client.result("completion/complete", about)["completion"]["values"].take();
        assert_eq!(values, json!([uri.strip_prefix("review://").unwrap()]));
        client.close();
    }
}

#[test]
fn who_watches_a_document_is_told_of_each_change_to_it() {
    let repo = shop();
    for era in ERAS {
        let (_program, mut client) = started(&repo, "--no-model", era);
        let uri = client.tool("present_review", json!({ "content": "# One\n" }))["uri"].take();
        let listening = match era {
            Era::Stateless => Some(
                client.begin("subscriptions/listen", json!({ "notifications": { "resourceSubscriptions": [uri] } })),
            ),
            Era::Session(_) => {
                client.result("resources/subscribe", json!({ "uri": uri }));
                None
            }
        };
        if listening.is_some() {
            let first = client.hears(|_| true);
            assert_eq!(first["method"], "notifications/subscriptions/acknowledged", "{first}");
        }
        client.tool("present_review", json!({ "content": "Two\n", "mode": "append" }));
        let told = client.hears(|one| one["method"] == "notifications/resources/updated");
        assert_eq!(told["params"]["uri"], uri);
        if let Some(id) = listening {
            assert_eq!(told["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"].to_string(), id.to_string());
        }
        client.close();
    }
}

/// A server whose reviews are done by a model that never answers its second request; the review has one finding by then.
fn hanging(repo: &TestRepo, name: &str, era: Era) -> (Talk, Client) {
    let talk = Talk::named(repo, "found_then_hang", name, Wire::Chat);
    let client = Client::stdio(&talk.program, &format!("--model {}/scripted", Wire::Chat.provider()), era);
    (talk, client)
}

/// The one kept review, once it is there.
fn kept(program: &Program) -> Value {
    let until = Instant::now() + PATIENCE;
    loop {
        let file = program.kept().first().map(|folder| folder.join("review.json"));
        if let Some(text) = file.and_then(|file| std::fs::read_to_string(file).ok()) {
            return serde_json::from_str(&text).unwrap();
        }
        assert!(Instant::now() < until, "no review is kept");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

#[test]
fn a_call_that_is_cancelled_leaves_its_review_running_until_it_is_stopped() {
    let repo = shop();
    for (name, era) in [("mcp_cancel_session", ERAS[0]), ("mcp_cancel_stateless", ERAS[1])] {
        let (talk, mut client) = hanging(&repo, name, era);
        let call = json!({ "name": "review", "arguments": { "target": "main", "wait_seconds": 600 } });
        let request = client.begin("tools/call", call);
        talk.server.wait_for(2);
        client
            .say(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": request } }));
        // The same change joins the review that goes on.
        let running = client.tool("review", json!({ "target": "main", "wait_seconds": 0 }));
        assert_eq!((&running["state"], &running["total"]), (&json!("running"), &json!(1)), "{running}");
        let listed = text(&client.call("findings", json!({}))).clone();
        assert!(
            listed.contains(&format!("the review {} is still running", running["id"].as_str().unwrap())),
            "{listed}"
        );
        client.tool("review", json!({ "id": running["id"], "cancel": true, "wait_seconds": 45 }));
        let review = kept(&talk.program);
        assert_eq!((&review["outcome"], &review["ended"]), (&json!("incomplete"), &json!("interrupted")), "{review}");
        assert_eq!((review["findings"].as_array().unwrap().len(), &review["id"]), (1, &running["id"]));
        assert!(
            !client.heard.iter().any(|one| one["id"] == request),
            "a cancelled request was answered: {:?}",
            client.heard
        );
        client.close();
    }
}

#[test]
fn a_review_that_runs_when_the_client_goes_is_kept_as_interrupted() {
    let repo = shop();
    let (talk, mut client) = hanging(&repo, "mcp_client_goes", ERAS[0]);
    let started = client.tool("review", json!({ "target": "main", "wait_seconds": 0 }));
    assert_eq!(started["state"], "running", "{started}");
    talk.server.wait_for(2);
    let running: Value = serde_json::from_str(&client.read(started["uri"].as_str().unwrap())).unwrap();
    assert_eq!((&running["state"], &running["total"]), (&json!("running"), &json!(1)), "{running}");
    client.close();
    let review = kept(&talk.program);
    assert_eq!(review["ended"], "interrupted");
    assert_eq!(review["id"], started["id"]);
}

#[test]
fn who_says_twice_or_never_that_it_is_ready_is_told_once_of_each_change() {
    let repo = shop();
    for times in [0, 1, 3] {
        let program = Program::in_folder(repo.root());
        // The handshake by hand: the client of the tests says once that it is ready.
        let mut client = Client::stdio(&program, "--no-model", Era::Stateless);
        let about = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "x", "version": "1" } });
        let plain = |id: u64, method: &str, params: Value| {
            json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string()
        };
        client.raw().send(plain(900, "initialize", about).as_bytes());
        client.answer(900);
        for _ in 0..times {
            client.say(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        }
        let present = json!({ "name": "present_review", "arguments": { "content": "# Fine" } });
        client.raw().send(plain(901, "tools/call", present.clone()).as_bytes());
        let uri = client.answer(901)["result"]["structuredContent"]["uri"].take();
        client.raw().send(plain(902, "resources/subscribe", json!({ "uri": uri })).as_bytes());
        client.answer(902);
        client.heard.clear();
        client.raw().send(plain(903, "tools/call", present).as_bytes());
        client.answer(903);
        client.hears(|message| message["method"] == "notifications/resources/updated");
        // Another answer comes behind whatever else is said of the change.
        client.raw().send(plain(904, "tools/list", json!({})).as_bytes());
        client.answer(904);
        let told = client.heard.iter().filter(|one| one["method"] == "notifications/resources/updated").count();
        assert_eq!(told, 1, "{times}: {:?}", client.heard);
        client.close();
    }
}
