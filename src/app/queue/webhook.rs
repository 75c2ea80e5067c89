//! Deliveries of GitHub's webhooks: a pull request that changed becomes a job. Main type: [`WebhookReceiver`].
//!
//! A delivery is text of a stranger until its signature was checked, and text of the pull request's author after that: it chooses neither what
//! is reviewed beyond its number and commit nor how. Source: GitHub's documentation of webhook events and payloads.

use std::collections::BTreeSet;
use std::time::Duration;

use hmac::{Hmac, KeyInit as _, Mac as _};
use serde::Deserialize;
use serde::de::IgnoredAny;
use sha2::Sha256;

use super::QueueHandle;
use crate::domain::forge::{PullSpecifier, RepoName};
use crate::domain::queue::{JobRequest, JobWork, NewJob, pull_version};
use crate::domain::request::ReviewScope;
use crate::domain::secret::Secret;
use crate::domain::text::{shorten, strip_line};
use crate::sys::cancel::Cancel;

/// The time for which the queue is asked. With that for reading the delivery and the grace of what does not end in time, the answer comes within
/// 8 seconds: GitHub waits 10.
const ANSWER: Duration = Duration::from_secs(3);
/// Minimum length of the secret in bytes; a shorter one could be guessed.
const SHORTEST_SECRET: usize = 16;
/// Maximum length of a delivery's id.
const LONGEST_ID: usize = 100;
/// Maximum length of the name of a job, in characters.
const LONGEST_NAME: usize = 120;
/// The actions of a pull request after which it is reviewed.
const REVIEWED: [&str; 4] = ["opened", REOPENED, "synchronize", "ready_for_review"];
const REOPENED: &str = "reopened";
/// The action of one whose title, text or base changed; with another base it is reviewed.
const EDITED: &str = "edited";

/// A delivery, as it came.
#[derive(Debug, Clone)]
pub struct WebhookDelivery {
    /// `X-GitHub-Delivery`.
    pub id: Option<String>,
    /// `X-GitHub-Event`.
    pub event: Option<String>,
    /// `X-Hub-Signature-256`.
    pub signature: Option<String>,
    /// The payload.
    pub body: Vec<u8>,
}

/// The answer to a delivery. Its text is shown on GitHub's page of the webhook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookAnswer {
    /// The HTTP status.
    pub code: u16,
    /// One sentence.
    pub text: String,
}

/// The reason why no deliveries can be taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WebhookSetupError {
    /// There is no secret, or a short one.
    #[error(
        "the secret of the webhook needs {SHORTEST_SECRET} characters at least: set REVIEW_WEBHOOK_SECRET or --secret-file, and the same on GitHub"
    )]
    Secret,
    /// No repository is named.
    #[error("name the repositories whose pull requests are reviewed: --repository OWNER/NAME")]
    NoRepository,
}

impl crate::app::context::error::UseCaseError for WebhookSetupError {}

/// Takes deliveries, and adds their jobs.
pub struct WebhookReceiver {
    queue: QueueHandle,
    secret: Secret,
    /// In lower case, as GitHub ignores case.
    repositories: BTreeSet<String>,
    post: bool,
}

/// The fields of a payload that are read.
#[derive(Deserialize)]
struct WebhookPayload {
    action: String,
    number: u64,
    repository: WebhookRepository,
    pull_request: WebhookPull,
    #[serde(default)]
    changes: WebhookChanges,
}

