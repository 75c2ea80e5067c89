//! A saved review that may still be running, as a page that is rendered anew for each request. Main type: [`LiveReport`].

use std::path::PathBuf;

use crate::app::context::environment::ProcessEnv;
use crate::app::context::error::AppError;
use crate::app::context::saved_runs::{list_here, render};
use crate::domain::run_record::{SavedRun, StartedRun};
use crate::llm::ToolInput;
use crate::present::running::{RunProgress, render_running};
use crate::review::{JOURNAL, JournalRecord, read_journal};

use super::runs::show;

/// Upper bound on the reports that a page of a running review lists.
const MOST_REPORTS: usize = 100;

/// A review that is followed.
pub struct LiveReport {
    around: ProcessEnv,
    name: String,
    directory: PathBuf,
}

/// A page of it.
#[derive(Debug)]
pub struct LivePage {
    /// HTML, complete in itself.
    pub html: Vec<u8>,
    /// `true` if the review is done.
    pub is_final: bool,
}

impl LiveReport {
    /// Follows the run with this id, or a prefix of it; `last` is whichever run of the repository of `directory` is the newest.
    pub fn new(around: ProcessEnv, name: &str, directory: PathBuf) -> Self {
        Self { around, name: name.to_owned(), directory }
    }

    /// Renders what there is now. Fails if there is no such run, or its files cannot be read.
    pub fn page(&self) -> Result<LivePage, AppError> {
        let unfinished = if self.name == "last" {
            list_here(&self.around, &self.directory)?.0.into_iter().next()
        } else {
            self.around.store.unfinished(self.around.store.find(&self.name)?)?
        };
        if let Some(SavedRun::Unfinished { run, is_running }) = unfinished {
            let progress = RunProgress { is_running, ..self.progress(&run) };
            return Ok(LivePage { html: render_running(&run, &progress), is_final: false });
        }
        let review = show(&self.around, &self.name, &self.directory)?;
        let html = render(&review, "html", None).ok_or(AppError::Broken)?;
        Ok(LivePage { html, is_final: true })
    }

    /// Reads the journal as far as it goes: it is an addition, so whatever is wrong with it is left out.
    fn progress(&self, run: &StartedRun) -> RunProgress {
        let bytes = self.around.store.read(run.id, JOURNAL).unwrap_or_default();
        let mut progress = RunProgress::default();
        for entry in read_journal(&bytes).unwrap_or_default() {
            let JournalRecord::Answer { response, .. } = entry.record else { continue };
            progress.turns += 1;
            for call in response.calls().filter(|call| call.name == "report_finding") {
                let ToolInput::Object(input) = &call.input else { continue };
                let text = |key: &str| input.get(key).and_then(|value| value.as_str()).unwrap_or_default();
                if progress.reported.len() < MOST_REPORTS && !text("title").is_empty() {
                    progress.reported.push(format!("{} ({})", text("title"), text("file_path")));
                }
            }
        }
        progress
    }
}
