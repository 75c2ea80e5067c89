//! Division of the files of a large change into parts. Main function: [`divide`].
//!
//! Linked files stay together as far as there is space, the closest first; the rest is filled up folder by folder, from the deepest. It depends on
//! nothing but its arguments: equal changes give equal plans.

use std::collections::BTreeMap;

use super::links::FileLink;
use crate::domain::change::ChangeSet;

/// Deeper folders are taken for the one at this depth.
const DEEPEST: usize = 12;
/// Number of parts that are held open for further files; a bound for changes with very many files.
const OPEN: usize = 8;

/// Material that is divided.
pub(super) struct PlanMaterial<'a> {
    pub(super) change: &'a ChangeSet,
    /// The places of the files to divide.
    pub(super) files: &'a [usize],
    /// Weight of each file of the change, by index.
    pub(super) weights: &'a [u64],
    /// The places of all files, the riskiest first.
    pub(super) ranks: &'a [usize],
    /// Links between files that belong together, the closest first.
    pub(super) links: &'a [FileLink],
    /// Capacity of a part.
    pub(super) room: u64,
}

/// A group of files under way.
#[derive(Debug)]
struct PartGroup {
    files: Vec<usize>,
    weight: u64,
}

/// Divides the files: each is in exactly one part, and the files of a part fit the capacity together, unless it has one file alone. The riskiest part
/// comes first; within one the files are in the order of the change.
pub(super) fn divide(material: &PlanMaterial<'_>) -> Vec<Vec<usize>> {
    let rank = ranks(material);
    let mut groups = by_folder(material, by_links(material));
    for group in &mut groups {
        group.files.sort_unstable();
    }
    groups.sort_by_key(|group| {
        let riskiest = group.files.iter().filter_map(|at| rank.get(at)).min().copied();
        (riskiest.unwrap_or(usize::MAX), group.files.first().copied())
    });
    groups.into_iter().map(|group| group.files).collect()
}

/// Returns the number of riskier files, by index.
fn ranks(material: &PlanMaterial<'_>) -> BTreeMap<usize, usize> {
    material.ranks.iter().enumerate().map(|(rank, at)| (*at, rank)).collect()
}

/// Puts linked files together.
fn by_links(material: &PlanMaterial<'_>) -> Vec<PartGroup> {
    let weight = |at: usize| material.weights.get(at).copied().unwrap_or(0);
    let mut groups: BTreeMap<usize, PartGroup> =
        material.files.iter().map(|at| (*at, PartGroup { files: vec![*at], weight: weight(*at) })).collect();
    let mut group_of: BTreeMap<usize, usize> = groups.keys().map(|at| (*at, *at)).collect();
    for FileLink { files: (a, b), .. } in material.links {
        let (Some(a), Some(b)) = (group_of.get(a).copied(), group_of.get(b).copied()) else { continue };
        let (Some(first), Some(second)) = (groups.get(&a), groups.get(&b)) else { continue };
        if a == b || first.weight.saturating_add(second.weight) > material.room {
            continue;
        }
        // The smaller group is moved, so that no file moves often.
        let (to, from) = if first.files.len() >= second.files.len() { (a, b) } else { (b, a) };
        let Some(moved) = groups.remove(&from) else { continue };
        for at in &moved.files {
            group_of.insert(*at, to);
        }
        if let Some(group) = groups.get_mut(&to) {
            group.weight = group.weight.saturating_add(moved.weight);
            group.files.extend(moved.files);
        }
    }
    groups.into_values().collect()
}

/// Fills groups up with those of their folder, then with those of the folder around it, up to the root.
fn by_folder(material: &PlanMaterial<'_>, groups: Vec<PartGroup>) -> Vec<PartGroup> {
    let rank = ranks(material);
    let home = |group: &PartGroup| -> Vec<Vec<u8>> {
        let riskiest = group.files.iter().min_by_key(|at| rank.get(*at).copied().unwrap_or(usize::MAX));
        let folder = riskiest.and_then(|at| material.change.files.get(*at)).map(|file| file.path.folder());
        let parts = folder.unwrap_or_default().split(|byte| *byte == b'/').filter(|part| !part.is_empty());
        parts.take(DEEPEST).map(<[u8]>::to_vec).collect()
    };
    let mut homed: Vec<(Vec<Vec<u8>>, PartGroup)> = groups.into_iter().map(|group| (home(&group), group)).collect();
    let deepest = homed.iter().map(|(home, _)| home.len()).max().unwrap_or(0);
    for depth in (0..=deepest).rev() {
        let mut folders: BTreeMap<Vec<Vec<u8>>, Vec<PartGroup>> = BTreeMap::new();
        let mut above = Vec::new();
        for (home, group) in homed {
            if home.len() >= depth {
                folders.entry(home.into_iter().take(depth).collect()).or_default().push(group);
            } else {
                above.push((home, group));
            }
        }
        for (home, groups) in folders {
            above.extend(filled(groups, material.room).into_iter().map(|group| (home.clone(), group)));
        }
        homed = above;
    }
    homed.into_iter().map(|(_, group)| group).collect()
}

