//! Changes to the definitions of the changed files. Main type: [`DefinitionChanges`].

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use super::super::sides::BothSides;
use super::super::target::{ChangedLineIndex, is_markup, is_test_path, read_text, word_positions};
use super::context::{ImpactContext, not_parsed};
use super::family::LanguageFamily;
use super::words::FollowedWords;
use crate::domain::change::{FileChange, FileStatus};
use crate::domain::language;
use crate::domain::path::RepoPath;
use crate::domain::place::{DiffSide, LineRange};
use crate::domain::text::FileText;
use crate::syntax::{
    DefinitionKind, ExcerptQuery, Parameters, ScanFocus, SymbolDefinition, SymbolDepth, Symbols, WordSet,
    different_outlines, symbols,
};
use crate::sys::cancel::CancelReason;
use crate::sys::threads::for_each_file;

/// Minimum length of a name; shorter ones are ambiguous.
const SHORTEST: usize = 4;

/// The changes to definitions.
#[derive(Debug, Default)]
pub(super) struct DefinitionChanges {
    pub(super) gone: Vec<RemovedDefinition>,
    pub(super) altered: Vec<ChangedSignature>,
    pub(super) grown: Vec<ExtendedInterface>,
    pub(super) modules: Vec<RemovedModule>,
}

/// The place of a definition on its side.
#[derive(Debug, Clone)]
pub(super) struct DefinitionSite {
    /// Index of the file in the change.
    pub(super) file: usize,
    pub(super) path: RepoPath,
    pub(super) family: LanguageFamily,
    pub(super) name: String,
    /// The type that it is a member of.
    pub(super) owner: Option<String>,
    pub(super) lines: LineRange,
    pub(super) kind: DefinitionKind,
    pub(super) reach: Visibility,
}

impl DefinitionSite {
    /// Checks whether it is a constructor, which is used by the name of its type.
    pub(super) fn is_constructor(&self) -> bool {
        match self.family {
            LanguageFamily::Python => self.name == "__init__",
            LanguageFamily::Script => self.name == "constructor",
            LanguageFamily::Java => self.owner.as_deref() == Some(&self.name),
            LanguageFamily::Rust | LanguageFamily::Go | LanguageFamily::C => false,
        }
    }

    /// Returns the names that matter to it.
    fn names(&self) -> BTreeSet<String> {
        let exports = (self.family == LanguageFamily::Script).then(|| "exports".to_owned());
        [Some(self.name.clone()), self.owner.clone(), exports].into_iter().flatten().collect()
    }

    /// Returns the words on whose places it depends who uses it.
    pub(super) fn words(&self) -> FollowedWords {
        FollowedWords::new(self.names(), BTreeSet::new())
    }

    /// Returns the name under which it is used.
    pub(super) fn searched_name(&self) -> &str {
        self.owner.as_deref().filter(|_| self.is_constructor()).unwrap_or(&self.name)
    }
}

/// The scope from which a definition can be named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Visibility {
    File,
    Folder,
    Tree,
}

/// A removed file that others import by its path.
#[derive(Debug)]
pub(super) struct RemovedModule {
    /// Index of the file in the change.
    pub(super) file: usize,
    /// Its old path.
    pub(super) path: RepoPath,
    pub(super) family: LanguageFamily,
    /// The last part of the path that names it.
    pub(super) stem: String,
    pub(super) moved: bool,
}

/// A removed definition.
#[derive(Debug)]
pub(super) struct RemovedDefinition {
    /// On the base side.
    pub(super) home: DefinitionSite,
}

/// A function with a changed signature.
#[derive(Debug)]
pub(super) struct ChangedSignature {
    /// On the head side.
    pub(super) home: DefinitionSite,
    pub(super) before: Vec<Parameters>,
    pub(super) after: Vec<Parameters>,
}

/// An interface with new required members.
#[derive(Debug)]
pub(super) struct ExtendedInterface {
    /// The interface on the head side.
    pub(super) home: DefinitionSite,
    /// The new members with their places.
    pub(super) members: Vec<(String, LineRange)>,
}

