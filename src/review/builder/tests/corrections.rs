//! Accepted findings that are corrected, and findings that answer several leads.

use super::*;

fn correct(builder: &mut ReviewBuilder, id: &str, change: impl FnOnce(&mut Value)) -> Value {
    let mut input = finding("Result is dropped", "    write_all(buffer);");
    input["id"] = id.into();
    change(&mut input);
    builder.begin_turn();
    call(builder, "report_finding", input)
}

#[test]
fn a_finding_is_replaced_by_its_correction() {
    let mut builder = builder();
    report(&mut builder, "Result is dropped", "    write_all(buffer);");
    let told = correct(&mut builder, "f1", |input| {
        input["title"] = "The buffer may not be flushed".into();
        input["severity"] = "low".into();
        input["quote"] = "    flush(buffer);".into();
    });
    assert_eq!((&told["status"], &told["id"], &told["start_line"]), (&json!("corrected"), &json!("F1"), &json!(9)));
    assert_eq!(report(&mut builder, "Result is dropped", "    write_all(buffer);")["id"], "F2");
    let review = finish(builder, &EngineOutcome::Done);
    let low = review.findings.iter().find(|finding| finding.severity == Severity::Low).unwrap();
    assert_eq!((low.title.as_str(), low.origin.name.as_str()), ("The buffer may not be flushed", "p/m"));
    assert_eq!((review.findings.len(), withheld(&review)), (2, vec![]));
    assert!(!review.coverage.notes.iter().any(|note| note.contains("withdrawn")), "{:?}", review.coverage.notes);
}

#[test]
fn a_correction_that_is_refused_leaves_the_finding_as_it_is() {
    let refused = || {
        let mut builder = builder();
        report(&mut builder, "Result is dropped", "    write_all(buffer);");
        let told = correct(&mut builder, "F1", |input| {
            input["quote"] = "    invented(buffer);".into();
            input["severity"] = "low".into();
        });
        assert_eq!((&told["status"], &told["corrects"]), (&json!("not_accepted"), &json!("F1")), "{told}");
        assert!(told["note"].as_str().unwrap().contains("F1 stays as it is"), "{told}");
        builder
    };
    let review = finish(refused(), &EngineOutcome::Done);
    assert_eq!((review.findings.len(), review.findings[0].severity), (1, Severity::High));
    let [(title, reason)] = withheld(&review)[..] else { panic!("{:?}", withheld(&review)) };
    assert!(title == "Result is dropped" && reason.contains("the finding stays as it was reported"), "{reason}");

    let mut mended = refused();
    let told = correct(&mut mended, "F1", |input| input["severity"] = "low".into());
    assert_eq!(
        (&told["status"], &told["note"]),
        (&json!("corrected"), &json!("It stands for W1, which need not be withdrawn."))
    );
    let review = finish(mended, &EngineOutcome::Done);
    assert_eq!((review.findings[0].severity, withheld(&review)), (Severity::Low, vec![]));

    // The title is enough at the same place, as for any report; the same defect elsewhere is another one.
    let mut by_title = refused();
    assert_eq!(report(&mut by_title, "Result is dropped", "    write_all(buffer);")["status"], "corrected");
    let mut elsewhere = refused();
    assert_eq!(report(&mut elsewhere, "Result is dropped", "    flush(buffer);")["id"], "F2");
    assert_eq!(finish(elsewhere, &EngineOutcome::Done).findings.len(), 2);
    let mut taken_back = refused();
    call(&mut taken_back, "withdraw_finding", json!({ "id": "F1", "reason": "no" }));
    let review = finish(taken_back, &EngineOutcome::Done);
    assert!(review.findings.is_empty() && withheld(&review).is_empty(), "{:?}", withheld(&review));
}

#[test]
fn a_correction_that_cannot_be_read_leaves_the_finding_as_it_is() {
    let mut builder = builder();
    report(&mut builder, "Result is dropped", "    write_all(buffer);");
    let told = correct(&mut builder, "F1", |input| input["severity"] = "terrible".into());
    assert!(told["note"].as_str().unwrap().contains("F1 stays as it is"), "{told}");
    let told = correct(&mut builder, "W1", |input| input["severity"] = "low".into());
    assert_eq!(
        (&told["status"], &told["id"]),
        (&json!("corrected"), &json!("F1")),
        "its report corrects what it would have"
    );
    let review = finish(builder, &EngineOutcome::Done);
    assert_eq!((review.findings[0].severity, withheld(&review)), (Severity::Low, vec![]));
}

