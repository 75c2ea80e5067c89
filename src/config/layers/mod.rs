//! The layers and their merging. Main function: [`resolve`].
//!
//! A single value of a later layer replaces that of an earlier one. Of lists:
//! - `include` narrows. Among the user's own layers (built-in, file, environment, flags) the last one counts; the repository's
//!   stands beside it, and a file must match both. So a repository can leave files out, and never bring in what the user did not
//!   ask for.
//! - `guidelines` narrows likewise: of what the user wants, the repository may leave some out.
//! - `exclude`, `guideline_files` and `rules.off` add up over all layers; so does `rules.severity`, of which the last word on a name counts.

use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::document::SettingsDocument;
use super::error::{ConfigError, SettingOrigin};
use super::keys::{KEYS, SettingKey, ValueShape};
use super::settings::{RefusedValue, Settings};
use super::trust::{Permission, repository_may};
use super::value::SettingValue;
use crate::domain::secret::Secret;

/// The built-in layer.
const DEFAULTS: &str = include_str!("../defaults.toml");

/// No list of settings has more entries.
const MAX_ENTRIES: usize = 1_000;

/// The prefix of the variables that are read.
pub(super) const PREFIX: &str = "REVIEW_";
/// The variable that names the store of runs. It is no setting: no file may name a store, and the value may have a password.
pub const STORE: &str = "REVIEW_STORE";
/// Variables of ours that are no settings: secrets, which others read.
const NO_SETTINGS: &[&str] = &["REVIEW_MCP_TOKEN", "REVIEW_QUEUE", "REVIEW_WEBHOOK_SECRET", STORE];

/// Everything that settings are resolved from. `Debug` shows no value of a variable: it may be a key.
#[derive(Clone, Default)]
pub struct SettingsSources {
    /// The user's file.
    pub user: Option<SettingsDocument>,
    /// The repository's file, from wherever it is to be trusted.
    pub repository: Option<SettingsDocument>,
    /// The environment; only `REVIEW_…` counts.
    pub environment: Vec<(String, String)>,
    /// The command line.
    pub flags: Flags,
}

impl fmt::Debug for SettingsSources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { user, repository, environment, flags } = self;
        let names: Vec<&str> = environment.iter().map(|(name, _)| name.as_str()).collect();
        let mut shown = f.debug_struct("Sources");
        shown.field("user", user).field("repository", repository).field("environment", &names).field("flags", flags);
        shown.finish()
    }
}

/// The command line's values, as written; a list is empty and a value `None` if not set.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[allow(missing_docs, reason = "most fields are the flags of their names")]
pub struct Flags {
    pub include: Vec<String>,
    pub exclude: Vec<String>,
    pub min_severity: Option<String>,
    pub min_confidence: Option<String>,
    pub fail_on: Option<String>,
    pub request_changes_on: Option<String>,
    pub comment_on: Option<String>,
    pub max_comments: Option<String>,
    pub timeout: Option<String>,
    pub colour: Option<String>,
    pub format: Option<String>,
    /// `--model`; `none` for `--no-model`
    pub model: Option<String>,
    pub verify: Option<String>,
    pub verify_model: Option<String>,
    pub max_turns: Option<String>,
    pub max_tokens: Option<String>,
    pub max_cost: Option<String>,
    pub instructions: Option<PathBuf>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allow_build: Vec<String>,
    /// `all` for `--all-lines`
    pub rules_lines: Option<String>,
    /// `told` for `--hints`
    pub rules_hints: Option<String>,
}

/// Settings, and where each of them comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResolvedSettings {
    /// The settings.
    pub settings: Settings,
    /// Key, value and origin in the order of [`KEYS`]; a list that adds up has a row for each layer that has a part in it.
    pub origins: Vec<(&'static str, SettingValue, SettingOrigin)>,
    /// Names of `REVIEW_` variables that mean nothing. Their values are not kept: they may be secret.
    pub ignored_env: Vec<String>,
}

/// One layer's word on one setting.
struct LayerValue {
    key: &'static SettingKey,
    value: SettingValue,
    origin: SettingOrigin,
}

impl LayerValue {
    fn is_repository(&self) -> bool {
        matches!(self.origin, SettingOrigin::Repository { .. })
    }
}

impl Flags {
    /// Overrides budgets, gates and outputs with those of another command line, if set. Settings that shape a response stay.
    #[must_use]
    pub fn for_resume(&self, now: &Self) -> Self {
        let either = |now: &Option<String>, was: &Option<String>| now.clone().or_else(|| was.clone());
        Self {
            fail_on: either(&now.fail_on, &self.fail_on),
            request_changes_on: either(&now.request_changes_on, &self.request_changes_on),
            comment_on: either(&now.comment_on, &self.comment_on),
            max_comments: either(&now.max_comments, &self.max_comments),
            timeout: either(&now.timeout, &self.timeout),
            max_turns: either(&now.max_turns, &self.max_turns),
            max_tokens: either(&now.max_tokens, &self.max_tokens),
            max_cost: either(&now.max_cost, &self.max_cost),
            colour: now.colour.clone(),
            format: now.format.clone(),
            ..self.clone()
        }
    }
}