impl ExtendedInterface {
    /// Returns the words on whose places it depends who implements it.
    pub(super) fn words(&self) -> FollowedWords {
        let members: BTreeSet<String> = self.members.iter().map(|(member, _)| member.clone()).collect();
        let types = members.iter().chain([&self.home.name]).cloned().collect();
        FollowedWords::new(members, types)
    }
}

impl ChangedSignature {
    /// Checks whether a call that was valid is invalid now.
    pub(super) fn rejects(&self, count: u32) -> bool {
        let fits = |list: &[Parameters]| list.iter().any(|taken| taken.accepts(count));
        fits(&self.before) && !fits(&self.after)
    }
}

impl DefinitionChanges {
    /// Compares the outlines of the files of the change; `known` are those that were read before, by index.
    pub(super) fn of(ground: &ImpactContext<'_>, known: &[Option<&FileOutlines>]) -> Result<Self, CancelReason> {
        let mut changed = Self::default();
        let mut there: HashSet<(LanguageFamily, String)> = HashSet::new();
        let sides = ground.sides;
        let files = &sides.change.files;
        let family =
            |at: usize| files.get(at).filter(|_| sides.asks(at)).and_then(|file| LanguageFamily::of(&file.path));
        let known = |at: usize| known.get(at).copied().flatten();
        let read = |at: usize| Some(changed_definitions(&sides, at, family(at).filter(|_| known(at).is_none())?));
        let outlines = for_each_file(files.len(), read);
        for ((at, file), outlines) in files.iter().enumerate().zip(outlines) {
            sides.cancel.check()?;
            let Some(family) = family(at) else { continue };
            changed.modules.extend(module(ground, at, file, family)?);
            let read = outlines.flatten().transpose()?;
            let (old, new, names) = match known(at).or(read.as_ref()).unwrap_or(&FileOutlines::Unparsed) {
                FileOutlines::Changed { old, new, names } => (old, new, names),
                FileOutlines::Unchanged => continue,
                FileOutlines::Unparsed => {
                    ground.note(not_parsed(&file.path));
                    continue;
                }
            };
            // An outline omits names inside functions; such a name is not the new place of a public definition.
            if let Some(new) = new {
                there.extend(top_level_names(family, new));
            }
            let both = FileVersions { at, file, family, old, new: new.as_ref(), names: Some(names) };
            changed.compare(&both, false);
        }
        there.extend(changed.moved_elsewhere(ground)?);
        // A definition that is in another file of the change now was moved.
        changed
            .gone
            .retain(|gone| gone.home.owner.is_some() || !there.contains(&(gone.home.family, gone.home.name.clone())));
        Ok(changed)
    }

    /// Returns those of the names that are gone which files of the change define.
    fn moved_elsewhere(&self, ground: &ImpactContext<'_>) -> Result<Vec<(LanguageFamily, String)>, CancelReason> {
        let mut found = Vec::new();
        let mut names: BTreeMap<LanguageFamily, BTreeSet<String>> = BTreeMap::new();
        for home in self.gone.iter().map(|gone| &gone.home).filter(|home| home.owner.is_none()) {
            names.entry(home.family).or_default().insert(home.name.clone());
        }
        let names: BTreeMap<_, _> = names.into_iter().map(|(family, names)| (family, WordSet::of(names))).collect();
        let sides = ground.sides;
        let files = &sides.change.files;
        let defined = for_each_file(files.len(), |at| {
            sides.cancel.check()?;
            let file = &files[at];
            let is_read = file.status != FileStatus::Deleted && is_analyzed(file);
            let family = LanguageFamily::of(&file.path).filter(|_| is_read);
            let Some((family, words)) = family.and_then(|family| Some((family, names.get(&family)?))) else {
                return Ok(None);
            };
            let text = read_text(sides.new, &file.path)?.filter(|text| words.stand_in(text.text()));
            let query = ExcerptQuery { words: Some(words), ..ExcerptQuery::default() };
            let read = |text: Arc<FileText>| {
                let new = read_symbols(&sides, &file.path, &text, query, SymbolDepth::Outline)?;
                Some(top_level_names(family, &new).collect::<Vec<_>>())
            };
            Ok(text.map(read))
        });
        for (file, defined) in files.iter().zip(defined) {
            match defined.transpose()?.flatten() {
                Some(Some(defined)) => found.extend(defined),
                Some(None) => ground.note(not_parsed(&file.path)),
                None => {}
            }
        }
        Ok(found)
    }

