//! The preview of a review, for people and for programs. Main functions: [`terminal`], [`json`].
//!
//! Paths, and names of the change, are text of the repository: they are stripped here.

use std::time::Duration;

use serde_json::{Value, json as object};
use textwrap::Options;

use super::digest;
use crate::domain::id::CommitId;
use crate::domain::money::Money;
use crate::domain::preview::{
    CodeReceiver, Estimate, EstimateRange, FilePlan, FileState, PartPlan, Preview, SentContent,
};
use crate::domain::provider_info::PriceList;
use crate::domain::text::{group_thousands, strip_line};

/// Upper bound on the listed files of one kind, parts and notes; the JSON has all.
const NAMED: usize = 12;
/// Width of the first column.
const LABEL: usize = 10;
/// The value of the document's field `schema`.
const SCHEMA: &str = "preview/1";

/// Renders the preview for people, `width` columns wide.
pub fn terminal(preview: &Preview, width: usize) -> String {
    let mut page = PreviewPage { out: String::new(), width: width.clamp(40, 100) };
    page.row("preview", "nothing is sent, and nothing is kept");
    let change = &preview.change;
    let size = digest::size(change).join(", ");
    page.row("change", &format!("{}: {} ({size})", change.repository, digest::change_names(change)));
    match &preview.model {
        None => {
            page.row("reviewer", "the built-in rules (no model): no code leaves this machine, and it costs nothing");
        }
        Some(model) => {
            page.row("sent to", &receiver(model));
            page.row("prices", &prices(model.prices.as_ref()));
        }
    }
    for next in &preview.next {
        page.row("then to", &format!("{}, where the one before fails for good", receiver(next)));
        page.row("prices", &prices(next.prices.as_ref()));
    }
    if let Some(second) = &preview.second {
        page.row("and to", &format!("{}, for the second look", receiver(second)));
        page.row("prices", &prices(second.prices.as_ref()));
    }
    if let Some(from) = &preview.instructions {
        page.row("told", &format!("instructions from {from}"));
    }
    if !preview.guidelines.is_empty() {
        let named = preview.guidelines.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
        let more = preview.guidelines.len().saturating_sub(NAMED);
        let more = if more == 0 { String::new() } else { format!(" and {more} more") };
        page.row("told", &format!("guidelines of the project: {named}{more}"));
    }
    match &preview.sent {
        Some(sent) => conversations(&mut page, sent),
        None if preview.model.is_some() => page.row("sent", "nothing: no changed file has lines to review"),
        None => {}
    }
    files(&mut page, &preview.files);
    if let Some(sent) = &preview.sent {
        page.out.push('\n');
        estimate(&mut page, &sent.estimate);
        page.rows("limits", &sent.limits);
    }
    page.rows("notes", &preview.notes);
    page.out
}

/// Rows of a label and a text.
struct PreviewPage {
    out: String,
    width: usize,
}

impl PreviewPage {
    fn row(&mut self, label: &str, text: &str) {
        let first = format!("{label:LABEL$}");
        let next = " ".repeat(LABEL);
        let options = Options::new(self.width).initial_indent(&first).subsequent_indent(&next);
        let text = strip_line(text);
        self.out.push_str(textwrap::fill(&text, options.break_words(false)).trim_end());
        self.out.push('\n');
    }

    fn rows(&mut self, label: &str, texts: &[String]) {
        let more = texts.len().saturating_sub(NAMED);
        let more = (more > 0).then(|| format!("and {more} more; --format json has all"));
        // The label is shown once.
        let labels = std::iter::once(label).chain(std::iter::repeat(""));
        for (label, text) in labels.zip(texts.iter().take(NAMED).chain(&more)) {
            self.row(label, text);
        }
    }
}

fn receiver(receiver: &CodeReceiver) -> String {
    let key = receiver.missing_key.as_ref().map_or_else(String::new, |variable| format!("; {variable} is not set"));
    let window = group_thousands(receiver.context_window);
    format!("{} at {} (a window of {window} tokens{key})", receiver.model, receiver.address)
}

fn prices(prices: Option<&PriceList>) -> String {
    let Some(prices) = prices else { return "unknown: what it costs cannot be said (docs/models.md)".to_owned() };
    let (input, output) = (prices.input.format_full(), prices.output.format_full());
    let mut text = format!("for a million tokens {input} sent, {output} received");
    if let Some(read) = prices.cache_read {
        text.push_str(&format!(", {} read from the cache", read.format_full()));
    }
    if let Some(write) = prices.cache_write {
        text.push_str(&format!(", {} written to it", write.format_full()));
    }
    format!("{text} (of {})", prices.on)
}

