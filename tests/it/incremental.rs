//! Reviews of a branch after the first, by a scripted model: what stays open, what is asked again, what is passed over, what comes too late.

use serde_json::{Value, json};

use crate::support::model::{Options, Server, Session, Step, Wire};
use crate::support::{Program, TestRepo};

const STOCK: &str = "\"\"\"Stock.\"\"\"\n\n\ndef reserve(stock, name, count):\n    if stock[name] <= count:\n        raise LookupError(name)\n    stock[name] -= count\n    return stock[name]\n";
const CART: &str = "\"\"\"Carts.\"\"\"\n\n\ndef total(prices):\n    amount = 1\n    for price in prices:\n        amount += price\n    return amount\n";
const QUOTE: &str = "    amount = 1";

/// A branch with two files, of which one gets a sum wrong.
struct Branch {
    repo: TestRepo,
    program: Program,
}

fn branch() -> Branch {
    let repo = TestRepo::new();
    repo.write("README", "read me\n").commit("begin");
    repo.branch("feature").write("cart.py", CART).write("stock.py", STOCK).commit("add a shop");
    let program = Program::in_folder(repo.root());
    Branch { repo, program }
}

fn report(title: &str, path: &str, quote: &str) -> Value {
    json!({ "name": "report_finding", "input": {
        "title": title, "body": "It is wrong.", "severity": "high", "category": "logic", "file_path": path, "quote": quote
    } })
}

fn finish() -> Value {
    json!({ "name": "finish_review", "input": { "summary": "All of it was read.", "no_findings_reason": "It was read." } })
}

/// One conversation: the calls of each turn, and what the first message must hold and lack.
fn session(name: &str, turns: Vec<Vec<Value>>, holds: &[&str], lacks: &[&str]) -> Session {
    let step = |(turn, calls): (usize, Vec<Value>)| -> Step {
        let (holds, lacks) = if turn == 0 { (holds, lacks) } else { (&[][..], &[][..]) };
        let when = json!({ "turn": turn, "user_contains": holds, "user_lacks": lacks });
        serde_json::from_value(json!({ "when": when, "say": { "calls": calls } })).expect("a step")
    };
    Session { name: name.to_owned(), steps: turns.into_iter().enumerate().map(step).collect() }
}

impl Branch {
    /// A review by a model that says this, and the server that heard it.
    #[track_caller]
    fn asked(&self, session: Session, words: &str) -> (i32, Value) {
        let server = Server::start(session, Options { wire: Some(Wire::Messages), record: None, ..Options::default() });
        let line = format!("--target main --verify none --format json --model anthropic/scripted {words}");
        let mut command = self.program.command(line.split_whitespace());
        command.envs(server.environment(Wire::Messages));
        let ran = crate::support::Ran::wait(command.spawn().expect("the program starts"));
        let verdict = server.verdict();
        assert!(verdict.is_empty(), "{}\n{}\n{}", verdict.join("\n- "), ran.stderr, ran.text());
        (ran.code, ran.json())
    }

    /// The first review: it finds the wrong sum.
    fn first(&self) -> Value {
        let turns = vec![vec![report("The sum is off by one", "cart.py", QUOTE)], vec![finish()]];
        let (code, review) = self.asked(session("first", turns, &["cart.py"], &["earlier/"]), "");
        assert_eq!((code, stand(&review)), (0, vec![("new".to_owned(), 5)]), "{review:#}");
        review
    }

    /// One that finds nothing, and is asked nothing that it was not asked before.
    fn silent(&self, words: &str, holds: &[&str], lacks: &[&str]) -> (i32, Value) {
        self.asked(session("silent", vec![vec![finish()], vec![finish()]], holds, lacks).lenient(), words)
    }
}

trait Lenient {
    /// Its last turn may not be needed.
    fn lenient(self) -> Self;
}

impl Lenient for Session {
    fn lenient(mut self) -> Self {
        if let Some(last) = self.steps.last_mut() {
            last.reuse = true;
            last.when.turn = None;
        }
        self
    }
}

/// How the findings stand, and on which lines.
fn stand(review: &Value) -> Vec<(String, u64)> {
    let all = review["findings"].as_array().expect("findings").iter();
    all.map(|finding| {
        let line = finding["anchors"][0]["start_line"].as_u64().unwrap_or_default();
        (finding["status"].as_str().expect("a status").to_owned(), line)
    })
    .collect()
}

