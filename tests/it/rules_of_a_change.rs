//! What the rules say of a change in a real repository: what went, what was made, what stood before, and what a comment allows.

use serde_json::Value;

use crate::support::{Program, TestRepo};

const DEFECT: &str = "def add(item, items=[]):\n    items.append(item)\n    return items\n";

/// A guard that goes, and a handle that is no longer closed.
const PACK: &str = "id: guard-removed\ntitle: A check is gone while what it guarded stays\nmessage: It fails for nothing.\n\
    severity: high\ncategory: logic\non: removed\nliterals: ['is None']\nrule: {pattern: 'if $X is None: $$$A', kind: if_statement}\n\
    at: X\nguards: [X]\n---\nid: left-open\ntitle: It is never closed\nmessage: It stays open.\nseverity: medium\ncategory: performance\n\
    rule: {kind: expression_statement, has: {pattern: '$X = open_it()'}, not: {precedes: {stopBy: end, kind: expression_statement, \
    has: {pattern: '$X.close()'}}}}\n";

fn places(review: &Value) -> Vec<String> {
    let findings = review["findings"].as_array().expect("findings");
    let place = |found: &Value| {
        let anchor = &found["anchors"][0];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        format!(
            "{} {} {}:{}",
            text(&found["origin"]["name"]),
            text(&anchor["side"]),
            text(&anchor["path"]),
            anchor["start_line"]
        )
    };
    findings.iter().map(place).collect()
}

fn notes(review: &Value) -> String {
    let notes = review["coverage"]["notes"].as_array().expect("notes");
    notes.iter().filter_map(Value::as_str).collect::<Vec<_>>().join("\n")
}

fn changed(old: &str, new: &str) -> (TestRepo, Program) {
    let repo = TestRepo::new();
    repo.write("src/a.py", old).commit("begin");
    repo.branch("feature").write("src/a.py", new).commit("go on");
    let program = Program::in_folder(repo.root());
    (repo, program)
}

fn with_pack(program: Program) -> Program {
    let folder = program.home("packs");
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join("python-house.yml"), PACK).expect("a pack");
    // The built-in checks see some of the same.
    program.with("REVIEW_RULES_PACKS", folder.to_str().expect("UTF-8")).with("REVIEW_RULES_OFF", "general")
}

#[test]
fn a_check_that_went_is_told_where_it_stood() {
    let old = "def f(value):\n    log(1)\n    if value is None:\n        return 0\n    return value.size\n";
    let (_repo, program) = changed(old, "def f(value):\n    log(1)\n    return value.size\n");
    let (code, review) = with_pack(program).review("--target main --no-model");
    assert_eq!(code, 0);
    assert_eq!(places(&review), ["python-house/guard-removed old src/a.py:3"], "{review:#}");
}

#[test]
fn what_a_deletion_makes_is_told_at_the_deletion_with_the_other_place() {
    let old =
        "def f(value):\n    handle = open_it()\n    handle.write(value)\n    handle.flush()\n    handle.close()\n";
    let (_repo, program) = changed(old, &old.replace("    handle.close()\n", ""));
    let (_, review) = with_pack(program).review("--target main --no-model");
    assert_eq!(places(&review), ["python-house/left-open old src/a.py:5"], "{review:#}");
    let other = &review["findings"][0]["anchors"][1];
    assert_eq!((&other["side"], &other["start_line"]), (&Value::from("new"), &Value::from(2)));
}

#[test]
fn what_stood_before_is_told_only_where_it_is_asked_for() {
    let (_repo, program) = changed(DEFECT, &format!("{DEFECT}\n\ndef later():\n    return 1\n"));
    let (_, review) = program.review("--target main --no-model");
    assert_eq!(places(&review), [""; 0]);
    let (_, review) = program.review("--target main --no-model --all-lines");
    assert_eq!(places(&review), ["python/mutable-default new src/a.py:1"]);
    let body = review["findings"][0]["body"].as_str().expect("a body");
    assert!(body.contains("It stood before this change."), "{body}");
    assert_eq!(review["outcome"], "complete");
    for format in ["terminal", "markdown", "sarif", "rdjson"] {
        let shown = program.words(&format!("--target main --no-model --all-lines --format {format}")).ended(0);
        assert!(shown.text().contains("src/a.py"), "{format}");
    }
}

#[test]
fn what_a_comment_allows_is_counted_and_named() {
    let allowed = DEFECT.replace("def", "# review:allow(python/mutable-default) one list on purpose\ndef");
    let (_repo, program) = changed("x = 1\n", &allowed);
    let (_, review) = program.review("--target main --no-model");
    assert_eq!(places(&review), [""; 0]);
    assert_eq!(review["coverage"]["suppressed"], 1);
    assert!(
        notes(&review)
            .contains("python/mutable-default at src/a.py:2 is allowed by a comment that this change adds: one list")
    );

    let (_repo, program) = changed("x = 1\n", &allowed.replace("one list on purpose", ""));
    let (_, review) = program.review("--target main --no-model");
    assert_eq!(review["coverage"]["suppressed"], 0);
    assert!(review["findings"][0]["body"].as_str().expect("a body").contains("without a reason"), "{review:#}");
}

/// What is swallowed here is more often meant than not.
const SWALLOWED: &str =
    "def read(path):\n    try:\n        return open_it(path)\n    except Exception:\n        pass\n";

#[test]
fn a_hint_is_counted_and_told_where_it_is_asked_for() {
    let (repo, program) = changed("", SWALLOWED);
    let (code, review) = program.review("--target main");
    assert_eq!((code, places(&review)), (0, Vec::new()));
    assert!(
        notes(&review).contains(
            "1 hint is not shown: mostly intentional, or of a rule without a recorded true hit (use --hints)"
        ),
        "{review:#}"
    );
    let told = ["python/swallowed-exception new src/a.py:4"];
    let (_, review) = program.review("--target main --hints");
    assert_eq!(places(&review), told);
    assert_eq!(review["findings"][0]["confidence"], 3);
    assert!(!notes(&review).contains("hint"), "{review:#}");
    // Whoever says how bad it is asks for it.
    repo.git(["checkout", "-q", "main"]);
    repo.write(".review.toml", "[rules]\nseverity = [\"python/swallowed-exception=medium\"]\n").commit("settings");
    let (_, review) = program.review("--target main --head feature");
    assert_eq!(places(&review), told);
    assert!(review["findings"][0]["confidence"].is_null(), "{review:#}");
}

#[test]
fn a_guard_that_goes_with_a_large_change_is_a_hint() {
    let old = "def f(request):\n    if not request.user.has_perm('x'):\n        raise PermissionDenied()\n    wipe(request)\n    log()\n";
    let new = "def f(request):\n    wipe(request)\n    log()\n";
    let told = |more: usize, message: &str| {
        let repo = TestRepo::new();
        repo.write("src/a.py", old).commit("begin");
        let lines: Vec<String> = (0..more).map(|at| format!("export const v{at} = {at};\n")).collect();
        repo.branch("feature").write("src/a.py", new).write("src/b.js", lines.concat()).commit(message);
        places(&Program::in_folder(repo.root()).review("--target main").1)
    };
    assert_eq!(told(5, "go on"), ["general/authorisation-removed old src/a.py:2"]);
    assert_eq!(told(60, "go on"), [""; 0]);
    assert_eq!(told(5, "Remove a check that nothing needs"), [""; 0]);
}
