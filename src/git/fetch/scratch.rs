//! The git folder in which git is run: ours, empty, with another repository's objects. Main type: [`ScratchRepository`].

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::domain::id::CommitId;
use crate::sys::cancel::Cancel;
use crate::sys::files::{self, FileError};
use crate::sys::process::{Environment, ProcessCall, ProcessOutput, Program};
use crate::sys::repo::{Repo, object_id};
use crate::sys::temporary::TemporaryFolder;

use super::error::FetchError;
use super::settings;

/// The settings of a git folder of ours; all else is said by [`settings::text`].
const FOLDER_SETTINGS: &str = "[core]\n\trepositoryformatversion = 0\n\tbare = true\n\tlogAllRefUpdates = false\n";

/// The limit of git's output besides the objects, in bytes.
pub(super) const MOST_SAID: usize = 64 << 10;

/// The ssh command: it never prompts, and opens nothing else over the connection.
const SSH: &str =
    "ssh -oBatchMode=yes -oConnectTimeout=30 -oClearAllForwardings=yes -oForwardAgent=no -oPermitLocalCommand=no";

/// A git folder that lives as long as a fetch.
pub(super) struct ScratchRepository {
    folder: TemporaryFolder,
    git: Program,
    environment: Environment,
    network: Vec<(String, String)>,
}

/// Makes a bare git folder without history, hooks or templates; what is in the way of its settings is replaced.
pub(super) fn create_bare(folder: &Path, more: &str) -> Result<(), FileError> {
    files::private_folder(&folder.join("objects"))?;
    // libgit2 looks for packs only where there was a place for them when it opened the repository.
    files::private_folder(&folder.join("objects/pack"))?;
    files::private_folder(&folder.join("refs"))?;
    files::write_private(&folder.join("HEAD"), b"ref: refs/heads/none\n")?;
    files::write_private(&folder.join("config"), format!("{FOLDER_SETTINGS}{more}").as_bytes())
}

impl ScratchRepository {
    /// A folder whose objects are `repo`'s, and which knows that repository's tips and where its history is cut.
    pub(super) fn borrowing_objects(
        repo: &Repo,
        environment: &Environment,
        cancel: &Cancel,
    ) -> Result<Self, FetchError> {
        let git = Program::find("git", environment)?;
        let folder = TemporaryFolder::new()?;
        let dir = folder.path().join("git");
        create_bare(&dir, &shared(repo))?;
        files::write_private(&dir.join("packed-refs"), known(repo).as_bytes())?;
        let network = settings::network(&git, environment, &dir, cancel)?;
        let environment = environment.clone().without("HOME").without("XDG_CONFIG_HOME");
        let environment = environment
            // Older versions do not know GIT_CONFIG_GLOBAL and read what is in the home.
            .with("HOME", folder.path())
            .with("GIT_CONFIG_GLOBAL", folder.path().join(".gitconfig"))
            .with("GIT_CONFIG_NOSYSTEM", "1")
            .with("GIT_ATTR_NOSYSTEM", "1")
            .with("GIT_DIR", &dir)
            .with("GIT_OBJECT_DIRECTORY", repo.common_dir().join("objects"))
            .with("GIT_NO_REPLACE_OBJECTS", "1")
            .with("GIT_NO_LAZY_FETCH", "1")
            .with("GIT_TERMINAL_PROMPT", "0")
            .with("GCM_INTERACTIVE", "never")
            .with("SSH_ASKPASS_REQUIRE", "never")
            .with("GIT_SSH_COMMAND", SSH)
            .with("GIT_SSH_VARIANT", "ssh")
            .with("LC_ALL", "C");
        Ok(Self { folder, git, environment, network })
    }

    /// Runs git in a folder of ours that has references of its own, instead of the empty one.
    pub(super) fn in_folder(self, folder: &Path) -> Self {
        Self { environment: self.environment.with("GIT_DIR", folder), ..self }
    }

    /// Lets git speak one protocol, with one server.
    pub(super) fn allow_protocol(
        &mut self,
        protocol: &str,
        server: &str,
        authorization: Option<&crate::domain::secret::Secret>,
    ) -> Result<(), FetchError> {
        let text = settings::text(protocol, server, authorization, &self.network);
        files::write_private(&self.folder.path().join(".gitconfig"), text.as_bytes())?;
        self.environment = std::mem::take(&mut self.environment).with("GIT_ALLOW_PROTOCOL", protocol);
        Ok(())
    }

    /// Runs git. What it is told stands in the list of processes, so no secret may be in it.
    pub(super) fn git<I, S>(&self, arguments: I, most: usize, cancel: &Cancel) -> Result<ProcessOutput, FetchError>
    where
        I: IntoIterator<Item = S>,
        S: Into<OsString>,
    {
        let arguments = arguments.into_iter().map(Into::into).collect();
        let directory = self.folder.path().to_owned();
        Ok(self.git.run(&ProcessCall { arguments, environment: self.environment.clone(), directory, most }, cancel)?)
    }

    /// The commit that a fetched reference names. git wrote it a moment ago, so its file is read instead of starting git again.
    pub(super) fn commit(&self, name: &str, repo: &Repo) -> Result<Option<CommitId>, FetchError> {
        let Some(text) = files::read_optional(&self.folder.path().join("git").join(name))? else { return Ok(None) };
        let id = std::str::from_utf8(&text).ok().and_then(|text| git2::Oid::from_str(text.trim()).ok());
        let named = id.and_then(|id| repo.raw().find_object(id, None).ok());
        let commit = named.and_then(|named| named.peel_to_commit().ok());
        Ok(commit.map(|commit| CommitId(object_id(commit.id()))))
    }

    /// The file that says where history is cut.
    pub(super) fn shallow(&self) -> PathBuf {
        self.folder.path().join("git").join("shallow")
    }
}

/// The tips of a repository as references: git says to the server that these are here already.
fn known(repo: &Repo) -> String {
    let raw = repo.raw();
    let mut tips = BTreeSet::new();
    let odb = raw.odb().ok();
    let mut add = |id: git2::Oid| {
        if odb.as_ref().is_some_and(|odb| odb.exists(id)) {
            tips.insert(object_id(id));
        }
    };
    if let Some(head) = raw.head().ok().and_then(|head| head.target()) {
        add(head);
    }
    if let Ok(references) = raw.references() {
        references.flatten().filter_map(|reference| reference.target()).for_each(&mut add);
    }
    let lines = tips.iter().map(|id| format!("{id} refs/known/{id}\n"));
    std::iter::once("# pack-refs with: sorted \n".to_owned()).chain(lines).collect()
}

/// The owner of a repository decides who else may read its objects.
fn shared(repo: &Repo) -> String {
    let shared = repo.raw().config().and_then(|config| config.get_string("core.sharedrepository"));
    let plain = |word: &String| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphanumeric());
    shared.ok().filter(plain).map_or_else(String::new, |word| format!("\tsharedRepository = {word}\n"))
}
