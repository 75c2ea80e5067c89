//! Asking a provider which models it has. Main function: [`list`].
//!
//! Each wire format has its own API for that; nothing of a change is sent.

use std::time::Duration;

use serde_json::Value;

use super::address::base;
use super::connect::{ConnectError, ProviderAccess, headers, key};
use super::fault::TurnFault;
use super::request_error::{ErrorResponse, FaultSource};
use super::table::ProviderRow;
use super::wire_format::WireFormat;
use crate::domain::secret::Secret;
use crate::domain::text::strip_line;
use crate::sys::http::{Http, ServerAddress};

/// Maximum size of a list: gateways have hundreds of models, with long descriptions.
const BYTES: usize = 16 << 20;

/// The most names that are taken.
const NAMES: usize = 5_000;

/// Reasons why there is no list.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ListError {
    /// The provider cannot be used at all.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The request failed.
    #[error(transparent)]
    Fault(#[from] TurnFault),
}

/// Returns the address of a provider, without credentials.
pub fn address(row: &ProviderRow, access: &ProviderAccess) -> Result<String, ConnectError> {
    Ok(base(row.wire, access.base_url.as_deref().unwrap_or(&row.base_url))?.to_string())
}

/// Returns the names of the models that a provider lists, sorted; only the first page, which holds at least a thousand.
///
/// Waits `quiet` at most for the whole of it.
pub async fn list(row: &ProviderRow, access: &ProviderAccess, quiet: Duration) -> Result<Vec<String>, ListError> {
    let base = base(row.wire, access.base_url.as_deref().unwrap_or(&row.base_url)).map_err(ConnectError::from)?;
    let key = key(row, access)?;
    let http = Http::for_server(&base).map_err(|error| ConnectError::Client(error.to_string()))?;
    let secrets = key.into_iter().chain(base.password()).map(Secret::new).collect();
    let blame = FaultSource { provider: row.name.clone(), address: base.to_string(), secrets };
    let asked = fetch_list(row, &base, key, &http, &blame);
    let body = tokio::time::timeout(quiet, asked).await.map_err(|_| blame.timed_out(quiet))??;
    let value: Value =
        serde_json::from_str(&body).map_err(|_| blame.unreadable("the list of its models is no JSON"))?;
    let mut names =
        names(row.wire, &value).ok_or_else(|| blame.unreadable("the list of its models has another shape"))?;
    names.sort();
    names.dedup();
    Ok(names)
}

async fn fetch_list(
    row: &ProviderRow,
    base: &ServerAddress,
    key: Option<&str>,
    http: &Http,
    blame: &FaultSource,
) -> Result<String, TurnFault> {
    let (parts, query): (&[&str], &[(&str, &str)]) = match row.wire {
        WireFormat::Messages => (&["v1", "models"], &[("limit", "1000")]),
        WireFormat::Responses | WireFormat::Chat => (&["models"], &[]),
        WireFormat::Gemini => (&["v1beta", "models"], &[("pageSize", "1000")]),
        WireFormat::Ollama => (&["api", "tags"], &[]),
    };
    let sent = http.get(&base.join(parts), query, &headers(row, key)).await;
    let mut reply = sent.map_err(|cause| blame.connection_failed(cause, false))?;
    let status = reply.status();
    if !(200..300).contains(&status) {
        let rejected = ErrorResponse::new(status, |name| reply.header(name));
        return Err(blame.rejected(&rejected.saying(reply.error_body().await)));
    }
    let mut body = Vec::new();
    while let Some(piece) = reply.next_piece().await.map_err(|cause| blame.connection_failed(cause, true))? {
        body.extend_from_slice(&piece);
        if body.len() > BYTES {
            return Err(blame.unreadable("the list of its models does not end"));
        }
    }
    Ok(String::from_utf8_lossy(&body).into_owned())
}

/// Returns the names in a response.
fn names(wire: WireFormat, value: &Value) -> Option<Vec<String>> {
    let (list, field) = match wire {
        WireFormat::Messages | WireFormat::Responses | WireFormat::Chat => ("data", "id"),
        WireFormat::Gemini | WireFormat::Ollama => ("models", "name"),
    };
    // Some compatible servers leave the frame out.
    let entries = value.get(list).unwrap_or(value).as_array()?;
    let named = entries.iter().filter_map(|entry| entry.get(field).and_then(Value::as_str));
    let plain = named.map(|name| strip_line(name.strip_prefix("models/").unwrap_or(name)));
    Some(plain.filter(|name| !name.is_empty() && name.chars().count() <= 200).take(NAMES).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_wire_names_its_models_in_its_own_way() {
        let two = vec!["b".to_owned(), "a".to_owned()];
        for wire in [WireFormat::Messages, WireFormat::Responses, WireFormat::Chat] {
            assert_eq!(names(wire, &json!({ "data": [{ "id": "b" }, { "id": "a" }, { "no": 1 }] })), Some(two.clone()));
        }
        assert_eq!(names(WireFormat::Chat, &json!([{ "id": "b" }, { "id": "a" }])), Some(two.clone()));
        assert_eq!(
            names(WireFormat::Gemini, &json!({ "models": [{ "name": "models/b" }, { "name": "a" }] })),
            Some(two.clone())
        );
        assert_eq!(names(WireFormat::Ollama, &json!({ "models": [{ "name": "b" }, { "name": "a" }] })), Some(two));
        assert_eq!(names(WireFormat::Chat, &json!({ "error": "no" })), None);
        assert_eq!(
            names(WireFormat::Chat, &json!({ "data": [{ "id": "a\u{1b}[31mb" }] })),
            Some(vec!["ab".to_owned()])
        );
    }
}
