//! The capabilities of targets: the operations and modes that a file system under load supports.

use dfslab_workload::OperationKind;
use serde::Serialize;

/// The operations and modes that a target supports. A plan is checked against them before any work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Capabilities {
    /// The target can read files.
    pub read: bool,
    /// The target can create and write files.
    pub write: bool,
    /// The target can append to files.
    pub append: bool,
    /// The target can create empty files.
    pub create: bool,
    /// The target can read the attributes of files.
    pub stat: bool,
    /// The target can list directories.
    pub list: bool,
    /// The target can rename files.
    pub rename: bool,
    /// The target can remove files.
    pub delete: bool,
    /// The target can create directories.
    pub mkdir: bool,
    /// The target can test whether a name exists.
    pub exists: bool,
    /// The target can remove directories.
    pub rmdir: bool,
    /// The target can read at any offset of a file that is kept open.
    pub pread: bool,
    /// The target can overwrite bytes at any offset of a file that is kept open.
    pub pwrite: bool,
    /// The target can truncate files.
    pub truncate: bool,
    /// The target can change the permissions of files.
    pub chmod: bool,
    /// The target can set and read extended attributes.
    pub xattr: bool,
    /// The target can lock files.
    pub lock: bool,
    /// The target can force the data of a file to disk.
    pub fsync: bool,
    /// The target can let a write return only when its data is on disk.
    pub sync_io: bool,
    /// The target can read and write through mapped memory.
    pub mmap: bool,
    /// The target can bypass the page cache.
    pub direct_io: bool,
    /// The target can drop a single file from the client's page cache.
    pub drop_file_cache: bool,
    /// The target returns the bytes that were written, so that content can be checked. A null
    /// target does not.
    pub verify: bool,
}

impl Capabilities {
    pub(super) const ALL: Capabilities = Capabilities {
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

    /// Whether the target supports operations of this type.
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
