//! The files of a batch: its index, and a folder for each review. Main function: [`write_index`].

use std::path::Path;

use super::error::BatchError;
use super::select::BatchItem;
use crate::app::context::error::AppError;
use crate::app::review::deliver::OutputFile;
use crate::domain::batch::BatchIndex;
use crate::domain::id::hex;
use crate::present::{batch, presenter};
use crate::sys::files;
use sha2::{Digest as _, Sha256};

/// The formats that each review is written in if none is named.
pub const FORMATS: [&str; 2] = ["json", "markdown"];

/// The files of an index, as they are written and read.
pub(super) const INDEX: &str = "index.json";
const MARKDOWN: &str = "index.md";
const PAGE: &str = "index.html";
/// The file of a review that was written as a page.
const REVIEW_PAGE: &str = "review.html";

/// Maximum length of the readable part of a folder's name.
const LONGEST: usize = 60;

/// Creates a folder for outputs, with the usual permissions.
pub(super) fn create(folder: &Path) -> Result<(), AppError> {
    Ok(files::output_folder(folder).map_err(BatchError::from)?)
}

/// Removes the folder of a review that came to nothing, if nothing is in it.
pub(super) fn remove_empty(folder: &Path) {
    let _ = std::fs::remove_dir(folder);
}

/// Returns the name of the folder of a review: readable, unique in the batch, and the same on every machine.
pub(super) fn folder_name(item: &BatchItem) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '.' | '_') { c } else { '-' };
    let readable: String = item.name.chars().take(LONGEST).map(plain).collect();
    let hash = hex(&Sha256::digest(format!("{}\t{}", item.repository, item.key)));
    format!("{}-{}", readable.trim_matches(['-', '.']), &hash[..8])
}

/// Lists the files of a review in its folder.
pub(super) fn review_files(folder: &Path, formats: &[String]) -> Vec<OutputFile> {
    let file = |format: &String| {
        let extension = presenter(format)?.extension;
        Some(OutputFile { format: format.clone(), file: folder.join(format!("review.{extension}")) })
    };
    formats.iter().filter_map(file).collect()
}

/// Writes `index.json`, `index.md` and `index.html` into a folder. The last one links the reviews that were written as pages.
pub fn write_index(folder: &Path, index: &BatchIndex) -> Result<(), AppError> {
    let write = |name: &str, bytes: &[u8]| files::write_output(&folder.join(name), bytes).map_err(BatchError::from);
    write(INDEX, &batch::json(index))?;
    write(MARKDOWN, batch::markdown(index).as_bytes())?;
    let has_page = |name: &str| folder.join(name).join(REVIEW_PAGE).is_file();
    write(PAGE, &batch::html(index, &has_page))?;
    Ok(())
}
