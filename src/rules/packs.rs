//! Rules as data: packs of YAML documents and the words of every rule. Main types: [`Packs`], [`RuleInfo`].

use std::collections::BTreeMap;
use std::sync::OnceLock;

use serde::Deserialize;
use sha2::{Digest as _, Sha256};

use super::checks::{CHECKS, CheckInfo};
use super::impact;
use crate::domain::filter::{FilterError, PathFilter};
use crate::domain::finding::{Category, Severity};
use crate::domain::id::hex;
use crate::syntax::{Grammar, RuleSet, RuleSource, SyntaxError, documents};

/// A pack as it is compiled in, or as a folder has it.
#[derive(Clone, Copy)]
pub(super) struct PackSource<'a> {
    pub(super) name: &'a str,
    pub(super) grammars: &'a [Grammar],
    /// Globs of the files it is for; empty for all files of its grammars.
    pub(super) paths: &'a [&'a str],
    pub(super) text: &'a str,
}

/// What there is to know about a rule besides how it matches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleInfo {
    /// Its name on every surface: `<pack>/<id>`.
    pub name: String,
    /// One line: what is wrong.
    pub title: String,
    /// What follows from it and what to do: Markdown.
    pub message: String,
    /// How bad it is.
    pub severity: Severity,
    /// What kind of defect it is.
    pub category: Category,
    /// The weakness it is an instance of (`CWE-78`), where there is one.
    pub cwe: Option<String>,
    /// Whether it says nothing about code that only tests run.
    pub skips_tests: bool,
}

/// Why the rules cannot be used: the fault of whoever wrote the pack.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RuleError {
    /// A pack is not a list of rules, or one of its rules cannot be matched.
    #[error("rule pack {pack}: {source}")]
    Pack {
        /// The pack.
        pack: String,
        /// Why.
        #[source]
        source: SyntaxError,
    },
    /// A rule names files by something that is not a glob.
    #[error("rule {rule}: {source}")]
    Paths {
        /// The rule.
        rule: String,
        /// What is wrong with it.
        #[source]
        source: FilterError,
    },
    /// A rule is for a language that its pack is not for.
    #[error("rule {rule}: languages names {language:?}, which is none of its pack ({known})")]
    Language {
        /// The rule.
        rule: String,
        /// What it names.
        language: String,
        /// The languages of the pack.
        known: String,
    },
    /// A rule has a key that means nothing.
    #[error("rule {rule}: the key {key} means nothing; remove it or correct its spelling")]
    UnknownKey {
        /// The rule.
        rule: String,
        /// The key.
        key: String,
    },
    /// A setting switches off something that is not there.
    #[error(
        "rules.off names {0:?}, which is neither a rule (such as rust/{1}) nor a pack; correct the name in the settings"
    )]
    NoSuchRule(String, &'static str),
    /// Nobody knows which files a pack is for.
    #[error(
        "the rule pack {name}.yml is for no language: call it by a pack to replace it ({known}), or by a language and a word, as in \
         python-house.yml"
    )]
    NoLanguage {
        /// The name of the pack.
        name: String,
        /// The packs there are.
        known: String,
    },
    /// Two rules have one name.
    #[error("rule {0} is defined twice; rename one")]
    Twice(String),
}

/// Whether a rule looks at code that only tests run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Tests {
    #[default]
    Include,
    Skip,
}

/// On which side of a change a match is told.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum On {
    /// What the change brings in.
    #[default]
    Added,
    /// What the change takes away: a guard, a close.
    Removed,
}

/// A rule as a pack writes it: our words, then ast-grep's rule.
#[derive(Debug, Deserialize)]
struct Document {
    id: String,
    title: String,
    message: String,
    severity: Severity,
    category: Category,
    cwe: Option<String>,
    #[serde(default)]
    tests: Tests,
    #[serde(default)]
    on: On,
    /// Languages of the pack that it is for; empty for all of them.
    #[serde(default)]
    languages: Vec<String>,
    /// Globs of the files it is for; empty for all files of the pack.
    #[serde(default)]
    paths: Vec<String>,
    /// A text that has none of these cannot match, and is not even parsed for this rule. Empty: no such text is known.
    #[serde(default)]
    literals: Vec<String>,
    fix: Option<String>,
    #[serde(flatten)]
    source: RuleSource,
    #[serde(flatten)]
    unknown: BTreeMap<String, serde_json::Value>,
}

