//! A git repository in a temporary folder, built step by step: commits and branches of an ordinary one in this process, everything else
//! with the `git` program.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::LazyLock;

use super::memory::temporary_folder;

/// A repository that is removed when dropped. Names, dates and settings are fixed, so that ids are the same on every machine.
pub struct TestRepo {
    folder: tempfile::TempDir,
    root: PathBuf,
}

/// Puts a program at another place. Not as a copy where there are links: a program that the child of another test still holds open for
/// writing cannot be started.
pub fn place_program(program: impl AsRef<Path>, place: impl AsRef<Path>) {
    #[cfg(unix)]
    let placed = std::os::unix::fs::symlink(program, place);
    #[cfg(not(unix))]
    let placed = std::fs::copy(program, place).map(drop);
    placed.expect("the program");
}

/// The place of a program. A bare name beside a `PATH` of the child's own makes the library fork, and a fork of this large process costs more than
/// what it starts.
pub fn program_path(name: &str) -> PathBuf {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let place = std::env::split_paths(&folders).map(|folder| folder.join(name)).find(|place| place.is_file());
    place.unwrap_or_else(|| PathBuf::from(name))
}

static GIT: LazyLock<PathBuf> = LazyLock::new(|| program_path("git"));

/// `git` with nothing of this machine in it: no settings, no templates, a fixed author and date.
pub fn git_command(folder: &Path) -> Command {
    let mut command = alone(&GIT, folder);
    // Upkeep would start two more programs at each commit.
    let settings =
        ["protocol.file.allow=always", "core.autocrlf=false", "init.defaultBranch=main", "maintenance.auto=false"];
    command.args(settings.iter().flat_map(|setting| ["-c", setting]));
    command
}

/// The part of git that answers over HTTP, without the program that only starts it.
pub fn git_http_backend(folder: &Path) -> Command {
    static PLACE: LazyLock<PathBuf> = LazyLock::new(|| {
        let told = git_command(Path::new(".")).arg("--exec-path").output().expect("the git program");
        Path::new(String::from_utf8_lossy(&told.stdout).trim()).join("git-http-backend")
    });
    let mut command = alone(&PLACE, folder);
    let settings = ["uploadpack.allowAnySHA1InWant", "uploadpack.allowFilter"];
    command.env("GIT_CONFIG_COUNT", settings.len().to_string());
    for (at, setting) in settings.iter().enumerate() {
        command.env(format!("GIT_CONFIG_KEY_{at}"), setting).env(format!("GIT_CONFIG_VALUE_{at}"), "true");
    }
    command
}

#[expect(clippy::disallowed_methods, reason = "tests build their repositories with the git program")]
fn alone(program: &Path, folder: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir(folder).env_clear();
    for keep in ["PATH", "TMPDIR", "SYSTEMROOT"] {
        if let Some(value) = std::env::var_os(keep) {
            command.env(keep, value);
        }
    }
    command
        .env("HOME", folder)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("LC_ALL", "C");
    for who in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{who}_NAME"), "Ada Author").env(format!("GIT_{who}_EMAIL"), "ada@example.invalid");
        command.env(format!("GIT_{who}_DATE"), "2024-05-01T12:00:00+02:00");
    }
    command
}

/// Makes a named pipe.
#[expect(clippy::disallowed_methods, reason = "no library makes one on every system")]
pub fn pipe(path: &Path) {
    let made = Command::new("mkfifo").arg(path).status().expect("mkfifo");
    assert!(made.success(), "{}", path.display());
}

/// Folders and files of git in a new repository. Writing them again is quicker than starting a program.
pub struct Template {
    folders: Vec<PathBuf>,
    files: Vec<(PathBuf, Vec<u8>)>,
}