    /// Returns the words on whose places it depends whether the changes are what they seem.
    fn words(&self) -> WordSet {
        let gone = self.gone.iter().map(|gone| &gone.home);
        let homes = gone.chain(self.altered.iter().map(|altered| &altered.home));
        let homes = homes.chain(self.grown.iter().map(|grown| &grown.home));
        let members = self.grown.iter().flat_map(|grown| &grown.members).map(|(member, _)| member.clone());
        WordSet::of(homes.flat_map(DefinitionSite::names).chain(members).collect())
    }

    /// Returns the names to search for, by language family.
    pub(super) fn names(&self) -> BTreeMap<LanguageFamily, BTreeSet<String>> {
        let mut names: BTreeMap<LanguageFamily, BTreeSet<String>> = BTreeMap::new();
        let mut add = |family: LanguageFamily, name: &str| names.entry(family).or_default().insert(name.to_owned());
        let homes = self.gone.iter().map(|gone| &gone.home).chain(self.altered.iter().map(|altered| &altered.home));
        for home in homes.filter(|home| home.reach == Visibility::Tree) {
            add(home.family, home.searched_name());
        }
        for module in &self.modules {
            add(module.family, &module.stem);
        }
        for grown in &self.grown {
            add(grown.home.family, &grown.home.name);
        }
        names
    }

    /// Compares two outlines, or those parts of them that differ: then more may be found than what changed.
    fn compare(&mut self, both: &FileVersions<'_>, is_of_parts: bool) {
        self.find_gone(both, is_of_parts);
        if let Some(new) = both.new {
            self.find_altered(both, new);
            self.find_grown(both, new);
        }
    }

    /// Finds removed definitions. Of parts of outlines, these include functions of which another of the same name may stay, and constructors.
    fn find_gone(&mut self, both: &FileVersions<'_>, is_of_parts: bool) {
        let touched = ChangedLineIndex::of(both.file, DiffSide::Old);
        for definition in &both.old.definitions {
            let kind = match definition.kind {
                DefinitionKind::Implementation | DefinitionKind::Field | DefinitionKind::Variant => continue,
                kind => kind,
            };
            let owner = both.old.owner(definition);
            let unclear = definition.is_attached()
                || definition.nested
                || definition.conditional
                || definition.name.len() < SHORTEST;
            let stays = both.new.is_some_and(|new| {
                let is_function = is_of_parts && kind == DefinitionKind::Function;
                let stands = |one: &SymbolDefinition| one.name == definition.name && new.owner(one) == owner;
                let mut functions = new.definitions.iter().filter(|one| one.kind == DefinitionKind::Function);
                if is_function { functions.any(stands) } else { exports(new, &definition.name, owner) }
            });
            if unclear || stays || !both.may_change(&definition.name) {
                continue;
            }
            let home = both.home(DiffSide::Old, definition, owner, kind);
            // A type without a declared constructor has the default one.
            let home = home.filter(|home| is_of_parts || !home.is_constructor());
            if let Some(home) = home.filter(|home| touched.first_in(home.lines).is_some_and(|(_, stands)| stands)) {
                self.gone.push(RemovedDefinition { home });
            }
        }
    }

