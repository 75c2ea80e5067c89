//! The client against peers that are functions: no socket, and no clock.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream};

use super::client::REPLY;
use super::test_mode::{SimulatedEditor, SimulatedOutcome};
use super::{EditorClient, EditorDialer, EditorError, EditorTimer, ReferenceForm};
use crate::domain::editor::EditorGeneration;
use crate::sys::local_socket::{LocalStream, SocketFault};

/// A peer that is a function of its end of the connection; it refuses the first `refused` attempts.
struct ScriptedDialer<F> {
    name: &'static str,
    refused: Mutex<u32>,
    peer: Arc<F>,
}

impl<F> ScriptedDialer<F> {
    fn new(peer: F) -> Self {
        Self { name: "/tmp/dialectic-1.sock", refused: Mutex::new(0), peer: Arc::new(peer) }
    }
}

impl<F: Fn(DuplexStream) -> BoxFuture<'static, ()> + Send + Sync + 'static> EditorDialer for ScriptedDialer<F> {
    fn dial(&self) -> BoxFuture<'static, Result<LocalStream, SocketFault>> {
        let mut refused = self.refused.lock().unwrap();
        if *refused > 0 {
            *refused -= 1;
            return Box::pin(async { Err(SocketFault::Stale) });
        }
        let (here, there) = tokio::io::duplex(16);
        tokio::spawn((self.peer)(there));
        Box::pin(async move {
            let stream: LocalStream = Box::new(here);
            Ok(stream)
        })
    }

    fn address(&self) -> String {
        self.name.to_owned()
    }
}

/// A timer that records all waits; those shorter than a reply's limit end at once, the others when `is_late` says so.
fn timer(is_late: bool) -> (EditorTimer, Arc<Mutex<Vec<Duration>>>) {
    let waits: Arc<Mutex<Vec<Duration>>> = Arc::default();
    let recorded = Arc::clone(&waits);
    let timer = EditorTimer::new(move |length| {
        recorded.lock().unwrap().push(length);
        let ends = length < REPLY || (is_late && length == REPLY);
        Box::pin(async move {
            if ends {
                // Whatever can happen without waiting happens first.
                for _ in 0..200 {
                    tokio::task::yield_now().await;
                }
            } else {
                std::future::pending::<()>().await;
            }
        })
    });
    (timer, waits)
}

fn client<F>(dialer: ScriptedDialer<F>, is_late: bool) -> (EditorClient, Arc<Mutex<Vec<Duration>>>)
where
    F: Fn(DuplexStream) -> BoxFuture<'static, ()> + Send + Sync + 'static,
{
    let (timer, waits) = timer(is_late);
    (EditorClient::new(dialer, timer, 42), waits)
}

/// Reads the next line of a client.
async fn line(stream: &mut DuplexStream) -> Option<Value> {
    let mut bytes = Vec::new();
    loop {
        match stream.read_u8().await {
            Ok(b'\n') => return Some(serde_json::from_slice(&bytes).unwrap()),
            Ok(byte) => bytes.push(byte),
            Err(_) => return None,
        }
    }
}

async fn confirm(stream: &mut DuplexStream, message: &Value, end: &str) {
    let reply = json!({ "id": message["id"], "success": true });
    stream.write_all(format!("{reply}{end}").as_bytes()).await.unwrap();
}

#[tokio::test]
async fn the_test_mode_is_the_same_client_without_a_socket() {
    for (outcome, expected) in [
        (SimulatedOutcome::Success, None),
        (SimulatedOutcome::Failure("no\u{1b}[31m\npanel".to_owned()), Some("Failed to display review: no")),
        (
            SimulatedOutcome::Silence,
            Some("Failed to communicate with VSCode extension: Request timeout after 5 seconds; see"),
        ),
    ] {
        let editor = SimulatedEditor::new(outcome.clone());
        let (timer, _) = timer(outcome == SimulatedOutcome::Silence);
        let shown = EditorClient::new(editor.clone(), timer, 7).present("/srv", |_| "# A".to_owned()).await;
        let error = shown.err().map(|error| error.to_string());
        match (&error, expected) {
            (None, None) => {}
            (Some(error), Some(start)) => {
                assert!(error.starts_with(start) && !error.contains('\u{1b}'), "{error}");
            }
            _ => panic!("{outcome:?}: {error:?}"),
        }
        let mut received = editor.received();
        assert_eq!(received.len(), 1);
        assert!(uuid::Uuid::try_parse(received[0]["id"].take().as_str().unwrap()).is_ok());
        let payload = json!({
            "content": "# A", "mode": "replace", "section": null, "baseUri": "/srv", "terminal_shell_pid": 7
        });
        assert_eq!(received[0], json!({ "shellPid": 7, "type": "present_review", "payload": payload, "id": null }));
    }
}

