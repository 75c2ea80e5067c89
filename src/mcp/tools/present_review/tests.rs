//! Tests of `present_review`: its results, and its cost.

use std::ops::Range;

use super::*;
use crate::domain::path::RepoPath;
use crate::domain::presented::{DocumentId, FileRef, RefForm, RefPlace};
use crate::mcp::answer_size::{self, ANSWER_CHARS};

const ID: &str = "a0000000-0000-4000-8000-000000000001";

fn checked(at: Range<usize>, found: Result<RefPlace, BrokenRef>) -> CheckedRef {
    let to = FileRef { path: "src/a.rs".to_owned(), lines: None, columns: (None, None), pattern: None };
    CheckedRef { at, form: RefForm::Link, text: "a".to_owned(), to, found }
}

fn stands(at: Range<usize>) -> CheckedRef {
    let path = RepoPath::parse("src/a.rs").unwrap();
    checked(at, Ok(RefPlace { path, lines: None, preview: None }))
}

fn broken(at: Range<usize>, near: &[&str]) -> CheckedRef {
    let near = near.iter().map(|near| (*near).to_owned()).collect();
    checked(at, Err(BrokenRef { why: "file not found".to_owned(), near }))
}

fn answered(shown: &PresentedDocument, ignored: &[String]) -> McpToolResult {
    presented(shown, ignored, &DocumentDisplay::Shown(None), ANSWER_CHARS)
}

fn shown(markdown: &str, references: Vec<CheckedRef>, note: Option<&str>) -> PresentedDocument {
    let id: DocumentId = ID.parse().unwrap();
    let presented = Presented { id, markdown: markdown.to_owned(), base: "/srv".into(), references };
    PresentedDocument { presented, written: 0..markdown.len(), file: None, note: note.map(str::to_owned) }
}

#[test]
fn the_answer_says_whether_an_editor_shows_it() {
    let read = format!("read it at review://presented/{ID} (in a terminal: review present --show {ID})");
    let why = "Failed to communicate with VSCode extension: IPC connection closed";
    for (display, displayed, text) in [
        (
            DocumentDisplay::Shown(Some("It is long.".to_owned())),
            true,
            format!("Review successfully displayed in VSCode: {read}. It is long"),
        ),
        (DocumentDisplay::NotShown(why.to_owned()), false, format!("Review kept, not displayed: {read}. {why}")),
    ] {
        let answer = presented(&shown("x", Vec::new(), None), &[], &display, ANSWER_CHARS);
        assert_eq!((answer.text, answer.is_error), (Some(text), false));
        let fields = answer.structured.unwrap();
        assert_eq!((&fields["success"], &fields["displayed"]), (&json!(true), &json!(displayed)));
    }
}

#[test]
fn the_answer_says_where_it_can_be_read() {
    let answer = answered(&shown("[a](b)", vec![stands(0..6)], None), &[]);
    assert!(!answer.is_error);
    let read = format!("read it at review://presented/{ID} (in a terminal: review present --show {ID})");
    assert_eq!(answer.text, Some(format!("Review successfully displayed in VSCode: {read}")));
    assert_eq!(
        answer.structured,
        Some(json!({
            "success": true, "message": read, "displayed": true, "reviewId": ID, "uri": format!("review://presented/{ID}"),
            "references": { "total": 1, "broken": [], "older_broken": 0 },
        }))
    );
    assert_eq!(answer.links[0].uri, format!("review://presented/{ID}"));
}

#[test]
fn the_file_that_holds_it_is_named_and_nothing_is_opened() {
    let mut shown = shown("x", Vec::new(), None);
    shown.file = Some("/home/ada/a b/review.md".into());
    let shows = answered(&shown, &[]).text.unwrap();
    assert!(shows.contains("It is also in the file /home/ada/a b/review.md"), "{shows}");
    let display = DocumentDisplay::NotShown("No editor".to_owned());
    let answer = presented(&shown, &[], &display, ANSWER_CHARS);
    let message = answer.structured.unwrap()["message"].as_str().unwrap().to_owned();
    assert!(message.contains("Nothing was opened"), "{message}");
    assert!(message.contains("/home/ada/a b/review.md (file:///home/ada/a%20b/review.md)"), "{message}");
    assert!(answer.text.unwrap().contains(&message));
}

#[test]
fn notes_and_broken_references_are_told() {
    let markdown = "[a](src/a.rs) and [b](b) and [c](c)";
    let references = vec![stands(0..13), broken(18..24, &["src/b.rs", "src/bb.rs"]), broken(29..35, &[])];
    let note = Some("There is no section \"X\": it was added at the end.");
    let answer = answered(&shown(markdown, references, note), &["base_uri".to_owned()]);
    let text = answer.text.unwrap();
    assert_eq!(
        text,
        format!(
            "Review successfully displayed in VSCode: read it at review://presented/{ID} (in a terminal: review present --show {ID}). There is no \
             section \"X\": it was added at the end. Unknown arguments were ignored: base_uri\n\
             2 of 3 file references were not found, or not looked up; correct those that are wrong and present again:\n\
             - [b](b): file not found (near: src/b.rs, src/bb.rs)\n\
             - [c](c): file not found"
        )
    );
    let fields = answer.structured.unwrap();
    assert_eq!(
        fields["references"]["broken"][0],
        json!({ "text": "[b](b)", "why": "file not found", "near": ["src/b.rs", "src/bb.rs"] })
    );
}

