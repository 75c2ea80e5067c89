//! HTTP: one client for everything that goes over the network, and the addresses it is given. Main types: [`Http`], [`ServerAddress`].
//!
//! The only file that names the HTTP library and the TLS stack. What is said over it (wire formats, faults) belongs in the folders above.
//!
//! Certificates are the system's (`SSL_CERT_FILE` and `SSL_CERT_DIR` are heard), proxies the environment's (`HTTPS_PROXY`, `HTTP_PROXY`,
//! `ALL_PROXY`, `NO_PROXY`); this machine itself is never reached through a proxy.

use std::collections::HashMap;
use std::error::Error;
use std::fmt;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http::HeaderMap;
use reqwest::redirect::{Action, Attempt, Policy};
use reqwest::{Client, ClientBuilder, Response, Url};
use serde_json::Value;

/// The connection timeout. A whole response has no limit: a stream may continue as long as it makes progress.
const CONNECT: Duration = Duration::from_secs(15);

/// The number of redirects that one request follows on the same server.
const REDIRECTS: usize = 5;

/// The most bytes of an error's body that are read; messages are far shorter.
const ERROR_BODY: usize = 64 * 1024;

/// Anything that went wrong below.
pub type BoxedCause = Box<dyn Error + Send + Sync>;

/// The reason why an address is none: a phrase that reads after "is no address of a server".
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidServerAddress(pub String);

/// The reason why no client can be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HttpError {
    /// No certificate authorities are installed, so that no server can be trusted.
    #[error(
        "no certificate authorities were found on this machine; install them (the package is usually called ca-certificates) or name a \
         file of them in SSL_CERT_FILE"
    )]
    NoRoots,
    /// Anything else.
    #[error("{0}")]
    Client(String),
}

/// The address of a server: `http` or `https`, with neither a query nor a fragment.
#[derive(Clone, PartialEq, Eq)]
pub struct ServerAddress(Url);

impl ServerAddress {
    /// Reads an address. A slash at its end makes no difference.
    pub fn parse(text: &str) -> Result<Self, InvalidServerAddress> {
        let bad = |why: &str| Err(InvalidServerAddress(why.to_owned()));
        let Ok(mut url) = Url::parse(text) else { return bad("it cannot be read as a URL") };
        if !matches!(url.scheme(), "http" | "https") {
            return bad("it begins with neither http:// nor https://");
        }
        if url.query().is_some() || url.fragment().is_some() {
            return bad("it has a query or a fragment");
        }
        let path = url.path().trim_end_matches('/').to_owned();
        url.set_path(&path);
        Ok(Self(url))
    }

    /// The address below this one; each part is escaped, slashes in it included.
    #[must_use]
    pub fn join(&self, parts: &[&str]) -> Self {
        let mut url = self.0.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(parts);
        }
        Self(url)
    }

    /// Adds a query after its path.
    #[must_use]
    pub fn with_query(&self, name: &str, value: &str) -> Self {
        let mut url = self.0.clone();
        url.query_pairs_mut().append_pair(name, value);
        Self(url)
    }

    /// Checks whether the path ends with these parts.
    pub fn ends_with(&self, parts: &[&str]) -> bool {
        let own: Vec<&str> = self.0.path().split('/').filter(|part| !part.is_empty()).collect();
        own.ends_with(parts)
    }

    /// The address without the last part of its path.
    #[must_use]
    pub fn parent(&self) -> Self {
        let mut url = self.0.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().pop();
        }
        Self(url)
    }

    /// The address with another host.
    #[must_use]
    pub fn at_host(&self, host: &str) -> Self {
        let mut url = self.0.clone();
        // Cannot fail: an http address may have any host.
        let _ = url.set_host(Some(host));
        Self(url)
    }

    /// The host.
    pub fn host(&self) -> &str {
        self.0.host_str().unwrap_or_default()
    }

    /// Checks whether the host is this machine.
    pub fn is_this_machine(&self) -> bool {
        let host = self.host();
        let name = host.trim_end_matches('.');
        let by_name = name == "localhost" || name.ends_with(".localhost");
        by_name || host.trim_matches(['[', ']']).parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
    }

    /// Checks whether it is encrypted.
    pub fn is_encrypted(&self) -> bool {
        self.0.scheme() == "https"
    }

    /// The password in it, where there is one.
    pub fn password(&self) -> Option<&str> {
        self.0.password()
    }

    /// The whole of it, for the one place that connects.
    pub fn reveal(&self) -> &str {
        self.0.as_str()
    }
}

