//! What a project dismissed: who may say so, which findings are meant, and that none of it is ever hidden.

use serde_json::{Value, json};

use crate::support::looks::session;
use crate::support::model::Wire;
use crate::support::session::Talk;
use crate::support::{Program, TestRepo};

/// A medium finding (a mutable default) and a high one (an assertion on a tuple).
const DEFECTS: &str = "def add(item, items=[]):\n    assert (item, 'nothing')\n    return items\n";
const FILE: &str = ".review/dismissed.toml";

/// A branch that adds files to `main`.
fn branch(files: &[&str]) -> (TestRepo, Program) {
    let repo = TestRepo::new();
    repo.write("README", "read me\n").commit("begin");
    repo.branch("feature");
    for file in files {
        repo.write(file, DEFECTS);
    }
    repo.commit("change");
    let program = Program::in_folder(repo.root());
    (repo, program)
}

/// The id of the finding of a severity in a file.
fn id(review: &Value, severity: &str, path: &str) -> String {
    let is = |one: &&Value| one["severity"] == severity && one["anchors"][0]["path"] == path;
    let found = review["findings"].as_array().expect("findings").iter().find(is);
    found.unwrap_or_else(|| panic!("{review:#}"))["id"].as_str().expect("an id").to_owned()
}

/// `path severity status`, sorted. What is raised again is told as what is raised: a history is tried elsewhere.
fn stand(review: &Value) -> Vec<String> {
    let word = |value: &Value| value.as_str().expect("a word").replace("open", "new");
    let findings = review["findings"].as_array().expect("findings").iter();
    let mut all: Vec<String> = findings
        .map(|one| format!("{} {} {}", word(&one["anchors"][0]["path"]), word(&one["severity"]), word(&one["status"])))
        .collect();
    all.sort();
    all
}

fn notes(review: &Value) -> String {
    review["coverage"]["notes"].to_string()
}

/// Puts a file of dismissals on `main` and comes back.
fn on_main(repo: &TestRepo, text: &str) {
    let _ = std::fs::remove_file(repo.root().join(FILE));
    repo.git(["checkout", "-q", "main"]);
    repo.write(FILE, text).commit("dismiss");
    repo.git(["checkout", "-q", "feature"]);
}

fn written(repo: &TestRepo) -> String {
    std::fs::read_to_string(repo.root().join(FILE)).expect("the file of dismissals")
}

/// Dismisses one finding; gives the file.
fn dismiss(repo: &TestRepo, program: &Program, id: &str, more: &[&str]) -> String {
    let args = ["dismiss", id, "--reason", "it is meant so"];
    program.run(args.iter().chain(more)).ended(0);
    written(repo)
}

