//! Writes a client's file. Main function: [`write()`].

use std::path::{Path, PathBuf};

use super::setup::{ClientError, ClientSetup, display_path};
use super::{ClientFormat, EditOutcome, json, toml};
use crate::sys::files;

/// Maximum size in bytes of a settings file to edit.
const MOST: u64 = 16 << 20;

/// The result of writing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteOutcome {
    /// The file is new.
    Created,
    /// The entry was added to the existing ones.
    Added,
    /// The entry replaced another one.
    Replaced,
    /// The entry was already there; nothing was written.
    Same,
}

/// Writes the entry into the client's file atomically; the rest of the file stays unchanged. Returns the result and the path.
pub fn write(setup: &ClientSetup, client: &'static str, force: bool) -> Result<(WriteOutcome, PathBuf), ClientError> {
    let Some((path, alone)) = &setup.file else {
        let command = setup.command.clone().unwrap_or_default();
        return Err(ClientError::ItsOwn { client, command });
    };
    if let Some(project) = &setup.within {
        stays_inside(path, project)?;
    }
    // Opening a pipe would block; reading a device might not end.
    if path.metadata().is_ok_and(|found| !found.is_file()) {
        return Err(ClientError::Unreadable { path: display_path(path), why: "it is not a file".to_owned() });
    }
    let before = match files::open_optional(path)? {
        Some(file) => files::read_within(file, path, MOST)?,
        None => {
            files::rewrite(path, alone.as_bytes())?;
            return Ok((WriteOutcome::Created, path.clone()));
        }
    };
    let unreadable = |why: String| ClientError::Unreadable { path: display_path(path), why };
    let before = String::from_utf8(before).map_err(|_| unreadable("it is not UTF-8 text".to_owned()))?;
    let edited = match setup.shape {
        ClientFormat::Json { servers, .. } => json::set(&before, servers, &setup.name, &setup.entry, force)
            .map_err(|fault| unreadable(fault.to_string()))?,
        ClientFormat::Toml { servers } => toml::set(&before, servers, &setup.name, &setup.entry, force)
            .map_err(|fault| unreadable(fault.to_string()))?,
    };
    let (done, after) = match edited {
        EditOutcome::Same => return Ok((WriteOutcome::Same, path.clone())),
        EditOutcome::Taken => return Err(ClientError::Taken { path: display_path(path), name: setup.name.clone() }),
        EditOutcome::Added(after) => (WriteOutcome::Added, after),
        EditOutcome::Replaced(after) => (WriteOutcome::Replaced, after),
    };
    files::rewrite(path, after.as_bytes())?;
    Ok((done, path.clone()))
}

/// Refuses paths through links that leave the project: the setup of a project must not change a file elsewhere.
fn stays_inside(path: &Path, project: &Path) -> Result<(), ClientError> {
    let root = files::real_path(project)?;
    // Only the nearest existing part can be a link.
    let there = path.ancestors().find(|part| part.symlink_metadata().is_ok()).unwrap_or(project);
    let real = files::real_path(there)?;
    // Git's own folder is not part of the project, although it is inside.
    let of_project = real.strip_prefix(&root).is_ok_and(|rest| {
        !rest.components().any(|part| part.as_os_str().to_str().is_some_and(|name| name.eq_ignore_ascii_case(".git")))
    });
    if of_project {
        return Ok(());
    }
    Err(ClientError::LeadsOut { path: display_path(path), real: display_path(&real) })
}

#[cfg(test)]
mod tests {
    use super::super::CLIENTS;
    use super::super::ClientFile;
    use super::super::McpClient;
    use super::super::SetupScope;
    use super::super::folders::ClientFolders;
    use super::super::setup;
    use super::super::setup::SetupRequest;
    use super::*;

    fn wanted(name: &str, scope: SetupScope, project: &Path) -> SetupRequest {
        SetupRequest {
            client: McpClient::find(name).unwrap(),
            scope,
            name: "review".into(),
            program: "review".into(),
            project: project.to_owned(),
            flags: Vec::new(),
            keys: Vec::new(),
        }
    }

    fn folders(home: &Path) -> ClientFolders {
        let join = |name| home.join(name);
        ClientFolders { home: home.to_owned(), app: join("app"), config: join(".config"), codex: join(".codex") }
    }

    #[test]
    fn every_client_is_told_the_same_in_its_own_words() {
        let home = Path::new("/home/ada");
        let mut shown = String::new();
        for client in CLIENTS {
            for (word, scope) in [("user", SetupScope::User), ("project", SetupScope::Project)] {
                let wanted = wanted(client.name, scope, Path::new("/home/ada/shop"));
                shown.push_str(&format!("== {} for {word}\n", client.title));
                match setup(&wanted, Some(&folders(home))) {
                    Err(error) => shown.push_str(&format!("{error}\n\n")),
                    Ok(setup) => {
                        let (path, text) = setup.file.unwrap_or_default();
                        shown.push_str(&format!("{}\n{text}", path.display().to_string().replace('\\', "/")));
                        shown.push_str(&format!("$ {}\n", setup.command.unwrap_or_default()));
                        shown.push_str(&format!("{}\n\n", setup.notes.join("\n")));
                    }
                }
            }
        }
        insta::assert_snapshot!(shown);
    }

