//! Reads the guidelines of some files and combines them under the limits. Main functions: [`load`], [`gather`].

use super::find::{Candidate, Form, candidates};
use super::front::Front;
use super::ground::Ground;
use super::imports::{Import, imports};
use super::resolve::{Astray, resolve};
use crate::app::diffs::Diffs;
use crate::app::error::AppError;
use crate::app::subject::Subject;
use crate::config::Settings;
use crate::domain::guideline::{Applies, Globs, Guideline, GuidelineKind, Guidelines, Reach, Via};
use crate::domain::path::{RepoPath, spell};
use crate::domain::text::{FileText, counted, strip_line};
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
pub(in crate::app) struct Asked<'a> {
    /// The kinds that are found by name.
    pub(in crate::app) kinds: &'a [GuidelineKind],
    /// Further files of the tree, named by the settings.
    pub(in crate::app) named: &'a [RepoPath],
}

impl<'a> Asked<'a> {
    pub(in crate::app) fn of(settings: &'a Settings) -> Self {
        Self { kinds: &settings.guidelines, named: &settings.guideline_files }
    }

    /// `true` if no guidelines are requested.
    pub(super) fn nothing(&self) -> bool {
        self.kinds.is_empty() && self.named.is_empty()
    }
}

/// A file that does not apply, with the reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PassedOver {
    pub(super) path: String,
    /// The reason, as it follows the path: "does not apply: …".
    pub(super) why: String,
}

/// The result of gathering.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    pub(super) guidelines: Guidelines,
    pub(super) passed_over: Vec<PassedOver>,
}

