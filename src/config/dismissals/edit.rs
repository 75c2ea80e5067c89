//! An entry of the file, set without touching the rest. Main function: [`set_entry`].

use toml_edit::{ArrayOfTables, DocumentMut, Item, Table, TomlError, value};

use crate::domain::dismissal::Dismissal;

/// The header of a new file.
const HEADER: &str = "\
# Findings that this project decided not to hear again, one entry for each, sorted by path. `review dismiss` writes them.
# They hold for reviews of changes into the branch that has this file; a change cannot dismiss its own findings.

";

/// The list's name in the file.
const LIST: &str = "dismissed";

/// The reason why a file cannot be changed.
#[derive(Debug, thiserror::Error)]
pub enum EditFault {
    /// It is not TOML.
    #[error("it is not TOML ({})", .0.message())]
    NotToml(#[from] TomlError),
    /// Its list is not made of tables.
    #[error("its entries are not written as [[dismissed]]; write them so, or add this one by hand")]
    NotTables,
}

/// A file with one entry more, or with another one in its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditedDismissals {
    /// The file.
    pub text: String,
    /// `true` if the finding was dismissed there already.
    pub replaced: bool,
}

/// Sets the entry of a finding: where the file has one for it, that one says the new reason, place and dates; else it comes where
/// it belongs in the order. Everything else, comments too, stays as it was. `text` is empty where there is no file.
pub fn set_entry(text: &str, dismissal: &Dismissal) -> Result<EditedDismissals, EditFault> {
    if text.trim().is_empty() {
        let mut list = ArrayOfTables::new();
        list.push(table(dismissal));
        let mut document = DocumentMut::new();
        document.insert(LIST, Item::ArrayOfTables(list));
        return Ok(EditedDismissals { text: format!("{HEADER}{document}"), replaced: false });
    }
    let mut document: DocumentMut = text.parse()?;
    if !document.contains_key(LIST) {
        document.insert(LIST, Item::ArrayOfTables(ArrayOfTables::new()));
    }
    let list = document.get_mut(LIST).and_then(Item::as_array_of_tables_mut).ok_or(EditFault::NotTables)?;
    let path = dismissal.path.display_name();
    let is_same = |table: &Table| {
        let is = |key: &str, wanted: &str| table.get(key).and_then(Item::as_str) == Some(wanted);
        is("fingerprint", &dismissal.fingerprint.0) && is("id", &dismissal.id.0) && is("path", &path)
    };
    let known = list.iter().position(is_same);
    if let Some(known) = known.and_then(|at| list.get_mut(at)) {
        update(known, dismissal);
        return Ok(EditedDismissals { text: document.to_string(), replaced: true });
    }
    let key = |table: &Table| {
        let text = |key: &str| table.get(key).and_then(Item::as_str).unwrap_or_default().to_owned();
        (text("path"), text("id"))
    };
    let own = (path.into_owned(), dismissal.id.0.clone());
    let at = list.iter().position(|table| key(table) > own).unwrap_or(list.len());
    let mut new = table(dismissal);
    new.decor_mut().set_prefix("\n");
    if let Some(first) = list.get_mut(0).filter(|_| at == 0) {
        // What the file begins with is about the file; only what stands right above an entry is about that entry.
        let prefix = first.decor().prefix().and_then(|prefix| prefix.as_str()).unwrap_or_default().to_owned();
        let (of_file, of_entry) = prefix.rfind("\n\n").map_or(("", prefix.as_str()), |end| prefix.split_at(end + 2));
        new.decor_mut().set_prefix(of_file);
        first.decor_mut().set_prefix(format!("\n{of_entry}"));
    }
    list.insert(at, new);
    Ok(EditedDismissals { text: document.to_string(), replaced: false })
}

fn table(dismissal: &Dismissal) -> Table {
    let mut table = Table::new();
    table.insert("id", value(dismissal.id.0.as_str()));
    table.insert("fingerprint", value(dismissal.fingerprint.0.as_str()));
    table.insert("path", value(dismissal.path.display_name().into_owned()));
    update(&mut table, dismissal);
    table
}

/// Updates the keys of an entry that may be replaced.
fn update(table: &mut Table, dismissal: &Dismissal) {
    let texts = [
        ("glob", dismissal.glob.as_ref().map(|glob| glob.pattern.clone())),
        ("title", Some(dismissal.title.clone()).filter(|title| !title.is_empty())),
        ("severity", dismissal.severity.map(|severity| severity.word().to_owned())),
        ("reason", Some(dismissal.reason.clone())),
        ("until", dismissal.until.map(|day| day.to_string())),
        ("on", dismissal.on.map(|day| day.to_string())),
    ];
    for (key, text) in texts {
        match (text, table.get_mut(key).and_then(Item::as_value_mut)) {
            (None, _) => {
                table.remove(key);
            }
            (Some(text), Some(known)) => {
                // What stands beside it, a comment perhaps, stays there.
                let decor = known.decor().clone();
                *known = text.into();
                *known.decor_mut() = decor;
            }
            (Some(text), None) => {
                table.insert(key, value(text));
            }
        }
    }
}