impl Template {
    /// Made by git: `init` with these words.
    pub fn init(words: &[&str]) -> Self {
        let repo = TestRepo::folder_only();
        repo.git([&["init", "-q", "-b", "main"], words, &["."]].concat());
        let (mut folders, mut files, mut open) = (Vec::new(), Vec::new(), vec![repo.root.clone()]);
        while let Some(folder) = open.pop() {
            for entry in std::fs::read_dir(&folder).expect("a folder of git") {
                let path = entry.expect("an entry").path();
                if path.is_dir() {
                    open.push(path);
                } else if path.extension().is_none_or(|end| end != "sample") {
                    let inside = path.strip_prefix(&repo.root).expect("a path in the repository").to_owned();
                    files.push((inside, std::fs::read(&path).expect("a file of git")));
                }
            }
            folders.push(folder.strip_prefix(&repo.root).expect("a path in the repository").to_owned());
        }
        Self { folders, files }
    }

    /// Writes all of it into a folder.
    pub fn write(&self, root: &Path) {
        for folder in &self.folders {
            std::fs::create_dir_all(root.join(folder)).expect("a folder of git");
        }
        for (path, bytes) in &self.files {
            std::fs::write(root.join(path), bytes).expect("a file of git");
        }
    }
}

/// Steps in a repository without settings: a start of git costs a hundred times as much, and tests made ten thousand of them. `None`, with nothing
/// done that git would not do, where only git itself knows what is meant.
mod plain {
    use std::path::Path;

    use git2::{Commit, ErrorCode, IndexAddOption, Oid, Repository, Signature, Time};

    pub(super) const NAME: &str = "Ada Author";
    pub(super) const EMAIL: &str = "ada@example.invalid";

    /// Checks whether a file, or a repository within, decides how others are staged.
    fn is_telling(path: &[u8]) -> bool {
        let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
        name.is_empty() || [&b".gitignore"[..], b".gitattributes", b".gitmodules"].contains(&name)
    }

    /// The commit that is checked out; none before the first.
    fn head(repo: &Repository) -> Option<Vec<Commit<'_>>> {
        match repo.head() {
            Ok(head) => head.peel_to_commit().ok().map(|head| vec![head]),
            Err(error) => (error.code() == ErrorCode::UnbornBranch).then(Vec::new),
        }
    }

    pub(super) fn commit(repo: &Repository, message: &str) -> Option<Oid> {
        let message = git2::message_prettify(message, None).ok().filter(|message| !message.is_empty())?;
        let parents = head(repo)?;
        let mut index = repo.index().ok()?;
        // The upper bits are conflicts, and entries that stand for no file here.
        let is_odd = |entry: git2::IndexEntry| {
            entry.flags & 0xf000 != 0 || entry.flags_extended != 0 || entry.mode == 0o160_000 || is_telling(&entry.path)
        };
        if index.iter().any(is_odd) {
            return None;
        }
        let mut refuse = |path: &Path, _: &[u8]| if is_telling(path.as_os_str().as_encoded_bytes()) { -1 } else { 0 };
        index.add_all(["*"], IndexAddOption::FORCE, Some(&mut refuse)).ok()?;
        index.write().ok()?;
        let tree = repo.find_tree(index.write_tree().ok()?).ok()?;
        let who = Signature::new(NAME, EMAIL, &Time::new(1_714_557_600, 120)).ok()?;
        repo.commit(Some("HEAD"), &who, &who, &message, &tree, &parents.iter().collect::<Vec<_>>()).ok()
    }

    pub(super) fn branch(repo: &Repository, name: &str) -> Option<()> {
        repo.branch(name, head(repo)?.first()?, false).ok()?;
        repo.set_head(&format!("refs/heads/{name}")).ok()
    }
}

static EMPTY: LazyLock<Template> = LazyLock::new(|| Template::init(&[]));

impl TestRepo {
    /// An empty repository whose branch is `main`.
    pub fn new() -> Self {
        let repo = Self::folder_only();
        EMPTY.write(&repo.root);
        repo
    }