fn conversations(page: &mut PreviewPage, sent: &SentContent) {
    let size = |tokens: u64| group_thousands(tokens);
    let room = size(sent.room);
    let all = digest::count_noun(sent.parts.len(), "conversation");
    let begin: u64 = sent.parts.iter().map(PartPlan::request).sum();
    page.row("sent", &format!("{all}; {} tokens to begin with (room for {room} in each first message)", size(begin)));
    for (at, part) in sent.parts.iter().enumerate().take(NAMED) {
        let name = if sent.parts.len() == 1 { "the change".to_owned() } else { format!("part {}", at + 1) };
        let unsure = if part.is_promised { "" } else { "; begun only if the others leave enough" };
        let text = format!(
            "{name}: {}, {} tokens (system {}, tools {}, message {}){unsure}",
            digest::count_noun(part.files, "file"),
            size(part.request()),
            size(part.system),
            size(part.tools),
            size(part.message),
        );
        page.row("", &text);
    }
    if sent.parts.len() > NAMED {
        page.row("", &format!("and {} more parts; --format json has all", sent.parts.len() - NAMED));
    }
    if sent.leads > 0 {
        let left_out = match sent.leads_left_out {
            0 => String::new(),
            some => format!(", {some} of which do not fit"),
        };
        page.row("told", &format!("{} of other tools{left_out}", digest::count_noun(sent.leads, "lead")));
    }
}

fn files(page: &mut PreviewPage, files: &[FilePlan]) {
    let states = FileState::ALL.iter().map(|state| (*state, state.as_str().replace('_', " ")));
    let of = |state: FileState| files.iter().filter(move |file| file.state == state);
    let counts = states.clone().map(|(state, word)| (of(state).count(), word)).filter(|(count, _)| *count > 0);
    let counts: Vec<String> = counts.map(|(count, word)| format!("{count} {word}")).collect();
    if counts.is_empty() {
        return page.row("files", "none changed");
    }
    page.row("files", &counts.join(", "));
    for (state, word) in states {
        let reasons: Vec<String> = of(state)
            .filter_map(|file| Some(format!("{} — {}", file.path.display_name(), file.reason.as_ref()?)))
            .collect();
        page.rows(&word, &reasons);
    }
}

fn estimate(page: &mut PreviewPage, estimate: &Estimate) {
    let of = |span: EstimateRange<u64>| {
        format!("{} likely, {} at most", group_thousands(span.likely), group_thousands(span.most))
    };
    page.row("estimate", &format!("turns: {}", of(estimate.turns)));
    page.row("", &format!("tokens in: {}", of(estimate.input_tokens)));
    page.row("", &format!("tokens out: {}", of(estimate.output_tokens)));
    let cost = estimate.cost.map_or_else(
        || "cost unknown".to_owned(),
        |cost| format!("cost: {} likely, {} at most", cost.likely, cost.most),
    );
    page.row("", &cost);
    page.row("", &format!("time: {} likely, {} at most", roughly(estimate.time.likely), roughly(estimate.time.most)));
    page.rows("basis", &estimate.basis);
}

/// Formats an estimated time: `40 s`, `16 min`.
fn roughly(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..120 => format!("{seconds} s"),
        seconds => format!("{} min", (seconds + 30) / 60),
    }
}

/// Renders the preview for programs, as one document.
pub fn json(preview: &Preview) -> Vec<u8> {
    let change = &preview.change;
    let id = |id: Option<CommitId>| id.map(|id| id.to_string());
    let document = object!({
        "schema": SCHEMA,
        "change": {
            "repository": strip_line(&change.repository), "target": strip_line(&change.target), "base": id(change.base),
            "head": id(change.head), "merge_base": id(change.merge_base), "head_name": strip_line(&change.head_name),
            "commits": change.commits.len() + change.commits_omitted,
        },
        "engine": if preview.model.is_some() { "model" } else { "rules" },
        "model": preview.model.as_ref().map(receiver_json),
        "next": preview.next.iter().map(receiver_json).collect::<Vec<_>>(),
        "second_look": preview.second.as_ref().map(receiver_json),
        "instructions": preview.instructions.as_deref().map(strip_line),
        "guidelines": preview.guidelines.iter().map(|path| strip_line(path)).collect::<Vec<_>>(),
        "files": preview.files.iter().map(file_json).collect::<Vec<_>>(),
        "sent": preview.sent.as_ref().map(sent_json),
        "notes": preview.notes.iter().map(|note| strip_line(note)).collect::<Vec<_>>(),
    });
    let mut bytes = serde_json::to_vec_pretty(&document).unwrap_or_default();
    bytes.push(b'\n');
    bytes
}

fn receiver_json(receiver: &CodeReceiver) -> Value {
    object!({
        "model": strip_line(&receiver.model),
        "address": strip_line(&receiver.address),
        "missing_key": receiver.missing_key.as_deref().map(strip_line),
        "context_window": receiver.context_window,
        "prices_usd_per_million": receiver.prices.map(|prices| object!({
            "input": prices.input.usd(), "output": prices.output.usd(), "cache_read": prices.cache_read.map(Money::usd),
            "cache_write": prices.cache_write.map(Money::usd), "on": prices.on.to_string(),
        })),
    })
}

