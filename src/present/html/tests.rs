//! Pages as a browser would read them, with hostile texts in every field.

use std::collections::HashMap;
use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::domain::change::{ChangeSet, Hunk, HunkSpan};
use crate::domain::finding::{
    CorrectedField, DismissalNote, DismissedBy, FindingCorrection, FindingId, FindingStatus, GuidelineRef, Prominence,
    VerificationState,
};
use crate::domain::forge::{PullId, PullNumber, RepoName, ReviewedPull};
use crate::domain::path::RepoPath;
use crate::domain::review::{CoverageState, Review, ReviewOutcome, ReviewSection, WithheldClaim};
use crate::present::{RenderOptions, json};

fn review(document: &[u8]) -> Review {
    json::parse(document).unwrap()
}

fn typical() -> Review {
    review(include_bytes!("../../../fixtures/documents/typical.json"))
}

fn rendered(review: &Review) -> String {
    String::from_utf8((PRESENTER.render)(review, &RenderOptions::default())).unwrap()
}

/// The page without its style and script.
fn body(page: &str) -> String {
    page.replace(STYLE, "").replace(SCRIPT, "").replace(POLICY.as_str(), "").replace(&escape(&POLICY), "")
}

fn tone_of(review: &Review) -> String {
    let page = rendered(review);
    let class = page.split("<section class=\"outcome ").nth(1).unwrap();
    class.split('"').next().unwrap().to_owned()
}

#[test]
fn a_small_review_is_one_page() {
    let mut review = typical();
    review.findings.truncate(2);
    review.findings[1].prominence = Prominence::Also;
    review.coverage.files.truncate(2);
    let change = Arc::make_mut(&mut review.change);
    change.files.truncate(2);
    change.commits.truncate(1);
    let quote = &review.findings[0].anchors[0];
    let first = quote.lines.unwrap().start();
    let text: Vec<String> = quote.quote.split('\n').map(|line| format!("+{line}\n")).collect();
    change.files[0].patch.text = format!("@@ -0,0 +{first},9 @@\n{}", text.concat()).into();
    assert_eq!(change.files[0].path, quote.path);
    insta::assert_snapshot!(body(&rendered(&review)));
}

#[test]
fn the_policy_allows_the_script_and_the_style_of_the_page_and_nothing_else() {
    let page = rendered(&typical());
    assert_eq!(page.matches("<script").count(), 1);
    assert_eq!(page.matches("<style").count(), 1);
    assert_eq!(page.matches(" style=").count(), 0);
    for (element, asset) in [("script", SCRIPT), ("style", STYLE)] {
        let embedded =
            page.split(&format!("<{element}>")).nth(1).unwrap().split(&format!("</{element}>")).next().unwrap();
        assert_eq!(embedded, asset);
        let hash = STANDARD.encode(Sha256::digest(embedded));
        assert!(page.contains(&escape(&format!("{element}-src 'sha256-{hash}'"))), "{element}");
    }
    assert!(page.find("Content-Security-Policy").unwrap() < page.find("<style").unwrap());
    assert!(page.contains("content=\"default-src &#x27;none&#x27;;"));
    assert!(!SCRIPT.contains("innerHTML") && !SCRIPT.contains("fetch(") && !SCRIPT.contains("eval("));
    assert!(!STYLE.contains("url(") && !STYLE.contains("@import"));
}

#[test]
fn no_outcome_looks_better_than_it_is() {
    assert_eq!(tone_of(&review(include_bytes!("../../../fixtures/documents/incomplete.json"))), "partial");
    assert_eq!(tone_of(&review(include_bytes!("../../../fixtures/documents/failed.json"))), "failed");
    let mut review = typical();
    assert_eq!(tone_of(&review), "plain", "it has findings");
    review.findings.clear();
    review.coverage.below_floor.clear();
    review.coverage.limits_hit.clear();
    for file in &mut review.coverage.files {
        (file.state, file.reason) = (CoverageState::Checked, None);
    }
    assert_eq!(tone_of(&review), "good");
    review.coverage.notes.push("legacy/a.py: excluded by --include/--exclude".to_owned());
    assert_eq!(tone_of(&review), "plain", "something was left out");
    review.coverage.notes.clear();
    review.coverage.uncommitted = 1;
    assert_eq!(tone_of(&review), "plain");
    review.coverage.uncommitted = 0;
    review.coverage.files[0].state = CoverageState::Truncated;
    assert_eq!(tone_of(&review), "plain");
    review.coverage.files.clear();
    assert_eq!(tone_of(&review), "plain", "nothing was reviewed");
}

