//! Wording of a report: short, exact, and without the names that only this conversation knows. Main type: [`WordingRequests`].
//!
//! A report is never refused for its wording: labels are taken out, and the rest is asked of the model in the answer. The evidence of a report
//! is checked in `report`.

use std::collections::BTreeSet;

use super::ReviewBuilder;
use crate::domain::claim::Claim;
use crate::domain::text::count_words;

/// The words that a title may have.
const TITLE_WORDS: usize = 12;
/// The words that a body should have, and those above which the model is asked to shorten it.
const BODY_WORDS: usize = 80;
const LONG_BODY_WORDS: usize = 120;
/// Words that claim something of more cases than most models have read.
const SCALE: [&str; 6] = ["all", "every", "never", "always", "everybody", "none"];

/// Brackets around a label.
const BRACKETS: [(char, char); 2] = [('(', ')'), ('[', ']')];
/// Nouns before a label.
const NOUNS: [&str; 4] = ["lead ", "finding ", "report ", "check "];

/// The requests that were made in this conversation: none is repeated.
#[derive(Debug, Clone, Default)]
pub(super) struct WordingRequests {
    /// `true` once the model was asked to shorten a report.
    shorten: bool,
    /// Numbers of the findings whose words of scale were pointed out.
    scale: BTreeSet<u32>,
    /// The turn of the last request.
    turn: Option<u32>,
    /// `true` once an end waited.
    waited: bool,
}

impl WordingRequests {
    /// Checks whether anything was asked in a turn that the end should wait for, which it does once.
    pub(super) fn take_request(&mut self, turn: u32) -> bool {
        let waits = !self.waited && self.turn == Some(turn);
        self.waited |= waits;
        waits
    }
}

impl ReviewBuilder {
    /// Takes the labels of leads, findings and reports out of title and body: they mean nothing to a reader.
    pub(super) fn remove_labels(&self, claim: &mut Claim, notes: &mut Vec<String>) {
        let mut removed = BTreeSet::new();
        for text in [&mut claim.title, &mut claim.body] {
            let (plain, labels) = without_labels(text, |label| self.describe_label(label));
            if !labels.is_empty() && !plain.trim().is_empty() {
                *text = plain;
                removed.extend(labels);
            }
        }
        if !removed.is_empty() {
            let labels = removed.into_iter().collect::<Vec<_>>().join(", ");
            notes.push(format!("Its reader does not know {labels}: such labels were taken out."));
        }
    }

    /// Describes what a label stands for; `None` if it is none of this conversation.
    fn describe_label(&self, label: &str) -> Option<&'static str> {
        let number = label.get(1..)?.parse::<u32>().ok()?;
        match label.chars().next()? {
            'L' => self.leads.iter().any(|tracked| tracked.lead.id == label).then_some("a static check"),
            'F' => (1..=self.accepted).contains(&number).then_some("another finding"),
            'W' => (1..=self.refusals).contains(&number).then_some("another report"),
            _ => None,
        }
    }

    /// Asks the model for better words, each once: a shorter text in a conversation, and support for words of scale in a finding.
    pub(super) fn request_wording(&mut self, number: u32, title: &str, body: &str, notes: &mut Vec<String>) {
        let scale = words_of_scale(&format!("{title}\n{body}"));
        let (title, length) = (title.split_whitespace().count(), count_words(body));
        if (title > TITLE_WORDS || length > LONG_BODY_WORDS) && !self.wording.shorten {
            self.wording.shorten = true;
            self.wording.turn = Some(self.turn);
            notes.push(format!(
                "It is too long (title {title} words, body {length}): report it again with id F{number} and at most {BODY_WORDS} words: the \
                 defect, one concrete trigger, the fix; under a title of at most {TITLE_WORDS}. Keep the others as short."
            ));
        }
        if !scale.is_empty() && self.wording.scale.insert(number) {
            self.wording.turn = Some(self.turn);
            let words = scale.iter().map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(", ");
            notes.push(format!(
                "It says {words}: have you read what that rests on? If not, say only what you have read."
            ));
        }
    }
}

/// Splits a text at its backticks; `true` for what is between them.
fn segments(text: &str) -> impl Iterator<Item = (bool, &str)> {
    text.split('`').enumerate().map(|(at, segment)| (at % 2 == 1, segment))
}

/// Returns the words of scale in a text outside of code, each once.
fn words_of_scale(text: &str) -> Vec<&'static str> {
    let words: BTreeSet<String> = segments(text)
        .filter(|(is_code, _)| !is_code)
        .flat_map(|(_, prose)| prose.split(|c: char| !c.is_alphanumeric()).map(str::to_lowercase))
        .collect();
    SCALE.into_iter().filter(|word| words.contains(*word)).collect()
}

