//! Checks how this process was started to take a hangup of its terminal. Main function: [`is_hangup_ignored`].

/// Checks whether this process outlives its terminal, as `nohup` starts it. Only valid before a handler for the signal is installed.
///
/// Where that cannot be known, the signal is left as it is: the answer is yes.
pub fn is_hangup_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| u64::from_str_radix(line.strip_prefix("SigIgn:")?.trim(), 16).ok());
    // SIGHUP is signal 1.
    ignored.is_none_or(|signals| signals & 1 != 0)
}
