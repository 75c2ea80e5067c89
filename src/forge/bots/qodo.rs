//! Qodo: one guide for all of a pull request, in one comment that it brings up to date.
//!
//! The names of the entries are `pr-review-mcp`'s: an entry is counted among all folds of the comment, also those that are no entries.

use std::collections::HashMap;
use std::ops::Range;

use sha2::{Digest as _, Sha256};

use super::Bot;
use super::blocks::HtmlBlocks;
use super::label::label_by_login;
use super::remark_list::{ListContext, ListedRemarks, MOST_ENTRIES, lines, new_entry, number};
use super::title::{plain_words, strip_tags, truncate_title};
use super::visible_text::{BlankedParts, blank_hidden};
use crate::domain::forge::{Comment, Held, PullFile, RemarkSeverity, Source};
use crate::domain::id::hex;
use crate::domain::path::RepoPath;
use crate::domain::text::LazyPattern;

/// Severities are told by where an entry stands.
pub(super) const BOT: Bot =
    Bot { logins: &["qodo-*", "codiumai-pr-agent*"], list: Some(list), ..Bot::new(Source::Qodo) };

/// The name of the guide.
const GUIDE: &str = "pr reviewer guide";

/// The name of the cell with the entries.
const ENTRIES: &[&str] = &["focus areas for review", "key issues to review"];

static LINK: LazyPattern = LazyPattern::new(r#"(?is)<a\s[^<>]*?href\s*=\s*["']([^"'<>]+)["'][^<>]*>(.*?)</a>"#);
static PLACE: LazyPattern = LazyPattern::new(r"(?i)#diff-([0-9a-f]{64})(?:R([0-9]{1,10})(?:-R([0-9]{1,10}))?)?");

fn list(asked: &ListContext<'_>, found: &mut ListedRemarks) {
    let is_guide = |comment: &&Comment| {
        let account = comment.author.as_ref().and_then(|author| label_by_login(&author.login));
        // Who runs the open program has it write under another account, but never under a person's.
        let may = match account {
            Some(bot) => bot.source == Source::Qodo,
            None => comment.author.as_ref().is_some_and(|author| author.is_bot),
        };
        may && blank_hidden(&comment.body, BlankedParts { quotes: true, comments: true }).to_lowercase().contains(GUIDE)
    };
    let Some(comment) = asked.conversation.comments.iter().rev().find(is_guide) else { return };
    let text = found.readable_text(&comment.body, "Qodo's guide");
    let shown = blank_hidden(text, BlankedParts { quotes: true, comments: true }).to_ascii_lowercase();
    security(comment, text, &shown, found);
    focus(comment, text, &shown, asked.files, found);
}

/// The cells of the guide's table.
fn cells(shown: &str) -> impl Iterator<Item = Range<usize>> {
    shown.match_indices("<td").map(|(start, _)| {
        let end = shown[start..].find("</td>").map_or(shown.len(), |end| start + end);
        start..end
    })
}

fn security(comment: &Comment, text: &str, shown: &str, found: &mut ListedRemarks) {
    let says = |cell: &Range<usize>| {
        let said = &shown[cell.clone()];
        said.contains('🔒') && said.contains("security concerns") && !said.contains("no security concerns")
    };
    // Cells that never end reach to the end of the text; looking at the first few keeps that cheap.
    let Some(cell) = cells(shown).take(64).find(says) else { return };
    let said = &text[cell.clone()];
    let after = shown[cell].find("</strong>").map_or(said, |end| &said[end + "</strong>".len()..]);
    let mut remark = new_entry(format!("qodo-sec-{}", number(comment)), Held::Guide, Source::Qodo, comment);
    remark.severity = RemarkSeverity::Critical;
    "Security concerns".clone_into(&mut remark.title);
    strip_tags(after).trim().trim_start_matches(':').trim().clone_into(&mut remark.body);
    found.remarks.push(remark);
}

fn focus(comment: &Comment, text: &str, shown: &str, files: &[PullFile], found: &mut ListedRemarks) {
    let is_named = |cell: &Range<usize>| ENTRIES.iter().any(|name| shown[cell.clone()].contains(name));
    let cell = cells(shown).take(64).find(is_named).unwrap_or(0..0);
    let blocks = HtmlBlocks::of(text);
    let mut paths = None;
    let mut index = 0_usize;
    for block in blocks.outermost_in(&(0..text.len())) {
        let summary = &text[block.summary.clone()];
        let link = LINK.regex().and_then(|link| link.captures(summary));
        let place = link.as_ref().and_then(|link| PLACE.regex()?.captures(link.get(1)?.as_str()));
        let called = link.as_ref().and_then(|link| link.get(2)).map_or(summary, |name| name.as_str());
        let title = plain_words(&called.replace('\n', " "));
        if title.is_empty() {
            continue;
        }
        let position = index;
        index += 1;
        if place.is_none() && !cell.contains(&block.whole.start) {
            continue;
        }
        if position >= MOST_ENTRIES {
            found.add_note(format!("Qodo's guide has more than {MOST_ENTRIES} entries; the rest were not read"));
            break;
        }
        let id = format!("qodo-focus-{}-{position}", number(comment));
        let mut remark = new_entry(id, Held::Guide, Source::Qodo, comment);
        remark.severity = RemarkSeverity::Major;
        remark.title = truncate_title(&title);
        let beside = link.as_ref().and_then(|link| link.get(0)).map_or("", |all| &summary[all.end()..]);
        let body = format!("{}\n\n{}", strip_tags(beside).trim(), text[block.inside.clone()].trim());
        body.trim().clone_into(&mut remark.body);
        if let Some(place) = place {
            let paths = paths.get_or_insert_with(|| by_hash(files));
            remark.path = place.get(1).and_then(|hash| paths.get(&hash.as_str().to_ascii_lowercase())).cloned();
            remark.lines = place.get(2).and_then(|first| lines(first.as_str(), place.get(3).map(|last| last.as_str())));
            if remark.path.is_none() {
                found.add_note(format!("{} names a file that is not among the files of the pull request", remark.id));
            }
        }
        found.remarks.push(remark);
    }
}

/// The files by the hashes that the forge's pages call them.
fn by_hash(files: &[PullFile]) -> HashMap<String, RepoPath> {
    let paths = files.iter().flat_map(|file| [Some(&file.path), file.old_path.as_ref()]).flatten();
    paths.map(|path| (hex(&Sha256::digest(path.as_bytes())), path.clone())).collect()
}
