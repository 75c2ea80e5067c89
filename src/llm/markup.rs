//! Tool calls that a model wrote as text, in the markup that it was trained with. Main function: [`find_leaked_markup`].
//!
//! A server that does not know a model's template passes such text through. It must never be presented as a review. Each dialect has samples in
//! `fixtures/leaks/<dialect>`, based on user reports about these models and servers.

use std::collections::HashMap;
use std::sync::LazyLock;

use regex::{Regex, RegexSet};
use serde_json::Value;

use crate::domain::text::LazyPattern;

/// A way to write a tool call as text.
struct MarkupDialect {
    /// Name as shown to users; with underscores for blanks, the folder of its samples.
    name: &'static str,
    /// Text that only a call contains: a lone word that prose could mention is not enough.
    mark: &'static str,
}

/// The special ones first: some share tags.
const DIALECTS: &[MarkupDialect] = &[
    // M2 wraps Claude's tags; M3 puts its mark before every tag.
    MarkupDialect { name: "minimax marks", mark: r"\]<\]minimax\[>\[|</?minimax:tool_call>" },
    // V3.2 and later, with one bar or two, wide, double or plain, with or without blanks.
    MarkupDialect { name: "dsml marks", mark: r"</?\s*[|｜‖]{1,2}\s*DSML\s*[|｜‖]{1,2}" },
    // V3, V3.1, R1.
    MarkupDialect { name: "deepseek marks", mark: r"<[|｜]tool▁(?:calls?|outputs?|sep)(?:▁\w+)?[|｜]>" },
    MarkupDialect { name: "lfm marks", mark: r"<\|tool_call_start\|>" },
    // K2: the marks of a template are words of no language.
    MarkupDialect {
        name: "kimi marks",
        mark: r"<\|tool_calls?_(?:section_)?(?:begin|end)\|>|<\|tool_call_argument_begin\|>",
    },
    MarkupDialect { name: "gemma marks", mark: r"<\|tool_call>\s*call:|<tool_call\|>|<start_function_call>\s*call:" },
    // Granite 3, Phi-4-mini; Granite 20b; Phi-4.
    MarkupDialect {
        name: "granite and phi marks",
        mark: r"<\|tool_call\|>|<function_call>\s*\{|\bfunctools\s*\[\s*\{",
    },
    // GLM 4.5 and later: the tool's name, then keys and values.
    MarkupDialect { name: "argument tags", mark: r"<arg_key>[\s\S]*?</arg_key>\s*<arg_value>" },
    // Qwen, Hermes, ERNIE and many others put JSON or a function into the tag.
    MarkupDialect { name: "tool_call tags", mark: r"<tool_call>\s*(?:\{|<function=|\w+\s*(?:\{|</tool_call>))" },
    // Qwen3-Coder, Llama 3.1, Seed-OSS.
    MarkupDialect { name: "function tags", mark: r"<function=[\w.-]+>\s*(?:\{|<parameter=|</function>)" },
    MarkupDialect { name: "parameter tags", mark: r"<parameter=[\w.-]+>[\s\S]*?</parameter>" },
    // Claude and whatever learnt from it; Step has a name before the colon.
    MarkupDialect { name: "invoke tags", mark: r#"<(?:\w+:)?invoke\s+name\s*=\s*["'][\w.-]+["']\s*>"# },
    // What runs over from one field of a call into the next.
    MarkupDialect {
        name: "named parameter tags",
        mark: r#"<(?:\w+:)?parameter\s+name\s*=\s*["'][\w.-]+["'](?:\s+\w+\s*=\s*["']\w*["'])?\s*>|</?antml[:-]\w+"#,
    },
    // Claude, Hunyuan, Jamba, Olmo, Nemotron.
    MarkupDialect {
        name: "function_calls tags",
        mark: r"<(?:\w+:)?(?:function_calls|tool_calls?)>\s*(?:<(?:\w+:)?invoke\b|\[?\s*\{|\w+\()|<TOOLCALL>\s*\[",
    },
    MarkupDialect { name: "grok tags", mark: r"<xai:(?:function_call|tool_usage_card)\b" },
    // Mistral, Devstral, Magistral.
    MarkupDialect { name: "mistral marks", mark: r"\[TOOL_CALLS\]\s*(?:\[|\{|\w+\s*(?:\[(?:ARGS|CALL_ID)\]|\{))" },
    // Llama 3 and 4.
    MarkupDialect { name: "llama marks", mark: r"<\|python_(?:tag|start)\|>" },
    // gpt-oss; some servers drop the marks but pass the words.
    MarkupDialect {
        name: "harmony channels",
        mark: r"<\|channel\|>\s*(?:commentary|analysis)|<\|start\|>\s*assistant|\bto=functions\.\w+\s*(?:<\||(?:<\|constrain\|>)?\s*json\s*\{)|<\|call\|>",
    },
    MarkupDialect { name: "command marks", mark: r"<\|(?:START|END)_ACTION\|>" },
    MarkupDialect { name: "internlm marks", mark: r"<\|action_start\|>" },
    MarkupDialect { name: "apertus marks", mark: r"<\|tools_(?:prefix|suffix)\|>" },
    // Gemini, through gateways.
    MarkupDialect {
        name: "gemini calls",
        mark: r"\b(?:declaration|call):default_api[:.]\w+|\bprint\(\s*default_api\.\w+\(",
    },
    // Models that were taught with frameworks of agents.
    MarkupDialect { name: "action lines", mark: r"(?m)^\s*Action\s*:\s*\w+\s*\n\s*Action[ _]Input\s*:\s*[\{\[\x22]" },
    MarkupDialect { name: "qwen agent marks", mark: r"✿(?:FUNCTION|ARGS|RESULT|RETURN)✿" },
    // Our own, where it was not requested.
    MarkupDialect { name: "text protocol", mark: r"(?m)^[ \t]*@@(?:call|result)[ :][^\n]*\n[ \t]*@@[A-Za-z_]" },
];

/// One of these stands in whatever a mark matches: most texts have none, and the patterns of all dialects take long to compile.
const BEGINNINGS: &[&str] = &["<", "[TOOL_CALLS]", "functools", "to=functions.", "default_api", "Action", "✿", "@@"];

static MARKS: LazyLock<Option<RegexSet>> = LazyLock::new(|| RegexSet::new(DIALECTS.iter().map(|one| one.mark)).ok());

/// The whole text is a list of calls in the manner of Python: Llama 3.2 and 4, Olmo.
static PYTHONIC: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let call = r#"[A-Za-z_]\w*\((?:\s*\w+\s*=\s*(?:"[^"\n]*"|'[^'\n]*'|[\w.\-]+)\s*,?)*\s*\)"#;
    Regex::new(&format!(r"^\[\s*{call}(?:\s*,\s*{call})*\s*\]$")).ok()
});

