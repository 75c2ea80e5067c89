//! The hash of everything that a review depends on: an equal one need not be made again. Main type: [`ReviewerDigest`].
//!
//! The settings, guidelines, rules and dismissals of a repository are in the commit that the change is compared with, so its id stands for
//! all of them. Those of the user, the prompts, instructions and the model are hashed once for the batch.

use std::path::Path;

use sha2::{Digest as _, Sha256};

use crate::app::context::error::AppError;
use crate::app::context::model::ChosenModel;
use crate::app::context::prompts;
use crate::app::prepare::inputs::PROGRAM;
use crate::app::prepare::{packs, rule_files};
use crate::config::ResolvedSettings;
use crate::domain::forge::ReviewedPull;
use crate::domain::id::{hash_part, hex};
use crate::domain::request::Compare;
use crate::git::ResolvedRange;
use crate::sys::files;

/// Settings that decide how much is spent and how results are shown, not what a complete review says; names, and endings of names.
const UNRELATED: [&str; 14] = [
    "timeout",
    "max_turns",
    "max_tokens",
    "max_cost",
    "keep_runs",
    "colour",
    "format",
    "fail_on",
    "request_changes_on",
    "comment_on",
    "max_comments",
    ".api_key",
    ".requests_per_minute",
    ".tokens_per_minute",
];
/// Maximum size in bytes of an instructions file that is hashed whole.
const MAX_INSTRUCTIONS: u64 = 16 << 20;

/// The hash of the reviewer, to which that of a change is added.
#[derive(Clone)]
pub(super) struct ReviewerDigest(Sha256);

impl ReviewerDigest {
    /// Hashes everything of the user that a review depends on.
    pub(super) fn new(
        resolved: &ResolvedSettings,
        chosen: Option<&ChosenModel>,
        second: Option<&ChosenModel>,
        compare: &Compare,
    ) -> Result<Self, AppError> {
        let settings = &resolved.settings;
        let mut hash = Sha256::new();
        hash_part(&mut hash, PROGRAM);
        for (key, value, origin) in &resolved.origins {
            let is_unrelated =
                UNRELATED.iter().any(|name| if name.starts_with('.') { key.ends_with(name) } else { key == name });
            if !is_unrelated {
                // The origin, too: a repository's own value takes precedence over some origins and not over others.
                for text in [key, &*value.to_string(), &*origin.to_string()] {
                    hash_part(&mut hash, text);
                }
            }
        }
        for model in [chosen, second] {
            hash_part(&mut hash, model.map(ChosenModel::names).unwrap_or_default());
        }
        hash_part(&mut hash, prompts::load(settings.prompts.as_deref())?.hash());
        let own_rules = rule_files::read_all(settings, None, false)?;
        hash_part(&mut hash, packs::load_with(settings, &own_rules)?.hash());
        if let Some(path) = &settings.instructions
            && let Some(file) = files::open_optional(path).map_err(AppError::Input)?
        {
            let text = files::read_within(file, path, MAX_INSTRUCTIONS).map_err(AppError::Input)?;
            hash.update(Sha256::digest(text));
        }
        hash_part(&mut hash, format!("{compare:?}"));
        Ok(Self(hash))
    }

    /// Returns the identity of the review of a change in the repository of `folder`.
    pub(super) fn identity(&self, folder: Option<&Path>, range: &ResolvedRange, pull: Option<&ReviewedPull>) -> String {
        let mut hash = self.0.clone();
        let commits = [range.base, range.merge_base, range.head, range.settings_at];
        for commit in commits {
            hash_part(&mut hash, commit.map(|commit| commit.to_string()).unwrap_or_default());
        }
        for name in [&range.target, &range.head_name] {
            hash_part(&mut hash, name);
        }
        match pull {
            // Its folder may be a mirror, and its texts are shown to the model.
            Some(pull) => {
                for text in [&pull.server, &pull.id.to_string(), &pull.title, &pull.body] {
                    hash_part(&mut hash, text);
                }
            }
            None => hash_part(&mut hash, folder.map(|folder| folder.to_string_lossy()).unwrap_or_default().as_bytes()),
        }
        hex(&hash.finalize())
    }
}
