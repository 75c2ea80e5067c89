//! Turns a claim into anchors: every place is looked up in the tree, and one of them must touch the change.
//!
//! Main functions: [`anchor`], [`anchor_with`]. Finding a quote in a text belongs in `locate`; error messages in `rejection`.

use std::sync::Arc;

use crate::domain::change::{ChangeSet, FileChange, FileStatus};
use crate::domain::claim::{Claim, ClaimedPlace};
use crate::domain::finding::{Anchor, AnchorMatch, FindingFingerprint, OriginKind, Suggestion};
use crate::domain::path::RepoPath;
use crate::domain::place::{DiffSide, LineRange};
use crate::domain::text::{FileText, mask, strip_diff_marks};
use crate::workspace::Workspace;

use super::identity::{context_around, fingerprint};
use super::languages::GrammarLanguages;
use super::locate::{QuoteLocation, read_quote};
use super::reach::ReachableLines;
use super::reindent::reindent;
use super::rejection::{Rejection, near_lines};
use super::suggestion::{SuggestionFault, prove};

/// Maximum number of related places of a claim; a defect that needs more is not one defect.
const MAX_RELATED: usize = 20;

/// A claim with proven evidence.
#[derive(Debug, Clone)]
pub struct AnchoredClaim {
    /// The proven places: the claim's own first.
    pub anchors: Vec<Anchor>,
    /// The first of them that touches the change; `None` only for code from before it.
    pub touching: Option<usize>,
    /// The replacement, if it is valid.
    pub suggestion: Option<Suggestion>,
    /// The replacement and why it is invalid, if it can only be shown as prose.
    pub prose_suggestion: Option<(String, SuggestionFault)>,
    /// The fingerprint of the finding.
    pub fingerprint: FindingFingerprint,
    /// Captions of places, as claimed: the index of the anchor, and why it matters.
    pub remarks: Vec<(usize, String)>,
    /// Notes on what was dropped or corrected, one sentence each.
    pub notes: Vec<String>,
}

/// Checks a claim about the change with the built-in grammars; see [`anchor_with`].
pub fn anchor(
    claim: &Claim,
    change: &ChangeSet,
    new: &dyn Workspace,
    old: &dyn Workspace,
) -> Result<AnchoredClaim, Rejection> {
    anchor_with(claim, change, new, old, &GrammarLanguages::default(), AnchorReach::Change)
}

/// The permitted distance of a claim's places from the change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnchorReach {
    /// One of them touches the change.
    Change,
    /// The first is in a changed file, and no place must touch the change: only for a rule's claim about pre-existing code.
    ChangedFiles,
}

/// Checks every place of a claim against the two trees.
///
/// The claim's own place must exist, and stays the first; a related place that does not is dropped with a note. One of them must touch
/// the change. An invalid replacement is kept as prose.
pub fn anchor_with(
    claim: &Claim,
    change: &ChangeSet,
    new: &dyn Workspace,
    old: &dyn Workspace,
    grammar: &GrammarLanguages,
    reach: AnchorReach,
) -> Result<AnchoredClaim, Rejection> {
    let is_of_rule = claim.origin.kind == OriginKind::Rule;
    let reach = if is_of_rule { reach } else { AnchorReach::Change };
    let trees = AnchorTrees { change, new, old };
    let file = trees.file(&claim.place);
    let main = match file {
        Some(_) => trees.settle(&claim.place, file)?,
        None => trees.settle_unchanged(claim, reach)?,
    };
    let mut notes = Vec::new();
    let related = settle_related(claim, &trees, &main, &mut notes)?;

    let quote = claim.place.quote.as_deref().unwrap_or_default();
    let named = name(claim, &main, grammar);
    let (suggestion, prose_suggestion) =
        match claim.replacement.as_deref().map(|wanted| try_suggestion(wanted, quote, &main, grammar)) {
            None => (None, None),
            Some(Ok(proven)) => (Some(proven), None),
            Some(Err((_, SuggestionFault::ChangesNothing))) => {
                notes.push("The suggestion was dropped: it changes nothing.".to_owned());
                (None, None)
            }
            Some(Err(prose)) => (None, Some(prose)),
        };
    let mut settled = vec![main];
    settled.extend(related);
    let touching = settled.iter().position(|place| place.touches);
    if touching.is_none() && reach == AnchorReach::Change {
        let outside = |file| outside_change_rejection(file, &settled[0].anchor);
        return Err(file.map_or_else(|| trees.not_in_change(&claim.place.path), outside));
    }
    let remarks = settled.iter_mut().enumerate().filter_map(|(at, place)| Some((at, place.note.take()?))).collect();
    let anchors = settled.into_iter().map(|place| place.anchor).collect();
    Ok(AnchoredClaim { anchors, touching, suggestion, prose_suggestion, fingerprint: named, remarks, notes })
}

