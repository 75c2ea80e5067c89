//! Finds the lines of a file that are most similar to a missing quote, so that its author can correct it.
//!
//! Main function: [`find_nearest`]; bounded work, a heuristic.

use std::collections::HashSet;

use crate::domain::place::LineRange;
use crate::domain::text::{FileText, NormalizedQuote, is_distinctive, normal_line};

/// Maximum number of places.
const NAMED: usize = 3;
/// Maximum number of lines compared character by character.
const COMPARED: usize = 200;
/// Maximum number of characters compared of a line.
const CHARS: usize = 160;
/// Minimum similarity of two lines (1 is equal).
const ALIKE: f64 = 0.5;

/// Returns up to three places in the order of the file: lines equal to one of the quote's except for indentation; else the most similar
/// ones; else the claimed lines.
pub(super) fn find_nearest(text: &FileText, quote: &NormalizedQuote, claimed: Option<LineRange>) -> Vec<LineRange> {
    let mut lines = equal_lines(text, quote, claimed);
    if lines.is_empty() {
        lines = similar_lines(text, quote);
    }
    if lines.is_empty() {
        return claimed.and_then(|lines| first_lines(text, lines)).into_iter().collect();
    }
    lines.sort_unstable();
    lines.into_iter().map(LineRange::line).collect()
}

fn first_lines(text: &FileText, claimed: LineRange) -> Option<LineRange> {
    let named = u32::try_from(NAMED).unwrap_or(u32::MAX);
    let last = claimed.end().min(text.line_count()).min(claimed.start().saturating_add(named - 1));
    LineRange::new(claimed.start(), last).ok()
}

fn equal_lines(text: &FileText, quote: &NormalizedQuote, claimed: Option<LineRange>) -> Vec<u32> {
    let wanted: HashSet<&str> =
        quote.lines.iter().map(|line| line.trim()).filter(|line| is_distinctive(line)).collect();
    if wanted.is_empty() {
        return Vec::new();
    }
    let equal = text.all_lines().filter(|(_, line)| wanted.contains(normal_line(line).trim_start()));
    let mut equal: Vec<u32> = equal.map(|(number, _)| number).collect();
    if let Some(claimed) = claimed {
        equal.sort_by_key(|number| number.abs_diff(claimed.start()));
    }
    equal.truncate(NAMED);
    equal
}

/// Returns the lines that share a long word, or the beginning of one, with the quote's most distinctive line, the most similar ones of
/// them.
fn similar_lines(text: &FileText, quote: &NormalizedQuote) -> Vec<u32> {
    let telling = quote.lines.iter().filter(|line| is_distinctive(line));
    let Some(wanted) = telling.max_by_key(|line| line.len()).map(|line| head(line.trim())) else { return Vec::new() };
    let mut candidates: Vec<u32> = Vec::new();
    for needle in needles(wanted) {
        let mut last = 0;
        for at in memchr::memmem::find_iter(text.text().as_bytes(), needle) {
            let line = text.line_at(at);
            if line != last {
                last = line;
                candidates.push(line);
            }
            if candidates.len() >= COMPARED {
                break;
            }
        }
        if candidates.len() >= COMPARED {
            break;
        }
    }
    candidates.sort_unstable();
    candidates.dedup();
    let scored = candidates.into_iter().filter_map(|number| {
        let score = strsim::normalized_levenshtein(wanted, head(normal_line(text.line(number)?).trim_start()));
        (score >= ALIKE).then_some((score, number))
    });
    let mut scored: Vec<(f64, u32)> = scored.collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    scored.into_iter().take(NAMED).map(|(_, number)| number).collect()
}

/// Returns what a similar line is expected to contain: the longest words, then their beginnings, since a word may be misspelled too.
fn needles(wanted: &str) -> Vec<&str> {
    const WORDS: usize = 4;
    const BEGINNING: usize = 4;
    let mut words: Vec<&str> = wanted.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
    words.retain(|word| word.len() >= 3);
    words.sort_by_key(|word| std::cmp::Reverse(word.len()));
    words.dedup();
    words.truncate(WORDS);
    let beginnings: Vec<&str> = words.iter().filter_map(|word| word.get(..BEGINNING)).collect();
    words.extend(beginnings);
    words
}

/// Returns the first characters of a line.
pub(super) fn head(line: &str) -> &str {
    line.char_indices().nth(CHARS).map_or(line, |(end, _)| &line[..end])
}
