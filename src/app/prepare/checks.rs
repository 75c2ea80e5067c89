//! The project's own linters and type checkers, run for a review: `--check NAME|auto`. Main function: [`run_checks`].
//!
//! What they say about changed lines becomes claims like the results of other scanners: findings of origin `build` without a model, leads
//! with one. A check runs because the user named it, never because of the repository alone. How a tool runs belongs in `build`.

use std::path::Path;
use std::time::Duration;

use super::build_tree::BuildTree;
use super::change::PreparedChange;
use crate::app::context::environment::ProcessEnv;
use crate::app::context::error::{AppError, UseCaseError};
use crate::build::tools::{self, BuildTool, CheckUse};
use crate::build::{BuildRequest, BuildRuns, EndedBuild, ResolvedTool};
use crate::domain::change::{ChangeSet, FileStatus};
use crate::domain::diagnostic::{Diagnostic, DiagnosticSeverity};
use crate::domain::event::{Event, EventSink};
use crate::domain::finding::{Category, Severity};
use crate::domain::path::RepoPath;
use crate::domain::place::{LineRange, WorkspaceAt};
use crate::domain::text::{mask, strip_block, strip_line};
use crate::rules::{ScannerReport, ScannerResult};
use crate::sys::files;

/// The word that chooses what the project configures.
const AUTO: &str = "auto";
/// Time limit of one check.
const LONGEST: Duration = Duration::from_mins(10);
/// The most bytes of changed paths that are passed to a check; with more it looks at the whole project.
const MOST_ARGUMENTS: usize = 100 << 10;
/// The most results of one check.
const MOST_RESULTS: usize = 2_000;
/// The most bytes of a file of settings in which a table is looked for.
const MOST_SETTINGS: u64 = 1 << 20;
/// The most bytes of a file whose line is compared with the reviewed one.
const MOST_CHECKED: u64 = 16 << 20;

/// Why the checks of a review could not be run.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub(in crate::app) enum CheckError {
    /// There is no such check.
    #[error("--check {name}: there is no such check; there are: auto, {known}")]
    Unknown { name: String, known: String },
    /// A check that the user named could not be run.
    #[error("--check {name}: {why}")]
    NotRun { name: String, why: String },
}

impl UseCaseError for CheckError {}

/// Runs the checks that the user named, and returns what they say about the change.
pub(in crate::app) fn run_checks(
    names: &[String],
    subject: &PreparedChange,
    around: &ProcessEnv,
    events: &dyn EventSink,
) -> Result<Vec<ScannerReport>, AppError> {
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let named = names.iter().filter(|name| *name != AUTO).map(|name| find(name)).collect::<Result<Vec<_>, _>>()?;
    let tree = BuildTree::open(subject, around)?;
    if subject.change.new_at == WorkspaceAt::Index {
        let text = "--check looks at the files of the working tree: what is not staged is checked with the rest";
        events.emit(Event::Notice { text: text.to_owned() });
    }
    let mut chosen: Vec<(&BuildTool, CheckUse, bool)> =
        named.into_iter().map(|(tool, check)| (tool, check, true)).collect();
    let mut reports: Vec<ScannerReport> = Vec::new();
    if names.iter().any(|name| name == AUTO) {
        let known = tools::TOOLS.iter().filter_map(|tool| Some((tool, tool.check?, false)));
        let configured: Vec<_> = known.filter(|(_, check, _)| is_configured(&tree.folder, check)).collect();
        if configured.is_empty() {
            reports
                .push(not_run("--check auto", "the project configures no linter or type checker that is known here"));
        }
        chosen.extend(configured);
    }
    let runs = BuildRuns::at(&around.state);
    for (tool, check, is_named) in chosen {
        if reports.iter().any(|report| report.from == tool.name) {
            continue;
        }
        let changed = changed_files(&subject.change, &check);
        if changed.is_empty() {
            // Without a changed file of its kind a check has nothing to say about the change.
            let why = "no changed file is one that it looks at";
            reports.extend(is_named.then(|| not_run(tool.name, why)));
            continue;
        }
        events.emit(Event::Notice { text: format!("running {}", tool.name) });
        let request = BuildRequest {
            tool: ResolvedTool::from(tool),
            arguments: if check.takes_files { arguments(&changed) } else { Vec::new() },
            directory: tree.folder.clone(),
            root: tree.folder.clone(),
            timeout: LONGEST,
            network: false,
            // A stranger's code runs in a sandbox that holds, or not at all.
            is_strict: tree.is_copy(),
        };
        let ended = crate::build::run(&request, &runs, &subject.cancel, &mut |_| {});
        subject.cancel.check()?;
        for note in ended.iter().flat_map(|ended| &ended.notes) {
            events.emit(Event::Notice { text: format!("{}: {}", tool.name, strip_line(note)) });
        }
        let fault = match &ended {
            Ok(ended) if ended.is_whole() => ended.check_fault(),
            Ok(ended) => Some(ended.describe_end()),
            Err(fault) => Some(fault.to_string()),
        };
        let report = match (fault, ended) {
            (Some(why), _) if is_named => return Err(CheckError::NotRun { name: tool.name.to_owned(), why }.into()),
            (None, Ok(ended)) => report(tool.name, &check, &ended, &subject.change, &tree.folder),
            (why, _) => not_run(tool.name, &why.unwrap_or_default()),
        };
        reports.push(report);
    }
    Ok(reports)
}

