//! `review queue`: jobs that workers will review.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Subcommand};

use super::DirectoryArgs;
use super::batch::SelectionArgs;
use super::console::Console;
use crate::app::{self, AddRequest, AppError, BatchRequest, Cancel, ProcessEnv, QueueHandle, ScheduleRequest};
use crate::config::parse_duration;
use crate::domain::batch::{BatchEvent, BatchEventSink, LeftOutChange};
use crate::domain::money::Money;
use crate::domain::queue::{JobId, JobState, QueueBudget};
use crate::domain::text::{count_noun, strip_line};
use crate::present::{Syntax, queue};

/// Time limit of a command that changes or shows a queue.
const LIMIT: Duration = Duration::from_mins(5);
/// Time limit to add jobs, with a fetch.
const ADD_LIMIT: Duration = Duration::from_mins(35);
/// Time limit to stop after an interrupt.
const GRACE: Duration = Duration::from_secs(3);
/// The variable that names the queue: an address with a password does not belong on a command line.
const QUEUE: &str = "REVIEW_QUEUE";

const EXAMPLES: &str = "\
Examples:
  review queue add --all-branches --target main     add a job for each branch
  review queue add --prs open --post                and for each open pull request, posted
  review queue status                               counts, and the jobs that changed last
  review queue status --state dead                  what failed, with the reasons
  review queue retry                                let workers take the dead jobs again
  review queue cancel 0123456789abcdef              cancel a job
  review queue drain                                workers take no more jobs
  review queue schedule add nightly --every 24h --at 01:23 --all-branches --target main
  review queue limit --max-cost 20 --per day        all workers together, each day
  review queue purge --older-than 30d               forget what ended long ago

The queue is a file in the state folder, or what REVIEW_QUEUE or --queue names: the path of
a file, or postgres://USER:PASSWORD@HOST/DATABASE. `review worker` takes the jobs.
docs/batch.md has the details.";

/// The queue's address.
#[derive(Debug, Clone, Args)]
pub(super) struct QueueAddressArgs {
    /// The queue: a file, or postgres://… [default: `REVIEW_QUEUE`, or a file in the state folder]
    #[arg(long = "queue", value_name = "ADDRESS", value_parser = NonEmptyStringValueParser::new(), global = true)]
    address: Option<String>,
}

impl QueueAddressArgs {
    /// Returns the address.
    pub(super) fn resolve(&self, around: &ProcessEnv) -> String {
        let named = || {
            let setting = around.environment.iter().find(|(name, _)| name == QUEUE).map(|(_, value)| value.clone());
            setting.filter(|address| !address.trim().is_empty())
        };
        let default = || around.state.join("queue.db").to_string_lossy().into_owned();
        self.address.clone().or_else(named).unwrap_or_else(default)
    }
}

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct QueueArgs {
    #[command(flatten)]
    queue: QueueAddressArgs,
    #[command(subcommand)]
    action: QueueAction,
}

#[derive(Debug, Subcommand)]
enum QueueAction {
    /// Add a job for each change; one that the queue has with the same commits is not added again
    Add(Box<AddArgs>),
    /// Show how many jobs there are, and those that changed last
    Status(StatusArgs),
    /// Let workers take dead or canceled jobs again
    #[command(after_help = "Example:\n  review queue retry")]
    Retry {
        /// The jobs [default: all dead ones]
        #[arg(value_name = "JOB")]
        jobs: Vec<JobId>,
    },
    /// Cancel jobs, also running ones
    #[command(after_help = "Example:\n  review queue cancel 0123456789abcdef")]
    Cancel {
        /// The jobs
        #[arg(value_name = "JOB", required = true)]
        jobs: Vec<JobId>,
    },
    /// Let workers take no more jobs; what runs goes on
    #[command(after_help = "Example:\n  review queue drain\n  review queue drain --off")]
    Drain {
        /// Let workers take jobs again
        #[arg(long)]
        off: bool,
    },
    /// Add jobs at set times
    #[command(after_help = "Example:\n  review queue schedule list")]
    Schedule {
        #[command(subcommand)]
        action: ScheduleAction,
    },
    /// Set the budget that all workers together may spend
    Limit(LimitArgs),
    /// Remove jobs that ended
    #[command(after_help = "Example:\n  review queue purge --older-than 7d")]
    Purge {
        /// Only those that ended this long ago (30d, 12h)
        #[arg(long, value_name = "TIME", value_parser = |text: &str| parse_duration(text), default_value = "30d")]
        older_than: Duration,
    },
}

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  review queue add --all-branches --target main")]
struct AddArgs {
    #[command(flatten)]
    place: DirectoryArgs,
    #[command(flatten)]
    selection: SelectionArgs,
    /// Add also what the queue has with the same commits
    #[arg(long)]
    force: bool,
    /// The name of the repository below the workers' --repos [default: its path]
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    repository: Option<String>,
    /// The folder or address below which the repository is (https://…, ssh://…, file:///…); an address is fetched
    #[arg(long, value_name = "DIR|URL", requires = "repository", conflicts_with = "prs")]
    repos: Option<PathBuf>,
    /// Jobs with a higher priority are taken first
    #[arg(long, value_name = "N", default_value_t = 0, allow_negative_numbers = true)]
    priority: i64,
    /// Post the reviews to their pull requests
    #[arg(long, requires = "prs")]
    post: bool,
}

