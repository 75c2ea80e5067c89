//! The house rules that a compiler does not check: who may import whom, where big dependencies are named, how large a file gets.
//!
//! The sources are parsed, not searched: `use` groups, `super::` paths, re-exports and paths inside macros are all seen.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, OnceLock};

use proc_macro2::{Span, TokenStream, TokenTree};
use syn::visit::{self, Visit};

/// The layers, lowest first. Folders of one layer never import each other. A new folder gets its layer here.
const LAYERS: &[&[&str]] = &[
    &["domain"],
    &["sys"],
    &[
        "config",
        "git",
        "workspace",
        "syntax",
        "document",
        "present",
        "store",
        "queue",
        "prompt",
        "llm",
        "forge",
        "build",
        "editor",
    ],
    &["evidence", "rules"],
    &["tools"],
    &["review", "publish"],
    &["app"],
    &["web"],
    &["lsp", "mcp"],
    &["cli"],
];

/// The layers within a room, lowest first. Siblings of one layer never import each other. In `app` there is one folder for each use case, and
/// below them what several need.
const LAYERS_WITHIN: &[(&str, &[&[&str]])] = &[
    (
        "app",
        &[
            &["context"],
            &["prepare", "runner", "editor"],
            &["review", "findings", "inspect"],
            &["post"],
            &["action", "batch", "build", "clients", "doctor", "eval", "service"],
            &["init", "queue"],
        ],
    ),
    (
        "review",
        &[
            &["admission", "branch_history", "budget", "tokens"],
            &["outcome"],
            &["builder", "by_rules", "journal"],
            &["error", "run"],
            &["conversation", "plan"],
            &["ask", "parts", "verify"],
            &["by_model"],
            &["preview"],
        ],
    ),
];

/// From below, the adapters see only these (and `app`).
const ADAPTERS: &[&str] = &["cli", "lsp", "mcp", "web"];
const SEEN_FROM_ADAPTERS: &[&str] = &["app", "config", "domain", "lsp", "mcp", "present", "tools", "web"];

/// Big dependencies and the folders (or files) that may name them.
const BEHIND: &[(&str, &[&str])] = &[
    ("git2", &["sys/repo.rs", "sys/objects.rs", "git"]),
    ("gix_odb", &["sys/loose.rs"]),
    ("gix_object", &["sys/objects.rs", "sys/packs.rs"]),
    ("gix_pack", &["sys/objects.rs", "sys/packs.rs"]),
    ("gix_zlib", &["sys/objects.rs", "sys/packs.rs"]),
    ("ast_grep_core", &["syntax"]),
    ("ast_grep_config", &["syntax"]),
    ("ast_grep_language", &["syntax"]),
    ("tree_sitter", &["syntax"]),
    ("gix_attributes", &["git"]),
    ("chardetng", &["sys/charset.rs"]),
    ("encoding_rs", &["sys/charset.rs"]),
    ("landlock", &["sys/process/sandbox/landlocked.rs"]),
    ("jiff", &["domain/day.rs", "sys/clock.rs", "config"]),
    ("indicatif", &["present"]),
    ("serde_sarif", &["present/sarif/mod.rs", "present/sarif"]),
    ("schemars", &["domain", "present", "tools", "review/builder/engine_tools", "review/verify", "mcp/tools"]),
    (
        "tokio",
        &[
            "sys/blocking.rs",
            "sys/cancel.rs",
            "sys/database.rs",
            "sys/local_socket.rs",
            "llm",
            "forge",
            "editor",
            "review",
            "publish",
            "app",
            "web",
            "lsp",
            "mcp",
            "cli",
            "main.rs",
        ],
    ),
    ("gen_lsp_types", &["lsp"]),
    ("lsp_server", &["lsp"]),
    ("rmcp", &["mcp/protocol"]),
    ("axum", &["mcp/protocol", "web"]),
    ("hyper_util", &["web"]),
    ("percent_encoding", &["domain/percent.rs"]),
    ("pulldown_cmark", &["document", "present/html/markdown.rs"]),
    ("toml_edit", &["app/clients", "config/dismissals", "config/edit.rs"]),
    ("jsonc_parser", &["app/clients/json/mod.rs"]),
    ("reqwest", &["sys/http.rs"]),
    ("rustls", &["sys/app_key.rs", "sys/http.rs"]),
    ("sqlx", &["sys/database.rs"]),
    ("minijinja", &["prompt", "present/html", "present/batch/html.rs", "present/running.rs"]),
    ("clap", &["cli", "main.rs"]),
];

