//! The first message about changes of real repositories.

use review_runner::domain::guideline::Guidelines;
use review_runner::prompt::{PromptError, Prompts};
use review_runner::review::{Opening, ProjectContext, estimate_tokens, open};
use serde_json::Value;

use crate::support::change::change_of;
use crate::support::{Program, TestRepo};

fn opened(repo: &TestRepo, room: u64) -> Result<Opening, PromptError> {
    let guidelines = Guidelines::default();
    let beside = ProjectContext { instructions: None, guidelines: &guidelines, builds: false, turns: 0, window: 0 };
    open(&Prompts::built_in()?, &change_of(repo), &[], beside, room)
}

/// The call that a cut diff names.
fn reads_on(message: &str) -> Value {
    let (_, call) = message.split_once("read on with read_diff ").expect("a cut diff");
    serde_json::from_str(call.lines().next().expect("a line").trim_end_matches(']')).expect("JSON")
}

#[test]
fn the_call_that_a_cut_diff_names_goes_on_where_the_message_stops() {
    let repo = TestRepo::new();
    repo.write("a b.txt", "start\n").commit("Start");
    repo.branch("feature");
    let lines: Vec<String> = (0..900).map(|at| format!("line {at} of a long file")).collect();
    // Without a line feed at its end, and one hunk that is longer than a patch text may be.
    repo.write("a b.txt", format!("start\n{}", lines.join("\n"))).commit("Grow");
    let opening = opened(&repo, 100_000).expect("an opening");
    let shown = opening.shown.first().expect("one file");
    assert_eq!((opening.shown.len(), shown.hunks), (1, 0));

    let last = opening.message.lines().rfind(|line| line.contains(" +line ")).expect("a line");
    let answer = Program::in_folder(repo.root()).tool("read_diff", &reads_on(&opening.message), "--target main").1;
    let first = answer["content"].as_str().expect("content").lines().nth(1).expect("a line").to_owned();
    let number = |line: &str| -> usize {
        line.split_once("line ")
            .map(|(_, rest)| rest.split(' ').next().unwrap_or_default())
            .expect("a number")
            .parse()
            .expect("a number")
    };
    assert_eq!(number(&first), number(last) + 1, "{last:?} then {first:?}");
}

#[test]
fn a_change_that_does_not_fit_names_what_is_missing() {
    let repo = TestRepo::new();
    repo.write("README.md", "x\n").commit("Start");
    repo.branch("feature");
    for at in 0..40 {
        repo.write(format!("src/part_{at}.rs"), "fn part() -> u32 { 1 }\n".repeat(60));
    }
    repo.write("src/auth/token.rs", "fn token() -> u32 { 2 }\n".repeat(60)).commit("Add parts");
    let room = 6_000;
    let opening = opened(&repo, room).expect("an opening");
    assert!(estimate_tokens(&opening.system) + estimate_tokens(&opening.message) <= room);
    assert_eq!(opening.shown.len() + opening.left_out.len(), 41);
    let shown: Vec<String> = opening.shown.iter().map(|shown| shown.path.to_string()).collect();
    assert!(shown.contains(&"src/auth/token.rs".to_owned()), "{shown:?}");
    for left in &opening.left_out {
        assert!(opening.message.contains(&format!("[not below] {}\n", left.path)), "{}", left.path);
    }
    assert_eq!(opened(&repo, room).expect("an opening"), opening);
}