/// The fields that were edited.
#[derive(Default, Deserialize)]
struct WebhookChanges {
    base: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct WebhookRepository {
    full_name: String,
}

#[derive(Deserialize)]
struct WebhookPull {
    title: String,
    #[serde(default)]
    draft: bool,
    head: WebhookHead,
    base: WebhookBase,
}

#[derive(Deserialize)]
struct WebhookHead {
    sha: String,
}

#[derive(Deserialize)]
struct WebhookBase {
    #[serde(rename = "ref")]
    name: String,
}

fn answer(code: u16, text: impl Into<String>) -> WebhookAnswer {
    WebhookAnswer { code, text: text.into() }
}

impl WebhookReceiver {
    /// Creates a receiver for the pull requests of these repositories; with `post`, their reviews are posted.
    pub fn new(
        queue: QueueHandle,
        secret: Option<Secret>,
        repositories: &[RepoName],
        post: bool,
    ) -> Result<Self, WebhookSetupError> {
        let secret = secret.filter(|secret| secret.reveal().len() >= SHORTEST_SECRET);
        let secret = secret.ok_or(WebhookSetupError::Secret)?;
        if repositories.is_empty() {
            return Err(WebhookSetupError::NoRepository);
        }
        let repositories = repositories.iter().map(|name| name.to_string().to_ascii_lowercase()).collect();
        Ok(Self { queue, secret, repositories, post })
    }

    /// Returns the queue.
    pub fn queue(&self) -> &QueueHandle {
        &self.queue
    }

    /// Takes a delivery. One that is refused changes nothing.
    pub async fn take(&self, delivery: WebhookDelivery) -> WebhookAnswer {
        if !self.is_signed(&delivery) {
            return answer(401, "the signature is missing or wrong: compare the secrets");
        }
        let Some(id) = delivery.id.filter(|id| !id.is_empty() && id.len() <= LONGEST_ID) else {
            return answer(400, "the delivery has no id");
        };
        match delivery.event.as_deref() {
            Some("ping") => return answer(200, "the webhook works"),
            Some("pull_request") => {}
            _ => {
                return answer(
                    400,
                    "only the events of pull requests are wanted: choose them in the webhook's settings",
                );
            }
        }
        let payload: WebhookPayload = match serde_json::from_slice(&delivery.body) {
            Ok(payload) => payload,
            Err(_) => return answer(400, "the payload is not that of a pull request in JSON"),
        };
        let job = match self.job(&payload) {
            Ok(job) => job,
            Err(refused) => return refused,
        };
        match self.queue.deliver(id, job, payload.action == REOPENED, &Cancel::after(ANSWER)).await {
            Ok(Some(0)) => answer(202, "there is a job for this commit already"),
            Ok(Some(_)) => answer(202, "the pull request will be reviewed"),
            Ok(None) => answer(409, "this delivery was taken before"),
            // What went wrong is for the operator, not for a page of GitHub.
            Err(_) => answer(503, "the queue is away: deliver it again later"),
        }
    }

    fn is_signed(&self, delivery: &WebhookDelivery) -> bool {
        let Some(hexadecimal) = delivery.signature.as_deref().and_then(|text| text.strip_prefix("sha256=")) else {
            return false;
        };
        let digits: Option<Vec<u8>> = hexadecimal
            .as_bytes()
            .chunks(2)
            .map(|two| u8::from_str_radix(std::str::from_utf8(two).ok()?, 16).ok())
            .collect();
        let mac = Hmac::<Sha256>::new_from_slice(self.secret.reveal().as_bytes());
        match (digits, mac) {
            (Some(digits), Ok(mac)) => mac.chain_update(&delivery.body).verify_slice(&digits).is_ok(),
            _ => false,
        }
    }

