//! `review` without a subcommand: makes a review and shows it.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use super::GRACE;
use super::args::{PresentIn, ReviewArgs};
use super::console::Console;
use super::post;
use crate::app::{
    self, AppError, Cancel, DeliveredReview, DisplayLimits, FinalDocument, PostOutcome, ProcessEnv, ResumeRequest,
    ReviewDisplay, ReviewJob,
};
use crate::config::{Colour, ModelChoice, Settings};
use crate::domain::event::{Event, EventSink};
use crate::domain::request::{ReviewRequest, ReviewScope};
use crate::domain::review::Review;
use crate::domain::run::Engine;
use crate::domain::text::strip_line;
use crate::present::delivery;
use crate::present::events::{EventStream, FanOut, StreamEnd};
use crate::present::{self, LinkStyle, RenderOptions, Syntax, presenter};

pub(super) fn run(mut args: ReviewArgs, console: &Console) -> Result<ExitCode, AppError> {
    args.check()?;
    if let Some(notice) = args.read_words()?.filter(|_| !args.quiet) {
        console.print_to_stderr(&format!("review: {notice}"));
    }
    if args.preview {
        return preview(args, console);
    }
    let quiet = args.quiet;
    let display = display(&args, console);
    let made = make_and_show(args, console, display.as_ref());
    // The review is out before the editor is waited for.
    if let Some(display) = display {
        let last = match &made {
            Ok((finished, _)) => FinalDocument::of(&finished.delivered.review),
            Err(error) => FinalDocument::failed(&error.to_string()),
        };
        for note in display.finish(last) {
            if !quiet {
                console.print_to_stderr(&strip_line(&format!("review: {note}")));
            }
        }
    }
    made.map(|(_, code)| code)
}

/// Starts showing the review in an editor, if that is requested and there is one.
fn display(args: &ReviewArgs, console: &Console) -> Option<Arc<ReviewDisplay>> {
    if args.present == PresentIn::None {
        return None;
    }
    let Some(window) = args.editor.options(true).find() else {
        if args.present == PresentIn::Editor && !args.quiet {
            console.print_to_stderr(&format!("review: {}", app::NO_EDITOR));
        }
        return None;
    };
    let directory = args.place.directory.clone();
    let base = move || {
        let absolute = || std::path::absolute(&directory).ok();
        app::checkout(&directory).or_else(absolute).unwrap_or_else(|| directory.clone())
    };
    let limits = DisplayLimits { end: Duration::from_millis(args.present_wait) };
    Some(Arc::new(ReviewDisplay::start(window, base, limits)))
}

/// Makes the review and prints it, or the events with it as the last one.
fn make_and_show(
    args: ReviewArgs,
    console: &Console,
    display: Option<&Arc<ReviewDisplay>>,
) -> Result<(FinishedReview, ExitCode), AppError> {
    let (quiet, paged) = (args.quiet, !args.no_pager);
    let window = display.map(|display| Arc::clone(display) as Arc<dyn EventSink>);
    if !args.events {
        let finished = make_review(args, console, window.into_iter().collect())?;
        let code = show(&finished, quiet, paged, console)?;
        return Ok((finished, code));
    }
    let events = Arc::new(EventStream::start(console.stdout_stream())?);
    let stream: Arc<dyn EventSink> = events.clone();
    let made = make_review(args, console, window.into_iter().chain([stream]).collect());
    match &made {
        Ok(FinishedReview { delivered, posted }) => {
            for text in &delivered.failures {
                events.emit(Event::Notice { text: text.clone() });
            }
            let receipt = match posted {
                Some(PostOutcome::Done(receipt)) => Some(&**receipt),
                Some(PostOutcome::Dry(_)) | None => None,
            };
            let end = StreamEnd::Review { review: &delivered.review, delivery: receipt };
            events.finish(&end, delivered.exit_code())?;
        }
        // The first error is reported, and determines the exit code.
        Err(error) => events.finish(&StreamEnd::Error(&error.to_string()), error.exit_code()).unwrap_or_default(),
    }
    let finished = made?;
    print_notes(&finished, quiet, console);
    let code = ExitCode::from(finished.delivered.exit_code());
    Ok((finished, code))
}

