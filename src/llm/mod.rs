//! Models: one turn at a time, with any provider. Main types: [`Provider`] (two methods), [`TurnRequest`] → [`TurnResponse`].
//!
//! The [`ProviderTable`] lists the providers, the variables that hold their keys and addresses, and the abilities of their models; `wire` implements
//! their formats. The purpose of a turn, budgets and retries over many turns belong in `review`.
//!
//! To add a provider: one row in `providers.toml`.

mod address;
mod client;
mod connect;
mod draft;
mod events;
mod fallback;
mod fault;
mod frames;
mod listing;
mod markup;
mod opaque;
mod optional;
mod pace;
mod price;
mod provider;
mod refusal;
mod table;
mod text;
mod too_long;
mod trouble;
mod turn;
mod usage;
mod wire;

#[cfg(test)]
mod tests;

pub use connect::{Access, ConnectError, connect};
pub use fault::TurnFault;
pub use listing::{ListError, address, list};
pub use markup::{leaked, leaked_answer};
pub use pace::{Paces, Rate};
pub use provider::{Capabilities, Large, Prices, Provider, Waited, Watch};
pub use refusal::declines;
pub use table::{
    Caching, Facts, Fits, ModelRow, ProviderHead, ProviderRow, ProviderTable, TableError, TableFault, Wire, heads,
};
pub use text::{is_open, was_text};
pub use turn::{
    Message, Part, Speech, Stop, ToolCall, ToolChoice, ToolDefinition, ToolInput, ToolResult, TurnRequest,
    TurnResponse, TurnUsage,
};
