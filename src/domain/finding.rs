//! Findings: claims that were checked. Main type: [`Finding`].
//!
//! Checking claims belongs in `evidence`; rendering findings, in `present`.

use std::cmp::{Ordering, Reverse};
use std::fmt;

use serde::{Deserialize, Serialize};

use super::day::Day;
use super::path::RepoPath;
use super::place::{DiffSide, LineRange};
use super::run::RunId;
use super::text::FileText;
use crate::domain::words::words;

words! {
    /// How bad a finding is, worst first, so that sorting ascending puts the worst on top.
    pub enum Severity: word {
        /// Data loss, a security hole, a crash on the main path: must not be merged.
        Critical = "critical",
        /// Wrong results or a failure that users will meet.
        High = "high",
        /// Wrong in a case that is real but not common.
        Medium = "medium",
        /// Worth changing, little harm if not.
        Low = "low",
        /// Taste and tidiness.
        Nit = "nit",
    }
}

words! {
    /// What kind of defect a finding is.
    pub enum Category: word {
        /// It computes the wrong thing.
        Logic = "logic",
        /// It can be attacked.
        Security = "security",
        /// Somebody can do what they may not.
        AccessControl = "access_control",
        /// It wastes time or memory.
        Performance = "performance",
        /// It will be hard to change.
        Quality = "quality",
        /// It changes something elsewhere that nobody asked for.
        SideEffects = "side_effects",
        /// It is not tested, or the test proves nothing.
        Testing = "testing",
        /// What is written about it is wrong or missing.
        Documentation = "documentation",
    }
}

words! {
    /// How much room a finding gets where people read.
    pub enum Prominence: word {
        /// It is shown whole.
        Main = "main",
        /// It is shown as one line.
        Also = "also",
    }
}

words! {
    /// Where a finding stands compared with the previous review of the branch.
    pub enum FindingStatus: word {
        /// Not seen before.
        New = "new",
        /// Seen before and still there.
        Open = "open",
        /// Seen before and gone.
        Fixed = "fixed",
        /// Was fixed and is back.
        Reopened = "reopened",
        /// Silenced by somebody, with a reason.
        Dismissed = "dismissed",
        /// Seen before and shown to be wrong: there was nothing to fix.
        Refuted = "refuted",
    }
}

words! {
    /// Whether an anchor's quote stood where it was claimed.
    pub enum AnchorMatch: word {
        /// On the claimed lines, or at its only place when no lines were claimed.
        Exact = "exact",
        /// Elsewhere in the file than claimed.
        Moved = "moved",
    }
}

words! {
    /// What an anchor covers.
    pub enum AnchorKind: word {
        /// Certain lines.
        Lines = "lines",
        /// The file as a whole.
        File = "file",
    }
}

words! {
    /// What a second look said.
    pub enum VerificationState: word {
        /// There was none, or it came to no verdict.
        Unchecked = "unchecked",
        /// It could not be refuted.
        Confirmed = "confirmed",
        /// Neither proved nor refuted.
        Uncertain = "uncertain",
    }
}

words! {
    /// The part of a finding that a verification corrected.
    pub enum CorrectedField: word {
        /// Its severity.
        Severity = "severity",
        /// A sentence of its text.
        Body = "body",
        /// Its first place.
        Place = "place",
    }
}

words! {
    /// What sort of engine made a finding.
    pub enum OriginKind: word {
        /// A language model.
        Model = "model",
        /// A rule.
        Rule = "rule",
        /// A build tool.
        Build = "build",
    }
}

impl FindingStatus {
    /// Checks whether nothing is left to do about it.
    pub const fn is_resolved(self) -> bool {
        match self {
            Self::Fixed | Self::Dismissed | Self::Refuted => true,
            Self::New | Self::Open | Self::Reopened => false,
        }
    }

    /// Checks whether it is none any more: fixed, or refuted.
    pub const fn is_over(self) -> bool {
        matches!(self, Self::Fixed | Self::Refuted)
    }
}

/// From 1 (a guess) to 10 (certain).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(into = "u8", try_from = "u8")]
pub struct Confidence(u8);

/// A number that is no confidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0} is no confidence: it goes from 1 to 10")]
pub struct InvalidConfidence(pub u8);

impl From<Confidence> for u8 {
    fn from(confidence: Confidence) -> Self {
        confidence.0
    }
}

impl TryFrom<u8> for Confidence {
    type Error = InvalidConfidence;

    fn try_from(value: u8) -> Result<Self, InvalidConfidence> {
        Self::new(value).ok_or(InvalidConfidence(value))
    }
}

impl Confidence {
    /// That of a rule's hint: more often meant than wrong, and worth a reader's look all the same.
    pub const HINT: Self = Self(3);

