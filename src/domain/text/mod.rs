//! Pure functions over text that every surface shares: decoded files, masking, stripping, the normal form of quotes,
//! and what the log of a build service would obey.
//!
//! Nothing here reads a file. What a terminal or a page needs beyond stripping belongs in `present`.

mod commands;
mod fence;
mod file_text;
mod leak;
mod mask;
mod normal;
mod reveal;
mod shell;
mod steering;
mod strip;
mod words;

pub use commands::{BuildLog, BuildLogs, Spelling, Syntax};
pub use fence::fence;
pub use file_text::FileText;
pub use leak::{Known, KnownSecret, Leak};
pub use mask::{MASK_PREFIX, Masked, SecretHit, mask, may_span_lines, secrets_in};
pub use normal::{Quote, QuoteForm, is_telling, normal_line, quote_forms, unmarked};
pub use reveal::reveal;
pub use shell::shell_word;
pub use steering::steering;
pub use strip::{is_invisible, strip_block, strip_line};
pub use words::{counted, shortened, thousands};
