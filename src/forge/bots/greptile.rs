//! Greptile: an overview of all of a pull request, in one comment.

use super::Bot;
use super::label::label_by_login;
use super::remark_list::{ListContext, ListedRemarks, MOST_ENTRIES, new_entry, number, path};
use super::title::{plain_words, strip_tags, truncate_title};
use super::visible_text::{BlankedParts, blank_hidden};
use crate::domain::forge::{Comment, Held, RemarkSeverity, Source};
use crate::domain::text::LazyPattern;

/// Its remarks on lines have no mark of severity that is read.
pub(super) const BOT: Bot = Bot {
    logins: &["greptile-apps", "greptile-apps-staging", "greptile"],
    traces: &[OVERVIEW, CONFIDENCE],
    list: Some(list),
    ..Bot::new(Source::Greptile)
};

const OVERVIEW: &str = "greptile overview";
const CONFIDENCE: &str = "confidence score:";

/// A file of which the overview thinks better than this has nothing to be done.
const WELL: u32 = 4;

static SCORE: LazyPattern = LazyPattern::new(r"(?i)confidence score:\s*(?:</?[a-z]+>|\*\*)*\s*([0-5])\s*/\s*5");

fn list(asked: &ListContext<'_>, found: &mut ListedRemarks) {
    let is_overview = |comment: &&Comment| {
        let account = comment.author.as_ref().and_then(|author| label_by_login(&author.login));
        let shown = || blank_hidden(&comment.body, BlankedParts { quotes: true, comments: true }).to_lowercase();
        account.is_some_and(|bot| bot.source == Source::Greptile)
            && [OVERVIEW, CONFIDENCE].iter().any(|name| shown().contains(name))
    };
    let Some(comment) = asked.conversation.comments.iter().rev().find(is_overview) else { return };
    let text = found.readable_text(&comment.body, "Greptile's overview");
    let shown = blank_hidden(text, BlankedParts { quotes: true, comments: true }).to_ascii_lowercase();
    overview(comment, text, &shown, found);
    critical(comment, text, &shown, found);
    files(comment, text, &shown, found);
}

/// The overview itself: the less confident, the worse.
fn overview(comment: &Comment, text: &str, shown: &str, found: &mut ListedRemarks) {
    let score = SCORE.regex().and_then(|score| score.captures(shown)?.get(1)?.as_str().parse::<u32>().ok());
    let mut remark =
        new_entry(format!("greptile-summary-{}", number(comment)), Held::Overview, Source::Greptile, comment);
    remark.severity = match score {
        Some(0..=2) => RemarkSeverity::Critical,
        Some(3) | None => RemarkSeverity::Major,
        Some(_) => RemarkSeverity::Minor,
    };
    remark.title =
        score.map_or("Greptile Overview".into(), |score| format!("Greptile Overview (Confidence: {score}/5)"));
    let start = after(shown, "greptile summary").unwrap_or(0);
    let ends = ["<h3", "\n### ", "**critical issues", "confidence score:", "important files changed"];
    let end = ends.iter().filter_map(|end| shown[start..].find(end)).min().map_or(text.len(), |end| start + end);
    let body = strip_tags(&text[start..end]);
    let body = body.trim().trim_start_matches(['#', '*', ' ']).trim_end_matches(['#', '*', ' ']).trim();
    (if body.is_empty() { text } else { body }).clone_into(&mut remark.body);
    found.remarks.push(remark);
}

fn after(shown: &str, name: &str) -> Option<usize> {
    let end = shown.find(name)? + name.len();
    // The rest of a heading.
    let line = shown[end..].find('\n').map_or(shown.len(), |line| end + line);
    Some(
        shown[end..line]
            .find("</h")
            .and_then(|tag| Some(end + tag + shown[end + tag..line].find('>')? + 1))
            .unwrap_or(end),
    )
}

fn critical(comment: &Comment, text: &str, shown: &str, found: &mut ListedRemarks) {
    let Some(start) = after(shown, "critical issues found") else { return };
    let lines = text[start..].lines().skip(1).skip_while(|line| line.trim().is_empty());
    let points =
        lines.map_while(|line| line.trim_start().strip_prefix("- ").or_else(|| line.trim_start().strip_prefix("* ")));
    for (index, point) in points.take(MOST_ENTRIES).enumerate() {
        let id = format!("greptile-critical-{}-{index}", number(comment));
        let mut remark = new_entry(id, Held::Overview, Source::Greptile, comment);
        remark.severity = RemarkSeverity::Critical;
        remark.title = truncate_title(&plain_words(point));
        strip_tags(point).trim().clone_into(&mut remark.body);
        found.remarks.push(remark);
    }
}

/// The files that it thinks are worth a look. Those that it gives a good score are left out, but counted, as their places are in the names.
fn files(comment: &Comment, text: &str, shown: &str, found: &mut ListedRemarks) {
    let Some(start) = after(shown, "important files changed") else { return };
    let rows = text[start..].lines().map(str::trim).skip_while(|line| !line.starts_with('|'));
    let rows = rows.take_while(|line| line.starts_with('|')).filter_map(row);
    for (index, (file, score, said)) in rows.enumerate() {
        if index >= MOST_ENTRIES {
            found.add_note(format!("Greptile's overview names more than {MOST_ENTRIES} files; the rest were not read"));
            return;
        }
        if score.is_some_and(|score| score >= WELL) {
            continue;
        }
        let id = format!("greptile-file-{}-{index}", number(comment));
        let mut remark = new_entry(id, Held::Overview, Source::Greptile, comment);
        let lower = said.to_lowercase();
        let has = |words: &[&str]| words.iter().any(|word| lower.contains(word));
        remark.severity = if has(&["critical", "syntax error", "runtime failure"]) {
            RemarkSeverity::Critical
        } else if has(&["minor", "copy-paste error"]) {
            RemarkSeverity::Minor
        } else {
            RemarkSeverity::Major
        };
        remark.path = path(&file);
        remark.title = truncate_title(&format!("File: {file}"));
        strip_tags(said).trim().clone_into(&mut remark.body);
        found.remarks.push(remark);
    }
}

/// A row of the table: the file, its score where there is one, and what is said of it. Nothing for the head of the table.
fn row(line: &str) -> Option<(String, Option<u32>, &str)> {
    let cells: Vec<&str> = line.trim_matches('|').splitn(3, '|').map(str::trim).collect();
    let file = plain_words(cells.first()?).trim_matches('`').to_owned();
    let is_head = file.eq_ignore_ascii_case("filename") || file.chars().all(|c| matches!(c, '-' | ':' | ' '));
    if is_head {
        return None;
    }
    let score =
        |cell: &str| cell.split_once('/').and_then(|(score, of)| score.parse().ok().filter(|_| of.starts_with('5')));
    match cells.as_slice() {
        [_, said] => Some((file, None, said)),
        [_, middle, said] => Some((file, score(middle), said)),
        _ => None,
    }
}
