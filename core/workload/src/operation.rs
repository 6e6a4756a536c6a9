//! The types of file operations, and the encoding of operations as bytes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The type of a logical operation. An operation is either a complete transaction on one file or
/// directory, or a single call on a file that is kept open.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum OperationKind {
    /// Open a file, read it to the end, and close it.
    Read,
    /// Create a file, write it, sync it if requested, and close it.
    Write,
    /// Open a file at its end, write, sync it if requested, and close it.
    Append,
    /// Create an empty file and close it.
    Create,
    /// Look up the attributes of a file.
    Stat,
    /// List the client's directory.
    List,
    /// Rename a file from one of its two names to the other.
    Rename,
    /// Remove a file.
    Delete,
    /// Make a directory.
    Mkdir,
    /// Open a file and keep it open.
    Open,
    /// Close a file that is kept open.
    Close,
    /// Read one transfer at an offset of a file that is kept open.
    Pread,
    /// Write one transfer at an offset of a file that is kept open.
    Pwrite,
    /// Force the data of an open file to disk.
    Fsync,
    /// Open an existing file, overwrite its bytes, sync it if requested, and close it.
    Overwrite,
    /// Test whether a name exists.
    Exists,
    /// Remove an empty directory that the client made.
    Rmdir,
    /// Truncate a file to half its bytes.
    Truncate,
    /// Change a file's permissions.
    Chmod,
    /// Set an extended attribute of a file.
    SetXattr,
    /// Get an extended attribute that was set.
    GetXattr,
    /// Open a file, acquire and release its lock, and close it.
    Lock,
}

/// Name of every operation type, in the order of the variants of `OperationKind`.
const NAMES: [&str; 22] = [
    "read",
    "write",
    "append",
    "create",
    "stat",
    "list",
    "rename",
    "delete",
    "mkdir",
    "open",
    "close",
    "pread",
    "pwrite",
    "fsync",
    "overwrite",
    "exists",
    "rmdir",
    "truncate",
    "chmod",
    "set_xattr",
    "get_xattr",
    "lock",
];

impl OperationKind {
    /// All operation types, in the order of their variants.
    pub const ALL: [OperationKind; 22] = [
        OperationKind::Read,
        OperationKind::Write,
        OperationKind::Append,
        OperationKind::Create,
        OperationKind::Stat,
        OperationKind::List,
        OperationKind::Rename,
        OperationKind::Delete,
        OperationKind::Mkdir,
        OperationKind::Open,
        OperationKind::Close,
        OperationKind::Pread,
        OperationKind::Pwrite,
        OperationKind::Fsync,
        OperationKind::Overwrite,
        OperationKind::Exists,
        OperationKind::Rmdir,
        OperationKind::Truncate,
        OperationKind::Chmod,
        OperationKind::SetXattr,
        OperationKind::GetXattr,
        OperationKind::Lock,
    ];

    /// The operation type's name in specifications and results.
    pub fn name(self) -> &'static str {
        NAMES[self as usize]
    }

    /// Whether the operation needs an existing file.
    pub fn needs_file(self) -> bool {
        use OperationKind::{Create, Mkdir, Rmdir, Write};
        !matches!(self, Write | Create | Mkdir | Rmdir)
    }

    /// Whether the operation reads or writes bytes of a file.
    pub fn moves_data(self) -> bool {
        use OperationKind::{Append, Overwrite, Pread, Pwrite, Read, Write};
        matches!(self, Read | Write | Append | Pread | Pwrite | Overwrite)
    }

    /// Whether the operation changes neither the names nor the sizes of files. Only such an
    /// operation is allowed on a file of another client.
    pub fn leaves_names(self) -> bool {
        use OperationKind::{Chmod, Close, Pread, Pwrite, Read, Stat};
        use OperationKind::{Exists, Fsync, GetXattr, List, Lock, Open, Overwrite};
        matches!(
            self,
            Read | Stat
                | List
                | Exists
                | Open
                | Close
                | Pread
                | Pwrite
                | Fsync
                | Overwrite
                | Lock
                | GetXattr
                | Chmod
        )
    }
}

/// One operation of one client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    /// The client that executes the operation.
    pub client: u32,
    /// Index of the operation in its client's stream.
    pub index: u64,
    /// The operation type.
    pub kind: OperationKind,
    /// Number of the file among the files of its owner.
    pub file: u64,
    /// Bytes that the operation reads or writes; 0 if it moves none.
    pub size_bytes: u64,
    /// Bytes of one read or write call.
    pub transfer_size_bytes: u64,
    /// For a single transfer (positional read or write), its offset in bytes. For an operation that
    /// accesses a file in an order other than front to back, the size of the file in bytes.
    /// Otherwise 0.
    pub offset_bytes: u64,
    /// The client that owns the file, which is usually the client that executes the operation.
    pub owner: u32,
    /// The phase of the stream to which the operation belongs.
    pub phase: u32,
}

/// Number of bytes that encode one operation.
pub const ENCODED_BYTES: usize = 56;

/// Encodes operations with a fixed width and in little-endian order. Two streams are equal exactly
/// if their bytes are equal.
pub fn encode(operations: &[Operation]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(operations.len() * ENCODED_BYTES);
    for operation in operations {
        bytes.extend_from_slice(&operation.client.to_le_bytes());
        bytes.extend_from_slice(&(operation.kind as u32).to_le_bytes());
        bytes.extend_from_slice(&operation.index.to_le_bytes());
        bytes.extend_from_slice(&operation.file.to_le_bytes());
        bytes.extend_from_slice(&operation.size_bytes.to_le_bytes());
        bytes.extend_from_slice(&operation.transfer_size_bytes.to_le_bytes());
        bytes.extend_from_slice(&operation.offset_bytes.to_le_bytes());
        bytes.extend_from_slice(&operation.owner.to_le_bytes());
        bytes.extend_from_slice(&operation.phase.to_le_bytes());
    }
    bytes
}

/// Decodes operations from the bytes that `encode` returns. None when the bytes are not valid.
pub fn decode(bytes: &[u8]) -> Option<Vec<Operation>> {
    if !bytes.len().is_multiple_of(ENCODED_BYTES) {
        return None;
    }
    bytes.chunks_exact(ENCODED_BYTES).map(decode_one).collect()
}

fn decode_one(chunk: &[u8]) -> Option<Operation> {
    let word = |at: usize| u32::from_le_bytes(chunk[at..at + 4].try_into().expect("4 bytes"));
    let long = |at: usize| u64::from_le_bytes(chunk[at..at + 8].try_into().expect("8 bytes"));
    Some(Operation {
        client: word(0),
        kind: *OperationKind::ALL.get(word(4) as usize)?,
        index: long(8),
        file: long(16),
        size_bytes: long(24),
        transfer_size_bytes: long(32),
        offset_bytes: long(40),
        owner: word(48),
        phase: word(52),
    })
}
