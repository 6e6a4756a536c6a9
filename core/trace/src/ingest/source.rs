//! A moving window over a trace file's bytes, so that file size is unlimited.

use std::io::{self, Read};

use crate::error::Place;

/// Maximum size of one value (a span, a resource, a foreign trace).
pub const UNIT_BYTES_MAX: usize = 64 << 20;

/// Read size: a block just copied should still be in the nearest cache.
const BLOCK_BYTES: usize = 1 << 18;

/// Why reading stops.
#[derive(Debug)]
pub enum Failure {
    /// The file is invalid at this place.
    At(Place, String),
    /// The file ends at this place, within a value.
    Cut(Place, String),
    /// The operating system reported an error.
    Io(io::Error),
}

/// The bytes of a file that are read and not yet consumed.
pub struct Source<'r> {
    input: Box<dyn Read + Send + 'r>,
    buffer: Vec<u8>,
    at: usize,
    filled: usize,
    /// Bytes and line breaks before the buffer's first byte, and bytes since the last line break.
    before: u64,
    lines: usize,
    column: usize,
    /// Whether places are reported as line and column.
    text: bool,
    ended: bool,
}

impl<'r> Source<'r> {
    /// A source at the start of `input`; reads nothing yet.
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

    /// Reports places as line and column from now on, which requires counting line breaks.
    pub fn count_lines(&mut self) {
        self.text = true;
    }

    /// The bytes read and not yet consumed.
    #[inline(always)]
    pub fn rest(&self) -> &[u8] {
        &self.buffer[self.at..self.filled]
    }

    /// Consumes this number of bytes.
    #[inline(always)]
    pub fn consume(&mut self, bytes: usize) {
        self.at += bytes;
        debug_assert!(self.at <= self.filled);
    }

    /// Bytes consumed since the beginning of the file.
    #[inline]
    pub fn offset(&self) -> u64 {
        self.before + self.at as u64
    }

    /// Reads another block; false at the end of the file.
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

    /// Reads until `bytes` unconsumed bytes are available, or the file ends.
    #[inline(always)]
    pub fn reach(&mut self, bytes: usize) -> Result<(), Failure> {
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

    /// The place `ahead` bytes after the first unconsumed one.
    pub fn place(&self, ahead: usize) -> Place {
        if !self.text {
            return Place::Byte(self.offset() + ahead as u64);
        }
        let passed = &self.buffer[..(self.at + ahead).min(self.filled)];
        let line = self.lines + memchr::memchr_iter(b'\n', passed).count() + 1;
        match memchr::memrchr(b'\n', passed) {
            Some(last) => Place::Line(line, passed.len() - last - 1),
            None => Place::Line(line, self.column + passed.len()),
        }
    }

    /// A failure `ahead` bytes after the first unconsumed one.
    pub fn failure(&self, ahead: usize, reason: impl Into<String>) -> Failure {
        Failure::At(self.place(ahead), reason.into())
    }

    /// A truncation `ahead` bytes after the first unconsumed one.
    pub fn cut(&self, ahead: usize, reason: impl Into<String>) -> Failure {
        Failure::Cut(self.place(ahead), reason.into())
    }

    /// Consumes the colon between a key and its value.
    pub fn colon(&mut self) -> Result<(), Failure> {
        match self.visible()? {
            Some(b':') => self.consume(1),
            Some(_) => return Err(self.failure(1, "expected `:`")),
            None => return Err(self.cut(0, "EOF while parsing an object")),
        }
        Ok(())
    }

    /// Converts a serde error in the value at the first unconsumed byte, with its place in the
    /// file.
    pub fn json_failure(&self, error: &serde_json::Error) -> Failure {
        let message = error.to_string();
        let end = message.rfind(" at line ").unwrap_or(message.len());
        let Place::Line(line, column) = self.place(0) else {
            return self.failure(0, &message[..end]);
        };
        let place = match error.line() {
            0 | 1 => Place::Line(line, column + error.column()),
            further => Place::Line(line + further - 1, error.column()),
        };
        Failure::At(place, message[..end].to_owned())
    }

    /// The length of the JSON value at the first unconsumed byte; reads it completely.
    pub fn json_value(&mut self) -> Result<usize, Failure> {
        loop {
            let mut values = serde_json::Deserializer::from_slice(self.rest())
                .into_iter::<serde::de::IgnoredAny>();
            let found = values.next();
            let length = values.byte_offset();
            match found {
                // A number may continue after the bytes read so far.
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

    /// Consumes spaces; returns the next byte without consuming it.
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