/// A fence that Gemini and Gemma put calls into.
static TOOL_CODE: LazyPattern =
    LazyPattern::new(r"(?m)^\s*(?:```|~~~)tool_code\s*\n\s*(?:print\s*\(|default_api\.|\[?\w+\(|\{)");

/// Returns the dialect in which `text` contains a tool call; `None` without one.
///
/// Code in fences and backticks does not count, except for a text that is just one fence.
pub fn find_leaked_markup(text: &str) -> Option<&'static str> {
    let whole = text.trim();
    let inner = unfenced(whole);
    if is_calls(inner.unwrap_or(whole)) || last_paragraph(whole).is_some_and(is_calls) {
        return Some("JSON");
    }
    let has = |word: &str| memchr::memmem::find(text.as_bytes(), word.as_bytes()).is_some();
    if inner.unwrap_or(whole).starts_with('[')
        && PYTHONIC.as_ref().is_some_and(|calls| calls.is_match(inner.unwrap_or(whole)))
    {
        return Some("pythonic");
    }
    if has("tool_code") && TOOL_CODE.is_in(whole) {
        return Some("tool_code");
    }
    if !BEGINNINGS.iter().any(|word| has(word)) {
        return None;
    }
    let marks = MARKS.as_ref()?;
    let prose = inner.map_or_else(|| without_code(text), str::to_owned);
    let found = marks.matches(&prose).iter().next();
    found.and_then(|at| DIALECTS.get(at)).map(|dialect| dialect.name)
}

