//! The second look at what a model reports: verdicts as calls and as text, and what becomes of the findings.

use serde_json::{Value, json};

use review_runner::review::{ConversationId, JournalRecord, RebuiltConversation, read_journal};

use crate::support::looks::{DISCOUNT, GUARD, STOCK, given, look, report, reporting, session, verdict};
use crate::support::model::{Options, Server, Wire};
use crate::support::session::{SAME_WINDOW, Talk, Told, shop};
use crate::support::{Program, TestRepo};

/// What the second look said of a finding: state, confidence, rationale.
fn said<'t>(told: &'t Told, title: &str) -> (&'t str, Option<u64>, &'t str) {
    let findings = told.review["findings"].as_array().expect("findings");
    let finding = findings.iter().find(|finding| finding["title"] == title);
    let finding = finding.unwrap_or_else(|| panic!("there is no {title:?}: {}", told.all()));
    let verification = &finding["verification"];
    let state = verification["state"].as_str().expect("a state");
    (state, finding["confidence"].as_u64(), verification["rationale"].as_str().unwrap_or(""))
}

/// Confirmed, uncertain, refuted, unchecked.
fn counts(told: &Told) -> [u64; 4] {
    let look = &told.review["provenance"]["second_look"];
    ["confirmed", "uncertain", "refuted", "unchecked"].map(|word| look[word].as_u64().unwrap_or(u64::MAX))
}

fn notes(told: &Told) -> String {
    told.review["coverage"]["notes"].to_string()
}

/// A run about the shop in which the model reports `titles`, and `looks` are the steps of the second look.
fn run(name: &str, wire: Wire, titles: &[&str], looks: &[Value], more: &str, code: i32) -> Told {
    let steps: Vec<Value> = reporting(titles).into_iter().chain(looks.iter().cloned()).collect();
    let repo = shop();
    Talk::scripted(&repo, session(name, &steps), wire).with_settings(SAME_WINDOW).ends(more, code, "finished")
}

/// What may differ between two runs of the same session.
fn bare(told: &Told) -> Value {
    let mut review = told.review.clone();
    for field in ["/id", "/provenance/started_at", "/provenance/took_ms", "/provenance/provider", "/provenance/model"] {
        *review.pointer_mut(field).expect("a field") = Value::Null;
    }
    let made = &mut review["provenance"];
    made["second_look"]["by"] = Value::Null;
    made["usage"]["cache_write_tokens"] = Value::Null;
    made["second_look"]["usage"]["cache_write_tokens"] = Value::Null;
    for finding in review["findings"].as_array_mut().expect("findings") {
        finding["origin"]["name"] = Value::Null;
        finding["verification"]["by"] = Value::Null;
    }
    review
}

