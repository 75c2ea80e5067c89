//! The flags of a review, and their conversion to a request.

mod resume;
pub(super) mod values;
mod words;

use std::path::PathBuf;

use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use clap_complete::engine::ArgValueCandidates;

pub(super) use resume::ResumeArgs;
use words::WordArgs;

use super::DirectoryArgs;
use super::candidates;
use super::editor::EditorLocationArgs;
use crate::app::{AppError, MovedHeadPolicy, OutputFile, Overrides, PostOptions};
use crate::domain::forge::PullSpecifier;
use crate::domain::request::{Compare, PatchSource, Previous, ReviewScope};
use crate::present;

/// The change to review. At most one scope; `--target` and `--head` go together.
#[derive(Debug, Clone, Args)]
pub(super) struct ScopeArgs {
    /// Compare with this branch or commit [default: the remote's default branch]
    #[arg(add = ArgValueCandidates::new(candidates::references), short, long, visible_alias = "base", alias = "target-branch", value_name = "REF", value_parser = NonEmptyStringValueParser::new())]
    target: Option<String>,
    /// Review this branch or commit instead of HEAD
    #[arg(add = ArgValueCandidates::new(candidates::references),
        long,
        value_name = "REF",
        value_parser = NonEmptyStringValueParser::new(),
        conflicts_with_all = ["commit", "range", "staged", "uncommitted", "all", "diff"]
    )]
    head: Option<String>,
    /// Review one commit (a merge: against its first parent)
    #[arg(add = ArgValueCandidates::new(candidates::references), long, value_name = "REF", value_parser = NonEmptyStringValueParser::new(), group = "scope", conflicts_with = "target")]
    commit: Option<String>,
    /// Review a range: A..B compares the two, A...B starts at their merge base
    #[arg(long, value_name = "A..B", group = "scope", conflicts_with = "target", value_parser = parse_range)]
    range: Option<(String, String, bool)>,
    /// Review the staged changes
    #[arg(long, group = "scope", conflicts_with = "target")]
    staged: bool,
    /// Review uncommitted changes, including untracked files
    #[arg(long, group = "scope", conflicts_with = "target")]
    uncommitted: bool,
    /// Review the branch and its uncommitted changes in one review
    #[arg(long, group = "scope")]
    all: bool,
    /// Review a patch from a file, or from standard input with -
    #[arg(long, value_name = "FILE|-", group = "scope", conflicts_with = "target")]
    diff: Option<PathBuf>,
}

/// The pull request to review.
#[derive(Debug, Clone, Args)]
pub(super) struct PullArgs {
    /// Review a pull request: its number, owner/repo#number, or the URL
    #[arg(
        long,
        value_name = "PR",
        group = "scope",
        conflicts_with_all = ["target", "head"],
        value_parser = |text: &str| text.parse::<PullSpecifier>()
    )]
    pr: Option<PullSpecifier>,
}

impl PullArgs {
    pub(super) fn scope(self) -> Option<ReviewScope> {
        self.pr.map(ReviewScope::Pull)
    }
}

fn parse_range(text: &str) -> Result<(String, String, bool), String> {
    let (from, to, three) = match text.split_once("...") {
        Some((from, to)) => (from, to, true),
        None => {
            let (from, to) = text.split_once("..").ok_or("write A..B or A...B")?;
            (from, to, false)
        }
    };
    let or_head = |name: &str| if name.is_empty() { "HEAD".to_owned() } else { name.to_owned() };
    Ok((or_head(from), or_head(to), three))
}

impl ScopeArgs {
    /// Returns the flag that names the whole change, if one is given.
    fn flag(&self) -> Option<&'static str> {
        let flags = [
            (self.commit.is_some(), "--commit"),
            (self.range.is_some(), "--range"),
            (self.staged, "--staged"),
            (self.uncommitted, "--uncommitted"),
            (self.all, "--all"),
            (self.diff.is_some(), "--diff"),
        ];
        flags.into_iter().find(|(is_given, _)| *is_given).map(|(_, flag)| flag)
    }

    pub(super) fn scope(self) -> ReviewScope {
        if let Some(commit) = self.commit {
            ReviewScope::Commit(commit)
        } else if let Some((from, to, from_merge_base)) = self.range {
            ReviewScope::Range { from, to, from_merge_base }
        } else if self.staged {
            ReviewScope::Staged
        } else if self.uncommitted {
            ReviewScope::Uncommitted
        } else if self.all {
            ReviewScope::BranchWithWorktree { target: self.target }
        } else if let Some(path) = self.diff {
            ReviewScope::Patch(if path.as_os_str() == "-" { PatchSource::Stdin } else { PatchSource::File(path) })
        } else {
            ReviewScope::Branch { target: self.target, head: self.head }
        }
    }

    /// Returns the scope with another head; only a branch scope has one to replace.
    pub(super) fn scope_at(mut self, head: Option<String>) -> ReviewScope {
        if head.is_some() {
            self.head = head;
        }
        self.scope()
    }
}