#[tokio::test]
async fn an_attempt_to_connect_is_repeated_with_growing_waits() {
    for (refused, waits) in [(4, vec![100, 200, 400, 800]), (5, vec![100, 200, 400, 800]), (0, vec![])] {
        let dialer = ScriptedDialer::new(|mut stream: DuplexStream| {
            Box::pin(async move {
                while let Some(message) = line(&mut stream).await {
                    confirm(&mut stream, &message, "\n").await;
                }
            }) as BoxFuture<'static, ()>
        });
        *dialer.refused.lock().unwrap() = refused;
        let (client, recorded) = client(dialer, false);
        let shown = client.present("/", |_| "a".to_owned()).await;
        assert_eq!(shown.is_ok(), refused < 5, "{shown:?}");
        if let Err(error) = shown {
            let start = "Failed to communicate with VSCode extension: Failed to connect to socket/pipe at /tmp/dialectic-1.sock: ";
            assert!(error.to_string().starts_with(start), "{error}");
        }
        let short: Vec<u128> =
            recorded.lock().unwrap().iter().filter(|wait| **wait < REPLY).map(Duration::as_millis).collect();
        assert_eq!(short, waits);
    }
}

#[tokio::test]
async fn a_connection_that_is_gone_fails_what_waits_and_is_opened_again() {
    let dialer = ScriptedDialer::new(|mut stream: DuplexStream| {
        Box::pin(async move {
            let message = line(&mut stream).await.unwrap();
            if message["payload"]["content"] == "die" {
                stream.write_all(b"{\"id\":\"").await.unwrap();
                return;
            }
            confirm(&mut stream, &message, "\n").await;
            // Gone after one review.
        }) as BoxFuture<'static, ()>
    });
    let (client, _) = client(dialer, false);
    for content in ["a", "b", "die", "c", "die", "d"] {
        let shown = client.present("/", |_| content.to_owned()).await;
        match content {
            "die" => assert!(matches!(shown, Err(EditorError::Closed)), "{shown:?}"),
            _ => assert!(shown.is_ok(), "{content}: {shown:?}"),
        }
    }
}

#[tokio::test]
async fn a_reply_that_never_ends_does_not_swallow_the_next() {
    let count = Arc::new(Mutex::new(0));
    let dialer = ScriptedDialer::new(move |mut stream: DuplexStream| {
        let count = Arc::clone(&count);
        Box::pin(async move {
            while let Some(message) = line(&mut stream).await {
                let first = std::mem::replace(&mut *count.lock().unwrap(), 1) == 0;
                if first {
                    stream.write_all(b"{\"id\":[").await.unwrap();
                } else {
                    confirm(&mut stream, &message, "\n").await;
                }
            }
        }) as BoxFuture<'static, ()>
    });
    let (client, _) = client(dialer, true);
    assert!(matches!(client.present("/", |_| "a".to_owned()).await, Err(EditorError::Timeout { seconds: 5, .. })));
    client.present("/", |_| "b".to_owned()).await.unwrap();
}

