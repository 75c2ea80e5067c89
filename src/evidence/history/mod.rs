//! Matches findings of an earlier state: the current place of their lines ([`find_again`]), and the equal finding of today ([`match_findings`]). Pure
//! functions on texts and findings.
//!
//! Reading the earlier state belongs in `app`; its consequences for a review in `review`.

use std::collections::HashMap;

use crate::domain::change::{ChangeRun, HunkSpan};
use crate::domain::finding::{Anchor, Category, Finding, OriginKind};
use crate::domain::path::RepoPath;
use crate::domain::place::{DiffSide, LineRange};
use crate::domain::text::{FileText, is_distinctive, normal_line};

use super::locate::{QuoteLocation, locate};

/// Maximum number of pairs of one fingerprint in one file that are ranked by distance; more are matched in order.
const MOST_MEASURED: usize = 10_000;
/// Maximum number of earlier findings on the lines of a new one that are compared with it.
const MOST_COMPARED: usize = 64;

/// Maps the lines of one text to another.
#[derive(Debug, Clone, Default)]
pub struct LineMap {
    runs: Vec<ChangeRun>,
}

/// The lines of one text in another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MappedLines {
    /// All of them are there, unchanged.
    Same(LineRange),
    /// Some of them were changed; the lines that replaced them, if any.
    Changed(Option<LineRange>),
}

impl LineMap {
    /// Creates a map from the runs of changed lines between two texts, in order.
    pub fn new(runs: Vec<ChangeRun>) -> Self {
        Self { runs }
    }

    /// Maps lines of the old text to the new one.
    pub fn forward(&self, lines: LineRange) -> MappedLines {
        map(&self.runs, lines, |run| run.old, |run| run.new)
    }

    /// Checks whether all of these lines of the new text were in the old one.
    pub fn existed_before(&self, lines: LineRange) -> bool {
        matches!(map(&self.runs, lines, |run| run.new, |run| run.old), MappedLines::Same(_))
    }
}

fn map(
    runs: &[ChangeRun],
    lines: LineRange,
    from: fn(&ChangeRun) -> HunkSpan,
    to: fn(&ChangeRun) -> HunkSpan,
) -> MappedLines {
    // An insertion above or below does not touch the lines; one between two of them does.
    let first = runs.partition_point(|run| from(run).end() < lines.start());
    let below = runs.partition_point(|run| from(run).before() < lines.end());
    let above = first.checked_sub(1).and_then(|at| runs.get(at));
    let shifted = |line: u32, run: Option<&ChangeRun>| match run {
        None => line,
        Some(run) => line.saturating_sub(from(run).end()).saturating_add(to(run).end()),
    };
    let touching = runs.get(first..below).unwrap_or_default();
    let (Some(begun), Some(last)) = (touching.first(), touching.last()) else {
        let start = shifted(lines.start(), above);
        let there = LineRange::new(start, start.saturating_add(lines.count() - 1));
        return there.map_or(MappedLines::Changed(None), MappedLines::Same);
    };
    let covers_start = from(begun).before() < lines.start();
    let start = if covers_start { to(begun).before().saturating_add(1) } else { shifted(lines.start(), above) };
    let stop = if from(last).end() >= lines.end() { to(last).end() } else { shifted(lines.end(), Some(last)) };
    MappedLines::Changed(LineRange::new(start, stop).ok())
}

/// Result of searching for an earlier quote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QuoteMatch {
    /// Found on these lines.
    At(LineRange),
    /// Removed; the lines that replaced it, if known.
    Gone(Option<LineRange>),
    /// Found at several places, and nothing distinguishes them.
    Unknown,
}

/// Finds the lines of an earlier anchor in a text.
///
/// `map` maps from the text in which the anchor was made, if that is still readable. `fits` accepts lines that belong to no other
/// finding. Equal lines that were elsewhere before are never taken.
pub fn find_again(
    quote: &str,
    lines: LineRange,
    text: &FileText,
    map: Option<&LineMap>,
    fits: impl Fn(LineRange) -> bool,
) -> QuoteMatch {
    let mapped = map.map(|map| map.forward(lines));
    if let Some(MappedLines::Same(there)) = mapped
        && lines_equal_quote(text, there, quote)
    {
        return QuoteMatch::At(there);
    }
    let near = match mapped {
        Some(MappedLines::Same(there)) => Some(there),
        Some(MappedLines::Changed(there)) => there,
        None => None,
    };
    let meant = near.unwrap_or(lines);
    let came = |place: &LineRange| map.is_none_or(|map| !map.existed_before(*place));
    // A place taken by another finding hides the others as long as it is claimed.
    for claimed in [Some(meant), None] {
        let places = match locate(text, quote, claimed) {
            QuoteLocation::Exact(place) | QuoteLocation::Moved(place) => vec![place],
            QuoteLocation::Ambiguous(places) => places,
            QuoteLocation::NotDistinctive { .. } | QuoteLocation::Empty if map.is_none() => return QuoteMatch::Unknown,
            QuoteLocation::Nowhere { .. } | QuoteLocation::NotDistinctive { .. } | QuoteLocation::Empty => break,
        };
        let free = places.into_iter().filter(|place| came(place) && fits(*place));
        if let Some(place) = free.min_by_key(|place| place.start().abs_diff(meant.start())) {
            return QuoteMatch::At(place);
        }
    }
    QuoteMatch::Gone(near)
}

