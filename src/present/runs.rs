//! The list of saved runs, for a terminal.

use super::columns::align_columns;
use crate::domain::finding::Severity;
use crate::domain::forge::PullId;
use crate::domain::review::ReviewOutcome;
use crate::domain::run::Engine;
use crate::domain::run_record::{RunRecord, SavedRun, StartedRun};
use crate::domain::text::strip_line;

/// Renders the runs as an aligned table, one line each with a heading; one line if there are none.
///
/// Columns are as wide as their contents; a damaged run shows its error in place of its outcome, an unfinished one how to resume.
pub fn table(runs: &[SavedRun]) -> String {
    if runs.is_empty() {
        return "no runs are kept yet: `review` keeps each one it makes\n".to_owned();
    }
    let mut rows =
        vec![["run", "started (UTC)", "repository", "change", "outcome", "cost", "findings"].map(str::to_owned)];
    rows.extend(runs.iter().map(|run| match run {
        SavedRun::Whole(record) => finished_row(record),
        SavedRun::Unfinished { run, is_running } => unfinished_row(run, *is_running),
        SavedRun::Damaged { id, changed_at, reason } => [
            short_id(&id.to_string()),
            minute(changed_at),
            "-".to_owned(),
            "-".to_owned(),
            format!("damaged: {}", strip_line(reason)),
            String::new(),
            String::new(),
        ],
    }));
    // A damaged run is described in a sentence; it may run on beyond the last column.
    align_columns(&rows, |row| if row.last().is_some_and(String::is_empty) { 4 } else { row.len() })
}

fn finished_row(record: &RunRecord) -> [String; 7] {
    let total: u32 = record.findings.values().sum();
    let parts: Vec<String> = Severity::ALL
        .iter()
        .filter_map(|severity| record.findings.get(severity).map(|count| format!("{count} {severity}")))
        .collect();
    let cost = match (record.engine, record.cost) {
        (Engine::Rules, _) => "-".to_owned(),
        (Engine::Model, Some(cost)) => cost.to_string(),
        (Engine::Model, None) => "unknown".to_owned(),
    };
    let findings = match (record.outcome, total) {
        (ReviewOutcome::Failed, 0) => "-".to_owned(),
        (_, 0) => "none".to_owned(),
        _ => format!("{total} ({})", parts.join(", ")),
    };
    [
        short_id(&record.id.to_string()),
        minute(&record.started_at),
        strip_line(&record.repository),
        change(&record.target, &record.head_name, record.pull.as_ref()),
        record.outcome.as_str().to_owned(),
        cost,
        findings,
    ]
}

/// Runs of the built-in rules cannot be resumed: they save no progress, and running them again takes moments.
fn unfinished_row(run: &StartedRun, is_running: bool) -> [String; 7] {
    let id = short_id(&run.id.to_string());
    let outcome = match (is_running, run.engine) {
        (true, _) => "going on".to_owned(),
        (false, Engine::Model) => format!("unfinished: review --resume {id}"),
        (false, Engine::Rules) => "unfinished: review it again".to_owned(),
    };
    let change = change(&run.target, &run.head_name, run.pull.as_ref());
    [id, minute(&run.started_at), strip_line(&run.repository), change, outcome, String::new(), String::new()]
}

fn change(target: &str, head_name: &str, pull: Option<&PullId>) -> String {
    let pull = pull.map(|pull| format!(" (#{})", pull.number)).unwrap_or_default();
    strip_line(&format!("{target} → {head_name}{pull}"))
}

fn short_id(id: &str) -> String {
    id.chars().take(8).collect()
}

/// Formats an RFC 3339 time: `2026-11-20 18:56`.
fn minute(time: &str) -> String {
    strip_line(&time.replace('T', " ")).chars().take(16).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn columns_line_up_and_damage_is_told() {
        let record = |id: &str, repository: &str, findings: &[(Severity, u32)]| {
            SavedRun::Whole(RunRecord {
                pull: (repository == "日本")
                    .then(|| PullId { repo: "octo/demo".parse().unwrap(), number: "5".parse().unwrap() }),
                id: id.parse().unwrap(),
                started_at: "2026-11-20T18:56:58.123Z".to_owned(),
                took_ms: 10,
                repository: repository.to_owned(),
                folder: None,
                target: "main".to_owned(),
                head_name: "feature".to_owned(),
                outcome: ReviewOutcome::Complete,
                engine: Engine::Model,
                cost: (!id.starts_with('c')).then(|| "0.42".parse().unwrap()),
                findings: findings.iter().copied().collect::<BTreeMap<_, _>>(),
                is_standalone: false,
                identity: None,
            })
        };
        let begun = |id: &str, engine: Engine, is_running: bool| SavedRun::Unfinished {
            run: StartedRun {
                id: id.parse().unwrap(),
                started_at: "2026-11-18T01:02:03.000Z".to_owned(),
                repository: "demo".to_owned(),
                target: "main".to_owned(),
                head_name: "topic".to_owned(),
                pull: None,
                engine,
                identity: None,
            },
            is_running,
        };
        let runs = [
            record("a0000000-0000-4000-8000-000000000001", "日本", &[(Severity::High, 1), (Severity::Low, 2)]),
            SavedRun::Damaged {
                id: "b0000000-0000-4000-8000-000000000002".parse().unwrap(),
                changed_at: "2026-11-19T01:02:03Z".to_owned(),
                reason: "there is no run.json (the run did not finish)".to_owned(),
            },
            record("c0000000-0000-4000-8000-000000000003", "x\x07y", &[]),
            begun("d0000000-0000-4000-8000-000000000004", Engine::Model, false),
            begun("e0000000-0000-4000-8000-000000000005", Engine::Rules, false),
            begun("f0000000-0000-4000-8000-000000000006", Engine::Model, true),
        ];
        insta::assert_snapshot!(table(&runs), @r"
        run       started (UTC)     repository  change               outcome   cost     findings
        a0000000  2026-11-20 18:56  日本        main → feature (#5)  complete  $0.42    3 (1 high, 2 low)
        b0000000  2026-11-19 01:02  -           -                    damaged: there is no run.json (the run did not finish)
        c0000000  2026-11-20 18:56  x<U+0007>y  main → feature       complete  unknown  none
        d0000000  2026-11-18 01:02  demo        main → topic         unfinished: review --resume d0000000
        e0000000  2026-11-18 01:02  demo        main → topic         unfinished: review it again
        f0000000  2026-11-18 01:02  demo        main → topic         going on
        ");
        assert_eq!(table(&[]), "no runs are kept yet: `review` keeps each one it makes\n");
    }
}
