//! The batch APIs of Anthropic and `OpenAI` in front of the scripted model. Main types: [`BatchPlan`], [`Batches`].
//!
//! Each request of a batch is answered by the session as if it had come alone, without a stream. A batch ends at the second poll, and its results
//! are in reverse order.

use serde_json::{Value, json};

use super::asked::list;
use super::state::{Raw, Reply, State};

/// How the batch API behaves.
#[derive(Debug, Clone, Default)]
pub struct BatchPlan {
    /// Whether there is none.
    pub is_missing: bool,
    /// Requests, by their number over all batches from 0, and what becomes of them: `expired`, `errored` or `lost`.
    pub faults: Vec<(usize, &'static str)>,
}

/// What the batch API knows.
#[derive(Debug, Default)]
pub struct Batches {
    /// Whether no batch ends.
    pub is_held: bool,
    /// How many requests each batch has.
    pub sizes: Vec<usize>,
    /// The batches that were canceled.
    pub canceled: Vec<String>,
    files: Vec<Vec<u8>>,
    all: Vec<Batch>,
}

#[derive(Debug, Default)]
struct Batch {
    polls: usize,
    output: Vec<String>,
    errors: Vec<String>,
}

/// Answers a request if it is one of a batch API; `None` if it is another one, or if the server has no plan for batches.
pub fn answer(state: &mut State, plan: &BatchPlan, raw: &Raw) -> Option<Reply> {
    let parts: Vec<String> = raw.path.trim_matches('/').split('/').map(str::to_owned).collect();
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    let number =
        |id: &str| id.rsplit('-').next().and_then(|number| number.parse::<usize>().ok()).expect("an id of ours");
    if !parts.contains(&"batches") && !parts.contains(&"files") {
        return None;
    }
    if plan.is_missing {
        return Some(Reply::json(404, &json!({ "error": { "message": "there is no such page" } })));
    }
    Some(match parts.as_slice() {
        ["v1", "messages", "batches"] => {
            let body: Value = serde_json::from_slice(&raw.body).expect("JSON");
            submit(state, plan, raw, "/v1/messages", list(&body, "requests"), "params")
        }
        ["v1", "files"] => {
            state.batches.files.push(raw.body.clone());
            Reply::json(200, &json!({ "id": format!("file-{}", state.batches.files.len() - 1), "object": "file" }))
        }
        ["v1", "batches"] => {
            let body: Value = serde_json::from_slice(&raw.body).expect("JSON");
            let file = number(body["input_file_id"].as_str().expect("a file"));
            let form = String::from_utf8(state.batches.files[file].clone()).expect("text");
            let items: Vec<Value> = form.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
            submit(state, plan, raw, body["endpoint"].as_str().expect("an endpoint"), &items, "body")
        }
        [.., id, "cancel"] => {
            state.batches.canceled.push((*id).to_owned());
            Reply::json(200, &json!({ "id": id }))
        }
        ["v1", "messages", "batches", id, "results"] => {
            let batch = &state.batches.all[number(id)];
            Reply::text(&batch.errors.iter().chain(&batch.output).map(String::as_str).collect::<Vec<_>>())
        }
        ["v1", "files", id, "content"] => {
            let batch = &state.batches.all[number(id)];
            let lines = if id.starts_with("errors") { &batch.errors } else { &batch.output };
            Reply::text(&lines.iter().map(String::as_str).collect::<Vec<_>>())
        }
        [.., id] => {
            let at = number(id);
            state.batches.all[at].polls += 1;
            let is_over = state.batches.all[at].polls > 1 && !state.batches.is_held;
            let file = |name: &str, lines: &[String]| {
                if lines.is_empty() { json!(null) } else { json!(format!("{name}-{at}")) }
            };
            let batch = &state.batches.all[at];
            Reply::json(
                200,
                &json!({
                    "id": id,
                    "processing_status": if is_over { "ended" } else { "in_progress" },
                    "status": if is_over { "completed" } else { "in_progress" },
                    "output_file_id": file("output", &batch.output),
                    "error_file_id": file("errors", &batch.errors),
                }),
            )
        }
        [] => return None,
    })
}

fn submit(state: &mut State, plan: &BatchPlan, raw: &Raw, path: &str, items: &[Value], field: &str) -> Reply {
    let is_messages = path == "/v1/messages";
    let mut batch = Batch::default();
    let before: usize = state.batches.sizes.iter().sum();
    for (at, item) in items.iter().enumerate() {
        let id = &item["custom_id"];
        let fault = plan.faults.iter().find(|(number, _)| *number == before + at).map(|(_, fault)| *fault);
        let line = match fault {
            Some("lost") => continue,
            Some("expired") if is_messages => json!({ "custom_id": id, "result": { "type": "expired" } }),
            Some("expired") => json!({ "custom_id": id, "response": null, "error": { "code": "batch_expired" } }),
            Some(_) if is_messages => {
                let error = json!({ "type": "error", "error": { "type": "overloaded_error", "message": "busy" } });
                json!({ "custom_id": id, "result": { "type": "errored", "error": error } })
            }
            Some(_) => {
                json!({ "custom_id": id, "response": { "status_code": 500, "body": { "error": { "message": "busy" } } } })
            }
            None => {
                let alone = Raw {
                    path: path.to_owned(),
                    headers: raw.headers.clone(),
                    body: item[field].to_string().into_bytes(),
                };
                let reply = state.answer(&alone);
                let body: Value = serde_json::from_slice(&reply.pieces.concat()).expect("a whole answer");
                if is_messages {
                    json!({ "custom_id": id, "result": { "type": "succeeded", "message": body } })
                } else {
                    json!({ "custom_id": id, "response": { "status_code": reply.status, "body": body }, "error": null })
                }
            }
        };
        let lines = if fault.is_some() { &mut batch.errors } else { &mut batch.output };
        lines.insert(0, format!("{line}\n"));
    }
    state.batches.sizes.push(items.len());
    state.batches.all.push(batch);
    Reply::json(200, &json!({ "id": format!("batch-{}", state.batches.all.len() - 1) }))
}
