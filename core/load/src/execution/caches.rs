//! Empties the kernel's caches before each phase of a cold run, and checks that almost nothing of
//! the clients' files is still cached. A cold run is a run whose files must not be in memory at
//! first.

use std::time::Duration;

use crate::report::Resident;
use crate::target::Target;
use crate::{Error, Result};

/// The largest fraction of the checked bytes that may remain in the page cache in a cold run. The
/// kernel need not drop every page, and 1 % does not change the measured results noticeably.
const MOST_RESIDENT: f64 = 0.01;
/// One process counts the cached pages of at most this number of the clients' files. Counting opens
/// a file, which may send a request to a server.
pub const MOST_FILES: usize = 64;

/// Number of further attempts to drop the files, and the pause before each. A few pages can stay
/// for a moment: while another processor holds them in a batch, or while they are written to disk.
const ATTEMPTS: usize = 5;
const PAUSE: Duration = Duration::from_millis(20);

/// Measures how much of the given files (path, size in bytes) is in the page cache. If more than
/// 1 % of the bytes are cached, the files are dropped again, at most `ATTEMPTS` times. Returns None
/// if the target cannot report the cached bytes. Returns an error if more than 1 % of the bytes
/// stay cached, since the run would then measure memory instead of the target.
pub fn prove_cold(files: &[(String, u64)], target: &mut dyn Target) -> Result<Option<Resident>> {
    target.settle()?;
    let mut attempts = 0;
    loop {
        let Some(observed) = resident(files, target)? else {
            return Ok(None);
        };
        let Resident {
            prepared_bytes,
            resident_bytes,
        } = observed;
        if resident_bytes as f64 <= MOST_RESIDENT * prepared_bytes as f64 {
            return Ok(Some(observed));
        }
        if attempts == ATTEMPTS {
            let reason = format!(
                "a cold run was asked for, but {resident_bytes} of {prepared_bytes} bytes looked \
                 at are still in the page cache when it was emptied; one in memory cannot be cold"
            );
            return Err(Error::input("target.drop_caches", reason));
        }
        attempts += 1;
        std::thread::sleep(PAUSE);
        for (path, _) in files {
            target.drop_cache(path)?;
        }
    }
}

/// Counts the bytes of the files, and those of them that are in the page cache; None if the target
/// cannot report it.
fn resident(files: &[(String, u64)], target: &mut dyn Target) -> Result<Option<Resident>> {
    let mut observed = Resident::default();
    for (path, bytes) in files.iter().filter(|(_, bytes)| *bytes > 0) {
        let Some(resident) = target.resident_bytes(path)? else {
            return Ok(None);
        };
        observed.prepared_bytes += bytes;
        observed.resident_bytes += resident;
    }
    Ok(Some(observed))
}

const DROP_CACHES: &str = "/proc/sys/vm/drop_caches";

/// Checks that this process may drop the system's caches, which needs write access to
/// /proc/sys/vm/drop_caches.
pub fn check_system_caches() -> Result<()> {
    std::fs::OpenOptions::new()
        .write(true)
        .open(DROP_CACHES)
        .map_or_else(
            |error| {
                let reason =
                    format!("\"system\" needs {DROP_CACHES} to be writable (root): {error}");
                Err(Error::input("target.drop_caches", reason))
            },
            |_| Ok(()),
        )
}

/// Writes all dirty pages of this machine to disk, then drops its clean pages, dentries and inodes.
pub fn drop_system_caches() -> Result<()> {
    // SAFETY: sync takes no arguments and cannot fail.
    unsafe { libc::sync() };
    std::fs::write(DROP_CACHES, "3").map_err(|error| Error::io("drop_caches", DROP_CACHES, &error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::File;

    /// A target whose files leave the page cache when they are dropped for the `stays`-th time.
    struct Reluctant {
        stays: usize,
        drops: usize,
    }

    impl Target for Reluctant {
        fn create(&mut self, _path: &str) -> Result<Box<dyn File>> {
            unreachable!("caches.rs creates no file")
        }
        fn open(&mut self, _path: &str) -> Result<Box<dyn File>> {
            unreachable!("caches.rs opens no file")
        }
        fn append(&mut self, _path: &str) -> Result<Box<dyn File>> {
            unreachable!("caches.rs appends to no file")
        }
        fn stat(&mut self, _path: &str) -> Result<u64> {
            unreachable!("caches.rs asks for no size")
        }
        fn list(&mut self, _path: &str) -> Result<usize> {
            unreachable!("caches.rs lists no directory")
        }
        fn rename(&mut self, _from: &str, _to: &str) -> Result<()> {
            unreachable!("caches.rs renames no file")
        }
        fn delete(&mut self, _path: &str) -> Result<()> {
            unreachable!("caches.rs removes no file")
        }
        fn mkdir(&mut self, _path: &str) -> Result<()> {
            unreachable!("caches.rs creates no directory")
        }
        fn rmdir(&mut self, _path: &str) -> Result<()> {
            unreachable!("caches.rs removes no directory")
        }
        fn drop_cache(&mut self, _path: &str) -> Result<()> {
            self.drops += 1;
            Ok(())
        }
        fn resident_bytes(&mut self, _path: &str) -> Result<Option<u64>> {
            Ok(Some(if self.drops < self.stays { 12_288 } else { 0 }))
        }
    }

    /// The resident bytes of a cold run's file after `prove_cold`, or its error, and the number of
    /// times that the file was dropped.
    fn proven(stays: usize) -> (Result<Option<Resident>>, usize) {
        let mut target = Reluctant { stays, drops: 0 };
        let found = prove_cold(&[("file".to_owned(), 1_048_576)], &mut target);
        (found, target.drops)
    }

    #[test]
    fn pages_that_stay_for_a_moment_are_dropped_again() {
        for stays in [0, 1, ATTEMPTS] {
            let (found, drops) = proven(stays);
            let found = found.expect("the file left the cache");
            assert_eq!(found.expect("it is reported").resident_bytes, 0);
            assert_eq!(drops, stays);
        }
    }

    #[test]
    fn pages_that_stay_for_good_are_an_error() {
        let (found, drops) = proven(ATTEMPTS + 1);
        let error = found.expect_err("the file is in memory");
        assert!(error.context.contains("12288 of 1048576"), "{error}");
        assert_eq!(drops, ATTEMPTS);
    }
}
