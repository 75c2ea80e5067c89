//! Variables of the prompts about a saved review. Main types: [`QuestionVars`], [`TaskVars`].

use minijinja::Value;

use super::data::{FenceMark, UntrustedText};

/// For `ask_question.md`: the first message of a conversation about a saved review.
#[derive(Debug, Clone)]
pub struct QuestionVars {
    /// The finding or the review that the question is about, which is untrusted.
    pub review: UntrustedText,
    /// Question of the user.
    pub question: String,
}

/// For `fix_findings.md`: findings as a task for a coding agent.
#[derive(Debug, Clone)]
pub struct TaskVars {
    /// Name of the repository, without characters that end a code span.
    pub repository: String,
    /// Reviewed commit, or a phrase in its place.
    pub head: String,
    /// Number of findings.
    pub count: usize,
    /// Findings with their places and code, which are untrusted.
    pub findings: UntrustedText,
}

impl QuestionVars {
    pub(super) fn value(&self) -> Value {
        let mark = FenceMark::of(&[&self.review]);
        Value::from_pairs([
            ("mark", Value::from(mark.digits())),
            ("review", mark.fence("review", &self.review).into()),
            ("question", self.question.as_str().into()),
        ])
    }

    pub(super) fn samples() -> Vec<Value> {
        let question = "Why is {{ this }} *wrong*?".to_owned();
        vec![Self { review: UntrustedText::new("A title\n\nA body.".to_owned()), question }.value()]
    }
}

impl TaskVars {
    pub(super) fn value(&self) -> Value {
        let mark = FenceMark::of(&[&self.findings]);
        Value::from_pairs([
            ("mark", Value::from(mark.digits())),
            ("repository", self.repository.as_str().into()),
            ("head", self.head.as_str().into()),
            ("count", self.count.into()),
            ("findings", mark.fence("findings", &self.findings).into()),
        ])
    }

    pub(super) fn samples() -> Vec<Value> {
        let one = Self {
            repository: "shop".to_owned(),
            head: "0123456789".to_owned(),
            count: 1,
            findings: UntrustedText::new("=== 0123456789ab: high, logic".to_owned()),
        };
        [one.clone(), Self { count: 2, ..one }].iter().map(Self::value).collect()
    }
}
