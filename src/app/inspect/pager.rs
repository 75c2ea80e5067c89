//! The user's pager for reports that are longer than the screen: chosen as git does, but never by a repository. Main type: [`Pager`].

use std::ffi::{OsStr, OsString};
use std::time::Duration;

use crate::sys::cancel::Cancel;
use crate::sys::process::{Environment, ProcessCall, Program, show_in_pager};

/// The pager of a user who has not chosen one.
const DEFAULT: &str = "less";
/// Limits on reading a setting of git's.
const PATIENCE: Duration = Duration::from_secs(2);
const LONGEST: usize = 4_096;

/// The variables that a pager may need beyond those that every child gets.
const KEPT: [&str; 9] = ["COLORTERM", "LANG", "LC_ALL", "LC_CTYPE", "LESS", "LESSCHARSET", "LINES", "LV", "TERM"];

/// A command that shows text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pager {
    command: OsString,
    environment: Environment,
}

impl Pager {
    /// Chooses the pager of the user: `REVIEW_PAGER`, `GIT_PAGER`, `core.pager` of the user's or the machine's git settings, `PAGER`, `less`.
    /// `None` if the first of them is empty or `cat`. The settings of a repository are not read: a reviewed one could run anything.
    pub fn of_user() -> Option<Self> {
        let mut environment = Environment::of_this_process();
        for name in KEPT {
            if let Some(value) = std::env::var_os(name) {
                environment = environment.with(name, value);
            }
        }
        // As git sets them: leave at once if all fits, show colors, and leave the text on the screen. A report is always UTF-8.
        for (name, value) in [("LESS", "FRX"), ("LV", "-c"), ("LESSCHARSET", "utf-8")] {
            if environment.get(name).is_none() {
                environment = environment.with(name, value);
            }
        }
        let command = choose(|name| std::env::var_os(name), || git_setting(&environment))?;
        Some(Self { command, environment })
    }

    /// Shows text and waits until the user leaves it; `false` if the pager could not be run.
    pub fn show(&self, text: &[u8]) -> bool {
        show_in_pager(&self.command, text, &self.environment).unwrap_or(false)
    }
}

fn choose(variable: impl Fn(&str) -> Option<OsString>, setting: impl Fn() -> Option<OsString>) -> Option<OsString> {
    let own = || variable("REVIEW_PAGER").or_else(|| variable("GIT_PAGER"));
    let chosen = own().or_else(setting).or_else(|| variable("PAGER")).unwrap_or_else(|| DEFAULT.into());
    (!chosen.is_empty() && chosen != OsStr::new("cat")).then_some(chosen)
}

/// Reads `core.pager` from the settings of the user, then of the machine. Git gets no repository to look at.
fn git_setting(environment: &Environment) -> Option<OsString> {
    let git = Program::find("git", environment).ok()?;
    let mut environment = environment.clone().with("GIT_DIR", git.path().parent()?).with("LC_ALL", "C");
    for name in ["GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM"] {
        if let Some(value) = std::env::var_os(name) {
            environment = environment.with(name, value);
        }
    }
    let read = |level: &str| {
        let arguments = ["config", level, "--get", "core.pager"].map(OsString::from).to_vec();
        let directory = git.path().parent()?.to_owned();
        let call = ProcessCall { arguments, environment: environment.clone(), directory, most: LONGEST };
        let ended = git.run(&call, &Cancel::never().with_deadline(PATIENCE)).ok()?;
        let text = String::from_utf8(ended.output).ok().filter(|_| ended.success)?;
        Some(OsString::from(text.trim_end_matches('\n')))
    };
    read("--global").or_else(|| read("--system"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(variables: &[(&str, &str)], setting: Option<&str>) -> Option<String> {
        let variable = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| OsString::from(value))
        };
        choose(variable, || setting.map(OsString::from)).map(|command| command.into_string().unwrap())
    }

    #[test]
    fn the_pager_is_chosen_as_git_does() {
        let all = [("PAGER", "most"), ("GIT_PAGER", "delta"), ("REVIEW_PAGER", "less -S")];
        assert_eq!(chosen(&all, Some("bat")).as_deref(), Some("less -S"));
        assert_eq!(chosen(&all[..2], Some("bat")).as_deref(), Some("delta"));
        assert_eq!(chosen(&all[..1], Some("bat")).as_deref(), Some("bat"));
        assert_eq!(chosen(&all[..1], None).as_deref(), Some("most"));
        assert_eq!(chosen(&[], None).as_deref(), Some("less"));
        assert_eq!(chosen(&[("GIT_PAGER", "")], Some("bat")), None, "an empty one means none");
        assert_eq!(chosen(&[("PAGER", "cat")], None), None);
    }
}
