//! The queries, each under the name of its operation.
//!
//! Every one is valid against GitHub's published schema. What repeats is put in by [`Operation::query`]: a fragment is sent only where it is used.

/// The fields of a text.
const COMMENT: &str = "
  id fullDatabaseId body author { __typename login } authorAssociation viewerDidAuthor createdAt updatedAt url isMinimized";

/// Few at a time: a comment may have 65 536 characters, and one answer must hold a page of the longest.
const THREAD: &str = "
  id isResolved resolvedBy { __typename login } isOutdated viewerCanResolve viewerCanUnresolve
  path line startLine originalLine originalStartLine diffSide subjectType
  comments(first: 10) { pageInfo { hasNextPage endCursor } nodes { $COMMENT state } }";

const PULL: &str = "
  id number url title body state isDraft author { __typename login } authorAssociation
  headRefName baseRefName headRefOid baseRefOid headRepository { nameWithOwner } baseRepository { nameWithOwner }
  mergeable reviewDecision createdAt updatedAt additions deletions changedFiles";

/// An operation: its name, and its text before the repeated parts are put in.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct Operation {
    pub(super) name: &'static str,
    text: &'static str,
}

impl Operation {
    /// The text that is sent.
    pub(super) fn query(self) -> String {
        // In this order: threads hold comments.
        self.text.replace("$THREAD", THREAD).replace("$COMMENT", COMMENT).replace("$PULL", PULL)
    }

    /// Checks whether it changes something.
    pub(super) fn is_mutation(self) -> bool {
        self.text.trim_start().starts_with("mutation")
    }
}

pub(super) const VIEWER: Operation = Operation { name: "Viewer", text: "query Viewer { viewer { __typename login } }" };

pub(super) const PULL_REQUEST: Operation = Operation {
    name: "PullRequest",
    text: "
query PullRequest($owner: String!, $name: String!, $number: Int!) {
  repository(owner: $owner, name: $name) { pullRequest(number: $number) { $PULL } }
}",
};

pub(super) const REVIEW_THREADS: Operation = Operation {
    name: "ReviewThreads",
    text: "
query ReviewThreads($owner: String!, $name: String!, $number: Int!, $after: String) {
  repository(owner: $owner, name: $name) { pullRequest(number: $number) {
    reviewThreads(first: 20, after: $after) { pageInfo { hasNextPage endCursor } nodes { $THREAD } }
  } }
}",
};

pub(super) const THREAD_COMMENTS: Operation = Operation {
    name: "ThreadComments",
    text: "
query ThreadComments($id: ID!, $after: String) {
  node(id: $id) { ... on PullRequestReviewThread {
    comments(first: 100, after: $after) { pageInfo { hasNextPage endCursor } nodes { $COMMENT state } }
  } }
}",
};

pub(super) const ONE_THREAD: Operation = Operation {
    name: "ReviewThread",
    text: "
query ReviewThread($id: ID!) {
  node(id: $id) { __typename ... on PullRequestReviewThread { $THREAD } }
}",
};

pub(super) const REVIEWS: Operation = Operation {
    name: "Reviews",
    text: "
query Reviews($owner: String!, $name: String!, $number: Int!, $after: String) {
  repository(owner: $owner, name: $name) { pullRequest(number: $number) {
    reviews(first: 100, after: $after) {
      pageInfo { hasNextPage endCursor } nodes { $COMMENT state commit { oid } }
    }
  } }
}",
};

pub(super) const COMMENTS: Operation = Operation {
    name: "Comments",
    text: "
query Comments($owner: String!, $name: String!, $number: Int!, $after: String) {
  repository(owner: $owner, name: $name) { pullRequest(number: $number) {
    comments(first: 100, after: $after) { pageInfo { hasNextPage endCursor } nodes { $COMMENT } }
  } }
}",
};

pub(super) const PULL_REQUESTS: Operation = Operation {
    name: "PullRequests",
    text: "
query PullRequests($owner: String!, $name: String!, $states: [PullRequestState!], $first: Int!, $after: String) {
  repository(owner: $owner, name: $name) {
    pullRequests(states: $states, first: $first, after: $after, orderBy: { field: CREATED_AT, direction: DESC }) {
      totalCount pageInfo { hasNextPage endCursor }
      nodes { $PULL reviewThreads(first: 100) { totalCount nodes { isResolved } } comments { totalCount } }
    }
  }
}",
};

/// The query for what REST's entity tags do not cover: resolutions, and edits of old texts.
pub(in super::super) const LOOKS: Operation = Operation {
    name: "Looks",
    text: "
query Looks($owner: String!, $name: String!, $number: Int!, $after: String) {
  repository(owner: $owner, name: $name) { pullRequest(number: $number) {
    updatedAt state headRefOid
    comments(first: 1, orderBy: { field: UPDATED_AT, direction: DESC }) { totalCount nodes { updatedAt isMinimized } }
    reviews(last: 1) { totalCount nodes { updatedAt state } }
    reviewThreads(first: 100, after: $after) {
      totalCount pageInfo { hasNextPage endCursor } nodes { isResolved isOutdated comments { totalCount } }
    }
  } }
}",
};

pub(super) const RESOLVE: Operation = Operation {
    name: "ResolveThread",
    text: "
mutation ResolveThread($id: ID!) { resolveReviewThread(input: { threadId: $id }) { thread { id isResolved } } }",
};

pub(super) const REOPEN: Operation = Operation {
    name: "UnresolveThread",
    text: "
mutation UnresolveThread($id: ID!) { unresolveReviewThread(input: { threadId: $id }) { thread { id isResolved } } }",
};

/// All of them, for whoever checks them against the schema.
#[cfg(test)]
pub(super) const ALL: [Operation; 11] = [
    VIEWER,
    PULL_REQUEST,
    REVIEW_THREADS,
    THREAD_COMMENTS,
    ONE_THREAD,
    REVIEWS,
    COMMENTS,
    PULL_REQUESTS,
    LOOKS,
    RESOLVE,
    REOPEN,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_is_whole_and_bears_its_name() {
        for operation in ALL {
            let query = operation.query();
            let kind = if operation.is_mutation() { "mutation" } else { "query" };
            assert!(query.trim_start().starts_with(&format!("{kind} {}", operation.name)), "{query}");
            assert_eq!(query.matches('{').count(), query.matches('}').count(), "{query}");
            for part in ["$THREAD", "$COMMENT", "$PULL"] {
                assert!(!query.contains(part), "{query}");
            }
        }
    }
}