    fn find_altered(&mut self, both: &FileVersions<'_>, new: &Symbols) {
        let touched = ChangedLineIndex::of(both.file, DiffSide::New);
        let (before, after) = (functions(both.old), functions(new));
        for ((owner, name), now) in after {
            let Some(was) = before.get(&(owner, name)).filter(|_| name.len() >= SHORTEST && both.may_change(name))
            else {
                continue;
            };
            let taken = |list: &[&SymbolDefinition]| -> Option<Vec<Parameters>> {
                list.iter().map(|one| one.parameters.clone().filter(|_| !one.conditional && !one.nested)).collect()
            };
            let (Some(was), Some(is)) = (taken(was), taken(&now)) else { continue };
            if was == is {
                continue;
            }
            let place = now.iter().filter_map(|one| both.home(DiffSide::New, one, owner, DefinitionKind::Function));
            let mut place = place.filter(|home| touched.first_in(home.lines).is_some());
            if let Some(home) = place.next() {
                let altered = ChangedSignature { home, before: was, after: is };
                if (0..=20).any(|count| altered.rejects(count)) {
                    self.altered.push(altered);
                }
            }
        }
    }

    fn find_grown(&mut self, both: &FileVersions<'_>, new: &Symbols) {
        let touched = ChangedLineIndex::of(both.file, DiffSide::New);
        for (at, definition) in new.definitions.iter().enumerate() {
            if definition.kind != DefinitionKind::Interface || definition.nested || !both.may_change(&definition.name) {
                continue;
            }
            let mut olds = both.old.definitions.iter().enumerate();
            let old = olds.find(|(_, old)| old.kind == definition.kind && old.name == definition.name);
            let Some((old, _)) = old else { continue };
            let counts = |member: &&SymbolDefinition| match member.kind {
                DefinitionKind::Function => true,
                DefinitionKind::Field => both.family == LanguageFamily::Script,
                _ => false,
            };
            let had: BTreeSet<String> =
                both.old.members(old).filter(counts).map(|member| member.name.clone()).collect();
            let fresh = new.members(at).filter(counts);
            let fresh = fresh.filter(|member| !had.contains(&member.name) && !member.body && !member.conditional);
            let fresh = fresh.filter(|member| both.may_change(&member.name));
            let placed = fresh.filter_map(|member| Some((member.name.clone(), lines(member)?)));
            let placed: Vec<_> =
                placed.filter(|(_, lines)| touched.first_in(*lines).is_some_and(|(_, stands)| stands)).collect();
            let Some((_, first)) = placed.first() else { continue };
            let Some(home) = both.home(DiffSide::New, definition, None, definition.kind) else { continue };
            let home = DefinitionSite { lines: *first, ..home };
            self.grown.push(ExtendedInterface { home, members: placed });
        }
    }
}

/// Checks whether a file has changed lines whose definitions count.
fn is_analyzed(file: &FileChange) -> bool {
    !file.binary && file.generated.is_none() && !file.hunks.is_empty()
}

/// Definitions of a changed file.
pub(in crate::rules) enum FileOutlines {
    /// No change that counts: new, a test, or with the definitions of its base.
    Unchanged,
    /// Not known: a side of it could not be parsed.
    Unparsed,
    /// Definitions of the base, and of the head unless it was deleted, in the code that has one of the `names` that may have changed.
    Changed { old: Arc<Symbols>, new: Option<Arc<Symbols>>, names: WordSet },
}

