//! The target for POSIX calls under an existing directory, on a local disk or any mounted file
//! system.

mod called;
mod calls;
mod file;
mod parents;

use std::cell::Cell;
use std::fs::{self, OpenOptions};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use self::calls::CPath;
use self::file::PosixFile;
use self::parents::Parents;
use super::{Capabilities, Factory, File, SyncIo, Target};
use crate::{Error, ErrorKind, Result};

pub const CAPABILITIES: Capabilities = Capabilities::ALL;

/// The name of the extended attribute that workloads set.
const ATTRIBUTE: &std::ffi::CStr = c"user.dfslab";
/// Flags for opening a file that must not exist yet.
const NEW: i32 = libc::O_WRONLY | libc::O_CREAT | libc::O_EXCL;
const FILE_MODE: libc::mode_t = 0o666;
const DIRECTORY_MODE: libc::mode_t = 0o777;
/// Time limit for a new run directory to become visible on all servers of the file system.
const SETTLING: Duration = Duration::from_secs(2);

/// The modes and flags with which files are opened.
#[derive(Clone, Copy)]
pub struct Options {
    direct: bool,
    flags: i32,
    mmap: bool,
}

impl Options {
    /// Derives the flags for opening files from the modes in a target's options. The flags forbid
    /// following symbolic links, since a run writes only to files that it created.
    pub fn new(direct: bool, sync_io: SyncIo, mmap: bool) -> Self {
        let synced = match sync_io {
            SyncIo::None => 0,
            SyncIo::Data => libc::O_DSYNC,
            SyncIo::All => libc::O_SYNC,
        };
        let direct_flag = if direct { libc::O_DIRECT } else { 0 };
        Options {
            direct,
            flags: libc::O_NOFOLLOW | libc::O_CLOEXEC | synced | direct_flag,
            mmap,
        }
    }
}

pub struct PosixFactory {
    directory: PathBuf,
    options: Options,
}

impl PosixFactory {
    /// Checks that the root is an existing directory. Creates nothing yet; `begin` checks direct
    /// I/O.
    pub fn new(root: &str, run_directory: &str, options: Options) -> Result<Self> {
        let path = Path::new(root);
        let metadata = fs::metadata(path).map_err(|error| {
            Error::input(
                "target.root",
                format!("{root:?} must be an existing directory: {error}"),
            )
        })?;
        if !metadata.is_dir() {
            return Err(Error::input(
                "target.root",
                format!("{root:?} is no directory"),
            ));
        }
        Ok(PosixFactory {
            directory: path.join(run_directory),
            options,
        })
    }

    /// Opens a test file with direct I/O and removes it. Such a test is needed because some file
    /// systems refuse direct I/O only when a file is opened.
    fn probe_direct(&self, shared: bool) -> Result<()> {
        // The name of the test file is unique, since other shards of the run may test the same
        // directory at the same time.
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let unique = now.map_or(0, |since| since.as_nanos());
        let path = self
            .directory
            .join(format!("probe-{}-{unique}", std::process::id()));
        let probed = OpenOptions::new()
            .write(true)
            .create_new(true)
            .custom_flags(libc::O_DIRECT)
            .open(&path);
        // The new file is removed even if the open with O_DIRECT fails, because Linux has created
        // it by then.
        let removed = match fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        };
        if let Err(error) = probed.map(drop).and(removed) {
            self.finish(shared)?;
            let reason = format!("the file system of the root refuses direct I/O: {error}");
            return Err(Error::input("target.direct", reason));
        }
        Ok(())
    }
}

impl Factory for PosixFactory {
    fn begin(&self, shared: bool) -> Result<()> {
        let shown = self.directory.display().to_string();
        // If anything has the name of the directory, even a symbolic link, the system call mkdir
        // fails. A run therefore never uses a directory that existed before.
        let made = match shared {
            true => patiently(|| made_or_found(&self.directory)),
            false => fs::create_dir(&self.directory),
        };
        made.map_err(|error| {
            let made = Error::io("mkdir", &shown, &error);
            let reason = format!("{shown:?} cannot be made there: {error}");
            match made.kind {
                ErrorKind::Other | ErrorKind::NoSpace => made,
                _ => Error::input("target.root", reason),
            }
        })?;
        if self.options.direct {
            self.probe_direct(shared)?;
        }
        Ok(())
    }

