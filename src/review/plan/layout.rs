//! Division of a change into parts, if necessary, and the size limit of each first message. Main type: [`ReviewLayout`].
//!
//! It is decided once, before the first request, and recorded: everything after it depends on it and on the change alone.

use std::collections::{BTreeMap, HashMap};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, PoisonError};

use super::division::{PlanMaterial, divide};
use super::links::find_links;
use super::opening::{self, ChangePart, ListedChange, Opening};
use crate::domain::change::{ChangeSet, FileChange, FileStatus};
use crate::domain::path::RepoPath;
use crate::domain::place::DiffSide;
use crate::prompt::{LeadVars, PromptError};
use crate::review::budget::SharedBudget;
use crate::review::journal::{JournalRecord, JournalReplay};
use crate::review::run::{ModelRun, ProjectContext};
use crate::syntax::{Relations, definitions, has_relations, relations};
use crate::sys::cancel::Cancel;
use crate::sys::threads::for_each_file;
use crate::workspace::Workspace;

/// A change that fits into this share of the first request's space besides the tools, in percent, is shown as a whole: omitted parts must be fetched,
/// and take the same space then, and a turn.
const WHOLE_OF_WINDOW: u64 = 95;
/// Otherwise the opening takes this share, in percent; the rest is for reading.
const PART_OF_WINDOW: u64 = 50;
/// Divisor: the maximum share of the run's input tokens, because every turn sends the opening again.
const OPENING_OF_TOKENS: u64 = 8;
/// A small budget is not spent on less than this: the prompts alone take half of it.
const LEAST_OPENING: u64 = 6_000;
/// Maximum size of the first message about a part, however large the window: a smaller part needs fewer turns, and each turn sends less.
const MOST_OF_UNIT: u64 = 40_000;
/// Minimum space for diffs, in sevenths of a token: with less, most of a part's message would be what all of them repeat.
const LEAST_DIFFS: u64 = 7 * 1_000;
/// Minimum number of affordable parts: with fewer, the change stays one conversation, which repeats nothing.
const LEAST_UNITS: usize = 2;
/// Maximum number of files, the riskiest, whose relations are read; the others are grouped by folder.
const MOST_RELATED: usize = 3_000;

/// Division of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::review) struct ReviewLayout {
    /// Size limit of a first message with the system text, in tokens.
    pub(in crate::review) room: u64,
    /// Maximum number of turns that the first messages state; 0 if they state none.
    pub(in crate::review) turns: u32,
    /// Window that they state, in tokens.
    pub(in crate::review) window: u64,
    /// Parts, the riskiest first: indices of files in the change, in order. One if the change is reviewed as a whole.
    pub(in crate::review) units: Vec<Vec<usize>>,
    /// Relations that were read to divide the change; empty if it was not divided now.
    pub(in crate::review) relations: RelationsByFile,
}

/// Relations of changed files, by their indices in the change.
pub(in crate::review) type RelationsByFile = HashMap<usize, Relations>;

/// Material for the layout.
pub(in crate::review) struct PlannedParts<'a> {
    pub(in crate::review) run: &'a ModelRun,
    /// Size of the tools in every request, in tokens.
    pub(in crate::review) tools: u64,
    pub(in crate::review) leads: &'a [LeadVars],
    /// The files that were reviewed before.
    pub(in crate::review) carried: &'a BTreeMap<RepoPath, String>,
    /// The lists of all changed files and commits.
    pub(in crate::review) listed: &'a ListedChange,
}

impl ReviewLayout {
    /// Returns the layout of an earlier session of the run, else the best one.
    pub(in crate::review) fn of(laid: &PlannedParts<'_>) -> Result<Self, PromptError> {
        match Self::recorded(&laid.run.past, &laid.run.change) {
            Some(layout) => Ok(layout),
            // In a replay without requests, the contents of messages do not matter.
            None if laid.run.past.is_replay() => {
                let (units, relations) = (vec![laid.files_to_review()], RelationsByFile::new());
                Ok(Self { room: LEAST_OPENING, turns: 0, window: 0, units, relations })
            }
            None => Self::decide(laid),
        }
    }

