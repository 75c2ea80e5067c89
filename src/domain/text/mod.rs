//! Pure functions over text that every surface shares: decoded files, masking, stripping, the normal form of quotes,
//! and what the log of a build service would obey.
//!
//! Nothing here reads a file. What a terminal or a page needs beyond stripping belongs in `present`.

mod byte_set;
mod commands;
mod fence;
mod file_text;
mod lazy_pattern;
mod leak;
mod lines;
mod mask;
mod normal;
mod prompt_injection;
mod reveal;
mod shell;
mod strip;
mod words;

pub use byte_set::{byte_set, is_word_byte};
pub use commands::{BuildLog, BuildLogs, CommandEscaper, Syntax};
pub use fence::fence_for;
pub use file_text::FileText;
pub use lazy_pattern::LazyPattern;
pub use leak::{KnownSecret, SpelledSecrets};
pub use lines::{find_special, lines_with_ends};
pub use mask::{MASK_PREFIX, Masked, SecretHit, mask, may_span_lines, secrets_in};
pub use normal::{
    NormalizedQuote, QuoteForm, is_distinctive, normal_line, quote_forms, strip_diff_marks, strip_line_number,
};
pub use prompt_injection::find_prompt_injection;
pub use reveal::reveal;
pub use shell::shell_word;
pub use strip::{is_invisible, strip_block, strip_line};
pub use words::{count_noun, count_words, first_characters, group_thousands, shorten};
