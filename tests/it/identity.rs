//! Findings keep their names from review to review, whatever git does to the history between them; on real repositories.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::support::{Program, TestRepo};

/// A module of which one function has a mutable default.
const CART: &str = "\"\"\"Carts.\"\"\"\n\n\ndef total(prices):\n    return sum(prices)\n\n\ndef add(item, items=[]):\n    items.append(item)\n    return items\n\n\ndef last(items):\n    return items[-1]\n";
const FIXED: &str = "\"\"\"Carts.\"\"\"\n\n\ndef total(prices):\n    return sum(prices)\n\n\ndef add(item, items=None):\n    items = list(items or ())\n    items.append(item)\n    return items\n\n\ndef last(items):\n    return items[-1]\n";

/// A branch `feature` on `main`, with nothing on it yet.
fn begun() -> (TestRepo, Program) {
    let repo = TestRepo::new();
    repo.write("README", "read me\n").write("lib/kept.py", "def kept():\n    return 1\n").commit("begin");
    repo.branch("feature");
    let program = Program::in_folder(repo.root());
    (repo, program)
}

fn review(program: &Program) -> Value {
    reviewed(program, "--target main")
}

#[track_caller]
fn reviewed(program: &Program, words: &str) -> Value {
    let (code, review) = program.review(words);
    assert_eq!(code, 0, "{review:#}");
    review
}

/// The findings by their names: how they stand, and where.
fn findings(review: &Value) -> BTreeMap<String, (String, String)> {
    let all = review["findings"].as_array().expect("findings");
    let one = |finding: &Value| {
        let anchor = &finding["anchors"][0];
        let place = format!("{}:{}", anchor["path"].as_str().expect("a path"), anchor["start_line"]);
        let text = |key: &str| finding[key].as_str().expect("a text").to_owned();
        (text("id"), (text("status"), place))
    };
    let named: BTreeMap<_, _> = all.iter().map(one).collect();
    assert_eq!(named.len(), all.len(), "a name stands for two: {review:#}");
    named
}

/// The only finding: its name, how it stands, and where.
#[track_caller]
fn only(review: &Value) -> (String, String, String) {
    let mut all = findings(review).into_iter();
    match (all.next(), all.next()) {
        (Some((id, (status, place))), None) => (id, status, place),
        other => panic!("{other:?}: {:#}", review["findings"]),
    }
}

fn notes(review: &Value) -> String {
    review["coverage"]["notes"].to_string()
}

#[track_caller]
fn still_open(program: &Program, id: &str, place: &str) {
    let again = review(program);
    let (open, fixed): (Vec<_>, Vec<_>) = findings(&again).into_iter().partition(|(_, (status, _))| status != "fixed");
    let expected = (id.to_owned(), ("open".to_owned(), place.to_owned()));
    assert_eq!((open, fixed), (vec![expected], Vec::new()), "{:#}\n{}", again["findings"], notes(&again));
}

#[test]
fn the_second_review_of_an_unchanged_branch_finds_the_same_again() {
    let (repo, program) = begun();
    repo.write("cart.py", CART).commit("add a cart");
    let first = review(&program);
    let (id, status, place) = only(&first);
    assert_eq!((status.as_str(), place.as_str()), ("new", "cart.py:8"));
    assert!(first["coverage"]["previous"].is_null());
    let second = review(&program);
    assert_eq!(only(&second), (id.clone(), "open".to_owned(), place.clone()));
    assert_eq!(second["coverage"]["previous"]["run"], first["id"]);
    assert_eq!(second["summary"]["text"], first["summary"]["text"], "what is the same is told in the same words");
    assert!(notes(&second).contains(first["id"].as_str().expect("an id")), "{}", notes(&second));
    let alone = reviewed(&program, "--target main --previous none");
    assert_eq!(only(&alone), (id, "new".to_owned(), place));
}

#[test]
fn a_finding_keeps_the_name_of_its_first_review_over_many() {
    let (repo, program) = begun();
    repo.write("cart.py", CART).commit("add a cart");
    let (id, _, _) = only(&review(&program));
    for n in 1..4usize {
        let above = format!("# {n}\n").repeat(n);
        repo.write("cart.py", format!("{above}{CART}")).commit("more above");
        still_open(&program, &id, &format!("cart.py:{}", 8 + n));
    }
}

