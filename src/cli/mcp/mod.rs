//! `review mcp`: serves AI assistants.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, FromArgMatches as _, Subcommand};

mod install;

use super::DirectoryArgs;
use super::args::values;
use super::console::Console;
use super::editor::EditorLocationArgs;
use crate::app::{AppError, Overrides, ProcessEnv, PullServing, Service, ServiceOptions};
use crate::domain::secret::Secret;
use crate::mcp::{self, HttpOptions, McpTransport, ToolSelection};
use install::InstallArgs;

/// Time limit for saving reviews that are still running when the server ends.
const GRACE: Duration = Duration::from_secs(5);
/// The variable that holds the token.
const TOKEN: &str = "REVIEW_MCP_TOKEN";

#[derive(Debug, Subcommand)]
enum McpCommand {
    /// Register the server with a client (an editor, an assistant)
    Install(InstallArgs),
    /// Serve the tools of a running review to the assistant that makes it
    #[command(hide = true)]
    Bridge {
        /// The socket of the review
        socket: PathBuf,
    },
}

#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
Examples:
  review mcp                           serve the client that starts this program
  review mcp -C ~/app --root ~/work    … and let it read the repositories there
  review mcp --http 127.0.0.1:8080     serve at http://127.0.0.1:8080/mcp
  review mcp --tools default,-review   without the tool that starts reviews
  review mcp --tools default,pr        with those that read pull requests
  review mcp --discover                show reviews in the window of the editor around

Clients start it on their own once it is registered: review mcp install.
Standard output carries the protocol and nothing else."
)]
pub(super) struct McpArgs {
    #[command(subcommand)]
    action: Option<McpCommand>,
    #[command(flatten)]
    place: DirectoryArgs,
    /// Also allow repositories below this folder; repeatable
    #[arg(long, value_name = "DIR")]
    root: Vec<PathBuf>,
    /// Offer these tools: names, default, all, pr; -NAME leaves one out
    #[arg(long, value_name = "LIST", value_delimiter = ',', allow_hyphen_values = true)]
    tools: Vec<String>,
    /// Allow clients to dismiss findings and to resolve comments on pull requests
    #[arg(long)]
    allow_write: bool,
    /// The interval at which a watched pull request is checked, in milliseconds; for tests
    #[arg(long, value_name = "MS", default_value_t = 60_000, hide = true)]
    watch_every: u64,
    /// Serve over HTTP at this address instead of standard input and output
    #[arg(long, value_name = "ADDRESS:PORT", help_heading = "HTTP")]
    http: Option<SocketAddr>,
    /// Admit clients with the token in this file (or in `REVIEW_MCP_TOKEN`)
    #[arg(long, value_name = "FILE", requires = "http", help_heading = "HTTP")]
    token_file: Option<PathBuf>,
    /// A host name that clients may use for the server; repeatable
    #[arg(long, value_name = "HOST", requires = "http", help_heading = "HTTP")]
    host: Vec<String>,
    /// Model for reviews that clients start
    #[arg(short, long, value_name = "MODEL", value_parser = values::ModelParser, hide_possible_values = true, conflicts_with = "no_model", help_heading = "Who reviews")]
    model: Option<String>,
    /// Use only the built-in rules for reviews that clients start
    #[arg(long, help_heading = "Who reviews")]
    no_model: bool,
    /// Log each call to this file: tool, duration, outcome
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
    #[command(flatten, next_help_heading = "Editor")]
    editor: EditorLocationArgs,
}

pub(super) fn run(args: McpArgs, console: &Console) -> Result<ExitCode, AppError> {
    match args.action {
        Some(McpCommand::Install(install)) => return install::run(install, console),
        Some(McpCommand::Bridge { socket }) => return bridge(&socket),
        None => {}
    }
    let door = door(&args, console)?;
    let mut offer =
        ToolSelection::new(&args.tools, args.allow_write).map_err(|error| AppError::Serve(error.to_string()))?;
    // Whoever connects over HTTP need not be the person at the editor: one that the environment names is not used there.
    let window = args.editor.options(args.http.is_none()).find();
    if window.is_some() {
        offer = offer.with_editor(&args.tools);
    }
    let flags =
        Overrides { model: if args.no_model { Some("none".to_owned()) } else { args.model }, ..Overrides::default() };
    let options = ServiceOptions {
        directory: args.place.directory,
        roots: args.root,
        flags,
        allow_write: args.allow_write,
        log: args.log,
    };
    let named = options.flags.model.is_some();
    let pulls = PullServing {
        on: offer.serves_pulls(args.http.is_some()),
        every: Duration::from_millis(args.watch_every.max(1)),
    };
    let service = Service::open(options, ProcessEnv::of_this_process()?)?;
    let mut service = service.with_pulls(pulls);
    if let Some(window) = window {
        service = service.with_editor(window);
    }
    let service = Arc::new(service);
    let say = |line: String| console.print_to_stderr(&format!("review: {line}"));
    // Reported now, to the person who starts the server. An error in the settings need not stop a server whose other tools work without a
    // model: a desktop program starts it without the API keys of a shell.
    match service.check_model() {
        Err(error) if named => return Err(error),
        Err(error) if offer.offers_reviews() => say(format!("the tool review will not work: {error}")),
        Err(_) | Ok(()) => {}
    }
    // The number of blocking threads is bounded, so that requests of a greedy client queue up.
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).max_blocking_threads(32).enable_all().build()?;
    let ended = runtime.block_on(mcp::serve(service, offer, door, GRACE, say));
    // A thread that waits for standard input forever must not keep the process alive.
    runtime.shutdown_background();
    ended.map_err(|error| AppError::Serve(error.to_string()))?;
    Ok(ExitCode::SUCCESS)
}

fn bridge(socket: &Path) -> Result<ExitCode, AppError> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let ended = runtime.block_on(mcp::serve_bridge(socket));
    runtime.shutdown_background();
    ended.map_err(|error| AppError::Serve(error.to_string()))?;
    Ok(ExitCode::SUCCESS)
}

/// Checks whether a client could start the server with these flags; the error says why not.
fn check_flags(flags: &[String]) -> Result<(), String> {
    let server = McpArgs::augment_args(clap::Command::new("review mcp").no_binary_name(true));
    let fault = |error: clap::Error| {
        let text = error.to_string();
        let first = text.lines().next().unwrap_or_default().trim_start_matches("error: ");
        format!("a server with these flags would not start: {first}")
    };
    let read = server.try_get_matches_from(flags).and_then(|read| McpArgs::from_arg_matches(&read)).map_err(fault)?;
    if read.action.is_some() || read.http.is_some() {
        return Err("clients start the server over standard input and output: leave --http and install out".to_owned());
    }
    ToolSelection::new(&read.tools, read.allow_write).map(drop).map_err(|error| error.to_string())
}

fn door(args: &McpArgs, console: &Console) -> Result<McpTransport, AppError> {
    let Some(address) = args.http else { return Ok(McpTransport::Stdio(console.logs())) };
    let token = match &args.token_file {
        Some(path) => Some(crate::app::secret_file(path)?),
        None => {
            std::env::var(TOKEN).ok().filter(|token| !token.trim().is_empty()).map(|token| Secret::new(token.trim()))
        }
    };
    Ok(McpTransport::Http(HttpOptions { address, token, hosts: args.host.clone() }))
}
