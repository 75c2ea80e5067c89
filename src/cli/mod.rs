//! The command line: arguments, and errors as people see them.
//!
//! Main type: [`Cli`]. A subcommand is one file here, one variant and one arm. What a command does belongs in `app`.

use std::borrow::Cow;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Parser, Subcommand};

mod action;
mod apply;
mod args;
mod ask;
mod batch;
mod build;
mod candidates;
mod completions;
mod config;
mod console;
mod dismiss;
mod doctor;
mod editor;
mod eval;
mod guidelines;
mod init;
mod lsp;
mod mcp;
mod models;
mod open;
mod pages;
mod parse_helper;
mod post;
mod present;
mod prompt;
mod queue;
mod replay;
mod report;
mod review;
mod rules;
mod runs;
mod serve;
mod tool;
mod trust;
mod worker;

use args::ReviewArgs;
use console::Console;

use crate::app::{self, AppError};
use crate::domain::nearest::nearest;
use crate::present::Syntax;

/// Time limit for a stage to react to an interrupt before it is abandoned.
const GRACE: Duration = Duration::from_secs(3);

const EXAMPLES: &str = "\
Examples:
  review                           review this branch against the remote's default branch
  review main                      review the commits of HEAD since main
  review HEAD~3..HEAD src/         review a range, and only what is in src/
  review --staged                  review the staged changes
  review --commit 1a2b3c4          review one commit
  review 12                        review a pull request, without checking it out
  review 12 --post                 and post the review to it
  git diff | review --diff -       review a patch, with or without a repository
  review --resume last             resume an interrupted run
  review --present editor          show it in the window of the editor, step by step
  review --format json --fail-on high --target main     gate a merge

Exit codes:
  0 complete, nothing at or above --fail-on    1 findings at or above it
  2 usage or settings                          3 incomplete, or nothing was reviewed
  4 the provider failed, nothing reviewed      5 an output could not be written or posted
  130 interrupted (findings so far are saved)";

/// Reviews a change: the commits of HEAD since the target, one commit, the index, the disk, or a patch.
///
/// With no subcommand it reviews. Data goes to standard output, everything else to standard error.
#[derive(Debug, Parser)]
#[command(
    name = "review",
    version,
    after_help = EXAMPLES,
    args_conflicts_with_subcommands = true,
    max_term_width = 100
)]
pub struct Cli {
    #[command(subcommand)]
    command: Option<CliCommand>,
    #[command(flatten)]
    review: ReviewArgs,
}

#[derive(Debug, Subcommand)]
enum CliCommand {
    /// Review many branches, commits or pull requests, several at a time
    Batch(batch::BatchArgs),
    /// Run a build, tests or a linter of the project, and print what it says in a few lines
    Build(build::BuildArgs),
    /// List saved reviews, newest first
    List(runs::RunListArgs),
    /// Show a saved review, in any format
    Show(runs::RunShowArgs),
    /// Open a saved review in a browser, as a page with filters and the diff
    Open(open::OpenArgs),
    /// Ask a model about a finding or a saved review
    Ask(ask::AskArgs),
    /// Print findings as a task for a coding agent
    Prompt(prompt::PromptArgs),
    /// Apply the suggestions of findings to the checkout
    Apply(apply::ApplyArgs),
    /// Dismiss a finding for the whole project, with a reason
    Dismiss(dismiss::DismissArgs),
    /// Post a saved review to its pull request, updating the comments already there
    Post(post::PostArgs),
    /// Set reviews up: the model, the git hook, the workflow
    Init(init::InitArgs),
    /// List the rules, explain one, or test your own against their fixtures
    Rules(rules::RulesArgs),
    /// Show which guidelines of the project a model gets, and for which files
    Guidelines(guidelines::GuidelinesArgs),
    /// Show every setting with its value and source, or set one
    Config(config::ConfigArgs),
    /// List models: which are usable now, what they can do, and what they cost
    Models(models::ModelsArgs),
    /// Check that reviews work here: settings, git, this machine, and a test call to the model
    Doctor(doctor::DoctorArgs),
    /// Serve AI assistants over MCP
    Mcp(mcp::McpArgs),
    /// Serve editors over LSP: findings as diagnostics
    Lsp(lsp::LspArgs),
    /// Review the jobs of a queue, on this machine or one of many
    Worker(worker::WorkerArgs),
    /// Print a completion script for a shell
    Completions(completions::CompletionsArgs),
    /// Manage the queue of jobs that workers review
    Queue(queue::QueueArgs),
    /// Take webhooks of GitHub: pull requests that change become jobs
    Serve(serve::ServeArgs),
    /// Let the tools run that the repository here declares for `review build`
    Trust(trust::TrustArgs),
    /// Remove saved reviews that are older than the settings allow
    Prune(runs::RunPruneArgs),
    /// Run as a GitHub Actions step: review the change of its event, with its inputs
    ///
    /// The Action of this repository installs the program and runs this. It takes no flags: the event comes from `GITHUB_EVENT_NAME` and
    /// `GITHUB_EVENT_PATH`, the repository from `GITHUB_REPOSITORY`, the token from `GITHUB_TOKEN`, and each input of the Action from a
    /// variable of its own (fail-on from `INPUT_FAIL_ON`). Files go to `RUNNER_TEMP`, what came of it to `GITHUB_OUTPUT` and
    /// `GITHUB_STEP_SUMMARY`.
    ///
    /// It exits as a review does, and with 2 if no model is chosen (`INPUT_MODEL=none`: only the built-in rules). With
    /// `INPUT_ON_ERROR=neutral` an outage of the provider ends with 0.
    ///
    /// docs/github-action.md has the workflows and all inputs, docs/gate.md says when a step passes.
    #[command(
        after_help = "Example:\n  run: review action        as a step of a workflow; the inputs come from its environment"
    )]
    Action,
    /// Find the window of an editor that shows reviews
    Editor(editor::EditorArgs),
    /// Benchmark reviews: precision and recall on known defects
    Eval(eval::EvalArgs),
    /// Present Markdown with its file references checked, as over MCP
    Present(present::PresentArgs),
    /// Replay a run from its journal, offline, and check that the result is identical
    Replay(replay::ReplayArgs),
    /// Call one of the tools of a model, and print its result
    Tool(tool::ToolArgs),
    /// Write the manual pages to a folder
    #[command(hide = true)]
    Man(completions::ManArgs),
}

