//! A review as values for the template. Main function: [`context()`].

use std::collections::{HashMap, HashSet};

use minijinja::{Value, context};

use super::code::{self, CodeNote};
use super::files::ReportedFiles;
use super::{escape_line, finding, inline_code, markdown, safe};
use crate::domain::change::FileChange;
use crate::domain::finding::{Category, Finding, FindingStatus, Severity};
use crate::domain::forge::ReviewedPull;
use crate::domain::path::RepoPath;
use crate::domain::review::{FileCoverage, Review, ReviewOutcome};
use crate::domain::text::count_noun;
use crate::present::{digest, report};

/// Upper bound on the diffs of whole files, in bytes; the surroundings of findings do not count. A browser lays out a page of this size in
/// seconds.
const MOST_DIFFS: usize = 6 << 20;
/// Upper bound on the commits that are listed.
const MOST_COMMITS: usize = 200;

/// The labels of the receipt's rows that say what a review did not cover.
const GAPS: [&str; 4] = ["text checks", "in part", "skipped", "limits"];

/// Returns the values of a review.
pub(super) fn context(review: &Review) -> Value {
    let files = ReportedFiles::of(review);
    let resolved = review.findings.iter().filter(|finding| finding.status.is_resolved());
    let order: Vec<&Finding> = review.main_findings().chain(review.also_noticed()).chain(resolved).collect();
    let (main, also) = (review.main_findings().count(), review.also_noticed().count());
    let numbered: Vec<(usize, &Finding)> = (1..).zip(order).collect();
    let values = |part: &[(usize, &Finding)]| -> Vec<Value> {
        part.iter().map(|(number, one)| finding::values(*number, one, &files)).collect()
    };
    let (first, rest) = numbered.split_at(main);
    let (second, last) = rest.split_at(also);
    let groups =
        [("findings", "Findings", first), ("also", digest::ALSO_NOTICED, second), ("resolved", "Resolved", last)];
    let groups = groups.into_iter().filter(|(.., part)| !part.is_empty());
    let groups = groups.map(|(id, title, part)| context! { id => id, title => title, findings => values(part) });
    context! {
        ..head(review),
        ..context! {
            groups => groups.collect::<Vec<_>>(),
            total => numbered.len(),
            filters => filters(&numbered, &files),
            files => file_list(review, &numbered, &files),
            commits => commits(review),
            sections => review.sections.iter().map(|section| {
                context! { title => section.title.as_str(), body => safe(markdown::render(&section.body)) }
            }).collect::<Vec<_>>(),
        }
    }
}

/// Returns the values of the top and the end of the page: the change, the outcome, the coverage and the cost.
fn head(review: &Review) -> Value {
    let change = &review.change;
    let receipt = digest::receipt(review);
    let row = |row: &digest::ReceiptRow| safe(row.render(escape_line, inline_code));
    let gaps = receipt.iter().filter(|row| GAPS.contains(&row.label));
    let (outcome, sentence) = match review.outcome {
        ReviewOutcome::Complete => ("Complete", String::new()),
        ReviewOutcome::Incomplete => ("Incomplete", digest::incomplete_label(review).to_owned()),
        ReviewOutcome::Failed => ("Failed", digest::nothing(review).to_lowercase()),
    };
    let closing = digest::closing(review);
    context! {
        repository => change.repository.as_str(),
        names => digest::change_names(change),
        pull => digest::pull(change).map(|(name, title)| {
            let url = change.pull.as_ref().map(ReviewedPull::url).filter(|url| is_web_address(url));
            context! { name => name, title => title, url => url }
        }),
        size => digest::size(change).join(", "),
        reviewer => digest::reviewer(review),
        started => review.provenance.started_at.as_str(),
        version => review.provenance.version.as_str(),
        run => review.id.to_string(),
        tone => tone(review),
        outcome => outcome,
        sentence => sentence,
        verdict => digest::verdict(review),
        reasons => review.reasons.clone(),
        gaps => gaps.map(|one| context! { label => one.label, text => row(one) }).collect::<Vec<_>>(),
        closing => closing,
        summary => safe(markdown::render(digest::summary(review).unwrap_or_default())),
        receipt => receipt.iter().map(|one| context! { label => one.label, text => row(one) }).collect::<Vec<_>>(),
    }
}

/// Returns the color of the outcome: green only for a clean review.
fn tone(review: &Review) -> &'static str {
    match review.outcome {
        ReviewOutcome::Complete if digest::is_clean(review) => "good",
        ReviewOutcome::Complete => "plain",
        ReviewOutcome::Incomplete => "partial",
        ReviewOutcome::Failed => "failed",
    }
}

/// Checks whether an address is one of the web, over TLS.
fn is_web_address(url: &str) -> bool {
    url.starts_with("https://") && url.bytes().all(|byte| byte.is_ascii_graphic())
}

