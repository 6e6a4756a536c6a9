//! The errors of this crate: what was attempted, on which file, at which place, and why not.

use std::fmt;
use std::path::{Path, PathBuf};

/// Whose fault an error is; the border maps it to an exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The caller's input is wrong; running again cannot help.
    Input,
    /// The machine refused (disk full, file unreadable); running again may help.
    Run,
}

/// Where in a file an error was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The file as a whole.
    Whole,
    /// Bytes from the start of the file.
    Byte(u64),
    /// Line and column, both counted from one.
    Line(usize, usize),
}

/// An operating error: kind, operation, file, place and reason, printed as one line.
#[derive(Debug, thiserror::Error)]
#[error("{operation} {}{place}: {reason}", one_line(&path.display().to_string()))]
pub struct TraceError {
    /// Whose fault it is.
    pub kind: ErrorKind,
    /// What was being done, in one or two words ("reading trace").
    pub operation: &'static str,
    /// The file, or the words that name the thing worked on.
    pub path: PathBuf,
    /// Where in the file.
    pub place: Place,
    /// Why it cannot go on.
    pub reason: String,
}

/// The result of every fallible operation here.
pub type Result<T> = std::result::Result<T, TraceError>;

impl TraceError {
    /// The input at `place` of `path` is not what it should be.
    pub fn input(path: &Path, place: Place, reason: impl AsRef<str>) -> Self {
        Self {
            kind: ErrorKind::Input,
            operation: "reading trace",
            path: path.to_owned(),
            place,
            reason: one_line(reason.as_ref()),
        }
    }

    /// The operating system refused; a file that is not there is the caller's mistake.
    pub fn from_io(operation: &'static str, path: &Path, source: &std::io::Error) -> Self {
        let kind = match source.kind() {
            std::io::ErrorKind::NotFound | std::io::ErrorKind::IsADirectory => ErrorKind::Input,
            _ => ErrorKind::Run,
        };
        let reason = one_line(&source.to_string());
        Self {
            kind,
            operation,
            path: path.to_owned(),
            place: Place::Whole,
            reason,
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Whole => Ok(()),
            Place::Byte(offset) => write!(formatter, ", byte {offset}"),
            Place::Line(line, column) => write!(formatter, ", line {line} column {column}"),
        }
    }
}

const REASON_CHARACTERS_MAX: usize = 300;

/// Text from a foreign file, made safe to print: no control characters, bounded length.
fn one_line(text: &str) -> String {
    let mut line: String = text
        .chars()
        .take(REASON_CHARACTERS_MAX)
        .map(|character| {
            if character.is_control() {
                ' '
            } else {
                character
            }
        })
        .collect();
    if text.chars().nth(REASON_CHARACTERS_MAX).is_some() {
        line.push('…');
    }
    line
}