/// Returns the definitions on both sides of a file of the code that has the names of what changed. The rest of the file has nothing to do with
/// them.
pub(super) fn changed_definitions(
    sides: &BothSides<'_>,
    at: usize,
    family: LanguageFamily,
) -> Result<FileOutlines, CancelReason> {
    let Some(file) = sides.change.files.get(at) else { return Ok(FileOutlines::Unchanged) };
    // What a new file or a test defines concerns nobody yet.
    if file.status == FileStatus::Added || is_test_path(file.path_at(DiffSide::Old)) || !is_analyzed(file) {
        return Ok(FileOutlines::Unchanged);
    }
    let text_of = |side: DiffSide| {
        let tree = if side == DiffSide::Old { sides.old } else { sides.new };
        Ok(read_text(tree, file.path_at(side))?.filter(|text| !is_markup(text)))
    };
    let Some(before) = text_of(DiffSide::Old)? else { return Ok(FileOutlines::Unchanged) };
    let after = if file.status == FileStatus::Deleted { None } else { text_of(DiffSide::New)? };
    let read = |side: DiffSide, text: &FileText, words: Option<&WordSet>, depth: SymbolDepth| {
        // Once it is known which names may have changed, code without them has nothing to do with it.
        let focus = words.is_none().then(|| ScanFocus::of(file, side));
        let query = ExcerptQuery { focus: focus.as_ref(), words, ..ExcerptQuery::default() };
        read_symbols(sides, file.path_at(side), text, query, depth)
    };
    let both = |words: Option<&WordSet>| {
        let old = read(DiffSide::Old, &before, words, SymbolDepth::Outline);
        let new = after.as_ref().map(|text| read(DiffSide::New, text, words, SymbolDepth::Outline));
        let both = old.and_then(|old| Some((old, new.map_or(Some(None), |new| new.map(Some))?)));
        sides.cancel.check().map(|()| both)
    };
    let parts = after.as_ref().and_then(|after| read_different(sides, file, &before, after));
    sides.cancel.check()?;
    let parts = parts.map(|[old, new]| (old, Some(new)));
    let Some((old, new)) = (if parts.is_some() { parts } else { both(None)? }) else {
        return Ok(FileOutlines::Unparsed);
    };
    let rough = FileVersions { at, file, family, old: &old, new: new.as_ref(), names: None }.compare(true);
    if rough.gone.is_empty() && rough.altered.is_empty() && rough.grown.is_empty() {
        return Ok(FileOutlines::Unchanged);
    }
    let words = rough.words();
    let Some((old, mut new)) = both(Some(&words))? else { return Ok(FileOutlines::Unparsed) };
    if let (Some(text), Some(_)) = (&after, &new)
        && (FileVersions { at, file, family, old: &old, new: new.as_ref(), names: Some(&words) }).needs_bodies(text)
    {
        new = read(DiffSide::New, text, Some(&words), SymbolDepth::All).or(new);
    }
    Ok(FileOutlines::Changed { old, new, names: words })
}

/// Returns what the affected code defines on each side, without what is equal on both: code that was only moved, and what functions do. The
/// definitions that changed are among them. `None` if that is not known.
fn read_different(
    sides: &BothSides<'_>,
    file: &FileChange,
    before: &FileText,
    after: &FileText,
) -> Option<[Arc<Symbols>; 2]> {
    let [old, new] = [DiffSide::Old, DiffSide::New].map(|side| ScanFocus::of(file, side));
    let query = |focus| ExcerptQuery { focus: Some(focus), ..ExcerptQuery::default() };
    let [was, is] = [DiffSide::Old, DiffSide::New].map(|side| language::from_path(file.path_at(side)));
    let texts = [(before.text(), query(&old)), (after.text(), query(&new))];
    different_outlines(is.filter(|_| was == is)?, texts, sides.trees, sides.cancel)
}

fn read_symbols(
    sides: &BothSides<'_>,
    path: &RepoPath,
    text: &FileText,
    query: ExcerptQuery<'_>,
    depth: SymbolDepth,
) -> Option<Arc<Symbols>> {
    symbols(language::from_path(path)?, text.text(), Some(query), depth, sides.trees, sides.cancel)
}

/// Returns the names that a file defines outside of functions and types.
fn top_level_names(family: LanguageFamily, symbols: &Symbols) -> impl Iterator<Item = (LanguageFamily, String)> {
    let names = symbols.definitions.iter().filter(|one| one.owner.is_none());
    names.map(move |one| (family, one.name.clone()))
}