#[test]
fn each_finding_ends_as_the_second_look_says_on_every_wire() {
    let reads = json!({ "calls": [
        { "name": "read_file_part", "input": { "file_path": "src/order.py" } },
        { "name": "search_in_files", "input": { "pattern": "discount\\(" } } ] });
    let mut seen =
        look(DISCOUNT, 1, json!({ "calls": [given("confirmed", 9, "`src/order.py:7` passes whole numbers.")] }));
    seen["when"]["last_results"] =
        json!([{ "name": "read_file_part", "contains": ["order.percent"], "is_error": false }, "search_in_files"]);
    let mut first = look(DISCOUNT, 0, reads);
    // What a verdict must cite as `path:line` has its number.
    first["when"]["user_contains"] = json!([DISCOUNT, "14 +    rate = percent / 10\n15 +    return amount * rate"]);
    let looks = [
        first,
        seen,
        verdict(STOCK, 0, "refuted", 2, "`src/stock.py:3` is right: one must stay."),
        verdict(GUARD, 0, "uncertain", 5, "It depends on callers outside."),
    ];
    let runs: Vec<Told> = std::thread::scope(|scope| {
        let run = |wire| {
            let looks = &looks;
            scope.spawn(move || run("second_look", wire, &[GUARD, DISCOUNT, STOCK], looks, "--verify all", 0))
        };
        let runs: Vec<_> = Wire::ALL.into_iter().map(run).collect();
        runs.into_iter().map(|run| run.join().expect("a run")).collect()
    });
    for told in &runs {
        assert_eq!(told.review["outcome"], "complete");
        assert_eq!(told.titles(), [DISCOUNT, GUARD]);
        assert_eq!(said(told, DISCOUNT), ("confirmed", Some(9), "`src/order.py:7` passes whole numbers."));
        assert_eq!(said(told, GUARD), ("uncertain", Some(5), "It depends on callers outside."));
        let by = told.review["findings"][0]["verification"]["by"].as_str().expect("somebody");
        assert!(by.ends_with("/scripted") && told.review["provenance"]["second_look"]["by"] == by, "{}", told.all());
        let withheld = &told.review["coverage"]["withheld"];
        assert_eq!((withheld.as_array().map(Vec::len), &withheld[0]["title"]), (Some(1), &json!(STOCK)));
        let reason = withheld[0]["reason"].as_str().expect("a reason");
        assert!(reason.contains("second look") && reason.contains("one must stay"), "{reason}");
        assert_eq!(counts(told), [1, 1, 1, 0]);
        let made = &told.review["provenance"];
        assert_eq!((&made["turns"], &made["second_look"]["turns"]), (&json!(6), &json!(4)), "{}", told.all());
        let tokens = |usage: &Value| usage["input_tokens"].as_u64().expect("it is known");
        assert!(
            0 < tokens(&made["second_look"]["usage"]) && tokens(&made["second_look"]["usage"]) < tokens(&made["usage"])
        );
        let done: Vec<_> =
            told.events("second_look").iter().map(|event| (event["done"].as_u64(), event["of"].as_u64())).collect();
        assert_eq!(done, (0..=3).map(|done| (Some(done), Some(3))).collect::<Vec<_>>());
        assert_eq!(told.events("withheld").len(), 1);
        assert_eq!(told.events("spent").last().expect("one")["input_tokens"], made["usage"]["input_tokens"]);
        assert_eq!(bare(told), bare(&runs[0]));
    }
}

#[test]
fn who_contradicts_himself_leaves_the_finding_uncertain_and_without_a_number() {
    let both = look(STOCK, 0, json!({ "calls": [given("confirmed", 9, "So."), given("refuted", 1, "No.")] }));
    let looks = [verdict(DISCOUNT, 0, "refuted", 9, "I am sure that it is wrong."), both];
    let told = run("contradictions", Wire::Messages, &[DISCOUNT, STOCK], &looks, "--verify auto", 0);
    let (state, confidence, rationale) = said(&told, DISCOUNT);
    assert_eq!((state, confidence), ("uncertain", None));
    assert!(
        rationale.contains("contradicts itself") && rationale.contains("refuted, with confidence 9"),
        "{rationale}"
    );
    let (state, confidence, rationale) = said(&told, STOCK);
    assert_eq!((state, confidence), ("uncertain", None));
    assert!(rationale.contains("both confirmed and refuted"), "{rationale}");
    assert_eq!((counts(&told), told.review["coverage"]["withheld"].as_array().map(Vec::len)), ([0, 2, 0, 0], Some(0)));
}

#[test]
fn a_verdict_in_text_counts_and_what_is_none_is_told_once() {
    let text = |text: &str| json!({ "text": text });
    let looks = [
        look(
            DISCOUNT,
            0,
            text(
                "I read it.\n\n```json\n{\"verdict\": \"refuted\", \"confidence\": 1, \"rationale\": \"`src/cart.py:14` divides by 10 on purpose.\"}\n```",
            ),
        ),
        look(STOCK, 0, text("The finding looks right to me.")),
        look(STOCK, 1, text("**Verdict:** confirmed\n**Confidence:** 7\n**Rationale:** Nothing else\nreserves.")),
        look(GUARD, 0, text("{\"verdict\": \"refuted\", \"confidence\":")),
        look(GUARD, 1, text("{\"verdict\": \"refuted\"}")),
    ];
    let told = run("verdicts_in_text", Wire::Chat, &[DISCOUNT, STOCK, GUARD], &looks, "--verify all", 0);
    assert_eq!(told.titles(), [STOCK, GUARD]);
    assert_eq!(said(&told, STOCK), ("confirmed", Some(7), "Nothing else reserves."));
    let none = "the model gave no verdict, and did not when told";
    assert_eq!(said(&told, GUARD), ("unchecked", Some(8), none), "a refutation without a reason is none");
    assert_eq!(counts(&told), [1, 0, 1, 1]);
    assert!(
        notes(&told).contains("gave no verdict, and did not when told") && notes(&told).contains(GUARD),
        "{}",
        notes(&told)
    );
    assert_eq!(told.review["outcome"], "complete");
}

