//! One pack of rules: its owner, its files and its rules, parsed and compiled on demand. Main types: [`PackFile`], [`Pack`].
//!
//! The format of one document belongs in `document`, the set of all packs in `packs`.

use std::borrow::Cow;
use std::sync::{Arc, LazyLock, OnceLock};

use serde::{Deserialize, Serialize};

use super::document::{ReportedSide, RuleDocument, TestCodeScope, YamlChunk, split_documents};
use super::fault::{PackFault, PackPlace, RuleError};
use super::recorded_hits::{grade, is_unproven};
use super::text_condition::TextCondition;
use crate::domain::filter::PathFilter;
use crate::domain::rule_info::{PackOwner, RuleInfo};
use crate::domain::text::mask;
use crate::syntax::{Excerpt, Grammar, RuleParts, RuleSet, RuleSource, SyntaxError, TextNeed};

/// Name prefix of all rules of a project, whichever file they are in, so that none can pass for another's.
pub(super) const OF_PROJECT: &str = "project";
/// Reserved prefixes, not allowed for a user's files: those of checks and of projects' rules.
const TAKEN: &[&str] = &["general", "impact", OF_PROJECT];

/// A built-in pack.
#[derive(Clone, Copy)]
pub(super) struct PackSource<'a> {
    pub(super) name: &'a str,
    pub(super) grammars: &'a [Grammar],
    /// Globs of the files it applies to; empty for all files of its grammars.
    pub(super) paths: &'a [&'a str],
    pub(super) text: &'a str,
}

/// A file of rules that is not built in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PackFile {
    /// Its owner.
    pub owner: PackOwner,
    /// Its name in messages: its path, and the commit it was read at.
    pub file: String,
    /// Its name without the extension: `python-house`. The part before a dash is the pack or language whose files it applies to, if there
    /// is one of that name.
    pub stem: String,
    /// Its contents.
    pub text: String,
}

/// A rule of a pack, ready to be compiled for any of the pack's grammars.
pub(super) struct PackRule {
    pub(super) info: RuleInfo,
    pub(super) paths: PathFilter,
    pub(super) grammars: Vec<Grammar>,
    /// The place where its document begins.
    pub(super) line: u32,
    fix: Option<String>,
    at: Option<String>,
    same: Vec<String>,
    stays: Vec<String>,
    guards: Vec<String>,
    repeats: Option<String>,
    pub(super) once: bool,
    source: RuleSource,
}

impl PackRule {
    fn parts(&self) -> RuleParts<'_> {
        RuleParts {
            source: &self.source,
            fix: self.fix.as_deref(),
            at: self.at.as_deref(),
            same: &self.same,
            stays: &self.stays,
            guards: &self.guards,
            repeats: self.repeats.as_deref(),
        }
    }
}

/// The properties of a rule that are known before it is parsed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct IndexEntry {
    /// Its name on every surface: `<pack>/<id>`.
    pub(super) name: String,
    /// See [`RuleInfo::is_hint`].
    pub(super) is_hint: bool,
    /// The side on which its matches are reported.
    pub(super) on: ReportedSide,
    /// Condition on a text without which the rule matches nothing in it.
    pub(super) condition: TextCondition,
}

/// A rule that is parsed when it is first needed: that of a whole pack takes longer than a small review.
struct LazyRule {
    entry: IndexEntry,
    /// Its document, unless it was parsed at once.
    chunk: Option<YamlChunk<'static>>,
    rule: OnceLock<Result<PackRule, RuleError>>,
}

/// The built-in packs, shared by the process, so that it parses and compiles each of their rules at most once.
pub(super) static BUILT_IN: LazyLock<Vec<Arc<Pack>>> =
    LazyLock::new(|| super::PACKS.iter().map(|source| Arc::new(Pack::built_in(source))).collect());

pub(super) struct Pack {
    /// The name of its rules before the slash.
    pub(super) name: String,
    /// The name of the folder with its fixtures.
    pub(super) stem: String,
    /// Its owner and file name; `None` for a built-in one.
    pub(super) from: Option<(PackOwner, String)>,
    pub(super) grammars: Vec<Grammar>,
    paths: &'static [&'static str],
    /// `true` if its name implies no language, so that each rule must name its languages.
    is_for_any: bool,
    pub(super) text: Cow<'static, str>,
    rules: OnceLock<Result<Vec<LazyRule>, RuleError>>,
    compiled: Vec<OnceLock<RuleSet>>,
}

