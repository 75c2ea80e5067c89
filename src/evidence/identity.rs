//! Identity of findings: [`fingerprint`] identifies the subject of a finding, [`assign_ids`] derives unique ids.
//!
//! Matching with an earlier review belongs in callers; here only the text counts, so that the same defect gets the same id after lines
//! moved, a file was renamed or a title was reworded.

use std::collections::HashMap;

use sha2::{Digest as _, Sha256};

use crate::domain::finding::{Finding, FindingFingerprint, FindingId};
use crate::domain::id::{hash_part, hex};
use crate::domain::place::LineRange;
use crate::domain::text::{FileText, is_distinctive};

/// Length of a fingerprint, in hexadecimal digits.
const FINGERPRINT_DIGITS: usize = 32;
/// Length of an id, in hexadecimal digits.
const ID_DIGITS: usize = 12;
/// Maximum distance of a context line.
const CONTEXT_REACH: u32 = 50;

/// Hashes the subject of a finding.
///
/// `snippet` is the quoted text and `context` the distinctive lines around it ([`context_around`]), in all of which white space is
/// folded; `symbol` is the enclosing function or type, if known; `name` is the rule, or the category for findings of a model. The path,
/// the line numbers and the title do not count. 32 hexadecimal digits of a SHA-256.
pub fn fingerprint(snippet: &str, symbol: Option<&str>, context: [&str; 2], name: &str) -> FindingFingerprint {
    let mut hash = Sha256::new();
    for part in [name, symbol.unwrap_or_default(), snippet, context[0], context[1]] {
        hash_part(&mut hash, hash_folded(part));
    }
    FindingFingerprint(hex(&hash.finalize()[..FINGERPRINT_DIGITS / 2]))
}

