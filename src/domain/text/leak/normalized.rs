//! The one form in which texts and secrets are compared: ASCII letters and digits in lower case, and where each comes from. Main type: [`NormalizedText`].

use std::ops::Range;

/// A text in the one form.
pub(super) struct NormalizedText {
    /// Its letters and digits.
    pub(super) letters: Vec<u8>,
    /// The bytes of the text that each stands for.
    pub(super) bytes: Vec<Range<usize>>,
}

/// A letter or digit in the one form; `None` for all that is only put between them.
pub(super) fn letter(c: char) -> Option<u8> {
    let narrow = match c {
        // The wide forms of ASCII.
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(u32::from(c) - 0xfee0)?,
        _ => c,
    };
    let byte = u8::try_from(narrow).ok()?;
    byte.is_ascii_alphanumeric().then(|| byte.to_ascii_lowercase())
}

/// The readings of a text: as it is; with its escapes undone, where it has some; and without the numbers of a list.
pub(super) fn of(text: &str) -> Vec<NormalizedText> {
    let mut forms = vec![read(text, false, false)];
    if text.contains(['%', '\\', '&', '<']) {
        forms.push(read(text, true, false));
    }
    if text.lines().filter(|line| number(line) > 0).nth(1).is_some() {
        forms.push(read(text, true, true));
    }
    forms
}

fn read(text: &str, unescape: bool, unnumber: bool) -> NormalizedText {
    let mut form = NormalizedText { letters: Vec::new(), bytes: Vec::new() };
    let mut at = 0;
    let mut line_begins = true;
    while let Some(c) = text[at..].chars().next() {
        let mut length = c.len_utf8();
        let mut meant = Some(c);
        if unnumber && line_begins {
            let line = &text[at..];
            let skipped = number(line.lines().next().unwrap_or_default());
            if skipped > 0 {
                (length, meant) = (skipped, None);
            }
        }
        if unescape
            && meant.is_some()
            && matches!(c, '%' | '\\' | '&' | '<')
            && let Some((escaped, long)) = escape(&text[at..])
        {
            (length, meant) = (long, escaped);
        }
        if let Some(letter) = meant.and_then(letter) {
            form.letters.push(letter);
            form.bytes.push(at..at + length);
        }
        line_begins = c == '\n';
        at += length;
    }
    form
}

/// Returns the length in bytes of a line's listing number: `12. `, `12) `, `12: `, `12 | `, `- `.
fn number(line: &str) -> usize {
    let bare = line.trim_start_matches([' ', '\t', '-', '*', '>']);
    let digits = bare.bytes().take_while(u8::is_ascii_digit).count();
    let rest = bare[digits..].trim_start_matches(' ');
    let is_number = (1..=4).contains(&digits) && rest.starts_with(['.', ')', ':', '|', '\t', '→']);
    if is_number { line.len() - rest.len() } else { 0 }
}

/// The character that an escape stands for (`None` for one that is no letter in any reading), and the escape's bytes.
fn escape(text: &str) -> Option<(Option<char>, usize)> {
    let coded = |digits: &str, radix: u32| u32::from_str_radix(digits, radix).ok().and_then(char::from_u32);
    let hex = |prefix: &str, count: usize| {
        let digits = text.strip_prefix(prefix)?.get(..count)?;
        Some((Some(coded(digits, 16)?), prefix.len() + count))
    };
    let until = |prefix: &str, end: char, radix: u32| {
        let rest = text.strip_prefix(prefix)?;
        let digits = &rest[..rest.bytes().take(10).position(|byte| u32::from(byte) == u32::from(end))?];
        Some((Some(coded(digits, radix)?), prefix.len() + digits.len() + 1))
    };
    let octal = || {
        let digits = text.strip_prefix('\\')?.get(..3)?;
        Some((Some(coded(digits, 8)?), 4))
    };
    let named = || {
        let rest = text.strip_prefix('&')?;
        let name = &rest[..rest.bytes().take(12).position(|byte| byte == b';')?];
        (!name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric())).then_some((None, name.len() + 2))
    };
    // A line end or a tab that is spelled out is no letter.
    let sign = || text.get(1..2).filter(|sign| matches!(*sign, "n" | "r" | "t" | "\\")).map(|_| (None, 2));
    match text.as_bytes().first()? {
        b'%' => hex("%", 2),
        b'\\' => hex("\\x", 2)
            .or_else(|| until("\\u{", '}', 16))
            .or_else(|| hex("\\u", 4))
            .or_else(|| hex("\\U", 8))
            .or_else(octal)
            .or_else(sign),
        b'&' => until("&#x", ';', 16).or_else(|| until("&#X", ';', 16)).or_else(|| until("&#", ';', 10)).or_else(named),
        b'<' => until("<U+", '>', 16),
        _ => None,
    }
}
