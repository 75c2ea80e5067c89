//! Running the rules over a change. Main types: [`RulesInput`] → [`run`] → [`RulesReport`].

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::checks::{BothSides, CHECKS};
use super::introduced::{BaseCounts, HeadHit, introduced};
use super::look::{Look, Looked, look};
use super::packs::{Packs, RuleInfo};
use super::subject::{Hit, RuleRef, Subject, Touched, telling_word};
use crate::domain::change::{ChangeSet, FileChange, FileMode, FileStatus, Generated};
use crate::domain::claim::{Claim, ClaimedPlace};
use crate::domain::event::{Event, EventSink, Stage};
use crate::domain::finding::{Origin, OriginKind};
use crate::domain::place::{LineRange, Side};
use crate::domain::review::{CoverageState, FileCoverage};
use crate::domain::text::FileText;
use crate::sys::cancel::{Cancel, Stopped};
use crate::workspace::{Workspace, WorkspaceError};

/// What the rules are run on.
pub struct RulesInput<'a> {
    /// The change.
    pub change: &'a ChangeSet,
    /// The files of its head.
    pub new: &'a dyn Workspace,
    /// The files of its merge base.
    pub old: &'a dyn Workspace,
    /// The rules.
    pub packs: &'a Packs,
    /// Asked between files and inside long ones.
    pub cancel: &'a Cancel,
    /// Told how many files are done.
    pub events: &'a dyn EventSink,
}

/// What the rules say, and what they looked at.
#[derive(Debug, Clone, Default)]
pub struct RulesReport {
    /// What the change introduced, in the order of the files and their lines.
    pub claims: Vec<Claim>,
    /// Every changed file, in the order of the change.
    pub files: Vec<FileCoverage>,
    /// What could not be done, one sentence each.
    pub notes: Vec<String>,
    /// Set when the run was stopped; there are no claims then, since they were not yet compared with the base.
    pub stopped: Option<Stopped>,
}

/// A quote is no longer than this.
const QUOTE_LINES: u32 = 8;
/// More threads gain nothing: reading files is shared work.
const THREADS: usize = 4;

/// Runs every rule over every changed file.
pub fn run(input: &RulesInput<'_>) -> RulesReport {
    let total = input.change.files.len();
    let heads = each_file(total, |at| head(input, at));
    let mut report = RulesReport::default();
    let mut hits = Vec::new();
    let mut notes = BTreeSet::new();
    for (at, outcome) in heads.into_iter().enumerate() {
        let path = &input.change.files[at].path;
        match outcome {
            Some(Ok(head)) => {
                report.files.push(FileCoverage { path: path.clone(), state: head.state, reason: head.reason });
                hits.extend(head.hits);
                notes.extend(head.notes);
            }
            Some(Err(stopped)) => {
                report.stopped = Some(stopped);
                let reason = Some(format!("not reached: {stopped}"));
                report.files.push(FileCoverage { path: path.clone(), state: CoverageState::Skipped, reason });
            }
            None => {
                let reason = Some("a fault in the rules ended its review".to_owned());
                report.files.push(FileCoverage { path: path.clone(), state: CoverageState::Skipped, reason });
            }
        }
    }
    if report.stopped.is_none() {
        match claims(input, hits, &mut notes) {
            Ok(claims) => report.claims = claims,
            Err(stopped) => report.stopped = Some(stopped),
        }
    }
    report.notes = notes.into_iter().collect();
    report
}

/// Does `work` for every file on a few threads; the results stand in the order of the files.
fn each_file<T: Send>(total: usize, work: impl Fn(usize) -> T + Sync) -> Vec<Option<T>> {
    let results: Mutex<Vec<Option<T>>> = Mutex::new((0..total).map(|_| None).collect());
    let next = AtomicUsize::new(0);
    let threads = std::thread::available_parallelism().map_or(1, usize::from).clamp(1, THREADS).min(total.max(1));
    let turn = || {
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            if at >= total {
                return;
            }
            let result = work(at);
            if let Some(place) = results.lock().unwrap_or_else(PoisonError::into_inner).get_mut(at) {
                *place = Some(result);
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(turn);
        }
        turn();
    });
    results.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// The head of one file, looked at.
struct Head {
    state: CoverageState,
    reason: Option<String>,
    hits: Vec<HeadHit>,
    notes: Vec<String>,
}

