//! What a model may do to a review, on real repositories: findings that stand and others, and what counts as seen.

#![allow(clippy::expect_used, reason = "the steps of a test fail loudly")]

use std::sync::Arc;

use review_runner::domain::change::{ChangeSet, FileChange};
use review_runner::domain::event::NullEventSink;
use review_runner::domain::filter::PathFilter;
use review_runner::domain::finding::{OriginKind, Severity};
use review_runner::domain::path::RepoPath;
use review_runner::domain::place::DiffSide;
use review_runner::domain::review::{CoverageState, Review, ReviewOutcome};
use review_runner::domain::run::{Engine, RunId, Usage};
use review_runner::git;
use review_runner::review::{
    BranchHistory, EngineOutcome, FindingThresholds, ModelContribution, ProvenanceInput, ReviewBuilder, ShownDiff,
};
use review_runner::rules::{self, Packs, RulesInput};
use review_runner::sys::cancel::Cancel;
use review_runner::sys::repo::{Repo, RepoPool};
use review_runner::tools::{Checkout, DiffError, DiffPart, DiffPlace, DiffSource, ToolContext, ToolLimits, Toolbox};
use review_runner::workspace::{self, Workspace};
use serde_json::{Value, json};

use crate::support::TestRepo;
use crate::support::change::change_of;

const OLD: &str = "use std::fs;\n\npub fn load(path: &str) -> String {\n    check(path);\n    fs::read_to_string(path).unwrap_or_default()\n}\n\npub fn unrelated() -> u32 {\n    let answer = 6 * 7;\n    answer\n}\n";
const NEW: &str = "use std::fs;\n\npub fn load(path: &str) -> String {\n    let text = fs::read_to_string(path).unwrap();\n    text.trim().to_owned()\n}\n\npub fn unrelated() -> u32 {\n    let answer = 6 * 7;\n    answer\n}\n";
const USER: &str = "fn main() {\n    println!(\"{}\", load(\"settings\"));\n}\n";

/// A change with everything that an engine has around it.
struct World {
    _repo: TestRepo,
    change: Arc<ChangeSet>,
    new: Arc<dyn Workspace>,
    old: Arc<dyn Workspace>,
    tools: Toolbox,
}

struct FromGit(RepoPool, Arc<ChangeSet>);

impl DiffSource for FromGit {
    fn part(&self, file: &FileChange, from: DiffPlace, lines: usize, bytes: usize) -> Result<DiffPart, DiffError> {
        let repo = self.0.acquire().map_err(|error| DiffError::Git(error.to_string()))?;
        let from = git::DiffPosition { hunk: from.hunk, line: from.line };
        let patch = git::file_patch(&repo, &self.1, file, from, lines, bytes);
        let patch = patch.map_err(|error| DiffError::Git(error.to_string()))?;
        Ok(DiffPart {
            text: patch.text,
            next: patch.next.map(|next| DiffPlace { hunk: next.hunk, line: next.line }),
            lines_left: patch.lines_left,
            shortened_lines: patch.shortened_lines,
        })
    }
}

fn world_of(repo: TestRepo, limits: ToolLimits) -> World {
    let change = Arc::new(change_of(&repo));
    let pool = RepoPool::new(Repo::open(repo.root()).expect("a repository"));
    let open = |at, side| workspace::open(Some(&pool), at, side, &[], PathFilter::all()).expect("a tree");
    let (new, old) = (open(change.new_at, DiffSide::New), open(change.old_at, DiffSide::Old));
    let tools = Toolbox::new(ToolContext {
        change: Some(Arc::clone(&change)),
        new: Arc::clone(&new),
        old: Some(Arc::clone(&old)),
        diff: Some(Arc::new(FromGit(pool, Arc::clone(&change)))),
        from_merge_base: false,
        checkout: Checkout::default(),
        cancel: Cancel::never(),
        builds: None,
        languages: None,
        limits,
    });
    World { _repo: repo, change, new, old, tools }
}

