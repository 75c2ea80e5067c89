//! The forge connection: server and credentials. Main type: [`ForgeEnvironment`].
//!
//! Tokens and addresses come from the environment of the process alone, in the variables that GitHub's own programs read. A repository can
//! set neither.

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::secret_file::secret_file;
use crate::config;
use crate::domain::secret::Secret;
use crate::forge::{FaultKind, ForgeError, GitHub, GitHubOptions, Login};
use crate::sys::cancel::Cancel;
use crate::sys::http::ServerAddress;
use crate::sys::process::{Environment, ProcessCall, Program};

/// Variables that hold a token, in order of precedence.
const TOKENS: [&str; 3] = ["GITHUB_TOKEN", "GH_TOKEN", "GITHUB_PERSONAL_ACCESS_TOKEN"];
const APP_ID: &str = "GITHUB_APP_ID";
const APP_KEY: &str = "GITHUB_APP_PRIVATE_KEY";
const APP_KEY_FILE: &str = "GITHUB_APP_PRIVATE_KEY_FILE";
const APP_INSTALLATION: &str = "GITHUB_APP_INSTALLATION_ID";
const API: &str = "GITHUB_API_URL";
const GRAPHQL: &str = "GITHUB_GRAPHQL_URL";
const SERVER: &str = "GITHUB_SERVER_URL";
const OTHERS: [&str; 7] = [APP_ID, APP_KEY, APP_KEY_FILE, APP_INSTALLATION, API, GRAPHQL, SERVER];

/// Time limit for `gh` to print its token: it may have to ask the system's password store.
const GH: Duration = Duration::from_secs(10);
/// Limit in bytes on a token.
const LONGEST_TOKEN: usize = 64 << 10;

/// The variables for the GitHub server and its credentials, as of the start of the process. `Debug` shows only their names.
#[derive(Clone, Default)]
pub struct ForgeEnvironment {
    variables: Vec<(&'static str, Secret)>,
    /// `true` if `gh` may be called for its token.
    gh: bool,
    /// The environment of child processes; without one, no program is found.
    programs: Environment,
    /// The folder for mirrors.
    mirrors: Option<PathBuf>,
}

impl fmt::Debug for ForgeEnvironment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.variables.iter().map(|(name, _)| name)).finish()
    }
}

/// The three addresses of a GitHub server.
struct ServerAddresses {
    api: ServerAddress,
    graphql: ServerAddress,
    server: ServerAddress,
}

impl ForgeEnvironment {
    /// Reads the variables of this process. Bytes that are not UTF-8 become U+FFFD, so that a token with them is refused.
    pub(in crate::app) fn of_this_process() -> Self {
        let read = |name: &str| std::env::var_os(name).map(|value| value.to_string_lossy().into_owned());
        Self { gh: true, programs: Environment::of_this_process(), mirrors: config::mirrors_folder(), ..Self::of(read) }
    }

    /// Reads each variable through `read`; an empty value counts as unset. No other program is started.
    pub fn of(read: impl Fn(&str) -> Option<String>) -> Self {
        let names = TOKENS.into_iter().chain(OTHERS);
        let found = names.filter_map(|name| {
            let value = Secret::new(read(name)?).trimmed();
            (!value.reveal().is_empty()).then_some((name, value))
        });
        Self { variables: found.collect(), ..Self::default() }
    }

    /// Allows `git` to be started with this environment; mirrors are stored in `mirrors`.
    #[must_use]
    pub fn with_git(self, programs: Environment, mirrors: PathBuf) -> Self {
        Self { programs, mirrors: Some(mirrors), ..self }
    }

    /// The part of this process's environment that child processes may see.
    pub(in crate::app) fn programs(&self) -> &Environment {
        &self.programs
    }

    /// The folder for repository mirrors: in the user's cache, or beside the runs in `state` if there is no cache.
    pub(in crate::app) fn mirrors(&self, state: &Path) -> PathBuf {
        self.mirrors.clone().unwrap_or_else(|| state.join("mirrors"))
    }

