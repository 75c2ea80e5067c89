//! Tokens of thirteen providers in whatever they may stand in: each is masked everywhere.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use proptest::prelude::*;

use super::{MASK_PREFIX, mask};

/// The kinds: what each is called, and its format. One digit is certain; without one a key in a longer word may be a name.
const KINDS: &[(&str, &str)] = &[
    ("github-token", "gh[pousr]_[A-Za-z0-9]{18}[0-9][A-Za-z0-9]{17}"),
    ("github-token", "github_pat_[A-Za-z0-9]{21}[0-9]_[A-Za-z0-9]{58}[0-9]"),
    ("aws-access-key", "(AKIA|ASIA)[A-Z2-7]{8}[2-7][A-Z2-7]{7}"),
    ("openai-key", "sk-(proj|svcacct)-[A-Za-z0-9]{30}[0-9][A-Za-z0-9_-]{40}[A-Za-z]"),
    ("anthropic-key", "sk-ant-api03-[A-Za-z0-9]{40}[0-9][A-Za-z0-9_-]{45}[A-Za-z]"),
    ("gitlab-token", "glpat-[A-Za-z0-9]{10}[0-9][A-Za-z0-9]{9}"),
    ("slack-token", "xox[bp]-[0-9]{12}-[0-9]{12}-[A-Za-z0-9]{24}"),
    ("stripe-key", "[sr]k_live_[A-Za-z0-9]{12}[0-9][A-Za-z0-9]{11}"),
    ("npm-token", "npm_[A-Za-z0-9]{18}[0-9][A-Za-z0-9]{17}"),
    ("google-api-key", "AIza[A-Za-z0-9]{18}[0-9][A-Za-z0-9_-]{15}[A-Za-z]"),
    ("pypi-token", "pypi-AgEI[A-Za-z0-9]{40}[0-9][A-Za-z0-9_-]{60}[A-Za-z]"),
    ("huggingface-token", "hf_[A-Za-z0-9]{17}[0-9][A-Za-z0-9]{16}"),
    ("sendgrid-key", "SG\\.[A-Za-z0-9]{21}[0-9]\\.[A-Za-z0-9]{42}[0-9]"),
];

/// Surroundings of a token: `{}` is the token, `{base64}` and its kin its encoded forms.
const SURROUNDINGS: &[&str] = &[
    // Quotes and blanks.
    "let key = \"{}\";",
    "key: '{}'",
    "`{}`",
    "{}",
    "  {} # the key",
    "<key>{}</key>",
    // Escapes.
    r#"h = "Authorization:\t{}""#,
    r#"b = "line\n{}\n""#,
    r#"b = "line\r\n{}\r\n""#,
    r#"x = "\x20{}\x20""#,
    r#"x = "\x9{}""#,
    r#"j = "\u0020{}\u0020""#,
    r#"j = "\u{20}{}\u{20}""#,
    r#"j = "\U00000020{}""#,
    r#"o = "\040{}\012""#,
    r#"e = "\e[31m{}\e[0m""#,
    r#"e = "\x1b[0;1m{}\x1b[0m""#,
    r#"z = "\0{}\0""#,
    // Percent signs and their kin.
    "https://h.example/?q=token%3D{}%26b",
    "Bearer%20{}",
    "q=token%253D{}%2526",
    "q=%u003D{}",
    "token=3D{}=\n",
    "&quot;{}&quot;",
    "a=1&key={}&b=2",
    "a+{}+b",
    // Letters, digits and underscores.
    "TOKEN_{}",
    "TOKEN_{}_OLD",
    "key{}",
    "{}and so on",
    "x9{}",
    "__{}__",
    "token-{}-old",
    // JSON in strings, notebooks, headers, shells.
    r#"s = "{\"token\": \"{}\"}""#,
    r#"s = "{\\\"token\\\":\\\"\\n{}\\\"}""#,
    r#"   "source": ["import x\n", "client = x(\"{}\")\n"],"#,
    "curl -H 'Authorization: Bearer {}' https://h.example",
    "-H\"X-Key:{}\"",
    "export KEY=$'{}\\n'",
    // Names.
    "refs/heads/feat-{}",
    "docs/d-{}/a.py",
    "n {} <x{}@h.example>",
    "https://{}@github.com/o/r.git",
    "git@github.com:o/{}.git",
    // Blocks and encodings.
    "-----BEGIN TOKEN-----\n{}\n-----END TOKEN-----",
    "+{}\n-{}\n",
    "  token: {base64}",
    "Authorization: Basic {base64 with a user}",
    "\"auth\":\"{base64url}\",",
    "data = b64(\"{base64 of a file}\")",
    "token: |\n{base64 in lines}\nend: 1\n",
    "t = \"{base64 in escaped lines}\"",
];

