//! Languages whose code calls each other by name. Main type: [`LanguageFamily`].

use crate::domain::language;
use crate::domain::path::RepoPath;

/// Languages that call each other by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum LanguageFamily {
    Rust,
    Python,
    Script,
    Go,
    Java,
    C,
}

impl LanguageFamily {
    pub(super) fn of(path: &RepoPath) -> Option<Self> {
        Some(match language::from_path(path)? {
            "rust" => Self::Rust,
            "python" => Self::Python,
            "javascript" | "typescript" | "tsx" => Self::Script,
            "go" => Self::Go,
            "java" => Self::Java,
            "c" | "cpp" => Self::C,
            _ => return None,
        })
    }

    /// Returns the globs of its files.
    pub(super) fn globs(self) -> &'static [&'static str] {
        match self {
            Self::Rust => &["*.rs"],
            Self::Python => &["*.py", "*.pyi"],
            Self::Script => &["*.js", "*.jsx", "*.mjs", "*.cjs", "*.ts", "*.tsx", "*.mts", "*.cts"],
            Self::Go => &["*.go"],
            Self::Java => &["*.java"],
            Self::C => &["*.c", "*.h", "*.cc", "*.cpp", "*.cxx", "*.hh", "*.hpp", "*.hxx", "*.inl"],
        }
    }
}
