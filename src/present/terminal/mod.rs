//! The review for a terminal: plain text that reads well without colour, at any width from 40 columns up.
//!
//! `page` lays text out, `finding` draws one finding. Every text that is not ours is stripped before it is laid out, and laid out before it
//! is colored, so that an escape sequence is never split and never comes from the change.

mod doctor;
mod finding;
mod page;

use anstyle::{AnsiColor, Style};

pub(super) use doctor::checkup;

use super::{Presenter, RenderOptions, Syntax, digest};
use crate::domain::finding::{Finding, Severity};
use crate::domain::review::{Review, ReviewOutcome};
use crate::domain::text::strip_line;
use page::TerminalPage;

/// The presenter of this file.
pub(super) const PRESENTER: Presenter = Presenter {
    name: "terminal",
    extension: "txt",
    about: "plain text for people (the default)",
    syntax: Syntax::Plain,
    render,
};

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();
const GOOD: Style = AnsiColor::Green.on_default();
const WARN: Style = AnsiColor::Yellow.on_default();
const PLACE: Style = AnsiColor::Blue.on_default();
const BAD: Style = AnsiColor::Red.on_default();

fn render(review: &Review, options: &RenderOptions) -> Vec<u8> {
    let mut page = TerminalPage::new(options);
    head(&mut page, review);
    outcome(&mut page, review);
    findings(&mut page, review, options.why);
    for section in &review.sections {
        page.rule(&section.title, BOLD);
        page.prose(0, &section.body);
    }
    receipt(&mut page, review);
    page.blank();
    page.wrapped("", "", &digest::verdict(review), outcome_style(review.outcome).bold());
    for sentence in digest::closing(review) {
        page.wrapped("", "  ", &sentence, WARN);
    }
    page.finish()
}

/// Lays out Markdown like the texts of a review; without links.
pub(super) fn prose(markdown: &str, options: &RenderOptions) -> String {
    let mut page = TerminalPage::new(options);
    page.prose(0, markdown);
    String::from_utf8_lossy(&page.finish()).into_owned()
}

fn head(page: &mut TerminalPage<'_>, review: &Review) {
    let change = &review.change;
    page.wrapped("", "  ", &format!("{}  {}", change.repository, digest::change_names(change)), BOLD);
    if let Some((name, title)) = digest::pull(change) {
        page.wrapped("", "  ", &format!("pull request {name}: {title}"), Style::new());
    }
    page.parts(0, &digest::size(change), Style::new());
    page.wrapped("", "  ", &digest::reviewer(review), DIM);
}

fn outcome_style(outcome: ReviewOutcome) -> Style {
    match outcome {
        ReviewOutcome::Complete => GOOD,
        ReviewOutcome::Incomplete => WARN,
        ReviewOutcome::Failed => BAD,
    }
}

fn outcome(page: &mut TerminalPage<'_>, review: &Review) {
    let text = match review.outcome {
        ReviewOutcome::Complete => String::new(),
        ReviewOutcome::Incomplete => format!("Incomplete: {}.", digest::incomplete_label(review)),
        ReviewOutcome::Failed => format!("Failed: {}.", digest::nothing(review).to_lowercase()),
    };
    if !text.is_empty() {
        page.blank();
        page.wrapped("", "", &text, outcome_style(review.outcome).bold());
        for reason in &review.reasons {
            page.wrapped("  - ", "    ", reason, Style::new());
        }
    }
    if !review.summary.trim().is_empty() {
        page.blank();
        page.prose(0, &review.summary);
    }
}

fn severity_style(severity: Severity) -> Style {
    match severity {
        Severity::Critical => BAD.bold(),
        Severity::High => BAD,
        Severity::Medium => WARN,
        Severity::Low => AnsiColor::Cyan.on_default(),
        Severity::Nit => DIM,
    }
}

fn findings(page: &mut TerminalPage<'_>, review: &Review, why: bool) {
    titles(page, review);
    let mut number = 0;
    for severity in Severity::ALL {
        let group: Vec<&Finding> = review.main_findings().filter(|finding| finding.severity == *severity).collect();
        if group.is_empty() {
            continue;
        }
        page.rule(&format!("{severity} · {}", group.len()), severity_style(*severity));
        for (index, finding) in group.iter().enumerate() {
            number += 1;
            if index > 0 {
                page.blank();
            }
            finding::draw(page, number, finding, why);
        }
    }
    let also: Vec<&Finding> = review.also_noticed().collect();
    if !also.is_empty() {
        page.rule(&format!("{} · {}", digest::ALSO_NOTICED, also.len()), BOLD);
    }
    for finding in also {
        number += 1;
        finding::draw_line(page, number, finding);
    }
    let resolved: Vec<&Finding> = review.findings.iter().filter(|finding| finding.status.is_resolved()).collect();
    if !resolved.is_empty() {
        page.rule(&format!("resolved · {}", resolved.len()), DIM);
        for finding in resolved {
            let place = finding.anchors.first().map(digest::place).unwrap_or_default();
            let why = finding.dismissed.as_ref().map_or_else(String::new, |why| format!(": {}", why.describe()));
            let text = format!("{}: {} ({place}, {}){why}", finding.status, finding.title, finding.id);
            page.wrapped("  ", "    ", &text, Style::new());
        }
    }
}

