//! Reading of a verdict, as a model gives it. Main type: [`VerdictAnswer`].
//!
//! A verdict is a word and a number, and the two must agree ([`VerdictWord::of`]). If they contradict each other, or if two verdicts were given, the
//! intended one is unknown: the finding is then uncertain.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::domain::claim::ClaimedPlace;
use crate::domain::finding::{Confidence, Severity};
use crate::domain::path::RepoPath;
use crate::domain::place::{DiffSide, LineRange};
use crate::domain::text::mask;
use crate::llm::ToolDefinition;
use crate::review::builder::{ReaderText, StatedConfidence, read_severity, stated_confidence};
use crate::review::outcome::{VerdictConfidence, VerdictCorrections, VerdictWord, VerificationVerdict};
use crate::tools::{ErrorKind, ToolFault, input};

/// The tool that takes it.
pub(super) const NAME: &str = "give_verdict";

/// Stated verdict before it is judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct VerdictAnswer {
    pub(super) word: VerdictWord,
    pub(super) confidence: Option<Confidence>,
    /// `true` if anything but a number from 1 to 10 was given.
    pub(super) unclear: bool,
    pub(super) rationale: String,
    pub(super) corrections: StatedCorrections,
}

/// Corrections of a finding as a verifier states them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct StatedCorrections {
    pub(super) severity: Option<Severity>,
    /// A passage of the text, and what shall stand instead.
    pub(super) text: Option<(String, String)>,
    /// The place; without a path, in the file of the finding's first.
    pub(super) place: Option<(Option<String>, ClaimedQuote)>,
    /// What could not be read.
    pub(super) faults: Vec<String>,
}

/// A quote, and the line on which it is said to begin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ClaimedQuote {
    quote: String,
    line: Option<LineRange>,
}

impl ClaimedQuote {
    /// Returns the place that it claims in a file after the change.
    pub(super) fn within(self, path: RepoPath) -> ClaimedPlace {
        ClaimedPlace { path, side: DiffSide::New, quote: Some(self.quote), lines: self.line, note: None }
    }
}

impl VerdictAnswer {
    /// Returns the verdict of everything that was given at once; `None` where nothing was.
    pub(super) fn combine(all: &[Self]) -> Option<VerificationVerdict> {
        let (first, others) = all.split_first()?;
        if let Some(other) = others.iter().find(|other| other.word != first.word) {
            let said = format!("it said both {} and {}", first.word.word(), other.word.word());
            return Some(first.contradictory(&said));
        }
        Some(match first.confidence {
            Some(confidence) if VerdictWord::of(confidence) != first.word => {
                first.contradictory(&format!("it said {}, with confidence {}", first.word.word(), confidence.value()))
            }
            // Nearly no verdict, but a finding is not removed if the model may have meant the opposite.
            None if first.unclear && first.word == VerdictWord::Refuted => {
                first.contradictory("it said refuted, with a confidence that is no number from 1 to 10")
            }
            confidence => VerificationVerdict {
                word: first.word,
                confidence: confidence.map_or(VerdictConfidence::Unsaid, VerdictConfidence::Said),
                rationale: first.rationale.clone(),
                corrections: VerdictCorrections::default(),
            },
        })
    }

    fn contradictory(&self, said: &str) -> VerificationVerdict {
        VerificationVerdict {
            word: VerdictWord::Uncertain,
            confidence: VerdictConfidence::Contradictory,
            rationale: format!("The second look contradicts itself ({said}): {}", self.rationale),
            corrections: VerdictCorrections::default(),
        }
    }
}

