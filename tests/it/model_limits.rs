//! What a model must have seen, what it may spend, and what is left of a run that is stopped.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::model::{Session, Wire};
use crate::support::session::{Talk, Told, file, shop};
use crate::support::{Program, Ran, TestRepo};

const READING: [&str; 4] = ["read_file_part", "search_in_files", "list_files", "read_diff"];

/// A change of two files; the diff of one is longer than the first message shows.
fn long() -> TestRepo {
    let repo = TestRepo::new();
    repo.write("README.md", "Long.\n").commit("Begin");
    let lines: Vec<_> = (0..300).map(|n| format!("value_{n} = {n} * {n}  # a line that has no meaning\n")).collect();
    repo.branch("feature").write("src/a.py", "answer = 42\n").write("src/long.py", lines.concat());
    repo.commit("Add many lines");
    repo
}

#[test]
fn an_end_before_all_was_seen_is_refused_once() {
    let told = Talk::about(&long(), "unseen_then_read", Wire::Messages).ends("", 0, "finished");
    assert_eq!(told.review["outcome"], "complete", "{}", told.all());
    let told = Talk::about(&long(), "unseen_for_good", Wire::Chat).ends("", 3, "finished");
    assert_eq!(told.review["outcome"], "incomplete", "{}", told.all());
    let states: Vec<_> = (0..2).map(|n| told.review["coverage"]["files"][n]["state"] == "reviewed").collect();
    assert_eq!(states, [true, false], "{}", told.all());
    assert!(told.reasons().contains("src/long.py"), "{}", told.reasons());
}

#[test]
fn what_is_hidden_behind_the_end_of_a_long_line_must_be_read() {
    let repo = TestRepo::new();
    repo.write("src/a.py", "def greet():\n    return 'hello'\n");
    repo.commit("Greet");
    repo.branch("feature");
    let padding = "x".repeat(2_100);
    repo.write("src/a.py", format!("def greet():\n    return 'hello'  # {padding}; os.system(hidden)\n"));
    repo.commit("Greet longer");
    let told = Talk::about(&repo, "long_line_then_read", Wire::Messages).ends("", 0, "finished");
    assert_eq!(told.review["outcome"], "complete", "{}", told.all());
    let told = Talk::about(&repo, "long_line_for_good", Wire::Gemini).ends("", 3, "finished");
    assert_eq!(told.review["outcome"], "incomplete", "{}", told.all());
    assert!(told.reasons().contains("1 over-long line was shown cut"), "{}", told.reasons());
}

/// A server whose answer has a beginning and no end. Also gives whether it was let go of.
fn endless(head: &'static str) -> (String, std::thread::JoinHandle<bool>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = format!("http://{}", listener.local_addr().expect("an address"));
    let served = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a client");
        stream.set_read_timeout(Some(Duration::from_millis(200))).expect("a timeout");
        let _ = stream.read(&mut [0; 1 << 12]);
        let (began, piece) = (std::time::Instant::now(), vec![b'a'; 1 << 16]);
        let mut sent = stream.write_all(head.as_bytes());
        while sent.is_ok() && began.elapsed() < Duration::from_mins(5) {
            sent = stream.write_all(&piece);
        }
        sent.is_err()
    });
    (address, served)
}

#[test]
fn a_server_that_never_ends_a_line_is_given_up_before_the_deadline() {
    let repo = shop();
    // No event is so long, and of an error the beginning is enough: it is tried again, and nobody is there any more.
    for (head, said) in
        [("HTTP/1.1 200 OK\r\n\r\ndata: ", "4 MiB in one event"), ("HTTP/1.1 500 Oh\r\n\r\n", "could not be reached")]
    {
        let (address, served) = endless(head);
        let program =
            Program::in_folder(repo.root()).with("ANTHROPIC_API_KEY", "k").with("ANTHROPIC_BASE_URL", &address);
        let ran = program.words("--target main --model anthropic/x --timeout 4m --format json").ended(4);
        assert!(ran.text().contains(said), "{}", ran.text());
        assert!(served.join().expect("a server"), "the server gave up first");
    }
}

#[test]
fn reading_on_where_the_first_message_stops_is_enough() {
    let repo = long();
    let read_on = |talk: &Talk| {
        let body: Value = serde_json::from_slice(&talk.server.raw()[0].body).expect("JSON");
        let text = body["messages"][0]["content"][0]["text"].as_str().expect("a text").to_owned();
        let (_, call) = text.split_once("read on with read_diff ").expect("a call");
        serde_json::from_str::<Value>(call.split_once(']').expect("its end").0).expect("an input")
    };
    let end = json!({ "say": { "calls": [{ "name": "finish_review", "input": { "summary": "All is well." } }] }, "reuse": true });
    let first = Talk::scripted(&repo, Session::parse("looked_at", &end.to_string()), Wire::Messages);
    assert_eq!(first.run("").code, 3);
    let input = read_on(&first);
    assert!(input["skip_lines"].as_u64().is_some_and(|lines| lines > 0), "{input}");
    let read = json!({ "when": { "turn": 0 }, "say": { "calls": [{ "name": "read_diff", "input": input }] } });
    let session = Session::parse("read_on", &format!("{read}\n{end}"));
    let told = Talk::scripted(&repo, session, Wire::Messages).ends("", 0, "finished");
    assert_eq!(told.review["provenance"]["turns"], 2, "the end was accepted at once: {}", told.all());
}

