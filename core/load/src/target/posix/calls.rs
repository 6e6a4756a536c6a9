//! System calls with paths that need no allocation and with checked results.

use std::cell::Cell;
use std::ffi::{c_char, CStr, CString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::{Error, ErrorKind, Result};

/// Gives the calling thread a separate descriptor table that holds only the first three
/// descriptors. While threads share a table the kernel counts references to each descriptor, which
/// costs some 30 ns a call. If the kernel refuses, the table stays shared.
pub fn take_own_descriptors() {
    const FIRST: libc::c_uint = libc::STDERR_FILENO as libc::c_uint + 1;
    thread_local! {
        static TAKEN: Cell<bool> = const { Cell::new(false) };
    }
    // SAFETY: it takes and changes nothing.
    let is_first_thread = unsafe { libc::gettid() == libc::getpid() };
    if is_first_thread || TAKEN.replace(true) {
        return;
    }
    // SAFETY: what is closed is this thread's copy of descriptors that others own: the first thread
    // shares the table that is left. Whatever this thread opens from now on is its own.
    unsafe {
        let unshare = libc::CLOSE_RANGE_UNSHARE;
        libc::syscall(libc::SYS_close_range, FIRST, libc::c_uint::MAX, unshare);
    }
}

/// Let the calling thread's relative paths begin at an open directory, and no other thread's:
/// looking one up from there is a little less work for the kernel than by way of a descriptor.
/// Whether it could be had.
pub fn take_own_place(directory: i32) -> bool {
    // SAFETY: neither touches memory; what is unshared is this thread's idea of where it is. The
    // first thread keeps its own, which is the process'.
    unsafe {
        libc::gettid() != libc::getpid()
            && libc::unshare(libc::CLONE_FS) == 0
            && libc::fchdir(directory) == 0
    }
}

// The calls that a load makes most, past the C library's own: in a process of several threads that
// arms cancellation before every call that may wait and disarms it behind, which is two locked
// instructions for what nobody here uses.

/// Open a file of a directory.
///
/// # Safety
/// The path ends with a zero.
#[inline]
pub unsafe fn open_at(at: i32, path: *const c_char, flags: i32, mode: libc::mode_t) -> i32 {
    // SAFETY: as asked of the caller; the answer is a descriptor or -1.
    unsafe { libc::syscall(libc::SYS_openat, at, path, flags, mode) as i32 }
}

/// Close a descriptor.
///
/// # Safety
/// It is open, and nobody uses it again.
#[inline]
pub unsafe fn close(descriptor: i32) -> i32 {
    // SAFETY: as asked of the caller.
    unsafe { libc::syscall(libc::SYS_close, descriptor) as i32 }
}

/// Reads at an offset; returns the number of bytes, or -1.
#[inline]
pub fn read_at(descriptor: i32, buffer: &mut [u8], offset: u64) -> isize {
    let (data, length) = (buffer.as_mut_ptr(), buffer.len());
    // SAFETY: no more than the buffer's length is written to it.
    unsafe { libc::syscall(libc::SYS_pread64, descriptor, data, length, offset) as isize }
}

/// Writes at an offset; returns the number of bytes, or -1.
#[inline]
pub fn write_at(descriptor: i32, bytes: &[u8], offset: u64) -> isize {
    let (data, length) = (bytes.as_ptr(), bytes.len());
    // SAFETY: the kernel reads no more than the slice's length.
    unsafe { libc::syscall(libc::SYS_pwrite64, descriptor, data, length, offset) as isize }
}

/// Free bytes of the file system of a path; None where it does not tell its size.
pub fn free_bytes(path: &Path) -> Option<u64> {
    let path = CString::new(path.as_os_str().as_bytes()).ok()?;
    // SAFETY: the path ends with a zero; zeroes are a valid structure, which the call fills.
    let found = unsafe {
        let mut found: libc::statvfs = std::mem::zeroed();
        (libc::statvfs(path.as_ptr(), &mut found) == 0).then_some(found)?
    };
    (found.f_blocks > 0).then(|| found.f_bavail.saturating_mul(found.f_frsize))
}

/// A zero-terminated path in a reused buffer.
#[derive(Default)]
pub struct CPath(Vec<u8>);

impl CPath {
    /// The path with a zero at its end; valid until the next one. Paths here are made by the load
    /// and hold no zero themselves.
    #[inline]
    pub fn set(&mut self, path: &str) -> *const c_char {
        debug_assert!(!path.as_bytes().contains(&0));
        self.0.clear();
        self.0.extend_from_slice(path.as_bytes());
        self.0.push(0);
        self.0.as_ptr().cast()
    }
}

/// The result of a call, or the operating system's error.
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

/// Counts the entries of an open directory without "." and ".."; closes it.
pub fn count_entries(descriptor: i32, path: &str) -> Result<usize> {
    // SAFETY: the descriptor is open and given up here; every pointer is checked before use, and
    // an entry's name ends with a zero.
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

/// The error for a call that accepted no bytes at all.
pub fn stuck(operation: &'static str) -> Error {
    Error::new(ErrorKind::Other, operation, "", "no byte was taken")
}
