//! Everything that a server and the way to it can do to an answer, and one check for all of it: how the program ends, what it says of it, and
//! that nothing proven is lost.
#![expect(
    clippy::needless_pass_by_value,
    reason = "`json!` makes values, and the table reads better without borrowing each"
)]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;

use serde_json::{Value, json};

use crate::support::model::{Session, Wire};
use crate::support::session::{Talk, Told, shop};
use crate::support::{Ran, TestRepo};

use Expected::{Final, Harmless, Lasting, Passing};

/// What becomes of a run whose second turn a fault meets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Expected {
    /// It is no fault: the answer is whole.
    Harmless,
    /// It comes once; the turn is asked for again.
    Passing,
    /// Asking again is of no use, and nobody does.
    Final,
    /// It comes again and again, until the time is over or it was tried often enough.
    Lasting,
}

/// A fault, by its place in `say`, what is expected of it, and what is said about it.
struct Injected {
    name: &'static str,
    say: Value,
    expected: Expected,
    because: &'static str,
    wires: Vec<Wire>,
}

const TITLE: &str = "A discount is ten times too large";

/// The time that a run has at most, in milliseconds; that of a lasting fault is used up.
const TIME: u64 = 300_000;
const LITTLE_TIME: u64 = 2_500;

/// The same, where a busy machine did not come to the fault in that time.
const MORE_TIME: u64 = 30_000;

/// How much later than that a run may end on a machine that has much else to do.
const GRACE: u64 = 10_000;

fn fault(name: &'static str, fault: Value, expected: Expected, because: &'static str) -> Injected {
    Injected { name, say: json!({ "fault": fault }), expected, because, wires: Wire::ALL.to_vec() }
}

fn status(name: &'static str, code: u16, more: Value, expected: Expected, because: &'static str) -> Injected {
    let mut bad = json!({ "code": code });
    bad.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
    fault(name, json!({ "status": bad }), expected, because)
}

fn raw(name: &'static str, text: &str, because: &'static str) -> Injected {
    fault(name, json!({ "raw": text }), Passing, because)
}

fn oddity(name: &'static str, odd: Value) -> Injected {
    Injected { name, say: json!({ "odd": odd }), expected: Harmless, because: "", wires: Wire::ALL.to_vec() }
}

impl Injected {
    fn on(self, wires: &[Wire]) -> Self {
        Self { wires: wires.to_vec(), ..self }
    }
}

/// Error statuses, from the provider and from whatever stands in between.
fn statuses() -> Vec<Injected> {
    let page = json!({ "headers": { "content-type": "text/html" }, "body": "<html>Bad gateway</html>" });
    let elsewhere = json!({ "headers": { "location": "http://127.0.0.1:1/v1" }, "body": "" });
    vec![
        status("a request that took too long", 408, json!({}), Passing, "408"),
        status("a conflict", 409, json!({}), Passing, "409"),
        status("too many requests", 429, json!({ "retry_after": "0" }), Passing, "429"),
        status("a failure without a word", 500, json!({ "body": "" }), Passing, "no reason"),
        status("a page of a proxy", 502, page, Passing, "a page for people"),
        status(
            "a wait until a day long ago",
            503,
            json!({ "retry_after": "Sun, 06 Nov 1994 08:49:37 GMT" }),
            Passing,
            "503",
        ),
        status("an overloaded server", 529, json!({ "retry_after": "0" }), Passing, "529"),
        status("a server that stays busy", 503, json!({ "retry_after": "1" }), Lasting, "503"),
        status("a wait of a day", 429, json!({ "retry_after": "86400" }), Final, "429"),
        status("no money left", 429, json!({ "message": "check your plan and billing details" }), Final, "billing"),
        status("a key that is not known", 401, json!({}), Final, "is the key right"),
        status("a model that may not be used", 403, json!({}), Final, "403"),
        status("a model that is not there", 404, json!({}), Final, "the model's name"),
        status(
            "a request that is too large",
            413,
            json!({ "message": "request exceeds the limit" }),
            Final,
            "no longer fits the model's window",
        ),
        status(
            "a request that is not understood",
            422,
            json!({ "body": "{\"detail\": [{\"msg\": \"odd\"}]}" }),
            Final,
            "odd",
        ),
        status(
            "too long a conversation",
            400,
            json!({ "message": "prompt is too long: 250000 tokens > 200000 maximum" }),
            Final,
            "no longer fits the model's window",
        ),
        status("a redirect to another server", 307, elsewhere.clone(), Final, "redirects to http://127.0.0.1:1"),
        status("a redirect that changes the method", 301, elsewhere, Final, "redirects to"),
        status("a huge body of an error", 400, json!({ "body": "x".repeat(3_000_000) }), Final, "xxx"),
        status("no content", 204, json!({ "body": "" }), Passing, "no stream of events"),
        status(
            "a page for people",
            200,
            json!({ "headers": { "content-type": "text/html" }, "body": "<html>\n\n<p>Log in</p>\n\n</html>" }),
            Passing,
            "answer",
        ),
        status("an empty answer", 200, json!({ "body": "" }), Passing, "no stream of events"),
    ]
}

