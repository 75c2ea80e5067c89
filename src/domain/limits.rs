//! The limits on what one input may take of this machine, each by its name. Main types: [`InputLimits`], [`RemainingLimit`], [`OmissionList`].
//!
//! Whatever comes from a repository, a patch or a saved run can claim any size in a few bytes. Memory is charged to the allowance of its limit
//! where it is taken; beyond the limit something is left out, and the receipt says what. `docs/big-changes.md` has the same table for users.

use super::change::Omission;

/// The limits, in bytes where a name ends so. Together they keep a run below 1 GB, and below 500 MB unless the change itself has more than 100 MB.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InputLimits {
    /// The files that are listed of one tree.
    pub listed_files: u64,
    /// Their paths.
    pub listed_path_bytes: u64,
    /// The folders that one walk of a tree enters.
    pub walked_folders: u64,
    /// The levels of folders that a walk goes down.
    pub folder_depth: usize,
    /// The tree objects that a walk holds at once: one for each level.
    pub open_folder_bytes: u64,
    /// The files of which one change is made.
    pub changed_files: u64,
    /// Their paths.
    pub changed_path_bytes: u64,
    /// The names that are compared with one that is not there.
    pub compared_names: usize,
    /// The omissions that are listed one by one.
    pub omissions: u64,
    /// Their words.
    pub omission_bytes: u64,
    /// The fingerprints that rename detection holds.
    pub fingerprint_bytes: u64,
    /// A tree object.
    pub tree_bytes: u64,
    /// A commit or a tag.
    pub commit_bytes: u64,
    /// The messages of all commits of a change.
    pub message_bytes: u64,
    /// Each object that a packed one is made from: the base of its deltas, and what each delta makes of it.
    pub delta_bytes: u64,
    /// The deltas between a packed object and one that is stored whole; git makes at most 4,095.
    pub delta_depth: usize,
    /// A patch that is read from a file or a pipe.
    pub patch_bytes: u64,
    /// Its files.
    pub patch_files: usize,
    /// The lines of its hunks.
    pub patch_lines: u64,
    /// A file of a saved run.
    pub kept_file_bytes: u64,
}

/// The limits that hold.
pub const LIMITS: InputLimits = InputLimits {
    listed_files: 1_000_000,
    listed_path_bytes: 64 << 20,
    walked_folders: 1_000_000,
    folder_depth: 512,
    open_folder_bytes: 64 << 20,
    changed_files: 200_000,
    changed_path_bytes: 24 << 20,
    compared_names: 200_000,
    omissions: 5_000,
    omission_bytes: 1 << 20,
    fingerprint_bytes: 64 << 20,
    tree_bytes: 64 << 20,
    commit_bytes: 16 << 20,
    message_bytes: 8 << 20,
    delta_bytes: 128 << 20,
    delta_depth: 4_095,
    patch_bytes: 48 << 20,
    patch_files: 100_000,
    patch_lines: 1_000_000,
    kept_file_bytes: 256 << 20,
};

/// The rest of a limit. It is charged before the memory is taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemainingLimit {
    left: u64,
}

impl RemainingLimit {
    /// All of a limit.
    pub fn of(limit: u64) -> Self {
        Self { left: limit }
    }

    /// Takes an amount, unless that is more than is left: then nothing is taken, and it is `false`.
    #[must_use]
    pub fn charge(&mut self, amount: u64) -> bool {
        let left = self.left.checked_sub(amount);
        self.left = left.unwrap_or(self.left);
        left.is_some()
    }

    /// Gives an amount back whose memory was freed.
    pub fn release(&mut self, amount: u64) {
        self.left = self.left.saturating_add(amount);
    }
}

/// Omissions within [`InputLimits::omissions`] and [`InputLimits::omission_bytes`]; the others are counted.
#[derive(Debug)]
pub struct OmissionList {
    listed: Vec<Omission>,
    entries: RemainingLimit,
    bytes: RemainingLimit,
    more: u64,
    /// `true` if one of those that are only counted was unseen.
    is_more_unseen: bool,
}

impl Default for OmissionList {
    fn default() -> Self {
        Self::within(&LIMITS)
    }
}

impl OmissionList {
    fn within(limits: &InputLimits) -> Self {
        let (entries, bytes) = (RemainingLimit::of(limits.omissions), RemainingLimit::of(limits.omission_bytes));
        Self { listed: Vec::new(), entries, bytes, more: 0, is_more_unseen: false }
    }

