//! The table of secrets: words to look for, the pattern from there on, what a value must be like.

use std::ops::Range;
use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::SecretHit;
use super::private_key;
use super::values::{entropy, is_assigned_secret, is_jwt, is_made_up, is_url_password};

/// A kind of secret.
pub(super) struct Pattern {
    /// What it is called in the mask.
    kind: &'static str,
    /// Texts at which the pattern begins.
    pub(super) words: &'static [&'static str],
    how: How,
}

enum How {
    /// Tried at the word. The group `secret`, else the first, is the secret.
    Regex {
        at_word: Lazy,
        /// Whether the character before the word may be a letter, digit, `_` or `-`.
        inside_words: bool,
        /// The last word on a match, with the text before it.
        is_secret: fn(&Captures<'_>, &str) -> bool,
    },
    /// A block of many lines.
    PrivateKey,
}

type Lazy = &'static LazyLock<Option<Regex>>;

/// No secret that is looked for is longer, with the name before it.
const REACH: usize = 4096;

impl Pattern {
    /// Finds the secret whose word stands at `at`.
    pub(super) fn find(&self, text: &str, at: usize, hits: &mut Vec<SecretHit>) {
        match &self.how {
            How::Regex { at_word, inside_words, is_secret } => {
                if !inside_words && text[..at].chars().next_back().is_some_and(is_word) {
                    return;
                }
                let reach = &text[at..boundary(text, at + REACH)];
                let Some(groups) = at_word.as_ref().and_then(|pattern| pattern.captures(reach)) else { return };
                let Some(secret) = secret(&groups) else { return };
                let ends = reach[secret.end()..].chars().next().is_none_or(|next| !next.is_ascii_alphanumeric());
                if ends && is_secret(&groups, &text[boundary(text, at.saturating_sub(64))..at]) {
                    let range: Range<usize> = at + secret.start()..at + secret.end();
                    hits.push(SecretHit { kind: self.kind, range });
                }
            }
            How::PrivateKey => {
                let lines = private_key::body_lines(text, at);
                hits.extend(lines.into_iter().map(|range| SecretHit { kind: self.kind, range }));
            }
        }
    }
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}

/// The nearest character boundary at or before `at`.
fn boundary(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// `sources` as one regex a kind, anchored where the word stands, compiled when the first word turns up.
macro_rules! pattern {
    ($kind:literal, $words:expr, $regex:literal, $inside:literal, $is_secret:expr) => {{
        static PATTERN: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(concat!(r"\A", $regex)).ok());
        Pattern {
            kind: $kind,
            words: $words,
            how: How::Regex { at_word: &PATTERN, inside_words: $inside, is_secret: $is_secret },
        }
    }};
}

fn group<'h>(groups: &Captures<'h>, at: usize) -> &'h str {
    groups.get(at).map_or("", |group| group.as_str())
}

/// A value that is random enough to be one of the provider's own.
fn random(groups: &Captures<'_>, _: &str) -> bool {
    let value = group(groups, 1);
    entropy(value) >= 3.0 && !is_made_up(value)
}

/// The group called `secret`, else the first.
fn secret<'h>(groups: &Captures<'h>) -> Option<regex::Match<'h>> {
    groups.name("secret").or_else(|| groups.get(1))
}

