//! Verification: in a fresh conversation and with the reading tools, a model tries to refute findings of a model. Main function: [`verify_findings`];
//! main type: [`VerificationOutcome`].
//!
//! Each finding gets a conversation of its own (`request`, `role`, `verdict`, or `as_text` if the model calls no tools), whose verdict is checked against the
//! code that it was shown (`check`, `citation`); some run concurrently,
//! and a share of the budget limits each beforehand. Findings of rules are not verified: they are proven by code and mean the same with or without a model. A
//! verification without a verdict does not affect the review: the finding is delivered as it was reported, `unchecked`, the receipt says why, and the
//! review stays as complete as it was. Only an interrupt ends the review as well.

mod as_text;
mod check;
mod citation;
mod end;
mod request;
mod role;
mod verdict;

use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::{StreamExt as _, stream};

use super::budget::{BudgetLimits, ConversationBudget, VerificationShare, affordable, opening_room, share};
use super::conversation::{ActiveModel, Conversation, ConversationStats, InvalidAnswerPolicy};
use super::error::EngineError;
use super::journal::{
    AbandonedUsage, ConversationId, Journal, JournalRecord, NextReplayStep, RecordedAllowance, RecordedEnd,
    RecordedTrees, ReplayDivergence, Transcript,
};
use super::outcome::{EngineOutcome, VerdictWord, VerificationVerdict};
use super::run::{ModelRun, VerificationSettings};
use crate::domain::event::Event;
use crate::domain::finding::Finding;
use crate::domain::review::StopReason;
use crate::domain::run::Usage;
use crate::domain::text::{count_noun, strip_line};
use crate::domain::verification::VerificationTotals as Numbers;
use crate::llm::BoxFuture;
use crate::prompt::PromptError;
use crate::sys::cancel::CancelReason;

use check::VerdictCheck;
use end::{FinishedVerification, VerificationEnd};
use request::{VerificationQuestion, verification_request};
use role::{RetryReporter, VerifierRole};

/// Number of concurrent verifications.
const AT_ONCE: usize = 3;
/// Maximum number of titles named for one reason in the receipt.
const NAMED: usize = 3;

/// Outcome of the verification.
pub(super) struct VerificationOutcome {
    /// Verdicts, by the place of the finding.
    pub(super) verdicts: Vec<(usize, VerificationVerdict)>,
    /// Reasons why findings got no verdict, by the place of the finding.
    pub(super) unchecked: Vec<(usize, String)>,
    /// Reasons for missing verifications: sentences for the receipt.
    pub(super) notes: Vec<String>,
    /// For the provenance.
    pub(super) numbers: Numbers,
    pub(super) stats: ConversationStats,
    /// Set if it was interrupted, and the review with it.
    pub(super) interrupted: Option<EngineOutcome>,
}

/// Findings that are verified, in their order, with the conversation of each.
struct SelectedFindings<'a> {
    run: &'a ModelRun,
    second: &'a VerificationSettings,
    chosen: Vec<(usize, &'a Finding)>,
    units: Vec<ConversationId>,
}

/// Verifies the selected `findings`; `None` if there are none. `budget` is what the review spent, `ending` how it ended. Errors leave findings
/// unchecked; it fails only if a replay differs from its recording.
pub(super) async fn verify_findings(
    run: &ModelRun,
    findings: &[Finding],
    ending: &EngineOutcome,
    budget: &ConversationBudget,
    journal: &Journal,
    trees: &RecordedTrees,
) -> Result<Option<VerificationOutcome>, ReplayDivergence> {
    let Some(second) = run.second_look.as_ref() else { return Ok(None) };
    let chosen: Vec<(usize, &Finding)> =
        findings.iter().enumerate().filter(|(_, finding)| second.which.selects(finding)).collect();
    if chosen.is_empty() {
        return Ok(None);
    }
    let units = chosen.iter().map(|(_, finding)| ConversationId::verification(&finding.id)).collect();
    let selected = SelectedFindings { run, second, chosen, units };
    let none = |why: &str| selected.chosen.iter().map(|_| FinishedVerification::unchecked(why)).collect();
    let (attempted, results) = match selected.divide(ending, budget, journal) {
        Ok((questions, share)) => {
            if run.past.recorded_share() != Some(&share) {
                let mut journal = journal.of(ConversationId::all_verifications());
                journal.record(None, JournalRecord::Share(share.clone()));
                journal.sync();
            }
            match &share.why_not {
                Some(why) => (0, none(why)),
                None => {
                    let results = selected.verify(questions, &share, budget, journal, trees);
                    (share.findings.min(selected.units.len()), results.await?)
                }
            }
        }
        Err(why) => (0, none(&why)),
    };
    let before = run.past.other_verifications(selected.units.get(..attempted).unwrap_or_default());
    let by = verified_by(ActiveModel::for_verification(run, second), &results);
    let mut outcome = gather(&selected.chosen, results, before, by);
    outcome.interrupted = interrupted(run, ending, journal)?;
    Ok(Some(outcome))
}

