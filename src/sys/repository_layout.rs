//! The folders that a repository consists of, checked before they are read. Main type: [`PlaceError`].
//!
//! Git follows whatever the files of a `.git` folder name: another checkout, another git folder, references and objects elsewhere. An archive that
//! was unpacked can bring such files. Here each of them must lead back to the folder in which somebody stands, as those that git makes do.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};

use super::folder::read_plain;

/// The reason for which a repository is not read. Each message says what to do next.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum PlaceError {
    /// The checkout lies elsewhere and does not lead back.
    #[error(
        "the repository of {} has its files in {}, which is another folder (core.worktree, or a worktree's gitdir file, says so); run review in \
         the folder whose files are meant, `git config --unset core.worktree` undoes the setting, `git worktree repair` a worktree that was moved",
        folder.display(), place.display()
    )]
    Checkout { folder: PathBuf, place: PathBuf },
    /// The git folder lies elsewhere and does not name this folder.
    #[error(
        "the .git of {} leads to {}, a repository that does not name this folder as its checkout; run review in a checkout of that repository \
         (`git worktree add` makes another), or, if the two belong together, tell the repository: `git config core.worktree` with this folder's path",
        folder.display(), place.display()
    )]
    GitFolder { folder: PathBuf, place: PathBuf },
    /// A link in the git folder leads elsewhere.
    #[error(
        "{} leads to {}, outside of its repository; run review in the repository that it leads to (`git worktree add` makes a second checkout of one)",
        link.display(), place.display()
    )]
    Link { link: PathBuf, place: PathBuf },
    /// A pipe or a device in the place of a file, which would be waited for forever.
    #[error("{} is a pipe or a device where git has a file; remove it, then run `git status`", .0.display())]
    Special(PathBuf),
    /// A file of settings or patterns that is larger than any that people write; each of its lines would be held in memory.
    #[error("{} has more than {} MiB; shorten or remove it, then run `git status`", .0.display(), .1 >> 20)]
    TooLarge(PathBuf, u64),
    /// More files than are looked at.
    #[error("{} holds more than {MOST_ENTRIES} files; run `git gc`", .0.display())]
    TooMany(PathBuf),
    /// A list of folders of objects that is longer than what is read.
    #[error("{} has more than {} MiB; shorten it to the folders of objects that this repository borrows from", .0.display(), MOST_BYTES >> 20)]
    TooLong(PathBuf),
    /// More folders of objects than are followed.
    #[error(
        "{} brings the folders of objects that this repository borrows from to more than {MOST_BORROWED}; remove lines from it, or \
         run `git repack -a -d` and remove it",
        .0.display()
    )]
    TooManyBorrowed(PathBuf),
    /// A folder could not be listed, or a file not be read.
    #[error("cannot read {}: {source}", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
}

impl PlaceError {
    /// The place elsewhere, if that is the reason.
    pub fn outside_place(&self) -> Option<&Path> {
        match self {
            Self::Checkout { place, .. } | Self::GitFolder { place, .. } | Self::Link { place, .. } => Some(place),
            Self::Special(_)
            | Self::TooLarge(..)
            | Self::TooMany(_)
            | Self::TooLong(_)
            | Self::TooManyBorrowed(_)
            | Self::Unreadable { .. } => None,
        }
    }
}

/// The most entries of a git folder that are looked at.
const MOST_ENTRIES: usize = 1_000_000;
/// The most bytes of a file that names a folder.
const MOST_BYTES: usize = 1 << 20;
/// The most bytes of a file of ignore patterns or attributes: a matcher takes a hundred times as much.
const MOST_PATTERN_BYTES: u64 = 1 << 20;
/// The most bytes of a repository's settings.
const MOST_SETTINGS_BYTES: u64 = 4 << 20;
/// The most folders of objects, and the most lines of all files that name them: each line is looked up from each of the folders.
const MOST_BORROWED: usize = 64;

/// The entries of a git folder through which names come in, beside the pseudo references (`HEAD`, `FETCH_HEAD`, …).
const NAMES: [&str; 4] = ["index", "logs", "packed-refs", "refs"];
/// Those through which anything else comes in that is read.
const CONTENTS: [&str; 7] = ["commondir", "config", "config.worktree", "gitdir", "info", "objects", "shallow"];
/// The files that are read when a repository is opened, or by every command.
const OPENED: [&str; 13] = [
    "commondir",
    "HEAD",
    "config",
    "config.worktree",
    "gitdir",
    "index",
    "packed-refs",
    "shallow",
    "info/attributes",
    "info/exclude",
    "info/grafts",
    "info/sparse-checkout",
    "objects/info/alternates",
];

