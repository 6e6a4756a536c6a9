//! The JSON forms of inscriptions, cells and constants, used only for the JSON Schema. Serde reads
//! them as plain values, so that messages can quote a wrong value.

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
mod tests {
    use schemars::generate::SchemaSettings;

    #[test]
    fn the_checked_in_schema_is_that_of_the_types() {
        let generator = SchemaSettings::draft2020_12().into_generator();
        let schema = generator.into_root_schema_for::<crate::definition::Written>();
        let mut text = serde_json::to_string_pretty(&schema).expect("plain data");
        text.push('\n');
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/schema.json");
        if std::env::var_os("DFSLAB_WRITE_SCHEMA").is_some() {
            std::fs::write(path, &text).expect("the source folder can be written");
        }
        let found = std::fs::read_to_string(path).expect("the schema is checked in");
        assert_eq!(found, text, "DFSLAB_WRITE_SCHEMA=1 writes it again");
    }
}