    /// Checks the range.
    pub fn new(value: u8) -> Option<Self> {
        (1..=10).contains(&value).then_some(Self(value))
    }

    /// The number.
    pub fn value(self) -> u8 {
        self.0
    }
}

/// A finding's name on every surface: 12 hexadecimal digits, with `-2`, `-3` … where fingerprints repeat.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct FindingId(pub String);

impl fmt::Display for FindingId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// A hash of what a finding is about that survives moved lines, other paths and rephrasing; it may repeat.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct FindingFingerprint(pub String);

impl fmt::Display for FindingFingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The origin of a finding.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[schemars(rename = "Origin")]
pub struct FindingOrigin {
    /// The kind.
    pub kind: OriginKind,
    /// The name of the model, rule or tool.
    pub name: String,
}

/// A place that was proved to exist.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Anchor {
    /// The file.
    pub path: RepoPath,
    /// The side of the change.
    pub side: DiffSide,
    /// The lines; `None` for the whole file.
    pub lines: Option<LineRange>,
    /// The text of those lines, secrets masked; empty for a whole file.
    pub quote: String,
    /// The state of its quote.
    pub matched: AnchorMatch,
    /// `true` if a secret was masked in the quote.
    pub masked: bool,
}

impl Anchor {
    /// Makes an anchor at lines of a text, which it quotes as they are.
    pub fn at_lines(path: RepoPath, side: DiffSide, lines: LineRange, text: &FileText, matched: AnchorMatch) -> Self {
        let quote: Vec<&str> = text.lines(lines).map(|(_, line)| line).collect();
        Self { path, side, lines: Some(lines), quote: quote.join("\n"), matched, masked: text.is_masked(lines) }
    }

    /// Returns the path and the first line, as `a.rs:17`; of a whole file the path alone.
    pub fn first_place(&self) -> String {
        self.lines.map_or_else(|| self.path.to_string(), |lines| format!("{}:{}", self.path, lines.start()))
    }

    /// Returns the scope.
    pub fn kind(&self) -> AnchorKind {
        if self.lines.is_some() { AnchorKind::Lines } else { AnchorKind::File }
    }
}

/// A replacement that was applied in memory and stood.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Suggestion {
    /// The file, at the head.
    pub path: RepoPath,
    /// The lines it replaces.
    pub lines: LineRange,
    /// The replacement: whole lines, the last one without its newline; empty deletes the lines.
    pub replacement: String,
}

impl Suggestion {
    /// Checks whether it replaces lines of an anchor, or the adjacent line that an insertion includes.
    #[must_use]
    pub fn is_about(&self, anchor: &Anchor) -> bool {
        let beside = |lines: LineRange| {
            self.lines.start() >= lines.start().saturating_sub(1) && self.lines.end() <= lines.end().saturating_add(1)
        };
        anchor.side == DiffSide::New && anchor.path == self.path && anchor.lines.is_some_and(beside)
    }
}

/// The result of verification.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[schemars(rename = "Verification")]
pub struct FindingVerification {
    /// The verdict.
    pub state: VerificationState,
    /// The verifying model; for an unchecked finding the one that was to verify it, `None` if none was.
    pub by: Option<String>,
    /// Why; for an unchecked finding, why there is no verdict.
    pub rationale: Option<String>,
    /// The corrections that it made in the finding; absent if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub corrections: Vec<FindingCorrection>,
}

/// A correction of a finding by its verification.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[schemars(rename = "Correction")]
pub struct FindingCorrection {
    /// The corrected part.
    pub field: CorrectedField,
    /// As it was reported.
    pub was: String,
    /// As it is in the finding; empty if it was taken out.
    pub now: String,
}

impl FindingVerification {
    /// No second look was taken.
    pub const UNCHECKED: Self =
        Self { state: VerificationState::Unchecked, by: None, rationale: None, corrections: Vec::new() };

    /// Upper bound on the characters of a clause.
    const CLAUSE: usize = 120;

    /// Returns the mark of the verification; `None` if there was to be none.
    fn mark(&self) -> Option<&'static str> {
        match (self.state, &self.by) {
            (VerificationState::Confirmed, _) => Some("verified"),
            (VerificationState::Uncertain, _) => Some("uncertain"),
            (VerificationState::Unchecked, Some(_)) => Some(NOT_VERIFIED),
            (VerificationState::Unchecked, None) => None,
        }
    }

    /// Returns the rationale, if it says anything.
    pub fn rationale(&self) -> Option<&str> {
        self.rationale.as_deref().map(str::trim).filter(|text| !text.is_empty())
    }
}

/// The mark of a finding that nothing but its reporter vouches for.
const NOT_VERIFIED: &str = "not verified";

