//! A setting of a file, set without touching the rest of it. Main function: [`set_value`].

use toml_edit::{Array, DocumentMut, Item, Table, TableLike, TomlError, Value, value};

use super::document::SettingsDocument;
use super::error::ConfigError;
use super::keys::{SettingKey, ValueShape};
use super::layers::{SettingsSources, resolve, split_list};

/// The reason why a setting cannot be set.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum SetFault {
    #[error("there is no setting {key:?}{}; `review config` lists them", near.map_or_else(String::new, |near| format!("; did you mean {near}?")))]
    UnknownKey { key: String, near: Option<&'static str> },
    /// It is not TOML.
    #[error("the file is not valid TOML: {}", .0.message())]
    NotToml(#[from] TomlError),
    /// Something else has the name of its table.
    #[error("{0} is not a table in the file")]
    NotATable(String),
    /// A key on a command line ends up in the history of the shell.
    #[error("{0} is a secret: set its variable, or write it into the file with `review config edit`")]
    Secret(&'static str),
    /// The value, or the file with it, is not valid.
    #[error(transparent)]
    Invalid(#[from] ConfigError),
}

/// Sets a setting in the text of a file, and checks the whole of it. Comments and everything else stay. `is_project` checks what a project may set.
pub fn set_value(document: &SettingsDocument, name: &str, written: &str, is_project: bool) -> Result<String, SetFault> {
    // Either spelling of the flag is the setting.
    let wanted = name.trim_start_matches("--").replace('-', "_");
    let known = [name, wanted.as_str(), if wanted == "color" { "colour" } else { "" }];
    let Some(key) = known.iter().find_map(|name| SettingKey::from_name(name)) else {
        return Err(SetFault::UnknownKey { key: name.to_owned(), near: SettingKey::nearest(name) });
    };
    let new = match key.shape {
        ValueShape::Secret => return Err(SetFault::Secret(key.name)),
        ValueShape::List => Value::Array(split_list(written).into_iter().collect::<Array>()),
        ValueShape::One | ValueShape::Amount => match written.parse::<i64>() {
            Ok(number) => number.into(),
            Err(_) => written.into(),
        },
        ValueShape::Path | ValueShape::Address => written.into(),
    };
    let mut edited: DocumentMut = document.text.parse()?;
    let table: &mut dyn TableLike = match key.name.split_once('.') {
        None => edited.as_table_mut(),
        Some((table, _)) => {
            let inner = edited.entry(table).or_insert_with(|| Item::Table(Table::new()));
            inner.as_table_like_mut().ok_or_else(|| SetFault::NotATable(table.to_owned()))?
        }
    };
    let field = key.name.rsplit('.').next().unwrap_or(key.name);
    match table.get_mut(field).and_then(Item::as_value_mut) {
        Some(old) => {
            // A comment behind the value belongs to it.
            let decor = old.decor().clone();
            *old = new;
            *old.decor_mut() = decor;
        }
        None => {
            table.insert(field, value(new));
        }
    }
    let text = edited.to_string();
    let checked = SettingsDocument { text: text.clone(), ..document.clone() };
    let sources = if is_project {
        SettingsSources { repository: Some(checked), ..SettingsSources::default() }
    } else {
        SettingsSources { user: Some(checked), ..SettingsSources::default() }
    };
    resolve(&sources)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(text: &str, name: &str, value: &str, is_project: bool) -> Result<String, String> {
        let document = SettingsDocument { name: "config.toml".to_owned(), text: text.to_owned(), folder: None };
        set_value(&document, name, value, is_project).map_err(|fault| fault.to_string())
    }

    #[test]
    fn a_value_is_set_and_the_rest_stays() {
        let before = "# mine\nmodel = \"openai\" # the fast one\n\n[rules]\noff = []\n";
        assert_eq!(set(before, "model", "anthropic", false).unwrap(), before.replace("openai", "anthropic"));
        assert_eq!(set("", "max_turns", "12", false).unwrap(), "max_turns = 12\n");
        assert_eq!(set("", "exclude", "a/**, b", false).unwrap(), "exclude = [\"a/**\", \"b\"]\n");
        let rules = set(before, "rules.off", "general/debug-leftover", true);
        assert!(rules.unwrap_err().contains("a repository may not set"), "the model stands in it");
        assert_eq!(
            set("", "rules.off", "general/debug-leftover", true).unwrap(),
            "[rules]\noff = [\"general/debug-leftover\"]\n"
        );
        assert_eq!(
            set("", "ollama.base_url", "http://127.0.0.1:1/v1", false).unwrap(),
            "[ollama]\nbase_url = \"http://127.0.0.1:1/v1\"\n"
        );
        // As the flag is written.
        assert_eq!(set("", "--min-severity", "high", false).unwrap(), "min_severity = \"high\"\n");
        assert_eq!(set("", "color", "never", false).unwrap(), "colour = \"never\"\n");
    }

    #[test]
    fn what_is_not_valid_is_not_written() {
        assert!(set("", "modle", "x", false).unwrap_err().contains("did you mean model?"));
        assert!(set("", "min_severity", "bad", false).unwrap_err().contains("it takes critical"));
        assert!(set("", "model", "anthropic", true).unwrap_err().contains("a repository may not set"));
        assert!(set("", "openai.api_key", "x", false).unwrap_err().contains("is a secret"));
        assert!(set("a = ", "model", "x", false).unwrap_err().contains("not valid TOML"));
    }
}
