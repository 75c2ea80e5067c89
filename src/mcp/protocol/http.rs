//! The HTTP transport: streamable HTTP at `/mcp`. Main function: [`serve`].
//!
//! Access is checked before the SDK sees a request: the token, then the server's name in the request (`Host`) and the calling page
//! (`Origin`), so that no web page can reach a server on its reader's machine by a name of its own (DNS rebinding).

use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::uri::{Authority, Scheme};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse as _, Response};
use rmcp::model::{ErrorCode, ErrorData, ProtocolVersion, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use sha2::{Digest as _, Sha256};
use tokio_util::sync::CancellationToken;

use super::handler::Handler;
use super::{HttpOptions, MAX_MESSAGE, ServeError};
use crate::app::Service;
use crate::domain::secret::Secret;
use crate::mcp::tool_selection::ToolSelection;
use crate::web::serve_connections;

/// Minimum length of a token; a shorter one could be guessed.
const SHORTEST_TOKEN: usize = 16;
/// An abandoned session is removed after this time without a message: longer than any call may wait.
const IDLE: Duration = Duration::from_mins(30);
/// Upper bound on open sessions.
const SESSIONS: usize = 1000;
/// Names of this machine that no other machine can take.
const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

/// Listens, reports the address, and serves until `stop`.
pub(super) async fn serve(
    service: Arc<Service>,
    offer: Arc<ToolSelection>,
    door: &HttpOptions,
    stop: CancellationToken,
    say: impl Fn(String),
) -> Result<(), ServeError> {
    let gate = gate(door)?;
    let failed = |source| ServeError::Listen { address: door.address, source };
    let listener = tokio::net::TcpListener::bind(door.address).await.map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    let config = StreamableHttpServerConfig::default()
        .with_allowed_hosts(hosts(address.ip(), &door.hosts))
        .with_allowed_origins(origins(address, &door.hosts))
        .with_max_request_body_bytes(MAX_MESSAGE)
        .with_cancellation_token(stop.clone());
    let handler = move || Ok(Handler::new(Arc::clone(&service), Arc::clone(&offer), None));
    let mut sessions = LocalSessionManager::default();
    sessions.session_config.keep_alive = Some(IDLE);
    let sessions = Arc::new(sessions);
    let service = StreamableHttpService::new(handler, Arc::clone(&sessions), config);
    // The layer that is added last sees a request first.
    let routes = Router::new()
        .route_service("/mcp", service)
        .layer(middleware::from_fn_with_state(sessions, make_room))
        .layer(middleware::from_fn(correct_response))
        .layer(middleware::from_fn(one_host))
        .layer(middleware::from_fn_with_state(gate, admit));
    say(format!("serving MCP at http://{address}/mcp"));
    serve_connections(listener, routes, stop).await;
    Ok(())
}

/// The token digest that a request must match; `None` on a loopback address without a token.
#[derive(Clone)]
struct BearerGate(Option<Arc<[u8; 32]>>);

fn gate(door: &HttpOptions) -> Result<BearerGate, ServeError> {
    match &door.token {
        None if door.address.ip().is_loopback() => Ok(BearerGate(None)),
        None => Err(ServeError::Open(door.address)),
        Some(token) if is_long_enough(token) => Ok(BearerGate(Some(Arc::new(digest(token.reveal().as_bytes()))))),
        Some(_) => Err(ServeError::Token),
    }
}

fn is_long_enough(token: &Secret) -> bool {
    token.reveal().len() >= SHORTEST_TOKEN && token.is_plain() && !token.reveal().contains(' ')
}

/// Hashes a token. Comparing hashes takes the same time however much of a token is right.
fn digest(token: &[u8]) -> [u8; 32] {
    Sha256::digest(token).into()
}

async fn admit(State(gate): State<BearerGate>, request: Request, next: Next) -> Response {
    if gate.0.as_deref().is_none_or(|wanted| bearer(request.headers()).is_some_and(|token| digest(token) == *wanted)) {
        return next.run(request).await;
    }
    // RFC 6750, §3.
    let headers = [(header::WWW_AUTHENTICATE, "Bearer realm=\"review\"")];
    (StatusCode::UNAUTHORIZED, headers, "this server needs its token: Authorization: Bearer TOKEN\n").into_response()
}

/// A request has one host: that of its target if there is one, whatever `Host` says (RFC 9112, §3.2); it is the one that is checked. The
/// SDK compares names and ports, but parses them leniently: anything but a plain name with a numeric port is refused here.
async fn one_host(mut request: Request, next: Next) -> Response {
    if request.headers().get_all(header::HOST).iter().count() > 1 {
        return (StatusCode::BAD_REQUEST, "a request has one Host\n").into_response();
    }
    let of_target = request.uri().authority().and_then(|authority| HeaderValue::from_str(authority.as_str()).ok());
    if let Some(host) = of_target {
        request.headers_mut().insert(header::HOST, host);
    }
    if !names_servers(request.headers()) {
        let text = "Host and Origin are one name each, with a number for a port\n";
        return (StatusCode::FORBIDDEN, text).into_response();
    }
    next.run(request).await
}

fn names_servers(headers: &HeaderMap) -> bool {
    let is_text = |value: &HeaderValue, fits: fn(&str) -> bool| value.to_str().is_ok_and(fits);
    headers.get_all(header::ORIGIN).iter().count() <= 1
        && headers.get(header::HOST).is_none_or(|host| is_text(host, is_host_and_port))
        && headers.get(header::ORIGIN).is_none_or(|origin| is_text(origin, is_origin))
}

/// Checks for a host, or a host with a port, and nothing else: no user before it, no other text in place of the port (RFC 3986, §3.2).
fn is_host_and_port(text: &str) -> bool {
    let Some(authority) = text.parse::<Authority>().ok().filter(|authority| !authority.host().is_empty()) else {
        return false;
    };
    match text.strip_prefix(authority.host()) {
        Some("") => true,
        Some(rest) => rest
            .strip_prefix(':')
            .is_some_and(|port| port.bytes().all(|byte| byte.is_ascii_digit()) && port.parse::<u16>().is_ok()),
        None => false,
    }
}

/// Checks for a value that a browser sends: `null`, or a scheme with a host and perhaps a port (RFC 6454, §6.2).
fn is_origin(text: &str) -> bool {
    text == "null"
        || text
            .split_once("://")
            .filter(|(scheme, _)| !scheme.is_empty() && scheme.parse::<Scheme>().is_ok())
            .is_some_and(|(_, authority)| is_host_and_port(authority))
}

/// Corrects responses of the SDK, which reports an unreadable body as an unknown media type: a client gets one of JSON-RPC (2.0, §5.1).
async fn correct_response(request: Request, next: Next) -> Response {
    let media_type =
        request.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let is_json = media_type.split(';').next().is_some_and(|name| name.trim().eq_ignore_ascii_case("application/json"));
    let ends_session = request.method() == Method::DELETE;
    let mut response = next.run(request).await;
    // The session has ended by then: "accepted" would leave it open, and clients warn about that.
    if ends_session && response.status() == StatusCode::ACCEPTED {
        *response.status_mut() = StatusCode::NO_CONTENT;
    }
    if response.status() != StatusCode::UNSUPPORTED_MEDIA_TYPE || !is_json {
        return response;
    }
    let error = ErrorData::new(ErrorCode::PARSE_ERROR, "this is not one JSON-RPC message of the protocol", None);
    let body = serde_json::to_string(&ServerJsonRpcMessage::error(error, None)).unwrap_or_default();
    (StatusCode::BAD_REQUEST, [(header::CONTENT_TYPE, "application/json")], body).into_response()
}

/// Refuses to begin a session if there are too many already.
async fn make_room(State(sessions): State<Arc<LocalSessionManager>>, request: Request, next: Next) -> Response {
    let headers = request.headers();
    let version = headers.get("mcp-protocol-version").and_then(|version| version.to_str().ok());
    let stands_alone = version.is_some_and(|version| version >= ProtocolVersion::NO_INITIALIZE.as_str());
    let begins = request.method() == Method::POST && !headers.contains_key("mcp-session-id") && !stands_alone;
    if begins && sessions.sessions.read().await.len() >= SESSIONS {
        let text = "too many sessions: end those that are not needed (DELETE), or try again later\n";
        return (StatusCode::SERVICE_UNAVAILABLE, [(header::RETRY_AFTER, "60")], text).into_response();
    }
    next.run(request).await
}

/// Returns the token of a request (RFC 6750, §2.1; the scheme's name in any case).
fn bearer(headers: &HeaderMap) -> Option<&[u8]> {
    let value = headers.get(header::AUTHORIZATION)?.as_bytes();
    let (scheme, token) = value.split_at_checked("bearer ".len())?;
    scheme.eq_ignore_ascii_case(b"bearer ").then(|| token.trim_ascii())
}

/// Returns the names by which clients may call the server.
fn hosts(address: IpAddr, named: &[String]) -> Vec<String> {
    let own = (!address.is_unspecified()).then(|| address.to_string());
    LOOPBACK.into_iter().map(str::to_owned).chain(own).chain(named.iter().cloned()).collect()
}

/// Returns the origins that may call it: pages served by this machine, and those of the allowed names.
fn origins(address: SocketAddr, named: &[String]) -> Vec<String> {
    let host = |name: &str| if name.parse::<Ipv6Addr>().is_ok() { format!("[{name}]") } else { name.to_owned() };
    let mut origins = Vec::new();
    for name in hosts(address.ip(), named) {
        // A name with a port is a page on that port.
        let bare = name.parse::<IpAddr>().is_ok() || !name.contains(':');
        let port = if bare { ":*" } else { "" };
        origins.extend(["http", "https"].map(|scheme| format!("{scheme}://{}{port}", host(&name))));
    }
    origins
}

#[cfg(test)]
mod tests {
    use super::*;

    fn door(address: &str, token: Option<&str>) -> HttpOptions {
        HttpOptions { address: address.parse().unwrap(), token: token.map(Secret::new), hosts: Vec::new() }
    }

    #[test]
    fn what_others_can_reach_needs_a_token_that_cannot_be_guessed() {
        assert!(gate(&door("127.0.0.1:0", None)).is_ok());
        assert!(gate(&door("[::1]:0", None)).is_ok());
        for open in ["0.0.0.0:0", "[::]:0", "192.0.2.1:80"] {
            assert!(matches!(gate(&door(open, None)), Err(ServeError::Open(_))), "{open}");
            assert!(gate(&door(open, Some("0123456789abcdef"))).is_ok());
        }
        for unfit in ["", "short", "0123456789 abcdef", "0123456789abcdef\n", "0123456789abcdefä"] {
            assert!(matches!(gate(&door("127.0.0.1:0", Some(unfit))), Err(ServeError::Token)), "{unfit:?}");
        }
    }

    #[test]
    fn only_plain_names_of_servers_are_compared() {
        for host in ["localhost", "127.0.0.1:80", "[::1]", "[::1]:65535", "build.example:8443", "LOCALHOST:1"] {
            assert!(is_host_and_port(host) && is_origin(&format!("http://{host}")), "{host}");
        }
        for host in [
            "",
            ":80",
            "evil@127.0.0.1",
            "evil:80@127.0.0.1:80",
            "127.0.0.1@127.0.0.1",
            "localhost:",
            "localhost:evil",
            "localhost:80.evil.example",
            "localhost:80:80",
            "localhost:65536",
            "localhost:+80",
            "localhost/x",
            "localhost?x",
            "localhost#x",
            "localhost, evil.example",
            " localhost",
            "::1",
            "[::1",
            "[[::1]]",
            "[::1]evil",
        ] {
            assert!(!is_host_and_port(host) && !is_origin(&format!("http://{host}")), "{host:?}");
        }
        assert!(is_origin("null"));
        for origin in
            ["localhost", "http:localhost", "http://http://localhost", "://localhost", "NULL", "", "h ttp://localhost"]
        {
            assert!(!is_origin(origin), "{origin:?}");
        }
    }

    #[test]
    fn the_scheme_of_a_token_is_read_in_any_case() {
        let of = |value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::AUTHORIZATION, value.parse().unwrap());
            bearer(&headers).map(<[u8]>::to_vec)
        };
        assert_eq!(of("Bearer abc"), Some(b"abc".to_vec()));
        assert_eq!(of("bEARER  abc"), Some(b"abc".to_vec()));
        assert_eq!(of("Basic abc"), None);
        assert_eq!(of("Bearer"), None);
        assert_eq!(bearer(&HeaderMap::new()), None);
    }

    #[test]
    fn the_names_of_a_server_are_its_own_and_those_that_were_given() {
        let any = IpAddr::from([0, 0, 0, 0]);
        assert_eq!(hosts(any, &["build.example".to_owned()]), ["localhost", "127.0.0.1", "::1", "build.example"]);
        let origins = origins("127.0.0.1:8000".parse().unwrap(), &["build.example:8443".to_owned()]);
        assert!(origins.contains(&"http://localhost:*".to_owned()), "{origins:?}");
        assert!(origins.contains(&"http://[::1]:*".to_owned()), "{origins:?}");
        assert!(origins.contains(&"https://build.example:8443".to_owned()), "{origins:?}");
    }
}
