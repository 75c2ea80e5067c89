//! Invisible characters in code: they make it read differently from what it does, or hide text from people.

use std::collections::HashSet;

use super::super::target::{RuleMatch, RuleTarget, is_prose, is_test_path};
use super::{CheckInfo, MOST_MATCHES};
use crate::domain::finding::{Category, Severity};
use crate::domain::language;
use crate::domain::place::LineRange;
use crate::domain::text::{find_special, is_invisible};

pub(super) const INFO: CheckInfo = CheckInfo {
    name: "general/invisible-character",
    title: "Invisible character added",
    message: "Code with such characters can do something else than it shows, or carry text that people do not see but programs read. \
              Remove it, or write it as an escape where a string needs it.",
    severity: Severity::High,
    category: Category::Security,
    cwe: Some("CWE-1007"),
};

/// Finds the lines of a text that hold such a character.
pub(super) fn find(subject: &RuleTarget<'_>) -> Vec<RuleMatch> {
    let mut hits = Vec::new();
    if subject.text.text().is_ascii() && !has_control(subject.text.text()) {
        return hits;
    }
    let extension = subject.extension();
    let is_prose = is_prose(&extension);
    let is_code = language::from_path(subject.path).is_some();
    let is_test = is_test_path(subject.path);
    // Tests contain data of all kinds.
    if !is_code && (!is_prose && is_test || is_raster(subject.text.text())) {
        return hits;
    }
    let prose = is_prose || is_translation(subject, &extension);
    // Translations, test inputs and bundles contain such characters legitimately.
    let is_bundle = is_bundle(subject);
    let table = matches!(extension.as_str(), "json" | "csv" | "tsv" | "xml" | "svg");
    let data = is_bundle || is_test || table || !is_code;
    let ends_lines = is_code && !prose && !is_bundle && !table;
    for (number, line) in subject.text.all_lines() {
        if find_special(line, 0).is_none() {
            continue;
        }
        let returned =
            if ends_lines { line_end_within(line, matches!(extension.as_str(), "yml" | "yaml")) } else { None };
        if returned.is_none() && line.is_ascii() && !has_control(line) {
            continue;
        }
        // A file of unknown type may be subtitles, where such marks occur beside letters that need them.
        let prose = prose || (!is_code && line.chars().any(is_right_to_left));
        let listed = if is_bundle { listed_characters(line) } else { Vec::new() };
        // Nobody reads lines of such a length: they are encoded data.
        let data = data || line.len() > LONGEST_READ || is_foreign(subject, line);
        let worst = returned.or_else(|| worst_character(line, prose, data, &listed));
        let Some((column, c, harm)) = worst else { continue };
        if harm == CharacterHarm::Unseen && is_shown(line) && is_named(subject, number) {
            continue;
        }
        let mut hit = RuleMatch::from_lines(subject.text, LineRange::line(number));
        let code = u32::from(c);
        hit.title = Some(match harm {
            CharacterHarm::EndsLine if c == '\r' => {
                format!("A carriage return within a line is added (U+{code:04X})")
            }
            CharacterHarm::EndsLine => format!("A character that ends a line is added within one (U+{code:04X})"),
            CharacterHarm::Reorders => {
                format!("A character that reverses the text around it is added (U+{code:04X})")
            }
            CharacterHarm::Hides => format!("Hidden text added (U+{code:04X})"),
            CharacterHarm::Unseen => format!("Invisible character added (U+{code:04X})"),
        });
        let ends = if harm == CharacterHarm::EndsLine {
            " Programs end the line there, editors and diffs do not."
        } else {
            ""
        };
        hit.detail = Some(format!("U+{code:04X} stands in column {column}.{ends}"));
        // Measured on unseen code, all but hidden text was meant.
        hit.severity = (harm != CharacterHarm::Hides).then_some(Severity::Medium);
        hits.push(hit);
        if hits.len() > MOST_MATCHES {
            break;
        }
    }
    hits
}

