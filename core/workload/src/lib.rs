//! Defines the types of file operations, and generates seeded streams of operations from
//! specifications.

mod access;
mod arrival;
mod error;
mod operation;
mod prepared;
mod random;
mod size;
mod spec;
mod stream;
#[cfg(test)]
mod tests;
mod validate;

pub use access::{Access, Order, Passage, TransferSequence};
pub use arrival::{Arrival, Open, Schedule, Session, Spacing, Start};
pub use error::SpecError;
pub use operation::{decode, encode, Operation, OperationKind, ENCODED_BYTES};
pub use prepared::{prepared_extents, prepared_files, size_of};
pub use random::{draw, normal, unit};
pub use size::Size;
pub use spec::{FileChoice, Files, Given, Layout, MixOrder, Phase, Prepare, Share, StreamSpec};
pub use stream::Stream;
