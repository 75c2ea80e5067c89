//! Tests of resolved remarks, and of who may resolve them.

use super::super::state::{RemarkState, ResolveResult};
use super::super::tracker::Tracker;
use super::super::{read_remarks, summarize_remarks};
use super::{comment, review, thread};
use crate::domain::forge::{Comment, PullConversation, Remark};

const AT: &str = "2026-02-03T04:05:06Z";

fn of(association: &str, mine: bool, body: &str) -> Comment {
    Comment {
        association: association.to_owned(),
        mine,
        number: Some(if mine { 41 } else { 40 }),
        ..comment("somebody", false, body)
    }
}

fn read(said: &PullConversation) -> Vec<Remark> {
    read_remarks(said, &[], &|_| None).remarks
}

fn nitpicks() -> PullConversation {
    let body = "<details>\n<summary>🧹 Nitpick comments (2)</summary><blockquote>\n\n<details>\n<summary>a.rs (2)</summary><blockquote>\n\n\
         `3`: **One**\n\nx\n\n---\n\n`9`: **Two**\n\ny\n\n</blockquote></details>\n\n</blockquote></details>\n";
    PullConversation { reviews: vec![review(comment("coderabbitai", true, body))], ..PullConversation::default() }
}

fn with(mut said: PullConversation, comments: Vec<Comment>) -> PullConversation {
    said.comments = comments;
    said
}

#[test]
fn a_nitpick_is_resolved_and_reopened_through_our_comment() {
    let found = read(&nitpicks());
    let mut state = RemarkState::read(&[]);
    assert_eq!(state.number(), None);
    assert_eq!(state.resolve(&found[0], &found, "ana", AT), ResolveResult::Done);
    let body = state.write(AT).unwrap();

    let said = with(nitpicks(), vec![of("NONE", true, &body)]);
    let after = read(&said);
    assert_eq!(after.iter().map(|remark| remark.is_resolved).collect::<Vec<_>>(), [true, false]);
    let sums = summarize_remarks(&after);
    assert_eq!((sums.total, sums.resolved, sums.unresolved), (2, 1, 1));
    let nitpicks = sums.nitpicks.unwrap();
    assert_eq!((nitpicks.total, nitpicks.resolved, nitpicks.unresolved), (2, 1, 1));

    let state = RemarkState::read(&said.comments);
    assert_eq!(state.number(), Some(41));
    assert!(state.write(AT).unwrap().contains(&after[0].id));
}

#[test]
fn the_state_of_the_other_program_is_read_as_it_writes_it() {
    let id = read(&nitpicks())[1].id.clone();
    let json = format!(
        "{{\n  \"version\": 2,\n  \"parentChildren\": {{}},\n  \"resolvedNitpicks\": {{\n    \"{id}\": {{ \"resolvedAt\": \"{AT}\", \
         \"resolvedBy\": \"agent\" }}\n  }},\n  \"updatedAt\": \"{AT}\",\n  \"extra\": [1]\n}}"
    );
    let body = format!(
        "<!-- pr-review-mcp-state:v2 -->\n<details>\n<summary>State</summary>\n\n```json\n{json}\n```\n\n</details>\n<!-- /pr-review-mcp-state -->"
    );
    let resolved = |comment: Comment| read(&with(nitpicks(), vec![comment]))[1].is_resolved;
    for association in ["OWNER", "MEMBER", "COLLABORATOR"] {
        assert!(resolved(of(association, false, &body)), "{association}");
    }
    for association in ["NONE", "CONTRIBUTOR", "FIRST_TIME_CONTRIBUTOR", "MANNEQUIN", ""] {
        assert!(!resolved(of(association, false, &body)), "{association}");
    }
    assert!(!resolved(of("OWNER", false, &format!("Look at this:\n\n{body}"))), "shown, not kept");

    // Another's comment is not written.
    assert_eq!(RemarkState::read(&[of("OWNER", false, &body)]).number(), None);
    let kept = RemarkState::read(&[of("NONE", true, &body)]).write(AT).unwrap();
    assert!(kept.contains("\"extra\"") && kept.contains(&id), "{kept}");
}

#[test]
fn who_may_not_say_so_and_what_cannot_be_read_is_noted() {
    let empty = RemarkState::default().write(AT).unwrap();
    let notes = |comment| read_remarks(&with(nitpicks(), vec![comment]), &[], &|_| None).notes;
    assert!(notes(of("NONE", false, &empty))[0].contains("without rights"));
    for broken in
        ["<!-- pr-review-mcp-state:v2 -->", "<!-- pr-review-mcp-state:v2 -->\n{}\n<!-- /pr-review-mcp-state -->"]
    {
        assert!(notes(of("OWNER", false, broken))[0].contains("cannot be read"), "{broken}");
    }
    let other = empty.replace("\"version\": 2", "\"version\": 3");
    assert!(notes(of("OWNER", false, &other))[0].contains("version 3"));
}

