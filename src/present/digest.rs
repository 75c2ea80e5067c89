//! Texts that several outputs share: the verdict, the reviewer, the size of the change, the receipt in few rows.
//!
//! Main type: [`ReceiptRow`]. Texts of the change and of a model leave this file unchanged; each output sanitizes them for its surface.

use std::collections::{BTreeMap, HashMap};

use crate::domain::change::{ChangeSet, PATCH_NAME};
use crate::domain::finding::{Anchor, CorrectedField, Finding, FindingCorrection, OriginKind, Severity};
use crate::domain::id::CommitId;
use crate::domain::language;
use crate::domain::path::RepoPath;
use crate::domain::place::{DiffSide, LineRange};
use crate::domain::review::{CoverageState, Review, ReviewOutcome, ReviewProvenance, StopReason};
use crate::domain::run::{Engine, Usage, percent};
use crate::domain::text::shorten;
pub(crate) use crate::domain::text::{count_noun, group_thousands};
use crate::domain::verification::VerificationTotals;

/// Upper bound on the rows of one part of the receipt.
const ROWS: usize = 10;
/// Number of paths or titles that are named in a row.
const EXAMPLES: usize = 3;

/// One row of the receipt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ReceiptRow {
    /// The subject of the row.
    pub(crate) label: &'static str,
    /// The number of cases, in words (`2 files`); empty if there is nothing to count, or just one example.
    pub(crate) count: String,
    /// The statement; may hold untrusted text.
    pub(crate) text: String,
    /// Paths or titles to which it applies; untrusted text.
    pub(crate) examples: Vec<String>,
    /// The number of further ones.
    pub(crate) unnamed: usize,
}

impl ReceiptRow {
    fn new(label: &'static str, text: String) -> Self {
        Self { label, count: String::new(), text, examples: Vec::new(), unnamed: 0 }
    }

    /// Renders the row: `a.rs — binary`, or `5 files — binary: a.rs, b.rs, c.rs and 2 more`.
    pub(crate) fn render(&self, safe: impl Fn(&str) -> String, example: impl Fn(&str) -> String) -> String {
        let text = safe(&self.text);
        let named = self.examples.iter().map(|one| example(one)).collect::<Vec<_>>().join(", ");
        match (self.count.as_str(), named.as_str()) {
            (_, "") => text,
            ("", named) => format!("{named} — {text}"),
            (count, named) if self.unnamed == 0 => format!("{count} — {text}: {named}"),
            (count, named) => format!("{count} — {text}: {named} and {} more", self.unnamed),
        }
    }
}

/// Renders the review in one line: `2 findings: 1 high, 1 low — complete`.
pub(crate) fn verdict(review: &Review) -> String {
    let total = review.unresolved().count();
    let severities = by_severity(
        Severity::ALL
            .iter()
            .map(|severity| (*severity, review.unresolved().filter(|finding| finding.severity == *severity).count())),
    );
    let more = describe_not_shown(review).map_or_else(String::new, |more| format!(" ({more})"));
    match (review.outcome, total) {
        (ReviewOutcome::Complete, 0) => match count_reviewed(review) {
            0 => format!("No findings{more} — complete, though no file had lines to look at"),
            files if has_text_checks_only(review) => {
                format!("No findings{more} by text checks in {} — complete", count_noun(files, "changed file"))
            }
            files => format!("No findings{more} in {} — complete", count_noun(files, "changed file")),
        },
        (ReviewOutcome::Complete, _) => format!("{}: {severities}{more} — complete", count_noun(total, "finding")),
        (ReviewOutcome::Incomplete, 0) => format!("No findings so far{more} — incomplete, so this is not a pass"),
        (ReviewOutcome::Incomplete, _) => {
            format!("{}: {severities}{more} — incomplete, there may be more", count_noun(total, "finding"))
        }
        (ReviewOutcome::Failed, _) => format!("{} — failed", nothing(review)),
    }
}

/// Describes a review that failed: `Nothing was reviewed`.
pub(crate) fn nothing(review: &Review) -> String {
    format!("Nothing was {}", review.provenance.engine.past_tense())
}

/// Checks whether a review may be shown as a pass: the whole change was reviewed, by more than text checks, and nothing is left to do, was left out or
/// is not shown. Whatever its receipt notes counts as left out.
pub(crate) fn is_clean(review: &Review) -> bool {
    is_clean_but_notes(review) && review.coverage.notes.is_empty()
}

