//! Findings held against what was expected. Main function: [`score`].
//!
//! A finding is about an issue when it stands in the right place *and* speaks of the right thing. One finding is about one cause at most,
//! which most often is one issue, and the pairs are those that explain most: see [`assign_best`].

use super::assign::assign_best;
use super::golden::{ExpectedResult, Golden};
use crate::domain::finding::{Anchor, Category, Finding, Severity};
use crate::domain::place::LineRange;
use crate::domain::words::words;

/// The tolerated distance from the expected lines, in lines: people and models draw the edges of a defect differently.
pub const NEAR: u32 = 3;

words! {
    /// The quality of an issue's match, best first.
    pub enum IssueMatch: as_str {
        /// The right thing was said about its very lines.
        Exactly = "exactly",
        /// The right thing was said at most [`NEAR`] lines away, or with those lines as a related place.
        Nearby = "nearby",
        /// Something was said in the right place, but without any of the words.
        PlaceOnly = "place_only",
        /// The right thing was said about other lines, or another file.
        WordsOnly = "words_only",
        /// Nothing was said.
        Missed = "missed",
    }
}

impl IssueMatch {
    /// Checks whether the issue counts as found: both place and description were right.
    pub const fn is_found(self) -> bool {
        matches!(self, Self::Exactly | Self::Nearby)
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

/// The issues of a case by their causes.
struct IssueCauses<'a> {
    issues: &'a [Golden],
    /// The indexes of the issues of each cause. An issue that names no cause has one of its own.
    groups: Vec<Vec<usize>>,
}

impl<'a> IssueCauses<'a> {
    fn new(issues: &'a [Golden]) -> Self {
        let mut groups: Vec<Vec<usize>> = Vec::new();
        for (at, issue) in issues.iter().enumerate() {
            let is_same = |group: &&mut Vec<usize>| {
                issue.cause.is_some() && group.iter().any(|other| issues[*other].cause == issue.cause)
            };
            match groups.iter_mut().find(is_same) {
                Some(group) => group.push(at),
                None => groups.push(vec![at]),
            }
        }
        Self { issues, groups }
    }

    /// Rates how well a finding matches an issue of a group. Any of its places will do, and any of the cause's, but only the quoted one,
    /// which readers are shown, is exact.
    fn fit(&self, group: &[usize], at: usize, finding: &Finding) -> IssueMatch {
        let nearest = |anchor: &Anchor| group.iter().filter_map(|at| distance(&self.issues[*at], anchor)).min();
        let quoted = finding.anchors.first().and_then(nearest);
        let place = quoted.or_else(|| finding.anchors.iter().find_map(nearest));
        let named = self.issues[at].is_mentioned_in(&[&finding.title, &finding.body]);
        match (place, named) {
            (Some(_), true) if quoted == Some(0) => IssueMatch::Exactly,
            (Some(_), true) => IssueMatch::Nearby,
            (Some(_), false) => IssueMatch::PlaceOnly,
            (None, true) => IssueMatch::WordsOnly,
            (None, false) => IssueMatch::Missed,
        }
    }

