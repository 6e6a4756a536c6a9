//! The target for HDFS, through the Rust client hdfs-native: it needs no JVM and no libhdfs.

use std::future::Future;
use std::sync::Arc;

use bytes::Bytes;
use hdfs_native::file::FileWriter;
use hdfs_native::{Client, ClientBuilder, WriteOptions};
use tokio::runtime::Runtime;

use super::calls::{self, Call};
use super::waiting::runtime;
use super::{Capabilities, Factory, File, Target};
use crate::{Error, ErrorKind, Result};
use call::wait;
use reader::Reader;

mod call;
mod reader;

pub const CAPABILITIES: Capabilities = Capabilities {
    pwrite: false,
    truncate: false,
    xattr: false,
    lock: false,
    sync_io: false,
    mmap: false,
    direct_io: false,
    drop_file_cache: false,
    ..Capabilities::ALL
};

/// Number of attempts at one call to a single NameNode. With 15 attempts, the default of the crate
/// hdfs-native, a call during an outage would take minutes.
const ATTEMPTS: &str = "2";
const PERMISSION: u32 = 0o755;

pub struct Options {
    pub replication: u32,
    pub block_size_bytes: u64,
    pub shared_client: bool,
}

pub struct HdfsFactory {
    uri: String,
    root: String,
    directory: String,
    options: Options,
    runtime: Arc<Runtime>,
    first: Client,
}

impl HdfsFactory {
    /// Connects to the NameNode and checks that the root is a directory. Creates nothing yet.
    pub fn new(uri: &str, root: &str, run_directory: &str, options: Options) -> Result<Self> {
        calls::watch();
        let runtime = runtime(uri)?;
        let first = client(uri, &runtime)?;
        let wrong = |reason: String| Err(Error::input("target.root", reason));
        if !root.starts_with('/') || root.split('/').any(|part| part == "..") {
            return wrong(format!("{root:?} must begin with / and go through no .."));
        }
        match wait(&runtime, "stat", root, first.get_file_info(root)) {
            Ok(status) if status.isdir => {}
            Ok(_) => return wrong(format!("{root:?} is no directory")),
            Err(error) if error.kind == ErrorKind::NotFound => {
                return wrong(format!("{root:?} must be an existing directory"));
            }
            Err(error) => return Err(error),
        }
        let directory = format!("{}/{run_directory}", root.trim_end_matches('/'));
        let (uri, root) = (uri.to_string(), root.to_string());
        Ok(HdfsFactory {
            uri,
            root,
            directory,
            options,
            runtime,
            first,
        })
    }
}

fn client(uri: &str, runtime: &Runtime) -> Result<Client> {
    // A URI with a port names one NameNode. A URI without a port names a name service with several
    // NameNodes. For a name service the configured number of retries is kept, because failover
    // needs them.
    let is_one_namenode = uri.split('/').nth(2).is_some_and(|host| host.contains(':'));
    let attempts = is_one_namenode.then_some(("dfs.client.failover.max.attempts", ATTEMPTS));
    ClientBuilder::new()
        .with_url(uri)
        .with_config(attempts)
        .with_io_runtime(runtime.handle().clone())
        .build()
        .map_err(|error| Error::input("target.uri", format!("{uri:?}: {error}")))
}

impl Factory for HdfsFactory {
    fn begin(&self, shared: bool) -> Result<()> {
        // The client's mkdirs succeeds on an existing directory, so the code first checks that the
        // directory does not exist.
        let directory = &self.directory;
        match wait(
            &self.runtime,
            "stat",
            directory,
            self.first.get_file_info(directory),
        ) {
            Err(error) if error.kind == ErrorKind::NotFound => {}
            Ok(status) if shared && status.isdir => {}
            Ok(_) => {
                let reason = format!("{directory} is there already");
                return Err(Error::input("target.root", reason));
            }
            Err(error) => return Err(error),
        }
        let made = self.first.mkdirs(directory, PERMISSION, false);
        wait(&self.runtime, "mkdir", directory, made).map_err(|error| match error.kind {
            ErrorKind::Permission => {
                Error::input("target.root", format!("{:?} is not writable", self.root))
            }
            _ => error,
        })
    }

    fn connect(&self) -> Result<Box<dyn Target>> {
        let client = if self.options.shared_client {
            self.first.clone()
        } else {
            client(&self.uri, &self.runtime)?
        };
        let write = WriteOptions::default()
            .replication(self.options.replication)
            .block_size(self.options.block_size_bytes)
            .create_parent(false);
        let runtime = Arc::clone(&self.runtime);
        Ok(Box::new(Hdfs {
            runtime,
            client,
            directory: self.directory.clone(),
            write,
        }))
    }

    fn finish(&self, shared: bool) -> Result<()> {
        match remove(&self.runtime, &self.first, "rmdir", &self.directory) {
            Err(error) if shared && is_left_to_others(&error) => Ok(()),
            removed => removed,
        }
    }
}

