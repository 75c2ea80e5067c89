//! Trial parses in a helper process, so that a text that crashes a parser costs one file and not the run. Main type: [`ParserProbe`].
//!
//! Parsers and their scanners are C: a scanner that keeps more state than the parser has room for ends the process. Known cases are
//! refused beforehand (`limits`); for unknown ones, a text is parsed in a helper first. Trees are not transferred: this process parses a
//! text again that the helper survived, and parsing is deterministic.

use std::collections::HashSet;
use std::hash::{BuildHasher as _, RandomState};
use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use super::grammar::{Grammar, ParseFailure, ParseLimits};
use super::tree::SyntaxTree;
use crate::sys::cancel::Cancel;
use crate::sys::process::{Helper, HelperReply};

/// The argument that starts this program as a helper.
pub const HELPER: &str = "parse-helper";

/// Maximum number of idle helpers.
const IDLE: usize = 4;

/// Maximum number of texts with a stored verdict, before all of them are dropped.
const REMEMBERED: usize = 1 << 20;

/// Maximum size of a frame, in bytes; a larger one was not sent by this program.
const MOST_BYTES: u32 = 256 << 20;

/// The response of a helper that survived a text.
const SURVIVED: u8 = b'.';

/// The texts that are tried in a helper first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ProbeScope {
    /// Those of grammars whose scanners keep a state that grows with the text: the ones in which such defects were found.
    GrowingScanners,
    /// All: for untrusted content, and for resumed runs, which a crash may have ended.
    Everything,
}

/// Helper processes that parse texts on trial. Shared by all threads of a process.
pub struct ParserProbe {
    program: PathBuf,
    scope: ProbeScope,
    hasher: RandomState,
    state: Mutex<ProbeState>,
    /// The probe of the wider scope, so that all runs of a process share its helpers.
    wider: OnceLock<Arc<Self>>,
}

/// A text under a grammar, by its hash and its length.
type ProbeKey = (Grammar, u64, usize);

#[derive(Default)]
struct ProbeState {
    idle: Vec<Helper>,
    survived: HashSet<ProbeKey>,
    crashed: HashSet<ProbeKey>,
}

impl std::fmt::Debug for ParserProbe {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ParserProbe")
            .field("program", &self.program)
            .field("scope", &self.scope)
            .finish_non_exhaustive()
    }
}

impl ParserProbe {
    /// Creates a probe whose helpers are started from `program`, this program's own file. None is started yet.
    pub fn new(program: PathBuf, scope: ProbeScope) -> Self {
        Self { program, scope, hasher: RandomState::new(), state: Mutex::default(), wider: OnceLock::new() }
    }

    /// Returns this probe if it covers as much as `scope`, else another one that does.
    pub fn with_scope(self: &Arc<Self>, scope: ProbeScope) -> Arc<Self> {
        if self.scope >= scope {
            return Arc::clone(self);
        }
        Arc::clone(self.wider.get_or_init(|| Arc::new(Self::new(self.program.clone(), ProbeScope::Everything))))
    }

    /// Checks whether texts of this grammar are tried.
    pub(super) fn covers(&self, grammar: Grammar) -> bool {
        self.scope == ProbeScope::Everything || matches!(grammar, Grammar::Bash | Grammar::Python | Grammar::Yaml)
    }

    /// Parses a text in a helper, unless one survived it before. If no helper can be started the text passes untried: a system that
    /// cannot start a process is no reason to skip the review.
    pub(super) fn check(&self, grammar: Grammar, text: &str, watch: &ParseLimits<'_>) -> Result<(), ParseFailure> {
        let key = (grammar, self.hasher.hash_one(text), text.len());
        let idle = {
            let mut state = self.state();
            if state.crashed.contains(&key) {
                return Err(ParseFailure::Crashed);
            }
            if state.survived.contains(&key) {
                return Ok(());
            }
            state.idle.pop()
        };
        let mut reply = idle.map_or(HelperReply::Died, |helper| self.ask(helper, grammar, text, watch));
        // The system may have ended an idle helper: only one that was just alive shows the effect of a text.
        if reply == HelperReply::Died {
            let Some(helper) = self.started(watch)? else { return Ok(()) };
            reply = self.ask(helper, grammar, text, watch);
        }
        match reply {
            HelperReply::Answer(SURVIVED) => {
                remember(&mut self.state().survived, key);
                Ok(())
            }
            HelperReply::Answer(_) | HelperReply::Died => {
                remember(&mut self.state().crashed, key);
                Err(ParseFailure::Crashed)
            }
            HelperReply::Stopped(why) => Err(why),
        }
    }