/// Finds an earlier quote of a model among the lines that replaced it, ignoring white space and comments, since such edits do not change
/// behavior. `comment` begins a comment in that language.
pub fn find_uncommented(quote: &str, near: LineRange, text: &FileText, comment: &str) -> Option<LineRange> {
    let wanted: Vec<String> = quote.split('\n').filter_map(|line| strip_comment(line, comment)).collect();
    if near.end() > text.line_count() || !quote.split('\n').any(is_distinctive) || wanted.is_empty() {
        return None;
    }
    let there: Vec<(u32, String)> =
        text.lines(near).filter_map(|(number, line)| Some((number, strip_comment(line, comment)?))).collect();
    let same = there.windows(wanted.len()).find(|lines| lines.iter().map(|(_, line)| line).eq(&wanted))?;
    LineRange::new(same.first()?.0, same.last()?.0).ok()
}

/// Strips white space and a trailing comment from a line; `None` if nothing is left.
fn strip_comment(line: &str, comment: &str) -> Option<String> {
    let opens =
        |at: &usize| line.get(..*at).is_some_and(|before| before.chars().last().is_none_or(char::is_whitespace));
    let end = line.match_indices(comment).map(|(at, _)| at).find(opens).unwrap_or(line.len());
    let bare: String = line.get(..end)?.chars().filter(|c| !c.is_whitespace()).collect();
    (!bare.is_empty()).then_some(bare)
}

/// Checks whether lines of a text equal a quote, ignoring trailing white space.
fn lines_equal_quote(text: &FileText, lines: LineRange, quote: &str) -> bool {
    lines.end() <= text.line_count()
        && text.lines(lines).map(|(_, line)| normal_line(line)).eq(quote.split('\n').map(normal_line))
}

/// The identity of a finding, for matching across runs.
#[derive(Debug, Clone)]
pub struct PriorFinding<'a> {
    fingerprint: &'a str,
    title: &'a str,
    category: Category,
    /// The rule, if a rule made it.
    rule: Option<&'a str>,
    /// The first place; `None` if it has none any more.
    place: Option<(&'a RepoPath, DiffSide, Option<LineRange>)>,
    /// `true` if it is resolved: only the same lines of the same file reopen it.
    is_over: bool,
    /// `true` if its own lines are known to exist: an equal finding in another file is a different one.
    stands: bool,
}

impl<'a> PriorFinding<'a> {
    /// Takes a finding at its own place.
    pub fn of(finding: &'a Finding) -> Self {
        let place = finding.anchors.first().map(|Anchor { path, side, lines, .. }| (path, *side, *lines));
        let rule = (finding.origin.kind == OriginKind::Rule).then_some(finding.origin.name.as_str());
        let (fingerprint, title) = (finding.fingerprint.0.as_str(), finding.title.as_str());
        Self { fingerprint, title, category: finding.category, rule, place, is_over: false, stands: false }
    }

    /// Moves the finding to another place.
    #[must_use]
    pub fn at(self, place: Option<(&'a RepoPath, DiffSide, Option<LineRange>)>) -> Self {
        Self { place, ..self }
    }

    /// Marks the finding as resolved.
    #[must_use]
    pub fn ended(self) -> Self {
        Self { is_over: true, ..self }
    }

    /// Marks the lines of the finding as still existing at its place.
    #[must_use]
    pub fn unresolved(self) -> Self {
        Self { stands: true, ..self }
    }

    fn path(&self) -> Option<&'a RepoPath> {
        self.place.map(|(path, _, _)| path)
    }

    fn line(&self) -> u32 {
        self.place.and_then(|(_, _, lines)| lines).map_or(0, LineRange::start)
    }
}

/// Matches each of `now` with the equal one of `earlier`, by its index in the slice. Each earlier finding is used at most once.
///
/// First by fingerprint: on the same lines, then in the same file, the nearest first, then anywhere, except for those that still exist at
/// their place. Then by place: on lines that overlap, with a title that is `alike`, else of the same category; two rules are never equal.
/// A resolved finding is matched by its fingerprint in its own file only.
pub fn match_findings(
    earlier: &[PriorFinding<'_>],
    now: &[PriorFinding<'_>],
    alike: impl Fn(&str, &str) -> bool,
) -> Vec<Option<usize>> {
    let mut pairs = FindingPairs { earlier, now, found: vec![None; now.len()], taken: vec![false; earlier.len()] };
    pairs.by_fingerprint();
    pairs.by_place(|earlier, now| alike(earlier.title, now.title));
    pairs.by_place(|earlier, now| earlier.category == now.category);
    pairs.found
}

struct FindingPairs<'a, 'b> {
    earlier: &'b [PriorFinding<'a>],
    now: &'b [PriorFinding<'a>],
    found: Vec<Option<usize>>,
    taken: Vec<bool>,
}

