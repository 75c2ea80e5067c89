//! Reading of a verdict, as a model gives it. Main type: [`VerdictAnswer`].
//!
//! A verdict is a word and a number, and the two must agree ([`VerdictWord::of`]). If they contradict each other, or if two verdicts were given, the
//! intended one is unknown: the finding is then uncertain.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::domain::finding::Confidence;
use crate::llm::ToolDefinition;
use crate::review::builder::{ReaderText, StatedConfidence, stated_confidence};
use crate::review::outcome::{VerdictConfidence, VerdictWord, VerificationVerdict};
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
            },
        })
    }

    fn contradictory(&self, said: &str) -> VerificationVerdict {
        VerificationVerdict {
            word: VerdictWord::Uncertain,
            confidence: VerdictConfidence::Contradictory,
            rationale: format!("The second look contradicts itself ({said}): {}", self.rationale),
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
    /// What in the code decides it, and where: one to three sentences for the author of the change.
    rationale: String,
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
    Ok(VerdictAnswer { word, confidence, unclear: matches!(input.confidence, StatedConfidence::Unclear), rationale })
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
