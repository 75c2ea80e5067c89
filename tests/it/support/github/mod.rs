//! A fake GitHub: one state, seen over REST, GraphQL and git, with real repositories under it. Main types: [`Fake`], [`Pull`].
//!
//! In a test:
//!
//! ```ignore
//! let work = TestRepo::new();                                   // commit on `main`, then on a branch
//! let fake = Fake::start();                                     // told by fake.env(), or fake.client()
//! let pull = fake.pull("octo", "demo", 7).title("Add a thing").open(&work, "main", "feature");
//! pull.thread("someone", "src/a.rs", 3, "Why?");                // what others say; `push` moves the head
//! fake.fail_next(On::rest("POST", "/reviews"), Trouble::status(502));
//! // … run what is tested, then look at pull.state() …
//! ```
//!
//! What GitHub would refuse is refused in its words. What no client should send (an unknown route or field, a request without a user agent or
//! API version, two writes at once) is a fault of the test: told by [`Fake::finish`], or when the fake is dropped; a test that means it looks at
//! [`Fake::take_wrong`]. Requests and answers are kept below `target/tmp/github` for `.ci/github_check.mjs`, which holds both against GitHub's
//! published descriptions.
//!
//! Routes are in `rest` and `reviews`, GraphQL in `graph` (how) and `fields` (what), git in `smart`.

#![allow(dead_code, unused_imports, reason = "each test uses a part of it")]

mod bare;
mod example;
mod fake;
mod fields;
mod graph;
mod pull;
mod query;
mod record;
mod rest;
mod reviews;
mod server;
mod shapes;
mod smart;
mod texts;
mod trouble;
mod world;

use serde_json::Value;

pub use example::{demo, lines};
pub use fake::{Fake, TOKEN};
pub use pull::{NewPull, Pull};
pub use trouble::{On, Script, Trouble};
pub use world::{PullState, ReviewState, Rights, Said, ThreadState, World};

/// A request as it arrived.
#[derive(Debug, Clone)]
pub struct Asked {
    /// The method.
    pub method: String,
    /// `http://host:port`.
    pub origin: String,
    /// What stands before paths on Enterprise servers: `/api/v3` for REST, `/api` for GraphQL, or nothing.
    pub prefix: String,
    /// The path after that.
    pub path: String,
    /// The query, without its mark.
    pub query: String,
    /// Headers, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

impl Asked {
    /// Path and query.
    pub fn target(&self) -> String {
        if self.query.is_empty() { self.path.clone() } else { format!("{}?{}", self.path, self.query) }
    }

    /// A header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The token that it came with.
    pub fn token(&self) -> Option<&str> {
        let value = self.header("authorization")?;
        value.strip_prefix("Bearer ").or_else(|| value.strip_prefix("token "))
    }

    /// A parameter of the query, as it is written there.
    pub fn param(&self, name: &str) -> Option<&str> {
        self.query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))
    }

    /// The body as JSON; null where it is none.
    pub fn body(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }
}

/// What is sent back.
#[derive(Debug, Clone)]
pub struct Reply {
    /// The status.
    pub status: u16,
    /// Headers besides the length.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

impl Reply {
    /// JSON.
    pub fn json(status: u16, body: &Value) -> Self {
        Self { status, headers: Vec::new(), body: body.to_string().into_bytes() }
            .with("content-type", "application/json; charset=utf-8")
    }

    /// A page.
    pub fn text(status: u16, body: &str) -> Self {
        Self { status, headers: Vec::new(), body: body.as_bytes().to_vec() }.with("content-type", "text/html")
    }

    /// With one more header.
    #[must_use]
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }
}