/// Checks whether an ASCII text has a control character that no text needs, or a carriage return that no line feed follows.
fn has_control(text: &str) -> bool {
    let bytes = text.as_bytes();
    let mut from = 0;
    while let Some(at) = find_special(text, from) {
        let is_odd = match bytes[at] {
            b'\r' => bytes.get(at + 1).is_some_and(|next| *next != b'\n'),
            byte => is_odd_control(char::from(byte)),
        };
        if is_odd {
            return true;
        }
        from = at + 1;
    }
    false
}

/// Control characters, except those that lay text out.
fn is_odd_control(c: char) -> bool {
    c.is_control() && !matches!(c, '\t' | '\n' | '\x0c' | '\r')
}

/// Finds the first character within a line that some parsers treat as a line end: a carriage return; in YAML 1.1 (5.4) three others, too.
fn line_end_within(line: &str, is_yaml: bool) -> Option<(usize, char, CharacterHarm)> {
    let ends = |c: char| c == '\r' || (is_yaml && matches!(c, '\u{85}' | '\u{2028}' | '\u{2029}'));
    let (at, c) = line.trim_end().char_indices().find(|(_, c)| ends(*c))?;
    Some((line[..at].chars().count() + 1, c, CharacterHarm::EndsLine))
}

/// Number of different invisible characters in a row that make a list of them.
const LISTED: usize = 4;

/// Maximum length of a line that people read, in bytes.
const LONGEST_READ: usize = 5_000;
/// Maximum number of invisible characters in a comment that carry nothing.
const MOST_STRAY: usize = 3;

/// Checks whether each invisible character of a line is a string of its own.
fn is_shown(line: &str) -> bool {
    let chars: Vec<char> = line.chars().collect();
    let quote = |at: Option<usize>| at.and_then(|at| chars.get(at)).copied().filter(|c| matches!(c, '\'' | '"' | '`'));
    let is_alone = |at: usize| quote(at.checked_sub(1)).is_some_and(|open| quote(Some(at + 1)) == Some(open));
    (0..chars.len()).filter(|at| is_invisible(chars[*at]) || is_odd_control(chars[*at])).all(is_alone)
}

/// Checks whether a line, or the one above, says that the character is there.
fn is_named(subject: &RuleTarget<'_>, line: u32) -> bool {
    const NAMES: [&str; 6] =
        ["zero-width", "zero width", "invisible", "soft hyphen", "non-breaking", "control character"];
    let says = |line: u32| {
        let text = subject.text.line(line).unwrap_or_default().to_ascii_lowercase();
        NAMES.iter().any(|name| text.contains(name))
    };
    says(line) || line > 1 && says(line - 1)
}

/// Checks whether what follows an escape character sets a color or clears the rest of the line, which terminals show as such. Text that is set
/// to be concealed does not count.
fn is_color(mut rest: impl Iterator<Item = char>) -> bool {
    if rest.next() != Some('[') {
        return false;
    }
    let mut codes = String::new();
    for c in rest.take(24) {
        match c {
            'm' if !codes.contains('{') || codes.ends_with('}') => return !codes.split(';').any(|code| code == "8"),
            'K' => return matches!(codes.as_str(), "" | "0"),
            // Filled in by the program.
            '0'..='9' | ';' | '{' | '}' | '%' | 'd' | 's' => codes.push(c),
            _ => return false,
        }
    }
    false
}

/// Finds where a comment begins on a line, in characters; a mark within a string is none.
fn comment_start(line: &str) -> Option<usize> {
    let text = line.trim_start();
    if ["# ", "//", "* ", "-- ", "<!--"].iter().any(|mark| text.starts_with(mark)) {
        return Some(0);
    }
    let at = [" # ", " // "].iter().filter_map(|mark| line.find(mark)).min()?;
    let is_closed = |quote: char| line[..at].matches(quote).count().is_multiple_of(2);
    ['\'', '"', '`'].into_iter().all(is_closed).then(|| line[..at].chars().count())
}

