//! Outputs: each file turns a [`Review`] into the bytes of one surface, and does nothing else.
//!
//! Main type: [`Presenter`]; the table is [`PRESENTERS`]. A new output is one file with a `PRESENTER` and one line in the
//! table. What several outputs say in the same words is worked out in `digest`
//! (the verdict, the receipt), `patch` (quotes and suggestions as a small diff) and
//! `report` (findings for programs that know linters). [`brief()`] is a review in a few lines, [`progress`] shows
//! a run to a person while it goes on, [`events`] tells it to a program, [`runs`] lists kept runs, [`presented`] lays out what an assistant
//! presented, [`applied`] draws what applying suggestions changes, [`offers`] lists the models there are, [`checkup`] tells what a look at the
//! surroundings found. Nothing here decides what a review says, and nothing reads a file.

pub mod annotations;
pub mod applied;
mod brief;
pub mod checkup;
mod columns;
pub mod delivery;
pub(crate) mod digest;
pub mod eval;
pub mod events;
mod gitlab;
mod job_summary;
pub mod json;
mod junit;
mod markdown;
pub mod offers;
pub(crate) mod patch;
pub mod presented;
pub mod preview;
pub mod progress;
mod rdjson;
mod rdjsonl;
mod report;
pub mod runs;
mod sarif;
mod terminal;

pub use brief::{brief, engine, place, suggested};
pub(crate) use markdown::safe;

pub use crate::domain::text::Syntax;

use std::path::PathBuf;

use crate::domain::finding::Severity;
use crate::domain::review::Review;

/// One output format.
#[derive(Debug, Clone, Copy)]
pub struct Presenter {
    /// What `--format` calls it.
    pub name: &'static str,
    /// The extension of a file that holds it, without the dot.
    pub extension: &'static str,
    /// One line for the help text.
    pub about: &'static str,
    /// What its bytes are written in.
    pub syntax: Syntax,
    /// Renders the whole output, UTF-8.
    pub render: fn(&Review, &RenderOptions) -> Vec<u8>,
}

/// Every output format; the first is the default.
pub const PRESENTERS: &[Presenter] = &[
    terminal::PRESENTER,
    markdown::PRESENTER,
    json::PRESENTER,
    sarif::PRESENTER,
    rdjson::PRESENTER,
    rdjsonl::PRESENTER,
    gitlab::PRESENTER,
    junit::PRESENTER,
    annotations::PRESENTER,
    job_summary::PRESENTER,
];

/// What an output may do on its surface, and what it is measured by. Each output takes what it needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RenderOptions {
    /// Columns; fewer than [`MIN_WIDTH`] are taken as [`MIN_WIDTH`].
    pub width: usize,
    /// Whether to use colours.
    pub colour: bool,
    /// Whether places become links.
    pub links: Links,
    /// The severity at which a finding fails a gate, for outputs that know passed and failed.
    pub fail_on: Option<Severity>,
}

/// Whether places become links.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Links {
    /// They do not.
    None,
    /// OSC-8 links to files of this machine.
    Osc8 {
        /// The folder that the paths of the change are relative to; absolute.
        root: PathBuf,
    },
}

/// The narrowest page that is laid out.
pub const MIN_WIDTH: usize = 40;

impl Default for RenderOptions {
    /// 80 columns, no colours, no links, no gate.
    fn default() -> Self {
        Self { width: 80, colour: false, links: Links::None, fail_on: None }
    }
}

/// What outputs can be called.
pub fn names() -> Vec<&'static str> {
    PRESENTERS.iter().map(|presenter| presenter.name).collect()
}

/// The output of that name.
pub fn presenter(name: &str) -> Option<&'static Presenter> {
    PRESENTERS.iter().find(|presenter| presenter.name == name)
}
