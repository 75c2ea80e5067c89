//! Making room in a conversation that fills the model's window: the oldest results of reading calls are replaced by a line each. Main
//! type: [`Compaction`].
//!
//! System text, tools, the first message, the model's text and the results of the engine's own tools never change, and a call keeps its result, so
//! that every provider accepts the conversation. Each compaction invalidates the provider's cache behind the first changed line: it is done only if
//! it gains much, and then much at once. Coverage is kept; the model can read again what it needs.
//!
//! A conversation is shortened by [`shorten`] alone.

use crate::domain::text::count_noun;
use crate::llm::{Message, ToolResult, TurnRequest};
use crate::review::journal::shorten::{calls_of_last, replacement_line, shorten};
use crate::review::tokens::estimate_tokens;

/// Divisor: the minimum share of the available size that must be gained, or nothing is done.
const LEAST_GAIN: u64 = 10;
/// Divisor: the share that is freed, if that much can be gained.
const FREED: u64 = 2;

/// State of the compaction of a conversation.
#[derive(Debug, Default, PartialEq, Eq)]
pub(in crate::review) struct Compaction {
    /// Number of the oldest messages with results that are shortened, as in the journal.
    messages: u32,
    /// Number of results in them.
    results: u32,
    /// Number of results shortened in the last request sent: what is shortened after it is not reported.
    sent: u32,
}

/// Result of making room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::review) struct CompactionResult {
    /// Results that were shortened.
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
}

impl Compaction {
    /// Returns the tokens that could be gained at most.
    pub(in crate::review) fn max_freed_tokens(&self, request: &TurnRequest) -> u64 {
        gains(request, self.messages).iter().map(|gain| gain.freed).sum()
    }

    /// Marks `request` as sent, and returns the number of its shortened messages.
    pub(in crate::review) fn mark_sent(&mut self) -> u32 {
        self.sent = self.results;
        self.messages
    }

    /// Returns the number of results that were shortened in what was sent.
    pub(super) fn dropped_results(&self) -> u32 {
        self.sent
    }

    /// Counts what was taken out of another conversation of the run.
    pub(super) fn add_dropped_results(&mut self, results: u32) {
        self.sent += results;
    }

    /// Shortens as much as necessary; `None` if nothing is. Results without a response of the model stay.
    pub(super) fn make_room(
        &mut self,
        request: &mut TurnRequest,
        wanted: &CompactionGoal<'_>,
    ) -> Option<CompactionResult> {
        if wanted.fits() {
            return None;
        }
        let gains = gains(request, self.messages);
        let all: u64 = gains.iter().map(|gain| gain.freed).sum();
        // A result that is too large for any room is no reason.
        let helps = wanted.size > wanted.most || wanted.placed(all).0 > wanted.placed(0).0;
        if !helps || all < wanted.most / LEAST_GAIN {
            return None;
        }
        let (_, coming) = wanted.placed(all);
        let target = wanted.most.saturating_sub(coming).min(wanted.most - wanted.most / FREED);
        let mut made = CompactionResult { results: 0, freed: 0 };
        let mut messages = self.messages;
        for gain in gains {
            if wanted.size.saturating_sub(made.freed) <= target {
                break;
            }
            made.freed += gain.freed;
            made.results += gain.results;
            messages += 1;
        }
        self.take(request, messages, made);
        Some(made)
    }

    /// Shortens the first messages of `request`, up to this number in all, as an earlier session did; `None` if they already are.
    pub(super) fn repeat(&mut self, request: &mut TurnRequest, messages: u32) -> Option<CompactionResult> {
        let further = usize::try_from(messages.saturating_sub(self.messages)).unwrap_or(usize::MAX);
        if further == 0 {
            return None;
        }
        let gains = gains(request, self.messages).into_iter().take(further);
        let made = gains.fold(CompactionResult { results: 0, freed: 0 }, |made, gain| CompactionResult {
            results: made.results + gain.results,
            freed: made.freed + gain.freed,
        });
        self.take(request, messages, made);
        Some(made)
    }

    fn take(&mut self, request: &mut TurnRequest, messages: u32, made: CompactionResult) {
        shorten(request, messages);
        self.messages = messages;
        self.results += made.results;
    }

    /// Returns the note for the receipt; `None` if nothing was shortened.
    pub(in crate::review) fn receipt_note(&self) -> Option<String> {
        (self.sent > 0).then(|| {
            let results = count_noun(usize::try_from(self.sent).unwrap_or(usize::MAX), "result");
            format!(
                "{results} of reading calls, the oldest, were taken out of conversations to stay within the model's window; the model could \
                 make the calls again"
            )
        })
    }
}

impl CompactionResult {
    /// Describes the compaction for the progress.
    pub(in crate::review) fn progress_note(&self, window: u64) -> String {
        let results = count_noun(usize::try_from(self.results).unwrap_or(usize::MAX), "older result");
        format!("{results} taken out of the conversation to stay within the model's window of {window} tokens")
    }
}