/// Settings that affect the result, for every scope.
#[derive(Debug, Clone, Args)]
pub(super) struct ShapeArgs {
    /// Review and read only files that match; repeatable
    #[arg(long, value_name = "GLOB")]
    include: Vec<String>,
    /// Do not review or read files that match; repeatable
    #[arg(long, value_name = "GLOB")]
    exclude: Vec<String>,
    /// Read the project's settings from the target tip or from the disk
    #[arg(long, value_name = "WHERE", value_parser = ["target", "worktree"], default_value = "target")]
    settings: String,
    /// Time limit; what was found so far is kept (90s, 5m) [default: 20m]
    #[arg(long, value_name = "TIME", value_parser = values::time())]
    timeout: Option<String>,
}

impl ShapeArgs {
    /// Converts these flags to settings.
    pub(super) fn overrides(&self) -> Overrides {
        Overrides {
            include: self.include.clone(),
            exclude: self.exclude.clone(),
            timeout: self.timeout.clone(),
            ..Overrides::default()
        }
    }

    pub(super) fn settings_from_worktree(&self) -> bool {
        self.settings == "worktree"
    }
}

/// Options for posting a review.
#[derive(Debug, Clone, Args)]
pub(super) struct PostingArgs {
    /// Print the requests as JSON instead of sending them
    #[arg(long)]
    pub(super) dry_run: bool,
    /// Request changes if a finding is at or above this severity; a review never approves
    #[arg(long, value_name = "SEVERITY", value_parser = values::severity(), ignore_case = true)]
    pub(super) request_changes_on: Option<String>,
    /// Comment on the lines of findings at or above this severity; the others stand in the summary [default: medium]
    #[arg(long, value_name = "SEVERITY", value_parser = values::severity(), ignore_case = true)]
    pub(super) comment_on: Option<String>,
    /// Bring at most this many comments on lines, for the worst findings [default: 10]
    #[arg(long, value_name = "N")]
    pub(super) max_comments: Option<String>,
    /// If the head has moved since the review: re-anchor the findings, or post nothing [default: reanchor]
    #[arg(long, value_name = "WHAT", value_parser = ["reanchor", "stop"])]
    moved_head: Option<String>,
}

impl PostingArgs {
    /// Converts them to the program's options, with `pull` if a pull request is named.
    pub(super) fn options(&self, pull: Option<PullSpecifier>) -> PostOptions {
        let moved_head = match self.moved_head.as_deref() {
            Some("stop") => MovedHeadPolicy::Stop,
            _ => MovedHeadPolicy::Reanchor,
        };
        PostOptions { pull, dry_run: self.dry_run, moved_head }
    }
}

/// Flags that post a review when it is made.
#[derive(Debug, Clone, Args)]
pub(super) struct PostAfterReviewArgs {
    /// Post the review on the pull request
    // The program checks which scope it goes with: clap requires nothing that another flag excludes.
    #[arg(long)]
    post: bool,
    /// With --post: print the requests as JSON instead of sending them
    #[arg(long, requires = "post", conflicts_with = "events")]
    dry_run: bool,
    /// With --post: request changes if a finding is at or above this severity; a review never approves
    #[arg(long, value_name = "SEVERITY", value_parser = values::severity(), ignore_case = true, hide_possible_values = true, requires = "post")]
    request_changes_on: Option<String>,
    /// With --post: comment on the lines of findings at or above this severity [default: medium]
    #[arg(long, value_name = "SEVERITY", value_parser = values::severity(), ignore_case = true, hide_possible_values = true, requires = "post")]
    comment_on: Option<String>,
    /// With --post: bring at most this many comments on lines [default: 10]
    #[arg(long, value_name = "N", requires = "post")]
    max_comments: Option<String>,
    /// With --post: if the head has moved since, re-anchor the findings, or post nothing [default: reanchor]
    #[arg(long, value_name = "WHAT", value_parser = ["reanchor", "stop"], requires = "post")]
    moved_head: Option<String>,
}