/// Prints a preview of the review without making it.
fn preview(args: ReviewArgs, console: &Console) -> Result<ExitCode, AppError> {
    let around = ProcessEnv::of_this_process()?;
    let progress = Arc::new(console.review_progress(args.quiet, args.verbose));
    let sink: Arc<dyn EventSink> = progress.clone();
    let cancel = Cancel::never();
    let as_json = args.format.as_deref() == Some("json");
    let job = job(args);
    let work = async {
        let mut job = job;
        job.request.scope = app::choose_scope(&job.request, &sink, &cancel).await?;
        app::preview(job, around, Arc::clone(&sink), cancel.clone()).await
    };
    let ended = app::run_command(&cancel, &*sink, GRACE, work);
    progress.finish();
    let preview = ended?;
    if as_json {
        console.write_data(&present::preview::json(&preview), Syntax::Json)?;
    } else {
        console.write_data(present::preview::terminal(&preview, console.width).as_bytes(), Syntax::Plain)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Converts the flags to a job.
fn job(args: ReviewArgs) -> ReviewJob {
    let (flags, compare) = (args.overrides(), args.compare.compare());
    let request = ReviewRequest {
        directory: args.place.directory,
        settings_from_worktree: args.shape.settings_from_worktree(),
        scope: args.pull.scope().unwrap_or_else(|| args.scope.scope()),
    };
    let (outputs, leads, checks) = (args.output, args.leads, args.check);
    ReviewJob { outputs, compare, leads, checks, ..ReviewJob::new(request, flags) }
}

/// A review, and the outcome of posting it if that was requested.
struct FinishedReview {
    delivered: DeliveredReview,
    posted: Option<PostOutcome>,
}

/// Makes the review, showing its progress; `listeners` receive the events too.
fn make_review(
    args: ReviewArgs,
    console: &Console,
    mut listeners: Vec<Arc<dyn EventSink>>,
) -> Result<FinishedReview, AppError> {
    let flags = args.overrides();
    let post = args.post.options();
    let around = ProcessEnv::of_this_process()?;
    let progress = Arc::new(console.review_progress(args.quiet, args.verbose));
    listeners.insert(0, progress.clone());
    let sink: Arc<dyn EventSink> = Arc::new(FanOut(listeners));
    let cancel = Cancel::never();

    let work = async {
        let (mut delivered, directory, flags) = if let Some(run) = args.again.run() {
            let directory = Some(args.place.directory).filter(|folder| folder.as_os_str() != ".");
            let as_recorded = args.again.as_recorded();
            let ask = ResumeRequest { run, as_recorded, flags, directory, outputs: args.output };
            let ready = |scope: &ReviewScope| post.as_ref().map_or(Ok(()), |_| Ok(app::check_scope(scope)?));
            let run = app::resume(ask, ready, around.clone(), Arc::clone(&sink), cancel.clone());
            let ran = Box::pin(run).await?;
            (ran.delivered, ran.directory, ran.flags)
        } else {
            let mut job = job(args);
            job.request.scope = app::choose_scope(&job.request, &sink, &cancel).await?;
            if post.is_some() {
                app::check_scope(&job.request.scope)?;
            }
            let directory = job.request.directory.clone();
            (Box::pin(app::review(job, around.clone(), Arc::clone(&sink), cancel.clone())).await?, directory, flags)
        };
        let posted = match post {
            Some(post) => app::post_delivered(&mut delivered, directory, &post, &flags, &around, &*sink, &cancel).await,
            None => None,
        };
        Ok(FinishedReview { delivered, posted })
    };
    let ended = app::run_command(&cancel, &*sink, GRACE, work);
    progress.finish();
    ended
}

fn show(finished: &FinishedReview, quiet: bool, paged: bool, console: &Console) -> Result<ExitCode, AppError> {
    let FinishedReview { delivered, posted } = finished;
    let settings = &delivered.settings;
    if let Some(PostOutcome::Dry(dry)) = posted {
        console.write_data(&post::dry_run(dry), Syntax::Json)?;
        print_notes(finished, quiet, console);
        return Ok(ExitCode::from(delivered.exit_code()));
    }
    let options =
        RenderOptions { fail_on: settings.fail_on, ..render_options(console, settings.colour, delivered.root.clone()) };
    // Carried findings of a run that reviewed nothing would look like a review; documents for programs say that it failed.
    if delivered.fault.is_none() || !["terminal", "short"].contains(&settings.format.as_str()) {
        write_review(&delivered.review, &settings.format, &options, paged, console)?;
    }
    print_notes(finished, quiet, console);
    Ok(ExitCode::from(delivered.exit_code()))
}

/// Writes a review to standard output in a format; only the one for people is paged.
pub(super) fn write_review(
    review: &Review,
    format: &str,
    options: &RenderOptions,
    paged: bool,
    console: &Console,
) -> Result<(), AppError> {
    match presenter(format) {
        Some(presenter) if presenter.name == "terminal" => {
            let render = |kind| (presenter.render)(review, &RenderOptions { kind, ..options.clone() });
            Ok(console.write_report(paged, render)?)
        }
        Some(presenter) => Ok(console.write_data(&(presenter.render)(review, options), presenter.syntax)?),
        None => Ok(()),
    }
}

/// Prints notes to standard error.
fn print_notes(finished: &FinishedReview, quiet: bool, console: &Console) {
    let FinishedReview { delivered, posted } = finished;
    if let (Some(PostOutcome::Done(receipt)), false) = (posted, quiet) {
        console.print_to_stderr(&delivery::lines(receipt));
    }
    if let (Some(why), false) = (delivered.hidden_gate(), quiet) {
        console.print_to_stderr(&format!("review: {why}"));
    }
    for failure in &delivered.failures {
        console.print_to_stderr(&format!("error: {failure}"));
    }
    if let (Some(why), false) = (&delivered.not_kept, quiet) {
        console.print_to_stderr(&format!("review: this review could not be kept: {why}"));
    }
    if delivered.interrupted && delivered.not_kept.is_none() && !quiet {
        console.print_to_stderr(&format!(
            "review: interrupted; what was found is kept: review show {}",
            delivered.review.id
        ));
    }
    if let (Some(how), false) = (&delivered.goes_on, quiet) {
        console.print_to_stderr(&format!("review: this run can go on where it ended: {how}"));
    }
    if let (Some(step), false) = (&delivered.next_step, quiet) {
        console.print_to_stderr(&format!("review: to complete it: {}", strip_line(step)));
    }
    if !quiet && is_without_model(&delivered.review, &delivered.settings) {
        console.print_dim_to_stderr(RULES_ONLY);
    }
    // Last: a reader looks there first.
    if let Some(fault) = &delivered.fault {
        console.print_to_stderr(&format!("error: {}", strip_line(fault)));
    }
}

/// The line below a report of the rules, for a user who chose no model.
const RULES_ONLY: &str =
    "Rules only. For a full review: review init, or set ANTHROPIC_API_KEY (or OPENAI_API_KEY, GEMINI_API_KEY).";

/// Checks whether the rules reviewed because no model was found, in a report for people. Who switched models off knows it.
fn is_without_model(review: &Review, settings: &Settings) -> bool {
    let is_chosen = settings.model != ModelChoice::Auto || settings.format != "terminal";
    review.provenance.engine == Engine::Rules && !is_chosen && !review.change.files.is_empty()
}

/// Returns the rendering options that the terminal supports and the settings allow.
pub(super) fn render_options(console: &Console, colour: Colour, root: Option<std::path::PathBuf>) -> RenderOptions {
    RenderOptions {
        width: console.width,
        colour: console.colour(colour),
        links: match root {
            Some(root) if console.links(colour) => LinkStyle::Osc8 { root },
            _ => LinkStyle::None,
        },
        kind: console.page_kind(),
        ..RenderOptions::default()
    }
}
