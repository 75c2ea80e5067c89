//! One workspace folder: its newest saved review on the text that the client has. Main type: [`EditorFolder`].

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use gen_lsp_types::{Diagnostic, Position, Range};
use serde_json::{Value, json};

use super::client::ClientFeatures;
use super::documents::OpenDocuments;
use super::position::LineTable;
use super::report::{self, ShownPlace};
use crate::app::{self, AppError, CurrentPlace, CurrentReview, Overrides, ProcessEnv, Service, ServiceOptions};
use crate::domain::finding::{Finding, FindingId};
use crate::domain::path::RepoPath;
use crate::domain::percent;

/// A workspace folder.
pub(super) struct EditorFolder {
    /// Its URI as the client spells it.
    pub(super) uri: String,
    /// Its path as the client spells it.
    path: PathBuf,
    /// Its path below the root of the repository, with a slash at its end unless it is the root.
    prefix: Vec<u8>,
    pub(super) service: Arc<Service>,
    pub(super) review: Option<CurrentReview>,
    /// The findings with their current places, by the file of their first quote.
    groups: BTreeMap<RepoPath, FindingGroup>,
    /// `true` if the reports are those of the review.
    is_reported: bool,
    /// The diagnostics of each file with findings.
    pub(super) reports: BTreeMap<RepoPath, FileReport>,
    /// The result ids of the published diagnostics, by URI.
    published: BTreeMap<String, String>,
}

/// The findings of one file.
struct FindingGroup {
    /// Changes with the texts that the places depend on.
    stamp: u64,
    /// Indexes of findings, with their current places.
    shown: Vec<(usize, Vec<(RepoPath, ShownPlace)>)>,
}

/// The diagnostics of one file.
#[derive(Debug, Default)]
pub(super) struct FileReport {
    pub(super) uri: String,
    /// The version of the open document.
    pub(super) version: Option<i32>,
    /// Equal for equal diagnostics.
    pub(super) result_id: String,
    pub(super) diagnostics: Vec<Diagnostic>,
    /// Indexes of the findings, with their places; in the order of the diagnostics.
    pub(super) findings: Vec<(usize, ShownPlace)>,
}

/// The result id of a file without findings.
pub(super) const NOTHING: &str = "0";

impl EditorFolder {
    /// Opens the folder of a `file:` URI.
    pub(super) fn open(uri: &str, env: &ProcessEnv, flags: &Overrides) -> Result<Self, AppError> {
        let unusable = |why: &str| AppError::Unusable(format!("the workspace folder {uri} {why}"));
        let path = app::file_uri_path(uri).ok_or_else(|| unusable("is no folder of this machine"))?;
        let options = ServiceOptions {
            directory: path.clone(),
            roots: Vec::new(),
            flags: flags.clone(),
            allow_write: true,
            log: None,
        };
        let service = Arc::new(Service::open(options, env.clone())?);
        let uri = uri.trim_end_matches('/').to_owned();
        let (groups, reports, published) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        let (prefix, review, is_reported) = (Vec::new(), None, false);
        Ok(Self { uri, path, prefix, service, review, groups, is_reported, reports, published })
    }

    /// The folder without links.
    pub(super) fn directory(&self) -> &Path {
        self.service.roots().start()
    }

    /// Loads the newest saved review. Returns `true` if it is another one, or differs.
    pub(super) fn load(&mut self) -> Result<bool, AppError> {
        let Some(root) = CurrentReview::checkout_of(self.directory()) else {
            return Ok(self.replace(None));
        };
        let below = self.directory().strip_prefix(&root).unwrap_or(Path::new(""));
        let mut prefix = below.as_os_str().as_encoded_bytes().to_vec();
        if !prefix.is_empty() {
            prefix.push(b'/');
        }
        self.prefix = prefix;
        let review = CurrentReview::open(self.service.environment(), self.directory())?;
        Ok(self.replace(review))
    }

    fn replace(&mut self, review: Option<CurrentReview>) -> bool {
        let key = |review: &Option<CurrentReview>| {
            review.as_ref().map(|current| (current.review.id, current.review.findings.clone()))
        };
        let differs = key(&self.review) != key(&review);
        self.review = review;
        if differs {
            self.groups.clear();
            self.is_reported = false;
        }
        differs
    }

    /// The depth of the folder: of nested ones, the innermost has a file.
    pub(super) fn depth(&self) -> usize {
        self.path.components().count()
    }

    /// Returns the path of a file within the repository; `None` outside of the folder.
    pub(super) fn repo_path(&self, file: &Path) -> Option<RepoPath> {
        let below = file.strip_prefix(&self.path).ok()?;
        RepoPath::from_bytes(&[&self.prefix, below.as_os_str().as_encoded_bytes()].concat()).ok()
    }

