//! Shared test code: checks that the JSON Schema of a crate's Rust types equals the schema file in
//! the repository. Each crate whose types are used from Python includes this module in a test.

/// If the environment variable DFSLAB_WRITE_SCHEMA is set, first writes `schema` as JSON to the
/// file `file`, relative to the crate's folder. Then panics unless this file holds the text of
/// `schema` as JSON.
pub(crate) fn compare(schema: &schemars::Schema, file: &str) {
    let mut text = serde_json::to_string_pretty(schema).expect("plain data");
    text.push('\n');
    let path = format!("{}/{file}", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("DFSLAB_WRITE_SCHEMA").is_some() {
        std::fs::write(&path, &text).expect("the source folder can be written");
    }
    let found = std::fs::read_to_string(&path).expect("the schema is checked in");
    assert_eq!(found, text, "DFSLAB_WRITE_SCHEMA=1 writes it again");
}
