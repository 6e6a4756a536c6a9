//! The error for a workload specification that cannot be run.

/// An invalid value in a specification: its key, its value, and what is allowed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("stream.{key} = {value}: {allowed}")]
pub struct SpecError {
    /// Key of the invalid value in the specification.
    pub key: &'static str,
    /// The invalid value as text.
    pub value: String,
    /// The values that the key allows, as text.
    pub allowed: &'static str,
}
