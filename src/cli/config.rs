//! `review config`: shows every setting, its value and its source; sets one, or opens the file.

use std::process::ExitCode;

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Subcommand};
use clap_complete::engine::{ArgValueCandidates, CompletionCandidate};

use super::args::{ScopeArgs, ShapeArgs};
use super::console::Console;
use super::{DirectoryArgs, LONGEST_LOOK};
use crate::app::{self, AppError, ProcessEnv, SettingsFile};
use crate::config::{KEYS, ResolvedSettings};
use crate::domain::request::ReviewRequest;
use crate::domain::text::strip_line;
use crate::present::Syntax;

/// Upper bound on the providers that are named for one unset setting.
const NAMED: usize = 4;

/// Examples in the help text.
const EXAMPLES: &str = "\
Examples:
  review config                                       every setting, its value and its source
  review config set model anthropic                   set one for yourself
  review config set exclude 'vendor/**' --project     set one in .review.toml
  review config edit                                  open your settings in $EDITOR
  review config path                                  where your settings are";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, args_conflicts_with_subcommands = true)]
pub(super) struct ConfigArgs {
    #[command(subcommand)]
    action: Option<ConfigAction>,
    #[command(flatten)]
    place: DirectoryArgs,
    #[command(flatten, next_help_heading = "The change whose project settings hold")]
    scope: ScopeArgs,
    #[command(flatten, next_help_heading = "Settings")]
    shape: ShapeArgs,
}

#[derive(Debug, Subcommand)]
enum ConfigAction {
    /// Set a setting; the rest of the file stays as it is
    Set(SetArgs),
    /// Open a settings file in your editor (VISUAL or EDITOR)
    Edit(ConfigFileArgs),
    /// Print the path of a settings file
    Path(ConfigFileArgs),
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  review config set model ollama/qwen3
  review config set max_cost 2.50
  review config set rules.off general/debug-leftover --project")]
struct SetArgs {
    /// The setting, as `review config` names it
    #[arg(value_name = "KEY", value_parser = NonEmptyStringValueParser::new(), add = ArgValueCandidates::new(keys))]
    key: String,
    /// Its value; a list with commas
    #[arg(value_name = "VALUE", allow_hyphen_values = true)]
    value: String,
    #[command(flatten)]
    file: ConfigFileArgs,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  review config edit\n  review config path --project")]
struct ConfigFileArgs {
    /// The project's .review.toml instead of your own settings; only what a project may set
    #[arg(long)]
    project: bool,
    #[command(flatten)]
    place: DirectoryArgs,
}

impl ConfigFileArgs {
    fn which(&self) -> SettingsFile {
        if self.project { SettingsFile::Project } else { SettingsFile::User }
    }
}

/// Completes the names of settings.
fn keys() -> Vec<CompletionCandidate> {
    KEYS.iter().map(|key| CompletionCandidate::new(key.name).help(Some(key.allowed.into()))).collect()
}

pub(super) fn run(args: ConfigArgs, console: &Console) -> Result<ExitCode, AppError> {
    match &args.action {
        Some(ConfigAction::Set(SetArgs { key, value, file })) => {
            let path = app::change_setting(file.which(), &file.place.directory, key, value)?;
            console.print_to_stderr(&format!("review: set {} in {}", strip_line(key), path.display()));
            if file.project {
                console.print_to_stderr("review: commit it: a review reads it from the target branch");
            }
            return Ok(ExitCode::SUCCESS);
        }
        // The user ends it, so there is no time limit.
        Some(ConfigAction::Edit(file)) => {
            let path = app::edit_settings(file.which(), &file.place.directory)?;
            console.print_to_stderr(&format!("review: edited {}", path.display()));
            return Ok(ExitCode::SUCCESS);
        }
        Some(ConfigAction::Path(file)) => {
            let path = app::settings_path(file.which(), &file.place.directory)?;
            console.write_data(format!("{}\n", path.display()).as_bytes(), Syntax::Plain)?;
            return Ok(ExitCode::SUCCESS);
        }
        None => {}
    }
    let own = console.clone();
    app::with_time_limit("reading the settings", LONGEST_LOOK, move || list(&args, &own))
}

fn list(args: &ConfigArgs, console: &Console) -> Result<ExitCode, AppError> {
    let request = ReviewRequest {
        directory: args.place.directory.clone(),
        settings_from_worktree: args.shape.settings_from_worktree(),
        scope: args.scope.clone().scope(),
    };
    let around = ProcessEnv::of_this_process()?;
    let resolved = app::settings(&request, &args.shape.overrides(), &around)?;
    let width = |of: &dyn Fn(&str, &str) -> usize| {
        resolved.origins.iter().map(|(key, value, _)| of(key, &value.to_string())).max().unwrap_or(0)
    };
    let (keys, values) = (width(&|key, _| key.len()), width(&|_, value| value.len()).min(40));
    let mut out = String::new();
    for (key, value, origin) in &resolved.origins {
        let value = strip_line(&value.to_string());
        out.push_str(&format!("{key:keys$}  {value:values$}  {}\n", strip_line(&origin.to_string())));
    }
    out.push_str(&unset(&resolved));
    out.push_str("change one: review config set KEY VALUE; the file: review config path\n");
    for name in around.providers.names() {
        out.push_str(&format!("{name} is set (not shown)\n"));
    }
    for name in &resolved.ignored_env {
        out.push_str(&format!("{} means nothing and is ignored\n", strip_line(name)));
    }
    console.write_data(out.as_bytes(), Syntax::Plain)?;
    Ok(ExitCode::SUCCESS)
}

/// Lists the settings that are unset for all or some providers: a line for each group.
fn unset(resolved: &ResolvedSettings) -> String {
    let is_unset = |name: &str| !resolved.origins.iter().any(|(set, _, _)| *set == name);
    let mut lacking: Vec<(&str, Vec<&str>)> = Vec::new();
    for key in KEYS.iter().filter(|key| is_unset(key.name)) {
        let (Some(provider), Some((_, field))) = (key.provider(), key.name.split_once('.')) else { continue };
        match lacking.last_mut().filter(|(last, _)| *last == provider) {
            Some((_, fields)) => fields.push(field),
            None => lacking.push((provider, vec![field])),
        }
    }
    let mut alike: Vec<(Vec<&str>, Vec<&str>)> = Vec::new();
    for (provider, fields) in lacking {
        match alike.iter_mut().find(|(known, _)| *known == fields) {
            Some((_, providers)) => providers.push(provider),
            None => alike.push((fields, vec![provider])),
        }
    }
    let line = |(fields, providers): &(Vec<&str>, Vec<&str>)| {
        let (named, more) = providers.split_at(NAMED.min(providers.len()));
        let more = if more.is_empty() { String::new() } else { format!(" and {} more", more.len()) };
        format!("{} of {}{more}: not set\n", fields.join(", "), named.join(", "))
    };
    alike.iter().map(line).collect()
}