/// Refuses a repository whose files would be waited for forever as soon as it is opened. `start` is the folder from which it is searched.
pub(super) fn refuse_pipes(start: &Path) -> Result<(), PlaceError> {
    for folder in real(start).ancestors() {
        for git_dir in [led_to(folder), Some(folder.to_owned())].into_iter().flatten() {
            let commondir = git_dir.join("commondir");
            refuse(&commondir, None)?;
            let shared = pointed_to(&git_dir, &commondir).unwrap_or_else(|| git_dir.clone());
            if fs::symlink_metadata(git_dir.join("HEAD")).is_err() || !shared.join("objects").is_dir() {
                continue;
            }
            for name in OPENED {
                refuse(&git_dir.join(name), most_bytes(name))?;
                refuse(&shared.join(name), most_bytes(name))?;
            }
            return Ok(());
        }
    }
    Ok(())
}

/// The most bytes of a file that is read whole into memory when a repository is opened; the index and references may be as long as they like.
fn most_bytes(name: &str) -> Option<u64> {
    match name {
        "config" | "config.worktree" => Some(MOST_SETTINGS_BYTES),
        "info/attributes" | "info/exclude" => Some(MOST_PATTERN_BYTES),
        _ => None,
    }
}

/// The folders of a repository, as git found them.
pub(super) struct RepositoryLayout {
    git_dir: PathBuf,
    shared: PathBuf,
    checkout: Option<PathBuf>,
    is_named: bool,
}

impl RepositoryLayout {
    /// Those of a repository: its git folder, the one that its worktrees share, its checkout, and whether the git folder itself names that.
    pub(super) fn new(git_dir: &Path, shared: &Path, checkout: Option<&Path>, is_named: bool) -> Self {
        Self { git_dir: real(git_dir), shared: real(shared), checkout: checkout.map(real), is_named }
    }

    /// Refuses a repository whose parts do not belong to the folder in which it was found from `start`.
    ///
    /// The checkout must be that folder (or below it), and so must the git folder, unless git keeps it elsewhere and it names the checkout: that
    /// is so for linked worktrees and submodules. Objects are named by their contents, so alternates may lie elsewhere, as with
    /// `git clone --shared`.
    pub(super) fn refuse_elsewhere(&self, start: &Path) -> Result<(), PlaceError> {
        let Self { git_dir, shared, checkout, is_named } = self;
        let start = real(start);
        let is_home = |folder: &&Path| *folder == git_dir || led_to(folder).as_ref() == Some(git_dir);
        let home = start.ancestors().find(is_home).unwrap_or(&start);
        if let Some(checkout) = checkout {
            // Whoever stands in a git folder stands in none of the files; they belong to it if their folder leads back.
            let leads_back = || home == git_dir && led_to(checkout).as_ref() == Some(git_dir);
            if !checkout.starts_with(home) && !leads_back() {
                return Err(PlaceError::Checkout { folder: home.to_owned(), place: checkout.clone() });
            }
        }
        let is_named = checkout.is_some() && *is_named;
        if !git_dir.starts_with(home) && !is_named {
            return Err(PlaceError::GitFolder { folder: home.to_owned(), place: git_dir.clone() });
        }
        if !git_dir.starts_with(shared) && !shared.starts_with(home) {
            return Err(PlaceError::GitFolder { folder: home.to_owned(), place: shared.clone() });
        }
        let inside = |path: &Path| {
            let own = [Some(home), Some(git_dir), Some(shared), checkout.as_deref()];
            own.into_iter().flatten().any(|folder| path.starts_with(folder))
        };
        self.survey(&inside, |name| NAMES.contains(&name))
    }

    /// Refuses a repository if anything that is read of it, its objects included, lies where `inside` says no.
    pub(super) fn refuse_outside(&self, inside: &dyn Fn(&Path) -> bool) -> Result<(), PlaceError> {
        self.survey(inside, |name| NAMES.contains(&name) || CONTENTS.contains(&name))
    }

