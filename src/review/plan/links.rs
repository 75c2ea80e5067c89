//! Links between changed files that belong together: a subject and its tests, imports and uses. Main function: [`find_links`].
//!
//! Only names are compared, and only names that few files have: a wrong link merely puts two files into one conversation. The time grows with the
//! number of files and of names, not with their product.

use std::collections::{BTreeMap, HashMap};

use foldhash::fast::RandomState;

use crate::domain::change::ChangeSet;
use crate::domain::path::RepoPath;
use crate::syntax::Relations;

/// A test and its subject.
const TESTS: u32 = 100;
/// One imports the other.
const IMPORTS: u32 = 60;
/// Weight of a use of the other's names, with the maximum number of names that count.
const USES: u32 = 12;
const MOST_USES: u32 = 5;

/// Maximum number of changed files that define a name for it to be significant.
pub(in crate::review) const MOST_DEFINERS: usize = 2;
/// Shorter names are used for everything.
pub(in crate::review) const SHORTEST_NAME: usize = 4;
/// An import that may mean more files is not followed.
const MOST_MEANT: usize = 8;
/// Maximum number of imports that are followed for one file.
const MOST_IMPORTS: usize = 300;

/// Generic file names; the folder is significant instead.
const NAMELESS: &[&str] = &["mod", "index", "main", "lib", "__init__", "init", "package", "types", "utils", "readme"];

/// Places of files by a name.
type NameIndex<'a> = HashMap<&'a str, Vec<usize>, RandomState>;

/// Closeness of two files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileLink {
    /// Their places in the change, the lesser first.
    pub(super) files: (usize, usize),
    /// The more, the closer.
    pub(super) weight: u32,
}

/// Changed file, described by its path, in lower case.
struct NamedFile {
    folders: Vec<String>,
    stem: String,
    /// Subject of the test, if the name is that of a test.
    tests: Option<String>,
}

/// Returns the links between files of a change, the closest first; `relations` are theirs, by place.
pub(super) fn find_links(change: &ChangeSet, files: &[usize], relations: &HashMap<usize, Relations>) -> Vec<FileLink> {
    let named: BTreeMap<usize, NamedFile> =
        files.iter().filter_map(|at| Some((*at, NamedFile::of(&change.files.get(*at)?.path)))).collect();
    let mut weights = LinkWeights::default();
    tests(&named, &mut weights);
    imports(&named, relations, &mut weights);
    uses(&named, relations, &mut weights);
    let mut links: Vec<FileLink> = weights.0.into_iter().map(|(files, weight)| FileLink { files, weight }).collect();
    links.sort_by_key(|link| (std::cmp::Reverse(link.weight), link.files));
    links
}

#[derive(Default)]
struct LinkWeights(BTreeMap<(usize, usize), u32>);

impl LinkWeights {
    fn add(&mut self, a: usize, b: usize, weight: u32) {
        if a != b {
            *self.0.entry((a.min(b), a.max(b))).or_default() += weight;
        }
    }
}

impl NamedFile {
    fn of(path: &RepoPath) -> Self {
        let text = String::from_utf8_lossy(path.as_bytes()).into_owned();
        let mut folders: Vec<String> = text.split('/').map(str::to_lowercase).collect();
        folders.pop();
        let name = text.rsplit('/').next().unwrap_or_default();
        // `cart.test.ts` has the stem `cart.test`; `.bashrc` is all stem.
        let stem = name.rsplit_once('.').map_or(name, |(stem, _)| if stem.is_empty() { name } else { stem });
        let in_tests = folders.iter().any(|folder| matches!(folder.as_str(), "test" | "tests" | "spec" | "__tests__"));
        let subject = subject(stem).or_else(|| in_tests.then(|| stem.to_lowercase()));
        Self { folders, stem: stem.to_lowercase(), tests: subject.filter(|subject| !is_nameless(subject)) }
    }

    /// Returns the name in imports: the folder, if the file's own name is generic.
    fn module(&self) -> &str {
        if is_nameless(&self.stem) { self.folders.last().map_or(&self.stem, |folder| folder) } else { &self.stem }
    }

    /// Returns the closeness of two files' folders: their common prefix, ignoring the mirrored `src` and `tests`.
    fn nearness(&self, other: &Self) -> usize {
        let places = |named: &Self| -> Vec<String> {
            let roots = ["src", "test", "tests", "spec", "__tests__", "lib", "main"];
            named.folders.iter().filter(|folder| !roots.contains(&folder.as_str())).cloned().collect()
        };
        let (own, others) = (places(self), places(other));
        own.iter().zip(&others).take_while(|(a, b)| a == b).count()
    }
}

