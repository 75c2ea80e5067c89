//! `build`: the project's own builds, tests and linters, if the user allows them. Main type: [`BuildProof`].
//!
//! It is no row of [`TOOLS`](super::TOOLS), because it does not only read: a [`Toolbox`](super::Toolbox) offers it where its context has a runner.
//! Running tools belongs in `build`, choosing the allowed ones in `app`.

use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::answer::NextCall;
use super::fault::{ErrorKind, ToolFault};
use super::outcome::{ToolReply, Truncation};
use super::toolbox::ToolContext;
use super::{ToolSpec, TreeNeeds, answer, input};
use crate::domain::build::{BuildAnswer, BuildDiagnostic, BuildToolList, LogPage};
use crate::domain::text::{count_noun, mask, strip_block, strip_line};

/// Its name.
pub const NAME: &str = "build";

/// The words for how a run ended.
const PASSED: &str = "passed";
const FAILED: &str = "failed";
/// The most bytes of one diagnostic.
const MOST_MESSAGE: usize = 600;
/// The most bytes of the answer's lines in a proof.
const MOST_PROOF: usize = 800;
/// The most lines of them.
const MOST_PROOF_LINES: usize = 6;
/// The lines of a log that are read at once, where the model names no number.
const LOG_LINES: u32 = 50;

pub(super) const SPEC: ToolSpec = ToolSpec {
    name: NAME,
    title: "Build, test, lint",
    description: "Runs a build, tests or a linter of the project on the reviewed files, in a sandbox without network, and returns its errors \
        with their places. list: the tools that may run here. log: lines of a run's log. Use it to prove or refute one suspicion.",
    schema: input::schema::<Input>,
    answer: answer::schema::<BuildAnswer>,
    looks: |_| TreeNeeds::AtTree,
    call,
};

/// A run of a tool on which a finding rests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuildProof {
    /// The tool.
    pub tool: String,
    /// The run, for `review build log`.
    pub run: String,
    /// `true` if the tool said that all is well.
    pub passed: bool,
    /// The first lines of what it said.
    pub excerpt: String,
}

impl BuildProof {
    /// Returns the paragraph that a finding ends with: Markdown.
    pub fn paragraph(&self) -> String {
        let Self { tool, run, excerpt, .. } = self;
        let outcome = self.outcome();
        let lines = excerpt.replace("```", "'''");
        let block = if lines.is_empty() { ".".to_owned() } else { format!(":\n\n```text\n{lines}\n```") };
        format!("`{tool}` {outcome} here (`review build log {run}`){block}")
    }

    /// Returns the word for how it ended.
    pub fn outcome(&self) -> &'static str {
        if self.passed { PASSED } else { FAILED }
    }
}

/// Actions of the tool.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum Action {
    /// Runs a tool.
    Exec,
    /// Reads a log.
    Log,
    /// Lists the tools.
    List,
}

/// A run of a tool, or a question about runs.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    action: Action,
    /// For exec: its name, as listed.
    #[serde(default, deserialize_with = "input::text")]
    tool: Option<String>,
    /// For exec: a folder; default: the root.
    #[serde(default, deserialize_with = "input::text")]
    cwd: Option<String>,
    /// For exec: more arguments, such as the name of one test.
    #[serde(default, deserialize_with = "input::texts")]
    args: Option<Vec<String>>,
    /// For log: the run.
    #[serde(default, alias = "runId", deserialize_with = "input::text")]
    run: Option<String>,
    /// For log: default 1.
    #[serde(default, alias = "startLine", deserialize_with = "input::number")]
    start_line: Option<u32>,
    /// For log: default 50.
    #[serde(default, alias = "lineCount", deserialize_with = "input::number")]
    line_count: Option<u32>,
}

fn call(context: &ToolContext, input: Value) -> Result<ToolReply, ToolFault> {
    let input: Input = input::parse(input)?;
    let invalid = |message: &str| ToolFault::new(ErrorKind::InvalidInput, message);
    let Some(runner) = &context.builds else {
        return Err(invalid("nothing may be run here: the user did not allow it"));
    };
    match input.action {
        Action::List => runner.list().map(|tools| list(&tools)),
        Action::Log => {
            let run = input.run.ok_or_else(|| invalid("log needs the run, as exec names it"))?;
            let count =
                input.line_count.unwrap_or(LOG_LINES).clamp(1, u32::try_from(context.limits.lines).unwrap_or(u32::MAX));
            runner.log(&run, input.start_line.unwrap_or(1), count).map(|page| log(&run, &page, context.limits.bytes))
        }
        Action::Exec => {
            let tool =
                input.tool.ok_or_else(|| invalid("exec needs the name of a tool: list them with action list"))?;
            let folder = input.cwd.unwrap_or_else(|| ".".to_owned());
            let answer = runner.run(&tool, &folder, &input.args.unwrap_or_default(), &context.cancel)?;
            context.cancel.check()?;
            Ok(ended(&tool, &answer, context.limits.bytes))
        }
    }
}

