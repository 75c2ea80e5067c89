//! Reads the guidelines of some files and combines them under the limits. Main functions: [`load`], [`gather`].

use super::super::change::PreparedChange;
use super::super::diff_source::DiffOrigin;
use super::super::target_tree::TargetTree;
use super::find::{GuidelineCandidate, GuidelineForm, find_candidates};
use super::front::FrontMatter;
use super::imports::{GuidelineImport, imports};
use super::resolve::{UnresolvedPath, resolve};
use crate::app::context::error::AppError;
use crate::config::Settings;
use crate::domain::guideline::{
    Globs, Guideline, GuidelineApplication, GuidelineKind, GuidelineOrigin, GuidelineSource, Guidelines,
};
use crate::domain::path::{RepoPath, display_path};
use crate::domain::text::{FileText, count_noun, strip_line};
use crate::sys::cancel::Cancel;
use crate::sys::charset;

/// Maximum file size in bytes: larger files are not written for readers.
const MOST_READ: u64 = 1 << 20;
/// Limit in bytes on the text of one file.
pub(super) const MOST_OF_ONE: usize = 64 << 10;
/// Limit in bytes on all texts together.
pub(super) const MOST_OF_ALL: usize = 128 << 10;
/// Limit in bytes on a file's patterns, which are shown wherever the guideline is; longer ones are invalid.
const MOST_PATTERNS: usize = 4 << 10;
/// Limit in characters on a line; a longer one is truncated.
const LONGEST_LINE: usize = 2_000;
/// Limit on the files read.
const MOST_TEXTS: usize = 200;
/// Limit on the depth of nested imports.
const MOST_DEPTH: usize = 5;
/// Limit on the imports followed in total.
const MOST_IMPORTS: usize = 500;
/// Limit on notes in the receipt.
const MOST_NOTES: usize = 12;

/// The requested kinds and files.
#[derive(Debug, Clone, Copy)]
pub(in crate::app) struct GuidelineRequest<'a> {
    /// The kinds that are found by name.
    pub(in crate::app) kinds: &'a [GuidelineKind],
    /// Further files of the tree, named by the settings.
    pub(in crate::app) named: &'a [RepoPath],
}

impl<'a> GuidelineRequest<'a> {
    pub(in crate::app) fn of(settings: &'a Settings) -> Self {
        Self { kinds: &settings.guidelines, named: &settings.guideline_files }
    }

    /// `true` if no guidelines are requested.
    pub(super) fn is_nothing_wanted(&self) -> bool {
        self.kinds.is_empty() && self.named.is_empty()
    }
}

/// A file that does not apply, with the reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SkippedGuideline {
    pub(super) path: String,
    /// The reason, as it follows the path: "does not apply: …".
    pub(super) why: String,
}

/// The result of gathering.
#[derive(Debug, Default)]
pub(super) struct GatheredGuidelines {
    pub(super) guidelines: Guidelines,
    pub(super) passed_over: Vec<SkippedGuideline>,
}

/// Loads the guidelines of a change from the source of its project settings; none for a patch, which has no target.
pub(in crate::app) fn load(subject: &PreparedChange, from_worktree: bool) -> Result<Guidelines, AppError> {
    let asked = GuidelineRequest::of(&subject.settings);
    let DiffOrigin::Repository(pool) = &subject.diffs else { return Ok(Guidelines::default()) };
    if asked.is_nothing_wanted() {
        return Ok(Guidelines::default());
    }
    let repo = pool.acquire()?;
    let Some(ground) = TargetTree::of(&repo, subject.settings_at, from_worktree)? else {
        return Ok(Guidelines::default());
    };
    let files: Vec<&RepoPath> = subject.change.files.iter().flat_map(paths).collect();
    Ok(gather(&ground, asked, &files, &subject.cancel)?.guidelines)
}

/// The current and the old path of a changed file.
pub(super) fn paths(file: &crate::domain::change::FileChange) -> impl Iterator<Item = &RepoPath> {
    [Some(&file.path), file.old_path.as_ref()].into_iter().flatten()
}

