//! Properties that distinguish a secret from a name, a path or a placeholder.

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
    &["example", "xxxx", "placeholder", "redacted", "dummy", "fake", "sample", "your", "secret", "test"];
/// Keys that a manual gives to everybody: of the storage emulator for Azure.
const KNOWN: &[&str] = &["Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq"];
/// Minimum number of equal characters in a row, or each following on the one before, are no chance.
const RUN: usize = 6;

/// Checks whether a key of a provider's format was written by hand: it says so, counts up, repeats a character or itself.
pub(super) fn is_placeholder_key(value: &str) -> bool {
    // Its prefix is the provider's and may say anything.
    let body = value.rsplit(['_', '-', '.', ':']).find(|part| part.len() >= 12).unwrap_or(value);
    let low = body.to_ascii_lowercase();
    let known = KNOWN.iter().any(|known| value.starts_with(known));
    known || SHOWN.iter().any(|word| low.contains(word)) || is_run(low.as_bytes()) || is_repeated(low.as_bytes())
}

/// Checks whether characters count up or stay the same for long.
fn is_run(bytes: &[u8]) -> bool {
    let (mut same, mut up) = (1, 1);
    bytes.windows(2).any(|pair| {
        let follows = pair[1] == pair[0].wrapping_add(1) || (pair[0] == b'9' && pair[1] == b'0');
        same = if pair[1] == pair[0] { same + 1 } else { 1 };
        up = if follows { up + 1 } else { 1 };
        same >= RUN || up >= RUN
    })
}

/// Checks whether a value is a shorter text three times or more. Longer ones than any key of one line are not looked at.
fn is_repeated(bytes: &[u8]) -> bool {
    bytes.len() <= 256 && (1..=bytes.len() / 3).any(|period| bytes.iter().zip(&bytes[period..]).all(|(a, b)| a == b))
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
    "ch4ng3m3",
    "ch4n63m3",
    "crwdns",
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

/// Prefixes of names whose values look like secrets and are none: made to be shown, or a mark of a place.
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

/// Checks whether a value that is assigned to a name with `secret`, `token` and the like in it is one.
///
/// `before` is what stands before the word, `name` the word and the rest of the name.
pub(super) fn is_assigned_secret(before: &str, name: &str, value: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let name = name.strip_suffix("default").map_or(name.as_str(), |rest| rest.trim_end_matches('_'));
    let before: String = before.chars().rev().take_while(|c| c.is_alphanumeric() || matches!(c, '_' | '-')).collect();
    let before: String = before.to_ascii_lowercase().chars().rev().collect();
    let about = ABOUT.iter().any(|end| name.strip_suffix(end).is_some_and(|rest| rest.len() >= 5))
        || (name.starts_with("token") && SHARED.iter().any(|word| before.contains(word)))
        || before.contains("publi");
    !about && is_random(value)
}

/// The same where the value stands without quotes, in a line with nothing else: it could be a name of code, so it must look like no word at all.
pub(super) fn is_bare_secret(before: &str, name: &str, value: &str) -> bool {
    let line = before.rsplit('\n').next().unwrap_or_default();
    // What comes before may be cut: then no line begins here.
    let begins = line.len() < before.len() || before.len() < 64;
    let head = line.trim_start();
    let head =
        ["export ", "ENV ", "ARG ", "set ", "- "].iter().find_map(|word| head.strip_prefix(word)).unwrap_or(head);
    let is_name = head.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte));
    begins && is_name && is_scrambled(value) && is_assigned_secret(before, name, value)
}

