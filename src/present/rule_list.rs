//! The list of rules, a page about one, and the result of testing some: for people, and as JSON. Main functions: [`list`], [`page`], [`tested`].

use serde_json::{Value, json};
use textwrap::Options;

use super::columns::shorten_columns;
use crate::domain::rule_info::{FixtureFault, FixtureReport, PackOwner, RuleExamples, RulePage};
use crate::domain::text::{count_noun, strip_block, strip_line};

/// The version of the JSON.
const SCHEMA: &str = "review-rules/1";

/// Renders the languages of a rule.
fn languages(sheet: &RulePage) -> String {
    if sheet.languages.is_empty() { "any language".to_owned() } else { sheet.languages.join(", ") }
}

/// Lists the state of a rule apart from its severity: off, a hint, or changed by settings.
fn describe_state(sheet: &RulePage) -> Vec<String> {
    let graded = (sheet.info.severity != sheet.own_severity).then(|| format!("{} of itself", sheet.own_severity));
    let hint = (sheet.info.is_hint && !sheet.is_off).then(|| "a hint".to_owned());
    sheet.is_off.then(|| "off".to_owned()).into_iter().chain(hint).chain(graded).collect()
}

/// Renders the rules, one line each. Titles are shortened to `width` if there is one.
pub fn list(all: &[RulePage], width: Option<usize>) -> String {
    let mut out = String::new();
    let columns = all.iter().map(|sheet| sheet.info.name.chars().count()).max().unwrap_or(0).min(44);
    let mut last: Option<Option<&(PackOwner, String, u32)>> = None;
    for sheet in all {
        let from = sheet.from.as_ref();
        let is_other = last.is_none_or(|last| last.map(|(_, file, _)| file) != from.map(|(_, file, _)| file));
        if is_other && (from.is_some() || last.is_some()) {
            out.push_str(if out.is_empty() { "" } else { "\n" });
            out.push_str(&format!("{}\n", describe_owner(from)));
        }
        last = Some(from);
        let changed = describe_state(sheet);
        let changed = if changed.is_empty() { String::new() } else { format!("({}) ", changed.join(", ")) };
        let (name, severity) = (&sheet.info.name, sheet.info.severity);
        let line = format!("{name:columns$}  {severity:8}  {changed}{}", strip_line(&sheet.info.title));
        out.push_str(&width.map_or_else(|| line.clone(), |width| shorten_columns(&line, width)));
        out.push('\n');
    }
    let off = all.iter().filter(|sheet| sheet.is_off).count();
    let off = if off > 0 { format!(", {off} of them off") } else { String::new() };
    out.push_str(&format!("\n{}{off}; `review rules explain ID` says more of one\n", count_noun(all.len(), "rule")));
    out
}

/// Names the source of rules, as a heading.
fn describe_owner(from: Option<&(PackOwner, String, u32)>) -> String {
    match from {
        None => "built in".to_owned(),
        Some((PackOwner::User, file, _)) => format!("yours, {}", strip_line(file)),
        Some((PackOwner::Project, file, _)) => format!("the project's, {}", strip_line(file)),
    }
}

/// Renders everything about one rule, prose in lines of `width`; its definition in place of the examples with `definition`.
pub fn page(sheet: &RulePage, definition: bool, width: usize) -> String {
    let info = &sheet.info;
    let wrap = |text: &str| textwrap::fill(text, Options::new(width).break_words(false));
    let (title, message) = (wrap(&strip_line(&info.title)), wrap(&strip_block(&info.message)));
    let mut out = format!("{}\n{title}\n\n{message}\n\n", info.name);
    let graded = if info.severity == sheet.own_severity {
        info.severity.to_string()
    } else {
        format!("{} by the setting rules.severity, {} of itself", info.severity, sheet.own_severity)
    };
    let from = match &sheet.from {
        None => "built in".to_owned(),
        Some((_, file, line)) => format!("{}:{line}", strip_line(file)),
    };
    let told = match (sheet.on_removed, info.skips_tests) {
        (true, true) => "what a change takes away, but not in code that only tests run",
        (true, false) => "what a change takes away",
        (false, true) => "what a change brings in, but not into code that only tests run",
        (false, false) => "what a change brings in",
    };
    let state = match (sheet.is_off, info.is_hint) {
        (true, _) => "off, by the setting rules.off",
        (false, true) => {
            "a hint: a lead for a model, told without one only with --hints, or where rules.severity names it"
        }
        (false, false) => "on",
    };
    let cwe = info.cwe.as_deref();
    for (name, value) in [
        ("severity", Some(graded.as_str())),
        ("category", Some(info.category.word())),
        ("weakness", cwe),
        ("languages", Some(languages(sheet).as_str())),
        ("finds", Some(told)),
        ("from", Some(from.as_str())),
        ("state", Some(state)),
    ] {
        let options = Options::new(width).subsequent_indent("          ").break_words(false);
        let line = value.map(|value| format!("{}\n", textwrap::fill(&format!("{name:10}{value}"), options)));
        out.push_str(&line.unwrap_or_default());
    }
    match &sheet.text {
        None => out.push_str("\nIt is code of the program, not a pattern.\n"),
        Some(text) if definition || sheet.examples == RuleExamples::default() => {
            out.push_str(&section("It is defined so", text));
        }
        Some(_) => {
            let RuleExamples { bad, good } = &sheet.examples;
            out.push_str(&bad.as_ref().map_or_else(String::new, |code| section("It reports", code)));
            out.push_str(&good.as_ref().map_or_else(String::new, |code| section("It does not report", code)));
            out.push_str("\nIts definition: --yaml\n");
        }
    }
    let name = &info.name;
    out.push_str(&format!(
        "\nTo switch it off or to give it another severity, in .review.toml or your own settings:\n\n  \
         [rules]\n  off = [\"{name}\"]\n  severity = [\"{name}=low\"]\n\n\
         To allow it at one place, in a comment there or on the line above:\n\n  review:allow({name}) why it is right here\n"
    ));
    out
}