#[test]
fn a_fixed_finding_is_told_remembered_and_known_again() {
    let (repo, program) = begun();
    repo.write("cart.py", CART).commit("add a cart");
    let (id, _, _) = only(&review(&program));
    repo.write("cart.py", FIXED).commit("fix it");
    let fixed = review(&program);
    assert_eq!(only(&fixed).0, id);
    assert_eq!(only(&fixed).1, "fixed");
    let summary = &fixed["summary"];
    assert_eq!((&summary["total"], &summary["resolved"], &summary["unresolved"]), (&1.into(), &1.into(), &0.into()));
    assert!(summary["text"].as_str().expect("one").contains("1 fixed"), "{summary}");
    assert_eq!(program.words("--target main --fail-on nit").ended(0).code, 0, "what is fixed fails no gate");
    // Two reviews later it is back.
    repo.write("more.py", "x = 1\n").commit("something else");
    assert_eq!(only(&review(&program)).1, "fixed");
    repo.git(["revert", "--no-edit", "HEAD~1"]);
    let back = review(&program);
    assert_eq!((only(&back).0, only(&back).1), (id.clone(), "reopened".to_owned()));
    assert_eq!(program.words("--target main --fail-on medium").code, 1);
    still_open(&program, &id, "cart.py:8");
}

#[test]
fn a_rebase_onto_a_moved_target_keeps_the_name() {
    let (repo, program) = begun();
    repo.write("cart.py", CART).commit("add a cart");
    let (id, _, _) = only(&review(&program));
    repo.git(["checkout", "-q", "main"]);
    repo.write("other.py", "y = 2\n").commit("main moves");
    still_open_on(&repo, &program, &id, &["checkout", "-q", "feature"]);
    repo.git(["rebase", "-q", "main"]);
    still_open(&program, &id, "cart.py:8");
}

/// The target moved, and the branch did not.
#[track_caller]
fn still_open_on(repo: &TestRepo, program: &Program, id: &str, words: &[&str]) {
    repo.git(words.iter().copied());
    still_open(program, id, "cart.py:8");
}

#[test]
fn a_rebase_over_a_changed_file_keeps_the_name() {
    let (repo, program) = begun();
    let base = "def first():\n    return 0\n\n\ndef second():\n    return 2\n";
    repo.git(["checkout", "-q", "main"]);
    repo.write("cart.py", base).commit("a file of main");
    repo.git(["checkout", "-q", "feature"]);
    repo.git(["rebase", "-q", "main"]);
    let mine = format!("{base}\n\ndef add(item, items=[]):\n    items.append(item)\n    return items\n");
    repo.write("cart.py", mine).commit("add");
    let (id, _, place) = only(&review(&program));
    assert_eq!(place, "cart.py:9");
    repo.git(["checkout", "-q", "main"]);
    repo.write("cart.py", format!("import os\nimport sys\n\n\n{base}")).commit("imports");
    repo.git(["checkout", "-q", "feature"]);
    repo.git(["rebase", "-q", "main"]);
    still_open(&program, &id, "cart.py:13");
}

#[test]
fn a_squash_and_an_amend_keep_the_name() {
    let (repo, program) = begun();
    repo.write("cart.py", "x = 0\n").commit("one");
    repo.write("cart.py", CART).commit("two");
    repo.write("more.py", "x = 1\n").commit("three");
    let (id, _, _) = only(&review(&program));
    repo.git(["reset", "-q", "--soft", "main"]);
    repo.commit("all of it");
    still_open(&program, &id, "cart.py:8");
    repo.write("cart.py", format!("import os\n{CART}"));
    repo.git(["commit", "-q", "-a", "--amend", "-m", "all of it, again"]);
    still_open(&program, &id, "cart.py:9");
}

/// Takes from the repository what no branch holds.
fn pruned(repo: &TestRepo, gone: &str) {
    repo.git(["reflog", "expire", "--expire=now", "--expire-unreachable=now", "--all"]);
    repo.git(["gc", "-q", "--prune=now"]);
    let kept = crate::support::git_command(repo.root()).args(["cat-file", "-e", gone]).output().expect("git");
    assert!(!kept.status.success(), "{gone} is still there");
}

