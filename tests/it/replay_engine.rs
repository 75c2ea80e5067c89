//! Runs that are told again and taken up: at the engine, on a real repository, with a model that is a function.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use review_runner::domain::review::{CoverageState, FileCoverage, Review, ReviewOutcome, StopReason};
use review_runner::llm::{BoxFuture, Message, TurnFault, TurnRequest, TurnResponse};
use review_runner::prompt::Prompts;
use review_runner::review::{
    Admission, BudgetLimits, ConversationId, DivergedInput, EngineError, JournalEntry, JournalRecord, JournalReplay,
    JournalReplayError, JournalSummary, NotAdmitted, RebuiltConversation, VerificationScope, read_journal,
};
use review_runner::sys::cancel::{Cancel, CancelReason};
use serde_json::json;

use crate::support::TestRepo;
use crate::support::engine::{Disk, Model, Scene, calls, rendered};
use crate::support::looks::{DISCOUNT, STOCK, given, report};
use crate::support::model::{Session, Wire};
use crate::support::session::{Talk, many, shop};

/// Turns of a run that nothing breaks off, second looks included.
const TURNS: u32 = 9;

const LIMITS: BudgetLimits = BudgetLimits {
    turns: 12,
    input_tokens: 400_000,
    window: 48_000,
    max_output: 2_000,
    time: Duration::from_mins(20),
    cost: None,
};

/// How often the model has spoken in a conversation.
fn spoken(request: &TurnRequest) -> usize {
    request.messages.iter().filter(|message| matches!(message, Message::Assistant { .. })).count()
}

fn is_look(request: &TurnRequest) -> bool {
    request.tools.iter().any(|tool| tool.name == "give_verdict")
}

fn finish() -> TurnResponse {
    calls("", &[("finish_review", json!({ "summary": "It takes a guard out." }))])
}

fn read(path: &str) -> (&'static str, serde_json::Value) {
    ("read_file_part", json!({ "file_path": path }))
}

fn found(title: &str) -> (&'static str, serde_json::Value) {
    ("report_finding", report(title)["input"].clone())
}

/// Reads, reports what stands and what does not, forgets to finish, and finishes; a second look reads, then confirms one and refutes one.
fn reviewer(request: &TurnRequest) -> TurnResponse {
    let nowhere = json!({ "title": "It is not there", "body": "No.", "severity": "low", "category": "logic",
        "file_path": "src/cart.py", "quote": "nothing of the kind stands here" });
    let user = |words: &str| {
        request.messages.iter().any(|message| matches!(message, Message::User { text, .. } if text.contains(words)))
    };
    match (is_look(request), spoken(request)) {
        (true, 0) => calls("Let me see.", &[read("src/order.py"), read("src/nowhere.py")]),
        (true, _) if user(STOCK) => {
            calls("", &[("give_verdict", given("refuted", 2, "src/stock.py:3: one must stay.")["input"].clone())])
        }
        (true, _) => calls("", &[("give_verdict", given("confirmed", 9, "It is so.")["input"].clone())]),
        (false, 0) => calls("", &[read("src/cart.py"), read("src/stock.py"), ("no_such_tool", json!({}))]),
        (false, 1) => calls("", &[found(DISCOUNT), read("src/order.py"), ("report_finding", nowhere), found(STOCK)]),
        (false, 2) => calls("That is all.", &[]),
        (false, _) => finish(),
    }
}

fn model() -> Model {
    Model::that(|request| Ok(reviewer(request)))
}

fn scene(repo: &TestRepo) -> Scene {
    Scene::of(repo, LIMITS).with_looks(VerificationScope::All)
}

/// What must be the same however often a run was broken off.
fn substance(review: &Review) -> String {
    let findings: Vec<String> = review
        .findings
        .iter()
        .map(|finding| format!("{} {} {:?} {:?}", finding.id, finding.title, finding.verification, finding.anchors))
        .collect();
    format!(
        "{:?} {:?} {} {findings:#?} {:#?} {:#?} {} {}",
        review.outcome,
        review.ended,
        review.summary,
        review.coverage.withheld,
        review.coverage.files,
        review.coverage.tool_calls,
        review.provenance.turns
    )
}

