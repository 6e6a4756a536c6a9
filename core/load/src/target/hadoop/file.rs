//! Open files of Hadoop's client, and the Java array through which their bytes are transferred.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use jni::objects::{GlobalRef, JByteArray, JValue};
use jni::JNIEnv;

use super::super::File;
use super::machine::Hadoop;
use crate::{Error, ErrorKind, Result};

/// The Java array through which one client transfers data. Its length is that of the longest
/// transfer so far. A client uses one file at a time, so all its files share the array.
#[derive(Clone, Default)]
pub struct Array(Arc<Mutex<Option<(GlobalRef, usize)>>>);

impl Array {
    fn of(&self, env: &mut JNIEnv, length: usize) -> jni::errors::Result<GlobalRef> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match known.as_ref() {
            Some((array, has)) if *has >= length => Ok(array.clone()),
            _ => {
                let array = env.new_byte_array(length as i32)?;
                let array = env.new_global_ref(array)?;
                *known = Some((array.clone(), length));
                Ok(array)
            }
        }
    }
}

fn as_bytes(array: &GlobalRef) -> &JByteArray<'_> {
    array.as_obj().into()
}

fn refused(operation: &'static str, opened_for: &str) -> Error {
    let reason = format!("opened for {opened_for}");
    Error::new(ErrorKind::Other, operation, "", reason)
}

/// A file of a Hadoop file system that is open for reading.
pub struct Reader {
    hadoop: Arc<Hadoop>,
    stream: GlobalRef,
    array: Array,
}

impl Reader {
    pub fn new(hadoop: &Arc<Hadoop>, stream: GlobalRef, array: &Array) -> Self {
        Reader {
            hadoop: Arc::clone(hadoop),
            stream,
            array: array.clone(),
        }
    }

    /// Makes one Java read call at `offset`, or at the file's position if None. Returns the number
    /// of bytes read; 0 at the end of the file.
    fn once(&mut self, buffer: &mut [u8], offset: Option<u64>) -> Result<usize> {
        self.hadoop.work("read", "", |env, calls| {
            let array = self.array.of(env, buffer.len())?;
            let length = JValue::Int(buffer.len() as i32);
            let bytes = JValue::from(array.as_obj());
            let got = match offset {
                None => {
                    let arguments = [bytes, JValue::Int(0), length];
                    calls.read.number(env, &self.stream, &arguments)?
                }
                Some(offset) => {
                    let arguments = [JValue::Long(offset as i64), bytes, JValue::Int(0), length];
                    calls.read_at.number(env, &self.stream, &arguments)?
                }
            };
            let got = got.max(0) as usize;
            // SAFETY: signed and unsigned bytes have the same size and alignment.
            let part =
                unsafe { std::slice::from_raw_parts_mut(buffer.as_mut_ptr().cast::<i8>(), got) };
            env.get_byte_array_region(as_bytes(&array), 0, part)?;
            Ok(got)
        })
    }
}

impl File for Reader {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        self.once(buffer, None)
    }

    fn write(&mut self, _bytes: Bytes) -> Result<()> {
        Err(refused("write", "reading"))
    }

    fn fsync(&mut self) -> Result<()> {
        Err(refused("fsync", "reading"))
    }

    fn close(self: Box<Self>) -> Result<()> {
        self.hadoop
            .work("close", "", |env, calls| {
                calls.end_read.number(env, &self.stream, &[])
            })
            .map(drop)
    }

    fn read_at(&mut self, buffer: &mut [u8], offset: u64) -> Result<usize> {
        let mut filled = 0;
        while filled < buffer.len() {
            match self.once(&mut buffer[filled..], Some(offset + filled as u64))? {
                0 => break,
                got => filled += got,
            }
        }
        Ok(filled)
    }
}

/// A file of a Hadoop file system that is open for writing.
pub struct Writer {
    hadoop: Arc<Hadoop>,
    stream: GlobalRef,
    array: Array,
}

impl Writer {
    pub fn new(hadoop: &Arc<Hadoop>, stream: GlobalRef, array: &Array) -> Self {
        Writer {
            hadoop: Arc::clone(hadoop),
            stream,
            array: array.clone(),
        }
    }
}

impl File for Writer {
    fn read(&mut self, _buffer: &mut [u8]) -> Result<usize> {
        Err(refused("read", "writing"))
    }

    fn write(&mut self, bytes: Bytes) -> Result<()> {
        self.hadoop
            .work("write", "", |env, calls| {
                let array = self.array.of(env, bytes.len())?;
                // SAFETY: signed and unsigned bytes have the same size and alignment.
                let signed =
                    unsafe { std::slice::from_raw_parts(bytes.as_ptr().cast::<i8>(), bytes.len()) };
                env.set_byte_array_region(as_bytes(&array), 0, signed)?;
                let length = JValue::Int(bytes.len() as i32);
                let arguments = [JValue::from(array.as_obj()), JValue::Int(0), length];
                calls.write.number(env, &self.stream, &arguments)
            })
            .map(drop)
    }

    fn fsync(&mut self) -> Result<()> {
        self.hadoop
            .work("fsync", "", |env, calls| {
                calls.sync.number(env, &self.stream, &[])
            })
            .map(drop)
    }

    fn close(self: Box<Self>) -> Result<()> {
        self.hadoop
            .work("close", "", |env, calls| {
                calls.end_write.number(env, &self.stream, &[])
            })
            .map(drop)
    }
}
