//! The files of a setup. Main function: [`plan`]; main types: [`InitPlan`], [`PlannedFile`].

use std::io;
use std::path::{Path, PathBuf};

use super::InitError;
use super::choices::{HOOK_PATH, InitChoices, WORKFLOW_PATH};
use super::detect::Detected;
use crate::app::context::error::AppError;
use crate::app::inspect::settings_file::with_setting;
use crate::domain::finding::Severity;
use crate::llm;
use crate::sys::contained_folder::ContainedFolder;
use crate::sys::files;

/// The git hook; the gate is its default.
const HOOK: &str = include_str!("../../../docs/recipes/pre-push");
const HOOK_GATE: &str = "setting failOn high)";
/// The workflow; the model and its key are those of the first provider.
const WORKFLOW: &str = include_str!("../../../docs/recipes/github-review.yml");
const WORKFLOW_MODEL: &str = "          model: anthropic\n          key: ${{ secrets.ANTHROPIC_API_KEY }}\n";
/// The part of the workflow that only its user knows.
const ACTION: &str = "OWNER/review@<full commit SHA>";
/// The most bytes of a file that is compared.
const MOST: u64 = 1 << 20;

/// The files to write.
#[derive(Debug, Default)]
pub(super) struct InitPlan {
    /// The new files and the changed settings.
    pub(super) files: Vec<PlannedFile>,
    /// Sentences about files that stay as they are.
    pub(super) unchanged: Vec<String>,
}

/// A file to write.
#[derive(Debug)]
pub(super) enum PlannedFile {
    /// The user's settings, with a model.
    Settings {
        /// The file.
        path: PathBuf,
        /// Its whole text.
        text: String,
        /// The line with the model.
        line: String,
    },
    /// A file of the repository or of git, which must not exist.
    New {
        /// The folder that it is written below.
        root: PathBuf,
        /// The folders and the name below it.
        parts: Vec<&'static str>,
        /// The whole text.
        text: String,
        /// Its purpose, a phrase.
        purpose: String,
        /// `true` for a program.
        is_program: bool,
    },
}

impl PlannedFile {
    /// The path of the file.
    pub(super) fn path(&self) -> PathBuf {
        match self {
            Self::Settings { path, .. } => path.clone(),
            Self::New { root, parts, .. } => root.join(parts.iter().collect::<PathBuf>()),
        }
    }

    /// Describes the file in a line.
    pub(super) fn describe(&self) -> String {
        match self {
            Self::Settings { path, line, .. } => format!("  {}: {line}", path.display()),
            Self::New { purpose, text, .. } => {
                format!("  {}: {purpose} ({} lines)", self.path().display(), text.lines().count())
            }
        }
    }

    /// Names what is left to do in it.
    pub(super) fn next_step(&self) -> Option<String> {
        let Self::New { parts, text, .. } = self else { return None };
        let (_, secret) = text.split_once("secrets.").unwrap_or_default();
        let secret = secret.split(' ').next().filter(|name| !name.is_empty());
        let key = secret.map_or_else(String::new, |name| format!(", and store the key as the secret {name}"));
        text.contains(ACTION)
            .then(|| format!("in {}, replace {ACTION} by the action and its commit{key}", parts.join("/")))
    }

    /// Writes it.
    pub(super) fn write(&self) -> Result<(), AppError> {
        match self {
            Self::Settings { path, text, .. } => files::rewrite(path, text.as_bytes()).map_err(AppError::Input),
            Self::New { root, parts, text, is_program, .. } => {
                write_new(root, parts, text, *is_program).map_err(|error| {
                    let why = format!("cannot write {}: {error}", self.path().display());
                    io::Error::new(error.kind(), why).into()
                })
            }
        }
    }
}