/// Checks the same, but for the notes.
pub(super) fn is_clean_but_notes(review: &Review) -> bool {
    let coverage = &review.coverage;
    review.outcome == ReviewOutcome::Complete
        && review.unresolved().next().is_none()
        && closing(review).is_empty()
        && describe_not_shown(review).is_none()
        && coverage.limits_hit.is_empty()
        && coverage.files.iter().any(|file| matches!(file.state, CoverageState::Reviewed | CoverageState::Checked))
        && coverage.files.iter().all(|file| file.state != CoverageState::Truncated)
}

/// The sentences that end a report: the limits of this review that its outcome does not show, each with the way out.
pub(crate) fn closing(review: &Review) -> Vec<String> {
    let uncommitted = review.coverage.uncommitted;
    let uncommitted = (uncommitted > 0).then(|| {
        let (verb, have) = (review.provenance.engine.past_tense(), if uncommitted == 1 { "has" } else { "have" });
        let files = count_noun(uncommitted as usize, "file");
        format!("{files} {have} uncommitted changes that were not {verb}: --all includes them")
    });
    text_checks(review).into_iter().chain(uncommitted).collect()
}

/// Names the programming languages without rules: `no rules for Ruby (52 files): text checks only; …`.
pub(crate) fn text_checks(review: &Review) -> Option<String> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for (_, name) in without_rules(review) {
        *counts.entry(name).or_default() += 1;
    }
    let mut counts: Vec<(&str, usize)> = counts.into_iter().collect();
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let more = counts.len().saturating_sub(EXAMPLES);
    let named = counts.iter().take(EXAMPLES).map(|(name, count)| format!("{name} ({})", count_noun(*count, "file")));
    let named = named.collect::<Vec<_>>().join(", ");
    let more = if more > 0 { format!(" and {}", count_noun(more, "more language")) } else { String::new() };
    (!named.is_empty()).then(|| {
        format!(
            "no rules for {named}{more}: text checks only; --model reviews such files, --leads adds the results of the project's own linter"
        )
    })
}

/// Returns the files in programming languages without rules, with the names of the languages.
pub(super) fn without_rules(review: &Review) -> impl Iterator<Item = (&RepoPath, &'static str)> {
    let files = review.coverage.files.iter().filter(|file| file.state == CoverageState::TextOnly);
    files.filter_map(|file| Some((&file.path, language::without_rules(file.reason.as_deref()?)?)))
}

/// Names the review that a finding was taken over from: `from the review 1f2e3d4c, by a rule`.
pub(crate) fn carried(finding: &Finding) -> Option<String> {
    let run = finding.carried_from?.to_string();
    let by = match finding.origin.kind {
        OriginKind::Model => "a model",
        OriginKind::Rule => "a rule",
        OriginKind::Build => "a build",
    };
    Some(format!("carried over from the review {}, found by {by}", run.get(..8).unwrap_or(&run)))
}

/// Counts the findings below a threshold: `2 more below the severity floor, 1 below the confidence floor`.
pub(crate) fn describe_not_shown(review: &Review) -> Option<String> {
    let coverage = &review.coverage;
    let hidden = |counts: &BTreeMap<Severity, u32>| counts.values().map(|count| *count as usize).sum::<usize>();
    match (hidden(&coverage.below_floor), hidden(&coverage.below_confidence)) {
        (0, 0) => None,
        (severity, 0) => Some(format!("{severity} more below the severity floor")),
        (0, confidence) => Some(format!("{confidence} more below the confidence floor")),
        (severity, confidence) => {
            Some(format!("{severity} more below the severity floor, {confidence} below the confidence floor"))
        }
    }
}

/// Describes an incomplete review. One that was interrupted may well have covered the whole change.
pub(crate) fn incomplete_label(review: &Review) -> &'static str {
    match review.ended {
        StopReason::Finished if review.coverage.files.iter().all(|file| file.state.is_whole()) => {
            "some of the review was lost"
        }
        StopReason::Finished => "some of the change was not looked at",
        _ => "the review did not come to its end",
    }
}

/// Checks whether no file was examined by more than text checks.
fn has_text_checks_only(review: &Review) -> bool {
    review.coverage.files.iter().all(|file| matches!(file.state, CoverageState::TextOnly | CoverageState::Skipped))
}