    /// The secrets among the variables: no outgoing text may contain them.
    pub fn secrets(&self) -> Vec<Secret> {
        let is_secret = |name: &str| TOKENS.contains(&name) || name == APP_KEY;
        self.variables.iter().filter(|(name, _)| is_secret(name)).map(|(_, value)| value.clone()).collect()
    }

    /// Creates a client without a request to the forge; `gh` may be called for its token, so this may block briefly.
    pub fn client(&self, cancel: &Cancel) -> Result<GitHub, ForgeError> {
        Ok(self.client_and_origin(cancel)?.0)
    }

    /// Creates a client; also returns the variable or program that supplied the credentials, `None` without credentials.
    pub(in crate::app) fn client_and_origin(
        &self,
        cancel: &Cancel,
    ) -> Result<(GitHub, Option<&'static str>), ForgeError> {
        let ServerAddresses { api, graphql, server } = self.addresses()?;
        let (login, origin) = self.login(&server, cancel)?;
        let (cancel, first_wait) = (cancel.clone(), GitHubOptions::FIRST_WAIT);
        let github = GitHub::new(GitHubOptions { api, graphql, server, login, cancel, first_wait })?;
        Ok(if origin.is_empty() { (github, None) } else { (github.login_source(origin), Some(origin)) })
    }

    /// The address of the forge's pages, without a request.
    pub fn server(&self) -> Result<ServerAddress, ForgeError> {
        Ok(self.addresses()?.server)
    }

    fn get(&self, name: &str) -> Option<&Secret> {
        self.variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    fn addresses(&self) -> Result<ServerAddresses, ForgeError> {
        let given = |name: &'static str| self.get(name).map(|text| address(name, text.reveal())).transpose();
        let (api, graphql, server) = (given(API)?, given(GRAPHQL)?, given(SERVER)?);
        // The server's address alone implies its API addresses: those of an Enterprise server are below it.
        let api = match (api, &server) {
            (Some(api), _) => api,
            (None, Some(server)) if is_tenant(server) => server.at_host(&format!("api.{}", server.host())),
            (None, Some(server)) if !is_public(server) => server.join(&["api", "v3"]),
            (None, _) => address(API, "https://api.github.com")?,
        };
        let graphql = graphql.unwrap_or_else(|| {
            if api.ends_with(&["api", "v3"]) { api.parent().join(&["graphql"]) } else { api.join(&["graphql"]) }
        });
        let server = server.unwrap_or_else(|| {
            if api.ends_with(&["api", "v3"]) {
                return api.parent().parent();
            }
            // `api.github.com`, and `api.NAME.ghe.com`.
            api.host().strip_prefix("api.").map_or_else(|| api.clone(), |host| api.at_host(host))
        });
        Ok(ServerAddresses { api, graphql, server })
    }

    /// Determines the credentials, and the variable or program that supplied them.
    fn login(&self, server: &ServerAddress, cancel: &Cancel) -> Result<(Login, &'static str), ForgeError> {
        if let Some((name, token)) = TOKENS.into_iter().find_map(|name| Some((name, self.get(name)?))) {
            return Ok((Login::Token(token.clone()), name));
        }
        if let Some(app) = self.app()? {
            return Ok((app, APP_ID));
        }
        match self.token_of_gh(server, cancel)? {
            Some(token) => Ok((Login::Token(token), "`gh auth login`")),
            None => Ok((Login::None, "")),
        }
    }

    fn app(&self) -> Result<Option<Login>, ForgeError> {
        let Some(id) = self.get(APP_ID) else { return Ok(None) };
        let number = |name: &str, text: &Secret| {
            let wrong = || unusable(name, "it is no number", "take it from the App's settings on GitHub");
            text.reveal().parse::<u64>().map_err(|_| wrong())
        };
        let key = match (self.get(APP_KEY), self.get(APP_KEY_FILE)) {
            (Some(key), _) => key.clone(),
            (None, Some(file)) => {
                let read = secret_file(&PathBuf::from(file.reveal()));
                read.map_err(|error| {
                    unusable(APP_KEY_FILE, &error.to_string(), "name the file with the App's private key")
                })?
            }
            (None, None) => {
                let action = format!("set {APP_KEY} or {APP_KEY_FILE} too");
                return Err(unusable(APP_ID, "there is no private key for it", &action));
            }
        };
        let installation = self.get(APP_INSTALLATION).map(|text| number(APP_INSTALLATION, text)).transpose()?;
        Ok(Some(Login::App { id: number(APP_ID, id)?, key, installation }))
    }

    /// Asks `gh` for its token for a host; `None` if it is not installed or has none.
    fn token_of_gh(&self, server: &ServerAddress, cancel: &Cancel) -> Result<Option<Secret>, ForgeError> {
        if !self.gh {
            return Ok(None);
        }
        let environment = &self.programs;
        let Ok(gh) = Program::find("gh", environment) else { return Ok(None) };
        let arguments = ["auth", "token", "--hostname", server.host()].map(OsString::from).to_vec();
        let folder = gh.path().parent().unwrap_or(Path::new("/")).to_owned();
        let call = ProcessCall { arguments, environment: environment.clone(), directory: folder, most: LONGEST_TOKEN };
        let ended = gh.run(&call, &cancel.with_deadline(GH));
        cancel.check()?;
        let Ok(ended) = ended else { return Ok(None) };
        let token = Secret::new(String::from_utf8_lossy(&ended.output).into_owned()).trimmed();
        Ok((ended.success && !token.reveal().is_empty()).then_some(token))
    }
}

fn is_public(server: &ServerAddress) -> bool {
    server.host().eq_ignore_ascii_case("github.com")
}

/// Checks whether the server is a tenant of GitHub's cloud, whose APIs are addressed like the public ones.
fn is_tenant(server: &ServerAddress) -> bool {
    server.host().to_ascii_lowercase().ends_with(".ghe.com")
}

fn address(name: &str, text: &str) -> Result<ServerAddress, ForgeError> {
    ServerAddress::parse(text).map_err(|why| {
        let action = "set it to an address such as https://api.github.com";
        ForgeError { kind: FaultKind::Refused, ..unusable(name, &why.to_string(), action) }
    })
}

fn unusable(name: &str, why: &str, action: &str) -> ForgeError {
    ForgeError::new(FaultKind::Auth, format!("{name} cannot be used: {why}"), action)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(variables: &[(&str, &str)]) -> ForgeEnvironment {
        ForgeEnvironment::of(|name| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        })
    }

