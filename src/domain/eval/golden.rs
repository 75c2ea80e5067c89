//! The expected result of a case. Main types: [`ExpectedResult`], [`Golden`].

use crate::domain::finding::{Category, Severity};
use crate::domain::path::RepoPath;
use crate::domain::place::{DiffSide, LineRange};

/// The expected result of a review of a case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExpectedResult {
    /// Nothing is wrong with the change: every finding is one too many.
    Clean,
    /// These defects, at least one; every other finding is one too many.
    Issues(Vec<Golden>),
}

impl ExpectedResult {
    /// The defects; none of a clean change.
    pub fn issues(&self) -> &[Golden] {
        match self {
            Self::Clean => &[],
            Self::Issues(issues) => issues,
        }
    }

    /// Checks whether nothing is wrong with the change.
    pub fn is_clean(&self) -> bool {
        matches!(self, Self::Clean)
    }
}

/// A defect that is known to be in a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Golden {
    /// Its file.
    pub path: RepoPath,
    /// The side of the change on which its lines count.
    pub side: DiffSide,
    /// Its lines; `None` if the whole file is meant.
    pub lines: Option<LineRange>,
    /// Words of which a finding about it has at least one, in its title or body, in any case.
    pub words: Vec<String>,
    /// The expected severity, if any.
    pub severity: Option<Severity>,
    /// Of what kind, where that is expected.
    pub category: Option<Category>,
    /// `true` if it may be left out: then it is not missed, and a finding about it is not one too many.
    pub optional: bool,
    /// The name of its cause, if others have the same: then one finding answers them all, and their places count for each.
    pub cause: Option<String>,
}

impl Golden {
    /// Checks whether a text speaks about it.
    pub fn is_mentioned_in(&self, texts: &[&str]) -> bool {
        let texts: Vec<String> = texts.iter().map(|text| text.to_lowercase()).collect();
        self.words.iter().any(|word| {
            let word = word.to_lowercase();
            texts.iter().any(|text| text.contains(&word))
        })
    }

    /// `src/cart.py:12-14`.
    pub fn format_place(&self) -> String {
        let path = self.path.display_name();
        match self.lines {
            None => path.into_owned(),
            Some(lines) if lines.count() == 1 => format!("{path}:{}", lines.start()),
            Some(lines) => format!("{path}:{}-{}", lines.start(), lines.end()),
        }
    }
}