/// Gathers the guidelines that apply to some of these files.
pub(super) fn gather(
    ground: &TargetTree<'_>,
    asked: GuidelineRequest<'_>,
    files: &[&RepoPath],
    cancel: &Cancel,
) -> Result<GatheredGuidelines, AppError> {
    let found = find_candidates(ground, files.iter().copied(), asked.kinds, cancel)?;
    let mut gathering = GuidelineGatherer {
        ground,
        files,
        cancel,
        texts: Vec::new(),
        passed_over: Vec::new(),
        notes: found.notes,
        imports_left: MOST_IMPORTS,
    };
    for path in asked.named {
        gathering.add_named(path)?;
    }
    for candidate in &found.all {
        cancel.check()?;
        gathering.candidate(candidate)?;
    }
    Ok(gathering.finish())
}

/// The scope declared in a file's front matter.
pub(super) enum GuidelineScope {
    Applies(GuidelineApplication),
    /// Not applied automatically, with the reason.
    Not(&'static str),
    /// Its patterns are invalid.
    Bad(String),
}

/// Determines the scope of a candidate.
pub(super) fn scope(candidate: &GuidelineCandidate, front: &FrontMatter) -> GuidelineScope {
    let below = || RepoPath::from_bytes(&candidate.folder).ok();
    let matching = |patterns: Vec<String>| {
        let bytes: usize = patterns.iter().map(String::len).sum();
        if bytes > MOST_PATTERNS {
            return GuidelineScope::Bad(format!(
                "its patterns have {bytes} bytes, more than the {MOST_PATTERNS} that are read"
            ));
        }
        match Globs::new(patterns, below()) {
            Ok(globs) => GuidelineScope::Applies(GuidelineApplication::Matching(globs)),
            Err(error) => GuidelineScope::Bad(error.to_string()),
        }
    };
    match candidate.form {
        GuidelineForm::Place => GuidelineScope::Applies(GuidelineApplication::below(&candidate.folder)),
        GuidelineForm::Rule if front.is_on("alwaysApply") => {
            GuidelineScope::Applies(GuidelineApplication::below(&candidate.folder))
        }
        GuidelineForm::Rule => match front.patterns("globs") {
            patterns if !patterns.is_empty() => matching(patterns),
            _ if front.values("description").is_empty() => {
                GuidelineScope::Not("it is applied by hand: no alwaysApply, no globs")
            }
            _ => GuidelineScope::Not("an agent is to choose it by its description: no alwaysApply, no globs"),
        },
        GuidelineForm::Instruction if front.values("excludeAgent").iter().any(|agent| agent == "code-review") => {
            GuidelineScope::Not("excludeAgent keeps it from code reviews")
        }
        GuidelineForm::Instruction => match front.patterns("applyTo") {
            patterns if patterns.is_empty() => GuidelineScope::Not("it has no applyTo"),
            patterns => matching(patterns),
        },
    }
}

struct GuidelineGatherer<'a> {
    ground: &'a TargetTree<'a>,
    files: &'a [&'a RepoPath],
    cancel: &'a Cancel,
    texts: Vec<Guideline>,
    passed_over: Vec<SkippedGuideline>,
    notes: Vec<String>,
    imports_left: usize,
}

/// The context of an import.
struct ImportSite<'i> {
    by: &'i RepoPath,
    reach: &'i GuidelineOrigin,
    depth: usize,
}