#[test]
fn a_report_that_never_ends_costs_its_turn_and_not_the_review() {
    let repo = shop();
    let far = || {
        let mut far = report("It is far away")["input"].clone();
        far["related"] = json!([{ "file_path": "README.md", "quote": "A shop." }]);
        ("report_finding", far)
    };
    let model = Model::that(move |request| {
        Ok(match spoken(request) {
            0 => calls("", &[read("src/cart.py"), read("src/stock.py")]),
            1 => calls("", &[found(DISCOUNT)]),
            2 => calls("", &[found(STOCK), far()]),
            _ => finish(),
        })
    });
    let disk = Disk::default();
    let stuck = Scene::of(&repo, LIMITS).stuck_at("README.md");
    let review = stuck.review(&model, &disk);
    assert_eq!((review.outcome, review.ended), (ReviewOutcome::Incomplete, StopReason::Interrupted));
    let titles: Vec<&str> = review.findings.iter().map(|finding| finding.title.as_str()).collect();
    assert_eq!((titles, model.asked()), (vec![DISCOUNT], 3));
    assert!(review.reasons[0].starts_with("checking the model's reports did not end: interrupted."));
    let (bytes, entries) = disk.cut();
    assert_eq!(rendered(&stuck.told(&entries).unwrap()), rendered(&review));
    let past = JournalReplay::resume(&entries).unwrap();
    let whole = Scene::of(&repo, LIMITS).sit(past, &model, &Disk::with(&bytes)).unwrap().unwrap();
    assert_eq!((whole.outcome, whole.findings.len(), model.asked()), (ReviewOutcome::Complete, 3, 4));
}

#[test]
fn a_run_is_told_again_as_it_was_without_its_trees_and_its_model() {
    let repo = shop();
    let (scene, model, disk) = (scene(&repo), model(), Disk::default());
    let review = scene.review(&model, &disk);
    assert_eq!((review.outcome, model.asked()), (ReviewOutcome::Complete, TURNS), "{}", rendered(&review));
    assert_eq!(review.findings.len(), 1, "{}", rendered(&review));
    let entries = disk.cut().1;
    assert_eq!(rendered(&scene.told(&entries).unwrap()), rendered(&review));
    let account = JournalSummary::of(&entries).unwrap();
    assert_eq!((account.turns, account.unanswered, account.resumed, account.done), (TURNS, 0, 0, true));
    assert_eq!(account.ended, Some((StopReason::Finished, None)));
    assert_eq!(JournalReplay::resume(&entries).unwrap_err(), JournalReplayError::Finished);
}

/// A run that was broken off where `disk` ends, told as far as it came, taken up, and told again: the review.
fn taken_up(scene: &Scene, disk: &Disk, asked: u32, whole: &Review, place: &str) -> Review {
    let (bytes, entries) = disk.cut();
    if entries.is_empty() {
        assert_eq!(JournalReplay::resume(&entries).unwrap_err(), JournalReplayError::Empty, "{place}");
        return scene.review(&model(), &Disk::default());
    }
    if JournalReplay::resume(&entries).is_err() {
        return scene.told(&entries).unwrap_or_else(|error| panic!("{place}: {error}"));
    }
    let part = scene.told(&entries).unwrap_or_else(|error| panic!("{place}: {error}"));
    assert!(part.findings.len() <= whole.findings.len() + 1, "{place}");
    let (again, model) = (Disk::with(&bytes), model());
    let review = scene.sit(JournalReplay::resume(&entries).unwrap(), &model, &again).expect("it is not killed");
    let review = review.unwrap_or_else(|error| panic!("{place}: {error}"));
    assert!(asked + model.asked() <= TURNS + 1, "{place}: {asked} and {}", model.asked());
    let (_, entries) = again.cut();
    for unit in [ConversationId::WHOLE].into_iter().chain(entries.iter().map(|entry| entry.unit.clone())) {
        assert!(RebuiltConversation::of_unit(&entries, &unit).is_none_or(|rebuilt| rebuilt.proven), "{place}: {unit}");
    }
    let told = scene.told(&entries).unwrap_or_else(|error| panic!("{place}: {error}"));
    assert_eq!(rendered(&told), rendered(&review), "{place}");
    review
}

