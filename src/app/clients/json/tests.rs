//! Tests that an entry is set and nothing else is changed.

use proptest::prelude::*;
use serde_json::Map;

use super::*;

fn entry() -> Value {
    json!({ "command": "review", "args": ["mcp"] })
}

fn set_in(text: &str) -> Result<EditOutcome, JsonFault> {
    set(text, "mcpServers", "review", &entry(), false)
}

fn added(text: &str) -> String {
    match set_in(text) {
        Ok(EditOutcome::Added(after)) => after,
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_entry_is_laid_out_like_its_neighbours() {
    let all = [
        "{\n  \"mcpServers\": {\n    \"docs\": { \"command\": \"npx\" }\n  }\n}\n",
        "{\n\t// mine\n\t\"mcpServers\": {\n\t\t\"docs\": {\"command\":\"npx\"}, // why\n\t},\n}",
        "{\n    \"theme\": 1.0e3,\n    \"ui\": {}\n}\n",
        "{\"mcpServers\": {\"docs\": {}}}",
        "{\n  \"mcpServers\": {}\n}\n",
        "{ \"a\": 1 }",
        "{}",
        "",
        "// Settings\n",
        "{\n  \"mcpServers\": {\n    // none yet\n  }\n}\n",
    ];
    let shown: Vec<String> = all.iter().map(|text| format!("{text}\n---\n{}", added(text))).collect();
    insta::assert_snapshot!(shown.join("\n======\n"));
}

#[test]
fn line_endings_and_a_byte_order_mark_stay() {
    let after = added("\u{feff}{\r\n  \"mcpServers\": {\r\n    \"docs\": {}\r\n  }\r\n}\r\n");
    assert!(after.starts_with("\u{feff}{\r\n"));
    assert_eq!(after.matches('\n').count(), after.matches("\r\n").count(), "{after:?}");
}

#[test]
fn another_entry_of_the_name_is_kept_unless_told() {
    assert_eq!(set_in(&added("{}")), Ok(EditOutcome::Same));
    let theirs =
        "{\n  \"mcpServers\": {\n    \"review\": { \"command\": \"other\" }, // theirs\n    \"x\": {}\n  }\n}\n";
    assert_eq!(set_in(theirs), Ok(EditOutcome::Taken));
    let replaced = set(theirs, "mcpServers", "review", &entry(), true);
    let Ok(EditOutcome::Replaced(after)) = replaced else { panic!("{replaced:?}") };
    insta::assert_snapshot!(after);
}

#[test]
fn what_cannot_be_changed_is_refused() {
    assert!(matches!(set_in("{ \"a\": }"), Err(JsonFault::NotJson(_))));
    assert!(matches!(set_in("{ /* no end "), Err(JsonFault::NotJson(_))));
    assert!(matches!(set_in("{ \"a\": \"no end }"), Err(JsonFault::NotJson(_))));
    assert_eq!(set_in("[]"), Err(JsonFault::NotAnObject("the whole".into())));
    assert_eq!(set_in("{\"mcpServers\": []}"), Err(JsonFault::NotAnObject("mcpServers".into())));
}

#[test]
fn a_string_is_no_comment_and_a_comment_no_string() {
    let text = r#"{"a": "// no } comment \" , }", /* "b": { */ "mcpServers": {"x": ["}", ","]}}"#;
    let after = added(text);
    assert!(after.contains(r#""// no } comment \" , }", /* "b": { */"#), "{after}");
    assert!(after.ends_with(r#"{"x": ["}", ","], "review": {"command":"review","args":["mcp"]}}}"#), "{after}");
}

/// Values nested a little, with texts that look like JSON.
fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        any::<i32>().prop_map(Value::from),
        "[a-z{}\\[\\],:/*\"\\\\ \n]{0,8}".prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::vec(("[a-z{}\"/,]{0,4}", inner), 0..4)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn only_the_entry_is_put_in(fields in proptest::collection::vec(("[a-z{}\"/,]{0,4}", values()), 0..5),
                                others in proptest::option::of(proptest::collection::vec(("[a-q]{1,3}", values()), 0..3)),
                                on_lines: bool) {
        let mut whole: Map<String, Value> = fields.into_iter().collect();
        if let Some(others) = others {
            whole.insert("mcpServers".into(), Value::Object(others.into_iter().collect()));
        }
        let value = Value::Object(whole);
        let text = if on_lines { format!("{value:#}") } else { value.to_string() };
        let after = match set_in(&text) {
            Ok(EditOutcome::Added(after)) => after,
            other => return Err(TestCaseError::fail(format!("{other:?} for {text}"))),
        };
        // What was there is there still, in one or two pieces around what was put in.
        let same = text.bytes().zip(after.bytes()).take_while(|(a, b)| a == b).count();
        let tail = text.bytes().rev().zip(after.bytes().rev()).take_while(|(a, b)| a == b).count();
        let lost = text.get(same..text.len() - tail.min(text.len() - same)).map_or("", str::trim);
        prop_assert!(lost.is_empty(), "{lost:?} of {text} in {after}");
        let again: Value = serde_json::from_str(&after).unwrap();
        prop_assert_eq!(&again["mcpServers"]["review"], &entry());
    }

    #[test]
    fn no_text_makes_it_panic(text in "[{}\\[\\]\",:/*\\\\ \na\u{feff}]{0,40}") {
        let _ = set_in(&text);
    }
}

#[test]
fn an_entry_with_no_variables_is_the_same() {
    // As `claude mcp add` writes it.
    let theirs = "{\"mcpServers\": {\"review\": {\"command\": \"review\", \"args\": [\"mcp\"], \"env\": {}}}}";
    assert_eq!(set_in(theirs).unwrap(), EditOutcome::Same);
    assert_eq!(set_in(&theirs.replace("{}}}}", "{\"A\": \"1\"}}}}")).unwrap(), EditOutcome::Taken);
}