/// The kinds of what is a secret by its place, whatever it is.
const PLACED: [&str; 2] = ["[masked:assigned-secret]", "[masked:basic-password]"];

/// How many bytes of a line base64 is wrapped at.
const WIDTH: usize = 64;

fn wrapped(text: &str, end: &str) -> String {
    let lines: Vec<&str> = text.as_bytes().chunks(WIDTH).map(|line| std::str::from_utf8(line).unwrap()).collect();
    lines.join(end)
}

/// The surrounding with the token in it, and what of it must not be left.
fn put(surrounding: &str, token: &str) -> (String, Vec<String>) {
    let file = format!("# settings of the shop\nUSER=shop\nTOKEN={token}\nREGION=eu\n");
    let base64 = |text: &str| STANDARD.encode(text);
    let encoded = [
        ("{base64}", base64(token)),
        ("{base64 with a user}", base64(&format!("me:{token}"))),
        ("{base64url}", URL_SAFE_NO_PAD.encode(format!("who?:{token}"))),
        ("{base64 of a file}", base64(&file)),
        ("{base64 in lines}", wrapped(&base64(&file), "\n  ")),
        ("{base64 in escaped lines}", wrapped(&base64(&file), "\\n")),
    ];
    let mut text = surrounding.to_owned();
    for (name, value) in encoded {
        text = text.replace(name, &value);
    }
    // What the middle of the token is in base64, wherever it begins.
    let middle = &token[4..token.len() - 2];
    let mut secret = vec![token.to_owned(), middle.to_owned()];
    secret.extend((0..3).map(|shift| {
        let padded = base64(&format!("{}{middle}", "x".repeat(shift)));
        padded[4..padded.len() - 4].to_owned()
    }));
    (text.replace("{}", token), secret)
}

fn token() -> impl Strategy<Value = (&'static str, String)> {
    let kinds: Vec<_> = KINDS.iter().map(|(kind, format)| (Just(*kind), format).boxed()).collect();
    // Who writes `test` or `xxxx` into a key shows how it looks, and no provider gives out one of few letters.
    let is_given_out =
        |token: &str| !super::values::is_placeholder_key(token) && super::values::entropy(&token[4..]) >= 3.0;
    proptest::strategy::Union::new(kinds).prop_filter("it is made up", move |(_, token)| is_given_out(token))
}

#[test]
fn there_are_kinds_and_surroundings_enough() {
    assert!(KINDS.len() >= 13 && SURROUNDINGS.len() >= 40);
}

proptest! {
    // Each goes into all surroundings.
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_token_is_masked_wherever_it_stands((kind, token) in token()) {
        for surrounding in SURROUNDINGS {
            let (text, secret) = put(surrounding, &token);
            let masked = mask(&text).text;
            // What is a secret by its name too may be masked with more of the line.
            let as_this = masked.contains(&format!("{MASK_PREFIX}{kind}]")) || PLACED.iter().any(|kind| masked.contains(kind));
            prop_assert!(as_this, "{}: {}", surrounding, masked);
            for part in &secret {
                prop_assert!(!masked.replace("\n  ", "").replace("\\n", "").contains(part.as_str()), "{}: {}", surrounding, masked);
            }
            prop_assert_eq!(masked.matches('\n').count(), text.matches('\n').count());
        }
    }

    #[test]
    fn a_token_is_masked_in_two_surroundings_at_once(
        (kind, token) in token(),
        inner in proptest::sample::select(SURROUNDINGS.iter().filter(|one| !one.contains("base64")).collect::<Vec<_>>()),
        outer in proptest::sample::select(SURROUNDINGS.iter().filter(|one| !one.contains("base64")).collect::<Vec<_>>()),
    ) {
        let text = outer.replace("{}", &inner.replace("{}", &token));
        let masked = mask(&text).text;
        let as_this = masked.contains(&format!("{MASK_PREFIX}{kind}]")) || PLACED.iter().any(|kind| masked.contains(kind));
        prop_assert!(as_this && !masked.contains(&token[4..]), "{}", masked);
    }
}
