//! Turns matches into claims: compares with the base, writes the claims, applies the caps and the suppression comments. Main function:
//! [`build_report`].

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::allow_comments::AllowFilter;
use super::base_matches::{find_equal_heads, scan_base};
use super::cause::locate_cause;
use super::checks::{CHECKS, Check, CheckSearch, RemovedWords};
use super::claims::{MatchReason, build_claim, rule_info};
use super::input::RulesInput;
use super::introduced::{BaseText, HeadMatch, MatchComparison, subtract_base};
use super::per_file::PerFileResults;
use super::removed::match_removals;
use super::target::RuleRef;
use crate::domain::change::{ChangeRun, HunkSpan};
use crate::domain::claim::Claim;
use crate::domain::finding::Severity;
use crate::domain::path::RepoPath;
use crate::domain::place::{DiffSide, LineRange};
use crate::sys::cancel::CancelReason;

/// Maximum number of claims of one rule in one file: after twenty, more say nothing new.
const MOST_ALIKE: usize = 20;
/// Maximum number of claims of one rule in the whole change.
const MOST_OF_A_RULE: usize = 1000;
/// Maximum number of claims in the whole change.
const MOST: usize = 2000;

/// The claims of the rules after caps and suppression comments.
#[derive(Default)]
pub(super) struct CappedClaims {
    /// About the change.
    pub(super) claims: Vec<Claim>,
    /// About pre-existing code in the files that the change touches.
    pub(super) standing: Vec<Claim>,
    /// Number of claims silenced by comments.
    pub(super) suppressed: u32,
}

/// Compares the matches with the base and writes the claims to report. `elsewhere` returns the matches of a file that is not reported on.
pub(super) fn build_report(
    input: &RulesInput<'_>,
    mut heads: Vec<HeadMatch>,
    elsewhere: &(dyn Fn(usize) -> Result<Vec<HeadMatch>, CancelReason> + Sync),
    alone: &PerFileResults,
    notes: &mut BTreeSet<String>,
) -> Result<CappedClaims, CancelReason> {
    let base = scan_base(input, &heads, &|at| alone.results_of(at)?.stood.get(), notes)?;
    heads.extend(find_equal_heads(input, &base, elsewhere)?);
    let MatchComparison { mut new, mut made, mut stood } = subtract_base(heads, &base);
    for found in [&mut new, &mut made, &mut stood] {
        found.retain(|hit| input.asks(hit.file));
    }
    stood.extend(take_moved_secrets(input, &mut new));
    let (rewritten, new) = split_rewritten(input, new, &base);
    stood.extend(rewritten);
    let mut found: Vec<(HeadMatch, MatchReason)> = new.into_iter().map(|hit| (hit, MatchReason::Came)).collect();
    let mut scopes = HashMap::new();
    for hit in made {
        input.cancel.check()?;
        if let Some((side, lines)) = locate_cause(input, &hit, &mut scopes)? {
            found.push((hit, MatchReason::Made(side, lines)));
        }
    }
    let sides = input.sides();
    for (rule, check) in CHECKS.iter().enumerate().filter(|(_, check)| !input.packs.is_off(check.info.name)) {
        let (find, why) = match check.search {
            CheckSearch::InText(_) => continue,
            CheckSearch::Lost(find) => (find, MatchReason::Went),
            CheckSearch::Gained(find) => (find, MatchReason::Came),
        };
        for (file, hit) in find(&sides, &alone.checks)? {
            found.push((precompared(file, RuleRef::Check(rule), hit), why));
        }
    }
    notes.extend(alone.checks.notes());
    found.extend(
        match_removals(input, &|at| alone.results_of(at)?.left.get(), notes)?
            .into_iter()
            .map(|(file, rule, hit)| (precompared(file, rule, hit), MatchReason::Went)),
    );
    if input.packs.reports_all_lines() {
        found.extend(stood.into_iter().map(|hit| (hit, MatchReason::Stood)));
    }
    found.sort_by_key(|(hit, why)| {
        (hit.file, *why == MatchReason::Stood, *why == MatchReason::Went, hit.hit.at.start(), hit.rule)
    });
    build_claims(input, found, notes)
}

