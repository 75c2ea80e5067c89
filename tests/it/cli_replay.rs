//! `review replay`: runs are told again, offline and without a repository, to the same bytes.

use std::path::Path;

use serde_json::Value;

use crate::support::looks::{DISCOUNT, STOCK, reporting, verdict};
use crate::support::model::{Session, Wire};
use crate::support::session::{Talk, file, shop, until_late};
use crate::support::sitting::{folder, hanging_at, killed, resumed, session, steps};
use crate::support::{Ran, TestRepo};

/// A change with three leads of the rules.
fn leads() -> TestRepo {
    let repo = TestRepo::new();
    repo.write("README.md", "Leads.\n").commit("Begin");
    repo.branch("feature").write(
        "src/leads.py",
        "def add(item, items=[]):\n    items.append(item)\n    return items\n\n\n\
         def check(done):\n    assert (done, 'it is not done')\n\n\n\
         def put(key, known={}):\n    known[key] = True\n    return known\n",
    );
    repo.commit("Add three functions");
    repo
}

/// A change whose diff is longer than the first message shows.
fn long() -> TestRepo {
    let repo = TestRepo::new();
    repo.write("README.md", "Long.\n").commit("Begin");
    let lines: Vec<_> = (0..300).map(|n| format!("value_{n} = {n} * {n}  # a line that has no meaning\n")).collect();
    repo.branch("feature").write("src/a.py", "answer = 42\n").write("src/long.py", lines.concat());
    repo.commit("Add many lines");
    repo
}

/// Stands for words with a time limit, which the session meets.
const TO_THE_LIMIT: &str = "--timeout";

/// What a session is about, and with which words it is run.
fn about(name: &str) -> (TestRepo, &'static str) {
    match name {
        "leads" | "leads_of_one_cause" => (leads(), ""),
        "unseen_then_read" | "unseen_for_good" | "long_line_then_read" | "long_line_for_good" => (long(), ""),
        "two_turns_at_most" => (shop(), "--max-turns 2"),
        "tokens_run_out" => (shop(), "--max-tokens 100000"),
        "hang" | "found_then_hang" | "found_then_stall" | "three_turns" => (shop(), TO_THE_LIMIT),
        _ => (shop(), ""),
    }
}

/// Tells the newest run again, far from any repository and with no key.
fn replayed(talk: &Talk, more: &str) -> Ran {
    let words = format!("replay last {more}");
    let mut command = talk.program.command(words.split_whitespace());
    command.current_dir(talk.program.home(""));
    for (name, _) in talk.server.environment(Wire::Messages).into_iter().chain(talk.server.environment(Wire::Chat)) {
        command.env_remove(name);
    }
    Ran::wait(command.spawn().expect("the program starts"))
}

fn kept(talk: &Talk) -> Vec<u8> {
    std::fs::read(folder(talk).join("review.json")).expect("it is kept")
}

#[track_caller]
fn is_the_same(talk: &Talk, name: &str) {
    let ran = replayed(talk, "--format json");
    assert_eq!(ran.code, 0, "{name}: {}", ran.stderr);
    assert_eq!(ran.stdout, kept(talk), "{name}");
    assert!(ran.stderr.contains("the same review, byte for byte"), "{name}: {}", ran.stderr);
}

fn sessions() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/sessions");
    let files = std::fs::read_dir(folder).expect("sessions").map(|entry| entry.expect("a file").path());
    let mut names: Vec<String> = files
        .filter(|path| path.extension().is_some_and(|end| end == "jsonl"))
        .map(|path| path.file_stem().expect("a name").to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

#[test]
fn sessions_are_told_again_to_the_same_bytes_without_their_repository() {
    tell_again(4);
}

#[test]
#[ignore = "takes long; .ci/run runs it"]
fn exhaustive_every_session_is_told_again_to_the_same_bytes_without_its_repository() {
    tell_again(1);
}

/// Runs every `step`-th of the sessions and replays it without its repository.
fn tell_again(step: usize) {
    let names = sessions();
    assert!(names.len() > 40, "{names:?}");
    let names: Vec<_> = names.into_iter().step_by(step).collect();
    let next = std::sync::atomic::AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while let Some(name) = names.get(next.fetch_add(1, std::sync::atomic::Ordering::SeqCst)) {
                    let (repo, words) = about(name);
                    let scripted = Session { name: format!("{name}_replayed"), ..Session::load(&file(name)) };
                    let wire = if name == "no_stream_usage" { Wire::Chat } else { Wire::Messages };
                    let talk = || Talk::scripted(&repo, scripted.clone(), wire);
                    let talk = if words == TO_THE_LIMIT {
                        until_late(&["3s", "30s"], 1, talk, "").0
                    } else {
                        let talk = talk();
                        talk.run(words);
                        talk
                    };
                    let requests = talk.server.raw().len();
                    let _ = talk.server.verdict();
                    std::fs::remove_dir_all(repo.root()).expect("the repository is gone");
                    is_the_same(&talk, name);
                    assert_eq!(talk.server.raw().len(), requests, "{name}: nobody is asked");
                }
            });
        }
    });
}

