//! Shared by the outputs for programs that read linter reports: one [`ReportEntry`] for each finding, at a place that exists at the head,
//! another one if the review is not complete, and one for its limits.
//!
//! Such formats know only findings: a review that covered half of the change would look like one without findings. Writing an entry in a
//! format belongs in the format's own file; its names of severities are here, in [`severity_names`], so that one table in `docs/formats.md` covers
//! them all.

use std::collections::{HashMap, HashSet};

use super::{digest, patch};
use crate::domain::change::{ChangeSet, FileChange, FileStatus};
use crate::domain::finding::{Anchor, Finding, OriginKind, Prominence, Severity};
use crate::domain::path::RepoPath;
use crate::domain::place::{DiffSide, LineRange};
use crate::domain::review::{CoverageState, Review, ReviewOutcome};
use crate::domain::text::{is_invisible, shorten, strip_line};

/// Number of reasons for an incomplete review that are listed.
const REASONS: usize = 10;
/// Upper bounds on the characters of a title, and of the name of a check.
const TITLE: usize = 300;
const CHECK: usize = 200;
/// The check of the entry for the limits of a review, and its title.
const LIMITS: &str = "review/limits";
pub(super) const LIMITS_TITLE: &str = "Limits of this review";

/// The names of a severity in the formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SeverityNames {
    /// Reviewdog's `Severity`.
    pub(super) rdjson: &'static str,
    /// GitLab's severity of a violation.
    pub(super) gitlab: &'static str,
    /// GitHub's level of an annotation.
    pub(super) annotation: &'static str,
}

/// Returns the names of a severity in the formats.
pub(super) const fn severity_names(severity: Severity) -> SeverityNames {
    match severity {
        Severity::Critical => SeverityNames { rdjson: "ERROR", gitlab: "blocker", annotation: "error" },
        Severity::High => SeverityNames { rdjson: "ERROR", gitlab: "critical", annotation: "error" },
        Severity::Medium => SeverityNames { rdjson: "WARNING", gitlab: "major", annotation: "warning" },
        Severity::Low => SeverityNames { rdjson: "INFO", gitlab: "minor", annotation: "notice" },
        Severity::Nit => SeverityNames { rdjson: "INFO", gitlab: "info", annotation: "notice" },
    }
}

/// The place of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct EntryPlace {
    /// The file: at the head or, for a deleted file, its former path.
    pub(super) path: RepoPath,
    /// `true` if the file exists at the head.
    pub(super) exists: bool,
    /// Its lines at the head, if there are any.
    pub(super) lines: Option<LineRange>,
    /// A note with the former place of deleted lines. Our text and a path; empty if there is nothing to note.
    pub(super) note: String,
}

/// An entry of a report.
#[derive(Debug, Clone)]
pub(super) struct ReportEntry<'r> {
    /// Its unique name within the report: the id of a finding, or of the run.
    pub(super) id: String,
    /// The name of the check: the id of a rule, `review/<category>`, `review/incomplete`, `review/failed` or `review/limits`.
    pub(super) check: String,
    /// The severity; an incomplete review has the highest.
    pub(super) severity: Severity,
    /// One line without escapes; never empty.
    pub(super) title: String,
    /// Markdown of a model or of ours, not yet sanitized.
    pub(super) body: String,
    /// The place; `None` if the change has no file.
    pub(super) place: Option<EntryPlace>,
    /// The finding; `None` if the entry is about the review itself.
    pub(super) finding: Option<&'r Finding>,
}

/// Returns the entries: an incomplete review first, then the unresolved findings, worst first.
pub(super) fn entries(review: &Review) -> Vec<ReportEntry<'_>> {
    let places = HeadPlaces::of(&review.change);
    let own = unfinished(review).into_iter();
    let mut entries: Vec<ReportEntry<'_>> =
        own.chain(review.unresolved().map(|finding| entry(finding, &places))).collect();
    make_names_unique(&mut entries);
    entries
}

/// Returns the entries, and last one for the limits of the review that its outcome does not show, if it has any.
pub(super) fn entries_with_limits(review: &Review) -> Vec<ReportEntry<'_>> {
    let mut entries = entries(review);
    entries.extend(limits(review));
    make_names_unique(&mut entries);
    entries
}