/// Applies suppression comments to claims from elsewhere; returns the rest and the number silenced.
pub(super) fn apply_allow_comments(
    input: &RulesInput<'_>,
    claims: Vec<Claim>,
    notes: &mut BTreeSet<String>,
) -> (Vec<Claim>, u32) {
    let mut allowed = AllowFilter::new(input);
    let at: HashMap<(&RepoPath, DiffSide), usize> = input
        .change
        .files
        .iter()
        .enumerate()
        .flat_map(|(at, file)| [DiffSide::Old, DiffSide::New].map(|side| ((file.path_at(side), side), at)))
        .collect();
    let left = claims.into_iter().filter_map(|claim| {
        let (side, line) = (claim.place.side, claim.place.lines.map_or(1, LineRange::start));
        match at.get(&(&claim.place.path, side)).copied() {
            Some(file) => allowed.filter(claim, file, (side, line), false),
            None => Some(claim),
        }
    });
    let left = left.collect();
    (left, allowed.finish(notes))
}

/// Separates matches that only replaced a match of the same rule: editing existing wrong code introduces nothing new. The replaced match
/// was removed in the same run of lines, or else in the same hunk.
fn split_rewritten(input: &RulesInput<'_>, new: Vec<HeadMatch>, base: &BaseText) -> (Vec<HeadMatch>, Vec<HeadMatch>) {
    let mut taken: HashSet<(usize, RuleRef, u32)> = HashSet::new();
    new.into_iter().partition(|hit| {
        let Some(file) = input.change.files.get(hit.file).filter(|_| hit.may_supersede()) else { return false };
        let at = hit.hit.at.start();
        let holds = |span: HunkSpan| span.range().is_some_and(|lines| lines.contains(at));
        let hunk = file.hunks.iter().find(|hunk| hunk.runs.iter().any(|run| holds(run.new)));
        let runs = hunk.map_or(&[][..], |hunk| &hunk.runs);
        let (own, other): (Vec<&ChangeRun>, Vec<&ChangeRun>) = runs.iter().partition(|run| holds(run.new));
        let old = own.into_iter().chain(other).filter_map(|run| run.old.range());
        let mut lines = old.flat_map(|lines| lines.start()..=lines.end());
        lines.any(|line| base.places.contains(&(hit.file, hit.rule, line)) && taken.insert((hit.file, hit.rule, line)))
    })
}

/// Takes out the secrets that the change only moved or wrote otherwise.
fn take_moved_secrets(input: &RulesInput<'_>, new: &mut Vec<HeadMatch>) -> Vec<HeadMatch> {
    let removed = RemovedWords::of(input.sides());
    let is_secret = |rule: RuleRef| matches!(rule, RuleRef::Check(at) if CHECKS.get(at).is_some_and(Check::is_secret));
    let is_moved = |hit: &mut HeadMatch| {
        let file = input.change.files.get(hit.file).filter(|_| is_secret(hit.rule));
        file.is_some_and(|file| removed.hold(file, hit.hit.lines))
    };
    new.extract_if(.., is_moved).collect()
}

/// Creates a match that was compared with the other side before.
fn precompared(file: usize, rule: RuleRef, hit: super::target::RuleMatch) -> HeadMatch {
    HeadMatch { file, rule, hit, touched: None, was_at: None }
}

