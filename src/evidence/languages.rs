//! Syntax queries about a file. Main type: [`GrammarLanguages`].

use std::sync::Arc;

use crate::domain::language;
use crate::domain::path::RepoPath;
use crate::domain::text::FileText;
use crate::syntax::{self, TreeCache};

/// Maximum size of a text parsed for a single finding: a larger one takes longer than the finding is worth.
const MOST_BYTES: usize = 512 << 10;

/// All languages with a grammar, by the name of the file.
#[derive(Debug, Clone, Default)]
pub struct GrammarLanguages {
    trees: Arc<TreeCache>,
}

impl GrammarLanguages {
    /// Uses the cached trees of texts that were parsed before.
    pub fn with(trees: Arc<TreeCache>) -> Self {
        Self { trees }
    }

    /// Counts the error nodes of the parsed text; `None` if there is no grammar for its language.
    pub fn error_nodes(&self, path: &RepoPath, text: &str) -> Option<u32> {
        let language = language::from_path(path).filter(|_| text.len() <= MOST_BYTES)?;
        syntax::error_count(language, text, &self.trees).map(|errors| u32::try_from(errors).unwrap_or(u32::MAX))
    }

    /// Returns the name of the innermost function or type around a line.
    pub fn enclosing_symbol(&self, path: &RepoPath, text: &FileText, line: u32) -> Option<String> {
        let language = language::from_path(path).filter(|_| text.text().len() <= MOST_BYTES)?;
        syntax::enclosing_symbol(language, text.text(), line, &self.trees)
    }
}
