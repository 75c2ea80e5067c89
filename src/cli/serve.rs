//! `review serve`: takes the deliveries of GitHub's webhooks, and adds their pull requests to a queue.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use tokio_util::sync::CancellationToken;

use super::console::Console;
use super::queue::QueueAddressArgs;
use super::worker::local;
use crate::app::{self, AppError, Cancel, ProcessEnv, QueueHandle, WebhookReceiver};
use crate::domain::event::NullEventSink;
use crate::domain::forge::RepoName;
use crate::domain::secret::Secret;
use crate::web;

/// Time limit for answers in flight after an interrupt.
const GRACE: Duration = Duration::from_secs(12);
/// The variable with the secret of the webhook.
const SECRET: &str = "REVIEW_WEBHOOK_SECRET";

const EXAMPLES: &str = "\
Examples:
  REVIEW_WEBHOOK_SECRET=… review serve --repository octo/demo
  review serve --listen 0.0.0.0:8787 --repository octo/demo --secret-file /run/secrets/webhook
  review worker --repos /srv/git          reviews what arrives, and posts it

On GitHub, the webhook's address ends with /webhook, its content type is application/json,
and it sends the events of pull requests. TLS is for a proxy in front of this server.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct ServeArgs {
    #[command(flatten)]
    queue: QueueAddressArgs,
    /// Listen at this address
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:8787")]
    listen: SocketAddr,
    /// A repository whose pull requests are reviewed (OWNER/NAME); repeatable
    #[arg(long, value_name = "OWNER/NAME", value_parser = |text: &str| text.parse::<RepoName>().map_err(|error| error.to_string()))]
    repository: Vec<RepoName>,
    /// Read the webhook's secret from this file (or from `REVIEW_WEBHOOK_SECRET`)
    #[arg(long, value_name = "FILE")]
    secret_file: Option<PathBuf>,
    /// Do not post the reviews
    #[arg(long)]
    no_post: bool,
}

pub(super) fn run(args: &ServeArgs, console: &Console) -> Result<ExitCode, AppError> {
    let around = ProcessEnv::of_this_process()?;
    let secret = match &args.secret_file {
        Some(path) => Some(app::secret_file(path)?),
        None => around.environment.iter().find(|(name, _)| name == SECRET).map(|(_, value)| Secret::new(value.trim())),
    };
    let queue = QueueHandle::open(&args.queue.resolve(&around))?;
    let receiver = Arc::new(WebhookReceiver::new(queue, secret, &args.repository, !args.no_post)?);
    let cancel = Cancel::never();
    let say = |line: String| console.print_to_stderr(&format!("review: {line}"));
    let work = async {
        let listener = web::listen(args.listen).await.map_err(|error| AppError::Serve(error.to_string()))?;
        say(format!("taking deliveries at http://{}/webhook", local(&listener, args.listen)));
        let stop = CancellationToken::new();
        let server = tokio::spawn(web::serve_webhook(listener, receiver, stop.clone()));
        cancel.until_stopped().await;
        stop.cancel();
        let _ = server.await;
        Ok(ExitCode::SUCCESS)
    };
    app::run_command(&cancel, &NullEventSink, GRACE, work)
}
