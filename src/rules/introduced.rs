//! What a change introduced: matches at the head minus matches at the base, as multisets.
//!
//! Two matches are the same when rule and folded text are. Of `n` at the head with `m` at the base, at most `n - m` are new, and of
//! those only the ones that touch changed lines are told, added lines before the points of deletions.

use std::collections::{BTreeMap, HashMap};

use super::subject::{Hit, RuleRef};

/// A match at the head.
#[derive(Debug, Clone)]
pub(super) struct HeadHit {
    /// The file, as counted in the change.
    pub(super) file: usize,
    pub(super) rule: RuleRef,
    pub(super) hit: Hit,
    /// The first changed line in it, and whether a line stands there; `None` when it lies outside the change.
    pub(super) touched: Option<(u32, bool)>,
}

/// How often each match stood at the base.
pub(super) type BaseCounts = HashMap<(RuleRef, String), usize>;

/// The new ones among `heads`, in the order of files, lines and rules.
pub(super) fn introduced(heads: Vec<HeadHit>, base: &BaseCounts) -> Vec<HeadHit> {
    let mut groups: BTreeMap<(RuleRef, String), Vec<HeadHit>> = BTreeMap::new();
    for head in heads {
        groups.entry((head.rule, head.hit.key.clone())).or_default().push(head);
    }
    let mut new = Vec::new();
    for (group, mut heads) in groups {
        let room = heads.len().saturating_sub(base.get(&group).copied().unwrap_or(0));
        heads.retain(|head| head.touched.is_some());
        heads.sort_by_key(|head| (!head.touched.is_some_and(|(_, stands)| stands), head.file, head.hit.lines));
        new.extend(heads.into_iter().take(room));
    }
    new.sort_by_key(|head| (head.file, head.hit.lines, head.rule));
    new
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::place::LineRange;
    use crate::domain::text::FileText;

    const RULE: RuleRef = RuleRef::Check(0);

    fn head(file: usize, line: u32, touched: Option<(u32, bool)>) -> HeadHit {
        let lines = LineRange::line(line);
        let hit = Hit { key: "k".to_owned(), ..Hit::of_lines(&FileText::new("", "UTF-8"), lines) };
        HeadHit { file, rule: RULE, hit, touched }
    }

    fn places(heads: Vec<HeadHit>, at_base: usize) -> Vec<(usize, u32)> {
        let base = BaseCounts::from([((RULE, "k".to_owned()), at_base)]);
        introduced(heads, &base).iter().map(|head| (head.file, head.hit.lines.start())).collect()
    }

    #[test]
    fn code_that_moved_to_another_file_is_not_new() {
        assert_eq!(places(vec![head(1, 5, Some((5, true)))], 1), []);
    }

    #[test]
    fn of_two_where_one_stood_before_the_added_one_is_told() {
        let heads = vec![head(0, 3, Some((3, false))), head(1, 9, Some((9, true)))];
        assert_eq!(places(heads, 1), [(1, 9)]);
    }

    #[test]
    fn what_lies_outside_the_change_is_not_told() {
        assert_eq!(places(vec![head(0, 3, None)], 0), []);
        assert_eq!(places(vec![head(0, 3, None), head(0, 4, Some((4, true)))], 1), [(0, 4)]);
    }
}
