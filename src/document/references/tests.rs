//! Tests of finding references in documents.

use super::*;
use crate::domain::place::LineRange;
use proptest::prelude::*;

fn shown(markdown: &str) -> Vec<(String, String, String)> {
    let found = references(markdown);
    found.into_iter().map(|found| (markdown[found.at.clone()].to_owned(), found.text.clone(), place(&found))).collect()
}

fn place(found: &DocumentReference) -> String {
    let Ok(to) = &found.to else { return "!".to_owned() };
    let lines = to.lines.map(|lines| format!(":{}-{}", lines.start(), lines.end())).unwrap_or_default();
    let pattern = to.pattern.as_ref().map(|pattern| format!("?{pattern}")).unwrap_or_default();
    format!("{}{lines}{pattern}", to.path)
}

/// Returns the one reference that is the whole of `markdown`.
fn one(markdown: &str) -> (RefForm, String, String) {
    let found = references(markdown);
    assert_eq!(found.len(), 1, "{markdown}: {found:?}");
    assert_eq!(found[0].at, 0..markdown.len(), "{markdown}");
    (found[0].form, found[0].text.clone(), place(&found[0]))
}

#[test]
fn every_documented_form_is_read() {
    use RefForm::{Dialectic, Link, Plain, Rustdoc};
    for (markdown, form, text, to) in [
        ("[auth.ts](src/auth.ts)", Link, "auth.ts", "src/auth.ts"),
        ("[auth.ts:42](src/auth.ts#L42)", Link, "auth.ts:42", "src/auth.ts:42-42"),
        ("[auth.ts:42-50](src/auth.ts#L42-L50)", Link, "auth.ts:42-50", "src/auth.ts:42-50"),
        ("[validateUser](src/auth.ts?validateUser)", Link, "validateUser", "src/auth.ts?validateUser"),
        ("[`v`](src/auth.ts?async fn v)", Link, "`v`", "src/auth.ts?async fn v"),
        ("[a [b] *c*](src/a.ts?fn `x` [y] <T>)", Link, "a [b] *c*", "src/a.ts?fn `x` [y] <T>"),
        ("[`src/auth.ts:23`][]", Rustdoc, "`src/auth.ts:23`", "src/auth.ts:23-23"),
        ("[`src/auth.ts:23-30`][]", Rustdoc, "`src/auth.ts:23-30`", "src/auth.ts:23-30"),
        ("[package.json:15][]", Rustdoc, "package.json:15", "package.json:15-15"),
        ("[`README.md:1`]", Rustdoc, "`README.md:1`", "README.md:1-1"),
        ("[the login][`src/auth.ts:23`]", Rustdoc, "the login", "src/auth.ts:23-23"),
        ("src/auth.ts:42", Plain, "src/auth.ts:42", "src/auth.ts:42-42"),
        ("`src/auth.ts:42-50`", Plain, "`src/auth.ts:42-50`", "src/auth.ts:42-50"),
        ("[t](dialectic:src/a.ts?line=3-9&regex=x+)", Dialectic, "t", "src/a.ts:3-9?x+"),
        ("[t](dialectic:src/a.ts?regex=a b)", Dialectic, "t", "src/a.ts?a b"),
        ("[t](<src/a b.ts#L3> \"title\")", Link, "t", "src/a b.ts:3-3"),
        ("[t](file:///w/a.ts#L3)", Link, "t", "/w/a.ts:3-3"),
        ("<file:///w/a.ts>", Link, "file:///w/a.ts", "/w/a.ts"),
        ("[](src/a.ts)", Link, "", "src/a.ts"),
        ("[t](\"src/b\\377.py\")", Link, "t", "\"src/b\\377.py\""),
        ("[t](\"src/b\\377.py\"#L4)", Link, "t", "\"src/b\\377.py\":4-4"),
        ("[t](\"my src/b\\377.py\"?def load)", Link, "t", "\"my src/b\\377.py\"?def load"),
        ("[t](<\"my src/b\\377.py\"#L4>)", Link, "t", "\"my src/b\\377.py\":4-4"),
        ("[`\"src/b\\377.py\":4`][]", Rustdoc, "`\"src/b\\377.py\":4`", "\"src/b\\377.py\":4-4"),
        ("\"src/b\\377.py\":4", Plain, "\"src/b\\377.py\":4", "\"src/b\\377.py\":4-4"),
        ("`\"my src/b\\377.py\":4`", Plain, "`\"my src/b\\377.py\":4`", "\"my src/b\\377.py\":4-4"),
        ("[a\\]b](src/a.ts)", Link, "a\\]b", "src/a.ts"),
        ("[t](src/a.ts?a\\(b\\\\c)", Link, "t", "src/a.ts?a\\(b\\\\c"),
    ] {
        assert_eq!(one(markdown), (form, text.to_owned(), to.to_owned()), "{markdown}");
    }
}