fn id(review: &Value) -> &str {
    review["findings"][0]["id"].as_str().expect("an id")
}

fn notes(review: &Value) -> String {
    review["coverage"]["notes"].to_string()
}

#[test]
fn what_a_model_does_not_speak_of_again_stays_open_and_in_the_verdict() {
    let branch = branch();
    let first = branch.first();
    branch.repo.write("cart.py", format!("import os\n{CART}")).commit("an import");
    let lead = format!("earlier/{}", id(&first));
    let (code, second) = branch.silent("--fail-on high", &[&lead, "The sum is off by one"], &[]);
    assert_eq!((code, stand(&second), id(&second)), (1, vec![("open".to_owned(), 6)], id(&first)), "{second:#}");
    assert_eq!(second["coverage"]["leads"]["unanswered"], 1);
    assert!(second["summary"]["text"].as_str().expect("one").contains("1 still open"), "{:#}", second["summary"]);
    // A review by the rules alone resolves nothing either.
    let (code, third) = branch.program.review("--target main --no-model --fail-on high");
    assert_eq!((code, stand(&third), id(&third)), (1, vec![("open".to_owned(), 6)], id(&first)), "{third:#}");
}

#[test]
fn what_a_model_says_again_in_other_words_keeps_its_name() {
    let branch = branch();
    let first = branch.first();
    branch.repo.write("cart.py", format!("import os\n{CART}")).commit("an import");
    let mut again = report("The total begins with a one", "cart.py", "    amount = 1\n    for price in prices:");
    again["input"]["lead"] = "L1".into();
    let told = session("again", vec![vec![again], vec![finish()]], &["earlier/"], &[]);
    let (_, second) = branch.asked(told, "");
    assert_eq!((stand(&second), id(&second)), (vec![("open".to_owned(), 6)], id(&first)), "{second:#}");
    assert_eq!(second["findings"][0]["title"], "The total begins with a one");
    assert_eq!(second["findings"][0]["body"], "It is wrong.", "nobody puts words of a rule behind it");
}

#[test]
fn what_a_model_refutes_is_over_and_stays_so() {
    let branch = branch();
    let first = branch.first();
    branch.repo.write("cart.py", format!("import os\n{CART}")).commit("an import");
    let refute = json!({ "name": "refute_lead", "input": { "id": "L1", "reason": "The caller takes one off." } });
    let (code, second) = branch.asked(session("refute", vec![vec![refute], vec![finish()]], &[], &[]), "--fail-on nit");
    assert_eq!((code, stand(&second), id(&second)), (0, vec![("refuted".to_owned(), 6)], id(&first)), "{second:#}");
    assert!(notes(&second).contains("The caller takes one off."), "{}", notes(&second));
    assert!(notes(&second).contains("Refuted, so not reported again"), "{}", notes(&second));
    let said = second["summary"]["text"].as_str().expect("one");
    assert!(said.contains("1 refuted") && !second.to_string().contains("ixed, because"), "{said}");
    assert_eq!(second["coverage"]["previous"]["disproved"], json!([id(&first)]));
    // Its lines stand, which says nothing about what was refuted.
    branch.repo.write("cart.py", format!("import os\nimport sys\n{CART}")).commit("another");
    let (_, third) = branch.silent("", &[], &["earlier/"]);
    assert_eq!(stand(&third)[0].0, "refuted", "{third:#}");
}

#[test]
fn a_finding_on_unchanged_lines_is_fixed_with_the_change_that_causes_it() {
    let branch = branch();
    let mut far = report("The text promises another sum", "README", "read me");
    far["input"]["related"] = json!([{ "file_path": "cart.py", "quote": QUOTE }]);
    let (_, first) = branch.asked(session("far", vec![vec![far], vec![finish()]], &[], &[]), "");
    assert_eq!(stand(&first), [("new".to_owned(), 1)], "{first:#}");
    assert_eq!(first["findings"][0]["anchors"][0]["path"], "README", "the quoted place is shown");
    branch.repo.write("cart.py", format!("import os\n{CART}")).commit("an import");
    let (code, second) = branch.silent("--fail-on high", &["earlier/"], &[]);
    assert_eq!((code, stand(&second), id(&second)), (1, vec![("open".to_owned(), 1)], id(&first)), "{second:#}");
    branch.repo.write("cart.py", CART.replace("amount = 1", "amount = 0")).commit("fix it");
    let (code, third) = branch.silent("--fail-on high", &[], &["earlier/"]);
    assert_eq!((code, stand(&third)[0].0.as_str()), (0, "fixed"), "{third:#}");
}

