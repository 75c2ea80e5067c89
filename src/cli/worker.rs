//! `review worker`: reviews the jobs of a queue.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use tokio_util::sync::CancellationToken;

use super::args::{ReviewerArgs, values};
use super::console::Console;
use super::queue::QueueAddressArgs;
use crate::app::{
    self, AppError, BatchRequest, BatchSelection, Cancel, Overrides, ProcessEnv, QueueHandle, WorkerEvent,
    WorkerEventSink, WorkerMetrics, WorkerReport, WorkerRequest,
};
use crate::config::parse_duration;
use crate::domain::event::{Event, EventSink};
use crate::domain::text::{count_noun, strip_line};
use crate::web;

/// Time limit for the running reviews to be saved after an interrupt.
const GRACE: Duration = Duration::from_mins(2);

const EXAMPLES: &str = "\
Examples:
  review worker                                  review the jobs of the queue on this machine
  review worker --jobs 8 --until-empty           end when no job is left
  review worker --repos /srv/git                 repositories are below this folder
  review worker --repos https://git.example/team     and are fetched from there
  review worker --metrics 127.0.0.1:9464 --log json

An interrupt or SIGTERM drains the worker: it takes no more jobs, its reviews save what they
have, and their jobs go back to the queue, where another worker resumes them. The same
happens to the jobs of a worker that was killed, after --lease.

Exit codes: 0 drained or nothing left, 1 jobs are dead (with --until-empty),
  2 usage or settings, 3 the budget was used up before the queue was empty";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct WorkerArgs {
    #[command(flatten)]
    queue: QueueAddressArgs,
    /// The folder below which the repositories are, or an address (https://…, ssh://…, file:///…) from which they are fetched; needed
    /// with a PostgreSQL queue
    #[arg(long, value_name = "DIR|URL")]
    repos: Option<PathBuf>,
    /// Number of reviews at a time
    #[arg(long, short, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u8).range(1..=64))]
    jobs: u8,
    /// End when no job waits or runs
    #[arg(long)]
    until_empty: bool,
    /// The time after which the jobs of a worker that was killed are taken over
    #[arg(long, value_name = "TIME", value_parser = parse_lease, default_value = "60s")]
    lease: Duration,
    /// Send turns in message batches of the provider, at half the price; a turn may take a day
    #[arg(long)]
    economy: bool,
    /// The name of the worker in the queue [default: the host and a number]
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    name: Option<String>,
    /// Serve metrics for Prometheus and /healthz at this address
    #[arg(long, value_name = "ADDRESS:PORT")]
    metrics: Option<SocketAddr>,
    /// Print each event as text for people, or as a line of JSON
    #[arg(long, value_name = "FORMAT", value_parser = ["text", "json"], default_value = "text")]
    log: String,
    #[command(flatten, next_help_heading = "Who reviews")]
    reviewer: ReviewerArgs,
    /// Time limit of each review (30m, 2h)
    #[arg(long, value_name = "TIME", value_parser = values::time(), help_heading = "Who reviews")]
    timeout: Option<String>,
}

fn parse_lease(text: &str) -> Result<Duration, String> {
    let lease = parse_duration(text).map_err(|error| error.to_string())?;
    let range = Duration::from_secs(3)..=Duration::from_hours(1);
    if range.contains(&lease) { Ok(lease) } else { Err("a lease lasts between 3s and 1h".to_owned()) }
}

/// Prints what a worker does, a line for each event.
struct WorkerLog {
    console: Console,
    is_json: bool,
}

impl WorkerEventSink for WorkerLog {
    fn emit_worker(&self, event: WorkerEvent) {
        let line = if self.is_json { json_line(&event) } else { format!("review: {}", text_line(&event)) };
        self.console.print_to_stderr(&line);
    }
}

impl EventSink for WorkerLog {
    fn emit(&self, event: Event) {
        if let Event::Notice { text } | Event::Warning { text } = event {
            self.emit_worker(WorkerEvent::Notice { text: strip_line(&text) });
        }
    }
}

