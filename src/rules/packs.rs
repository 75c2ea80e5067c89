//! All rules: the built-in packs, those of files, and the settings applied to them. Main type: [`Packs`].
//!
//! One pack is in `pack`, its errors in `fault`, the presentation of rules in `rule_doc`.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use sha2::{Digest as _, Sha256};

use super::checks::{CHECKS, CheckInfo};
use super::document::split_documents;
use super::fault::{PackFault, PackPlace, RuleError, closest_name};
use super::impact;
use super::pack::{BUILT_IN, OF_PROJECT, Pack, PackFile};
use super::recorded_hits::{self, is_fact, is_unproven};
use crate::domain::claim::Claim;
use crate::domain::finding::{Confidence, Severity};
use crate::domain::id::{hash_part, hex};
use crate::domain::path::RepoPath;
use crate::domain::rule_info::{PackOwner, RuleInfo};
use crate::syntax::{Grammar, ParserProbe, TreeCache};

/// Maximum number of rules, and of regexes, in all files of a project together.
const MOST_RULES: usize = 200;
const MOST_REGEXES: usize = 400;

/// Rules of earlier versions that are gone because they found nothing on real code, only what was meant, or only what every build finds.
/// Settings that name them stay valid.
const REMOVED: &str = include_str!("removed_rules.txt");

/// All rules. A pack is parsed when its rules are first needed, and compiled for a grammar when the first text of it turns up.
pub struct Packs {
    pub(super) list: Vec<Arc<Pack>>,
    hash: String,
    off: Vec<String>,
    all_lines: bool,
    hints: bool,
    severities: Vec<(String, Severity)>,
    /// `true` if checks (rules written in Rust) are excluded.
    is_alone: bool,
    probe: Option<Arc<ParserProbe>>,
}

impl Packs {
    /// The built-in rules.
    pub fn built_in() -> Result<Self, RuleError> {
        Self::with(&[])
    }

    /// The built-in rules plus those of files, which may replace built-in packs. Files are parsed and compiled at once, so that errors in
    /// them are reported before anything is reviewed.
    pub fn with(files: &[PackFile]) -> Result<Self, RuleError> {
        let own = |name: &str| files.iter().find(|file| file.owner == PackOwner::User && file.stem == name);
        let is_built_in = |name: &str| super::PACKS.iter().any(|pack| pack.name == name);
        let mut list: Vec<Arc<Pack>> = Vec::with_capacity(BUILT_IN.len() + files.len());
        for pack in BUILT_IN.iter() {
            list.push(
                own(&pack.name).map_or_else(|| Ok(Arc::clone(pack)), |file| Pack::from_file(file).map(Arc::new))?,
            );
        }
        let is_beside = |file: &&PackFile| match own(&file.stem) {
            // Of two files with one name, the second is reported as the duplicate.
            Some(first) => file.owner == PackOwner::Project || !is_built_in(&file.stem) || !std::ptr::eq(first, *file),
            None => true,
        };
        let beside = files.iter().filter(is_beside).map(|file| Pack::from_file(file).map(Arc::new));
        list.extend(beside.collect::<Result<Vec<_>, _>>()?);
        Self::of(list)
    }

    /// The rules of files only.
    pub fn only(files: &[PackFile]) -> Result<Self, RuleError> {
        Ok(Self {
            is_alone: true,
            ..Self::of(files.iter().map(|file| Pack::from_file(file).map(Arc::new)).collect::<Result<_, _>>()?)?
        })
    }

    fn of(list: Vec<Arc<Pack>>) -> Result<Self, RuleError> {
        let hash = hash_of(&list, recorded_hits::TABLE);
        let packs = Self {
            list,
            hash,
            off: Vec::new(),
            all_lines: false,
            hints: true,
            severities: Vec::new(),
            is_alone: false,
            probe: None,
        };
        packs.check_files()?;
        Ok(packs)
    }

