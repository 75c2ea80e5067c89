//! The review for the summary of a GitHub job: the verdict, a table if the main findings are many, each of them folded, the others as one line
//! each, the receipt, the reviewer and its cost.
//!
//! GitHub rejects a step's summary of more than 1 MiB as a whole. Findings that do not fit are left out and counted. The folding tags are
//! ours; texts of a model or of the repository go through `markdown::safe`, and in the line of a fold, which is HTML without Markdown, they
//! are escaped and put into `<code>`, in which GitHub links nothing.

use std::fmt::Write as _;

use super::markdown::escape::{code, inline, prose};
use super::markdown::{
    TABLE, render_body, render_line, render_outcome, render_provenance, render_receipt, render_resolved, render_row,
    severity,
};
use super::report::title;
use super::{Presenter, RenderOptions, Syntax, digest};
use crate::domain::finding::Finding;
use crate::domain::review::Review;
use crate::domain::text::{shorten, strip_line};

/// The presenter of this file.
pub(super) const PRESENTER: Presenter =
    Presenter { name: "job-summary", extension: "summary.md", syntax: Syntax::Plain, render };

/// Upper bound on the whole, in bytes. A step has 1 MiB, of which this leaves some for the step's own messages.
const MOST: usize = 1024 * 1024 - 48 * 1024;
/// Bytes reserved for the notes on what was left out.
const NOTES: usize = 1024;
/// Upper bound on the table, in bytes.
const ROWS: usize = 256 * 1024;
/// Number of reasons for an incomplete review that are listed.
const REASONS: usize = 20;
/// Upper bounds on the characters of a summary, and of a title.
const SUMMARY: usize = 20_000;
const TITLE: usize = 300;

fn render(review: &Review, options: &RenderOptions) -> Vec<u8> {
    let head = head(review);
    let mut tail = String::new();
    render_receipt(&mut tail, review);
    provenance(&mut tail, review);
    let mut page = JobSummaryPage { out: head, room: MOST.saturating_sub(tail.len() + NOTES) };
    findings(&mut page, review, options.why);
    add_rest(&mut page, review);
    page.out.push_str(&tail);
    let mut out = page.out;
    out.truncate(out.trim_end().len());
    cut(&mut out, review);
    out.push('\n');
    out.into_bytes()
}

/// The written text, with an upper bound on its length.
struct JobSummaryPage {
    out: String,
    room: usize,
}

impl JobSummaryPage {
    /// Adds a block as a whole; returns whether it had room.
    fn add(&mut self, block: &str) -> bool {
        let fits = self.out.len() + block.len() <= self.room;
        if fits {
            self.out.push_str(block);
        }
        fits
    }
}

fn head(review: &Review) -> String {
    let mut out = format!("# Code review\n\n**{}**\n\n", digest::verdict(review));
    render_provenance(&mut out, review);
    render_outcome(&mut out, review, REASONS);
    if let Some(summary) = digest::summary(review) {
        let _ = write!(out, "## Summary\n\n{}\n\n", prose(&shorten(summary, SUMMARY)));
    }
    out
}

fn findings(page: &mut JobSummaryPage, review: &Review, why: bool) {
    let numbered: Vec<(usize, &Finding)> = (1..).zip(review.main_findings()).collect();
    if numbered.len() > digest::MOST_WITHOUT_TABLE {
        add_table(page, &numbered, review);
    } else if !numbered.is_empty() {
        page.add("## Findings\n\n");
    }
    let folded = numbered.iter().filter(|(number, finding)| page.add(&fold_finding(*number, finding, why))).count();
    left_out(page, numbered.len() - folded, "the details", review);
    let also: Vec<String> =
        review.also_noticed().map(|one| render_line(&Finding { title: title_within(one), ..one.clone() })).collect();
    if !also.is_empty() {
        page.add(&format!("## {}\n\n", digest::ALSO_NOTICED));
        let listed = also.iter().filter(|line| page.add(line)).count();
        page.add("\n");
        left_out(page, also.len() - listed, "the list", review);
    }
}

/// Adds the table of the main findings.
fn add_table(page: &mut JobSummaryPage, numbered: &[(usize, &Finding)], review: &Review) {
    let mut table = TABLE.to_owned();
    let mut rows = 0;
    for (number, finding) in numbered {
        let before = table.len();
        render_row(&mut table, *number, &Finding { title: title_within(finding), ..(*finding).clone() });
        if table.len() > ROWS {
            table.truncate(before);
            break;
        }
        rows += 1;
    }
    table.push('\n');
    let rows = if page.add(&table) { rows } else { 0 };
    left_out(page, numbered.len() - rows, "the table", review);
}

