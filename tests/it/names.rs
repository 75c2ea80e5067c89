//! The words of the code: each type has a name of its own, items are named by what they are, and documentation begins with a noun or a verb.
//!
//! The terms are those of `docs/glossary.md`. Locals and fields are not held here.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use syn::visit::{self, Visit};

use super::architecture::sources;

/// The names that several types may bear, since they are always used through their module.
const CONVENTIONAL: [&str; 15] = [
    "Args", "Builder", "Config", "Err", "Error", "Event", "Input", "Kind", "Message", "Options", "Report", "Request",
    "Response", "Status", "Usage",
];

/// The words that name no item: everyday verbs and things for which the field has a term.
const BANNED: [&str; 20] = [
    "asked", "behind", "beside", "desk", "farewell", "ledger", "looked", "meant", "nobody", "owed", "owes", "purse",
    "relay", "seat", "shelf", "somebody", "spoken", "stands", "stood", "told",
];

/// The openings of documentation that do not say what a thing is.
const OPENINGS: [&str; 9] =
    ["What ", "Whether ", "Who ", "Whose ", "Where ", "So many ", "So long ", "The same, ", "Somebody "];

/// The lines that still begin so: texts of the schemas that models and clients are given, whose words are part of what was measured.
const OPENINGS_LEFT: usize = 35;

#[test]
fn every_type_has_a_name_of_its_own() {
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for file in sources() {
        for (name, line) in items(&file.text).types {
            places.entry(name).or_default().push(format!("src/{}:{line}", file.name));
        }
    }
    let all: usize = places.values().map(Vec::len).sum();
    places.retain(|_, places| places.len() > 1);
    let shared: usize = places.values().map(Vec::len).sum();
    assert!(shared * 100 <= all * 8, "{shared} of {all} types share their name: {places:#?}");
    places.retain(|name, _| !CONVENTIONAL.contains(&name.as_str()));
    assert!(places.is_empty(), "these types share a name that is not conventional: {places:#?}");
}

#[test]
fn items_are_named_in_the_terms_of_the_field() {
    let mut faults = String::new();
    for file in sources().iter().filter(|file| !file.name.contains("tests") && !file.name.contains("fixtures")) {
        let found = items(&file.text);
        for (name, line) in found.types.iter().chain(&found.others) {
            if let Some(word) = words(name).into_iter().find(|word| BANNED.contains(&word.as_str())) {
                let _ = writeln!(faults, "src/{}:{line}: {name}: {word:?} is no term; see docs/glossary.md", file.name);
            }
        }
    }
    assert!(faults.is_empty(), "\n{faults}");
    assert_eq!(words("LeadTold"), ["lead", "told"]);
    assert_eq!(words("is_told"), ["is", "told"]);
}

/// The pages of data: the text of rules, and verdicts on single findings.
const PAGES_OF_DATA: [&str; 2] = ["rules.md", "rules-measured.md"];

#[test]
fn help_rule_titles_and_pages_have_no_banned_word() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let files = |folder: &str, ending: &str| {
        let entries = std::fs::read_dir(root.join(folder)).expect("a folder");
        let paths = entries.map(|entry| entry.expect("an entry").path());
        paths.filter(|path| path.extension().is_some_and(|end| end == ending)).collect::<Vec<_>>()
    };
    let is_help =
        |path: &std::path::PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("help"));
    let help: Vec<_> = files("tests/cmd", "stdout").into_iter().filter(is_help).collect();
    let packs = files("src/rules/packs", "yml");
    let mut pages = files("docs", "md");
    pages.retain(|path| !PAGES_OF_DATA.iter().any(|name| path.ends_with(name)));
    pages.extend(["README.md", "CONTRIBUTING.md"].map(|name| root.join(name)));
    assert!(help.len() > 20 && packs.len() > 5 && pages.len() > 40, "the texts were not found");
    let mut faults = String::new();
    for path in help.iter().chain(&packs).chain(&pages) {
        let text = std::fs::read_to_string(path).expect("a text");
        let text = if pages.contains(path) { prose(&text) } else { text };
        let only_titles = path.extension().is_some_and(|end| end == "yml");
        for (at, line) in text.lines().enumerate().filter(|(_, line)| !only_titles || line.starts_with("title:")) {
            let mut words = line.split(|c: char| !c.is_alphanumeric()).map(str::to_lowercase);
            if let Some(word) = words.find(|word| BANNED.contains(&word.as_str())) {
                let _ = writeln!(faults, "{}:{}: {word:?} is no term; see docs/glossary.md", path.display(), at + 1);
            }
        }
    }
    assert!(faults.is_empty(), "\n{faults}");
}

