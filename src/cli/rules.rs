//! `review rules`: lists the rules, explains one, and tests packs against their fixtures.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use clap_complete::engine::ArgValueCandidates;

use super::DirectoryArgs;
use super::args::{ScopeArgs, ShapeArgs};
use super::candidates;
use super::console::Console;
use crate::app::{self, AppError, ProcessEnv};
use crate::domain::finding::Severity;
use crate::domain::request::ReviewRequest;
use crate::present::{Syntax, rule_list};

/// Exit code if a fixture fails.
const FAILED: u8 = 1;

/// Examples in the help text.
const EXAMPLES: &str = "\
Examples:
  review rules list                       all of them: the built-in ones, yours and the project's
  review rules list python --severity high   those of a language, from a severity on
  review rules list --target release      with the project's rules and settings of another branch
  review rules explain go/defer-in-loop   what a rule finds, and how to disable it
  review rules test                       test the packs in .review/rules on their fixtures
  review rules test ~/my-rules            test a folder of your own

docs/writing-rules.md explains how to write packs and fixtures, docs/rules.md has the built-in rules.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct RulesArgs {
    #[command(subcommand)]
    what: RulesCommand,
}

#[derive(Debug, Subcommand)]
enum RulesCommand {
    /// List all rules: severity, category, languages, source, and which are off
    List(RuleListArgs),
    /// Show what a rule finds, why that matters, its definition, and how to disable it
    Explain(RuleExplainArgs),
    /// Test the packs of a folder on their fixtures; exits with 1 if one fails, with 2 if a pack is broken
    Test(RuleTestArgs),
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  review rules list
  review rules list python
  review rules list go --severity high --format json")]
struct RuleListArgs {
    /// Only those of this language or pack
    #[arg(value_name = "LANGUAGE")]
    language: Option<String>,
    /// Only those at or above this severity
    #[arg(long, value_name = "SEVERITY", value_parser = |text: &str| Severity::from_word(text).ok_or("it is critical, high, medium, low or nit"))]
    severity: Option<Severity>,
    #[command(flatten)]
    format: RuleFormatArgs,
    #[command(flatten)]
    read: RuleReadArgs,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  review rules explain go/defer-in-loop
  review rules explain defer-in-loop --yaml    its definition instead of examples")]
struct RuleExplainArgs {
    /// The rule, such as go/defer-in-loop; the part after the slash if only one rule has it
    #[arg(value_name = "ID", add = ArgValueCandidates::new(candidates::rules))]
    rule: String,
    /// Show its definition instead of examples
    #[arg(long)]
    yaml: bool,
    #[command(flatten)]
    format: RuleFormatArgs,
    #[command(flatten)]
    read: RuleReadArgs,
}

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  review rules test ~/my-rules")]
struct RuleTestArgs {
    /// The folder with the packs: of x.yml, fixtures are in x/ID/ [default: .review/rules of the project]
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
    #[arg(short, long, value_name = "FORMAT", value_parser = ["terminal", "json"], default_value = "terminal")]
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
        RulesCommand::List(RuleListArgs { language, severity, format, read }) => {
            let around = ProcessEnv::of_this_process()?;
            let mut all = app::list_rules(&read.request(), &read.shape.overrides(), &around)?;
            if let Some(language) = language {
                app::retain_language(&mut all, language)?;
            }
            all.retain(|sheet| severity.is_none_or(|least| sheet.info.severity <= least));
            let width = console.stdout_is_terminal.then_some(console.width);
            let text = if format.is_json() { rule_list::list_json(&all) } else { rule_list::list(&all, width) };
            print(&text, format.is_json())?;
        }
        RulesCommand::Explain(RuleExplainArgs { rule, yaml, format, read }) => {
            let around = ProcessEnv::of_this_process()?;
            let sheet = app::explain_rule(&read.request(), rule, &read.shape.overrides(), &around)?;
            let text = if format.is_json() {
                rule_list::page_json(&sheet)
            } else {
                rule_list::page(&sheet, *yaml, console.width)
            };
            print(&text, format.is_json())?;
        }
        RulesCommand::Test(RuleTestArgs { folder, format, place }) => {
            let (folder, tried) = app::test_rules(&place.directory, folder.as_deref(), &app::Cancel::never())?;
            let folder = folder.display().to_string();
            let text = if format.is_json() {
                rule_list::tested_json(&folder, &tried)
            } else {
                rule_list::tested(&folder, &tried)
            };
            print(&text, format.is_json())?;
            if !tried.faults.is_empty() {
                return Ok(ExitCode::from(FAILED));
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}