/// Returns the module that a file was, if the file left its path.
fn module(
    ground: &ImpactContext<'_>,
    at: usize,
    file: &FileChange,
    family: LanguageFamily,
) -> Result<Option<RemovedModule>, CancelReason> {
    let moved = match file.status {
        FileStatus::Deleted => false,
        FileStatus::Renamed => true,
        FileStatus::Added | FileStatus::Modified | FileStatus::TypeChanged => return Ok(None),
    };
    let path = file.path_at(DiffSide::Old);
    let by_path = matches!(family, LanguageFamily::Script | LanguageFamily::Python) && !is_test_path(path);
    if !by_path || ground.exists(path.as_bytes())? {
        return Ok(None);
    }
    let name = String::from_utf8_lossy(path.file_name()).into_owned();
    let stem = name.split('.').next().unwrap_or_default();
    let folder = String::from_utf8_lossy(path.folder()).into_owned();
    let stem = match stem {
        "index" | "__init__" => folder.rsplit('/').next().unwrap_or_default(),
        stem => stem,
    };
    let module = RemovedModule { file: at, path: path.clone(), family, stem: stem.to_owned(), moved };
    Ok((stem.len() >= 3).then_some(module))
}

/// Both sides of a file.
pub(super) struct FileVersions<'a> {
    pub(super) at: usize,
    pub(super) file: &'a FileChange,
    pub(super) family: LanguageFamily,
    pub(super) old: &'a Symbols,
    pub(super) new: Option<&'a Arc<Symbols>>,
    /// The names that may have changed, if they are known: of other names, not all code that has them was read.
    pub(super) names: Option<&'a WordSet>,
}

impl FileVersions<'_> {
    /// Checks whether a name may have changed.
    fn may_change(&self, name: &str) -> bool {
        self.names.is_none_or(|names| names.contains(name))
    }

    /// Checks whether the bodies of functions on the new side, whose text this is, must be parsed to find the changes.
    pub(super) fn needs_bodies(&self, text: &FileText) -> bool {
        let rough = self.compare(false);
        let says = |word: &str| word_positions(text.text(), word).next().is_some();
        // A script may export names from inside a function.
        let may_give = || self.family == LanguageFamily::Script && says("exports");
        let goes = !rough.gone.is_empty() && (may_give() || rough.gone.iter().any(|gone| says(&gone.home.name)));
        goes || !(rough.altered.is_empty() && rough.grown.is_empty())
    }

    fn compare(&self, is_of_parts: bool) -> DefinitionChanges {
        let mut rough = DefinitionChanges::default();
        rough.compare(self, is_of_parts);
        rough
    }

    fn home(
        &self,
        side: DiffSide,
        definition: &SymbolDefinition,
        owner: Option<&str>,
        kind: DefinitionKind,
    ) -> Option<DefinitionSite> {
        Some(DefinitionSite {
            file: self.at,
            path: self.file.path_at(side).clone(),
            family: self.family,
            name: definition.name.clone(),
            owner: owner.map(str::to_owned),
            lines: lines(definition)?,
            kind,
            reach: self.reach(side, definition),
        })
    }

    fn reach(&self, side: DiffSide, definition: &SymbolDefinition) -> Visibility {
        let symbols = if side == DiffSide::Old { Some(self.old) } else { self.new.map(Arc::as_ref) };
        let is_maker = matches!(definition.name.as_str(), "__init__" | "constructor");
        // Exported further down, by its name.
        let named = || symbols.is_some_and(|symbols| symbols.others.contains(&definition.name));
        match self.family {
            // Members used through an object are followed within its own file only.
            LanguageFamily::Script | LanguageFamily::Python if definition.owner.is_some() && !is_maker => {
                Visibility::File
            }
            LanguageFamily::Go if !definition.public => Visibility::Folder,
            LanguageFamily::Script if !definition.public && !named() => Visibility::File,
            LanguageFamily::Rust | LanguageFamily::Java | LanguageFamily::C if !definition.public => Visibility::File,
            _ => Visibility::Tree,
        }
    }
}

fn lines(definition: &SymbolDefinition) -> Option<LineRange> {
    LineRange::new(definition.lines.0, definition.lines.1).ok()
}