/// Share of control characters, as a divisor of all, above which a file is data that happens to be readable.
const RASTER: usize = 20;

/// Checks whether a file consists of bytes rather than of text.
fn is_raster(text: &str) -> bool {
    text.chars().filter(|c| is_odd_control(*c)).count() > text.chars().count() / RASTER + 1
}

/// Checks whether the control characters of a line may be letters of a charset that was taken for another.
fn is_foreign(subject: &RuleTarget<'_>, line: &str) -> bool {
    subject.text.charset() != "UTF-8" && line.chars().filter(|c| is_odd_control(*c)).all(|c| !c.is_ascii())
}

/// Checks whether code was generated, by its path or the length of its lines.
fn is_bundle(subject: &RuleTarget<'_>) -> bool {
    let path = subject.path.display_name();
    let (folders, name) = path.rsplit_once('/').unwrap_or(("", &path));
    let script = matches!(subject.path.extension(), Some("js" | "mjs" | "cjs" | "css"));
    let is_long = || subject.text.all_lines().any(|(_, line)| line.len() > LONGEST_READ);
    script && (name.ends_with(".min.js") || folders.split('/').any(|part| part == "dist") || is_long())
}

/// The effect of a character, worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum CharacterHarm {
    EndsLine,
    Reorders,
    Hides,
    Unseen,
}

/// Returns the indices of the characters of a line that are in a row of different invisible ones: a bundler's output for a pattern that
/// lists them. Reversed text has letters in between.
fn listed_characters(line: &str) -> Vec<bool> {
    let chars: Vec<char> = line.chars().collect();
    let mut listed = vec![false; chars.len()];
    let mut from = 0;
    while from < chars.len() {
        let row = chars[from..].iter().take_while(|c| is_invisible(**c)).count();
        let different: HashSet<&char> = chars[from..from + row].iter().collect();
        if row >= LISTED && different.len() == row {
            listed[from..from + row].fill(true);
        }
        from += row.max(1);
    }
    listed
}

fn worst_character(line: &str, prose: bool, data: bool, listed: &[bool]) -> Option<(usize, char, CharacterHarm)> {
    let mut worst: Option<(usize, char, CharacterHarm)> = None;
    let (mut before, mut selectors, mut only_pictures, mut flag) = (' ', 0, true, false);
    // Right-to-left text needs them, whatever else is in it.
    let data = data || line.chars().any(is_right_to_left);
    let is_isolated = has_closed_isolates(line);
    let remark = comment_start(line);
    let to_line_end = ["# ", "//"].iter().any(|mark| line.trim_start().starts_with(mark));
    let stray = line.chars().filter(|c| is_invisible(*c)).count() <= MOST_STRAY;
    let mut rest = line.chars().enumerate().peekable();
    while let Some((at, c)) = rest.next() {
        flag = c == '\u{1f3f4}' || (flag && matches!(c, '\u{e0020}'..='\u{e007f}'));
        selectors = if is_selector(c) || is_alphabet(c) { selectors + 1 } else { 0 };
        only_pictures = !is_selector(c) || (only_pictures && c == '\u{fe0f}');
        let after = rest.peek().map_or(' ', |(_, c)| *c);
        let harm = match c {
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
                let is_listed = listed.get(at).copied().unwrap_or(false);
                (!prose && !is_listed && !is_isolated).then_some(CharacterHarm::Reorders)
            }
            '\u{e0000}'..='\u{e007f}' => (!flag).then_some(CharacterHarm::Hides),
            // Emoji and Mongolian take one variation selector, and editors leave more of the emoji selector; a row of others is an
            // encoded alphabet.
            _ if is_selector(c) && (selectors > 2 || c < '\u{e0100}') => {
                (selectors > if only_pictures { 8 } else { 2 }).then_some(CharacterHarm::Hides)
            }
            // Those of ideographs follow nothing else.
            '\u{e0100}'..='\u{e01ef}' if before.is_ascii() && !prose => Some(CharacterHarm::Unseen),
            _ if is_alphabet(c) && selectors > 2 => Some(CharacterHarm::Hides),
            '\0' => Some(CharacterHarm::Unseen),
            '\u{1b}' if is_color(rest.clone().map(|(_, c)| c)) => None,
            _ if is_odd_control(c) => (!prose && !data).then_some(CharacterHarm::Unseen),
            // A byte order mark at the start of a file.
            '\u{feff}' if at == 0 => None,
            // Between letters that join (Persian, Hindi) or emoji they belong to the text.
            _ if is_invisible(c) => {
                // Between the words of a comment they do nothing; beside its end they could take it away.
                let in_words = |c: char| c.is_alphanumeric() || c == ' ' || is_invisible(c);
                let is_idle = stray && is_space(c) && (to_line_end || in_words(before) && in_words(after));
                let meant = prose || data || remark.is_some_and(|start| start <= at) && (is_mark(c) || is_idle);
                (!meant && is_code(before) && is_code(after)).then_some(CharacterHarm::Unseen)
            }
            _ => None,
        };
        if let Some(harm) = harm
            && worst.is_none_or(|(_, _, known)| harm < known)
        {
            worst = Some((at + 1, c, harm));
        }
        before = c;
    }
    worst
}

