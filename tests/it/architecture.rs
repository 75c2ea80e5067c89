//! The house rules that a compiler does not check: who may import whom, where big dependencies are named, how large a file gets.
//!
//! The sources are parsed, not searched: `use` groups, `super::` paths, re-exports and paths inside macros are all seen.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use proc_macro2::{Span, TokenStream, TokenTree};
use syn::visit::{self, Visit};

/// The layers, lowest first. Folders of one layer never import each other. A new folder gets its layer here.
const LAYERS: &[&[&str]] = &[
    &["domain"],
    &["sys"],
    &["config", "git", "workspace", "syntax", "document", "present", "store", "prompt", "llm", "forge"],
    &["evidence", "rules"],
    &["tools"],
    &["review", "publish"],
    &["app"],
    &["mcp"],
    &["cli"],
];

/// The layers within `app`, lowest first: one folder for each use case, and below them what several need. Folders of one layer never import
/// each other.
const APP_LAYERS: &[&[&str]] = &[
    &["context"],
    &["prepare"],
    &["review", "findings", "inspect"],
    &["post"],
    &["action", "clients", "doctor", "eval", "service"],
];

/// From below, the adapters see only these (and `app`).
const ADAPTERS: &[&str] = &["cli", "mcp"];
const SEEN_FROM_ADAPTERS: &[&str] = &["app", "config", "domain", "mcp", "present", "tools"];

/// Big dependencies and the folders (or files) that may name them.
const BEHIND: &[(&str, &[&str])] = &[
    ("git2", &["sys/repo.rs", "sys/objects.rs", "git"]),
    ("gix_odb", &["sys/loose.rs", "sys/objects.rs", "sys/packs.rs"]),
    ("gix_object", &["sys/objects.rs", "sys/packs.rs"]),
    ("gix_pack", &["sys/objects.rs", "sys/packs.rs"]),
    ("gix_zlib", &["sys/packs.rs"]),
    ("ast_grep_core", &["syntax"]),
    ("ast_grep_config", &["syntax"]),
    ("ast_grep_language", &["syntax"]),
    ("tree_sitter", &["syntax"]),
    ("gix_attributes", &["git"]),
    ("chardetng", &["sys/charset.rs"]),
    ("encoding_rs", &["sys/charset.rs"]),
    ("jiff", &["domain/day.rs", "sys/clock.rs", "config"]),
    ("indicatif", &["present"]),
    ("serde_sarif", &["present/sarif/mod.rs", "present/sarif"]),
    ("schemars", &["domain", "present", "tools", "review/engine_tools", "review/verify", "mcp/tools"]),
    (
        "tokio",
        &["sys/blocking.rs", "sys/cancel.rs", "llm", "forge", "review", "publish", "app", "mcp", "cli", "main.rs"],
    ),
    ("rmcp", &["mcp/protocol"]),
    ("axum", &["mcp/protocol"]),
    ("hyper_util", &["mcp/protocol"]),
    ("percent_encoding", &["domain/percent.rs"]),
    ("pulldown_cmark", &["document"]),
    ("toml_edit", &["app/clients", "config/dismissals"]),
    ("jsonc_parser", &["app/clients/json/mod.rs"]),
    ("reqwest", &["sys/http.rs"]),
    ("rustls", &["sys/app_key.rs", "sys/http.rs"]),
    ("minijinja", &["prompt"]),
    ("clap", &["cli", "main.rs"]),
];

/// Who may name the streams of this process. Whoever else writes is given a writer, which spells what a build log would obey.
const STREAMS: &[(&str, &[&str])] = &[
    ("cli/console.rs", &["io::stdout", "io::stderr", "print", "std::panic::set_hook"]),
    // Spells each message itself: the stream is asynchronous.
    ("mcp/protocol/stdio.rs", &["tokio::io::stdout"]),
    // Drawn on terminals alone, never in a log.
    ("present/progress/bar.rs", &["ProgressDrawTarget::stderr"]),
];

/// Lines a file may have before its tests; a longer one stands here with its reason.
const LONGEST: usize = 700;
const LONGER: &[(&str, &str)] = &[];