fn words(grammars: &[Grammar]) -> String {
    grammars.iter().map(|grammar| grammar.word()).collect::<Vec<_>>().join(", ")
}

impl Pack {
    /// Creates a built-in pack.
    fn built_in(source: &PackSource<'static>) -> Self {
        Self::new(source.name, source.name, None, Some((source.grammars, source.paths)), Cow::Borrowed(source.text))
    }

    /// Creates a pack from a file; checks only its name.
    pub(super) fn from_file(file: &PackFile) -> Result<Self, RuleError> {
        let name = match file.owner {
            PackOwner::Project => OF_PROJECT,
            PackOwner::User => &file.stem,
        };
        if file.owner == PackOwner::User && TAKEN.contains(&name) {
            let place = PackPlace { file: file.file.clone(), line: 0, column: None };
            return Err(RuleError::Pack { place, rule: None, fault: Box::new(PackFault::Taken(name.to_owned())) });
        }
        let language = file.stem.split_once('-').map_or(file.stem.as_str(), |(language, _)| language);
        let like = super::PACKS.iter().find(|pack| pack.name == language).map(|pack| (pack.grammars, pack.paths));
        let alone = || Grammar::ALL.iter().find(|grammar| grammar.word() == language).map(std::slice::from_ref);
        let means = like.or_else(|| alone().map(|grammars| (grammars, &[][..])));
        let from = Some((file.owner, file.file.clone()));
        Ok(Self::new(name, &file.stem, from, means, Cow::Owned(file.text.clone())))
    }

