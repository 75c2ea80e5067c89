//! Checks the file against the standard's schema and against the review.

mod any;
mod places;

use std::collections::HashSet;
use std::sync::{Arc, LazyLock};

use serde_json::Value;

use super::*;
use crate::domain::change::FileChange;
use crate::domain::finding::{Anchor, AnchorMatch, Category, FindingOrigin, OriginKind, Severity};
use crate::domain::forge::{PullSpecifier, ReviewedPull};
use crate::domain::path::RepoPath;
use crate::domain::percent::decode;
use crate::domain::place::{DiffSide, LineRange};
use crate::domain::review::WithheldClaim;
use crate::domain::text::is_invisible;
use crate::present::json as document;

const DOCUMENTS: [(&str, &[u8]); 5] = [
    ("typical", include_bytes!("../../../../fixtures/documents/typical.json")),
    ("incomplete", include_bytes!("../../../../fixtures/documents/incomplete.json")),
    ("failed", include_bytes!("../../../../fixtures/documents/failed.json")),
    ("empty", include_bytes!("../../../../fixtures/documents/empty.json")),
    ("hostile", include_bytes!("../../../../fixtures/documents/hostile.json")),
];

/// The schema as corrected in errata 01: the pattern of a language is not a regular expression there, and a region could be empty.
static SCHEMA: LazyLock<jsonschema::Validator> = LazyLock::new(|| {
    let schema = include_str!("../../../../fixtures/schemas/sarif-2.1.0.json");
    let (broken, corrected) = ("^[a-zA-Z]{2}|^[a-zA-Z]{2}-[a-zA-Z]{2}]?$", "^[a-zA-Z]{2}(-[a-zA-Z]{2})?$");
    assert_eq!(schema.matches(broken).count(), 2);
    let mut schema: Value = serde_json::from_str(&schema.replace(broken, corrected)).unwrap();
    let starts = ["startLine", "charOffset", "byteOffset"].map(|start| json!({ "required": [start] }));
    schema["definitions"]["region"]["anyOf"] = json!(starts);
    jsonschema::options().should_validate_formats(true).build(&schema).unwrap()
});

fn review(name: &str) -> Review {
    let (_, document) = DOCUMENTS.iter().find(|(known, _)| *known == name).unwrap();
    document::parse(document).unwrap()
}

/// Returns the file as a value, after checking it against the schema and beyond.
fn checked(review: &Review) -> Value {
    let bytes = render(review, &RenderOptions::default());
    let text = String::from_utf8(bytes).unwrap();
    let hidden = |c: char| (c.is_control() && c != '\n') || is_invisible(c);
    assert!(!text.contains(hidden), "something in the file cannot be seen");
    let file: Value = serde_json::from_str(&text).unwrap();
    let faults: Vec<String> =
        SCHEMA.iter_errors(&file).map(|fault| format!("{}: {fault}", fault.instance_path())).collect();
    assert!(faults.is_empty(), "{faults:#?}");
    references_hold(&file["runs"][0]);
    file
}

/// Checks that every index resolves to its item, every link to a place, every URI to a root.
fn references_hold(run: &Value) {
    let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
    let ids: HashSet<&str> = rules.iter().map(|rule| rule["id"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), rules.len(), "rules with the same id");
    for rule in rules {
        for text in ["shortDescription", "fullDescription", "help"] {
            let text = rule[text]["text"].as_str().unwrap();
            assert!(!text.is_empty() && text.chars().count() <= 1024, "{text}");
        }
        let tags = rule["properties"]["tags"].as_array().unwrap();
        assert!((1..=10).contains(&tags.len()));
        let is_security = tags.contains(&"security".into());
        assert_eq!(is_security, rule["properties"]["security-severity"].is_string(), "{rule}");
    }
    for result in run["results"].as_array().unwrap() {
        let rule = &rules[usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap()];
        assert_eq!(rule["id"], result["ruleId"]);
        assert!(result["suppressions"].is_array() && result["baselineState"].is_string());
        let text = result["message"]["text"].as_str().unwrap();
        let related: Vec<i64> =
            result["relatedLocations"].as_array().into_iter().flatten().map(|at| at["id"].as_i64().unwrap()).collect();
        for (at, _) in text.match_indices("](") {
            let target = text[at + 2..].split(')').next().unwrap();
            assert!(related.contains(&target.parse().unwrap()), "{target} is no place of {text}");
        }
        assert_eq!(result["locations"].as_array().unwrap().len(), 1);
        assert!(result["locations"][0]["physicalLocation"]["region"]["startLine"].as_u64().unwrap() > 0);
    }
    addresses_hold(run, run);
}