    /// Returns the weight of a pair of a cause and a finding: that of all its issues.
    fn worth(&self, group: &[usize], finding: &Finding) -> i64 {
        group.iter().map(|at| worth(&self.issues[*at], self.fit(group, *at, finding), finding)).sum()
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

fn worth(issue: &Golden, found: IssueMatch, finding: &Finding) -> i64 {
    let counts = if issue.optional { OPTIONAL } else { WANTED };
    let worth = match found {
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
///
/// The finding paired with a cause answers those of its issues that it speaks of. An issue that it leaves out may be found by another
/// finding, which is one too many all the same: the reader needs only one for a cause.
pub fn score(expected: &ExpectedResult, findings: &[&Finding]) -> CaseScore {
    let issues = expected.issues();
    let causes = IssueCauses::new(issues);
    let row = |group: &Vec<usize>| findings.iter().map(|finding| causes.worth(group, finding)).collect();
    let pairs = assign_best(&causes.groups.iter().map(row).collect::<Vec<Vec<i64>>>());
    let mut taken = vec![false; findings.len()];
    for (group, pair) in causes.groups.iter().zip(&pairs) {
        if let Some(pair) = *pair {
            taken[pair] = group.iter().any(|at| causes.fit(group, *at, findings[pair]).is_found());
        }
    }
    let mut results: Vec<Option<IssueResult>> = vec![None; issues.len()];
    for (group, pair) in causes.groups.iter().zip(&pairs) {
        for at in group.iter().copied() {
            let fit = |by: &usize| causes.fit(group, at, findings[*by]);
            let other = || (0..findings.len()).filter(|by| !taken[*by] && fit(by).is_found()).min_by_key(fit);
            let by = pair.filter(|by| fit(by).is_found()).or_else(other).or(*pair);
            results[at] = Some(result_of(&issues[at], by.map(|by| (findings[by], fit(&by)))));
        }
    }
    let results: Vec<IssueResult> = results.into_iter().flatten().collect();
    let left = findings.iter().zip(&taken).filter(|(_, taken)| !**taken);
    let extra = left.map(|(finding, _)| {
        let is_found = |group: &Vec<usize>| {
            group.iter().any(|at| results[*at].found.is_found() && causes.fit(group, *at, finding).is_found())
        };
        Extra { finding: ReportedFinding::of(finding), again: causes.groups.iter().any(is_found) }
    });
    let extra = extra.collect();
    CaseScore { issues: results, extra, findings: findings.len() }
}

fn result_of(issue: &Golden, by: Option<(&Finding, IssueMatch)>) -> IssueResult {
    let found = by.map_or(IssueMatch::Missed, |(_, found)| found);
    let counting = by.filter(|_| found.is_found()).map(|(finding, _)| finding);
    IssueResult {
        found,
        by: by.map(|(finding, _)| ReportedFinding::of(finding)),
        severity_agrees: issue.severity.zip(counting).map(|(wanted, finding)| wanted == finding.severity),
        category_agrees: issue.category.zip(counting).map(|(wanted, finding)| wanted == finding.category),
    }
}

impl ReportedFinding {
    /// Returns what an evaluation remembers of a finding.
    pub fn of(finding: &Finding) -> Self {
        let first = finding.anchors.first();
        Self {
            title: finding.title.clone(),
            path: first.map_or_else(String::new, |anchor| anchor.path.display_name().into_owned()),
            line: first.and_then(|anchor| anchor.lines).map(LineRange::start),
            severity: finding.severity,
            category: finding.category,
            origin: finding.origin.name.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::finding::{
        AnchorMatch, FindingFingerprint, FindingId, FindingOrigin, FindingStatus, FindingVerification, OriginKind,
        Prominence,
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
            cause: None,
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
            prominence: Prominence::Main,
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
            carried_from: None,
            dismissed: None,
            origin: FindingOrigin { kind: OriginKind::Model, name: "m".to_owned() },
            guideline: None,
        }
    }

    fn of(issues: Vec<Golden>, findings: &[Finding]) -> CaseScore {
        score(&ExpectedResult::Issues(issues), &findings.iter().collect::<Vec<_>>())
    }

    #[test]
    fn only_the_quoted_place_is_exact() {
        let mut related = finding("Off by one", Some((40, 41)));
        related.anchors.push(finding("", Some((3, 3))).anchors.remove(0));
        assert_eq!(found(&of(vec![issue(3, "off by")], std::slice::from_ref(&related))), [IssueMatch::Nearby]);
        related.anchors.swap(0, 1);
        assert_eq!(found(&of(vec![issue(3, "off by")], &[related])), [IssueMatch::Exactly]);
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
    fn one_finding_answers_all_issues_of_a_cause() {
        let of_cause = |line, word| Golden { cause: Some("lock".to_owned()), ..issue(line, word) };
        let issues = || vec![of_cause(10, "lost"), of_cause(50, "twice")];
        let both = finding("lost or counted twice", Some((50, 50)));
        let score = of(issues(), std::slice::from_ref(&both));
        assert_eq!((found(&score), score.extra.len()), (vec![IssueMatch::Exactly; 2], 0));

        // The second finding for a cause is noise, and finds what the first leaves out.
        let halves = [finding("a lost update", Some((10, 10))), finding("counted twice", Some((50, 50)))];
        let score = of(issues(), &halves);
        assert_eq!((found(&score), score.extra.len(), score.extra[0].again), (vec![IssueMatch::Exactly; 2], 1, true));
        let score = of(issues(), &[both, halves[0].clone()]);
        assert_eq!((score.extra.len(), score.extra[0].finding.title.as_str()), (1, "a lost update"));

        // A finding about one of them does not answer the other.
        let score = of(issues(), &halves[..1]);
        assert_eq!((found(&score), score.extra.len()), (vec![IssueMatch::Exactly, IssueMatch::PlaceOnly], 0));
        let other = Golden { cause: Some("key".to_owned()), ..issue(90, "stale") };
        let score = of(issues().into_iter().chain([other]).collect(), &halves);
        assert_eq!(found(&score)[2], IssueMatch::Missed);
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
