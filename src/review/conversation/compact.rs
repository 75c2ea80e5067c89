//! Making room in a conversation that fills the model's window: results of reading calls are replaced by a line each, one by one. Main type:
//! [`Compaction`].
//!
//! Searches and listings go first, then what was read of files outside of the change, then the rest; the oldest first, those of the last turn last.
//! The model is told one turn before. System text, tools, the first message, the model's text and the results of the engine's own tools never
//! change, and a call keeps its result, so that every provider accepts the conversation. Each compaction invalidates the provider's cache behind the
//! first changed line: it is done only if it gains something, and leaves a share free. Coverage is kept; the model can read again what it needs.
//!
//! A conversation is shortened by [`shorten`] alone.

use std::collections::BTreeSet;

use crate::domain::text::count_noun;
use crate::llm::{Message, ModelToolCall, ToolInput, TurnRequest};
use crate::review::journal::shorten::{RemovedResults, describe, replacement_line, results, shorten};
use crate::review::tokens::estimate_tokens;

/// Divisor: the minimum share of the available size that must be gained, or nothing is done.
const LEAST_GAIN: u64 = 10;
/// Divisor: the share that is left free, if that much can be gained, so that not every turn removes something.
const LEFT_FREE: u64 = 4;
/// Divisor: the share that the model's next answer is assumed to take.
const ANSWER: u64 = 20;

/// State of the compaction of a conversation.
#[derive(Debug, Default, PartialEq, Eq)]
pub(in crate::review) struct Compaction {
    /// Removed results, as in the journal.
    removed: RemovedResults,
    /// Their number.
    results: u32,
    /// Number of results removed in the last request sent: what is removed after it is not reported.
    sent: u32,
    /// Results that the model was told of before their removal.
    announced: BTreeSet<u32>,
    /// Text by which the next request tells the model of some.
    announcement: Option<String>,
}

/// State of the compaction in a request, for the journal.
#[derive(Debug)]
pub(super) struct SentCompaction {
    pub(super) removed: RemovedResults,
    /// Text that tells the model which results will be removed next.
    pub(super) announced: Option<String>,
}

/// Result of making room.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::review) struct CompactionResult {
    /// Results that were removed.
    pub(in crate::review) results: u32,
    /// Tokens that they take less, estimated.
    pub(in crate::review) freed: u64,
}

/// Required room.
#[derive(Debug, Clone, Copy)]
pub(in crate::review) struct CompactionGoal<'a> {
    /// Tokens of the conversation as it is, estimated.
    pub(in crate::review) size: u64,
    /// Tokens that it may take and still have a turn after it.
    pub(in crate::review) most: u64,
    /// Tokens of each new result, in order.
    pub(in crate::review) coming: &'a [u64],
}

impl CompactionGoal<'_> {
    /// Returns the number of results that fit, and their size, if this much of the conversation is freed.
    fn placed(&self, freed: u64) -> (usize, u64) {
        let mut room = self.most.saturating_sub(self.size.saturating_sub(freed));
        let mut placed = (0, 0);
        for size in self.coming {
            if let Some(left) = room.checked_sub(*size) {
                room = left;
                placed = (placed.0 + 1, placed.1 + size);
            }
        }
        placed
    }

    /// Checks whether everything fits already.
    fn fits(&self) -> bool {
        self.size <= self.most && self.placed(0).0 == self.coming.len()
    }

    /// Selects the results to remove from those that can be, in their order; none if they gain too little.
    fn select<'r>(&self, all: &'r [RemovableResult]) -> &'r [RemovableResult] {
        let most_freed: u64 = all.iter().map(|result| result.freed).sum();
        // A result that is too large for any room is no reason.
        let helps = self.size > self.most || self.placed(most_freed).0 > self.placed(0).0;
        if self.fits() || !helps || most_freed < self.most / LEAST_GAIN {
            return &[];
        }
        let (_, coming) = self.placed(most_freed);
        let target = self.most.saturating_sub(coming + self.most / LEFT_FREE);
        let mut left = self.size;
        let kept = all.iter().position(|result| {
            let is_enough = left <= target;
            left = left.saturating_sub(result.freed);
            is_enough
        });
        &all[..kept.unwrap_or(all.len())]
    }
}

/// Result that can be removed.
#[derive(Debug)]
struct RemovableResult {
    /// Its place among all results, from 0.
    number: u32,
    /// Tokens that its removal frees, estimated.
    freed: u64,
    /// Its call, for the model.
    call: String,
}

