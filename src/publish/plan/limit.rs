//! The limit of new comments: the worst are posted. Main function: [`keep_within`].

use super::super::draft::SummaryOnlyReason;
use super::PlanInput;
use super::entry::EntryWork;
use super::entry::PlanEntry;
use crate::domain::forge::{DeliveryAct, SummaryMark};

/// Puts the least bad comments that are too many into the summary. Of one head there are never more, however often it is reviewed.
pub(super) fn keep_within(at: &PlanInput<'_>, before: Option<&SummaryMark>, entries: &mut [PlanEntry]) {
    let is_same_head = before.is_some_and(|mark| Some(mark.head) == at.review.change.head);
    let stands = |entry: &&PlanEntry| {
        is_same_head && entry.is_found && matches!(entry.item.act, DeliveryAct::Left | DeliveryAct::Reopened)
    };
    let most = at.most.saturating_sub(entries.iter().filter(stands).count());
    let mut new: Vec<&mut PlanEntry> =
        entries.iter_mut().filter(|entry| matches!(entry.work, EntryWork::Comment(_))).collect();
    new.sort_by_key(|entry| entry.item.severity);
    for entry in new.into_iter().skip(most) {
        let why = SummaryOnlyReason::BeyondLimit;
        entry.item.act = DeliveryAct::InSummary;
        entry.item.reason = Some(format!("Not on its lines: {why}."));
        (entry.beside, entry.work) = (Some(why), EntryWork::Nothing);
    }
}
