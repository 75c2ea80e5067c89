//! GraphQL: what each type has, and what can be changed. Main functions: [`field`], [`mutate`].

#![allow(clippy::unnecessary_wraps, reason = "every field's value is an answer")]

use serde_json::{Value, json};

use super::bare::FileDiff;
use super::graph::{Args, Obj, Refusal, UNBOUND, Val};
use super::texts::{of_remark, of_review, of_said, of_thread};
use super::world::{PullState, World};

/// A field's value.
pub(super) type Answer = Result<Option<Val>, Refusal>;

/// The name of a thing's type.
pub fn kind(world: &World, of: &Obj) -> &'static str {
    match of {
        Obj::Query => "Query",
        Obj::Mutation => "Mutation",
        Obj::Account(login) if world.accounts.get(login).is_some_and(super::world::Account::is_bot) => "Bot",
        Obj::Viewer | Obj::Account(_) => "User",
        Obj::Repo(_) => "Repository",
        Obj::Pull(..) => "PullRequest",
        Obj::Thread(..) => "PullRequestReviewThread",
        Obj::Remark(..) => "PullRequestReviewComment",
        Obj::Review(..) => "PullRequestReview",
        Obj::Comment(..) => "IssueComment",
        Obj::List(kind, ..) | Obj::Plain(kind, _) => kind,
        Obj::Edge(..) => "Edge",
    }
}

/// Whether a fragment on a type counts for a thing of that kind.
pub fn is(kind: &str, on: &str) -> bool {
    let texts = ["PullRequestReviewComment", "PullRequestReview", "IssueComment", "PullRequest"];
    kind == on
        || match on {
            "Node" => true,
            "Actor" | "RepositoryOwner" => matches!(kind, "User" | "Bot"),
            "Comment" | "Updatable" | "Reactable" | "Closable" => texts.contains(&kind),
            "Minimizable" => texts[..3].contains(&kind),
            _ => false,
        }
}

pub(super) fn leaf(value: impl Into<Value>) -> Answer {
    Ok(Some(Val::Leaf(value.into())))
}

pub(super) fn one(of: Obj) -> Answer {
    Ok(Some(Val::One(of)))
}

pub(super) fn account(login: Option<&String>) -> Answer {
    login.map_or_else(|| leaf(Value::Null), |login| one(Obj::Account(login.clone())))
}

pub(super) fn plain(kind: &'static str, fields: Vec<(&'static str, Val)>) -> Answer {
    one(Obj::Plain(kind, fields))
}

pub(super) fn commit(id: &str) -> Answer {
    let short: String = id.chars().take(7).collect();
    plain("Commit", vec![("oid", Val::Leaf(id.into())), ("abbreviatedOid", Val::Leaf(short.into()))])
}

pub(super) fn missing(what: &str) -> Refusal {
    Refusal { kind: "NOT_FOUND", message: format!("Could not resolve to {what}.") }
}

/// A field; `None` where the fake knows none of that name.
pub fn field(world: &World, of: &Obj, name: &str, args: &Args) -> Answer {
    match of {
        Obj::Query => from_top(world, name, args),
        Obj::Mutation => Ok(None),
        Obj::Viewer => match name {
            // As it is for a token of an app: with what GraphQL leaves out elsewhere.
            "login" => leaf(world.viewer.as_str()),
            "id" | "databaseId" | "url" => of_account(world, &world.viewer, name),
            _ => Ok(None),
        },
        Obj::Account(login) => of_account(world, login, name),
        Obj::Repo(at) => of_repo(world, *at, name, args),
        Obj::Pull(at, n) => of_pull(world, *at, *n, name, args),
        Obj::Thread(at, n, t) => of_thread(world, (*at, *n, *t), name, args),
        Obj::Remark(at, n, t, id) => of_remark(world, (*at, *n, *t), *id, name),
        Obj::Review(at, n, r) => of_review(world, (*at, *n, *r), name, args),
        Obj::Comment(at, n, c) => {
            let pull = &world.repos[*at].pulls[*n];
            match name {
                "pullRequest" => one(Obj::Pull(*at, *n)),
                "repository" => one(Obj::Repo(*at)),
                "url" => leaf(format!("{}#issuecomment-{}", page(world, *at, *n), pull.comments[*c].id)),
                _ => of_said(world, &pull.comments[*c], "IC", name),
            }
        }
        Obj::List(kind, here, from, total) => of_list(kind, here, *from, *total, name),
        Obj::Edge(_, node, at) => match name {
            "node" => one((**node).clone()),
            "cursor" => leaf(format!("cursor:{at}")),
            _ => Ok(None),
        },
        Obj::Plain(_, fields) => Ok(fields.iter().find(|(known, _)| *known == name).map(|(_, value)| value.clone())),
    }
}

