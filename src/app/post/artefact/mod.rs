//! Posts the review of an untrusted job. Main function: [`post_artefact`].
//!
//! On the `pull_request` event of a fork the author of the pull request controls the workflow, so everything the job leaves behind is
//! hostile input. It is parsed strictly (`folder`, `claims`), matched against the event of the run and the current pull request on the
//! forge (`which`), and verified against the change in git (`hunks`).

mod claims;
mod error;
mod expected;
mod folder;
mod hunks;

use std::path::Path;
use std::sync::Arc;

use super::{PostOptions, PostOutcome, begin, post_untrusted};
use crate::app::context::environment::ProcessEnv;
use crate::app::context::error::AppError;
use crate::app::prepare::pull::{FetchedPull, sign_in};
use crate::app::prepare::{change, pull};
use crate::config::Flags;
use crate::domain::event::{Event, EventSink, NullEventSink};
use crate::domain::finding::{assign_prominence, by_worst};
use crate::domain::forge::{PullRequest, PullSpecifier};
use crate::domain::request::{ReviewRequest, ReviewScope};
use crate::domain::review::{Review, ReviewCoverage, ReviewOutcome, ReviewProvenance, StopReason};
use crate::domain::run::{Engine, Usage};
use crate::sys::blocking;
use crate::sys::cancel::Cancel;

pub use error::ArtefactError;
pub use expected::{ExpectedArtefact, expected_artefact};

/// Posts the review in `folder` if all of it can be verified; else nothing is posted, and the error says why.
///
/// The change is collected with the settings of the target and `flags`: they must leave out what the job left out. `options` selects a dry
/// run; the pull request is determined by `expected` alone. No receipt is saved, because the run is not one of this machine.
pub async fn post_artefact(
    folder: &Path,
    expected: ExpectedArtefact,
    options: &PostOptions,
    flags: &Flags,
    around: &ProcessEnv,
    events: &dyn EventSink,
    cancel: &Cancel,
) -> Result<PostOutcome, AppError> {
    let (settings, cancel) = begin(flags, around, events, cancel)?;
    let path = folder.to_owned();
    let work = move || -> Result<_, AppError> { Ok(claims::read(&folder::read(&path)?)?) };
    let claimed = blocking::run("reading the artefact", &cancel, work).await??;

    let github = sign_in(around, &cancel).await?;
    let id = expected::match_pull(&claimed, &expected, github.server().reveal().trim_end_matches('/'))?;
    let accept = move |pull: &PullRequest| Ok(expected::check_pull(pull, &expected)?);
    // Nothing is fetched for a pull request that does not match.
    accept(&github.within(&cancel).about(&id.repo).pull(&id).await?)?;
    events.emit(Event::Notice { text: format!("fetching {id}, to hold the artefact against it") });
    let fetched = pull::fetch_apart(&id, &github, around, &cancel).await?;
    accept(&fetched.pull)?;

    let (flags, surroundings, stop) = (flags.clone(), around.clone(), cancel.clone());
    let head = fetched.head;
    let work = move || build_review(&claimed, &fetched, &flags, &surroundings, &stop);
    let review = blocking::run("proving the artefact", &cancel, work).await??;
    post_untrusted(&review, (id, head), &accept, options, &settings, around, events, &cancel).await
}

/// Builds the review to post: the verified parts of the claimed one, in a change of our own.
fn build_review(
    claimed: &Review,
    fetched: &FetchedPull,
    flags: &Flags,
    around: &ProcessEnv,
    cancel: &Cancel,
) -> Result<Review, AppError> {
    let request = ReviewRequest {
        scope: ReviewScope::Pull(PullSpecifier::Whole { host: None, id: fetched.pull.id.clone() }),
        directory: fetched.directory.clone(),
        settings_from_worktree: false,
    };
    let subject = change::collect_pull(fetched, &request, flags, around, cancel, &NullEventSink)?;
    let mut findings = hunks::prove_findings(claimed, &subject, &fetched.pull.id)?;
    // What the artefact says of their order and prominence is a claim as well.
    findings.sort_by(by_worst);
    assign_prominence(&mut findings);
    Ok(Review {
        id: claimed.id,
        // It is not trusted, so it is never complete.
        outcome: ReviewOutcome::Incomplete,
        reasons: caveats(claimed),
        ended: StopReason::Finished,
        change: Arc::clone(&subject.change),
        summary: String::new(),
        findings,
        sections: Vec::new(),
        coverage: ReviewCoverage::default(),
        provenance: ReviewProvenance {
            version: String::new(),
            engine: Engine::Rules,
            provider: None,
            model: None,
            prompts: None,
            rules: None,
            instructions: None,
            guidelines: Vec::new(),
            started_at: String::new(),
            took_ms: 0,
            turns: 0,
            answered: Vec::new(),
            usage: Usage::default(),
            second_look: None,
        },
    })
}

/// Describes the claims that make it weaker than it looks, in our own words.
fn caveats(claimed: &Review) -> Vec<String> {
    let mut caveats = Vec::new();
    match claimed.outcome {
        ReviewOutcome::Complete => {}
        ReviewOutcome::Incomplete => caveats.push("By its own account it is incomplete".to_owned()),
        ReviewOutcome::Failed => caveats.push("By its own account nothing was reviewed".to_owned()),
    }
    let left_out = claimed.findings.iter().filter(|finding| finding.status.is_resolved()).count();
    if left_out > 0 {
        let (findings, are) = if left_out == 1 { ("finding", "is") } else { ("findings", "are") };
        caveats.push(format!("{left_out} {findings} that it calls fixed or dismissed {are} not shown"));
    }
    caveats
}
