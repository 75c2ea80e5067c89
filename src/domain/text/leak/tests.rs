//! The spellings in which a secret is found, and code that holds none.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE, URL_SAFE_NO_PAD};
use proptest::prelude::*;

use super::{ENOUGH, KnownSecret, SpelledSecrets};
use crate::domain::percent::encode_part;

const TOKEN: &str = "canary_9fK2+xQ7/vLm3Z-pT8wRb4Hn6Yd1Ec5";

fn known(values: &[&str]) -> SpelledSecrets {
    let secrets: Vec<KnownSecret> = values
        .iter()
        .map(|value| KnownSecret { name: "TOKEN".to_owned(), value: (*value).to_owned(), whole: false })
        .collect();
    SpelledSecrets::from_secrets(&secrets)
}

fn between(text: &str, sign: &str) -> String {
    text.chars().map(String::from).collect::<Vec<_>>().join(sign)
}

fn spellings() -> Vec<(&'static str, String)> {
    let (half, rest) = TOKEN.split_at(19);
    let embedded = |before: &str| STANDARD.encode(format!("{before}{TOKEN} and more"));
    vec![
        ("plain", TOKEN.to_owned()),
        ("upper case", TOKEN.to_uppercase()),
        ("base64", STANDARD.encode(TOKEN)),
        ("base64 without padding", STANDARD.encode(TOKEN).trim_end_matches('=').to_owned()),
        ("base64 for addresses", URL_SAFE.encode(TOKEN)),
        ("base64 for addresses without padding", URL_SAFE_NO_PAD.encode(TOKEN)),
        ("base64 within other text, first place", embedded("env")),
        ("base64 within other text, second place", embedded("GITHUB_TOKEN=x")),
        ("base64 within other text, third place", embedded("KEY: ")),
        ("base64 in lines", between(&STANDARD.encode(TOKEN), "\n")),
        ("percent", encode_part(TOKEN.as_bytes())),
        ("spaces", between(TOKEN, " ")),
        ("hyphens", between(TOKEN, "-")),
        ("quotes", between(TOKEN, "','")),
        ("zero width", between(TOKEN, "\u{200b}")),
        ("lines", between(TOKEN, "\n")),
        ("joined strings", format!("\"{half}\" + \"{rest}\"")),
        ("the first seven cut off", TOKEN[7..].to_owned()),
        ("the last nine cut off", TOKEN[..TOKEN.len() - 9].to_owned()),
        ("the middle", TOKEN[10..26].to_owned()),
        ("base64 of a part", STANDARD.encode(&TOKEN[7..])),
        ("Markdown", between(TOKEN, "**")),
    ]
}

#[test]
fn a_secret_is_found_in_each_spelling() {
    let known = known(&["something-else-41b8Xq", TOKEN]);
    for (how, text) in spellings() {
        let text = format!("The value is:\n{text}\nas you see.");
        let (masked, count) = known.mask(&text);
        assert!(count > 0, "{how}: {text}");
        assert!(masked.contains("[masked:TOKEN]"), "{how}: {masked}");
        assert_eq!(masked.lines().count(), text.lines().count(), "{how}");
        assert!(masked.starts_with("The value is:\n") && masked.ends_with("\nas you see."), "{how}: {masked}");
        assert_eq!(known.mask(&masked), (masked.clone(), 0), "{how}");
        let told = masked.replace("The value is:", "").replace("as you see.", "").replace("[masked:TOKEN]", "");
        let left = told.chars().filter(char::is_ascii_alphanumeric).count();
        assert!(left <= 4, "{how}: {left} letters are left: {told}");
    }
}

#[test]
fn a_short_secret_is_found_too() {
    let known = known(&["Tr0ub4dor"]);
    for text in ["Tr0ub4dor", "pass=Tr0ub4dor;", "VHIwdWI0ZG9y", "T r 0 u b 4 d o r"] {
        assert_eq!(known.mask(text).1, 1, "{text}");
    }
    for text in ["Tr0ub", "4dor", "trouble door", "r0u b4d"] {
        assert_eq!(known.mask(text).1, 0, "{text}");
    }
}

