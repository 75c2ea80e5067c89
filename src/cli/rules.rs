//! `review rules`: lists the rules, explains one, and tests packs against their fixtures.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::DirectoryArgs;
use super::args::{ScopeArgs, ShapeArgs};
use super::console::Console;
use crate::app::{self, AppError, FixtureFault, FixtureReport, ProcessEnv, RuleOwner, RulePage};
use crate::domain::request::ReviewRequest;
use crate::domain::text::{count_noun, strip_block, strip_line};
use crate::present::Syntax;

/// The version of the JSON.
const SCHEMA: &str = "review-rules/1";
/// Exit code if a fixture fails.
const FAILED: u8 = 1;

/// Examples in the help text.
const EXAMPLES: &str = "\
Examples:
  review rules list                       all of them: the built-in ones, yours and the project's
  review rules list --target release      with the project's rules and settings of another branch
  review rules explain go/defer-in-loop   what a rule says, and how to switch it off
  review rules test                       try the packs in .review/rules on their fixtures
  review rules test ~/my-rules            the same of a folder of your own

docs/writing-rules.md says how packs and fixtures are written, docs/rules.md has the built-in rules.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct RulesArgs {
    #[command(subcommand)]
    what: RulesCommand,
}

#[derive(Debug, Subcommand)]
enum RulesCommand {
    /// List all rules: severity, category, languages, where each comes from, which are off
    List(RuleListArgs),
    /// Say what a rule finds, why that matters, what defines it, and how to live without it
    Explain(RuleExplainArgs),
    /// Try the packs of a folder on their fixtures; ends with 1 when one fails, with 2 when a pack is broken
    Test(RuleTestArgs),
}

#[derive(Debug, Args)]
struct RuleListArgs {
    #[command(flatten)]
    format: RuleFormatArgs,
    #[command(flatten)]
    read: RuleReadArgs,
}

#[derive(Debug, Args)]
struct RuleExplainArgs {
    /// The rule, such as go/defer-in-loop; the part behind the slash where only one rule has it
    #[arg(value_name = "ID")]
    rule: String,
    #[command(flatten)]
    format: RuleFormatArgs,
    #[command(flatten)]
    read: RuleReadArgs,
}

#[derive(Debug, Args)]
struct RuleTestArgs {
    /// The folder with the packs: of x.yml, fixtures stand in x/ID/ [default: .review/rules of the project]
    #[arg(value_name = "DIR")]
    folder: Option<PathBuf>,
    #[command(flatten)]
    format: RuleFormatArgs,
    #[command(flatten)]
    place: DirectoryArgs,
}

#[derive(Debug, Args)]
struct RuleFormatArgs {
    /// Print it for people, or as JSON
    #[arg(long, value_name = "FORMAT", value_parser = ["terminal", "json"], default_value = "terminal")]
    format: String,
}

impl RuleFormatArgs {
    fn is_json(&self) -> bool {
        self.format == "json"
    }
}

#[derive(Debug, Args)]
struct RuleReadArgs {
    #[command(flatten)]
    place: DirectoryArgs,
    #[command(flatten, next_help_heading = "The change whose project's rules hold")]
    scope: ScopeArgs,
    #[command(flatten, next_help_heading = "Settings")]
    shape: ShapeArgs,
}

impl RuleReadArgs {
    fn request(&self) -> ReviewRequest {
        ReviewRequest {
            directory: self.place.directory.clone(),
            settings_from_worktree: self.shape.settings_from_worktree(),
            scope: self.scope.clone().scope(),
        }
    }
}

