//! Our existing texts on a pull request besides threads: the summary, pending reviews, and the title of an old comment.

use super::threads::OwnThread;
use crate::domain::finding::Severity;
use crate::domain::forge::{Comment, MarkTrust, PullConversation, ReviewVerdict, RunMark, SummaryMark};
use crate::domain::path::RepoPath;

/// Returns the title of an old comment: its first line of words.
pub(super) fn finding_title(own: &OwnThread<'_>) -> String {
    const LONGEST: usize = 120;
    let body = own.thread.comments.first().map_or("", |first| first.body.as_str());
    let words = body.lines().map(|line| line.trim_matches(|c: char| c.is_whitespace() || matches!(c, '*' | '#' | '_')));
    let line =
        words.filter(|line| !line.is_empty() && !line.starts_with("<!--")).map(|line| line.replace("**", "")).next();
    let line = line.unwrap_or_else(|| own.mark.id.to_string());
    // How bad and of what kind stands before it, as the comment was written: `High (logic): `.
    let named = line.split_once("): ").filter(|(before, _)| before.split(' ').next().is_some_and(is_severity));
    named.map_or(line.as_str(), |(_, title)| title).chars().take(LONGEST).collect()
}

fn is_severity(word: &str) -> bool {
    Severity::from_word(&word.to_ascii_lowercase()).is_some()
}

/// A place as people write it.
pub(super) fn format_place(at: Option<(&RepoPath, Option<u32>)>) -> String {
    match at {
        Some((path, Some(line))) => format!("{}:{line}", path.display_name()),
        Some((path, None)) => path.display_name().into_owned(),
        None => String::new(),
    }
}

pub(super) fn first_url(own: &OwnThread<'_>) -> Option<String> {
    own.thread.comments.first().map(|first| first.url.clone()).filter(|url| !url.is_empty())
}

/// Our summary of this trust: the newest where there are several, and what to say about the others.
pub fn existing_summary(conversation: &PullConversation, trust: MarkTrust) -> (Option<Comment>, Vec<String>) {
    let marked = conversation.comments.iter().filter(|comment| SummaryMark::read_as(&comment.body, trust).is_some());
    let (ours, forged): (Vec<&Comment>, Vec<&Comment>) = marked.partition(|comment| comment.mine);
    let mut notes = Vec::new();
    if ours.len() > 1 {
        notes.push(format!(
            "There are {} summaries of ours; the newest is kept up to date, the others are left.",
            ours.len()
        ));
    }
    if !forged.is_empty() {
        notes.push(format!(
            "{} of other accounts with a mark like that of our summary: ignored.",
            comments(forged.len())
        ));
    }
    let newest = ours
        .into_iter()
        .filter(|comment| comment.number.is_some())
        .max_by(|a, b| (&a.created_at, a.number).cmp(&(&b.created_at, b.number)));
    (newest.cloned(), notes)
}

pub(super) fn forged_note(forged: usize) -> Option<String> {
    (forged > 0)
        .then(|| format!("{} of other accounts with a mark like that of our findings: ignored.", comments(forged)))
}

fn comments(count: usize) -> String {
    if count == 1 { "One comment".to_owned() } else { format!("{count} comments") }
}

/// Reviews of ours that a broken-off run left pending: while there is one, the forge takes no other, whatever its trust.
pub(super) fn pending_reviews(conversation: &PullConversation) -> Vec<u64> {
    let left = conversation.reviews.iter().filter(|review| {
        let body = &review.comment.body;
        let is_ours = || MarkTrust::ALL.into_iter().any(|trust| RunMark::read_as(body, trust).is_some());
        review.verdict == ReviewVerdict::Pending && review.comment.mine && is_ours()
    });
    left.filter_map(|review| review.comment.number).collect()
}
