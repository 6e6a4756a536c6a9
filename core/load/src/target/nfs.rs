//! The target for NFS version 3. The client is in this process: there is no kernel client, no cache
//! and no mount.

mod file;
mod settings;
mod spec;
#[cfg(test)]
mod tests;
mod wire;

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use nfs3_client::nfs3_types::nfs3::{
    cookieverf3, createhow3, diropargs3, fattr3, filename3, ftype3, nfs_fh3, sattr3, CREATE3args,
    GETATTR3args, LOOKUP3args, MKDIR3args, Nfs3Option, READDIR3args, REMOVE3args, RENAME3args,
    RMDIR3args, SETATTR3args,
};
use nfs3_client::nfs3_types::xdr_codec::Opaque;

use self::file::NfsFile;
use self::settings::Settings;
pub use self::spec::Spec;
use self::wire::{is_left_to_others, is_stale, lock, Connection, Server, Shared};
use super::{Capabilities, Factory, File, Target};
use crate::{Error, ErrorKind, Result};

pub const CAPABILITIES: Capabilities = Capabilities {
    xattr: false,
    lock: false,
    sync_io: false,
    mmap: false,
    direct_io: false,
    drop_file_cache: false,
    ..Capabilities::ALL
};

const FILE_MODE: u32 = 0o644;
const DIRECTORY_MODE: u32 = 0o755;

pub struct NfsFactory {
    server: Server,
    settings: Settings,
    connection: Mutex<Connection>,
    root: nfs_fh3,
    root_shown: String,
    run_directory: String,
    /// Handle of the run's directory; None until it is created.
    directory: Mutex<Option<nfs_fh3>>,
}

impl NfsFactory {
    /// Connects to the server and checks that the root is a directory of the export. Creates
    /// nothing yet.
    pub fn new(spec: &Spec, run_directory: &str) -> Result<Self> {
        let root = spec.root.as_str();
        let wrong = |reason: String| Error::input("target.root", reason);
        if !root.starts_with('/') || root.split('/').any(|part| part == "..") {
            let reason = format!("{root:?} must begin with / and go through no ..");
            return Err(wrong(reason));
        }
        let server = Server::new(
            &spec.server,
            &spec.export,
            spec.portmapper_port,
            spec.privileged_port,
        )?;
        let mut connection = Connection::open(&server)?;
        let settings = Settings::negotiated(&mut connection, spec)?;
        let mut handle = connection.root.clone();
        for name in root.split('/').filter(|name| !name.is_empty()) {
            let found = lookup(&mut connection, "lookup", root, &handle, name);
            let (below, attributes) = found.map_err(|error| match error.kind {
                ErrorKind::NotFound => wrong(format!("{root:?} must be an existing directory")),
                _ => error,
            })?;
            if attributes.type_ != ftype3::NF3DIR {
                return Err(wrong(format!("{root:?} is no directory")));
            }
            handle = below;
        }
        Ok(NfsFactory {
            server,
            settings,
            connection: Mutex::new(connection),
            root: handle,
            root_shown: root.to_string(),
            run_directory: run_directory.to_string(),
            directory: Mutex::new(None),
        })
    }
}

impl Factory for NfsFactory {
    fn begin(&self, shared: bool) -> Result<()> {
        let mut connection = lock(&self.connection);
        let (root, name) = (&self.root_shown, &self.run_directory);
        let wrong = |reason: String| Error::input("target.root", reason);
        // MKDIR fails if anything has the name, even a symbolic link, so an existing directory is
        // never taken over.
        let made = match mkdir(&mut connection, &self.root, name) {
            Err(error) if error.kind == ErrorKind::Exists => {
                let (found, attributes) = lookup(&mut connection, "mkdir", name, &self.root, name)?;
                if !shared || attributes.type_ != ftype3::NF3DIR {
                    return Err(wrong(format!("{name} is there already in {root:?}")));
                }
                found
            }
            Err(error) if error.kind == ErrorKind::Permission => {
                return Err(wrong(format!("{root:?} is not writable")));
            }
            made => made?,
        };
        *lock(&self.directory) = Some(made);
        Ok(())
    }

    fn connect(&self) -> Result<Box<dyn Target>> {
        let directory = lock(&self.directory).clone();
        let directory = directory.expect("begun before anybody connects");
        Ok(Box::new(Nfs {
            connection: Arc::new(Mutex::new(Connection::open(&self.server)?)),
            settings: self.settings,
            directories: HashMap::from([(String::new(), directory)]),
        }))
    }