impl Head {
    fn without_hits(state: CoverageState, reason: Option<String>) -> Self {
        Self { state, reason, hits: Vec::new(), notes: Vec::new() }
    }
}

fn head(input: &RulesInput<'_>, at: usize) -> Result<Head, Stopped> {
    input.cancel.check()?;
    let file = &input.change.files[at];
    let done = head_of(input, at, file);
    let total = input.change.files.len() as u64;
    input.events.emit(Event::Progress { stage: Stage::Review, done: at as u64 + 1, total });
    done
}

fn head_of(input: &RulesInput<'_>, at: usize, file: &FileChange) -> Result<Head, Stopped> {
    if let Some(reason) = not_text(file) {
        return Ok(Head::without_hits(CoverageState::Skipped, Some(reason.to_owned())));
    }
    let touched = Touched::of(file, Side::New);
    if file.status == FileStatus::Deleted || touched.is_empty() {
        return Ok(Head::without_hits(CoverageState::Reviewed, None));
    }
    let text = match input.new.read(&file.path) {
        Ok(text) => text,
        Err(WorkspaceError::Stopped(stopped)) => return Err(stopped),
        Err(error) => return Ok(Head::without_hits(CoverageState::Skipped, Some(error.to_string()))),
    };
    let looked = look_at(input, file, Side::New, &text, &|_| true)?;
    let (state, reason) = match looked.cut {
        Some(why) => (CoverageState::Truncated, Some(format!("checked line by line only: {why}"))),
        None => (CoverageState::Reviewed, None),
    };
    let with_place =
        |(rule, hit): (RuleRef, Hit)| HeadHit { file: at, rule, touched: touched.first_in(hit.lines), hit };
    Ok(Head { state, reason, hits: looked.hits.into_iter().map(with_place).collect(), notes: looked.notes })
}

fn look_at(
    input: &RulesInput<'_>,
    file: &FileChange,
    side: Side,
    text: &FileText,
    wanted: &dyn Fn(RuleRef) -> bool,
) -> Result<Looked, Stopped> {
    let subject = Subject { path: file.path_at(side), text };
    let is_link = matches!(if side == Side::Old { file.old_mode } else { file.new_mode }, Some(FileMode::Link));
    let language = file.language.filter(|_| !is_link);
    look(&Look { subject, language, packs: input.packs, wanted, cancel: input.cancel })
}

/// Why a file has no text to look at.
fn not_text(file: &FileChange) -> Option<&'static str> {
    if file.old_mode == Some(FileMode::Submodule) || file.new_mode == Some(FileMode::Submodule) {
        return Some("submodule: its commits are in another repository");
    }
    if file.binary {
        return Some("binary");
    }
    Some(match file.generated? {
        Generated::Attribute => "generated (linguist-generated)",
        Generated::Vendored => "vendored (linguist-vendored)",
        Generated::LockFile => "lock file",
        Generated::Name => "generated (by its name)",
    })
}

/// Compares the matches with the base and puts what is new into words.
fn claims(input: &RulesInput<'_>, heads: Vec<HeadHit>, notes: &mut BTreeSet<String>) -> Result<Vec<Claim>, Stopped> {
    let base = base_counts(input, &heads, notes)?;
    let mut found: Vec<(HeadHit, Side)> = introduced(heads, &base).into_iter().map(|hit| (hit, Side::New)).collect();
    let sides = BothSides { change: input.change, old: input.old, new: input.new, cancel: input.cancel };
    for (rule, check) in CHECKS.iter().enumerate() {
        for (file, hit) in check.lost(&sides)? {
            found.push((HeadHit { file, rule: RuleRef::Check(rule), hit, touched: None }, Side::Old));
        }
    }
    found.sort_by_key(|(hit, side)| (hit.file, *side == Side::Old, hit.hit.lines.start(), hit.rule));
    let mut claims = Vec::new();
    let mut told = HashSet::new();
    for (found, side) in found {
        input.cancel.check()?;
        let Some(claim) = claim(input, found, side) else { continue };
        // Two matches of a rule on the same lines are one thing to do.
        if told.insert((claim.origin.name.clone(), claim.place.path.clone(), claim.place.lines)) {
            claims.push(claim);
        }
    }
    Ok(claims)
}