/// Makes text of a tool safe to show: no secrets, no terminal sequences.
fn clean(text: &str) -> String {
    mask(&strip_block(text)).text
}

fn list(tools: &BuildToolList) -> ToolReply {
    let mut text = format!("{} may run here\n", count_noun(tools.tools.len(), "tool"));
    for tool in &tools.tools {
        let _ = writeln!(text, "{}: {}", strip_line(&tool.name), strip_line(&tool.description));
    }
    ToolReply::of(tools, text)
}

fn log(run: &str, page: &LogPage, most: usize) -> ToolReply {
    let mut text = format!("Lines {}-{} of {} of the log of {run}\n", page.start_line, page.end_line, page.total_lines);
    let mut shown = Vec::new();
    for line in &page.lines {
        let line = mask(&strip_line(line)).text;
        if text.len() + line.len() > most / 2 {
            break;
        }
        text.push_str(&line);
        text.push('\n');
        shown.push(line);
    }
    let end_line = page.start_line + shown.len() as u64 - u64::from(!shown.is_empty());
    let has_more = page.has_more || shown.len() < page.lines.len();
    let mut reply = ToolReply::of(&LogPage { lines: shown, end_line, has_more, ..page.clone() }, text);
    if has_more {
        let input = json!({ "action": "log", "run": run, "start_line": end_line + 1 });
        reply.cut =
            Some(Truncation { what: "The log goes on.".to_owned(), next: Some(NextCall { tool: NAME, input }) });
    }
    reply
}

/// Renders the answer of a run; the first line is that of [`read_proof`].
fn ended(tool: &str, answer: &BuildAnswer, most: usize) -> ToolReply {
    let outcome = if answer.success { PASSED } else { FAILED };
    let (errors, warnings) =
        (answer.errors.as_deref().unwrap_or_default(), answer.warnings.as_deref().unwrap_or_default());
    let mut text = format!("{tool} {outcome}, run {}: ", answer.run_id);
    let _ = write!(text, "{}, {}", count_noun(errors.len(), "error"), count_noun(warnings.len(), "warning"));
    if let Some(tests) = &answer.summary {
        let _ = write!(text, "; tests: {} passed, {} failed, {} skipped", tests.passed, tests.failed, tests.skipped);
    }
    text.push('\n');
    let (mut shown, room) = (0, most / 2);
    let all = errors.iter().map(|one| ("error", one)).chain(warnings.iter().map(|one| ("warning", one)));
    let lines = all.map(|(severity, one)| line(severity, one));
    for line in lines.take_while(|line| {
        shown += line.len();
        shown <= room
    }) {
        text.push_str(&line);
    }
    let cut = shown > room;
    let few = |all: &[BuildDiagnostic]| {
        let clean = |one: &BuildDiagnostic| BuildDiagnostic { message: message(one), ..one.clone() };
        Some(all.iter().take(if cut { 20 } else { usize::MAX }).map(clean).collect::<Vec<_>>())
            .filter(|all| !all.is_empty())
    };
    let notes = answer.notes.iter().map(|note| clean(note)).collect();
    let own =
        BuildAnswer { errors: few(errors), warnings: few(warnings), notes: Vec::new(), hint: None, ..answer.clone() };
    let mut reply = ToolReply { notes, ..ToolReply::of(&own, text) };
    if cut || !answer.success && errors.is_empty() {
        let what = if cut { "Not all of it is shown." } else { "It failed without an error that could be read." };
        let input = json!({ "action": "log", "run": answer.run_id });
        reply.cut = Some(Truncation { what: what.to_owned(), next: Some(NextCall { tool: NAME, input }) });
    }
    reply
}

fn message(one: &BuildDiagnostic) -> String {
    let message = clean(&one.message);
    message[..message.floor_char_boundary(MOST_MESSAGE)].to_owned()
}

