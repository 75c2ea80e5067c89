//! Outputs: each file renders a [`Review`] for one surface, and does nothing else.
//!
//! Main type: [`Presenter`]; the table is [`PRESENTERS`]. A new output is one file with a `PRESENTER` and one line in the table. Texts that
//! several outputs share are in `digest` (the verdict, the receipt), `patch` (quotes and suggestions as a small diff), `matched` (the part of a line that a finding is about) and `report`
//! (findings for programs that read linter reports). [`brief()`] is a review in a few lines, [`progress`] shows a run in progress to a
//! person, [`events`] reports it to a program, [`runs`] lists saved runs, [`running`] is the page of one that is not done, [`presented`] lays out a presented document, [`suggestion_diff`] draws
//! the change of applied suggestions, [`model_list`], [`rule_list`] and [`guideline_list`] list what their names say, [`doctor`] renders the report of `review doctor`, [`editor`] that of `review editor probe`, [`live`] a review that is being made, [`batch`] the outcome of many reviews. Nothing here decides the
//! contents of a review, and nothing reads a file.

pub mod annotations;
pub mod batch;
pub mod brief;
pub mod build;
mod columns;
pub mod delivery;
pub(crate) mod digest;
pub mod doctor;
pub mod editor;
pub mod eval;
pub mod events;
mod gitlab;
pub mod guideline_list;
mod html;
mod job_summary;
pub mod json;
mod junit;
pub mod live;
mod markdown;
mod matched;
pub mod model_list;
pub(crate) mod patch;
pub mod presented;
pub mod preview;
pub mod progress;
pub mod queue;
mod rdjson;
mod rdjsonl;
mod report;
pub mod rule_list;
pub mod running;
pub mod runs;
mod sarif;
mod short;
pub mod suggestion_diff;
mod terminal;

pub use brief::{brief, describe_suggestion, engine, place};
pub(crate) use markdown::escape;
pub use markdown::finding_markdown;

pub use crate::domain::text::Syntax;

use std::path::PathBuf;

use crate::domain::finding::Severity;
use crate::domain::review::Review;

/// One output format.
#[derive(Debug, Clone, Copy)]
pub struct Presenter {
    /// Its name in `--format`.
    pub name: &'static str,
    /// The extension of a file that holds it, without the dot.
    pub extension: &'static str,
    /// The syntax of its bytes.
    pub syntax: Syntax,
    /// Renders the whole output, UTF-8.
    pub render: fn(&Review, &RenderOptions) -> Vec<u8>,
}

/// Every output format; the first is the default.
pub const PRESENTERS: &[Presenter] = &[
    terminal::PRESENTER,
    markdown::PRESENTER,
    html::PRESENTER,
    json::PRESENTER,
    sarif::PRESENTER,
    rdjson::PRESENTER,
    rdjsonl::PRESENTER,
    gitlab::PRESENTER,
    junit::PRESENTER,
    annotations::PRESENTER,
    job_summary::PRESENTER,
    short::PRESENTER,
];

/// Properties of the output surface. Each output uses the ones it needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RenderOptions {
    /// Columns; smaller values count as [`MIN_WIDTH`].
    pub width: usize,
    /// `true` for colored output.
    pub colour: bool,
    /// The form of links to places.
    pub links: LinkStyle,
    /// The severity at which a finding fails a gate, for outputs with pass and fail.
    pub fail_on: Option<Severity>,
    /// `true` to show why the verification judged a finding as it did, for outputs for people.
    pub why: bool,
    /// The kind of page that people read.
    pub kind: PageKind,
    /// `true` if commands that a page names must name the run, since it is not the newest.
    pub names_run: bool,
}

/// The kind of page that people read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageKind {
    /// A file or a pipe: the worst first, and nothing is cut to a width.
    File,
    /// A terminal that scrolls: the worst last, where the eye is.
    Screen,
    /// A pager, which begins at the top: the worst first.
    Pager,
}

/// The form of links to places.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LinkStyle {
    /// No links.
    None,
    /// OSC-8 links to files of this machine.
    Osc8 {
        /// The folder that the paths of the change are relative to; absolute.
        root: PathBuf,
    },
}

/// The narrowest supported page, in columns.
pub const MIN_WIDTH: usize = 40;

impl Default for RenderOptions {
    /// A file of 80 columns, no colors, no links, no gate, no rationales.
    fn default() -> Self {
        Self {
            width: 80,
            colour: false,
            links: LinkStyle::None,
            fail_on: None,
            why: false,
            kind: PageKind::File,
            names_run: false,
        }
    }
}

/// Counts the rows of a screen that a page takes.
pub fn count_rows(page: &[u8], width: usize) -> usize {
    terminal::count_rows(page, width)
}

/// Returns the names of all outputs.
pub fn names() -> Vec<&'static str> {
    PRESENTERS.iter().map(|presenter| presenter.name).collect()
}

/// Finds the output of that name.
pub fn presenter(name: &str) -> Option<&'static Presenter> {
    PRESENTERS.iter().find(|presenter| presenter.name == name)
}