/// Every `step`-th of so many lines, beginning at one that changes with their number: a sample for each run of the tests. All of them take minutes.
fn sampled(lines: usize, step: usize) -> Vec<usize> {
    (0..lines).skip(lines % step).step_by(step).collect()
}

#[test]
fn a_run_that_is_killed_at_a_line_goes_on_where_it_was() {
    kill_at(|lines| sampled(lines, 13));
}

#[test]
#[ignore = "takes long; .ci/run runs it"]
fn exhaustive_a_run_that_is_killed_at_any_line_goes_on_where_it_was() {
    kill_at(|lines| (0..lines).collect());
}

fn kill_at(which: impl Fn(usize) -> Vec<usize>) {
    let repo = shop();
    let scene = scene(&repo);
    let disk = Disk::default();
    let whole = scene.review(&model(), &disk);
    let lines = disk.cut().1.len();
    assert!(lines > 30, "{lines}");
    for nth in which(lines).into_iter().map(|line| line + 1) {
        for part in [0, 1, 60, usize::MAX] {
            let (model, disk) = (model(), Disk::killed_at(b"", nth, part));
            assert!(scene.sit(JournalReplay::default(), &model, &disk).is_none(), "line {nth} is written");
            let review = taken_up(&scene, &disk, model.asked(), &whole, &format!("killed at line {nth}, byte {part}"));
            assert_eq!(substance(&review), substance(&whole), "killed at line {nth}, byte {part}");
        }
    }
}

#[test]
fn a_run_that_is_killed_at_every_line_in_turn_ends_as_if_it_never_was() {
    let repo = shop();
    let scene = scene(&repo);
    let whole = scene.review(&model(), &Disk::default());
    let (model, mut bytes, mut kills) = (model(), Vec::new(), 0);
    let review = loop {
        let entries = read_journal(&bytes).unwrap();
        let past = JournalReplay::resume(&entries).unwrap_or_default();
        // A further sitting says that it is one, asks again, and then has something to show.
        let disk = Disk::killed_at(&bytes, if entries.is_empty() { 2 } else { 4 }, 7);
        match scene.sit(past, &model, &disk) {
            None => {
                kills += 1;
                assert!(kills < 200, "it comes nowhere");
                bytes = disk.cut().0;
            }
            Some(review) => break review.unwrap(),
        }
    };
    assert_eq!(substance(&review), substance(&whole));
    assert!(kills > 10 && model.asked() <= TURNS + kills, "{kills} kills, {} turns", model.asked());
}

/// A model that does what `reviewer` does but for one turn of the review.
fn but_at(turn: usize, does: impl Fn() -> Result<TurnResponse, TurnFault> + Send + Sync + 'static) -> Model {
    Model::that(
        move |request| {
            if !is_look(request) && spoken(request) == turn { does() } else { Ok(reviewer(request)) }
        },
    )
}

#[test]
fn a_run_whose_provider_was_lost_asks_the_same_again() {
    let repo = shop();
    let scene = scene(&repo);
    let whole = scene.review(&model(), &Disk::default());
    let refused =
        || TurnFault::Status { provider: "p".into(), status: 401, message: "no".to_owned(), retry_after: None };
    let odd = || TurnFault::Unreadable { provider: "p".into(), message: "no".to_owned() };
    for turn in 0..4 {
        for ended in [StopReason::RequestRefused, StopReason::ProviderFault] {
            let disk = Disk::default();
            let lost = but_at(turn, move || Err(if ended == StopReason::RequestRefused { refused() } else { odd() }));
            let review = scene.review(&lost, &disk);
            assert_eq!(review.ended, ended);
            let (bytes, entries) = disk.cut();
            assert_eq!(rendered(&scene.told(&entries).unwrap()), rendered(&review));
            let (model, disk) = (model(), Disk::with(&bytes));
            let review = scene.sit(JournalReplay::resume(&entries).unwrap(), &model, &disk).unwrap().unwrap();
            assert_eq!(substance(&review), substance(&whole), "{turn} {ended:?}");
            assert!(review.coverage.notes.iter().any(|note| note.contains("resumed")), "{review:?}");
            assert_eq!(lost.asked() + model.asked(), TURNS + 1);
            assert_eq!(rendered(&scene.told(&disk.cut().1).unwrap()), rendered(&review));
        }
    }
}