#[tokio::test]
async fn a_bus_is_greeted_and_its_other_messages_are_ignored() {
    let seen: Arc<Mutex<Vec<Value>>> = Arc::default();
    let recorded = Arc::clone(&seen);
    let mut dialer = ScriptedDialer::new(move |mut stream: DuplexStream| {
        let seen = Arc::clone(&recorded);
        Box::pin(async move {
            while let Some(message) = line(&mut stream).await {
                let kind = message["type"].as_str().unwrap().to_owned();
                seen.lock().unwrap().push(json!([kind, message["shellPid"], message["payload"]["terminal_shell_pid"]]));
                // All lines come back to all, and others talk as well.
                stream.write_all(format!("{message}\n").as_bytes()).await.unwrap();
                if kind == "present_review" {
                    let noise = json!({ "type": "response", "payload": { "success": false, "error": "not yours" },
                        "id": uuid::Uuid::new_v4() });
                    let reply = json!({ "type": "response", "payload": { "success": true }, "id": message["id"], "shellPid": 0 });
                    stream.write_all(format!("oops\n{{}}\n{noise}\n{reply}\n").as_bytes()).await.unwrap();
                    stream.write_all(b"{\"type\":\"marco\",\"payload\":{},\"id\":\"x\"}\n").await.unwrap();
                }
            }
        }) as BoxFuture<'static, ()>
    });
    dialer.name = "/tmp/dialectic-daemon-9.sock";
    let (client, _) = client(dialer, false);
    client.present("/", |form| format!("{form:?}")).await.unwrap();
    assert_eq!(client.generation(), EditorGeneration::E);
    let kinds = || seen.lock().unwrap().iter().map(|one| one[0].as_str().unwrap().to_owned()).collect::<Vec<_>>();
    while kinds().len() < 3 {
        tokio::task::yield_now().await;
    }
    client.log("shown").await.unwrap();
    client.close().await;
    while kinds().len() < 5 {
        tokio::task::yield_now().await;
    }
    assert_eq!(kinds(), ["polo", "present_review", "polo", "log", "goodbye"]);
    assert!(seen.lock().unwrap().iter().all(|one| one[1] == 42 && one[2] == 42));
}

#[tokio::test]
async fn references_are_written_again_when_the_extension_turns_out_to_be_old() {
    for (end, hyphen, forms, generation) in [
        ("", false, &["present_review Fragment", "present_review Rustdoc"][..], EditorGeneration::B),
        ("\n", false, &["present_review Fragment"], EditorGeneration::CorD),
        ("", true, &["present_review Fragment", "present-review Rustdoc"], EditorGeneration::A),
    ] {
        let seen: Arc<Mutex<Vec<String>>> = Arc::default();
        let recorded = Arc::clone(&seen);
        let dialer = ScriptedDialer::new(move |mut stream: DuplexStream| {
            let seen = Arc::clone(&recorded);
            Box::pin(async move {
                while let Some(message) = line(&mut stream).await {
                    let kind = message["type"].as_str().unwrap();
                    let content = message["payload"]["content"].as_str().unwrap();
                    seen.lock().unwrap().push(format!("{kind} {content}"));
                    if hyphen && kind == "present_review" {
                        let error = format!("Unknown message type: {kind}");
                        let reply = json!({ "id": message["id"], "success": false, "error": error });
                        stream.write_all(reply.to_string().as_bytes()).await.unwrap();
                    } else {
                        confirm(&mut stream, &message, end).await;
                    }
                }
            }) as BoxFuture<'static, ()>
        });
        let (client, _) = client(dialer, false);
        client.present("/", |form: ReferenceForm| format!("{form:?}")).await.unwrap();
        assert_eq!(
            (seen.lock().unwrap().as_slice(), client.generation()),
            (&forms.iter().map(ToString::to_string).collect::<Vec<_>>()[..], generation)
        );
    }
}

#[tokio::test]
async fn a_long_review_is_noted_where_the_extension_may_cut_it() {
    for (end, noted) in [("", true), ("\n", false)] {
        let dialer = ScriptedDialer::new(move |mut stream: DuplexStream| {
            Box::pin(async move {
                while let Some(message) = line(&mut stream).await {
                    confirm(&mut stream, &message, end).await;
                }
            }) as BoxFuture<'static, ()>
        });
        let (client, _) = client(dialer, false);
        let shown = client.present("/", |_| "x".repeat(70_000)).await.unwrap();
        assert_eq!(shown.note.is_some_and(|note| note.contains("70000 bytes")), noted);
    }
}
