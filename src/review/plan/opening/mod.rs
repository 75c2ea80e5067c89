//! The first message to a model, and what of the change it shows. Main functions: [`open`], and [`brief`] for a
//! person's own assistant.
//!
//! It depends on nothing but its arguments, so that equal changes give equal bytes and a provider's cache can hold them. Content that does not fit is
//! left out by [`risk`], named in the message if its name fits, and returned for the receipt. The texts are in `prompts/`; handling the responses
//! belongs to the loop.

mod diffs;
mod folders;
mod guidelines;
mod listing;
mod notes;
mod risk;
mod scope;

use crate::domain::change::ChangeSet;
use crate::domain::guideline::Guidelines;
use crate::domain::text::count_noun;
use crate::prompt::{
    AssistantVars, ChangeVars, LeadVars, PartVars, PromptError, Prompts, SystemVars, UntrustedText, contains_text,
};
use crate::review::outcome::{OmittedDiff, ShownDiff};
use crate::review::run::ProjectContext;
use crate::review::tokens::{self, Weight, estimate_tokens};

use diffs::DiffSelection;
use guidelines::GuidelineText;
use listing::{FileListing, ListedFiles};
use notes::NoteList;
use scope::MessageScope;

pub(super) use scope::ChangePart;

/// Opening of a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opening {
    /// System text: the role and the duties of the model.
    pub system: String,
    /// The first message.
    pub message: String,
    /// The files whose diffs are in the message, in the order of the change.
    pub shown: Vec<ShownDiff>,
    /// The files with lines to review whose diffs are not, likewise.
    pub left_out: Vec<OmittedDiff>,
    /// The ids of leads that are not in the message.
    pub leads_left_out: Vec<String>,
    /// Other parts that are not in the message: sentences for the receipt.
    pub notes: Vec<String>,
}

impl Opening {
    /// Returns its size, in tokens.
    pub(in crate::review) fn size(&self) -> u64 {
        estimate_tokens(&self.system) + estimate_tokens(&self.message)
    }
}

/// Texts that the messages about all parts of a change share.
#[derive(Debug)]
pub(in crate::review) struct ListedChange {
    files: ListedFiles,
    commits: NoteList,
}

impl ListedChange {
    /// Writes the texts about the files and the commits of a change.
    pub(in crate::review) fn of(change: &ChangeSet) -> Self {
        Self { files: ListedFiles::of(change), commits: notes::commits(change) }
    }
}

/// Maximum number of layouts: a message that is too large is laid out again, smaller; user templates may contain a text twice.
const ATTEMPTS: usize = 6;

/// Writes the first message about `change`. System prompt and message together take at most `room` tokens, as [`estimate_tokens`] counts.
pub fn open(
    prompts: &Prompts,
    change: &ChangeSet,
    leads: &[LeadVars],
    beside: ProjectContext<'_>,
    room: u64,
) -> Result<Opening, PromptError> {
    open_listed(prompts, (change, &ListedChange::of(change)), leads, beside, room)
}

/// Writes the first message about a change whose lists are written already.
pub(in crate::review) fn open_listed(
    prompts: &Prompts,
    (change, listed): (&ChangeSet, &ListedChange),
    leads: &[LeadVars],
    beside: ProjectContext<'_>,
    room: u64,
) -> Result<Opening, PromptError> {
    let system = system(prompts, beside)?;
    let guidelines = Some(beside.guidelines);
    let limits = (beside.turns, beside.window);
    let scope = &MessageScope::WHOLE;
    let laying = MessageMaterial { change, scope, listed, leads, ranks: None, guidelines, limits };
    let (laid_out, message) = fit(&laying, room, estimate_tokens(&system), |vars| prompts.change(vars))?;
    Ok(laid_out.with(system, message))
}

