//! The list of saved runs, for a terminal and as JSON. Main functions: [`table`], [`json()`].

use serde_json::json;
use textwrap::core::display_width;

use super::columns::align_columns;
use crate::domain::finding::Severity;
use crate::domain::forge::PullId;
use crate::domain::id::CommitId;
use crate::domain::review::ReviewOutcome;
use crate::domain::run::Engine;
use crate::domain::run_record::{RunRecord, SavedRun, StartedRun};
use crate::domain::text::strip_line;

/// The columns of a repository's name on a terminal.
const LONGEST_REPOSITORY: usize = 12;

/// The version of the JSON.
const SCHEMA: &str = "review-runs/1";

/// Renders the runs as an aligned table, one line each with a heading; one line if there are none.
///
/// `is_one_repository` leaves out the names of repositories. `width` is what the lines have to fit: the names of changes are shortened for it. `local`
/// formats a time. A damaged run shows its error in place of its outcome.
pub fn table(
    runs: &[SavedRun],
    is_one_repository: bool,
    width: Option<usize>,
    local: &dyn Fn(&str) -> String,
) -> String {
    if runs.is_empty() {
        let where_to_look =
            if is_one_repository { " for this repository (`review list --all` lists those of others)" } else { "" };
        return format!("no reviews are saved yet{where_to_look}: `review` saves each one it makes\n");
    }
    let heading = ["run", "started", "repository", "change", "outcome", "cost", "findings"].map(str::to_owned);
    let mut rows: Vec<[String; 7]> = runs.iter().map(|run| row(run, local)).collect();
    let is_short = |row: &[String; 7]| !row[4].starts_with("damaged");
    let widest = |rows: &[[String; 7]], at: usize| {
        let cells = rows.iter().filter(|row| is_short(row)).map(|row| display_width(&row[at]));
        cells.max().unwrap_or(0).max(display_width(&heading[at]))
    };
    let shown: Vec<usize> = (0..7)
        .filter(|at| *at != 2 || !is_one_repository)
        .filter(|at| *at != 5 || rows.iter().any(|row| !matches!(row[5].as_str(), "" | "-")))
        .collect();
    if let Some(width) = width {
        for row in &mut rows {
            row[2] = shorten(&row[2], LONGEST_REPOSITORY);
        }
        let others: usize = shown.iter().filter(|at| **at != 3).map(|at| widest(&rows, *at) + 2).sum();
        let room = width.saturating_sub(others).max(12);
        for row in &mut rows {
            row[3] = shorten(&row[3], room);
        }
    }
    rows.insert(0, heading);
    let rows: Vec<Vec<String>> = rows.iter().map(|row| shown.iter().map(|at| row[*at].clone()).collect()).collect();
    // A damaged run is described in a sentence; it may run on beyond the last column.
    let mut out =
        align_columns(&rows, |row| row.iter().position(|cell| cell.starts_with("damaged")).unwrap_or(row.len()));
    if let Some(first) = runs.iter().find_map(resumable) {
        out.push_str(&format!("\nAn interrupted run goes on with: review --resume {}\n", short_id(&first)));
    }
    out
}

fn resumable(run: &SavedRun) -> Option<String> {
    match run {
        SavedRun::Unfinished { run, is_running: false } if run.engine == Engine::Model => Some(run.id.to_string()),
        _ => None,
    }
}

/// Shortens the middle of a name.
fn shorten(text: &str, width: usize) -> String {
    if display_width(text) <= width {
        return text.to_owned();
    }
    let chars: Vec<char> = text.chars().collect();
    let (front, back) = ((width - 1) / 2, (width - 1) / 2);
    let tail = chars.len().saturating_sub(back);
    chars.iter().take(front).chain(std::iter::once(&'…')).chain(chars.iter().skip(tail)).collect()
}

fn row(run: &SavedRun, local: &dyn Fn(&str) -> String) -> [String; 7] {
    match run {
        SavedRun::Whole(record) => finished_row(record, local),
        SavedRun::Unfinished { run, is_running } => unfinished_row(run, *is_running, local),
        SavedRun::Damaged { id, changed_at, reason } => [
            short_id(&id.to_string()),
            strip_line(&local(changed_at)),
            "-".to_owned(),
            "-".to_owned(),
            format!("damaged: {}", strip_line(reason)),
            String::new(),
            String::new(),
        ],
    }
}