    fn finish(&self, shared: bool) -> Result<()> {
        let mut connection = lock(&self.connection);
        let mut remove = || rmdir(&mut connection, &self.root, &self.run_directory);
        let removed = match remove() {
            // The error NFS3ERR_STALE may mean that another shard removed the directory during the
            // call. The removal is therefore repeated. If the directory is missing, the second
            // error says so. If NFS3ERR_STALE had another cause, the second attempt fails as well.
            Err(error) if shared && is_stale(&error) => remove(),
            removed => removed,
        };
        removed.or_else(|error| match shared && is_left_to_others(&error) {
            true => Ok(()),
            false => Err(error),
        })
    }
}

fn name(text: &str) -> filename3<'_> {
    filename3(Opaque::borrowed(text.as_bytes()))
}

fn entry<'a>(directory: &nfs_fh3, text: &'a str) -> diropargs3<'a> {
    diropargs3 {
        dir: directory.clone(),
        name: name(text),
    }
}

fn mode(bits: u32) -> sattr3 {
    sattr3 {
        mode: Nfs3Option::Some(bits),
        ..sattr3::default()
    }
}

/// Returns the handle and the attributes of the entry `name` of a directory. If the server omits
/// the attributes, they are requested by another call.
fn lookup(
    connection: &mut Connection,
    operation: &'static str,
    path: &str,
    directory: &nfs_fh3,
    text: &str,
) -> Result<(nfs_fh3, fattr3)> {
    let arguments = LOOKUP3args {
        what: entry(directory, text),
    };
    let found = connection.call(operation, path, async |c| c.lookup(&arguments).await)?;
    let handle = found.object;
    if let Nfs3Option::Some(attributes) = found.obj_attributes {
        return Ok((handle, attributes));
    }
    let arguments = GETATTR3args {
        object: handle.clone(),
    };
    let answer = connection.call(operation, path, async |c| c.getattr(&arguments).await)?;
    Ok((handle, answer.obj_attributes))
}

fn mkdir(connection: &mut Connection, directory: &nfs_fh3, path: &str) -> Result<nfs_fh3> {
    let text = last(path);
    let arguments = MKDIR3args {
        where_: entry(directory, text),
        attributes: mode(DIRECTORY_MODE),
    };
    let made = connection.call("mkdir", path, async |c| c.mkdir(&arguments).await)?;
    match made.obj {
        Nfs3Option::Some(handle) => Ok(handle),
        Nfs3Option::None => Ok(lookup(connection, "mkdir", path, directory, text)?.0),
    }
}

fn rmdir(connection: &mut Connection, above: &nfs_fh3, path: &str) -> Result<()> {
    let arguments = RMDIR3args {
        object: entry(above, last(path)),
    };
    let removed = connection.call("rmdir", path, async |c| c.rmdir(&arguments).await);
    removed.map(drop)
}