    #[test]
    fn a_file_is_made_then_left_alone_and_another_entry_is_not_taken_away() {
        let root = tempfile::tempdir().unwrap();
        for client in CLIENTS.iter().filter(|client| client.user != ClientFile::Its) {
            let mut wanted = wanted(client.name, SetupScope::User, root.path());
            let made = setup(&wanted, Some(&folders(root.path()))).unwrap();
            let path = made.file.clone().unwrap().0;
            assert_eq!(write(&made, client.title, false).unwrap(), (WriteOutcome::Created, path.clone()));
            assert_eq!(write(&made, client.title, false).unwrap().0, WriteOutcome::Same, "{}", client.name);
            let first = std::fs::read_to_string(&path).unwrap();
            assert_eq!(first, made.file.unwrap().1);

            wanted.flags = vec!["--allow-write".into()];
            let other = setup(&wanted, Some(&folders(root.path()))).unwrap();
            assert!(matches!(write(&other, client.title, false), Err(ClientError::Taken { .. })));
            assert_eq!(std::fs::read_to_string(&path).unwrap(), first);
            assert_eq!(write(&other, client.title, true).unwrap().0, WriteOutcome::Replaced);
            wanted.name = "second".into();
            let second = setup(&wanted, Some(&folders(root.path()))).unwrap();
            assert_eq!(write(&second, client.title, false).unwrap().0, WriteOutcome::Added);
            let text = std::fs::read_to_string(&path).unwrap();
            assert!(text.contains("--allow-write") && text.contains("second") && text.contains("review"), "{text}");
        }
    }

    #[test]
    fn what_a_client_writes_itself_is_left_to_its_command() {
        let made = setup(&wanted("claude-code", SetupScope::User, Path::new("/p")), None).unwrap();
        let error = write(&made, "Claude Code", true).unwrap_err().to_string();
        assert!(error.ends_with("claude mcp add --scope user review -- review mcp"), "{error}");
    }

    #[test]
    fn a_broken_file_is_left_as_it_is_and_what_belongs_there_is_told() {
        let root = tempfile::tempdir().unwrap();
        std::fs::write(root.path().join(".mcp.json"), "{ oh").unwrap();
        let made = setup(&wanted("claude-code", SetupScope::Project, root.path()), None).unwrap();
        let error = write(&made, "Claude Code", true).unwrap_err().to_string();
        assert!(error.contains("not JSON") && error.contains("without --write"), "{error}");
        assert_eq!(std::fs::read_to_string(root.path().join(".mcp.json")).unwrap(), "{ oh");
    }

    #[cfg(unix)]
    #[test]
    fn no_link_of_a_project_leads_out_of_it() {
        let root = tempfile::tempdir().unwrap();
        let project = root.path().join("project");
        std::fs::create_dir(&project).unwrap();
        std::fs::create_dir(root.path().join("mine")).unwrap();
        std::os::unix::fs::symlink("../mine", project.join(".vscode")).unwrap();
        std::fs::write(root.path().join("mine.json"), "{}").unwrap();
        std::os::unix::fs::symlink("../mine.json", project.join(".mcp.json")).unwrap();
        for client in ["vscode", "claude-code"] {
            let made = setup(&wanted(client, SetupScope::Project, &project), None).unwrap();
            assert!(matches!(write(&made, client, true), Err(ClientError::LeadsOut { .. })), "{client}");
        }
        assert_eq!(std::fs::read_dir(root.path().join("mine")).unwrap().count(), 0);
        assert_eq!(std::fs::read_to_string(root.path().join("mine.json")).unwrap(), "{}");
    }

    #[cfg(unix)]
    #[test]
    fn no_link_of_a_project_leads_to_what_git_keeps() {
        let project = tempfile::tempdir().unwrap();
        let config = project.path().join(".git/config");
        std::fs::create_dir(project.path().join(".git")).unwrap();
        std::fs::create_dir(project.path().join(".codex")).unwrap();
        std::fs::write(&config, "[core]\n\tbare = false\n").unwrap();
        std::os::unix::fs::symlink("../.git/config", project.path().join(".codex/config.toml")).unwrap();
        let made = setup(&wanted("codex", SetupScope::Project, project.path()), None).unwrap();
        assert!(matches!(write(&made, "Codex", true), Err(ClientError::LeadsOut { .. })));
        assert_eq!(std::fs::read_to_string(config).unwrap(), "[core]\n\tbare = false\n");
    }

    #[test]
    fn what_is_no_file_is_left_as_it_is() {
        let project = tempfile::tempdir().unwrap();
        std::fs::create_dir(project.path().join(".mcp.json")).unwrap();
        let made = setup(&wanted("claude-code", SetupScope::Project, project.path()), None).unwrap();
        let error = write(&made, "Claude Code", true).unwrap_err().to_string();
        assert!(error.contains("it is not a file"), "{error}");
    }

    #[test]
    fn a_folder_that_is_named_in_any_way_is_the_only_one() {
        for flag in ["-C", "-C/elsewhere", "--directory=/elsewhere", "--repo-path", "--repo-path=/elsewhere"] {
            let mut wanted = wanted("cursor", SetupScope::Project, Path::new("/p"));
            wanted.flags = vec![flag.into()];
            let text = setup(&wanted, None).unwrap().file.unwrap().1;
            assert!(!text.contains("workspaceFolder"), "{flag}: {text}");
        }
    }

    #[test]
    fn flags_and_odd_words_reach_the_server_as_they_are() {
        let mut wanted = wanted("codex", SetupScope::User, Path::new("/p"));
        wanted.flags = vec!["-C".into(), "/it's here".into(), "--root".into(), "/b".into()];
        let made = setup(&wanted, Some(&folders(Path::new("/h")))).unwrap();
        let command = r"codex mcp add review -- review mcp -C '/it'\''s here' --root /b";
        assert_eq!(made.command.as_deref(), Some(command));
        wanted.name = "a b".into();
        assert!(matches!(setup(&wanted, None), Err(ClientError::Name(_))));
    }
}