/// Returns the results that can be removed, those first that the model needs least. `is_changed` is `true` for files of the change. With
/// `only_answered`, results without a response of the model are left out.
fn removable(request: &TurnRequest, is_changed: &dyn Fn(&str) -> bool, only_answered: bool) -> Vec<RemovableResult> {
    let is_answer = |message: &Message| matches!(message, Message::Assistant { .. });
    let answered = request.messages.iter().rposition(is_answer).unwrap_or(0);
    let holds_results = |message: &&Message| matches!(message, Message::Results { .. });
    let considered = if only_answered { answered } else { request.messages.len() };
    let last = request.messages.iter().take(considered).filter(holds_results).count();
    let mut ranked: Vec<_> = results(request)
        .filter(|(place, _)| usize::try_from(place.message).is_ok_and(|message| message < last))
        .filter_map(|(place, result)| {
            let line = replacement_line(place.call, result)?;
            let freed = estimate_tokens(&result.text).saturating_sub(estimate_tokens(&line));
            let is_last = usize::try_from(place.message + 1) == Ok(last);
            let removable = RemovableResult { number: place.number, freed, call: describe(place.call, &result.name) };
            Some(((is_last, need(&result.name, place.call, is_changed), place.number), removable))
        })
        .collect();
    ranked.sort_by_key(|(rank, _)| *rank);
    ranked.into_iter().map(|(_, removable)| removable).collect()
}

/// Returns how much the model needs a result, from 0.
fn need(tool: &str, call: Option<&ModelToolCall>, is_changed: &dyn Fn(&str) -> bool) -> u8 {
    let path = call.and_then(|call| match &call.input {
        ToolInput::Object(input) => input.get("file_path")?.as_str(),
        ToolInput::Malformed(_) => None,
    });
    match (tool, path) {
        ("search_in_files" | "list_files", _) => 0,
        ("read_file_part", Some(path)) if !is_changed(path) => 1,
        _ => 2,
    }
}

impl Compaction {
    /// Returns the tokens that could be gained at most.
    pub(in crate::review) fn max_freed_tokens(request: &TurnRequest) -> u64 {
        removable(request, &|_| true, true).iter().map(|result| result.freed).sum()
    }

    /// Marks a request as sent, and returns its state.
    pub(super) fn mark_sent(&mut self) -> SentCompaction {
        self.sent = self.results;
        SentCompaction { removed: self.removed.clone(), announced: self.announcement.take() }
    }

    /// Returns the number of results that were removed in what was sent.
    pub(super) fn dropped_results(&self) -> u32 {
        self.sent
    }

    /// Counts what was taken out of another conversation of the run.
    pub(super) fn add_dropped_results(&mut self, results: u32) {
        self.sent += results;
    }

    /// Removes as much as necessary; `None` if nothing is. Results without a response of the model stay.
    pub(super) fn make_room(
        &mut self,
        request: &mut TurnRequest,
        wanted: &CompactionGoal<'_>,
        is_changed: &dyn Fn(&str) -> bool,
    ) -> Option<CompactionResult> {
        if wanted.fits() {
            return None;
        }
        let all = removable(request, is_changed, true);
        let chosen = wanted.select(&all);
        let mut removed = self.removed.clone();
        removed.results.extend(chosen.iter().map(|result| result.number));
        self.remove(request, removed)
    }

    /// Removes the results that an earlier session removed; `None` if they already are.
    pub(super) fn repeat(&mut self, request: &mut TurnRequest, removed: &RemovedResults) -> Option<CompactionResult> {
        self.remove(request, removed.clone())
    }

    fn remove(&mut self, request: &mut TurnRequest, removed: RemovedResults) -> Option<CompactionResult> {
        if removed == self.removed {
            return None;
        }
        let mut made = CompactionResult::default();
        for (place, result) in results(request).filter(|(place, _)| removed.has(place)) {
            if let Some(line) = replacement_line(place.call, result) {
                made.results += 1;
                made.freed += estimate_tokens(&result.text).saturating_sub(estimate_tokens(&line));
            }
        }
        shorten(request, &removed);
        self.removed = removed;
        self.results += made.results;
        Some(made)
    }

    /// Returns the calls whose results will be removed for the goal's results, and were not announced before; they are now.
    pub(super) fn announce(
        &mut self,
        request: &TurnRequest,
        wanted: &CompactionGoal<'_>,
        is_changed: &dyn Fn(&str) -> bool,
    ) -> Vec<String> {
        if wanted.fits() {
            return Vec::new();
        }
        let all = removable(request, is_changed, false);
        let chosen = wanted.select(&all).iter().filter(|result| self.announced.insert(result.number));
        chosen.map(|result| result.call.clone()).collect()
    }