/// Every kind that is looked for.
///
/// Names take every character beyond ASCII, not only letters: a Unicode class that is repeated so often takes milliseconds to compile.
pub(super) static PATTERNS: &[Pattern] = &[
    // Providers whose keys tell what they are.
    pattern!("aws-access-key", &["AKIA", "ASIA", "ABIA", "ACCA"], "([A-Z]{4}[A-Z2-7]{16})", false, random),
    pattern!(
        "github-token",
        &["ghp_", "gho_", "ghu_", "ghs_", "ghr_"],
        "(gh[pousr]_[A-Za-z0-9]{36,255})",
        false,
        random
    ),
    pattern!("github-token", &["github_pat_"], "(github_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{59})", false, random),
    pattern!("gitlab-token", &["glpat-"], r"(glpat-[A-Za-z0-9_-]{20,64}(?:\.[A-Za-z0-9.]{2,40})?)", false, random),
    pattern!(
        "slack-token",
        &["xoxa-", "xoxb-", "xoxp-", "xoxr-", "xoxs-", "xapp-"],
        r"(x(?:ox[abprs]|app)-(?:[0-9]-)?(?:[A-Z0-9]{8,14}-)?[0-9]{8,14}-[A-Za-z0-9-]{10,200})",
        false,
        random
    ),
    pattern!(
        "slack-webhook",
        &["hooks.slack.com/services/"],
        r"hooks\.slack\.com/services/(T[A-Z0-9]{7,14}/B[A-Z0-9]{7,14}/[A-Za-z0-9]{20,40})",
        true,
        random
    ),
    pattern!("stripe-key", &["sk_live_", "rk_live_"], "([sr]k_live_[A-Za-z0-9]{20,247})", false, random),
    pattern!("stripe-webhook-secret", &["whsec_"], "(whsec_[A-Za-z0-9+/]{32,64}={0,2})", false, random),
    pattern!("google-api-key", &["AIza"], "(AIza[0-9A-Za-z_-]{35})", false, random),
    pattern!("anthropic-key", &["sk-"], "(sk-ant-[a-z0-9]{3,12}-[A-Za-z0-9_-]{32,200})", false, random),
    pattern!(
        "openai-key",
        &["sk-"],
        "(sk-(?:(?:proj|svcacct|admin)-[A-Za-z0-9_-]{40,255}|[A-Za-z0-9]{20}T3BlbkFJ[A-Za-z0-9]{20}|[A-Za-z0-9]{48}))",
        false,
        random
    ),
    pattern!("npm-token", &["npm_"], "(npm_[A-Za-z0-9]{36})", false, random),
    pattern!("pypi-token", &["pypi-AgEI"], "(pypi-AgEI[A-Za-z0-9_-]{50,1000})", false, random),
    pattern!("sendgrid-key", &["SG."], r"(SG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43})", false, random),
    pattern!(
        "twilio-token",
        &["twilio", "TWILIO", "Twilio"],
        r#"[A-Za-z]{6}[0-9A-Za-z_.\u{80}-\u{10ffff}-]{0,20}(?i:token|secret)["']?[ \t]{0,4}(?:=>|:=|=|:)[ \t]{0,4}["']?([0-9a-f]{32})"#,
        true,
        random
    ),
    pattern!(
        "jwt",
        &["eyJ"],
        r"(eyJ[A-Za-z0-9_-]{10,2000}\.eyJ[A-Za-z0-9_-]{10,2000}\.[A-Za-z0-9_-]{20,1000})",
        false,
        |groups, _| is_jwt(group(groups, 1))
    ),
    Pattern { kind: "private-key", words: &["-----BEGIN "], how: How::PrivateKey },
    // What a secret is only by where it stands.
    pattern!(
        "aws-secret-key",
        &["secret", "Secret", "SECRET"],
        r#"(?i:secret[_-]?(?P<access>access[_-]?)?key)["']?[ \t]{0,16}(?:=>|:=|=|:)[ \t]{0,16}["']?(?P<secret>[A-Za-z0-9/+]{40})"#,
        true,
        |groups, before| {
            let value = secret(groups).map_or("", |secret| secret.as_str());
            let is_aws = groups.name("access").is_some() || before.to_ascii_lowercase().contains("aws");
            is_aws && entropy(value) >= 4.0 && !is_made_up(value) && !value.bytes().all(|byte| byte.is_ascii_hexdigit())
        }
    ),
    pattern!(
        "url-password",
        &["://"],
        r#"://([^\s:@/"'`<>{}$()]{1,64}):(?P<secret>[^\s@/"'`<>{}$()\[\]]{3,128})@(?P<host>[A-Za-z0-9.\[-]+)"#,
        true,
        |groups, _| {
            let (user, host) = (group(groups, 1), groups.name("host").map_or("", |host| host.as_str()));
            secret(groups).is_some_and(|password| is_url_password(user, password.as_str(), host))
        }
    ),
    pattern!(
        "assigned-secret",
        &[
            "passw",
            "Passw",
            "PASSW",
            "secret",
            "Secret",
            "SECRET",
            "token",
            "Token",
            "TOKEN",
            "api_key",
            "apiKey",
            "ApiKey",
            "API_KEY",
            "apikey",
            "api-key",
            "access_key",
            "accessKey",
            "ACCESS_KEY",
        ],
        r#"(?P<name>[0-9A-Za-z_.\u{80}-\u{10ffff}-]{1,50})["'\]]{0,2}(?:[ \t]{0,16}:[ \t]{0,4}[&'0-9A-Za-z_\u{80}-\u{10ffff}<>\[\]. ]{1,30}?)?[ \t]{0,16}(?:=>|:=|=|:)[ \t]{0,16}[bfru]{0,2}["'`](?P<secret>[A-Za-z0-9!#$%&*+,./:;=?@^_~|-]{16,200})["'`]"#,
        true,
        |groups, before| {
            let name = groups.name("name").map_or("", |name| name.as_str());
            secret(groups).is_some_and(|value| is_assigned_secret(before, name, value.as_str()))
        }
    ),
];
