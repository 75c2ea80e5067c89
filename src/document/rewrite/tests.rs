//! Tests of each surface's form, and that nothing else changes.

use super::*;
use crate::document::references;
use crate::domain::path::RepoPath;
use crate::domain::presented::{BrokenRef, FileRef};
use crate::domain::text::is_invisible;
use proptest::prelude::*;

/// Returns references as a check would leave them if every file exists; invalid paths are broken, and so is anything called `gone`.
fn checked(markdown: &str) -> Vec<CheckedRef> {
    let each = |found: super::super::references::DocumentReference| {
        let to = found.to.clone().unwrap_or(FileRef {
            path: found.written,
            lines: None,
            columns: (None, None),
            pattern: None,
        });
        let path = RepoPath::parse(to.path.trim_start_matches('/'))
            .ok()
            .filter(|_| found.to.is_ok() && !to.path.contains("gone"));
        let lines = to.lines.filter(|_| to.pattern.is_none());
        let found_at = path.map(|path| RefPlace { path, lines, preview: None });
        let broken = BrokenRef { why: "gone".to_owned(), near: Vec::new() };
        CheckedRef { at: found.at, form: found.form, text: found.text, to, found: found_at.ok_or(broken) }
    };
    references(markdown).into_iter().map(each).collect()
}

fn written(markdown: &str, dialect: &ReferenceStyle) -> String {
    rewrite(markdown, &checked(markdown), dialect)
}

const DOC: &str = "# Login\n\nSee [`login`](src/auth.ts#L4-L9), src/my_file.rs:3 and `a b.rs:1`;\n[the *check*](my docs/a.rs?fn check(x: u8)), \
                   [`b.rs:7`][], [guide](docs/g.md#set-up), [g](docs/g.md#L3), [x](gone.rs), [`gone.rs:4`][] gone.rs:5.\n\n```\na.rs:1\n```\n";

