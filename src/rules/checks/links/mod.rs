//! Dead links in Markdown files: no such file, or no such heading. Main function: [`find`].
//!
//! Resolving a path in the tree belongs in `target`, link targets inside a file in `headings`. Sites built from Markdown have conventions
//! of their own; whether a file follows plain Markdown is inferred from its other links. Links from untouched files to what a change
//! removes belong in `impact`.

mod headings;
mod target;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use super::super::sides::BothSides;
use super::super::target::{ChangedLineIndex, RuleMatch, is_test_path, read_text};
use super::{CheckInfo, CheckNotes};
use crate::document::{DocumentLink, DocumentLinks};
use crate::domain::change::{FileChange, FileMode, FileStatus};
use crate::domain::finding::{Category, Severity};
use crate::domain::path::RepoPath;
use crate::domain::place::{DiffSide, LineRange, WorkspaceAt};
use crate::domain::text::{FileText, shorten, strip_line};
use crate::sys::cancel::CancelReason;
use crate::workspace::Workspace;
use headings::HeadingAnchors;
use target::{FileIndex, LinkDestination, PathEntry};

pub(super) const INFO: CheckInfo = CheckInfo {
    name: "general/link-leads-nowhere",
    title: "Dead link",
    message: "Whoever follows it finds nothing. Correct the destination, or add what it leads to in the same change.",
    severity: Severity::Low,
    category: Category::Documentation,
    cwe: None,
};

/// Larger texts are not read.
const LARGEST: usize = 1 << 20;
/// Maximum length of a shown destination, in characters.
const MOST_SHOWN: usize = 100;
/// Number of dead links of a file from which they are reported as one.
const MOST_OF_A_FILE: usize = 3;
/// Maximum number of them that are named.
const MOST_LISTED: usize = 5;

/// Finds the dead links that the change added.
pub(super) fn find(sides: &BothSides<'_>, _: &CheckNotes) -> Result<Vec<(usize, RuleMatch)>, CancelReason> {
    let mut dead = Vec::new();
    // A patch shows parts of its tree only; a missing file may exist.
    if sides.change.new_at == WorkspaceAt::PatchOnly {
        return Ok(Vec::new());
    }
    let mut checker: Option<LinkChecker<'_>> = None;
    for (at, file) in sides.files() {
        sides.cancel.check()?;
        if !may_gain(file) {
            continue;
        }
        let Some(text) = read(sides.new, &file.path)? else { continue };
        let touched = ChangedLineIndex::of(file, DiffSide::New);
        let is_new_link = |line: &str| ["](", "]:", "src=", "href="].iter().any(|mark| line.contains(mark));
        if !text.all_lines().any(|(number, line)| touched.covers(number) && is_new_link(line)) {
            continue;
        }
        if checker.is_none() {
            checker = LinkChecker::of(sides)?;
        }
        let Some(checker) = &mut checker else { return Ok(Vec::new()) };
        let found = checker.file(file, &text, &touched)?;
        dead.extend(found.into_iter().map(|link| DeadLink { file: at, ..link }));
    }
    Ok(select_reported(dead))
}

/// Checks whether the change may have added links that are resolved from the file's own place.
fn may_gain(file: &FileChange) -> bool {
    let is_markdown = matches!(file.path.extension(), Some("md" | "markdown"));
    is_markdown
        && file.additions > 0
        && file.status != FileStatus::Deleted
        && file.new_mode != Some(FileMode::Link)
        && file.without_text().is_none()
        && !is_test_path(&file.path)
        && !is_read_elsewhere(&file.path)
}

/// Checks whether the file is included in others or published elsewhere: then its links are relative to that place.
fn is_read_elsewhere(path: &RepoPath) -> bool {
    let text = path.display_name().to_ascii_lowercase();
    let (folders, name) = text.rsplit_once('/').unwrap_or(("", &text));
    let elsewhere = |part: &str| {
        part.starts_with('_')
            || matches!(
                part,
                "issue_template"
                    | "pull_request_template"
                    | ".changeset"
                    | "changelog.d"
                    | "newsfragments"
                    | "template"
                    | "templates"
                    | "partials"
                    | "snippets"
                    | "includes"
                    | "include"
            )
    };
    folders.split('/').any(elsewhere)
        || name.starts_with('_')
        || name.contains("template")
        || name.contains("changelog")
        || text.contains("{{")
}

