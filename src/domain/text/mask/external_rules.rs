//! Formats from a rule set that others keep (the crate `nosecrets-rules`), as far as they can be trusted with masking. Main type: [`ExternalSecretRule`].
//!
//! Taken is a rule whose every match begins with one of a few telling texts, in one spelling: only those can be looked for without reading a text
//! once a rule, and without masking what merely stands near a word. Its value must be as random as that of our own formats, and a rule for a text
//! that we know ourselves is left out. Its severities and its fingerprints, which are plain hashes of secrets, are not used.

use std::sync::{LazyLock, OnceLock};

use nosecrets_rules::{Rule, load_builtin_rules};
use regex::Regex;
use regex_syntax::hir::literal::Extractor;

use super::SecretHit;
use super::context::PLACED;
use super::detector::Detector;
use super::edges::masked_range;
use super::patterns::REACH;
use super::providers::PROVIDERS;
use super::values::{entropy, is_placeholder_key};

/// A shorter text at the beginning tells too little.
const TELLING: usize = 4;
/// Maximum number of prefixes of a rule.
const MOST_WORDS: usize = 8;

/// A rule of the kept set.
pub(super) struct ExternalSecretRule {
    rule: Rule,
    words: Vec<String>,
    /// Its pattern where the word stands, and what it lets pass; compiled when a word turns up.
    compiled: OnceLock<Option<(Regex, Vec<Regex>)>>,
}

/// The rules that are taken. A set that cannot be read is empty; a test says so before anybody else can.
pub(super) static KEPT: LazyLock<Vec<ExternalSecretRule>> =
    LazyLock::new(|| load_builtin_rules().unwrap_or_default().into_iter().filter_map(ExternalSecretRule::of).collect());

impl ExternalSecretRule {
    fn of(rule: Rule) -> Option<Self> {
        let words = words_of(&rule.pattern)?;
        let formats = || PROVIDERS.iter().flat_map(|pattern| pattern.words);
        let blocks = PLACED.iter().filter(|pattern| pattern.kind == "private-key").flat_map(|pattern| pattern.words);
        let ours: Vec<&str> = formats().chain(blocks).copied().collect();
        let is_known = |word: &String| ours.iter().any(|own| word.contains(own) || own.contains(word.as_str()));
        let is_named = !rule.id.is_empty()
            && rule.id.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
        (is_named && !words.iter().any(is_known)).then(|| Self { rule, words, compiled: OnceLock::new() })
    }

    fn compile(&self) -> Option<(Regex, Vec<Regex>)> {
        let regex = Regex::new(&format!(r"\A(?:{})", self.rule.pattern)).ok()?;
        let allowed = self.rule.allow.iter().flat_map(|allow| &allow.patterns);
        Some((regex, allowed.filter_map(|pattern| Regex::new(pattern).ok()).collect()))
    }
}

impl Detector for ExternalSecretRule {
    fn words(&self) -> Vec<&str> {
        self.words.iter().map(String::as_str).collect()
    }

    fn find(&'static self, text: &str, at: usize, hits: &mut Vec<SecretHit>) {
        let Some((regex, allowed)) = self.compiled.get_or_init(|| self.compile()) else { return };
        let reach = &text[at..text.floor_char_boundary(at + REACH)];
        let Some(secret) = regex.captures(reach).and_then(|groups| groups.get(self.rule.capture)) else { return };
        let value = secret.as_str();
        let is_shown = is_placeholder_key(value) || allowed.iter().any(|allowed| allowed.is_match(value));
        if !value.contains('\n')
            && entropy(value) >= 3.0
            && !is_shown
            && let Some(range) = masked_range(text, at, at + secret.start()..at + secret.end())
        {
            hits.push(SecretHit { kind: &self.rule.id, range });
        }
    }
}

/// The texts with which every match of a pattern begins; `None` where they are too many, too short, or differ in case.
fn words_of(pattern: &str) -> Option<Vec<String>> {
    if pattern.contains("(?i") {
        return None;
    }
    let hir = regex_syntax::parse(pattern).ok()?;
    let mut extractor = Extractor::new();
    extractor.limit_class(5).limit_total(MOST_WORDS);
    let prefixes = extractor.extract(&hir);
    let words: Option<Vec<String>> = prefixes
        .literals()?
        .iter()
        .map(|literal| {
            std::str::from_utf8(literal.as_bytes()).ok().filter(|word| word.len() >= TELLING).map(str::to_owned)
        })
        .collect();
    words.filter(|words| !words.is_empty() && words.len() <= MOST_WORDS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_set_is_read_and_precise_rules_are_taken_of_it() {
        assert!(load_builtin_rules().unwrap().len() > KEPT.len());
        let kinds: Vec<_> = KEPT.iter().map(|kept| kept.rule.id.as_str()).collect();
        for kind in ["digitalocean-token", "discord-webhook", "flyio-access-token"] {
            assert!(kinds.contains(&kind), "{kinds:?}");
        }
        for kept in KEPT.iter() {
            assert!(
                kept.compile().is_some_and(|(regex, _)| regex.captures_len() > kept.rule.capture),
                "{}",
                kept.rule.id
            );
        }
    }

    #[test]
    fn a_rule_without_a_telling_beginning_is_not_taken() {
        for pattern in ["(?i)vercel.{0,20}([a-z]{20})", "[MN][a-z]{20}", "SK[a-f0-9]{32}", "(", ".*key-x"] {
            assert_eq!(words_of(pattern), None, "{pattern}");
        }
        assert_eq!(words_of(r"\b(fm1[ar]_[a-z]{20}|fo1_x)").unwrap(), ["fm1a_", "fm1r_", "fo1_x"]);
    }
}