fn addresses_hold(run: &Value, value: &Value) {
    match value {
        Value::Array(values) => values.iter().for_each(|value| addresses_hold(run, value)),
        Value::Object(fields) => {
            if let (Some(uri), Some(root)) = (fields.get("uri"), fields.get("uriBaseId")) {
                assert!(run["originalUriBaseIds"][root.as_str().unwrap()].is_object(), "{root} is not told");
                let (bytes, whole) = decode(uri.as_str().unwrap());
                assert!(whole && RepoPath::from_bytes(&bytes).is_ok(), "{uri}");
                if let Some(index) = fields.get("index") {
                    let artifact = &run["artifacts"][usize::try_from(index.as_u64().unwrap()).unwrap()];
                    assert_eq!((&artifact["location"]["uri"], &artifact["location"]["uriBaseId"]), (uri, root));
                }
            }
            fields.values().for_each(|value| addresses_hold(run, value));
        }
        _ => {}
    }
}

fn path(bytes: &[u8]) -> RepoPath {
    RepoPath::from_bytes(bytes).unwrap()
}

fn anchor(bytes: &[u8], side: DiffSide, lines: Option<(u32, u32)>, quote: &str) -> Anchor {
    Anchor {
        path: path(bytes),
        side,
        lines: lines.map(|(start, end)| LineRange::new(start, end).unwrap()),
        quote: quote.to_owned(),
        matched: AnchorMatch::Exact,
        masked: false,
    }
}

/// Returns a review with one finding, made from the first of the typical one.
fn with(change: impl FnOnce(&mut Finding)) -> Review {
    let mut review = review("typical");
    review.findings.truncate(1);
    change(&mut review.findings[0]);
    review
}

fn result(review: &Review) -> Value {
    checked(review)["runs"][0]["results"][0].take()
}

#[test]
fn every_document_is_by_the_schema() {
    for (name, _) in DOCUMENTS {
        checked(&review(name));
    }
}

#[test]
fn the_schema_sees_a_fault() {
    let mut file = checked(&review("typical"));
    file["runs"][0]["results"][0]["message"] = "text".into();
    assert!(!SCHEMA.is_valid(&file));
    let mut file = checked(&review("typical"));
    file["runs"][0]["results"][0]["baselineState"] = "fixed".into();
    assert!(!SCHEMA.is_valid(&file));
}

#[test]
fn a_review_that_is_not_complete_did_not_succeed() {
    for (name, succeeded) in [("typical", true), ("empty", true), ("incomplete", false), ("failed", false)] {
        let review = review(name);
        let file = checked(&review);
        let invocation = &file["runs"][0]["invocations"][0];
        assert_eq!(invocation["executionSuccessful"], succeeded, "{name}");
        let notes = invocation["toolExecutionNotifications"].as_array().unwrap();
        let errors: Vec<&str> = notes
            .iter()
            .filter(|note| note["level"] == "error")
            .map(|note| note["message"]["text"].as_str().unwrap())
            .collect();
        assert_eq!(errors.is_empty(), succeeded, "{name}: {errors:?}");
        for reason in &review.reasons {
            assert!(succeeded || errors.contains(&text::sentence(reason).as_str()), "{name}: {reason} is not told");
        }
        assert_eq!(file["runs"][0]["properties"]["outcome"], review.outcome.as_str());
        let results = file["runs"][0]["results"].as_array().unwrap();
        let shown = review.findings.iter().filter(|finding| !finding.status.is_over()).count();
        assert_eq!(results.len(), shown + usize::from(!succeeded), "{name}");
        if !succeeded {
            let rule = format!("review/{}", review.outcome.as_str());
            assert_eq!((&results[0]["ruleId"], &results[0]["level"]), (&rule.into(), &"error".into()));
            assert_eq!(results[0]["properties"]["id"], review.id.to_string());
        }
    }
}

