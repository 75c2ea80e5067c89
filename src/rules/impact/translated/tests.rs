//! Tests of valid and invalid translations, string by string.

use super::super::super::synthetic_change::SyntheticChange;
use super::format::{TranslationFormat, source_paths};
use super::placeholders::{PlaceholderDialect, placeholder_faults};
use super::{KeyedString, object, pairs, plain, said};

fn told(dialect: PlaceholderDialect, source: &str, translation: &str) -> Vec<String> {
    placeholder_faults(dialect, &[source], translation, false).iter().map(said).collect()
}

#[test]
fn names_are_compared_and_not_their_spacing() {
    let told = |source: &str, translation: &str| told(PlaceholderDialect::Braces, source, translation);
    assert_eq!(told("Hi {name}", "Hei {navn}"), ["has `{navn}` where its source has `{name}`"]);
    assert_eq!(told("{{a}} of {{b}}", "{{ a }} av {{b, number}}"), [""; 0]);
    assert_eq!(told("{{icon}} {{name}}", "{icon}} {{name}}"), ["has `{icon}` where its source has `{{icon}}`"]);
    assert_eq!(told("in {0}", "en: {0]"), ["has `{0}` of its source in pieces"]);
    assert_eq!(told("in {0}", "｛0｝"), ["has `{0}` of its source in pieces"]);
    assert_eq!(told("{a} and {b}", "{b}"), [""; 0]);
    assert_eq!(told("nothing", "{etwas}"), [""; 0]);
    assert_eq!(told("Hi {name}", "Hei { name }"), [""; 0]);
    assert_eq!(told("{n, plural, one {a} other {b}}", "{m}"), [""; 0]);
    assert_eq!(told("{[plural(num) one: a ]}", "{x}"), [""; 0]);
}

#[test]
fn prose_in_braces_is_no_placeholder() {
    let told = |source: &str, translation: &str| told(PlaceholderDialect::Braces, source, translation);
    assert_eq!(told("{name} was moved", "{name} wurde verschoben {siehe unten}"), [""; 0]);
    assert_eq!(told("{name} was moved {see below}", "{name} wurde verschoben {siehe}"), [""; 0]);
    assert_eq!(told("Put {name} between { and }", "Setze {name} zwischen { und }"), [""; 0]);
    assert_eq!(told("Write { and }", "Schreibe { und }"), [""; 0]);
    let wrong = ["has `{navn}` where its source has `{name}`"];
    assert_eq!(told("Put {name} between { and }", "Sett {navn} mellom { og }"), wrong);
}

#[test]
fn arguments_of_printf_are_compared_by_place_and_kind() {
    let told = |source: &str, translation: &str| told(PlaceholderDialect::Printf, source, translation);
    assert_eq!(told("%s has %d", "%d of %s").len(), 2);
    assert_eq!(told("%s has %d", "%2$d of %1$s"), [""; 0]);
    assert_eq!(told("%s has %d", "%s has %'Iu"), [""; 0]);
    assert_eq!(told("%s", "x"), ["lacks `%s`, which its source has"]);
    assert_eq!(told("100%% of %s", "100 %% von %s"), [""; 0]);
    assert_eq!(told("%<PRIu32> left", "<PRIu32> left"), ["lacks `%d`, which its source has"]);
    assert_eq!(told("%*d", "%s"), [""; 0]);
}

#[test]
fn numbers_of_qt_may_be_left_out_and_not_moved() {
    let told = |source: &str, translation: &str| told(PlaceholderDialect::Qt, source, translation);
    assert_eq!(told("Open %1 settings", "Einstellungen"), [""; 0]);
    assert_eq!(told("%1 of %2", "%2"), ["lacks `%1`, which its source has"]);
    assert_eq!(told("%1 of %2", "%1 von %1"), ["lacks `%2`, which its source has"]);
    assert_eq!(told("Unknown (%1)", "לא ידוע (1%)"), ["has `%1` of its source in pieces"]);
    assert_eq!(told("%1, 5% done", "%1, %5"), [""; 0]);
    assert_eq!(told("%Ln peers", "%1 pares"), ["has `%1` where its source has `%n`"]);
    assert_eq!(placeholder_faults(PlaceholderDialect::Qt, &["%1 year(s)"], "%n aasta", true), []);
}

