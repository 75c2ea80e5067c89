//! Merging the results of several conversations into one. Main functions: [`combined_outcome`], [`summary`], [`add_stats`].

use crate::domain::review::StopReason as How;
use crate::domain::text::count_noun;
use crate::review::conversation::ConversationStats;
use crate::review::outcome::EngineOutcome;
use crate::sys::cancel::CancelReason;

/// Result of a part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PartResult {
    /// Index, from 0.
    pub(super) at: usize,
    /// Number of its files.
    pub(super) files: usize,
    pub(super) ending: EngineOutcome,
    /// `true` if a request was sent.
    pub(super) begun: bool,
}

impl PartResult {
    /// Creates the result of a conversation that is no part.
    pub(super) fn unbounded() -> Self {
        Self { at: 0, files: 0, ending: EngineOutcome::Done, begun: true }
    }
}

/// Adds the statistics of a part.
pub(super) fn add_stats(stats: &mut ConversationStats, own: ConversationStats, end: &PartResult) {
    stats.add(&own);
    stats.in_text = stats.in_text.or(own.in_text);
    let unbegun = match &end.ending {
        EngineOutcome::Short { ended, why } if !end.begun && !ended.is_provider_fault() => Some(why.clone()),
        EngineOutcome::Done | EngineOutcome::Stopped(_) | EngineOutcome::Short { .. } => None,
    };
    for limit in own.limits.into_iter().chain(unbegun) {
        if !stats.limits.contains(&limit) {
            stats.limits.push(limit);
        }
    }
}

/// Merges the outcomes: done if all are; otherwise the worst, with the results of the others.
pub(super) fn combined_outcome(ends: &[PartResult]) -> EngineOutcome {
    let short: Vec<&PartResult> = ends.iter().filter(|end| end.ending != EngineOutcome::Done).collect();
    let Some(worst) = short.iter().min_by_key(|end| outcome_rank(&end.ending)) else { return EngineOutcome::Done };
    if let EngineOutcome::Stopped(stopped) = worst.ending {
        return EngineOutcome::Stopped(stopped);
    }
    let mut told: Vec<(bool, String, Vec<&PartResult>)> = Vec::new();
    for end in &short {
        let why = end.ending.reason().unwrap_or_default();
        match told.iter_mut().find(|(begun, known, _)| *begun == end.begun && *known == why) {
            Some((_, _, ends)) => ends.push(end),
            None => told.push((end.begun, why, vec![end])),
        }
    }
    let clauses: Vec<String> = told.iter().map(|(begun, why, same)| clause(*begun, why, same, ends.len())).collect();
    EngineOutcome::Short { ended: worst.ending.stop_reason(), why: clauses.join("; ") }
}

/// Renders `part 2 of 5 (14 files) broke off: the limit of …`.
fn clause(begun: bool, why: &str, ends: &[&PartResult], of: usize) -> String {
    let files = count_noun(ends.iter().map(|end| end.files).sum(), "file");
    let numbers: Vec<String> = ends.iter().map(|end| (end.at + 1).to_string()).collect();
    let (parts, were) = match numbers.as_slice() {
        [one] => (format!("part {one}"), if begun { "broke off" } else { "was not begun" }),
        many => (format!("parts {}", many.join(", ")), if begun { "broke off" } else { "were not begun" }),
    };
    format!("{parts} of {of} ({files}) {were}: {}", why.trim_end_matches('.'))
}

/// Rank of an outcome; a lower one is worse: interrupts by a person, then provider failures, then limits.
fn outcome_rank(ending: &EngineOutcome) -> u8 {
    match ending {
        EngineOutcome::Stopped(CancelReason::Interrupted) => 0,
        EngineOutcome::Stopped(CancelReason::DeadlinePassed) => 1,
        EngineOutcome::Short { ended, .. } => match ended {
            How::Interrupted => 0,
            How::Deadline => 1,
            How::RequestRefused => 2,
            How::ProviderFault => 3,
            How::Refused => 4,
            How::LeakedMarkup | How::MalformedCalls | How::EmptyAnswer | How::OutputLimit | How::Unfinished => 5,
            How::TokenLimit | How::CostLimit => 6,
            How::TurnLimit => 7,
            How::WindowLimit => 8,
            How::Finished => 9,
        },
        EngineOutcome::Done => 10,
    }
}

/// Returns why the files of an interrupted part are not wholly reviewed; `None` if it was completed.
pub(super) fn interruption_reason(end: &PartResult, of: usize) -> Option<String> {
    let why = end.ending.reason()?;
    let why = why.trim_end_matches('.');
    let part = format!("part {} of {of}", end.at + 1);
    Some(if end.begun { format!("{part} broke off: {why}") } else { format!("{part} was not begun: {why}") })
}

