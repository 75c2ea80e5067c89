//! Removing from text what a human surface must not show: escapes, controls, characters that are not seen or change direction.

/// Whether `c` cannot be seen or changes the direction of the text around it: bidi controls, zero-width characters, tags.
pub fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{00ad}' | '\u{034f}' | '\u{061c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}' | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

/// Text for one line of a human surface: line breaks and tabs become spaces, all else as [`strip_block`].
pub fn strip_line(text: &str) -> String {
    strip_block(text).replace(['\n', '\t'], " ")
}

/// Text for a human surface: no terminal escapes, no control characters but `\n` and `\t`, nothing invisible.
pub fn strip_block(text: &str) -> String {
    text.chars().filter(|c| (!c.is_control() || matches!(c, '\n' | '\t')) && !is_invisible(*c)).collect()
}
