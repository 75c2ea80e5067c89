//! The prompt `explain_finding`: an assistant explains and judges one finding of a saved review.

use std::collections::BTreeMap;

use super::{Argument, Prompt, non_blank};
use crate::app::{Cancel, Service};

pub(super) const PROMPT: Prompt = Prompt {
    name: "explain_finding",
    alias: None,
    title: "Explain a finding",
    description: "Explain one finding of a review, judge it against the code, and propose the fix",
    arguments: &[
        Argument { name: "finding", description: "The id of the finding, or the beginning of it", required: true },
        Argument {
            name: "id",
            description: "The id of the review; the latest one where it is left out",
            required: false,
        },
    ],
    get,
    complete,
};

fn get(service: &Service, values: &BTreeMap<String, String>) -> Result<String, String> {
    let finding = non_blank(values, "finding").ok_or("finding is missing: give the id of a finding")?;
    service.brief_finding(non_blank(values, "id"), finding, &Cancel::never()).map_err(|error| error.to_string())
}

fn complete(service: &Service, argument: &str, typed: &str) -> Vec<String> {
    match argument {
        "finding" => service.findings_like(None, typed),
        "id" => service.runs_like(typed),
        _ => Vec::new(),
    }
}