fn hash_folded(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the nearest distinctive line above `lines` and the nearest below; empty if there is none within 50 lines.
pub fn context_around(text: &FileText, lines: LineRange) -> [&str; 2] {
    let telling = |number: u32| text.line(number).filter(|line| is_distinctive(line));
    let above = (lines.start().saturating_sub(CONTEXT_REACH)..lines.start()).rev().find_map(telling);
    let below = (lines.end().saturating_add(1)..=lines.end().saturating_add(CONTEXT_REACH)).find_map(telling);
    [above.unwrap_or_default(), below.unwrap_or_default()]
}

/// Yields the ids of findings with a fingerprint, the first one first.
pub fn candidate_ids(fingerprint: &FindingFingerprint) -> impl Iterator<Item = FindingId> {
    let stem: String = fingerprint.0.chars().take(ID_DIGITS).collect();
    (1u32..).map(move |count| FindingId(if count == 1 { stem.clone() } else { format!("{stem}-{count}") }))
}

/// Assigns ids from the fingerprints. If several findings share one, all but the first of them by path, line and title get an ordinal
/// (`-2`, `-3`, …); the order of the slice does not matter and is kept.
pub fn assign_ids(findings: &mut [Finding]) {
    let mut order: Vec<usize> = (0..findings.len()).collect();
    order.sort_by(|a, b| {
        let place =
            |finding: &Finding| finding.anchors.first().map(|anchor| (anchor.path.clone(), anchor.lines, anchor.side));
        let (a, b) = (&findings[*a], &findings[*b]);
        place(a).cmp(&place(b)).then_with(|| a.title.cmp(&b.title)).then_with(|| a.body.cmp(&b.body))
    });
    let mut seen: HashMap<String, usize> = HashMap::new();
    for index in order {
        let finding = &mut findings[index];
        let stem: String = finding.fingerprint.0.chars().take(ID_DIGITS).collect();
        let count = seen.entry(stem.clone()).or_default();
        *count += 1;
        finding.id = FindingId(if *count == 1 { stem } else { format!("{stem}-{count}") });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::finding::{
        Anchor, AnchorMatch, Category, FindingOrigin, FindingStatus, FindingVerification, OriginKind, Prominence,
        Severity,
    };
    use crate::domain::path::RepoPath;
    use crate::domain::place::DiffSide;
    use proptest::prelude::*;

    fn finding(path: &str, line: u32, fingerprint: &str, title: &str) -> Finding {
        Finding {
            id: FindingId(String::new()),
            fingerprint: FindingFingerprint(fingerprint.to_owned()),
            status: FindingStatus::New,
            title: title.to_owned(),
            body: String::new(),
            severity: Severity::Low,
            prominence: Prominence::Also,
            category: Category::Logic,
            confidence: None,
            anchors: vec![Anchor {
                path: RepoPath::parse(path).unwrap(),
                side: DiffSide::New,
                lines: Some(LineRange::line(line)),
                quote: String::new(),
                matched: AnchorMatch::Exact,
                masked: false,
            }],
            suggestion: None,
            verification: FindingVerification::UNCHECKED,
            origin: FindingOrigin { kind: OriginKind::Rule, name: "r".to_owned() },
            guideline: None,
            carried_from: None,
            dismissed: None,
        }
    }

    #[test]
    fn white_space_does_not_change_a_fingerprint_but_words_do() {
        let one = fingerprint("a = b;\n  c()", Some("f"), ["above", "below"], "logic");
        assert_eq!(one, fingerprint("\ta =  b;\r\n\tc()\n", Some("f"), [" above", "below  "], "logic"));
        assert_eq!(one.0.len(), 32);
        for other in [
            fingerprint("a = b;\n  d()", Some("f"), ["above", "below"], "logic"),
            fingerprint("a = b;\n  c()", None, ["above", "below"], "logic"),
            fingerprint("a = b;\n  c()", Some("f"), ["", "above below"], "logic"),
            fingerprint("a = b;\n  c()", Some("f"), ["above", "below"], "security"),
        ] {
            assert_ne!(one, other);
        }
    }

    #[test]
    fn the_context_is_telling_and_moves_with_the_lines() {
        let text = FileText::new("fn outer() {\n}\n\nquoted();\n}\nlet after = 1;\n", "UTF-8");
        assert_eq!(context_around(&text, LineRange::line(4)), ["fn outer() {", "let after = 1;"]);
        let moved = FileText::new("// more\n\nfn outer() {\n}\n\nquoted();\n}\nlet after = 1;\n", "UTF-8");
        assert_eq!(context_around(&moved, LineRange::line(6)), context_around(&text, LineRange::line(4)));
        assert_eq!(context_around(&FileText::new("x", "UTF-8"), LineRange::line(u32::MAX)), ["", ""]);
    }

    #[test]
    fn repeated_fingerprints_are_counted_by_place() {
        let same = "0123456789abcdef";
        let mut findings = vec![
            finding("b.rs", 9, same, ""),
            finding("b.rs", 2, same, ""),
            finding("a.rs", 5, same, ""),
            finding("a.rs", 5, "ffff", ""),
        ];
        assign_ids(&mut findings);
        let ids: Vec<&str> = findings.iter().map(|finding| finding.id.0.as_str()).collect();
        assert_eq!(ids, ["0123456789ab-3", "0123456789ab-2", "0123456789ab", "ffff"]);
    }

    proptest! {
        #[test]
        fn ids_are_unique_and_do_not_depend_on_the_order(
            places in proptest::collection::hash_set((0..3u32, 1..9u32), 1..12), turn in 0..12usize
        ) {
            let mut all: Vec<Finding> =
                places.iter().map(|(path, line)| finding(&format!("p{path}"), *line, &"ab".repeat(8), "")).collect();
            all.sort_by_key(|finding| finding.anchors[0].lines);
            let mut turned = all.clone();
            turned.rotate_left(turn % all.len());
            assign_ids(&mut all);
            assign_ids(&mut turned);
            turned.rotate_right(turn % all.len());
            prop_assert_eq!(&all, &turned);
            let ids: std::collections::HashSet<_> = all.iter().map(|finding| &finding.id).collect();
            prop_assert_eq!(ids.len(), all.len());
        }
    }
}