    /// A folder without a repository in it.
    pub fn folder_only() -> Self {
        let folder = temporary_folder();
        let root = folder.path().canonicalize().expect("the temporary folder").join("project");
        std::fs::create_dir(&root).expect("the project folder");
        Self { folder, root }
    }

    /// The folder that is checked out.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// A place beside the repository, removed with it.
    pub fn beside(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().expect("the temporary folder").join(name)
    }

    /// Writes a file, making its folders.
    pub fn write(&self, path: impl AsRef<Path>, contents: impl AsRef<[u8]>) -> &Self {
        let path = self.root.join(path);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
        std::fs::write(path, contents).expect("a written file");
        self
    }

    /// Removes a file.
    pub fn remove(&self, path: impl AsRef<Path>) -> &Self {
        std::fs::remove_file(self.root.join(path)).expect("a removed file");
        self
    }

    /// Stages everything and commits; returns the commit's id.
    pub fn commit(&self, message: &str) -> String {
        if let Some(id) = self.plain().and_then(|repo| plain::commit(&repo, message)) {
            return id.to_string();
        }
        self.git(["add", "-A"]);
        self.git(["commit", "-q", "--allow-empty", "--no-verify", "-m", message]);
        // Right after a commit the branch is a file of its own.
        let head = std::fs::read_to_string(self.root.join(".git/HEAD")).unwrap_or_default();
        let branch = head.trim().strip_prefix("ref: ").map(|branch| self.root.join(".git").join(branch));
        let id = branch.and_then(|branch| std::fs::read_to_string(branch).ok());
        id.unwrap_or_else(|| self.git(["rev-parse", "HEAD"])).trim().to_owned()
    }

    /// Makes a branch at HEAD and checks it out.
    pub fn branch(&self, name: &str) -> &Self {
        if self.plain().and_then(|repo| plain::branch(&repo, name)).is_none() {
            self.git(["checkout", "-q", "-b", name]);
        }
        self
    }

    /// Writes an object as it stands, and returns its id.
    pub fn object(&self, kind: git2::ObjectType, bytes: &[u8]) -> String {
        let repo = git2::Repository::open(&self.root).expect("a repository");
        repo.odb().and_then(|objects| objects.write(kind, bytes)).expect("a written object").to_string()
    }

    /// The repository for this process, which starts no program; `None` where settings of its own could mean something.
    fn plain(&self) -> Option<git2::Repository> {
        let git = self.root.join(".git");
        let is_as_made = |name: &str| {
            let made = EMPTY.files.iter().find(|(path, _)| path == &Path::new(".git").join(name));
            std::fs::read(git.join(name)).ok().as_ref() == made.map(|(_, bytes)| bytes)
        };
        if !["config", "info/exclude", "info/attributes", "info/sparse-checkout"].into_iter().all(is_as_made) {
            return None;
        }
        let repo = git2::Repository::open(&self.root).ok()?;
        // Without the settings of whoever runs the tests.
        repo.set_config(&git2::Config::open(&git.join("config")).ok()?).ok()?;
        (repo.state() == git2::RepositoryState::Clean).then_some(repo)
    }

    /// Runs git and returns what it printed; panics with its words when it fails.
    pub fn git<I: IntoIterator<Item = S>, S: AsRef<OsStr>>(&self, args: I) -> String {
        String::from_utf8_lossy(&self.git_bytes(args)).into_owned()
    }

    /// As [`git`](Self::git), for output that is not text.
    pub fn git_bytes<I: IntoIterator<Item = S>, S: AsRef<OsStr>>(&self, args: I) -> Vec<u8> {
        let args: Vec<_> = args.into_iter().map(|arg| arg.as_ref().to_owned()).collect();
        let Output { status, stdout, stderr } = git_command(&self.root).args(&args).output().expect("the git program");
        assert!(status.success(), "git {args:?}: {}", String::from_utf8_lossy(&stderr));
        stdout
    }
}