    /// Makes the job of a payload; the error is the answer to one that needs none.
    fn job(&self, payload: &WebhookPayload) -> Result<NewJob, WebhookAnswer> {
        if !self.repositories.contains(&payload.repository.full_name.to_ascii_lowercase()) {
            return Err(answer(403, "this server does not review that repository"));
        }
        let has_new_base = payload.action == EDITED && payload.changes.base.is_some();
        if !has_new_base && !REVIEWED.contains(&payload.action.as_str()) {
            return Err(answer(200, "this action needs no review"));
        }
        if payload.pull_request.draft {
            return Err(answer(200, "a draft is reviewed when it is ready"));
        }
        let head = &payload.pull_request.head.sha;
        let is_commit = matches!(head.len(), 40 | 64) && head.bytes().all(|byte| byte.is_ascii_hexdigit());
        let name = format!("{}#{}", payload.repository.full_name, payload.number);
        let pull: PullSpecifier = match name.parse() {
            Ok(pull) if is_commit => pull,
            _ => return Err(answer(400, "the payload names no pull request")),
        };
        let title = shorten(&strip_line(&format!("{name} {}", payload.pull_request.title)), LONGEST_NAME);
        let scope = ReviewScope::Pull(pull);
        let request =
            JobRequest { repository: String::new(), name: title, scope, commits: Vec::new(), post: self.post };
        let key = request.key(&pull_version(&payload.pull_request.base.name, head));
        Ok(NewJob { key, work: JobWork::Review(request), priority: 0 })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::domain::id::hex;
    use crate::domain::queue::JobState;
    use crate::queue::JobEnd;

    const SECRET: &str = "It's a Secret to Everybody";

    fn receiver() -> (tempfile::TempDir, WebhookReceiver) {
        let folder = tempfile::tempdir().unwrap();
        let queue = QueueHandle::open(folder.path().join("q.db").to_str().unwrap()).unwrap();
        let names = ["Octo/Demo".parse().unwrap()];
        let receiver = WebhookReceiver::new(queue, Some(Secret::new(SECRET)), &names, true).unwrap();
        (folder, receiver)
    }

    fn signed(body: &[u8]) -> String {
        let mac = Hmac::<Sha256>::new_from_slice(SECRET.as_bytes()).unwrap().chain_update(body);
        format!("sha256={}", hex(&mac.finalize().into_bytes()))
    }

    fn delivery(id: &str, event: &str, payload: &serde_json::Value) -> WebhookDelivery {
        let body = payload.to_string().into_bytes();
        let some = |text: &str| Some(text.to_owned());
        WebhookDelivery { id: some(id), event: some(event), signature: Some(signed(&body)), body }
    }

    fn pull(action: &str, head: char) -> serde_json::Value {
        json!({ "action": action, "number": 7, "repository": { "full_name": "octo/demo", "private": true }, "sender": { "login": "ada" },
            "pull_request": { "title": "A\nb \u{1b}[31m", "draft": false, "head": { "sha": head.to_string().repeat(40), "ref": "x" }, "base": { "ref": "main" } } })
    }

    #[test]
    fn the_signature_is_that_of_the_documentation() {
        // From GitHub's page on validating webhook deliveries.
        let (_folder, receiver) = receiver();
        let known = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
        let mut sent = WebhookDelivery {
            id: None,
            event: None,
            signature: Some(known.to_owned()),
            body: b"Hello, World!".to_vec(),
        };
        assert!(receiver.is_signed(&sent));
        sent.body[0] = b'h';
        assert!(!receiver.is_signed(&sent));
        for signature in [None, Some(""), Some("sha1=00"), Some("sha256="), Some("sha256=zz"), Some("sha256=é")] {
            sent.signature = signature.map(str::to_owned);
            assert!(!receiver.is_signed(&sent), "{signature:?}");
        }
    }

    #[tokio::test]
    async fn a_pull_request_that_changed_is_one_job_for_each_commit() {
        let (_folder, receiver) = receiver();
        let sent = [
            ("1", pull("opened", 'a'), 202),
            ("2", pull("reopened", 'a'), 202),
            ("3", pull("synchronize", 'b'), 202),
            ("4", pull("closed", 'c'), 200),
        ];
        for (id, payload, code) in sent {
            assert_eq!(receiver.take(delivery(id, "pull_request", &payload)).await.code, code, "{id}");
        }
        let jobs = receiver.queue.list(None, 10).unwrap();
        assert_eq!(jobs.iter().map(|job| &*job.name).collect::<Vec<_>>(), ["octo/demo#7 A b "; 2]);
    }

    #[tokio::test]
    async fn another_base_is_another_job_and_another_title_is_none() {
        let (_folder, receiver) = receiver();
        let take =
            async |id: &str, payload: &serde_json::Value| receiver.take(delivery(id, "pull_request", payload)).await;
        let mut edited = pull("edited", 'a');
        edited["pull_request"]["base"]["ref"] = json!("release");
        assert_eq!(take("1", &pull("opened", 'a')).await.code, 202);
        edited["changes"] = json!({ "title": { "from": "B" } });
        assert_eq!(take("2", &edited).await, answer(200, "this action needs no review"));
        edited["changes"] = json!({ "base": { "ref": { "from": "main" }, "sha": { "from": "0" } } });
        assert_eq!(take("3", &edited).await, answer(202, "the pull request will be reviewed"));
        assert_eq!(receiver.queue.list(None, 10).unwrap().len(), 2);
    }

    #[tokio::test]
    async fn a_dead_job_waits_again_when_its_pull_request_is_reopened() {
        let (_folder, receiver) = receiver();
        let take =
            async |id: &str, action: &str| receiver.take(delivery(id, "pull_request", &pull(action, 'a'))).await.text;
        take("1", "opened").await;
        let jobs = &receiver.queue.jobs;
        assert_eq!(take("2", "reopened").await, "there is a job for this commit already");
        let job = jobs.lease("w", Duration::from_mins(1)).unwrap().unwrap();
        jobs.end(&job, &JobEnd::Dead("why".to_owned())).unwrap();
        assert_eq!(take("3", "synchronize").await, "there is a job for this commit already");
        assert_eq!(jobs.list(Some(JobState::Dead), 9).unwrap().len(), 1);
        assert_eq!(take("4", "reopened").await, "the pull request will be reviewed");
        assert_eq!(jobs.list(Some(JobState::Waiting), 9).unwrap().len(), 1);
        jobs.cancel(&[job.id]).unwrap();
        assert_eq!(take("5", "reopened").await, "there is a job for this commit already", "someone canceled it");
    }

    #[tokio::test]
    async fn what_is_forged_repeated_or_unwanted_is_refused_and_adds_nothing() {
        let (_folder, receiver) = receiver();
        let good = delivery("1", "pull_request", &pull("opened", 'a'));
        let forged = WebhookDelivery { signature: Some(signed(b"other")), ..good.clone() };
        assert_eq!(receiver.take(forged).await.code, 401);
        assert_eq!(receiver.take(WebhookDelivery { signature: None, ..good.clone() }).await.code, 401);
        assert_eq!(receiver.take(WebhookDelivery { id: None, ..good.clone() }).await.code, 400);
        assert_eq!(receiver.take(delivery("2", "push", &pull("opened", 'a'))).await.code, 400);
        assert_eq!(receiver.take(delivery("3", "ping", &json!({ "zen": "x" }))).await.code, 200);
        let mut other = pull("opened", 'a');
        other["repository"]["full_name"] = json!("octo/other");
        assert_eq!(receiver.take(delivery("4", "pull_request", &other)).await.code, 403);
        let mut bad = pull("opened", 'a');
        bad["pull_request"]["head"]["sha"] = json!("main; rm -rf /");
        assert_eq!(receiver.take(delivery("5", "pull_request", &bad)).await.code, 400);
        assert_eq!(receiver.take(delivery("6", "pull_request", &json!([1]))).await.code, 400);
        let mut draft = pull("opened", 'a');
        draft["pull_request"]["draft"] = json!(true);
        assert_eq!(receiver.take(delivery("7", "pull_request", &draft)).await.code, 200);
        assert!(receiver.queue.list(None, 10).unwrap().is_empty());
        assert_eq!(receiver.take(good.clone()).await.code, 202);
        assert_eq!(receiver.take(good).await, answer(409, "this delivery was taken before"));
        assert_eq!(receiver.queue.list(None, 10).unwrap().len(), 1);
    }

    #[test]
    fn a_receiver_needs_a_secret_and_a_repository() {
        let (_folder, receiver) = receiver();
        let queue = receiver.queue;
        let name = ["octo/demo".parse().unwrap()];
        let make = |secret: Option<&str>, names: &[RepoName]| {
            WebhookReceiver::new(queue.clone(), secret.map(Secret::new), names, true).err()
        };
        assert_eq!(make(None, &name), Some(WebhookSetupError::Secret));
        assert_eq!(make(Some("short"), &name), Some(WebhookSetupError::Secret));
        assert_eq!(make(Some(SECRET), &[]), Some(WebhookSetupError::NoRepository));
    }
}