fn world() -> World {
    let repo = TestRepo::new();
    repo.write("src/lib.rs", OLD).write("src/main.rs", USER).commit("begin");
    repo.branch("feature").write("src/lib.rs", NEW).commit("change");
    world_of(repo, ToolLimits::default())
}

impl World {
    fn builder(&self) -> ReviewBuilder {
        ReviewBuilder::new(Arc::clone(&self.change), Arc::clone(&self.new), Arc::clone(&self.old))
    }
}

fn call(builder: &mut ReviewBuilder, name: &str, input: Value) -> Value {
    let Value::Object(input) = input else { panic!("not an object: {input}") };
    let answer = builder.call(name, input, 0, &Cancel::never()).expect("no stop");
    serde_json::from_str(&answer.text).expect("JSON")
}

fn report(builder: &mut ReviewBuilder, title: &str, quote: &str, more: Value) -> Value {
    let mut input = json!({ "title": title, "body": format!("{title}, because of this."), "severity": "High",
        "category": "logic", "file_path": "src/lib.rs", "quote": quote });
    let (Value::Object(input_fields), Value::Object(more)) = (&mut input, more) else { panic!("objects") };
    input_fields.extend(more);
    builder.begin_turn();
    call(builder, "report_finding", input)
}

fn finish(builder: ReviewBuilder) -> Review {
    let model = ModelContribution {
        provider: "anthropic".to_owned(),
        model: "m".to_owned(),
        prompts: Some("hash".to_owned()),
        instructions: None,
        guidelines: Vec::new(),
        turns: 6,
        answered: Vec::new(),
        usage: Usage { input_tokens: Some(9), ..Usage::default() },
        second_look: None,
        tool_calls: 4,
        tool_errors: 1,
        limits_hit: vec!["turns: 6".to_owned()],
    };
    let made = ProvenanceInput {
        run: RunId::random(),
        engine: Engine::Model,
        rules: None,
        model: Some(model),
        started_at: "2024-01-01T00:00:00Z".to_owned(),
        took_ms: 1,
    };
    builder.finish(&EngineOutcome::Done, FindingThresholds::default(), &BranchHistory::default(), made)
}

fn path(spelled: &str) -> RepoPath {
    RepoPath::parse(spelled).expect("a path")
}

#[test]
fn a_review_with_an_exact_a_moved_an_invented_and_a_far_finding() {
    let world = world();
    let mut builder = world.builder();
    builder.record_shown_diff(&ShownDiff { path: path("src/lib.rs"), hunks: 1, lines: 0 });
    let exact = report(
        &mut builder,
        "Panics on a missing file",
        "    let text = fs::read_to_string(path).unwrap();",
        json!({ "start_line": 4 }),
    );
    assert_eq!((&exact["id"], &exact["match"], &exact["start_line"]), (&json!("F1"), &json!("exact"), &json!(4)));
    let moved = report(
        &mut builder,
        "Trims what callers may need",
        "    text.trim().to_owned()",
        json!({ "start_line": 40, "end_line": 41 }),
    );
    assert_eq!((&moved["id"], &moved["match"], &moved["start_line"]), (&json!("F2"), &json!("moved"), &json!(5)));
    let invented = report(&mut builder, "Leaks a handle", "    let handle = fs::File::open(path).unwrap();", json!({}));
    assert_eq!(invented["status"], "not_accepted");
    let far = report(&mut builder, "Magic number", "    let answer = 6 * 7;", json!({}));
    assert!(far["reason"].as_str().expect("a reason").contains("not changed"), "{far}");
    call(&mut builder, "write_section", json!({ "title": "Tests", "body": "There are none." }));
    let refused = call(&mut builder, "finish_review", json!({ "summary": "Two defects." }));
    assert_eq!(refused["reports"].as_array().map(Vec::len), Some(2), "{refused}");
    builder.begin_turn();
    assert_eq!(call(&mut builder, "finish_review", json!({ "summary": "Two defects." }))["seen"], "all of the change");

    let review = finish(builder);
    assert_eq!((review.outcome, review.summary.as_str()), (ReviewOutcome::Complete, "Two defects."));
    let found: Vec<_> =
        review.findings.iter().map(|finding| (finding.title.as_str(), finding.origin.name.as_str())).collect();
    assert_eq!(found, [("Panics on a missing file", "anthropic/m"), ("Trims what callers may need", "anthropic/m")]);
    let withheld: Vec<_> = review.coverage.withheld.iter().map(|withheld| withheld.title.as_str()).collect();
    assert_eq!(withheld, ["Leaks a handle", "Magic number"]);
    assert_eq!(review.sections.len(), 1);
    assert_eq!((review.coverage.tool_calls, review.coverage.tool_errors, review.coverage.limits_hit.len()), (4, 1, 1));
    let provenance = &review.provenance;
    assert_eq!((provenance.provider.as_deref(), provenance.model.as_deref()), (Some("anthropic"), Some("m")));
    assert_eq!((provenance.turns, provenance.usage.input_tokens), (6, Some(9)));
}

