//! Names of listed remarks. Main function: [`name`].

use md5::{Digest as _, Md5};

use crate::domain::forge::Held;
use crate::domain::id::hex;

/// A name that is the same in every review that lists the remark again. It is `pr-review-mcp`'s, so that what its users resolved stays so; MD5
/// is part of that and guards nothing.
pub(super) fn name(held: Held, file: &str, line: &str, title: &str) -> String {
    let list = if held == Held::Nitpick { "nitpick" } else { "outside-diff" };
    let digest = hex(&Md5::digest(format!("{file}:{line}:{}", title.to_lowercase()).as_bytes()));
    format!("coderabbit-{list}-{}-{line}", &digest[..8])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_a_sum_of_file_line_and_title() {
        // printf '%s' 'src/a.rs:12:use a constant.' | md5sum
        let named = name(Held::Nitpick, "src/a.rs", "12", "Use a Constant.");
        assert_eq!(named, "coderabbit-nitpick-d26f671e-12");
        assert!(name(Held::OutsideDiff, "src/a.rs", "12", "x").starts_with("coderabbit-outside-diff-"));
    }
}
