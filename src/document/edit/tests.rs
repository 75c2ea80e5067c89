//! Tests of edits of small documents, and of arbitrary ones.

use super::*;
use proptest::prelude::*;

fn update(current: &str, section: &str, content: &str) -> EditedDocument {
    edit(current, content, &PresentMode::UpdateSection { section: section.to_owned() })
}

fn updated(current: &str, section: &str, content: &str) -> String {
    let edited = update(current, section, content);
    assert_eq!(edited.note, None, "{section} is there");
    edited.markdown
}

fn append(current: &str, content: &str) -> String {
    edit(current, content, &PresentMode::Append).markdown
}

#[test]
fn replaced_content_is_kept_to_the_byte() {
    assert_eq!(edit("old", "\n new\r\n\n", &PresentMode::Replace).markdown, "\n new\r\n\n");
}

#[test]
fn appended_content_follows_one_blank_line() {
    for (old, new, joined) in [
        ("", "\n## A\n", "## A\n"),
        ("\n\n", "a", "a"),
        ("a", "b", "a\n\nb"),
        ("a\n", "b\n", "a\n\nb\n"),
        ("a\n\n\n\n", "\n\n\nb", "a\n\n\n\nb"),
        ("a\r\nb\r\n", "c", "a\r\nb\r\n\r\nc"),
        ("a  \n", "    code", "a  \n\n    code"),
        ("a\n", "", "a\n"),
    ] {
        assert_eq!(append(old, new), joined, "{old:?} {new:?}");
    }
}

#[test]
fn what_was_written_has_its_bytes() {
    let doc = "# A\n\na\n\n# B\n\nb\n";
    for (edited, written) in [
        (edit(doc, "new", &PresentMode::Replace), "new"),
        (edit("", "\nnew", &PresentMode::Append), "new"),
        (edit(doc, "\nnew", &PresentMode::Append), "new"),
        (edit("```\na", "new", &PresentMode::Append), "new"),
        (update(doc, "a", "new\n"), "new"),
        (update(doc, "a", "# A\n\nnew"), "# A\n\nnew"),
        (update(doc, "c", "new"), "## c\n\nnew"),
    ] {
        assert_eq!(&edited.markdown[edited.written.clone()], written, "{edited:?}");
    }
}

#[test]
fn what_closes_a_block_is_said() {
    let note = |old: &str| edit(old, "x", &PresentMode::Append).note;
    assert_eq!(note("plain"), None);
    assert!(note("```\nx").unwrap().contains("```"));
    let edited = update("```\nx", "B", "y");
    assert!(edited.note.is_some_and(|note| note.contains("no section") && note.contains("```")));
}

#[test]
fn what_is_appended_does_not_fall_into_an_open_fence() {
    assert_eq!(append("```\nx", "## B"), "```\nx\n```\n\n## B");
    assert_eq!(append("<!-- x\n", "## B"), "<!-- x\n-->\n\n## B");
}

const REPORT: &str = "# Report\n\nIntro.\n\n## Error Handling\n\nOld.\n\n### Detail\n\nDeep.\n\n## Next\n\nStays.\n";

#[test]
fn a_section_ends_at_the_next_heading_of_its_level() {
    assert_eq!(updated(REPORT, "error handling", "New."), REPORT.replace("Old.\n\n### Detail\n\nDeep.", "New."));
    assert_eq!(updated(REPORT, " Detail ", "New.\n\n"), REPORT.replace("Deep.", "New."));
    assert_eq!(updated(REPORT, "NEXT", "New."), REPORT.replace("Stays.", "New."));
    assert_eq!(updated(REPORT, "report", "New."), "# Report\n\nNew.\n");
}

#[test]
fn a_heading_that_the_content_brings_is_kept() {
    let new = updated(REPORT, "Error Handling", "\n## Updated Error Handling\n\nImproved.\n");
    assert_eq!(new, "# Report\n\nIntro.\n\n## Updated Error Handling\n\nImproved.\n\n## Next\n\nStays.\n");
    assert_eq!(updated("x\n## A\nb\n", "a", "A\n---\nc"), "x\n\nA\n---\nc\n");
}

