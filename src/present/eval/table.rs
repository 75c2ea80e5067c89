//! An evaluation for a terminal: a line for each case, the errors, and the totals. Main function: [`table`].

use super::Report;
use crate::domain::eval::{
    CaseResult, CaseTrend, EvalComparison, EvalRatio, Evaluation, Figures, IssueMatch, ReportedFinding, RunEnd,
};
use crate::domain::run::Usage;
use crate::domain::text::{count_noun, shorten, strip_line};
use crate::present::columns;

/// Upper bound on the characters of a title or a reason.
const LONGEST: usize = 70;

/// Renders the whole report. Every percentage has its counts next to it, and unknown values are called unknown.
pub fn table(report: &Report<'_>) -> String {
    let evaluation = report.evaluation;
    let mut out = format!("{}\n\n", heading(evaluation));
    out.push_str(&aligned(&cases(evaluation)));
    for (title, rows) in [
        ("Not found", missed_rows(evaluation)),
        ("Findings about none of the issues", wrong_rows(evaluation)),
        ("Findings shown away from the lines that they quote", misplaced_rows(evaluation)),
        ("Did not come to an end", unfinished_rows(evaluation)),
    ] {
        if !rows.is_empty() {
            out.push_str(&format!("\n{title}\n{}", indented(&aligned(&rows))));
        }
    }
    out.push('\n');
    out.push_str(&aligned(&sums(evaluation, &Figures::of(evaluation))));
    if let Some(comparison) = report.comparison {
        out.push_str(&compared(comparison, evaluation));
    }
    for (floor, share) in report.broken {
        let came_to = match share.ratio() {
            None => "was not measured".to_owned(),
            Some(_) => format!("is {} ({} of {})", percent(*share), share.some, share.all),
        };
        out.push_str(&format!("\n{} {came_to}: below the floor of {}\n", floor.measure.as_str(), floor.least));
    }
    out
}

fn heading(evaluation: &Evaluation) -> String {
    let times = match evaluation.repeat {
        1 => "once".to_owned(),
        times => format!("{times} times"),
    };
    let who = match evaluation.reviewers() {
        names if names.is_empty() => "nobody".to_owned(),
        names => names.iter().map(|name| strip_line(name)).collect::<Vec<_>>().join(", "),
    };
    let broken = if evaluation.interrupted { "; interrupted" } else { "" };
    format!("{}, each reviewed {times} by {who}{broken}", count_noun(evaluation.cases.len(), "case"))
}

fn cases(evaluation: &Evaluation) -> Vec<Vec<String>> {
    let mut rows = vec![["case", "expected", "found", "wrong", "reviews"].map(str::to_owned).to_vec()];
    rows.extend(evaluation.cases.iter().map(|case| {
        let figures = Figures::of_case(case);
        let optional = case.expected.issues().iter().filter(|issue| issue.optional).count();
        let expected = match (case.expected.issues().len() - optional, optional) {
            (0, _) => "clean".to_owned(),
            (issues, 0) => count_noun(issues, "issue"),
            (issues, optional) => format!("{} (+{optional})", count_noun(issues, "issue")),
        };
        let found = match figures.recall {
            EvalRatio { all: 0, .. } => "-".to_owned(),
            EvalRatio { some, all } => format!("{some} of {all}"),
        };
        vec![strip_line(&case.name), expected, found, figures.wrong_findings().to_string(), reviews(&figures)]
    }));
    rows
}

/// Counts reviews by outcome: `3 complete`, `2 complete, 1 failed`.
fn reviews(figures: &Figures) -> String {
    let parts = [
        (figures.complete, "complete"),
        (figures.incomplete, "incomplete"),
        (figures.failed, "failed"),
        (figures.not_run, "not made"),
    ];
    let said: Vec<String> =
        parts.iter().filter(|(count, _)| *count > 0).map(|(count, word)| format!("{count} {word}")).collect();
    said.join(", ")
}

/// Says in how many of several reviews something occurred.
fn count_of_reviews(count: usize, case: &CaseResult) -> String {
    match case.runs.len() {
        1 => String::new(),
        runs => format!(" ({count} of {runs} reviews)"),
    }
}

