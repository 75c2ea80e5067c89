//! Tests that check nothing: new ones without an assertion, and old ones that lost theirs. Main types: [`AssertsNothing`],
//! [`AssertionRemoved`].

use std::collections::HashMap;
use std::sync::LazyLock;

use regex::Regex;

use super::super::super::target::{ChangedLineIndex, RuleMatch, RuleTarget, is_test_path};
use super::super::{BothSides, Check, CheckInfo};
use super::code::{GuardCode, is_call};
use super::{PATIENCE, around_of, pair::ChangedText, read};
use crate::domain::change::{ChangeRun, FileChange, FileStatus, HunkSpan};
use crate::domain::finding::{Category, Severity};
use crate::domain::place::{DiffSide, LineRange};
use crate::domain::text::FileText;
use crate::syntax::{Grammar, ParseFailure, ParseLimits};
use crate::sys::cancel::CancelReason;

pub(in crate::rules) struct AssertsNothing;
pub(in crate::rules) struct AssertionRemoved;

static NOTHING: CheckInfo = CheckInfo {
    name: "general/test-asserts-nothing",
    title: "A new test checks nothing",
    message: "It passes whatever the code gives back, so it will not notice when that is wrong. Assert what must hold.",
    severity: Severity::Low,
    category: Category::Testing,
    cwe: None,
};

static REMOVED: CheckInfo = CheckInfo {
    name: "general/assertion-removed",
    title: "An assertion is removed from a test that stays",
    message: "The code under test changes as well, and from now on nothing checks this of it. Keep the assertion or adapt it; if it was \
              wrong, say so in the commit.",
    severity: Severity::Low,
    category: Category::Testing,
    cwe: None,
};

/// Words of which one is in every test that checks something, in some way or other.
static CHECKS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"(?i)assert|expect|verif|should|check|must|require|ensure|fail|throw|raise|reject|panic|snapshot|match|equal|compar|golden|validat|confirm|diff|\bt\.\w|\bb\.\w|unwrap|\?;|done|wait|cy\.|page\.|test|is_ok|Err\(|mock|bench|exit|screen\.|Eventually|Consistently|poll|try|inspect|\bis[A-Z]",
    )
    .ok()
});
static ASSERTS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"^(?:await )?(?:self \. |t \. |this \. )?(?:assert\w*|Assert\w*|expect\w*|EXPECT_\w+|ASSERT_\w+|require|verify|insta)\b").ok()
});

/// A test.
struct Test {
    name: String,
    node: usize,
    body: usize,
}

impl Check for AssertsNothing {
    fn info(&self) -> &CheckInfo {
        &NOTHING
    }

    fn find(&self, _: &RuleTarget<'_>) -> Vec<RuleMatch> {
        Vec::new()
    }

    fn gained(&self, sides: &BothSides<'_>) -> Result<Vec<(usize, RuleMatch)>, CancelReason> {
        let mut found = Vec::new();
        for (at, file) in sides.change.files.iter().enumerate() {
            sides.cancel.check()?;
            let Some(grammar) = grammar_of(file).filter(|_| file.additions > 0 && file.status != FileStatus::Deleted)
            else {
                continue;
            };
            let Some(text) = read(sides.new, file, DiffSide::New)? else { continue };
            let added = ChangedLineIndex::of(file, DiffSide::New);
            if !may_begin_a_test(grammar, &text, &added) {
                continue;
            }
            let watch = ParseLimits::new(sides.cancel, PATIENCE);
            let code = GuardCode::parse(sides.trees, grammar, text.text(), &watch);
            match code.map(|code| empty_tests(&code, &text, &added)) {
                Ok(hits) => found.extend(hits.into_iter().map(|hit| (at, hit))),
                Err(ParseFailure::Stopped(stopped)) => return Err(stopped),
                Err(why) => {
                    sides.note(format!("{} was not asked for tests that check nothing: {why}", file.path));
                }
            }
        }
        Ok(found)
    }
}