/// Without credentials.
impl fmt::Display for ServerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut url = self.0.clone();
        let _ = url.set_username("");
        let _ = url.set_password(None);
        f.write_str(url.as_str().trim_end_matches('/'))
    }
}

impl fmt::Debug for ServerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Address({self})")
    }
}

/// The client. Cloning it is cheap and shares its connections.
#[derive(Debug, Clone)]
pub struct Http(Client);

/// The clients of the reviews of a process, one for each server, so that they share connections and certificates. Cloning it shares them.
#[derive(Clone, Default)]
pub struct HttpClients(Arc<Mutex<HashMap<String, Http>>>);

/// Without the addresses.
impl fmt::Debug for HttpClients {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpClients").finish_non_exhaustive()
    }
}

impl HttpClients {
    /// Returns the client for a server.
    pub fn for_server(&self, server: &ServerAddress) -> Result<Http, HttpError> {
        let mut clients = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = clients.get(server.reveal()) {
            return Ok(known.clone());
        }
        let made = Http::for_server(server)?;
        clients.insert(server.reveal().to_owned(), made.clone());
        Ok(made)
    }
}

impl Http {
    /// A client for one server.
    pub fn for_server(server: &ServerAddress) -> Result<Self, HttpError> {
        // Whoever came first chose the same provider.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = match builder(server).build() {
            // A server that needs no encryption needs no certificates either.
            Err(error) if lacks_roots(&error) && !server.is_encrypted() => builder(server).tls_certs_only([]).build(),
            client => client,
        };
        client
            .map(Self)
            .map_err(|error| if lacks_roots(&error) { HttpError::NoRoots } else { HttpError::Client(chain(&error)) })
    }

    /// Sends a request and waits for the head of the answer.
    pub async fn send(&self, request: http::Request<Vec<u8>>) -> Result<HttpResponse, BoxedCause> {
        Ok(HttpResponse(self.0.execute(request.try_into()?).await?))
    }

    /// Asks for what is at an address, and waits for the head of the answer.
    pub async fn get(
        &self,
        address: &ServerAddress,
        query: &[(&str, &str)],
        headers: &[(Arc<str>, String)],
    ) -> Result<HttpResponse, BoxedCause> {
        let mut url = address.0.clone();
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        let mut request = self.0.get(url);
        for (name, value) in headers {
            request = request.header(&**name, value);
        }
        Ok(HttpResponse(request.send().await?))
    }

    /// Sends a JSON document and waits for the head of the answer.
    pub async fn post(
        &self,
        address: &ServerAddress,
        headers: &[(Arc<str>, String)],
        body: &Value,
    ) -> Result<HttpResponse, BoxedCause> {
        let mut request = self.0.post(address.0.clone()).json(body);
        for (name, value) in headers {
            request = request.header(&**name, value);
        }
        Ok(HttpResponse(request.send().await?))
    }

    /// Sends bytes of a media type and waits for the head of the answer.
    pub async fn post_bytes(
        &self,
        address: &ServerAddress,
        headers: &[(Arc<str>, String)],
        media_type: &str,
        body: Vec<u8>,
    ) -> Result<HttpResponse, BoxedCause> {
        let mut request = self.0.post(address.0.clone()).header("content-type", media_type).body(body);
        for (name, value) in headers {
            request = request.header(&**name, value);
        }
        Ok(HttpResponse(request.send().await?))
    }
}

/// Follows a redirect on one server only: the library drops the usual credentials when the host changes, but not `x-api-key` and its like.
/// Only the statuses that keep the method are followed.
fn within_one_server(attempt: Attempt<'_>) -> Action {
    let same = attempt.previous().last().is_some_and(|from| from.origin() == attempt.url().origin());
    if same && matches!(attempt.status().as_u16(), 307 | 308) && attempt.previous().len() <= REDIRECTS {
        attempt.follow()
    } else {
        attempt.stop()
    }
}