#[test]
fn what_was_changed_is_fixed_and_comes_back_with_its_lines() {
    let branch = branch();
    let first = branch.first();
    branch.repo.write("cart.py", CART.replace("amount = 1", "amount = 0")).commit("fix it");
    let (_, second) = branch.silent("", &[], &["earlier/"]);
    assert_eq!((stand(&second), id(&second)), (vec![("fixed".to_owned(), 5)], id(&first)), "{second:#}");
    branch.repo.git(["revert", "--no-edit", "HEAD"]);
    let (code, third) = branch.silent("--fail-on high", &[], &[]);
    assert_eq!((code, stand(&third), id(&third)), (1, vec![("reopened".to_owned(), 5)], id(&first)), "{third:#}");
    assert!(notes(&third).contains("back as they were"), "{}", notes(&third));
}

#[test]
fn what_is_found_late_in_a_file_that_did_not_change_is_withheld_unless_all_is_reviewed() {
    let branch = branch();
    branch.first();
    branch.repo.write("more.py", "x = 1\n").commit("more");
    let late = || {
        vec![vec![report("The last item cannot be had", "stock.py", "    if stock[name] <= count:")], vec![finish()]]
    };
    let (_, second) = branch.asked(session("late", late(), &[], &["earlier/"]).lenient(), "");
    assert_eq!(stand(&second), [("open".to_owned(), 5)], "{second:#}");
    let withheld = &second["coverage"]["withheld"][0];
    assert_eq!(withheld["title"], "The last item cannot be had", "{:#}", second["coverage"]);
    assert!(withheld["reason"].as_str().expect("one").starts_with("late:"), "{withheld}");
    let (_, full) = branch.asked(session("full", late(), &["earlier/"], &[]).lenient(), "--full");
    let mut all = stand(&full);
    all.sort();
    assert_eq!(all, [("new".to_owned(), 5), ("open".to_owned(), 5)], "{full:#}");
}

#[test]
fn an_incomplete_review_is_no_reason_to_pass_over_anything() {
    let branch = branch();
    let turns = vec![vec![report("The sum is off by one", "cart.py", QUOTE)], vec![]];
    let mut broken = session("broken", turns, &[], &[]);
    broken.steps[1] =
        serde_json::from_value(json!({ "when": { "turn": 1 }, "say": { "stop": "refusal" }, "times": 1 }))
            .expect("a step");
    let (code, first) = branch.asked(broken, "");
    assert_eq!((code, &first["outcome"]), (3, &json!("incomplete")), "{first:#}");
    branch.repo.write("more.py", "x = 1\n").commit("more");
    let (_, second) = branch.silent("", &["earlier/"], &[]);
    assert_eq!(stand(&second), [("open".to_owned(), 5)], "{second:#}");
    assert!(notes(&second).contains("the earlier review is not complete"), "{}", notes(&second));
}

#[test]
fn another_reviewer_looks_at_everything() {
    let branch = branch();
    branch.first();
    branch.repo.write("more.py", "x = 1\n").commit("more");
    branch.repo.write("../words.txt", "Look at the names.\n");
    let words = format!("--instructions {}", branch.repo.beside("words.txt").display());
    let (_, second) = branch.silent(&words, &["earlier/"], &[]);
    assert!(notes(&second).contains("the instructions are not the same"), "{}", notes(&second));
    branch.repo.write("more.py", "x = 2\n").commit("more of it");
    let (_, third) = branch.silent(&words, &[], &["earlier/"]);
    assert!(notes(&third).contains("not reviewed again"), "{}", notes(&third));
}

#[test]
fn a_review_that_hid_something_stands_for_nothing() {
    let branch = branch();
    let mut small = report("A name says little", "stock.py", "    return stock[name]");
    small["input"]["severity"] = "nit".into();
    let turns = vec![vec![small.clone()], vec![finish()]];
    let (_, first) = branch.asked(session("hidden", turns.clone(), &[], &[]), "--min-severity high");
    assert_eq!(first["coverage"]["below_floor"]["nit"], 1, "{first:#}");
    branch.repo.write("more.py", "x = 1\n").commit("more");
    let (_, second) = branch.asked(session("shown", turns, &[], &[]), "");
    assert_eq!(stand(&second).len(), 1, "{second:#}");
    assert!(notes(&second).contains("hides findings"), "{}", notes(&second));
}

