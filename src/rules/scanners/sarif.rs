//! Reads a report and selects the results about defects in files of the change. Main function: [`read`].

use std::collections::HashMap;

use super::fields::{map_category, map_severity, message_text, rule_name, snippet_text};
use super::place::{region_lines, resolve_path};
use super::wire::{LenientItem, SarifLocation, SarifLog, SarifResult, SarifRule, SarifRun, item_at};
use super::{ScannerReport, ScannerResult};
use crate::domain::change::{ChangeSet, FileStatus};
use crate::domain::path::RepoPath;
use crate::domain::text::{mask, shorten, strip_line};
use crate::sys::cancel::{Cancel, CancelReason};

/// Maximum number of imported results of one report: ten times what is reported of them.
const MOST_KEPT: usize = 2_000;
/// Why results beyond [`MOST_RESULTS`](super::wire::MOST_RESULTS) are skipped.
const BEYOND: &str = "are beyond the first 20,000 of their run";

/// Why a report cannot be used. The user named it, so it is never skipped silently.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum ScannerReportError {
    /// Not JSON, or not in the shape of SARIF.
    #[error("{from} cannot be read as SARIF ({why}): have the scanner write SARIF 2.1.0, or leave it out")]
    Shape {
        from: String,
        /// The reason; safe to show.
        why: String,
    },
    /// An unsupported version of the format.
    #[error("{from} is SARIF {version}, and 2.1.0 is read: have the scanner write that, or leave it out")]
    Version {
        from: String,
        /// The version that it states; safe to show.
        version: String,
    },
    /// Too many report files.
    #[error(
        "--leads names {given} files, and {most} at most are read: name those of the scanners that looked at this change"
    )]
    TooMany { given: usize, most: usize },
    /// The review was stopped.
    #[error(transparent)]
    Stopped(#[from] CancelReason),
}

/// The context in which a report is read.
#[derive(Clone, Copy)]
pub struct ReportContext<'a> {
    /// The change.
    pub change: &'a ChangeSet,
    /// The local folders that correspond to the root of the repository, in bytes, without a trailing slash.
    pub roots: &'a [Vec<u8>],
    /// Checked between results.
    pub cancel: &'a Cancel,
}

/// Reads a report. `from` is its name in messages. Everything that is not a result about the change is counted.
pub fn read(from: &str, bytes: &[u8], around: ReportContext<'_>) -> Result<ScannerReport, ScannerReportError> {
    let from = strip_line(from);
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let log: SarifLog = serde_json::from_slice(bytes).map_err(|error| {
        // The parser's message may quote the content.
        let why = shorten(&strip_line(&mask(&error.to_string()).text), 200);
        ScannerReportError::Shape { from: from.clone(), why }
    })?;
    let version = log.version.as_deref().unwrap_or("2.1.0");
    // Versions between 2.0.0 and 2.1.0 were drafts.
    if !version.starts_with("2.1.") {
        let version = format!("\"{}\"", shorten(&strip_line(version), 40));
        return Err(ScannerReportError::Version { from, version });
    }
    let Some(runs) = log.runs else {
        return Err(ScannerReportError::Shape { from, why: "there are no runs in it".to_owned() });
    };
    let files = changed(around.change);
    let mut report = ScannerReport { from, ..ScannerReport::default() };
    let mut left_out = SkippedCounts::default();
    for run in &runs.items {
        for result in run.results.iter().flat_map(|results| &results.items) {
            around.cancel.check()?;
            report.given += 1;
            match select_result(result, run, &files, around.roots) {
                Ok(_) if report.results.len() >= MOST_KEPT => left_out.add("are beyond the first 2,000", 1),
                Ok(result) => report.results.push(result),
                Err(why) => left_out.add(why, 1),
            }
        }
    }
    let beyond: usize = runs.items.iter().filter_map(|run| run.results.as_ref()).map(|results| results.more).sum();
    report.given += beyond;
    left_out.add(BEYOND, beyond);
    left_out.add("more runs are not read", runs.more);
    report.left_out = left_out.0;
    Ok(report)
}

/// The files of the change at the head, by their bytes.
fn changed(change: &ChangeSet) -> HashMap<&[u8], &RepoPath> {
    let there = change.files.iter().filter(|file| file.status != FileStatus::Deleted);
    there.map(|file| (file.path.as_bytes(), &file.path)).collect()
}

/// Numbers of skipped results by reason.
#[derive(Default)]
struct SkippedCounts(Vec<(String, usize)>);

impl SkippedCounts {
    fn add(&mut self, why: &str, more: usize) {
        match self.0.iter_mut().find(|(known, _)| known == why) {
            Some((_, count)) => *count += more,
            None if more > 0 => self.0.push((why.to_owned(), more)),
            None => {}
        }
    }
}

