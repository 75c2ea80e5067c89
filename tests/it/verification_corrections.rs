//! Verifications that mend a finding instead of arguing with it, and refutations that rest on nothing.

use serde_json::{Value, json};

use crate::support::TestRepo;
use crate::support::looks::{DISCOUNT, GUARD, STOCK, given, look, report, reporting, session, verdict};
use crate::support::model::Wire;
use crate::support::session::{Talk, Told, file, shop};
use crate::support::sitting::{bare, hanging_at, killed, resumed, steps};

/// A run about the shop in which the model reports `titles`, and `looks` are the steps of the verification.
fn talk(repo: &TestRepo, name: &str, titles: &[&str], looks: &[Value]) -> Talk {
    let steps: Vec<Value> = reporting(titles).into_iter().chain(looks.iter().cloned()).collect();
    Talk::scripted(repo, session(name, &steps), Wire::Messages)
}

fn finding<'t>(told: &'t Told, title: &str) -> &'t Value {
    let findings = told.review["findings"].as_array().expect("findings");
    findings.iter().find(|finding| finding["title"] == title).unwrap_or_else(|| panic!("{}", told.all()))
}

/// A verdict that confirms, with corrections.
fn correcting(turn: u32, fields: &Value) -> Value {
    let mut call = given("confirmed", 9, "`src/cart.py:14` divides by 10.");
    for (name, value) in fields.as_object().expect("fields") {
        call["input"][name] = value.clone();
    }
    look(DISCOUNT, turn, json!({ "calls": [call] }))
}

/// Replays the newest run, and checks that it is the same.
fn replays(talk: &Talk) {
    let ran = talk.program.words("replay last --format json").ended(0);
    assert!(ran.stderr.contains("the same review, byte for byte"), "{}", ran.stderr);
}

#[test]
fn what_a_verification_corrects_is_corrected_in_the_finding() {
    let shop = shop();
    let fields = json!({
        "severity": "medium", "wrong_text": "It goes  wrong.", "right_text": "Orders with a discount pay too little.",
        "quote": "    return amount * rate", "start_line": 15 });
    let talk = talk(&shop, "corrected_by_verification", &[DISCOUNT], &[correcting(0, &fields)]);
    let told = talk.run("--verify auto");
    let one = finding(&told, DISCOUNT);
    assert_eq!((&one["severity"], &one["body"]), (&json!("medium"), &json!("Orders with a discount pay too little.")));
    assert_eq!(
        (&one["anchors"][0]["start_line"], &one["anchors"][0]["quote"]),
        (&json!(15), &json!("    return amount * rate"))
    );
    assert_eq!(one["anchors"].as_array().map(Vec::len), Some(1), "the wrong place is gone");
    assert_eq!(
        one["verification"]["corrections"],
        json!([
            { "field": "severity", "was": "high", "now": "medium" },
            { "field": "body", "was": "It goes wrong.", "now": "Orders with a discount pay too little." },
            { "field": "place", "was": "src/cart.py:14", "now": "src/cart.py:15" },
        ])
    );
    let notes = told.review["coverage"]["notes"].to_string();
    assert!(notes.contains("its verification corrected the severity, from high to medium"), "{notes}");
    assert_eq!(told.review["outcome"], "complete");
    replays(&talk);
    talk.server.finish();
}

#[test]
fn a_severity_is_not_lowered_without_a_citation() {
    let shop = shop();
    let uncited = json!({ "severity": "nit", "rationale": "The comment says that this is known and harmless." });
    let mut again = correcting(1, &uncited);
    again["when"]["last_results"] =
        json!([{ "name": "give_verdict", "contains": ["not_accepted", "must cite code"], "is_error": true }]);
    let talk = talk(&shop, "severity_without_citation", &[DISCOUNT], &[correcting(0, &uncited), again]);
    let told = talk.run("--verify auto --fail-on high");
    let one = finding(&told, DISCOUNT);
    assert_eq!((&one["severity"], &one["verification"]["state"]), (&json!("high"), &json!("confirmed")), "{one}");
    let notes = told.review["coverage"]["notes"].to_string();
    assert!(notes.contains("a correction by its verification was not made: the rationale of a lower"), "{notes}");
    replays(&talk);
    talk.server.finish();
}