/// Finds leaked markup in a whole response without calls. No reader follows, so a call as JSON in a fence at its end counts, too.
pub fn leaked_markup_answer(text: &str) -> Option<&'static str> {
    let fenced = || last_paragraph(text.trim()).map(|last| last.trim_end_matches('`').trim_end()).is_some_and(is_calls);
    find_leaked_markup(text).or_else(|| fenced().then_some("JSON"))
}

/// Returns the contents of the fence, if the text is nothing but a fence.
fn unfenced(text: &str) -> Option<&str> {
    let inner = text.strip_prefix("```").and_then(|rest| rest.strip_suffix("```"))?;
    let (_, inner) = inner.split_once('\n')?;
    (!inner.contains("```")).then(|| inner.trim())
}

/// Returns the last of several paragraphs if it looks like JSON: some models write a sentence first.
fn last_paragraph(text: &str) -> Option<&str> {
    let at = text.rfind("\n{").or_else(|| text.rfind("\n["))?;
    Some(text[at..].trim())
}

/// Checks whether a text is calls as JSON and nothing else: one, a list, or one after the other.
fn is_calls(text: &str) -> bool {
    if !text.starts_with(['{', '[']) {
        return false;
    }
    let call = |value: &Value| {
        let function = value.get("function").filter(|function| function.is_object()).unwrap_or(value);
        let name = function.get("name").or_else(|| function.get("tool_name"));
        name.is_some_and(Value::is_string)
            && ["arguments", "parameters", "input", "args"]
                .iter()
                .any(|name| function.get(*name).is_some_and(|input| input.is_object() || input.is_string()))
    };
    let mut any = false;
    for value in serde_json::Deserializer::from_str(text).into_iter::<Value>() {
        any = match value {
            Ok(Value::Array(calls)) => !calls.is_empty() && calls.iter().all(call),
            Ok(value) => call(&value),
            Err(_) => false,
        };
        if !any {
            break;
        }
    }
    any
}