#[test]
fn an_interrupted_run_goes_on() {
    let repo = shop();
    let scene = scene(&repo);
    let whole = scene.review(&model(), &Disk::default());
    for (turn, of_look) in [(0, false), (1, false), (3, false), (0, true), (1, true)] {
        let interrupted = Scene::of(&repo, LIMITS).with_looks(VerificationScope::All);
        let cancel = interrupted.cancel.clone();
        let stopping = Model::that(move |request| {
            if is_look(request) == of_look && spoken(request) == turn {
                cancel.interrupt();
            }
            Ok(reviewer(request))
        });
        let disk = Disk::default();
        let review = interrupted.review(&stopping, &disk);
        assert_eq!(review.ended, StopReason::Interrupted);
        let (bytes, entries) = disk.cut();
        assert_eq!(rendered(&interrupted.told(&entries).unwrap()), rendered(&review), "{turn} {of_look}");
        let stopped = |entry: &&JournalEntry| matches!(&entry.record, JournalRecord::Result { result, .. } if result.text.contains("stopped"));
        assert_eq!(
            entries.iter().find(stopped),
            None,
            "what was stopped is made again, so it is not kept: {turn} {of_look}"
        );
        let disk = Disk::with(&bytes);
        let review = scene.sit(JournalReplay::resume(&entries).unwrap(), &model(), &disk).unwrap().unwrap();
        assert_eq!(substance(&review), substance(&whole), "{turn} {of_look}");
        let told = interrupted.told(&disk.cut().1).unwrap();
        let same = |review: &Review| substance(review);
        assert_eq!(same(&told), same(&review), "{turn} {of_look}");
    }
}

#[test]
fn a_run_that_is_interrupted_while_it_is_told_keeps_what_was_told() {
    let repo = shop();
    let whole = scene(&repo);
    let disk = Disk::default();
    let review = whole.review(&model(), &disk);
    let (bytes, entries) = disk.cut();
    // Killed when the model had just been heard to the end, and interrupted before the next sitting has told that.
    let end = entries.iter().position(|entry| matches!(entry.record, JournalRecord::End { .. })).unwrap();
    let disk = Disk::with(&bytes[..=line_ends(&bytes).nth(end - 1).unwrap()]);
    let (bytes, entries) = disk.cut();
    let again = scene(&repo);
    again.cancel.interrupt();
    let (nobody, disk) = (model(), Disk::with(&bytes));
    let told = again.sit(JournalReplay::resume(&entries).unwrap(), &nobody, &disk).unwrap().unwrap();
    assert_eq!((told.ended, nobody.asked()), (StopReason::Interrupted, 0), "{}", rendered(&told));
    assert_eq!(told.findings.len(), 2, "those of the review, and nobody took a second look: {}", rendered(&told));
    let (bytes, entries) = disk.cut();
    let disk = Disk::with(&bytes);
    let at_last = whole.sit(JournalReplay::resume(&entries).unwrap(), &model(), &disk).unwrap().unwrap();
    assert_eq!(substance(&at_last), substance(&review));
}

#[test]
fn a_sitting_that_is_killed_between_two_ends_broke_off() {
    let repo = shop();
    let scene = scene(&repo);
    let disk = Disk::default();
    scene.review(&model(), &disk);
    let (bytes, entries) = disk.cut();
    // One conversation came to its end; the run did not.
    let end = entries.iter().position(|entry| matches!(entry.record, JournalRecord::End { .. })).unwrap();
    let disk = Disk::with(&bytes[..=line_ends(&bytes).nth(end).unwrap()]);
    let review = scene.sit(JournalReplay::resume(&disk.cut().1).unwrap(), &model(), &disk).unwrap().unwrap();
    let notes = &review.coverage.notes;
    assert!(notes.iter().any(|note| note.starts_with("The run was interrupted and resumed")), "{notes:?}");
}