/// A rule of a pack, ready to be compiled for any of the pack's grammars.
pub(super) struct PackRule {
    pub(super) info: RuleInfo,
    pub(super) literals: Vec<String>,
    pub(super) on: On,
    pub(super) paths: PathFilter,
    grammars: Vec<Grammar>,
    fix: Option<String>,
    source: RuleSource,
}

pub(super) struct Pack {
    name: String,
    grammars: Vec<Grammar>,
    rules: Vec<PackRule>,
    compiled: Vec<OnceLock<Result<RuleSet, RuleError>>>,
}

/// All rules: read once, compiled for a grammar when the first text of it turns up.
pub struct Packs {
    list: Vec<Pack>,
    hash: String,
    off: Vec<String>,
}

impl Packs {
    /// The rules that came with the program.
    pub fn built_in() -> Result<Self, RuleError> {
        Self::read(super::PACKS)
    }

    /// The built-in packs, some of them replaced by the user's, and others beside them: names (`python`, `python-house`) and texts. What comes
    /// before a dash is the pack or the language whose files it is for.
    ///
    /// Every rule of theirs is compiled at once, so that a fault in one is told before anything is looked at.
    pub fn with_overrides(overrides: &[(String, String)]) -> Result<Self, RuleError> {
        let built_in = super::PACKS;
        let own = |name: &str| overrides.iter().find(|(own, _)| own == name).map(|(_, text)| text.as_str());
        let replaced = built_in.iter().map(|pack| PackSource { text: own(pack.name).unwrap_or(pack.text), ..*pack });
        let mut sources: Vec<PackSource<'_>> = replaced.collect();
        for (name, text) in overrides.iter().filter(|(name, _)| built_in.iter().all(|pack| pack.name != name)) {
            let language = name.split_once('-').map_or(name.as_str(), |(language, _)| language);
            let like = built_in.iter().find(|pack| pack.name == language).map(|pack| pack.grammars);
            let alone = || Grammar::ALL.iter().find(|grammar| grammar.word() == language).map(std::slice::from_ref);
            let grammars = like.or_else(alone).ok_or_else(|| RuleError::NoLanguage {
                name: name.clone(),
                known: built_in.iter().map(|pack| pack.name).collect::<Vec<_>>().join(", "),
            })?;
            let paths = built_in.iter().find(|pack| pack.name == language).map_or(&[][..], |pack| pack.paths);
            sources.push(PackSource { name, grammars, paths, text });
        }
        let packs = Self::read(&sources)?;
        for pack in packs.list.iter().filter(|pack| own(&pack.name).is_some()) {
            for grammar in &pack.grammars {
                if let Some(Err(error)) = pack.compiled(*grammar) {
                    return Err(error.clone());
                }
            }
        }
        Ok(packs)
    }

