//! `list_files`: the paths of the reviewed tree.

use std::borrow::Cow;
use std::ops::ControlFlow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::answer::NextCall;
use super::fault::{ErrorKind, ToolFault};
use super::outcome::{ToolReply, Truncation};
use super::output_room::{OutputRoom, json_length};
use super::toolbox::ToolContext;
use super::{ToolSpec, TreeNeeds, answer, input, paths};
use crate::domain::change::FileMode;
use crate::domain::filter::PathFilter;
use crate::domain::limits::LIMITS;
use crate::domain::path::{PathSpeller, RepoPath};
use crate::domain::text::count_noun;
use crate::workspace::NearestPaths;

const NAME: &str = "list_files";

pub(super) const SPEC: ToolSpec = ToolSpec {
    name: NAME,
    title: "List files",
    description: "Lists all files below a folder, after the change, as sorted paths from the repository root. Up to 500; `next` goes on.",
    schema: input::schema::<Input>,
    answer: answer::schema::<ListFilesOutput>,
    looks: |_| TreeNeeds::AtTree,
    call,
};

/// What to list.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// Default: the root.
    #[serde(default, deserialize_with = "input::text")]
    directory: Option<String>,
    /// Glob: `*.rs` at any depth, `src/**/*.rs` from the root or the folder.
    #[serde(default, deserialize_with = "input::text")]
    pattern: Option<String>,
    /// Paths to leave out first.
    #[serde(default, deserialize_with = "input::number")]
    skip: Option<u32>,
}

/// What was listed.
#[derive(Debug, Serialize, JsonSchema)]
struct ListFilesOutput<'a> {
    /// The folder; `.` is the root.
    directory: Cow<'a, str>,
    /// The paths, from the repository root, sorted by their bytes; odd ones in git's C quoting.
    files: Vec<String>,
    /// How many there are in all.
    total: usize,
    /// Whether more follow those that are shown.
    truncated: bool,
}

/// State of a listing.
#[derive(Default)]
struct FileListingState {
    files: Vec<String>,
    /// Number of matching files.
    total: usize,
    /// `true` if anything exists under the folder.
    any: bool,
    full: bool,
}

fn call(context: &ToolContext, input: Value) -> Result<ToolReply, ToolFault> {
    let input: Input = input::parse(input)?;
    let paths::ResolvedPath { path: folder, note } =
        paths::resolve_path(context, input.directory.as_deref().unwrap_or("."))?;
    let glob = paths::glob(context, "pattern", input.pattern.as_deref(), folder.as_ref())?;
    let listing = list(context, folder.as_ref(), glob.filter.as_ref(), input.skip.unwrap_or(0) as usize)?;
    if let (false, Some(folder)) = (listing.any, &folder) {
        return Err(missing_reason(context, folder)?);
    }
    let skip = input.skip.unwrap_or(0) as usize;
    let (shown, total) = (listing.files.len(), listing.total);
    let spelled = folder.as_ref().map_or_else(|| ".".into(), |folder| folder.display_name());
    let truncated = skip + shown < total;
    let mut text = format!("{} below {spelled}\n", count_noun(total, "file"));
    for file in &listing.files {
        text.push_str(file);
        text.push('\n');
    }
    let output = ListFilesOutput { directory: spelled.clone(), files: listing.files, total, truncated };
    let mut reply = ToolReply::of(&output, text);
    if truncated {
        let mut next = json!({ "directory": spelled });
        if let Some(pattern) = &input.pattern {
            next["pattern"] = pattern.clone().into();
        }
        next["skip"] = (skip + shown).into();
        let what = format!(
            "Paths {}-{} of {total} are shown; `next` is the call that goes on, or narrow the listing with directory or pattern.",
            skip + 1,
            skip + shown
        );
        reply.cut = Some(Truncation { what, next: Some(NextCall { tool: NAME, input: next }) });
    } else if total == 0 && input.pattern.is_some() {
        reply.note("No path matches the pattern.");
    }
    reply.notes.extend(note.into_iter().chain(glob.note));
    reply.notes.extend(paths::not_listed(context));
    Ok(reply)
}

