//! Tests of the places of results: paths, sides, lines, columns, fixes.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{anchor, path, result, with};
use crate::domain::change::{FileChange, FileStatus};
use crate::domain::finding::{FindingStatus, Suggestion};
use crate::domain::path::RepoPath;
use crate::domain::place::{DiffSide, LineRange};

#[test]
fn odd_paths_become_addresses_that_lead_back() {
    let odd: [(&[u8], &str); 7] = [
        (b"a b/100%#1?.rs", "a%20b/100%25%231%3F.rs"),
        (b"d/\xff\xfe.bin", "d/%FF%FE.bin"),
        (b"win\\dows.txt", "win%5Cdows.txt"),
        (b"new\nline \x1b[31m", "new%0Aline%20%1B%5B31m"),
        ("grüße/漢.md".as_bytes(), "gr%C3%BC%C3%9Fe/%E6%BC%A2.md"),
        (b"https:/evil.example", "https%3A/evil.example"),
        (b"[x](http://y)", ""),
    ];
    for (bytes, uri) in odd {
        if RepoPath::from_bytes(bytes).is_err() {
            continue;
        }
        let review = with(|finding| {
            finding.anchors = vec![
                anchor(bytes, DiffSide::New, Some((2, 2)), "let x = 1;"),
                anchor(bytes, DiffSide::New, Some((9, 9)), "let y = 1;"),
            ];
        });
        let result = result(&review);
        assert_eq!(result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"], uri);
    }
}

#[test]
fn a_path_cannot_end_the_link_that_shows_it() {
    let review = with(|finding| {
        finding.body = String::new();
        finding.guideline = None;
        finding.anchors = vec![
            anchor(b"a.rs", DiffSide::New, Some((1, 1)), "a"),
            anchor(b"b](http:/evil.example) [c.rs", DiffSide::New, Some((1, 1)), "b"),
            anchor(b"c.rs", DiffSide::New, Some((4, 6)), "b\nc\nd"),
        ];
    });
    let text = result(&review)["message"]["text"].as_str().unwrap().to_owned();
    assert!(text.ends_with("See also [related place 1](1), [c.rs:4-6](2)."), "{text}");
}

#[test]
fn what_stood_before_the_change_is_put_at_its_file_and_shown_with_the_old_lines() {
    let mut review = with(|finding| {
        finding.anchors = vec![anchor(b"old/name.rs", DiffSide::Old, Some((12, 13)), "check();\nsave();")];
        finding.suggestion = None;
    });
    let mut file = FileChange::modified(path(b"new/name.rs"));
    file.old_path = Some(path(b"old/name.rs"));
    file.status = FileStatus::Renamed;
    Arc::make_mut(&mut review.change).files.push(file);
    let result = result(&review);
    let first = &result["locations"][0]["physicalLocation"];
    assert_eq!(first["artifactLocation"]["uri"], "new/name.rs");
    assert_eq!(first["artifactLocation"]["uriBaseId"], "%SRCROOT%");
    assert_eq!(first["region"], json!({"startLine": 1}), "no line of the head is meant");
    let old = &result["relatedLocations"][0];
    assert_eq!(old["physicalLocation"]["artifactLocation"]["uri"], "old/name.rs");
    assert_eq!(old["physicalLocation"]["artifactLocation"]["uriBaseId"], "%OLDROOT%");
    assert_eq!(old["physicalLocation"]["region"]["startLine"], 12);
    assert_eq!(old["physicalLocation"]["region"]["snippet"]["text"], "check();\nsave();");
    let text = result["message"]["text"].as_str().unwrap();
    assert!(text.contains("Before the change: old/name.rs:12-13.") && !text.contains("]("), "{text}");
}

#[test]
fn a_whole_file_is_named_as_such() {
    let review = with(|finding| finding.anchors = vec![anchor(b"a.rs", DiffSide::New, None, "")]);
    let result = result(&review);
    assert_eq!(result["locations"][0]["physicalLocation"]["region"], json!({"startLine": 1}));
    assert!(result["message"]["text"].as_str().unwrap().contains("about the file as a whole"));
}

#[test]
fn columns_are_counted_in_utf16_and_only_where_they_are_known() {
    let region = |masked: bool, quote: &str| {
        let review = with(|finding| {
            finding.anchors = vec![anchor(b"a.rs", DiffSide::New, Some((3, 4)), quote)];
            finding.anchors[0].masked = masked;
        });
        result(&review)["locations"][0]["physicalLocation"]["region"].take()
    };
    assert_eq!(region(false, "a\n\tlet 😀 = ü;\r")["endColumn"], 13);
    assert_eq!(region(false, "a\n")["endColumn"], 1);
    assert_eq!(region(true, "a\nkey = ***")["endColumn"], Value::Null);
    assert_eq!(region(false, "only one line")["endColumn"], Value::Null);
}

#[test]
fn a_suggestion_replaces_whole_lines() {
    let fix = |replacement: &str, status: FindingStatus| {
        let review = with(|finding| {
            finding.status = status;
            finding.suggestion = Some(Suggestion {
                path: path(b"a.rs"),
                lines: LineRange::new(3, 5).unwrap(),
                replacement: replacement.to_owned(),
            });
        });
        let mut result = result(&review);
        result.pointer_mut("/fixes/0/artifactChanges/0/replacements/0").map(Value::take)
    };
    assert_eq!(
        fix("one\n\ttwo \u{202e}", FindingStatus::Open),
        Some(json!({
            "deletedRegion": {"startLine": 3, "startColumn": 1, "endLine": 5},
            "insertedContent": {"text": "one\n\ttwo \u{202e}"},
        }))
    );
    assert_eq!(
        fix("", FindingStatus::New),
        Some(json!({"deletedRegion": {"startLine": 3, "startColumn": 1, "endLine": 6, "endColumn": 1}}))
    );
    assert_eq!(fix("one", FindingStatus::Dismissed), None);
}