/// The corrections under which a place was found.
#[derive(Default)]
struct AnchorMethod {
    /// Indentation was ignored.
    reindented: bool,
    /// Marks in the quote were removed.
    stripped: bool,
    /// One of several, chosen because it touches the change.
    chosen: bool,
}

/// A verified place.
struct AnchorPlace {
    anchor: Anchor,
    touches: bool,
    manner: AnchorMethod,
    /// The file's text; `None` for a whole-file claim.
    text: Option<Arc<FileText>>,
    note: Option<String>,
}

struct AnchorTrees<'a> {
    change: &'a ChangeSet,
    new: &'a dyn Workspace,
    old: &'a dyn Workspace,
}

impl<'a> AnchorTrees<'a> {
    /// Returns the changed file of a place: by its path on the claimed side, else by its other path.
    fn file(&self, place: &ClaimedPlace) -> Option<&'a FileChange> {
        let files = &self.change.files;
        // Collections are sorted by path, the collapsed files last, so that the usual claim is found without a scan of all files, of
        // which there may be as many as claims.
        let (shown, collapsed) = files.split_at(files.partition_point(|file| file.generated.is_none()));
        for sorted in [shown, collapsed] {
            let found = sorted.binary_search_by(|file| file.path.cmp(&place.path)).ok().and_then(|at| sorted.get(at));
            if let Some(file) = found.filter(|file| *file.path_at(place.side) == place.path) {
                return Some(file);
            }
        }
        let on_side = files.iter().find(|file| *file.path_at(place.side) == place.path);
        on_side.or_else(|| {
            files.iter().find(|file| file.path == place.path || file.old_path.as_ref() == Some(&place.path))
        })
    }

    fn tree(&self, side: DiffSide) -> &'a dyn Workspace {
        match side {
            DiffSide::Old => self.old,
            DiffSide::New => self.new,
        }
    }

    fn not_in_change(&self, path: &RepoPath) -> Rejection {
        let wanted = path.display_name();
        let name = |path: &RepoPath| path.file_name().to_ascii_lowercase();
        let same_name = name(path);
        let mut near: Vec<(f64, &RepoPath)> = Vec::new();
        for file in self.change.files.iter().take(2_000) {
            let score = if name(&file.path) == same_name {
                1.0
            } else {
                strsim::jaro_winkler(&wanted, &file.path.display_name())
            };
            if score > 0.85 {
                near.push((score, &file.path));
            }
        }
        near.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
        let near = near.into_iter().take(3).map(|(_, path)| path.clone()).collect();
        Rejection::NotInChange { path: path.clone(), near }
    }

    /// Looks up the claim's own place in a file outside of the change, where only a related place can make it count.
    fn settle_unchanged(&self, claim: &Claim, reach: AnchorReach) -> Result<AnchorPlace, Rejection> {
        let path = &claim.place.path;
        if claim.related.is_empty() || claim.place.quote.is_none() || reach == AnchorReach::ChangedFiles {
            return Err(self.not_in_change(path));
        }
        self.settle(&claim.place, None).map_err(|rejection| match rejection {
            Rejection::Unreadable(_) => self.not_in_change(path),
            other => other,
        })
    }

    /// Looks up one place. `file` is the changed file that contains it, if any.
    fn settle(&self, place: &ClaimedPlace, file: Option<&FileChange>) -> Result<AnchorPlace, Rejection> {
        // A file has lines only on the sides on which it exists, whatever the claim states.
        let side = match file.map(|file| file.status) {
            Some(FileStatus::Deleted) => DiffSide::Old,
            Some(FileStatus::Added) => DiffSide::New,
            _ => place.side,
        };
        let path = file.map_or(&place.path, |file| file.path_at(side));
        let Some(quote) = place.quote.as_deref() else {
            if file.is_none() {
                self.tree(side).read(path)?;
            }
            let matched = AnchorMatch::Exact;
            let anchor = Anchor { path: path.clone(), side, lines: None, quote: String::new(), matched, masked: false };
            let note = place.note.clone();
            return Ok(AnchorPlace {
                anchor,
                touches: file.is_some(),
                manner: AnchorMethod::default(),
                text: None,
                note,
            });
        };
        let text = self.tree(side).read(path)?;
        let standing = read_quote(&text, quote, place.lines);
        let chosen = matches!(standing.located, QuoteLocation::Ambiguous(_));
        let (lines, matched) = match standing.located {
            QuoteLocation::Exact(lines) => (lines, AnchorMatch::Exact),
            QuoteLocation::Moved(lines) => (lines, AnchorMatch::Moved),
            QuoteLocation::Ambiguous(places) => {
                let changed = file.map(|file| ReachableLines::of(file, side));
                let touching = |lines: &LineRange| changed.as_ref().is_some_and(|changed| changed.touches(*lines));
                let only = single_in_change(places.iter().copied().filter(touching));
                let Some(lines) = only else { return Err(Rejection::Ambiguous { path: path.clone(), places }) };
                (lines, if place.lines.is_none() { AnchorMatch::Exact } else { AnchorMatch::Moved })
            }
            QuoteLocation::Empty => return Err(Rejection::Empty),
            // One short line is enough where it can mean no other: it is unique, and the change made it.
            QuoteLocation::NotDistinctive { only: Some(lines) }
                if lines.count() == 1 && file.is_some_and(|file| file.touches(side, lines)) =>
            {
                (lines, if place.lines.is_none() { AnchorMatch::Exact } else { AnchorMatch::Moved })
            }
            QuoteLocation::NotDistinctive { .. } => return Err(Rejection::NotDistinctive { path: path.clone() }),
            QuoteLocation::Nowhere { nearest } => {
                let nearest = near_lines(&text, &nearest);
                let other_side = file.and_then(|file| self.on_other_side(file, side, quote));
                return Err(Rejection::Nowhere { path: path.clone(), side, other_side, nearest });
            }
        };
        let anchor = Anchor::at_lines(path.clone(), side, lines, &text, matched);
        let manner = AnchorMethod { reindented: standing.reindented, stripped: standing.stripped, chosen };
        let touches = file.is_some_and(|file| file.touches(side, lines));
        Ok(AnchorPlace { anchor, touches, manner, text: Some(text), note: place.note.clone() })
    }

    /// Finds the quote on the side that was not claimed.
    fn on_other_side(&self, file: &FileChange, side: DiffSide, quote: &str) -> Option<LineRange> {
        let other = if side == DiffSide::New { DiffSide::Old } else { DiffSide::New };
        let text = self.tree(other).read(file.path_at(other)).ok()?;
        match read_quote(&text, quote, None).located {
            QuoteLocation::Exact(lines) => Some(lines),
            _ => None,
        }
    }
}

