//! Records the NameNode calls that the HDFS client library makes within a call of the load
//! generator. The names and times of the NameNode calls come from the library's log.
//!
//! The library has no hook for its NameNode calls. It logs "NAME request: …" before each call and
//! "NAME response: …" after it. Both lines are logged by the thread that waits for the call. Only
//! the first words of a log line are formatted, and nothing is printed.

use std::cell::RefCell;
use std::fmt::{self, Write};

use log::{LevelFilter, Log, Metadata, Record};

use crate::clock::monotonic_ns;

const PROTOCOL: &str = "hdfs_native::hdfs::protocol";
/// Number of bytes of a log line that are formatted. It suffices for the name of any NameNode call
/// and the word after the name.
const HEAD: usize = 64;
/// Maximum number of calls that are buffered between two calls of `drain`.
const MOST: usize = 4096;

/// A NameNode call that was answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// The name of the call in the protocol.
    pub name: String,
    /// Time at which the request was sent, ns of the monotonic clock.
    pub start: u64,
    /// Time at which the answer was read, ns of the monotonic clock.
    pub end: u64,
}

#[derive(Default)]
struct Observed {
    begun: Option<(String, u64)>,
    done: Vec<Call>,
}

thread_local! {
    static OBSERVED: RefCell<Observed> = RefCell::default();
}

/// Starts observing the NameNode calls of all threads. Repeated calls have no effect. If the
/// process already has a logger, that logger stays in place, and no NameNode calls are observed.
pub fn watch() {
    if log::set_logger(&Watcher).is_ok() {
        log::set_max_level(LevelFilter::Debug);
    }
}

/// Moves the NameNode calls that this thread made since the last drain to the end of `found`.
pub fn drain(found: &mut Vec<Call>) {
    OBSERVED.with_borrow_mut(|observed| {
        observed.begun = None;
        found.append(&mut observed.done);
    });
}

struct Watcher;

impl Log for Watcher {
    fn enabled(&self, metadata: &Metadata) -> bool {
        metadata.target() == PROTOCOL
    }

    fn log(&self, record: &Record) {
        if self.enabled(record.metadata()) {
            let now = monotonic_ns();
            let mut head = Head::default();
            // Formatting is aborted with an error as soon as the buffer is full.
            let _ = head.write_fmt(*record.args());
            OBSERVED.with_borrow_mut(|observed| observed.note(head.text(), now));
        }
    }

    fn flush(&self) {}
}

impl Observed {
    fn note(&mut self, text: &str, now: u64) {
        let mut words = text.split(' ');
        match (words.next(), words.next()) {
            (Some(name), Some("request:")) => self.begun = Some((name.to_string(), now)),
            (Some(answered), Some("response:")) => {
                let begun = self.begun.take().filter(|(name, _)| name == answered);
                if let Some((name, start)) = begun.filter(|_| self.done.len() < MOST) {
                    let end = now;
                    self.done.push(Call { name, start, end });
                }
            }
            _ => {}
        }
    }
}

/// The first bytes of a text that is being formatted. When the array is full, formatting is
/// aborted.
struct Head {
    bytes: [u8; HEAD],
    length: usize,
}

impl Default for Head {
    fn default() -> Self {
        Head {
            bytes: [0; HEAD],
            length: 0,
        }
    }
}

impl Head {
    fn text(&self) -> &str {
        let bytes = &self.bytes[..self.length];
        std::str::from_utf8(bytes).unwrap_or_else(|error| {
            std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default()
        })
    }
}

impl Write for Head {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let taken = text.len().min(HEAD - self.length);
        self.bytes[self.length..self.length + taken].copy_from_slice(&text.as_bytes()[..taken]);
        self.length += taken;
        if self.length == HEAD {
            return Err(fmt::Error);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_and_its_response_are_one_call() {
        watch();
        let mut found = Vec::new();
        drain(&mut found);
        found.clear();
        log::debug!(target: PROTOCOL, "addBlock request: {:?}", "x".repeat(500));
        log::debug!(target: "elsewhere", "addBlock response: {:?}", ());
        log::debug!(target: PROTOCOL, "complete response: {:?}", ());
        drain(&mut found);
        assert!(found.is_empty());
        log::debug!(target: PROTOCOL, "addBlock request: {:?}", "é".repeat(500));
        log::debug!(target: PROTOCOL, "addBlock response: {:?}", ());
        drain(&mut found);
        let names: Vec<_> = found.iter().map(|call| call.name.as_str()).collect();
        assert_eq!(names, ["addBlock"]);
        assert!(found[0].start <= found[0].end);
    }
}
