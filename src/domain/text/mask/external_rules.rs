//! Formats from a rule set that others keep (the crate `nosecrets-rules`), as far as they can be trusted with masking. Main type: [`ExternalSecretRule`].
//!
//! Taken is a rule whose every match begins with one of a few telling texts, in one spelling: only those can be looked for without reading a text
//! once a rule, and without masking what merely stands near a word. Its value must be as random as that of our own formats, and a rule for a text
//! that we know ourselves is left out. Its severities and its fingerprints, which are plain hashes of secrets, are not used.

use std::sync::{LazyLock, OnceLock};

use nosecrets_rules::{Rule, load_builtin_rules};
use regex::Regex;

use super::SecretHit;
use super::detector::Detector;
use super::edges::masked_range;
use super::patterns::REACH;
use super::values::{entropy, is_placeholder_key};

/// A rule of the kept set. It is read and compiled when one of its words turns up: reading the set takes longer than a search of ten thousand paths.
pub(super) struct ExternalSecretRule {
    id: &'static str,
    /// The texts with which its matches begin.
    words: &'static [&'static str],
    compiled: OnceLock<Option<CompiledSecretRule>>,
}

/// The pattern of a rule where its word stands.
struct CompiledSecretRule {
    regex: Regex,
    /// Number of its group that is the secret.
    capture: usize,
    /// Values that are none.
    allowed: Vec<Regex>,
}

/// The rules that are taken; a test compares them with the set.
pub(super) static KEPT: [ExternalSecretRule; 6] = [
    ExternalSecretRule::new("digitalocean-token", &["dop_v1_"]),
    ExternalSecretRule::new("cloudflare-origin-ca-key", &["v1.0-"]),
    ExternalSecretRule::new("flyio-access-token", &["fo1_", "fm1a_", "fm1r_", "fm2_"]),
    ExternalSecretRule::new("heroku-api-key-v2", &["HRKU-AA"]),
    ExternalSecretRule::new(
        "discord-webhook",
        &["https://discordapp.com/api/webhooks/", "https://discord.com/api/webhooks/"],
    ),
    ExternalSecretRule::new("mailgun-api-key", &["key-"]),
];

/// The set. One that cannot be read is empty; a test says so before anybody else can.
static RULES: LazyLock<Vec<Rule>> = LazyLock::new(|| load_builtin_rules().unwrap_or_default());

impl ExternalSecretRule {
    const fn new(id: &'static str, words: &'static [&'static str]) -> Self {
        Self { id, words, compiled: OnceLock::new() }
    }

    fn compile(&self) -> Option<CompiledSecretRule> {
        let rule = RULES.iter().find(|rule| rule.id == self.id)?;
        let regex = Regex::new(&format!(r"\A(?:{})", rule.pattern)).ok()?;
        let allowed = rule.allow.iter().flat_map(|allow| &allow.patterns);
        let allowed = allowed.filter_map(|pattern| Regex::new(pattern).ok()).collect();
        Some(CompiledSecretRule { regex, capture: rule.capture, allowed })
    }
}

impl Detector for ExternalSecretRule {
    fn words(&self) -> Vec<&str> {
        self.words.to_vec()
    }

    fn find(&'static self, text: &str, at: usize, hits: &mut Vec<SecretHit>) {
        let Some(rule) = self.compiled.get_or_init(|| self.compile()) else { return };
        let reach = &text[at..text.floor_char_boundary(at + REACH)];
        let Some(secret) = rule.regex.captures(reach).and_then(|groups| groups.get(rule.capture)) else { return };
        let value = secret.as_str();
        let is_shown = is_placeholder_key(value) || rule.allowed.iter().any(|allowed| allowed.is_match(value));
        if !value.contains('\n')
            && entropy(value) >= 3.0
            && !is_shown
            && let Some(range) = masked_range(text, at, at + secret.start()..at + secret.end())
        {
            hits.push(SecretHit { kind: self.id, range });
        }
    }
}

#[cfg(test)]
mod tests {
    use regex_syntax::hir::literal::Extractor;

    use super::super::context::PLACED;
    use super::super::providers::PROVIDERS;
    use super::*;

    /// A shorter text at the beginning tells too little.
    const TELLING: usize = 4;
    /// Maximum number of prefixes of a rule.
    const MOST_WORDS: usize = 8;

    /// Returns the words of a rule; `None` if it is not taken.
    fn words(rule: &Rule) -> Option<Vec<String>> {
        let words = words_of(&rule.pattern)?;
        let formats = || PROVIDERS.iter().flat_map(|pattern| pattern.words);
        let blocks = PLACED.iter().filter(|pattern| pattern.kind == "private-key").flat_map(|pattern| pattern.words);
        let ours: Vec<&str> = formats().chain(blocks).copied().collect();
        let is_known = |word: &String| ours.iter().any(|own| word.contains(own) || own.contains(word.as_str()));
        let is_named = !rule.id.is_empty()
            && rule.id.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
        (is_named && !words.iter().any(is_known)).then_some(words)
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

    #[test]
    fn those_rules_are_taken_that_begin_with_telling_texts() {
        let taken = |rule: &Rule| words(rule).map(|words| (rule.id.clone(), words));
        let taken: Vec<_> = load_builtin_rules().unwrap().iter().filter_map(taken).collect();
        let lines = taken.iter().map(|(id, words)| format!("    ExternalSecretRule::new({id:?}, &{words:?}),"));
        let lines: Vec<String> = lines.collect();
        let kept =
            KEPT.iter().map(|kept| (kept.id.to_owned(), kept.words.iter().map(|word| (*word).to_owned()).collect()));
        assert_eq!(kept.collect::<Vec<(String, Vec<String>)>>(), taken, "the table would be:\n{}", lines.join("\n"));
        for kept in &KEPT {
            assert!(kept.compile().is_some_and(|rule| rule.regex.captures_len() > rule.capture), "{}", kept.id);
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