    /// Parses and compiles the packs that are not built in, within the limits for a repository.
    fn check_files(&self) -> Result<(), RuleError> {
        let (mut rules, mut regexes) = (0, 0);
        let mut known: HashMap<&str, PackPlace> = HashMap::new();
        for pack in self.list.iter().filter(|pack| pack.from.is_some()) {
            if pack.is_project() {
                let chunks = split_documents(&pack.text);
                rules += chunks.len();
                for chunk in &chunks {
                    regexes += chunk.check_bounds(pack.file(), &pack.name)?;
                    for (count, what, most) in [(rules, "rules", MOST_RULES), (regexes, "regexes", MOST_REGEXES)] {
                        if count > most {
                            return Err(chunk.fault(pack.file(), &pack.name, PackFault::TooMany { what, most }));
                        }
                    }
                }
            }
            pack.read()?;
            for rule in pack.rules() {
                let place = PackPlace { file: pack.file().to_owned(), line: rule.line, column: None };
                if let Some(first) = known.insert(&rule.info.name, place.clone()) {
                    let (rule, fault) = (Some(rule.info.name.clone()), PackFault::Twice { first });
                    return Err(RuleError::Pack { place, rule, fault: Box::new(fault) });
                }
            }
            pack.check()?;
        }
        Ok(())
    }

    /// Removes the rules that `off` names: rules (`rust/a-rule`) or whole packs (`rust`).
    pub fn without(mut self, off: &[String]) -> Result<Self, RuleError> {
        off.iter().try_for_each(|name| self.must_know("rules.off", name))?;
        self.off = off.to_vec();
        Ok(self)
    }

    /// Overrides severities by names of rules or packs. A rule's entry takes precedence over its pack's, and later entries over earlier
    /// ones.
    pub fn with_severities(mut self, severities: &[(String, Severity)]) -> Result<Self, RuleError> {
        severities.iter().try_for_each(|(name, _)| self.must_know("rules.severity", name))?;
        if !severities.is_empty() {
            let mut hasher = Sha256::new();
            hasher.update(&self.hash);
            for (name, severity) in severities {
                for part in [name.as_str(), severity.word()] {
                    hash_part(&mut hasher, part);
                }
            }
            self.hash = hex(&hasher.finalize());
        }
        self.severities = severities.to_vec();
        Ok(self)
    }

    /// Checks whether a rule or pack of that name exists. Rules of projects are always accepted: each project has others, and a user's
    /// settings apply to all projects.
    pub fn knows(&self, name: &str) -> bool {
        let is_projects = name == OF_PROJECT || name.starts_with("project/");
        is_projects || REMOVED.lines().any(|removed| removed == name) || self.index().any(|(rule, _)| names(name, rule))
    }

    fn must_know(&self, setting: &'static str, name: &str) -> Result<(), RuleError> {
        if self.knows(name) {
            return Ok(());
        }
        let known = self.names();
        let near = closest_name(name, known.iter().map(String::as_str)).map(str::to_owned);
        Err(RuleError::NoSuchRule { setting, name: name.to_owned(), near })
    }

    /// Sets a probe that parses texts on trial first.
    #[must_use]
    pub fn with_probe(mut self, probe: Option<Arc<ParserProbe>>) -> Self {
        self.probe = probe;
        self
    }

    /// Creates the tree cache of a run with these rules.
    pub fn trees(&self) -> TreeCache {
        TreeCache::with_probe(self.probe.clone())
    }

    /// Also report pre-existing matches in the files that the change touches.
    #[must_use]
    pub fn with_all_lines(mut self, all_lines: bool) -> Self {
        if all_lines && !self.all_lines {
            self.hash = hex(&Sha256::digest(format!("{} on all lines", self.hash)));
        }
        self.all_lines = all_lines || self.all_lines;
        self
    }

    /// If `hints` is false, hints are reported only to a model.
    #[must_use]
    pub fn with_hints(mut self, hints: bool) -> Self {
        self.hints = hints && self.hints;
        self
    }

    /// `true` if hints are reported without a model.
    pub fn reports_hints(&self) -> bool {
        self.hints
    }

    /// `true` if pre-existing matches are reported.
    pub(super) fn reports_all_lines(&self) -> bool {
        self.all_lines
    }

    /// `true` if a rule is switched off.
    pub fn is_off(&self, rule: &str) -> bool {
        self.off.iter().any(|name| names(name, rule))
    }

    /// The severity that the settings give a rule, if any.
    pub(super) fn severity_of(&self, rule: &str) -> Option<Severity> {
        let last = |is_it: &dyn Fn(&str) -> bool| self.severities.iter().rfind(|(name, _)| is_it(name));
        let said = last(&|name| name == rule).or_else(|| last(&|name| names(name, rule)));
        said.map(|(_, severity)| *severity)
    }

