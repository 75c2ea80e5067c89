//! The summary on the page of the run: the review, its destination, and failures. Main function: [`write()`].

use super::super::variables::{self, ActionVariables};
use super::{PostDestination, StepOutcome, StepReview};
use crate::app::context::error::AppError;
use crate::app::context::saved_runs::render;
use crate::present::escape::{fenced, inline};
use crate::sys::files::{AppendFile, FileError};

/// GitHub's limit in bytes per step; a longer summary is discarded entirely.
const MOST: usize = 1 << 20;
/// Columns of an error message.
const WIDTH: usize = 100;

/// Appends to the file that the runner names; does nothing if it names none.
pub(super) fn write(given: &ActionVariables, text: &str) -> Result<(), FileError> {
    let Some(path) = given.get(variables::SUMMARY) else { return Ok(()) };
    AppendFile::open(path.as_ref())?.append(text.as_bytes())
}

/// Renders the summary: Markdown of at most [`MOST`] bytes.
pub(super) fn text(did: &Result<StepOutcome, AppError>, beside: &[String]) -> String {
    let mut notes = String::new();
    for line in beside {
        notes.push_str(&format!("\n{}\n", inline(line)));
    }
    match did {
        Err(error) => {
            format!("### Review: error\n\n{}\n{notes}", fenced("", &wrapped(&error.to_string())))
        }
        Ok(StepOutcome::Skipped(why)) => format!("### Review: skipped\n\n{}\n{notes}", inline(why)),
        Ok(StepOutcome::Superseded { why, .. }) => format!("### Review: superseded\n\n{}\n{notes}", inline(why)),
        Ok(StepOutcome::Posted { posted, .. }) => format!("### Review\n\n{}\n{notes}", went(posted)),
        Ok(StepOutcome::Reviewed(made)) => {
            let end = format!("\n{}\n{notes}", went(&made.posted));
            let page = page(made);
            if page.len() + end.len() <= MOST {
                return format!("{page}{end}");
            }
            // The review has a limit of its own; this one is for the few lines after it.
            format!("### Review: {}\n\nThe summary is too long for this page; the files have it.\n{end}", outcome(made))
        }
    }
}

/// Wraps text, since the page does not wrap the contents of a fence.
fn wrapped(text: &str) -> String {
    // Only at spaces: the text quotes what the user has to write.
    let options = textwrap::Options::new(WIDTH).word_separator(textwrap::WordSeparator::AsciiSpace);
    textwrap::fill(text, options.word_splitter(textwrap::WordSplitter::NoHyphenation).break_words(false))
}

fn outcome(made: &StepReview) -> &'static str {
    made.delivered.review.outcome.as_str()
}

fn page(made: &StepReview) -> String {
    let bytes = render(&made.delivered.review, "job-summary", made.delivered.settings.fail_on);
    let text = String::from_utf8_lossy(&bytes.unwrap_or_default()).into_owned();
    if text.is_empty() { format!("### Review: {}\n", outcome(made)) } else { text }
}

/// Describes the destination of the review in one paragraph.
fn went(posted: &PostDestination) -> String {
    match posted {
        PostDestination::Review { pull, url: Some(url) } => {
            format!("The review stands on [{}](<{url}>).", inline(&pull.to_string()))
        }
        PostDestination::Review { pull, url: None } => format!("The review stands on {}.", inline(&pull.to_string())),
        PostDestination::Annotations(Some(why)) => format!("The findings are annotations of this run: {}", inline(why)),
        PostDestination::Annotations(None) => "The findings are annotations of this run.".to_owned(),
        PostDestination::Nowhere(why) => format!("Nothing was posted: {}", inline(why)),
    }
}
