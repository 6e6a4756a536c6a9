//! The target for any Hadoop file system. It calls the Java client that applications use, in a Java
//! virtual machine inside this process.
//!
//! The time of a step is the time of the Java call over JNI. This time includes one copy between
//! this process's buffer and the Java array; an application does not make this copy.

mod calls;
mod file;
mod machine;
mod spec;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use jni::objects::{GlobalRef, JByteArray, JObject, JValue};
use jni::JNIEnv;

use self::calls::Calls;
use self::file::{Array, Reader, Writer};
use self::machine::Hadoop;
pub use self::spec::{Spec, CAPABILITIES};
use super::{Factory, File, Target};
use crate::{Error, ErrorKind, Result};

/// Buffer size in bytes, which is Hadoop's default for io.file.buffer.size.
const BUFFER_BYTES: i32 = 4096;
const ATTRIBUTE: &str = "user.dfslab";
/// The parameters with which files are created.
struct Making {
    permission: GlobalRef,
    flags: GlobalRef,
    replication: i16,
    block_size_bytes: i64,
}

/// Creates the clients of one Hadoop file system for a run.
pub struct HadoopFactory {
    spec: Spec,
    hadoop: Arc<Hadoop>,
    configuration: GlobalRef,
    first: GlobalRef,
    making: Arc<Making>,
    directory: String,
}

impl HadoopFactory {
    /// Connects to the file system and checks that its root is a directory. Creates nothing yet.
    pub fn new(spec: &Spec, run_directory: &str) -> Result<Self> {
        let root = &spec.root;
        let wrong = |reason: String| Err(Error::input("target.root", reason));
        if !root.starts_with('/') || root.split('/').any(|part| part == "..") {
            return wrong(format!("{root:?} must begin with / and go through no .."));
        }
        let hadoop = Hadoop::of(&spec.class_path, spec.heap_bytes)?;
        let configuration =
            hadoop.work("configure", "", |env, calls| configured(env, calls, spec))?;
        let first = client(&hadoop, spec, &configuration)?;
        match is_directory(&hadoop, &first, root) {
            Ok(true) => {}
            Ok(false) => return wrong(format!("{root:?} is no directory")),
            Err(error) if error.kind == ErrorKind::NotFound => {
                return wrong(format!("{root:?} must be an existing directory"));
            }
            Err(error) => return Err(error),
        }
        let making = hadoop.work("connect", root, |env, calls| {
            making(env, calls, &first, spec)
        })?;
        Ok(HadoopFactory {
            spec: spec.clone(),
            hadoop,
            configuration,
            first,
            making: Arc::new(making),
            directory: format!("{}/{run_directory}", root.trim_end_matches('/')),
        })
    }

    fn connection(&self, client: GlobalRef, owns_client: bool) -> HadoopClient {
        HadoopClient {
            hadoop: Arc::clone(&self.hadoop),
            client,
            owns_client,
            making: Arc::clone(&self.making),
            directory: self.directory.clone(),
            array: Array::default(),
        }
    }

    fn own(&self) -> HadoopClient {
        self.connection(self.first.clone(), false)
    }
}

fn configured(env: &mut JNIEnv, calls: &Calls, spec: &Spec) -> jni::errors::Result<GlobalRef> {
    let nothing = JObject::null();
    let made = calls.configuration.object(env, &nothing, &[])?;
    for file in &spec.configuration {
        let path = path_of(env, calls, file)?;
        calls
            .add_resource
            .number(env, &made, &[JValue::from(&path)])?;
    }
    for (key, value) in &spec.properties {
        let (key, value) = (env.new_string(key)?, env.new_string(value)?);
        let both = [JValue::from(&key), JValue::from(&value)];
        calls.set_property.number(env, &made, &both)?;
    }
    calls
        .set_security
        .number(env, &nothing, &[JValue::from(&made)])?;
    env.new_global_ref(made)
}

