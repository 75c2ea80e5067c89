//! Secrets that the change adds. The text is masked when it is read, so a match is the mask, never the value.

use std::cell::OnceCell;
use std::collections::HashSet;

use super::super::sides::BothSides;
use super::super::target::{RuleMatch, RuleTarget, is_prose, is_test_path};
use super::{CheckInfo, MOST_MATCHES};
use crate::domain::change::FileChange;
use crate::domain::finding::{Category, Severity};
use crate::domain::place::{DiffSide, LineRange};
use crate::domain::text::MASK_PREFIX;

pub(super) const INFO: CheckInfo = CheckInfo {
    name: "general/secret-added",
    title: "Secret leaked into the code",
    message: "Whoever can read the repository, now or in any later copy of its history, can use it. If it was ever committed, \
              revoke it. Read the new one from the environment or a secret store.",
    severity: Severity::Critical,
    category: Category::Security,
    cwe: Some("CWE-798"),
};

/// Kinds whose pattern is not a provider's own format: tests and manuals are full of invented ones.
const LOOSE: &[&str] = &["assigned-secret", "basic-password", "url-password", "jwt", "private-key"];
/// Kinds that give no access alone, or are often public: half of a pair, and browser keys.
const HALF: &[&str] = &["aws-access-key", "google-api-key"];
/// Kinds that only allow writing into a channel.
const CHANNEL: &[&str] = &["slack-webhook", "discord-webhook"];

/// Names of keys that every visitor of a page sees. The detector does not treat names with *public* as secrets.
const GIVEN: &[&str] = &["posthog", "sitekey", "site_key", "site-key", "recaptcha"];

/// The kind of secrets to expect at a path.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd)]
enum SecretContext {
    /// Possibly in use.
    Real,
    /// Credentials for test runs or one machine.
    Local,
    /// Examples, or invented for a test.
    Shown,
}

impl SecretContext {
    fn of(subject: &RuleTarget<'_>) -> Self {
        let path = String::from_utf8_lossy(subject.path.as_bytes()).to_ascii_lowercase();
        let has = |words: &[&str]| words.iter().any(|word| path.contains(word));
        let part = |parts: &[&str]| path.split('/').any(|part| parts.contains(&part));
        let name = path.rsplit('/').next().unwrap_or_default();
        if is_test_path(subject.path)
            || is_prose(&subject.extension())
            || has(&[
                "test",
                "mock",
                "fixture",
                "snapshot",
                "sample",
                "example",
                "demo",
                "template",
                "localhost",
                "tutorial",
                "openapi",
                "swagger",
            ])
            // What looks like a token in a lock file is the digest of a package.
            || [".dist", ".lock", ".tpl", ".snap", ".har", ".http", ".rest"].iter().any(|end| name.ends_with(end))
            || part(&["docs", "t", "integration", ".yarn"])
        {
            Self::Shown
        } else if part(&[".github", ".circleci", ".ci", "ci", "dev", "local", ".devcontainer", ".vscode"])
            || name.contains("compose")
            || name.contains(".local.")
            || name.contains(".dev.")
        {
            Self::Local
        } else {
            Self::Real
        }
    }

    /// Returns the severity of a kind of secret; `None` if it needs no action.
    fn grade(self, kind: &str) -> Option<Severity> {
        let is_loose = LOOSE.contains(&kind);
        match self {
            Self::Shown if is_loose || HALF.contains(&kind) => None,
            Self::Local if is_loose => Some(Severity::Low),
            // Measured on unseen code, most of these were invented, public or of no use to others.
            Self::Shown => Some(Severity::Medium),
            _ if is_loose || HALF.contains(&kind) => Some(Severity::Medium),
            _ if CHANNEL.contains(&kind) => Some(Severity::High),
            Self::Local | Self::Real => Some(Severity::Critical),
        }
    }
}

/// Checks whether a line shows the format of a secret rather than a real one.
fn is_example(line: &str, kind: &str) -> bool {
    let is_remark = || ["#", "//", "*", "--", "<!--"].iter().any(|mark| line.trim_start().starts_with(mark));
    LOOSE.contains(&kind)
        && (line.contains("e.g.")
            || line.contains("xample")
            || (kind == "url-password" && is_remark())
            || (kind == "assigned-secret" && is_public_key_name(line)))
}