#[test]
fn leads_are_confirmed_refuted_or_left_open() {
    let repo = TestRepo::new();
    repo.write("README.md", "Leads.\n").commit("Begin");
    repo.branch("feature").write(
        "src/leads.py",
        "def add(item, items=[]):\n    items.append(item)\n    return items\n\n\n\
         def check(done):\n    assert (done, 'it is not done')\n\n\n\
         def put(key, known={}):\n    known[key] = True\n    return known\n",
    );
    repo.commit("Add three functions");
    let told = Talk::about(&repo, "leads", Wire::Gemini).ends("", 0, "finished");
    let leads = &told.review["coverage"]["leads"];
    let count = |what: &str| leads[what].as_u64().expect("a count");
    assert_eq!(
        [count("given"), count("confirmed"), count("refuted"), count("unanswered")],
        [3, 1, 1, 1],
        "{}",
        told.all()
    );
    assert_eq!(told.titles(), ["All calls share one list"], "{}", told.all());
    let withheld = told.review["coverage"]["withheld"].to_string();
    assert!(withheld.contains("neither confirmed nor refuted it (python/mutable-default, src/leads.py:"), "{withheld}");
    let told = Talk::about(&repo, "leads_of_one_cause", Wire::Messages).ends("", 0, "finished");
    let (leads, findings) = (&told.review["coverage"]["leads"], &told.review["findings"]);
    assert_eq!(leads, &json!({ "given": 3, "confirmed": 2, "refuted": 1, "unanswered": 0 }), "{}", told.all());
    assert_eq!(
        (findings.as_array().map(Vec::len), &findings[0]["title"]),
        (Some(1), &json!("All calls share their defaults"))
    );
}

#[test]
fn at_a_limit_the_model_is_asked_once_to_finish() {
    let repo = shop();
    for wire in Wire::ALL {
        let told = Talk::about(&repo, "two_turns_at_most", wire).ends("--max-turns 2", 3, "turn_limit");
        assert_eq!(told.titles(), ["A discount is ten times too large"], "what stands is delivered");
        assert!(told.reasons().contains("--max-turns"), "{}", told.reasons());
        let coverage = &told.review["coverage"];
        assert_eq!(
            (&coverage["tool_calls"], &coverage["tool_errors"]),
            (&4.into(), &1.into()),
            "nothing is read any more"
        );
    }
    let told = Talk::about(&repo, "tokens_run_out", Wire::Responses).ends("--max-tokens 100000", 3, "token_limit");
    assert_eq!(told.titles().len(), 1, "{}", told.all());
    assert!(told.reasons().contains("--max-tokens"), "{}", told.reasons());
}

#[test]
fn a_change_without_lines_to_review_costs_nothing() {
    let repo = TestRepo::new();
    repo.write("package-lock.json", "{}\n").write("a.py", "def add(a, b):\n    return a + b\n").commit("Begin");
    repo.branch("feature").write("package-lock.json", "{\"a\": 1}\n").git(["mv", "a.py", "b.py"]);
    repo.commit("Lock, and move a file");
    for head in ["main", "feature"] {
        let talk = Talk::named(&repo, "never_asked", &format!("never_asked_{head}"), Wire::Messages);
        let told = talk.ends(&format!("--head {head}"), 0, "finished");
        assert_eq!(told.review["outcome"], "complete", "{}", told.all());
        let made = &told.review["provenance"];
        assert_eq!((&made["turns"], &made["usage"]["input_tokens"]), (&0.into(), &0.into()), "{}", told.all());
        assert!(told.review["coverage"]["notes"][0].as_str().is_some_and(|note| note.contains("was not asked")));
    }
    let talk = Talk::named(&repo, "never_asked", "never_asked_shown", Wire::Messages);
    let shown = talk.program.words("--target main --model anthropic/scripted").ended(0);
    assert!(shown.text().contains("not sent to anthropic/scripted"), "{}", shown.text());
}

#[test]
fn a_model_without_a_key_is_an_error_and_no_quiet_review() {
    let repo = shop();
    for wire in [Wire::Messages, Wire::Responses, Wire::Gemini] {
        let program = Program::in_folder(repo.root());
        let ran = program.words(&format!("--target main --model {}/scripted", wire.provider())).ended(2);
        let variable = wire.variables().0.expect("it needs a key");
        assert!(ran.stderr.contains(variable) && ran.text().is_empty(), "{}", ran.stderr);
        assert!(program.kept().is_empty());
    }
}

