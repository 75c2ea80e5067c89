//! The flags for resuming a run. Main type: [`ResumeArgs`].

use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use clap_complete::engine::ArgValueCandidates;

/// A run to resume. Its recorded inputs apply: only budgets, outputs and posting may be given with it.
#[derive(Debug, Clone, Args)]
pub(in crate::cli) struct ResumeArgs {
    /// Resume an interrupted or incomplete run: its id, a prefix of one, or `last`
    ///
    /// For a run that was killed, interrupted, lost its network or used up its budget. Responses already received are not requested again, and
    /// count against the budgets (raise them with --max-tokens, --max-turns, --max-cost, --timeout). The change, the model and the settings are
    /// those of the run; if commits, files, prompts or settings have changed since, it stops and says so. `review list` shows the runs.
    #[arg(
        long,
        value_name = "ID",
        add = ArgValueCandidates::new(crate::cli::candidates::runs),
        value_parser = NonEmptyStringValueParser::new(),
        conflicts_with_all = [
            "target", "head", "commit", "range", "staged", "uncommitted", "diff", "pr", "include", "exclude", "settings", "model", "agent", "no_model", "instructions", "verify", "verify_model", "allow_build",
            "min_severity", "min_confidence", "all_lines", "hints", "leads", "check"
        ]
    )]
    resume: Option<String>,
    /// With --resume: use the recorded commits, prompts and settings even if they have changed
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
