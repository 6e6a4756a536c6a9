//! The files that exist at a point of an operation stream, and the purposes for which random
//! numbers are drawn.

/// The purpose of a random number. The purpose is part of the number's key, so that numbers for
/// different purposes are independent. `prepared.rs`, `access.rs` and `arrival.rs` define further
/// purposes.
#[derive(Clone, Copy)]
pub(super) enum Purpose {
    Kind = 1,
    File = 2,
    Place = 5,
}

/// A file that exists at this point of the stream.
#[derive(Clone, Copy)]
pub(super) struct Live {
    pub(super) file: u64,
    pub(super) bytes: u64,
    pub(super) owner: u32,
    /// Number of single transfers (positional reads and writes) made in the file so far.
    pub(super) turn: u32,
    /// Whether an earlier open operation keeps the file open.
    pub(super) held: bool,
    /// Whether the extended attribute of the file is set.
    pub(super) tagged: bool,
    /// Whether the file has its alternative name. Each rename operation switches between the two
    /// names of a file.
    pub(super) renamed: bool,
}