/// Who may name the streams of this process. Whoever else writes is given a writer, which spells what a build log would obey.
const STREAMS: &[(&str, &[&str])] = &[
    ("cli/console.rs", &["io::stdout", "io::stderr", "print", "std::panic::set_hook"]),
    // Spells each message itself: the stream is asynchronous.
    ("mcp/protocol/stdio.rs", &["tokio::io::stdout"]),
    // The protocol of editors; `lsp/transport.rs` spells each message itself.
    ("lsp/mod.rs", &["io::stdout"]),
    // Drawn on terminals alone, never in a log.
    ("present/progress/bar.rs", &["ProgressDrawTarget::stderr"]),
    ("present/progress/batch.rs", &["ProgressDrawTarget::stderr"]),
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
        for import in &file.syntax().imports {
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
fn the_layers_within_a_room_point_down() {
    let mut faults = String::new();
    for (room, layers) in LAYERS_WITHIN {
        let layer = |name: &str| layers.iter().position(|layer| layer.contains(&name));
        for file in sources() {
            let Some(name) = file.name.strip_prefix(room).and_then(|name| name.strip_prefix('/')) else { continue };
            let from = name.split('/').next().unwrap_or_default().trim_end_matches(".rs");
            if from == "mod" {
                continue;
            }
            let own = layer(from).unwrap_or_else(|| panic!("{room}/{from} has no layer in LAYERS_WITHIN"));
            for import in &file.syntax().imports {
                let [first, to, ..] = import.path.as_slice() else { continue };
                // What a room exports is for the others.
                let is_below = to == from || layer(to).is_some_and(|below| below < own);
                if first == room && !is_below {
                    let _ = writeln!(faults, "src/{}:{}: {room}/{from} -> {to}", file.name, import.line);
                }
            }
        }
    }
    assert!(faults.is_empty(), "\n{faults}");
}

#[test]
fn siblings_form_no_circle() {
    let mut faults = String::new();
    for circle in circles(sources()) {
        let _ = writeln!(faults, "{circle}");
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
    let exported: BTreeMap<Vec<String>, &BTreeSet<String>> = sources
        .iter()
        .map(|file| (file.module(), &file.syntax().exports))
        .filter(|(_, names)| !names.is_empty())
        .collect();
    let modules: BTreeSet<Vec<String>> = sources.iter().map(Source::module).collect();
    let mut faults = String::new();
    for file in sources {
        let module = file.module();
        // Tests stand outside.
        if module.iter().any(|name| name == "tests") {
            continue;
        }
        for import in &file.syntax().imports {
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
        for (line, name) in &file.syntax().crates {
            let Some((_, allowed)) = BEHIND.iter().find(|(dependency, _)| dependency == name) else { continue };
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
        for (line, path) in &file.syntax().streams {
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
        let file = Source::new("git/a.rs".to_owned(), code.to_owned());
        file.syntax().streams.iter().map(|(_, path)| path.clone()).collect::<Vec<_>>()
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
        let file = Source::new(name.to_owned(), code.to_owned());
        file.syntax().imports.iter().map(|import| import.path.join("::")).collect()
    };
    assert_eq!(seen("git/a.rs", "use crate::{app::x, cli};"), ["app::x", "cli"]);
    assert_eq!(seen("git/a.rs", "pub use super::super::app::y;"), ["app::y"]);
    assert_eq!(seen("git/mod.rs", "use super::app as renamed;"), ["app"]);
    assert_eq!(seen("git/a.rs", "mod tests { use super::super::super::cli::*; }"), ["cli"]);
    assert_eq!(seen("git/a.rs", "fn f() { crate::app::go(); vec![crate::cli::X] }"), ["app::go", "cli::X"]);
}

#[test]
fn a_circle_is_seen_and_layers_are_none() {
    let found = |files: &[(&str, &str)]| -> Vec<String> {
        let source = |(name, text): &(&str, &str)| Source::new((*name).to_owned(), (*text).to_owned());
        circles(&files.iter().map(source).collect::<Vec<_>>()).iter().map(ToString::to_string).collect()
    };
    let there = ("git/a.rs", "use super::b::B;\n");
    assert_eq!(
        found(&[there, ("git/b.rs", "\n\nfn f() { super::a::go() }")]),
        ["src/git: a -> b -> a; one of these has to go: src/git/a.rs:1 or src/git/b.rs:3"]
    );
    // What lies in a folder counts for the folder, in whichever folder the circle is.
    let deep = [
        ("app/x/a/deep.rs", "use super::super::b;"),
        ("app/x/b/mod.rs", "mod c;"),
        ("app/x/b/c.rs", "use crate::app::x::a::Y;"),
    ];
    let longer = [("git/b.rs", "use super::c;"), ("git/c/d.rs", "use crate::git::a;")];
    assert_eq!(found(&deep).len(), 1);
    assert_eq!(found(&[there, longer[0], longer[1]]).len(), 1);
    // Two circles that share a sibling are one.
    let both = [there, ("git/b.rs", "use super::{a, c};"), ("git/c.rs", "use super::b;")];
    assert!(found(&both)[0].starts_with("src/git: a -> b -> a, c -> b -> c; "), "{:?}", found(&both));
    for (other, text) in [
        // A parent and its children may import each other.
        ("git/mod.rs", "mod a; use a::A;"),
        ("git/b.rs", "use super::c;"),
        // Tests may look at anything, and macros and visibilities name their own folder.
        ("git/b.rs", "#[cfg(test)] mod tests { use super::super::a::A; }"),
        ("git/b/tests.rs", "use super::super::a::A;"),
        ("git/b.rs", "pub(in crate::git) struct B;"),
    ] {
        assert_eq!(found(&[there, (other, text)]), [""; 0], "{text}");
    }
}

pub(super) struct Source {
    pub(super) name: String,
    pub(super) text: String,
    syntax: OnceLock<Syntax>,
}

/// What the parsed text of a source says. Parsing takes most of the time of these tests, so it is done once for all of them.
struct Syntax {
    imports: Vec<Import>,
    /// The names that it re-exports from the modules below it.
    exports: BTreeSet<String>,
    streams: Vec<(usize, String)>,
    crates: Vec<(usize, String)>,
}

struct Import {
    path: Vec<String>,
    line: usize,
    /// `true` inside of `mod tests`.
    is_of_tests: bool,
}

pub(super) fn sources() -> &'static [Source] {
    static SOURCES: LazyLock<Vec<Source>> = LazyLock::new(read_sources);
    &SOURCES
}

fn read_sources() -> Vec<Source> {
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
    found.into_iter().map(|(name, text)| Source::new(name, text)).collect()
}

/// Siblings of which each imports the next, and the last one the first, as modules of one folder or with all that lies below them.
struct Circle {
    /// The folder, below `src`.
    folder: String,
    siblings: BTreeSet<String>,
    /// An import for each pair of them: `src/git/a.rs:1`.
    imports: BTreeMap<(String, String), String>,
}

impl Circle {
    /// The shortest ways round, one from each of the siblings that is on none before.
    fn rounds(&self) -> Vec<Vec<&str>> {
        let mut rounds: Vec<Vec<&str>> = Vec::new();
        for first in &self.siblings {
            if rounds.iter().flatten().any(|sibling| sibling == first) {
                continue;
            }
            let mut ways = std::collections::VecDeque::from([vec![first.as_str()]]);
            let mut seen = BTreeSet::new();
            while let Some(way) = ways.pop_front() {
                let at = way[way.len() - 1];
                let next = self.imports.keys().filter(|(from, _)| from == at).map(|(_, to)| to.as_str());
                let next: Vec<&str> = next.filter(|to| seen.insert(*to)).collect();
                if next.contains(&first.as_str()) {
                    rounds.push([way, vec![first]].concat());
                    break;
                }
                ways.extend(next.into_iter().map(|to| [way.clone(), vec![to]].concat()));
            }
        }
        rounds
    }
}

impl std::fmt::Display for Circle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let rounds = self.rounds();
        let shown: Vec<String> = rounds.iter().map(|round| round.join(" -> ")).collect();
        let imports = rounds[0].windows(2).map(|pair| &*self.imports[&(pair[0].to_owned(), pair[1].to_owned())]);
        let imports = imports.collect::<Vec<_>>().join(" or ");
        write!(f, "src/{}: {}; one of these has to go: {imports}", self.folder, shown.join(", "))
    }
}

/// The circles among the siblings of each folder. Tests stand outside, and so does the parent: it and its children may import each other.
fn circles(sources: &[Source]) -> Vec<Circle> {
    let mut folders: BTreeMap<Vec<String>, BTreeMap<(String, String), String>> = BTreeMap::new();
    let modules: BTreeSet<Vec<String>> = sources.iter().map(Source::module).collect();
    let is_module = |path: &[String]| modules.iter().any(|module| module.starts_with(path));
    for file in sources.iter().filter(|file| !file.module().iter().any(|name| name == "tests")) {
        let module = file.module();
        for import in file.syntax().imports.iter().filter(|import| !import.is_of_tests) {
            let common = module.iter().zip(&import.path).take_while(|(one, other)| one == other).count();
            let (Some(from), Some(to)) = (module.get(common), import.path.get(common)) else { continue };
            if is_module(&import.path[..=common]) {
                let place = format!("src/{}:{}", file.name, import.line);
                let imports = folders.entry(module[..common].to_vec()).or_default();
                imports.entry((from.clone(), to.clone())).or_insert(place);
            }
        }
    }
    let mut found = Vec::new();
    for (folder, imports) in folders {
        let reached = |from: &String| {
            let (mut seen, mut left) = (BTreeSet::new(), vec![from.clone()]);
            while let Some(at) = left.pop() {
                let next = imports.keys().filter(|(from, _)| *from == at).map(|(_, to)| to.clone());
                left.extend(next.filter(|to| seen.insert(to.clone())));
            }
            seen
        };
        let from: BTreeSet<&String> = imports.keys().map(|(from, _)| from).collect();
        let reached: BTreeMap<&String, BTreeSet<String>> = from.into_iter().map(|from| (from, reached(from))).collect();
        let meet = |one: &String, other: &String| {
            reached.get(one).is_some_and(|all| all.contains(other))
                && reached.get(other).is_some_and(|all| all.contains(one))
        };
        let groups: BTreeSet<BTreeSet<String>> = reached
            .keys()
            .filter(|one| meet(one, one))
            .map(|one| reached.keys().filter(|other| meet(one, other)).map(|other| (*other).clone()).collect())
            .collect();
        for siblings in groups {
            let inside = imports.iter().filter(|((from, to), _)| siblings.contains(from) && siblings.contains(to));
            let imports = inside.map(|(pair, place)| (pair.clone(), place.clone())).collect();
            found.push(Circle { folder: folder.join("/"), siblings, imports });
        }
    }
    found
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

    fn new(name: String, text: String) -> Self {
        Self { name, text, syntax: OnceLock::new() }
    }

    fn syntax(&self) -> &Syntax {
        self.syntax.get_or_init(|| {
            let file = syn::parse_file(&self.text).unwrap_or_else(|error| panic!("src/{}: {error}", self.name));
            let mut seen = Seen { module: self.module(), imports: Vec::new(), crates: Vec::new() };
            seen.visit_file(&file);
            let mut streams = Streams::default();
            streams.visit_file(&file);
            Syntax { imports: seen.imports, exports: exports(file), streams: streams.0, crates: seen.crates }
        })
    }
}

fn exports(file: syn::File) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for item in file.items {
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
            self.imports.push(Import { path, line, is_of_tests: self.module.iter().any(|name| name == "tests") });
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
