//! The options of a Hadoop target, and the capabilities of its file system.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use super::super::{root_directory, Capabilities, DropCaches, Fsync};
use crate::{Error, Result};

/// Capabilities of HDFS, the largest set; `Spec::capabilities` removes what other file systems
/// lack.
pub const CAPABILITIES: Capabilities = Capabilities {
    pwrite: false,
    // HDFS truncates asynchronously after the call has returned, and refuses appends meanwhile.
    truncate: false,
    lock: false,
    sync_io: false,
    mmap: false,
    direct_io: false,
    drop_file_cache: false,
    ..Capabilities::ALL
};

const HEAP_BYTES: u64 = 1 << 30;
const HEAP_BYTES_LEAST: u64 = 64 << 20;

/// A Hadoop file system, its classes and its configuration.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct Spec {
    /// Any URI for which the class path has a file system: hdfs://host:8020, file:///.
    pub uri: String,
    /// An existing directory.
    #[serde(default = "root_directory")]
    pub root: String,
    /// Jars and folders, separated by colons; FOLDER/* is all jars in it.
    pub class_path: String,
    /// Configuration files; later ones take precedence.
    #[serde(default)]
    pub configuration: Vec<String>,
    /// Hadoop properties, which take precedence over all files.
    #[serde(default)]
    pub properties: BTreeMap<String, String>,
    /// Replicas of a block; None: as configured.
    #[serde(default)]
    pub replication: Option<u16>,
    /// Bytes of a block; None: as configured.
    #[serde(default)]
    pub block_size_bytes: Option<u64>,
    /// Whether each completed block is synced to disk (CreateFlag.SYNC_BLOCK).
    #[serde(default)]
    pub sync_block: bool,
    /// One client for all threads, as `FileSystem.get` returns it, instead of one client with
    /// separate connections for each.
    #[serde(default)]
    pub shared_client: bool,
    /// Maximum heap of the Java machine; the first target of a process determines it.
    #[serde(default = "heap_bytes")]
    pub heap_bytes: u64,
    /// Not supported; it exists so that requesting it is a clear error.
    #[serde(default)]
    pub direct: bool,
    /// When data is forced to disk.
    #[serde(default)]
    pub fsync: Fsync,
    /// Caches to drop before the timed part.
    #[serde(default)]
    pub drop_caches: DropCaches,
}

fn heap_bytes() -> u64 {
    HEAP_BYTES
}

impl Spec {
    /// Checks for values that no Hadoop file system accepts.
    pub fn check(&self) -> Result<()> {
        let wrong = |key: &str, reason: String| Err(Error::input(key, reason));
        if !self.uri.contains(":/") {
            let reason = format!("{:?}; allowed: SCHEME://HOST:PORT or file:///", self.uri);
            return wrong("target.uri", reason);
        }
        if self.replication.is_some_and(|n| !(1..=512).contains(&n)) {
            let reason = format!("{:?}; allowed: 1 to 512", self.replication.unwrap_or(0));
            return wrong("target.replication", reason);
        }
        let block = self.block_size_bytes.unwrap_or(512);
        if block == 0 || !block.is_multiple_of(512) || block > 1 << 40 {
            let reason = format!("{block}; allowed: multiples of 512 up to 1 TiB");
            return wrong("target.block_size_bytes", reason);
        }
        if self.heap_bytes < HEAP_BYTES_LEAST {
            let reason = format!("{}; allowed: at least 64 MiB", self.heap_bytes);
            return wrong("target.heap_bytes", reason);
        }
        Ok(())
    }

    /// The capabilities of the URI's file system; unknown file systems get the least set.
    pub fn capabilities(&self) -> Capabilities {
        match self.uri.split(':').next().unwrap_or_default() {
            "hdfs" | "viewfs" => CAPABILITIES,
            // The local file system's checksum files forbid overwrites, and it does not pass on
            // hsync.
            "file" => Capabilities {
                append: false,
                xattr: false,
                fsync: false,
                ..CAPABILITIES
            },
            _ => Capabilities {
                append: false,
                xattr: false,
                fsync: false,
                chmod: false,
                ..CAPABILITIES
            },
        }
    }
}