/// Returns the first clause of a text, as one line.
fn clause(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let end = [". ", "; ", "! ", "? "].iter().filter_map(|end| line.find(end)).min().unwrap_or(line.len());
    let first = line[..end].trim_end_matches(['.', ';', '!']);
    match first.char_indices().nth(FindingVerification::CLAUSE) {
        Some((most, _)) => {
            let word = first[..most].rfind(' ').unwrap_or(most);
            format!("{}…", first[..word].trim_end_matches([',', ':']))
        }
        None => first.to_owned(),
    }
}

/// The line of a guideline that a finding rests on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GuidelineRef {
    /// The guideline file.
    pub path: RepoPath,
    /// The line in it.
    pub line: u32,
}

/// Who decided that a finding is not to be heard.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DismissedBy {
    /// The project: it stands in its file of dismissals.
    Project,
    /// Somebody who read the kept review; nothing else knows.
    Reader,
}

/// The reason why a finding is dismissed: what a review says of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DismissalNote {
    /// Why, one line.
    pub reason: String,
    /// The last day on which that holds.
    pub until: Option<Day>,
    /// The origin of the decision.
    pub by: DismissedBy,
}

impl DismissalNote {
    /// The reason, and for how long it holds.
    pub fn describe(&self) -> String {
        match self.until {
            Some(until) => format!("{} (until {until})", self.reason),
            None => self.reason.clone(),
        }
    }
}

/// A defect whose evidence stands.
#[derive(Clone, PartialEq, Debug)]
pub struct Finding {
    /// Its stable name.
    pub id: FindingId,
    /// The input that the id was derived from.
    pub fingerprint: FindingFingerprint,
    /// Compared with the previous review.
    pub status: FindingStatus,
    /// One line.
    pub title: String,
    /// The failure and the remedy: Markdown, not yet sanitized for any surface.
    pub body: String,
    /// The severity.
    pub severity: Severity,
    /// The room it gets where people read.
    pub prominence: Prominence,
    /// The category.
    pub category: Category,
    /// The engine's confidence, if stated.
    pub confidence: Option<Confidence>,
    /// The anchors: the quoted place first, and at least one; any of them touches the change.
    pub anchors: Vec<Anchor>,
    /// A proven replacement.
    pub suggestion: Option<Suggestion>,
    /// A second look.
    pub verification: FindingVerification,
    /// Its origin.
    pub origin: FindingOrigin,
    /// The guideline it rests on.
    pub guideline: Option<GuidelineRef>,
    /// The run of the earlier review that found it, if this one did not find it again: it stands because its lines do.
    pub carried_from: Option<RunId>,
    /// The reason why it is dismissed; only where its status says that it is.
    pub dismissed: Option<DismissalNote>,
}

impl Finding {
    /// Marks it as one that nobody needs to hear again.
    pub fn dismiss(&mut self, why: DismissalNote) {
        self.status = FindingStatus::Dismissed;
        self.dismissed = Some(why);
    }

    /// Returns the mark that people see beside the severity: `verified`, `uncertain` or `not verified`. A model's finding of at least medium
    /// severity always has one; what code reports, and lesser findings, have one if they were to be verified.
    pub fn mark(&self) -> Option<&'static str> {
        let is_claim = self.origin.kind == OriginKind::Model && self.severity <= Severity::Medium;
        self.verification.mark().or(is_claim.then_some(NOT_VERIFIED))
    }

    /// Returns the mark, for an uncertain finding with one clause of why. The clause is untrusted text.
    pub fn describe_mark(&self) -> Option<String> {
        let mark = self.mark()?;
        let look = &self.verification;
        let why = look.rationale().filter(|_| look.state == VerificationState::Uncertain).map(clause);
        Some(why.map_or_else(|| mark.to_owned(), |why| format!("{mark}: {why}")))
    }

    /// Returns the confidence for sorting. What code reports and puts no number on is certain; a model that states none is in the middle.
    fn certainty(&self) -> u8 {
        match (self.confidence, self.origin.kind) {
            (Some(confidence), _) => confidence.value(),
            (None, OriginKind::Rule | OriginKind::Build) => 10,
            (None, OriginKind::Model) => 5,
        }
    }
}

/// Compares two findings in the order that every surface shows: worst first, then the surest, then the one that names most places, then path,
/// line and id.
pub fn by_worst(a: &Finding, b: &Finding) -> Ordering {
    let place = |finding: &Finding| {
        finding.anchors.first().map(|anchor| (anchor.path.clone(), anchor.lines.map_or(0, LineRange::start)))
    };
    let rank = |finding: &Finding| (finding.severity, Reverse(finding.certainty()), Reverse(finding.anchors.len()));
    (rank(a), place(a), &a.id).cmp(&(rank(b), place(b), &b.id))
}

/// The most findings that are main.
pub const MOST_MAIN: usize = 10;