#[test]
fn a_correction_that_does_not_stand_is_sent_back_once_and_then_left_out() {
    let shop = shop();
    let wrong = json!({ "quote": "    rate = percents / 10", "wrong_text": "Nothing of the kind.", "severity": "low" });
    let mut again = correcting(1, &wrong);
    again["when"]["last_results"] = json!([{ "name": "give_verdict", "contains": ["not_accepted", "a correction was not taken"], "is_error": true }]);
    let talk = talk(&shop, "correction_refused", &[DISCOUNT], &[correcting(0, &wrong), again]);
    let told = talk.run("--verify auto");
    let one = finding(&told, DISCOUNT);
    assert_eq!((&one["severity"], &one["body"]), (&json!("low"), &json!("It goes wrong.")));
    assert_eq!(one["anchors"][0]["start_line"], 14);
    assert_eq!(one["verification"]["corrections"].as_array().map(Vec::len), Some(1), "{one}");
    let notes = told.review["coverage"]["notes"].to_string();
    assert!(notes.matches("a correction by its verification was not made").count() == 2, "{notes}");
    replays(&talk);
    talk.server.finish();
}

#[test]
fn a_suggestion_does_not_stay_behind_when_its_finding_is_moved() {
    let mut reported = report(DISCOUNT);
    reported["input"]["suggestion"] = "    rate = percent / 100".into();
    let mut all = reporting(&[DISCOUNT]);
    all[0]["say"]["calls"] = json!([reported]);
    all.push(correcting(
        0,
        &json!({ "file_path": "src/stock.py", "quote": "    if stock[name] <= count:", "rationale": "So." }),
    ));
    let shop = shop();
    let told = Talk::scripted(&shop, session("moved_suggestion", &all), Wire::Messages);
    let told = told.ends("--verify auto", 0, "finished");
    let one = finding(&told, DISCOUNT);
    assert_eq!((&one["anchors"][0]["path"], &one["suggestion"]), (&json!("src/stock.py"), &Value::Null), "{one:#}");
}

#[test]
fn a_refutation_needs_a_citation_and_the_words_of_the_finding_are_none() {
    let mut reported = report(DISCOUNT);
    reported["input"]["body"] = "The rate is too large: `rate = percent * 1000` comes to the same.".into();
    let quoted = "Nothing computes `rate = percent * 1000`, as it says.";
    let ends = |name: &str, turns: &[&str]| {
        let mut all = reporting(&[DISCOUNT]);
        all[0]["say"]["calls"] = json!([reported]);
        all.extend((0..).zip(turns).map(|(turn, rationale)| verdict(DISCOUNT, turn, "refuted", 2, rationale)));
        Talk::scripted(&shop(), session(name, &all), Wire::Messages).ends("--verify auto", 0, "finished")
    };
    for (name, rationale) in [("cites_finding", quoted), ("cites_nothing", "A comment says that it is right.")] {
        let told = ends(name, &[rationale, rationale]);
        let verification = &finding(&told, DISCOUNT)["verification"];
        assert_eq!(verification["state"], "uncertain", "{}", told.all());
        let stated = verification["rationale"].as_str().expect("one");
        assert!(stated.contains("without citing any code"), "{stated}");
    }
    // Sent back, it may cite what it has read.
    let told = ends("cites_later", &[quoted, &format!("{quoted} See `src/cart.py:14`.")]);
    assert_eq!((told.titles().len(), &told.review["coverage"]["withheld"][0]["title"]), (0, &json!(DISCOUNT)));
}

#[test]
fn a_confirmation_that_cites_what_was_not_read_vouches_for_nothing() {
    let state = |name: &str, rationales: &[&str]| {
        let shop = shop();
        let turns: Vec<_> =
            (0..).zip(rationales).map(|(turn, rationale)| verdict(DISCOUNT, turn, "confirmed", 9, rationale)).collect();
        let told = talk(&shop, name, &[DISCOUNT], &turns).ends("--verify auto", 0, "finished");
        finding(&told, DISCOUNT)["verification"].clone()
    };
    let unread = "`src/order.py:7` passes whole percents.";
    let doubted = state("confirms_unread", &[unread, unread]);
    assert_eq!(doubted["state"], "uncertain", "{doubted:#}");
    assert!(doubted["rationale"].as_str().expect("one").starts_with("It was confirmed with \"src/order.py:7\""));
    // A remedy is no citation, and what was sent back can be put right.
    let mended =
        state("confirms_mended", &[unread, "`src/cart.py:14` divides by ten; `rate = percent / 1000.0` would do."]);
    assert_eq!(mended["state"], "confirmed", "{mended:#}");
}