#[test]
fn imports_point_down_and_siblings_never_meet() {
    let mut faults = String::new();
    for file in sources() {
        let Some(from) = file.folder() else { continue };
        let layer = layer_of(&from).unwrap_or_else(|| panic!("{from} has no layer in LAYERS"));
        for import in file.imports() {
            let Some(to) = import.path.first().filter(|first| **first != from && is_folder(first)) else { continue };
            let below = layer_of(to).unwrap_or_else(|| panic!("{to} has no layer in LAYERS"));
            let fault = if below >= layer {
                "does not point down"
            } else if ADAPTERS.contains(&from.as_str()) && !SEEN_FROM_ADAPTERS.contains(&to.as_str()) {
                "is not for adapters: go through app"
            } else {
                continue;
            };
            let _ = writeln!(faults, "src/{}:{}: {from} -> {to} {fault}", file.name, import.line);
        }
    }
    assert!(faults.is_empty(), "\n{faults}");
}

#[test]
fn use_cases_import_what_lies_below_them() {
    let layer = |folder: &str| APP_LAYERS.iter().position(|layer| layer.contains(&folder));
    let mut faults = String::new();
    for file in sources() {
        let Some((from, _)) = file.name.strip_prefix("app/").and_then(|name| name.split_once('/')) else { continue };
        let own = layer(from).unwrap_or_else(|| panic!("app/{from} has no layer in APP_LAYERS"));
        for import in file.imports() {
            let [app, to, ..] = import.path.as_slice() else { continue };
            // What `app` exports is for the adapters.
            let is_below = to == from || layer(to).is_some_and(|below| below < own);
            if app == "app" && !is_below {
                let _ = writeln!(faults, "src/{}:{}: app/{from} -> {to}", file.name, import.line);
            }
        }
    }
    assert!(faults.is_empty(), "\n{faults}");
}