/// Maximum number of lines between an example in a docstring and the line that introduces it.
const EXAMPLE_LINES: u32 = 30;

/// Checks whether a line of Python is in a literal block of a docstring, which is an example: the nearest line above that begins further left ends
/// in `::`, or one that begins further left than that.
fn is_literal_block(subject: &RuleTarget<'_>, line: u32) -> bool {
    let depth = |text: &str| text.len() - text.trim_start().len();
    let Some(text) = subject.text.line(line).filter(|_| subject.extension() == "py") else { return false };
    let mut left = depth(text);
    for number in (line.saturating_sub(EXAMPLE_LINES).max(1)..line).rev() {
        let above = subject.text.line(number).unwrap_or_default();
        if above.trim().is_empty() || depth(above) >= left {
            continue;
        }
        left = depth(above);
        if above.trim_end().ends_with("::") {
            return true;
        }
    }
    false
}

/// Maximum number of lines of a private key.
const KEY_LINES: u32 = 80;

/// Checks whether the private key that a line is part of is named as one that was made for tests.
fn is_named_fake(subject: &RuleTarget<'_>, line: u32) -> bool {
    const NAMES: [&str; 3] = ["fake", "dummy", "mock"];
    let begins = |at: &u32| subject.text.line(*at).is_some_and(|line| line.contains("-----BEGIN"));
    let Some(first) = (line.saturating_sub(KEY_LINES).max(1)..=line).rev().find(begins) else { return false };
    let name = subject.text.line(first).and_then(|line| line.split("-----BEGIN").next()).unwrap_or_default();
    let name = name.to_ascii_lowercase();
    NAMES.iter().any(|word| name.contains(word))
}

/// Checks whether a line is the key of a search that the pages of a site have (Algolia's `DocSearch`), by the keys beside it.
fn is_search_key(subject: &RuleTarget<'_>, line: u32) -> bool {
    let is = |at: u32, name: &str| {
        let text = subject.text.line(at).unwrap_or_default().trim_start().trim_start_matches(['"', '\'']);
        text.strip_prefix(name).is_some_and(|rest| rest.trim_start_matches(['"', '\'']).trim_start().starts_with(':'))
    };
    let beside = |name: &str| (line.saturating_sub(4).max(1)..=line + 4).any(|at| is(at, name));
    is(line, "apiKey") && beside("appId") && beside("indexName")
}

/// Maximum number of lines between the token of an event and a key that says what the event is.
const EVENT_LINES: u32 = 20;

/// Checks whether a line is the token in an event that a service sends to a webhook: programs show such bodies as examples.
fn is_event_token(subject: &RuleTarget<'_>, line: u32) -> bool {
    let key = |at: u32| {
        let (key, _) = subject.text.line(at)?.split_once(':')?;
        Some(key.trim().trim_matches(['"', '\'']))
    };
    let is_setting = matches!(subject.path.extension(), Some("yml" | "yaml" | "toml"));
    let is_of_event = |key: &str| {
        key.ends_with("_at")
            || matches!(key, "event" | "event_id" | "event_type" | "event_ts" | "eventId" | "eventType")
    };
    !is_setting
        && matches!(key(line), Some("token" | "version_token"))
        && (line.saturating_sub(EVENT_LINES).max(1)..=line + EVENT_LINES).filter_map(key).any(is_of_event)
}

/// Checks whether the only secret of a line is named as one that every visitor of a page sees, or as one that was encrypted.
fn is_public_key_name(line: &str) -> bool {
    let mut parts = line.split(MASK_PREFIX);
    let (Some(before), Some(_), None) = (parts.next(), parts.next(), parts.next()) else { return false };
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    let name = before.trim_end_matches(|c: char| !is_name(c)).rsplit(|c: char| !is_name(c)).next().unwrap_or_default();
    let name = name.to_ascii_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| name.contains(word));
    let is_encrypted = says(&["encrypted", "obscured"]) && !says(&["unencrypted"]);
    is_encrypted || says(GIVEN) && !says(&["secret", "private", "personal", "passw"])
}

