//! The kernel's own caches, emptied before a run that is to be cold.

use crate::{Error, Result};

const DROP_CACHES: &str = "/proc/sys/vm/drop_caches";

/// Whether this process may empty them.
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

/// Write what is dirty, then drop clean pages, entries and inodes.
pub fn drop_system_caches() -> Result<()> {
    // SAFETY: sync takes no arguments and cannot fail.
    unsafe { libc::sync() };
    std::fs::write(DROP_CACHES, "3").map_err(|error| Error::io("drop_caches", DROP_CACHES, &error))
}
