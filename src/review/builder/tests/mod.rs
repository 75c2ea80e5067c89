//! Effects of a model's calls on a review, for a small change in memory.

use super::*;
use crate::domain::change::{ChangeRun, FileChange, Hunk, HunkSpan};
use crate::domain::claim::{Claim, ClaimedPlace};
use crate::domain::finding::{
    Category, Confidence, FindingOrigin, FindingVerification, GuidelineRef, OriginKind, Severity, VerificationState,
};
use crate::domain::guideline::{Guideline, GuidelineApplication, GuidelineKind, GuidelineOrigin};
use crate::domain::path::RepoPath;
use crate::domain::place::{DiffSide, WorkspaceAt};
use crate::domain::review::{LeadCounts, ReviewOutcome, StopReason};
use crate::domain::run::Engine;
use crate::domain::run::RunId;
use crate::review::builder::engine_tools::is_engine_tool;
use crate::review::outcome::{ModelContribution, ShownDiff};
use crate::sys::cancel::CancelReason;
use crate::workspace::memory::MemoryTree;
use serde_json::json;

const OLD: &str = "fn load() {\n    open();\n    check();\n    read();\n}\n\nfn other() {\n    read();\n}\n";
const NEW: &str = "fn load() {\n    open();\n    read();\n}\n\nfn other() {\n    read();\n    write_all(buffer);\n    flush(buffer);\n}\n";

mod closing;
mod corrections;
mod leads;
mod wording;

fn path(path: &str) -> RepoPath {
    RepoPath::parse(path).unwrap()
}

fn run(old: (u32, u32), new: (u32, u32)) -> ChangeRun {
    ChangeRun { old: HunkSpan { start: old.0, count: old.1 }, new: HunkSpan { start: new.0, count: new.1 } }
}

/// `src/a.rs` lost line 3 and gained lines 8 and 9; `far.rs` did not change.
fn builder() -> ReviewBuilder {
    let hunk = |old: u32, new: u32, run: ChangeRun| Hunk {
        old: HunkSpan { start: old, count: 4 },
        new: HunkSpan { start: new, count: 4 },
        runs: vec![run],
    };
    let file = FileChange {
        additions: 2,
        deletions: 1,
        hunks: vec![hunk(1, 1, run((3, 1), (2, 0))), hunk(7, 6, run((8, 0), (8, 2)))],
        ..FileChange::modified(path("src/a.rs"))
    };
    let change = ChangeSet {
        repository: "r".to_owned(),
        target: "main".to_owned(),
        head_name: "HEAD".to_owned(),
        old_at: WorkspaceAt::Empty,
        new_at: WorkspaceAt::Empty,
        ..ChangeSet::of(vec![file])
    };
    let (mut old, mut new) = (MemoryTree::default(), MemoryTree::default());
    old.insert(path("src/a.rs"), OLD);
    new.insert(path("src/a.rs"), NEW);
    for tree in [&mut old, &mut new] {
        tree.insert(path("far.rs"), "let nowhere_near = load();\n");
        tree.insert(path("RULES.md"), "Be kind.\nCheck results.\n");
    }
    ReviewBuilder::new(Arc::new(change), Arc::new(new), Arc::new(old))
}

fn answer(builder: &mut ReviewBuilder, name: &str, input: Value, pending_reads: usize) -> (Value, EngineToolResponse) {
    let Value::Object(input) = input else { panic!("an object") };
    let answer = builder.call(name, input, pending_reads, &Cancel::never()).unwrap();
    (serde_json::from_str(&answer.text).unwrap(), answer)
}

fn call(builder: &mut ReviewBuilder, name: &str, input: Value) -> Value {
    answer(builder, name, input, 0).0
}

fn finding(title: &str, quote: &str) -> Value {
    json!({ "title": title, "body": "Because.", "severity": "high", "category": "logic", "file_path": "src/a.rs", "quote": quote })
}

fn report(builder: &mut ReviewBuilder, title: &str, quote: &str) -> Value {
    builder.begin_turn();
    call(builder, "report_finding", finding(title, quote))
}

