//! The `review rules` commands: list the rules, explain one, test a folder of packs. Main functions: [`list_rules`], [`explain_rule`],
//! [`test_rules`].
//!
//! Printing belongs in `cli`.

use crate::app::context::error::UseCaseError;
use crate::app::prepare::rule_files;
use std::io;
use std::path::{Path, PathBuf};

use crate::app::context::environment::ProcessEnv;
use crate::app::context::error::AppError;
use crate::app::context::settings::list_settings;
use crate::app::prepare::packs;
use crate::app::prepare::rule_files::{PROJECT_RULES, is_pack, stem};
use crate::config::Flags;
use crate::domain::id::CommitId;
use crate::domain::request::{ReviewRequest, ReviewScope};
use crate::domain::rule_info::{FixtureReport, PackOwner, RulePage};
use crate::domain::text::strip_line;
use crate::git::{self, GitError};
use crate::rules::{self, PackFile, Packs, RuleFixtures};
use crate::sys::cancel::Cancel;
use crate::sys::folder::{FolderError, read_folder};
use crate::sys::repo::Repo;
use crate::sys::repo_error::RepoError;

/// Limits on a folder with packs and fixtures.
const MOST_BYTES: u64 = 64 << 20;
const MOST_FILES: usize = 20_000;

/// An error of a rules command.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum RulesError {
    /// The rule does not exist.
    #[error(
        "there is no rule {name:?}{}; `review rules list` shows those there are",
        near.as_ref().map_or_else(String::new, |near| format!(" (did you mean {near}?)"))
    )]
    Unknown { name: String, near: Option<String> },
    /// Several rules have the id.
    #[error("{name:?} may be {}: give the whole name", known.join(" or "))]
    Several { name: String, known: Vec<String> },
    /// No rule is about the language.
    #[error("there are no rules for {name:?}; there are some for {}", known.join(", "))]
    NoLanguage { name: String, known: Vec<String> },
    /// The folder has no pack.
    #[error(
        "{folder} holds no rules: put a pack there (such as python-house.yml, docs/writing-rules.md says how) or name another folder"
    )]
    NoPacks { folder: String },
    /// The folder cannot be read.
    #[error("{0}")]
    Folder(#[from] FolderError),
}

impl UseCaseError for RulesError {}

/// Lists the rules that a review of the request would run, the built-in ones first.
pub fn list_rules(request: &ReviewRequest, flags: &Flags, around: &ProcessEnv) -> Result<Vec<RulePage>, AppError> {
    let settings = list_settings(request, flags, around)?.settings;
    let (repo, at) = match Repo::open(&request.directory) {
        Err(RepoError::NotARepository(_)) => (None, None),
        Err(error) => return Err(error.into()),
        Ok(repo) => {
            let at = settings_at(&repo, &request.scope)?;
            (Some(repo), at)
        }
    };
    let files = rule_files::read_all(&settings, repo.as_ref().map(|repo| (repo, at)), request.settings_from_worktree)?;
    Ok(packs::load_with(&settings, &files)?.rule_pages())
}

