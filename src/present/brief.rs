//! A review in a few lines of plain text, for an assistant that can read on. Main function: [`brief`].
//!
//! Its parts about the change and the findings are text of the repository or of a model; each is stripped, and never longer than a line.

use std::collections::BTreeMap;

use super::digest;
use super::patch;
use crate::domain::finding::{Finding, Severity};
use crate::domain::review::{Review, ReviewOutcome};
use crate::domain::text::{shorten, strip_line};

/// Number of main findings that are listed, and of others; equal ones count once.
const MAIN: usize = 10;
const ALSO: usize = 4;
/// Number of places that are listed for equal findings, and upper bound on their characters beyond the first one.
const PLACES: usize = 3;
const PLACES_LONG: usize = 120;
/// Number of reasons for an incomplete review that are listed.
const REASONS: usize = 3;
/// Number of rows of the receipt that are listed after the first one.
const ROWS: usize = 3;
/// Upper bound on the characters of a line, and of a title in one: the text after it is needed for reading on.
const LINE: usize = 400;
const TITLE: usize = 120;

/// Renders the outcome, the change, the worst findings with their places, and what was not reviewed; at most 25 lines.
pub fn brief(review: &Review) -> String {
    let mut lines = vec![
        format!("{}.", digest::verdict(review)),
        format!("{} {}, {}.", review.change.repository, change(review), reviewer(review)),
    ];
    lines.extend(pull(review));
    if review.outcome != ReviewOutcome::Complete {
        let reasons = review.reasons.iter().take(REASONS).map(|reason| reason.trim_end_matches('.'));
        let reasons = reasons.collect::<Vec<_>>().join("; ");
        let what = match review.outcome {
            ReviewOutcome::Failed => digest::nothing(review),
            ReviewOutcome::Incomplete | ReviewOutcome::Complete => digest::incomplete_label(review).to_owned(),
        };
        lines.push(format!("Why: {what}: {reasons}."));
    }
    lines.extend(list(&review.main_findings().collect::<Vec<_>>(), MAIN));
    let also: Vec<&Finding> = review.also_noticed().collect();
    if !also.is_empty() {
        lines.push(format!("{}:", digest::ALSO_NOTICED));
        lines.extend(list(&also, ALSO));
    }
    lines.extend(remarks(review));
    lines.iter().map(|line| line_of(line)).collect::<Vec<_>>().join("\n")
}

/// Describes the change with its size: `main → feature (3f2a9c1d00) (1 commit, 1 file, +2 -1)`.
pub fn change(review: &Review) -> String {
    let size = digest::size(&review.change).join(", ");
    line_of(&format!("{} ({size})", digest::change_names(&review.change)))
}

/// Names the pull request of the change, with its title.
pub fn pull(review: &Review) -> Option<String> {
    digest::pull(&review.change).map(|(name, title)| line_of(&format!("Pull request {name}: {title}")))
}

/// Describes the reviewer with its time, tokens and cost.
pub fn reviewer(review: &Review) -> String {
    line_of(&digest::reviewer(review))
}

/// Lists what was withheld, skipped, limited or noted; at most five lines.
pub fn remarks(review: &Review) -> Vec<String> {
    let is_listed = |label: &&str| {
        matches!(
            *label,
            "text checks" | "in part" | "skipped" | "withheld" | "second look" | "limits" | "dismissed" | "notes"
        )
    };
    let rows: Vec<_> = digest::receipt(review).into_iter().filter(|row| is_listed(&row.label)).collect();
    let shown =
        rows.iter().take(ROWS).map(|row| format!("{}: {}", row.label, row.render(str::to_owned, str::to_owned)));
    let more = rows.len().saturating_sub(ROWS);
    let more = (more > 0).then(|| format!("and {more} more remarks on what was not looked at or not shown"));
    // How an assistant includes uncommitted work is said by the tool that it called.
    shown.chain(more).chain(digest::text_checks(review)).map(|line| line_of(&line)).collect()
}

/// Renders a line without control characters, and not too long.
fn line_of(text: &str) -> String {
    shorten(&strip_line(text), LINE)
}

/// Lists at most `most` groups of equal findings, and counts the rest.
fn list(findings: &[&Finding], most: usize) -> Vec<String> {
    let alike = group_equal(findings);
    let more: usize = alike.iter().skip(most).map(Vec::len).sum();
    let more = (more > 0).then(|| format!("- and {more} more"));
    alike.iter().take(most).map(|findings| line(findings)).chain(more).collect()
}

/// Groups equal findings of one severity, in the order of the first of each group.
fn group_equal<'f>(findings: &[&'f Finding]) -> Vec<Vec<&'f Finding>> {
    let mut alike: Vec<Vec<&Finding>> = Vec::new();
    let mut known: BTreeMap<(Severity, &str), usize> = BTreeMap::new();
    for finding in findings {
        let at = *known.entry((finding.severity, &finding.title)).or_insert(alike.len());
        match alike.get_mut(at) {
            Some(others) => others.push(finding),
            None => alike.push(vec![finding]),
        }
    }
    alike
}

