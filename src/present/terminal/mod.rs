//! The review for a terminal: plain text that reads well without colour, at any width from 40 columns up. In a file or a pipe nothing is cut.
//!
//! `page` lays text out, `finding` draws a group of equal findings, `code` its lines. Every text that is not ours is stripped before it is laid out, and laid out before it
//! is colored, so that an escape sequence is never split and never comes from the change.

mod code;
mod doctor;
mod finding;
mod page;

use anstyle::{AnsiColor, Style};

pub(super) use doctor::checkup;
pub(super) use page::{count_rows, plain};

use super::{PageKind, Presenter, RenderOptions, Syntax, digest};
use crate::domain::change::PATCH_NAME;
use crate::domain::finding::{Finding, Prominence, Severity};
use crate::domain::id::CommitId;
use crate::domain::prior::is_reference;
use crate::domain::review::{CoverageState, Review, ReviewOutcome};
use crate::domain::run::Engine;
use crate::domain::text::{count_noun, strip_line};
use finding::{EqualFindings, NextSteps};
use page::TerminalPage;

/// The presenter of this file.
pub(super) const PRESENTER: Presenter = Presenter { name: "terminal", extension: "txt", syntax: Syntax::Plain, render };

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();
const GOOD: Style = AnsiColor::Green.on_default();
const WARN: Style = AnsiColor::Yellow.on_default();
/// Readable on light and dark palettes, which plain blue is not.
const PLACE: Style = AnsiColor::Cyan.on_default();
const BAD: Style = AnsiColor::Red.on_default();

/// The columns of the text below a headline.
const INDENT: usize = 4;

fn render(review: &Review, options: &RenderOptions) -> Vec<u8> {
    let mut page = TerminalPage::new(options);
    if let Some(line) = clean_line(review) {
        page.statement(&line, GOOD);
        if let Some(with) = compared_with(review) {
            page.statement(&format!("compared with {with}"), DIM);
        }
        resolved(&mut page, review);
        sections(&mut page, review);
        return page.finish();
    }
    head(&mut page, review);
    let steps = next_steps(review, options);
    if options.kind == PageKind::Screen {
        summary(&mut page, review);
        sections(&mut page, review);
        resolved(&mut page, review);
        receipt(&mut page, review);
        also_noticed(&mut page, review, &steps);
        findings(&mut page, review, &steps, options);
        outcome(&mut page, review);
    } else {
        outcome(&mut page, review);
        summary(&mut page, review);
        findings(&mut page, review, &steps, options);
        also_noticed(&mut page, review, &steps);
        resolved(&mut page, review);
        sections(&mut page, review);
        receipt(&mut page, review);
    }
    page.blank();
    let is_without_findings = review.unresolved().next().is_none();
    let is_colored = is_without_findings || review.outcome != ReviewOutcome::Complete;
    let style = if is_colored { outcome_style(review.outcome).bold() } else { BOLD };
    page.wrapped("", "", &digest::verdict(review), style);
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

/// Renders a review without findings in one line; `None` if it is no pass, or its receipt says more than which review it was compared
/// with. A change without files is no pass: its line says so.
fn clean_line(review: &Review) -> Option<String> {
    let (change, coverage) = (&review.change, &review.coverage);
    if !noteworthy(review).is_empty() {
        return None;
    }
    if !digest::is_clean_but_notes(review) {
        // Without any file there is nothing that could be a pass; the summary says why.
        let is_empty = review.outcome == ReviewOutcome::Complete
            && review.findings.is_empty()
            && change.files.is_empty()
            && digest::closing(review).is_empty()
            && !review.summary.trim().is_empty();
        return is_empty.then(|| review.summary.clone());
    }
    let mut parts = vec![match digest::pull(change) {
        Some((name, _)) => name,
        None if change.repository == PATCH_NAME => change.head_name.clone(),
        None => format!("{}..{}", CommitId::shorten_name(&change.target), digest::head_name(change)),
    }];
    let commits = change.commits.len() + change.commits_omitted;
    parts.extend((commits > 0).then(|| count_noun(commits, "commit")));
    let provenance = &review.provenance;
    parts.push(match provenance.engine {
        Engine::Rules => format!("rules only, {}", digest::duration(provenance.took_ms)),
        Engine::Model if provenance.turns == 0 => format!("unchanged for {}", digest::engine(provenance)),
        Engine::Model => digest::engine(provenance),
    });
    let skipped = coverage.files.iter().filter(|file| file.state == CoverageState::Skipped).count();
    for (count, word) in
        [(skipped, "skipped"), (coverage.dismissed as usize, "dismissed"), (coverage.suppressed as usize, "suppressed")]
    {
        parts.extend((count > 0).then(|| format!("{count} {word}")));
    }
    Some(format!("No issues in {} ({})", count_noun(digest::count_reviewed(review), "file"), parts.join(", ")))
}

/// Returns the commands for the findings; none for a patch, which no command knows the files of.
fn next_steps<'r>(review: &'r Review, options: &RenderOptions) -> NextSteps<'r> {
    let id = review.id.to_string();
    let run = if options.names_run { format!(" --run {}", id.get(..8).unwrap_or(&id)) } else { String::new() };
    NextSteps {
        ids: finding::ShortIds::of(&review.findings),
        run: (review.change.repository != PATCH_NAME).then_some(run),
    }
}

