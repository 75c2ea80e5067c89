//! Dead links in Markdown files: no such file, or no such heading. Main type: [`LeadsNowhere`].
//!
//! Resolving a path in the tree belongs in `target`, link targets inside a file in `headings`. Sites built from Markdown have conventions
//! of their own; whether a file follows plain Markdown is inferred from its other links. Links from untouched files to what a change
//! removes belong in `impact`.

mod headings;
mod target;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use super::super::subject::{Hit, Subject, Touched, is_test_path, readable};
use super::{BothSides, Check, CheckInfo};
use crate::document::{Link, Page};
use crate::domain::change::{FileChange, FileMode, FileStatus};
use crate::domain::finding::{Category, Severity};
use crate::domain::path::RepoPath;
use crate::domain::place::{LineRange, Side, WorkspaceAt};
use crate::domain::text::{FileText, shortened, strip_line};
use crate::sys::cancel::Stopped;
use crate::workspace::Workspace;
use headings::Headings;
use target::{Destination, Found, Tree};

pub(super) struct LeadsNowhere;

static INFO: CheckInfo = CheckInfo {
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

impl Check for LeadsNowhere {
    fn info(&self) -> &'static CheckInfo {
        &INFO
    }

    fn find(&self, _: &Subject<'_>) -> Vec<Hit> {
        Vec::new()
    }

    fn gained(&self, sides: &BothSides<'_>) -> Result<Vec<(usize, Hit)>, Stopped> {
        let mut dead = Vec::new();
        // A patch shows parts of its tree only; a missing file may exist.
        if sides.change.new_at == WorkspaceAt::PatchOnly {
            return Ok(Vec::new());
        }
        let mut asked: Option<Asked<'_>> = None;
        for (at, file) in sides.change.files.iter().enumerate() {
            sides.cancel.check()?;
            if !may_gain(file) {
                continue;
            }
            let Some(text) = read(sides.new, &file.path)? else { continue };
            let touched = Touched::of(file, Side::New);
            let is_new_link = |line: &str| ["](", "]:", "src=", "href="].iter().any(|mark| line.contains(mark));
            if !text.all_lines().any(|(number, line)| touched.covers(number) && is_new_link(line)) {
                continue;
            }
            if asked.is_none() {
                asked = Asked::of(sides)?;
            }
            let Some(asked) = &mut asked else { return Ok(Vec::new()) };
            let found = asked.file(file, &text, &touched)?;
            dead.extend(found.into_iter().map(|link| DeadLink { file: at, ..link }));
        }
        Ok(select_reported(dead))
    }
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
    let text = path.spelled().to_ascii_lowercase();
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

fn read(tree: &dyn Workspace, path: &RepoPath) -> Result<Option<Arc<FileText>>, Stopped> {
    Ok(readable(tree, path)?.filter(|text| text.text().len() <= LARGEST))
}

/// Both trees, with a cache of examined files.
struct Asked<'a> {
    sides: &'a BothSides<'a>,
    new: Tree<'a>,
    old: Tree<'a>,
    headings: HashMap<(Side, RepoPath), Option<Headings>>,
}

impl<'a> Asked<'a> {
    fn of(sides: &'a BothSides<'a>) -> Result<Option<Self>, Stopped> {
        let Some(new) = Tree::of(sides.new, sides.cancel)? else { return Ok(None) };
        let Some(old) = Tree::of(sides.old, sides.cancel)? else { return Ok(None) };
        Ok(Some(Self { sides, new, old, headings: HashMap::new() }))
    }

