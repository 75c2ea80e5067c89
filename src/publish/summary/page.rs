//! The parts of a summary, each in its own room. Main type: [`SummaryPage`].

use std::collections::{BTreeMap, HashMap, HashSet};

use super::{SummaryFinding, SummaryParts, untrusted};
use crate::domain::finding::{Finding, FindingId, MOST_MAIN, Prominence, Severity, by_worst};
use crate::domain::forge::{DeliveryVerdict, MarkTrust, ReviewMark, SummaryMark, SummaryOnlyMark};
use crate::domain::id::CommitId;
use crate::domain::review::{Review, ReviewOutcome, StopReason};
use crate::domain::run::Engine;
use crate::domain::text::shorten;
use crate::present::{digest, engine};
use crate::publish::draft::{SummaryOnlyReason, render_full};
use crate::publish::guard::SecretGuard;
use crate::publish::markdown::{CommentWriter, length};

/// Characters of a title, a place and a reason in one line.
const TITLE: usize = 160;
const PLACE: usize = 300;
const REASON: usize = 300;
/// Reasons and notes that are named.
const REASONS: usize = 8;
/// Characters of a title in a mark.
const KEPT_TITLE: usize = 60;
/// Findings that are listed: those on lines, here too, and fixed ones.
const ON_LINES: usize = 10;
const FIXED: usize = 10;
/// Commits that are named.
const COMMITS: usize = 20;

/// The parts of a summary.
pub(super) struct SummaryPage<'a> {
    review: &'a Review,
    parts: &'a SummaryParts,
    pub(super) writer: CommentWriter<'a>,
    /// Findings on lines, worst first.
    on_lines: Vec<&'a Finding>,
    /// Findings that are not, and why, worst first.
    pub(super) beside: Vec<(&'a Finding, SummaryOnlyReason)>,
}

impl<'a> SummaryPage<'a> {
    pub(super) fn new(review: &'a Review, parts: &'a SummaryParts, guard: &'a SecretGuard) -> Self {
        let silent: HashSet<&FindingId> = parts.by_others.iter().chain(&parts.late).map(|one| &one.finding).collect();
        let standing: HashSet<&FindingId> = parts.on_lines.iter().collect();
        let why: HashMap<&FindingId, SummaryOnlyReason> =
            parts.beside.iter().map(|one| (&one.finding, one.why)).collect();
        let mut raised: Vec<&Finding> = review.unresolved().filter(|finding| !silent.contains(&finding.id)).collect();
        raised.sort_by_key(|finding| finding.severity);
        let (on_lines, others): (Vec<&Finding>, Vec<&Finding>) =
            raised.into_iter().partition(|finding| standing.contains(&finding.id));
        let beside = others
            .into_iter()
            .map(|finding| (finding, why.get(&finding.id).copied().unwrap_or(SummaryOnlyReason::Unplaced)))
            .collect();
        Self { review, parts, writer: CommentWriter::new(guard), on_lines, beside }
    }

    /// The line that ends the text; none for a change without commits.
    pub(super) fn mark(&self, untold: usize) -> String {
        let change = &self.review.change;
        let (Some(head), Some(merge_base)) = (change.head, change.merge_base) else { return String::new() };
        if self.parts.trust == MarkTrust::Untrusted {
            let mark = SummaryMark { run: self.review.id, head, merge_base, complete: false, made: None };
            return mark.write_as(MarkTrust::Untrusted);
        }
        let complete = self.review.outcome == ReviewOutcome::Complete && self.parts.is_of_all;
        let coverage = &self.review.coverage;
        let hid = coverage.below_floor.keys().chain(coverage.below_confidence.keys()).min().copied();
        let made = Some(ReviewMark { engine: self.review.provenance.engine, hid, untold });
        SummaryMark { run: self.review.id, head, merge_base, complete, made }.write()
    }

