//! Models that are known not to call tools: the text protocol from the first turn, over kills and takeovers.

use review_runner::domain::review::ReviewOutcome;
use review_runner::llm::{Message, ToolCallFormat, TurnFault, TurnRequest, TurnResponse};
use review_runner::review::{
    BudgetLimits, ConversationId, JournalEntry, JournalRecord, JournalReplay, RebuiltConversation,
};
use serde_json::{Value, json};

use crate::support::engine::{Disk, Model, Scene, calls, rendered};
use crate::support::looks::session;
use crate::support::looks::{DISCOUNT, report};
use crate::support::model::{Options, Server, Wire};
use crate::support::session::{Talk, Told, file, many, shop};

const LIMITS: BudgetLimits = BudgetLimits {
    turns: 12,
    input_tokens: 2_000_000,
    window: 48_000,
    max_output: 2_000,
    time: std::time::Duration::from_mins(20),
    cost: None,
};

const TITLE: &str = "A discount is ten times too large";

fn spoken(request: &TurnRequest) -> usize {
    request.messages.iter().filter(|message| matches!(message, Message::Assistant { .. })).count()
}

fn does(request: &TurnRequest) -> TurnResponse {
    match spoken(request) {
        0 => calls("I look.", &[("read_file_part", json!({ "file_path": "src/order.py" }))]),
        1 => calls("", &[("report_finding", report(DISCOUNT)["input"].clone())]),
        _ => calls("", &[("finish_review", json!({ "summary": "It is wrong." }))]),
    }
}

fn refused() -> TurnFault {
    TurnFault::Status { provider: "p".into(), status: 401, message: "no".to_owned(), retry_after: None }
}

fn proven(entries: &[JournalEntry]) {
    let mut units: Vec<&ConversationId> = entries.iter().map(|entry| &entry.unit).collect();
    units.dedup();
    for unit in units {
        assert!(RebuiltConversation::of_unit(entries, unit).is_none_or(|rebuilt| rebuilt.proven), "{unit}");
    }
}

#[test]
fn a_conversation_in_the_text_that_is_killed_at_every_line_goes_on_in_the_text() {
    let repo = shop();
    let model = || {
        Model::that(|request| {
            assert_eq!(request.speech, ToolCallFormat::Text);
            Ok(does(request))
        })
        .without_tools()
    };
    let scene = Scene::of(&repo, LIMITS);
    let whole = scene.review(&model(), &Disk::default());
    assert_eq!((whole.outcome, whole.findings.len()), (ReviewOutcome::Complete, 1), "{}", rendered(&whole));
    let (mut bytes, mut kills) = (Vec::new(), 0);
    let (review, disk) = loop {
        let (_, entries) = Disk::with(&bytes).cut();
        let past = JournalReplay::resume(&entries).unwrap_or_default();
        let disk = Disk::killed_at(&bytes, if entries.is_empty() { 2 } else { 4 }, 7);
        match scene.sit(past, &model(), &disk) {
            None => {
                kills += 1;
                assert!(kills < 100, "it comes nowhere");
                bytes = disk.cut().0;
            }
            Some(review) => break (review.unwrap(), disk),
        }
    };
    assert!(kills > 2, "{kills}");
    assert_eq!((review.outcome, review.findings.len()), (ReviewOutcome::Complete, 1));
    let (_, entries) = disk.cut();
    proven(&entries);
    // Also by what a run of a version before kept, which did not know of tools.
    for mute in [Model::mute(), Model::mute().without_tools()] {
        assert_eq!(rendered(&scene.told_by(&entries, &mute).unwrap()), rendered(&review));
    }
}

/// Finishes its part, and fails for good after so many answers.
fn ends_after(answers: u32) -> Model {
    let left = std::sync::atomic::AtomicU32::new(answers);
    let some = move || {
        use std::sync::atomic::Ordering::SeqCst;
        left.fetch_update(SeqCst, SeqCst, |left| left.checked_sub(1)).is_ok()
    };
    Model::that(move |request| {
        if !some() {
            return Err(refused());
        }
        Ok(match spoken(request) {
            0 => calls("", &[("read_file_part", json!({ "file_path": "src/part0/file1.py" }))]),
            _ => {
                calls("", &[("finish_review", json!({ "summary": "Well.", "no_findings_reason": "It is constants." }))])
            }
        })
    })
}

