//! Presented Markdown: editing sections, finding and rewriting references. The only module that names the Markdown parser.
//!
//! Main functions: [`edit()`] inserts content into a document, [`references()`] finds references to files, [`rewrite()`] rewrites those for
//! one surface, [`Page`] lists the links of a document. All of it is pure, runs in time linear to the text, and works by splicing:
//! unaffected bytes are never touched.
//! Checking whether a reference exists belongs in `evidence`; permission to present, in `app`.

mod edit;
mod lines;
mod links;
mod loose;
mod markdown;
mod plain;
mod prose;
mod references;
mod rewrite;
mod sections;
#[cfg(test)]
pub(crate) mod shape;
mod target;

pub use edit::{Edited, edit};
pub use links::{Link, Page};
pub use prose::prose;
pub use references::{Found, references};
pub use rewrite::{Dialect, rewrite};