/// The output of `--version` alone. Programs ask for it often, and it needs no parser of commands and flags.
const VERSION: &str = concat!("review ", env!("CARGO_PKG_VERSION"), "\n");

/// Runs the program with its command line (the first item is the program's name) and returns its exit code.
pub fn main(words: impl IntoIterator<Item = OsString>) -> ExitCode {
    let console = Console::of_this_process();
    console.install_panic_hook();
    let words: Vec<OsString> = words.into_iter().collect();
    if words.get(1).is_some_and(|word| word == app::SUPERVISOR) {
        // Before anything else: it has to have no other threads.
        return match app::supervise(words.into_iter().skip(2)) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                console.print_to_stderr(&format!("review: {error}"));
                ExitCode::from(2)
            }
        };
    }
    if words.get(1).is_some_and(|word| word == app::PARSE_HELPER) {
        // Most reviews start one: it makes no table of commands and flags.
        return parse_helper::run(&console).unwrap_or_else(|error| report::report(&error, &console));
    }
    if let Some(page) = page_for(&words, &console) {
        let written = console.write_data(page.as_bytes(), Syntax::Plain);
        return written.map_or_else(|error| report::report(&error.into(), &console), |()| ExitCode::SUCCESS);
    }
    if let Some(shell) = std::env::var_os(completions::VARIABLE) {
        let after = words.into_iter().skip_while(|word| word != "--").skip(1).collect();
        let done = completions::complete(&shell.to_string_lossy(), after, &console);
        return done.unwrap_or_else(|error| report::report(&error, &console));
    }
    let cli = match Cli::try_parse_from(words) {
        Ok(cli) => cli,
        Err(mut error) => {
            suggest_by_meaning(&mut error);
            // Help and version are output, not errors: clap knows the stream and exit code of each.
            return match console.print_usage(&error) {
                Err(fault) => report::report(&fault.into(), &console),
                Ok(()) => u8::try_from(error.exit_code()).map_or(ExitCode::FAILURE, ExitCode::from),
            };
        }
    };
    let console = console.with_verbose(cli.review.verbose);
    run(cli, &console).unwrap_or_else(|error| report::report(&error, &console))
}

/// Returns the text that a command line asks for, if it is a fixed one: no table of commands and flags is made for it. The text of `--help` is
/// fixed where nothing decides its width and color.
fn page_for(words: &[OsString], console: &Console) -> Option<Cow<'static, str>> {
    let words: Option<Vec<&str>> = words.iter().skip(1).map(|word| word.to_str()).collect();
    match words?.as_slice() {
        ["--version" | "-V"] => Some(VERSION.into()),
        ["-h" | "help"] => Some(pages::FIRST_PAGE.into()),
        ["--help"] if console.has_no_terminal() => Some(pages::WHOLE_PAGE.into()),
        ["help", "all"] => Some(pages::all_commands().into()),
        _ => None,
    }
}

