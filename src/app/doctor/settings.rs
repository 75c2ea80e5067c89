//! Checks the settings: the files and variables they come from. Main function: [`check`].

use super::DoctorAsk;
use super::git::OpenedRepository;
use crate::app::context::error::AppError;
use crate::app::context::model::ProviderEnvironment;
use crate::app::context::project::project_settings;
use crate::app::context::prompts;
use crate::app::context::provider_table;
use crate::app::prepare::dismissals;
use crate::app::prepare::packs;
use crate::app::prepare::rule_files;
use crate::config::{
    self, ConfigError, ResolvedSettings, SettingKey, SettingOrigin, SettingsDocument, SettingsSources,
};
use crate::domain::doctor::{CheckArea, CheckState, DoctorCheck, FaultParty};
use crate::domain::text::{count_noun, strip_line};

/// The resolved settings, for further checks.
pub(super) struct FoundSettings {
    /// The settings without the project's, which cannot choose the model.
    pub(super) resolved: ResolvedSettings,
    /// The providers and their variables.
    pub(super) providers: ProviderEnvironment,
}

/// Checks the settings, and returns them if they are usable.
pub(super) fn check(ask: &DoctorAsk, looked: &OpenedRepository) -> (Vec<DoctorCheck>, Option<FoundSettings>) {
    let mut checks = Vec::new();
    let user = match config::user_document() {
        Ok(user) => user,
        Err(error) => {
            checks.push(wrong("user_file", &error.into()));
            return (checks, None);
        }
    };
    let environment = config::read_environment();
    let sources = |repository: Option<SettingsDocument>| SettingsSources {
        user: user.clone(),
        repository,
        environment: environment.clone(),
        flags: ask.flags.clone(),
    };
    let resolved = match config::resolve(&sources(None)) {
        Ok(resolved) => resolved,
        Err(error) => {
            checks.push(wrong("user_file", &error.into()));
            return (checks, None);
        }
    };
    checks.push(user_file(user.is_some(), &resolved));
    checks.extend(variables(&resolved));
    checks.extend(prompts(&resolved));
    checks.extend(project(ask, looked, |document| config::resolve(&sources(document))));
    checks.extend(rules(ask, looked, |document| config::resolve(&sources(document))));
    match provider_table::load_table(user.as_ref(), &environment) {
        Ok(table) => {
            let providers = ProviderEnvironment::of_this_process(table);
            (checks, Some(FoundSettings { resolved, providers }))
        }
        Err(error) => {
            checks.push(wrong("providers", &error));
            (checks, None)
        }
    }
}

fn fine(name: &'static str, found: impl Into<String>) -> DoctorCheck {
    DoctorCheck::new(CheckArea::Settings, name, CheckState::Fine, found)
}

/// A review would end with this error.
fn wrong(name: &'static str, error: &AppError) -> DoctorCheck {
    DoctorCheck::new(CheckArea::Settings, name, CheckState::Failed(FaultParty::Setup), error.to_string())
        .with_advice("repair it, then look with `review config` what holds")
}

fn user_file(is_there: bool, resolved: &ResolvedSettings) -> DoctorCheck {
    let Some(path) = config::user_file() else {
        return fine("user_file", "there is no home folder, so there is no file of yours; defaults and variables hold");
    };
    let path = path.display();
    if !is_there {
        return fine("user_file", format!("there is no {path}; defaults and variables hold"));
    }
    let set = resolved.origins.iter().filter(|(_, _, origin)| matches!(origin, SettingOrigin::User { .. })).count();
    fine("user_file", format!("{path}: {} of it hold", count_noun(set, "setting")))
}

/// Reports variables that set something, and misspelled ones.
fn variables(resolved: &ResolvedSettings) -> Vec<DoctorCheck> {
    let set: Vec<&str> = resolved
        .origins
        .iter()
        .filter_map(|(_, _, origin)| match origin {
            SettingOrigin::Environment { variable } => Some(variable.as_str()),
            SettingOrigin::BuiltIn
            | SettingOrigin::User { .. }
            | SettingOrigin::Repository { .. }
            | SettingOrigin::Flag { .. } => None,
        })
        .collect();
    let told = if set.is_empty() { "no REVIEW_ variable sets anything".to_owned() } else { set.join(", ") };
    let unknown = resolved.ignored_env.iter().map(|name| {
        let setting = name.trim_start_matches("REVIEW_").to_ascii_lowercase();
        let advice = match SettingKey::nearest(&setting).and_then(SettingKey::from_name) {
            Some(near) => format!("did you mean {}? Else take it away", near.environment_variable()),
            None => "take it away, or see `review config` for the settings that there are".to_owned(),
        };
        let found = format!("{} means nothing and is ignored", strip_line(name));
        DoctorCheck::new(CheckArea::Settings, "variables", CheckState::Warning, found).with_advice(advice)
    });
    std::iter::once(fine("variables", told)).chain(unknown).collect()
}

