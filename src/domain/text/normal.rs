//! The normal form in which quotes are compared.

/// One line as quotes are compared: trailing white space ignored.
pub fn normal_line(line: &str) -> &str {
    line.trim_end()
}