/// Opens a client with separate connections. Hadoop's clients share connections if they have the
/// same login. Each client therefore gets a separate login under the current user's name. Kerberos
/// does not allow such logins, so all clients with Kerberos share the current login.
fn client(hadoop: &Hadoop, spec: &Spec, configuration: &GlobalRef) -> Result<GlobalRef> {
    let made = hadoop.work("connect", &spec.uri, |env, calls| {
        let nothing = JObject::null();
        let text = env.new_string(&spec.uri)?;
        let uri = calls.uri.object(env, &nothing, &[JValue::from(&text)])?;
        let known = [JValue::from(&uri), JValue::from(configuration.as_obj())];
        let made = match calls.is_secure.number(env, &nothing, &[])? {
            0 => {
                let user = calls.user.object(env, &nothing, &[])?;
                let name = calls.user_name.object(env, &user, &[])?;
                let known = [known[0], known[1], JValue::from(&name)];
                calls.client_as.object(env, &nothing, &known)?
            }
            _ => calls.client.object(env, &nothing, &known)?,
        };
        env.new_global_ref(made)
    });
    made.map_err(|error| match error.kind {
        ErrorKind::Other => Error::input("target.uri", format!("{:?}: {error}", spec.uri)),
        _ => error,
    })
}

fn making(
    env: &mut JNIEnv,
    calls: &Calls,
    client: &GlobalRef,
    spec: &Spec,
) -> jni::errors::Result<Making> {
    let nothing = JObject::null();
    let flag = |env: &mut JNIEnv, name: &str| {
        let name = env.new_string(name)?;
        let flag = calls.flag.object(env, &nothing, &[JValue::from(&name)])?;
        env.new_global_ref(flag)
    };
    let (create, sync) = (flag(env, "CREATE")?, flag(env, "SYNC_BLOCK")?);
    let flags = calls
        .flags
        .object(env, &nothing, &[JValue::from(create.as_obj())])?;
    if spec.sync_block {
        calls
            .add_flag
            .number(env, &flags, &[JValue::from(sync.as_obj())])?;
    }
    let permission = calls.file_default.object(env, &nothing, &[])?;
    let root = path_of(env, calls, &spec.root)?;
    let at_root = [JValue::from(&root)];
    let replication = match spec.replication {
        Some(reported) => i64::from(reported),
        None => calls.default_replication.number(env, client, &at_root)?,
    };
    let block_size_bytes = match spec.block_size_bytes {
        Some(reported) => reported as i64,
        None => calls.default_block_size.number(env, client, &at_root)?,
    };
    Ok(Making {
        permission: env.new_global_ref(permission)?,
        flags: env.new_global_ref(flags)?,
        replication: replication as i16,
        block_size_bytes,
    })
}

fn path_of<'l>(
    env: &mut JNIEnv<'l>,
    calls: &Calls,
    path: &str,
) -> jni::errors::Result<JObject<'l>> {
    let text = env.new_string(path)?;
    calls
        .path
        .object(env, &JObject::null(), &[JValue::from(&text)])
}

fn is_directory(hadoop: &Hadoop, client: &GlobalRef, path: &str) -> Result<bool> {
    hadoop.work("stat", path, |env, calls| {
        let at = path_of(env, calls, path)?;
        let status = calls.status.object(env, client, &[JValue::from(&at)])?;
        Ok(calls.is_directory.number(env, &status, &[])? == 1)
    })
}

impl Factory for HadoopFactory {
    fn begin(&self, shared: bool) -> Result<()> {
        // Hadoop's mkdirs succeeds on an existing directory, so the code first checks that the
        // directory does not exist.
        let directory = &self.directory;
        match is_directory(&self.hadoop, &self.first, directory) {
            Err(error) if error.kind == ErrorKind::NotFound => {}
            Ok(true) if shared => return Ok(()),
            Ok(_) => {
                let reason = format!("{directory} is there already");
                return Err(Error::input("target.root", reason));
            }
            Err(error) => return Err(error),
        }
        self.own().mkdir("").map_err(|error| match error.kind {
            ErrorKind::Permission => Error::input(
                "target.root",
                format!("{:?} is not writable", self.spec.root),
            ),
            _ => error,
        })
    }