/// Finds the secrets in a text, each once.
pub(super) fn find(subject: &RuleTarget<'_>) -> Vec<RuleMatch> {
    let text = subject.text;
    let mut hits: Vec<RuleMatch> = Vec::new();
    if memchr::memmem::find(text.text().as_bytes(), MASK_PREFIX.as_bytes()).is_none() {
        return hits;
    }
    let used = SecretContext::of(subject);
    // The web configuration of Firebase is public by design.
    let is_web = memchr::memmem::find(text.text().as_bytes(), b"authDomain").is_some();
    // An example of another service with the same interface: the id of a key of AWS has a format of its own.
    let is_other = used == SecretContext::Shown
        && memchr::memmem::find(text.text().as_bytes(), format!("{MASK_PREFIX}aws-access-key]").as_bytes()).is_none();
    // A secret that is repeated needs to be revoked once.
    let mut seen = HashSet::new();
    let mut is_new = |hit: &RuleMatch| !hit.key.starts_with(MASK_PREFIX) || seen.insert(hit.key.clone());
    let mut block: Option<(LineRange, String)> = None;
    for (number, line) in text.all_lines() {
        let kind = kind_on_line(line).filter(|_| text.is_masked(LineRange::line(number)));
        let kind = kind.filter(|kind| used.grade(kind).is_some() && !(is_web && *kind == "google-api-key"));
        let kind = kind.filter(|kind| !(is_other && *kind == "aws-secret-key"));
        let is_shown = |kind: &str| {
            is_example(line, kind)
                || (LOOSE.contains(&kind) && is_literal_block(subject, number))
                || (kind == "private-key" && is_named_fake(subject, number))
                || (kind == "assigned-secret" && (is_search_key(subject, number) || is_event_token(subject, number)))
        };
        let Some(kind) = kind.filter(|kind| !is_shown(kind)) else { continue };
        // A key block is masked line by line and is one secret.
        if let Some((lines, last)) = &mut block
            && kind == "private-key"
            && *last == kind
            && number - lines.end() <= 3
        {
            *lines = LineRange::new(lines.start(), number).unwrap_or(*lines);
            continue;
        }
        hits.extend(block.take().map(|(lines, kind)| hit(subject, used, lines, &kind)).filter(&mut is_new));
        // Every line of a key block is the same once masked; its first line is not.
        let above = (number.saturating_sub(8)..=number).rev().filter(|_| kind == "private-key");
        let begins = |at: &u32| {
            text.line(*at).is_some_and(|line| line.contains("-----BEGIN") || line.contains("Private-Lines:"))
        };
        let first = above.into_iter().find(begins).unwrap_or(number);
        block = LineRange::new(first, number).ok().map(|lines| (lines, kind.to_owned()));
        if hits.len() > MOST_MATCHES {
            break;
        }
    }
    hits.extend(block.map(|(lines, kind)| hit(subject, used, lines, &kind)).filter(&mut is_new));
    hits
}

fn hit(subject: &RuleTarget<'_>, used: SecretContext, lines: LineRange, kind: &str) -> RuleMatch {
    let mut hit = RuleMatch::from_lines(subject.text, lines);
    // Two masked secrets are equal, and one is the same in any context. The parts are shorter than the name of any kind, which is the key
    // for searching the base.
    let print = subject.text.secrets_print(lines);
    // In a text that was masked before, only the line can identify it.
    if print != 0 {
        hit.key = format!("{MASK_PREFIX}{kind}");
    }
    for part in print.to_be_bytes().chunks(2) {
        hit.key.push_str(&format!(" {part:02x?}"));
    }
    hit.title = Some(format!("Secret leaked into the code: {}", kind_label(kind)));
    hit.severity = used.grade(kind);
    hit
}

/// The removed words of a change that may be secrets, read when the first is asked for.
pub(in crate::rules) struct RemovedWords<'a> {
    sides: BothSides<'a>,
    prints: OnceCell<HashSet<u64>>,
}

impl<'a> RemovedWords<'a> {
    pub(in crate::rules) fn of(sides: BothSides<'a>) -> Self {
        Self { sides, prints: OnceCell::new() }
    }

