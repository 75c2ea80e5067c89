//! Verdict of a verification. Main type: [`VerificationVerdict`].
//!
//! Reading one from what a model writes belongs in `verify`.

use crate::domain::finding::{Anchor, Confidence, Severity, VerificationState};
use crate::domain::words::words;

words! {
    /// Word of a verdict.
    pub(in crate::review) enum VerdictWord: word {
        /// It could not be refuted.
        Confirmed = "confirmed",
        /// The code does not decide it.
        Uncertain = "uncertain",
        /// It is wrong.
        Refuted = "refuted",
    }
}

impl VerdictWord {
    /// Reads it in any case, also as a verb.
    pub(in crate::review) fn read(text: &str) -> Option<Self> {
        let word = text.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
        let other = match word.as_str() {
            "confirm" | "confirms" => Some(Self::Confirmed),
            "unsure" | "undecided" => Some(Self::Uncertain),
            "refute" | "refutes" => Some(Self::Refuted),
            _ => None,
        };
        Self::ALL.iter().copied().find(|known| known.word() == word).or(other)
    }

    /// Returns the word for a number: the confidence that the finding is right.
    pub(in crate::review) fn of(confidence: Confidence) -> Self {
        match confidence.value() {
            ..=3 => Self::Refuted,
            4..=6 => Self::Uncertain,
            7.. => Self::Confirmed,
        }
    }

    /// Returns the state of the finding; `None` for one that is not delivered.
    pub(in crate::review) fn state(self) -> Option<VerificationState> {
        match self {
            Self::Confirmed => Some(VerificationState::Confirmed),
            Self::Uncertain => Some(VerificationState::Uncertain),
            Self::Refuted => None,
        }
    }
}

/// A verdict that counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::review) struct VerificationVerdict {
    pub(in crate::review) word: VerdictWord,
    pub(in crate::review) confidence: VerdictConfidence,
    /// Reason: one line, masked.
    pub(in crate::review) rationale: String,
    pub(in crate::review) corrections: VerdictCorrections,
}

/// Corrections of a finding that were checked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::review) struct VerdictCorrections {
    pub(in crate::review) severity: Option<Severity>,
    /// A passage of the body as it stands there, and what replaces it.
    pub(in crate::review) text: Option<(String, String)>,
    /// The places of the finding: the corrected one first.
    pub(in crate::review) anchors: Option<Vec<Anchor>>,
    /// Reasons why others are not made, one clause each.
    pub(in crate::review) refused: Vec<String>,
}

impl VerificationVerdict {
    /// Turns it into one that decides nothing, for this reason: a clause.
    #[must_use]
    pub(in crate::review) fn doubted(self, why: &str) -> Self {
        Self {
            word: VerdictWord::Uncertain,
            confidence: VerdictConfidence::Contradictory,
            rationale: format!("{why}: {}", self.rationale),
            corrections: VerdictCorrections::default(),
        }
    }

    /// Describes why a finding that this verdict refutes is withheld.
    pub(in crate::review) fn refutation_reason(&self) -> String {
        format!("refuted by the second look: {}", self.rationale)
    }
}

/// Confidence that the finding is right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::review) enum VerdictConfidence {
    /// Stated.
    Said(Confidence),
    /// It did not say.
    Unsaid,
    /// It said what cannot be: no number about the finding can be relied on.
    Contradictory,
}

impl VerdictConfidence {
    /// Returns the confidence of a finding of which its reporter said `before`.
    pub(in crate::review) fn adjusted_confidence(self, before: Option<Confidence>) -> Option<Confidence> {
        match self {
            Self::Said(confidence) => Some(confidence),
            Self::Unsaid => before,
            Self::Contradictory => None,
        }
    }
}