    /// Sets the text by which the next request announces removals.
    pub(super) fn set_announcement(&mut self, text: String) {
        self.announcement = Some(text);
    }

    /// Returns the note for the receipt; `None` if nothing was removed.
    pub(in crate::review) fn receipt_note(&self) -> Option<String> {
        (self.sent > 0).then(|| {
            let results = count_noun(usize::try_from(self.sent).unwrap_or(usize::MAX), "result");
            format!(
                "{results} of reading calls, searches and the oldest first, were taken out of conversations to stay within the model's window; the \
                 model could make the calls again"
            )
        })
    }
}

/// Returns the tokens that the next answer and its results will probably take, after results of `last` tokens in a conversation of at most `most`.
pub(super) fn expected_results(last: u64, most: u64) -> u64 {
    last.max(most / LEAST_GAIN) + most / ANSWER
}

impl CompactionResult {
    /// Describes the compaction for the progress.
    pub(in crate::review) fn progress_note(&self, window: u64) -> String {
        let results = count_noun(usize::try_from(self.results).unwrap_or(usize::MAX), "older result");
        format!("{results} taken out of the conversation to stay within the model's window of {window} tokens")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::llm::{MessagePart, ToolResult};
    use crate::review::journal::shorten::{MARK, WORTH};

    /// Returns a conversation: for each turn, the calls by tool with the length of what they gave.
    fn conversation(turns: &[&[(&str, usize)]]) -> TurnRequest {
        let mut request = TurnRequest { system: "be careful".to_owned(), max_output: 9, ..TurnRequest::default() };
        request.push(Message::User { text: "the change".repeat(300), mark: true });
        for (turn, calls) in turns.iter().enumerate() {
            let mut parts = vec![
                MessagePart::Opaque { value: json!({ "thinking": turn }) },
                MessagePart::Text { text: "…".repeat(2_000) },
            ];
            let mut results = Vec::new();
            for (at, (name, length)) in calls.iter().enumerate() {
                let id = format!("c{turn}.{at}");
                let input = json!({ "file_path": format!("src/{turn}/{at}.rs") });
                let input = ToolInput::Object(input.as_object().unwrap().clone());
                let name = (*name).to_owned();
                parts.push(MessagePart::Call(ModelToolCall {
                    id: id.clone(),
                    name: name.clone(),
                    input,
                    signatures: vec!["s".to_owned()],
                }));
                results.push(ToolResult { id, name, text: "x".repeat(*length), is_error: false });
            }
            request.push(Message::Assistant { parts });
            request.push(Message::Results { results, mark: true });
        }
        request
    }

    fn size(request: &TurnRequest) -> u64 {
        let size = |message: &Message| match message {
            Message::User { text, .. } => estimate_tokens(text),
            Message::Assistant { parts } => estimate_tokens(&serde_json::to_string(parts).unwrap()),
            Message::Results { results, .. } => results.iter().map(|result| estimate_tokens(&result.text)).sum(),
        };
        request.messages.iter().map(size).sum()
    }

    fn answered(turns: &[&[(&str, usize)]]) -> TurnRequest {
        let mut request = conversation(turns);
        request.push(Message::Assistant { parts: vec![MessagePart::Text { text: "Next.".to_owned() }] });
        request
    }

    fn texts(request: &TurnRequest) -> Vec<&str> {
        let results = request.messages.iter().filter_map(|message| match message {
            Message::Results { results, .. } => Some(results),
            Message::User { .. } | Message::Assistant { .. } => None,
        });
        results.flatten().map(|result| result.text.as_str()).collect()
    }

    const READ: &str = "read_file_part";

    fn nothing(_: &str) -> bool {
        false
    }

    fn removed(numbers: impl IntoIterator<Item = u32>) -> RemovedResults {
        RemovedResults { messages: 0, results: numbers.into_iter().collect() }
    }

    #[test]
    fn the_oldest_are_removed_one_by_one_until_a_share_is_free() {
        let before = answered(&[&[(READ, 35_000)][..]; 6]);
        let size = size(&before);
        let (mut request, mut done) = (before.clone(), Compaction::default());
        let wanted = CompactionGoal { size, most: size + 1_000, coming: &[500] };
        assert_eq!(done.make_room(&mut request, &wanted, &nothing), None, "there is room");
        assert_eq!(request, before);
        let wanted = CompactionGoal { coming: &[2_000], ..wanted };
        let made = done.make_room(&mut request, &wanted, &nothing).unwrap();
        assert_eq!((made.results, &done.removed), (2, &removed([0, 1])), "{made:?}");
        assert_eq!(super::tests::size(&request) + made.freed, size, "what is said to be freed is");
        assert!(size - made.freed + 2_000 + wanted.most / LEFT_FREE <= wanted.most);
        let texts = texts(&request);
        assert!(texts[0].starts_with(MARK) && texts[1].starts_with(MARK), "{texts:.80?}");
        assert!(
            texts[0].contains(r#"read_file_part {"file_path":"src/0/0.rs"} was answered here (about 10000 tokens)"#)
        );
        assert!(texts[2..].iter().all(|text| text.len() == 35_000));
        // It continues from the previous state.
        let size = size - made.freed;
        let wanted = CompactionGoal { size, most: size - 12_000, coming: &[1] };
        done.make_room(&mut request, &wanted, &nothing).unwrap();
        assert_eq!((&done.removed, done.results), (&removed(0..5), 5));
        assert_eq!(done.receipt_note(), None, "it was not sent");
        assert_eq!(done.mark_sent().removed, removed(0..5));
        assert!(done.receipt_note().unwrap().starts_with("5 results"));
    }

    #[test]
    fn searches_go_first_and_then_files_outside_of_the_change() {
        let turn: &[(&str, usize)] = &[(READ, 7_000), ("read_diff", 7_000), ("search_in_files", 7_000)];
        let request = answered(&[turn, turn]);
        let is_changed = |path: &str| path == "src/0/0.rs";
        let order: Vec<u32> = removable(&request, &is_changed, true).iter().map(|result| result.number).collect();
        assert_eq!(order, [2, 0, 1, 5, 3, 4], "those of the last turn come last");
        let turns: [&[(&str, usize)]; 3] =
            [&[(READ, 7_000)], &[(READ, 7_000), ("search_in_files", 7_000)], &[(READ, 7_000)]];
        let order: Vec<u32> =
            removable(&answered(&turns), &is_changed, true).iter().map(|result| result.number).collect();
        assert_eq!(order, [2, 1, 0, 3], "the changed file was read first and stays longer");
    }

    #[test]
    fn what_will_be_removed_is_announced_once() {
        let request = answered(&[&[(READ, 35_000)][..]; 3]);
        let (size, mut done) = (size(&request), Compaction::default());
        let roomy = CompactionGoal { size, most: size + 5_000, coming: &[4_000] };
        assert!(done.announce(&request, &roomy, &nothing).is_empty());
        let tight = CompactionGoal { coming: &[6_000], ..roomy };
        let calls = [0, 1].map(|turn| format!(r#"read_file_part {{"file_path":"src/{turn}/0.rs"}}"#));
        assert_eq!(done.announce(&request, &tight, &nothing), calls);
        assert!(done.announce(&request, &tight, &nothing).is_empty());
        done.set_announcement("So.".to_owned());
        assert_eq!([0, 1].map(|_| done.mark_sent().announced), [Some("So.".to_owned()), None]);
        let mut shortened = request.clone();
        done.make_room(&mut shortened, &tight, &nothing).unwrap();
        assert_eq!(done.removed, removed([0, 1]), "what was announced");
    }

    #[test]
    fn nothing_but_what_reading_calls_showed_is_touched() {
        let turn: &[(&str, usize)] = &[
            ("report_finding", 9_000),
            (READ, 9_000),
            ("search_in_files", 400),
            ("unheard_of", 9_000),
            ("read_diff", 9_000),
        ];
        let before = answered(&[turn, turn]);
        let mut after = before.clone();
        shorten(&mut after, &RemovedResults { messages: 1, results: BTreeSet::new() });
        let changed = |(before, after): (&&str, &&str)| before != after;
        let (old, new) = (texts(&before), texts(&after));
        let changed: Vec<bool> = old.iter().zip(&new).map(changed).collect();
        assert_eq!(changed[..5], [false, true, false, false, true]);
        assert_eq!(changed[5..], [false; 5]);
        // Everything else is as it was: the same with all results emptied.
        let bare = |mut request: TurnRequest| {
            for message in &mut request.messages {
                if let Message::Results { results, .. } = message {
                    for result in results {
                        result.text.clear();
                    }
                }
            }
            request
        };
        assert_eq!(bare(after), bare(before));
    }

    #[test]
    fn an_error_and_what_the_model_has_not_answered_stay() {
        let mut request = conversation(&[&[(READ, 30_000)], &[(READ, 30_000)]]);
        if let Some(Message::Results { results, .. }) = request.messages.get_mut(2) {
            results[0].is_error = true;
        }
        let (before, size) = (request.clone(), size(&request));
        let mut done = Compaction::default();
        let wanted = CompactionGoal { size, most: size - 1, coming: &[] };
        assert_eq!(done.make_room(&mut request, &wanted, &nothing), None);
        assert_eq!(request, before);
        request.push(Message::Assistant { parts: Vec::new() });
        assert_eq!(done.make_room(&mut request, &wanted, &nothing).map(|made| made.results), Some(1));
        assert_eq!(done.removed, removed([1]));
    }

    #[test]
    fn what_gains_little_or_does_not_help_is_not_done() {
        // The first message takes nearly all.
        let mut little = answered(&[&[(READ, 2_000)]]);
        let mut done = Compaction::default();
        let wanted = |size: u64, most: u64, coming: &'static [u64]| CompactionGoal { size, most, coming };
        assert_eq!(done.make_room(&mut little, &wanted(10_000, 10_000, &[300]), &nothing), None);
        // No room would be large enough.
        let mut much = answered(&[&[(READ, 20_000)][..]; 3]);
        let size = size(&much);
        assert_eq!(done.make_room(&mut much, &wanted(size, size, &[1_000_000]), &nothing), None);
        assert_eq!(done, Compaction::default());
        // For one of them it is.
        let made = done.make_room(&mut much, &wanted(size, size, &[1_000_000, 300]), &nothing).unwrap();
        assert!(made.freed >= 300);
        assert_eq!((done.mark_sent().removed, done.dropped_results()), (removed([0, 1]), 2));
    }

    #[test]
    fn an_earlier_sitting_is_repeated() {
        let before = answered(&[&[(READ, 20_000), (READ, 20_000)][..]; 4]);
        let size = size(&before);
        let (mut first, mut done) = (before.clone(), Compaction::default());
        let goal = CompactionGoal { size, most: size - 1, coming: &[] };
        let made = done.make_room(&mut first, &goal, &nothing).unwrap();
        let (mut second, mut again) = (before.clone(), Compaction::default());
        assert_eq!(again.repeat(&mut second, &done.removed), Some(made));
        assert_eq!(again.repeat(&mut second, &done.removed), None);
        assert_eq!((first, done), (second, again));
        // A journal of an older version removes whole messages; it is continued one by one.
        let (mut third, mut older) = (before, Compaction::default());
        let messages = RemovedResults { messages: 1, results: BTreeSet::new() };
        assert_eq!(older.repeat(&mut third, &messages).map(|made| made.results), Some(2));
        let size = super::tests::size(&third);
        older.make_room(&mut third, &CompactionGoal { size, most: size - 1, coming: &[] }, &nothing).unwrap();
        assert_eq!(older.removed, RemovedResults { messages: 1, results: BTreeSet::from([2, 3]) });
    }

    proptest! {
        #[test]
        fn what_is_taken_out_once_stays_and_takes_less(
            lengths in prop::collection::vec(prop::collection::vec(0_usize..4_000, 0..4), 0..6),
            path in ".{0,400}",
            chosen in prop::collection::btree_set(0_u32..20, 0..12),
        ) {
            let turns: Vec<Vec<(&str, usize)>> = lengths.iter().map(|turn| turn.iter().map(|length| (READ, *length)).collect()).collect();
            let turns: Vec<&[(&str, usize)]> = turns.iter().map(Vec::as_slice).collect();
            let mut request = answered(&turns);
            for message in &mut request.messages {
                if let Message::Assistant { parts } = message {
                    for part in parts {
                        if let MessagePart::Call(ModelToolCall { input: ToolInput::Object(input), .. }) = part {
                            input.insert("file_path".to_owned(), path.clone().into());
                        }
                    }
                }
            }
            let before = size(&request);
            let removed = RemovedResults { messages: 0, results: chosen };
            let all = removable(&request, &nothing, true);
            let freed: u64 = all.iter().filter(|result| removed.results.contains(&result.number)).map(|result| result.freed).sum();
            shorten(&mut request, &removed);
            prop_assert_eq!(size(&request) + freed, before);
            let once = request.clone();
            shorten(&mut request, &removed);
            prop_assert_eq!(&request, &once);
            prop_assert!(texts(&request).iter().all(|text| !text.starts_with(MARK) || text.len() < WORTH));
        }
    }
}
