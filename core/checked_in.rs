//! Compares a JSON Schema of Rust's types with the file that is checked in; a test of each crate
//! whose types reach Python includes this file.

/// Panics when `file`, in the folder of the crate, is not the text of `schema`. With
/// DFSLAB_WRITE_SCHEMA in the environment, the file is written first.
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
