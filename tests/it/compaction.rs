//! Conversations that outgrow the model's window: results make room one by one, and nothing else changes.

use serde_json::{Value, json};

use crate::model_journal::{blocks, rebuilt, received};
use crate::support::TestRepo;
use crate::support::looks::{STOCK, given, look, reporting, session};
use crate::support::model::{Asked, CallResult, TAKEN_OUT, Turn, Wire};
use crate::support::session::{Talk, Told, shop};

/// Files that are too many for the window, about two thousand tokens each.
const FILES: usize = 20;
const WINDOW: u64 = 32_000;

/// The shop, with files beside the change.
fn archive() -> TestRepo {
    let repo = shop();
    repo.git(["checkout", "-q", "main"]);
    for file in 0..FILES {
        let line = |line: usize| format!("entry_{file}_{line} = {line}  # nobody knows what for\n");
        repo.write(format!("archive/part{file}.py"), (0..130).map(line).collect::<String>());
    }
    repo.commit("Keep an archive");
    repo.git(["checkout", "-q", "feature"]);
    repo.git(["rebase", "-q", "main"]);
    repo
}

fn read(file: usize) -> Value {
    json!({ "name": "read_file_part", "input": { "file_path": format!("archive/part{file}.py") } })
}

/// What a request must be like after those files were read: each is shown whole, however often.
fn shown(turn: usize, files: &[usize]) -> Value {
    let result = |file: &usize| json!({ "name": "read_file_part", "contains": [format!("entry_{file}_3 "), format!("entry_{file}_120 ")], "is_error": false });
    json!({ "turn": turn, "last_results": files.iter().map(result).collect::<Vec<_>>() })
}

fn finish() -> Value {
    json!({ "calls": [{ "name": "finish_review", "input": { "summary": "The guard is missing." } }] })
}

fn thought(turn: usize) -> Value {
    json!([{ "text": format!("What is in part {turn}?"), "signature": format!("U2lnbmF0dXIg{turn:04}") }])
}

/// A model that reports a defect, reads all files and the first ones again, and ends.
fn long() -> Vec<Value> {
    let report = json!({ "name": "report_finding", "input": { "title": "A discount is ten times too large",
        "body": "`percent / 10` turns 5 percent into half of the amount.", "severity": "high", "category": "logic",
        "file_path": "src/cart.py", "quote": "    rate = percent / 10" } });
    let section =
        json!({ "name": "write_section", "input": { "title": "How prices are made", "body": "In two steps." } });
    let pairs: Vec<[usize; 2]> = (0..FILES / 2).map(|n| [2 * n, 2 * n + 1]).chain([[0, 1]]).collect();
    let mut steps = vec![
        json!({ "when": { "turn": 0, "taken_out": false }, "say": { "thinking": thought(0), "calls": [report, section] } }),
    ];
    for (at, pair) in pairs.iter().enumerate() {
        let mut when = if at == 0 { json!({ "turn": 1, "taken_out": false }) } else { shown(at + 1, &pairs[at - 1]) };
        if at > FILES / 2 - 2 {
            when["taken_out"] = json!(true);
        }
        let say =
            json!({ "thinking": thought(at + 1), "text": "Weiter → 🔎", "calls": [read(pair[0]), read(pair[1])] });
        steps.push(json!({ "when": when, "say": say }));
    }
    // What was taken out is shown anew.
    steps.push(json!({ "when": shown(pairs.len() + 1, &[0, 1]), "say": finish() }));
    steps
}

fn talk(repo: &TestRepo, name: &str, steps: &[Value], wire: Wire) -> Talk {
    let word = match wire {
        Wire::Messages => "anthropic",
        Wire::Responses => "openai",
        Wire::Chat => "openai-chat",
        Wire::Gemini => "gemini",
        Wire::Ollama => "ollama",
    };
    Talk::scripted(repo, session(name, steps), wire).with_settings(&format!("[{word}]\ncontext_window = {WINDOW}\n"))
}