#[test]
fn a_push_of_one_file_costs_one_small_review() {
    let branch = branch();
    let first = branch.first();
    branch.repo.write("more.py", "def more():\n    return 1\n").commit("more");
    let lacks = ["amount = 1", "stock[name] -= count", "earlier/"];
    let (code, second) = branch.silent("--fail-on high", &["def more():"], &lacks);
    assert_eq!((code, stand(&second), id(&second)), (1, vec![("open".to_owned(), 5)], id(&first)), "{second:#}");
    assert_eq!(second["outcome"], "complete", "{second:#}");
    let files = second["coverage"]["files"].as_array().expect("files");
    let why = |path: &str| files.iter().find(|file| file["path"] == path).expect("a file")["reason"].to_string();
    assert!(files.iter().all(|file| file["state"] == "reviewed"), "{files:?}");
    assert!(why("cart.py").contains(first["id"].as_str().expect("an id")), "{files:?}");
    assert_eq!(why("more.py"), "null");
    assert!(notes(&second).contains("2 changed files are as at the review before"), "{}", notes(&second));
    // What was passed over is passed over the next time, too, and nothing is asked where nothing changed.
    let server = session("nobody", Vec::new(), &[], &[]);
    let (code, third) = branch.asked(server, "--fail-on high");
    assert_eq!((code, stand(&third)), (1, vec![("open".to_owned(), 5)]), "{third:#}");
    assert_eq!((&third["provenance"]["turns"], &third["outcome"]), (&json!(0), &json!("complete")), "{third:#}");
    assert!(notes(&third).contains("the model was not asked"), "{}", notes(&third));
    let all = ["amount = 1", "stock[name] -= count", "def more():", "earlier/"];
    let (_, full) = branch.silent("--full", &all, &[]);
    assert_eq!(stand(&full), [("open".to_owned(), 5)], "{full:#}");
}

#[test]
fn a_rebase_passes_over_what_it_did_not_touch_and_reviews_what_it_did() {
    let branch = branch();
    branch.first();
    let repo = &branch.repo;
    repo.git(["checkout", "-q", "main"]);
    repo.write("other.py", "y = 2\n").commit("main moves");
    repo.git(["checkout", "-q", "feature"]);
    repo.git(["rebase", "-q", "main"]);
    repo.write("stock.py", STOCK.replace("<= count", "< count"));
    repo.git(["commit", "-q", "-a", "--amend", "-m", "add a shop, again"]);
    let (_, second) = branch.silent("", &["stock[name] < count"], &["amount = 1"]);
    assert_eq!(stand(&second), [("open".to_owned(), 5)], "{second:#}");
}

#[test]
fn a_file_of_an_open_finding_is_reviewed_again_when_the_rest_of_it_changed() {
    let branch = branch();
    let mut both = report("The sum is off by one", "cart.py", QUOTE);
    both["input"]["related"] = json!([{ "file_path": "stock.py", "quote": "    return stock[name]" }]);
    branch.asked(session("both", vec![vec![both], vec![finish()]], &[], &[]), "");
    branch.repo.write("stock.py", STOCK.replace("<= count", "< count")).commit("another file");
    let (_, second) = branch.silent("", &["amount = 1", "earlier/"], &[]);
    assert_eq!(stand(&second), [("open".to_owned(), 5)], "{second:#}");
}

#[test]
fn what_a_floor_hid_is_not_forgotten() {
    let branch = branch();
    let floors = "--min-severity critical --fail-on high";
    let turns = vec![vec![report("The sum is off by one", "cart.py", QUOTE)], vec![finish()]];
    let (code, first) = branch.asked(session("hidden", turns, &[], &[]), floors);
    assert_eq!((code, stand(&first).len()), (1, 0), "{first:#}");
    assert!(!first.to_string().contains("off by one"), "it is hidden: {first:#}");
    // Nobody speaks of it again, and it is behind the floor once more.
    branch.repo.write("more.py", "x = 1\n").commit("more");
    let (code, second) = branch.silent(floors, &["earlier/"], &[]);
    assert_eq!((code, &second["coverage"]["below_floor"]["high"]), (1, &json!(1)), "{second:#}");
    let (code, third) = branch.silent("--fail-on high", &["earlier/"], &[]);
    assert_eq!((code, stand(&third)), (1, vec![("open".to_owned(), 5)]), "{third:#}");
}

