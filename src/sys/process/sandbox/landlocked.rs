//! Landlock: the files that a thread and all that it starts may use. Main function: [`restrict`].

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, LandlockStatus, RestrictionStatus, Ruleset, RulesetAttr as _,
    RulesetCreatedAttr as _, RulesetError, RulesetStatus, Scope, path_beneath_rules,
};
use rustix::thread::{CapabilitySet, remove_capability_from_bounding_set};

use super::namespaces::Isolation;
use super::{SandboxLevel, SandboxReport, SandboxSpec};

/// The newest that was looked at; a kernel enforces what it knows of it.
const NEWEST: ABI = ABI::V9;
/// Folders to read and to run from on every system. Of `/dev` only what is named below.
const SYSTEM: [&str; 14] = [
    "/bin", "/etc", "/gnu", "/lib", "/lib32", "/lib64", "/libx32", "/nix", "/opt", "/proc", "/sbin", "/snap", "/sys",
    "/usr",
];
/// Folders of data of the system's programs (certificates, alternatives, package lists).
const SYSTEM_STATE: [&str; 3] = ["/home/linuxbrew", "/run/systemd/resolve", "/var/lib/dpkg"];
/// Devices without a state. The terminal is none of them: a program could write to it as if somebody typed.
const DEVICES: [&str; 6] = ["/dev/full", "/dev/null", "/dev/ptmx", "/dev/random", "/dev/urandom", "/dev/zero"];
/// The rights that root keeps: those over its own and others' files and processes. It must not make devices, mount, or leave its
/// namespaces.
const ROOT_KEEPS: CapabilitySet = CapabilitySet::CHOWN
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::FSETID)
    .union(CapabilitySet::KILL)
    .union(CapabilitySet::SETGID)
    .union(CapabilitySet::SETUID)
    .union(CapabilitySet::NET_BIND_SERVICE);

/// Restricts the calling thread and all that it starts, for good.
pub(in super::super) fn restrict(spec: &SandboxSpec, isolation: &Isolation) -> SandboxReport {
    if spec.level == SandboxLevel::Off {
        return SandboxReport { files: false, network: false, words: "the sandbox is off".to_owned() };
    }
    for capability in CapabilitySet::all().difference(ROOT_KEEPS).iter() {
        // Who is not root may not, and has none of them.
        let _ = remove_capability_from_bounding_set(capability);
    }
    report(spec, isolation, rules(spec, isolation))
}

fn rules(spec: &SandboxSpec, isolation: &Isolation) -> Result<RestrictionStatus, RulesetError> {
    let read = AccessFs::from_read(NEWEST);
    // A device that somebody made could be any disk.
    let write: BitFlags<AccessFs> =
        AccessFs::from_all(NEWEST) & !(AccessFs::MakeBlock | AccessFs::MakeChar | AccessFs::IoctlDev);
    let device = AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::Truncate | AccessFs::IoctlDev;
    let mut ruleset = Ruleset::default().handle_access(AccessFs::from_all(NEWEST))?.scope(Scope::from_all(NEWEST))?;
    if !spec.network && !isolation.has_own_network {
        ruleset = ruleset.handle_access(AccessNet::from_all(NEWEST))?;
    }
    let memory = isolation.has_own_memory.then_some("/dev/shm");
    ruleset
        .create()?
        .add_rules(path_beneath_rules(SYSTEM.iter().chain(&SYSTEM_STATE), read))?
        .add_rules(path_beneath_rules(DEVICES, device))?
        .add_rules(path_beneath_rules(["/dev/pts"], device | AccessFs::ReadDir))?
        .add_rules(path_beneath_rules(memory, write))?
        .add_rules(path_beneath_rules(&spec.read, read))?
        .add_rules(path_beneath_rules(&spec.write, write))?
        .add_rules(path_beneath_rules(isolation.temporary.as_ref().or(spec.temporary.as_ref()), write))?
        .restrict_self()
}

fn report(
    spec: &SandboxSpec,
    isolation: &Isolation,
    restricted: Result<RestrictionStatus, RulesetError>,
) -> SandboxReport {
    match restricted {
        Ok(RestrictionStatus { ruleset: RulesetStatus::NotEnforced, .. }) => {
            of(spec, isolation, ABI::Unsupported, None)
        }
        Ok(RestrictionStatus { landlock: LandlockStatus::Available { effective_abi, .. }, .. }) => {
            of(spec, isolation, effective_abi, None)
        }
        Ok(_) => of(spec, isolation, ABI::Unsupported, None),
        Err(error) => of(spec, isolation, ABI::Unsupported, Some(&error.to_string())),
    }
}

/// Says what a kernel with this Landlock enforces.
fn of(spec: &SandboxSpec, isolation: &Isolation, abi: ABI, fault: Option<&str>) -> SandboxReport {
    let files = abi >= ABI::V3;
    let mut words = match fault {
        Some(fault) => format!("files are not limited: {fault}"),
        None if files => "only granted files can be read or written".to_owned(),
        None if abi == ABI::Unsupported => "files are not limited: this kernel has no Landlock".to_owned(),
        None => "files are limited, but this kernel (before 6.2) lets any file of the user be emptied".to_owned(),
    };
    let network = !spec.network && isolation.has_own_network;
    words += match (spec.network, network) {
        (true, _) => "; the network is allowed",
        (false, true) => "; there is no network but a private loopback",
        (false, false) if abi >= ABI::V4 => {
            "; TCP is refused, but other protocols are not: this system does not let a user make namespaces"
        }
        (false, false) => "; the network is not limited: this system does not let a user make namespaces",
    };
    if abi < ABI::V6 {
        words += "; it can send signals to other programs of the user";
    }
    SandboxReport { files, network, words }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_kernel_cannot_enforce_is_said_and_may_be_required() {
        let spec = SandboxSpec::new(SandboxLevel::Strict);
        let with_network = SandboxSpec { network: true, ..spec.clone() };
        let shared = Isolation { has_own_network: false, has_own_memory: false, temporary: None };
        let own = Isolation { has_own_network: true, has_own_memory: true, temporary: None };
        for (spec, isolation, abi, is_enough, words) in [
            (&spec, &own, ABI::V7, true, "private loopback"),
            (&with_network, &shared, ABI::V7, true, "the network is allowed"),
            (&spec, &shared, ABI::V7, false, "TCP is refused, but"),
            (&spec, &shared, ABI::V3, false, "the network is not limited"),
            (&spec, &own, ABI::V5, true, "can send signals"),
            (&spec, &own, ABI::V2, false, "be emptied"),
            (&spec, &own, ABI::Unsupported, false, "no Landlock"),
        ] {
            let report = of(spec, isolation, abi, None);
            assert!(report.words.contains(words), "{}", report.words);
            assert_eq!(spec.accepts(&report), is_enough, "{}", report.words);
            assert!(SandboxSpec { level: SandboxLevel::BestEffort, ..spec.clone() }.accepts(&report));
        }
        let report = of(&spec, &own, ABI::Unsupported, Some("out of rules"));
        assert!(report.words.contains("out of rules") && !spec.accepts(&report));
    }
}