#[test]
fn a_dismissed_finding_is_shown_with_its_reason_and_fails_no_gate() {
    let (repo, program) = branch(&["a.py"]);
    let (code, review) = program.review("--target main --fail-on high");
    assert_eq!(code, 1);
    let high = id(&review, "high", "a.py");
    let said = program.run(["dismiss", &high[..6], "--reason", "it is meant so"]).ended(0);
    assert!(
        said.stdout.is_empty() && said.stderr.contains(&high) && said.stderr.contains("commit "),
        "{}",
        said.stderr
    );
    on_main(&repo, &written(&repo));

    let (code, review) = program.review("--target main --fail-on high");
    assert_eq!((code, stand(&review)), (0, vec!["a.py high dismissed".to_owned(), "a.py medium new".to_owned()]));
    assert_eq!(program.review("--target main --fail-on medium").0, 1, "the other one counts");
    let finding = review["findings"].as_array().unwrap().iter().find(|one| one["status"] == "dismissed").unwrap();
    assert_eq!(finding["id"], high);
    assert_eq!(finding["dismissed"]["reason"], "it is meant so");
    assert_eq!((&finding["dismissed"]["until"], &finding["dismissed"]["by"]), (&Value::Null, &"project".into()));
    assert_eq!((&review["coverage"]["dismissed"], &review["summary"]["unresolved"]), (&1.into(), &1.into()));
    assert!(review["summary"]["text"].as_str().unwrap().contains("1 medium (1 finding dismissed)"), "{review:#}");

    let line = |format: &str, word: &str| -> String {
        let ran = program.words(&format!("--target main --format {format}")).ended(0);
        let lines: Vec<&str> = ran.text().lines().filter(|line| line.contains(word)).collect();
        assert_eq!(lines.len(), 1, "{format}: {}", ran.text());
        lines[0].to_owned()
    };
    assert!(line("markdown", "it is meant so").starts_with("- dismissed: "));
    assert!(line("terminal", "  dismissed: ").contains("Assertion on"), "the line may be wrapped");
    let sarif = program.words("--target main --format sarif").ended(0).json();
    let results = sarif["runs"][0]["results"].as_array().unwrap();
    let silent: Vec<&Value> = results.iter().filter(|one| one["suppressions"] != json!([])).collect();
    assert_eq!((silent.len(), results.len()), (1, 2));
    assert_eq!(silent[0]["suppressions"][0]["justification"], "it is meant so");
    for format in ["rdjson", "gitlab", "junit", "annotations"] {
        let ran = program.words(&format!("--target main --format {format}")).ended(0);
        assert!(!ran.text().contains(&high), "{format}");
    }
}

#[test]
fn a_head_cannot_dismiss_its_own_findings() {
    let (repo, program) = branch(&["a.py"]);
    let (_, review) = program.review("--target main");
    let high = id(&review, "high", "a.py");
    dismiss(&repo, &program, &high, &[]);
    let all = ["a.py high new", "a.py medium new"];
    for line in ["--target main", "--uncommitted"] {
        let (_, review) = program.review(line);
        assert!(stand(&review).iter().all(|one| one.ends_with(" new")), "{line}: {review:#}");
    }
    repo.commit("quiet");
    for line in ["--target main", "--range main..feature", "--commit HEAD"] {
        let (_, review) = program.review(line);
        assert!(stand(&review).iter().all(|one| one.ends_with(" new")), "{line}");
        assert!(notes(&review).contains("The change touches the project's review settings"), "{line}");
    }
    assert_eq!(stand(&program.review("--target main").1), all);
    // Only where somebody asks for the disk's.
    let (_, review) = program.review("--target main --settings worktree");
    assert_eq!(stand(&review), ["a.py high dismissed", "a.py medium new"]);
    let patch = repo.git(["diff", "main"]);
    let ran = program.fed("--diff - --format json", patch.as_bytes()).ended(0);
    assert_eq!(stand(&ran.json()), all, "a patch has no target");
}

#[test]
fn a_dismissal_silences_no_other_finding() {
    let (repo, program) = branch(&["a.py", "lib/b.py"]);
    let (_, review) = program.review("--target main");
    let text = dismiss(&repo, &program, &id(&review, "high", "a.py"), &[]);
    on_main(&repo, &text);
    let one = ["a.py high dismissed", "a.py medium new", "lib/b.py high new", "lib/b.py medium new"];
    assert_eq!(stand(&program.review("--target main").1), one, "the same code in another file is another finding");

    let text = dismiss(&repo, &program, &id(&review, "high", "lib/b.py"), &["--path", "lib/**"]);
    on_main(&repo, &text);
    let below = ["a.py high new", "a.py medium new", "lib/b.py high dismissed", "lib/b.py medium new"];
    assert_eq!(stand(&program.review("--target main").1), below);

    let text = dismiss(&repo, &program, &id(&review, "high", "lib/b.py"), &["--path", "*.py"]);
    on_main(&repo, &text);
    let all = ["a.py high dismissed", "a.py medium new", "lib/b.py high dismissed", "lib/b.py medium new"];
    assert_eq!(stand(&program.review("--target main").1), all);

    // The code changes: it is not what was dismissed.
    repo.write("a.py", DEFECTS.replace("'nothing'", "'something'")).commit("edit");
    assert_eq!(stand(&program.review("--target main").1)[0], "a.py high new");
}