/// Notes how many findings were left out, and where they are.
fn left_out(page: &mut JobSummaryPage, count: usize, part: &str, review: &Review) {
    if count > 0 {
        let _ = write!(
            page.out,
            "**{} left out of {part}**, for a summary holds 1 MiB. Every other output has them all: {}.\n\n",
            digest::count_noun(count, "finding"),
            code(&format!("review show {}", review.id)),
        );
    }
}

fn title_within(finding: &Finding) -> String {
    shorten(&finding.title, TITLE)
}

/// Renders a finding folded behind one line with its title and place.
fn fold_finding(number: usize, finding: &Finding, why: bool) -> String {
    let place = finding.anchors.first().map(digest::place).unwrap_or_default();
    let place = escaped(&shorten(&strip_line(&place), TITLE));
    let mut out = format!(
        "<details><summary>{number}. {} <code>{}</code> — <code>{place}</code></summary>\n\n",
        severity(finding.severity),
        escaped(&title(finding)),
    );
    render_body(&mut out, finding, why);
    out.push_str("</details>\n\n");
    out
}

/// Escapes text of one line for HTML.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Renders resolved findings, and the engine's other texts.
fn add_rest(page: &mut JobSummaryPage, review: &Review) {
    let mut settled = String::new();
    render_resolved(&mut settled, review);
    let mut lost = usize::from(!page.add(&settled));
    for section in &review.sections {
        let block = format!("## {}\n\n{}\n\n", inline(&shorten(&section.title, TITLE)), prose(&section.body));
        lost += usize::from(!page.add(&block));
    }
    if lost > 0 {
        let parts = digest::count_noun(lost, "part");
        let show = code(&format!("review show {}", review.id));
        let _ = write!(page.out, "**{parts} of the review left out**, for a summary holds 1 MiB: {show} has all.\n\n");
    }
}

fn provenance(out: &mut String, review: &Review) {
    let made = &review.provenance;
    out.push_str("## Provenance\n\n");
    let _ = writeln!(out, "- **run**: {}, begun {}", code(&review.id.to_string()), code(&made.started_at));
    let _ = writeln!(out, "- **program**: {}", code(&format!("review {}", made.version)));
    let _ = writeln!(out, "- **engine**: {}", inline(&digest::reviewer(review)));
    if let (1.., Some(read)) = (made.turns, made.usage.cache_read_tokens) {
        let _ = writeln!(out, "- **read from the cache**: {read} tokens");
    }
    for (label, hash) in [("prompts", &made.prompts), ("rules", &made.rules)] {
        if let Some(hash) = hash {
            let _ = writeln!(out, "- **{label}**: {}", code(hash));
        }
    }
}