#[test]
fn gaps_and_reasons_are_above_the_findings() {
    let page = rendered(&review(include_bytes!("../../../fixtures/documents/incomplete.json")));
    let findings = page.find("data-group").unwrap_or(page.len());
    for text in ["Incomplete: ", "Not covered, or only in part", "class=\"reasons\""] {
        assert!(page.find(text).is_some_and(|at| at < findings), "{text}");
    }
}

#[test]
fn diffs_that_have_no_room_are_counted_out() {
    let mut review = typical();
    let change = Arc::make_mut(&mut review.change);
    let line = format!("+{}\n", "x".repeat(1000));
    for file in &mut change.files {
        file.patch.text = format!("@@ -0,0 +1,2000 @@\n{}", line.repeat(2000)).into();
    }
    let page = rendered(&review);
    assert!(page.len() < 9 << 20, "{}", page.len());
    assert_eq!(page.matches("The diff is left out").count(), change_files(&review) - 3);
    let with_findings = format!("id=\"file-{}\"", 1);
    let first = page.split(&with_findings).nth(1).unwrap().split("</details>").next().unwrap();
    assert!(first.contains("class=\"code both\""), "a file with findings has its diff first");
}

fn change_files(review: &Review) -> usize {
    review.change.files.len()
}

/// A review in which every text of others is `text`.
fn poisoned(text: &str) -> Review {
    let mut review = typical();
    let own = || text.to_owned();
    let path = |at: usize| RepoPath::from_bytes(format!("{at}{text}").as_bytes()).ok();
    review.outcome = ReviewOutcome::Incomplete;
    review.reasons = vec![own()];
    review.summary = own();
    review.sections = vec![ReviewSection { title: own(), body: own() }];
    poison_change(Arc::make_mut(&mut review.change), text);
    let states = [FindingStatus::New, FindingStatus::Dismissed, FindingStatus::Fixed];
    for (at, finding) in review.findings.iter_mut().enumerate() {
        finding.status = states[at % 3];
        finding.id = FindingId(own());
        (finding.title, finding.body, finding.origin.name) = (own(), own(), own());
        for anchor in &mut finding.anchors {
            anchor.quote = own();
            if let Some(path) = path(at) {
                anchor.path = path;
            }
        }
        if let Some(suggestion) = &mut finding.suggestion {
            suggestion.replacement = own();
            suggestion.path = path(at).unwrap_or_else(|| suggestion.path.clone());
        }
        finding.verification.state = VerificationState::Uncertain;
        (finding.verification.by, finding.verification.rationale) = (Some(own()), Some(own()));
        finding.verification.corrections =
            vec![FindingCorrection { field: CorrectedField::Body, was: own(), now: own() }];
        finding.guideline = path(at).map(|path| GuidelineRef { path, line: 1 });
        finding.dismissed = Some(DismissalNote { reason: own(), until: None, by: DismissedBy::Reader });
    }
    let coverage = &mut review.coverage;
    for (at, file) in coverage.files.iter_mut().enumerate() {
        (file.state, file.reason) = (CoverageState::Skipped, Some(own()));
        file.path = path(at).unwrap_or_else(|| file.path.clone());
    }
    coverage.withheld = vec![WithheldClaim { title: own(), reason: own() }];
    (coverage.limits_hit, coverage.notes) = (vec![own()], vec![own()]);
    let provenance = &mut review.provenance;
    (provenance.provider, provenance.model) = (Some(own()), Some(own()));
    (provenance.started_at, provenance.version) = (own(), own());
    review
}

