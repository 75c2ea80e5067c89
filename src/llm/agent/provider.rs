//! An assistant as a provider. Main function: [`connect`].

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::session::{AgentSession, SessionEnd};
use super::table::{AgentSpec, LaunchInput, LaunchPlan};
use super::transcript::opening;
use crate::domain::text::{mask, strip_line};
use crate::llm::fault::TurnFault;
use crate::llm::provider::{BoxFuture, Capabilities, Provider, StreamObserver};
use crate::llm::turn::{FinishReason, MessagePart, TurnRequest, TurnResponse, TurnUsage};
use crate::sys::files::{self, FileError};
use crate::sys::process::{BackgroundRun, Environment, ProcessCall, ProcessError, Program};
use crate::sys::temporary::TemporaryFolder;

/// Assumed context window: what an assistant's own instructions leave of the smallest one that they use.
const WINDOW: u64 = 128_000;
/// Assumed output limit.
const OUTPUT: u32 = 16_000;
/// Upper bound on what a program may write, in bytes; it is read at its end.
const MOST_OUTPUT: usize = 16 << 20;
/// Number of programs that may wait for results at a time. The engine holds at most three conversations side by side; a program whose
/// conversation is over waits too, until it is ended.
const MOST_WAITING: usize = 4;

/// Reasons why an assistant cannot be used at all. Nothing was sent yet.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum AgentError {
    #[error(
        "{title} is not installed: the program {program} was not found in PATH; install it ({home}) and log in, or name another reviewer"
    )]
    Missing { title: &'static str, program: &'static str, home: &'static str },
    #[error(
        "the path of this program is not known ({0}), so no assistant can be connected to it; start it by its absolute path"
    )]
    OwnPath(String),
    #[error("an assistant can review on Linux and macOS only; name a model with --model")]
    System,
}

/// An assistant that reviews.
struct AgentProvider {
    spec: &'static AgentSpec,
    capabilities: Capabilities,
    program: Program,
    environment: Environment,
    /// This program, which becomes the bridge.
    own: PathBuf,
    /// Programs that wait for results, the longest first.
    waiting: Mutex<Vec<AgentSession>>,
}

/// Creates the provider of an assistant. Nothing is started.
pub(in crate::llm) fn connect(
    spec: &'static AgentSpec,
    model: &str,
    window: Option<u64>,
) -> Result<Box<dyn Provider>, AgentError> {
    if !cfg!(unix) {
        return Err(AgentError::System);
    }
    let environment = spec.environment();
    let program = Program::find(spec.program, &environment).map_err(|_| {
        let AgentSpec { title, program, home, .. } = *spec;
        AgentError::Missing { title, program, home }
    })?;
    let own = std::env::current_exe().map_err(|error| AgentError::OwnPath(error.to_string()))?;
    Ok(Box::new(AgentProvider {
        spec,
        capabilities: Capabilities {
            provider: spec.name.into(),
            model: model.to_owned(),
            context_window: window.unwrap_or(WINDOW),
            max_output: OUTPUT,
            tools: true,
            prices: None,
        },
        program,
        environment,
        own,
        waiting: Mutex::default(),
    }))
}

impl Provider for AgentProvider {
    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn turn<'a>(
        &'a self,
        request: &'a TurnRequest,
        quiet: Duration,
        _: &'a dyn StreamObserver,
    ) -> BoxFuture<'a, Result<TurnResponse, TurnFault>> {
        Box::pin(async move {
            let known = self.take(request);
            // A session that is dropped with this future ends its program.
            let mut session = match known {
                Some(mut session) => {
                    session.answer(request).await;
                    session
                }
                None => self.start(request)?,
            };
            match session.next(quiet).await {
                Ok(response) => {
                    self.keep(session);
                    Ok(response)
                }
                Err(end) => self.conclude(end, quiet),
            }
        })
    }
}

impl AgentProvider {
    fn waiting(&self) -> MutexGuard<'_, Vec<AgentSession>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the session whose calls a request answers.
    fn take(&self, request: &TurnRequest) -> Option<AgentSession> {
        let mut waiting = self.waiting();
        let at = waiting.iter().position(|session| session.is_awaited_by(request))?;
        Some(waiting.remove(at))
    }