    /// Checks whether every secret on these lines stands in removed lines of the change, in whatever form and file: a formatter wrote it otherwise,
    /// or it was moved. The comparison with the base misses that if a line has several, or the old form was not taken for a secret.
    pub(in crate::rules) fn hold(&self, file: &FileChange, lines: LineRange) -> bool {
        let Ok(text) = self.sides.new.read(&file.path) else { return false };
        let mut secrets = text.secret_prints(lines).peekable();
        secrets.peek().is_some() && secrets.all(|print| self.prints().contains(&print))
    }

    fn prints(&self) -> &HashSet<u64> {
        self.prints.get_or_init(|| {
            let files = self.sides.change.files.iter().filter(|file| file.without_text().is_none());
            let texts = files.filter_map(|file| Some((file, self.sides.old.read(file.path_at(DiffSide::Old)).ok()?)));
            let removed = texts.flat_map(|(file, text)| {
                let runs = file.runs().filter_map(|run| run.old.range());
                runs.flat_map(|lines| text.word_prints(lines).collect::<Vec<_>>()).collect::<Vec<_>>()
            });
            removed.collect()
        })
    }
}

/// Names of kinds for people; another kind is shown as is.
const CALLED: &[(&str, &str)] = &[
    ("assigned-secret", "a password or token in a literal"),
    ("basic-password", "a password of an HTTP header"),
    ("url-password", "a password in a URL"),
    ("jwt", "a JSON web token"),
    ("private-key", "a private key"),
    ("aws-access-key", "the id of an AWS access key"),
    ("aws-secret-key", "an AWS secret key"),
    ("anthropic-key", "an Anthropic key"),
    ("openai-key", "an OpenAI key"),
    ("openrouter-key", "an OpenRouter key"),
    ("google-api-key", "a Google API key"),
    ("google-oauth-secret", "a Google OAuth secret"),
    ("google-oauth-token", "a Google OAuth token"),
    ("github-token", "a GitHub token"),
    ("gitlab-token", "a GitLab token"),
    ("azure-storage-key", "a key of an Azure storage account"),
    ("azure-client-secret", "an Azure client secret"),
    ("slack-token", "a Slack token"),
    ("slack-webhook", "a Slack webhook"),
    ("discord-webhook", "a Discord webhook"),
    ("stripe-key", "a Stripe key"),
    ("sendgrid-key", "a SendGrid key"),
    ("twilio-token", "a Twilio token"),
    ("npm-token", "an npm token"),
    ("pypi-token", "a PyPI token"),
    ("rubygems-key", "a RubyGems key"),
    ("docker-token", "a Docker token"),
    ("digitalocean-token", "a DigitalOcean token"),
    ("huggingface-token", "a Hugging Face token"),
    ("one-password-token", "a 1Password token"),
    ("atlassian-token", "an Atlassian token"),
    ("flyio-access-token", "a Fly.io token"),
];

fn kind_label(kind: &str) -> String {
    let known = CALLED.iter().find(|(known, _)| *known == kind);
    known.map_or_else(|| kind.replace('-', " "), |(_, words)| (*words).to_owned())
}

/// Returns the kind in the first mask on a line.
fn kind_on_line(line: &str) -> Option<&str> {
    let (_, rest) = line.split_once(MASK_PREFIX)?;
    let (kind, _) = rest.split_once(']')?;
    kind.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-').then_some(kind)
}

#[cfg(test)]
mod tests {
    use super::super::super::synthetic_change::SyntheticChange;
    use super::*;

    /// Returns random-looking letters and digits, starting from `at`.
    fn noise(at: usize, length: usize) -> String {
        "q7Zt2Lw9Xc4Vb6Nm8Kj1Hg3Fd5Sa0PoIuYtReW".chars().cycle().skip(at).take(length).collect()
    }

    fn token(at: usize) -> String {
        format!("ghp_{}", noise(at, 36))
    }

    fn told(path: &str, text: &str) -> Vec<(String, Severity)> {
        let claims = SyntheticChange::default().now(path, text).review().claims;
        let secret = claims.into_iter().filter(|claim| claim.origin.name == INFO.name);
        secret.map(|claim| (claim.title, claim.severity)).collect()
    }

