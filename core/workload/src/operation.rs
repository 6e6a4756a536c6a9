//! Operations and their canonical encoding.

use serde::{Deserialize, Serialize};

/// A logical operation: a whole transaction on one file or directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OperationKind {
    /// Open, read to the end, close.
    Read,
    /// Create, write, (sync,) close.
    Write,
    /// Open at the end, write, (sync,) close.
    Append,
    /// Create an empty file and close it.
    Create,
    /// Look up attributes.
    Stat,
    /// List the client's directory.
    List,
    /// Rename to the other of a file's two names.
    Rename,
    /// Remove a file.
    Delete,
    /// Make a directory.
    Mkdir,
}

impl OperationKind {
    /// All kinds, in the order of their codes.
    pub const ALL: [OperationKind; 9] = [
        OperationKind::Read,
        OperationKind::Write,
        OperationKind::Append,
        OperationKind::Create,
        OperationKind::Stat,
        OperationKind::List,
        OperationKind::Rename,
        OperationKind::Delete,
        OperationKind::Mkdir,
    ];

    /// The name used in specifications and results.
    pub fn name(self) -> &'static str {
        match self {
            OperationKind::Read => "read",
            OperationKind::Write => "write",
            OperationKind::Append => "append",
            OperationKind::Create => "create",
            OperationKind::Stat => "stat",
            OperationKind::List => "list",
            OperationKind::Rename => "rename",
            OperationKind::Delete => "delete",
            OperationKind::Mkdir => "mkdir",
        }
    }

    /// Whether it needs a file that is already there.
    pub fn needs_file(self) -> bool {
        use OperationKind::{Append, Delete, List, Read, Rename, Stat};
        matches!(self, Read | Append | Stat | List | Rename | Delete)
    }

    /// Whether file bytes are moved.
    pub fn moves_data(self) -> bool {
        use OperationKind::{Append, Read, Write};
        matches!(self, Read | Write | Append)
    }
}

/// One operation of one client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    /// The client that does it.
    pub client: u32,
    /// Its number in the client's stream.
    pub index: u64,
    /// What is done.
    pub kind: OperationKind,
    /// The file, numbered within its client.
    pub file: u64,
    /// Bytes moved; 0 when none.
    pub size_bytes: u64,
    /// Bytes of one read or write call.
    pub transfer_size_bytes: u64,
}

/// Bytes of one encoded operation.
pub const ENCODED_BYTES: usize = 40;

/// The canonical form, fixed width and little endian: two streams are the same when these are.
pub fn encode(operations: &[Operation]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(operations.len() * ENCODED_BYTES);
    for operation in operations {
        bytes.extend_from_slice(&operation.client.to_le_bytes());
        bytes.extend_from_slice(&(operation.kind as u32).to_le_bytes());
        bytes.extend_from_slice(&operation.index.to_le_bytes());
        bytes.extend_from_slice(&operation.file.to_le_bytes());
        bytes.extend_from_slice(&operation.size_bytes.to_le_bytes());
        bytes.extend_from_slice(&operation.transfer_size_bytes.to_le_bytes());
    }
    bytes
}

/// Back from the canonical form; None when the bytes are not one.
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
    })
}
