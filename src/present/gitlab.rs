//! GitLab's Code Quality report: an array of violations, as GitLab documents it for third-party tools.
//!
//! GitLab shows violations that the target's report does not have. A finding is identified by its id, which is the same on every run; an
//! incomplete review is identified by the run, so that it is new each time. The limits of a review, such as a language without rules, are no
//! news of a change: they have the same identity on every run, and are shown where the target's report does not have them.

use serde::Serialize;

use super::json::escape_invisible;
use super::report::{ReportEntry, entries_with_limits, plain_line, severity_names};
use super::{Presenter, RenderOptions, Syntax};
use crate::domain::place::LineRange;
use crate::domain::review::Review;

/// The presenter of this file.
pub(super) const PRESENTER: Presenter =
    Presenter { name: "gitlab", extension: "gitlab.json", syntax: Syntax::Json, render };

/// Upper bound on the characters of a description, which GitLab shows on one line.
const DESCRIPTION: usize = 1000;

#[derive(Serialize)]
struct GitlabViolation {
    description: String,
    check_name: String,
    fingerprint: String,
    severity: &'static str,
    location: GitlabLocation,
}

#[derive(Serialize)]
struct GitlabLocation {
    path: String,
    lines: GitlabLines,
}

#[derive(Serialize)]
struct GitlabLines {
    begin: u32,
    end: u32,
}

fn render(review: &Review, _: &RenderOptions) -> Vec<u8> {
    let violations: Vec<GitlabViolation> = entries_with_limits(review).iter().map(violation).collect();
    // Plain fields always serialize.
    let mut text = serde_json::to_string_pretty(&violations).unwrap_or_default();
    text.push('\n');
    escape_invisible(text).into_bytes()
}

fn violation(entry: &ReportEntry<'_>) -> GitlabViolation {
    let note = entry.place.as_ref().map(|place| place.note.as_str()).unwrap_or_default();
    let parts = [entry.title.as_str(), note, entry.body.as_str()];
    let said: Vec<String> =
        parts.iter().map(|part| plain_line(part, DESCRIPTION)).filter(|part| !part.is_empty()).collect();
    let lines = entry.place.as_ref().and_then(|place| place.lines);
    GitlabViolation {
        description: plain_line(&said.join(" — "), DESCRIPTION),
        check_name: entry.check.clone(),
        fingerprint: entry.id.clone(),
        severity: severity_names(entry.severity).gitlab,
        location: GitlabLocation {
            path: entry.place.as_ref().map_or_else(|| ".".to_owned(), |place| place.path.display_name().into_owned()),
            // GitLab rejects a violation without a line: a whole file begins at its first.
            lines: GitlabLines { begin: lines.map_or(1, LineRange::start), end: lines.map_or(1, LineRange::end) },
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::present::{json, presenter};

    fn rendered(document: &[u8]) -> Vec<serde_json::Value> {
        let review = json::parse(document).unwrap();
        let bytes = (presenter("gitlab").unwrap().render)(&review, &RenderOptions::default());
        serde_json::from_slice(&bytes).unwrap()
    }

    #[test]
    fn what_is_one_violation_has_one_fingerprint() {
        let violations = rendered(include_bytes!("../../fixtures/documents/typical.json"));
        let fingerprints: std::collections::HashSet<&str> =
            violations.iter().map(|one| one["fingerprint"].as_str().unwrap()).collect();
        assert_eq!((violations.len(), fingerprints.len()), (5, 5));
        assert_eq!(violations[3]["fingerprint"], "c277d0f1e83b-2");
        assert_eq!(violations[2]["location"]["lines"]["begin"], 1, "its lines are gone");
    }

    #[test]
    fn an_unfinished_review_is_new_on_every_run() {
        let violations = rendered(include_bytes!("../../fixtures/documents/failed.json"));
        assert_eq!(violations.len(), 1);
        assert_eq!(
            (violations[0]["check_name"].as_str(), violations[0]["severity"].as_str()),
            (Some("review/failed"), Some("blocker"))
        );
        let document = String::from_utf8(include_bytes!("../../fixtures/documents/failed.json").to_vec()).unwrap();
        let id = violations[0]["fingerprint"].as_str().unwrap().to_owned();
        let again = rendered(document.replace(&id, "00000009-0000-4000-8000-000000000000").as_bytes());
        assert_ne!(again[0]["fingerprint"], violations[0]["fingerprint"]);
    }

    #[test]
    fn no_finding_is_no_violation() {
        assert!(rendered(include_bytes!("../../fixtures/documents/empty.json")).is_empty());
    }
}
