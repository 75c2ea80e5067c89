//! `review mcp --http`: sessions, requests that stand alone, and who may come in.

use serde_json::{Value, json};

use crate::support::mcp::{Client, Era, Http};
use crate::support::session::shop;
use crate::support::{Program, TestRepo};

const JSON: [(&str, &str); 2] =
    [("Content-Type", "application/json"), ("Accept", "application/json, text/event-stream")];

fn listening(repo: &TestRepo, words: &str) -> (Program, Http) {
    let program = Program::in_folder(repo.root());
    let server = Http::start(&program, &format!("--no-model {words}"));
    (program, server)
}

fn hello() -> Value {
    let about =
        json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "x", "version": "1" } });
    json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": about })
}

/// The status of a handshake with these headers beside the usual ones.
fn status(server: &Http, more: &[(&str, &str)]) -> u16 {
    let mut headers = JSON.to_vec();
    headers.retain(|(name, _)| !more.iter().any(|(other, _)| other.eq_ignore_ascii_case(name)));
    headers.extend(more.iter().filter(|(_, value)| !value.is_empty()));
    server.send("POST", hello().to_string().as_bytes(), &headers).status
}

#[test]
fn both_eras_are_served_at_once_and_each_session_has_a_document_of_its_own() {
    let repo = shop();
    let (_program, server) = listening(&repo, "");
    let mut clients = [
        Client::http(&server, Era::Session("2025-06-18")),
        Client::http(&server, Era::Session("2025-11-25")),
        Client::http(&server, Era::Stateless),
    ];
    let mut uris = Vec::new();
    for (number, client) in clients.iter_mut().enumerate() {
        let uri = client.tool("present_review", json!({ "content": format!("# Client {number}\n") }))["uri"].take();
        uris.push(uri.as_str().unwrap().to_owned());
    }
    for (number, client) in clients.iter_mut().enumerate() {
        let again = client.tool("present_review", json!({ "content": "More.", "mode": "append" }));
        assert_eq!(again["uri"], uris[number]);
        assert_eq!(client.read(&uris[number]).trim_end(), format!("# Client {number}\n\nMore."));
    }
    uris.sort();
    uris.dedup();
    assert_eq!(uris.len(), 3, "{uris:?}");
    clients.into_iter().for_each(Client::close);
}

#[test]
fn a_session_that_was_ended_is_gone() {
    let repo = shop();
    let (_program, server) = listening(&repo, "");
    let answer = server.send("POST", hello().to_string().as_bytes(), &JSON);
    let session = answer.header("mcp-session-id").unwrap().to_owned();
    let headers = [("Mcp-Session-Id", session.as_str())];
    assert_eq!(server.send("DELETE", b"", &headers).status, 204);
    let list = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list" });
    assert_eq!(server.post(&list, &[("Mcp-Session-Id", session)]).status, 404);
    assert_eq!(server.post(&list, &[("Mcp-Session-Id", "none".to_owned())]).status, 404);
}

#[test]
fn pages_of_others_and_names_of_others_are_refused() {
    let repo = shop();
    let (_program, server) = listening(&repo, "--host build.example");
    let port = server.address.rsplit(':').next().unwrap();
    for host in ["localhost", "127.0.0.1", "[::1]", "build.example"] {
        assert_eq!(status(&server, &[("Host", &format!("{host}:{port}"))]), 200, "{host}");
    }
    for host in ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example", "build.example.evil.example"] {
        assert_eq!(status(&server, &[("Host", &format!("{host}:{port}"))]), 403, "{host}");
    }
    for origin in
        ["http://evil.example", "null", "http://localhost.evil.example", "http://evil.example@127.0.0.1.example"]
    {
        assert_eq!(status(&server, &[("Origin", origin)]), 403, "{origin}");
    }
    assert_eq!(status(&server, &[("Origin", &format!("http://localhost:{port}"))]), 200);
}

#[test]
fn whoever_does_not_show_the_token_is_told_to() {
    let repo = shop();
    let program = Program::in_folder(repo.root()).with("REVIEW_MCP_TOKEN", "a-token-of-no-worth");
    let server = Http::start(&program, "--no-model");
    for given in ["", "Bearer", "Bearer another-token-of-no-worth", "Basic YS10b2tlbg==", "a-token-of-no-worth"] {
        assert_eq!(status(&server, &[("Authorization", given)]), 401, "{given:?}");
    }
    let refused = server.send("POST", b"{}", &JSON);
    assert!(refused.header("www-authenticate").is_some_and(|how| how.starts_with("Bearer")), "{refused:?}");
    assert_eq!(status(&server, &[("Authorization", "Bearer a-token-of-no-worth")]), 200);
    let ran = program.words("mcp --http 127.0.0.1:0 --token-file no-such-file").ended(2);
    assert!(ran.stderr.contains("no-such-file"), "{}", ran.stderr);
}