fn single_in_change<T>(mut items: impl Iterator<Item = T>) -> Option<T> {
    let first = items.next()?;
    items.next().is_none().then_some(first)
}

fn settle_related(
    claim: &Claim,
    trees: &AnchorTrees<'_>,
    main: &AnchorPlace,
    notes: &mut Vec<String>,
) -> Result<Vec<AnchorPlace>, Rejection> {
    let mut related: Vec<AnchorPlace> = Vec::new();
    for place in claim.related.iter().take(MAX_RELATED) {
        let settled = match trees.settle(place, trees.file(place)) {
            // Removed lines may prove an effect too.
            Err(Rejection::Nowhere { side, other_side: Some(_), .. }) => {
                let side = if side == DiffSide::Old { DiffSide::New } else { DiffSide::Old };
                let other = ClaimedPlace { side, lines: None, ..place.clone() };
                trees.settle(&other, trees.file(&other))
            }
            settled => settled,
        };
        match settled {
            Ok(settled) => {
                let known = |other: &AnchorPlace| other.anchor == settled.anchor;
                if !known(main) && !related.iter().any(known) {
                    related.push(settled);
                }
            }
            Err(Rejection::Stopped(stopped)) => return Err(stopped.into()),
            Err(rejection) => notes.push(format!("The related place in {} was dropped: {rejection}", place.path)),
        }
    }
    if let Some(more) = claim.related.len().checked_sub(MAX_RELATED).filter(|more| *more > 0) {
        notes.push(format!("{more} related places beyond the first {MAX_RELATED} were dropped."));
    }
    Ok(related)
}

