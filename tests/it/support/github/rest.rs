//! REST: the routes, and what each answers. Main function: [`answer`].

use serde_json::{Value, json};

use super::reviews;
use super::shapes;
use super::trouble::refusal;
use super::world::World;
use super::{Asked, Reply};

/// No list of files is longer.
const MOST_FILES: usize = 3000;

/// Answers a request of REST; `None` where there is no such route.
pub fn answer(world: &mut World, asked: &Asked) -> Option<Reply> {
    let path = asked.path.clone();
    let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
    match (asked.method.as_str(), parts.as_slice()) {
        ("GET", ["user"]) => Some(own_account(world)),
        ("GET", ["app"]) => Some(Reply::json(200, &shapes::app(world))),
        ("GET", ["app", "installations"]) => {
            let mut all = world.repos.first().map(|repo| shapes::installation(world, &repo.owner));
            // GitHub's description of this list asks for an account that is a person and an enterprise at once, or for none.
            if let Some(one) = &mut all {
                one["account"] = serde_json::Value::Null;
            }
            Some(page(asked, all.into_iter().collect()))
        }
        ("POST", ["app", "installations", id, "access_tokens"]) => Some(token(world, id)),
        (_, ["repos", owner, name, rest @ ..]) => of_repo(world, asked, owner, name, rest),
        (_, ["repositories", id, rest @ ..]) => {
            let repo = world.repos.iter().find(|repo| repo.id.to_string() == *id)?;
            let (owner, name) = (repo.owner.clone(), repo.name.clone());
            of_repo(world, asked, &owner, &name, rest)
        }
        _ => None,
    }
}

fn of_repo(world: &mut World, asked: &Asked, owner: &str, name: &str, rest: &[&str]) -> Option<Reply> {
    if !known(&asked.method, rest) {
        return None;
    }
    let Some((at, moved)) = world.find(owner, name) else { return Some(not_found()) };
    if world.repos[at].private && (!world.rights.read || asked.token().is_none()) {
        return Some(not_found());
    }
    if moved {
        return Some(elsewhere(world, asked, at, rest));
    }
    let repo = &world.repos[at];
    if let ["issues", "comments", id] = rest {
        return Some(edit_comment(world, asked, at, id));
    }
    let number = match rest {
        [] => return Some(Reply::json(200, &shapes::repo(world, repo, true))),
        ["installation"] => return Some(Reply::json(200, &shapes::installation(world, &repo.owner))),
        [_, number, ..] => *number,
        [_] => return None,
    };
    let Some(n) = number.parse().ok().and_then(|number| repo.find(number)) else { return Some(not_found()) };
    let pull = &repo.pulls[n];
    let reply = match (asked.method.as_str(), rest) {
        ("GET", ["pulls", _]) => Reply::json(200, &shapes::pull(world, repo, pull)),
        ("GET", ["pulls", _, "files"]) => {
            let files = pull.diff.iter().take(MOST_FILES);
            page(asked, files.map(|file| shapes::file(world, repo, pull, file)).collect())
        }
        ("GET", ["pulls", _, "reviews"]) => {
            let own = Some(world.viewer.as_str());
            let seen = pull.reviews.iter().filter(|one| one.state != "PENDING" || one.said.author.as_deref() == own);
            page(asked, seen.map(|one| shapes::review(world, repo, pull, one)).collect())
        }
        ("GET", ["pulls", _, "comments"]) => {
            let mut all: Vec<_> =
                pull.threads.iter().flat_map(|thread| thread.comments.iter().map(move |said| (thread, said))).collect();
            all.retain(|(_, said)| !pull.is_pending(said.review));
            all.sort_by_key(|(_, said)| said.id);
            let mut bodies: Vec<_> =
                all.into_iter().map(|(thread, said)| shapes::remark(world, repo, pull, thread, said)).collect();
            order(asked, &mut bodies);
            page(asked, bodies)
        }
        ("GET", ["issues", _, "comments"]) => {
            let mut bodies: Vec<_> =
                pull.comments.iter().map(|said| shapes::comment(world, repo, pull, said)).collect();
            order(asked, &mut bodies);
            page(asked, bodies)
        }
        ("POST", ["issues", _, "comments"]) => new_comment(world, asked, at, n),
        ("POST", ["pulls", _, "reviews"]) => reviews::create(world, asked, at, n),
        ("DELETE", ["pulls", _, "reviews", id]) => reviews::delete(world, at, n, id),
        ("PUT", ["pulls", _, "reviews", id, "dismissals"]) => reviews::dismiss(world, asked, at, n, id),
        _ => return None,
    };
    Some(reply)
}