/// Returns the messages with results that the model has answered, oldest first and without the first ones, and the gain of shortening each.
fn gains(request: &TurnRequest, from: u32) -> Vec<CompactionResult> {
    let answered = request.messages.iter().rposition(|message| matches!(message, Message::Assistant { .. }));
    let messages = request.messages.iter().enumerate().take(answered.unwrap_or(0));
    let results = messages.filter_map(|(at, message)| match message {
        Message::Results { results, .. } => Some((at, results)),
        Message::User { .. } | Message::Assistant { .. } => None,
    });
    let gain = |(at, results): (usize, &Vec<ToolResult>)| {
        let calls = calls_of_last(&request.messages[..at]);
        let lines = results.iter().enumerate().filter_map(|(at, result)| {
            let line = replacement_line(calls.get(at).copied(), result)?;
            Some(estimate_tokens(&result.text).saturating_sub(estimate_tokens(&line)))
        });
        lines.fold(CompactionResult { results: 0, freed: 0 }, |made, freed| CompactionResult {
            results: made.results + 1,
            freed: made.freed + freed,
        })
    };
    results.skip(usize::try_from(from).unwrap_or(usize::MAX)).map(gain).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::llm::ModelToolCall;
    use crate::llm::{MessagePart, ToolInput};
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

    #[test]
    fn the_oldest_are_taken_out_and_much_at_once() {
        let before = answered(&[&[(READ, 35_000)][..]; 6]);
        let size = size(&before);
        let (mut request, mut done) = (before.clone(), Compaction::default());
        let wanted = CompactionGoal { size, most: size + 1_000, coming: &[500] };
        assert_eq!(done.make_room(&mut request, &wanted), None, "there is room");
        assert_eq!(request, before);
        let wanted = CompactionGoal { coming: &[2_000], ..wanted };
        let made = done.make_room(&mut request, &wanted).unwrap();
        assert_eq!((made.results, done.messages), (4, 4), "{made:?}");
        assert_eq!(super::tests::size(&request) + made.freed, size, "what is said to be freed is");
        assert!(size - made.freed <= wanted.most - wanted.most / FREED);
        let texts = texts(&request);
        assert!(texts[0].starts_with(MARK) && texts[1].starts_with(MARK), "{texts:.80?}");
        assert!(
            texts[0].contains(r#"read_file_part {"file_path":"src/0/0.rs"} was answered here (about 10000 tokens)"#)
        );
        assert!(texts[4..].iter().all(|text| text.len() == 35_000));
        // It continues from the previous state.
        let wanted = CompactionGoal { size: size - made.freed, most: size - made.freed, coming: &[1] };
        done.make_room(&mut request, &wanted).unwrap();
        assert_eq!((done.messages, done.results), (6, 6));
        assert_eq!(done.receipt_note(), None, "it was not sent");
        assert_eq!(done.mark_sent(), 6);
        assert!(done.receipt_note().unwrap().starts_with("6 results"));
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
        shorten(&mut after, 1);
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
        assert_eq!(done.make_room(&mut request, &wanted), None);
        assert_eq!(request, before);
        request.push(Message::Assistant { parts: Vec::new() });
        assert_eq!(done.make_room(&mut request, &wanted).map(|made| made.results), Some(1));
        assert_eq!(done.messages, 2);
    }

    #[test]
    fn what_gains_little_or_does_not_help_is_not_done() {
        // The first message takes nearly all.
        let mut little = answered(&[&[(READ, 2_000)]]);
        let mut done = Compaction::default();
        let wanted = |size: u64, most: u64, coming: &'static [u64]| CompactionGoal { size, most, coming };
        assert_eq!(done.make_room(&mut little, &wanted(10_000, 10_000, &[300])), None);
        // No room would be large enough.
        let mut much = answered(&[&[(READ, 20_000)][..]; 3]);
        let size = size(&much);
        assert_eq!(done.make_room(&mut much, &wanted(size, size, &[1_000_000])), None);
        assert_eq!(done, Compaction::default());
        // For one of them it is.
        let made = done.make_room(&mut much, &wanted(size, size, &[1_000_000, 300])).unwrap();
        assert!(made.freed >= 300);
        assert_eq!((done.mark_sent(), done.dropped_results()), (3, 3));
    }

    #[test]
    fn an_earlier_sitting_is_repeated() {
        let before = answered(&[&[(READ, 20_000), (READ, 20_000)][..]; 4]);
        let size = size(&before);
        let (mut first, mut done) = (before.clone(), Compaction::default());
        let made = done.make_room(&mut first, &CompactionGoal { size, most: size - 1, coming: &[] }).unwrap();
        let (mut second, mut again) = (before, Compaction::default());
        assert_eq!(again.repeat(&mut second, done.messages), Some(made));
        assert_eq!(again.repeat(&mut second, done.messages), None);
        assert_eq!((first, done), (second, again));
    }

    proptest! {
        #[test]
        fn what_is_taken_out_once_stays_and_takes_less(
            lengths in prop::collection::vec(prop::collection::vec(0_usize..4_000, 0..4), 0..6),
            path in ".{0,400}",
            messages in 0_u32..8,
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
            let freed: u64 = gains(&request, 0).iter().take(messages as usize).map(|made| made.freed).sum();
            shorten(&mut request, messages);
            prop_assert_eq!(size(&request) + freed, before);
            let once = request.clone();
            shorten(&mut request, messages);
            prop_assert_eq!(&request, &once);
            prop_assert!(texts(&request).iter().all(|text| !text.starts_with(MARK) || text.len() < WORTH));
        }
    }
}
