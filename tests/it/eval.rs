//! `review eval`: the cases of this repository, by the rules and by a scripted model, and cases that go wrong.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::support::generated::assert_part;
use crate::support::looks::session;
use crate::support::model::{Options, Server, Session, Wire};
use crate::support::schema::assert_conforms;
use crate::support::{Program, Ran, TestRepo};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn program() -> Program {
    Program::in_folder(root())
}

/// A program that talks to a model that says this.
fn talking(session: Session) -> (Program, Server) {
    let server = Server::start(session, Options { wire: Some(Wire::Messages), ..Options::default() });
    let mut program = program().with("REVIEW_VERIFY", "none");
    for (name, value) in server.environment(Wire::Messages) {
        program = program.with(name, &value);
    }
    (program, server)
}

const MODEL: &str = "--model anthropic/scripted";

/// Holds a table against the one in the documentation, the line with the time left out.
#[track_caller]
fn is_in_the_docs(name: &str, ran: &Ran) {
    let kept: Vec<&str> = ran.text().lines().filter(|line| !line.starts_with("time ")).collect();
    let printed = format!("```text\n{}\n```\n", kept.join("\n"));
    assert_part("docs/eval.md", &format!("<!-- eval:{name} -->\n"), "<!-- end -->", &printed);
}

/// Cases in a folder of their own.
struct Cases(tempfile::TempDir);

impl Cases {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    fn write(self, path: &str, text: &str) -> Self {
        let file = self.path(path);
        std::fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
        std::fs::write(file, text).expect("a file");
        self
    }

    /// A case with a panic on outside input, which the rules find.
    fn panic(self, name: &str, about: &str) -> Self {
        self.write(&format!("{name}/case.toml"), about)
            .write(&format!("{name}/base/src/a.rs"), "fn limit() -> u32 {\n    60\n}\n")
            .write(
                &format!("{name}/head/src/a.rs"),
                "fn limit() -> u32 {\n    std::env::var(\"LIMIT\").unwrap().parse().unwrap_or(60)\n}\n",
            )
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn eval(&self, more: &str) -> Ran {
        self.eval_with(&program(), more)
    }

    fn eval_with(&self, program: &Program, more: &str) -> Ran {
        program.words(&format!("eval {} {more}", self.0.path().display()))
    }
}

const FOUND: &str =
    "about = \"a\"\n[[issue]]\npath = \"src/a.rs\"\nlines = [2]\nwords = [\"PANIC\"]\nseverity = \"high\"\n";
const MISSED: &str = "about = \"a\"\n[[issue]]\npath = \"src/a.rs\"\nlines = [2]\nwords = [\"nothing of that\"]\n";
const CLEAN: &str = "about = \"a\"\nclean = true\n";

/// Reads an evaluation, which must be as its schema says.
#[track_caller]
fn document(json: &[u8]) -> Value {
    let schema = std::fs::read(root().join("docs/eval.schema.json")).expect("the schema");
    let document = serde_json::from_slice(json).expect("an evaluation");
    assert_conforms(&serde_json::from_slice(&schema).expect("a schema"), &document);
    document
}

/// The first review of a case.
#[track_caller]
fn run_of<'d>(document: &'d Value, name: &str) -> &'d Value {
    let cases = document["cases"].as_array().expect("cases");
    &cases.iter().find(|case| case["name"] == name).expect("a case")["runs"][0]
}

fn figure(document: &Value, name: &str) -> (u64, u64) {
    let share = &document["figures"][name];
    (share["some"].as_u64().expect("a count"), share["all"].as_u64().expect("a count"))
}

#[test]
fn the_rules_print_the_table_of_the_docs() {
    let ran = program().words("eval fixtures/eval --no-model -q").ended(0);
    assert!(ran.stderr.is_empty(), "{}", ran.stderr);
    is_in_the_docs("rules", &ran);
}

#[test]
fn a_scripted_model_prints_the_table_of_the_docs() {
    let (program, server) = talking(Session::load(&root().join("fixtures/eval/model.jsonl")));
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("now.json");
    let ran =
        program.words(&format!("eval fixtures/eval {MODEL} -q --floor quoted=1 --output json={}", file.display()));
    let verdict = server.verdict();
    assert!(verdict.is_empty(), "{}\n{}\n{}", verdict.join("\n"), ran.text(), ran.stderr);
    is_in_the_docs("model", &ran.ended(0));
    assert!(program.kept().is_empty(), "runs of cases are none of the user's");
    for body in server.raw() {
        let body = String::from_utf8_lossy(&body.body).into_owned();
        assert!(!body.contains("clean-refactor") && !body.contains("lost-check"), "the model is told what is expected");
    }
    what_a_reader_meets_is_measured(&document(&std::fs::read(file).expect("the numbers")));
}

