//! POSIX calls under an existing directory: local disks and every mounted file system.

use std::fs::{self, OpenOptions};
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use bytes::Bytes;

use super::{Capabilities, Factory, File, Target};
use crate::{Error, ErrorKind, Result};

pub const CAPABILITIES: Capabilities = Capabilities::ALL;

pub struct PosixFactory {
    directory: PathBuf,
    direct: bool,
}

impl PosixFactory {
    /// Checks the root; makes nothing yet.
    pub fn new(root: &str, run_directory: &str, direct: bool) -> Result<Self> {
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
            direct,
        })
    }

    /// Some file systems refuse direct I/O only when a file is opened: one file tells.
    fn probe_direct(&self, shared: bool) -> Result<()> {
        // Other parts of the run may probe the same directory at the same time.
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
        // Linux leaves the new file behind even when it refuses to open it this way.
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
        // mkdir fails on anything that is there already, a symbolic link included.
        let made = fs::create_dir(&self.directory).or_else(|error| {
            let is_there = error.kind() == std::io::ErrorKind::AlreadyExists;
            match fs::symlink_metadata(&self.directory) {
                Ok(seen) if shared && is_there && seen.is_dir() => Ok(()),
                _ => Err(error),
            }
        });
        made.map_err(|error| {
            let made = Error::io("mkdir", &shown, &error);
            let reason = format!("{shown:?} cannot be made there: {error}");
            match made.kind {
                ErrorKind::Other | ErrorKind::NoSpace => made,
                _ => Error::input("target.root", reason),
            }
        })?;
        if self.direct {
            self.probe_direct(shared)?;
        }
        Ok(())
    }

    fn connect(&self) -> Result<Box<dyn Target>> {
        Ok(Box::new(Posix {
            directory: self.directory.clone(),
            direct: self.direct,
        }))
    }

    fn finish(&self, shared: bool) -> Result<()> {
        // POSIX lets a file system say either of a directory that is not empty.
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

struct Posix {
    directory: PathBuf,
    direct: bool,
}

struct PosixFile {
    file: fs::File,
    path: String,
}

impl Posix {
    fn at(&self, path: &str) -> PathBuf {
        self.directory.join(path)
    }

    fn opened(
        &self,
        operation: &'static str,
        path: &str,
        options: &mut OpenOptions,
    ) -> Result<Box<dyn File>> {
        // Links are not followed: what the run writes to is what the run made.
        let direct = if self.direct { libc::O_DIRECT } else { 0 };
        let file = options
            .custom_flags(libc::O_NOFOLLOW | direct)
            .open(self.at(path))
            .map_err(|error| Error::io(operation, path, &error))?;
        Ok(Box::new(PosixFile {
            file,
            path: path.to_string(),
        }))
    }
}

impl Target for Posix {
    fn create(&mut self, path: &str) -> Result<Box<dyn File>> {
        self.opened(
            "create",
            path,
            OpenOptions::new().write(true).create_new(true),
        )
    }

    fn open(&mut self, path: &str) -> Result<Box<dyn File>> {
        self.opened("open", path, OpenOptions::new().read(true))
    }

    fn append(&mut self, path: &str) -> Result<Box<dyn File>> {
        self.opened("append", path, OpenOptions::new().append(true))
    }

    fn stat(&mut self, path: &str) -> Result<u64> {
        let seen = fs::symlink_metadata(self.at(path));
        seen.map(|m| m.len())
            .map_err(|error| Error::io("stat", path, &error))
    }

    fn list(&mut self, path: &str) -> Result<usize> {
        let failed = |error: &std::io::Error| Error::io("list", path, error);
        let mut count = 0;
        for entry in fs::read_dir(self.at(path)).map_err(|error| failed(&error))? {
            entry.map_err(|error| failed(&error))?;
            count += 1;
        }
        Ok(count)
    }

    fn rename(&mut self, from: &str, to: &str) -> Result<()> {
        fs::rename(self.at(from), self.at(to)).map_err(|error| Error::io("rename", from, &error))
    }

    fn delete(&mut self, path: &str) -> Result<()> {
        fs::remove_file(self.at(path)).map_err(|error| Error::io("delete", path, &error))
    }

    fn mkdir(&mut self, path: &str) -> Result<()> {
        fs::create_dir(self.at(path)).map_err(|error| Error::io("mkdir", path, &error))
    }

    fn rmdir(&mut self, path: &str) -> Result<()> {
        fs::remove_dir(self.at(path)).map_err(|error| Error::io("rmdir", path, &error))
    }

    fn drop_cache(&mut self, path: &str) -> Result<()> {
        let failed = |error: &std::io::Error| Error::io("drop_cache", path, error);
        let file = fs::File::open(self.at(path)).map_err(|error| failed(&error))?;
        // Dirty pages stay in the cache, so they are written first.
        file.sync_data().map_err(|error| failed(&error))?;
        // SAFETY: the descriptor is open for the length of the call; no memory is involved.
        let code =
            unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, libc::POSIX_FADV_DONTNEED) };
        match code {
            0 => Ok(()),
            code => Err(failed(&std::io::Error::from_raw_os_error(code))),
        }
    }
}

impl File for PosixFile {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        self.file
            .read(buffer)
            .map_err(|error| Error::io("read", &self.path, &error))
    }

    fn write(&mut self, bytes: Bytes) -> Result<()> {
        self.file
            .write_all(&bytes)
            .map_err(|error| Error::io("write", &self.path, &error))
    }

    fn fsync(&mut self) -> Result<()> {
        self.file
            .sync_all()
            .map_err(|error| Error::io("fsync", &self.path, &error))
    }

    fn close(self: Box<Self>) -> Result<()> {
        use std::os::fd::IntoRawFd;
        let descriptor = self.file.into_raw_fd();
        // SAFETY: the descriptor was just given up by its owner and is closed once, here; a plain
        // drop would swallow the error that some file systems report only at close.
        match unsafe { libc::close(descriptor) } {
            0 => Ok(()),
            _ => Err(Error::io(
                "close",
                &self.path,
                &std::io::Error::last_os_error(),
            )),
        }
    }
}