/// Returns the entry for the limits of a review. It is the same for every change of a project, so its id is, too.
fn limits(review: &Review) -> Option<ReportEntry<'static>> {
    let sentences = limit_sentences(review)?;
    let first = digest::without_rules(review).next();
    let file = first.and_then(|(path, _)| review.change.files.iter().find(|file| file.path == *path));
    Some(ReportEntry {
        id: LIMITS.to_owned(),
        check: LIMITS.to_owned(),
        severity: Severity::Nit,
        title: LIMITS_TITLE.to_owned(),
        body: sentences,
        place: file.map(visible_place),
        finding: None,
    })
}

/// Renders the limits of a review that its outcome does not show, a paragraph each; `None` if it has none.
pub(super) fn limit_sentences(review: &Review) -> Option<String> {
    let sentences: Vec<String> = digest::closing(review).iter().map(|sentence| format!("{sentence}.")).collect();
    (!sentences.is_empty()).then(|| sentences.join("\n\n"))
}

/// Numbers entries with the same name.
fn make_names_unique(entries: &mut [ReportEntry<'_>]) {
    let mut given: HashSet<String> = HashSet::new();
    let mut next: HashMap<String, usize> = HashMap::new();
    for entry in entries {
        if given.contains(&entry.id) {
            let number = next.entry(entry.id.clone()).or_insert(2);
            let name = loop {
                let name = format!("{}~{number}", entry.id);
                *number += 1;
                if !given.contains(&name) {
                    break name;
                }
            };
            entry.id = name;
        }
        given.insert(entry.id.clone());
    }
}

fn entry<'r>(finding: &'r Finding, places: &HeadPlaces<'_>) -> ReportEntry<'r> {
    ReportEntry {
        id: plain_line(&finding.id.0, CHECK),
        check: check_name(finding),
        severity: finding.severity,
        title: title(finding),
        body: finding.body.trim().to_owned(),
        place: finding.anchors.first().map(|anchor| places.at_head(anchor)),
        finding: Some(finding),
    }
}

/// Returns the name of a finding's check: the rule or the tool, or `review/<category>` for a model.
pub(super) fn check_name(finding: &Finding) -> String {
    let name = plain_line(&finding.origin.name, CHECK);
    match finding.origin.kind {
        OriginKind::Rule | OriginKind::Build if !name.is_empty() => name,
        OriginKind::Rule | OriginKind::Build | OriginKind::Model => format!("review/{}", finding.category.word()),
    }
}

/// Returns the title of a finding in one line.
pub(super) fn title(finding: &Finding) -> String {
    let title = plain_line(&finding.title, TITLE);
    if title.is_empty() { "(no title)".to_owned() } else { title }
}

/// Returns further facts of a finding: `high, logic, confidence 9/10, id 4be01c9d72fa`.
pub(super) fn facts(finding: &Finding) -> String {
    let mut parts = vec![finding.severity.to_string()];
    parts.extend(finding.describe_mark());
    parts.push(finding.category.word().replace('_', " "));
    if let Some(confidence) = finding.confidence {
        parts.push(format!("confidence {}/10", confidence.value()));
    }
    if let Some(guideline) = &finding.guideline {
        parts.push(format!("see {}:{}", guideline.path, guideline.line));
    }
    parts.extend(digest::carried(finding));
    // Readers of these formats see one list.
    let is_also = finding.prominence == Prominence::Also && !finding.status.is_resolved();
    parts.extend(is_also.then(|| "also noticed".to_owned()));
    parts.push(format!("id {}", plain_line(&finding.id.0, CHECK)));
    parts.join(", ")
}

/// Renders the suggestion of a finding as the lines of a diff below a heading, not yet stripped; `None` without a suggestion.
pub(super) fn describe_suggestion(finding: &Finding) -> Option<String> {
    let suggestion = finding.suggestion.as_ref()?;
    let diff = super::brief::describe_suggestion(finding)?;
    if patch::diff_rows(finding).is_some() {
        return Some(format!("Suggested:\n{diff}"));
    }
    let diff = if diff.is_empty() { "(removal)" } else { &diff };
    Some(format!("Suggested for {} of {}:\n{diff}", digest::describe_lines(suggestion.lines), suggestion.path))
}

/// Lists the further places of a finding, each on a line.
pub(super) fn list_related(finding: &Finding) -> String {
    let one = |anchor: &Anchor| match digest::place_note(anchor) {
        "" => format!("Also: {}", digest::place(anchor)),
        note => format!("Also: {} ({note})", digest::place(anchor)),
    };
    finding.anchors.iter().skip(1).map(one).collect::<Vec<_>>().join("\n")
}

/// Returns the entry for an incomplete review.
pub(super) fn unfinished(review: &Review) -> Option<ReportEntry<'_>> {
    let (check, title) = match review.outcome {
        ReviewOutcome::Complete => return None,
        ReviewOutcome::Incomplete => {
            ("review/incomplete", format!("The review is incomplete: {}", digest::incomplete_label(review)))
        }
        ReviewOutcome::Failed => {
            ("review/failed", format!("The review failed: {}", digest::nothing(review).to_lowercase()))
        }
    };
    let mut lines =
        vec!["That nothing is reported here does not mean that nothing is wrong.".to_owned(), String::new()];
    lines.extend(review.reasons.iter().take(REASONS).map(|reason| format!("- {}", plain_line(reason, TITLE))));
    if review.reasons.len() > REASONS {
        lines.push(format!("- and {} more reasons", review.reasons.len() - REASONS));
    }
    Some(ReportEntry {
        id: review.id.to_string(),
        check: check.to_owned(),
        severity: Severity::Critical,
        title,
        body: lines.join("\n").trim_end().to_owned(),
        place: least_covered_file(review).map(visible_place),
        finding: None,
    })
}

