//! Presented Markdown: sections edited, references found and rewritten. The only place that names the Markdown parser.
//!
//! Main functions: [`edit()`] puts content into a document, [`references()`] finds what points to files, [`rewrite()`] writes those again for
//! one surface, [`Page`] tells what a document of the tree links to. All of it is pure, takes time linear to the text, and works by splices:
//! bytes that are not meant are never touched.
//! Whether a reference points to something belongs in `evidence`; who may present, in `app`.

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