    fn free_bytes(&self) -> Option<u64> {
        calls::free_bytes(self.directory.parent()?)
    }

    fn makes_holes(&self) -> bool {
        true
    }

    fn connect(&self) -> Result<Box<dyn Target>> {
        Ok(Box::new(Posix {
            place: self.directory.clone(),
            directory: None,
            at: -1,
            options: self.options,
            parents: Parents::default(),
            path: CPath::default(),
            other: CPath::default(),
        }))
    }

    fn finish(&self, shared: bool) -> Result<()> {
        // POSIX allows two errors for the removal of a directory that is not empty: EEXIST and
        // ENOTEMPTY.
        use std::io::ErrorKind::{AlreadyExists, DirectoryNotEmpty, NotFound};
        let shown = self.directory.display().to_string();
        match fs::remove_dir(&self.directory) {
            Err(error)
                if shared
                    && matches!(error.kind(), AlreadyExists | DirectoryNotEmpty | NotFound) =>
            {
                Ok(())
            }
            removed => removed.map_err(|error| Error::io("rmdir", &shown, &error)),
        }
    }
}

/// One client of the target. Each system call gets the descriptor of an open directory and a name
/// in this directory, so that no symbolic link in a path is followed. Paths are built in reused
/// buffers.
struct Posix {
    place: PathBuf,
    directory: Option<OwnedFd>,
    /// The directory to which paths are relative: the descriptor of the run directory. AT_FDCWD if
    /// the run directory is the thread's working directory.
    at: i32,
    options: Options,
    parents: Parents,
    path: CPath,
    other: CPath,
}

impl Posix {
    #[inline]
    fn at(&self) -> i32 {
        debug_assert!(self.directory.is_some(), "settled before it is used");
        self.at
    }

    fn opened(&mut self, operation: &'static str, path: &str, flags: i32) -> Result<Box<dyn File>> {
        Ok(Box::new(self.plain(operation, path, flags)?))
    }

    fn plain(&mut self, operation: &'static str, path: &str, flags: i32) -> Result<PosixFile> {
        let flags = flags | self.options.flags;
        // Only existing files are mapped: not new files, and not files opened for appending.
        let mapped = self.options.mmap && flags & (libc::O_CREAT | libc::O_APPEND) == 0;
        // SAFETY: the name ends with a zero byte and outlives the call; the descriptor is open.
        let open = |at, name| unsafe { calls::open_at(at, name, flags, FILE_MODE) };
        let descriptor = self.called(operation, path, open)?;
        let writable = flags & libc::O_ACCMODE != libc::O_RDONLY;
        Ok(PosixFile::new(descriptor, mapped, writable))
    }
}

/// Creates the run directory that shards share. It is no error if another shard has already created
/// the directory. The code queries whether the directory exists. It does not rely on the kind of
/// the error, since Alluxio reports an existing directory as an input error.
fn made_or_found(place: &Path) -> std::io::Result<()> {
    fs::create_dir(place).or_else(|error| match fs::symlink_metadata(place) {
        Ok(metadata) if metadata.is_dir() => Ok(()),
        Err(unsure) if passes(&unsure) => Err(unsure),
        _ => Err(error),
    })
}

fn opened_directory(place: &Path) -> std::io::Result<fs::File> {
    OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_DIRECTORY | libc::O_NOFOLLOW)
        .open(place)
}

/// Calls `work` on the run directory, and repeats it for up to SETTLING while its error may be
/// temporary. There are two examples of temporary errors. A directory that another client has just
/// created may not yet be visible on all servers. A dispersed volume of GlusterFS reports an I/O
/// error while the answers of its servers differ.
fn patiently<T>(work: impl Fn() -> std::io::Result<T>) -> std::io::Result<T> {
    let began = Instant::now();
    patiently_by(&|| began.elapsed(), &thread::sleep, work)
}

/// Repeats `work` like `patiently`, with the caller's clock: `elapsed` returns the time since the
/// first attempt, and `sleep` waits.
fn patiently_by<T>(
    elapsed: &dyn Fn() -> Duration,
    sleep: &dyn Fn(Duration),
    work: impl Fn() -> std::io::Result<T>,
) -> std::io::Result<T> {
    loop {
        match work() {
            Err(error) if passes(&error) && elapsed() < SETTLING => sleep(SETTLING / 100),
            done => return done,
        }
    }
}