/// Whether there is such a route; asked before the repository is looked for, so that an unknown route is not taken for an unknown repository.
fn known(method: &str, rest: &[&str]) -> bool {
    matches!(
        (method, rest),
        (
            "GET",
            [] | ["installation"]
                | ["pulls", _]
                | ["pulls", _, "files" | "reviews" | "comments"]
                | ["issues", _, "comments"]
        ) | ("POST", ["pulls", _, "reviews"] | ["issues", _, "comments"])
            | ("DELETE", ["pulls", _, "reviews", _])
            | ("PUT", ["pulls", _, "reviews", _, "dismissals"])
            | ("PATCH", ["issues", "comments", _])
    )
}

/// 404, as for everything that one may not know of.
pub fn not_found() -> Reply {
    Reply::json(404, &refusal(404, "Not Found", &Value::Null))
}

/// 403, as for everything that one sees but may not do.
pub fn forbidden() -> Reply {
    Reply::json(403, &refusal(403, "Resource not accessible by integration", &Value::Null))
}

/// 422 with a list of errors.
pub fn unprocessable(message: &str, errors: &Value) -> Reply {
    Reply::json(422, &refusal(422, message, errors))
}

/// A renamed repository: by its number.
fn elsewhere(world: &World, asked: &Asked, at: usize, rest: &[&str]) -> Reply {
    let tail = if rest.is_empty() { String::new() } else { format!("/{}", rest.join("/")) };
    let query = if asked.query.is_empty() { String::new() } else { format!("?{}", asked.query) };
    let url = format!("{}{}/repositories/{}{tail}{query}", world.url, asked.prefix, world.repos[at].id);
    let status = if asked.method == "GET" { 301 } else { 307 };
    let body =
        json!({ "message": "Moved Permanently", "url": url, "documentation_url": "https://docs.github.com/rest" });
    Reply::json(status, &body).with("location", &url)
}

fn own_account(world: &World) -> Reply {
    if world.accounts[&world.viewer].is_bot() {
        return forbidden();
    }
    Reply::json(200, &shapes::own_account(world))
}

fn token(world: &mut World, id: &str) -> Reply {
    if id != world.app.installation.to_string() {
        return not_found();
    }
    let ends = jiff::Timestamp::now().as_second() + world.app.lasts;
    let token = format!("ghs_fake{:032}", world.app.tokens.len() + 1);
    world.app.tokens.push((token.clone(), ends));
    let ends = jiff::Timestamp::from_second(ends).expect("a time").to_string();
    let permissions = json!({ "pull_requests": "write", "contents": "read", "metadata": "read" });
    Reply::json(
        201,
        &json!({ "token": token, "expires_at": ends, "permissions": permissions, "repository_selection": "selected" }),
    )
}

fn new_comment(world: &mut World, asked: &Asked, at: usize, n: usize) -> Reply {
    let text = match text_of(world, asked, "IssueComment") {
        Ok(text) => text,
        Err(refused) => return refused,
    };
    let viewer = world.viewer.clone();
    let said = world.said(&viewer, &text);
    world.repos[at].pulls[n].comments.push(said);
    let pull = &world.repos[at].pulls[n];
    let said = pull.comments.last().expect("it was pushed");
    Reply::json(201, &shapes::comment(world, &world.repos[at], pull, said))
}