    /// Returns the URI and the path of a file as the client spells them; `None` if it is outside of the folder.
    fn place(&self, path: &RepoPath, documents: &OpenDocuments) -> Option<(String, PathBuf)> {
        let below = path.stored().strip_prefix(self.prefix.as_slice())?;
        let uri = format!("{}/{}", self.uri, percent::encode_path(below));
        let file = app::file_uri_path(&uri)?;
        let open = documents.get(&file).map(|document| document.uri.clone());
        Some((open.unwrap_or(uri), file))
    }

    /// Returns the URI of a file as the client spells it, and the version of the open document; `None` if it is outside of the folder.
    pub(super) fn address(&self, path: &RepoPath, documents: &OpenDocuments) -> Option<(String, Option<i32>)> {
        let (uri, file) = self.place(path, documents)?;
        Some((uri, documents.get(&file).map(|document| document.version)))
    }

    /// Reads the current text of a file: the open document's, else the file's.
    pub(super) fn text(&self, path: &RepoPath, documents: &OpenDocuments) -> Option<Arc<str>> {
        let (_, file) = self.place(path, documents)?;
        match documents.get(&file) {
            Some(document) => document.text.clone(),
            None => self.review.as_ref()?.read(path).map(Into::into),
        }
    }

    /// Maps the findings to the current texts. Returns `true` if a diagnostic changed.
    pub(super) fn refresh(&mut self, documents: &OpenDocuments, features: ClientFeatures) -> bool {
        let Some(current) = &self.review else {
            self.groups.clear();
            return !std::mem::take(&mut self.reports).is_empty();
        };
        let mut by_file: BTreeMap<&RepoPath, Vec<usize>> = BTreeMap::new();
        for (index, finding) in current.review.findings.iter().enumerate() {
            let path = finding.anchors.first().map(|anchor| &anchor.path);
            if let (Some(path), false) = (path, finding.status.is_resolved()) {
                by_file.entry(path).or_default().push(index);
            }
        }
        let mut mapped = Vec::new();
        for (path, findings) in by_file {
            let stamp = self.stamp(current, &findings, documents);
            if self.groups.get(path).is_none_or(|group| group.stamp != stamp) {
                let shown = self.map(current, &findings, documents, features);
                mapped.push((path.clone(), FindingGroup { stamp, shown }));
            }
        }
        if mapped.is_empty() && self.is_reported {
            return false;
        }
        self.is_reported = true;
        self.groups.extend(mapped);
        let reports = self.build_reports(documents, features);
        let ids = |reports: &BTreeMap<RepoPath, FileReport>| -> Vec<(String, String)> {
            reports.values().map(|report| (report.uri.clone(), report.result_id.clone())).collect()
        };
        let differs = ids(&self.reports) != ids(&reports);
        self.reports = reports;
        differs
    }

    /// Hashes the state of the files that findings quote.
    fn stamp(&self, current: &CurrentReview, findings: &[usize], documents: &OpenDocuments) -> u64 {
        let mut hasher = DefaultHasher::new();
        let anchors =
            findings.iter().filter_map(|index| current.review.findings.get(*index)).flat_map(|one| &one.anchors);
        for anchor in anchors {
            let place = self.place(&anchor.path, documents);
            let open = place.as_ref().and_then(|(_, file)| documents.get(file)).map(|document| document.edits);
            open.hash(&mut hasher);
            if open.is_none() && place.is_some() {
                current.stamp(&anchor.path).hash(&mut hasher);
            }
        }
        hasher.finish()
    }

    fn map(
        &self,
        current: &CurrentReview,
        findings: &[usize],
        documents: &OpenDocuments,
        features: ClientFeatures,
    ) -> Vec<(usize, Vec<(RepoPath, ShownPlace)>)> {
        let read: RefCell<HashMap<RepoPath, Option<Arc<str>>>> = RefCell::default();
        let text = |path: &RepoPath| {
            read.borrow_mut().entry(path.clone()).or_insert_with(|| self.text(path, documents)).clone()
        };
        let mut texts = current.texts(text);
        let mut shown = Vec::new();
        for index in findings {
            let Some(finding) = current.review.findings.get(*index) else { continue };
            let places = texts.places(finding).into_iter().filter_map(|place| {
                let (uri, _) = self.place(&place.path, documents)?;
                let range = range(&place, &text(&place.path)?, features);
                Some((place.path, ShownPlace { uri, range, is_removed: place.is_removed }))
            });
            shown.push((*index, places.collect::<Vec<_>>()));
        }
        shown
    }