fn passes(error: &std::io::Error) -> bool {
    let passing = [libc::EIO, libc::ENOENT, libc::ESTALE, libc::ENOTCONN];
    error
        .raw_os_error()
        .is_some_and(|code| passing.contains(&code))
}

impl Target for Posix {
    fn settle(&mut self) -> Result<()> {
        calls::take_own_descriptors();
        let shown = self.place.display().to_string();
        let opened = patiently(|| opened_directory(&self.place));
        let directory = OwnedFd::from(opened.map_err(|error| Error::io("open", &shown, &error))?);
        self.at = match calls::take_own_place(directory.as_raw_fd()) {
            true => libc::AT_FDCWD,
            false => directory.as_raw_fd(),
        };
        self.directory = Some(directory);
        Ok(())
    }

    fn create(&mut self, path: &str) -> Result<Box<dyn File>> {
        self.opened("create", path, NEW)
    }

    // An implementation without a file object: nothing is allocated for a file that is closed right
    // after its creation.
    fn make_empty(&mut self, path: &str, made: &mut dyn FnMut()) -> Result<()> {
        let open = self.plain("create", path, NEW)?;
        made();
        open.end()
    }

    fn open(&mut self, path: &str) -> Result<Box<dyn File>> {
        self.opened("open", path, libc::O_RDONLY)
    }

    fn append(&mut self, path: &str) -> Result<Box<dyn File>> {
        self.opened("append", path, libc::O_WRONLY | libc::O_APPEND)
    }

    fn open_write(&mut self, path: &str) -> Result<Box<dyn File>> {
        self.opened("open_write", path, libc::O_RDWR)
    }

    fn stat(&mut self, path: &str) -> Result<u64> {
        // SAFETY: a structure of zeroes is valid, and the call fills it.
        let status = Cell::new(unsafe { std::mem::zeroed::<libc::stat>() });
        self.called("stat", path, |at, name| unsafe {
            // SAFETY: the name ends with a zero byte; the name and the structure outlive the call;
            // the descriptor is open.
            libc::fstatat(at, name, status.as_ptr(), libc::AT_SYMLINK_NOFOLLOW)
        })?;
        Ok(status.into_inner().st_size as u64)
    }

