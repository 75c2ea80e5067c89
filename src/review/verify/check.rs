//! Checks of a verdict before it counts: its citations, and the corrections that it makes. Main type: [`VerdictCheck`].
//!
//! Reading a verdict belongs in `verdict`; what was shown, in `citation`.

use super::citation::ShownCode;
use super::verdict::{ClaimedQuote, StatedCorrections, VerdictAnswer};
use crate::domain::change::ChangeSet;
use crate::domain::claim::{Claim, ClaimedPlace};
use crate::domain::finding::{Anchor, Finding};
use crate::evidence::{self, Rejection};
use crate::review::journal::RecordedTrees;
use crate::review::outcome::{VerdictConfidence, VerdictWord, VerificationVerdict};
use crate::tools::input;

/// The finding and the code that a verdict is checked against.
pub(super) struct VerdictCheck<'a> {
    pub(super) finding: &'a Finding,
    pub(super) change: &'a ChangeSet,
    pub(super) trees: &'a RecordedTrees,
    pub(super) shown: ShownCode,
}

/// A verdict that counts, and the objection to what was given, in words for the model.
pub(super) struct CheckedVerdict {
    pub(super) verdict: VerificationVerdict,
    pub(super) objection: Option<String>,
}

impl VerdictCheck<'_> {
    /// Checks everything that was given at once; `None` if there is no verdict.
    pub(super) fn check(&self, given: &[VerdictAnswer]) -> Option<CheckedVerdict> {
        let mut verdict = VerdictAnswer::combine(given)?;
        let mut objection = None;
        let unread =
            self.shown.find_unproven_place(&verdict.rationale).filter(|_| verdict.word == VerdictWord::Confirmed);
        if let Some(cited) = unread {
            // Nor is one vouched for by what nobody has seen.
            objection = Some(unread_citation(&cited));
            verdict = verdict.doubted(&format!("It was confirmed with {cited:?}, which the verification has not read"));
        } else if verdict.word == VerdictWord::Refuted {
            // A finding is not thrown away for something that nobody has seen, or for nothing.
            let doubt = match self.shown.find_unproven(&verdict.rationale) {
                Some(cited) => Some((
                    unread_citation(&cited),
                    format!("It was refuted with {cited:?}, which the verification has not read"),
                )),
                None if !self.shown.is_proof(&verdict.rationale) => Some((
                    "a refutation must cite code that you were shown: name the line that decides it (`path:line`) or quote it between \
                     backticks, then call give_verdict again"
                        .to_owned(),
                    "It was refuted without citing any code".to_owned(),
                )),
                None => None,
            };
            if let Some((told, why)) = doubt {
                objection = Some(told);
                verdict = verdict.doubted(&why);
            }
        } else if verdict.confidence != VerdictConfidence::Contradictory
            && let Some(first) = given.first()
        {
            objection = self.correct(&mut verdict, &first.corrections);
        }
        Some(CheckedVerdict { verdict, objection })
    }

    /// Puts the corrections that stand into the verdict, and the reasons why others do not; returns the first of these.
    fn correct(&self, verdict: &mut VerificationVerdict, stated: &StatedCorrections) -> Option<String> {
        let to = &mut verdict.corrections;
        to.severity = stated.severity;
        to.refused.clone_from(&stated.faults);
        // A lower severity may open the gate, as a refutation does.
        if to.severity.is_some_and(|severity| severity > self.finding.severity)
            && !self.shown.is_proof(&verdict.rationale)
        {
            to.severity = None;
            to.refused.push("the rationale of a lower severity must cite code that you were shown".to_owned());
        }
        if let Some((wrong, right)) = &stated.text {
            match find_passage(&self.finding.body, wrong) {
                Ok(passage) if passage.len() < self.finding.body.trim().len() || !right.is_empty() => {
                    to.text = Some((passage.to_owned(), right.clone()));
                }
                Ok(_) => to.refused.push("it leaves no text".to_owned()),
                Err(why) => to.refused.push(why.to_owned()),
            }
        }
        if let Some((path, quote)) = &stated.place {
            match self.anchors(path.as_deref(), quote) {
                Ok(anchors) => to.anchors = anchors,
                Err(why) => to.refused.push(why),
            }
        }
        to.refused.first().map(|why| {
            format!("a correction was not taken: {why}. Correct it and call give_verdict again, or give the verdict without it")
        })
    }

    /// Returns the places of the finding with a corrected first one; `None` if it is the one that it has.
    fn anchors(&self, path: Option<&str>, quote: &ClaimedQuote) -> Result<Option<Vec<Anchor>>, String> {
        let Some((own, others)) = self.finding.anchors.split_first() else { return Ok(None) };
        let path = path.map(|path| input::file_path(path).map_err(|fault| fault.message)).transpose()?;
        let place = quote.clone().within(path.unwrap_or_else(|| own.path.clone()));
        let anchored = match self.anchor(&place, others) {
            // The wrong place may be what ties the finding to the change.
            Err(Rejection::NotTouching { .. } | Rejection::NotInChange { .. }) => {
                self.anchor(&place, &self.finding.anchors)
            }
            anchored => anchored,
        };
        let anchors = anchored.map_err(|rejection| rejection.to_string())?;
        let is_same = |new: &Anchor| new.path == own.path && new.side == own.side && new.lines == own.lines;
        Ok(Some(anchors).filter(|anchors| !anchors.first().is_some_and(is_same)))
    }

    fn anchor(&self, place: &ClaimedPlace, related: &[Anchor]) -> Result<Vec<Anchor>, Rejection> {
        let finding = self.finding;
        let again = |anchor: &Anchor| ClaimedPlace {
            path: anchor.path.clone(),
            side: anchor.side,
            quote: anchor.lines.map(|_| anchor.quote.clone()),
            lines: anchor.lines,
            note: None,
        };
        let claim = Claim {
            title: finding.title.clone(),
            body: String::new(),
            severity: finding.severity,
            category: finding.category,
            confidence: None,
            place: place.clone(),
            related: related.iter().map(again).collect(),
            replacement: None,
            origin: finding.origin.clone(),
        };
        evidence::anchor(&claim, self.change, self.trees.new.as_ref(), self.trees.old.as_ref())
            .map(|found| found.anchors)
    }
}