fn is_nameless(stem: &str) -> bool {
    NAMELESS.contains(&stem)
}

/// Returns the subject of a test file by its stem: `test_cart`, `cart_test`, `cart.spec`, `CartTest`.
fn subject(stem: &str) -> Option<String> {
    const WORDS: &[&str] = &["tests", "test", "spec", "specs"];
    let lower = stem.to_lowercase();
    let bare = |rest: &str| {
        let rest = rest.trim_matches(|c: char| !c.is_alphanumeric());
        (!rest.is_empty()).then(|| rest.to_owned())
    };
    for word in WORDS {
        let marked = |rest: &str, edge: Option<char>| !rest.is_empty() && edge.is_some_and(|c| !c.is_alphanumeric());
        if let Some(rest) = lower.strip_suffix(word).filter(|rest| marked(rest, rest.chars().next_back())) {
            return bare(rest);
        }
        if let Some(rest) = lower.strip_prefix(word).filter(|rest| marked(rest, rest.chars().next())) {
            return bare(rest);
        }
    }
    // `CartTest`: the case marks the boundary; a word like `latest` has none.
    let camel = ["Tests", "Test", "Spec"].iter().find_map(|word| stem.strip_suffix(word));
    bare(&camel?.to_lowercase())
}

/// Links tests with the nearest files of the name that they are about.
fn tests(named: &BTreeMap<usize, NamedFile>, weights: &mut LinkWeights) {
    let mut subjects = NameIndex::default();
    for (at, file) in named.iter().filter(|(_, file)| file.tests.is_none()) {
        subjects.entry(file.module()).or_default().push(*at);
    }
    for (at, file) in named {
        let Some(meant) = file.tests.as_deref().and_then(|subject| subjects.get(subject)) else { continue };
        for subject in nearest(file, named, meant) {
            weights.add(*at, subject, TESTS);
        }
    }
}

/// Returns those of some files that are nearest to one; empty if too many are equally near.
fn nearest(file: &NamedFile, named: &BTreeMap<usize, NamedFile>, meant: &[usize]) -> Vec<usize> {
    if meant.len() > MOST_MEANT * MOST_MEANT {
        return Vec::new();
    }
    let near = |at: &usize| named.get(at).map_or(0, |other| file.nearness(other));
    let best = meant.iter().map(near).max().unwrap_or(0);
    let nearest: Vec<usize> = meant.iter().copied().filter(|at| near(at) == best).collect();
    if nearest.len() > MOST_MEANT { Vec::new() } else { nearest }
}

