//! `review --resume`: runs that were broken off go on where they were, and say so where they cannot.

use serde_json::{Value, json};

use crate::support::github::{Fake, On, Trouble};
use crate::support::model::Wire;
use crate::support::session::{Talk, shop, until_late};
use crate::support::sitting::{bare, folder, hanging_at, killed, refused, resumed, session, steps};
use crate::support::{Ran, TestRepo};

const DISCOUNT: &str = "A discount is ten times too large";

fn talk(repo: &TestRepo, name: &str, steps: &[Value]) -> Talk {
    Talk::scripted(repo, session(name, steps), Wire::Messages)
}

/// A step that says that all is done, after so many answers.
fn end(turn: u32) -> Value {
    let input = json!({ "summary": "One defect.", "no_findings_reason": "All was read." });
    json!({ "when": { "turn": turn }, "say": { "calls": [{ "name": "finish_review", "input": input }] } })
}

/// A step that reports the discount.
fn report(turn: u32) -> Value {
    let mut step = steps("found_then_hang").remove(0);
    step["when"]["turn"] = turn.into();
    step
}

fn list(talk: &Talk) -> String {
    talk.program.words("list").ended(0).text().to_owned()
}

#[test]
fn a_run_that_is_killed_in_any_turn_goes_on_and_asks_for_one_more_turn_at_most() {
    let repo = shop();
    let whole = Talk::named(&repo, "six_turns", "six_turns_unkilled", Wire::Messages).ends("", 0, "finished");
    for at in 0..6 {
        let talk = talk(&repo, &format!("killed_{at}"), &hanging_at(steps("six_turns"), at));
        assert_eq!(killed(&talk, "", at + 1).code, -1, "a signal ended it");
        assert!(list(&talk).contains("goes on with: review --resume "), "{}", list(&talk));
        let told = resumed(&talk, "", 0);
        assert_eq!(bare(&told), bare(&whole), "killed in turn {}: {}", at + 1, told.all());
        assert_eq!(talk.server.raw().len(), 7, "six turns, and the one that was in flight");
        assert!(list(&talk).contains("complete"), "{}", list(&talk));
        assert!(told.stderr.contains(&format!("{at} answer")), "{}", told.stderr);
        talk.server.finish();
    }
}

#[test]
fn a_run_may_be_killed_again_and_again() {
    let repo = shop();
    let mut all = steps("six_turns");
    for at in (0..6).rev() {
        all = hanging_at(all, at);
    }
    let talk = talk(&repo, "killed_often", &all);
    killed(&talk, "", 1);
    for requests in 1..6 {
        let mut child = talk.program.command(["--resume", "last"]).spawn().expect("the program starts");
        talk.server.wait_for(2 * requests + 1);
        child.kill().expect("it is killed");
        Ran::wait(child);
    }
    let told = resumed(&talk, "", 0);
    let whole = Talk::named(&repo, "six_turns", "six_turns_unkilled_too", Wire::Messages).ends("", 0, "finished");
    assert_eq!(bare(&told), bare(&whole), "{}", told.all());
    assert_eq!(talk.server.raw().len(), 12);
    talk.server.finish();
}

#[test]
fn a_run_in_a_database_goes_on_from_its_last_turn() {
    let repo = shop();
    let whole = Talk::named(&repo, "six_turns", "six_turns_unkilled_database", Wire::Messages).ends("", 0, "finished");
    let talk = talk(&repo, "killed_database", &hanging_at(steps("six_turns"), 3));
    let database = talk.program.home("runs.db");
    let talk = talk.with("REVIEW_STORE", database.to_str().expect("a path"));
    assert_eq!(killed(&talk, "", 4).code, -1, "a signal ended it");
    assert!(database.is_file() && talk.program.kept().is_empty(), "nothing of the run is in a folder");
    // The lock of the dead process ends by itself, a while after.
    let told = resumed(&talk, "", 0);
    assert_eq!(bare(&told), bare(&whole), "{}", told.all());
    assert_eq!(talk.server.raw().len(), 7, "six turns, and the one that was in flight");
    assert!(told.stderr.contains("3 answers"), "{}", told.stderr);
    assert!(list(&talk).contains("complete"), "{}", list(&talk));
    assert_eq!(talk.program.words("show last --format json").ended(0).json()["id"], told.review["id"]);
    talk.program.words("replay last").ended(0);
    talk.server.finish();
}