/// Decides which findings are shown whole, given all of a review in their order: the first that are open and at least medium.
pub fn assign_prominence(findings: &mut [Finding]) {
    let mut main = 0;
    for finding in findings {
        let is_main = !finding.status.is_resolved() && finding.severity <= Severity::Medium && main < MOST_MAIN;
        main += usize::from(is_main);
        finding.prominence = if is_main { Prominence::Main } else { Prominence::Also };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_sorts_first() {
        let mut all = vec![Severity::Nit, Severity::Critical, Severity::Low];
        all.sort();
        assert_eq!(all, [Severity::Critical, Severity::Low, Severity::Nit]);
    }

    fn finding(id: &str, severity: Severity) -> Finding {
        let anchor = Anchor {
            path: RepoPath::parse("src/a.rs").unwrap(),
            side: DiffSide::New,
            lines: Some(LineRange::line(3)),
            quote: String::new(),
            matched: AnchorMatch::Exact,
            masked: false,
        };
        Finding {
            id: FindingId(id.to_owned()),
            fingerprint: FindingFingerprint(id.to_owned()),
            status: FindingStatus::New,
            title: id.to_owned(),
            body: String::new(),
            severity,
            prominence: Prominence::Main,
            category: Category::Logic,
            confidence: None,
            anchors: vec![anchor],
            suggestion: None,
            verification: FindingVerification::UNCHECKED,
            origin: FindingOrigin { kind: OriginKind::Model, name: String::new() },
            guideline: None,
            carried_from: None,
            dismissed: None,
        }
    }

    #[test]
    fn the_surest_and_then_the_widest_comes_first_within_a_severity() {
        let sure = |value| Confidence::new(value);
        let mut low = finding("0", Severity::Low);
        low.confidence = sure(10);
        let mut doubtful = finding("a", Severity::High);
        doubtful.confidence = sure(4);
        let unstated = finding("b", Severity::High);
        let mut wide = finding("c", Severity::High);
        wide.confidence = sure(9);
        wide.anchors.push(wide.anchors[0].clone());
        let mut narrow = finding("d", Severity::High);
        (narrow.confidence, narrow.anchors[0].lines) = (sure(9), Some(LineRange::line(1)));
        let mut rule = finding("e", Severity::High);
        rule.origin.kind = OriginKind::Rule;
        let mut all = [low, doubtful, unstated, narrow, wide, rule];
        all.sort_by(by_worst);
        let ids: Vec<&str> = all.iter().map(|finding| finding.id.0.as_str()).collect();
        assert_eq!(ids, ["e", "c", "d", "b", "a", "0"]);
    }

    #[test]
    fn at_most_ten_open_findings_from_medium_up_are_main() {
        let mut all: Vec<Finding> = (0..12).map(|at| finding(&at.to_string(), Severity::Medium)).collect();
        all[1].status = FindingStatus::Dismissed;
        all.push(finding("low", Severity::Low));
        assign_prominence(&mut all);
        let also: Vec<&str> = all
            .iter()
            .filter(|finding| finding.prominence == Prominence::Also)
            .map(|finding| finding.id.0.as_str())
            .collect();
        assert_eq!(also, ["1", "11", "low"]);
    }

    #[test]
    fn a_verification_is_marked_in_one_clause() {
        let of = |state, by: Option<&str>, why: &str| {
            let (by, rationale) = (by.map(str::to_owned), Some(why.to_owned()));
            let verification = FindingVerification { state, by, rationale, corrections: Vec::new() };
            Finding { verification, ..finding("a", Severity::Low) }.describe_mark()
        };
        let by = Some("openai/x");
        assert_eq!(of(VerificationState::Confirmed, by, "All holds.").as_deref(), Some("verified"));
        let why = "The caller may\n guard it, as main.rs does. I read three files.";
        let uncertain = "uncertain: The caller may guard it, as main.rs does";
        assert_eq!(of(VerificationState::Uncertain, by, why).as_deref(), Some(uncertain));
        assert_eq!(of(VerificationState::Unchecked, by, "its time was used up").as_deref(), Some("not verified"));
        assert_eq!(of(VerificationState::Unchecked, None, "").as_deref(), None);
        let mut claim = finding("a", Severity::Medium);
        assert_eq!(claim.mark(), Some("not verified"), "nothing but the model vouches for it");
        claim.origin.kind = OriginKind::Rule;
        assert_eq!(claim.mark(), None);
        let long = of(VerificationState::Uncertain, by, &"word ".repeat(90)).unwrap();
        assert!(long.chars().count() < 140 && long.ends_with("word…"), "{long}");
    }

    #[test]
    fn words_read_back() {
        for category in Category::ALL {
            assert_eq!(Category::from_word(&category.word().to_uppercase()), Some(*category));
        }
        assert_eq!(Severity::from_word("blocker"), None);
    }
}
