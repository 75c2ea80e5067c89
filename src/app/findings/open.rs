//! Opens a saved review in a browser. Main function: [`open_report`].

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use super::runs::show;
use crate::app::context::environment::ProcessEnv;
use crate::app::context::error::AppError;
use crate::app::context::saved_runs::render;
use crate::sys::process::{Environment, LaunchError, LaunchSession, launch};

/// A review that was written as a page.
#[derive(Debug)]
pub struct OpenedReport {
    /// The page.
    pub file: PathBuf,
    /// The reason why it was not opened; `None` if it was, or was not to be.
    pub not_opened: Option<String>,
}

/// Writes the page of a saved review (see [`show`]), and opens it with the system's opener unless `print_only` is set.
pub fn open_report(
    around: &ProcessEnv,
    name: &str,
    directory: &Path,
    print_only: bool,
) -> Result<OpenedReport, AppError> {
    let review = show(around, name, directory)?;
    let bytes = render(&review, "html", None).ok_or(AppError::Broken)?;
    let file = around.store.save_page(review.id, &bytes)?;
    let not_opened =
        if print_only { None } else { open_in_browser(file.as_os_str()).err().map(|error| error.to_string()) };
    Ok(OpenedReport { file, not_opened })
}

/// Opens a file or an address with the system's opener. No shell reads it.
pub fn open_in_browser(target: &OsStr) -> Result<(), LaunchError> {
    let (program, arguments): (&str, &[&str]) = if cfg!(target_os = "macos") {
        ("open", &[])
    } else if cfg!(windows) {
        ("rundll32", &["url.dll,FileProtocolHandler"])
    } else {
        ("xdg-open", &[])
    };
    let arguments = arguments.iter().map(OsString::from).chain([target.to_owned()]).collect();
    launch(program, arguments, &Environment::of_desktop(), LaunchSession::of_this_process())
}