fn build_claims(
    input: &RulesInput<'_>,
    found: Vec<(HeadMatch, MatchReason)>,
    notes: &mut BTreeSet<String>,
) -> Result<CappedClaims, CancelReason> {
    let mut told = CappedClaims::default();
    let mut seen = HashSet::new();
    let mut allowed = AllowFilter::new(input);
    let mut limits = ReportCaps::default();
    let mut listed: Vec<(usize, bool, Claim)> = Vec::new();
    // Worst first, and new before pre-existing, so that many minor matches do not push out a severe one.
    let mut severities: HashMap<RuleRef, Option<Severity>> = HashMap::new();
    let mut found: Vec<(Option<Severity>, usize, (HeadMatch, MatchReason))> =
        found.into_iter().enumerate().map(|(at, one)| (severity(input, &one.0, &mut severities), at, one)).collect();
    found.sort_by_key(|(severity, at, (_, why))| (*why == MatchReason::Stood, *severity, *at));
    for (_, at, (found, why)) in found {
        input.cancel.check()?;
        let (file, line) = (found.file, found.hit.at.start());
        if limits.leave_out(file, found.rule) || (is_once(input, found.rule) && limits.has(file, found.rule)) {
            continue;
        }
        let rule = found.rule;
        let Some(claim) = build_claim(input, found, why) else { continue };
        // Two matches of a rule on the same lines are one thing to fix.
        if !seen.insert((claim.origin.name.clone(), claim.place.path.clone(), claim.place.side, claim.place.lines)) {
            continue;
        }
        let side = if why == MatchReason::Went { DiffSide::Old } else { DiffSide::New };
        let stood = why == MatchReason::Stood;
        let Some(claim) = allowed.filter(claim, file, (side, line), stood) else { continue };
        limits.count(file, rule);
        listed.push((at, stood, claim));
    }
    listed.sort_by_key(|(at, ..)| *at);
    for (_, stood, claim) in listed {
        if stood { told.standing.push(claim) } else { told.claims.push(claim) }
    }
    limits.notes(input, notes);
    told.suppressed = allowed.finish(notes);
    Ok(told)
}

/// Returns the severity of a match; `known` caches the severities of settings and rules. `None` if unknown, which is reported first.
fn severity(
    input: &RulesInput<'_>,
    head: &HeadMatch,
    known: &mut HashMap<RuleRef, Option<Severity>>,
) -> Option<Severity> {
    let of_rule = |rule: RuleRef| {
        let info = rule_info(input, rule)?;
        Some((input.packs.severity_of(&info.name), info.severity))
    };
    let (rule, own) = (head.rule, head.hit.severity);
    if own.is_some() {
        // Only checks grade their matches, and those are few.
        return of_rule(rule).and_then(|(set, _)| set).or(own);
    }
    *known.entry(rule).or_insert_with(|| of_rule(rule).map(|(set, own)| set.unwrap_or(own)))
}

/// Counts claims against the caps, and those dropped by them.
#[derive(Default)]
struct ReportCaps {
    alike: BTreeMap<(usize, RuleRef), RuleQuota>,
    of_rule: BTreeMap<RuleRef, RuleQuota>,
    all: RuleQuota,
}

#[derive(Default, Clone, Copy)]
struct RuleQuota {
    told: usize,
    more: usize,
}

impl RuleQuota {
    /// `true` if `most` are reported already; then one more is dropped.
    fn is_full(&mut self, most: usize) -> bool {
        let full = self.told >= most;
        self.more += usize::from(full);
        full
    }
}

/// `true` if one match of a rule is enough for a file.
fn is_once(input: &RulesInput<'_>, rule: RuleRef) -> bool {
    match rule {
        RuleRef::Pack { pack, rule } => {
            input.packs.pack(pack).and_then(|pack| pack.rule(rule)).is_some_and(|rule| rule.once)
        }
        RuleRef::Check(_) => false,
    }
}

impl ReportCaps {
    /// `true` if a match of the rule in that file is reported already.
    fn has(&self, file: usize, rule: RuleRef) -> bool {
        self.alike.get(&(file, rule)).is_some_and(|share| share.told > 0)
    }

    fn leave_out(&mut self, file: usize, rule: RuleRef) -> bool {
        self.alike.entry((file, rule)).or_default().is_full(MOST_ALIKE)
            || self.of_rule.entry(rule).or_default().is_full(MOST_OF_A_RULE)
            || self.all.is_full(MOST)
    }