#[test]
fn removed_lines_and_files_that_did_not_change_can_prove_a_defect() {
    let world = world();
    let mut builder = world.builder();
    let old = report(&mut builder, "The check is gone", "    check(path);", json!({ "side": "OLD" }));
    assert_eq!((&old["id"], &old["side"], &old["start_line"]), (&json!("F1"), &json!("old"), &json!(4)));
    let elsewhere = report(
        &mut builder,
        "The program dies without settings",
        "    println!(\"{}\", load(\"settings\"));",
        json!({ "file_path": "src/main.rs" }),
    );
    assert!(
        elsewhere["reason"].as_str().expect("a reason").contains("give the changed line that causes it"),
        "{elsewhere}"
    );
    let turned = report(
        &mut builder,
        "The program dies without settings",
        "    let text = fs::read_to_string(path).unwrap();",
        json!({ "related": [{ "path": "src/main.rs", "quote": "    println!(\"{}\", load(\"settings\"));", "note": "called here" },
            { "file_path": "src/gone.rs", "quote": "nothing" }] }),
    );
    assert_eq!(turned["id"], "F2", "{turned}");
    let note = turned["note"].as_str().expect("a note");
    assert!(note.contains("src/gone.rs was dropped") && note.contains("stands for W1"), "{note}");
    let shown_there = report(
        &mut builder,
        "Nothing is printed",
        "    println!(\"{}\", load(\"settings\"));",
        json!({ "file_path": "src/main.rs", "related": [{ "file_path": "src/lib.rs", "quote": "    let text = fs::read_to_string(path).unwrap();" }] }),
    );
    assert_eq!((&shown_there["id"], &shown_there["file_path"]), (&json!("F3"), &json!("src/main.rs")), "{shown_there}");
    let note = shown_there["note"].as_str().expect("a note");
    assert!(
        note.contains("Placed at src/main.rs:2 (unchanged); it counts because its related place src/lib.rs:"),
        "{note}"
    );
    let review = finish(builder);
    let found =
        review.findings.iter().find(|finding| finding.title.starts_with("The program dies")).expect("it stands");
    assert_eq!(found.anchors.len(), 2);
    assert!(found.body.contains("- src/main.rs:2: called here"), "{}", found.body);
    assert!(review.coverage.withheld.is_empty());
}

#[test]
fn suggestions_are_tried_before_anybody_sees_them() {
    let world = world();
    for (suggestion, told, proven, prose) in [
        ("    let text = fs::read_to_string(path)?;", "proven", true, false),
        ("    let text = fs::read_to_string(path).unwrap();", "dropped", false, false),
        ("    let text = fs::read_to_string(path.unwrap(;", "no longer parse", false, true),
        ("    // ... existing code ...", "leaves out", false, true),
        ("", "", false, false),
    ] {
        let mut builder = world.builder();
        let quote = "    let text = fs::read_to_string(path).unwrap();";
        let answer = report(&mut builder, "Panics", quote, json!({ "suggestion": suggestion }));
        assert!(answer["suggestion"].as_str().unwrap_or_default().contains(told), "{suggestion}: {answer}");
        let review = finish(builder);
        assert_eq!(review.findings[0].suggestion.is_some(), proven, "{suggestion}");
        assert_eq!(review.findings[0].body.contains("A possible replacement"), prose, "{suggestion}");
    }
    // Of three lines that are replaced only the middle one differs.
    let mut builder = world.builder();
    let quote = NEW.lines().skip(2).take(4).collect::<Vec<_>>().join("\n");
    report(&mut builder, "Panics", &quote, json!({ "suggestion": quote.replace(".unwrap()", ".unwrap_or_default()") }));
    let review = finish(builder);
    let suggestion = review.findings[0].suggestion.as_ref().expect("a suggestion");
    assert_eq!((suggestion.lines.start(), suggestion.lines.end()), (4, 4));
}