/// Returns a text in which the labels that `describe` knows are replaced, and those labels. Code is left as it is.
fn without_labels(text: &str, describe: impl Fn(&str) -> Option<&'static str>) -> (String, Vec<String>) {
    let (mut out, mut found) = (String::new(), Vec::new());
    for (at, (is_code, segment)) in segments(text).enumerate() {
        if at > 0 {
            out.push('`');
        }
        if is_code {
            out.push_str(segment);
            continue;
        }
        let mut rest = segment;
        while let Some((before, label, after)) = next_label(rest, &describe) {
            out.push_str(before);
            rest = replace(&mut out, describe(label).unwrap_or_default(), after);
            found.push(label.to_owned());
        }
        out.push_str(rest);
    }
    (out, found)
}

/// Returns the first label of a text, with what is before and after it.
fn next_label(text: &str, describe: impl Fn(&str) -> Option<&'static str>) -> Option<(&str, &str, &str)> {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '/' | '.');
    for (start, _) in text.match_indices(['L', 'F', 'W']) {
        let (before, from) = text.split_at(start);
        let digits = from[1..].bytes().take_while(u8::is_ascii_digit).count();
        let (label, after) = from.split_at(1 + digits);
        let is_whole = !before.ends_with(is_part) && !after.starts_with(|c: char| c.is_alphanumeric() || c == '_');
        // Elsewhere it may be a term that is written alike: a level of a cache, a norm, a score, a line.
        let is_label = is_apart(before, after) || noun_before(before).is_some();
        if digits > 0 && is_whole && is_label && describe(label).is_some() {
            return Some((before, label, after));
        }
    }
    None
}

/// Checks whether a label stands in brackets of its own, or before a colon at the beginning.
fn is_apart(before: &str, after: &str) -> bool {
    BRACKETS.iter().any(|(open, close)| before.ends_with(*open) && after.starts_with(*close))
        || (before.trim().is_empty() && after.starts_with(':'))
}

/// Returns the length of the noun before a label, with its space.
fn noun_before(before: &str) -> Option<usize> {
    NOUNS.iter().map(|noun| noun.len()).zip(NOUNS).find_map(|(length, noun)| {
        let tail = before.get(before.len().checked_sub(length)?..)?;
        tail.eq_ignore_ascii_case(noun).then_some(length)
    })
}

/// Puts words in the place of a label, or nothing if it stands in brackets of its own or before a colon at the beginning. Returns what goes on.
fn replace<'t>(out: &mut String, words: &str, after: &'t str) -> &'t str {
    for (open, close) in BRACKETS {
        if out.ends_with(open) && after.starts_with(close) {
            out.pop();
            out.truncate(out.trim_end_matches(' ').len());
            return &after[1..];
        }
    }
    if out.trim().is_empty()
        && let Some(rest) = after.strip_prefix(':')
    {
        return rest.trim_start();
    }
    out.truncate(out.len() - noun_before(out).unwrap_or_default());
    let end = out.len().saturating_sub("the ".len());
    if out.get(end..).is_some_and(|tail| tail.eq_ignore_ascii_case("the ")) {
        out.truncate(end);
    }
    let begins = out.trim_end().is_empty() || out.trim_end().ends_with(['.', '!', '?']);
    let mut letters = words.chars();
    match letters.next().filter(|_| begins) {
        Some(first) => out.extend(first.to_uppercase().chain(letters)),
        None => out.push_str(words),
    }
    after
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(text: &str) -> String {
        let known = |label: &str| match label {
            "L1" | "L12" => Some("a static check"),
            "F2" => Some("another finding"),
            _ => None,
        };
        without_labels(text, known).0
    }

    #[test]
    fn labels_are_taken_out_and_what_only_looks_like_one_stays() {
        for (text, expected) in [
            ("L1: the result is dropped", "the result is dropped"),
            ("The result is dropped (L1).", "The result is dropped."),
            ("Lead L12 is right. As the finding F2 says.", "A static check is right. As another finding says."),
            (
                "The F2 score falls, L1 regularization stays, see L12.",
                "The F2 score falls, L1 regularization stays, see L12.",
            ),
            ("The lead L1 holds [F2]", "A static check holds"),
            ("The L1 cache, lead L3, `L1` and XL1, `a` (L1)", "The L1 cache, lead L3, `L1` and XL1, `a`"),
            ("lead a.L1 and lead L1_SIZE and lead L1", "lead a.L1 and lead L1_SIZE and a static check"),
        ] {
            assert_eq!(plain(text), expected);
        }
    }

    #[test]
    fn words_of_scale_are_found_outside_of_code() {
        assert_eq!(
            words_of_scale("Every caller, `all` of them; it is Never freed. Overall small."),
            ["every", "never"]
        );
    }
}
