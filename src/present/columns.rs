//! Aligned columns, for tables on a terminal. Main function: [`align_columns`].

use textwrap::core::display_width;

/// Renders rows, one line each, with two spaces between columns that are as wide as their contents.
///
/// `measured` returns the number of cells of a row that make columns wide: a sentence may run on.
pub(super) fn align_columns<R: AsRef<[String]>>(rows: &[R], measured: impl Fn(&[String]) -> usize) -> String {
    let mut widths: Vec<usize> = vec![0; rows.iter().map(|row| row.as_ref().len()).max().unwrap_or(0)];
    for row in rows.iter().map(AsRef::as_ref) {
        for (width, cell) in widths.iter_mut().zip(row).take(measured(row)) {
            *width = display_width(cell).max(*width);
        }
    }
    let mut out = String::new();
    for row in rows {
        let mut line = String::new();
        for (width, cell) in widths.iter().zip(row.as_ref()) {
            line.push_str(cell);
            line.push_str(&" ".repeat(width.saturating_sub(display_width(cell)) + 2));
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

/// Shortens text to at most `width` columns, ending in `…`.
pub(super) fn shorten_columns(text: &str, width: usize) -> String {
    if display_width(text) <= width {
        return text.to_owned();
    }
    let mut columns = 0;
    let fitting = text.char_indices().find(|(_, c)| {
        columns += display_width(c.encode_utf8(&mut [0; 4]));
        columns >= width
    });
    let end = fitting.map_or(text.len(), |(at, _)| at);
    format!("{}…", &text[..end])
}
