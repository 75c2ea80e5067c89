//! What goes wrong, and when. Main types: [`On`], [`Trouble`].

use std::time::Duration;

use serde_json::{Value, json};

use super::Asked;

/// Which requests. What is not said holds.
#[derive(Debug, Clone, Default)]
pub struct On {
    method: Option<String>,
    path: String,
    body: String,
}

impl On {
    /// Any request but those of git.
    pub fn any() -> Self {
        Self::default()
    }

    /// REST: a method, and what the path contains.
    pub fn rest(method: &str, path: &str) -> Self {
        Self { method: Some(method.to_owned()), path: path.to_owned(), body: String::new() }
    }

    /// GraphQL: what the document or its variables contain.
    pub fn graphql(words: &str) -> Self {
        Self { method: Some("POST".to_owned()), path: "/graphql".to_owned(), body: words.to_owned() }
    }

    /// What the body contains besides.
    #[must_use]
    pub fn with(mut self, words: &str) -> Self {
        words.clone_into(&mut self.body);
        self
    }

    fn matches(&self, asked: &Asked) -> bool {
        self.method.as_ref().is_none_or(|method| *method == asked.method)
            && asked.target().contains(&self.path)
            && String::from_utf8_lossy(&asked.body).contains(&self.body)
    }
}

/// What goes wrong with one request.
#[derive(Debug, Clone)]
pub enum Trouble {
    /// This is answered instead; nothing is done.
    Status(u16, Vec<(String, String)>, Value),
    /// As [`Status`](Self::Status), with a text that need not be JSON.
    Text(u16, String),
    /// The connection is reset before anything is done.
    Drop,
    /// It is done, and the connection is reset before the answer.
    DropAfter,
    /// It is done, and the answer is this status: a gateway gave up waiting.
    StatusAfter(u16),
    /// Nothing is ever answered.
    Hang,
    /// It is done and answered, so much later.
    Delay(Duration),
    /// An answer of so many bytes that is JSON.
    Huge(usize),
}

impl Trouble {
    /// A status with GitHub's words for it.
    pub fn status(status: u16) -> Self {
        let message = match status {
            401 => "Bad credentials",
            403 => "Resource not accessible by integration",
            404 => "Not Found",
            409 => "Conflict",
            422 => "Validation Failed",
            500 => "Server Error",
            502 => return Self::Text(502, "<html><body><h1>502 Bad Gateway</h1></body></html>".to_owned()),
            503 => "Service Unavailable",
            _ => "Something went wrong",
        };
        Self::Status(status, Vec::new(), refusal(status, message, &Value::Null))
    }

    /// A 422 with the words of its list of errors.
    pub fn unprocessable(errors: &[&str]) -> Self {
        Self::Status(422, Vec::new(), refusal(422, "Unprocessable Entity", &json!(errors)))
    }

    /// The secondary limit, with the seconds to wait where they are told.
    pub fn secondary(retry_after: Option<u64>) -> Self {
        let message = "You have exceeded a secondary rate limit. Please wait a few minutes before you try again.";
        let headers = retry_after.map(|seconds| ("retry-after".to_owned(), seconds.to_string()));
        Self::Status(403, headers.into_iter().collect(), refusal(403, message, &Value::Null))
    }

    /// The primary limit, which ends in so many seconds.
    pub fn primary(seconds: i64) -> Self {
        let reset = jiff::Timestamp::now().as_second() + seconds;
        let headers = vec![
            ("x-ratelimit-limit".to_owned(), "5000".to_owned()),
            ("x-ratelimit-remaining".to_owned(), "0".to_owned()),
            ("x-ratelimit-reset".to_owned(), reset.to_string()),
        ];
        Self::Status(403, headers, refusal(403, "API rate limit exceeded for user ID 1.", &Value::Null))
    }

    /// An error of GraphQL as a whole: status 200, no data.
    pub fn graphql(kind: &str, message: &str) -> Self {
        Self::Status(200, Vec::new(), json!({ "errors": [{ "type": kind, "message": message }] }))
    }
}

/// GitHub's body of a refusal.
pub fn refusal(status: u16, message: &str, errors: &Value) -> Value {
    let mut body = json!({ "message": message });
    if !errors.is_null() {
        body["errors"] = errors.clone();
    }
    body["documentation_url"] = "https://docs.github.com/rest".into();
    body["status"] = status.to_string().into();
    body
}

/// Faults to come.
#[derive(Debug, Default)]
pub struct Script {
    rules: Vec<(On, Trouble, usize)>,
    /// After so many more writes the secondary limit is reached, for this many answers.
    pub limit: Option<(usize, usize)>,
    /// After so many writes, this goes wrong with so many writes.
    pub at: Option<(usize, Trouble, usize)>,
    /// The `retry-after` of that limit.
    pub retry_after: u64,
}

impl Script {
    /// So many matching requests go wrong.
    pub fn add(&mut self, on: On, trouble: Trouble, times: usize) {
        self.rules.push((on, trouble, times));
    }

    /// What goes wrong with this request.
    pub fn take(&mut self, asked: &Asked, writes: bool) -> Option<Trouble> {
        if writes && let Some((left, refusals)) = &mut self.limit {
            if *left > 0 {
                *left -= 1;
            } else if *refusals > 0 {
                *refusals -= 1;
                return Some(Trouble::secondary(Some(self.retry_after)));
            }
        }
        if writes && let Some((left, trouble, times)) = &mut self.at {
            if *left > 0 {
                *left -= 1;
            } else if *times > 0 {
                *times -= 1;
                return Some(trouble.clone());
            }
        }
        let rule = self.rules.iter_mut().find(|(on, _, left)| *left > 0 && on.matches(asked))?;
        rule.2 -= 1;
        Some(rule.1.clone())
    }

    /// Faults that never came.
    pub fn unused(&self) -> Vec<String> {
        let left = self.rules.iter().filter(|rule| rule.2 > 0 && rule.2 < usize::MAX / 2);
        left.map(|(on, trouble, left)| format!("a fault never came ({left} times): {on:?}: {trouble:?}")).collect()
    }
}
