//! Verifies the claims of an artefact against the current change: files, places, quotes, suggestions. Main function: [`prove_findings`].
//!
//! All locating and comparing is done by `evidence`, as for the claims of a model; this module only checks that the result matches the
//! artefact. Its output is made from our own trees wherever they have the text.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::claims::sanitize;
use super::error::ArtefactError;
use crate::app::context::error::AppError;
use crate::app::prepare::change::PreparedChange;
use crate::domain::change::{ChangeSet, FileChange};
use crate::domain::claim::{Claim, ClaimedPlace};
use crate::domain::finding::{Anchor, Finding, FindingStatus, FindingVerification, Prominence, Suggestion};
use crate::domain::forge::PullId;
use crate::domain::path::RepoPath;
use crate::domain::place::{DiffSide, LineRange};
use crate::domain::review::Review;
use crate::domain::text::strip_line;
use crate::evidence::{self, GrammarLanguages, Rejection, SuggestionFault};
use crate::syntax::TreeCache;
use crate::sys::cancel::CancelReason;

/// Limit on the reasons collected; further ones are counted.
const MOST: usize = 50;

/// Verifies the findings of an artefact; those that it calls fixed or dismissed are left out.
///
/// An honest run cannot name an invalid place, so one finding that fails refuses them all.
pub(super) fn prove_findings(
    claimed: &Review,
    subject: &PreparedChange,
    pull: &PullId,
) -> Result<Vec<Finding>, AppError> {
    let reasons = other_change(claimed, &subject.change);
    if !reasons.is_empty() {
        return Err(ArtefactError::OtherChange { pull: pull.clone(), reasons }.into());
    }
    let (mut proved, mut reasons) = (Vec::new(), Vec::new());
    for (n, finding) in claimed.findings.iter().enumerate().filter(|(_, finding)| !finding.status.is_resolved()) {
        subject.cancel.check()?;
        match verify_finding(finding, subject) {
            Ok(stands) => proved.push(stands),
            Err(ClaimFault::Stopped(stopped)) => return Err(stopped.into()),
            Err(why) => reasons.push(format!("findings[{n}]: {}", sanitize(&why.to_string()))),
        }
        if reasons.len() >= MOST {
            break;
        }
    }
    if reasons.is_empty() { Ok(proved) } else { Err(ArtefactError::Unproven { pull: pull.clone(), reasons }.into()) }
}

/// Describes how the change of an artefact differs from the one of the pull request.
fn other_change(review: &Review, ours: &ChangeSet) -> Vec<String> {
    let claimed = &review.change;
    let mut reasons = Vec::new();
    if claimed.merge_base != ours.merge_base {
        let short = |change: &ChangeSet| change.merge_base.map_or_else(|| "nowhere".to_owned(), |id| id.short());
        reasons.push(format!("it begins at {}, not at {}", short(claimed), short(ours)));
    }
    // The name is the forge's, without unprintable characters.
    if claimed.target != strip_line(&ours.target) {
        reasons.push(format!("it is compared with {}, not with {}", sanitize(&claimed.target), sanitize(&ours.target)));
    }
    let known: HashMap<&RepoPath, &FileChange> = ours.files.iter().map(|file| (&file.path, file)).collect();
    let mut named = HashSet::new();
    for file in &claimed.files {
        let path = sanitize(&file.path.display_name());
        match known.get(&file.path) {
            _ if !named.insert(&file.path) => reasons.push(format!("it names {path} twice")),
            None => reasons.push(format!("it names {path}, which is not changed")),
            Some(ours) if ours.status != file.status || ours.old_path != file.old_path => {
                reasons.push(format!("it says that {path} changed otherwise than it did"));
            }
            Some(_) => {}
        }
    }
    let looked_at = review.coverage.files.iter().map(|file| &file.path).filter(|path| !known.contains_key(path));
    reasons
        .extend(looked_at.map(|path| format!("it looked at {}, which is not changed", sanitize(&path.display_name()))));
    let left_out = ours.files.iter().filter(|file| !named.contains(&file.path));
    reasons.extend(left_out.map(|file| format!("it leaves out {}", sanitize(&file.path.display_name()))));
    reasons.truncate(MOST);
    reasons
}

