//! `review ask`: a question about a finding or a saved review.

use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use clap::builder::NonEmptyStringValueParser;

use super::DirectoryArgs;
use super::GRACE;
use super::args::values;
use super::console::Console;
use super::review::render_options;
use crate::app::{self, AnsweredQuestion, AppError, AskRequest, Cancel, Overrides, ProcessEnv};
use crate::config::Colour;
use crate::domain::event::EventSink;
use crate::domain::text::{count_noun, strip_block, strip_line};
use crate::present::{Syntax, digest, presented};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  review ask 5aaf7 'why is this reachable?'      about a finding of the newest run
  review ask last 'what did it not look at?'     about a whole run
  review ask 5aaf7 'is there a test?' --model ollama/qwen3 --max-cost 0.10

The model reads the reviewed commit, not the disk. The saved review is never changed.

Exit codes:
  0 answered                       2 no model, or no such finding or run
  3 a limit was reached            4 the model provider failed
  130 interrupted")]
pub(super) struct AskArgs {
    /// The id of a finding or of a run, a prefix of one, or `last`
    #[arg(value_name = "ID", value_parser = NonEmptyStringValueParser::new())]
    id: String,
    /// The question
    #[arg(value_name = "QUESTION", value_parser = NonEmptyStringValueParser::new())]
    question: String,
    /// The run with the finding: its id, a prefix of one, or `last` [default: the newest of this repository]
    #[arg(long, value_name = "RUN")]
    run: Option<String>,
    /// Ask this model: PROVIDER/NAME, or a PROVIDER alone [default: the one that would review]
    #[arg(long, value_name = "MODEL", value_parser = values::ModelParser, hide_possible_values = true)]
    model: Option<String>,
    /// Maximum cost in dollars (0.25); needs the prices of the model [default: no limit]
    #[arg(long, visible_alias = "budget", value_name = "DOLLARS")]
    max_cost: Option<String>,
    /// Maximum number of tokens sent to the model (100k) [default: 2m]
    #[arg(long, value_name = "N")]
    max_tokens: Option<String>,
    /// Maximum number of turns [default: 40]
    #[arg(long, value_name = "N")]
    max_turns: Option<String>,
    /// Total time limit (90s, 5m) [default: 20m]
    #[arg(long, value_name = "TIME")]
    timeout: Option<String>,
    /// Print only the answer and errors
    #[arg(short, long)]
    quiet: bool,
    #[command(flatten)]
    place: DirectoryArgs,
}

pub(super) fn run(args: AskArgs, console: &Console) -> Result<ExitCode, AppError> {
    let flags = Overrides {
        model: args.model,
        max_cost: args.max_cost,
        max_tokens: args.max_tokens,
        max_turns: args.max_turns,
        timeout: args.timeout,
        ..Overrides::default()
    };
    let request =
        AskRequest { directory: args.place.directory, name: args.id, run: args.run, question: args.question, flags };
    let around = ProcessEnv::of_this_process()?;
    let progress = Arc::new(console.progress(args.quiet));
    let sink: Arc<dyn EventSink> = progress.clone();
    let cancel = Cancel::never();
    let work = app::ask(request, around, Arc::clone(&sink), cancel.clone());
    let ended = app::run_command(&cancel, &*sink, GRACE, work);
    progress.finish();
    let AnsweredQuestion { text, model, turns, usage: spent } = ended?;
    if console.stdout_is_terminal {
        let options = render_options(console, Colour::Auto, None);
        console.write_data(&presented::terminal(&text, &options), Syntax::Plain)?;
    } else {
        console.write_data(format!("{}\n", strip_block(&text).trim_end()).as_bytes(), Syntax::Plain)?;
    }
    if !args.quiet {
        let turns = count_noun(usize::try_from(turns).unwrap_or(usize::MAX), "turn");
        console.print_to_stderr(&strip_line(&format!(
            "review: answered by {model} in {turns}, {}",
            digest::spent(spent).join(", ")
        )));
    }
    Ok(ExitCode::SUCCESS)
}
