//! The review as SARIF 2.1.0, for code scanning and other readers of static analysis.
//!
//! Main item: [`PRESENTER`]. Findings are converted in `result`, their places in `place`, their rules in `rules`, the run's notifications
//! in `notice`; `text` sanitizes texts, and `fit` keeps the file within limits. `docs/sarif.md` has the whole mapping. Section numbers (§)
//! are those of the OASIS standard, 2.1.0.
//!
//! A saved review gives the same bytes: data that only a fresh review has (hunks, languages) is not used here.

mod notice;
mod place;
mod result;
mod rules;
mod size_limits;
mod text;

use std::collections::BTreeMap;

use serde_json::{Value, json};
use serde_sarif::sarif::{
    Artifact, ArtifactLocation, PropertyBag, ReportingDescriptor, Result as SarifResult, Run, Sarif, Tool,
    ToolComponent, VersionControlDetails,
};

use super::{Presenter, RenderOptions, Syntax, digest};
use crate::domain::finding::{Finding, FindingStatus, Severity};
use crate::domain::review::Review;
use place::SarifLocations;
use rules::RuleDescriptors;

/// The presenter of this file.
pub(super) const PRESENTER: Presenter = Presenter { name: "sarif", extension: "sarif", syntax: Syntax::Json, render };

/// The schema that a file names (§3.13.3): the final one of the standard.
const SCHEMA: &str = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

fn render(review: &Review, _: &RenderOptions) -> Vec<u8> {
    size_limits::render_within(run(review), &size_limits::LIMITS).into_bytes()
}

/// A run, with the data for leaving parts of it out.
struct SarifDraft<'a> {
    review: &'a Review,
    /// Complete except for `results`, `artifacts`, `invocations` and the rules of its tool.
    run: Run,
    /// An incomplete review first, then the findings, worst first.
    results: Vec<SarifResult>,
    /// The number of results about the review itself.
    own: usize,
    /// For each result, the number of rules and artifacts that it and those before it name.
    named: Vec<(usize, usize)>,
    /// In the order in which results name them.
    rules: Vec<ReportingDescriptor>,
    /// Artifacts that results name, in that order, then the others.
    artifacts: Vec<Artifact>,
}

fn run(review: &Review) -> SarifDraft<'_> {
    let mut rules = RuleDescriptors::default();
    let mut places = SarifLocations::of(review);
    let mut findings: Vec<&Finding> = review.findings.iter().filter(|finding| !finding.status.is_over()).collect();
    findings.sort_by_key(|finding| finding.severity);
    let mut named = Vec::with_capacity(findings.len() + 1);
    let mut results: Vec<SarifResult> =
        result::render_unfinished(review, &mut rules, &mut places).into_iter().collect();
    let own = results.len();
    named.extend(results.iter().map(|_| (rules.count(), places.count())));
    for finding in findings {
        results.push(result::render_finding(finding, &mut rules, &mut places));
        named.push((rules.count(), places.count()));
    }
    let (artifacts, bases) = places.artifacts();

    let mut run = Run::builder().tool(tool(review)).build();
    run.column_kind = Some(json!("utf16CodeUnits"));
    run.language = Some("en-GB".to_owned());
    run.original_uri_base_ids = (!bases.is_empty()).then_some(bases);
    run.version_control_provenance = provenance(review).map(|details| vec![details]);
    run.properties = Some(properties(review));
    SarifDraft { review, run, results, own, named, rules: rules.descriptors(), artifacts }
}

fn tool(review: &Review) -> Tool {
    let mut driver = ToolComponent::builder().name("review").build();
    let version = text::line(&review.provenance.version);
    if text::is_semantic_version(&version) {
        driver.semantic_version = Some(version.clone());
    }
    driver.information_uri = option_env!("CARGO_PKG_REPOSITORY").filter(|page| !page.is_empty()).map(str::to_owned);
    driver.version = Some(version).filter(|version| !version.is_empty());
    driver.notifications = Some(notice::descriptors());
    Tool::builder().driver(driver).build()
}

