//! Joins the indexes of shards into one. Main function: [`merge_batches`].

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::error::BatchError;
use super::output::{INDEX, create};
use crate::app::context::error::AppError;
use crate::domain::batch::{BatchEntry, BatchIndex, BatchOutcome};
use crate::present::batch;
use crate::sys::files;

/// Maximum size in bytes of an index, and of a file of a review.
const MAX_FILE: u64 = 256 << 20;

/// Reads the index of each folder and joins them. A shard that is missing is a row that is not begun. With `output`, the
/// folders of all reviews are copied there.
pub fn merge_batches(folders: &[PathBuf], output: Option<&Path>) -> Result<BatchIndex, AppError> {
    let indexes: Vec<(&PathBuf, BatchIndex)> =
        folders.iter().map(|folder| Ok((folder, read(folder)?))).collect::<Result<_, BatchError>>()?;
    let missing = missing_shards(&indexes)?;
    if let Some(output) = output {
        create(output)?;
        let real = files::real_path(output).map_err(BatchError::from)?;
        for (folder, index) in &indexes {
            if files::real_path(folder).map_err(BatchError::from)? == real {
                return Err(BatchError::SameFolder(output.to_owned()).into());
            }
            copy_reviews(folder, index, output)?;
        }
    }
    Ok(join(indexes.into_iter().map(|(_, index)| index), missing))
}

fn read(folder: &Path) -> Result<BatchIndex, BatchError> {
    let file = folder.join(INDEX);
    let bytes = files::open(&file).and_then(|open| files::read_within(open, &file, MAX_FILE))?;
    batch::parse(&bytes).map_err(|source| BatchError::Index { file, source })
}

/// Returns a row for each shard that none of the folders is; refuses folders of different batches, and a shard that is there twice.
fn missing_shards(indexes: &[(&PathBuf, BatchIndex)]) -> Result<Vec<BatchEntry>, BatchError> {
    let mut of = None;
    let mut found: BTreeMap<u32, &PathBuf> = BTreeMap::new();
    for (folder, index) in indexes {
        let Some(shard) = index.shard else { continue };
        let mixed =
            |other: &PathBuf, why: String| BatchError::Mixed { one: (*other).clone(), other: (*folder).clone(), why };
        let (first, all) = *of.get_or_insert((*folder, shard.of));
        if all != shard.of {
            return Err(mixed(first, format!("one is a shard of {all}, the other of {}", shard.of)));
        }
        if let Some(twice) = found.insert(shard.number, folder) {
            return Err(mixed(twice, format!("both are the shard {shard}")));
        }
    }
    let Some((_, all)) = of else { return Ok(Vec::new()) };
    let missing = (1..=all).filter(|number| !found.contains_key(number)).map(|number| {
        let reason = "the index of this shard is missing: its job did not end, or its files were not given".to_owned();
        BatchEntry::without_review("-", &format!("shard {number}/{all}"), BatchOutcome::NotBegun, reason, 3)
    });
    Ok(missing.collect())
}

fn join(indexes: impl Iterator<Item = BatchIndex>, missing: Vec<BatchEntry>) -> BatchIndex {
    let mut merged = BatchIndex {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        started_at: String::new(),
        took_ms: 0,
        shard: None,
        interrupted: false,
        savings: None,
        entries: Vec::new(),
        left_out: Vec::new(),
    };
    for index in indexes {
        if merged.started_at.is_empty() || index.started_at < merged.started_at {
            merged.started_at = index.started_at;
        }
        // Shards run side by side.
        merged.took_ms = merged.took_ms.max(index.took_ms);
        merged.interrupted |= index.interrupted;
        if let Some(savings) = index.savings {
            merged.savings = Some(merged.savings.unwrap_or_default().plus(savings));
        }
        merged.entries.extend(index.entries);
        merged.left_out.extend(index.left_out);
    }
    merged.entries.sort_by(|a, b| (&a.repository, &a.name).cmp(&(&b.repository, &b.name)));
    merged.left_out.sort_by(|a, b| (&a.repository, &a.name).cmp(&(&b.repository, &b.name)));
    merged.entries.extend(missing);
    merged
}

/// Copies the plain files of the folders that an index names. The names were checked when it was parsed.
fn copy_reviews(from: &Path, index: &BatchIndex, to: &Path) -> Result<(), AppError> {
    for name in index.entries.iter().filter_map(|entry| entry.folder.as_deref()) {
        let (folder, copy) = (from.join(name), to.join(name));
        create(&copy)?;
        for path in files::plain_files(&folder).map_err(BatchError::from)? {
            let Some(file) = path.file_name() else { continue };
            if let Some(bytes) = files::read_plain(&path, MAX_FILE).map_err(BatchError::from)? {
                files::write_output(&copy.join(file), &bytes).map_err(BatchError::from)?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shard(text: &str) -> BatchIndex {
        BatchIndex { shard: text.parse().ok(), started_at: format!("2026-{text}"), ..join([].into_iter(), Vec::new()) }
    }

    #[test]
    fn a_missing_shard_is_incomplete() {
        let (a, b) = (PathBuf::from("a"), PathBuf::from("b"));
        let indexes = [(&a, shard("1/3")), (&b, shard("3/3"))];
        let missing = missing_shards(&indexes).unwrap();
        assert_eq!(missing.iter().map(|entry| &*entry.name).collect::<Vec<_>>(), ["shard 2/3"]);
        let merged = join(indexes.into_iter().map(|(_, index)| index), missing);
        assert_eq!((merged.exit_code(), &*merged.started_at), (3, "2026-1/3"));
    }

    #[test]
    fn shards_of_two_batches_are_refused_and_so_is_one_given_twice() {
        let (a, b) = (PathBuf::from("a"), PathBuf::from("b"));
        for (one, other, why) in [("1/3", "2/2", "a shard of 3"), ("1/3", "1/3", "both are the shard 1/3")] {
            let fault = missing_shards(&[(&a, shard(one)), (&b, shard(other))]).unwrap_err().to_string();
            assert!(fault.contains(why), "{fault}");
        }
    }
}