/// Links files with those that they import.
fn imports(named: &BTreeMap<usize, NamedFile>, relations: &HashMap<usize, Relations>, weights: &mut LinkWeights) {
    let mut modules = NameIndex::default();
    let mut packages = NameIndex::default();
    for (at, file) in named {
        modules.entry(file.module()).or_default().push(*at);
        if let Some(folder) = file.folders.last() {
            packages.entry(folder).or_default().push(*at);
        }
    }
    for (at, file) in named {
        let Some(own) = relations.get(at) else { continue };
        for import in own.imports.iter().take(MOST_IMPORTS) {
            let import = import.to_lowercase();
            let segments: Vec<&str> = import
                .split(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-')))
                .filter(|segment| !segment.is_empty())
                .collect();
            // The last word may be a name within the module, or the extension of a file.
            let words = segments.iter().rev().take(2);
            let meant = words
                .clone()
                .find_map(|word| modules.get(word))
                .or_else(|| words.clone().find_map(|word| packages.get(word)));
            for other in meant.map(|meant| best_matching_import(file, named, meant, &segments)).unwrap_or_default() {
                weights.add(*at, other, IMPORTS);
            }
        }
    }
}

/// Returns those of an import's possible files that match the most of its folders, then the nearest.
fn best_matching_import(
    file: &NamedFile,
    named: &BTreeMap<usize, NamedFile>,
    meant: &[usize],
    segments: &[&str],
) -> Vec<usize> {
    if meant.len() > MOST_MEANT * MOST_MEANT {
        return Vec::new();
    }
    let spelled = |at: &usize| {
        named
            .get(at)
            .map_or(0, |other| other.folders.iter().filter(|folder| segments.contains(&folder.as_str())).count())
    };
    let best = meant.iter().map(spelled).max().unwrap_or(0);
    let best: Vec<usize> = meant.iter().copied().filter(|at| spelled(at) == best).collect();
    nearest(file, named, &best)
}

/// Links files with those that define what they use.
fn uses(named: &BTreeMap<usize, NamedFile>, relations: &HashMap<usize, Relations>, weights: &mut LinkWeights) {
    let definers = find_definers(named.keys().copied(), relations);
    for at in named.keys() {
        let Some(own) = relations.get(at) else { continue };
        let mut counts: BTreeMap<usize, u32> = BTreeMap::new();
        for name in &own.uses {
            for definer in definers.get(name.as_str()).into_iter().flatten().filter(|definer| *definer != at) {
                *counts.entry(*definer).or_default() += 1;
            }
        }
        for (definer, count) in counts {
            weights.add(*at, definer, USES * count.min(MOST_USES));
        }
    }
}

/// Returns the files that define a name, for distinctive names.
fn find_definers(files: impl Iterator<Item = usize>, relations: &HashMap<usize, Relations>) -> NameIndex<'_> {
    let mut definers = NameIndex::default();
    for at in files {
        let names = relations.get(&at).into_iter().flat_map(|own| &own.defines);
        for name in names.filter(|name| name.len() >= SHORTEST_NAME) {
            definers.entry(name).or_default().push(at);
        }
    }
    definers.retain(|_, files| files.len() <= MOST_DEFINERS);
    definers
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::change::FileChange;

    fn linked(files: &[(&str, &str)]) -> Vec<(String, String, u32)> {
        let paths = files.iter().map(|(path, _)| RepoPath::parse(path).unwrap());
        let change = ChangeSet::of(paths.map(FileChange::modified).collect());
        let relations = change.files.iter().zip(files).enumerate().filter_map(|(at, (file, (_, text)))| {
            let language = crate::domain::language::from_path(&file.path)?;
            Some((at, crate::syntax::relations(language, text)?))
        });
        let all: Vec<usize> = (0..files.len()).collect();
        let links = find_links(&change, &all, &relations.collect());
        let name = |at: usize| files[at].0.to_owned();
        links.into_iter().map(|link| (name(link.files.0), name(link.files.1), link.weight)).collect()
    }

    fn pairs(files: &[(&str, &str)]) -> Vec<(String, String)> {
        linked(files).into_iter().map(|(a, b, _)| (a, b)).collect()
    }

    fn pair(a: &str, b: &str) -> (String, String) {
        (a.to_owned(), b.to_owned())
    }

    #[test]
    fn a_test_goes_with_its_subject_however_the_language_names_it() {
        for (subject, test) in [
            ("src/cart.py", "tests/test_cart.py"),
            ("cart.go", "cart_test.go"),
            ("web/Cart.tsx", "web/Cart.test.tsx"),
            ("web/cart.ts", "web/__tests__/cart.spec.ts"),
            ("src/main/Cart.java", "src/test/CartTest.java"),
            ("src/cart.rs", "tests/cart.rs"),
            ("src/cart/mod.rs", "tests/cart.rs"),
        ] {
            assert_eq!(pairs(&[(subject, ""), (test, "")]), [pair(subject, test)]);
        }
        assert_eq!(pairs(&[("src/la.py", ""), ("src/latest.py", "")]), []);
        assert_eq!(pairs(&[("src/mod.rs", ""), ("tests/mod.rs", "")]), []);
    }

    #[test]
    fn of_many_subjects_of_a_name_the_nearest_is_meant() {
        let files = [("src/a/cart.py", ""), ("src/b/cart.py", ""), ("tests/b/test_cart.py", "")];
        assert_eq!(pairs(&files), [pair("src/b/cart.py", "tests/b/test_cart.py")]);
    }

    #[test]
    fn who_imports_or_calls_is_linked_and_names_that_all_have_are_not() {
        let files = [
            ("shop/cart.py", "def discount_of(x):\n    return x\n"),
            ("shop/order.py", "from shop.cart import discount_of\n\ndef price(x):\n    return discount_of(x)\n"),
            ("shop/stock.py", "def reserve(x):\n    return x\n"),
        ];
        assert_eq!(linked(&files), [("shop/cart.py".to_owned(), "shop/order.py".to_owned(), IMPORTS + USES)]);
        let run = |path| (path, "def run_all():\n    return run_all()\n");
        assert_eq!(pairs(&[run("a/x.py"), run("b/y.py"), run("c/z.py")]), []);
    }

    #[test]
    fn relative_imports_mean_the_file_nearby() {
        let files = [("a/format.ts", ""), ("b/format.ts", ""), ("b/page.ts", "import { x } from './format';\nx();\n")];
        assert_eq!(pairs(&files), [pair("b/format.ts", "b/page.ts")]);
    }
}
