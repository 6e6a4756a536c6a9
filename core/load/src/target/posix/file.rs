//! An open file of a mounted file system. Its errors have no path; callers add the path.

use bytes::Bytes;
use memmap2::{MmapOptions, MmapRaw};

use super::calls::{self, checked, failed, stuck};
use crate::target::File;
use crate::{Error, ErrorKind, Result};

pub struct PosixFile {
    descriptor: i32,
    /// Position of the next sequential read or write of a mapped file.
    position: u64,
    mapped: bool,
    writable: bool,
    map: Option<MmapRaw>,
}

impl PosixFile {
    /// Takes ownership of an open descriptor. `mapped` says whether to access the file through
    /// memory, `writable` whether the mapping allows writes.
    pub fn new(descriptor: i32, mapped: bool, writable: bool) -> Self {
        PosixFile {
            descriptor,
            position: 0,
            mapped,
            writable,
            map: None,
        }
    }

    /// Closes the file, and returns an error if the close reports that earlier writes failed.
    #[inline]
    pub fn end(mut self) -> Result<()> {
        self.map = None;
        let descriptor = std::mem::replace(&mut self.descriptor, -1);
        // SAFETY: no other code uses the descriptor, because the object has given it up. It is
        // closed only here. The result is checked, since some file systems report failed writes
        // only at this call.
        checked("close", "", unsafe { calls::close(descriptor) }).map(drop)
    }

    /// Truncates or extends the file to a length of `bytes` bytes.
    pub fn set_length(&self, bytes: u64) -> Result<()> {
        // SAFETY: the descriptor is this file's own and open.
        let code = unsafe { libc::ftruncate(self.descriptor, bytes as libc::off_t) };
        checked("truncate", "", code).map(drop)
    }

    /// Drops the clean pages of the file from the kernel's page cache.
    pub fn forget(&self) -> Result<()> {
        // SAFETY: the descriptor is this file's own and open; the call uses no memory.
        match unsafe { libc::posix_fadvise(self.descriptor, 0, 0, libc::POSIX_FADV_DONTNEED) } {
            0 => Ok(()),
            code => {
                let error = std::io::Error::from_raw_os_error(code);
                Err(Error::io("drop_cache", "", &error))
            }
        }
    }

    /// Counts the bytes of the file that are in the page cache, without loading any page. Returns
    /// None if the file system cannot map files.
    pub fn resident_bytes(&self) -> Result<Option<u64>> {
        let failed = |error: &std::io::Error| Error::io("resident_bytes", "", error);
        let mapped = MmapOptions::new().map_raw_read_only(self.descriptor);
        let map = match mapped {
            Ok(map) if map.len() > 0 => map,
            // An empty file cannot be mapped, and none of it is cached.
            Ok(_) => return Ok(Some(0)),
            Err(error) if error.raw_os_error() == Some(libc::ENODEV) => return Ok(None),
            Err(error) => return Err(failed(&error)),
        };
        // SAFETY: the call takes a number and changes nothing.
        let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as usize;
        let mut pages = vec![0u8; map.len().div_ceil(page)];
        // SAFETY: the whole mapping is queried, and the buffer has one byte for each of its pages.
        let code = unsafe { libc::mincore(map.as_mut_ptr().cast(), map.len(), pages.as_mut_ptr()) };
        checked("resident_bytes", "", code)?;
        let resident = pages.iter().filter(|page| **page & 1 == 1).count() * page;
        Ok(Some(resident.min(map.len()) as u64))
    }

    /// Returns the mapping of the whole file into memory, which is created at the first use.
    fn map(&mut self, operation: &'static str) -> Result<&MmapRaw> {
        if self.map.is_none() {
            let options = MmapOptions::new();
            let mapped = match self.writable {
                true => options.map_raw(self.descriptor),
                false => options.map_raw_read_only(self.descriptor),
            };
            let mapped = mapped.map_err(|error| Error::io(operation, "", &error))?;
            self.map = Some(mapped);
        }
        Ok(self.map.as_ref().expect("mapped just now"))
    }

    fn copied_out(&mut self, buffer: &mut [u8], offset: u64) -> Result<usize> {
        let map = self.map("read")?;
        let offset = map.len().min(offset as usize);
        let length = buffer.len().min(map.len() - offset);
        // SAFETY: both ranges are within the mapping and the buffer, and do not overlap. The file
        // belongs to this run, and nothing truncates it while it is open here.
        unsafe {
            let from = map.as_ptr().add(offset);
            std::ptr::copy_nonoverlapping(from, buffer.as_mut_ptr(), length);
        }
        Ok(length)
    }

