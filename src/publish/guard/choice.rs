//! The choice of environment variables, and parts of their values, that are secrets. Main function: [`secrets_of`].
//!
//! A secret that is missed leaks; one too many turns words of a comment into masks. So names decide first, and then what the value looks like.

use crate::domain::text::{KnownSecret, mask};

/// Parts of names that speak of a secret.
const SECRET_NAMES: &[&str] = &[
    "TOKEN",
    "KEY",
    "SECRET",
    "PASS",
    "PWD",
    "CREDENTIAL",
    "CREDS",
    "AUTH",
    "PRIVATE",
    "COOKIE",
    "SESSION",
    "BEARER",
    "SIGNATURE",
    "CERT",
    "_PAT",
    "DSN",
    "SALT",
    "WEBHOOK",
    "LICENSE",
    "CONNECTION_STRING",
    "NPMRC",
    "NETRC",
    "KUBECONFIG",
];
/// Those whose values are secrets even where they are words.
const STRONG_NAMES: &[&str] =
    &["TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL", "PRIVATE_KEY", "_PASS", "_PWD"];
/// Ends of names that speak of something beside a secret, whose value is a word.
const WORDY_ENDS: &[&str] = &[
    "_NAME",
    "_ID",
    "_TYPE",
    "_DIR",
    "_PATH",
    "_FILE",
    "_URL",
    "_URI",
    "_SOCK",
    "_METHOD",
    "_LAYOUT",
    "_CLASS",
    "_DESKTOP",
    "_DOMAIN",
    "_REGION",
    "_MANAGER",
    "_VERSION",
    "_STORE",
    "_MODE",
    "_HOST",
    "_USER",
    "_EMAIL",
    "_PROVIDER",
];
/// Passwords that everybody knows, as test databases have them: none of them is a secret, and all of them are words of ordinary texts.
const KNOWN_TO_ALL: &[&str] = &[
    "administrator",
    "changeme",
    "database",
    "developer",
    "development",
    "guestguest",
    "localhost",
    "mariadb",
    "minioadmin",
    "mongodb",
    "passw0rd",
    "password",
    "password1",
    "postgres",
    "postgresql",
    "production",
    "rabbitmq",
    "rootpassword",
    "testpassword",
    "undefined",
];
/// The fewest bytes of a secret.
const FEWEST: usize = 8;
/// The fewest of a part of a value, and of a line of a key.
const PART: usize = 12;
const LINE: usize = 16;
/// The most parts of one value.
const MOST: usize = 500;

/// The secrets in one variable.
pub(super) fn secrets_of(name: &str, value: &str) -> Vec<KnownSecret> {
    let (upper, value) = (name.to_ascii_uppercase(), value.trim());
    let mut found = password_in_address(name, value);
    // A key of a known provider is one wherever it stands.
    found.extend(keys_in(value).map(|key| secret(name, key, false)));
    let speaks = |names: &[&str]| names.iter().any(|part| upper.contains(part));
    if value.len() < FEWEST || upper.contains("AUTHOR") || !speaks(SECRET_NAMES) || is_place(value) || is_number(value)
    {
        return found;
    }
    let is_strong = speaks(STRONG_NAMES) && !WORDY_ENDS.iter().any(|end| upper.ends_with(end));
    if is_structure(value) {
        found.extend(parts(name, value));
    } else if looks_random(value) && (is_strong || value.len() >= PART) {
        found.push(secret(name, value, false));
    } else if is_strong && !is_known_to_all(value) && value.bytes().all(|byte| !matches!(byte, b'-' | b'.' | b'/')) {
        // A word that is a password: only all of it counts.
        found.push(secret(name, value, true));
    }
    found
}

/// The parts of a value that is known to be secret: its lines where it has several, the random words of a structure.
pub(super) fn parts(name: &str, value: &str) -> Vec<KnownSecret> {
    let value = value.trim();
    let lines = value.replace("\\n", "\n");
    if lines.contains('\n') && !value.starts_with(['{', '[']) {
        let lines = lines.lines().map(str::trim).filter(|line| line.len() >= LINE && !line.contains("-----"));
        return lines.take(MOST).map(|line| secret(name, line, false)).collect();
    }
    if !is_structure(value) {
        let is_word = !looks_random(value);
        return if value.len() >= FEWEST { vec![secret(name, value, is_word)] } else { Vec::new() };
    }
    let words = lines.split(is_separator).filter(|word| word.len() >= PART && looks_random(word));
    words.take(MOST).map(|word| secret(name, word, false)).collect()
}

fn secret(name: &str, value: &str, whole: bool) -> KnownSecret {
    KnownSecret { name: name.to_owned(), value: value.to_owned(), whole }
}

/// Checks whether a value holds more than one thing: JSON, an address, a list, pairs. A lone sign may well be part of a password.
fn is_structure(value: &str) -> bool {
    let pairs = value.contains('=') && value.contains([';', ',', '&']);
    pairs || value.contains("://") || value.starts_with(['{', '[']) || value.contains(char::is_whitespace)
}

/// Checks whether `c` separates the parts of a structure: JSON, an address, a list.
fn is_separator(c: char) -> bool {
    c.is_whitespace() || matches!(c, '"' | '\'' | '{' | '}' | '[' | ']' | ',' | ';' | '&' | '?' | ':' | '@')
}

