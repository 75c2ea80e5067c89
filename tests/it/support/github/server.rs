//! How requests come in and answers go out: who may ask, what goes wrong on the way. Main types: [`Shared`], [`serve`].

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{ConnectInfo, Request};
use axum::http::StatusCode;
use axum::response::Response;
use base64::Engine as _;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

use super::record::Recorder;
use super::trouble::{Trouble, refusal};
use super::world::World;
use super::{Asked, Reply, graph, rest, smart};
use crate::support::model::{Door, Line};

/// What the server and the test hold in common.
pub struct Shared {
    world: Mutex<World>,
    /// Keeps requests.
    pub recorder: Mutex<Recorder>,
    writing: AtomicUsize,
}

impl Shared {
    /// Around a world.
    pub fn new(world: World, recorder: Recorder) -> Self {
        Self { world: Mutex::new(world), recorder: Mutex::new(recorder), writing: AtomicUsize::new(0) }
    }

    /// The world, for as long as nobody else needs it.
    pub fn world(&self) -> MutexGuard<'_, World> {
        self.world.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Starts to answer.
pub fn serve(runtime: &Runtime, listener: TcpListener, shared: &Arc<Shared>) {
    let shared = Arc::clone(shared);
    let router = Router::new().fallback(move |ConnectInfo(line): ConnectInfo<Line>, request: Request| {
        let shared = Arc::clone(&shared);
        async move { handle(&shared, &line, request).await }
    });
    let service = router.into_make_service_with_connect_info::<Line>();
    runtime.spawn(async move { axum::serve(Door(listener), service).await });
}

async fn read(request: Request, origin: &str) -> Asked {
    let (parts, body) = request.into_parts();
    let body = to_bytes(body, usize::MAX).await.unwrap_or_default().to_vec();
    let path = parts.uri.path();
    let (prefix, path) = match path.strip_prefix("/api/v3") {
        Some(rest) => ("/api/v3", rest),
        None if path == "/api/graphql" => ("/api", "/graphql"),
        None => ("", path),
    };
    let text = |value: &axum::http::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    Asked {
        method: parts.method.to_string(),
        origin: origin.to_owned(),
        prefix: prefix.to_owned(),
        path: path.to_owned(),
        query: parts.uri.query().unwrap_or_default().to_owned(),
        headers: parts.headers.iter().map(|(name, value)| (name.as_str().to_owned(), text(value))).collect(),
        body,
    }
}

async fn handle(shared: &Arc<Shared>, line: &Line, request: Request) -> Response {
    let origin = shared.world().url.clone();
    let asked = read(request, &origin).await;
    if smart::is_git(&asked.path) {
        let shared = Arc::clone(shared);
        let answered = tokio::task::spawn_blocking(move || smart::answer(&shared, &asked)).await;
        return respond(answered.unwrap_or_else(|error| Reply::text(500, &error.to_string())));
    }
    if asked.method == "GET" && asked.path.contains("/releases/download/") {
        let bytes = shared.world().files.get(&asked.path).cloned();
        return respond(bytes.map_or_else(
            || Reply::text(404, "Not Found"),
            |body| Reply {
                status: 200,
                headers: vec![("content-type".to_owned(), "application/octet-stream".to_owned())],
                body,
            },
        ));
    }
    let writes = writes(&asked);
    if writes && shared.writing.fetch_add(1, Ordering::SeqCst) > 0 {
        shared.world().wrong.push(format!("{} {} came while another write was under way", asked.method, asked.path));
    }
    let number = shared.recorder.lock().unwrap_or_else(PoisonError::into_inner).next();
    let trouble = {
        let mut world = shared.world();
        world.script.take(&asked, writes)
    };
    let reply = match &trouble {
        None | Some(Trouble::DropAfter | Trouble::StatusAfter(_) | Trouble::Delay(_)) => {
            judge(&mut shared.world(), &asked)
        }
        Some(Trouble::Status(status, headers, body)) => {
            headers.iter().fold(Reply::json(*status, body), |reply, (name, value)| reply.with(name, value))
        }
        Some(Trouble::Text(status, text)) => Reply::text(*status, text),
        Some(Trouble::Huge(bytes)) => Reply::json(200, &json!({ "data": "x".repeat(*bytes) })),
        Some(Trouble::Drop | Trouble::Hang) => Reply::text(500, ""),
    };
    if writes {
        // Long enough that another write would be seen.
        tokio::time::sleep(Duration::from_millis(2)).await;
        shared.writing.fetch_sub(1, Ordering::SeqCst);
    }
    let reply = finish(&asked, reply, number);
    shared.world().asked.push((asked.method.clone(), asked.target(), reply.status));
    let kept =
        shared.recorder.lock().unwrap_or_else(PoisonError::into_inner).keep(number, &asked, &reply, trouble.is_some());
    if let Err(why) = kept {
        shared.world().wrong.push(why);
    }
    match trouble {
        Some(Trouble::Drop | Trouble::DropAfter) => line.reset(),
        Some(Trouble::Hang) => std::future::pending().await,
        Some(Trouble::Delay(time)) => tokio::time::sleep(time).await,
        Some(Trouble::StatusAfter(status)) => return respond(Reply::text(status, "<html>gateway</html>")),
        _ => {}
    }
    respond(reply)
}

/// Whether a request makes or changes something.
fn writes(asked: &Asked) -> bool {
    if asked.path == "/graphql" {
        return asked.body()["query"].as_str().is_some_and(|query| query.trim_start().starts_with("mutation"));
    }
    asked.method != "GET" && !asked.path.starts_with("/app/")
}

/// Who asks.
enum Who {
    Nobody,
    Viewer,
    App,
    Stranger,
}

fn judge(world: &mut World, asked: &Asked) -> Reply {
    let graphql = asked.path == "/graphql";
    let mut missing = Vec::new();
    if asked.header("user-agent").is_none_or(str::is_empty) {
        missing.push("a user agent");
    }
    if !graphql && asked.header("x-github-api-version").is_none() {
        missing.push("the API version");
    }
    let (who, app_route) = (who(world, asked), asked.path.starts_with("/app") || asked.path.ends_with("/installation"));
    let needs = graphql || asked.method != "GET" || asked.path == "/user" || app_route;
    if needs && matches!(who, Who::Nobody) {
        missing.push("a token");
    }
    if world.enterprise == asked.prefix.is_empty() {
        missing.push("the path that belongs before REST's and GraphQL's on this kind of server");
    }
    for what in missing {
        world.wrong.push(format!("{} {} came without {what}", asked.method, asked.path));
    }
    if asked.method != "GET" && !asked.body.is_empty() && asked.body().is_null() {
        world.wrong.push(format!("{} {} came with a body that is no JSON", asked.method, asked.path));
    }
    match who {
        Who::Stranger => Reply::json(401, &refusal(401, "Bad credentials", &Value::Null)),
        Who::Nobody if needs => Reply::json(401, &refusal(401, "Requires authentication", &Value::Null)),
        Who::App if !app_route => {
            Reply::json(401, &refusal(401, "A JSON web token could not be decoded", &Value::Null))
        }
        Who::Viewer if app_route => {
            Reply::json(401, &refusal(401, "A JSON web token could not be decoded", &Value::Null))
        }
        _ if graphql && asked.method == "POST" => Reply::json(200, &graph::answer(world, &asked.body())),
        _ => rest::answer(world, asked).unwrap_or_else(|| {
            world.wrong.push(format!("there is no route {} {}", asked.method, asked.target()));
            rest::not_found()
        }),
    }
}

fn who(world: &World, asked: &Asked) -> Who {
    let now = jiff::Timestamp::now().as_second();
    match asked.token() {
        None if asked.header("authorization").is_some() => Who::Stranger,
        None => Who::Nobody,
        Some(token) if token == world.token => Who::Viewer,
        Some(token) if world.app.tokens.iter().any(|(known, ends)| known == token && *ends > now) => Who::Viewer,
        Some(token) if is_app(world, token, now) => Who::App,
        Some(_) => Who::Stranger,
    }
}

/// Whether a token is one that the App signed. Its claims are read; the signature is its library's business.
fn is_app(world: &World, token: &str, now: i64) -> bool {
    let [_, claims, _] = token.split('.').collect::<Vec<_>>()[..] else { return false };
    let engine = base64::engine::general_purpose::URL_SAFE_NO_PAD;
    let claims: Value =
        engine.decode(claims).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default();
    let id = claims["iss"].as_u64().or_else(|| claims["iss"].as_str().and_then(|id| id.parse().ok()));
    let (from, to) = (claims["iat"].as_i64().unwrap_or(i64::MAX), claims["exp"].as_i64().unwrap_or_default());
    id == Some(world.app.id) && from <= now + 60 && to > now && to - now <= 600
}

/// The headers that every answer has; 304 where the asker has this answer already.
fn finish(asked: &Asked, reply: Reply, number: usize) -> Reply {
    let mut reply = reply.with("x-github-request-id", &format!("FAKE:{number:04}"));
    let told = reply.headers.iter().any(|(name, _)| name == "x-ratelimit-remaining");
    if !told {
        let resource = if asked.path == "/graphql" { "graphql" } else { "core" };
        for (name, value) in
            [("limit", "5000"), ("remaining", "4999"), ("used", "1"), ("reset", "4102444800"), ("resource", resource)]
        {
            reply = reply.with(&format!("x-ratelimit-{name}"), value);
        }
    }
    if asked.method != "GET" || reply.status != 200 {
        return reply;
    }
    let hash = review_runner::domain::id::hex(&Sha256::digest(&reply.body)[..16]);
    let tag = format!("W/\"{hash}\"");
    if asked.header("if-none-match") == Some(tag.as_str()) {
        (reply.status, reply.body) = (304, Vec::new());
    }
    reply.with("etag", &tag)
}

fn respond(reply: Reply) -> Response {
    let mut response = Response::builder().status(StatusCode::from_u16(reply.status).expect("a status"));
    for (name, value) in reply.headers {
        response = response.header(name, value);
    }
    response.body(Body::from(reply.body)).expect("a response")
}