/// Returns the place in a file at which an entry about the review is shown also by readers that show only changed lines.
fn visible_place(file: &FileChange) -> EntryPlace {
    let exists = file.status != FileStatus::Deleted;
    EntryPlace {
        path: file.path.clone(),
        exists,
        lines: exists.then(|| first_added(file).unwrap_or(LineRange::line(1))),
        note: String::new(),
    }
}

/// Returns the file for the entry of an incomplete review: preferably one that was not fully reviewed and still exists.
fn least_covered_file(review: &Review) -> Option<&FileChange> {
    let states: HashMap<&RepoPath, CoverageState> =
        review.coverage.files.iter().map(|file| (&file.path, file.state)).collect();
    review.change.files.iter().min_by_key(|file| {
        let seen = states.get(&file.path).is_some_and(|state| state.is_whole());
        // Only facts that a saved review has, so no modes.
        (file.status == FileStatus::Deleted, file.binary || file.generated.is_some(), seen)
    })
}

fn first_added(file: &FileChange) -> Option<LineRange> {
    file.runs().find_map(|run| run.new.range()).map(|range| LineRange::line(range.start()))
}

/// The changed files by their old paths, for finding a place at the head.
pub(super) struct HeadPlaces<'c> {
    by_old_path: HashMap<&'c RepoPath, &'c FileChange>,
}

impl<'c> HeadPlaces<'c> {
    pub(super) fn of(change: &'c ChangeSet) -> Self {
        let before = change.files.iter().filter(|file| file.status != FileStatus::Added);
        Self { by_old_path: before.map(|file| (file.path_at(DiffSide::Old), file)).collect() }
    }

    /// Returns the place of an anchor at the head. One on deleted lines is put where they were removed, if the change has its hunks (a
    /// parsed review does not), else at its file.
    pub(super) fn at_head(&self, anchor: &Anchor) -> EntryPlace {
        if anchor.side == DiffSide::New {
            return EntryPlace { path: anchor.path.clone(), exists: true, lines: anchor.lines, note: String::new() };
        }
        let stood = match anchor.lines {
            Some(lines) => format!("Before the change: {} of {}", digest::describe_lines(lines), anchor.path),
            None => format!("Before the change: {}", anchor.path),
        };
        let Some(file) = self.by_old_path.get(&anchor.path) else {
            return EntryPlace { path: anchor.path.clone(), exists: true, lines: None, note: stood };
        };
        let exists = file.status != FileStatus::Deleted;
        let lines = anchor.lines.filter(|_| exists).and_then(|lines| removal_line(file, lines));
        EntryPlace { path: file.path.clone(), exists, lines, note: stood }
    }
}

