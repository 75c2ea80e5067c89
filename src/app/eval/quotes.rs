//! The lines that were quoted for the findings of a run, as its journal has them. Main type: [`ReportedQuotes`].
//!
//! The engine makes the places of a review from them; here they are read as they were reported, so that the two can be compared.

use serde_json::Value;

use crate::domain::claim::Claim;
use crate::domain::finding::Finding;
use crate::domain::run::RunId;
use crate::domain::text::FileText;
use crate::evidence::{QuoteLocation, locate};
use crate::llm::{ModelToolCall, ToolInput};
use crate::review::{JOURNAL, JournalRecord, read_journal};
use crate::store::Store;

/// The quotes of a run.
#[derive(Debug, Default)]
pub(super) struct ReportedQuotes(Vec<ReportedQuote>);

/// The lines quoted in one report, or in the verdict of a verification.
#[derive(Debug)]
struct ReportedQuote {
    /// The title; a verdict has none.
    title: Option<String>,
    /// The file; a verdict may leave it out.
    path: Option<String>,
    quote: String,
}

impl ReportedQuotes {
    /// Reads the quotes of a run; none if it has no journal, as a run of the rules, or one that cannot be read.
    pub(super) fn read(store: &Store, run: RunId) -> Self {
        let entries = store.read(run, JOURNAL).ok().and_then(|bytes| read_journal(&bytes).ok()).unwrap_or_default();
        let quotes = entries.iter().flat_map(|entry| match &entry.record {
            JournalRecord::Answer { response, .. } => response.calls().filter_map(ReportedQuote::of_call).collect(),
            JournalRecord::Rules(rules) => rules.claims.iter().filter_map(ReportedQuote::of_claim).collect(),
            _ => Vec::new(),
        });
        Self(quotes.collect())
    }

    /// Checks whether the place where a finding is shown has lines that were quoted for it; `None` if no quote is known.
    ///
    /// Of two reports that are merged one may quote more lines than the other, and more than are shown.
    pub(super) fn is_shown_by(&self, finding: &Finding) -> Option<bool> {
        let shown = finding.anchors.first().filter(|anchor| anchor.lines.is_some() && !self.0.is_empty())?;
        let path = shown.path.display_name();
        let has_title =
            |quote: &ReportedQuote| quote.title.as_deref().is_some_and(|title| is_same(title, &finding.title));
        // A title that was cut, or rid of labels, is that of no report: then any of the file will do.
        let is_titled = self.0.iter().any(has_title);
        let quotes = self.0.iter().filter(|quote| !is_titled || quote.title.is_none() || has_title(quote));
        let mut of_file = quotes.filter(|quote| quote.path.as_deref().is_none_or(|named| named == path));
        Some(of_file.any(|quote| has_lines(&shown.quote, &quote.quote) || has_lines(&quote.quote, &shown.quote)))
    }
}

impl ReportedQuote {
    fn of_call(call: &ModelToolCall) -> Option<Self> {
        let ToolInput::Object(input) = &call.input else { return None };
        let field = |name: &str| input.get(name).and_then(Value::as_str).map(str::to_owned);
        let path = field("file_path").or_else(|| field("path"));
        Some(Self { title: field("title"), path, quote: field("quote")? })
    }

    fn of_claim(claim: &Claim) -> Option<Self> {
        let path = claim.place.path.display_name().into_owned();
        Some(Self { title: Some(claim.title.clone()), path: Some(path), quote: claim.place.quote.clone()? })
    }
}

/// Checks whether a text has the lines of a quote.
fn has_lines(text: &str, quote: &str) -> bool {
    let found = locate(&FileText::new(text, "UTF-8"), quote, None);
    !matches!(found, QuoteLocation::Nowhere { .. } | QuoteLocation::Empty)
}

/// Checks whether two titles are equal but for white space.
fn is_same(a: &str, b: &str) -> bool {
    a.split_whitespace().eq(b.split_whitespace())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::finding::{
        Anchor, AnchorMatch, Category, FindingFingerprint, FindingId, FindingOrigin, FindingStatus,
        FindingVerification, OriginKind, Prominence, Severity,
    };
    use crate::domain::path::RepoPath;
    use crate::domain::place::{DiffSide, LineRange};

    const TEXT: &str = "def bill(items):\n    cents = total(items)\n    return cents / 100\n";

    fn shown_at(title: &str, path: &str, line: u32) -> Finding {
        let path = RepoPath::parse(path).unwrap();
        let (lines, text) = (LineRange::line(line), FileText::new(TEXT, "UTF-8"));
        Finding {
            id: FindingId("F1".to_owned()),
            fingerprint: FindingFingerprint("f".to_owned()),
            status: FindingStatus::New,
            title: title.to_owned(),
            body: String::new(),
            severity: Severity::High,
            prominence: Prominence::Main,
            category: Category::Logic,
            confidence: None,
            anchors: vec![Anchor::at_lines(path, DiffSide::New, lines, &text, AnchorMatch::Exact)],
            suggestion: None,
            verification: FindingVerification::UNCHECKED,
            carried_from: None,
            dismissed: None,
            origin: FindingOrigin { kind: OriginKind::Model, name: "m".to_owned() },
            guideline: None,
        }
    }

    fn quote(title: Option<&str>, path: Option<&str>, quote: &str) -> ReportedQuote {
        ReportedQuote { title: title.map(str::to_owned), path: path.map(str::to_owned), quote: quote.to_owned() }
    }

    #[test]
    fn a_finding_is_held_against_the_quote_of_its_own_report() {
        let quotes = ReportedQuotes(vec![
            quote(Some("Cents are divided"), Some("bill.py"), "    return cents / 100"),
            quote(Some("Another defect"), Some("bill.py"), "def bill(items):\n    cents = total(items)"),
        ]);
        assert_eq!(quotes.is_shown_by(&shown_at("Cents  are divided", "bill.py", 3)), Some(true));
        assert_eq!(quotes.is_shown_by(&shown_at("Cents are divided", "bill.py", 2)), Some(false));
        assert_eq!(quotes.is_shown_by(&shown_at("Cents are divided", "price.py", 3)), Some(false));
        // Under a title that no report has, any quote of the file will do.
        assert_eq!(quotes.is_shown_by(&shown_at("Cents are…", "bill.py", 2)), Some(true));
        assert_eq!(quotes.is_shown_by(&shown_at("Another defect", "bill.py", 2)), Some(true));
        assert_eq!(quotes.is_shown_by(&shown_at("Another defect", "bill.py", 3)), Some(false));
        assert_eq!(quotes.is_shown_by(&shown_at("Cents are…", "price.py", 2)), Some(false));
    }

    #[test]
    fn a_verdict_may_correct_the_place_and_without_quotes_nothing_is_known() {
        let report = quote(Some("Cents are divided"), Some("bill.py"), "    return cents / 100");
        let quotes = ReportedQuotes(vec![report, quote(None, None, "def bill(items):")]);
        assert_eq!(quotes.is_shown_by(&shown_at("Cents are divided", "bill.py", 1)), Some(true));
        assert_eq!(ReportedQuotes::default().is_shown_by(&shown_at("Cents are divided", "bill.py", 1)), None);
    }
}