#[test]
fn a_thread_of_several_issues_is_done_when_all_parts_are() {
    let body = "**One.**\n\n🤖 Prompt for AI Agents\nfix the first of them\n\n**Two.**\n\n🤖 Prompt for AI Agents\nfix the second of them\n";
    let mut said = PullConversation {
        threads: vec![thread("T_1", vec![comment("coderabbitai", true, body)])],
        ..PullConversation::default()
    };
    let parts = read(&said);
    assert_eq!(parts.len(), 2);
    assert!(parts.iter().all(|part| part.parent.as_deref() == Some("T_1") && part.thread.as_deref() == Some("T_1")));
    let mut state = RemarkState::read(&[]);
    assert_eq!(state.resolve(&parts[0], &parts, "ana", AT), ResolveResult::Done);
    assert_eq!(state.resolve(&parts[1], &parts, "ana", AT), ResolveResult::AllParts);
    said.comments = vec![of("NONE", true, &state.write(AT).unwrap())];
    assert!(read(&said).iter().all(|part| part.is_resolved));
    let mut state = RemarkState::read(&[]);
    assert_eq!(state.resolve(&parts[1], &parts, "ana", AT), ResolveResult::Done);
    said.comments = vec![of("NONE", true, &state.write(AT).unwrap())];
    assert_eq!(read(&said).iter().map(|part| part.is_resolved).collect::<Vec<_>>(), [false, true]);
    said.threads[0].is_outdated = true;
    assert_eq!(summarize_remarks(&read(&said)).outdated, 1);
}

#[test]
fn a_thread_is_not_kept_in_comments() {
    let said = PullConversation {
        threads: vec![thread("T_1", vec![comment("ana", false, "x")])],
        ..PullConversation::default()
    };
    let found = read(&said);
    let before = RemarkState::read(&[]);
    let mut state = before.clone();
    assert_eq!(state.resolve(&found[0], &found, "ana", AT), ResolveResult::NotKeptHere);
    assert_eq!(state, before);
    assert_eq!(Tracker::default().resolve(&found[0]), ResolveResult::NotKeptHere);
}

#[test]
fn nothing_kept_can_end_the_comment_that_keeps_it() {
    let found = read(&nitpicks());
    let mut state = RemarkState::read(&[]);
    state.resolve(&found[0], &found, "--> <!-- /pr-review-mcp-state --> ```", AT);
    let body = state.write(AT).unwrap();
    assert_eq!(body.matches("-->").count(), 2);
    assert!(RemarkState::read(&[of("NONE", true, &body)]).is_resolved(&found[0]));
}

#[test]
fn what_does_not_fit_a_comment_is_refused() {
    let mut found = read(&nitpicks());
    let mut state = RemarkState::read(&[]);
    for number in 0..2000 {
        found[0].id = format!("coderabbit-nitpick-00000000-{number}");
        state.resolve(&found[0].clone(), &found, "ana", AT);
    }
    assert!(state.write(AT).is_err());
}

#[test]
fn the_checklist_of_the_guide_is_read_and_written() {
    let guide = "## PR Reviewer Guide 🔍\n<table><tr><td>🔒&nbsp;<strong>Security concerns</strong><br><br>Token is logged</td></tr>\n\
         <tr><td>⚡&nbsp;<strong>Recommended focus areas for review</strong><br><br>\n\n<details><summary>\
         <a href='https://github.com/o/r/pull/1/files#diff-00'><strong>`x` @ana fixes #1</strong></a>\n\nIt is.\n</summary></details></td></tr></table>";
    let mut said =
        PullConversation { comments: vec![comment("qodo-code-review", true, guide)], ..PullConversation::default() };
    let found = read(&said);
    assert_eq!(found.iter().map(|one| one.id.as_str()).collect::<Vec<_>>(), ["qodo-sec-7", "qodo-focus-7-0"]);
    let mut tracker = Tracker::read(&said.comments);
    assert_eq!(tracker.resolve(&found[1]), ResolveResult::Done);
    let body = tracker.write(&found, AT).unwrap();
    assert!(body.contains("- [ ] <!-- qodo:sec-7 --> **CRIT** `Security concerns`\n"), "{body}");
    assert!(body.contains("- [x] <!-- qodo:focus-7-0 --> **MAJOR** `x  @ana fixes #1`\n"), "{body}");
    let by = |association, mine| of(association, mine, &body);
    for (comment, is_resolved) in [(by("NONE", true), true), (by("MEMBER", false), true), (by("NONE", false), false)] {
        said.comments.truncate(1);
        said.comments.push(comment);
        assert_eq!(read(&said)[1].is_resolved, is_resolved);
        assert!(!read(&said)[0].is_resolved);
    }
    assert_eq!(Tracker::read(&[by("NONE", true)]).number(), Some(41));
    assert_eq!(Tracker::read(&[by("OWNER", false)]).number(), None);
}