fn of_list(kind: &'static str, here: &[Obj], from: usize, total: usize, name: &str) -> Answer {
    match name {
        "totalCount" => leaf(total),
        _ if from == UNBOUND => Err(Refusal {
            kind: "MISSING_PAGINATION_BOUNDARIES",
            message: "You must provide a `first` or `last` value to properly paginate the connection.".to_owned(),
        }),
        "nodes" => Ok(Some(Val::Many(here.to_vec()))),
        "edges" => {
            let edges = here.iter().enumerate().map(|(at, one)| Obj::Edge(kind, Box::new(one.clone()), from + at));
            Ok(Some(Val::Many(edges.collect())))
        }
        "pageInfo" => {
            let cursor =
                |at: usize| Val::Leaf(if here.is_empty() { Value::Null } else { format!("cursor:{at}").into() });
            let end = from + here.len();
            plain(
                "PageInfo",
                vec![
                    ("hasNextPage", Val::Leaf((end < total).into())),
                    ("hasPreviousPage", Val::Leaf((from > 0).into())),
                    ("startCursor", cursor(from)),
                    ("endCursor", cursor(end.saturating_sub(1))),
                ],
            )
        }
        _ => Ok(None),
    }
}

fn from_top(world: &World, name: &str, args: &Args) -> Answer {
    match name {
        "viewer" => one(Obj::Viewer),
        "repository" => {
            let (owner, repo) = (args.text("owner"), args.text("name"));
            let found = world.find(owner, repo).filter(|(at, _)| world.rights.read || !world.repos[*at].private);
            // Old names are followed here, unless the caller forbids it.
            let found = found.filter(|(_, moved)| !moved || args.get("followRenames") != &Value::Bool(false));
            found.map_or_else(
                || Err(missing(&format!("a Repository with the name '{owner}/{repo}'"))),
                |(at, _)| one(Obj::Repo(at)),
            )
        }
        "node" => {
            let id = args.text("id");
            node(world, id).map_or_else(|| Err(missing(&format!("a node with the global id of '{id}'"))), one)
        }
        "rateLimit" => plain(
            "RateLimit",
            vec![
                ("limit", Val::Leaf(5000.into())),
                ("cost", Val::Leaf(1.into())),
                ("used", Val::Leaf(1.into())),
                ("remaining", Val::Leaf(4999.into())),
                ("nodeCount", Val::Leaf(1.into())),
                ("resetAt", Val::Leaf("2026-03-01T10:00:00Z".into())),
            ],
        ),
        _ => Ok(None),
    }
}

/// What a global id names.
fn node(world: &World, id: &str) -> Option<Obj> {
    let (kind, number) = id.split_once('_')?;
    let number: u64 = number.parse().ok()?;
    for (at, repo) in world.repos.iter().enumerate() {
        for (n, pull) in repo.pulls.iter().enumerate() {
            let found = match kind {
                "PR" => (pull.id == number).then_some(Obj::Pull(at, n)),
                "PRRT" => pull.threads.iter().position(|one| one.id == number).map(|t| Obj::Thread(at, n, t)),
                "PRR" => pull.reviews.iter().position(|one| one.said.id == number).map(|r| Obj::Review(at, n, r)),
                "IC" => pull.comments.iter().position(|one| one.id == number).map(|c| Obj::Comment(at, n, c)),
                "PRRC" => {
                    let has = |thread: &super::world::ThreadState| thread.comments.iter().any(|said| said.id == number);
                    pull.threads.iter().position(has).map(|t| Obj::Remark(at, n, t, number))
                }
                _ => None,
            };
            if found.is_some() {
                return found;
            }
        }
    }
    None
}