#[test]
fn a_verdict_beside_reading_waits_for_what_is_read() {
    let early = json!({ "calls": [{ "name": "read_file_part", "input": { "file_path": "src/stock.py" } }, given("refuted", 1, "A guess.")] });
    let mut after =
        look(STOCK, 1, json!({ "calls": [given("confirmed", 8, "`src/stock.py:3` refuses the last one.")] }));
    after["when"]["last_results"] =
        json!(["read_file_part", { "name": "give_verdict", "contains": ["not seen yet"], "is_error": true }]);
    let told = run("early_verdict", Wire::Gemini, &[STOCK], &[look(STOCK, 0, early), after], "--verify auto", 0);
    assert_eq!(said(&told, STOCK).0, "confirmed");
}

#[test]
fn a_bad_call_is_answered_and_may_be_made_again() {
    let bad = json!({ "calls": [
        { "name": "give_verdict", "input": { "verdict": "wrong", "confidence": 2, "rationale": "x" } },
        { "name": "report_finding", "input": { "title": "Another" } },
        { "name": "give_verdict", "malformed": "{\"verdict\": " } ] });
    let mut again = verdict(STOCK, 1, "refuted", 3, "`src/stock.py:2` says so.");
    again["when"]["last_results"] = json!([
        { "name": "give_verdict", "contains": ["none of: confirmed"] },
        { "name": "report_finding", "contains": ["unknown_tool", "give_verdict"] },
        { "name": "give_verdict", "contains": ["malformed_input"] } ]);
    let told = run("bad_verdicts", Wire::Responses, &[STOCK], &[look(STOCK, 0, bad), again], "--verify auto", 0);
    assert_eq!((told.titles().len(), counts(&told)), (0, [0, 0, 1, 0]));
    assert_eq!(told.review["coverage"]["tool_errors"], 3, "{}", told.all());
    let summary = told.review["summary"]["total"].as_u64();
    assert_eq!((summary, told.code), (Some(0), 0));
}

#[test]
fn only_what_is_chosen_is_looked_at() {
    let repo = shop();
    let auto = [DISCOUNT, STOCK, GUARD].map(|title| verdict(title, 0, "confirmed", 8, "So."));
    let told = run("auto", Wire::Messages, &[DISCOUNT, STOCK, GUARD], &auto, "--verify auto", 0);
    assert_eq!((said(&told, GUARD).0, counts(&told)), ("confirmed", [3, 0, 0, 0]), "it is medium");
    let little = "--verify auto --max-turns 9";
    let told = run("auto_with_little", Wire::Messages, &[DISCOUNT, STOCK, GUARD], &auto[..2], little, 0);
    assert_eq!((said(&told, GUARD).0, counts(&told)), ("unchecked", [2, 0, 0, 1]), "seven turns are for the worst");
    assert!(notes(&told).contains(GUARD) && told.review["outcome"] == "complete", "{}", notes(&told));
    let told = run("none", Wire::Messages, &[DISCOUNT, STOCK, GUARD], &[], "--verify none", 0);
    assert!(told.review["provenance"].get("second_look").is_none(), "{}", told.all());
    assert!(told.events("second_look").is_empty() && told.review["provenance"]["turns"] == 2);
    let mut proven = reporting(&[GUARD]);
    proven[0]["say"]["calls"][0]["input"]["suggestion"] = "    return amount * min(rate, 1)".into();
    let told =
        Talk::scripted(&repo, session("nothing_chosen", &proven), Wire::Messages).ends("--verify auto", 0, "finished");
    assert!(told.review["provenance"].get("second_look").is_none(), "its suggestion is proven: {}", told.all());
    // auto is the default.
    let steps: Vec<Value> = reporting(&[STOCK]).into_iter().chain([verdict(STOCK, 0, "confirmed", 8, "So.")]).collect();
    let talk = Talk::scripted(&repo, session("auto_by_default", &steps), Wire::Messages).with("REVIEW_VERIFY", "");
    assert_eq!(counts(&talk.ends("", 0, "finished")), [1, 0, 0, 0]);
}

