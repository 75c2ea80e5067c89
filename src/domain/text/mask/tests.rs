//! What is masked and what is not. Keys are put together here, so that no scanner takes this file for a leak.

use super::*;
use proptest::prelude::*;

/// Letters and digits in no order.
fn noise(length: usize, alphabet: &str) -> String {
    let alphabet: Vec<char> = alphabet.chars().collect();
    let mut state = 7usize;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        alphabet[(state >> 33) % alphabet.len()]
    };
    (0..length).map(|_| next()).collect()
}

const MIXED: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const UPPER: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
const HEX: &str = "0123456789abcdef";

fn mixed(prefix: &str, length: usize) -> String {
    format!("{prefix}{}", noise(length, MIXED))
}

/// One of every kind, each with the line it stands in.
fn secrets() -> Vec<(&'static str, String, String)> {
    let plain = [
        ("aws-access-key", format!("AKIA{}", noise(16, UPPER))),
        ("aws-access-key", format!("ASIA{}", noise(16, UPPER))),
        ("github-token", mixed("ghp_", 36)),
        ("github-token", mixed("ghs_", 36)),
        ("github-token", format!("github_pat_{}_{}", noise(22, MIXED), noise(59, MIXED))),
        ("gitlab-token", mixed("glpat-", 20)),
        ("slack-token", format!("xoxb-{}-{}-{}", noise(12, "0123456789"), noise(12, "0123456789"), noise(24, MIXED))),
        ("stripe-key", mixed("sk_live_", 24)),
        ("stripe-key", mixed("rk_live_", 99)),
        ("google-api-key", mixed("AIza", 35)),
        ("openai-key", mixed("sk-", 48)),
        ("openai-key", mixed("sk-proj-", 120)),
        ("anthropic-key", format!("sk-ant-api03-{}-{}AA", noise(60, MIXED), noise(30, MIXED))),
        ("npm-token", mixed("npm_", 36)),
        ("pypi-token", mixed("pypi-AgEI", 120)),
        ("sendgrid-key", format!("SG.{}.{}", noise(22, MIXED), noise(43, MIXED))),
        ("jwt", format!("eyJhbGciOiJIUzI1NiJ9.eyJ{}.{}", noise(40, MIXED), noise(43, MIXED))),
    ];
    let mut all: Vec<_> = plain.into_iter().map(|(kind, key)| (kind, format!("let a = \"{key}\";"), key)).collect();
    let secret = noise(40, MIXED);
    all.push(("aws-secret-key", format!("AWS_SECRET_ACCESS_KEY={secret}"), secret.clone()));
    all.push(("aws-secret-key", format!("  secretAccessKey: '{secret}',"), secret));
    let hook = format!("T{}/B{}/{}", noise(9, UPPER), noise(9, UPPER), noise(24, MIXED));
    all.push(("slack-webhook", format!("url: https://hooks.slack.com/services/{hook}"), hook));
    let twilio = noise(32, HEX);
    all.push(("twilio-token", format!("TWILIO_AUTH_TOKEN={twilio}"), twilio));
    let word = noise(14, MIXED);
    all.push(("url-password", format!("DB=postgres://shop:{word}@db.internal:5432/shop"), word));
    let value = noise(24, MIXED);
    all.push(("assigned-secret", format!("db_password = \"{value}\""), value.clone()));
    all.push(("assigned-secret", format!("const API_TOKEN: &str = \"{value}\";"), value.clone()));
    all.push(("assigned-secret", format!("  \"client_secret\": '{value}',"), value));
    all
}

#[test]
fn every_pattern_compiles_and_finds_its_kind() {
    for (kind, line, secret) in secrets() {
        let hits = secrets_in(&line);
        let found: Vec<_> = hits.iter().map(|hit| (hit.kind, &line[hit.range.clone()])).collect();
        assert_eq!(found, [(kind, secret.as_str())], "{line}");
        assert_eq!(mask(&line).text, line.replace(&secret, &format!("[masked:{kind}]")));
    }
}

#[test]
fn names_in_any_script_keep_their_secret() {
    let value = mixed("", 32);
    for name in ["token_für_büro", "passwort", "secretキー", "api_keyключ"] {
        let hits = secrets_in(&format!("{name} = \"{value}\""));
        assert_eq!(hits.iter().map(|hit| hit.kind).collect::<Vec<_>>(), ["assigned-secret"], "{name}");
    }
}