impl GuidelineGatherer<'_> {
    fn pass_over(&mut self, path: impl Into<String>, why: impl Into<String>) {
        let (path, why) = (path.into(), why.into());
        self.passed_over.push(SkippedGuideline { path, why });
    }

    /// Records a skipped file that the user should know about.
    fn fault(&mut self, path: &str, why: &str) {
        self.pass_over(path, why);
        self.notes.push(format!("The guidelines {path} were not used: {why}"));
    }

    /// Adds a file that the settings name.
    fn add_named(&mut self, path: &RepoPath) -> Result<(), AppError> {
        let reach =
            GuidelineOrigin { kind: GuidelineKind::Named, applies: GuidelineApplication::Everywhere, via: None };
        match resolve(self.ground, b"", path.as_bytes())? {
            Err(astray) => {
                self.fault(&path.display_name(), &format!("the setting guideline_files names it, and {astray}"));
            }
            Ok(there) => {
                let reach =
                    GuidelineOrigin { via: (there != *path).then(|| GuidelineSource::Link(path.clone())), ..reach };
                self.add_text(&there, &reach, GuidelineForm::Place, 0)?;
            }
        }
        Ok(())
    }

    fn candidate(&mut self, candidate: &GuidelineCandidate) -> Result<(), AppError> {
        let shown = display_path(&candidate.path).into_owned();
        let Ok(path) = RepoPath::from_bytes(&candidate.path) else { return Ok(()) };
        let there = match resolve(self.ground, b"", path.as_bytes())? {
            Ok(there) => there,
            Err(astray) => {
                self.fault(&shown, &astray.to_string());
                return Ok(());
            }
        };
        let via = (there != path).then_some(GuidelineSource::Link(path));
        let applies = if candidate.form == GuidelineForm::Place {
            GuidelineApplication::below(&candidate.folder)
        } else {
            let Some(text) = self.read(&there)? else { return Ok(()) };
            match scope(candidate, &FrontMatter::of(text.text())) {
                GuidelineScope::Applies(applies) => applies,
                GuidelineScope::Not(why) => {
                    self.pass_over(shown, why);
                    return Ok(());
                }
                GuidelineScope::Bad(why) => {
                    self.fault(&shown, &why);
                    return Ok(());
                }
            }
        };
        // Its place implies its scope: the folders of the changed files were searched.
        if candidate.form != GuidelineForm::Place && !self.files.iter().any(|file| applies.has(file)) {
            self.pass_over(shown, format!("it applies to {}", applies.describe()));
            return Ok(());
        }
        let reach = GuidelineOrigin { kind: candidate.kind, applies, via };
        self.add_text(&there, &reach, candidate.form, 0)
    }

    /// Reads a file; `None` if it is unusable, which is recorded.
    fn read(&mut self, path: &RepoPath) -> Result<Option<FileText>, AppError> {
        let shown = path.display_name().into_owned();
        Ok(match self.ground.read(path.as_bytes(), MOST_READ)? {
            None => {
                self.fault(&shown, "it cannot be read");
                None
            }
            Some(Err(size)) => {
                self.fault(&shown, &format!("it has {size} bytes, more than the {MOST_READ} that are read"));
                None
            }
            Some(Ok(bytes)) if charset::is_binary(&bytes) => {
                self.fault(&shown, "it is no text");
                None
            }
            Some(Ok(bytes)) => {
                let decoded = charset::decode(&bytes);
                Some(FileText::new(&decoded.text, decoded.charset))
            }
        })
    }

    /// Adds a text and its imports.
    fn add_text(
        &mut self,
        path: &RepoPath,
        reach: &GuidelineOrigin,
        form: GuidelineForm,
        depth: usize,
    ) -> Result<(), AppError> {
        self.cancel.check()?;
        let at = match self.texts.iter().position(|text| text.path == *path) {
            Some(at) => {
                let known = &mut self.texts[at].reach;
                let is_known = known.iter().any(|known| known.applies == reach.applies);
                known.extend(Some(reach).filter(|reach| !known.contains(reach)).cloned());
                if is_known {
                    return Ok(());
                }
                at
            }
            None => {
                let Some(text) = self.text(path, reach, form)? else { return Ok(()) };
                self.texts.push(text);
                self.texts.len() - 1
            }
        };
        let follows = depth > 0 || matches!(reach.kind, GuidelineKind::Claude | GuidelineKind::Gemini);
        if follows {
            let text = &self.texts[at];
            let (first, found) = (text.first, imports(&text.text));
            let importing = ImportSite { by: path, reach, depth: depth + 1 };
            for import in found {
                self.import(&importing, &GuidelineImport { line: import.line + first - 1, ..import })?;
            }
        }
        Ok(())
    }

    /// Prepares the text of a file; `None` if nothing of it is usable, which is recorded.
    fn text(
        &mut self,
        path: &RepoPath,
        reach: &GuidelineOrigin,
        form: GuidelineForm,
    ) -> Result<Option<Guideline>, AppError> {
        if self.texts.len() >= MOST_TEXTS {
            self.fault(&path.display_name(), &format!("there are more than {MOST_TEXTS} files of guidelines"));
            return Ok(None);
        }
        let Some(file) = self.read(path)? else { return Ok(None) };
        let head = if form == GuidelineForm::Place { 0 } else { FrontMatter::of(file.text()).lines };
        let mut text = String::new();
        for (_, line) in file.all_lines().skip(head as usize) {
            let (line, cut) = match line.char_indices().nth(LONGEST_LINE) {
                Some((at, _)) => (&line[..at], "[cut]"),
                None => (line, ""),
            };
            if text.len() + line.len() + cut.len() + 1 > MOST_OF_ONE {
                break;
            }
            text.push_str(line);
            text.push_str(cut);
            text.push('\n');
        }
        if text.trim().is_empty() {
            self.pass_over(path.display_name(), "it is empty");
            return Ok(None);
        }
        let same = self
            .texts
            .iter()
            .find(|known| known.text == text && known.reach.iter().any(|known| known.applies == reach.applies));
        if let Some(same) = same {
            let why = format!("{} has the same text", same.path);
            self.pass_over(path.display_name(), why);
            return Ok(None);
        }
        let (reach, lines) = (vec![reach.clone()], file.line_count());
        let text = Guideline { path: path.clone(), reach, text, first: head + 1, lines };
        if text.is_cut() {
            let (last, limit) = (text.last_line(), MOST_OF_ONE >> 10);
            self.notes.push(format!(
                "The guidelines {path} were used as far as line {last} of {lines}: no more than {limit} KiB of a file are"
            ));
        }
        Ok(Some(text))
    }

    fn import(&mut self, importing: &ImportSite<'_>, import: &GuidelineImport) -> Result<(), AppError> {
        let ImportSite { by, reach, depth } = importing;
        let place = format!("@{} ({by}:{})", strip_line(&import.path), import.line);
        if self.imports_left == 0 {
            return Ok(());
        }
        self.imports_left -= 1;
        if self.imports_left == 0 {
            self.fault(&place, &format!("there are more than {MOST_IMPORTS} imports"));
            return Ok(());
        }
        let resolved = resolve(self.ground, by.folder(), import.path.as_bytes())?;
        match resolved {
            Ok(_) if *depth > MOST_DEPTH => {
                self.fault(&place, &format!("imports within imports go no deeper than {MOST_DEPTH}"));
            }
            Ok(there) => {
                let via = Some(GuidelineSource::Import { path: (*by).clone(), line: import.line });
                let reach = GuidelineOrigin { via, ..(*reach).clone() };
                self.add_text(&there, &reach, GuidelineForm::Place, *depth)?;
            }
            Err(astray @ (UnresolvedPath::Outside | UnresolvedPath::Endless | UnresolvedPath::Apart)) => {
                self.fault(&place, &astray.to_string());
            }
            Err(astray) if import.is_surely_a_file() => self.fault(&place, &astray.to_string()),
            // Most likely a person's name.
            Err(_) => {}
        }
        Ok(())
    }

    /// Applies the limit on all texts and builds the result.
    fn finish(mut self) -> GatheredGuidelines {
        let mut ranked: Vec<usize> = (0..self.texts.len()).collect();
        ranked.sort_by_key(|at| self.texts[*at].rank());
        let (mut left, mut out) = (MOST_OF_ALL, Vec::new());
        for at in ranked {
            match left.checked_sub(self.texts[at].text.len()) {
                Some(rest) => left = rest,
                None => out.push(at),
            }
        }
        for at in out.iter().copied() {
            let path = self.texts[at].path.display_name().into_owned();
            self.fault(&path, &format!("no more than {} KiB of guidelines are used", MOST_OF_ALL >> 10));
        }
        let mut at = 0;
        self.texts.retain(|_| {
            at += 1;
            !out.contains(&(at - 1))
        });
        let more = self.notes.len().saturating_sub(MOST_NOTES);
        if more > 0 {
            self.notes.truncate(MOST_NOTES);
            let more = count_noun(more, "further remark");
            self.notes.push(format!("{more} on guidelines: `review guidelines explain FILE` says all"));
        }
        let guidelines = Guidelines { from: self.ground.describe(), texts: self.texts, notes: self.notes };
        GatheredGuidelines { guidelines, passed_over: self.passed_over }
    }
}
