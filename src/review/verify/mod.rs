//! Verification: in a fresh conversation and with the reading tools, a model tries to refute findings of a model. Main function: [`second_look`];
//! main types: [`VerificationSettings`], [`VerificationOutcome`].
//!
//! Each finding gets a conversation of its own (`question` → `look` → `verdict`, or `as_text` if the model calls no tools); some run concurrently,
//! and `share` limits each beforehand. Findings of rules are not verified: they are proven by code and mean the same with or without a model. A
//! verification without a verdict does not affect the review: the finding is delivered as it was reported, `unchecked`, the receipt says why, and the
//! review stays as complete as it was. Only an interrupt ends the review as well.

mod answers;
mod as_text;
mod conversation;
mod end;
mod request;
mod share;
mod verdict;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{StreamExt as _, stream};

use super::budget::{BudgetLimits, ConversationBudget};
use super::by_model::ModelRun;
use super::draft::EngineOutcome;
use super::failover::ActiveModel;
use super::journal::{ConversationId, Journal, JournalRecord};
use super::replay::{
    AbandonedUsage, NextReplayStep, RecordedAllowance, RecordedEnd, RecordedTrees, ReplayDivergence,
    ReplayedConversation,
};
use super::stats::UnbilledAttempts;
use crate::domain::event::Event;
use crate::domain::finding::{Finding, OriginKind, Severity};
use crate::domain::review::StopReason;
use crate::domain::run::Usage;
use crate::domain::text::{count_noun, strip_line};
use crate::domain::verification::VerificationTotals as Numbers;
use crate::llm::{BoxFuture, Provider};
use crate::sys::cancel::CancelReason;

use conversation::{VerificationContext, VerificationConversation};
use end::{VerificationEnd, VerificationStats};
use request::{VerificationRequest, verification_request};
pub(super) use share::reserve_for;
use share::{VerificationShare, share};
pub(super) use verdict::{VerdictWord, VerificationVerdict};

/// Number of concurrent verifications.
const AT_ONCE: usize = 3;
/// Maximum number of titles named for one reason in the receipt.
const NAMED: usize = 3;

/// Settings of the verification: the model, and the findings.
#[derive(Clone)]
pub struct VerificationSettings {
    /// Findings to verify.
    pub which: VerificationScope,
    /// The model.
    pub provider: Arc<dyn Provider>,
    /// Its window and response limit. Turns, tokens and time are those of the run, of which it gets the rest.
    pub limits: BudgetLimits,
}

/// Selection of the model findings to verify.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VerificationScope {
    /// The critical and the high ones.
    Worst,
    /// All.
    All,
}

impl VerificationScope {
    /// Checks whether a finding is selected.
    pub(super) fn selects(self, finding: &Finding) -> bool {
        let bad = match self {
            Self::Worst => finding.severity <= Severity::High,
            Self::All => true,
        };
        bad && finding.origin.kind == OriginKind::Model
    }
}

/// Describes why a refuted finding is withheld.
pub(super) fn refutation_reason(rationale: &str) -> String {
    format!("refuted by the second look: {rationale}")
}

/// Finished verification, by the index of its finding among the selected.
type FinishedVerification = (usize, Result<(VerificationEnd, VerificationStats), ReplayDivergence>);

/// Outcome of the verification.
pub(super) struct VerificationOutcome {
    /// Verdicts, by the place of the finding.
    pub(super) verdicts: Vec<(usize, VerificationVerdict)>,
    /// Reasons for missing verifications: sentences for the receipt.
    pub(super) notes: Vec<String>,
    /// For the provenance.
    pub(super) numbers: Numbers,
    pub(super) calls: u32,
    pub(super) errors: u32,
    pub(super) broken_off: UnbilledAttempts,
    /// Results that were taken out of conversations to make room.
    pub(super) taken_out: u32,
    /// Set if it was interrupted, and the review with it.
    pub(super) interrupted: Option<EngineOutcome>,
}