/// Checks whether the only marks of direction on a line are isolates that it closes again, which move nothing of text from left to right: messages
/// wrap a name of unknown direction in them.
fn has_closed_isolates(line: &str) -> bool {
    let mut open = 0_usize;
    for c in line.chars() {
        match c {
            '\u{2066}' | '\u{2068}' => open += 1,
            '\u{2069}' if open > 0 => open -= 1,
            '\u{2069}' | '\u{2067}' | '\u{202a}'..='\u{202e}' => return false,
            _ if is_right_to_left(c) => return false,
            _ => {}
        }
    }
    open == 0
}

fn is_selector(c: char) -> bool {
    matches!(c, '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}')
}

/// Format characters that come in sets and hardly occur in text: three in a row encode something.
fn is_alphabet(c: char) -> bool {
    matches!(c, '\u{fff0}'..='\u{fff8}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}')
}

/// Checks for a letter of Hebrew, Arabic or a related script.
fn is_right_to_left(c: char) -> bool {
    matches!(c, '\u{05d0}'..='\u{08ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}') && c.is_alphabetic()
}

/// Checks for a directional mark, which is copied along with a name and has no effect in a comment.
fn is_mark(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}')
}

/// Checks for a character that parts or joins words and ends no line.
fn is_space(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200b}'..='\u{200d}' | '\u{2060}' | '\u{feff}')
}

fn is_code(c: char) -> bool {
    c.is_ascii() || is_invisible(c)
}