#[test]
fn a_deeper_heading_is_one_inside_the_section() {
    assert_eq!(
        updated("# R\n\n## Findings\n\nOld.\n", "findings", "### High\n\nNew."),
        "# R\n\n## Findings\n\n### High\n\nNew.\n"
    );
    assert_eq!(updated("# R\n\nOld.\n", "r", "A\n---\nnew"), "# R\n\nA\n---\nnew\n");
    assert_eq!(update("# R\n", "Findings", "### High").markdown, "# R\n\n## Findings\n\n### High");
    assert_eq!(update("# R\n", "Findings", "## High").markdown, "# R\n\n## High");
}

#[test]
fn both_styles_and_markup_are_found_and_code_is_not() {
    let doc = "```\n# Plan\n```\n\nThe *`big`*\nPlan\n====\nold\n## Sub\nx\n\nOther\n=====\ny\n";
    assert_eq!(
        updated(doc, "the big  plan", "new"),
        "```\n# Plan\n```\n\nThe *`big`*\nPlan\n====\nnew\n\nOther\n=====\ny\n"
    );
    assert_eq!(update("```\n# Plan\n```", "plan", "x").markdown, "```\n# Plan\n```\n\n## plan\n\nx");
    assert_eq!(updated("## `a_b` & c\nx", "## `a_b` & c", "y"), "## `a_b` & c\ny");
}

#[test]
fn the_first_of_two_is_meant() {
    assert_eq!(updated("# A\n1\n# A\n2\n", "a", "x"), "# A\nx\n\n# A\n2\n");
}

#[test]
fn letters_count_as_the_same_in_every_case() {
    for (heading, section) in [("Οδός", "ΟΔΌΣ"), ("Straße", "STRASSE"), ("Ǆ", "ǆ"), ("ÄÖ", "äö"), ("Ⅳ", "ⅳ")]
    {
        assert_eq!(updated(&format!("# {heading}\nold"), section, "new"), format!("# {heading}\nnew"), "{section}");
    }
}

#[test]
fn headings_in_quotes_and_items_are_no_sections() {
    let doc = "> ## A\n> x\n\n- ## A\n\n## A\nold\n";
    assert_eq!(updated(doc, "a", "new"), "> ## A\n> x\n\n- ## A\n\n## A\nnew\n");
}

#[test]
fn a_section_that_is_not_there_is_added_and_said() {
    let edited = update("# A\nx\n", "Open  Questions", "why?");
    assert_eq!(edited.markdown, "# A\nx\n\n## Open Questions\n\nwhy?");
    assert_eq!(edited.note.as_deref(), Some("there is no section \"Open Questions\": it was added at the end"));
    assert_eq!(update("# A\n", "B", "# C\nx").markdown, "# A\n\n# C\nx");
    assert_eq!(update("", "B", "x").markdown, "## B\n\nx");
}

#[test]
fn windows_line_endings_stay() {
    let doc = "# A\r\n\r\nold\r\n\r\n# B\r\nx\r\n";
    assert_eq!(updated(doc, "a", "new"), "# A\r\n\r\nnew\r\n\r\n# B\r\nx\r\n");
    assert_eq!(updated("# A\r\n# B\r\n", "a", "new"), "# A\r\n\r\nnew\r\n\r\n# B\r\n");
    assert_eq!(updated("x\r\n\r\n# A", "a", "new"), "x\r\n\r\n# A\r\n\r\nnew");
}

#[test]
fn content_that_leaves_a_fence_open_swallows_no_other_section() {
    let edited = update("# A\nx\n\n# B\ny\n", "a", "```\ncode");
    assert_eq!(edited.markdown, "# A\n```\ncode\n```\n\n# B\ny\n");
    assert!(edited.note.unwrap().contains("```"));
}

#[test]
fn a_large_document_is_edited_in_one_go() {
    let section = "\n\n> [x](y?z w) `a` **b\n\n```\n# no\n```\n\n";
    let mut big = String::new();
    for number in 0..20_000 {
        big.push_str(&format!("## Section {number}{section}"));
    }
    let edited = update(&big, "section 19999", "new");
    assert_eq!(edited.note, None);
    assert!(edited.markdown.ends_with("## Section 19999\n\nnew\n\n"));
    let hostile = "[".repeat(200_000) + &"](".repeat(100_000) + &"> ".repeat(50_000);
    assert!(update(&hostile, "x", "y").note.is_some());
}