#[derive(Debug, Subcommand)]
enum ScheduleAction {
    /// Add a schedule, or replace the one of that name
    Add(Box<ScheduleArgs>),
    /// List the schedules
    #[command(after_help = "Example:\n  review queue schedule list")]
    List,
    /// Remove a schedule; its jobs stay
    #[command(after_help = "Example:\n  review queue schedule remove nightly")]
    Remove {
        /// Its name
        name: String,
    },
}

#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  review queue schedule add nightly --every 24h --at 01:23 --all-branches --target main"
)]
struct ScheduleArgs {
    /// The name of the schedule
    #[arg(value_name = "NAME", value_parser = parse_name)]
    name: String,
    /// The time from one due time to the next (24h, 30m, 7d)
    #[arg(long, value_name = "TIME", value_parser = parse_period)]
    every: Duration,
    /// The time of day in UTC from which it is counted [default: now]
    #[arg(long, value_name = "HH:MM", value_parser = parse_time_of_day)]
    at: Option<Duration>,
    #[command(flatten)]
    place: DirectoryArgs,
    #[command(flatten)]
    selection: SelectionArgs,
    /// The name of the repository below the workers' --repos [default: its path]
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    repository: Option<String>,
    /// Jobs with a higher priority are taken first
    #[arg(long, value_name = "N", default_value_t = 0, allow_negative_numbers = true)]
    priority: i64,
    /// Post the reviews to their pull requests
    #[arg(long, requires = "prs")]
    post: bool,
}

fn parse_name(text: &str) -> Result<String, String> {
    let is_plain = (1..=60).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_'));
    if is_plain { Ok(text.to_owned()) } else { Err("a name has up to 60 letters, digits, `.`, `_` and `-`".to_owned()) }
}

fn parse_period(text: &str) -> Result<Duration, String> {
    let period = parse_duration(text).map_err(|error| error.to_string())?;
    let range = Duration::from_mins(1)..=Duration::from_hours(366 * 24);
    if range.contains(&period) { Ok(period) } else { Err("a period is between 1m and 366d".to_owned()) }
}

fn parse_time_of_day(text: &str) -> Result<Duration, String> {
    let number = |text: &str, most: u64| -> Option<u64> {
        let is_number = text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse().ok().filter(|number| is_number && *number <= most)
    };
    let time = text.split_once(':').and_then(|(hours, minutes)| Some((number(hours, 23)?, number(minutes, 59)?)));
    let (hours, minutes) = time.ok_or("a time of day is written HH:MM, from 00:00 to 23:59")?;
    Ok(Duration::from_mins(hours * 60 + minutes))
}

