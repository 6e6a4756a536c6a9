//! Reads a trace file through a window that moves over its bytes, so that a file may have any size.

use std::io::{self, Read};

use crate::error::FilePosition;

/// Maximum size in bytes of one value in a file, such as a span, a resource or, in the format of
/// another tool, a whole trace.
pub const UNIT_BYTES_MAX: usize = 64 << 20;

/// Number of bytes that are read at a time. The number is small, so that the bytes are still in a
/// processor cache when they are parsed.
const BLOCK_BYTES: usize = 1 << 18;

/// Why the reading of a file stops early.
#[derive(Debug)]
pub enum Failure {
    /// The file is invalid at this place. The text is the reason.
    At(FilePosition, String),
    /// The file ends at this place, within a value. The text describes what is incomplete.
    Cut(FilePosition, String),
    /// The operating system reported an error.
    Io(io::Error),
}

/// The part of a file that was read and is not yet consumed.
pub struct Source<'r> {
    input: Box<dyn Read + Send + 'r>,
    buffer: Vec<u8>,
    at: usize,
    filled: usize,
    /// The position of the buffer's first byte in the file: the number of bytes before it
    /// (`before`), the number of line breaks before it (`lines`), and the number of bytes since the
    /// last of these line breaks (`column`).
    before: u64,
    lines: usize,
    column: usize,
    /// Whether the places in errors are given as line and column instead of as byte offsets.
    text: bool,
    ended: bool,
}

impl<'r> Source<'r> {
    /// Creates the source at the start of `input`. Reads nothing yet.
    pub fn new(input: impl Read + Send + 'r) -> Self {
        Source {
            input: Box::new(input),
            buffer: Vec::new(),
            at: 0,
            filled: 0,
            before: 0,
            lines: 0,
            column: 0,
            text: false,
            ended: false,
        }
    }

    /// Makes later errors give their position as line and column instead of as a byte offset. Only
    /// after this call are line breaks counted.
    pub fn count_lines(&mut self) {
        self.text = true;
    }

    /// The bytes that were read and are not yet consumed.
    #[inline(always)]
    pub fn rest(&self) -> &[u8] {
        &self.buffer[self.at..self.filled]
    }

    /// Consumes the next `bytes` bytes, which must have been read.
    #[inline(always)]
    pub fn consume(&mut self, bytes: usize) {
        self.at += bytes;
        debug_assert!(self.at <= self.filled);
    }

    /// Number of bytes consumed since the beginning of the file.
    #[inline]
    pub fn offset(&self) -> u64 {
        self.before + self.at as u64
    }

