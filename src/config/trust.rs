//! The trust in settings of a repository. Main function: [`repository_may`].
//!
//! A repository's file is written by whoever can push to the target: it may narrow a review or describe the project, and never
//! choose where code is sent, what is executed, what is written or how much is spent.

/// The permission of the repository's file for a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Permission {
    /// Set it.
    Set,
    /// Set it to no more than what the user's own settings come to.
    Lower,
    /// Nothing.
    Never,
}

/// The settings of today. What is not listed may never be set.
const REPOSITORY: &[(&str, Permission)] = &[
    ("include", Permission::Set),
    ("exclude", Permission::Set),
    ("min_severity", Permission::Set),
    ("rules.off", Permission::Set),
    ("rules.severity", Permission::Set),
    ("guidelines", Permission::Set),
    ("guideline_files", Permission::Set),
    ("timeout", Permission::Lower),
    ("max_commits", Permission::Lower),
    ("max_turns", Permission::Lower),
    ("max_tokens", Permission::Lower),
];

/// Names that are no settings of a file but that a hostile repository, or an honest one used to other tools, would try. They are
/// refused for what they are rather than as misspelled.
const TRIED: &[&str] = &[
    "agent", "api_base", "api_key", "auth", "base_url", "cache", "command", "editor", "endpoint", "env", "headers",
    "hooks", "key", "mcp", "output", "present", "provider", "proxy", "settings", "shell", "socket", "state", "target",
    "token",
];

/// Returns the permission of the repository's file for the setting `name`; `None` if there is no such setting.
pub fn repository_may(name: &str) -> Option<Permission> {
    let listed = REPOSITORY.iter().find(|(listed, _)| *listed == name).map(|(_, permission)| *permission);
    let table = name.split('.').next().unwrap_or(name);
    let of_provider = super::keys::KEYS.iter().any(|key| key.provider() == Some(table));
    let known = super::keys::SettingKey::from_name(name).is_some() || TRIED.contains(&table) || of_provider;
    listed.or(known.then_some(Permission::Never))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_listed_exists() {
        for (name, _) in REPOSITORY {
            assert!(super::super::keys::SettingKey::from_name(name).is_some(), "{name}");
        }
    }

    #[test]
    fn what_sends_spends_or_writes_is_never_the_repositorys() {
        for name in [
            "model",
            "format",
            "keep_runs",
            "fail_on",
            "request_changes_on",
            "comment_on",
            "max_comments",
            // It moves what fail_on counts.
            "min_confidence",
            "verify",
            "verify_model",
            "allow_build",
            "colour",
            "provider",
            "base_url",
            "headers.x",
            "output",
            "instructions",
            "prompts",
            "rules.packs",
            "providers",
            "anthropic.base_url",
            "openai-chat.api_key",
            "ollama",
            "gemini.typo",
        ] {
            assert_eq!(repository_may(name), Some(Permission::Never), "{name}");
        }
        assert_eq!(repository_may("exlude"), None);
    }
}
