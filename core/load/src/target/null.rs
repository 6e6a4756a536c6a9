//! A target that does nothing, which serves to measure the generator itself.

use bytes::Bytes;

use super::{Capabilities, Factory, File, Target};
use crate::Result;

pub const CAPABILITIES: Capabilities = Capabilities {
    direct_io: false,
    sync_io: false,
    mmap: false,
    verify: false,
    ..Capabilities::ALL
};

pub struct NullFactory;

impl Factory for NullFactory {
    fn begin(&self, _shared: bool) -> Result<()> {
        Ok(())
    }

    fn connect(&self) -> Result<Box<dyn Target>> {
        Ok(Box::new(Null))
    }

    fn finish(&self, _shared: bool) -> Result<()> {
        Ok(())
    }
}

pub struct Null;

struct NullFile;

impl Target for Null {
    fn create(&mut self, _path: &str) -> Result<Box<dyn File>> {
        Ok(Box::new(NullFile))
    }

    fn open(&mut self, _path: &str) -> Result<Box<dyn File>> {
        Ok(Box::new(NullFile))
    }

    fn append(&mut self, _path: &str) -> Result<Box<dyn File>> {
        Ok(Box::new(NullFile))
    }

    fn stat(&mut self, _path: &str) -> Result<u64> {
        Ok(0)
    }

    fn list(&mut self, _path: &str) -> Result<usize> {
        Ok(0)
    }

    fn rename(&mut self, _from: &str, _to: &str) -> Result<()> {
        Ok(())
    }

    fn delete(&mut self, _path: &str) -> Result<()> {
        Ok(())
    }

    fn mkdir(&mut self, _path: &str) -> Result<()> {
        Ok(())
    }

    fn rmdir(&mut self, _path: &str) -> Result<()> {
        Ok(())
    }

    fn drop_cache(&mut self, _path: &str) -> Result<()> {
        Ok(())
    }

    fn open_write(&mut self, _path: &str) -> Result<Box<dyn File>> {
        Ok(Box::new(NullFile))
    }

    fn exists(&mut self, _path: &str) -> Result<bool> {
        Ok(true)
    }

    fn truncate(&mut self, _path: &str, _size_bytes: u64) -> Result<()> {
        Ok(())
    }

    fn chmod(&mut self, _path: &str, _mode: u32) -> Result<()> {
        Ok(())
    }

    fn set_xattr(&mut self, _path: &str, _value: &[u8]) -> Result<()> {
        Ok(())
    }

    fn get_xattr(&mut self, _path: &str) -> Result<usize> {
        Ok(super::ATTRIBUTE.len())
    }
}

impl File for NullFile {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        Ok(buffer.len())
    }

    fn write(&mut self, _bytes: Bytes) -> Result<()> {
        Ok(())
    }

    fn fsync(&mut self) -> Result<()> {
        Ok(())
    }

    fn close(self: Box<Self>) -> Result<()> {
        Ok(())
    }

    fn read_at(&mut self, buffer: &mut [u8], _offset: u64) -> Result<usize> {
        Ok(buffer.len())
    }

    fn write_at(&mut self, _bytes: &[u8], _offset: u64) -> Result<()> {
        Ok(())
    }

    fn lock(&mut self) -> Result<()> {
        Ok(())
    }

    fn unlock(&mut self) -> Result<()> {
        Ok(())
    }
}