    /// Applies the settings to a claim of a rule: `None` if the rule is off, otherwise with the configured severity.
    pub(super) fn apply_settings(&self, claim: Claim) -> Option<Claim> {
        let rule = &claim.origin.name;
        let is_of_code = rule.starts_with("python/") || rule.starts_with("impact/");
        let most = if is_of_code && is_copied(&claim.place.path) { Severity::Medium } else { Severity::Critical };
        let severity = self.severity_of(rule).unwrap_or(claim.severity.max(most));
        (!self.is_off(rule)).then_some(Claim { severity, ..claim })
    }

    /// The confidence of a match: a hint, unless the settings give the rule a severity, which counts as a request for it.
    pub(super) fn confidence(&self, rule: &RuleInfo, is_hint: bool) -> Option<Confidence> {
        self.is_unsure(&rule.name, is_hint || rule.is_hint).then_some(Confidence::HINT)
    }

    /// `true` if a match of this rule that is a hint stays one.
    pub(super) fn is_unsure(&self, rule: &str, is_hint: bool) -> bool {
        let is_asked_for = || self.severities.iter().any(|(name, _)| name == rule);
        is_hint && !is_asked_for() && !is_fact(rule)
    }

    /// The rules whose silence means that nothing is there: neither switched off nor unreported hints. Parses no built-in pack.
    pub fn enabled_rules(&self) -> impl Iterator<Item = String> {
        let is_heard = |name: &str, is_hint: bool| self.hints || !self.is_unsure(name, is_hint);
        self.index()
            .filter(move |(name, is_hint)| !self.is_off(name) && is_heard(name, *is_hint))
            .map(|(name, _)| name.to_owned())
    }

    /// The name of every rule, and `true` if it is a hint, in the order of [`rules`](Self::rules). Parses no built-in pack.
    fn index(&self) -> impl Iterator<Item = (&str, bool)> {
        let of_packs = self.list.iter().flat_map(|pack| pack.index());
        let of_packs = of_packs.map(|entry| (entry.name.as_str(), entry.is_hint));
        of_packs.chain(self.checks().map(|info| (info.name, is_unproven(info.name))))
    }

    /// Changes whenever a rule or its severity does: 64 hexadecimal digits.
    pub fn hash(&self) -> &str {
        &self.hash
    }

    /// Every rule, packs first, then the language-independent checks, with the severities of the settings.
    pub fn rules(&self) -> impl Iterator<Item = RuleInfo> {
        self.custom_rules()
            .map(|info| RuleInfo { severity: self.severity_of(&info.name).unwrap_or(info.severity), ..info })
    }

    /// Every rule with its own severity. Parses every pack; a review needs only the index.
    pub(super) fn custom_rules(&self) -> impl Iterator<Item = RuleInfo> {
        let of_packs = self.list.iter().flat_map(|pack| pack.rules().map(|rule| rule.info.clone()));
        of_packs.chain(self.checks().map(CheckInfo::to_rule_info))
    }

    /// The checks.
    fn checks(&self) -> impl Iterator<Item = &'static CheckInfo> {
        let all = CHECKS.iter().map(|check| check.info).chain(impact::infos());
        all.filter(|_| !self.is_alone)
    }

    /// The names of all rules. Parses no built-in pack.
    pub fn names(&self) -> Vec<String> {
        self.index().map(|(name, _)| name.to_owned()).collect()
    }

    /// The packs for a grammar, with their indices.
    pub(super) fn packs_for(&self, grammar: Grammar) -> impl Iterator<Item = (usize, &Pack)> {
        let all = self.list.iter().map(Arc::as_ref).enumerate();
        all.filter(move |(_, pack)| pack.grammars.contains(&grammar))
    }

    /// `true` if any rule may be about removed code.
    pub(super) fn has_removed(&self) -> bool {
        // Parsing every pack to find out would slow down each start.
        self.list.iter().any(|pack| pack.text.contains("removed"))
    }

    pub(super) fn pack(&self, index: usize) -> Option<&Pack> {
        self.list.get(index).map(Arc::as_ref)
    }
}

