//! Fences for code in Markdown that the code itself cannot close.

/// A fence of backticks longer than any run of them in `text`, three at least.
pub fn fence_for(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    "`".repeat(longest.max(2) + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_run_of_backticks_in_the_text_closes_it() {
        assert_eq!(fence_for("a `b` ``"), "```");
        assert_eq!(fence_for("````\nx\n```"), "`````");
        assert_eq!(fence_for(""), "```");
    }
}