/// Verifies the selected `findings`; `None` if there are none. `budget` is what the review spent, `ending` how it ended. Errors leave findings
/// unchecked; it fails only if a replay differs from its recording.
pub(super) async fn verify_findings(
    run: &ModelRun,
    findings: &[Finding],
    ending: &EngineOutcome,
    budget: &ConversationBudget,
    (journal, trees): (&Journal, &RecordedTrees),
) -> Result<Option<VerificationOutcome>, ReplayDivergence> {
    let Some(second) = run.second_look.as_ref() else { return Ok(None) };
    let chosen: Vec<(usize, &Finding)> =
        findings.iter().enumerate().filter(|(_, finding)| second.which.selects(finding)).collect();
    if chosen.is_empty() {
        return Ok(None);
    }
    let mut journal = journal.of(ConversationId::all_verifications());
    let units: Vec<ConversationId> =
        chosen.iter().map(|(_, finding)| ConversationId::verification(&finding.id)).collect();
    let none = |why: &str| {
        chosen.iter().map(|_| (VerificationEnd::Unchecked(why.to_owned()), VerificationStats::default())).collect()
    };
    let (looked_at, asked) = match divide(run, second, (&chosen, &units), ending, budget) {
        Ok((questions, share)) => {
            if run.past.recorded_share() != Some(&share) {
                journal.record(None, share.record());
                journal.sync();
            }
            match &share.why_not {
                Some(why) => (0, none(why)),
                None => {
                    let asked = run_verifications(
                        run,
                        second,
                        (&chosen, &units),
                        (questions, &share),
                        budget,
                        (&journal, trees),
                    );
                    (share.findings.min(units.len()), asked.await?)
                }
            }
        }
        Err(why) => (0, none(&why)),
    };
    let before = run.past.other_verifications(units.get(..looked_at).unwrap_or_default());
    let by = verified_by(ActiveModel::for_verification(run, second), asked.iter().map(|(_, tally)| tally));
    let mut looked = gather(&chosen, asked, before, by);
    looked.interrupted = interrupted(run, ending, &mut journal)?;
    Ok(Some(looked))
}

/// Returns the models of the verification: one, or several after a failover.
fn verified_by<'a>(mut line: ActiveModel<'_>, tallies: impl Iterator<Item = &'a VerificationStats>) -> String {
    let mut all: Vec<u32> = tallies.filter(|tally| tally.turns > 0).map(|tally| tally.at).collect();
    all.sort_unstable();
    all.dedup();
    if all.is_empty() {
        all.push(line.follow_current());
    }
    let names = all.into_iter().map(|at| {
        line.follow_recorded(at);
        line.name()
    });
    names.collect::<Vec<_>>().join(" and ")
}

/// Returns the outcome of a review that was interrupted only now.
fn interrupted(
    run: &ModelRun,
    ending: &EngineOutcome,
    journal: &mut Journal,
) -> Result<Option<EngineOutcome>, ReplayDivergence> {
    let told = run.past.replayed_conversation(&ConversationId::all_verifications());
    let now = match told.next_step() {
        NextReplayStep::End(RecordedEnd::Ended { ended, why }) => {
            EngineOutcome::from_recorded(ended, why.unwrap_or_default())
        }
        NextReplayStep::End(RecordedEnd::Verdict { .. }) | NextReplayStep::Turn { .. } | NextReplayStep::New => {
            match run.cancel.check() {
                Err(CancelReason::Interrupted) => EngineOutcome::Stopped(CancelReason::Interrupted),
                Err(CancelReason::DeadlinePassed) | Ok(()) => EngineOutcome::Done,
            }
        }
    };
    let (ended, why) = (now.stop_reason(), now.reason());
    if told.check_engine_end(0, ended, why.as_deref())? {
        journal.record(None, JournalRecord::End { ended, why });
        journal.sync();
    }
    Ok(Some(now).filter(|now| *now != EngineOutcome::Done && *ending == EngineOutcome::Done))
}

/// Returns why nothing is verified at all.
fn skip_reason(ending: &EngineOutcome, stopped: Option<CancelReason>) -> Option<&'static str> {
    match (ending.stop_reason(), stopped) {
        (StopReason::Interrupted, _) | (_, Some(CancelReason::Interrupted)) => Some("the run was interrupted"),
        (_, Some(CancelReason::DeadlinePassed)) => Some("no time was left (raise it with --timeout)"),
        (ended, None) if ended.is_provider_fault() => Some("the review itself broke off"),
        (_, None) => None,
    }
}

