//! The files in which a project configures MCP clients. Main constant: [`CLIENT_FILES`].

/// The paths from the project's root, for all clients that `review mcp install` knows.
pub const CLIENT_FILES: [&str; 8] = [
    ".codex/config.toml",
    ".cursor/mcp.json",
    ".gemini/settings.json",
    ".mcp.json",
    ".qwen/settings.json",
    ".vscode/mcp.json",
    ".zed/settings.json",
    "opencode.json",
];