/// Connections that break, and what is no HTTP.
fn connections() -> Vec<Injected> {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n";
    vec![
        fault("a reset before the answer", json!("reset"), Passing, "reached"),
        fault("a reset for good", json!("reset"), Lasting, "reached"),
        fault("a reset within the answer", json!({ "reset_at": 70 }), Passing, ""),
        fault("a reset at the first byte", json!({ "reset_at": 1 }), Passing, ""),
        fault("a connection that breaks", json!({ "half": 120 }), Passing, ""),
        fault("an early end in good order", json!({ "ends": 120 }), Passing, "ended"),
        fault("an end within a head", json!({ "raw": "HTTP/1.1 200 OK\r\ncontent-ty" }), Passing, "reached"),
        raw("an answer that is no HTTP", "SSH-2.0-OpenSSH_9.9\r\n", "reached"),
        raw("nothing at all", "", "reached"),
        raw("a chunk without a length", &format!("{head}transfer-encoding: chunked\r\n\r\nzz\r\n: x\n\n\r\n"), ""),
        raw("a body shorter than its length", &format!("{head}content-length: 4000\r\n\r\n: x\n\n"), ""),
        raw("a head of odd bytes", "HTTP/1.1 200 OK\r\nx: \u{0}\r\n\r\n", "reached"),
        raw("a status that is none", "HTTP/1.1 99999 What\r\n\r\n", "reached"),
        fault("silence", json!("hang"), Lasting, "time limit"),
        fault("an answer that stops", json!({ "stall": 60 }), Lasting, "time limit"),
        fault("an answer that trickles past the deadline", json!({ "trickle": 150 }), Lasting, "time limit"),
    ]
}

/// Streams that are not what the wire promises.
fn streams() -> Vec<Injected> {
    let lines = &[Wire::Ollama];
    let events = &[Wire::Messages, Wire::Responses, Wire::Chat, Wire::Gemini];
    vec![
        fault("an error within the stream", json!({ "event": "Overloaded" }), Passing, "Overloaded"),
        fault("something that is no stream", json!({ "garbage": "It works!\n" }), Passing, "answer"),
        fault("values of other types", json!("wrong_types"), Passing, ""),
        fault("a compressed answer", json!("zipped"), Final, "compressed"),
        fault("an event that is no JSON", json!({ "malformed": "data: {\"type\": \n\n" }), Final, "no JSON").on(events),
        fault("a line that is no JSON", json!({ "malformed": "{\"message\": \n" }), Final, "no JSON").on(lines),
        fault("an event that is no text", json!({ "malformed": "data: {\"type\": \"\u{0}\"}\n\n" }), Final, "no JSON")
            .on(events),
        fault("an answer that goes on with nothing", json!({ "flood": "nothing" }), Final, "16 MiB"),
        fault("an event without end", json!({ "flood": "event" }), Final, "4 MiB"),
        oddity("byte by byte", json!("trickle")),
        oddity("an older HTTP", json!("http10")),
        oddity("a head before the head", json!("hints")),
        oddity("comments", json!("comments")),
        oddity("events that nobody knows", json!("unknown")),
        oddity("events that are empty", json!("empties")),
        oddity("other ends of lines", json!("returns")),
        oddity("a byte order mark", json!("mark")),
        oddity("no mark at the very end", json!("no_done")).on(&[Wire::Chat]),
        oddity("an answer at once", json!("whole")).on(&[Wire::Chat, Wire::Gemini, Wire::Ollama]),
        oddity("two answers in one", json!("twice")),
        oddity("two ends", json!("double_end")),
        oddity("another type of content", json!({ "type": "text/plain" })),
        oddity("no type of content", json!({ "type": "" })),
        oddity("a connection that stays open", json!("kept_open")),
    ]
}

