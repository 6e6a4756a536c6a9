//! The target for object stores and other services of the library OpenDAL: S3, a directory, or
//! memory.
//!
//! The time of a step is the time of the library's call, which includes its requests to the
//! service. Nothing is retried, so an outage is visible. Opening an object for reading sends no
//! request. Written data is sent when a part of the object is full or when the object is closed.

mod call;
mod file;
mod spec;
#[cfg(test)]
mod tests;

use std::future::{Future, IntoFuture};
use std::sync::Arc;

use futures::TryStreamExt;
use opendal::layers::HttpClientLayer;
use opendal::raw::HttpClient;
use opendal::Operator;
use tokio::runtime::Runtime;

use self::call::wait;
use self::file::{ObjectReader, ObjectWriter};
use self::spec::Service;
pub use self::spec::{Spec, CAPABILITIES};
use super::posix::{Options, PosixFactory};
use super::waiting::runtime;
use super::{Factory, File, SyncIo, Target};
use crate::{Error, ErrorKind, Result};

pub struct OpendalFactory {
    spec: Spec,
    service: Service,
    runtime: Arc<Runtime>,
    first: Operator,
    run_directory: String,
    /// The POSIX target if the service is a local directory; None for other services. The POSIX
    /// target creates and removes the run's directory. It does so because it does not follow
    /// symbolic links.
    directory: Option<PosixFactory>,
}

impl OpendalFactory {
    /// Creates the factory. If the service is remote, checks that the service answers. Writes
    /// nothing yet.
    pub fn new(spec: &Spec, run_directory: &str) -> Result<Self> {
        let (service, uri) = spec.address()?;
        let directory = match service {
            Service::Directory => {
                let options = Options::new(false, SyncIo::None, false);
                Some(PosixFactory::new(
                    &spec.place(&uri),
                    run_directory,
                    options,
                )?)
            }
            _ => None,
        };
        let factory = OpendalFactory {
            spec: spec.clone(),
            service,
            runtime: runtime(&spec.uri)?,
            first: spec.operator()?,
            run_directory: run_directory.to_string(),
            directory,
        };
        if service == Service::S3 {
            // One listing shows missing permissions or a missing bucket before anything is created.
            factory.objects(&factory.first).is_empty("list", "")?;
        }
        Ok(factory)
    }

    fn objects(&self, operator: &Operator) -> Objects {
        Objects {
            runtime: Arc::clone(&self.runtime),
            operator: operator.clone(),
            directory: self.run_directory.clone(),
            part_bytes: self.spec.part_size_bytes as usize,
            renames: self.service == Service::Directory,
        }
    }
}

impl Factory for OpendalFactory {
    fn begin(&self, shared: bool) -> Result<()> {
        if let Some(directory) = &self.directory {
            return directory.begin(shared);
        }
        if shared && self.service == Service::Memory {
            let reason = "memory:/// is of one process; allowed: a single one";
            return Err(Error::input("target.uri", reason));
        }
        let mut own = self.objects(&self.first);
        let taken = own.is_there("")? || own.is_there("/")?;
        if taken && !shared {
            let reason = format!("{} is there already", self.run_directory);
            return Err(Error::input("target.root", reason));
        }
        own.mkdir("")
    }

    fn connect(&self) -> Result<Box<dyn Target>> {
        let operator = match self.service {
            // The memory service keeps its data in one client, so all threads share it.
            Service::Memory => self.first.clone(),
            _ if self.spec.shared_client => self.first.clone(),
            _ => with_own_connections(self.spec.operator()?),
        };
        Ok(Box::new(self.objects(&operator)))
    }

    fn finish(&self, shared: bool) -> Result<()> {
        if let Some(directory) = &self.directory {
            return directory.finish(shared);
        }
        let mut own = self.objects(&self.first);
        match shared && !own.is_empty("rmdir", "")? {
            // Other shards still use the directory; the last shard removes it.
            true => Ok(()),
            false => own.rmdir(""),
        }
    }
}

/// Returns the client with a separate HTTP client, so that it shares no connections with other
/// clients.
fn with_own_connections(operator: Operator) -> Operator {
    let client = HttpClient::with(reqwest::Client::new());
    operator.layer(HttpClientLayer::new(client))
}

/// One client's connection to the service, for objects below the run's directory.
struct Objects {
    runtime: Arc<Runtime>,
    operator: Operator,
    directory: String,
    part_bytes: usize,
    /// Whether the service can rename objects. Otherwise the target copies the object and removes
    /// the old one.
    renames: bool,
}

impl Objects {
    fn at(&self, path: &str) -> String {
        match path {
            "" => self.directory.clone(),
            _ => format!("{}/{path}", self.directory),
        }
    }