#[test]
fn a_run_whose_budget_was_spent_goes_on_with_more_and_says_so() {
    let repo = shop();
    let scene = |turns| Scene::of(&repo, BudgetLimits { turns, ..LIMITS });
    // It reads as long as it may, then reports.
    let reading = |request: &TurnRequest| match (spoken(request), request.messages.last()) {
        (_, Some(Message::User { text, .. })) if text.contains("This is your last turn") => {
            calls("", &[found(DISCOUNT)])
        }
        (_, Some(Message::User { text, .. })) if text.contains("There is more room after all") => {
            calls("", &[read("src/stock.py")])
        }
        (0..3, _) => calls("", &[read("src/cart.py")]),
        _ => calls("", &[found(STOCK), ("finish_review", json!({ "summary": "All of it." }))]),
    };
    let model = Model::that(move |request| Ok(reading(request)));
    let (little, disk) = (scene(3), Disk::default());
    let review = little.review(&model, &disk);
    assert_eq!((review.ended, review.findings.len(), model.asked()), (StopReason::TurnLimit, 1, 3));
    let (bytes, entries) = disk.cut();

    // With no more it ends as it did, and nobody is asked.
    let same = Disk::with(&bytes);
    let again = little.sit(JournalReplay::resume(&entries).unwrap(), &Model::mute(), &same).unwrap().unwrap();
    assert_eq!(substance(&again), substance(&review));
    assert_eq!(rendered(&little.told(&same.cut().1).unwrap()), rendered(&again));

    let (more, disk) = (scene(9), Disk::with(&bytes));
    let review = more.sit(JournalReplay::resume(&entries).unwrap(), &model, &disk).unwrap().unwrap();
    assert_eq!((review.ended, review.findings.len()), (StopReason::Finished, 2), "{}", rendered(&review));
    assert_eq!((review.provenance.turns, model.asked()), (5, 5));
    assert!(review.coverage.limits_hit.is_empty());
    let notes = review.coverage.notes.join("\n");
    assert!(notes.contains("the limit of 3 turns was reached") && notes.contains("resumed"), "{notes}");
    let (_, entries) = disk.cut();
    assert_eq!(rendered(&more.told(&entries).unwrap()), rendered(&review));
    let last = RebuiltConversation::from_entries(&entries).unwrap();
    assert!(last.proven && last.request.max_output == LIMITS.max_output);

    // Killed in the sitting that goes on, it goes on once more.
    let lines = entries.len() - read_journal(&bytes).unwrap().len();
    for nth in 1..=lines {
        let disk = Disk::killed_at(&bytes, nth, 9);
        assert!(more.sit(JournalReplay::resume(&read_journal(&bytes).unwrap()).unwrap(), &model, &disk).is_none());
        let (bytes, entries) = disk.cut();
        let disk = Disk::with(&bytes);
        let review = more.sit(JournalReplay::resume(&entries).unwrap(), &model, &disk).unwrap().unwrap();
        assert_eq!(
            (review.ended, review.findings.len(), review.provenance.turns),
            (StopReason::Finished, 2, 5),
            "{nth}"
        );
        assert_eq!(rendered(&more.told(&disk.cut().1).unwrap()), rendered(&review), "{nth}");
    }
}

/// The journal of a whole run with one entry changed.
fn changed(entries: &[JournalEntry], change: impl Fn(&mut JournalRecord) -> bool) -> Vec<JournalEntry> {
    let mut entries = entries.to_vec();
    assert!(entries.iter_mut().any(|entry| change(&mut entry.record)), "nothing is changed");
    entries
}