    fn build_reports(&self, documents: &OpenDocuments, features: ClientFeatures) -> BTreeMap<RepoPath, FileReport> {
        let mut reports: BTreeMap<RepoPath, FileReport> = BTreeMap::new();
        let Some(current) = &self.review else { return reports };
        let mut rows = Vec::new();
        for (index, places) in self.groups.values().flat_map(|group| &group.shown) {
            let Some(finding) = current.review.findings.get(*index) else { continue };
            let shown: Vec<ShownPlace> = places.iter().map(|(_, place)| place.clone()).collect();
            let diagnostic = report::diagnostic(finding, &shown, features.related_information);
            if let (Some(diagnostic), Some((path, first))) = (diagnostic, places.first()) {
                rows.push((path, (*index, first.clone()), diagnostic));
            }
        }
        rows.sort_by_key(|(_, _, diagnostic)| (diagnostic.range.start, diagnostic.range.end));
        for (path, finding, diagnostic) in rows {
            let report = reports.entry(path.clone()).or_default();
            report.findings.push(finding);
            report.diagnostics.push(diagnostic);
        }
        for (path, report) in &mut reports {
            let Some((uri, file)) = self.place(path, documents) else { continue };
            report.version = documents.get(&file).map(|document| document.version);
            report.uri = uri;
            let mut hasher = DefaultHasher::new();
            json!(report.diagnostics).to_string().hash(&mut hasher);
            report.result_id = format!("{:016x}", hasher.finish());
        }
        reports
    }

    /// Returns what has to be published: URIs with their version and their diagnostics, which are empty if they are gone.
    pub(super) fn unpublished(&mut self) -> Vec<(String, Option<i32>, Vec<Diagnostic>)> {
        let mut changed = Vec::new();
        let now: BTreeMap<String, String> =
            self.reports.values().map(|report| (report.uri.clone(), report.result_id.clone())).collect();
        for uri in self.published.keys().filter(|uri| !now.contains_key(*uri)) {
            changed.push((uri.clone(), None, Vec::new()));
        }
        for report in self.reports.values() {
            if self.published.get(&report.uri) != Some(&report.result_id) {
                changed.push((report.uri.clone(), report.version, report.diagnostics.clone()));
            }
        }
        self.published = now;
        changed
    }

    /// Makes [`unpublished`](Self::unpublished) return all of it again.
    pub(super) fn publish_again(&mut self) {
        self.published.clear();
    }

    /// Forgets everything, so that [`unpublished`](Self::unpublished) takes all of it back.
    pub(super) fn clear(&mut self) {
        self.review = None;
        self.groups.clear();
    }

    /// Returns the findings of a file that are shown, with their ranges.
    pub(super) fn shown_in(&self, path: &RepoPath) -> impl Iterator<Item = (&Finding, &ShownPlace, &Diagnostic)> {
        let findings = self.review.as_ref().map_or(&[][..], |current| &current.review.findings);
        self.reports.get(path).into_iter().flat_map(move |report| {
            let rows = report.findings.iter().zip(&report.diagnostics);
            rows.filter_map(|((index, place), shown)| Some((findings.get(*index)?, place, shown)))
        })
    }

    /// Finds a finding of the review by its id.
    pub(super) fn finding(&self, id: &FindingId) -> Option<(&CurrentReview, &Finding)> {
        let current = self.review.as_ref()?;
        current.review.findings.iter().find(|finding| finding.id == *id).map(|finding| (current, finding))
    }

    /// Lists the findings that are shown, as `review/findings` does.
    pub(super) fn rows(&self) -> Value {
        let run = self.review.as_ref().map(|current| current.review.id.to_string());
        let all = self.reports.keys().flat_map(|path| self.shown_in(path));
        let rows: Vec<Value> = all.map(|(finding, place, _)| report::row(finding, place)).collect();
        json!({ "run": run, "findings": rows })
    }
}

/// The range of a place in a text: whole lines, from the first character of the first one; the beginning of the file if it has no lines.
fn range(place: &CurrentPlace, text: &str, features: ClientFeatures) -> Range {
    let Some(lines) = place.lines else { return Range { start: Position::new(0, 0), end: Position::new(0, 0) } };
    let wanted = usize::try_from(lines.start().saturating_sub(1)).unwrap_or(usize::MAX);
    let count = usize::try_from(lines.count()).unwrap_or(usize::MAX);
    let mut start: usize = text.split_inclusive('\n').take(wanted).map(str::len).sum();
    let quoted: usize = text[start..].split_inclusive('\n').take(count).map(str::len).sum();
    let end = start + text[start..start + quoted].trim_end_matches(['\n', '\r']).len();
    let indented = &text[start..end];
    start += indented.len() - indented.trim_start_matches([' ', '\t']).len();
    LineTable::new(text, features.unit).range(start..end)
}
