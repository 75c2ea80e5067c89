//! Project guidelines in a first message. Main type: [`GuidelineText`].

use std::borrow::Cow;
use std::fmt::Write as _;

use super::scope::MessageScope;
use crate::domain::change::ChangeSet;
use crate::domain::guideline::{Guideline, Guidelines};
use crate::domain::text::reveal;
use crate::prompt::UntrustedText;
use crate::review::tokens::{Weight, weight};

/// Divisor: the maximum share of the guidelines in the space besides our own words.
const SHARE: Weight = 4;
/// Maximum number named for one reason in the receipt.
const NAMED: usize = 5;

/// The guidelines of a message.
#[derive(Debug, Clone, Default)]
pub(super) struct GuidelineText {
    /// Text that is shown.
    pub(super) data: UntrustedText,
    /// `true` if the text was cut.
    pub(super) cut: bool,
    /// Omitted guidelines: a sentence for the receipt.
    pub(super) note: Option<String>,
}

impl GuidelineText {
    /// Creates a short placeholder, to weigh our words around the guidelines.
    pub(super) fn is_present() -> Self {
        Self { data: UntrustedText::new("-".to_owned()), cut: true, note: None }
    }
}

/// Returns the maximum weight of the guidelines about some of the files in a message with this much space.
pub(super) fn max_weight(guidelines: &Guidelines, room: Weight) -> Weight {
    let all: Weight = guidelines.texts.iter().map(|text| weight(&shown(text, None))).sum();
    all.min(room / SHARE)
}

/// Renders as many guidelines about the files of `scope` as fit: those for reviews first, then the nearest. They are shown in the order of the run.
pub(super) fn render_guidelines(
    guidelines: &Guidelines,
    change: &ChangeSet,
    scope: &MessageScope,
    room: Weight,
) -> GuidelineText {
    let is_about = |text: &Guideline| {
        let files = change.files.iter().enumerate().filter(|(at, _)| scope.has(*at));
        let mut paths = files.flat_map(|(_, file)| [Some(&file.path), file.old_path.as_ref()]).flatten();
        paths.any(|path| text.applies_to(path))
    };
    let texts: Vec<&Guideline> = guidelines.texts.iter().filter(|text| is_about(text)).collect();
    let mut ranked: Vec<usize> = (0..texts.len()).collect();
    ranked.sort_by_key(|at| texts[*at].rank());
    let mut left = room / SHARE;
    let mut pieces: Vec<Option<String>> = vec![None; texts.len()];
    let mut short = Vec::new();
    for at in ranked {
        let whole = shown(texts[at], None);
        let needed = weight(&whole);
        if let Some(rest) = left.checked_sub(needed) {
            left = rest;
            pieces[at] = Some(whole);
            continue;
        }
        short.push(at);
        // The remaining space is for the beginning of the first that does not fit; those after it are less specific.
        pieces[at] = beginning(texts[at], left);
        left = 0;
    }
    short.sort_unstable();
    let note = note(&short.iter().map(|at| (texts[*at], pieces[*at].is_some())).collect::<Vec<_>>());
    let text: String = pieces.into_iter().flatten().collect();
    GuidelineText { data: UntrustedText::new(text), cut: !short.is_empty(), note }
}

/// Returns a text with its path, what it applies to and the numbers of its lines; of a part of it, as far as line `last`.
fn shown(text: &Guideline, last: Option<u32>) -> String {
    let end = last.unwrap_or(text.last_line());
    let mut out = format!("=== {} ({})\n", text.path, text.describe());
    for (number, line) in (text.first..=end).zip(text.text.lines()) {
        let _ = writeln!(out, "{number:6}\t{line}");
    }
    if end < text.lines {
        out.push_str(&format!("[cut after line {end} of {}]\n", text.lines));
    }
    match reveal(&out) {
        Cow::Borrowed(_) => out,
        Cow::Owned(shown) => shown,
    }
}

/// Returns as many of its lines as fit; `None` without a meaningful one.
fn beginning(text: &Guideline, room: Weight) -> Option<String> {
    // The head, and the remark at the end.
    let mut left = room.checked_sub(weight(&shown(text, Some(text.first.saturating_sub(1)))) + weight("\t\n"))?;
    let mut last = None;
    for (number, line) in (text.first..).zip(text.text.lines()) {
        match left.checked_sub(weight(&format!("{number:6}\t{}\n", reveal(line)))) {
            Some(rest) => left = rest,
            None => break,
        }
        if !line.trim().is_empty() {
            last = Some(number);
        }
    }
    last.map(|last| shown(text, Some(last)))
}

