//! Similarity of finding titles. Main functions: [`normalize_title`], [`are_similar`], [`are_related`].

use std::collections::BTreeSet;

/// Minimum similarity of two titles, by character, to count as the same.
const SIMILAR: f64 = 0.85;
/// Minimum share of common words of two titles to count as the same.
const SAME_WORDS: f64 = 0.6;
/// Minimum share of common words of two titles to be about the same subject.
const RELATED_WORDS: f64 = 0.3;

/// Returns a title without case, punctuation and white space.
pub(in crate::review) fn normalize_title(title: &str) -> String {
    words(title).collect::<Vec<_>>().join(" ")
}

/// Checks whether two titles say the same in other words.
pub(in crate::review) fn are_similar(a: &str, b: &str) -> bool {
    let (a, b) = (normalize_title(a), normalize_title(b));
    a == b || strsim::normalized_levenshtein(&a, &b) >= SIMILAR || common(&a, &b) >= SAME_WORDS
}

/// Checks whether two titles are about the same subject.
pub(in crate::review) fn are_related(a: &str, b: &str) -> bool {
    are_similar(a, b) || common(&normalize_title(a), &normalize_title(b)) >= RELATED_WORDS
}

fn words(title: &str) -> impl Iterator<Item = String> {
    title.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_lowercase)
}

/// Returns the share of significant words that both titles have.
fn common(a: &str, b: &str) -> f64 {
    const EMPTY: &[&str] =
        &["a", "an", "the", "is", "are", "of", "in", "on", "to", "and", "or", "it", "be", "not", "when"];
    let telling = |text: &str| -> BTreeSet<String> {
        let words = text.split(' ').filter(|word| !word.is_empty() && !EMPTY.contains(word));
        words.map(str::to_owned).collect()
    };
    let (a, b) = (telling(a), telling(b));
    let (both, all) = (a.intersection(&b).count(), a.union(&b).count());
    let share = |count: usize| u32::try_from(count).map_or(f64::MAX, f64::from);
    if all == 0 { 0.0 } else { share(both) / share(all) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_and_punctuation_do_not_count() {
        assert_eq!(normalize_title("  `load()` may  FAIL. "), "load may fail");
        assert!(are_similar("`load()` may fail", "load may fail!"));
    }

    #[test]
    fn wordings_of_one_are_similar_and_other_defects_are_not() {
        assert!(are_similar("Result of `open` is ignored", "The result of open() is ignored"));
        assert!(!are_similar("Off by one in the loop", "Lock is never released"));
        assert!(are_related("`open` can fail and nobody looks", "Failure of `open` is not looked at: open can fail"));
        assert!(!are_related("Off by one in the loop", "Lock is never released"));
    }
}