/// Returns the result, or the reason why it is not about this change.
fn select_result(
    result: &LenientItem<SarifResult>,
    run: &SarifRun,
    files: &HashMap<&[u8], &RepoPath>,
    roots: &[Vec<u8>],
) -> Result<ScannerResult, &'static str> {
    let LenientItem::Read(result) = result else { return Err("cannot be read") };
    let is_defect = result.kind.as_deref().is_none_or(|kind| matches!(kind, "fail" | "review" | "open"));
    if !is_defect || result.baseline_state.as_deref() == Some("absent") {
        return Err("report no defect");
    }
    let stands = |status: Option<&str>| !matches!(status, Some("rejected" | "underReview"));
    if result.suppressions.iter().flat_map(|all| &all.items).any(|suppression| stands(suppression.status.as_deref())) {
        return Err("are suppressed in the report");
    }
    let locations: Vec<&SarifLocation> = result
        .locations
        .iter()
        .flat_map(|locations| &locations.items)
        .filter_map(|location| match location {
            LenientItem::Read(location) => Some(location),
            LenientItem::Odd(_) => None,
        })
        .collect();
    let Some(physical) = locations.first().and_then(|location| location.physical_location.as_ref()) else {
        return Err("name no file");
    };
    let path = physical.artifact_location.as_ref().and_then(|location| resolve_path(location, run, roots));
    let Some(path) = path else { return Err("name no file of this repository") };
    let Some(path) = files.get(path.as_bytes()) else { return Err("lie outside the change") };
    let (rule_id, rule) = rule_of(result, run);
    let level = result.level.as_deref();
    let level = level.or_else(|| rule?.default_configuration.as_ref()?.level.as_deref());
    let properties = [result.properties.as_ref(), rule.and_then(|rule| rule.properties.as_ref())];
    let name = rule_name(run.tool.driver.name.as_deref(), rule_id);
    let (category, cwe) = map_category(properties);
    Ok(ScannerResult {
        text: message_text(result.message.as_ref(), rule, &name),
        name,
        severity: map_severity(level, properties),
        category,
        cwe,
        path: (*path).clone(),
        lines: region_lines(physical.region.as_ref()),
        snippet: physical.region.as_ref().and_then(|region| snippet_text(region.snippet.as_ref())),
    })
}

