//! One NFSv3 connection over a blocking socket, with typed errors. After a failure, the export is
//! mounted again.

use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, ToSocketAddrs};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::executor::block_on;
use nfs3_client::io::{AsyncRead, AsyncWrite};
use nfs3_client::net::Connector;
use nfs3_client::nfs3_types::mount::mountstat3;
use nfs3_client::nfs3_types::nfs3::{nfs_fh3, nfsstat3, Nfs3Result};
use nfs3_client::nfs3_types::rpc::{auth_unix, opaque_auth};
use nfs3_client::nfs3_types::xdr_codec::Opaque;
use nfs3_client::{
    ConnectError, MountError, Nfs3Client, Nfs3ConnectionBuilder, PortmapError, RpcError,
};
use socket2::{Domain, Protocol, Socket, Type};

use crate::{Error, ErrorKind, Result};

const CONNECT_LIMIT: Duration = Duration::from_secs(10);
/// Time limit of a remote call. A kernel client would retry for ever, which would make a
/// measurement impossible.
const CALL_LIMIT: Duration = Duration::from_secs(120);

/// A blocking socket for the asynchronous crate nfs3_client. A client's thread has nothing else to
/// do while it waits for an answer, so it blocks in the kernel. An asynchronous runtime would add
/// its latency to the measured times.
pub struct Wire(TcpStream);

/// Converts the error of a blocking call on a socket. The kernel reports an exceeded time limit as
/// "would block"; this error becomes a timeout.
fn limited<T>(outcome: io::Result<T>) -> io::Result<T> {
    outcome.map_err(|error| match error.kind() {
        io::ErrorKind::WouldBlock => io::Error::new(io::ErrorKind::TimedOut, "no answer"),
        _ => error,
    })
}

impl AsyncRead for Wire {
    async fn async_read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        // Without an error for a closed connection, the crate nfs3_client would wait for more bytes
        // for ever.
        let closed = || io::Error::new(io::ErrorKind::ConnectionAborted, "the server hung up");
        loop {
            match self.0.read(buffer) {
                Ok(0) if !buffer.is_empty() => return Err(closed()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                outcome => return limited(outcome),
            }
        }
    }
}

impl AsyncWrite for Wire {
    async fn async_write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        limited(self.0.write_all(bytes)).map(|()| bytes.len())
    }
}

struct Sockets;

impl Sockets {
    fn open(address: SocketAddr, local_port: Option<u16>) -> io::Result<Wire> {
        let domain = Domain::for_address(address);
        let socket = Socket::new(domain, Type::STREAM, Some(Protocol::TCP))?;
        if let Some(port) = local_port {
            let any = match address {
                SocketAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
                SocketAddr::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
            };
            socket.bind(&SocketAddr::new(any, port).into())?;
        }
        socket.connect_timeout(&address.into(), CONNECT_LIMIT)?;
        socket.set_tcp_nodelay(true)?;
        socket.set_read_timeout(Some(CALL_LIMIT))?;
        socket.set_write_timeout(Some(CALL_LIMIT))?;
        Ok(Wire(socket.into()))
    }
}

impl Connector for Sockets {
    type Connection = Wire;

    async fn connect(&self, address: SocketAddr) -> io::Result<Wire> {
        Sockets::open(address, None)
    }

    async fn connect_with_port(&self, address: SocketAddr, port: u16) -> io::Result<Wire> {
        Sockets::open(address, Some(port))
    }
}

/// The address of an NFS server, and its export.
#[derive(Clone)]
pub struct Server {
    address: IpAddr,
    shown: String,
    export: String,
    portmapper_port: u16,
    privileged_port: bool,
}

impl Server {
    /// Resolves the name of the server to an address. Does not connect yet.
    pub fn new(name: &str, export: &str, portmapper: u16, privileged: bool) -> Result<Self> {
        let wrong = |reason: String| Error::input("target.server", format!("{name:?}: {reason}"));
        let found = (name, portmapper)
            .to_socket_addrs()
            .map_err(|error| wrong(error.to_string()))?
            .next();
        let address = found.ok_or_else(|| wrong("has no address".to_string()))?;
        Ok(Server {
            address: address.ip(),
            shown: format!("{name}:{export}"),
            export: export.to_string(),
            portmapper_port: portmapper,
            privileged_port: privileged,
        })
    }

    fn mount(&self) -> std::result::Result<(Nfs3Client<Wire>, nfs_fh3), ConnectError> {
        // SAFETY: both calls take no arguments and cannot fail.
        let (uid, gid) = unsafe { (libc::geteuid(), libc::getegid()) };
        let credential = opaque_auth::auth_unix(&auth_unix {
            machinename: Opaque::borrowed(b"dfslab"),
            uid,
            gid,
            ..auth_unix::default()
        });
        let builder =
            Nfs3ConnectionBuilder::new(Sockets, self.address.to_string(), self.export.as_str())
                .portmapper_port(self.portmapper_port)
                .connect_from_privileged_port(self.privileged_port)
                .credential(credential);
        let mut mounted = block_on(builder.mount())?;
        let root = mounted.root_nfs_fh3();
        // The unmount call removes the client from the server's table of mounts. The table is only
        // informative, so the root handle stays valid.
        block_on(mounted.mount_client.umnt(mounted.mount_path)).map_err(MountError::Rpc)?;
        Ok((mounted.nfs3_client, root))
    }
}

