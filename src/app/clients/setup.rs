//! Determines the configuration of a client, and its file. Main function: [`setup`].

use crate::app::context::error::UseCaseError;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::ClientCommand;
use super::ClientFile;
use super::ClientFormat;
use super::JsonEntry;
use super::KeyPassing;
use super::McpClient;
use super::SetupScope;
use super::folders::ClientFolders;
use super::json as json_file;
use super::toml as toml_file;
use crate::llm::{self, ProviderHead};
use crate::sys::files::{self, FileError};
use crate::sys::repo::Repo;

/// The requested setup.
#[derive(Debug, Clone)]
pub struct SetupRequest {
    /// The client.
    pub client: &'static McpClient,
    /// The scope.
    pub scope: SetupScope,
    /// The name of the server in the client.
    pub name: String,
    /// The command that starts this program.
    pub program: String,
    /// The root of the project; absolute.
    pub project: PathBuf,
    /// Flags of the server.
    pub flags: Vec<String>,
    /// The variables with keys of models that are set here.
    pub keys: Vec<String>,
}

/// The configuration to make.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientSetup {
    /// The file, and its contents if it had no other entry. `None` if only the client may write it.
    pub file: Option<(PathBuf, String)>,
    /// The client's own command with the same effect.
    pub command: Option<String>,
    /// Notes for the user: sentences without a full stop.
    pub notes: Vec<String>,
    pub(super) shape: ClientFormat,
    pub(super) name: String,
    pub(super) entry: Value,
    /// The folder that a project's file may not lead out of.
    pub(super) within: Option<PathBuf>,
}

/// The reason why a client cannot be set up.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum ClientError {
    #[error("{client} has no settings of a project; use --scope user")]
    NoProjectFile { client: &'static str },
    /// Only the client's own command may write the file.
    #[error(
        "{client} keeps these settings in a file that it writes itself while it runs; have it done by its own command: {command}"
    )]
    ItsOwn { client: &'static str, command: String },
    #[error("there is no home folder to find the settings of {client} in: set HOME")]
    NoHome { client: &'static str },
    /// The name is not valid for every client.
    #[error("{0:?} cannot be the name of the server: letters, digits, - and _ are needed")]
    Name(String),
    /// The file is malformed.
    #[error("{path} is left as it is: {why}; the same command without --write shows what belongs there")]
    Unreadable { path: String, why: String },
    #[error("{path} has another server {name:?}; give this one another --name, or replace that one with --force")]
    Taken { path: String, name: String },
    /// The file of a project is a link out of it.
    #[error(
        "{path} is, or lies behind, a link that leads out of the project; write to {real} yourself if that is what you want"
    )]
    LeadsOut { path: String, real: String },
    /// The file could not be read or written.
    #[error(transparent)]
    File(#[from] FileError),
}

impl UseCaseError for ClientError {
    /// Returns 5 if the file could not be written, else 2.
    fn exit_code(&self) -> u8 {
        if matches!(self, Self::File(_)) { 5 } else { 2 }
    }
}

/// The root of the project around a folder: of its repository, if there is one.
pub fn project(folder: &Path) -> Result<PathBuf, ClientError> {
    let folder = files::real_path(folder)?;
    let root = Repo::open(&folder).ok().and_then(|repo| files::real_path(repo.workdir()?).ok());
    Ok(root.unwrap_or(folder))
}

/// The command that starts this program. A desktop program does not search the path of a shell, so it gets an absolute path; a project's
/// file gets the name alone, because each user's path differs.
pub fn program_name(scope: SetupScope) -> String {
    let path = std::env::current_exe().ok().filter(|_| scope == SetupScope::User);
    path.map_or_else(|| "review".to_owned(), |path| path.display().to_string())
}

/// Determines the configuration. Nothing is read or written.
pub fn setup(wanted: &SetupRequest, folders: Option<&ClientFolders>) -> Result<ClientSetup, ClientError> {
    let SetupRequest { client, scope, name, .. } = wanted;
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    if name.is_empty() || !name.chars().all(plain) {
        return Err(ClientError::Name(name.clone()));
    }
    let path = match scope {
        SetupScope::Project => {
            let file = client.project.ok_or(ClientError::NoProjectFile { client: client.title })?;
            Some(wanted.project.join(file))
        }
        SetupScope::User => user_file(client, folders)?,
    };
    let arguments = arguments(wanted);
    let entry = entry(client, &wanted.program, &arguments);
    let alone = match client.shape {
        ClientFormat::Json { servers, .. } => json_file::render_entry(servers, name, &entry),
        ClientFormat::Toml { servers } => toml_file::render_entry(servers, name, &entry),
    };
    Ok(ClientSetup {
        file: path.map(|path| (path, alone)),
        command: client.command.and_then(|command| own_command(command, wanted, &arguments)),
        notes: notes(wanted),
        shape: client.shape,
        name: name.clone(),
        entry,
        within: (*scope == SetupScope::Project).then(|| wanted.project.clone()),
    })
}

fn user_file(client: &McpClient, folders: Option<&ClientFolders>) -> Result<Option<PathBuf>, ClientError> {
    let folders = folders.ok_or(ClientError::NoHome { client: client.title });
    Ok(Some(match client.user {
        ClientFile::Its => return Ok(None),
        ClientFile::Home(file) => folders?.home.join(file),
        ClientFile::App(file) => folders?.app.join(file),
        ClientFile::Config(file) => folders?.config.join(file),
        ClientFile::Codex(file) => folders?.codex.join(file),
    }))
}

