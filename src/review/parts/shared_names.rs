//! The names that one part of a change removes or adds and another uses. Main function: [`shared_names`].
//!
//! Only names are kept of a file that is read here, each once for all files: a large change has some hundred thousand uses.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, PoisonError};

use foldhash::quality::RandomState;

use crate::domain::change::FileStatus;
use crate::review::journal::{NameFate, SharedName};
use crate::review::plan::{
    MOST_DEFINERS, RelationsByFile, SHORTEST_NAME, definitions_before, relations_of, visit_relations,
};
use crate::review::run::ModelRun;
use crate::syntax::Relations;

/// Files by a name that they have.
type FilesByName = HashMap<Box<str>, Vec<usize>, RandomState>;

/// The names in the files of a change.
#[derive(Default)]
struct NameTable {
    defined_before: FilesByName,
    defined_after: FilesByName,
    used_after: FilesByName,
}

/// Returns the names that are shared between parts: those that are taken away first. The relations that are `known` are not read again.
pub(super) fn shared_names(run: &ModelRun, units: &[Vec<usize>], known: RelationsByFile) -> Vec<SharedName> {
    let files: Vec<usize> = units.concat();
    let table = Mutex::new(NameTable::default());
    let table_now = || table.lock().unwrap_or_else(PoisonError::into_inner);
    let is_gone = |at: usize| run.change.files.get(at).is_some_and(|file| file.status == FileStatus::Deleted);
    let after = |at: usize, relations: Relations| {
        if is_gone(at) { table_now().add_before(at, &relations) } else { table_now().add_after(at, &relations) }
    };
    let unknown: Vec<usize> = files.iter().copied().filter(|at| !known.contains_key(at)).collect();
    for (at, relations) in known {
        after(at, relations);
    }
    visit_relations(&unknown, |at| relations_of(run, at), after);
    visit_relations(&files, |at| definitions_before(run, at), |at, relations| table_now().add_before(at, &relations));
    table.into_inner().unwrap_or_else(PoisonError::into_inner).between(units)
}

fn add<'a>(files: &mut FilesByName, names: impl IntoIterator<Item = &'a String>, at: usize, most: usize) {
    for name in names.into_iter().filter(|name| name.len() >= SHORTEST_NAME) {
        match files.get_mut(name.as_str()) {
            Some(files) if files.len() >= most => {}
            Some(files) => files.push(at),
            None => drop(files.insert(name.as_str().into(), vec![at])),
        }
    }
}

impl NameTable {
    fn add_before(&mut self, at: usize, relations: &Relations) {
        add(&mut self.defined_before, &relations.defines, at, MOST_DEFINERS + 1);
    }

    fn add_after(&mut self, at: usize, relations: &Relations) {
        add(&mut self.defined_after, &relations.defines, at, MOST_DEFINERS + 1);
        add(&mut self.used_after, &relations.uses, at, usize::MAX);
    }

    /// Finds the names that are shared between parts.
    fn between(mut self, units: &[Vec<usize>]) -> Vec<SharedName> {
        let part_of: BTreeMap<usize, usize> =
            units.iter().enumerate().flat_map(|(part, files)| files.iter().map(move |at| (*at, part))).collect();
        // What many files define says nothing.
        self.defined_before.retain(|_, files| files.len() <= MOST_DEFINERS);
        self.defined_after.retain(|_, files| files.len() <= MOST_DEFINERS);
        let mut shared = Vec::new();
        let mut tell = |name: &str, at: usize, fate: NameFate| {
            let Some(part) = part_of.get(&at).copied() else { return };
            let others = self.used_after.get(name).into_iter().flatten();
            let others = others.filter_map(|user| Some((part_of.get(user).copied()?, *user)));
            let mut others: Vec<(usize, usize)> = others.filter(|(of, _)| *of != part).collect();
            others.sort_unstable();
            if !others.is_empty() {
                shared.push(SharedName { fate, from: (part, at), name: name.to_owned(), users: others });
            }
        };
        for (name, files) in &self.defined_before {
            // What is defined elsewhere now has moved.
            for at in files.iter().filter(|_| !self.defined_after.contains_key(name)) {
                tell(name, *at, NameFate::TakenAway);
            }
        }
        for (name, files) in &self.defined_after {
            for at in files {
                let is_new = !self.defined_before.get(name).is_some_and(|before| before.contains(at));
                tell(name, *at, if is_new { NameFate::BroughtIn } else { NameFate::Touched });
            }
        }
        shared.sort();
        shared
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn relations(defines: &[&str], uses: &[&str]) -> Relations {
        let own = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        Relations { imports: Vec::new(), defines: own(defines), uses: own(uses).into_iter().collect() }
    }

    fn names_between(
        units: &[Vec<usize>],
        old: &HashMap<usize, Relations>,
        new: &HashMap<usize, Relations>,
    ) -> Vec<SharedName> {
        let mut table = NameTable::default();
        for (at, relations) in old {
            table.add_before(*at, relations);
        }
        for (at, relations) in new {
            table.add_after(*at, relations);
        }
        table.between(units)
    }

    #[test]
    fn a_name_that_one_part_takes_away_and_another_uses_comes_first() {
        let old = HashMap::from([(0, relations(&["load_all", "keep_it"], &[])), (1, relations(&[], &["load_all"]))]);
        let new = HashMap::from([
            (0, relations(&["keep_it", "fresh_one"], &["load_all"])),
            (1, relations(&[], &["load_all", "keep_it", "fresh_one"])),
        ]);
        let shared: Vec<(NameFate, String)> = names_between(&[vec![0], vec![1]], &old, &new)
            .into_iter()
            .map(|shared| (shared.fate, shared.name))
            .collect();
        let expected = [
            (NameFate::TakenAway, "load_all".to_owned()),
            (NameFate::BroughtIn, "fresh_one".to_owned()),
            (NameFate::Touched, "keep_it".to_owned()),
        ];
        assert_eq!(shared, expected);
        assert_eq!(names_between(&[vec![0, 1]], &old, &new), [], "nothing is between files of one part");
    }

    #[test]
    fn a_name_that_moved_is_not_taken_away() {
        let old = HashMap::from([(0, relations(&["load_all"], &[]))]);
        let new = HashMap::from([(1, relations(&["load_all"], &[])), (2, relations(&[], &["load_all"]))]);
        let shared = names_between(&[vec![0], vec![1], vec![2]], &old, &new);
        assert_eq!(shared.iter().map(|one| one.fate).collect::<Vec<_>>(), [NameFate::BroughtIn]);
    }

    #[test]
    fn a_name_that_many_files_define_says_nothing() {
        let new: HashMap<usize, Relations> = (0..4).map(|at| (at, relations(&["load_all"], &["load_all"]))).collect();
        let units: Vec<Vec<usize>> = (0..4).map(|at| vec![at]).collect();
        assert_eq!(names_between(&units, &HashMap::new(), &new), []);
        let two = new.into_iter().map(|(at, own)| (at, if at < 2 { own } else { relations(&[], &["load_all"]) }));
        assert_eq!(names_between(&units, &HashMap::new(), &two.collect()).len(), 2);
    }
}
