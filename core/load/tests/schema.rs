//! The checked-in JSON Schemas are those of the types here; Python's types are made from the
//! report's and compared with the plan's.

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
