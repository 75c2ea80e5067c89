//! The link targets inside a Markdown file. Main type: [`HeadingAnchors`].
//!
//! Forges and sites derive anchors from headings with different handling of dashes, dots and accented letters. An anchor counts as
//! present if one of those ways may produce it: only letters and digits are compared.

use std::collections::HashSet;

use crate::document::DocumentLinks;
use crate::domain::text::LazyPattern;

/// Markup that tools other than Markdown expand or generate.
const FOREIGN: &[&str] = &[
    "{{",
    "{%",
    "<%",
    "--8<--",
    "!include",
    "@include",
    "eval-rst",
    "[[_TOC_]]",
    "<script",
    "import ",
    "\n::: ",
    "<<[",
];

/// Anchors that pages have by default.
const ALWAYS: &[&str] = &["top", "readme", "readmeovfile", "start", "content", "main", "toc", "tableofcontents"];

/// Something that looks like a heading, even in code: indented under a tab or an admonition of a site it is one.
static LOOKS_LIKE: LazyPattern = LazyPattern::new(r"(?m)^[\s>*+-]*#{1,6}[ \t]*(\S.*)$");
/// Explicit anchors.
static WRITTEN: LazyPattern = LazyPattern::new(
    r#"(?i)\b(?:id|name)\s*=\s*["']?([^"'\s>]+)|\{[^{}\n]*#([^\s{}]+)[^{}\n]*\}|(?m:^\(([^()\s]+)\)=\s*$)"#,
);
/// Headings in HTML.
static IN_HTML: LazyPattern = LazyPattern::new(r"(?is)<(?:h[1-6]|summary|dt)\b[^>]*>(.*?)</");
/// Components of a site, which may expand to anything.
static COMPONENT: LazyPattern = LazyPattern::new(r"(?m)^\s*<[A-Z]\w*[\s/>]");

/// The anchors of a file, folded.
#[derive(Debug)]
pub(super) struct HeadingAnchors {
    anchors: HashSet<String>,
}

impl HeadingAnchors {
    /// Collects the anchors of a text; `None` if it contains unknown constructs.
    pub(super) fn of(text: &str) -> Option<Self> {
        if FOREIGN.iter().any(|mark| text.contains(mark)) || COMPONENT.regex()?.is_match(text) {
            return None;
        }
        let mut anchors = HashSet::new();
        let mut add = |text: &str| {
            let all = fold(text);
            anchors.insert(all.trim_start_matches(|c: char| c.is_ascii_digit()).to_owned());
            anchors.insert(without_number(text));
            // Some tools spell emoji out, some drop them, and some read an anchor that follows.
            anchors.insert(fold(&without_names(text)));
            if let Some((before, _)) = text.split_once(['{', '<']) {
                anchors.insert(fold(before));
            }
            anchors.insert(all);
        };
        DocumentLinks::of(text).headings.iter().for_each(|heading| add(heading));
        LOOKS_LIKE.regex()?.captures_iter(text).filter_map(|found| found.get(1)).for_each(|one| add(one.as_str()));
        IN_HTML.regex()?.captures_iter(text).filter_map(|found| found.get(1)).for_each(|one| add(one.as_str()));
        for found in WRITTEN.regex()?.captures_iter(text) {
            found.iter().skip(1).flatten().for_each(|one| add(one.as_str()));
        }
        Some(Self { anchors })
    }

    /// Checks whether there may be such an anchor.
    pub(super) fn has(&self, fragment: &str) -> bool {
        let wanted = fold(fragment);
        let bare = wanted.trim_start_matches(|c: char| c.is_ascii_digit());
        let own = ["user-content-", "fn", "cite", "markdown-header-"].iter().any(|mark| fragment.starts_with(mark));
        own || ALWAYS.contains(&wanted.as_str())
            || [wanted.as_str(), bare, &without_number(fragment)].iter().any(|one| self.anchors.contains(*one))
    }
}

/// Returns the letters and digits of a text, in lower case.
fn fold(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// The heading without the number that distinguishes repeated headings.
fn without_number(text: &str) -> String {
    fold(text.trim_end_matches(|c: char| c.is_ascii_digit()))
}

/// Removes emoji names between colons.
fn without_names(text: &str) -> String {
    text.split(':').step_by(2).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn anchors_are_found_however_they_are_made() {
        let text = "# It is `here` & there\n\n## Twice\n\n## Twice\n\n## 1. First: *steps*\n\n## :rocket: Go\n\n## 安装 说明\n\n### Own {#mine}\n\n\
                    <a name=\"old-name\"></a>\n\n<h2 align=\"center\">In HTML</h2>\n\n=== \"Tab\"\n\n    ## In a tab\n\n(label)=\n";
        let headings = HeadingAnchors::of(text).unwrap();
        for anchor in [
            "it-is-here--there",
            "twice",
            "twice-1",
            "twice_1",
            "1-first-steps",
            "first-steps",
            "rocket-go",
            "go",
            "安装-说明",
            "own-mine",
            "mine",
            "own",
            "old-name",
            "in-html",
            "in-a-tab",
            "label",
            "top",
            "user-content-x",
        ] {
            assert!(headings.has(anchor), "{anchor}");
        }
        for anchor in ["it-is", "there", "thrice", "installation", "second-steps"] {
            assert!(!headings.has(anchor), "{anchor}");
        }
    }

    #[test]
    fn what_is_not_understood_has_any_anchor() {
        for text in [
            "# A\n{{< include \"b.md\" >}}\n",
            "# A\n<Tabs>\n</Tabs>\n",
            "# A\n{% include b.md %}\n",
            "# A\n--8<-- \"b.md\"\n",
        ] {
            assert!(HeadingAnchors::of(text).is_none(), "{text}");
        }
    }
}
