//! The Java virtual machine in this process. It is started once, loads classes from class paths,
//! and maps Java exceptions to errors.

use std::cell::Cell;
use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use jni::errors::Error as JavaError;
use jni::objects::{GlobalRef, JObject, JString, JThrowable, JValue};
use jni::{InitArgsBuilder, JNIEnv, JNIVersion, JavaVM};

use super::calls::Calls;
use crate::{Error, ErrorKind, Result};

/// Number of local Java references that one call may have before the frame grows.
const FRAME: i32 = 16;
/// Options of the Java virtual machine. With them, it leaves signals to this process, writes
/// nothing to the system's temporary folder, prefers IPv4, and opens the package that Hadoop and
/// its libraries access by reflection.
const OPTIONS: [&str; 4] = [
    "-Xrs",
    "-XX:-UsePerfData",
    "-Djava.net.preferIPv4Stack=true",
    "--add-opens=java.base/java.lang=ALL-UNNAMED",
];

/// The only Java virtual machine: a process can start only one machine, and cannot restart it.
static MACHINE: Mutex<Option<Arc<JavaVM>>> = Mutex::new(None);
/// Loaded Hadoop classes by class path. They are kept until the process ends: Hadoop's static state
/// takes so much memory that it is not loaded again for each run.
static LOADED: Mutex<Option<HashMap<String, Arc<Hadoop>>>> = Mutex::new(None);

thread_local! {
    /// Address of the class loader that is set as this thread's context class loader; 0 if none is.
    static ENTERED: Cell<usize> = const { Cell::new(0) };
}

/// Hadoop's classes of one class path, loaded into the Java virtual machine.
pub struct Hadoop {
    machine: Arc<JavaVM>,
    loader: GlobalRef,
    pub calls: Calls,
}

impl Hadoop {
    /// Returns the Hadoop classes of a class path. They are loaded at the first use. The first call
    /// in a process starts the Java virtual machine with at most `heap_bytes` of heap.
    pub fn of(class_path: &str, heap_bytes: u64) -> Result<Arc<Hadoop>> {
        let machine = machine(heap_bytes)?;
        let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
        let loaded = loaded.get_or_insert_with(HashMap::new);
        if let Some(known) = loaded.get(class_path) {
            return Ok(Arc::clone(known));
        }
        let addresses = addresses(class_path)?;
        let wrong = |error: Error| Error::input("target.class_path", error.context);
        let (loader, calls) = in_frame(&machine, "load", class_path, |env| {
            let loader = class_loader(env, &addresses)?;
            let loader = env.new_global_ref(loader)?;
            enter(env, &loader)?;
            let calls = Calls::of(env, &loader)?;
            Ok((loader, calls))
        })
        .map_err(wrong)?;
        let hadoop = Arc::new(Hadoop {
            machine,
            loader,
            calls,
        });
        loaded.insert(class_path.to_string(), Arc::clone(&hadoop));
        Ok(hadoop)
    }

    /// Runs Java calls on the current thread. A Java exception becomes an error with this operation
    /// and path.
    pub fn work<T>(
        &self,
        operation: &'static str,
        path: &str,
        work: impl FnOnce(&mut JNIEnv, &Calls) -> jni::errors::Result<T>,
    ) -> Result<T> {
        in_frame(&self.machine, operation, path, |env| {
            // Hadoop finds classes through the context class loader of the calling thread.
            let own = self.loader.as_raw() as usize;
            if ENTERED.get() != own {
                enter(env, &self.loader)?;
                ENTERED.set(own);
            }
            work(env, &self.calls)
        })
    }
}

fn machine(heap_bytes: u64) -> Result<Arc<JavaVM>> {
    let mut known = MACHINE.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(machine) = known.as_ref() {
        return Ok(Arc::clone(machine));
    }
    let heap = format!("-Xmx{}m", heap_bytes >> 20);
    let mut options = InitArgsBuilder::new().version(JNIVersion::V8).option(&heap);
    for option in OPTIONS {
        options = options.option(option);
    }
    let failed = |reason: String| {
        let reason = format!("hadoop needs a Java machine (JAVA_HOME, or java on PATH): {reason}");
        Error::input("target.kind", reason)
    };
    let options = options.build().map_err(|error| failed(error.to_string()))?;
    let machine = JavaVM::new(options).map_err(|error| failed(error.to_string()))?;
    Ok(Arc::clone(known.insert(Arc::new(machine))))
}

fn in_frame<T>(
    machine: &JavaVM,
    operation: &'static str,
    path: &str,
    work: impl FnOnce(&mut JNIEnv) -> jni::errors::Result<T>,
) -> Result<T> {
    let crashed = |error: JavaError| Error::new(ErrorKind::Crash, operation, path, error);
    let mut env = machine
        .attach_current_thread_permanently()
        .map_err(crashed)?;
    match env.with_local_frame(FRAME, work) {
        Ok(value) => Ok(value),
        Err(JavaError::JavaException) => {
            let (class, text) = thrown(&mut env).map_err(crashed)?;
            Err(Error::new(kind(&class, &text), operation, path, text))
        }
        Err(error) => Err(crashed(error)),
    }
}

