//! Models that take over from each other, and servers that say that a conversation is too long: at the engine, on a real repository, with models
//! that are functions.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use review_runner::domain::review::{Review, ReviewOutcome, StopReason};
use review_runner::llm::{FinishReason, Message, MessagePart, TurnFault, TurnRequest, TurnResponse};
use review_runner::review::{
    BudgetLimits, ConversationId, JournalEntry, JournalRecord, JournalReplay, RebuiltConversation, VerificationScope,
};
use serde_json::{Value, json};

use crate::support::TestRepo;
use crate::support::engine::{Disk, Model, Scene, calls, rendered};
use crate::support::looks::{given, report, session};
use crate::support::model::{Options, Server, Wire};
use crate::support::session::{Talk, Told, shop};

const LIMITS: BudgetLimits = BudgetLimits {
    turns: 12,
    input_tokens: 400_000,
    window: 48_000,
    max_output: 2_000,
    cost: None,
    time: Duration::from_mins(20),
};

/// Turns of a review that nothing disturbs, its second look included.
const TURNS: u32 = 5;

fn spoken(request: &TurnRequest) -> usize {
    request.messages.iter().filter(|message| matches!(message, Message::Assistant { .. })).count()
}

fn is_look(request: &TurnRequest) -> bool {
    request.tools.iter().any(|tool| tool.name == "give_verdict")
}

fn read(path: &str) -> (&'static str, Value) {
    ("read_file_part", json!({ "file_path": path }))
}

/// Reads, reports, finishes; a second look reads and confirms. What it thinks is signed by `who`.
fn does(who: &str, request: &TurnRequest) -> TurnResponse {
    let mut answer = match (is_look(request), spoken(request)) {
        (true, 0) => calls("", &[read("src/order.py")]),
        (true, _) => calls("", &[("give_verdict", given("confirmed", 9, "It is so.")["input"].clone())]),
        (false, 0) => calls("I look.", &[read("src/cart.py"), read("src/stock.py")]),
        (false, 1) => calls("", &[("report_finding", report("The guard is gone")["input"].clone())]),
        (false, _) => calls("", &[("finish_review", json!({ "summary": "It takes a guard out." }))]),
    };
    answer.parts.insert(0, MessagePart::Opaque { value: json!({ "thought": format!("signed by {who}") }) });
    for part in &mut answer.parts {
        if let MessagePart::Call(call) = part {
            call.id = format!("{who}-{}-{}", spoken(request), call.id);
            call.signatures = vec![format!("signed by {who}")];
        }
    }
    answer
}

fn refused() -> TurnFault {
    TurnFault::Status { provider: "p".into(), status: 401, message: "no".to_owned(), retry_after: None }
}

fn busy() -> TurnFault {
    TurnFault::Status {
        provider: "p".into(),
        status: 529,
        message: "busy".to_owned(),
        retry_after: Some(Duration::ZERO),
    }
}

/// A model that must not be sent what another one signed.
fn well(who: &'static str) -> Model {
    Model::that(move |request| {
        for other in ["a", "b", "c"].into_iter().filter(|other| *other != who) {
            let sent = serde_json::to_string(request).unwrap();
            assert!(!sent.contains(&format!("signed by {other}")), "{who} gets what is {other}'s");
        }
        Ok(does(who, request))
    })
    .named(who)
}

/// One that fails for good from a turn on, of the review or of its second look.
fn lost(who: &'static str, at: (bool, usize), fault: fn() -> TurnFault) -> Model {
    let gone = AtomicBool::new(false);
    Model::that(move |request| {
        if (is_look(request), spoken(request)) == at {
            gone.store(true, Ordering::SeqCst);
        }
        if gone.load(Ordering::SeqCst) { Err(fault()) } else { Ok(does(who, request)) }
    })
    .named(who)
}

fn broken(who: &'static str) -> Model {
    Model::that(|_| Err(refused())).named(who)
}

fn scene(repo: &TestRepo) -> Scene {
    Scene::of(repo, LIMITS).with_looks(VerificationScope::All)
}

/// The same run told again, by models of the same names that must not be asked.
fn told(repo: &TestRepo, names: &[(&str, u64)], entries: &[JournalEntry]) -> Review {
    let mutes: Vec<Model> = names.iter().map(|(name, _)| Model::mute().named(name)).collect();
    let rest: Vec<(&Model, u64)> = mutes.iter().zip(names).skip(1).map(|(mute, (_, window))| (mute, *window)).collect();
    scene(repo).then(&rest).told_by(entries, &mutes[0]).unwrap()
}

/// The document without the name of its run: each scene has another.
fn shown(review: &Review) -> String {
    rendered(review).replace(&review.id.to_string(), "")
}

