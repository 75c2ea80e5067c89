//! Findings held against what was expected. Main function: [`score`].
//!
//! A finding is about an issue when it stands in the right place *and* speaks of the right thing. One finding is about one issue at most,
//! and the pairs are those that explain most: see [`assign_best`].

use super::assign::assign_best;
use super::golden::{ExpectedResult, Golden};
use crate::domain::finding::{Anchor, Category, Finding, Severity};
use crate::domain::place::LineRange;

/// The tolerated distance from the expected lines, in lines: people and models draw the edges of a defect differently.
pub const NEAR: u32 = 3;

/// The quality of an issue's match, best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum IssueMatch {
    /// The right thing was said about its very lines.
    Exactly,
    /// The right thing was said at most [`NEAR`] lines away.
    Nearby,
    /// Something was said in the right place, but without any of the words.
    PlaceOnly,
    /// The right thing was said about other lines, or another file.
    WordsOnly,
    /// Nothing was said.
    Missed,
}

impl IssueMatch {
    /// Checks whether the issue counts as found: both place and description were right.
    pub const fn is_found(self) -> bool {
        matches!(self, Self::Exactly | Self::Nearby)
    }

    /// The word used in JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Exactly => "exactly",
            Self::Nearby => "nearby",
            Self::PlaceOnly => "place_only",
            Self::WordsOnly => "words_only",
            Self::Missed => "missed",
        }
    }
}

/// A finding, as an evaluation remembers it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportedFinding {
    /// Its title, as it was written.
    pub title: String,
    /// The file of its first place.
    pub path: String,
    /// The first line of that place, where it has one.
    pub line: Option<u32>,
    /// The severity that it states.
    pub severity: Severity,
    /// Of what kind.
    pub category: Category,
    /// The reporter: the name of a rule or a model.
    pub origin: String,
}

/// The result of an expected issue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IssueResult {
    /// The quality of the match.
    pub found: IssueMatch,
    /// By which finding.
    pub by: Option<ReportedFinding>,
    /// `true` if the severity is the expected one; `None` if none is expected or the issue was not found.
    pub severity_agrees: Option<bool>,
    /// `true` if the category is the expected one; `None` as for the severity.
    pub category_agrees: Option<bool>,
}

/// A finding that found no issue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Extra {
    /// The finding.
    pub finding: ReportedFinding,
    /// `true` if it says again what another finding found.
    pub again: bool,
}

/// A review held against its case.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CaseScore {
    /// One for each issue of the case, in its order.
    pub issues: Vec<IssueResult>,
    /// The findings that found none, in the order of the review. Those that got place or words right are among them.
    pub extra: Vec<Extra>,
    /// The number of findings there were.
    pub findings: usize,
}

impl CaseScore {
    /// Returns the score of an empty review.
    pub fn empty(expected: &ExpectedResult) -> Self {
        score(expected, &[])
    }
}

/// The weight of one pair. A kind of pair is worth more than all pairs of the lesser kinds together, for up to 900 issues.
const AGREES: i64 = 1;
const WORDS: i64 = 1_000 * 4;
const PLACE: i64 = WORDS * 1_000;
const EXACT: i64 = PLACE * 1_000;
const OPTIONAL: i64 = EXACT * 1_000;
const WANTED: i64 = OPTIONAL * 1_000;

/// Rates how well a finding matches an issue.
fn fit(issue: &Golden, finding: &Finding) -> IssueMatch {
    let place = finding.anchors.iter().filter_map(|anchor| distance(issue, anchor)).min();
    let named = issue.is_mentioned_in(&[&finding.title, &finding.body]);
    match (place, named) {
        (Some(0), true) => IssueMatch::Exactly,
        (Some(_), true) => IssueMatch::Nearby,
        (Some(_), false) => IssueMatch::PlaceOnly,
        (None, true) => IssueMatch::WordsOnly,
        (None, false) => IssueMatch::Missed,
    }
}