    #[test]
    fn a_secret_that_takes_the_place_of_another_is_new() {
        let line = |at: usize| format!("a = 1\ntoken = '{}'\n", token(at));
        let rotated = SyntheticChange::default().was("src/a.py", &line(0)).now("src/a.py", &line(5));
        assert_eq!(rotated.reported(), ["general/secret-added src/a.py:2"]);
        let moved = SyntheticChange::default().was("src/a.py", &line(0)).now("src/b.py", &line(0));
        assert_eq!(moved.reported(), [""; 0]);
        let edited = line(0).replace("token =", "key  =").replace("a = 1", "a = 2");
        let moved =
            SyntheticChange::default().was("src/a.py", &line(0)).now("src/a.py", &edited.replace("key  =", "token ="));
        assert_eq!(moved.reported(), [""; 0]);
        let written_anew = line(0).replace("token = ", "send(1, ").replace("'\n", "')\n");
        assert_eq!(
            SyntheticChange::default().was("src/a.py", &line(0)).now("src/a.py", &written_anew).reported(),
            [""; 0]
        );
        let twice = [line(0), line(0), line(5)].concat();
        assert_eq!(
            SyntheticChange::default().now("src/a.py", &twice).reported(),
            ["general/secret-added src/a.py:2", "general/secret-added src/a.py:6"]
        );
    }

    #[test]
    fn a_secret_that_a_formatter_wrote_otherwise_is_not_new() {
        let (one, other) = (noise(0, 24), noise(9, 24));
        let wide = format!("open({{ password: '{one}', api_token: '{other}' }})\n");
        let tall = format!("open({{\n  password: '{one}',\n  api_token: '{other}',\n}})\n");
        let parted = format!("const password =\n  \"{one}\";\n");
        let joined = format!("const password = '{one}';\n");
        let change = |old: &str, path: &str, new: &str| {
            SyntheticChange::default().was("src/a.js", old).now("src/a.js", "open()\n").now(path, new).reported()
        };
        let edited =
            |old: &str, new: &str| SyntheticChange::default().was("src/a.js", old).now("src/a.js", new).reported();
        for (old, new) in [(&wide, &tall), (&tall, &wide), (&parted, &joined), (&joined, &parted)] {
            assert_eq!(edited(old, new), [""; 0], "{old}{new}");
            assert_eq!(change(old, "src/b.js", new), [""; 0], "{old}{new}");
        }
        let third = joined.replace(&one, &noise(5, 24));
        assert_eq!(edited(&parted, &third), ["general/secret-added src/a.js:1"]);
    }

    #[test]
    fn how_bad_it_is_depends_on_the_kind_and_the_place() {
        let password = format!("db_password = \"{}\"\n", noise(0, 24));
        let access = ["AK", "IA", "Z7QXB2WDLM4RT6VN"].concat();
        let access = format!("id = \"{access}\"\n");
        let token = format!("t = \"{}\"\n", token(3));
        let cases: &[(&str, &str, Option<Severity>)] = &[
            ("src/a.py", &password, Some(Severity::Medium)),
            ("tests/a.py", &password, None),
            ("docs/a.md", &password, None),
            ("caddytest/a.py", &password, None),
            (".env.example", &password, None),
            (".github/workflows/a.yml", &password, Some(Severity::Low)),
            ("docker-compose.yml", &password, Some(Severity::Low)),
            ("src/a.py", &access, Some(Severity::Medium)),
            ("tests/a.py", &access, None),
            ("src/a.py", &token, Some(Severity::Critical)),
            ("tests/a.py", &token, Some(Severity::Medium)),
        ];
        for (path, text, severity) in cases {
            let found: Vec<_> = told(path, text).into_iter().map(|(_, severity)| severity).collect();
            assert_eq!(found, severity.iter().copied().collect::<Vec<_>>(), "{path}: {text}");
        }
    }

    #[test]
    fn what_browsers_are_given_is_no_secret() {
        let key = format!("AIza{}", noise(1, 35));
        assert_eq!(
            told("src/a.js", &format!("const key = '{key}';\n")),
            [("Secret leaked into the code: a Google API key".to_owned(), Severity::Medium)]
        );
        let web = format!("init({{\n  apiKey: '{key}',\n  authDomain: 'a.firebaseapp.com',\n}});\n");
        assert_eq!(told("src/a.js", &web), []);
    }