/// Returns the models of the verification: one, or several after a failover.
fn verified_by(mut model: ActiveModel<'_>, results: &[FinishedVerification]) -> String {
    let mut all: Vec<u32> = results.iter().filter(|one| one.turns > 0).map(|one| one.model).collect();
    all.sort_unstable();
    all.dedup();
    if all.is_empty() {
        all.push(model.current_index());
    }
    let names = all.into_iter().map(|at| {
        model.switch_to(at);
        model.name()
    });
    names.collect::<Vec<_>>().join(" and ")
}

/// Returns the outcome of a review that was interrupted only now.
fn interrupted(
    run: &ModelRun,
    ending: &EngineOutcome,
    journal: &Journal,
) -> Result<Option<EngineOutcome>, ReplayDivergence> {
    let mut transcript = run.past.transcript(journal, &ConversationId::all_verifications());
    let now = match transcript.next_step() {
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
    transcript.end(0, &now)?;
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

impl SelectedFindings<'_> {
    /// Builds the first messages, and divides the budget: as recorded, or a share of what remains. If the templates fail, returns the reason.
    fn divide(
        &self,
        ending: &EngineOutcome,
        budget: &ConversationBudget,
        journal: &Journal,
    ) -> Result<(Vec<VerificationQuestion>, RecordedAllowance), String> {
        let Self { run, second, chosen, .. } = self;
        let recorded = run.past.recorded_share().cloned();
        let taken = run.past.other_verifications(&[]);
        let left = budget.remaining().subtract(taken.turns, taken.known);
        // The model after a failover may have other prices.
        let mut model = ActiveModel::for_verification(run, second);
        model.switch_to(model.current_index());
        let limits = second.limits.with_prices_of(&model.limits(second.limits));
        let room = recorded.as_ref().map_or_else(|| opening_room(left, chosen.len(), &limits), |share| share.room);
        let mut questions = Vec::with_capacity(chosen.len());
        for ((_, finding), unit) in chosen.iter().zip(&self.units) {
            questions
                .push(self.question(finding, unit, room, journal).map_err(|error| strip_line(&error.to_string()))?);
        }
        if let Some(share) = recorded {
            return Ok((questions, share));
        }
        if run.past.is_replay() {
            let (_, why) = Transcript::end_of_journal().into_reason();
            return Err(why);
        }
        if let Some(why) = skip_reason(ending, run.cancel.check().err()) {
            return Ok((
                questions,
                RecordedAllowance { why_not: Some(why.to_owned()), ..RecordedAllowance::default() },
            ));
        }
        let sizes: Vec<u64> = questions.iter().map(|question| question.first.size).collect();
        let required = chosen.iter().filter(|(_, finding)| second.which.requires(finding)).count();
        let worth = affordable(left, required, sizes.len());
        let VerificationShare { findings, turns, tokens, cost, time } = share(left, &sizes[..worth], &limits);
        let time_ms = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        Ok((questions, RecordedAllowance { why_not: None, room, findings, turns, tokens, cost, time_ms }))
    }

    /// Returns the first request about a finding. A verification that was begun earlier gets the same, whatever the room now.
    fn question(
        &self,
        finding: &Finding,
        unit: &ConversationId,
        room: u64,
        journal: &Journal,
    ) -> Result<VerificationQuestion, PromptError> {
        let Self { run, second, .. } = self;
        let transcript = run.past.transcript(journal, unit);
        let speech = transcript.first_format().unwrap_or_else(|| second.provider.capabilities().speech());
        let ask = |room| verification_request(run, finding, &second.limits, room, speech);
        let rooms = run.past.recorded_rooms().into_iter().filter(|_| transcript.has_request());
        let mut asked = rooms.filter_map(|room| ask(room).ok());
        let same = asked.find(|question| transcript.matches_first_request(&question.first.request) == Some(true));
        same.map_or_else(|| ask(room), Ok)
    }

    /// Verifies the findings; only the worst ones if the budget is not enough for all.
    async fn verify(
        &self,
        questions: Vec<VerificationQuestion>,
        share: &RecordedAllowance,
        budget: &ConversationBudget,
        journal: &Journal,
        trees: &RecordedTrees,
    ) -> Result<Vec<FinishedVerification>, ReplayDivergence> {
        let Self { run, second, chosen, units } = self;
        let time = Duration::from_millis(share.time_ms);
        let limits = match share.cost {
            Some(most) => second.limits.with_money(most),
            // It was divided when money was no limit.
            None => second.limits.with_part_of_money(u64::try_from(share.findings).unwrap_or(u64::MAX)),
        };
        let limits = BudgetLimits { turns: share.turns, input_tokens: share.tokens, time, ..limits };
        let of = u32::try_from(share.findings).unwrap_or(u32::MAX);
        if of > 0 {
            run.events.emit(Event::SecondLook { done: 0, of });
        }
        let events = RetryReporter(run.events.as_ref());
        let mut verifications: Vec<BoxFuture<'_, (usize, Result<FinishedVerification, ReplayDivergence>)>> =
            Vec::with_capacity(chosen.len());
        for (at, (question, unit)) in questions.into_iter().zip(units).take(share.findings).enumerate() {
            let Some((_, finding)) = chosen.get(at) else { continue };
            let VerificationQuestion { first, shown } = question;
            let role = VerifierRole::new(&run.tools, VerdictCheck { finding, change: &run.change, trees, shown });
            let model = ActiveModel::for_verification(run, second);
            let transcript = run.past.transcript(journal, unit);
            let budget = ConversationBudget::in_pool(limits, run.pool.as_ref());
            let mut conversation = Conversation::new(role, model, budget, transcript, first);
            conversation.events = &events;
            conversation.invalid_answers = InvalidAnswerPolicy::for_verification();
            verifications.push(Box::pin(async move { (at, verify_one(conversation).await) }));
        }
        let mut verifying = stream::iter(verifications).buffer_unordered(AT_ONCE);
        let mut finished: BTreeMap<usize, FinishedVerification> = BTreeMap::new();
        let mut spent = RunSpending { turns: budget.turns_of_run(), usage: budget.usage() };
        while let Some((at, result)) = verifying.next().await {
            let one = result?;
            spent.add(one.turns, one.usage);
            spent.report(run);
            let done = u32::try_from(finished.len() + 1).unwrap_or(u32::MAX);
            if let (VerificationEnd::Verdict(verdict), Some((_, finding))) = (&one.end, chosen.get(at))
                && verdict.word == VerdictWord::Refuted
            {
                let reason = strip_line(&verdict.refutation_reason());
                run.events.emit(Event::Withheld { title: strip_line(&finding.title), reason });
            }
            run.events.emit(Event::SecondLook { done, of });
            finished.insert(at, one);
        }
        let why = "too little of the budget was left (raise it with --max-turns, --max-tokens or --max-cost)";
        let rest = chosen.iter().skip(finished.len()).map(|_| FinishedVerification::unchecked(why));
        Ok(finished.into_values().chain(rest).collect())
    }
}

/// Verifies one finding to the end, and writes down how it ended.
async fn verify_one(
    mut conversation: Conversation<'_, VerifierRole<'_>>,
) -> Result<FinishedVerification, ReplayDivergence> {
    // From here on: it may have waited for others.
    conversation.cancel = conversation.cancel.with_deadline(conversation.budget.limits().time);
    let end = match conversation.run().await {
        Ok(end) => VerificationEnd::of(end),
        Err(EngineError::Prompt(error)) => VerificationEnd::Unchecked(strip_line(&error.to_string())),
        Err(error @ (EngineError::Unfinished(_) | EngineError::NotAdmitted(_))) => {
            VerificationEnd::Unchecked(error.to_string())
        }
        Err(EngineError::Diverged(diverged)) => return Err(*diverged),
    };
    let Conversation { model, budget, mut transcript, mut stats, .. } = conversation;
    transcript.check()?;
    let (recorded, record) = end.record();
    transcript.end_as(budget.turns(), &recorded, record)?;
    let before = transcript.discarded_usage();
    let usage = match before.usage {
        Some(usage) if budget.turns() > 0 => usage.into_usage().plus(budget.usage()),
        Some(usage) => usage.into_usage(),
        None => budget.usage(),
    };
    stats.add_abandoned(&before);
    Ok(FinishedVerification { end, turns: budget.turns() + before.turns, usage, stats, model: model.index() })
}

/// Consumption of the run so far.
struct RunSpending {
    turns: u32,
    usage: Usage,
}

impl RunSpending {
    fn add(&mut self, turns: u32, usage: Usage) {
        self.turns += turns;
        if turns > 0 {
            self.usage = self.usage.plus(usage);
        }
    }

    fn report(&self, run: &ModelRun) {
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
    results: Vec<FinishedVerification>,
    before: AbandonedUsage,
    by: String,
) -> VerificationOutcome {
    let numbers = Numbers { by, confirmed: 0, uncertain: 0, refuted: 0, unchecked: 0, turns: 0, usage: Usage::NOTHING };
    let mut outcome = VerificationOutcome {
        verdicts: Vec::new(),
        unchecked: Vec::new(),
        notes: Vec::new(),
        numbers,
        stats: ConversationStats::default(),
        interrupted: None,
    };
    outcome.stats.add_abandoned(&before);
    let mut spent = RunSpending { turns: 0, usage: Usage::NOTHING };
    if let Some(usage) = before.usage {
        spent.add(before.turns, usage.into_usage());
    }
    let mut unchecked: Vec<(String, Vec<&str>)> = Vec::new();
    for ((at, finding), one) in chosen.iter().zip(results) {
        spent.add(one.turns, one.usage);
        outcome.stats.add(&one.stats);
        match one.end {
            VerificationEnd::Verdict(verdict) => {
                *match verdict.word {
                    VerdictWord::Confirmed => &mut outcome.numbers.confirmed,
                    VerdictWord::Uncertain => &mut outcome.numbers.uncertain,
                    VerdictWord::Refuted => &mut outcome.numbers.refuted,
                } += 1;
                outcome.verdicts.push((*at, verdict));
            }
            VerificationEnd::Unchecked(why) | VerificationEnd::BrokenOff(why) => {
                outcome.numbers.unchecked += 1;
                outcome.unchecked.push((*at, why.clone()));
                match unchecked.iter_mut().find(|(known, _)| *known == why) {
                    Some((_, titles)) => titles.push(&finding.title),
                    None => unchecked.push((why, vec![&finding.title])),
                }
            }
        }
    }
    (outcome.numbers.turns, outcome.numbers.usage) = (spent.turns, spent.usage);
    outcome.notes = unchecked.iter().map(|(why, titles)| note(why, titles)).collect();
    outcome
}

/// Renders `no second look at 2 findings, because its time was used up: A; B`.
fn note(why: &str, titles: &[&str]) -> String {
    let count = count_noun(titles.len(), "finding");
    let named = titles.iter().take(NAMED).copied().collect::<Vec<_>>().join("; ");
    let more = titles.len().saturating_sub(NAMED);
    let more = if more == 0 { String::new() } else { format!("; and {more} more") };
    format!("the second look came to no verdict on {count}, because {}: {named}{more}", why.trim_end_matches('.'))
}