    fn survey(&self, inside: &dyn Fn(&Path) -> bool, wanted: impl Fn(&str) -> bool) -> Result<(), PlaceError> {
        let folders = HashSet::from([&self.git_dir, &self.shared]);
        let objects = folders.iter().map(|folder| folder.join("objects")).collect();
        let mut survey =
            GitFolderSurvey { inside, visited: HashSet::new(), pending: Vec::new(), objects, lines: 0, entries: 0 };
        folders.into_iter().try_for_each(|folder| survey.walk(folder, |name| wanted(name) || is_pseudo_reference(name)))
    }
}

fn is_pseudo_reference(name: &str) -> bool {
    name.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_')
}

/// The path with no link in it, as far as it exists.
fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// The git folder to which the `.git` of a folder leads, whichever of a folder, a link and a file it is.
fn led_to(folder: &Path) -> Option<PathBuf> {
    let link = folder.join(".git");
    if fs::metadata(&link).ok()?.is_dir() {
        return link.canonicalize().ok();
    }
    let text = read_plain(&link.canonicalize().ok()?, MOST_BYTES)?;
    let named = text.strip_prefix(b"gitdir:")?.trim_ascii();
    folder.join(OsStr::from_bytes(named)).canonicalize().ok()
}

/// The folder that the whole text of a file names.
fn pointed_to(folder: &Path, file: &Path) -> Option<PathBuf> {
    let text = read_plain(file, MOST_BYTES)?;
    folder.join(OsStr::from_bytes(text.trim_ascii())).canonicalize().ok()
}

/// Refuses a file of ignore patterns or attributes that would be waited for forever, or would take all memory. Nothing there is no fault.
pub fn refuse_unreadable(path: &Path) -> Result<(), PlaceError> {
    refuse(path, Some(MOST_PATTERN_BYTES))
}

/// Refuses a pipe or a device, for which whoever opens it may wait forever, and a file of more bytes than `most`. A socket cannot be opened at
/// all; git's file monitor has one.
fn refuse(path: &Path, most: Option<u64>) -> Result<(), PlaceError> {
    let Ok(about) = fs::metadata(path) else { return Ok(()) };
    let kind = about.file_type();
    if kind.is_fifo() || kind.is_char_device() || kind.is_block_device() {
        return Err(PlaceError::Special(path.to_owned()));
    }
    match most.filter(|most| kind.is_file() && about.len() > *most) {
        Some(most) => Err(PlaceError::TooLarge(path.to_owned(), most)),
        None => Ok(()),
    }
}

/// Returns the reason why a list of alternates could not be read.
fn unread(file: &Path) -> PlaceError {
    let unreadable = |source| PlaceError::Unreadable { path: file.to_owned(), source };
    match fs::metadata(file) {
        Ok(about) if about.is_file() && about.len() > MOST_BYTES as u64 => PlaceError::TooLong(file.to_owned()),
        Ok(about) if about.is_file() => {
            unreadable(io::Error::other("it is not for you to read, or it was being written"))
        }
        Ok(about) if about.is_dir() => unreadable(io::ErrorKind::IsADirectory.into()),
        Ok(_) => PlaceError::Special(file.to_owned()),
        Err(error) => unreadable(error),
    }
}

/// The role of a folder in git. Only the `info` of a folder of objects holds a list of more of them; elsewhere `alternates` may be a branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum GitFolderRole {
    GitFolder,
    Objects,
    ObjectsInfo,
    Other,
}

impl GitFolderRole {
    /// That of what is called `name` in such a folder. Some file systems do not tell capital letters from small ones.
    fn below(self, name: &OsStr) -> Self {
        match self {
            Self::GitFolder if name.eq_ignore_ascii_case("objects") => Self::Objects,
            Self::Objects if name.eq_ignore_ascii_case("info") => Self::ObjectsInfo,
            _ => Self::Other,
        }
    }
}

/// A walk over what a git folder consists of, wherever links and alternates lead, as long as that is inside.
struct GitFolderSurvey<'a> {
    inside: &'a dyn Fn(&Path) -> bool,
    /// A link can lead to a folder of another role, which is then walked once for each.
    visited: HashSet<(PathBuf, GitFolderRole)>,
    pending: Vec<(PathBuf, GitFolderRole)>,
    /// The folders of objects, from which relative alternates start.
    objects: Vec<PathBuf>,
    /// The lines of alternates so far.
    lines: usize,
    entries: usize,
}

