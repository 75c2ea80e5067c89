//! A manifest that asks for what the lock file beside it does not have. Main type: [`ManifestWithoutLock`].

mod cargo;
mod go;
mod node;
mod others;
mod python;

use std::collections::BTreeMap;
use std::sync::Arc;

use super::super::checks::CheckInfo;
use super::super::target::{ChangedLineIndex, is_test_path};
use super::ImpactRule;
use super::claims::{AffectedPlace, RemoteEffect};
use super::context::ImpactContext;
use super::lines::find_line_with_word;
use crate::domain::change::{FileChange, FileStatus};
use crate::domain::finding::{Category, Severity};
use crate::domain::path::RepoPath;
use crate::domain::place::{DiffSide, LineRange};
use crate::domain::text::FileText;
use crate::sys::cancel::CancelReason;

pub(super) struct ManifestWithoutLock;

static INFO: CheckInfo = CheckInfo {
    name: "impact/manifest-without-lock",
    title: "A dependency is changed in the manifest and not in the lock file",
    message: "An install that holds to the lock file fails, and any other one takes a version that nobody tested. Update the lock file in \
              the same change.",
    severity: Severity::Medium,
    category: Category::SideEffects,
    cwe: None,
};

/// Something that a manifest asks for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Wanted {
    name: String,
    /// Which version, or from where, as written.
    version: String,
}

/// A manifest, the lock file that speaks for it, and where they stand to each other.
struct Pair<'a> {
    /// The manifest.
    manifest: &'a str,
    /// The name of the lock file.
    lock_name: &'a str,
    /// The lock file.
    lock: &'a str,
    /// The manifest that stands beside the lock file, where that is another one.
    root: Option<&'a str>,
    /// The folder of the manifest as seen from that of the lock file; empty where they are the same.
    below: &'a str,
}

/// How manifests of one name are read.
struct Kind {
    manifest: &'static str,
    /// Lock files, the first that is there counts.
    locks: &'static [&'static str],
    /// `true` if the lock file may stand in a folder above.
    above: bool,
    /// The requirements of a manifest; `None` where it cannot be read.
    wanted: fn(&str) -> Option<Vec<Wanted>>,
    /// `true` if the lock file lacks it; `None` where nobody can say.
    lacks: fn(&Pair<'_>, &Wanted) -> Option<bool>,
}

const KINDS: &[Kind] = &[
    Kind { manifest: "Cargo.toml", locks: &["Cargo.lock"], above: true, wanted: cargo::wanted, lacks: cargo::lacks },
    Kind {
        manifest: "package.json",
        locks: &["pnpm-lock.yaml", "package-lock.json", "npm-shrinkwrap.json", "yarn.lock"],
        above: true,
        wanted: node::wanted,
        lacks: node::lacks,
    },
    Kind { manifest: "go.mod", locks: &["go.sum"], above: false, wanted: go::wanted, lacks: go::lacks },
    Kind {
        manifest: "pyproject.toml",
        locks: &["uv.lock", "poetry.lock", "pdm.lock"],
        above: true,
        wanted: python::wanted,
        lacks: python::lacks,
    },
    Kind {
        manifest: "composer.json",
        locks: &["composer.lock"],
        above: false,
        wanted: others::composer_wanted,
        lacks: others::composer_lacks,
    },
    Kind {
        manifest: "Gemfile",
        locks: &["Gemfile.lock"],
        above: false,
        wanted: others::gem_wanted,
        lacks: others::gem_lacks,
    },
    Kind {
        manifest: "Pipfile",
        locks: &["Pipfile.lock"],
        above: false,
        wanted: others::pip_wanted,
        lacks: others::pip_lacks,
    },
];

/// Larger lock files are not read, in bytes.
const LARGEST: usize = 16 << 20;

impl ImpactRule for ManifestWithoutLock {
    fn info(&self) -> &'static CheckInfo {
        &INFO
    }

    fn find(&self, ground: &ImpactContext<'_>) -> Result<Vec<RemoteEffect>, CancelReason> {
        let mut effects = Vec::new();
        for (at, file) in ground.input.change.files.iter().enumerate() {
            ground.input.cancel.check()?;
            let kind = KINDS.iter().find(|kind| kind.manifest.as_bytes() == file.path.file_name());
            let of_tests = is_test_path(&file.path) || file.generated.is_some();
            if let Some(kind) = kind.filter(|_| !of_tests && file.status != FileStatus::Deleted && !file.binary) {
                effects.extend(compare(ground, at, file, kind)?);
            }
        }
        Ok(effects)
    }
}

