//! Tests that the stored JSON Schema of reports equals the schema of the Rust types. The Python
//! types are generated from the stored schema.

use schemars::generate::SchemaSettings;

#[path = "../../checked_in.rs"]
mod checked_in;

#[test]
fn the_checked_in_schema_is_that_of_the_types() {
    let generator = SchemaSettings::draft2020_12()
        .for_serialize()
        .into_generator();
    let schema = generator.into_root_schema_for::<dfslab_trace::Report>();
    checked_in::compare(&schema, "schema.json");
}
