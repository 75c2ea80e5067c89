//! A server's state without a server around it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use review_runner::app::{
    Cancel, ForgeEnvironment, Overrides, ProcessEnv, ProviderEnvironment, Service, ServiceOptions, Store,
};
use review_runner::tools::{TOOLS, ToolOutcome};
use serde_json::Value;

use super::schema::assert_conforms;

/// A service that was started in `directory`, with nothing of this machine in it.
pub fn service(directory: &Path, roots: &[PathBuf], flags: Overrides) -> Arc<Service> {
    let state = directory.join(".git/review-state");
    let around = ProcessEnv {
        user_settings: None,
        environment: Vec::new(),
        providers: ProviderEnvironment::default(),
        forge: ForgeEnvironment::default(),
        store: Store::at(&state),
        state,
        parser: None,
    };
    let options =
        ServiceOptions { directory: directory.to_owned(), roots: roots.to_vec(), flags, allow_write: false, log: None };
    Arc::new(Service::open(options, around).expect("a service"))
}

/// What came of a call: the answer, which is as the tool's schema says, or the kind and the words of an error.
#[track_caller]
pub fn told(name: &str, outcome: &ToolOutcome) -> Result<Value, (String, String)> {
    let answer: Value = serde_json::from_str(outcome.json()).expect("JSON");
    let word = |name: &str| answer["error"][name].as_str().expect("a word").to_owned();
    if outcome.is_error {
        return Err((word("kind"), word("message")));
    }
    let tool = TOOLS.iter().find(|tool| tool.name == name).expect("a tool");
    assert_conforms(&(tool.answer)(), &answer);
    Ok(answer)
}

/// Calls a reading tool of the repository that the service was started in.
#[track_caller]
pub fn call(service: &Service, name: &str, at: Option<&str>, input: Value) -> Result<Value, (String, String)> {
    told(name, &service.call_tool(name, None, at, input, &Cancel::never()))
}
