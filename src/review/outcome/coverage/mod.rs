//! Coverage: the changed lines that a model was shown, and so the hunks and files. Main type: [`CoverageTracker`].
//!
//! Only changed lines count: a hunk is covered when every line that it adds and every line that it removes was shown, by any message or tool, to its
//! end; a line whose end was cut off was not shown. Messages report whole hunks, tools report references; both are stored as lines of a side.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;
use std::sync::Arc;

use crate::domain::change::{ChangeSet, FileChange, Hunk, Omission, shortened_lines};
use crate::domain::path::RepoPath;
use crate::domain::place::{DiffSide, LineRange};
use crate::domain::review::{CoverageState, FileCoverage};
use crate::tools::ShownLines;

/// Part of a file's diff that is in the message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownDiff {
    /// The file.
    pub path: RepoPath,
    /// Number of hunks, from the first, that are shown whole.
    pub hunks: usize,
    /// Number of lines of the next hunk that are shown.
    pub lines: usize,
}

/// A file whose diff is not in the message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OmittedDiff {
    /// The file.
    pub path: RepoPath,
    /// Reason, without a full stop.
    pub reason: String,
}

/// Lines of changed files that were shown. A copy of it takes what was shown, however large the change is.
#[derive(Debug, Clone)]
pub(in crate::review) struct CoverageTracker {
    change: Arc<ChangeSet>,
    places: Arc<PlacesByName>,
    duty: CoverageDuty,
    /// The files of which something was shown, or said, by their places in the change.
    files: BTreeMap<usize, TrackedFile>,
}

/// Places of the files in a change, by their names before and after it.
#[derive(Debug)]
struct PlacesByName {
    old: HashMap<RepoPath, usize>,
    new: HashMap<RepoPath, usize>,
}

/// The files to cover, by their places in the change.
#[derive(Debug, Clone)]
enum CoverageDuty {
    /// All but those that were reviewed before, with the reasons.
    AllBut(BTreeMap<usize, String>),
    /// These; others cover the rest.
    Only(BTreeSet<usize>),
}

#[derive(Debug, Clone, Default)]
struct TrackedFile {
    old: LineSet,
    new: LineSet,
    /// Changed lines that were shown, but not to their end.
    cut: BTreeSet<(DiffSide, u32)>,
    /// Reason why the first message did not show it.
    left_out: Option<String>,
}

/// Hunks of a file of which a changed line was never seen.
#[derive(Debug)]
pub(in crate::review) struct UnseenHunks<'a> {
    pub(in crate::review) file: &'a FileChange,
    /// The hunks, from 0, as runs of neighbours in order.
    pub(in crate::review) hunks: Vec<Range<usize>>,
    /// The changed lines in them that were shown, but not to their end.
    pub(in crate::review) cut: Vec<(DiffSide, u32)>,
    /// `true` if any changed line of the file was shown.
    pub(in crate::review) partly: bool,
}

impl CoverageTracker {
    /// Creates the tracker of a change that covers all of it.
    pub(in crate::review) fn new(change: Arc<ChangeSet>) -> Self {
        let names =
            |side: DiffSide| change.files.iter().enumerate().map(move |(at, file)| (file.path_at(side).clone(), at));
        let places = PlacesByName { old: names(DiffSide::Old).collect(), new: names(DiffSide::New).collect() };
        let duty = CoverageDuty::AllBut(BTreeMap::new());
        Self { change, places: Arc::new(places), duty, files: BTreeMap::new() }
    }

    /// Creates a tracker of the same change, to which nothing was shown and that covers only these files.
    pub(in crate::review) fn of_files(&self, files: BTreeSet<usize>) -> Self {
        let (change, places) = (Arc::clone(&self.change), Arc::clone(&self.places));
        Self { change, places, duty: CoverageDuty::Only(files), files: BTreeMap::new() }
    }

    /// Marks files that were reviewed before, with the reasons: they need not be covered.
    pub(in crate::review) fn mark_carried(&mut self, carried: &BTreeMap<RepoPath, String>) {
        let place = |(path, why): (&RepoPath, &String)| Some((*self.places.new.get(path)?, why.clone()));
        self.duty = CoverageDuty::AllBut(carried.iter().filter_map(place).collect());
    }

    /// Records a file's diff that the first message did not show, with the reason.
    pub(in crate::review) fn record_omitted_diff(&mut self, left_out: &OmittedDiff) {
        if let Some(at) = self.places.new.get(&left_out.path) {
            self.files.entry(*at).or_default().left_out = Some(left_out.reason.clone());
        }
    }