fn poison_change(change: &mut ChangeSet, text: &str) {
    let own = || text.to_owned();
    (change.repository, change.target, change.head_name) = (own(), own(), own());
    change.pull = Some(ReviewedPull {
        id: PullId { repo: RepoName::new("o", "r").unwrap(), number: PullNumber::new(1).unwrap() },
        server: own(),
        title: own(),
        body: own(),
        author: Some(own()),
    });
    for commit in &mut change.commits {
        (commit.subject, commit.body, commit.author, commit.date) = (own(), own(), own(), own());
    }
    for (at, file) in change.files.iter_mut().enumerate() {
        if let Ok(path) = RepoPath::from_bytes(format!("{at}{text}").as_bytes()) {
            (file.old_path, file.path) = (Some(path.clone()), path);
        }
        let span = HunkSpan { start: 1, count: 9 };
        file.hunks = vec![Hunk { old: span, new: span, runs: Vec::new() }];
        file.patch.text = format!("@@ -1,9 +1,9 @@ {text}\n+{text}\n {text}\n-{text}\n").into();
    }
}

/// An element: its name and its attributes.
type Element = (String, HashMap<String, String>);

/// Parses a page as strictly as nobody writes HTML: every element is one of ours and closed, every value is in double quotes.
fn parse(page: &str) -> Result<Vec<Element>, String> {
    const EMPTY: [&str; 4] = ["meta", "br", "hr", "input"];
    const OURS: &str = " a article blockquote body button code dd details dialog div dl dt em fieldset figcaption figure footer form h1 h2 h3 \
         head header html kbd label legend li main nav ol option output p pre script section select span strong style summary table tbody \
         td th thead title tr ul ";
    let mut elements = Vec::new();
    let mut open: Vec<&str> = Vec::new();
    let mut rest = page.strip_prefix("<!doctype html>").ok_or("no doctype")?;
    while let Some(at) = rest.find('<') {
        let text = &rest[..at];
        if text.contains('>') {
            return Err(format!("a loose > in {text:?}"));
        }
        let tag = rest[at + 1..].split('>').next().unwrap();
        rest = &rest[at + tag.len() + 2..];
        if let Some(name) = tag.strip_prefix('/') {
            let last = open.pop();
            if last != Some(name) {
                return Err(format!("</{name}> closes {last:?}"));
            }
            continue;
        }
        let name = tag.split([' ', '\n']).next().unwrap();
        if !OURS.contains(&format!(" {name} ")) && !EMPTY.contains(&name) {
            return Err(format!("<{tag}> is none of ours"));
        }
        if !EMPTY.contains(&name) {
            open.push(name);
        }
        elements.push((name.to_owned(), attributes(&tag[name.len()..])?));
    }
    if open.is_empty() { Ok(elements) } else { Err(format!("{open:?} stay open")) }
}

fn attributes(text: &str) -> Result<HashMap<String, String>, String> {
    let mut found = HashMap::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_lowercase() && c != '-').unwrap_or(rest.len());
        let (name, after) = rest.split_at(end);
        let (value, after) = match after.strip_prefix("=\"") {
            Some(quoted) => quoted.split_once('"').ok_or_else(|| format!("{text:?} does not end"))?,
            None => ("", after),
        };
        if name.is_empty() || !(after.is_empty() || after.starts_with([' ', '\n'])) {
            return Err(format!("{text:?} is not attributes of ours"));
        }
        found.insert(name.to_owned(), value.to_owned());
        rest = after.trim_start();
    }
    Ok(found)
}

