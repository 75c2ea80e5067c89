//! Evaluations as JSON, and parsing them as far as a comparison needs. Main functions: [`json`], [`parse`].
//!
//! Unknown numbers are `null`. It holds no path of this machine.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json as value};

use super::Report;
use crate::domain::eval::{
    CaseResult, CaseRun, EarlierCase, EarlierEvaluation, EarlierRun, EvalComparison, EvalRatio, Extra, Figures, Golden,
    IssueResult, ReportedFinding, ShownFinding,
};
use crate::domain::run::Engine;
use crate::present::json::{escape_invisible, usage};

/// The value of the document's field `schema`.
pub const SCHEMA: &str = "review-eval/1";

/// Renders the whole report as one document.
pub fn json(report: &Report<'_>) -> Vec<u8> {
    let evaluation = report.evaluation;
    let broken: Vec<Value> = report
        .broken
        .iter()
        .map(|(floor, share)| value!({ "measure": floor.measure.as_str(), "least": floor.least, "value": share.ratio() }))
        .collect();
    let document = value!({
        "schema": SCHEMA,
        "version": evaluation.version,
        "started_at": evaluation.started_at,
        "took_ms": evaluation.took_ms,
        "repeat": evaluation.repeat,
        "interrupted": evaluation.interrupted,
        "reviewers": evaluation.reviewers(),
        "figures": figures(&Figures::of(evaluation)),
        "below_floor": broken,
        "comparison": report.comparison.map(comparison),
        "cases": evaluation.cases.iter().map(case).collect::<Vec<_>>(),
    });
    let mut out = escape_invisible(format!("{document:#}")).into_bytes();
    out.push(b'\n');
    out
}

fn figures(figures: &Figures) -> Value {
    value!({
        "recall": share(figures.recall),
        "precision": share(figures.precision),
        "clean": share(figures.clean),
        "false_alarms": share(figures.accused),
        "location": share(figures.location),
        "severity": share(figures.severity),
        "category": share(figures.category),
        "place_only": figures.place_only,
        "words_only": figures.words_only,
        "found_again": figures.again,
        "findings_per_change": share(figures.per_change),
        "main": share(figures.main),
        "body_words": {
            "median": figures.median_words(),
            "mean": figures.mean_words(),
            "longest": figures.body_words.last(),
        },
        "quoted": share(figures.at_quote),
        "reviews": {
            "complete": figures.complete,
            "incomplete": figures.incomplete,
            "failed": figures.failed,
            "not_run": figures.not_run,
        },
        "usage": figures.usage.map(usage),
        "took_ms": figures.took_ms,
    })
}

fn share(share: EvalRatio) -> Value {
    value!({ "some": share.some, "all": share.all, "ratio": share.ratio() })
}

fn comparison(comparison: &EvalComparison) -> Value {
    let cases = comparison.cases.iter().map(
        |case| value!({ "name": case.name, "turned": case.turned.as_str(), "worse": case.is_worse, "how": case.how }),
    );
    let not_compared = comparison.not_compared.iter().map(|(name, why)| value!({ "name": name, "why": why.as_str() }));
    value!({
        "since": comparison.since,
        "then": comparison.then,
        "worse": comparison.is_worse(),
        "cases": cases.collect::<Vec<_>>(),
        "not_compared": not_compared.collect::<Vec<_>>(),
    })
}

fn case(case: &CaseResult) -> Value {
    value!({
        "name": case.name,
        "about": case.about,
        "digest": case.digest,
        "clean": case.expected.is_clean(),
        "issues": case.expected.issues().iter().map(golden).collect::<Vec<_>>(),
        "figures": figures(&Figures::of_case(case)),
        "runs": case.runs.iter().map(|run| run_of(case, run)).collect::<Vec<_>>(),
    })
}

fn golden(golden: &Golden) -> Value {
    value!({
        "path": golden.path.display_name(),
        "side": golden.side,
        "lines": golden.lines,
        "words": golden.words,
        "severity": golden.severity,
        "category": golden.category,
        "optional": golden.optional,
        "cause": golden.cause,
    })
}

