//! One-line description of the range of a diff. Main function: [`describe_range`].

use super::toolbox::ToolContext;
use crate::domain::change::ChangeSet;
use crate::domain::place::WorkspaceAt;

/// Describes the two ends as requested or found, and the commits whose trees are compared: `origin/main...topic (1a2b3c4d5e..5d6e7f8a9b)`.
pub(super) fn describe_range(context: &ToolContext, change: &ChangeSet) -> String {
    let ChangeSet { target, head_name, .. } = change;
    let old = change.merge_base.map(|id| id.short());
    let old = old.as_deref().unwrap_or("nothing");
    match change.new_at {
        WorkspaceAt::Index => format!("{target}..staged ({old}..index)"),
        WorkspaceAt::Worktree => format!("{target}..uncommitted ({old}..disk)"),
        WorkspaceAt::PatchOnly => format!("the patch {head_name}"),
        WorkspaceAt::Revision(new) => {
            // If the merge base is older than the tip of the target, the comparison starts there, whatever was requested.
            let dots = if context.from_merge_base || change.merge_base != change.base { "..." } else { ".." };
            format!("{target}{dots}{head_name} ({old}..{})", new.short())
        }
        WorkspaceAt::Empty => format!("{target}..{head_name}"),
    }
}