/// Returns the text without fenced blocks and code spans (`CommonMark` §4.5, §6.1). They are replaced by a blank.
fn without_code(text: &str) -> String {
    let mut prose = String::with_capacity(text.len());
    let mut fence: Option<(char, usize)> = None;
    // The contents of a fence that is never closed are not code: the response may have been cut.
    let mut unclosed = String::new();
    for line in text.split_inclusive('\n') {
        let marks = line.trim_start();
        let mark = marks.chars().next().filter(|c| matches!(c, '`' | '~'));
        let length = mark.map_or(0, |mark| marks.chars().take_while(|c| *c == mark).count());
        match (fence, mark) {
            (Some((open, least)), Some(mark))
                if mark == open && length >= least && marks[length..].trim().is_empty() =>
            {
                fence = None;
                unclosed.clear();
            }
            (Some(_), _) => unclosed.push_str(line),
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
    prose.push_str(&unclosed);
    without_spans(&prose)
}

fn without_spans(text: &str) -> String {
    // Last position of each run length of backticks: what is opened behind it is never closed, which saves the search.
    let mut last = HashMap::new();
    let mut at = 0;
    while let Some(found) = text[at..].find('`') {
        let start = at + found;
        let length = ticks(&text[start..]);
        last.insert(length, start);
        at = start + length;
    }
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while let Some(found) = text[at..].find('`') {
        let start = at + found;
        let inside = start + ticks(&text[start..]);
        let length = inside - start;
        let is_closed = last.get(&length).is_some_and(|last| *last >= inside);
        out.push_str(&text[at..start]);
        match is_closed.then(|| closing(&text[inside..], length)).flatten() {
            Some(end) => {
                out.push(' ');
                at = inside + end;
            }
            None => {
                out.push_str(&text[start..inside]);
                at = inside;
            }
        }
    }
    out.push_str(&text[at..]);
    out
}

/// Returns the number of backticks at the beginning of a text.
fn ticks(text: &str) -> usize {
    text.bytes().take_while(|byte| *byte == b'`').count()
}

/// Returns the position behind a run of exactly this many backticks.
fn closing(text: &str, length: usize) -> Option<usize> {
    let mut at = 0;
    while let Some(found) = text[at..].find('`') {
        let start = at + found;
        let run = ticks(&text[start..]);
        if run == length {
            return Some(start + run);
        }
        at = start + run;
    }
    None
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::{Path, PathBuf};

    use super::*;

    fn folder(name: &str) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/leaks").join(name)
    }

    fn texts(folder: &Path) -> Vec<(String, String)> {
        let files = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        let text = |path: PathBuf| (path.display().to_string(), std::fs::read_to_string(&path).unwrap());
        let mut texts: Vec<_> = files.map(|entry| text(entry.unwrap().path())).collect();
        texts.sort();
        texts
    }

    #[test]
    fn every_dialect_is_known_by_its_samples() {
        assert!(MARKS.is_some() && PYTHONIC.is_some() && TOOL_CODE.regex().is_some(), "the patterns compile");
        let mut folders = BTreeSet::from(["honest".to_owned()]);
        for name in DIALECTS.iter().map(|dialect| dialect.name).chain(["JSON", "pythonic", "tool_code"]) {
            let slug = name.to_lowercase().replace(' ', "_");
            for (path, text) in texts(&folder(&slug)) {
                assert_eq!(find_leaked_markup(&text), Some(name), "{path}");
                // Also after a sentence.
                let before = format!("I will look at the file first.\n\n{text}");
                if name != "pythonic" {
                    assert!(leaked_markup_answer(&before).is_some(), "{path} after a sentence");
                }
            }
            folders.insert(slug);
        }
        let there =
            std::fs::read_dir(folder("")).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        assert_eq!(there.collect::<BTreeSet<_>>(), folders, "each folder has its dialect");
    }

    #[test]
    fn whatever_a_mark_matches_has_a_beginning() {
        use regex_syntax::hir::{Hir, HirKind};
        fn has_one(hir: &Hir) -> bool {
            match hir.kind() {
                HirKind::Literal(text) => {
                    BEGINNINGS.iter().any(|word| memchr::memmem::find(&text.0, word.as_bytes()).is_some())
                }
                HirKind::Capture(group) => has_one(&group.sub),
                HirKind::Repetition(again) => again.min > 0 && has_one(&again.sub),
                HirKind::Concat(parts) => parts.iter().any(has_one),
                HirKind::Alternation(ways) => ways.iter().all(has_one),
                HirKind::Empty | HirKind::Class(_) | HirKind::Look(_) => false,
            }
        }
        for dialect in DIALECTS {
            assert!(has_one(&regex_syntax::parse(dialect.mark).unwrap()), "{}", dialect.name);
        }
        assert!(!has_one(&regex_syntax::parse(r"<a>|\s*b").unwrap()));
    }

    #[test]
    fn code_and_prose_that_speak_of_calls_are_no_calls() {
        for (path, text) in texts(&folder("honest")) {
            assert_eq!(find_leaked_markup(&text), None, "{path}");
        }
        assert_eq!(find_leaked_markup(""), None);
    }

    #[test]
    fn a_fence_hides_nothing_behind_it_and_an_open_one_nothing_at_all() {
        assert_eq!(find_leaked_markup("```\ncode\n```\n<|python_tag|>x"), Some("llama marks"));
        assert_eq!(find_leaked_markup("a ` b\n<|python_tag|>x"), Some("llama marks"));
        assert_eq!(find_leaked_markup("So:\n```\n<|python_tag|>x"), Some("llama marks"));
        assert_eq!(
            find_leaked_markup("```xml\n<invoke name=\"a\">\n```"),
            Some("invoke tags"),
            "the whole text is one fence"
        );
    }

    #[test]
    fn long_texts_are_read_once() {
        for piece in ["<parameter=a>", "<arg_key>", "\n{", "{\"name\":", "```\n", "@@call x\n", "[a("] {
            let _ = find_leaked_markup(&piece.repeat(100_000));
        }
        // Each of these runs is opened and never closed.
        let runs: Vec<String> = (1..2_500).map(|length| "`".repeat(length)).collect();
        assert_eq!(find_leaked_markup(&format!("{}<|python_tag|>x", runs.join(" "))), Some("llama marks"));
    }
}