#[test]
fn a_key_that_is_merely_found_is_said_before_anything_is_sent() {
    let repo = shop();
    let talk = Talk::named(&repo, "well", "well_found_key", Wire::Messages);
    let told = Told::read(&talk.program.words("--target main --events"));
    assert_eq!(told.code, 0, "{}", told.all());
    let said = told.events.iter().position(|event| {
        event["text"].as_str().is_some_and(|text| text.contains("ANTHROPIC_API_KEY") && text.contains("anthropic/"))
    });
    let asked = told.events.iter().position(|event| event["event"] == "turn").expect("a turn");
    assert!(said.is_some_and(|said| said < asked), "{}", told.all());
    assert_eq!(told.review["provenance"]["provider"], "anthropic");
    talk.server.finish();
}

#[cfg(unix)]
mod stopped {
    use super::*;
    use rustix::process::{Pid, Signal, kill_process};

    /// Starts a run, waits until the server has so many requests, and sends a signal.
    fn stop(talk: &Talk, requests: usize, signal: Signal) -> Ran {
        let child = talk.program.command(talk.words("").split_whitespace()).spawn().expect("the program starts");
        talk.server.wait_for(requests);
        kill_process(Pid::from_child(&child), signal).expect("it is sent");
        Ran::wait(child)
    }

    #[test]
    fn an_interrupt_keeps_what_is_proven() {
        let repo = shop();
        for wire in Wire::ALL {
            let talk = Talk::about(&repo, "found_then_hang", wire);
            let told = Told::read(&stop(&talk, 2, Signal::INT));
            assert_eq!((told.code, told.ended()), (130, "interrupted"), "{}", told.all());
            assert_eq!(told.titles().len(), 1, "{}", told.all());
            let kept = talk.program.kept().remove(0).join("review.json");
            let kept: Value = serde_json::from_slice(&std::fs::read(kept).expect("it is kept")).expect("JSON");
            assert_eq!(kept, told.review);
            talk.server.finish();
        }
    }

    #[test]
    fn a_killed_run_leaves_a_journal_that_can_be_read() {
        let repo = shop();
        for requests in 1..=3 {
            let talk = Talk::named(&repo, "three_turns", &format!("three_turns_{requests}"), Wire::Messages);
            let ran = stop(&talk, requests, Signal::KILL);
            assert_eq!(ran.code, -1);
            let _ = talk.server.verdict();
            let journal = talk.journals().pop().expect("a journal");
            let complete = journal.rsplit_once('\n').map_or("", |(complete, _)| complete);
            let entries: Vec<Value> =
                complete.lines().map(|line| serde_json::from_str(line).expect("a whole line is JSON")).collect();
            let kinds = |kind: &str| entries.iter().filter(|entry| entry["record"]["kind"] == kind).count();
            assert_eq!(kinds("run"), 1, "{journal}");
            // What was answered before is there, and so is each result that the next request carried.
            assert!(kinds("answer") >= requests - 1, "{requests}: {journal}");
            assert!(kinds("result") >= if requests == 1 { 0 } else { 2 }, "{requests}: {journal}");
        }
    }

    #[test]
    fn a_run_that_is_killed_at_any_moment_leaves_whole_lines() {
        // Killed while it talks, without waiting for a certain moment.
        let repo = shop();
        for wait in [0, 3, 9, 20, 45] {
            let talk = Talk::named(&repo, "six_turns", &format!("six_turns_killed_{wait}"), Wire::Chat);
            let child = talk.program.command(talk.words("").split_whitespace()).spawn().expect("the program starts");
            talk.server.wait_for(1);
            std::thread::sleep(Duration::from_millis(wait));
            let _ = kill_process(Pid::from_child(&child), Signal::KILL);
            let _ = Ran::wait(child);
            let _ = talk.server.verdict();
            for journal in talk.journals() {
                let complete = journal.rsplit_once('\n').map_or("", |(complete, _)| complete);
                for line in complete.lines() {
                    serde_json::from_str::<Value>(line).unwrap_or_else(|error| panic!("{error}: {line}"));
                }
            }
        }
    }
}

#[test]
fn every_session_is_used_by_a_test() {
    let folder = file("well").parent().expect("a folder").to_owned();
    let tests: String = [
        "model_session.rs",
        "model_faults.rs",
        "model_limits.rs",
        "model_trust.rs",
        "verification_corrections.rs",
        "action_gate.rs",
        "text_protocol.rs",
        "doctor.rs",
    ]
    .map(|name| std::fs::read_to_string(format!("{}/tests/it/{name}", env!("CARGO_MANIFEST_DIR"))).expect("a test"))
    .concat();
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.extension().is_some_and(|extension| extension == "jsonl") {
            let name = Session::load(&path).name;
            assert!(tests.contains(&format!("\"{name}\"")), "no test uses {name}");
        }
    }
}

#[test]
fn the_reading_tools_are_those_of_the_table() {
    let names: Vec<_> = review_runner::tools::TOOLS.iter().map(|tool| tool.name).collect();
    assert_eq!(names, READING, "sessions name them when they look for the last turn");
}
