//! Lists, page by page, to their end. Main type: [`Pages`].

use super::super::GitHub;
use super::super::wire::PageInfo;
use crate::forge::error::{FaultKind, ForgeError};

/// More pages than any honest list has. A longer one is an error, never a list that was cut in silence.
const MOST: usize = 200;

/// The position in a paginated list.
#[derive(Debug, Default)]
pub(in super::super) struct Pages {
    cursor: Option<String>,
    read: usize,
}

impl Pages {
    /// Behind a page that was read already.
    pub(in super::super) fn after(page: &PageInfo) -> Option<Self> {
        let cursor = page.end_cursor.clone().filter(|_| page.has_next_page)?;
        Some(Self { cursor: Some(cursor), read: 1 })
    }

    /// Returns the start of the next page.
    pub(in super::super) fn cursor(&self) -> Option<&str> {
        self.cursor.as_deref()
    }

    /// Goes on behind a page; false at the end of the list.
    pub(in super::super) fn advance(&mut self, github: &GitHub, page: &PageInfo) -> Result<bool, ForgeError> {
        github.cancel.check()?;
        self.read += 1;
        if !page.has_next_page {
            return Ok(false);
        }
        if page.end_cursor.is_none() || page.end_cursor == self.cursor {
            return Err(github.shared.blame.unreadable(None, "a list says that it goes on, but not where"));
        }
        if self.read >= MOST {
            return Err(ForgeError::new(
                FaultKind::Refused,
                format!("a list of this pull request has more than {MOST} pages"),
                "nothing that large is read; nothing was left out in silence",
            ));
        }
        self.cursor.clone_from(&page.end_cursor);
        Ok(true)
    }
}
