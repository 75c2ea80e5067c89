//! The words between the bridge and the review: one JSON text a line. First the tools, then calls and their results.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tokio::io::{AsyncBufRead, AsyncBufReadExt as _, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

use crate::llm::turn::ToolDefinition;

/// Upper bound on the bytes of a line.
const LONGEST_LINE: u64 = 8 << 20;

/// The first line of the review.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct OfferedTools {
    pub(super) tools: Vec<ToolDefinition>,
}

/// A call, from the bridge.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct CallLine {
    /// Number that matches the result to the call.
    pub(super) number: u64,
    pub(super) tool: String,
    pub(super) input: Map<String, Value>,
}

/// The result of a call, from the review.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ResultLine {
    pub(super) number: u64,
    pub(super) text: String,
    pub(super) is_error: bool,
}

/// Reads a line; `None` at the end, and for one that is too long or no such text.
pub(super) async fn read<T: for<'de> Deserialize<'de>>(reader: &mut (impl AsyncBufRead + Unpin)) -> Option<T> {
    let mut line = Vec::new();
    reader.take(LONGEST_LINE).read_until(b'\n', &mut line).await.ok()?;
    serde_json::from_slice(line.strip_suffix(b"\n")?).ok()
}

/// Writes a line.
pub(super) async fn write(writer: &mut (impl AsyncWrite + Unpin), value: &impl Serialize) -> std::io::Result<()> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    writer.write_all(&line).await?;
    writer.flush().await
}