/// Returns the source of the reviewed commit (§3.14.13). Known for pull requests only: other reviews know no URL.
fn provenance(review: &Review) -> Option<VersionControlDetails> {
    let pull = review.change.pull.as_ref()?;
    let address = format!("{}/{}", pull.server, pull.id.repo);
    let is_address = ["https://", "http://"].iter().any(|scheme| address.starts_with(scheme))
        && address.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._~:/[]@%".contains(&byte));
    if !is_address {
        return None;
    }
    let mut details = VersionControlDetails::builder().repository_uri(address).build();
    details.revision_id = review.change.head.map(|head| head.to_string());
    details.branch = Some(text::line(&review.change.head_name)).filter(|branch| !branch.is_empty());
    details.mapped_to = Some(ArtifactLocation::builder().uri_base_id(place::HEAD).build());
    Some(details)
}

/// Returns properties without a field in SARIF.
fn properties(review: &Review) -> PropertyBag {
    let (change, made) = (&review.change, &review.provenance);
    let maybe = |text: Option<&String>| text.map(|text| text::line(text));
    let hidden = |counts: &BTreeMap<Severity, u32>| -> BTreeMap<&str, u32> {
        counts.iter().map(|(severity, count)| (severity.word(), *count)).collect()
    };
    let count = |status| review.findings.iter().filter(|finding| finding.status == status).count();
    let refuted = Some(count(FindingStatus::Refuted)).filter(|count| *count > 0);
    // Without a model there are no turns to report.
    let asked = |value: Value| if made.turns > 0 { value } else { Value::Null };
    bag(
        [
            ("id", json!(review.id.to_string())),
            ("outcome", json!(review.outcome.as_str())),
            ("ended", json!(review.ended.as_str())),
            ("summary", json!(text::block(&review.summary))),
            ("repository", json!(text::line(&change.repository))),
            ("target", json!(text::line(&change.target))),
            ("headName", json!(text::line(&change.head_name))),
            ("base", json!(change.base.map(|id| id.to_string()))),
            ("head", json!(change.head.map(|id| id.to_string()))),
            ("mergeBase", json!(change.merge_base.map(|id| id.to_string()))),
            ("pullRequest", json!(change.pull.as_ref().map(|pull| text::line(&pull.url())))),
            ("engine", json!(made.engine.as_str())),
            ("provider", json!(maybe(made.provider.as_ref()))),
            ("model", json!(maybe(made.model.as_ref()))),
            ("prompts", json!(maybe(made.prompts.as_ref()))),
            ("rules", json!(maybe(made.rules.as_ref()))),
            ("turns", asked(json!(made.turns))),
            ("inputTokens", asked(json!(made.usage.input_tokens))),
            ("cacheReadTokens", asked(json!(made.usage.cache_read_tokens))),
            ("outputTokens", asked(json!(made.usage.output_tokens))),
            ("cost", asked(json!(digest::cost(made.usage)))),
            ("fixed", json!(count(FindingStatus::Fixed))),
            ("refuted", json!(refuted)),
            ("dismissed", json!(review.coverage.dismissed)),
            ("suppressed", json!(review.coverage.suppressed)),
            ("belowFloor", json!(hidden(&review.coverage.below_floor))),
            ("belowConfidence", json!(hidden(&review.coverage.below_confidence))),
        ],
        Vec::new(),
    )
}

/// Builds a property bag (§3.8); unknown values are left out.
fn bag<const N: usize>(properties: [(&str, Value); N], tags: Vec<String>) -> PropertyBag {
    let known = properties.into_iter().filter(|(_, value)| !value.is_null() && value.as_str() != Some(""));
    let known: BTreeMap<String, Value> = known.map(|(key, value)| (key.to_owned(), value)).collect();
    let mut bag = PropertyBag::builder().additional_properties(known).build();
    bag.tags = (!tags.is_empty()).then_some(tags);
    bag
}

/// Builds the file (§3.13).
fn log(run: Run) -> Sarif {
    let mut log = Sarif::builder().version(json!("2.1.0")).runs(vec![run]).build();
    log.schema = Some(SCHEMA.to_owned());
    log
}

#[cfg(test)]
mod tests;