    /// Restores the layout from a journal.
    fn recorded(past: &JournalReplay, change: &ChangeSet) -> Option<Self> {
        let plan = past.plan()?;
        let places: HashMap<&RepoPath, usize> =
            change.files.iter().enumerate().map(|(at, file)| (&file.path, at)).collect();
        let unit = |paths: &Vec<RepoPath>| paths.iter().filter_map(|path| places.get(path).copied()).collect();
        Some(Self {
            room: plan.room,
            turns: plan.turns,
            window: plan.window,
            units: plan.units.iter().map(unit).collect(),
            relations: RelationsByFile::new(),
        })
    }

    /// Returns the journal record.
    pub(in crate::review) fn record(&self, change: &ChangeSet, carried: &BTreeMap<RepoPath, String>) -> JournalRecord {
        let path = |at: &usize| change.files.get(*at).map(|file| file.path.clone());
        JournalRecord::Plan {
            units: self.units.iter().map(|unit| unit.iter().filter_map(path).collect()).collect(),
            room: self.room,
            turns: self.turns,
            window: self.window,
            carried: carried.keys().cloned().collect(),
        }
    }

    fn decide(laid: &PlannedParts<'_>) -> Result<Self, PromptError> {
        let limits = &laid.run.limits;
        let of_tokens = (limits.max_sent() / OPENING_OF_TOKENS).max(LEAST_OPENING);
        let most = limits.most_request().saturating_sub(laid.tools);
        let share = |percent: u64| (most / 100 * percent).max(LEAST_OPENING).min(most);
        let (turns, window) = (limits.turns, limits.window);
        let (units, relations) = (vec![laid.files_to_review()], RelationsByFile::new());
        let whole = Self { room: of_tokens.min(share(WHOLE_OF_WINDOW)), turns, window, units, relations };
        let opening = laid.opening(&whole, 0, laid.leads, &[])?;
        if opening.left_out.is_empty() && opening.leads_left_out.is_empty() {
            return Ok(whole);
        }
        let room = share(PART_OF_WINDOW).min(MOST_OF_UNIT);
        let divided = laid.divided(room, &whole)?.filter(|(units, _)| {
            let sizes: Vec<u64> = units.iter().map(|unit| unit.size + laid.tools).collect();
            sizes.len() >= LEAST_UNITS && SharedBudget::new(*limits, &sizes).promised_parts() >= LEAST_UNITS
        });
        Ok(match divided {
            Some((units, relations)) => {
                Self { room, units: units.into_iter().map(|unit| unit.files).collect(), relations, ..whole }
            }
            None => Self { room: of_tokens.min(share(PART_OF_WINDOW)), ..whole },
        })
    }
}

/// Part, with the approximate size of its first message including the system text, in tokens.
struct SizedPart {
    files: Vec<usize>,
    size: u64,
}

/// Returns the approximate size of the first message about these files, in tokens; `diffs` is the weight available to the diffs of a part.
fn size_of_part(room: u64, diffs: u64, weights: &[u64], files: &[usize]) -> u64 {
    let weight: u64 = files.iter().filter_map(|at| weights.get(*at)).sum();
    (room.saturating_sub(diffs / 7) + weight / 7).min(room)
}

