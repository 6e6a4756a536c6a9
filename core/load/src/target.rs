//! What a load runs on: the trait, declared capabilities, and the targets there are.

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
    /// All calls from now on are made by this thread: called once, before any other.
    fn settle(&mut self) -> Result<()> {
        Ok(())
    }
    /// Make a new, empty file and open it for writing.
    fn create(&mut self, path: &str) -> Result<Box<dyn File>>;
    /// Make a new file that stays empty, and close it; `made` is called between the two.
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
    /// Take a file out of the client's page cache.
    fn drop_cache(&mut self, path: &str) -> Result<()>;
    /// Bytes of a file in the client's page cache, where that can be told.
    fn resident_bytes(&mut self, _path: &str) -> Result<Option<u64>> {
        Ok(None)
    }
    /// Whether an open file is but its name, so that it is opened anew when that changes.
    fn opens_by_name(&self) -> bool {
        false
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
