//! What the collection of a change left out, and what is said of it. What that makes of a review is told in `owed`.

use std::collections::BTreeMap;

use super::Draft;
use crate::domain::change::Omission;
use crate::domain::review::CoverageState;

impl Draft {
    /// A file whose change could not be collected was not seen, whatever the engine says of it.
    pub(super) fn hold_to_the_collection(&mut self) {
        let unseen = self.change.omissions.iter().filter(|omission| omission.unseen);
        let why: BTreeMap<&str, &str> =
            unseen.filter_map(|omission| Some((omission.path.as_deref()?, omission.reason.as_str()))).collect();
        if why.is_empty() {
            return;
        }
        for covered in &mut self.files {
            if let Some(reason) = why.get(covered.path.to_string().as_str()) {
                covered.state = CoverageState::Skipped;
                covered.reason = Some((*reason).to_owned());
            }
        }
    }
}

pub(super) fn sentence(omission: &Omission) -> String {
    match &omission.path {
        Some(path) => format!("{path}: {}", omission.reason),
        None => omission.reason.clone(),
    }
}