    #[test]
    fn keys_of_searches_and_keys_that_are_called_fake_are_no_secrets() {
        let search =
            |name: &str| format!("algolia: {{\n  appId: 'A',\n  apiKey: '{}',\n  {name}: 'docs',\n}},\n", noise(3, 32));
        assert_eq!(told("src/a.config.js", &search("indexName")), []);
        assert_eq!(told("src/a.config.js", &search("other")).len(), 1);
        let block = |name: &str| {
            let lines: String = (0..40).map(|at| noise(at, 39).repeat(2) + "\n").collect();
            format!("const {name}: &str = \"-----BEGIN PRIVATE KEY-----\n{lines}-----END PRIVATE KEY-----\n\";\n")
        };
        assert_eq!(told("src/a.rs", &block("TEST_FAKE_KEY_0")), []);
        assert_eq!(told("src/a.rs", &block("KEY_0")).len(), 1);
    }

    #[test]
    fn a_secret_key_in_a_manual_is_one_of_aws_only_with_its_id() {
        let secret = format!("\"SecretAccessKey\": \"{}\",\n", noise(2, 40));
        assert_eq!(told("docs/gateway.md", &secret), []);
        let id = format!("\"AccessKeyId\": \"{}\",\n", ["AK", "IA", "Z7QXB2WDLM4RT6VN"].concat());
        assert_eq!(told("docs/gateway.md", &format!("{secret}{id}")).len(), 1);
        assert_eq!(told("src/a.py", &secret).len(), 1);
    }

    #[test]
    fn the_token_of_an_event_is_no_secret() {
        let event = |key: &str, beside: &str| {
            format!(
                "body: {{\n  {key}: \"{}\",\n  user: {{\n    name: \"a\",\n  }},\n  {beside}: \"x\",\n}},\n",
                noise(4, 32)
            )
        };
        assert_eq!(told("src/a.ts", &event("token", "event_id")), []);
        assert_eq!(told("src/a.ts", &event("version_token", "created_at")), []);
        assert_eq!(told("src/a.ts", &event("token", "host")).len(), 1);
        assert_eq!(told("src/a.ts", &event("access_token", "created_at")).len(), 1);
        assert_eq!(told("src/a.yml", &event("token", "event_id")).len(), 1);
    }

    #[test]
    fn only_the_name_of_a_key_says_that_it_is_public() {
        let value = noise(2, 30);
        for (line, is_told) in [
            (format!("const POSTHOG_API_KEY = '{value}';\n"), false),
            (format!("const RECAPTCHA_SECRET_KEY = '{value}';\n"), true),
            (format!("const encryptedClientSecret = '{value}';\n"), false),
            (format!("const unencrypted_secret = '{value}';\n"), true),
            (format!("const secret = '{value}'; // not encrypted\n"), true),
            (format!("const api_key = '{value}'; // not that of posthog\n"), true),
            (format!("connect({{ posthog: a, api_key: '{value}' }});\n"), true),
        ] {
            assert_eq!(told("src/a.js", &line).len(), usize::from(is_told), "{line}");
        }
    }

    #[test]
    fn an_example_in_a_docstring_is_no_secret() {
        let password = format!("    send(\n        db_password=\"{}\"\n    )\n", noise(0, 24));
        let example = format!("\"\"\"Sends.\n\nFor example::\n\n{password}\"\"\"\n");
        assert_eq!(told("src/a.py", &example), []);
        assert_eq!(told("src/a.py", &example.replace("::", ":")).len(), 1);
        assert_eq!(told("src/a.py", &format!("def a():\n    # See::\n{password}")).len(), 1);
        let token = format!("For example::\n\n    key = \"{}\"\n", token(3));
        assert_eq!(told("src/a.py", &token).len(), 1);
    }

    #[test]
    fn secrets_that_came_masked_are_told_line_by_line() {
        let text = "a = '[masked:github-token]'\nb = '[masked:github-token]'\n";
        let text = crate::domain::text::FileText::masked_before(text, "UTF-8", &[1, 2]);
        let path = crate::domain::path::RepoPath::parse("src/a.py").unwrap();
        let hits = find(&RuleTarget { path: &path, text: &text });
        assert_eq!(hits.len(), 2);
        assert_ne!(hits[0].key, hits[1].key);
    }

    #[test]
    fn a_mask_that_somebody_wrote_is_no_secret() {
        assert_eq!(told("src/a.py", "a = '[masked:github-token]'\n"), []);
    }
}