#[test]
fn a_comment_or_a_blank_fixes_nothing() {
    for (as_it_is, line) in
        [("    amount  =  1", 5), ("    amount = 1  # the first", 5), ("    # the first\n    amount =1", 6)]
    {
        let branch = branch();
        let first = branch.first();
        branch.repo.write("cart.py", CART.replace(QUOTE, as_it_is)).commit("words");
        let lead = format!("earlier/{}", id(&first));
        let (code, second) = branch.silent("--fail-on high", &[&lead], &[]);
        assert_eq!((code, stand(&second)), (1, vec![("open".to_owned(), line)]), "{as_it_is}: {second:#}");
    }
    let branch = branch();
    branch.first();
    branch.repo.write("cart.py", CART.replace(QUOTE, "    amount = 0")).commit("fix");
    assert_eq!(stand(&branch.silent("--fail-on high", &[], &["earlier/"]).1)[0].0, "fixed");
}

#[test]
fn the_same_lines_in_another_file_do_not_take_the_name_of_those_that_stand() {
    let branch = branch();
    let first = branch.first();
    branch.repo.write("copy.py", CART).commit("copy");
    let turns = vec![vec![report("The sum is off by one", "copy.py", QUOTE)], vec![finish()]];
    let (_, second) = branch.asked(session("copy", turns, &[], &["earlier/"]), "");
    let named = |path: &str| {
        let all = second["findings"].as_array().expect("findings").iter();
        let of: Vec<_> = all.filter(|finding| finding["anchors"][0]["path"] == path).collect();
        assert_eq!(of.len(), 1, "{second:#}");
        (of[0]["id"].as_str().expect("an id").to_owned(), of[0]["status"].as_str().expect("one").to_owned())
    };
    assert_eq!(named("cart.py"), (id(&first).to_owned(), "open".to_owned()));
    assert_eq!(named("copy.py").1, "new");
}

#[test]
fn what_a_reader_dismissed_silences_nothing_worse_and_nothing_that_came_in_its_stead() {
    let dismissed = || {
        let branch = branch();
        branch.first();
        let kept = branch.program.kept().pop().expect("a run").join("review.json");
        let mut review: Value = serde_json::from_slice(&std::fs::read(&kept).expect("a review")).expect("a document");
        review["findings"][0]["status"] = "dismissed".into();
        review["findings"][0]["dismissed"] = json!({ "reason": "meant so", "by": "reader" });
        std::fs::write(&kept, review.to_string()).expect("it is written");
        branch
    };
    let told = |branch: &Branch, title: &str, quote: &str, severity: &str| {
        let mut report = report(title, "cart.py", quote);
        report["input"]["severity"] = severity.into();
        let (code, review) =
            branch.asked(session("told", vec![vec![report], vec![finish()]], &[], &[]), "--fail-on high");
        let mut statuses: Vec<String> = stand(&review).into_iter().map(|(status, _)| status).collect();
        statuses.sort();
        (code, statuses.join(" "))
    };
    let branch = dismissed();
    branch.repo.write("cart.py", format!("import os\n{CART}")).commit("an import");
    assert_eq!(told(&branch, "The sum is off by one", QUOTE, "high"), (0, "dismissed".to_owned()));
    let branch = dismissed();
    branch.repo.write("cart.py", format!("import os\n{CART}")).commit("an import");
    assert_eq!(told(&branch, "Ignores the currency", QUOTE, "critical"), (1, "dismissed new".to_owned()));
    let branch = dismissed();
    let worse = "    amount = eval(prices.pop())";
    branch.repo.write("cart.py", CART.replace(QUOTE, worse)).commit("worse");
    assert_eq!(told(&branch, "Evaluates what a caller sends", worse, "high"), (1, "fixed new".to_owned()));
    let branch = dismissed();
    branch.repo.write("copy.py", CART).commit("copy");
    let mut copied = report("The sum is off by one", "copy.py", QUOTE);
    copied["input"]["severity"] = "high".into();
    let (code, review) = branch.asked(session("copy", vec![vec![copied], vec![finish()]], &[], &[]), "--fail-on high");
    assert_eq!((code, stand(&review).len()), (1, 2), "{review:#}");
}

