//! Parser of responses in the text protocol. Main type: [`AnswerParser`].
//!
//! It accepts pieces that may be cut anywhere and decides line by line, reading each byte once. For any input, its output is no larger than the
//! input.

use std::sync::Arc;

use super::kind::ToolFields;
use super::marks::{CALL, MarkLine};
use super::values::{Input, RawValue};
use crate::llm::turn::{ToolDefinition, ToolInput};

/// Piece of a response.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::llm) enum AnswerPiece {
    /// Text around the calls.
    Text(String),
    Call {
        name: String,
        /// Input; the raw text, if the call has no end.
        input: ToolInput,
    },
}

/// Complete response.
#[derive(Debug, Clone, Default, PartialEq)]
pub(in crate::llm) struct ParsedAnswer {
    /// Its pieces, in order.
    pub(in crate::llm) pieces: Vec<AnswerPiece>,
    /// `true` if the model continued with an invented result; the text behind it was not read.
    pub(in crate::llm) invented: bool,
}

/// Parser of a response.
pub(in crate::llm) struct AnswerParser<'a> {
    tools: Vec<(&'a str, Arc<ToolFields>)>,
    /// The line that has not ended.
    line: String,
    text: String,
    open: Option<OpenCall>,
    parsed: ParsedAnswer,
}

/// A call that has not ended.
struct OpenCall {
    name: String,
    /// Fields of the tool; `None` if it is unknown.
    fields: Option<Arc<ToolFields>>,
    /// Blanks before its mark: those of its fields are indented no deeper.
    indent: usize,
    /// Raw text of the call.
    raw: String,
    /// Text before the first field.
    loose: String,
    field: Option<(String, RawValue)>,
    input: Input,
}

/// Kind of a line.
enum LineKind<'a> {
    Call(MarkLine<'a>),
    End,
    Result,
    Field(MarkLine<'a>),
    Text,
}

impl<'a> AnswerParser<'a> {
    /// Creates a parser for responses to these tools.
    pub(in crate::llm) fn new(tools: &'a [ToolDefinition]) -> Self {
        let tools = tools.iter().map(|tool| (tool.name.as_str(), Arc::new(ToolFields::of(&tool.schema)))).collect();
        Self { tools, line: String::new(), text: String::new(), open: None, parsed: ParsedAnswer::default() }
    }

    /// Feeds a piece of the response.
    pub(in crate::llm) fn push(&mut self, piece: &str) {
        for part in piece.split_inclusive('\n') {
            if self.parsed.invented {
                return;
            }
            self.line.push_str(part);
            if part.ends_with('\n') {
                let line = std::mem::take(&mut self.line);
                self.take(&line);
            }
        }
    }

    /// Ends the response.
    pub(in crate::llm) fn finish(mut self) -> ParsedAnswer {
        let line = std::mem::take(&mut self.line);
        if !line.is_empty() && !self.parsed.invented {
            self.take(&line);
        }
        self.drop_unfinished_call();
        self.end_text();
        self.parsed
    }

    fn take(&mut self, whole: &str) {
        let line = whole.strip_suffix('\n').unwrap_or(whole);
        let line = line.strip_suffix('\r').unwrap_or(line);
        match self.what(line) {
            LineKind::Call(mark) => {
                self.drop_unfinished_call();
                self.end_text();
                self.open = Some(self.begin(mark));
            }
            LineKind::Result => {
                self.drop_unfinished_call();
                self.parsed.invented = true;
            }
            LineKind::End => {
                if let Some(mut open) = self.open.take() {
                    open.end_field();
                    let name = std::mem::take(&mut open.name);
                    open.input.take_json(&open.loose);
                    self.parsed.pieces.push(AnswerPiece::Call { name, input: ToolInput::Object(open.input.finish()) });
                }
            }
            LineKind::Field(mark) => {
                if let Some(open) = &mut self.open {
                    open.end_field();
                    open.raw.push_str(whole);
                    let raw = RawValue { inline: mark.rest.to_owned(), lines: Vec::new() };
                    open.field = Some((mark.name.to_owned(), raw));
                }
            }
            LineKind::Text => match &mut self.open {
                Some(open) => {
                    open.raw.push_str(whole);
                    match &mut open.field {
                        Some((_, raw)) => raw.lines.push(line.to_owned()),
                        None => open.loose.push_str(whole),
                    }
                }
                None => self.text.push_str(whole),
            },
        }
    }

    fn what<'l>(&self, line: &'l str) -> LineKind<'l> {
        let Some(mark) = MarkLine::of(line) else { return LineKind::Text };
        let Some(open) = &self.open else {
            return match mark {
                mark if mark.is_word(&["call"]) && tool(mark.rest).is_some() => LineKind::Call(mark),
                mark if mark.is_word(&["result"]) && !self.parsed.pieces.is_empty() => LineKind::Result,
                // An end mark without a call is ignored.
                mark if mark.is_word(ENDS) => LineKind::End,
                _ => LineKind::Text,
            };
        };
        if mark.indent > open.indent {
            return LineKind::Text;
        }
        match mark {
            mark if mark.is_word(ENDS) => LineKind::End,
            mark if mark.is_word(&["call"]) && tool(mark.rest).is_some() => LineKind::Call(mark),
            mark if mark.is_word(&["result"]) => LineKind::Result,
            mark if open.takes(&mark) => LineKind::Field(mark),
            _ => LineKind::Text,
        }
    }

    fn begin(&self, mark: MarkLine<'_>) -> OpenCall {
        let (name, rest) = tool(mark.rest).unwrap_or_default();
        let known = self.tools.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        OpenCall {
            name: known.map_or(name, |(known, _)| known).to_owned(),
            fields: known.map(|(_, fields)| Arc::clone(fields)),
            indent: mark.indent,
            raw: format!("{CALL} {}\n", mark.rest),
            loose: rest.to_owned(),
            field: None,
            input: Input::default(),
        }
    }

    /// Drops a call without its end: the missing part is unknown, so the call is not made.
    fn drop_unfinished_call(&mut self) {
        if let Some(open) = self.open.take() {
            self.parsed.pieces.push(AnswerPiece::Call { name: open.name, input: ToolInput::Malformed(open.raw) });
        }
    }

    fn end_text(&mut self) {
        let text = std::mem::take(&mut self.text);
        if !text.trim().is_empty() {
            self.parsed.pieces.push(AnswerPiece::Text(text));
        }
    }
}

