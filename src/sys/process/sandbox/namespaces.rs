//! Limits and namespaces of a supervisor, for all that it starts. Main function: [`isolate`].

use std::fs;
use std::io;
use std::os::fd::AsRawFd as _;
use std::path::{Path, PathBuf};

use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_bind, mount_change};
use rustix::net::{AddressFamily, SendFlags, SocketFlags, SocketType, send, socket_with};
use rustix::process::{Resource, Rlimit, getegid, geteuid, getrlimit, setrlimit};
use rustix::thread::UnshareFlags;

use super::{SandboxLevel, SandboxSpec};

/// Tasks that a process may have on average. The kernel counts tasks, and those of all programs of the user.
const TASKS_OF_A_PROCESS: u64 = 4;
/// Folders that are private where that can be: the sockets of services (Docker, D-Bus), and memory that others share.
const PRIVATE: [&str; 2] = ["/run", "/dev/shm"];
/// The folder for temporary files of programs that do not ask for one.
const TEMPORARY: &str = "/tmp";

/// The prepared namespaces.
#[derive(Debug)]
pub(in super::super) struct Isolation {
    /// `true` if there is no network but a loopback.
    pub(super) has_own_network: bool,
    /// `true` if memory is shared with nobody else.
    pub(super) has_own_memory: bool,
    /// The folder for temporary files, if it is not where it was.
    pub(in super::super) temporary: Option<PathBuf>,
}

/// Limits this process and all that it starts, as far as the system lets it. It must have no other thread.
pub(in super::super) fn isolate(spec: &SandboxSpec) -> Isolation {
    limit(Resource::Core, 0);
    let none = Isolation { has_own_network: false, has_own_memory: false, temporary: None };
    if spec.level == SandboxLevel::Off {
        return none;
    }
    limit(Resource::Fsize, spec.file_bytes);
    limit(Resource::Nproc, tasks_of_user().saturating_add(TASKS_OF_A_PROCESS.saturating_mul(spec.processes as u64)));
    if spec.network || leave_network().is_err() {
        return none;
    }
    // Nothing that is mounted here is to be seen elsewhere.
    if mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC).is_err() {
        return Isolation { has_own_network: true, ..none };
    }
    // First: it may lie in one of the folders that are hidden next.
    let temporary = spec.temporary.as_ref().filter(|folder| hide(TEMPORARY, Some(folder), spec).is_ok());
    let private = PRIVATE.map(|folder| hide(folder, None, spec).is_ok());
    // The working directory may be below one that is hidden now, and was opened before.
    let _ = std::env::current_dir().and_then(std::env::set_current_dir);
    Isolation { has_own_network: true, has_own_memory: private[1], temporary: temporary.map(|_| TEMPORARY.into()) }
}

/// Puts an empty folder, or `by`, in the place of a folder in which other programs have sockets and files. What is granted below it stays.
fn hide(folder: &str, by: Option<&Path>, spec: &SandboxSpec) -> io::Result<()> {
    let granted = || spec.read.iter().chain(&spec.write).filter(|path| path.starts_with(folder));
    if granted().any(|path| path == Path::new(folder)) {
        return Err(io::ErrorKind::Unsupported.into());
    }
    // Opened before they are hidden; the shorter ones first, as others may lie in them.
    let mut open = granted().map(|path| Ok((path, fs::File::open(path)?))).collect::<io::Result<Vec<_>>>()?;
    open.sort_by_key(|(path, _)| path.as_os_str().len());
    match by {
        Some(by) => mount_bind(by, folder)?,
        None => mount("tmpfs", folder, "tmpfs", MountFlags::NOSUID | MountFlags::NODEV, None)?,
    }
    for (path, file) in open {
        if file.metadata()?.is_dir() {
            fs::create_dir_all(path)?;
        } else {
            path.parent().map_or(Ok(()), fs::create_dir_all)?;
            fs::OpenOptions::new().create(true).append(true).open(path)?;
        }
        mount_bind(format!("/proc/self/fd/{}", file.as_raw_fd()).as_str(), path)?;
    }
    Ok(())
}

/// Lowers a limit; it is never raised.
fn limit(resource: Resource, most: u64) {
    let hard = getrlimit(resource).maximum.map_or(most, |hard| hard.min(most));
    let _ = setrlimit(resource, Rlimit { current: Some(hard), maximum: Some(hard) });
}

/// Counts the tasks of this user.
fn tasks_of_user() -> u64 {
    use std::os::unix::fs::MetadataExt as _;
    let user = geteuid().as_raw();
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let own = entries.filter(|entry| {
        let is_process = entry.file_name().as_encoded_bytes().iter().all(u8::is_ascii_digit);
        is_process && entry.metadata().is_ok_and(|about| about.uid() == user)
    });
    own.map(|entry| fs::read_dir(entry.path().join("task")).map_or(1, |tasks| tasks.count() as u64)).sum()
}

/// Leaves the network and the mounts of the machine for ones of its own, as root or as an ordinary user.
fn leave_network() -> io::Result<()> {
    let own = UnshareFlags::NEWNET | UnshareFlags::NEWNS | UnshareFlags::NEWIPC;
    let (user, group) = (geteuid().as_raw(), getegid().as_raw());
    // Root does not need a user namespace, in which files of other users would not be its own any more.
    if user != 0 || unshare(own).is_err() {
        unshare(own | UnshareFlags::NEWUSER)?;
        // The kernel wants this before a user may say which group is which.
        fs::write("/proc/self/setgroups", "deny")?;
        fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
        fs::write("/proc/self/gid_map", format!("{group} {group} 1"))?;
    }
    // Without it tests that talk to themselves fail, but nothing gets out.
    let _ = raise_loopback();
    Ok(())
}

#[expect(
    deprecated,
    reason = "it is unsound for tables of open files only; the other one is marked unsafe for the same reason"
)]
fn unshare(what: UnshareFlags) -> io::Result<()> {
    Ok(rustix::thread::unshare(what)?)
}

/// Brings up the first interface, which in a new network is the loopback: there is no other way without a program.
fn raise_loopback() -> io::Result<()> {
    /// `RTM_NEWLINK`.
    const NEW_LINK: u16 = 16;
    /// `NLM_F_REQUEST`.
    const REQUEST: u16 = 1;
    /// `IFF_UP`.
    const UP: u32 = 1;
    let mut message = Vec::new();
    message.extend(32u32.to_ne_bytes());
    message.extend([NEW_LINK, REQUEST].map(u16::to_ne_bytes).concat());
    message.extend([0; 8]);
    // The interface: its family and kind do not matter, its number is 1.
    message.extend([0; 4]);
    message.extend([1, UP, UP].map(u32::to_ne_bytes).concat());
    // The protocol 0 is that of routes and interfaces.
    let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None)?;
    send(&socket, &message, SendFlags::empty())?;
    Ok(())
}