/// Hashes everything that decides which rules there are and what they claim: 64 hexadecimal digits. `hits` is the table of recorded hits,
/// which limits severities and makes hints.
fn hash_of(list: &[Arc<Pack>], hits: &str) -> String {
    // The built-in packs nearly always come first, and their texts are long.
    static BUILT_IN_HASHER: LazyLock<Sha256> = LazyLock::new(|| hashed(Sha256::new(), &BUILT_IN));
    let is_usual =
        list.iter().zip(BUILT_IN.iter()).filter(|(pack, own)| Arc::ptr_eq(pack, own)).count() == BUILT_IN.len();
    let mut hasher = if is_usual {
        hashed(BUILT_IN_HASHER.clone(), list.get(BUILT_IN.len()..).unwrap_or_default())
    } else {
        hashed(Sha256::new(), list)
    };
    // Checks are code, and change with the program.
    hasher.update(env!("CARGO_PKG_VERSION"));
    let infos = CHECKS.iter().map(|check| check.info).chain(impact::infos());
    for part in infos.flat_map(|info| [info.name, info.title, info.message]).chain([hits]) {
        hash_part(&mut hasher, part);
    }
    hex(&hasher.finalize())
}

/// Adds the names and the texts of packs to a hash.
fn hashed(mut hasher: Sha256, packs: &[Arc<Pack>]) -> Sha256 {
    for part in packs.iter().flat_map(|pack| [pack.name.as_str(), pack.stem.as_str(), &*pack.text]) {
        hash_part(&mut hasher, part);
    }
    hasher
}

/// Checks whether `name` names the rule or its pack.
pub(super) fn names(name: &str, rule: &str) -> bool {
    rule == name || rule.split_once('/').is_some_and(|(pack, _)| pack == name)
}

/// Folders at the top of a Python program into which it copies the libraries that it uses.
const COPIED: [&str; 4] = ["lib", "libs", "ext", "vendor"];

/// Checks whether a file belongs to a library that was copied into a Python program: a defect there is true, and others have to mend it.
fn is_copied(path: &RepoPath) -> bool {
    let name = path.display_name();
    let (top, rest) = name.split_once('/').unwrap_or(("", &name));
    path.extension() == Some("py") && COPIED.contains(&top) && rest.contains('/')
}

#[cfg(test)]
mod tests {
    use super::super::synthetic_change::SyntheticChange;
    use super::*;

    fn file(owner: PackOwner, stem: &str, text: &str) -> PackFile {
        let file = format!("{stem}.yml");
        PackFile { owner, file, stem: stem.to_owned(), text: text.to_owned() }
    }

    fn user(stem: &str, text: &str) -> PackFile {
        file(PackOwner::User, stem, text)
    }

    fn project(stem: &str, text: &str) -> PackFile {
        file(PackOwner::Project, stem, text)
    }

    fn fault(files: &[PackFile]) -> String {
        Packs::with(files).err().map(|error| error.to_string()).unwrap_or_default()
    }

    fn has(packs: &Packs, rule: &str) -> bool {
        packs.rules().any(|known| known.name == rule)
    }

    #[test]
    fn what_is_wrong_in_a_copied_library_is_of_medium_severity() {
        let severity = |path: &str| {
            let text = "def age(value):\n    raise \"negative\"\n";
            SyntheticChange::default().now(path, text).review().claims[0].severity
        };
        assert_eq!((severity("lib/mapi/util.py"), severity("libs/util.py")), (Severity::Medium, Severity::High));
        assert_eq!(severity("app/lib/mapi/util.py"), Severity::High);
    }

    #[test]
    fn a_removed_rule_is_known_and_not_there() {
        let packs = Packs::built_in().unwrap();
        for rule in REMOVED.lines() {
            assert!(
                packs.knows(rule) && !has(&packs, rule) && !packs.names().iter().any(|known| known == rule),
                "{rule}"
            );
        }
    }

    const RULE: &str = "id: a\ntitle: t\nmessage: m\nseverity: low\ncategory: logic\nrule: {pattern: 'a()'}\n";

    #[test]
    fn every_built_in_rule_compiles_for_every_grammar_of_its_pack() {
        let packs = Packs::built_in().unwrap();
        for pack in &packs.list {
            if let Err(error) = pack.read() {
                panic!("{error}");
            }
            for grammar in &pack.grammars {
                if let Err(error) = pack.compiled(*grammar, &|_| true).unwrap() {
                    panic!("{error}");
                }
            }
        }
    }

    #[test]
    fn names_are_known_without_reading_a_pack() {
        let packs = Packs::with(&[user("python-house", RULE), project("go", RULE)]).unwrap();
        assert_eq!(packs.names(), packs.rules().map(|rule| rule.name).collect::<Vec<_>>());
    }

