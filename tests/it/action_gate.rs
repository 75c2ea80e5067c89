//! The table of `docs/gate.md`: each of its rows is a case here, and each case is a row there.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::support::TestRepo;
use crate::support::github::{On, Trouble};
use crate::support::model::Session;
use crate::support::posting::{bad, good};
use crate::support::session::{file, shop};
use crate::support::step::{Step, Stepped};

/// A row of the table.
#[derive(Debug)]
struct Row {
    case: String,
    outcome: String,
    came_to: String,
    passes: bool,
    posted: String,
}

/// A step, and what came of it.
type Ran = (Step, Stepped);

/// What happens.
type Case = fn() -> Ran;

/// What happens, for each row.
const CASES: &[(&str, Case)] = &[
    ("clean", || ran(Step::new(&[("a.py", good("f"))]).with("fail-on", "nit"))),
    ("found", || ran(found())),
    ("fail-on", || ran(found().with("fail-on", "high"))),
    ("fail-on-below", || ran(found().with("fail-on", "critical"))),
    ("fail-on-hidden", fail_on_hidden),
    ("request-changes", request_changes),
    ("draft", || ran(draft(true).with("fail-on", "high"))),
    ("draft-skip", || ran(draft(true).with("drafts", "skip"))),
    ("draft-skip-ready", || ran(draft(false).with("drafts", "skip"))),
    ("closed", || ran(found().event("pull_request", "pull_request_closed", |_| {}))),
    ("branch-deleted", || ran(found().event("push", "push_deleted", |_| {}))),
    ("empty", || ran(Step::new(&[]).with("fail-on", "nit"))),
    ("skipped-paths", || ran(Step::new(&[("a.bin", "\0\u{1}\0".repeat(50))]).with("fail-on", "nit"))),
    ("excluded-paths", || ran(found().with("exclude", "**").with("fail-on", "nit"))),
    ("model-none", || ran(found().with("model", "none"))),
    ("no-model", || ran(found().with("model", ""))),
    ("no-key", || ran(found().with("model", "anthropic/x").with("on-error", "neutral"))),
    ("no-key-fork", no_key_fork),
    ("bad-input", || ran(found().with("fail-on", "hgh").with("on-error", "neutral"))),
    ("other-event", || ran(found().event("issues", "schedule", |_| {}))),
    ("outage", || ran(model("busy_for_good"))),
    ("outage-neutral", || ran(model("busy_for_good").with("on-error", "neutral"))),
    ("outage-partial", || ran(model("found_then_busy"))),
    ("outage-partial-neutral", || ran(model("found_then_busy").with("on-error", "neutral"))),
    ("outage-partial-fail-on", || ran(model("found_then_busy").with("fail-on", "high").with("on-error", "neutral"))),
    ("budget", || ran(model("two_turns_at_most").with("max-turns", "2"))),
    ("budget-neutral", || ran(model("two_turns_at_most").with("max-turns", "2").with("on-error", "neutral"))),
    ("refused-neutral", || ran(model("refusal").with("on-error", "neutral"))),
    ("wrong-key-neutral", || ran(model("no_entry").with("on-error", "neutral"))),
    ("not-allowed", || ran(read_only(found()))),
    ("not-allowed-fail-on", || ran(read_only(found()).with("fail-on", "high"))),
    ("not-allowed-review", || ran(read_only(found()).with("post", "review"))),
    ("not-posted", || ran(not_posted())),
    ("not-posted-neutral", || ran(not_posted().with("on-error", "neutral"))),
    ("not-posted-fail-on", || ran(not_posted().with("fail-on", "high"))),
    ("post-annotations", || ran(found().with("post", "annotations"))),
    ("post-none", || ran(found().with("post", "none").with("fail-on", "high"))),
    ("forge-down", || ran(forge_down())),
    ("forge-down-neutral", || ran(forge_down().with("on-error", "neutral"))),
    ("superseded", || ran(superseded())),
    ("superseded-neutral", || ran(superseded().with("on-error", "neutral"))),
    ("superseded-late", superseded_late),
    ("retargeted", || ran(retargeted(found().with("fail-on", "high")))),
    ("retargeted-late", retargeted_late),
    ("merge-queue", || ran(found().event("merge_group", "merge_group", |_| {}).with("fail-on", "high"))),
    ("push", || ran(found().event("push", "push", |_| {}))),
    ("push-review", || ran(found().event("push", "push", |_| {}).with("post", "review"))),
    ("artefact-other", artefact_other),
    #[cfg(target_os = "linux")]
    ("interrupted", interrupted),
];