/// Writes a file that does not exist, through no link.
fn write_new(root: &Path, parts: &[&str], text: &str, is_program: bool) -> io::Result<()> {
    let Some((name, folders)) = parts.split_last() else { return Ok(()) };
    let mut folder = root.to_owned();
    for part in folders {
        ContainedFolder::new(&folder)?.make_folder(part)?;
        folder.push(part);
    }
    if !ContainedFolder::new(&folder)?.replace(name.as_bytes(), None, text.as_bytes())? {
        return Err(io::Error::other("it was made meanwhile"));
    }
    if is_program { files::make_executable(&folder.join(name)) } else { Ok(()) }
}

/// Plans the files. One that exists is left as it is.
pub(super) fn plan(choices: &InitChoices, detected: &Detected) -> Result<InitPlan, AppError> {
    let mut plan = InitPlan::default();
    if let Some(model) = &choices.model {
        plan_settings(&mut plan, model, detected)?;
    }
    if let Some(gate) = choices.hook {
        match &detected.git_folder {
            Some(folder) => {
                let purpose = format!("stops a push with findings of severity {gate} and above");
                plan_new(&mut plan, folder, &HOOK_PATH, hook(gate), purpose, true);
            }
            None if detected.root.is_none() => plan.unchanged.push("no hook: this is no git repository".to_owned()),
            None => plan.unchanged.push(
                "no hook: the git setting core.hooksPath names another folder; copy docs/recipes/pre-push there"
                    .to_owned(),
            ),
        }
    }
    if choices.workflow {
        match &detected.root {
            Some(root) => {
                let model = choices.model.as_deref().or(detected.current.as_ref().map(|(model, _)| model.as_str()));
                let purpose = "reviews pull requests on GitHub".to_owned();
                plan_new(&mut plan, root, &WORKFLOW_PATH, workflow(model), purpose, false);
            }
            None => plan.unchanged.push("no workflow: this is no checkout".to_owned()),
        }
    }
    Ok(plan)
}

/// Plans the setting `model`, unless the file has it. Everything else in the file stays.
fn plan_settings(plan: &mut InitPlan, model: &str, detected: &Detected) -> Result<(), AppError> {
    let path = detected.settings_file.clone().ok_or(InitError::NoHome)?;
    match with_setting(&path, "model", model, false)? {
        None => plan.unchanged.push(format!("{} has the model {model} already", path.display())),
        Some(text) => {
            let line = format!("model = {}", toml::Value::from(model));
            plan.files.push(PlannedFile::Settings { path, text, line });
        }
    }
    Ok(())
}