    /// Records the shown beginning of a file's patch text: hunks, and lines of the one that follows them.
    pub(in crate::review) fn record_shown_diff(&mut self, shown: &ShownDiff) {
        let Some(at) = self.places.new.get(&shown.path).copied() else { return };
        let (file, seen) = (&self.change.files[at], self.files.entry(at).or_default());
        let shortened = file.patch.cut.is_some_and(|cut| cut.shortened_lines > 0);
        let cut = if shortened { shortened_lines(&file.patch.text, 0) } else { Vec::new() };
        let mut next = cut.iter().peekable();
        for (number, hunk) in file.hunks.iter().enumerate().take(shown.hunks + 1) {
            let to = if number < shown.hunks { u64::MAX } else { shown.lines as u64 };
            let mut cut = Vec::new();
            while let Some((_, line)) = next.next_if(|(hunk, _)| *hunk <= number) {
                cut.push(*line as u64);
            }
            seen.saw_part(hunk, 0, to, &cut);
        }
    }

    /// Records lines that a tool showed.
    pub(in crate::review) fn record_shown_lines(&mut self, reference: &ShownLines) {
        let names = match reference.side {
            DiffSide::Old => &self.places.old,
            DiffSide::New => &self.places.new,
        };
        let Some(at) = names.get(&reference.path).copied() else { return };
        let (file, seen) = (&self.change.files[at], self.files.entry(at).or_default());
        match reference.hunk {
            Some(part) => {
                let Some(hunk) = file.hunks.get(part.hunk) else { return };
                let cut: Vec<u64> = reference.cut.iter().map(|line| u64::from(*line)).collect();
                seen.saw_part(hunk, part.from as u64, part.to.map_or(u64::MAX, |to| to as u64), &cut);
            }
            None => {
                let Some(lines) = reference.lines else { return };
                let mut from = lines.start();
                for cut in &reference.cut {
                    seen.cut.insert((reference.side, *cut));
                    seen.on(reference.side).add_between(from, cut.saturating_sub(1));
                    from = cut.saturating_add(1);
                }
                seen.on(reference.side).add_between(from, lines.end());
            }
        }
    }

    /// Returns the reviewable files with hunks that were not seen whole, in the order of the change.
    pub(in crate::review) fn unseen_hunks(&self) -> impl Iterator<Item = UnseenHunks<'_>> {
        let files = self.duty_files().into_iter().filter_map(|at| Some((at, self.change.files.get(at)?)));
        let reviewable = files.filter(|(_, file)| file.reviewable());
        reviewable.map(|(at, file)| self.seen(at).missing(file)).filter(|unseen| !unseen.hunks.is_empty())
    }

    fn duty_files(&self) -> Vec<usize> {
        match &self.duty {
            CoverageDuty::AllBut(carried) => {
                (0..self.change.files.len()).filter(|at| !carried.contains_key(at)).collect()
            }
            CoverageDuty::Only(files) => files.iter().copied().collect(),
        }
    }

    fn seen(&self, at: usize) -> &TrackedFile {
        self.files.get(&at).unwrap_or(&UNSEEN)
    }

    /// Returns the coverage of every changed file, and the gaps that make a review incomplete.
    pub(in crate::review) fn coverage(&self) -> (Vec<FileCoverage>, Vec<Omission>) {
        let all = (0..self.change.files.len()).filter_map(|at| self.coverage_of(at));
        let (files, holes): (Vec<_>, Vec<_>) = all.unzip();
        (files, holes.into_iter().flatten().collect())
    }

    /// Returns the coverage of the file at a place of the change, and the gap in it that makes a review incomplete; `None` if there is no file.
    pub(in crate::review) fn coverage_of(&self, at: usize) -> Option<(FileCoverage, Option<Omission>)> {
        let (file, seen) = (self.change.files.get(at)?, self.seen(at));
        let (state, reason) = match (file.without_text(), &self.duty) {
            (Some(reason), _) => (CoverageState::Skipped, Some(reason.to_owned())),
            (None, CoverageDuty::AllBut(carried)) => match carried.get(&at) {
                Some(why) => (CoverageState::Reviewed, Some(why.clone())),
                None => seen.state(file),
            },
            (None, CoverageDuty::Only(files)) if files.contains(&at) => seen.state(file),
            (None, CoverageDuty::Only(_)) => (CoverageState::Skipped, Some("no part of the review had it".to_owned())),
        };
        // Only of a file to cover some hunks may be missing. One that was skipped is a gap of its own.
        let is_gap = state == CoverageState::Truncated && file.reviewable();
        let gap = reason.as_ref().filter(|_| is_gap).map(|reason| Omission {
            path: Some(file.path.to_string()),
            reason: reason.clone(),
            unseen: true,
        });
        Some((FileCoverage { path: file.path.clone(), state, reason }, gap))
    }
}