#[test]
fn a_force_push_whose_old_commit_is_pruned_keeps_the_names_of_equal_snippets() {
    let (repo, program) = begun();
    repo.write("a.py", CART).write("b.py", CART);
    let old = repo.commit("two carts");
    let first = findings(&review(&program));
    assert_eq!(first.len(), 2, "{first:?}");
    let of = |all: &BTreeMap<String, (String, String)>, path: &str| {
        all.iter().find(|(_, (_, place))| place.starts_with(path)).map(|(id, _)| id.clone()).expect("one")
    };
    let (a, b) = (of(&first, "a.py"), of(&first, "b.py"));
    // History is written anew on a target that moved, both files got longer, and the old commit is gone.
    repo.git(["checkout", "-q", "main"]);
    repo.write("other.py", "y = 2\n").commit("main moves");
    repo.git(["checkout", "-q", "-B", "feature", "main"]);
    repo.write("a.py", format!("# long\n# head\n{CART}")).write("b.py", format!("# head\n{CART}"));
    repo.commit("two carts, written anew");
    pruned(&repo, &old);
    let second = review(&program);
    let expected = |line: &str| ("open".to_owned(), line.to_owned());
    let wanted: BTreeMap<_, _> = [(a.clone(), expected("a.py:10")), (b.clone(), expected("b.py:9"))].into();
    assert_eq!(findings(&second), wanted);
    assert!(notes(&second).contains("is not here any more"), "{}", notes(&second));
    // The first one is fixed: the second keeps its own name.
    repo.write("a.py", FIXED).commit("fix one");
    let third = findings(&review(&program));
    assert_eq!((third[&a].0.as_str(), third[&b].0.as_str()), ("fixed", "open"), "{third:?}");
}

#[test]
fn of_two_equal_snippets_in_one_file_the_fixed_one_is_fixed() {
    let (repo, program) = begun();
    let snippet = "def add(item, items=[]):\n    items.append(item)\n    return items\n";
    let file = |first: &str, second: &str| format!("class A:\n    pass\n\n\n{first}\n\nlonger = 1\n\n\n{second}");
    repo.write("cart.py", file(snippet, snippet)).commit("twice");
    let first = findings(&review(&program));
    assert_eq!(first.len(), 2, "{first:?}");
    let at = |line: &str| first.iter().find(|(_, (_, place))| place == line).expect("one").0.clone();
    let (above, below) = (at("cart.py:5"), at("cart.py:13"));
    let good = "def add(item, items=()):\n    items = [*items, item]\n    return items\n";
    repo.write("cart.py", file(good, snippet)).commit("fix the first");
    let second = findings(&review(&program));
    assert_eq!((second[&above].0.as_str(), second[&below].0.as_str()), ("fixed", "open"), "{second:?}");
    repo.write("cart.py", file(snippet, good)).commit("the other way round");
    let third = findings(&review(&program));
    assert_eq!((third[&above].0.as_str(), third[&below].0.as_str()), ("reopened", "fixed"), "{third:?}");
}

#[test]
fn a_moved_file_with_edits_keeps_the_name() {
    let (repo, program) = begun();
    repo.write("cart.py", CART).commit("add a cart");
    let (id, _, _) = only(&review(&program));
    repo.git(["mv", "cart.py", "lib/basket.py"]);
    let edited = CART.replace(
        "def total(prices):\n    return sum(prices)\n",
        "def total(prices, start=0):\n    return sum(prices, start)\n",
    );
    repo.write("lib/basket.py", edited.replace("\"\"\"Carts.\"\"\"", "\"\"\"Baskets.\"\"\"\n\nimport os"))
        .commit("move it");
    still_open(&program, &id, "lib/basket.py:10");
}

#[test]
fn a_deleted_file_takes_its_findings_with_it() {
    let (repo, program) = begun();
    repo.write("cart.py", CART).write("more.py", "x = 1\n").commit("add a cart");
    let (id, _, _) = only(&review(&program));
    repo.remove("cart.py").commit("think again");
    let gone = only(&review(&program));
    assert_eq!((gone.0, gone.1.as_str()), (id, "fixed"));
}

