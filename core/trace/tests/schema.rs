//! Tests that the stored JSON Schemas equal the schemas of the Rust types. The Python types are
//! generated from the stored schemas.

use schemars::generate::SchemaSettings;

#[path = "../../checked_in.rs"]
mod checked_in;

#[test]
fn the_checked_in_schema_is_that_of_reports() {
    let generator = SchemaSettings::draft2020_12()
        .for_serialize()
        .into_generator();
    let schema = generator.into_root_schema_for::<dfslab_trace::Report>();
    checked_in::compare(&schema, "schema.json");
}

#[test]
fn the_checked_in_schema_is_that_of_merged_calls() {
    let generator = SchemaSettings::draft2020_12().into_generator();
    let schema = generator.into_root_schema_for::<dfslab_trace::MergedCalls>();
    checked_in::compare(&schema, "merged_schema.json");
}
