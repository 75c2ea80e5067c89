//! What stood before the change of what was found after it. Main function: [`base_counts`].

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::document::On;
use super::introduced::{BaseCounts, HeadHit};
use super::look::Wanted;
use super::run::{RulesInput, look_at};
use super::subject::{RuleRef, telling_word};
use super::threads::each_file;
use crate::domain::change::FileStatus;
use crate::domain::place::Side;
use crate::sys::cancel::Stopped;
use crate::workspace::WorkspaceError;

/// More failures to read the base are counted, not listed.
const MOST_LISTED: usize = 3;

/// What one file held at the base, and what could not be done.
type AtBase = (Vec<(RuleRef, String)>, Option<String>);

/// Counts at the base what was found at the head, reading only what can hold it.
pub(super) fn base_counts(
    input: &RulesInput<'_>,
    heads: &[HeadHit],
    notes: &mut BTreeSet<String>,
) -> Result<BaseCounts, Stopped> {
    let mut sought: Vec<(RuleRef, &str)> =
        heads.iter().filter(|head| head.touched.is_some()).map(|head| (head.rule, head.hit.key.as_str())).collect();
    sought.sort_unstable();
    sought.dedup();
    if sought.is_empty() {
        return Ok(BaseCounts::new());
    }
    let words = Words::of(sought.iter().copied());
    let known: HashSet<(RuleRef, &str)> = sought.iter().copied().collect();
    let counted = each_file(input.change.files.len(), |at| -> Result<AtBase, Stopped> {
        input.cancel.check()?;
        let file = &input.change.files[at];
        if file.without_text().is_some() || file.status == FileStatus::Added || file.hunks.is_empty() {
            return Ok((Vec::new(), None));
        }
        let path = file.path_at(Side::Old);
        let text = match input.old.read(path) {
            Ok(text) => text,
            Err(WorkspaceError::Stopped(stopped)) => return Err(stopped),
            Err(error) => return Ok((Vec::new(), Some(error.to_string()))),
        };
        let rules = words.rules_in(text.text());
        if rules.is_empty() {
            return Ok((Vec::new(), None));
        }
        let looked = look_at(
            input,
            file,
            Side::Old,
            &text,
            &Wanted { on: On::Added, rules: &|rule| rules.contains(&rule), scopes: false },
        )?;
        let same = looked.hits.into_iter().filter(|(rule, hit)| known.contains(&(*rule, hit.key.as_str())));
        Ok((same.map(|(rule, hit)| (rule, hit.key)).collect(), None))
    });
    let mut base: BaseCounts = HashMap::new();
    let mut unread = 0;
    for (at, outcome) in counted.into_iter().enumerate() {
        let Some(outcome) = outcome else { continue };
        let (keys, error) = outcome?;
        if let Some(error) = error {
            unread += 1;
            if unread <= MOST_LISTED {
                let path = input.change.files[at].path_at(Side::Old);
                notes.insert(format!(
                    "{path} was not compared with the base, so old matches may be told as new: {error}"
                ));
            }
        }
        for key in keys {
            *base.entry(key).or_default() += 1;
        }
    }
    if unread > MOST_LISTED {
        notes.insert(format!("{} more files were not compared with the base", unread - MOST_LISTED));
    }
    Ok(base)
}

/// The most telling words of all that is sought, and the rules that each is sought for.
pub(super) struct Words {
    search: Option<aho_corasick::AhoCorasick>,
    rules: Vec<BTreeSet<RuleRef>>,
}

impl Words {
    /// Those of what is sought: rules and keys.
    pub(super) fn of<'a>(sought: impl Iterator<Item = (RuleRef, &'a str)>) -> Self {
        let mut rules_of: BTreeMap<&str, BTreeSet<RuleRef>> = BTreeMap::new();
        for (rule, key) in sought {
            rules_of.entry(telling_word(key)).or_default().insert(rule);
        }
        let search = aho_corasick::AhoCorasick::new(rules_of.keys()).ok();
        Self { search, rules: rules_of.into_values().collect() }
    }

    /// The rules for which `text` can hold something that is sought.
    pub(super) fn rules_in(&self, text: &str) -> HashSet<RuleRef> {
        let all: HashSet<RuleRef> = self.rules.iter().flatten().copied().collect();
        let Some(search) = &self.search else { return all };
        let mut here = HashSet::new();
        let mut seen = vec![false; self.rules.len()];
        for word in search.find_overlapping_iter(text) {
            let at = word.pattern().as_usize();
            if let (Some(seen @ false), Some(rules)) = (seen.get_mut(at), self.rules.get(at)) {
                *seen = true;
                here.extend(rules);
                if here.len() == all.len() {
                    break;
                }
            }
        }
        here
    }
}
