//! Sets one entry of a TOML file without changing the rest. Main function: [`set`]. The only module that names `toml_edit`.

use serde_json::Value;
use toml_edit::{Array, DocumentMut, Item, Table, TableLike, TomlError, value};

use super::EditOutcome;

/// The reason why a file cannot be changed.
#[derive(Debug, thiserror::Error)]
pub(super) enum TomlFault {
    #[error("it is not TOML ({})", .0.message())]
    NotToml(#[from] TomlError),
    /// Something in it is not a table.
    #[error("{0} is not a table in it")]
    NotATable(String),
}

/// Renders a file with only this entry.
pub(super) fn render_entry(servers: &str, name: &str, entry: &Value) -> String {
    let mut document = DocumentMut::new();
    let mut all = Table::new();
    all.set_implicit(true);
    all.insert(name, Item::Table(table(entry)));
    document.insert(servers, Item::Table(all));
    document.to_string()
}

/// Sets the table `name` of `servers`. One with another value is replaced only with `replace`.
pub(super) fn set(
    text: &str,
    servers: &str,
    name: &str,
    entry: &Value,
    replace: bool,
) -> Result<EditOutcome, TomlFault> {
    let mut document: DocumentMut = text.parse()?;
    if !document.contains_key(servers) {
        let mut all = Table::new();
        all.set_implicit(true);
        document.insert(servers, Item::Table(all));
    }
    let all = document.get_mut(servers).and_then(Item::as_table_like_mut);
    let all: &mut dyn TableLike = all.ok_or_else(|| TomlFault::NotATable(servers.to_owned()))?;
    let wanted = table(entry);
    let replaced = match all.get(name) {
        None => false,
        Some(found) if same(found, &wanted) => return Ok(EditOutcome::Same),
        Some(_) if !replace => return Ok(EditOutcome::Taken),
        Some(_) => true,
    };
    all.insert(name, Item::Table(wanted));
    let after = document.to_string();
    Ok(if replaced { EditOutcome::Replaced(after) } else { EditOutcome::Added(after) })
}

/// Converts an entry, which consists of strings and lists of strings.
fn table(entry: &Value) -> Table {
    let mut table = Table::new();
    for (key, field) in entry.as_object().into_iter().flatten() {
        let item = match field {
            Value::Array(items) => value(items.iter().filter_map(Value::as_str).collect::<Array>()),
            other => value(other.as_str().unwrap_or_default()),
        };
        table.insert(key, item);
    }
    table
}

fn same(found: &Item, wanted: &Table) -> bool {
    let Some(found) = found.as_table_like() else { return false };
    let text = |item: &Item| item.as_str().map(str::to_owned);
    let texts = |item: &Item| -> Option<Vec<String>> {
        item.as_array()?.iter().map(|item| item.as_str().map(str::to_owned)).collect()
    };
    // Clients add an `env` without variables.
    let is_empty = |item: &Item| item.as_table_like().is_some_and(TableLike::is_empty);
    let added = usize::from(found.get("env").is_some_and(is_empty) && wanted.get("env").is_none());
    found.len() == wanted.len() + added
        && wanted.iter().all(|(key, item)| {
            found.get(key).is_some_and(|other| text(other) == text(item) && texts(other) == texts(item))
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn entry() -> Value {
        json!({ "command": "review", "args": ["mcp"] })
    }

    fn added(text: &str) -> String {
        match set(text, "mcp_servers", "review", &entry(), false).unwrap() {
            EditOutcome::Added(after) => after,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn an_entry_is_added_and_the_rest_stays_to_the_byte() {
        let before = "# mine\nmodel = 'x'   # why\n\n[mcp_servers.docs]\ncommand = \"npx\"\nargs = [ \"-y\" , \"docs\" ]\n\n[tui]\ntheme = 1\n";
        let after = added(before);
        let ours = "\n[mcp_servers.review]\ncommand = \"review\"\nargs = [\"mcp\"]\n";
        assert!(after.contains(ours), "{after}");
        assert_eq!(after.replace(ours, ""), before);
        assert_eq!(added(""), "[mcp_servers.review]\ncommand = \"review\"\nargs = [\"mcp\"]\n");
        assert_eq!(render_entry("mcp_servers", "review", &entry()), added(""));
        assert_eq!(
            added("mcp_servers = {}\n"),
            "mcp_servers = { review = { command = \"review\", args = [\"mcp\"] } }\n"
        );
    }

    #[test]
    fn another_entry_of_the_name_is_kept_unless_told() {
        for more in ["", "[mcp_servers.review.env]\n", "env = {}\n"] {
            let again = set(&(added("") + more), "mcp_servers", "review", &entry(), false).unwrap();
            assert_eq!(again, EditOutcome::Same, "{more}");
        }
        let theirs =
            "[mcp_servers.review]\ncommand = \"other\"\nargs = [\"mcp\"]\n[mcp_servers.review.env]\nA = \"1\"\n";
        assert_eq!(set(theirs, "mcp_servers", "review", &entry(), false).unwrap(), EditOutcome::Taken);
        let EditOutcome::Replaced(after) = set(theirs, "mcp_servers", "review", &entry(), true).unwrap() else {
            panic!()
        };
        assert_eq!(after, "[mcp_servers.review]\ncommand = \"review\"\nargs = [\"mcp\"]\n");
    }

    #[test]
    fn what_is_not_toml_or_no_table_is_refused() {
        assert!(matches!(set("{", "mcp_servers", "review", &entry(), true), Err(TomlFault::NotToml(_))));
        assert!(matches!(
            set("mcp_servers = 1\n", "mcp_servers", "review", &entry(), true),
            Err(TomlFault::NotATable(_))
        ));
    }
}
