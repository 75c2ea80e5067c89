//! The guidelines of a project about its own code. Main types: [`Guideline`], [`Guidelines`].
//!
//! Finding guideline files belongs in `app`; presenting them to a model, in `review`.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::filter::{FilterError, PathFilter};
use super::id::{hash_part, hex};
use super::path::RepoPath;
use crate::domain::words::words;

words! {
    /// The convention that a guideline file follows.
    pub enum GuidelineKind: as_str {
        /// `AGENTS.md`.
        Agents = "agents",
        /// `CLAUDE.md`.
        Claude = "claude",
        /// `GEMINI.md`.
        Gemini = "gemini",
        /// `.github/copilot-instructions.md` and `.github/instructions`.
        Copilot = "copilot",
        /// `REVIEW.md`.
        Review = "review",
        /// `.cursor/rules`.
        Cursor = "cursor",
        /// `.cursor/BUGBOT.md`.
        Bugbot = "bugbot",
        /// A file that the settings name.
        Named = "named",
    }
}

impl GuidelineKind {
    /// All kinds that are found by name.
    pub const FOUND: [Self; 7] =
        [Self::Agents, Self::Claude, Self::Gemini, Self::Copilot, Self::Review, Self::Cursor, Self::Bugbot];

    /// One of those that are found by their names.
    pub fn found_by_word(word: &str) -> Option<Self> {
        Self::FOUND.into_iter().find(|kind| kind.as_str().eq_ignore_ascii_case(word))
    }

    /// Checks whether it is written for reviews.
    const fn is_for_reviews(self) -> bool {
        match self {
            Self::Review | Self::Bugbot | Self::Named => true,
            Self::Agents | Self::Claude | Self::Gemini | Self::Copilot | Self::Cursor => false,
        }
    }
}

/// The files that a guideline applies to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GuidelineApplication {
    /// All.
    Everywhere,
    /// Those below a folder.
    Below(RepoPath),
    /// Those whose paths match.
    Matching(Globs),
}

impl GuidelineApplication {
    /// All files, or those below a folder, which is empty for the root.
    pub fn below(folder: &[u8]) -> Self {
        RepoPath::from_bytes(folder).map_or(Self::Everywhere, Self::Below)
    }

    /// Checks whether it is about a file.
    pub fn has(&self, path: &RepoPath) -> bool {
        match self {
            Self::Everywhere => true,
            Self::Below(folder) => within(folder, path).is_some(),
            Self::Matching(globs) => globs.has(path),
        }
    }

    /// Returns its specificity: the number of folders from the root.
    fn depth(&self) -> usize {
        let of = |folder: &RepoPath| memchr::memchr_iter(b'/', folder.as_bytes()).count() + 1;
        match self {
            Self::Everywhere => 0,
            Self::Below(folder) => of(folder),
            Self::Matching(globs) => globs.below.as_ref().map_or(0, of),
        }
    }

    /// In words, as they follow "applies to".
    pub fn describe(&self) -> String {
        match self {
            Self::Everywhere => "every file".to_owned(),
            Self::Below(folder) => format!("files below {folder}"),
            Self::Matching(globs) => globs.words(),
        }
    }
}

/// The path below a folder; `None` if it is not there.
fn within(folder: &RepoPath, path: &RepoPath) -> Option<RepoPath> {
    let rest = path.as_bytes().strip_prefix(folder.as_bytes())?.strip_prefix(b"/")?;
    RepoPath::from_bytes(rest).ok()
}

/// Patterns of paths, as [`PathFilter`] reads them; one that begins with `!` takes paths out.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(try_from = "GlobPatterns", into = "GlobPatterns")]
pub struct Globs {
    patterns: Vec<String>,
    /// The folder from which they count; `None` for the root.
    below: Option<RepoPath>,
    filter: PathFilter,
}

/// [`Globs`] as they are kept.
#[derive(Clone, Serialize, Deserialize)]
struct GlobPatterns {
    patterns: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    below: Option<RepoPath>,
}

impl TryFrom<GlobPatterns> for Globs {
    type Error = FilterError;

    fn try_from(written: GlobPatterns) -> Result<Self, FilterError> {
        Self::new(written.patterns, written.below)
    }
}

impl From<Globs> for GlobPatterns {
    fn from(globs: Globs) -> Self {
        Self { patterns: globs.patterns, below: globs.below }
    }
}

impl PartialEq for Globs {
    fn eq(&self, other: &Self) -> bool {
        (&self.patterns, &self.below) == (&other.patterns, &other.below)
    }
}

impl Eq for Globs {}