fn run_of(case: &CaseResult, run: &CaseRun) -> Value {
    let who = run
        .who
        .as_ref()
        .map(|who| value!({ "engine": who.engine, "model": who.model, "prompts": who.prompts, "rules": who.rules }));
    let earlier = EarlierRun::of(case, run);
    value!({
        "end": run.end.as_str(),
        "why": run.end.describe(),
        "who": who,
        "found": earlier.found,
        "wrong": earlier.wrong,
        "findings": run.score.findings,
        "issues": run.score.issues.iter().map(issue).collect::<Vec<_>>(),
        "extra": run.score.extra.iter().map(extra).collect::<Vec<_>>(),
        "shown": run.shown.iter().map(shown).collect::<Vec<_>>(),
        "hidden": run.hidden,
        "turns": run.turns,
        "usage": usage(run.usage),
        "took_ms": run.took_ms,
    })
}

fn issue(result: &IssueResult) -> Value {
    value!({
        "found": result.found.as_str(),
        "by": result.by.as_ref().map(reported),
        "severity_agrees": result.severity_agrees,
        "category_agrees": result.category_agrees,
    })
}

fn extra(extra: &Extra) -> Value {
    value!({ "finding": reported(&extra.finding), "found_already": extra.again })
}

fn shown(shown: &ShownFinding) -> Value {
    value!({
        "finding": reported(&shown.finding),
        "prominence": shown.prominence.word(),
        "body_words": shown.body_words,
        "at_quote": shown.is_at_quote,
    })
}

fn reported(finding: &ReportedFinding) -> Value {
    value!({
        "title": finding.title,
        "path": finding.path,
        "line": finding.line,
        "severity": finding.severity,
        "category": finding.category,
        "origin": finding.origin,
    })
}

/// Reasons why bytes are not an evaluation.
#[derive(Debug, thiserror::Error)]
pub enum EvaluationParseError {
    /// It is not JSON, or a field is invalid.
    #[error("it is no evaluation: {0}")]
    Malformed(#[from] serde_json::Error),
    /// It is another kind of document.
    #[error("its schema is {0:?}, not {SCHEMA:?}")]
    Schema(String),
    /// Two of its cases have the same name.
    #[error("it has the case {0:?} twice")]
    Twice(String),
}

#[derive(Deserialize)]
struct EvaluationJson {
    schema: String,
    #[serde(default)]
    started_at: String,
    #[serde(default)]
    reviewers: Vec<String>,
    #[serde(default)]
    cases: Vec<EvaluationCaseJson>,
}

#[derive(Deserialize)]
struct EvaluationCaseJson {
    name: String,
    digest: String,
    runs: Vec<EvaluationRunJson>,
}

#[derive(Deserialize)]
struct EvaluationRunJson {
    end: String,
    who: Option<EvaluationReviewerJson>,
    found: usize,
    wrong: usize,
}

#[derive(Deserialize)]
struct EvaluationReviewerJson {
    engine: Engine,
}

/// Parses the output of [`json`], of this version or a later one with more fields.
pub fn parse(bytes: &[u8]) -> Result<EarlierEvaluation, EvaluationParseError> {
    let written: EvaluationJson = serde_json::from_slice(bytes)?;
    if written.schema != SCHEMA {
        return Err(EvaluationParseError::Schema(written.schema));
    }
    let mut cases = BTreeMap::new();
    for case in written.cases {
        let run = |run: &EvaluationRunJson| EarlierRun {
            complete: run.end == "complete",
            by_rules: run.who.as_ref().is_some_and(|who| who.engine == Engine::Rules),
            found: run.found,
            wrong: run.wrong,
        };
        let kept = EarlierCase { digest: case.digest, runs: case.runs.iter().map(run).collect() };
        if cases.insert(case.name.clone(), kept).is_some() {
            return Err(EvaluationParseError::Twice(case.name));
        }
    }
    Ok(EarlierEvaluation { started_at: written.started_at, reviewers: written.reviewers, cases })
}