/// Renders equal findings: title, places, and the id of the first one.
fn line(findings: &[&Finding]) -> String {
    let Some(first) = findings.first() else { return String::new() };
    let title = shorten(&strip_line(&first.title), TITLE);
    let mut places: Vec<String> = Vec::new();
    let mut long = 0;
    for finding in findings.iter().take(PLACES) {
        let place = noted_place(finding);
        long += place.chars().count();
        if !places.is_empty() && long > PLACES_LONG {
            break;
        }
        places.push(place);
    }
    let more = findings.len() - places.len();
    let more = if more > 0 { format!(", and {more} more") } else { String::new() };
    let (times, which) =
        if findings.len() > 1 { (format!("{}× ", findings.len()), "first id") } else { (String::new(), "id") };
    let mark = first.mark().map(|mark| format!(" ({mark})")).unwrap_or_default();
    format!("- {}{mark}: {times}{title} ({}{more}; {which} {})", first.severity, places.join(", "), first.id)
}

fn noted_place(finding: &Finding) -> String {
    let note = finding.anchors.first().map(digest::place_note).filter(|note| !note.is_empty());
    note.map_or_else(|| place(finding), |note| format!("{}, {note}", place(finding)))
}

/// Formats the place of a finding: `src/a.rs:12-14`.
pub fn place(finding: &Finding) -> String {
    finding.anchors.first().map(digest::place).unwrap_or_default()
}

/// Returns the model that reviewed, as `--model` names it, or `rules`.
pub fn engine(review: &Review) -> String {
    let made = &review.provenance;
    match (&made.provider, &made.model) {
        (Some(provider), Some(model)) => strip_line(&format!("{provider}/{model}")),
        (Some(one), None) | (None, Some(one)) => strip_line(one),
        (None, None) => made.engine.as_str().to_owned(),
    }
}

/// Renders the suggestion of a finding as the lines of a diff, verbatim; `None` without a suggestion.
pub fn describe_suggestion(finding: &Finding) -> Option<String> {
    let suggestion = finding.suggestion.as_ref()?;
    let rows = patch::diff_rows(finding).unwrap_or_else(|| patch::added_rows(suggestion));
    Some(rows.iter().map(|row| format!("{}{}", row.mark.sign(), row.text)).collect::<Vec<_>>().join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::present::json;

    #[test]
    fn the_outcome_comes_first_and_what_is_missing_is_said() {
        for document in [
            &include_bytes!("../../fixtures/documents/typical.json")[..],
            include_bytes!("../../fixtures/documents/incomplete.json"),
            include_bytes!("../../fixtures/documents/failed.json"),
            include_bytes!("../../fixtures/documents/empty.json"),
            include_bytes!("../../fixtures/documents/hostile.json"),
        ] {
            let review = json::parse(document).unwrap();
            let text = brief(&review);
            assert!(text.lines().count() <= 24, "{text}");
            assert!(text.lines().all(|line| line.chars().count() <= LINE + 1), "{text}");
            assert_eq!(text, crate::domain::text::strip_block(&text));
            insta::assert_snapshot!(text);
        }
    }

    #[test]
    fn findings_that_say_the_same_do_not_hide_the_others() {
        let mut review = json::parse(include_bytes!("../../fixtures/documents/typical.json")).unwrap();
        let high = review.findings.iter().position(|finding| finding.severity == Severity::High).unwrap();
        let one = review.findings[high].clone();
        review.findings.splice(high..high, (0..899).map(|_| one.clone()));
        let text = brief(&review);
        let place = place(&one);
        let times =
            format!("- high: 900× {} ({place}, {place}, {place}, and 897 more; first id {})", one.title, one.id);
        assert!(text.contains(&times), "{text}");
        assert!(text.contains("- nit: ") && !text.contains("- and "), "{text}");
        // A note says how many more matches a rule has.
        review.coverage.notes = vec!["many.py has 880 more matches".to_owned()];
        assert!(brief(&review).contains("notes: many.py has 880 more matches"), "{}", brief(&review));
        // The same title with another severity is a different finding.
        review.findings[high].severity = Severity::Low;
        assert!(brief(&review).contains(&format!("- low: {} (", one.title)), "{}", brief(&review));
    }

    #[test]
    fn long_places_do_not_push_out_the_id() {
        let mut review = json::parse(include_bytes!("../../fixtures/documents/typical.json")).unwrap();
        let mut one = review.findings[0].clone();
        let path = format!("{}.rs", "long/".repeat(30));
        one.anchors[0].path = crate::domain::path::RepoPath::from_bytes(path.as_bytes()).unwrap();
        review.findings = vec![one.clone(), one.clone(), one];
        let text = brief(&review);
        assert!(text.contains(", and 2 more; first id "), "{text}");
    }

    #[test]
    fn a_suggestion_is_shown_as_a_diff() {
        let review = json::parse(include_bytes!("../../fixtures/documents/typical.json")).unwrap();
        let with = review.findings.iter().find(|finding| finding.suggestion.is_some()).unwrap();
        let diff = describe_suggestion(with).unwrap();
        assert!(diff.lines().any(|line| line.starts_with('+')), "{diff}");
        let without = review.findings.iter().find(|finding| finding.suggestion.is_none()).unwrap();
        assert_eq!(describe_suggestion(without), None);
    }
}
