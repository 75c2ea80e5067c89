//! Qodo: one guide for all of a pull request, in one comment.

use super::Bot;
use crate::domain::forge::Source;

/// Severities are told by where an entry stands.
pub(super) const BOT: Bot = Bot { logins: &["qodo-*", "codiumai-pr-agent*"], ..Bot::new(Source::Qodo) };