#[test]
fn the_source_of_a_translation_is_known_by_its_path() {
    let first = |path: &str| TranslationFormat::of(path).and_then(|kind| source_paths(path, kind).into_iter().next());
    assert_eq!(first("a/de.json").as_deref(), Some("a/en.json"));
    assert_eq!(first("a/en-GB.json").as_deref(), Some("a/en.json"));
    assert_eq!(first("src/lang/modules/zh-Hant.ts").as_deref(), Some("src/lang/modules/en.ts"));
    assert_eq!(first("locales/pt_BR/common.json").as_deref(), Some("locales/en/common.json"));
    assert_eq!(first("a/messages_zh_CN.properties").as_deref(), Some("a/messages.properties"));
    assert_eq!(first("config/client.de.yml").as_deref(), Some("config/client.en.yml"));
    for path in [
        "a/en.json",
        "a/qqq.json",
        "package.json",
        "src/use-api.ts",
        "src/log.ts",
        "web/js/a.js",
        "locales/en/common.json",
        "a.rs",
        "README",
        "de",
    ] {
        assert_eq!(first(path), None, "{path}");
    }
}

#[test]
fn texts_are_read_with_their_lines() {
    let found = |texts: Vec<KeyedString>| -> Vec<String> {
        let texts = texts.into_iter().filter(|text| !text.value.is_empty());
        texts.map(|text| format!("{}:{} {}={}", text.from, text.to, text.key, text.value)).collect()
    };
    let json = "\u{feff}{ // c\n \"a\": {\"b\": \"x \\\" y\", \"c\": [\"no\"]},\n\"d\": 1, \"e\"\n:\n\"z\",}";
    assert_eq!(found(object::parse_object(json, false)), ["2:2 a.b=x \\\" y", "5:5 e=z"]);
    let module = "const e = {};\nexport default {\n  a: 'x' + 'y', b: `t`, c: f({d: 'v'}),\n  'e-f': \"w\" };\n";
    assert_eq!(found(object::parse_object(module, true)), ["3:3 b=t", "3:3 c.d=v", "4:4 e-f=w"]);
    assert_eq!(found(plain::parse_properties("a = x\\\n  y\n#b=c\nd=\"e\"\n")), ["1:2 a=xy", "4:4 d=e"]);
    assert_eq!(
        found(plain::parse_yaml("a:\n  b: 'x'\n  c: |\n    d: e\n  f: y # g\nh: z\n- i: j\n")),
        ["2:2 a.b=x", "5:5 a.f=y", "6:6 h=z"]
    );
}

#[test]
fn what_is_no_file_of_texts_harms_nobody() {
    let deep = "{\"a\":".repeat(50_000);
    let many = format!("{}{}", "{a}".repeat(6_000), "{b}".repeat(6_000));
    for text in [
        &deep[..],
        &many,
        "\"",
        "'\\",
        "{\"a",
        "{a:'",
        "/*",
        "a:\n b",
        "msgid \"",
        "msgstr",
        "<TS><message>",
        "<a",
        "{}}",
    ] {
        drop((
            object::parse_object(text, false),
            object::parse_object(text, true),
            plain::parse_properties(text),
            plain::parse_yaml(text),
        ));
        drop((pairs::parse_gettext(text), pairs::parse_qt(text)));
        for dialect in [
            PlaceholderDialect::Braces,
            PlaceholderDialect::Printf,
            PlaceholderDialect::Percent,
            PlaceholderDialect::Qt,
        ] {
            assert!(placeholder_faults(dialect, &[text], text, false).is_empty());
        }
    }
}

#[test]
fn what_stood_before_or_moved_is_not_told() {
    let (en, de) = ("{\"a\": \"{x} left\"}\n", "{\"a\": \"noch {y}\"}\n");
    let there = SyntheticChange::default().was("l/en.json", en).now("l/en.json", en);
    assert_eq!(there.clone().now("l/de.json", de).reported(), ["impact/translation-placeholder l/de.json:1"]);
    let again = "{\n  \"a\": \"noch {y}\"\n}\n";
    assert_eq!(there.clone().was("l/de.json", de).now("l/de.json", again).reported(), [""; 0]);
    assert_eq!(there.was("k/de.json", de).now("l/de.json", again).reported(), [""; 0]);
}

#[test]
fn the_same_fault_in_several_languages_is_told_once() {
    let en = "{\"a\": \"{latest} is out\"}\n";
    let mut change = SyntheticChange::default().was("l/en.json", en).now("l/en.json", en);
    for language in ["da", "de", "fr"] {
        change = change.now(&format!("l/{language}.json"), "{\"a\": \"{version} is out\"}\n");
    }
    let claims = change.review().claims;
    assert_eq!(claims.len(), 1);
    assert_eq!(claims[0].title, "The translation has `{version}` where its source has `{latest}`");
    assert!(claims[0].body.contains("2 more translations"), "{}", claims[0].body);
    let related: Vec<_> = claims[0].related.iter().map(|place| place.path.to_string()).collect();
    assert_eq!(related, ["l/en.json", "l/de.json", "l/fr.json"]);
}