fn outside_change_rejection(file: &FileChange, anchor: &Anchor) -> Rejection {
    let lines = anchor.lines.unwrap_or(LineRange::line(1));
    let changed = ReachableLines::of(file, anchor.side).nearest(lines);
    Rejection::NotTouching { path: anchor.path.clone(), lines, changed }
}

/// Computes the fingerprint of the claim's own place.
fn name(claim: &Claim, main: &AnchorPlace, grammar: &GrammarLanguages) -> FindingFingerprint {
    let kind = match claim.origin.kind {
        OriginKind::Model => claim.category.word(),
        OriginKind::Rule | OriginKind::Build => claim.origin.name.as_str(),
    };
    let anchor = &main.anchor;
    match (&main.text, anchor.lines) {
        (Some(text), Some(lines)) => {
            let symbol = grammar.enclosing_symbol(&anchor.path, text, lines.start());
            fingerprint(&anchor.quote, symbol.as_deref(), context_around(text, lines), kind)
        }
        // For a whole file, the name survives a move to another folder.
        _ => fingerprint(&String::from_utf8_lossy(anchor.path.file_name()), None, ["", ""], kind),
    }
}

fn try_suggestion(
    wanted: &str,
    quote: &str,
    main: &AnchorPlace,
    grammar: &GrammarLanguages,
) -> Result<Suggestion, (String, SuggestionFault)> {
    // A replacement is external text like a file: a secret in it is masked, and then it cannot be applied.
    let wanted = mask(&if main.manner.stripped { strip_diff_marks(wanted) } else { wanted.into() }).text;
    let anchor = &main.anchor;
    let proven = match (&main.text, anchor.lines) {
        (Some(_), Some(_)) if anchor.side == DiffSide::Old => Err(SuggestionFault::OldSide),
        (Some(_), Some(_)) if main.manner.chosen => Err(SuggestionFault::SeveralPlaces),
        (Some(text), Some(lines)) => {
            let indented =
                if main.manner.reindented { reindent(text, lines, quote, &wanted) } else { Some(wanted.clone()) };
            let errors = |text: &str| grammar.error_nodes(&anchor.path, text);
            indented.ok_or(SuggestionFault::Reindented).and_then(|new| prove(text, &anchor.path, lines, &new, errors))
        }
        _ => Err(SuggestionFault::WholeFile),
    };
    proven.map_err(|fault| (wanted, fault))
}

#[cfg(test)]
mod tests;
