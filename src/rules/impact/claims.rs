//! Builds the claim for an effect, which `evidence` will check. Main type: [`RemoteEffect`].

use super::super::sides::BothSides;
use super::super::target::ChangedLineIndex;
use crate::domain::claim::{Claim, ClaimedPlace};
use crate::domain::finding::{Confidence, FindingOrigin, OriginKind, Severity};
use crate::domain::path::RepoPath;
use crate::domain::place::{DiffSide, LineRange};
use crate::domain::rule_info::RuleInfo;

/// Maximum number of quoted lines.
const QUOTE_LINES: u32 = 8;
/// Maximum number of other places shown; the rest are counted in the message.
pub(super) const MOST_SHOWN: usize = 5;

/// An effect of a change elsewhere.
pub(super) struct RemoteEffect {
    /// Index of the changed file in the change.
    pub(super) file: usize,
    /// The side of `lines`.
    pub(super) side: DiffSide,
    /// The changed lines; `None` for the file as a whole.
    pub(super) lines: Option<LineRange>,
    /// A more specific title than the rule's.
    pub(super) title: Option<String>,
    /// A sentence before the rule's message.
    pub(super) detail: String,
    /// The severity of this effect, if it differs from the rule's.
    pub(super) severity: Option<Severity>,
    /// The affected places.
    pub(super) elsewhere: Vec<AffectedPlace>,
}

/// A place that the change affects.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct AffectedPlace {
    pub(super) path: RepoPath,
    pub(super) lines: LineRange,
    /// The problem there.
    pub(super) note: String,
}

/// Builds the claim for an effect; `None` if its place cannot be quoted or is not part of the change.
pub(super) fn build_impact_claim(sides: &BothSides<'_>, info: &RuleInfo, effect: RemoteEffect) -> Option<Claim> {
    let file = sides.change.files.get(effect.file)?;
    let path = file.path_at(effect.side);
    let place = match effect.lines {
        Some(lines) => {
            let lines = shown(lines, &ChangedLineIndex::of(file, effect.side))?;
            quote_text(sides, path, effect.side, lines, None)?
        }
        None => ClaimedPlace { path: path.clone(), side: effect.side, quote: None, lines: None, note: None },
    };
    let shown = effect.elsewhere.iter().take(MOST_SHOWN);
    let related: Vec<ClaimedPlace> = shown
        .filter_map(|other| quote_text(sides, &other.path, DiffSide::New, cut(other.lines), Some(other.note.clone())))
        .collect();
    if related.is_empty() {
        return None;
    }
    let detail = effect.detail;
    Some(Claim {
        title: effect.title.unwrap_or_else(|| info.title.clone()),
        body: if detail.is_empty() { info.message.clone() } else { format!("{detail} {}", info.message) },
        severity: effect.severity.unwrap_or(info.severity),
        category: info.category,
        confidence: info.is_hint.then_some(Confidence::HINT),
        place,
        related,
        replacement: None,
        origin: FindingOrigin { kind: OriginKind::Rule, name: info.name.clone() },
    })
}

/// Selects the lines to quote, including a changed one; `None` if there is none.
fn shown(lines: LineRange, touched: &ChangedLineIndex) -> Option<LineRange> {
    let (first, _) = touched.first_in(lines)?;
    let start = if first >= lines.start() + QUOTE_LINES { first } else { lines.start() };
    LineRange::new(start, lines.end()).ok().map(cut)
}

fn cut(lines: LineRange) -> LineRange {
    LineRange::new(lines.start(), lines.end().min(lines.start() + QUOTE_LINES - 1)).unwrap_or(lines)
}

fn quote_text(
    sides: &BothSides<'_>,
    path: &RepoPath,
    side: DiffSide,
    lines: LineRange,
    note: Option<String>,
) -> Option<ClaimedPlace> {
    let text = if side == DiffSide::Old { sides.old.read(path) } else { sides.new.read(path) }.ok()?;
    let quote: Vec<&str> = text.lines(lines).map(|(_, line)| line).collect();
    let is_blank = quote.iter().all(|line| line.trim().is_empty());
    (!is_blank).then(|| ClaimedPlace {
        path: path.clone(),
        side,
        quote: Some(quote.join("\n")),
        lines: Some(lines),
        note,
    })
}

/// Builds `3 places in 2 files still use `name`.`
pub(super) fn with_count<T>(
    places: &std::collections::BTreeMap<RepoPath, T>,
    count: impl Fn(&T) -> usize,
    many: &str,
    one: &str,
    name: &str,
) -> String {
    let total: usize = places.values().map(count).sum();
    match (total, places.keys().next()) {
        (1, Some(path)) => format!("{path} {one} `{name}`."),
        (_, Some(path)) if places.len() == 1 => format!("{total} places in {path} {many} `{name}`."),
        _ => format!("{total} places in {} files {many} `{name}`.", places.len()),
    }
}