#[test]
fn the_way_of_one_review_is_as_the_first_page_says() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = std::fs::read_to_string(root.join("src/lib.rs")).expect("the first page");
    let hops = page.split("# One review, hop by hop").nth(1).and_then(|rest| rest.split("//! # ").next());
    let mut above: Vec<String> = Vec::new();
    let mut files = BTreeSet::new();
    for line in hops.expect("the hops").lines().filter(|line| line.contains("` `")) {
        let mut words = line.split('`').skip(1).step_by(2);
        let (file, name) = (words.next().expect("a file"), words.next().expect("a function"));
        let text = std::fs::read_to_string(root.join(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
        let (plain, generic) = (format!("fn {name}("), format!("fn {name}<"));
        assert!(text.contains(&plain) || text.contains(&generic), "{file} has no function {name}");
        // A presenter is called through the table of formats.
        let called = [format!("{name}("), format!("{name})(")];
        let is_called = |text: &String| called.iter().any(|call| text.contains(call.as_str()));
        assert!(above.is_empty() || above.iter().any(is_called), "nothing above calls {name} of {file}");
        above.push(text);
        files.insert(file.to_owned());
    }
    assert!((10..=20).contains(&above.len()) && files.len() <= 25, "{} hops, {} files", above.len(), files.len());
}

#[test]
fn what_a_folder_exports_is_used_from_outside() {
    let sources = sources();
    let exported: BTreeMap<Vec<String>, BTreeSet<String>> =
        sources.iter().map(|file| (file.module(), file.exports())).filter(|(_, names)| !names.is_empty()).collect();
    let modules: BTreeSet<Vec<String>> = sources.iter().map(Source::module).collect();
    let mut faults = String::new();
    for file in &sources {
        let module = file.module();
        // Tests stand outside.
        if module.iter().any(|name| name == "tests") {
            continue;
        }
        for import in file.imports() {
            for at in 1..import.path.len() {
                let (folder, name) = (&import.path[..at], &import.path[at]);
                let is_inside = module.len() > at && module.starts_with(folder);
                let is_module = modules.contains(&import.path[..=at]);
                if is_inside && !is_module && exported.get(folder).is_some_and(|names| names.contains(name)) {
                    let folder = folder.join("::");
                    let _ = writeln!(faults, "src/{}:{}: {name}: name its module in {folder}", file.name, import.line);
                }
            }
        }
    }
    assert!(faults.is_empty(), "\n{faults}");
}

#[test]
fn big_dependencies_stay_behind_one_door() {
    let mut faults = String::new();
    for file in sources() {
        for (line, name) in file.crates_named() {
            let Some((_, allowed)) = BEHIND.iter().find(|(dependency, _)| *dependency == name) else { continue };
            if !allowed.iter().any(|place| file.name == *place || file.name.starts_with(&format!("{place}/"))) {
                let _ = writeln!(faults, "src/{}:{line}: {name} belongs behind {allowed:?}", file.name);
            }
        }
    }
    assert!(faults.is_empty(), "\n{faults}");
}

#[test]
fn the_streams_are_written_to_in_one_place() {
    let mut faults = String::new();
    let mut found = BTreeSet::new();
    for file in sources() {
        for (line, path) in file.streams_named() {
            found.insert((file.name.clone(), path.clone()));
            if !STREAMS.iter().any(|(name, paths)| *name == file.name && paths.contains(&path.as_str())) {
                let _ = writeln!(faults, "src/{}:{line}: {path}: write through cli::console", file.name);
            }
        }
    }
    assert!(faults.is_empty(), "\n{faults}");
    assert_eq!(
        found.len(),
        STREAMS.iter().map(|(_, paths)| paths.len()).sum::<usize>(),
        "the table names what is there"
    );
    let seen = |code: &str| {
        let file = Source { name: "git/a.rs".to_owned(), text: code.to_owned() };
        file.streams_named().into_iter().map(|(_, path)| path).collect::<Vec<_>>()
    };
    assert_eq!(seen("use std::io::{self, stderr as it};"), ["std::io::stderr"]);
    assert_eq!(seen("fn f() { write!(std::io::stdout(), \"x\"); }"), ["std::io::stdout"]);
    assert_eq!(seen("fn f() { let stdout = 1; command.stdout(stdout); eprintln!(\"x\"); }"), ["eprintln"]);
    assert_eq!(seen("fn f() { command.stderr(Stdio::inherit()); asked.print(); }"), ["Stdio::inherit", "print"]);
}

#[test]
fn every_file_says_what_lives_in_it_and_stays_small() {
    let mut faults = String::new();
    for file in sources() {
        if !file.text.starts_with("//!") {
            let _ = writeln!(faults, "src/{}: no module docs", file.name);
        }
        let code = file.text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default().lines().count();
        if code > LONGEST && !LONGER.iter().any(|(name, _)| *name == file.name) {
            let _ = writeln!(faults, "src/{}: {code} lines before its tests; split it by subject", file.name);
        }
    }
    assert!(faults.is_empty(), "\n{faults}");
}

#[test]
fn the_detector_sees_every_way_to_import() {
    let seen = |name: &str, code: &str| -> Vec<String> {
        let file = Source { name: name.to_owned(), text: code.to_owned() };
        file.imports().into_iter().map(|import| import.path.join("::")).collect()
    };
    assert_eq!(seen("git/a.rs", "use crate::{app::x, cli};"), ["app::x", "cli"]);
    assert_eq!(seen("git/a.rs", "pub use super::super::app::y;"), ["app::y"]);
    assert_eq!(seen("git/mod.rs", "use super::app as renamed;"), ["app"]);
    assert_eq!(seen("git/a.rs", "mod tests { use super::super::super::cli::*; }"), ["cli"]);
    assert_eq!(seen("git/a.rs", "fn f() { crate::app::go(); vec![crate::cli::X] }"), ["app::go", "cli::X"]);
}

pub(super) struct Source {
    pub(super) name: String,
    pub(super) text: String,
}

struct Import {
    path: Vec<String>,
    line: usize,
}

pub(super) fn sources() -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = BTreeMap::new();
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("a source folder") {
            let path: PathBuf = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let name = path.strip_prefix(&root).expect("below src").to_string_lossy().replace('\\', "/");
                found.insert(name, std::fs::read_to_string(&path).expect("a source file"));
            }
        }
    }
    assert!(found.len() > 20, "the sources were not found");
    found.into_iter().map(|(name, text)| Source { name, text }).collect()
}

fn layer_of(folder: &str) -> Option<usize> {
    LAYERS.iter().position(|layer| layer.contains(&folder))
}

