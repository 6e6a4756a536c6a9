//! The options of an NFS target.

use schemars::JsonSchema;
use serde::Deserialize;

use super::super::{root_directory, DropCaches, Fsync};
use crate::{Error, Result};

/// The smallest transfer size in bytes that servers are known to offer.
pub const REQUEST_BYTES_LEAST: u32 = 512;
pub const REQUEST_BYTES_MOST: u32 = 16 << 20;

/// How durable the data of a write is when the server answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Stability {
    /// The server may keep the data in memory until a COMMIT request.
    #[default]
    Unstable,
    /// The data is on disk before the server answers.
    DataSync,
    /// The data and metadata are on disk before the server answers.
    FileSync,
}

/// An NFS export, how to reach its server, and how to use it.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct Spec {
    /// Host name or address of the server.
    pub server: String,
    /// The path of the export, as the server exports it.
    pub export: String,
    /// An existing directory of the export, in which the run's directory is created.
    #[serde(default = "root_directory")]
    pub root: String,
    /// Port of the server's port mapper, which reports the ports of the NFS and mount programs.
    #[serde(default = "portmapper_port")]
    pub portmapper_port: u16,
    /// Whether to call from a port below 1024. Some servers require such a port, and only root may
    /// use one.
    #[serde(default)]
    pub privileged_port: bool,
    /// Maximum bytes of one READ request; the server may offer less.
    #[serde(default = "request_bytes")]
    pub read_size_bytes: u32,
    /// Maximum bytes of one WRITE request; the server may offer less.
    #[serde(default = "request_bytes")]
    pub write_size_bytes: u32,
    /// How durable the data of a write is when the server answers.
    #[serde(default)]
    pub stability: Stability,
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

fn portmapper_port() -> u16 {
    111
}

fn request_bytes() -> u32 {
    1 << 20
}

impl Spec {
    /// Checks for values that no NFS server accepts.
    pub fn check(&self) -> Result<()> {
        if !self.export.starts_with('/') {
            let reason = format!("{:?} must begin with /", self.export);
            return Err(Error::input("target.export", reason));
        }
        let sizes = [
            ("target.read_size_bytes", self.read_size_bytes),
            ("target.write_size_bytes", self.write_size_bytes),
        ];
        for (key, bytes) in sizes {
            if !(REQUEST_BYTES_LEAST..=REQUEST_BYTES_MOST).contains(&bytes) {
                let reason =
                    format!("{bytes}; allowed: {REQUEST_BYTES_LEAST} to {REQUEST_BYTES_MOST}");
                return Err(Error::input(key, reason));
            }
        }
        Ok(())
    }
}
