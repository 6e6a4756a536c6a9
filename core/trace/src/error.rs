//! The errors of this crate: operation, file, place in the file, and reason.

use std::fmt;
use std::path::{Path, PathBuf};

/// Whether the input or the machine caused an error; the command maps it to an exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The input is invalid; a retry cannot succeed.
    Input,
    /// The machine failed (disk full, file unreadable); a retry may succeed.
    Run,
}

/// The place in a file at which an error was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The file as a whole.
    Whole,
    /// Bytes from the start of the file.
    Byte(u64),
    /// Line and column, both counted from 1.
    Line(usize, usize),
}

/// An operating error: kind, operation, file, place and reason, printed as one line.
#[derive(Debug, thiserror::Error)]
#[error("{operation} {}{place}: {reason}", one_line(&path.display().to_string()))]
pub struct TraceError {
    /// The cause of the error.
    pub kind: ErrorKind,
    /// The operation, in one or two words ("reading trace").
    pub operation: &'static str,
    /// The file, or a description of the input.
    pub path: PathBuf,
    /// The place in the file.
    pub place: Place,
    /// Why the operation failed.
    pub reason: String,
}

/// The result type of this crate.
pub type Result<T> = std::result::Result<T, TraceError>;

impl TraceError {
    /// An error: the input at `place` of `path` is invalid.
    pub fn input(path: &Path, place: Place, reason: impl AsRef<str>) -> Self {
        Self {
            kind: ErrorKind::Input,
            operation: "reading trace",
            path: path.to_owned(),
            place,
            reason: one_line(reason.as_ref()),
        }
    }

    /// Converts an operating system error; a missing file is an input error.
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