fn list(
    context: &ToolContext,
    folder: Option<&RepoPath>,
    glob: Option<&PathFilter>,
    skip: usize,
) -> Result<FileListingState, ToolFault> {
    let prefix = folder.map_or_else(Vec::new, |folder| [folder.as_bytes(), b"/"].concat());
    // Below a folder whose name holds a secret all paths are compared as they are shown, which is not their order.
    let masked = folder.is_some_and(RepoPath::is_masked);
    let mut room = OutputRoom::new(context.limits.paths, context.limits.bytes, "");
    let (mut listing, mut speller) = (FileListingState::default(), PathSpeller::default());
    let matches = |path: &[u8]| {
        glob.is_none_or(|glob| {
            let below = || glob.allows_bytes(&path[prefix.len()..]);
            glob.allows_bytes(path) || (!prefix.is_empty() && below())
        })
    };
    let mut each = |path: &[u8], _: FileMode| {
        let shown = if masked { RepoPath::from_bytes(path).ok() } else { None };
        let path = shown.as_ref().map_or(path, RepoPath::as_bytes);
        if !path.starts_with(&prefix) {
            // Paths are sorted: nothing of the folder follows after it.
            return if listing.any && !masked { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
        }
        listing.any = true;
        if !matches(path) {
            return ControlFlow::Continue(());
        }
        listing.total += 1;
        if listing.total > skip && !listing.full {
            let spelled = speller.spell(path);
            if room.try_take(1, json_length(&spelled) + 3) || listing.files.is_empty() {
                listing.files.push(spelled.into_owned());
            } else {
                listing.full = true;
            }
        }
        ControlFlow::Continue(())
    };
    context.new.visit(&context.cancel, &mut each)?;
    Ok(listing)
}

/// Returns the reason why nothing is listed under a folder.
fn missing_reason(context: &ToolContext, folder: &RepoPath) -> Result<ToolFault, ToolFault> {
    let mut is_file = false;
    let mut folders =
        FolderWalk { nearest: NearestPaths::for_path(folder), last: Vec::new(), left: LIMITS.compared_names };
    context.new.visit(&context.cancel, &mut |path, _| {
        is_file = path == folder.as_bytes();
        folders.of(path);
        if is_file { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    if is_file {
        let message = format!("{folder} is a file, not a folder; read_file_part reads it");
        return Ok(ToolFault::new(ErrorKind::InvalidInput, message));
    }
    if let Some(hint) = context.checkout.check_at_head(Some(folder)) {
        return Ok(ToolFault::not_found(format!("{folder} is {hint}"), &[]));
    }
    let cut = paths::not_listed(context).map_or_else(String::new, |why| format!(". {why}"));
    let message = format!("no files under {folder}: there is no such folder, or the settings exclude it{cut}");
    Ok(ToolFault::not_found(message, &folders.nearest.into_paths()))
}

/// Folders of files that are visited in path order, each compared once with a missing one.
struct FolderWalk {
    nearest: NearestPaths,
    /// The folder of the last file.
    last: Vec<u8>,
    left: usize,
}

impl FolderWalk {
    fn of(&mut self, path: &[u8]) {
        let folder = path.iter().rposition(|byte| *byte == b'/').map_or(&b""[..], |slash| &path[..slash]);
        if folder == self.last {
            return;
        }
        let ends = memchr::memchr_iter(b'/', folder).chain([folder.len()]).filter(|end| *end > 0);
        for above in ends.map(|end| &folder[..end]) {
            let is_known = self.last.strip_prefix(above).is_some_and(|rest| rest.is_empty() || rest[0] == b'/');
            if !is_known && self.left > 0 {
                self.left -= 1;
                self.nearest.add(above);
            }
        }
        self.last.clear();
        self.last.extend_from_slice(folder);
    }
}
