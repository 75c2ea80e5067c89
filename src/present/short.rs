//! One line for each finding, for grep, quickfix lists and editors: `path:line:col: severity: title [check id]`.

use super::report::{self, ReportEntry};
use super::terminal::plain;
use super::{Presenter, RenderOptions, Syntax, matched};
use crate::domain::review::Review;

/// The presenter of this file.
pub(super) const PRESENTER: Presenter = Presenter { name: "short", extension: "txt", syntax: Syntax::Plain, render };

fn render(review: &Review, _: &RenderOptions) -> Vec<u8> {
    let lines = report::entries_with_limits(review).iter().map(line).collect::<Vec<_>>();
    lines.concat().into_bytes()
}

fn line(entry: &ReportEntry<'_>) -> String {
    let place = entry.place.as_ref().map_or_else(
        || "review".to_owned(),
        |place| {
            let line = place.lines.map_or(1, crate::domain::place::LineRange::start);
            // Deleted lines have no column at the head.
            let own = entry.finding.filter(|finding| {
                place.lines.is_some() && finding.anchors.first().is_some_and(|anchor| anchor.lines == place.lines)
            });
            format!("{}:{line}:{}", place.path.display_name(), own.map_or(1, matched::column))
        },
    );
    format!("{}\n", plain(&format!("{place}: {}: {} [{} {}]", entry.severity, entry.title, entry.check, entry.id)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::present::json;

    fn lines(document: &[u8]) -> Vec<String> {
        let bytes = render(&json::parse(document).unwrap(), &RenderOptions::default());
        String::from_utf8(bytes).unwrap().lines().map(str::to_owned).collect()
    }

    #[test]
    fn each_finding_is_a_line_with_a_place_that_editors_know() {
        let shown = lines(include_bytes!("../../fixtures/documents/typical.json"));
        assert_eq!(shown.len(), 5);
        for line in &shown {
            let parts: Vec<&str> = line.splitn(5, ':').collect();
            assert!(parts[1].parse::<u32>().is_ok() && parts[2].parse::<u32>().is_ok(), "{line}");
        }
        assert!(lines(include_bytes!("../../fixtures/documents/empty.json")).is_empty());
    }

    #[test]
    fn an_incomplete_review_is_never_silent() {
        for document in [
            &include_bytes!("../../fixtures/documents/incomplete.json")[..],
            include_bytes!("../../fixtures/documents/failed.json"),
        ] {
            assert!(lines(document)[0].contains(": critical: The review "), "{:?}", lines(document));
        }
    }

    #[test]
    fn hostile_text_stays_on_its_line() {
        for line in lines(include_bytes!("../../fixtures/documents/hostile.json")) {
            assert!(!line.chars().any(|c| c.is_control() || crate::domain::text::is_invisible(c)), "{line:?}");
            assert!(line.contains(": ") && line.ends_with(']'), "{line:?}");
        }
    }
}
