//! `review config`: every setting, its value, and where that came from.

use std::process::ExitCode;

use clap::Args;

use super::Place;
use super::args::{ScopeArgs, ShapeArgs};
use super::console::Console;
use crate::app::{self, AppError, Surroundings};
use crate::config::{KEYS, Key, Resolved};
use crate::domain::request::ReviewRequest;
use crate::domain::text::strip_line;

#[derive(Debug, Args)]
pub(super) struct ConfigArgs {
    #[command(flatten)]
    place: Place,
    #[command(flatten, next_help_heading = "The change whose project settings hold")]
    scope: ScopeArgs,
    #[command(flatten, next_help_heading = "Settings")]
    shape: ShapeArgs,
}

pub(super) fn run(args: &ConfigArgs, console: &Console) -> Result<ExitCode, AppError> {
    let request = ReviewRequest {
        directory: args.place.directory.clone(),
        settings_from_worktree: args.shape.settings_from_worktree(),
        scope: args.scope.clone().scope(),
    };
    let around = Surroundings::of_this_process()?;
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
    for name in around.providers.names() {
        out.push_str(&format!("{name} is set (not shown)\n"));
    }
    for name in &resolved.ignored_env {
        out.push_str(&format!("{} means nothing and is ignored\n", strip_line(name)));
    }
    console.data(out.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

/// The settings without a default that nobody set; those of a provider in one line.
fn unset(resolved: &Resolved) -> String {
    let is_unset = |key: &&Key| !resolved.origins.iter().any(|(name, _, _)| *name == key.name);
    let mut out = String::new();
    for key in KEYS.iter().filter(|key| key.provider().is_some()).filter(is_unset) {
        let (provider, field) = key.name.split_once('.').unwrap_or((key.name, ""));
        match out.lines().last() {
            Some(line) if line.starts_with(&format!("not set: {provider}.")) => {
                out.pop();
                out.push_str(&format!(", {field}\n"));
            }
            _ => out.push_str(&format!("not set: {provider}.{field}\n")),
        }
    }
    out
}