fn all() -> Vec<Injected> {
    [statuses(), connections(), streams()].into_iter().flatten().collect()
}

/// A model that reports a defect and ends; the fault meets its second answer. What is only odd meets both.
fn session(injected: &Injected) -> Session {
    let report = json!([{ "name": "report_finding", "input": { "title": TITLE, "body": "5 percent take half of the amount.",
        "severity": "high", "category": "logic", "file_path": "src/cart.py", "quote": "    rate = percent / 10" } }]);
    let end = json!([{ "name": "finish_review", "input": { "summary": "One defect." } }]);
    let step = |turn: u32, say: Value| json!({ "when": { "turn": turn }, "say": say });
    let odd = |calls: &Value| json!({ "text": "I see – one moment.", "calls": calls, "odd": injected.say["odd"] });
    let plain = |calls: &Value| json!({ "text": "I see.", "calls": calls });
    // A fault that stands in the place of an answer spoils that answer.
    let mut spoilt = plain(&end);
    spoilt.as_object_mut().expect("an object").extend(injected.say.as_object().expect("an object").clone());
    let mut again = step(1, spoilt.clone());
    again["reuse"] = json!(true);
    let steps = match injected.expected {
        Harmless => vec![step(0, odd(&report)), step(1, odd(&end))],
        Passing => vec![step(0, plain(&report)), step(1, spoilt), step(1, plain(&end))],
        Final | Lasting => vec![step(0, plain(&report)), again],
    };
    let lines: Vec<String> = steps.iter().map(Value::to_string).collect();
    Session::parse(injected.name, &lines.join("\n"))
}

/// Runs it, and holds everything that must hold of any run against what came of it.
fn hold(repo: &TestRepo, injected: &Injected, wire: Wire) {
    let run = |time: u64| {
        let talk = Talk::in_passing(repo, session(injected), wire);
        let told = talk.run(&format!("--timeout {time}ms"));
        (talk, told, time)
    };
    let (mut talk, mut told, mut time) = run(if injected.expected == Lasting { LITTLE_TIME } else { TIME });
    // The time may be over before the fault was met, or between two attempts.
    if injected.expected == Lasting && (talk.server.raw().len() < 2 || !told.reasons().contains(injected.because)) {
        let _ = talk.server.verdict();
        (talk, told, time) = run(MORE_TIME);
    }
    let name = format!("{} over {wire:?}", injected.name);
    let verdict = talk.server.verdict();
    assert!(verdict.is_empty(), "{name}: {}\n{}", verdict.join("\n- "), told.all());
    generic(&name, &told, time);
    assert_eq!(told.titles(), [TITLE], "{name}: what was proven is delivered: {}", told.all());
    let retries = told.events("retry");
    match injected.expected {
        Harmless | Passing => assert_eq!((told.code, told.ended()), (0, "finished"), "{name}: {}", told.all()),
        Final | Lasting => assert_eq!(told.code, 3, "{name}: {}", told.all()),
    }
    match injected.expected {
        Harmless | Final => assert!(retries.is_empty(), "{name}: {}", told.all()),
        Passing => assert_eq!(retries.len(), 1, "{name}: {}", told.all()),
        Lasting => {}
    }
    let said = match injected.expected {
        Passing => retries[0]["reason"].as_str().unwrap_or_default().to_owned(),
        Harmless | Final | Lasting => told.reasons(),
    };
    assert!(said.contains(injected.because), "{name}: {:?} is not in {said}", injected.because);
    let ran = replayed(&talk);
    assert_eq!(ran.code, 0, "{name} is not told as it was: {}", ran.stderr);
}