/// Returns the choices of the filters, each with its number of findings.
fn filters(findings: &[(usize, &Finding)], files: &ReportedFiles<'_>) -> Value {
    fn choices<T: Copy>(all: &[T], word: impl Fn(T) -> &'static str, count: impl Fn(T) -> usize) -> Vec<Value> {
        let counted = all.iter().map(|one| (word(*one), count(*one))).filter(|(_, count)| *count > 0);
        counted
            .map(|(word, count)| context! { value => word, name => word.replace('_', " "), count => count })
            .collect()
    }
    let count = |holds: &dyn Fn(&Finding) -> bool| findings.iter().filter(|(_, finding)| holds(finding)).count();
    let mut in_files = vec![0_usize; files.names.len()];
    for (_, finding) in findings {
        let numbers: HashSet<usize> = finding.anchors.iter().filter_map(|anchor| files.number(&anchor.path)).collect();
        for (number, count) in (1..).zip(&mut in_files) {
            *count += usize::from(numbers.contains(&number));
        }
    }
    let in_files = (1..).zip(files.names.iter().zip(in_files)).filter(|(_, (_, count))| *count > 0);
    context! {
        severities => choices(Severity::ALL, Severity::word, |one| count(&|finding| finding.severity == one)),
        categories => choices(Category::ALL, Category::word, |one| count(&|finding| finding.category == one)),
        statuses => choices(FindingStatus::ALL, FindingStatus::word, |one| count(&|finding| finding.status == one)),
        files => in_files.map(|(number, (path, count))| {
            context! { value => number, name => path.display_name(), count => count }
        }).collect::<Vec<_>>(),
    }
}

/// Returns the changed files, each with its coverage and its diff.
fn file_list(review: &Review, findings: &[(usize, &Finding)], files: &ReportedFiles<'_>) -> Value {
    let coverage: HashMap<&RepoPath, &FileCoverage> =
        review.coverage.files.iter().map(|file| (&file.path, file)).collect();
    let mut notes: Vec<Vec<CodeNote>> = files.changed.iter().map(|_| Vec::new()).collect();
    let mut counts: Vec<usize> = vec![0; files.changed.len()];
    for (number, finding) in findings {
        let mut seen = HashSet::new();
        for anchor in &finding.anchors {
            let Some(at) = files.changed_number(&anchor.path).map(|number| number - 1) else { continue };
            if seen.insert(at)
                && let Some(count) = counts.get_mut(at)
            {
                *count += 1;
            }
            if let (Some(lines), Some(notes), false) = (anchor.lines, notes.get_mut(at), finding.status.is_over()) {
                notes.push(CodeNote { side: anchor.side, line: lines.end(), html: note(*number, finding) });
            }
        }
    }
    // Files with findings have their diffs first.
    let mut by_need: Vec<usize> = (0..files.changed.len()).collect();
    by_need.sort_by_key(|at| counts.get(*at) == Some(&0));
    let mut room = MOST_DIFFS;
    let shown: HashSet<usize> = by_need
        .into_iter()
        .filter(|at| {
            let size = files.changed.get(*at).map_or(0, |file| file.patch.text.len());
            let has_room = size <= room;
            room -= if has_room { size } else { 0 };
            has_room
        })
        .collect();
    let known = files.changed.iter().any(|file| !file.patch.text.is_empty());
    let list = files.changed.iter().zip(&files.diffs).zip(notes.iter().zip(counts)).enumerate();
    let list = list.map(|(at, ((file, diff), (notes, count)))| {
        let coverage = coverage.get(&file.path);
        let code = if shown.contains(&at) && !diff.is_empty() { code::render_diff(diff, notes) } else { String::new() };
        context! {
            number => at + 1,
            path => file.path.display_name(),
            old_path => file.old_path.as_ref().map(RepoPath::display_name),
            status => file.status.label(),
            additions => file.additions,
            deletions => file.deletions,
            findings => if count > 0 { count_noun(count, "finding") } else { String::new() },
            state => coverage.map(|one| one.state.as_str()).unwrap_or_default(),
            state_label => coverage.map(|one| one.state.label()).unwrap_or_default(),
            reason => coverage.and_then(|one| one.reason.clone()),
            why_empty => why_empty(file, known, shown.contains(&at)),
            cut => file.patch.cut.map(|cut| cut.lines).filter(|lines| *lines > 0),
            code => safe(code),
        }
    });
    list.collect::<Vec<_>>().into()
}

/// Explains why a file has no diff in the report.
fn why_empty(file: &FileChange, known: bool, has_room: bool) -> &'static str {
    match file {
        _ if !has_room => "The diff is left out: the report would be too large for a browser.",
        _ if !file.patch.text.is_empty() => "",
        FileChange { binary: true, .. } => "The file is binary.",
        FileChange { generated: Some(_), .. } => "The file is generated: its diff is not collected.",
        FileChange { additions: 0, deletions: 0, .. } => "No line changed.",
        _ if known => "The diff of this file was not collected.",
        _ => {
            "The diffs are not saved with this run. A report that is written during the review has them: --output html=FILE."
        }
    }
}

/// Renders the link to a finding below its last line in a diff.
fn note(number: usize, finding: &Finding) -> String {
    let (severity, title) = (finding.severity, escape_line(&report::title(finding)));
    format!("<a class=\"note\" href=\"#finding-{number}\">▲ {number}. {severity}: {title}\n</a>")
}

fn commits(review: &Review) -> Value {
    let change = &review.change;
    let commits = change.commits.iter().take(MOST_COMMITS).map(|commit| {
        context! {
            id => commit.id.short(),
            subject => commit.subject.as_str(),
            author => commit.author.as_str(),
            date => commit.date.chars().take(10).collect::<String>(),
        }
    });
    let more = change.commits_omitted + change.commits.len().saturating_sub(MOST_COMMITS);
    context! { shown => commits.collect::<Vec<_>>(), more => more }
}