fn ran(step: Step) -> Ran {
    let ended = step.run();
    (step, ended)
}

/// A pull request with one finding of high severity.
fn found() -> Step {
    Step::new(&[("a.py", bad("f"))])
}

fn model(session: &str) -> Step {
    Step::of(shop(), "ada", None).with_model(Session::load(&file(session)))
}

fn fail_on_hidden() -> Ran {
    let (step, ended) = ran(found().with("min-severity", "critical").with("fail-on", "high"));
    assert_eq!((ended.output("findings"), ended.output("blocking")), ("0", "1"), "{ended}");
    (step, ended)
}

fn request_changes() -> Ran {
    let (step, ended) = ran(found().with("request-changes-on", "high"));
    assert_eq!(step.pull.reviews()[0].state, "CHANGES_REQUESTED");
    (step, ended)
}

/// A pull request that was a draft when the event happened, and may be one still.
fn draft(is_still: bool) -> Step {
    let step = found().event("pull_request", "pull_request_draft", |_| {});
    step.pull.change(|pull| pull.draft = is_still);
    step
}

fn no_key_fork() -> Ran {
    let work = TestRepo::new();
    work.write("README", "read me\n").commit("begin");
    work.branch("feature").write("a.py", bad("f")).commit("a change");
    let step = Step::of(work, "mallory", Some("mallory/demo")).with("model", "anthropic/x");
    let (step, ended) = ran(step.event("pull_request", "pull_request_fork", |_| {}));
    assert!(ended.summary.contains("fork") && ended.summary.contains("pull_request_target"), "{ended}");
    (step, ended)
}

fn read_only(step: Step) -> Step {
    step.fake.rights(|rights| rights.write = false);
    step
}

fn not_posted() -> Step {
    let step = found();
    let failed = || Trouble::unprocessable(&["no"]);
    step.fake.fail_always(On::rest("POST", "/pulls/7/reviews"), failed());
    step.fake.fail_always(On::rest("POST", "/issues/7/comments"), failed());
    step
}

fn forge_down() -> Step {
    let step = found();
    step.fake.fail_always(On::any(), Trouble::status(503));
    step
}

fn superseded() -> Step {
    let step = found();
    step.work.write("b.py", good("g")).commit("more");
    step.pull.push(&step.work, "feature");
    step
}

/// The head moves while the model thinks.
fn superseded_late() -> Ran {
    let mut session = Session::load(&file("well"));
    session.steps[0].say.delay_ms = 3000;
    let step = Step::of(shop(), "ada", None).with_model(session).with("fail-on", "nit").with("formats", "json");
    let child = step.command().spawn().expect("it starts");
    step.server.as_ref().expect("a model").wait_for(1);
    step.work.write("b.py", good("g")).commit("more");
    step.pull.push(&step.work, "feature");
    let ended = step.ended(child);
    assert_eq!((ended.output("findings"), ended.output("blocking")), ("", ""), "{ended}");
    assert!(Path::new(ended.output("json")).exists(), "what was paid for is kept");
    assert!(step.pull.reviews().is_empty() && step.pull.comments().is_empty());
    (step, ended)
}

/// Another branch is asked for as the target than the event says.
fn retargeted(step: Step) -> Step {
    step.pull.change(|pull| "lax".clone_into(&mut pull.base_ref));
    step
}

/// Likewise while the model thinks.
fn retargeted_late() -> Ran {
    let mut session = Session::load(&file("well"));
    session.steps[0].say.delay_ms = 3000;
    let step = Step::of(shop(), "ada", None).with_model(session).with("fail-on", "nit").with("formats", "json");
    let child = step.command().spawn().expect("it starts");
    step.server.as_ref().expect("a model").wait_for(1);
    step.pull.change(|pull| "lax".clone_into(&mut pull.base_ref));
    let ended = step.ended(child);
    assert!(ended.summary.contains("lax") && step.pull.reviews().is_empty(), "{ended}");
    (step, ended)
}

