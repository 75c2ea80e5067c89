//! The second look where something fails or runs out: what stands is delivered, unchecked, and the receipt says why.

use serde_json::{Value, json};

use crate::support::TestRepo;
use crate::support::looks::{DISCOUNT, GUARD, STOCK, given, look, reporting, session, verdict};
use crate::support::model::Wire;
use crate::support::session::{Talk, Told, shop};

fn talk(repo: &TestRepo, name: &str, wire: Wire, titles: &[&str], looks: &[Value]) -> Talk {
    let steps: Vec<Value> = reporting(titles).into_iter().chain(looks.iter().cloned()).collect();
    Talk::scripted(repo, session(name, &steps), wire)
}

fn state<'t>(told: &'t Told, title: &str) -> &'t str {
    let findings = told.review["findings"].as_array().expect("findings");
    let finding = findings.iter().find(|finding| finding["title"] == title);
    finding.and_then(|finding| finding["verification"]["state"].as_str()).unwrap_or("?")
}

/// That one is unchecked and the receipt says so with this part; the review is as complete as it was.
#[track_caller]
fn unchecked(told: &Told, title: &str, why: &str) {
    let notes = told.review["coverage"]["notes"].to_string();
    assert_eq!(state(told, title), "unchecked", "{}", told.all());
    let findings = told.review["findings"].as_array().expect("findings");
    let finding = findings.iter().find(|finding| finding["title"] == title).expect("it is there");
    assert!(finding["verification"]["by"].is_string(), "it was to be verified: {finding}");
    assert!(finding["verification"]["rationale"].as_str().is_some_and(|said| said.contains(why)), "{finding}");
    assert!(notes.contains("the second look came to no verdict") && notes.contains(why), "{notes}");
    assert!(notes.contains(title), "{notes}");
    assert!(told.review["provenance"]["second_look"]["unchecked"].as_u64() > Some(0), "{}", told.all());
}

#[test]
fn a_look_that_is_never_answered_ends_with_its_time() {
    let shop = shop();
    let looks = [look(STOCK, 0, json!({ "fault": "hang" })), verdict(DISCOUNT, 0, "confirmed", 9, "So.")];
    // A look has a quarter of the time; a busy machine needs more than that of the first limit for the one that is answered.
    let run = |limit: &str| {
        talk(&shop, "verifier_hangs", Wire::Messages, &[STOCK, DISCOUNT], &looks).ends(
            &format!("--verify auto --timeout {limit}"),
            0,
            "finished",
        )
    };
    let mut told = run("12s");
    if state(&told, DISCOUNT) != "confirmed" {
        told = run("2m");
    }
    unchecked(&told, STOCK, "its time was used up");
    assert_eq!((state(&told, DISCOUNT), told.review["outcome"].as_str()), ("confirmed", Some("complete")));
    let notes = told.review["coverage"]["notes"].to_string();
    assert!(notes.contains("1 response of the provider could not be read to the end"), "{notes}");
}

#[test]
fn who_has_to_wait_for_others_loses_no_time_by_it() {
    let shop = shop();
    let (titles, quotes) = (
        ["One", "Two", "Three", "Four"],
        [
            "    rate = percent / 10",
            "    return amount * rate",
            "    if stock[name] <= count:",
            "    rate = percent / 10",
        ],
    );
    let words = ["apple", "bridge", "candle", "dragon"];
    let reports: Vec<Value> = titles
        .iter()
        .zip(quotes)
        .zip(words)
        .zip(["logic", "performance", "security", "testing"])
        .map(|(((title, quote), word), category)| {
            let file = if quote.contains("stock") { "src/stock.py" } else { "src/cart.py" };
            json!({ "name": "report_finding", "input": { "title": format!("{title} {word}"), "body": "It goes wrong.",
                "severity": "high", "category": category, "file_path": file, "quote": quote } })
        })
        .collect();
    let when = |turn: u32| json!({ "turn": turn, "tools_include": ["finish_review"] });
    let mut steps = vec![
        json!({ "when": when(0), "say": { "calls": reports } }),
        json!({ "when": when(1), "say": { "calls": [{ "name": "finish_review", "input": { "summary": "Four." } }] } }),
    ];
    // Each takes nearly all of the time that a look has: a quarter of the run's.
    for (title, word) in titles.iter().zip(words) {
        let say = json!({ "calls": [given("confirmed", 9, "So.")], "delay_ms": 7_000 });
        steps.push(look(&format!("{title} {word}"), 0, say));
    }
    let told = Talk::scripted(&shop, session("waiting_for_others", &steps), Wire::Messages).ends(
        "--verify auto --timeout 48s",
        0,
        "finished",
    );
    assert_eq!(told.review["provenance"]["second_look"]["confirmed"], 4, "{}", told.all());
}

