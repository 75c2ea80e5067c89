//! The end of a review, and its longer parts.

use super::*;

#[test]
fn the_end_is_refused_once_while_something_is_open() {
    let mut builder = builder();
    builder.add_leads(&[lead("One", "    write_all(buffer);")], &Cancel::never());
    report(&mut builder, "Invented", "    no_such_call_anywhere();");
    builder.record_shown_diff(&ShownDiff { path: path("src/a.rs"), hunks: 1, lines: 0 });
    let farewell = json!({ "summary": "All is well." });
    let told = call(&mut builder, "finish_review", farewell.clone());
    assert_eq!(told["status"], "not_accepted");
    assert_eq!(
        told["unseen"],
        json!([{ "hunks": "1", "of": 2, "tool": "read_diff", "input": { "file_path": "src/a.rs", "start": 1 } }])
    );
    assert_eq!(told["leads"], json!(["L1"]));
    assert!(told["reports"][0].as_str().unwrap().starts_with("W1 (Invented): "), "{told}");
    assert!(!builder.is_finished());
    builder.begin_turn();
    let (told, given) = answer(&mut builder, "finish_review", farewell, 0);
    assert_eq!((&told["status"], &given.effect), (&json!("accepted"), &CallEffect::Finished));
    assert!(builder.is_finished());
    let review = finish(builder, &EngineOutcome::Done);
    assert_eq!((review.outcome, review.summary.as_str()), (ReviewOutcome::Incomplete, "All is well."));
    assert_eq!(review.reasons, ["src/a.rs: hunk 2 of 2 was not seen whole"]);
}

#[test]
fn the_end_waits_for_results_that_were_not_seen_but_not_for_ever() {
    let mut builder = builder();
    see_all(&mut builder);
    let farewell = json!({ "summary": "All is well.", "no_findings_reason": "Both hunks were read." });
    for _ in 0..3 {
        assert_eq!(answer(&mut builder, "finish_review", farewell.clone(), 2).0["status"], "not_accepted");
    }
    assert_eq!(answer(&mut builder, "finish_review", farewell, 2).0["seen"], "all of the change");
    let review = finish(builder, &EngineOutcome::Done);
    assert_eq!(
        (review.outcome, review.summary.as_str()),
        (ReviewOutcome::Complete, "All is well.\n\nBoth hunks were read.")
    );
}

#[test]
fn the_end_waits_for_a_report_that_was_refused_beside_it() {
    let mut builder = builder();
    see_all(&mut builder);
    let farewell = json!({ "summary": "One defect." });
    report(&mut builder, "Invented", "    no_such_call_anywhere();");
    assert_eq!(call(&mut builder, "finish_review", json!({}))["status"], "not_accepted", "it was told once");
    report(&mut builder, "Result is dropped", "    write_all(buffers);");
    let told = call(&mut builder, "finish_review", farewell.clone());
    assert!(told["reason"].as_str().is_some_and(|reason| reason.contains("correct or withdraw")), "{told}");
    let reports = told["reports"].as_array().unwrap();
    assert!(reports.len() == 1 && reports[0].as_str().unwrap().contains("(Result is dropped): "), "{told}");
    report(&mut builder, "Result is dropped", "    write_all(buffer);");
    assert_eq!(call(&mut builder, "finish_review", farewell)["status"], "accepted");
    let review = finish(builder, &EngineOutcome::Done);
    assert_eq!((review.findings.len(), withheld(&review).len()), (1, 1));
}

#[test]
fn the_end_is_accepted_beside_the_last_reports() {
    let mut builder = builder();
    see_all(&mut builder);
    report(&mut builder, "Result is dropped", "    write_all(buffer);");
    assert_eq!(call(&mut builder, "finish_review", json!({ "summary": "One defect." }))["status"], "accepted");
    let review = finish(builder, &EngineOutcome::Done);
    assert_eq!((review.outcome, review.findings.len()), (ReviewOutcome::Complete, 1));
}

#[test]
fn the_end_waits_once_for_what_is_asked_of_the_words_of_a_report_beside_it() {
    let mut builder = builder();
    see_all(&mut builder);
    builder.begin_turn();
    let mut sweeping = finding("Result is dropped", "    write_all(buffer);");
    sweeping["body"] = "All callers lose data.".into();
    assert!(call(&mut builder, "report_finding", sweeping)["note"].to_string().contains("have you read"));
    let farewell = json!({ "summary": "One defect." });
    let told = call(&mut builder, "finish_review", farewell.clone());
    assert!(told["reason"].as_str().is_some_and(|reason| reason.contains("what is asked of the words")), "{told}");
    assert_eq!(call(&mut builder, "finish_review", farewell)["status"], "accepted");
}

#[test]
fn the_last_turn_ends_at_once() {
    let mut builder = builder();
    builder.last_turn();
    assert_eq!(call(&mut builder, "finish_review", json!({ "summary": "Out of turns." }))["status"], "accepted");
    assert_eq!(finish(builder, &EngineOutcome::Done).outcome, ReviewOutcome::Failed, "nothing was ever seen");
}

#[test]
fn a_summary_that_is_empty_or_leaks_is_asked_for_once() {
    for summary in [json!({}), json!({ "summary": "<invoke name=\"finish_review\">" })] {
        let mut builder = builder();
        see_all(&mut builder);
        assert!(call(&mut builder, "finish_review", summary.clone())["reason"].as_str().unwrap().contains("`summary`"));
        assert_eq!(call(&mut builder, "finish_review", summary)["status"], "accepted");
        let review = finish(builder, &EngineOutcome::Done);
        assert_eq!(review.summary, "Nothing to report in 1 changed file.");
    }
}

#[test]
fn sections_are_replaced_by_title_and_limited() {
    let mut builder = builder();
    let write = |builder: &mut ReviewBuilder, title: &str| {
        call(builder, "write_section", json!({ "title": title, "body": format!("{title}.") }))
    };
    assert_eq!(write(&mut builder, "Walk through")["status"], "accepted");
    assert_eq!(write(&mut builder, "walk-through")["status"], "replaced");
    for at in 1..20 {
        assert_eq!(write(&mut builder, &format!("Part {at}"))["status"], "accepted");
    }
    assert!(write(&mut builder, "One more")["error"]["message"].as_str().unwrap().contains("20 sections"));
    let leak = call(&mut builder, "write_section", json!({ "title": "x", "body": "<|python_tag|>" }));
    assert!(leak["error"]["message"].as_str().unwrap().contains("llama marks"), "{leak}");
    let review = finish(builder, &EngineOutcome::Done);
    assert_eq!((review.sections.len(), review.sections[0].body.as_str()), (20, "walk-through."));
}