/// Words that end a call.
const ENDS: &[&str] = &["end", "end_call", "endcall"];

/// Returns the tool's name on the first line of a call, and what follows it.
fn tool(rest: &str) -> Option<(&str, &str)> {
    let rest = rest.trim_start_matches(['`', '"', '*']);
    let end = rest.find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-' | '.'))).unwrap_or(rest.len());
    let (name, rest) = rest.split_at(end);
    (!name.is_empty()).then(|| (name, rest.trim_start_matches(['`', '"', '*', ':', '(']).trim()))
}

impl OpenCall {
    /// Checks whether a mark is one of the call's fields. In the lines of a text, only a field of the tool counts: the text may hold such lines.
    fn takes(&self, mark: &MarkLine<'_>) -> bool {
        let outer = mark.name.split('.').next().unwrap_or_default();
        let in_text = self.field.as_ref().is_some_and(|(_, raw)| !raw.lines.is_empty() || raw.inline.is_empty());
        match &self.fields {
            Some(fields) => !in_text || fields.field(outer).is_some(),
            None => true,
        }
    }

    fn end_field(&mut self) {
        if let Some((name, raw)) = self.field.take() {
            self.input.take(&name, raw, self.fields.as_deref());
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Map, Value, json};

    use super::*;

    fn tools() -> Vec<ToolDefinition> {
        let text = json!({ "type": "string" });
        let number = json!({ "type": "integer" });
        let places = json!({ "type": "array", "items": { "type": "object", "properties": { "file_path": text, "quote": text } } });
        let report = json!({ "type": "object", "required": ["title", "quote"], "properties": {
            "title": text, "quote": text, "severity": { "enum": ["high", "low"] }, "start_line": number,
            "suggestion": text, "related": places,
        }});
        let read = json!({ "type": "object", "properties": { "file_path": text, "start_line": number } });
        [("report", report), ("read", read)]
            .map(|(name, schema)| ToolDefinition { name: name.to_owned(), description: String::new(), schema })
            .to_vec()
    }

    fn parsed(text: &str) -> ParsedAnswer {
        let tools = tools();
        let mut parser = AnswerParser::new(&tools);
        parser.push(text);
        parser.finish()
    }

    fn calls(text: &str) -> Vec<(String, Value)> {
        let calls = parsed(text).pieces.into_iter().filter_map(|piece| match piece {
            AnswerPiece::Call { name, input: ToolInput::Object(input) } => Some((name, Value::Object(input))),
            AnswerPiece::Call { name, input: ToolInput::Malformed(raw) } => Some((name, Value::String(raw))),
            AnswerPiece::Text(_) => None,
        });
        calls.collect()
    }

    const REPORT: &str = "I see one.\n\n@@call report\n@@title: It \"fails\": always\n@@severity: `high`\n@@start_line: 12\n@@quote:\n\
                          \x20   if a {\n\n    }\n@@suggestion: none\n@@related.file_path: a.rs\n@@related.quote: x\n\
                          @@related.file_path: b.rs\n@@related.quote:\n  y\n  z\n\n@@end\nThat is all.\n";

    #[test]
    fn a_call_is_read_with_its_long_texts_as_they_are() {
        let parsed = parsed(REPORT);
        assert_eq!(parsed.pieces.len(), 3, "{parsed:?}");
        assert_eq!(parsed.pieces[0], AnswerPiece::Text("I see one.\n\n".to_owned()));
        assert_eq!(
            calls(REPORT),
            [(
                "report".to_owned(),
                json!({
                    "title": "It \"fails\": always", "severity": "high", "start_line": 12, "quote": "    if a {\n\n    }",
                    "related": [{ "file_path": "a.rs", "quote": "x" }, { "file_path": "b.rs", "quote": "  y\n  z" }],
                })
            )]
        );
    }

    #[test]
    fn it_is_read_however_it_is_dressed() {
        let wanted = [("read".to_owned(), json!({ "file_path": "a.rs", "start_line": 3 }))];
        for text in [
            "@@call read\n@@file_path: a.rs\n@@start_line: 3\n@@end",
            "@@CALL: `READ`\r\n@@File_Path = a.rs\r\n@@start_line 3\r\n@@end_call\r\n",
            "```\n  @@call read\n  @@file_path: a.rs\n  @@start_line: \"3\"\n  @@end\n```",
            "@@call read {\"file_path\": \"a.rs\", \"start_line\": 3}\n@@end",
            "@@call read\n{\n  \"file_path\": \"a.rs\",\n  \"start_line\": 3\n}\n@@end",
            "@@call read\n@@file_path:\na.rs\n\n@@start_line: |\n3\n@@end",
            "@@call read\n@@file_path:\n```text\na.rs\n```\n@@start_line:\n\n3\n@@end trailing words",
        ] {
            assert_eq!(calls(text), wanted, "{text}");
        }
    }

    #[test]
    fn code_that_looks_like_a_mark_stays_code() {
        let text = "@@call report\n@@title: T\n@@quote:\n@@count = 0\n  @@end\n@@ -1,2 +1,3 @@\n\\@@end\n@@end\n";
        assert_eq!(
            calls(text),
            [("report".to_owned(), json!({ "title": "T", "quote": "@@count = 0\n  @@end\n@@ -1,2 +1,3 @@\n@@end" }))]
        );
    }

    #[test]
    fn a_call_without_its_end_is_not_made() {
        for text in ["@@call report\n@@title: T\n@@quote: x", "@@call report\n@@title: T\n@@end_of"] {
            assert_eq!(calls(text), [("report".to_owned(), json!(text))]);
        }
        let two = calls("@@call read\n@@file_path: a\n@@call read\n@@file_path: b\n@@end\n");
        assert_eq!(
            two,
            [
                ("read".to_owned(), json!("@@call read\n@@file_path: a\n")),
                ("read".to_owned(), json!({ "file_path": "b" }))
            ]
        );
    }

    #[test]
    fn results_that_the_model_makes_up_end_what_is_read() {
        let text = "@@call read\n@@file_path: a\n@@end\n@@result read\n@@content: all is well\n@@end\n@@call report\n@@title: T\n@@end\n";
        let parsed = parsed(text);
        assert!(parsed.invented);
        assert_eq!(calls(text), [("read".to_owned(), json!({ "file_path": "a" }))]);
    }

    #[test]
    fn fields_that_nobody_knows_reach_the_tool_that_refuses_them() {
        assert_eq!(calls("@@call read\n@@path: a\n@@end"), [("read".to_owned(), json!({ "path": "a" }))]);
        assert_eq!(calls("@@call other\n@@x: a\n@@end"), [("other".to_owned(), json!({ "x": "a" }))]);
        assert_eq!(calls("@@call read\n@@end"), [("read".to_owned(), json!(Map::new()))]);
    }

    #[test]
    fn prose_is_no_call() {
        for text in
            ["", "Nothing.", "@@call\n@@end", "Use @@call read to read.", "@@ -1 +1 @@\n-a\n", "@@result of all\n"]
        {
            assert_eq!(calls(text), [], "{text}");
        }
    }

    proptest! {
        #[test]
        fn it_is_the_same_wherever_it_is_cut(
            lines in proptest::collection::vec(
                "(@@call (read|report|x)|@@end|@@result read|@@(title|quote|related.quote|file_path|x):? ?|  @@end|\\\\@@end|```|\\{\"a\": 1\\}|ä b|\\PC{0,5})\r?",
                0..24,
            ),
            cuts in proptest::collection::vec(0usize..400, 0..8),
        ) {
            let text = lines.join("\n");
            let tools = tools();
            let mut whole = AnswerParser::new(&tools);
            whole.push(&text);
            let whole = whole.finish();
            let mut parser = AnswerParser::new(&tools);
            let mut at = 0;
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| text.floor_char_boundary(cut.min(text.len()))).collect();
            cuts.sort_unstable();
            for cut in cuts {
                parser.push(&text[at..cut]);
                at = cut;
            }
            parser.push(&text[at..]);
            prop_assert_eq!(parser.finish(), whole);
        }

        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = parsed(&String::from_utf8_lossy(&bytes));
        }
    }

    #[test]
    fn a_huge_answer_is_read_once() {
        let text = format!("@@call report\n@@title: T\n@@quote:\n{}@@end\n", "x\n".repeat(500_000));
        assert_eq!(calls(&text).len(), 1);
        assert_eq!(calls(&"@@call read\n@@end\n".repeat(50_000)).len(), 50_000);
    }
}