impl PostAfterReviewArgs {
    /// Converts them to the program's options; `None` without `--post`.
    pub(super) fn options(&self) -> Option<PostOptions> {
        let how = PostingArgs {
            dry_run: self.dry_run,
            request_changes_on: self.request_changes_on.clone(),
            comment_on: self.comment_on.clone(),
            max_comments: self.max_comments.clone(),
            moved_head: self.moved_head.clone(),
        };
        self.post.then(|| how.options(None))
    }
}

/// The baseline of a review.
#[derive(Debug, Clone, Args)]
pub(super) struct CompareArgs {
    /// Ignore previous reviews: review all files and report late findings too
    ///
    /// Otherwise a model skips files that are unchanged since an earlier review of the branch covered them; their findings stay open.
    #[arg(long)]
    full: bool,
    /// Compare with this review: a saved run, a file written by --output json=FILE, or none [default: the newest of the branch]
    ///
    /// Findings keep their ids from review to review, and are reported as new, still open, fixed or reopened.
    #[arg(long, value_name = "RUN|FILE|none", value_parser = NonEmptyStringValueParser::new())]
    previous: Option<String>,
}

impl CompareArgs {
    pub(super) fn compare(&self) -> Compare {
        let with = self.previous.as_deref().map_or_else(Previous::default, Previous::from_name);
        Compare { with, full: self.full }
    }
}

/// The reviewer and its limits.
#[derive(Debug, Clone, Args)]
pub(super) struct ReviewerArgs {
    /// Review with this model: PROVIDER/NAME, or a PROVIDER alone
    ///
    /// Of several, separated by commas, each takes over when the one before it fails for good. Without --model, the first provider that has a key
    /// is used, and named before anything is sent; without a key, only the built-in rules run. `review models` shows what can be used.
    #[arg(short, long, value_name = "MODEL", value_parser = values::ModelParser, hide_possible_values = true, conflicts_with = "no_model", add = ArgValueCandidates::new(candidates::models))]
    model: Option<String>,
    /// Let your logged-in assistant review, with its plan: claude-code, codex, gemini or opencode
    ///
    /// It runs without a window, with the tools of this review and none of its own. NAME/MODEL chooses one of its models. docs/agents.md says
    /// what it can do.
    #[arg(long, value_name = "NAME", value_parser = values::AgentParser, hide_possible_values = true, conflicts_with_all = ["model", "no_model"])]
    agent: Option<String>,
    /// Use only the built-in rules; nothing is sent anywhere
    #[arg(long)]
    no_model: bool,
    /// Verify model findings in a separate conversation: auto (critical and high; medium while budget is left), all or none [default: auto]
    ///
    /// A refuted finding is not shown, but counted with the reason; one that could not be verified is marked `not verified`. Verification
    /// uses the same budget.
    #[arg(hide_short_help = true, long, value_name = "WHICH", value_parser = values::verify(), ignore_case = true, hide_possible_values = true)]
    verify: Option<String>,
    /// Model for verification; it receives code [default: the model that reviews]
    #[arg(hide_short_help = true, long, value_name = "MODEL", value_parser = values::ModelParser, hide_possible_values = true)]
    verify_model: Option<String>,
    /// Let the model run builds, tests and linters of the project: all, or those named
    ///
    /// They run in a sandbox without network that has to hold, on a copy of the reviewed commit. `review build list` names them; docs/build.md says
    /// what a model may do with them.
    #[arg(hide_short_help = true, long, value_name = "NAMES", num_args = 0..=1, require_equals = true, default_missing_value = "all", value_delimiter = ',', conflicts_with = "no_model")]
    allow_build: Vec<String>,
    /// Maximum number of turns [default: 40]
    #[arg(hide_short_help = true, long, value_name = "N")]
    max_turns: Option<String>,
    /// Maximum number of tokens sent to the model (500k, 2m) [default: 2m]
    #[arg(hide_short_help = true, long, value_name = "N")]
    max_tokens: Option<String>,
    /// Maximum cost in dollars (2.50); needs the prices of the model [default: no limit]
    #[arg(long, value_name = "DOLLARS")]
    max_cost: Option<String>,
}

impl ReviewerArgs {
    /// Adds these flags to settings.
    pub(super) fn overrides(&self, base: Overrides) -> Overrides {
        Overrides {
            model: if self.no_model {
                Some("none".to_owned())
            } else {
                self.agent.clone().or_else(|| self.model.clone())
            },
            verify: self.verify.clone(),
            verify_model: self.verify_model.clone(),
            allow_build: self.allow_build.clone(),
            max_turns: self.max_turns.clone(),
            max_tokens: self.max_tokens.clone(),
            max_cost: self.max_cost.clone(),
            ..base
        }
    }
}