fn grammar_of(file: &FileChange) -> Option<Grammar> {
    let grammar = Grammar::of(file.language?)?;
    let may =
        file.without_text().is_none() && (is_test_path(&file.path) || grammar == Grammar::Rust || is_java_test(file));
    let known = matches!(
        grammar,
        Grammar::Rust
            | Grammar::Python
            | Grammar::JavaScript
            | Grammar::TypeScript
            | Grammar::Tsx
            | Grammar::Go
            | Grammar::Java
    );
    (may && known).then_some(grammar)
}

fn is_java_test(file: &FileChange) -> bool {
    file.path.as_bytes().ends_with(b"Test.java") || file.path.as_bytes().ends_with(b"Tests.java")
}

/// Checks whether an added line may be the first one of a test: parsing costs much more than asking.
fn may_begin_a_test(grammar: Grammar, text: &FileText, added: &ChangedLineIndex) -> bool {
    let marks: &[&str] = match grammar {
        Grammar::Go => &["Test"],
        Grammar::Python => &["test_"],
        Grammar::Java => &["@Test"],
        Grammar::JavaScript | Grammar::TypeScript | Grammar::Tsx => &["it", "test"],
        // What marks a test of Rust stands above it, and may have stood there before.
        Grammar::Rust if text.text().contains("test") => &["fn "],
        _ => &[],
    };
    let mut lines = text.all_lines().filter(|(number, _)| added.covers(*number));
    lines.any(|(_, line)| marks.iter().any(|mark| line.contains(mark)))
}

fn empty_tests(code: &GuardCode<'_>, text: &FileText, added: &ChangedLineIndex) -> Vec<RuleMatch> {
    let mut hits = Vec::new();
    for test in tests(code) {
        let (first, last) = code.nodes.lines(test.node);
        let is_new = (first..=last).all(|line| added.covers(line));
        let body = code.nodes.text(test.body);
        if !is_new || CHECKS.as_ref().is_none_or(|checks| checks.is_match(body)) || calls_own(code, &test) {
            continue;
        }
        let Some(why) = looks_at_nothing(code, &test) else { continue };
        if let Ok(lines) = LineRange::new(first, first) {
            let mut hit = RuleMatch::from_lines(text, lines);
            hit.detail = Some(why);
            hits.push(hit);
        }
    }
    hits
}

/// The tests of a file.
fn tests(code: &GuardCode<'_>) -> Vec<Test> {
    let mut found = Vec::new();
    for node in 0..code.nodes.count() {
        let kind = code.nodes.kind(node);
        let named = |fits: &dyn Fn(&str) -> bool| {
            let name = code.nodes.text(code.nodes.child(node, "name")?).to_owned();
            let body = code.nodes.child(node, "body")?;
            fits(&name).then_some(Test { name, node, body })
        };
        let test = match (code.grammar, kind) {
            (Grammar::Go, "function_declaration") => named(&|name| {
                name.strip_prefix("Test").is_some_and(|rest| rest.starts_with(|letter: char| !letter.is_lowercase()))
                    && name != "TestMain"
            }),
            (Grammar::Python, "function_definition") => named(&|name| name.starts_with("test_")),
            (Grammar::Java, "method_declaration") => {
                let marked = code.nodes.children(node).find(|child| code.nodes.kind(*child) == "modifiers");
                let marked = marked.is_some_and(|marks| {
                    code.nodes
                        .text(marks)
                        .lines()
                        .any(|mark| mark.trim().starts_with("@Test") && !mark.contains("expected"))
                });
                marked.then(|| named(&|_| true)).flatten()
            }
            (Grammar::Rust, "function_item") => {
                let marked = super::is_for_tests_itself(code, node);
                marked.then(|| named(&|_| true)).flatten()
            }
            (Grammar::JavaScript | Grammar::TypeScript | Grammar::Tsx, "call_expression") => script_test(code, node),
            _ => None,
        };
        found.extend(test);
    }
    found
}

