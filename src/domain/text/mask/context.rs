//! Secrets by their position: blocks of keys, passwords in URLs, values of names that say so. The table is [`PLACED`].

use super::patterns::{ASSIGNED, SecretLocation, SecretPattern, URL_PASSWORD, group, pattern, secret};
use super::values::{
    entropy, is_assigned_secret, is_bare_secret, is_basic_password, is_parameter_secret, is_placeholder_key,
    is_url_password,
};

/// The only kind that depends on the lines before it: on their words, and on the masks that came into them.
const AWS_SECRET_KEY: &str = "aws-secret-key";

/// Checks whether a text has what may be a secret by the lines before it.
pub(super) fn may_depend_on_lines(text: &str) -> bool {
    PLACED.iter().any(|secret| secret.kind == AWS_SECRET_KEY && secret.may_be_in(text))
}

/// Every kind.
///
/// Quotes may be escaped, as in JSON that stands in a string. Names take every character beyond ASCII, not only letters: a Unicode class that is repeated so often takes milliseconds to compile.
pub(super) static PLACED: &[SecretPattern] = &[
    SecretPattern { kind: "private-key", words: &["-----BEGIN", "Private-Lines: "], how: SecretLocation::PrivateKey },
    pattern!(
        AWS_SECRET_KEY,
        &["secret", "Secret", "SECRET"],
        r#"(?i:secret[_-]?(?P<access>access[_-]?)?key)["']?[ \t]{0,16}(?:=>|:=|=|:)[ \t]{0,16}["']?(?P<secret>[A-Za-z0-9/+]{40})"#,
        true,
        |groups, before| {
            let value = secret(groups).map_or("", |secret| secret.as_str());
            let is_aws = groups.name("access").is_some() || before.to_ascii_lowercase().contains("aws");
            is_aws
                && entropy(value) >= 4.0
                && !is_placeholder_key(value)
                && !value.bytes().all(|byte| byte.is_ascii_hexdigit())
        }
    ),
    pattern!(
        URL_PASSWORD,
        &["://"],
        r#"://([^\s:@/"'`<>{}$()]{0,64}):(?P<secret>[^\s@/"'`<>{}$()\[\]]{3,128})@(?P<host>[A-Za-z0-9.\[-]+)"#,
        true,
        |groups, _| {
            let (user, host) = (group(groups, 1), groups.name("host").map_or("", |host| host.as_str()));
            secret(groups).is_some_and(|password| is_url_password(user, password.as_str(), host))
        }
    ),
    pattern!(
        ASSIGNED,
        NAMES,
        r#"(?P<name>[0-9A-Za-z_.\u{80}-\u{10ffff}-]{1,50})\\{0,4}["'\]]{0,2}(?:[ \t]{0,16}:[ \t]{0,4}[&'0-9A-Za-z_\u{80}-\u{10ffff}<>\[\]. ]{1,30}?)?[ \t]{0,16}(?:=>|:=|=|:)[ \t]{0,16}[bfru]{0,2}\\{0,4}["'`](?P<secret>[A-Za-z0-9!#$%&*+,./:;=?@^_~|-]{16,200})\\{0,4}["'`]"#,
        true,
        |groups, before| {
            let name = groups.name("name").map_or("", |name| name.as_str());
            secret(groups).is_some_and(|value| is_assigned_secret(before, name, value.as_str()))
        }
    ),
    // Without quotes only where a line is nothing but the name and the value: settings, not code.
    pattern!(
        ASSIGNED,
        NAMES,
        r#"(?P<name>[0-9A-Za-z_-]{1,50})(?:=|:[ \t]{1,4})(?P<secret>[A-Za-z0-9!#$%&*+./=?@^_~|-]{16,200})[ \t\r]{0,8}(?:\n|\z|#)"#,
        true,
        |groups, before| {
            let name = groups.name("name").map_or("", |name| name.as_str());
            secret(groups).is_some_and(|value| is_bare_secret(before, name, value.as_str()))
        }
    ),
    // Nor in the query of a URL, or among the settings of a connection in one string.
    pattern!(
        ASSIGNED,
        NAMES,
        r#"(?P<name>[0-9A-Za-z_-]{1,50})=(?P<secret>[A-Za-z0-9!$*+./?@^_~|%-]{16,200}?)(?:[&;"'`<>)#\s]|\\|\z)"#,
        true,
        |groups, before| {
            let name = groups.name("name").map_or("", |name| name.as_str());
            secret(groups).is_some_and(|value| is_parameter_secret(before, name, value.as_str()))
        }
    ),
    pattern!(
        URL_PASSWORD,
        &["%3A%2F%2F", "%3a%2f%2f"],
        r"(?i:%3a%2f%2f)([A-Za-z0-9._~-]{0,64})(?i:%3a)(?P<secret>[A-Za-z0-9._~!*%-]{3,128}?)%40(?P<host>[A-Za-z0-9.-]+)",
        true,
        |groups, _| {
            let (user, host) = (group(groups, 1), groups.name("host").map_or("", |host| host.as_str()));
            secret(groups).is_some_and(|password| is_url_password(user, password.as_str(), host))
        }
    ),
    // RFC 7617.
    pattern!(
        "basic-password",
        &["Basic "],
        r"Basic {1,4}(?P<secret>[A-Za-z0-9+/]{12,400}={0,2})",
        true,
        |groups, _| secret(groups).is_some_and(|pair| is_basic_password(pair.as_str()))
    ),
];

/// Parts of names whose values are secrets.
const NAMES: &[&str] = &[
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
    "private_key",
    "privateKey",
    "PRIVATE_KEY",
    "assphrase",
    "ASSPHRASE",
];
