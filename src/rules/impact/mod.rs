//! Effects of a change beyond the files it touches: outdated callers, uses of removed names, translations that differ.
//!
//! Main type: [`ImpactRule`]; an impact rule is a file here and a line in [`IMPACTS`]. Each of its claims is anchored at the change
//! and names the other place as a related one. The names that a change is about are searched first, in one pass, and only files that have
//! one are parsed (`search`). Extracting definitions and uses belongs in `syntax`; matching within one text belongs in the packs.

mod callers;
mod changed;
mod claims;
mod context;
mod family;
mod implementors;
mod lines;
mod mentioned;
mod removed;
mod removed_names;
mod resolve;
mod search;
mod text_check;
mod translated;
mod words;

use super::checks::CheckInfo;
use super::sides::BothSides;
use crate::domain::claim::Claim;
use crate::domain::place::WorkspaceAt;
use crate::sys::cancel::CancelReason;
pub(super) use changed::FileOutlines;
use changed::changed_definitions;
use claims::RemoteEffect;
use context::ImpactContext;
use family::LanguageFamily;
use search::ChangedNames;

/// Every impact rule. The order is that of claims.
const IMPACTS: &[ImpactRule] = &[
    ImpactRule { info: &callers::INFO, find: callers::find },
    ImpactRule { info: &removed::INFO, find: removed::find },
    ImpactRule { info: &implementors::INFO, find: implementors::find },
    ImpactRule { info: &mentioned::INFO, find: mentioned::find },
    ImpactRule { info: &translated::INFO, find: translated::find },
];

/// A rule about effects of a change on places it does not touch.
struct ImpactRule {
    /// Its name and description.
    info: &'static CheckInfo,
    /// Finds the effects of the change.
    find: fn(&ImpactContext<'_>, &ChangedNames<'_>) -> Result<Vec<RemoteEffect>, CancelReason>,
}

/// The names and descriptions of the rules.
pub(super) fn infos() -> impl Iterator<Item = &'static CheckInfo> {
    IMPACTS.iter().map(|impact| impact.info)
}

/// Maximum number of claims of one rule.
const MOST_ALIKE: usize = 20;

/// Reads what one file of the change defines while its trees are in memory; `None` if nobody asks for it.
pub(super) fn read_outlines(
    sides: &BothSides<'_>,
    is_off: &dyn Fn(&str) -> bool,
    at: usize,
) -> Result<Option<FileOutlines>, CancelReason> {
    let is_asked =
        sides.change.new_at != WorkspaceAt::PatchOnly && IMPACTS.iter().any(|impact| !is_off(impact.info.name));
    let family = sides.change.files.get(at).filter(|_| is_asked).and_then(|file| LanguageFamily::of(&file.path));
    family.map(|family| changed_definitions(sides, at, family)).transpose()
}

/// Returns the claims about places that the change does not touch, and notes on what was not examined, one sentence each. `outlines` are those
/// of the files of the change that were read before, by index.
pub(super) fn claims<'a>(
    sides: &BothSides<'a>,
    outlines: &'a [Option<&'a FileOutlines>],
    is_off: &dyn Fn(&str) -> bool,
) -> Result<(Vec<Claim>, Vec<String>), CancelReason> {
    // A patch shows parts of its files only; a missing definition may exist.
    if sides.change.new_at == WorkspaceAt::PatchOnly {
        return Ok((Vec::new(), Vec::new()));
    }
    let ground = ImpactContext::new(*sides);
    let names = ChangedNames::new(&ground, outlines, !is_off(mentioned::INFO.name));
    let mut claims = Vec::new();
    for impact in IMPACTS.iter().filter(|impact| !is_off(impact.info.name)) {
        let info = impact.info.to_rule_info();
        let found = (impact.find)(&ground, &names)?;
        if found.len() > MOST_ALIKE {
            let more = found.len() - MOST_ALIKE;
            ground.note(format!("{} has {more} more findings, which are not listed one by one", info.name));
        }
        let shown = found.into_iter().take(MOST_ALIKE);
        claims.extend(shown.filter_map(|effect| claims::build_impact_claim(sides, &info, effect)));
    }
    Ok((claims, ground.into_notes()))
}
