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
        let shown = is_test_path(subject.path) || is_prose(&subject.extension());
        let mut block: Option<(LineRange, String)> = None;
        for (number, line) in text.all_lines() {
            let kind = kind_on(line).filter(|_| text.is_masked(LineRange::line(number)));
            let Some(kind) = kind.filter(|kind| !(shown && LOOSE.contains(kind))) else { continue };
            // A key block is masked line by line and is one secret.
            if let Some((lines, last)) = &mut block
                && kind == "private-key"
                && *last == kind
                && number - lines.end() <= 3
            {
                *lines = LineRange::new(lines.start(), number).unwrap_or(*lines);
                continue;
            }
            hits.extend(block.take().map(|(lines, kind)| hit(subject, lines, &kind)));
            // Every line of a key block reads the same once it is masked; the one that begins it does not.
            let above = (number.saturating_sub(8)..=number).rev().filter(|_| kind == "private-key");
            let begins = |at: &u32| text.line(*at).is_some_and(|line| line.contains("-----BEGIN"));
            let first = above.into_iter().find(begins).unwrap_or(number);
            block = LineRange::new(first, number).ok().map(|lines| (lines, kind.to_owned()));
        }
        hits.extend(block.map(|(lines, kind)| hit(subject, lines, &kind)));
        hits
    }
}

fn hit(subject: &Subject<'_>, lines: LineRange, kind: &str) -> Hit {
    let mut hit = Hit::of_lines(subject.text, lines);
    hit.title = Some(format!("A secret is added to the code: {}", in_words(kind)));
    if LOOSE.contains(&kind) {
        hit.severity = Some(Severity::High);
    }
    hit
}

/// A kind as people call it.
fn in_words(kind: &str) -> String {
    match kind {
        "assigned-secret" => "a password or token in a literal".to_owned(),
        "url-password" => "a password in a URL".to_owned(),
        "jwt" => "a JSON web token".to_owned(),
        "private-key" => "a private key".to_owned(),
        "aws-access-key" => "an AWS access key".to_owned(),
        "aws-secret-key" => "an AWS secret key".to_owned(),
        "openai-key" => "an OpenAI key".to_owned(),
        "github-token" => "a GitHub token".to_owned(),
        "gitlab-token" => "a GitLab token".to_owned(),
        other => other.replace('-', " "),
    }
}

/// The kind that the first mask on a line names.
fn kind_on(line: &str) -> Option<&str> {
    let (_, rest) = line.split_once(MASK_PREFIX)?;
    let (kind, _) = rest.split_once(']')?;
    kind.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-').then_some(kind)
}
