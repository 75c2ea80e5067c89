//! What a value must be like to be a secret rather than a name, a path or a made-up one.

/// Bits of information a character, by the frequency of the bytes in `value` (Shannon).
pub(super) fn entropy(value: &str) -> f64 {
    let mut counts = [0u32; 256];
    for byte in value.bytes() {
        counts[usize::from(byte)] += 1;
    }
    let total = f64::from(u32::try_from(value.len()).unwrap_or(u32::MAX).max(1));
    let of = |count: &u32| {
        let share = f64::from(*count) / total;
        -share * share.log2()
    };
    counts.iter().filter(|count| **count > 0).map(of).sum()
}

/// Parts of keys that were written by hand to show the format.
const SHOWN: &[&str] =
    &["example", "xxxx", "1234567890", "0123456789", "abcdefgh", "00000000", "placeholder", "redacted"];

/// Whether a key of a provider's format was written by hand.
pub(super) fn is_made_up(value: &str) -> bool {
    let low = value.to_ascii_lowercase();
    SHOWN.iter().any(|word| low.contains(word))
}

/// Words of values that stand for a secret and are none.
const STAND_INS: &[&str] = &[
    "example",
    "sample",
    "test",
    "dummy",
    "fake",
    "mock",
    "placeholder",
    "changeme",
    "change-me",
    "change_me",
    "your",
    "xxx",
    "todo",
    "insert",
    "redacted",
    "masked",
    "secret",
    "token",
    "passw",
    "12345",
    "abcde",
    "qwert",
    "foobar",
    "default",
    "replace",
    "invalid",
    "localhost",
    "process.env",
    "api_key",
    "apikey",
    "hunter2",
    "deadbeef",
    "lorem",
];

/// Endings of names that hold something about a secret, not the secret.
const ABOUT: &[&str] = &[
    "url",
    "uri",
    "file",
    "path",
    "name",
    "type",
    "id",
    "endpoint",
    "hash",
    "digest",
    "header",
    "field",
    "param",
    "env",
    "var",
    "label",
    "prefix",
    "pattern",
    "regex",
    "policy",
    "version",
    "algorithm",
    "kind",
    "arn",
    "ref",
    "selector",
    "placeholder",
    "message",
    "error",
    "hint",
    "help",
    "description",
    "title",
    "template",
    "format",
    "class",
    "scope",
    "scopes",
    "expiry",
    "address",
    "program",
    "mint",
    "contract",
    "symbol",
    "provider",
    "length",
    "store",
    "role",
    "integrity",
    "checksum",
    "sha",
    "sha256",
    "salt_rounds",
];

/// What names begin with that hold something with the shape of a secret that is none: made to be shown, or a mark of a place.
const SHARED: &[&str] = &[
    "public",
    "publish",
    "page",
    "next",
    "continuation",
    "idempot",
    "request",
    "lock",
    "change",
    "purchase",
    "lifecycle",
    "update",
    "sync",
    "cursor",
    "client",
    "reservation",
    "upload",
    "snapshot",
    "csrf",
    "cancel",
];

/// Whether a value that is assigned to a name with `secret`, `token` and the like in it is one.
///
/// `before` is what stands before the word, `name` the word and the rest of the name.
pub(super) fn is_assigned_secret(before: &str, name: &str, value: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let before: String = before.chars().rev().take_while(|c| c.is_alphanumeric() || matches!(c, '_' | '-')).collect();
    let before: String = before.to_ascii_lowercase().chars().rev().collect();
    let about = ABOUT.iter().any(|end| name.strip_suffix(end).is_some_and(|rest| rest.len() >= 5))
        || (name.starts_with("token") && SHARED.iter().any(|word| before.contains(word)))
        || before.contains("publi");
    !about && is_random(value)
}