/// Returns the number of lines between an issue and a place; `None` if that is not the right place.
fn distance(issue: &Golden, anchor: &Anchor) -> Option<u32> {
    if anchor.path != issue.path || anchor.side != issue.side {
        return None;
    }
    let (wanted, given) = match (issue.lines, anchor.lines) {
        (None, _) => return Some(0),
        // Who is told only the file has to look for the lines.
        (Some(_), None) => return None,
        (Some(wanted), Some(given)) => (wanted, given),
    };
    if wanted.overlaps(given) {
        return Some(0);
    }
    let apart = if wanted.end() < given.start() {
        given.start() - wanted.end()
    } else {
        wanted.start().saturating_sub(given.end())
    };
    Some(apart).filter(|apart| *apart <= NEAR)
}

fn worth(issue: &Golden, finding: &Finding) -> i64 {
    let counts = if issue.optional { OPTIONAL } else { WANTED };
    let worth = match fit(issue, finding) {
        IssueMatch::Exactly => counts + EXACT,
        IssueMatch::Nearby => counts,
        IssueMatch::PlaceOnly => PLACE,
        IssueMatch::WordsOnly => WORDS,
        IssueMatch::Missed => return 0,
    };
    let agrees = [issue.severity == Some(finding.severity), issue.category == Some(finding.category)];
    worth + AGREES * agrees.map(i64::from).iter().sum::<i64>()
}

/// Holds the findings that a review shows against what its case expects.
pub fn score(expected: &ExpectedResult, findings: &[&Finding]) -> CaseScore {
    let issues = expected.issues();
    let weights: Vec<Vec<i64>> =
        issues.iter().map(|issue| findings.iter().map(|finding| worth(issue, finding)).collect()).collect();
    let pairs = assign_best(&weights);
    let mut taken = vec![false; findings.len()];
    let results = issues.iter().zip(&pairs).map(|(issue, pair)| {
        let finding = pair.map(|at| (at, findings[at]));
        let found = finding.map_or(IssueMatch::Missed, |(_, finding)| fit(issue, finding));
        let counting = finding.filter(|_| found.is_found());
        if let Some((at, _)) = counting {
            taken[at] = true;
        }
        IssueResult {
            found,
            by: finding.map(|(_, finding)| reported(finding)),
            severity_agrees: issue.severity.zip(counting).map(|(wanted, (_, finding))| wanted == finding.severity),
            category_agrees: issue.category.zip(counting).map(|(wanted, (_, finding))| wanted == finding.category),
        }
    });
    let issues_found: Vec<IssueResult> = results.collect();
    let left = findings.iter().zip(&taken).filter(|(_, taken)| !**taken);
    let extra = left.map(|(finding, _)| {
        let is_found =
            |(issue, result): (&Golden, &IssueResult)| result.found.is_found() && fit(issue, finding).is_found();
        Extra { finding: reported(finding), again: issues.iter().zip(&issues_found).any(is_found) }
    });
    let extra = extra.collect();
    CaseScore { issues: issues_found, extra, findings: findings.len() }
}