#[test]
fn a_refutation_that_cites_what_was_not_read_refutes_nothing() {
    let shop = shop();
    let cites = |turn: u32, rationale: &str| verdict(DISCOUNT, turn, "refuted", 2, rationale);
    let unread = "`src/order.py:7` guards it.";
    let mut again = cites(1, unread);
    again["when"]["last_results"] =
        json!([{ "name": "give_verdict", "contains": ["not_accepted", "src/order.py:7", "were not shown"] }]);
    let first = talk(&shop, "cites_unread", &[DISCOUNT], &[cites(0, unread), again]);
    let told = first.run("--verify auto");
    let verification = &finding(&told, DISCOUNT)["verification"];
    assert_eq!(verification["state"], "uncertain", "{}", told.all());
    let rationale = verification["rationale"].as_str().expect("one");
    assert!(rationale.contains("has not read") && rationale.contains(unread), "{rationale}");
    replays(&first);
    first.server.finish();

    let invented = "It says `if percent < 0: raise ValueError` first.";
    let told = talk(&shop, "cites_invented", &[DISCOUNT], &[cites(0, invented), cites(1, invented)]).ends(
        "--verify auto",
        0,
        "finished",
    );
    assert_eq!(finding(&told, DISCOUNT)["verification"]["state"], "uncertain", "{}", told.all());

    let reads = json!({ "calls": [{ "name": "read_file_part", "input": { "file_path": "src/order.py" } }] });
    let read = "`src/order.py:7` guards it: `return amount - discount(amount, order.percent)`.";
    let told = talk(&shop, "cites_read", &[DISCOUNT], &[look(DISCOUNT, 0, reads), cites(1, read)]).ends(
        "--verify auto",
        0,
        "finished",
    );
    assert_eq!((told.titles().len(), &told.review["coverage"]["withheld"][0]["title"]), (0, &json!(DISCOUNT)));
}

#[test]
fn a_verification_sees_the_suggestion_and_the_diff_of_every_quoted_place() {
    let mut reported = report(DISCOUNT);
    reported["input"]["suggestion"] = "    rate = percent / 100".into();
    reported["input"]["related"] = json!([{ "file_path": "src/stock.py", "quote": "    if stock[name] <= count:" }]);
    let mut all = reporting(&[DISCOUNT]);
    all[0]["say"]["calls"] = json!([reported]);
    let mut seen = verdict(DISCOUNT, 0, "confirmed", 9, "So.");
    seen["when"]["user_contains"] = json!([
        "It suggests this instead of line 14 of src/cart.py",
        "    rate = percent / 100",
        "=== src/cart.py\n",
        "=== src/stock.py\n",
        "-        raise ValueError",
        "-    if stock[name] < count:"
    ]);
    all.push(seen);
    let told = Talk::scripted(&shop(), session("sees_all", &all), Wire::Messages).ends("--verify auto", 0, "finished");
    assert_eq!(finding(&told, DISCOUNT)["verification"]["state"], "confirmed", "{}", told.all());
}

#[test]
fn a_medium_finding_without_a_suggestion_is_verified_while_there_is_budget() {
    let shop = shop();
    let looks = [GUARD, STOCK].map(|title| verdict(title, 0, "confirmed", 8, "So."));
    let told = talk(&shop, "medium", &[GUARD, STOCK], &looks).ends("--verify auto", 0, "finished");
    let made = &told.review["provenance"];
    assert_eq!((&made["second_look"]["turns"], &made["turns"]), (&json!(2), &json!(4)), "one turn each: {made}");
    assert_eq!(finding(&told, GUARD)["verification"]["state"], "confirmed");
    eprintln!("verification of two: {}", made["second_look"]["usage"]);
}

#[test]
fn a_finding_is_corrected_by_its_id_also_when_the_run_is_resumed() {
    let repo = shop();
    let whole = Talk::named(&repo, "corrected", "corrected_whole", Wire::Messages).ends("", 0, "finished");
    let one = finding(&whole, DISCOUNT);
    assert_eq!((&one["severity"], &one["body"]), (&json!("high"), &json!("Orders with a discount pay too little.")));
    assert_eq!(whole.review["findings"].as_array().map(Vec::len), Some(1));
    assert_eq!(whole.review["coverage"]["withheld"], json!([]), "the refused correction was made after all");
    assert!(!whole.review["coverage"]["notes"].to_string().contains("withdrawn"), "{}", whole.all());
    assert!(file("corrected").is_file(), "every session is replayed");
    for at in 1..4 {
        let steps = hanging_at(steps("corrected"), at);
        let talk = Talk::scripted(&repo, session(&format!("corrected_{at}"), &steps), Wire::Messages);
        killed(&talk, "", at + 1);
        assert_eq!(bare(&resumed(&talk, "", 0)), bare(&whole), "killed in turn {}", at + 1);
        replays(&talk);
        talk.server.finish();
    }
}