fn finish(builder: ReviewBuilder, ending: &EngineOutcome) -> Review {
    let made = ProvenanceInput {
        run: RunId::random(),
        engine: Engine::Model,
        rules: None,
        model: Some(ModelContribution {
            provider: "p".to_owned(),
            model: "m".to_owned(),
            turns: 3,
            ..ModelContribution::default()
        }),
        started_at: "2024-01-01T00:00:00Z".to_owned(),
        took_ms: 1,
    };
    builder.finish(ending, FindingThresholds::default(), &BranchHistory::default(), made)
}

fn see_all(builder: &mut ReviewBuilder) {
    builder.record_shown_diff(&ShownDiff { path: path("src/a.rs"), hunks: 2, lines: 0 });
}

fn lead(title: &str, quote: &str) -> Claim {
    Claim {
        title: title.to_owned(),
        body: "The rule says so.".to_owned(),
        severity: Severity::High,
        category: Category::Logic,
        confidence: None,
        place: ClaimedPlace {
            path: path("src/a.rs"),
            side: DiffSide::New,
            quote: Some(quote.to_owned()),
            lines: None,
            note: None,
        },
        related: Vec::new(),
        replacement: None,
        origin: FindingOrigin { kind: OriginKind::Rule, name: "rust/rule".to_owned() },
    }
}

fn withheld(review: &Review) -> Vec<(&str, &str)> {
    review.coverage.withheld.iter().map(|withheld| (withheld.title.as_str(), withheld.reason.as_str())).collect()
}

#[test]
fn a_finding_that_stands_is_told_with_its_lines() {
    let mut builder = builder();
    let mut input = finding("Result is dropped", "    write_all(buffer);");
    input["start_line"] = "8".into();
    let (told, given) = answer(&mut builder, "report_finding", input, 0);
    assert_eq!(
        told,
        json!({ "status": "accepted", "id": "F1", "severity": "high", "file_path": "src/a.rs", "start_line": 8, "end_line": 8,
            "match": "exact", "content": "     8\t    write_all(buffer);\n" })
    );
    assert!(!given.is_error && matches!(given.effect, CallEffect::Finding { line: Some(8), .. }), "{given:?}");
    see_all(&mut builder);
    let review = finish(builder, &EngineOutcome::Done);
    assert_eq!((review.outcome, review.findings.len(), review.provenance.turns), (ReviewOutcome::Complete, 1, 3));
    assert_eq!(review.findings[0].origin.name, "p/m");
}

#[test]
fn a_moved_quote_is_anchored_where_it_stands() {
    let mut builder = builder();
    let mut input = finding("Result is dropped", "    write_all(buffer);");
    input["start_line"] = 2.into();
    let told = call(&mut builder, "report_finding", input);
    assert_eq!((&told["start_line"], &told["match"]), (&json!(8), &json!("moved")));
}

#[test]
fn an_invented_quote_is_held_against_the_model_until_it_is_corrected() {
    let mut builder = builder();
    let told = report(&mut builder, "Result is dropped", "    write_all(buffers).unwrap();");
    assert_eq!((&told["status"], &told["id"]), (&json!("not_accepted"), &json!("W1")));
    assert!(told["reason"].as_str().unwrap().contains("     8\t    write_all(buffer);"), "{told}");
    let told = report(&mut builder, "result is *dropped*!", "    write_all(buffer);");
    assert_eq!(told["id"], "F1");
    assert!(told["note"].as_str().unwrap().contains("W1"), "{told}");
    assert!(finish(builder, &EngineOutcome::Done).coverage.withheld.is_empty());
}