fn missed_rows(evaluation: &Evaluation) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    for case in &evaluation.cases {
        for (at, issue) in case.expected.issues().iter().enumerate().filter(|(_, issue)| !issue.optional) {
            for found in [IssueMatch::PlaceOnly, IssueMatch::WordsOnly, IssueMatch::Missed] {
                let results = case.runs.iter().filter_map(|run| run.score.issues.get(at));
                let so: Vec<_> = results.filter(|result| result.found == found).collect();
                let Some(first) = so.first() else { continue };
                let by = first.by.as_ref().map(describe_finding).unwrap_or_default();
                let how = match found {
                    IssueMatch::PlaceOnly => format!("something else is said there: {by}"),
                    IssueMatch::WordsOnly => format!("the right words stand elsewhere: {by}"),
                    IssueMatch::Missed | IssueMatch::Exactly | IssueMatch::Nearby => {
                        "nothing is said about it".to_owned()
                    }
                };
                let place = strip_line(&issue.format_place());
                rows.push(vec![strip_line(&case.name), place, format!("{how}{}", count_of_reviews(so.len(), case))]);
            }
        }
    }
    rows
}

fn wrong_rows(evaluation: &Evaluation) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    for case in &evaluation.cases {
        let mut seen: Vec<(&ReportedFinding, bool, usize)> = Vec::new();
        for extra in case.runs.iter().flat_map(|run| &run.score.extra) {
            match seen.iter_mut().find(|(known, again, _)| **known == extra.finding && *again == extra.again) {
                Some((_, _, count)) => *count += 1,
                None => seen.push((&extra.finding, extra.again, 1)),
            }
        }
        for (finding, again, count) in seen {
            let again = if again { "; found already" } else { "" };
            let name = strip_line(&case.name);
            rows.push(vec![name, format!("{}{again}{}", describe_finding(finding), count_of_reviews(count, case))]);
        }
    }
    rows
}

fn misplaced_rows(evaluation: &Evaluation) -> Vec<Vec<String>> {
    let runs = evaluation.cases.iter().flat_map(|case| case.runs.iter().map(move |run| (case, run)));
    let shown = runs.flat_map(|(case, run)| run.shown.iter().map(move |shown| (case, shown)));
    let misplaced = shown.filter(|(_, shown)| shown.is_at_quote == Some(false));
    misplaced.map(|(case, shown)| vec![strip_line(&case.name), describe_finding(&shown.finding)]).collect()
}

/// Formats a finding: `title (src/a.py:3)`.
fn describe_finding(finding: &ReportedFinding) -> String {
    let place = finding.line.map_or_else(|| finding.path.clone(), |line| format!("{}:{line}", finding.path));
    format!("{} ({})", shorten(&strip_line(&finding.title), LONGEST), strip_line(&place))
}

fn unfinished_rows(evaluation: &Evaluation) -> Vec<Vec<String>> {
    let mut rows: Vec<Vec<String>> = Vec::new();
    for case in evaluation.cases.iter().filter(|case| !case.is_complete()) {
        for run in case.runs.iter().filter(|run| run.end != RunEnd::Complete) {
            let why = shorten(&strip_line(run.end.describe()), 2 * LONGEST);
            rows.push(vec![strip_line(&case.name), run.end.as_str().replace('_', " "), why]);
        }
    }
    rows.dedup();
    rows
}

/// Formats a percentage, rounded down: 100% means all of them.
fn percent(share: EvalRatio) -> String {
    match share.all {
        0 => "-".to_owned(),
        all => format!("{}%", share.some * 100 / all),
    }
}

