//! The state of a queue and its jobs, for a terminal and as JSON. Main functions: [`table`], [`json`].

use super::columns::align_columns;
use super::json::escape_invisible;
use crate::domain::queue::{JobRecord, JobState, QueueStatus};
use crate::domain::text::{shorten, strip_line};

/// Upper bound on the characters of a name.
const LONGEST: usize = 50;

/// Renders the numbers, and a row for each job; the reason of a job that is dead or waits again stands in its last column.
pub fn table(status: &QueueStatus, jobs: &[JobRecord], now_ms: i64) -> String {
    let counts = JobState::ALL
        .map(|state| format!("{} {}", status.jobs.get(&state).copied().unwrap_or(0), state.as_str()))
        .join(", ");
    let mut out = format!("{counts}\n");
    if let Some(oldest) = status.oldest_waiting_ms {
        out.push_str(&format!("the oldest waiting job has been ready for {}\n", age(oldest)));
    }
    if status.is_drained {
        out.push_str("workers take no more jobs: `review queue drain --off` lets them\n");
    }
    if jobs.is_empty() {
        return out;
    }
    let mut rows = vec![["job", "state", "attempts", "changed", "change", "outcome or reason"].map(str::to_owned)];
    rows.extend(jobs.iter().map(|job| {
        let outcome = job.result.as_ref().and_then(|result| {
            let left_out = result["left_out"].as_str().map(|reason| format!("left out, {reason}"));
            left_out.or_else(|| result["outcome"].as_str().map(str::to_owned))
        });
        let last = job.reason.clone().or(outcome).unwrap_or_default();
        [
            job.id.to_string(),
            job.state.as_str().to_owned(),
            job.attempts.to_string(),
            format!("{} ago", age(now_ms.saturating_sub(job.changed_ms))),
            shorten(&strip_line(&job.name), LONGEST),
            strip_line(&last),
        ]
    }));
    out.push('\n');
    out.push_str(&align_columns(&rows, |row| row.len() - 1));
    out
}

/// Renders the numbers and the jobs as one document.
pub fn json(status: &QueueStatus, jobs: &[JobRecord]) -> Vec<u8> {
    let document = serde_json::json!({ "schema": "review-queue/1", "status": status, "jobs": jobs });
    let text = serde_json::to_string_pretty(&document).unwrap_or_default();
    (escape_invisible(text) + "\n").into_bytes()
}

/// Formats a time as its largest unit: `4 min`.
fn age(ms: i64) -> String {
    let seconds = (ms / 1_000).max(0);
    match seconds {
        0..=119 => format!("{seconds} s"),
        120..=7_199 => format!("{} min", seconds / 60),
        7_200..=172_799 => format!("{} h", seconds / 3_600),
        _ => format!("{} days", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_is_a_line_of_numbers_and_a_row_for_each_job() {
        let job = |id: &str, state, reason: Option<&str>| JobRecord {
            id: id.parse().unwrap(),
            name: "demo a\u{1b}[31mb".to_owned(),
            state,
            attempts: 2,
            priority: 0,
            added_ms: 0,
            changed_ms: 1_000,
            worker: Some("w-1".to_owned()),
            reason: reason.map(str::to_owned),
            result: (state == JobState::Done).then(|| serde_json::json!({ "outcome": "complete" })),
        };
        let jobs = [
            job("0123456789abcdef", JobState::Done, None),
            job("fedcba9876543210", JobState::Dead, Some("no such\nbranch")),
        ];
        let status = QueueStatus {
            jobs: [(JobState::Done, 1), (JobState::Dead, 1)].into(),
            oldest_waiting_ms: Some(400_000),
            is_drained: true,
        };
        insta::assert_snapshot!(table(&status, &jobs, 9_000_000));
        let read: serde_json::Value = serde_json::from_slice(&json(&status, &jobs)).unwrap();
        assert_eq!((&read["status"]["jobs"]["dead"], &read["jobs"][1]["state"]), (&1.into(), &"dead".into()));
        assert_eq!(age(200_000_000), "2 days");
    }
}