#[test]
fn what_is_not_as_it_was_is_noticed() {
    let repo = shop();
    let (scene, disk) = (scene(&repo), Disk::default());
    scene.review(&model(), &disk);
    let entries = disk.cut().1;
    let what = |entries: &[JournalEntry]| match scene.told(entries) {
        Err(EngineError::Diverged(diverged)) => (diverged.unit.clone(), diverged.turn, diverged.what.clone()),
        other => panic!("{other:?}"),
    };
    let request = changed(&entries, |record| match record {
        JournalRecord::Request { digest, system: None, .. } => {
            *digest = "0".repeat(64);
            true
        }
        _ => false,
    });
    assert_eq!(what(&request), (ConversationId::WHOLE, 2, DivergedInput::Request));
    let result = changed(&entries, |record| match record {
        JournalRecord::Result { result, .. } if result.name == "report_finding" => {
            result.text.push(' ');
            true
        }
        _ => false,
    });
    assert!(matches!(what(&result), (ConversationId::Part(0), 2, DivergedInput::Result { call: 0, .. })));
    let shown = changed(&entries, |record| match record {
        JournalRecord::Result { result, .. } if result.name == "read_file_part" => {
            result.text.push(' ');
            true
        }
        _ => false,
    });
    assert_eq!(what(&shown), (ConversationId::WHOLE, 2, DivergedInput::Request));
    let mut read = entries.clone();
    read.retain(|entry| !matches!(entry.record, JournalRecord::Read { .. }));
    assert!(matches!(what(&read).2, DivergedInput::Read(_)));
    let end = changed(&entries, |record| match record {
        JournalRecord::End { why, .. } => {
            *why = Some("for fun".to_owned());
            true
        }
        _ => false,
    });
    assert!(matches!(what(&end).2, DivergedInput::End { .. }));
    let mut late = entries.clone();
    late.retain(|entry| {
        !(entry.turn == 2
            && matches!(entry.record, JournalRecord::Answer { .. })
            && entry.unit == ConversationId::WHOLE)
    });
    assert!(matches!(JournalReplay::replay(&late), Err(JournalReplayError::Damaged { .. })));
    assert_eq!(JournalReplay::replay(&entries[1..]).unwrap_err(), JournalReplayError::Empty);
}

#[test]
fn other_words_are_compared_turn_by_turn() {
    let repo = shop();
    let (mut scene, disk) = (scene(&repo), Disk::default());
    scene.review(&model(), &disk);
    let entries = disk.cut().1;
    let compare = |scene: &Scene| {
        let (past, differences) = JournalReplay::compare(&entries).unwrap();
        scene.without_trees().sit(past, &Model::mute(), &Disk::default()).unwrap().unwrap();
        differences.into_differences()
    };
    assert_eq!(compare(&scene), (TURNS, Vec::new()));
    scene.prompts = Prompts::with_overrides(vec![("nudge.md".to_owned(), "Go on, please.".to_owned())]).unwrap();
    let (requests, differences) = compare(&scene);
    assert_eq!((requests, differences.len()), (TURNS, 2), "the turn after it, too");
    let difference = &differences[0];
    assert_eq!((&difference.unit, difference.turn), (&ConversationId::WHOLE, 4));
    let last = |request: &TurnRequest| format!("{:?}", request.messages.last());
    assert!(last(&difference.now).contains("Go on, please.") && !last(&difference.then).contains("Go on, please."));
    assert_eq!(difference.now.system, difference.then.system);
}

/// Reports something of the first file that it is shown, then something of another, and finishes.
fn of_a_part() -> Model {
    Model::that(|request| {
        let Some(Message::User { text, .. }) = request.messages.first() else { panic!("there is no first message") };
        let shown =
            text.split("\n=== src/part").nth(1).and_then(|rest| rest.split("/file").nth(1)?.split(".py").next());
        let n: usize = shown.unwrap_or("0").parse().expect("a number");
        let found = |line: usize| {
            let quote = format!("value_{n}_{line} = {n} * {line}  # a line that has no meaning");
            let path = format!("src/part{}/file{n}.py", n / 10);
            let found = json!({ "title": format!("Value {line} of {n} is wrong"), "body": "So.", "severity": "low",
                "category": "logic", "file_path": path, "quote": quote });
            ("report_finding", found)
        };
        let mut answer = match spoken(request) {
            0 => calls("", &[found(3), read("README.md")]),
            1 => calls("", &[found(7)]),
            _ => finish(),
        };
        answer.usage.input = Some(serde_json::to_vec(request).expect("JSON").len() as u64 / 4);
        Ok(answer)
    })
}