#[test]
fn what_the_target_took_over_is_no_concern_of_the_change_any_more() {
    let (repo, program) = begun();
    repo.write("cart.py", CART).commit("add a cart");
    only(&review(&program));
    repo.git(["checkout", "-q", "main"]);
    repo.write("cart.py", CART).commit("the same on main");
    repo.git(["checkout", "-q", "feature"]);
    repo.write("more.py", "x = 1\n").commit("more");
    repo.git(["rebase", "-q", "main"]);
    let second = review(&program);
    assert_eq!(findings(&second), BTreeMap::new());
    assert!(notes(&second).contains("does not touch its lines any more"), "{}", notes(&second));
}

#[test]
fn another_target_is_another_history_unless_one_is_named() {
    let (repo, program) = begun();
    repo.git(["branch", "release", "main"]);
    repo.write("cart.py", CART).commit("add a cart");
    let first = review(&program);
    let (id, _, place) = only(&first);
    let other = reviewed(&program, "--target release");
    assert_eq!(only(&other), (id.clone(), "new".to_owned(), place.clone()));
    let run = first["id"].as_str().expect("an id");
    let named = reviewed(&program, &format!("--target release --previous {}", &run[..8]));
    assert_eq!(only(&named), (id, "open".to_owned(), place));
    assert!(notes(&named).contains("compared with main, this one with release"), "{}", notes(&named));
}

#[test]
fn a_detached_head_is_compared_only_with_what_is_related() {
    let (repo, program) = begun();
    repo.write("cart.py", CART).commit("add a cart");
    repo.git(["checkout", "-q", "--detach"]);
    let (id, _, _) = only(&review(&program));
    repo.write("more.py", "x = 1\n").commit("more");
    still_open(&program, &id, "cart.py:8");
    repo.git(["checkout", "-q", "--detach", "main"]);
    repo.write("wholly.py", "def other(a, b={}):\n    return b\n").commit("other work");
    assert_eq!(only(&review(&program)).1, "new");
}

#[test]
fn a_commit_has_no_earlier_review_and_the_disk_only_of_the_same_commit() {
    let (repo, program) = begun();
    repo.write("cart.py", CART).commit("add a cart");
    for _ in 0..2 {
        assert_eq!(only(&reviewed(&program, "--commit HEAD")).1, "new");
    }
    repo.write("disk.py", CART);
    let (id, status, _) = only(&reviewed(&program, "--uncommitted"));
    assert_eq!(status, "new");
    repo.write("disk.py", format!("import os\n{CART}"));
    assert_eq!(only(&reviewed(&program, "--uncommitted")), (id, "open".to_owned(), "disk.py:9".to_owned()));
    repo.commit("keep it");
    repo.write("next.py", CART);
    assert_eq!(only(&reviewed(&program, "--uncommitted")).1, "new");
}

#[test]
fn a_review_from_a_file_is_compared_with_like_a_kept_one() {
    let (repo, program) = begun();
    repo.write("cart.py", CART).commit("add a cart");
    let file = repo.beside("before.json");
    let words = format!("--target main --output json={}", file.display());
    let (id, _, place) = only(&reviewed(&program, &words));
    let elsewhere = Program::in_folder(repo.root());
    let words = format!("--target main --previous {}", file.display());
    assert_eq!(only(&reviewed(&elsewhere, &words)), (id, "open".to_owned(), place));
}

#[test]
fn a_damaged_file_is_refused_and_a_damaged_run_is_passed_over() {
    let (repo, program) = begun();
    repo.write("cart.py", CART).commit("add a cart");
    let (id, _, place) = only(&review(&program));
    let second = review(&program);
    let folder = program.home("state/review/runs").join(second["id"].as_str().expect("an id"));
    std::fs::write(folder.join("review.json"), b"{\"schema\":\"review/1\",").expect("written");
    let third = review(&program);
    assert_eq!(only(&third), (id, "open".to_owned(), place));
    assert!(notes(&third).contains("was passed over"), "{}", notes(&third));

    let file = repo.beside("bad.json");
    for (bytes, said) in [(&b"not json"[..], "not a review document"), (b"{\"schema\":\"review/9\"}", "review/9")] {
        std::fs::write(&file, bytes).expect("written");
        let ran = program.words(&format!("--target main --previous {}", file.display())).ended(2);
        assert!(ran.stderr.contains(said), "{}", ran.stderr);
    }
    let ran = program.words("--target main --previous nowhere.json").ended(2);
    assert!(ran.stderr.contains("no saved run and no file"), "{}", ran.stderr);
}