fn sums(evaluation: &Evaluation, figures: &Figures) -> Vec<Vec<String>> {
    let of = |share: EvalRatio, what: &str| match share.all {
        0 => "nothing to measure".to_owned(),
        _ => format!("{} of {} {what}", share.some, share.all),
    };
    let row = |name: &str, share: EvalRatio, said: String| vec![name.to_owned(), percent(share), said];
    let mut recall = of(figures.recall, "issues found");
    if figures.place_only + figures.words_only > 0 {
        let (place, words) = (figures.place_only, figures.words_only);
        recall.push_str(&format!("; of the others, {place} in the right place only, {words} in the right words only"));
    }
    let mut precision = of(figures.precision, "findings are about an issue");
    if figures.again > 0 {
        precision.push_str(&format!("; {} of the others say again what is found", figures.again));
    }
    let not_ended = figures.clean.all - figures.clean.some - figures.accused.some;
    let mut clean = of(figures.clean, "clean changes left in peace");
    if not_ended > 0 {
        clean.push_str(&format!("; {not_ended} not reviewed to the end"));
    }
    let mut rows = vec![
        row("recall", figures.recall, recall),
        row("precision", figures.precision, precision),
        row("clean", figures.clean, clean),
        row("false alarms", figures.accused, of(figures.accused, "clean changes with a finding")),
        row("location", figures.location, of(figures.location, "named issues in their very lines")),
        row("severity", figures.severity, of(figures.severity, "found issues as bad as expected")),
        row("category", figures.category, of(figures.category, "found issues of the expected kind")),
    ];
    rows.extend(noise(figures));
    let plain = |name: &str, text: String| vec![name.to_owned(), String::new(), text];
    let (tokens, money) = spent(figures.usage);
    rows.push(plain("tokens", tokens));
    rows.push(plain("money", money));
    let each = seconds(figures.took_ms / (evaluation.runs().count().max(1) as u64));
    rows.push(plain("time", format!("{} in all, {each} a review", seconds(evaluation.took_ms))));
    rows
}

/// The rows on what a reader has to go through: how many findings, how many of them whole, how long, and shown where.
fn noise(figures: &Figures) -> [Vec<String>; 4] {
    let row = |name: &str, value: String, said: String| vec![name.to_owned(), value, said];
    let EvalRatio { some: findings, all: changes } = figures.per_change;
    let each = figures.per_change.ratio().map_or_else(|| "-".to_owned(), |each| format!("{each:.1}"));
    let median = figures.median_words().map_or_else(|| "-".to_owned(), |words| words.to_string());
    let words = match (figures.mean_words(), figures.body_words.last()) {
        (Some(mean), Some(longest)) => format!("words in the median body of a finding; mean {mean}, longest {longest}"),
        _ => "nothing to measure".to_owned(),
    };
    let EvalRatio { some: at_quote, all: known } = figures.at_quote;
    let mut quoted = match known {
        0 => "nothing to measure: no quote is known".to_owned(),
        _ => format!("{at_quote} of {known} findings shown at the lines that they quote"),
    };
    if known > 0 && known < figures.main.all {
        quoted.push_str(&format!("; of {} no quote is known", count_noun(figures.main.all - known, "other finding")));
    }
    let main = match figures.main {
        EvalRatio { all: 0, .. } => "nothing to measure".to_owned(),
        EvalRatio { some, all } => format!("{some} of {all} findings shown whole"),
    };
    [
        row("findings", each, format!("per change: {findings} in {}", count_noun(changes, "review"))),
        row("main", percent(figures.main), main),
        row("words", median, words),
        row("quoted", percent(figures.at_quote), quoted),
    ]
}

fn spent(usage: Option<Usage>) -> (String, String) {
    let Some(usage) = usage else {
        let nobody = "none: no model was asked".to_owned();
        return (nobody.clone(), nobody);
    };
    let number = |count: Option<u64>| count.map_or_else(|| "unknown".to_owned(), |count| count.to_string());
    let cached = usage.cache_read_tokens.map_or_else(String::new, |count| format!(" ({count} of them from a cache)"));
    let tokens = format!("{} sent{cached}, {} received", number(usage.input_tokens), number(usage.output_tokens));
    let money = usage.cost.map_or_else(|| "unknown".to_owned(), |cost| cost.to_string());
    (tokens, money)
}

fn seconds(ms: u64) -> String {
    format!("{}.{} s", ms / 1_000, ms % 1_000 / 100)
}