#[test]
fn parts_go_from_a_native_model_to_one_in_the_text_and_back() {
    let repo = many(200);
    for (first, second) in [(0, 3), (1, 3), (3, 1), (3, 4), (5, 5)] {
        let (a, b) = (ends_after(first).named("a"), ends_after(second).named("b").without_tools());
        let c = ends_after(u32::MAX).named("c");
        let disk = Disk::default();
        let review = Scene::of(&repo, LIMITS).then(&[(&b, 48_000), (&c, 48_000)]).review(&a, &disk);
        assert_eq!(review.outcome, ReviewOutcome::Complete, "{first} {second}: {}", rendered(&review));
        let (_, entries) = disk.cut();
        proven(&entries);
        let takeovers = entries.iter().filter(|entry| matches!(entry.record, JournalRecord::Takeover { .. })).count();
        assert_eq!(takeovers, 2);
        let (b, c) = (Model::mute().named("b").without_tools(), Model::mute().named("c"));
        let again = Scene::of(&repo, LIMITS).then(&[(&b, 48_000), (&c, 48_000)]);
        let told = again.told_by(&entries, &Model::mute().named("a")).unwrap();
        let shown =
            |review: &review_runner::domain::review::Review| rendered(review).replace(&review.id.to_string(), "");
        assert_eq!(shown(&told), shown(&review), "{first} {second}");
    }
}

/// The session of a model in the text, from a turn on.
fn steps(from: usize) -> Vec<Value> {
    let text = std::fs::read_to_string(file("text_without_tools")).unwrap();
    text.lines().skip(1 + from).map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// A user's file that says of the scripted model that it calls no tools.
fn without_tools(wire: Wire) -> String {
    format!("[[provider]]\nname = \"{}\"\n[[provider.model]]\nname = \"scripted\"\ntools = false\n", wire.provider())
}

#[test]
fn a_row_of_the_users_says_that_a_model_calls_no_tools_and_a_run_goes_on_so() {
    let repo = shop();
    for wire in Wire::ALL {
        let lost =
            json!({ "when": { "turn": 1 }, "say": { "fault": { "status": { "code": 401, "message": "not today" } } } });
        let begin: Vec<Value> = steps(0).into_iter().take(1).chain([lost]).collect();
        let talk = Talk::in_passing(&repo, session("text, then none", &begin), wire);
        let table = talk.program.home("providers.toml");
        std::fs::write(&table, without_tools(wire)).unwrap();
        let talk = talk.with("REVIEW_PROVIDERS", table.to_str().unwrap());
        let told = talk.run("");
        assert_eq!((told.code, told.ended()), (3, "request_refused"), "{wire:?}: {}", told.all());
        let (server, mut program) = talk.apart();
        assert!(server.verdict().is_empty(), "{wire:?}: {}", server.verdict().join("\n- "));
        let next = Server::start(
            session("text, the rest", &steps(1)),
            Options { wire: Some(wire), strict: false, ..Options::default() },
        );
        for (name, value) in next.environment(wire) {
            program = program.with(name, &value);
        }
        // The first one is gone, as if another process had died.
        drop(server);
        let told = Told::read(&program.words("--resume last --events"));
        assert!(next.verdict().is_empty(), "{wire:?}: {}\n{}", next.verdict().join("\n- "), told.all());
        assert_eq!((told.code, told.ended(), told.titles()), (0, "finished", vec![TITLE]), "{wire:?}: {}", told.all());
        let replayed = program.words("replay last --format json");
        assert_eq!(replayed.code, 0, "{wire:?}: {}", replayed.stderr);
    }
}

#[test]
fn a_review_goes_from_a_native_model_to_one_in_the_text_and_back_on_the_wire() {
    let repo = shop();
    let gone = |turn: u32| json!({ "when": { "turn": turn }, "say": { "fault": { "status": { "code": 401, "message": "not today" } } } });
    let read = json!({ "name": "read_file_part", "input": { "file_path": "src/cart.py" } });
    let first = [json!({ "when": { "turn": 0 }, "say": { "calls": [read] } }), gone(1)];
    let second = [steps(1).remove(0), gone(2)];
    let third =
        [json!({ "when": { "turn": 2 }, "say": { "text": "@@call finish_review\n@@summary:\nOne defect.\n@@end" } })];
    let talk = Talk::in_passing(&repo, session("native", &first), Wire::Messages);
    let options = |wire| Options { wire: Some(wire), strict: false, ..Options::default() };
    let (chat, last) = (
        Server::start(session("in the text", &second), options(Wire::Chat)),
        Server::start(session("native again", &third), options(Wire::Ollama)),
    );
    let table = talk.program.home("providers.toml");
    std::fs::write(&table, without_tools(Wire::Chat)).unwrap();
    let (one, mut program) = talk.with("REVIEW_PROVIDERS", table.to_str().unwrap()).apart();
    for (name, value) in chat.environment(Wire::Chat).into_iter().chain(last.environment(Wire::Ollama)) {
        program = program.with(name, &value);
    }
    let models = "anthropic/scripted,openai-chat/scripted,ollama/scripted";
    let told = Told::read(&program.words(&format!("--target main --events --model {models}")));
    for verdict in [one.verdict(), chat.verdict(), last.verdict()] {
        assert!(verdict.is_empty(), "{}\n{}", verdict.join("\n- "), told.all());
    }
    assert_eq!((told.code, told.ended(), told.titles()), (0, "finished", vec![TITLE]), "{}", told.all());
    let replayed = program.words("replay last --format json");
    assert_eq!(replayed.code, 0, "{}", replayed.stderr);
}