fn reported(finding: &Finding) -> ReportedFinding {
    let first = finding.anchors.first();
    ReportedFinding {
        title: finding.title.clone(),
        path: first.map_or_else(String::new, |anchor| anchor.path.display_name().into_owned()),
        line: first.and_then(|anchor| anchor.lines).map(LineRange::start),
        severity: finding.severity,
        category: finding.category,
        origin: finding.origin.name.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::finding::{
        AnchorMatch, FindingFingerprint, FindingId, FindingOrigin, FindingStatus, FindingVerification, OriginKind,
    };
    use crate::domain::path::RepoPath;
    use crate::domain::place::DiffSide;

    fn path(name: &str) -> RepoPath {
        RepoPath::parse(name).unwrap()
    }

    fn issue(line: u32, word: &str) -> Golden {
        Golden {
            path: path("a.py"),
            side: DiffSide::New,
            lines: Some(LineRange::line(line)),
            words: vec![word.to_owned()],
            severity: Some(Severity::High),
            category: None,
            optional: false,
        }
    }

    fn finding(title: &str, lines: Option<(u32, u32)>) -> Finding {
        Finding {
            id: FindingId("F1".to_owned()),
            fingerprint: FindingFingerprint("f".to_owned()),
            status: FindingStatus::New,
            title: title.to_owned(),
            body: String::new(),
            severity: Severity::High,
            category: Category::Logic,
            confidence: None,
            anchors: vec![Anchor {
                path: path("a.py"),
                side: DiffSide::New,
                lines: lines.map(|(start, end)| LineRange::new(start, end).unwrap()),
                quote: String::new(),
                matched: AnchorMatch::Exact,
                masked: false,
            }],
            suggestion: None,
            verification: FindingVerification::UNCHECKED,
            dismissed: None,
            origin: FindingOrigin { kind: OriginKind::Model, name: "m".to_owned() },
            guideline: None,
        }
    }

    fn of(issues: Vec<Golden>, findings: &[Finding]) -> CaseScore {
        score(&ExpectedResult::Issues(issues), &findings.iter().collect::<Vec<_>>())
    }

    fn found(score: &CaseScore) -> Vec<IssueMatch> {
        score.issues.iter().map(|issue| issue.found).collect()
    }

    #[test]
    fn place_and_words_decide_together() {
        for (title, lines, expected) in [
            ("A Bound is wrong", Some((10, 10)), IssueMatch::Exactly),
            ("a bound is wrong", Some((4, 30)), IssueMatch::Exactly),
            ("a bound is wrong", Some((13, 14)), IssueMatch::Nearby),
            ("a bound is wrong", Some((5, 7)), IssueMatch::Nearby),
            ("a bound is wrong", Some((14, 14)), IssueMatch::WordsOnly),
            ("a bound is wrong", None, IssueMatch::WordsOnly),
            ("an edge is wrong", Some((10, 10)), IssueMatch::PlaceOnly),
            ("an edge is wrong", Some((20, 20)), IssueMatch::Missed),
        ] {
            let score = of(vec![issue(10, "bound")], &[finding(title, lines)]);
            assert_eq!(found(&score), [expected], "{title} {lines:?}");
            assert_eq!(score.extra.len(), usize::from(!expected.is_found()), "{title} {lines:?}");
        }
        let whole = Golden { lines: None, ..issue(10, "bound") };
        assert_eq!(found(&of(vec![whole], &[finding("a bound", None)])), [IssueMatch::Exactly]);
        let other = Golden { side: DiffSide::Old, ..issue(10, "bound") };
        assert_eq!(found(&of(vec![other], &[finding("a bound", Some((10, 10)))])), [IssueMatch::WordsOnly]);
    }

    #[test]
    fn a_finding_that_fits_two_issues_is_given_to_the_one_that_has_no_other() {
        let issues = || vec![issue(10, "bound"), issue(12, "guard")];
        let both = finding("bound and guard", Some((10, 12)));
        let first = finding("a bound", Some((10, 10)));
        assert_eq!(found(&of(issues(), &[both.clone(), first])), [IssueMatch::Exactly; 2]);
        assert_eq!(
            found(&of(issues(), &[both])),
            [IssueMatch::Exactly, IssueMatch::Missed],
            "one finding is one issue at most"
        );
    }

    #[test]
    fn the_same_said_twice_is_one_too_many() {
        let twice = [finding("a bound", Some((10, 10))), finding("this bound", Some((10, 10)))];
        let score = of(vec![issue(10, "bound")], &twice);
        assert_eq!((found(&score), score.extra.len(), score.extra[0].again), (vec![IssueMatch::Exactly], 1, true));
        let other = of(vec![issue(10, "bound")], &[finding("a colour", Some((90, 90)))]);
        assert!(!other.extra[0].again && other.extra.len() == 1);
    }

    #[test]
    fn an_optional_issue_never_takes_what_finds_another() {
        let optional = Golden { optional: true, ..issue(10, "bound") };
        let near = finding("a bound", Some((11, 11)));
        let score = of(vec![optional.clone(), issue(13, "bound")], std::slice::from_ref(&near));
        assert_eq!(found(&score), [IssueMatch::Missed, IssueMatch::Nearby]);
        assert!(of(vec![optional, issue(90, "x")], &[near]).extra.is_empty(), "and nothing about it is wrong");
    }

    #[test]
    fn severity_is_held_against_what_was_found_alone() {
        let low = Finding { severity: Severity::Low, ..finding("a bound", Some((10, 10))) };
        let agrees = |finding| of(vec![issue(10, "bound")], &[finding]).issues[0].severity_agrees;
        assert_eq!(agrees(low), Some(false));
        assert_eq!(agrees(finding("a bound", Some((10, 10)))), Some(true));
        assert_eq!(agrees(finding("else", Some((10, 10)))), None);
    }
}
