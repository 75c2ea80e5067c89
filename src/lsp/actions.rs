//! Code actions: what can be done about the findings at a place. Main function: [`code_actions`].

use gen_lsp_types::{CodeAction, CodeActionKind, CodeActionParams, Command, Diagnostic, WorkspaceEdit};
use serde_json::{Value, json};

use super::commands;
use super::edit::suggested_edit;
use super::position::touches;
use super::report;
use super::session::EditorSession;
use crate::app;
use crate::domain::finding::Finding;

/// Upper bound on the findings that actions are offered for at once.
const MOST_FINDINGS: usize = 20;

/// Lists the code actions for the findings that a range of a document touches.
pub(super) fn code_actions(session: &EditorSession, params: &CodeActionParams) -> Vec<Value> {
    let is_wanted =
        params.context.only.as_ref().is_none_or(|only| {
            only.iter().any(|kind| matches!(kind, CodeActionKind::Empty | CodeActionKind::QuickFix))
        });
    let place = session.locate(&params.text_document.uri.0).filter(|_| is_wanted);
    let Some((at, path)) = place else { return Vec::new() };
    let here = session.folders[at].shown_in(&path).filter(|(_, place, _)| touches(place.range, params.range));
    here.take(MOST_FINDINGS).flat_map(|(finding, _, shown)| actions_for(session, at, finding, shown)).collect()
}

fn actions_for(session: &EditorSession, at: usize, finding: &Finding, shown: &Diagnostic) -> Vec<Value> {
    let folder = &session.folders[at];
    let title = report::title(finding);
    let mut actions = Vec::new();
    // One that does not fit the text any more is not offered.
    if let Some(edit) = finding.suggestion.as_ref().and_then(|_| suggested_edit(session, at, finding).ok()) {
        let command = (commands::APPLY, json!({ "finding": finding.id.0, "folder": folder.uri }));
        actions.push((format!("Apply the suggestion: {title}"), command, Some(edit)));
    }
    let command = (commands::DISMISS, json!({ "finding": finding.id.0, "folder": folder.uri }));
    actions.push((format!("Dismiss: {title}"), command, None));
    let run = folder.review.as_ref().map(|current| current.review.id);
    if run.is_some_and(|run| app::posted_url(&session.env, run, &finding.id).is_some()) {
        let command = (commands::OPEN_THREAD, json!({ "finding": finding.id.0, "folder": folder.uri }));
        actions.push((format!("Open on the pull request: {title}"), command, None));
    }
    if let Some(rule) = report::rule(finding) {
        let command = (commands::EXPLAIN_RULE, json!({ "rule": rule, "folder": folder.uri, "show": true }));
        actions.push((format!("Explain the rule {rule}"), command, None));
    }
    let literals = session.client.features.literal_actions;
    actions.into_iter().map(|(title, command, edit)| action(title, command, edit, shown, literals)).collect()
}

fn action(
    title: String,
    (command, argument): (&str, Value),
    edit: Option<WorkspaceEdit>,
    shown: &Diagnostic,
    literals: bool,
) -> Value {
    let command =
        Command { title: title.clone(), tooltip: None, command: command.to_owned(), arguments: Some(vec![argument]) };
    if !literals {
        return json!(command);
    }
    json!(CodeAction {
        title,
        kind: Some(CodeActionKind::QuickFix),
        diagnostics: Some(vec![shown.clone()]),
        is_preferred: edit.is_some().then_some(true),
        command: edit.is_none().then_some(command),
        edit,
        ..CodeAction::default()
    })
}
