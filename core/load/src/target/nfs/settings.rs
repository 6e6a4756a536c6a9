//! The sizes of requests and the durability of writes of an NFS target.

use nfs3_client::nfs3_types::nfs3::{stable_how, FSINFO3args};

use super::spec::{Spec, Stability, REQUEST_BYTES_LEAST, REQUEST_BYTES_MOST};
use super::wire::Connection;
use crate::Result;

/// Sizes of requests in bytes, and the durability of writes. Reads and writes have the sizes that
/// the user requested, limited to the largest sizes that the server offers. Listings have the size
/// that the server prefers, limited to REQUEST_BYTES_MOST.
#[derive(Clone, Copy)]
pub(super) struct Settings {
    pub(super) read_bytes: u32,
    pub(super) write_bytes: u32,
    pub(super) list_bytes: u32,
    pub(super) stable: stable_how,
}

impl Settings {
    /// Asks the server for the largest request sizes that it offers, and limits the sizes in `spec`
    /// to these sizes.
    pub(super) fn negotiated(connection: &mut Connection, spec: &Spec) -> Result<Self> {
        let arguments = FSINFO3args {
            fsroot: connection.root.clone(),
        };
        let offered =
            connection.call("fsinfo", &spec.export, async |c| c.fsinfo(&arguments).await)?;
        // Without the lower bound, every transfer would loop endlessly if a server offered 0 bytes.
        let within = |wanted: u32, offered: u32| wanted.min(offered).max(REQUEST_BYTES_LEAST);
        Ok(Settings {
            read_bytes: within(spec.read_size_bytes, offered.rtmax),
            write_bytes: within(spec.write_size_bytes, offered.wtmax),
            list_bytes: within(REQUEST_BYTES_MOST, offered.dtpref),
            stable: match spec.stability {
                Stability::Unstable => stable_how::UNSTABLE,
                Stability::DataSync => stable_how::DATA_SYNC,
                Stability::FileSync => stable_how::FILE_SYNC,
            },
        })
    }
}
