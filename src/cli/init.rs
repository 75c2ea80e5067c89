//! `review init`: sets reviews up, with a few questions.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;

use super::DirectoryArgs;
use super::args::values;
use super::console::Console;
use crate::app::{self, AppError, Cancel, CancelReason, HookGate, InitError, InitRequest, ProcessEnv, Questioner};
use crate::domain::event::{Event, EventSink};
use crate::domain::finding::Severity;
use crate::domain::text::strip_line;

/// Questions that are repeated after an invalid answer before the setup ends.
const TRIES: usize = 3;
/// The longest answer, in bytes.
const LONGEST_ANSWER: u64 = 1_000;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  review init                                  look what is there, and ask
  review init --yes                            take the defaults: write the settings, nothing else
  review init --yes --hook high --workflow     and the git hook and the workflow for GitHub
  review init --model ollama/qwen3             name the model

It finds keys in the environment, a running ollama and installed assistants, tests the model with one
small request without code, and shows each file before it is written. Only the model is changed in
settings that exist, no other file is overwritten, and no key is written anywhere.

Exit codes: 0 set up, 2 not possible, 4 the model does not respond, 130 interrupted")]
pub(super) struct InitArgs {
    /// Take the defaults and ask nothing, for scripts
    #[arg(short, long)]
    yes: bool,
    /// Review with this model: PROVIDER/NAME, a PROVIDER alone, or none [default: asked, else the first that is found]
    #[arg(long, value_name = "MODEL", value_parser = values::ModelParser, hide_possible_values = true)]
    model: Option<String>,
    /// Install a git hook that stops a push with findings at or above this severity, or none [default: asked, else none]
    #[arg(long, value_name = "SEVERITY", value_parser = hook_gate)]
    hook: Option<HookGate>,
    /// Write .github/workflows/review.yml, which reviews pull requests [default: asked, else no]
    #[arg(long)]
    workflow: bool,
    /// Do not test the model
    #[arg(long)]
    no_test: bool,
    #[command(flatten)]
    place: DirectoryArgs,
}

fn hook_gate(text: &str) -> Result<HookGate, String> {
    if text.eq_ignore_ascii_case("none") {
        return Ok(HookGate::Off);
    }
    let found = Severity::ALL.iter().find(|severity| severity.word().eq_ignore_ascii_case(text));
    let found = found.map(|severity| HookGate::From(*severity));
    found.ok_or_else(|| "it is critical, high, medium, low, nit or none".to_owned())
}

pub(super) fn run(args: InitArgs, console: &Console) -> Result<ExitCode, AppError> {
    if !args.yes && !console.can_ask() {
        let why = "review init asks questions, and there is no terminal to answer them: add --yes to take the defaults";
        return Err(AppError::Unusable(why.to_owned()));
    }
    let request = InitRequest {
        directory: args.place.directory,
        model: args.model,
        hook: args.hook,
        workflow: args.workflow.then_some(true),
        test: !args.no_test,
    };
    let around = ProcessEnv::of_this_process()?;
    // A progress bar would be drawn over the questions.
    let sink: Arc<dyn EventSink> = Arc::new(NoticePrinter(console.clone()));
    let cancel = Cancel::never();
    let questions = ConsoleQuestions { console: console.clone(), yes: args.yes };
    let work = app::init(request, questions, around, Arc::clone(&sink), cancel.clone());
    // Nothing is being written while an answer is awaited, so an interrupt ends it at once.
    match app::run_command(&cancel, &*sink, Duration::ZERO, work) {
        Err(AppError::Stopped(CancelReason::Interrupted)) => {
            // Below the question.
            console.print_to_stderr("");
            Err(InitError::Interrupted.into())
        }
        ended => ended.map(|_| ExitCode::SUCCESS),
    }
}

/// Prints notices, and nothing else of a setup's events.
struct NoticePrinter(Console);

impl EventSink for NoticePrinter {
    fn emit(&self, event: Event) {
        if let Event::Notice { text } | Event::Warning { text } = event {
            self.0.print_to_stderr(&format!("review: {}", strip_line(&text)));
        }
    }
}

/// Asks on the terminal; with `yes`, takes the defaults.
struct ConsoleQuestions {
    console: Console,
    yes: bool,
}

impl Questioner for ConsoleQuestions {
    fn show(&mut self, line: &str) {
        let line = line.trim_end();
        let indent = line.len() - line.trim_start().len();
        self.console.print_to_stderr(&format!("review: {}{}", &line[..indent], strip_line(line.trim_start())));
    }

    fn choose(&mut self, question: &str, options: &[String], default: usize) -> Option<usize> {
        if self.yes {
            return Some(default);
        }
        self.console.print_to_stderr(&format!("\n{question}"));
        for (at, option) in options.iter().enumerate() {
            self.console.print_to_stderr(&format!("  {}) {}", at + 1, strip_line(option)));
        }
        for _ in 0..TRIES {
            let line = Console::ask_line(&format!("[{}] ", default + 1), LONGEST_ANSWER).ok()??;
            match read_choice(&line, options, default) {
                Some(chosen) => return Some(chosen),
                None => self.console.print_to_stderr(&format!(
                    "a number from 1 to {}, or Enter for {}",
                    options.len(),
                    default + 1
                )),
            }
        }
        None
    }
}

/// Reads the place of an option from an answer: its number, or the beginning of one option alone (`y`). An empty one is the default.
fn read_choice(line: &str, options: &[String], default: usize) -> Option<usize> {
    let text = line.trim().to_lowercase();
    if text.is_empty() {
        return Some(default);
    }
    if let Ok(number) = text.parse::<usize>() {
        return number.checked_sub(1).filter(|chosen| *chosen < options.len());
    }
    let mut fitting = options.iter().enumerate().filter(|(_, option)| option.to_lowercase().starts_with(&text));
    let (chosen, _) = fitting.next()?;
    fitting.next().is_none().then_some(chosen)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_a_number_the_beginning_of_an_option_or_nothing() {
        let options = ["no", "yes, for high", "yes, for medium"].map(str::to_owned);
        for (text, chosen) in [("\n", 1), (" 3 \n", 2), ("N\n", 0), ("yes, for m", 2)] {
            assert_eq!(read_choice(text, &options, 1), Some(chosen), "{text}");
        }
        for text in ["0", "4", "-1", "yes", "1 2", "never"] {
            assert_eq!(read_choice(text, &options, 1), None, "{text}");
        }
    }
}