#[test]
fn what_only_looks_like_a_secret_is_left_alone() {
    let fine = [
        "AKIAIOSFODNN7EXAMPLE".to_owned(),
        format!("ghp_{}", "x".repeat(36)),
        format!("task-{}", noise(48, MIXED)),
        format!("commit {}", noise(40, HEX)),
        "postgres://user:password@localhost/db".to_owned(),
        "postgres://app:${DB_PASSWORD}@db/app".to_owned(),
        "https://user:<password>@host/x".to_owned(),
        "redis://default:changeme@redis.internal".to_owned(),
        "see http://a.b/c:d@e".to_owned(),
        "password = os.environ[\"DATABASE_PASSWORD_2\"]".to_owned(),
        "token = \"my-test-token-1234567\"".to_owned(),
        "secret_name = \"prod/Db01/credentialsA9x\"".to_owned(),
        "password_hash = \"aB3dE5fG7hJ9kL1mN3pQ\"".to_owned(),
        "const TOKEN_URL: &str = \"oauth2v1TokenEndpoint9\";".to_owned(),
        "token = \"application/vnd.api+json2\"".to_owned(),
        "let token = TokenStream2::new(Ident1234567890);".to_owned(),
        "if text.contains(\"-----BEGIN RSA PRIVATE KEY-----\") {\n    return true;\n}\n".to_owned(),
        "-----BEGIN CERTIFICATE-----\nMIIDdzCCAl+gAwIBAgIEAgAAuTANBgkqhkiG9w0BAQUFADBaMQswCQYDVQQGEwJJ\n".to_owned(),
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U".to_owned(),
    ];
    for text in fine {
        assert_eq!(secrets_in(&text), [], "{text}");
    }
}

#[test]
fn a_key_block_keeps_its_lines() {
    let body: Vec<String> = (0..5).map(|at| noise(64 - at, MIXED)).collect();
    let text = format!(
        "a\n-----BEGIN RSA PRIVATE KEY-----\n{}\nAg==\n-----END RSA PRIVATE KEY-----\nb = {}\n",
        body.join("\n"),
        body[0]
    );
    let masked = mask(&text);
    assert_eq!(masked.text.lines().count(), text.lines().count());
    assert_eq!(masked.lines, [3, 4, 5, 6, 7, 8]);
    let block = masked.text.split("b = ").next().unwrap();
    assert!(body.iter().all(|line| !block.contains(line.as_str())) && !block.contains("Ag=="));
    assert!(masked.text.ends_with(&format!("b = {}\n", body[0])), "what follows the block is not part of it");
}

#[test]
fn a_key_in_one_string_is_masked_too() {
    let text = format!(
        "k = \"-----BEGIN PRIVATE KEY-----\\n{}\\n{}\\n-----END PRIVATE KEY-----\"",
        noise(64, MIXED),
        noise(40, MIXED)
    );
    let masked = mask(&text).text;
    assert_eq!(masked.matches("[masked:private-key]").count(), 2, "{masked}");
    assert!(masked.ends_with("-----END PRIVATE KEY-----\""));
}

#[test]
fn many_beginnings_on_one_line_do_not_multiply() {
    let begin = "-----BEGIN PRIVATE KEY----- ";
    assert_eq!(secrets_in(&begin.repeat(200_000)), []);
    let text = format!("{begin}{} ", noise(64, MIXED)).repeat(20_000);
    assert_eq!(secrets_in(&text).len(), 20_000);
}

#[test]
fn lines_are_told_once_and_in_order() {
    let key = mixed("ghp_", 36);
    let masked = mask(&format!("\n{key} {key}\r\nx\n{key}"));
    assert_eq!(masked.lines, [2, 4]);
    assert_eq!(masked.text, "\n[masked:github-token] [masked:github-token]\r\nx\n[masked:github-token]");
}

fn piece() -> impl Strategy<Value = String> {
    let known: Vec<String> = secrets().into_iter().flat_map(|(_, line, secret)| [line, secret]).collect();
    let block = format!("-----BEGIN PRIVATE KEY-----\n{}\n", noise(64, MIXED));
    prop_oneof![
        3 => proptest::sample::select(known),
        1 => Just(block),
        1 => Just("-----END PRIVATE KEY-----".to_owned()),
        2 => "[\\n\\r \"'=:@/._-]{1,3}",
        2 => "\\PC{0,8}",
        1 => proptest::sample::select(vec!["password", "token = \"", "sk-", "eyJ", "://a:", "[masked:", "aws_secret_key="]).prop_map(str::to_owned),
    ]
}

proptest! {
    #[test]
    fn masking_keeps_lines_and_leaves_nothing_to_mask(pieces in proptest::collection::vec(piece(), 0..12)) {
        let text = pieces.concat();
        let masked = mask(&text);
        let breaks = |text: &str| text.matches('\n').count();
        prop_assert_eq!(breaks(&masked.text), breaks(&text));
        prop_assert_eq!(secrets_in(&masked.text), []);
        prop_assert_eq!(&mask(&masked.text).text, &masked.text);
    }
}