fn script_test(code: &GuardCode<'_>, node: usize) -> Option<Test> {
    let call = code.call(node)?;
    if call.receiver.is_some() || !matches!(code.nodes.text(call.name), "it" | "test") {
        return None;
    }
    let [title, run, ..] = call.arguments.as_slice() else { return None };
    if !matches!(code.nodes.kind(*run), "arrow_function" | "function_expression") {
        return None;
    }
    Some(Test { name: code.nodes.text(*title).to_owned(), node, body: code.nodes.child(*run, "body")? })
}

/// Checks whether the test calls something that this file defines, which may well assert.
fn calls_own(code: &GuardCode<'_>, test: &Test) -> bool {
    let own: Vec<&str> = code.functions.iter().filter_map(|function| function.key.rsplit('/').next()).collect();
    code.nodes
        .subtree(test.body)
        .filter(|node| is_call(code.nodes.kind(*node)))
        .any(|node| code.call(node).is_some_and(|call| own.contains(&code.nodes.text(call.name))))
}

/// Why the test cannot fail for what the code gives back: its body is empty, or a result is not looked at.
fn looks_at_nothing(code: &GuardCode<'_>, test: &Test) -> Option<String> {
    let body = code.statements(test.body);
    let is_nothing = |statement: &usize| {
        matches!(code.nodes.kind(*statement), "pass_statement" | "string" | "expression_statement")
            && matches!(code.nodes.text(*statement).chars().next(), Some('p' | '"' | '\''))
            && (code.nodes.text(*statement) == "pass" || !code.nodes.text(*statement).contains('('))
    };
    if body.iter().all(is_nothing) {
        return (code.nodes.text(test.body).len() < 2_000).then(|| "There is nothing in it.".to_owned());
    }
    let words: Vec<&str> = (test.body..code.nodes.subtree_end(test.body))
        .filter(|node| code.nodes.kind(*node) == "identifier")
        .map(|node| code.nodes.text(node))
        .collect();
    for statement in &body {
        let compares = code.nodes.kind(*statement) == "expression_statement"
            && matches!(code.nodes.kind(statement + 1), "comparison_operator" | "binary_expression");
        if compares {
            return Some(format!(
                "`{}` is compared and the answer is thrown away.",
                super::removed_conditions::quote_condition(&code.normalized_text(*statement))
            ));
        }
        let declared = code.nodes.subtree(*statement).take(6).find(|node| {
            matches!(code.nodes.field(*node), Some("name" | "left" | "pattern"))
                && code.nodes.kind(*node) == "identifier"
        });
        if let Some(name) = declared.map(|node| code.nodes.text(node))
            && code.nodes.subtree(*statement).any(|node| is_call(code.nodes.kind(node)))
            && !name.starts_with('_')
            && words.iter().filter(|word| **word == name).count() == 1
        {
            return Some(format!("`{name}` is computed and never looked at."));
        }
    }
    None
}

impl Check for AssertionRemoved {
    fn info(&self) -> &CheckInfo {
        &REMOVED
    }

    fn find(&self, _: &RuleTarget<'_>) -> Vec<RuleMatch> {
        Vec::new()
    }

    fn lost(&self, sides: &BothSides<'_>) -> Result<Vec<(usize, RuleMatch)>, CancelReason> {
        let is_code = |file: &&FileChange| {
            file.language.and_then(Grammar::of).is_some()
                && file.without_text().is_none()
                && !is_test_path(&file.path)
                && !is_java_test(file)
        };
        let mut found = Vec::new();
        if !sides.change.files.iter().any(|file| is_code(&file)) {
            return Ok(found);
        }
        for (at, file) in sides.change.files.iter().enumerate() {
            sides.cancel.check()?;
            let stands = matches!(file.status, FileStatus::Modified | FileStatus::Renamed) && file.deletions > 0;
            let Some(grammar) = grammar_of(file).filter(|_| stands) else { continue };
            let Some(old) = read(sides.old, file, DiffSide::Old)? else { continue };
            let removed = ChangedLineIndex::of(file, DiffSide::Old);
            if !(1..=old.line_count()).any(|number| removed.covers(number) && old.line(number).is_some_and(may_assert))
            {
                continue;
            }
            let Some(new) = read(sides.new, file, DiffSide::New)? else { continue };
            if !has_fewer(file, &old, &new) {
                continue;
            }
            let around = around_of(sides)?;
            let watch = ParseLimits::new(sides.cancel, PATIENCE);
            let parse = |text| GuardCode::parse(sides.trees, grammar, text, &watch);
            match weakened(&parse, (&old, &new), &removed, around, &watch) {
                Ok(hits) => found.extend(hits.into_iter().map(|hit| (at, hit))),
                Err(ParseFailure::Stopped(stopped)) => return Err(stopped),
                Err(why) => {
                    let path = file.path_at(DiffSide::Old);
                    sides.note(format!("{path} was not asked for assertions that are gone: {why}"));
                }
            }
        }
        Ok(found)
    }
}

