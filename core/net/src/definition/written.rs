//! The JSON forms of inscriptions, field values and constants. They serve only to generate the JSON
//! Schema. Serde reads the data as plain JSON values, so that messages can quote a wrong value.

#![allow(dead_code)]

use schemars::JsonSchema;

/// A number, a truth value, or an expression as text.
#[derive(JsonSchema)]
#[serde(untagged)]
pub(crate) enum WrittenInscription {
    Boolean(bool),
    Integer(i64),
    Real(f64),
    Expression(String),
}

/// The name of a variable, whose whole token is copied, or an inscription for each field.
#[derive(JsonSchema)]
#[serde(untagged)]
pub(crate) enum WrittenToken {
    Variable(String),
    Fields(Vec<WrittenInscription>),
}

/// The value of a token's field; lists contain single values or records.
#[derive(JsonSchema)]
#[serde(untagged)]
pub(crate) enum Cell {
    Boolean(bool),
    Integer(i64),
    Real(f64),
    Text(String),
    List(Vec<Cell>),
}

/// A named number.
#[derive(JsonSchema)]
#[serde(untagged)]
pub(crate) enum Constant {
    Integer(i64),
    Real(f64),
}

#[cfg(test)]
#[path = "../../../checked_in.rs"]
pub(crate) mod checked_in;

#[cfg(test)]
mod tests {
    use schemars::generate::SchemaSettings;

    #[test]
    fn the_checked_in_schema_is_that_of_the_types() {
        let generator = SchemaSettings::draft2020_12().into_generator();
        let schema = generator.into_root_schema_for::<crate::definition::Written>();
        super::checked_in::compare(&schema, "schema.json");
    }
}