#[test]
fn what_is_dismissed_is_not_counted_as_hidden() {
    let (repo, program) = branch(&["a.py"]);
    let (_, review) = program.review("--target main");
    let text = dismiss(&repo, &program, &id(&review, "medium", "a.py"), &[]);
    on_main(&repo, &text);
    assert_eq!(program.review("--target main --min-severity high --fail-on medium").0, 1);
    let text = dismiss(&repo, &program, &id(&review, "high", "a.py"), &[]);
    let both = text.matches("[[dismissed]]").count();
    assert_eq!(both, 1, "the file was not on this branch");
    on_main(&repo, &format!("{}\n{text}", on_that(&repo)));
    let (code, review) = program.review("--target main --min-severity critical --fail-on nit");
    assert_eq!((code, stand(&review)), (0, vec!["a.py high dismissed".to_owned(), "a.py medium dismissed".to_owned()]));
    assert_eq!(review["coverage"]["below_floor"], json!({}));
    let text = review["summary"]["text"].as_str().unwrap();
    assert_eq!(text, "Nothing to report in 1 changed file (2 findings dismissed).");
}

/// The file that `main` has.
fn on_that(repo: &TestRepo) -> String {
    repo.git(["show", &format!("main:{FILE}")])
}

#[test]
fn after_its_last_day_a_dismissal_is_reported_as_stale() {
    let (repo, program) = branch(&["a.py"]);
    let (_, review) = program.review("--target main");
    let high = id(&review, "high", "a.py");
    let text = dismiss(&repo, &program, &high, &["--until", "2999-12-31"]);
    assert!(text.contains("until = \"2999-12-31\""), "{text}");
    on_main(&repo, &text);
    let (_, review) = program.review("--target main");
    assert_eq!(stand(&review)[0], "a.py high dismissed");
    assert!(program.words("--target main --format markdown").text().contains("it is meant so (until 2999-12-31)"));
    on_main(&repo, &text.replace("2999", "2001"));
    let (_, review) = program.review("--target main");
    assert_eq!(stand(&review)[0], "a.py high new");
    assert!(
        notes(&review).contains(&format!("holds no longer: its last day is over (renew or remove): {high} (a.py)")),
        "{review:#}"
    );
}

#[test]
fn an_entry_that_means_nothing_is_reported_as_stale() {
    let (repo, program) = branch(&["a.py"]);
    let (_, review) = program.review("--target main");
    let text = dismiss(&repo, &program, &id(&review, "high", "a.py"), &[]);
    on_main(&repo, &text);
    repo.write("a.py", "def add(item):\n    return item\n").commit("fix");
    let (_, review) = program.review("--target main");
    assert!(notes(&review).contains("matches no finding, though this change has all of its file"), "{review:#}");
    repo.remove("a.py").write("b.py", "x = 1\n").commit("gone");
    let (_, review) = program.review("--target main");
    assert!(notes(&review).contains("1 entry is in .review/dismissed.toml for files that are gone"), "{review:#}");
}

#[test]
fn a_file_that_cannot_be_read_ends_with_its_line() {
    let (repo, program) = branch(&["a.py"]);
    for (text, told) in [
        ("# ours\n[[dismissed]]\nid = 'x'\n", ":2: missing field"),
        ("# ours\n[[dismissed\n", ":2: not valid TOML"),
        ("dismised = []\n", ":1: unknown field"),
    ] {
        on_main(&repo, text);
        let ran = program.words("--target main").ended(2);
        let errors: Vec<&str> = ran.stderr.lines().filter(|said| said.starts_with("error: ")).collect();
        assert_eq!(errors.len(), 1, "{}", ran.stderr);
        assert!(errors[0].contains(&format!("{FILE} at ")) && errors[0].contains(told), "{}", errors[0]);
        assert_eq!(ran.text(), "");
    }
    // The head's own is nobody's business.
    on_main(&repo, "# nothing\n");
    repo.write(FILE, "{{{").commit("break it");
    program.words("--target main").ended(0);
    program.words("--target main --settings worktree").ended(2);
}