fn plan_new(plan: &mut InitPlan, root: &Path, parts: &[&'static str], text: String, purpose: String, is_program: bool) {
    let file = PlannedFile::New { root: root.to_owned(), parts: parts.to_vec(), text, purpose, is_program };
    let path = file.path();
    // A link that leads nowhere is something, too.
    if path.symlink_metadata().is_err() {
        plan.files.push(file);
        return;
    }
    let PlannedFile::New { text, .. } = &file else { return };
    let is_same = files::read_plain(&path, MOST).ok().flatten().is_some_and(|found| found == text.as_bytes());
    let path = path.display();
    plan.unchanged.push(if is_same {
        format!("{path} is there already")
    } else {
        format!("{path} is left as it is: another file is there; remove it first to have it written")
    });
}

fn hook(gate: Severity) -> String {
    HOOK.replace(HOOK_GATE, &format!("setting failOn {gate})"))
}

/// Returns the workflow for a model; for the rules without one, or if its key is nothing that a secret holds.
fn workflow(model: Option<&str>) -> String {
    let provider = model.and_then(|model| model.split(['/', ',']).next()).unwrap_or("none");
    let key =
        llm::heads().into_iter().find(|head| head.name == provider && head.needs_key).map(|head| head.key_variable);
    let with = match key {
        Some(key) => format!("          model: {provider}\n          key: ${{{{ secrets.{key} }}}}\n"),
        None => "          model: none\n".to_owned(),
    };
    WORKFLOW.replace(WORKFLOW_MODEL, &with)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn detected(folder: &Path) -> Detected {
        Detected {
            settings_file: Some(folder.join("config/review/config.toml")),
            root: Some(folder.join("shop")),
            git_folder: Some(folder.join("shop/.git")),
            ..Detected::default()
        }
    }

    fn choices() -> InitChoices {
        InitChoices { model: Some("openai/x".to_owned()), hook: Some(Severity::Medium), workflow: true }
    }

    #[test]
    fn files_are_written_once_and_never_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("shop/.git")).unwrap();
        let detected = detected(folder.path());
        let first = plan(&choices(), &detected).unwrap();
        assert_eq!((first.files.len(), first.unchanged.len()), (3, 0));
        let steps: Vec<String> = first.files.iter().filter_map(PlannedFile::next_step).collect();
        assert_eq!(steps.len(), 1, "{steps:?}");
        assert!(steps[0].ends_with("and store the key as the secret OPENAI_API_KEY"), "{steps:?}");
        first.files.iter().for_each(|file| file.write().unwrap());
        let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
        assert_eq!(read("config/review/config.toml"), "model = \"openai/x\"\n");
        assert!(read("shop/.git/hooks/pre-push").contains("setting failOn medium)"));
        let workflow = read("shop/.github/workflows/review.yml");
        assert!(workflow.contains("model: openai\n          key: ${{ secrets.OPENAI_API_KEY }}"), "{workflow}");
        let again = plan(&choices(), &detected).unwrap();
        assert_eq!((again.files.len(), again.unchanged.len()), (0, 3), "{:?}", again.unchanged);
        assert!(again.unchanged.iter().all(|line| line.contains("already")), "{:?}", again.unchanged);
        let other = InitChoices { model: Some("gemini".to_owned()), hook: Some(Severity::High), workflow: true };
        let other = plan(&other, &detected).unwrap();
        assert_eq!((other.files.len(), other.unchanged.len()), (1, 2), "the model that was chosen is set");
        assert!(other.unchanged.iter().all(|line| line.contains("left as it is")), "{:?}", other.unchanged);
        assert_eq!(other.files[0].describe().split(": ").nth(1), Some("model = \"gemini\""));
    }

    #[test]
    fn a_model_joins_the_settings_that_there_are() {
        let folder = tempfile::tempdir().unwrap();
        let detected = detected(folder.path());
        let path = detected.settings_file.clone().unwrap();
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, "# mine\nfail_on = \"high\"\n[ollama]\ncontext_window = 32000\n").unwrap();
        let choices = InitChoices { model: Some("ollama/a\"b".to_owned()), ..InitChoices::default() };
        plan(&choices, &detected).unwrap().files.iter().for_each(|file| file.write().unwrap());
        let text = std::fs::read_to_string(&path).unwrap();
        let table: toml::Table = toml::from_str(&text).unwrap();
        assert_eq!(table["model"].as_str(), Some("ollama/a\"b"), "{text}");
        assert!(text.contains("# mine") && table["ollama"]["context_window"].as_integer() == Some(32_000));
        std::fs::write(&path, "model = [").unwrap();
        assert!(plan(&choices, &detected).unwrap_err().to_string().contains("not valid TOML"));
    }

    #[cfg(unix)]
    #[test]
    fn no_link_leads_the_workflow_out_of_the_repository() {
        let folder = tempfile::tempdir().unwrap();
        let shop = folder.path().join("shop");
        std::fs::create_dir_all(shop.join(".git")).unwrap();
        std::fs::create_dir(folder.path().join("elsewhere")).unwrap();
        std::os::unix::fs::symlink("../elsewhere", shop.join(".github")).unwrap();
        let choices = InitChoices { workflow: true, ..InitChoices::default() };
        let made = plan(&choices, &detected(folder.path())).unwrap();
        assert!(made.files[0].write().is_err());
        assert_eq!(std::fs::read_dir(folder.path().join("elsewhere")).unwrap().count(), 0);
    }

    #[test]
    fn the_texts_that_are_adapted_are_in_the_recipes() {
        assert!(HOOK.contains(HOOK_GATE) && WORKFLOW.contains(WORKFLOW_MODEL) && WORKFLOW.contains(ACTION));
        assert!(workflow(Some("ollama/qwen")).contains("          model: none\n          fail-on"));
    }
}
