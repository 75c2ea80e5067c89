//! REST's bodies: every field that GitHub's `OpenAPI` description requires. Main functions: one for each kind of thing.

use serde_json::{Map, Value, json};

use super::bare::FileDiff;
use super::world::{App, PullState, RepoState, ReviewState, Said, ThreadState, World};

/// An account; null where it is gone.
pub fn user(world: &World, login: Option<&str>) -> Value {
    let Some(account) = login.and_then(|login| world.accounts.get(login)) else { return Value::Null };
    let (login, url) = (&account.login, format!("{}/users/{}", world.url, account.login));
    let kind = if account.is_bot() { "Bot" } else { "User" };
    let mut user = json!({
        "login": login, "id": account.id, "node_id": format!("U_{:06}", account.id), "gravatar_id": "", "url": url.replace(['[', ']'], ""),
        "avatar_url": format!("{}/avatars/{}", world.url, account.id),
        "html_url": format!("{}/{}", world.url, account.plain()), "type": kind, "site_admin": false,
    });
    for name in [
        "events",
        "followers",
        "following",
        "gists",
        "organizations",
        "received_events",
        "repos",
        "starred",
        "subscriptions",
    ] {
        user[format!("{name}_url")] = format!("{}/users/{}/{name}", world.url, account.id).into();
    }
    user
}

/// A repository; the whole of it where it was asked for by itself.
pub fn repo(world: &World, repo: &RepoState, whole: bool) -> Value {
    let (full, now) = (repo.full(), "2026-03-01T09:00:00Z");
    let (api, page) = (format!("{}/repos/{full}", world.url), format!("{}/{full}", world.url));
    let mut body = json!({
        "id": repo.id, "node_id": format!("R_{:06}", repo.id), "name": repo.name, "full_name": full,
        "owner": user(world, Some(&repo.owner)), "private": repo.private, "html_url": page, "description": null, "fork": false,
        "url": api, "clone_url": format!("{page}.git"), "git_url": format!("git:{full}.git"), "ssh_url": format!("git@localhost:{full}.git"),
        "svn_url": page, "mirror_url": null, "homepage": null, "language": null, "license": null, "default_branch": "main",
        "archived": false, "disabled": false, "has_downloads": true, "has_issues": true, "has_projects": true, "has_wiki": true,
        "has_pages": false, "has_discussions": false, "forks": 0, "forks_count": 0, "open_issues": 0, "open_issues_count": 0, "size": 1,
        "stargazers_count": 0, "watchers": 0, "watchers_count": 0, "pushed_at": now, "created_at": now, "updated_at": now,
    });
    for name in [
        "archive",
        "assignees",
        "blobs",
        "branches",
        "collaborators",
        "comments",
        "commits",
        "compare",
        "contents",
        "contributors",
        "deployments",
        "downloads",
        "events",
        "forks",
        "git_commits",
        "git_refs",
        "git_tags",
        "hooks",
        "issue_comment",
        "issue_events",
        "issues",
        "keys",
        "labels",
        "languages",
        "merges",
        "milestones",
        "notifications",
        "pulls",
        "releases",
        "stargazers",
        "statuses",
        "subscribers",
        "subscription",
        "tags",
        "teams",
        "trees",
    ] {
        body[format!("{name}_url")] = format!("{api}/{name}").into();
    }
    if whole {
        body["network_count"] = 0.into();
        body["subscribers_count"] = 0.into();
    }
    body
}