    fn new(
        name: &str,
        stem: &str,
        from: Option<(PackOwner, String)>,
        means: Option<(&'static [Grammar], &'static [&'static str])>,
        text: Cow<'static, str>,
    ) -> Self {
        let (grammars, paths) = means.unwrap_or((Grammar::ALL, &[]));
        Self {
            name: name.to_owned(),
            stem: stem.to_owned(),
            from,
            grammars: grammars.to_vec(),
            paths,
            is_for_any: means.is_none(),
            text,
            rules: OnceLock::new(),
            compiled: grammars.iter().map(|_| OnceLock::new()).collect(),
        }
    }

    /// Creates a copy of the pack that is not parsed.
    #[cfg(test)]
    pub(super) fn unread(&self) -> Self {
        let means = Some((&*self.grammars.clone().leak(), self.paths));
        Self::new(&self.name, &self.stem, self.from.clone(), means, self.text.clone())
    }

    /// Returns how many of its rules were parsed.
    #[cfg(test)]
    pub(super) fn parsed_rules(&self) -> usize {
        self.lazy_rules().iter().filter(|lazy| lazy.rule.get().is_some()).count()
    }

    /// Returns the name of its file.
    pub(super) fn file(&self) -> &str {
        self.from.as_ref().map_or(self.stem.as_str(), |(_, file)| file)
    }

    /// `true` if it belongs to a project.
    pub(super) fn is_project(&self) -> bool {
        matches!(self.from, Some((PackOwner::Project, _)))
    }

    /// Returns its documents with their positions.
    pub(super) fn chunks(&self) -> Vec<YamlChunk<'_>> {
        split_documents(&self.text)
    }

    /// Masks the secrets in a string of the pack before people, models and journals see it: any file may hold some.
    pub(super) fn display_name(&self, text: &str) -> String {
        if self.from.is_some() { mask(text).text } else { text.to_owned() }
    }

    /// Returns the index of its rules, in their order. It parses no rule of a built-in pack.
    pub(super) fn index(&self) -> impl Iterator<Item = &IndexEntry> {
        self.lazy_rules().iter().map(|lazy| &lazy.entry)
    }

    /// Returns its rules; none if the pack cannot be read.
    pub(super) fn rules(&self) -> impl Iterator<Item = &PackRule> {
        self.lazy_rules().iter().filter_map(|lazy| self.parsed(lazy).as_ref().ok())
    }

    /// Returns one of its rules, by its place in the index.
    pub(super) fn rule(&self, number: usize) -> Option<&PackRule> {
        self.lazy_rules().get(number).and_then(|lazy| self.parsed(lazy).as_ref().ok())
    }

    /// Returns the index entry of one of its rules.
    pub(super) fn entry(&self, number: usize) -> Option<&IndexEntry> {
        self.lazy_rules().get(number).map(|lazy| &lazy.entry)
    }

    /// Parses all its rules, or returns the error in one.
    pub(super) fn read(&self) -> Result<(), RuleError> {
        let rules = self.read_rules().as_ref().map_err(Clone::clone)?;
        rules.iter().try_for_each(|lazy| self.parsed(lazy).as_ref().map(|_| ()).map_err(Clone::clone))
    }

    fn lazy_rules(&self) -> &[LazyRule] {
        self.read_rules().as_deref().unwrap_or_default()
    }

    fn read_rules(&self) -> &Result<Vec<LazyRule>, RuleError> {
        self.rules.get_or_init(|| match &self.text {
            // Built-in packs are written as the scan expects; tests compare the two.
            Cow::Borrowed(text) => {
                Ok(split_documents(text).into_iter().filter_map(|chunk| self.lazy_rule(chunk)).collect())
            }
            Cow::Owned(text) => {
                split_documents(text).iter().filter_map(|chunk| self.parse(chunk).transpose()).collect()
            }
        })
    }

    fn lazy_rule(&self, chunk: YamlChunk<'static>) -> Option<LazyRule> {
        let name = format!("{}/{}", self.name, chunk.id()?);
        let is_hint = chunk.is_hint() || is_unproven(&name);
        let entry = IndexEntry { name, is_hint, on: chunk.reported_side(), condition: chunk.text_condition() };
        Some(LazyRule { entry, chunk: Some(chunk), rule: OnceLock::new() })
    }

    /// Returns the rule, parsed. Only a built-in one can be faulty here, and tests rule that out.
    fn parsed<'a>(&self, lazy: &'a LazyRule) -> &'a Result<PackRule, RuleError> {
        lazy.rule.get_or_init(|| {
            let missing = || {
                let place = PackPlace { file: self.file().to_owned(), line: 0, column: None };
                let fault = Box::new(PackFault::Shape("an empty document".to_owned()));
                RuleError::Pack { place, rule: Some(lazy.entry.name.clone()), fault }
            };
            let parsed = lazy.chunk.as_ref().map(|chunk| self.parse(chunk)).transpose()?.flatten();
            parsed.and_then(|parsed| parsed.rule.into_inner()).unwrap_or_else(|| Err(missing()))
        })
    }

    fn parse(&self, chunk: &YamlChunk<'_>) -> Result<Option<LazyRule>, RuleError> {
        let Some(document) = chunk.read(self.file(), &self.name)? else { return Ok(None) };
        let fault = |fault: PackFault| chunk.fault(self.file(), &self.name, fault);
        let info = RuleInfo {
            name: format!("{}/{}", self.name, document.id),
            title: self.display_name(document.title.trim()),
            message: self.display_name(document.message.trim()),
            severity: document.severity,
            category: document.category,
            cwe: document.cwe.clone(),
            skips_tests: document.tests == TestCodeScope::Skip,
            is_hint: document.hint,
        };
        let info = if self.from.is_none() { grade(info) } else { info };
        let grammars = self.grammars_of(&document.languages).map_err(fault)?;
        let paths = self.paths_of(&document.paths).map_err(fault)?;
        let RuleDocument {
            literals,
            also_literals,
            between_equal,
            on,
            fix,
            at,
            same,
            stays,
            guards,
            repeats,
            once,
            source,
            ..
        } = document;
        let condition = TextCondition { literals, also_literals, between_equal };
        let entry = IndexEntry { name: info.name.clone(), is_hint: info.is_hint, on, condition };
        let line = chunk.line;
        let rule = PackRule { info, paths, grammars, line, fix, at, same, stays, guards, repeats, once, source };
        Ok(Some(LazyRule { entry, chunk: None, rule: OnceLock::from(Ok(rule)) }))
    }

    /// Returns the grammars that a rule applies to.
    fn grammars_of(&self, named: &[String]) -> Result<Vec<Grammar>, PackFault> {
        if named.is_empty() {
            let known = || PackFault::NoLanguage { known: words(&self.grammars) };
            return if self.is_for_any { Err(known()) } else { Ok(self.grammars.clone()) };
        }
        let of = |language: &String| {
            let found = self.grammars.iter().copied().find(|grammar| grammar.word() == language);
            found.ok_or_else(|| PackFault::Language { language: language.clone(), known: words(&self.grammars) })
        };
        named.iter().map(of).collect()
    }

    /// Returns the files that a rule applies to: those of its pack that its own globs include.
    fn paths_of(&self, own: &[String]) -> Result<PathFilter, PackFault> {
        let of_pack: Vec<String> = self.paths.iter().map(|glob| (*glob).to_owned()).collect();
        let filter = PathFilter::new(&of_pack, &[]).and_then(|filter| filter.narrow(own));
        filter.map_err(PackFault::Paths)
    }

    /// Returns the set of its rules for `grammar`, in which they are compiled on first use; `None` if the pack does not apply to it.
    fn set(&self, grammar: Grammar) -> Option<&RuleSet> {
        let place = self.grammars.iter().position(|own| *own == grammar)?;
        Some(self.compiled.get(place)?.get_or_init(|| RuleSet::new(grammar, self.lazy_rules().len())))
    }

    fn parts(&self, grammar: Grammar, number: usize) -> Option<RuleParts<'_>> {
        self.rule(number).filter(|rule| rule.grammars.contains(&grammar)).map(PackRule::parts)
    }

    /// Returns how much of a text a rule has to see, given the other side of its change and the excerpt that is parsed.
    pub(super) fn text_need(
        &self,
        grammar: Grammar,
        number: usize,
        texts: (&str, Option<&str>),
        excerpt: &Excerpt,
    ) -> TextNeed {
        let (set, has_gaps) = (self.set(grammar), excerpt.has_gaps_in_functions());
        set.map_or(TextNeed::Affected, |set| set.text_need(number, || self.parts(grammar, number), texts, has_gaps))
    }

    /// Returns the selected rules compiled for `grammar`; `None` if the pack does not apply to it.
    pub(super) fn compiled(
        &self,
        grammar: Grammar,
        wanted: &dyn Fn(usize) -> bool,
    ) -> Option<Result<&RuleSet, RuleError>> {
        let set = self.set(grammar)?;
        let mut wanted = (0..self.lazy_rules().len()).filter(|number| wanted(*number));
        let ready = wanted.try_for_each(|number| set.compile_all(number, || self.parts(grammar, number)));
        Some(ready.map(|()| set).map_err(|error| self.faulty(grammar, error)))
    }

    /// Compiles it for every grammar that one of its rules applies to.
    pub(super) fn check(&self) -> Result<(), RuleError> {
        for grammar in &self.grammars {
            if self.rules().any(|rule| rule.grammars.contains(grammar)) {
                self.compiled(*grammar, &|_| true).transpose()?;
            }
        }
        Ok(())
    }

    /// Builds the error of the rule that does not compile, with its place.
    fn faulty(&self, grammar: Grammar, error: SyntaxError) -> RuleError {
        let alone = self.rules().filter(|rule| rule.grammars.contains(&grammar)).find_map(|rule| {
            let source = std::iter::once(Some(rule.parts()));
            RuleSet::compile(grammar, source).err().map(|error| (rule, error))
        });
        let line = alone.as_ref().map_or(0, |(rule, _)| rule.line);
        let place = PackPlace { file: self.file().to_owned(), line, column: None };
        let rule = alone.as_ref().map(|(rule, _)| rule.info.name.clone());
        let fault = match alone.map_or(error, |(_, error)| error) {
            SyntaxError::Rule { language, what } => PackFault::Match { language, what },
            SyntaxError::Yaml { what, .. } => PackFault::Shape(what),
        };
        RuleError::Pack { place, rule, fault: Box::new(fault) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_of_a_built_in_rule_without_a_parser_is_what_the_parser_reads() {
        for pack in BUILT_IN.iter() {
            for lazy in pack.lazy_rules() {
                let parsed = pack.parse(lazy.chunk.as_ref().unwrap()).unwrap().unwrap();
                assert_eq!(lazy.entry, parsed.entry);
            }
            assert_eq!(pack.chunks().iter().filter(|chunk| chunk.id().is_some()).count(), pack.lazy_rules().len());
        }
    }

    #[test]
    fn only_the_rule_that_is_needed_is_parsed() {
        let pack = BUILT_IN[1].unread();
        assert!(pack.rule(3).is_some_and(|rule| rule.info.name == pack.entry(3).unwrap().name));
        assert_eq!(pack.parsed_rules(), 1);
        assert!(pack.rule(pack.lazy_rules().len()).is_none());
    }
}
