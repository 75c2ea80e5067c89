//! The numbers of a worker, in the text format of Prometheus. Main type: [`WorkerMetrics`].
//!
//! Names of branches, repositories and errors never become labels: they are text of others, and without bound.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::domain::batch::{BatchEntry, BatchOutcome, ReviewSource};
use crate::domain::finding::Severity;
use crate::domain::money::Money;
use crate::domain::queue::{JobState, QueueStatus};

/// Upper bounds of the buckets of the histogram, in seconds.
const BUCKETS: [f64; 9] = [0.1, 0.5, 1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 3600.0];

/// The numbers of one worker since its start.
#[derive(Debug, Default)]
pub struct WorkerMetrics(Mutex<Numbers>);

#[derive(Debug, Default)]
struct Numbers {
    reviews: BTreeMap<(BatchOutcome, ReviewSourceWord), u64>,
    findings: BTreeMap<Severity, u64>,
    cost_nanos: u64,
    input_tokens: u64,
    output_tokens: u64,
    dead: u64,
    left_out: u64,
    retries: u64,
    lost: u64,
    queue_errors: u64,
    running: i64,
    buckets: [u64; BUCKETS.len()],
    count: u64,
    seconds: f64,
}

/// The word of a source, which has no order of its own.
type ReviewSourceWord = &'static str;

