//! The state of a process in `/proc`. Main type: [`ProcessStat`].

/// The parent of a process and the time of its start, in ticks since that of the system.
pub(super) struct ProcessStat {
    pub(super) parent: i32,
    pub(super) started: u64,
}

impl ProcessStat {
    /// Parses `/proc/<pid>/stat`: the name of the program, in parentheses, may itself hold any bytes.
    pub(super) fn parse(stat: &[u8]) -> Option<Self> {
        let behind_name = memchr::memrchr(b')', stat)? + 1;
        let mut fields = std::str::from_utf8(&stat[behind_name..]).ok()?.split_ascii_whitespace();
        // Behind the name: the state, the parent, and as the 20th the start.
        let parent = fields.nth(1)?.parse().ok()?;
        let started = fields.nth(17)?.parse().ok()?;
        Some(Self { parent, started })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_hold_anything() {
        assert!(ProcessStat::parse(b"nothing").is_none());
        let stat = format!("7 (a \u{fe}) b) S 42{} 99 0", " 0".repeat(17));
        let read = ProcessStat::parse(stat.as_bytes()).map(|stat| (stat.parent, stat.started));
        assert_eq!(read, Some((42, 99)));
    }
}
