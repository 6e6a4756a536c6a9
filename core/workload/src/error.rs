//! The error of a specification that cannot be run.

/// An invalid value in a specification: key, value, what is allowed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("stream.{key} = {value}: {allowed}")]
pub struct SpecError {
    /// The key.
    pub key: &'static str,
    /// Its value, printed.
    pub value: String,
    /// What is allowed.
    pub allowed: &'static str,
}
