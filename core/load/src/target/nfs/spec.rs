//! The options of an NFS target.

use schemars::JsonSchema;
use serde::Deserialize;

use super::super::{root_directory, DropCaches, Fsync};
use crate::{Error, Result};

/// The smallest transfer size that servers are known to offer.
pub const REQUEST_BYTES_LEAST: u32 = 512;
pub const REQUEST_BYTES_MOST: u32 = 16 << 20;

/// How durable a write is before the server answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Stability {
    /// The server may keep data in memory until a COMMIT.
    #[default]
    Unstable,
    /// The data is on disk.
    DataSync,
    /// The data and metadata are on disk.
    FileSync,
}

/// An export, how to reach it and how to use it.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct Spec {
    /// Host name or address.
    pub server: String,
    /// A path as the server exports it.
    pub export: String,
    /// An existing directory of the export.
    #[serde(default = "root_directory")]
    pub root: String,
    /// The port of the server's port mapper, which returns the ports of its programs.
    #[serde(default = "portmapper_port")]
    pub portmapper_port: u16,
    /// Call from a port below 1024, which some servers require and only root may use.
    #[serde(default)]
    pub privileged_port: bool,
    /// Maximum bytes of one READ; the server may offer less.
    #[serde(default = "request_bytes")]
    pub read_size_bytes: u32,
    /// Maximum bytes of one WRITE; the server may offer less.
    #[serde(default = "request_bytes")]
    pub write_size_bytes: u32,
    /// How durable a write is before it returns.
    #[serde(default)]
    pub stability: Stability,
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

fn portmapper_port() -> u16 {
    111
}

fn request_bytes() -> u32 {
    1 << 20
}

impl Spec {
    /// Checks for values that no server accepts.
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
