//! The checked-in JSON Schemas are those of the types here; Python's types are made from the
//! report's and compared with the plan's.

use schemars::generate::SchemaSettings;
use schemars::Schema;

fn compare(schema: &Schema, file: &str) {
    let mut text = serde_json::to_string_pretty(schema).expect("plain data");
    text.push('\n');
    let path = format!("{}/{file}", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("DFSLAB_WRITE_SCHEMA").is_some() {
        std::fs::write(&path, &text).expect("the source folder can be written");
    }
    let found = std::fs::read_to_string(&path).expect("the schema is checked in");
    assert_eq!(found, text, "DFSLAB_WRITE_SCHEMA=1 writes it again");
}

#[test]
fn the_checked_in_schema_is_that_of_the_report() {
    let generator = SchemaSettings::draft2020_12()
        .for_serialize()
        .into_generator();
    let schema = generator.into_root_schema_for::<dfslab_load::Report>();
    compare(&schema, "schema.json");
}

#[test]
fn the_checked_in_schema_is_that_of_the_plan() {
    let generator = SchemaSettings::draft2020_12().into_generator();
    let schema = generator.into_root_schema_for::<dfslab_load::Plan>();
    compare(&schema, "plan_schema.json");
}