fn section(heading: &str, text: &str) -> String {
    let lines = strip_block(text);
    let lines = lines.lines().map(|line| format!("{}\n", format!("  {line}").trim_end()));
    format!("\n{heading}:\n\n{}", lines.collect::<String>())
}

/// Renders the result of testing the rules of a folder.
pub fn tested(folder: &str, tried: &FixtureReport) -> String {
    let mut out = String::new();
    for FixtureFault { rule, case, what } in &tried.faults {
        let case = case.as_ref().map(|case| format!(" {case}")).unwrap_or_default();
        out.push_str(&format!("{}{}: {}\n", strip_line(rule), strip_line(&case), strip_line(what)));
    }
    let (rules, cases) = (count_noun(tried.rules, "rule"), count_noun(tried.cases, "fixture"));
    let faults = match tried.faults.len() {
        0 => "all as they should be".to_owned(),
        faults => format!("{} wrong", count_noun(faults, "thing")),
    };
    out.push_str(&format!("{}: {rules}, {cases}: {faults}\n", strip_line(folder)));
    out
}

/// Renders one rule as a document.
pub fn page_json(sheet: &RulePage) -> String {
    format!("{:#}\n", document(sheet))
}

fn document(sheet: &RulePage) -> Value {
    let RulePage { info, own_severity, is_off, languages, on_removed, from, text, examples } = sheet;
    let from = match from {
        None => json!({ "kind": "built-in" }),
        Some((PackOwner::User, file, line)) => json!({ "kind": "user", "file": file, "line": line }),
        Some((PackOwner::Project, file, line)) => json!({ "kind": "project", "file": file, "line": line }),
    };
    json!({
        "schema": SCHEMA, "id": info.name, "title": info.title, "message": info.message, "severity": info.severity,
        "own_severity": own_severity, "category": info.category, "cwe": info.cwe, "languages": languages, "off": is_off,
        "on": if *on_removed { "removed" } else { "added" }, "skips_tests": info.skips_tests, "hint": info.is_hint, "from": from, "text": text,
        "examples": { "bad": examples.bad, "good": examples.good },
    })
}

/// Renders all rules as a document, without their definitions.
pub fn list_json(all: &[RulePage]) -> String {
    let one = |sheet: &RulePage| {
        let mut one = document(sheet);
        if let Some(fields) = one.as_object_mut() {
            fields.remove("schema");
            fields.remove("text");
            fields.remove("examples");
        }
        one
    };
    format!("{:#}\n", json!({ "schema": SCHEMA, "rules": all.iter().map(one).collect::<Vec<_>>() }))
}

/// Renders the result of testing the rules of a folder as a document.
pub fn tested_json(folder: &str, tried: &FixtureReport) -> String {
    let fault =
        |FixtureFault { rule, case, what }: &FixtureFault| json!({ "rule": rule, "fixture": case, "what": what });
    let faults: Vec<Value> = tried.faults.iter().map(fault).collect();
    let all = json!({
        "schema": SCHEMA, "folder": folder, "rules": tried.rules, "fixtures": tried.cases, "passed": faults.is_empty(),
        "faults": faults,
    });
    format!("{all:#}\n")
}