/// A file of which nothing was shown.
static UNSEEN: TrackedFile =
    TrackedFile { old: LineSet(Vec::new()), new: LineSet(Vec::new()), cut: BTreeSet::new(), left_out: None };

impl TrackedFile {
    /// Records the lines `from..to` of a hunk's text as shown, some of them cut.
    fn saw_part(&mut self, hunk: &Hunk, from: u64, to: u64, cut: &[u64]) {
        // A hunk without changed lines is covered as a whole or not at all; there is nothing to cut in it.
        let cut = if hunk.runs.is_empty() { &[] } else { cut };
        let mut next = from;
        for line in cut.iter().copied().filter(|line| (from..to).contains(line)) {
            self.add_within(hunk, next, line);
            self.cut.extend(within(hunk, line, line + 1).into_iter().map(|(side, lines)| (side, lines.start())));
            next = line + 1;
        }
        self.add_within(hunk, next, to);
    }

    fn add_within(&mut self, hunk: &Hunk, from: u64, to: u64) {
        for (side, lines) in within(hunk, from, to) {
            self.on(side).add(lines);
        }
    }

    /// Returns the changed lines of a file that were shown cut and never whole.
    fn cut_lines<'a>(&'a self, file: &'a FileChange) -> impl Iterator<Item = (DiffSide, u32)> + 'a {
        let owes = |side: DiffSide, line: u32| {
            file.hunks.iter().flat_map(changed_lines).any(|(on, lines)| on == side && lines.contains(line))
        };
        let unseen =
            self.cut.iter().copied().filter(|(side, line)| !self.side(*side).contains_all(LineRange::line(*line)));
        unseen.filter(move |(side, line)| owes(*side, *line))
    }

    fn side(&self, side: DiffSide) -> &LineSet {
        match side {
            DiffSide::Old => &self.old,
            DiffSide::New => &self.new,
        }
    }

    fn on(&mut self, side: DiffSide) -> &mut LineSet {
        match side {
            DiffSide::Old => &mut self.old,
            DiffSide::New => &mut self.new,
        }
    }

    fn missing<'a>(&self, file: &'a FileChange) -> UnseenHunks<'a> {
        let mut hunks: Vec<Range<usize>> = Vec::new();
        let mut partly = false;
        for (at, hunk) in file.hunks.iter().enumerate() {
            let mut whole = true;
            for (side, lines) in changed_lines(hunk) {
                let seen = self.side(side);
                whole &= seen.contains_all(lines);
                partly |= seen.intersects(lines)
                    || self.cut.range((side, lines.start())..=(side, lines.end())).next().is_some();
            }
            if whole {
                continue;
            }
            match hunks.last_mut().filter(|last| last.end == at) {
                Some(last) => last.end = at + 1,
                None => hunks.push(at..at + 1),
            }
        }
        let cut = if hunks.is_empty() { Vec::new() } else { self.cut_lines(file).collect() };
        UnseenHunks { file, hunks, cut, partly }
    }

    fn state(&self, file: &FileChange) -> (CoverageState, Option<String>) {
        let unseen = self.missing(file);
        let total = file.hunks.len();
        if unseen.hunks.is_empty() {
            return (CoverageState::Reviewed, None);
        }
        if !unseen.partly {
            let why = self.left_out.as_ref().map_or_else(String::new, |why| format!(": {why}"));
            return (CoverageState::Skipped, Some(format!("never shown to the model{why}")));
        }
        let mut reason = format!("{} of {total} {} not seen whole", numbers(&unseen.hunks), were(&unseen.hunks));
        match unseen.cut.len() {
            0 => {}
            1 => reason.push_str("; 1 over-long line was shown cut"),
            count => reason.push_str(&format!("; {count} over-long lines were shown cut")),
        }
        (CoverageState::Truncated, Some(reason))
    }
}

