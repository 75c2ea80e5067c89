//! `review config`: shows every setting, its value and its source.

use std::process::ExitCode;

use clap::Args;

use super::DirectoryArgs;
use super::args::{ScopeArgs, ShapeArgs};
use super::console::Console;
use crate::app::{self, AppError, ProcessEnv};
use crate::config::{KEYS, ResolvedSettings};
use crate::domain::request::ReviewRequest;
use crate::domain::text::strip_line;
use crate::present::Syntax;

/// Upper bound on the providers that are named for one unset setting.
const NAMED: usize = 4;

#[derive(Debug, Args)]
pub(super) struct ConfigArgs {
    #[command(flatten)]
    place: DirectoryArgs,
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