/// What holds of every run.
fn generic(name: &str, told: &Told, time: u64) {
    let outcome = told.review["outcome"].as_str().unwrap_or("none");
    let expected = match told.code {
        0 => "complete",
        3 | 130 => "incomplete",
        4 => "failed",
        other => panic!("{name}: exit {other}: {}", told.all()),
    };
    assert_eq!(outcome, expected, "{name}: {}", told.all());
    assert_eq!(told.reasons() == "[]", outcome == "complete", "{name}: {}", told.all());
    assert!(!told.stderr.contains("panicked"), "{name}: {}", told.all());
    let took = told.review["provenance"]["took_ms"].as_u64().unwrap_or(u64::MAX);
    assert!(took < time + GRACE, "{name}: it took {took} ms of {time}");
}

/// Tells the run again, with no server to ask.
fn replayed(talk: &Talk) -> Ran {
    let mut command = talk.program.command(["replay", "last", "--format", "json"]);
    for (variable, _) in talk.server.environment(Wire::Messages).into_iter().chain(talk.server.environment(Wire::Chat))
    {
        command.env_remove(variable);
    }
    Ran::wait(command.spawn().expect("the program starts"))
}

/// Runs all of them, a few at a time: most of the time they wait.
fn hold_all(injected: &[Injected], wires: impl Fn(usize, &Injected) -> Vec<Wire>) {
    let repo = shop();
    let mut runs: Vec<(&Injected, Wire)> = Vec::new();
    for (at, one) in injected.iter().enumerate() {
        runs.extend(wires(at, one).into_iter().map(|wire| (one, wire)));
    }
    // Those that wait longest begin first.
    runs.sort_by_key(|(one, _)| one.expected == Lasting);
    let (left, failed) = (Mutex::new(runs), Mutex::new(Vec::new()));
    let next = || left.lock().expect("no panic").pop();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                while let Some((one, wire)) = next() {
                    // Each says by itself what is wrong; the rest is looked at, too.
                    if catch_unwind(AssertUnwindSafe(|| hold(&repo, one, wire))).is_err() {
                        failed.lock().expect("no panic").push((one.name, wire));
                    }
                }
            });
        }
    });
    let failed = failed.into_inner().expect("no panic");
    assert!(failed.is_empty(), "{failed:?}");
}

#[test]
fn whatever_goes_wrong_the_end_is_honest_and_nothing_proven_is_lost() {
    let all = all();
    assert!(all.iter().filter(|one| one.expected != Harmless).count() >= 40, "forty faults and more");
    // All wires in turn.
    hold_all(&all, |at, one| vec![one.wires[at % one.wires.len()]]);
}

#[test]
#[ignore = "takes long; .ci/run runs it"]
fn exhaustive_whatever_goes_wrong_on_any_wire_the_end_is_honest_and_nothing_proven_is_lost() {
    hold_all(&all(), |_, one| one.wires.clone());
}

#[test]
fn what_reads_the_stream_is_met_by_its_faults_on_every_wire() {
    let all = all();
    let of_the_stream = [
        "values of other types",
        "an event that is no JSON",
        "two answers in one",
        "an answer at once",
        "an error within the stream",
    ];
    let some: Vec<Injected> = all.into_iter().filter(|one| of_the_stream.contains(&one.name)).collect();
    assert_eq!(some.len(), of_the_stream.len());
    hold_all(&some, |_, one| one.wires.clone());
}

#[test]
fn a_fault_at_the_very_beginning_ends_with_4_and_no_findings() {
    let repo = shop();
    for (at, mut one) in statuses().into_iter().filter(|one| one.expected == Final).enumerate() {
        if at % 3 > 0 {
            continue;
        }
        one.say["calls"] = json!([]);
        let step = json!({ "say": one.say, "reuse": true });
        let wire = Wire::ALL[at % Wire::ALL.len()];
        let talk = Talk::in_passing(&repo, Session::parse(one.name, &step.to_string()), wire);
        let told = talk.run("");
        generic(one.name, &told, TIME);
        assert_eq!((told.code, told.titles().len()), (4, 0), "{}: {}", one.name, told.all());
        assert!(told.reasons().contains(one.because), "{}: {}", one.name, told.reasons());
        assert_eq!(replayed(&talk).code, 0, "{}", one.name);
        talk.server.finish();
    }
}