fn block() -> impl Strategy<Value = String> {
    let text = proptest::sample::select(vec![
        "para",
        "*x* `y`",
        "- item\n- item",
        "> quote",
        "```\n# code\n```",
        "    # code",
        "<!-- # c -->",
        "| a |\n| - |",
        "1. x",
        "~~~\n## fenced\n~~~",
        "[a](b)",
        "***",
    ]);
    text.prop_map(str::to_owned)
}

fn section() -> impl Strategy<Value = (usize, bool, Vec<String>)> {
    (1usize..4, any::<bool>(), proptest::collection::vec(block(), 0..4))
}

fn written(sections: &[(usize, bool, Vec<String>)], eol: &str) -> String {
    let mut out = String::from("Before all.\n\n");
    for (number, (level, setext, blocks)) in sections.iter().enumerate() {
        if *setext && *level < 3 {
            out.push_str(&format!("Part *{number}*\n{}\n\n", if *level == 1 { "==" } else { "--" }));
        } else {
            out.push_str(&format!("{} Part *{number}*\n\n", "#".repeat(*level)));
        }
        for block in blocks {
            out.push_str(block);
            out.push_str("\n\n");
        }
    }
    out.replace('\n', eol)
}

proptest! {
    #[test]
    fn bytes_outside_the_section_survive_and_twice_is_once(
        sections in proptest::collection::vec(section(), 1..7),
        pick in any::<proptest::sample::Index>(),
        content in proptest::collection::vec(block(), 1..3),
        eol in proptest::sample::select(vec!["\n", "\r\n"]),
    ) {
        let doc = written(&sections, eol);
        let at = pick.index(sections.len());
        let content = content.join("\n\n");
        let edited = update(&doc, &format!("part {at}"), &content);
        prop_assert_eq!(&edited.note, &None);
        let outline = Outline::of(&doc);
        let heading = &outline.headings[at];
        let end = outline.headings[at + 1..].iter().find(|next| next.level <= heading.level).map_or(doc.len(), |next| next.at.start);
        prop_assert!(edited.markdown.starts_with(&doc[..heading.at.end]));
        prop_assert!(edited.markdown.ends_with(&doc[end..]));
        prop_assert!(edited.markdown.contains(&content));
        prop_assert_eq!(&update(&edited.markdown, &format!("PART {at}"), &content), &edited);
    }

    #[test]
    fn nothing_panics_and_what_was_added_is_found(doc in "[#=\\-`~<>!\\[\\]()*_ \\t\r\na-bÄ\u{feff}&;\\\\|:.1]{0,60}", name in "[a-b#*_`&; \\\\<>\\[\\]ÄΣß!=-]{0,12}", content in "[#a \n`<>-]{0,20}") {
        let edited = update(&doc, &name, &content);
        let outline = Outline::of(&doc);
        let found = names(&name).into_iter().find_map(|name| outline.section(&name, doc.len()));
        if let Some((heading, end)) = found {
            prop_assert!(edited.markdown.starts_with(&doc[..heading.at.start]));
            prop_assert!(edited.markdown.ends_with(&doc[end..]));
        } else {
            prop_assert!(edited.note.is_some_and(|note| note.starts_with("there is no section")));
            prop_assert!(edited.markdown.starts_with(doc.trim_end_matches(['\n', '\r'])));
        }
        append(&doc, &content);
    }

    #[test]
    fn an_added_section_is_updated_the_next_time(name in "[a-c#*_`&; \\\\<>\\[\\]ÄΣß!=.1)+-]{1,12}", doc in proptest::collection::vec(block(), 0..3)) {
        prop_assume!(!names(&name).is_empty());
        let doc = doc.join("\n\n");
        let once = update(&doc, &name, "first");
        prop_assert!(once.note.is_some());
        let twice = update(&once.markdown, &name, "second");
        prop_assert_eq!(&twice.note, &None, "{:?}", once.markdown);
        prop_assert_eq!(twice.markdown, once.markdown.replace("first", "second"));
    }

    #[test]
    fn appending_keeps_what_was_there(old in "[a#`\n\r >-]{0,30}", new in "[a#`\n\r >-]{0,30}") {
        let joined = append(&old, &new);
        prop_assert!(joined.starts_with(&old) || old.trim_matches(['\n', '\r']).is_empty());
        prop_assert!(joined.ends_with(new.trim_start_matches(['\n', '\r'])) || new.trim_start_matches(['\n', '\r']).is_empty());
    }
}
