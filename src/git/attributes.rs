//! The attributes of changed files, from the target's `.gitattributes`. Main function: [`find_generated`].
//!
//! Read from the blobs of a commit, never from the checkout, which the author of a change controls.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use gix_attributes::glob::pattern::Case;
use gix_attributes::search::{MetadataCollection, Outcome};
use gix_attributes::{Search, StateRef};

use crate::domain::change::{FileMode, Generated, Omission};
use crate::domain::generated::generated_by_name;
use crate::domain::id::{BlobId, CommitId, TreeId};
use crate::domain::limits::{LIMITS, OmissionList, RemainingLimit};
use crate::sys::cancel::Cancel;
use crate::sys::repo::Repo;
use crate::sys::repo_error::RepoError;
use crate::sys::tree;

use super::GitError;
use super::disk::native;
use super::entries::TreeDifferences;

/// Larger attribute files are not read.
const MAX_SIZE: u64 = 1 << 20;
const NAMES: [&str; 2] = ["linguist-generated", "linguist-vendored"];

/// The decision of attributes and names about a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GeneratedMark {
    Generated(Generated),
    /// The attributes deny it, whatever else suggests it.
    Denied,
    /// Neither says anything: its first lines may.
    Unmarked,
}

impl GeneratedMark {
    /// Returns the reason why the file is generated, if it is.
    pub(super) fn generated(self) -> Option<Generated> {
        match self {
            Self::Generated(generated) => Some(generated),
            Self::Denied | Self::Unmarked => None,
        }
    }
}

/// Decides for each file (sorted by path) whether it is generated: by the attributes of `at`, else by its name.
pub(super) fn find_generated(
    repo: &Repo,
    at: Option<CommitId>,
    found: &mut TreeDifferences,
    cancel: &Cancel,
) -> Result<Vec<GeneratedMark>, GitError> {
    let mut folders = match at {
        Some(commit) => Some(AttributeFolders::of(repo, repo.tree_of(commit)?)),
        None => None,
    };
    let mut stack = AttributeStack::default();
    let mut marks = Vec::with_capacity(found.deltas.len());
    for delta in &found.deltas {
        cancel.check()?;
        if let Some(folders) = &mut folders {
            stack.enter(delta.path.folder(), folders, &mut found.omissions)?;
        }
        marks.push(match stack.ask(delta.path.as_bytes()) {
            AttributeValue { generated: Some(true), .. } => GeneratedMark::Generated(Generated::Attribute),
            AttributeValue { vendored: Some(true), .. } => GeneratedMark::Generated(Generated::Vendored),
            // Either one denied overrules what the name and the first lines suggest.
            AttributeValue { generated: Some(false), .. } | AttributeValue { vendored: Some(false), .. } => {
                GeneratedMark::Denied
            }
            AttributeValue { generated: None, vendored: None } => {
                let by_name = generated_by_name(&delta.path, delta.old_path.as_ref());
                by_name.map_or(GeneratedMark::Unmarked, GeneratedMark::Generated)
            }
        });
    }
    Ok(marks)
}

#[derive(Debug, Clone, Copy, Default)]
struct AttributeValue {
    generated: Option<bool>,
    vendored: Option<bool>,
}

/// The folders of the tree on the way to changed files, which come in path order. Only those above the last one are held.
struct AttributeFolders<'r> {
    repo: &'r Repo,
    root: TreeId,
    known: HashMap<Vec<u8>, AttributeFolder>,
    /// For the names of folders within folders.
    room: RemainingLimit,
}

#[derive(Debug, Clone, Default)]
struct AttributeFolder {
    /// `None` if it does not exist.
    tree: Option<TreeId>,
    attributes: Option<BlobId>,
    /// The folders in it; `None` if there is no room for them.
    children: Option<HashMap<Vec<u8>, TreeId>>,
    /// The memory charged for them.
    charged: u64,
}

impl<'r> AttributeFolders<'r> {
    fn of(repo: &'r Repo, root: TreeId) -> Self {
        Self { repo, root, known: HashMap::new(), room: RemainingLimit::of(LIMITS.open_folder_bytes) }
    }

    fn attributes(&mut self, folder: &[u8]) -> Result<Option<BlobId>, RepoError> {
        if !self.known.contains_key(folder) {
            let tree = if folder.is_empty() { Some(self.root) } else { self.child(folder)? };
            let room = &mut self.room;
            self.known.retain(|path, known| {
                let is_above =
                    path.is_empty() || folder.strip_prefix(path.as_slice()).is_some_and(|rest| rest.starts_with(b"/"));
                if !is_above {
                    room.release(known.charged);
                }
                is_above
            });
            let read = tree.map(|tree| self.read(tree)).transpose()?.unwrap_or_default();
            self.known.insert(folder.to_vec(), read);
        }
        Ok(self.known.get(folder).and_then(|folder| folder.attributes))
    }

