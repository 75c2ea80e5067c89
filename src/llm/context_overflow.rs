//! Errors of servers for a conversation that exceeds the context window. Main function: [`is_too_long`].
//!
//! There is no common field for it, so the phrases are recognized here: in responses with an error status, and in errors inside a stream.

use crate::domain::text::LazyPattern;

/// Unambiguous phrases, in lower case, with their sources. Numbers may be between them, so each is a piece of a sentence.
const WORDS: &[&str] = &[
    // Anthropic: "prompt is too long: 208310 tokens > 200000 maximum", "input length and `max_tokens` exceed context limit: 1 + 2 > 3".
    "prompt is too long",
    "exceed context limit",
    // OpenAI, Azure, Groq, vLLM, DeepSeek, OpenRouter: "This model's maximum context length is 8192 tokens. However, …"; the code of the error.
    "maximum context length",
    "context_length_exceeded",
    "reduce the length of the messages",
    // OpenAI's Responses: "Your input exceeds the context window of this model."
    "exceeds the context window",
    // Google: "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."
    "exceeds the maximum number of tokens",
    // Ollama: "the input length exceeds the context length", "prompt too long; exceeded max context length by 10 tokens".
    "exceeds the context length",
    "exceeded max context length",
    // llama.cpp: "the request exceeds the available context size", with the type of the error.
    "exceeds the available context size",
    "exceed_context_size_error",
    // llama-cpp-python: "Requested tokens (2065) exceed context window of 1800".
    "exceed context window",
    // vLLM: "The decoder prompt (length 5000) is longer than the maximum model length of 4096."
    "longer than the maximum model length",
    // xAI: "This model's maximum prompt length is 131072 but the request contains 537812 tokens."
    "maximum prompt length",
    // Mistral: "Prompt contains 40000 tokens …, too large for model with 32768 maximum context length".
    "too large for model with",
    // LM Studio: "… the model is loaded with context length of only 4096 tokens".
    "context length of only",
    // Bedrock: "Input is too long for requested model."
    "input is too long",
    // OpenAI and Groq, if one request exceeds the account's limit per minute: "Request too large for … (TPM): Limit 6000, Requested 7000".
    "request too large for",
];

/// Statuses of such errors. `429` and `500` count only with the phrases, like all of them except `413`, which is sufficient on its own (RFC 9110
/// §15.5.14).
const STATUSES: &[u16] = &[400, 413, 422, 429, 500];

/// No window is smaller or larger; another number is about something else.
const BELIEVED: std::ops::RangeInclusive<u64> = 256..=100_000_000;

/// Checks whether an error says that the conversation is too long; then returns the size of the window in tokens, if reported.
#[expect(clippy::option_option, reason = "that it is too long, and how long it may be, are told apart")]
pub(super) fn is_too_long(status: u16, body: &str) -> Option<Option<u64>> {
    let said = body.to_lowercase();
    let is_said = STATUSES.contains(&status) && WORDS.iter().any(|words| said.contains(words));
    (is_said || status == 413).then(|| window(&said))
}

/// Extracts the size of the window in tokens from a message in lower case.
fn window(said: &str) -> Option<u64> {
    // What is wrong with a pattern is found by the tests: without one, no window is known.
    static BEFORE: LazyPattern = LazyPattern::new(
        r#"(?:tokens? > |\d \+ \d+ > |maximum context length is |tokens allowed[ (]+|context window of |maximum model length of |maximum prompt length is |context length of only |model with |"n_ctx" ?: ?|tpm\): limit )(\d{3,9})"#,
    );
    let found = BEFORE.regex()?.captures(said)?.get(1)?.as_str().parse().ok()?;
    Some(found).filter(|window| BELIEVED.contains(window))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_server_is_understood() {
        for (status, said, window) in [
            (400, "prompt is too long: 208310 tokens > 200000 maximum", Some(200_000)),
            (
                400,
                "input length and `max_tokens` exceed context limit: 199759 + 20000 > 200000, decrease input length",
                Some(200_000),
            ),
            (413, "Request exceeds the maximum size", None),
            (
                400,
                "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
                Some(8_192),
            ),
            (400, "Your input exceeds the context window of this model. Please adjust your input and try again.", None),
            (
                400,
                r#"{"error":{"message":"Please reduce the length of the messages or completion.","code":"context_length_exceeded"}}"#,
                None,
            ),
            (
                400,
                "The input token count (317740) exceeds the maximum number of tokens allowed (131072).",
                Some(131_072),
            ),
            (400, "The input token count exceeds the maximum number of tokens allowed 1048576.", Some(1_048_576)),
            (400, "the input length exceeds the context length", None),
            (
                400,
                r#"{"error":{"code":400,"message":"the request exceeds the available context size, try increasing it","type":"exceed_context_size_error","n_prompt_tokens":9000,"n_ctx":4096}}"#,
                Some(4_096),
            ),
            (500, "Requested tokens (2065) exceed context window of 1800", Some(1_800)),
            (400, "The decoder prompt (length 5000) is longer than the maximum model length of 4096.", Some(4_096)),
            (
                400,
                "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
                Some(131_072),
            ),
            (
                400,
                "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
                Some(32_768),
            ),
            (
                400,
                "Trying to keep the first 5000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens, which is not enough.",
                Some(4_096),
            ),
            (400, "Input is too long for requested model.", None),
            (
                429,
                "Request too large for gpt-x in organization o on tokens per min (TPM): Limit 6000, Requested 7000.",
                Some(6_000),
            ),
        ] {
            assert_eq!(is_too_long(status, said), Some(window), "{said}");
        }
    }

    #[test]
    fn other_errors_are_other_errors() {
        for (status, said) in [
            (401, "prompt is too long"),
            (400, "max_tokens is too large: 16000. This model supports at most 4096 completion tokens"),
            (400, "tool name is too long"),
            (429, "Rate limit reached for gpt-x on tokens per min (TPM): Limit 30000, Used 29000, Requested 2000."),
            (503, "context deadline exceeded"),
            (404, "no such model"),
        ] {
            assert_eq!(is_too_long(status, said), None, "{said}");
        }
    }

    #[test]
    fn a_number_that_can_be_no_window_is_not_believed() {
        assert_eq!(is_too_long(400, "prompt is too long: 9 tokens > 100 maximum"), Some(None));
    }
}
