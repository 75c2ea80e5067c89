//! Derives the task of a step from its event and inputs, without requests. Main type: [`StepTask`].

use std::path::PathBuf;

use super::error::ActionError;
use super::event::{PullEvent, RunEvent, WorkflowEvent};
use super::inputs::{ActionInputs, PostMode, invalid_value};
use super::variables;
use crate::domain::forge::{PullId, PullNumber, RepoName};
use crate::domain::id::CommitId;
use crate::domain::text::strip_line;
use crate::git::FetchBase;

/// The task of a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum StepTask {
    /// No task, with the reason in one sentence.
    Skip(String),
    /// A pull request is reviewed.
    Pull(PullToReview),
    /// Two commits are compared.
    Commits {
        /// The base of the comparison.
        base: FetchBase,
        /// The head to review.
        head: CommitId,
    },
    /// Verify and post the artefact of an untrusted run.
    Artefact {
        folder: PathBuf,
        run: RunEvent,
        /// The pull request, if known.
        pull: Option<PullNumber>,
    },
}

/// The pull request that is reviewed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PullToReview {
    pub(super) id: PullId,
    /// Its head at the time of the event; `None` if the pull request is named by an input.
    pub(super) head: Option<CommitId>,
    /// The target branch at the time of the event, likewise.
    pub(super) target: Option<String>,
    /// `true` if it was a draft at the time, likewise.
    pub(super) is_draft: Option<bool>,
    /// `true` if GitHub withholds secrets from this run, because it is for a fork.
    pub(super) lacks_secrets: bool,
}

/// Derives the task. `event` is the name of the event.
pub(super) fn decide_task(
    event: &str,
    occasion: WorkflowEvent,
    inputs: &ActionInputs,
    here: &RepoName,
) -> Result<StepTask, ActionError> {
    let named = |number| PullToReview {
        id: PullId { repo: here.clone(), number },
        head: None,
        target: None,
        is_draft: None,
        lacks_secrets: false,
    };
    if let (Some(_), true) = (&inputs.artifact, !matches!(occasion, WorkflowEvent::Run(_))) {
        let write =
            "use it on the event workflow_run alone: what an untrusted run left is posted by a run that follows it";
        let (input, wrong) = (variables::ARTIFACT.name, format!("cannot be given on {}", strip_line(event)));
        return Err(ActionError::Input { input, wrong, write: write.to_owned() });
    }
    match (occasion, inputs.pull) {
        (WorkflowEvent::Pull(pull), asked) => of_pull(event, &pull, asked, named),
        (WorkflowEvent::Run(run), pull) => of_run(run, pull, inputs, named),
        (WorkflowEvent::MergeGroup { .. } | WorkflowEvent::Push(_) | WorkflowEvent::Other, Some(number)) => {
            Ok(StepTask::Pull(named(number)))
        }
        (WorkflowEvent::Other, None) => Err(ActionError::Nothing { event: event.to_owned() }),
        (WorkflowEvent::MergeGroup { .. } | WorkflowEvent::Push(_), None) if inputs.post == PostMode::Review => {
            let write = format!("write auto, annotations or none: {event} has no pull request to post on");
            Err(invalid_value(variables::POST, "review", &write))
        }
        (WorkflowEvent::MergeGroup { base, head }, None) => {
            Ok(StepTask::Commits { base: FetchBase::Commit(base), head })
        }
        (WorkflowEvent::Push(push), None) => {
            let Some(head) = push.after else {
                return Ok(StepTask::Skip("The branch was deleted: there is nothing to review.".to_owned()));
            };
            let base = push.before.map_or(FetchBase::Branch(push.default_branch), FetchBase::Commit);
            Ok(StepTask::Commits { base, head })
        }
    }
}

fn of_pull(
    event: &str,
    pull: &PullEvent,
    asked: Option<PullNumber>,
    named: impl Fn(PullNumber) -> PullToReview,
) -> Result<StepTask, ActionError> {
    if let Some(asked) = asked.filter(|asked| *asked != pull.number) {
        let write = format!("leave it out: the event is about #{}", pull.number);
        return Err(invalid_value(variables::PULL, &asked.to_string(), &write));
    }
    if pull.is_closed {
        return Ok(StepTask::Skip(format!("#{} was closed: there is nothing to review any more.", pull.number)));
    }
    let (head, target, is_draft) = (Some(pull.head), Some(pull.target.clone()), Some(pull.is_draft));
    let lacks_secrets = pull.is_fork && event != "pull_request_target";
    Ok(StepTask::Pull(PullToReview { head, target, is_draft, lacks_secrets, ..named(pull.number) }))
}