#[test]
fn what_a_rule_found_is_not_looked_at() {
    let repo = TestRepo::new();
    repo.write("README.md", "Rules.\n").commit("Begin");
    repo.branch("feature").write("a.py", "def check(done):\n    assert (done, 'it is not done')\n");
    repo.commit("Add");
    let end = json!({ "name": "finish_review", "input": { "summary": "Nothing." } });
    let steps = [json!({ "when": { "tools_include": ["finish_review"] }, "say": { "calls": [end] }, "times": 2 })];
    let told =
        Talk::scripted(&repo, session("unanswered_lead", &steps), Wire::Messages).ends("--verify all", 0, "finished");
    assert_eq!(told.review["findings"][0]["origin"]["kind"], "rule", "{}", told.all());
    assert!(told.review["provenance"].get("second_look").is_none(), "{}", told.all());
}

#[test]
fn what_a_rule_found_stands_where_the_models_word_for_it_does_not() {
    let repo = TestRepo::new();
    repo.write("README.md", "Rules.\n").commit("Begin");
    repo.branch("feature").write("a.py", "def add(item, items=[]):\n    items.append(item)\n    return items\n");
    repo.commit("Add");
    let title = "The list is shared by all calls";
    let main = |turn: u32, call: Value| json!({ "when": { "turn": turn, "tools_include": ["finish_review"] }, "say": { "calls": [call] } });
    let report = json!({ "name": "report_finding", "input": {
        "title": title, "body": "It grows.", "severity": "high", "category": "logic", "file_path": "a.py", "quote": "def add(item, items=[]):",
        "lead": "L1", "confidence": 3 } });
    let end = json!({ "name": "finish_review", "input": { "summary": "One." } });
    let run = |name: &str, looks: &[Value], more: &str, code: i32| {
        let steps: Vec<Value> =
            [main(0, report.clone()), main(1, end.clone())].into_iter().chain(looks.to_vec()).collect();
        Talk::scripted(&repo, session(name, &steps), Wire::Messages).ends(more, code, "finished")
    };
    let told = run("confirmed_lead", &[], "--verify none --fail-on nit", 1);
    assert_eq!((told.titles(), told.review["coverage"]["leads"]["confirmed"].as_u64()), (vec![title], Some(1)));
    let refuted = [verdict(title, 0, "refuted", 1, "No caller relies on a.py:1.")];
    let doubted = "--verify none --min-confidence 5 --fail-on nit";
    for (name, looks, words, why) in [
        ("refuted_lead", &refuted[..], "--verify auto --fail-on nit", "the second look refuted it"),
        ("doubted_lead", &[][..], doubted, "nobody is sure enough"),
    ] {
        let told = run(name, looks, words, 1);
        let findings = told.review["findings"].as_array().expect("findings");
        assert_eq!(findings.len(), 1, "{}", told.all());
        assert_eq!(
            (&findings[0]["origin"]["kind"], &findings[0]["verification"]["state"]),
            (&json!("rule"), &json!("unchecked"))
        );
        assert_eq!(findings[0]["id"].as_str().map(str::len), Some(12), "{}", told.all());
        assert!(
            notes(&told).contains("it is delivered as the rule found it") && notes(&told).contains(why),
            "{}",
            notes(&told)
        );
        let leads = &told.review["coverage"]["leads"];
        assert_eq!((&leads["given"], &leads["confirmed"], &leads["unanswered"]), (&json!(1), &json!(0), &json!(1)));
        assert_eq!(told.review["outcome"], "complete");
    }
}

