//! The words of a comment on lines, and of a finding that stands in the summary.

use std::fmt::Write as _;

use super::inline_position::InlinePosition;
use super::suggestion::SuggestedLines;
use crate::domain::finding::{Anchor, Finding, OriginKind};
use crate::domain::run::RunId;
use crate::domain::text::fence_for;
use crate::present::{digest, patch};
use crate::publish::markdown::{CommentWriter, length};
use crate::publish::source_links::SourceLinks;

/// Characters of a title, a mark, a path, a rationale.
const TITLE: usize = 250;
const MARK: usize = 150;
const PATH: usize = 400;
const RATIONALE: usize = 2000;
/// Other places that are named.
const ALSO: usize = 10;
/// Rows and characters of a small diff.
const ROWS: usize = 60;
const DIFF: usize = 6000;

/// The comment, its mark last; `None` if an offer has no room, or where it and the rest together hold a secret.
pub(super) fn render_comment(
    writer: &CommentWriter<'_>,
    run: RunId,
    finding: &Finding,
    (spot, links): (&InlinePosition<'_>, Option<&SourceLinks>),
    offer: Option<&SuggestedLines>,
    mark: &str,
    room: usize,
) -> Option<String> {
    let head = format!("{}{}", headline(writer, finding), about_elsewhere(writer, finding, spot, links));
    let mut tail = also(writer, finding, Some(spot));
    match offer {
        Some(offer) => {
            let lines = offer.replacement.join("\n");
            let fence = fence_for(&lines);
            let end = if offer.replacement.is_empty() { "" } else { "\n" };
            let _ = write!(tail, "\n\n{fence}suggestion\n{lines}{end}{fence}");
        }
        None => tail.push_str(&suggested(writer, finding)),
    }
    tail.push_str(&rationale(writer, finding));
    let _ = write!(tail, "\n\n{}", facts(writer, finding));
    let fixed = length(&head) + length(&tail) + length(mark) + 4;
    let room = room.checked_sub(fixed)?;
    let text = format!("{head}{}{tail}", prose(writer, run, &finding.body, room));
    if writer.recheck(&text).1 == 0 {
        return Some(format!("{text}\n\n{mark}"));
    }
    // Its parts hold a secret only together; masking that here could tear the Markdown.
    offer.is_none().then(|| format!("{head}{}\n\n{mark}", withheld(run)))
}

fn withheld(run: RunId) -> String {
    format!("\n\n_(the rest is withheld: its parts together hold a secret; `review show {run}` has it)_")
}

/// The finding in full for the summary, in at most about `room`.
pub(crate) fn render_full(writer: &CommentWriter<'_>, run: RunId, finding: &Finding, room: usize) -> String {
    let head = headline(writer, finding);
    let place = finding.anchors.first().map(|anchor| place(writer, anchor)).unwrap_or_default();
    let mut tail = also(writer, finding, None);
    tail.push_str(&suggested(writer, finding));
    tail.push_str(&rationale(writer, finding));
    let _ = write!(tail, "\n\n{}", facts(writer, finding));
    let head = format!("{head}\n{place}");
    let fixed = length(&head) + length(&tail);
    let text = format!("{head}{}{tail}", prose(writer, run, &finding.body, room.saturating_sub(fixed)));
    if writer.recheck(&text).1 == 0 { text } else { format!("{head}{}", withheld(run)) }
}

/// Renders severity, category, the mark of the verification and title: one bold line.
fn headline(writer: &CommentWriter<'_>, finding: &Finding) -> String {
    let title = writer.markdown_line(&finding.title, TITLE);
    let title = if title.is_empty() { "(no title)".to_owned() } else { title };
    let mark = finding.describe_mark().map(|mark| writer.markdown_line(&mark, MARK)).unwrap_or_default();
    // The title is read back from behind the first bracket with a colon.
    let mark = if mark.is_empty() { mark } else { format!(", {}", mark.replace("): ", ") ")) };
    let (severity, category) = (capital(finding.severity.word()), finding.category.word().replace('_', " "));
    format!("**{severity} ({category}{mark}): {title}**")
}

fn capital(word: &str) -> String {
    let mut chars = word.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

/// The body as a paragraph of its own, with a note where it was cut.
fn prose(writer: &CommentWriter<'_>, run: RunId, body: &str, room: usize) -> String {
    if body.trim().is_empty() {
        return String::new();
    }
    let note = format!("\n\n_(cut; `review show {run}` has all of it)_");
    let (text, cut) = writer.prose(body, room.saturating_sub(length(&note) + 2));
    let note = if cut { note.as_str() } else { "" };
    let whole = if text.is_empty() { note.to_owned() } else { format!("\n\n{text}{note}") };
    if length(&whole) <= room { whole } else { String::new() }
}

fn place(writer: &CommentWriter<'_>, anchor: &Anchor) -> String {
    let note = digest::place_note(anchor);
    let note = if note.is_empty() { String::new() } else { format!(" ({note})") };
    format!("{}{note}", writer.inline_code(&digest::place(anchor), PATH))
}

/// Names and links the quoted place, if the comment stands on other lines: what the text calls "here" is there.
fn about_elsewhere(
    writer: &CommentWriter<'_>,
    finding: &Finding,
    spot: &InlinePosition<'_>,
    links: Option<&SourceLinks>,
) -> String {
    let Some(anchor) = finding.anchors.first().filter(|_| spot.is_elsewhere()) else { return String::new() };
    let named = place(writer, anchor);
    let named = match links {
        Some(links) => links.link(writer, anchor, named),
        None => named,
    };
    let here = if spot.is_near { "these are the nearest lines of it" } else { "these lines of it are related" };
    format!("\n\nThis is about {named}, which the diff does not show; {here}.")
}

/// The other places of the finding, the one it stands on, the quoted one and those that its text lists left out.
fn also(writer: &CommentWriter<'_>, finding: &Finding, spot: Option<&InlinePosition<'_>>) -> String {
    let mut out = String::new();
    let stands_at = spot.map_or(0, |spot| spot.anchor);
    if let Some(spot) = spot.filter(|spot| !spot.is_elsewhere())
        && let Some(anchor) = finding.anchors.get(stands_at)
        && anchor.lines != Some(spot.lines)
        && anchor.lines.is_some_and(|lines| lines.count() > spot.lines.count())
    {
        let _ = write!(out, "\n\nThis is about {}, of which the diff shows a part.", place(writer, anchor));
    }
    let is_listed = |anchor: &Anchor| finding.body.contains(&format!("\n- {}: ", anchor.first_place()));
    let others =
        finding.anchors.iter().enumerate().filter(|(at, anchor)| *at != stands_at && *at != 0 && !is_listed(anchor));
    let others: Vec<_> = others.collect();
    if others.is_empty() {
        return out;
    }
    let named: Vec<String> = others.iter().take(ALSO).map(|(_, anchor)| place(writer, anchor)).collect();
    let _ = write!(out, "\n\nSee also {}", named.join(", "));
    if others.len() > ALSO {
        let _ = write!(out, " and {} more places", others.len() - ALSO);
    }
    out.push('.');
    out
}

/// The suggestion as a small diff.
fn suggested(writer: &CommentWriter<'_>, finding: &Finding) -> String {
    let Some(suggestion) = &finding.suggestion else { return String::new() };
    let patched = patch::diff_rows(finding);
    let title = match &patched {
        Some(_) => "Suggested change:".to_owned(),
        None => {
            let path = writer.inline_code(&suggestion.path.display_name(), PATH);
            format!("Suggested for {} of {path}:", digest::describe_lines(suggestion.lines))
        }
    };
    let rows = patched.unwrap_or_else(|| patch::added_rows(suggestion));
    let mut lines: Vec<String> =
        rows.iter().take(ROWS).map(|row| format!("{} {}", row.mark.sign(), row.text)).collect();
    if rows.len() > ROWS {
        lines.push(format!("… {} more lines", rows.len() - ROWS));
    }
    if lines.is_empty() {
        return format!("\n\n{title} removal.");
    }
    match writer.fenced_block("diff", &lines.join("\n"), DIFF) {
        block if block.is_empty() => format!("\n\n{title} too long to be shown here."),
        block => format!("\n\n{title}\n\n{block}"),
    }
}

/// The rationale of the verification, folded.
fn rationale(writer: &CommentWriter<'_>, finding: &Finding) -> String {
    let Some(rationale) = digest::rationale(finding) else { return String::new() };
    let text = writer.markdown_line(&rationale, RATIONALE);
    format!("\n\n<details><summary>Why</summary>\n\n{text}\n\n</details>")
}

/// Renders the origin, confidence and id of the finding.
fn facts(writer: &CommentWriter<'_>, finding: &Finding) -> String {
    let mut parts = Vec::new();
    let name = &finding.origin.name;
    match finding.origin.kind {
        OriginKind::Rule if !name.is_empty() => parts.push(format!("rule {}", writer.inline_code(name, TITLE))),
        OriginKind::Build if !name.is_empty() => parts.push(format!("reported by {}", writer.inline_code(name, TITLE))),
        OriginKind::Model | OriginKind::Rule | OriginKind::Build => {}
    }
    if let Some(confidence) = finding.confidence {
        parts.push(format!("confidence {}/10", confidence.value()));
    }
    if let Some(guideline) = &finding.guideline {
        let place = format!("{}:{}", guideline.path, guideline.line);
        parts.push(format!("see {}", writer.inline_code(&place, PATH)));
    }
    parts.push(format!("id {}", writer.inline_code(&finding.id.0, 60)));
    parts.join(" · ")
}
