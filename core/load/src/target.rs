//! What a load runs on: the trait, declared capabilities, and the targets there are.

mod calls;
mod hadoop;
mod hdfs;
pub(crate) mod layer;
mod nfs;
pub(crate) mod null;
mod posix;

use bytes::Bytes;
use dfslab_workload::OperationKind;
use serde::{Deserialize, Serialize};

pub use self::calls::Call;
use crate::{Error, ErrorKind, Result};

/// What a target can do, checked before any work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Capabilities {
    /// Reading files.
    pub read: bool,
    /// Writing new files.
    pub write: bool,
    /// Appending.
    pub append: bool,
    /// Creating empty files.
    pub create: bool,
    /// Attributes.
    pub stat: bool,
    /// Listing directories.
    pub list: bool,
    /// Renaming.
    pub rename: bool,
    /// Removing files.
    pub delete: bool,
    /// Making directories.
    pub mkdir: bool,
    /// Whether a name is there.
    pub exists: bool,
    /// Removing directories.
    pub rmdir: bool,
    /// Reading at a place of a file that is kept open, and in any order.
    pub pread: bool,
    /// Writing over what is there, at any place.
    pub pwrite: bool,
    /// Cutting files off.
    pub truncate: bool,
    /// Permissions.
    pub chmod: bool,
    /// Extended attributes.
    pub xattr: bool,
    /// Locks on files.
    pub lock: bool,
    /// Forcing data to disk.
    pub fsync: bool,
    /// Writes that return when data is on disk.
    pub sync_io: bool,
    /// Reading and writing through mapped memory.
    pub mmap: bool,
    /// Bypassing the page cache.
    pub direct_io: bool,
    /// Dropping one file from the client's page cache.
    pub drop_file_cache: bool,
    /// Giving back the bytes that were written.
    pub verify: bool,
}

impl Capabilities {
    const ALL: Capabilities = Capabilities {
        read: true,
        write: true,
        append: true,
        create: true,
        stat: true,
        list: true,
        rename: true,
        delete: true,
        mkdir: true,
        exists: true,
        rmdir: true,
        pread: true,
        pwrite: true,
        truncate: true,
        chmod: true,
        xattr: true,
        lock: true,
        fsync: true,
        sync_io: true,
        mmap: true,
        direct_io: true,
        drop_file_cache: true,
        verify: true,
    };

    /// Whether an operation is possible.
    pub fn supports(&self, kind: OperationKind) -> bool {
        match kind {
            OperationKind::Read => self.read,
            OperationKind::Write => self.write,
            OperationKind::Append => self.append,
            OperationKind::Create => self.create,
            OperationKind::Stat => self.stat,
            OperationKind::List => self.list,
            OperationKind::Rename => self.rename,
            OperationKind::Delete => self.delete,
            OperationKind::Mkdir => self.mkdir,
            OperationKind::Open | OperationKind::Close => self.read,
            OperationKind::Exists => self.exists,
            OperationKind::Rmdir => self.rmdir,
            OperationKind::Pread => self.pread,
            OperationKind::Pwrite | OperationKind::Overwrite => self.pwrite,
            OperationKind::Fsync => self.fsync && self.pwrite,
            OperationKind::Truncate => self.truncate,
            OperationKind::Chmod => self.chmod,
            OperationKind::SetXattr | OperationKind::GetXattr => self.xattr,
            OperationKind::Lock => self.lock,
        }
    }
}

/// When written data is forced to disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fsync {
    /// Never.
    #[default]
    Never,
    /// Before a file is closed.
    Close,
    /// After every write call.
    Write,
}

/// Whether a write returns before its data is on disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SyncIo {
    /// It may.
    #[default]
    None,
    /// Not before the data is (O_DSYNC).
    Data,
    /// Nor before attributes are (O_SYNC).
    All,
}

/// Which caches are emptied before the timed part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DropCaches {
    /// None.
    #[default]
    None,
    /// The files' own pages.
    Files,
    /// All of this machine's clean pages, entries and inodes (root).
    System,
}