/// The password of `scheme://user:password@host`, whatever the variable is called.
fn password_in_address(name: &str, value: &str) -> Vec<KnownSecret> {
    let mut found = Vec::new();
    for (at, _) in value.match_indices("://").take(20) {
        let authority = value[at + 3..].split(['/', '?', '#', ' ', '"', ',']).next().unwrap_or_default();
        let Some((user, _)) = authority.rsplit_once('@') else { continue };
        let (user, password) = user.split_once(':').unwrap_or(("", user));
        // A database of a test has its own name for a password.
        if password.len() >= FEWEST && password != user && !is_known_to_all(password) {
            found.push(secret(name, password, !looks_random(password)));
        }
    }
    found
}

/// The words of a value that look like a key even without a name.
fn keys_in(value: &str) -> impl Iterator<Item = &str> {
    let words = value.split(is_separator).filter(|word| word.len() >= PART);
    words.filter(|word| !mask(word).lines.is_empty()).take(MOST)
}

fn is_known_to_all(password: &str) -> bool {
    KNOWN_TO_ALL.iter().any(|known| known.eq_ignore_ascii_case(password))
}

/// Checks whether a value is a place of this machine.
fn is_place(value: &str) -> bool {
    let drive = value.as_bytes().get(1..3).is_some_and(|rest| rest == b":\\");
    drive || ["/", "./", "../", "~"].iter().any(|start| value.starts_with(start))
}

fn is_number(value: &str) -> bool {
    value.len() < LINE
        && value.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b',' | b'-' | b'+' | b':'))
}

/// Checks whether letters and digits are mixed as no word mixes them.
fn looks_random(value: &str) -> bool {
    #[derive(PartialEq)]
    enum Kind {
        Lower,
        Upper,
        Digit,
        Sign,
    }
    let kinds: Vec<Kind> = value
        .chars()
        .map(|c| match c {
            'A'..='Z' => Kind::Upper,
            'a'..='z' => Kind::Lower,
            '0'..='9' => Kind::Digit,
            _ => Kind::Sign,
        })
        .collect();
    let within = kinds.windows(2).filter(|pair| pair[0] != Kind::Sign && pair[1] != Kind::Sign);
    let switches = within.filter(|pair| pair[0] != pair[1]).count();
    let signs = kinds.iter().filter(|kind| **kind == Kind::Sign).count();
    switches >= 3 || (switches >= 1 && kinds.contains(&Kind::Digit) && signs * 4 >= kinds.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(name: &str, value: &str) -> Vec<String> {
        secrets_of(name, value).into_iter().map(|secret| secret.value).collect()
    }

    #[test]
    fn secrets_are_known_by_name_and_by_look() {
        for (name, value) in [
            ("GITHUB_TOKEN", "ghp_16C7e42F292c6912E7710c838347Ae178B4a"),
            ("OPENAI_API_KEY", "sk-proj-9aK2mX7qL4vT8wZ1"),
            ("AWS_SECRET_ACCESS_KEY", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"),
            ("PGPASSWORD", "hunterhunter"),
            ("DB_PASS", "Tr0ub4dor&3xQ"),
            ("npm_config__auth", "bXk6c2VjcmV0MTIzNDU2"),
            ("MYSQL_PWD", "x9!k2@m4#p6"),
        ] {
            assert!(!values(name, value).is_empty(), "{name}");
        }
    }

    #[test]
    fn a_key_of_a_known_provider_is_a_secret_under_any_name() {
        let key = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";
        assert_eq!(values("DEPLOY", key), [key]);
        assert_eq!(values("SETTINGS", &format!("{{\"a\": \"{key}\"}}")), [key]);
        assert_eq!(values("DEPLOY", "production"), Vec::<String>::new());
    }

    #[test]
    fn what_only_stands_in_such_a_variable_is_no_secret() {
        for (name, value) in [
            ("SSH_AUTH_SOCK", "/tmp/ssh-XXabc123/agent.4711"),
            ("XDG_SESSION_TYPE", "wayland-session"),
            ("SESSION_MANAGER", "local/desk:@/tmp/.ICE-unix/1234"),
            ("GIT_AUTHOR_NAME", "Some Body 2nd"),
            ("SECRET_NAME", "production-database"),
            ("KEYBOARD", "pc105-qwertz"),
            ("PASSWORD_EXPIRY", "20261121"),
            ("USE_AUTH", "true"),
            ("PASSWORD_STORE_DIR", "~/passwords1A2b3C"),
            ("PATH", "/usr/bin:/bin"),
            ("HOSTNAME", "a1b2c3d4e5f6"),
            ("DESKTOP_SESSION", "ubuntu-xorg"),
            ("MYSQL_ROOT_PASSWORD", "password"),
            ("POSTGRES_PASSWORD", "postgres"),
            ("DATABASE_URL", "postgres://postgres:postgres@localhost:5432/app_test"),
            ("DATABASE_URL", "postgres://app_test:app_test@localhost/app_test"),
        ] {
            assert_eq!(values(name, value), Vec::<String>::new(), "{name}");
        }
    }

    #[test]
    fn a_structure_gives_its_random_parts() {
        let json = r#"{"type": "service_account", "private_key": "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0B\n-----END PRIVATE KEY-----\n", "client_email": "robot@example.com"}"#;
        assert_eq!(values("GOOGLE_CREDENTIALS", json), ["MIIEvQIBADANBgkqhkiG9w0B"]);
        assert_eq!(values("DATABASE_URL", "postgres://app:s3cr3tPw9x@db.example/app"), ["s3cr3tPw9x"]);
        assert_eq!(values("PROXY", "http://robot:letmeinplease@proxy.example"), ["letmeinplease"]);
        assert_eq!(values("HOMEPAGE", "https://example.com/a@b"), Vec::<String>::new());
    }
}