#[test]
fn what_is_never_corrected_is_withheld_with_its_reason() {
    let mut builder = builder();
    report(&mut builder, "Invented", "    no_such_call_anywhere();");
    report(&mut builder, "Far away", "fn other() {");
    let mut elsewhere = finding("Elsewhere", "let nowhere_near = load();");
    elsewhere["file_path"] = "far.rs".into();
    call(&mut builder, "report_finding", elsewhere);
    let review = finish(builder, &EngineOutcome::Done);
    assert_eq!(
        withheld(&review),
        [
            ("Invented", "the quote stands nowhere in src/a.rs (after the change)"),
            ("Far away", "line 6 of src/a.rs is not changed"),
            ("Elsewhere", "far.rs is not a changed file")
        ]
    );
}

#[test]
fn calls_of_one_turn_do_not_correct_each_other() {
    let mut builder = builder();
    builder.begin_turn();
    call(&mut builder, "report_finding", finding("Result is dropped", "    invented(buffer);"));
    assert_eq!(call(&mut builder, "report_finding", finding("Result is dropped", "    flush(buffer);"))["id"], "F1");
    assert_eq!(finish(builder, &EngineOutcome::Done).coverage.withheld.len(), 1);
}

#[test]
fn a_claim_that_is_refused_again_and_again_is_to_be_dropped() {
    let mut builder = builder();
    for _ in 0..2 {
        assert!(
            report(&mut builder, "Invented", "    write_all(buffers);")["reason"].as_str().unwrap().contains("nearest")
        );
    }
    let told = report(&mut builder, "Invented", "    write_all(buffers);");
    assert!(!told["reason"].as_str().unwrap().contains("nearest"), "{told}");
    assert!(told["note"].as_str().unwrap().contains("Drop it"), "{told}");
    assert_eq!(finish(builder, &EngineOutcome::Done).coverage.withheld.len(), 1, "it is one claim");
}

#[test]
fn findings_and_refused_reports_can_be_taken_back() {
    let mut builder = builder();
    report(&mut builder, "Result is dropped", "    write_all(buffer);");
    report(&mut builder, "Invented", "    no_such_call_anywhere();");
    let take = |builder: &mut ReviewBuilder, id: &str| {
        call(builder, "withdraw_finding", json!({ "id": id, "reason": "wrong" }))
    };
    assert_eq!(take(&mut builder, "#f1")["status"], "withdrawn");
    assert_eq!(take(&mut builder, "W1")["status"], "withdrawn");
    let fault = take(&mut builder, "F1");
    assert_eq!(fault["error"]["message"], "there is no finding \"F1\"; there are none");
    assert_eq!(report(&mut builder, "Another", "    flush(buffer);")["id"], "F2", "an id is not given twice");
    let review = finish(builder, &EngineOutcome::Done);
    assert!(review.coverage.withheld.is_empty() && review.findings.len() == 1);
    assert!(review.coverage.notes.contains(&"2 findings were withdrawn by the model".to_owned()));
}

#[test]
fn a_repeated_finding_is_merged_and_another_defect_of_the_line_is_not() {
    let mut builder = builder();
    report(&mut builder, "Result of write_all is dropped", "    write_all(buffer);");
    let mut again = finding("The result of write_all is dropped", "    write_all(buffer);\n    flush(buffer);");
    again["severity"] = "critical".into();
    again["body"] = "A longer account of what goes wrong.".into();
    let told = call(&mut builder, "report_finding", again);
    assert_eq!((&told["status"], &told["id"], &told["severity"]), (&json!("merged"), &json!("F1"), &json!("critical")));
    let mut patched = finding("Result of write_all is dropped", "    write_all(buffer);");
    patched["suggestion"] = "    write_all(buffer)?;".into();
    assert_eq!(call(&mut builder, "report_finding", patched.clone())["suggestion"], "proven: it replaces lines 8-8");
    patched["suggestion"] = "    let _ = write_all(buffer);".into();
    let told = call(&mut builder, "report_finding", patched);
    assert_eq!(told["suggestion"], "dropped: the finding has one already");
    let mut other = finding("Buffer is written to twice", "    write_all(buffer);");
    other["category"] = "performance".into();
    assert_eq!(call(&mut builder, "report_finding", other)["id"], "F2");
    let review = finish(builder, &EngineOutcome::Done);
    assert_eq!(review.findings.len(), 2);
    assert_eq!(review.findings[0].body, "A longer account of what goes wrong.");
}

