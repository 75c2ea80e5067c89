//! What a run costs: the limit of money, what is said where a price is not known, and what is told before anything is sent.

use std::time::Duration;

use review_runner::domain::money::Money;
use review_runner::domain::preview::FileState;
use review_runner::domain::review::{Review, ReviewOutcome, StopReason};
use review_runner::llm::{Message, Prices, TurnRequest, TurnResponse, TurnUsage};
use review_runner::review::{BudgetLimits, CostLimit, JournalReplay, VerificationScope, estimate_tokens};
use serde_json::{Value, json};

use crate::support::Program;
use crate::support::engine::{Disk, Model, Scene, calls, rendered};
use crate::support::generated::assert_part;
use crate::support::looks::{DISCOUNT, given, report};
use crate::support::model::Wire;
use crate::support::session::{Talk, many, shop};

fn usd(text: &str) -> Money {
    text.parse().expect("an amount")
}

/// Those of a good model.
fn prices() -> Prices {
    let (cache_read, on) = (Some(usd("0.3")), "2026-11-01".parse().expect("a day"));
    Prices { input: usd("3"), output: usd("15"), cache_read, cache_write: Some(usd("3.75")), on, large: None }
}

fn limits(most: &str) -> BudgetLimits {
    BudgetLimits {
        turns: 12,
        input_tokens: 2_000_000,
        window: 48_000,
        max_output: 2_000,
        time: Duration::from_mins(20),
        cost: Some(CostLimit { most: usd(most), prices: prices() }),
    }
}

/// About what a request takes, as a server would count it.
fn size(request: &TurnRequest) -> u64 {
    let tools: u64 = request
        .tools
        .iter()
        .map(|tool| estimate_tokens(&tool.description) + estimate_tokens(&tool.schema.to_string()))
        .sum();
    let messages = request.messages.iter().map(|message| match message {
        Message::User { text, .. } => estimate_tokens(text),
        Message::Assistant { .. } => 100,
        Message::Results { results, .. } => results.iter().map(|result| estimate_tokens(&result.text)).sum(),
    });
    estimate_tokens(&request.system) + tools + messages.sum::<u64>()
}

/// An answer with what it takes, without any help of a cache, and the longest that may be.
fn charged(request: &TurnRequest, answer: TurnResponse) -> TurnResponse {
    let (input, output) = (Some(size(request)), Some(u64::from(request.max_output)));
    let usage = TurnUsage { input, output, cache_read: Some(0), cache_write: input, cost: None };
    TurnResponse { usage: TurnUsage { cost: prices().cost(&usage), ..usage }, ..answer }
}

fn said(request: &TurnRequest, words: &str) -> bool {
    matches!(request.messages.last(), Some(Message::User { text, .. }) if text.contains(words))
}

fn read(path: &str) -> (&'static str, Value) {
    ("read_file_part", json!({ "file_path": path }))
}

fn found() -> (&'static str, Value) {
    ("report_finding", report(DISCOUNT)["input"].clone())
}

/// Reads for ever; asked to finish, it reports.
fn reader(request: &TurnRequest) -> TurnResponse {
    let answer = if said(request, "This is your last turn") {
        calls("", &[found()])
    } else {
        calls("", &[read("src/cart.py"), read("src/order.py")])
    };
    charged(request, answer)
}

fn model(says: impl Fn(&TurnRequest) -> TurnResponse + Send + Sync + 'static) -> Model {
    Model::that(move |request| Ok(says(request)))
}

fn cost(review: &Review) -> Money {
    review.provenance.usage.cost.expect("it is known")
}

#[test]
fn a_run_lands_before_its_money_is_spent_and_goes_on_with_more() {
    let repo = shop();
    let (little, disk) = (Scene::of(&repo, limits("0.30")), Disk::default());
    let reading = model(reader);
    let review = little.review(&reading, &disk);
    assert_eq!(
        (review.ended, review.outcome, review.findings.len()),
        (StopReason::CostLimit, ReviewOutcome::Incomplete, 1)
    );
    assert!(reading.asked() > 2 && cost(&review) <= usd("0.30"), "{} turns, {}", reading.asked(), cost(&review));
    assert!(
        review.reasons.join("\n").contains("the limit of $0.30 does not pay for another turn"),
        "{:?}",
        review.reasons
    );
    assert_eq!(review.coverage.limits_hit.len(), 1);
    let (bytes, entries) = disk.cut();
    assert_eq!(rendered(&little.told(&entries).unwrap()), rendered(&review), "it is told as it was");

    // With no more it ends as it did, and nobody is asked.
    let again =
        little.sit(JournalReplay::resume(&entries).unwrap(), &Model::mute(), &Disk::with(&bytes)).unwrap().unwrap();
    assert_eq!((again.ended, cost(&again)), (StopReason::CostLimit, cost(&review)));

    // What was spent before counts.
    let (more, disk) = (Scene::of(&repo, limits("0.60")), Disk::with(&bytes));
    let goes_on = model(reader);
    let longer = more.sit(JournalReplay::resume(&entries).unwrap(), &goes_on, &disk).unwrap().unwrap();
    assert!(goes_on.asked() > 0 && cost(&longer) > cost(&review) && cost(&longer) <= usd("0.60"), "{}", cost(&longer));
    assert_eq!(rendered(&more.told(&disk.cut().1).unwrap()), rendered(&longer));
}