#[test]
fn half_a_line_at_the_end_of_a_journal_is_no_damage_and_a_line_in_the_middle_is() {
    let repo = shop();
    let talk = talk(&repo, "torn", &hanging_at(steps("six_turns"), 2));
    killed(&talk, "", 3);
    let journal = folder(&talk).join("journal.jsonl");
    let text = std::fs::read_to_string(&journal).expect("a journal");
    let damaged = text.replacen("\"answer\"", "\"anwser\"", 1);
    std::fs::write(&journal, damaged).expect("a damaged journal");
    let said = refused(&talk, "");
    assert!(
        said.contains("line ") && said.contains("of the journal") && said.contains("review the change anew"),
        "{said}"
    );
    std::fs::write(&journal, format!("{text}{{\"v\":3,\"at\":\"2026")).expect("half a line");
    let told = resumed(&talk, "", 0);
    assert_eq!(told.titles().len(), 2, "{}", told.all());
    let text = std::fs::read_to_string(&journal).expect("a journal");
    assert!(text.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()), "{text}");
    talk.server.finish();
}

#[test]
fn a_run_that_was_killed_before_anything_was_written_begins_anew() {
    let repo = shop();
    let talk = talk(&repo, "nothing_yet", &hanging_at(steps("well"), 0));
    killed(&talk, "", 1);
    std::fs::write(folder(&talk).join("journal.jsonl"), "").expect("an empty journal");
    assert_eq!(resumed(&talk, "", 0).review["outcome"], "complete");
    talk.server.finish();
}

#[test]
fn a_lost_network_is_no_end() {
    let repo = shop();
    let mut all = steps("found_then_busy");
    all.push(end(1));
    let talk = talk(&repo, "network", &all);
    let lost = talk.run("");
    assert_eq!((lost.code, lost.ended()), (3, "provider_fault"), "{}", lost.all());
    let id = lost.review["id"].as_str().expect("an id");
    assert!(lost.stderr.contains(&format!("review --resume {id}")), "{}", lost.stderr);
    let told = resumed(&talk, "", 0);
    assert_eq!((told.review["id"].as_str(), told.titles()), (Some(id), vec![DISCOUNT]), "{}", told.all());
    assert_eq!(told.review["provenance"]["turns"], 2);
    assert!(!told.stderr.contains("--resume"), "{}", told.stderr);
    talk.server.finish();
}

#[test]
fn a_spent_budget_needs_more() {
    let repo = shop();
    let mut all = steps("two_turns_at_most");
    all.push(end(2));
    let talk = talk(&repo, "budget", &all);
    let short = talk.run("--max-turns 2");
    assert_eq!((short.code, short.ended()), (3, "turn_limit"), "{}", short.all());
    assert!(short.stderr.contains("--max-turns N"), "{}", short.stderr);
    for more in ["", "--max-turns 2"] {
        let said = refused(&talk, more);
        assert!(said.contains("its turns were spent") && said.contains("--max-turns 4"), "{said}");
    }
    let told = resumed(&talk, "--max-turns 5", 0);
    assert_eq!((told.ended(), told.titles()), ("finished", vec![DISCOUNT]), "{}", told.all());
    assert_eq!(told.review["provenance"]["turns"], 3, "what was spent counts: {}", told.all());
    talk.server.finish();
}

