//! What clients do: the operation vocabulary, and specifications that become seeded streams.

mod operation;
mod random;
mod spec;
mod stream;

pub use operation::{decode, encode, Operation, OperationKind, ENCODED_BYTES};
pub use random::{draw, normal, unit};
pub use spec::{FileChoice, FileSize, Share, SpecError, StreamSpec};
pub use stream::{prepared_files, size_of, Stream};
