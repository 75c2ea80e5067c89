//! What a hostile repository or change tries with the rules, and that neither a crash nor a false green comes of it.

use crate::support::{Program, TestRepo};

const HEAD: &str = "id: a\ntitle: t\nmessage: m\nseverity: low\ncategory: logic\n";

/// What is said of a project whose pack holds this rule.
#[track_caller]
fn refused(rule: &str) -> String {
    let repo = TestRepo::new();
    repo.write("a.js", "1;\n").write(".review/rules/javascript-x.yml", format!("{HEAD}{rule}")).commit("begin");
    repo.branch("feature").write("a.js", "f([1, 'a', 2]);\n".repeat(200)).commit("change");
    let said = Program::in_folder(repo.root()).words("--no-model --target main").ended(2).stderr;
    assert!(said.contains(".review/rules/javascript-x.yml at ") && said.contains("rule project/a: "), "{said}");
    said
}

#[test]
fn a_pattern_that_is_nested_without_end_is_refused_and_breaks_nothing() {
    let said = refused(&format!("rule: {{pattern: '{}1{}'}}\n", "(".repeat(50_000), ")".repeat(50_000)));
    assert!(said.contains("at most 1000 characters in a text of it"), "{said}");
}

#[test]
fn utilities_that_hang_on_one_another_without_end_are_refused() {
    let chain: String = (1..6_000)
        .map(|at: u32| ["  u", &at.to_string(), ": {matches: u", &(at - 1).to_string(), "}\n"].concat())
        .collect();
    let said = refused(&format!("rule: {{matches: u5999}}\nutils:\n  u0: {{kind: number}}\n{chain}"));
    assert!(said.contains("at most 50 utils"), "{said}");
    let twice = |at: u32| format!("  u{at}: {{any: [{{matches: u{0}}}, {{matches: u{0}}}]}}\n", at - 1);
    let tree: String = (1..40).map(twice).collect();
    let said = refused(&format!("rule: {{matches: u39}}\nutils:\n  u0: {{kind: number, regex: z}}\n{tree}"));
    assert!(said.contains("at most 1000 conditions"), "{said}");
}

#[test]
fn a_text_that_grows_without_end_is_refused() {
    let grow = |to: &str, from: &str| {
        format!("  {to}: {{replace: {{source: ${from}, replace: '', by: '{}'}}}}\n", "x".repeat(50))
    };
    let transform = [grow("B", "A"), grow("C", "B"), grow("D", "C"), grow("E", "D"), grow("F", "E")].concat();
    let said = refused(&format!("rule: {{pattern: f($A)}}\ntransform:\n{transform}fix: $F\n"));
    assert!(said.contains("transform is not read from a project"), "{said}");
}

#[test]
fn a_rule_that_is_switched_off_is_said_to_be_and_never_says_that_a_secret_is_gone() {
    let repo = TestRepo::new();
    repo.write("a.py", "x = 1\n").commit("begin");
    let secret = format!("password = \"{}\"\n", ["kX9mQ2vL7p", "R4tW8zB3nD"].concat());
    repo.branch("feature").write("a.py", &secret).commit("change");
    let program = Program::in_folder(repo.root());
    let (_, review) = program.review("--target main");
    assert_eq!(review["findings"].as_array().map(Vec::len), Some(1), "{review}");
    repo.write(".review.toml", "[rules]\noff = [\"general\"]\n");
    let (_, review) = program.review("--target main --settings worktree");
    let notes = review["coverage"]["notes"].to_string();
    assert!(notes.contains("general/secret-added is switched off in the settings"), "{notes}");
    assert!(!notes.contains("looked again and is silent"), "{notes}");
}

#[test]
fn what_rules_alone_could_not_wholly_look_at_is_no_green() {
    let repo = TestRepo::new();
    repo.write("a.js", "1;\n").write("b.js", "1;\n").commit("begin");
    let deep = format!("x = {}1{};\n", "[".repeat(5_000), "]".repeat(5_000));
    repo.branch("feature").write("a.js", &deep).commit("change");
    let program = Program::in_folder(repo.root());
    let (code, review) = program.review("--target main");
    assert_eq!((code, review["outcome"].as_str()), (3, Some("incomplete")), "{review}");
    let reason = review["reasons"][0].as_str().unwrap_or_default();
    assert!(reason.starts_with("a.js was checked in part: "), "{reason}");
    // Data on a long line hides nothing that a rule would tell.
    let data = format!("const data = '{}';\n", "z".repeat(9_000));
    repo.branch("data").write("a.js", "1;\n").write("b.js", &data).commit("data");
    let (code, review) = program.review("--target main");
    assert_eq!((code, review["outcome"].as_str()), (0, Some("complete")), "{review}");
    // Code there does.
    repo.write("b.js", format!("eval(x); const data = '{}';\n", "z".repeat(9_000))).commit("code");
    let (code, review) = program.review("--target main");
    assert_eq!((code, review["outcome"].as_str()), (3, Some("incomplete")), "{review}");
}
