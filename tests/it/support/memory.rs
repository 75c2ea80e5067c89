//! Temporary folders in memory, where the machine has room for them. Main function: [`temporary_folder`].

use std::sync::Once;

use tempfile::TempDir;

/// Least room, in bytes: the tests hold a few hundred megabytes at a time.
#[cfg(target_os = "linux")]
const LEAST: u64 = 2 << 30;

/// Creates a temporary folder. The tests make ten thousand of them, and a disk takes a fifth of their time; a `TMPDIR` of the user's is kept.
pub fn temporary_folder() -> TempDir {
    static CHOSEN: Once = Once::new();
    CHOSEN.call_once(choose);
    tempfile::tempdir().expect("a temporary folder")
}

#[cfg(target_os = "linux")]
fn choose() {
    use rustix::fs::{Access, StatVfsMountFlags, access, statvfs};
    let memory = "/dev/shm";
    // Tests put programs there as well.
    let fits = statvfs(memory).is_ok_and(|found| {
        found.f_bavail.saturating_mul(found.f_frsize) >= LEAST && !found.f_flag.contains(StatVfsMountFlags::NOEXEC)
    });
    if std::env::var_os("TMPDIR").is_none() && fits && access(memory, Access::WRITE_OK).is_ok() {
        let _ = tempfile::env::override_temp_dir(memory.as_ref());
    }
}

#[cfg(not(target_os = "linux"))]
fn choose() {}
