//! Two evaluations of the same cases. Main function: [`compare`].
//!
//! A model answers differently each time. So a case has only become worse *beyond noise* when none of its reviews now is as good as any
//! of then, and both times there were enough of them. The rules say the same each time: every difference counts.

use std::collections::BTreeMap;

use super::result::{CaseResult, CaseRun, Evaluation, RunEnd};
use crate::domain::run::Engine;
use crate::domain::words::words;

/// With fewer reviews of a case by a model, on either side, a difference may be chance.
const ENOUGH: usize = 3;

/// An evaluation that was written to a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EarlierEvaluation {
    /// When it began.
    pub started_at: String,
    /// The reviewers.
    pub reviewers: Vec<String>,
    /// Its cases, by name.
    pub cases: BTreeMap<String, EarlierCase>,
}

/// A case of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EarlierCase {
    /// The hash of what it was made of.
    pub digest: String,
    /// Its reviews.
    pub runs: Vec<EarlierRun>,
}

/// A review of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EarlierRun {
    /// `true` if it came to its end.
    pub complete: bool,
    /// `true` if the rules made it: they say the same each time.
    pub by_rules: bool,
    /// Issues that were found, of those that must be.
    pub found: usize,
    /// Findings about no issue.
    pub wrong: usize,
}

words! {
    /// The trend of a case.
    pub enum CaseTrend: as_str {
        /// It is worse, and not by chance.
        Worse = "worse",
        /// It is worse, and that may be chance.
        PerhapsWorse = "worse, perhaps by chance",
        /// It is better in one way and worse in another.
        Mixed = "better and worse",
        /// It is better, and that may be chance.
        PerhapsBetter = "better, perhaps by chance",
        /// It is better, and not by chance.
        Better = "better",
        /// It is as it was.
        Same = "the same",
    }
}

/// A case then and now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaseChange {
    /// Its name.
    pub name: String,
    /// Its result.
    pub turned: CaseTrend,
    /// The differences, a few words each (`found 1 of 1, now 0`).
    pub how: Vec<String>,
    /// `true` if it got worse in any way beyond noise; also where it got better in another.
    pub is_worse: bool,
}

words! {
    /// The reason why a case cannot be compared.
    pub enum NotCompared: as_str {
        /// It was not there.
        New = "it was not evaluated then",
        /// It is not here.
        Gone = "it was not evaluated now",
        /// It is not what it was.
        Changed = "the case itself has changed since",
    }
}

/// The comparison of all cases.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EvalComparison {
    /// When the earlier evaluation began.
    pub since: String,
    /// The reviewers of the earlier evaluation.
    pub then: Vec<String>,
    /// The cases that both have, worst first.
    pub cases: Vec<CaseChange>,
    /// The others, by name.
    pub not_compared: Vec<(String, NotCompared)>,
}

impl EvalComparison {
    /// Checks whether a case became worse beyond noise.
    pub fn is_worse(&self) -> bool {
        self.cases.iter().any(|case| case.is_worse)
    }
}

impl EarlierRun {
    /// Returns what a later evaluation needs of a review.
    pub fn of(case: &CaseResult, run: &CaseRun) -> Self {
        let issues = case.expected.issues().iter().zip(&run.score.issues);
        Self {
            complete: run.end == RunEnd::Complete,
            by_rules: run.who.as_ref().is_some_and(|who| who.engine == Engine::Rules),
            found: issues.filter(|(issue, result)| !issue.optional && result.found.is_found()).count(),
            wrong: run.score.extra.len(),
        }
    }
}

/// Holds an evaluation against an earlier one.
pub fn compare(earlier: &EarlierEvaluation, now: &Evaluation) -> EvalComparison {
    let mut comparison = EvalComparison {
        since: earlier.started_at.clone(),
        then: earlier.reviewers.clone(),
        ..EvalComparison::default()
    };
    for case in &now.cases {
        match earlier.cases.get(&case.name) {
            None => comparison.not_compared.push((case.name.clone(), NotCompared::New)),
            Some(then) if then.digest != case.digest => {
                comparison.not_compared.push((case.name.clone(), NotCompared::Changed));
            }
            Some(then) => {
                let runs: Vec<EarlierRun> = case.runs.iter().map(|run| EarlierRun::of(case, run)).collect();
                comparison.cases.push(change(&case.name, &then.runs, &runs));
            }
        }
    }
    let gone = earlier.cases.keys().filter(|name| !now.cases.iter().any(|case| case.name == **name));
    comparison.not_compared.extend(gone.map(|name| (name.clone(), NotCompared::Gone)));
    comparison.not_compared.sort_by(|a, b| a.0.cmp(&b.0));
    comparison.cases.sort_by(|a, b| (a.turned, &a.name).cmp(&(b.turned, &b.name)));
    comparison
}

