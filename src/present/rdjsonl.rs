//! Reviewdog's diagnostics, one JSON object on each line.
//!
//! Reviewdog reads lines with a scanner that holds 64 KiB and stops silently at a longer one (`parser/rdjsonl.go`; `MaxScanTokenSize` of
//! Go's `bufio`), so that everything after it would be lost: no line here is longer than [`LINE`]. The contents of a diagnostic belong in
//! `rdjson`.

use super::json::escape_invisible;
use super::rdjson::{BODY, RdjsonDiagnostic, diagnostic};
use super::report::{HeadPlaces, ReportEntry, entries_with_limits};
use super::{Presenter, RenderOptions, Syntax};
use crate::domain::review::Review;

/// The presenter of this file.
pub(super) const PRESENTER: Presenter =
    Presenter { name: "rdjsonl", extension: "rdjsonl", syntax: Syntax::Json, render };

/// Upper bound on a line, in bytes.
const LINE: usize = 60 * 1024;

fn render(review: &Review, _: &RenderOptions) -> Vec<u8> {
    let places = HeadPlaces::of(&review.change);
    let mut out = String::new();
    for entry in entries_with_limits(review) {
        out.push_str(&line(&entry, &places));
        out.push('\n');
    }
    out.into_bytes()
}

/// Renders an entry on a line of limited length: in full, else without its suggestion, else with less and less of its text.
fn line(entry: &ReportEntry<'_>, places: &HeadPlaces<'_>) -> String {
    let whole = to_json(&diagnostic(entry, places, BODY).with_source());
    if whole.len() <= LINE {
        return whole;
    }
    let mut most = BODY;
    loop {
        let line = to_json(&diagnostic(entry, places, most).with_source().without_optional_parts());
        if line.len() <= LINE || most == 0 {
            return line;
        }
        most /= 2;
    }
}

fn to_json(diagnostic: &RdjsonDiagnostic) -> String {
    escape_invisible(serde_json::to_string(diagnostic).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::present::{json, presenter};
    use proptest::prelude::*;

    fn rendered(change: impl FnOnce(&mut Review)) -> Vec<String> {
        let mut review = json::parse(include_bytes!("../../fixtures/documents/typical.json")).unwrap();
        change(&mut review);
        let bytes = (presenter("rdjsonl").unwrap().render)(&review, &RenderOptions::default());
        String::from_utf8(bytes).unwrap().lines().map(str::to_owned).collect()
    }

    #[test]
    fn a_suggestion_that_makes_a_line_too_long_is_left_out_and_that_is_said() {
        let lines = rendered(|review| {
            review.findings[1].suggestion.as_mut().unwrap().replacement = "x\n".repeat(100_000);
            review.findings[0].body = "漢字\u{1}".repeat(100_000);
        });
        assert_eq!(lines.len(), 5);
        assert!(lines.iter().all(|line| line.len() <= LINE));
        let one: serde_json::Value = serde_json::from_str(&lines[1]).unwrap();
        assert!(one.get("suggestions").is_none());
        assert!(one["message"].as_str().unwrap().contains("too long for this format"));
        assert_eq!(one["source"]["name"], "review", "a line stands for itself");
    }

    #[test]
    fn a_complete_review_without_findings_is_empty() {
        assert_eq!(rendered(|review| review.findings.clear()), Vec::<String>::new());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn each_finding_is_one_line_whatever_it_says(title in any::<String>(), body in any::<String>(), times in 1_usize..4000) {
            let lines = rendered(|review| {
                review.findings[0].title = title;
                review.findings[0].body = body.repeat(times);
            });
            prop_assert_eq!(lines.len(), 5);
            for line in lines {
                prop_assert!(line.len() <= LINE);
                let read: serde_json::Value = serde_json::from_str(&line).unwrap();
                prop_assert!(!read["message"].as_str().unwrap().trim().is_empty());
            }
        }
    }
}
