//! Refusals in a model's own words. Main function: [`is_refusal`].
//!
//! Providers have a field for a refused response; many servers do not, and pass on the model's text.

/// Length of the beginning that is searched: later in a response such words are about the code.
const BEGINNING: usize = 240;

/// Beginnings of a refusal.
const SORRY: &[&str] =
    &["i'm sorry", "i am sorry", "sorry", "i apologize", "i apologise", "apologies", "unfortunately"];

/// Subject and verb of a refusal.
const CANNOT: &[&str] = &[
    "i can't",
    "i cannot",
    "i can not",
    "i won't",
    "i will not",
    "i'm unable to",
    "i am unable to",
    "i'm not able to",
    "i am not able to",
    "i must decline",
    "i have to decline",
];

/// Object of a refusal: the task, not a thing in the code.
const TASK: &[&str] = &[
    "help with",
    "help you",
    "assist",
    "do that",
    "do this",
    "comply",
    "fulfil",
    "complete this request",
    "complete that request",
    "continue with this",
    "provide that",
    "provide assistance",
    "review this",
    "discuss",
    "engage",
    "participate",
    "process this request",
    "answer that",
    "respond to",
    "decline",
];

/// Checks whether a text is a refusal: it begins with one, as a sentence of its own.
pub fn is_refusal(text: &str) -> bool {
    let text = text.trim_start().trim_start_matches(['*', '_', '>', '"', ' ']);
    let beginning =
        text.chars().take(BEGINNING).collect::<String>().to_lowercase().replace(['\u{2019}', '\u{2018}'], "'");
    let mut rest = beginning.as_str();
    if let Some(after) = SORRY.iter().find_map(|word| rest.strip_prefix(word)) {
        rest = after.trim_start_matches([',', '.', '!', ';', ':', ' ', '\n']);
        rest = rest.strip_prefix("but ").unwrap_or(rest);
    }
    if let Some(after) = rest.strip_prefix("as an ai") {
        rest = after.split_once(',').map_or(after, |(_, after)| after).trim_start();
    }
    let Some(word) = CANNOT.iter().find(|word| rest.starts_with(**word)) else { return false };
    let sentence = rest.split(['.', '!', '?', '\n']).next().unwrap_or_default();
    let after = sentence.get(word.len()..).unwrap_or_default();
    word.ends_with("decline") || TASK.iter().any(|task| after.contains(task))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_are_told_from_reviews() {
        for text in [
            "I can't help with that.",
            "I\u{2019}m sorry, but I can\u{2019}t assist with that request.",
            "Sorry, I cannot comply with this request. The code looks dangerous.",
            "I'm unable to assist with reviewing this code.",
            "**I must decline.**",
            "As an AI language model, I cannot help with exploits.",
            "Unfortunately, I am not able to review this change.",
        ] {
            assert!(is_refusal(text), "{text}");
        }
        for text in [
            "",
            "Nothing is wrong.",
            "I can't find a caller that passes null, so the guard is enough.",
            "I cannot see a defect. The helper discusses retries.",
            "I'm sorry to say that the parser fails on empty input.",
            "The client answers \"I can't help with that\" where the tool is missing.",
            "I cannot rule out that the index is off by one; see the test.",
        ] {
            assert!(!is_refusal(text), "{text}");
        }
    }
}