fn what_a_reader_meets_is_measured(document: &Value) {
    let findings = figure(document, "precision").1;
    assert_eq!(
        figure(document, "quoted"),
        (findings, findings),
        "a finding is shown away from the lines that it quotes"
    );
    assert_eq!(figure(document, "findings_per_change"), (findings, 33));
    assert_eq!(figure(document, "main").1, findings);
    // It was too long until the model was asked to shorten it.
    let words = |name: &str| run_of(document, name)["shown"][0]["body_words"].as_u64().expect("a count");
    assert!(words("refund-before-checks") < 80 && document["figures"]["body_words"]["longest"].as_u64() < Some(80));

    // One finding answers both issues of a cause; said apart, the second is noise; and half of it is half.
    for (name, found, wrong) in [
        ("one-cause-cache-key", 2, 0),
        ("one-cause-early-unlock", 2, 0),
        ("one-cause-moved-from", 2, 0),
        ("one-cause-no-expiry", 1, 0),
        ("one-cause-timeout", 2, 1),
    ] {
        let run = run_of(document, name);
        assert_eq!((&run["found"], &run["wrong"]), (&json!(found), &json!(wrong)), "{name}");
    }
    assert_eq!(run_of(document, "one-cause-timeout")["extra"][0]["found_already"], true);

    // The quoted line did not change; a related place did.
    for (name, path, line) in
        [("sibling-provider", "lib/storage/azure_adapter.rb", 3), ("shared-helper", "src/import.rs", 16)]
    {
        let shown = &run_of(document, name)["shown"][0];
        assert_eq!((&shown["finding"]["path"], &shown["finding"]["line"]), (&json!(path), &json!(line)));
    }
}

#[test]
fn place_and_words_are_both_needed_and_what_is_half_right_is_told() {
    let cases = Cases::new()
        .panic("a-found", FOUND)
        .panic("b-other-words", MISSED)
        .panic("c-other-place", &FOUND.replace("[2]", "[40]"))
        .panic("d-accused", CLEAN);
    let ran = cases.eval("--no-model --format json -q").ended(0);
    let document = document(&ran.stdout);
    assert_eq!(document["schema"], "review-eval/1");
    assert_eq!((figure(&document, "recall"), figure(&document, "precision")), ((1, 3), (1, 4)));
    assert_eq!((figure(&document, "clean"), figure(&document, "false_alarms")), ((0, 1), (1, 1)));
    assert_eq!((figure(&document, "location"), figure(&document, "severity")), ((1, 2), (0, 1)));
    let found: Vec<&Value> = document["cases"].as_array().expect("cases")[..3]
        .iter()
        .map(|case| &case["runs"][0]["issues"][0]["found"])
        .collect();
    assert_eq!(found, ["exactly", "place_only", "words_only"]);
    assert_eq!(document["figures"]["usage"], Value::Null, "no model was asked");
    assert!(!ran.text().contains(&cases.0.path().display().to_string()), "a path of this machine is told");
}

#[test]
fn floors_and_comparisons_decide_the_exit_code() {
    let cases = Cases::new().panic("a", FOUND).panic("b", FOUND);
    let before = cases.path("before.json");
    let output = format!("--no-model -q --output json={}", before.display());
    cases.eval(&format!("{output} --floor recall=1,precision=1")).ended(0);
    let low = cases.eval("--no-model -q --floor recall=1,clean=1").ended(1);
    assert!(low.text().ends_with("clean was not measured: below the floor of 1\n"), "{}", low.text());

    let unknown = cases.eval("--no-model -q --floor quoted=1").ended(1);
    assert!(unknown.text().ends_with("quoted was not measured: below the floor of 1\n"), "{}", unknown.text());

    let compare = format!("--no-model -q --compare {}", before.display());
    let same = cases.eval(&compare).ended(0);
    assert!(same.text().contains("2 cases as before"), "{}", same.text());
    // The same case, of which less is shown than before.
    let worse = cases.eval(&format!("{compare} --min-severity high")).ended(1);
    assert!(worse.text().contains("  a  worse  found 1, now 0\n  b  worse  found 1, now 0\n"), "{}", worse.text());
    let changed = cases.panic("a", MISSED).write("c/case.toml", CLEAN).write("c/head/a.txt", "a\n");
    let ran = changed.eval(&compare).ended(0);
    for line in ["a  not compared  the case itself has changed since", "c  not compared  it was not evaluated then"] {
        assert!(ran.text().contains(line), "{}", ran.text());
    }
    let compared = document(&changed.eval(&format!("{compare} --format json --floor recall=1")).ended(1).stdout);
    assert_eq!(
        (&compared["comparison"]["worse"], &compared["below_floor"][0]["measure"]),
        (&json!(false), &json!("recall"))
    );
    let other = changed.eval(&format!("--no-model --compare {}", changed.path("a/case.toml").display())).ended(2);
    assert!(other.stderr.contains("review eval --output json=FILE"), "{}", other.stderr);
}

