//! Subtracts matches at the base from matches at the head, as multisets.
//!
//! Two matches are equal if rule and folded text are. Of `n` at the head with `m` at the base, at most `n - m` are new, and only those
//! that touch changed lines are reported, added lines before the points of deletions.
//!
//! For a match that begins on an unchanged line, its place takes precedence over its text: a long match that was at the same place before
//! is the same, whatever was edited inside; and one without a changed line that was not there before was caused by the change around it.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::target::{RuleMatch, RuleRef};

/// Matches of more lines are identified by their place as well as by their text.
const LONG: u32 = 5;

/// A match at the head.
#[derive(Debug, Clone)]
pub(super) struct HeadMatch {
    /// Index of the file in the change.
    pub(super) file: usize,
    pub(super) rule: RuleRef,
    pub(super) hit: RuleMatch,
    /// The first changed line in it, and `true` if that is a line rather than a deletion point; `None` if the match is outside the
    /// change.
    pub(super) touched: Option<(u32, bool)>,
    /// The base line of the first line of [`RuleMatch::at`]; `None` if the change added that line.
    pub(super) was_at: Option<u32>,
}

impl HeadMatch {
    /// `true` if the base must be searched for a match at the same place.
    pub(super) fn is_place_bound(&self) -> bool {
        let structural = matches!(self.rule, RuleRef::Pack { .. });
        structural && self.was_at.is_some() && (self.touched.is_none() || self.hit.at.count() > LONG)
    }
}

impl HeadMatch {
    /// `true` if the change may only have rewritten an existing match, so that the base must be searched.
    pub(super) fn may_supersede(&self) -> bool {
        matches!(self.rule, RuleRef::Pack { .. }) && self.was_at.is_none() && self.touched.is_some()
    }
}

/// Base matches for what was found at the head.
#[derive(Debug, Default)]
pub(super) struct BaseText {
    /// Number of matches per key.
    pub(super) counts: HashMap<(RuleRef, String), usize>,
    /// Places of matches: file, rule, and the line at which a match is reported.
    pub(super) places: HashSet<(usize, RuleRef, u32)>,
    /// The files that were searched completely for matches that depend on their place.
    pub(super) read: HashSet<usize>,
}

/// The head matches after comparison with the base.
#[derive(Debug, Default)]
pub(super) struct MatchComparison {
    /// Introduced by the change.
    pub(super) new: Vec<HeadMatch>,
    /// Caused by a change around them: none of their own lines changed.
    pub(super) made: Vec<HeadMatch>,
    /// Pre-existing.
    pub(super) stood: Vec<HeadMatch>,
}

/// Compares `heads` with the base. Each part is ordered by file, line and rule.
pub(super) fn subtract_base(heads: Vec<HeadMatch>, base: &BaseText) -> MatchComparison {
    let mut compared = MatchComparison::default();
    let mut groups: BTreeMap<(RuleRef, String), Vec<HeadMatch>> = BTreeMap::new();
    for head in heads {
        let known = base.read.contains(&head.file) && head.is_place_bound();
        let before = head.was_at.filter(|_| known).map(|line| base.places.contains(&(head.file, head.rule, line)));
        let group = (head.rule, head.hit.key.clone());
        match before {
            Some(false) if head.touched.is_none() => compared.made.push(head),
            Some(true) if head.touched.is_some() && !base.counts.contains_key(&group) => compared.stood.push(head),
            _ => groups.entry(group).or_default().push(head),
        }
    }
    for (group, mut heads) in groups {
        let mut room = heads.len().saturating_sub(base.counts.get(&group).copied().unwrap_or(0));
        let last = |head: &HeadMatch| (head.touched.is_none(), !head.touched.is_some_and(|(_, stands)| stands));
        heads.sort_by_key(|head| (last(head), head.file, head.hit.lines));
        for head in heads {
            if room > 0 && head.touched.is_some() {
                room -= 1;
                compared.new.push(head);
            } else {
                compared.stood.push(head);
            }
        }
    }
    for list in [&mut compared.new, &mut compared.made, &mut compared.stood] {
        list.sort_by_key(|head| (head.file, head.hit.lines, head.rule));
    }
    compared
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::place::LineRange;
    use crate::domain::text::FileText;

    const RULE: RuleRef = RuleRef::Pack { pack: 0, rule: 0 };

    fn head(file: usize, line: u32, touched: Option<(u32, bool)>) -> HeadMatch {
        let lines = LineRange::line(line);
        let hit = RuleMatch { key: "k".to_owned(), ..RuleMatch::from_lines(&FileText::new("", "UTF-8"), lines) };
        HeadMatch { file, rule: RULE, hit, touched, was_at: None }
    }

    fn places(heads: &[HeadMatch]) -> Vec<(usize, u32)> {
        heads.iter().map(|head| (head.file, head.hit.lines.start())).collect()
    }

    fn new(heads: Vec<HeadMatch>, at_base: usize) -> Vec<(usize, u32)> {
        let counts = HashMap::from([((RULE, "k".to_owned()), at_base)]);
        places(&subtract_base(heads, &BaseText { counts, ..BaseText::default() }).new)
    }

    #[test]
    fn code_that_moved_to_another_file_is_not_new() {
        assert_eq!(new(vec![head(1, 5, Some((5, true)))], 1), []);
    }

    #[test]
    fn of_two_where_one_stood_before_the_added_one_is_told() {
        let heads = vec![head(0, 3, Some((3, false))), head(1, 9, Some((9, true)))];
        assert_eq!(new(heads, 1), [(1, 9)]);
    }

    #[test]
    fn what_lies_outside_the_change_is_not_told() {
        assert_eq!(new(vec![head(0, 3, None)], 0), []);
        assert_eq!(new(vec![head(0, 3, None), head(0, 4, Some((4, true)))], 1), [(0, 4)]);
    }

    #[test]
    fn what_matches_now_though_its_lines_are_unchanged_was_made_so() {
        let unchanged = HeadMatch { was_at: Some(2), ..head(0, 3, None) };
        let mut base = BaseText { read: HashSet::from([0]), ..BaseText::default() };
        assert_eq!(places(&subtract_base(vec![unchanged.clone()], &base).made), [(0, 3)]);
        base.places.insert((0, RULE, 2));
        assert_eq!(places(&subtract_base(vec![unchanged.clone()], &base).stood), [(0, 3)]);
        assert_eq!(places(&subtract_base(vec![unchanged], &BaseText::default()).stood), [(0, 3)], "nobody looked");
    }
}