fn last(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

struct Nfs {
    connection: Shared,
    settings: Settings,
    /// Handles of directories by their path below the run's directory. Every NFS client caches such
    /// handles.
    directories: HashMap<String, nfs_fh3>,
}

impl Nfs {
    /// Returns the handle of the directory `path` below the run's directory, from the cache or from
    /// the server.
    fn directory(&mut self, operation: &'static str, path: &str) -> Result<nfs_fh3> {
        if let Some(known) = self.directories.get(path) {
            return Ok(known.clone());
        }
        let above = self.above(operation, path)?;
        let mut connection = lock(&self.connection);
        let (handle, _) = lookup(&mut connection, operation, path, &above, last(path))?;
        self.directories.insert(path.to_string(), handle.clone());
        Ok(handle)
    }

    /// Returns the handle of the directory that contains `path`.
    fn above(&mut self, operation: &'static str, path: &str) -> Result<nfs_fh3> {
        let parent = path.rsplit_once('/').map_or("", |(parent, _)| parent);
        self.directory(operation, parent)
    }

    fn look(&mut self, operation: &'static str, path: &str) -> Result<(nfs_fh3, fattr3)> {
        let above = self.above(operation, path)?;
        lookup(
            &mut lock(&self.connection),
            operation,
            path,
            &above,
            last(path),
        )
    }

    fn set_attributes(
        &mut self,
        operation: &'static str,
        path: &str,
        new_attributes: sattr3,
    ) -> Result<()> {
        let (object, _) = self.look(operation, path)?;
        let arguments = SETATTR3args {
            object,
            new_attributes,
            guard: Nfs3Option::None,
        };
        let set =
            lock(&self.connection).call(operation, path, async |c| c.setattr(&arguments).await);
        set.map(drop)
    }

    fn file(&self, path: &str, handle: nfs_fh3, offset: u64) -> Box<dyn File> {
        Box::new(NfsFile::new(
            &self.connection,
            self.settings,
            path,
            handle,
            offset,
        ))
    }
}

impl Target for Nfs {
    fn create(&mut self, path: &str) -> Result<Box<dyn File>> {
        let above = self.above("create", path)?;
        let arguments = CREATE3args {
            where_: entry(&above, last(path)),
            how: createhow3::GUARDED(mode(FILE_MODE)),
        };
        let created =
            lock(&self.connection).call("create", path, async |c| c.create(&arguments).await)?;
        let handle = match created.obj {
            Nfs3Option::Some(handle) => handle,
            Nfs3Option::None => self.look("create", path)?.0,
        };
        Ok(self.file(path, handle, 0))
    }

    fn open(&mut self, path: &str) -> Result<Box<dyn File>> {
        let (handle, _) = self.look("open", path)?;
        Ok(self.file(path, handle, 0))
    }

    fn append(&mut self, path: &str) -> Result<Box<dyn File>> {
        let (handle, attributes) = self.look("append", path)?;
        Ok(self.file(path, handle, attributes.size))
    }

    fn stat(&mut self, path: &str) -> Result<u64> {
        self.look("stat", path)
            .map(|(_, attributes)| attributes.size)
    }

    fn list(&mut self, path: &str) -> Result<usize> {
        let mut arguments = READDIR3args {
            dir: self.directory("list", path)?,
            cookie: 0,
            cookieverf: cookieverf3::default(),
            count: self.settings.list_bytes,
        };
        let mut connection = lock(&self.connection);
        let mut count = 0;
        loop {
            let page = connection.call("list", path, async |c| c.readdir(&arguments).await)?;
            let entries = page.reply.entries.into_inner();
            let own = |text: &[u8]| text != b"." && text != b"..";
            count += entries.iter().filter(|e| own(e.name.0.as_ref())).count();
            match entries.last() {
                Some(entry) if !page.reply.eof => arguments.cookie = entry.cookie,
                _ => return Ok(count),
            }
            arguments.cookieverf = page.cookieverf;
        }
    }

    fn rename(&mut self, from: &str, to: &str) -> Result<()> {
        let (above_from, above_to) = (self.above("rename", from)?, self.above("rename", to)?);
        let arguments = RENAME3args {
            from: entry(&above_from, last(from)),
            to: entry(&above_to, last(to)),
        };
        let renamed =
            lock(&self.connection).call("rename", from, async |c| c.rename(&arguments).await);
        renamed.map(drop)
    }

    fn delete(&mut self, path: &str) -> Result<()> {
        let above = self.above("delete", path)?;
        let arguments = REMOVE3args {
            object: entry(&above, last(path)),
        };
        let removed =
            lock(&self.connection).call("delete", path, async |c| c.remove(&arguments).await);
        removed.map(drop)
    }

    fn mkdir(&mut self, path: &str) -> Result<()> {
        let above = self.above("mkdir", path)?;
        let made = mkdir(&mut lock(&self.connection), &above, path)?;
        self.directories.insert(path.to_string(), made);
        Ok(())
    }

    fn rmdir(&mut self, path: &str) -> Result<()> {
        let above = self.above("rmdir", path)?;
        self.directories.remove(path);
        rmdir(&mut lock(&self.connection), &above, path)
    }

    fn open_write(&mut self, path: &str) -> Result<Box<dyn File>> {
        // NFSv3 has no open call: the handle of a file serves reads and writes.
        self.open(path)
    }

    fn exists(&mut self, path: &str) -> Result<bool> {
        match self.look("exists", path) {
            Ok(_) => Ok(true),
            Err(error) if error.kind == ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn truncate(&mut self, path: &str, size_bytes: u64) -> Result<()> {
        let size = Nfs3Option::Some(size_bytes);
        let attributes = sattr3 {
            size,
            ..sattr3::default()
        };
        self.set_attributes("truncate", path, attributes)
    }

    fn chmod(&mut self, path: &str, bits: u32) -> Result<()> {
        self.set_attributes("chmod", path, mode(bits))
    }

    fn drop_cache(&mut self, path: &str) -> Result<()> {
        let reason = "the pages are the server's";
        Err(Error::new(ErrorKind::Other, "drop_cache", path, reason))
    }
}
