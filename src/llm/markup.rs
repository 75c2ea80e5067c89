//! Tool calls that a model wrote as text, in the markup that it was trained with. Main function: [`leaked`].
//!
//! A server that does not know a model's template hands such text through. It must never be shown as a review.

use std::sync::LazyLock;

use regex::RegexSet;
use serde_json::Value;

/// A way to write a tool call as text.
struct Dialect {
    name: &'static str,
    /// What only a call looks like: a lone word that prose could mention is not enough.
    mark: &'static str,
}

const DIALECTS: &[Dialect] = &[
    // Qwen, Hermes and many others put JSON, a function or GLM's name and keys into the tag.
    Dialect { name: "tool_call tags", mark: r"<tool_call>\s*(?:\{|<function=|\w+\s*(?:<arg_key>|\{|</tool_call>))" },
    Dialect { name: "function tags", mark: r"<function=[\w.-]+>\s*(?:\{|<parameter=|</function>)" },
    Dialect { name: "parameter tags", mark: r"<parameter=[\w.-]+>[\s\S]*?</parameter>" },
    Dialect { name: "argument tags", mark: r"<arg_key>[\s\S]*?</arg_key>\s*<arg_value>" },
    Dialect { name: "invoke tags", mark: r#"<(?:\w+:)?invoke\s+name\s*=\s*["'][\w.-]+["']\s*>"# },
    Dialect {
        name: "function_calls tags",
        mark: r"<(?:\w+:)?(?:function_calls|tool_calls?)>\s*(?:<(?:\w+:)?invoke\b|\[?\s*\{)",
    },
    // The marks of a template are no words of any language.
    Dialect {
        name: "section marks",
        mark: r"<\|tool_calls?_(?:section_)?(?:begin|end)\|>|<\|tool_call_argument_begin\|>",
    },
    Dialect { name: "wide marks", mark: r"<｜(?:DSML｜|tool▁(?:calls?|outputs?|sep)(?:▁\w+)?｜)" },
    Dialect { name: "TOOL_CALLS", mark: r"\[TOOL_CALLS\]\s*(?:\[|\{|\w+\s*(?:\[(?:ARGS|CALL_ID)\]|\{))" },
    Dialect { name: "python_tag", mark: r"<\|python_tag\|>" },
    Dialect {
        name: "channels",
        mark: r"<\|channel\|>\s*(?:commentary|analysis)|<\|start\|>\s*assistant|\bto=functions\.\w+\s*<\|",
    },
    Dialect { name: "actions", mark: r"<\|START_ACTION\|>|<\|tool_call\|>|<\|action_start\|>" },
];

static MARKS: LazyLock<Option<RegexSet>> = LazyLock::new(|| RegexSet::new(DIALECTS.iter().map(|one| one.mark)).ok());

/// The dialect in which `text` holds a tool call; `None` where it holds none.
///
/// Code in fences and backticks does not count, but for a text that is nothing but one call in JSON.
pub fn leaked(text: &str) -> Option<&'static str> {
    if is_call(text) {
        return Some("JSON");
    }
    // All marks have one of these.
    if !text.contains(['<', '[']) {
        return None;
    }
    let marks = MARKS.as_ref()?;
    let found = marks.matches(&without_code(text)).iter().next();
    found.and_then(|at| DIALECTS.get(at)).map(|dialect| dialect.name)
}

/// Whether the whole text is one call as JSON, in a fence or not.
fn is_call(text: &str) -> bool {
    let text = text.trim();
    let inner = text.strip_prefix("```").and_then(|rest| rest.strip_suffix("```"));
    let inner = inner.and_then(|fenced| fenced.split_once('\n')).map_or(text, |(_, inner)| inner.trim());
    if !inner.starts_with(['{', '[']) {
        return false;
    }
    let call = |value: &Value| {
        let function = value.get("function").filter(|function| function.is_object()).unwrap_or(value);
        function.get("name").is_some_and(Value::is_string)
            && ["arguments", "parameters", "input"].iter().any(|name| function.get(name).is_some())
    };
    match serde_json::from_str::<Value>(inner) {
        Ok(Value::Array(calls)) => !calls.is_empty() && calls.iter().all(call),
        Ok(value) => call(&value),
        Err(_) => false,
    }
}