    #[test]
    fn the_index_says_what_the_parsed_packs_say() {
        let hint = RULE.replace("category", "'hint': true\ncategory");
        let packs = Packs::with(&[user("python-house", &hint), project("go", RULE)]).unwrap();
        let parsed: Vec<_> = packs.custom_rules().map(|info| (info.name, info.is_hint)).collect();
        let index: Vec<_> = packs.index().map(|(name, is_hint)| (name.to_owned(), is_hint)).collect();
        assert_eq!(index, parsed);
        assert!(index.contains(&("python-house/a".to_owned(), true)), "whichever way its author wrote it");
    }

    #[test]
    fn what_a_review_asks_of_all_rules_parses_no_built_in_pack() {
        let fresh: Vec<_> = BUILT_IN.iter().map(|pack| Arc::new(pack.unread())).collect();
        let packs = Packs::of(fresh).unwrap().without(&["go".to_owned()]).unwrap();
        let packs = packs.with_severities(&[("rust".to_owned(), Severity::Low)]).unwrap().with_hints(false);
        assert!(packs.enabled_rules().count() > 100 && packs.has_removed());
        assert!(packs.list.iter().all(|pack| pack.parsed_rules() == 0));
    }

    #[test]
    fn a_rule_or_a_pack_can_be_switched_off() {
        let packs = Packs::built_in().unwrap().without(&["general".to_owned()]).unwrap();
        assert!(packs.is_off("general/secret-added"));
        assert!(!packs.is_off("rust/a"));
        let off = |name: &str| Packs::built_in().unwrap().without(&[name.to_owned()]);
        let unknown = off("general/secret-aded").err().unwrap().to_string();
        assert!(unknown.starts_with("rules.off names \"general/secret-aded\""), "{unknown}");
        assert!(unknown.contains("did you mean general/secret-added?"), "{unknown}");
        assert!(off("project/of-another-one").is_ok() && off("project").is_ok(), "each project has others");
    }

    #[test]
    fn a_severity_is_set_for_a_rule_before_its_pack_and_by_the_last_word() {
        let said = |name: &str, severity| (name.to_owned(), severity);
        let plain = Packs::built_in().unwrap();
        let own = plain.rules().find(|rule| rule.name == "general/secret-added").unwrap().severity;
        let graded = |severities: &[(String, Severity)]| Packs::built_in().unwrap().with_severities(severities);
        let packs = graded(&[said("general/secret-added", Severity::Low), said("general", Severity::Nit)]).unwrap();
        let severity = |packs: &Packs, name: &str| packs.rules().find(|rule| rule.name == name).unwrap().severity;
        assert_ne!(own, Severity::Low);
        assert_eq!(severity(&packs, "general/secret-added"), Severity::Low);
        assert_eq!(severity(&packs, "general/conflict-marker"), Severity::Nit);
        assert_ne!(packs.hash(), plain.hash());
        assert_eq!(graded(&[]).unwrap().hash(), plain.hash());
        let packs = graded(&[said("general", Severity::Nit), said("general", Severity::Low)]).unwrap();
        assert_eq!(severity(&packs, "general/conflict-marker"), Severity::Low);
        assert!(graded(&[said("rust/no-such-rule", Severity::Low)]).is_err());
    }

    #[test]
    fn a_users_packs_replace_and_stand_beside_by_their_names() {
        let packs = Packs::with(&[user("go", RULE), user("javascript-house", RULE), user("tsx", RULE)]).unwrap();
        assert!(has(&packs, "go/a") && has(&packs, "javascript-house/a") && has(&packs, "tsx/a"));
        assert!(has(&packs, "python/mutable-default"));
        assert!(packs.rules().filter(|rule| rule.name.starts_with("go/")).count() == 1, "the built-in pack is gone");
        let of = |grammar| packs.packs_for(grammar).map(|(_, pack)| pack.name.as_str()).collect::<Vec<_>>();
        assert!(of(Grammar::TypeScript).contains(&"javascript-house"));
        let any = RULE.replace("rule:", "languages: [go, rust]\nrule:");
        assert!(has(&Packs::with(&[user("house", &any)]).unwrap(), "house/a"));
        assert_eq!(
            fault(&[user("house", RULE)]),
            "house.yml:1: rule house/a: it does not say which language it is for: add languages: [...] (rust, python, javascript, \
             typescript, tsx, go, java, c, cpp, shell, yaml), or call the file by a language, as in python-house.yml"
        );
        for taken in ["general", "project", "impact"] {
            assert!(
                fault(&[user(taken, RULE)]).starts_with(&format!("{taken}.yml: a pack of your own cannot be called"))
            );
        }
        assert!(fault(&[user("go", RULE), user("go", RULE)]).contains("go.yml:1: rule go/a: it is defined twice"));
    }