/// Checks whether a text still provides a name, in whatever way.
pub(super) fn exports(symbols: &Symbols, name: &str, owner: Option<&str>) -> bool {
    let defined = symbols.definitions.iter().any(|one| one.name == name && (owner.is_none() || one.owner.is_some()));
    let imported = symbols
        .imports
        .iter()
        .any(|one| one.name.as_deref() == Some(name) || one.alias.as_deref() == Some(name) || one.path.ends_with(name));
    symbols.open || symbols.cut || defined || imported || symbols.others.contains(name)
}

/// Groups functions by owner and name.
fn functions(symbols: &Symbols) -> BTreeMap<(Option<&str>, &str), Vec<&SymbolDefinition>> {
    let mut found: BTreeMap<(Option<&str>, &str), Vec<&SymbolDefinition>> = BTreeMap::new();
    for definition in
        symbols.definitions.iter().filter(|one| one.kind == DefinitionKind::Function && !one.is_attached())
    {
        found.entry((symbols.owner(definition), &definition.name)).or_default().push(definition);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::super::changed_lines::ChangedLines;
    use super::super::super::synthetic_change::SyntheticChange;
    use super::*;
    use crate::syntax::TreeCache;
    use crate::sys::cancel::Cancel;

    /// The names that change between two texts of `a.rs`, by what became of them: removed, other parameters.
    fn changed(was: &str, now: &str) -> [Vec<String>; 2] {
        let (change, old, new) = SyntheticChange::default().was("a.rs", was).now("a.rs", now).build();
        let (lines, trees, cancel) = (ChangedLines::default(), TreeCache::default(), Cancel::never());
        let (change, only, old, new) = (&change, None, &old, &new);
        let sides = BothSides { change, only, old, new, lines: &lines, trees: &trees, cancel: &cancel };
        let changes = DefinitionChanges::of(&ImpactContext::new(sides), &[None]).unwrap();
        let gone = changes.gone.iter().map(|gone| gone.home.name.clone()).collect();
        [gone, changes.altered.iter().map(|altered| altered.home.name.clone()).collect()]
    }

    #[test]
    fn a_name_is_gone_only_if_all_code_with_it_was_read() {
        let part = "    pub fn part(&self) -> u8 {\n        0\n    }\n".repeat(60);
        let shelf = |build: &str| {
            let build = format!("    pub fn build(&self, a: u8) -> u8 {{\n{build}    }}\n");
            format!("pub struct Shelf;\n\nimpl Shelf {{\n{part}{build}}}\n")
        };
        let helper = "\npub fn helper(a: u8) -> u8 {\n    a\n}\n";
        let (was, now) = (shelf("        helper(a)\n"), shelf("        a\n"));
        assert_eq!(changed(&(was.clone() + helper), &now), [vec!["helper".to_owned()], Vec::new()]);
        let now = now.replace("a: u8", "b: u8");
        assert_eq!(changed(&(was.clone() + helper), &now), [vec!["helper".to_owned()], Vec::new()]);
        let now = now.replace("b: u8", "a: u8, b: u8");
        assert_eq!(changed(&(was + helper), &now), [vec!["helper".to_owned()], vec!["build".to_owned()]]);
    }

    #[test]
    fn a_constructor_of_which_another_is_left_has_changed() {
        let class = |lost: &str| {
            format!("package app;\n\nclass Shelf {{\n    public Shelf() {{\n{lost}        b();\n    }}\n}}\n")
        };
        let lost = "        a();\n    }\n\n    public Shelf(int size) {\n";
        let user = "package app;\n\nclass B {\n    Object c() {\n        return new Shelf(1);\n    }\n}\n";
        let change = SyntheticChange::default().was("Shelf.java", &class(lost)).now("Shelf.java", &class(""));
        let report = change.was("B.java", user).now("B.java", user).review();
        let names: Vec<&str> = report.claims.iter().map(|claim| claim.origin.name.as_str()).collect();
        assert_eq!(names, ["impact/callers-not-updated"], "{:?}", report.claims);
    }
}