/// The same in the query of a URL (`?api_key=…&`) or in a string of settings (`Server=a;Password=…;`): between signs that set parameters apart.
pub(super) fn is_parameter_secret(before: &str, name: &str, value: &str) -> bool {
    let ahead = before.trim_end_matches(|c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'));
    ahead.ends_with(['?', '&', ';', '"', '\'', '`']) && is_scrambled(value) && is_assigned_secret(before, name, value)
}

/// Checks whether the user and the password of an `Authorization` header, in base64, are those of somebody.
pub(super) fn is_basic_password(pair: &str) -> bool {
    let pair = decode(pair).and_then(|pair| String::from_utf8(pair).ok());
    let Some((_, password)) = pair.as_deref().and_then(|pair| pair.split_once(':')) else { return false };
    password.len() >= 8 && password.bytes().all(|byte| byte.is_ascii_graphic()) && is_random_text(password)
}

/// Checks whether upper case, lower case and digits alternate as they do by chance; in names they stand in groups.
fn is_scrambled(value: &str) -> bool {
    let Some(part) = value.split(|c: char| !c.is_ascii_alphanumeric()).max_by_key(|part| part.len()) else {
        return false;
    };
    let class = |byte: u8| (byte.is_ascii_digit(), byte.is_ascii_uppercase());
    let changes = part.as_bytes().windows(2).filter(|pair| class(pair[0]) != class(pair[1])).count();
    part.len() >= 12 && changes * 5 >= (part.len() - 1) * 2
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
    // Base64 that spells a text is as secret as that text.
    if let Some(spelled) = decode(value).filter(|bytes| bytes.len() >= 8 && bytes.iter().all(u8::is_ascii_graphic)) {
        return std::str::from_utf8(&spelled).is_ok_and(is_random_text);
    }
    is_random_text(value)
}

fn is_random_text(value: &str) -> bool {
    let low = value.to_ascii_lowercase();
    let count = |is: fn(&u8) -> bool| value.bytes().filter(is).count();
    if STAND_INS.iter().any(|word| low.contains(word)) || count(u8::is_ascii_digit) == 0 {
        return false;
    }
    if is_uuid(value) || value.contains("...") || is_run(low.as_bytes()) || is_repeated(low.as_bytes()) {
        return false;
    }
    // What guards the integrity of a package is no secret (Subresource Integrity, and lock files).
    if ["sha1-", "sha256-", "sha384-", "sha512-", "sha256:", "sha512:"].iter().any(|start| value.starts_with(start)) {
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

/// Checks whether the password of a URL is one that guards something.
pub(super) fn is_url_password(user: &str, password: &str, host: &str) -> bool {
    let low = password.to_ascii_lowercase();
    let shown = USUAL.contains(&low.as_str())
        || low == user.to_ascii_lowercase()
        || [
            "xxx",
            "***",
            "...",
            "your",
            "example",
            "placeholder",
            "redacted",
            "password",
            "replace",
            "change",
            "%s",
            "%v",
            "%d",
        ]
        .iter()
        .any(|word| low.contains(word))
        || password.bytes().all(|byte| !byte.is_ascii_alphanumeric())
        || (password.len() <= 5 && password.bytes().all(|byte| byte.is_ascii_digit()));
    let host = host.to_ascii_lowercase();
    let near =
        host == "localhost" || host.starts_with("127.") || host.starts_with("0.0.0.0") || host.starts_with("[::1");
    let reserved = ["example.com", "example.org", "example.net", "example", "test", "invalid"];
    let nobody = host == "host"
        || host == "hostname"
        || reserved.iter().any(|name| host == *name || host.ends_with(&format!(".{name}")));
    !(shown || near || nobody || password.len() < 4)
}

/// Checks whether three parts are a token: the first decodes to JSON with an algorithm, and it is not the one of every tutorial.
pub(super) fn is_jwt(token: &str) -> bool {
    let mut parts = token.split('.');
    let (Some(header), Some(payload)) = (parts.next(), parts.next()) else { return false };
    let known = payload.starts_with("eyJzdWIiOiIxMjM0NTY3ODkwI");
    // Such keys are made to be given to browsers.
    let is_public = || decode(payload).is_some_and(|json| memchr::memmem::find(&json, b"\"role\":\"anon\"").is_some());
    let is_header = |json: Vec<u8>| json.starts_with(b"{") && memchr::memmem::find(&json, b"\"alg\"").is_some();
    !known && decode(header).is_some_and(is_header) && !is_public()
}

/// Base64 with the alphabet of URLs (RFC 4648 §5), padding optional.
pub(super) fn decode(text: &str) -> Option<Vec<u8>> {
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