/// A page without its code, in blocks and in lines.
fn prose(page: &str) -> String {
    let mut in_block = false;
    let mut out = String::new();
    for line in page.lines() {
        let is_fence = line.trim_start().starts_with("```");
        in_block ^= is_fence;
        if !in_block && !is_fence {
            out.extend(line.split('`').step_by(2).flat_map(|part| [part, " "]));
        }
        out.push('\n');
    }
    out
}

#[test]
fn documentation_begins_with_what_a_thing_is() {
    let mut faults = BTreeSet::new();
    for file in sources() {
        let mut before = "";
        for (number, line) in (1..).zip(file.text.lines().map(str::trim_start)) {
            let mark = ["/// ", "//! "].into_iter().find(|mark| line.starts_with(mark));
            let is_first = mark.is_some_and(|mark| !before.starts_with(mark.trim_end()));
            if let (Some(mark), true) = (mark, is_first)
                && OPENINGS.iter().any(|opening| line[mark.len()..].starts_with(opening))
            {
                faults.insert(format!("src/{}:{number}: {line}", file.name));
            }
            before = line;
        }
    }
    let list = faults.iter().fold(String::new(), |list, fault| list + "\n" + fault);
    assert!(faults.len() <= OPENINGS_LEFT, "{} of {OPENINGS_LEFT}:{list}", faults.len());
}

/// The names that a file defines, with their lines; those of tests apart from types are left out.
#[derive(Default)]
struct Items {
    types: Vec<(String, usize)>,
    others: Vec<(String, usize)>,
}

fn items(text: &str) -> Items {
    let mut items = Items::default();
    if let Ok(file) = syn::parse_file(text) {
        items.visit_file(&file);
    }
    items
}

impl Items {
    fn add_type(&mut self, name: &syn::Ident) {
        self.types.push((name.to_string(), name.span().start().line));
    }

    fn add(&mut self, name: &syn::Ident) {
        self.others.push((name.to_string(), name.span().start().line));
    }
}

impl<'ast> Visit<'ast> for Items {
    fn visit_item_struct(&mut self, item: &'ast syn::ItemStruct) {
        self.add_type(&item.ident);
    }

    fn visit_item_enum(&mut self, item: &'ast syn::ItemEnum) {
        self.add_type(&item.ident);
    }

    fn visit_item_trait(&mut self, item: &'ast syn::ItemTrait) {
        self.add_type(&item.ident);
        visit::visit_item_trait(self, item);
    }

    fn visit_item_type(&mut self, item: &'ast syn::ItemType) {
        self.add_type(&item.ident);
    }

    fn visit_item_const(&mut self, item: &'ast syn::ItemConst) {
        self.add(&item.ident);
    }

    fn visit_item_static(&mut self, item: &'ast syn::ItemStatic) {
        self.add(&item.ident);
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        self.add(&item.ident);
        // The names of tests are sentences.
        if item.ident != "tests" && item.ident != "fixtures" {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        if !item.attrs.iter().any(|attribute| attribute.path().segments.last().is_some_and(|last| last.ident == "test"))
        {
            self.add(&item.sig.ident);
            visit::visit_item_fn(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.add(&item.sig.ident);
        visit::visit_impl_item_fn(self, item);
    }
}

/// The words of a name in lower case, whichever way they are joined.
fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut begins = true;
    for c in name.chars() {
        if c == '_' {
            begins = true;
            continue;
        }
        if begins || c.is_uppercase() {
            words.push(String::new());
        }
        begins = false;
        if let Some(word) = words.last_mut() {
            word.extend(c.to_lowercase());
        }
    }
    words
}
