//! The settings that git runs under: ours, and from the user's own only how a network is reached. Main function: [`text`].

use std::path::Path;

use crate::domain::secret::Secret;
use crate::sys::cancel::Cancel;
use crate::sys::process::{Environment, ProcessCall, ProcessError, Program};

/// More settings of a user are not read, in bytes.
const MOST: usize = 1 << 20;

/// The user's git settings that are honored: proxies, trusted certificates, client certificates.
/// Not: other addresses, other headers, whom not to check, what to run.
const HONORED: &str = r"^http\.(.*\.)?(proxy|proxyauthmethod|sslbackend|sslversion|schannelcheckrevoke|schannelusesslcainfo|sslcainfo|sslcapath|sslcert|sslkey|proxysslcainfo)$";

/// The settings of every fetch.
///
/// Objects are not put through `fsckObjects`: well-known repositories have old commits that it refuses, nothing is checked out, and no part
/// of this program trusts an object to be well-formed. A redirect would lead the header to wherever the server says, so none is followed.
const OURS: &str = "\
[core]
\thooksPath = /dev/null
\tfsmonitor = false
\taskPass =
[credential]
\thelper =
[protocol]
\tallow = never
\tversion = 2
[submodule]
\trecurse = false
[fetch]
\trecurseSubmodules = false
\twriteCommitGraph = false
\tshowForcedUpdates = false
[transfer]
\tbundleURI = false
[maintenance]
\tauto = false
[gc]
\tauto = 0
[http]
\tfollowRedirects = false
\tlowSpeedLimit = 100
\tlowSpeedTime = 60
";

/// All settings for a fetch over `protocol` from `server`; to be kept in a file that nobody else can read.
pub(super) fn text(
    protocol: &str,
    server: &str,
    authorization: Option<&Secret>,
    network: &[(String, String)],
) -> String {
    let mut text = OURS.to_owned();
    text.push_str(&format!("[protocol {}]\n\tallow = always\n", quoted(protocol)));
    for (key, value) in network {
        if let Some((section, name)) = split(key) {
            text.push_str(&format!("[{section}]\n\t{name} = {}\n", quoted(value)));
        }
    }
    let server = format!("{}/", server.trim_end_matches('/'));
    if protocol == "http" {
        // This machine alone is spoken to without encryption; a proxy could read who we are.
        text.push_str(&format!("[http {}]\n\tproxy = \"\"\n", quoted(&server)));
    }
    if let Some(secret) = authorization {
        let header = quoted(&format!("Authorization: {}", secret.reveal()));
        text.push_str(&format!("[http {}]\n\textraHeader = {header}\n", quoted(&server)));
    }
    text
}

/// `http.<part>.<name>` as the head of a section and a name.
fn split(key: &str) -> Option<(String, &str)> {
    let (section, name) = key.rsplit_once('.')?;
    match section.split_once('.') {
        Some((section, part)) => Some((format!("{section} {}", quoted(part)), name)),
        None => Some((section.to_owned(), name)),
    }
}

/// A value as git reads it back.
pub(super) fn quoted(value: &str) -> String {
    let mut quoted = String::from("\"");
    for c in value.chars().filter(|c| *c != '\0') {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

/// Reads from the machine's and the user's settings how a network is reached. Nothing is run by that, and no repository is asked.
pub(super) fn network(
    git: &Program,
    environment: &Environment,
    folder: &Path,
    cancel: &Cancel,
) -> Result<Vec<(String, String)>, ProcessError> {
    let environment = environment.clone().with("GIT_DIR", folder).with("LC_ALL", "C");
    // `--path` replaces `~` by the user's home, which only the paths of certificates begin with.
    let arguments = ["config", "-z", "--path", "--get-regexp", HONORED].map(Into::into).to_vec();
    let call = ProcessCall { arguments, environment, directory: folder.to_owned(), most: MOST };
    // It fails where there is nothing to be found.
    let ended = git.run(&call, cancel)?;
    let text = String::from_utf8_lossy(&ended.output).into_owned();
    let pairs = text.split('\0').filter_map(|entry| entry.split_once('\n'));
    Ok(pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_cannot_leave_its_line() {
        let network = [("http.https://h/\"x\n.proxy".to_owned(), "a\"\\\n[core]\n\tfsmonitor = x".to_owned())];
        let text = text("https", "https://h", Some(&Secret::new("basic abc")), &network);
        assert!(!text.contains("\n[core]\n\tfsmonitor = x"), "{text}");
        assert!(text.ends_with("[http \"https://h/\"]\n\textraHeader = \"Authorization: basic abc\"\n"), "{text}");
        assert!(!super::text("https", "https://h", None, &[]).contains("extraHeader"));
    }

    #[test]
    fn what_is_not_encrypted_goes_through_no_proxy() {
        let network = [("http.proxy".to_owned(), "http://proxy.example".to_owned())];
        let text = |protocol, server| super::text(protocol, server, None, &network);
        assert!(text("http", "http://localhost:1").ends_with("[http \"http://localhost:1/\"]\n\tproxy = \"\"\n"));
        assert!(!text("https", "https://h").contains("proxy = \"\""));
    }
}