/// Writes the first message about one part of a change, likewise. `ranks` are those of [`risk::rank_files`], which are the same for every part.
pub(in crate::review) fn open_part(
    prompts: &Prompts,
    change: &ChangeSet,
    part: &ChangePart<'_>,
    ranks: &[usize],
    leads: &[LeadVars],
    beside: ProjectContext<'_>,
    room: u64,
) -> Result<Opening, PromptError> {
    let system = system(prompts, beside)?;
    let guidelines = Some(beside.guidelines);
    let limits = (beside.turns, beside.window);
    let laying = MessageMaterial {
        change,
        scope: &MessageScope::of(change, part),
        listed: part.listed,
        leads,
        ranks: Some(ranks),
        guidelines,
        limits,
    };
    let vars = vars_of(change, part);
    let (laid_out, message) = fit(&laying, room, estimate_tokens(&system), |change| prompts.part(change, &vars))?;
    Ok(laid_out.with(system, message))
}

/// Returns repository, target and head, as every first message names them.
pub(in crate::review) fn listed_names(change: &ChangeSet) -> UntrustedText {
    notes::names(change)
}

/// Returns the places of all files, the riskiest first; those without lines to review come last.
pub(in crate::review) fn ranked_files(change: &ChangeSet, leads: &[LeadVars]) -> Vec<usize> {
    risk::rank_files(change, leads)
}

/// Returns the weight available to the diffs of a part, so that they all fit a first message of this many tokens, whatever else it must contain.
pub(in crate::review) fn room_for_diffs(
    prompts: &Prompts,
    change: &ChangeSet,
    beside: ProjectContext<'_>,
    room: u64,
) -> Result<u64, PromptError> {
    let system = system(prompts, beside)?;
    let most = change.files.len().max(1);
    let vars = PartVars { part: most, parts: most, part_files: most, carried: most };
    let said = if beside.guidelines.is_empty() { GuidelineText::default() } else { GuidelineText::is_present() };
    let message = prompts.part(&bare(change, &said, (beside.turns, beside.window)), &vars)?;
    let ours = tokens::of_tokens(estimate_tokens(&system) + estimate_tokens(&message));
    let room = tokens::of_tokens(room).saturating_sub(ours);
    let room = room - guidelines::max_weight(beside.guidelines, room);
    let MessageShares { leads, commits, files } = MessageShares::of_part(room);
    Ok(room - leads - commits - files)
}

/// Returns the weight of each file's diff in a first message, in the order of the change; zero without a diff to show.
pub(in crate::review) fn weights(change: &ChangeSet) -> Vec<u64> {
    diffs::weights(change)
}

fn system(prompts: &Prompts, beside: ProjectContext<'_>) -> Result<String, PromptError> {
    let instructions = beside.instructions.unwrap_or_default().trim().to_owned();
    prompts.system(&SystemVars { instructions, builds: beside.builds })
}

fn vars_of(change: &ChangeSet, part: &ChangePart<'_>) -> PartVars {
    let carried = change.files.iter().filter(|file| part.carried.contains_key(&file.path)).count();
    PartVars { part: part.number, parts: part.of, part_files: part.files.len(), carried }
}

/// Renders the message with which a person's own assistant reviews `change`. It takes at most `room` tokens.
///
/// Content that does not fit is left out and named as in [`open`]; it is not returned, because there is no receipt here.
pub fn brief(prompts: &Prompts, change: &ChangeSet, vars: &AssistantVars, room: u64) -> Result<String, PromptError> {
    let (scope, listed) = (&MessageScope::WHOLE, &ListedChange::of(change));
    let laying = MessageMaterial { change, scope, listed, leads: &[], ranks: None, guidelines: None, limits: (0, 0) };
    fit(&laying, room, 0, |change| prompts.assistant_review(change, vars)).map(|(_, message)| message)
}

/// A user's template may leave the guidelines out; then the receipt says so.
const NOT_SAID: &str = "the guidelines of the project were not shown to the model: the template leaves them out";