/// Translates a class path to URLs. Entries are separated by colons; DIRECTORY/* means all jars in
/// that directory.
fn addresses(class_path: &str) -> Result<Vec<String>> {
    let wrong = |part: &str, reason: &str| {
        let reason = format!("{part:?} {reason}");
        Err(Error::input("target.class_path", reason))
    };
    let mut files = Vec::new();
    for part in class_path.split(':') {
        let Some(directory) = part.strip_suffix("/*") else {
            match Path::new(part).canonicalize() {
                Ok(path) => files.push(path),
                Err(error) => return wrong(part, &error.to_string()),
            }
            continue;
        };
        let found = Path::new(directory)
            .canonicalize()
            .and_then(|d| d.read_dir());
        let entries = match found {
            Ok(entries) => entries.flatten().map(|entry| entry.path()),
            Err(error) => return wrong(part, &error.to_string()),
        };
        let mut jars: Vec<_> = entries
            .filter(|path| path.extension().is_some_and(|end| end == "jar"))
            .collect();
        if jars.is_empty() {
            return wrong(part, "holds no jar");
        }
        jars.sort();
        files.append(&mut jars);
    }
    let address = |path: &std::path::PathBuf| match path.is_dir() {
        true => format!("file:{}/", path.display()),
        false => format!("file:{}", path.display()),
    };
    Ok(files.iter().map(address).collect())
}

fn class_loader<'l>(
    env: &mut JNIEnv<'l>,
    addresses: &[String],
) -> jni::errors::Result<JObject<'l>> {
    let url = env.find_class("java/net/URL")?;
    let array = env.new_object_array(addresses.len() as i32, &url, JObject::null())?;
    for (place, address) in (0..).zip(addresses) {
        let text = env.new_string(address)?;
        let one = env.new_object(&url, "(Ljava/lang/String;)V", &[JValue::from(&text)])?;
        env.set_object_array_element(&array, place, &one)?;
        env.delete_local_ref(one)?;
        env.delete_local_ref(text)?;
    }
    let signature = "([Ljava/net/URL;)V";
    env.new_object(
        "java/net/URLClassLoader",
        signature,
        &[JValue::from(&array)],
    )
}

/// Sets the context class loader of the calling thread.
fn enter(env: &mut JNIEnv, loader: &GlobalRef) -> jni::errors::Result<()> {
    let signature = "()Ljava/lang/Thread;";
    let thread = env
        .call_static_method("java/lang/Thread", "currentThread", signature, &[])?
        .l()?;
    let signature = "(Ljava/lang/ClassLoader;)V";
    let loader = [JValue::from(loader.as_obj())];
    env.call_method(&thread, "setContextClassLoader", signature, &loader)?;
    Ok(())
}

/// Clears the pending Java exception. Returns its class name and the first line of its text.
fn thrown(env: &mut JNIEnv) -> jni::errors::Result<(String, String)> {
    let thrown: JThrowable = env.exception_occurred()?;
    env.exception_clear()?;
    env.with_local_frame(FRAME, |env| {
        let signature = "()Ljava/lang/Class;";
        let class = env.call_method(&thrown, "getClass", signature, &[])?.l()?;
        let mut class = text_of(env, &class, "getName")?;
        if class == "org.apache.hadoop.ipc.RemoteException" {
            class = text_of(env, &thrown, "getClassName")?;
        }
        let text = text_of(env, &thrown, "toString")?;
        let line = text.lines().next().unwrap_or_default().to_string();
        Ok((class, line))
    })
}

fn text_of(env: &mut JNIEnv, object: &JObject, method: &str) -> jni::errors::Result<String> {
    let signature = "()Ljava/lang/String;";
    let text = JString::from(env.call_method(object, method, signature, &[])?.l()?);
    let plain = env.get_string(&text)?.into();
    Ok(plain)
}

/// Maps a Java exception to a kind of error by its class name, and by its text if the class is a
/// generic one.
fn kind(class: &str, text: &str) -> ErrorKind {
    match class.rsplit('.').next().unwrap_or(class) {
        "FileNotFoundException" | "NoSuchFileException" => ErrorKind::NotFound,
        "FileAlreadyExistsException" | "AlreadyBeingCreatedException" => ErrorKind::Exists,
        "AccessControlException" | "AccessDeniedException" => ErrorKind::Permission,
        "DSQuotaExceededException" | "NSQuotaExceededException" => ErrorKind::NoSpace,
        "ChecksumException" => ErrorKind::Corruption,
        "ConnectException"
        | "NoRouteToHostException"
        | "UnknownHostException"
        | "SocketException"
        | "EOFException" => ErrorKind::Unreachable,
        "SocketTimeoutException" | "ConnectTimeoutException" => ErrorKind::Timeout,
        "OutOfMemoryError" | "StackOverflowError" | "NoClassDefFoundError" => ErrorKind::Crash,
        _ if text.contains("No space left on device") => ErrorKind::NoSpace,
        _ if text.contains("Permission denied") => ErrorKind::Permission,
        _ => ErrorKind::Other,
    }
}
