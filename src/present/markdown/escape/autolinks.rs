//! Words that a forge or a viewer turns into links or notices on its own, and fences that it draws instead of showing.
//!
//! GitHub links URLs (GFM 0.29 §6.9, not in `CommonMark` 0.31), accounts and teams, issues and pull requests (`#12`, `GH-12`,
//! `owner/name#12`), commits by seven hexadecimal digits or more, and advisories.

/// Languages that are only highlighted. A fence may also be a drawing (`mermaid`, `geojson`, `stl`), a formula, or a change.
const LANGUAGES: &[&str] = &[
    "asm",
    "awk",
    "bash",
    "c",
    "cc",
    "clojure",
    "cmake",
    "console",
    "cpp",
    "cs",
    "csharp",
    "css",
    "cxx",
    "d",
    "dart",
    "diff",
    "dockerfile",
    "elixir",
    "elm",
    "erl",
    "erlang",
    "ex",
    "exs",
    "fish",
    "fs",
    "fsharp",
    "go",
    "gradle",
    "graphql",
    "groovy",
    "h",
    "haskell",
    "hcl",
    "hpp",
    "hs",
    "html",
    "http",
    "ini",
    "java",
    "javascript",
    "js",
    "json",
    "json5",
    "jsonc",
    "jsx",
    "julia",
    "kotlin",
    "kt",
    "kts",
    "less",
    "lisp",
    "lock",
    "lua",
    "make",
    "makefile",
    "md",
    "markdown",
    "mjs",
    "ml",
    "nim",
    "nix",
    "objc",
    "ocaml",
    "pas",
    "patch",
    "perl",
    "php",
    "pl",
    "plaintext",
    "powershell",
    "proto",
    "ps1",
    "py",
    "pyi",
    "python",
    "r",
    "rb",
    "rs",
    "ruby",
    "rust",
    "sass",
    "scala",
    "scss",
    "sh",
    "shell",
    "sql",
    "svelte",
    "swift",
    "tcl",
    "terraform",
    "text",
    "tf",
    "toml",
    "ts",
    "tsx",
    "txt",
    "typescript",
    "vb",
    "vim",
    "vue",
    "wasm",
    "xml",
    "yaml",
    "yml",
    "zig",
    "zsh",
];

/// Returns the first word of a fence's info string if it names a language that is only highlighted, else nothing.
pub(crate) fn plain_language(info: &str) -> &str {
    let word = info.split([' ', '\t', ',', '{']).next().unwrap_or_default();
    if LANGUAGES.iter().any(|language| word.eq_ignore_ascii_case(language)) { word } else { "" }
}

/// Checks whether a forge or a viewer would turn the word into a link or a notice on its own.
pub(super) fn is_live(word: &str) -> bool {
    if word.contains('@') || has_commit(word) {
        return true;
    }
    let lower = word.to_ascii_lowercase();
    let numbered = |mark: &str| {
        lower.match_indices(mark).any(|(at, _)| lower[at + mark.len()..].starts_with(|c: char| c.is_ascii_digit()))
    };
    lower.contains("://")
        || lower.contains("www.")
        || lower.contains("mailto:")
        || lower.contains("xmpp:")
        || lower.contains("ghsa-")
        || numbered("cve-")
        || numbered("#")
        || numbered("gh-")
}

/// Checks whether the word holds a possible commit id: seven to sixty-four hexadecimal digits that stand alone. Decimal digits alone count
/// only if they are too long for an ordinary number: hardly any abbreviated id has no letter.
fn has_commit(word: &str) -> bool {
    word.split(|c: char| !c.is_ascii_alphanumeric()).any(|part| {
        (7..=64).contains(&part.len())
            && part.bytes().all(|byte| byte.is_ascii_hexdigit())
            && (part.len() > 12 || part.bytes().any(|byte| byte.is_ascii_alphabetic()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_forge_links_by_itself_is_known() {
        for word in [
            "http://e.example",
            "HTTPS://e.example",
            "ftp://e.example",
            "(www.e.example)",
            "mailto:a",
            "a@b.example",
            "@octo",
            "@octo/team",
            "#12",
            "(#12)",
            "GH-12",
            "octo/name#12",
            "octo/name@0123456789abcdef0123456789abcdef01234567",
            "0123456789abcdef0123456789abcdef01234567",
            "a1b2c3d",
            "a1b2c3d..f6e5d4c",
            "GHSA-8q5r-mmjf-575q",
            "CVE-2025-30066",
        ] {
            assert!(is_live(word), "{word}");
        }
        for word in ["face", "deed12", "word", "#", "#tag", "C#", "gh-pages", "bright", "a.b", "x::y", "decades"] {
            assert!(!is_live(word), "{word}");
        }
    }

    #[test]
    fn fences_keep_the_names_of_languages_only() {
        for (info, name) in [("rust", "rust"), ("Rust,ignore", "Rust"), ("py title=x", "py"), ("c++", "")] {
            assert_eq!(plain_language(info), name);
        }
        for info in [
            "suggestion",
            "suggestion:-0+1",
            "SUGGESTION",
            "mermaid",
            "math",
            "geojson",
            "topojson",
            "stl",
            "rust`",
            "",
        ] {
            assert_eq!(plain_language(info), "");
        }
    }
}
