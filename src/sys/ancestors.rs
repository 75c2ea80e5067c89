//! The processes that this one descends from. Main function: [`ancestors`].

#[cfg(target_os = "linux")]
use super::process_stat::ProcessStat;

/// A process of this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessInfo {
    /// Its id.
    pub pid: u32,
    /// Its program and arguments, separated by spaces; empty if unknown.
    pub command: String,
}

/// Returns the ancestors of this process, its parent first, at most `most`. Processes that cannot be read end the list.
#[cfg(target_os = "linux")]
pub fn ancestors(most: usize) -> Vec<ProcessInfo> {
    let mut found = Vec::new();
    let mut next = rustix::process::getppid().and_then(|pid| u32::try_from(pid.as_raw_nonzero().get()).ok());
    while let Some(pid) = next.filter(|pid| *pid > 0 && found.len() < most) {
        let arguments = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let command = String::from_utf8_lossy(&arguments).replace('\0', " ").trim_end().to_owned();
        found.push(ProcessInfo { pid, command });
        let stat = std::fs::read(format!("/proc/{pid}/stat")).unwrap_or_default();
        next = ProcessStat::parse(&stat).and_then(|stat| u32::try_from(stat.parent).ok());
    }
    found
}

/// Returns the ancestors likewise, with the program `ps`.
#[cfg(all(unix, not(target_os = "linux")))]
pub fn ancestors(most: usize) -> Vec<ProcessInfo> {
    use super::cancel::Cancel;
    use super::process::{Environment, ProcessCall, Program};

    let cancel = Cancel::after(std::time::Duration::from_secs(5));
    let environment = Environment::of_this_process();
    let Ok(program) = Program::find("ps", &environment) else { return Vec::new() };
    let mut found = Vec::new();
    let mut next = rustix::process::getppid().and_then(|pid| u32::try_from(pid.as_raw_nonzero().get()).ok());
    while let Some(pid) = next.filter(|pid| *pid > 0 && found.len() < most) {
        let arguments = ["-p", &pid.to_string(), "-o", "ppid=,args="].map(Into::into).to_vec();
        let call =
            ProcessCall { arguments, environment: environment.clone(), directory: "/".into(), most: LONGEST_LINE };
        let output = program.run(&call, &cancel).map(|ended| ended.output).unwrap_or_default();
        let line = String::from_utf8_lossy(&output).trim().to_owned();
        let (parent, command) = line.split_once(' ').unwrap_or((&line, ""));
        next = parent.parse().ok();
        found.push(ProcessInfo { pid, command: command.trim().to_owned() });
    }
    found
}

/// Maximum size in bytes of what `ps` writes.
#[cfg(all(unix, not(target_os = "linux")))]
const LONGEST_LINE: usize = 1 << 20;

/// Returns no ancestors: editors are found by their process on Unix alone.
#[cfg(not(unix))]
pub fn ancestors(_: usize) -> Vec<ProcessInfo> {
    Vec::new()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn the_parent_comes_first() {
        let found = ancestors(3);
        assert_eq!(found[0].pid, std::os::unix::process::parent_id());
        assert!(found.len() <= 3 && !found[0].command.is_empty(), "{found:?}");
    }
}
