//! Addresses of a provider: the base address as its official library reads it, and the address of a turn. Main functions: [`base`], [`endpoint`].

use super::wire_format::WireFormat;
use crate::domain::text::strip_line;
use crate::sys::http::{InvalidServerAddress, ServerAddress};

/// Default port of an Ollama server.
const OLLAMA_PORT: &str = "11434";

/// Text that is not the address of a provider.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{origin} is no address of a server: {why}")]
pub struct InvalidBaseAddress {
    /// The address as it was given, without credentials.
    origin: String,
    /// Description of the problem.
    why: String,
}

/// Reads the address of a provider.
///
/// The path that an official library would append may already be there: people paste addresses they tried with another tool.
pub(super) fn base(wire: WireFormat, text: &str) -> Result<ServerAddress, InvalidBaseAddress> {
    let text = text.trim().trim_matches(['"', '\'']).trim();
    let read = match wire {
        WireFormat::Ollama => ollama(text),
        WireFormat::Messages | WireFormat::Responses | WireFormat::Chat | WireFormat::Gemini => {
            ServerAddress::parse(text)
        }
    };
    let address = read.map_err(|InvalidServerAddress(why)| InvalidBaseAddress { origin: shown(text), why })?;
    let superfluous: &[&[&str]] = match wire {
        WireFormat::Messages => &[&["v1", "messages"], &["v1"]],
        WireFormat::Responses => &[&["responses"]],
        WireFormat::Chat => &[&["chat", "completions"]],
        WireFormat::Gemini => &[&["v1beta", "models"], &["v1beta"]],
        WireFormat::Ollama => &[&["api", "chat"], &["api"]],
    };
    let found = superfluous.iter().find(|parts| address.ends_with(parts));
    Ok(found.map_or(&[][..], |parts| *parts).iter().fold(address, |address, _| address.parent()))
}

/// Returns the address that turns are sent to, without the query.
pub(super) fn endpoint(wire: WireFormat, base: &ServerAddress, model: &str) -> ServerAddress {
    match wire {
        WireFormat::Messages => base.join(&["v1", "messages"]),
        WireFormat::Responses => base.join(&["responses"]),
        WireFormat::Chat => base.join(&["chat", "completions"]),
        WireFormat::Ollama => base.join(&["api", "chat"]),
        WireFormat::Gemini => {
            // A name may contain its collection: `tunedModels/…`.
            let (collection, name) = model.split_once('/').unwrap_or(("models", model));
            base.join(&["v1beta", collection, &format!("{name}:streamGenerateContent")])
        }
    }
}

/// Parses `OLLAMA_HOST` as Ollama's own client does: a host, a port, both, or a URL. The default port is that of the scheme, or 11434 without one; an
/// address that means "every interface" is where a server listens, so a client uses its own machine.
fn ollama(text: &str) -> Result<ServerAddress, InvalidServerAddress> {
    let (scheme, rest) = text.split_once("://").map_or((None, text), |(scheme, rest)| (Some(scheme), rest));
    let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let (user, host) = host.rsplit_once('@').map_or((String::new(), host), |(user, host)| (format!("{user}@"), host));
    let bare_v6 = host.matches(':').count() > 1 && !host.starts_with('[');
    let host = if bare_v6 { format!("[{host}]") } else { host.to_owned() };
    let host = if host.is_empty() || host.starts_with(':') { format!("127.0.0.1{host}") } else { host };
    let has_port = host.rsplit_once(':').is_some_and(|(before, port)| {
        !before.is_empty() && !port.contains(']') && port.bytes().all(|byte| byte.is_ascii_digit())
    });
    let address = match scheme {
        Some(scheme) => ServerAddress::parse(&format!("{scheme}://{user}{host}{path}"))?,
        None if has_port => ServerAddress::parse(&format!("http://{user}{host}{path}"))?,
        None => ServerAddress::parse(&format!("http://{user}{}:{OLLAMA_PORT}{path}", host.trim_end_matches(':')))?,
    };
    Ok(match address.host() {
        "0.0.0.0" => address.at_host("127.0.0.1"),
        "[::]" => address.at_host("[::1]"),
        _ => address,
    })
}

