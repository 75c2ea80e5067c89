//! Secrets that the change adds. The text is masked where it is read, so what is found here is the mask, never the value.

use super::super::subject::{Hit, Subject, is_prose, is_test_path};
use super::{Check, CheckInfo};
use crate::domain::finding::{Category, Severity};
use crate::domain::place::LineRange;
use crate::domain::text::MASK_PREFIX;

pub(super) struct SecretAdded;

static INFO: CheckInfo = CheckInfo {
    name: "general/secret-added",
    title: "A secret is added to the code",
    message: "Whoever can read the repository, now or in any later copy of its history, can use it. Revoke the secret, since it has \
              already been committed, and read the new one from the environment or a secret store.",
    severity: Severity::Critical,
    category: Category::Security,
    cwe: Some("CWE-798"),
};

/// Kinds whose pattern is not a provider's own format: tests and manuals are full of made-up ones.
const LOOSE: &[&str] = &["assigned-secret", "url-password", "jwt", "private-key"];
/// Kinds that give nothing away alone, or are often meant to be seen: half of a pair, and what browsers are given.
const HALF: &[&str] = &["aws-access-key", "google-api-key"];
/// Kinds with which somebody can only write into a channel.
const CHANNEL: &[&str] = &["slack-webhook", "discord-webhook"];

/// What a path says about the secrets in it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd)]
enum Use {
    /// Nothing: they may be in use.
    Real,
    /// They guard what lives for a test run, or on one machine.
    Local,
    /// They are shown, or made up for a test.
    Shown,
}

impl Use {
    fn of(subject: &Subject<'_>) -> Self {
        let path = String::from_utf8_lossy(subject.path.as_bytes()).to_ascii_lowercase();
        let has = |words: &[&str]| words.iter().any(|word| path.contains(word));
        let part = |parts: &[&str]| path.split('/').any(|part| parts.contains(&part));
        let name = path.rsplit('/').next().unwrap_or_default();
        if is_test_path(subject.path)
            || is_prose(&subject.extension())
            || has(&["test", "mock", "fixture", "snapshot", "sample", "example", "demo", "template", "localhost", "tutorial"])
            || [".dist", ".tpl", ".snap", ".har"].iter().any(|end| name.ends_with(end))
            || part(&["docs", "t", "integration"])
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

    /// How bad a secret of a kind is; `None` where nobody would act on it.
    fn grade(self, kind: &str) -> Option<Severity> {
        let is_loose = LOOSE.contains(&kind);
        match self {
            Self::Shown if is_loose || HALF.contains(&kind) => None,
            Self::Shown => Some(Severity::High),
            _ if HALF.contains(&kind) => Some(Severity::Medium),
            Self::Local if is_loose => Some(Severity::Low),
            _ if is_loose || CHANNEL.contains(&kind) => Some(Severity::High),
            Self::Local | Self::Real => Some(Severity::Critical),
        }
    }
}

impl Check for SecretAdded {
    fn info(&self) -> &'static CheckInfo {
        &INFO
    }

    fn find(&self, subject: &Subject<'_>) -> Vec<Hit> {
        let text = subject.text;
        let mut hits: Vec<Hit> = Vec::new();
        if memchr::memmem::find(text.text().as_bytes(), MASK_PREFIX.as_bytes()).is_none() {
            return hits;
        }
        let used = Use::of(subject);
        // The web configuration of Firebase is made to be given to browsers.
        let is_web = memchr::memmem::find(text.text().as_bytes(), b"authDomain").is_some();
        let mut block: Option<(LineRange, String)> = None;
        for (number, line) in text.all_lines() {
            let kind = kind_on(line).filter(|_| text.is_masked(LineRange::line(number)));
            let kind = kind.filter(|kind| used.grade(kind).is_some() && !(is_web && *kind == "google-api-key"));
            let Some(kind) = kind else { continue };
            // A key block is masked line by line and is one secret.
            if let Some((lines, last)) = &mut block
                && kind == "private-key"
                && *last == kind
                && number - lines.end() <= 3
            {
                *lines = LineRange::new(lines.start(), number).unwrap_or(*lines);
                continue;
            }
            hits.extend(block.take().map(|(lines, kind)| hit(subject, used, lines, &kind)));
            // Every line of a key block reads the same once it is masked; the one that begins it does not.
            let above = (number.saturating_sub(8)..=number).rev().filter(|_| kind == "private-key");
            let begins = |at: &u32| text.line(*at).is_some_and(|line| line.contains("-----BEGIN"));
            let first = above.into_iter().find(begins).unwrap_or(number);
            block = LineRange::new(first, number).ok().map(|lines| (lines, kind.to_owned()));
        }
        hits.extend(block.map(|(lines, kind)| hit(subject, used, lines, &kind)));
        hits
    }
}

fn hit(subject: &Subject<'_>, used: Use, lines: LineRange, kind: &str) -> Hit {
    let mut hit = Hit::of_lines(subject.text, lines);
    // Two secrets read the same when they are masked. The words are shorter than any mask, which is what the base is searched for.
    let print = subject.text.secrets_print(lines);
    hit.key.push_str(&format!(" {:x} {:x}", print >> 32, print & 0xffff_ffff));
    hit.title = Some(format!("A secret is added to the code: {}", in_words(kind)));
    hit.severity = used.grade(kind);
    hit
}

/// A kind as people call it.
fn in_words(kind: &str) -> String {
    match kind {
        "assigned-secret" => return "a password or token in a literal".to_owned(),
        "url-password" => return "a password in a URL".to_owned(),
        "jwt" => return "a JSON web token".to_owned(),
        "aws-access-key" => return "the id of an AWS access key".to_owned(),
        _ => {}
    }
    let spelled = |word: &str| match word {
        "github" => "GitHub".to_owned(),
        "gitlab" => "GitLab".to_owned(),
        "openai" => "OpenAI".to_owned(),
        "openrouter" => "OpenRouter".to_owned(),
        "huggingface" => "Hugging Face".to_owned(),
        "sendgrid" => "SendGrid".to_owned(),
        "digitalocean" => "DigitalOcean".to_owned(),
        "planetscale" => "PlanetScale".to_owned(),
        "rubygems" => "RubyGems".to_owned(),
        "flyio" => "Fly.io".to_owned(),
        "one" => "1Password".to_owned(),
        "aws" | "npm" | "api" | "xai" | "id" => word.to_uppercase(),
        "jfrog" => "JFrog".to_owned(),
        "pypi" => "PyPI".to_owned(),
        "key" | "token" | "secret" | "private" | "webhook" | "oauth" | "storage" | "client" | "access" | "password" | "ca"
        | "origin" | "relic" | "age" => word.to_owned(),
        other => {
            let mut letters = other.chars();
            letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
        }
    };
    let words: Vec<String> = kind.split('-').filter(|word| *word != "one" || kind.starts_with("one-")).map(spelled).collect();
    let words = words.join(" ").replace("1Password Password", "1Password");
    let first = words.chars().next().unwrap_or('s');
    // By the sound: an NPM token, an xAI key.
    let article = if "AEIOaeioxX".contains(first) || words.starts_with("NPM") { "an" } else { "a" };
    format!("{article} {words}")
}

/// The kind that the first mask on a line names.
fn kind_on(line: &str) -> Option<&str> {
    let (_, rest) = line.split_once(MASK_PREFIX)?;
    let (kind, _) = rest.split_once(']')?;
    kind.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-').then_some(kind)
}