#[test]
fn a_provider_that_fails_takes_nothing_from_the_review() {
    let shop = shop();
    let refused = json!({ "fault": { "status": { "code": 400, "message": "no such thing" } } });
    for wire in Wire::ALL {
        let looks = [look(STOCK, 0, refused.clone()), verdict(DISCOUNT, 0, "refuted", 1, "src/cart.py:14 is right.")];
        let told = talk(&shop, "verifier_fails", wire, &[STOCK, DISCOUNT], &looks).ends(
            "--verify auto --fail-on high",
            1,
            "finished",
        );
        unchecked(&told, STOCK, "no such thing");
        assert_eq!((told.titles(), told.review["outcome"].as_str()), (vec![STOCK], Some("complete")));
    }
}

#[test]
fn a_busy_provider_is_asked_again() {
    let shop = shop();
    let busy = json!({ "fault": { "status": { "code": 503 } } });
    let looks = [look(STOCK, 0, busy), verdict(STOCK, 0, "confirmed", 9, "So.")];
    let told = talk(&shop, "verifier_busy", Wire::Messages, &[STOCK], &looks).ends("--verify auto", 0, "finished");
    assert_eq!(state(&told, STOCK), "confirmed");
    let said = told.events("notice");
    assert!(
        said.iter().any(|event| event["text"].as_str().is_some_and(|text| text.contains("second look waits"))),
        "{}",
        told.all()
    );
}

/// The third turn of a look, which goes on in the text.
fn in_text(title: &str, say: &Value) -> Value {
    json!({ "when": { "turn": 2, "user_contains": [title], "system_contains": ["@@call", "give_verdict"] }, "say": say })
}

#[test]
fn refusals_and_silence_leave_it_unchecked() {
    let shop = shop();
    let looks = [
        look(STOCK, 0, json!({ "text": "I cannot.", "stop": "refusal" })),
        look(DISCOUNT, 0, json!({ "text": "" })),
        look(DISCOUNT, 1, json!({ "text": "" })),
        look(GUARD, 0, json!({ "text": "<tool_call>\n<function=read_file_part>" })),
        look(GUARD, 1, json!({ "text": "<tool_call>\n<function=read_file_part>" })),
        in_text(GUARD, &json!({ "text": "<tool_call>\n<function=read_file_part>" })),
    ];
    let told = talk(&shop, "verifier_silent", Wire::Messages, &[STOCK, DISCOUNT, GUARD], &looks).ends(
        "--verify all",
        0,
        "finished",
    );
    unchecked(&told, STOCK, "the model refused");
    unchecked(&told, DISCOUNT, "the model answered nothing");
    unchecked(&told, GUARD, "wrote its tool calls as text");
}

#[test]
fn nothing_is_asked_where_nothing_is_left() {
    let shop = shop();
    let told = talk(&shop, "no_turns_left", Wire::Messages, &[STOCK], &[]).ends(
        "--verify auto --max-turns 2",
        3,
        "turn_limit",
    );
    unchecked(&told, STOCK, "too little of the budget was left");
    assert_eq!(told.review["provenance"]["turns"], 2);
    assert!(told.events("second_look").is_empty());
}