/// The last resort, if names in the head or the receipt are themselves too long: the summary must be accepted in any case.
fn cut(out: &mut String, review: &Review) {
    if out.len() <= MOST {
        return;
    }
    let end = out.floor_char_boundary(MOST - NOTES);
    out.truncate(out[..end].rfind('\n').unwrap_or(end));
    let _ =
        write!(out, "\n\n**The rest is left out**, for a summary holds 1 MiB: `review show {}` has all.", review.id);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::present::{json, presenter};
    use proptest::prelude::*;

    const TYPICAL: &[u8] = include_bytes!("../../fixtures/documents/typical.json");

    fn rendered(document: &[u8], change: impl FnOnce(&mut Review)) -> String {
        let mut review = json::parse(document).unwrap();
        change(&mut review);
        String::from_utf8((presenter("job-summary").unwrap().render)(&review, &RenderOptions::default())).unwrap()
    }

    #[test]
    fn the_verdict_comes_first_and_what_it_cost_is_there() {
        let page = rendered(include_bytes!("../../fixtures/documents/incomplete.json"), |_| ());
        assert_eq!(
            page.lines().nth(2).unwrap(),
            "**2 findings: 1 high, 1 medium (4 more below the severity floor) — incomplete, there may be more**"
        );
        assert!(page.contains("Incomplete") && page.contains("$4.22") && page.contains("38 turns"), "{page}");
        assert!(rendered(include_bytes!("../../fixtures/documents/failed.json"), |_| ()).contains("⛔ **Failed**"));
    }

    #[test]
    fn what_has_no_room_is_left_out_in_whole_findings_and_counted() {
        let page = rendered(TYPICAL, |review| {
            let one = review.findings[1].clone();
            review.findings = (0..9000).map(|_| one.clone()).collect();
        });
        assert!(page.len() <= 1024 * 1024, "{}", page.len());
        let folds = page.matches("<details>").count();
        assert!(folds > 100 && folds == page.matches("</details>").count());
        assert!(page.contains(&format!("{} findings left out of the details", 9000 - folds)), "{folds}");
        let rows = page.matches("\n| ").count() - 2;
        assert!(page.contains(&format!("{} findings left out of the table", 9000 - rows)), "{rows}");
        assert!(page.contains("## Coverage") && page.contains("## Provenance"), "the receipt is never cut");
    }

    #[test]
    fn one_finding_that_is_too_long_hides_no_other() {
        let page = rendered(TYPICAL, |review| review.findings[0].body = "word ".repeat(400_000));
        assert!(page.len() <= MOST);
        assert_eq!(page.matches("<details>").count(), 2);
        assert!(page.contains("1 finding left out of the details") && !page.contains("left out of the table"));
        let page = rendered(TYPICAL, |review| {
            review.sections =
                vec![crate::domain::review::ReviewSection { title: "x".to_owned(), body: "word ".repeat(400_000) }];
        });
        assert!(page.len() <= MOST && page.contains("1 part of the review left out"));
    }

    #[test]
    fn only_main_findings_are_folded_and_many_get_a_table() {
        let page = rendered(TYPICAL, |_| ());
        assert_eq!(page.matches("<details>").count(), 3);
        assert!(page.contains("\n## Also noticed\n\n- **🟢 low**: ") && !page.contains("| # |"), "{page}");
        let page = rendered(TYPICAL, |review| {
            let one = review.findings[0].clone();
            review.findings.insert(0, one);
        });
        assert!(page.contains("| 4 | 🟡 medium | "), "{page}");
    }

    #[test]
    fn a_name_that_is_too_long_does_not_cost_the_summary() {
        let page = rendered(TYPICAL, |review| {
            let mut change = (*review.change).clone();
            change.head_name = "漢".repeat(1_000_000);
            review.change = std::sync::Arc::new(change);
        });
        assert!(page.len() <= 1024 * 1024 && page.contains("The rest is left out"), "{}", page.len());
        assert!(page.starts_with("# Code review\n\n**5 findings"), "the verdict stays");
    }

    /// Returns the page without its fences and code spans; each remaining `<` must be ours.
    fn tags(page: &str) -> Vec<&str> {
        let mut found = Vec::new();
        let mut fence: Option<String> = None;
        for line in page.lines() {
            let ticks: String = line.trim_start().chars().take_while(|c| *c == '`').collect();
            match &fence {
                Some(open) if line.trim() == *open => fence = None,
                None if ticks.len() >= 3 && !line.trim_start()[ticks.len()..].contains('`') => fence = Some(ticks),
                None if line.starts_with('<') => found.push(line),
                Some(_) | None => {}
            }
        }
        found
    }

    #[test]
    fn no_line_of_html_is_not_ours() {
        let page = rendered(include_bytes!("../../fixtures/documents/hostile.json"), |_| ());
        for tag in tags(&page) {
            assert!(tag == "</details>" || tag.starts_with("<details><summary>"), "{tag}");
        }
        assert_eq!((page.matches("<details>").count(), page.matches("</details>").count()), (2, 2));
    }

    proptest! {
        #[test]
        fn a_line_of_a_fold_holds_no_tag_but_ours(title in "[a-z<>&\"'/`@# ]{0,60}|\\PC{0,20}", body in "(</details>|<summary>|```|\n|<b>|x| ){0,20}") {
            let page = rendered(TYPICAL, |review| {
                review.findings.truncate(1);
                review.findings[0].suggestion = None;
                review.findings[0].title = title;
                review.findings[0].body = body;
            });
            let ours = tags(&page);
            prop_assert_eq!(ours.len(), 2, "{:?}", &ours);
            let line = ours[0].strip_prefix("<details><summary>").and_then(|line| line.strip_suffix("</summary>")).unwrap();
            prop_assert_eq!(line.matches('<').count(), 4, "{}", line);
        }
    }
}
