//! Texts that nobody means well with. Times are not measured: what is asked is that sizes of what comes out stay in bounds and nothing panics.

use proptest::prelude::*;

use super::super::{Remarks, read_remarks, summarize_remarks};
use super::{comment, only, review, thread};
use crate::domain::forge::{Comment, PullConversation};

fn nobody(_: &Comment) -> Option<crate::domain::finding::Severity> {
    None
}

const WRITERS: &[&str] = &[
    "coderabbitai",
    "gemini-code-assist",
    "chatgpt-codex-connector",
    "copilot-pull-request-reviewer",
    "sourcery-ai",
    "qodo-code-review",
    "greptile-apps",
    "ana",
];

/// Everywhere at once, as everybody.
fn everywhere(text: &str) -> PullConversation {
    said_by(WRITERS, text)
}

fn said_by(writers: &[&str], text: &str) -> PullConversation {
    let mut said = PullConversation::default();
    for login in writers {
        said.threads.push(thread(login, vec![comment(login, true, text)]));
        said.reviews.push(review(comment(login, true, text)));
        said.comments.push(comment(login, true, text));
    }
    said
}

/// The units that hostile texts are made of.
const UNITS: &[&str] = &[
    "<details>",
    "</details>",
    "<details><summary>🧹 Nitpick comments (1)</summary><blockquote>",
    "<details><summary>a.rs (1)</summary>`1`: **x**\n",
    "`",
    "` `` ",
    "```\n",
    "> ",
    "<!--",
    "**",
    "[",
    "![](",
    "<a href='",
    "<td>🔒 ",
    "PR Reviewer Guide <td>focus areas for review<details><summary><a href='#diff-0'>x</a></summary></details>",
    "Greptile Overview\n- x\n| a | b |\n",
    "🤖 Prompt for AI Agents\n",
    "<pre <code ",
    "`1`: **x**\n",
];

fn is_read_in_bounds(unit: &str, found: &Remarks) {
    assert!(found.remarks.len() <= WRITERS.len() * 100 + 2000, "{unit}: {}", found.remarks.len());
    assert!(found.notes.len() <= 21, "{unit}: {}", found.notes.len());
    assert!(found.remarks.iter().all(|remark| remark.title.chars().count() <= 100 && !remark.title.contains('\n')));
    assert_eq!(summarize_remarks(&found.remarks).total, found.remarks.len());
}

/// More than is read of any one text.
fn too_much(unit: &str) -> String {
    unit.repeat((3 << 17) / unit.len())
}

#[test]
fn too_much_of_anything_is_read_in_bounds() {
    for (at, unit) in UNITS.iter().enumerate() {
        // A part of it by everybody, and all of it by two in turn: each has a reader of its own.
        let part = everywhere(&unit.repeat((1 << 15) / unit.len()));
        is_read_in_bounds(unit, &read_remarks(&part, &[], &nobody));
        let two = [WRITERS[at % WRITERS.len()], WRITERS[(at + 3) % WRITERS.len()]];
        is_read_in_bounds(unit, &read_remarks(&said_by(&two, &too_much(unit)), &[], &nobody));
    }
}

#[test]
#[ignore = "takes long; .ci/run runs it"]
fn exhaustive_too_much_of_anything_by_everybody_is_read_in_bounds() {
    for unit in UNITS {
        is_read_in_bounds(unit, &read_remarks(&everywhere(&too_much(unit)), &[], &nobody));
    }
}

#[test]
fn runs_of_backticks_of_every_length_do_not_pair_up_slowly() {
    let text: String = (1..900).map(|length| "`".repeat(length) + " ").collect();
    assert_eq!(read_remarks(&everywhere(&text), &[], &nobody).remarks.len(), WRITERS.len());
}

fn fragments() -> impl Strategy<Value = String> {
    let fragment = prop::sample::select(vec![
        "<details>",
        "</details>",
        "<summary>",
        "</summary>",
        "<blockquote>",
        "</blockquote>",
        "🧹 Nitpick comments (2)",
        "⚠️ Outside diff range comments (1)",
        "src/a.rs (1)",
        "../x (1)",
        "\n",
        "\n> ",
        "`1-2`: **Title**\n",
        "`9-3`: ",
        "`0`: **",
        "`99999999999`: **x**",
        "---\n",
        "```",
        "```diff\n",
        "`",
        "**",
        "_🟠 Major_",
        "🔴 critical",
        "🤖 Prompt for AI Agents",
        "<!-- ai_prompt -->",
        "<!--",
        "-->",
        "PR Reviewer Guide",
        "<table><tr><td>🔒 Security concerns</strong>",
        "</td>",
        "focus areas for review",
        "<a href='https://x/files#diff-0011R1-R0'>",
        "</a>",
        "Greptile Overview",
        "confidence score: 2/5",
        "| a.rs | 1/5 | critical |\n",
        "critical issues found:\n- x\n",
        "Fix the é value of it. ",
        "**issue (security):**",
        "ß",
        "\u{202e}",
    ]);
    prop::collection::vec(fragment, 0..40).prop_map(|all| all.concat())
}

proptest! {
    #[test]
    fn nothing_panics_and_names_stay(text in fragments()) {
        let said = everywhere(&text);
        let found = read_remarks(&said, &[], &nobody);
        prop_assert_eq!(&found, &read_remarks(&said, &[], &nobody));
        let mut ids: Vec<_> = found.remarks.iter().map(|remark| &remark.id).collect();
        let all = ids.len();
        ids.sort();
        ids.dedup();
        prop_assert_eq!(ids.len(), all, "two remarks have one name");
        for remark in &found.remarks {
            prop_assert!(remark.lines.is_none_or(|(first, last)| first > 0 && first <= last));
            prop_assert!(!remark.title.contains('\n') && remark.title.chars().count() <= 100);
        }
        let sums = summarize_remarks(&found.remarks);
        prop_assert_eq!(sums.unresolved, sums.by_severity.values().sum::<usize>());
        prop_assert_eq!(sums.unresolved, sums.by_file.values().sum::<usize>());
    }

    #[test]
    fn any_text_is_read(text in "\\PC{0,200}", place in prop::sample::select(vec!["thread", "review", "comment"])) {
        for login in WRITERS {
            read_remarks(&only(place, comment(login, true, &text)), &[], &nobody);
        }
    }
}