#[test]
fn the_last_turn_is_for_the_verdict() {
    let shop = shop();
    // Of four turns the review takes two; the look has the other two.
    let read = |path: &str| json!({ "calls": [{ "name": "read_file_part", "input": { "file_path": path } }] });
    let last = |say: Value| {
        let mut step = look(STOCK, 1, say);
        step["when"]["last_user_contains"] = json!(["This is your last turn: its 2 turns are used up"]);
        step
    };
    let looks = [look(STOCK, 0, read("src/stock.py")), last(json!({ "calls": [given("confirmed", 8, "So.")] }))];
    let told =
        talk(&shop, "last_turn", Wire::Chat, &[STOCK], &looks).ends("--verify auto --max-turns 4", 0, "finished");
    assert_eq!((state(&told, STOCK), told.review["provenance"]["turns"].as_u64()), ("confirmed", Some(4)));
    let looks = [look(STOCK, 0, read("src/stock.py")), last(read("src/cart.py"))];
    let told =
        talk(&shop, "no_last_word", Wire::Gemini, &[STOCK], &looks).ends("--verify auto --max-turns 4", 0, "finished");
    unchecked(&told, STOCK, "gave no verdict before its 2 turns");
    assert_eq!(told.review["outcome"], "complete");
}

#[test]
fn where_there_is_not_enough_for_all_the_worst_are_looked_at() {
    let shop = shop();
    // Two turns are left: one look.
    let looks = [verdict(STOCK, 0, "confirmed", 9, "So.")];
    let told = talk(&shop, "the_worst_first", Wire::Messages, &[GUARD, DISCOUNT, STOCK], &looks).ends(
        "--verify all --max-turns 5",
        0,
        "finished",
    );
    assert_eq!(state(&told, STOCK), "confirmed");
    unchecked(&told, DISCOUNT, "too little of the budget was left");
    assert_eq!(told.review["provenance"]["second_look"]["unchecked"], 2);
}

#[test]
fn a_part_of_the_budget_is_kept_for_it_and_said() {
    let shop = shop();
    // With a finding to look at, 8 turns are 6 for the review.
    let read = json!({ "calls": [{ "name": "list_files", "input": {} }] });
    let main = |turn: u32| json!({ "when": { "turn": turn, "tools_include": ["finish_review"] }, "say": read });
    let mut steps = vec![reporting(&[STOCK]).remove(0)];
    steps.extend((1..5).map(main));
    let mut last = main(5);
    last["when"]["last_user_contains"] = json!(["the limit of 8 turns but 2 for the second look was reached"]);
    steps.extend([last, verdict(STOCK, 0, "confirmed", 9, "So.")]);
    let told = Talk::scripted(&shop, session("kept_back", &steps), Wire::Messages).ends(
        "--verify auto --max-turns 8",
        3,
        "turn_limit",
    );
    assert_eq!((state(&told, STOCK), told.review["provenance"]["turns"].as_u64()), ("confirmed", Some(7)));
}

#[test]
fn after_a_review_that_broke_off_nobody_is_asked() {
    let shop = shop();
    let mut steps = vec![reporting(&[STOCK]).remove(0)];
    steps.push(json!({ "when": { "turn": 1 }, "say": { "fault": { "status": { "code": 400, "message": "gone" } } } }));
    let told =
        Talk::scripted(&shop, session("broke_off", &steps), Wire::Messages).ends("--verify auto", 3, "request_refused");
    unchecked(&told, STOCK, "the review itself broke off");
}

#[cfg(unix)]
#[test]
fn an_interrupt_ends_it_and_the_review() {
    let shop = shop();
    let looks = [look(STOCK, 0, json!({ "fault": "hang" })), look(DISCOUNT, 0, json!({ "fault": "hang" }))];
    let talk = talk(&shop, "interrupted_look", Wire::Messages, &[STOCK, DISCOUNT], &looks);
    let child =
        talk.program.command(talk.words("--verify auto").split_whitespace()).spawn().expect("the program starts");
    talk.server.wait_for(4);
    rustix::process::kill_process(rustix::process::Pid::from_child(&child), rustix::process::Signal::INT)
        .expect("it is sent");
    let told = Told::read(&crate::support::Ran::wait(child));
    assert_eq!((told.code, told.ended(), told.review["outcome"].as_str()), (130, "interrupted", Some("incomplete")));
    unchecked(&told, STOCK, "interrupted");
    assert_eq!(told.titles(), [STOCK, DISCOUNT]);
    talk.server.finish();
}