/// Where the lines end.
fn line_ends(bytes: &[u8]) -> impl Iterator<Item = usize> {
    bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at)
}

fn every_file_is_accounted_for(review: &Review, files: usize) {
    assert_eq!(review.coverage.files.len(), files);
    let silent = |file: &&FileCoverage| file.state != CoverageState::Reviewed && file.reason.is_none();
    assert_eq!(review.coverage.files.iter().find(silent), None);
}

fn names(review: &Review) -> BTreeSet<String> {
    review.findings.iter().map(|finding| format!("{} {}", finding.id, finding.title)).collect()
}

#[test]
fn six_hundred_files_under_a_small_budget_survive_a_kill() {
    kill_with_many_files(|lines| sampled(lines, 31));
}

#[test]
#[ignore = "takes long; .ci/run runs it"]
fn exhaustive_six_hundred_files_under_a_small_budget_survive_a_kill_at_every_line() {
    kill_with_many_files(|lines| (0..lines).collect());
}

fn kill_with_many_files(which: impl Fn(usize) -> Vec<usize>) {
    let repo = many(600);
    let scene = Scene::of(&repo, BudgetLimits { input_tokens: 300_000, ..LIMITS });
    let (model, disk) = (of_a_part(), Disk::default());
    let whole = scene.review(&model, &disk);
    every_file_is_accounted_for(&whole, 600);
    let (begun, lines, turns) = (names(&whole).len() / 2, disk.cut().1.len(), model.asked());
    let named = whole.coverage.files.iter().filter(|file| file.state != CoverageState::Reviewed).count();
    assert!(begun > 2 && named > 100, "{begun} parts are begun, {named} files are only named: {:?}", whole.reasons);
    assert_eq!(rendered(&scene.told(&disk.cut().1).unwrap()), rendered(&whole));

    // Killed once, at any line: what is left is the beginning of the journal.
    let all = disk.bytes();
    let ends: Vec<usize> = line_ends(&all).collect();
    for nth in which(lines - 1) {
        let bytes = &all[..=ends[nth]];
        let entries = read_journal(bytes).unwrap();
        let asked = entries.iter().filter(|entry| matches!(entry.record, JournalRecord::Request { .. })).count();
        let (model, disk) = (of_a_part(), Disk::with(bytes));
        let review =
            scene.sit(JournalReplay::resume(&entries).unwrap(), &model, &disk).expect("it is not killed").unwrap();
        every_file_is_accounted_for(&review, 600);
        assert_eq!(names(&review), names(&whole), "after line {nth}");
        let asked = u32::try_from(asked).unwrap() + model.asked();
        assert!(asked <= turns + 1, "after line {nth}: {asked} turns for {turns}");
        if nth % 3 == 0 {
            assert_eq!(rendered(&scene.told(&disk.cut().1).unwrap()), rendered(&review), "after line {nth}");
        }
    }

    // Killed again and again.
    let (model, mut bytes, mut kills) = (of_a_part(), Vec::new(), 0);
    let review = loop {
        let past = JournalReplay::resume(&read_journal(&bytes).unwrap()).unwrap_or_default();
        // Each sitting says anew which parts it cannot begin.
        let disk = Disk::killed_at(&bytes, 4 + usize::try_from(kills / 2).unwrap(), 7);
        match scene.sit(past, &model, &disk) {
            None => {
                kills += 1;
                assert!(kills < 100, "it comes nowhere");
                bytes = disk.cut().0;
            }
            Some(review) => break review.unwrap(),
        }
    };
    every_file_is_accounted_for(&review, 600);
    assert_eq!(names(&review), names(&whole));
    assert!(kills > 10 && model.asked() <= turns + kills, "{kills} kills, {} turns for {turns}", model.asked());
}

#[test]
fn recorded_sessions_are_told_again_to_the_byte() {
    tell_sessions_again(4);
}

#[test]
#[ignore = "takes long; .ci/run runs it"]
fn exhaustive_every_recorded_session_is_told_again_to_the_byte() {
    tell_sessions_again(1);
}

