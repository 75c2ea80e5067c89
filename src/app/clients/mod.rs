//! The MCP clients and how to configure each of them to start the server. Main types: [`McpClient`], [`ClientSetup`]; the table [`CLIENTS`].
//!
//! The entry is made in `setup`; editing a file without changing the rest, in `json` and `toml`; writing it, in `write`. To add a client:
//! one row.

mod folders;
mod json;
mod setup;
mod toml;
mod write;

pub use folders::ClientFolders;
pub use setup::{ClientError, ClientSetup, SetupRequest, key_variables, program_name, project, setup};
pub use write::{WriteOutcome, write};

/// A program that starts MCP servers.
#[derive(Debug, Clone, Copy)]
pub struct McpClient {
    /// Its name on the command line.
    pub name: &'static str,
    /// Its product name.
    pub title: &'static str,
    shape: ClientFormat,
    /// The file for all projects of a user.
    user: ClientFile,
    /// The file of a project, from its root.
    project: Option<&'static str>,
    /// The client's variable for the opened folder, in a project's file.
    folder: Option<&'static str>,
    /// `true` if it starts servers in the folder of the project.
    starts_in_project: bool,
    /// Its own command, up to the name.
    command: Option<ClientCommand>,
    /// The way of the keys to the server.
    keys: KeyPassing,
    /// The remaining step for the user.
    then: &'static str,
    /// The permission that the client needs to call the tools without a person who allows each call; `NAME` is the server's.
    unattended: Option<&'static str>,
}

/// The result of an edit of a client's file.
#[derive(Debug, Clone, PartialEq, Eq)]
enum EditOutcome {
    /// The entry was added.
    Added(String),
    /// The entry replaced another one.
    Replaced(String),
    /// The entry was already there.
    Same,
    /// Another entry has this name.
    Taken,
}

/// The scope of a server's setup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetupScope {
    /// The whole project: the file is part of it.
    Project,
    /// One person, in all of their projects.
    User,
}

/// The format of a client's file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ClientFormat {
    /// JSON, possibly with comments: the field of all servers, and the form of each.
    Json { servers: &'static str, entry: JsonEntry },
    /// TOML: the table with all servers.
    Toml { servers: &'static str },
}

/// The form of a server in JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum JsonEntry {
    /// `command` and `args`.
    Plain,
    /// Likewise, with the type `stdio`.
    Typed,
    /// The type `local`, and one list as `command`.
    Local,
}

/// The way in which the variables with the keys of models reach a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum KeyPassing {
    /// It inherits the client's environment.
    Inherited,
    /// The client was not started from a shell, so it has none.
    Unavailable,
    /// The entry lists the names of those to pass on, in this field.
    Listed(&'static str),
    /// The entry has an object of names and `$NAME`, in this field.
    Referenced(&'static str),
}

/// The location of a user's file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ClientFile {
    /// Below the home folder.
    Home(&'static str),
    /// Below the settings folder of desktop programs.
    App(&'static str),
    /// Below `~/.config`, or that folder on Windows.
    Config(&'static str),
    /// Below the folder of Codex.
    Codex(&'static str),
    /// A file that the client rewrites constantly; only its own command may change it.
    Its,
}

/// The client's own command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ClientCommand {
    /// Arguments per scope, then the name, an optional `--`, and the server's command line.
    Words { user: &'static [&'static str], project: Option<&'static [&'static str]>, dashes: bool },
    /// Arguments, then the server as JSON including its name; for a user only.
    Json(&'static [&'static str]),
}

