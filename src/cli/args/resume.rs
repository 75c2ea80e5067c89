//! The flags for resuming a run. Main type: [`ResumeArgs`].

use clap::Args;
use clap::builder::NonEmptyStringValueParser;

/// A run to resume. Its recorded inputs apply: only budgets, outputs and posting may be given with it.
#[derive(Debug, Clone, Args)]
pub(in crate::cli) struct ResumeArgs {
    /// Go on with a run that was broken off, or ended too early: its id, the beginning of one, or `last`
    ///
    /// After a kill, an interrupt, a lost network or a spent budget. What was answered is not asked for again, and counts against the budgets
    /// (give more with --max-tokens, --max-turns, --max-cost, --timeout). What is reviewed, how and by whom, is taken from the run; if commits, files,
    /// prompts or settings changed since, it says so and does nothing. `review list` shows the runs.
    #[arg(
        long,
        value_name = "ID",
        value_parser = NonEmptyStringValueParser::new(),
        conflicts_with_all = [
            "target", "head", "commit", "range", "staged", "uncommitted", "diff", "pr", "include", "exclude", "settings", "model", "no_model", "instructions", "verify", "verify_model",
            "min_severity", "min_confidence", "all_lines", "hints", "leads"
        ]
    )]
    resume: Option<String>,
    /// With --resume: go on with the commits, prompts and settings of then, though they changed
    #[arg(long, requires = "resume")]
    resume_as_recorded: bool,
}

impl ResumeArgs {
    /// Returns the id of the run.
    pub(in crate::cli) fn run(&self) -> Option<String> {
        self.resume.clone()
    }

    pub(in crate::cli) fn as_recorded(&self) -> bool {
        self.resume_as_recorded
    }
}