/// The text without fenced blocks and code spans (`CommonMark` §4.5, §6.1). What is cut out leaves a blank.
fn without_code(text: &str) -> String {
    let mut prose = String::with_capacity(text.len());
    let mut fence: Option<(char, usize)> = None;
    for line in text.split_inclusive('\n') {
        let marks = line.trim_start();
        let mark = marks.chars().next().filter(|c| matches!(c, '`' | '~'));
        let length = mark.map_or(0, |mark| marks.chars().take_while(|c| *c == mark).count());
        match (fence, mark) {
            (Some((open, least)), Some(mark))
                if mark == open && length >= least && marks[length..].trim().is_empty() =>
            {
                fence = None;
            }
            (Some(_), _) => {}
            (None, Some(mark)) if length >= 3 && (mark == '~' || !marks[length..].contains('`')) => {
                fence = Some((mark, length));
            }
            (None, _) => {
                prose.push_str(line);
                continue;
            }
        }
        prose.push('\n');
    }
    without_spans(&prose)
}

fn without_spans(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('`') {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        let length = from.bytes().take_while(|byte| *byte == b'`').count();
        let (open, inside) = from.split_at(length);
        match closing(inside, length) {
            Some(end) => {
                out.push(' ');
                rest = &inside[end..];
            }
            // Nothing closes it, so it is no span, and no later run has its length: there are few such passes.
            None => {
                out.push_str(open);
                rest = inside;
            }
        }
    }
    out.push_str(rest);
    out
}

/// Where the text goes on behind a run of exactly so many backticks.
fn closing(text: &str, length: usize) -> Option<usize> {
    let mut at = 0;
    while let Some(found) = text[at..].find('`') {
        let start = at + found;
        let run = text[start..].bytes().take_while(|byte| *byte == b'`').count();
        if run == length {
            return Some(start + run);
        }
        at = start + run;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_dialect_is_known() {
        assert!(MARKS.is_some(), "the patterns compile");
        for (name, text) in [
            ("tool_call tags", "<tool_call>\n{\"name\": \"read_diff\", \"arguments\": {}}\n</tool_call>"),
            (
                "tool_call tags",
                "<tool_call>read_diff\n<arg_key>file_path</arg_key>\n<arg_value>a</arg_value></tool_call>",
            ),
            (
                "function tags",
                "I will look.\n<function=read_diff>\n<parameter=file_path>\na.rs\n</parameter>\n</function>",
            ),
            ("parameter tags", "<parameter=summary>fine</parameter>"),
            ("argument tags", "<arg_key>a</arg_key>\n<arg_value>b</arg_value>"),
            ("invoke tags", "<invoke name=\"finish_review\">\n<parameter name=\"summary\">ok</parameter>"),
            ("invoke tags", "<ns:invoke name=\"finish_review\">"),
            ("function_calls tags", "<function_calls>\n[{\"name\": \"x\"}]"),
            ("section marks", "done<|tool_calls_section_begin|><|tool_call_begin|>functions.read_diff:0"),
            ("wide marks", "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>read_diff"),
            ("TOOL_CALLS", "[TOOL_CALLS] [{\"name\": \"read_diff\"}]"),
            ("TOOL_CALLS", "[TOOL_CALLS]read_diff[ARGS]{\"file_path\": \"a\"}"),
            ("python_tag", "<|python_tag|>{\"name\": \"x\"}"),
            ("channels", "<|channel|>commentary to=functions.read_diff <|message|>{}"),
            ("actions", "<|START_ACTION|>[]<|END_ACTION|>"),
            ("JSON", " {\"name\": \"finish_review\", \"arguments\": {\"summary\": \"ok\"}} "),
            (
                "JSON",
                "```json\n[{\"type\": \"function\", \"function\": {\"name\": \"x\", \"arguments\": \"{}\"}}]\n```",
            ),
        ] {
            assert_eq!(leaked(text), Some(name), "{text}");
        }
    }

    #[test]
    fn code_and_prose_that_speak_of_calls_are_no_calls() {
        for text in [
            "Nothing to report.",
            "The parser takes `<tool_call>{\"name\"` apart, and `` <invoke name=\"x\"> `` too.",
            "```xml\n<function_calls>\n<invoke name=\"x\">\n```\nThe test lacks the closing tag.",
            "~~~\n<|python_tag|>\n~~~",
            "It handles the <tool_call> tag, <function=…> and [TOOL_CALLS] markers.",
            "Use `a[b]` instead of <T> where T: Into<Vec<u8>>.",
            "Set `x` to {\"name\": \"a\", \"arguments\": 1} in the body.",
            "",
        ] {
            assert_eq!(leaked(text), None, "{text}");
        }
    }

    #[test]
    fn a_fence_that_was_closed_hides_nothing_behind_it() {
        assert_eq!(leaked("```\ncode\n```\n<|python_tag|>x"), Some("python_tag"));
        assert_eq!(leaked("a ` b\n<|python_tag|>x"), Some("python_tag"));
    }
}