/// Merges the summaries: first that of the cross-part pass, if any, then that of each part.
pub(super) fn summary(ends: &[PartResult], farewells: &[Option<String>], across: Option<&str>) -> Option<String> {
    let said = |(end, farewell): (&PartResult, &Option<String>)| {
        let words = farewell.as_deref()?.trim();
        Some(format!("**Part {}** ({}): {words}", end.at + 1, count_noun(end.files, "file")))
    };
    let parts = ends.iter().zip(farewells).filter_map(said);
    let all: Vec<String> = across.map(|across| across.trim().to_owned()).into_iter().chain(parts).collect();
    (!all.is_empty()).then(|| all.join("\n\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end(at: usize, ending: EngineOutcome, begun: bool) -> PartResult {
        PartResult { at, files: 2, ending, begun }
    }

    fn short(ended: How, why: &str) -> EngineOutcome {
        EngineOutcome::Short { ended, why: why.to_owned() }
    }

    #[test]
    fn all_done_is_done() {
        assert_eq!(
            combined_outcome(&[end(0, EngineOutcome::Done, true), end(1, EngineOutcome::Done, true)]),
            EngineOutcome::Done
        );
        assert_eq!(combined_outcome(&[]), EngineOutcome::Done);
    }

    #[test]
    fn one_that_was_never_begun_is_not_done_and_says_why() {
        let limit = short(How::TokenLimit, "the limit was reached");
        let ends = [end(0, EngineOutcome::Done, true), end(1, limit.clone(), false), end(2, limit, false)];
        let expected = "parts 2, 3 of 3 (4 files) were not begun: the limit was reached";
        assert_eq!(combined_outcome(&ends), short(How::TokenLimit, expected));
        assert_eq!(interruption_reason(&ends[1], 3).unwrap(), "part 2 of 3 was not begun: the limit was reached");
        assert_eq!(interruption_reason(&ends[0], 3), None);
    }

    #[test]
    fn a_provider_that_fails_is_worse_than_a_limit_and_both_are_told() {
        let ends = [
            end(0, short(How::TurnLimit, "the limit of 40 turns was reached"), true),
            end(1, short(How::ProviderFault, "it is down."), true),
        ];
        let told = "part 1 of 2 (2 files) broke off: the limit of 40 turns was reached; part 2 of 2 (2 files) broke off: it is down";
        assert_eq!(combined_outcome(&ends), short(How::ProviderFault, told));
    }

    #[test]
    fn an_interrupt_is_an_interrupt_whatever_else_happened() {
        let stopped = EngineOutcome::Stopped(CancelReason::Interrupted);
        let ends = [end(0, short(How::RequestRefused, "no"), true), end(1, stopped.clone(), true)];
        assert_eq!(combined_outcome(&ends), stopped);
    }

    #[test]
    fn limits_are_told_once() {
        let mut stats = ConversationStats::default();
        let limit = "the limit was reached";
        let ends = [
            end(0, short(How::TokenLimit, limit), true),
            end(1, short(How::TokenLimit, limit), false),
            end(2, short(How::ProviderFault, "it is down"), false),
        ];
        add_stats(
            &mut stats,
            ConversationStats { calls: 2, limits: vec![limit.to_owned()], ..ConversationStats::default() },
            &ends[0],
        );
        add_stats(&mut stats, ConversationStats { calls: 1, errors: 1, ..ConversationStats::default() }, &ends[1]);
        add_stats(&mut stats, ConversationStats::default(), &ends[2]);
        assert_eq!((stats.calls, stats.errors, stats.limits), (3, 1, vec![limit.to_owned()]));
    }

    #[test]
    fn summaries_are_joined_in_order() {
        let ends =
            [end(0, EngineOutcome::Done, true), end(1, EngineOutcome::Done, false), end(2, EngineOutcome::Done, true)];
        let farewells = [Some("It adds a.".to_owned()), None, Some("It adds c.\n".to_owned())];
        let joined = "**Part 1** (2 files): It adds a.\n\n**Part 3** (2 files): It adds c.";
        assert_eq!(summary(&ends, &farewells, None).as_deref(), Some(joined));
        assert_eq!(summary(&ends, &farewells, Some("All in all.")).unwrap(), format!("All in all.\n\n{joined}"));
        assert_eq!(summary(&ends, &[None, None, None], None), None);
    }
}
