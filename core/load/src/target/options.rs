//! Options that several types of targets have.

use schemars::JsonSchema;
use serde::Deserialize;

/// When written data is forced to disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Fsync {
    /// Data is never forced to disk.
    #[default]
    Never,
    /// Data is forced to disk before a file is closed.
    Close,
    /// Data is forced to disk after every write call.
    Write,
}

/// Whether a write returns before its data is on disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SyncIo {
    /// A write may return before its data is on disk.
    #[default]
    None,
    /// A write returns after its data is on disk (O_DSYNC).
    Data,
    /// A write returns after its data and metadata are on disk (O_SYNC).
    All,
}

/// Which caches are emptied before the timed part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DropCaches {
    /// No cache is emptied.
    #[default]
    None,
    /// The page-cache pages of the clients' files are dropped.
    Files,
    /// All clean pages, dentries and inodes of this machine are dropped (needs root).
    System,
}

/// The default of the option `root`: the root directory of the target.
pub fn root_directory() -> String {
    "/".to_string()
}