fn is_random(value: &str) -> bool {
    let low = value.to_ascii_lowercase();
    if STAND_INS.iter().any(|word| low.contains(word))
        || value.starts_with(['$', '%', '/', '.', '#'])
        || value.contains("://")
    {
        return false;
    }
    let count = |is: fn(&u8) -> bool| value.bytes().filter(is).count();
    let (digits, lower, upper) =
        (count(u8::is_ascii_digit), count(u8::is_ascii_lowercase), count(u8::is_ascii_uppercase));
    if digits + lower + upper == digits || digits == 0 {
        return false;
    }
    if is_uuid(value) || value.contains("...") {
        return false;
    }
    if value.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return value.len() >= 32 && entropy(value) >= 3.0;
    }
    // Words joined by signs are a name: a secret has one part that is long and mixed.
    let parts = value.split(['-', '_', '.', ',', '/', ':', ';', ' ']);
    let mixed = |part: &str| {
        let has = |is: fn(&u8) -> bool| part.bytes().any(|byte| is(&byte));
        let digits = part.bytes().filter(u8::is_ascii_digit).count();
        part.len() >= 12 && has(u8::is_ascii_lowercase) && (has(u8::is_ascii_uppercase) || digits >= 3) && digits > 0
            || part.len() >= 16 && has(u8::is_ascii_uppercase) && digits >= 3
    };
    parts.into_iter().any(mixed) && entropy(value) >= 3.5
}

/// A UUID names things; where one is a secret, nothing about it says so.
fn is_uuid(value: &str) -> bool {
    let groups = [8, 4, 4, 4, 12];
    let mut parts = value.split('-');
    groups.iter().all(|length| {
        parts.next().is_some_and(|part| part.len() == *length && part.bytes().all(|byte| byte.is_ascii_alphanumeric()))
    }) && parts.next().is_none()
}

/// Passwords that stand in manuals, tests and local set-ups.
const USUAL: &[&str] = &[
    "pass",
    "passwd",
    "password",
    "pwd",
    "pw",
    "secret",
    "token",
    "user",
    "username",
    "admin",
    "root",
    "guest",
    "postgres",
    "mysql",
    "redis",
    "mongo",
    "rabbitmq",
    "example",
    "test",
    "testing",
    "foo",
    "bar",
    "baz",
    "foobar",
    "pswd",
    "1234",
    "12345",
    "123456",
    "123",
    "abc",
    "abc123",
    "mypassword",
    "mypass",
    "changeme",
    "port",
    "x-oauth-basic",
    "x-access-token",
    "s3cret",
    "hunter2",
    "supersecret",
    "p4ssw0rd",
    "dev",
    "local",
];

/// Whether the password of a URL is one that guards something.
pub(super) fn is_url_password(user: &str, password: &str, host: &str) -> bool {
    let low = password.to_ascii_lowercase();
    let shown = USUAL.contains(&low.as_str())
        || low == user.to_ascii_lowercase()
        || ["xxx", "***", "...", "your", "example", "placeholder", "redacted", "password", "%s", "%v", "%d"]
            .iter()
            .any(|word| low.contains(word))
        || password.bytes().all(|byte| !byte.is_ascii_alphanumeric());
    let host = host.to_ascii_lowercase();
    let near =
        host == "localhost" || host.starts_with("127.") || host.starts_with("0.0.0.0") || host.starts_with("[::1");
    let reserved = ["example.com", "example.org", "example.net", "example", "test", "invalid"];
    let nobody = host == "host"
        || host == "hostname"
        || reserved.iter().any(|name| host == *name || host.ends_with(&format!(".{name}")));
    !(shown || near || nobody || password.len() < 4)
}

/// Whether three parts are a token: the first decodes to JSON with an algorithm, and it is not the one of every tutorial.
pub(super) fn is_jwt(token: &str) -> bool {
    let mut parts = token.split('.');
    let (Some(header), Some(payload)) = (parts.next(), parts.next()) else { return false };
    let known = payload.starts_with("eyJzdWIiOiIxMjM0NTY3ODkwI");
    !known
        && decode(header)
            .is_some_and(|json| json.starts_with(b"{") && memchr::memmem::find(&json, b"\"alg\"").is_some())
}

/// Base64 with the alphabet of URLs (RFC 4648 §5), padding optional.
fn decode(text: &str) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len() * 3 / 4);
    let (mut held, mut bits) = (0u32, 0);
    for byte in text.trim_end_matches('=').bytes() {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'-' | b'+' => 62,
            b'_' | b'/' => 63,
            _ => return None,
        };
        held = held << 6 | u32::from(value);
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            out.push(u8::try_from((held >> bits) & 0xff).ok()?);
            held &= (1 << bits) - 1;
        }
    }
    Some(out)
}