fn line(severity: &str, one: &BuildDiagnostic) -> String {
    let mut place = one.file.as_deref().map(|file| format!("{}:", strip_line(file))).unwrap_or_default();
    for number in [one.line, one.column].into_iter().flatten() {
        let _ = write!(place, "{number}:");
    }
    let code = one.code.as_deref().map(|code| format!(" {}", strip_line(code))).unwrap_or_default();
    let gap = if place.is_empty() { "" } else { " " };
    format!("{place}{gap}{severity}{code}: {}\n", message(one))
}

/// Reads a run from the text of a result, if the model ran a tool to its end there.
pub fn read_proof(text: &str) -> Option<BuildProof> {
    let (first, rest) = text.split_once('\n')?;
    let (said, _) = first.split_once(": ")?;
    let (said, run) = said.split_once(", run ")?;
    let (tool, outcome) = said.rsplit_once(' ')?;
    let passed = match outcome {
        PASSED => true,
        FAILED => false,
        _ => return None,
    };
    let mut excerpt = String::new();
    let lines = rest.lines().take_while(|line| !line.starts_with("Note: ") && !line.starts_with("Next: "));
    for line in lines.take(MOST_PROOF_LINES) {
        if excerpt.len() + line.len() > MOST_PROOF {
            break;
        }
        excerpt.push_str(line);
        excerpt.push('\n');
    }
    Some(BuildProof { tool: tool.to_owned(), run: run.to_owned(), passed, excerpt: excerpt.trim_end().to_owned() })
}

#[cfg(test)]
mod tests {
    use super::super::outcome::ToolOutcome;
    use super::*;
    use crate::domain::diagnostic::TestSummary;

    fn failed() -> BuildAnswer {
        let error = BuildDiagnostic {
            message: "assertion failed: left == right\n\u{1b}[31m  left: 1".to_owned(),
            file: Some("src/lib.rs".to_owned()),
            line: Some(12),
            column: Some(5),
            code: Some("tests::adds".to_owned()),
        };
        let summary = TestSummary { passed: 3, failed: 1, total: 4, ..TestSummary::default() };
        BuildAnswer {
            errors: Some(vec![error]),
            warnings: None,
            summary: Some(summary),
            ..BuildAnswer::of(false, "1-2", &[], None)
        }
    }

    #[test]
    fn a_run_is_told_in_lines_and_read_back_as_proof() {
        let reply = ended("cargo.test", &failed(), 4_000);
        assert_eq!(
            reply.text,
            "cargo.test failed, run 1-2: 1 error, 0 warnings; tests: 3 passed, 1 failed, 0 skipped\n\
             src/lib.rs:12:5: error tests::adds: assertion failed: left == right\n  left: 1\n"
        );
        let proof = read_proof(&ToolOutcome::from(reply).text).unwrap();
        assert_eq!((proof.tool.as_str(), proof.run.as_str(), proof.passed), ("cargo.test", "1-2", false));
        assert!(proof.excerpt.ends_with("left: 1"), "{}", proof.excerpt);
        for other in ["3 tools may run here\n", "Lines 1-2 of 3 of the log of x\n", "{\"error\":1}", ""] {
            assert_eq!(read_proof(other), None, "{other}");
        }
    }

    #[test]
    fn what_does_not_fit_is_said() {
        let mut answer = failed();
        answer.errors = answer.errors.map(|errors| vec![errors[0].clone(); 300]);
        let reply = ended("cargo.test", &answer, 4_000);
        assert!(reply.text.len() < 2_200 && reply.text.starts_with("cargo.test failed, run 1-2: 300 errors"));
        assert_eq!(reply.cut.unwrap().next.unwrap().input, json!({ "action": "log", "run": "1-2" }));
        let silent = ended("make", &BuildAnswer::of(false, "r", &[], None), 4_000);
        assert!(silent.cut.is_some(), "a failure without an error names the log");
    }

    #[test]
    fn a_log_is_cut_where_the_answer_is_full() {
        let lines = vec!["x".repeat(100); 50];
        let page = LogPage { lines, start_line: 1, end_line: 50, total_lines: 50, has_more: false };
        let reply = log("r", &page, 2_000);
        assert_eq!(reply.fields["endLine"], 9);
        assert_eq!(reply.cut.unwrap().next.unwrap().input["start_line"], 10);
        let whole = log("r", &LogPage { lines: Vec::new(), end_line: 0, total_lines: 0, ..page }, 2_000);
        assert!(whole.cut.is_none());
    }
}