/// Returns the given text without anything that could be a credential.
fn shown(text: &str) -> String {
    let (scheme, rest) = text.split_once("://").map_or(("", text), |(scheme, rest)| (scheme, rest));
    let rest = rest.split(['?', '#']).next().unwrap_or_default();
    let rest = rest.rsplit_once('@').map_or(rest, |(_, host)| host);
    let whole = if scheme.is_empty() { rest.to_owned() } else { format!("{scheme}://{rest}") };
    let line: String = strip_line(&whole).chars().take(200).collect();
    if line.is_empty() { "an empty text".to_owned() } else { line }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(wire: WireFormat, text: &str, model: &str) -> String {
        endpoint(wire, &base(wire, text).unwrap(), model).reveal().to_owned()
    }

    #[test]
    fn addresses_are_read_as_the_official_libraries_do() {
        for (wire, text, end) in [
            (WireFormat::Messages, "https://api.anthropic.com", "https://api.anthropic.com/v1/messages"),
            (WireFormat::Messages, "https://api.anthropic.com/", "https://api.anthropic.com/v1/messages"),
            (WireFormat::Messages, "https://api.anthropic.com/v1", "https://api.anthropic.com/v1/messages"),
            (WireFormat::Messages, "https://gate.example/anthropic/", "https://gate.example/anthropic/v1/messages"),
            (WireFormat::Responses, "https://api.openai.com/v1", "https://api.openai.com/v1/responses"),
            (WireFormat::Responses, "https://api.openai.com/v1/", "https://api.openai.com/v1/responses"),
            (WireFormat::Chat, "http://localhost:8080/v1", "http://localhost:8080/v1/chat/completions"),
            (WireFormat::Chat, "http://localhost:8080", "http://localhost:8080/chat/completions"),
            (
                WireFormat::Chat,
                "http://localhost:8080/v1/chat/completions",
                "http://localhost:8080/v1/chat/completions",
            ),
            (
                WireFormat::Gemini,
                "https://generativelanguage.googleapis.com",
                "https://generativelanguage.googleapis.com/v1beta/models/m:streamGenerateContent",
            ),
            (
                WireFormat::Gemini,
                "https://g.example/v1beta/",
                "https://g.example/v1beta/models/m:streamGenerateContent",
            ),
            (WireFormat::Ollama, "http://127.0.0.1:11434", "http://127.0.0.1:11434/api/chat"),
        ] {
            assert_eq!(at(wire, text, "m"), end, "{text}");
        }
    }

    #[test]
    fn a_model_of_another_collection_keeps_its_name() {
        assert_eq!(
            at(WireFormat::Gemini, "https://g.example", "tunedModels/my one"),
            "https://g.example/v1beta/tunedModels/my%20one:streamGenerateContent"
        );
    }

    #[test]
    fn the_host_of_ollama_is_read_in_every_form() {
        for (text, base) in [
            ("host", "http://host:11434"),
            ("host:1234", "http://host:1234"),
            (":1234", "http://127.0.0.1:1234"),
            ("", "http://127.0.0.1:11434"),
            ("http://host", "http://host"),
            ("https://host", "https://host"),
            ("https://host:8443/ollama/", "https://host:8443/ollama"),
            ("0.0.0.0", "http://127.0.0.1:11434"),
            ("http://0.0.0.0:11434", "http://127.0.0.1:11434"),
            ("::1", "http://[::1]:11434"),
            ("[::]:80", "http://[::1]"),
            ("host/", "http://host:11434"),
            ("host:1234/api", "http://host:1234"),
            ("\"host\"", "http://host:11434"),
            ("me:secret@host", "http://host:11434"),
        ] {
            assert_eq!(super::base(WireFormat::Ollama, text).unwrap().to_string(), base, "{text:?}");
        }
    }

    #[test]
    fn a_refused_address_is_named_without_its_credentials() {
        let error = base(WireFormat::Chat, "ftp://user:hunter2@host/?key=hunter2").unwrap_err();
        let message = error.to_string();
        assert!(message.contains("ftp://host/"), "{message}");
        assert!(!message.contains("hunter2"), "{message}");
        assert!(base(WireFormat::Ollama, "ftp://host").is_err());
    }
}