#[test]
fn a_correction_of_nothing_is_a_report_of_its_own() {
    let mut builder = builder();
    let told = correct(&mut builder, "F7", |_| {});
    assert_eq!((&told["status"], &told["id"]), (&json!("accepted"), &json!("F1")));
    assert!(told["note"].as_str().unwrap().contains("There is no finding F7"), "{told}");
    report(&mut builder, "Invented", "    no_such_call_anywhere();");
    let told = correct(&mut builder, "W1", |input| {
        input["title"] = "Something else altogether".into();
        input["quote"] = "    flush(buffer);".into();
    });
    assert_eq!((&told["status"], &told["id"]), (&json!("accepted"), &json!("F2")));
    assert!(withheld(&finish(builder, &EngineOutcome::Done)).is_empty(), "the refused report was corrected by its id");
}

#[test]
fn a_correction_that_repeats_another_finding_becomes_part_of_it() {
    let mut builder = builder();
    builder.add_leads(&[lead("Flushed without a look", "    flush(buffer);")], &Cancel::never());
    report(&mut builder, "Result is dropped", "    write_all(buffer);");
    assert_eq!(report(&mut builder, "Flush is ignored", "    flush(buffer);")["note"], "It confirms L1.");
    let told = correct(&mut builder, "F2", |input| {
        input["related"] = json!([{ "file_path": "src/a.rs", "quote": "    flush(buffer);" }]);
    });
    assert_eq!((&told["status"], &told["id"], &told["corrects"]), (&json!("merged"), &json!("F1"), &json!("F2")));
    assert_eq!(builder.open_leads().count(), 0, "its lead came along");
    assert_eq!(finish(builder, &EngineOutcome::Done).findings.len(), 1);
}

#[test]
fn one_finding_answers_several_leads() {
    let leads = [
        lead("Written without a look", "    write_all(buffer);"),
        lead("Flushed without a look", "    flush(buffer);"),
    ];
    for given in [json!(["L1", "l2"]), json!("L1, L2"), json!([1, 2])] {
        let mut builder = builder();
        builder.add_leads(&leads, &Cancel::never());
        let mut one = finding("Nobody looks at the results", "    write_all(buffer);");
        one["related"] = json!([{ "file_path": "src/a.rs", "quote": "    flush(buffer);" }]);
        one["leads"] = given;
        let told = call(&mut builder, "report_finding", one);
        assert_eq!(told["note"], "L1 is confirmed. L2 is confirmed.");
        let review = finish(builder, &EngineOutcome::Done);
        assert_eq!(review.coverage.leads, LeadCounts { given: 2, confirmed: 2, ..LeadCounts::default() });
        assert_eq!(review.findings.len(), 1, "one cause is one finding");
    }
    let mut builder = builder();
    builder.add_leads(&leads, &Cancel::never());
    let mut one = finding("Nobody looks at the results", "    write_all(buffer);");
    one["leads"] = json!(["L1", "L2"]);
    let told = call(&mut builder, "report_finding", one);
    assert!(told["note"].as_str().unwrap().contains("L2 is not confirmed: it is about src/a.rs:9"), "{told}");
}

#[test]
fn a_correction_keeps_the_leads_that_it_still_covers() {
    let mut builder = builder();
    let leads = [
        lead("Written without a look", "    write_all(buffer);"),
        lead("Flushed without a look", "    flush(buffer);"),
    ];
    builder.add_leads(&leads, &Cancel::never());
    let mut one = finding("Result is dropped", "    write_all(buffer);\n    flush(buffer);");
    one["leads"] = json!(["L1", "L2"]);
    call(&mut builder, "report_finding", one);
    let told = correct(&mut builder, "F1", |input| input["category"] = "testing".into());
    assert_eq!(told["note"], "L2 is unanswered again: refute it, or report what it is about.");
    assert_eq!(builder.open_leads().map(|lead| lead.id.as_str()).collect::<Vec<_>>(), ["L2"]);
}

#[test]
fn a_finding_on_unchanged_lines_says_what_it_counts_by() {
    let mut builder = builder();
    let mut far = finding("The caller relies on it", "fn other() {");
    far["related"] = json!([{ "file_path": "src/a.rs", "quote": "    flush(buffer);" }]);
    let told = call(&mut builder, "report_finding", far);
    assert_eq!(told["start_line"], 6);
    assert_eq!(
        told["note"],
        "Placed at src/a.rs:6 (unchanged); it counts because its related place src/a.rs:9 is changed."
    );
    let review = finish(builder, &EngineOutcome::Done);
    assert_eq!(review.findings[0].anchors[0].quote, "fn other() {");
}