    /// Returns the links of the file that the change made dead.
    fn file(&mut self, file: &FileChange, text: &FileText, touched: &Touched) -> Result<Vec<DeadLink>, Stopped> {
        let mut tally = Tally::default();
        let mut dead: Vec<(DeadLink, bool)> = Vec::new();
        let stood = self.stood(file)?;
        for link in &Page::of(text.text()).links {
            let Some(destination) = Destination::of(&file.path, &link.destination) else { continue };
            let Some(why) = self.dead(Side::New, &file.path, &destination)? else {
                tally.good(&destination);
                continue;
            };
            let before = Destination::of(file.path_at(Side::Old), &link.destination);
            let was_dead = match before.filter(|_| stood.contains(&link.destination)) {
                Some(before) => Some(self.dead(Side::Old, file.path_at(Side::Old), &before)?.is_some()),
                None => None,
            };
            match place(text, link, touched) {
                Some(line) if was_dead != Some(true) => {
                    tally.fresh(&why);
                    let hit = Hit::of_lines(text, LineRange::line(line));
                    let dead_link = DeadLink { file: 0, hit, why, destination: link.destination.clone() };
                    dead.push((dead_link, was_dead == Some(false)));
                }
                _ => tally.stood(&why),
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
    fn dead_in_runs(&mut self, file: &FileChange) -> Result<Vec<usize>, Stopped> {
        let mut counts = vec![0; file.runs().count()];
        let from = file.path_at(Side::Old);
        let Some(text) = read(self.sides.old, from)? else { return Ok(counts) };
        for link in Page::of(text.text()).links {
            let line = text.line_at(link.at.start);
            let run = file.runs().position(|run| run.old.range().is_some_and(|lines| lines.contains(line)));
            let (Some(run), Some(to)) = (run, Destination::of(from, &link.destination)) else { continue };
            if let Some(count) = counts.get_mut(run)
                && self.dead(Side::Old, from, &to)?.is_some()
            {
                *count += 1;
            }
        }
        Ok(counts)
    }

    /// Collects the destinations that were in the file before.
    fn stood(&self, file: &FileChange) -> Result<BTreeSet<String>, Stopped> {
        if file.status == FileStatus::Added {
            return Ok(BTreeSet::new());
        }
        let text = read(self.sides.old, file.path_at(Side::Old))?;
        let links = text.map(|text| Page::of(text.text()).links).unwrap_or_default();
        Ok(links.into_iter().map(|link| link.destination).collect())
    }

    /// Returns why a destination is dead; `None` if it exists or that cannot be determined.
    fn dead(&mut self, side: Side, from: &RepoPath, to: &Destination) -> Result<Option<Dead>, Stopped> {
        let tree = if side == Side::Old { &self.old } else { &self.new };
        let path = match &to.path {
            None => from.clone(),
            Some(path) => match tree.find(path)? {
                // A site may serve each page as a folder, relative to which the link is resolved.
                Found::Missing if to.is_file && tree.has_below_page(from, to) => return Ok(None),
                Found::Missing if to.is_file => return Ok(Some(Dead::NoFile(path.clone()))),
                Found::OtherCase(there) if to.is_file => return Ok(Some(Dead::OtherCase(there))),
                Found::File => path.clone(),
                Found::Missing | Found::OtherCase(_) | Found::Folder | Found::Unknown => return Ok(None),
            },
        };
        let Some(fragment) = &to.fragment else { return Ok(None) };
        if !matches!(path.extension(), Some("md" | "markdown")) {
            return Ok(None);
        }
        let key = (side, path.clone());
        if !self.headings.contains_key(&key) {
            let workspace = if side == Side::Old { self.sides.old } else { self.sides.new };
            let text = read(workspace, &path)?;
            let headings = text.and_then(|text| Headings::of(text.text()));
            self.headings.insert(key.clone(), headings);
        }
        let headings = self.headings.get(&key).and_then(Option::as_ref);
        let missing = headings.is_some_and(|headings| !headings.has(fragment));
        Ok(missing.then(|| Dead::NoHeading(path, fragment.clone())))
    }
}

/// Why a link is dead.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Dead {
    NoFile(RepoPath),
    OtherCase(RepoPath),
    NoHeading(RepoPath, String),
}

/// A link that the change made dead.
struct DeadLink {
    file: usize,
    hit: Hit,
    why: Dead,
    destination: String,
}

/// Link statistics of a file: if its other links are dead too, they are relative to somewhere else.
#[derive(Default)]
struct Tally {
    files: Counts,
    anchors: Counts,
}

/// Number of destinations that exist, that did not exist before either, and that the change made dead.
#[derive(Default)]
struct Counts {
    good: BTreeSet<String>,
    stood: BTreeSet<String>,
    fresh: BTreeSet<String>,
}

impl Tally {
    fn good(&mut self, to: &Destination) {
        if let Some(path) = to.path.as_ref().filter(|_| to.is_file) {
            self.files.good.insert(path.spelled().into_owned());
        }
        self.anchors.good.extend(to.fragment.clone());
    }

    fn stood(&mut self, why: &Dead) {
        match why {
            Dead::NoFile(path) | Dead::OtherCase(path) => self.files.stood.insert(path.spelled().into_owned()),
            Dead::NoHeading(_, anchor) => self.anchors.stood.insert(anchor.clone()),
        };
    }

    fn fresh(&mut self, why: &Dead) {
        match why {
            Dead::NoFile(path) | Dead::OtherCase(path) => self.files.fresh.insert(path.spelled().into_owned()),
            Dead::NoHeading(_, anchor) => self.anchors.fresh.insert(anchor.clone()),
        };
    }

    fn is_sure(&self, why: &Dead) -> bool {
        let is_sure = |counts: &Counts| {
            let good = counts.good.len();
            good > 0 && counts.stood.len() <= good && counts.fresh.len() <= 2 * good
        };
        match why {
            Dead::NoFile(_) => is_sure(&self.files),
            Dead::OtherCase(_) => true,
            Dead::NoHeading(..) => is_sure(&self.anchors),
        }
    }
}

/// Selects the dead links to report: each destination once, and one for a file with many.
fn select_reported(dead: Vec<DeadLink>) -> Vec<(usize, Hit)> {
    let mut places: BTreeMap<Dead, usize> = BTreeMap::new();
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
fn place(text: &FileText, link: &Link, touched: &Touched) -> Option<u32> {
    let last = text.line_at(link.at.end.saturating_sub(1));
    let lines = LineRange::new(text.line_at(link.at.start), last).ok()?;
    if text.is_masked(lines) {
        return None;
    }
    touched.first_in(lines).filter(|(_, stands)| *stands).map(|(line, _)| line)
}

fn display_destination(destination: &str) -> String {
    shortened(&strip_line(destination).replace('`', "'"), MOST_SHOWN)
}

/// Builds the message for a link; `more` links have the same destination, and `others` are dead in the same file.
fn build_message(link: DeadLink, more: usize, others: &[String]) -> Hit {
    let destination = display_destination(&link.destination);
    let (title, mut detail) = match link.why {
        Dead::NoFile(path) => {
            (format!("`{destination}` leads to a file that is not there"), format!("There is no {path}."))
        }
        Dead::OtherCase(path) => (
            format!("`{destination}` leads nowhere where upper and lower case count"),
            format!("The file is called {path}: on GitHub and on Linux that is another name."),
        ),
        Dead::NoHeading(path, _) => (
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
    Hit { title: Some(title), detail: Some(detail), ..link.hit }
}
