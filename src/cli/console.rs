//! The two streams of this process, and what the terminal behind them can do. The rim: the only place that writes to them.

use std::ffi::OsString;
use std::io::{self, IsTerminal as _, Write as _};

use crate::config::Colour;

/// What this process was started in.
#[expect(clippy::struct_excessive_bools, reason = "each is a fact about the process, not a state")]
pub(super) struct Console {
    /// Columns of the terminal; 80 where there is none.
    pub(super) width: usize,
    pub(super) stderr_is_terminal: bool,
    pub(super) stdout_is_terminal: bool,
    no_colour: bool,
    dumb: bool,
    links: bool,
}

impl Console {
    pub(super) fn of_this_process() -> Self {
        let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let stdout_is_terminal = io::stdout().is_terminal();
        Self {
            width: if stdout_is_terminal {
                terminal_size::terminal_size().map_or(80, |(width, _)| usize::from(width.0)).clamp(40, 100)
            } else {
                80
            },
            stderr_is_terminal: io::stderr().is_terminal(),
            stdout_is_terminal,
            // https://no-color.org: present and not empty.
            no_colour: set("NO_COLOR"),
            dumb: std::env::var_os("TERM") == Some(OsString::from("dumb")),
            links: supports_hyperlinks::on(supports_hyperlinks::Stream::Stdout),
        }
    }

    pub(super) fn colour(&self, wish: Colour) -> bool {
        match wish {
            Colour::Always => true,
            Colour::Never => false,
            Colour::Auto => self.stdout_is_terminal && !self.no_colour && !self.dumb,
        }
    }

    /// Whether links may be written: never where colour would not be.
    pub(super) fn links(&self, wish: Colour) -> bool {
        self.links && self.colour(wish)
    }

    /// Writes data. A reader that went away (`| head`) is no error.
    #[expect(clippy::unused_self, reason = "whoever writes must have been given the console")]
    pub(super) fn data(&self, bytes: &[u8]) -> io::Result<()> {
        let mut stdout = io::stdout().lock();
        match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            ended => ended,
        }
    }

    /// Standard output, for what is written while a run goes on.
    pub(super) fn stream() -> io::Stdout {
        io::stdout()
    }

    /// Writes a line for the person. Nothing can be done when even that fails.
    #[expect(clippy::unused_self, reason = "whoever writes must have been given the console")]
    pub(super) fn say(&self, line: &str) {
        let _ = writeln!(io::stderr().lock(), "{line}");
    }
}