/// Returns the summary of a model. That of the rules only counts, as the verdict does, unless nothing was there to review.
pub(super) fn summary(review: &Review) -> Option<&str> {
    let says_more = review.provenance.engine == Engine::Model || count_reviewed(review) == 0;
    Some(review.summary.trim()).filter(|text| says_more && !text.is_empty())
}

pub(crate) fn count_reviewed(review: &Review) -> usize {
    review.coverage.files.iter().filter(|file| file.state != CoverageState::Skipped).count()
}

/// Describes the reviewer and its cost: `checked by the built-in rules (no model), 0.8 s`.
pub(crate) fn reviewer(review: &Review) -> String {
    let verb = match review.outcome {
        ReviewOutcome::Complete if review.provenance.engine == Engine::Model && review.provenance.turns == 0 => {
            "not sent to"
        }
        ReviewOutcome::Complete | ReviewOutcome::Incomplete => {
            return format!("{} by {}", review.provenance.engine.past_tense(), engine(&review.provenance));
        }
        ReviewOutcome::Failed => "tried with",
    };
    format!("{verb} {}", engine(&review.provenance))
}

/// Names the engine, its models and their cost.
pub(super) fn engine(provenance: &ReviewProvenance) -> String {
    let mut parts = vec![match provenance.engine {
        Engine::Rules => "the built-in rules (no model)".to_owned(),
        Engine::Model if !provenance.answered.is_empty() => {
            let each = provenance.answered.iter();
            let each =
                each.map(|by| format!("{}/{} ({})", by.provider, by.model, count_noun(by.turns as usize, "turn")));
            each.collect::<Vec<_>>().join(" and ")
        }
        Engine::Model => match (&provenance.provider, &provenance.model) {
            (Some(provider), Some(model)) => format!("{provider}/{model}"),
            (Some(one), None) | (None, Some(one)) => one.clone(),
            (None, None) => "a model that was not named".to_owned(),
        },
    }];
    parts.push(duration(provenance.took_ms));
    if provenance.turns > 0 {
        parts.push(count_noun(provenance.turns as usize, "turn"));
    }
    if provenance.turns > 0 {
        parts.extend(spent(provenance.usage));
    }
    let mut words = parts.join(", ");
    if let Some(share) = share(provenance) {
        words.push_str(&format!(" ({share})"));
    }
    words
}

/// Describes the cost of turns: `12,345 tokens in (80% from the cache), 99 out`, `$0.42`. Unknown figures are called unknown.
pub(crate) fn spent(usage: Usage) -> [String; 2] {
    let tokens = match (usage.input_tokens, usage.output_tokens) {
        (Some(input), Some(output)) => {
            let cached = usage.cached().map_or_else(String::new, |percent| format!(" ({percent}% from the cache)"));
            format!("{} tokens in{cached}, {} out", group_thousands(input), group_thousands(output))
        }
        _ => "tokens unknown".to_owned(),
    };
    [tokens, cost(usage)]
}

/// Formats a cost, `$0.42`, or that it is unknown.
pub(crate) fn cost(usage: Usage) -> String {
    usage.cost.map_or_else(|| "cost unknown".to_owned(), |cost| cost.to_string())
}

/// Describes the share of verification in a model's turns and tokens: `second look: 4 turns, 31% of the tokens in`.
fn share(provenance: &ReviewProvenance) -> Option<String> {
    let look = provenance.second_look.as_ref().filter(|look| look.turns > 0)?;
    let tokens = look.usage.input_tokens.zip(provenance.usage.input_tokens);
    let tokens = tokens.and_then(|(own, all)| percent(own, all));
    let tokens = tokens.map_or_else(String::new, |percent| format!(", {percent}% of the tokens in"));
    let money = look.usage.cost.zip(provenance.usage.cost);
    let money = money.and_then(|(own, all)| percent(own.nanos(), all.nanos()));
    let money = money.map_or_else(String::new, |percent| format!(", {percent}% of the cost"));
    Some(format!("second look: {}{tokens}{money}", count_noun(look.turns as usize, "turn")))
}

pub(crate) fn duration(millis: u64) -> String {
    let seconds = millis / 1000;
    match seconds {
        0..10 => format!("{seconds}.{} s", millis % 1000 / 100),
        10..120 => format!("{seconds} s"),
        _ => format!("{} min {} s", seconds / 60, seconds % 60),
    }
}