fn read(tree: &dyn Workspace, path: &RepoPath) -> Result<Option<Arc<FileText>>, CancelReason> {
    Ok(read_text(tree, path)?.filter(|text| text.text().len() <= LARGEST))
}

/// Both trees, with a cache of examined files.
struct LinkChecker<'a> {
    sides: &'a BothSides<'a>,
    new: FileIndex<'a>,
    old: FileIndex<'a>,
    headings: HashMap<(DiffSide, RepoPath), Option<HeadingAnchors>>,
}

impl<'a> LinkChecker<'a> {
    fn of(sides: &'a BothSides<'a>) -> Result<Option<Self>, CancelReason> {
        let Some(new) = FileIndex::of(sides.new, sides.cancel)? else { return Ok(None) };
        let Some(old) = FileIndex::of(sides.old, sides.cancel)? else { return Ok(None) };
        Ok(Some(Self { sides, new, old, headings: HashMap::new() }))
    }

    /// Returns the links of the file that the change made dead.
    fn file(
        &mut self,
        file: &FileChange,
        text: &FileText,
        touched: &ChangedLineIndex,
    ) -> Result<Vec<DeadLink>, CancelReason> {
        let mut tally = LinkTally::default();
        let mut dead: Vec<(DeadLink, bool)> = Vec::new();
        let stood = self.old_destinations(file)?;
        for link in &DocumentLinks::of(text.text()).links {
            let Some(destination) = LinkDestination::of(&file.path, &link.destination) else { continue };
            let Some(why) = self.dead(DiffSide::New, &file.path, &destination)? else {
                tally.good(&destination);
                continue;
            };
            let before = LinkDestination::of(file.path_at(DiffSide::Old), &link.destination);
            let was_dead = match before.filter(|_| stood.contains(&link.destination)) {
                Some(before) => Some(self.dead(DiffSide::Old, file.path_at(DiffSide::Old), &before)?.is_some()),
                None => None,
            };
            match place(text, link, touched) {
                Some(line) if was_dead != Some(true) => {
                    tally.fresh(&why);
                    let hit = RuleMatch::from_lines(text, LineRange::line(line));
                    let dead_link = DeadLink { file: 0, hit, why, destination: link.destination.clone() };
                    dead.push((dead_link, was_dead == Some(false)));
                }
                _ => tally.count_old(&why),
            }
        }
        let is_sure = |(link, was_alive): &(DeadLink, bool)| *was_alive || tally.is_sure(&link.why);
        let mut dead: Vec<DeadLink> = dead.into_iter().filter(is_sure).map(|(link, _)| link).collect();
        if !dead.is_empty() && file.status != FileStatus::Added {
            let mut rewritten = self.dead_in_runs(file)?;
            dead.retain(|link| {
                let line = link.hit.lines.start();
                let run = file.runs().position(|run| run.new.range().is_some_and(|lines| lines.contains(line)));
                match run.and_then(|run| rewritten.get_mut(run)) {
                    Some(count) if *count > 0 => {
                        *count -= 1;
                        false
                    }
                    _ => true,
                }
            });
        }
        Ok(dead)
    }

    /// Counts the dead links of each run of changed lines at the base: a link that replaced a dead one was not made dead by the change.
    fn dead_in_runs(&mut self, file: &FileChange) -> Result<Vec<usize>, CancelReason> {
        let mut counts = vec![0; file.runs().count()];
        let from = file.path_at(DiffSide::Old);
        let Some(text) = read(self.sides.old, from)? else { return Ok(counts) };
        for link in DocumentLinks::of(text.text()).links {
            let line = text.line_at(link.at.start);
            let run = file.runs().position(|run| run.old.range().is_some_and(|lines| lines.contains(line)));
            let (Some(run), Some(to)) = (run, LinkDestination::of(from, &link.destination)) else { continue };
            if let Some(count) = counts.get_mut(run)
                && self.dead(DiffSide::Old, from, &to)?.is_some()
            {
                *count += 1;
            }
        }
        Ok(counts)
    }