fn compared(comparison: &EvalComparison, now: &Evaluation) -> String {
    let names = |names: &[String]| names.iter().map(|name| strip_line(name)).collect::<Vec<_>>().join(", ");
    let mut out = format!("\nSince {}", strip_line(&comparison.since));
    if comparison.then != now.reviewers() {
        out.push_str(&format!(" (then by {})", names(&comparison.then)));
    }
    let changed: Vec<_> = comparison.cases.iter().filter(|case| case.turned != CaseTrend::Same).collect();
    let same = comparison.cases.len() - changed.len();
    out.push_str(&format!(", {} as before\n", count_noun(same, "case")));
    let mut rows: Vec<Vec<String>> = Vec::new();
    for case in changed {
        rows.push(vec![strip_line(&case.name), case.turned.as_str().to_owned(), case.how.join("; ")]);
    }
    for (name, why) in &comparison.not_compared {
        rows.push(vec![strip_line(name), "not compared".to_owned(), why.as_str().to_owned()]);
    }
    out.push_str(&indented(&aligned(&rows)));
    out
}

/// Aligns rows; the last column runs on.
fn aligned(rows: &[Vec<String>]) -> String {
    let last = rows.iter().map(Vec::len).max().unwrap_or(0).saturating_sub(1);
    columns::align_columns(rows, |_| last)
}

fn indented(text: &str) -> String {
    text.lines().fold(String::new(), |mut out, line| {
        out.push_str(&format!("  {line}\n"));
        out
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::eval::{CaseRun, CaseScore, ExpectedResult, ShownFinding};
    use crate::domain::finding::{Category, Prominence, Severity};

    fn shown(title: &str, body_words: usize, is_at_quote: Option<bool>) -> ShownFinding {
        let finding = ReportedFinding {
            title: title.to_owned(),
            path: "src/a.py".to_owned(),
            line: Some(3),
            severity: Severity::Low,
            category: Category::Logic,
            origin: "m".to_owned(),
        };
        ShownFinding { finding, prominence: Prominence::Also, body_words, is_at_quote }
    }

    fn evaluation(shown: Vec<ShownFinding>) -> Evaluation {
        let run = CaseRun {
            end: RunEnd::Complete,
            score: CaseScore { findings: shown.len(), ..CaseScore::default() },
            shown,
            who: None,
            usage: Usage::default(),
            turns: 0,
            hidden: 0,
            took_ms: 0,
        };
        let case = CaseResult {
            name: "a".to_owned(),
            about: String::new(),
            digest: String::new(),
            expected: ExpectedResult::Clean,
            runs: vec![run],
        };
        Evaluation {
            version: String::new(),
            started_at: String::new(),
            took_ms: 0,
            repeat: 1,
            cases: vec![case],
            interrupted: false,
        }
    }

    fn rendered(shown: Vec<ShownFinding>) -> String {
        table(&Report { evaluation: &evaluation(shown), comparison: None, broken: &[] })
    }

    #[test]
    fn a_finding_away_from_its_quote_is_listed_and_unknown_quotes_are_counted() {
        let text = rendered(vec![
            shown("It is elsewhere", 10, Some(false)),
            shown("It is there", 30, Some(true)),
            shown("A rule found it", 90, None),
        ]);
        assert!(
            text.contains(
                "\nFindings shown away from the lines that they quote\n  a  It is elsewhere (src/a.py:3)\n\n"
            ),
            "{text}"
        );
        for row in [
            "findings      3.0   per change: 3 in 1 review\n",
            "main          0%    0 of 3 findings shown whole\n",
            "words         30    words in the median body of a finding; mean 43, longest 90\n",
            "quoted        50%   1 of 2 findings shown at the lines that they quote; of 1 other finding no quote is known\n",
        ] {
            assert!(text.contains(row), "{text}");
        }
    }

    #[test]
    fn without_a_finding_there_is_nothing_to_measure() {
        let text = rendered(Vec::new());
        for row in ["findings      0.0", "main          -", "words         -", "quoted        -"] {
            assert!(text.contains(row), "{text}");
        }
    }
}
