//! Targets of load runs: the trait, declared capabilities, and the implementations.

mod calls;
mod hadoop;
mod hdfs;
pub(crate) mod layer;
mod nfs;
pub(crate) mod null;
mod opendal;
mod posix;
mod spec;
mod waiting;

use bytes::Bytes;
use dfslab_workload::OperationKind;
use serde::Serialize;

pub use self::calls::Call;
pub use self::spec::{factory, TargetSpec};
use self::spec::{root_directory, DropCaches, Fsync, SyncIo};
use crate::{Error, ErrorKind, Result};

/// The operations and modes that a target supports, checked before any work.
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
    /// Testing whether a name exists.
    pub exists: bool,
    /// Removing directories.
    pub rmdir: bool,
    /// Reading at any offset of a file that is kept open.
    pub pread: bool,
    /// Overwriting at any offset.
    pub pwrite: bool,
    /// Truncating files.
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
    /// Returning the bytes that were written; a null target does not.
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

/// The capabilities of a target by name.
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

/// One client's connection. Paths are relative to the run's directory.
pub trait Target: Send {
    /// Binds the target to the calling thread, which makes all further calls; called once, first.
    fn settle(&mut self) -> Result<()> {
        Ok(())
    }
    /// Make a new, empty file and open it for writing.
    fn create(&mut self, path: &str) -> Result<Box<dyn File>>;
    /// Creates an empty file and closes it; `made` is called between the two.
    fn make_empty(&mut self, path: &str, made: &mut dyn FnMut()) -> Result<()> {
        let open = self.create(path)?;
        made();
        open.close()
    }
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
    /// Drops a file from the client's page cache.
    fn drop_cache(&mut self, path: &str) -> Result<()>;
    /// Bytes of a file in the client's page cache; None where they cannot be determined.
    fn resident_bytes(&mut self, _path: &str) -> Result<Option<u64>> {
        Ok(None)
    }
    /// Whether an open file is identified by its name only, so that a rename requires a new open.
    fn opens_by_name(&self) -> bool {
        false
    }
    /// Whether the target reports the metadata-server calls inside a step.
    fn tells_calls(&self) -> bool {
        false
    }
    /// Appends the metadata-server calls of this thread since the last call to `found`.
    fn calls(&self, _found: &mut Vec<Call>) {}
    /// Open an existing file for reading and writing.
    fn open_write(&mut self, path: &str) -> Result<Box<dyn File>> {
        Err(absent("open_write", path))
    }
    /// Whether a name exists.
    fn exists(&mut self, path: &str) -> Result<bool> {
        Err(absent("exists", path))
    }
    /// Truncates a file.
    fn truncate(&mut self, path: &str, _size_bytes: u64) -> Result<()> {
        Err(absent("truncate", path))
    }
    /// Change a file's permissions.
    fn chmod(&mut self, path: &str, _mode: u32) -> Result<()> {
        Err(absent("chmod", path))
    }
    /// Sets the workload's extended attribute.
    fn set_xattr(&mut self, path: &str, _value: &[u8]) -> Result<()> {
        Err(absent("set_xattr", path))
    }
    /// Size of the workload's extended attribute, bytes.
    fn get_xattr(&mut self, path: &str) -> Result<usize> {
        Err(absent("get_xattr", path))
    }
}

/// The error for a call that the target's capabilities exclude.
fn absent(operation: &'static str, path: &str) -> Error {
    Error::new(ErrorKind::Other, operation, path, "not possible here")
}

/// An open file of a target; dropping it unclosed abandons it without a sync.
pub trait File: Send {
    /// Reads the next bytes, at most as many as fit `buffer`; 0 at the end.
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize>;
    /// Writes the next bytes.
    fn write(&mut self, bytes: Bytes) -> Result<()>;
    /// Force to disk.
    fn fsync(&mut self) -> Result<()>;
    /// Closes the file and waits for whatever the close implies.
    fn close(self: Box<Self>) -> Result<()>;
    /// Reads at an offset; fewer bytes only at the end.
    fn read_at(&mut self, _buffer: &mut [u8], _offset: u64) -> Result<usize> {
        Err(absent("read", ""))
    }
    /// Writes at an offset.
    fn write_at(&mut self, _bytes: &[u8], _offset: u64) -> Result<()> {
        Err(absent("write", ""))
    }
    /// Waits for the exclusive lock of the whole file.
    fn lock(&mut self) -> Result<()> {
        Err(absent("lock", ""))
    }
    /// Releases the lock.
    fn unlock(&mut self) -> Result<()> {
        Err(absent("unlock", ""))
    }
}

/// Creates the targets of a run's clients, inside the run's directory.
pub trait Factory: Send + Sync {
    /// Creates the run's directory, which must not exist unless other shards of the run share it.
    fn begin(&self, shared: bool) -> Result<()>;
    /// Free bytes of the file system, where it tells them.
    fn free_bytes(&self) -> Option<u64> {
        None
    }
    /// Whether a range of a file that was never written takes no space.
    fn makes_holes(&self) -> bool {
        false
    }
    /// Connects a client.
    fn connect(&self) -> Result<Box<dyn Target>>;
    /// Removes the run's directory, which must be empty. A shared one may still be in use, or
    /// already be removed.
    fn finish(&self, shared: bool) -> Result<()>;
}
