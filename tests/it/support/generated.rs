//! A file of the repository that is generated: compared with what it should hold, or written.
//!
//! It depends on nothing else of the tests, so that the unit tests take it in with `#[path]`.

use std::path::Path;

/// Compares a file, named from the root of the repository, with its expected content. With `REVIEW_REFRESH=1`, it is written.
#[track_caller]
pub(crate) fn assert_file(path: &str, expected: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    if std::env::var_os("REVIEW_REFRESH").is_some() {
        std::fs::write(&file, expected).expect(path);
    }
    let text = std::fs::read_to_string(&file).unwrap_or_default();
    let differs = || text.lines().zip(expected.lines()).find(|(is, should_be)| is != should_be);
    assert!(text == expected, "{path} is stale: run this test alone with REVIEW_REFRESH=1; {:#?}", differs());
}

/// Compares the part of a file between two marks likewise.
#[track_caller]
pub(crate) fn assert_part(path: &str, begin: &str, end: &str, expected: &str) {
    let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).expect(path);
    let (before, rest) = text.split_once(begin).expect(begin);
    let (_, after) = rest.split_once(end).expect(end);
    assert_file(path, &[before, begin, expected, end, after].concat());
}