#[test]
fn answers_in_any_order_give_the_same_review() {
    let run = |delays: [u64; 3]| {
        let of = [(DISCOUNT, "refuted", 1), (STOCK, "confirmed", 10), (GUARD, "refuted", 3)];
        let looks = of.into_iter().zip(delays).map(|((title, word, number), delay)| {
            let cited = if title == STOCK { "It is as it says." } else { "src/cart.py:14 decides." };
            look(title, 0, json!({ "calls": [given(word, number, cited)], "delay_ms": delay }))
        });
        let looks: Vec<Value> = looks.collect();
        run("any_order", Wire::Chat, &[DISCOUNT, STOCK, GUARD], &looks, "--verify all", 0)
    };
    let (one, other) = (run([0, 150, 300]), run([300, 150, 0]));
    assert_eq!(bare(&one), bare(&other));
    assert_eq!(counts(&one), [1, 0, 2, 0]);
}

#[test]
fn refuting_one_renames_no_other() {
    // Two findings with one fingerprint: the same line twice in a file.
    let repo = TestRepo::new();
    repo.write("a.py", "def one(x):\n    return x\n").commit("Begin");
    repo.branch("feature");
    let block = "def half(x):\n    return total(x) / number_of(x)\n\n\n";
    repo.write("a.py", format!("{block}def one(x):\n    return x\n")).write("b.py", block).commit("Divide");
    let report = |file: &str, title: &str| json!({ "name": "report_finding", "input": { "title": title, "body": "It fails.", "severity": "high", "category": "logic", "file_path": file, "quote": "    return total(x) / number_of(x)" } });
    let steps = |looks: Vec<Value>| {
        let main = |turn: u32, calls: Value| json!({ "when": { "turn": turn, "tools_include": ["finish_review"] }, "say": { "calls": calls } });
        let mut steps = vec![
            main(0, json!([report("a.py", "Half of a fails"), report("b.py", "Half of b fails")])),
            main(1, json!([{ "name": "finish_review", "input": { "summary": "Two." } }])),
        ];
        steps.extend(looks);
        steps
    };
    let all = Talk::scripted(&repo, session("twins", &steps(Vec::new())), Wire::Messages).ends(
        "--verify none",
        0,
        "finished",
    );
    let looks = vec![
        verdict("Half of a fails", 0, "refuted", 1, "a.py:2 is right."),
        verdict("Half of b fails", 0, "confirmed", 9, "Yes."),
    ];
    let left = Talk::scripted(&repo, session("twins_looked_at", &steps(looks)), Wire::Messages).ends(
        "--verify auto",
        0,
        "finished",
    );
    let id = |told: &Told, title: &str| {
        let findings = told.review["findings"].as_array().expect("findings").clone();
        findings.into_iter().find(|finding| finding["title"] == title).map(|finding| finding["id"].clone())
    };
    assert_eq!(left.titles(), ["Half of b fails"]);
    assert_eq!(id(&left, "Half of b fails"), id(&all, "Half of b fails"));
}

#[test]
fn words_of_a_rationale_do_nothing_where_they_are_shown() {
    let repo = shop();
    let hostile = "Wrong\u{1b}[2K\r::error::owned\n\n<!-- review:finding v=1 --> <img src=x onerror=y> @everyone \u{202e}gnp <<end 000000000000>> | a |";
    let looks = [
        verdict(DISCOUNT, 0, "refuted", 1, &format!("{hostile} src/cart.py:14")),
        verdict(STOCK, 0, "uncertain", 5, hostile),
    ];
    let steps: Vec<Value> = reporting(&[DISCOUNT, STOCK]).into_iter().chain(looks).collect();
    let talk = Talk::scripted(&repo, session("hostile_rationale", &steps), Wire::Messages);
    let out = talk.program.home("out.md");
    let words = format!("--target main --model anthropic/scripted --verify auto --output markdown={}", out.display());
    let shown = talk.program.words(&words).ended(0);
    let why = talk.program.words("show --why").ended(0);
    for text in [shown.text(), &std::fs::read_to_string(out).expect("it is written"), &shown.stderr, why.text()] {
        assert!(!text.contains(['\u{1b}', '\u{202e}', '\r']), "{text}");
        assert!(!text.lines().any(|line| line.trim_start().starts_with("::error")), "{text}");
    }
    let flat = shown.text().split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "uncertain: Wrong",
        "refuted by the second look: Wrong",
        "2 findings by anthropic/scripted: 1 uncertain, 1 refuted",
        "(second look: 2 turns, ",
    ] {
        assert!(flat.contains(part), "{part}: {}", shown.text());
    }
    let whole = "Verification by anthropic/scripted: Wrong";
    assert!(!flat.contains(whole), "{}", shown.text());
    let flat = why.text().split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains(whole), "{}", why.text());
    talk.server.finish();
}

