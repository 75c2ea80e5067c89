//! Greptile: an overview of all of a pull request, in one comment.

use super::Bot;
use crate::domain::forge::Source;

/// Its remarks on lines have no mark of severity that is read.
pub(super) const BOT: Bot = Bot {
    logins: &["greptile-apps", "greptile-apps-staging", "greptile"],
    traces: &["greptile overview", "confidence score:"],
    ..Bot::new(Source::Greptile)
};