    /// Starts a helper and waits until it answers an empty text; `None` if none can be started, or if another program was started.
    fn started(&self, watch: &ParseLimits<'_>) -> Result<Option<Helper>, ParseFailure> {
        let Ok(helper) = Helper::start(&self.program, HELPER) else { return Ok(None) };
        match helper.ask(&[&[Grammar::Yaml as u8], &0_u32.to_le_bytes()], || watch.check()) {
            (helper, HelperReply::Answer(SURVIVED)) => Ok(helper),
            (_, HelperReply::Stopped(why)) => Err(why),
            (_, HelperReply::Answer(_) | HelperReply::Died) => Ok(None),
        }
    }

    /// Sends a text to a helper, and keeps the helper for the next text if it is still usable.
    fn ask(&self, helper: Helper, grammar: Grammar, text: &str, watch: &ParseLimits<'_>) -> HelperReply<ParseFailure> {
        let Ok(length) = u32::try_from(text.len()) else { return HelperReply::Stopped(ParseFailure::NoTree) };
        let question: [&[u8]; 3] = [&[grammar as u8], &length.to_le_bytes(), text.as_bytes()];
        let (helper, reply) = helper.ask(&question, || watch.check());
        let mut state = self.state();
        let room = IDLE - state.idle.len().min(IDLE);
        state.idle.extend(helper.into_iter().take(room));
        reply
    }

    fn state(&self) -> MutexGuard<'_, ProbeState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn remember(keys: &mut HashSet<ProbeKey>, key: ProbeKey) {
    if keys.len() >= REMEMBERED {
        keys.clear();
    }
    keys.insert(key);
}

/// Time limit of a helper for one text; its caller gives up long before.
const LONGEST: Duration = Duration::from_mins(5);

/// Serves the requests of a [`ParserProbe`] until there are no more: the work of a helper process.
pub fn serve(mut questions: impl Read, mut answers: impl Write) -> io::Result<()> {
    Helper::confine();
    let mut head = [0; 5];
    let mut text = Vec::new();
    while questions.read_exact(&mut head).is_ok() {
        let [grammar, length @ ..] = head;
        let length = u32::from_le_bytes(length);
        let grammar = Grammar::ALL.get(usize::from(grammar)).copied().filter(|_| length <= MOST_BYTES);
        let grammar = grammar.ok_or_else(|| io::Error::other("not a question of this program"))?;
        text.clear();
        questions.by_ref().take(length.into()).read_to_end(&mut text)?;
        let parsed = String::from_utf8(std::mem::take(&mut text)).map_err(io::Error::other)?;
        let cancel = Cancel::never();
        // A text without a tree is harmless: the caller gets the same result.
        let _ = SyntaxTree::parse(grammar, &parsed, &ParseLimits::new(&cancel, LONGEST));
        answers.write_all(&[SURVIVED])?;
        answers.flush()?;
        text = parsed.into_bytes();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_helper_answers_each_text_and_refuses_what_is_none() {
        let question = |grammar: u8, text: &str| {
            let length = u32::try_from(text.len()).unwrap().to_le_bytes();
            [&[grammar][..], &length, text.as_bytes()].concat()
        };
        let both = [question(Grammar::Rust as u8, "fn a() {}"), question(Grammar::Yaml as u8, "- a: [")].concat();
        let mut answers = Vec::new();
        serve(both.as_slice(), &mut answers).unwrap();
        assert_eq!(answers, [SURVIVED, SURVIVED]);
        assert!(serve(question(200, "").as_slice(), &mut Vec::new()).is_err());
        assert!(serve([0, 255, 255, 255, 255].as_slice(), &mut Vec::new()).is_err());
    }

    #[test]
    fn a_helper_that_cannot_start_stops_nothing() {
        let probe = ParserProbe::new(PathBuf::from("/nowhere/at/all"), ProbeScope::Everything);
        let cancel = Cancel::never();
        assert_eq!(probe.check(Grammar::Go, "package a", &ParseLimits::new(&cancel, LONGEST)), Ok(()));
    }

    #[cfg(unix)]
    #[test]
    fn a_helper_that_dies_costs_the_text_and_one_that_is_silent_the_time() {
        let cancel = Cancel::never();
        let watch = ParseLimits::new(&cancel, LONGEST);
        let program = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/parser/dies-of-the-second-text.sh");
        let probe = Arc::new(ParserProbe::new(PathBuf::from(program), ProbeScope::Everything));
        assert_eq!(probe.check(Grammar::Go, "package a", &watch), Err(ParseFailure::Crashed));
        assert_eq!(probe.check(Grammar::Go, "package a", &watch), Err(ParseFailure::Crashed), "it is not tried again");
        let other = ParserProbe::new(PathBuf::from("/bin/false"), ProbeScope::Everything);
        assert_eq!(other.check(Grammar::Go, "package a", &watch), Ok(()), "a program that is no helper says nothing");
        assert!(probe.covers(Grammar::Java) && probe.with_scope(ProbeScope::GrowingScanners).covers(Grammar::Java));
        let narrow = ParserProbe::new(PathBuf::from("/bin/false"), ProbeScope::GrowingScanners);
        assert!(narrow.covers(Grammar::Yaml) && !narrow.covers(Grammar::Java));
    }
}
