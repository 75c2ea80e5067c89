//! The questions of a setup: at most four. Main functions: [`interview`], [`confirm`]; main trait: [`Questioner`].

use super::choices::InitChoices;
use super::detect::Detected;
use super::{HookGate, InitError, InitRequest};
use crate::app::context::error::AppError;
use crate::domain::finding::Severity;

/// The person that answers, or the defaults.
pub trait Questioner: Send {
    /// Shows a line.
    fn show(&mut self, line: &str);

    /// Asks a question with these options; returns the place of the chosen one, or `None` if there is no answer.
    fn choose(&mut self, question: &str, options: &[String], default: usize) -> Option<usize>;
}

/// Asks what the request leaves open. The defaults write the settings and nothing into the repository.
pub(super) fn interview<Q: Questioner>(
    request: &InitRequest,
    detected: Detected,
    mut questions: Q,
) -> Result<(InitChoices, Detected, Q), AppError> {
    for line in detected.lines() {
        questions.show(&line);
    }
    let model = match &request.model {
        Some(model) => Some(model.clone()),
        None => choose_model(&detected, &mut questions)?,
    };
    let hook = match request.hook {
        Some(HookGate::From(gate)) => Some(gate),
        None if detected.git_folder.is_some() && !detected.has_hook => choose_hook(&mut questions)?,
        Some(HookGate::Off) | None => None,
    };
    let workflow = match request.workflow {
        Some(workflow) => workflow,
        None if detected.root.is_some() && !detected.has_workflow => {
            let options = ["no".to_owned(), "yes".to_owned()];
            choose(&mut questions, "Write a GitHub workflow that reviews pull requests?", &options, 0)? == 1
        }
        None => false,
    };
    Ok((InitChoices { model, hook, workflow }, detected, questions))
}

fn choose(
    questions: &mut impl Questioner,
    question: &str,
    options: &[String],
    default: usize,
) -> Result<usize, AppError> {
    let chosen = questions.choose(question, options, default).filter(|chosen| *chosen < options.len());
    chosen.ok_or_else(|| InitError::NoAnswer.into())
}

/// Asks which model reviews; `None` leaves the setting as it is.
fn choose_model(detected: &Detected, questions: &mut impl Questioner) -> Result<Option<String>, AppError> {
    let models = detected.models.iter().map(|model| (model.name.clone(), model.name.clone()));
    let assistants = detected.assistants.iter().map(|assistant| {
        (assistant.name.to_owned(), format!("{}: {}, with your login there", assistant.name, assistant.title))
    });
    let current = detected.current.as_ref().map(|(model, _)| model);
    let others = models.chain(assistants).filter(|(name, _)| Some(name) != current);
    let (names, mut options): (Vec<String>, Vec<String>) = others.unzip();
    if names.is_empty() {
        return Ok(None);
    }
    let keep = match &detected.current {
        Some((model, _)) => format!("leave it at {model}"),
        None => "none for now: the built-in rules only".to_owned(),
    };
    options.push(keep);
    // Whether a user is logged in to an assistant is not known, so it is no default.
    let default = if detected.current.is_some() || detected.models.is_empty() { options.len() - 1 } else { 0 };
    let chosen = choose(questions, "Which model reviews? It receives the changed code.", &options, default)?;
    Ok(names.into_iter().nth(chosen))
}

/// Asks for the git hook and its gate.
fn choose_hook(questions: &mut impl Questioner) -> Result<Option<Severity>, AppError> {
    let gates = [Severity::Critical, Severity::High, Severity::Medium];
    let options: Vec<String> = std::iter::once("no".to_owned())
        .chain(gates.iter().map(|gate| format!("yes, for findings of severity {gate} and above")))
        .collect();
    let chosen = choose(questions, "Stop a git push that has findings (pre-push hook, built-in rules)?", &options, 0)?;
    Ok(chosen.checked_sub(1).and_then(|gate| gates.get(gate)).copied())
}

/// Asks whether to write the files.
pub(super) fn confirm(questions: &mut impl Questioner) -> Result<bool, AppError> {
    Ok(choose(questions, "Write these files?", &["yes".to_owned(), "no".to_owned()], 0)? == 0)
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::path::PathBuf;

    use super::super::detect::UsableModel;
    use super::*;
    use crate::domain::provider_info::AssistantInfo;

    #[derive(Default)]
    struct Scripted {
        answers: VecDeque<usize>,
        questions: Vec<String>,
    }

    impl Questioner for Scripted {
        fn show(&mut self, _: &str) {}

        fn choose(&mut self, question: &str, _: &[String], _: usize) -> Option<usize> {
            self.questions.push(question.to_owned());
            self.answers.pop_front()
        }
    }

    fn request() -> InitRequest {
        InitRequest { directory: PathBuf::from("."), model: None, hook: None, workflow: None, test: false }
    }

    fn detected() -> Detected {
        let model = |name: &str| UsableModel { name: name.to_owned(), by: "a key".to_owned() };
        Detected {
            models: vec![model("a/x"), model("b/y")],
            root: Some(PathBuf::from("/r")),
            git_folder: Some(PathBuf::from("/r/.git")),
            ..Detected::default()
        }
    }

    fn ask(request: &InitRequest, detected: Detected, answers: &[usize]) -> Result<(InitChoices, usize), AppError> {
        let script = Scripted { answers: answers.iter().copied().collect(), questions: Vec::new() };
        let (choices, _, mut script) = interview(request, detected, script)?;
        let confirmed = confirm(&mut script)?;
        assert!(confirmed);
        Ok((choices, script.questions.len()))
    }

    #[test]
    fn four_questions_at_most_and_the_answers_count() {
        let (choices, count) = ask(&request(), detected(), &[1, 2, 1, 0]).unwrap();
        let wanted = InitChoices { model: Some("b/y".to_owned()), hook: Some(Severity::High), workflow: true };
        assert_eq!((choices, count), (wanted, 4));
    }

    #[test]
    fn flags_and_missing_things_are_not_asked_for() {
        let flags =
            InitRequest { model: Some("none".into()), hook: Some(HookGate::Off), workflow: Some(false), ..request() };
        let (choices, count) = ask(&flags, detected(), &[0]).unwrap();
        assert_eq!((choices.model.as_deref(), count), (Some("none"), 1));
        let (choices, count) = ask(&request(), Detected::default(), &[0]).unwrap();
        assert_eq!((choices, count), (InitChoices::default(), 1));
    }

    #[test]
    fn an_assistant_can_be_chosen_and_files_that_are_there_are_not_asked_for() {
        let claude =
            AssistantInfo { name: "claude-code", word: "claude-code", title: "Claude Code", program: "claude" };
        let there = Detected { assistants: vec![claude], has_hook: true, has_workflow: true, ..detected() };
        let (choices, count) = ask(&request(), there, &[2, 0]).unwrap();
        assert_eq!((choices.model.as_deref(), count), (Some("claude-code"), 2));
    }

    #[test]
    fn the_model_that_is_set_is_not_offered_again() {
        let set = Detected { current: Some(("a/x".to_owned(), "config.toml:1".to_owned())), ..detected() };
        let (choices, count) = ask(&request(), set, &[0, 0, 0, 0]).unwrap();
        assert_eq!((choices.model.as_deref(), count), (Some("b/y"), 4));
    }

    #[test]
    fn a_closed_input_or_an_unknown_option_is_no_answer() {
        for answers in [&[][..], &[9]] {
            let error = ask(&request(), detected(), answers).unwrap_err();
            assert!(error.to_string().contains("nothing was written"), "{error}");
        }
    }
}