impl WorkerMetrics {
    fn with(&self, change: impl FnOnce(&mut Numbers)) {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Counts a job that began (1) or ended (-1).
    pub(super) fn running(&self, change: i64) {
        self.with(|numbers| numbers.running += change);
    }

    /// Counts a review.
    pub(super) fn review(&self, entry: &BatchEntry, took: Duration) {
        self.with(|numbers| {
            *numbers.reviews.entry((entry.outcome, entry.source.as_str())).or_default() += 1;
            if entry.source != ReviewSource::Unchanged {
                for (severity, count) in &entry.findings {
                    *numbers.findings.entry(*severity).or_default() += u64::from(*count);
                }
            }
            numbers.cost_nanos += entry.cost.map_or(0, Money::nanos);
            let tokens = entry.tokens.unwrap_or_default();
            numbers.input_tokens += tokens.input;
            numbers.output_tokens += tokens.output;
            let seconds = took.as_secs_f64();
            for (bucket, bound) in numbers.buckets.iter_mut().zip(BUCKETS) {
                *bucket += u64::from(seconds <= bound);
            }
            numbers.count += 1;
            numbers.seconds += seconds;
        });
    }

    /// Counts a change that needed no review.
    pub(super) fn left_out(&self) {
        self.with(|numbers| numbers.left_out += 1);
    }

    /// Counts a job that is not tried again.
    pub(super) fn dead(&self) {
        self.with(|numbers| numbers.dead += 1);
    }

    /// Counts a job that will be tried again.
    pub(super) fn retry(&self) {
        self.with(|numbers| numbers.retries += 1);
    }

    /// Counts a job that another worker took over.
    pub(super) fn lost(&self) {
        self.with(|numbers| numbers.lost += 1);
    }

    /// Counts a call of the queue that failed.
    pub(super) fn queue_error(&self) {
        self.with(|numbers| numbers.queue_errors += 1);
    }

    /// Renders the numbers, with those of the queue if they could be read.
    pub fn render(&self, queue: Option<&QueueStatus>) -> String {
        let numbers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut text = String::new();
        let mut family = |name: &str, kind: &str, help: &str, samples: &[(String, f64)]| {
            let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
            for (labels, value) in samples {
                let _ = writeln!(text, "{name}{labels} {value}");
            }
        };
        let plain = |value: f64| [(String::new(), value)];
        family("review_worker_up", "gauge", "1 while the worker runs.", &plain(1.0));
        family("review_jobs_running", "gauge", "Jobs that this worker has.", &plain(float_of(numbers.running)));
        let reviews: Vec<_> = numbers
            .reviews
            .iter()
            .map(|((outcome, source), count)| {
                (format!("{{outcome=\"{}\",source=\"{source}\"}}", outcome.as_str()), float(*count))
            })
            .collect();
        family("review_reviews_total", "counter", "Reviews that ended, by outcome and source.", &reviews);
        let findings: Vec<_> = numbers
            .findings
            .iter()
            .map(|(severity, count)| (format!("{{severity=\"{severity}\"}}"), float(*count)))
            .collect();
        family("review_findings_total", "counter", "Unresolved findings of new reviews.", &findings);
        family("review_cost_dollars_total", "counter", "Known cost.", &plain(float(numbers.cost_nanos) / 1e9));
        let tokens = [("sent", numbers.input_tokens), ("received", numbers.output_tokens)];
        let tokens = tokens.map(|(way, count)| (format!("{{direction=\"{way}\"}}"), float(count)));
        family("review_tokens_total", "counter", "Known tokens of the models.", &tokens);
        family("review_dead_total", "counter", "Jobs that are not tried again.", &plain(float(numbers.dead)));
        family("review_left_out_total", "counter", "Changes that needed no review.", &plain(float(numbers.left_out)));
        family("review_retries_total", "counter", "Jobs that will be tried again.", &plain(float(numbers.retries)));
        family("review_lost_total", "counter", "Jobs that another worker took over.", &plain(float(numbers.lost)));
        let errors = plain(float(numbers.queue_errors));
        family("review_queue_errors_total", "counter", "Calls of the queue that failed.", &errors);
        if let Some(queue) = queue {
            let jobs: Vec<_> = JobState::ALL
                .iter()
                .map(|state| {
                    let count = queue.jobs.get(state).copied().unwrap_or(0);
                    (format!("{{state=\"{}\"}}", state.as_str()), float(count))
                })
                .collect();
            family("review_queue_jobs", "gauge", "Jobs of the queue, by state.", &jobs);
            let age = float_of(queue.oldest_waiting_ms.unwrap_or(0)) / 1e3;
            family("review_queue_oldest_seconds", "gauge", "Age of the oldest job that may be taken.", &plain(age));
            let budget = queue.budget.unwrap_or_default();
            let dollars = |money: Money| float(money.nanos()) / 1e9;
            let spent = budget.spent;
            let tokens = ("review_queue_tokens", "Tokens", budget.max_tokens.map(float), float(spent.tokens));
            let cost = ("review_queue_dollars", "Dollars", budget.max_cost.map(dollars), dollars(spent.cost));
            for (name, unit, limit, spent) in [tokens, cost] {
                let Some(limit) = limit else { continue };
                family(
                    &format!("{name}_limit"),
                    "gauge",
                    &format!("{unit} that the workers may spend."),
                    &plain(limit),
                );
                family(
                    &format!("{name}_spent"),
                    "gauge",
                    &format!("{unit} that they spent or reserved."),
                    &plain(spent),
                );
            }
        }
        let name = "review_seconds";
        let _ = writeln!(text, "# HELP {name} Wall time of a review.\n# TYPE {name} histogram");
        for (bucket, bound) in numbers.buckets.iter().zip(BUCKETS) {
            let _ = writeln!(text, "{name}_bucket{{le=\"{bound}\"}} {bucket}");
        }
        let (count, seconds) = (numbers.count, numbers.seconds);
        let _ = writeln!(text, "{name}_bucket{{le=\"+Inf\"}} {count}\n{name}_sum {seconds}\n{name}_count {count}");
        text
    }
}

#[expect(clippy::cast_precision_loss, reason = "the format has floating-point numbers only")]
fn float(number: u64) -> f64 {
    number as f64
}

#[expect(clippy::cast_precision_loss, reason = "the format has floating-point numbers only")]
fn float_of(number: i64) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::batch::SpentTokens;
    use crate::domain::queue::{BudgetPart, QueueBudget};

    #[test]
    fn the_numbers_are_those_of_the_reviews() {
        let metrics = WorkerMetrics::default();
        let mut entry = BatchEntry::without_review("r\"\n", "x\"\n", BatchOutcome::Complete, String::new(), 0);
        entry.findings.insert(Severity::High, 2);
        entry.cost = Some("0.25".parse().unwrap());
        entry.tokens = Some(SpentTokens { input: 1200, output: 30 });
        metrics.review(&entry, Duration::from_millis(700));
        metrics.retry();
        metrics.dead();
        let spent = BudgetPart { tokens: 40, cost: "0.5".parse().unwrap() };
        let budget = QueueBudget { max_cost: Some("20".parse().unwrap()), spent, ..QueueBudget::default() };
        let queue = QueueStatus {
            jobs: [(JobState::Dead, 3)].into(),
            oldest_waiting_ms: Some(1500),
            budget: Some(budget),
            ..QueueStatus::default()
        };
        insta::assert_snapshot!(metrics.render(Some(&queue)));
    }
}
