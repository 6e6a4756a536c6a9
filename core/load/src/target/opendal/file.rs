//! An object that is open for reading or writing through the library OpenDAL.

use std::sync::Arc;

use bytes::{Buf, Bytes};
use futures::TryStreamExt;
use opendal::{Buffer, BufferStream, Reader, Writer};
use tokio::runtime::Runtime;

use super::call::wait;
use crate::target::File;
use crate::{Error, ErrorKind, Result};

/// An object open for reading. All sequential reads share one request, as in an application. Every
/// positional read is a separate request.
pub struct ObjectReader {
    runtime: Arc<Runtime>,
    reader: Reader,
    /// The stream of the object's bytes, which the first sequential read opens. Positional reads
    /// need no stream.
    stream: Option<BufferStream>,
    left: Buffer,
    path: String,
}

impl ObjectReader {
    pub fn new(runtime: &Arc<Runtime>, reader: Reader, path: &str) -> Self {
        ObjectReader {
            runtime: Arc::clone(runtime),
            reader,
            stream: None,
            left: Buffer::new(),
            path: path.to_string(),
        }
    }

    /// Returns the next bytes of the object's stream; None at its end.
    fn next(&mut self) -> Result<Option<Buffer>> {
        let at = ("read", self.path.as_str());
        if self.stream.is_none() {
            let opened = self.reader.clone().into_stream(..);
            self.stream = Some(wait(&self.runtime, at, opened)?);
        }
        let stream = self.stream.as_mut().expect("made just now");
        wait(&self.runtime, at, stream.try_next())
    }
}

impl File for ObjectReader {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        let mut filled = 0;
        while filled < buffer.len() {
            if !self.left.has_remaining() {
                match self.next()? {
                    None => break,
                    Some(bytes) => self.left = bytes,
                }
            }
            let taken = self.left.remaining().min(buffer.len() - filled);
            self.left.copy_to_slice(&mut buffer[filled..filled + taken]);
            filled += taken;
        }
        Ok(filled)
    }

    fn read_at(&mut self, buffer: &mut [u8], offset: u64) -> Result<usize> {
        let range = offset..offset + buffer.len() as u64;
        let mut part = &mut buffer[..];
        let got = self.reader.read_into(&mut part, range);
        wait(&self.runtime, ("read", &self.path), got)
    }

    fn write(&mut self, _bytes: Bytes) -> Result<()> {
        Err(other_way("write", &self.path, "opened for reading"))
    }

    fn fsync(&mut self) -> Result<()> {
        Err(other_way("fsync", &self.path, "opened for reading"))
    }

    fn close(self: Box<Self>) -> Result<()> {
        Ok(())
    }
}

/// An object open for writing. The service has the object only after it was closed.
pub struct ObjectWriter {
    runtime: Arc<Runtime>,
    writer: Writer,
    path: String,
}

impl ObjectWriter {
    pub fn new(runtime: &Arc<Runtime>, writer: Writer, path: &str) -> Self {
        ObjectWriter {
            runtime: Arc::clone(runtime),
            writer,
            path: path.to_string(),
        }
    }
}

impl File for ObjectWriter {
    fn read(&mut self, _buffer: &mut [u8]) -> Result<usize> {
        Err(other_way("read", &self.path, "opened for writing"))
    }

    fn write(&mut self, bytes: Bytes) -> Result<()> {
        wait(
            &self.runtime,
            ("write", &self.path),
            self.writer.write(bytes),
        )
    }

    fn fsync(&mut self) -> Result<()> {
        Err(other_way("fsync", &self.path, "an object has none"))
    }

    fn close(mut self: Box<Self>) -> Result<()> {
        let closed = self.writer.close();
        wait(&self.runtime, ("close", &self.path), closed).map(drop)
    }
}

fn other_way(operation: &'static str, path: &str, reason: &str) -> Error {
    Error::new(ErrorKind::Other, operation, path, reason)
}