    fn login(environment: &ForgeEnvironment) -> Result<(Login, &'static str), ForgeError> {
        environment.login(&ServerAddress::parse("https://github.com").unwrap(), &Cancel::never())
    }

    #[test]
    fn addresses_follow_from_each_other() {
        for (variables, expected) in [
            (vec![], ["https://api.github.com", "https://api.github.com/graphql", "https://github.com"]),
            (
                vec![(API, "https://api.github.com/"), (SERVER, "https://github.com")],
                ["https://api.github.com", "https://api.github.com/graphql", "https://github.com"],
            ),
            (
                vec![(API, "https://git.example/api/v3/")],
                ["https://git.example/api/v3", "https://git.example/api/graphql", "https://git.example"],
            ),
            (
                vec![(SERVER, "https://git.example")],
                ["https://git.example/api/v3", "https://git.example/api/graphql", "https://git.example"],
            ),
            (
                vec![(SERVER, "https://acme.ghe.com")],
                ["https://api.acme.ghe.com", "https://api.acme.ghe.com/graphql", "https://acme.ghe.com"],
            ),
            (
                vec![(API, "https://api.acme.ghe.com")],
                ["https://api.acme.ghe.com", "https://api.acme.ghe.com/graphql", "https://acme.ghe.com"],
            ),
            (
                vec![(API, "http://127.0.0.1:8080")],
                ["http://127.0.0.1:8080", "http://127.0.0.1:8080/graphql", "http://127.0.0.1:8080"],
            ),
            (
                vec![(API, "http://localhost:1"), (GRAPHQL, "http://localhost:2/q"), (SERVER, "http://localhost:3")],
                ["http://localhost:1", "http://localhost:2/q", "http://localhost:3"],
            ),
        ] {
            let found = of(&variables).addresses().unwrap();
            assert_eq!([found.api, found.graphql, found.server].map(|address| address.to_string()), expected);
        }
        let error = of(&[(API, "ftp://x")]).client(&Cancel::never()).unwrap_err();
        assert!(error.message.starts_with(API), "{error}");
    }