/// Every client. The files, fields and variables are those of each client's own documentation.
pub const CLIENTS: &[McpClient] = &[
    // https://code.claude.com/docs/en/mcp
    McpClient {
        name: "claude-code",
        title: "Claude Code",
        shape: ClientFormat::Json { servers: "mcpServers", entry: JsonEntry::Typed },
        user: ClientFile::Its,
        project: Some(".mcp.json"),
        folder: None,
        starts_in_project: true,
        command: Some(ClientCommand::Words {
            user: &["claude", "mcp", "add", "--scope", "user"],
            project: Some(&["claude", "mcp", "add", "--scope", "project"]),
            dashes: true,
        }),
        keys: KeyPassing::Inherited,
        then: "start Claude Code anew in the project and allow the server when it asks; /mcp shows it",
        unattended: Some(
            "without a person who allows calls, run claude -p with --allowedTools mcp__NAME, or add {\"permissions\": {\"allow\": [\"mcp__NAME\"]}} to .claude/settings.json",
        ),
    },
    // https://modelcontextprotocol.io/docs/develop/connect-local-servers
    McpClient {
        name: "claude-desktop",
        title: "Claude Desktop",
        shape: ClientFormat::Json { servers: "mcpServers", entry: JsonEntry::Plain },
        user: ClientFile::App("Claude/claude_desktop_config.json"),
        project: None,
        folder: None,
        starts_in_project: false,
        command: None,
        keys: KeyPassing::Unavailable,
        then: "quit Claude Desktop and start it anew",
        unattended: None,
    },
    // https://cursor.com/docs/context/mcp
    McpClient {
        name: "cursor",
        title: "Cursor",
        shape: ClientFormat::Json { servers: "mcpServers", entry: JsonEntry::Typed },
        user: ClientFile::Home(".cursor/mcp.json"),
        project: Some(".cursor/mcp.json"),
        folder: Some("${workspaceFolder}"),
        starts_in_project: false,
        command: None,
        keys: KeyPassing::Unavailable,
        then: "switch the server on in the settings of Cursor, under MCP",
        unattended: None,
    },
    // https://code.visualstudio.com/docs/copilot/reference/mcp-configuration
    McpClient {
        name: "vscode",
        title: "Visual Studio Code",
        shape: ClientFormat::Json { servers: "servers", entry: JsonEntry::Typed },
        user: ClientFile::App("Code/User/mcp.json"),
        project: Some(".vscode/mcp.json"),
        folder: Some("${workspaceFolder}"),
        starts_in_project: false,
        command: Some(ClientCommand::Json(&["code", "--add-mcp"])),
        keys: KeyPassing::Unavailable,
        then: "run `MCP: List Servers` from the command palette and start the server",
        unattended: None,
    },
    // https://developers.openai.com/codex/mcp
    McpClient {
        name: "codex",
        title: "Codex",
        shape: ClientFormat::Toml { servers: "mcp_servers" },
        user: ClientFile::Codex("config.toml"),
        project: Some(".codex/config.toml"),
        folder: None,
        starts_in_project: true,
        command: Some(ClientCommand::Words { user: &["codex", "mcp", "add"], project: None, dashes: true }),
        keys: KeyPassing::Listed("env_vars"),
        then: "start Codex anew in the project; it reads a project's own file only where the project is trusted, which codex exec --trust makes it; /mcp shows the server",
        unattended: Some(
            "codex exec refuses the tool review, which may send code to a model, unless the same file has [mcp_servers.NAME.tools.review] with approval_mode = \"approve\"",
        ),
    },
    // https://geminicli.com/docs/tools/mcp-server/
    McpClient {
        name: "gemini-cli",
        title: "Gemini CLI",
        shape: ClientFormat::Json { servers: "mcpServers", entry: JsonEntry::Plain },
        user: ClientFile::Home(".gemini/settings.json"),
        project: Some(".gemini/settings.json"),
        folder: None,
        starts_in_project: true,
        command: None,
        keys: KeyPassing::Referenced("env"),
        then: "start Gemini CLI anew in the project; /mcp shows the server",
        unattended: Some(
            "in a folder that is not trusted Gemini CLI starts no server (trust it, or set GEMINI_CLI_TRUST_WORKSPACE=true); without a person who allows calls it offers the tools only with \"trust\": true in this entry, or with --approval-mode yolo",
        ),
    },
    // https://docs.windsurf.com/windsurf/cascade/mcp
    McpClient {
        name: "windsurf",
        title: "Windsurf",
        shape: ClientFormat::Json { servers: "mcpServers", entry: JsonEntry::Plain },
        user: ClientFile::Home(".codeium/windsurf/mcp_config.json"),
        project: None,
        folder: None,
        starts_in_project: false,
        command: None,
        keys: KeyPassing::Unavailable,
        then: "press refresh in the MCP panel of Cascade",
        unattended: None,
    },
    // https://zed.dev/docs/ai/mcp
    McpClient {
        name: "zed",
        title: "Zed",
        shape: ClientFormat::Json { servers: "context_servers", entry: JsonEntry::Plain },
        user: ClientFile::Config("zed/settings.json"),
        project: Some(".zed/settings.json"),
        folder: None,
        starts_in_project: true,
        command: None,
        keys: KeyPassing::Unavailable,
        then: "the settings of Zed show the server under AI, MCP Servers",
        unattended: None,
    },
    // https://opencode.ai/docs/mcp-servers
    McpClient {
        name: "opencode",
        title: "OpenCode",
        shape: ClientFormat::Json { servers: "mcp", entry: JsonEntry::Local },
        user: ClientFile::Config("opencode/opencode.json"),
        project: Some("opencode.json"),
        folder: None,
        starts_in_project: true,
        command: None,
        keys: KeyPassing::Inherited,
        then: "start OpenCode anew in the project; opencode mcp list shows the server",
        unattended: None,
    },
    // https://qwenlm.github.io/qwen-code-docs/en/users/features/mcp
    McpClient {
        name: "qwen-code",
        title: "Qwen Code",
        shape: ClientFormat::Json { servers: "mcpServers", entry: JsonEntry::Plain },
        user: ClientFile::Home(".qwen/settings.json"),
        project: Some(".qwen/settings.json"),
        folder: None,
        starts_in_project: true,
        command: None,
        keys: KeyPassing::Inherited,
        then: "start Qwen Code anew in the project and allow the server when it asks; /mcp shows it",
        unattended: None,
    },
    // https://docs.cline.bot/cline-cli/overview
    McpClient {
        name: "cline",
        title: "Cline",
        shape: ClientFormat::Json { servers: "mcpServers", entry: JsonEntry::Plain },
        user: ClientFile::Its,
        project: None,
        folder: None,
        starts_in_project: false,
        command: Some(ClientCommand::Words { user: &["cline", "mcp", "add", "--yes"], project: None, dashes: true }),
        keys: KeyPassing::Inherited,
        then: "run it again for another project, with another --name: Cline starts a server once, for all projects",
        unattended: None,
    },
];

impl McpClient {
    /// Finds the client with this name.
    pub fn find(name: &str) -> Option<&'static Self> {
        CLIENTS.iter().find(|client| client.name == name)
    }

    /// The project's file relative to its root, if the client has one.
    pub fn project_file(&self) -> Option<&'static str> {
        self.project
    }

    /// The default scope: the project, if the client has a project file.
    pub fn default_scope(&self) -> SetupScope {
        if self.project.is_some() { SetupScope::Project } else { SetupScope::User }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::client_files::CLIENT_FILES;

    #[test]
    fn every_client_and_its_project_file_are_documented() {
        let page = include_str!("../../../docs/mcp.md");
        for client in CLIENTS {
            let row = page.lines().find(|line| line.starts_with(&format!("| `{}` |", client.name)));
            let row = row.unwrap_or_else(|| panic!("{} is not documented", client.name));
            assert_eq!(client.project.is_some(), !row.contains("| — |"), "{}", client.name);
            assert!(client.project.is_none_or(|file| row.contains(&format!("`{file}`"))), "{}", client.name);
            assert!(client.project.is_none_or(|file| CLIENT_FILES.contains(&file)), "{}", client.name);
        }
    }
}
