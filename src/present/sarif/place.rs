//! The places of findings: artifacts, URIs and regions. Main type: [`SarifLocations`].
//!
//! SARIF knows the files of one moment, the head. Places before the change are below a root of their own ([`OLD`]), and never come first in
//! a result: a reader would show the line of that number in the current file.

use std::collections::{BTreeMap, HashMap};

use serde_json::{Value, json};
use serde_sarif::sarif::{
    Artifact, ArtifactContent, ArtifactLocation, Location, Message, MultiformatMessageString, PhysicalLocation, Region,
};

use super::{bag, text};
use crate::domain::change::{FileChange, FileStatus};
use crate::domain::finding::Anchor;
use crate::domain::path::RepoPath;
use crate::domain::percent::encode_path;
use crate::domain::place::{DiffSide, LineRange};
use crate::domain::review::{FileCoverage, Review};

/// The root of the repository at the head, as code scanning calls it.
pub(super) const HEAD: &str = "%SRCROOT%";
/// The root of the repository before the change.
pub(super) const OLD: &str = "%OLDROOT%";

/// The artifacts of a run, as results name them.
pub(super) struct SarifLocations<'a> {
    changed: &'a [FileChange],
    coverage: HashMap<&'a RepoPath, &'a FileCoverage>,
    at_head: HashMap<&'a RepoPath, usize>,
    /// By their path before the change, if it differs or the file is deleted.
    before: HashMap<&'a RepoPath, usize>,
    known: HashMap<(DiffSide, RepoPath), i64>,
    list: Vec<Artifact>,
}

impl<'a> SarifLocations<'a> {
    /// Collects the artifacts of a review; nothing is named yet.
    pub(super) fn of(review: &'a Review) -> Self {
        let changed = &review.change.files;
        Self {
            changed,
            coverage: review.coverage.files.iter().map(|file| (&file.path, file)).collect(),
            at_head: changed.iter().enumerate().map(|(at, file)| (&file.path, at)).collect(),
            before: changed.iter().enumerate().map(|(at, file)| (file.path_at(DiffSide::Old), at)).collect(),
            known: HashMap::new(),
            list: Vec::new(),
        }
    }

    /// Returns the first place of a result: an anchor at the head as it is. For one before the change it is its file, by its path at the
    /// head, without lines: no line of the head is the one.
    pub(super) fn first(&mut self, anchor: &Anchor) -> Location {
        let (path, region) = match anchor.side {
            DiffSide::New => (anchor.path.clone(), region(anchor)),
            DiffSide::Old => {
                let now = self.before.get(&anchor.path).and_then(|at| self.changed.get(*at));
                (now.map_or_else(|| anchor.path.clone(), |file| file.path.clone()), None)
            }
        };
        self.location(&path, region)
    }

    /// Returns a whole file of the head.
    pub(super) fn whole(&mut self, path: &RepoPath) -> Location {
        self.location(path, None)
    }

    fn location(&mut self, path: &RepoPath, region: Option<Region>) -> Location {
        let location = self.artifact(DiffSide::New, path);
        // Code scanning requires a line in every case; for a whole file it is the first.
        let region = region.unwrap_or_else(|| Region::builder().start_line(1).build());
        Location::builder().physical_location(physical(location, Some(region))).build()
    }

    /// Returns a further place of a result, by its number.
    pub(super) fn related(&mut self, anchor: &Anchor, id: i64, what: &str) -> Location {
        let location = self.artifact(anchor.side, &anchor.path);
        let mut related = Location::builder().id(id).physical_location(physical(location, region(anchor))).build();
        related.message = Some(Message::builder().text(text::sentence(what)).build());
        related
    }

    /// Returns the URI of a file, and its index in the list of artifacts.
    pub(super) fn artifact(&mut self, side: DiffSide, path: &RepoPath) -> ArtifactLocation {
        let key = (side, path.clone());
        let index = if let Some(index) = self.known.get(&key) {
            *index
        } else {
            let index = i64::try_from(self.list.len()).unwrap_or(i64::MAX);
            let change = self.at_head.get(path).and_then(|at| self.changed.get(*at)).filter(|_| side == DiffSide::New);
            let artifact = self.described(side, path, change);
            self.list.push(artifact);
            self.known.insert(key, index);
            index
        };
        let mut location = address(side, path);
        location.index = Some(index);
        location
    }