#[test]
fn a_secret_of_signs_is_found_as_it_is() {
    let known = known(&["p@$$-!#w%&*("]);
    assert_eq!(known.mask("it is p@$$-!#w%&*( there").0, "it is [masked:TOKEN] there");
    assert_eq!(known.mask(&STANDARD.encode("p@$$-!#w%&*(")).1, 1);
    assert_eq!(known.mask("p w").1, 0);
}

#[test]
fn a_password_that_is_a_word_counts_whole() {
    let secret = KnownSecret { name: "PASSWORD".to_owned(), value: "correcthorsebattery".to_owned(), whole: true };
    let known = SpelledSecrets::from_secrets(&[secret]);
    assert_eq!(known.mask("it is correcthorsebattery").1, 1);
    assert_eq!(known.mask("correct horse batteries").1, 0);
}

#[test]
fn words_that_a_secret_holds_are_no_leak() {
    let known = known(&["my-production-database-x7Kd9qW2"]);
    for text in ["the production database is down", "my production data", "mydatabase-production"] {
        assert_eq!(known.mask(text).1, 0, "{text}");
    }
    assert_eq!(known.mask("database-x7Kd9qW2").1, 1);
}

#[test]
fn ordinary_code_comes_out_as_it_went_in() {
    let values = [
        TOKEN,
        "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
        "sk-ant-api03-R2D2vN8xKq1mZt6cYw3LbP5sHf9Jg4Ua7Ed0Xo-Qi1Tz8Mn6Vk3Br5Cw",
        "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
        "postgres-9xV2mQ",
        "MIIEpAIBAAKCAQEAx8xK1mQ2nL7vR4tY9wZ3bC6dF5gH0jK8lM1nO4pQ7rS2tU5v",
    ];
    let known = known(&values);
    for source in [
        include_str!("mod.rs"),
        include_str!("../mask/patterns.rs"),
        include_str!("../../review/mod.rs"),
        include_str!("../../../present/digest.rs"),
        include_str!("../../../publish/draft/mod.rs"),
        include_str!("../../../../fixtures/documents/typical.json"),
        include_str!("../../../../fixtures/documents/hostile.json"),
        include_str!("../../../../Cargo.lock"),
        include_str!("../../../../README.md"),
    ] {
        assert_eq!(known.leaks(source), Vec::new());
    }
}

#[test]
fn nothing_known_finds_nothing_and_tells_nothing() {
    assert_eq!(SpelledSecrets::default().mask(TOKEN), (TOKEN.to_owned(), 0));
    assert!(!format!("{:?}", known(&[TOKEN])).contains("9fK2"));
    assert_eq!(known(&["aaaaaaaaaaaaaaaaaaaa", "short"]).leaks("aaaaaaaaaaaaaaaaaaaaaaaaaa short"), [(0..26, "TOKEN")]);
}

proptest! {
    #[test]
    fn any_text_may_be_read_and_once_is_enough(
        pieces in proptest::collection::vec(prop_oneof![".{0,12}", Just(TOKEN[..15].to_owned()), Just(STANDARD.encode(&TOKEN[..15])), Just("%é".to_owned())], 0..12)
    ) {
        let text = pieces.concat();
        let known = known(&[TOKEN, "Tr0ub4dor"]);
        let (masked, _) = known.mask(&text);
        prop_assert_eq!(masked.matches('\n').count(), text.matches('\n').count());
        prop_assert!(!masked.contains(&TOKEN[..15]));
    }

    #[test]
    fn any_part_that_is_long_enough_is_found(secret in "([A-Za-z]{1,3}[0-9][+/_-]?){8,15}", from in 0..12usize, length in 16..48usize) {
        let part = &secret[from..(from + length).min(secret.len())];
        prop_assume!(super::letters(part).count() >= ENOUGH);
        prop_assert_eq!(known(&[&secret]).mask(part).1, 1);
    }
}