/// Determines the commit from which a review would read the project's rules.
fn settings_at(repo: &Repo, scope: &ReviewScope) -> Result<Option<CommitId>, AppError> {
    if matches!(scope, ReviewScope::Patch(_)) {
        return Ok(None);
    }
    match git::range_ends(repo, scope) {
        Ok(ends) => Ok(ends.settings_at),
        Err(GitError::NoTarget { .. } | GitError::TargetIsHead { .. } | GitError::Repo(RepoError::Unborn)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Leaves the rules of a language, by its name or that of a pack. A check that knows no language is of the pack `general`.
pub fn retain_language(all: &mut Vec<RulePage>, language: &str) -> Result<(), RulesError> {
    let wanted = language.to_ascii_lowercase();
    let pack = |sheet: &RulePage| sheet.info.name.split('/').next().unwrap_or_default().to_owned();
    let is_of = |sheet: &RulePage| {
        pack(sheet) == wanted || sheet.languages.iter().any(|language| language.eq_ignore_ascii_case(&wanted))
    };
    if all.iter().any(is_of) {
        all.retain(is_of);
        return Ok(());
    }
    let languages = all.iter().flat_map(|sheet| sheet.languages.iter().map(ToString::to_string));
    let mut known: Vec<String> = all.iter().map(pack).chain(languages).map(|name| name.to_ascii_lowercase()).collect();
    known.sort_unstable();
    known.dedup();
    Err(RulesError::NoLanguage { name: strip_line(language), known })
}

/// Explains a rule, found by its name, or by its id if that is unique.
pub fn explain_rule(
    request: &ReviewRequest,
    name: &str,
    flags: &Flags,
    around: &ProcessEnv,
) -> Result<RulePage, AppError> {
    let mut sheets = list_rules(request, flags, around)?;
    let is_it = |sheet: &RulePage| sheet.info.name == name;
    let has_id = |sheet: &RulePage| sheet.info.name.rsplit('/').next() == Some(name);
    let found: Vec<usize> = match sheets.iter().position(is_it) {
        Some(at) => vec![at],
        None => sheets.iter().enumerate().filter(|(_, sheet)| has_id(sheet)).map(|(at, _)| at).collect(),
    };
    match found.as_slice() {
        [at] => Ok(sheets.swap_remove(*at)),
        [] => {
            let scored = sheets.iter().map(|sheet| (strsim::jaro_winkler(name, &sheet.info.name), &sheet.info.name));
            let near = scored.max_by(|a, b| a.0.total_cmp(&b.0)).filter(|(score, _)| *score > 0.8);
            let near = near.map(|(_, name)| name.clone());
            Err(RulesError::Unknown { name: strip_line(name), near }.into())
        }
        several => {
            let known = several.iter().filter_map(|at| sheets.get(*at)).map(|sheet| sheet.info.name.clone()).collect();
            Err(RulesError::Several { name: strip_line(name), known }.into())
        }
    }
}

/// Tests the packs of a folder on their fixtures: of `x.yml` in `x/<id>/`. Without a folder, those of the working tree around `directory`.
pub fn test_rules(
    directory: &Path,
    folder: Option<&Path>,
    cancel: &Cancel,
) -> Result<(PathBuf, FixtureReport), AppError> {
    let folder = match folder {
        Some(folder) if directory == Path::new(".") => folder.to_owned(),
        Some(folder) => directory.join(folder),
        None => match Repo::open(directory) {
            Ok(repo) => repo.workdir().unwrap_or(directory).join(PROJECT_RULES),
            Err(RepoError::NotARepository(_)) => directory.join(PROJECT_RULES),
            Err(error) => return Err(error.into()),
        },
    };
    let none = || RulesError::NoPacks { folder: folder.display().to_string() };
    let files = read_folder(&folder, MOST_BYTES, MOST_FILES, cancel).map_err(|error| match error {
        FolderError::Read { path, source } if path == folder && source.kind() == io::ErrorKind::NotFound => none(),
        other => other.into(),
    })?;
    // The owner of a pack is part of its rules' names.
    let owner = if folder.ends_with(PROJECT_RULES) { PackOwner::Project } else { PackOwner::User };
    let mut found = Vec::new();
    for file in files.iter().filter(|file| !file.path.contains(&b'/') && is_pack(&file.path)) {
        let name = String::from_utf8_lossy(&file.path);
        let shown = folder.join(&*name).display().to_string();
        let text = rule_files::text(&shown, file.bytes.clone())?;
        found.push(PackFile { owner, file: shown, stem: stem(&name).to_owned(), text });
    }
    if found.is_empty() {
        return Err(none().into());
    }
    let tried = rules::test_rules(&Packs::only(&found)?, &RuleFixtures::of(&files), cancel)?;
    Ok((folder, tried))
}
