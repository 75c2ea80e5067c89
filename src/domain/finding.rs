//! Findings: claims that were checked. Main type: [`Finding`].
//!
//! Checking claims belongs in `evidence`; rendering findings, in `present`.

use std::cmp::Ordering;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::day::Day;
use super::path::RepoPath;
use super::place::{DiffSide, LineRange};

macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize, schemars::JsonSchema)]
        pub enum $name {
            $($(#[$vdoc])* #[serde(rename = $word)] $variant),+
        }

        impl $name {
            /// Every value, in order.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The word used in JSON, on the command line and on every surface.
            pub const fn word(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }

            /// Reads the word back, in any case.
            pub fn from_word(word: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|value| value.word().eq_ignore_ascii_case(word))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.word())
            }
        }
    };
}

words!(
    /// How bad a finding is, worst first, so that sorting ascending puts the worst on top.
    Severity {
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
);

words!(
    /// What kind of defect a finding is.
    Category {
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
);

words!(
    /// Where a finding stands compared with the previous review of the branch.
    FindingStatus {
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
    }
);

words!(
    /// Whether an anchor's quote stood where it was claimed.
    AnchorMatch {
        /// On the claimed lines, or at its only place when no lines were claimed.
        Exact = "exact",
        /// Elsewhere in the file than claimed.
        Moved = "moved",
    }
);

words!(
    /// What an anchor covers.
    AnchorKind {
        /// Certain lines.
        Lines = "lines",
        /// The file as a whole.
        File = "file",
    }
);

words!(
    /// What a second look said.
    VerificationState {
        /// There was none.
        Unchecked = "unchecked",
        /// It could not be refuted.
        Confirmed = "confirmed",
        /// Neither proved nor refuted.
        Uncertain = "uncertain",
    }
);

words!(
    /// What sort of engine made a finding.
    OriginKind {
        /// A language model.
        Model = "model",
        /// A rule.
        Rule = "rule",
        /// A build tool.
        Build = "build",
    }
);

impl FindingStatus {
    /// Checks whether nothing is left to do about it.
    pub const fn is_resolved(self) -> bool {
        match self {
            Self::Fixed | Self::Dismissed => true,
            Self::New | Self::Open | Self::Reopened => false,
        }
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

/// The origin of a finding: the kind, and the name of the rule, model or tool.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct FindingOrigin {
    /// The kind.
    pub kind: OriginKind,
    /// Its name (`rust/unwrap-on-io`, `anthropic/…`).
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

/// The outcome of a second look.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FindingVerification {
    /// The verdict.
    pub state: VerificationState,
    /// The verifying model.
    pub by: Option<String>,
    /// Why.
    pub rationale: Option<String>,
}

impl FindingVerification {
    /// No second look was taken.
    pub const UNCHECKED: Self = Self { state: VerificationState::Unchecked, by: None, rationale: None };
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
    /// The category.
    pub category: Category,
    /// The engine's confidence, if stated.
    pub confidence: Option<Confidence>,
    /// The anchors: the first touches the change; at least one.
    pub anchors: Vec<Anchor>,
    /// A proven replacement.
    pub suggestion: Option<Suggestion>,
    /// A second look.
    pub verification: FindingVerification,
    /// Its origin.
    pub origin: FindingOrigin,
    /// The guideline it rests on.
    pub guideline: Option<GuidelineRef>,
    /// The reason why it is dismissed; only where its status says that it is.
    pub dismissed: Option<DismissalNote>,
}

impl Finding {
    /// Marks it as one that nobody needs to hear again.
    pub fn dismiss(&mut self, why: DismissalNote) {
        self.status = FindingStatus::Dismissed;
        self.dismissed = Some(why);
    }
}

/// Sorts findings into the order that every surface shows: worst first, then path, then line, then id.
pub fn worst_first(findings: &mut [Finding]) {
    findings.sort_by(by_worst);
}

/// Compares two findings in that order.
pub fn by_worst(a: &Finding, b: &Finding) -> Ordering {
    let place = |finding: &Finding| {
        finding.anchors.first().map(|anchor| (anchor.path.clone(), anchor.lines.map_or(0, LineRange::start)))
    };
    (a.severity, place(a), &a.id).cmp(&(b.severity, place(b), &b.id))
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

    #[test]
    fn words_read_back() {
        for category in Category::ALL {
            assert_eq!(Category::from_word(&category.word().to_uppercase()), Some(*category));
        }
        assert_eq!(Severity::from_word("blocker"), None);
    }
}
