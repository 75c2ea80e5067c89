//! The path filter of `--include` and `--exclude`. Main type: [`PathFilter`].
//!
//! One meaning of a glob for what is reviewed and for what tools may read. Git's ignore rules do not belong here.

use std::sync::Arc;

use globset::{Candidate, GlobBuilder, GlobSet, GlobSetBuilder};

use super::path::RepoPath;

/// Compiled globs. Cheap to clone.
///
/// A pattern without `/` matches at any depth (`*.rs`, `node_modules`); one with `/` counts from the root of the tree (`src/*.rs`). A
/// pattern that names a folder matches everything under it. `*` and `?` stay within one component, `**` crosses components. Letters
/// match in their case.
#[derive(Debug, Clone, Default)]
pub struct PathFilter {
    /// At least one glob of each of these.
    include: Vec<Arc<GlobSet>>,
    /// None of these.
    exclude: Vec<Arc<GlobSet>>,
}

/// A pattern that is not a glob.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the glob {pattern:?} is not valid: {reason}")]
pub struct FilterError {
    /// As it was written.
    pub pattern: String,
    /// The problem with it.
    pub reason: String,
}

impl PathFilter {
    /// Lets every path through.
    pub fn all() -> Self {
        Self::default()
    }

    /// Compiles patterns; an empty `include` lets through whatever `exclude` does not hold back.
    pub fn new(include: &[String], exclude: &[String]) -> Result<Self, FilterError> {
        Ok(Self { include: compile(include)?.into_iter().collect(), exclude: compile(exclude)?.into_iter().collect() })
    }

    /// Lets through only what also matches one of `include`; empty changes nothing. So a project only narrows what a user asked for.
    pub fn narrow(mut self, include: &[String]) -> Result<Self, FilterError> {
        self.include.extend(compile(include)?);
        Ok(self)
    }

    /// Holds back what matches one of `exclude` as well; empty changes nothing.
    pub fn without(mut self, exclude: &[String]) -> Result<Self, FilterError> {
        self.exclude.extend(compile(exclude)?);
        Ok(self)
    }

    /// Checks whether the path may be seen.
    pub fn allows(&self, path: &RepoPath) -> bool {
        self.allows_bytes(path.as_bytes())
    }

    /// Likewise for the bytes of a path.
    pub fn allows_bytes(&self, path: &[u8]) -> bool {
        if self.include.is_empty() && self.exclude.is_empty() {
            return true;
        }
        let candidate = Candidate::from_bytes(path);
        let matches = |set: &Arc<GlobSet>| set.is_match_candidate(&candidate);
        self.include.iter().all(matches) && !self.exclude.iter().any(matches)
    }
}

fn compile(patterns: &[String]) -> Result<Option<Arc<GlobSet>>, FilterError> {
    if patterns.is_empty() {
        return Ok(None);
    }
    let mut set = GlobSetBuilder::new();
    for pattern in patterns {
        let fault = |reason: &str| FilterError { pattern: pattern.clone(), reason: reason.to_owned() };
        let trimmed = pattern.strip_prefix("./").unwrap_or(pattern);
        let rooted = trimmed.trim_end_matches('/').contains('/');
        let bare = trimmed.trim_matches('/');
        if bare.is_empty() || bare == "." {
            return Err(fault("it names nothing"));
        }
        let whole = if rooted { bare.to_owned() } else { format!("**/{bare}") };
        // Written with a slash at its end it names a folder only.
        let forms =
            if trimmed.ends_with('/') { vec![format!("{whole}/**")] } else { vec![format!("{whole}/**"), whole] };
        for form in forms {
            let glob = GlobBuilder::new(&form).literal_separator(true).backslash_escape(true).build();
            set.add(glob.map_err(|error| fault(&error.kind().to_string()))?);
        }
    }
    let fault = |error: globset::Error| FilterError { pattern: patterns.join(", "), reason: error.to_string() };
    set.build().map(|set| Some(Arc::new(set))).map_err(fault)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allowed(include: &[&str], exclude: &[&str], path: &[u8]) -> bool {
        let owned = |patterns: &[&str]| patterns.iter().map(|pattern| (*pattern).to_owned()).collect::<Vec<_>>();
        let filter = PathFilter::new(&owned(include), &owned(exclude)).unwrap();
        filter.allows(&RepoPath::from_bytes(path).unwrap())
    }

    #[test]
    fn a_pattern_without_a_slash_matches_at_any_depth() {
        assert!(allowed(&["*.rs"], &[], b"a.rs"));
        assert!(allowed(&["*.rs"], &[], b"x/y/a.rs"));
        assert!(!allowed(&["*.rs"], &[], b"x/y/a.py"));
    }

    #[test]
    fn a_pattern_with_a_slash_counts_from_the_root() {
        assert!(allowed(&["src/*.rs"], &[], b"src/a.rs"));
        assert!(!allowed(&["src/*.rs"], &[], b"src/x/a.rs"));
        assert!(!allowed(&["src/*.rs"], &[], b"lib/src/a.rs"));
        assert!(allowed(&["./src/**/*.rs"], &[], b"src/x/y/a.rs"));
        assert!(allowed(&["src/**/*.rs"], &[], b"src/a.rs"));
        assert!(allowed(&["/a.rs"], &[], b"a.rs"));
        assert!(!allowed(&["/a.rs"], &[], b"x/a.rs"));
    }

    #[test]
    fn a_folder_stands_for_everything_under_it() {
        for pattern in ["vendor", "vendor/", "vendor/**"] {
            assert!(!allowed(&[], &[pattern], b"vendor/x/y.c"), "{pattern}");
        }
        assert!(!allowed(&[], &["vendor"], b"lib/vendor/y.c"));
        assert!(!allowed(&[], &["src/gen"], b"src/gen/y.c"));
        assert!(allowed(&[], &["src/gen"], b"src/general/y.c"));
        assert!(allowed(&[], &["vendor/"], b"vendor"), "with a slash at its end it is a folder");
        assert!(!allowed(&[], &["vendor"], b"vendor"));
    }

    #[test]
    fn excluding_wins_over_including() {
        assert!(!allowed(&["src"], &["*.lock"], b"src/a.lock"));
        assert!(allowed(&["src", "docs"], &["*.lock"], b"docs/a.md"));
    }

    #[test]
    fn odd_bytes_are_matched_too() {
        assert!(allowed(&["*.txt"], &[], b"d/\xff \n.txt"));
        assert!(allowed(&["gr\u{fc}\u{df}e*"], &[], "grüße.txt".as_bytes()));
    }

    #[test]
    fn a_bad_pattern_says_what_is_wrong() {
        let error = PathFilter::new(&["a[".to_owned()], &[]).unwrap_err();
        assert!(error.to_string().starts_with("the glob \"a[\" is not valid: "), "{error}");
        assert!(PathFilter::new(&[], &["/".to_owned()]).is_err());
    }
}