    #[test]
    fn a_projects_packs_replace_nothing_whatever_they_are_called() {
        let built_in: Vec<String> = Packs::built_in().unwrap().names();
        let packs = Packs::with(&[
            project("go", RULE),
            project("general", &RULE.replace("category", "languages: [c]\ncategory").replace("id: a", "id: b")),
        ])
        .unwrap();
        assert!(built_in.iter().all(|rule| has(&packs, rule)));
        assert!(has(&packs, "project/a") && has(&packs, "project/b"));
        let both = Packs::with(&[project("go", RULE), user("go", RULE)]).unwrap();
        assert!(has(&both, "project/a") && has(&both, "go/a"));
        assert_eq!(
            fault(&[project("go", RULE), project("rust", &format!("{RULE}---\n{}", RULE.replace("id: a", "id: c")))]),
            "rust.yml:1: rule project/a: it is defined twice, at go.yml:1 too: rename one"
        );
    }

    #[test]
    fn a_rule_that_cannot_be_matched_is_told_with_its_line() {
        let broken = RULE.replace("pattern: 'a()'", "kind: no_such_kind").replace("id: a", "id: b");
        for owner in [PackOwner::User, PackOwner::Project] {
            let told = fault(&[file(owner, "python-house", &format!("{RULE}---\n{broken}"))]);
            assert!(
                told.starts_with("python-house.yml:8: rule p") && told.contains("/b: it does not work for python: "),
                "{told}"
            );
            assert!(told.contains("no_such_kind") && !told.contains('\n'), "{told}");
        }
        let of_another = RULE.replace("category", "languages: [go]\ncategory");
        assert!(
            fault(&[user("python-house", &of_another)]).contains("languages names \"go\", which is not one of python")
        );
        let bad_glob = RULE.replace("category", "paths: ['a[']\ncategory");
        assert!(fault(&[user("go-house", &bad_glob)]).starts_with("go-house.yml:1: rule go-house/a: paths: the glob"));
    }

    #[test]
    fn a_secret_in_the_words_of_a_rule_is_masked() {
        let value = "kX9mQ2vL7pR4tW8zB3nD";
        let text = RULE.replace("message: m", &format!("message: 'password = \"{value}\"'"));
        let packs = Packs::with(&[project("go", &text)]).unwrap();
        assert!(has(&packs, "project/a"));
        assert!(!format!("{:?}", packs.rule_pages()).contains(value));
    }

    #[test]
    fn what_a_repository_holds_is_bounded() {
        let many = |count: usize| -> String {
            let rules = (0..count).map(|at| RULE.replace("id: a", &format!("id: a{at}")));
            rules.collect::<Vec<_>>().join("---\n")
        };
        assert_eq!(fault(&[project("go", &many(200))]), "");
        assert!(
            fault(&[project("go", &many(150)), project("rust", &many(51).replace("id: a", "id: b"))])
                .contains("at most 200 rules")
        );
        assert_eq!(fault(&[user("go", &many(201))]), "", "a user may have as many as there is time for");
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
        let hash = |files: &[PackFile]| Packs::with(files).unwrap().hash().to_owned();
        assert_eq!(hash(&[]).len(), 64);
        assert_eq!(hash(&[]), Packs::built_in().unwrap().hash());
        assert_ne!(hash(&[]), hash(&[user("go-house", RULE)]));
        assert_ne!(hash(&[user("go-house", RULE)]), hash(&[project("go-house", RULE)]));
    }

    #[test]
    fn the_hash_follows_the_recorded_hits() {
        let packs = Packs::built_in().unwrap();
        assert_eq!(packs.hash(), hash_of(&packs.list, recorded_hits::TABLE));
        let one_more = format!("{}go/never-seen 3 0\n", recorded_hits::TABLE);
        assert_ne!(packs.hash(), hash_of(&packs.list, &one_more), "what a rule claims would differ");
    }
}