#[test]
fn a_refuted_finding_does_not_fail_the_gate_and_a_doubted_or_unchecked_one_does() {
    for (name, look, code) in [
        ("gate_confirmed", verdict(STOCK, 0, "confirmed", 7, "So."), 1),
        ("gate_uncertain", verdict(STOCK, 0, "uncertain", 4, "So."), 1),
        ("gate_contradictory", verdict(STOCK, 0, "refuted", 8, "So."), 1),
        ("gate_unreadable", verdict(STOCK, 0, "refuted", 95, "So."), 1),
        ("gate_unchecked", look(STOCK, 0, json!({ "text": "I cannot.", "stop": "refusal" })), 1),
        ("gate_refuted", verdict(STOCK, 0, "refuted", 3, "src/stock.py:3 is so."), 0),
    ] {
        let told = run(name, Wire::Messages, &[STOCK], &[look], "--verify auto --fail-on critical", code);
        assert_eq!(told.review["outcome"], "complete", "{name}");
    }
}

#[test]
fn the_page_about_it_says_what_it_is_named() {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/second-look.md")).expect("the page");
    for word in [
        "--verify",
        "--verify-model",
        "--min-confidence",
        "confirmed",
        "uncertain",
        "refuted",
        "unchecked",
        "--fail-on",
    ] {
        assert!(page.contains(word), "{word}");
    }
}

#[test]
fn what_nobody_is_sure_of_is_counted_and_no_reason_to_fail() {
    let looks = [
        verdict(DISCOUNT, 0, "uncertain", 4, "Hard to say."),
        verdict(STOCK, 0, "confirmed", 7, "So."),
        look(GUARD, 0, json!({ "text": "I cannot.", "stop": "refusal" })),
    ];
    let told = run(
        "sure",
        Wire::Messages,
        &[DISCOUNT, STOCK, GUARD],
        &looks,
        "--verify auto --min-confidence 7 --fail-on high",
        1,
    );
    assert_eq!(told.titles(), [STOCK, GUARD], "the third has the number of its reporter");
    assert_eq!(told.review["coverage"]["below_confidence"], json!({ "high": 1 }));
    let looks = [verdict(DISCOUNT, 0, "uncertain", 4, "Hard to say.")];
    let told = run("unsure", Wire::Messages, &[DISCOUNT], &looks, "--verify auto --min-confidence 7 --fail-on high", 0);
    assert_eq!((told.titles().len(), told.review["outcome"].as_str()), (0, Some("complete")));
    let told = run(
        "floors",
        Wire::Messages,
        &[GUARD],
        &[],
        "--verify none --min-confidence 9 --min-severity high --fail-on medium",
        0,
    );
    assert_eq!(
        told.review["coverage"]["below_floor"],
        json!({}),
        "a doubted one does not count, whatever else hides it"
    );
    let told = run(
        "unscored",
        Wire::Messages,
        &[DISCOUNT],
        &[verdict(DISCOUNT, 0, "refuted", 10, "No.")],
        "--verify auto --min-confidence 10",
        0,
    );
    assert_eq!(told.titles(), [DISCOUNT], "a contradiction leaves no number, and what has none is shown");
}

#[test]
fn another_model_may_take_it_and_gets_a_key_of_its_own() {
    let repo = shop();
    let (first, second) = (Wire::Messages, Wire::Gemini);
    let looks = session("of_another", &[verdict(STOCK, 0, "confirmed", 9, "So.")]);
    let other = Server::start(looks, Options { wire: Some(second), ..Options::default() });
    let mut talk = Talk::scripted(&repo, session("by_one", &reporting(&[STOCK])), first);
    let refused = talk
        .program
        .words("--target main --model anthropic/scripted --verify auto --verify-model gemini/other")
        .ended(2);
    assert!(refused.stderr.contains("gemini/other") && refused.stderr.contains("GEMINI_API_KEY"), "{}", refused.stderr);
    for (name, value) in other.environment(second) {
        talk = talk.with(name, &value);
    }
    let told = talk.ends("--verify auto --verify-model gemini/other", 0, "finished");
    other.finish();
    assert_eq!(told.review["findings"][0]["verification"]["by"], "gemini/other");
    assert_eq!(told.review["provenance"]["model"], "scripted");
    assert_eq!(told.review["provenance"]["second_look"]["by"], "gemini/other");
    let warned = told.events("warning");
    assert!(
        warned.iter().any(|event| event["text"]
            .as_str()
            .is_some_and(|text| text.contains("gemini/other takes the second look"))),
        "{}",
        told.all()
    );
    let bad = Program::in_folder(repo.root()).words("--target main --no-model --verify-model none").ended(2);
    assert!(bad.stderr.contains("verify_model"), "{}", bad.stderr);
}

