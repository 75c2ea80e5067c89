//! `review batch`: many reviews by one command.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Subcommand};

use super::DirectoryArgs;
use super::args::{ReviewerArgs, format_names, values};
use super::console::Console;
use crate::app::{self, AppError, BatchError, BatchRequest, BatchSelection, Cancel, Overrides, ProcessEnv};
use crate::config::parse_duration;
use crate::domain::batch::{BatchIndex, MOST_SHARDS, Shard};
use crate::domain::request::{Compare, Previous};
use crate::present::{Syntax, batch};

/// Time limit for all running reviews to be saved after an interrupt.
const GRACE: Duration = Duration::from_secs(30);

const EXAMPLES: &str = "\
Examples:
  review batch 'feature/*' --target main           review the branches that match
  review batch --all-branches --since 7d           every branch with a commit of the last week
  review batch --remote origin --jobs 8 --max-cost 20 --output reviews
  review batch --each-commit main..topic           each commit of a branch by itself
  review batch --prs open                          the open pull requests
  review batch --stdin < list                      REPO<TAB>HEAD<TAB>TARGET, one change a line
  review batch --all-branches --matrix 8           the shards, as a matrix for GitHub Actions
  review batch --all-branches --shard 3/8 --output shard-3
  review batch merge shard-* --output reviews      join what the shards wrote

--max-tokens, --max-cost and --timeout limit the whole batch, --max-turns each review. A review
whose commits, settings, prompts, rules and model are unchanged is served without a model call.

Exit codes, the first that holds:
  130 interrupted     4 the provider failed, and a review is empty
  2 a change that cannot be reviewed, usage or settings
  1 findings at or above --fail-on     3 a review is incomplete or was not begun
  5 an output could not be written     0 every review is complete

docs/batch.md has the details.";

#[expect(clippy::struct_excessive_bools, reason = "each is a flag")]
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, args_conflicts_with_subcommands = true)]
pub(super) struct BatchArgs {
    #[command(subcommand)]
    action: Option<BatchAction>,
    #[command(flatten)]
    place: DirectoryArgs,
    #[command(flatten)]
    selection: SelectionArgs,
    /// Leave out branches without a commit in this period (7d, 12h)
    #[arg(hide_short_help = true, long, value_name = "TIME", value_parser = |text: &str| parse_duration(text), help_heading = "What to review")]
    since: Option<Duration>,
    /// Print N shards as a matrix for GitHub Actions (JSON), and review nothing
    #[arg(hide_short_help = true, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST_SHARDS)), conflicts_with = "shard", help_heading = "What to review")]
    matrix: Option<u32>,
    /// Review again what is unchanged since its review
    #[arg(hide_short_help = true, long, help_heading = "What to review")]
    force: bool,
    /// Resume the reviews that were interrupted
    #[arg(hide_short_help = true, long, help_heading = "What to review")]
    resume: bool,
    /// Number of reviews at a time
    #[arg(long, short, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u8).range(1..=64), help_heading = "Who reviews")]
    jobs: u8,
    /// Send turns in message batches of the provider, at half the price; a turn may take a day
    #[arg(hide_short_help = true, long, help_heading = "Who reviews")]
    economy: bool,
    #[command(flatten, next_help_heading = "Who reviews")]
    reviewer: ReviewerArgs,
    /// Time limit of the batch (30m, 2h) [default: none; each review has its own]
    #[arg(hide_short_help = true, long, value_name = "TIME", value_parser = values::time(), help_heading = "Who reviews")]
    timeout: Option<String>,
    /// Review all files, also those that are unchanged since an earlier review of the branch
    #[arg(hide_short_help = true, long, help_heading = "Who reviews")]
    full: bool,
    /// Hide findings below this severity; they are counted
    #[arg(hide_short_help = true, long, value_name = "SEVERITY", value_parser = values::severity(), ignore_case = true, hide_possible_values = true, help_heading = "Output")]
    min_severity: Option<String>,
    /// Hide findings below this confidence (1 to 10)
    #[arg(hide_short_help = true, long, value_name = "N", help_heading = "Output")]
    min_confidence: Option<String>,
    /// Exit with 1 if a finding is at or above this severity, even if it is hidden
    #[arg(long, value_name = "SEVERITY", value_parser = values::severity(), ignore_case = true, help_heading = "Output")]
    fail_on: Option<String>,
    /// Print the reviews as a table for people, as JSON, or as a line of JSON each
    #[arg(short, long, value_name = "FORMAT", value_parser = ["terminal", "json", "ndjson"], default_value = "terminal", help_heading = "Output")]
    format: String,
    /// Write index.json, index.md, index.html and a folder for each review
    #[arg(short, long, value_name = "DIR", help_heading = "Output")]
    output: Option<PathBuf>,
    /// With --output: write each review in this format; repeatable [default: json, markdown]
    #[arg(hide_short_help = true, long, value_name = "FORMAT", value_parser = format_names(), requires = "output", hide_possible_values = true, help_heading = "Output")]
    review_format: Vec<String>,
    /// Print only errors on standard error
    #[arg(short, long, help_heading = "Output")]
    quiet: bool,
}

