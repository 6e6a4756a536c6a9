//! Errors of operations on a target (the file system under load). Each error has a kind, the
//! operation, the path and the target's message.

use std::fmt;

/// The kind of an error, which determines what a caller can do about the error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// The plan or its target is invalid, so the user must change the input.
    Input,
    /// A file or directory that should exist does not.
    NotFound,
    /// A file or directory that should not exist does.
    Exists,
    /// Permission was denied.
    Permission,
    /// The file system or the quota is full.
    NoSpace,
    /// The bytes read differ from the bytes written.
    Corruption,
    /// The server does not answer, or the connection broke.
    Unreachable,
    /// A call exceeded the target's time limit.
    Timeout,
    /// The client library of a file system, or the load generator itself, panicked or broke down.
    Crash,
    /// Any other error of the target.
    Other,
}

impl ErrorKind {
    /// Returns the name of the kind that reports use.
    pub fn name(self) -> &'static str {
        match self {
            ErrorKind::Input => "input",
            ErrorKind::NotFound => "not_found",
            ErrorKind::Exists => "exists",
            ErrorKind::Permission => "permission",
            ErrorKind::NoSpace => "no_space",
            ErrorKind::Corruption => "corruption",
            ErrorKind::Unreachable => "unreachable",
            ErrorKind::Timeout => "timeout",
            ErrorKind::Crash => "crash",
            ErrorKind::Other => "other",
        }
    }
}

/// Whether a retry of a failed operation can succeed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// A retry would fail again.
    Permanent,
    /// A retry may succeed.
    Temporary,
}

/// The error of one operation on one path.
#[derive(Clone, Debug)]
pub struct Error {
    /// The kind of the error.
    pub kind: ErrorKind,
    /// The attempted operation ("open", "write", …).
    pub operation: &'static str,
    /// The path of the file or directory.
    pub path: String,
    /// The target's message.
    pub context: String,
}

/// The result type of this crate.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// Creates an error from its kind, operation, path and message.
    pub fn new(
        kind: ErrorKind,
        operation: &'static str,
        path: &str,
        context: impl fmt::Display,
    ) -> Self {
        Error {
            kind,
            operation,
            path: path.to_string(),
            context: context.to_string(),
        }
    }

    /// Creates an error of invalid input. `key` is the key of the plan that has the wrong value.
    pub fn input(key: &str, context: impl fmt::Display) -> Self {
        Error::new(ErrorKind::Input, "check", key, context)
    }

    /// Whether a retry can succeed. Returns Temporary if the server was unreachable or a call
    /// exceeded its time limit. Returns Permanent for all other kinds of error.
    pub fn status(&self) -> Status {
        match self.kind {
            ErrorKind::Unreachable | ErrorKind::Timeout => Status::Temporary,
            _ => Status::Permanent,
        }
    }

    /// Converts an error of the operating system, which the given operation on the given path
    /// returned.
    pub fn io(operation: &'static str, path: &str, error: &std::io::Error) -> Self {
        use std::io::ErrorKind as Io;
        let kind = match error.kind() {
            Io::NotFound => ErrorKind::NotFound,
            Io::AlreadyExists => ErrorKind::Exists,
            Io::PermissionDenied | Io::ReadOnlyFilesystem => ErrorKind::Permission,
            Io::StorageFull | Io::QuotaExceeded => ErrorKind::NoSpace,
            Io::ConnectionRefused
            | Io::ConnectionReset
            | Io::ConnectionAborted
            | Io::BrokenPipe
            | Io::HostUnreachable
            | Io::NetworkUnreachable
            | Io::StaleNetworkFileHandle
            | Io::NotConnected => ErrorKind::Unreachable,
            Io::TimedOut => ErrorKind::Timeout,
            _ => ErrorKind::Other,
        };
        Error::new(kind, operation, path, error)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let context = self.context.replace('\n', " ");
        if self.kind == ErrorKind::Input {
            return write!(formatter, "{}: {}", self.path, context);
        }
        write!(formatter, "{} {:?}: {}", self.operation, self.path, context)
    }
}

impl std::error::Error for Error {}