impl GitFolderSurvey<'_> {
    /// Walks the entries of a folder that are `wanted`, and all that is below them.
    fn walk(&mut self, folder: &Path, wanted: impl Fn(&str) -> bool) -> Result<(), PlaceError> {
        self.list(folder, GitFolderRole::GitFolder, wanted)?;
        while let Some((folder, role)) = self.pending.pop() {
            if self.visited.insert((folder.clone(), role)) {
                self.list(&folder, role, |_| true)?;
            }
        }
        Ok(())
    }

    fn list(&mut self, folder: &Path, role: GitFolderRole, wanted: impl Fn(&str) -> bool) -> Result<(), PlaceError> {
        let unreadable = |source| PlaceError::Unreadable { path: folder.to_owned(), source };
        let found = match fs::read_dir(folder) {
            Ok(found) => found,
            // Another process may have removed it; what nobody can list, git cannot either.
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied) => {
                return Ok(());
            }
            Err(error) => return Err(unreadable(error)),
        };
        for entry in found {
            let entry = entry.map_err(unreadable)?;
            if !wanted(&entry.file_name().to_string_lossy()) {
                continue;
            }
            self.entries += 1;
            if self.entries > MOST_ENTRIES {
                return Err(PlaceError::TooMany(folder.to_owned()));
            }
            let Ok(kind) = entry.file_type() else { continue };
            let (path, name) = (entry.path(), entry.file_name());
            if kind.is_dir() {
                self.pending.push((path, role.below(&name)));
                continue;
            }
            if !kind.is_file() {
                refuse(&path, None)?;
            }
            if kind.is_symlink() {
                self.follow(&path, &path, role.below(&name))?;
            }
            if role == GitFolderRole::ObjectsInfo && name.eq_ignore_ascii_case("alternates") {
                self.alternates(&path)?;
            }
        }
        Ok(())
    }

    /// Goes on at a place that `link` names, which may be nowhere.
    fn follow(&mut self, link: &Path, named: &Path, role: GitFolderRole) -> Result<Option<PathBuf>, PlaceError> {
        let Ok(place) = named.canonicalize() else { return Ok(None) };
        if !(self.inside)(&place) {
            return Err(PlaceError::Link { link: link.to_owned(), place });
        }
        if place.is_dir() {
            self.pending.push((place.clone(), role));
        }
        Ok(Some(place))
    }

    /// Follows the folders of objects that a file names, one a line. Those who read it differ about quotes and about where a relative path
    /// starts, so each way counts.
    fn alternates(&mut self, file: &Path) -> Result<(), PlaceError> {
        // A file that is too long to be read here must not be read elsewhere either.
        let text = file.canonicalize().ok().and_then(|file| read_plain(&file, MOST_BYTES));
        let Some(text) = text else { return Err(unread(file)) };
        for line in text.split(|byte| matches!(byte, b'\n' | b'\r')).filter(|line| !line.is_empty()) {
            self.lines += 1;
            if self.lines > MOST_BORROWED {
                return Err(PlaceError::TooManyBorrowed(file.to_owned()));
            }
            let unquoted = line.strip_prefix(b"\"").map(|rest| rest.strip_suffix(b"\"").unwrap_or(rest));
            if unquoted.is_some_and(|path| path.contains(&b'\\')) {
                let place = PathBuf::from(OsStr::from_bytes(line));
                return Err(PlaceError::Link { link: file.to_owned(), place });
            }
            for named in [Some(line), unquoted].into_iter().flatten() {
                let named = Path::new(OsStr::from_bytes(named));
                let from: Vec<PathBuf> = self.objects.iter().map(|objects| objects.join(named)).collect();
                for named in from.iter().map(PathBuf::as_path).chain([named]) {
                    let place = self.follow(file, named, GitFolderRole::Objects)?;
                    let Some(place) = place.filter(|place| !self.objects.contains(place)) else { continue };
                    // A relative path may be found from each of them, so that a line can double their number.
                    if self.objects.len() >= MOST_BORROWED {
                        return Err(PlaceError::TooManyBorrowed(file.to_owned()));
                    }
                    self.objects.push(place);
                }
            }
        }
        Ok(())
    }
}