/// The server's command line without the program.
fn arguments(wanted: &SetupRequest) -> Vec<String> {
    let mut all = vec!["mcp".to_owned()];
    let names_one = |flag: &String| ["-C", "--directory", "--repo-path"].iter().any(|name| flag.starts_with(name));
    let own_folder = wanted.flags.iter().any(names_one);
    if !own_folder && let Some(folder) = folder(wanted) {
        all.extend(["-C".to_owned(), folder]);
    }
    all.extend(wanted.flags.iter().cloned());
    all
}

/// The folder argument of the server; `None` if it is started in the right one.
fn folder(wanted: &SetupRequest) -> Option<String> {
    match (wanted.scope, wanted.client.folder) {
        // In a user's file the variable would not be expanded: it belongs to project files.
        (SetupScope::Project, Some(variable)) => Some(variable.to_owned()),
        (SetupScope::Project, None) => None,
        (SetupScope::User, _) if wanted.client.starts_in_project => None,
        (SetupScope::User, _) => Some(wanted.project.display().to_string()),
    }
}

fn notes(wanted: &SetupRequest) -> Vec<String> {
    let mut notes = Vec::new();
    if wanted.scope == SetupScope::User && !wanted.client.starts_in_project {
        let (title, folder) = (wanted.client.title, wanted.project.display());
        let better = if wanted.client.project.is_some() { "; --scope project follows the project" } else { "" };
        notes.push(format!(
            "{title} starts servers in no project, so this one looks at {folder}; `-- --root DIR` allows it more{better}"
        ));
    }
    notes.push(wanted.client.then.to_owned());
    notes.extend(wanted.client.unattended.map(|text| text.replace("NAME", &wanted.name)));
    notes.extend(key_note(wanted));
    notes
}

fn entry(client: &McpClient, program: &str, arguments: &[String]) -> Value {
    let mut fields = Map::new();
    let mut set = |name: &str, value: Value| fields.insert(name.to_owned(), value);
    match client.shape {
        ClientFormat::Json { entry: JsonEntry::Local, .. } => {
            set("type", json!("local"));
            let words: Vec<&str> = [program].into_iter().chain(arguments.iter().map(String::as_str)).collect();
            set("command", json!(words));
        }
        ClientFormat::Json { entry, .. } => {
            if entry == JsonEntry::Typed {
                set("type", json!("stdio"));
            }
            set("command", json!(program));
            set("args", json!(arguments));
        }
        ClientFormat::Toml { .. } => {
            set("command", json!(program));
            set("args", json!(arguments));
        }
    }
    match client.keys {
        KeyPassing::Listed(field) => {
            let addresses = model_heads().map(|head| head.base_variable);
            let names: Vec<&str> = key_variables().chain(addresses).collect();
            set(field, json!(names));
        }
        KeyPassing::Referenced(field) => {
            let references: Map<String, Value> =
                key_variables().map(|name| (name.to_owned(), json!(format!("${name}")))).collect();
            set(field, references.into());
        }
        KeyPassing::Inherited | KeyPassing::Unavailable => {}
    }
    Value::Object(fields)
}

/// The providers whose key makes one of their models the reviewer, without being named.
fn model_heads() -> impl Iterator<Item = ProviderHead> {
    llm::heads().into_iter().filter(|head| head.taken_when_found)
}

/// The variables with the keys of these providers.
pub fn key_variables() -> impl Iterator<Item = &'static str> {
    model_heads().map(|head| head.key_variable)
}

/// Notes whether a key reaches the server, and what follows from it; `None` if no model reviews anyway.
fn key_note(wanted: &SetupRequest) -> Option<String> {
    let title = wanted.client.title;
    if wanted.flags.iter().any(|flag| flag == "--no-model") {
        return None;
    }
    let settings = "api_key in your settings file (docs/models.md)";
    let set = wanted.keys.join(", ");
    Some(match wanted.client.keys {
        KeyPassing::Unavailable => {
            format!(
                "{title} may not have the variables of your shell: without one with a key, or {settings}, the built-in rules review"
            )
        }
        _ if wanted.keys.is_empty() => {
            let names = key_variables().collect::<Vec<_>>().join(", ");
            format!(
                "no key reaches the server in a variable ({names}): without one, or {settings}, the built-in rules review"
            )
        }
        KeyPassing::Inherited | KeyPassing::Listed(_) | KeyPassing::Referenced(_) => {
            format!(
                "{set} reaches the server: the tool review sends code to that model and spends on the key; `-- --no-model` rules it out"
            )
        }
    })
}

fn own_command(command: ClientCommand, wanted: &SetupRequest, arguments: &[String]) -> Option<String> {
    let (words, rest): (&[&str], Vec<String>) = match (command, wanted.scope) {
        (ClientCommand::Words { user, dashes, .. }, SetupScope::User) => (user, tail(wanted, arguments, dashes)),
        (ClientCommand::Words { project, dashes, .. }, SetupScope::Project) => {
            (project?, tail(wanted, arguments, dashes))
        }
        (ClientCommand::Json(words), SetupScope::User) => {
            let server = json!({ "name": wanted.name, "command": wanted.program, "args": arguments });
            (words, vec![server.to_string()])
        }
        (ClientCommand::Json(_), SetupScope::Project) => return None,
    };
    let words = words.iter().map(|word| (*word).to_owned()).chain(rest);
    Some(words.map(|word| quoted(&word)).collect::<Vec<_>>().join(" "))
}

fn tail(wanted: &SetupRequest, arguments: &[String], dashes: bool) -> Vec<String> {
    let mut tail = vec![wanted.name.clone()];
    if dashes {
        tail.push("--".to_owned());
    }
    tail.push(wanted.program.clone());
    tail.extend(arguments.iter().cloned());
    tail
}

/// Quotes a word for a shell.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+,".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// A path for a message.
pub(super) fn display_path(path: &Path) -> String {
    path.display().to_string()
}
