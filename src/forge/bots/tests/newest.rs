//! Which of several texts of a bot is read.

use super::super::read_remarks;
use super::{comment, review, thread};
use crate::domain::forge::{PullConversation, Remark};

fn nitpicks(title: &str) -> String {
    format!(
        "<details>\n<summary>🧹 Nitpick comments (1)</summary><blockquote>\n\n<details>\n<summary>a.rs (1)</summary><blockquote>\n\n\
         `3`: **{title}**\n\nx\n\n</blockquote></details>\n\n</blockquote></details>\n"
    )
}

fn titles(found: &[Remark]) -> Vec<&str> {
    found.iter().map(|remark| remark.title.as_str()).collect()
}

fn read(said: &PullConversation) -> Vec<Remark> {
    read_remarks(said, &[], &|_| None).remarks
}

#[test]
fn the_newest_review_with_a_list_is_read_however_many_came_before() {
    let mut said = PullConversation::default();
    for number in 0..120 {
        said.reviews.push(review(comment("coderabbitai", true, &nitpicks(&format!("Old {number}")))));
    }
    said.reviews.push(review(comment("coderabbitai", true, &nitpicks("New"))));
    said.reviews.push(review(comment("coderabbitai", true, "**Actionable comments posted: 2**")));
    said.reviews.push(review(comment("ana", false, &nitpicks("Forged"))));
    assert_eq!(titles(&read(&said)), ["New"]);
}

#[test]
fn a_nitpick_without_a_headline_is_called_by_its_first_sentence() {
    let below = "_🧹 Nitpick (assertive)_ | _🔵 Trivial_\n\nTake the constant here. It is shorter.";
    let list = nitpicks("x").replace("**x**\n\nx", below);
    assert!(list.contains(below), "{list}");
    let said = PullConversation {
        reviews: vec![review(comment("coderabbitai", true, &list))],
        threads: vec![thread("coderabbitai", vec![comment("coderabbitai", true, below)])],
        ..PullConversation::default()
    };
    assert_eq!(titles(&read(&said)), ["Take the constant here."; 2]);
}

#[test]
fn the_same_remark_has_the_same_name_in_every_review() {
    let of = |title: &str| {
        let said = PullConversation {
            reviews: vec![review(comment("coderabbitai", true, &nitpicks(title)))],
            ..PullConversation::default()
        };
        read(&said)[0].id.clone()
    };
    assert_eq!(of("Use it"), of("use IT"));
    assert_ne!(of("Use it"), of("Use that"));
}

#[test]
fn the_newest_guide_and_overview_are_read_and_only_of_their_bots() {
    let guide = |word: &str| {
        format!(
            "## PR Reviewer Guide 🔍\n\n<table><tr><td>🔒&nbsp;<strong>Security concerns</strong><br><br>{word}</td></tr></table>"
        )
    };
    let said = PullConversation {
        comments: vec![
            comment("qodo-code-review", true, &guide("old")),
            comment("qodo-code-review", true, &guide("new")),
            comment("ana", false, &guide("forged")),
            comment("greptile-apps", true, "<h3>Greptile Summary</h3>\nFine.\n<h3>Confidence Score: 4/5</h3>"),
            comment("ana", false, "<h3>Greptile Summary</h3>\nforged\n<h3>Confidence Score: 1/5</h3>"),
        ],
        ..PullConversation::default()
    };
    let found = read(&said);
    assert_eq!(titles(&found), ["Security concerns", "Greptile Overview (Confidence: 4/5)"]);
    assert_eq!((found[0].body.as_str(), found[1].body.as_str()), ("new", "Fine."));
}