/// Loads the guidelines of a change from the source of its project settings; none for a patch, which has no target.
pub(in crate::app) fn load(subject: &Subject, from_worktree: bool) -> Result<Guidelines, AppError> {
    let asked = Asked::of(&subject.settings);
    let Diffs::Repository(pool) = &subject.diffs else { return Ok(Guidelines::default()) };
    if asked.nothing() {
        return Ok(Guidelines::default());
    }
    let repo = pool.take()?;
    let Some(ground) = Ground::of(&repo, subject.settings_at, from_worktree)? else {
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
    ground: &Ground<'_>,
    asked: Asked<'_>,
    files: &[&RepoPath],
    cancel: &Cancel,
) -> Result<Gathered, AppError> {
    let found = candidates(ground, files.iter().copied(), asked.kinds, cancel)?;
    let mut gathering = Gathering {
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
pub(super) enum Scope {
    Applies(Applies),
    /// Not applied automatically, with the reason.
    Not(&'static str),
    /// Its patterns are invalid.
    Bad(String),
}

/// Determines the scope of a candidate.
pub(super) fn scope(candidate: &Candidate, front: &Front) -> Scope {
    let below = || RepoPath::from_bytes(&candidate.folder).ok();
    let matching = |patterns: Vec<String>| {
        let bytes: usize = patterns.iter().map(String::len).sum();
        if bytes > MOST_PATTERNS {
            return Scope::Bad(format!("its patterns have {bytes} bytes, more than the {MOST_PATTERNS} that are read"));
        }
        match Globs::new(patterns, below()) {
            Ok(globs) => Scope::Applies(Applies::Matching(globs)),
            Err(error) => Scope::Bad(error.to_string()),
        }
    };
    match candidate.form {
        Form::Place => Scope::Applies(Applies::below(&candidate.folder)),
        Form::Rule if front.is_on("alwaysApply") => Scope::Applies(Applies::below(&candidate.folder)),
        Form::Rule => match front.patterns("globs") {
            patterns if !patterns.is_empty() => matching(patterns),
            _ if front.values("description").is_empty() => {
                Scope::Not("it is applied by hand: no alwaysApply, no globs")
            }
            _ => Scope::Not("an agent is to choose it by its description: no alwaysApply, no globs"),
        },
        Form::Instruction if front.values("excludeAgent").iter().any(|agent| agent == "code-review") => {
            Scope::Not("excludeAgent keeps it from code reviews")
        }
        Form::Instruction => match front.patterns("applyTo") {
            patterns if patterns.is_empty() => Scope::Not("it has no applyTo"),
            patterns => matching(patterns),
        },
    }
}

struct Gathering<'a> {
    ground: &'a Ground<'a>,
    files: &'a [&'a RepoPath],
    cancel: &'a Cancel,
    texts: Vec<Guideline>,
    passed_over: Vec<PassedOver>,
    notes: Vec<String>,
    imports_left: usize,
}

/// The context of an import.
struct Importing<'i> {
    by: &'i RepoPath,
    reach: &'i Reach,
    depth: usize,
}

impl Gathering<'_> {
    fn pass_over(&mut self, path: impl Into<String>, why: impl Into<String>) {
        let (path, why) = (path.into(), why.into());
        self.passed_over.push(PassedOver { path, why });
    }

    /// Records a skipped file that the user should know about.
    fn fault(&mut self, path: &str, why: &str) {
        self.pass_over(path, why);
        self.notes.push(format!("The guidelines {path} were not used: {why}"));
    }

    /// Adds a file that the settings name.
    fn add_named(&mut self, path: &RepoPath) -> Result<(), AppError> {
        let reach = Reach { kind: GuidelineKind::Named, applies: Applies::Everywhere, via: None };
        match resolve(self.ground, b"", path.as_bytes())? {
            Err(astray) => self.fault(&path.spelled(), &format!("the setting guideline_files names it, and {astray}")),
            Ok(there) => {
                let reach = Reach { via: (there != *path).then(|| Via::Link(path.clone())), ..reach };
                self.add_text(&there, &reach, Form::Place, 0)?;
            }
        }
        Ok(())
    }

    fn candidate(&mut self, candidate: &Candidate) -> Result<(), AppError> {
        let shown = spell(&candidate.path).into_owned();
        let Ok(path) = RepoPath::from_bytes(&candidate.path) else { return Ok(()) };
        let there = match resolve(self.ground, b"", path.as_bytes())? {
            Ok(there) => there,
            Err(astray) => {
                self.fault(&shown, &astray.to_string());
                return Ok(());
            }
        };
        let via = (there != path).then_some(Via::Link(path));
        let applies = if candidate.form == Form::Place {
            Applies::below(&candidate.folder)
        } else {
            let Some(text) = self.read(&there)? else { return Ok(()) };
            match scope(candidate, &Front::of(text.text())) {
                Scope::Applies(applies) => applies,
                Scope::Not(why) => {
                    self.pass_over(shown, why);
                    return Ok(());
                }
                Scope::Bad(why) => {
                    self.fault(&shown, &why);
                    return Ok(());
                }
            }
        };
        // Its place implies its scope: the folders of the changed files were searched.
        if candidate.form != Form::Place && !self.files.iter().any(|file| applies.has(file)) {
            self.pass_over(shown, format!("it applies to {}", applies.words()));
            return Ok(());
        }
        let reach = Reach { kind: candidate.kind, applies, via };
        self.add_text(&there, &reach, candidate.form, 0)
    }

    /// Reads a file; `None` if it is unusable, which is recorded.
    fn read(&mut self, path: &RepoPath) -> Result<Option<FileText>, AppError> {
        let shown = path.spelled().into_owned();
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
    fn add_text(&mut self, path: &RepoPath, reach: &Reach, form: Form, depth: usize) -> Result<(), AppError> {
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
            let importing = Importing { by: path, reach, depth: depth + 1 };
            for import in found {
                self.import(&importing, &Import { line: import.line + first - 1, ..import })?;
            }
        }
        Ok(())
    }

    /// Prepares the text of a file; `None` if nothing of it is usable, which is recorded.
    fn text(&mut self, path: &RepoPath, reach: &Reach, form: Form) -> Result<Option<Guideline>, AppError> {
        if self.texts.len() >= MOST_TEXTS {
            self.fault(&path.spelled(), &format!("there are more than {MOST_TEXTS} files of guidelines"));
            return Ok(None);
        }
        let Some(file) = self.read(path)? else { return Ok(None) };
        let head = if form == Form::Place { 0 } else { Front::of(file.text()).lines };
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
            self.pass_over(path.spelled(), "it is empty");
            return Ok(None);
        }
        let same = self
            .texts
            .iter()
            .find(|known| known.text == text && known.reach.iter().any(|known| known.applies == reach.applies));
        if let Some(same) = same {
            let why = format!("{} has the same text", same.path);
            self.pass_over(path.spelled(), why);
            return Ok(None);
        }
        let (reach, lines) = (vec![reach.clone()], file.line_count());
        let text = Guideline { path: path.clone(), reach, text, first: head + 1, lines };
        if text.is_cut() {
            let (last, limit) = (text.last(), MOST_OF_ONE >> 10);
            self.notes.push(format!(
                "The guidelines {path} were used as far as line {last} of {lines}: no more than {limit} KiB of a file are"
            ));
        }
        Ok(Some(text))
    }

    fn import(&mut self, importing: &Importing<'_>, import: &Import) -> Result<(), AppError> {
        let Importing { by, reach, depth } = importing;
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
                let via = Some(Via::Import { path: (*by).clone(), line: import.line });
                let reach = Reach { via, ..(*reach).clone() };
                self.add_text(&there, &reach, Form::Place, *depth)?;
            }
            Err(astray @ (Astray::Outside | Astray::Endless | Astray::Apart)) => {
                self.fault(&place, &astray.to_string());
            }
            Err(astray) if import.is_surely_a_file() => self.fault(&place, &astray.to_string()),
            // Most likely a person's name.
            Err(_) => {}
        }
        Ok(())
    }

    /// Applies the limit on all texts and builds the result.
    fn finish(mut self) -> Gathered {
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
            let path = self.texts[at].path.spelled().into_owned();
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
            let more = counted(more, "further remark");
            self.notes.push(format!("{more} on guidelines: `review guidelines explain FILE` says all"));
        }
        let guidelines = Guidelines { from: self.ground.words(), texts: self.texts, notes: self.notes };
        Gathered { guidelines, passed_over: self.passed_over }
    }
}