/// Runs and replays every `step`-th of the recorded sessions.
fn tell_sessions_again(step: usize) {
    let repo = shop();
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/sessions");
    let mut sessions: Vec<_> =
        std::fs::read_dir(folder).expect("sessions").map(|entry| entry.expect("one").path()).collect();
    sessions.retain(|path| path.extension().is_some_and(|extension| extension == "jsonl"));
    sessions.sort();
    assert!(sessions.len() > 40, "{sessions:?}");
    let sessions: Vec<_> = sampled(sessions.len(), step).into_iter().map(|at| sessions[at].clone()).collect();
    let next = std::sync::atomic::AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| {
                while let Some(path) = sessions.get(next.fetch_add(1, std::sync::atomic::Ordering::SeqCst)) {
                    // Where a session is about another change, its first request is refused: that, too, is a run.
                    let talk = Talk::scripted(&repo, Session::load(path), Wire::Messages);
                    talk.run("--timeout 6s --max-turns 12");
                    // What the server thinks of it is the matter of other tests.
                    let _ = talk.server.verdict();
                    for folder in talk.program.kept() {
                        let journal = std::fs::read(folder.join("journal.jsonl")).expect("a journal");
                        let kept = std::fs::read_to_string(folder.join("review.json")).expect("a review");
                        let entries = read_journal(&journal).expect("a journal");
                        let (scene, mute) = Scene::kept(&repo, &entries);
                        let told = scene
                            .told_by(&entries, &mute)
                            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
                        assert_eq!(rendered(&told), kept, "{}", path.display());
                    }
                }
            });
        }
    });
}

/// A gate that writes down what comes by, and lets a review go on with its cancellation.
struct Gate(Cancel, Mutex<Vec<&'static str>>);

impl Admission for Gate {
    fn admit(&self, left: Option<Duration>) -> BoxFuture<'_, Result<Cancel, NotAdmitted>> {
        assert!(left.is_some_and(|left| left <= LIMITS.time), "{left:?}");
        self.1.lock().unwrap().push("admitted");
        Box::pin(async { self.0.check().map(|()| self.0.clone()).map_err(NotAdmitted::from) })
    }

    fn leave(&self) {
        self.1.lock().unwrap().push("left");
    }
}

#[test]
fn a_prepared_review_waits_for_its_admission_and_leaves_its_place_after_the_last_turn() {
    let repo = shop();
    let gated = |cancel: Cancel, says: fn(&TurnRequest) -> Result<TurnResponse, TurnFault>| {
        let gate = Arc::new(Gate(cancel, Mutex::default()));
        let mut scene = scene(&repo);
        (scene.cancel, scene.admission) = (Cancel::after(LIMITS.time), Some(Arc::clone(&gate) as _));
        let (model, disk) = (Model::that(says), Disk::default());
        let ended = scene.sit(JournalReplay::default(), &model, &disk).expect("it is not killed");
        let came = gate.1.lock().unwrap().clone();
        (ended, came, model.asked(), read_journal(&disk.bytes()).unwrap())
    };
    let (review, came, asked, _) = gated(Cancel::never(), |request| Ok(reviewer(request)));
    assert_eq!((review.unwrap().outcome, asked), (ReviewOutcome::Complete, TURNS));
    assert_eq!(came, ["admitted", "left"]);

    let stopped = Cancel::stopped(CancelReason::Interrupted);
    let (ended, came, asked, journal) = gated(stopped, |request| Ok(reviewer(request)));
    assert!(matches!(ended, Err(EngineError::NotAdmitted(NotAdmitted::Stopped(CancelReason::Interrupted)))));
    assert_eq!((came, asked), (vec!["admitted"], 0));
    let is_plan = |entry: &JournalEntry| matches!(entry.record, JournalRecord::Plan { .. });
    assert!(journal.iter().any(is_plan), "it was prepared");

    let gone = |_: &TurnRequest| {
        Err(TurnFault::Status { provider: "scripted".into(), status: 401, message: "no".to_owned(), retry_after: None })
    };
    let (review, came, _, _) = gated(Cancel::never(), gone);
    assert_eq!(
        (review.unwrap().ended, came),
        (StopReason::RequestRefused, vec!["admitted"]),
        "the failure is counted first"
    );
}