    #[test]
    fn the_first_token_counts() {
        let all = [("GH_TOKEN", "two"), ("GITHUB_PERSONAL_ACCESS_TOKEN", "three"), ("GITHUB_TOKEN", " ")];
        let environment = of(&all);
        let (login, origin) = login(&environment).unwrap();
        assert_eq!(origin, "GH_TOKEN");
        assert!(matches!(login, Login::Token(token) if token.reveal() == "two"));
        assert_eq!(environment.secrets().len(), 2);
        assert_eq!(format!("{environment:?}"), r#"["GH_TOKEN", "GITHUB_PERSONAL_ACCESS_TOKEN"]"#);
    }

    #[test]
    fn an_app_needs_its_key() {
        let app = [(APP_ID, "12"), (APP_KEY, "pem"), (APP_INSTALLATION, "34")];
        let (login_of_app, origin) = login(&of(&app)).unwrap();
        assert_eq!(origin, APP_ID);
        assert!(matches!(login_of_app, Login::App { id: 12, installation: Some(34), .. }));

        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("key.pem");
        std::fs::write(&file, "pem of a file\n").unwrap();
        let (login_of_file, _) = login(&of(&[(APP_ID, "12"), (APP_KEY_FILE, file.to_str().unwrap())])).unwrap();
        assert!(matches!(login_of_file, Login::App { key, .. } if key.reveal() == "pem of a file"));

        for wrong in [
            vec![(APP_ID, "12")],
            vec![(APP_ID, "x"), (APP_KEY, "pem")],
            vec![(APP_ID, "12"), (APP_KEY, "pem"), (APP_INSTALLATION, "-1")],
            vec![(APP_ID, "12"), (APP_KEY_FILE, "/nowhere/at/all")],
        ] {
            assert_eq!(login(&of(&wrong)).unwrap_err().kind, FaultKind::Auth, "{wrong:?}");
        }
    }

    #[test]
    fn without_any_we_are_nobody() {
        assert!(matches!(login(&of(&[])).unwrap(), (Login::None, "")));
        assert!(of(&[]).client(&Cancel::never()).is_ok());
    }

    #[cfg(unix)]
    mod gh {
        use super::*;
        use std::os::unix::fs::PermissionsExt as _;

        /// A program of that name, which runs `script`.
        fn with_gh(script: &str) -> (tempfile::TempDir, ForgeEnvironment) {
            let folder = tempfile::tempdir().unwrap();
            let program = folder.path().join("gh");
            std::fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
            std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
            let environment = Environment::default().with("PATH", folder.path().as_os_str());
            let environment = ForgeEnvironment { gh: true, programs: environment, ..ForgeEnvironment::default() };
            (folder, environment)
        }

        #[test]
        fn is_asked_for_the_token_of_the_host() {
            let (_folder, environment) = with_gh(r#"echo "$1-$2-$3-$4""#);
            let (login, origin) = login(&environment).unwrap();
            assert_eq!(origin, "`gh auth login`");
            assert!(matches!(login, Login::Token(token) if token.reveal() == "auth-token---hostname-github.com"));
        }

        #[test]
        fn is_not_asked_where_a_token_is_set() {
            let (_folder, mut environment) = with_gh("echo other");
            environment.variables = of(&[("GITHUB_TOKEN", "own")]).variables;
            assert!(matches!(login(&environment).unwrap().0, Login::Token(token) if token.reveal() == "own"));
        }

        #[test]
        fn that_knows_no_token_is_ignored() {
            for script in ["echo 'no oauth token' >&2; exit 1", "true"] {
                let (_folder, environment) = with_gh(script);
                assert!(matches!(login(&environment).unwrap().0, Login::None), "{script}");
            }
        }
    }
}
