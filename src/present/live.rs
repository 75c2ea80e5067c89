//! A review that is being made, as Markdown: the skeleton, and a section for each finding so far. Main type: [`LiveReview`].
//!
//! Every text that is not ours goes through `escape`, as in the finished review.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::markdown::escape::{code, inline};
use super::markdown::severity as describe_severity;
use super::progress::describe_stage;
use crate::domain::event::{Event, ReviewStage};
use crate::domain::finding::Severity;
use crate::domain::path::{RepoPath, display_bytes};
use crate::domain::text::count_noun;

/// Upper bound on shown findings; the finished review has all.
const MOST: usize = 200;

/// The review so far.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LiveReview {
    stage: Option<ReviewStage>,
    /// The number of verified findings, and of those to verify.
    verified: Option<(u32, u32)>,
    findings: Vec<LiveFinding>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct LiveFinding {
    id: String,
    title: String,
    severity: Severity,
    path: String,
    line: Option<u32>,
}

impl LiveReview {
    /// Checks whether an event changes the text.
    pub fn shows(event: &Event) -> bool {
        matches!(event, Event::Stage { .. } | Event::Finding { .. } | Event::SecondLook { .. })
    }

    /// Takes an event into account.
    pub fn update(&mut self, event: &Event) {
        match event {
            Event::Stage { stage } => self.stage = Some(*stage),
            Event::SecondLook { done, of } => self.verified = Some((*done, *of)),
            Event::Finding { id, title, severity, path, line } => {
                let (id, title, path) = (id.clone(), title.clone(), path.clone());
                let finding = LiveFinding { id, title, severity: *severity, path, line: *line };
                match self.findings.iter_mut().find(|known| known.id == finding.id) {
                    Some(known) => *known = finding,
                    None => self.findings.push(finding),
                }
            }
            _ => {}
        }
    }

    /// Renders the review as it is now.
    pub fn render(&self) -> String {
        let mut state = self.stage.map_or("starting", describe_stage).to_owned();
        if let Some((done, of)) = self.verified {
            let _ = write!(state, ", {done} of {} verified", count_noun(of as usize, "finding"));
        }
        let mut out =
            format!("# Code review\n\n**In progress**: {state}. Findings may still change.\n\n## Findings\n\n");
        if self.findings.is_empty() {
            out.push_str("None so far.\n");
        }
        for (number, finding) in (1..).zip(self.findings.iter().take(MOST)) {
            let (severity, title) = (describe_severity(finding.severity), inline(&finding.title));
            let line = finding.line.map(|line| format!(":{line}")).unwrap_or_default();
            let place = code(&format!("{}{line}", finding.path));
            let _ = write!(out, "### {number}. {title}\n\n**{severity}** · {place}\n\n");
        }
        if self.findings.len() > MOST {
            let _ = writeln!(out, "And {} more.", self.findings.len() - MOST);
        }
        out.truncate(out.trim_end().len());
        out.push('\n');
        out
    }

    /// Returns the files of the findings so far.
    pub fn paths(&self) -> BTreeSet<RepoPath> {
        self.findings.iter().filter_map(|finding| RepoPath::from_bytes(&display_bytes(&finding.path)).ok()).collect()
    }

    /// Renders a review that ended with an error.
    pub fn render_failure(why: &str) -> String {
        format!("# Code review\n\n**Failed**: {}\n", inline(why))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(id: &str, title: &str, line: Option<u32>) -> Event {
        let (id, title, path) = (id.to_owned(), title.to_owned(), "src/a.rs".to_owned());
        Event::Finding { id, title, severity: Severity::High, path, line }
    }

    #[test]
    fn findings_are_sections_and_nothing_in_them_is_markup() {
        let mut live = LiveReview::default();
        assert_eq!(
            live.render(),
            "# Code review\n\n**In progress**: starting. Findings may still change.\n\n## Findings\n\nNone so far.\n"
        );
        let events = [
            Event::Stage { stage: ReviewStage::Review },
            finding("F1", "It *breaks*", None),
            finding("F2", "A <script>\n# heading ![x](y)", Some(3)),
            finding("F1", "It breaks", Some(12)),
            Event::SecondLook { done: 1, of: 2 },
        ];
        for event in &events {
            assert!(LiveReview::shows(event));
            live.update(event);
        }
        let text = live.render();
        assert!(text.contains("**In progress**: reviewing, 1 of 2 findings verified."), "{text}");
        assert!(text.contains("### 1. It breaks\n\n**🟠 high** · `src/a.rs:12`\n\n### 2. "), "{text}");
        assert!(!text.contains("<script>") && !text.contains("\n# heading") && !text.contains("!["), "{text}");
        assert_eq!(live.paths().len(), 1);
        assert!(!LiveReview::shows(&Event::Turn { turn: 1, most: 2 }));
    }

    #[test]
    fn many_findings_are_counted() {
        let mut live = LiveReview::default();
        (0..=MOST).for_each(|number| live.update(&finding(&number.to_string(), "t", None)));
        assert!(live.render().ends_with("And 1 more.\n"));
    }
}