    fn connect(&self) -> Result<Box<dyn Target>> {
        Ok(Box::new(match self.spec.shared_client {
            true => self.own(),
            false => {
                let own = client(&self.hadoop, &self.spec, &self.configuration)?;
                self.connection(own, true)
            }
        }))
    }

    fn finish(&self, shared: bool) -> Result<()> {
        match self.own().rmdir("") {
            Err(error) if shared && is_left_to_others(&error) => Ok(()),
            removed => removed,
        }
    }
}

impl Drop for HadoopFactory {
    fn drop(&mut self) {
        end(&self.hadoop, &self.first);
    }
}

/// Whether the error of removing the run's directory means that other shards still use the
/// directory or have already removed it.
fn is_left_to_others(error: &Error) -> bool {
    error.kind == ErrorKind::NotFound || error.context.contains("is not empty")
}

/// Closes a client. Errors are ignored, since errors of files that were still being written were
/// reported earlier.
fn end(hadoop: &Hadoop, client: &GlobalRef) {
    let _ = hadoop.work("disconnect", "", |env, calls| {
        calls.end_client.number(env, client, &[])
    });
}

struct HadoopClient {
    hadoop: Arc<Hadoop>,
    client: GlobalRef,
    owns_client: bool,
    making: Arc<Making>,
    directory: String,
    array: Array,
}

impl Drop for HadoopClient {
    fn drop(&mut self) {
        if self.owns_client {
            end(&self.hadoop, &self.client);
        }
    }
}

impl HadoopClient {
    /// Makes the Java calls of `work` with a path below the run's directory. Errors name
    /// `operation` and `path`.
    fn at<T>(
        &self,
        operation: &'static str,
        path: &str,
        work: impl FnOnce(&mut JNIEnv, &Calls, JValue) -> jni::errors::Result<T>,
    ) -> Result<T> {
        let at = match path {
            "" => self.directory.clone(),
            below => format!("{}/{below}", self.directory),
        };
        self.hadoop.work(operation, path, |env, calls| {
            let at = path_of(env, calls, &at)?;
            work(env, calls, JValue::from(&at))
        })
    }

    /// Makes a Java call on a path below the run's directory. The call returns a boolean. The value
    /// false, which Hadoop returns for a missing file, becomes an error.
    fn done(
        &self,
        operation: &'static str,
        path: &str,
        work: impl FnOnce(&mut JNIEnv, &Calls, JValue) -> jni::errors::Result<i64>,
    ) -> Result<()> {
        match self.at(operation, path, work)? {
            1 => Ok(()),
            _ => {
                let reason = "Hadoop answers that it was not done";
                Err(Error::new(ErrorKind::NotFound, operation, path, reason))
            }
        }
    }

    fn writer(&self, stream: GlobalRef) -> Box<dyn File> {
        Box::new(Writer::new(&self.hadoop, stream, &self.array))
    }
}

impl Target for HadoopClient {
    fn create(&mut self, path: &str) -> Result<Box<dyn File>> {
        let (client, making) = (&self.client, &self.making);
        let stream = self.at("create", path, |env, calls, at| {
            let nothing = JObject::null();
            let arguments = [
                at,
                JValue::from(making.permission.as_obj()),
                JValue::from(making.flags.as_obj()),
                JValue::Int(BUFFER_BYTES),
                JValue::Short(making.replication),
                JValue::Long(making.block_size_bytes),
                JValue::from(&nothing),
            ];
            let stream = calls.create.object(env, client, &arguments)?;
            env.new_global_ref(stream)
        })?;
        Ok(self.writer(stream))
    }