#[test]
fn a_finding_that_a_reader_dismissed_hides_none_of_a_rule_at_its_lines() {
    let branch = branch();
    branch.repo.write("cart.py", "def check(ok):\n    assert (ok, \"it failed\")\n").commit("check");
    let rules = "--target main --no-model --fail-on high";
    let (code, first) = branch.program.review(rules);
    assert_eq!((code, &first["findings"][0]["severity"]), (1, &json!("high")), "{first:#}");
    let kept = branch.program.kept().pop().expect("a run").join("review.json");
    let mut review: Value = serde_json::from_slice(&std::fs::read(&kept).expect("a review")).expect("a document");
    let other = &mut review["findings"][0];
    let fingerprint = "0123456789abcdef".repeat(4);
    other["id"] = fingerprint[..12].into();
    other["fingerprint"] = fingerprint.into();
    other["title"] = "Something else entirely".into();
    other["severity"] = "nit".into();
    other["prominence"] = "also".into();
    other["origin"] = json!({ "kind": "model", "name": "anthropic/scripted" });
    other["status"] = "dismissed".into();
    other["dismissed"] = json!({ "reason": "meant so", "by": "reader" });
    std::fs::write(&kept, review.to_string()).expect("it is written");
    let (code, second) = branch.program.review(rules);
    let mut statuses: Vec<String> = stand(&second).into_iter().map(|(status, _)| status).collect();
    statuses.sort();
    assert_eq!((code, statuses.join(" ")), (1, "dismissed new".to_owned()), "{second:#}");
}

#[test]
fn a_refuted_finding_that_is_found_again_is_reopened() {
    let branch = branch();
    branch.repo.write("cart.py", "def check(ok):\n    assert (ok, \"it failed\")\n").commit("check");
    let rules = "--target main --no-model";
    let (_, first) = branch.program.review(rules);
    let kept = branch.program.kept().pop().expect("a run").join("review.json");
    let mut review: Value = serde_json::from_slice(&std::fs::read(&kept).expect("a review")).expect("a document");
    review["findings"][0]["status"] = "refuted".into();
    std::fs::write(&kept, review.to_string()).expect("it is written");
    let (_, second) = branch.program.review(rules);
    assert_eq!((stand(&second).len(), stand(&second)[0].0.as_str()), (1, "reopened"), "{second:#}");
    assert_eq!(id(&second), id(&first));
}

#[test]
fn a_file_of_anybody_brings_no_suggestion_that_could_be_applied() {
    let branch = branch();
    let mut first = branch.first();
    first["findings"][0]["suggestion"] =
        json!({ "path": "cart.py", "start_line": 5, "end_line": 5, "replacement": "    amount = evil()" });
    let file = branch.program.home("before.json");
    std::fs::write(&file, first.to_string()).expect("it is written");
    let (_, second) = branch.program.review(&format!("--target main --no-model --previous {}", file.display()));
    assert_eq!(
        (stand(&second)[0].0.as_str(), &second["findings"][0]["suggestion"]),
        ("open", &Value::Null),
        "{second:#}"
    );
}

#[test]
fn a_finding_that_is_carried_over_names_its_review_and_no_rule_reports_the_defect_again() {
    let branch = branch();
    let line = "def add(item, items=[]):";
    branch.repo.write("cart.py", format!("{line}\n    items.append(item)\n    return items\n")).commit("collect items");
    let mut said = report("Carts share their content", "cart.py", line);
    (said["input"]["lead"], said["input"]["category"]) = ("L1".into(), "performance".into());
    let turns = vec![vec![said], vec![finish()]];
    let (_, first) = branch.asked(session("first", turns, &["cart.py", "L1"], &[]), "");
    assert_eq!(first["coverage"]["leads"]["confirmed"], 1, "{first:#}");
    assert_eq!(first["findings"].as_array().map(Vec::len), Some(1), "{first:#}");
    for _ in 0..2 {
        let (_, again) = branch.program.review("--target main --no-model");
        let findings = again["findings"].as_array().expect("findings");
        let [one] = findings.as_slice() else { panic!("the defect is reported once: {findings:#?}") };
        assert_eq!((&one["origin"]["kind"], &one["status"]), (&json!("model"), &json!("open")), "{one:#}");
        assert_eq!((&one["carried_from"], &one["id"]), (&first["id"], &first["findings"][0]["id"]), "{one:#}");
    }
    let run = first["id"].as_str().expect("an id");
    let sentence = format!("carried over from the review {}, found by a model", &run[..8]);
    for format in ["terminal", "markdown", "junit"] {
        let shown = branch.program.words(&format!("show --format {format}")).ended(0);
        let text = shown.text().split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(&sentence), "{format}: {text}");
    }
}