fn finished_row(record: &RunRecord, local: &dyn Fn(&str) -> String) -> [String; 7] {
    let total: u32 = record.findings.values().sum();
    let worst = Severity::ALL.iter().find_map(|severity| {
        record.findings.get(severity).filter(|count| **count > 0).map(|count| format!("{count} {severity}"))
    });
    let cost = match (record.engine, record.cost) {
        (Engine::Rules, _) => "-".to_owned(),
        (Engine::Model, Some(cost)) => cost.to_string(),
        (Engine::Model, None) => "unknown".to_owned(),
    };
    let findings = match (record.outcome, total) {
        (ReviewOutcome::Failed, 0) => "-".to_owned(),
        (_, 0) => "none".to_owned(),
        _ => format!("{total} ({})", worst.unwrap_or_default()),
    };
    [
        short_id(&record.id.to_string()),
        strip_line(&local(&record.started_at)),
        strip_line(&record.repository),
        change(&record.target, &record.head_name, record.pull.as_ref()),
        record.outcome.as_str().to_owned(),
        cost,
        findings,
    ]
}

/// Runs of the built-in rules cannot be resumed: they save no progress, and running them again takes moments.
fn unfinished_row(run: &StartedRun, is_running: bool, local: &dyn Fn(&str) -> String) -> [String; 7] {
    let outcome = if is_running { "running" } else { "interrupted" };
    let change = change(&run.target, &run.head_name, run.pull.as_ref());
    [
        short_id(&run.id.to_string()),
        strip_line(&local(&run.started_at)),
        strip_line(&run.repository),
        change,
        outcome.to_owned(),
        String::new(),
        String::new(),
    ]
}

/// Renders the runs as a document.
pub fn json(runs: &[SavedRun]) -> Vec<u8> {
    let one = |run: &SavedRun| match run {
        SavedRun::Whole(record) => json!({
            "id": record.id.to_string(), "state": "finished", "started_at": record.started_at, "took_ms": record.took_ms,
            "repository": record.repository, "target": record.target, "head": record.head_name,
            "pull": record.pull.as_ref().map(ToString::to_string), "outcome": record.outcome.as_str(),
            "cost": record.cost.map(|cost| cost.to_string()), "findings": record.findings,
        }),
        SavedRun::Unfinished { run, is_running } => json!({
            "id": run.id.to_string(), "state": if *is_running { "running" } else { "interrupted" },
            "started_at": run.started_at, "repository": run.repository, "target": run.target, "head": run.head_name,
            "pull": run.pull.as_ref().map(ToString::to_string),
        }),
        SavedRun::Damaged { id, changed_at, reason } => {
            json!({ "id": id.to_string(), "state": "damaged", "changed_at": changed_at, "reason": strip_line(reason) })
        }
    };
    let all = json!({ "schema": SCHEMA, "runs": runs.iter().map(one).collect::<Vec<_>>() });
    format!("{all:#}\n").into_bytes()
}

fn change(target: &str, head_name: &str, pull: Option<&PullId>) -> String {
    let pull = pull.map(|pull| format!(" (#{})", pull.number)).unwrap_or_default();
    let [target, head_name] = [target, head_name].map(CommitId::shorten_name);
    strip_line(&format!("{target} → {head_name}{pull}"))
}

fn short_id(id: &str) -> String {
    id.chars().take(8).collect()
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
        let local = |time: &str| time.replace('T', " ").chars().take(16).collect::<String>();
        insta::assert_snapshot!(table(&runs, false, None, &local), @r"
        run       started           repository  change               outcome      cost     findings
        a0000000  2026-11-20 18:56  日本        main → feature (#5)  complete     $0.42    3 (1 high)
        b0000000  2026-11-19 01:02  -           -                    damaged: there is no run.json (the run did not finish)
        c0000000  2026-11-20 18:56  x<U+0007>y  main → feature       complete     unknown  none
        d0000000  2026-11-18 01:02  demo        main → topic         interrupted
        e0000000  2026-11-18 01:02  demo        main → topic         interrupted
        f0000000  2026-11-18 01:02  demo        main → topic         running

        An interrupted run goes on with: review --resume d0000000
        ");
        insta::assert_snapshot!(table(&runs[..1], true, Some(70), &local), @r"
        run       started           change         outcome   cost   findings
        a0000000  2026-11-20 18:56  main →…e (#5)  complete  $0.42  3 (1 high)
        ");
        let narrow = table(&runs, true, Some(80), &local);
        let mut lines = narrow.lines().filter(|line| !line.contains("damaged"));
        assert!(lines.all(|line| display_width(line) <= 80), "{narrow}");
        assert!(table(&[], false, None, &local).starts_with("no reviews are saved yet: "));
        assert!(std::str::from_utf8(&json(&runs)).unwrap().contains("\"state\": \"interrupted\""));
    }
}
