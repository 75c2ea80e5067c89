//! Parsed texts that several questions are asked about, parsed once. Main type: [`Trees`].

use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::{Arc, Mutex, PoisonError};

use super::beside::Beside;
use super::grammar::{Grammar, Tree, Unparsed, Watch};

/// The trees of so many bytes of text are kept; a tree takes many times as much memory as its text.
const MOST: usize = 12 << 20;

/// Keeps trees by their texts, for one run. What comes when it is full is parsed each time: whoever asks walks all files again and again in
/// one order, so making room for the last one would lose the next one.
#[derive(Default)]
pub struct Trees {
    hasher: RandomState,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    trees: HashMap<(Grammar, u64), Arc<Tree>>,
    bytes: usize,
}

impl std::fmt::Debug for Trees {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Trees")
    }
}

impl Trees {
    /// The tree of a text, as [`Tree::parse`] makes it.
    pub fn parse(&self, grammar: Grammar, text: &str, watch: &Watch<'_>) -> Result<Arc<Tree>, Unparsed> {
        self.parse_beside(grammar, text, None, watch)
    }

    /// Likewise; what the text has in common with another version that was parsed before is not parsed again.
    pub fn parse_beside(
        &self,
        grammar: Grammar,
        text: &str,
        beside: Option<&Beside<'_>>,
        watch: &Watch<'_>,
    ) -> Result<Arc<Tree>, Unparsed> {
        let key = (grammar, self.hasher.hash_one(text));
        if let Some(known) = self.known(key, text) {
            watch.check()?;
            return Ok(known);
        }
        let other = beside.and_then(|beside| {
            let other = self.known((grammar, self.hasher.hash_one(beside.other)), beside.other)?;
            Some((other, beside))
        });
        let tree = Arc::new(match other {
            Some((other, beside)) => Tree::parse_beside(text, &other, beside, watch)?,
            None => Tree::parse(grammar, text, watch)?,
        });
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.bytes + text.len() <= MOST && kept.trees.insert(key, tree.clone()).is_none() {
            kept.bytes += text.len();
        }
        Ok(tree)
    }

    fn known(&self, key: (Grammar, u64), text: &str) -> Option<Arc<Tree>> {
        let known = self.kept.lock().unwrap_or_else(PoisonError::into_inner).trees.get(&key).cloned();
        known.filter(|tree| tree.text() == text.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::cancel::Cancel;
    use std::time::Duration;

    #[test]
    fn a_text_is_parsed_once_and_another_one_anew() {
        let (trees, cancel) = (Trees::default(), Cancel::never());
        let watch = Watch::new(&cancel, Duration::from_mins(1));
        let parse = |grammar, text: &str| trees.parse(grammar, text, &watch).unwrap();
        let first = parse(Grammar::Rust, "fn a() {}");
        assert!(Arc::ptr_eq(&first, &parse(Grammar::Rust, "fn a() {}")));
        assert!(!Arc::ptr_eq(&first, &parse(Grammar::Go, "fn a() {}")));
        assert!(!Arc::ptr_eq(&first, &parse(Grammar::Rust, "fn b() {}")));
    }

    #[test]
    fn what_is_kept_has_an_end() {
        let (trees, cancel) = (Trees::default(), Cancel::never());
        let watch = Watch::new(&cancel, Duration::from_mins(1));
        let large = "# filler\n".repeat(MOST / 9 + 1);
        assert!(!Arc::ptr_eq(
            &trees.parse(Grammar::Bash, &large, &watch).unwrap(),
            &trees.parse(Grammar::Bash, &large, &watch).unwrap()
        ));
        assert_eq!(trees.kept.lock().unwrap().bytes, 0);
    }
}