/// Returns the objection to a citation of what was not shown.
fn unread_citation(cited: &str) -> String {
    format!(
        "the rationale cites {cited:?}, which you were not shown: read it, or cite what you have read, then call give_verdict again"
    )
}

/// Finds a passage of a text, whatever white space is between its words. It must be there once.
fn find_passage<'t>(text: &'t str, wanted: &str) -> Result<&'t str, &'static str> {
    let words: Vec<&str> = wanted.split_whitespace().collect();
    let Some(first) = words.first() else { return Err("it does not say which text is wrong") };
    let mut found = text.match_indices(first).filter_map(|(at, _)| {
        let mut end = at;
        for word in &words {
            let rest = &text[end..];
            let space = rest.len() - rest.trim_start().len();
            end += space + rest[space..].strip_prefix(word).map(|_| word.len())?;
        }
        Some(&text[at..end])
    });
    match (found.next(), found.next()) {
        (Some(only), None) => Ok(only),
        (Some(_), Some(_)) => Err("the wrong text stands more than once in the finding"),
        (None, _) => Err("the wrong text does not stand in the finding"),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_passage_is_found_whatever_white_space_it_has() {
        let text = "It fails.\n\nThe caller\nnever checks. It fails again.";
        assert_eq!(find_passage(text, " The caller never  checks. "), Ok("The caller\nnever checks."));
        assert!(find_passage(text, "It fails").unwrap_err().contains("more than once"));
        assert!(find_passage(text, "The caller checks.").unwrap_err().contains("does not stand"));
        assert!(find_passage(text, " ").is_err());
    }

    proptest! {
        #[test]
        fn a_passage_is_part_of_the_text(text in "[ab \n\\PC]{0,20}", wanted in "[ab \n\\PC]{0,6}") {
            if let Ok(passage) = find_passage(&text, &wanted) {
                prop_assert!(text.contains(passage));
                prop_assert_eq!(
                    passage.split_whitespace().collect::<String>(), wanted.split_whitespace().collect::<String>()
                );
            }
        }
    }
}