fn file_json(file: &FilePlan) -> Value {
    object!({
        "path": file.path.to_string(), "state": file.state.as_str(), "reason": file.reason.as_deref().map(strip_line), "part": file.part,
    })
}

fn sent_json(sent: &SentContent) -> Value {
    let parts = sent.parts.iter().map(|part| {
        object!({
            "files": part.files, "system_tokens": part.system, "tools_tokens": part.tools, "message_tokens": part.message,
            "request_tokens": part.request(), "promised": part.is_promised,
        })
    });
    let Estimate { turns, input_tokens, output_tokens, cost, time, basis } = &sent.estimate;
    let span = |span: &EstimateRange<u64>| object!({ "least": span.least, "likely": span.likely, "most": span.most });
    object!({
        "parts": parts.collect::<Vec<_>>(),
        "room_tokens": sent.room,
        "leads": sent.leads,
        "leads_left_out": sent.leads_left_out,
        "estimate": {
            "turns": span(turns), "input_tokens": span(input_tokens), "output_tokens": span(output_tokens),
            "cost_usd": cost.map(|cost| object!({ "least": cost.least.usd(), "likely": cost.likely.usd(), "most": cost.most.usd() })),
            "seconds": object!({
                "least": time.least.as_secs(), "likely": time.likely.as_secs(), "most": time.most.as_secs(),
            }),
            "basis": basis,
        },
        "limits": sent.limits,
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::domain::change::{ChangeSet, FileChange};
    use crate::domain::path::RepoPath;

    fn usd(text: &str) -> Money {
        text.parse().unwrap()
    }

    fn preview() -> Preview {
        let path = |path: &str| RepoPath::parse(path).unwrap();
        let mut change = ChangeSet::of(vec![FileChange::modified(path("src/a.rs"))]);
        change.repository = "de\x1b[31mmo".to_owned();
        let file = |at: &str, state, reason: Option<&str>| FilePlan {
            path: path(at),
            state,
            reason: reason.map(str::to_owned),
            part: None,
        };
        let prices = PriceList {
            input: usd("3"),
            output: usd("15"),
            cache_read: Some(usd("0.3")),
            cache_write: Some(usd("3.75")),
            on: "2026-11-01".parse().unwrap(),
        };
        let estimate = Estimate {
            turns: EstimateRange { least: 2, likely: 4, most: 10 },
            input_tokens: EstimateRange { least: 24_000, likely: 57_000, most: 310_000 },
            output_tokens: EstimateRange { least: 200, likely: 2_400, most: 20_000 },
            cost: Some(EstimateRange { least: usd("0.04"), likely: usd("0.12"), most: usd("1.46") }),
            time: EstimateRange {
                least: Duration::from_secs(6),
                likely: Duration::from_secs(40),
                most: Duration::from_mins(5),
            },
            basis: vec!["the first requests as they would be sent".to_owned()],
        };
        let part = PartPlan { files: 3, system: 1_200, tools: 3_400, message: 7_400, is_promised: true };
        Preview {
            change: Arc::new(change),
            model: Some(CodeReceiver {
                model: "anthropic/claude".to_owned(),
                address: "https://api.example".to_owned(),
                missing_key: Some("ANTHROPIC_API_KEY".to_owned()),
                context_window: 200_000,
                prices: Some(prices),
            }),
            next: vec![CodeReceiver {
                model: "ollama/small".to_owned(),
                address: "http://127.0.0.1:11434".to_owned(),
                missing_key: None,
                context_window: 32_000,
                prices: None,
            }],
            second: None,
            files: vec![
                file("src/a.rs", FileState::Shown, None),
                file("src/b.rs", FileState::Cut, Some("3 of 9 hunks are shown whole; the model can read on")),
                file("Cargo.lock", FileState::Skipped, Some("lock file")),
            ],
            instructions: Some("docs/review.md".to_owned()),
            guidelines: vec!["AGENTS.md".to_owned()],
            sent: Some(SentContent {
                parts: vec![part],
                room: 30_000,
                leads: 4,
                leads_left_out: 1,
                estimate,
                limits: vec!["the limit of $1.00 may end it (--max-cost)".to_owned()],
            }),
            notes: vec!["one\nnote".to_owned()],
        }
    }

    #[test]
    fn a_person_sees_who_gets_what_and_what_it_may_cost() {
        insta::assert_snapshot!(terminal(&preview(), 100));
        let mut unknown = preview();
        unknown.model.as_mut().unwrap().prices = None;
        unknown.sent.as_mut().unwrap().estimate.cost = None;
        let told = terminal(&unknown, 100);
        assert!(told.contains("prices    unknown") && told.contains("cost unknown") && !told.contains("$0"), "{told}");
        let rules = Preview { model: None, next: Vec::new(), sent: None, ..preview() };
        assert!(terminal(&rules, 80).contains("the built-in rules (no model)"));
    }

    #[test]
    fn a_program_reads_the_same() {
        insta::assert_snapshot!(String::from_utf8(json(&preview())).unwrap());
    }
}
