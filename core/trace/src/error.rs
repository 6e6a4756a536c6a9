//! The errors of this crate. Each has an operation, a file, a place in the file, and a reason.

use std::fmt;
use std::path::{Path, PathBuf};

/// The cause of an error: the input or the machine. The exit code of the command depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The input is invalid; a retry cannot succeed.
    Input,
    /// The machine failed (disk full, file unreadable); a retry may succeed.
    Run,
}

/// The place in a file at which an error was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilePosition {
    /// The file as a whole.
    Whole,
    /// Number of bytes from the start of the file.
    Byte(u64),
    /// Line and column, both counted from 1.
    Line(usize, usize),
}

/// An error of reading or writing traces, printed as one line.
#[derive(Debug, thiserror::Error)]
#[error("{operation} {}{place}: {reason}", one_line(&path.display().to_string()))]
pub struct TraceError {
    /// Whether the input or the machine caused the error.
    pub kind: ErrorKind,
    /// The operation, in one or two words ("reading trace").
    pub operation: &'static str,
    /// The file, or another description of the input.
    pub path: PathBuf,
    /// The place in the file at which the error was found.
    pub place: FilePosition,
    /// Why the operation failed.
    pub reason: String,
}

/// The result type of this crate.
pub type Result<T> = std::result::Result<T, TraceError>;

impl TraceError {
    /// Creates the error for invalid input at `place` of the file `path`.
    pub fn input(path: &Path, place: FilePosition, reason: impl AsRef<str>) -> Self {
        Self {
            kind: ErrorKind::Input,
            operation: "reading trace",
            path: path.to_owned(),
            place,
            reason: one_line(reason.as_ref()),
        }
    }

    /// Converts an error of the operating system. If the file is missing or is a folder, the result
    /// is an error of the input. Any other cause becomes an error of the machine.
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
            place: FilePosition::Whole,
            reason,
        }
    }
}

impl fmt::Display for FilePosition {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FilePosition::Whole => Ok(()),
            FilePosition::Byte(offset) => write!(formatter, ", byte {offset}"),
            FilePosition::Line(line, column) => write!(formatter, ", line {line} column {column}"),
        }
    }
}

const REASON_CHARACTERS_MAX: usize = 300;

/// Makes text from a foreign file safe to print: replaces control characters and limits the length.
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
