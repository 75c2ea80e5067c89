//! `review editor`: the window of an editor that shows reviews.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};

use super::GRACE;
use super::console::Console;
use crate::app::{self, AppError, Cancel, EditorOptions};
use crate::domain::event::NullEventSink;
use crate::present::Syntax;
use crate::present::editor::{json, terminal};

/// The flags that name an editor.
#[derive(Debug, Clone, Args)]
pub(super) struct EditorLocationArgs {
    /// Use the editor at this socket or named pipe [default: `DIALECTIC_IPC_PATH`]
    #[arg(long, value_name = "PATH")]
    pub(super) socket: Option<PathBuf>,
    /// Also search for the editor that this terminal belongs to
    #[arg(long)]
    pub(super) discover: bool,
}

impl EditorLocationArgs {
    /// Converts them to options; `variable` allows the editor that the environment names.
    pub(super) fn options(&self, variable: bool) -> EditorOptions {
        EditorOptions { socket: self.socket.clone(), variable, discover: self.discover }
    }
}

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  review editor probe        find the window, and say why if there is none")]
pub(super) struct EditorArgs {
    #[command(subcommand)]
    action: EditorCommand,
}

#[derive(Debug, Subcommand)]
enum EditorCommand {
    /// Search for an editor, and see whether it answers
    Probe(EditorProbeArgs),
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  review editor probe                  is this a terminal of an editor that shows reviews?
  review editor probe --discover       also look for sockets that are named after parent processes
  review editor probe --socket PATH --json

Exits with 0 if an editor answers, else with 2. docs/editors-dialectic.md has the details.")]
struct EditorProbeArgs {
    #[command(flatten)]
    location: EditorLocationArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &EditorArgs, console: &Console) -> Result<ExitCode, AppError> {
    let EditorCommand::Probe(args) = &args.action;
    let work = async { Ok(app::probe_editor(&args.location.options(true)).await) };
    let probe = app::run_command(&Cancel::never(), &NullEventSink, GRACE, work)?;
    if args.json {
        console.write_data(&json(&probe), Syntax::Json)?;
    } else {
        console.write_data(terminal(&probe, app::NO_EDITOR).as_bytes(), Syntax::Plain)?;
    }
    let answers = probe.editor.is_some_and(|editor| editor.fault.is_none());
    Ok(if answers { ExitCode::SUCCESS } else { ExitCode::from(2) })
}