/// Describes the size of the change: `2 commits`, `5 files`, `+120 -14`.
pub(crate) fn size(change: &ChangeSet) -> Vec<String> {
    let added: u64 = change.files.iter().map(|file| u64::from(file.additions)).sum();
    let deleted: u64 = change.files.iter().map(|file| u64::from(file.deletions)).sum();
    let mut parts = Vec::new();
    let commits = change.commits.len() + change.commits_omitted;
    if commits > 0 {
        parts.push(count_noun(commits, "commit"));
    }
    parts.push(count_noun(change.files.len(), "file"));
    parts.push(format!("+{added} -{deleted}"));
    parts
}

/// Names the change: `main → feature (3f2a9c1d00)`.
pub(crate) fn change_names(change: &ChangeSet) -> String {
    let name = head_name(change);
    if change.target == PATCH_NAME {
        return name;
    }
    let id = change.head.map(|id| id.short()).filter(|id| *id != name);
    let id = id.map(|id| format!(" ({id})")).unwrap_or_default();
    format!("{} → {name}{id}", CommitId::shorten_name(&change.target))
}

/// Names the head: a branch, or the short form of a commit.
pub(super) fn head_name(change: &ChangeSet) -> String {
    let (name, id) = (&change.head_name, change.head.map(|id| id.short()));
    match id {
        Some(id) if name.is_empty() || id.starts_with(name) || name.starts_with(&id) => id,
        None if name.is_empty() => "(no commit)".to_owned(),
        _ => name.clone(),
    }
}

/// Returns the name and title of the change's pull request.
pub(super) fn pull(change: &ChangeSet) -> Option<(String, &str)> {
    change.pull.as_ref().map(|pull| (pull.id.to_string(), pull.title.as_str()))
}

/// The number of main findings above which a table of their titles comes first.
pub(crate) const MOST_WITHOUT_TABLE: usize = 3;
/// The heading of the findings that are shown as one line each.
pub(crate) const ALSO_NOTICED: &str = "Also noticed";

/// Renders the rationale of the verification of a finding and what it corrected, before both are sanitized; `None` without one.
pub(crate) fn rationale(finding: &Finding) -> Option<String> {
    finding.mark()?;
    let why = finding.verification.rationale()?;
    let by = finding.verification.by.as_deref().map(|by| format!(" by {by}")).unwrap_or_default();
    let corrections: Vec<String> = finding.verification.corrections.iter().map(correction).collect();
    let corrected =
        if corrections.is_empty() { String::new() } else { format!(" Corrected: {}.", corrections.join("; ")) };
    Some(format!("Verification{by}: {why}{corrected}"))
}

/// Maximum number of characters of each version of a corrected passage.
const PASSAGE: usize = 120;

/// Renders a correction by a verification, before it is sanitized: `the severity, from high to medium`.
pub(crate) fn correction(made: &FindingCorrection) -> String {
    let part = match made.field {
        CorrectedField::Severity => "the severity",
        CorrectedField::Body => "the text",
        CorrectedField::Place => "the place",
    };
    let (was, now) = (shorten(&made.was, PASSAGE), shorten(&made.now, PASSAGE));
    match (made.field, now.is_empty()) {
        (CorrectedField::Body, true) => format!("{part}, without \"{was}\""),
        (CorrectedField::Body, false) => format!("{part}, from \"{was}\" to \"{now}\""),
        (CorrectedField::Severity | CorrectedField::Place, _) => format!("{part}, from {was} to {now}"),
    }
}

/// Formats the place of an anchor: `src/a.rs:12-14`.
pub(crate) fn place(anchor: &Anchor) -> String {
    let path = anchor.path.display_name();
    match anchor.lines {
        Some(lines) if lines.count() == 1 => format!("{path}:{}", lines.start()),
        Some(lines) => format!("{path}:{}-{}", lines.start(), lines.end()),
        None => path.into_owned(),
    }
}

/// Formats line numbers: `line 12`, `lines 12-14`.
pub(crate) fn describe_lines(lines: LineRange) -> String {
    if lines.count() == 1 {
        format!("line {}", lines.start())
    } else {
        format!("lines {}-{}", lines.start(), lines.end())
    }
}