#[test]
fn a_secret_reaches_no_reader() {
    let secret = ["AKIA", "QWERTYUIOPASDFGH"].concat();
    let repo = TestRepo::new();
    repo.write("a.py", "import os\n").commit("begin");
    repo.branch("feature").write("a.py", format!("import os\nKEY = \"{secret}\"\nconnect(KEY)\n")).commit("change");
    let world = world_of(repo, ToolLimits::default());
    let mut builder = world.builder();
    let mut answers = vec![report(
        &mut builder,
        &format!("The key {secret} is in the code"),
        &format!("KEY = \"{secret}\""),
        json!({ "file_path": "a.py", "body": format!("Take {secret} out."), "suggestion": format!("KEY = os.environ[\"{secret}\"]") }),
    )];
    answers.push(report(
        &mut builder,
        &format!("Again {secret}"),
        "nowhere(to, be, found)",
        json!({ "file_path": "a.py", "severity": secret }),
    ));
    call(&mut builder, "write_section", json!({ "title": "Keys", "body": secret }));
    for _ in 0..2 {
        answers.push(call(&mut builder, "finish_review", json!({ "summary": format!("It has {secret}.") })));
    }
    assert_eq!(answers[0]["id"], "F1", "{answers:?}");
    let review = finish(builder);
    assert!(review.findings[0].anchors[0].masked && review.findings[0].suggestion.is_none());
    let all = format!(
        "{answers:?}{:?}{:?}{:?}{}{:?}",
        review.findings, review.coverage, review.sections, review.summary, review.reasons
    );
    assert!(!all.contains(&secret), "{all}");
}

#[test]
fn what_the_rules_proved_does_not_vanish() {
    let repo = TestRepo::new();
    repo.write("src/level.rs", "pub fn known(value: f64) -> bool {\n    !value.is_nan()\n}\n").commit("begin");
    repo.branch("feature");
    repo.write("src/level.rs", "pub fn known(value: f64) -> bool {\n    value != f64::NAN\n}\n").commit("change");
    let world = world_of(repo, ToolLimits::default());
    let packs = Packs::built_in().expect("packs");
    // What is asked for is no hint.
    let packs = packs.with_severities(&[("rust/compared-with-nan".to_owned(), Severity::High)]).expect("a rule");
    let report = rules::run(&RulesInput {
        change: &world.change,
        only: None,
        new: world.new.as_ref(),
        old: world.old.as_ref(),
        packs: &packs,
        lines: &rules::ChangedLines::default(),
        trees: &rules::TreeCache::default(),
        cancel: &Cancel::never(),
        events: &NullEventSink,
    });
    let mut builder = world.builder();
    builder.add_leads(&report.claims, &Cancel::never());
    assert_eq!(builder.leads().len(), 1);
    builder.record_shown_diff(&ShownDiff { path: path("src/level.rs"), hunks: 1, lines: 0 });
    let told = call(&mut builder, "finish_review", json!({ "summary": "All is well." }));
    assert_eq!(told["leads"], json!(["L1"]));
    call(&mut builder, "finish_review", json!({ "summary": "All is well." }));
    let review = finish(builder);
    assert_eq!((review.outcome, review.findings.len()), (ReviewOutcome::Complete, 1));
    assert_eq!((review.findings[0].origin.kind, review.coverage.leads.unanswered), (OriginKind::Rule, 1));
}