/// The flags that choose changes.
#[derive(Debug, Args)]
pub(super) struct SelectionArgs {
    /// Review the branches that match ('feature/*'); - reads a list from standard input
    #[arg(value_name = "BRANCH", value_parser = NonEmptyStringValueParser::new(), help_heading = "What to review")]
    branches: Vec<String>,
    /// Review all local branches
    #[arg(long, help_heading = "What to review")]
    all_branches: bool,
    /// Review the remote-tracking branches of this remote instead of local ones
    #[arg(long, value_name = "REMOTE", value_parser = NonEmptyStringValueParser::new(), help_heading = "What to review")]
    remote: Option<String>,
    /// Review each commit of a range by itself
    #[arg(hide_short_help = true, long, value_name = "A..B", value_parser = parse_range, conflicts_with_all = ["branches", "all_branches", "remote", "target"], help_heading = "What to review")]
    each_commit: Option<(String, String)>,
    /// Review the open pull requests of the repository
    #[arg(hide_short_help = true, long, value_name = "STATE", value_parser = ["open"], conflicts_with_all = ["branches", "all_branches", "remote", "target", "each_commit"], help_heading = "What to review")]
    prs: Option<String>,
    /// Review a list from standard input: REPO, HEAD and perhaps TARGET with tabs between them
    #[arg(hide_short_help = true, long, conflicts_with_all = ["branches", "all_branches", "remote", "target", "each_commit", "prs"], help_heading = "What to review")]
    stdin: bool,
    /// Compare with this branch or commit [default: for each branch as in `review`]
    #[arg(alias = "base", short, long, value_name = "REF", value_parser = NonEmptyStringValueParser::new(), help_heading = "What to review")]
    pub(super) target: Option<String>,
    /// Review only this part of the changes: the K-th of N shards
    #[arg(hide_short_help = true, long, value_name = "K/N", value_parser = |text: &str| text.parse::<Shard>(), help_heading = "What to review")]
    pub(super) shard: Option<Shard>,
}

impl SelectionArgs {
    /// Returns the choice of changes; the target and the shard are fields of their own.
    pub(super) fn selection(self) -> Result<BatchSelection, AppError> {
        let is_list = self.stdin || self.branches.iter().any(|name| name == "-");
        if is_list && (self.branches.len() > 1 || self.all_branches || self.remote.is_some() || self.target.is_some()) {
            return Err(BatchError::ListAndMore.into());
        }
        if let Some((from, to)) = self.each_commit {
            Ok(BatchSelection::EachCommit { from, to })
        } else if self.prs.is_some() {
            Ok(BatchSelection::OpenPulls)
        } else if is_list {
            Ok(BatchSelection::List)
        } else if self.branches.is_empty() && !self.all_branches && self.remote.is_none() {
            Err(BatchError::NoSelection.into())
        } else {
            Ok(BatchSelection::Branches { globs: self.branches, all: self.all_branches, remote: self.remote })
        }
    }
}