/// Checks for a translation file, where directional marks are part of the language.
fn is_translation(subject: &RuleTarget<'_>, extension: &str) -> bool {
    let path = subject.path.as_bytes().to_ascii_lowercase();
    let named = |part: &[u8]| memchr::memmem::find(&path, part).is_some();
    matches!(extension, "po" | "pot" | "xlf" | "xliff" | "strings" | "arb" | "resx" | "ftl")
        || named(b"locale")
        || named(b"i18n")
        || named(b"l10n")
        || named(b"lang/")
        || named(b"translations")
        || named(b"messages")
        // Android's resources of a language.
        || named(b"/values-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_that_languages_need_are_left_alone() {
        for line in [
            "x = '\u{0645}\u{06cc}\u{200c}\u{062e}'",
            "// \u{2764}\u{fe0f}",
            "\u{feff}use a;",
            "'\u{1f468}\u{200d}\u{1f4bb}'",
        ] {
            assert_eq!(worst_character(line, false, false, &[]), None, "{line:?}");
        }
        let flag = "\u{1f3f4}\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}";
        assert_eq!(worst_character(flag, false, false, &[]), None);
    }

    #[test]
    fn characters_that_deceive_are_told_with_their_column() {
        assert_eq!(worst_character("ab\u{202e}c", false, false, &[]), Some((3, '\u{202e}', CharacterHarm::Reorders)));
        assert_eq!(worst_character("is_\u{200b}ok", false, false, &[]), Some((4, '\u{200b}', CharacterHarm::Unseen)));
        assert_eq!(
            worst_character("# hi\u{e0049}\u{e0067}", true, false, &[]),
            Some((5, '\u{e0049}', CharacterHarm::Hides))
        );
        assert_eq!(worst_character("is_\u{200b}ok", true, false, &[]), None);
    }

    #[test]
    fn isolates_that_the_line_closes_are_left_alone() {
        let worst = |line: &str| worst_character(line, false, false, &[]).map(|(_, c, _)| c);
        assert_eq!(worst("fun String.isolated() = \"\u{2068}$this\u{2069}: $text\""), None);
        for (line, c) in [
            ("a = \"\u{2068}$this\"", '\u{2068}'),
            ("a = \"\u{2069} b\u{2068}\"", '\u{2069}'),
            ("a = \"user\u{2067} // admin\u{2069}\"", '\u{2067}'),
            ("a = \"user\u{202e} \u{2066}// admin\u{2069}\"", '\u{202e}'),
            ("a = \"\u{5d0} \u{2066}// admin\u{2069}\"", '\u{2066}'),
        ] {
            assert_eq!(worst(line), Some(c), "{line:?}");
        }
    }

    #[test]
    fn characters_without_effect_in_comments_and_colors_are_left_alone() {
        let worst = |line: &str| worst_character(line, false, false, &[]).map(|(_, c, _)| c);
        for line in [
            "    /// - `**\u{200b}/*.rs` matches all",
            " * default values \u{200b}\u{200b}for parameters",
            "    0xad : b'\\xad',     # \u{ad}",
            "write(\"\\r\u{1b}[0K\")",
            "return \"\u{1b}[{}m{}\u{1b}[0m\"",
            "x = '\u{1b}[1;31mred\u{1b}[m'",
        ] {
            assert_eq!(worst(line), None, "{line:?}");
        }
        for (line, c) in [
            (" * the end *\u{200b}/", '\u{200b}'),
            ("x = 'http://a.b # \u{200b}c'", '\u{200b}'),
            ("is_\u{200b}ok  # fine", '\u{200b}'),
            ("// fine \u{2028}run()", '\u{2028}'),
            ("x = '\u{1b}[8mhidden'", '\u{1b}'),
            ("x = '\u{1b}[2K\u{1b}[1A'", '\u{1b}'),
            ("# a\u{200b}\u{200c}\u{200b}\u{200c}\u{200b}b", '\u{200b}'),
        ] {
            assert_eq!(worst(line), Some(c), "{line:?}");
        }
    }

    #[test]
    fn a_character_that_is_named_and_shown_is_left_alone() {
        use super::super::super::synthetic_change::SyntheticChange;
        let told = |text: &str| SyntheticChange::default().now("a.go", text).reported().len();
        assert_eq!(told("// a zero-width space\nif has(q, `\u{200b}`) {\n"), 0);
        assert_eq!(told("// a space\nif has(q, `\u{200b}`) {\n"), 1);
        assert_eq!(told("// a zero-width space\nif is\u{200b}admin(q, `\u{200b}`) {\n"), 1);
        let bundle = format!("x = '\u{1b}y'\n{}\n", "y();".repeat(2_000));
        let bundled = |text: &str| SyntheticChange::default().now("a.js", text).reported().len();
        assert_eq!([bundled(&bundle), bundled("x = '\u{1b}y'\ny();\n")], [0, 1]);
        let raster = |text: &str| SyntheticChange::default().now("a.pnm", text).reported().len();
        assert_eq!([raster(&"\u{1}\u{2}a\0".repeat(40)), raster("a\0b\n")], [0, 1]);
        let encoded = |length: usize| format!("x = '{}\u{200b}y'\n", "@".repeat(length));
        assert_eq!([told(&encoded(6_000)), told(&encoded(60))], [0, 1]);
    }

    #[test]
    fn a_carriage_return_within_a_line_of_code_is_told() {
        use super::super::super::synthetic_change::SyntheticChange;
        let told = |path: &str, text: &str| SyntheticChange::default().now(path, text).reported().len();
        let text = "a\r\nb # fine\rc()\r\n";
        assert_eq!(["a.py", "tests/a.js", "a.rs", "Makefile"].map(|path| told(path, text)), [1; 4]);
        assert_eq!(["a.md", "a.csv", "a.json", "a.cast", "dist/a.js"].map(|path| told(path, text)), [0; 5]);
        assert_eq!(told("a.py", "a\r\nb\r\r\n\r"), 0);
    }

    #[test]
    fn a_control_character_in_code_is_told() {
        use super::super::super::synthetic_change::SyntheticChange;
        let told = |path: &str, text: &str| SyntheticChange::default().now(path, text).reported().len();
        for c in ['\u{1}', '\u{8}', '\u{1b}', '\u{1c}', '\u{7f}', '\u{85}', '\u{9b}'] {
            let text = format!("a\nb{c}c\n");
            assert_eq!(
                ["a.py", "a.sh", "a.yml", "a.go", "tests/a.js", "a.md", "a.dat"].map(|path| told(path, &text)),
                [1, 1, 1, 1, 0, 0, 0]
            );
        }
        assert_eq!(["a.py", "a.dat"].map(|path| told(path, "a\0b\n")), [1; 2]);
        assert_eq!(told("a.py", "a\n\x0c\nb\tc\r\n"), 0);
        assert_eq!(["a.yml", "a.py"].map(|path| told(path, "a: b # \u{2028}c: d\n")), [1; 2]);
    }

    #[test]
    fn a_file_without_a_language_is_looked_at() {
        use super::super::super::synthetic_change::SyntheticChange;
        let told = |path: &str, text: &str| SyntheticChange::default().now(path, text).reported().len();
        let turned = "allow = \"user\u{202e} \u{2066}# admin\u{2069} \u{2066}\"\n";
        assert_eq!(["x.conf", "justfile", ".envrc"].map(|path| told(path, turned)), [1; 3]);
        assert_eq!(told("x.conf", "a\u{e0049}\u{e0067}\n"), 1);
        assert_eq!(["x.conf", ".envrc", "x.dat"].map(|path| told(path, "a\u{200b}b\n")), [1, 1, 0]);
        assert_eq!(["x.conf", ".envrc", "x.dat"].map(|path| told(path, "a\u{e0101}b\n")), [1; 3]);
        assert_eq!(told("film.srt", "\u{202b}\u{05d0}\u{05d1}\u{202c}\n"), 0);
        assert_eq!(told("tests/data/x.dat", turned), 0);
    }

    #[test]
    fn a_list_of_such_characters_in_a_bundle_is_none_that_turns_text() {
        use super::super::super::synthetic_change::SyntheticChange;
        let list = "a=/[\u{fff9}-\u{202d}\u{202e}\u{2066}\u{2067}\u{2069}]/;\n";
        let turned = "if (a != \"user\u{202e} \u{2066}// admin\u{2069} \u{2066}\") {}\n";
        let told = |path: &str, text: &str| SyntheticChange::default().now(path, text).reported();
        assert_eq!(told("ui/dist/a.js", list), [""; 0]);
        assert_eq!(told("ui/dist/a.js", turned), ["general/invisible-character ui/dist/a.js:1"]);
        assert_eq!(told("ui/src/a.js", list), ["general/invisible-character ui/src/a.js:1"]);
    }
}