fn notes(review: &Review) -> String {
    review.coverage.notes.join("\n")
}

fn turns(review: &Review) -> Vec<(String, u32)> {
    review.provenance.answered.iter().map(|by| (by.model.clone(), by.turns)).collect()
}

/// That every conversation of a journal can be rebuilt to what was sent.
fn proven(entries: &[JournalEntry]) {
    let mut units: Vec<&ConversationId> = entries.iter().map(|entry| &entry.unit).collect();
    units.dedup();
    for unit in units {
        if let Some(rebuilt) = RebuiltConversation::of_unit(entries, unit) {
            assert!(rebuilt.proven, "{unit}");
        }
    }
}

#[test]
fn the_next_model_takes_over_at_every_turn_and_for_good() {
    let repo = shop();
    for at in [(false, 0), (false, 1), (false, 2), (true, 0), (true, 1)] {
        for fault in [refused, busy] {
            let (first, next, disk) = (lost("a", at, fault), well("b"), Disk::default());
            let review = scene(&repo).then(&[(&next, 48_000)]).review(&first, &disk);
            let document = shown(&review);
            assert_eq!((review.outcome, review.findings.len()), (ReviewOutcome::Complete, 1), "{at:?}: {document}");
            assert!(
                notes(&review).contains("ollama/b took over from ollama/a, which failed for good: p answered"),
                "{document}"
            );
            let before = TURNS - next.asked();
            let expected = [("a".to_owned(), before), ("b".to_owned(), next.asked())];
            assert_eq!(turns(&review), if before == 0 { &expected[1..] } else { &expected[..] }, "{at:?}");
            assert_eq!(review.provenance.turns, TURNS);
            let by = if matches!(at, (false, 0 | 1)) { "ollama/b" } else { "ollama/a" };
            assert_eq!(review.findings[0].origin.name, by, "{at:?}: who reported it");
            assert_eq!(review.findings[0].verification.by.as_deref(), Some("ollama/b"), "{at:?}");
            let (_, entries) = disk.cut();
            proven(&entries);
            assert_eq!(shown(&told(&repo, &[("a", 48_000), ("b", 48_000)], &entries)), document, "{at:?}");
        }
    }
}

#[test]
fn nobody_is_said_to_have_taken_over_where_nobody_did() {
    let repo = shop();
    let next = well("b");
    let review = scene(&repo).then(&[(&next, 48_000)]).review(&well("a"), &Disk::default());
    assert_eq!((next.asked(), turns(&review)), (0, Vec::new()));
    assert!(!rendered(&review).contains("took over") && !rendered(&review).contains("\"answered\""));
}

#[test]
fn a_run_that_is_killed_at_every_line_goes_on_with_whoever_was_asked_last() {
    let repo = shop();
    let whole = scene(&repo).then(&[(&well("b"), 48_000)]).review(&lost("a", (false, 1), refused), &Disk::default());
    let (next, mut bytes, mut kills) = (well("b"), Vec::new(), 0);
    let (review, disk) = loop {
        let (_, entries) = Disk::with(&bytes).cut();
        let past = JournalReplay::resume(&entries).unwrap_or_default();
        let disk = Disk::killed_at(&bytes, if entries.is_empty() { 2 } else { 5 }, 7);
        let first = lost("a", (false, 1), refused);
        match scene(&repo).then(&[(&next, 48_000)]).sit(past, &first, &disk) {
            None => {
                kills += 1;
                assert!(kills < 100, "it comes nowhere");
                bytes = disk.cut().0;
            }
            Some(review) => break (review.unwrap(), disk),
        }
        let handed = entries.iter().any(|entry| matches!(entry.record, JournalRecord::Takeover { .. }));
        assert!(!handed || first.asked() <= 1, "it was given up");
    };
    assert!(kills > 5, "{kills}");
    assert_eq!((review.outcome, review.findings.len()), (whole.outcome, whole.findings.len()));
    assert_eq!(turns(&review), turns(&whole));
    let entries = disk.cut().1;
    proven(&entries);
    assert_eq!(shown(&told(&repo, &[("a", 48_000), ("b", 48_000)], &entries)), shown(&review));
}