#[test]
fn time_that_is_over_is_told() {
    let repo = shop();
    let mut all = steps("found_then_hang");
    all.push(end(1));
    let (talk, late) = until_late(&["3s", "30s"], 2, || talk(&repo, "time", &all), "");
    assert_eq!(late.ended(), "deadline", "{}", late.all());
    let said = refused(&talk, "");
    assert!(said.contains("--timeout"), "{said}");
    let told = resumed(&talk, "--timeout 5m", 0);
    assert_eq!(told.titles(), [DISCOUNT], "{}", told.all());
    assert!(told.review["provenance"]["took_ms"].as_u64().is_some_and(|took| took >= 2_000), "{}", told.all());
    talk.server.finish();
}

#[cfg(unix)]
#[test]
fn an_interrupt_is_no_end() {
    use rustix::process::{Pid, Signal, kill_process};
    let repo = shop();
    let mut all = steps("found_then_hang");
    all.push(end(1));
    let talk = talk(&repo, "interrupted", &all);
    let child = talk.program.command(talk.words("").split_whitespace()).spawn().expect("the program starts");
    talk.server.wait_for(2);
    kill_process(Pid::from_child(&child), Signal::INT).expect("it is sent");
    let ran = Ran::wait(child).ended(130);
    assert!(ran.stderr.contains("review --resume "), "{}", ran.stderr);
    assert_eq!(resumed(&talk, "", 0).titles(), [DISCOUNT]);
    talk.server.finish();
}

#[test]
fn a_head_that_moved_is_refused_with_the_choice() {
    let repo = shop();
    let talk = talk(&repo, "moved", &hanging_at(steps("six_turns"), 1));
    killed(&talk, "", 2);
    let head = repo.git(["rev-parse", "HEAD"]).trim().to_owned();
    repo.write("src/new.py", "fresh = True\n").commit("One more");
    let said = refused(&talk, "");
    let now = repo.git(["rev-parse", "HEAD"]);
    assert!(said.contains(&format!("the head (feature) is {} now and was {}", &now[..10], &head[..10])), "{said}");
    assert!(said.contains("--resume-as-recorded") && said.contains("anew"), "{said}");
    let told = resumed(&talk, "--resume-as-recorded", 0);
    assert_eq!((&told.review["change"]["head"], told.titles().len()), (&json!(head), 2), "{}", told.all());
    let notes = told.review["coverage"]["notes"].to_string();
    assert!(notes.contains("was resumed") && notes.contains("the head (feature)"), "{notes}");
    talk.server.finish();
}

#[test]
fn a_target_that_moved_is_a_change_and_a_commit_that_is_gone_is_the_end() {
    let repo = shop();
    let talk = talk(&repo, "target", &hanging_at(steps("six_turns"), 1));
    killed(&talk, "", 2);
    repo.git(["checkout", "-q", "main"]);
    repo.write("more.md", "More.\n").commit("Go on elsewhere");
    repo.git(["checkout", "-q", "feature"]);
    assert!(refused(&talk, "").contains("the target (main) is "));
    repo.git(["branch", "-f", "main", "HEAD~1"]);
    repo.git(["reset", "-q", "--hard", "main"]);
    repo.git(["reflog", "expire", "--expire=now", "--all"]);
    repo.git(["gc", "-q", "--prune=now"]);
    for more in ["", "--resume-as-recorded"] {
        let said = refused(&talk, more);
        assert!(said.contains("is no more in") && said.contains("git fetch"), "{said}");
    }
    let _ = talk.server.verdict();
}

