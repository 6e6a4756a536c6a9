//! The error for a workload specification that cannot be run.

/// An invalid value in a specification: its key, its value, and what is allowed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("stream.{key} = {}: {allowed}", shortened(.value))]
pub struct SpecError {
    /// Key of the invalid value in the specification.
    pub key: &'static str,
    /// The invalid value as text.
    pub value: String,
    /// The values that the key allows, as text.
    pub allowed: &'static str,
}

/// Writes a number of more than 20 digits with an exponent, because 1e300 would be printed with 301
/// digits. Other texts are returned unchanged.
fn shortened(value: &str) -> String {
    match value.parse::<f64>() {
        Ok(number) if value.len() > 20 => format!("{number:e}"),
        _ => value.to_owned(),
    }
}