    /// Collects the destinations that were in the file before.
    fn old_destinations(&self, file: &FileChange) -> Result<BTreeSet<String>, CancelReason> {
        if file.status == FileStatus::Added {
            return Ok(BTreeSet::new());
        }
        let text = read(self.sides.old, file.path_at(DiffSide::Old))?;
        let links = text.map(|text| DocumentLinks::of(text.text()).links).unwrap_or_default();
        Ok(links.into_iter().map(|link| link.destination).collect())
    }

    /// Returns why a destination is dead; `None` if it exists or that cannot be determined.
    fn dead(
        &mut self,
        side: DiffSide,
        from: &RepoPath,
        to: &LinkDestination,
    ) -> Result<Option<DeadLinkReason>, CancelReason> {
        let tree = if side == DiffSide::Old { &self.old } else { &self.new };
        let path = match &to.path {
            None => from.clone(),
            Some(path) => match tree.find(path)? {
                // A site may serve each page as a folder, relative to which the link is resolved.
                PathEntry::Missing if to.is_file && tree.has_below_page(from, to) => return Ok(None),
                PathEntry::Missing if to.is_file => return Ok(Some(DeadLinkReason::NoFile(path.clone()))),
                PathEntry::OtherCase(there) if to.is_file => return Ok(Some(DeadLinkReason::OtherCase(there))),
                PathEntry::File => path.clone(),
                PathEntry::Missing | PathEntry::OtherCase(_) | PathEntry::Folder | PathEntry::Unknown => {
                    return Ok(None);
                }
            },
        };
        let Some(fragment) = &to.fragment else { return Ok(None) };
        if !matches!(path.extension(), Some("md" | "markdown")) {
            return Ok(None);
        }
        let key = (side, path.clone());
        if !self.headings.contains_key(&key) {
            let workspace = if side == DiffSide::Old { self.sides.old } else { self.sides.new };
            let text = read(workspace, &path)?;
            let headings = text.and_then(|text| HeadingAnchors::of(text.text()));
            self.headings.insert(key.clone(), headings);
        }
        let headings = self.headings.get(&key).and_then(Option::as_ref);
        let missing = headings.is_some_and(|headings| !headings.has(fragment));
        Ok(missing.then(|| DeadLinkReason::NoHeading(path, fragment.clone())))
    }
}

/// Why a link is dead.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum DeadLinkReason {
    NoFile(RepoPath),
    OtherCase(RepoPath),
    NoHeading(RepoPath, String),
}

/// A link that the change made dead.
struct DeadLink {
    file: usize,
    hit: RuleMatch,
    why: DeadLinkReason,
    destination: String,
}

/// Link statistics of a file: if its other links are dead too, they are relative to somewhere else.
#[derive(Default)]
struct LinkTally {
    files: LinkCounts,
    anchors: LinkCounts,
}

/// Number of destinations that exist, that did not exist before either, and that the change made dead.
#[derive(Default)]
struct LinkCounts {
    good: BTreeSet<String>,
    stood: BTreeSet<String>,
    fresh: BTreeSet<String>,
}

impl LinkTally {
    fn good(&mut self, to: &LinkDestination) {
        if let Some(path) = to.path.as_ref().filter(|_| to.is_file) {
            self.files.good.insert(path.display_name().into_owned());
        }
        self.anchors.good.extend(to.fragment.clone());
    }

    fn count_old(&mut self, why: &DeadLinkReason) {
        match why {
            DeadLinkReason::NoFile(path) | DeadLinkReason::OtherCase(path) => {
                self.files.stood.insert(path.display_name().into_owned())
            }
            DeadLinkReason::NoHeading(_, anchor) => self.anchors.stood.insert(anchor.clone()),
        };
    }