    /// The name of a directory as OpenDAL writes it: the slash at its end distinguishes it from an
    /// object.
    fn directory_at(&self, path: &str) -> String {
        format!("{}/", self.at(path))
    }

    fn wait<T>(
        &self,
        operation: &'static str,
        path: &str,
        call: impl Future<Output = opendal::Result<T>>,
    ) -> Result<T> {
        wait(&self.runtime, (operation, path), call)
    }

    /// Whether an object exists whose path is the run's directory followed by `ending`.
    fn is_there(&self, ending: &str) -> Result<bool> {
        let name = format!("{}{ending}", self.directory);
        self.wait("exists", &name, self.operator.exists(&name))
    }

    /// Whether a directory has no entries. The object that marks the directory itself does not
    /// count.
    fn is_empty(&self, operation: &'static str, path: &str) -> Result<bool> {
        let own = self.directory_at(path);
        let found = async {
            let mut entries = self.operator.lister_with(&own).limit(2).await?;
            while let Some(entry) = entries.try_next().await? {
                if entry.path() != own {
                    return Ok(false);
                }
            }
            Ok(true)
        };
        self.wait(operation, path, found)
    }

    fn writer(&self, path: &str, writer: opendal::Writer) -> Box<dyn File> {
        Box::new(ObjectWriter::new(&self.runtime, writer, path))
    }
}

impl Target for Objects {
    fn create(&mut self, path: &str) -> Result<Box<dyn File>> {
        let at = self.at(path);
        let writer = self.operator.writer_with(&at);
        // If the service detects that the name of a new object is in use, creating the object is an
        // error. S3 detects this only when the new object is closed.
        let writer = writer.if_not_exists(true).chunk(self.part_bytes);
        let writer = self.wait("create", path, writer.into_future())?;
        Ok(self.writer(path, writer))
    }

    fn open(&mut self, path: &str) -> Result<Box<dyn File>> {
        let reader = self.wait("open", path, self.operator.reader(&self.at(path)))?;
        Ok(Box::new(ObjectReader::new(&self.runtime, reader, path)))
    }

    fn append(&mut self, path: &str) -> Result<Box<dyn File>> {
        let at = self.at(path);
        let writer = self.operator.writer_with(&at).append(true);
        let writer = self.wait("append", path, writer.into_future())?;
        Ok(self.writer(path, writer))
    }

    fn stat(&mut self, path: &str) -> Result<u64> {
        let metadata = self.wait("stat", path, self.operator.stat(&self.at(path)))?;
        Ok(metadata.content_length())
    }

    fn list(&mut self, path: &str) -> Result<usize> {
        let own = self.directory_at(path);
        let counted = async {
            let (mut entries, mut count) = (self.operator.lister(&own).await?, 0);
            while let Some(entry) = entries.try_next().await? {
                count += usize::from(entry.path() != own);
            }
            Ok(count)
        };
        self.wait("list", path, counted)
    }

    fn rename(&mut self, from: &str, to: &str) -> Result<()> {
        let (old, new) = (self.at(from), self.at(to));
        if self.renames {
            return self.wait("rename", from, self.operator.rename(&old, &new));
        }
        let copied = self.operator.copy(&old, &new);
        self.wait("rename", from, copied)?;
        let removed = self.wait("rename", from, self.operator.delete(&old));
        if removed.is_err() {
            // If the old object cannot be removed, both objects exist, so the new object is
            // removed. If this removal fails too, the run reports at its end that its directory is
            // not empty.
            let undone = self.operator.delete(&new);
            self.wait("rename", to, undone)?;
        }
        removed
    }

    fn delete(&mut self, path: &str) -> Result<()> {
        self.wait("delete", path, self.operator.delete(&self.at(path)))
    }

    fn mkdir(&mut self, path: &str) -> Result<()> {
        let at = self.directory_at(path);
        self.wait("mkdir", path, self.operator.create_dir(&at))
    }

    fn rmdir(&mut self, path: &str) -> Result<()> {
        // A check is needed: object stores remove a directory's marker even if there are objects
        // below the directory.
        if !self.is_empty("rmdir", path)? {
            let reason = "the directory is not empty";
            return Err(Error::new(ErrorKind::Other, "rmdir", path, reason));
        }
        let at = self.directory_at(path);
        self.wait("rmdir", path, self.operator.delete(&at))
    }

    fn opens_by_name(&self) -> bool {
        true
    }

    fn exists(&mut self, path: &str) -> Result<bool> {
        self.wait("exists", path, self.operator.exists(&self.at(path)))
    }

    fn drop_cache(&mut self, path: &str) -> Result<()> {
        let reason = "the pages are the store's";
        Err(Error::new(ErrorKind::Other, "drop_cache", path, reason))
    }
}