#[test]
fn second_looks_and_several_sittings_are_told_again() {
    let repo = shop();
    let looks =
        [verdict(DISCOUNT, 0, "confirmed", 9, "It is so."), verdict(STOCK, 0, "refuted", 2, "src/stock.py:3 is not.")];
    let steps_of: Vec<Value> = reporting(&[DISCOUNT, STOCK]).into_iter().chain(looks).collect();
    let talk = Talk::scripted(&repo, session("looks_replayed", &steps_of), Wire::Messages);
    let told = talk.run("--verify all");
    assert_eq!(told.titles(), [DISCOUNT], "{}", told.all());
    is_the_same(&talk, "second looks");
    talk.server.finish();

    let talk = Talk::scripted(&repo, session("sittings_replayed", &hanging_at(steps("six_turns"), 3)), Wire::Messages);
    killed(&talk, "", 4);
    let early = replayed(&talk, "").ended(2);
    assert!(early.stderr.contains("no runs are kept") || early.stderr.contains("--resume"), "{}", early.stderr);
    resumed(&talk, "", 0);
    std::fs::remove_dir_all(repo.root()).expect("the repository is gone");
    is_the_same(&talk, "two sittings");
    talk.server.finish();
}

#[test]
fn what_is_not_committed_and_a_patch_are_told_again() {
    let repo = TestRepo::new();
    repo.write("a.py", "def add(a, b):\n    return a + b\n").commit("Begin");
    repo.write("a.py", "def add(a, b=[]):\n    b.append(a)\n    return b\n").write("new.py", "x = 1\n");
    let talk = Talk::named(&repo, "well", "well_uncommitted", Wire::Messages);
    talk.program.words("--uncommitted --model anthropic/scripted");
    let _ = talk.server.verdict();
    repo.write("a.py", "something = 'else'\n");
    is_the_same(&talk, "uncommitted");

    let patch = repo.git_bytes(["diff"]);
    let talk = Talk::named(&repo, "well", "well_patch", Wire::Messages);
    talk.program.fed("--diff - --model anthropic/scripted", &patch);
    let _ = talk.server.verdict();
    is_the_same(&talk, "a patch");
}

#[test]
fn a_review_that_is_not_what_was_kept_is_shown_where_it_differs() {
    let repo = shop();
    let talk = Talk::named(&repo, "six_turns", "six_turns_changed", Wire::Messages);
    talk.run("");
    assert!(talk.server.verdict().is_empty());
    let terminal = replayed(&talk, "").ended(0);
    assert!(terminal.text().contains("A discount is ten times too large"), "{}", terminal.text());
    let file = folder(&talk).join("review.json");
    let text = String::from_utf8(kept(&talk)).expect("text");
    std::fs::write(&file, text.replace("ten times too large", "a little too large")).expect("another review");
    let ran = replayed(&talk, "--format json").ended(1);
    assert!(ran.text().contains("ten times too large"), "{}", ran.text());
    assert!(ran.stderr.contains("-      \"title\": \"A discount is a little too large\""), "{}", ran.stderr);
    assert!(ran.stderr.contains("+      \"title\": \"A discount is ten times too large\""), "{}", ran.stderr);
}

#[test]
fn what_cannot_be_told_says_why() {
    let repo = shop();
    let talk = Talk::named(&repo, "well", "well_untold", Wire::Messages);
    assert!(replayed(&talk, "").ended(2).stderr.contains("no runs are kept yet"));
    talk.program.words("--target main --no-model").ended(0);
    let said = replayed(&talk, "").ended(2).stderr;
    assert!(said.contains("built-in rules") && said.contains("--no-model"), "{said}");
    talk.run("");
    assert!(talk.server.verdict().is_empty());
    let model = talk.program.kept().into_iter().find(|run| run.join("journal.jsonl").exists()).expect("a run");
    let journal = std::fs::read_to_string(model.join("journal.jsonl")).expect("a journal");
    let other = journal.replacen("Nothing is wrong", "All is very wrong", 1);
    assert_ne!(other, journal);
    std::fs::write(model.join("journal.jsonl"), &other).expect("another journal");
    let ran = replayed(&talk, "--format json");
    assert_ne!(ran.code, 0, "{}", ran.stderr);
    let cut: Vec<&str> = journal.lines().filter(|line| !line.contains("\"kind\":\"answer\"")).collect();
    std::fs::write(model.join("journal.jsonl"), cut.join("\n") + "\n").expect("a journal without answers");
    let said = replayed(&talk, "").ended(2).stderr;
    assert!(said.contains("error"), "{said}");
    std::fs::remove_file(model.join("given.json")).expect("it was there");
    let said = replayed(&talk, "").ended(2).stderr;
    assert!(said.contains("keeps nothing of what it was given"), "{said}");
}