    fn fresh(&mut self, why: &DeadLinkReason) {
        match why {
            DeadLinkReason::NoFile(path) | DeadLinkReason::OtherCase(path) => {
                self.files.fresh.insert(path.display_name().into_owned())
            }
            DeadLinkReason::NoHeading(_, anchor) => self.anchors.fresh.insert(anchor.clone()),
        };
    }

    fn is_sure(&self, why: &DeadLinkReason) -> bool {
        let is_sure = |counts: &LinkCounts| {
            let good = counts.good.len();
            good > 0 && counts.stood.len() <= good && counts.fresh.len() <= 2 * good
        };
        match why {
            DeadLinkReason::NoFile(_) => is_sure(&self.files),
            DeadLinkReason::OtherCase(_) => true,
            DeadLinkReason::NoHeading(..) => is_sure(&self.anchors),
        }
    }
}

/// Selects the dead links to report: each destination once, and one for a file with many.
fn select_reported(dead: Vec<DeadLink>) -> Vec<(usize, RuleMatch)> {
    let mut places: BTreeMap<DeadLinkReason, usize> = BTreeMap::new();
    for link in &dead {
        *places.entry(link.why.clone()).or_default() += 1;
    }
    let mut seen = BTreeSet::new();
    let firsts: Vec<DeadLink> = dead.into_iter().filter(|link| seen.insert(link.why.clone())).collect();
    let mut of_file: BTreeMap<usize, Vec<String>> = BTreeMap::new();
    for link in &firsts {
        of_file.entry(link.file).or_default().push(display_destination(&link.destination));
    }
    let mut hits = Vec::new();
    for link in firsts {
        let others = match of_file.get_mut(&link.file) {
            Some(all) if all.is_empty() => continue,
            Some(all) if all.len() > MOST_OF_A_FILE => std::mem::take(all),
            _ => Vec::new(),
        };
        let more = places.get(&link.why).copied().unwrap_or(1).saturating_sub(1);
        hits.push((link.file, build_message(link, more, others.get(1..).unwrap_or_default())));
    }
    hits
}

/// Returns the line of a link that the change touches; otherwise mostly the line on which its destination ends.
fn place(text: &FileText, link: &DocumentLink, touched: &ChangedLineIndex) -> Option<u32> {
    let last = text.line_at(link.at.end.saturating_sub(1));
    let lines = LineRange::new(text.line_at(link.at.start), last).ok()?;
    if text.is_masked(lines) {
        return None;
    }
    touched.first_in(lines).filter(|(_, stands)| *stands).map(|(line, _)| line)
}

fn display_destination(destination: &str) -> String {
    shorten(&strip_line(destination).replace('`', "'"), MOST_SHOWN)
}

/// Builds the message for a link; `more` links have the same destination, and `others` are dead in the same file.
fn build_message(link: DeadLink, more: usize, others: &[String]) -> RuleMatch {
    let destination = display_destination(&link.destination);
    let (title, mut detail) = match link.why {
        DeadLinkReason::NoFile(path) => {
            (format!("`{destination}` leads to a file that is not there"), format!("There is no {path}."))
        }
        DeadLinkReason::OtherCase(path) => (
            format!("`{destination}` leads nowhere where upper and lower case count"),
            format!("The file is called {path}: on GitHub and on Linux that is another name."),
        ),
        DeadLinkReason::NoHeading(path, _) => (
            format!("`{destination}` leads to a heading that is not there"),
            format!("No heading of {path} has that anchor."),
        ),
    };
    match more {
        0 => {}
        1 => detail.push_str(" Another link of this change leads there too."),
        _ => detail.push_str(&format!(" {more} more links of this change lead there too.")),
    }
    if !others.is_empty() {
        let listed: Vec<String> = others.iter().take(MOST_LISTED).map(|other| format!("`{other}`")).collect();
        let rest = others.len().saturating_sub(MOST_LISTED);
        let rest = if rest > 0 { format!(" and {rest} more") } else { String::new() };
        detail.push_str(&format!(" The file has more that lead nowhere: {}{rest}.", listed.join(", ")));
    }
    RuleMatch { title: Some(title), detail: Some(detail), ..link.hit }
}
