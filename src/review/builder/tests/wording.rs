//! What the model is asked about the words of its reports, and about findings that may be one.

use super::*;

fn reported(builder: &mut ReviewBuilder, title: &str, quote: &str, body: &str) -> Value {
    builder.begin_turn();
    let mut input = finding(title, quote);
    input["body"] = body.into();
    call(builder, "report_finding", input)
}

fn note(told: &Value) -> &str {
    told["note"].as_str().unwrap_or_default()
}

#[test]
fn a_long_report_is_accepted_and_the_model_is_asked_once_to_shorten_it() {
    let mut builder = builder();
    let told = reported(&mut builder, "Result is dropped", "    write_all(buffer);", &"word ".repeat(121));
    assert_eq!((&told["status"], &told["id"]), (&json!("accepted"), &json!("F1")));
    assert!(note(&told).contains("report it again with id F1 and at most 80 words"), "{told}");
    let told = reported(&mut builder, "Flush may fail", "    flush(buffer);", &"word ".repeat(121));
    assert!(told["status"] == "accepted" && !note(&told).contains("too long"), "{told}");

    let mut builder = super::builder();
    let told = reported(&mut builder, "Result is dropped", "    write_all(buffer);", &"word ".repeat(120));
    assert!(!note(&told).contains("too long"), "{told}");
    let told = reported(&mut builder, &"long ".repeat(13), "    flush(buffer);", "Because.");
    assert!(note(&told).contains("title 13 words"), "{told}");
}

#[test]
fn labels_of_leads_and_findings_reach_no_reader() {
    let mut builder = builder();
    builder.add_leads(&[lead("One", "    write_all(buffer);")], &Cancel::never());
    let told = reported(
        &mut builder,
        "L1: result is dropped",
        "    write_all(buffer);",
        "As lead L1 says (L1). L2 and F1 are not known.",
    );
    assert!(note(&told).contains("does not know L1:"), "{told}");
    reported(&mut builder, "Flush may fail", "    flush(buffer);", "Like finding F1, see `F1`.");
    let review = finish(builder, &EngineOutcome::Done);
    let one = |title: &str| review.findings.iter().find(|finding| finding.title == title).expect(title).body.clone();
    assert!(one("result is dropped").starts_with("As a static check says. L2 and F1 are not known."));
    assert_eq!(one("Flush may fail"), "Like another finding, see `F1`.");
}

#[test]
fn words_of_scale_are_pointed_out_once_for_each_finding() {
    let mut builder = builder();
    let body = "It never returns for all callers.";
    let told = reported(&mut builder, "Result is dropped", "    write_all(buffer);", body);
    assert!(note(&told).contains("It says \"all\", \"never\": have you read"), "{told}");
    let again = reported(&mut builder, "Result is dropped", "    write_all(buffer);", body);
    assert!(again["status"] == "merged" && !note(&again).contains("have you read"), "{again}");
    let other = reported(&mut builder, "Flush may fail", "    flush(buffer);", body);
    assert!(note(&other).contains("have you read"), "{other}");
}

#[test]
fn findings_that_may_be_one_are_offered_for_merging_once() {
    let mut builder = builder();
    see_all(&mut builder);
    let remedy = "It breaks. Return the error to the caller of other.";
    reported(&mut builder, "Result of the write is dropped", "    write_all(buffer);", remedy);
    reported(&mut builder, "Nobody notices a failed flush", "    flush(buffer);", remedy);
    let farewell = json!({ "summary": "Two defects." });
    let told = call(&mut builder, "finish_review", farewell.clone());
    assert_eq!(told["status"], "not_accepted");
    let pair = "F1 (Result of the write is dropped) and F2 (Nobody notices a failed flush), both in other";
    assert_eq!(told["pairs"], json!([pair]));
    assert_eq!(call(&mut builder, "finish_review", farewell.clone())["status"], "accepted");

    // An end that was refused for something else does not use up the offer.
    let mut builder = super::builder();
    assert!(call(&mut builder, "finish_review", farewell.clone())["unseen"].is_array());
    see_all(&mut builder);
    reported(&mut builder, "Result of the write is dropped", "    write_all(buffer);", remedy);
    reported(&mut builder, "Nobody notices a failed flush", "    flush(buffer);", remedy);
    assert_eq!(call(&mut builder, "finish_review", farewell.clone())["pairs"], json!([pair]));
    assert_eq!(call(&mut builder, "finish_review", farewell.clone())["status"], "accepted");

    // Different defects with different remedies are two, and so are those of two functions.
    let mut builder = super::builder();
    see_all(&mut builder);
    reported(
        &mut builder,
        "Result of the write is dropped",
        "    write_all(buffer);",
        "Return the error to the caller.",
    );
    reported(
        &mut builder,
        "Buffer grows without bound",
        "    flush(buffer);",
        "Clear it after each round of the loop.",
    );
    assert_eq!(call(&mut builder, "finish_review", farewell)["status"], "accepted");
}