/// Checks the user's own prompts, if any.
fn prompts(resolved: &ResolvedSettings) -> Option<DoctorCheck> {
    let folder = resolved.settings.prompts.as_deref()?;
    Some(match prompts::load(Some(folder)) {
        Ok(_) => fine("prompts", format!("the prompts of {} can be used", folder.display())),
        Err(error) => wrong("prompts", &error),
    })
}

/// Checks the project's settings, read from the trusted commit.
fn project(
    ask: &DoctorAsk,
    looked: &OpenedRepository,
    resolve: impl Fn(Option<SettingsDocument>) -> Result<ResolvedSettings, ConfigError>,
) -> Vec<DoctorCheck> {
    let Ok(repo) = &looked.repo else { return Vec::new() };
    let at = looked.range.as_ref().ok().and_then(|range| range.settings_at);
    let place = match (ask.settings_from_worktree, at) {
        (true, _) => "the disk".to_owned(),
        (false, Some(commit)) => format!("the target's tip, {}", commit.short()),
        (false, None) => return Vec::new(),
    };
    let read = project_settings(repo, at, ask.settings_from_worktree);
    let mut checks = Vec::new();
    checks.push(match read.and_then(|document| Ok((document.is_some(), resolve(document)?))) {
        Ok((false, _)) => fine("project", format!("the project sets nothing: there is no .review.toml at {place}")),
        Ok((true, resolved)) => {
            let is_projects = |origin: &SettingOrigin| matches!(origin, SettingOrigin::Repository { .. });
            let set = resolved.origins.iter().filter(|(_, _, origin)| is_projects(origin)).map(|(key, _, _)| *key);
            let set: Vec<&str> = set.collect();
            fine("project", format!(".review.toml at {place} sets {}", set.join(", ")))
        }
        Err(error) => wrong("project", &error),
    });
    match dismissals::read(repo, at, ask.settings_from_worktree) {
        Ok(None) => {}
        Ok(Some(file)) => checks.push(match file.parse() {
            Ok(dismissals) => fine(
                "dismissals",
                format!(
                    "{}: {}",
                    file.name,
                    match dismissals.len() {
                        1 => "1 entry".to_owned(),
                        count => format!("{count} entries"),
                    }
                ),
            ),
            Err(error) => wrong("dismissals", &error.into()),
        }),
        Err(error) => checks.push(wrong("dismissals", &error)),
    }
    if !ask.settings_from_worktree && on_disk_differs(repo, at) {
        let found =
            format!("the .review.toml on the disk is another than that of {place}, which is the one that holds");
        let check = DoctorCheck::new(CheckArea::Settings, "project", CheckState::Warning, found);
        checks.push(check.with_advice("to try the one on the disk: --settings worktree"));
    }
    checks
}

/// Checks the user's and the project's rules, if any, and the settings for rules.
fn rules(
    ask: &DoctorAsk,
    looked: &OpenedRepository,
    resolve: impl Fn(Option<SettingsDocument>) -> Result<ResolvedSettings, ConfigError>,
) -> Option<DoctorCheck> {
    let (repo, from_worktree) = (looked.repo.as_ref().ok(), ask.settings_from_worktree);
    let at = looked.range.as_ref().ok().and_then(|range| range.settings_at);
    let document = repo.and_then(|repo| project_settings(repo, at, from_worktree).ok().flatten());
    // Invalid settings are reported above.
    let settings = resolve(document).ok()?.settings;
    let files = rule_files::read_all(&settings, repo.map(|repo| (repo, at)), from_worktree);
    match files.and_then(|files| packs::load_with(&settings, &files).map(|_| files.len())) {
        Ok(0) => None,
        Ok(count) => {
            Some(fine("rules", format!("{} of your own or the project's can be used", count_noun(count, "rule pack"))))
        }
        Err(error) => Some(wrong("rules", &error)),
    }
}

/// Checks whether the working tree has other project settings than those in effect.
fn on_disk_differs(repo: &crate::sys::repo::Repo, at: Option<crate::domain::id::CommitId>) -> bool {
    if repo.workdir().is_none() {
        return false;
    }
    let text = |from_worktree| project_settings(repo, at, from_worktree).ok().flatten().map(|document| document.text);
    text(true) != text(false)
}