/// The input of `give_verdict`. What a model adds to it does no harm.
#[derive(Debug, Deserialize, JsonSchema)]
struct Input {
    /// The questions whose answers could show that the finding is wrong, each with what the code answers.
    #[serde(default)]
    #[schemars(with = "Vec<VerdictQuestion>")]
    #[expect(dead_code, reason = "asking is what helps; the answers are in the journal")]
    questions: Value,
    #[schemars(extend("enum" = ["confirmed", "uncertain", "refuted"]))]
    verdict: String,
    /// How sure you are that the finding is right, from 1 to 10: refuted 1-3, uncertain 4-6, confirmed 7-10.
    #[serde(default, deserialize_with = "stated_confidence")]
    #[schemars(with = "u8", range(min = 1, max = 10))]
    confidence: StatedConfidence,
    /// What in the code decides it, and where: one to three sentences for the author of the change. A `path:line`, and code between backticks,
    /// must be something that you were shown.
    rationale: String,
    /// Only to correct it, where the finding holds: how bad it really is.
    #[serde(default, deserialize_with = "input::text")]
    #[schemars(with = "String", extend("enum" = ["critical", "high", "medium", "low", "nit"]))]
    severity: Option<String>,
    /// Only to correct the text: the sentence of the finding that the code contradicts, verbatim.
    #[serde(default, deserialize_with = "input::text")]
    wrong_text: Option<String>,
    /// The text that shall stand instead of `wrong_text`; without it that is taken out.
    #[serde(default, deserialize_with = "input::text")]
    right_text: Option<String>,
    /// Only to correct the place: the lines that the finding is about, verbatim and whole.
    #[serde(default, deserialize_with = "input::text")]
    quote: Option<String>,
    /// The file of `quote`, if it is another.
    #[serde(default, deserialize_with = "input::text")]
    file_path: Option<String>,
    /// The first line of `quote`, where you know it.
    #[serde(default, deserialize_with = "input::number")]
    #[schemars(with = "u32", range(min = 1))]
    start_line: Option<u32>,
}

/// A question and its answer.
#[derive(JsonSchema)]
#[schemars(inline)]
#[expect(dead_code, reason = "only its schema is used")]
struct VerdictQuestion {
    question: String,
    /// What the code answers, with `path:line`.
    answer: String,
}

/// Returns the definition of the tool.
pub(super) fn definition() -> ToolDefinition {
    let mut schema = input::schema::<Input>();
    // It is requested, though a verdict without it counts.
    if let Some(Value::Array(required)) = schema.get_mut("required") {
        required.push("confidence".into());
    }
    ToolDefinition {
        name: NAME.to_owned(),
        description: "Gives the verdict on the finding, and ends your work. Call it once and alone, after you have seen the results of all other calls.".to_owned(),
        schema,
    }
}

/// Reads an input of the tool.
pub(super) fn read(input: Value) -> Result<VerdictAnswer, ToolFault> {
    let input: Input = input::parse(input)?;
    let word = VerdictWord::read(&input.verdict).ok_or_else(|| {
        let said: String = input.verdict.chars().take(60).collect();
        let message = format!("`verdict` {said:?} is none of: confirmed, uncertain, refuted");
        ToolFault::new(ErrorKind::InvalidInput, message)
    })?;
    let confidence = match input.confidence {
        StatedConfidence::Said(confidence) => Some(confidence),
        StatedConfidence::Unsaid | StatedConfidence::Unclear => None,
    };
    // What is cut of it is in the journal.
    let rationale = ReaderText { field: "rationale", text: &input.rationale }.sentence(&mut Vec::new())?;
    let unclear = matches!(input.confidence, StatedConfidence::Unclear);
    Ok(VerdictAnswer { word, confidence, unclear, rationale, corrections: corrections(input) })
}