fn head(page: &mut TerminalPage<'_>, review: &Review) {
    let change = &review.change;
    page.wrapped("", "  ", &format!("{}  {}", change.repository, digest::change_names(change)), BOLD);
    if let Some((name, title)) = digest::pull(change) {
        page.wrapped("", "  ", &format!("pull request {name}: {title}"), Style::new());
    } else if let ([commit], 0) = (change.commits.as_slice(), change.commits_omitted) {
        page.wrapped("", "  ", &commit.subject, Style::new());
    }
    let mut parts = digest::size(change);
    parts.push(digest::reviewer(review));
    let unchanged = unchanged(review);
    parts.extend(compared_with(review).filter(|_| unchanged.is_none()).map(|with| format!("compared with {with}")));
    page.parts(0, "", &parts, DIM);
    if let Some(text) = unchanged {
        page.wrapped("", "  ", &text, BOLD);
    }
}

/// Says that a model was not asked, since nothing changed since the review that its findings are from.
fn unchanged(review: &Review) -> Option<String> {
    let (coverage, provenance) = (&review.coverage, &review.provenance);
    let is_unchanged = provenance.engine == Engine::Model
        && provenance.turns == 0
        && review.outcome == ReviewOutcome::Complete
        && coverage.files.iter().any(|file| file.state == CoverageState::Reviewed);
    let previous = compared_with(review).filter(|_| is_unchanged)?;
    let by = provenance.provider.as_ref().zip(provenance.model.as_ref());
    let by = by.map_or_else(String::new, |(provider, model)| format!(" by {provider}/{model}"));
    Some(format!(
        "Nothing changed since {previous}{by}; showing its {}. Review again: --full",
        count_noun(review.unresolved().count(), "finding")
    ))
}

/// Names the review that this one was compared with: `the review 1f2e3d4c of 2026-11-22`.
fn compared_with(review: &Review) -> Option<String> {
    let run = review.coverage.previous.as_ref()?.run.to_string();
    let note = review.coverage.notes.iter().find(|note| is_reference(note));
    let day = note.and_then(|note| Some(format!(" of {}", note.rsplit_once(" of ")?.1.trim_end_matches('.'))));
    Some(format!("the review {}{}", run.get(..8).unwrap_or(&run), day.unwrap_or_default()))
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
        ReviewOutcome::Complete => return,
        ReviewOutcome::Incomplete => format!("Incomplete: {}.", digest::incomplete_label(review)),
        ReviewOutcome::Failed => format!("Failed: {}.", digest::nothing(review).to_lowercase()),
    };
    page.heading(&text, outcome_style(review.outcome).bold());
    for reason in &review.reasons {
        page.wrapped("  - ", "    ", reason, Style::new());
    }
}