/// Builds the first messages, and divides the budget: as recorded, or a share of what remains. If the templates fail, returns the reason.
fn divide(
    run: &ModelRun,
    second: &VerificationSettings,
    (chosen, units): (&[(usize, &Finding)], &[ConversationId]),
    ending: &EngineOutcome,
    budget: &ConversationBudget,
) -> Result<(Vec<VerificationRequest>, RecordedAllowance), String> {
    let told = run.past.recorded_share().cloned();
    let taken = run.past.other_verifications(&[]);
    let left = budget.remaining().subtract(taken.turns, taken.known);
    // The model after a failover may have other prices.
    let mut line = ActiveModel::for_verification(run, second);
    line.follow_recorded(line.follow_current());
    let limits = second.limits.with_prices_of(&line.limits(second.limits));
    let room = told.as_ref().map_or_else(|| share::opening_room(left, chosen.len(), &limits), |share| share.room);
    let ask = |finding: &Finding, room, told: &ReplayedConversation| {
        let speech = told.first_format().unwrap_or_else(|| second.provider.capabilities().speech());
        verification_request(finding, &run.change, &run.prompts, run.project_context(), &second.limits, room, speech)
    };
    let mut questions = Vec::with_capacity(chosen.len());
    for ((_, finding), unit) in chosen.iter().zip(units) {
        let told = run.past.replayed_conversation(unit);
        // A verification that was begun earlier gets the same first message, whatever the space now.
        let rooms =
            run.past.recorded_rooms().into_iter().filter(|_| told.has_request()).map(|room| ask(finding, room, &told));
        let same = rooms.flatten().find(|question| told.matches_first_request(&question.request) == Some(true));
        match same.map_or_else(|| ask(finding, room, &told), Ok) {
            Ok(question) => questions.push(question),
            Err(error) => return Err(strip_line(&error.to_string())),
        }
    }
    if let Some(share) = told {
        return Ok((questions, share));
    }
    if run.past.is_replay() {
        let (_, why) = ReplayedConversation::end_of_journal().into_reason();
        return Err(why);
    }
    if let Some(why) = skip_reason(ending, run.cancel.check().err()) {
        return Ok((questions, RecordedAllowance { why_not: Some(why.to_owned()), ..RecordedAllowance::default() }));
    }
    let sizes: Vec<u64> = questions.iter().map(|question| question.size).collect();
    let VerificationShare { findings, turns, tokens, cost, time } = share(left, &sizes, &limits);
    let time_ms = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    Ok((questions, RecordedAllowance { why_not: None, room, findings, turns, tokens, cost, time_ms }))
}

/// Verifies the selected findings; only the worst ones if the budget is not enough for all.
async fn run_verifications(
    run: &ModelRun,
    second: &VerificationSettings,
    (chosen, units): (&[(usize, &Finding)], &[ConversationId]),
    (questions, share): (Vec<VerificationRequest>, &RecordedAllowance),
    budget: &ConversationBudget,
    (journal, trees): (&Journal, &RecordedTrees),
) -> Result<Vec<(VerificationEnd, VerificationStats)>, ReplayDivergence> {
    let time = Duration::from_millis(share.time_ms);
    let limits = match share.cost {
        Some(most) => second.limits.with_money(most),
        // It was divided when money was no limit.
        None => second.limits.with_part_of_money(u64::try_from(share.findings).unwrap_or(u64::MAX)),
    };
    let limits = BudgetLimits { turns: share.turns, input_tokens: share.tokens, time, ..limits };
    let hands = VerificationContext {
        line: ActiveModel::for_verification(run, second),
        prompts: &run.prompts,
        tools: &run.tools,
        cancel: &run.cancel,
        events: run.events.as_ref(),
        trees,
    };
    let of = u32::try_from(share.findings).unwrap_or(u32::MAX);
    if of > 0 {
        run.events.emit(Event::SecondLook { done: 0, of });
    }
    let mut looks: Vec<BoxFuture<'_, FinishedVerification>> = Vec::with_capacity(chosen.len());
    for (at, (question, unit)) in questions.into_iter().zip(units).take(share.findings).enumerate() {
        let mut told = run.past.replayed_conversation(unit);
        told.restart_unless_same(&question.request);
        let look = VerificationConversation::new(hands, question, limits, (told, journal.of(unit.clone())));
        looks.push(Box::pin(async move { (at, look.run().await) }));
    }
    let mut looking = stream::iter(looks).buffer_unordered(AT_ONCE);
    let mut asked: BTreeMap<usize, (VerificationEnd, VerificationStats)> = BTreeMap::new();
    let mut spent = RunSpending { turns: budget.turns_of_run(), usage: budget.usage() };
    while let Some((at, looked)) = looking.next().await {
        let (judged, tally) = looked?;
        spent.add(&tally);
        spent.tell(run);
        let done = u32::try_from(asked.len() + 1).unwrap_or(u32::MAX);
        if let (
            VerificationEnd::Verdict(VerificationVerdict { word: VerdictWord::Refuted, rationale, .. }),
            Some((_, finding)),
        ) = (&judged, chosen.get(at))
        {
            let reason = strip_line(&refutation_reason(rationale));
            run.events.emit(Event::Withheld { title: strip_line(&finding.title), reason });
        }
        run.events.emit(Event::SecondLook { done, of });
        asked.insert(at, (judged, tally));
    }
    let why = "too little of the budget was left (raise it with --max-turns, --max-tokens or --max-cost)";
    let rest = chosen
        .iter()
        .skip(asked.len())
        .map(|_| (VerificationEnd::Unchecked(why.to_owned()), VerificationStats::default()));
    Ok(asked.into_values().chain(rest).collect())
}