fn may_assert(line: &str) -> bool {
    ["ssert", "expect(", "require."].iter().any(|mark| line.contains(mark))
}

/// Checks whether the file has fewer assertions: where each made room for another one, here or in a new test, none is gone.
fn has_fewer(file: &FileChange, old: &FileText, new: &FileText) -> bool {
    let count = |text: &FileText, span: HunkSpan| {
        span.range().map_or(0, |lines| text.lines(lines).filter(|(_, line)| may_assert(line)).count())
    };
    let all = |side: &dyn Fn(&ChangeRun) -> usize| file.runs().map(side).sum::<usize>();
    all(&|run| count(old, run.old)) > all(&|run| count(new, run.new))
}

/// Assertions that left tests in which all else stayed.
fn weakened<'t>(
    parse: &dyn Fn(&'t str) -> Result<GuardCode<'t>, ParseFailure>,
    (old, new): (&'t FileText, &'t FileText),
    removed: &ChangedLineIndex,
    around: &ChangedText,
    watch: &ParseLimits<'_>,
) -> Result<Vec<RuleMatch>, ParseFailure> {
    let (before, after) = (parse(old.text())?, parse(new.text())?);
    let now: HashMap<String, Test> = tests(&after).into_iter().map(|test| (test.name.clone(), test)).collect();
    let mut hits = Vec::new();
    for test in tests(&before) {
        watch.check()?;
        let Some(same) = now.get(&test.name) else { continue };
        let (was, is) = (plain(&before, &test), plain(&after, same));
        let (had, has): (Vec<&String>, Vec<&String>) =
            (was.iter().map(|(said, _)| said).collect(), is.iter().map(|(said, _)| said).collect());
        let asserts = |said: &str| ASSERTS.as_ref().is_some_and(|pattern| pattern.is_match(said));
        let gone: Vec<&(String, usize)> = was.iter().filter(|(said, _)| !has.contains(&said)).collect();
        let Some((first, node)) = gone.first() else { continue };
        // All that left are assertions, and nothing came instead.
        if gone.iter().any(|(said, _)| !asserts(said))
            || has.iter().any(|said| !had.contains(said))
            || !has.iter().any(|said| !said.is_empty())
        {
            continue;
        }
        let explained = |said: &str| {
            said.split(|letter: char| !(letter.is_alphanumeric() || letter == '_'))
                .filter(|word| word.len() > 3 && !asserts(word))
                .any(|word| around.gone.matches(word).count() > gone.len() && !around.come.contains(word))
        };
        if around.adds(first) || gone.iter().any(|(said, _)| explained(said)) {
            continue;
        }
        let (start, end) = before.nodes.lines(*node);
        if let Ok(lines) = LineRange::new(start, end.min(start + 5))
            && removed.covers(start)
        {
            hits.push(RuleMatch::from_lines(old, lines));
        }
    }
    Ok(hits)
}

/// The statements of a test that hold no others, in words.
fn plain(code: &GuardCode<'_>, test: &Test) -> Vec<(String, usize)> {
    let statements = code.nodes.subtree(test.body).filter(|node| code.is_statement(*node));
    let plain = statements.filter(|node| !code.nodes.subtree(*node).any(|inner| code.is_statement(inner)));
    plain.map(|node| (code.normalized_text(node), node)).collect()
}