/// Contents of a message.
struct MessageMaterial<'a> {
    change: &'a ChangeSet,
    scope: &'a MessageScope,
    listed: &'a ListedChange,
    leads: &'a [LeadVars],
    /// Order of risk, if it is known already.
    ranks: Option<&'a [usize]>,
    /// Guidelines of the project; `None` if they are left out.
    guidelines: Option<&'a Guidelines>,
    /// Turns and window that the message states.
    limits: (u32, u64),
}

/// Lays the change out so that the message and the `beside` tokens sent with it take at most `room`.
fn fit(
    laying: &MessageMaterial<'_>,
    room: u64,
    beside: u64,
    render: impl Fn(&ChangeVars) -> Result<String, PromptError>,
) -> Result<(MessageLayout, String), PromptError> {
    let guidelines = laying.guidelines.filter(|guidelines| !guidelines.is_empty());
    let said = if guidelines.is_some() { GuidelineText::is_present() } else { GuidelineText::default() };
    let mut needed = beside + estimate_tokens(&render(&bare(laying.change, &said, laying.limits))?);
    let mut left = tokens::of_tokens(room).saturating_sub(tokens::of_tokens(needed));
    let said =
        guidelines.map(|all| guidelines::render_guidelines(all, laying.change, laying.scope, left)).unwrap_or_default();
    if guidelines.is_some() {
        needed = beside + estimate_tokens(&render(&bare(laying.change, &said, laying.limits))?);
        left = tokens::of_tokens(room).saturating_sub(tokens::of_tokens(needed));
    }
    for _ in 0..ATTEMPTS {
        let mut laid_out = lay_out(laying, &said, left);
        let message = render(&laid_out.vars)?;
        let taken = beside + estimate_tokens(&message);
        match taken.checked_sub(room) {
            None | Some(0) => {
                laid_out.notes.extend(said.note.clone());
                if !contains_text(&message, said.data.text()) {
                    laid_out.notes.push(NOT_SAID.to_owned());
                }
                return Ok((laid_out, message));
            }
            Some(_) if left == 0 => break,
            Some(excess) => left = left.saturating_sub(tokens::of_tokens(excess)),
        }
    }
    // The rest besides the sentences (a count of files, say) takes a few tokens too.
    Err(PromptError::NoRoom { needed: needed.max(room + 1), room })
}

/// Returns the message with only the name of the change, and with all of its sentences.
fn bare(change: &ChangeSet, said: &GuidelineText, (turns, window): (u32, u64)) -> ChangeVars {
    let some = || UntrustedText::new("-".to_owned());
    let (pull_request, pull_request_cut) = notes::pull_request(change);
    ChangeVars {
        guidelines: said.data.clone(),
        guidelines_cut: said.cut,
        change: notes::names(change),
        pull_request,
        pull_request_cut,
        commits: some(),
        commits_shown: change.commits.len(),
        commits_left_out: change.commits_omitted.max(1),
        files: some(),
        files_total: change.files.len(),
        files_unlisted: change.files.len().max(1),
        additions: change.files.iter().map(|file| u64::from(file.additions)).sum(),
        deletions: change.files.iter().map(|file| u64::from(file.deletions)).sum(),
        diffs: some(),
        diffs_left_out: change.files.len().max(1),
        leads: some(),
        leads_shown: 1,
        leads_left_out: 1,
        turns,
        window,
    }
}

struct MessageLayout {
    vars: ChangeVars,
    shown: Vec<ShownDiff>,
    left_out: Vec<OmittedDiff>,
    leads_left_out: Vec<String>,
    notes: Vec<String>,
}

impl MessageLayout {
    fn with(self, system: String, message: String) -> Opening {
        let Self { shown, left_out, leads_left_out, notes, .. } = self;
        Opening { system, message, shown, left_out, leads_left_out, notes }
    }
}

/// Shares of the pieces of a message if not everything fits. The diffs get the rest, because they are what is reviewed.
struct MessageShares {
    leads: Weight,
    commits: Weight,
    files: Weight,
}

impl MessageShares {
    const ALL: Self = Self { leads: Weight::MAX, commits: Weight::MAX, files: Weight::MAX };

