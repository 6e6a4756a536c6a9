//! The types of targets (file systems under load) that a plan can name, their options, and what the
//! options imply.

use schemars::JsonSchema;
use serde::Deserialize;

use super::capabilities::Capabilities;
use super::contract::Factory;
use super::options::{root_directory, DropCaches, Fsync, SyncIo};
use super::{hadoop, hdfs, nfs, null, opendal, posix};
use crate::{Error, Result};

/// A target of a run: its type and options.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum TargetSpec {
    /// A target that does nothing and so measures the generator itself.
    Null {
        /// When data is forced to disk; accepted without effect.
        #[serde(default)]
        fsync: Fsync,
    },
    /// POSIX calls on files under a directory.
    Posix {
        /// An existing directory, in which the run's directory is created.
        root: String,
        /// Whether to bypass the page cache (O_DIRECT).
        #[serde(default)]
        direct: bool,
        /// Whether writes wait for the disk.
        #[serde(default)]
        sync_io: SyncIo,
        /// Whether to read and write through mapped memory.
        #[serde(default)]
        mmap: bool,
        /// When data is forced to disk.
        #[serde(default)]
        fsync: Fsync,
        /// Caches to empty before the timed part.
        #[serde(default)]
        drop_caches: DropCaches,
    },
    /// HDFS, through a client that speaks its protocol in this process.
    Hdfs {
        /// The address of the NameNode, such as hdfs://host:8020.
        uri: String,
        /// An existing directory, in which the run's directory is created.
        #[serde(default = "root_directory")]
        root: String,
        /// Number of replicas of each block.
        replication: u32,
        /// Size of a block in bytes.
        block_size_bytes: u64,
        /// Whether all threads share one client. Otherwise each thread has a separate client.
        #[serde(default)]
        shared_client: bool,
        /// Whether to bypass the page cache. Only false is supported; true is an error.
        #[serde(default)]
        direct: bool,
        /// When data is forced to disk.
        #[serde(default)]
        fsync: Fsync,
        /// Caches to empty before the timed part.
        #[serde(default)]
        drop_caches: DropCaches,
    },
    /// NFS version 3, with a client in this process.
    Nfs(nfs::Spec),
    /// Any Hadoop file system, through the Java client that applications use.
    Hadoop(hadoop::Spec),
    /// An object store, or another service of the library OpenDAL.
    Opendal(opendal::Spec),
}

