//! The words of a review that are no flags: the change, and paths. Main type: [`WordArgs`].

use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use clap_complete::engine::ArgValueCandidates;

use super::ReviewArgs;
use crate::app::{self, AppError, CommandWords};
use crate::cli::candidates;
use crate::cli::pages;
use crate::domain::request::ReviewScope;

/// The change by itself, as `git diff` takes it.
#[derive(Debug, Clone, Args)]
pub(in crate::cli) struct WordArgs {
    /// A branch or commit to compare with, a range, a pull request (12, #12 or its URL), or paths
    #[arg(value_name = "CHANGE|PATH", value_parser = NonEmptyStringValueParser::new(), conflicts_with = "resume", add = ArgValueCandidates::new(candidates::references))]
    words: Vec<String>,
    /// Only these files and folders
    #[arg(value_name = "PATH", value_parser = NonEmptyStringValueParser::new(), last = true, conflicts_with = "resume", value_hint = clap::ValueHint::AnyPath)]
    paths: Vec<String>,
}

impl ReviewArgs {
    /// Reads the words, and puts what they mean into the flags. Returns a note on how an ambiguous word was read.
    pub(in crate::cli) fn read_words(&mut self) -> Result<Option<String>, AppError> {
        let WordArgs { words, paths } = &self.words;
        if words.is_empty() && paths.is_empty() {
            return Ok(None);
        }
        let meaning = app::read_words(&CommandWords {
            directory: &self.place.directory,
            words,
            paths,
            target: self.scope.target.as_deref(),
            head: self.scope.head.as_deref(),
            scope_flag: self.scope.flag().or_else(|| self.pull.pr.as_ref().map(|_| "--pr")),
            find_command: &pages::command_like,
        })?;
        if !meaning.include.is_empty() && !self.shape.include.is_empty() {
            return Err(AppError::Unusable("paths and --include say the same: use one of them".to_owned()));
        }
        self.shape.include.extend(meaning.include);
        match meaning.scope {
            Some(ReviewScope::Branch { target, head }) => (self.scope.target, self.scope.head) = (target, head),
            Some(ReviewScope::Range { from, to, from_merge_base }) => {
                self.scope.range = Some((from, to, from_merge_base));
            }
            Some(ReviewScope::Pull(pull)) => self.pull.pr = Some(pull),
            _ => {}
        }
        Ok(meaning.notice)
    }
}