/// Whether the error of removing the run's directory means that other shards still use the
/// directory or have already removed it.
fn is_left_to_others(error: &Error) -> bool {
    error.kind == ErrorKind::NotFound || error.context.contains("PathIsNotEmptyDirectoryException")
}

fn remove(runtime: &Runtime, client: &Client, operation: &'static str, path: &str) -> Result<()> {
    match wait(runtime, operation, path, client.delete(path, false))? {
        true => Ok(()),
        false => Err(Error::new(
            ErrorKind::NotFound,
            operation,
            path,
            "not there",
        )),
    }
}

struct Hdfs {
    runtime: Arc<Runtime>,
    client: Client,
    directory: String,
    write: WriteOptions,
}

impl Hdfs {
    fn at(&self, path: &str) -> String {
        format!("{}/{path}", self.directory)
    }

    fn wait<T>(
        &self,
        operation: &'static str,
        path: &str,
        future: impl Future<Output = hdfs_native::Result<T>>,
    ) -> Result<T> {
        wait(&self.runtime, operation, path, future)
    }

    fn writer(&self, path: &str, writer: FileWriter) -> Box<dyn File> {
        let runtime = Arc::clone(&self.runtime);
        Box::new(HdfsWriter {
            runtime,
            writer,
            path: path.to_string(),
        })
    }
}

impl Target for Hdfs {
    fn create(&mut self, path: &str) -> Result<Box<dyn File>> {
        let at = self.at(path);
        let writer = self.wait("create", path, self.client.create(&at, self.write.clone()))?;
        Ok(self.writer(path, writer))
    }

    fn open(&mut self, path: &str) -> Result<Box<dyn File>> {
        let at = self.at(path);
        let reader = self.wait("open", path, self.client.read(&at))?;
        let (runtime, client) = (Arc::clone(&self.runtime), self.client.clone());
        Ok(Box::new(Reader::new(runtime, client, reader, path, at)))
    }

    fn append(&mut self, path: &str) -> Result<Box<dyn File>> {
        let writer = self.wait("append", path, self.client.append(&self.at(path)))?;
        Ok(self.writer(path, writer))
    }

    fn stat(&mut self, path: &str) -> Result<u64> {
        let status = self.wait("stat", path, self.client.get_file_info(&self.at(path)))?;
        Ok(status.length as u64)
    }

    fn list(&mut self, path: &str) -> Result<usize> {
        let entries = self.wait("list", path, self.client.list_status(&self.at(path), false))?;
        Ok(entries.len())
    }

    fn rename(&mut self, from: &str, to: &str) -> Result<()> {
        self.wait(
            "rename",
            from,
            self.client.rename(&self.at(from), &self.at(to), false),
        )
    }

    fn delete(&mut self, path: &str) -> Result<()> {
        remove(&self.runtime, &self.client, "delete", &self.at(path))
    }

    fn mkdir(&mut self, path: &str) -> Result<()> {
        self.wait(
            "mkdir",
            path,
            self.client.mkdirs(&self.at(path), PERMISSION, false),
        )
    }

    fn rmdir(&mut self, path: &str) -> Result<()> {
        remove(&self.runtime, &self.client, "rmdir", &self.at(path))
    }

    fn exists(&mut self, path: &str) -> Result<bool> {
        match self.wait("exists", path, self.client.get_file_info(&self.at(path))) {
            Ok(_) => Ok(true),
            Err(error) if error.kind == ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn chmod(&mut self, path: &str, mode: u32) -> Result<()> {
        let at = self.at(path);
        self.wait("chmod", path, self.client.set_permission(&at, mode))
    }

    fn reports_calls(&self) -> bool {
        true
    }

    fn calls(&self, found: &mut Vec<Call>) {
        calls::drain(found);
    }

    fn drop_cache(&mut self, path: &str) -> Result<()> {
        Err(Error::new(
            ErrorKind::Other,
            "drop_cache",
            path,
            "the pages are the DataNodes'",
        ))
    }
}

struct HdfsWriter {
    runtime: Arc<Runtime>,
    writer: FileWriter,
    path: String,
}

impl File for HdfsWriter {
    fn read(&mut self, _buffer: &mut [u8]) -> Result<usize> {
        Err(Error::new(
            ErrorKind::Other,
            "read",
            &self.path,
            "opened for writing",
        ))
    }

    fn write(&mut self, bytes: Bytes) -> Result<()> {
        wait(
            &self.runtime,
            "write",
            &self.path,
            self.writer.write_bytes(bytes),
        )
        .map(|_| ())
    }

    fn fsync(&mut self) -> Result<()> {
        wait(&self.runtime, "fsync", &self.path, self.writer.hsync())
    }

    fn close(mut self: Box<Self>) -> Result<()> {
        wait(&self.runtime, "close", &self.path, self.writer.close())
    }
}
