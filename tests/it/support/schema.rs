//! Answers held to their schemas.

use serde_json::Value;

/// Asserts that `answer` is as `schema` says, and has no field that the schema does not name.
#[track_caller]
pub fn assert_conforms(schema: &Value, answer: &Value) {
    let mut strict = schema.clone();
    close(&mut strict);
    let validator = jsonschema::draft202012::new(&strict).expect("a schema");
    let faults: Vec<String> =
        validator.iter_errors(answer).map(|fault| format!("{}: {fault}", fault.instance_path())).collect();
    assert!(faults.is_empty(), "{faults:#?}\n{answer:#}");
}

/// Whatever is not named is refused; an object of which nothing is named may hold anything.
fn close(schema: &mut Value) {
    let Value::Object(fields) = schema else { return };
    for name in ["properties", "$defs", "items"] {
        match (name, fields.get_mut(name)) {
            ("properties" | "$defs", Some(Value::Object(named))) => named.values_mut().for_each(close),
            (_, Some(inner)) => close(inner),
            (_, None) => {}
        }
    }
    if fields.contains_key("properties") {
        fields.insert("additionalProperties".to_owned(), false.into());
    }
}
