//! Tests that the JSON Schemas in this folder equal the schemas of the Rust types. Python's types
//! of the report are generated from the report's schema. Python's types of the plan are compared
//! with the plan's schema.

use schemars::generate::SchemaSettings;

#[path = "../../checked_in.rs"]
mod checked_in;

#[test]
fn the_checked_in_schema_is_that_of_the_report() {
    let generator = SchemaSettings::draft2020_12()
        .for_serialize()
        .into_generator();
    let schema = generator.into_root_schema_for::<dfslab_load::Report>();
    checked_in::compare(&schema, "schema.json");
}

#[test]
fn the_checked_in_schema_is_that_of_the_plan() {
    let generator = SchemaSettings::draft2020_12().into_generator();
    let schema = generator.into_root_schema_for::<dfslab_load::Plan>();
    checked_in::compare(&schema, "plan_schema.json");
}