fn summary(page: &mut TerminalPage<'_>, review: &Review) {
    if let Some(summary) = digest::summary(review) {
        page.blank();
        page.prose(0, summary);
    }
}

fn sections(page: &mut TerminalPage<'_>, review: &Review) {
    for section in &review.sections {
        page.heading(&section.title, BOLD);
        page.prose(0, &section.body);
    }
}

fn severity_style(severity: Severity) -> Style {
    match severity {
        Severity::Critical | Severity::High => BAD,
        Severity::Medium => WARN,
        Severity::Low => PLACE,
        Severity::Nit => DIM,
    }
}

fn findings<'r>(page: &mut TerminalPage<'_>, review: &'r Review, steps: &NextSteps<'r>, options: &RenderOptions) {
    let mut groups = groups(review, Prominence::Main);
    if options.kind == PageKind::Screen {
        groups.reverse();
    }
    for group in groups {
        page.blank();
        finding::draw(page, &group, steps, options.why);
    }
}

/// Returns the groups of unresolved findings of which the first has this prominence.
fn groups(review: &Review, prominence: Prominence) -> Vec<EqualFindings<'_>> {
    let mut groups = finding::group(review.unresolved());
    groups.retain(|group| group.first.prominence == prominence);
    groups
}

fn also_noticed<'r>(page: &mut TerminalPage<'_>, review: &'r Review, steps: &NextSteps<'r>) {
    let groups = groups(review, Prominence::Also);
    let count: usize = groups.iter().map(|group| 1 + group.others.len()).sum();
    if count > 0 {
        page.heading(&format!("{} · {count}", digest::ALSO_NOTICED), DIM);
    }
    for group in groups {
        finding::draw_line(page, &group, steps);
    }
}

fn resolved(page: &mut TerminalPage<'_>, review: &Review) {
    let resolved: Vec<&Finding> = review.findings.iter().filter(|finding| finding.status.is_resolved()).collect();
    if resolved.is_empty() {
        return;
    }
    page.heading(&format!("Resolved · {}", resolved.len()), DIM);
    for finding in resolved {
        let place = finding.anchors.first().map(digest::place).unwrap_or_default();
        let why = finding.dismissed.as_ref().map_or_else(String::new, |why| format!(": {}", why.describe()));
        let text = format!("{}: {} ({place}, {}){why}", finding.status, finding::title(finding), finding.id);
        page.wrapped("  ", "    ", &text, Style::new());
    }
}

/// Returns the rows of the receipt that say more than that everything was reviewed.
fn noteworthy(review: &Review) -> Vec<digest::ReceiptRow> {
    let look = review.provenance.second_look.as_ref();
    digest::receipt(review)
        .into_iter()
        .filter(|row| match row.label {
            "files" | "text checks" | "skipped" | "dismissed" | "suppressed" => false,
            "second look" => look.is_some_and(|look| look.unchecked > 0),
            "leads" => review.coverage.leads.unanswered > 0,
            "notes" => !is_reference(&row.text),
            _ => true,
        })
        .collect()
}