    fn copied_in(&mut self, bytes: &[u8], offset: u64) -> Result<()> {
        let map = self.map("write")?;
        if offset as usize + bytes.len() > map.len() {
            let reason = "a mapped file does not grow";
            return Err(Error::new(ErrorKind::Other, "write", "", reason));
        }
        // SAFETY: both ranges are within the mapping and the bytes, and do not overlap. The file
        // belongs to this run, and nothing truncates it while it is open here.
        unsafe {
            let to = map.as_mut_ptr().add(offset as usize);
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len());
        }
        Ok(())
    }

    /// Continues a read until the buffer is full or the file ends. `first` is the result of the
    /// first call: a number of bytes, or -1 for an error. Returns the number of bytes read in all
    /// calls.
    #[cold]
    fn read_on(&self, buffer: &mut [u8], offset: u64, first: isize) -> Result<usize> {
        let (mut filled, mut got) = (0, first);
        loop {
            match got {
                -1 => return Err(failed("read", "")),
                0 => return Ok(filled),
                got => filled += got as usize,
            }
            if filled == buffer.len() {
                return Ok(filled);
            }
            let at = offset + filled as u64;
            got = calls::read_at(self.descriptor, &mut buffer[filled..], at);
        }
    }

    /// Sets a lock of type `kind` on the whole file. It is an open file description lock: it
    /// belongs to this descriptor, not to the process. Distributed file systems send such locks to
    /// their servers.
    fn set_lock(&self, operation: &'static str, kind: i32) -> Result<()> {
        // SAFETY: a lock structure of zeroes is valid and means the whole file, from its start to
        // its end.
        let code = unsafe {
            let mut lock: libc::flock = std::mem::zeroed();
            lock.l_type = kind as libc::c_short;
            lock.l_whence = libc::SEEK_SET as libc::c_short;
            libc::fcntl(self.descriptor, libc::F_OFD_SETLKW, &lock)
        };
        checked(operation, "", code).map(drop)
    }
}

impl Drop for PosixFile {
    fn drop(&mut self) {
        // SAFETY: the descriptor is this file's own; -1 means that the file is closed.
        if self.descriptor >= 0 {
            unsafe { libc::close(self.descriptor) };
        }
    }
}

impl File for PosixFile {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        if self.mapped {
            let got = self.copied_out(buffer, self.position)?;
            self.position += got as u64;
            return Ok(got);
        }
        let (data, length) = (buffer.as_mut_ptr(), buffer.len());
        // SAFETY: the kernel writes no more than the buffer's length.
        match unsafe { libc::read(self.descriptor, data.cast(), length) } {
            -1 => Err(failed("read", "")),
            got => Ok(got as usize),
        }
    }

    #[inline]
    fn read_at(&mut self, buffer: &mut [u8], offset: u64) -> Result<usize> {
        if self.mapped {
            return self.copied_out(buffer, offset);
        }
        match calls::read_at(self.descriptor, buffer, offset) {
            got if got == buffer.len() as isize => Ok(buffer.len()),
            got => self.read_on(buffer, offset, got),
        }
    }

    fn write(&mut self, bytes: Bytes) -> Result<()> {
        if self.mapped {
            self.copied_in(&bytes, self.position)?;
            self.position += bytes.len() as u64;
            return Ok(());
        }
        let mut left = &bytes[..];
        while !left.is_empty() {
            // SAFETY: the kernel reads no more than the slice's length.
            match unsafe { libc::write(self.descriptor, left.as_ptr().cast(), left.len()) } {
                -1 => return Err(failed("write", "")),
                0 => return Err(stuck("write")),
                taken => left = &left[taken as usize..],
            }
        }
        Ok(())
    }

    #[inline]
    fn write_at(&mut self, bytes: &[u8], offset: u64) -> Result<()> {
        if self.mapped {
            return self.copied_in(bytes, offset);
        }
        let mut done = 0;
        while done < bytes.len() {
            let at = offset + done as u64;
            match calls::write_at(self.descriptor, &bytes[done..], at) {
                -1 => return Err(failed("write", "")),
                0 => return Err(stuck("write")),
                taken => done += taken as usize,
            }
        }
        Ok(())
    }

    fn fsync(&mut self) -> Result<()> {
        if let Some(map) = self.map.as_ref().filter(|_| self.writable) {
            map.flush()
                .map_err(|error| Error::io("fsync", "", &error))?;
        }
        // SAFETY: the descriptor is this file's own and open.
        checked("fsync", "", unsafe { libc::fsync(self.descriptor) }).map(drop)
    }

    fn lock(&mut self) -> Result<()> {
        self.set_lock("lock", libc::F_WRLCK)
    }

    fn unlock(&mut self) -> Result<()> {
        self.set_lock("unlock", libc::F_UNLCK)
    }

    fn close(self: Box<Self>) -> Result<()> {
        self.end()
    }
}
