//! The built-in rows as the help text needs them, read without a parser: each start of the program builds the help text. Main type:
//! [`ProviderHead`].

use super::BUILT_IN;

/// The first facts of a built-in row.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ProviderHead {
    /// The word before the slash of `--model`.
    pub name: &'static str,
    /// The name that people know it by.
    pub title: &'static str,
    /// The first variable that may hold its key.
    pub key_variable: &'static str,
    /// The first variable that may hold its address.
    pub base_variable: &'static str,
    /// `true` if it answers nobody without a key.
    pub needs_key: bool,
    /// `true` if a key that is merely found makes it the reviewer.
    pub taken_when_found: bool,
    /// The model when only the provider is named.
    pub default_model: Option<&'static str>,
}

/// Collects the heads of the built-in rows, in their order.
pub fn heads() -> Vec<ProviderHead> {
    let mut heads: Vec<ProviderHead> = Vec::new();
    let mut is_head = false;
    for line in BUILT_IN.lines() {
        if line.starts_with('[') {
            is_head = line == "[[provider]]";
            heads.extend(is_head.then(ProviderHead::default));
        } else if is_head && let Some((head, (key, value))) = heads.last_mut().zip(line.split_once(" = ")) {
            let text = value.split('"').nth(1).unwrap_or_default();
            match key {
                "name" => head.name = text,
                "title" => head.title = text,
                "key_variables" => head.key_variable = text,
                "base_variables" => head.base_variable = text,
                "needs_key" => head.needs_key = value == "true",
                "taken_when_found" => head.taken_when_found = value == "true",
                "default_model" => head.default_model = Some(text),
                _ => {}
            }
        }
    }
    heads
}

#[cfg(test)]
mod tests {
    use super::super::ProviderTable;
    use super::*;

    #[test]
    fn the_heads_say_what_the_parsed_table_says() {
        let table = ProviderTable::built_in().unwrap();
        let heads = heads();
        assert_eq!(heads.len(), table.rows().len());
        for (head, row) in heads.iter().zip(table.rows()) {
            let first = |names: &[std::sync::Arc<str>]| names.first().map_or_else(String::new, ToString::to_string);
            assert_eq!((head.name, head.title), (&*row.name, &*row.title));
            assert_eq!(head.key_variable, first(&row.key_variables), "{}", row.name);
            assert_eq!(head.base_variable, first(&row.base_variables), "{}", row.name);
            assert_eq!((head.needs_key, head.taken_when_found), (row.needs_key, row.taken_when_found), "{}", row.name);
            assert_eq!(head.default_model, row.default_model.as_deref(), "{}", row.name);
        }
    }
}