#[test]
fn relative_links_are_for_markdown() {
    insta::assert_snapshot!(written(DOC, &ReferenceStyle::Fragment), @r"
    # Login

    See [`login`](src/auth.ts#L4-L9), [src/my\_file.rs:3](src/my_file.rs#L3) and `a b.rs:1`;
    [the *check*](my%20docs/a.rs?fn%20check%28x%3A%20u8%29), [`b.rs:7`](b.rs#L7), [guide](docs/g.md#set-up), [g](docs/g.md#L3), x, `gone.rs:4` gone.rs:5.

    ```
    a.rs:1
    ```
");
}

#[test]
fn one_line_in_code_is_for_peers_that_know_no_other() {
    insta::assert_snapshot!(written(DOC, &ReferenceStyle::Rustdoc), @r"
    # Login

    See `login` ([`src/auth.ts:4`][]-9), [`src/my_file.rs:3`][] and `a b.rs:1`;
    the *check* ([`my docs/a.rs:1`][]), [`b.rs:7`][], guide ([`docs/g.md:1`][]), g ([`docs/g.md:3`][]), x, `gone.rs:4` gone.rs:5.

    ```
    a.rs:1
    ```
");
}

#[test]
fn a_forge_and_a_disk_have_addresses() {
    let blob = "https://forge.example/o/r/blob/0a1b/".to_owned();
    insta::assert_snapshot!(written(DOC, &ReferenceStyle::Forge { blob }), @r"
    # Login

    See [`login`](https://forge.example/o/r/blob/0a1b/src/auth.ts#L4-L9), [src/my\_file.rs:3](https://forge.example/o/r/blob/0a1b/src/my_file.rs#L3) and `a b.rs:1`;
    [the *check*](https://forge.example/o/r/blob/0a1b/my%20docs/a.rs), [`b.rs:7`](https://forge.example/o/r/blob/0a1b/b.rs#L7), [guide](https://forge.example/o/r/blob/0a1b/docs/g.md#set-up), [g](https://forge.example/o/r/blob/0a1b/docs/g.md?plain=1#L3), x, `gone.rs:4` gone.rs:5.

    ```
    a.rs:1
    ```
");
    let base = PathBuf::from("/w/my app/");
    assert_eq!(written("a.rs:3", &ReferenceStyle::File { base }), "[a.rs:3](file:///w/my%20app/a.rs#L3)");
}

#[test]
fn a_terminal_gets_links_or_places() {
    insta::assert_snapshot!(written(DOC, &ReferenceStyle::Plain), @r"
    # Login

    See `login` (src/auth.ts:4-9), src/my_file.rs:3 and `a b.rs:1`;
    the *check* (my docs/a.rs), `b.rs:7`, guide (docs/g.md), g (docs/g.md:3), x, `gone.rs:4` gone.rs:5.

    ```
    a.rs:1
    ```
");
    let root = PathBuf::from("/w");
    assert_eq!(
        written("see [x](a b.rs#L3)", &ReferenceStyle::Osc8 { root: root.clone() }),
        "see \u{1b}]8;;file:///w/a%20b.rs\u{1b}\\x (a b.rs:3)\u{1b}]8;;\u{1b}\\"
    );
    assert_eq!(written("[x](gone.rs)", &ReferenceStyle::Osc8 { root }), "x");
}

#[test]
fn a_path_that_is_no_text_is_encoded_in_addresses_and_spelled_for_people() {
    let doc = "[x](\"s/b\\377.py\"#L4) \"s/b\\377.py\":4 [y](\"s/b\\377.py\"?a b)";
    let to = |dialect| written(doc, &dialect);
    assert_eq!(
        to(ReferenceStyle::Fragment),
        "[x](s/b%FF.py#L4) [\"s/b\\\\377.py\":4](s/b%FF.py#L4) [y](s/b%FF.py?a%20b)"
    );
    assert!(to(ReferenceStyle::File { base: "/w".into() }).starts_with("[x](file:///w/s/b%FF.py#L4) ["));
    assert!(to(ReferenceStyle::Forge { blob: "https://f/".to_owned() }).starts_with("[x](https://f/s/b%FF.py#L4) ["));
    assert!(to(ReferenceStyle::Plain).starts_with("x (\"s/b\\377.py\":4) \"s/b\\377.py\":4 "));
    assert!(to(ReferenceStyle::Osc8 { root: "/w".into() }).starts_with("\u{1b}]8;;file:///w/s/b%FF.py\u{1b}\\x ("));
    assert!(to(ReferenceStyle::Rustdoc).starts_with("x (`\"s/b\\377.py\":4`) \"s/b\\\\377.py\":4 y ("));
    // The Markdown output leads to the same place.
    let again: Vec<FileRef> =
        references(&to(ReferenceStyle::Fragment)).into_iter().filter_map(|found| found.to.ok()).collect();
    assert!(again.len() == 3 && again.iter().all(|to| *to.path_bytes() == *b"s/b\xff.py"), "{again:?}");
}

#[test]
fn a_found_pattern_becomes_its_lines() {
    let markdown = "[x](a.rs?foo bar)";
    let mut references = checked(markdown);
    references[0].found =
        Ok(RefPlace { path: RepoPath::parse("a.rs").unwrap(), lines: LineRange::new(4, 6).ok(), preview: None });
    assert_eq!(rewrite(markdown, &references, &ReferenceStyle::Fragment), "[x](a.rs#L4-L6)");
}

#[test]
fn text_without_its_link_begins_no_block() {
    assert_eq!(
        written("[# x](gone.rs)\n\n- [1. y](gone.rs) [# z](gone.rs)", &ReferenceStyle::Fragment),
        "\\# x\n\n- 1\\. y # z"
    );
}

#[test]
fn one_long_line_takes_linear_time() {
    let line = "[x](gone.rs) [y](a.rs?b c) ".repeat(10_000);
    let references = checked(&line);
    for dialect in [ReferenceStyle::Fragment, ReferenceStyle::Rustdoc, ReferenceStyle::Plain] {
        assert!(rewrite(&line, &references, &dialect).starts_with('x'));
    }
}

#[test]
fn references_of_another_text_do_no_harm() {
    let mut references = checked("[é](a.rs) and [x](b.rs)");
    references.reverse();
    assert_eq!(rewrite("é", &references, &ReferenceStyle::Fragment), "é");
}

fn pieces() -> impl Strategy<Value = String> {
    let odd = proptest::sample::select(vec![
        "[t](src/a.rs#L4)",
        "[t_](a%20b.rs?x%20y)",
        "[`a.rs:3`][]",
        "a_b.rs:4-9",
        "`c.rs:1`",
        "[é](d e/f.rs?g (h) [i])",
        "[x](gone.rs)",
        "[y](dialectic:z.rs?line=3:4-9:2&regex=a&b)",
        "[q](k.rs?p#L4)",
        "[r](docs/m.md#heading)",
        " ",
        "\n",
        "\n\n",
        "text",
        "*",
        "**",
        "- ",
        "> ",
        "```\n",
        "\\",
        "!",
        "\x1b]8;;http://e.example\x07",
        "\u{9b}31m",
        "\x1b",
        "\\\\",
        "]0;",
        "\u{202e}",
        "[\x1b[1m](x.rs)",
        "[e](a%1b.rs)",
        "参",
        "1. ",
        "# ",
        "<b>",
        "&lt;",
    ]);
    proptest::collection::vec(odd, 0..25).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn relative_links_lead_to_the_same_places(markdown in pieces()) {
        let before = checked(&markdown);
        let standing: Vec<&FileRef> = before.iter().filter(|reference| reference.found.is_ok()).map(|reference| &reference.to).collect();
        let after = checked(&rewrite(&markdown, &before, &ReferenceStyle::Fragment));
        let after: Vec<&FileRef> = after.iter().filter(|reference| reference.found.is_ok()).map(|reference| &reference.to).collect();
        let mut rest = after.iter();
        prop_assert!(standing.iter().all(|one| rest.any(|other| other == one)), "{:?} {:?}", standing, after);
        // Asterisks behind a link may begin emphasis, which ends a URL: what was a part of that is a reference then.
        prop_assert!(standing.len() == after.len() || markdown.contains("://"), "{:?} {:?}", standing, after);
    }

    #[test]
    fn bytes_around_the_references_survive(markdown in pieces()) {
        let references = checked(&markdown);
        let mut rest = rewrite(&markdown, &references, &ReferenceStyle::Fragment);
        let mut copied = 0;
        for reference in &references {
            let before = &markdown[copied..reference.at.start];
            prop_assert!(rest.starts_with(before));
            let link = rewrite_one(reference, &markdown[reference.at.clone()], begins_line(&markdown[..reference.at.start]), &ReferenceStyle::Fragment);
            rest = rest[before.len() + link.len()..].to_owned();
            copied = reference.at.end;
        }
        prop_assert_eq!(rest.as_str(), &markdown[copied..]);
    }

    #[test]
    fn no_escape_of_the_document_reaches_a_terminal(markdown in prop_oneof![pieces(), any::<String>()]) {
        let plain = written(&markdown, &ReferenceStyle::Plain);
        let harmless = |c: char| c == '\n' || c == '\t' || !(c.is_control() || is_invisible(c));
        prop_assert!(plain.chars().all(harmless), "{:?}", plain);
        let linked = written(&markdown, &ReferenceStyle::Osc8 { root: PathBuf::from("/w") });
        let mut rest = linked.as_str();
        while let Some(at) = rest.find('\x1b') {
            prop_assert!(rest[..at].chars().all(harmless));
            let link = &rest[at..];
            let uri = link.strip_prefix("\x1b]8;;").and_then(|link| link.split_once("\x1b\\"));
            prop_assert!(uri.is_some_and(|(uri, _)| uri.is_empty() || (uri.starts_with("file:///w/") && uri.bytes().all(|byte| byte.is_ascii_graphic()))));
            rest = uri.map_or("", |(_, rest)| rest);
        }
        prop_assert!(rest.chars().all(harmless));
    }

    #[test]
    fn every_dialect_takes_any_text(markdown in any::<String>()) {
        for dialect in [ReferenceStyle::Rustdoc, ReferenceStyle::File { base: PathBuf::from("/") }, ReferenceStyle::Forge { blob: String::new() }] {
            written(&markdown, &dialect);
        }
    }
}