/// Counts at the base what was found at the head, reading only what can hold it.
fn base_counts(input: &RulesInput<'_>, heads: &[HeadHit], notes: &mut BTreeSet<String>) -> Result<BaseCounts, Stopped> {
    let mut sought: Vec<(RuleRef, &str)> =
        heads.iter().filter(|head| head.touched.is_some()).map(|head| (head.rule, head.hit.key.as_str())).collect();
    sought.sort_unstable();
    sought.dedup();
    if sought.is_empty() {
        return Ok(BaseCounts::new());
    }
    let words = sought.iter().map(|(_, key)| telling_word(key));
    let words = aho_corasick::AhoCorasick::new(words).ok();
    let known: HashSet<(RuleRef, &str)> = sought.iter().copied().collect();
    let counted =
        each_file(input.change.files.len(), |at| -> Result<(Vec<(RuleRef, String)>, Option<String>), Stopped> {
            input.cancel.check()?;
            let file = &input.change.files[at];
            if not_text(file).is_some() || file.status == FileStatus::Added || file.hunks.is_empty() {
                return Ok((Vec::new(), None));
            }
            let path = file.path_at(Side::Old);
            let text = match input.old.read(path) {
                Ok(text) => text,
                Err(WorkspaceError::Stopped(stopped)) => return Err(stopped),
                Err(error) => {
                    let note = format!(
                        "{path} could not be compared with the base, so what it held before may be told as new: {error}"
                    );
                    return Ok((Vec::new(), Some(note)));
                }
            };
            let rules: HashSet<RuleRef> = match &words {
                Some(words) => {
                    let here = words.find_overlapping_iter(text.text());
                    here.filter_map(|word| Some(sought.get(word.pattern().as_usize())?.0)).collect()
                }
                None => sought.iter().map(|(rule, _)| *rule).collect(),
            };
            if rules.is_empty() {
                return Ok((Vec::new(), None));
            }
            let looked = look_at(input, file, Side::Old, &text, &|rule| rules.contains(&rule))?;
            let same = looked.hits.into_iter().filter(|(rule, hit)| known.contains(&(*rule, hit.key.as_str())));
            Ok((same.map(|(rule, hit)| (rule, hit.key)).collect(), None))
        });
    let mut base: BaseCounts = HashMap::new();
    for outcome in counted.into_iter().flatten() {
        let (keys, note) = outcome?;
        notes.extend(note);
        for key in keys {
            *base.entry(key).or_default() += 1;
        }
    }
    Ok(base)
}

fn rule_info(input: &RulesInput<'_>, rule: RuleRef) -> Option<RuleInfo> {
    match rule {
        RuleRef::Pack { pack, rule } => input.packs.pack(pack)?.rules().get(rule).map(|rule| rule.info.clone()),
        RuleRef::Check(check) => CHECKS.get(check).map(|check| check.info().owned()),
    }
}

fn claim(input: &RulesInput<'_>, found: HeadHit, side: Side) -> Option<Claim> {
    let file = input.change.files.get(found.file)?;
    let info = rule_info(input, found.rule)?;
    let path = file.path_at(side);
    let text = if side == Side::Old { input.old.read(path) } else { input.new.read(path) }.ok()?;
    let all = found.hit.lines;
    let lines = if all.count() <= QUOTE_LINES {
        all
    } else {
        // The quote must show a changed line.
        let start = match found.touched {
            Some((line, _)) if line >= all.start() + QUOTE_LINES => line,
            _ => all.start(),
        };
        LineRange::new(start, (start + QUOTE_LINES - 1).min(all.end())).unwrap_or(all)
    };
    let quote: Vec<&str> = text.lines(lines).map(|(_, line)| line).collect();
    let mut body = found.hit.detail.map(|detail| detail + " ").unwrap_or_default();
    body.push_str(&info.message);
    if let Some(cwe) = &info.cwe {
        body.push_str("\n\nSee ");
        body.push_str(cwe);
        body.push('.');
    }
    Some(Claim {
        title: found.hit.title.unwrap_or(info.title),
        body,
        severity: found.hit.severity.unwrap_or(info.severity),
        category: info.category,
        confidence: None,
        place: ClaimedPlace { path: path.clone(), side, quote: Some(quote.join("\n")), lines: Some(lines), note: None },
        related: Vec::new(),
        replacement: found.hit.replacement.filter(|_| lines == all && !text.is_masked(lines)),
        origin: Origin { kind: OriginKind::Rule, name: info.name },
    })
}