/// Reads all that `finish_review` says was never seen, by the calls that it gives.
fn read_what_is_missing(world: &World, builder: &mut ReviewBuilder) -> usize {
    let told = call(builder, "finish_review", json!({ "summary": "Done." }));
    let mut calls: Vec<Value> = told["unseen"].as_array().cloned().unwrap_or_default();
    let mut made = 0;
    while let Some(next) = calls.pop() {
        made += 1;
        assert!(made < 1000, "reading does not end");
        let outcome = world.tools.call(next["tool"].as_str().expect("a tool"), next["input"].clone());
        assert!(!outcome.is_error, "{}", outcome.text);
        builder.record_shown_lines(&outcome.references);
        let answer: Value = serde_json::from_str(outcome.json()).expect("JSON");
        calls.extend(answer.get("next").cloned());
    }
    made
}

#[test]
fn reading_the_diff_as_told_sees_the_whole_change() {
    let repo = TestRepo::new();
    let old: Vec<String> = (0..600).map(|line| format!("let value_{line} = {line};")).collect();
    let mut new = old.clone();
    for at in [5, 100, 300, 599] {
        new[at] = format!("let changed_{at} = {at};");
    }
    // A hunk that takes several answers.
    new.splice(400..402, (0..90).map(|line| format!("let long_{line} = \"{}\";", "x".repeat(40))));
    new.remove(200);
    repo.write("a.rs", old.join("\n"))
        .write("gone.rs", "fn gone() {}\n")
        .write("moved.rs", old.join("\n"))
        .commit("begin");
    repo.branch("feature").write("a.rs", new.join("\n")).write("b.rs", "fn fresh() {}\n").remove("gone.rs");
    repo.git(["mv", "moved.rs", "there.rs"]);
    repo.write("there.rs", new.join("\n")).write("Cargo.lock", "# made\n").write("bin", b"\0\x01").commit("change");
    let world = world_of(repo, ToolLimits { lines: 20, ..ToolLimits::default() });
    let mut builder = world.builder();
    builder.record_shown_diff(&ShownDiff { path: path("b.rs"), hunks: 1, lines: 0 });
    assert!(read_what_is_missing(&world, &mut builder) > 10);
    assert_eq!(call(&mut builder, "finish_review", json!({ "summary": "Done." }))["seen"], "all of the change");
    let review = finish(builder);
    assert_eq!((review.outcome, review.reasons.len()), (ReviewOutcome::Complete, 0), "{:?}", review.reasons);
    let state = |name: &str| {
        let file = review.coverage.files.iter().find(|file| file.path == path(name)).expect("a file");
        (file.state, file.reason.as_deref())
    };
    for name in ["a.rs", "b.rs", "gone.rs", "there.rs"] {
        assert_eq!(state(name), (CoverageState::Reviewed, None), "{name}");
    }
    assert_eq!(state("Cargo.lock"), (CoverageState::Skipped, Some("lock file")));
    assert_eq!(state("bin"), (CoverageState::Skipped, Some("binary")));
}

#[test]
fn reading_files_sees_a_change_where_both_sides_were_read() {
    let world = world();
    let mut builder = world.builder();
    let read = |builder: &mut ReviewBuilder, side: &str, first: u32, last: u32| {
        let input = json!({ "file_path": "src/lib.rs", "side": side, "start_line": first, "end_line": last });
        builder.record_shown_lines(&world.tools.call("read_file_part", input).references);
    };
    read(&mut builder, "new", 1, 11);
    let told = call(&mut builder, "finish_review", json!({ "summary": "Done." }));
    assert!(told["reason"].as_str().expect("a reason").contains("1 hunk of 1 file"), "{told}");
    read(&mut builder, "old", 4, 5);
    assert_eq!(call(&mut builder, "finish_review", json!({ "summary": "Done." }))["seen"], "all of the change");
    assert_eq!(finish(builder).outcome, ReviewOutcome::Complete);
}
