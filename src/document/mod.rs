//! Presented Markdown: editing sections, finding and rewriting references.
//!
//! Main functions: [`edit()`] inserts content into a document, [`references()`] finds references to files, [`rewrite()`] rewrites those for
//! one surface, [`DocumentLinks`] lists the links of a document. All of it is pure, runs in time linear to the text, and works by splicing:
//! unaffected bytes are never touched.
//! Checking whether a reference exists belongs in `evidence`; permission to present, in `app`.

mod edit;
mod lenient_link;
mod lines;
mod links;
#[cfg(test)]
pub(crate) mod live_parts;
mod markdown;
mod plain_references;
mod prose;
mod references;
mod rewrite;
mod sections;
mod target;

pub use edit::{EditedDocument, edit};
pub use links::{DocumentLink, DocumentLinks};
pub use prose::prose_ranges;
pub use references::{DocumentReference, references};
pub use rewrite::{ReferenceStyle, rewrite};