/// Returns a note on an anchor that its place does not express.
pub(crate) fn place_note(anchor: &Anchor) -> &'static str {
    match (anchor.side, anchor.lines.is_some()) {
        (DiffSide::New, true) => "",
        (DiffSide::New, false) => "the whole file",
        (DiffSide::Old, true) => "before the change",
        (DiffSide::Old, false) => "the whole file, before the change",
    }
}

pub(super) fn by_severity(counts: impl Iterator<Item = (Severity, usize)>) -> String {
    let parts: Vec<String> =
        counts.filter(|(_, count)| *count > 0).map(|(severity, count)| format!("{count} {severity}")).collect();
    parts.join(", ")
}

/// Renders the receipt as rows: what was reviewed, what was not and why, what was withheld.
pub(crate) fn receipt(review: &Review) -> Vec<ReceiptRow> {
    let coverage = &review.coverage;
    let in_state = |state: CoverageState| coverage.files.iter().filter(move |file| file.state == state);
    let mut rows = vec![ReceiptRow::new(
        "files",
        format!("{}: {}", count_noun(coverage.files.len(), "changed file"), file_states(review)),
    )];
    for (state, label) in [
        (CoverageState::TextOnly, "text checks"),
        (CoverageState::Truncated, "in part"),
        (CoverageState::Skipped, "skipped"),
    ] {
        let files = in_state(state).map(|file| {
            (file.reason.as_deref().unwrap_or("no reason was given"), file.path.display_name().into_owned())
        });
        rows.extend(grouped(label, "file", files));
    }
    let withheld = coverage.withheld.iter().map(|held| (held.reason.as_str(), held.title.clone()));
    rows.extend(grouped("withheld", "finding", withheld));

    if !coverage.below_floor.is_empty() {
        let counts = by_severity(coverage.below_floor.iter().map(|(severity, count)| (*severity, *count as usize)));
        rows.push(ReceiptRow::new("not shown", format!("{counts} (below the severity floor)")));
    }
    if !coverage.below_confidence.is_empty() {
        let counts =
            by_severity(coverage.below_confidence.iter().map(|(severity, count)| (*severity, *count as usize)));
        rows.push(ReceiptRow::new("not shown", format!("{counts} (below the confidence floor)")));
    }
    if let Some(look) = &review.provenance.second_look {
        rows.push(ReceiptRow::new("second look", second_look(look)));
    }
    if coverage.dismissed > 0 {
        rows.push(ReceiptRow::new("dismissed", count_noun(coverage.dismissed as usize, "finding")));
    }
    if coverage.suppressed > 0 {
        let text = format!("{} by a comment in the code", count_noun(coverage.suppressed as usize, "finding"));
        rows.push(ReceiptRow::new("suppressed", text));
    }
    let leads = coverage.leads;
    if leads.given > 0 {
        let text = format!(
            "{} given: {} confirmed, {} refuted, {} unanswered",
            leads.given, leads.confirmed, leads.refuted, leads.unanswered
        );
        rows.push(ReceiptRow::new("leads", text));
    }
    if coverage.tool_errors > 0 {
        let text = format!("{}, {} failed", count_noun(coverage.tool_calls as usize, "call"), coverage.tool_errors);
        rows.push(ReceiptRow::new("tools", text));
    }
    rows.extend(example_rows("limits", &coverage.limits_hit));
    rows.extend(example_rows("notes", &coverage.notes));
    rows
}

/// Counts the files of each state: `12 checked, 2 text checks only, 1 skipped`.
fn file_states(review: &Review) -> String {
    let files = &review.coverage.files;
    let count = |state: CoverageState| files.iter().filter(|file| file.state == state).count();
    let own = match review.provenance.engine {
        Engine::Model => CoverageState::Reviewed,
        Engine::Rules => CoverageState::Checked,
    };
    // The engine's own word is there even for no file: that none was reviewed is the statement.
    let counts = CoverageState::ALL.iter().copied().filter(|state| *state == own || count(*state) > 0);
    counts.map(|state| format!("{} {}", count(state), state.label())).collect::<Vec<_>>().join(", ")
}

/// Describes verification: `3 findings by openai/x: 1 confirmed, 1 refuted, 1 unchecked`.
fn second_look(look: &VerificationTotals) -> String {
    let counts = [
        (look.confirmed, "confirmed"),
        (look.uncertain, "uncertain"),
        (look.refuted, "refuted"),
        (look.unchecked, "unchecked"),
    ];
    let counts = counts.iter().filter(|(count, _)| *count > 0).map(|(count, word)| format!("{count} {word}"));
    let counts = counts.collect::<Vec<_>>().join(", ");
    format!("{} by {}: {counts}", count_noun(look.findings() as usize, "finding"), look.by)
}