fn edit_comment(world: &mut World, asked: &Asked, at: usize, id: &str) -> Reply {
    let pulls = &world.repos[at].pulls;
    let place = pulls.iter().enumerate().find_map(|(n, pull)| {
        pull.comments.iter().position(|said| said.id.to_string() == id).map(|comment| (n, comment))
    });
    let Some((n, comment)) = place else { return not_found() };
    if pulls[n].comments[comment].author.as_deref() != Some(world.viewer.as_str()) {
        // What others wrote is for those who may push.
        return forbidden();
    }
    let text = match text_of(world, asked, "IssueComment") {
        Ok(text) => text,
        Err(refused) => return refused,
    };
    let now = world.now();
    let said = &mut world.repos[at].pulls[n].comments[comment];
    (said.body, said.updated_at) = (text, now);
    let pull = &world.repos[at].pulls[n];
    Reply::json(200, &shapes::comment(world, &world.repos[at], pull, &pull.comments[comment]))
}

fn text_of(world: &World, asked: &Asked, resource: &str) -> Result<String, Reply> {
    if !world.rights.write {
        return Err(forbidden());
    }
    let body = asked.body();
    let bad = |code: &str, message: &str| {
        let error = json!([{ "resource": resource, "code": code, "field": "body", "message": message }]);
        Err(unprocessable("Validation Failed", &error))
    };
    match body["body"].as_str() {
        None => bad("missing_field", "body is missing"),
        Some(text) if text.trim().is_empty() => bad("custom", "body can't be blank"),
        Some(text) if text.chars().count() > reviews::MOST_TEXT => {
            bad("unprocessable", "body is too long (maximum is 65536 characters)")
        }
        Some(text) => Ok(text.to_owned()),
    }
}

fn order(asked: &Asked, bodies: &mut Vec<Value>) {
    let key = if asked.param("sort") == Some("updated") { "updated_at" } else { "created_at" };
    if let Some(since) = asked.param("since") {
        let since = since.replace("%3A", ":");
        bodies.retain(|body| body["updated_at"].as_str() >= Some(since.as_str()));
    }
    if asked.param("sort").is_some() {
        bodies.sort_by(|a, b| a[key].as_str().cmp(&b[key].as_str()));
        // Without a word the newest come first where an order is asked for.
        if asked.param("direction") != Some("asc") {
            bodies.reverse();
        }
    }
}

/// One page of a list, with the addresses of the others.
fn page(asked: &Asked, all: Vec<Value>) -> Reply {
    let number = |name, otherwise| asked.param(name).and_then(|word| word.parse::<usize>().ok()).unwrap_or(otherwise);
    let (size, at) = (number("per_page", 30).clamp(1, 100), number("page", 1).max(1));
    let last = all.len().div_ceil(size).max(1);
    let here: Vec<Value> = all.into_iter().skip((at - 1) * size).take(size).collect();
    let address = |to: usize| {
        let others = asked.query.split('&').filter(|pair| !pair.is_empty() && !pair.starts_with("page="));
        let pairs: Vec<String> = others.map(str::to_owned).chain([format!("page={to}")]).collect();
        format!("{}{}{}?{}", asked.origin, asked.prefix, asked.path, pairs.join("&"))
    };
    let mut links = Vec::new();
    if at > 1 {
        links.extend([format!("<{}>; rel=\"prev\"", address(at - 1)), format!("<{}>; rel=\"first\"", address(1))]);
    }
    if at < last {
        links.extend([format!("<{}>; rel=\"next\"", address(at + 1)), format!("<{}>; rel=\"last\"", address(last))]);
    }
    let reply = Reply::json(200, &Value::Array(here));
    if links.is_empty() { reply } else { reply.with("link", &links.join(", ")) }
}