/// A measure to compare: its name and value.
type MeasuredValue = (&'static str, fn(&EarlierRun) -> i64);

fn change(name: &str, then: &[EarlierRun], now: &[EarlierRun]) -> CaseChange {
    let same_each_time = then.iter().chain(now).all(|run| run.by_rules);
    let enough = same_each_time || then.len().min(now.len()) >= ENOUGH;
    // Larger is better in each.
    let measures: [MeasuredValue; 3] = [
        ("found", |run| i64::try_from(run.found).unwrap_or(i64::MAX)),
        ("wrong findings", |run| -i64::try_from(run.wrong).unwrap_or(i64::MAX)),
        ("came to its end", |run| i64::from(run.complete)),
    ];
    let (mut how, mut worse, mut better, mut beyond) = (Vec::new(), [false; 2], [false; 2], false);
    for (what, value) in measures {
        let (a, b): (Vec<i64>, Vec<i64>) = (then.iter().map(value).collect(), now.iter().map(value).collect());
        let (Some(first), Some(second)) = (MeasureRange::of(&a), MeasureRange::of(&b)) else { continue };
        // Means as cross products: the numbers of reviews may differ.
        let (mean_then, mean_now) = (first.sum * second.count, second.sum * first.count);
        if mean_then == mean_now {
            continue;
        }
        how.push(format!("{what} {}, now {}", said(&a), said(&b)));
        if mean_now < mean_then {
            let apart = second.most < first.least && enough;
            worse[usize::from(apart)] = true;
            beyond |= apart;
        } else {
            better[usize::from(second.least > first.most && enough)] = true;
        }
    }
    let turned = match (worse, better) {
        ([false, false], [false, false]) => CaseTrend::Same,
        ([_, true], [false, false]) => CaseTrend::Worse,
        ([true, false], [false, false]) => CaseTrend::PerhapsWorse,
        ([false, false], [_, true]) => CaseTrend::Better,
        ([false, false], [true, false]) => CaseTrend::PerhapsBetter,
        ([true, _] | [_, true], [true, _] | [_, true]) => CaseTrend::Mixed,
    };
    CaseChange { name: name.to_owned(), turned, how, is_worse: beyond }
}

/// The reviews of a case in one measure.
struct MeasureRange {
    least: i64,
    most: i64,
    sum: i64,
    count: i64,
}

impl MeasureRange {
    fn of(values: &[i64]) -> Option<Self> {
        Some(Self {
            least: *values.iter().min()?,
            most: *values.iter().max()?,
            sum: values.iter().fold(0i64, |sum, value| sum.saturating_add(*value)),
            count: i64::try_from(values.len()).ok()?,
        })
    }
}

/// `1`, or `1, 0, 1` for several reviews. Signs only say which way is better.
fn said(values: &[i64]) -> String {
    values.iter().map(|value| value.unsigned_abs().to_string()).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(by_rules: bool, of: &[(usize, usize, bool)]) -> Vec<EarlierRun> {
        of.iter().map(|&(found, wrong, complete)| EarlierRun { complete, by_rules, found, wrong }).collect()
    }

    #[test]
    fn every_difference_of_the_rules_counts() {
        let worse = change("a", &runs(true, &[(1, 0, true)]), &runs(true, &[(0, 0, true)]));
        assert_eq!((worse.turned, worse.is_worse), (CaseTrend::Worse, true));
        assert_eq!(worse.how, ["found 1, now 0"]);
        let better = change("a", &runs(true, &[(1, 2, true)]), &runs(true, &[(1, 0, true)]));
        assert_eq!(
            (better.turned, better.is_worse, better.how.join(" ")),
            (CaseTrend::Better, false, "wrong findings 2, now 0".to_owned())
        );
        assert_eq!(change("a", &runs(true, &[(1, 0, true)]), &runs(true, &[(1, 0, true)])).turned, CaseTrend::Same);
    }

    #[test]
    fn a_model_must_be_worse_every_time_and_often_enough() {
        let (well, ill) = ((1, 0, true), (0, 0, true));
        let turned = |then: &[_], now: &[_]| change("a", &runs(false, then), &runs(false, now)).turned;
        assert_eq!(turned(&[well], &[ill]), CaseTrend::PerhapsWorse);
        assert_eq!(turned(&[well; 3], &[ill; 2]), CaseTrend::PerhapsWorse);
        assert_eq!(turned(&[well; 3], &[ill; 3]), CaseTrend::Worse);
        assert_eq!(turned(&[well, well, ill], &[ill; 3]), CaseTrend::PerhapsWorse);
        assert_eq!(turned(&[ill; 3], &[well; 4]), CaseTrend::Better);
        assert_eq!(turned(&[well; 3], &[well; 5]), CaseTrend::Same);
    }

    #[test]
    fn better_in_one_way_does_not_hide_worse_in_another() {
        let mixed = change("a", &runs(true, &[(1, 1, true)]), &runs(true, &[(0, 0, true)]));
        assert_eq!((mixed.turned, mixed.is_worse), (CaseTrend::Mixed, true));
        let broke_off = change("a", &runs(true, &[(1, 0, true)]), &runs(true, &[(1, 0, false)]));
        assert_eq!((broke_off.turned, broke_off.is_worse), (CaseTrend::Worse, true));
    }
}
