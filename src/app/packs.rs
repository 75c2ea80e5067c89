//! The rules that a review runs: the built-in packs, and the user's. Main function: [`load`].

use std::path::Path;

use super::error::AppError;
use super::templates;
use crate::config::Settings;
use crate::rules::Packs;

/// A file of a rule pack that is longer is refused, in bytes.
const MAX_PACK: u64 = 1 << 20;

/// The rules that the settings ask for.
pub(super) fn load(settings: &Settings) -> Result<Packs, AppError> {
    let own = settings.rule_packs.as_deref().map(read_folder).transpose()?.unwrap_or_default();
    Ok(Packs::with_overrides(&own)?.without(&settings.rules_off)?.with_all_lines(settings.rules_all_lines))
}

/// The packs of a folder by their names: `python` for `python.yml`.
pub(super) fn read_folder(folder: &Path) -> Result<Vec<(String, String)>, AppError> {
    let found = templates::read_folder(folder, &["yml", "yaml"], MAX_PACK)?;
    let stem = |name: String| name.rsplit_once('.').map_or(name.clone(), |(stem, _)| stem.to_owned());
    Ok(found.into_iter().map(|(name, text)| (stem(name), text)).collect())
}