/// A pull request.
pub fn pull(world: &World, repo_state: &RepoState, pull: &PullState) -> Value {
    let (full, n) = (repo_state.full(), pull.number);
    let (api, page) = (format!("{}/repos/{full}/pulls/{n}", world.url), format!("{}/{full}/pull/{n}", world.url));
    let issue = format!("{}/repos/{full}/issues/{n}", world.url);
    let statuses = format!("{}/repos/{full}/statuses/{}", world.url, pull.head);
    let author = user(world, pull.author.as_deref());
    let end = |name: &str, sha: &str, whose: Option<&str>, whose_user: Value| {
        let at = whose.and_then(|full| full.split_once('/')).and_then(|(owner, name)| world.find(owner, name));
        let of = at.map_or(Value::Null, |(at, _)| repo(world, &world.repos[at], false));
        let owner = whose.and_then(|full| full.split('/').next()).unwrap_or("unknown");
        json!({ "label": format!("{owner}:{name}"), "ref": name, "sha": sha, "repo": of, "user": whose_user })
    };
    let merged = pull.state == "MERGED";
    let mut body = json!({
        "id": pull.id, "node_id": format!("PR_{:06}", pull.id), "number": n, "url": api, "html_url": page, "issue_url": issue,
        "diff_url": format!("{page}.diff"), "patch_url": format!("{page}.patch"), "commits_url": format!("{api}/commits"),
        "comments_url": format!("{issue}/comments"), "statuses_url": statuses, "review_comments_url": format!("{api}/comments"),
        "review_comment_url": format!("{}/repos/{full}/pulls/comments{{/number}}", world.url),
        "title": pull.title, "body": pull.body, "user": author, "state": if pull.state == "OPEN" { "open" } else { "closed" },
        "locked": false, "draft": pull.draft, "merged": merged, "merged_by": null, "merge_commit_sha": null,
        "merged_at": merged.then_some(&pull.updated_at), "closed_at": (pull.state != "OPEN").then_some(&pull.updated_at),
        "created_at": pull.created_at, "updated_at": pull.updated_at, "labels": [], "assignee": null, "assignees": [], "milestone": null,
        "author_association": world.association(pull.author.as_deref()), "auto_merge": null, "maintainer_can_modify": false,
    });
    let counted = json!({
        "mergeable": match pull.mergeable.as_str() { "MERGEABLE" => json!(true), "CONFLICTING" => json!(false), _ => Value::Null },
        "mergeable_state": "clean", "commits": pull.commits.len(), "comments": pull.comments.len(),
        "review_comments": pull.threads.iter().map(|thread| thread.comments.len()).sum::<usize>(),
        "changed_files": pull.diff.len(), "additions": pull.diff.iter().map(FileDiff::additions).sum::<u64>(),
        "deletions": pull.diff.iter().map(FileDiff::deletions).sum::<u64>(),
        "base": end(&pull.base_ref, &pull.base, Some(&full), user(world, Some(&repo_state.owner))),
        "head": end(&pull.head_ref, &pull.head, pull.head_repo.as_deref(), author.clone()),
    });
    if let (Value::Object(body), Value::Object(counted)) = (&mut body, counted) {
        body.extend(counted);
    }
    let mut links = Map::new();
    for (name, href) in [
        ("self", &body["url"]),
        ("html", &body["html_url"]),
        ("issue", &body["issue_url"]),
        ("comments", &body["comments_url"]),
        ("review_comments", &body["review_comments_url"]),
        ("review_comment", &body["review_comment_url"]),
        ("commits", &body["commits_url"]),
        ("statuses", &body["statuses_url"]),
    ] {
        links.insert(name.to_owned(), json!({ "href": href }));
    }
    body["_links"] = Value::Object(links);
    body
}

/// A file of a pull request.
pub fn file(world: &World, repo: &RepoState, pull: &PullState, file: &FileDiff) -> Value {
    let at = |kind: &str| {
        let path: String = file.path.bytes().map(escaped).collect();
        format!("{}/{}/{kind}/{}/{path}", world.url, repo.full(), pull.head)
    };
    let gone = file.status == "removed";
    let mut body = json!({
        "sha": (!gone).then_some(&file.blob), "filename": file.path, "status": file.status, "additions": file.additions(),
        "deletions": file.deletions(), "changes": file.additions() + file.deletions(), "blob_url": at("blob"), "raw_url": at("raw"),
        "contents_url": at("contents"),
    });
    if let Some(old) = &file.old_path {
        body["previous_filename"] = old.as_str().into();
    }
    if !file.hunks.is_empty() {
        let hunks: String = file.hunks.iter().map(|hunk| hunk.text.as_str()).collect();
        body["patch"] = hunks.trim_end_matches('\n').into();
    }
    body
}

fn escaped(byte: u8) -> String {
    let plain = byte.is_ascii_alphanumeric() || b"/-_.~".contains(&byte);
    if plain { char::from(byte).to_string() } else { format!("%{byte:02X}") }
}

/// A review.
pub fn review(world: &World, repo: &RepoState, pull: &PullState, review: &ReviewState) -> Value {
    let (full, n, said) = (repo.full(), pull.number, &review.said);
    let page = format!("{}/{full}/pull/{n}#pullrequestreview-{}", world.url, said.id);
    let api = format!("{}/repos/{full}/pulls/{n}", world.url);
    let mut body = json!({
        "id": said.id, "node_id": format!("PRR_{:06}", said.id), "user": user(world, said.author.as_deref()), "body": said.body,
        "state": review.state, "html_url": page, "pull_request_url": api, "commit_id": review.commit,
        "author_association": world.association(said.author.as_deref()),
        "_links": { "html": { "href": page }, "pull_request": { "href": api } },
    });
    if review.state != "PENDING" {
        body["submitted_at"] = said.created_at.as_str().into();
    }
    body
}