    fn described(&self, side: DiffSide, path: &RepoPath, change: Option<&FileChange>) -> Artifact {
        let mut artifact = Artifact::builder().location(address(side, path)).build();
        let Some(change) = change else { return artifact };
        artifact.roles = Some(vec![json!("analysisTarget"), role(change.status)]);
        let coverage = self.coverage.get(path);
        let reason = coverage.and_then(|coverage| coverage.reason.as_deref()).map(text::line);
        let moved = change.old_path.as_ref().filter(|old| **old != change.path);
        artifact.properties = Some(bag(
            [
                ("coverage", json!(coverage.map(|coverage| coverage.state.as_str()))),
                ("reason", json!(reason)),
                ("oldPath", json!(moved.map(ToString::to_string))),
            ],
            Vec::new(),
        ));
        artifact
    }

    /// Returns the number of artifacts that were named so far.
    pub(super) fn count(&self) -> usize {
        self.list.len()
    }

    /// Returns all artifacts: those that were named, then the other changed files; and their roots.
    pub(super) fn artifacts(mut self) -> (Vec<Artifact>, BTreeMap<String, ArtifactLocation>) {
        for file in self.changed {
            self.artifact(DiffSide::New, &file.path);
        }
        let sides: [(DiffSide, &str, &str); 2] = [
            (DiffSide::New, HEAD, "The root of the repository at the head of the change."),
            (DiffSide::Old, OLD, "The root of the repository before the change, at the merge base."),
        ];
        let used = sides.into_iter().filter(|(side, ..)| self.known.keys().any(|(known, _)| known == side));
        let roots = used.map(|(_, root, what)| {
            let description = Message::builder().text(what).build();
            (root.to_owned(), ArtifactLocation::builder().description(description).build())
        });
        let roots = roots.collect();
        (self.list, roots)
    }
}

/// Returns the URI of a file below its root: every byte of its path that is not plain is percent-encoded, so that paths that are not text,
/// or that look like a scheme or a query, resolve to the file.
fn address(side: DiffSide, path: &RepoPath) -> ArtifactLocation {
    let root = match side {
        DiffSide::New => HEAD,
        DiffSide::Old => OLD,
    };
    ArtifactLocation::builder().uri(encode_path(path.as_bytes())).uri_base_id(root).build()
}

fn role(status: FileStatus) -> Value {
    json!(match status {
        FileStatus::Added => "added",
        FileStatus::Deleted => "deleted",
        FileStatus::Modified | FileStatus::TypeChanged => "modified",
        FileStatus::Renamed => "renamed",
    })
}

fn physical(location: ArtifactLocation, region: Option<Region>) -> PhysicalLocation {
    let mut physical = PhysicalLocation::builder().artifact_location(location).build();
    physical.region = region;
    physical
}

/// Returns the lines of an anchor; `None` for a whole file.
fn region(anchor: &Anchor) -> Option<Region> {
    let lines = anchor.lines?;
    let mut region = whole_lines(lines);
    region.start_column = Some(1);
    region.end_column = end_column(anchor, lines);
    if !anchor.quote.is_empty() {
        region.snippet = Some(ArtifactContent::builder().text(anchor.quote.as_str()).build());
    }
    Some(region)
}

/// Returns the column after the last character, if the quote determines it: a masked one is not as long as the line. Without it a region
/// goes to the end of its last line (§3.30.8).
fn end_column(anchor: &Anchor, lines: LineRange) -> Option<i64> {
    let quoted: Vec<&str> = anchor.quote.split('\n').collect();
    if anchor.masked || u32::try_from(quoted.len()) != Ok(lines.count()) {
        return None;
    }
    let last = quoted.last()?.trim_end_matches('\r');
    i64::try_from(last.encode_utf16().count()).ok().map(|length| length + 1)
}

/// Returns whole lines, without the line break after the last.
pub(super) fn whole_lines(lines: LineRange) -> Region {
    Region::builder().start_line(i64::from(lines.start())).end_line(i64::from(lines.end())).build()
}

/// Wraps text for people in the form that descriptors require.
pub(super) fn described(text: &str) -> MultiformatMessageString {
    MultiformatMessageString::builder().text(text).build()
}
