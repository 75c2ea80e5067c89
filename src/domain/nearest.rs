//! The name that a misspelled one most likely stands for. Main function: [`nearest`].

/// The least likeness of a suggestion, from 0 to 1: one letter in three may differ.
const LEAST: f64 = 0.65;

/// Returns the candidate that is most like `wanted`, if any is like it at all.
pub fn nearest<'c>(wanted: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    let wanted = wanted.to_lowercase();
    let scored = candidates
        .into_iter()
        .map(|candidate| (strsim::normalized_damerau_levenshtein(&wanted, &candidate.to_lowercase()), candidate));
    scored.filter(|(likeness, _)| *likeness >= LEAST).max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_similar_name_is_suggested() {
        assert_eq!(nearest("mian", ["topic", "main", "origin/main"]), Some("main"));
        assert_eq!(nearest("rlues", ["rules", "replay"]), Some("rules"));
        assert_eq!(nearest("main", ["action", "topic"]), None);
        assert_eq!(nearest("explain", ["replay", "apply"]), None);
    }
}