/// Groups items by reason, one row for each, the most frequent first.
fn grouped<'a>(
    label: &'static str,
    noun: &str,
    items: impl Iterator<Item = (&'a str, String)>,
) -> impl Iterator<Item = ReceiptRow> {
    let mut groups: Vec<(usize, &str, Vec<String>)> = Vec::new();
    let mut known: HashMap<&str, usize> = HashMap::new();
    for (reason, example) in items {
        let index = *known.entry(reason).or_insert_with(|| {
            groups.push((0, reason, Vec::new()));
            groups.len() - 1
        });
        if let Some((count, _, examples)) = groups.get_mut(index) {
            *count += 1;
            if examples.len() < EXAMPLES {
                examples.push(example);
            }
        }
    }
    groups.sort_by_key(|(count, ..)| std::cmp::Reverse(*count));
    let rest: usize = groups.iter().skip(ROWS).map(|(count, ..)| count).sum();
    let mut rows: Vec<ReceiptRow> = groups
        .into_iter()
        .take(ROWS)
        .map(|(count, reason, examples)| ReceiptRow {
            label,
            count: if count == 1 { String::new() } else { count_noun(count, noun) },
            text: reason.trim_end_matches('.').to_owned(),
            unnamed: count - examples.len(),
            examples,
        })
        .collect();
    if rest > 0 {
        rows.push(ReceiptRow::new(
            label,
            format!("and {} for other reasons; --format json names all", count_noun(rest, noun)),
        ));
    }
    rows.into_iter()
}

fn example_rows(label: &'static str, texts: &[String]) -> impl Iterator<Item = ReceiptRow> {
    let mut rows: Vec<ReceiptRow> = texts.iter().take(ROWS).map(|text| ReceiptRow::new(label, text.clone())).collect();
    if texts.len() > ROWS {
        rows.push(ReceiptRow::new(label, format!("and {} more; --format json lists all", texts.len() - ROWS)));
    }
    rows.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::review::FileCoverage;

    #[test]
    fn durations_read_as_people_say_them() {
        assert_eq!(
            [0, 840, 9_999, 10_000, 119_999, 125_000].map(duration),
            ["0.0 s", "0.8 s", "9.9 s", "10 s", "119 s", "2 min 5 s"]
        );
    }

    #[test]
    fn a_language_is_without_rules_only_if_that_is_the_reason() {
        let mut review = crate::present::json::parse(include_bytes!("../../fixtures/documents/typical.json")).unwrap();
        let file = |(path, reason): (&str, &str)| FileCoverage {
            path: RepoPath::parse(path).unwrap(),
            state: CoverageState::TextOnly,
            reason: Some(reason.to_owned()),
        };
        let others = [
            ("a.ts", "it is XML or HTML, not TypeScript"),
            ("b.py", "its rules are switched off in the settings"),
            ("c.go", "no rule applies to its path"),
            ("d.rb", "no rules for files of this kind"),
        ];
        review.coverage.files = others.map(file).into();
        assert_eq!(text_checks(&review), None);
        review.coverage.files.push(file(("e.rb", "no rules for Ruby")));
        assert!(text_checks(&review).unwrap().starts_with("no rules for Ruby (1 file): text checks only;"));
    }

    #[test]
    fn thousands_of_files_take_a_few_rows() {
        let reasons: Vec<String> = (0..40).map(|n| format!("reason {}", n % 20)).collect();
        let items = reasons.iter().map(|reason| (reason.as_str(), "path".to_owned()));
        let rows: Vec<ReceiptRow> = grouped("skipped", "file", items).collect();
        assert_eq!(rows.len(), ROWS + 1);
        assert_eq!(rows[ROWS].text, "and 20 files for other reasons; --format json names all");
        let same = (0..5000).map(|n| ("binary", format!("f{n}")));
        let rows: Vec<ReceiptRow> = grouped("skipped", "file", same).collect();
        assert_eq!((rows.len(), rows[0].examples.len(), rows[0].unnamed), (1, EXAMPLES, 5000 - EXAMPLES));
    }
}
