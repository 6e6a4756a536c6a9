//! Makes system calls of one client. Each call takes an open directory and the name of one entry in
//! it, so that no link in a path is followed.

use super::calls::{self, checked};
use super::Posix;
use crate::{Error, Result};

impl Posix {
    /// Makes a system call with an open directory and a name in it. The call is repeated once if
    /// another client removed the directory and made it again.
    #[inline]
    pub(super) fn called(
        &mut self,
        operation: &'static str,
        path: &str,
        call: impl Fn(i32, *const libc::c_char) -> i32,
    ) -> Result<i32> {
        let code = self.called_once(operation, path, &call)?;
        if code != -1 {
            return Ok(code);
        }
        let error = std::io::Error::last_os_error();
        let (is_absent, at) = (error.raw_os_error() == Some(libc::ENOENT), self.at());
        if is_absent && self.parents.is_other_now(at, path) {
            let again = self.called_once(operation, path, &call)?;
            return checked(operation, path, again);
        }
        Err(Error::io(operation, path, &error))
    }

    #[inline]
    fn called_once(
        &mut self,
        operation: &'static str,
        path: &str,
        call: &impl Fn(i32, *const libc::c_char) -> i32,
    ) -> Result<i32> {
        let top = self.at();
        let found = self.parents.of(top, path);
        let (at, name) = found.map_err(|error| Error::io(operation, path, &error))?;
        Ok(call(at, self.path.set(name)))
    }

    /// Makes a system call that accepts a path but no directory descriptor. The directory is
    /// reached by a path through /proc that names its descriptor.
    pub(super) fn called_through_descriptor(
        &mut self,
        operation: &'static str,
        path: &str,
        call: impl Fn(*const libc::c_char) -> isize,
    ) -> Result<usize> {
        let top = self.at();
        let found = self.parents.of(top, path);
        let (at, name) = found.map_err(|error| Error::io(operation, path, &error))?;
        let name = match at {
            libc::AT_FDCWD => self.path.set(name),
            // The descriptor is looked up by thread, since this thread has a separate descriptor
            // table.
            at => self.path.set(&format!("/proc/thread-self/fd/{at}/{name}")),
        };
        match call(name) {
            -1 => Err(calls::failed(operation, path)),
            size_bytes => Ok(size_bytes as usize),
        }
    }
}