    /// The marks of what has no thread, one a line, and of how many they are: the first ones, as many as there is room for.
    pub(super) fn kept_marks(&self, room: usize) -> (String, usize) {
        let (mut out, mut count) = (String::new(), 0);
        if self.mark(0).is_empty() || self.parts.trust == MarkTrust::Untrusted {
            return (out, count);
        }
        for mark in self.parts.kept.iter().take(SummaryOnlyMark::MOST) {
            let path = mark.path.display_name();
            let title = shorten(&self.writer.plain_line(&mark.title), KEPT_TITLE);
            let line = SummaryOnlyMark { title, ..mark.clone() }.write();
            // What may be a secret must not stand in a mark either.
            let line = line.filter(|line| self.writer.plain_line(&path) == path && length(&out) + length(line) < room);
            let Some(line) = line else { break };
            out.push_str(&line);
            out.push('\n');
            count += 1;
        }
        (out, count)
    }

    fn by_severity<'f>(findings: impl Iterator<Item = &'f Finding>) -> (usize, String) {
        let mut by: BTreeMap<Severity, usize> = BTreeMap::new();
        findings.for_each(|finding| *by.entry(finding.severity).or_default() += 1);
        let words: Vec<String> = by.iter().map(|(severity, count)| format!("{count} {severity}")).collect();
        (by.values().sum(), words.join(", "))
    }

    pub(super) fn raised_findings(&self) -> impl Iterator<Item = &Finding> {
        self.on_lines.iter().copied().chain(self.beside.iter().map(|(finding, _)| *finding))
    }

    /// `3 findings (1 high, 2 low)`.
    pub(super) fn severity_counts(&self) -> String {
        let (count, words) = Self::by_severity(self.raised_findings());
        format!("{} ({words})", digest::count_noun(count, "finding"))
    }

    /// The same; `None` without any.
    fn raised_counts(&self) -> Option<String> {
        self.raised_findings().next().is_some().then(|| self.severity_counts())
    }

    /// The verdict in words.
    pub(super) fn verdict_heading(&self) -> String {
        if self.parts.trust == MarkTrust::Untrusted {
            return untrusted::heading(self.raised_counts().as_deref());
        }
        let found = self.raised_findings().next().is_some();
        let (open, silent) = (self.parts.still_open.len(), self.silent());
        let words = match self.review.outcome {
            ReviewOutcome::Failed => format!("failed, {}", digest::nothing(self.review).to_lowercase()),
            ReviewOutcome::Incomplete if found => format!("incomplete, {} so far", self.severity_counts()),
            ReviewOutcome::Incomplete => "incomplete, so this is not a pass".to_owned(),
            ReviewOutcome::Complete if found => self.severity_counts(),
            ReviewOutcome::Complete if open > 0 => format!("nothing new, {open} found earlier still open"),
            ReviewOutcome::Complete if silent > 0 => format!("nothing new, {silent} found and not raised"),
            ReviewOutcome::Complete => "no findings".to_owned(),
        };
        format!("## Review: {words}\n\n")
    }

    /// The change and the request for changes; for a clean review, also what was looked at and by whom.
    fn change_sentence(&self) -> String {
        let change = &self.review.change;
        let size = digest::size(change).join(", ");
        let what = format!("{} ({size})", self.writer.inline_code(&digest::change_names(change), PLACE));
        let found = self.raised_findings().next().is_some();
        let engine_kind = self.review.provenance.engine;
        let said = match (self.parts.trust, self.review.outcome) {
            (MarkTrust::Untrusted, _) if found => format!("The change is {what}. There may be more findings."),
            (MarkTrust::Own, ReviewOutcome::Complete) if !found => {
                let by = match engine_kind {
                    Engine::Rules => "The built-in rules (no model)".to_owned(),
                    Engine::Model => self.writer.inline_code(&engine(self.review), TITLE),
                };
                match digest::count_reviewed(self.review) {
                    0 => format!("{by} found no file of {what} with lines to look at."),
                    files => {
                        let files = digest::count_noun(files, "changed file");
                        format!("{by} {} {files} of {what}.", engine_kind.past_tense())
                    }
                }
            }
            _ => format!("The change is {what}."),
        };
        let asks = match self.parts.verdict {
            DeliveryVerdict::Comment => "",
            DeliveryVerdict::RequestChanges => " This review asks for changes.",
        };
        format!("{said}{asks}")
    }

    /// Findings of this review that nothing is said about on lines: it is not clean.
    fn silent(&self) -> usize {
        self.parts.by_others.len() + self.parts.late.len()
    }

    pub(super) fn moved_head_note(&self) -> Option<String> {
        let now = self.parts.moved?;
        let reviewed = self.review.change.head.map_or_else(|| "another commit".to_owned(), short);
        let verb = self.review.provenance.engine.past_tense();
        Some(format!("**The head moved**: {reviewed} was {verb}, and the pull request is at {} now.", short(now)))
    }

    /// The verdict, the reasons, what is to be known before anything else.
    pub(super) fn render_head(&self, room: usize) -> String {
        let mut out = format!("{}{}\n\n", self.verdict_heading(), self.change_sentence());
        if self.parts.trust == MarkTrust::Untrusted {
            out.push_str(untrusted::CAUTION);
            if !self.review.reasons.is_empty() {
                self.render_list(&mut out, &self.review.reasons, room);
                out.push('\n');
            }
        }
        if self.parts.trust == MarkTrust::Own && self.review.outcome != ReviewOutcome::Complete {
            if self.review.outcome == ReviewOutcome::Incomplete {
                out.push_str(&format!("Why: {}.\n", self.why_incomplete()));
            }
            self.render_list(&mut out, &self.review.reasons, room);
            out.push('\n');
        }
        if let Some(line) = self.moved_head_note() {
            out.push_str(&format!("{line}\n\n"));
        }
        if let Some(more) = digest::describe_not_shown(self.review) {
            out.push_str(&format!("{more}.\n\n"));
        }
        for sentence in digest::closing(self.review) {
            out.push_str(&format!("{}.\n\n", self.writer.markdown_line(&sentence, REASON)));
        }
        if !self.parts.notes.is_empty() {
            self.render_list(&mut out, &self.parts.notes, room);
            out.push('\n');
        }
        out
    }

    /// Returns the reasons why the review is incomplete. A head that only moved lost nothing.
    fn why_incomplete(&self) -> &'static str {
        let review = self.review;
        if self.parts.moved.is_some() && review.reasons.len() == 1 && review.ended == StopReason::Finished {
            return "newer commits were not reviewed";
        }
        digest::incomplete_label(review)
    }

    pub(super) fn render_list(&self, out: &mut String, texts: &[String], room: usize) {
        let mut named = 0;
        for text in texts.iter().take(REASONS) {
            let line = format!("- {}\n", self.writer.markdown_line(text.trim_end_matches('.'), REASON));
            if length(out) + length(&line) > room {
                break;
            }
            out.push_str(&line);
            named += 1;
        }
        if texts.len() > named {
            out.push_str(&format!("- and {} more\n", texts.len() - named));
        }
    }

    pub(super) fn finding_line(&self, finding: &Finding, why: Option<SummaryOnlyReason>) -> String {
        let by_choice = [SummaryOnlyReason::BeyondLimit, SummaryOnlyReason::BelowThreshold];
        let why = why.filter(|why| !by_choice.contains(why)).map(|why| format!("; not on its lines: {why}"));
        let place = finding.anchors.first().map(digest::place).unwrap_or_default();
        let place = self.linked(finding, self.writer.inline_code(&place, PLACE));
        let severity = self.marked_severity(finding);
        self.row(&severity, &finding.title, &place, &finding.id, &why.unwrap_or_default())
    }

    /// Renders the severity, with the mark of the verification.
    fn marked_severity(&self, finding: &Finding) -> String {
        let mark = finding.describe_mark().map(|mark| self.writer.markdown_line(&mark, TITLE));
        let mark = mark.map(|mark| format!(" ({mark})")).unwrap_or_default();
        format!("**{}**{mark}", finding.severity)
    }

    /// Renders the place of a finding, already made Markdown, as a link if it has an address.
    fn linked(&self, finding: &Finding, place: String) -> String {
        match (finding.anchors.first(), &self.parts.links) {
            (Some(anchor), Some(links)) => links.link(&self.writer, anchor, place),
            _ => place,
        }
    }

    fn row(&self, severity: &str, title: &str, place: &str, id: &FindingId, more: &str) -> String {
        let title = self.title(title);
        let place = if place.is_empty() { String::new() } else { format!("{place}, ") };
        format!("- {severity}: {title} ({place}id {}{more})", self.writer.inline_code(&id.0, 60))
    }

    /// Renders a finding of which only the thread is known.
    fn earlier_row(&self, one: &SummaryFinding) -> String {
        let place = self.writer.inline_code(&one.place, PLACE);
        self.row(&format!("**{}**", one.severity), &one.title, &place, &one.finding, "")
    }

    fn title(&self, title: &str) -> String {
        let title = self.writer.markdown_line(title, TITLE);
        if title.is_empty() { "(no title)".to_owned() } else { title }
    }

    /// Renders the table of the main findings, if they are many and all of them have room.
    pub(super) fn render_table(&self, room: usize) -> String {
        let mut main: Vec<&Finding> = self.raised_findings().filter(|one| one.prominence == Prominence::Main).collect();
        // In a review of before there was a prominence all findings are main; a table of them would be a wall.
        if main.len() <= digest::MOST_WITHOUT_TABLE || main.len() > MOST_MAIN {
            return String::new();
        }
        main.sort_by(|a, b| by_worst(a, b));
        let row = |finding: &&Finding| {
            let mark = finding.describe_mark().map(|mark| format!(" ({})", self.writer.cell(&mark, TITLE)));
            let (severity, mark) = (finding.severity, mark.unwrap_or_default());
            let place = finding.anchors.first().map(digest::place).unwrap_or_default();
            let place = self.linked(finding, self.writer.cell_code(&place, PLACE));
            format!("| **{severity}**{mark} | {place} | {} |", self.writer.cell(&finding.title, TITLE))
        };
        let rows = main.iter().map(row).collect::<Vec<_>>().join("\n");
        let table = format!("| severity | place | title |\n| --- | --- | --- |\n{rows}");
        if length(&table) <= room { table } else { String::new() }
    }

    /// A finding in full.
    pub(super) fn finding_block(&self, finding: &Finding, why: SummaryOnlyReason, room: usize) -> String {
        let why = format!("\n\n_Not on its lines: {why}._");
        let text = render_full(&self.writer, self.review.id, finding, room.saturating_sub(length(&why)));
        format!("{text}{why}")
    }

    /// The findings on lines, as many as there is room for, without the main ones if a table names them; where they are many, only how many.
    pub(super) fn render_inline_findings(&self, room: usize, has_table: bool) -> String {
        let is_named = |finding: &&&Finding| has_table && finding.prominence == Prominence::Main;
        let unnamed: Vec<&Finding> = self.on_lines.iter().filter(|finding| !is_named(finding)).copied().collect();
        if unnamed.len() > ON_LINES {
            let (count, words) = Self::by_severity(unnamed.into_iter());
            return format!("{} with a comment on the lines: {words}.", digest::count_noun(count, "finding"));
        }
        listed(unnamed.into_iter().map(|finding| self.finding_line(finding, None)), room)
    }

    /// Returns the note that some findings were not posted.
    pub(super) fn not_posted_note(&self, count: usize) -> String {
        if count == 0 {
            return String::new();
        }
        let (are, have) = if count == 1 { ("is", "has") } else { ("are", "have") };
        let count = digest::count_noun(count, "finding");
        let run = self.review.id;
        format!("**{count} {have} no room here** and {are} kept with the run (`review show {run}` where it was made).")
    }

    /// Renders the results of earlier findings.
    pub(super) fn render_earlier(&self, room: usize) -> String {
        let parts = self.parts;
        let groups: [(&str, &[SummaryFinding]); 6] = [
            ("Still open", &parts.still_open),
            ("Back again", &parts.reopened),
            ("Fixed", &parts.fixed),
            ("Fixed, but the thread could not be resolved", &parts.not_resolved),
            ("Resolved by somebody else and found again; not raised", &parts.by_others),
            ("Late: on code that an earlier review saw as it is; not raised", &parts.late),
        ];
        let groups: Vec<_> = groups.into_iter().filter(|(_, all)| !all.is_empty()).collect();
        let share = room / groups.len().max(1);
        let texts = groups.iter().map(|(title, all)| {
            // What is fixed grows with each push: the newest are named.
            let most = if *title == "Fixed" { FIXED } else { usize::MAX };
            let rows = all.iter().take(most).map(|one| self.earlier_row(one));
            let heading = format!("{title} ({}):\n\n", all.len());
            let rows = listed(rows, share.saturating_sub(length(&heading) + 2));
            let older = all.len().saturating_sub(most);
            let older = if older > 0 { format!("\n- and {older} fixed before") } else { String::new() };
            format!("{heading}{rows}{older}")
        });
        texts.collect::<Vec<_>>().join("\n\n")
    }

    /// Renders the engine's description of the change, and its sections.
    pub(super) fn render_about(&self, room: usize) -> String {
        if self.parts.trust == MarkTrust::Untrusted {
            return String::new();
        }
        let mut out = String::new();
        let mut left_out = 0;
        // What rules say of a change is how many findings there are, which stands above.
        let is_model = self.review.provenance.engine != Engine::Rules;
        let summary = ("", if is_model { self.review.summary.as_str() } else { "" });
        let sections = self.review.sections.iter().map(|section| (section.title.as_str(), section.body.as_str()));
        for (title, body) in std::iter::once(summary).chain(sections).filter(|(_, body)| !body.trim().is_empty()) {
            let title = self.writer.markdown_line(title, TITLE);
            let title = if title.is_empty() { title } else { format!("**{title}**\n\n") };
            let used = length(&out) + length(&title) + 100;
            let (text, cut) = self.writer.prose(body, room.saturating_sub(used));
            if text.is_empty() {
                left_out += 1;
                continue;
            }
            let note = if cut { "\n\n_(cut)_" } else { "" };
            out.push_str(&format!("{title}{text}{note}\n\n"));
        }
        if left_out > 0 {
            out.push_str(&format!("_{} left out_", digest::count_noun(left_out, "part")));
        }
        out.trim_end().to_owned()
    }

    /// The receipt.
    pub(super) fn render_coverage(&self, room: usize) -> String {
        if self.parts.trust == MarkTrust::Untrusted {
            return String::new();
        }
        let rows: Vec<String> = digest::receipt(self.review)
            .iter()
            .map(|row| {
                let words = row.render(
                    |text| self.writer.markdown_line(text, REASON),
                    |path| self.writer.inline_code(path, PLACE),
                );
                format!("- **{}**: {words}", row.label)
            })
            .collect();
        listed(rows.into_iter(), room)
    }

    /// Commits, who made it, and where all of it is.
    pub(super) fn render_footer(&self) -> String {
        if self.parts.trust == MarkTrust::Untrusted {
            return untrusted::foot(self.review.id);
        }
        let change = &self.review.change;
        let commits = change.commits.len() + change.commits_omitted;
        let mut out = String::new();
        if commits > 0 {
            let named: Vec<String> = change.commits.iter().take(COMMITS).map(|commit| short(commit.id)).collect();
            let more =
                if commits > named.len() { format!(" and {} more", commits - named.len()) } else { String::new() };
            let verb = self.review.provenance.engine.past_tense();
            out.push_str(&format!("Commits {verb}: {}{more}. ", named.join(", ")));
        }
        if let Some(since) = self.parts.since {
            out.push_str(&format!("The review before was of {}. ", short(since)));
        }
        let made = &self.review.provenance;
        let cost = made.usage.cost.map_or_else(|| ", cost unknown".to_owned(), |cost| format!(", {cost}"));
        let engine = self.writer.inline_code(&engine(self.review), TITLE);
        let version = self.writer.inline_code(&format!("review {}", made.version), TITLE);
        let cost = if made.turns > 0 { cost.replace('$', "US$ ") } else { String::new() };
        let run = self.review.id;
        let all = format!("All of it is kept with the run (`review show {run}` where it was made).");
        out.push_str(&format!("Made by {version} with {engine}{cost}. {all}"));
        out
    }
}

fn short(id: CommitId) -> String {
    format!("`{}`", id.short())
}

/// As many rows as there is room for, and how many more there are.
fn listed(rows: impl ExactSizeIterator<Item = String>, room: usize) -> String {
    const MORE: usize = 30;
    let (mut out, mut left, total) = (Vec::new(), room.saturating_sub(MORE), rows.len());
    for row in rows {
        let Some(rest) = left.checked_sub(length(&row) + 1) else { break };
        left = rest;
        out.push(row);
    }
    if out.len() < total {
        out.push(format!("- and {} more", total - out.len()));
    }
    out.join("\n")
}