impl Globs {
    /// Compiles patterns, which count from `below`.
    pub fn new(patterns: Vec<String>, below: Option<RepoPath>) -> Result<Self, FilterError> {
        let (out, mut wanted): (Vec<String>, Vec<String>) =
            patterns.iter().cloned().partition(|pattern| pattern.starts_with('!'));
        let out: Vec<String> = out.iter().map(|pattern| pattern[1..].to_owned()).collect();
        // Everything, however it is written; a filter without anything wanted lets all through.
        if wanted.iter().any(|pattern| matches!(pattern.as_str(), "*" | "**" | "**/*" | "/**" | "./**")) {
            wanted.clear();
        }
        let filter = PathFilter::new(&wanted, &out)?;
        Ok(Self { patterns, below, filter })
    }

    fn has(&self, path: &RepoPath) -> bool {
        match &self.below {
            None => self.filter.allows(path),
            Some(folder) => within(folder, path).is_some_and(|rest| self.filter.allows(&rest)),
        }
    }

    fn words(&self) -> String {
        let below = self.below.as_ref().map_or_else(String::new, |folder| format!(" below {folder}"));
        format!("files that match {}{below}", self.patterns.join(", "))
    }
}

/// The way in which a text became a guideline.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GuidelineOrigin {
    /// The convention.
    pub kind: GuidelineKind,
    /// The files that it applies to.
    pub applies: GuidelineApplication,
    /// The place that imports it or points to it; `None` if it was found by name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub via: Option<GuidelineSource>,
}

/// The reference that brought a text in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GuidelineSource {
    /// A line of another guideline imports it.
    Import {
        /// That guideline.
        path: RepoPath,
        /// The line, 1-indexed.
        line: u32,
    },
    /// A link of this name points to it.
    Link(RepoPath),
}

/// A text of guidelines: lines of one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Guideline {
    /// The file that holds the text.
    pub path: RepoPath,
    /// The ways in which it became one; never empty.
    pub reach: Vec<GuidelineOrigin>,
    /// The lines that are used, secrets masked; whole lines.
    pub text: String,
    /// The number of the first of them, 1-indexed: settings at the head of a file are no text.
    pub first: u32,
    /// The number of lines the file has.
    pub lines: u32,
}

impl Guideline {
    /// Checks whether it is about a file.
    pub fn applies_to(&self, path: &RepoPath) -> bool {
        self.reach.iter().any(|reach| reach.applies.has(path))
    }

    /// The number of its last line that is used.
    pub fn last_line(&self) -> u32 {
        let count = u32::try_from(self.text.lines().count()).unwrap_or(u32::MAX);
        self.first.saturating_add(count).saturating_sub(1)
    }

    /// One of its lines; `None` if it is not used.
    pub fn line(&self, number: u32) -> Option<&str> {
        let at = usize::try_from(number.checked_sub(self.first)?).ok()?;
        self.text.lines().nth(at)
    }

    /// Checks whether its end is not used.
    pub fn is_cut(&self) -> bool {
        self.last_line() < self.lines
    }

    /// Describes its scope and origin, in a clause.
    pub fn describe(&self) -> String {
        let mut said: Vec<String> = Vec::new();
        for GuidelineOrigin { applies, via, .. } in &self.reach {
            let applies = format!("applies to {}", applies.describe());
            let words = match via {
                None => applies,
                Some(GuidelineSource::Import { path, line }) => format!("{applies}, imported by {path}:{line}"),
                Some(GuidelineSource::Link(name)) => format!("{applies}, linked as {name}"),
            };
            if !said.contains(&words) {
                said.push(words);
            }
        }
        said.join("; ")
    }

    /// Returns the priority if not everything fits: texts for reviews, then specific ones, then the rest.
    pub fn rank(&self) -> impl Ord + use<> {
        let is_for_reviews = self.reach.iter().any(|reach| reach.kind.is_for_reviews());
        let depth = self.reach.iter().map(|reach| reach.applies.depth()).max().unwrap_or(0);
        let is_scoped = self.reach.iter().all(|reach| reach.applies != GuidelineApplication::Everywhere);
        (!is_for_reviews, std::cmp::Reverse(depth), !is_scoped)
    }

    /// By what a later review knows that it is the same text about the same files.
    pub fn hash(&self) -> String {
        let mut hash = Sha256::new();
        let mut add = |text: &str| hash_part(&mut hash, text);
        add(&self.path.display_name());
        add(&self.first.to_string());
        add(&self.text);
        for reach in &self.reach {
            add(&reach.applies.describe());
        }
        hex(&hash.finalize())
    }
}

/// The guidelines of a run: those that are about one of its files.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Guidelines {
    /// The tree they were read from: `at 0123456789`, or `on the disk`.
    pub from: String,
    /// The texts: the broadest first, the nearest to the files last, what is imported behind what imports it.
    pub texts: Vec<Guideline>,
    /// Notes on what was omitted or cut: sentences for the receipt.
    pub notes: Vec<String>,
}

