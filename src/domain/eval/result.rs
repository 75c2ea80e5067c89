//! The results of the reviews of all cases. Main types: [`Evaluation`], [`CaseResult`], [`CaseRun`].

use super::golden::ExpectedResult;
use super::score::{CaseScore, ReportedFinding};
use crate::domain::finding::{Finding, Prominence};
use crate::domain::run::{Engine, Usage};
use crate::domain::text::count_words;

/// All cases of a folder, reviewed.
#[derive(Debug, Clone, PartialEq)]
pub struct Evaluation {
    /// The version of this program.
    pub version: String,
    /// When it began: RFC 3339, UTC.
    pub started_at: String,
    /// Wall time in milliseconds.
    pub took_ms: u64,
    /// The number of reviews of each case.
    pub repeat: u32,
    /// The cases, by name.
    pub cases: Vec<CaseResult>,
    /// `true` if somebody interrupted it.
    pub interrupted: bool,
}

/// One case, reviewed once or several times.
#[derive(Debug, Clone, PartialEq)]
pub struct CaseResult {
    /// Its name: that of its folder.
    pub name: String,
    /// Its subject, one line.
    pub about: String,
    /// A hash of everything that it is made of: cases of equal hashes can be compared.
    pub digest: String,
    /// The expected result.
    pub expected: ExpectedResult,
    /// Its reviews.
    pub runs: Vec<CaseRun>,
}

impl CaseResult {
    /// Checks whether every review of it came to its end.
    pub fn is_complete(&self) -> bool {
        self.runs.iter().all(|run| run.end == RunEnd::Complete)
    }
}

/// One review of a case.
#[derive(Debug, Clone, PartialEq)]
pub struct CaseRun {
    /// The way it ended.
    pub end: RunEnd,
    /// The score; for an interrupted review, of its findings until then.
    pub score: CaseScore,
    /// The findings as their readers meet them, in the order of the review.
    pub shown: Vec<ShownFinding>,
    /// The reviewer; `None` if there was none.
    pub who: Option<EvalReviewer>,
    /// Tokens and money.
    pub usage: Usage,
    /// Turns of the model.
    pub turns: u32,
    /// Findings that were made and not shown: withheld, or below a floor.
    pub hidden: u32,
    /// Wall time in milliseconds.
    pub took_ms: u64,
}

/// A finding as its reader meets it, right or wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownFinding {
    /// The finding.
    pub finding: ReportedFinding,
    /// The room that it gets.
    pub prominence: Prominence,
    /// The words of its body, without fenced code.
    pub body_words: usize,
    /// `true` if the place where it is shown has the lines that were quoted for it; `None` if those are not known.
    pub is_at_quote: Option<bool>,
}

impl ShownFinding {
    /// Returns what a reader meets of a finding.
    pub fn new(finding: &Finding, is_at_quote: Option<bool>) -> Self {
        Self {
            finding: ReportedFinding::of(finding),
            prominence: finding.prominence,
            body_words: count_words(&finding.body),
            is_at_quote,
        }
    }
}

/// The way a review of a case ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunEnd {
    /// Every reviewable hunk was seen, and the engine was done.
    Complete,
    /// It broke off, or a hunk was never seen.
    Incomplete {
        /// Why, in sentences.
        why: String,
    },
    /// Nothing was reviewed.
    Failed {
        /// Why, in sentences.
        why: String,
        /// `true` if the provider is to blame.
        by_provider: bool,
    },
    /// It was interrupted before it began.
    NotRun,
}

impl RunEnd {
    /// The word used in JSON.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Incomplete { .. } => "incomplete",
            Self::Failed { .. } => "failed",
            Self::NotRun => "not_run",
        }
    }

    /// Returns the reason why it did not come to its end; empty where it did.
    pub fn describe(&self) -> &str {
        match self {
            Self::Complete => "",
            Self::Incomplete { why } | Self::Failed { why, .. } => why,
            Self::NotRun => "it was interrupted before it began",
        }
    }
}

/// A reviewer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EvalReviewer {
    /// The engine's kind.
    pub engine: Engine,
    /// The model, `provider/name`.
    pub model: Option<String>,
    /// The hash of the prompts.
    pub prompts: Option<String>,
    /// The hash of the rule packs.
    pub rules: Option<String>,
}

impl EvalReviewer {
    /// `anthropic/…`, or `rules`.
    pub fn name(&self) -> String {
        match (&self.model, self.engine) {
            (Some(model), _) => model.clone(),
            (None, engine) => engine.as_str().to_owned(),
        }
    }
}

impl Evaluation {
    /// All reviews.
    pub fn runs(&self) -> impl Iterator<Item = &CaseRun> {
        self.cases.iter().flat_map(|case| &case.runs)
    }

    /// Returns the distinct reviewers, in order of appearance.
    pub fn reviewers(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for name in self.runs().filter_map(|run| run.who.as_ref()).map(EvalReviewer::name) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    /// The process's exit code. Where several hold: 130, 4, 1, 3 in that order; `below` says that a floor or a comparison was not held.
    pub fn exit_code(&self, below: bool) -> u8 {
        let by_provider = |run: &CaseRun| matches!(run.end, RunEnd::Failed { by_provider: true, .. });
        if self.interrupted {
            130
        } else if self.runs().next().is_some() && self.runs().all(by_provider) {
            4
        } else if below {
            1
        } else if self.runs().any(|run| run.end != RunEnd::Complete) {
            3
        } else {
            0
        }
    }
}
