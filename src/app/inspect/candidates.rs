//! Values for the completion of a command line. Main function: [`candidates`].

use std::path::Path;

use crate::app::context::environment::ProcessEnv;
use crate::app::context::saved_runs;
use crate::domain::run_record::SavedRun;
use crate::domain::text::strip_line;
use crate::rules::Packs;
use crate::sys::repo::Repo;

/// The kind of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CandidateKind {
    /// A branch or tag.
    Reference,
    /// A saved run.
    Run,
    /// A finding of the newest review of the repository.
    Finding,
    /// A built-in rule.
    Rule,
    /// A model, with its provider.
    Model,
}

/// Bound on the runs that are offered.
const MOST_RUNS: usize = 50;

/// Lists values with a description each; none where they cannot be read.
pub fn candidates(kind: CandidateKind) -> Vec<(String, Option<String>)> {
    list(kind).unwrap_or_default()
}

fn list(kind: CandidateKind) -> Option<Vec<(String, Option<String>)>> {
    let here = Path::new(".");
    match kind {
        CandidateKind::Reference => {
            let names = Repo::open(here).ok()?.reference_names();
            Some(names.into_iter().map(|name| (strip_line(&name), None)).collect())
        }
        CandidateKind::Run => {
            let around = ProcessEnv::of_this_process().ok()?;
            let (runs, _) = saved_runs::list_here(&around, here).ok()?;
            let whole = runs.into_iter().filter_map(|run| match run {
                SavedRun::Whole(record) => {
                    let help = format!("{} {} → {}", record.repository, record.target, record.head_name);
                    Some((record.id.to_string(), Some(strip_line(&help))))
                }
                SavedRun::Unfinished { run, .. } => Some((run.id.to_string(), Some(strip_line(&run.repository)))),
                SavedRun::Damaged { .. } => None,
            });
            let last = ("last".to_owned(), Some("the newest of this repository".to_owned()));
            Some(std::iter::once(last).chain(whole.take(MOST_RUNS)).collect())
        }
        CandidateKind::Finding => {
            let around = ProcessEnv::of_this_process().ok()?;
            let review = saved_runs::read(&around, saved_runs::find_here(&around, "last", here).ok()?).ok()?;
            Some(review.findings.iter().map(|one| (one.id.to_string(), Some(strip_line(&one.title)))).collect())
        }
        CandidateKind::Rule => {
            let pages = Packs::built_in().ok()?.rule_pages();
            Some(pages.into_iter().map(|page| (page.info.name, Some(page.info.title))).collect())
        }
        CandidateKind::Model => {
            let around = ProcessEnv::of_this_process().ok()?;
            let rows = around.providers.table().rows().iter();
            let models = rows.flat_map(|row| {
                let named = super::models::names(row).map(|name| (format!("{}/{name}", row.name), None));
                std::iter::once((row.name.to_string(), Some(row.title.to_string()))).chain(named).collect::<Vec<_>>()
            });
            Some(models.collect())
        }
    }
}