fn is_folder(name: &str) -> bool {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(name).is_dir()
}

impl Source {
    /// The folder directly under `src`; none for `lib.rs` and `main.rs`.
    fn folder(&self) -> Option<String> {
        self.name.split_once('/').map(|(folder, _)| folder.to_owned())
    }

    fn module(&self) -> Vec<String> {
        let path = self.name.trim_end_matches(".rs");
        let mut module: Vec<String> = path.split('/').map(str::to_owned).collect();
        if module.last().is_some_and(|last| last == "mod" || last == "lib" || last == "main") {
            module.pop();
        }
        module
    }

    fn parsed(&self) -> syn::File {
        syn::parse_file(&self.text).unwrap_or_else(|error| panic!("src/{}: {error}", self.name))
    }

    fn imports(&self) -> Vec<Import> {
        let mut seen = Seen { module: self.module(), imports: Vec::new(), crates: Vec::new() };
        seen.visit_file(&self.parsed());
        seen.imports
    }

    /// The names that it re-exports from the modules below it.
    fn exports(&self) -> BTreeSet<String> {
        let mut names = BTreeSet::new();
        for item in self.parsed().items {
            if let syn::Item::Use(item) = item
                && !matches!(item.vis, syn::Visibility::Inherited)
                && let syn::UseTree::Path(path) = &item.tree
                && !["crate", "super", "std"].iter().any(|outer| path.ident == outer)
            {
                exported_names(&path.tree, &mut names);
            }
        }
        names
    }

    fn streams_named(&self) -> Vec<(usize, String)> {
        let mut seen = Streams::default();
        seen.visit_file(&self.parsed());
        seen.0
    }

    fn crates_named(&self) -> Vec<(usize, String)> {
        let mut seen = Seen { module: self.module(), imports: Vec::new(), crates: Vec::new() };
        seen.visit_file(&self.parsed());
        seen.crates
    }
}

fn exported_names(tree: &syn::UseTree, names: &mut BTreeSet<String>) {
    match tree {
        syn::UseTree::Path(path) => exported_names(&path.tree, names),
        syn::UseTree::Name(name) => drop(names.insert(name.ident.to_string())),
        syn::UseTree::Rename(name) => drop(names.insert(name.rename.to_string())),
        syn::UseTree::Glob(_) => {}
        syn::UseTree::Group(group) => group.items.iter().for_each(|item| exported_names(item, names)),
    }
}

/// Paths that lead to the streams of the process, by whichever way they are named.
#[derive(Default)]
struct Streams(Vec<(usize, String)>);

impl Streams {
    fn name(&mut self, segments: &[String], span: Span) {
        let last = segments.last().map(String::as_str).unwrap_or_default();
        let a_stream = segments.len() > 1
            && matches!(last, "stdout" | "stderr" | "inherit" | "stdout_with_hz" | "stderr_with_hz" | "set_hook");
        if a_stream {
            self.0.push((span.start().line, segments.join("::")));
        }
    }

    fn tree(&mut self, prefix: &[String], tree: &syn::UseTree) {
        let with = |ident: &syn::Ident| prefix.iter().cloned().chain([ident.to_string()]).collect::<Vec<_>>();
        match tree {
            syn::UseTree::Path(path) => self.tree(&with(&path.ident), &path.tree),
            syn::UseTree::Name(name) => self.name(&with(&name.ident), name.ident.span()),
            syn::UseTree::Rename(name) => self.name(&with(&name.ident), name.ident.span()),
            syn::UseTree::Glob(_) => {}
            syn::UseTree::Group(group) => group.items.iter().for_each(|item| self.tree(prefix, item)),
        }
    }

    /// Paths in what a macro is given.
    fn tokens(&mut self, tokens: TokenStream) {
        let mut path: Vec<String> = Vec::new();
        for token in tokens {
            match token {
                TokenTree::Ident(ident) => {
                    path.push(ident.to_string());
                    if matches!(ident.to_string().as_str(), "stdout" | "stderr" | "inherit") {
                        self.name(&path, ident.span());
                    }
                }
                TokenTree::Punct(punct) if punct.as_char() == ':' => {}
                TokenTree::Group(group) => {
                    path.clear();
                    self.tokens(group.stream());
                }
                TokenTree::Punct(_) | TokenTree::Literal(_) => path.clear(),
            }
        }
    }
}