    fn count(&mut self, file: usize, rule: RuleRef) {
        self.alike.entry((file, rule)).or_default().told += 1;
        self.of_rule.entry(rule).or_default().told += 1;
        self.all.told += 1;
    }

    fn notes(&self, input: &RulesInput<'_>, notes: &mut BTreeSet<String>) {
        for ((file, rule), share) in self.alike.iter().filter(|(_, share)| share.more > 0) {
            if let (Some(info), Some(file)) = (rule_info(input, *rule), input.change.files.get(*file)) {
                let (path, more) = (&file.path, share.more);
                notes.insert(format!(
                    "{path} has {more} more matches of {}, which are not listed one by one",
                    info.name
                ));
            }
        }
        for (rule, share) in self.of_rule.iter().filter(|(_, share)| share.more > 0) {
            if let Some(info) = rule_info(input, *rule) {
                let more = share.more;
                notes.insert(format!(
                    "{}: the first {MOST_OF_A_RULE} matches are listed, {more} more are not",
                    info.name
                ));
            }
        }
        if self.all.more > 0 {
            notes.insert(format!("the first {MOST} matches of the rules are listed, {} more are not", self.all.more));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::pack::PackFile;
    use super::super::packs::Packs;
    use super::super::synthetic_change::SyntheticChange;
    use crate::domain::claim::Claim;
    use crate::domain::finding::Severity;
    use crate::domain::place::DiffSide;
    use crate::domain::rule_info::PackOwner;

    /// An opened resource never closed in its function, a call of `eval`, and a call in a loop.
    const PACK: &str = "id: open\ntitle: t\nmessage: m.\nseverity: medium\ncategory: logic\n\
        rule: {pattern: 'const $X = open($A);', not: {precedes: {pattern: 'close($X);', stopBy: end}}}\n---\n\
        id: evaluates\ntitle: t\nmessage: m.\nseverity: medium\ncategory: logic\n\
        rule: {kind: function_declaration, has: {pattern: 'eval($A)', stopBy: end}}\n---\n\
        id: in-loop\ntitle: t\nmessage: m.\nseverity: medium\ncategory: logic\nat: CALL\n\
        rule: {kind: for_in_statement, has: {pattern: 'send($A)', stopBy: end, inside: {kind: expression_statement, pattern: $CALL}}}\n";

    fn packs() -> Packs {
        let (file, stem) = ("javascript-p.yml".to_owned(), "javascript-p".to_owned());
        Packs::only(&[PackFile { owner: PackOwner::User, file, stem, text: PACK.to_owned() }]).unwrap()
    }

    fn place(claim: &Claim) -> String {
        let lines = claim.place.lines.unwrap();
        let side = if claim.place.side == DiffSide::Old { "-" } else { "+" };
        format!("{} {side}{}-{}", claim.origin.name.replace("javascript-", ""), lines.start(), lines.end())
    }

    fn changed(old: &str, new: &str) -> Vec<String> {
        let report = SyntheticChange::default().was("a.js", old).now("a.js", new).review_with(&packs());
        report.claims.iter().map(place).collect()
    }

    #[test]
    fn a_match_made_by_a_deletion_is_told_at_the_deletion() {
        let old =
            "function f() {\n  const file = open(a);\n  read(file);\n  write(file);\n  close(file);\n}\nlater();\n";
        let new = old.replace("  close(file);\n", "");
        let report = SyntheticChange::default().was("a.js", old).now("a.js", &new).review_with(&packs());
        let claim = &report.claims[0];
        assert_eq!((report.claims.len(), place(claim).as_str()), (1, "p/open -5-5"));
        assert_eq!(claim.place.quote.as_deref(), Some("  close(file);"));
        assert_eq!(claim.related[0].quote.as_deref(), Some("  const file = open(a);"));
    }

    #[test]
    fn a_match_that_is_made_by_a_change_elsewhere_is_not_told() {
        let old = "function f() {\n  const file = open(a);\n  read(file);\n}\nfunction g() {\n  first();\n}\n";
        assert_eq!(changed(old, &old.replace("first", "second")), [""; 0]);
    }

    #[test]
    fn a_match_that_takes_the_place_of_another_is_not_new_and_one_more_is() {
        let old = "def f(a, more=[]):\n    more.append(a)\n    return more\n";
        let told = |new: &str| SyntheticChange::default().was("a.py", old).now("a.py", new).reported();
        assert_eq!(told(&old.replace("more", "rest")), [""; 0]);
        let twice = format!("{}{}", old.replace("more", "rest"), old.replace("f(", "g(").replace("more", "others"));
        assert_eq!(told(&twice), ["python/mutable-default a.py:4"]);
    }

    #[test]
    fn a_long_match_that_was_one_before_is_not_told_whatever_changes_in_it() {
        let body: String = (0..9).map(|at| ["  add(", &at.to_string(), ");\n"].concat()).collect();
        let with = format!("function f() {{\n{body}  eval(a);\n}}\n");
        assert_eq!(changed(&with, &with.replace("add(3)", "add(33)")), [""; 0]);
        let without = with.replace("eval", "add");
        assert_eq!(changed(&without, &with), ["p/evaluates +11-12"]);
    }

    #[test]
    fn a_match_is_told_at_the_part_that_its_rule_names() {
        let old = "function f() {\n  for (const a of b) {\n    log(a);\n    send(a);\n  }\n}\n";
        assert_eq!(changed("", old), ["p/in-loop +4-4"]);
        assert_eq!(changed(old, &old.replace("log", "trace")), [""; 0]);
        assert_eq!(changed(&old.replace("    send(a);\n", ""), old), ["p/in-loop +4-4"]);
    }

    #[test]
    fn what_stood_before_is_told_where_it_was_asked_for() {
        let old = "function f() {\n  const file = open(a);\n  read(file);\n}\n";
        let change = SyntheticChange::default().was("a.js", old).now("a.js", &format!("{old}g();\n"));
        let report = change.review_with(&packs().with_all_lines(true));
        assert!(report.claims.is_empty());
        assert_eq!(report.standing.iter().map(place).collect::<Vec<_>>(), ["p/open +2-2"]);
        assert!(report.standing[0].body.ends_with("It stood before this change."));
    }

    #[test]
    fn what_is_only_laid_out_anew_is_not_told() {
        let old = "function f() {\n  const file = open({ a: 'b', c });\n  read(file);\n}\n";
        let new = "function f() {\n  const file = open({\n    a: \"b\",\n    c,\n  });\n  read(file);\n}\n";
        assert_eq!(changed(old, new), [""; 0]);
    }

    #[test]
    fn many_small_things_do_not_push_out_a_large_one() {
        let small = "password = \"kX9mQ2vL7pR4tW8zB3nD\"\n";
        let many: String = (10..40).map(|at| small.replace("kX", &format!("{at}kX"))).collect();
        let token = ["ghp_", "q7Zt2Lw9Xc4Vb6Nm8Kj1Hg3Fd5Sa0PoIuYtR"].concat();
        let report = SyntheticChange::default().now("a.py", &format!("{many}token = '{token}'\n")).review();
        let worst = report.claims.iter().filter(|claim| claim.severity == Severity::Critical).count();
        assert_eq!((report.claims.len(), worst), (20, 1));
        assert_eq!(report.claims.last().map(place).as_deref(), Some("general/secret-added +31-31"));
    }

    #[test]
    fn one_rule_does_not_fill_a_review() {
        let mut change = SyntheticChange::default();
        for at in 0..100 {
            let text = format!("function f() {{\n{}}}\n", format!("  const file = open({at});\n").repeat(15));
            change = change.now(&format!("a{at}.js"), &text);
        }
        let report = change.review_with(&packs());
        assert_eq!(report.claims.len(), 1000);
        assert_eq!(report.notes, ["javascript-p/open: the first 1000 matches are listed, 500 more are not"]);
    }
}