#[test]
fn the_journal_holds_every_conversation() {
    let repo = shop();
    let reads = json!({ "calls": [{ "name": "read_diff", "input": { "file_path": "src/stock.py" } }] });
    let looks = [
        look(STOCK, 0, reads),
        verdict(STOCK, 1, "confirmed", 9, "So."),
        look(DISCOUNT, 0, json!({ "text": "Hm." })),
        verdict(DISCOUNT, 1, "refuted", 2, "src/cart.py:14 is right."),
    ];
    let steps: Vec<Value> = reporting(&[STOCK, DISCOUNT]).into_iter().chain(looks).collect();
    let talk = Talk::scripted(&repo, session("second_look_journal", &steps), Wire::Messages);
    let told = talk.run("--verify auto");
    assert_eq!(told.code, 0, "{}", told.all());
    let journal = talk.journals().pop().expect("a journal");
    let entries = read_journal(journal.as_bytes()).expect("a journal");
    let mut requests = RebuiltConversation::from_entries(&entries).map(|whole| {
        assert!(whole.proven && whole.request.tools.iter().any(|tool| tool.name == "report_finding"));
    });
    assert!(requests.take().is_some());
    let units: std::collections::BTreeSet<String> = entries
        .iter()
        .filter_map(|entry| match &entry.unit {
            // What is about all of them is no conversation.
            ConversationId::Named(name) if *name == "verify" => None,
            ConversationId::Named(name) => Some(name.clone()),
            ConversationId::Part(_) => None,
        })
        .collect();
    assert_eq!(units.len(), 2, "{units:?}");
    for name in units {
        assert!(name.starts_with("verify/"), "{name}");
        let unit = ConversationId::Named(name);
        let rebuilt = RebuiltConversation::of_unit(&entries, &unit).expect("a conversation");
        assert!(rebuilt.proven && rebuilt.request.system.contains("give_verdict"));
        let ends =
            entries.iter().filter(|entry| entry.unit == unit && matches!(entry.record, JournalRecord::Verdict { .. }));
        assert_eq!(ends.count(), 1);
    }
    let asked = entries.iter().filter(|entry| matches!(entry.record, JournalRecord::Request { .. })).count();
    assert_eq!(asked, talk.server.raw().len());
    talk.server.finish();
}

#[test]
fn a_finding_is_asked_about_without_who_reported_it_and_as_data() {
    let repo = shop();
    let talk = {
        let looks = [verdict(STOCK, 0, "confirmed", 9, "So.")];
        let steps: Vec<Value> = reporting(&[STOCK]).into_iter().chain(looks).collect();
        Talk::scripted(&repo, session("question", &steps), Wire::Messages)
    };
    assert_eq!(talk.run("--verify auto").code, 0);
    let raw = talk.server.raw().pop().expect("a request");
    let body: Value = serde_json::from_slice(&raw.body).expect("JSON");
    let message = body["messages"][0]["content"][0]["text"].as_str().expect("a text");
    for part in
        [STOCK, "critical", "It goes wrong.", "     3\t    if stock[name] <= count:", "-    if stock[name] < count:"]
    {
        assert!(message.contains(part), "{part}: {message}");
    }
    assert!(!message.contains("scripted") && !message.contains("confidence"), "{message}");
    let (before, _) = message.split_once(STOCK).expect("the title");
    assert!(before.trim_end().ends_with(" finding>>"), "{message}");
    let _ = report(STOCK);
    talk.server.finish();
}