/// The reason why a finding fails verification.
#[derive(Debug, thiserror::Error)]
enum ClaimFault {
    #[error("{}", .0.brief())]
    Rejected(Rejection),
    #[error("anchors[{0}] is not what stands there")]
    Otherwise(usize),
    #[error("an anchor is about the whole file and quotes something")]
    QuotesFile,
    #[error("the suggestion is not about the lines of the finding")]
    Elsewhere,
    #[error("the suggestion does not stand: {0}")]
    Suggestion(#[from] SuggestionFault),
    #[error(transparent)]
    Stopped(#[from] CancelReason),
}

impl From<Rejection> for ClaimFault {
    fn from(rejection: Rejection) -> Self {
        match rejection {
            Rejection::Stopped(stopped) => Self::Stopped(stopped),
            other => Self::Rejected(other),
        }
    }
}

/// Builds the finding to post: its texts, with places of our own.
fn verify_finding(finding: &Finding, subject: &PreparedChange) -> Result<Finding, ClaimFault> {
    let anchors = without_repeats(&finding.anchors);
    let mut places = Vec::with_capacity(anchors.len());
    for anchor in &anchors {
        if anchor.lines.is_none() && !anchor.quote.is_empty() {
            return Err(ClaimFault::QuotesFile);
        }
        places.push(ClaimedPlace {
            path: anchor.path.clone(),
            side: anchor.side,
            quote: anchor.lines.map(|_| anchor.quote.clone()),
            lines: anchor.lines,
            note: None,
        });
    }
    let mut places = places.into_iter();
    let Some(place) = places.next() else { return Err(ClaimFault::Otherwise(0)) };
    let claim = Claim {
        title: finding.title.clone(),
        body: finding.body.clone(),
        severity: finding.severity,
        category: finding.category,
        confidence: None,
        place,
        related: places.collect(),
        replacement: None,
        origin: finding.origin.clone(),
    };
    let found = evidence::anchor(&claim, &subject.change, &*subject.new, &*subject.old)?;
    let is_same = |n: usize| match (found.anchors.get(n), anchors.get(n)) {
        (Some(ours), Some(theirs)) => place_of(ours) == place_of(theirs),
        _ => false,
    };
    if let Some(n) = (0..anchors.len().max(found.anchors.len())).find(|n| !is_same(*n)) {
        return Err(ClaimFault::Otherwise(n));
    }
    let suggestion = finding.suggestion.as_ref().map(|one| suggestion(one, &anchors, subject)).transpose()?;
    Ok(Finding {
        id: finding.id.clone(),
        fingerprint: finding.fingerprint.clone(),
        status: FindingStatus::New,
        title: finding.title.clone(),
        body: finding.body.clone(),
        severity: finding.severity,
        prominence: Prominence::Main,
        category: finding.category,
        // Its confidence and the result of verification are claims that nothing supports.
        confidence: None,
        anchors: found.anchors,
        suggestion,
        verification: FindingVerification::UNCHECKED,
        origin: finding.origin.clone(),
        guideline: None,
        carried_from: None,
        dismissed: None,
    })
}

/// The parts of an anchor that do not depend on how it was located.
fn place_of(anchor: &Anchor) -> (&RepoPath, DiffSide, Option<LineRange>, &str, bool) {
    (&anchor.path, anchor.side, anchor.lines, &anchor.quote, anchor.masked)
}

/// Removes duplicates: one place may have been located in two ways.
fn without_repeats(anchors: &[Anchor]) -> Vec<&Anchor> {
    let mut known = HashSet::new();
    anchors.iter().filter(|anchor| known.insert(place_of(anchor))).collect()
}

/// Verifies a suggestion: it must be at the finding's place, or on the adjacent line that an insertion includes.
fn suggestion(claimed: &Suggestion, anchors: &[&Anchor], subject: &PreparedChange) -> Result<Suggestion, ClaimFault> {
    let anchor = anchors.iter().find(|anchor| claimed.is_about(anchor)).ok_or(ClaimFault::Elsewhere)?;
    let text = subject.new.read(&anchor.path).map_err(Rejection::from)?;
    let languages = GrammarLanguages::with(Arc::new(TreeCache::with_probe(subject.parser.clone())));
    let errors = |text: &str| languages.error_nodes(&anchor.path, text);
    Ok(evidence::prove(&text, &anchor.path, claimed.lines, &claimed.replacement, errors)?)
}