fn builder(server: &ServerAddress) -> ClientBuilder {
    let builder = Client::builder()
        .user_agent(concat!("review/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(CONNECT)
        .tcp_keepalive(Duration::from_secs(30))
        // A stream of events gains little, and a small answer could become one that no memory holds.
        .no_gzip()
        .redirect(Policy::custom(within_one_server));
    match (server.is_this_machine(), server.is_encrypted()) {
        // Nothing on the way needs a certificate, and those of the system take longer to read than a small review.
        (true, false) => builder.no_proxy().tls_certs_only([]),
        (true, true) => builder.no_proxy(),
        (false, _) => builder,
    }
}

/// The words of the certificate library; it has no kind for this.
fn lacks_roots(error: &reqwest::Error) -> bool {
    chain(error).contains("No CA certificates")
}

/// The head of an answer, and its body piece by piece.
#[derive(Debug)]
pub struct HttpResponse(Response);

impl HttpResponse {
    /// The HTTP status.
    pub fn status(&self) -> u16 {
        self.0.status().as_u16()
    }

    /// The headers.
    pub fn headers(&self) -> &HeaderMap {
        self.0.headers()
    }

    /// A header's text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.0.headers().get(name).and_then(|value| value.to_str().ok())
    }

    /// The next piece of the body; none at its end.
    pub async fn next_piece(&mut self) -> Result<Option<Vec<u8>>, BoxedCause> {
        Ok(self.0.chunk().await?.map(|bytes| bytes.to_vec()))
    }

    /// The beginning of an error's body.
    pub async fn error_body(mut self) -> String {
        let mut body = Vec::new();
        while let Ok(Some(piece)) = self.0.chunk().await {
            body.extend_from_slice(&piece);
            if body.len() > ERROR_BODY {
                break;
            }
        }
        String::from_utf8_lossy(&body).into_owned()
    }
}

/// Describes the chain of causes, outermost first, without the address: it may hold credentials.
pub fn describe(cause: BoxedCause) -> String {
    match cause.downcast::<reqwest::Error>() {
        Ok(error) => chain(&error.without_url()),
        Err(other) => chain(other.as_ref()),
    }
}

/// The reason why no answer came, found below what a library made of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestFailure {
    /// The chain of causes, outermost first, without the address.
    pub message: String,
    /// `true` if no connection came about, so that nothing was sent.
    pub is_before_sending: bool,
}

/// Returns the failure of a request or its response.
pub fn classify_failure(error: &(dyn Error + 'static)) -> RequestFailure {
    let mut at = Some(error);
    while let Some(found) = at {
        if let Some(found) = found.downcast_ref::<reqwest::Error>() {
            // Its own words name the address; what lies below says why.
            let message = found.source().map_or_else(|| "no answer came".to_owned(), chain);
            return RequestFailure { message, is_before_sending: found.is_connect() };
        }
        at = found.source();
    }
    RequestFailure { message: chain(error), is_before_sending: false }
}

fn chain(error: &dyn Error) -> String {
    let mut words = vec![error.to_string()];
    let mut cause = error.source();
    while let Some(deeper) = cause {
        let word = deeper.to_string();
        if !words.iter().any(|known| known.contains(&word)) {
            words.push(word);
        }
        cause = deeper.source();
    }
    words.join(": ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_read_with_or_without_a_slash() {
        for text in ["https://example.org/v1", "https://example.org/v1/", "https://example.org/v1//"] {
            let address = ServerAddress::parse(text).unwrap();
            assert_eq!(
                address.join(&["chat", "completions"]).reveal(),
                "https://example.org/v1/chat/completions",
                "{text}"
            );
        }
        assert_eq!(ServerAddress::parse("http://[::1]:8080").unwrap().join(&["a"]).reveal(), "http://[::1]:8080/a");
    }

    #[test]
    fn what_is_no_address_of_a_server_is_refused() {
        for text in [
            "",
            "example.org",
            "ftp://example.org",
            "file:///etc/passwd",
            "https://e.org/?a=b",
            "https://e.org/#x",
            "http://",
        ] {
            assert!(ServerAddress::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn credentials_are_not_shown() {
        let address = ServerAddress::parse("https://user:hunter2@example.org/v1").unwrap();
        assert_eq!(format!("{address} {address:?}"), "https://example.org/v1 Address(https://example.org/v1)");
        assert_eq!(address.password(), Some("hunter2"));
    }

    #[test]
    fn parts_of_a_path_are_escaped() {
        let address = ServerAddress::parse("https://example.org").unwrap();
        assert_eq!(address.join(&["models", "a/b c?d:go"]).reveal(), "https://example.org/models/a%2Fb%20c%3Fd:go");
    }

    #[test]
    fn this_machine_is_known_by_its_names() {
        for text in
            ["http://localhost:1", "http://a.localhost./", "http://127.0.0.1", "http://127.9.9.9", "http://[::1]:80"]
        {
            assert!(ServerAddress::parse(text).unwrap().is_this_machine(), "{text}");
        }
        assert!(!ServerAddress::parse("http://192.168.0.1").unwrap().is_this_machine());
    }
}
