//! Reviews on another head than they were made on.

use super::*;
use crate::domain::finding::Suggestion;
use crate::domain::path::RepoPath;
use crate::domain::place::LineRange;
use crate::present::json;
use crate::workspace::memory::MemoryTree;

fn path() -> RepoPath {
    RepoPath::parse("a.rs").unwrap()
}

fn range(start: u32, end: u32) -> LineRange {
    LineRange::new(start, end).unwrap()
}

/// A review with one finding on the line `total += 1;`, with a replacement for it.
fn review() -> Review {
    let mut review = json::parse(include_bytes!("../../../fixtures/documents/typical.json")).unwrap();
    review.findings.truncate(1);
    let finding = &mut review.findings[0];
    finding.anchors.truncate(1);
    let anchor = &mut finding.anchors[0];
    (anchor.path, anchor.side, anchor.lines) = (path(), DiffSide::New, Some(range(2, 2)));
    (anchor.quote, anchor.matched) = ("    total += 1;".to_owned(), AnchorMatch::Exact);
    finding.suggestion =
        Some(Suggestion { path: path(), lines: range(2, 2), replacement: "    total += 2;".to_owned() });
    review
}

fn on(text: &str, review: &Review) -> Reanchored {
    let mut tree = MemoryTree::default();
    tree.insert(path(), text);
    reanchor(review, &tree, &MemoryTree::default(), &Cancel::never()).unwrap()
}

#[test]
fn what_stands_is_where_it_stands_now_with_its_replacement() {
    let moved = on("// more\n\nfn f() {\n    total += 1;\n}\n", &review());
    assert!(moved.gone.is_empty());
    let finding = &moved.review.findings[0];
    assert_eq!((finding.anchors[0].lines, finding.anchors[0].matched), (Some(range(4, 4)), AnchorMatch::Moved));
    assert_eq!(finding.suggestion.as_ref().map(|suggestion| suggestion.lines), Some(range(4, 4)));
    assert_eq!(finding.id, review().findings[0].id);
}

#[test]
fn a_replacement_of_other_lines_than_the_quoted_ones_is_left_out() {
    let mut review = review();
    review.findings[0].suggestion.as_mut().unwrap().lines = range(2, 3);
    assert_eq!(on("\nfn f() {\n    total += 1;\n}\n", &review).review.findings[0].suggestion, None);
}

#[test]
fn what_changed_or_stands_twice_is_gone_and_keeps_its_old_place() {
    for text in ["fn f() {\n    total += 3;\n}\n", "\n\n\n\n\n\n    total += 1;\n\n\n\n\n\n\n    total += 1;\n"] {
        let moved = on(text, &review());
        assert_eq!(moved.gone.len(), 1, "{text}");
        assert_eq!(moved.review.findings, review().findings);
    }
    let nothing = MemoryTree::default();
    assert_eq!(reanchor(&review(), &nothing, &nothing, &Cancel::never()).unwrap().gone.len(), 1);
}

#[test]
fn a_replacement_is_left_out_where_its_lines_are_indented_otherwise() {
    let moved = on("mod a {\n    fn f() {\n        total += 1;\n    }\n}\n", &review());
    let finding = &moved.review.findings[0];
    assert_eq!(finding.anchors[0].quote, "        total += 1;");
    assert_eq!((moved.gone.len(), finding.suggestion.as_ref()), (0, None));
}

#[test]
fn a_related_place_that_is_gone_is_left_out() {
    let mut review = review();
    let mut related = review.findings[0].anchors[0].clone();
    related.quote = "elsewhere();".to_owned();
    review.findings[0].anchors.push(related);
    let moved = on("fn f() {\n    total += 1;\n}\n", &review);
    assert_eq!((moved.gone.len(), moved.review.findings[0].anchors.len()), (0, 1));
}
