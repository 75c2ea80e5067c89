//! Small texts that are put together in many places: a count with its noun, a long number, and a line of bounded length; and their length.

/// `1 file`, `2 files`.
pub fn count_noun(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// `1,998,211`.
pub fn group_thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// The first characters of a text, at most so many.
pub fn first_characters(text: &str, most: usize) -> &str {
    text.char_indices().nth(most).map_or(text, |(end, _)| &text[..end])
}

/// At most so many characters, with a mark behind them where something is missing.
pub fn shorten(text: &str, most: usize) -> String {
    let first = first_characters(text, most);
    if first.len() == text.len() { text.to_owned() } else { format!("{}…", first.trim_end()) }
}

/// Counts the words of a text, without its fenced code.
pub fn count_words(text: &str) -> usize {
    text.split("```").step_by(2).map(|prose| prose.split_whitespace().count()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_no_plural() {
        assert_eq!([0, 1, 2].map(|count| count_noun(count, "file")), ["0 files", "1 file", "2 files"]);
    }

    #[test]
    fn long_numbers_are_grouped() {
        assert_eq!([0, 999, 1000, 1_998_211].map(group_thousands), ["0", "999", "1,000", "1,998,211"]);
    }

    #[test]
    fn a_cut_is_marked_and_falls_between_characters() {
        assert_eq!(shorten("größe", 5), "größe");
        assert_eq!(shorten("größe", 3), "grö…");
        assert_eq!(shorten("", 0), "");
    }

    #[test]
    fn words_are_counted_without_fenced_code() {
        assert_eq!(count_words("Two words.\n\n```rust\nlet not = counted;\n```\n\nand `two more`"), 5);
    }
}