#[derive(Debug, Subcommand)]
enum BatchAction {
    /// Join the indexes of shards into one; a missing shard counts as incomplete
    Merge(MergeArgs),
}

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  review batch merge shard-* --output reviews")]
struct MergeArgs {
    /// The folders that the shards wrote with --output
    #[arg(value_name = "DIR", required = true)]
    folders: Vec<PathBuf>,
    /// Write the joined index.json, index.md and index.html, and the folders of all reviews
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Print the reviews as a table for people, as JSON, or as a line of JSON each
    #[arg(short, long, value_name = "FORMAT", value_parser = ["terminal", "json", "ndjson"], default_value = "terminal")]
    format: String,
}

fn parse_range(text: &str) -> Result<(String, String), String> {
    let or_head = |name: &str| if name.is_empty() { "HEAD".to_owned() } else { name.to_owned() };
    match text.split_once("..") {
        Some((from, to)) if !to.starts_with('.') => Ok((or_head(from), or_head(to))),
        _ => Err("write A..B: the commits that B has and A has not".to_owned()),
    }
}

impl BatchArgs {
    fn request(self) -> Result<BatchRequest, AppError> {
        let (target, shard) = (self.selection.target.clone(), self.selection.shard);
        let selection = self.selection.selection()?;
        let formats = if self.review_format.is_empty() {
            app::BATCH_FORMATS.map(str::to_owned).to_vec()
        } else {
            self.review_format
        };
        let flags = self.reviewer.overrides(Overrides {
            timeout: self.timeout,
            min_severity: self.min_severity,
            min_confidence: self.min_confidence,
            fail_on: self.fail_on,
            ..Overrides::default()
        });
        Ok(BatchRequest {
            directory: self.place.directory,
            selection,
            target,
            since: self.since,
            jobs: usize::from(self.jobs),
            shard,
            flags,
            compare: Compare { with: Previous::default(), full: self.full },
            force: self.force,
            resume: self.resume,
            economy: self.economy,
            output: self.output,
            formats,
        })
    }
}

pub(super) fn run(args: BatchArgs, console: &Console) -> Result<ExitCode, AppError> {
    if let Some(BatchAction::Merge(args)) = args.action {
        let index = app::merge_batches(&args.folders, args.output.as_deref())?;
        return finish(&index, &args.format, args.output.as_deref(), console);
    }
    if let Some(of) = args.matrix {
        let shards: Vec<String> = (1..=of).map(|number| Shard { number, of }.to_string()).collect();
        console.write_data(format!("{{\"shard\":[\"{}\"]}}\n", shards.join("\",\"")).as_bytes(), Syntax::Json)?;
        return Ok(ExitCode::SUCCESS);
    }
    let (quiet, format, output) = (args.quiet, args.format.clone(), args.output.clone());
    let request = args.request()?;
    let around = ProcessEnv::of_this_process()?;
    let progress = Arc::new(console.batch_progress(quiet));
    let cancel = Cancel::never();
    let work = app::run_batch(request, around, progress.clone(), cancel.clone());
    let ended = app::run_command(&cancel, &*progress, GRACE, work);
    progress.finish();
    finish(&ended?, &format, output.as_deref(), console)
}

/// Prints the outcome, writes its files, and returns the exit code. As with a review, a worse one takes precedence over a missing output.
fn finish(index: &BatchIndex, format: &str, output: Option<&Path>, console: &Console) -> Result<ExitCode, AppError> {
    match format {
        "json" => console.write_data(&batch::json(index), Syntax::Json)?,
        "ndjson" => console.write_data(&batch::lines(index), Syntax::Json)?,
        _ => console.write_data(batch::table(index).as_bytes(), Syntax::Plain)?,
    }
    let code = index.exit_code();
    if let Some(Err(error)) = output.map(|output| app::write_batch_index(output, index)) {
        console.print_to_stderr(&format!("error: {error}"));
        return Ok(ExitCode::from(if code == 0 { 5 } else { code }));
    }
    Ok(ExitCode::from(code))
}