/// Puts each group to the first of the open ones that has room for it.
fn filled(mut groups: Vec<PartGroup>, room: u64) -> Vec<PartGroup> {
    groups.sort_by_key(|group| group.files.iter().min().copied());
    let mut filled: Vec<PartGroup> = Vec::new();
    for group in groups {
        let open = filled.len().saturating_sub(OPEN);
        let fits = |into: &&mut PartGroup| into.weight.saturating_add(group.weight) <= room;
        match filled.iter_mut().skip(open).find(fits) {
            Some(into) => {
                into.weight = into.weight.saturating_add(group.weight);
                into.files.extend(group.files);
            }
            None => filled.push(group),
        }
    }
    filled
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::domain::change::FileChange;
    use crate::domain::path::RepoPath;

    fn change(paths: &[&str]) -> ChangeSet {
        ChangeSet::of(paths.iter().map(|path| FileChange::modified(RepoPath::parse(path).unwrap())).collect())
    }

    fn planned(
        paths: &[&str],
        weights: &[u64],
        ranks: &[usize],
        links: &[(usize, usize)],
        room: u64,
    ) -> Vec<Vec<usize>> {
        let links: Vec<FileLink> = links.iter().map(|files| FileLink { files: *files, weight: 1 }).collect();
        let files: Vec<usize> = (0..paths.len()).collect();
        divide(&PlanMaterial { change: &change(paths), files: &files, weights, ranks, links: &links, room })
    }

    #[test]
    fn linked_files_stay_together_and_folders_fill_the_rest() {
        let paths = ["a/one.rs", "a/two.rs", "b/one.rs", "b/two.rs", "tests/a.rs"];
        let units = planned(&paths, &[1; 5], &[0, 1, 2, 3, 4], &[(0, 4)], 3);
        assert_eq!(units, [vec![0, 1, 4], vec![2, 3]]);
    }

    #[test]
    fn the_riskiest_unit_comes_first() {
        let paths = ["a/one.rs", "b/one.rs", "c/one.rs"];
        assert_eq!(planned(&paths, &[2; 3], &[2, 0, 1], &[], 3), [[2], [0], [1]]);
    }

    #[test]
    fn a_file_that_fits_no_unit_is_one_by_itself() {
        let paths = ["a/huge.rs", "a/small.rs", "a/other.rs"];
        assert_eq!(planned(&paths, &[90, 1, 1], &[0, 1, 2], &[(0, 1)], 3), [vec![0], vec![1, 2]]);
    }

    #[test]
    fn a_folder_is_filled_before_the_one_around_it() {
        let paths = ["a/x/one.rs", "a/x/two.rs", "a/y/one.rs", "a/y/two.rs", "top.rs"];
        let units = planned(&paths, &[1; 5], &[0, 1, 2, 3, 4], &[], 2);
        assert_eq!(units, [vec![0, 1], vec![2, 3], vec![4]]);
    }

    proptest! {
        #[test]
        fn every_file_is_in_exactly_one_unit_that_fits_and_equal_changes_give_equal_plans(
            files in prop::collection::vec(("[ab]{0,2}", "[cd]{0,2}", 0u64..50), 1..60),
            links in prop::collection::vec((0usize..60, 0usize..60), 0..80),
            skipped in prop::collection::btree_set(0usize..60, 0..20),
            room in 1u64..120,
        ) {
            let paths: Vec<String> = files.iter().enumerate()
                .map(|(at, (one, two, _))| [one, two, &format!("f{at}.rs")].into_iter().filter(|part| !part.is_empty()).cloned().collect::<Vec<_>>().join("/"))
                .collect();
            let change = change(&paths.iter().map(String::as_str).collect::<Vec<_>>());
            let weights: Vec<u64> = files.iter().map(|(_, _, weight)| *weight).collect();
            let ranks: Vec<usize> = (0..files.len()).rev().collect();
            let links: Vec<FileLink> = links.into_iter().map(|(a, b)| FileLink { files: (a.min(b), a.max(b)), weight: 1 }).collect();
            let wanted: Vec<usize> = (0..files.len()).filter(|at| !skipped.contains(at)).collect();
            let plan = || divide(&PlanMaterial { change: &change, files: &wanted, weights: &weights, ranks: &ranks, links: &links, room });
            let units = plan();
            prop_assert_eq!(&units, &plan());
            let mut all: Vec<usize> = units.concat();
            all.sort_unstable();
            prop_assert_eq!(all, wanted);
            for unit in &units {
                let weight: u64 = unit.iter().map(|at| weights[*at]).sum();
                prop_assert!(!unit.is_empty() && (unit.len() == 1 || weight <= room));
                prop_assert!(unit.is_sorted());
            }
            // The riskiest file is the last one of the change here.
            let riskiest = |unit: &Vec<usize>| std::cmp::Reverse(unit.iter().copied().max());
            prop_assert!(units.is_sorted_by_key(riskiest));
        }
    }
}
