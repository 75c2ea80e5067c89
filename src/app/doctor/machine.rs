//! Checks this machine: the folder for runs, the terminal, the clock. Main function: [`check`].

use std::time::Duration;

use super::DoctorAsk;
use super::git::OpenedRepository;
use crate::app::context::environment::find_store;
use crate::config;
use crate::domain::doctor::{CheckArea, CheckState, DoctorCheck, FaultParty};
use crate::domain::text::BuildLogs;
use crate::store::StoreLocation;
use crate::sys::clock;
use crate::sys::database::DatabaseAddress;
use crate::sys::files;
use crate::sys::repo::Repo;

/// The name of a file written and removed as a trial.
const TRIAL: &str = "doctor.tmp";
/// Tolerance for commits in the future: clocks of machines differ.
const TOLERANCE: Duration = Duration::from_hours(24);
/// The release date of this version, as a lower bound for the clock.
const NOT_BEFORE: &str = "2026-11-01T00:00:00Z";

/// The terminal that this process writes to.
#[derive(Debug, Clone, Copy)]
pub struct TerminalInfo {
    /// `true` if standard output is a terminal.
    pub is_one: bool,
    /// The width for text layout, in columns.
    pub width: usize,
    /// `true` if colors are used.
    pub colour: bool,
    /// `true` if places become links.
    pub links: bool,
    /// The variable that disables colors, if one does.
    pub without_colour: Option<&'static str>,
    /// The kind of build log written to.
    pub logs: BuildLogs,
}

/// Checks the machine.
pub(super) fn check(ask: &DoctorAsk, looked: &OpenedRepository) -> Vec<DoctorCheck> {
    let (state, store) = state(&config::read_environment(), ask.offline);
    let rest = [terminal(&ask.terminal), clock_of(looked.repo.as_ref().ok(), &clock::now())];
    std::iter::once(state).chain(store).chain(rest).collect()
}

fn new_check(name: &'static str, state: CheckState, found: impl Into<String>) -> DoctorCheck {
    DoctorCheck::new(CheckArea::Machine, name, state, found)
}

/// Checks the folder for runs, which are saved to be shown, resumed and compared, and the database that they are in instead, if one is named.
fn state(environment: &[(String, String)], offline: bool) -> (DoctorCheck, Option<DoctorCheck>) {
    let (root, store) = match find_store(environment) {
        Ok(found) => found,
        Err(error) => return (new_check("state", CheckState::Failed(FaultParty::Setup), error.to_string()), None),
    };
    let database = match store.location() {
        StoreLocation::Folder(_) => None,
        StoreLocation::Database(address @ DatabaseAddress::Server(_)) if offline => {
            Some(new_check("store", CheckState::Skipped, format!("the database {address} was not tried (--offline)")))
        }
        StoreLocation::Database(address) => Some(match store.check() {
            Ok(()) => new_check("store", CheckState::Fine, format!("runs are kept in the database {address}")),
            Err(error) => {
                let advice = format!(
                    "see whether the database is there, or correct {} or take it away; without it no review begins",
                    config::STORE
                );
                let state = CheckState::Failed(FaultParty::Setup);
                new_check("store", state, format!("runs cannot be kept: {error}")).with_advice(advice)
            }
        }),
    };
    let content = if database.is_some() { "presented documents" } else { "runs" };
    let trial = root.join(TRIAL);
    let tried = files::private_folder(&root)
        .and_then(|()| files::write_private(&trial, b"\n"))
        .and_then(|()| files::remove_file(&trial));
    let folder = match tried {
        Ok(()) => new_check("state", CheckState::Fine, format!("{content} are kept in {}", root.display())),
        Err(error) => {
            let lost = if database.is_some() {
                "no document can be shown again"
            } else {
                "no run can be resumed, shown again or posted later"
            };
            let advice = format!("free the folder, or name another one in XDG_STATE_HOME; without it {lost}");
            let found = format!("{content} cannot be kept: {error}");
            new_check("state", CheckState::Warning, found).with_advice(advice)
        }
    };
    (folder, database)
}

fn terminal(terminal: &TerminalInfo) -> DoctorCheck {
    let TerminalInfo { is_one, width, colour, links, without_colour, logs } = *terminal;
    let mut found = match (is_one, colour) {
        (true, true) => format!("standard output is a terminal of {width} columns, with colours"),
        (true, false) => format!("standard output is a terminal of {width} columns, without colours"),
        (false, _) => format!(
            "standard output is no terminal: {width} columns, {}",
            if colour { "with colours" } else { "no colours" }
        ),
    };
    if let Some(variable) = without_colour {
        found.push_str(&format!(" ({variable} is set)"));
    }
    if links {
        found.push_str(", with links");
    }
    if logs.is_any_detected() {
        found.push_str("; a build log reads along, and is given nothing that it would obey");
    }
    new_check("terminal", CheckState::Fine, found)
}

/// Checks the clock: a wrong one breaks certificates and Apps' tokens, and gives reviews wrong dates.
fn clock_of(repo: Option<&Repo>, now: &str) -> DoctorCheck {
    let found = format!("it is {now}");
    let advice = "set the clock: certificates and tokens are judged by it";
    if clock::between(NOT_BEFORE, now) == Some(Duration::ZERO) {
        let found = format!("{found}, which is before this version of review was made");
        return new_check("clock", CheckState::Warning, found).with_advice(advice);
    }
    let youngest = repo.and_then(|repo| repo.commit_time(repo.commit("HEAD").ok()?).ok());
    match youngest {
        Some(time) if clock::between(now, &time).is_some_and(|ahead| ahead > TOLERANCE) => {
            let found = format!("{found}, and HEAD was committed at {time}");
            new_check("clock", CheckState::Warning, found)
                .with_advice(format!("{advice} (or the other machine's was wrong)"))
        }
        Some(_) | None => new_check("clock", CheckState::Fine, found),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_was_never_set_is_told() {
        assert_eq!(clock_of(None, "1970-01-01T00:00:05.000Z").state, CheckState::Warning);
        assert_eq!(clock_of(None, "2027-01-01T00:00:00.000Z").state, CheckState::Fine);
    }

    #[test]
    fn the_terminal_is_told_in_one_sentence() {
        let plain = TerminalInfo {
            is_one: true,
            width: 90,
            colour: false,
            links: false,
            without_colour: Some("NO_COLOR"),
            logs: BuildLogs::default(),
        };
        assert_eq!(
            terminal(&plain).found,
            "standard output is a terminal of 90 columns, without colours (NO_COLOR is set)"
        );
        let rich = TerminalInfo { colour: true, links: true, without_colour: None, ..plain };
        assert_eq!(terminal(&rich).found, "standard output is a terminal of 90 columns, with colours, with links");
    }
}
