//! The change made by applying suggestions, as a diff that git accepts. Main function: [`diff`].

use similar::TextDiff;

use crate::domain::path::{RepoPath, display_path};
use crate::domain::place::LineRange;

/// Number of context lines around a change.
const CONTEXT: usize = 3;

/// Returns a unified diff of a file, verbatim; empty if nothing changed.
pub fn diff(path: &RepoPath, before: &str, after: &str) -> String {
    let name = |side: &[u8]| display_path(&[side, path.as_bytes()].concat()).into_owned();
    let diff = TextDiff::from_lines(before, after);
    diff.unified_diff().context_radius(CONTEXT).header(&name(b"a/"), &name(b"b/")).to_string()
}

/// Formats a place: `src/a.rs:12-14`.
pub fn place(path: &RepoPath, lines: LineRange) -> String {
    match lines.count() {
        1 => format!("{path}:{}", lines.start()),
        _ => format!("{path}:{}-{}", lines.start(), lines.end()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diff_names_the_file_as_git_does() {
        let path = RepoPath::from_bytes(b"a \xff\n.txt").unwrap();
        let shown = diff(&path, "1\n2\n3\n4\n5\nend", "1\n2\n3\n4\nfive\nend");
        let wanted = "--- \"a/a \\377\\n.txt\"\n+++ \"b/a \\377\\n.txt\"\n@@ -2,5 +2,5 @@\n 2\n 3\n 4\n-5\n+five\n end\n\\ No newline at end of file\n";
        assert_eq!(shown, wanted);
        assert_eq!(diff(&path, "same\n", "same\n"), "");
        let crlf = diff(&RepoPath::parse("f").unwrap(), "a\r\nb\r\n", "a\r\nc\r\n");
        assert!(crlf.contains("-b\r\n+c\r\n"), "{crlf:?}");
        assert_eq!(place(&path, LineRange::new(2, 3).unwrap()), format!("{path}:2-3"));
    }
}