fn of_account(world: &World, login: &str, name: &str) -> Answer {
    let Some(account) = world.accounts.get(login) else { return Ok(None) };
    match name {
        "login" => leaf(account.plain()),
        "id" => leaf(format!("U_{:06}", account.id)),
        "databaseId" => leaf(account.id),
        "url" => leaf(format!("{}/{}", world.url, account.plain())),
        "avatarUrl" => leaf(format!("{}/avatars/{}", world.url, account.id)),
        _ => Ok(None),
    }
}

fn of_repo(world: &World, at: usize, name: &str, args: &Args) -> Answer {
    let repo = &world.repos[at];
    match name {
        "id" => leaf(format!("R_{:06}", repo.id)),
        "databaseId" => leaf(repo.id),
        "name" => leaf(repo.name.as_str()),
        "nameWithOwner" => leaf(repo.full()),
        "owner" => one(Obj::Account(repo.owner.clone())),
        "url" => leaf(format!("{}/{}", world.url, repo.full())),
        "isPrivate" => leaf(repo.private),
        "isFork" => leaf(false),
        "viewerPermission" => leaf(if world.rights.resolve { "WRITE" } else { "READ" }),
        "pullRequest" => {
            let number = args.get("number").as_u64();
            let found = number.and_then(|number| repo.find(number));
            let none = || missing(&format!("a PullRequest with the number of {}", number.unwrap_or_default()));
            found.map_or_else(|| Err(none()), |n| one(Obj::Pull(at, n)))
        }
        "pullRequests" => {
            let states = args.get("states");
            let fits = |pull: &PullState| match states {
                Value::Array(states) => states.iter().any(|state| state == pull.state.as_str()),
                Value::String(state) => *state == pull.state,
                _ => true,
            };
            let mut found: Vec<usize> = (0..repo.pulls.len()).filter(|n| fits(&repo.pulls[*n])).collect();
            let order = args.get("orderBy");
            match order["field"].as_str() {
                Some("UPDATED_AT") => found.sort_by(|a, b| repo.pulls[*a].updated_at.cmp(&repo.pulls[*b].updated_at)),
                _ => found.sort_by(|a, b| repo.pulls[*a].created_at.cmp(&repo.pulls[*b].created_at)),
            }
            if order["direction"] == "DESC" {
                found.reverse();
            }
            let all: Vec<Obj> = found.into_iter().map(|n| Obj::Pull(at, n)).collect();
            args.page("PullRequestConnection", &all).map(Some)
        }
        _ => Ok(None),
    }
}

pub(super) fn page(world: &World, at: usize, n: usize) -> String {
    let repo = &world.repos[at];
    format!("{}/{}/pull/{}", world.url, repo.full(), repo.pulls[n].number)
}

