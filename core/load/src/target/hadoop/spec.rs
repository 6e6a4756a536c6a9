//! The options of a Hadoop target, and the capabilities of the file system behind its URI.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use super::super::{root_directory, Capabilities, DropCaches, Fsync};
use crate::{Error, Result};

/// Capabilities of HDFS, which supports the most operations of all Hadoop file systems. For other
/// file systems, `Spec::capabilities` removes the capabilities that they lack.
pub const CAPABILITIES: Capabilities = Capabilities {
    pwrite: false,
    // HDFS truncates asynchronously after the call has returned, and until then refuses to append
    // to the file.
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

/// A Hadoop file system, the Java classes of its client, and its configuration.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct Spec {
    /// The URI of the file system, such as hdfs://host:8020 or file:///. The class path must have a
    /// client for its scheme.
    pub uri: String,
    /// An existing directory, in which the run's directory is created.
    #[serde(default = "root_directory")]
    pub root: String,
    /// Class path of Hadoop's client: jars and folders, separated by colons. FOLDER/* means all
    /// jars in that folder.
    pub class_path: String,
    /// Paths of Hadoop's configuration files; later files take precedence.
    #[serde(default)]
    pub configuration: Vec<String>,
    /// Hadoop properties by name. They take precedence over all configuration files.
    #[serde(default)]
    pub properties: BTreeMap<String, String>,
    /// Number of replicas of a block; by default the number in Hadoop's configuration.
    #[serde(default)]
    pub replication: Option<u16>,
    /// Size of a block in bytes; by default the size in Hadoop's configuration.
    #[serde(default)]
    pub block_size_bytes: Option<u64>,
    /// Whether each completed block is synced to disk (CreateFlag.SYNC_BLOCK).
    #[serde(default)]
    pub sync_block: bool,
    /// Whether all threads share one client, as `FileSystem.get` returns it. Otherwise each thread
    /// has a client with separate connections.
    #[serde(default)]
    pub shared_client: bool,
    /// Maximum heap of the Java virtual machine, bytes. The value of the first Hadoop target of a
    /// process applies to all Hadoop targets of this process.
    #[serde(default = "heap_bytes")]
    pub heap_bytes: u64,
    /// Whether to bypass the page cache. Only false is supported; true is an error.
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

    /// The capabilities of the file system that the URI names. A file system of unknown type gets
    /// the capabilities of HDFS without append, extended attributes, sync and permissions.
    pub fn capabilities(&self) -> Capabilities {
        match self.uri.split(':').next().unwrap_or_default() {
            "hdfs" | "viewfs" => CAPABILITIES,
            // Hadoop's client of the local file system keeps checksum files, so files cannot be
            // overwritten. The client does not forward hsync to the operating system.
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