    pub(super) fn read(sources: &[PackSource<'_>]) -> Result<Self, RuleError> {
        let mut hasher = Sha256::new();
        let mut packs = Vec::with_capacity(sources.len());
        for source in sources {
            for part in [source.name, source.text] {
                hasher.update((part.len() as u64).to_le_bytes());
                hasher.update(part);
            }
            packs.push(Pack::read(source)?);
        }
        // What a check looks for is code, and changes with the program.
        hasher.update(env!("CARGO_PKG_VERSION"));
        for info in CHECKS.iter().map(|check| check.info()).chain(impact::infos()) {
            for part in [info.name, info.title, info.message] {
                hasher.update((part.len() as u64).to_le_bytes());
                hasher.update(part);
            }
        }
        Ok(Self { list: packs, hash: hex(&hasher.finalize()), off: Vec::new() })
    }

    /// The same rules but for those that `off` names: rules (`rust/a-rule`) or whole packs (`rust`).
    pub fn without(mut self, off: &[String]) -> Result<Self, RuleError> {
        let unknown = off.iter().find(|name| !self.rules().any(|rule| names(name, &rule.name)));
        match unknown {
            Some(name) => Err(RuleError::NoSuchRule(name.clone(), "guard-across-await")),
            None => {
                self.off = off.to_vec();
                Ok(self)
            }
        }
    }

    /// Whether a rule was switched off.
    pub(super) fn is_off(&self, rule: &str) -> bool {
        self.off.iter().any(|name| names(name, rule))
    }

    /// Changes whenever a rule does: 64 hexadecimal digits.
    pub fn hash(&self) -> &str {
        &self.hash
    }

    /// Every rule, packs first, then the checks that know no language.
    pub fn rules(&self) -> impl Iterator<Item = RuleInfo> {
        let of_packs = self.list.iter().flat_map(|pack| pack.rules.iter().map(|rule| rule.info.clone()));
        let beyond = impact::infos().map(CheckInfo::owned);
        of_packs.chain(CHECKS.iter().map(|check| check.info().owned())).chain(beyond)
    }

    /// The packs for a grammar, by their place in the list.
    pub(super) fn of(&self, grammar: Grammar) -> impl Iterator<Item = (usize, &Pack)> {
        self.list.iter().enumerate().filter(move |(_, pack)| pack.grammars.contains(&grammar))
    }

    pub(super) fn pack(&self, index: usize) -> Option<&Pack> {
        self.list.get(index)
    }
}

/// The grammars that a rule is for.
fn grammars_of(rule: &str, named: &[String], all: &[Grammar]) -> Result<Vec<Grammar>, RuleError> {
    if named.is_empty() {
        return Ok(all.to_vec());
    }
    let of = |language: &String| {
        all.iter().copied().find(|grammar| grammar.word() == language).ok_or_else(|| RuleError::Language {
            rule: rule.to_owned(),
            language: language.clone(),
            known: all.iter().map(|grammar| grammar.word()).collect::<Vec<_>>().join(", "),
        })
    };
    named.iter().map(of).collect()
}

/// The files that a rule is for: those of its pack, and of them those that it names.
fn paths_of(rule: &str, of_pack: &[&str], own: &[String]) -> Result<PathFilter, RuleError> {
    let of_pack: Vec<String> = of_pack.iter().map(|glob| (*glob).to_owned()).collect();
    let filter = PathFilter::new(&of_pack, &[]).and_then(|filter| filter.narrowed(own));
    filter.map_err(|source| RuleError::Paths { rule: rule.to_owned(), source })
}

/// Whether `name` is that of the rule or of its pack.
fn names(name: &str, rule: &str) -> bool {
    rule == name || rule.split_once('/').is_some_and(|(pack, _)| pack == name)
}

impl Pack {
    fn read(source: &PackSource<'_>) -> Result<Self, RuleError> {
        let fault = |fault| RuleError::Pack { pack: source.name.to_owned(), source: fault };
        let mut rules: Vec<PackRule> = Vec::new();
        for document in documents::<Document>(source.text).map_err(fault)? {
            let name = format!("{}/{}", source.name, document.id);
            if let Some((key, _)) = document.unknown.iter().next() {
                return Err(RuleError::UnknownKey { rule: name, key: key.clone() });
            }
            if rules.iter().any(|rule| rule.info.name == name) {
                return Err(RuleError::Twice(name));
            }
            let info = RuleInfo {
                name,
                title: document.title.trim().to_owned(),
                message: document.message.trim().to_owned(),
                severity: document.severity,
                category: document.category,
                cwe: document.cwe.clone(),
                skips_tests: document.tests == Tests::Skip,
            };
            let grammars = grammars_of(&info.name, &document.languages, source.grammars)?;
            let paths = paths_of(&info.name, source.paths, &document.paths)?;
            let Document { literals, on, fix, source, .. } = document;
            rules.push(PackRule { info, literals, on, paths, grammars, fix, source });
        }
        let compiled = source.grammars.iter().map(|_| OnceLock::new()).collect();
        Ok(Self { name: source.name.to_owned(), grammars: source.grammars.to_vec(), rules, compiled })
    }

    pub(super) fn rules(&self) -> &[PackRule] {
        &self.rules
    }

