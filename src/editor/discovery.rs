//! The search for an editor's socket, place by place. Main type: [`EditorSearch`].

use std::path::{Path, PathBuf};

use futures_util::future::BoxFuture;

use super::dialer::{BUS, BY_PID, EditorDialer};
use crate::domain::editor::{EditorLookup, EditorSource};
use crate::domain::text::strip_line;
use crate::sys::ancestors::ProcessInfo;
use crate::sys::local_socket::{self, LocalStream, SocketFault, SocketOwner};

/// The variable that the extension sets in the terminals of its window.
pub const VARIABLE: &str = "DIALECTIC_IPC_PATH";
/// The folder of sockets that are named after a process.
pub const FOLDER: &str = "/tmp";
/// The number of ancestors that may be the editor.
pub const MOST_ANCESTORS: usize = 10;

/// The places to search.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EditorSearch {
    /// The socket that a person named.
    pub socket: Option<PathBuf>,
    /// The value of [`VARIABLE`].
    pub variable: Option<PathBuf>,
    /// `true` to search for sockets named after the processes that this one descends from.
    pub discover: bool,
}

/// The editor that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditorAddress {
    /// Its socket.
    pub path: PathBuf,
    /// The accepted owner of the socket.
    pub owner: SocketOwner,
    /// The process of the terminal's shell; 0 if unknown.
    pub shell: u32,
}

impl EditorDialer for EditorAddress {
    fn dial(&self) -> BoxFuture<'static, Result<LocalStream, SocketFault>> {
        let Self { path, owner, .. } = self.clone();
        Box::pin(async move { local_socket::connect(&path, owner).await })
    }

    fn address(&self) -> String {
        strip_line(&self.path.display().to_string())
    }
}

impl EditorSearch {
    /// Searches in order, until a socket is found. `ancestors` are the processes that this one descends from, its parent first.
    pub fn run(&self, ancestors: &[ProcessInfo], folder: &Path) -> (Vec<EditorLookup>, Option<EditorAddress>) {
        let mut places = Vec::new();
        places.extend(self.socket.clone().map(|path| (EditorSource::Flag, path, None)));
        places.extend(self.variable.clone().map(|path| (EditorSource::Variable, path, None)));
        if self.discover {
            for (source, name) in [(EditorSource::Process, BY_PID), (EditorSource::Bus, BUS)] {
                let path = |process: &ProcessInfo| folder.join(format!("{name}{}.sock", process.pid));
                let by_pid = ancestors.iter().take(MOST_ANCESTORS).enumerate();
                places.extend(by_pid.map(|(at, process)| (source, path(process), Some(at))));
            }
        }
        let mut lookups = Vec::new();
        for (source, path, editor) in places {
            let owner = if source == EditorSource::Flag { SocketOwner::Anyone } else { SocketOwner::User };
            let fault = local_socket::check(&path, owner).err().map(|fault| fault.to_string());
            let found = fault.is_none();
            lookups.push(EditorLookup { source, path: path.clone(), fault });
            // A socket that a person named is the one to use; connecting to it reports what is wrong.
            if found || source == EditorSource::Flag {
                let below = &ancestors[..editor.unwrap_or(ancestors.len().min(MOST_ANCESTORS))];
                return (lookups, Some(EditorAddress { path, owner, shell: shell(below) }));
            }
        }
        (lookups, None)
    }
}

/// Finds the shell of the terminal among the processes between this one and the editor, its parent first; 0 if there is none.
fn shell(below: &[ProcessInfo]) -> u32 {
    let outermost = |is_shell: &dyn Fn(&str) -> bool| below.iter().rev().find(|process| is_shell(&process.command));
    let name = |command: &str| {
        let program = command.split_whitespace().next().unwrap_or_default().trim_start_matches('-');
        program.rsplit('/').next().unwrap_or_default().to_owned()
    };
    let has = |command: &str, words: &[&str]| command.split_whitespace().any(|word| words.contains(&word));
    let is_interactive = |command: &str| match name(command).as_str() {
        "zsh" | "bash" => !has(command, &["-c", "--login"]),
        "fish" => true,
        _ => false,
    };
    outermost(&|command| command.contains("(qterm)"))
        .or_else(|| outermost(&is_interactive))
        .or_else(|| outermost(&|command| name(command).ends_with("sh")))
        .map_or(0, |process| process.pid)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn processes(commands: &[&str]) -> Vec<ProcessInfo> {
        (10..).zip(commands).map(|(pid, command)| ProcessInfo { pid, command: (*command).to_owned() }).collect()
    }

    #[test]
    fn the_shell_is_the_outermost_one_that_a_person_types_in() {
        for (commands, found) in [
            (&["node claude", "/bin/bash -c x", "-zsh", "ptyHost"][..], 12),
            (&["bash -c x", "zsh (qterm)", "/bin/zsh -l"], 11),
            (&["sh -c x", "bash --login", "/opt/app --sh"], 11),
            (&["node"], 0),
            (&[], 0),
        ] {
            assert_eq!(shell(&processes(commands)), found, "{commands:?}");
        }
    }

    #[test]
    fn places_are_searched_in_order_and_guessed_ones_only_on_request() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let ancestors = processes(&["bash", "code"]);
        let run = |search: &EditorSearch| search.run(&ancestors, folder.path());
        let bus = at("dialectic-daemon-11.sock");
        let _bus = std::os::unix::net::UnixListener::bind(&bus).unwrap();
        std::fs::write(at("dialectic-vscode-11.sock"), "").unwrap();
        assert_eq!(run(&EditorSearch::default()), (Vec::new(), None));

        let discover = EditorSearch { discover: true, ..EditorSearch::default() };
        let (lookups, found) = run(&discover);
        let seen: Vec<_> = lookups.iter().map(|lookup| (lookup.source, lookup.fault.as_deref())).collect();
        let missing = Some("there is nothing at this path");
        assert_eq!(
            seen,
            [
                (EditorSource::Process, missing),
                (EditorSource::Process, Some("it is not a socket")),
                (EditorSource::Bus, missing),
                (EditorSource::Bus, None),
            ]
        );
        assert_eq!(found, Some(EditorAddress { path: bus, owner: SocketOwner::User, shell: 10 }));

        let variable = EditorSearch { variable: Some(at("gone.sock")), ..discover };
        assert_eq!(run(&variable).0.len(), 5);
        let named = EditorSearch { socket: Some(at("named.sock")), ..variable };
        let (lookups, found) = run(&named);
        assert_eq!((lookups.len(), lookups[0].fault.as_deref()), (1, missing));
        assert_eq!(found.map(|found| (found.path, found.owner)), Some((at("named.sock"), SocketOwner::Anyone)));
    }
}
