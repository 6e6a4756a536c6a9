//! The target for POSIX calls under an existing directory, on a local disk or any mounted file
//! system.

mod calls;
mod file;

use std::fs::{self, OpenOptions};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use self::calls::{checked, CPath};
use self::file::PosixFile;
use super::{Capabilities, Factory, File, SyncIo, Target};
use crate::{Error, ErrorKind, Result};

pub const CAPABILITIES: Capabilities = Capabilities::ALL;

/// The name of the extended attribute that workloads set.
const ATTRIBUTE: &std::ffi::CStr = c"user.dfslab";
/// Flags for a file that must not exist yet.
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
    /// Derives the flags with which files are opened from three modes. Symbolic links are not
    /// followed, since a run writes only to files that it created.
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
    /// Checks that the root is an existing directory and that the options are possible. Creates
    /// nothing that stays.
    pub fn new(root: &str, run_directory: &str, options: Options) -> Result<Self> {
        let path = Path::new(root);
        let seen = fs::metadata(path).map_err(|error| {
            Error::input(
                "target.root",
                format!("{root:?} must be an existing directory: {error}"),
            )
        })?;
        if !seen.is_dir() {
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

    /// Opens one file with direct I/O as a test, and removes it. Some file systems refuse direct
    /// I/O only when a file is opened.
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
        // The system call mkdir fails if anything has the name, even a symbolic link, so an
        // existing directory is never taken over.
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

    fn connect(&self) -> Result<Box<dyn Target>> {
        Ok(Box::new(Posix {
            place: self.directory.clone(),
            directory: None,
            at: -1,
            options: self.options,
            path: CPath::default(),
            other: CPath::default(),
        }))
    }

    fn finish(&self, shared: bool) -> Result<()> {
        // For a directory that is not empty, POSIX allows two errors.
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

/// One client of the target. Its calls are relative to the open run directory, so that the kernel
/// resolves only the names below that directory. Paths are built in a reused buffer.
struct Posix {
    place: PathBuf,
    directory: Option<OwnedFd>,
    /// Where paths begin: the descriptor of the run directory, or AT_FDCWD where the run directory
    /// is the thread's working directory.
    at: i32,
    options: Options,
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
        let (at, name) = (self.at(), self.path.set(path));
        // SAFETY: the path ends with a zero and outlives the call; the descriptor is open.
        let code = unsafe { calls::open_at(at, name, flags, FILE_MODE) };
        let descriptor = checked(operation, path, code)?;
        let writable = flags & libc::O_ACCMODE != libc::O_RDONLY;
        Ok(PosixFile::new(descriptor, mapped, writable))
    }

    /// Writes into a buffer the path of a file for calls that take no directory descriptor: it
    /// leads through /proc to the open run directory.
    fn through_descriptor(&mut self, path: &str) -> *const libc::c_char {
        // The descriptor is looked up by thread, since this thread has a separate descriptor table.
        match self.at() {
            libc::AT_FDCWD => self.path.set(path),
            at => self.path.set(&format!("/proc/thread-self/fd/{at}/{path}")),
        }
    }
}

/// Creates the run directory that shards share. If another shard has already created it, that is no
/// error. Alluxio reports an existing directory as an input error.
fn made_or_found(place: &Path) -> std::io::Result<()> {
    fs::create_dir(place).or_else(|error| match fs::symlink_metadata(place) {
        Ok(seen) if seen.is_dir() => Ok(()),
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

/// Retries `work` on the run directory for up to SETTLING, as long as its error may pass. A
/// directory that another client has just created is not yet visible on all servers, and a
/// dispersed volume reports differing answers as an I/O error.
fn patiently<T>(work: impl Fn() -> std::io::Result<T>) -> std::io::Result<T> {
    let began = Instant::now();
    patiently_by(&|| began.elapsed(), &thread::sleep, work)
}

/// Retries `work` like `patiently`, with an injected clock: `elapsed` returns the time since the
/// first attempt, `sleep` waits.
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

    // An implementation without a file object, so that nothing is allocated for a file that is
    // closed at once.
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
        let (at, name) = (self.at(), self.path.set(path));
        // SAFETY: the path ends with a zero and outlives the call; the descriptor is open. A
        // structure of zeroes is valid, and the call fills it.
        let (code, seen) = unsafe {
            let mut seen: libc::stat = std::mem::zeroed();
            let code = libc::fstatat(at, name, &mut seen, libc::AT_SYMLINK_NOFOLLOW);
            (code, seen)
        };
        checked("stat", path, code).map(|_| seen.st_size as u64)
    }

    fn exists(&mut self, path: &str) -> Result<bool> {
        let (at, name) = (self.at(), self.path.set(path));
        // SAFETY: the path ends with a zero and outlives the call; the descriptor is open.
        let code = unsafe { libc::faccessat(at, name, libc::F_OK, libc::AT_SYMLINK_NOFOLLOW) };
        match checked("exists", path, code) {
            Ok(_) => Ok(true),
            Err(error) if error.kind == ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn list(&mut self, path: &str) -> Result<usize> {
        let path = if path.is_empty() { "." } else { path };
        let flags = libc::O_RDONLY | libc::O_DIRECTORY | libc::O_NOFOLLOW | libc::O_CLOEXEC;
        let (at, name) = (self.at(), self.path.set(path));
        // SAFETY: the path ends with a zero and outlives the call; the descriptor is open.
        let code = unsafe { libc::openat(at, name, flags) };
        calls::count_entries(checked("list", path, code)?, path)
    }

    fn rename(&mut self, from: &str, to: &str) -> Result<()> {
        let at = self.at();
        let (name, new) = (self.path.set(from), self.other.set(to));
        // SAFETY: both paths end with a zero and outlive the call; the descriptor is open.
        checked("rename", from, unsafe { libc::renameat(at, name, at, new) }).map(drop)
    }

    fn delete(&mut self, path: &str) -> Result<()> {
        let (at, name) = (self.at(), self.path.set(path));
        // SAFETY: the path ends with a zero and outlives the call; the descriptor is open.
        checked("delete", path, unsafe { libc::unlinkat(at, name, 0) }).map(drop)
    }

    fn mkdir(&mut self, path: &str) -> Result<()> {
        let (at, name) = (self.at(), self.path.set(path));
        // SAFETY: the path ends with a zero and outlives the call; the descriptor is open.
        checked("mkdir", path, unsafe {
            libc::mkdirat(at, name, DIRECTORY_MODE)
        })
        .map(drop)
    }

    fn rmdir(&mut self, path: &str) -> Result<()> {
        let (at, name) = (self.at(), self.path.set(path));
        // SAFETY: the path ends with a zero and outlives the call; the descriptor is open.
        let code = unsafe { libc::unlinkat(at, name, libc::AT_REMOVEDIR) };
        checked("rmdir", path, code).map(drop)
    }

    fn truncate(&mut self, path: &str, size_bytes: u64) -> Result<()> {
        let open = self.plain("truncate", path, libc::O_WRONLY)?;
        open.set_length(size_bytes)?;
        open.end()
    }

    fn chmod(&mut self, path: &str, mode: u32) -> Result<()> {
        let (at, name) = (self.at(), self.path.set(path));
        // SAFETY: the path ends with a zero and outlives the call; the descriptor is open.
        checked("chmod", path, unsafe { libc::fchmodat(at, name, mode, 0) }).map(drop)
    }

    fn set_xattr(&mut self, path: &str, value: &[u8]) -> Result<()> {
        let (name, data, size) = (self.through_descriptor(path), value.as_ptr(), value.len());
        // SAFETY: both names end with a zero; `size` is the length of the value.
        let code = unsafe { libc::lsetxattr(name, ATTRIBUTE.as_ptr(), data.cast(), size, 0) };
        checked("set_xattr", path, code).map(drop)
    }

    fn get_xattr(&mut self, path: &str) -> Result<usize> {
        let mut value = [0u8; 256];
        let name = self.through_descriptor(path);
        let (data, size) = (value.as_mut_ptr(), value.len());
        // SAFETY: both names end with a zero; the kernel writes no more than the array's length.
        let code = unsafe { libc::lgetxattr(name, ATTRIBUTE.as_ptr(), data.cast(), size) };
        checked("get_xattr", path, code as i32).map(|length| length as usize)
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
    use std::cell::Cell;

    use super::*;

    /// Retries `work` (called with the number of the attempt, from 1) with a clock that only
    /// sleeping advances. Returns the last result, the number of attempts, and the time on that
    /// clock.
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
    fn what_is_no_directory_is_told_at_once() {
        let (opened, tries, took) = tried(|_| opened_directory(Path::new("/proc/self/status")));
        assert_eq!(opened.unwrap_err().raw_os_error(), Some(libc::ENOTDIR));
        assert_eq!((tries, took), (1, Duration::ZERO));
    }
}
