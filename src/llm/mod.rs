//! Models: one turn at a time, with any provider. Main types: [`Provider`] (two methods), [`TurnRequest`] → [`TurnResponse`].
//!
//! The [`ProviderTable`] lists the providers, the variables that hold their keys and addresses, and the abilities of their models; `wire` implements
//! their formats. The purpose of a turn, budgets and retries over many turns belong in `review`.
//!
//! Turns may go by message batches at half the price: see [`MessageBatches`].
//!
//! To add a provider: one row in `providers.toml`; an assistant that reviews: one row in `agent::table`.

mod address;
mod agent;
mod batches;
mod client;
mod connect;
mod context_overflow;
mod draft;
mod events;
mod fallback;
mod fault;
mod frames;
mod listing;
mod markup;
mod opaque;
mod optional_fields;
mod price;
mod provider;
mod rate_limit;
mod refusal;
mod request_error;
mod table;
mod text;
mod turn;
mod usage;
mod wire;
mod wire_format;

#[cfg(test)]
mod tests;

pub use agent::{AGENTS, AgentError, AgentSpec, BridgeError, BridgeTools};
pub use batches::MessageBatches;
pub use connect::{ConnectError, ProviderAccess, connect};
pub use fault::TurnFault;
pub use listing::{ListError, address, list};
pub use markup::{find_leaked_markup, leaked_markup_answer};
pub use provider::{BoxFuture, Capabilities, LargeRequestPrices, Prices, Provider, StreamObserver};
pub use rate_limit::{RateLimit, RateLimiters};
pub use refusal::is_refusal;
pub use table::{
    Caching, ModelFacts, ModelPattern, ModelRow, ProviderHead, ProviderRow, ProviderTable, TableError, TableFault,
    heads,
};
pub use text::{is_open, was_text};
pub use turn::{
    FinishReason, Message, MessagePart, ModelToolCall, ToolCallFormat, ToolChoice, ToolDefinition, ToolInput,
    ToolResult, TurnRequest, TurnResponse, TurnUsage,
};
pub use wire_format::WireFormat;