/// The places that show a review while it is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum PresentIn {
    /// An editor, if one is found
    Auto,
    /// An editor; a note says so if there is none
    Editor,
    /// Nothing
    None,
}

/// All flags of a review.
#[expect(clippy::struct_excessive_bools, reason = "each is a flag")]
#[derive(Debug, Clone, Args)]
pub(super) struct ReviewArgs {
    #[command(flatten)]
    words: WordArgs,
    #[command(flatten)]
    pub(super) place: DirectoryArgs,
    #[command(flatten, next_help_heading = "What to review")]
    pub(super) scope: ScopeArgs,
    #[command(flatten, next_help_heading = "What to review")]
    pub(super) pull: PullArgs,
    #[command(flatten, next_help_heading = "What to review")]
    pub(super) again: ResumeArgs,
    #[command(flatten, next_help_heading = "What to look for")]
    pub(super) shape: ShapeArgs,
    #[command(flatten, next_help_heading = "Who reviews")]
    reviewer: ReviewerArgs,
    /// Also report what the rules find on unchanged lines of changed files, marked as such
    #[arg(long, help_heading = "What to look for")]
    all_lines: bool,
    /// Also report hints: rules whose matches were more often intentional than bugs
    #[arg(long, help_heading = "What to look for")]
    hints: bool,
    /// Add the text of this file to the model's instructions
    ///
    /// A file inside the repository is read from the target tip, so that a change cannot bring its own; with
    /// `--settings worktree`, from the disk.
    #[arg(long, value_name = "FILE", help_heading = "Who reviews")]
    instructions: Option<PathBuf>,
    /// Use the results of another scanner (a SARIF file) as leads; repeatable
    ///
    /// Results on changed lines are checked like those of the rules: a model confirms or refutes them; without a model they are reported as
    /// that scanner's findings. Other results are counted.
    #[arg(long, value_name = "FILE", help_heading = "Who reviews")]
    pub(super) leads: Vec<PathBuf>,
    /// Run a linter or type checker of the project (auto: those that it configures); repeatable
    ///
    /// It runs in a sandbox without network, on the checkout or a copy of the reviewed commit. What it says about changed lines is used like
    /// --leads; the rest is counted. docs/build.md has the names, and what a sandbox does not hold.
    #[arg(long, value_name = "NAME", help_heading = "Who reviews")]
    pub(super) check: Vec<String>,
    #[command(flatten, next_help_heading = "Who reviews")]
    pub(super) compare: CompareArgs,
    /// Show what would be sent to whom, what is left out, and the expected cost and time; sends nothing and needs no key
    #[arg(long, conflicts_with_all = ["resume", "post", "events", "output"], help_heading = "Who reviews")]
    pub(super) preview: bool,
    #[command(flatten, next_help_heading = "Posting")]
    pub(super) post: PostAfterReviewArgs,
    /// Hide findings below this severity; they are counted
    #[arg(long, value_name = "SEVERITY", value_parser = values::severity(), ignore_case = true, hide_possible_values = true, help_heading = "Output")]
    min_severity: Option<String>,
    /// Hide findings below this confidence (1 to 10); they are counted, but ignored by --fail-on
    #[arg(long, value_name = "N", help_heading = "Output")]
    min_confidence: Option<String>,
    /// Exit with 1 if a finding is at or above this severity, even if it is hidden
    #[arg(long, value_name = "SEVERITY", value_parser = values::severity(), ignore_case = true, help_heading = "Output")]
    fail_on: Option<String>,
    /// Print the review in this format [default: terminal]
    #[arg(short, long, value_name = "FORMAT", value_parser = format_names(), help_heading = "Output")]
    pub(super) format: Option<String>,
    /// Print events as JSON lines; the last one contains the review
    #[arg(long, conflicts_with = "format", help_heading = "Output")]
    pub(super) events: bool,
    /// Also write the review to a file (review.json, or sarif=FILE); repeatable
    #[arg(short, long, value_name = "FORMAT=FILE|FILE", value_parser = parse_output, help_heading = "Output")]
    pub(super) output: Vec<OutputFile>,
    /// Show the review in the window of an editor while it is made: auto (if there is one), editor or none
    ///
    /// An editor is found as `review editor probe` shows. One that fails never changes the review: what it did not show is a note.
    #[arg(long, value_name = "WHERE", value_enum, default_value_t = PresentIn::Auto, hide_possible_values = true, hide_default_value = true, help_heading = "Output")]
    pub(super) present: PresentIn,
    #[command(flatten, next_help_heading = "Output")]
    pub(super) editor: EditorLocationArgs,
    /// The time for the last steps in an editor, in milliseconds; for tests
    #[arg(long, value_name = "MS", default_value_t = 3_000, hide = true)]
    pub(super) present_wait: u64,
    /// Color the output: auto, always or never
    #[arg(long = "color", alias = "colour", value_name = "WHEN", value_parser = values::colour(), ignore_case = true, hide_possible_values = true, help_heading = "Output")]
    pub(super) colour: Option<String>,
    /// Do not use a pager for a report that is longer than the screen
    #[arg(long, help_heading = "Output")]
    pub(super) no_pager: bool,
    /// Print only errors on standard error
    #[arg(short, long, help_heading = "Output")]
    pub(super) quiet: bool,
    /// Print each step on standard error
    #[arg(short, long, conflicts_with = "quiet", help_heading = "Output")]
    pub(super) verbose: bool,
}

