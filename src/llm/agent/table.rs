//! The assistants, and how each is started with the tools of a review and no others. Main type: [`AgentSpec`].
//!
//! Every row keeps three rules: the tools of the program itself are off or read-only, no server but the bridge is used, and the folder that
//! the program works in holds nothing but settings of this table. `.ci/assistants.py` runs the real programs.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::sys::files;
use crate::sys::process::{Environment, Program};

/// Name of the model that the user's own settings of the assistant choose.
pub(in crate::llm) const DEFAULT_MODEL: &str = "default";
/// Settings file beside the working folder, for a program that takes a path of one.
const SETTINGS: &str = "../settings.json";
/// Time that an assistant lets a call take: a build may run for minutes.
const LONGEST_CALL: u64 = 1_800;
/// Upper bound on the settings of an assistant that are read.
const LARGEST_SETTINGS: u64 = 1 << 20;
/// Own tools and habits of Codex that are switched off.
const CODEX_OFF: [&str; 19] = [
    "apps",
    "browser_use",
    "browser_use_external",
    "computer_use",
    "goals",
    "hooks",
    "image_generation",
    "in_app_browser",
    "multi_agent",
    "plugins",
    "remote_plugin",
    "shell_snapshot",
    "shell_tool",
    "skill_search",
    "sleep_tool",
    "tool_suggest",
    "unbounded_connection_retries",
    "unified_exec",
    "view_image",
];

/// An assistant that can review.
#[derive(Debug)]
pub struct AgentSpec {
    /// The provider's word: the one before the slash of a model.
    pub name: &'static str,
    /// The word of `--agent`; a provider of models may have the same.
    pub word: &'static str,
    /// Display name.
    pub title: &'static str,
    /// The program.
    pub program: &'static str,
    /// The page that says how to install it.
    pub home: &'static str,
    /// Variables by which its login or its server is found, beside the usual ones of a child.
    variables: &'static [&'static str],
    /// Composes its start.
    pub(super) launch: fn(&LaunchInput<'_>) -> LaunchPlan,
}

/// Facts about a session that a start is composed of.
pub(super) struct LaunchInput<'a> {
    /// The model; `None` for the one of the user's settings.
    pub(super) model: Option<&'a str>,
    /// The command of the bridge.
    pub(super) bridge: &'a [String; 4],
    pub(super) environment: &'a Environment,
}

