//! An open file of an NFS export: its handle, its position, and whether some of its writes are
//! uncommitted.

use std::sync::Arc;

use bytes::Bytes;
use nfs3_client::nfs3_types::nfs3::{
    nfs_fh3, stable_how, writeverf3, COMMIT3args, READ3args, WRITE3args,
};
use nfs3_client::nfs3_types::xdr_codec::Opaque;

use super::settings::Settings;
use super::wire::{lock, Shared};
use crate::target::File;
use crate::{Error, ErrorKind, Result};

pub struct NfsFile {
    connection: Shared,
    settings: Settings,
    handle: nfs_fh3,
    offset: u64,
    at_end: bool,
    /// The server's write verifier, from the answer to the first uncommitted write. None if there
    /// are no uncommitted writes. If a later verifier differs, the server has restarted and may
    /// have lost the uncommitted writes.
    unstable: Option<writeverf3>,
    path: String,
}

impl NfsFile {
    pub fn new(
        connection: &Shared,
        settings: Settings,
        path: &str,
        handle: nfs_fh3,
        offset: u64,
    ) -> Self {
        NfsFile {
            connection: Arc::clone(connection),
            settings,
            handle,
            offset,
            at_end: false,
            unstable: None,
            path: path.to_string(),
        }
    }

    fn signed(&mut self, operation: &'static str, by: writeverf3) -> Result<()> {
        if same_life(&mut self.unstable, by) {
            return Ok(());
        }
        let reason = "the server started anew and may have lost what was written";
        Err(Error::new(
            ErrorKind::Unreachable,
            operation,
            &self.path,
            reason,
        ))
    }

    /// Writes bytes at the file's position and advances the position behind them.
    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        let mut left = bytes;
        while !left.is_empty() {
            let piece = &left[..left.len().min(self.settings.write_bytes as usize)];
            let arguments = WRITE3args {
                file: self.handle.clone(),
                offset: self.offset,
                count: piece.len() as u32,
                stable: self.settings.stable,
                data: Opaque::borrowed(piece),
            };
            let taken = lock(&self.connection)
                .call("write", &self.path, async |c| c.write(&arguments).await)?;
            let count = taken.count as usize;
            if count == 0 || count > piece.len() {
                let reason = format!("the server took {count} of {} bytes", piece.len());
                return Err(Error::new(ErrorKind::Other, "write", &self.path, reason));
            }
            if taken.committed == stable_how::UNSTABLE {
                self.signed("write", taken.verf)?;
            }
            left = &left[count..];
            self.offset += count as u64;
        }
        Ok(())
    }
}

/// Whether the server's write verifier `now` equals the verifier stored in `before`; true if none
/// was stored. Stores `now` in `before`.
fn same_life(before: &mut Option<writeverf3>, now: writeverf3) -> bool {
    before.replace(now).is_none_or(|before| before == now)
}

impl File for NfsFile {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        let mut filled = 0;
        while filled < buffer.len() && !self.at_end {
            let wanted = (buffer.len() - filled).min(self.settings.read_bytes as usize);
            let arguments = READ3args {
                file: self.handle.clone(),
                offset: self.offset,
                count: wanted as u32,
            };
            let got = lock(&self.connection)
                .call("read", &self.path, async |c| c.read(&arguments).await)?;
            let data = got.data.as_ref();
            if data.len() > wanted {
                let reason = format!("{} bytes came, {wanted} were asked for", data.len());
                return Err(Error::new(ErrorKind::Other, "read", &self.path, reason));
            }
            buffer[filled..filled + data.len()].copy_from_slice(data);
            filled += data.len();
            self.offset += data.len() as u64;
            self.at_end = got.eof || data.is_empty();
        }
        Ok(filled)
    }

    fn write(&mut self, bytes: Bytes) -> Result<()> {
        self.put(&bytes)
    }

    fn fsync(&mut self) -> Result<()> {
        // In NFSv3, offset 0 and count 0 mean that the whole file is committed.
        let arguments = COMMIT3args {
            file: self.handle.clone(),
            offset: 0,
            count: 0,
        };
        let done = lock(&self.connection)
            .call("fsync", &self.path, async |c| c.commit(&arguments).await)?;
        if self.unstable.is_some() {
            self.signed("fsync", done.verf)?;
        }
        self.unstable = None;
        Ok(())
    }

    fn close(self: Box<Self>) -> Result<()> {
        Ok(())
    }

    fn read_at(&mut self, buffer: &mut [u8], offset: u64) -> Result<usize> {
        (self.offset, self.at_end) = (offset, false);
        self.read(buffer)
    }

    fn write_at(&mut self, bytes: &[u8], offset: u64) -> Result<()> {
        self.offset = offset;
        self.put(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_life_of_the_server_shows_once() {
        let (first, second) = (writeverf3([1; 8]), writeverf3([2; 8]));
        let mut signature = None;
        let observed = [first, first, second, second].map(|now| same_life(&mut signature, now));
        assert_eq!(observed, [true, true, false, true]);
    }
}
