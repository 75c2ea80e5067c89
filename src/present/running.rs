//! A review that is not done yet, as a page for a browser. Main function: [`render_running`].
//!
//! The page of a review that is done belongs in `html`.

use minijinja::context;

use super::html::page;
use crate::domain::run_record::StartedRun;

/// Progress of a run, as its journal has it so far.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunProgress {
    /// `true` if a process is at it; else it was interrupted.
    pub is_running: bool,
    /// Turns of the model.
    pub turns: usize,
    /// Titles and places of reports, in order; nothing proved them yet.
    pub reported: Vec<String>,
}

/// Renders the page of a run without a review.
pub fn render_running(run: &StartedRun, progress: &RunProgress) -> Vec<u8> {
    page(
        "running.html",
        context! {
            change => format!("{} → {}", run.target, run.head_name),
            repository => run.repository.as_str(),
            run => run.id.to_string(),
            started => run.started_at.as_str(),
            is_running => progress.is_running,
            turns => progress.turns,
            reported => progress.reported.clone(),
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::run::{Engine, RunId};

    #[test]
    fn a_run_is_shown_as_what_it_is_and_its_texts_are_escaped() {
        let run = StartedRun {
            id: RunId::random(),
            started_at: "2026-11-24T12:00:00Z".to_owned(),
            repository: "demo".to_owned(),
            target: "main".to_owned(),
            head_name: "<script>".to_owned(),
            pull: None,
            engine: Engine::Rules,
            identity: None,
        };
        let progress =
            RunProgress { is_running: true, turns: 3, reported: vec!["<img src=x onerror=y> (a.py)".to_owned()] };
        let text = |progress: &RunProgress| String::from_utf8(render_running(&run, progress)).unwrap();
        let running = text(&progress);
        assert!(
            running.contains("is running") && running.contains("3 turns") && running.contains("&lt;img"),
            "{running}"
        );
        assert!(!running.contains("<img") && !running.contains("main → <script>"), "{running}");
        let ended = text(&RunProgress { is_running: false, ..progress });
        assert!(ended.contains("was interrupted") && ended.contains("review --resume"), "{ended}");
    }
}
