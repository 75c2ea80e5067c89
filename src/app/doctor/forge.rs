//! Checks the forge: its token and login. Main functions: [`find`], [`check`].

use crate::app::context::forge::ForgeEnvironment;
use crate::domain::doctor::{CheckArea, CheckState, DoctorCheck, FaultParty};
use crate::domain::text::strip_line;
use crate::forge::{FaultKind, ForgeError, GitHub};
use crate::sys::cancel::Cancel;

/// A client and the source of its token, `None` without one.
pub(super) type FoundForge = Result<(GitHub, Option<&'static str>), ForgeError>;

/// Looks for a token; `gh` may be called for it.
pub(super) fn find(cancel: &Cancel) -> FoundForge {
    ForgeEnvironment::of_this_process().client_and_origin(cancel)
}

fn new_check(name: &'static str, state: CheckState, found: impl Into<String>) -> DoctorCheck {
    DoctorCheck::new(CheckArea::Forge, name, state, found)
}

/// Reports the source of the token, and requests its login from the forge.
pub(super) async fn check(found: FoundForge, offline: bool, cancel: &Cancel) -> Vec<DoctorCheck> {
    let (client, origin) = match found {
        Ok(found) => found,
        Err(error) => return vec![wrong("token", &error)],
    };
    let Some(origin) = origin else {
        let found = "there is no token: public pull requests can be read, nothing can be posted";
        let advice = "to review private ones and to post, set GITHUB_TOKEN, or sign in with `gh auth login`";
        return vec![new_check("token", CheckState::Skipped, found).with_advice(advice)];
    };
    let host = client.server().host().to_owned();
    let token = new_check("token", CheckState::Fine, format!("the token for {host} is from {origin}"));
    if offline {
        return vec![token, new_check("account", CheckState::Skipped, "not asked: --offline")];
    }
    let account = match client.within(cancel).viewer().await {
        Ok(actor) => {
            let kind = if actor.is_bot { ", an App" } else { "" };
            new_check(
                "account",
                CheckState::Fine,
                format!("{host} knows the token as {}{kind}", strip_line(&actor.login)),
            )
        }
        // A workflow's token may have no user, so it cannot report a login.
        Err(error) if error.kind == FaultKind::Permission => {
            let found = format!("{host} takes the token, but does not say whose it is, as with the token of a job");
            new_check("account", CheckState::Fine, found)
        }
        Err(error) => wrong("account", &error),
    };
    vec![token, account]
}

/// Only reviews of pull requests need the forge.
fn wrong(name: &'static str, error: &ForgeError) -> DoctorCheck {
    let state = match error.kind {
        // A configured token that is unusable.
        FaultKind::Auth | FaultKind::Permission | FaultKind::NotFound | FaultKind::Parse | FaultKind::Refused => {
            CheckState::Failed(FaultParty::Setup)
        }
        FaultKind::RateLimit | FaultKind::Network | FaultKind::CircuitOpen | FaultKind::Stopped => CheckState::Warning,
    };
    new_check(name, state, strip_line(&error.message)).with_advice(error.action.clone())
}
