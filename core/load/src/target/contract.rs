//! The interface of targets (the file systems under load): the connections of clients, the open
//! files, and the factory that creates the connections.

use bytes::Bytes;

use super::calls::Call;
use crate::{Error, ErrorKind, Result};

/// The value to which operations set the extended attribute of a file.
pub const ATTRIBUTE: [u8; 64] = [0x5a; 64];

/// One client's connection to a target. Paths are relative to the run's directory.
pub trait Target: Send {
    /// Prepares the target for the calling thread, which makes all further calls. Called once,
    /// before any other call.
    fn settle(&mut self) -> Result<()> {
        Ok(())
    }
    /// Creates a new, empty file and opens the file for writing.
    fn create(&mut self, path: &str) -> Result<Box<dyn File>>;
    /// Creates an empty file and closes it; `made` is called between creation and close.
    fn make_empty(&mut self, path: &str, made: &mut dyn FnMut()) -> Result<()> {
        let open = self.create(path)?;
        made();
        open.close()
    }
    /// Opens a file for reading from its start.
    fn open(&mut self, path: &str) -> Result<Box<dyn File>>;
    /// Opens a file for writing at its end.
    fn append(&mut self, path: &str) -> Result<Box<dyn File>>;
    /// Returns the size of a file in bytes.
    fn stat(&mut self, path: &str) -> Result<u64>;
    /// Returns the number of entries of a directory.
    fn list(&mut self, path: &str) -> Result<usize>;
    /// Renames a file from `from` to `to`.
    fn rename(&mut self, from: &str, to: &str) -> Result<()>;
    /// Removes a file.
    fn delete(&mut self, path: &str) -> Result<()>;
    /// Creates a directory, which must not exist.
    fn mkdir(&mut self, path: &str) -> Result<()>;
    /// Removes an empty directory.
    fn rmdir(&mut self, path: &str) -> Result<()>;
    /// Drops a file from the client's page cache.
    fn drop_cache(&mut self, path: &str) -> Result<()>;
    /// Returns how many bytes of a file are in the client's page cache; None where the number
    /// cannot be determined.
    fn resident_bytes(&mut self, _path: &str) -> Result<Option<u64>> {
        Ok(None)
    }
    /// Whether every call on an open file looks the file up by its name. If so, the file must be
    /// opened again after a rename.
    fn opens_by_name(&self) -> bool {
        false
    }
    /// Whether the target reports the metadata-server calls within each step, by the function
    /// `calls`.
    fn reports_calls(&self) -> bool {
        false
    }
    /// Appends to `found` the metadata-server calls that this thread made since the last call of
    /// `calls`.
    fn calls(&self, _found: &mut Vec<Call>) {}
    /// Opens an existing file for reading and writing.
    fn open_write(&mut self, path: &str) -> Result<Box<dyn File>> {
        Err(absent("open_write", path))
    }
    /// Whether a name exists.
    fn exists(&mut self, path: &str) -> Result<bool> {
        Err(absent("exists", path))
    }
    /// Truncates a file to `_size_bytes` bytes.
    fn truncate(&mut self, path: &str, _size_bytes: u64) -> Result<()> {
        Err(absent("truncate", path))
    }
    /// Changes a file's permissions to the bits of `_mode`.
    fn chmod(&mut self, path: &str, _mode: u32) -> Result<()> {
        Err(absent("chmod", path))
    }
    /// Sets the value of the extended attribute that workloads use; `_value` is the new value.
    fn set_xattr(&mut self, path: &str, _value: &[u8]) -> Result<()> {
        Err(absent("set_xattr", path))
    }
    /// Returns the size in bytes of the extended attribute that workloads use.
    fn get_xattr(&mut self, path: &str) -> Result<usize> {
        Err(absent("get_xattr", path))
    }
}

/// Creates the error for a call that the target does not support.
fn absent(operation: &'static str, path: &str) -> Error {
    Error::new(ErrorKind::Other, operation, path, "not possible here")
}

/// An open file of a target. If the object is dropped without a call of `close`, the file is
/// abandoned without a sync.
pub trait File: Send {
    /// Reads the next bytes into `buffer`. Returns the number of bytes read; 0 at the end of the
    /// file.
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize>;
    /// Writes the next bytes at the file's position.
    fn write(&mut self, bytes: Bytes) -> Result<()>;
    /// Forces all data written to the file so far to disk.
    fn fsync(&mut self) -> Result<()>;
    /// Closes the file, and waits until the target has done all work that closing causes.
    fn close(self: Box<Self>) -> Result<()>;
    /// Reads at an offset and returns the number of bytes read. The number is less than requested
    /// only at the end of the file.
    fn read_at(&mut self, _buffer: &mut [u8], _offset: u64) -> Result<usize> {
        Err(absent("read", ""))
    }
    /// Writes all bytes at an offset of the file.
    fn write_at(&mut self, _bytes: &[u8], _offset: u64) -> Result<()> {
        Err(absent("write", ""))
    }
    /// Waits for and takes the exclusive lock of the whole file.
    fn lock(&mut self) -> Result<()> {
        Err(absent("lock", ""))
    }
    /// Releases the exclusive lock of the whole file.
    fn unlock(&mut self) -> Result<()> {
        Err(absent("unlock", ""))
    }
}

/// Creates the run's directory and the connections of a run's clients.
pub trait Factory: Send + Sync {
    /// Creates the run's directory, which must not exist unless other shards of the run share it.
    fn begin(&self, shared: bool) -> Result<()>;
    /// Free bytes of the file system; None if the file system does not report them.
    fn free_bytes(&self) -> Option<u64> {
        None
    }
    /// Whether a range of a file that was never written occupies no space.
    fn makes_holes(&self) -> bool {
        false
    }
    /// Connects one client to the target.
    fn connect(&self) -> Result<Box<dyn Target>>;
    /// Removes the run's directory, which must be empty. If shards share the directory, two cases
    /// are no error: other shards still use the directory, or they have already removed it.
    fn finish(&self, shared: bool) -> Result<()>;
}
