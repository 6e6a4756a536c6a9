//! The system calls of POSIX targets, and functions that convert their results to errors. The calls
//! that open, read, write and close a file allocate no memory.

use std::cell::Cell;
use std::ffi::{c_char, CStr, CString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::{Error, ErrorKind, Result};

/// Gives the calling thread a separate descriptor table, which has only the first three
/// descriptors. Does nothing in the first thread of the process. While threads share a table, the
/// kernel counts references to each descriptor, which costs some 30 ns a call. If the kernel
/// refuses, the table stays shared.
pub fn take_own_descriptors() {
    const FIRST: libc::c_uint = libc::STDERR_FILENO as libc::c_uint + 1;
    thread_local! {
        static TAKEN: Cell<bool> = const { Cell::new(false) };
    }
    // SAFETY: the calls have no arguments and change nothing.
    let is_first_thread = unsafe { libc::gettid() == libc::getpid() };
    if is_first_thread || TAKEN.replace(true) {
        return;
    }
    // SAFETY: the call unshares this thread's descriptor table and closes descriptors only in the
    // copy. Other threads own the original descriptors and keep using the original table.
    // Descriptors that this thread opens later belong to its own table.
    unsafe {
        let unshare = libc::CLOSE_RANGE_UNSHARE;
        libc::syscall(libc::SYS_close_range, FIRST, libc::c_uint::MAX, unshare);
    }
}

/// Makes an open directory the working directory of the calling thread alone. The kernel then
/// resolves paths from the working directory, which costs less than resolving them from a
/// descriptor. Returns false in the first thread of the process, or if the kernel refuses.
pub fn take_own_place(directory: i32) -> bool {
    // SAFETY: the calls touch no memory. They change only the working directory of this thread. The
    // other threads keep the working directory of the process.
    unsafe {
        libc::gettid() != libc::getpid()
            && libc::unshare(libc::CLONE_FS) == 0
            && libc::fchdir(directory) == 0
    }
}

// The most frequent calls bypass the C library. If a process has several threads, the C library
// enables thread cancellation before every call that may block, and disables it afterwards. This
// costs two locked instructions. The load generator does not use cancellation.

/// Opens a file relative to the directory with the descriptor `at`. Returns the new descriptor, or
/// -1 with `errno` set.
///
/// # Safety
/// `path` points to text that ends with a zero.
#[inline]
pub unsafe fn open_at(at: i32, path: *const c_char, flags: i32, mode: libc::mode_t) -> i32 {
    // SAFETY: the caller guarantees a terminated path; the result is a descriptor or -1.
    unsafe { libc::syscall(libc::SYS_openat, at, path, flags, mode) as i32 }
}

/// Closes a descriptor. Returns 0, or -1 with `errno` set.
///
/// # Safety
/// The descriptor is open, and nothing uses it afterwards.
#[inline]
pub unsafe fn close(descriptor: i32) -> i32 {
    // SAFETY: the caller guarantees that the descriptor is open and no longer used.
    unsafe { libc::syscall(libc::SYS_close, descriptor) as i32 }
}

/// Reads from a file at an offset. Returns the number of bytes read, or -1 with `errno` set.
#[inline]
pub fn read_at(descriptor: i32, buffer: &mut [u8], offset: u64) -> isize {
    let (data, length) = (buffer.as_mut_ptr(), buffer.len());
    // SAFETY: the kernel writes no more than the buffer's length.
    unsafe { libc::syscall(libc::SYS_pread64, descriptor, data, length, offset) as isize }
}

/// Writes to a file at an offset. Returns the number of bytes written, or -1 with `errno` set.
#[inline]
pub fn write_at(descriptor: i32, bytes: &[u8], offset: u64) -> isize {
    let (data, length) = (bytes.as_ptr(), bytes.len());
    // SAFETY: the kernel reads no more than the slice's length.
    unsafe { libc::syscall(libc::SYS_pwrite64, descriptor, data, length, offset) as isize }
}

/// Number of free bytes in the file system that contains `path`. None if the system call fails or
/// the file system reports no blocks.
pub fn free_bytes(path: &Path) -> Option<u64> {
    let path = CString::new(path.as_os_str().as_bytes()).ok()?;
    // SAFETY: the path ends with a zero byte; a structure of zeroes is valid, and the call fills
    // it.
    let found = unsafe {
        let mut found: libc::statvfs = std::mem::zeroed();
        (libc::statvfs(path.as_ptr(), &mut found) == 0).then_some(found)?
    };
    (found.f_blocks > 0).then(|| found.f_bavail.saturating_mul(found.f_frsize))
}

/// A path that ends with a zero byte, in a reused buffer.
#[derive(Default)]
pub struct CPath(Vec<u8>);

impl CPath {
    /// Copies the path into the buffer and adds a zero byte. Returns a pointer to the path in the
    /// buffer, which is valid until the next call. The path contains no zero byte, since the load
    /// generator makes all paths.
    #[inline]
    pub fn set(&mut self, path: &str) -> *const c_char {
        debug_assert!(!path.as_bytes().contains(&0));
        self.0.clear();
        self.0.extend_from_slice(path.as_bytes());
        self.0.push(0);
        self.0.as_ptr().cast()
    }
}

/// Returns the result of a system call, or the operating system's error if the result is -1. The
/// error has this operation and path.
#[inline]
pub fn checked(operation: &'static str, path: &str, code: i32) -> Result<i32> {
    match code {
        -1 => Err(failed(operation, path)),
        code => Ok(code),
    }
}

#[cold]
pub fn failed(operation: &'static str, path: &str) -> Error {
    Error::io(operation, path, &std::io::Error::last_os_error())
}

/// Counts the entries of an open directory, without "." and "..". Closes the directory's
/// descriptor.
pub fn count_entries(descriptor: i32, path: &str) -> Result<usize> {
    // SAFETY: the descriptor is open, and the directory stream takes over the descriptor; every
    // pointer is checked before use, and the name of an entry ends with a zero byte.
    unsafe {
        let directory = libc::fdopendir(descriptor);
        if directory.is_null() {
            let error = failed("list", path);
            libc::close(descriptor);
            return Err(error);
        }
        let mut count = 0;
        let outcome = loop {
            *libc::__errno_location() = 0;
            let entry = libc::readdir64(directory);
            if entry.is_null() {
                break match *libc::__errno_location() {
                    0 => Ok(()),
                    _ => Err(failed("list", path)),
                };
            }
            let name = CStr::from_ptr((*entry).d_name.as_ptr()).to_bytes();
            count += usize::from(name != b"." && name != b"..");
        };
        match (libc::closedir(directory), outcome) {
            (_, Err(error)) => Err(error),
            (0, Ok(())) => Ok(count),
            _ => Err(failed("list", path)),
        }
    }
}

/// Creates the error for a write call that accepted no bytes at all.
pub fn stuck(operation: &'static str) -> Error {
    Error::new(ErrorKind::Other, operation, "", "no byte was taken")
}