    fn open(&mut self, path: &str) -> Result<Box<dyn File>> {
        let stream = self.at("open", path, |env, calls, at| {
            let stream = calls.open.object(env, &self.client, &[at])?;
            env.new_global_ref(stream)
        })?;
        Ok(Box::new(Reader::new(&self.hadoop, stream, &self.array)))
    }

    fn append(&mut self, path: &str) -> Result<Box<dyn File>> {
        let stream = self.at("append", path, |env, calls, at| {
            let stream = calls.append.object(env, &self.client, &[at])?;
            env.new_global_ref(stream)
        })?;
        Ok(self.writer(stream))
    }

    fn stat(&mut self, path: &str) -> Result<u64> {
        self.at("stat", path, |env, calls, at| {
            let status = calls.status.object(env, &self.client, &[at])?;
            Ok(calls.length.number(env, &status, &[])? as u64)
        })
    }

    fn list(&mut self, path: &str) -> Result<usize> {
        self.at("list", path, |env, calls, at| {
            let entries = calls.list.object(env, &self.client, &[at])?;
            let entries = jni::objects::JObjectArray::from(entries);
            Ok(env.get_array_length(&entries)? as usize)
        })
    }

    fn rename(&mut self, from: &str, to: &str) -> Result<()> {
        let to = format!("{}/{to}", self.directory);
        self.done("rename", from, |env, calls, at| {
            let to = path_of(env, calls, &to)?;
            calls
                .rename
                .number(env, &self.client, &[at, JValue::from(&to)])
        })
    }

    fn delete(&mut self, path: &str) -> Result<()> {
        self.done("delete", path, |env, calls, at| {
            calls
                .delete
                .number(env, &self.client, &[at, JValue::Bool(0)])
        })
    }

    fn mkdir(&mut self, path: &str) -> Result<()> {
        self.done("mkdir", path, |env, calls, at| {
            calls.mkdirs.number(env, &self.client, &[at])
        })
    }

    fn rmdir(&mut self, path: &str) -> Result<()> {
        self.done("rmdir", path, |env, calls, at| {
            calls
                .delete
                .number(env, &self.client, &[at, JValue::Bool(0)])
        })
    }

    fn drop_cache(&mut self, path: &str) -> Result<()> {
        let reason = "the pages are the servers'";
        Err(Error::new(ErrorKind::Other, "drop_cache", path, reason))
    }

    fn exists(&mut self, path: &str) -> Result<bool> {
        let there = self.at("exists", path, |env, calls, at| {
            calls.exists.number(env, &self.client, &[at])
        })?;
        Ok(there == 1)
    }

    fn chmod(&mut self, path: &str, mode: u32) -> Result<()> {
        self.at("chmod", path, |env, calls, at| {
            let mode = [JValue::Short(mode as i16)];
            let permission = calls.permission.object(env, &JObject::null(), &mode)?;
            let arguments = [at, JValue::from(&permission)];
            calls.set_permission.number(env, &self.client, &arguments)
        })
        .map(drop)
    }

    fn set_xattr(&mut self, path: &str, value: &[u8]) -> Result<()> {
        self.at("set_xattr", path, |env, calls, at| {
            let name = env.new_string(ATTRIBUTE)?;
            let value = env.byte_array_from_slice(value)?;
            let arguments = [at, JValue::from(&name), JValue::from(&value)];
            calls.set_xattr.number(env, &self.client, &arguments)
        })
        .map(drop)
    }

    fn get_xattr(&mut self, path: &str) -> Result<usize> {
        self.at("get_xattr", path, |env, calls, at| {
            let name = env.new_string(ATTRIBUTE)?;
            let value = calls
                .get_xattr
                .object(env, &self.client, &[at, JValue::from(&name)])?;
            Ok(env.get_array_length(&JByteArray::from(value))? as usize)
        })
    }
}
