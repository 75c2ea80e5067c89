//! Resolves a path through links, inside one tree. Main function: [`resolve`].

use super::super::target_tree::{EntryKind, TargetTree, join};
use crate::domain::path::{PathError, RepoPath};
use crate::sys::repo_error::RepoError;

/// Limit on the links followed for one path.
const MOST_LINKS: usize = 16;
/// Limit on the components of a path.
const MOST_COMPONENTS: usize = 256;

/// The reason why a path leads to no file of the tree.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(in crate::app) enum UnresolvedPath {
    /// There is no such entry.
    #[error("it is not there")]
    NotThere,
    /// It is a folder, a submodule or another thing without text.
    #[error("it is no file")]
    NoFile,
    /// It leads out of the tree.
    #[error("it leads out of the repository")]
    Outside,
    /// It is in the working tree, but not part of the repository: an unshared file is no project guideline.
    #[error("git ignores it, or it belongs to a repository within this one")]
    Apart,
    /// Its links form a loop, or are too many.
    #[error("its links do not end")]
    Endless,
}

/// Resolves a path that may go through links: `start` is a folder, `path` the written path, relative to it. No result is outside of the
/// tree; absolute paths and those of a home folder are.
pub(in crate::app) fn resolve(
    ground: &TargetTree<'_>,
    start: &[u8],
    path: &[u8],
) -> Result<Result<RepoPath, UnresolvedPath>, RepoError> {
    if path.first().is_some_and(|first| matches!(first, b'/' | b'~')) {
        return Ok(Err(UnresolvedPath::Outside));
    }
    let mut todo: Vec<Vec<u8>> = components(path);
    todo.splice(0..0, components(start));
    todo.reverse();
    let (mut at, mut links): (Vec<u8>, usize) = (Vec::new(), 0);
    while let Some(component) = todo.pop() {
        if todo.len() > MOST_COMPONENTS {
            return Ok(Err(UnresolvedPath::Endless));
        }
        match component.as_slice() {
            b"." => continue,
            b".." if at.is_empty() => return Ok(Err(UnresolvedPath::Outside)),
            b".." => {
                let end = at.iter().rposition(|byte| *byte == b'/').unwrap_or(0);
                at.truncate(end);
                continue;
            }
            _ => {}
        }
        let next = join(&at, &component);
        match RepoPath::check(&next) {
            Ok(()) => {}
            Err(PathError::Leaves | PathError::Absolute | PathError::GitFolder) => {
                return Ok(Err(UnresolvedPath::Outside));
            }
            Err(PathError::Empty | PathError::Malformed | PathError::TooLong | PathError::BadQuoting) => {
                return Ok(Err(UnresolvedPath::NotThere));
            }
        }
        match ground.kind(&next)? {
            Some(EntryKind::Folder) => at = next,
            Some(EntryKind::File) if todo.is_empty() && ground.is_foreign(&next)? => {
                return Ok(Err(UnresolvedPath::Apart));
            }
            Some(EntryKind::File) if todo.is_empty() => {
                return Ok(RepoPath::from_bytes(&next).map_err(|_| UnresolvedPath::NotThere));
            }
            Some(EntryKind::File) | None => return Ok(Err(UnresolvedPath::NotThere)),
            Some(EntryKind::Other) => return Ok(Err(UnresolvedPath::NoFile)),
            Some(EntryKind::Link) => {
                links += 1;
                if links > MOST_LINKS {
                    return Ok(Err(UnresolvedPath::Endless));
                }
                let Some(to) = ground.link(&next)? else { return Ok(Err(UnresolvedPath::NotThere)) };
                if to.first() == Some(&b'/') {
                    return Ok(Err(UnresolvedPath::Outside));
                }
                todo.extend(components(&to).into_iter().rev());
            }
        }
    }
    Ok(Err(UnresolvedPath::NoFile))
}

fn components(path: &[u8]) -> Vec<Vec<u8>> {
    path.split(|byte| *byte == b'/').filter(|part| !part.is_empty()).map(<[u8]>::to_vec).collect()
}