/// Draws the coverage, if it has something to say.
fn receipt(page: &mut TerminalPage<'_>, review: &Review) {
    const LABEL: usize = 12;
    let skips = review.coverage.files.iter().any(|file| file.state == CoverageState::Skipped);
    let counted = review.coverage.dismissed + review.coverage.suppressed > 0;
    if noteworthy(review).is_empty() && !skips && !counted && digest::text_checks(review).is_none() {
        return;
    }
    page.heading("coverage", DIM);
    let mut last = "";
    // The review compared with is named in the head.
    for row in digest::receipt(review).into_iter().filter(|row| row.label != "notes" || !is_reference(&row.text)) {
        let label = if row.label == last { "" } else { row.label };
        last = row.label;
        let text = row.render(strip_line, strip_line);
        page.wrapped(&format!("  {label:LABEL$}"), &" ".repeat(LABEL + 2), &text, Style::new());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::finding::{
        CorrectedField, FindingCorrection, FindingId, FindingVerification, VerificationState,
    };
    use crate::present::matched::place_with_column;
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
                let plain = RenderOptions { width, ..SCREEN };
                let rich = RenderOptions {
                    width,
                    kind: PageKind::Screen,
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

    const SCREEN: RenderOptions = RenderOptions {
        width: 80,
        colour: false,
        links: LinkStyle::None,
        fail_on: None,
        why: false,
        kind: PageKind::Screen,
        names_run: false,
    };

    fn page(review: &Review, options: &RenderOptions) -> String {
        String::from_utf8(render(review, options)).unwrap()
    }

    fn flat(text: &str) -> String {
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn main_findings_are_whole_and_the_others_one_line_each() {
        let page = text(TYPICAL, &RenderOptions::default());
        let review = json::parse(TYPICAL).unwrap();
        let (main, also) = page.split_once("Also noticed · 2").unwrap();
        for (finding, is_main) in review.findings.iter().zip([true, true, true, false, false]) {
            let line = format!("{}  {}", finding.severity, place_with_column(finding));
            let side = if is_main { main } else { also };
            assert!(side.lines().any(|one| one.starts_with(&line) && one.contains(&finding.title)), "{line} in {page}");
            for body in finding.body.lines().take(1).map(flat) {
                assert_eq!((flat(main).contains(&body), flat(also).contains(&body)), (is_main, false), "{page}");
            }
        }
    }

    #[test]
    fn the_worst_is_first_in_a_file_and_last_on_a_screen() {
        for (kind, in_order) in [(PageKind::File, true), (PageKind::Pager, true), (PageKind::Screen, false)] {
            let page = text(TYPICAL, &RenderOptions { kind, ..SCREEN });
            let at = |severity: &str| page.lines().position(|line| line.starts_with(severity)).unwrap();
            assert_eq!(at("critical  ") < at("medium  "), in_order, "{page}");
            assert!(page.trim_end().ends_with("— complete"), "{page}");
        }
    }

    #[test]
    fn equal_findings_are_one_group_with_its_text_once() {
        let mut review = json::parse(TYPICAL).unwrap();
        let mut one = review.findings[1].clone();
        (one.suggestion, one.body) = (None, "The same text.".to_owned());
        one.anchors.truncate(1);
        review.findings = (0..4).map(|n| Finding { id: FindingId(format!("{n}a31e5c07b44")), ..one.clone() }).collect();
        let shown = page(&review, &RenderOptions::default());
        assert_eq!(shown.matches("The same text.").count(), 1, "{shown}");
        assert_eq!(shown.matches("src/storage/client.rs:88:").count(), 4, "{shown}");
        assert!(shown.contains("id 3a31e5") && shown.contains("4 findings: 4 high"), "{shown}");
        review.findings[3].body = "Another.".to_owned();
        assert_eq!(page(&review, &RenderOptions::default()).matches("high  src/").count(), 2);
    }

    #[test]
    fn remarks_on_related_places_are_listed_once_with_them() {
        let mut review = json::parse(TYPICAL).unwrap();
        let finding = &mut review.findings[1];
        finding.body = "It fails.\n\nSee also:\n\n- src/storage/parts.rs:17: the default is None".to_owned();
        let shown = page(&review, &RenderOptions::default());
        assert!(!shown.contains("See also"), "{shown}");
        assert!(
            shown.lines().any(|line| line.starts_with("    also  src/storage/parts.rs:17:")
                && line.ends_with("  the default is None")),
            "{shown}"
        );
        // A list about other places is the text of a model.
        review.findings[1].body.push_str("\n- src/elsewhere.rs:1: no place of it");
        assert!(page(&review, &RenderOptions::default()).contains("See also:"));
    }

    #[test]
    fn a_command_names_ids_by_unique_prefixes_and_an_older_run() {
        let review = json::parse(TYPICAL).unwrap();
        let shown = page(&review, &RenderOptions::default());
        for command in ["review apply 4be01c", "review dismiss 9a31e5 …", "review dismiss c277d0f1e83b …"] {
            assert!(shown.contains(command), "{command}: {shown}");
        }
        assert!(shown.contains("review rules explain tests-deleted"), "{shown}");
        let run = review.id.to_string();
        let older = page(&review, &RenderOptions { names_run: true, ..RenderOptions::default() });
        assert!(older.contains(&format!("review apply 4be01c --run {}", &run[..8])), "{older}");
    }

    #[test]
    fn nothing_is_cut_or_broken_in_a_file() {
        let mut review = json::parse(TYPICAL).unwrap();
        let code = format!("    let x = {};", "long_name + ".repeat(60));
        let path = format!("{}/file.rs", "a_long_folder_name".repeat(12));
        let finding = &mut review.findings[2];
        finding.title = "A title that is far longer than a line of the page, and stays on its line".repeat(3);
        finding.anchors[0].quote.clone_from(&code);
        finding.anchors[0].path = crate::domain::path::RepoPath::parse(&path).unwrap();
        finding.body = format!("See {path}, or\n\n```\n{code}\n```");
        let shown = page(&review, &RenderOptions::default());
        assert_eq!(shown.matches('…').count(), shown.matches("review dismiss ").count(), "{shown}");
        assert_eq!(shown.matches(&path).count(), 2, "{shown}");
        assert_eq!(shown.matches(code.trim_end()).count(), 2, "{shown}");
        assert!(shown.lines().any(|line| line.contains(&path) && line.contains(&review.findings[2].title)), "{shown}");
    }

    #[test]
    fn a_clean_review_is_one_line_and_nothing_less_than_a_pass_is() {
        let empty = || {
            let mut review = json::parse(TYPICAL).unwrap();
            review.findings.clear();
            review
        };
        let clean = page(&empty(), &RenderOptions::default());
        assert_eq!(
            clean,
            "No issues in 5 files (main..feature, 3 commits, rules only, 0.8 s, 3 skipped, 1 suppressed)\n"
        );
        let mut compared = empty();
        std::sync::Arc::make_mut(&mut compared.change).commits.clear();
        compared.coverage.notes = vec!["Compared with the review x of 2026-01-01.".to_owned()];
        let run = "1f2e3d4c-0000-4000-8000-000000000001".parse().unwrap();
        compared.coverage.previous = Some(crate::domain::prior::ComparedReview { run, disproved: Vec::new() });
        let two = page(&compared, &SCREEN);
        assert!(two.ends_with("\ncompared with the review 1f2e3d4c of 2026-01-01\n"), "{two}");
        assert_eq!(two.lines().count(), 2);
        let spoil: [fn(&mut Review); 8] = [
            |review| review.outcome = ReviewOutcome::Incomplete,
            |review| review.outcome = ReviewOutcome::Failed,
            |review| review.coverage.notes.push("A file was not read.".to_owned()),
            |review| review.coverage.limits_hit.push("Too many files.".to_owned()),
            |review| review.coverage.uncommitted = 1,
            |review| review.coverage.files[0].state = CoverageState::Truncated,
            |review| review.coverage.tool_errors = 1,
            |review| {
                review.coverage.below_floor.insert(Severity::Low, 1);
            },
        ];
        for (number, spoil) in spoil.iter().enumerate() {
            let mut review = empty();
            spoil(&mut review);
            let shown = page(&review, &RenderOptions::default());
            assert!(!shown.contains("No issues"), "{number}: {shown}");
        }
    }

    #[test]
    fn lines_of_a_suggestion_never_look_alike() {
        let mut review = json::parse(TYPICAL).unwrap();
        let finding = &mut review.findings[0];
        finding.anchors[0].quote = "a = 1\n\tb = 2".to_owned();
        finding.suggestion.as_mut().unwrap().replacement = "a = 1\n    b = 2".to_owned();
        finding.suggestion.as_mut().unwrap().lines = finding.anchors[0].lines.unwrap();
        let shown = page(&review, &RenderOptions::default());
        assert!(shown.contains("13 │ - →   b = 2\n") && shown.contains("│ +     b = 2\n"), "{shown}");
        review.findings[0].suggestion.as_mut().unwrap().replacement = "a = 1\n\tb = 2  ".to_owned();
        assert!(page(&review, &RenderOptions::default()).contains("white space at the ends of lines"));
    }

    #[test]
    fn seventeen_findings_take_at_most_120_lines() {
        let mut review = json::parse(TYPICAL).unwrap();
        let one = review.findings[1].clone();
        review.findings = (0..17)
            .map(|n| {
                let mut finding = one.clone();
                finding.id = FindingId(format!("{n:02}31e5c07b44"));
                finding.title = format!("SQL injection number {n}: query built by string concatenation");
                finding.body = format!("A user who controls the name can read all orders of table {n}. Use parameters: the driver quotes them, whatever they contain.");
                finding.suggestion = None;
                finding.anchors.truncate(1);
                finding.anchors[0].quote = "        return self.db.execute(f\"SELECT id, total FROM orders WHERE user = '{user}'\")".to_owned();
                finding.anchors[0].lines = crate::domain::place::LineRange::new(12, 12).ok();
                finding
            })
            .collect();
        crate::domain::finding::assign_prominence(&mut review.findings);
        for options in [RenderOptions::default(), SCREEN] {
            let shown = page(&review, &options);
            assert!(shown.lines().count() <= 120, "{} lines: {shown}", shown.lines().count());
        }
    }

    #[test]
    fn findings_of_an_unchanged_review_are_introduced_as_such() {
        let mut review = json::parse(TYPICAL).unwrap();
        review.provenance.engine = Engine::Model;
        (review.provenance.provider, review.provenance.model) = (Some("p".to_owned()), Some("m".to_owned()));
        (review.provenance.turns, review.coverage.files[0].state) = (0, CoverageState::Reviewed);
        let run = "1f2e3d4c-0000-4000-8000-000000000001".parse().unwrap();
        review.coverage.previous = Some(crate::domain::prior::ComparedReview { run, disproved: Vec::new() });
        review.coverage.notes = vec![format!("{} {run} of 2026-11-22.", crate::domain::prior::COMPARED)];
        let wanted = "Nothing changed since the review 1f2e3d4c of 2026-11-22 by p/m; showing its 5 findings. Review again: --full";
        assert!(flat(&page(&review, &RenderOptions::default())).contains(wanted));
        review.provenance.turns = 1;
        assert!(!page(&review, &RenderOptions::default()).contains("Nothing changed"));
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
            let whole = "Verification by openai/x: A caller may guard it. It has three callers.";
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
                for line in text(document, &RenderOptions { width, ..SCREEN }).lines() {
                    let columns = textwrap::core::display_width(line);
                    // A path stays whole, so that it can be copied.
                    let is_long_path = line.contains("very-long-name")
                        || (width < 60 && (line.contains(".py:") || line.contains(".rs:")));
                    assert!(columns <= width || is_long_path, "{columns} > {width}: {line:?}");
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
            let options = RenderOptions { width, ..SCREEN };
            let text = String::from_utf8(render(&review, &options)).unwrap();
            for line in text.lines() {
                prop_assert!(textwrap::core::display_width(line) <= width.max(60), "{line:?}");
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