/// Renders `hunk 3`, `hunks 1–2, 5`, counted from 1.
fn numbers(hunks: &[Range<usize>]) -> String {
    const NAMED: usize = 5;
    let one = |hunks: &Range<usize>| match hunks.len() {
        1 => hunks.end.to_string(),
        _ => format!("{}–{}", hunks.start + 1, hunks.end),
    };
    let mut named = hunks.iter().take(NAMED).map(one).collect::<Vec<_>>().join(", ");
    if hunks.len() > NAMED {
        let more: usize = hunks[NAMED..].iter().map(Range::len).sum();
        named.push_str(&format!(" and {more} more"));
    }
    format!("{} {named}", if count(hunks) == 1 { "hunk" } else { "hunks" })
}

fn were(hunks: &[Range<usize>]) -> &'static str {
    if count(hunks) == 1 { "was" } else { "were" }
}

fn count(hunks: &[Range<usize>]) -> usize {
    hunks.iter().map(Range::len).sum()
}

/// Returns the lines that must be seen of a hunk: those that it removes and those that it adds. Of one without any (a change that a patch file states
/// but does not show), its place.
fn changed_lines(hunk: &Hunk) -> impl Iterator<Item = (DiffSide, LineRange)> {
    let runs = hunk.runs.iter().flat_map(|run| [(DiffSide::Old, run.old), (DiffSide::New, run.new)]);
    let place = hunk.runs.is_empty().then_some([(DiffSide::Old, hunk.old), (DiffSide::New, hunk.new)]);
    runs.chain(place.into_iter().flatten()).filter_map(|(side, span)| Some((side, span.range()?)))
}

/// Returns the changed lines on the lines `from..to` of a hunk's text: context, then the removed and the added lines of a run.
fn within(hunk: &Hunk, from: u64, to: u64) -> Vec<(DiffSide, LineRange)> {
    if hunk.runs.is_empty() {
        return if from == 0 && to == u64::MAX { changed_lines(hunk).collect() } else { Vec::new() };
    }
    let mut shown = Vec::new();
    let (mut place, mut line) = (0, u64::from(hunk.new.before()));
    for run in &hunk.runs {
        place += u64::from(run.new.before()).saturating_sub(line);
        for (side, span) in [(DiffSide::Old, run.old), (DiffSide::New, run.new)] {
            let end = place + u64::from(span.count);
            let (first, last) = (from.max(place), to.min(end));
            if first < last {
                let number = |at: u64| u32::try_from(u64::from(span.before()) + 1 + (at - place)).unwrap_or(u32::MAX);
                shown.extend(LineRange::new(number(first), number(last - 1)).ok().map(|lines| (side, lines)));
            }
            place = end;
        }
        line = u64::from(run.new.end());
    }
    shown
}

/// A set of lines: ranges in order that neither overlap nor touch.
#[derive(Debug, Clone, Default)]
struct LineSet(Vec<LineRange>);

impl LineSet {
    /// Adds the lines `start..=end`, if there are any.
    fn add_between(&mut self, start: u32, end: u32) {
        if let (true, Ok(lines)) = (start <= end, LineRange::new(start, end)) {
            self.add(lines);
        }
    }

    fn add(&mut self, lines: LineRange) {
        // The ranges that overlap or touch the new one are replaced by one that covers all of them.
        let first = self.0.partition_point(|range| range.end() < lines.start().saturating_sub(1));
        let after = self.0.partition_point(|range| range.start() <= lines.end().saturating_add(1));
        let touched = self.0.get(first..after).unwrap_or_default();
        let start = touched.first().map_or(lines.start(), |range| range.start().min(lines.start()));
        let end = touched.last().map_or(lines.end(), |range| range.end().max(lines.end()));
        self.0.splice(first..after, LineRange::new(start, end));
    }

    fn at(&self, line: u32) -> Option<LineRange> {
        let begun = self.0.partition_point(|range| range.start() <= line);
        self.0.get(begun.checked_sub(1)?).copied()
    }

    /// Checks whether all of `lines` are in the set.
    fn contains_all(&self, lines: LineRange) -> bool {
        self.at(lines.start()).is_some_and(|range| range.end() >= lines.end())
    }

    /// Checks whether any of `lines` is in the set.
    fn intersects(&self, lines: LineRange) -> bool {
        self.at(lines.end()).is_some_and(|range| range.end() >= lines.start())
    }
}

#[cfg(test)]
mod tests;