#[test]
fn what_was_hidden_is_counted() {
    let mut review = review("typical");
    review.coverage.below_floor.insert(Severity::Low, 3);
    review.coverage.below_confidence.insert(Severity::High, 1);
    review.coverage.suppressed = 2;
    review.coverage.dismissed = 4;
    review.coverage.withheld =
        vec![WithheldClaim { title: "A\u{1b}[31m [x](http://evil.example/)".to_owned(), reason: "gone".to_owned() }];
    let file = checked(&review);
    let run = &file["runs"][0];
    assert_eq!(run["properties"]["belowFloor"]["low"], 3);
    assert_eq!(run["properties"]["belowConfidence"]["high"], 1);
    assert_eq!((&run["properties"]["suppressed"], &run["properties"]["dismissed"]), (&2.into(), &4.into()));
    let said = run["invocations"][0]["toolExecutionNotifications"].to_string();
    for part in ["3 low", "2 findings by a comment in the code", "A [x] (http://evil.example/)"] {
        assert!(said.contains(part), "{part}: {said}");
    }
}

#[test]
fn texts_of_a_model_are_not_links_and_not_placeholders() {
    let review = with(|finding| {
        finding.title = "Use [this](http://evil.example/) {0}\u{1b}[31m\u{202e}".to_owned();
        finding.body = "See [that](1)\n\n![i](http://evil.example/i.png) {1} <img src=x> @octo".to_owned();
        finding.anchors.truncate(1);
        finding.guideline = None;
    });
    let message = &result(&review)["message"];
    assert_eq!(
        message["text"],
        "Use [this] (http://evil.example/) { 0}<U+202E>.\n\nSee [that] (1)\n\n![i] (http://evil.example/i.png) { 1} <img src=x> @octo"
    );
    let marked = message["markdown"].as_str().unwrap();
    assert!(!marked.contains("](") && !marked.contains("<img") && !marked.contains("{1}"), "{marked}");
}

#[test]
fn a_dismissed_finding_is_suppressed_and_a_fixed_one_is_gone() {
    let mut review = review("typical");
    let mut count = 0;
    for (status, state) in [
        (FindingStatus::New, "new"),
        (FindingStatus::Open, "unchanged"),
        (FindingStatus::Reopened, "new"),
        (FindingStatus::Dismissed, "unchanged"),
    ] {
        review.findings.truncate(1);
        review.findings[0].status = status;
        let result = result(&review);
        assert_eq!(result["baselineState"], state);
        let suppressions = result["suppressions"].as_array().unwrap();
        assert_eq!(suppressions.len(), usize::from(status == FindingStatus::Dismissed));
        count += suppressions.len();
    }
    assert_eq!(count, 1);
    review.findings[0].status = FindingStatus::Fixed;
    let file = checked(&review);
    assert_eq!(file["runs"][0]["results"], json!([]));
    assert_eq!(file["runs"][0]["properties"]["fixed"], 1);
    review.findings[0].status = FindingStatus::Refuted;
    let file = checked(&review);
    assert_eq!(file["runs"][0]["results"], json!([]), "a refuted one is gone too");
    let properties = &file["runs"][0]["properties"];
    assert_eq!((&properties["fixed"], &properties["refuted"]), (&json!(0), &json!(1)));
}

