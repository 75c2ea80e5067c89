//! Chooses the changed files that need no new review. Main function: [`find_unchanged`].
//!
//! A file is skipped only if the same reviewer with the same context saw the very same change of it, completed it, and had none of its
//! findings hidden. In doubt everything is reviewed again.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use super::super::change::PreparedChange;
use super::day;
use super::find::PreviousReview;
use crate::domain::change::FileChange;
use crate::domain::guideline::Guidelines;
use crate::domain::path::RepoPath;
use crate::domain::prior::{EarlierFinding, EarlierFindingStatus};
use crate::domain::review::{CoverageState, ReviewOutcome, ReviewProvenance};
use crate::domain::run::Engine;

/// The identity of the reviewer, with its context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::app) struct ReviewerIdentity {
    pub(in crate::app) engine: Engine,
    pub(in crate::app) provider: Option<String>,
    pub(in crate::app) model: Option<String>,
    pub(in crate::app) prompts: Option<String>,
    pub(in crate::app) rules: Option<String>,
    pub(in crate::app) instructions: Option<String>,
    /// The project's guidelines.
    pub(in crate::app) guidelines: Arc<Guidelines>,
}

impl ReviewerIdentity {
    /// The rules alone.
    pub(in crate::app) fn rules(hash: &str) -> Self {
        let (provider, model, prompts, instructions) = (None, None, None, None);
        let (rules, guidelines) = (Some(hash.to_owned()), Arc::default());
        Self { engine: Engine::Rules, provider, model, prompts, rules, instructions, guidelines }
    }

    /// The reason why the earlier review is by another reviewer; `None` if it is by the same one.
    fn differs(&self, then: &ReviewProvenance) -> Option<&'static str> {
        let pairs = [
            (
                self.provider == then.provider && self.model == then.model && then.answered.is_empty(),
                "another model reviewed then",
            ),
            (self.prompts == then.prompts, "the prompts are not the same"),
            (self.rules == then.rules, "the rules are not the same"),
            (self.instructions == then.instructions, "the instructions are not the same"),
            (self.has_all(then), "the project's guidelines are not the same"),
        ];
        pairs.into_iter().find(|(same, _)| !same).map(|(_, why)| why)
    }
}

impl ReviewerIdentity {
    /// Checks that all guidelines of the earlier review still apply. Additional ones affect some files only: see [`ReviewerIdentity::was_given`].
    fn has_all(&self, then: &ReviewProvenance) -> bool {
        let now = self.guidelines.provenance();
        then.guidelines.iter().all(|given| now.contains(given))
    }

    /// Checks that all current guidelines for a file were given to the earlier review.
    fn was_given(&self, file: &FileChange, then: &ReviewProvenance) -> bool {
        let paths = [Some(&file.path), file.old_path.as_ref()].into_iter().flatten();
        let mut about = paths.flat_map(|path| self.guidelines.applying_to(path));
        about.all(|text| then.guidelines.iter().any(|given| given.path == text.path && given.hash == text.hash()))
    }
}

/// Chooses the unchanged files, with the reason why they need no new review. If none may be skipped, a note says why.
pub(super) fn find_unchanged(
    subject: &PreparedChange,
    found: &PreviousReview,
    who: &ReviewerIdentity,
    earlier: &[EarlierFinding],
    notes: &mut Vec<String>,
) -> BTreeMap<RepoPath, String> {
    let review = &found.review;
    // The rules review everything each time, which costs nothing.
    if who.engine == Engine::Rules || subject.compare.full {
        return BTreeMap::new();
    }
    let coverage = &review.coverage;
    let why_not = match () {
        () if review.provenance.engine != Engine::Model => Some("no model reviewed then"),
        () if review.outcome != ReviewOutcome::Complete => Some("the earlier review is not complete"),
        () if !coverage.below_floor.is_empty() || !coverage.below_confidence.is_empty() => {
            Some("the earlier review hides findings")
        }
        () => who.differs(&review.provenance),
    };
    if let Some(why) = why_not {
        notes.push(format!("All of the change was reviewed again: {why}."));
        return BTreeMap::new();
    }
    let seen: HashSet<&RepoPath> =
        coverage.files.iter().filter(|file| file.state == CoverageState::Reviewed).map(|file| &file.path).collect();
    let then: HashMap<&RepoPath, &FileChange> = review.change.files.iter().map(|file| (&file.path, file)).collect();
    let is_same = |file: &&FileChange| {
        let before = then.get(&file.path).filter(|_| seen.contains(&file.path));
        file.reviewable()
            && who.was_given(file, &review.provenance)
            && before.is_some_and(|before| {
                file.patch_id.is_some()
                    && file.patch_id == before.patch_id
                    && file.old_path == before.old_path
                    && file.status == before.status
            })
    };
    let mut same: HashSet<&RepoPath> = subject.change.files.iter().filter(is_same).map(|file| &file.path).collect();
    keep_together(subject, earlier, &mut same);
    let reason = format!("as it was at the review {} of {}, which saw it whole", review.id, day(review));
    same.into_iter().map(|path| (path.clone(), reason.clone())).collect()
}

/// Keeps the files of an open finding together: if a part of it changed, or cannot be located, all of them are reviewed.
fn keep_together<'a>(subject: &'a PreparedChange, earlier: &[EarlierFinding], same: &mut HashSet<&'a RepoPath>) {
    let mut files: HashMap<&RepoPath, &RepoPath> = HashMap::new();
    for file in &subject.change.files {
        files.extend(file.old_path.as_ref().map(|old| (old, &file.path)));
    }
    files.extend(subject.change.files.iter().map(|file| (&file.path, &file.path)));
    let open: Vec<(Vec<&RepoPath>, bool)> = earlier
        .iter()
        .filter(|earlier| !earlier.finding.status.is_resolved())
        .map(|earlier| {
            let paths = earlier.finding.anchors.iter().filter_map(|anchor| files.get(&anchor.path).copied());
            (paths.collect(), earlier.standing == EarlierFindingStatus::Stands)
        })
        .collect();
    loop {
        let before = same.len();
        for (paths, stands) in &open {
            if !stands || paths.iter().any(|path| !same.contains(path)) {
                for path in paths {
                    same.remove(path);
                }
            }
        }
        if same.len() == before {
            return;
        }
    }
}
