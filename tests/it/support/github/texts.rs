//! GraphQL: what threads, reviews and comments have. The rest of the types is in `fields`.

use serde_json::Value;

use super::fields::{Answer, account, commit, leaf, one, page};
use super::graph::{Args, Obj};
use super::world::{Said, World};

pub(super) fn of_said(world: &World, said: &Said, kind: &str, name: &str) -> Answer {
    match name {
        "id" => leaf(format!("{kind}_{:06}", said.id)),
        "databaseId" => leaf(said.id),
        "fullDatabaseId" => leaf(said.id.to_string()),
        "body" => leaf(said.body.as_str()),
        "author" => account(said.author.as_ref()),
        "authorAssociation" => leaf(world.association(said.author.as_deref())),
        "viewerDidAuthor" | "viewerCanUpdate" | "viewerCanDelete" => {
            leaf(said.author.as_deref() == Some(world.viewer.as_str()))
        }
        "createdAt" | "publishedAt" => leaf(said.created_at.as_str()),
        "updatedAt" => leaf(said.updated_at.as_str()),
        "lastEditedAt" => leaf((said.updated_at != said.created_at).then_some(said.updated_at.as_str())),
        "isMinimized" => leaf(said.minimized),
        "minimizedReason" => leaf(said.minimized.then_some("outdated")),
        _ => Ok(None),
    }
}

pub(super) fn of_thread(world: &World, (at, n, t): (usize, usize, usize), name: &str, args: &Args) -> Answer {
    let pull = &world.repos[at].pulls[n];
    let thread = &pull.threads[t];
    match name {
        "id" => leaf(format!("PRRT_{:06}", thread.id)),
        "isResolved" | "isCollapsed" => leaf(thread.resolved),
        "resolvedBy" => match &thread.resolved_by {
            Some(login) if *login == world.viewer => one(Obj::Viewer),
            login => account(login.as_ref()),
        },
        "isOutdated" => leaf(thread.outdated),
        "viewerCanResolve" => leaf(world.rights.resolve && !thread.resolved),
        "viewerCanUnresolve" => leaf(world.rights.resolve && thread.resolved),
        "viewerCanReply" => leaf(world.rights.write),
        "path" => leaf(thread.path.as_str()),
        "line" => leaf(thread.line),
        "startLine" => leaf(thread.start_line),
        "originalLine" => leaf(thread.original_line),
        "originalStartLine" => leaf(thread.original_start_line),
        "diffSide" => leaf(thread.side.as_str()),
        "startDiffSide" => leaf(thread.original_start_line.map(|_| thread.side.as_str())),
        "subjectType" => leaf(if thread.on_file { "FILE" } else { "LINE" }),
        "pullRequest" => one(Obj::Pull(at, n)),
        "repository" => one(Obj::Repo(at)),
        "comments" => {
            let seen = pull.seen(thread, &world.viewer).map(|said| Obj::Remark(at, n, t, said.id)).collect::<Vec<_>>();
            args.page("PullRequestReviewCommentConnection", &seen).map(Some)
        }
        _ => Ok(None),
    }
}

pub(super) fn of_remark(world: &World, (at, n, t): (usize, usize, usize), id: u64, name: &str) -> Answer {
    let pull = &world.repos[at].pulls[n];
    let thread = &pull.threads[t];
    let Some(said) = thread.comments.iter().find(|said| said.id == id) else { return Ok(None) };
    match name {
        "path" | "line" | "startLine" | "originalLine" | "originalStartLine" | "subjectType" => {
            of_thread(world, (at, n, t), name, &Args::default())
        }
        "outdated" => leaf(thread.outdated),
        "diffHunk" => leaf(thread.diff_hunk.as_str()),
        "state" => leaf(if pull.is_pending(said.review) { "PENDING" } else { "SUBMITTED" }),
        "commit" => commit(&pull.head),
        "originalCommit" => commit(&thread.original_commit),
        "replyTo" => {
            let first = thread.comments.first().map(|first| first.id).filter(|first| *first != id);
            first.map_or_else(|| leaf(Value::Null), |first| one(Obj::Remark(at, n, t, first)))
        }
        "pullRequestReview" => {
            let found = pull.reviews.iter().position(|one| Some(one.said.id) == said.review);
            found.map_or_else(|| leaf(Value::Null), |r| one(Obj::Review(at, n, r)))
        }
        "pullRequest" => one(Obj::Pull(at, n)),
        "url" => leaf(format!("{}#discussion_r{id}", page(world, at, n))),
        _ => of_said(world, said, "PRRC", name),
    }
}

pub(super) fn of_review(world: &World, (at, n, r): (usize, usize, usize), name: &str, args: &Args) -> Answer {
    let pull = &world.repos[at].pulls[n];
    let review = &pull.reviews[r];
    match name {
        "state" => leaf(review.state.as_str()),
        "commit" => commit(&review.commit),
        "submittedAt" => leaf((review.state != "PENDING").then_some(review.said.created_at.as_str())),
        "pullRequest" => one(Obj::Pull(at, n)),
        "url" => leaf(format!("{}#pullrequestreview-{}", page(world, at, n), review.said.id)),
        "comments" => {
            let all = pull
                .threads
                .iter()
                .enumerate()
                .flat_map(|(t, thread)| thread.comments.iter().map(move |said| (t, said)));
            let own = all.filter(|(_, said)| said.review == Some(review.said.id));
            let own: Vec<Obj> = own.map(|(t, said)| Obj::Remark(at, n, t, said.id)).collect();
            args.page("PullRequestReviewCommentConnection", &own).map(Some)
        }
        _ => of_said(world, &review.said, "PRR", name),
    }
}