#[test]
fn weaknesses_have_a_rule_for_each_severity_and_nothing_else_does() {
    let mut review = review("typical");
    let model = |category: Category, severity: Severity| {
        let mut finding = review.findings[0].clone();
        finding.origin = FindingOrigin { kind: OriginKind::Model, name: "some/model".to_owned() };
        (finding.category, finding.severity) = (category, severity);
        finding
    };
    let findings = vec![
        model(Category::Security, Severity::Low),
        model(Category::Security, Severity::Critical),
        model(Category::AccessControl, Severity::High),
        model(Category::Logic, Severity::Critical),
        model(Category::Logic, Severity::Nit),
    ];
    review.findings = findings;
    let file = checked(&review);
    let rules = file["runs"][0]["tool"]["driver"]["rules"].as_array().unwrap();
    let rows: Vec<(&str, Option<&str>)> = rules
        .iter()
        .map(|rule| (rule["id"].as_str().unwrap(), rule["properties"]["security-severity"].as_str()))
        .collect();
    assert_eq!(
        rows,
        [
            ("review/security/critical", Some("9.5")),
            ("review/logic", None),
            ("review/access_control/high", Some("8.0")),
            ("review/security/low", Some("2.0")),
        ]
    );
    let levels: Vec<&str> =
        file["runs"][0]["results"].as_array().unwrap().iter().map(|result| result["level"].as_str().unwrap()).collect();
    assert_eq!(levels, ["error", "error", "error", "note", "note"]);
}

#[test]
fn that_a_review_is_not_complete_is_never_left_out() {
    let mut review = review("incomplete");
    review.findings[0].body = "word ".repeat(50_000);
    for limits in
        [size_limits::SarifLimits::of(1, 0, 10_000_000), size_limits::SarifLimits::of(25_000, 10_000, 100_000)]
    {
        let file: Value = serde_json::from_str(&size_limits::render_within(run(&review), &limits)).unwrap();
        references_hold(&file["runs"][0]);
        let results = file["runs"][0]["results"].as_array().unwrap();
        assert_eq!((results.len(), &results[0]["ruleId"]), (1, &"review/incomplete".into()));
    }
}

#[test]
fn a_pull_request_says_where_its_commit_is() {
    let review = review("typical");
    assert_eq!(checked(&review)["runs"][0]["versionControlProvenance"], Value::Null);
    let mut review = review;
    let change = Arc::make_mut(&mut review.change);
    let id = "octo/app#7".parse().unwrap();
    let PullSpecifier::Whole { id, .. } = id else { panic!() };
    change.pull = Some(ReviewedPull {
        id,
        server: "https://github.com".to_owned(),
        title: "T".to_owned(),
        body: String::new(),
        author: None,
    });
    let details = checked(&review)["runs"][0]["versionControlProvenance"][0].take();
    assert_eq!(details["repositoryUri"], "https://github.com/octo/app");
    assert_eq!(details["revisionId"], review.change.head.unwrap().to_string());
    Arc::make_mut(&mut review.change).pull.as_mut().unwrap().server = "javascript:x //".to_owned();
    assert_eq!(checked(&review)["runs"][0]["versionControlProvenance"], Value::Null);
}

#[test]
fn what_would_be_refused_is_left_out_from_the_least_severe_on_and_told() {
    let mut review = review("typical");
    let one = review.findings[0].clone();
    review.findings = (0..300)
        .map(|number| {
            let mut finding = one.clone();
            finding.severity = if number % 10 == 0 { Severity::High } else { Severity::Nit };
            finding.anchors[0].path = path(format!("f{number}.rs").as_bytes());
            finding
        })
        .collect();
    Arc::make_mut(&mut review.change).files =
        (0..900).map(|number| FileChange::modified(path(format!("g{number}.rs").as_bytes()))).collect();
    for limits in [
        size_limits::SarifLimits::of(40, 10, 10_000_000),
        size_limits::SarifLimits::of(25_000, 10_000, 100_000),
        size_limits::SarifLimits::of(25_000, 10_000, 30_000),
    ] {
        let text = size_limits::render_within(run(&review), &limits);
        assert!(text.len() <= limits.bytes(), "{}", text.len());
        let file: Value = serde_json::from_str(&text).unwrap();
        assert!(SCHEMA.is_valid(&file));
        references_hold(&file["runs"][0]);
        let results = file["runs"][0]["results"].as_array().unwrap();
        assert!(!results.is_empty() && results.len() < 300);
        let high = results.iter().filter(|result| result["level"] == "error").count();
        assert_eq!(high, results.len().min(30), "the worst stay");
        let said = file["runs"][0]["invocations"][0]["toolExecutionNotifications"].to_string();
        let left = format!("{} findings left out", 300 - results.len());
        assert!(said.contains(&left), "{left}: {said}");
        assert!(said.contains("left out of the list of artifacts"), "{said}");
    }
}
