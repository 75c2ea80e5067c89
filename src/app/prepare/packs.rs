//! The rules of a review, parsed: the built-in ones, the user's and the project's. Main function: [`load`].
//!
//! Reading the files of the last two belongs in `rule_files`, parsing packs in `rules`.

use super::change::PreparedChange;
use super::inputs::RunInputs;
use crate::app::context::error::AppError;
use crate::config::Settings;
use crate::domain::rule_info::PackOwner;
use crate::rules::{PackFile, Packs};

/// Loads the rules that the settings of the change select.
pub(in crate::app) fn load(subject: &PreparedChange) -> Result<Packs, AppError> {
    Ok(load_with(&subject.settings, &subject.rule_files)?.with_probe(subject.parser.clone()))
}

/// Loads the rules for settings and pack files.
pub(in crate::app) fn load_with(settings: &Settings, files: &[PackFile]) -> Result<Packs, AppError> {
    Ok(Packs::with(files)?
        .without(&settings.rules_off)?
        .with_severities(&settings.rules_severity)?
        .with_all_lines(settings.rules_all_lines)
        .with_hints(settings.rules_hints))
}

/// Loads the rules of a saved run; only the built-in ones if this version cannot parse the others.
pub(in crate::app) fn load_recorded(given: &RunInputs) -> Result<Packs, AppError> {
    as_then(given, &given.rule_files).or_else(|_| Ok(Packs::built_in()?))
}

/// Loads the rules of a saved run, with other user packs.
pub(in crate::app) fn load_recorded_with(given: &RunInputs, own: Vec<PackFile>) -> Result<Packs, AppError> {
    let of_project = given.rule_files.iter().filter(|file| file.owner == PackOwner::Project);
    as_then(given, &own.into_iter().chain(of_project.cloned()).collect::<Vec<_>>())
}

/// Applies a run's settings to rules. Rules that no longer exist need neither disabling nor a severity.
fn as_then(given: &RunInputs, files: &[PackFile]) -> Result<Packs, AppError> {
    let packs = Packs::with(files)?;
    let off: Vec<String> = given.shaping.rules_off.iter().filter(|name| packs.knows(name)).cloned().collect();
    let severities = given.shaping.rules_severity.iter().filter(|(name, _)| packs.knows(name));
    let severities: Vec<_> = severities.cloned().collect();
    let packs = packs.without(&off)?.with_severities(&severities)?.with_all_lines(given.shaping.rules_all_lines);
    Ok(packs.with_hints(given.shaping.rules_hints))
}
