//! A file of HDFS that is open for reading.

use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures::{Stream, TryStreamExt};
use hdfs_native::file::FileReader;
use hdfs_native::Client;
use tokio::runtime::Runtime;

use super::call::wait;
use crate::target::File;
use crate::{Error, ErrorKind, Result};

/// Time limit for waiting until a DataNode has reported the last block of a file. Java's client
/// waits equally long for the length of this block: three retries after 4 s each
/// (`dfs.client.retry.times.get-last-block-length`).
const REPORT_LIMIT: Duration = Duration::from_secs(12);
const REPORT_FIRST_PAUSE: Duration = Duration::from_millis(1);
const REPORT_LONGEST_PAUSE: Duration = Duration::from_millis(64);

type ByteStream = Pin<Box<dyn Stream<Item = hdfs_native::Result<Bytes>> + Send>>;

/// An open file. Sequential reads take the bytes from one stream of blocks, as an application's
/// sequential reads do. If every read call made a range request instead, every read call would open
/// a block again.
pub struct Reader {
    runtime: Arc<Runtime>,
    client: Client,
    reader: FileReader,
    /// The stream of blocks, which the first sequential read opens. Positional reads need no
    /// stream.
    stream: Option<ByteStream>,
    left: Bytes,
    /// Number of bytes received from the stream. It includes the bytes in `left`, which were
    /// received but not yet returned to the caller.
    taken: usize,
    path: String,
    /// The absolute path of the file, which the NameNode needs.
    at: String,
}

impl Reader {
    pub fn new(
        runtime: Arc<Runtime>,
        client: Client,
        reader: FileReader,
        path: &str,
        at: String,
    ) -> Self {
        Reader {
            runtime,
            client,
            reader,
            stream: None,
            left: Bytes::new(),
            taken: 0,
            path: path.to_string(),
            at,
        }
    }

    /// Returns the next bytes of the stream. Returns None at the end of the file, according to the
    /// length that this reader knows.
    fn next(&mut self) -> Result<Option<Bytes>> {
        let (reader, taken) = (&self.reader, self.taken);
        let rest = || reader.read_range_stream(taken, reader.file_length() - taken);
        let stream = self.stream.get_or_insert_with(|| Box::pin(rest()));
        let next = wait(&self.runtime, "read", &self.path, stream.try_next())?;
        self.taken += next.as_ref().map_or(0, Bytes::len);
        Ok(next)
    }

    /// Asks the NameNode whether the file is longer than the length that this reader knows. If so,
    /// reopens the file and returns true.
    ///
    /// A NameNode lets a file be closed before any DataNode has reported the file's last block
    /// (`dfs.namenode.file.close.num-committed-allowed`). Until the report, the NameNode gives
    /// readers a length without the last block, which the crate hdfs-native takes for the file's
    /// end. Java's client asks a DataNode for the missing length; this reader waits for the report,
    /// which usually takes some milliseconds.
    fn turns_out_longer(&mut self) -> Result<bool> {
        let known = self.reader.file_length();
        let deadline = Instant::now() + REPORT_LIMIT;
        let mut pause = REPORT_FIRST_PAUSE;
        loop {
            let request = self.client.get_file_info(&self.at);
            if wait(&self.runtime, "read", &self.path, request)?.length <= known {
                return Ok(false);
            }
            let opened = self.client.read(&self.at);
            let reader = wait(&self.runtime, "read", &self.path, opened)?;
            if reader.file_length() > known {
                (self.reader, self.stream) = (reader, None);
                return Ok(true);
            }
            if Instant::now() > deadline {
                let limit_s = REPORT_LIMIT.as_secs();
                let reason = format!("its last block was not reported within {limit_s} s");
                return Err(Error::new(ErrorKind::Timeout, "read", &self.path, reason));
            }
            std::thread::sleep(pause);
            pause = REPORT_LONGEST_PAUSE.min(2 * pause);
        }
    }
}

impl File for Reader {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        let mut filled = 0;
        while filled < buffer.len() {
            if self.left.is_empty() {
                match self.next()? {
                    Some(bytes) => self.left = bytes,
                    None if self.turns_out_longer()? => continue,
                    None => break,
                }
            }
            let taken = self.left.len().min(buffer.len() - filled);
            buffer[filled..filled + taken].copy_from_slice(&self.left.split_to(taken));
            filled += taken;
        }
        Ok(filled)
    }

    fn write(&mut self, _bytes: Bytes) -> Result<()> {
        Err(Error::new(
            ErrorKind::Other,
            "write",
            &self.path,
            "opened for reading",
        ))
    }

    fn fsync(&mut self) -> Result<()> {
        Err(Error::new(
            ErrorKind::Other,
            "fsync",
            &self.path,
            "opened for reading",
        ))
    }

    fn close(self: Box<Self>) -> Result<()> {
        Ok(())
    }

    fn read_at(&mut self, buffer: &mut [u8], offset: u64) -> Result<usize> {
        let end = offset + buffer.len() as u64;
        while (self.reader.file_length() as u64) < end && self.turns_out_longer()? {}
        let left = (self.reader.file_length() as u64).saturating_sub(offset);
        let length = (buffer.len() as u64).min(left) as usize;
        if length == 0 {
            return Ok(0); // The crate panics at an offset behind the end.
        }
        let part = self
            .reader
            .read_range_buf(&mut buffer[..length], offset as usize);
        wait(&self.runtime, "read", &self.path, part)?;
        Ok(length)
    }
}