/// Returns the rule of a result: its name, and its description by the tool (§3.27.5 to §3.27.7).
fn rule_of<'r>(result: &'r SarifResult, run: &'r SarifRun) -> (Option<&'r str>, Option<&'r SarifRule>) {
    let reference = result.rule.as_ref();
    let component = reference.and_then(|rule| rule.tool_component.as_ref()?.index);
    let component = component.and_then(|index| usize::try_from(index).ok());
    let extension = component.and_then(|index| run.tool.extensions.as_ref()?.items.get(index));
    let rules = extension.unwrap_or(&run.tool.driver).rules.as_ref();
    let id = result.rule_id.as_deref().or_else(|| reference?.id.as_deref());
    let by_index = item_at(rules, result.rule_index.or_else(|| reference?.index));
    let by_id = || {
        let mut all = rules?.items.iter().filter_map(|rule| match rule {
            LenientItem::Read(rule) => Some(rule),
            LenientItem::Odd(_) => None,
        });
        // Tools that name a rule by its id alone have at most a few hundred.
        all.find(|rule| rule.id.is_some() && rule.id.as_deref() == id)
    };
    let rule = by_index.or_else(by_id);
    (id.or_else(|| rule?.id.as_deref()), rule)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::change::FileChange;
    use crate::domain::finding::{Category, Severity};

    fn read_text(text: &str) -> Result<ScannerReport, ScannerReportError> {
        let file = |path: &str| FileChange::modified(RepoPath::parse(path).unwrap());
        let change = ChangeSet::of(vec![file("src/a.py"), file("src/b.py")]);
        let cancel = Cancel::never();
        read("s.sarif", text.as_bytes(), ReportContext { change: &change, roots: &[], cancel: &cancel })
    }

    fn log(results: &str) -> String {
        format!(
            r#"{{"version": "2.1.0", "runs": [{{"tool": {{"driver": {{"name": "Scan", "rules": [
                {{"id": "r0"}},
                {{"id": "r1", "defaultConfiguration": {{"level": "note"}}, "properties": {{"tags": ["external/cwe/cwe-095"], "security-severity": "8.1"}}}}
            ]}}}}, "artifacts": [{{}}, {{"location": {{"uri": "src/b.py"}}}}], "results": [{results}]}}]}}"#
        )
    }

    #[test]
    fn results_of_the_change_are_taken_and_the_others_counted() {
        let place = |path: &str| {
            format!(
                r#""locations": [{{"physicalLocation": {{"artifactLocation": {{"uri": "{path}"}}, "region": {{"startLine": 2}}}}}}]"#
            )
        };
        let results = [
            format!(r#"{{"ruleIndex": 1, "message": {{"text": "eval"}}, {}}}"#, place("src/a.py")),
            r#"{"ruleId": "r0", "level": "error", "message": {"text": "b"}, "locations": [{"physicalLocation": {"artifactLocation": {"index": 1}}}]}"#.to_owned(),
            format!(r#"{{"ruleId": "r0", {}}}"#, place("src/c.py")),
            format!(r#"{{"ruleId": "r0", {}}}"#, place("../c.py")),
            format!(r#"{{"ruleId": "r0", "kind": "pass", {}}}"#, place("src/a.py")),
            format!(r#"{{"ruleId": "r0", "suppressions": [{{"kind": "inSource"}}], {}}}"#, place("src/a.py")),
            r#"{"ruleId": 3}"#.to_owned(),
            "7".to_owned(),
            "{}".to_owned(),
        ];
        let report = read_text(&log(&results.join(","))).unwrap();
        assert_eq!(report.given, 9);
        let told: Vec<_> = report
            .results
            .iter()
            .map(|result| (result.name.as_str(), result.path.to_string(), result.severity))
            .collect();
        assert_eq!(
            told,
            [("Scan/r1", "src/a.py".to_owned(), Severity::High), ("Scan/r0", "src/b.py".to_owned(), Severity::High)]
        );
        assert_eq!(
            (report.results[0].category, report.results[0].cwe.as_deref()),
            (Category::Security, Some("CWE-95"))
        );
        assert_eq!(report.results[1].lines, None);
        let left_out: Vec<_> = report.left_out.iter().map(|(why, count)| (why.as_str(), *count)).collect();
        assert_eq!(
            left_out,
            [
                ("lie outside the change", 1),
                ("name no file of this repository", 1),
                ("report no defect", 1),
                ("are suppressed in the report", 1),
                ("cannot be read", 2),
                ("name no file", 1),
            ]
        );
    }

    #[test]
    fn what_is_no_report_is_an_error_that_says_what_to_do() {
        for (text, says) in [
            ("", "cannot be read as SARIF"),
            ("not json", "cannot be read as SARIF"),
            ("{}", "there are no runs in it"),
            ("[]", "cannot be read as SARIF"),
            (r#"{"version": "1.0.0", "runs": []}"#, "is SARIF \"1.0.0\", and 2.1.0 is read"),
            (r#"{"version": "2.0.0-csd.2.beta", "runs": []}"#, "and 2.1.0 is read"),
        ] {
            let error = read_text(text).unwrap_err().to_string();
            assert!(error.contains(says) && error.starts_with("s.sarif"), "{error}");
        }
        let deep = "[".repeat(100_000);
        assert!(read_text(&format!(r#"{{"runs": {deep}"#)).is_err());
    }

    #[test]
    fn a_few_bytes_for_each_item_do_not_become_gigabytes() {
        let many = |item: &str, count: usize| vec![item; count].join(",");
        let report = read_text(&log(&many("{}", 20_003))).unwrap();
        assert_eq!(report.given, 20_003);
        let left_out: Vec<_> = report.left_out.iter().map(|(why, count)| (why.as_str(), *count)).collect();
        assert_eq!(left_out, [("name no file", 20_000), ("are beyond the first 20,000 of their run", 3)]);
        let report = read_text(&format!(r#"{{"version": "2.1.0", "runs": [{}]}}"#, many("{}", 60))).unwrap();
        assert_eq!(report.left_out, [("more runs are not read".to_owned(), 10)]);
    }

    #[test]
    fn an_empty_report_is_one() {
        assert_eq!(read_text(r#"{"version": "2.1.0", "runs": [{}]}"#).unwrap().given, 0);
    }

    #[test]
    fn a_secret_in_a_report_is_masked() {
        let key = ["AKIA", "Z7QXB2WDLM4RT6VN"].concat();
        let result = format!(
            r#"{{"ruleId": "{key}", "message": {{"text": "key {key}"}}, "locations": [{{"physicalLocation": {{"artifactLocation": {{"uri": "src/a.py"}},
                "region": {{"startLine": 1, "snippet": {{"text": "k = '{key}'"}}}}}}}}]}}"#
        );
        let report = read_text(&log(&result)).unwrap();
        assert_eq!(report.results.len(), 1);
        assert!(!format!("{report:?}").contains(&key), "{report:?}");
    }
}