    fn keep(&self, session: AgentSession) {
        let surplus = {
            let mut waiting = self.waiting();
            waiting.push(session);
            (waiting.len() > MOST_WAITING).then(|| waiting.remove(0))
        };
        // Its conversation is over, or begins a new session with what happened so far.
        drop(surplus);
    }

    fn start(&self, request: &TurnRequest) -> Result<AgentSession, TurnFault> {
        self.try_start(request).map_err(|why| self.ended(&format!("before its start: {why}")))
    }

    fn try_start(&self, request: &TurnRequest) -> Result<AgentSession, String> {
        let text = |error: FileError| error.to_string();
        let folder = TemporaryFolder::new().map_err(text)?;
        let (socket, prompt) = (folder.path().join("s"), folder.path().join("prompt"));
        let directory = folder.path().join("work");
        files::private_folder(&directory).map_err(text)?;
        files::write_private(&prompt, opening(request).as_bytes()).map_err(text)?;
        let utf8 = |path: &std::path::Path| {
            path.to_str().map(str::to_owned).ok_or_else(|| format!("{} is not UTF-8", path.display()))
        };
        let bridge = [utf8(&self.own)?, "mcp".to_owned(), "bridge".to_owned(), utf8(&socket)?];
        let model = self.capabilities.model.as_str();
        let plan = (self.spec.launch)(&LaunchInput {
            model: (model != super::table::DEFAULT_MODEL).then_some(model),
            bridge: &bridge,
            environment: &self.environment,
        });
        let LaunchPlan { arguments, variables, settings } = plan;
        for (name, content) in settings {
            let path = directory.join(name);
            path.parent().map_or(Ok(()), files::private_folder).map_err(text)?;
            files::write_private(&path, content.as_bytes()).map_err(text)?;
        }
        let input = files::open(&prompt).map_err(text)?;
        let environment = variables
            .into_iter()
            .fold(self.environment.clone(), |environment, (name, value)| environment.with(name, value));
        let call = ProcessCall {
            arguments: arguments.into_iter().map(Into::into).collect(),
            environment,
            directory,
            most: MOST_OUTPUT,
        };
        let program = self.program.clone();
        let start = |done: tokio::sync::oneshot::Sender<_>| {
            BackgroundRun::start(program, call, input, move |ended| _ = done.send(ended))
        };
        AgentSession::start(folder, &socket, request, start).map_err(|error| error.to_string())
    }

    /// Returns the answer or the fault of a session without further calls.
    fn conclude(&self, end: SessionEnd, quiet: Duration) -> Result<TurnResponse, TurnFault> {
        match end {
            SessionEnd::Said(text) => Ok(TurnResponse {
                parts: vec![MessagePart::Text { text }],
                stop: FinishReason::Done,
                usage: TurnUsage::default(),
            }),
            // Another session would wait as long.
            SessionEnd::Silent => Err(self.ended(&format!("after {} s without a call", quiet.as_secs()))),
            SessionEnd::Failed(ProcessError::TooMuch { most, .. }) => Err(self
                .fault(format!("early: it wrote more than {most} bytes and was stopped; it may print debug output"))),
            SessionEnd::Failed(error) => Err(self.ended(&format!("early: {error}"))),
            SessionEnd::Ended(code, said) => {
                let how = match code {
                    Some(0) => "without a call of a tool of the review".to_owned(),
                    Some(code) => format!("with code {code}"),
                    None => "by a signal".to_owned(),
                };
                Err(self.ended(&format!("{how}: {said}")))
            }
        }
    }

    /// Makes a fault that says what the user can try.
    fn ended(&self, why: &str) -> TurnFault {
        let said: String = strip_line(&mask(why).text).chars().take(400).collect();
        let (title, program) = (self.spec.title, self.spec.program);
        self.fault(format!(
            "{}; run `{program}` in a terminal to see whether {title} is up to date, logged in and answers, then review again",
            said.trim_end_matches([' ', ':', '.'])
        ))
    }

    fn fault(&self, message: String) -> TurnFault {
        TurnFault::Ended { provider: self.spec.name.into(), message }
    }
}
