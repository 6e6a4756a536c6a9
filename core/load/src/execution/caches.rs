//! Empties the kernel's caches before each phase of a cold run, and checks that almost nothing of
//! the clients' files is still cached. A cold run is a run whose files must not be in memory at
//! first.

use crate::report::Resident;
use crate::target::Target;
use crate::{Error, Result};

/// The largest fraction of the checked bytes that may remain in the page cache in a cold run. The
/// kernel need not drop every page, and 1 % does not change the measured results noticeably.
const MOST_RESIDENT: f64 = 0.01;
/// One process counts the cached pages of at most this number of the clients' files. Counting opens
/// a file, which may send a request to a server.
pub const MOST_FILES: usize = 64;

/// Measures how much of the given files (path, size in bytes) is in the page cache. Returns None if
/// the target cannot report it. Returns an error if more than 1 % of the bytes are cached, since
/// the run would then measure memory instead of the target.
pub fn prove_cold(files: &[(String, u64)], target: &mut dyn Target) -> Result<Option<Resident>> {
    target.settle()?;
    let mut observed = Resident::default();
    for (path, bytes) in files.iter().filter(|(_, bytes)| *bytes > 0) {
        let Some(resident) = target.resident_bytes(path)? else {
            return Ok(None);
        };
        observed.prepared_bytes += bytes;
        observed.resident_bytes += resident;
    }
    if observed.resident_bytes as f64 > MOST_RESIDENT * observed.prepared_bytes as f64 {
        let Resident {
            prepared_bytes,
            resident_bytes,
        } = observed;
        let reason = format!(
            "a cold run was asked for, but {resident_bytes} of {prepared_bytes} bytes looked at \
             are still in the page cache when it was emptied; one in memory cannot be cold"
        );
        return Err(Error::input("target.drop_caches", reason));
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