#[test]
fn what_was_broken_before_is_told_as_a_number() {
    let old = "[b](b) [c](c) [a](a)\n\n";
    let references = vec![broken(0..6, &[]), broken(7..13, &[]), stands(14..20), stands(22..28), broken(29..35, &[])];
    let mut shown = shown(&format!("{old}[d](d) [e](e)"), references, None);
    shown.written = old.len()..old.len() + 13;
    let answer = answered(&shown, &[]);
    let text = answer.text.unwrap();
    let told = format!(
        "\n1 of 2 file references were not found, or not looked up; correct those that are wrong and present again:\n\
         - [e](e): file not found\n2 older references are still broken (review://presented/{ID}/references)"
    );
    assert!(text.ends_with(&told), "{text}");
    assert_eq!(
        answer.structured.unwrap()["references"],
        json!({ "total": 5, "broken": [{ "text": "[e](e)", "why": "file not found", "near": [] }], "older_broken": 2 })
    );
}

#[test]
fn one_reason_for_all_is_told_once() {
    let text = answered(&shown("[b](b) [c](c)", vec![broken(0..6, &[]), broken(7..13, &[])], None), &[]).text.unwrap();
    assert!(text.ends_with("\n2 of 2 file references, each: file not found"), "{text}");
}

#[test]
fn what_was_ignored_is_told_in_short() {
    let ignored: Vec<String> = (0..20).map(|number| format!("{number}{}", "x".repeat(100))).collect();
    let text = answered(&shown("x", Vec::new(), None), &ignored).text.unwrap();
    assert!(text.ends_with(", …") && text.len() < 700, "{text}");
}

#[test]
fn many_broken_references_are_counted() {
    let answer = answered(&shown("[b](b)", vec![broken(0..6, &["c"]); 250], None), &[]);
    let text = answer.text.unwrap();
    assert!(text.ends_with("- and 230 more") && text.lines().count() == 23, "{text}");
    let fields = answer.structured.unwrap();
    assert_eq!(fields["references"]["broken"].as_array().unwrap().len(), IN_FIELDS);
    assert_eq!((&fields["references"]["total"], &fields["references"]["more"]), (&json!(250), &json!(50)));
}

#[test]
fn broken_references_with_long_names_leave_room_for_the_rest() {
    let long = "x".repeat(300);
    let answer = answered(&shown("[b](b)", vec![broken(0..6, &[&long, &long, &long]); 250], None), &[]);
    assert!(answer_size::size(&answer) <= ANSWER_CHARS, "{}", answer_size::size(&answer));
    let references = &answer.structured.unwrap()["references"];
    let listed = references["broken"].as_array().unwrap().len();
    assert!((5..IN_FIELDS).contains(&listed), "{listed}");
    assert_eq!(references["more"], 250 - listed);
}

#[test]
fn a_long_reference_is_cut() {
    let long = format!("[{}](b)\n", "ä".repeat(300));
    let written = as_written(Some(&long), &stands(0..1));
    assert_eq!((written.chars().count(), written.chars().last()), (121, Some('…')));
}

#[test]
fn a_failure_is_an_error_on_both_sides() {
    let answer = failed(&PresentFault::NotAFolder("/srv/file".into()));
    let why = "/srv/file is not a folder; a base is the folder that relative references start from, mostly that of the repository. \
               Or leave baseUri out: references then start where they did, or from the server's folder";
    assert_eq!(answer.text, Some(format!("Failed to display review: {why}")));
    assert_eq!(answer.structured, Some(json!({ "success": false, "message": why })));
    assert!(answer.is_error);
}

#[test]
fn what_it_answers_is_what_its_schema_says() {
    let schema = jsonschema::validator_for(&output(TOOL.name)).unwrap();
    let references = vec![broken(0..6, &["b"]); 250];
    for answer in [answered(&shown("[b](b)", references, Some("x")), &[]), failed(&PresentFault::Blank)] {
        let fields = answer.structured.unwrap();
        assert!(schema.is_valid(&fields), "{fields}");
    }
    assert!(!schema.is_valid(&json!({ "success": "yes" })));
}

#[test]
fn its_input_schema_knows_what_its_arguments_know() {
    let offer = ToolSelection::new(&[], false).unwrap();
    let schema = jsonschema::validator_for(&input(TOOL.name, &offer)).unwrap();
    for fits in [
        json!({ "content": "# A" }),
        json!({ "content": "a", "mode": "update-section", "section": "X", "baseUri": "/srv", "reviewId": "new" }),
    ] {
        assert!(schema.is_valid(&fits) && read(fits.as_object().unwrap()).is_ok(), "{fits}");
    }
    for unfit in [json!({}), json!({ "content": 1 }), json!({ "content": "a", "mode": "prepend" })] {
        assert!(!schema.is_valid(&unfit) && read(unfit.as_object().unwrap()).is_err(), "{unfit}");
    }
}

#[test]
fn it_costs_a_session_few_tokens() {
    let offer = ToolSelection::new(&[], false).unwrap();
    let told = json!({ "name": TOOL.name, "description": DESCRIPTION, "inputSchema": input(TOOL.name, &offer) });
    let count = tiktoken_rs::o200k_base().unwrap().encode_ordinary(&told.to_string()).len();
    assert!(count <= 330, "{count} tokens");
}

#[test]
fn the_older_name_is_answered_but_not_listed() {
    let (listed, all) = (ToolSelection::new(&[], false).unwrap(), super::super::tools());
    assert!(listed.tools().iter().any(|tool| tool.name == "present_review"));
    assert!(!listed.tools().iter().any(|tool| tool.name == "present-review"));
    assert!(all.iter().any(|tool| tool.name == "present-review"));
}