pub(super) fn run(args: &RulesArgs, console: &Console) -> Result<ExitCode, AppError> {
    let print =
        |text: &str, is_json| console.write_data(text.as_bytes(), if is_json { Syntax::Json } else { Syntax::Plain });
    match &args.what {
        RulesCommand::List(RuleListArgs { format, read }) => {
            let around = ProcessEnv::of_this_process()?;
            let all = app::list_rules(&read.request(), &read.shape.overrides(), &around)?;
            let text = if format.is_json() { listed_json(&all) } else { render_list(&all) };
            print(&text, format.is_json())?;
        }
        RulesCommand::Explain(RuleExplainArgs { rule, format, read }) => {
            let around = ProcessEnv::of_this_process()?;
            let sheet = app::explain_rule(&read.request(), rule, &read.shape.overrides(), &around)?;
            let text = if format.is_json() { format!("{:#}\n", explained_json(&sheet)) } else { render_rule(&sheet) };
            print(&text, format.is_json())?;
        }
        RulesCommand::Test(RuleTestArgs { folder, format, place }) => {
            let (folder, tried) = app::test_rules(&place.directory, folder.as_deref(), &app::Cancel::never())?;
            let folder = folder.display().to_string();
            let text =
                if format.is_json() { tested_json(&folder, &tried) } else { render_test_result(&folder, &tried) };
            print(&text, format.is_json())?;
            if !tried.faults.is_empty() {
                return Ok(ExitCode::from(FAILED));
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

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

fn render_list(all: &[RulePage]) -> String {
    let mut out = String::new();
    let width = all.iter().map(|sheet| sheet.info.name.chars().count()).max().unwrap_or(0).min(60);
    let mut last: Option<Option<&(RuleOwner, String, u32)>> = None;
    for sheet in all {
        let from = sheet.from.as_ref();
        let is_other = last.is_none_or(|last| last.map(|(_, file, _)| file) != from.map(|(_, file, _)| file));
        if is_other {
            out.push_str(if out.is_empty() { "" } else { "\n" });
            out.push_str(&format!("{}\n", describe_owner(from)));
        }
        last = Some(from);
        let changed = describe_state(sheet);
        let changed = if changed.is_empty() { String::new() } else { format!(" ({})", changed.join(", ")) };
        out.push_str(&format!(
            "  {:width$}  {:8}  {:14}  {}{changed}\n",
            sheet.info.name,
            sheet.info.severity,
            sheet.info.category,
            languages(sheet)
        ));
        out.push_str(&format!("  {:width$}  {}\n", "", strip_line(&sheet.info.title)));
    }
    let off = all.iter().filter(|sheet| sheet.is_off).count();
    let off = if off > 0 { format!(", {off} of them off") } else { String::new() };
    out.push_str(&format!("\n{}{off}; `review rules explain ID` says more of one\n", count_noun(all.len(), "rule")));
    out
}

/// Names the source of rules, as a heading.
fn describe_owner(from: Option<&(RuleOwner, String, u32)>) -> String {
    match from {
        None => "built in".to_owned(),
        Some((RuleOwner::User, file, _)) => format!("yours, {}", strip_line(file)),
        Some((RuleOwner::Project, file, _)) => format!("the project's, {}", strip_line(file)),
    }
}

fn render_rule(sheet: &RulePage) -> String {
    let info = &sheet.info;
    let mut out = format!("{}\n{}\n\n{}\n\n", info.name, strip_line(&info.title), strip_block(&info.message));
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
        out.push_str(&value.map_or_else(String::new, |value| format!("{name:10}{value}\n")));
    }
    match &sheet.text {
        None => out.push_str("\nIt is code of the program, not a pattern.\n"),
        Some(text) => {
            out.push_str("\nIt is defined so:\n\n");
            for line in strip_block(text).lines() {
                out.push_str(format!("  {line}").trim_end());
                out.push('\n');
            }
        }
    }
    let name = &info.name;
    out.push_str(&format!(
        "\nTo switch it off, or to give it another severity, in .review.toml or in your own settings:\n\n  \
         [rules]\n  off = [\"{name}\"]\n  severity = [\"{name}=low\"]\n\n\
         To allow it at one place, in a comment there or on the line above:\n\n  review:allow({name}) why it is right here\n"
    ));
    out
}

fn render_test_result(folder: &str, tried: &FixtureReport) -> String {
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

fn explained_json(sheet: &RulePage) -> Value {
    let RulePage { info, own_severity, is_off, languages, on_removed, from, text } = sheet;
    let from = match from {
        None => json!({ "kind": "built-in" }),
        Some((RuleOwner::User, file, line)) => json!({ "kind": "user", "file": file, "line": line }),
        Some((RuleOwner::Project, file, line)) => json!({ "kind": "project", "file": file, "line": line }),
    };
    json!({
        "schema": SCHEMA, "id": info.name, "title": info.title, "message": info.message, "severity": info.severity,
        "own_severity": own_severity, "category": info.category, "cwe": info.cwe, "languages": languages, "off": is_off,
        "on": if *on_removed { "removed" } else { "added" }, "skips_tests": info.skips_tests, "hint": info.is_hint, "from": from, "text": text,
    })
}

fn listed_json(all: &[RulePage]) -> String {
    let one = |sheet: &RulePage| {
        let mut one = explained_json(sheet);
        if let Some(fields) = one.as_object_mut() {
            fields.remove("schema");
            fields.remove("text");
        }
        one
    };
    format!("{:#}\n", json!({ "schema": SCHEMA, "rules": all.iter().map(one).collect::<Vec<_>>() }))
}

fn tested_json(folder: &str, tried: &FixtureReport) -> String {
    let fault =
        |FixtureFault { rule, case, what }: &FixtureFault| json!({ "rule": rule, "fixture": case, "what": what });
    let faults: Vec<Value> = tried.faults.iter().map(fault).collect();
    let all = json!({
        "schema": SCHEMA, "folder": folder, "rules": tried.rules, "fixtures": tried.cases, "passed": faults.is_empty(),
        "faults": faults,
    });
    format!("{all:#}\n")
}
