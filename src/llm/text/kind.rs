//! Fields of a tool's input, according to its schema. Main types: [`ToolFields`], [`FieldKind`].

use serde_json::Value;

/// Maximum depth of references within a schema.
const DEEPEST: usize = 8;

/// Type of a field.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum FieldKind {
    Text,
    /// One of these words.
    Word(Vec<String>),
    /// A number or a truth value.
    Scalar(&'static str),
    /// A list of objects with fields of their own.
    Objects(ToolFields),
    /// Anything else: JSON.
    Json,
}

/// A field.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ToolField {
    pub(super) name: String,
    pub(super) kind: FieldKind,
    pub(super) required: bool,
    /// Description.
    pub(super) about: String,
}

/// The fields of a tool, or of an object in a list.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct ToolFields(pub(super) Vec<ToolField>);

impl ToolFields {
    /// Reads the fields of a schema, in its order.
    pub(super) fn of(schema: &Value) -> Self {
        Self::within(schema, schema, 0)
    }

    fn within(schema: &Value, root: &Value, depth: usize) -> Self {
        let required: Vec<&str> = match schema.get("required") {
            Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        };
        let fields = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
        let field = |(name, about): (&String, &Value)| {
            let resolved = resolve(about, root);
            let words = [about, resolved].iter().find_map(|schema| schema.get("description")?.as_str());
            ToolField {
                kind: kind(resolved, root, depth),
                required: required.contains(&name.as_str()),
                about: words.unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" "),
                name: name.clone(),
            }
        };
        Self(fields.map(field).collect())
    }

    /// Returns the field of that name, in any case.
    pub(super) fn field(&self, name: &str) -> Option<&ToolField> {
        self.0.iter().find(|field| field.name.eq_ignore_ascii_case(name))
    }
}

/// Resolves a reference, or an optional value, to its schema.
fn resolve<'a>(schema: &'a Value, root: &'a Value) -> &'a Value {
    let mut schema = schema;
    for _ in 0..DEEPEST {
        if let Some(pointer) = schema.get("$ref").and_then(Value::as_str).and_then(|name| name.strip_prefix('#')) {
            let Some(target) = root.pointer(pointer) else { break };
            schema = target;
            continue;
        }
        let choices = ["anyOf", "oneOf", "allOf"].iter().find_map(|key| schema.get(*key)?.as_array());
        let mut real = choices.into_iter().flatten().filter(|choice| choice["type"] != "null");
        match (real.next(), real.next()) {
            (Some(only), None) => schema = only,
            _ => break,
        }
    }
    schema
}

fn kind(schema: &Value, root: &Value, depth: usize) -> FieldKind {
    if let Some(Value::Array(words)) = schema.get("enum") {
        return FieldKind::Word(words.iter().filter_map(Value::as_str).map(str::to_owned).collect());
    }
    let word = match &schema["type"] {
        Value::String(word) => word.as_str(),
        Value::Array(words) => words.iter().filter_map(Value::as_str).find(|word| *word != "null").unwrap_or_default(),
        _ => "",
    };
    match word {
        "string" => FieldKind::Text,
        "integer" | "number" => FieldKind::Scalar("number"),
        "boolean" => FieldKind::Scalar("true or false"),
        "array" if depth == 0 => {
            let items = resolve(&schema["items"], root);
            let fields = ToolFields::within(items, root, depth + 1);
            if fields.0.is_empty() { FieldKind::Json } else { FieldKind::Objects(fields) }
        }
        _ => FieldKind::Json,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_schema_says_what_its_fields_hold() {
        let schema = json!({
            "type": "object",
            "required": ["title", "places"],
            "properties": {
                "title": { "type": "string", "description": "One\n  line." },
                "side": { "$ref": "#/$defs/Side" },
                "line": { "anyOf": [{ "type": "integer" }, { "type": "null" }] },
                "sure": { "type": ["boolean", "null"] },
                "places": { "type": "array", "items": { "type": "object", "properties": { "path": { "type": "string" } } } },
                "tags": { "type": "array", "items": { "type": "string" } },
            },
            "$defs": { "Side": { "enum": ["new", "old"], "description": "Which." } },
        });
        let fields = ToolFields::of(&schema);
        let kind = |name: &str| fields.field(name).unwrap().kind.clone();
        assert_eq!((kind("TITLE"), kind("line")), (FieldKind::Text, FieldKind::Scalar("number")));
        assert_eq!(kind("side"), FieldKind::Word(vec!["new".to_owned(), "old".to_owned()]));
        assert_eq!((kind("sure"), kind("tags")), (FieldKind::Scalar("true or false"), FieldKind::Json));
        assert!(matches!(kind("places"), FieldKind::Objects(fields) if fields.field("path").is_some()));
        let title = fields.field("title").unwrap();
        assert_eq!((title.required, title.about.as_str()), (true, "One line."));
        assert_eq!(fields.field("side").unwrap().about, "Which.");
    }

    #[test]
    fn a_schema_that_goes_round_in_circles_ends() {
        let schema = json!({ "properties": { "a": { "$ref": "#/properties/a" } } });
        assert_eq!(ToolFields::of(&schema).0[0].kind, FieldKind::Json);
    }
}
