//! What a change does beyond the files it touches: callers left behind, names that are gone, locks that do not follow.
//!
//! Main type: the trait [`Impact`]; an impact is a file here and a line in [`IMPACTS`]. Each of its claims is anchored at the change and
//! names the other place as a related one. The names that a change is about are searched first, in one pass, and only files that have one
//! are parsed (`ground`). What a text defines and uses is told by `syntax`; how one text is matched belongs in the packs.

mod ahead;
mod callers;
mod changed;
mod files;
mod gone;
mod ground;
mod implementors;
mod lines;
mod manifest;
mod memory;
mod mentioned;
mod mirrored;
mod resolve;
mod search;
mod text_key;
mod touches;
mod translated;
mod unused;
mod variants;
mod words;

pub use memory::SymbolMemory;

use std::sync::atomic::AtomicUsize;

use super::checks::CheckInfo;
use super::run::RulesInput;
use crate::domain::claim::Claim;
use crate::domain::place::WorkspaceAt;
use crate::sys::cancel::Stopped;
use ground::Ground;
use words::Effect;

/// Every impact. The order is that of claims.
const IMPACTS: &[&dyn Impact] = &[
    &callers::CallersNotUpdated,
    &gone::RemovedButUsed,
    &implementors::ImplementorsNotUpdated,
    &variants::NewVariantUnhandled,
    &files::RemovedFileUsed,
    &unused::LeftUnused,
    &mentioned::RemovedButMentioned,
    &mirrored::ChangedConstantMirrored,
    &manifest::ManifestWithoutLock,
    &translated::TranslationPlaceholder,
    &text_key::TextKeyMissing,
];

/// Something a change can do to places it does not touch.
trait Impact: Sync {
    /// What it is called and what it says.
    fn info(&self) -> &'static CheckInfo;

    /// Where the change does so.
    fn find(&self, ground: &Ground<'_>) -> Result<Vec<Effect>, Stopped>;
}

/// What the rules are called and what they say.
pub(super) fn infos() -> impl Iterator<Item = &'static CheckInfo> {
    IMPACTS.iter().map(|impact| impact.info())
}

/// Of one rule no more claims than this: who sees so many has seen what is wrong.
const MOST_ALIKE: usize = 20;

/// Reads what one file of the change defines while its trees are at hand; so many bytes were `read` for all files.
pub(super) fn read_ahead(input: &RulesInput<'_>, at: usize, read: &AtomicUsize) -> Result<(), Stopped> {
    let is_asked = input.change.new_at != WorkspaceAt::PatchOnly
        && IMPACTS.iter().any(|impact| !input.packs.is_off(impact.info().name));
    let Some(file) = input.change.files.get(at).filter(|_| is_asked) else { return Ok(()) };
    ahead::read_ahead(input, at, read)?;
    unused::read_ahead(input, file)
}

/// What the change does to places it does not touch, and what was not looked at, one sentence each.
pub(super) fn claims(input: &RulesInput<'_>) -> Result<(Vec<Claim>, Vec<String>), Stopped> {
    // A patch shows pieces of its files: what is not in it may well be there.
    if input.change.new_at == WorkspaceAt::PatchOnly {
        return Ok((Vec::new(), Vec::new()));
    }
    let ground = Ground::new(input);
    let mut claims = Vec::new();
    for impact in IMPACTS {
        let info = impact.info();
        if input.packs.is_off(info.name) {
            continue;
        }
        let found = impact.find(&ground)?;
        if found.len() > MOST_ALIKE {
            let more = found.len() - MOST_ALIKE;
            ground.note(format!("{} has {more} more findings, which are not listed one by one", info.name));
        }
        let found = found.into_iter().take(MOST_ALIKE).filter_map(|effect| words::claim(input, info, effect));
        claims.extend(found.filter_map(|claim| input.packs.settled(claim)));
    }
    Ok((claims, ground.into_notes()))
}
