//! Advice for failures of a model's provider. Main function: [`of_fault`].

use crate::llm::TurnFault;

/// The location of a model's key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum KeyAt {
    /// The source.
    From(String),
    /// No key was sent; its possible locations.
    Missing(String),
}

/// Advises on a fault; its own message says what happened.
pub(super) fn of_fault(fault: &TurnFault, key: &KeyAt, is_own_server: bool) -> String {
    match (fault, key) {
        (TurnFault::Status { status: 401 | 403, .. }, KeyAt::Missing(by)) => format!("no key was sent: set {by}"),
        (_, KeyAt::Missing(_)) => of_other(fault, "not set", is_own_server),
        (TurnFault::Status { status: 401, .. }, KeyAt::From(key)) => {
            format!("the key is {key}: make a new one at the provider, or see whether it is one for this address")
        }
        (_, KeyAt::From(key)) => of_other(fault, key, is_own_server),
    }
}

fn of_other(fault: &TurnFault, key: &str, is_own_server: bool) -> String {
    match fault {
        TurnFault::Status { status: 402, .. } => "look at the provider's page for what is left to spend".to_owned(),
        TurnFault::Status { status: 403, .. } => {
            format!("the key is {key}: let its owner allow it this model, or name another with --model")
        }
        TurnFault::Status { status: 404, .. } if is_own_server => {
            "see which models that server has (Ollama: `ollama list`), and whether the address ends as it should (often in /v1)".to_owned()
        }
        TurnFault::Status { status: 404, .. } => {
            "look at the provider's list of models, and whether the address ends as it should (often in /v1)".to_owned()
        }
        TurnFault::Status { status: 429, retry_after, .. } => match retry_after {
            Some(wait) => format!("wait {} s, as it asks, and try again; or name another model", wait.as_secs().max(1)),
            None => "wait a while, or look at what the account may still spend; or name another model".to_owned(),
        },
        TurnFault::Status { status: 300..=399, .. } => "set the address to where the server is".to_owned(),
        TurnFault::Status { status: 500..=599, .. } => {
            "try again later, or name another model: the fault is with the provider".to_owned()
        }
        TurnFault::Status { .. } => "see what the message says of the request; another model may take it".to_owned(),
        TurnFault::Unreachable { .. } if is_own_server => {
            "start that server, or set the address to where it listens".to_owned()
        }
        TurnFault::Unreachable { .. } => {
            "see whether this machine reaches the network (HTTPS_PROXY, a company's certificate) and whether the address is right"
                .to_owned()
        }
        TurnFault::TooLong { .. } => {
            "a few words are too long for it: see with how large a window the server was started".to_owned()
        }
        TurnFault::Paced { .. } => {
            "wait as long, give it more time with --timeout, or allow more a minute in the settings of the provider".to_owned()
        }
        TurnFault::BrokenOff { .. } => {
            "see whether the server streams its answers, and whether a proxy in between cuts them off".to_owned()
        }
        TurnFault::Silent { .. } => {
            "give it more time with --timeout: a model that is loaded first may need minutes; else see what the server does".to_owned()
        }
        TurnFault::Ended { .. } => "run that program in a terminal, and log in there if it asks for it".to_owned(),
        TurnFault::Unreadable { .. } => {
            "see whether the word before the slash of --model fits the server: most speak as openai-chat does".to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_key_that_was_never_sent_is_to_be_set_and_not_renewed() {
        let fault = TurnFault::Status { provider: "p".into(), status: 401, message: String::new(), retry_after: None };
        let told = of_fault(&fault, &KeyAt::Missing("P_KEY or p.api_key".to_owned()), true);
        assert_eq!(told, "no key was sent: set P_KEY or p.api_key");
    }

    #[test]
    fn advice_follows_the_status() {
        let told = |status, retry_after| {
            let fault = TurnFault::Status { provider: "p".into(), status, message: String::new(), retry_after };
            of_fault(&fault, &KeyAt::From("from P_KEY".to_owned()), false)
        };
        assert!(told(401, None).contains("from P_KEY"));
        assert!(told(404, None).contains("list of models"));
        assert!(told(429, Some(Duration::from_millis(200))).starts_with("wait 1 s"));
        assert!(told(503, None).contains("later"));
        let gone = TurnFault::Unreachable { provider: "p".into(), message: String::new() };
        let none = KeyAt::Missing("P_KEY".to_owned());
        assert!(of_fault(&gone, &none, true).contains("start that server"));
        assert!(!of_fault(&gone, &none, false).contains("start that server"));
    }
}