/// Consumption of the run so far.
struct RunSpending {
    turns: u32,
    usage: Usage,
}

impl RunSpending {
    fn add(&mut self, tally: &VerificationStats) {
        self.turns += tally.turns;
        if tally.turns > 0 {
            self.usage = self.usage.plus(tally.usage);
        }
    }

    fn tell(&self, run: &ModelRun) {
        run.events.emit(Event::Spent {
            turn: self.turns,
            input_tokens: self.usage.input_tokens,
            cache_read_tokens: self.usage.cache_read_tokens,
            output_tokens: self.usage.output_tokens,
            cost: self.usage.cost,
        });
    }
}

/// Collects the results of the verifications, in the order of the findings. `before` is the consumption for findings that no longer exist.
fn gather(
    chosen: &[(usize, &Finding)],
    asked: Vec<(VerificationEnd, VerificationStats)>,
    before: AbandonedUsage,
    by: String,
) -> VerificationOutcome {
    let numbers = Numbers { by, confirmed: 0, uncertain: 0, refuted: 0, unchecked: 0, turns: 0, usage: Usage::NOTHING };
    let mut looked = VerificationOutcome {
        verdicts: Vec::new(),
        notes: Vec::new(),
        numbers,
        calls: before.calls,
        errors: before.errors,
        broken_off: before.broken_off,
        taken_out: 0,
        interrupted: None,
    };
    let mut spent = RunSpending { turns: 0, usage: Usage::NOTHING };
    if let Some(usage) = before.usage {
        spent.add(&VerificationStats {
            turns: before.turns,
            usage: usage.into_usage(),
            ..VerificationStats::default()
        });
    }
    let mut unchecked: Vec<(String, Vec<&str>)> = Vec::new();
    for ((at, finding), (judged, tally)) in chosen.iter().zip(asked) {
        spent.add(&tally);
        looked.calls += tally.calls;
        looked.errors += tally.errors;
        looked.broken_off += tally.broken_off;
        looked.taken_out += tally.taken_out;
        match judged {
            VerificationEnd::Verdict(verdict) => {
                *match verdict.word {
                    VerdictWord::Confirmed => &mut looked.numbers.confirmed,
                    VerdictWord::Uncertain => &mut looked.numbers.uncertain,
                    VerdictWord::Refuted => &mut looked.numbers.refuted,
                } += 1;
                looked.verdicts.push((*at, verdict));
            }
            VerificationEnd::Unchecked(why) | VerificationEnd::BrokenOff(why) => {
                looked.numbers.unchecked += 1;
                match unchecked.iter_mut().find(|(known, _)| *known == why) {
                    Some((_, titles)) => titles.push(&finding.title),
                    None => unchecked.push((why, vec![&finding.title])),
                }
            }
        }
    }
    (looked.numbers.turns, looked.numbers.usage) = (spent.turns, spent.usage);
    looked.notes = unchecked.iter().map(|(why, titles)| note(why, titles)).collect();
    looked
}

/// Renders `no second look at 2 findings, because its time was used up: A; B`.
fn note(why: &str, titles: &[&str]) -> String {
    let count = count_noun(titles.len(), "finding");
    let named = titles.iter().take(NAMED).copied().collect::<Vec<_>>().join("; ");
    let more = titles.len().saturating_sub(NAMED);
    let more = if more == 0 { String::new() } else { format!("; and {more} more") };
    format!("the second look came to no verdict on {count}, because {}: {named}{more}", why.trim_end_matches('.'))
}
