//! Turns scanner reports into claims: each quotes the tree at its line, so that it is proved like any other. Main function: [`add_reports`].

use std::collections::HashSet;

use super::super::claims::QUOTE_LINES;
use super::super::input::RulesInput;
use super::super::run::RulesReport;
use super::{ScannerReport, ScannerReports, ScannerResult};
use crate::domain::change::FileChange;
use crate::domain::claim::{Claim, ClaimedPlace};
use crate::domain::finding::{FindingOrigin, OriginKind};
use crate::domain::place::{DiffSide, LineRange};
use crate::domain::text::{group_thousands, shorten};
use crate::sys::cancel::CancelReason;

/// Maximum number of results of other scanners in one review, worst first. More indicates a misconfigured scanner.
const MOST_LEADS: usize = 100;
/// Maximum length of a title, in characters.
const LONGEST_TITLE: usize = 100;

/// Adds what other scanners report to the results of the rules. The notes say how each report was used.
pub fn add_reports(input: &RulesInput<'_>, reports: &ScannerReports, report: &mut RulesReport) {
    if reports.is_empty() {
        return;
    }
    if let Some(stopped) = report.stopped {
        report.notes.extend(reports.0.iter().map(|given| format!("{} was not looked at: {stopped}", given.from)));
        return;
    }
    let mut notes = Vec::new();
    match add(input, reports, &mut report.claims, &mut notes) {
        Ok(()) => report.notes.extend(notes),
        Err(stopped) => {
            report.notes.push(format!("not all that other scanners report was looked at: {stopped}"));
            report.stopped = Some(stopped);
        }
    }
}

