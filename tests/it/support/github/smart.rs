//! git over HTTP: the program's own `http-backend` answers. Main function: [`answer`].

use std::io::Write as _;
use std::process::Stdio;
use std::sync::OnceLock;

use base64::Engine as _;

use super::server::Shared;
use super::{Asked, Reply};
use crate::support::git_http_backend;

/// Whether a path is one of git's.
pub fn is_git(path: &str) -> bool {
    path.contains(".git/")
}

/// Answers a request of git.
pub fn answer(shared: &Shared, asked: &Asked) -> Reply {
    let (root, path) = {
        let mut world = shared.world();
        let mut parts = asked.path.trim_start_matches('/').splitn(3, '/');
        let (owner, name) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        let rest = parts.next().unwrap_or_default();
        world.git.push(asked.target());
        let Some((at, _)) = world.find(owner, name.trim_end_matches(".git")) else { return unknown(asked) };
        let known = signed_in(asked, &world.token, &world.app.tokens);
        if asked.header("authorization").is_some() && !known {
            return asks_who();
        }
        if world.repos[at].private && !known {
            return asks_who();
        }
        let repo = &world.repos[at];
        (world.folder.clone(), format!("/{}/{}.git/{rest}", repo.owner, repo.name))
    };
    greeting(asked, || backend(&root.display().to_string(), &path, asked))
}

/// The first answer of git.
static GREETING: OnceLock<Reply> = OnceLock::new();

/// Answers the first question of a fetch from what was answered before: in the second version of the protocol that is what the program can do, the
/// same for every repository. Three programs start for any other answer.
fn greeting(asked: &Asked, ask: impl FnOnce() -> Reply) -> Reply {
    let is_first = asked.method == "GET" && asked.query == "service=git-upload-pack";
    if !is_first || asked.header("git-protocol") != Some("version=2") {
        return ask();
    }
    if let Some(known) = GREETING.get() {
        return known.clone();
    }
    let reply = ask();
    // Whoever came first said the same.
    if reply.status == 200 { GREETING.get_or_init(|| reply).clone() } else { reply }
}

fn signed_in(asked: &Asked, token: &str, others: &[(String, i64)]) -> bool {
    let Some(value) = asked.header("authorization") else { return false };
    let (kind, rest) = value.split_once(' ').unwrap_or_default();
    if !kind.eq_ignore_ascii_case("basic") {
        return false;
    }
    let words = base64::engine::general_purpose::STANDARD.decode(rest).unwrap_or_default();
    let words = String::from_utf8_lossy(&words).into_owned();
    let given = words.split_once(':').map_or("", |(_, password)| password);
    given == token || others.iter().any(|(known, _)| known == given)
}

/// As the real one: who is not signed in is asked to, so that nobody learns what there is.
fn unknown(asked: &Asked) -> Reply {
    if asked.header("authorization").is_some() { Reply::text(404, "Repository not found.") } else { asks_who() }
}

fn asks_who() -> Reply {
    Reply::text(401, "Repository not found.").with("www-authenticate", "Basic realm=\"GitHub\"")
}

fn backend(root: &str, path: &str, asked: &Asked) -> Reply {
    let mut command = git_http_backend(std::path::Path::new(root));
    command
        .env("GIT_PROJECT_ROOT", root)
        .env("GIT_HTTP_EXPORT_ALL", "1")
        .env("PATH_INFO", path)
        .env("QUERY_STRING", &asked.query)
        .env("REQUEST_METHOD", &asked.method)
        .env("CONTENT_LENGTH", asked.body.len().to_string())
        .env("REMOTE_ADDR", "127.0.0.1");
    for (variable, header) in [
        ("CONTENT_TYPE", "content-type"),
        ("GIT_PROTOCOL", "git-protocol"),
        ("HTTP_CONTENT_ENCODING", "content-encoding"),
    ] {
        if let Some(value) = asked.header(header) {
            command.env(variable, value);
        }
    }
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("git");
    let (mut pipe, body) = (child.stdin.take().expect("a pipe"), asked.body.clone());
    // In a thread of its own, because a full pipe would hold both sides.
    let writer = std::thread::spawn(move || {
        let _ = pipe.write_all(&body);
    });
    let output = child.wait_with_output().expect("git ends");
    let _ = writer.join();
    read(&output.stdout, &output.stderr)
}

/// Headers, an empty line, the body: as a web server reads it of a program.
fn read(out: &[u8], error: &[u8]) -> Reply {
    let end = out.windows(4).position(|four| four == b"\r\n\r\n");
    let Some(end) = end else { return Reply::text(500, &String::from_utf8_lossy(error)) };
    let mut reply = Reply { status: 200, headers: Vec::new(), body: out[end + 4..].to_vec() };
    for line in String::from_utf8_lossy(&out[..end]).lines() {
        let (name, value) = line.split_once(": ").unwrap_or_default();
        if name.eq_ignore_ascii_case("status") {
            reply.status = value.split(' ').next().and_then(|code| code.parse().ok()).unwrap_or(500);
        } else {
            reply = reply.with(&name.to_lowercase(), value);
        }
    }
    reply
}