#[test]
fn when_all_have_failed_the_last_fault_ends_it_and_the_next_sitting_asks_all_of_them_again() {
    let repo = shop();
    let disk = Disk::default();
    let (first, next) = (lost("a", (false, 2), busy), broken("b"));
    let review = scene(&repo).then(&[(&next, 48_000)]).review(&first, &disk);
    assert_eq!((review.ended, next.asked()), (StopReason::RequestRefused, 1), "{}", rendered(&review));
    assert!(notes(&review).contains("ollama/b took over from ollama/a"));
    let (bytes, entries) = disk.cut();
    assert_eq!(shown(&told(&repo, &[("a", 48_000), ("b", 48_000)], &entries)), shown(&review));
    // The next day the first one is there again, and the other one is not.
    let (first, next, disk) = (well("a"), broken("b"), Disk::with(&bytes));
    let again = scene(&repo).then(&[(&next, 48_000)]);
    let review = again.sit(JournalReplay::resume(&entries).unwrap(), &first, &disk).unwrap().unwrap();
    assert_eq!((review.outcome, next.asked()), (ReviewOutcome::Complete, 1), "{}", rendered(&review));
    let (_, entries) = disk.cut();
    proven(&entries);
    assert_eq!(shown(&told(&repo, &[("a", 48_000), ("b", 48_000)], &entries)), shown(&review));
}

#[test]
fn whoever_cannot_hold_the_conversation_is_passed_over_and_that_is_said() {
    let repo = shop();
    let disk = Disk::default();
    let (first, small, next) = (lost("a", (false, 1), refused), Model::mute().named("b"), well("c"));
    let review = scene(&repo).then(&[(&small, 1_000), (&next, 48_000)]).review(&first, &disk);
    assert_eq!(review.outcome, ReviewOutcome::Complete, "{}", rendered(&review));
    let said = notes(&review);
    assert!(said.contains("ollama/c took over from ollama/a"), "{said}");
    assert!(
        said.contains("ollama/b was passed over: the conversation does not fit its window of 1000 tokens"),
        "{said}"
    );
    let names = [("a", 48_000), ("b", 1_000), ("c", 48_000)];
    assert_eq!(shown(&told(&repo, &names, &disk.cut().1)), shown(&review));
    let review = scene(&repo).then(&[(&small, 1_000)]).review(&lost("a", (false, 1), refused), &Disk::default());
    assert_eq!(review.ended, StopReason::RequestRefused);
    assert!(review.reasons.join(" ").contains("ollama/b was passed over"), "{:?}", review.reasons);
}

#[test]
fn a_model_that_refuses_is_not_replaced() {
    let repo = shop();
    let refuses =
        Model::that(|_| Ok(TurnResponse { stop: FinishReason::Refused, ..calls("I will not.", &[]) })).named("a");
    let review = scene(&repo).then(&[(&Model::mute().named("b"), 48_000)]).review(&refuses, &Disk::default());
    assert_eq!(review.ended, StopReason::Refused);
}

/// The characters of all that is sent.
fn size(request: &TurnRequest) -> usize {
    serde_json::to_string(&request.messages).unwrap().len()
}

fn too_long(window: Option<u64>) -> TurnFault {
    TurnFault::TooLong { provider: "p".into(), message: "prompt is too long".to_owned(), window }
}

/// A model that reads a large file in pieces, on a server that takes fewer characters than was reckoned with.
fn narrow(who: &'static str, most: usize, sizes: Arc<Mutex<Vec<usize>>>) -> Model {
    Model::that(move |request| {
        sizes.lock().unwrap().push(size(request));
        if size(request) > most {
            return Err(too_long(None));
        }
        let last = request
            .messages
            .iter()
            .any(|message| matches!(message, Message::User { text, .. } if text.contains("last turn")));
        Ok(match spoken(request) {
            at @ 0..8 if !last => {
                let (from, to) = (at * 100 + 1, at * 100 + 100);
                calls("", &[("read_file_part", json!({ "file_path": "big.txt", "start_line": from, "end_line": to }))])
            }
            _ => calls("", &[("finish_review", json!({ "summary": "Nothing.", "no_findings_reason": "It is well." }))]),
        })
    })
    .named(who)
}

fn big() -> TestRepo {
    let repo = TestRepo::new();
    let lines: Vec<String> =
        (0..900).map(|at| format!("line {at} of a file with words in it, as files have")).collect();
    repo.write("big.txt", lines.join("\n")).write("a.py", "a = 1\n");
    repo.commit("Begin");
    repo.branch("feature").write("a.py", "a = 2\n");
    repo.commit("Go on");
    repo
}

#[test]
fn a_server_that_takes_less_than_was_reckoned_with_gets_less() {
    let repo = big();
    let (sizes, disk) = (Arc::default(), Disk::default());
    let model = narrow("a", 25_000, Arc::clone(&sizes));
    let review = Scene::of(&repo, LIMITS).review(&model, &disk);
    assert_eq!(review.outcome, ReviewOutcome::Complete, "{}", rendered(&review));
    let said = notes(&review);
    assert!(said.contains("ollama/a takes less than was reckoned with") && said.contains("taken out"), "{said}");
    let (bytes, entries) = disk.cut();
    proven(&entries);
    assert!(entries.iter().filter(|entry| matches!(entry.record, JournalRecord::Window { .. })).count() < 4);
    let scene = Scene::of(&repo, LIMITS);
    assert_eq!(shown(&scene.told_by(&entries, &Model::mute().named("a")).unwrap()), shown(&review));
    assert!(bytes.len() > 1_000);
}

