//! The front matter of a file: the lines between two of `---`. Main type: [`FrontMatter`].
//!
//! A parser of its own, because most front matter looks like YAML without being it: `globs: *.ts` is an alias to a YAML parser. Only the
//! documented forms are read: one key per line, a string, a list in brackets, or a list of lines with dashes.

use std::collections::BTreeMap;

/// Limit on the lines of front matter; without an end within them, the text has none.
const MOST_LINES: usize = 200;

/// The front matter of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct FrontMatter {
    /// The number of its lines, with both lines of dashes; 0 without front matter.
    pub(super) lines: u32,
    fields: BTreeMap<String, Vec<String>>,
}

impl FrontMatter {
    /// Parses the front matter of a text.
    pub(super) fn of(text: &str) -> Self {
        let mut lines = text.lines().take(MOST_LINES + 2);
        if lines.next().map(str::trim_end) != Some("---") {
            return Self::default();
        }
        let inner: Vec<&str> = lines.collect();
        let Some(end) = inner.iter().position(|line| matches!(line.trim_end(), "---" | "...")) else {
            return Self::default();
        };
        let mut front = Self { lines: u32::try_from(end).unwrap_or(u32::MAX).saturating_add(2), ..Self::default() };
        let mut open: Option<String> = None;
        for line in &inner[..end] {
            let trimmed = line.trim();
            if trimmed.is_empty() || trimmed.starts_with('#') {
                continue;
            }
            if let Some(item) = trimmed.strip_prefix("- ").or_else(|| trimmed.strip_prefix('-'))
                && let Some(values) = open.as_ref().and_then(|key| front.fields.get_mut(key))
            {
                values.extend(scalar(item));
                continue;
            }
            let is_indented = line.starts_with([' ', '\t']);
            let Some((key, value)) = line.split_once(':').filter(|_| !is_indented) else { continue };
            let key = key.trim().trim_matches(['"', '\'']).to_ascii_lowercase();
            let values = list(value.trim());
            open = Some(key.clone());
            front.fields.insert(key, values);
        }
        front
    }

    /// Checks whether a setting is `true`.
    pub(super) fn is_on(&self, key: &str) -> bool {
        self.values(key).first().is_some_and(|value| value.eq_ignore_ascii_case("true"))
    }

    /// The values of a setting; empty if it is missing.
    pub(super) fn values(&self, key: &str) -> &[String] {
        self.fields.get(&key.to_ascii_lowercase()).map_or(&[], Vec::as_slice)
    }

    /// The values of a setting as patterns, which may also be separated by commas.
    pub(super) fn patterns(&self, key: &str) -> Vec<String> {
        self.values(key).iter().flat_map(|value| split_commas(value)).collect()
    }
}

/// Parses a string, or a list in brackets.
fn list(value: &str) -> Vec<String> {
    match value.strip_prefix('[').and_then(|rest| rest.trim_end().strip_suffix(']')) {
        // A pattern may begin with brackets too.
        Some(inner) if !inner.contains(']') => split_commas(inner).iter().filter_map(|item| scalar(item)).collect(),
        _ => scalar(value).into_iter().collect(),
    }
}

/// Strips quotes and a trailing comment; `None` if the result is empty.
fn scalar(value: &str) -> Option<String> {
    let value = value.trim();
    let quoted = ['"', '\''].into_iter().find_map(|quote| value.strip_prefix(quote)?.split_once(quote));
    let text = match quoted {
        Some((inner, _)) => inner,
        None => value.split_once(" #").map_or(value, |(text, _)| text.trim_end()),
    };
    // Block scalar indicators, and null values.
    let is_empty = text.is_empty() || (quoted.is_none() && matches!(text, "|" | ">" | "|-" | ">-" | "null" | "~"));
    (!is_empty).then(|| text.to_owned())
}

/// Splits at commas, except within braces or quotes.
fn split_commas(text: &str) -> Vec<String> {
    let (mut depth, mut quote) = (0usize, None);
    let pieces = text.split(|c| {
        match (c, quote) {
            ('"' | '\'', None) => quote = Some(c),
            (c, Some(open)) if c == open => quote = None,
            ('{', None) => depth += 1,
            ('}', None) => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0 && quote.is_none()
    });
    pieces.map(str::trim).filter(|piece| !piece.is_empty()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_three_ways_of_writing_patterns_are_read() {
        for head in [
            "globs: *.ts, src/**/*.{tsx,jsx}",
            "globs: \"*.ts,src/**/*.{tsx,jsx}\"",
            "globs: [\"*.ts\", 'src/**/*.{tsx,jsx}']",
            "globs:\n  - *.ts\n  - 'src/**/*.{tsx,jsx}' # both",
            "globs:\n- \"*.ts\"\n- src/**/*.{tsx,jsx}",
        ] {
            let front = FrontMatter::of(&format!("---\ndescription: x: y\n{head}\nalwaysApply: false\n---\nText\n"));
            assert_eq!(front.patterns("globs"), ["*.ts", "src/**/*.{tsx,jsx}"], "{head}");
            assert!(!front.is_on("alwaysApply"));
            assert_eq!(front.values("description"), ["x: y"]);
        }
    }

    #[test]
    fn a_switch_may_be_quoted_and_a_remark_may_follow() {
        assert!(FrontMatter::of("---\nalwaysApply: \"true\"\n---\n").is_on("alwaysApply"));
        assert!(FrontMatter::of("---\r\nalwaysApply: true # yes\r\n---\r\n").is_on("alwaysapply"));
        assert_eq!(FrontMatter::of("---\nglobs:\nalwaysApply: true\n---\n").patterns("globs"), Vec::<String>::new());
    }

    #[test]
    fn what_has_no_end_is_text() {
        assert_eq!(FrontMatter::of("---\nalwaysApply: true\n"), FrontMatter::default());
        assert_eq!(FrontMatter::of("# Rules\n---\nalwaysApply: true\n---\n"), FrontMatter::default());
        assert_eq!(FrontMatter::of(&format!("---\n{}---\n", "a: b\n".repeat(300))), FrontMatter::default());
        assert_eq!(FrontMatter::of("---\n---\ntext").lines, 2);
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "(---|[a-z]{1,4}:|[-\\[\\]{},'\"# *]|\\n|\\PC){0,40}") {
            let front = FrontMatter::of(&format!("---\n{text}"));
            prop_assert!(front.lines as usize <= text.lines().count() + 1);
            let _ = (front.patterns("a"), front.is_on("b"));
        }
    }
}