/// A target, as data.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum TargetSpec {
    /// Does nothing: measures the generator itself.
    Null {
        /// Accepted and without effect.
        #[serde(default)]
        fsync: Fsync,
    },
    /// POSIX calls under a directory.
    Posix {
        /// An existing directory.
        root: String,
        /// Bypass the page cache.
        #[serde(default)]
        direct: bool,
        /// Whether writes wait for the disk.
        #[serde(default)]
        sync_io: SyncIo,
        /// Read and write through mapped memory.
        #[serde(default)]
        mmap: bool,
        /// When data is forced to disk.
        #[serde(default)]
        fsync: Fsync,
        /// Caches to empty before the timed part.
        #[serde(default)]
        drop_caches: DropCaches,
    },
    /// HDFS through its native protocol.
    Hdfs {
        /// Such as hdfs://host:8020.
        uri: String,
        /// An existing directory.
        #[serde(default = "root_directory")]
        root: String,
        /// Replicas of a block.
        replication: u32,
        /// Bytes of a block.
        block_size_bytes: u64,
        /// One client for all threads instead of one each.
        #[serde(default)]
        shared_client: bool,
        /// Not possible; named so that asking is a clear error.
        #[serde(default)]
        direct: bool,
        /// When data is forced to disk.
        #[serde(default)]
        fsync: Fsync,
        /// Caches to empty before the timed part.
        #[serde(default)]
        drop_caches: DropCaches,
    },
    /// NFS version 3, spoken by this process.
    Nfs(nfs::Spec),
    /// Any Hadoop file system through its Java client.
    Hadoop(hadoop::Spec),
}

fn root_directory() -> String {
    "/".to_string()
}

impl TargetSpec {
    /// The target's name.
    pub fn name(&self) -> &'static str {
        match self {
            TargetSpec::Null { .. } => "null",
            TargetSpec::Posix { .. } => "posix",
            TargetSpec::Hdfs { .. } => "hdfs",
            TargetSpec::Nfs(_) => "nfs",
            TargetSpec::Hadoop(_) => "hadoop",
        }
    }

    /// Values that no file system of this kind takes.
    pub fn check(&self) -> Result<()> {
        let (replication, block_size_bytes) = match self {
            TargetSpec::Hdfs {
                replication,
                block_size_bytes,
                ..
            } => (replication, block_size_bytes),
            TargetSpec::Nfs(spec) => return spec.check(),
            TargetSpec::Hadoop(spec) => return spec.check(),
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

    /// What this very target can.
    pub fn capabilities(&self) -> Capabilities {
        match self {
            TargetSpec::Hadoop(spec) => spec.capabilities(),
            _ => capabilities_of(self.name()).expect("a target's own name"),
        }
    }

    /// Whether direct I/O is asked for.
    pub fn wants_direct(&self) -> bool {
        matches!(
            self,
            TargetSpec::Posix { direct: true, .. }
                | TargetSpec::Hdfs { direct: true, .. }
                | TargetSpec::Nfs(nfs::Spec { direct: true, .. })
                | TargetSpec::Hadoop(hadoop::Spec { direct: true, .. })
        )
    }

    /// Whether files are synced before they are closed.
    pub fn wants_fsync(&self) -> bool {
        self.fsync() == Fsync::Close
    }

    /// Whether every write call is synced.
    pub fn wants_fsync_of_writes(&self) -> bool {
        self.fsync() == Fsync::Write
    }

    fn fsync(&self) -> Fsync {
        match self {
            TargetSpec::Null { fsync }
            | TargetSpec::Posix { fsync, .. }
            | TargetSpec::Hdfs { fsync, .. }
            | TargetSpec::Nfs(nfs::Spec { fsync, .. })
            | TargetSpec::Hadoop(hadoop::Spec { fsync, .. }) => *fsync,
        }
    }

    /// Whether files are mapped.
    pub fn wants_mmap(&self) -> bool {
        matches!(self, TargetSpec::Posix { mmap: true, .. })
    }

    /// "files" or "system" where caches are to be emptied.
    pub fn wants_cold(&self) -> Option<&'static str> {
        let drop = match self {
            TargetSpec::Null { .. } => DropCaches::None,
            TargetSpec::Posix { drop_caches, .. }
            | TargetSpec::Hdfs { drop_caches, .. }
            | TargetSpec::Nfs(nfs::Spec { drop_caches, .. })
            | TargetSpec::Hadoop(hadoop::Spec { drop_caches, .. }) => *drop_caches,
        };
        match drop {
            DropCaches::None => None,
            DropCaches::Files => Some("files"),
            DropCaches::System => Some("system"),
        }
    }
}

/// The capabilities of a target by name.
pub fn capabilities_of(name: &str) -> Result<Capabilities> {
    match name {
        "null" => Ok(null::CAPABILITIES),
        "posix" => Ok(posix::CAPABILITIES),
        "hdfs" => Ok(hdfs::CAPABILITIES),
        "nfs" => Ok(nfs::CAPABILITIES),
        "hadoop" => Ok(hadoop::CAPABILITIES),
        _ => Err(Error::input(
            "target.kind",
            format!("{name:?}; allowed: null, posix, hdfs, nfs, hadoop"),
        )),
    }
}