impl Guidelines {
    /// Checks whether there are none.
    pub fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }

    /// The texts that are about a file, in their order.
    pub fn applying_to<'g>(&'g self, path: &'g RepoPath) -> impl Iterator<Item = &'g Guideline> {
        self.texts.iter().filter(move |text| text.applies_to(path))
    }

    /// The text of a file.
    pub fn by_path(&self, path: &RepoPath) -> Option<&Guideline> {
        self.texts.iter().find(|text| text.path == *path)
    }

    /// One line, as a finding cites it.
    pub fn line(&self, path: &RepoPath, number: u32) -> Option<Cow<'_, str>> {
        self.by_path(path)?.line(number).map(Cow::Borrowed)
    }

    /// Returns the provenance that a review records.
    pub fn provenance(&self) -> Vec<ProvidedGuideline> {
        self.texts.iter().map(|text| ProvidedGuideline { path: text.path.clone(), hash: text.hash() }).collect()
    }
}

/// A guideline that a model was given, for the provenance of a review.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProvidedGuideline {
    /// The file.
    pub path: RepoPath,
    /// By what a later review knows whether it is the same.
    pub hash: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> RepoPath {
        RepoPath::parse(text).unwrap()
    }

    fn globs(patterns: &[&str], below: Option<&str>) -> GuidelineApplication {
        let patterns = patterns.iter().map(|pattern| (*pattern).to_owned()).collect();
        GuidelineApplication::Matching(Globs::new(patterns, below.map(path)).unwrap())
    }

    fn guideline(name: &str, kind: GuidelineKind, applies: GuidelineApplication) -> Guideline {
        let reach = vec![GuidelineOrigin { kind, applies, via: None }];
        Guideline { path: path(name), reach, text: "one\n\nthree\n".to_owned(), first: 4, lines: 9 }
    }

    #[test]
    fn a_folder_does_not_reach_its_neighbour_of_a_longer_name() {
        let api = GuidelineApplication::below(b"services/api");
        assert!(api.has(&path("services/api/a.rs")) && api.has(&path("services/api/x/a.rs")));
        assert!(!api.has(&path("services/api2/a.rs")) && !api.has(&path("services/api")));
        assert!(GuidelineApplication::below(b"").has(&path("a")));
    }

    #[test]
    fn patterns_count_from_their_folder_and_may_take_paths_out() {
        let ts = globs(&["**/*.ts", "!**/*.d.ts"], None);
        assert!(ts.has(&path("a/b.ts")) && ts.has(&path("b.ts")) && !ts.has(&path("a/b.d.ts")));
        let web = globs(&["src/**"], Some("web"));
        assert!(web.has(&path("web/src/a.ts")) && !web.has(&path("src/a.ts")) && !web.has(&path("web/a.ts")));
        for all in ["*", "**", "**/*"] {
            assert!(globs(&[all], None).has(&path("a/b/c")), "{all}");
            assert!(!globs(&[all], Some("x")).has(&path("a/b/c")), "{all}");
        }
        assert!(Globs::new(vec!["a[".to_owned()], None).is_err());
    }

    #[test]
    fn lines_have_the_numbers_of_the_file() {
        let text = guideline("AGENTS.md", GuidelineKind::Agents, GuidelineApplication::Everywhere);
        assert_eq!((text.line(3), text.line(4), text.line(6), text.line(7)), (None, Some("one"), Some("three"), None));
        assert!(text.is_cut() && text.last_line() == 6);
    }

    #[test]
    fn what_is_for_reviews_and_what_is_near_comes_first() {
        let mut all = [
            guideline("AGENTS.md", GuidelineKind::Agents, GuidelineApplication::Everywhere),
            guideline("a/AGENTS.md", GuidelineKind::Agents, GuidelineApplication::below(b"a")),
            guideline("a/b/AGENTS.md", GuidelineKind::Agents, GuidelineApplication::below(b"a/b")),
            guideline("REVIEW.md", GuidelineKind::Review, GuidelineApplication::Everywhere),
        ];
        all.sort_by_key(Guideline::rank);
        let names: Vec<String> = all.iter().map(|text| text.path.to_string()).collect();
        assert_eq!(names, ["REVIEW.md", "a/b/AGENTS.md", "a/AGENTS.md", "AGENTS.md"]);
    }

    #[test]
    fn what_is_kept_is_read_again_with_its_patterns() {
        let mut all = Guidelines { from: "at 0123".to_owned(), ..Guidelines::default() };
        all.texts.push(guideline("r.mdc", GuidelineKind::Cursor, globs(&["*.ts"], Some("web"))));
        let back: Guidelines = serde_json::from_str(&serde_json::to_string(&all).unwrap()).unwrap();
        assert_eq!(back, all);
        assert!(back.texts[0].applies_to(&path("web/x/a.ts")) && !back.texts[0].applies_to(&path("a.ts")));
        assert_eq!(back.provenance(), all.provenance());
        let mut other = all.clone();
        other.texts[0].text.push_str("more\n");
        assert_ne!(other.provenance()[0].hash, all.provenance()[0].hash);
    }
}
