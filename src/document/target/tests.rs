//! Tests of single destinations.

use super::*;
use crate::domain::place::LineRange;

fn read(written: &str) -> Option<Result<FileRef, String>> {
    parse_destination(written, DestinationSyntax::Written).map(|target| target.to)
}

fn file(path: &str, lines: Option<(u32, u32)>, pattern: Option<&str>) -> FileRef {
    FileRef {
        path: path.to_owned(),
        lines: lines.map(|(start, end)| LineRange::new(start, end).unwrap()),
        columns: (None, None),
        pattern: pattern.map(str::to_owned),
    }
}

#[test]
fn every_form_of_a_destination_is_read() {
    for (written, to) in [
        ("src/auth.ts", file("src/auth.ts", None, None)),
        ("src/auth.ts#L42", file("src/auth.ts", Some((42, 42)), None)),
        ("src/auth.ts#L42-L50", file("src/auth.ts", Some((42, 50)), None)),
        ("src/auth.ts#L42-50", file("src/auth.ts", Some((42, 50)), None)),
        ("docs/a.md#setup", file("docs/a.md", None, None)),
        ("src/auth.ts?validateUser", file("src/auth.ts", None, Some("validateUser"))),
        ("src/auth.ts?fn%20a%5C(#L4-L9", file("src/auth.ts", Some((4, 9)), Some("fn a\\("))),
        ("src/auth.ts:42", file("src/auth.ts", Some((42, 42)), None)),
        ("auth.ts:42-50", file("auth.ts", Some((42, 50)), None)),
        ("a%20b/c%C3%BC.rs", file("a b/cü.rs", None, None)),
        ("src/\\_\\_init\\_\\_.py", file("src/__init__.py", None, None)),
        ("../a.rs", file("../a.rs", None, None)),
        ("/etc/passwd", file("/etc/passwd", None, None)),
        ("file:///w/a%20b.rs#L3", file("/w/a b.rs", Some((3, 3)), None)),
        ("file://localhost/w/a.rs", file("/w/a.rs", None, None)),
        ("a.md?plain=1#L3", file("a.md", Some((3, 3)), None)),
        ("LICENSE", file("LICENSE", None, None)),
        ("dialectic:a.rs", file("a.rs", None, None)),
        ("dialectic:a.rs:3", file("a.rs", Some((3, 3)), None)),
        ("dialectic:a.rs?line=3-9", file("a.rs", Some((3, 9)), None)),
        ("dialectic:a.rs?regex=a%26b&c", file("a.rs", None, Some("a&b&c"))),
        ("dialectic:a.rs?regex=a+b&line=3", file("a.rs", Some((3, 3)), Some("a+b"))),
        ("dialectic:a.rs?line=3&regex=x", file("a.rs", Some((3, 3)), Some("x"))),
    ] {
        assert_eq!(read(written), Some(Ok(to)), "{written}");
    }
    let to = read("dialectic:a.rs?line=3:4-9:1").unwrap().unwrap();
    assert_eq!((to.lines, to.columns), (LineRange::new(3, 9).ok(), (Some(4), Some(1))));
}

#[test]
fn what_is_no_file_is_none() {
    for written in [
        "",
        "#top",
        "?x",
        "//cdn.example/x.js",
        "https://e.example/a.rs",
        "mailto:a@b.example",
        "javascript:alert(1)",
        "tel:112",
        "localhost:8080",
        "example.com:8080",
        "vscode://file/x",
        "data:text/html,x",
    ] {
        assert_eq!(read(written), None, "{written}");
    }
}

#[test]
fn what_is_dangerous_says_why_it_points_nowhere() {
    for written in [
        "C:\\Windows\\x",
        "c:/x",
        "src\\a.rs",
        "a%00b",
        "\"a\\000b\"",
        "\"a.rs",
        "\"a\\9.rs\"",
        "\"a.rs\"L4",
        "file://host/x",
        "a.rs#L0",
        "a.rs#L9-L3",
        "dialectic:a.rs?line=x",
        "dialectic:",
        "a.rs:99999999999",
    ] {
        assert!(matches!(read(written), Some(Err(_))), "{written}: {:?}", read(written));
    }
}

#[test]
fn paths_look_like_paths() {
    for path in ["src/a", "a.rs", ".env", "Makefile", "a/b.c-d", "./x", "a.tar.gz", "..d/x"] {
        assert!(is_path_like(path), "{path}");
    }
    for other in [
        "std",
        "12",
        "1.5",
        "a.",
        "example.com",
        "16/9",
        "src/",
        "a/..",
        "127.0.0.1",
        "v1.2",
        "ghcr.io/org/app",
        "db.example",
        "http://x",
        "/",
    ] {
        assert!(!is_path_like(other), "{other}");
    }
    assert!(parse_exact_reference("std::fmt:4").is_none());
    assert!(parse_exact_reference("12:30").is_none());
    assert!(parse_exact_reference("Makefile.in:3:4").is_some());
}

#[test]
fn a_path_that_is_no_plain_text_is_read_as_it_is_spelled() {
    let odd = |lines, pattern| file("\"src/b\\377\\351d.py\"", lines, pattern);
    for (written, to) in [
        ("\"src/b\\377\\351d.py\"", odd(None, None)),
        ("\"src/b\\377\\351d.py\"#L42", odd(Some((42, 42)), None)),
        ("\"src/b\\377\\351d.py\"?def load", odd(None, Some("def load"))),
        ("\"src/b\\377\\351d.py\":42-50", odd(Some((42, 50)), None)),
        ("dialectic:\"src/b\\377\\351d.py\"?line=3", odd(Some((3, 3)), None)),
        ("src/b%FF%e9d.py#L4", odd(Some((4, 4)), None)),
        // Escaped for Markdown once more.
        ("\"src/b\\\\377\\\\351d.py\"", odd(None, None)),
        ("\"a\\\"?#\\377.rs\"?x", file("\"a\\\"?#\\377.rs\"", None, Some("x"))),
        ("\"src/a.rs\"", file("src/a.rs", None, None)),
        ("a%0ab.rs", file("\"a\\nb.rs\"", None, None)),
        ("a%1b]8.rs", file("\"a\\033]8.rs\"", None, None)),
        ("a\u{202e}b.rs", file("\"a\\342\\200\\256b.rs\"", None, None)),
        ("file:///w/a%0d", file("\"/w/a\\r\"", None, None)),
        ("%22a%22", file("\"\\\"a\\\"\"", None, None)),
    ] {
        assert_eq!(read(written), Some(Ok(to)), "{written}");
    }
}

#[test]
fn a_number_alone_is_a_line_but_not_behind_a_pattern() {
    for (written, to) in [
        ("a.rs#10", file("a.rs", Some((10, 10)), None)),
        ("a.rs#10-20", file("a.rs", Some((10, 20)), None)),
        ("a.rs#L10-20", file("a.rs", Some((10, 20)), None)),
        ("a.rs#l10", file("a.rs", Some((10, 10)), None)),
        ("a.md#10-things", file("a.md", None, None)),
        ("a.rs?issue #10", file("a.rs", None, Some("issue #10"))),
    ] {
        assert_eq!(read(written), Some(Ok(to)), "{written}");
    }
}