/// The use made of a result in a file of the change.
enum ResultFate {
    Lead(Box<Claim>),
    /// A rule reports the same.
    Told,
    LeftOut(&'static str),
}

fn add(
    input: &RulesInput<'_>,
    reports: &ScannerReports,
    claims: &mut Vec<Claim>,
    notes: &mut Vec<String>,
) -> Result<(), CancelReason> {
    let ours = claims.len();
    let mut found: Vec<(usize, Box<Claim>)> = Vec::new();
    let mut seen = HashSet::new();
    let mut told: Vec<Vec<(String, usize)>> = Vec::new();
    for (at, report) in reports.0.iter().enumerate() {
        let mut left_out = report.left_out.clone();
        for result in &report.results {
            input.cancel.check()?;
            let became = if seen.insert((&result.name, &result.path, result.lines, &result.text)) {
                describe_use(input, result, &mut claims[..ours])
            } else {
                ResultFate::LeftOut("say what another one says")
            };
            match became {
                ResultFate::Lead(claim) => found.push((at, claim)),
                ResultFate::Told => count(&mut left_out, "say what a rule of this review says"),
                ResultFate::LeftOut(why) => count(&mut left_out, why),
            }
        }
        told.push(left_out);
    }
    found.sort_by(|(_, a), (_, b)| {
        let place = |claim: &Claim| (claim.severity, claim.place.path.clone(), claim.place.lines.map(LineRange::start));
        place(a).cmp(&place(b))
    });
    let mut leads = vec![0; reports.0.len()];
    for (nth, (at, claim)) in found.into_iter().enumerate() {
        if nth < MOST_LEADS {
            leads[at] += 1;
            claims.push(*claim);
        } else if let Some(left_out) = told.get_mut(at) {
            count(left_out, "are beyond the 100 that one review tells");
        }
    }
    for ((report, left_out), leads) in reports.0.iter().zip(told).zip(leads) {
        notes.push(sentence(report, leads, &left_out));
    }
    Ok(())
}

fn count(left_out: &mut Vec<(String, usize)>, why: &str) {
    match left_out.iter_mut().find(|(known, _)| known == why) {
        Some((_, count)) => *count += 1,
        None => left_out.push((why.to_owned(), 1)),
    }
}

/// Describes how a report was used, for the receipt.
fn sentence(report: &ScannerReport, leads: usize, left_out: &[(String, usize)]) -> String {
    if let Some(fault) = &report.fault {
        return format!("{} was not run: {fault}", report.from);
    }
    let mut parts: Vec<String> = Vec::new();
    if leads > 0 || left_out.is_empty() {
        parts.push(format!("{} told", group_thousands(leads as u64)));
    }
    parts.extend(left_out.iter().map(|(why, count)| format!("{} {why}", group_thousands(*count as u64))));
    let given =
        format!("{} {}", group_thousands(report.given as u64), if report.given == 1 { "result" } else { "results" });
    if report.given == 0 && left_out.is_empty() {
        format!("{} has no results", report.from)
    } else {
        format!("{} has {given}: {}", report.from, parts.join(", "))
    }
}

fn describe_use(input: &RulesInput<'_>, result: &ScannerResult, ours: &mut [Claim]) -> ResultFate {
    let Some(file) = input.change.files.iter().find(|file| file.path == result.path) else {
        return ResultFate::LeftOut("lie outside the change");
    };
    let place = match result.lines {
        None => ClaimedPlace { path: result.path.clone(), side: DiffSide::New, quote: None, lines: None, note: None },
        Some(lines) => match quote_place(input, file, result, lines) {
            Ok(place) => place,
            Err(why) => return ResultFate::LeftOut(why),
        },
    };
    let same = ours.iter_mut().find(|claim| {
        let overlap = || claim.place.lines.zip(result.lines).is_some_and(|(ours, theirs)| ours.overlaps(theirs));
        claim.place.path == result.path
            && claim.place.side == DiffSide::New
            && claim.category == result.category
            && overlap()
    });
    if let Some(claim) = same {
        claim.body.push_str(&format!("\n\n`{}` reports it too.", result.name));
        return ResultFate::Told;
    }
    ResultFate::Lead(Box::new(claim(result, place)))
}

/// The place with the text of the tree there.
fn quote_place(
    input: &RulesInput<'_>,
    file: &FileChange,
    result: &ScannerResult,
    lines: LineRange,
) -> Result<ClaimedPlace, &'static str> {
    if !file.touches(DiffSide::New, lines) {
        return Err("lie outside the change");
    }
    let text = input.new.read(&result.path).map_err(|_| "are about files that cannot be read")?;
    let Some(first) = text.line(lines.start()) else { return Err("are about another state of the file") };
    if result.snippet.as_deref().is_some_and(|snippet| !folded(first).contains(&folded(snippet))) {
        return Err("are about another state of the file");
    }
    let end = lines.end().min(text.line_count());
    // The quote must show a changed line.
    let is_changed = |line: &u32| file.touches(DiffSide::New, LineRange::line(*line));
    let start = if end - lines.start() < QUOTE_LINES {
        lines.start()
    } else {
        (lines.start()..=end).find(is_changed).unwrap_or(lines.start())
    };
    let shown = LineRange::new(start, end.min(start + QUOTE_LINES - 1)).unwrap_or(LineRange::line(start));
    let quote: Vec<&str> = text.lines(shown).map(|(_, line)| line).collect();
    let quote = Some(quote.join("\n"));
    Ok(ClaimedPlace { path: result.path.clone(), side: DiffSide::New, quote, lines: Some(shown), note: None })
}

fn folded(text: &str) -> String {
    text.split_whitespace().collect()
}

