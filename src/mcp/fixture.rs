//! A server's state over a small repository, for the tests of the tables. Main type: [`ServerFixture`].

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::answer_size::{ANSWER_CHARS, size};
use super::tool::{CallProgress, McpTool, McpToolCall, McpToolResult};
use super::tool_selection::ToolSelection;
use crate::app::{
    ClientConnection, ForgeEnvironment, Overrides, ProcessEnv, ProviderEnvironment, Service, ServiceOptions, Store,
};
use crate::domain::run::RunId;

/// A repository without a commit, and a service that may read it.
pub(super) struct ServerFixture {
    pub(super) service: Arc<Service>,
    pub(super) folder: PathBuf,
    state: PathBuf,
    /// A model that accepts every request and never responds.
    _silent: TcpListener,
    _root: tempfile::TempDir,
}

impl ServerFixture {
    /// Creates a fixture whose reviews are made by the rules.
    pub(super) fn new(allow_write: bool) -> Self {
        Self::with_model("none", allow_write)
    }

    /// Creates a fixture whose model never responds.
    pub(super) fn silent() -> Self {
        Self::with_model("ollama/silent", false)
    }

    pub(super) fn with_model(model: &str, allow_write: bool) -> Self {
        let root = tempfile::tempdir().unwrap();
        let base = root.path().canonicalize().unwrap();
        let (folder, state) = (base.join("shop"), base.join("state"));
        repository(&folder);
        std::fs::write(folder.join("cart.py"), "def add(item, items=[]):\n    items.append(item)\n    return items\n")
            .unwrap();
        let silent = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", silent.local_addr().unwrap());
        let around = ProcessEnv {
            user_settings: None,
            environment: vec![("REVIEW_OLLAMA_BASE_URL".to_owned(), address)],
            providers: ProviderEnvironment::default(),
            forge: ForgeEnvironment::default(),
            state: state.clone(),
            store: Store::at(&state),
            parser: None,
        };
        let flags = Overrides { model: Some(model.to_owned()), ..Overrides::default() };
        let options = ServiceOptions { directory: folder.clone(), roots: Vec::new(), flags, allow_write, log: None };
        let service = Arc::new(Service::open(options, around).unwrap());
        Self { service, folder, state, _silent: silent, _root: root }
    }

    /// Saves a document of `fixtures/documents` as a run of the repository.
    pub(super) fn save_review(&self, document: &[u8]) -> RunId {
        self.save_review_of(document, &self.folder, "2026-01-01T00:00:00.000Z")
    }

    /// Saves a document as a run of another repository.
    pub(super) fn save_review_of(&self, document: &[u8], folder: &Path, started_at: &str) -> RunId {
        let review: Value = serde_json::from_slice(document).unwrap();
        let id = review["id"].as_str().unwrap();
        let run = self.state.join("runs").join(id);
        std::fs::create_dir_all(&run).unwrap();
        std::fs::write(run.join("review.json"), document).unwrap();
        let record = json!({
            "version": 1, "id": id, "started_at": started_at, "took_ms": 1, "repository": "shop", "folder": folder,
            "target": "main", "head_name": "feature", "outcome": review["outcome"], "engine": "rules",
            "findings": review["summary"]["bySeverity"],
        });
        std::fs::write(run.join("run.json"), record.to_string()).unwrap();
        id.parse().unwrap()
    }

    /// Builds a call of a tool.
    pub(super) fn call(&self, tool: &McpTool, input: Value) -> McpToolCall {
        let Value::Object(input) = input else { panic!("{input} is no input") };
        self.call_with(tool, input, CancellationToken::new())
    }

    pub(super) fn call_with(
        &self,
        tool: &McpTool,
        input: Map<String, Value>,
        cancelled: CancellationToken,
    ) -> McpToolCall {
        McpToolCall {
            name: tool.name.to_owned(),
            input,
            service: Arc::clone(&self.service),
            connection: ClientConnection::Process,
            progress: CallProgress(None),
            room: ANSWER_CHARS,
            cancelled,
        }
    }

    /// Calls a tool and checks the fields of its result against its schema.
    pub(super) async fn call_tool(&self, tool: &McpTool, input: Value) -> McpToolResult {
        let answer = (tool.call)(self.call(tool, input)).await;
        assert!(size(&answer) <= ANSWER_CHARS, "{} characters", size(&answer));
        if let Some(fields) = &answer.structured {
            let schema = (tool.output)(tool.name);
            assert!(jsonschema::draft202012::meta::is_valid(&schema), "{schema:#}");
            let faults: Vec<String> = jsonschema::validator_for(&schema)
                .unwrap()
                .iter_errors(fields)
                .map(|fault| fault.to_string())
                .collect();
            assert!(faults.is_empty(), "{faults:?}\n{fields:#}");
        } else {
            assert!(answer.is_error, "{answer:?}");
        }
        answer
    }
}

/// Creates an empty repository with git's layout.
fn repository(folder: &Path) {
    let git = folder.join(".git");
    for inside in ["objects", "refs/heads"] {
        std::fs::create_dir_all(git.join(inside)).unwrap();
    }
    std::fs::write(git.join("HEAD"), "ref: refs/heads/main\n").unwrap();
    std::fs::write(git.join("config"), "[core]\n\trepositoryformatversion = 0\n\tbare = false\n").unwrap();
}

/// Counts the tokens that a tool costs a client's model: name, description and input schema.
pub(super) fn tokens(tool: &McpTool, allow_write: bool) -> usize {
    let offer = ToolSelection::new(&[], allow_write).unwrap();
    let told = json!({
        "name": tool.name, "description": tool.description, "inputSchema": (tool.input)(tool.name, &offer),
    });
    tiktoken_rs::o200k_base().unwrap().encode_ordinary(&told.to_string()).len()
}
