//! Opening of conversations, each when it is due. Main type: [`PartOpener`].

use std::collections::BTreeMap;

use crate::domain::path::RepoPath;
use crate::domain::place::DiffSide;
use crate::prompt::{LeadVars, PromptError};
use crate::review::builder::{Lead, ReviewBuilder};
use crate::review::plan::{ListedChange, Opening, PlannedParts, ReviewLayout};
use crate::review::run::ModelRun;

/// Material of the first messages.
pub(in crate::review) struct PartOpener {
    /// Size of the tools in every request, in tokens.
    pub(in crate::review) tools: u64,
    pub(in crate::review) layout: ReviewLayout,
    /// The files that were reviewed before.
    pub(in crate::review) carried: BTreeMap<RepoPath, String>,
    /// The lists of all changed files and commits.
    pub(in crate::review) listed: ListedChange,
    /// The order of risk.
    pub(in crate::review) ranks: Vec<usize>,
}

impl PartOpener {
    fn plan<'a>(&'a self, run: &'a ModelRun) -> PlannedParts<'a> {
        PlannedParts { run, tools: self.tools, leads: &[], carried: &self.carried, listed: &self.listed }
    }

    /// Returns the parts, as indices of files in the change.
    pub(in crate::review) fn parts(&self) -> &[Vec<usize>] {
        &self.layout.units
    }

    /// Returns the largest size of each part's first request, in tokens.
    pub(in crate::review) fn sizes(&self, run: &ModelRun) -> Result<Vec<u64>, PromptError> {
        self.plan(run).sizes(&self.layout)
    }

    /// Returns the builder and the first message of a part. The leads about it leave `whole`.
    pub(in crate::review) fn open_part(
        &self,
        run: &ModelRun,
        at: usize,
        whole: &mut ReviewBuilder,
    ) -> Result<(ReviewBuilder, Opening), PromptError> {
        let mut builder = whole.part(self.parts(), at);
        let opening = self.open(run, at, &mut builder)?;
        Ok((builder, opening))
    }

    /// Builds the first message; what it does not show is recorded in the builder.
    pub(in crate::review) fn open(
        &self,
        run: &ModelRun,
        at: usize,
        builder: &mut ReviewBuilder,
    ) -> Result<Opening, PromptError> {
        let leads: Vec<LeadVars> = builder.leads().map(vars).collect();
        let opening = self.plan(run).opening(&self.layout, at, &leads, &self.ranks)?;
        opening.left_out.iter().for_each(|left_out| builder.record_omitted_diff(left_out));
        builder.withhold_leads(opening.leads_left_out.iter().cloned());
        opening.notes.iter().for_each(|note| builder.add_note(note.clone()));
        Ok(opening)
    }
}

/// Converts a lead to the variables of the first message.
pub(in crate::review) fn vars(lead: &Lead) -> LeadVars {
    let place = match lead.lines {
        Some(lines) => format!("{}:{}", lead.path, lines.start()),
        None => lead.path.to_string(),
    };
    let place = match lead.side {
        DiffSide::New => place,
        DiffSide::Old => format!("{place} (before the change)"),
    };
    LeadVars {
        id: lead.id.clone(),
        rule: lead.rule.clone(),
        severity: lead.severity,
        category: lead.category,
        place,
        title: lead.title.clone(),
        body: lead.body.clone(),
    }
}