/// Merges the layers.
pub fn resolve(sources: &SettingsSources) -> Result<ResolvedSettings, ConfigError> {
    let mut said = Vec::new();
    let built_in = SettingsDocument { name: "defaults.toml".to_owned(), text: DEFAULTS.to_owned(), folder: None };
    read(&built_in, |_| SettingOrigin::BuiltIn, &mut said)?;
    if let Some(document) = &sources.user {
        let origin = |line| SettingOrigin::User { file: document.name.clone(), line };
        read(document, origin, &mut said)?;
    }
    if let Some(document) = &sources.repository {
        let origin = |line| SettingOrigin::Repository { file: document.name.clone(), line };
        read(document, origin, &mut said)?;
    }
    let ignored_env = read_environment(&sources.environment, &mut said);
    read_flags(&sources.flags, &mut said);
    for said in &said {
        check_length(said)?;
        // Also what a later layer replaces: a typing error should not wait for the day on which it counts.
        settle(std::iter::once(said))?;
    }
    check_budgets(&said)?;

    let kept: Vec<&LayerValue> = KEYS.iter().flat_map(|key| counting(key, &said)).collect();
    let settings = settle(kept.iter().copied())?;
    let origins = kept.iter().map(|said| (said.key.name, said.value.clone(), said.origin.clone()));
    Ok(ResolvedSettings { settings, origins: origins.collect(), ignored_env })
}

/// Takes a file's keys; those of the repository's only where it may.
fn read(
    document: &SettingsDocument,
    origin: impl Fn(u32) -> SettingOrigin,
    said: &mut Vec<LayerValue>,
) -> Result<(), ConfigError> {
    for entry in document.entries()? {
        let (file, line, origin) = (document.name.clone(), entry.line, origin(entry.line));
        let is_repository = matches!(origin, SettingOrigin::Repository { .. });
        if is_repository && repository_may(&entry.key) == Some(Permission::Never) {
            return Err(ConfigError::NotAllowed { file, line, key: entry.key });
        }
        let Some(key) = SettingKey::from_name(&entry.key) else {
            let near = SettingKey::nearest(&entry.key);
            let near = near.filter(|name| !is_repository || repository_may(name) != Some(Permission::Never));
            return Err(ConfigError::UnknownKey { file, line, key: entry.key, near });
        };
        let value = entry.value.map_err(|found| ConfigError::WrongType {
            file,
            line,
            key: key.name,
            found,
            allowed: key.allowed,
        })?;
        let value = match (value, &document.folder) {
            (SettingValue::Path(path), Some(folder)) if !path.as_os_str().is_empty() => {
                SettingValue::Path(folder.join(path))
            }
            (value, _) => value,
        };
        said.push(LayerValue { key, value, origin });
    }
    Ok(())
}

/// Takes the variables that name a setting and are not empty; returns the others of ours.
fn read_environment(environment: &[(String, String)], said: &mut Vec<LayerValue>) -> Vec<String> {
    let is_ours = |name: &str| name.starts_with(PREFIX) && !NO_SETTINGS.contains(&name);
    let mut ours: Vec<&(String, String)> = environment.iter().filter(|(name, _)| is_ours(name)).collect();
    ours.sort();
    let mut ignored = Vec::new();
    for (variable, value) in ours {
        let Some(key) = KEYS.iter().find(|key| key.environment_variable() == *variable) else {
            ignored.push(variable.clone());
            continue;
        };
        if value.trim().is_empty() {
            continue;
        }
        let value = match key.shape {
            ValueShape::One | ValueShape::Amount | ValueShape::Address => SettingValue::One(value.clone()),
            ValueShape::Path => SettingValue::Path(PathBuf::from(value)),
            ValueShape::Secret => SettingValue::Secret(Secret::new(value)),
            ValueShape::List => SettingValue::List(split_list(value)),
        };
        said.push(LayerValue { key, value, origin: SettingOrigin::Environment { variable: variable.clone() } });
    }
    ignored
}