/// Reads the corrections. A verdict is not refused for one that makes no sense.
fn corrections(input: Input) -> StatedCorrections {
    let mut faults = Vec::new();
    let severity = input
        .severity
        .and_then(|word| read_severity(&word).map_err(|fault| faults.push(mask(&fault.message).text)).ok());
    let text = input.wrong_text.and_then(|wrong| {
        let right = input.right_text.unwrap_or_default();
        let right = match right.trim() {
            "" => Ok(String::new()),
            right => ReaderText { field: "right_text", text: right }.sentence(&mut Vec::new()),
        };
        right.map_err(|fault| faults.push(fault.message)).ok().map(|right| (mask(wrong.trim()).text, right))
    });
    let place = input.quote.map(|quote| {
        let line = input.start_line.filter(|line| *line > 0).map(LineRange::line);
        (input.file_path, ClaimedQuote { quote: mask(&quote).text, line })
    });
    StatedCorrections { severity, text, place, faults }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn given(verdict: &str, confidence: u8) -> VerdictAnswer {
        read(json!({ "verdict": verdict, "confidence": confidence, "rationale": "Line 3 decides." })).unwrap()
    }

    #[test]
    fn a_word_and_a_number_must_agree() {
        for (word, numbers) in
            [(VerdictWord::Refuted, 1..=3), (VerdictWord::Uncertain, 4..=6), (VerdictWord::Confirmed, 7..=10)]
        {
            for number in 1..=10 {
                let verdict = VerdictAnswer::combine(&[given(word.word(), number)]).unwrap();
                if numbers.contains(&number) {
                    assert_eq!(
                        (verdict.word, verdict.confidence),
                        (word, VerdictConfidence::Said(Confidence::new(number).unwrap()))
                    );
                    assert_eq!(verdict.rationale, "Line 3 decides.");
                } else {
                    assert_eq!(
                        (verdict.word, verdict.confidence),
                        (VerdictWord::Uncertain, VerdictConfidence::Contradictory)
                    );
                    assert!(verdict.rationale.contains(&format!("confidence {number})")), "{}", verdict.rationale);
                }
            }
        }
    }

    #[test]
    fn two_verdicts_are_none_and_the_same_twice_is_one() {
        let verdict = VerdictAnswer::combine(&[given("confirmed", 9), given("refuted", 1)]).unwrap();
        assert_eq!((verdict.word, verdict.confidence), (VerdictWord::Uncertain, VerdictConfidence::Contradictory));
        assert!(verdict.rationale.contains("both confirmed and refuted"));
        let verdict = VerdictAnswer::combine(&[given("refuted", 1), given("refuted", 2)]).unwrap();
        assert_eq!(verdict.word, VerdictWord::Refuted);
        assert_eq!(VerdictAnswer::combine(&[]), None);
    }

    #[test]
    fn a_number_that_is_missing_leaves_the_reporters() {
        let without = read(json!({ "verdict": "Confirmed.", "rationale": "It holds." })).unwrap();
        let verdict = VerdictAnswer::combine(&[without]).unwrap();
        assert_eq!((verdict.word, verdict.confidence), (VerdictWord::Confirmed, VerdictConfidence::Unsaid));
        let (four, nine) = (Confidence::new(4), Confidence::new(9).unwrap());
        assert_eq!(
            (
                VerdictConfidence::Unsaid.adjusted_confidence(four),
                VerdictConfidence::Said(nine).adjusted_confidence(four)
            ),
            (four, Some(nine))
        );
        assert_eq!(VerdictConfidence::Contradictory.adjusted_confidence(four), None);
    }

    #[test]
    fn a_number_that_cannot_be_read_refutes_nothing() {
        let judged = |verdict: &str, confidence: Value| {
            let given = read(json!({ "verdict": verdict, "confidence": confidence, "rationale": "So." })).unwrap();
            let verdict = VerdictAnswer::combine(&[given]).unwrap();
            (verdict.word, verdict.confidence)
        };
        for confidence in [json!(95), json!("95%"), json!("high"), json!(0)] {
            assert_eq!(
                judged("refuted", confidence.clone()),
                (VerdictWord::Uncertain, VerdictConfidence::Contradictory),
                "{confidence}"
            );
            assert_eq!(judged("confirmed", confidence), (VerdictWord::Confirmed, VerdictConfidence::Unsaid));
        }
    }

    #[test]
    fn what_is_no_verdict_is_told() {
        for (input, part) in [
            (json!({ "verdict": "maybe", "confidence": 5, "rationale": "x" }), "none of: confirmed"),
            (json!({ "verdict": "refuted", "confidence": 1, "rationale": " " }), "`rationale` is empty"),
            (json!({ "verdict": "refuted", "confidence": 1 }), "rationale"),
            (json!({ "confidence": 1, "rationale": "x" }), "verdict"),
            (
                json!({ "verdict": "refuted", "rationale": "<invoke name=\"give_verdict\">" }),
                "tool call written as text",
            ),
        ] {
            let message = read(input.clone()).unwrap_err().message;
            assert!(message.contains(part), "{input}: {message}");
        }
    }

    #[test]
    fn a_rationale_is_one_masked_line() {
        let secret = ["AKIA", "QWERTYUIOPASDFGH"].concat();
        let text = format!("The key\n{secret} \t is checked.");
        let given =
            read(json!({ "verdict": "refuted", "confidence": "2/10", "rationale": text, "more": [1] })).unwrap();
        assert!(given.rationale.starts_with("The key ") && !given.rationale.contains(&secret), "{}", given.rationale);
        assert_eq!(given.confidence, Confidence::new(2));
    }

    #[test]
    fn the_schema_is_what_models_were_told() {
        insta::assert_json_snapshot!(definition().schema);
    }
}