pub(super) fn format_names() -> clap::builder::PossibleValuesParser {
    present::names().into()
}

fn parse_output(text: &str) -> Result<OutputFile, String> {
    let Some((format, file)) = text.split_once('=') else { return output_by_extension(text) };
    if present::presenter(format).is_none() {
        return Err(format!("no such format; there are {}", present::names().join(", ")));
    }
    if file.is_empty() {
        return Err("the file name is empty".to_owned());
    }
    if let Some((_, next)) = file.split_once(',')
        && next.split_once('=').is_some_and(|(format, _)| present::presenter(format).is_some())
    {
        return Err(format!("it takes one file: repeat the flag, as in --output {format}=… --output {next}"));
    }
    if file == "-" {
        return Err(format!("it takes a file (./- for one of this name); --format {format} prints it"));
    }
    Ok(OutputFile { format: format.to_owned(), file: PathBuf::from(file) })
}

/// Reads a file name alone: its extension names the format.
fn output_by_extension(text: &str) -> Result<OutputFile, String> {
    let file = PathBuf::from(text);
    let format = match file.extension().and_then(|extension| extension.to_str()) {
        Some("md" | "markdown") => "markdown",
        Some("html" | "htm") => "html",
        Some("json") => "json",
        Some("sarif") => "sarif",
        Some("rdjson") => "rdjson",
        Some("rdjsonl") => "rdjsonl",
        Some("txt") => "terminal",
        _ => return Err("write FORMAT=FILE, like json=review.json".to_owned()),
    };
    Ok(OutputFile { format: format.to_owned(), file })
}

impl ReviewArgs {
    /// Rejects a format that the output of a dry run does not have.
    pub(super) fn check(&self) -> Result<(), AppError> {
        match self.format.as_deref() {
            Some(name) if self.post.dry_run && name != "json" => {
                let known = "json alone: a dry run prints the requests that would be sent";
                Err(AppError::format("--format with --dry-run", name, known))
            }
            Some(name) if self.preview && !matches!(name, "terminal" | "json") => {
                Err(AppError::format("--format with --preview", name, "terminal, json"))
            }
            _ => Ok(()),
        }
    }

    /// Converts the flags to settings.
    pub(super) fn overrides(&self) -> Overrides {
        Overrides {
            min_severity: self.min_severity.clone(),
            min_confidence: self.min_confidence.clone(),
            fail_on: self.fail_on.clone(),
            request_changes_on: self.post.request_changes_on.clone(),
            comment_on: self.post.comment_on.clone(),
            max_comments: self.post.max_comments.clone(),
            format: self.format.clone(),
            colour: self.colour.clone(),
            instructions: self.instructions.clone(),
            rules_lines: self.all_lines.then(|| "all".to_owned()),
            rules_hints: self.hints.then(|| "told".to_owned()),
            ..self.reviewer.overrides(self.shape.overrides())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_written_with_two_dots_or_three() {
        assert_eq!(parse_range("a..b"), Ok(("a".into(), "b".into(), false)));
        assert_eq!(parse_range("a...b"), Ok(("a".into(), "b".into(), true)));
        assert_eq!(parse_range("a.."), Ok(("a".into(), "HEAD".into(), false)));
        assert!(parse_range("a").is_err());
    }

    #[test]
    fn an_output_names_its_format() {
        assert!(parse_output("json=x.json").is_ok());
        assert_eq!(parse_output("x.json").unwrap().format, "json");
        assert_eq!(parse_output("out/x.sarif").unwrap().format, "sarif");
        assert!(parse_output("x.pdf").is_err());
        assert!(parse_output("json=a,sarif=b").unwrap_err().contains("repeat the flag"));
        assert!(parse_output("json=a,b").is_ok());
        assert!(parse_output("pdf=x").is_err());
        assert!(parse_output("json=").is_err());
    }
}