#[cfg(unix)]
#[test]
fn no_link_is_followed() {
    use std::os::unix::fs::symlink;
    let (repo, program) = branch(&["a.py"]);
    let (_, review) = program.review("--target main");
    let high = id(&review, "high", "a.py");
    let outside = repo.beside("outside");
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("dismissed.toml"), "secret = 1\n").unwrap();
    symlink(&outside, repo.root().join(".review")).unwrap();
    let ran = program.run(["dismiss", &high, "--reason", "x"]);
    assert!(ran.code != 0 && !ran.stderr.contains("secret"), "{}", ran.stderr);
    program.words("--target main --settings worktree").ended(2);
    std::fs::remove_file(repo.root().join(".review")).unwrap();
    std::fs::create_dir(repo.root().join(".review")).unwrap();
    symlink(outside.join("dismissed.toml"), repo.root().join(FILE)).unwrap();
    let ran = program.run(["dismiss", &high, "--reason", "x"]);
    assert!(ran.code == 2 && !ran.stderr.contains("secret"), "{}", ran.stderr);
    assert_eq!(std::fs::read_to_string(outside.join("dismissed.toml")).unwrap(), "secret = 1\n");
    repo.git(["checkout", "-q", "-b", "linked", "main"]);
    repo.commit("a link");
    let ran = program.words("--target linked --head feature").ended(2);
    assert!(ran.stderr.contains("not a plain file"), "{}", ran.stderr);
}

#[test]
fn what_makes_no_sense_is_refused_and_nothing_is_written() {
    let (repo, program) = branch(&["a.py"]);
    let ran = program.run(["dismiss", "0123", "--reason", "x"]).ended(2);
    assert!(ran.stderr.contains("no review of ") && ran.stderr.contains("review it first"), "{}", ran.stderr);
    let (_, review) = program.review("--target main");
    let high = id(&review, "high", "a.py");
    for (args, told) in [
        (&["dismiss", "zzzz", "--reason", "x"][..], "has no finding \"zzzz\"; it has "),
        (&["dismiss", &high, "--reason", " "], "1 to 500 characters"),
        (&["dismiss", &high, "--reason", &"x".repeat(501)], "1 to 500 characters"),
        (&["dismiss", &high, "--reason", "x", "--until", "2001-01-01"], "--until 2001-01-01 has passed already"),
        (&["dismiss", &high, "--reason", "x", "--until", "soon"], "write it like 2027-01-31"),
        (&["dismiss", &high, "--reason", "x", "--path", "lib/**"], "does not match a.py"),
        (&["dismiss", &high, "--reason", "x", "--path", "["], "is not valid"),
        (&["dismiss", &high, "--reason", "x", "--run", "ffffffff"], "no saved run"),
        (&["dismiss", &high], "--reason"),
    ] {
        let ran = program.run(args).ended(2);
        assert!(ran.stderr.contains(told), "{args:?}: {}", ran.stderr);
    }
    assert!(!repo.root().join(".review").exists());
    repo.write(FILE, "{{{");
    let ran = program.run(["dismiss", &high, "--reason", "x"]).ended(2);
    assert!(ran.stderr.contains(":1: not valid TOML") && written(&repo) == "{{{", "{}", ran.stderr);
}