/// Start of a program. The prompt is its standard input.
pub(super) struct LaunchPlan {
    pub(super) arguments: Vec<String>,
    pub(super) variables: Vec<(&'static str, String)>,
    /// Files to write: their paths from the working folder, and their contents.
    pub(super) settings: Vec<(&'static str, String)>,
}

/// The assistants.
pub static AGENTS: [AgentSpec; 4] = [
    AgentSpec {
        name: "claude-code",
        word: "claude-code",
        title: "Claude Code",
        program: "claude",
        home: "https://code.claude.com/docs/en/setup",
        variables: &["ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL", "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CONFIG_DIR"],
        launch: claude_code,
    },
    AgentSpec {
        name: "codex",
        word: "codex",
        title: "Codex",
        program: "codex",
        home: "https://developers.openai.com/codex/cli",
        variables: &["CODEX_HOME"],
        launch: codex,
    },
    AgentSpec {
        name: "gemini-cli",
        word: "gemini",
        title: "Gemini CLI",
        program: "gemini",
        home: "https://geminicli.com/docs",
        variables: &[
            "GEMINI_API_KEY",
            "GOOGLE_APPLICATION_CREDENTIALS",
            "GOOGLE_CLOUD_LOCATION",
            "GOOGLE_CLOUD_PROJECT",
            "GOOGLE_GEMINI_BASE_URL",
            "GOOGLE_GENAI_USE_VERTEXAI",
        ],
        launch: gemini,
    },
    AgentSpec {
        name: "opencode",
        word: "opencode",
        title: "OpenCode",
        program: "opencode",
        home: "https://opencode.ai/docs",
        variables: &[],
        launch: opencode,
    },
];

/// Two rows are the same if their names are.
impl PartialEq for AgentSpec {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for AgentSpec {}

impl AgentSpec {
    /// Checks whether the program is installed, and can review on this system. It is not started.
    pub fn is_installed(&self) -> bool {
        cfg!(unix) && Program::find(self.program, &self.environment()).is_ok()
    }

    /// Returns the environment of the program: without keys of other programs.
    pub(super) fn environment(&self) -> Environment {
        let set = self.variables.iter().filter_map(|name| Some((name, std::env::var_os(name)?)));
        set.fold(Environment::of_this_process(), |environment, (name, value)| environment.with(name, value))
    }
}

fn words<const N: usize>(words: [&str; N]) -> Vec<String> {
    words.map(str::to_owned).to_vec()
}

fn model(flag: &str, model: Option<&str>) -> Vec<String> {
    model.map_or_else(Vec::new, |model| words([flag, model]))
}

/// Returns the bridge as most clients name a server.
fn server(bridge: &[String; 4]) -> Value {
    json!({ "command": bridge[0], "args": bridge[1..] })
}

fn claude_code(input: &LaunchInput<'_>) -> LaunchPlan {
    let settings = json!({ "mcpServers": { "review": server(input.bridge) } });
    let mut arguments =
        words(["-p", "--output-format", "text", "--no-session-persistence", "--disable-slash-commands"]);
    arguments.extend(words(["--tools", "", "--strict-mcp-config", "--mcp-config", SETTINGS]));
    arguments.extend(words(["--allowedTools", "mcp__review", "--permission-mode", "dontAsk"]));
    // The user's settings hold the login; their hooks and notes are not for this session.
    arguments.extend(words([
        "--setting-sources",
        "user",
        "--settings",
        r#"{"disableAllHooks":true,"claudeMdExcludes":["**"]}"#,
    ]));
    arguments.extend(model("--model", input.model));
    let timeout = (LONGEST_CALL * 1_000).to_string();
    let variables = vec![
        ("MCP_TOOL_TIMEOUT", timeout),
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1".to_owned()),
        ("DISABLE_AUTOUPDATER", "1".to_owned()),
    ];
    LaunchPlan { arguments, variables, settings: vec![(SETTINGS, settings.to_string())] }
}

fn codex(input: &LaunchInput<'_>) -> LaunchPlan {
    let [command, rest @ ..] = input.bridge;
    let others = other_codex_servers(input.environment).into_iter();
    // JSON texts and lists are TOML as well. Tables are merged with those of the user's settings.
    let off: Vec<String> = others.map(|name| format!("{} = {{ enabled = false }}, ", Value::from(name))).collect();
    let off = off.concat();
    let mut arguments =
        words(["exec", "--sandbox", "read-only", "--skip-git-repo-check", "--ephemeral", "--color", "never"]);
    let mut set = vec![
        format!(
            "mcp_servers={{ {off}review = {{ enabled = true, command = {}, args = {}, tool_timeout_sec = {LONGEST_CALL}, \
             default_tools_approval_mode = \"approve\" }} }}",
            json!(command),
            json!(rest)
        ),
        "approval_policy=\"never\"".to_owned(),
        "web_search=\"disabled\"".to_owned(),
        "project_doc_max_bytes=0".to_owned(),
        "check_for_update_on_startup=false".to_owned(),
    ];
    set.extend(CODEX_OFF.iter().map(|feature| format!("features.{feature}=false")));
    arguments.extend(set.into_iter().flat_map(|one| ["-c".to_owned(), one]));
    arguments.extend(model("--model", input.model));
    arguments.push("-".to_owned());
    LaunchPlan { arguments, variables: Vec::new(), settings: Vec::new() }
}

/// Returns the servers in the user's settings of Codex, which has no flag to leave them out.
fn other_codex_servers(environment: &Environment) -> Vec<String> {
    let home = environment.get("CODEX_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(PathBuf::from(environment.get("HOME")?).join(".codex")));
    let bytes = home.and_then(|home| files::read_plain(&home.join("config.toml"), LARGEST_SETTINGS).ok().flatten());
    let table = bytes.and_then(|bytes| String::from_utf8(bytes).ok()?.parse::<toml::Table>().ok());
    let servers = table.as_ref().and_then(|table| table.get("mcp_servers")?.as_table());
    servers.map_or_else(Vec::new, |servers| servers.keys().filter(|name| *name != "review").cloned().collect())
}

fn gemini(input: &LaunchInput<'_>) -> LaunchPlan {
    let mut bridge = server(input.bridge);
    bridge["trust"] = true.into();
    bridge["timeout"] = (LONGEST_CALL * 1_000).into();
    let settings = json!({
        "mcpServers": { "review": bridge },
        "mcp": { "allowed": ["review"] },
        // Everything else is left out, its own tools too.
        "tools": { "core": ["mcp_review_*"] },
        "hooksConfig": { "enabled": false },
        "context": { "fileName": "none" },
        "general": { "disableAutoUpdate": true },
        "experimental": { "enableAgents": false },
        "skills": { "enabled": false },
    });
    let mut arguments =
        words(["--approval-mode", "default", "--allowed-mcp-server-names", "review", "--extensions", "none"]);
    arguments.extend(model("--model", input.model));
    arguments.extend(words(["--prompt", "Do the task above."]));
    // The settings of a trusted folder win over the user's.
    let variables = vec![("GEMINI_CLI_TRUST_WORKSPACE", "true".to_owned()), ("NO_COLOR", "1".to_owned())];
    // It reads variables from the first such file of a folder above, which in a shared folder for temporary files may be anybody's.
    let own = gemini_variables(input.environment);
    let settings = vec![(".gemini/settings.json", settings.to_string()), (".gemini/.env", own)];
    LaunchPlan { arguments, variables, settings }
}

/// Returns the file of variables that Gemini CLI would read in the user's home.
fn gemini_variables(environment: &Environment) -> String {
    let home = environment.get("HOME").map(PathBuf::from).unwrap_or_default();
    let read = |name: &str| files::read_plain(&home.join(name), LARGEST_SETTINGS).ok().flatten();
    let bytes = read(".gemini/.env").or_else(|| read(".env")).unwrap_or_default();
    String::from_utf8(bytes).unwrap_or_default()
}

fn opencode(input: &LaunchInput<'_>) -> LaunchPlan {
    // The last rule that matches counts.
    let permission = json!({ "*": "deny", "review_*": "allow" });
    let settings = json!({
        "mcp": { "review": {
            "type": "local", "command": input.bridge, "enabled": true, "timeout": LONGEST_CALL * 1_000
        } },
        "permission": permission.clone(),
        "agent": { "review": { "mode": "primary", "description": "Reviews a change", "prompt": "You review.", "permission": permission } },
        "share": "disabled",
        "autoupdate": false,
    });
    let mut arguments = words(["run", "--pure", "--agent", "review", "--title", "review"]);
    arguments.extend(model("--model", input.model));
    let variables = vec![
        ("OPENCODE_CONFIG_CONTENT", settings.to_string()),
        ("OPENCODE_DISABLE_PROJECT_CONFIG", "1".to_owned()),
        ("OPENCODE_DISABLE_CLAUDE_CODE", "1".to_owned()),
        ("OPENCODE_DISABLE_AUTOUPDATE", "1".to_owned()),
        ("OPENCODE_DISABLE_LSP_DOWNLOAD", "1".to_owned()),
        ("NO_COLOR", "1".to_owned()),
    ];
    LaunchPlan { arguments, variables, settings: Vec::new() }
}