fn results(asked: &Asked) -> Vec<&CallResult> {
    let results = asked.turns.iter().filter_map(|turn| match turn {
        Turn::Results(results) => Some(results),
        Turn::User(_) | Turn::Model(_) => None,
    });
    results.flatten().collect()
}

/// How many results were taken out in each request.
fn taken_out(talk: &Talk) -> Vec<usize> {
    talk.server.asked().iter().map(Asked::taken_out).collect()
}

fn notes(told: &Told) -> String {
    told.review["coverage"]["notes"].to_string()
}

#[test]
fn a_long_conversation_in_a_small_window_goes_on() {
    let repo = archive();
    for wire in Wire::ALL {
        let talk = talk(&repo, "long_conversation", &long(), wire);
        let told = talk.run("");
        let (verdict, taken) = (talk.server.verdict(), taken_out(&talk));
        assert!(verdict.is_empty(), "{wire:?}: {}\n{}", verdict.join("\n- "), told.all());
        assert_eq!((told.code, told.ended()), (0, "finished"), "{wire:?}: {}", told.all());
        assert_eq!(told.titles(), ["A discount is ten times too large"]);
        assert_eq!(
            (&told.review["coverage"]["tool_errors"], told.review["outcome"].as_str()),
            (&json!(0), Some("complete"))
        );
        // Not all at once, and not at every turn: each change of what was sent before costs what the provider has cached of it.
        let steps = taken.windows(2).filter(|pair| pair[0] != pair[1]).count();
        assert!(taken.is_sorted() && steps > 1, "{wire:?}: {taken:?}");
        assert!(taken.windows(2).all(|pair| pair[1] - pair[0] < FILES / 2), "{wire:?}: {taken:?}");
        let last = talk.server.asked().pop().expect("a request");
        let all = results(&last);
        assert!(all[0].text.contains("F1") && all[1].text.contains("accepted"), "the engine's own answers stay");
        let line = &all[2].text;
        assert!(line.starts_with(TAKEN_OUT) && line.contains(r#"{"file_path":"archive/part0.py"}"#), "{line}");
        assert!(all[2].is_error != Some(true), "it was no error");
        let size = talk.server.raw().iter().map(|raw| raw.body.len()).max().expect("a request");
        assert!((size as u64) < WINDOW * 4, "{size}");
        let said = told
            .events("notice")
            .iter()
            .filter(|event| event["text"].to_string().contains("taken out of the conversation"))
            .count();
        assert_eq!(said, steps, "{}", told.all());
        assert!(
            notes(&told).contains("of reading calls, searches and the oldest first, were taken out of conversations"),
            "{}",
            notes(&told)
        );
        for rebuilt in rebuilt(&talk.journals().pop().expect("a journal")) {
            assert!(rebuilt.proven, "{wire:?}");
        }
    }
}

#[test]
fn every_request_of_a_shortened_conversation_is_in_its_journal_as_it_was_received() {
    let repo = archive();
    let talk = talk(&repo, "long_conversation_journal", &long(), Wire::Messages);
    talk.run("");
    let rebuilt = rebuilt(&talk.journals().pop().expect("a journal"));
    let raw = talk.server.raw();
    assert_eq!(rebuilt.len(), raw.len());
    for (at, (rebuilt, raw)) in rebuilt.iter().zip(&raw).enumerate() {
        let body: Value = serde_json::from_slice(&raw.body).expect("JSON");
        let blocks: Vec<Value> = rebuilt.request.messages.iter().flat_map(blocks).collect();
        assert!(rebuilt.proven && blocks == received(&body), "request {at}");
    }
    assert!(taken_out(&talk).pop() > Some(0));
    talk.server.finish();
}

#[test]
fn a_journal_that_says_other_numbers_is_not_proven() {
    let repo = archive();
    let talk = talk(&repo, "long_conversation_forged", &long(), Wire::Chat);
    talk.run("");
    let journal = talk.journals().pop().expect("a journal");
    let at = journal.find("\"removed\":[").expect("numbers") + "\"removed\":[".len();
    let digits = journal[at..].find(']').expect("their end");
    let forged = format!("{}7{}", &journal[..at], &journal[at + digits..]);
    assert!(rebuilt(&journal).iter().all(|rebuilt| rebuilt.proven));
    assert!(rebuilt(&forged).iter().any(|rebuilt| !rebuilt.proven));
    talk.server.finish();
}

#[test]
fn what_will_be_removed_is_announced_in_the_turn_before() {
    let repo = archive();
    let talk = talk(&repo, "long_conversation_announced", &long(), Wire::Messages);
    talk.run("");
    let asked = talk.server.asked();
    let announced = |asked: &Asked| -> String {
        let texts = asked.turns.iter().filter_map(|turn| match turn {
            Turn::User(text) if text.contains("The next results will push these out") => Some(text.clone()),
            Turn::User(_) | Turn::Results(_) | Turn::Model(_) => None,
        });
        texts.collect()
    };
    let removed = |asked: &Asked| -> Vec<usize> {
        (0..FILES)
            .filter(|file| {
                !asked.turns.is_empty()
                    && results(asked).iter().any(|result| {
                        result.text.starts_with(TAKEN_OUT) && result.text.contains(&format!("archive/part{file}.py"))
                    })
            })
            .collect()
    };
    let mut checked = 0;
    for pair in asked.windows(2) {
        for file in removed(&pair[1]).into_iter().filter(|file| !removed(&pair[0]).contains(file)) {
            assert!(announced(&pair[0]).contains(&format!("archive/part{file}.py")), "part {file}");
            checked += 1;
        }
    }
    assert!(checked > 3, "{checked}");
    talk.server.finish();
}

/// As a version before 5 wrote it: the number of the first messages whose results are all removed.
#[test]
fn a_journal_with_removed_messages_is_rebuilt() {
    let repo = archive();
    // A turn with two reports, and then one file a turn: each removed result is a message.
    let mut steps = vec![long().swap_remove(0)];
    steps.extend((0..FILES).map(|file| json!({ "when": { "turn": file + 1 }, "say": { "calls": [read(file)] } })));
    steps.push(json!({ "when": { "turn": FILES + 1, "taken_out": true }, "say": finish() }));
    let talk = talk(&repo, "long_conversation_older", &steps, Wire::Chat);
    talk.run("");
    let journal = talk.journals().pop().expect("a journal");
    let older = |line: &str| -> String {
        let Some((_, rest)) = line.split_once("\"removed\":[") else { return line.to_owned() };
        let listed = rest.split(']').next().expect("its end");
        let numbers: Vec<usize> = listed.split(',').map(|number| number.parse().expect("a number")).collect();
        assert!(numbers.iter().copied().eq(2..2 + numbers.len()), "{listed}");
        let messages = format!("\"compacted\":{}", 1 + numbers.len());
        line.replace(&format!("\"removed\":[{listed}]"), &messages).replacen("\"v\":5", "\"v\":4", 1)
    };
    let older: Vec<String> = journal.lines().map(older).collect();
    assert!(older.iter().any(|line| line.contains("\"compacted\":")), "something was removed");
    assert!(rebuilt(&(older.join("\n") + "\n")).iter().all(|rebuilt| rebuilt.proven));
    talk.server.finish();
}

#[test]
fn a_provider_that_binds_thinking_to_the_conversation_is_told_to_drop_it() {
    let repo = archive();
    let ordinary = talk(&repo, "long_conversation_unbound", &long(), Wire::Messages);
    ordinary.run("");
    let first = taken_out(&ordinary).iter().position(|taken| *taken > 0).expect("a request");
    ordinary.server.finish();
    let mut steps = long();
    let message = "messages.1.content.0: this `thinking` block is bound to a different conversation";
    let refused = json!({ "fault": { "status": { "code": 400, "message": message } } });
    steps.insert(first, json!({ "when": steps[first]["when"], "say": refused }));
    let talk = talk(&repo, "long_conversation_bound", &steps, Wire::Messages);
    let told = talk.run("");
    let (verdict, raw) = (talk.server.verdict(), talk.server.raw());
    assert!(verdict.is_empty(), "{}\n{}", verdict.join("\n- "), told.all());
    assert_eq!((told.code, told.ended()), (0, "finished"), "{}", told.all());
    let drops = |body: &[u8]| String::from_utf8_lossy(body).contains("drop_block");
    let dropping = raw.iter().filter(|raw| drops(&raw.body)).count();
    assert_eq!(dropping, raw.len() - first - 1, "from the refusal on, and not before");
}

#[test]
fn a_model_that_reads_all_again_and_again_is_ended_by_the_budget() {
    let reading = |turn: usize| {
        let calls = [0, 1, 2].map(|n| read((3 * turn + n) % FILES));
        json!({ "when": { "turn": turn }, "say": { "calls": calls } })
    };
    let end = json!({ "when": { "turn": 19, "taken_out": true, "nudged": true }, "say": finish() });
    let steps: Vec<Value> = (0..19).map(reading).chain([end]).collect();
    let repo = archive();
    let talk = talk(&repo, "reads_for_ever", &steps, Wire::Ollama);
    let told = talk.run("--max-turns 20");
    let (verdict, taken) = (talk.server.verdict(), taken_out(&talk));
    assert!(verdict.is_empty(), "{}\n{}", verdict.join("\n- "), told.all());
    assert_eq!((told.code, told.ended()), (3, "turn_limit"), "{}", told.all());
    let steps = taken.windows(2).filter(|pair| pair[0] != pair[1]).count();
    assert!(steps < 10, "not at every turn: {taken:?}");
}

#[test]
fn a_second_look_goes_on_too() {
    let shop = archive();
    let (one, two) = ([0, 1, 2, 3, 4, 5], [6, 7, 8, 9, 10, 11]);
    let reads = |files: [usize; 6]| json!({ "calls": files.map(read), "usage": "none" });
    let mut steps = reporting(&[STOCK]);
    steps.push(look(STOCK, 0, reads(one)));
    steps.push(look(STOCK, 1, reads(two)));
    let mut again = look(STOCK, 2, reads(one));
    again["when"]["taken_out"] = json!(true);
    again["when"]["last_results"] = shown(2, &two)["last_results"].clone();
    steps.push(again);
    let mut end = look(STOCK, 3, json!({ "calls": [given("confirmed", 9, "It is so.")] }));
    end["when"]["last_results"] = shown(3, &one)["last_results"].clone();
    steps.push(end);
    for wire in [Wire::Messages, Wire::Ollama] {
        let told = talk(&shop, "long_look", &steps, wire).ends("--verify auto", 0, "finished");
        assert_eq!(told.review["findings"][0]["verification"]["state"], "confirmed", "{}", told.all());
        assert!(
            notes(&told).contains("of reading calls, searches and the oldest first, were taken out of conversations"),
            "{}",
            notes(&told)
        );
    }
}

#[test]
fn a_result_that_no_room_is_large_enough_for_takes_nothing_out() {
    let many: Vec<Value> = (0..FILES).map(read).collect();
    let steps = [
        json!({ "when": { "turn": 0 }, "say": { "calls": many, "usage": "none" } }),
        json!({ "reuse": true, "when": { "turn": 1, "taken_out": false }, "say": finish() }),
    ];
    let repo = archive();
    let told = talk(&repo, "all_at_once", &steps, Wire::Ollama).ends("", 0, "finished");
    assert!(told.review["coverage"]["tool_errors"].as_u64() > Some(0), "{}", told.all());
}