fn find(name: &str) -> Result<(&'static BuildTool, CheckUse), CheckError> {
    let found = tools::find(name).and_then(|tool| Some((tool, tool.check?)));
    found.ok_or_else(|| {
        let known = tools::TOOLS.iter().filter(|tool| tool.check.is_some()).map(|tool| tool.name);
        CheckError::Unknown { name: name.to_owned(), known: known.collect::<Vec<_>>().join(", ") }
    })
}

/// Checks whether the project uses a check.
fn is_configured(root: &Path, check: &CheckUse) -> bool {
    check.configured_by.iter().any(|sign| match sign.split_once('#') {
        None => root.join(sign).is_file(),
        Some((file, begin)) => {
            let text = files::read_plain(&root.join(file), MOST_SETTINGS).ok().flatten();
            text.is_some_and(|text| {
                String::from_utf8_lossy(&text).lines().any(|line| line.trim_start().starts_with(begin))
            })
        }
    })
}

/// Returns the changed files that a check looks at.
fn changed_files<'a>(change: &'a ChangeSet, check: &CheckUse) -> Vec<&'a RepoPath> {
    let there = change.files.iter().filter(|file| file.status != FileStatus::Deleted && !file.binary);
    there.map(|file| &file.path).filter(|path| has_ending(path, check)).collect()
}

fn has_ending(path: &RepoPath, check: &CheckUse) -> bool {
    let name = path.as_bytes().rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    let ending = name.rsplit(|byte| *byte == b'.').next().unwrap_or_default();
    ending.len() < name.len() && check.endings.iter().any(|known| known.as_bytes() == ending)
}

/// Returns the changed files as arguments; none if they are too many, so that the check looks at everything. No path is taken for a flag.
fn arguments(changed: &[&RepoPath]) -> Vec<String> {
    let words: Vec<String> =
        changed.iter().filter_map(|path| Some(format!("./{}", std::str::from_utf8(path.as_bytes()).ok()?))).collect();
    let bytes: usize = words.iter().map(String::len).sum();
    if bytes > MOST_ARGUMENTS { Vec::new() } else { words }
}

fn not_run(name: &str, why: &str) -> ScannerReport {
    ScannerReport { from: name.to_owned(), fault: Some(strip_line(why)), ..ScannerReport::default() }
}

/// Converts what a check says to a report on the change.
fn report(name: &str, check: &CheckUse, ended: &EndedBuild, change: &ChangeSet, root: &Path) -> ScannerReport {
    let mut report = ScannerReport { from: name.to_owned(), ..ScannerReport::default() };
    let (mut elsewhere, mut beyond) = (0, 0);
    for diagnostic in &ended.diagnostics {
        report.given += 1;
        match result(name, check, diagnostic, change, root) {
            Some(_) if report.results.len() >= MOST_RESULTS => beyond += 1,
            Some(result) => report.results.push(result),
            None => elsewhere += 1,
        }
    }
    let left_out = [("lie outside the change", elsewhere), ("are beyond the first 2,000", beyond)];
    report.left_out =
        left_out.into_iter().filter(|(_, count)| *count > 0).map(|(why, count)| (why.to_owned(), count)).collect();
    report
}

fn result(
    name: &str,
    check: &CheckUse,
    diagnostic: &Diagnostic,
    change: &ChangeSet,
    root: &Path,
) -> Option<ScannerResult> {
    let (file, line) = (diagnostic.file.as_ref()?, diagnostic.line?);
    let changed = change.files.iter().find(|changed| changed.path.as_bytes() == file.as_bytes())?;
    let severity = match (diagnostic.severity, check.takes_files) {
        // The project does not build.
        (DiagnosticSeverity::Error, false) => Severity::High,
        (DiagnosticSeverity::Error, true) => Severity::Medium,
        (DiagnosticSeverity::Warning, _) => Severity::Low,
        (DiagnosticSeverity::Info, _) => Severity::Nit,
    };
    let is_error = diagnostic.severity == DiagnosticSeverity::Error;
    let code = diagnostic.code.as_ref().map(|code| format!("/{code}")).unwrap_or_default();
    let clean = |text: &str| mask(&strip_block(text)).text;
    let first = LineRange::line(line);
    Some(ScannerResult {
        name: strip_line(&clean(&format!("{name}{code}"))),
        text: clean(&diagnostic.message),
        severity,
        category: if is_error { Category::Logic } else { Category::Quality },
        cwe: None,
        path: changed.path.clone(),
        lines: Some(diagnostic.end_line.and_then(|end| LineRange::new(line, end).ok()).unwrap_or(first)),
        snippet: snippet(&root.join(file), line),
    })
}

/// Returns the line on which a check looked: the checkout may have uncommitted changes that the review does not have.
fn snippet(path: &Path, line: u32) -> Option<String> {
    let text = files::read_plain(path, MOST_CHECKED).ok().flatten()?;
    let line = text.split(|byte| *byte == b'\n').nth(usize::try_from(line).ok()?.checked_sub(1)?)?;
    Some(mask(&strip_line(&String::from_utf8_lossy(line))).text).filter(|line| !line.trim().is_empty())
}