fn claim(result: &ScannerResult, place: ClaimedPlace) -> Claim {
    let first = result.text.lines().next().unwrap_or_default().trim();
    // A message of one sentence becomes the title.
    let sentence = first.split_once(". ").map_or(first, |(sentence, _)| sentence);
    let title = shorten(sentence.trim_end_matches('.'), LONGEST_TITLE);
    let mut body = result.text.clone();
    if let Some(cwe) = &result.cwe {
        body.push_str(&format!("\n\nSee {cwe}."));
    }
    Claim {
        title,
        body,
        severity: result.severity,
        category: result.category,
        confidence: None,
        place,
        related: Vec::new(),
        replacement: None,
        origin: FindingOrigin { kind: OriginKind::Build, name: result.name.clone() },
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::changed_lines::ChangedLines;
    use super::super::super::packs::Packs;
    use super::super::super::synthetic_change::SyntheticChange;
    use super::super::sarif::ReportContext;
    use super::super::sarif::read;
    use super::*;
    use crate::domain::event::NullEventSink;
    use crate::sys::cancel::Cancel;

    const BEFORE: &str = "import os\n\ndef run(name):\n    return name\n";
    const AFTER: &str = "import os\n\ndef run(name):\n    os.system('ls ' + name)\n    return name\n";

    fn result(line: u32, message: &str, more: &str) -> String {
        format!(
            r#"{{"ruleId": "r", "message": {{"text": "{message}"}}, "locations": [{{"physicalLocation": {{"artifactLocation":
                {{"uri": "src/a.py"}}, "region": {{"startLine": {line}{more}}}}}}}]}}"#
        )
    }

    fn told(results: &[String]) -> (Vec<String>, Vec<String>) {
        let made = SyntheticChange::default().was("src/a.py", BEFORE).now("src/a.py", AFTER);
        let (change, old, new) = made.build();
        let (packs, cancel) = (Packs::built_in().unwrap(), Cancel::never());
        let text = format!(
            r#"{{"version": "2.1.0", "runs": [{{"tool": {{"driver": {{"name": "Scan"}}}}, "results": [{}]}}]}}"#,
            results.join(",")
        );
        let around = ReportContext { change: &change, roots: &[], cancel: &cancel };
        let reports = ScannerReports(vec![read("s.sarif", text.as_bytes(), around).unwrap()]);
        let input = RulesInput {
            change: &change,
            only: None,
            new: &new,
            old: &old,
            packs: &packs,
            lines: &ChangedLines::default(),
            trees: &crate::syntax::TreeCache::default(),
            cancel: &cancel,
            events: &NullEventSink,
        };
        let mut report = crate::rules::run(&input);
        add_reports(&input, &reports, &mut report);
        let theirs = report.claims.iter().filter(|claim| claim.origin.kind == OriginKind::Build);
        let line =
            |claim: &Claim| format!("{} {}: {}", claim.origin.name, claim.place.lines.unwrap().start(), claim.title);
        (theirs.map(line).collect(), report.notes)
    }

    #[test]
    fn what_touches_the_change_is_told_and_the_rest_counted() {
        let results = [
            result(4, "A command is put together. Do not.", ""),
            result(4, "A command is put together. Do not.", ""),
            result(1, "Unused import", ""),
            result(99, "Gone", ""),
            result(4, "Stale", r#", "snippet": {"text": "return 3"}"#),
            result(4, "Fresh", r#", "snippet": {"text": "os.system( 'ls ' + name)"}"#),
        ];
        let (leads, notes) = told(&results);
        assert_eq!(leads, ["Scan/r 4: A command is put together", "Scan/r 4: Fresh"]);
        assert_eq!(
            notes,
            [
                "s.sarif has 6 results: 2 told, 1 say what another one says, 2 lie outside the change, 1 are about another state of the file"
            ]
        );
    }

    #[test]
    fn many_results_are_bounded_the_worst_first() {
        let mut results: Vec<String> = (0..150).map(|at| result(4, &format!("Number {at}"), "")).collect();
        results.push(result(4, "Worst", "").replace("\"ruleId\"", "\"level\": \"error\", \"ruleId\""));
        let (leads, notes) = told(&results);
        assert_eq!((leads.len(), leads[0].as_str()), (100, "Scan/r 4: Worst"));
        assert!(notes[0].ends_with("100 told, 51 are beyond the 100 that one review tells"), "{notes:?}");
    }
}
