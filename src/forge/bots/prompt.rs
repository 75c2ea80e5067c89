//! The instructions for a coding agent in a remark. Main function: [`find_prompt`].

use super::Bot;
use super::blocks::HtmlBlocks;
use super::title::plain_words;
use super::visible_text::{BlankedParts, blank_hidden, fenced_blocks, unquote};
use crate::domain::forge::AgentPrompt;

/// The minimum length of a prompt, in characters.
const SHORTEST: usize = 10;

/// The minimum length of a sentence that is only presumed to be one.
const SHORTEST_SENTENCE: usize = 20;

/// With these words a sentence tells somebody to do something.
const COMMANDS: &[&str] = &[
    "add", "avoid", "change", "check", "consider", "convert", "delete", "drop", "ensure", "extract", "fix", "handle",
    "make", "move", "pass", "refactor", "remove", "rename", "replace", "return", "set", "update", "use", "validate",
    "wrap",
];

/// Finds it. It is certain where the text marks it as such, and guessed from code or words else.
pub(super) fn find_prompt(text: &str, bot: Option<&Bot>) -> Option<AgentPrompt> {
    let marked = commented(text).or_else(|| folded(text)).or_else(|| headed(text));
    if let Some(text) = marked.and_then(|text| enough(&text, SHORTEST)) {
        return Some(AgentPrompt { text, is_certain: true });
    }
    let code = || suggested(text).and_then(|code| enough(&code, SHORTEST));
    let is_all = bot.is_some_and(|bot| bot.is_all_prompt);
    if bot.is_some_and(|bot| bot.has_sure_suggestions)
        && let Some(text) = code()
    {
        return Some(AgentPrompt { text, is_certain: true });
    }
    let guessed = if is_all { enough(&cleaned(text), SHORTEST) } else { code().or_else(|| sentence(text)) };
    guessed.map(|text| AgentPrompt { text, is_certain: false })
}

fn enough(text: &str, least: usize) -> Option<String> {
    let trimmed = text.trim();
    let is_enough = trimmed.chars().nth(least - 1).is_some();
    is_enough.then(|| trimmed.to_owned())
}

/// Between two hidden marks.
fn commented(text: &str) -> Option<String> {
    const OPEN: &str = "<!-- ai_prompt -->";
    let shown = blank_hidden(text, BlankedParts { quotes: true, comments: false });
    let start = shown.find(OPEN)? + OPEN.len();
    let end = shown[start..].find("<!-- /ai_prompt -->").or_else(|| shown[start..].find(OPEN))?;
    Some(inner(&text[start..start + end]))
}

/// In a fold that is called so.
fn folded(text: &str) -> Option<String> {
    let shown = blank_hidden(text, BlankedParts { quotes: true, comments: true });
    let blocks = HtmlBlocks::of(text);
    let block = blocks.all.iter().find(|block| {
        // Folds may stand in each other's names; only short ones are names.
        let is_said = shown[block.whole.start..].starts_with('<') && block.summary.len() < 200;
        is_said && is_called_prompt(&text[block.summary.clone()])
    })?;
    Some(inner(&text[block.inside.clone()]))
}

fn is_called_prompt(name: &str) -> bool {
    let name = name.to_lowercase();
    name.contains("prompt for ai") || (name.contains('🤖') && name.contains("prompt"))
}

/// In a fence under a line that says so.
fn headed(text: &str) -> Option<String> {
    let shown = blank_hidden(text, BlankedParts { quotes: true, comments: true });
    let mut at = 0;
    let mut after = None;
    for line in shown.split_inclusive('\n') {
        at += line.len();
        if line.contains('🤖') && line.to_lowercase().contains("prompt for ai") {
            after = Some(at);
            break;
        }
    }
    let after = after?;
    fenced_blocks(text).iter().find(|code| code.whole.start >= after).map(|code| code.text.to_owned())
}

/// Returns the contents of a fold: its code if it has some, else all of it.
fn inner(text: &str) -> String {
    let code = fenced_blocks(text);
    match code.first() {
        Some(first) if text[first.whole.clone()].trim_start().starts_with('>') => unquote(first.text),
        Some(first) => first.text.to_owned(),
        None => text.to_owned(),
    }
}