#[test]
fn other_prompts_are_shown_where_they_would_be_sent() {
    let repo = shop();
    let talk = Talk::named(&repo, "no_end_then_well", "no_end_compared", Wire::Messages);
    talk.run("");
    assert!(talk.server.verdict().is_empty());
    std::fs::remove_dir_all(repo.root()).expect("the repository is gone");
    let folder = talk.program.home("mine");
    std::fs::create_dir(&folder).expect("a folder");
    let words = format!("--prompts {}", folder.display());
    let said = replayed(&talk, &words).ended(2).stderr;
    assert!(said.contains("has no prompts"), "{said}");

    std::fs::write(folder.join("nudge.md"), "Say that you are done.\n").expect("a prompt");
    let ran = replayed(&talk, &words).ended(1);
    assert!(ran.text().contains("+Say that you are done."), "{}", ran.text());
    assert!(!ran.text().contains("turn 1:"), "the first request is the same: {}", ran.text());
    assert!(ran.stderr.contains("1 of 2 requests"), "{}", ran.stderr);

    std::fs::write(folder.join("last_turn.md"), "Last turn: {{ reason }}\n").expect("a prompt");
    std::fs::remove_file(folder.join("nudge.md")).expect("it was there");
    let ran = replayed(&talk, &words).ended(0);
    assert_eq!(ran.text(), "", "there was no last turn");
    assert!(ran.stderr.contains("would be the same"), "{}", ran.stderr);

    std::fs::write(folder.join("sytem.md"), "?\n").expect("a prompt");
    assert!(replayed(&talk, &words).ended(2).stderr.contains("sytem.md"));
    replayed(&talk, &format!("{words} --format json")).ended(2);
    assert_eq!(talk.server.raw().len(), 2, "nobody is asked");
}

#[test]
fn other_rules_are_shown_where_they_would_be_told() {
    let repo = leads();
    let talk = Talk::named(&repo, "leads", "leads_compared", Wire::Messages);
    talk.run("");
    assert!(talk.server.verdict().is_empty());
    let folder = talk.program.home("mine");
    std::fs::create_dir(&folder).expect("a folder");
    let words = format!("--rules {}", folder.display());
    assert!(replayed(&talk, &words).ended(2).stderr.contains("has no rule packs"));
    let rule = "id: no-known\ntitle: A name that says nothing\nmessage: Say what is known.\nseverity: low\ncategory: quality\n\
                rule: {pattern: 'known[$A] = $B'}\n";
    std::fs::write(folder.join("python-house.yml"), rule).expect("a pack");
    let ran = replayed(&talk, &words).ended(1);
    assert!(ran.text().contains("python-house/no-known") && ran.text().contains("part 0, turn 1"), "{}", ran.text());
    std::fs::write(folder.join("python-house.yml"), "id: [\n").expect("a pack");
    assert!(replayed(&talk, &words).ended(2).stderr.contains("python-house"));
    std::fs::write(folder.join("python-house.yml"), rule).expect("a pack");
    std::fs::remove_dir_all(repo.root()).expect("the repository is gone");
    let said = replayed(&talk, &words).ended(2).stderr;
    assert!(said.contains("other rules look at the code"), "{said}");
}

#[test]
fn the_help_teaches() {
    let repo = TestRepo::folder_only();
    let program = crate::support::Program::in_folder(repo.root());
    let help = program.words("replay --help").ended(0);
    for word in ["--prompts", "--rules", "Exit codes", "docs/replay.md"] {
        assert!(help.text().contains(word), "{word}: {}", help.text());
    }
    let help = program.words("--help").ended(0);
    for word in ["--resume <ID>", "--resume-as-recorded", "review --resume last"] {
        assert!(help.text().contains(word), "{word}: {}", help.text());
    }
}