#[test]
fn prompts_instructions_and_settings_that_changed_are_refused_with_the_choice() {
    let repo = shop();
    let folder = repo.beside("mine");
    let prompts = folder.join("prompts");
    std::fs::create_dir_all(&prompts).expect("a folder");
    let nudge = "Go on, and call finish_review at the end.\n";
    std::fs::write(prompts.join("nudge.md"), nudge).expect("a prompt");
    std::fs::write(folder.join("how.md"), "Look at money first.\n").expect("instructions");
    let settings = format!("prompts = {:?}\ninstructions = {:?}\n", prompts, folder.join("how.md"));
    let talk = talk(&repo, "words", &hanging_at(steps("six_turns"), 1)).with_settings(&settings);
    killed(&talk, "", 2);

    std::fs::write(prompts.join("nudge.md"), "Do go on.\n").expect("a prompt");
    std::fs::write(folder.join("how.md"), "Look at names first.\n").expect("instructions");
    let file = talk.program.home("config/review/config.toml");
    std::fs::write(&file, format!("{settings}min_severity = \"high\"\n")).expect("settings");
    let said = refused(&talk, "");
    for part in
        ["the setting min_severity is high now and was none", "the prompts changed (nudge.md)", "how.md) changed"]
    {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert!(said.contains("--resume-as-recorded"), "{said}");

    let told = resumed(&talk, "--resume-as-recorded", 0);
    assert_eq!(told.titles().len(), 2, "both severities, as it was begun: {}", told.all());
    let bodies: Vec<String> =
        talk.server.raw().iter().map(|raw| String::from_utf8_lossy(&raw.body).into_owned()).collect();
    assert!(bodies.iter().all(|body| body.contains("money first") && !body.contains("names first")));
    talk.server.finish();
}

#[test]
fn another_model_of_today_is_a_change() {
    let repo = shop();
    let talk = talk(&repo, "other_model", &hanging_at(steps("well"), 0)).with("REVIEW_MODEL", "anthropic/scripted");
    let mut child = talk.program.command(["--target", "main"]).spawn().expect("the program starts");
    talk.server.wait_for(1);
    child.kill().expect("it is killed");
    Ran::wait(child);
    let talk = talk.with("REVIEW_MODEL", "anthropic/another");
    let said = refused(&talk, "");
    assert!(said.contains("the model is anthropic/another now and was anthropic/scripted"), "{said}");
    let told = resumed(&talk, "--resume-as-recorded", 0);
    assert_eq!(told.review["provenance"]["model"], "scripted");
    talk.server.finish();
}

#[test]
fn what_is_not_committed_must_be_as_it_was() {
    for scope in ["--uncommitted", "--staged"] {
        let repo = TestRepo::new();
        repo.write("a.py", "def add(a, b):\n    return a + b\n").commit("Begin");
        let edited = "def add(a, b):\n    return a - b\n";
        repo.write("a.py", edited).git(["add", "."]);
        let talk = talk(&repo, &format!("disk{scope}"), &hanging_at(steps("well"), 0));
        let words = format!("{scope} --model anthropic/scripted");
        let mut child = talk.program.command(words.split_whitespace()).spawn().expect("the program starts");
        talk.server.wait_for(1);
        child.kill().expect("it is killed");
        Ran::wait(child);
        repo.write("a.py", "def add(a, b):\n    return a * b\n").git(["add", "."]);
        for more in ["", "--resume-as-recorded"] {
            let said = refused(&talk, more);
            assert!(said.contains("a.py changed again") && said.contains("review it anew"), "{scope}: {said}");
        }
        repo.write("b.py", "more = 1\n").git(["add", "."]);
        assert!(refused(&talk, "").contains("b.py changed, too"));
        repo.write("a.py", edited).git(["rm", "-qf", "b.py"]);
        repo.git(["add", "."]);
        assert_eq!(resumed(&talk, "", 0).review["outcome"], "complete");
        talk.server.finish();
    }
}

#[test]
fn a_patch_is_fed_again() {
    let repo = shop();
    let patch = repo.git_bytes(["diff", "main", "feature"]);
    let talk = talk(&repo, "patch", &hanging_at(steps("well"), 0));
    let file = repo.beside("change.diff");
    std::fs::write(&file, &patch).expect("a patch");
    let input = || std::process::Stdio::from(std::fs::File::open(&file).expect("a patch"));
    let mut command = talk.program.command(["--diff", "-", "--model", "anthropic/scripted"]);
    let mut child = command.stdin(input()).spawn().expect("the program starts");
    talk.server.wait_for(1);
    child.kill().expect("it is killed");
    Ran::wait(child);
    let said = refused(&talk, "");
    assert!(said.contains("not the patch") && said.contains("< FILE"), "{said}");
    let ran = talk.program.fed("--resume last --format json", &patch).ended(0);
    assert_eq!(ran.json()["outcome"], "complete");
    talk.server.finish();
}

#[test]
fn a_run_with_nothing_to_go_on_with_says_so() {
    let repo = shop();
    let talk = Talk::named(&repo, "well", "well_done", Wire::Messages);
    assert!(refused(&talk, "").contains("no runs are kept yet"));
    assert_eq!(talk.run("").code, 0);
    let said = refused(&talk, "");
    assert!(said.contains("is complete") && said.contains("review show"), "{said}");
    talk.program.words("--target main --no-model").ended(0);
    let said = refused(&talk, "");
    assert!(said.contains("built-in rules") && said.contains("review the change again"), "{said}");
    for entry in talk.program.kept() {
        let _ = std::fs::remove_file(entry.join("begun.json"));
    }
    assert!(refused(&talk, "").contains("made by an older version"));
    talk.server.finish();
}

#[test]
fn what_the_model_ended_stays_ended() {
    let repo = shop();
    let talk = Talk::named(&repo, "refusal", "refusal_again", Wire::Messages);
    assert_ne!(talk.run("").code, 0);
    let said = refused(&talk, "");
    assert!(said.contains("come to the same") && said.contains("anew"), "{said}");
    talk.server.finish();
}

#[test]
fn beside_a_run_only_budgets_outputs_and_posting_may_be_named() {
    let repo = shop();
    let talk = Talk::named(&repo, "well", "well_usage", Wire::Messages);
    for more in [
        "--target main",
        "--head x",
        "--commit x",
        "--range a..b",
        "--staged",
        "--uncommitted",
        "--diff -",
        "--pr 1",
        "--model a/b",
        "--no-model",
        "--exclude x",
        "--include x",
        "--settings worktree",
        "--verify all",
        "--verify-model a/b",
        "--instructions x",
        "--min-severity low",
        "--min-confidence 3",
    ] {
        let ran = talk.program.words(&format!("--resume last {more}")).ended(2);
        assert!(ran.stderr.contains("cannot be used with"), "{more}: {}", ran.stderr);
    }
    talk.program.words("--resume-as-recorded").ended(2);
    assert_eq!(talk.run("").code, 0);
    let said = talk.program.words("--resume last --post").ended(2).stderr;
    assert!(said.contains("--post"), "{said}");
    talk.server.finish();
}

#[test]
fn nobody_goes_on_with_a_run_that_goes_on() {
    let repo = shop();
    let talk = talk(&repo, "busy", &hanging_at(steps("well"), 0));
    let words = talk.words("");
    let mut child = talk.program.command(words.split_whitespace()).spawn().expect("the program starts");
    talk.server.wait_for(1);
    assert!(list(&talk).contains("running"), "{}", list(&talk));
    // 3 and not 2: a later attempt may succeed.
    let said = talk.program.words("--resume last").ended(3).stderr;
    assert!(said.contains("going on in another process"), "{said}");
    child.kill().expect("it is killed");
    Ran::wait(child);
    assert_eq!(resumed(&talk, "", 0).review["outcome"], "complete");
    talk.server.finish();
}

#[test]
fn a_run_goes_on_from_any_folder_and_in_another_place() {
    let repo = shop();
    let talk = talk(&repo, "elsewhere", &hanging_at(steps("six_turns"), 3));
    killed(&talk, "", 4);
    let other = repo.beside("other");
    std::fs::rename(repo.root(), &other).expect("it is moved");
    let home = talk.program.home("");
    let again = |words: &[&str]| Ran::wait(talk.program.command(words).current_dir(&home).spawn().expect("it starts"));
    let said = again(&["--resume", "last"]).ended(2).stderr;
    assert!(said.contains("-C DIR"), "{said}");
    let place = other.display().to_string();
    let ran = again(&["--resume", "last", "-C", &place, "--format", "json"]).ended(0);
    assert_eq!(ran.json()["findings"].as_array().map(Vec::len), Some(2));
    std::fs::rename(&other, repo.root()).expect("it is moved back");
    talk.server.finish();
}

#[test]
fn outputs_and_gates_are_those_of_the_sitting() {
    let repo = shop();
    let talk = talk(&repo, "outputs", &hanging_at(steps("six_turns"), 5));
    killed(&talk, "", 6);
    let file = repo.beside("review.md");
    let words = format!("--resume last --format json --fail-on high --output markdown={} -q", file.display());
    let ran = talk.program.words(&words).ended(1);
    assert_eq!(ran.stderr, "");
    let kept = std::fs::read(folder(&talk).join("review.json")).expect("it is kept");
    assert_eq!(ran.stdout, kept);
    assert!(std::fs::read_to_string(&file).expect("it is written").contains(DISCOUNT));
    talk.server.finish();
}

/// A pull request of the shop, and who reviews it.
fn pulled(fake: &Fake, name: &str, steps: &[Value]) -> (TestRepo, crate::support::github::Pull, Talk) {
    let work = shop();
    let pull = fake.pull("octo", "shop", 7).title("Take the guard out").open(&work, "main", "feature");
    let mut talk = talk(&work, name, steps);
    for (variable, value) in fake.env() {
        talk = talk.with(variable, &value);
    }
    let cache = talk.program.home("cache").display().to_string();
    (work, pull, talk.with("XDG_CACHE_HOME", &cache))
}

fn kill_the_review_of_the_pull(talk: &Talk, requests: usize) {
    let words = "--pr octo/shop#7 --model anthropic/scripted";
    let mut child = talk.program.command(words.split_whitespace()).spawn().expect("the program starts");
    talk.server.wait_for(requests);
    child.kill().expect("it is killed");
    Ran::wait(child);
}

#[test]
fn the_review_of_a_pull_request_goes_on_from_its_mirror_and_is_posted() {
    let fake = Fake::unrecorded();
    let (_work, pull, talk) =
        pulled(&fake, "pull", &[report(0), json!({ "when": { "turn": 1 }, "say": { "fault": "hang" } }), end(1)]);
    kill_the_review_of_the_pull(&talk, 2);
    let told = resumed(&talk, "--post", 0);
    assert_eq!(told.titles(), [DISCOUNT], "{}", told.all());
    assert_eq!(told.review["change"]["pull_request"]["number"], 7);
    assert_eq!(pull.reviews().len(), 1, "{}", told.stderr);
    talk.server.finish();
}

#[test]
fn a_pull_request_that_moved_on_is_refused_and_a_forge_that_is_silent_is_not() {
    let fake = Fake::unrecorded();
    let silent = json!({ "when": { "turn": 1 }, "say": { "fault": "hang" } });
    let (work, pull, talk) = pulled(&fake, "pull_moved", &[report(0), silent, end(1)]);
    kill_the_review_of_the_pull(&talk, 2);
    work.write("src/new.py", "fresh = True\n").commit("One more");
    pull.push(&work, "feature");
    let said = refused(&talk, "");
    assert!(said.contains("the head of octo/shop#7 is ") && said.contains("--resume-as-recorded"), "{said}");
    fake.fail_always(On::graphql("pullRequest"), Trouble::status(403));
    let fetched = fake.git_asked().len();
    let told = resumed(&talk, "", 0);
    assert_eq!(fake.git_asked().len(), fetched, "nothing is fetched again");
    assert!(told.stderr.contains("nobody knows whether octo/shop#7 moved on"), "{}", told.stderr);
    assert_eq!(told.titles(), [DISCOUNT], "{}", told.all());
    talk.server.finish();
}
