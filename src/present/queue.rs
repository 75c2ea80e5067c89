//! The state of a queue and its jobs, for a terminal and as JSON. Main functions: [`table`], [`json`].

use super::columns::align_columns;
use super::json::escape_invisible;
use crate::domain::queue::{JobRecord, JobState, QueueBudget, QueueStatus, ScheduleRecord, ScheduledSelection};
use crate::domain::text::{shorten, strip_line};

/// Upper bound on the characters of a name.
const LONGEST: usize = 50;

/// Renders the numbers, and a row for each job; the reason of a job that is dead or waits again stands in its last column.
pub fn table(status: &QueueStatus, jobs: &[JobRecord], now_ms: i64) -> String {
    let count = |state: &JobState| format!("{} {state}", status.jobs.get(state).copied().unwrap_or(0));
    let counts = JobState::ALL.iter().map(count).collect::<Vec<_>>().join(", ");
    let mut out = format!("{counts}\n");
    if let Some(oldest) = status.oldest_waiting_ms {
        out.push_str(&format!("the oldest waiting job has been ready for {}\n", age(oldest)));
    }
    if status.is_drained {
        out.push_str("workers take no more jobs: `review queue drain --off` lets them\n");
    }
    if let Some(budget) = &status.budget {
        out.push_str(&budget_line(budget));
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

/// Renders a row for each schedule.
pub fn schedule_table(schedules: &[ScheduleRecord], now_ms: i64) -> String {
    let mut rows = vec![["schedule", "every", "due", "repository", "changes"].map(str::to_owned)];
    rows.extend(schedules.iter().map(|schedule| {
        let (repository, changes) = match &schedule.selection {
            Ok(selection) => (selection.repository.as_str(), changes_of(selection)),
            Err(reason) => ("", reason.clone()),
        };
        let wait = schedule.next_ms.saturating_sub(now_ms);
        [
            strip_line(&schedule.name),
            age(schedule.every_ms),
            if wait > 0 { format!("in {}", age(wait)) } else { "now".to_owned() },
            shorten(&strip_line(repository), LONGEST),
            strip_line(&changes),
        ]
    }));
    align_columns(&rows, |row| row.len() - 1)
}

fn changes_of(selection: &ScheduledSelection) -> String {
    if selection.open_pulls {
        return "open pull requests".to_owned();
    }
    let names = if selection.all_branches { "all branches".to_owned() } else { selection.branches.join(" ") };
    let remote = selection.remote.as_ref().map(|remote| format!(" of {remote}")).unwrap_or_default();
    let target = selection.target.as_ref().map(|target| format!(" against {target}")).unwrap_or_default();
    format!("{names}{remote}{target}").trim_start().to_owned()
}

/// Describes the budget, and says when no more jobs are taken because of it.
fn budget_line(budget: &QueueBudget) -> String {
    let spent = budget.spent;
    let cost = budget.max_cost.map(|most| format!("{} of {}", spent.cost, most.format_full()));
    let tokens = budget.max_tokens.map(|most| format!("{} of {most} input tokens", spent.tokens));
    let parts: Vec<String> = cost.into_iter().chain(tokens).collect();
    let period = if budget.is_daily { "today (UTC)" } else { "in total" };
    let mut line = format!("budget: {} spent or reserved {period}\n", parts.join(" and "));
    if budget.is_used_up() {
        let until = if budget.is_daily { ", or tomorrow" } else { "" };
        line.push_str(&format!(
            "the budget is used up: workers take jobs again after `review queue limit` raises it{until}\n"
        ));
    }
    line
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
    use crate::domain::queue::BudgetPart;

    #[test]
    fn a_schedule_is_a_row() {
        let selection = ScheduledSelection {
            repository: "demo".to_owned(),
            branches: vec!["topic-*".to_owned(), "x\u{1b}[31m".to_owned()],
            target: Some("main".to_owned()),
            ..ScheduledSelection::default()
        };
        let row = |name: &str, selection, next_ms| ScheduleRecord {
            name: name.to_owned(),
            selection,
            every_ms: 86_400_000,
            next_ms,
        };
        let pulls = ScheduledSelection { open_pulls: true, ..selection.clone() };
        let rows = [
            row("a", Ok(selection), 1_000),
            row("b", Ok(pulls), 0),
            row("c", Err("it is\nbroken".to_owned()), 9_000_000),
        ];
        insta::assert_snapshot!(schedule_table(&rows, 500));
    }

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
            budget: Some(QueueBudget {
                max_tokens: Some(1_000),
                max_cost: Some("20".parse().unwrap()),
                is_daily: true,
                spent: BudgetPart { tokens: 400, cost: "19.5".parse().unwrap() },
            }),
        };
        insta::assert_snapshot!(table(&status, &jobs, 9_000_000));
        let read: serde_json::Value = serde_json::from_slice(&json(&status, &jobs)).unwrap();
        assert_eq!((&read["status"]["jobs"]["dead"], &read["jobs"][1]["state"]), (&1.into(), &"dead".into()));
        assert_eq!(age(200_000_000), "2 days");
    }
}
