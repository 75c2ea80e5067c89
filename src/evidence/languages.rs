//! What the grammars at hand say about a file. Main type: [`Languages`].

use std::sync::Arc;

use super::anchor::Grammar;
use crate::domain::language;
use crate::domain::path::RepoPath;
use crate::domain::text::FileText;
use crate::syntax::{self, Trees};

/// A larger text is not parsed for a single finding: it would take longer than the finding is worth.
const MOST_BYTES: usize = 512 << 10;

/// Every language that has a grammar, by the name of the file.
#[derive(Debug, Clone, Default)]
pub struct Languages {
    trees: Arc<Trees>,
}

impl Languages {
    /// The same, with the trees of texts that somebody has parsed already.
    pub fn with(trees: Arc<Trees>) -> Self {
        Self { trees }
    }
}

impl Grammar for Languages {
    fn error_nodes(&self, path: &RepoPath, text: &str) -> Option<u32> {
        let language = language::of(path).filter(|_| text.len() <= MOST_BYTES)?;
        syntax::error_count(language, text, &self.trees).map(|errors| u32::try_from(errors).unwrap_or(u32::MAX))
    }

    fn enclosing_symbol(&self, path: &RepoPath, text: &FileText, line: u32) -> Option<String> {
        let language = language::of(path).filter(|_| text.text().len() <= MOST_BYTES)?;
        syntax::enclosing_symbol(language, text.text(), line, &self.trees)
    }
}