/// One client's connection. Paths are relative to the run's directory.
pub trait Target: Send {
    /// All calls from now on are made by this thread: called once, before any other.
    fn settle(&mut self) -> Result<()> {
        Ok(())
    }
    /// Make a new, empty file and open it for writing.
    fn create(&mut self, path: &str) -> Result<Box<dyn File>>;
    /// Open a file for reading from its start.
    fn open(&mut self, path: &str) -> Result<Box<dyn File>>;
    /// Open a file for writing at its end.
    fn append(&mut self, path: &str) -> Result<Box<dyn File>>;
    /// Bytes of a file.
    fn stat(&mut self, path: &str) -> Result<u64>;
    /// Number of entries of a directory.
    fn list(&mut self, path: &str) -> Result<usize>;
    /// Give a file another name.
    fn rename(&mut self, from: &str, to: &str) -> Result<()>;
    /// Remove a file.
    fn delete(&mut self, path: &str) -> Result<()>;
    /// Make a directory, which must not exist.
    fn mkdir(&mut self, path: &str) -> Result<()>;
    /// Remove an empty directory.
    fn rmdir(&mut self, path: &str) -> Result<()>;
    /// Take a file out of the client's page cache.
    fn drop_cache(&mut self, path: &str) -> Result<()>;
    /// Bytes of a file in the client's page cache, where that can be told.
    fn resident_bytes(&mut self, _path: &str) -> Result<Option<u64>> {
        Ok(None)
    }
    /// Whether it tells what it asks a metadata server inside one call.
    fn tells_calls(&self) -> bool {
        false
    }
    /// What this thread's calls have asked since this was last called, put behind `found`.
    fn calls(&self, _found: &mut Vec<Call>) {}
    /// Open an existing file for reading and writing.
    fn open_write(&mut self, path: &str) -> Result<Box<dyn File>> {
        Err(absent("open_write", path))
    }
    /// Whether a name is there.
    fn exists(&mut self, path: &str) -> Result<bool> {
        Err(absent("exists", path))
    }
    /// Cut a file off.
    fn truncate(&mut self, path: &str, _size_bytes: u64) -> Result<()> {
        Err(absent("truncate", path))
    }
    /// Change a file's permissions.
    fn chmod(&mut self, path: &str, _mode: u32) -> Result<()> {
        Err(absent("chmod", path))
    }
    /// Set the load's extended attribute.
    fn set_xattr(&mut self, path: &str, _value: &[u8]) -> Result<()> {
        Err(absent("set_xattr", path))
    }
    /// Bytes of the load's extended attribute.
    fn get_xattr(&mut self, path: &str) -> Result<usize> {
        Err(absent("get_xattr", path))
    }
}

/// What a target says that was asked for what it declares it cannot do.
fn absent(operation: &'static str, path: &str) -> Error {
    Error::new(ErrorKind::Other, operation, path, "not possible here")
}

/// An open file of a target; dropped unclosed it is given up without a sync.
pub trait File: Send {
    /// The next bytes, at most `buffer`; 0 at the end.
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize>;
    /// Add bytes.
    fn write(&mut self, bytes: Bytes) -> Result<()>;
    /// Force to disk.
    fn fsync(&mut self) -> Result<()>;
    /// Close, with all that it waits for.
    fn close(self: Box<Self>) -> Result<()>;
    /// Bytes at a place; fewer only at the end.
    fn read_at(&mut self, _buffer: &mut [u8], _offset: u64) -> Result<usize> {
        Err(absent("read", ""))
    }
    /// Write at a place.
    fn write_at(&mut self, _bytes: &[u8], _offset: u64) -> Result<()> {
        Err(absent("write", ""))
    }
    /// Wait for the whole file's exclusive lock and take it.
    fn lock(&mut self) -> Result<()> {
        Err(absent("lock", ""))
    }
    /// Give the lock back.
    fn unlock(&mut self) -> Result<()> {
        Err(absent("unlock", ""))
    }
}

/// Makes a target for every client of one run, inside the run's own directory.
pub trait Factory: Send + Sync {
    /// Make the run's directory, which must not exist unless other parts of the run share it.
    fn begin(&self, shared: bool) -> Result<()>;
    /// A client's connection.
    fn connect(&self) -> Result<Box<dyn Target>>;
    /// Remove the run's directory, which must be empty by now; a shared one may still be in use, or
    /// gone already.
    fn finish(&self, shared: bool) -> Result<()>;
}

/// The factory of a target.
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
    }
}