/// Draws a table of severity, place and title if the main findings are many.
fn titles(page: &mut TerminalPage<'_>, review: &Review) {
    let main: Vec<&Finding> = review.main_findings().collect();
    if main.len() <= digest::MOST_WITHOUT_TABLE {
        return;
    }
    page.rule(&format!("main findings · {}", main.len()), BOLD);
    for (number, finding) in (1..).zip(main) {
        let severity = page.paint(severity_style(finding.severity), &format!("{:<8}", finding.severity));
        let place = finding.anchors.first().map(digest::place).unwrap_or_default();
        let text = format!("{place}  {}", finding::title(finding));
        page.wrapped(&format!("{number:>2}  {severity}  "), &" ".repeat(14), &text, Style::new());
    }
}

fn receipt(page: &mut TerminalPage<'_>, review: &Review) {
    const LABEL: usize = 12;
    page.rule("coverage", DIM);
    let mut last = "";
    for row in digest::receipt(review) {
        let label = if row.label == last { "" } else { row.label };
        last = row.label;
        let text = row.render(strip_line, strip_line);
        page.wrapped(&format!("  {label:LABEL$}"), &" ".repeat(LABEL + 2), &text, Style::new());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::finding::{CorrectedField, FindingCorrection, FindingVerification, VerificationState};
    use crate::present::{LinkStyle, json};
    use proptest::prelude::*;
    use proptest::{collection, sample};

    const HOSTILE: &[u8] = include_bytes!("../../../fixtures/documents/hostile.json");
    const TYPICAL: &[u8] = include_bytes!("../../../fixtures/documents/typical.json");

    fn text(document: &[u8], options: &RenderOptions) -> String {
        String::from_utf8(render(&json::parse(document).unwrap(), options)).unwrap()
    }

    /// Returns the text without colors and links.
    fn shown(text: &str) -> String {
        let mut out = String::new();
        let mut rest = text;
        while let Some(at) = rest.find('\x1b') {
            out.push_str(&rest[..at]);
            rest = &rest[at..];
            let end = if rest.starts_with("\x1b]8;;") {
                rest.find("\x1b\\").map(|end| end + 2)
            } else {
                rest.find('m').map(|end| end + 1)
            };
            rest = &rest[end.expect("an escape sequence ends on its line")..];
        }
        out.push_str(rest);
        out
    }

    #[test]
    fn colours_and_links_change_nothing_that_is_read() {
        for document in [HOSTILE, TYPICAL] {
            for width in [40, 57, 80, 200] {
                let plain = RenderOptions { width, ..RenderOptions::default() };
                let rich = RenderOptions {
                    width,
                    colour: true,
                    links: LinkStyle::Osc8 { root: "/home/me/a b".into() },
                    ..RenderOptions::default()
                };
                let coloured = text(document, &rich);
                assert!(coloured.contains("\x1b]8;;file:///home/me/a%20b/"), "{coloured}");
                let read: Vec<String> = coloured.lines().map(shown).collect();
                assert_eq!(read, text(document, &plain).lines().collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn main_findings_are_whole_and_the_others_one_line_each() {
        let page = text(TYPICAL, &RenderOptions { width: 100, ..RenderOptions::default() });
        let review = json::parse(TYPICAL).unwrap();
        let (main, also) = page.split_once("── Also noticed · 2 ──").unwrap();
        let flat = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let (whole, lines) = (flat(main), flat(also));
        for (finding, is_main) in review.findings.iter().zip([true, true, true, false, false]) {
            assert_eq!(whole.contains(&finding.title), is_main, "{page}");
            let line = format!("{}: {} (", finding.severity, finding.title);
            assert_eq!(lines.contains(&line), !is_main, "{line} in {page}");
            for body in finding.body.lines().take(1).map(flat) {
                assert_eq!((whole.contains(&body), lines.contains(&body)), (is_main, false), "{body} in {page}");
            }
        }
        assert!(!main.contains("main findings ·"), "three need no table: {page}");
    }

    #[test]
    fn more_than_three_main_findings_are_listed_first() {
        let mut review = json::parse(TYPICAL).unwrap();
        let one = review.findings[0].clone();
        review.findings.insert(0, one);
        let page = String::from_utf8(render(&review, &RenderOptions::default())).unwrap();
        let (_, table) = page.split_once("── main findings · 4 ──").unwrap();
        let (table, _) = table.split_once("── critical · 2").unwrap();
        let (place, title) = (digest::place(&review.findings[3].anchors[0]), &review.findings[3].title);
        let row = format!("4 medium {place} {title}");
        let flat = table.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(flat.contains(&row), "{row}: {page}");
    }

    #[test]
    fn a_review_of_minor_findings_alone_lists_and_counts_them() {
        let mut review = json::parse(TYPICAL).unwrap();
        review.findings.drain(..3);
        let page = String::from_utf8(render(&review, &RenderOptions::default())).unwrap();
        assert!(page.contains("── Also noticed · 2 ──") && page.contains("2 findings: 1 low, 1 nit"), "{page}");
    }

    fn correction(field: CorrectedField, was: &str, now: &str) -> FindingCorrection {
        FindingCorrection { field, was: was.to_owned(), now: now.to_owned() }
    }

    #[test]
    fn a_verification_is_a_mark_and_its_rationale_is_shown_on_request() {
        let mut review = json::parse(TYPICAL).unwrap();
        review.findings[0].verification = FindingVerification {
            state: VerificationState::Uncertain,
            by: Some("openai/x".to_owned()),
            rationale: Some("A caller may guard it. It has three callers.".to_owned()),
            corrections: vec![
                correction(CorrectedField::Severity, "high", "medium"),
                correction(CorrectedField::Body, "All callers fail.", ""),
            ],
        };
        for why in [false, true] {
            let options = RenderOptions { why, width: 100, ..RenderOptions::default() };
            let page = String::from_utf8(render(&review, &options)).unwrap();
            assert!(page.contains("uncertain: A caller may guard it ·"), "{page}");
            let whole = "Verification by openai/x, uncertain: A caller may guard it. It has three callers.";
            assert_eq!(page.contains(whole), why, "{page}");
            let flat = page.split_whitespace().collect::<Vec<_>>().join(" ");
            let corrected =
                "three callers. Corrected: the severity, from high to medium; the text, without \"All callers fail.\".";
            assert_eq!(flat.contains(corrected), why, "{page}");
        }
    }

    #[test]
    fn each_line_closes_what_it_opens() {
        let rich =
            RenderOptions { colour: true, links: LinkStyle::Osc8 { root: "/r".into() }, ..RenderOptions::default() };
        for line in text(HOSTILE, &rich).lines() {
            assert_eq!(line.matches("\x1b]8;;").count() % 2, 0, "{line:?}");
            let styles: Vec<&str> = line.match_indices("\x1b[").map(|(at, _)| &line[at..]).collect();
            assert!(styles.last().is_none_or(|last| last.starts_with("\x1b[0m")), "{line:?}");
        }
    }

    #[test]
    fn no_line_is_wider_than_the_page() {
        for document in [HOSTILE, TYPICAL] {
            for width in [40, 41, 57, 80, 120] {
                for line in text(document, &RenderOptions { width, ..RenderOptions::default() }).lines() {
                    let columns = textwrap::core::display_width(line);
                    assert!(columns <= width, "{columns} > {width}: {line:?}");
                }
            }
        }
    }

    fn any_text() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            any::<char>().prop_map(String::from),
            sample::select(vec![
                "\x1b[31m",
                "\u{9b}",
                "\x1b]8;;",
                "\n",
                "\r\n",
                "\t",
                " ",
                "::error::",
                "##[",
                "```",
                "~~~",
                "- ",
                "12. ",
                "# ",
                "漢字",
                "🙂",
                "e\u{301}",
                "averyveryverylongwordwithoutanyspaceinit",
                "word ",
                "\u{202e}",
            ])
            .prop_map(str::to_owned),
        ];
        collection::vec(piece, 0..30).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn no_text_breaks_the_page(
            title in any_text(), body in any_text(), quote in any_text(), replacement in any_text(), width in 0_usize..130
        ) {
            let mut review = json::parse(TYPICAL).unwrap();
            for finding in &mut review.findings {
                finding.title.clone_from(&title);
                finding.body.clone_from(&body);
                finding.origin.name.clone_from(&title);
                finding.anchors[0].quote.clone_from(&quote);
                if let Some(suggestion) = &mut finding.suggestion {
                    suggestion.replacement.clone_from(&replacement);
                }
            }
            review.summary.clone_from(&body);
            review.reasons = vec![title.clone()];
            review.coverage.notes = vec![title];
            let options = RenderOptions { width, ..RenderOptions::default() };
            let text = String::from_utf8(render(&review, &options)).unwrap();
            for line in text.lines() {
                prop_assert!(textwrap::core::display_width(line) <= width.max(crate::present::MIN_WIDTH), "{line:?}");
                prop_assert!(!line.chars().any(|c| c.is_control() || crate::domain::text::is_invisible(c)), "{line:?}");
                prop_assert!(!line.trim_start().starts_with("::") && !line.contains("##["), "{line:?}");
            }
        }
    }

    #[test]
    fn nothing_of_a_hostile_change_reaches_the_terminal_as_a_control() {
        let shown = text(HOSTILE, &RenderOptions::default());
        let bad: Vec<char> =
            shown.chars().filter(|c| (c.is_control() && *c != '\n') || crate::domain::text::is_invisible(*c)).collect();
        assert_eq!(bad, Vec::<char>::new());
    }
}