fn of_pull(world: &World, at: usize, n: usize, name: &str, args: &Args) -> Answer {
    let pull = &world.repos[at].pulls[n];
    let lists = |kind, all: Vec<Obj>| args.page(kind, &all).map(Some);
    match name {
        "id" => leaf(format!("PR_{:06}", pull.id)),
        "databaseId" => leaf(pull.id),
        "fullDatabaseId" => leaf(pull.id.to_string()),
        "number" => leaf(pull.number),
        "title" => leaf(pull.title.as_str()),
        "body" => leaf(pull.body.as_str()),
        "url" | "permalink" => leaf(page(world, at, n)),
        "state" => leaf(pull.state.as_str()),
        "isDraft" => leaf(pull.draft),
        "closed" => leaf(pull.state != "OPEN"),
        "merged" => leaf(pull.state == "MERGED"),
        "locked" => leaf(false),
        "author" => account(pull.author.as_ref()),
        "authorAssociation" => leaf(world.association(pull.author.as_deref())),
        "viewerDidAuthor" => leaf(pull.author.as_deref() == Some(world.viewer.as_str())),
        "headRefName" => leaf(pull.head_ref.as_str()),
        "baseRefName" => leaf(pull.base_ref.as_str()),
        "headRefOid" => leaf(pull.head.as_str()),
        "baseRefOid" => leaf(pull.base.as_str()),
        "isCrossRepository" => leaf(pull.head_repo.as_deref() != Some(world.repos[at].full().as_str())),
        "baseRepository" | "repository" => one(Obj::Repo(at)),
        "headRepository" => {
            let found = pull.head_repo.as_deref().and_then(|full| full.split_once('/'));
            let found = found.and_then(|(owner, name)| world.find(owner, name));
            found.map_or_else(|| leaf(Value::Null), |(at, _)| one(Obj::Repo(at)))
        }
        "mergeable" => leaf(pull.mergeable.as_str()),
        "reviewDecision" => leaf(pull.decision()),
        "createdAt" => leaf(pull.created_at.as_str()),
        "updatedAt" => leaf(pull.updated_at.as_str()),
        "mergedAt" => leaf((pull.state == "MERGED").then_some(pull.updated_at.as_str())),
        "closedAt" => leaf((pull.state != "OPEN").then_some(pull.updated_at.as_str())),
        "additions" => leaf(pull.diff.iter().map(FileDiff::additions).sum::<u64>()),
        "deletions" => leaf(pull.diff.iter().map(FileDiff::deletions).sum::<u64>()),
        "changedFiles" => leaf(pull.diff.len()),
        "reviewThreads" => {
            let seen = (0..pull.threads.len()).filter(|t| pull.seen(&pull.threads[*t], &world.viewer).next().is_some());
            lists("PullRequestReviewThreadConnection", seen.map(|t| Obj::Thread(at, n, t)).collect())
        }
        "reviews" => {
            let states = args.get("states").as_array();
            let seen = (0..pull.reviews.len()).filter(|r| {
                let one = &pull.reviews[*r];
                let own = one.state != "PENDING" || one.said.author.as_deref() == Some(world.viewer.as_str());
                own && states.is_none_or(|states| states.iter().any(|state| state == one.state.as_str()))
            });
            lists("PullRequestReviewConnection", seen.map(|r| Obj::Review(at, n, r)).collect())
        }
        "comments" => {
            let mut all: Vec<usize> = (0..pull.comments.len()).collect();
            if args.get("orderBy")["field"] == "UPDATED_AT" {
                all.sort_by(|a, b| pull.comments[*a].updated_at.cmp(&pull.comments[*b].updated_at));
            }
            if args.get("orderBy")["direction"] == "DESC" {
                all.reverse();
            }
            lists("IssueCommentConnection", all.into_iter().map(|c| Obj::Comment(at, n, c)).collect())
        }
        _ => Ok(None),
    }
}

/// Carries out a change; `None` where the fake knows none of that name.
pub fn mutate(world: &mut World, name: &str, args: &Args) -> Answer {
    let resolved = match name {
        "resolveReviewThread" => true,
        "unresolveReviewThread" => false,
        _ => return Ok(None),
    };
    let input = args.get("input");
    let id = input["threadId"].as_str().unwrap_or_default();
    let Some(Obj::Thread(at, n, t)) = node(world, id) else {
        return Err(missing(&format!("a node with the global id of '{id}'")));
    };
    if !world.rights.resolve {
        return Err(Refusal { kind: "FORBIDDEN", message: "Resource not accessible by integration".to_owned() });
    }
    let viewer = world.viewer.clone();
    let pull = &mut world.repos[at].pulls[n];
    pull.threads[t].resolved = resolved;
    pull.threads[t].resolved_by = resolved.then_some(viewer);
    let client = Val::Leaf(input.get("clientMutationId").cloned().unwrap_or(json!(null)));
    let kind = if resolved { "ResolveReviewThreadPayload" } else { "UnresolveReviewThreadPayload" };
    plain(kind, vec![("thread", Val::One(Obj::Thread(at, n, t))), ("clientMutationId", client)])
}