#[test]
fn what_does_not_come_to_its_end_is_named_and_never_clean() {
    // The script knows one of the two cases; the other one's requests are refused for good.
    let steps = [json!({ "when": { "user_contains": ["src/known.py"] },
        "say": { "calls": [{ "name": "finish_review", "input": { "summary": "Fine." } }] } })];
    let (program, server) = talking(session("half", &steps));
    let cases = Cases::new()
        .write("known/case.toml", CLEAN)
        .write("known/head/src/known.py", "a = 1\n")
        .write("unknown/case.toml", CLEAN)
        .write("unknown/head/src/unknown.py", "a = 1\n");
    let ran = cases.eval_with(&program, &format!("{MODEL} -q --format json"));
    let _ = server.verdict();
    let document = ran.ended(3).json();
    assert_eq!((figure(&document, "clean"), figure(&document, "false_alarms")), ((1, 2), (0, 2)));
    assert_eq!(document["figures"]["reviews"]["failed"], 1, "{document:#}");
    let only = cases.eval_with(&program, &format!("{MODEL} -q --only unknown")).ended(4);
    assert!(only.text().contains("0 of 1 clean changes left in peace; 1 not reviewed to the end"), "{}", only.text());
    assert!(only.text().contains("Did not come to an end\n  unknown  failed"), "{}", only.text());
}

#[test]
fn a_case_that_reaches_out_is_refused_before_anything_is_reviewed() {
    let repo = TestRepo::new();
    repo.write("a.txt", "a\n");
    repo.commit("Begin");
    repo.branch("topic").write("a.txt", "b\n");
    repo.commit("Change");
    let real = |folder: &str| {
        format!("about = \"a\"\nclean = true\nrepository = \"{folder}\"\nbase = \"main\"\nhead = \"topic\"\n")
    };
    let absolute = repo.root().display().to_string();
    let fine = Cases::new().panic("a", FOUND);
    for (toml, says) in [
        (real(&absolute), "is not in"),
        (real("../../.."), "is not in"),
        (real("."), "is not in"),
        (real("https://git.invalid/a.git"), "is not in"),
        (FOUND.replace("src/a.rs", "../a.rs"), "path"),
        (FOUND.replace("[2]", "[3, 2]"), "lines 3-2"),
        (FOUND.replace("\"PANIC\"", ""), "words takes"),
        (FOUND.replace("lines", "line"), "unknown field"),
        ("about = \"a\"\n".to_owned(), "it expects nothing"),
        (format!("{FOUND}optional = true\n"), "could be missed"),
        (format!("clean = true\n{FOUND}"), "a clean change has no issue"),
        (format!("{FOUND}cause = \"limit\"\n"), "only one issue has the cause \"limit\""),
    ] {
        let cases = Cases::new().panic("a", FOUND).panic("b", &toml);
        let ran = cases.eval("--no-model").ended(2);
        assert!(ran.stderr.contains(says) && ran.stdout.is_empty(), "{toml}\n{}", ran.stderr);
    }
    #[cfg(unix)]
    {
        let linked = Cases::new().panic("a", FOUND);
        std::os::unix::fs::symlink("/etc/hostname", linked.path("a/head/b.txt")).expect("a link");
        let ran = linked.eval("--no-model").ended(2);
        assert!(ran.stderr.contains("is no plain file"), "{}", ran.stderr);
    }
    let none = fine.eval("--no-model --only b*").ended(2);
    assert!(none.stderr.contains("leaves no case of the 1"), "{}", none.stderr);

    // Where the caller says that there are repositories, a case may name one of them.
    let cases = Cases::new().write("a/case.toml", &real("project"));
    let folder = repo.root().parent().expect("a folder").display().to_string();
    let ran = cases.eval(&format!("--no-model -q --repositories {folder}")).ended(0);
    assert!(ran.text().contains("1 of 1 clean changes left in peace"), "{}", ran.text());
}

#[test]
fn a_patch_is_a_change_too_and_repeated_reviews_all_count() {
    let patch = "--- a/src/a.rs\n+++ b/src/a.rs\n@@ -1,3 +1,3 @@\n fn limit() -> u32 {\n-    60\n\
                 +    std::env::var(\"LIMIT\").unwrap().parse().unwrap_or(60)\n }\n";
    let cases = Cases::new().write("a/case.toml", FOUND).write("a/change.patch", patch);
    let keep = cases.path("kept");
    let ran = cases.eval(&format!("--no-model -q --repeat 3 --keep {}", keep.display())).ended(0);
    assert!(ran.text().contains("3 of 3 issues found"), "{}", ran.text());
    for number in ["1", "2", "3"] {
        let runs = std::fs::read_dir(keep.join("a").join(number).join("runs")).expect("a kept run");
        assert_eq!(runs.count(), 1);
    }
}