#[test]
fn what_others_wrote_into_the_file_stays_and_a_second_time_changes_the_entry() {
    let (repo, program) = branch(&["a.py", "b.py"]);
    let (_, review) = program.review("--target main");
    let (a, b) = (id(&review, "high", "a.py"), id(&review, "high", "b.py"));
    let first = dismiss(&repo, &program, &b, &[]).replace("[[dismissed]]", "# by the team, in May\n[[dismissed]]");
    repo.write(FILE, &first);
    let second = dismiss(&repo, &program, &a, &["--until", "2999-01-01"]);
    assert!(
        second.contains("\n# by the team, in May\n[[dismissed]]\nid = ") && second.find(&a) < second.find(&b),
        "{second}"
    );
    let ran = program.run(["dismiss", &a, "--reason", "it\u{1b}[31m is\nstill so"]).ended(0);
    assert!(ran.stderr.contains("changed the entry of"), "{}", ran.stderr);
    let third = written(&repo);
    assert!(third.contains("reason = \"it is still so\"") && !third.contains("2999"), "{third}");
    assert_eq!(third.matches("[[dismissed]]").count(), 2);
    // The kept review says so too.
    let shown = program.words("show last --format json").ended(0).json();
    assert_eq!(shown["coverage"]["dismissed"], 2);
    let status = shown["findings"].as_array().unwrap().iter().find(|one| one["id"] == a.as_str()).unwrap();
    assert_eq!(
        (&status["dismissed"]["reason"], &status["dismissed"]["by"]),
        (&"it is still so".into(), &"project".into())
    );
}

#[test]
fn a_run_keeps_the_dismissals_that_it_followed() {
    let (repo, program) = branch(&["a.py"]);
    let text = "# none yet\n";
    on_main(&repo, text);
    program.words("--target main").ended(0);
    let runs = program.kept();
    assert_eq!(std::fs::read_to_string(runs[0].join("dismissed.toml")).unwrap(), text);
}

/// The entry of a finding, as somebody would write it by hand.
fn entry(finding: &Value) -> String {
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    format!(
        "[[dismissed]]\nid = '{}'\nfingerprint = '{}'\npath = '{}'\nreason = 'it is meant so'\n\n",
        text(&finding["id"]),
        text(&finding["fingerprint"]),
        text(&finding["anchors"][0]["path"])
    )
}

#[test]
fn a_model_is_not_asked_about_what_was_dismissed_and_its_own_findings_can_be() {
    let (repo, program) = branch(&["a.py"]);
    let (_, by_rules) = program.review("--target main");
    let medium = by_rules["findings"].as_array().unwrap().iter().find(|one| one["severity"] == "medium").unwrap();
    on_main(&repo, &entry(medium));
    let told = |name: &str, fail_on: &str, code: i32| {
        let steps = [
            json!({ "when": { "turn": 0, "user_contains": ["Assertion on"], "user_lacks": [medium["title"]] },
                "say": { "calls": [{ "name": "report_finding", "input": { "title": "Nothing is added", "body": "It goes wrong.",
                    "severity": "critical", "category": "quality", "file_path": "a.py", "quote": "    return items" } }] } }),
            json!({ "when": { "turn": 1 },
                "say": { "calls": [{ "name": "refute_lead", "input": { "id": "L1", "reason": "No." } },
                    { "name": "refute_lead", "input": { "id": "L2", "reason": "No." } },
                    { "name": "finish_review", "input": { "summary": "Done." } }] } }),
        ];
        let told = Talk::scripted(&repo, session(name, &steps), Wire::Messages).run(&format!("--fail-on {fail_on}"));
        assert_eq!(told.code, code, "{}", told.all());
        told
    };
    let first = told("dismissed_lead", "critical", 1);
    assert_eq!(stand(&first.review), ["a.py critical new", "a.py medium dismissed"], "{}", first.all());
    assert_eq!(first.review["coverage"]["leads"]["given"], 1);
    let own = first.review["findings"].as_array().unwrap().iter().find(|one| one["severity"] == "critical").unwrap();
    on_main(&repo, &format!("{}{}", entry(medium), entry(own)));
    let second = told("dismissed_report", "critical", 0);
    assert_eq!(stand(&second.review), ["a.py critical dismissed", "a.py medium dismissed"], "{}", second.all());
    assert_eq!(second.review["coverage"]["dismissed"], 2);
}
