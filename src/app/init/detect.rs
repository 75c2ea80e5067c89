//! Detects what a setup can use: keys, a local server of models, assistants, the repository. Main function: [`detect`]; main type: [`Detected`].

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::choices::{HOOK_PATH, WORKFLOW_PATH};
use crate::app::context::environment::ProcessEnv;
use crate::app::context::error::AppError;
use crate::app::context::settings;
use crate::app::inspect::models::{ModelsAsk, installed_assistants, models};
use crate::config::{self, Flags, ModelChoice};
use crate::domain::provider_info::{AssistantInfo, ProviderKeyState, ProviderModels};
use crate::domain::text::{count_noun, shorten, strip_line};
use crate::sys::repo::Repo;
use crate::sys::repo_error::RepoError;

/// Time limit for a local server to list its models.
const PATIENCE: Duration = Duration::from_secs(3);
/// Limit on the models of a local server that are offered.
const OFFERED: usize = 5;
/// Limit in characters on the name of one.
const LONGEST_NAME: usize = 80;
/// The provider of local models.
const LOCAL: &str = "ollama";

/// A model that could review.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct UsableModel {
    /// Its name as the setting `model` takes it.
    pub(super) name: String,
    /// The source of its key, or of the server.
    pub(super) by: String,
}

/// The results of a detection.
#[derive(Debug, Clone, Default)]
pub(super) struct Detected {
    /// The models, the best guess first.
    pub(super) models: Vec<UsableModel>,
    /// The value of the setting `model` with its origin, if it is set.
    pub(super) current: Option<(String, String)>,
    /// The assistants on the `PATH`.
    pub(super) assistants: Vec<AssistantInfo>,
    /// The user's settings file.
    pub(super) settings_file: Option<PathBuf>,
    /// The root of the checkout; `None` outside of one.
    pub(super) root: Option<PathBuf>,
    /// The git folder that all worktrees share; `None` if the setting `core.hooksPath` names another folder of hooks.
    pub(super) git_folder: Option<PathBuf>,
    /// `true` if there is a hook before pushes.
    pub(super) has_hook: bool,
    /// `true` if the workflow is there.
    pub(super) has_workflow: bool,
}

impl Detected {
    /// Describes the results in lines.
    pub(super) fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        if let Some((model, origin)) = &self.current {
            lines.push(format!("the settings name a model already: {model} ({origin})"));
        }
        for model in &self.models {
            lines.push(format!("found {} ({})", model.name, model.by));
        }
        if self.models.is_empty() && self.current.is_none() {
            lines.push(
                "no model was found: set ANTHROPIC_API_KEY (or OPENAI_API_KEY, GEMINI_API_KEY), start ollama, or name one with --model"
                    .to_owned(),
            );
        }
        for assistant in &self.assistants {
            lines.push(format!("found the assistant {}", assistant.title));
        }
        if self.has_hook {
            lines.push("there is a pre-push hook already".to_owned());
        }
        if self.has_workflow {
            lines.push(format!("{} is there already", WORKFLOW_PATH.join("/")));
        }
        lines
    }

    /// Names the next steps.
    pub(super) fn next_steps(&self) -> Vec<String> {
        let installs = self.assistants.iter().map(|assistant| {
            format!("to let {} use it: review mcp install --client {}", assistant.title, assistant.name)
        });
        installs.chain(["to review your changes: review".to_owned()]).collect()
    }
}

/// Detects what there is. Nothing but a local server is asked, and it for the names of its models only.
pub(super) async fn detect(directory: &Path, around: &ProcessEnv) -> Result<Detected, AppError> {
    let mut detected = Detected { settings_file: config::user_file(), ..Detected::default() };
    let resolved = settings::resolve(None, &Flags::default(), around)?;
    if resolved.settings.model != ModelChoice::Auto {
        let origin = resolved.origins.iter().find(|(key, _, _)| *key == "model");
        detected.current = origin.map(|(_, value, origin)| (strip_line(&value.to_string()), origin.to_string()));
    }
    for provider in models(&ModelsAsk::default(), around).await? {
        if let (ProviderKeyState::Set { by }, Some(model), None) =
            (&provider.key, &provider.default_model, &provider.lacks)
        {
            let name = format!("{}/{model}", provider.name);
            detected.models.push(UsableModel { name, by: format!("key in {by}") });
        }
    }
    let ask = ModelsAsk { provider: Some(LOCAL.to_owned()), check: true };
    let local = tokio::time::timeout(PATIENCE, models(&ask, around)).await;
    for provider in local.ok().and_then(Result::ok).into_iter().flatten() {
        let Some(ProviderModels::Models(names)) = provider.there else { continue };
        let by = format!("a running ollama with {}", count_noun(names.len(), "model"));
        let offered = names.iter().take(OFFERED).map(|name| UsableModel {
            name: format!("{LOCAL}/{}", shorten(&strip_line(name), LONGEST_NAME)),
            by: by.clone(),
        });
        detected.models.extend(offered);
    }
    detected.assistants = installed_assistants();
    match Repo::open(directory) {
        Err(RepoError::NotARepository(_)) => {}
        Err(error) => return Err(error.into()),
        Ok(repo) => {
            detected.root = repo.workdir().map(Path::to_owned);
            detected.git_folder = (!repo.has_own_hooks_folder()).then(|| repo.common_dir().to_owned());
            detected.has_hook = exists(detected.git_folder.as_deref(), &HOOK_PATH);
            detected.has_workflow = exists(detected.root.as_deref(), &WORKFLOW_PATH);
        }
    }
    Ok(detected)
}

/// Checks whether something is at a path below a folder, if only a link.
fn exists(folder: Option<&Path>, parts: &[&str]) -> bool {
    folder.is_some_and(|folder| folder.join(parts.iter().collect::<PathBuf>()).symlink_metadata().is_ok())
}