    /// Adds one; beyond the limits it is counted.
    pub fn push(&mut self, omission: Omission) {
        let size = omission.path.as_ref().map_or(0, String::len) + omission.reason.len();
        if self.more == 0 && self.entries.charge(1) && self.bytes.charge(size as u64) {
            self.listed.push(omission);
        } else {
            self.more += 1;
            self.is_more_unseen |= omission.unseen;
        }
    }

    /// Adds one that is made only where it is listed: its path may be long.
    pub fn push_with(&mut self, unseen: bool, make: impl FnOnce() -> Omission) {
        if self.more > 0 {
            self.more += 1;
            self.is_more_unseen |= unseen;
        } else {
            self.push(make());
        }
    }

    /// Those that are listed, and one that counts the others.
    pub fn into_vec(self) -> Vec<Omission> {
        let Self { mut listed, more, is_more_unseen, .. } = self;
        if more > 0 {
            let (were, they) = if more == 1 { ("place was", "it is") } else { ("places were", "they are") };
            let reason = format!("{more} more {were} left out; there are so many that {they} not listed one by one");
            listed.push(Omission { path: None, reason, unseen: is_more_unseen });
        }
        listed
    }
}

impl Extend<Omission> for OmissionList {
    fn extend<I: IntoIterator<Item = Omission>>(&mut self, omissions: I) {
        omissions.into_iter().for_each(|omission| self.push(omission));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn omission(path: &str, unseen: bool) -> Omission {
        Omission { path: Some(path.to_owned()), reason: "why".to_owned(), unseen }
    }

    #[test]
    fn what_is_charged_is_never_more_than_the_limit() {
        let mut allowance = RemainingLimit::of(5);
        assert!(allowance.charge(3) && !allowance.charge(3) && allowance.charge(2) && !allowance.charge(1));
        allowance.release(1);
        assert!(allowance.charge(1) && !allowance.charge(u64::MAX));
    }

    #[test]
    fn omissions_beyond_the_limits_are_counted_and_stay_unseen() {
        let limits = InputLimits { omissions: 2, omission_bytes: 100, ..LIMITS };
        let mut list = OmissionList::within(&limits);
        list.extend([omission("a", false), omission("b", false), omission("c", true), omission("d", false)]);
        let all = list.into_vec();
        assert_eq!(all.len(), 3);
        assert!(all[2].unseen && all[2].reason.starts_with("2 more places were left out"), "{all:?}");
        let mut list = OmissionList::within(&limits);
        list.extend([omission(&"x".repeat(98), true), omission("a", false)]);
        let all = list.into_vec();
        assert_eq!(all.len(), 1, "what comes behind the first that has no room is counted with it: {all:?}");
        assert!(all[0].unseen && all[0].path.is_none());
    }

    #[test]
    fn the_documentation_has_each_limit() {
        let page = include_str!("../../docs/big-changes.md");
        let bytes = |bytes: u64| format!("{} MiB", bytes >> 20);
        let count = |count: u64| {
            let digits = count.to_string();
            let head = digits.len() % 3;
            let (first, rest) = digits.split_at(if head == 0 { 3 } else { head });
            rest.as_bytes()
                .chunks(3)
                .fold(first.to_owned(), |all, three| format!("{all},{}", String::from_utf8_lossy(three)))
        };
        let limits = LIMITS;
        for (name, limit) in [
            ("Listed files", count(limits.listed_files)),
            ("Listed paths", bytes(limits.listed_path_bytes)),
            ("Walked folders", count(limits.walked_folders)),
            ("Folder depth", count(limits.folder_depth as u64)),
            ("Open folders", bytes(limits.open_folder_bytes)),
            ("Changed files", count(limits.changed_files)),
            ("Changed paths", bytes(limits.changed_path_bytes)),
            ("Compared names", count(limits.compared_names as u64)),
            ("Omissions", count(limits.omissions)),
            ("Omission text", bytes(limits.omission_bytes)),
            ("Rename fingerprints", bytes(limits.fingerprint_bytes)),
            ("Tree object", bytes(limits.tree_bytes)),
            ("Commit or tag", bytes(limits.commit_bytes)),
            ("Commit messages", bytes(limits.message_bytes)),
            ("Delta base", bytes(limits.delta_bytes)),
            ("Delta depth", count(limits.delta_depth as u64)),
            ("Patch", bytes(limits.patch_bytes)),
            ("Patch files", count(limits.patch_files as u64)),
            ("Patch lines", count(limits.patch_lines)),
            ("File of a saved run", bytes(limits.kept_file_bytes)),
        ] {
            let row = format!("| {name} | {limit} |");
            assert!(page.contains(&row), "docs/big-changes.md has no row {row:?}");
        }
    }
}