/// Replaces the suggestion for an unknown flag: by what people mean with it, or by a flag that is spelled like it, or none.
fn suggest_by_meaning(error: &mut clap::Error) {
    if error.kind() != ErrorKind::UnknownArgument {
        return;
    }
    let Some(ContextValue::String(flag)) = error.get(ContextKind::InvalidArg).cloned() else { return };
    let like = match error.get(ContextKind::SuggestedArg) {
        Some(ContextValue::String(like)) => {
            let bare = |flag: &str| flag.trim_start_matches('-').to_owned();
            nearest(&bare(&flag), [bare(like).as_str()]).map(|_| like.clone())
        }
        _ => None,
    };
    error.remove(ContextKind::SuggestedArg);
    error.remove(ContextKind::Suggested);
    // It shows the flag that was suggested.
    error.remove(ContextKind::Usage);
    // The command's own flag of that name is not unknown, so a meaning always helps.
    if let Some(meant) = pages::flag_like(&flag).map(str::to_owned).or(like) {
        error.insert(ContextKind::SuggestedArg, ContextValue::String(meant));
    }
}

/// Time limit of a command that has no `--timeout` and makes no network requests.
const LONGEST: Duration = Duration::from_mins(20);
/// Time limit of a command that shows a few lines about the repository.
const LONGEST_LOOK: Duration = Duration::from_mins(5);

fn run(cli: Cli, console: &Console) -> Result<ExitCode, AppError> {
    let own = console.clone();
    match cli.command {
        None => review::run(cli.review, console),
        Some(CliCommand::Batch(args)) => batch::run(args, console),
        Some(CliCommand::Queue(args)) => queue::run(args, console),
        Some(CliCommand::Worker(args)) => worker::run(args, console),
        Some(CliCommand::Serve(args)) => serve::run(&args, console),
        Some(CliCommand::Build(args)) => build::run(args, console),
        Some(CliCommand::Trust(args)) => {
            app::with_time_limit("trusting", LONGEST_LOOK, move || trust::run(&args, &own))
        }
        Some(CliCommand::List(args)) => {
            app::with_time_limit("listing the runs", LONGEST, move || runs::list(&args, &own))
        }
        Some(CliCommand::Post(args)) => post::run(&args, console),
        Some(CliCommand::Show(args)) => {
            app::with_time_limit("showing the run", LONGEST, move || runs::show(&args, &own))
        }
        Some(CliCommand::Open(args)) => {
            app::with_time_limit("opening the run", LONGEST, move || open::run(&args, &own))
        }
        Some(CliCommand::Ask(args)) => ask::run(args, console),
        Some(CliCommand::Prompt(args)) => {
            app::with_time_limit("printing the task", LONGEST, move || prompt::run(args, &own))
        }
        Some(CliCommand::Dismiss(args)) => {
            app::with_time_limit("dismissing", LONGEST, move || dismiss::run(args, &own))
        }
        // A person answers: there is no time limit.
        Some(CliCommand::Apply(args)) if args.interactive => apply::run(args, console),
        Some(CliCommand::Apply(args)) => app::with_time_limit("applying", LONGEST, move || apply::run(args, &own)),
        Some(CliCommand::Replay(args)) => replay::run(&args, console),
        Some(CliCommand::Prune(args)) => {
            app::with_time_limit("removing runs", LONGEST, move || runs::prune(&args, &own))
        }
        Some(CliCommand::Action) => action::run(console),
        Some(CliCommand::Present(args)) => {
            app::with_time_limit("presenting", LONGEST, move || present::run(&args, &own))
        }
        Some(CliCommand::Tool(args)) => tool::run(args, console),
        Some(CliCommand::Lsp(args)) => lsp::run(args, console),
        Some(CliCommand::Mcp(args)) => mcp::run(args, console),
        Some(CliCommand::Editor(args)) => editor::run(&args, console),
        Some(CliCommand::Guidelines(args)) => {
            app::with_time_limit("looking for guidelines", LONGEST_LOOK, move || guidelines::run(&args, &own))
        }
        Some(CliCommand::Rules(args)) => app::with_time_limit("the rules", LONGEST, move || rules::run(&args, &own)),
        Some(CliCommand::Models(args)) => models::run(&args, console),
        Some(CliCommand::Config(args)) => config::run(args, console),
        Some(CliCommand::Init(args)) => init::run(args, console),
        Some(CliCommand::Doctor(args)) => doctor::run(args, console),
        Some(CliCommand::Eval(args)) => eval::run(args, console),
        Some(CliCommand::Completions(args)) => completions::run(&args, console),
        Some(CliCommand::Man(args)) => completions::manual(&args, console),
    }
}

/// The folder in which a command looks for the repository.
#[derive(Debug, Clone, clap::Args)]
struct DirectoryArgs {
    /// Work in this folder instead of the current one
    #[arg(
        short = 'C',
        long = "directory",
        visible_alias = "repo-path",
        value_name = "DIR",
        default_value = ".",
        hide_default_value = true
    )]
    directory: PathBuf,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_short_way_to_the_version_says_what_the_long_one_does() {
        Cli::command().debug_assert();
        assert_eq!(VERSION, Cli::command().render_version());
    }
}