fn json_line(event: &WorkerEvent) -> String {
    let mut line = serde_json::json!({ "at": app::now() });
    if let (Some(line), Ok(serde_json::Value::Object(fields))) = (line.as_object_mut(), serde_json::to_value(event)) {
        line.extend(fields);
    }
    line.to_string()
}

fn text_line(event: &WorkerEvent) -> String {
    match event {
        WorkerEvent::Started { worker, queue, jobs } => {
            format!("worker {worker} takes jobs of {queue}, {jobs} at a time")
        }
        WorkerEvent::Taken { job, name, attempt } if *attempt > 1 => format!("{job} {name} (attempt {attempt})"),
        WorkerEvent::Taken { job, name, .. } => format!("{job} {name}"),
        WorkerEvent::Ended { job, end, outcome, source, reason, took_ms } => {
            let of = [*outcome, *source].into_iter().flatten().flat_map(|word| [", ", word]).collect::<String>();
            let reason = reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
            format!("{job} {end}{of}, {took_ms} ms{reason}")
        }
        WorkerEvent::Notice { text } => text.clone(),
        WorkerEvent::Draining => "draining: no more jobs are taken, the running ones are saved".to_owned(),
    }
}

pub(super) fn run(args: WorkerArgs, console: &Console) -> Result<ExitCode, AppError> {
    let around = ProcessEnv::of_this_process()?;
    let (log, cancel) =
        (Arc::new(WorkerLog { console: console.clone(), is_json: args.log == "json" }), Cancel::never());
    let request = WorkerRequest {
        queue: args.queue.resolve(&around),
        repos: args.repos,
        name: args.name.map_or_else(app::worker_name, |name| strip_line(&name)),
        lease: args.lease,
        until_empty: args.until_empty,
        reviews: BatchRequest {
            jobs: usize::from(args.jobs),
            flags: args.reviewer.overrides(Overrides { timeout: args.timeout, ..Overrides::default() }),
            economy: args.economy,
            ..BatchRequest::choosing(PathBuf::from("."), BatchSelection::List)
        },
    };
    let until_empty = args.until_empty;
    let work = serve_and_work(request, around, args.metrics, Arc::clone(&log), cancel.clone());
    let report = app::run_command(&cancel, &*log, GRACE, work)?;
    let jobs = |count: u64| count_noun(usize::try_from(count).unwrap_or(usize::MAX), "job");
    console.print_to_stderr(&format!(
        "review: {} reviewed, {} dead, {} back in the queue",
        jobs(report.done),
        report.dead,
        report.returned
    ));
    Ok(ExitCode::from(match report {
        WorkerReport { is_out_of_budget: true, .. } => 3,
        WorkerReport { dead: 1.., .. } if until_empty => 1,
        WorkerReport { .. } => 0,
    }))
}

/// Works, and serves the metrics meanwhile.
async fn serve_and_work(
    request: WorkerRequest,
    around: ProcessEnv,
    address: Option<SocketAddr>,
    log: Arc<WorkerLog>,
    cancel: Cancel,
) -> Result<WorkerReport, AppError> {
    let metrics = Arc::new(WorkerMetrics::default());
    let stop = CancellationToken::new();
    let _stopped = stop.clone().drop_guard();
    if let Some(address) = address {
        let listener = web::listen(address).await.map_err(|error| AppError::Serve(error.to_string()))?;
        let own = request.queue.clone();
        let queue =
            tokio::task::spawn_blocking(move || QueueHandle::open(&own)).await.map_err(|_| AppError::Broken)??;
        log.emit_worker(WorkerEvent::Notice {
            text: format!("metrics are at http://{}/metrics", local(&listener, address)),
        });
        tokio::spawn(web::serve_metrics(listener, Arc::clone(&metrics), queue, stop));
    }
    app::run_worker(request, around, log, metrics, cancel).await
}

/// Returns the address that a listener has, with the port that the system chose.
pub(super) fn local(listener: &tokio::net::TcpListener, given: SocketAddr) -> SocketAddr {
    listener.local_addr().unwrap_or(given)
}