impl PlannedParts<'_> {
    /// Returns the indices of the files that must be reviewed.
    fn files_to_review(&self) -> Vec<usize> {
        let files = self.run.change.files.iter().enumerate();
        files.filter(|(_, file)| self.is_reviewable(file)).map(|(at, _)| at).collect()
    }

    fn is_reviewable(&self, file: &FileChange) -> bool {
        file.reviewable() && !self.carried.contains_key(&file.path)
    }

    /// Returns the order of risk, which is the same for all parts.
    pub(in crate::review) fn ranks(&self) -> Vec<usize> {
        opening::ranked_files(&self.run.change, self.leads)
    }

    /// Returns the project context, with the limits that the first messages state.
    fn context(&self, layout: &ReviewLayout) -> ProjectContext<'_> {
        ProjectContext { turns: layout.turns, window: layout.window, ..self.run.project_context() }
    }

    /// Returns the first message about a part. `leads` are those about its files.
    pub(in crate::review) fn opening(
        &self,
        layout: &ReviewLayout,
        at: usize,
        leads: &[LeadVars],
        ranks: &[usize],
    ) -> Result<Opening, PromptError> {
        let run = self.run;
        let beside = self.context(layout);
        if layout.units.len() == 1 && self.carried.is_empty() {
            return opening::open_listed(&run.prompts, (&run.change, self.listed), leads, beside, layout.room);
        }
        let files = layout.units.get(at).map_or(&[][..], Vec::as_slice);
        let part =
            ChangePart { number: at + 1, of: layout.units.len(), files, carried: self.carried, listed: self.listed };
        let own;
        let ranks = if ranks.is_empty() {
            own = self.ranks();
            &own
        } else {
            ranks
        };
        opening::open_part(&run.prompts, &run.change, &part, ranks, leads, beside, layout.room)
    }

    /// Returns the change in parts whose first messages take at most `room`, and the relations that were read; `None` if that leaves too little for diffs.
    fn divided(
        &self,
        room: u64,
        whole: &ReviewLayout,
    ) -> Result<Option<(Vec<SizedPart>, RelationsByFile)>, PromptError> {
        let change = &self.run.change;
        let diffs = match opening::room_for_diffs(&self.run.prompts, change, self.context(whole), room) {
            Ok(diffs) if diffs >= LEAST_DIFFS => diffs,
            Ok(_) => return Ok(None),
            Err(error) => return Err(error),
        };
        let (files, ranks) = (self.files_to_review(), self.ranks());
        let weights = opening::weights(change);
        let related: Vec<usize> =
            ranks.iter().copied().filter(|at| files.binary_search(at).is_ok()).take(MOST_RELATED).collect();
        let relations = Mutex::new(RelationsByFile::new());
        let keep = |at, own| drop(relations.lock().unwrap_or_else(PoisonError::into_inner).insert(at, own));
        visit_relations(&related, |at| relations_of(self.run, at), keep);
        let relations = relations.into_inner().unwrap_or_else(PoisonError::into_inner);
        let links = find_links(change, &related, &relations);
        let units = divide(&PlanMaterial {
            change,
            files: &files,
            weights: &weights,
            ranks: &ranks,
            links: &links,
            room: diffs,
        });
        let sized = |files: Vec<usize>| SizedPart { size: size_of_part(room, diffs, &weights, &files), files };
        Ok(Some((units.into_iter().map(sized).collect(), relations)))
    }

    /// Returns the approximate size of each part's first request, in tokens: with all leads that it may have.
    pub(in crate::review) fn sizes(&self, layout: &ReviewLayout) -> Result<Vec<u64>, PromptError> {
        let (change, room) = (&self.run.change, layout.room);
        let diffs = opening::room_for_diffs(&self.run.prompts, change, self.context(layout), room)?;
        let weights = opening::weights(change);
        let size = |files: &Vec<usize>| self.tools + size_of_part(room, diffs, &weights, files);
        Ok(layout.units.iter().map(size).collect())
    }
}

/// Reads the relations of files in parallel and shows them to `each`, with their indices, in any order.
pub(in crate::review) fn visit_relations(
    files: &[usize],
    of: impl Fn(usize) -> Option<Relations> + Sync,
    each: impl Fn(usize, Relations) + Sync,
) {
    for_each_file(files.len(), |number| {
        let Some(at) = files.get(number).copied() else { return };
        // A file that cannot be read because of a defect is grouped by its folder.
        if let Ok(Some(relations)) = catch_unwind(AssertUnwindSafe(|| of(at))) {
            each(at, relations);
        }
    });
}

/// Returns the relations of a changed file: for a deleted one, those it had.
pub(in crate::review) fn relations_of(run: &ModelRun, at: usize) -> Option<Relations> {
    let file = run.change.files.get(at)?;
    let tree = if file.status == FileStatus::Deleted { &run.old } else { &run.new };
    read_with(relations, tree.as_ref(), (file.language, &file.path), &run.cancel)
}

/// Returns the relations of a changed file before the change, without its uses.
pub(in crate::review) fn definitions_before(run: &ModelRun, at: usize) -> Option<Relations> {
    let is_old = |status: FileStatus| !matches!(status, FileStatus::Added | FileStatus::Deleted);
    let file = run.change.files.get(at).filter(|file| is_old(file.status))?;
    read_with(definitions, run.old.as_ref(), (file.language, file.path_at(DiffSide::Old)), &run.cancel)
}

/// Reads the relations of the file at a path of a tree.
fn read_with(
    read: fn(&str, &str) -> Option<Relations>,
    tree: &dyn Workspace,
    (language, path): (Option<&str>, &RepoPath),
    cancel: &Cancel,
) -> Option<Relations> {
    cancel.check().ok()?;
    read(language.filter(|language| has_relations(language))?, tree.read(path).ok()?.text())
}