    fn exists(&mut self, path: &str) -> Result<bool> {
        let found = self.called("exists", path, |at, name| unsafe {
            // SAFETY: the name ends with a zero byte and outlives the call; the descriptor is open.
            libc::faccessat(at, name, libc::F_OK, libc::AT_SYMLINK_NOFOLLOW)
        });
        match found {
            Ok(_) => Ok(true),
            Err(error) if error.kind == ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn list(&mut self, path: &str) -> Result<usize> {
        let path = if path.is_empty() { "." } else { path };
        let flags = libc::O_RDONLY | libc::O_DIRECTORY | libc::O_NOFOLLOW | libc::O_CLOEXEC;
        // SAFETY: the name ends with a zero byte and outlives the call; the descriptor is open.
        let open = |at, name| unsafe { libc::openat(at, name, flags) };
        calls::count_entries(self.called("list", path, open)?, path)
    }

    fn rename(&mut self, from: &str, to: &str) -> Result<()> {
        let top = self.at();
        let new = self.parents.of(top, to);
        let (place, new) = new.map_err(|error| Error::io("rename", to, &error))?;
        let new = self.other.set(new);
        // SAFETY: both names end with a zero byte and outlive the call; the last two directories
        // stay open.
        let renamed = self.called("rename", from, |at, name| unsafe {
            libc::renameat(at, name, place, new)
        });
        self.parents.forget(from);
        self.parents.forget(to);
        renamed.map(drop)
    }

    fn delete(&mut self, path: &str) -> Result<()> {
        // SAFETY: the name ends with a zero byte and outlives the call; the descriptor is open.
        let unlink = |at, name| unsafe { libc::unlinkat(at, name, 0) };
        self.called("delete", path, unlink).map(drop)
    }

    fn mkdir(&mut self, path: &str) -> Result<()> {
        // SAFETY: the name ends with a zero byte and outlives the call; the descriptor is open.
        let make = |at, name| unsafe { libc::mkdirat(at, name, DIRECTORY_MODE) };
        self.called("mkdir", path, make).map(drop)
    }

    fn rmdir(&mut self, path: &str) -> Result<()> {
        self.parents.forget(path);
        // SAFETY: the name ends with a zero byte and outlives the call; the descriptor is open.
        let remove = |at, name| unsafe { libc::unlinkat(at, name, libc::AT_REMOVEDIR) };
        self.called("rmdir", path, remove).map(drop)
    }

    fn truncate(&mut self, path: &str, size_bytes: u64) -> Result<()> {
        let open = self.plain("truncate", path, libc::O_WRONLY)?;
        open.set_length(size_bytes)?;
        open.end()
    }

    fn chmod(&mut self, path: &str, mode: u32) -> Result<()> {
        // SAFETY: the name ends with a zero byte and outlives the call; the descriptor is open.
        let change = |at, name| unsafe { libc::fchmodat(at, name, mode, 0) };
        self.called("chmod", path, change).map(drop)
    }

    fn set_xattr(&mut self, path: &str, value: &[u8]) -> Result<()> {
        let (data, size) = (value.as_ptr(), value.len());
        // SAFETY: both names end with a zero byte; `size` is the length of the value.
        let set = |name| unsafe {
            libc::lsetxattr(name, ATTRIBUTE.as_ptr(), data.cast(), size, 0) as isize
        };
        self.called_through_descriptor("set_xattr", path, set)
            .map(drop)
    }

    fn get_xattr(&mut self, path: &str) -> Result<usize> {
        let value = Cell::new([0u8; 256]);
        // SAFETY: both names end with a zero byte; the kernel writes no more than the array's
        // length.
        let get =
            |name| unsafe { libc::lgetxattr(name, ATTRIBUTE.as_ptr(), value.as_ptr().cast(), 256) };
        self.called_through_descriptor("get_xattr", path, get)
    }

    fn drop_cache(&mut self, path: &str) -> Result<()> {
        let mut open = self.plain("drop_cache", path, libc::O_RDONLY)?;
        // Dirty pages cannot be dropped from the cache, so they are written to disk first.
        open.fsync()?;
        open.forget()?;
        open.end()
    }

    fn resident_bytes(&mut self, path: &str) -> Result<Option<u64>> {
        let open = self.plain("resident_bytes", path, libc::O_RDONLY)?;
        let bytes = open.resident_bytes()?;
        open.end().map(|()| bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Retries `work` with a simulated clock, which only sleeping advances. `work` gets the number
    /// of the attempt, from 1. Returns the last result, the number of attempts, and the time on
    /// this clock.
    fn tried<T>(work: impl Fn(u32) -> std::io::Result<T>) -> (std::io::Result<T>, u32, Duration) {
        let (time, tries) = (Cell::new(Duration::ZERO), Cell::new(0));
        let sleep = |pause| time.set(time.get() + pause);
        let done = patiently_by(&|| time.get(), &sleep, || {
            tries.set(tries.get() + 1);
            work(tries.get())
        });
        (done, tries.get(), time.get())
    }

    #[test]
    fn a_directory_that_is_just_being_made_is_waited_for() {
        let root = std::env::temp_dir().join(format!("dfslab-made-late-{}", std::process::id()));
        let (opened, tries, took) = tried(|number| {
            if number == 6 {
                fs::create_dir(&root)?;
            }
            opened_directory(&root)
        });
        fs::remove_dir(&root).unwrap();
        assert!(opened.unwrap().metadata().unwrap().is_dir());
        assert_eq!((tries, took), (6, SETTLING / 20));
    }

    #[test]
    fn a_directory_that_never_comes_is_given_up_in_time() {
        let root = std::env::temp_dir().join(format!("dfslab-never-{}", std::process::id()));
        let (opened, tries, took) = tried(|_| opened_directory(&root));
        assert_eq!(opened.unwrap_err().raw_os_error(), Some(libc::ENOENT));
        assert_eq!((tries, took), (101, SETTLING));
    }

    #[test]
    fn a_root_that_is_no_directory_is_an_error_at_once() {
        let (opened, tries, took) = tried(|_| opened_directory(Path::new("/proc/self/status")));
        assert_eq!(opened.unwrap_err().raw_os_error(), Some(libc::ENOTDIR));
        assert_eq!((tries, took), (1, Duration::ZERO));
    }
}