#[test]
fn no_limit_of_money_is_ever_exceeded() {
    let repo = shop();
    for cents in 1..=60 {
        let most = format!("0.{cents:02}");
        let (scene, disk) = (Scene::of(&repo, limits(&most)), Disk::default());
        let review = scene.review(&model(reader), &disk);
        assert!(cost_or_nothing(&review) <= usd(&most), "{most}: {}", cost(&review));
        assert!(matches!(review.ended, StopReason::CostLimit | StopReason::TurnLimit), "{most}: {:?}", review.ended);
        assert_eq!(rendered(&scene.told(&disk.cut().1).unwrap()), rendered(&review), "{most}");
    }
}

/// Nobody is asked where not even one turn can be paid for.
fn cost_or_nothing(review: &Review) -> Money {
    if review.provenance.turns == 0 { Money::NOTHING } else { cost(review) }
}

#[test]
fn parts_and_second_looks_share_the_money() {
    let repo = many(200);
    let finding = || {
        json!({ "title": "It is wrong", "body": "It goes wrong.", "severity": "high", "category": "logic",
            "file_path": "src/part0/file3.py", "quote": "value_3_3 = 3 * 3  # a line that has no meaning", "start_line": 4 })
    };
    let says = move |request: &TurnRequest| {
        let is_look = request.tools.iter().any(|tool| tool.name == "give_verdict");
        let answer = if is_look {
            calls("", &[("give_verdict", given("confirmed", 9, "It is so.")["input"].clone())])
        } else {
            calls("", &[("report_finding", finding()), ("finish_review", json!({ "summary": "Well." }))])
        };
        charged(request, answer)
    };
    for most in ["0.50", "1", "2", "5"] {
        let scene = Scene::of(&repo, limits(most)).with_looks(VerificationScope::All);
        let disk = Disk::default();
        let review = scene.review(&model(says), &disk);
        assert!(cost_or_nothing(&review) <= usd(most), "{most}: {}", cost(&review));
        assert_eq!(review.coverage.files.len(), 200);
        if most == "5" {
            assert_eq!(review.outcome, ReviewOutcome::Complete, "{:?}", review.reasons);
            let look = review.provenance.second_look.as_ref().expect("a look");
            assert!(look.turns > 0 && look.usage.cost.expect("it is known") > Money::NOTHING, "{look:?}");
        } else {
            assert!(most != "0.50" || review.outcome == ReviewOutcome::Incomplete, "{most}: {:?}", review.reasons);
        }
        assert_eq!(rendered(&scene.told(&disk.cut().1).unwrap()), rendered(&review), "{most}");
    }
}

#[test]
fn what_is_told_beforehand_is_what_is_sent() {
    let repo = shop();
    let scene = Scene::of(&repo, BudgetLimits { turns: 8, ..limits("5") });
    let plan = scene.planned(&Model::mute().with_prices(prices()));
    let sent = plan.sent.expect("something is sent");
    let first = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let kept = std::sync::Arc::clone(&first);
    let review = scene.review(
        &model(move |request| {
            kept.lock().unwrap().push(size(request));
            reader(request)
        }),
        &Disk::default(),
    );
    assert_eq!(sent.parts.len(), 1);
    assert_eq!(sent.parts[0].request(), first.lock().unwrap()[0], "the first request has the size that was told");
    let states: Vec<_> = plan.files.iter().map(|file| (file.path.to_string(), file.state)).collect();
    assert_eq!(states, [("src/cart.py".to_owned(), FileState::Shown), ("src/stock.py".to_owned(), FileState::Shown)]);
    let (usage, estimate) = (review.provenance.usage, sent.estimate);
    let tokens = usage.input_tokens.unwrap();
    assert!((estimate.input_tokens.least..=estimate.input_tokens.most).contains(&tokens), "{tokens} {estimate:?}");
    let money = estimate.cost.unwrap();
    assert!((money.least..=money.most).contains(&cost(&review)), "{} {money:?}", cost(&review));
}