/// Returns the line at the head where some lines were removed.
fn removal_line(file: &FileChange, lines: LineRange) -> Option<LineRange> {
    let run = file.runs().find(|run| run.old.range().is_some_and(|old| old.overlaps(lines)))?;
    // If no lines replaced them, the span names the line before them.
    Some(LineRange::line(run.new.start))
}

/// Strips text to one line, with at most `most` characters.
pub(super) fn plain_line(text: &str, most: usize) -> String {
    shorten(strip_line(text).trim(), most)
}

/// Checks whether a text has no visible characters.
pub(super) fn is_blank(text: &str) -> bool {
    text.chars().all(|c| c.is_whitespace() || c.is_control() || is_invisible(c))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::change::{ChangeRun, Hunk, HunkSpan};
    use crate::present::{RenderOptions, json};

    fn review(document: &[u8]) -> Review {
        json::parse(document).unwrap()
    }

    fn typical() -> Review {
        review(include_bytes!("../../fixtures/documents/typical.json"))
    }

    #[test]
    fn a_complete_review_reports_its_unresolved_findings_and_nothing_else() {
        let mut review = typical();
        assert_eq!(entries(&review).len(), review.findings.len());
        assert!(entries(&review).iter().all(|entry| entry.finding.is_some()));
        review.findings[0].status = crate::domain::finding::FindingStatus::Dismissed;
        assert_eq!(entries(&review).len(), review.findings.len() - 1);
    }

    #[test]
    fn that_a_review_is_not_complete_comes_first_at_a_file_that_was_not_seen() {
        let incomplete = review(include_bytes!("../../fixtures/documents/incomplete.json"));
        let entries = entries(&incomplete);
        let place = entries[0].place.clone().unwrap();
        assert_eq!((entries[0].check.as_str(), entries[0].severity), ("review/incomplete", Severity::Critical));
        assert_eq!((&*place.path.display_name(), place.lines), ("src/scheduler.rs", Some(LineRange::line(1))));
        let failed = review(include_bytes!("../../fixtures/documents/failed.json"));
        let entries = super::entries(&failed);
        assert_eq!((entries.len(), entries[0].check.as_str()), (1, "review/failed"));
        assert!(entries[0].body.contains("503"), "{}", entries[0].body);
    }

    #[test]
    fn the_limits_of_a_complete_review_are_the_last_entry_in_every_format() {
        let mut review = typical();
        assert_eq!(entries_with_limits(&review).len(), review.findings.len());
        review.coverage.uncommitted = 2;
        let plain = entries_with_limits(&review).pop().unwrap();
        assert_eq!((plain.check.as_str(), plain.severity, plain.place), ("review/limits", Severity::Nit, None));
        review.findings.clear();
        let file = &mut review.coverage.files[1];
        (file.state, file.reason) = (CoverageState::TextOnly, Some("no rules for Ruby".to_owned()));
        let path = file.path.to_string();
        let rendered = |format: &str| {
            let bytes = (crate::present::presenter(format).unwrap().render)(&review, &RenderOptions::default());
            String::from_utf8(bytes).unwrap()
        };
        for (format, level) in
            [("rdjson", "INFO"), ("rdjsonl", "INFO"), ("gitlab", "info"), ("annotations", "::notice")]
        {
            let text = rendered(format).replace('\\', "");
            assert!(text.contains("no rules for Ruby (1 file): text checks only; --model reviews"), "{format}: {text}");
            assert!(text.contains("2 files have uncommitted changes that were not checked: --all"), "{format}: {text}");
            assert!(text.contains(level), "{format}: {text}");
            assert!(
                format == "annotations" || text.contains("review/limits") && text.contains(&path),
                "{format}: {text}"
            );
        }
        assert_eq!(rendered("annotations").lines().count(), 1);
        assert!(rendered("gitlab").contains("\"fingerprint\": \"review/limits\""), "it is the same for every change");
    }

    #[test]
    fn ids_that_repeat_are_told_apart() {
        let mut review = typical();
        let twin = review.findings[0].clone();
        review.findings.insert(1, twin.clone());
        review.findings.push(twin);
        let ids: HashSet<String> = entries(&review).into_iter().map(|entry| entry.id).collect();
        assert_eq!(ids.len(), review.findings.len());
        assert!(ids.contains("4be01c9d72fa") && ids.contains("4be01c9d72fa~2") && ids.contains("4be01c9d72fa~3"));
    }

    #[test]
    fn lines_that_are_gone_are_told_where_they_were_taken_out() {
        let mut file = FileChange::modified(RepoPath::parse("src/new.rs").unwrap());
        file.old_path = Some(RepoPath::parse("src/old.rs").unwrap());
        file.status = FileStatus::Renamed;
        let run = ChangeRun { old: HunkSpan { start: 10, count: 4 }, new: HunkSpan { start: 8, count: 0 } };
        file.hunks = vec![Hunk { runs: vec![run], ..Hunk::default() }];
        let mut anchor = typical().findings[2].anchors[0].clone();
        anchor.path = RepoPath::parse("src/old.rs").unwrap();
        anchor.lines = Some(LineRange::new(12, 13).unwrap());
        let at = |file: &FileChange, anchor: &Anchor| {
            let change = ChangeSet::of(vec![file.clone()]);
            HeadPlaces::of(&change).at_head(anchor)
        };
        let place = at(&file, &anchor);
        assert_eq!((&*place.path.display_name(), place.lines), ("src/new.rs", Some(LineRange::line(8))));
        assert_eq!(place.note, "Before the change: lines 12-13 of src/old.rs");
        file.hunks.clear();
        assert_eq!(at(&file, &anchor).lines, None, "nobody knows where");
        file.status = FileStatus::Deleted;
        assert!(!at(&file, &anchor).exists);
        anchor.path = RepoPath::parse("src/elsewhere.rs").unwrap();
        assert_eq!(&*at(&file, &anchor).path.display_name(), "src/elsewhere.rs");
    }

    #[test]
    fn a_name_that_another_was_given_is_not_given_again() {
        let mut review = typical();
        let ids = ["a", "a~2", "a", "a", "a~2"].map(|id| crate::domain::finding::FindingId(id.to_owned()));
        for (finding, id) in review.findings.iter_mut().zip(ids) {
            finding.id = id;
        }
        let ids: Vec<String> = entries(&review).into_iter().map(|entry| entry.id).collect();
        assert_eq!(ids, ["a", "a~2", "a~3", "a~4", "a~2~2"]);
    }

    #[test]
    fn the_documented_severities_are_those_of_the_code() {
        let docs = include_str!("../../docs/formats.md");
        for severity in Severity::ALL {
            let words = severity_names(*severity);
            let row = format!("| {severity} | {} | {} | {} |", words.rdjson, words.gitlab, words.annotation);
            assert!(
                docs.lines().any(|line| line.starts_with(row.trim_end_matches(" |"))),
                "docs/formats.md has no row {row}"
            );
        }
    }

    #[test]
    fn a_worse_severity_is_never_called_less() {
        let rank = |list: &[&str], word: &str| list.iter().position(|one| *one == word).unwrap();
        for pair in Severity::ALL.windows(2) {
            let (worse, better) = (severity_names(pair[0]), severity_names(pair[1]));
            assert!(
                rank(&["ERROR", "WARNING", "INFO"], worse.rdjson) <= rank(&["ERROR", "WARNING", "INFO"], better.rdjson)
            );
            let gitlab = ["blocker", "critical", "major", "minor", "info"];
            assert!(rank(&gitlab, worse.gitlab) < rank(&gitlab, better.gitlab));
            let levels = ["error", "warning", "notice"];
            assert!(rank(&levels, worse.annotation) <= rank(&levels, better.annotation));
        }
    }

    #[test]
    fn names_of_checks_are_one_visible_line() {
        let hostile = review(include_bytes!("../../fixtures/documents/hostile.json"));
        let entries = entries(&hostile);
        assert!(entries.iter().all(|entry| !entry.title.contains(['\n', '\x1b']) && !is_blank(&entry.check)));
        assert_eq!(entries[3].check, "review/documentation", "a rule without a name");
        assert_eq!(entries[3].title, "(no title)");
    }
}