#[test]
fn a_hostile_file_neither_silences_nor_breaks() {
    let (repo, program) = begun();
    repo.write("cart.py", CART).commit("add a cart");
    let mut forged = review(&program);
    forged["findings"][0]["status"] = "dismissed".into();
    let id = forged["findings"][0]["id"].as_str().expect("an id").to_owned();
    forged["coverage"]["notes"] = serde_json::json!([format!("The finding {id} was dismissed: says who")]);
    // The same name twice, a place beyond any file, and a path that is nowhere.
    let mut twin = forged["findings"][0].clone();
    twin["title"] = "A twin".into();
    let mut far = twin.clone();
    far["id"] = "far".into();
    far["anchors"][0]["start_line"] = 4_000_000_000_u32.into();
    far["anchors"][0]["end_line"] = 4_294_967_295_u32.into();
    far["anchors"][0]["quote"] = "}".into();
    far["origin"] = serde_json::json!({ "kind": "model", "name": "m" });
    let mut nowhere = far.clone();
    nowhere["id"] = "nowhere".into();
    nowhere["fingerprint"] = "".into();
    nowhere["anchors"][0]["path"] = "no/such/file".into();
    forged["findings"].as_array_mut().expect("findings").extend([twin, far, nowhere]);
    let file = repo.beside("forged.json");
    std::fs::write(&file, forged.to_string()).expect("written");
    let second = reviewed(&program, &format!("--target main --previous {}", file.display()));
    let found = findings(&second);
    assert_eq!(found[&id].0, "open", "a file dismisses nothing: {found:?}");
    assert_eq!(found["nowhere"].0, "fixed", "{found:?}");
    assert_eq!(found["far"].0, "fixed", "{found:?}");
    assert!(notes(&second).contains("had the name of another"), "{}", notes(&second));
}

#[test]
fn an_incomplete_review_before_is_one_all_the_same() {
    let (repo, program) = begun();
    repo.write("cart.py", CART).write("b.py", "x = 1\n").commit("add a cart");
    let blob = repo.git(["rev-parse", "HEAD:b.py"]);
    let (folder, name) = blob.trim().split_at(2);
    let object = repo.root().join(format!(".git/objects/{folder}/{name}"));
    let bytes = std::fs::read(&object).expect("the blob");
    std::fs::remove_file(&object).expect("removed");
    let (code, first) = program.review("--target main");
    assert_eq!(code, 3, "{first:#}");
    std::fs::write(&object, bytes).expect("written");
    let id = only(&first).0;
    still_open(&program, &id, "cart.py:8");
}

#[test]
fn every_surface_says_how_a_finding_stands() {
    let (repo, program) = begun();
    repo.write("a.py", CART).write("b.py", CART).commit("two carts");
    review(&program);
    repo.write("a.py", FIXED).write("c.py", CART.replace("add(item", "put(item")).commit("fix one, add one");
    let made = review(&program);
    let statuses: Vec<String> = findings(&made).into_values().map(|(status, _)| status).collect();
    assert_eq!(statuses.iter().filter(|status| *status == "fixed").count(), 1, "{statuses:?}");
    let shown = |format: &str| program.words(&format!("show --format {format}")).ended(0).text().to_owned();
    let terminal = shown("terminal");
    assert!(terminal.contains("still open") && terminal.contains("fixed:"), "{terminal}");
    let markdown = shown("markdown");
    assert!(markdown.contains("open") && markdown.contains("fixed:"), "{markdown}");
    let sarif: Value = serde_json::from_str(&shown("sarif")).expect("JSON");
    let states: Vec<&str> = sarif["runs"][0]["results"]
        .as_array()
        .expect("results")
        .iter()
        .filter_map(|result| result["baselineState"].as_str())
        .collect();
    assert_eq!(states.iter().filter(|state| **state == "unchanged").count(), 1, "{states:?}");
    assert_eq!(states.iter().filter(|state| **state == "new").count(), 1, "{states:?}");
    assert_eq!(made["summary"]["bySeverity"]["medium"], 2, "{:#}", made["summary"]);
}
