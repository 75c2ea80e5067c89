//! What arrived at the model during one run. Main type: [`Tally`].

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use serde_json::Value;

use crate::repository::{DIGITS, MARK};

/// Providers cache prompts in blocks; this is a block's size in bytes.
const BLOCK: usize = 1024;

/// Counts of one run.
#[derive(Default)]
pub(crate) struct Tally {
    pub requests: usize,
    /// Bytes of all request bodies.
    pub bytes: usize,
    /// Of those that hold the prompt, the ones that no earlier request began with.
    pub new_bytes: usize,
    pub tool_calls: usize,
    /// The markers of added lines that were in some request.
    pub seen: HashSet<usize>,
    /// Files whose diff the model asked for already.
    pub asked_for: HashSet<usize>,
    beginnings: HashSet<u64>,
}

impl Tally {
    /// Counts a request in.
    pub(crate) fn count(&mut self, body: &[u8], asked: &Value) {
        self.requests += 1;
        self.bytes += body.len();
        self.new_bytes += self.unknown(asked);
        self.see(body);
    }

    /// Whatever order a program writes its keys in, a provider reads tools first, then the messages.
    fn unknown(&mut self, asked: &Value) -> usize {
        let prompt = format!("{}{}", asked["tools"], asked["messages"]);
        let mut state = DefaultHasher::new();
        let mut unknown = 0;
        for block in prompt.as_bytes().chunks(BLOCK) {
            block.hash(&mut state);
            // A block counts as known only together with all that stands before it.
            if self.beginnings.insert(state.finish()) {
                unknown += block.len();
            }
        }
        unknown
    }

    fn see(&mut self, body: &[u8]) {
        for at in memchr::memmem::find_iter(body, MARK) {
            let digits = body.get(at + MARK.len()..at + MARK.len() + DIGITS).unwrap_or_default();
            if digits.iter().all(u8::is_ascii_digit)
                && let Some(marker) = std::str::from_utf8(digits).ok().and_then(|text| text.parse().ok())
            {
                self.seen.insert(marker);
            }
        }
    }
}