/// A comment of a thread.
pub fn remark(world: &World, repo: &RepoState, pull: &PullState, thread: &ThreadState, said: &Said) -> Value {
    let (full, n) = (repo.full(), pull.number);
    let api = format!("{}/repos/{full}/pulls/comments/{}", world.url, said.id);
    let page = format!("{}/{full}/pull/{n}#discussion_r{}", world.url, said.id);
    let of = format!("{}/repos/{full}/pulls/{n}", world.url);
    let first = thread.comments.first().map(|first| first.id).filter(|first| *first != said.id);
    let mut body = json!({
        "url": api, "id": said.id, "node_id": format!("PRRC_{:06}", said.id), "pull_request_review_id": said.review,
        "diff_hunk": thread.diff_hunk, "path": thread.path, "commit_id": pull.head, "original_commit_id": thread.original_commit,
        "user": user(world, said.author.as_deref()), "body": said.body, "created_at": said.created_at, "updated_at": said.updated_at,
        "html_url": page, "pull_request_url": of, "author_association": world.association(said.author.as_deref()),
        "_links": { "self": { "href": api }, "html": { "href": page }, "pull_request": { "href": of } },
        "side": thread.side, "start_side": thread.original_start_line.map(|_| thread.side.as_str()), "start_line": thread.start_line,
        "original_start_line": thread.original_start_line,
    });
    if let Some(line) = thread.line {
        body["line"] = line.into();
    }
    if let Some(line) = thread.original_line {
        body["original_line"] = line.into();
    }
    if let Some(first) = first {
        body["in_reply_to_id"] = first.into();
    }
    body["subject_type"] = if thread.on_file { "file" } else { "line" }.into();
    body
}

/// A comment on the pull request as a whole.
pub fn comment(world: &World, repo: &RepoState, pull: &PullState, said: &Said) -> Value {
    let (full, n) = (repo.full(), pull.number);
    json!({
        "id": said.id, "node_id": format!("IC_{:06}", said.id), "url": format!("{}/repos/{full}/issues/comments/{}", world.url, said.id),
        "html_url": format!("{}/{full}/pull/{n}#issuecomment-{}", world.url, said.id),
        "issue_url": format!("{}/repos/{full}/issues/{n}", world.url), "user": user(world, said.author.as_deref()), "body": said.body,
        "created_at": said.created_at, "updated_at": said.updated_at, "author_association": world.association(said.author.as_deref()),
        "performed_via_github_app": null,
    })
}

/// The installation of the App.
pub fn installation(world: &World, owner: &str) -> Value {
    let App { id, installation, .. } = world.app;
    let api = format!("{}/app/installations/{installation}", world.url);
    json!({
        "id": installation, "account": user(world, Some(owner)), "repository_selection": "selected", "access_tokens_url": format!("{api}/access_tokens"),
        "repositories_url": format!("{}/installation/repositories", world.url), "html_url": format!("{}/settings/installations/{installation}", world.url),
        "app_id": id, "app_slug": "review-app", "target_id": 1, "target_type": "User", "permissions": { "pull_requests": "write" },
        "events": [], "created_at": "2026-03-01T09:00:00Z", "updated_at": "2026-03-01T09:00:00Z", "single_file_name": null,
        "suspended_by": null, "suspended_at": null,
    })
}

/// The App itself.
pub fn app(world: &World) -> Value {
    json!({
        "id": world.app.id, "slug": world.viewer.trim_end_matches("[bot]"), "node_id": "A_000001", "owner": user(world, Some("octo")),
        "name": "Review App", "description": null, "external_url": format!("{}/about", world.url),
        "html_url": format!("{}/apps/review-app", world.url), "created_at": "2026-03-01T09:00:00Z", "updated_at": "2026-03-01T09:00:00Z",
        "permissions": { "pull_requests": "write" }, "events": [],
    })
}

/// The account that asks, as it sees itself.
pub fn own_account(world: &World) -> Value {
    let mut body = user(world, Some(&world.viewer));
    for name in ["bio", "blog", "company", "email", "hireable", "location", "name"] {
        body[name] = Value::Null;
    }
    for name in ["followers", "following", "public_gists", "public_repos"] {
        body[name] = 0.into();
    }
    body["created_at"] = "2026-03-01T09:00:00Z".into();
    body["updated_at"] = "2026-03-01T09:00:00Z".into();
    body
}