/// What another run left is of another commit.
fn artefact_other() -> Ran {
    let step = found().with("post", "none").with("formats", "json");
    let made = step.run();
    let left = step.path("left");
    std::fs::create_dir(&left).unwrap();
    std::fs::copy(made.output("json"), left.join("review.json")).unwrap();
    std::fs::write(step.path("commands/output"), "").unwrap();
    let other = |payload: &mut serde_json::Value| payload["workflow_run"]["head_sha"] = "c".repeat(40).into();
    let step = step.event("workflow_run", "workflow_run", other).with("post", "").with("formats", "");
    ran(step.with("artifact", &left.display().to_string()))
}

#[cfg(target_os = "linux")]
fn interrupted() -> Ran {
    let step = model("found_then_hang").with("fail-on", "high");
    let child = step.command().spawn().expect("it starts");
    step.server.as_ref().expect("a model").wait_for(2);
    let id = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw).expect("a process id");
    rustix::process::kill_process(id, rustix::process::Signal::INT).expect("a signal");
    let ended = step.ended(child);
    (step, ended)
}

/// The rows of the table.
fn rows() -> Vec<Row> {
    let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/gate.md")).expect("the table");
    let word = |cell: &str| cell.trim().trim_matches('`').to_owned();
    let row = |line: &str| {
        let cells: Vec<&str> = line.trim().trim_matches('|').split('|').collect();
        let [case, _, outcome, came_to, step, posted] = cells[..] else { panic!("no row: {line}") };
        let passes = match step.trim() {
            "passes" => true,
            "fails" => false,
            other => panic!("a step passes or fails: {other}"),
        };
        let (case, outcome, came_to, posted) = (word(case), word(outcome), word(came_to), word(posted));
        Row { case, outcome, came_to, passes, posted }
    };
    text.lines().filter(|line| line.starts_with("| `")).map(row).collect()
}

#[test]
fn every_row_has_a_case_and_every_case_a_row() {
    let rows: Vec<String> = rows().into_iter().map(|row| row.case).collect();
    let (of_table, of_tests): (BTreeSet<&str>, BTreeSet<&str>) =
        (rows.iter().map(String::as_str).collect(), CASES.iter().map(|(case, _)| *case).collect());
    assert_eq!((of_table.len(), of_tests.len()), (rows.len(), CASES.len()), "each stands there once");
    let (only_table, only_tests): (Vec<_>, Vec<_>) =
        (of_table.difference(&of_tests).collect(), of_tests.difference(&of_table).collect());
    let not_here: &[&&str] = if cfg!(target_os = "linux") { &[] } else { &[&"interrupted"] };
    assert_eq!((&only_table[..], &only_tests[..]), (not_here, &[][..]));
}

#[test]
fn every_row_holds() {
    let (rows, next, wrong) = (rows(), AtomicUsize::new(0), Mutex::new(Vec::new()));
    let name = std::thread::current().name().unwrap_or("gate").to_owned();
    let work = || {
        while let Some((case, run)) = CASES.get(next.fetch_add(1, Ordering::Relaxed)) {
            let Some(row) = rows.iter().find(|row| row.case == *case) else { continue };
            let (step, ended) = run();
            let code = ended.code.to_string();
            let expected = (&*row.outcome, &*row.came_to, if row.passes { "0" } else { &*row.came_to }, &*row.posted);
            let came = (ended.output("outcome"), ended.output("exit-code"), &*code, ended.output("posted"));
            if came != expected {
                wrong.lock().unwrap().push(format!("{case}: {came:?} is not {expected:?}\n{ended}"));
            }
            if let Some(server) = &step.server {
                wrong.lock().unwrap().extend(server.verdict().into_iter().map(|fault| format!("{case}: {fault}")));
            }
            step.fake.finish();
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..4 {
            std::thread::Builder::new().name(name.clone()).spawn_scoped(scope, work).expect("a thread");
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{}", wrong.join("\n=====\n"));
}