#[test]
fn references_are_found_in_every_kind_of_block_in_order() {
    let doc = "# In a.rs:1\n\nText (b.rs:2),\nnext [c](c.rs#L3) and **d.rs:4** _e.rs:5_.\n\n> f.rs:6\n\n- g.rs:7\n  - h.rs:8\n  i.rs:9\n\n\
               | x | y |\n| - | - |\n| j.rs:10 | [k](k.rs?a b) l.rs:12 |\n\nm [m][def] src/__init__.py:14 a\\_b.rs:15\n\n[def]: m.rs#L13\n";
    let places: Vec<String> = references(doc).iter().map(place).collect();
    assert_eq!(
        places,
        [
            "a.rs:1-1",
            "b.rs:2-2",
            "c.rs:3-3",
            "d.rs:4-4",
            "e.rs:5-5",
            "f.rs:6-6",
            "g.rs:7-7",
            "h.rs:8-8",
            "i.rs:9-9",
            "j.rs:10-10",
            "k.rs?a b",
            "l.rs:12-12",
            "m.rs:13-13",
            "src/__init__.py:14-14",
            "a_b.rs:15-15"
        ]
    );
}

#[test]
fn code_html_images_and_other_links_hold_none() {
    for markdown in [
        "```\na.rs:1 [x](a.rs)\n```",
        "~~~\n[`a.rs:1`][]\n~~~",
        "    a.rs:1",
        "<div>\na.rs:1\n</div>",
        "<!-- a.rs:1 -->",
        "x <!-- a.rs:1 --> y",
        "x <a href=\"y\">a.rs:1</a> <code>[b.rs:2]</code>",
        "![a.rs:1](b.rs)",
        "![x](a.rs?b c)",
        "[see a.rs:1](https://e.example/)",
        "`[x](a.rs)` and `see a.rs:1`",
        "\\[x](#top) [y](#top) [z](mailto:a@b.example)",
        "12:30 std::fmt host:8080 http://host:80/a.rs:4 key: 1",
        "[std::fmt][] [12:30][] [x][] [ ] [y]",
        "[^1]\n\n[^1]: note",
    ] {
        assert_eq!(shown(markdown), [], "{markdown}");
    }
}

#[test]
fn text_around_a_link_with_spaces_is_read_too() {
    assert_eq!(
        shown("a.rs:1 [b.rs:2 `c.rs:3`](d.rs?e f.rs:4 `g.rs:5`) h.rs:6 [i](j.rs?k (l) m)"),
        [
            ("a.rs:1", "a.rs:1", "a.rs:1-1"),
            ("[b.rs:2 `c.rs:3`](d.rs?e f.rs:4 `g.rs:5`)", "b.rs:2 `c.rs:3`", "d.rs?e f.rs:4 `g.rs:5`"),
            ("h.rs:6", "h.rs:6", "h.rs:6-6"),
            ("[i](j.rs?k (l) m)", "i", "j.rs?k (l) m"),
        ]
        .map(|(at, text, to)| (at.to_owned(), text.to_owned(), to.to_owned()))
    );
}

#[test]
fn what_is_dangerous_points_nowhere() {
    for markdown in ["[x](src\\a.rs)", "[x](a%00.rs)", "[x](a%00.rs#L4)", "[x](C:\\a.rs)", "[x](a.rs#L0)", "`a.rs:0`"] {
        let found = references(markdown);
        assert!(matches!(found.as_slice(), [DocumentReference { to: Err(_), .. }]), "{markdown}: {found:?}");
    }
}

#[test]
fn columns_are_kept() {
    let to = references("[x](a.rs#L4C2-L5C9)").remove(0).to.unwrap();
    assert_eq!((to.lines, to.columns), (LineRange::new(4, 5).ok(), (Some(2), Some(9))));
}

#[test]
fn a_large_and_hostile_document_takes_linear_time() {
    for piece in [
        "[",
        "](",
        "[a](b?c ",
        "`",
        "a:1",
        "<a ",
        "*a.rs:1_",
        "[`a.rs:1`][]",
        "\\[",
        "> - ",
        "a.rs:1\n\n",
        "![",
        "[a](<",
    ] {
        references(&piece.repeat(200_000 / piece.len()));
    }
}

fn pieces() -> impl Strategy<Value = String> {
    let odd = proptest::sample::select(vec![
        "[",
        "]",
        "(",
        ")",
        "](",
        "][]",
        "`",
        "``",
        "*",
        "_",
        "\\",
        "?",
        "#L4",
        ":4",
        "a.rs",
        "src/",
        " ",
        "\n",
        "\n\n",
        "> ",
        "- ",
        "    ",
        "```\n",
        "<a>",
        "</a>",
        "<!--",
        "-->",
        "&amp;",
        "|",
        "| - |\n",
        "é",
        "参",
        "%00",
        "%2",
        "dialectic:",
        "file://",
        "!",
        "\r\n",
        "\u{feff}",
        "\t",
        "~~",
        "[x]: a.rs\n",
    ]);
    proptest::collection::vec(odd, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn references_of_any_text_are_in_order_and_apart(markdown in prop_oneof![pieces(), any::<String>()]) {
        let mut end = 0;
        for found in references(&markdown) {
            prop_assert!(found.at.start >= end && found.at.start < found.at.end);
            prop_assert!(markdown.get(found.at.clone()).is_some_and(|whole| whole.contains(&found.text)));
            end = found.at.end;
        }
    }

    #[test]
    fn what_is_fenced_is_never_found(inner in pieces()) {
        let fence = crate::domain::text::fence_for(&inner);
        let fenced = format!("{fence}\n{}\n{fence}\n", inner.replace('\r', ""));
        prop_assert_eq!(references(&fenced), []);
    }
}