#[test]
fn what_may_be_another_defect_of_the_line_is_not_lost_when_it_is_merged() {
    let mut builder = builder();
    let mut first = finding("Unchecked result of write_all(buffer)", "    write_all(buffer);");
    first["body"] = "Nobody looks at what it returns, and so on and so forth.".into();
    call(&mut builder, "report_finding", first);
    let mut other = finding("Unchecked length of buffer", "    write_all(buffer);");
    other["body"] = "It may be empty.".into();
    assert_eq!(call(&mut builder, "report_finding", other.clone())["status"], "merged");
    call(&mut builder, "report_finding", other);
    let review = finish(builder, &EngineOutcome::Done);
    let body = &review.findings[0].body;
    assert!(body.starts_with("Nobody looks"), "{body}");
    assert_eq!(body.matches("Unchecked length of buffer\n\nIt may be empty.").count(), 1, "{body}");
    let mut builder = self::builder();
    report(&mut builder, "Unchecked result of write_all(buffer)", "    write_all(buffer);");
    let mut worse = finding("Unchecked length of buffer", "    write_all(buffer);");
    (worse["severity"], worse["body"]) = ("critical".into(), "It may be empty.".into());
    assert_eq!(call(&mut builder, "report_finding", worse)["status"], "merged");
    let found = &finish(builder, &EngineOutcome::Done).findings[0];
    assert_eq!(found.title, "Unchecked length of buffer");
    assert_eq!(found.body, "It may be empty.\n\nUnchecked result of write_all(buffer)\n\nBecause.");
}

#[test]
fn malformed_reports_are_told_and_counted() {
    let mut builder = builder();
    let mut input = finding("Bad word", "    flush(buffer);");
    input["severity"] = "enormous".into();
    let (told, given) = answer(&mut builder, "report_finding", input.clone(), 0);
    assert!(given.is_error && told["error"]["message"].as_str().unwrap().contains("critical, high, medium"), "{told}");
    input["severity"] = "HIGH".into();
    input["start_line"] = json!({ "line": 3 });
    let told = call(&mut builder, "report_finding", input);
    assert!(told["error"]["message"].as_str().unwrap().contains("`start_line`"), "{told}");
    let mut unknown = finding("Unknown field", "    flush(buffer);");
    unknown["colour"] = "red".into();
    let told = call(&mut builder, "report_finding", unknown);
    assert!(told["error"]["message"].as_str().unwrap().contains("`colour`"), "{told}");
    assert!(builder.call_malformed("report_finding", "{\"title\": ").text.contains("not a JSON object"));
    assert!(builder.call_malformed("write_section", "[").is_error);
    let review = finish(builder, &EngineOutcome::Done);
    let titles: Vec<&str> = withheld(&review).iter().map(|(title, _)| *title).collect();
    assert_eq!(titles, ["Bad word", "Unknown field", "(a report without a readable title)"]);
    assert_eq!(review.reasons[1..], ["reports of the model that could not be read: 3"], "nobody knows what they said");
}

#[test]
fn a_report_that_could_not_be_read_is_corrected_by_the_next_that_stands() {
    let mut builder = builder();
    builder.begin_turn();
    builder.call_malformed("report_finding", "{\"title\": ");
    builder.call_malformed("report_finding", "{\"ti");
    call(&mut builder, "report_finding", finding("Said beside it", "    flush(buffer);"));
    builder.begin_turn();
    let told = call(&mut builder, "report_finding", finding("Read at last", "    flush(buffer);"));
    assert!(told["note"].as_str().is_some_and(|note| note.contains("W1")), "{told}");
    let review = finish(builder, &EngineOutcome::Done);
    assert_eq!(withheld(&review).len(), 1, "one stands for one");
}

