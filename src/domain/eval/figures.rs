//! The metrics of an evaluation. Main types: [`Figures`], [`EvalRatio`].

use super::result::{CaseResult, CaseRun, Evaluation, RunEnd, ShownFinding};
use super::score::{Extra, IssueMatch, IssueResult};
use crate::domain::finding::Prominence;
use crate::domain::run::{Engine, Usage};

/// Some of all. Counts stay beside the percentage: a few cases make a rough one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct EvalRatio {
    /// The count.
    pub some: usize,
    /// Of how many.
    pub all: usize,
}

impl EvalRatio {
    /// Between 0 and 1; `None` if there was nothing to measure.
    #[expect(clippy::cast_precision_loss, reason = "counts of findings are far below 2^52")]
    pub fn ratio(self) -> Option<f64> {
        (self.all > 0).then(|| self.some as f64 / self.all as f64)
    }

    fn count(&mut self, counts: bool) {
        self.all += 1;
        self.some += usize::from(counts);
    }
}

/// The numbers of an evaluation, or of a single case. All counts are over all reviews: a repeated case counts each time.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Figures {
    /// Issues that were found, of those that must be. What a review that broke off did not find is missed, too.
    pub recall: EvalRatio,
    /// Findings about an issue, of all.
    pub precision: EvalRatio,
    /// Reviews of clean changes that came to their end without a finding, of all reviews of clean changes.
    pub clean: EvalRatio,
    /// Reviews of clean changes with a finding, of all reviews of clean changes.
    pub accused: EvalRatio,
    /// Issues that were named in their very lines, of those that were named anywhere.
    pub location: EvalRatio,
    /// Found issues of the expected severity, of those with one.
    pub severity: EvalRatio,
    /// Found issues of the expected category, of those with one.
    pub category: EvalRatio,
    /// Issues with a finding in the right place and none of the words.
    pub place_only: usize,
    /// Issues with a finding of the right words in another place.
    pub words_only: usize,
    /// Findings that say again what another one found; they count against precision.
    pub again: usize,
    /// Findings of the reviews that reviewed anything, and the number of these reviews: the only ratio that may exceed 1.
    pub per_change: EvalRatio,
    /// Findings that are shown whole, of all.
    pub main: EvalRatio,
    /// The words of each finding's body, fewest first.
    pub body_words: Vec<usize>,
    /// Findings that are shown at the lines quoted for them, of those whose quote is known.
    pub at_quote: EvalRatio,
    /// Reviews that came to their end.
    pub complete: usize,
    /// Reviews that broke off.
    pub incomplete: usize,
    /// Reviews that came to nothing.
    pub failed: usize,
    /// Reviews that were not made.
    pub not_run: usize,
    /// Tokens and money of all reviews; unknown where one of a model's is. `None` if no model was asked.
    pub usage: Option<Usage>,
    /// The sum of the time that reviews took, in milliseconds.
    pub took_ms: u64,
}

impl Figures {
    /// Of all cases.
    pub fn of(evaluation: &Evaluation) -> Self {
        Self::of_cases(&evaluation.cases)
    }

    /// Of one case.
    pub fn of_case(case: &CaseResult) -> Self {
        Self::of_cases(std::slice::from_ref(case))
    }

    fn of_cases(cases: &[CaseResult]) -> Self {
        let mut figures = Self::default();
        for case in cases {
            for run in &case.runs {
                figures.add(case, run);
            }
        }
        figures.body_words.sort_unstable();
        figures
    }

    fn add(&mut self, case: &CaseResult, run: &CaseRun) {
        let score = &run.score;
        for (issue, result) in case.expected.issues().iter().zip(&score.issues) {
            if !issue.optional {
                self.recall.count(result.found.is_found());
                self.place_only += usize::from(result.found == IssueMatch::PlaceOnly);
                self.words_only += usize::from(result.found == IssueMatch::WordsOnly);
            }
            self.agreement(result);
        }
        self.precision.some += score.findings - score.extra.len();
        self.precision.all += score.findings;
        self.again += score.extra.iter().filter(|Extra { again, .. }| *again).count();
        if case.expected.is_clean() {
            self.clean.count(run.end == RunEnd::Complete && score.findings == 0);
            self.accused.count(score.findings > 0);
        }
        for shown in &run.shown {
            self.shown(shown);
        }
        if matches!(run.end, RunEnd::Complete | RunEnd::Incomplete { .. }) {
            self.per_change.all += 1;
            self.per_change.some += score.findings;
        }
        match run.end {
            RunEnd::Complete => self.complete += 1,
            RunEnd::Incomplete { .. } => self.incomplete += 1,
            RunEnd::Failed { .. } => self.failed += 1,
            RunEnd::NotRun => self.not_run += 1,
        }
        if run.who.as_ref().is_some_and(|who| who.engine == Engine::Model) {
            self.usage = Some(self.usage.unwrap_or(Usage::NOTHING).plus(run.usage));
        }
        self.took_ms = self.took_ms.saturating_add(run.took_ms);
    }

    fn shown(&mut self, shown: &ShownFinding) {
        self.main.count(shown.prominence == Prominence::Main);
        self.body_words.push(shown.body_words);
        if let Some(is_at_quote) = shown.is_at_quote {
            self.at_quote.count(is_at_quote);
        }
    }

    fn agreement(&mut self, result: &IssueResult) {
        match result.found {
            IssueMatch::Exactly => self.location.count(true),
            IssueMatch::Nearby | IssueMatch::WordsOnly => self.location.count(false),
            IssueMatch::PlaceOnly | IssueMatch::Missed => {}
        }
        if let Some(agrees) = result.severity_agrees {
            self.severity.count(agrees);
        }
        if let Some(agrees) = result.category_agrees {
            self.category.count(agrees);
        }
    }

    /// Findings about no issue.
    pub fn wrong_findings(&self) -> usize {
        self.precision.all - self.precision.some
    }

    /// Returns the median of the words of a body, the lower one of two; `None` without a finding.
    pub fn median_words(&self) -> Option<usize> {
        self.body_words.get(self.body_words.len().checked_sub(1)? / 2).copied()
    }

    /// Returns the mean of the words of a body, rounded; `None` without a finding.
    pub fn mean_words(&self) -> Option<usize> {
        let count = self.body_words.len();
        (self.body_words.iter().sum::<usize>() + count / 2).checked_div(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(body_words: &[usize]) -> (Option<usize>, Option<usize>) {
        let figures = Figures { body_words: body_words.to_vec(), ..Figures::default() };
        (figures.median_words(), figures.mean_words())
    }

    #[test]
    fn one_long_body_moves_the_mean_and_not_the_median() {
        assert_eq!(words(&[]), (None, None));
        assert_eq!(words(&[7]), (Some(7), Some(7)));
        assert_eq!(words(&[10, 20]), (Some(10), Some(15)));
        assert_eq!(words(&[10, 20, 30, 400]), (Some(20), Some(115)));
    }
}