/// Checks that a page has our elements only, none of which loads anything or runs a text of others.
fn check(page: &str) -> Result<(), String> {
    const LOADING: [&str; 12] = [
        "src",
        "srcset",
        "data",
        "action",
        "formaction",
        "poster",
        "background",
        "ping",
        "manifest",
        "style",
        "srcdoc",
        "xlink",
    ];
    for (name, attributes) in parse(&body(page))? {
        for (attribute, value) in &attributes {
            let is_link = attribute != "href"
                || name == "a"
                    && (value.starts_with('#') || value.starts_with("https://"))
                    && (value.starts_with('#') || attributes.get("rel").is_some_and(|rel| rel.contains("noopener")));
            if LOADING.contains(&attribute.as_str()) || attribute.starts_with("on") || !is_link {
                return Err(format!("<{name} {attribute}={value:?}>"));
            }
        }
    }
    Ok(())
}

#[test]
fn the_checks_of_these_tests_find_what_they_look_for() {
    let page = |body: &str| format!("<!doctype html><html>{body}</html>");
    assert_eq!(check(&page("<p class=\"a\">x</p>")), Ok(()));
    for bad in [
        "<script>x</script",
        "<img src=\"x\">",
        "<p onclick=\"x\"></p>",
        "<p class=a></p>",
        "<a href=\"javascript:x\">y</a>",
        "<a href=\"https://e.example\">y</a>",
        "<p>",
        "<p></div>",
        "a > b",
    ] {
        assert!(check(&page(bad)).is_err(), "{bad}");
    }
}

#[test]
fn every_document_of_the_fixtures_is_a_page() {
    for document in [
        &include_bytes!("../../../fixtures/documents/typical.json")[..],
        include_bytes!("../../../fixtures/documents/hostile.json"),
        include_bytes!("../../../fixtures/documents/incomplete.json"),
        include_bytes!("../../../fixtures/documents/failed.json"),
        include_bytes!("../../../fixtures/documents/empty.json"),
    ] {
        assert_eq!(check(&rendered(&review(document))), Ok(()));
    }
}

#[test]
fn an_address_of_a_pull_request_is_a_link_only_over_tls() {
    let mut review = poisoned("https://forge.example");
    assert!(rendered(&review).contains("<a href=\"https://forge.example/o/r/pull/1\" rel=\"noopener noreferrer\">"));
    for server in ["http://forge.example", "javascript:alert(1)//", "https://a b", "//forge.example"] {
        Arc::make_mut(&mut review.change).pull.as_mut().unwrap().server = server.to_owned();
        let page = rendered(&review);
        assert_eq!(check(&page), Ok(()));
        assert!(!page.contains("pull/1\" rel"), "{server}");
    }
}

fn hostile() -> impl Strategy<Value = String> {
    let pieces = proptest::sample::select(vec![
        "<script>alert(1)</script>",
        "</script>",
        "</style>",
        "</pre>",
        "</details>",
        "<!--",
        "-->",
        "]]>",
        "\"",
        "'",
        "`",
        "\" onfocus=\"x",
        "' onfocus='x",
        "<img src=x onerror=alert(1)>",
        "[a](javascript:alert(1))",
        "![a](http://e.example/x.png)",
        "<https://e.example>",
        "&lt;script&gt;",
        "&#60;b&#62;",
        "{{ 7*7 }}",
        "{% raw %}",
        "<svg/onload=alert(1)>",
        "\u{202e}",
        "\x1b]8;;http://e.example\x07",
        "\0",
        "\n",
        "\n\n",
        "- ",
        "> ",
        "# ",
        "```",
        "    ",
        "*",
        "_",
        "@@ -1 +1 @@",
        "a",
        "<a href=x>",
        "<math><mi//xlink:href=\"data:x\">",
    ]);
    proptest::collection::vec(prop_oneof![pieces.prop_map(str::to_owned), any::<String>()], 1..12)
        .prop_map(|all| all.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn no_text_of_others_is_markup_in_any_field(text in hostile()) {
        let page = rendered(&poisoned(&text));
        prop_assert_eq!(check(&page), Ok(()));
        prop_assert!(!page.contains("could not be rendered"));
        let is_hidden = |c: char| matches!(c, '\0' | '\x1b' | '\u{202e}');
        prop_assert!(!page.contains(is_hidden));
        let size = body(&page).len();
        prop_assert!(size < 400 * (text.len() + 200), "{}", size);
    }
}