impl<'ast> Visit<'ast> for Streams {
    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        self.tree(&[], &item.tree);
    }

    /// Help and usage print themselves.
    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        if call.method == "print" {
            self.0.push((call.method.span().start().line, "print".to_owned()));
        }
        visit::visit_expr_method_call(self, call);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let segments: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        self.name(&segments, path.segments[0].ident.span());
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, item: &'ast syn::Macro) {
        if let Some(last) = item.path.segments.last().map(|last| &last.ident)
            && ["print", "println", "eprint", "eprintln", "dbg"].iter().any(|name| last == name)
        {
            self.0.push((last.span().start().line, last.to_string()));
        }
        self.tokens(item.tokens.clone());
    }
}

struct Seen {
    module: Vec<String>,
    imports: Vec<Import>,
    crates: Vec<(usize, String)>,
}

impl Seen {
    /// Resolves `crate::`, `self::` and `super::` against the module; anything else may name a crate.
    fn name(&mut self, segments: &[String], span: Span) {
        let line = span.start().line;
        let mut base = self.module.clone();
        let mut rest = segments;
        match rest.first().map(String::as_str) {
            Some("crate") => {
                base.clear();
                rest = &rest[1..];
            }
            Some("self") => rest = &rest[1..],
            Some("super") => {}
            Some(first) => {
                self.crates.push((line, first.to_owned()));
                return;
            }
            None => return,
        }
        while rest.first().is_some_and(|segment| segment == "super") {
            base.pop();
            rest = &rest[1..];
        }
        let path: Vec<String> = base.into_iter().chain(rest.iter().cloned()).collect();
        if !path.is_empty() {
            self.imports.push(Import { path, line });
        }
    }

    fn use_tree(&mut self, prefix: &[String], tree: &syn::UseTree) {
        let with = |ident: &syn::Ident| prefix.iter().cloned().chain([ident.to_string()]).collect::<Vec<_>>();
        match tree {
            syn::UseTree::Path(path) => self.use_tree(&with(&path.ident), &path.tree),
            syn::UseTree::Name(name) => self.name(&with(&name.ident), name.ident.span()),
            syn::UseTree::Rename(name) => self.name(&with(&name.ident), name.ident.span()),
            syn::UseTree::Glob(glob) => self.name(prefix, glob.star_token.spans[0]),
            syn::UseTree::Group(group) => group.items.iter().for_each(|item| self.use_tree(prefix, item)),
        }
    }

    fn tokens(&mut self, tokens: TokenStream) {
        let mut path: Vec<String> = Vec::new();
        let mut start = Span::call_site();
        let mut colons = 0;
        for token in tokens {
            match token {
                TokenTree::Ident(ident) if path.is_empty() || colons == 2 => {
                    if path.is_empty() {
                        start = ident.span();
                    }
                    path.push(ident.to_string());
                    colons = 0;
                }
                TokenTree::Punct(punct) if punct.as_char() == ':' && !path.is_empty() => colons += 1,
                other => {
                    self.end_of_path(&mut path, start);
                    colons = 0;
                    match other {
                        TokenTree::Group(group) => self.tokens(group.stream()),
                        TokenTree::Ident(ident) => {
                            start = ident.span();
                            path.push(ident.to_string());
                        }
                        _ => {}
                    }
                }
            }
        }
        self.end_of_path(&mut path, start);
    }

    fn end_of_path(&mut self, path: &mut Vec<String>, start: Span) {
        if path.len() > 1 {
            self.name(path, start);
        }
        path.clear();
    }
}

impl<'ast> Visit<'ast> for Seen {
    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        self.use_tree(&[], &item.tree);
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        self.module.push(item.ident.to_string());
        visit::visit_item_mod(self, item);
        self.module.pop();
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        if path.segments.len() > 1 {
            let segments: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
            self.name(&segments, path.segments[0].ident.span());
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, item: &'ast syn::Macro) {
        self.visit_path(&item.path);
        self.tokens(item.tokens.clone());
    }
}