fn guideline(name: &str, applies: GuidelineApplication) -> Guideline {
    let reach = vec![GuidelineOrigin { kind: GuidelineKind::Agents, applies, via: None }];
    Guideline { path: path(name), reach, text: "Be kind.\n\nCheck results.\n".to_owned(), first: 3, lines: 9 }
}

#[test]
fn a_guideline_is_kept_where_it_is_a_line_of_one_for_the_file() {
    let texts = vec![
        guideline("RULES.md", GuidelineApplication::Everywhere),
        guideline("web/AGENTS.md", GuidelineApplication::below(b"web")),
    ];
    let mut builder = builder().with_guidelines(Arc::new(Guidelines { texts, ..Guidelines::default() }));
    let cases = [
        ("RULES.md:5", Some(5), ""),
        ("./RULES.md:L5-L6", Some(5), ""),
        ("`RULES.md`", Some(3), ""),
        ("RULES.md:4", None, "line 4 of RULES.md is empty"),
        ("RULES.md:2", None, "RULES.md has lines 3 to 5 as guidelines, not 2"),
        ("RULES.md:9", None, "RULES.md has lines 3 to 5 as guidelines, not 9"),
        ("web/AGENTS.md:3", None, "web/AGENTS.md is no guideline for this file (RULES.md)"),
        ("far.rs:1", None, "far.rs is no guideline for this file (RULES.md)"),
        ("../x:1", None, "it is not `path:line`"),
    ];
    for (named, _, why) in cases {
        let mut input = finding(named, "    flush(buffer);");
        input["category"] = ["logic", "testing", "quality", "security"][named.len() % 4].into();
        input["guideline"] = named.into();
        let told = call(&mut builder, "report_finding", input);
        let note = told["note"].as_str().unwrap_or_default();
        assert_eq!(note.contains("`guideline` was dropped"), !why.is_empty(), "{told}");
        assert!(note.contains(why), "{told}");
    }
}

#[test]
fn a_finding_carries_the_line_that_it_rests_on() {
    let texts = vec![guideline("RULES.md", GuidelineApplication::Everywhere)];
    let mut builder = builder().with_guidelines(Arc::new(Guidelines { texts, ..Guidelines::default() }));
    let mut input = finding("Result is dropped", "    flush(buffer);");
    input["guideline"] = "RULES.md:5".into();
    call(&mut builder, "report_finding", input);
    let review = finish(builder, &EngineOutcome::Done);
    assert_eq!(review.findings[0].guideline, Some(GuidelineRef { path: path("RULES.md"), line: 5 }));
}

#[test]
fn beyond_the_most_findings_no_more_are_taken() {
    let mut builder = builder();
    for at in 0..210 {
        // Other categories and titles, so that nothing is merged.
        let mut input = finding(&format!("{at:x} {}", "q".repeat(at % 97)), "    flush(buffer);");
        input["category"] = ["logic", "testing", "quality", "security"][at % 4].into();
        input["title"] = format!("t{at} u{} v{}", at * 7, at * 13).into();
        call(&mut builder, "report_finding", input);
    }
    assert_eq!(builder.standing(), 200);
    assert_eq!(
        withheld(&finish(builder, &EngineOutcome::Done)),
        [("10 further reports", "there were 200 findings already")]
    );
}

#[test]
fn a_stop_is_nobodys_answer() {
    let mut builder = builder();
    let stopped = Cancel::never();
    stopped.interrupt();
    let Value::Object(input) = finding("x", "    flush(buffer);") else { panic!() };
    assert_eq!(builder.call("report_finding", input, 0, &stopped), Err(CancelReason::Interrupted));
}

#[test]
fn the_tools_are_named() {
    let names: Vec<String> = ReviewBuilder::definitions(false).into_iter().map(|tool| tool.name).collect();
    assert_eq!(names, ["report_finding", "withdraw_finding", "refute_lead", "write_section", "finish_review"]);
    assert!(is_engine_tool("finish_review") && !is_engine_tool("read_diff"));
    let told = call(&mut builder(), "read_diff", json!({}));
    assert_eq!(told["error"]["kind"], "unknown_tool");
}