impl TargetSpec {
    /// The name of the target's type, as in plans.
    pub fn name(&self) -> &'static str {
        match self {
            TargetSpec::Null { .. } => "null",
            TargetSpec::Posix { .. } => "posix",
            TargetSpec::Hdfs { .. } => "hdfs",
            TargetSpec::Nfs(_) => "nfs",
            TargetSpec::Hadoop(_) => "hadoop",
            TargetSpec::Opendal(_) => "opendal",
        }
    }

    /// Checks the options for values that no file system of the target's type accepts.
    pub fn check(&self) -> Result<()> {
        let (replication, block_size_bytes) = match self {
            TargetSpec::Hdfs {
                replication,
                block_size_bytes,
                ..
            } => (replication, block_size_bytes),
            TargetSpec::Nfs(spec) => return spec.check(),
            TargetSpec::Hadoop(spec) => return spec.check(),
            TargetSpec::Opendal(spec) => return spec.check(),
            _ => return Ok(()),
        };
        if !(1..=512).contains(replication) {
            let reason = format!("{replication}; allowed: 1 to 512");
            return Err(Error::input("target.replication", reason));
        }
        if *block_size_bytes == 0
            || !block_size_bytes.is_multiple_of(512)
            || *block_size_bytes > 1 << 40
        {
            let reason = format!("{block_size_bytes}; allowed: multiples of 512 up to 1 TiB");
            return Err(Error::input("target.block_size_bytes", reason));
        }
        Ok(())
    }

    /// The capabilities of this target, given its type and options.
    pub fn capabilities(&self) -> Capabilities {
        match self {
            TargetSpec::Hadoop(spec) => spec.capabilities(),
            TargetSpec::Opendal(spec) => spec.capabilities(),
            _ => capabilities_of(self.name()).expect("a target's own name"),
        }
    }

    /// Whether the options request direct I/O.
    pub fn wants_direct(&self) -> bool {
        matches!(
            self,
            TargetSpec::Posix { direct: true, .. }
                | TargetSpec::Hdfs { direct: true, .. }
                | TargetSpec::Nfs(nfs::Spec { direct: true, .. })
                | TargetSpec::Hadoop(hadoop::Spec { direct: true, .. })
                | TargetSpec::Opendal(opendal::Spec { direct: true, .. })
        )
    }

    /// Whether the options request that files are synced before they are closed.
    pub fn wants_fsync(&self) -> bool {
        self.fsync() == Fsync::Close
    }

    /// Whether the options request a sync after every write call.
    pub fn wants_fsync_of_writes(&self) -> bool {
        self.fsync() == Fsync::Write
    }

    fn fsync(&self) -> Fsync {
        match self {
            TargetSpec::Null { fsync }
            | TargetSpec::Posix { fsync, .. }
            | TargetSpec::Hdfs { fsync, .. }
            | TargetSpec::Nfs(nfs::Spec { fsync, .. })
            | TargetSpec::Hadoop(hadoop::Spec { fsync, .. })
            | TargetSpec::Opendal(opendal::Spec { fsync, .. }) => *fsync,
        }
    }

    /// Whether the options request that files are read and written through mapped memory.
    pub fn wants_mmap(&self) -> bool {
        matches!(self, TargetSpec::Posix { mmap: true, .. })
    }

    /// Which caches are dropped before the timed part: "files", "system", or None.
    pub fn wants_cold(&self) -> Option<&'static str> {
        let drop = match self {
            TargetSpec::Null { .. } => DropCaches::None,
            TargetSpec::Posix { drop_caches, .. }
            | TargetSpec::Hdfs { drop_caches, .. }
            | TargetSpec::Nfs(nfs::Spec { drop_caches, .. })
            | TargetSpec::Hadoop(hadoop::Spec { drop_caches, .. })
            | TargetSpec::Opendal(opendal::Spec { drop_caches, .. }) => *drop_caches,
        };
        match drop {
            DropCaches::None => None,
            DropCaches::Files => Some("files"),
            DropCaches::System => Some("system"),
        }
    }
}

/// The capabilities of targets of the type `name`, with default options.
pub fn capabilities_of(name: &str) -> Result<Capabilities> {
    match name {
        "null" => Ok(null::CAPABILITIES),
        "posix" => Ok(posix::CAPABILITIES),
        "hdfs" => Ok(hdfs::CAPABILITIES),
        "nfs" => Ok(nfs::CAPABILITIES),
        "hadoop" => Ok(hadoop::CAPABILITIES),
        "opendal" => Ok(opendal::CAPABILITIES),
        _ => Err(Error::input(
            "target.kind",
            format!("{name:?}; allowed: null, posix, hdfs, nfs, hadoop, opendal"),
        )),
    }
}

/// Creates the factory that connects clients to a target. Checks the root, but creates nothing yet.
pub fn factory(spec: &TargetSpec, run_directory: &str) -> Result<Box<dyn Factory>> {
    match spec {
        TargetSpec::Null { .. } => Ok(Box::new(null::NullFactory)),
        TargetSpec::Posix {
            root,
            direct,
            sync_io,
            mmap,
            ..
        } => {
            let options = posix::Options::new(*direct, *sync_io, *mmap);
            let factory = posix::PosixFactory::new(root, run_directory, options)?;
            Ok(Box::new(factory))
        }
        TargetSpec::Hdfs {
            uri,
            root,
            replication,
            block_size_bytes,
            shared_client,
            ..
        } => {
            let options = hdfs::Options {
                replication: *replication,
                block_size_bytes: *block_size_bytes,
                shared_client: *shared_client,
            };
            Ok(Box::new(hdfs::HdfsFactory::new(
                uri,
                root,
                run_directory,
                options,
            )?))
        }
        TargetSpec::Nfs(spec) => Ok(Box::new(nfs::NfsFactory::new(spec, run_directory)?)),
        TargetSpec::Hadoop(spec) => {
            let factory = hadoop::HadoopFactory::new(spec, run_directory)?;
            Ok(Box::new(factory))
        }
        TargetSpec::Opendal(spec) => {
            let factory = opendal::OpendalFactory::new(spec, run_directory)?;
            Ok(Box::new(factory))
        }
    }
}