#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("limit").required(true).multiple(true))]
#[command(after_help = "Example:\n  review queue limit --max-cost 20 --per day")]
struct LimitArgs {
    /// Maximum cost in dollars
    #[arg(long, value_name = "DOLLARS", group = "limit", value_parser = |text: &str| text.parse::<Money>())]
    max_cost: Option<Money>,
    /// Maximum number of input tokens
    #[arg(long, value_name = "N", group = "limit")]
    max_tokens: Option<u64>,
    /// Spend it once, or each day (UTC)
    #[arg(long, value_name = "PERIOD", value_parser = ["total", "day"], default_value = "total")]
    per: String,
    /// Remove the limits
    #[arg(long, group = "limit", conflicts_with_all = ["max_cost", "max_tokens"])]
    off: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  review queue status --state dead")]
struct StatusArgs {
    /// Show only jobs in this state
    #[arg(long, value_name = "STATE", value_parser = parse_state)]
    state: Option<JobState>,
    /// Show this many jobs
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: u32,
    /// Print a table for people, or JSON
    #[arg(short, long, value_name = "FORMAT", value_parser = ["terminal", "json"], default_value = "terminal")]
    format: String,
}

fn parse_state(word: &str) -> Result<JobState, String> {
    let words = || JobState::ALL.iter().map(|state| state.as_str()).collect::<Vec<_>>().join(", ");
    JobState::from_word(word).ok_or_else(|| format!("a state is one of {}", words()))
}

pub(super) fn run(args: QueueArgs, console: &Console) -> Result<ExitCode, AppError> {
    let around = ProcessEnv::of_this_process()?;
    let address = args.queue.resolve(&around);
    let own = console.clone();
    match args.action {
        QueueAction::Add(args) => add(*args, address, around, console),
        QueueAction::Schedule { action: ScheduleAction::Add(args) } => schedule(*args, address, console),
        action => app::with_time_limit("using the queue", LIMIT, move || {
            act(action, &QueueHandle::open(&address)?, &own)?;
            Ok(ExitCode::SUCCESS)
        }),
    }
}

fn act(action: QueueAction, jobs: &QueueHandle, console: &Console) -> Result<(), AppError> {
    let say = |text: &str| console.print_to_stderr(&format!("review: {text}"));
    match action {
        QueueAction::Add(_) | QueueAction::Schedule { action: ScheduleAction::Add(_) } => {}
        QueueAction::Schedule { action: ScheduleAction::List } => {
            let now = crate::domain::queue::millis_since_1970(std::time::SystemTime::now());
            console.write_data(queue::schedule_table(&jobs.schedules()?, now).as_bytes(), Syntax::Plain)?;
        }
        QueueAction::Schedule { action: ScheduleAction::Remove { name } } => {
            jobs.remove_schedule(&name)?;
            say(&format!("removed the schedule {name}"));
        }
        QueueAction::Status(args) => {
            let (status, list) = (jobs.status()?, jobs.list(args.state, args.limit)?);
            match args.format.as_str() {
                "json" => console.write_data(&queue::json(&status, &list), Syntax::Json)?,
                _ => {
                    let now = crate::domain::queue::millis_since_1970(std::time::SystemTime::now());
                    console.write_data(queue::table(&status, &list, now).as_bytes(), Syntax::Plain)?;
                }
            }
        }
        QueueAction::Retry { jobs: ids } => say(&format!("put {} back in the queue", count_jobs(jobs.retry(&ids)?))),
        QueueAction::Cancel { jobs: ids } => say(&format!("canceled {}", count_jobs(jobs.cancel(&ids)?))),
        QueueAction::Drain { off } => {
            jobs.drain(!off)?;
            say(if off { "workers take jobs again" } else { "workers take no more jobs; what runs goes on" });
        }
        QueueAction::Limit(LimitArgs { max_cost, max_tokens, per, off }) => {
            let budget = QueueBudget { max_tokens, max_cost, is_daily: per == "day", ..QueueBudget::default() };
            jobs.set_budget((!off).then_some(&budget))?;
            say(if off {
                "the queue has no budget any more"
            } else {
                "the budget is set; reviews that run already are not part of it"
            });
        }
        QueueAction::Purge { older_than } => say(&format!("removed {}", count_jobs(jobs.purge(older_than)?))),
    }
    Ok(())
}

fn schedule(args: ScheduleArgs, queue: String, console: &Console) -> Result<ExitCode, AppError> {
    let target = args.selection.target.clone();
    let has_shard = args.selection.shard.is_some();
    let changes = BatchRequest { target, ..BatchRequest::choosing(args.place.directory, args.selection.selection()?) };
    let ScheduleArgs { name, every, at, repository, priority, post, .. } = args;
    let request = ScheduleRequest { queue, name, every, at, changes, has_shard, repository, priority, post };
    let text = format!("review: the schedule {} is set: a worker adds its jobs when it is due", request.name);
    app::with_time_limit("using the queue", LIMIT, move || app::set_schedule(request))?;
    console.print_to_stderr(&text);
    Ok(ExitCode::SUCCESS)
}

fn count_jobs(count: u64) -> String {
    count_noun(usize::try_from(count).unwrap_or(usize::MAX), "job")
}

fn add(args: AddArgs, queue: String, around: ProcessEnv, console: &Console) -> Result<ExitCode, AppError> {
    struct AddingEvents;
    impl BatchEventSink for AddingEvents {
        fn emit_batch(&self, _: BatchEvent) {}
    }
    impl crate::domain::event::EventSink for AddingEvents {
        fn emit(&self, _: crate::domain::event::Event) {}
    }
    let (target, shard) = (args.selection.target.clone(), args.selection.shard);
    let changes = BatchRequest {
        target,
        shard,
        force: args.force,
        ..BatchRequest::choosing(args.place.directory, args.selection.selection()?)
    };
    let AddArgs { repos, repository, priority, post, .. } = args;
    let request = AddRequest { queue, changes, repos, repository, priority, post };
    let cancel = Cancel::after(ADD_LIMIT);
    let added = app::run_command(&cancel, &AddingEvents, GRACE, app::add_jobs(request, around, cancel.clone()))?;
    for (what, list) in [("left out", &added.left_out), ("not added", &added.failed)] {
        for LeftOutChange { name, reason, .. } in list {
            console.print_to_stderr(&format!("review: {}: {what}: {}", strip_line(name), strip_line(reason)));
        }
    }
    let known = match added.known {
        0 => String::new(),
        1 => "; 1 was in the queue already".to_owned(),
        more => format!("; {more} were in the queue already"),
    };
    console.print_to_stderr(&format!("review: added {}{known}", count_jobs(added.added)));
    // A change that is no job will not be reviewed: that must not look like success.
    Ok(ExitCode::from(if added.failed.is_empty() { 0 } else { 3 }))
}