    fn of(room: Weight) -> Self {
        Self { leads: room / 8, commits: room / 12, files: room / 5 }
    }

    /// Creates the shares of a message about a part: content that all messages share is paid for in each.
    fn of_part(room: Weight) -> Self {
        Self { leads: room / 8, commits: room / 16, files: room / 10 }
    }
}

fn lay_out(laying: &MessageMaterial<'_>, said: &GuidelineText, room: Weight) -> MessageLayout {
    let MessageMaterial { change, scope, listed, leads, ranks, guidelines: _, limits } = *laying;
    let mut by_severity: Vec<&LeadVars> = leads.iter().collect();
    by_severity.sort_by_key(|lead| lead.severity);
    let lead_texts = notes::leads(&by_severity);
    let ListedChange { files, commits: commit_texts } = listed;
    let mut listing = FileListing::of(files, change, scope);
    let (shares, ranks) = match ranks {
        Some(ranks) => (MessageShares::of_part(room), ranks.to_vec()),
        None => {
            let beside_diffs = lead_texts.weight() + commit_texts.weight() + listing.weight();
            let fits = room.checked_sub(beside_diffs).is_some_and(|room| diffs::all_fit(change, scope, room));
            if fits {
                (MessageShares::ALL, Vec::new())
            } else {
                (MessageShares::of(room), risk::rank_files(change, leads))
            }
        }
    };

    let leads_taken = lead_texts.take(shares.leads);
    let commits_taken = commit_texts.take(shares.commits);
    let files_room = listing.weight().min(shares.files);
    let used = leads_taken.weight + commits_taken.weight + files_room;
    let diffs = DiffSelection::choose(change, scope, &ranks, room.saturating_sub(used));
    listing.choose(change, &ranks, &diffs, files_room);

    let (bare, mut notes) = (bare(change, said, limits), Vec::new());
    let commits_left_out = commits_taken.left_out + change.commits_omitted;
    let mut told = |count: usize, noun: &str, what: &str| {
        if count > 0 {
            let (counted, was) = (count_noun(count, noun), if count == 1 { "was" } else { "were" });
            notes.push(format!("{counted} {was} {what}: there was no room in the first message"));
        }
    };
    told(commits_taken.left_out, "commit", "not shown to the model");
    told(commits_taken.shortened, "commit message", "shown to the model without the body");
    told(leads_taken.left_out, "lead", "not shown to the model");
    if scope.is_whole() {
        told(listing.unlisted(), "changed file", "counted by folder, not named to the model");
    }
    if bare.pull_request_cut {
        notes.push("the end of the pull request's description was not shown to the model".to_owned());
    }

    MessageLayout {
        shown: diffs.shown(change),
        left_out: diffs.left_out(change, scope, |at| listing.lists(at)),
        leads_left_out: by_severity.iter().skip(leads_taken.shown).map(|lead| lead.id.clone()).collect(),
        notes,
        vars: ChangeVars {
            change: notes::names(change),
            commits_shown: commits_taken.shown,
            commits_left_out,
            commits: commits_taken.into_text(),
            files: listing.text(change, &diffs),
            files_total: change.files.len(),
            files_unlisted: listing.unlisted(),
            diffs_left_out: diffs.left_out_count(change, scope),
            diffs: diffs.text(change),
            leads_shown: leads_taken.shown,
            leads_left_out: leads_taken.left_out,
            leads: leads_taken.into_text(),
            ..bare
        },
    }
}

/// Returns text of one line: breaks and tabs become spaces, at most `most` characters.
fn one_line(text: &str, most: usize) -> String {
    let cut = text.char_indices().nth(most).map(|(at, _)| at);
    let flat = |c: char| if c.is_whitespace() || matches!(c, '\u{85}' | '\u{2028}' | '\u{2029}') { ' ' } else { c };
    let mut line: String = text[..cut.unwrap_or(text.len())].chars().map(flat).collect();
    if cut.is_some() {
        line.push('…');
    }
    line
}

#[cfg(test)]
mod tests;