/// The requirements of one manifest that the lock file does not follow.
fn compare(
    ground: &ImpactContext<'_>,
    at: usize,
    file: &FileChange,
    kind: &Kind,
) -> Result<Option<RemoteEffect>, CancelReason> {
    let Some(text) = ground.read(DiffSide::New, &file.path)? else { return Ok(None) };
    // A manifest that is new may not have been locked yet, by intent: an example, a template.
    let Some(before) = ground.read(DiffSide::Old, file.path_at(DiffSide::Old))? else { return Ok(None) };
    let (Some(now), Some(was)) = ((kind.wanted)(text.text()), (kind.wanted)(before.text())) else { return Ok(None) };
    let fresh: Vec<Wanted> = now.into_iter().filter(|wanted| !was.contains(wanted)).collect();
    if fresh.is_empty() {
        return Ok(None);
    }
    let Some((lock_path, lock)) = lock_of(ground, file, kind)? else { return Ok(None) };
    if is_of_a_workspace(ground, &lock_path)? {
        return Ok(None);
    }
    let lock_name = String::from_utf8_lossy(lock_path.file_name()).into_owned();
    let below = below(&lock_path, &file.path);
    let root = if below.is_empty() {
        None
    } else {
        match named(lock_path.folder(), kind.manifest) {
            Some(path) => ground.read(DiffSide::New, &path)?,
            None => None,
        }
    };
    let pair = Pair {
        manifest: text.text(),
        lock_name: &lock_name,
        lock: lock.text(),
        root: root.as_ref().map(|root| root.text()),
        below: &below,
    };
    let mut lacking: BTreeMap<String, Wanted> = BTreeMap::new();
    for wanted in fresh {
        ground.input.cancel.check()?;
        if (kind.lacks)(&pair, &wanted) == Some(true) {
            lacking.insert(wanted.name.clone(), wanted);
        }
    }
    let touched = ChangedLineIndex::of(file, DiffSide::New);
    let place = |wanted: &Wanted| {
        find_line_with_word(&text, &touched, &wanted.name, &wanted.version).map(|lines| (lines, wanted.clone()))
    };
    let mut found: Vec<(LineRange, Wanted)> = lacking.values().filter_map(place).collect();
    found.sort();
    Ok(effect(at, &lock_path, &lock, &found))
}

fn effect(at: usize, lock_path: &RepoPath, lock: &FileText, found: &[(LineRange, Wanted)]) -> Option<RemoteEffect> {
    let (lines, first) = found.first()?;
    let names: Vec<String> = found.iter().take(5).map(|(_, wanted)| format!("`{}`", wanted.name)).collect();
    let more = if found.len() > 5 { format!(" and {} more", found.len() - 5) } else { String::new() };
    // The line that says which entry is out of date, else the first that says anything.
    let telling =
        |(_, line): &(u32, &str)| line.chars().any(char::is_alphanumeric) && !line.trim_start().starts_with('#');
    let entry = lock.all_lines().find(|(_, line)| super::lines::has_word(line, &first.name));
    let (number, _) = entry.or_else(|| lock.all_lines().find(telling))?;
    let note = match entry {
        Some(_) => format!("What the lock file says of {}.", first.name),
        None => format!("Nothing in this file says {}.", first.name),
    };
    Some(RemoteEffect {
        file: at,
        side: DiffSide::New,
        lines: Some(*lines),
        title: (found.len() == 1).then(|| format!("`{}` is changed here and not in the lock file", first.name)),
        detail: format!("{} does not have what is asked for here: {}{more}.", lock_path, names.join(", ")),
        severity: None,
        elsewhere: vec![AffectedPlace { path: lock_path.clone(), lines: LineRange::line(number), note }],
    })
}

/// Checks whether a folder above has the lock file of a whole pnpm workspace, so that this one lies there unused.
fn is_of_a_workspace(ground: &ImpactContext<'_>, lock: &RepoPath) -> Result<bool, CancelReason> {
    let mut folder = lock.folder();
    while let Some(above) = above(folder) {
        folder = above;
        if let Some(path) = named(folder, "pnpm-workspace.yaml")
            && ground.read(DiffSide::New, &path)?.is_some()
        {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The nearest lock file, in the folder of the manifest or above it.
fn lock_of(
    ground: &ImpactContext<'_>,
    file: &FileChange,
    kind: &Kind,
) -> Result<Option<(RepoPath, Arc<FileText>)>, CancelReason> {
    let mut folder = file.path.folder();
    loop {
        for path in kind.locks.iter().filter_map(|name| named(folder, name)) {
            if let Some(text) = ground.read(DiffSide::New, &path)? {
                return Ok(Some((path, text)).filter(|(_, text)| text.text().len() <= LARGEST));
            }
        }
        match above(folder) {
            Some(above) if kind.above => folder = above,
            Some(_) | None => return Ok(None),
        }
    }
}

/// The folder that a folder is in; `None` for the root.
fn above(folder: &[u8]) -> Option<&[u8]> {
    let end = folder.iter().rposition(|byte| *byte == b'/').unwrap_or(0);
    (!folder.is_empty()).then_some(&folder[..end])
}

/// A file of a folder.
fn named(folder: &[u8], name: &str) -> Option<RepoPath> {
    let whole = if folder.is_empty() { name.as_bytes().to_vec() } else { [folder, b"/", name.as_bytes()].concat() };
    RepoPath::from_bytes(&whole).ok()
}

/// The folder of `path` as seen from that of `lock`.
fn below(lock: &RepoPath, path: &RepoPath) -> String {
    let (above, folder) = (lock.folder(), path.folder());
    let rest = folder.strip_prefix(above).unwrap_or(folder);
    String::from_utf8_lossy(rest.strip_prefix(b"/").unwrap_or(rest)).into_owned()
}

#[cfg(test)]
mod tests;