#[test]
fn a_server_that_takes_nothing_is_asked_twice_at_most_and_then_the_next_one() {
    let repo = big();
    for window in [None, Some(500), Some(8_000)] {
        let disk = Disk::default();
        let deaf = Model::that(move |_| Err(too_long(window))).named("a");
        let review = Scene::of(&repo, LIMITS).review(&deaf, &disk);
        assert_eq!(review.ended, StopReason::WindowLimit, "{}", rendered(&review));
        assert!(deaf.asked() <= 2, "{} times", deaf.asked());
        let scene = Scene::of(&repo, LIMITS);
        assert_eq!(shown(&scene.told_by(&disk.cut().1, &Model::mute().named("a")).unwrap()), shown(&review));

        let (disk, next) = (Disk::default(), narrow("b", usize::MAX, Arc::default()));
        let deaf = Model::that(move |_| Err(too_long(window))).named("a");
        let review = Scene::of(&repo, LIMITS).then(&[(&next, 48_000)]).review(&deaf, &disk);
        assert!(notes(&review).contains("ollama/b took over from ollama/a"), "{window:?}: {}", rendered(&review));
        assert!(deaf.asked() <= 2 && next.asked() > 0);
        let scene = Scene::of(&repo, LIMITS).then(&[(&Model::mute().named("b"), 48_000)]);
        assert_eq!(shown(&scene.told_by(&disk.cut().1, &Model::mute().named("a")).unwrap()), shown(&review));
    }
}

#[test]
fn one_provider_takes_over_from_another_whatever_they_speak() {
    let title = "A discount is ten times too large";
    let call = report(crate::support::looks::DISCOUNT);
    let thinking = json!([{ "text": "What is it about?", "signature": "U2lnbmF0dXIgMDAwMQ==" }]);
    let steps = [
        json!({ "when": { "turn": 0 }, "say": { "thinking": thinking, "text": "I look.", "calls": [call] } }),
        json!({ "when": { "turn": 1 }, "say": { "fault": { "status": { "code": 400, "message": "no longer served" } } } }),
    ];
    let rest = json!({ "when": { "turn": 1, "last_results": ["report_finding"] },
        "say": { "calls": [{ "name": "finish_review", "input": { "summary": "It is wrong." } }] } });
    for (first, next) in [
        (Wire::Messages, Wire::Responses),
        (Wire::Responses, Wire::Gemini),
        (Wire::Gemini, Wire::Chat),
        (Wire::Chat, Wire::Ollama),
        (Wire::Ollama, Wire::Messages),
    ] {
        let repo = shop();
        let talk = Talk::scripted(&repo, session("fails", &steps), first);
        let server = Server::start(
            session("takes over", std::slice::from_ref(&rest)),
            Options { wire: Some(next), strict: false, ..Options::default() },
        );
        let (one, mut program) = talk.apart();
        for (name, value) in server.environment(next) {
            program = program.with(name, &value);
        }
        let models = format!("{}/first,{}/next", first.provider(), next.provider());
        let told = Told::read(&program.words(&format!("--target main --events --model {models}")));
        for verdict in [one.verdict(), server.verdict()] {
            assert!(verdict.is_empty(), "{models}: {}\n{}", verdict.join("\n- "), told.all());
        }
        assert_eq!((told.code, told.ended(), told.titles()), (0, "finished", vec![title]), "{models}: {}", told.all());
        let warned = told.events("warning").iter().filter(|event| event.to_string().contains("from now on")).count();
        assert_eq!(warned, 1, "where the code goes now is said once: {}", told.all());
        assert!(
            told.events("warning").iter().any(|event| event.to_string().contains("receives code of this change then"))
        );
        let answered = &told.review["provenance"]["answered"];
        assert_eq!(answered[0]["turns"], 1, "{answered}");
        assert_eq!(
            (&answered[1]["provider"], &answered[1]["turns"]),
            (&json!(next.provider()), &json!(1)),
            "{answered}"
        );
        assert_eq!(told.review["findings"][0]["origin"]["name"], format!("{}/first", first.provider()));
        let replayed = program.words("replay last --format json");
        assert_eq!(replayed.code, 0, "{models}: {}", replayed.stderr);
    }
}