fn suggested(text: &str) -> Option<String> {
    let code = fenced_blocks(text);
    let of = |info: &str| code.iter().find(|code| code.info == info).map(|code| code.text.to_owned());
    of("suggestion").or_else(|| of("diff"))
}

/// The words and the code, without pictures, tags and the request to rate it.
fn cleaned(text: &str) -> String {
    let code = fenced_blocks(text);
    let mut fences = code.iter().peekable();
    let mut out: Vec<String> = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let start = at;
        at += line.len();
        while fences.peek().is_some_and(|code| code.whole.end <= start) {
            fences.next();
        }
        let is_code = fences.peek().is_some_and(|code| code.whole.start <= start);
        let is_rating = line.trim_start().to_lowercase().starts_with("useful? react with");
        match (is_code, is_rating) {
            (true, _) => out.push(line.trim_end().to_owned()),
            (false, true) => {}
            (false, false) => out.push(plain_words(line)),
        }
    }
    let kept = out.join("\n");
    kept.trim().to_owned()
}

fn sentence(text: &str) -> Option<String> {
    let shown = blank_hidden(text, BlankedParts { quotes: true, comments: true });
    let mut at = 0;
    let mut lines = shown.split_inclusive('\n').filter_map(|line| {
        let start = at;
        at += line.len();
        (!line.trim().is_empty()).then(|| plain_words(&text[start..at]))
    });
    let told = lines.find(|line| {
        let first: String = line.chars().take_while(|c| c.is_alphabetic()).collect();
        COMMANDS.contains(&first.to_lowercase().as_str())
    })?;
    enough(&told, SHORTEST_SENTENCE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::forge::Source;
    use crate::forge::bots::bot_of;

    fn told(text: &str, source: Source) -> Option<(String, bool)> {
        find_prompt(text, bot_of(source)).map(|prompt| (prompt.text, prompt.is_certain))
    }

    fn sure(text: &str) -> (String, bool) {
        (text.to_owned(), true)
    }

    fn guess(text: &str) -> (String, bool) {
        (text.to_owned(), false)
    }

    #[test]
    fn what_is_marked_is_certain() {
        let rabbit = |text| told(text, Source::CodeRabbit);
        assert_eq!(rabbit("x <!-- ai_prompt -->Close the file.<!-- /ai_prompt --> y"), Some(sure("Close the file.")));
        let fold = "a\n<details>\n<summary>🤖 Prompt for AI Agents</summary>\n\n```text\nIn a.rs close\nthe file.\n```\n\n</details>";
        assert_eq!(rabbit(fold), Some(sure("In a.rs close\nthe file.")));
        let quoted = format!("> {}", fold.replace('\n', "\n> "));
        assert_eq!(rabbit(&quoted), None);
        assert_eq!(rabbit("🤖 **Prompt for AI Agents**\n\n```\nClose the file.\n```\n"), Some(sure("Close the file.")));
        assert_eq!(rabbit("🤖 **Prompt for AI Agents**\n\n```\nshort\n```\n"), None);
    }

    #[test]
    fn code_and_sentences_are_guesses() {
        assert_eq!(told("x\n```diff\n-a\n+bcdefghijk\n```", Source::CodeRabbit), Some(guess("-a\n+bcdefghijk")));
        assert_eq!(told("x\n```suggestion\nlet a = read();\n```", Source::Unknown), Some(guess("let a = read();")));
        assert_eq!(
            told("Hm.\n- Remove the second read of it.", Source::Unknown),
            Some(guess("Remove the second read of it."))
        );
        assert_eq!(told("Remove it.", Source::Unknown), None);
        assert_eq!(told("What is this?", Source::Unknown), None);
    }

    #[test]
    fn a_bot_that_marks_nothing_asks_for_all_it_says() {
        let text = "![high](https://www.gstatic.com/codereviewagent/high-priority.svg)\n\nIt leaks.\n\n```suggestion\n<b>close();</b>\n```\n";
        assert_eq!(told(text, Source::Gemini), Some(guess("It leaks.\n\n```suggestion\n<b>close();</b>\n```")));
        assert_eq!(told(text, Source::Copilot), Some(sure("<b>close();</b>")));
        assert_eq!(told("Keep the lock.\n\nUseful? React with 👍 / 👎.", Source::Codex), Some(guess("Keep the lock.")));
    }
}
