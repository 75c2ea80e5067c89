//! `review mcp install`: registers the server with a client, or prints how to do that.

use std::process::ExitCode;

use clap::Args;
use clap::builder::PossibleValuesParser;

use super::super::DirectoryArgs;
use super::super::console::Console;
use super::check_flags;
use crate::app::AppError;
use crate::app::clients::{
    self, CLIENTS, ClientFolders, ClientSetup, McpClient, SetupRequest, SetupScope, WriteOutcome,
};
use crate::domain::text::strip_line;
use crate::present::Syntax;

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  review mcp install                                list the clients\n  review mcp install --client claude-code --write   register with one"
)]
pub(super) struct InstallArgs {
    #[command(flatten)]
    place: DirectoryArgs,
    /// The client; without it, the known ones are listed
    #[arg(long, value_name = "CLIENT", value_parser = PossibleValuesParser::new(CLIENTS.iter().map(|client| client.name)))]
    client: Option<String>,
    /// Set it up in this project, or for yourself [default: project, where the client has such a file]
    #[arg(long, value_name = "FOR", value_parser = ["project", "user"])]
    scope: Option<String>,
    /// Write it into the client's file instead of printing it; the rest of the file stays as it is
    #[arg(long)]
    write: bool,
    /// Replace another server of the same name
    #[arg(long, requires = "write")]
    force: bool,
    /// The name of the server in the client
    #[arg(long, value_name = "NAME", default_value = "review")]
    name: String,
    /// The command that starts this program [default: its path for a user, `review` for a project]
    #[arg(long, value_name = "PROGRAM")]
    command: Option<String>,
    /// Flags for `review mcp`, after --
    #[arg(last = true, value_name = "FLAGS")]
    flags: Vec<String>,
}

pub(super) fn run(args: InstallArgs, console: &Console) -> Result<ExitCode, AppError> {
    // The parser checked the values against the table.
    let Some(client) = args.client.as_deref().and_then(McpClient::find) else {
        console.print_to_stderr(&list_clients());
        return Ok(ExitCode::from(2));
    };
    let scope = match args.scope.as_deref() {
        Some("project") => SetupScope::Project,
        Some(_) => SetupScope::User,
        None => client.default_scope(),
    };
    if let Err(fault) = check_flags(&args.flags) {
        return Err(AppError::Serve(fault));
    }
    let wanted = SetupRequest {
        client,
        scope,
        name: args.name,
        program: args.command.unwrap_or_else(|| clients::program_name(scope)),
        project: clients::project(&args.place.directory)?,
        flags: args.flags,
        keys: set_keys(),
    };
    let setup = clients::setup(&wanted, ClientFolders::of_this_process().as_ref())?;
    if args.write {
        let (written, path) = clients::write(&setup, client.title, args.force)?;
        let path = path.display();
        console.print_to_stderr(&strip_line(&match written {
            WriteOutcome::Created => format!("review: wrote {path}"),
            WriteOutcome::Added => format!("review: added {:?} to {path}", wanted.name),
            WriteOutcome::Replaced => format!("review: replaced {:?} in {path}", wanted.name),
            WriteOutcome::Same => format!("review: {path} has it already"),
        }));
    } else {
        print(&setup, client, console)?;
    }
    for note in &setup.notes {
        console.print_to_stderr(&strip_line(&format!("review: {note}")));
    }
    Ok(ExitCode::SUCCESS)
}

/// Names the variables with keys of models that are set.
fn set_keys() -> Vec<String> {
    let is_set = |name: &&str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    clients::key_variables().filter(is_set).map(str::to_owned).collect()
}

/// Lists the clients, with the command for each.
fn list_clients() -> String {
    let wide = |text: fn(&McpClient) -> usize| CLIENTS.iter().map(text).max().unwrap_or(0);
    let (title, name) = (wide(|client| client.title.len()), wide(|client| client.name.len()));
    let mut text = "review: which program will start the server? Name it with --client:\n\n".to_owned();
    for client in CLIENTS {
        let place =
            client.project_file().map_or_else(|| "for yourself".to_owned(), |file| format!("{file} of this project"));
        text.push_str(&format!(
            "  {:title$}  review mcp install --client {:name$}  # {place}\n",
            client.title, client.name
        ));
    }
    text.push_str("\nThat prints the settings of the client; --write adds them to its file. For any other client, have it run `review mcp`.");
    text
}

/// Prints text for copying to standard output, its explanation to standard error.
fn print(setup: &ClientSetup, client: &McpClient, console: &Console) -> Result<(), AppError> {
    let title = client.title;
    match (&setup.file, &setup.command) {
        (Some((path, text)), command) => {
            console.print_to_stderr(&format!(
                "review: {title} reads {}; put this there, or have it put there with --write:",
                strip_line(&path.display().to_string())
            ));
            let syntax = if path.extension().is_some_and(|it| it == "toml") { Syntax::Plain } else { Syntax::Json };
            console.write_data(text.as_bytes(), syntax)?;
            if let Some(command) = command {
                console.print_to_stderr(&format!("review: or let {title} do it: {command}"));
            }
        }
        (None, command) => {
            console.print_to_stderr(&format!("review: {title} does it itself; run this:"));
            console.write_data(format!("{}\n", command.as_deref().unwrap_or_default()).as_bytes(), Syntax::Plain)?;
        }
    }
    Ok(())
}