/// Entries between commas; a comma within `{…}` belongs to a glob.
pub(super) fn split_list(text: &str) -> Vec<String> {
    let mut depth = 0usize;
    let parts = text.split(|c| {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    });
    parts.map(str::trim).filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

fn read_flags(flags: &Flags, said: &mut Vec<LayerValue>) {
    let Flags {
        include,
        exclude,
        min_severity,
        min_confidence,
        fail_on,
        request_changes_on,
        comment_on,
        max_comments,
        timeout,
        colour,
        format,
        model,
        verify,
        verify_model,
        max_turns,
        max_tokens,
        max_cost,
        instructions,
        allow_build,
        rules_lines,
        rules_hints,
    } = flags;
    let list = |list: &Vec<String>| (!list.is_empty()).then(|| SettingValue::List(list.clone()));
    let one = |value: &Option<String>| value.clone().map(SettingValue::One);
    let given = [
        ("include", list(include)),
        ("exclude", list(exclude)),
        ("min_severity", one(min_severity)),
        ("min_confidence", one(min_confidence)),
        ("fail_on", one(fail_on)),
        ("request_changes_on", one(request_changes_on)),
        ("comment_on", one(comment_on)),
        ("max_comments", one(max_comments)),
        ("timeout", one(timeout)),
        ("colour", one(colour)),
        ("format", one(format)),
        ("model", one(model)),
        ("verify", one(verify)),
        ("verify_model", one(verify_model)),
        ("max_turns", one(max_turns)),
        ("max_tokens", one(max_tokens)),
        ("max_cost", one(max_cost)),
        ("instructions", instructions.clone().map(SettingValue::Path)),
        ("allow_build", list(allow_build)),
        ("rules.lines", one(rules_lines)),
        ("rules.hints", one(rules_hints)),
    ];
    for (name, value) in given {
        if let (Some(key), Some(value)) = (SettingKey::from_name(name), value) {
            let flag = key.flag.unwrap_or(key.name).to_owned();
            said.push(LayerValue { key, value, origin: SettingOrigin::Flag { flag } });
        }
    }
}

fn check_length(said: &LayerValue) -> Result<(), ConfigError> {
    match &said.value {
        SettingValue::List(list) if list.len() > MAX_ENTRIES => {
            Err(ConfigError::TooMany { origin: said.origin.clone(), key: said.key.name, limit: MAX_ENTRIES })
        }
        SettingValue::List(_) | SettingValue::One(_) | SettingValue::Path(_) | SettingValue::Secret(_) => Ok(()),
    }
}

/// Refuses a budget of the repository's that is above what the user's own layers come to.
fn check_budgets(all: &[LayerValue]) -> Result<(), ConfigError> {
    let users = settle(all.iter().filter(|said| !said.is_repository()))?;
    for said in all.iter().filter(|said| said.is_repository()) {
        if repository_may(said.key.name) != Some(Permission::Lower) {
            continue;
        }
        let wanted = settle(std::iter::once(said))?;
        if wanted.exceeds(&users, said.key.name) {
            let own = all.iter().rfind(|own| own.key == said.key && !own.is_repository());
            let limit = own.map(|own| own.value.to_string()).unwrap_or_default();
            let (origin, value) = (said.origin.clone(), super::error::display_text(&said.value.to_string()));
            return Err(ConfigError::AboveUsers { origin, key: said.key.name, value, limit });
        }
    }
    Ok(())
}

/// Resolves the effective value of one setting from all layers; see the module.
fn counting<'a>(key: &'static SettingKey, said: &'a [LayerValue]) -> Vec<&'a LayerValue> {
    let about: Vec<&LayerValue> = said.iter().filter(|said| said.key == key).collect();
    let has_entries = |said: &&&LayerValue| matches!(&said.value, SettingValue::List(list) if !list.is_empty());
    match (key.name, key.shape) {
        (_, ValueShape::One | ValueShape::Amount | ValueShape::Path | ValueShape::Address | ValueShape::Secret) => {
            about.last().copied().into_iter().collect()
        }
        ("include" | "guidelines", ValueShape::List) => {
            let own = about.iter().rfind(|said| !said.is_repository());
            let repository = about.iter().find(|said| said.is_repository()).filter(has_entries);
            // An empty list of the user's is shown only where nothing else is: it stands for all files.
            let own = own.filter(|said| repository.is_none() || has_entries(said));
            own.into_iter().chain(repository).copied().collect()
        }
        (_, ValueShape::List) => {
            let full: Vec<&LayerValue> = about.iter().filter(has_entries).copied().collect();
            if full.is_empty() { about.last().copied().into_iter().collect() } else { full }
        }
    }
}

fn settle<'a>(said: impl Iterator<Item = &'a LayerValue>) -> Result<Settings, ConfigError> {
    let mut settings = Settings::empty();
    for said in said {
        let (key, allowed) = (said.key.name, said.key.allowed);
        settings.set(key, &said.value).map_err(|refused| {
            let origin = said.origin.clone();
            match refused {
                RefusedValue::Shown(value) => ConfigError::BadValue { origin, key, value, allowed },
                RefusedValue::Hidden => ConfigError::Unfit { origin, key, allowed },
            }
        })?;
    }
    Ok(settings)
}

#[cfg(test)]
mod tests;