    /// The tree of a folder. Folders are entered from the root down, so the one above it is known.
    fn child(&self, folder: &[u8]) -> Result<Option<TreeId>, RepoError> {
        let cut = folder.iter().rposition(|byte| *byte == b'/');
        let (above, name) = cut.map_or((&[][..], folder), |at| (&folder[..at], &folder[at + 1..]));
        let Some(AttributeFolder { tree: Some(tree), children, .. }) = self.known.get(above) else { return Ok(None) };
        if let Some(children) = children {
            return Ok(children.get(name).copied());
        }
        Ok(match tree::find(self.repo, *tree, name)? {
            Some(tree::TreeLookup::Folder(tree)) => Some(tree),
            Some(tree::TreeLookup::File(..)) | None => None,
        })
    }

    fn read(&mut self, id: TreeId) -> Result<AttributeFolder, RepoError> {
        let data = self.repo.tree(id)?;
        let mut folder = AttributeFolder { tree: Some(id), ..AttributeFolder::default() };
        // An entry of the map is larger than one of the tree by this much at most.
        let charged = (data.len() as u64).saturating_mul(3);
        let mut children = self.room.charge(charged).then(HashMap::new);
        folder.charged = if children.is_some() { charged } else { 0 };
        for entry in tree::entries(&data).ok_or(RepoError::Damaged(id.0))? {
            match entry.mode {
                None => {
                    if let Some(children) = &mut children {
                        children.insert(entry.name.to_vec(), TreeId(entry.id));
                    }
                }
                // A link is not followed; neither does git.
                Some(FileMode::File | FileMode::Executable) if entry.name == b".gitattributes" => {
                    folder.attributes = Some(BlobId(entry.id));
                }
                Some(_) => {}
            }
        }
        folder.children = children;
        Ok(folder)
    }
}

/// The attribute files from the root down to the folder of the file in question.
#[derive(Default)]
struct AttributeStack {
    search: Search,
    names: MetadataCollection,
    outcome: Outcome,
    /// The folders entered, and whether each brought patterns.
    entered: Vec<(Vec<u8>, bool)>,
}

impl AttributeStack {
    fn enter(
        &mut self,
        folder: &[u8],
        folders: &mut AttributeFolders<'_>,
        omissions: &mut OmissionList,
    ) -> Result<(), GitError> {
        while let Some((last, brought)) = self.entered.last() {
            let inside = last.is_empty()
                || folder.strip_prefix(last.as_slice()).is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"));
            if inside {
                break;
            }
            if *brought {
                self.search.pop_pattern_list();
            }
            self.entered.pop();
        }
        let mut ends: Vec<usize> = memchr::memchr_iter(b'/', folder).collect();
        ends.insert(0, 0);
        if !folder.is_empty() {
            ends.push(folder.len());
        }
        for end in ends.into_iter().skip(self.entered.len()) {
            let prefix = &folder[..end];
            let brought = match folders.attributes(prefix)? {
                Some(blob) => self.read(folders.repo, prefix, blob, omissions)?,
                None => false,
            };
            self.entered.push((prefix.to_vec(), brought));
        }
        Ok(())
    }

    fn read(
        &mut self,
        repo: &Repo,
        folder: &[u8],
        blob: BlobId,
        omissions: &mut OmissionList,
    ) -> Result<bool, GitError> {
        let mut skip = |reason: String| {
            let path = [folder, b".gitattributes"].join(&b'/');
            let path = String::from_utf8_lossy(&path).trim_start_matches('/').to_owned();
            omissions.push(Omission { path: Some(path), reason, unseen: false });
            Ok(false)
        };
        let bytes = match repo.blob_size(blob) {
            Ok(size) if size > MAX_SIZE => return skip(format!("attributes not read: it has {size} bytes")),
            Ok(_) => repo.blob(blob)?,
            Err(error) => return skip(format!("attributes not read: {error}")),
        };
        let root = Path::new("/");
        let source: PathBuf = root.join(native(folder)).join(".gitattributes");
        // Macros are allowed at the root only (`gitattributes(5)`).
        let macros = self.entered.is_empty();
        match self.search.add_patterns_buffer(&bytes, source, Some(root), &mut self.names, macros) {
            Ok(()) => {
                self.outcome = Outcome::default();
                self.outcome.initialize_with_selection(&self.names, NAMES);
                Ok(true)
            }
            Err(error) => skip(format!("attributes not read: {error}")),
        }
    }

    fn ask(&mut self, path: &[u8]) -> AttributeValue {
        if self.search.num_pattern_lists() == 0 {
            return AttributeValue::default();
        }
        self.outcome.reset();
        self.search.pattern_matching_relative_path(path.into(), Case::Sensitive, Some(false), &mut self.outcome);
        let mut said = AttributeValue::default();
        for found in self.outcome.iter_selected() {
            let value = match found.assignment.state {
                StateRef::Set => Some(true),
                StateRef::Unset => Some(false),
                StateRef::Value(value) => match value.as_bstr().to_string().as_str() {
                    "true" => Some(true),
                    "false" => Some(false),
                    _ => None,
                },
                StateRef::Unspecified => None,
            };
            match found.assignment.name.as_str() {
                "linguist-generated" => said.generated = value,
                "linguist-vendored" => said.vendored = value,
                _ => {}
            }
        }
        said
    }
}