#[test]
fn an_address_that_others_can_reach_needs_a_token() {
    let repo = shop();
    let program = Program::in_folder(repo.root());
    for address in ["0.0.0.0:0", "[::]:0"] {
        let ran = program.words(&format!("mcp --http {address}")).ended(2);
        assert!(ran.text().is_empty() && ran.stderr.contains("REVIEW_MCP_TOKEN"), "{}", ran.stderr);
    }
}

#[test]
fn what_is_too_large_or_no_message_is_refused_and_the_next_one_is_served() {
    let repo = shop();
    let (_program, server) = listening(&repo, "");
    let huge = vec![b'x'; 9 << 20];
    let deep = [vec![b'['; 200_000], vec![b']'; 200_000]].concat();
    for (body, status) in [(&huge[..], 413), (b"{", 400), (b"", 400), (b"\xff", 400), (&deep, 400), (b"[]", 400)] {
        let answer = server.send("POST", body, &JSON);
        assert!(answer.status == status && answer.body.len() < 4000, "{} bytes: {answer:?}", body.len());
        let told = serde_json::from_slice::<Value>(answer.body.as_ref());
        assert!(status == 413 || told.is_ok_and(|told| told["error"]["code"] == -32700), "{answer:?}");
        assert_eq!(self::status(&server, &[]), 200);
    }
    assert_eq!(status(&server, &[("Content-Type", "text/plain")]), 415);
    assert_eq!(status(&server, &[("Accept", "text/html")]), 406);
    assert_eq!(server.send("PUT", b"", &[]).status, 405);
}

#[cfg(unix)]
#[test]
fn a_server_that_is_told_to_ends_also_while_clients_are_connected() {
    let repo = shop();
    let (_program, server) = listening(&repo, "");
    let mut client = Client::http(&server, Era::Session("2025-11-25"));
    client.result("tools/list", json!({}));
    let idle = std::net::TcpStream::connect(&server.address).unwrap();
    assert_eq!(server.terminate(), Some(0));
    drop(idle);
}

#[test]
fn a_request_that_stands_alone_takes_nobodys_document_by_naming_a_session() {
    let repo = shop();
    let (_program, server) = listening(&repo, "");
    let answer = server.send("POST", hello().to_string().as_bytes(), &JSON);
    let session = answer.header("mcp-session-id").unwrap().to_owned();
    let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    assert_eq!(server.post(&ready, &[("Mcp-Session-Id", session.clone())]).status, 202);
    let present = |content: &str, mode: &str| {
        let arguments = json!({ "content": content, "mode": mode });
        json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": { "name": "present_review", "arguments": arguments } })
    };
    let uri = |answer: &crate::support::mcp::Answer| {
        let messages = answer.messages();
        let fields = &messages.iter().find(|one| one["id"] == 2).unwrap()["result"]["structuredContent"];
        fields["uri"].as_str().unwrap_or_else(|| panic!("{messages:?}")).to_owned()
    };
    let theirs = uri(&server.post(&present("# Mine", "replace"), &[("Mcp-Session-Id", session.clone())]));
    let mut forged = present("And mine.", "append");
    forged["params"]["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "x", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let headers = [
        ("Mcp-Session-Id", session),
        ("MCP-Protocol-Version", "2026-07-28".to_owned()),
        ("Mcp-Method", "tools/call".to_owned()),
        ("Mcp-Name", "present_review".to_owned()),
    ];
    assert_ne!(uri(&server.post(&forged, &headers)), theirs);
    assert_eq!(Client::http(&server, Era::Stateless).read(&theirs).trim_end(), "# Mine");
}

#[test]
fn a_request_has_one_host_and_one_path() {
    let repo = shop();
    let (_program, server) = listening(&repo, "");
    let own = server.address.clone();
    let at = |target: &str| server.send_to(target, "POST", hello().to_string().as_bytes(), &JSON).status;
    // The name in the target is the one that counts, not the one beside it (RFC 9112, §3.2.2).
    assert_eq!(at("http://evil.example/mcp"), 403);
    assert_eq!(at(&format!("http://{own}/mcp")), 200);
    assert_eq!(at("/mcp/x"), 404);
    assert_eq!(at("/"), 404);
    let both = [JSON[0], JSON[1], ("Host", own.as_str()), ("Host", "evil.example")];
    assert_eq!(server.send("POST", hello().to_string().as_bytes(), &both).status, 400);
}

#[test]
fn sessions_without_end_are_refused_before_they_fill_the_memory() {
    let repo = shop();
    let (_program, server) = listening(&repo, "");
    let mut first = Client::http(&server, Era::Session("2025-11-25"));
    let full = (0..2000).find(|_| status(&server, &[]) == 503);
    assert!(full.is_some(), "2000 sessions are held");
    // Those that there are, and those who need none, go on.
    first.result("tools/list", json!({}));
    Client::http(&server, Era::Stateless).result("tools/list", json!({}));
    first.close();
    assert_eq!(status(&server, &[]), 200);
}
