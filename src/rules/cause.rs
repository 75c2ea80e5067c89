//! Finds the changed lines that caused a match on unchanged lines. Main function: [`locate_cause`].

use std::collections::HashMap;

use super::input::RulesInput;
use super::introduced::HeadMatch;
use super::scan::scopes_of;
use crate::domain::change::ChangeRun;
use crate::domain::place::{DiffSide, LineRange};
use crate::domain::text::is_distinctive;
use crate::syntax::CodeScope;
use crate::sys::cancel::CancelReason;

/// Returns the changed lines nearest to a match in the same function, and their side: removed lines if none were added in their place.
///
/// `known` caches the functions of files. `None` if nothing changed in that function.
pub(super) fn locate_cause(
    input: &RulesInput<'_>,
    head: &HeadMatch,
    known: &mut HashMap<usize, Vec<CodeScope>>,
) -> Result<Option<(DiffSide, LineRange)>, CancelReason> {
    let Some(file) = input.change.files.get(head.file) else { return Ok(None) };
    let (Ok(new), Ok(old)) = (input.new.read(&file.path), input.old.read(file.path_at(DiffSide::Old))) else {
        return Ok(None);
    };
    if let std::collections::hash_map::Entry::Vacant(vacant) = known.entry(head.file) {
        vacant.insert(scopes_of(file.language, &new, input.trees, input.cancel)?);
    }
    let scopes = known.get(&head.file).map(Vec::as_slice).unwrap_or_default();
    let own = CodeScope::innermost(scopes, head.hit.at.start());
    let in_reach = |run: &ChangeRun| match own {
        Some(own) => own.lines.contains(point(run)),
        // Outside of all functions, only changes outside of them count.
        None => CodeScope::innermost(scopes, point(run)).is_none(),
    };
    let telling = |(side, lines): &(DiffSide, LineRange)| {
        let text = if *side == DiffSide::Old { &old } else { &new };
        text.lines(*lines).any(|(_, line)| is_distinctive(line))
    };
    let near = file.runs().filter(|run| in_reach(run));
    let near = near.filter_map(|run| {
        let place = run.new.range().map(|lines| (DiffSide::New, lines));
        place.or_else(|| run.old.range().map(|lines| (DiffSide::Old, lines))).map(|place| (point(run), place))
    });
    let near = near.filter(|(_, place)| telling(place));
    let nearest = near.min_by_key(|(point, _)| point.abs_diff(head.hit.at.start()));
    Ok(nearest.map(|(_, place)| place))
}

/// The head line at which a run is, or after which something was deleted.
fn point(run: &ChangeRun) -> u32 {
    run.new.start.max(1)
}
