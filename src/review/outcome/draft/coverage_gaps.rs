//! Coverage gaps: reviewable files or hunks that were not shown, as reasons for incompleteness. Main function: [`ReviewDraft::uncovered_sentence`].

use std::collections::{BTreeMap, HashSet};

use super::ReviewDraft;
use crate::domain::change::{FileChange, Omission};
use crate::domain::review::CoverageState;
use crate::domain::run::Engine;

/// Maximum number of unreviewed files named among the reasons; the receipt lists all.
const MOST_NAMED: usize = 3;
/// More holes in a collection are counted, not listed among the reasons.
const MOST_HOLES: usize = 5;

impl ReviewDraft {
    /// Marks files whose change could not be collected as unseen, whatever the engine reports.
    pub(super) fn check_collection(&mut self) {
        let unseen = self.change.omissions.iter().filter(|omission| omission.unseen);
        let why: BTreeMap<&str, &str> =
            unseen.filter_map(|omission| Some((omission.path.as_deref()?, omission.reason.as_str()))).collect();
        if why.is_empty() {
            return;
        }
        for covered in &mut self.files {
            if let Some(reason) = why.get(covered.path.to_string().as_str()) {
                covered.state = CoverageState::Skipped;
                covered.reason = Some((*reason).to_owned());
            }
        }
    }

    /// Returns the files that must be reviewed: those with lines, and those that could not be collected.
    fn files_to_review(&self) -> Vec<&FileChange> {
        let unseen = self.change.omissions.iter().filter(|omission| omission.unseen);
        let unseen: HashSet<&str> = unseen.filter_map(|omission| omission.path.as_deref()).collect();
        let owed = |file: &&FileChange| {
            file.reviewable() || (!unseen.is_empty() && unseen.contains(file.path.to_string().as_str()))
        };
        self.change.files.iter().filter(owed).collect()
    }

    /// Returns every reason why a hunk was not seen. The engine's own word is not enough: each reviewable file must be accounted for.
    ///
    /// Also returns `true` if there was something to review and all of it was missed.
    pub(super) fn uncovered_sentence(&self, engine: Engine) -> (Vec<String>, bool) {
        let verb = engine.past_tense();
        let by_path: BTreeMap<_, _> = self.files.iter().map(|covered| (&covered.path, covered)).collect();
        let mut reasons = Vec::new();
        let mut missing = HashSet::new();
        let owed = self.files_to_review();
        let mut cut = Vec::new();
        for file in &owed {
            let why = match by_path.get(&file.path) {
                Some(covered) if covered.state != CoverageState::Skipped => {
                    let is_gap = self.is_alone
                        && covered.state == CoverageState::Truncated
                        && !self.line_by_line.contains(&covered.path);
                    cut.extend(is_gap.then_some(*covered));
                    continue;
                }
                Some(covered) => covered.reason.as_deref(),
                None => None,
            };
            missing.insert(file.path.to_string());
            if missing.len() <= MOST_NAMED {
                let why = why.map_or_else(String::new, |why| format!(": {why}"));
                reasons.push(format!("{} was not {verb}{why}", file.path));
            }
        }
        if let Some(more) = missing.len().checked_sub(MOST_NAMED).filter(|more| *more > 0) {
            let were = if more == 1 { "file was" } else { "files were" };
            reasons.push(format!("{more} more {were} not {verb}"));
        }
        for covered in cut.iter().take(MOST_NAMED) {
            let why = covered.reason.as_deref().map_or_else(String::new, |why| format!(": {why}"));
            reasons.push(format!("{} was {verb} in part{why}", covered.path));
        }
        if let Some(more) = cut.len().checked_sub(MOST_NAMED).filter(|more| *more > 0) {
            let were = if more == 1 { "file was" } else { "files were" };
            reasons.push(format!("{more} more {were} {verb} in part"));
        }
        let untold = |omission: &&Omission| omission.path.as_ref().is_none_or(|path| !missing.contains(path));
        let omissions = self.change.omissions.iter().chain(&self.omissions);
        let mut holes = omissions.filter(|omission| omission.unseen).filter(untold);
        reasons.extend(holes.by_ref().take(MOST_HOLES).map(sentence));
        // All of them are in the notes.
        let more = holes.count();
        if more > 0 {
            reasons.push(format!("{more} more parts of the change were not seen"));
        }
        (reasons, !owed.is_empty() && missing.len() == owed.len())
    }
}

pub(super) fn sentence(omission: &Omission) -> String {
    match &omission.path {
        Some(path) => format!("{path}: {}", omission.reason),
        None => omission.reason.clone(),
    }
}