    /// Its rules compiled for `grammar`; `None` when it is not for that grammar.
    pub(super) fn compiled(&self, grammar: Grammar) -> Option<&Result<RuleSet, RuleError>> {
        let place = self.grammars.iter().position(|own| *own == grammar)?;
        Some(self.compiled.get(place)?.get_or_init(|| {
            let sources = self.rules.iter().map(|rule| {
                let is_for = rule.grammars.contains(&grammar);
                is_for.then_some((&rule.source, rule.fix.as_deref()))
            });
            RuleSet::compile(grammar, sources).map_err(|source| RuleError::Pack { pack: self.name.clone(), source })
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &'static str) -> Result<Packs, RuleError> {
        Packs::read(&[PackSource { name: "p", grammars: &[Grammar::Rust], paths: &[], text }])
    }

    const RULE: &str = "id: a\ntitle: t\nmessage: m\nseverity: low\ncategory: logic\nrule: {pattern: 'a()'}\n";

    #[test]
    fn every_built_in_rule_compiles_for_every_grammar_of_its_pack() {
        let packs = Packs::built_in().unwrap();
        for pack in &packs.list {
            for grammar in &pack.grammars {
                if let Err(error) = pack.compiled(*grammar).unwrap() {
                    panic!("{error}");
                }
            }
        }
    }

    #[test]
    fn a_rule_or_a_pack_can_be_switched_off() {
        let packs = Packs::built_in().unwrap().without(&["general".to_owned()]).unwrap();
        assert!(packs.is_off("general/secret-added"));
        assert!(!packs.is_off("rust/a"));
        let unknown = Packs::built_in().unwrap().without(&["general/no-such-rule".to_owned()]);
        assert!(matches!(unknown, Err(RuleError::NoSuchRule(..))));
    }

    #[test]
    fn packs_are_replaced_and_added_by_their_names() {
        let with = |packs: &[(&str, &str)]| {
            let packs: Vec<_> = packs.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
            Packs::with_overrides(&packs)
        };
        let has = |packs: &Packs, rule: &str| packs.rules().any(|known| known.name == rule);
        assert_eq!(with(&[]).unwrap().hash(), Packs::built_in().unwrap().hash());
        let packs = with(&[("go", RULE), ("javascript-house", RULE), ("tsx", RULE)]).unwrap();
        assert!(has(&packs, "go/a") && has(&packs, "javascript-house/a") && has(&packs, "tsx/a"));
        assert!(has(&packs, "python/mutable-default"));
        assert!(packs.rules().filter(|rule| rule.name.starts_with("go/")).count() == 1, "the built-in pack is gone");
        let of = |grammar| packs.of(grammar).map(|(_, pack)| pack.name.as_str()).collect::<Vec<_>>();
        assert!(of(Grammar::TypeScript).contains(&"javascript-house"));
        let fault = with(&[("house", RULE)]).err().unwrap().to_string();
        assert!(fault.contains("house.yml") && fault.contains("python-house.yml"), "{fault}");
        let broken = RULE.replace("pattern: 'a()'", "kind: no_such_kind");
        assert!(matches!(with(&[("python-house", &broken)]), Err(RuleError::Pack { .. })));
    }

    #[test]
    fn every_built_in_rule_has_its_words() {
        for rule in Packs::built_in().unwrap().rules() {
            assert!(!rule.title.contains('\n') && rule.title.len() < 100, "{}", rule.name);
            assert!(!rule.title.ends_with('.') && rule.message.ends_with('.'), "{}", rule.name);
            assert!(rule.name.split('/').all(|part| !part.is_empty()), "{}", rule.name);
        }
    }

    #[test]
    fn the_hash_follows_the_rules() {
        assert_eq!(read(RULE).unwrap().hash().len(), 64);
        assert_ne!(read(RULE).unwrap().hash(), read("").unwrap().hash());
    }

    #[test]
    fn a_pack_that_is_none_is_refused_by_name() {
        let twice = Box::leak(format!("{RULE}---\n{RULE}").into_boxed_str());
        assert_eq!(read(twice).err(), Some(RuleError::Twice("p/a".to_owned())));
        let odd = Box::leak(format!("{RULE}sverity: low\n").into_boxed_str());
        assert_eq!(read(odd).err(), Some(RuleError::UnknownKey { rule: "p/a".to_owned(), key: "sverity".to_owned() }));
        assert!(matches!(read("id: a\n"), Err(RuleError::Pack { .. })));
    }
}
