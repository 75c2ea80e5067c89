//! The prompt `review_change`: an assistant reviews a change itself, with the tools of this server.

use std::collections::BTreeMap;

use super::{Argument, Prompt, non_blank};
use crate::app::{Cancel, Service};

pub(super) const PROMPT: Prompt = Prompt {
    // Several clients have a command `review` of their own.
    name: "review_change",
    alias: Some("review"),
    title: "Review a change",
    description: "Review what this branch changes: read the code around it, check each claim, present the review",
    arguments: &[
        Argument {
            name: "target",
            description: "What to compare with: a branch or commit (found where it is left out), A..B, staged or uncommitted",
            required: false,
        },
        Argument { name: "focus", description: "What to look at most", required: false },
    ],
    get,
    complete,
};

fn get(service: &Service, values: &BTreeMap<String, String>) -> Result<String, String> {
    let (target, focus) = (non_blank(values, "target"), non_blank(values, "focus"));
    service.brief_review(target, focus, &Cancel::never()).map_err(|error| error.to_string())
}

fn complete(service: &Service, argument: &str, typed: &str) -> Vec<String> {
    match argument {
        "target" => service.targets_like(typed),
        _ => Vec::new(),
    }
}