/// The figures of a preview, and of the run that follows it.
#[test]
fn what_scripted_runs_take_is_within_what_was_told_beforehand() {
    let repo = shop();
    let mut rows = Vec::new();
    for session in ["well", "found", "six_turns", "cut_call_then_well"] {
        let talk = Talk::named(&repo, session, &format!("{session}_previewed"), Wire::Chat);
        let before = talk.program.words("--target main --model openai-chat/scripted --preview --format json").ended(0);
        assert!(talk.server.asked().is_empty(), "nothing is sent");
        let sent = &before.json()["sent"];
        let told = talk.run("");
        let made = &told.review["provenance"];
        // In the same estimate: the server counts in a way of its own.
        let bodies = talk.server.raw().into_iter().map(|raw| estimate_tokens(&String::from_utf8_lossy(&raw.body)));
        let (taken, span) = (bodies.sum::<u64>(), &sent["estimate"]["input_tokens"]);
        let number = |value: &Value| value.as_u64().unwrap_or_else(|| panic!("{value}: {}", told.all()));
        let within = number(&span["least"]) <= taken && taken <= number(&span["most"]);
        let turns = &sent["estimate"]["turns"];
        let turns =
            number(&turns["least"]) <= number(&made["turns"]) && number(&made["turns"]) <= number(&turns["most"]);
        let (likely, most) = (&span["likely"], &span["most"]);
        rows.push(format!("| `{session}` | {} | {taken} | {likely} likely, {most} at most |", made["turns"]));
        // Whoever ends at once needs no second turn.
        assert!(within && turns || made["turns"] == 1, "{rows:#?} {sent:#}");
    }
    let head = ["| session | turns | tokens sent | estimated before |", "| --- | --- | --- | --- |"];
    let table = head.iter().map(|line| (*line).to_owned()).chain(rows).collect::<Vec<_>>().join("\n");
    assert_part("docs/cost.md", "<!-- measured -->\n", "<!-- /measured -->", &format!("\n{table}\n\n"));
}

#[test]
fn a_preview_sends_nothing_needs_no_key_and_keeps_nothing() {
    let repo = shop();
    let program = Program::in_folder(repo.root());
    let shown = program.words("--target main --model anthropic/claude-x --preview").ended(0);
    let text = shown.text();
    for words in [
        "nothing is sent",
        "anthropic/claude-x at https://api.anthropic.com",
        "ANTHROPIC_API_KEY is not set",
        "2 shown",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    let document = program.words("--target main --model anthropic/claude-x --preview --format json").ended(0).json();
    assert_eq!((&document["schema"], &document["engine"]), (&"preview/1".into(), &"model".into()));
    assert_eq!(document["model"]["missing_key"], "ANTHROPIC_API_KEY");
    assert_eq!(document["sent"]["parts"].as_array().map(Vec::len), Some(1), "{document:#}");
    let rules = program.words("--target main --no-model --preview --format json").ended(0).json();
    assert_eq!((&rules["engine"], &rules["sent"], &rules["model"]), (&"rules".into(), &Value::Null, &Value::Null));
    assert!(program.kept().is_empty(), "{:?}", program.kept());
    for (line, words) in [
        ("--target main --preview --format sarif", "--format with --preview"),
        ("--target main --preview --post", "cannot be used with"),
        ("--target main --preview --model nobody/x", "there is no provider"),
    ] {
        let refused = program.words(line).ended(2);
        assert!(refused.stderr.contains(words), "{line}: {}", refused.stderr);
    }
}

#[test]
fn a_limit_that_nothing_can_be_held_against_is_refused_before_anything_is_sent() {
    let repo = shop();
    let talk = Talk::named(&repo, "never_asked", "never_asked_cost", Wire::Chat);
    let line = "--target main --model openai-chat/scripted --max-cost 2.50";
    for line in [line.to_owned(), format!("{line} --preview")] {
        let refused = talk.program.words(&line).ended(2);
        for words in ["the limit of $2.50", "openai-chat/scripted", "docs/models.md", "nothing was sent"] {
            assert!(refused.stderr.contains(words), "{words}: {}", refused.stderr);
        }
    }
    assert!(talk.server.asked().is_empty() && talk.program.kept().is_empty());
    let bad = talk.program.words("--target main --no-model --max-cost 0").ended(2);
    assert!(bad.stderr.contains("an amount of dollars above nothing"), "{}", bad.stderr);
    talk.program.words("--target main --no-model --max-cost 2.50").ended(0);
}

#[test]
fn a_cost_that_nobody_knows_is_said_on_every_surface() {
    let repo = shop();
    let talk = Talk::named(&repo, "found", "found_cost", Wire::Chat);
    let outputs = ["markdown", "job-summary", "sarif", "junit"].map(|format| format!("--output {format}={format}.out"));
    let ran = talk.program.words(&format!("--target main --model openai-chat/scripted {}", outputs.join(" "))).ended(0);
    assert!(ran.text().contains("cost unknown") && !ran.text().contains("$0"), "{}", ran.text());
    for format in ["markdown", "job-summary", "junit"] {
        let text = std::fs::read_to_string(repo.root().join(format!("{format}.out"))).expect(format);
        assert!(text.contains("cost unknown") && !text.contains("$0"), "{format}: {text}");
    }
    let sarif: Value =
        serde_json::from_slice(&std::fs::read(repo.root().join("sarif.out")).expect("a file")).expect("JSON");
    assert_eq!(sarif["runs"][0]["properties"]["cost"], "cost unknown");
    let listed = talk.program.words("list").ended(0);
    assert!(listed.text().contains("unknown"), "{}", listed.text());
}