/// The result of a remote call in the crate nfs3_client: the server's answer, or the reason why
/// there is none.
type Called<T, E> = std::result::Result<Nfs3Result<T, E>, RpcError>;

/// A client's connection to the server. After a failure, the next call opens the connection again,
/// which is possible because NFSv3 is stateless. The failed call is reported, not retried.
pub struct Connection {
    server: Server,
    client: Option<Nfs3Client<Wire>>,
    pub root: nfs_fh3,
}

impl Connection {
    pub fn open(server: &Server) -> Result<Self> {
        let mounted = server.mount();
        let (client, root) = mounted.map_err(|error| mount_error(&server.shown, &error))?;
        Ok(Connection {
            server: server.clone(),
            client: Some(client),
            root,
        })
    }

    /// Makes one remote call and waits for its answer.
    pub fn call<T, E>(
        &mut self,
        operation: &'static str,
        path: &str,
        work: impl AsyncFnOnce(&mut Nfs3Client<Wire>) -> Called<T, E>,
    ) -> Result<T> {
        if self.client.is_none() {
            *self = Connection::open(&self.server)?;
        }
        let client = self.client.as_mut().expect("just connected");
        match block_on(work(client)) {
            Ok(Nfs3Result::Ok(answer)) => Ok(answer),
            Ok(Nfs3Result::Err((status, _))) => {
                Err(Error::new(kind_of(status), operation, path, status))
            }
            Err(error) => {
                if !error.is_connection_reusable() {
                    self.client = None;
                }
                Err(rpc_error(operation, path, &error))
            }
        }
    }
}

fn kind_of(status: nfsstat3) -> ErrorKind {
    use nfsstat3 as S;
    match status {
        S::NFS3ERR_NOENT => ErrorKind::NotFound,
        S::NFS3ERR_EXIST => ErrorKind::Exists,
        S::NFS3ERR_PERM | S::NFS3ERR_ACCES | S::NFS3ERR_ROFS => ErrorKind::Permission,
        S::NFS3ERR_NOSPC | S::NFS3ERR_DQUOT => ErrorKind::NoSpace,
        S::NFS3ERR_STALE => ErrorKind::Unreachable,
        // By NFS3ERR_JUKEBOX the server says that it was not ready in time, and that the client
        // should retry later.
        S::NFS3ERR_JUKEBOX => ErrorKind::Timeout,
        _ => ErrorKind::Other,
    }
}

/// Whether the error of removing the run's directory means that other shards still use the
/// directory or have already removed it.
pub fn is_left_to_others(error: &Error) -> bool {
    error.kind == ErrorKind::NotFound || error.context == nfsstat3::NFS3ERR_NOTEMPTY.to_string()
}

/// Whether `error` is NFS3ERR_STALE: the server no longer knows a file whose handle it had given
/// out.
pub fn is_stale(error: &Error) -> bool {
    error.context == nfsstat3::NFS3ERR_STALE.to_string()
}

fn rpc_error(operation: &'static str, path: &str, error: &RpcError) -> Error {
    match error {
        RpcError::Io(io) => Error::io(operation, path, io),
        RpcError::Auth(_) => Error::new(ErrorKind::Permission, operation, path, error),
        RpcError::ProgUnavail => Error::new(ErrorKind::Unreachable, operation, path, error),
        _ => Error::new(ErrorKind::Other, operation, path, error),
    }
}

fn mount_error(shown: &str, error: &ConnectError) -> Error {
    match error {
        ConnectError::Io(io) => Error::io("mount", shown, io),
        ConnectError::Portmap(PortmapError::Rpc(rpc)) => rpc_error("mount", shown, rpc),
        ConnectError::Portmap(_) => {
            let reason = "no NFSv3 server is registered there";
            Error::new(ErrorKind::Unreachable, "mount", shown, reason)
        }
        ConnectError::Mount(MountError::Rpc(rpc)) => rpc_error("mount", shown, rpc),
        ConnectError::Mount(MountError::Denied(status)) => {
            let reason = match status {
                mountstat3::MNT3ERR_NOENT | mountstat3::MNT3ERR_NOTDIR => {
                    "is no exported directory"
                }
                mountstat3::MNT3ERR_ACCES | mountstat3::MNT3ERR_PERM => "is not exported to us",
                _ => return Error::new(ErrorKind::Other, "mount", shown, status),
            };
            Error::input("target.export", format!("{shown:?} {reason} ({status})"))
        }
    }
}

/// The connection of one client, which the client's target and open files share. The connection is
/// reference-counted, since the compiler cannot prove that no file outlives its target.
pub(super) type Shared = Arc<Mutex<Connection>>;

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