fn note(short: &[(&Guideline, bool)]) -> Option<String> {
    if short.is_empty() {
        return None;
    }
    let named: Vec<String> = short
        .iter()
        .take(NAMED)
        .map(|(text, begun)| format!("{} ({})", text.path, if *begun { "its end" } else { "all of it" }))
        .collect();
    let more = short.len().saturating_sub(NAMED);
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    Some(format!("guidelines of the project were not shown to the model, for want of room: {}{more}", named.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::change::FileChange;
    use crate::domain::guideline::{GuidelineApplication, GuidelineKind, GuidelineOrigin};
    use crate::domain::path::RepoPath;

    fn path(text: &str) -> RepoPath {
        RepoPath::parse(text).unwrap()
    }

    fn guideline(name: &str, folder: &str, lines: u32) -> Guideline {
        let kind = if name.ends_with("REVIEW.md") { GuidelineKind::Review } else { GuidelineKind::Agents };
        let reach = vec![GuidelineOrigin { kind, applies: GuidelineApplication::below(folder.as_bytes()), via: None }];
        let text = (1..=lines).map(|number| format!("Rule {number} of {name}.\n")).collect::<Vec<_>>().concat();
        Guideline { path: path(name), reach, text, first: 1, lines }
    }

    fn all() -> Guidelines {
        let texts = vec![
            guideline("AGENTS.md", "", 30),
            guideline("REVIEW.md", "", 3),
            guideline("api/AGENTS.md", "api", 3),
            guideline("web/AGENTS.md", "web", 3),
        ];
        Guidelines { from: "at 0123456789".to_owned(), texts, notes: Vec::new() }
    }

    fn change(paths: &[&str]) -> ChangeSet {
        ChangeSet::of(paths.iter().map(|name| FileChange::modified(path(name))).collect())
    }

    fn heads(said: &GuidelineText) -> Vec<&str> {
        said.data.text().lines().filter(|line| line.starts_with("===") || line.starts_with("[cut")).collect()
    }

    #[test]
    fn a_message_has_those_about_its_files_and_no_others() {
        let said = render_guidelines(&all(), &change(&["api/a.rs"]), &MessageScope::WHOLE, Weight::MAX);
        let expected = [
            "=== AGENTS.md (applies to every file)",
            "=== REVIEW.md (applies to every file)",
            "=== api/AGENTS.md (applies to files below api)",
        ];
        assert_eq!(heads(&said), expected);
        assert!(said.data.text().contains("\n    30\tRule 30 of AGENTS.md.\n") && !said.cut && said.note.is_none());
    }

    #[test]
    fn where_room_is_short_the_broadest_is_cut_on_a_line_and_told() {
        let (all, change) = (all(), change(&["api/a.rs"]));
        let whole = weight(render_guidelines(&all, &change, &MessageScope::WHOLE, Weight::MAX).data.text());
        let said = render_guidelines(&all, &change, &MessageScope::WHOLE, (whole - 200) * SHARE);
        assert_eq!(heads(&said).len(), 4);
        assert!(heads(&said)[1].starts_with("[cut after line "), "{:?}", heads(&said));
        assert_eq!(
            said.note.as_deref(),
            Some("guidelines of the project were not shown to the model, for want of room: AGENTS.md (its end)")
        );
        for room in (0..whole * SHARE + 9).step_by(97) {
            let said = render_guidelines(&all, &change, &MessageScope::WHOLE, room);
            assert!(weight(said.data.text()) <= room / SHARE, "{room}");
            assert_eq!(said.cut, said.note.is_some());
            assert!(weight(said.data.text()) <= max_weight(&all, room));
        }
        let nothing = render_guidelines(&all, &change, &MessageScope::WHOLE, 0);
        assert!(nothing.data.is_empty() && nothing.cut);
    }

    #[test]
    fn nothing_is_said_where_there_is_nothing() {
        let said = render_guidelines(&Guidelines::default(), &change(&["a"]), &MessageScope::WHOLE, 0);
        assert!(said.data.is_empty() && !said.cut && said.note.is_none());
    }
}
