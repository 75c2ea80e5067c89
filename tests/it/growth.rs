//! Requests and tokens of a review, for changes of different sizes: the costs that do not depend on a machine.

use serde_json::json;

use crate::support::model::{Session, Wire};
use crate::support::session::{Talk, many};

/// So small that a change of a few hundred files is split.
const WINDOW: &str = "[ollama]\ncontext_window = 48000\n";

#[test]
fn requests_and_tokens_grow_no_faster_than_the_change() {
    let done = json!({ "when": {}, "say": { "calls": [{ "name": "finish_review", "input": { "summary": "Fine." } }] }, "reuse": true });
    let mut rows = Vec::new();
    for files in [3, 30, 300] {
        let repo = many(files);
        let talk =
            Talk::scripted(&repo, Session::parse("growth", &done.to_string()), Wire::Ollama).with_settings(WINDOW);
        let told = talk.run("");
        assert_eq!((told.code, told.ended()), (0, "finished"), "{}", told.all());
        let requests = talk.server.raw();
        let bytes: usize = requests.iter().map(|request| request.body.len()).sum();
        // A token is about four bytes. Fewer digits than the request has, so that one word of a prompt is no difference.
        rows.push(format!("{files} files: {} requests, {} thousand tokens", requests.len(), (bytes + 2000) / 4000));
    }
    insta::assert_snapshot!(rows.join("\n"));
}
