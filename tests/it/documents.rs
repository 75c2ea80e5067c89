//! Every output for every document of `fixtures/documents`, found by walking the folder.

#![allow(clippy::unwrap_used, reason = "a fixture that cannot be read fails the test")]

use std::collections::BTreeMap;
use std::path::PathBuf;

use proptest::prelude::*;

use review_runner::domain::review::Review;
use review_runner::present::{PRESENTERS, PageKind, RenderOptions, json, presenter};

fn documents() -> BTreeMap<String, Vec<u8>> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fixtures/documents");
    let documents: BTreeMap<String, Vec<u8>> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .map(|path| (path.file_stem().unwrap().to_str().unwrap().to_owned(), std::fs::read(&path).unwrap()))
        .collect();
    assert!(documents.len() >= 4, "fixtures/documents has lost some of its documents");
    documents
}

fn render(name: &str, review: &Review) -> String {
    String::from_utf8((presenter(name).unwrap().render)(review, &RenderOptions::default())).unwrap()
}

#[test]
fn every_output_renders_every_document_as_before() {
    for (name, bytes) in documents() {
        let review = json::parse(&bytes).unwrap_or_else(|fault| panic!("{name}: {fault}"));
        // A page has a snapshot of its own, without its style and script.
        for presenter in PRESENTERS.iter().filter(|presenter| presenter.name != "html") {
            insta::assert_snapshot!(format!("{name}__{}", presenter.name), render(presenter.name, &review));
        }
    }
}

#[test]
fn every_output_is_documented() {
    let docs = std::fs::read_to_string(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("docs/formats.md")).unwrap();
    for presenter in PRESENTERS {
        let row = format!("| `{}` | ", presenter.name);
        assert!(docs.lines().any(|line| line.starts_with(&row)), "docs/formats.md has no row for {}", presenter.name);
    }
}

#[test]
fn a_document_reads_back_to_itself() {
    for (name, bytes) in documents() {
        let once = render("json", &json::parse(&bytes).unwrap());
        let twice = render("json", &json::parse(once.as_bytes()).unwrap());
        assert_eq!(once, twice, "{name}");
        if name != "hostile" {
            assert_eq!(once, String::from_utf8(bytes).unwrap(), "{name} is not written as it is rendered");
        }
    }
}

#[test]
fn a_document_that_was_read_back_looks_the_same_on_every_surface() {
    for (name, bytes) in documents() {
        let review = json::parse(&bytes).unwrap();
        let again = json::parse(render("json", &review).as_bytes()).unwrap();
        for presenter in PRESENTERS {
            assert_eq!(render(presenter.name, &review), render(presenter.name, &again), "{name}");
        }
    }
}

#[test]
fn every_document_is_what_the_schema_says() {
    let schema = json::schema();
    let validator = jsonschema::draft202012::new(&schema).unwrap();
    for (name, bytes) in documents() {
        let rendered = render("json", &json::parse(&bytes).unwrap()).into_bytes();
        for document in [bytes, rendered] {
            let document: serde_json::Value = serde_json::from_slice(&document).unwrap();
            let faults: Vec<String> =
                validator.iter_errors(&document).map(|fault| format!("{}: {fault}", fault.instance_path())).collect();
            assert_eq!(faults, Vec::<String>::new(), "{name}");
        }
    }
    let mut wrong: serde_json::Value = serde_json::from_slice(&documents()["typical"]).unwrap();
    wrong["findings"][0]["severity"] = "blocker".into();
    assert!(!validator.is_valid(&wrong));
    wrong = serde_json::from_slice(&documents()["typical"]).unwrap();
    wrong["findings"][0].as_object_mut().unwrap().remove("confidence");
    assert!(!validator.is_valid(&wrong), "a field that has no value is null, not left out");
}

#[test]
fn no_terminal_line_is_wider_than_eighty_columns() {
    for (name, bytes) in documents() {
        let options = RenderOptions { kind: PageKind::Screen, ..RenderOptions::default() };
        let page = (presenter("terminal").unwrap().render)(&json::parse(&bytes).unwrap(), &options);
        for line in String::from_utf8(page).unwrap().lines() {
            let columns = textwrap::core::display_width(line);
            // A path stays whole, so that it can be copied.
            assert!(columns <= 80 || line.contains("very-long-name"), "{name}: {columns} columns: {line}");
        }
    }
}

proptest! {
    /// Documents come from files that anybody may have edited.
    #[test]
    fn a_damaged_document_is_refused_or_read_never_a_panic(
        at in 0_usize..20_000,
        bytes in proptest::collection::vec(proptest::sample::select(b"0\"19-{}[],:\\./anul \xff".to_vec()), 0..6),
        removed in 0_usize..12,
    ) {
        let mut document = documents().remove("typical").unwrap();
        let at = at % document.len();
        let end = (at + removed).min(document.len());
        document.splice(at..end, bytes);
        if let Ok(review) = json::parse(&document) {
            let once = render("json", &review);
            prop_assert_eq!(&render("json", &json::parse(once.as_bytes()).unwrap()), &once);
            for presenter in PRESENTERS {
                prop_assert!(!render(presenter.name, &review).is_empty());
            }
        }
    }
}