impl FindingPairs<'_, '_> {
    fn give(&mut self, was: usize, is: usize) {
        if self.found[is].is_none() && !self.taken[was] {
            self.found[is] = Some(was);
            self.taken[was] = true;
        }
    }

    fn by_fingerprint(&mut self) {
        let mut named: HashMap<&str, (Vec<usize>, Vec<usize>)> = HashMap::new();
        for (at, told) in self.earlier.iter().enumerate() {
            named.entry(told.fingerprint).or_default().0.push(at);
        }
        for (at, told) in self.now.iter().enumerate() {
            if let Some((_, now)) = named.get_mut(told.fingerprint) {
                now.push(at);
            }
        }
        let mut groups: Vec<_> = named.into_values().filter(|(_, now)| !now.is_empty()).collect();
        groups.sort_unstable();
        for (was, is) in groups {
            self.on_the_same_lines(&was, &is);
            self.in_the_same_file(&was, &is);
            self.in_order(&was, &is);
        }
    }

    fn on_the_same_lines(&mut self, was: &[usize], is: &[usize]) {
        let mut there: HashMap<_, Vec<usize>> = HashMap::new();
        for at in was.iter().rev() {
            there.entry(self.earlier[*at].place).or_default().push(*at);
        }
        for at in is {
            if let Some(was) = there.get_mut(&self.now[*at].place).and_then(Vec::pop) {
                self.give(was, *at);
            }
        }
    }

    fn in_the_same_file(&mut self, was: &[usize], is: &[usize]) {
        let mut files: HashMap<&RepoPath, (Vec<usize>, Vec<usize>)> = HashMap::new();
        for at in was.iter().filter(|at| !self.taken[**at]) {
            let Some(path) = self.earlier[*at].path() else { continue };
            files.entry(path).or_default().0.push(*at);
        }
        for at in is.iter().filter(|at| self.found[**at].is_none()) {
            let Some(files) = self.now[*at].path().and_then(|path| files.get_mut(path)) else { continue };
            files.1.push(*at);
        }
        let mut files: Vec<_> = files.into_values().collect();
        files.sort_unstable();
        for (mut was, mut is) in files {
            if was.len() == is.len() || was.len().saturating_mul(is.len()) > MOST_MEASURED {
                was.sort_by_key(|at| self.earlier[*at].line());
                is.sort_by_key(|at| self.now[*at].line());
                was.into_iter().zip(is).for_each(|(was, is)| self.give(was, is));
                continue;
            }
            let far = |was: usize, is: usize| self.earlier[was].line().abs_diff(self.now[is].line());
            let mut pairs: Vec<_> =
                was.iter().flat_map(|was| is.iter().map(move |is| (far(*was, *is), *was, *is))).collect();
            pairs.sort_unstable();
            for (_, was, is) in pairs {
                self.give(was, is);
            }
        }
    }

    /// Matches the remaining findings of a fingerprint across files: moved code.
    fn in_order(&mut self, was: &[usize], is: &[usize]) {
        let moved = |at: &usize| !self.taken[*at] && !self.earlier[*at].is_over && !self.earlier[*at].stands;
        let mut was: Vec<_> = was.iter().copied().filter(moved).collect();
        let mut is: Vec<_> = is.iter().copied().filter(|at| self.found[*at].is_none()).collect();
        was.sort_by_key(|at| (self.earlier[*at].path(), self.earlier[*at].line()));
        is.sort_by_key(|at| (self.now[*at].path(), self.now[*at].line()));
        was.into_iter().zip(is).for_each(|(was, is)| self.give(was, is));
    }

    fn by_place(&mut self, fits: impl Fn(&PriorFinding<'_>, &PriorFinding<'_>) -> bool) {
        let mut there: HashMap<(&RepoPath, DiffSide), Vec<usize>> = HashMap::new();
        for (at, told) in self.earlier.iter().enumerate().filter(|(at, told)| !self.taken[*at] && !told.is_over) {
            if let Some((path, side, _)) = told.place {
                there.entry((path, side)).or_default().push(at);
            }
        }
        for is in 0..self.now.len() {
            let told = &self.now[is];
            let (None, Some((path, side, lines))) = (self.found[is], told.place) else { continue };
            let meets = |was: &&usize| {
                let was = &self.earlier[**was];
                let is_there = match (was.place.and_then(|(_, _, lines)| lines), lines) {
                    (Some(was), Some(is)) => was.overlaps(is),
                    (None, None) => true,
                    (Some(_), None) | (None, Some(_)) => false,
                };
                is_there && (was.rule.is_none() || told.rule.is_none() || was.rule == told.rule)
            };
            let near = there.get(&(path, side)).into_iter().flatten().filter(|was| !self.taken[**was]).filter(meets);
            let best = near.take(MOST_COMPARED).find(|was| fits(&self.earlier[**was], told)).copied();
            if let Some(was) = best {
                self.give(was, is);
            }
        }
    }
}

#[cfg(test)]
mod tests;