fn of_run(
    run: RunEvent,
    pull: Option<PullNumber>,
    inputs: &ActionInputs,
    named: impl Fn(PullNumber) -> PullToReview,
) -> Result<StepTask, ActionError> {
    match (&inputs.artifact, pull) {
        (Some(_), _) if run.event != "pull_request" => Ok(StepTask::Skip(
            "The run that this one follows was not of a pull request: there is nothing to post.".to_owned(),
        )),
        (Some(folder), pull) => Ok(StepTask::Artefact { folder: folder.clone(), pull: pull.or(run.pull), run }),
        (None, Some(number)) => Ok(StepTask::Pull(named(number))),
        (None, None) => Err(ActionError::NoArtefact),
    }
}

#[cfg(test)]
mod tests {
    use super::super::event::PushEvent;
    use super::super::variables::ActionVariables;
    use super::*;

    fn id(digit: char) -> CommitId {
        CommitId(digit.to_string().repeat(40).parse().unwrap())
    }

    fn number(number: u64) -> PullNumber {
        PullNumber::new(number).unwrap()
    }

    fn decided(occasion: WorkflowEvent, inputs: &[(&str, &str)]) -> Result<StepTask, String> {
        let read = |name: &str| inputs.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
        let inputs = ActionInputs::read(&ActionVariables::of(read)).unwrap();
        decide_task("the_event", occasion, &inputs, &"octo/demo".parse().unwrap()).map_err(|error| error.to_string())
    }

    fn pull(is_closed: bool) -> WorkflowEvent {
        let pull = PullEvent {
            number: number(7),
            head: id('b'),
            target: "main".to_owned(),
            is_draft: true,
            is_closed,
            is_fork: true,
        };
        WorkflowEvent::Pull(pull)
    }

    fn push(before: Option<CommitId>, after: Option<CommitId>) -> WorkflowEvent {
        WorkflowEvent::Push(PushEvent { before, after, default_branch: "main".to_owned() })
    }

    fn run(event: &str, pull: Option<PullNumber>) -> WorkflowEvent {
        WorkflowEvent::Run(RunEvent { id: 1, event: event.to_owned(), head: id('b'), head_repository: None, pull })
    }

    #[test]
    fn an_event_says_what_is_reviewed() {
        let Ok(StepTask::Pull(wanted)) = decided(pull(false), &[("INPUT_PULL", "7")]) else { panic!() };
        assert_eq!((wanted.id.to_string().as_str(), wanted.head), ("octo/demo#7", Some(id('b'))));
        assert!(wanted.lacks_secrets && wanted.is_draft == Some(true) && wanted.target.as_deref() == Some("main"));
        assert!(matches!(decided(pull(true), &[]), Ok(StepTask::Skip(why)) if why.contains("closed")));
        let group = || WorkflowEvent::MergeGroup { base: id('a'), head: id('b') };
        let commits = |base| Ok(StepTask::Commits { base, head: id('b') });
        assert_eq!(decided(group(), &[]), commits(FetchBase::Commit(id('a'))));
        assert_eq!(decided(push(Some(id('a')), Some(id('b'))), &[]), commits(FetchBase::Commit(id('a'))));
        assert_eq!(decided(push(None, Some(id('b'))), &[]), commits(FetchBase::Branch("main".to_owned())));
        assert!(matches!(decided(push(Some(id('a')), None), &[]), Ok(StepTask::Skip(_))));
        for occasion in [WorkflowEvent::Other, group(), run("push", None)] {
            let Ok(StepTask::Pull(wanted)) = decided(occasion, &[("INPUT_PULL", "9")]) else { panic!() };
            assert_eq!((wanted.id.number, wanted.head), (number(9), None));
        }
    }

    #[test]
    fn what_cannot_be_meant_says_what_to_write() {
        for (occasion, inputs, told) in [
            (
                pull(false),
                &[("INPUT_PULL", "8")][..],
                "the input pull cannot be \"8\": leave it out: the event is about #7",
            ),
            (WorkflowEvent::Other, &[], "the_event names nothing to review"),
            (push(Some(id('a')), Some(id('b'))), &[("INPUT_POST", "review")], "has no pull request to post on"),
            (pull(false), &[("INPUT_ARTIFACT", "x")], "workflow_run alone"),
            (run("pull_request", None), &[], "the input artifact"),
        ] {
            let fault = decided(occasion, inputs).unwrap_err();
            assert!(fault.contains(told), "{fault}");
        }
    }

    #[test]
    fn an_artefact_is_posted_by_the_run_that_follows() {
        let inputs = &[("INPUT_ARTIFACT", "left")][..];
        for (named, inputs, meant) in [
            (None, inputs, None),
            (Some(number(7)), inputs, Some(number(7))),
            (None, &[("INPUT_ARTIFACT", "left"), ("INPUT_PULL", "8")][..], Some(number(8))),
        ] {
            let Ok(StepTask::Artefact { folder, pull, .. }) = decided(run("pull_request", named), inputs) else {
                panic!()
            };
            assert_eq!((folder, pull), (PathBuf::from("left"), meant));
        }
        assert!(matches!(decided(run("push", None), inputs), Ok(StepTask::Skip(_))));
    }
}