    /// Reads another block of the file. Returns false at the end of the file.
    pub fn more(&mut self) -> Result<bool, Failure> {
        if self.ended {
            return Ok(false);
        }
        self.forget_consumed();
        if self.filled == self.buffer.len() {
            if self.filled >= UNIT_BYTES_MAX {
                let reason = format!("one value of more than {} MiB", UNIT_BYTES_MAX >> 20);
                return Err(Failure::At(self.place(0), reason));
            }
            self.buffer.resize((self.filled * 2).max(BLOCK_BYTES), 0);
        }
        let read = loop {
            match self.input.read(&mut self.buffer[self.filled..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                outcome => break outcome.map_err(Failure::Io)?,
            }
        };
        self.filled += read;
        self.ended = read == 0;
        Ok(read > 0)
    }

    /// Reads blocks until `bytes` unconsumed bytes are in memory, or the file ends.
    #[inline(always)]
    pub fn fill(&mut self, bytes: usize) -> Result<(), Failure> {
        while self.filled - self.at < bytes && self.more()? {}
        Ok(())
    }

    fn forget_consumed(&mut self) {
        let consumed = &self.buffer[..self.at];
        if self.text {
            self.lines += memchr::memchr_iter(b'\n', consumed).count();
            self.column = match memchr::memrchr(b'\n', consumed) {
                Some(last) => self.at - last - 1,
                None => self.column + self.at,
            };
        }
        self.before += self.at as u64;
        self.buffer.copy_within(self.at..self.filled, 0);
        self.filled -= self.at;
        self.at = 0;
    }

    /// Returns the place in the file that is `ahead` bytes after the first unconsumed byte.
    pub fn place(&self, ahead: usize) -> FilePosition {
        if !self.text {
            return FilePosition::Byte(self.offset() + ahead as u64);
        }
        let passed = &self.buffer[..(self.at + ahead).min(self.filled)];
        let line = self.lines + memchr::memchr_iter(b'\n', passed).count() + 1;
        match memchr::memrchr(b'\n', passed) {
            Some(last) => FilePosition::Line(line, passed.len() - last - 1),
            None => FilePosition::Line(line, self.column + passed.len()),
        }
    }

    /// Creates the error for an invalid byte that is `ahead` bytes after the first unconsumed byte.
    pub fn failure(&self, ahead: usize, reason: impl Into<String>) -> Failure {
        Failure::At(self.place(ahead), reason.into())
    }

    /// Creates the error for a file that ends `ahead` bytes after the first unconsumed byte, within
    /// a value.
    pub fn cut(&self, ahead: usize, reason: impl Into<String>) -> Failure {
        Failure::Cut(self.place(ahead), reason.into())
    }

    /// Consumes the colon between a key and its value in JSON; anything else is an error.
    pub fn colon(&mut self) -> Result<(), Failure> {
        match self.visible()? {
            Some(b':') => self.consume(1),
            Some(_) => return Err(self.failure(1, "expected `:`")),
            None => return Err(self.cut(0, "EOF while parsing an object")),
        }
        Ok(())
    }

    /// Converts an error of the library serde to a `Failure`. serde gives the position relative to
    /// the JSON value that it parsed, which is at the first unconsumed byte. The result has the
    /// position in the file.
    pub fn json_failure(&self, error: &serde_json::Error) -> Failure {
        let message = error.to_string();
        let end = message.rfind(" at line ").unwrap_or(message.len());
        let FilePosition::Line(line, column) = self.place(0) else {
            return self.failure(0, &message[..end]);
        };
        let place = match error.line() {
            0 | 1 => FilePosition::Line(line, column + error.column()),
            further => FilePosition::Line(line + further - 1, error.column()),
        };
        Failure::At(place, message[..end].to_owned())
    }

    /// Reads the JSON value at the first unconsumed byte completely into memory and returns its
    /// length in bytes.
    pub fn json_value(&mut self) -> Result<usize, Failure> {
        loop {
            let mut values = serde_json::Deserializer::from_slice(self.rest())
                .into_iter::<serde::de::IgnoredAny>();
            let found = values.next();
            let length = values.byte_offset();
            match found {
                // A number at the end of the bytes read so far may continue in the next block.
                Some(Ok(_)) if length < self.rest().len() || self.ended => return Ok(length),
                Some(Err(error)) if !error.is_eof() => return Err(self.json_failure(&error)),
                Some(Err(error)) if self.ended => {
                    return Err(match self.json_failure(&error) {
                        Failure::At(place, reason) => Failure::Cut(place, reason),
                        other => other,
                    });
                }
                None if self.ended => return Err(self.cut(0, "EOF while parsing a value")),
                _ => drop(self.more()?),
            }
        }
    }

    /// Consumes white space. Returns the next byte without consuming it; None at the end of the
    /// file.
    #[inline(always)]
    pub fn visible(&mut self) -> Result<Option<u8>, Failure> {
        loop {
            while self.at < self.filled {
                let byte = self.buffer[self.at];
                if !matches!(byte, b' ' | b'\n' | b'\r' | b'\t') {
                    return Ok(Some(byte));
                }
                self.at += 1;
            }
            if !self.more()? {
                return Ok(None);
            }
        }
    }
}
